"""A sheet of searches as it stands in a paper: the query, who comes first by cosine, the flow, who after the patches.

After Phan, Nguyen, "DeepFace-EMD", CVPR 2022, figs S4 and S5: a block for each query, frames tell right from wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.plan import MatchPlan
from facelens.errors import InputError
from facelens.figures.match_words import plan_words
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, mark
from facelens.figures.style import INK, style
from facelens.figures.transport import Face
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.words import escaped, number, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOP = 5  # faces of either stage
FACE, ROW = 0.58, 0.8  # inches of a face, and from one to the next
QUERY = 0.72
RANKS = 0.2  # for the ranks at the left
BLOCK, GAP, ACROSS = RANKS + 3 * FACE + 0.42, 0.36, 2  # a block, between two, in a row
LETTERS = "abcdefgh"


@dataclass(frozen=True, eq=False)
class Hit:
    """A face that was found."""

    face: int  # id
    value: float  # cosine, or the blended distance
    right: bool | None = None  # None: not known
    flow: NDArray[np.uint8] | None = None  # the query put together from its patches


@dataclass(frozen=True, eq=False)
class Block:
    """One query, and who comes first before and after the second stage."""

    title: str
    query: Face
    before: Sequence[Hit]
    after: Sequence[Hit]
    first: tuple[int, int] | None = None  # ranks of the first right face; 0: nobody to find; None: not known


def draw_retrieval(
    faces: FaceSet, blocks: Sequence[Block], *, plan: MatchPlan, told: Sequence[str], tick: Tick = silent
) -> Figure:
    """Blocks side by side, each with its query over the three columns."""
    if not blocks or not any(block.before for block in blocks):
        raise InputError(tr("Nobody was found, so there is nothing to draw."))
    shown = max(max(len(block.before), len(block.after)) for block in blocks)
    across = min(len(blocks), ACROSS)
    down = -(-len(blocks) // ACROSS)
    tall = 0.32 + QUERY + 0.3 + shown * ROW
    width = max(2 * MARGIN + across * BLOCK + (across - 1) * GAP, 5.0)
    foot = [
        *plan_words(plan),
        tr("flow: the query put together from the patches of the face beside it, bright where much moves"),
        tr("under each face: cosine, higher is closer, then the distance, lower is closer"),
    ]
    if any(hit.right is not None for block in blocks for hit in block.before):
        foot.append(tr("green frame and check: right, red frame and cross: wrong"))
    total, done = sum(len(block.before) + len(block.after) for block in blocks), 0
    with style():
        page = Page(width, HEAD + 0.06 + down * tall + 0.12 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("Who is found before and after the second stage"), told)
        for i, block in enumerate(blocks):
            x, top = MARGIN + i % ACROSS * (BLOCK + GAP), HEAD + 0.06 + i // ACROSS * tall
            letter = f"({LETTERS[i % len(LETTERS)]}) " if len(blocks) > 1 else ""
            title = elided(letter + block.title, 8, BLOCK, bold=True)
            page.text(x, top + 0.1, title, size=8, fontweight="bold")
            _query(page, x + RANKS, top + 0.26, block)
            starts = [x + RANKS, x + RANKS + FACE + 0.28, x + RANKS + 2 * FACE + 0.42]
            heads = top + 0.26 + QUERY + 0.16
            for start, head in zip(starts, (tr("Stage 1"), tr("Flow"), tr("Stage 2"))):
                page.text(start + FACE / 2, heads, head, size=7, ink="text2", ha="center")
            for rank in range(shown):
                upper = heads + 0.1 + rank * ROW
                if rank < max(len(block.before), len(block.after)):
                    page.text(x + RANKS - 0.06, upper + FACE / 2, str(rank + 1), size=6.5, ink="text3", ha="right")
                for start, hits in ((starts[0], block.before), (starts[2], block.after)):
                    if rank < len(hits):
                        tick(done, total, tr("Drawing"))
                        done += 1
                        _hit(page, start, upper, faces, hits[rank])
                if rank < len(block.after) and (flow := block.after[rank].flow) is not None:
                    _whole(page, starts[1], upper, FACE, flow)
        page.foot(foot)
        tick(1, 1)
        return page.figure


def _query(page: Page, x: float, top: float, block: Block) -> None:
    _whole(page, x, top, QUERY, block.query.picture)
    beside, room = x + QUERY + 0.1, BLOCK - RANKS - QUERY - 0.1
    page.text(beside, top + 0.12, tr("query"), size=6.5, ink="text3")
    page.text(beside, top + 0.26, elided(escaped(block.query.name), 7, room), size=7)
    if block.query.told:
        page.text(beside, top + 0.39, elided(block.query.told, 6.5, room), size=6.5, ink="text2")
    if block.first is None:
        return
    if not block.first[0]:
        page.text(beside, top + 0.6, tr("nobody to find"), size=6.5, ink="text2")
        return
    page.text(beside, top + 0.52, tr("first right face, rank"), size=6, ink="text3")
    page.text(
        beside, top + 0.67, tr("{before} → {after}", before=block.first[0], after=block.first[1]), size=9.5,
        fontweight="bold",
    )  # fmt: skip


def _whole(page: Page, x: float, top: float, side: float, picture: NDArray[np.uint8]) -> Axes:
    """A picture in a square, whole and in its own shape."""
    high, wide = picture.shape[:2]
    across, tall = side * wide / max(high, wide), side * high / max(high, wide)
    axes = page.bare(x + (side - across) / 2, top + (side - tall) / 2, across, tall)
    axes.imshow(picture, extent=(0, 1, 0, 1), aspect="auto", interpolation="bilinear")
    return axes


def _hit(page: Page, x: float, top: float, faces: FaceSet, hit: Hit) -> None:
    from matplotlib.patches import Rectangle

    row = faces.row_of(hit.face)
    axes = page.face(x, top, FACE, faces, row)
    if hit.right is not None:
        ink = INK["good" if hit.right else "bad"]
        axes.add_patch(
            Rectangle((0, 0), 1, 1, fill=False, edgecolor=ink, linewidth=2.0, clip_on=False, zorder=6)
        )  # fmt: skip
        mark(axes, hit.right, x=0.98, y=0.97, size=6.5)
    name = escaped(faces.label(row)) if row is not None else ""
    page.text(x, top + FACE + 0.07, elided(name, 5.4, FACE + 0.08), size=5.4, ink="text2")
    page.text(x, top + FACE + 0.15, number(hit.value), size=5.4, ink="text3")
