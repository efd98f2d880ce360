"""Figures of what the doctor found: a row for each kind of trouble, and the pictures of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from facelens.errors import InputError
from facelens.figures.confidence import name_of
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines
from facelens.figures.style import INK, style
from facelens.images.doctor import Finding
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 120  # pictures of a finding
WIDTH, NAMES, BAR, COUNT = 6.8, 1.9, 1.6, 0.7  # inches: the page, names of findings, their bars, their counts
ROW, SIDE, ACROSS = 0.34, 0.7, 9  # inches of a row and a picture; pictures in a row
INKS = {"error": "bad", "warning": "B", "note": "text3"}
MARKS = {"error": "X", "warning": "^", "note": "o"}


def draw_findings(faces: FaceSet, findings: Sequence[Finding], *, checked: int) -> Figure:
    """A row for each finding, worst first: how many faces have it, and the sentence about it."""
    if not findings:
        raise InputError(tr("Nothing is wrong with this gallery, so there is nothing to draw."))
    room = WIDTH - MARGIN - NAMES - BAR - COUNT - MARGIN
    said = [lines([one.message], room, size=6) for one in findings]
    tall = [max(ROW, 0.14 + LINE * len(some)) for some in said]
    foot = [tr("bar: faces, of all that were checked"), tr("cross: error, triangle: warning, disc: note")]
    most = max(checked, 1)
    with style():
        page = Page(WIDTH, HEAD + 0.22 + sum(tall) + 0.2 + LINE)
        counted = plural(checked, "{n} face checked", "{n} faces checked")
        kinds = plural(len(findings), "{n} finding", "{n} findings")
        page.head(tr("What is wrong with the gallery"), [name_of(faces.name), counted, kinds])
        page.text(MARGIN + NAMES + BAR, HEAD + 0.1, tr("faces"), size=6.5, ink="text3")
        for i, (one, words) in enumerate(zip(findings, said)):
            middle = HEAD + 0.22 + sum(tall[:i]) + tall[i] / 2
            ink = INK[INKS[one.severity]]
            plate = page.bare(MARGIN, middle - 0.08, 0.16, 0.16)
            plate.plot([0.5], [0.5], marker=MARKS[one.severity], markersize=5, color=ink, clip_on=False)
            page.text(MARGIN + 0.24, middle, elided(escaped(one.title), 7, NAMES - 0.34), size=7)
            rail = page.bare(MARGIN + NAMES, middle - 0.06, BAR - 0.1, 0.12)
            rail.axvspan(0, 1, color=INK["line"], alpha=0.5, linewidth=0)
            rail.axvspan(0, len(one.ids) / most, color=ink, linewidth=0)
            shown = f"{len(one.ids):,}" if len(one.ids) else tr("all")
            page.text(MARGIN + NAMES + BAR, middle, shown, size=7)
            for n, line in enumerate(words):
                down = middle + (n - (len(words) - 1) / 2) * LINE
                page.text(MARGIN + NAMES + BAR + COUNT, down, line, size=6, ink="text2")
        page.foot(foot)
        return page.figure


def draw_finding(faces: FaceSet, finding: Finding, *, tick: Tick = silent) -> Figure:
    """The pictures of one finding; those that belong together, as copies do, under one number."""
    ids = finding.ids
    if not len(ids):
        raise InputError(
            tr("This finding is about the gallery as a whole, so there is no picture of it."),
            hint=tr("Choose another finding."),
        )
    group = finding.group if len(finding.group) == len(ids) else np.zeros(len(ids), np.int32)
    order = np.argsort(group, kind="stable")[:MOST]
    rows, step = faces.rows_of(ids[order]), SIDE + 0.06
    down = -(-len(rows) // ACROSS)
    room = ACROSS * step - 0.06
    said = lines([finding.message], room, size=6.5)
    numbered = len(np.unique(group)) > 1
    foot = [tr("number: faces that belong together")] if numbered else []
    if len(ids) > MOST:
        foot.append(tr("the first {n} of {total}", n=MOST, total=len(ids)))
    with style():
        page = Page(room + 2 * MARGIN, HEAD + LINE * len(said) + down * (SIDE + 0.22) + 0.14 + LINE * bool(foot))
        counted = plural(len(ids), "{n} face", "{n} faces")
        page.head(escaped(finding.title), [name_of(faces.name), counted])
        for n, line in enumerate(said):
            page.text(MARGIN, HEAD - 0.06 + n * LINE, line, size=6.5, ink="text2")
        top = HEAD + 0.06 + LINE * len(said)
        for i, (row, one) in enumerate(zip(rows.tolist(), group[order].tolist())):
            tick(i, len(rows), tr("Drawing"))
            x, y = MARGIN + i % ACROSS * step, top + i // ACROSS * (SIDE + 0.22)
            page.face(x, y, SIDE, faces, int(row), pixels=112)
            name = escaped(faces.label(int(row)))
            name = tr("{n}  {name}", n=one + 1, name=name) if numbered else name
            page.text(x, y + SIDE + 0.08, elided(name, 5.4, SIDE), size=5.4, ink="text2")
        page.foot(foot)
        tick(len(rows), len(rows))
        return page.figure
