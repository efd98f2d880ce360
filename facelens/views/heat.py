"""Values as colours, bright is more; what is not known is hatched by whoever paints it."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

STEPS = 256
COLOURS = ("viridis", "cividis")  # the second one is the same to all eyes


@cache
def _table(colours: str) -> NDArray[np.uint8]:
    import pyqtgraph as pg

    found: NDArray[np.uint8] = pg.colormap.get(colours).getLookupTable(nPts=STEPS, alpha=True).astype(np.uint8)
    return found


def shades(values: NDArray[np.floating], low: float, high: float, *, colours: str = COLOURS[0]) -> NDArray[np.uint8]:
    """(..., 4) red, green, blue, alpha; NaN is transparent. Values outside the limits have the colour of the limit."""
    place = np.nan_to_num((np.asarray(values, np.float64) - low) / max(high - low, 1e-12))
    made = _table(colours)[np.clip(place * STEPS, 0, STEPS - 1).astype(np.int64)]
    made[np.isnan(values)] = 0
    return made


def shade(value: float, low: float, high: float) -> QColor | None:
    """One colour; None where there is no value."""
    if not np.isfinite(value):
        return None
    r, g, b, _ = (int(x) for x in shades(np.array([value]), low, high)[0])
    return QColor(r, g, b)


def picture(values: NDArray[np.floating], low: float, high: float, *, colours: str = COLOURS[0]) -> QImage:
    """(rows, columns) values as a picture of one pixel each."""
    made = np.ascontiguousarray(shades(values, low, high, colours=colours))
    return QImage(made.data, made.shape[1], made.shape[0], 4 * made.shape[1], QImage.Format.Format_RGBA8888).copy()
