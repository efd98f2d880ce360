"""Charts of an evaluation as files, for the worker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.errors import InputError
from facelens.progress import Tick, silent
from facelens.words import tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from facelens.analyses.evaluation import Evaluation

CHARTS = ("roc", "det", "scores", "points", "cmc", "open set")


def draw_charts(
    evaluation: Evaluation,
    out: Path,
    *,
    which: Sequence[str] = CHARTS,
    side: str = "b",
    threshold: float | None = None,
    far: float | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """Draw charts to `out`, or where there are several to files beside it with their names added; leaves out what
    cannot be drawn, unless nothing can. Scores are those of `side`, with the threshold given."""
    from facelens.figures.sheet import save

    written, problem = [], None
    for i, name in enumerate(which):
        tick(i, len(which), name)
        path = out if len(which) == 1 else out.with_name(f"{out.stem} {name}{out.suffix}")
        try:
            written.append(save(_figure(evaluation, name, side=side, threshold=threshold, far=far), path))
        except InputError as error:
            problem = error
    if not written and problem is not None:
        raise problem
    tick(len(which), len(which))
    return written


def _figure(evaluation: Evaluation, name: str, *, side: str, threshold: float | None, far: float | None) -> Figure:
    from facelens.figures import charts

    if name == "scores":
        report = getattr(evaluation, side) or evaluation.b or evaluation.a
        if report is None or report.verification is None:
            raise InputError(tr("There are no scores to draw."))
        return charts.histogram(report, threshold=threshold, far=far)
    draw = {
        "roc": charts.roc,
        "det": charts.det,
        "points": charts.operating_points,
        "cmc": charts.cmc,
        "open set": charts.open_set,
    }[name]
    return draw(evaluation)
