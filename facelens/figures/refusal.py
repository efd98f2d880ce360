"""What is said about refusing faces by a score, on the screen and on paper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.measure import Measure, rate
from facelens.analyses.rejection import Band, Risk
from facelens.figures.scales import Array, nice
from facelens.figures.spread import Spread
from facelens.words import number, plural, tr

USUAL_END = 0.6  # coverage at the right end where there is nothing to draw
LEAST_TOP = 0.01  # error at the upper end where there is none
PERCENTILES = (50, 90, 10)  # the first ones are written where there is no room for all


def asked(risk: Risk) -> str:
    """What is measured, and at which rate: "TAR @ FAR 1e-3", "TPIR @ FPIR 1 %"."""
    shown = tr("{share} %", share=f"{100 * risk.rate:g}") if risk.rate >= 0.01 else rate(risk.rate)
    return tr("TAR @ FAR {rate}", rate=shown) if risk.task == "1:1" else tr("TPIR @ FPIR {rate}", rate=shown)


def score_words(by: str) -> str:
    """The title of the axis of a score."""
    if by == "variance":
        return tr("variance 1 − ‖mean‖², higher = models disagree more")
    if by == "pairwise distance":
        return tr("mean squared distance of two members, higher = models disagree more")
    return tr("{score}, refused from the right", score=by)


def score_means(by: str, *, lower: bool = False) -> str:
    """What a high value of a score says, beside its name."""
    if by in ("variance", "pairwise distance"):
        return tr("higher = models disagree more")
    return tr("low values are refused") if lower else tr("high values are refused")


def percent(share: float, decimals: int = 1) -> str:
    """A share as it is read off.

    >>> percent(0.92), percent(1.0)
    ('92.0 %', '100 %')
    """
    return tr("{share} %", share="100" if share == 1 else number(100 * share, decimals))


def at(risk: Risk, band: Band, step: int) -> Measure:
    """One value of a risk with its limits, or why there is none that may be read."""
    value, low, high = (float(values[step]) for values in (band.value, band.low, band.high))
    if not np.isfinite(value):
        return Measure.none(undefined(risk, step))
    found = Measure(value, low, high) if np.isfinite([low, high]).all() else Measure(value)
    weak = risk.area.value is not None and not risk.area.supported
    return replace(found, why=risk.area.why, supported=False) if weak else found


def undefined(risk: Risk, step: int) -> str:
    """Why there is no error at a step."""
    if not np.isfinite(risk.error.value[0]) and risk.area.why:
        return risk.area.why
    if risk.task == "1:1":
        return tr("no genuine pair is left") if not risk.n[step] else tr("cannot be told from the pairs left")
    return tr("nobody who is enrolled is searched") if not risk.n[step] else tr("cannot be told from the searches left")


def compared(risk: Risk, step: int) -> str:
    """Over how many things an error is counted."""
    if risk.task == "1:1":
        return plural(int(risk.n[step]), "{n} genuine pair", "{n} genuine pairs")
    return plural(int(risk.n[step]), "{n} search", "{n} searches")


def refusal_words(spread: Spread, limit: float, *, lower: bool = False) -> tuple[str, str]:
    """What stands beside the line at a limit, and what it means."""
    if limit >= spread.edges[-1]:
        return tr("refuse nothing"), plural(len(spread), "{n} face kept", "{n} faces kept")
    value = number(-limit if lower else limit, spread.decimals)
    title = tr("refuse below {value}", value=value) if lower else tr("refuse above {value}", value=value)
    refused = plural(spread.refused(limit), "{n} face refused", "{n} faces refused")
    return title, f"{spread.percentile(limit)} · {refused}"


def curve_names(risk: Risk, by: str, *, short: bool = False) -> tuple[str, str, str]:
    """What the three curves are: by the score, by chance, by what nobody knows beforehand."""
    if short:
        return tr("by {score}", score=by), tr("random"), tr("by their own errors")
    sure = np.isfinite(risk.error.low).any()
    own = tr("by {score}, 95 % interval", score=by) if sure else tr("by {score}", score=by)
    return own, tr("random order"), tr("best possible order, by their own errors")


def runs(values: Array) -> list[slice]:
    """The stretches of steps that have values.

    >>> runs(np.array([1.0, 2.0, np.nan, 3.0]))
    [slice(0, 2, None), slice(3, 4, None)]
    """
    return _stretches(np.isfinite(values))


def gaps(values: Array) -> list[tuple[int, int]]:
    """The stretches that have none, each from the last step with a value to the next.

    >>> gaps(np.array([1.0, 2.0, np.nan, 3.0, np.nan]))
    [(1, 3), (3, 4)]
    """
    return [(max(one.start - 1, 0), min(one.stop, len(values) - 1)) for one in _stretches(~np.isfinite(values))]


def _stretches(there: NDArray[np.bool_]) -> list[slice]:
    turns = np.flatnonzero(np.diff(np.concatenate([[0], there.astype(np.int8), [0]])))
    return [slice(int(a), int(b)) for a, b in zip(turns[::2], turns[1::2])]


def risk_limits(risk: Risk) -> tuple[float, float]:
    """The share refused at the right end, and the error at the upper end, with room above every line."""
    lowest = float(risk.coverage.min(initial=1.0))
    end = min(lowest, float(np.floor(20 * lowest + 0.1)) / 20) if lowest < 1 else USUAL_END
    errors = np.concatenate([risk.error.value, risk.error.high, risk.random, risk.best])
    most = float(errors[np.isfinite(errors)].max(initial=0.0)) or LEAST_TOP
    step = nice(most / 8)
    return 1 - end, float(step * np.ceil(1.06 * most / step - 1e-9))
