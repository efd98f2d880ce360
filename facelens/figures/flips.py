"""A sheet of flips: searches that were right with the old model and are wrong with the new one, then the reverse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from facelens.analyses.flips import Flips
from facelens.analyses.measure import rate
from facelens.analyses.upgrade import Upgrade
from facelens.errors import InputError
from facelens.figures.crossing import told
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, mark
from facelens.figures.style import INK, style
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.words import escaped, number, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS, MOST = 5, 15  # cards in a row, and of either kind
CARD, HIGH = 1.42, 1.42  # inches from one card to the next
FACE, SMALL = 0.84, 0.4
TITLE = 0.28


def draw_flips(faces: FaceSet, found: Upgrade, *, most: int = MOST, tick: Tick = silent) -> Figure:
    """Cards, the largest loss first: who searches, whom the old model found (A), whom the new one finds (B)."""
    flips = found.flips
    if flips is None:
        raise InputError(tr("What changed is not worked out, so there is nothing to draw."))
    kinds = [
        (tr("Lost {n}", n=len(flips.lost)), flips.lost, tr("no search was lost")),
        (tr("Gained {n}", n=len(flips.gained)), flips.gained, tr("no search was gained")),
    ]
    rows = [max(1, -(-min(len(places), most) // COLUMNS)) if len(places) else 0 for _, places, _ in kinds]
    tall = [TITLE + (n * HIGH if n else 0.2) for n in rows]
    foot = [
        tr("large: the face that searches; A: whom the old model found, B: whom the new one finds in the old gallery"),
        tr("disc with a check: right, square with a cross: wrong or below the threshold"),
        tr("mate: the score of the best picture of the same person"),
        tr("margin: over threshold and best stranger"),
    ]
    width = 2 * MARGIN + COLUMNS * CARD
    total, done = sum(min(len(places), most) for _, places, _ in kinds), 0
    with style():
        page = Page(width, HEAD + sum(tall) + 0.12 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("Flips: searches that changed, at FAR {far}", far=rate(flips.far)), told(found, faces.name))
        top = HEAD
        for (title, places, none), high in zip(kinds, tall):
            page.text(MARGIN, top + 0.11, title, size=8, fontweight="bold")
            if len(places) > most:
                words = tr("the {n} whose margin changed most", n=most)
                page.text(width - MARGIN, top + 0.11, words, size=6.5, ink="text3", ha="right")
            if not len(places):
                page.text(MARGIN, top + TITLE + 0.06, none, size=6.5, ink="text3")
            for i, place in enumerate(places[:most].tolist()):
                tick(done, total, tr("Drawing"))
                done += 1
                row, column = divmod(i, COLUMNS)
                _card(page, MARGIN + column * CARD, top + TITLE + row * HIGH, faces, flips, place)
            top += high
        page.foot(foot)
        tick(total, total)
        return page.figure


def _card(page: Page, x: float, down: float, faces: FaceSet, flips: Flips, place: int) -> None:
    searched = flips.searches
    row = faces.row_of(int(searched.ids[place]))
    page.face(x, down, FACE, faces, row)
    matches = (
        ("A", int(searched.old_match[place]), bool(searched.old_right[place])),
        ("B", int(searched.new_match[place]), bool(searched.new_right[place])),
    )
    for i, (letter, face, right) in enumerate(matches):
        top = down + i * (FACE - SMALL)
        axes = page.face(x + FACE + 0.05, top, SMALL, faces, faces.row_of(face), pixels=112)
        mark(axes, right, x=0.95, y=0.93, size=6)
        page.text(x + FACE + 0.05 + SMALL - 0.02, top + SMALL - 0.055, letter, size=5.5, color="#ffffff",
                  fontweight="bold", ha="right", bbox=_badge(letter))  # fmt: skip
    name = escaped(faces.label(row)) if row is not None else ""
    page.text(x, down + FACE + 0.1, elided(name, 6.5, CARD - 0.1, bold=True), size=6.5, fontweight="bold")
    scores = tr(
        "mate {old} → {new}", old=number(searched.old_score[place], 2), new=number(searched.new_score[place], 2)
    )
    page.text(x, down + FACE + 0.23, scores, size=6, ink="text2")
    moved = float(searched.new_margin[place] - searched.old_margin[place])
    ink = "good" if searched.new_right[place] else "bad"
    margins = tr("margin {by}", by=number(moved, 3, sign=True)) if abs(moved) < 10 else tr("margin n/a")
    page.text(x, down + FACE + 0.35, margins, size=6, ink=ink)


def _badge(letter: str) -> dict[str, object]:
    return {"facecolor": INK[letter], "edgecolor": "none", "boxstyle": "square,pad=0.18"}
