"""A million faces: open, sort, resize and scroll, beside Qt's own list view; the first screen of faces."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QAbstractListModel, QModelIndex, QSize, Qt
from PySide6.QtWidgets import QApplication, QListView

from facelens.images.faceset import FaceSet, Labels
from facelens.images.packed import Packed
from facelens.resources import sample_data
from facelens.views import theme
from facelens.views.grid import ThumbnailGrid
from facelens.views.thumbnails import Thumbnails

pytestmark = pytest.mark.bench
ROWS = 1_000_000
REACH = 0.050  # open, sort, resize
FRAME = 0.016


def best(work: Callable[[], object], times: int = 5) -> float:
    """Seconds of the best of a few runs: what the code needs when the machine lets it."""
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        spent.append(time.perf_counter() - start)
    return min(spent)


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    """A million made-up rows over eight files."""
    dice = np.random.default_rng(0)
    for i in range(8):
        Image.fromarray(dice.integers(0, 255, (112, 112, 3), np.uint8)).save(tmp_path / f"{i}.jpg")
    paths = Packed.of([f"{i}.jpg" for i in range(8)]).take(np.arange(ROWS) % 8)
    identity = Labels((np.arange(ROWS) // 20).astype(np.int32), tuple(f"Person {i:05}" for i in range(ROWS // 20)))
    ids = dice.permutation(ROWS) + (1 << 40)
    return FaceSet("million", tmp_path, paths, identity, {"quality": dice.random(ROWS)}, None, ids)


@pytest.fixture
def thumbs(qapp: QApplication):
    theme.apply(qapp, "dark")
    made = Thumbnails()
    yield made
    made.close()


def window(qtbot, widget):
    qtbot.addWidget(widget)
    widget.resize(928, 700)
    widget.show()
    QApplication.processEvents()
    return widget


class Listed(QAbstractListModel):
    """What a QListView would be given."""

    def __init__(self, faces: FaceSet, rows: np.ndarray) -> None:
        super().__init__()
        self.faces, self.rows = faces, rows

    def rowCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: B008
        return len(self.rows)

    def data(self, index: QModelIndex, role: int = 0) -> object:
        if role == Qt.ItemDataRole.DisplayRole:
            return self.faces.label(int(self.rows[index.row()]))
        return QSize(111, 130) if role == Qt.ItemDataRole.SizeHintRole else None


def peer(qtbot, faces: FaceSet, rows: np.ndarray) -> QListView:
    view = QListView()
    view.setViewMode(QListView.ViewMode.IconMode)
    view.setResizeMode(QListView.ResizeMode.Adjust)
    view.setUniformItemSizes(True)
    view.setGridSize(QSize(111, 130))
    view.setModel(Listed(faces, rows))
    return window(qtbot, view)


def test_a_million_rows_open_sort_and_resize(qtbot, thumbs, faces, record_property) -> None:
    grid = window(qtbot, ThumbnailGrid(thumbs))
    order, shuffled = np.arange(ROWS), faces.order_by("quality")

    def show(rows: np.ndarray, groups: Labels | None = None) -> Callable[[], None]:
        def work() -> None:
            grid.set_faces(faces, rows, value="quality", groups=groups)
            grid.viewport().repaint()

        return work

    def resize() -> None:
        grid.resize(1228 if grid.width() == 928 else 928, 700)
        grid.viewport().repaint()

    measured = {
        "open": best(show(order)),
        "sort": best(show(shuffled)),
        "group": best(show(order, faces.identity)),
        "resize": 0.0,
    }
    show(order)()
    measured["resize"] = best(resize)

    def reset() -> None:
        view.model().beginResetModel()
        view.model().endResetModel()
        view.viewport().repaint()

    view = peer(qtbot, faces, order)
    listed = best(reset, times=1)
    print({name: f"{1000 * t:.1f} ms" for name, t in measured.items()}, f"QListView reset {1000 * listed:.0f} ms")
    for name, spent in measured.items():
        record_property(name, spent)
        # 50 ms are a thirtieth of what the list view takes on an idle machine; on a busy one both take longer.
        assert spent <= max(REACH, listed / 30), name


def test_scrolling_a_million_rows(qtbot, thumbs, faces, record_property) -> None:
    grid = window(qtbot, ThumbnailGrid(thumbs))
    grid.set_faces(faces, np.arange(ROWS), value="quality")
    bar = grid.verticalScrollBar()

    def frames(start: int, step: int, count: int = 60) -> np.ndarray:
        spent = []
        for i in range(count):
            begin = time.perf_counter()
            bar.setValue(start + i * step)
            grid.viewport().repaint()
            spent.append(time.perf_counter() - begin)
        return np.array(spent)

    # Decoded faces: one screen back and forth. Faces never seen: jumping through the whole list.
    bar.setValue(1_000_000)
    grid.viewport().repaint()
    qtbot.waitUntil(lambda: thumbs.idle)
    grid.viewport().repaint()
    qtbot.waitUntil(lambda: thumbs.idle)
    known = frames(1_000_000, 1)
    unseen = frames(2_000_000, 130 * 5)
    far = frames(3_000_000, 130_000)

    view = peer(qtbot, faces, np.arange(20_000))  # a fiftieth of the rows, or it would not open in time
    listed = []
    for i in range(20):
        begin = time.perf_counter()
        view.verticalScrollBar().setValue(50_000 + i)
        view.viewport().repaint()
        listed.append(time.perf_counter() - begin)
    report = {"known": known, "unseen": unseen, "far": far, "QListView of 20,000, text only": np.array(listed)}
    print({name: f"median {1000 * np.median(t):.1f}, worst {1000 * t.max():.1f} ms" for name, t in report.items()})
    for name in ("known", "unseen", "far"):
        record_property(name, float(np.median(report[name])))
        # On an idle machine 16 ms are five frames of a list view without pictures.
        assert np.median(report[name]) <= max(FRAME, 5 * float(np.median(listed))), name


def test_first_screen_of_faces(qtbot, thumbs, record_property) -> None:
    root = sample_data()
    pictures = sorted(p.relative_to(root) for p in root.rglob("*.jpg"))[:200] if root.is_dir() else []
    if len(pictures) < 60:
        pytest.skip("the sample gallery is not there")
    names = [str(p) for p in pictures]
    faces = FaceSet.build("sample", root, paths=names, identities=[p.parent.name for p in pictures])

    def whole_screen() -> bool:
        top, bottom = grid._top, grid._top + grid.viewport().height()
        return all(
            grid._thumbnails.get(faces, int(grid._rows[place]), grid.thumbnail_size) is not None
            for _, first, after in grid._layout.visible(top, bottom)
            for place in range(first, after)
        )

    spent = []
    for _ in range(3):
        thumbs.forget()
        grid = window(qtbot, ThumbnailGrid(thumbs))
        begin = time.perf_counter()
        grid.set_faces(faces, np.arange(len(faces)))
        while not whole_screen():
            with qtbot.waitSignal(thumbs.ready, timeout=10_000):
                pass
        grid.viewport().repaint()
        spent.append(time.perf_counter() - begin)
        grid.hide()
    print(f"first screen {1000 * min(spent):.0f} ms")
    record_property("first screen", min(spent))
    assert min(spent) <= 0.3
