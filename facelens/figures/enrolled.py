"""Figure of the people of a gallery and how well they are enrolled when the worst pictures are refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.enrolment import Enrolment, enrolment
from facelens.analyses.rejection import Recognition
from facelens.errors import InputError
from facelens.figures.confidence import name_of
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines
from facelens.figures.refusal import score_words
from facelens.figures.style import INK, style
from facelens.images.faceset import FaceSet, Ids
from facelens.progress import Tick, silent
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 20  # people
EACH = 4  # pictures of one
ROW, SIDE, NAMES, RAIL, CELL = 0.32, 0.27, 1.25, 1.9, 0.62  # inches


def weakest(people: Enrolment, limit: float) -> NDArray[np.int64]:
    """(C,) people, those who keep the fewest pictures first, then those of the highest mean."""
    by_mean = np.argsort(-people.mean, kind="stable")
    left = (people.pictures - people.refused(limit))[by_mean]
    return np.asarray(by_mean[np.argsort(left, kind="stable")], np.int64)


def draw_enrolment(
    faces: FaceSet, ids: Ids, values: NDArray[np.float64], recognition: Recognition | None, *, limit: float = math.inf,
    people: Sequence[int] = (), name: str = "variance", lower: bool = False, whose: str = "", tick: Tick = silent,
) -> Figure:  # fmt: skip
    """A row for each person: worst pictures, the score of each on one rail, how many are kept and recognised.

    `people` are codes of those who are listed, in their order; without, those of the weakest enrolment.
    """
    found = enrolment(faces, faces.rows_of(ids), np.asarray(values, np.float64), recognition)
    if not len(found.codes):
        raise InputError(tr("No face that is shown has a name, so there is no enrolment to judge."))
    places = {int(code): place for place, code in enumerate(found.codes)}
    order = [places[code] for code in people if code in places] or weakest(found, limit).tolist()
    refused, total = found.refused(limit), len(found.codes)
    known = found.values[np.isfinite(found.values)]
    ends = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    spare = 0.04 * (ends[1] - ends[0]) or 0.5
    sign, said = -1.0 if lower else 1.0, score_words(name)
    foot = [
        tr("tick: a picture, dot: the mean of all"),
        *([tr("line: pictures beyond it are refused")] if math.isfinite(limit) else []),
        tr("the first {n} of {total}", n=min(len(order), MOST), total=plural(total, "{n} person", "{n} people")),
        *([whose] if whose else []),
    ]
    listed = order[:MOST]
    left = MARGIN + EACH * (SIDE + 0.03) + 0.08
    rail = left + NAMES
    width = rail + RAIL + 4 * CELL + MARGIN
    with style():
        page = Page(width, HEAD + 0.24 + len(listed) * ROW + 0.3 + LINE * len(lines(foot, width - 2 * MARGIN)))
        counted = plural(len(found.values), "N = {n} face", "N = {n} faces")
        page.head(tr("Enrolment, person by person"), [name_of(faces.name), counted, said])
        ends_of = [rail + RAIL + (i + 1) * CELL for i in range(4)]
        for end, head in zip(ends_of, (tr("mean"), tr("refused"), tr("left"), tr("recognised"))):
            page.text(end, HEAD + 0.12, head, size=6, ink="text3", ha="right")
        page.text(rail, HEAD + 0.12, tr("each picture"), size=6, ink="text3")
        axes = page.axes(rail, HEAD + 0.24, RAIL - 0.1, len(listed) * ROW)
        _rail(axes, found, listed, (ends[0] - spare, ends[1] + spare), limit, sign)
        for i, person in enumerate(listed):
            tick(i, len(listed), tr("Drawing"))
            down, middle = HEAD + 0.24 + i * ROW, HEAD + 0.24 + (i + 0.5) * ROW
            for n, row in enumerate(found.rows[found.faces(person)][:EACH].tolist()):
                page.face(MARGIN + n * (SIDE + 0.03), down + 0.02, SIDE, faces, int(row), pixels=64)
            who = escaped(faces.identity.names[int(found.codes[person])]).replace("_", " ")
            page.text(left, middle, elided(who, 6.5, NAMES - 0.1), size=6.5)
            mean = number(sign * float(found.mean[person]), 3) if np.isfinite(found.mean[person]) else tr("n/a")
            pictures, out = int(found.pictures[person]), int(refused[person])
            judged = int(found.judged[person])
            right = tr("{n} of {m}", n=int(found.right[person]), m=judged) if judged else tr("n/a")
            for end, text in zip(ends_of, (mean, f"{out} / {pictures}", str(pictures - out), right)):
                page.text(end, middle, text, size=6.5, ha="right")
        page.foot(foot)
        tick(len(listed), len(listed))
        return page.figure


def _rail(
    axes: Axes, found: Enrolment, listed: Sequence[int], ends: tuple[float, float], limit: float, sign: float
) -> None:
    """The scores of each person's pictures."""
    axes.set(xlim=ends, ylim=(len(listed) - 0.5, -0.5), yticks=[])
    marks = np.linspace(*ends, 4)[1:-1]
    axes.set_xticks(marks, [number(sign * float(mark), 2) for mark in marks])
    axes.tick_params(axis="x", labelsize=6, length=2, pad=2)
    axes.grid(True, axis="x", color=INK["text"], alpha=0.09, linewidth=0.7)
    axes.set_axisbelow(True)
    for i, person in enumerate(listed):
        values = found.values[found.faces(person)]
        for some, ink in ((values <= limit, INK["text2"]), (values > limit, INK["bad"])):
            axes.plot(values[some], np.full(int(some.sum()), i), "|", markersize=6, color=ink, zorder=2)
        axes.plot([found.mean[person]], [i], "o", markersize=3.6, color=INK["accent"], zorder=3)
    if math.isfinite(limit):
        axes.axvline(limit, color=INK["text"], linewidth=1.2, zorder=1)
