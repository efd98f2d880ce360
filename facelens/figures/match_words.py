"""What is said of a match by patches, on the screen and on paper: weights, solver, alpha, the sum a distance is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from facelens.analyses.measure import rate
from facelens.analyses.plan import MatchPlan
from facelens.images.occlusion import KINDS, Occlusion, title
from facelens.words import number, plural, tr

if TYPE_CHECKING:
    from facelens.analyses.reranking import Sweep

WEIGHT_WORDS = {
    "uniform": ("Uniform", "All patches weigh the same"),
    "apc": ("APC", "A patch weighs by how much it is like the other face's average"),
    "sc distance": ("SC", "A patch weighs by its distances to all patches of the other face, as published code does"),
    "sc similarity": ("SC sim", "A patch weighs by its similarities to all patches of the other face"),
    "cc": ("CC", "A patch weighs by how much it is like the other face's final embedding; dimensions must agree"),
    "lmk": ("LMK", "A patch weighs by how many landmarks lie in it; needs a dense set to be good"),
}
SOLVER_WORDS = {
    "exact": ("exact", "The plan of least cost"),
    "sinkhorn": ("Sinkhorn", "A smoothed plan; smaller epsilon is sharper"),
    "paper": ("paper", "Sinkhorn as published: stopped early, the sums hold only roughly"),
}


def setting(plan: MatchPlan, by: str) -> str:
    """The grid or the solver of a plan, as `by` says, in words.

    >>> setting(MatchPlan(grid=(4, 4)), "grid"), setting(MatchPlan(solver="sinkhorn"), "solver")
    ('4 × 4', 'Sinkhorn, ε 0.05')
    """
    if by == "grid":
        return plan.layer or (f"{plan.grid[0]} × {plan.grid[1]}" if plan.grid is not None else tr("native"))
    words = tr(SOLVER_WORDS[plan.solver][0])
    return words if plan.solver == "exact" else f"{words}, ε {plan.epsilon:g}"


def same_but_for(one: MatchPlan, plan: MatchPlan, by: str) -> bool:
    """Whether two plans search alike but for their grid or their solver, as `by` says.

    >>> [same_but_for(one, MatchPlan(), "grid") for one in (MatchPlan(grid=(4, 4), alpha=0.3), MatchPlan(shortlist=9))]
    [True, False]
    """
    free: dict[str, Any] = {"layer": "", "grid": None} if by == "grid" else {"solver": "exact"}
    one, plan = (replace(some, weights="", **free) for some in (one, plan))
    return one.solving == plan.solving


def weights_title(key: str) -> str:
    """A way to weigh patches as it is shown."""
    return tr(WEIGHT_WORDS[key][0]) if key in WEIGHT_WORDS else key


def alpha_title(alpha: float) -> str:
    """Alpha as it is shown."""
    return tr("plain sum") if alpha < 0 else f"α {number(alpha, 2)}"


def grid_words(grid: tuple[int, int]) -> str:
    """How finely a face is cut.

    >>> grid_words((7, 6))
    '7 × 6 patches'
    """
    return tr("{size} patches", size=f"{grid[0]} × {grid[1]}")


def solver_words(solver: str, epsilon: float, rounds: int = 0) -> str:
    """How a plan was found.

    >>> solver_words("exact", 0.05), solver_words("paper", 0.05, 5)
    ('exact solver', 'Sinkhorn as published, ε 0.05, 5 rounds')
    """
    if solver == "exact":
        return tr("exact solver")
    told = [tr("Sinkhorn as published") if solver == "paper" else tr("Sinkhorn"), f"ε {epsilon:g}"]
    return ", ".join([*told, plural(rounds, "{n} round", "{n} rounds")] if rounds else told)


def plan_words(plan: MatchPlan, rounds: int = 0) -> list[str]:
    """What decides distances, but for model and grid."""
    weights = tr("weights {name}", name=weights_title(plan.weights))
    return [alpha_title(plan.alpha), weights, solver_words(plan.solver, plan.epsilon, rounds)]


def queries_title(sweep: Sweep) -> str:
    """Who is searched for: how many, of how many if not all can be found, and what was painted on them."""
    found = int((sweep.ranks > 0).sum())
    count = plural(len(sweep.queries), "{n} query", "{n} queries")
    if 0 < found < len(sweep.queries):
        count = tr("{n} of {queries}", n=f"{found:,}", queries=count)
    if not sweep.occlusion:
        return count
    what = title(sweep.occlusion).lower() if sweep.occlusion in KINDS else sweep.occlusion
    return tr("{queries} · {what}", queries=count, what=what)


def painted_words(occlusion: Occlusion) -> str:
    """What lies over a query; "" for nothing."""
    if occlusion.clear:
        return ""
    return {
        "mask": tr("mask painted"),
        "sunglasses": tr("sunglasses painted"),
        "crop70": tr("cropped to 70 %"),
        "blocks": tr("blocks painted"),
    }.get(occlusion.kind, title(occlusion.kind).lower())


def small(value: float) -> str:
    """An error in one figure.

    >>> small(2.2e-16), small(0.0), small(1.4e-3)
    ('2e-16', '0', '1e-3')
    """
    return rate(float(f"{value:.0e}")) if np.isfinite(value) else tr("n/a")


def percent(share: float) -> str:
    """A share as it is written: whole, but where that would say none or all.

    >>> percent(0.523), percent(0.0031), percent(0.9969), percent(1.0), percent(0.00002)
    ('52 %', '0.3 %', '99.7 %', '100 %', '< 0.1 %')
    """
    value = 100 * share
    if 0 < value < 0.1:
        return tr("< 0.1 %")
    if 99.9 < value < 100 - 1e-6:
        return tr("> 99.9 %")
    return tr("{share} %", share=f"{value:.{1 if 0 < value < 1 or 99 < value < 99.95 else 0}f}")


@dataclass(frozen=True)
class Blend:
    """A distance as the sum it is: alpha EMD + (1 - alpha) (1 - cosine), below 0 the plain sum."""

    emd: float
    cosine: float
    alpha: float
    threshold: float | None = None
    genuine: bool | None = None

    @property
    def patches(self) -> float:
        """What the patches add."""
        return self.emd if self.alpha < 0 else self.alpha * self.emd

    @property
    def whole(self) -> float:
        """What the whole face adds."""
        return (1 - self.cosine) * (1 if self.alpha < 0 else 1 - self.alpha)

    @property
    def distance(self) -> float:
        """Both."""
        return self.patches + self.whole

    @property
    def share(self) -> float:
        """Of the patches, 0 to 1."""
        return self.patches / self.distance if self.distance > 0 else 0.0

    @property
    def right(self) -> bool | None:
        """Whether the threshold decides as the names do."""
        if self.threshold is None or self.genuine is None:
            return None
        return (self.distance <= self.threshold) == self.genuine

    def caption(self) -> str:
        """What the number is."""
        return tr("Sum of distances, lower is closer") if self.alpha < 0 else tr("Blended distance, lower is closer")

    def decision(self) -> str:
        """On which side of the threshold it lies; without one, what the names say."""
        if self.threshold is None:
            named = {True: tr("the same person by name"), False: tr("another person by name")}
            return named[self.genuine] if self.genuine is not None else ""
        limit = number(self.threshold)
        if self.distance <= self.threshold:
            return tr("below threshold {limit}", limit=limit)
        return tr("above threshold {limit}", limit=limit)

    def formula(self) -> str:
        """The sum with its numbers."""
        emd, whole = number(self.emd), number(1 - self.cosine)
        if self.alpha < 0:
            return tr("EMD {emd}  +  (1 − cos) {whole}", emd=emd, whole=whole)
        shares = {"a": number(self.alpha, 2), "b": number(1 - self.alpha, 2)}
        return tr("{a} × EMD {emd}  +  {b} × (1 − cos) {whole}", emd=emd, whole=whole, **shares)
