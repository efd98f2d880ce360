"""Every action of the table does something, says why it cannot, and never throws."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QMessageBox

from facelens.session.actions import ACTIONS, BY_ID
from facelens.session.identities import named
from facelens.session.selection import Selection
from facelens.session.workspace import Arrangement
from facelens.views.figure_sheet import FigureSheet
from facelens.views.key_sheet import KeySheet
from facelens.views.main_window import MainWindow
from facelens.views.sheets import BuildPairs, LocalData


@pytest.fixture
def dialogs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """File dialogs that answer at once; message boxes would hang the test and are forbidden."""
    asked: list[str] = []
    out = tmp_path / "out"
    out.mkdir()

    def save(_parent, title, name="", *_rest):
        asked.append(title)
        return str(out / Path(name).name), "PNG (*.png)"

    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda _p, title, *_: asked.append(title) or "")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda _p, title, *_: (asked.append(title) or "", ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda _p, title, *_: (asked.append(title) or [], ""))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", save)
    monkeypatch.setattr(QMessageBox, "exec", lambda self: pytest.fail(f"a box asked: {self.text()}"))
    return asked


def open_dialogs() -> list[QDialog]:
    return [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog) and w.isVisible()]


def test_table_and_handlers_are_the_same_set(window: MainWindow) -> None:
    assert window.commands.table.keys() == BY_ID.keys()
    assert window.actions_by_id.keys() == BY_ID.keys()


def test_shortcuts_of_the_window_do_not_clash(browsing: MainWindow) -> None:
    seen: dict[str, str] = {}
    for id, action in browsing.actions_by_id.items():
        for key in action.shortcuts():
            assert not key.isEmpty(), id
            assert key.toString() not in seen, f"{key.toString()}: {id} and {seen[key.toString()]}"
            seen[key.toString()] = id
    assert seen["Ctrl+K"] == "palette.open" and seen["?"] == "keys.show" and seen["Ctrl+1"] == "layout.browse"


TRAINING = {"training.start", "training.resume"}  # see test_training.py


def test_disabled_actions_say_why(window: MainWindow) -> None:
    for spec in ACTIONS:
        action = window.actions_by_id[spec.id]
        reason = spec.needs(window.store.workspace)
        assert action.isEnabled() == (not reason)
        if reason:
            assert action.toolTip() == reason
    window.act("select.all")
    assert window.statusBar().currentMessage() == "Needs a gallery. Open one first (Ctrl+O)."


def test_buttons_of_the_toolbar_follow_their_action(browsing: MainWindow, settle: Callable) -> None:
    export = next(
        b for b in browsing.toolbar.findChildren(type(browsing.theme_button)) if b.accessibleName() == "Export"
    )
    assert export.isEnabled() and "Ctrl+E" in export.toolTip()
    browsing.act("gallery.close")
    assert not export.isEnabled()
    assert export.toolTip() == "Needs a gallery. Open one first (Ctrl+O)."


def test_every_action_on_an_empty_window(
    window: MainWindow, dialogs: list[str], settle: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window.opening, "_sampled", lambda: None)  # its models: see test_opening.py
    for id in [id for id in BY_ID if id not in {"application.quit", *TRAINING}]:
        window.actions_by_id[id].trigger()
        window.act(id)
        settle(window)
        for dialog in open_dialogs():
            dialog.close()
        window.act("layout.browse")
        window.opening.close()


def test_every_action_on_a_full_window(browsing: MainWindow, dialogs: list[str], settle: Callable) -> None:
    window = browsing
    full = window.store.workspace
    ids = full.faces.ids
    of_models = {
        "model.embed",
        "model.compare",
        "model.feed",
        "model.variance",
        "model.swap",
        "model.remove",
        "vectors.export",
        "vectors.delete",
    }  # see test_models.py
    panels = ("evaluate.", "uncertainty.", "confidence.", "learners.", "match.", "upgrade.", "projection.")
    of_results = {id for id in BY_ID if id.startswith(panels) and not id.endswith(".show")}  # see the panels' own tests
    elsewhere = {"application.quit", "gallery.open_sample", *of_models, *of_results, *TRAINING}
    for id in [id for id in BY_ID if id not in elsewhere]:  # in one order, so that a failure comes back
        window.store.update(faces=full.faces, source=full.source, diagnosis=full.diagnosis)
        window.store.update(
            arrangement=Arrangement(filter="blur >= 0"),
            selection=Selection(ids=ids[:3], current=int(ids[0])),
            excluded=ids[-1:],
        )
        if id.startswith("history."):
            window.store.update(selection=Selection(ids=ids[:2], current=int(ids[1])))
        if id == "history.redo":
            window.act("history.undo")
        if id == "find.again":
            window.store.update(standing=full.said)
        if id in ("identity.back", "identity.back_all", "identity.show"):
            window.store.update(identity_edits=named(full.identity_edits, full.faces, ids[:1], "Somebody"))
        assert not BY_ID[id].needs(window.store.workspace), id
        window.actions_by_id[id].trigger()
        settle(window)
        for dialog in open_dialogs():
            dialog.close()
        assert not [card for card in window.notices.cards if card.property("kind") == "bad"], id
    expected = {"Open a gallery folder", "Export list", "Open a model", "Import vectors"}
    assert expected <= set(dialogs)


def test_quit_closes(browsing: MainWindow) -> None:
    browsing.act("application.quit")
    assert not browsing.isVisible()


def test_dialogs_open_and_close(browsing: MainWindow, pump: Callable) -> None:
    for id, cls in (("keys.show", KeySheet), ("cache.show", LocalData), ("protocol.build_pairs", BuildPairs)):
        browsing.act(id)
        dialog = browsing.findChild(cls)
        assert dialog is not None and dialog.isVisible()
        dialog.reject()
        pump()
        assert browsing.findChild(cls) is None, f"{id} stays in memory"


def test_export_writes_what_is_selected_else_what_is_shown(
    browsing: MainWindow, dialogs: list[str], tmp_path: Path, settle: Callable
) -> None:
    ids = browsing.store.workspace.faces.ids
    browsing.act("data.export")
    settle(browsing)
    with open(next((tmp_path / "out").glob("*.csv")), newline="") as file:
        assert len(list(csv.reader(file))) == 1 + 12
    assert browsing.statusBar().currentMessage().startswith("Written to ")
    browsing.store.update(selection=Selection(ids=ids[[1, 4]]))
    browsing.act("data.export")
    settle(browsing)
    with open(next((tmp_path / "out").glob("*.csv")), newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 and {"blur", "split"} <= rows[0].keys()
    assert browsing.statusBar().currentMessage().startswith("Written to ")


def test_names_without_an_ending_get_one(
    browsing: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settle: Callable
) -> None:
    kinds = ["PDF (*.pdf)"]
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "mine"), kinds[-1]))
    browsing.act("figure.export")
    [sheet] = browsing.findChildren(FigureSheet)
    sheet.format.button("pdf").click()
    sheet.save.click()
    settle(browsing)
    for kind in ("CSV (*.csv)", "JSON (*.json)", "Parquet (*.parquet)"):
        kinds.append(kind)
        browsing.act("data.export")
        settle(browsing)
    browsing.commands._build("pairs.bin", 1, 2, 0)
    settle(browsing)
    names = {"mine.pdf", "mine.pdf.recipe.json", "mine.csv", "mine.json", "mine.parquet", "mine.bin"}
    assert {path.name for path in tmp_path.glob("mine*")} == names


def test_a_list_that_cannot_be_written_is_told(
    browsing: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settle: Callable
) -> None:
    monkeypatch.setattr(
        QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "missing" / "deep" / "list.csv"), "CSV (*.csv)")
    )
    browsing.act("data.export")
    settle(browsing)
    [card] = browsing.notices.cards
    assert "list.csv" in card.accessibleName() or "missing" in card.accessibleName()


def test_copy_puts_a_picture_on_the_clipboard(browsing: MainWindow, settle: Callable, facelens_home: Path) -> None:
    browsing.act("figure.copy")
    settle(browsing)
    image = QGuiApplication.clipboard().image()
    assert image.width() > 200 and image.height() > 100
    assert not list(facelens_home.rglob("copied.png")), "no copy of faces stays in the cache"


def test_select_all_invert_identity_and_step(browsing: MainWindow) -> None:
    store = browsing.store
    ids = store.workspace.shown_ids
    browsing.act("select.all")
    assert len(store.workspace.selection) == 12
    browsing.act("select.invert")
    assert len(store.workspace.selection) == 0
    browsing.act("select.next")
    assert store.workspace.selection.current == ids[0]
    browsing.act("select.next")
    browsing.act("select.next")
    browsing.act("select.previous")
    assert store.workspace.selection.current == ids[1] and store.workspace.selection.ids.tolist() == [ids[1]]
    browsing.act("select.identity")
    faces = store.workspace.faces
    rows = faces.rows_of(store.workspace.selection.ids)
    assert len(rows) == 3 and {faces.identity.name(int(row)) for row in rows} == {"Ada_Byron"}


def test_exclude_looks_at_the_next_face_that_stays(browsing: MainWindow) -> None:
    store = browsing.store
    ids = store.workspace.shown_ids
    store.update(selection=Selection(ids=ids[[3, 4]], current=int(ids[3])))
    browsing.act("faces.exclude")
    assert store.workspace.selection.current == ids[5]
    assert len(store.workspace.shown) == 10
    store.update(selection=Selection(ids=ids[[10, 11]], current=int(ids[11])))
    browsing.act("faces.exclude")
    assert store.workspace.selection.current == ids[9]
    browsing.act("faces.include_all")
    assert np.array_equal(store.workspace.shown_ids, ids)


def test_the_ladder_of_escape(browsing: MainWindow) -> None:
    window, store = browsing, browsing.store
    ids = store.workspace.shown_ids
    window.commands.show_identity("Bo_Chen")
    store.update(selection=Selection(ids=ids[3:5], current=int(ids[3])))
    window.act("view.compare")
    window.act("application.about")
    window.act("palette.open")
    rungs = [
        lambda: not window.palette_card.isVisible(),
        lambda: not window.notices.cards,
        lambda: window.panel("gallery").view == "grid",
        lambda: len(store.workspace.selection) == 0,
        lambda: store.workspace.arrangement.filter == "",
    ]
    for i, rung in enumerate(rungs):
        assert not rung(), f"rung {i} was stepped over"
        window.act("select.none")
        assert rung(), f"rung {i} holds"
    window.act("select.none")
    assert store.workspace.faces is not None


def test_look_at_clears_a_filter_that_hides_the_face(browsing: MainWindow) -> None:
    faces = browsing.store.workspace.faces
    browsing.commands.show_identity("Bo_Chen")
    browsing.commands.look_at(int(faces.ids[0]))
    assert browsing.store.workspace.arrangement.filter == ""
    assert browsing.store.workspace.selection.current == faces.ids[0]


def test_build_pairs_writes_the_list(
    browsing: MainWindow, dialogs: list[str], tmp_path: Path, settle: Callable
) -> None:
    browsing.act("protocol.build_pairs")
    dialog = browsing.findChild(BuildPairs)
    dialog.folds.setValue(2)
    dialog.per_fold.setValue(3)
    dialog._on_save()
    settle(browsing)
    lines = (tmp_path / "out" / "pairs.txt").read_text().splitlines()
    assert len(lines) == 1 + 2 * 2 * 3


def test_delete_cached_data_forgets_everything(
    browsing: MainWindow, facelens_home: Path, tiny_faces: Path, pump: Callable
) -> None:
    (facelens_home / "cache" / "thumbnails").mkdir(parents=True, exist_ok=True)
    (facelens_home / "cache" / "thumbnails" / "face.jpg").write_bytes(b"marker-1234")
    (facelens_home / "state").mkdir(exist_ok=True)
    (facelens_home / "state" / "facelens.log").write_text("marker-1234")
    (facelens_home / "state" / "facelens.log.1").write_text("marker-1234")
    browsing.act("cache.show")
    dialog = browsing.findChild(LocalData)
    dialog.purge.click()
    left = [path for path in facelens_home.rglob("*") if path.is_file() and b"marker-1234" in path.read_bytes()]
    assert not left
    assert not browsing.desk.settings.recent
    assert str(tiny_faces) not in (facelens_home / "config" / "settings.json").read_text()
    dialog.reject()
    pump()


def test_enter_does_not_delete_local_data(browsing: MainWindow, pump: Callable) -> None:
    browsing.act("cache.show")
    dialog = browsing.findChild(LocalData)
    assert not dialog.purge.isDefault() and not dialog.purge.hasFocus()
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    QTest.keyClick(dialog, Qt.Key.Key_Return)
    pump()
    assert browsing.desk.settings.recent, "Enter closed the sheet and deleted nothing"


def test_limits_are_set_in_the_window(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    from facelens import limits
    from facelens.views.sheets import LimitsSheet

    monkeypatch.setenv(limits.MEGAPIXELS, "")
    monkeypatch.setenv(limits.MODEL_GB, "")
    window.act("limits.show")
    (sheet,) = window.findChildren(LimitsSheet)
    assert (sheet.megapixels.value(), sheet.model_gb.value()) == (89, 8)
    sheet.grab()
    sheet.megapixels.setValue(150)
    sheet._on_save()
    assert window.desk.settings.megapixels == 150 and limits.megapixels() == 150
