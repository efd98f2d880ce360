"""Made-up faces with values of parts, for the views that show them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget

from facelens.analyses import parts
from facelens.figures.part_words import words
from facelens.images.faceset import FaceSet, Labels
from facelens.images.packed import Packed


def made_faces(root: Path, count: int) -> FaceSet:
    """`count` faces of three people over two files."""
    for i in range(2):
        Image.new("RGB", (40, 40), (90 * i + 40, 60, 60)).save(root / f"{i}.png")
    paths = Packed.of([b"0.png", b"1.png"]).take(np.arange(count) % 2)
    identity = Labels((np.arange(count) % 3).astype(np.int32), ("Ada", "Bo", "Cy"))
    return FaceSet("g", root, paths, identity, {}, None, np.random.default_rng(1).permutation(count) + 100)


def shown(
    faces: FaceSet, *, count: int, shown: str = "variance", values: np.ndarray | None = None, kind: str = "learned"
) -> tuple:
    """What `show_values` takes: values of `count` parts, three of which nobody knows."""
    if values is None:
        values = np.random.default_rng(2).normal(-3, 0.7, (len(faces), count)).astype(np.float32)
        values[0, 1] = values[1, :] = np.nan
    layout = parts.Layout(kind, count, 4, unit=True, head="calibrated")
    return faces, faces.ids, values, parts.spread(faces.ids, values), layout, words(shown, layout)


def hover(view: QWidget, spot: QPointF) -> None:
    """Move the pointer there, no button held."""
    none = Qt.MouseButton.NoButton
    move = QMouseEvent(QEvent.Type.MouseMove, spot, view.mapToGlobal(spot), none, none, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(view, move)
