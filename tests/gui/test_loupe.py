"""Loupe and comparison: the picture is where the view says, and keys do what their tooltips promise."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication

from facelens.images.faceset import FaceSet
from facelens.views import theme
from facelens.views.loupe import MARGIN, Compare, Loupe, Picture, View
from facelens.views.thumbnails import Thumbnails

NONE = Qt.KeyboardModifier.NoModifier


@pytest.fixture(autouse=True)
def _dark(qapp: QApplication) -> None:
    theme.apply(qapp, "dark")


@pytest.fixture
def thumbs(qtbot):
    made = Thumbnails(threads=2)
    yield made
    made.close()


@pytest.fixture
def faces(tmp_path) -> FaceSet:
    for i in range(5):
        pixels = np.full((50, 100, 3), 40 * i + 20, np.uint8)
        pixels[:, 50:] = (200, 30, 30)
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
    (tmp_path / "5.png").write_bytes(b"broken")
    points = np.full((6, 5, 2), np.nan, np.float32)
    points[0] = [[10, 10], [90, 10], [50, 25], [10, 40], [90, 40]]
    paths = [f"{i}.png" for i in range(6)]
    return FaceSet.build("g", tmp_path, paths=paths, identities=list("abcdef"), landmarks=points)


@pytest.fixture
def loupe(qtbot, thumbs, faces) -> Loupe:
    made = Loupe(thumbs)
    qtbot.addWidget(made)
    made.resize(432, 262)  # the picture gets 400 x 200 inside its margins
    made.show()
    made.set_face(faces, 0)
    qtbot.waitUntil(lambda: made.pictures()[0].pixmap() is not None)
    return made


def wheel(picture: Picture, at: QPointF, delta: int) -> None:
    event = QWheelEvent(
        at, picture.mapToGlobal(at), QPoint(), QPoint(0, delta), Qt.MouseButton.NoButton, NONE,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(picture, event)


def pull(picture: Picture, start: QPointF, end: QPointF, button=Qt.MouseButton.MiddleButton) -> None:
    for kind, at, which, held in (
        (QEvent.Type.MouseButtonPress, start, button, button),
        (QEvent.Type.MouseMove, end, Qt.MouseButton.NoButton, button),
        (QEvent.Type.MouseButtonRelease, end, button, Qt.MouseButton.NoButton),
    ):
        QApplication.sendEvent(picture, QMouseEvent(kind, at, picture.mapToGlobal(at), which, held, NONE))


def shares(picture: Picture, at: QPointF) -> tuple[float, float]:
    """Which point of the picture lies at a point of the widget."""
    place = picture._place(picture.pixmap(), picture.view)
    return (at.x() - place.left()) / place.width(), (at.y() - place.top()) / place.height()


def test_fitted_with_its_facts(qtbot, loupe) -> None:
    picture = loupe.pictures()[0]
    assert picture._place(picture.pixmap(), picture.view).getRect() == (MARGIN, MARGIN, 400, 200)
    qtbot.waitUntil(lambda: loupe._facts.text() == "100 × 50 · 400 %")
    assert (loupe._name.text(), loupe._file.text()) == ("a", "0.png")
    assert loupe.accessibleDescription() == "a, 0.png, 100 × 50 · 400 %"
    image = picture.grab().toImage()
    assert image.pixelColor(40, 116).name() == "#141414" and image.pixelColor(390, 116).name() == "#c81e1e"
    assert image.pixelColor(4, 4).name() == theme.DARK.sunk


def test_wheel_zooms_at_the_pointer(loupe) -> None:
    picture = loupe.pictures()[0]
    at = QPointF(300, 80)
    before = shares(picture, at)
    wheel(picture, at, 240)
    assert picture.view.zoom == pytest.approx(1.25**2)
    assert shares(picture, at) == pytest.approx(before)
    wheel(picture, at, -2400)
    assert picture.view == View(), "never smaller than fitted"
    for _ in range(60):
        wheel(picture, at, 120)
    assert picture.scale() == pytest.approx(64)


def test_middle_drag_and_space_drag_move_the_picture(qtbot, loupe) -> None:
    picture = loupe.pictures()[0]
    loupe.pictures()[0].zoom_by(4)
    start, end = QPointF(200, 100), QPointF(240, 90)
    held = shares(picture, start)
    pull(picture, start, end)
    assert shares(picture, end) == pytest.approx(held)
    kept = picture.view
    pull(picture, start, end, Qt.MouseButton.LeftButton)
    assert picture.view == kept, "the left button alone moves nothing"
    qtbot.keyPress(loupe, Qt.Key.Key_Space)
    pull(picture, start, end, Qt.MouseButton.LeftButton)
    assert picture.view != kept
    qtbot.keyRelease(loupe, Qt.Key.Key_Space)
    kept = picture.view
    pull(picture, start, end, Qt.MouseButton.LeftButton)
    assert picture.view == kept


def test_keys(qtbot, loupe) -> None:
    picture = loupe.pictures()[0]
    steps, closed = [], []
    loupe.step.connect(steps.append)
    loupe.closed.connect(lambda: closed.append(True))
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Escape, Qt.Key.Key_G):
        qtbot.keyClick(loupe, key)
    assert steps == [1, -1] and len(closed) == 2
    qtbot.keyClick(loupe, Qt.Key.Key_Plus)
    assert picture.view.zoom == 1.25
    qtbot.keyClick(loupe, Qt.Key.Key_Z)
    assert picture.scale() == pytest.approx(1.0)
    qtbot.keyClick(loupe, Qt.Key.Key_F)
    assert picture.view == View()


def test_landmarks_where_there_are_some(qtbot, loupe, faces) -> None:
    picture = loupe.pictures()[0]
    plain = picture.grab().toImage()
    qtbot.keyClick(loupe, Qt.Key.Key_L)
    assert loupe._points.isChecked()
    shown = picture.grab().toImage()
    x, y = MARGIN + round(10.5 * 4), MARGIN + round(10.5 * 4)
    ring = [shown.pixelColor(x + dx, y) for dx in (-6, -5, -4, 4, 5, 6)]
    assert any(c.red() > 180 and c.blue() < 90 for c in ring), "amber"
    assert all(plain.pixelColor(x + dx, y).red() < 60 for dx in (-6, -5, -4, 4, 5, 6))
    loupe.set_face(faces, 1)
    assert not loupe._points.isEnabled() and loupe._points.toolTip() == "This face has no landmarks."


def test_the_view_stays_when_stepping(qtbot, loupe, faces) -> None:
    loupe.pictures()[0].zoom_by(3)
    view = loupe.pictures()[0].view
    loupe.set_face(faces, 1)
    assert loupe.pictures()[0].view == view


def test_stand_in_then_broken_says_why(qtbot, loupe, faces) -> None:
    loupe.set_face(faces, 5)
    picture = loupe.pictures()[0]
    assert picture.grab().toImage().pixelColor(216, 40).name() == theme.DARK.raised
    qtbot.waitUntil(lambda: loupe._thumbnails.broken(int(faces.ids[5])) is not None)
    image = picture.grab().toImage()
    colours = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
    assert theme.DARK.warn in colours
    loupe.set_face(faces, None)
    assert loupe._name.text() == "No face chosen" and picture.face is None
    loupe.set_face(None, None)
    loupe.grab()


def test_never_decodes_on_the_gui_thread(qtbot, thumbs, faces, monkeypatch) -> None:
    import threading

    from facelens.views import thumbnails as module

    where = []
    real = module.decode.read_face
    monkeypatch.setattr(module.decode, "read_face", lambda *a: (where.append(threading.current_thread()), real(*a))[1])
    made = Loupe(thumbs)
    qtbot.addWidget(made)
    made.show()
    made.set_face(faces, 2)
    qtbot.waitUntil(lambda: made.pictures()[0].pixmap() is not None)
    assert where and threading.main_thread() not in where


def test_compare_shares_one_view(qtbot, thumbs, faces) -> None:
    compare = Compare(thumbs)
    qtbot.addWidget(compare)
    compare.resize(900, 400)
    compare.show()
    compare.grab()
    assert compare.accessibleDescription().startswith("Select two to four")
    compare.set_faces(faces, np.array([0, 2, 3]))
    QApplication.processEvents()
    one, two, three = compare.pictures()
    assert all(p.width() in (297, 298) for p in (one, two, three))
    qtbot.waitUntil(lambda: all(p.pixmap() is not None for p in compare.pictures()))
    wheel(two, QPointF(60, 100), 360)
    assert one.view == two.view == three.view and one.view.zoom > 1
    chosen, closed = [], []
    compare.chosen.connect(chosen.append)
    compare.closed.connect(lambda: closed.append(True))
    qtbot.mouseClick(three, Qt.MouseButton.LeftButton)
    qtbot.keyClick(compare, Qt.Key.Key_F)
    assert chosen == [int(faces.ids[3])] and one.view == View()
    qtbot.keyClick(compare, Qt.Key.Key_Escape)
    assert closed
    compare.set_faces(faces, np.arange(6))
    assert len(compare.pictures()) == 4 and compare.accessibleDescription() == "a, b, c, d"
    for width, height, lines in ((900, 250, 1), (600, 600, 2), (2000, 300, 1)):
        compare.resize(width, height)
        QApplication.processEvents()
        tops = {p.mapTo(compare, QPoint(0, 0)).y() for p in compare.pictures()}
        assert len(tops) == lines
        assert min(p.width() for p in compare.pictures()) >= width * lines / 4 - 8


@pytest.mark.parametrize("kind", [Loupe, Compare])
def test_dies_when_it_is_closed(qtbot, thumbs, faces, kind) -> None:
    made = kind(thumbs)
    made.show()
    gone = weakref.ref(made)
    made.close()
    made.deleteLater()
    del made
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert gone() is None
