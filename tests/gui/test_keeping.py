"""A workspace in the window: saved, saved by itself, closed and opened again as it was; what is missing is located."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QMessageBox

from facelens.analyses.plan import MatchPlan, PartsPlan, Plan
from facelens.images.occlusion import Occlusion
from facelens.session import annotations, archive, folders, questions, shelf, subsets
from facelens.session.selection import Mode
from facelens.session.workspace import NORM, Arrangement, Operating
from facelens.views import keeping
from facelens.views.main_window import MainWindow
from tests.gui.test_drop import carried, drop, enter

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOMENT", 1)


@pytest.fixture
def project(tmp_path: Path, make_gallery: Callable) -> Path:
    """A folder with a gallery, a model and a table of scores."""
    import torch
    from safetensors.torch import save_file

    from facelens.features.models import MODELS

    make_gallery(tmp_path / "project" / "faces")
    torch.manual_seed(0)
    save_file(MODELS["small_plain"].build().state_dict(), tmp_path / "project" / "net.safetensors")
    (tmp_path / "project" / "scores.csv").write_text(
        "path,grace\n" + "".join(f"Ada_Byron/{i:02}.png,{i}\n" for i in range(3)) + "Bo_Chen/00.png,9\n"
    )
    return tmp_path / "project"


def card_titles(window: MainWindow) -> list[str]:
    return [card.accessibleName() for card in window.notices.cards]


def work_on(window: MainWindow, project: Path, settle: Callable) -> None:
    """Open, load, embed, filter, select, mark: a bit of everything."""
    window.opening.open(project / "faces")
    settle(window)
    window.opening.take_scores(project / "scores.csv")
    window.modelling.load(project / "net.safetensors")
    settle(window)
    window.modelling.embed("net")
    settle(window)
    store, faces = window.store, window.store.workspace.faces
    store.update(arrangement=Arrangement("identity != Di_Eng", NORM.format(name="net"), True, "identity"))
    store.update(excluded=faces.ids[4:5])
    window.act("select.all")
    store.update(selection=store.workspace.selection.combine(faces.ids[:1], Mode.REMOVE).looking_at(int(faces.ids[2])))
    store.update(plan=Plan(rule="nist", nmi_mean=""), operating=Operating(1e-2), parts_plan=PartsPlan(parts=4))
    store.update(query=int(faces.ids[7]), occlusion=Occlusion("mask"), match_plan=MatchPlan(alpha=0.3))
    marks = annotations.tagged(store.workspace.annotations, faces.ids[:3], "blurry")
    store.update(annotations=marks, subsets=subsets.put(store.workspace.subsets, "mine", faces.ids[5:7]))


def state_of(window: MainWindow) -> archive.Archive:
    return replace(archive.taken(window.store.workspace), layout=archive.Layout())


def test_stop_today_and_go_on_tomorrow(
    open_window: Callable, project: Path, settle: Callable, until: Callable, close: Callable, monkeypatch
) -> None:
    window = open_window()
    work_on(window, project, settle)
    assert window.windowTitle() == "faces* — FaceLens" and not window.saved.isVisible()
    path = project / "work.facelens"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path.with_suffix("")), ""))
    QTest.keyClick(window, Qt.Key.Key_S, CTRL)
    assert path.exists() and window.windowTitle() == "work — FaceLens"
    assert window.saved.text().startswith("Saved ") and window.saved.isVisible()
    before, shown = state_of(window), window.store.workspace.shown_ids.tolist()
    window.stage.show_page("models")
    close(window)
    assert archive.read(path).layout.page == "models", "the layout is kept on closing"
    assert shelf.unsaved() == []

    again = open_window()
    again.open_path(path)
    settle(again)
    until(lambda: not again.keeping.reopening.under_way)
    assert state_of(again) == before
    assert again.store.workspace.shown_ids.tolist() == shown and again.stage.word == "models"
    assert again.windowTitle() == "work — FaceLens" and not again.notices.cards
    assert not again.store.workspace.history.steps and again.store.workspace.features["net"] is not None
    settle(again)
    assert not again.keeping.dirty, "looking at it is no change"

    again.act("select.none")
    again.act("select.none")
    assert again.keeping.dirty and again.windowTitle() == "work* — FaceLens"
    until(lambda: not again.keeping.dirty, "saved by itself")
    assert archive.same(archive.read(path), archive.taken(again.store.workspace))
    while again.store.workspace.history.done:
        again.act("history.undo")
    assert state_of(again) == before
    until(lambda: not again.keeping.dirty)
    assert archive.same(archive.read(path), before)


def test_what_is_done_while_it_opens_stays(
    open_window: Callable, project: Path, tmp_path: Path, settle: Callable, until: Callable, close: Callable
) -> None:
    first = open_window()
    work_on(first, project, settle)
    saved = first.store.workspace
    path = tmp_path / "later.facelens"
    first.keeping.save_to(path)
    until(path.exists)
    close(first)
    window = open_window()
    window.keeping.open(path)
    until(lambda: window.store.workspace.faces is not None and window.store.workspace.annotations.tags)
    assert window.keeping.reopening.under_way
    faces = window.store.workspace.faces
    window.store.update(query=int(faces.ids[-1]))
    window.store.update(arrangement=Arrangement(sort="identity", descending=True))
    settle(window)
    until(lambda: not window.keeping.reopening.under_way)
    now = window.store.workspace
    assert now.query == faces.ids[-1] and now.arrangement.sort == "identity" and now.arrangement.descending
    assert now.operating == saved.operating, "all else is as the file says"
    assert len(now.history.steps) == 2


def test_results_come_back_by_what_was_asked(
    open_window: Callable, project: Path, settle: Callable, until: Callable, close: Callable
) -> None:
    """Noted by their digest when the window closes, and worked out again though nobody looks at their page."""
    window = open_window()
    work_on(window, project, settle)
    window.act("evaluate.run")
    settle(window)
    window.stage.show_page("gallery")
    path = project / "work.facelens"
    window.keeping.save_to(path)
    window.stage.show_page("confidence")
    settle(window)
    found = window.store.workspace.evaluation
    noted = archive.read(path).results
    assert found is not None and set(noted) == {"evaluation"} and len(noted["evaluation"]) == 64
    window.stage.show_page("gallery")
    close(window)
    noted = archive.read(path).results
    assert set(noted) == {"evaluation", "parts", "study"}, "those that came after the last save too"

    again = open_window()
    again.open_path(path)
    settle(again)
    until(lambda: not again.keeping.reopening.under_way)
    until(lambda: again.store.workspace.study is not None)
    assert again.stage.word == "gallery" and questions.results(again.store.workspace) == noted
    assert again.store.workspace.evaluation.b.verification.eer == found.b.verification.eer
    assert not again.keeping.dirty and not again.store.workspace.history.steps
    close(again)

    changed = json.loads(path.read_text())
    changed["results"] = {"evaluation": "0" * 64, "upgrade": noted["study"], "something newer": "x"}
    path.write_text(json.dumps(changed))
    other = open_window()
    other.open_path(path)
    settle(other)
    until(lambda: not other.keeping.reopening.under_way)
    settle(other)
    assert questions.results(other.store.workspace) == {}, "of anything else than is open nothing is worked out unasked"


def test_marks_that_follow_without_a_pause_are_saved_meanwhile(
    open_window: Callable, project: Path, settle: Callable, until: Callable, monkeypatch
) -> None:
    """Somebody who culls presses a key every second, for an hour."""
    monkeypatch.setattr(keeping, "PATIENCE", 0.2)
    window = open_window()
    work_on(window, project, settle)
    path = project / "work.facelens"
    window.keeping.save_to(path)
    window.keeping._timer.setInterval(400)
    tags = []
    until(lambda: bool(tags.append(_tag(window, len(tags)))) or len(archive.read(path).annotations["tags"]) > 1)
    assert len(tags) > 2


def _tag(window: MainWindow, n: int) -> None:
    store = window.store
    store.update(annotations=annotations.tagged(store.workspace.annotations, store.workspace.faces.ids[:1], f"t{n}"))


def test_a_project_that_moves(
    open_window: Callable, project: Path, settle: Callable, until: Callable, close: Callable, tmp_path: Path
) -> None:
    """Another folder on another computer, where nothing was ever opened: what lies in the folder opens."""
    window = open_window()
    work_on(window, project, settle)
    window.keeping.save_to(project / "work.facelens")
    before = archive.taken(window.store.workspace)
    close(window)
    shutil.rmtree(folders.data())
    os.rename(project, tmp_path / "moved")
    again = open_window()
    again.keeping.open(tmp_path / "moved" / "work.facelens")
    settle(again)
    until(lambda: not again.keeping.reopening.under_way)
    workspace = again.store.workspace
    assert not again.notices.cards and workspace.faces.root == tmp_path / "moved" / "faces"
    found = archive.taken(workspace)
    assert (found.excluded, found.selected, found.query) == (before.excluded, before.selected, before.query)
    assert (found.annotations, found.subsets) == (before.annotations, before.subsets)
    assert workspace.models[0].path == tmp_path / "moved" / "net.safetensors" and "grace" in workspace.faces.columns
    assert workspace.arrangement == before.fields["arrangement"] and len(workspace.features["net"]) == 12
    assert not any(job.request.slot.startswith("embed:") for job in again.jobs.jobs), "vectors follow their pictures"


def test_missing_things_are_located(
    open_window: Callable,
    project: Path,
    settle: Callable,
    until: Callable,
    close: Callable,
    tmp_path: Path,
    monkeypatch,
) -> None:
    window = open_window()
    work_on(window, project, settle)
    path = tmp_path / "work.facelens"
    window.keeping.save_to(path)
    before = archive.taken(window.store.workspace)
    close(window)
    os.rename(project, tmp_path / "gone")

    again = open_window()
    again.keeping.open(path)
    settle(again)
    until(lambda: not again.keeping.reopening.under_way)
    assert card_titles(again) == ["The gallery faces was not opened", "1 model was not opened: net.safetensors"]
    assert again.store.workspace.faces is None
    again.keeping.save()
    assert archive.same(replace(archive.read(path), fields={}, stores={}), replace(before, fields={}, stores={})), (
        "what is not there stays in the file"
    )
    assert archive.read(path).fields["model_b"] == "net" and archive.read(path).fields["plan"] == before.fields["plan"]

    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path / "gone" / "faces"))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(tmp_path / "gone" / "net.safetensors"), ""))
    again.notices.cards[0].acted.emit()
    settle(again)
    again.notices.cards[-1].acted.emit()
    settle(again)
    until(lambda: not again.keeping.reopening.under_way)
    found = archive.taken(again.store.workspace)
    assert found.selected == before.selected and found.annotations == before.annotations
    assert found.fields["plan"] == before.fields["plan"] and found.fields["model_b"] == "net"
    until(lambda: not again.keeping.dirty)
    assert archive.read(path).galleries[0].place.path == tmp_path / "gone" / "faces"
    assert archive.read(path).models[0].place.path == tmp_path / "gone" / "net.safetensors"


def test_a_stranger_s_file_opens_nothing_elsewhere(
    open_window: Callable, project: Path, settle: Callable, until: Callable, tmp_path: Path, monkeypatch
) -> None:
    """Not even a look: whether something is there is nobody's business."""
    path = tmp_path / "mail" / "work.facelens"
    path.parent.mkdir()
    said = archive.document(archive.Archive(), path.parent)
    said["galleries"] = [{"place": {"outside": str(project / "faces")}}]
    said["layout"] = {"name": "browse", "state": "AAAA", "page": "doctor", "thumbnails": 10**3}
    path.write_text(json.dumps(said))
    looked: list[str] = []
    real = Path.exists
    monkeypatch.setattr(Path, "exists", lambda self, **how: looked.append(str(self)) or real(self, **how))
    window = open_window()
    given: list[bytes] = []
    monkeypatch.setattr(window, "restoreState", lambda state, version: given.append(bytes(state.data())) or False)
    window.keeping.open(path)
    settle(window)
    until(lambda: not window.keeping.reopening.under_way)
    assert window.store.workspace.faces is None and card_titles(window) == ["The gallery faces was not opened"]
    [card] = window.notices.cards
    assert card.accessibleDescription().startswith(f"{project / 'faces'} lies outside"), "it says where"
    assert not [one for one in looked if one.startswith(str(project))]
    assert window.stage.word == "doctor" and not given, "foreign bytes are not for Qt"
    window.keeping.save()
    assert archive.read(path).galleries and not shelf.known(project / "faces"), "what is only kept was not open here"
    window.keeping.save_to(path.with_name("copy.facelens"))
    for again in (path, path.with_name("copy.facelens")):
        window.keeping.open(again)
        settle(window)
        until(lambda: not window.keeping.reopening.under_way)
        assert window.store.workspace.faces is None, "that it was saved here does not mean that it was open here"
    assert card_titles(window) == ["The gallery faces was not opened"]
    assert not [one for one in looked if one.startswith(str(project))]
    window.notices.show("Something else")
    other = path.with_name("other.facelens")
    other.write_text(json.dumps(archive.document(archive.Archive(), path.parent)))
    window.keeping.open(other)
    settle(window)
    until(lambda: not window.keeping.reopening.under_way)
    assert card_titles(window) == ["Something else"], "what was said of a file goes with it"


def test_a_file_that_cannot_be_read_changes_nothing(browsing: MainWindow, settle: Callable, tmp_path: Path) -> None:
    (tmp_path / "bad.facelens").write_text('{"facelens": "workspace", "schema": 1, "galleries": 3}')
    browsing.act("select.all")
    before = browsing.store.workspace
    browsing.keeping.open(tmp_path / "bad.facelens")
    settle(browsing)
    assert browsing.store.workspace is before and browsing.keeping.path is None
    assert card_titles(browsing) == ["bad.facelens cannot be opened as a workspace."]
    [card] = browsing.notices.cards
    assert card.accessibleDescription().startswith("Galleries is 3, not a list. Nothing was changed."), "it says why"


def test_a_newer_file_is_read_only(
    browsing: MainWindow, settle: Callable, until: Callable, tmp_path: Path, monkeypatch
) -> None:
    browsing.act("select.all")
    path = tmp_path / "new.facelens"
    browsing.keeping.save_to(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 99}))
    content = path.read_bytes()
    browsing.keeping.open(path)
    settle(browsing)
    until(lambda: not browsing.keeping.reopening.under_way)
    assert card_titles(browsing) == ["new.facelens was made by a newer FaceLens"]
    assert browsing.saved.text() == "Read only" and len(browsing.store.workspace.selection) == 12
    browsing.act("select.invert")
    until(lambda: browsing.keeping.session is not None and browsing.keeping.session.path.exists())
    assert path.read_bytes() == content
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "mine.facelens"), ""))
    browsing.act("workspace.save")
    assert path.read_bytes() == content and archive.read(tmp_path / "mine.facelens").schema == archive.SCHEMA
    assert browsing.windowTitle() == "mine — FaceLens"

    browsing.keeping.open(path)
    settle(browsing)
    until(lambda: not browsing.keeping.reopening.under_way)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "other.facelens"), ""))
    browsing.notices.cards[-1].button.click()
    assert browsing.windowTitle() == "other — FaceLens", "the notice has the button it speaks of"


def test_work_that_was_never_saved_is_offered(
    open_window: Callable, tiny_faces: Path, settle: Callable, until: Callable, close: Callable
) -> None:
    window = open_window()
    window.opening.open(tiny_faces)
    settle(window)
    assert not window.keeping.dirty, "a gallery that is only open is nothing to keep"
    window.act("select.all")
    until(lambda: window.keeping.session is not None and window.keeping.session.path.exists())
    before = archive.taken(window.store.workspace)
    close(window)
    again = open_window()
    row = again.panel("gallery").welcome.recent.itemAt(1).widget()
    assert row.accessibleName() == "Open Go on where you stopped"
    again.keeping.offer()
    assert not again.notices.cards, "it was closed properly"
    row.click()
    settle(again)
    until(lambda: not again.keeping.reopening.under_way)
    assert archive.same(archive.taken(again.store.workspace), before)
    assert again.windowTitle() == "tiny* — FaceLens" and len(list((folders.data() / "unsaved").glob("*.facelens"))) == 1


def test_after_a_crash_it_is_said(window: MainWindow, tmp_path: Path, settle: Callable, until: Callable) -> None:
    session = shelf.Session()
    archive.write(archive.Archive(), session.path)
    session._held.close()  # as if the process were gone
    window.keeping.offer()
    assert card_titles(window) == ["FaceLens was ended in the middle of work"]
    window.notices.cards[0].acted.emit()
    settle(window)
    until(lambda: not window.keeping.reopening.under_way)
    assert window.keeping.reopening is not None and not session.path.exists()


def test_work_that_one_has_gone_on_with_is_offered_no_longer(
    window: MainWindow, tmp_path: Path, settle: Callable, until: Callable
) -> None:
    path = tmp_path / "work.facelens"
    archive.write(archive.Archive(), path)
    session = shelf.Session()
    session.works_on(path)
    session._held.close()  # as if the process were gone
    window.keeping.offer()
    [card] = window.notices.cards
    assert card.accessibleDescription().startswith("work.facelens was kept as it was at"), "it says which"
    window.keeping.open(path)
    settle(window)
    until(lambda: not window.keeping.reopening.under_way)
    assert not window.notices.cards


def test_another_gallery_leaves_the_file_alone(
    browsing: MainWindow, settle: Callable, until: Callable, make_gallery: Callable, tmp_path: Path
) -> None:
    path = tmp_path / "work.facelens"
    browsing.act("select.all")
    browsing.keeping.save_to(path)
    browsing.keeping._timer.setInterval(10**6)
    browsing.act("select.none")  # not saved yet when the other one is opened
    other = make_gallery(tmp_path / "other", seed=4)
    browsing.opening.open(other)
    settle(browsing)
    browsing.act("select.all")
    settle(browsing)
    assert browsing.keeping.path is None and browsing.windowTitle() == "other* — FaceLens"
    found = archive.read(path)
    assert found.galleries[0].name == "tiny" and not found.selected


def test_a_full_disk_is_said_once_and_nothing_is_lost(
    browsing: MainWindow, until: Callable, pump: Callable, tmp_path: Path, monkeypatch
) -> None:
    path = tmp_path / "work.facelens"
    browsing.act("select.all")
    browsing.keeping.save_to(path)
    real, content = archive.write, path.read_bytes()

    def write(found, to):
        if to == path:
            with archive.atomic_write(to) as file:
                file.write(b"half")
                raise OSError(28, "No space left on device")
        real(found, to)

    monkeypatch.setattr(archive, "write", write)
    browsing.act("select.none")
    until(lambda: browsing.notices.cards)
    until(lambda: browsing.keeping.session.path.exists())
    [title] = card_titles(browsing)
    assert title.startswith("The disk is full") and path.read_bytes() == content
    assert not archive.read(browsing.keeping.session.path).selected, "it is kept aside"
    browsing.store.update(selection=browsing.store.workspace.selection.combine(browsing.store.workspace.faces.ids[:3]))
    until(lambda: len(archive.read(browsing.keeping.session.path).selected) == 3)
    assert len(browsing.notices.cards) == 1 and browsing.keeping.dirty
    monkeypatch.setattr(archive, "write", real)
    browsing.act("workspace.save")
    assert not browsing.keeping.dirty and len(archive.read(path).selected) == 3
    assert not browsing.keeping.session.path.exists()


def test_closing_asks_only_where_nothing_can_be_written(browsing: MainWindow, monkeypatch) -> None:
    from facelens.errors import DiskFull

    asked: list[str] = []

    def refuse(found, to):
        raise DiskFull("The disk is full.")

    def answer(box: QMessageBox) -> None:
        asked.append(box.text())

    monkeypatch.setattr(QMessageBox, "exec", answer)
    browsing.act("select.all")
    assert browsing.keeping.may_close() and not asked
    monkeypatch.setattr(archive, "write", refuse)
    browsing.act("select.none")
    assert not browsing.close() and asked == ["Your work could not be saved. The disk is full."]
    monkeypatch.undo()


def test_a_file_that_somebody_else_wrote_is_not_written_over(browsing: MainWindow, until: Callable, tmp_path) -> None:
    path = tmp_path / "work.facelens"
    browsing.act("select.all")
    browsing.keeping.save_to(path)
    path.write_text(path.read_text() + " ")
    theirs = path.read_text()
    browsing.act("select.none")
    until(lambda: browsing.notices.cards)
    assert path.read_text() == theirs and card_titles(browsing) == ["work.facelens was changed by somebody else"]
    browsing.act("workspace.save")
    assert path.read_text() != theirs and shelf.backups(path)[0].read_text() == theirs


def test_an_earlier_version_opens_without_a_name(
    browsing: MainWindow, settle: Callable, until: Callable, tmp_path: Path, monkeypatch
) -> None:
    path = tmp_path / "work.facelens"
    browsing.act("select.all")
    browsing.keeping.save_to(path)
    browsing.act("select.none")
    browsing.act("workspace.save")
    [copy] = shelf.backups(path)
    content = path.read_bytes()
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(copy), ""))
    browsing.act("workspace.earlier")
    settle(browsing)
    until(lambda: not browsing.keeping.reopening.under_way)
    assert len(browsing.store.workspace.selection) == 12 and browsing.keeping.path is None
    assert path.read_bytes() == content


def test_dropping_a_workspace(browsing: MainWindow, settle: Callable, until: Callable, tmp_path: Path) -> None:
    path = tmp_path / "work.facelens"
    browsing.act("select.all")
    browsing.keeping.save_to(path)
    browsing.act("gallery.close")
    assert browsing.keeping.path is None and browsing.store.workspace.faces is None
    data = carried(path)
    enter(browsing, data)
    assert browsing.veil.targets == ("workspace",) and not browsing.veil.problem
    drop(browsing, data, QPoint(700, 400))
    settle(browsing)
    until(lambda: not browsing.keeping.reopening.under_way)
    assert len(browsing.store.workspace.selection) == 12 and browsing.keeping.path == path
    assert [one.path for one in browsing.desk.settings.workspaces] == [str(path)]


def test_local_data_takes_backups_and_unsaved_work_along(browsing: MainWindow, until: Callable, tmp_path) -> None:
    from facelens.views.sheets import LocalData

    browsing.act("select.all")
    browsing.keeping.save_to(tmp_path / "work.facelens")
    browsing.act("select.none")
    browsing.act("workspace.save")
    assert list(folders.data().rglob("*.facelens"))
    dialog = LocalData(browsing.desk, browsing)
    dialog._on_purge()
    assert not list(folders.data().rglob("*.facelens")) and browsing.desk.settings.workspaces == ()
    assert (tmp_path / "work.facelens").exists()
    dialog.close()
    browsing.act("select.all")
    assert browsing.keeping.may_close()


def test_joined_galleries_come_back(
    browsing: MainWindow, settle: Callable, until: Callable, make_gallery: Callable, tmp_path: Path
) -> None:
    make_gallery(tmp_path / "more", people=("Ada_Byron", "Ed_Fox"), seed=3)
    browsing.opening.open(tmp_path / "more", add=True)
    settle(browsing)
    browsing.store.update(
        selection=browsing.store.workspace.selection.combine(browsing.store.workspace.faces.ids[10:15])
    )
    before = archive.taken(browsing.store.workspace)
    assert len(before.galleries) == 2 and len(before.selected) == 5
    browsing.keeping.save_to(tmp_path / "work.facelens")
    browsing.keeping.open(tmp_path / "work.facelens")
    settle(browsing)
    until(lambda: not browsing.keeping.reopening.under_way)
    assert archive.same(archive.taken(browsing.store.workspace), before)
    assert np.array_equal(browsing.store.workspace.selection.ids, np.sort(browsing.store.workspace.faces.ids[10:15]))


def test_a_query_set_that_is_not_there_is_said_kept_and_located(
    open_window: Callable,
    project: Path,
    make_gallery: Callable,
    settle: Callable,
    until: Callable,
    close: Callable,
    tmp_path: Path,
    monkeypatch,
) -> None:
    make_gallery(project / "asked", people=("Ada_Byron", "Eve"), pictures=2, manifest=False, seed=9)
    window = open_window()
    window.opening.open(project / "faces")
    settle(window)
    window.opening.open_queries(project / "asked")
    settle(window)
    queries = window.store.workspace.queries
    window.store.update(query=int(queries.ids[1]))  # Ada_Byron/01.png, which is a face of the gallery as well
    path = project / "work.facelens"
    window.keeping.save_to(path)
    before = archive.read(path)
    assert before.queries is not None and before.query == "Ada_Byron/01.png"
    close(window)
    os.rename(project / "asked", tmp_path / "elsewhere")

    again = open_window()
    again.keeping.open(path)
    settle(again)
    until(lambda: not again.keeping.reopening.under_way)
    now = again.store.workspace
    assert card_titles(again) == ["The query set asked was not opened"]
    assert now.faces is not None and now.queries is None and now.query is None, "not the face of the same name"
    again.store.update(selection=again.store.workspace.selection.looking_at(int(now.faces.ids[0])))
    again.keeping.save()
    assert archive.read(path).queries == before.queries and archive.read(path).query == before.query, "it waits"

    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path / "elsewhere"))
    again.notices.cards[0].acted.emit()
    settle(again)
    until(lambda: not again.keeping.reopening.under_way)
    now = again.store.workspace
    assert now.queries is not None and now.query == int(queries.ids[1]) and len(now.queries) == 4
    until(lambda: not again.keeping.dirty)
    assert archive.read(path).queries.place.path == tmp_path / "elsewhere"
    assert again.keeping.kept.queries is None


def test_a_query_set_that_cannot_be_read_stays_in_the_file(
    open_window: Callable, project: Path, make_gallery: Callable, settle: Callable, until: Callable, close: Callable
) -> None:
    make_gallery(project / "asked", people=("Ada_Byron",), pictures=2, manifest=False, seed=9)
    window = open_window()
    window.opening.open(project / "faces")
    settle(window)
    window.opening.open_queries(project / "asked")
    settle(window)
    path = project / "work.facelens"
    window.keeping.save_to(path)
    close(window)
    shutil.rmtree(project / "asked")
    (project / "asked").mkdir()

    again = open_window()
    again.keeping.open(path)
    settle(again)
    until(lambda: not again.keeping.reopening.under_way)
    assert card_titles(again) == ["The query set asked was not opened"] and again.store.workspace.queries is None
    again.keeping.save()
    assert archive.read(path).queries is not None


def test_two_things_are_located_at_once(
    open_window: Callable, project: Path, settle: Callable, until: Callable, close: Callable, tmp_path: Path
) -> None:
    """The model while the gallery is still on its way: what one looked at comes back all the same."""
    window = open_window()
    work_on(window, project, settle)
    path = tmp_path / "work.facelens"
    window.keeping.save_to(path)
    before = archive.taken(window.store.workspace)
    close(window)
    os.rename(project, tmp_path / "gone")
    again = open_window()
    again.keeping.open(path)
    settle(again)
    until(lambda: not again.keeping.reopening.under_way)
    reopening = again.keeping.reopening
    gallery, model = reopening.missing
    reopening.relink_gallery(gallery, tmp_path / "gone" / "faces")
    reopening.relink_model(model, tmp_path / "gone" / "net.safetensors")
    settle(again)
    until(lambda: not again.keeping.reopening.under_way)
    found = archive.taken(again.store.workspace)
    assert found.fields["plan"] == before.fields["plan"] and found.fields["model_b"] == "net"
    assert found.selected == before.selected and not again.keeping.kept.models


@pytest.mark.parametrize(
    ("gone", "to"), [("faces more", "far/away"), ("faces", "far/away"), ("more", "far/away"), ("more", "project/deep")]
)
def test_joined_galleries_are_located(
    open_window: Callable,
    project: Path,
    make_gallery: Callable,
    settle: Callable,
    until: Callable,
    close: Callable,
    tmp_path: Path,
    gone: str,
    to: str,
) -> None:
    """Vectors and marks follow pictures, also where galleries that were joined have come to lie elsewhere."""
    make_gallery(project / "more", people=("Fay_Gold", "Hu_Ito"), pictures=2, manifest=False, seed=7)
    window = open_window()
    work_on(window, project, settle)
    window.opening.open(project / "more", add=True)
    settle(window)
    window.modelling.embed("net")
    settle(window)
    faces = window.store.workspace.faces
    assert len(window.store.workspace.features["net"]) == len(faces) == 16
    window.store.update(selection=window.store.workspace.selection.combine(faces.ids[[1, 13]], Mode.REPLACE))
    window.store.update(excluded=faces.ids[14:15], query=int(faces.ids[12]))
    made = window.store.workspace.features["net"]
    pictures = {_picture(faces, row): one for row, one in zip(faces.rows_of(made.ids), made.vectors, strict=True)}
    selected = {_picture(faces, row) for row in (1, 13)}
    path = tmp_path / "work.facelens"
    window.keeping.save_to(path)
    close(window)
    (tmp_path / to).mkdir(parents=True)
    for name in gone.split():
        os.rename(project / name, tmp_path / to / name)

    again = open_window()
    again.keeping.open(path)
    settle(again)
    until(lambda: not again.keeping.reopening.under_way)
    reopening = again.keeping.reopening
    while reopening.missing:
        lost = reopening.missing[0]
        reopening.relink_gallery(lost, tmp_path / to / lost.path.name)
        settle(again)
        until(lambda: not again.keeping.reopening.under_way)
    now = again.store.workspace
    assert now.faces is not None and len(now.faces) == 16
    assert {_picture(now.faces, row) for row in now.faces.rows_of(now.selection.ids)} == selected
    assert [_picture(now.faces, row) for row in now.faces.rows_of(now.excluded)] == [_picture(faces, 14)]
    assert [name for name, _ in now.annotations.tags.items()] == ["blurry"] and not reopening.lost
    assert _picture(now.faces, now.faces.rows_of(np.array([now.query]))[0]) == _picture(faces, 12)
    assert len(now.features["net"]) == 16, "vectors follow their pictures"
    for row, vector in zip(now.faces.rows_of(now.features["net"].ids), now.features["net"].vectors, strict=True):
        np.testing.assert_array_equal(vector, pictures[_picture(now.faces, row)])


def _picture(faces: archive.FaceSet, row: int) -> str:
    """A picture by its last three parts: the gallery, the person, the file."""
    return "/".join(os.fsdecode(faces.paths[int(row)]).split("/")[-3:])
