"""Sheets of an upgrade: searches that were right and are wrong now, then the reverse; pairs; errors of one test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.cross_errors import CrossErrors
from facelens.analyses.flips import GAINED, LOST, Flips
from facelens.analyses.measure import rate
from facelens.analyses.upgrade import Upgrade
from facelens.errors import InputError
from facelens.figures.crossing import told
from facelens.figures.crossing_words import errors_title
from facelens.figures.listed import MOST as LISTED
from facelens.figures.listed import Pair, draw_listed, pair_names
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


def draw_flip_pairs(faces: FaceSet, found: Upgrade, *, tick: Tick = silent) -> Figure:
    """Pairs of one person that only one of both models accepts: those that were lost, then those that were gained."""
    flips = found.flips
    if flips is None:
        raise InputError(tr("What changed is not worked out, so there is nothing to draw."))
    pairs = flips.pairs
    lost, gained = (np.flatnonzero(pairs.change == way) for way in (LOST, GAINED))
    if not len(pairs.first):
        raise InputError(tr("No pair flipped, so there is nothing to draw."))
    limits = flips.new_threshold - flips.old_threshold
    moved = pairs.new - pairs.old - (limits if np.isfinite(limits) else 0.0)
    cards = []
    for place in (*lost[: _room(lost, gained)].tolist(), *gained[: _room(gained, lost)].tolist()):
        kind, mark = (tr("lost"), "lost") if pairs.change[place] == LOST else (tr("gained"), "gained")
        said = f"{number(pairs.old[place], 2)} → {number(pairs.new[place], 2)}"
        cards.append(_listed(faces, int(pairs.first[place]), int(pairs.second[place]), kind, mark, moved[place], said))
    title = tr("Pairs that flipped at FAR {far}: {lost} lost, {gained} gained", far=rate(flips.far),
               lost=f"{len(lost):,}", gained=f"{len(gained):,}")  # fmt: skip
    return draw_listed(
        faces, cards, title=title, told=told(found, faces.name), total=len(pairs.first),
        score=tr("old score → new score"), margin=tr("change of the score less that of the threshold"),
        order=_shown(len(cards), len(pairs.first), tr("lost first")), tick=tick,
    )  # fmt: skip


def draw_errors(faces: FaceSet, found: Upgrade, errors: CrossErrors, *, tick: Tick = silent) -> Figure:
    """What one test gets wrong: those of one person that it misses, then strangers that it accepts."""
    if not len(errors.first):
        raise InputError(tr("This test has no errors, so there is nothing to draw."))
    one_to_one = errors.task == "1:1"
    words = (tr("missed"), tr("false match") if one_to_one else tr("false alarm"))
    missed, accepted = np.flatnonzero(errors.genuine), np.flatnonzero(~errors.genuine)
    cards = []
    for place in (*missed[: _room(missed, accepted)].tolist(), *accepted[: _room(accepted, missed)].tolist()):
        first, second = int(errors.first[place]), int(errors.second[place])
        said = number(float(errors.score[place]), 3)
        kind = words[0 if errors.genuine[place] else 1]
        cards.append(_listed(faces, first, second, kind, "wrong", errors.margin[place], said))
    total = errors.missed + errors.accepted
    return draw_listed(
        faces, cards, title=errors_title(found.plan, errors), told=told(found, faces.name), total=total,
        margin=tr("how far the score is from being right"), order=_shown(len(cards), total, tr("missed first")),
        tick=tick,
    )  # fmt: skip


def _room(some: NDArray[np.int64], others: NDArray[np.int64]) -> int:
    """How many of some are shown beside others: half of a page, or what the others leave free."""
    return max(LISTED // 2, LISTED - len(others))


def _shown(n: int, total: int, order: str) -> str:
    return order if n == total else tr("{order}, {n} of {total}", order=order, n=n, total=f"{total:,}")


def _listed(faces: FaceSet, first: int, second: int, kind: str, mark: str, margin: float, said: str) -> Pair:
    rows = faces.row_of(first), faces.row_of(second)
    return Pair(rows, pair_names(faces, *rows), kind, mark, np.nan, float(margin), tr("margin n/a"), said)
