"""Scales of charts, on the screen and on paper: where a value is drawn, and which values are written at the axis.

"linear", "log" (log10) and "deviate" (normal deviate of a share, as on a DET).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.measure import rate
from facelens.words import number, tr

Array = NDArray[np.float64]
NORMAL = NormalDist()
DEVIATES = (1e-4, 1e-3, 1e-2, 0.1, 0.4)  # what a DET is read at
MORE_DEVIATES = (*DEVIATES, 1e-6, 1e-5, 2e-4, 5e-4, 2e-3, 5e-3, 2e-2, 5e-2, 0.2, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99)


def forward(scale: str, values: Array | float) -> Array:
    """Where values are drawn; nothing finite for what the scale does not reach (0 on a log axis)."""
    raw = np.asarray(values, np.float64)
    if scale == "linear":
        return raw
    with np.errstate(divide="ignore", invalid="ignore"):
        if scale == "log":
            return np.log10(raw)
    # Point by point: scipy's takes the window as long to import as a page with its charts takes to be built.
    found = np.select([raw == 0, raw == 1], [-np.inf, np.inf], np.nan)
    inside = (raw > 0) & (raw < 1)
    found[inside] = [NORMAL.inv_cdf(share) for share in raw[inside].tolist()]
    return found


def inverse(scale: str, place: float) -> float:
    """The value at a place."""
    if scale == "linear":
        return place
    if scale == "log":
        return float(10.0**place)
    return math.erfc(-place / math.sqrt(2)) / 2


def ticks(scale: str, low: float, high: float, *, room: int = 6) -> list[tuple[float, str]]:
    """Places between `low` and `high` (both as drawn) and what stands there; at most `room` where there is a choice.

    >>> ticks("linear", 0.8, 1.0)
    [(0.8, '0.80'), (0.85, '0.85'), (0.9, '0.90'), (0.95, '0.95'), (1.0, '1.00')]
    >>> [text for _, text in ticks("log", -4, 0)]
    ['1e-4', '1e-3', '1e-2', '1e-1', '1']
    """
    room = max(2, room)
    if not high > low:
        return []
    if scale == "log" and high - low >= 1.5:
        every = max(1, int(np.ceil((int(np.floor(high + 1e-9)) - int(np.ceil(low - 1e-9))) / room)))
        powers = range(int(np.floor(high + 1e-9)), int(np.ceil(low - 1e-9)) - 1, -every)
        return [(float(p), "1" if p == 0 else f"1e{p}") for p in sorted(powers)]
    if scale == "deviate":
        for shares in (DEVIATES, sorted(MORE_DEVIATES)):
            places = forward("deviate", np.array(shares))
            inside = [(float(p), v) for p, v in zip(places, shares) if low - 1e-9 <= p <= high + 1e-9]
            if len(inside) >= 3:
                break
        else:  # zoomed in: equal steps of the share itself
            percent = ticks("linear", 100 * inverse("deviate", low), 100 * inverse("deviate", high), room=room)
            return [(float(forward("deviate", v / 100)), f"{text} %") for v, text in percent if 0 < v < 100]
        inside = inside[:: max(1, int(np.ceil(len(inside) / room)))]
        return [(p, tr("{share} %", share=f"{100 * v:g}")) for p, v in inside]
    if scale == "log":  # zoomed in: equal steps of the value itself
        inner = ticks("linear", 10.0**low, 10.0**high, room=room)
        return [(float(np.log10(v)), rate(v)) for v, _ in inner if v > 0]
    step = nice((high - low) / room)
    first = int(np.ceil(low / step - 1e-6))
    last = int(np.floor(high / step + 1e-6))
    decimals = max(0, int(np.ceil(-np.log10(step) - 1e-9)))
    if round(step * 10**decimals, 6) % 1:  # 0.25 needs one more than 0.2
        decimals += 1
    if step >= 1:
        return [(i * step, f"{i * step:,.0f}".replace("-", "−")) for i in range(first, last + 1)]
    return [(round(i * step, 12), number(i * step, decimals=decimals)) for i in range(first, last + 1)]


def nice(least: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten; above 10 without the half."""
    power = 10.0 ** np.floor(np.log10(least))
    for factor in (1.0, 2.0, 2.5, 5.0, 10.0):
        if factor * power >= least * (1 - 1e-9) and not (factor == 2.5 and power == 1):
            return float(factor * power)
    return float(10 * power)


def rounded_up(value: float) -> float:
    """A round number not below `value`, so that bars keep their scale from one face to the next.

    >>> rounded_up(0.148), rounded_up(0.071), rounded_up(0.0)
    (0.15, 0.08, 1.0)
    """
    if not value > 0:
        return 1.0
    step = 10.0 ** float(np.floor(np.log10(value)))
    figures = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    return float(round(next((one for one in figures if value <= one * step), 10) * step, 12))


def thin(x: Array, width: int) -> NDArray[np.int64] | None:
    """Where runs of points start that fall into the same of `width` columns; None where all may be drawn.

    `x` ascending. A curve drawn as lowest and highest value of each run looks the same at this width.
    """
    if len(x) <= 2 * width or not x[-1] > x[0]:
        return None
    column = ((x - x[0]) * (width / (x[-1] - x[0]))).astype(np.int64)
    return np.concatenate([[0], np.flatnonzero(np.diff(column)) + 1])


def write(scale: str, value: float) -> str:
    """A value as it is read off.

    >>> write("log", 0.00012345), write("deviate", 0.0072), write("linear", -0.42)
    ('1.2e-4', '0.72 %', '−0.420')
    """
    if scale == "log":
        return rate(float(f"{value:.3g}"))
    if scale == "deviate":
        return tr("{share} %", share=f"{100 * value:.3g}")
    return number(value)
