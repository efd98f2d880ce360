"""Where the six views of a match are: two rows of three, or one row at a time where there is little room."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF

FACES = ("query", "flow", "gallery")
BELOW = ("query weights", "plan", "gallery weights")
VIEWS = FACES + BELOW

EDGE, PAD = 14, 6  # px at the sides, above and below
TITLE, CAPTION, KEY, TABS = 26, 40, 20, 30  # px of lines of words
NARROW, WIDE = 14, 72  # px between views
ENOUGH, MOST = 150, 480  # px; pictures lower than that are shown in one row, and never higher than this


@dataclass(frozen=True)
class Places:
    """The views that are shown, each with a title above it and, in the lower row, a key under it."""

    boxes: dict[str, QRectF]
    caption: QRectF  # two lines about the current patch
    tabs: QRectF | None  # where the rows are chosen, if only one is shown

    def title(self, view: str) -> QRectF:
        """The line above a view."""
        box = self.boxes[view]
        return QRectF(box.left(), box.top() - TITLE, box.width(), TITLE)

    def key(self, view: str) -> QRectF:
        """The line under a view."""
        box = self.boxes[view]
        return QRectF(box.left(), box.bottom() + 3, box.width(), KEY - 3)


def arranged(width: float, height: float, *, aspect: float, lower: bool) -> Places:
    """Views in so much room, for pictures `aspect` times as wide as high; `lower` is the row to show if only one fits.

    >>> len(arranged(690, 530, aspect=1.0, lower=False).boxes), len(arranged(565, 340, aspect=1.0, lower=False).boxes)
    (6, 3)
    """
    by_width = (width - 2 * EDGE - 2 * NARROW) / 3 / aspect
    words = 2 * PAD + 2 * TITLE + CAPTION + KEY
    high, rows, tabs = int(min(by_width, (height - words) / 2, MOST)), [FACES, BELOW], 0
    if high < ENOUGH:
        words = 2 * PAD + TABS + TITLE + KEY + CAPTION
        high, rows, tabs = max(1, int(min(by_width, height - words, MOST))), [BELOW if lower else FACES], TABS
    wide = int(high * aspect)
    gap = int(min(WIDE, (width - 2 * EDGE - 3 * wide) / 2))
    left = int((width - 3 * wide - 2 * gap) / 2)
    top = PAD + max(0, int((height - words - len(rows) * high) / 2))
    boxes: dict[str, QRectF] = {}
    y = top + tabs
    caption = QRectF()
    for row in rows:
        y += TITLE
        for place, view in enumerate(row):
            boxes[view] = QRectF(left + place * (wide + gap), y, wide, high)
        y += high + (KEY if row is BELOW else 0)
        if not caption.isValid():
            caption = QRectF(left, y, 3 * wide + 2 * gap, CAPTION)
            y += CAPTION
    return Places(boxes, caption, QRectF(left, top, 3 * wide + 2 * gap, TABS) if tabs else None)
