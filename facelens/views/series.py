"""What a chart is given to draw: axes, curves with bands, histograms, zones, points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from facelens.figures.scales import Array, write


@dataclass(frozen=True)
class Axis:
    """One direction of a chart: its title ("TAR, higher is better"), scale and limits; None fits the data.

    "log" is log10; "deviate" is the normal deviate of a share, as on a DET. `form` writes a value where it is read off.
    """

    title: str
    scale: Literal["linear", "log", "deviate"] = "linear"
    low: float | None = None
    high: float | None = None
    ticks: tuple[float, ...] = ()
    grid: bool = False  # vertical lines; horizontal ones are always there
    form: Callable[[float], str] | None = None

    @property
    def short(self) -> str:
        """The quantity alone.

        >>> Axis("FAR (log), lower is stricter").short
        'FAR'
        """
        return self.title.split(",")[0].split("(")[0].strip()

    def write(self, value: float) -> str:
        """A value as a card shows it."""
        return self.form(value) if self.form is not None else write(self.scale, value)


@dataclass(frozen=True, eq=False)
class Band:
    """The 95 % interval of a series, point by point; an empty one is none."""

    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Series:
    """A curve, or single points with whiskers. A is dashed, B solid; a reference is thin and cannot be clicked."""

    key: str
    x: Array
    y: Array
    side: str = ""  # "A", "B" or none of them
    name: str = ""
    headline: str = ""  # the value beside the name in the legend
    band: Band | None = None
    kind: Literal["line", "points"] = "line"
    reference: bool = False
    colour: str = ""  # token; A and B have theirs
    width: float = 2.2
    dash: tuple[float, ...] = ()  # of one that is not A; () is solid, or how references are
    label_at: float = 0.8  # where on the curve its name stands, share of the width; A and B are in the legend

    @property
    def ink(self) -> str:
        """Token of the line."""
        return self.colour or self.side or ("text3" if self.reference else "text2")


@dataclass(frozen=True, eq=False)
class Bars:
    """A histogram: counts (T,) in bins of edges (T + 1,)."""

    key: str
    edges: Array
    counts: NDArray[np.int64] | Array
    colour: str = "good"
    hatched: bool = False
    name: str = ""
    headline: str = ""  # under the name
    one: str = "{n} pair"
    many: str = "{n} pairs"


@dataclass(frozen=True)
class Zone:
    """A stretch of the x axis where nothing can be said, and why."""

    low: float
    high: float
    reason: str


@dataclass(frozen=True)
class Point:
    """A mark on the series `key`: where the operating point lies."""

    key: str
    x: float
    y: float


@dataclass(frozen=True)
class Mark:
    """What can be pointed at: point `index` of series `key`, or bin `index` of bars `key`."""

    key: str
    index: int
    bin: bool = False
