"""The toolbar's chips for model A, the old one, and model B, the new one; a click chooses another."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QToolButton

from facelens.session.keys import keys_of
from facelens.views import theme
from facelens.views.controls import draw_text, plain_tip, text_width
from facelens.views.modelling import Modelling
from facelens.views.panel import Desk
from facelens.views.shortcuts import tipped
from facelens.words import tr

WIDEST = 156
TIPS = {
    "model_a": "Old model, dashed in every chart.",
    "model_b": "New model, solid in every chart.",
}


def badge(painter: QPainter, box: QRectF, letter: str) -> None:
    """The letter of model A or B on its colour."""
    look = theme.current()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(look.q(letter))
    painter.drawRoundedRect(box, 3, 3)
    draw_text(painter, box, letter, look.ink, 10, bold=True, align="centre")


class ModelChip(QToolButton):
    """Letter and name; the menu lists the models."""

    def __init__(self, desk: Desk, modelling: Modelling, slot: str) -> None:
        super().__init__()
        self.setObjectName("modelchip")
        self.desk, self.modelling, self.slot = desk, modelling, slot
        self.letter = slot[-1].upper()
        self.setFixedHeight(28)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        menu.aboutToShow.connect(self._fill)
        menu.triggered.connect(lambda action: self.modelling.choose(self.slot, action.data()))
        self.setMenu(menu)
        tipped(self, self._tip)
        self.refresh()

    @property
    def name(self) -> str:
        """The model in this place, "" for none."""
        return str(getattr(self.desk.workspace, self.slot))

    def refresh(self) -> None:
        """Show what the workspace says."""
        self.setAccessibleName(tr("Model {letter}: {name}", letter=self.letter, name=self.name or tr("none")))
        self.setToolTip(plain_tip(self._tip()))
        self.setFixedWidth(int(min(WIDEST, 42 + text_width(self.name or tr("none"), 12))))
        self.update()

    def _tip(self) -> str:
        keys = keys_of("model.swap")
        swaps = tr("{key} swaps A and B.", key=keys[0]) if keys else ""
        told = " ".join(filter(None, (tr(TIPS[self.slot]), swaps)))
        return "\n".join(filter(None, (self.name, told)))

    def sizeHint(self) -> QSize:
        return QSize(self.width(), 28)

    def _fill(self) -> None:
        menu, workspace = self.menu(), self.desk.workspace
        menu.clear()
        for name in workspace.model_names:
            action = menu.addAction(name.replace("&", "&&"))
            action.setData(name)
            action.setCheckable(True)
            action.setChecked(name == self.name)
            if name not in workspace.features:
                action.setEnabled(False)
                action.setToolTip(tr("Not embedded yet. Embed the gallery first."))
        menu.addSeparator()
        none = menu.addAction(tr("None"))
        none.setData("")

    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(look.q("accent" if self.hasFocus() else "line2"))
        painter.setBrush(look.q("hover" if self.underMouse() else "raised"))
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(box, 4, 4)
        badge(painter, QRectF(7, 6, 16, 16), self.letter)
        text = box.adjusted(29, 0, -6, 0)
        draw_text(painter, text, self.name or tr("none"), "text" if self.name else "text3", 12, middle=True)
