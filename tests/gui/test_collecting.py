"""Sharing from the window: switches for exports, the sheet, a zip that opens in another home with all that is in it."""

from __future__ import annotations

import ast
import csv
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog

from facelens.images import decode
from facelens.resources import sample_data
from facelens.session import annotations, archive, subsets
from facelens.session.jobs import State
from facelens.session.settings import Settings
from facelens.session.workspace import NORM, Arrangement
from facelens.views import exporting, keeping
from facelens.views.collecting import CollectSheet
from facelens.views.figure_sheet import FigureSheet
from facelens.views.main_window import MainWindow
from tests.gui.test_keeping import project, work_on  # noqa: F401


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOMENT", 1)


def sheet(window: MainWindow, until: Callable) -> CollectSheet:
    window.act("workspace.collect")
    found = [one for one in window.findChildren(CollectSheet) if one.isVisible()]
    until(lambda: found[-1].about.text() != "About …")
    return found[-1]


def collected(
    window: MainWindow, out: Path, until: Callable, settle: Callable, monkeypatch: pytest.MonkeyPatch, **boxes: bool
) -> None:
    """Through the sheet, as a user does it."""
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(out.with_suffix("")), ""))
    asked = sheet(window, until)
    for name, on in boxes.items():
        getattr(asked, name).setChecked(on)
    QTest.mouseClick(asked.go, Qt.MouseButton.LeftButton)
    settle(window)
    assert out.is_file()


def elsewhere(tmp_path: Path, zipped: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Unzipped on another computer, where nothing was ever opened."""
    there = tmp_path / f"there {zipped.stem}"
    with zipfile.ZipFile(zipped) as found:
        found.extractall(there)
    monkeypatch.setenv("FACELENS_HOME", str(tmp_path / f"home {zipped.stem}"))
    return there / "workspace.facelens"


def reopened(open_window: Callable, path: Path, settle: Callable, until: Callable) -> MainWindow:
    window: MainWindow = open_window()
    window.keeping.open(path)
    settle(window)
    until(lambda: window.keeping.reopening is not None and not window.keeping.reopening.under_way)
    settle(window)
    return window


def titles(window: MainWindow) -> list[str]:
    return [card.accessibleName() for card in window.notices.cards]


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("models", [False, True])
def test_a_workspace_goes_to_another_computer(
    open_window: Callable, project: Path, settle: Callable, until: Callable, close: Callable,  # noqa: F811
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: bool, models: bool,
) -> None:  # fmt: skip
    window = open_window()
    work_on(window, project, settle)
    before = window.store.workspace
    vectors = before.features["net"].vectors.copy()
    out = tmp_path / "sent.zip"
    collected(window, out, until, settle, monkeypatch, pseudonyms=hidden, models=models)
    assert titles(window)[-1].startswith("sent.zip is written, ")
    close(window)
    path = elsewhere(tmp_path, out, monkeypatch)
    names = {name for name in (b"Ada_Byron", b"Bo_Chen", str(tmp_path).encode()) for file in path.parent.rglob("*")
             if file.is_file() and file.suffix != ".safetensors" and name in file.read_bytes()}  # fmt: skip
    assert names == (set() if hidden else {b"Ada_Byron", b"Bo_Chen"})

    again = reopened(open_window, path, settle, until)
    now = again.store.workspace
    assert not again.notices.cards and len(now.faces) == len(before.faces) - 1
    assert (now.model_b, now.model_names) == ("net", ("net",)) and bool(now.models) == models
    assert "grace" in now.faces.columns and now.arrangement.sort == NORM.format(name="net")
    assert now.arrangement.group == "identity" and now.arrangement.filter == ("" if hidden else "identity != Di_Eng")
    assert list(now.annotations.tags) == (["tag 1"] if hidden else ["blurry"])
    assert [len(ids) for ids in now.annotations.tags.values()] == [3] and [
        len(ids) for ids in now.subsets.values()
    ] == [2]
    assert len(now.selection) and now.occlusion.kind == "mask" and now.query is not None
    found = now.features["net"]
    mine, theirs = (sorted(map(tuple, np.round(one, 5).tolist())) for one in (found.vectors, np.delete(vectors, 4, 0)))
    assert mine == theirs and found.provenance.card.architecture == before.models[0].card.architecture
    if not hidden:
        at = {path: row for row, path in enumerate(before.faces.paths)}
        stems = {one.rsplit(b".", 1)[0]: row for one, row in at.items()}
        rows = [stems[path.rsplit(b".", 1)[0]] for path in now.faces.paths.take(now.faces.rows_of(found.ids))]
        assert np.array_equal(found.vectors, vectors[rows])
    assert not again.keeping.dirty and again.keeping.said == "Saved", "looking at it is no change"

    # Saved where it is and opened once more, it is the same, and the vectors have one name.
    again.act("select.none")
    again.keeping.save()
    close(again)
    told = json.loads(path.read_text())
    assert [one["place"] for one in told["vectors"]] == [{"inside": "vectors/net.npz"}]
    once_more = reopened(open_window, path, settle, until)
    assert once_more.store.workspace.model_names == ("net",) and "net" in once_more.store.workspace.features

    # Vectors that are deleted do not come back.
    monkeypatch.setattr(type(once_more.modelling), "ask", lambda *_, **__: True)
    once_more.modelling.delete_vectors("net")
    assert not once_more.store.workspace.tables or all(one.card is None for one in once_more.store.workspace.tables)
    once_more.keeping.save()
    assert json.loads(path.read_text())["vectors"] == []


def test_the_sample_goes_too(
    open_window: Callable, settle: Callable, until: Callable, close: Callable, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Its models come with every FaceLens, so only pictures and marks are in the zip."""
    window = open_window()
    window.opening.open(sample_data())
    settle(window)
    faces = window.store.workspace.faces
    marks = annotations.rated(annotations.flagged(annotations.Annotations(), faces.ids[:40], -1), faces.ids[100:130], 5)
    window.store.update(annotations=marks, subsets=subsets.put(subsets.Subsets(), "hard", faces.ids[7:77]))
    window.modelling.load(sample_data() / "checkpoints" / "old.safetensors")
    settle(window)
    collected(window, tmp_path / "s.zip", until, settle, monkeypatch, blur=True, pseudonyms=True)
    close(window)
    path = elsewhere(tmp_path, tmp_path / "s.zip", monkeypatch)
    again = reopened(open_window, path, settle, until)
    now = again.store.workspace
    assert len(now.faces) == 640 and len(now.faces.identity.names) == 64 and not again.notices.cards
    assert (
        len(now.annotations.flags) == 40 and len(now.annotations.ratings) == 30 and len(now.subsets["subset 1"]) == 70
    )
    assert now.protocol is not None and len(now.protocol.pairs) > 100 and now.diagnosis is not None
    assert "old.safetensors" in [one.path.name for one in now.models] and not (path.parent / "models").exists()
    assert {"old", "lce", "new"} <= now.features.keys() <= {one.card.name for one in now.models}
    rows = now.faces.rows_of(now.annotations.flags.ids)
    assert all(decode.read_face(now.faces, int(row)).shape[0] in range(160, 225) for row in rows[:3])


def test_reading_vectors_can_be_stopped(
    open_window: Callable, project: Path, settle: Callable, until: Callable, close: Callable,  # noqa: F811
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from facelens.errors import Cancelled
    from facelens.session import tasks

    window = open_window()
    work_on(window, project, settle)
    collected(window, tmp_path / "s.zip", until, settle, monkeypatch)
    close(window)
    path = elsewhere(tmp_path, tmp_path / "s.zip", monkeypatch)
    real = tasks.import_vectors

    def stopped(*args: object, **how: object) -> object:
        if how.get("card") is not None:
            raise Cancelled
        return real(*args, **how)  # type: ignore[arg-type]

    monkeypatch.setattr("facelens.views.modelling.tasks.import_vectors", stopped)
    again = reopened(open_window, path, settle, until)
    assert "net" not in again.store.workspace.features and len(again.keeping.kept.vectors) == 1
    again.act("select.none")
    again.keeping.save()
    assert len(json.loads(path.read_text())["vectors"]) == 1, "what was not read stays in the file"


def test_vectors_that_do_not_fit_are_told_and_the_rest_opens(
    open_window: Callable, project: Path, settle: Callable, until: Callable, close: Callable,  # noqa: F811
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    window = open_window()
    work_on(window, project, settle)
    collected(window, tmp_path / "s.zip", until, settle, monkeypatch)
    close(window)
    path = elsewhere(tmp_path, tmp_path / "s.zip", monkeypatch)
    np.savez(path.parent / "vectors" / "net.npz", vectors=np.ones((3, 5), np.float32), names=np.array(["a", "b", "c"]))
    again = reopened(open_window, path, settle, until)
    assert "The vectors of net were not read" in titles(again) and len(again.store.workspace.faces) == 11
    again.act("select.none")
    again.keeping.save()
    assert len(json.loads(path.read_text())["vectors"]) == 1


def test_the_sheet_says_what_each_switch_does(browsing: MainWindow, until: Callable, pump: Callable) -> None:
    asked = sheet(browsing, until)
    assert not asked.vectors.isEnabled() and not asked.models.isEnabled() and not asked.words.isEnabled()
    assert asked.choice.pictures == "thumbnails" and not asked.choice.guise
    assert asked.about.text().startswith("About ") and asked.example._faces[0][1] == "Ada Byron"
    assert asked.told.text() == "", "names are meant to be there"
    asked.pseudonyms.click()
    asked.key.setText(" words ")
    assert asked.words.isEnabled() and asked.choice.guise.key == "words"
    assert "recognised" in asked.told.text()
    until(lambda: asked.example._faces[0][1].startswith("P0"))
    before = asked.example._faces[0][0].copy()
    asked.blur.click()
    until(lambda: asked.example._faces[0][0] != before)
    assert "recognised" not in asked.told.text()
    QTest.keyClick(asked.pictures.button("thumbnails"), Qt.Key.Key_Left)
    assert asked.choice.pictures == "none" and not asked.go.isEnabled() and asked.go.toolTip().startswith("Choose")
    assert not asked.blur.isEnabled()
    assert asked.height() == asked.layout().totalHeightForWidth(asked.width()), "no word is cut off"
    asked.reject()
    pump()


def test_nothing_is_written_where_nobody_says_where(
    browsing: MainWindow, until: Callable, settle: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    asked = sheet(browsing, until)
    QTest.mouseClick(asked.go, Qt.MouseButton.LeftButton)
    settle(browsing)
    assert not [job for job in browsing.jobs.jobs if job.request.slot == "collect"]


def test_a_full_disk_is_told_and_leaves_nothing(
    browsing: MainWindow, until: Callable, settle: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "gone" / "o.zip"), ""))
    asked = sheet(browsing, until)
    QTest.mouseClick(asked.go, Qt.MouseButton.LeftButton)
    settle(browsing)
    assert any("could not be written" in title for title in titles(browsing))
    assert [job.state for job in browsing.jobs.jobs if job.request.slot == "collect"] == [State.FAILED]


# The switches of all exports


def test_switches_hold_for_whatever_leaves_the_window(
    browsing: MainWindow, settle: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = browsing
    marks = annotations.noted(annotations.Annotations(), window.store.workspace.faces.ids[:1], "Ada at home")
    window.store.update(annotations=marks)

    def names(path: Path) -> set[str]:
        with open(path, newline="") as file:
            return {row["identity"] for row in csv.DictReader(file)}

    window.commands.export_list(tmp_path / "a.csv")
    settle(window)
    assert "Ada_Byron" in names(tmp_path / "a.csv")
    window.act("figure.pseudonyms")
    window.act("figure.blur")
    assert window.actions_by_id["figure.pseudonyms"].isChecked() and window.actions_by_id["figure.blur"].isChecked()
    assert (Settings.load().pseudonyms, Settings.load().blur) == (True, True)
    suggested: list[str] = []
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *told: (suggested.append(told[2]), ("", ""))[1])
    for action in ("data.export", "figure.export"):
        window.act(action)
    [sheet] = window.findChildren(FigureSheet)
    assert not sheet.recipe.isEnabled(), "a recipe would name the pictures"
    sheet.save.click()
    sheet.reject()
    assert suggested == ["gallery.csv", "gallery.png"]
    window.commands.export_list(tmp_path / "b.csv")
    settle(window)
    assert names(tmp_path / "b.csv") == {"P0001", "P0002", "P0003", "P0004"}
    assert window.statusBar().currentMessage().endswith("with pseudonyms and blurred faces")
    assert "Ada" not in (tmp_path / "b.csv").read_text()
    window.commands.figures.draw("gallery", tmp_path / "c.svg", recipe=True)
    settle(window)
    drawn = (tmp_path / "c.svg").read_text()
    assert "P0001" in drawn and "Byron" not in drawn and ">gallery<" in drawn
    window.act("figure.copy")
    settle(window)
    assert not QGuiApplication.clipboard().image().isNull()
    window.act("figure.pseudonyms")
    window.act("figure.blur")
    window.commands.export_list(tmp_path / "d.csv")
    settle(window)
    assert names(tmp_path / "d.csv") == names(tmp_path / "a.csv")


def test_exported_vectors_and_tables_are_disguised(
    open_window: Callable, project: Path, settle: Callable, tmp_path: Path,  # noqa: F811
) -> None:  # fmt: skip
    window = open_window(Settings(theme="dark", pseudonyms=True))
    work_on(window, project, settle)
    window.store.update(arrangement=Arrangement(), excluded=np.zeros(0, np.int64))
    exporting.export(window, "net", tmp_path / "v.npz", exporting.VECTORS[0])
    settle(window)
    with np.load(tmp_path / "v.npz") as found:
        assert all(name.startswith("P000") for name in found["names"].tolist()) and len(found["names"]) == 12
    window.act("evaluate.run")
    settle(window)
    for ending in ("json", "csv", "tex"):
        window.commands.evaluating.export_tables(tmp_path / f"e.{ending}")
        settle(window)
    window.commands.figures.draw("evaluation", tmp_path / "e.svg")
    window.act("evaluate.latex")
    settle(window)
    told = "".join(path.read_text() for path in tmp_path.iterdir() if path.suffix in (".json", ".csv", ".tex", ".svg"))
    told += QGuiApplication.clipboard().text()
    assert "P000" in told and "Byron" not in told and str(tmp_path) not in told
    assert window.store.workspace.faces.digest not in told


WRITERS = {
    "write_list", "build_protocol", "export", "_ticked", "call", "write_skipped",
}  # fmt: skip


def test_every_job_that_writes_goes_through_the_one_door() -> None:
    """Whoever adds an export finds out here that it has to ask for a disguise."""
    views = Path(__file__).resolve().parents[2] / "facelens" / "views"
    seen = set()
    for path in views.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef) or path.name == "court.py":
                continue
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            made = [node for node in calls if getattr(node.func, "id", "") == "Request"]
            writes = {
                getattr(word.value, "attr", getattr(word.value, "id", ""))
                for node in made for word in node.keywords if word.arg == "call"
            } & WRITERS  # fmt: skip
            if writes:
                doors = {getattr(node.func, "id", getattr(node.func, "attr", "")) for node in calls}
                assert doors & {"leaving", "_send"}, f"{function.name} in {path.name}"
                seen |= writes
    assert seen >= WRITERS - {"write_skipped"}


def test_what_is_kept_here_is_not_disguised(
    open_window: Callable, project: Path, settle: Callable,  # noqa: F811
) -> None:  # fmt: skip
    """A workspace that is saved has the names it always had, whatever exports have."""
    window = open_window(Settings(theme="dark", pseudonyms=True, blur=True))
    work_on(window, project, settle)
    window.keeping.save_to(project / "work.facelens")
    told = archive.read(project / "work.facelens")
    assert any(name.startswith("Ada_Byron/") for name in told.selected)
