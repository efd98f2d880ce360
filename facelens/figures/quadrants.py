"""Four groups of faces, sure or unsure and right or wrong, with how many they are and what follows from each.

Sure and wrong is the one to look at: refusing does not help there, so it alone has a frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.measure import rate
from facelens.analyses.rejection import Recognition
from facelens.errors import InputError
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines
from facelens.figures.scales import Array
from facelens.figures.style import INK, style
from facelens.images.faceset import FaceSet, Ids
from facelens.progress import Tick, silent
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WRONG, RIGHT = 0, 1
SURE, UNSURE = 0, 1
ACROSS, DOWN = 6, 2  # faces of a group
FACE, STEP, LINE_UNDER = 0.5, 0.56, 0.66  # inches: a face, to the next one, to the next row
CARD, TALL, GAP = 0.12 * 2 + ACROSS * STEP, 0.62 + DOWN * LINE_UNDER, 0.12
LEFT = 0.62  # where the groups begin

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Groups:
    """Faces by whether they are recognised, and by whether their score is above a limit."""

    values: Array  # (N,) higher is less sure
    recognition: Recognition
    limit: float

    def places(self, row: int, column: int) -> Places:
        """Sure ones from the surest on, unsure ones from the least sure; who has no value is in no group."""
        inside = (self.recognition.right == row) & np.isfinite(self.values)
        inside &= (self.values > self.limit) == (column == UNSURE)
        some = np.flatnonzero(inside)
        keys = self.values[some] if column == SURE else -self.values[some]
        return np.asarray(some[np.argsort(keys, kind="stable")], np.int64)

    @property
    def total(self) -> int:
        """Faces in any group."""
        return int(((self.recognition.right >= 0) & np.isfinite(self.values)).sum())

    def consequence(self, row: int, column: int) -> str:
        """What follows from a group, in one line."""
        some = self.places(row, column)
        if not len(some):
            return ""
        if (row, column) == (WRONG, SURE):
            known = self.recognition
            beaten = int((known.other_score[some] > known.mate_score[some]).sum())
            if beaten == len(some):
                return tr("another identity scores above the mate")
            if not beaten:
                return tr("the mate is nearest, but below the threshold")
            return tr("another identity above the mate in {k} of {n}", k=beaten, n=len(some))
        if (row, column) == (WRONG, UNSURE):
            errors = len(some) + len(self.places(WRONG, SURE))
            told = plural(errors, "{n} error", "{n} errors")
            return tr("refusing these removes {n} of {errors}", n=len(some), errors=told)
        return tr("price of refusing: right faces lost") if (row, column) == (RIGHT, UNSURE) else ""


def kind(row: int, column: int) -> str:
    """What a group is called."""
    return (
        (tr("Sure and wrong"), tr("Unsure and wrong")),
        (tr("Sure and right"), tr("Unsure and right")),
    )[row][column]


def draw_quadrants(
    faces: FaceSet,
    ids: Ids,
    groups: Groups,
    *,
    name: str = "",
    lower: bool = False,
    far: float | None = None,
    whose: str = "",
    tick: Tick = silent,
) -> Figure:
    """The faces `ids` in their groups; the score is called `name`, with `lower` it is written as its negative.

    `far` is the rate at which faces count as recognised, `whose` says which models the score is of.
    """
    if not groups.total:
        raise InputError(tr("No face can be judged: nobody has two pictures."), hint=tr("Choose a gallery with names."))
    name, sign = name or tr("value"), -1 if lower else 1
    told = [escaped(faces.name), plural(groups.total, "N = {n} face", "N = {n} faces")]
    if far is not None:
        told.append(tr("recognised 1:1 at FAR {far}", far=rate(far)))
    sense = tr("lower is less sure") if lower else tr("higher is less sure")
    foot = [tr("under each face: {name}, {sense}", name=name, sense=sense)]
    if alone := len(ids) - groups.total:
        words = plural(alone, "{n} face not judged", "{n} faces not judged")
        foot.append(tr("{words}: no other picture of their person, or no score", words=words))
    foot += [whose] if whose else []
    width = LEFT + 2 * CARD + GAP + MARGIN
    top, done = HEAD + 0.3, 0
    with style():
        page = Page(width, top + 2 * TALL + GAP + 0.2 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("Uncertainty and correctness"), told)
        for column in (SURE, UNSURE):
            x = LEFT + column * (CARD + GAP) + CARD / 2
            page.text(x, HEAD + 0.14, _heading(groups.limit, name, column, lower=lower), ink="text2", ha="center")
        for row in (WRONG, RIGHT):
            down = top + row * (TALL + GAP)
            page.text(MARGIN, down + TALL / 2, tr("wrong") if row == WRONG else tr("right"), ink="text2", size=7.5)
            for column in (SURE, UNSURE):
                some, x = groups.places(row, column), LEFT + column * (CARD + GAP)
                _plate(page, x, down, framed=(row, column) == (WRONG, SURE))
                _words(page, x, down, groups, row, column)
                for i, place in enumerate(some[: ACROSS * DOWN].tolist()):
                    tick(done, 4 * ACROSS * DOWN, tr("Drawing"))
                    done += 1
                    left, upper = x + 0.12 + i % ACROSS * STEP, down + 0.52 + i // ACROSS * LINE_UNDER
                    page.face(left, upper, FACE, faces, faces.row_of(int(ids[place])), pixels=112)
                    shown = number(sign * float(groups.values[place]))
                    page.text(left + FACE / 2, upper + FACE + 0.07, shown, size=5.4, ink="text3", ha="center")
        page.foot(foot)
        tick(1, 1)
        return page.figure


def _heading(limit: float, name: str, column: int, *, lower: bool) -> str:
    word = tr("sure") if column == SURE else tr("unsure")
    if not math.isfinite(limit):
        return word
    sign = ("≥<" if lower else "≤>")[column]
    return tr(
        "{word} ({name} {sign} {limit})", word=word, name=name, sign=sign, limit=number(-limit if lower else limit)
    )


def _plate(page: Page, x: float, down: float, *, framed: bool) -> None:
    from matplotlib.patches import Rectangle

    axes = page.bare(x, down, CARD, TALL)
    ink, width = (INK["bad"], 1.6) if framed else (INK["line"], 0.7)
    axes.add_patch(Rectangle((0, 0), 1, 1, facecolor="none", edgecolor=ink, linewidth=width, clip_on=False))


def _words(page: Page, x: float, down: float, groups: Groups, row: int, column: int) -> None:
    """How many a group has, what share that is, and what follows."""
    n, room = len(groups.places(row, column)), CARD - 0.24
    share = tr("{percent} % of {n}", percent=number(100 * n / max(groups.total, 1), 1), n=groups.total)
    title = f"{kind(row, column)}  {n:,}"
    page.text(x + 0.12, down + 0.16, title, size=8.5, fontweight="bold")
    page.text(x + CARD - 0.12, down + 0.16, share, size=6.5, ink="text3", ha="right")
    said = groups.consequence(row, column) if n else tr("no face")
    page.text(x + 0.12, down + 0.34, elided(said, 6.5, room), size=6.5, ink="text2")
