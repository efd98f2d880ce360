"""Dragging something in: the veil says what was recognised, letting go opens or adds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication

from facelens.views.main_window import MainWindow

LEFT, NONE, COPY = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, Qt.DropAction.CopyAction


def carried(*paths: Path | str) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(p)) if isinstance(p, Path) else QUrl(p) for p in paths])
    return data


def enter(window: MainWindow, data: QMimeData) -> bool:
    event = QDragEnterEvent(QPoint(700, 400), COPY, data, LEFT, NONE)
    event.ignore()
    QApplication.sendEvent(window, event)
    return event.isAccepted()


def move(window: MainWindow, data: QMimeData, point: QPoint) -> None:
    QApplication.sendEvent(window, QDragMoveEvent(point, COPY, data, LEFT, NONE))


def drop(window: MainWindow, data: QMimeData, point: QPoint) -> None:
    QApplication.sendEvent(window, QDropEvent(QPointF(point), COPY, data, LEFT, NONE))


def test_a_dropped_folder_opens(window: MainWindow, tiny_faces: Path, settle: Callable) -> None:
    data = carried(tiny_faces)
    assert enter(window, data)
    assert window.veil.isVisible() and not window.veil.problem
    assert window.veil.text.startswith("tiny · ") and "12 pictures" in window.veil.text
    assert window.veil.geometry() == window.stage.rect()
    window.grab()
    drop(window, data, QPoint(700, 400))
    assert not window.veil.isVisible()
    settle(window)
    assert len(window.store.workspace.faces) == 12


def test_a_dropped_manifest_opens(window: MainWindow, tiny_faces: Path, settle: Callable) -> None:
    data = carried(tiny_faces / "manifest.csv")
    assert enter(window, data)
    drop(window, data, QPoint(700, 400))
    settle(window)
    assert "blur" in window.store.workspace.faces.columns


def test_the_lower_target_adds(browsing: MainWindow, make_gallery: Callable, tmp_path: Path, settle: Callable) -> None:
    data = carried(make_gallery(tmp_path / "more", people=("Zoe",), pictures=2, manifest=False, seed=9))
    enter(browsing, data)
    assert not browsing.veil.adding
    low = browsing.veil.mapTo(browsing, QPoint(browsing.veil.width() // 2, browsing.veil.height() - 60))
    move(browsing, data, low)
    assert browsing.veil.adding
    browsing.grab()
    drop(browsing, data, low)
    settle(browsing)
    assert len(browsing.store.workspace.faces) == 14


def test_on_the_match_page_a_folder_may_be_the_query_set(
    browsing: MainWindow, make_gallery: Callable, tmp_path: Path, settle: Callable
) -> None:
    data = carried(make_gallery(tmp_path / "masked", people=("Ada_Byron",), pictures=2, manifest=False, seed=9))
    enter(browsing, data)
    assert "queries" not in browsing.veil.targets
    QApplication.sendEvent(browsing, QDragLeaveEvent())
    browsing.act("match.show")
    enter(browsing, data)
    assert browsing.veil.targets == ("open", "add", "queries")
    veil = browsing.veil
    spot = next(
        point
        for point in (QPoint(veil.width() * i // 12, veil.height() - 60) for i in range(12))
        if not move(browsing, data, veil.mapTo(browsing, point)) and veil.doing == "queries"
    )
    browsing.grab()
    drop(browsing, data, veil.mapTo(browsing, spot))
    settle(browsing)
    queries = browsing.store.workspace.queries
    assert queries is not None and len(queries) == 2 and len(browsing.store.workspace.faces) == 12


def test_a_list_of_pairs_becomes_the_test(browsing: MainWindow, tmp_path: Path, settle: Callable) -> None:
    faces = browsing.store.workspace.faces
    assert faces is not None
    a, b, c = (faces.paths[row].decode() for row in range(3))
    table = tmp_path / "my pairs.csv"
    table.write_text(f"a,b,same\n{a},{b},1\n{b},{c},0\nnobody.jpg,{c},0\n")
    data = carried(table)
    enter(browsing, data)
    assert browsing.veil.targets == ("pairs", "open") and not browsing.veil.problem
    browsing.grab()
    drop(browsing, data, QPoint(700, 400))
    settle(browsing)
    workspace = browsing.store.workspace
    assert workspace.faces is faces and workspace.protocol is not None and workspace.protocol.pairs is not None
    assert workspace.protocol.pairs.pairs.tolist() == [[0, 1], [1, 2]] and workspace.plan.protocol == "my pairs.csv"
    table.write_text("a,b,same\nx.jpg,y.jpg,1\n")
    enter(browsing, data)
    drop(browsing, data, QPoint(700, 400))
    settle(browsing)
    assert browsing.store.workspace.protocol is workspace.protocol


def test_without_a_gallery_there_is_nothing_to_add_to(window: MainWindow, tiny_faces: Path) -> None:
    data = carried(tiny_faces)
    enter(window, data)
    move(window, data, window.veil.mapTo(window, QPoint(300, window.veil.height() - 60)))
    assert not window.veil.adding
    QApplication.sendEvent(window, QDragLeaveEvent())
    assert not window.veil.isVisible()


def test_what_cannot_be_opened_is_said_before_and_after(window: MainWindow, tmp_path: Path, settle: Callable) -> None:
    note = tmp_path / "notes.docx"
    note.write_bytes(b"PK\x03\x04")
    data = carried(note)
    enter(window, data)
    assert "notes.docx" in window.veil.problem
    window.grab()
    drop(window, data, QPoint(700, 400))
    settle(window)
    [card] = window.notices.cards
    assert "notes.docx" in card.accessibleName() and card.accessibleDescription()


def test_what_is_no_file_is_not_taken(window: MainWindow) -> None:
    assert not enter(window, carried("https://example.org/faces.zip"))
    text = QMimeData()
    text.setText("faces")
    assert not enter(window, text)
    assert not window.veil.isVisible()


def test_names_are_escaped(window: MainWindow, make_gallery: Callable, tmp_path: Path) -> None:
    data = carried(make_gallery(tmp_path / "odd\u202eexe", people=("A",), pictures=1, manifest=False))
    enter(window, data)
    assert "\u202e" not in window.veil.text and "\\u202e" in window.veil.text
