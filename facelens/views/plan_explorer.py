"""Why two faces match: query, flow and gallery face over weights, plan and weights, one current patch in all of them.

The patch under the pointer is outlined in every view and its mass fans out to the other face. A click keeps it, Esc
frees it, arrows walk the patches, Tab goes from view to view, and in the plan a click keeps the stream of a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QWidget

from facelens.analyses.reranking import Explained
from facelens.figures.match_words import percent
from facelens.views import icons, theme
from facelens.views.controls import EmptyState, Segmented, draw_text, text_width
from facelens.views.flow_lines import Streams
from facelens.views.frame import Switch
from facelens.views.hearing import keep_keys
from facelens.views.patch_view import walked
from facelens.views.plan_controls import PlanControls, PlanLook
from facelens.views.plan_places import TITLE, VIEWS
from facelens.views.plan_sheet import OTHER, SIDES, Array, Heat, Patch, PlanSheet, small
from facelens.words import number, tr

BESIDE = 60  # px of words beside a switch that is not folded
TABBED = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)  # to the first view, to the last
ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
STEPS = {
    Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1),
    Qt.Key.Key_Home: (-999, 0), Qt.Key.Key_End: (999, 0), Qt.Key.Key_PageUp: (0, -999), Qt.Key.Key_PageDown: (0, 999),
}  # fmt: skip
Found = tuple[str, Patch, int | None]  # view, patch, and in the plan the patch that its mass goes to


class PlanExplorer(QWidget):
    """See the module's words."""

    patch_changed = Signal(object)  # the current Patch, or None
    heat_wanted = Signal(str)  # "occlusion" or "gradient", chosen and not there
    look_changed = Signal(object)  # PlanLook, by the user

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name_of: Callable[[Patch], str] | None = None  # what of the face a patch shows
        self.sheet: PlanSheet | None = None
        self._hover: Patch | None = None  # under the pointer or the keyboard
        self._kept: Patch | None = None
        self._pointed: int | None = None  # the patch of the other face that the pointer or the keyboard is on
        self._pinned: int | None = None  # and that of the cell that was clicked
        self._told: Patch | None = None  # the current patch that others know of
        self._streams = Streams.of(np.zeros(0), 0.0)
        self._lit: Array | None = None
        self._view = VIEWS[0]  # that has the keyboard
        self._by_key = False
        self._ground: QPixmap | None = None  # all that does not move with the pointer

        self.controls = PlanControls()  # for the header of the panel
        self.controls.changed.connect(self._on_look)
        self.tabs = Segmented([("faces", tr("Faces")), ("below", tr("Weights and plan"))], label=tr("Views"), height=22)
        self.tabs.button("faces").setToolTip(tr("Query, flow and gallery face"))
        self.tabs.button("below").setToolTip(tr("Weights of both faces and the whole plan"))
        self.tabs.changed.connect(lambda _: self._arrange())
        self.over = Switch(
            [("weights", tr("Query weights")), ("occlusion", tr("Occlusion")), ("gradient", tr("Gradient"))],
            label=tr("What lies over the query"),
        )
        self.over.button("weights").setToolTip(tr("The mass of each patch of the query"))
        self.over.button("occlusion").setToolTip(tr("How much the similarity falls when a patch is covered"))
        self.over.button("gradient").setToolTip(tr("How much the similarity changes with the pixels of a patch"))
        self.over.changed.connect(lambda _: self._on_over())
        self.cells = Switch(
            [("flow", tr("Whole plan")), ("cost", tr("Cost")), ("distance", tr("Distance"))],
            label=tr("What the cells of the plan are"),
        )
        self.cells.button("flow").setToolTip(tr("How much mass goes from each patch of the query to each of the other"))
        self.cells.button("cost").setToolTip(tr("Mass times distance; the cells add up to the EMD"))
        self.cells.button("distance").setToolTip(tr("1 − cosine of two patches, whether or not mass goes that way"))
        self.cells.changed.connect(lambda _: self._repaint())
        for control in (self.tabs, self.over, self.cells):
            control.setParent(self)
        self._empty = EmptyState("compare", "")
        self._empty.setParent(self)
        self.setAccessibleName(tr("Transport plan"))
        self.setWhatsThis(
            tr(
                "What each patch of the query is matched with. The patch under the pointer is outlined in every view "
                "and its mass fans out; a click keeps it. Arrows walk the patches, Tab goes from view to view."
            )
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        keep_keys(self, self._wants)
        self.setMinimumSize(420, 260)
        theme.follow(self, self._repaint)
        self.show_nothing(tr("No match yet"), "")

    def sizeHint(self) -> QSize:
        return QSize(690, 530)

    # What is shown

    def show_match(
        self,
        explained: Explained,
        query_crop: NDArray[np.uint8],
        gallery_crop: NDArray[np.uint8],
        *,
        query_name: str,
        gallery_name: str,
        right: bool | None,
        weighting: str = "",
    ) -> None:
        """Another pair, or the same one solved otherwise; a patch that is kept stays so while the grids do.

        A saliency that is chosen is wanted anew.
        """
        old = self.sheet.shown if self.sheet is not None else None
        names = {"query": query_name, "gallery": gallery_name, "weighting": weighting}
        self.sheet = PlanSheet(explained, query_crop, gallery_crop, names=names, right=right)
        if old is None or (old.grid, old.gallery_grid) != (explained.grid, explained.gallery_grid):
            self._forget()
        self._lit = None
        self._empty.hide()
        self._arrange()
        self._follow()
        self._on_over()

    def show_nothing(self, title: str, text: str) -> None:
        """Say why there is no match to look at."""
        self.sheet = self._lit = None
        self._forget()
        self._empty.set_message(title, text)
        self._empty.show()
        self._arrange()
        self._follow()

    def set_heat(self, values: Array | None, titles: Sequence[str] = (), *, told: str = "", kind: str = "") -> None:
        """Lay how much each patch of the query counts, (P,), over it; None: that cannot be told.

        `kind` is "occlusion" or "gradient", not named the chosen one; below 0 is shown as nothing, NaN hatched. Of the
        `titles` the first that has room stands above it; `told` is said below the faces while no patch is chosen.
        """
        kind = kind or self.over.value()
        if values is None:
            self.clear_heat()
        elif self.sheet is not None and kind != "weights":
            self.sheet.heats[kind] = Heat(np.asarray(values, np.float64), tuple(titles), told)
            self._repaint()

    def clear_heat(self) -> None:
        """Back to the weights."""
        if self.sheet is not None:
            self.sheet.heats.clear()
        self.over.set_value("weights")
        self._repaint()

    def set_lit(self, shares: Array | None) -> None:
        """Light up some patches of the query by how much of each belongs to a region, (P,); None: all are alike."""
        self._lit = None if shares is None else np.asarray(shares, np.float64)
        self.update()

    @property
    def look(self) -> PlanLook:
        """What is hidden, and the colours."""
        return self.controls.look

    def set_look(self, look: PlanLook) -> None:
        """Look at it so, without telling anybody."""
        self.controls.show_look(look)
        self._repaint()
        self._follow()

    # The current patch

    @property
    def current(self) -> Patch | None:
        """The patch that is kept, else that under the pointer or the keyboard."""
        return self._kept or self._hover

    @property
    def kept(self) -> Patch | None:
        """The patch that was clicked."""
        return self._kept

    @property
    def target(self) -> int | None:
        """The patch of the other face whose stream is brought forward."""
        return self._pointed if self._pointed is not None else self._pinned

    @property
    def streams(self) -> Streams:
        """Where the mass of the current patch goes, or comes from."""
        return self._streams

    def keep(self, patch: Patch | None, *, target: int | None = None) -> None:
        """Keep a patch, and a stream of it; None frees."""
        self._kept, self._pinned, self._pointed = patch, target, None
        self._follow()

    def caption(self) -> tuple[str, str, str]:
        """What is told of the current patch: which it is, its mass and cost, its streams."""
        if self.sheet is None:
            return "", "", ""
        shown, current = self.sheet.shown, self.current
        if current is None:
            told = tr("EMD {emd}", emd=number(shown.emd, 3))
            if shown.gap >= 0.0005:
                told += " · " + tr("at most {gap} above the least", gap=number(shown.gap, 3))
            heat = self.sheet.heats.get(self.over.value())
            hint = tr("Hover a patch to see where its mass goes; a click keeps it")
            return tr("No patch chosen"), told, heat.told if heat is not None and heat.told else hint
        side, patch = current
        mass = float((shown.u if side == "query" else shown.v)[patch])
        cost = float(shown.costs.sum(1 if side == "query" else 0)[patch])
        told = self._streams.told(arriving=side == "gallery")
        if self.target is not None:
            told += " · " + self._told_of(current, self.target)
        return self._called(current), tr("mass {mass} · cost {cost}", mass=small(mass), cost=small(cost)), told

    def _told_of(self, current: Patch, target: int) -> str:
        """One stream."""
        assert self.sheet is not None
        shown, (side, patch) = self.sheet.shown, current
        cell = (patch, target) if side == "query" else (target, patch)
        whole = shown.flow[patch] if side == "query" else shown.flow[:, patch]
        mass = float(shown.flow[cell])
        return tr(
            "{arrow} row {row}, column {column}: {share}, distance {distance}",
            arrow="→" if side == "query" else "←",
            share=percent(mass / float(whole.sum())) if mass > 0 else tr("no mass"),
            distance=number(float(shown.distance[cell]), 3),
            **self._coordinates((OTHER[side], target)),
        )

    def _called(self, patch: Patch) -> str:
        where = self._coordinates(patch)
        said = (
            tr("Patch row {row}, column {column}", **where)
            if patch[0] == "query"
            else tr("Gallery patch row {row}, column {column}", **where)
        )
        name = self.name_of(patch) if self.name_of is not None else ""
        return f"{said} ({name})" if name else said

    def _coordinates(self, patch: Patch) -> dict[str, int]:
        assert self.sheet is not None
        row, column = divmod(patch[1], self.sheet.grid(patch[0])[1])
        return {"row": row + 1, "column": column + 1}

    def _forget(self) -> None:
        self._hover = self._kept = self._pointed = self._pinned = None

    def _follow(self) -> None:
        """The current patch, the cut or the plan is another one."""
        flow, current = np.zeros(0), self.current
        if self.sheet is not None and current is not None:
            side, patch = current
            flow = self.sheet.shown.flow[patch] if side == "query" else self.sheet.shown.flow[:, patch]
        self._streams = Streams.of(flow, self.look.cut)
        self._speak()
        self.update()
        if current != self._told:
            self._told = current
            self.patch_changed.emit(current)

    def _speak(self, *, aloud: bool = False) -> None:
        told = [self._titles()[self._view], *self.caption()] + ([tr("kept, Esc frees it")] if self._kept else [])
        text = ". ".join(part for part in told if part) if self.sheet is not None else ""
        self.setAccessibleDescription(text)
        if aloud and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    # Where things are

    def _titles(self) -> dict[str, str]:
        return {
            "query": tr("Query"),
            "flow": tr("Flow"),
            "gallery": tr("Gallery"),
            "query weights": self.over.button(self.over.value()).text(),
            "plan": self.cells.button(self.cells.value()).text(),
            "gallery weights": tr("Gallery weights"),
        }

    def part_at(self, point: QPoint | None) -> str:
        """The view at a point, with its title, or the one with the cursor."""
        if self.sheet is None or point is None:
            return self._view if self.sheet is not None else ""
        boxes = self.sheet.places.boxes.items()
        return next((view for view, box in boxes if box.adjusted(0, -TITLE, 0, 0).contains(QPointF(point))), "")

    def _arrange(self) -> None:
        """Views and switches to the room there is."""
        self._empty.setGeometry(self.rect())
        sheet, shown = self.sheet, set[QWidget]()
        if sheet is not None:
            sheet.arrange(self.width(), self.height(), lower=self.tabs.value() == "below")
            if (line := sheet.places.tabs) is not None:
                self.tabs.setGeometry(QRectF(line.topLeft(), self.tabs.sizeHint()).toRect())
                shown.add(self.tabs)
            switches = [(view, control) for view, control in self._switches().items() if view in sheet.views]
            room = [control.unfolded_width() + BESIDE <= sheet.places.title(view).width() for view, control in switches]
            for view, control in switches:
                line = sheet.places.title(view)
                control.fold(not all(room))
                wide = min(control.sizeHint().width(), int(line.width()))
                control.setGeometry(round(line.left()), round(line.top()), wide, 22)
                shown.add(control)
            if self._view not in sheet.views:
                self._view = sheet.views[0]
        for part in (self.tabs, self.over, self.cells):
            part.setVisible(part in shown)
        self._repaint()

    def _switches(self) -> dict[str, Switch]:
        """Those that stand where views have their titles."""
        return {"query weights": self.over, "plan": self.cells}

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    # Painting

    def _repaint(self) -> None:
        self._ground = None
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, now, sheet = QPainter(self), theme.current(), self.sheet
        if sheet is None:
            painter.fillRect(self.rect(), now.q("sunk"))
            return
        if self._ground is None or self._ground.devicePixelRatio() != self.devicePixelRatioF():
            self._ground = self._painted(sheet, self.devicePixelRatioF())
        painter.drawPixmap(0, 0, self._ground)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        if self._lit is not None:
            sheet.paint_lit(painter, self._lit)
        if self.current is not None:
            sheet.paint_current(painter, self.current, self._streams, self.target)
        if self._hover is not None and self._hover != self.current:
            sheet.paint_ring(painter, self._hover)
        self._paint_caption(painter, sheet.places.caption)
        if self.hasFocus() and self._by_key:
            painter.setPen(QPen(now.q("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(sheet.places.boxes[self._view].adjusted(-3, -3, 3, 3), 5, 5)

    def _painted(self, sheet: PlanSheet, ratio: float) -> QPixmap:
        made = QPixmap(self.size() * ratio)
        made.setDevicePixelRatio(ratio)
        made.fill(theme.current().q("sunk"))
        painter = QPainter(made)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        sheet.look, sheet.over, sheet.cells = self.look, self.over.value(), self.cells.value()
        widths = {view: float(control.width()) for view, control in self._switches().items()}
        sheet.paint(painter, {**self._titles(), **widths}, ratio)
        painter.end()
        return made

    def _paint_caption(self, painter: QPainter, room: QRectF) -> None:
        which, measures, told = self.caption()
        chosen = self.current is not None
        line = QRectF(room.left(), room.top() + 4, room.width(), 16)
        under = line.translated(0, 16)
        if self._kept is not None:
            free = tr("kept, Esc frees it")
            draw_text(painter, line, free, "text3", 10, align="right")
            icons.paint(painter, QRectF(line.left(), line.top() + 1, 13, 13), "pin", theme.current().text2)
            line.adjust(17, 0, -text_width(free, 10) - 10, 0)
        draw_text(painter, line, which, "text" if chosen else "text2", 11)
        line.adjust(text_width(which, 11) + 12, 0, 0, 0)
        draw_text(painter, line, measures, "text2", 11)
        draw_text(painter, under, told, "text2" if chosen else "text3", 11)

    # Pointer

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        found = self._hit(event.position())
        self.setCursor(Qt.CursorShape.ArrowCursor if found is None else Qt.CursorShape.PointingHandCursor)
        self._point(found)

    def leaveEvent(self, event: QEvent) -> None:
        self._point(None)
        super().leaveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        found = self._hit(event.position()) if event.button() == Qt.MouseButton.LeftButton else None
        if found is not None:
            self._by_key = False
            self._view, patch, target = found
            again = (patch, target) == (self._kept, self._pinned)
            self.keep(None if again else patch, target=None if again else target)

    def _hit(self, point: QPointF) -> Found | None:
        return self.sheet.hit(point) if self.sheet is not None else None

    def _point(self, found: Found | None) -> None:
        """The pointer is somewhere else."""
        patch, target = (None, None) if found is None else found[1:]
        if self._kept is not None and patch is not None:  # of a kept patch another stream may be brought forward
            if patch[0] != self._kept[0]:
                target = patch[1] if patch[1] in self._streams.ends else None
            elif patch != self._kept:
                target = None
        if (patch, target) != (self._hover, self._pointed):
            self._hover, self._pointed = patch, target
            self._follow()

    # Keyboard

    def _wants(self, event: QKeyEvent) -> bool:
        """Esc frees the patch before the window does anything else with that key."""
        return event.key() == Qt.Key.Key_Escape and self.current is not None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if self.sheet is not None and key in STEPS:
            self._walk(self.sheet, *STEPS[key])
        elif key in ENTER and self._hover is not None:
            again = (self._hover, self._pointed) == (self._kept, self._pinned)
            self.keep(None if again else self._hover, target=None if again else self._pointed)
        elif key == Qt.Key.Key_Escape and self._kept is not None:
            self.keep(None)
        elif key == Qt.Key.Key_Escape and self._hover is not None:
            self._point(None)
        else:
            super().keyPressEvent(event)
            return
        self._speak(aloud=True)

    def _walk(self, sheet: PlanSheet, across: int, down: int) -> None:
        """To the next patch of the view that has the keyboard; in the plan, across is to the next target.

        A patch that is kept goes along.
        """
        self._by_key = True
        side, current, flow = SIDES.get(self._view, "query"), self.current, sheet.shown.flow
        patch, target = current[1] if current is not None and current[0] == side else None, None
        if self._view == "plan":
            if patch is None or self.target is None:
                patch = patch or 0
                target = int(flow[patch].argmax())
            else:
                patch = min(max(patch + down, 0), len(flow) - 1)
                target = min(max(self.target + across, 0), flow.shape[1] - 1)
        else:
            patch = 0 if patch is None else walked(patch, sheet.grid(side), across, down)
        if self._kept is not None:
            self._kept, self._pinned = (side, patch), target
        self._hover, self._pointed = (side, patch), target
        self._follow()

    def focusNextPrevChild(self, next: bool) -> bool:
        views = self.sheet.views if self.sheet is not None else ()
        place = views.index(self._view) + (1 if next else -1) if self._view in views else -1
        if not self.hasFocus() or not 0 <= place < len(views):
            return super().focusNextPrevChild(next)
        self._view, self._by_key = views[place], True
        self._speak(aloud=True)
        self.update()
        return True

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._by_key = event.reason() in TABBED
        if self._by_key and self.sheet is not None:
            self._view = self.sheet.views[-TABBED.index(event.reason())]
            self._speak()
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if self._by_key:
            self._by_key = False
            self._point(None)
        self.update()

    # Switches

    def _on_look(self, look: PlanLook) -> None:
        self._repaint()
        self._follow()
        self.look_changed.emit(look)

    def _on_over(self) -> None:
        kind = self.over.value()
        self._repaint()
        if self.sheet is not None and kind != "weights" and kind not in self.sheet.heats:
            self.heat_wanted.emit(kind)
