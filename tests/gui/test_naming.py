"""Naming in the window: faces get names, people are renamed and joined; everything follows, no vector is made anew."""

from __future__ import annotations

import csv
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from facelens.images.faceset import FaceSet
from facelens.session import tasks
from facelens.session.selection import Selection
from facelens.session.workspace import Arrangement
from facelens.views import keeping
from facelens.views.main_window import FACE_MENU, MainWindow
from facelens.views.naming import NameSheet
from facelens.views.palette import entries

KEY, SHIFT = Qt.Key, Qt.KeyboardModifier.ShiftModifier


def faces_of(window: MainWindow) -> FaceSet:
    faces = window.store.workspace.faces
    assert faces is not None
    return faces


def name_of(window: MainWindow, row: int) -> str:
    return faces_of(window).identity.name(row)


def choose(window: MainWindow, *rows: int) -> None:
    ids = faces_of(window).ids[list(rows)]
    window.store.update(selection=Selection(ids, int(ids[0])))


def sheet() -> NameSheet:
    return next(one for one in QApplication.topLevelWidgets() if isinstance(one, NameSheet) and one.isVisible())


def type_name(text: str) -> NameSheet:
    found = sheet()
    found.line.clear()
    QTest.keyClicks(found.line, text)
    if (popup := found.line.completer().popup()) is not None:
        popup.hide()
    return found


@pytest.fixture
def naming(browsing: MainWindow) -> MainWindow:
    time = count(100.0, 5.0)
    browsing.store.clock = lambda: next(time)  # a hand takes its time
    return browsing


def test_a_key_opens_the_sheet_and_the_selected_faces_get_a_name(naming: MainWindow, pump: Callable) -> None:
    choose(naming, 1, 2, 5)
    QTest.keyClick(naming.stage.current.home(), KEY.Key_I)
    pump()
    found = sheet()
    assert found.head.text() == "Who is on these 3 faces?" and found.now.text() == "Now Ada Byron (2), Bo Chen (1)"
    assert not found.give.isEnabled() and QApplication.focusWidget() is found.line
    type_name("Zoe  Quill")
    assert found.told.text() == "A new name in this gallery." and found.give.text() == "Name"
    QTest.keyClick(found.line, KEY.Key_Return)
    pump()
    assert [name_of(naming, row) for row in (0, 1, 2, 5)] == ["Ada_Byron", "Zoe Quill", "Zoe Quill", "Zoe Quill"]
    assert naming.store.workspace.history.undo == "identity Zoe Quill on 3 faces"
    assert naming.statusBar().currentMessage() == "3 faces named: Zoe Quill"
    assert len(naming.store.workspace.selection) == 3, "the selection stays"
    naming.act("history.undo")
    assert name_of(naming, 1) == "Ada_Byron" and not len(naming.store.workspace.identity_edits)


def test_a_known_name_is_offered_and_taken_as_it_is(naming: MainWindow, pump: Callable) -> None:
    choose(naming, 4)
    naming.act("identity.name")
    found = sheet()
    found.line.setFocus()
    QTest.keyClicks(found.line, "ada")
    popup = found.line.completer().popup()
    assert popup.isVisible() and popup.model().index(0, 0).data() == "Ada Byron"
    QTest.keyClick(popup, KEY.Key_Down)
    QTest.keyClick(popup, KEY.Key_Return)
    assert found.line.text() == "Ada Byron"
    assert found.told.text() == "Ada Byron is known, with 3 faces; these are added."
    found.give.click()
    pump()
    assert name_of(naming, 4) == "Ada_Byron" and "Ada Byron" not in faces_of(naming).identity.names


def test_nobody_and_names_that_cannot_be(naming: MainWindow, pump: Callable) -> None:
    choose(naming, 0)
    naming.act("identity.name")
    found = sheet()
    found.line.setText("a\u202eb")
    assert not found.give.isEnabled() and "cannot be a name" in found.told.text()
    found.line.setText("Ada Byron")
    assert not found.give.isEnabled() and found.told.text() == "That is the name already."
    found.nobody.click()
    pump()
    assert name_of(naming, 0) == "" and naming.store.workspace.history.undo == "no identity on 1 face"
    choose(naming, 1)
    naming.act("identity.none")
    assert name_of(naming, 1) == ""


def test_in_the_loupe_it_is_the_face_that_is_shown(naming: MainWindow, pump: Callable) -> None:
    choose(naming, 0, 1, 2)
    naming.act("view.loupe")
    QTest.keyClick(naming.stage.current.home(), KEY.Key_I)
    assert sheet().head.text() == "Who is on this face?"
    sheet().reject()
    pump()


def test_a_person_is_renamed_and_two_become_one_with_a_word_before(naming: MainWindow, pump: Callable) -> None:
    choose(naming, 4)
    QTest.keyClick(naming.stage.current.home(), KEY.Key_I, SHIFT)
    found = sheet()
    assert found.line.text() == "Bo Chen" and found.head.text() == "Another name for Bo Chen, 3 faces"
    assert not found.give.isEnabled() and found.told.text() == "That is the name already."
    type_name("Boris Chen")
    assert found.give.text() == "Rename"
    QTest.keyClick(found.line, KEY.Key_Return)
    pump()
    assert [name_of(naming, row) for row in (3, 4, 5)] == ["Boris Chen"] * 3
    assert naming.store.workspace.history.undo == "identity Bo Chen → Boris Chen on 3 faces"
    naming.act("identity.rename")
    found = type_name("cy diaz")
    assert found.give.text() == "Merge"
    assert found.told.text() == "Cy Diaz is known too, with 3 faces. The two become one person with 6 faces."
    found.give.click()
    pump()
    assert len(faces_of(naming).identity.names) == 3 and faces_of(naming).identity.counts().max() == 6
    assert naming.about.text().endswith("3 identities")


def test_a_filter_on_a_renamed_person_goes_along(naming: MainWindow, pump: Callable) -> None:
    naming.store.update(arrangement=Arrangement(filter="identity = Bo_Chen and blur >= 0"))
    shown = naming.store.workspace.shown_ids.tolist()
    choose(naming, 3)
    naming.act("identity.rename")
    type_name("New Name").give.click()
    pump()
    now = naming.store.workspace
    assert now.arrangement.filter == 'blur >= 0 and identity = "New Name"' and now.shown_ids.tolist() == shown
    naming.act("history.undo")
    assert naming.store.workspace.arrangement.filter == "identity = Bo_Chen and blur >= 0"
    assert naming.store.workspace.shown_ids.tolist() == shown


def test_the_list_never_jumps_and_says_that_it_could_be_arranged(naming: MainWindow, pump: Callable) -> None:
    naming.store.update(arrangement=Arrangement(sort="identity", group="identity"))
    before = naming.store.workspace.shown_ids.tolist()
    panel = naming.panel("gallery")
    choose(naming, 0)
    naming.act("identity.name")
    type_name("Zoe").give.click()
    pump()
    assert naming.store.workspace.shown_ids.tolist() == before == panel.grid.ids.tolist()
    assert panel.again.isVisible() and panel.grid.current_text().startswith("Zoe, ")
    panel.again.click()
    assert naming.store.workspace.shown_ids.tolist() == [*before[1:], before[0]] and not panel.again.isVisible()


def test_docks_inspector_and_palette_follow(naming: MainWindow, pump: Callable) -> None:
    choose(naming, 0)
    inspector, people, tags = (naming.panel(word) for word in ("inspector", "identities", "tags"))
    assert not inspector.edited.isVisible()
    naming.act("identity.name")
    type_name("Zoe").give.click()
    pump()
    assert inspector.name.text() == "Zoe" and inspector.edited.isVisible()
    assert inspector.edited.words.text() == "Edited. In the gallery: Ada Byron"
    assert not inspector.strip.isVisible(), "nobody else is called so"
    rows = [people.model.index(i, 0).data() for i in range(people.model.rowCount())]
    assert rows == ["Bo Chen", "Cy Diaz", "Di Eng", "Ada Byron", "Zoe"] and people.subtitle() == "5"
    jumps = entries("zoe", naming.store.workspace, lambda id: "")
    assert [one.target for one in jumps if one.kind == "identity"] == ["Zoe"]
    assert [entry.text for entry in tags.entries][-2:] == ["Identities", "Edited"]
    naming.act("identity.show")
    assert naming.store.workspace.arrangement.filter == "edited = yes" and len(naming.store.workspace.shown) == 1
    assert ("edited", "yes") in tags.chosen
    inspector.edited.back.click()
    assert not inspector.edited.isVisible() and name_of(naming, 0) == "Ada_Byron"
    assert not [entry for entry in tags.entries if entry.kind == "edited"]


def test_people_are_renamed_from_their_list(naming: MainWindow, pump: Callable) -> None:
    people = naming.panel("identities")
    people.list.setFocus()
    people.list.setCurrentIndex(people.model.index(2, 0))
    QTest.keyClick(people.list, KEY.Key_F2)
    assert sheet().person == "Cy_Diaz"
    sheet().reject()
    pump()
    people.show_menu(people.list.visualRect(people.model.index(1, 0)).center())
    menu = next(one for one in people.findChildren(QMenu) if one.isVisible())
    assert [one.text() for one in menu.actions() if one.text()] == [
        "Show only this person", "Select these faces", "Rename…",
    ]  # fmt: skip
    menu.actions()[1].trigger()
    assert naming.store.workspace.selection.ids.tolist() == sorted(faces_of(naming).ids[3:6].tolist())
    menu.actions()[-1].trigger()
    assert sheet().person == "Bo_Chen"
    sheet().reject()
    menu.close()
    pump()


def test_it_is_in_the_menus(naming: MainWindow) -> None:
    assert {"identity.name", "identity.rename", "identity.back"} <= {id for group in FACE_MENU for id in group}
    mark = next(one.menu() for one in naming.menuBar().actions() if one.text() == "Mark")
    assert {"Identity…", "Rename this person…", "Take back identity edits"} <= {one.text() for one in mark.actions()}


def test_edits_are_taken_back_for_the_selection_or_all(naming: MainWindow) -> None:
    choose(naming, 0, 1, 4)
    naming.act("identity.none")
    choose(naming, 1, 2)
    naming.act("identity.back")
    assert [name_of(naming, row) for row in (0, 1, 4)] == ["", "Ada_Byron", ""]
    assert naming.store.workspace.history.undo == "original identity of 1 face"
    naming.act("identity.back_all")
    assert [name_of(naming, row) for row in (0, 4)] == ["Ada_Byron", "Bo_Chen"]
    assert "identity.back_all" in {a.objectName() for a in naming.actions() if not a.isEnabled()}


def test_lists_that_are_exported_say_both_names(naming: MainWindow, settle: Callable, tmp_path: Path) -> None:
    choose(naming, 0)
    naming.act("identity.none")
    naming.store.update(selection=Selection())
    naming.commands.export_list(tmp_path / "list.csv")
    settle(naming)
    with (tmp_path / "list.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [rows[0][key] for key in ("identity", "edited", "original identity")] == ["", "yes", "Ada_Byron"]
    assert [rows[1][key] for key in ("identity", "edited", "original identity")] == ["Ada_Byron", "", ""]


def test_a_gallery_that_is_added_leaves_edits_as_they_are(
    naming: MainWindow, settle: Callable, make_gallery: Callable, tmp_path: Path
) -> None:
    choose(naming, 0)
    naming.act("identity.none")
    naming.opening.open(make_gallery(tmp_path / "more", people=("Ada_Byron", "Eve"), seed=3), add=True)
    settle(naming)
    faces = faces_of(naming)
    assert len(faces) == 18 and faces.identity.name(0) == "" and faces.original.name(0) == "Ada_Byron"
    naming.act("identity.back_all")
    assert faces_of(naming).identity.name(0) == "Ada_Byron"
    naming.opening.open(make_gallery(tmp_path / "other", seed=4))
    settle(naming)
    assert not len(naming.store.workspace.identity_edits)


@pytest.fixture
def project(tmp_path: Path, make_gallery: Callable) -> Path:
    """A folder with a gallery and a model."""
    import torch
    from safetensors.torch import save_file

    from facelens.features.models import MODELS

    make_gallery(tmp_path / "project" / "faces")
    torch.manual_seed(0)
    save_file(MODELS["small_plain"].build().state_dict(), tmp_path / "project" / "net.safetensors")
    return tmp_path / "project"


def test_evaluation_follows_undo_brings_the_old_one_back_and_nothing_is_embedded_again(
    open_window: Callable,
    project: Path,
    settle: Callable,
    until: Callable,
    close: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keeping, "MOMENT", 1)
    embedded: list[int] = []
    real = tasks.embed_gallery

    def embed(faces: FaceSet, *args: object, **given: object) -> object:
        embedded.append(len(faces))
        return real(faces, *args, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(tasks, "embed_gallery", embed)
    window = open_window()
    window.opening.open(project / "faces")
    settle(window)
    window.modelling.load(project / "net.safetensors")
    settle(window)
    window.modelling.embed("net")
    settle(window)
    assert embedded == [12]
    window.act("evaluate.run")
    settle(window)
    store = window.store
    first, question = store.workspace.evaluation, store.workspace.question
    assert first is not None and first.b.verification.n_genuine == 4 * 3  # four people, three faces each
    vectors, norms = store.workspace.features["net"], [name for name in faces_of(window).columns if "norm" in name]

    choose(window, 3, 4, 5)
    window.act("identity.name")
    type_name("ada byron").give.click()
    assert store.workspace.question != question and store.workspace.evaluation is None, "nothing stale is shown"
    settle(window)
    assert store.workspace.features["net"] is vectors and norms == [n for n in faces_of(window).columns if "norm" in n]
    second = store.workspace.evaluation
    assert second is not None and second.b.verification.n_genuine == 15 + 3 + 3
    window.act("history.undo")
    settle(window)
    assert store.workspace.question == question and store.workspace.evaluation is first
    window.act("history.redo")
    assert store.workspace.evaluation is second

    window.keeping.save_to(project / "work")
    close(window)
    again = open_window()
    again.open_path(project / "work.facelens")
    settle(again)
    until(lambda: not again.keeping.reopening.under_way)
    settle(again)
    assert name_of(again, 4) == "Ada_Byron" and len(again.store.workspace.identity_edits) == 3
    assert np.array_equal(again.store.workspace.features["net"].ids, vectors.ids) and embedded == [12]
    assert not again.keeping.dirty
    again.act("evaluate.run")
    settle(again)
    assert again.store.workspace.evaluation.digest == second.digest
    again.act("identity.back_all")
    again.act("evaluate.run")
    settle(again)
    assert again.store.workspace.evaluation.digest == first.digest and embedded == [12]
