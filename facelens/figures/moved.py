"""Figure of who moved most from one model to another: people, or groups of a column, by the mean way of their faces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from facelens.analyses.moves import grouped
from facelens.analyses.projection import Projection
from facelens.errors import InputError
from facelens.figures.confidence import name_of
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines
from facelens.figures.style import INK, style
from facelens.images.faceset import FaceSet, Labels
from facelens.progress import Tick, silent
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 20  # groups
EACH = 4  # faces of one
ROW, SIDE, NAMES, RAIL = 0.32, 0.27, 1.5, 2.0  # inches


def draw_moved(faces: FaceSet, found: Projection, *, groups: str = "", tick: Tick = silent) -> Figure:
    """A row for each person, or each value of the column `groups`: faces that moved most, and the mean way of all."""
    if found.moved is None:
        raise InputError(
            tr("Nobody moves on a map of one model."), hint=tr("Choose a second model, then all faces have a way.")
        )
    rows, column = faces.rows_of(found.ids), faces.columns.get(groups)
    labels = column if isinstance(column, Labels) else faces.identity
    codes = labels.codes[rows]
    means = grouped(found.moved, codes)
    if not len(means.codes):
        raise InputError(tr("No face on the map has a name, so there are no groups."))
    shown, total = min(len(means.codes), MOST), len(means.codes)
    way = tr("mean 1 − cosine of old and new") if found.how == "joint" else tr("mean way, in shares of the spread")
    foot = [
        tr("pictures: those of the group that moved most"), tr("bar: the mean of all its faces"),
        tr("the first {n} of {total}", n=shown, total=total),
    ]  # fmt: skip
    left = MARGIN + EACH * (SIDE + 0.03) + 0.08
    width = left + NAMES + RAIL + 1.25
    with style():
        page = Page(width, HEAD + 0.24 + shown * ROW + 0.2 + LINE * len(lines(foot, width - 2 * MARGIN)))
        counted = plural(len(found.ids), "N = {n} face", "N = {n} faces")
        models = tr("{old} → {new}", old=name_of(found.plan.model, 1.6), new=name_of(found.plan.other, 1.6))
        of = [tr("groups of {column}", column=escaped(groups))] if labels is column else []
        page.head(tr("Who moved most"), [name_of(faces.name), models, counted, *of])
        page.text(left + NAMES, HEAD + 0.12, tr("{way}, higher is farther", way=way), size=6, ink="text3")
        page.text(width - MARGIN, HEAD + 0.12, tr("faces"), size=6, ink="text3", ha="right")
        axes = page.axes(left + NAMES, HEAD + 0.24, RAIL, shown * ROW)
        axes.set_axis_off()
        axes.set(xlim=(0, float(means.moved[:shown].max()) or 1.0), ylim=(shown - 0.5, -0.5))
        axes.barh(np.arange(shown), np.maximum(means.moved[:shown], 0), 0.4, color=INK["accent"], linewidth=0)
        for i in range(shown):
            tick(i, shown, tr("Drawing"))
            down, code = HEAD + 0.24 + i * ROW, int(means.codes[i])
            inside = np.flatnonzero(codes == code)
            for n, place in enumerate(inside[np.argsort(-found.moved[inside], kind="stable")][:EACH].tolist()):
                page.face(MARGIN + n * (SIDE + 0.03), down + 0.02, SIDE, faces, int(rows[place]), pixels=64)
            name = escaped(labels.names[code])
            name = name.replace("_", " ") if labels is faces.identity else name
            page.text(left, down + ROW / 2, elided(name, 6.5, NAMES - 0.1), size=6.5)
            page.text(left + NAMES + RAIL + 0.1, down + ROW / 2, number(float(means.moved[i]), 2), size=6.5)
            page.text(width - MARGIN, down + ROW / 2, f"{int(means.faces[i]):,}", size=6.5, ink="text2", ha="right")
        page.foot(foot)
        tick(shown, shown)
        return page.figure
