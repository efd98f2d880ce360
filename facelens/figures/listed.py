"""Figure of the pairs behind what was clicked: two faces each, what went wrong and by how much, as on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from facelens.errors import InputError
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, mark, wide
from facelens.figures.style import INK, style
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.words import escaped, number, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST, COLUMNS = 30, 3  # pairs on a page, and in a row
ROW, FACE = 0.72, 0.62  # inches: from one card to the next, down; a picture
GAP = 0.04
WORDS = 1.14  # beside the faces, at least


@dataclass(frozen=True)
class Pair:
    """Two faces by their rows, None for nobody, and what is said of them; `mark`: right, wrong, gained or lost."""

    rows: tuple[int | None, int | None]
    names: tuple[str, str]
    kind: str
    mark: str
    score: float
    margin: float  # NaN where there is none
    under: str = ""  # what stands there instead
    said: str = ""  # instead of the score

    @property
    def value(self) -> str:
        """What stands in bold."""
        return self.said or (number(self.score, 3) if isfinite(self.score) else tr("n/a"))

    @property
    def foot(self) -> str:
        """The margin, or what stands there instead."""
        return tr("margin {m}", m=number(self.margin, 3, sign=True)) if isfinite(self.margin) else self.under


def pair_names(faces: FaceSet, first: int | None, second: int | None) -> tuple[str, str]:
    """Who two faces at these rows are; of one person, who it is and which pictures."""
    one, other = (faces.label(row) if row is not None else tr("nobody") for row in (first, second))
    if one == other and first is not None and second is not None:
        return one, told_apart(faces.file_name(first), faces.file_name(second))
    return one, other


def told_apart(first: str, second: str) -> str:
    """Two file names without the start they share.

    >>> told_apart("Ada_Byron_0001.jpg", "Ada_Byron_0012.jpg")
    '0001.jpg · 0012.jpg'
    """
    shared = next((i for i, (a, b) in enumerate(zip(first, second)) if a != b), 0)
    while shared and first[shared - 1].isalnum():
        shared -= 1
    return f"{first[shared:]} · {second[shared:]}"


def draw_listed(
    faces: FaceSet, pairs: Sequence[Pair], *, title: str, told: Sequence[str], total: int, score: str = "",
    margin: str = "", order: str = "", tick: Tick = silent,
) -> Figure:  # fmt: skip
    """Cards of pairs under what was clicked; `total` counts them all, `score` and `margin` say what these are,
    `order` which are shown."""
    if not pairs:
        raise InputError(tr("No pair is listed."), hint=tr("Click a point, a bin, a rank or a cell first."))
    pairs = pairs[:MOST]
    foot = [tr("in bold: {value}", value=score) if score else tr("in bold: cosine, higher is closer")]
    if any(isfinite(one.margin) for one in pairs):
        foot.append(tr("margin: {what}", what=margin or tr("score less the threshold")))
    if any(one.mark in ("right", "wrong") for one in pairs):
        foot.append(tr("disc with a check: right, square with a cross: wrong"))
    if any(one.mark in ("gained", "lost") for one in pairs):
        foot.append(tr("triangle up: gained, triangle down: lost"))
    counted = tr("the worst {n} of {total}", n=len(pairs), total=f"{total:,}")
    counted = order or (tr("worst first") if total == len(pairs) else counted)
    columns, values = min(COLUMNS, len(pairs)), [wide(one.value, 7, bold=True) for one in pairs]
    above = max(0.24 + wide(one.kind, 6.5) + value for one, value in zip(pairs, values))
    below = max(0.06 + wide(one.foot, 6) + value for one, value in zip(pairs, values))
    words, beside = max(WORDS, min(above, below)), above <= max(WORDS, below)  # there the values are, whole
    card = 2 * (FACE + GAP) + words + 0.16
    width = 2 * MARGIN + max(columns, 2) * card
    down = -(-len(pairs) // columns)
    with style():
        page = Page(width, HEAD + 0.08 + down * ROW + 0.12 + LINE * len(lines([counted, *foot], width - 2 * MARGIN)))
        page.head(escaped(title), told)
        for i, pair in enumerate(pairs):
            tick(i, len(pairs), tr("Drawing"))
            row, column = divmod(i, columns)
            _card(page, MARGIN + column * card, HEAD + 0.08 + row * ROW, faces, pair, words, beside=beside)
        page.foot([counted, *foot])
        tick(len(pairs), len(pairs))
        return page.figure


def _card(page: Page, x: float, down: float, faces: FaceSet, pair: Pair, words: float, *, beside: bool) -> None:
    """`words` is the room beside the faces; `beside`: the value stands beside the kind, else beside the margin."""
    for i, row in enumerate(pair.rows):
        left = x + i * (FACE + GAP)
        if row is None:
            _nobody(page.bare(left, down, FACE, FACE))
        else:
            page.face(left, down, FACE, faces, row, pixels=112)
    left = x + 2 * (FACE + GAP) + 0.04
    _mark(page.bare(left, down + 0.02, 0.12, 0.12), pair.mark)
    page.text(left + words, down + (0.08 if beside else 0.53), pair.value, size=7, fontweight="bold", ha="right")
    page.text(left + 0.16, down + 0.08, elided(pair.kind, 6.5, words - 0.16), size=6.5)
    for i, name in enumerate(pair.names):
        page.text(left, down + 0.24 + i * 0.13, elided(escaped(name), 6.2, words), size=6.2, ink="text2")
    spare = words - (0 if beside else wide(pair.value, 7, bold=True) + 0.05)
    page.text(left, down + 0.53, elided(pair.foot, 6, spare), size=6, ink="text3")


def _mark(axes: Axes, which: str) -> None:
    if which in ("right", "wrong"):
        mark(axes, which == "right", x=0.5, y=0.5, size=6.5)
        return
    up = which == "gained"
    axes.plot(
        [0.5], [0.5], marker="^" if up else "v", markersize=6, color=INK["good" if up else "bad"], markeredgewidth=0,
        clip_on=False,
    )  # fmt: skip


def _nobody(axes: Axes) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((0.02, 0.02), 0.96, 0.96, fill=False, edgecolor="#ababab", linestyle="--", linewidth=0.7))
    axes.text(0.5, 0.5, tr("nobody"), ha="center", va="center", fontsize=5.5, color=INK["text3"])
