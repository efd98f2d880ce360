"""Marks differ in shape, not only in colour."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication

from facelens.views import marks, theme
from facelens.views.theme import DARK, LIGHT, Theme

ALL = (marks.right, marks.wrong, marks.flag, marks.reject, marks.gained, marks.lost, marks.same)


def painted(mark: Callable, scheme: Theme, *, ground: str = "#808080") -> QImage:
    image = QImage(24, 24, QImage.Format.Format_RGB32)
    image.fill(QColor(ground))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    mark(painter, QRectF(4, 4, 16, 16), scheme)
    painter.end()
    return image


def shape(image: QImage, ground: str = "#808080") -> frozenset[tuple[int, int]]:
    return frozenset((x, y) for x in range(24) for y in range(24) if image.pixelColor(x, y).name() != ground)


@pytest.mark.parametrize("scheme", [DARK, LIGHT], ids=lambda t: t.name)
def test_no_two_marks_look_alike_without_colour(qapp: QApplication, scheme: Theme) -> None:
    theme.apply(qapp, scheme.name)
    grey = [painted(mark, scheme).convertToFormat(QImage.Format.Format_Grayscale8) for mark in ALL]
    assert len({bytes(image.constBits()) for image in grey}) == len(ALL)
    # Right is round and wrong is square; gained points up and lost down.
    assert (5, 5) not in shape(painted(marks.right, scheme)) and (5, 5) in shape(painted(marks.wrong, scheme))
    up, down = shape(painted(marks.gained, scheme)), shape(painted(marks.lost, scheme))
    assert (5, 18) in up and (5, 5) not in up
    assert (5, 5) in down and (5, 18) not in down
    assert all(shape(painted(mark, scheme)) for mark in ALL)


@pytest.mark.parametrize("ground", ["#000000", "#ffffff", "#f4764f", "#35b99b"])
def test_right_and_wrong_hold_on_any_picture(qapp: QApplication, ground: str) -> None:
    theme.apply(qapp, "dark")
    for mark in (marks.right, marks.wrong):
        image = painted(mark, DARK, ground=ground)
        row = {image.pixelColor(x, 12).name() for x in range(24)}
        assert len(row) >= 4, "edge, body and glyph can be told apart"


def test_refused_is_a_bar_at_the_foot(qapp: QApplication) -> None:
    image = painted(marks.refused, DARK)
    assert [image.pixelColor(12, y).name() == DARK.warn for y in (15, 18, 19, 20)] == [False, True, True, False]
