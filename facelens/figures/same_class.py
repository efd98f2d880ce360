"""The same people by the old model and by its upgrades, side by side on common axes, with d_pw in each title.

After Meng et al., "Learning Compatible Embeddings", ICCV 2021, fig. 1: an upgrade may be farther point to point and
yet lie inside the old class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from facelens.analyses.same_class import SameClass
from facelens.errors import InputError
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, name_places, wide
from facelens.figures.style import INK, style
from facelens.images.faceset import FaceSet
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDE, GAP = 3.0, 0.24  # inches of a plot, and between two
GROUND = "#f6f6f6"
NAMED = 8  # people up to which they are named


def draw_same_class(faces: FaceSet, found: SameClass) -> Figure:
    """A ring where the old model has a picture, a disc where the upgrade does, a line between them."""
    if not len(found.ids) or not found.upgrades:
        why = tr("no upgrade has the dimensions of the old model") if found.left_out else tr("nobody was chosen")
        raise InputError(tr("The same people cannot be drawn: {why}.", why=why))
    n = len(found.upgrades)
    width = max(2 * MARGIN + n * SIDE + (n - 1) * GAP, 5.0)
    people = len({faces.identity.name(int(row)) for row in faces.rows_of(found.ids)})
    foot = [
        tr("ring: old, disc: upgrade, line: the same picture"),
        tr("d_pw: mean squared distance of a picture's two vectors"),
        tr("principal axes of all models together, the same on every side"),
    ]
    if found.left_out:
        names = ", ".join(escaped(name) for name in found.left_out)
        foot.append(tr("left out, for their dimensions differ: {names}", names=names))
    told = [
        escaped(faces.name),
        tr("old model: {name}", name=escaped(found.old)),
        tr(
            "{faces} of {people}",
            faces=plural(len(found.ids), "N = {n} face", "N = {n} faces"),
            people=plural(people, "{n} person", "{n} people"),
        ),
    ]
    points = np.vstack([found.points, *(one.points for one in found.upgrades)])
    middle, reach = (points.max(0) + points.min(0)) / 2, float(np.ptp(points, axis=0).max()) * 0.58 + 1e-6
    with style():
        page = Page(width, HEAD + 0.26 + SIDE + 0.16 + LINE * len(lines(foot, width - 2 * MARGIN)))
        page.head(tr("The same people by two models"), told)
        for i, one in enumerate(found.upgrades):
            left = MARGIN + i * (SIDE + GAP)
            distance = tr("d_pw = {value}", value=number(one.point_distance))
            room = SIDE - wide(f": {distance}", 8, bold=True)
            title = f"{elided(escaped(one.name), 8, room, bold=True)}: {distance}"
            page.text(left, HEAD + 0.1, title, size=8, fontweight="bold")
            axes = page.axes(left, HEAD + 0.24, SIDE, SIDE)
            axes.set(xlim=(middle[0] - reach, middle[0] + reach), ylim=(middle[1] - reach, middle[1] + reach))
            axes.set(xticks=[], yticks=[], facecolor=GROUND)
            axes.spines[:].set_visible(False)
            _links(axes, found.points, one.points)
            if people <= NAMED:
                _names(axes, faces, found)
        page.foot(foot)
        return page.figure


def _links(axes: Axes, old: np.ndarray, new: np.ndarray) -> None:
    from matplotlib.collections import LineCollection

    lines = np.stack([old, new], axis=1)
    axes.add_collection(LineCollection(list(lines), colors=INK["text3"], linewidths=0.5, alpha=0.55, zorder=2))
    axes.plot(*old.T, "o", markersize=3.6, markerfacecolor="none", markeredgecolor=INK["A"], markeredgewidth=0.9,
              linestyle="none", zorder=3)  # fmt: skip
    axes.plot(*new.T, "o", markersize=3.0, markerfacecolor=INK["B"], markeredgewidth=0, linestyle="none", zorder=4)


def _names(axes: Axes, faces: FaceSet, found: SameClass) -> None:
    """Who is where, above their old pictures: the same place on every side."""
    codes = faces.identity.codes[faces.rows_of(found.ids)]
    named = []
    for code in np.unique(codes[codes >= 0]).tolist():
        points = found.points[codes == code]
        name = escaped(faces.identity.names[code]).replace("_", " ")
        named.append((name, float(np.median(points[:, 0])), float(points[:, 1].max())))
    name_places(axes, named, ground=GROUND)
