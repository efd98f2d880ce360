"""Every face where the old model has it, and where the new one does: side by side under one camera, or one over the
other with a line from old to new. A slider moves the faces from there to here.

Lines lead to where a face is in the other map; the face that is pointed at is ringed in both. Where it is known what
became of the faces, triangles up were gained, down lost, small dots are the same, hollow ones did not search; a click
in the legend selects them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from facelens.analyses.flips import GAINED, LOST, SAME, UNSEARCHED
from facelens.analyses.projection import Projection
from facelens.images.faceset import FaceSet, Ids
from facelens.session.selection import Selection
from facelens.views import theme
from facelens.views.cloud import View
from facelens.views.colouring import Colouring, Entry
from facelens.views.controls import Header, Segmented
from facelens.views.hover import Line
from facelens.views.projection_legend import EntryButton
from facelens.views.projection_map import ProjectionMap
from facelens.views.scrub import Scrub
from facelens.views.thumbnails import Thumbnails
from facelens.words import tr

MODES = ("side", "overlay")
CHANGES = (  # in the order of the legend: what became of faces, mark, token of its colour, words
    (GAINED, "up", "good", "gained"),
    (LOST, "down", "bad", "lost"),
    (SAME, "dot", "text3", "same"),
    (UNSEARCHED, "hollow", "text3", "not searched"),
)
NARROW = 440  # px under which two maps side by side would say nothing


def changed_entries(change: NDArray[np.integer]) -> list[tuple[str, Entry]]:
    """What a legend says of what became of faces (N,): mark and entry of each kind."""
    now, found = theme.current(), []
    for kind, mark, token, words in CHANGES:
        places = np.flatnonzero(change == kind)
        if kind != UNSEARCHED or len(places):
            found.append((mark, Entry(tr(words), now.q(token), places)))
    return found


class ChangeLegend(QWidget):
    """How many faces were gained, lost, or stayed the same; a click selects them."""

    select = Signal(object, object)  # ids, Mode

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(tr("Legend"))
        self.entries: list[EntryButton] = []
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(6, 0, 6, 0)
        self._row.setSpacing(6)
        self._row.addStretch(1)
        self._shown: tuple[Ids, NDArray[np.integer] | None] | None = None
        theme.follow(self, self._on_theme_changed)

    def _on_theme_changed(self) -> None:
        if self._shown is not None:
            self.show_change(*self._shown)  # in the colours of the theme

    def show_change(self, ids: Ids, change: NDArray[np.integer] | None) -> None:
        """Of these faces; None: nothing is known."""
        self._shown = ids, change
        for old in self.entries:
            self._row.removeWidget(old)
            old.hide()
            old.deleteLater()
        self.entries = []
        for mark, entry in changed_entries(change) if change is not None else ():
            made = EntryButton(mark, entry)
            made.picked.connect(lambda places, mode: self.select.emit(ids[places], mode))
            self._row.insertWidget(len(self.entries), made)
            self.entries.append(made)


class OldNewMap(QWidget):
    """See the module's words. `show_map` takes a Projection with `other`; nothing is emitted by what is set.

    A page that has a legend of its own passes legend=False; one that has a header gives it to `dress`.
    """

    select = Signal(object, object)  # ids, Mode
    look = Signal(object)  # id of the face that became current
    open_face = Signal(object)  # id
    hovered = Signal(object)  # id of the face that is pointed at; None: no more
    arranged = Signal(str)  # of MODES, by the user

    def __init__(self, thumbnails: Thumbnails, parent: QWidget | None = None, *, legend: bool = True) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Old and new on one map"))
        self.mode = MODES[0]
        self._found: Projection | None = None
        self._change: NDArray[np.int8] | None = None
        self._colouring: Colouring | None = None
        self._words: Callable[[int], Sequence[Line]] | None = None  # of a face's id
        self.old_map, self.new_map = ProjectionMap(thumbnails), ProjectionMap(thumbnails)
        self.maps = (self.old_map, self.new_map)
        for one, other in (self.maps, self.maps[::-1]):
            one.select.connect(self.select)
            one.look.connect(self.look)
            one.open_face.connect(self.open_face)
            one.hovered.connect(self.hovered)
            one.hovered.connect(other.set_hover)
            one.viewed.connect(lambda view, one=one, other=other: self._follow(view, one, other))
        self.scrub, self.legend = Scrub(), ChangeLegend()
        self.scrub.moved.connect(lambda _: self._place())
        self.legend.select.connect(self.select)
        self._own_legend = legend
        self.switch = Segmented(
            [("side", tr("Side by side")), ("overlay", tr("Overlay"))], label=tr("Old and new"), height=22
        )
        self.switch.button("side").setToolTip(tr("Old and new in two maps that move together"))
        self.switch.button("overlay").setToolTip(tr("One map, with a line from old to new"))
        self.switch.changed.connect(lambda place: self._on_switch(MODES[place]))
        self.switch.setParent(self)
        self.switch.hide()  # until it has a place in a header
        sides = QHBoxLayout()
        sides.setContentsMargins(0, 0, 0, 0)
        sides.setSpacing(1)
        for one in self.maps:
            sides.addWidget(one, 1)
        foot = QWidget()
        foot.setObjectName("panel")
        foot.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(foot)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self.legend)
        row.addWidget(self.scrub, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(sides, 1)
        column.addWidget(foot)
        self._foot = row
        self.set_names("", "")
        self.show_nothing("")

    def dress(self, header: Header) -> tuple[QWidget, ...]:
        """Put the switch and "Show everything" into the header over the map, and give them back."""
        header.add(self.switch).show()
        return self.switch, header.add_button("fit", tr("Show everything (F)"), self.fit)

    def keep_switch(self) -> None:
        """Show the switch at the foot, where there is no header for it."""
        self._foot.addWidget(self.switch)
        self._foot.setContentsMargins(0, 0, 8, 0)
        self.switch.show()

    def sizeHint(self) -> QSize:
        return QSize(820, 420)

    # What is shown

    def show_map(self, faces: FaceSet, found: Projection, *, same: bool = False) -> None:
        """Points of both models; where it is the `same` map that goes on, what is looked at and known stays."""
        if found.other is None:
            raise ValueError("a map of one model has no old and new")
        same = same and self._found is not None and len(self._found) == len(found)
        self._found = found
        if not same:
            self._change = self._colouring = None
            self.scrub.set_share(1.0)
        for one in self.maps:
            one.show_map(faces, found, same=same)
        self._arrange()

    def show_nothing(self, why: str) -> None:
        """No map, and why."""
        self._found = self._change = self._colouring = None
        for one in self.maps:
            one.show_nothing(why if one is self.new_map or self.mode == "side" else "")
        self._arrange()

    def set_change(self, change: NDArray[np.integer] | None) -> None:
        """What became of each face of the map (N,): flips.LOST, SAME or GAINED; None: nothing is known."""
        self._change = None if change is None else np.asarray(change, np.int8)
        for one in self.maps:
            one.set_kinds(self._change)
        self._tell_legend()
        self._draw_lines()

    def set_colours(self, colouring: Colouring | None) -> None:
        """Colours of the faces; None: those of what became of them."""
        self._colouring = colouring
        for one in self.maps:
            one.set_colours(colouring)
        self._draw_lines()

    def set_shapes(self, augmented: NDArray[np.bool_] | None) -> None:
        """Which of the faces are augmented; None: nobody knows."""
        for one in self.maps:
            one.set_shapes(augmented)

    def set_selection(self, selection: Selection) -> None:
        """Mark the selected faces and the one that is looked at."""
        for one in self.maps:
            one.set_selection(selection)

    def set_names(self, old: str, new: str) -> None:
        """What the two models are called."""
        self._names = (tr("Old"), "A"), (old, "A"), (tr("New"), "B"), (new, "B")
        self._tell_names()

    def _tell_names(self) -> None:
        old, new = self._names[:2], self._names[2:]
        self.old_map.set_head(*old)
        self.new_map.set_head(*(new if self.side_by_side else (*old, ("→", "text3"), *new)))
        self.old_map.setAccessibleName(tr("Map of the faces by the old model"))
        self.new_map.setAccessibleName(
            tr("Map of the faces by the new model") if self.side_by_side else tr("Map of the faces, from old to new")
        )

    def set_words(self, words: Callable[[int], Sequence[Line]] | None) -> None:
        """Further lines of a face's card, by its id; hover.Inked gives one a colour."""
        self._words = words
        self._set_words()

    def set_links(self, links: Sequence[tuple[NDArray[np.int64], NDArray[np.bool_] | None]]) -> None:
        """Links (M, 2) of ids in the old and in the new map, and whether each is right (M,); empty: none."""
        for place, one in enumerate(self.maps):
            pairs, right = links[place] if place < len(links) else (None, None)
            one.set_links(pairs, right)

    def set_tool(self, tool: str) -> None:
        """What a drag draws."""
        for one in self.maps:
            one.set_tool(tool)

    def set_mode(self, mode: str) -> None:
        """Side by side, or overlaid."""
        self.mode = mode
        self.switch.set_value(mode)
        self._arrange()

    def fit(self) -> None:
        """Show everything."""
        for one in self.maps:
            one.see_all()

    # How it is shown

    @property
    def side_by_side(self) -> bool:
        """Whether there are two maps: where it is asked, and wide enough."""
        return self.mode == "side" and self.width() >= NARROW

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        if self.side_by_side != self.old_map.isVisibleTo(self):
            self._arrange()

    def _arrange(self) -> None:
        found = self._found
        self.old_map.setVisible(self.side_by_side)
        self._tell_names()
        self.scrub.setEnabled(found is not None)
        if found is not None and found.other is not None:
            both = np.concatenate([found.points, found.other]).T
            for one in self.maps:
                one.set_reach(*both)
            self._draw_lines()
            self._place()
            self._set_words()
        self._tell_legend()

    def _place(self) -> None:
        """Faces of the new map, as far on the way as the slider says."""
        found, share = self._found, np.float32(self.scrub.share)
        if found is None or found.other is None:
            return
        at = found.other if share == 1 else found.points + (found.other - found.points) * share
        self.new_map.set_points(*at.T)

    def _draw_lines(self) -> None:
        found = self._found
        if found is None or found.other is None:
            return
        old, new = found.points.T, found.other.T
        made = self._colouring
        shades, front = (made.shades, made.front) if made is not None else (None, None)
        self.old_map.set_lines(*new, colours=shades, front=front)
        if self.side_by_side:
            self.new_map.set_lines(*old, colours=shades, front=front)
        else:
            self.new_map.set_lines(*new, start=(old[0], old[1]), colours=shades, front=front)

    def _set_words(self) -> None:
        found, words = self._found, self._words
        more = None if found is None or words is None else lambda place: words(int(found.ids[place]))
        for one in self.maps:
            one.set_words(more)

    def _tell_legend(self) -> None:
        ids = self._found.ids if self._found is not None else np.zeros(0, np.int64)
        self.legend.show_change(ids, self._change)
        self.legend.setVisible(self._own_legend and self._change is not None)

    def _follow(self, view: View, one: ProjectionMap, other: ProjectionMap) -> None:
        if one.sees_all:
            other.see_all()
        else:
            other.set_camera(view)

    def _on_switch(self, mode: str) -> None:
        self.mode = mode
        self._arrange()
        self.arranged.emit(mode)
