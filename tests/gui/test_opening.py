"""Opening galleries in the window: folders, manifests, the sample; what is missing, empty, broken or uncertain."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QDialogButtonBox, QLabel

from facelens.resources import sample_data, sample_models
from facelens.session.settings import Recent, Settings
from facelens.views.main_window import MainWindow
from facelens.views.preview import ImportPreview
from tests.gui.conftest import draw


def recents(window: MainWindow) -> list[str]:
    return [entry.path for entry in window.desk.settings.recent]


def listed(window: MainWindow) -> list[str]:
    return [line.text for line in window.panel("sources").list.lines]


def test_a_folder_opens(window: MainWindow, make_gallery: Callable, tmp_path: Path, settle: Callable) -> None:
    root = make_gallery(tmp_path / "plain", manifest=False)
    window.opening.open(root)
    settle(window)
    workspace = window.store.workspace
    assert len(workspace.faces) == 12 and len(workspace.faces.identity.names) == 4
    assert workspace.diagnosis.faces == 12
    assert recents(window) == [str(root)]
    assert listed(window) == ["plain"]
    assert not window.notices.cards


def test_a_manifest_brings_columns_and_landmarks(browsing: MainWindow) -> None:
    faces = browsing.store.workspace.faces
    assert {"blur", "yaw", "split"} <= faces.columns.keys()
    assert faces.landmarks is not None and not np.isnan(faces.landmarks).any()


def test_a_missing_path_is_told_and_forgotten(open_window: Callable, tmp_path: Path, settle: Callable) -> None:
    gone = tmp_path / "gone"
    window = open_window(Settings(theme="dark", recent=(Recent(str(gone), "gone", 5),)))
    assert listed(window) == ["gone"]
    assert window.panel("gallery").welcome.recent_holder.isVisible()
    window.desk.open_path(gone)
    settle(window)
    [card] = window.notices.cards
    assert "gone" in card.accessibleName() and card.accessibleDescription()
    assert recents(window) == [] and listed(window) == []
    assert not window.panel("gallery").welcome.recent_holder.isVisible()
    assert window.store.workspace.faces is None


def test_an_empty_folder_is_told_with_a_hint(window: MainWindow, tmp_path: Path, settle: Callable) -> None:
    (tmp_path / "empty").mkdir()
    window.opening.open(tmp_path / "empty")
    settle(window)
    [card] = window.notices.cards
    assert "empty" in card.accessibleName()
    assert "folder" in card.accessibleDescription()
    assert recents(window) == []


def test_a_failed_open_leaves_the_open_gallery_alone(browsing: MainWindow, tmp_path: Path, settle: Callable) -> None:
    before = browsing.store.workspace
    (tmp_path / "rubbish.bin").write_bytes(b"\x80\x04no pickle of ours")
    browsing.opening.open(tmp_path / "rubbish.bin")
    settle(browsing)
    assert browsing.notices.cards
    assert browsing.store.workspace is before


@pytest.fixture
def unsure(make_gallery: Callable, tmp_path: Path) -> Path:
    """A manifest in which two columns hold picture names."""
    root = make_gallery(tmp_path / "unsure", manifest=False)
    names = sorted(str(p.relative_to(root)) for p in root.rglob("*.png"))
    rows = ["left;right;who"] + [f"{name};{name};{name.split('/')[0]}" for name in names]
    table = tmp_path / "unsure.csv"
    table.write_text("\n".join(rows))
    return table


def test_an_uncertain_manifest_asks_and_opens(window: MainWindow, unsure: Path, settle: Callable, pump) -> None:
    window.opening.open(unsure)
    settle(window)
    dialog = window.findChild(ImportPreview)
    assert dialog is not None and window.store.workspace.faces is None
    assert not window.notices.cards, "a question is no failure"
    combos = dialog.combos
    open_button = dialog.buttons.button(QDialogButtonBox.StandardButton.Open)
    combos["path"].setCurrentIndex(0)
    assert not open_button.isEnabled() and open_button.toolTip() == "Say which column names the picture files."
    combos["path"].setCurrentIndex(combos["path"].findData("left"))
    combos["identity"].setCurrentIndex(combos["identity"].findData("who"))
    assert open_button.isEnabled()
    open_button.click()
    settle(window)
    pump()
    assert len(window.store.workspace.faces) == 12
    assert set(window.store.workspace.faces.identity.names) == {"Ada_Byron", "Bo_Chen", "Cy_Diaz", "Di_Eng"}
    assert window.findChild(ImportPreview) is None


def test_an_uncertain_manifest_may_be_left_alone(browsing: MainWindow, unsure: Path, settle: Callable, pump) -> None:
    before = browsing.store.workspace
    browsing.opening.open(unsure)
    settle(browsing)
    browsing.findChild(ImportPreview).reject()
    pump()
    assert browsing.store.workspace is before and not browsing.notices.cards


def test_adding_joins_by_name(browsing: MainWindow, make_gallery: Callable, tmp_path: Path, settle: Callable) -> None:
    first = browsing.store.workspace.faces.ids
    more = make_gallery(tmp_path / "more", people=("Ada_Byron", "Zoe_Fox"), pictures=2, manifest=False, seed=7)
    browsing.opening.open(more, add=True)
    settle(browsing)
    faces = browsing.store.workspace.faces
    assert len(faces) == 16 and len(faces.identity.names) == 5
    assert np.count_nonzero([name == "Ada_Byron" for name in map(faces.identity.name, range(16))]) == 5
    assert np.array_equal(faces.ids[:12], first), "ids of the first gallery stay"
    assert browsing.store.workspace.diagnosis.faces == 16
    assert np.isnan(faces.columns["blur"][12:]).all()
    assert recents(browsing) == [str(tmp_path / "tiny")], "a joined gallery is no gallery of its own"
    assert browsing.windowTitle().startswith("tiny + more")


def test_opening_another_puts_away_what_belonged_to_the_first(
    browsing: MainWindow, make_gallery: Callable, tmp_path: Path, settle: Callable
) -> None:
    browsing.commands.show_identity("Bo_Chen")
    browsing.act("select.all")
    browsing.act("select.next")
    browsing.act("view.loupe")
    browsing.opening.open(make_gallery(tmp_path / "second", people=("Zoe_Fox",), pictures=2, manifest=False, seed=3))
    settle(browsing)
    workspace = browsing.store.workspace
    assert (len(workspace.selection), workspace.selection.current, workspace.arrangement.filter) == (0, None, "")
    assert len(workspace.shown) == 2
    assert browsing.panel("gallery").view == "grid", "a loupe without a face shows nothing"
    assert listed(browsing) == ["second", "tiny"]


def test_recent_galleries_are_newest_first_and_once(
    window: MainWindow, make_gallery: Callable, tmp_path: Path, settle: Callable
) -> None:
    roots = [make_gallery(tmp_path / f"g{i}", people=("A", "B"), pictures=1, manifest=False, seed=i) for i in range(3)]
    for root in (*roots, roots[0]):
        window.opening.open(root)
        settle(window)
    assert recents(window) == [str(roots[0]), str(roots[2]), str(roots[1])]
    assert listed(window) == ["g0", "g2", "g1"]
    window.panel("sources").list.touched.emit(1)
    settle(window)
    assert window.store.workspace.faces.name == "g2"


def test_five_percent_broken(window: MainWindow, make_gallery: Callable, tmp_path: Path, settle: Callable) -> None:
    root = make_gallery(
        tmp_path / "hurt", people=tuple(f"p{i:02}" for i in range(20)), pictures=5, broken=5, manifest=False
    )
    window.opening.open(root)
    settle(window)
    workspace = window.store.workspace
    assert len(workspace.faces) == 100
    broken = {
        str(workspace.faces.path(int(row)).relative_to(root)) for row in workspace.faces.rows_of(workspace.excluded)
    }
    assert broken == {f"p19/{i:02}.png" for i in range(5)}
    assert len(workspace.shown) == 95, "none of the good ones is lost"
    gallery = window.panel("gallery")
    assert gallery.banner.text() == "5 of 100 pictures could not be read and are left out."
    assert gallery.count.text() == "95 faces" and "5 excluded" in gallery.of.text()
    gallery.banner.acted.emit()
    doctor = window.panel("doctor")
    assert window.stage.word == "doctor" and doctor.finding.severity == "error"
    assert len(doctor.grid.ids) == 5
    assert doctor.exclude.text() == "Take back 5"
    doctor.exclude.click()
    assert len(window.store.workspace.shown) == 100
    doctor.exclude.click()
    assert len(window.store.workspace.shown) == 95


def test_names_that_are_no_text(window: MainWindow, make_gallery: Callable, tmp_path: Path, settle: Callable) -> None:
    root = make_gallery(tmp_path / "odd", people=("<b>bold</b>", "plain"), pictures=2, manifest=False)
    os.rename(os.fsencode(root / "plain"), os.fsencode(root) + b"/p\xffq\n")
    window.opening.open(root)
    settle(window)
    window.act("select.all")
    for _ in range(4):
        window.act("select.next")
        settle(window)
    assert len(window.store.workspace.faces) == 4
    assert len(window.store.workspace.shown) == 4
    assert window.panel("inspector").name.text() in ("<b>bold</b>", "p\\xffq\\x0a")


def test_a_newer_request_supersedes(
    window: MainWindow, make_gallery: Callable, tmp_path: Path, settle: Callable
) -> None:
    first = make_gallery(tmp_path / "first", people=("A", "B"), pictures=2, manifest=False)
    second = make_gallery(tmp_path / "second", people=("C", "D"), pictures=2, manifest=False, seed=1)
    window.opening.open(first)
    window.opening.open(second)
    settle(window)
    assert window.store.workspace.faces.name == "second"


def test_closing_the_gallery_while_it_is_checked(browsing: MainWindow, settle: Callable) -> None:
    browsing.opening.check()
    browsing.act("gallery.close")
    settle(browsing)
    assert browsing.store.workspace.faces is None and browsing.store.workspace.diagnosis is None
    assert not browsing.notices.cards


def test_a_doctor_who_fails_is_told(browsing: MainWindow, monkeypatch: pytest.MonkeyPatch, settle: Callable) -> None:
    from facelens.session import tasks

    def ill(faces, *, tick, **other):
        raise ValueError("the doctor is ill")

    monkeypatch.setattr(tasks, "check_gallery", ill)
    browsing.act("doctor.run")
    settle(browsing)
    [card] = browsing.notices.cards
    assert card.accessibleName() == "Something went wrong inside FaceLens"
    assert "the doctor is ill" in card.details.toPlainText()
    assert len(browsing.store.workspace.faces) == 12


@pytest.mark.skipif(not sample_data().is_dir(), reason="the sample gallery has not been drawn here")
def test_the_sample_gallery_opens_with_its_models_and_is_no_recent_one(
    window: MainWindow, settle: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    embed = window.modelling.embed
    few = np.arange(4, dtype=np.int64)
    monkeypatch.setattr(window.modelling, "embed", lambda name: (asked.append(name), embed(name, rows=few)))
    window.act("gallery.open_sample")
    settle(window)
    workspace = window.store.workspace
    assert len(workspace.faces) == 640
    assert window.windowTitle().startswith("Sample gallery")
    assert recents(window) == []
    assert {one.path for one in workspace.models} == set(sample_models()) and all(one.fits for one in workspace.models)
    assert asked == ["old", "lce", "new", "plain", "residual", "universal", "divided", "undivided", "bct", "l2"]
    assert [one.path.stem for one in workspace.models][:10] == asked, "listed in that order, whichever was read first"
    assert (workspace.model_a, workspace.model_b) == ("old", "lce")
    assert (workspace.ensemble.members, workspace.ensemble.target) == (("new", "plain", "residual"), "new")
    assert all(Path(file).is_file() for _, file in workspace.ensemble.files)
    assert [workspace.embedded(name)[0] for name in asked] == [4] * 10
    window.act("gallery.open_sample")
    settle(window)
    assert len(window.store.workspace.models) == len(sample_models()) and len(asked) == 10, "they are there already"


def test_a_missing_sample_is_told(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settle: Callable
) -> None:
    from facelens.views import opening

    monkeypatch.setattr(opening, "sample_data", lambda: tmp_path / "nowhere")
    window.act("gallery.open_sample")
    settle(window)
    assert len(window.notices.cards) == 1


def test_a_test_of_templates_is_what_is_asked_for(window: MainWindow, tmp_path: Path, settle: Callable) -> None:
    crops, meta = tmp_path / "loose_crop", tmp_path / "meta"
    meta.mkdir()
    for i in range(4):
        draw(crops / f"{i}.png", i)
    (meta / "ijbc_face_tid_mid.txt").write_text("0.png 10 1\n1.png 10 2\n2.png 11 3\n3.png 20 4\n")
    (meta / "ijbc_template_pair_label.txt").write_text("10 11 1\n10 20 0\n")
    window.opening.open(tmp_path)
    settle(window)
    workspace = window.store.workspace
    assert workspace.protocol.templates is not None and workspace.plan.protocol == workspace.protocol.name == "IJB-C"
    window.act("gallery.close")
    assert window.store.workspace.plan.protocol == "all pairs"


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("net.pth", b"<html>404</html>", "net.pth is a web page (download failed?)"),
        ("work.facelens", b"{", "work.facelens cannot be opened as a workspace"),
        ("faces", b"", "faces is not a gallery that FaceLens knows"),
    ],
)
def test_whatever_lies_there_is_taken_for_what_it_is(
    browsing: MainWindow, settle: Callable, tmp_path: Path, name: str, body: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(body)
    browsing.open_path(tmp_path / name)
    settle(browsing)
    [card] = browsing.notices.cards
    assert card.accessibleName().rstrip(".") == said


def test_a_preview_of_many_columns_scrolls_and_shows_what_they_say(
    window: MainWindow, tmp_path: Path, settle: Callable
) -> None:
    from facelens.images.readers.manifest import preview
    from facelens.views.controls import text_width

    measures = [f"measure {i}" for i in range(30)]
    said = ("a long story; of many words", *("0.123456789",) * 30)
    rows = [",".join((f"Arnold_Schwarzenegger_{i:04}.jpg", f"x{i}.jpg", *said)) for i in range(5)]
    table = tmp_path / "wide.csv"
    table.write_text("\n".join((",".join(("crop", "original", "remark", *measures)), *rows)))
    dialog = ImportPreview(preview(table), "Two columns hold picture names.", lambda _: None, window)
    dialog.show()
    settle(window)
    shown = dialog.table
    assert shown.columnWidth(0) >= text_width("Arnold_Schwarzenegger_0001.jpg", shown.px), "names are not cut"
    assert not shown.tall and shown.horizontalScrollBar().maximum() > 0, "a line a row; it scrolls instead"
    assert shown.cell(0, 2).tip == "a long story; of many words"
    dialog.reject()


def test_a_recent_workspace_says_how_many_faces_it_has(open_window: Callable) -> None:
    known = (Recent("/x/lfw.facelens", "lfw", 2610), Recent("/x/empty.facelens", "empty", 0))
    window = open_window(Settings(theme="dark", workspaces=known))
    rows = window.panel("gallery").welcome.recent
    said = [rows.itemAt(i).widget().findChild(QLabel).text() for i in (1, 2)]
    assert said == ["workspace · 2,610 faces", "workspace"]
