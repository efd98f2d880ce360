"""The veil over the stage while something is dragged in: it says what was recognised and what letting go will do."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from facelens.images import readers
from facelens.views import icons, theme
from facelens.views.controls import draw_text
from facelens.words import escaped, plural, tr


class DropVeil(QWidget):
    """One large target (open), and a smaller one (add) while a gallery is open."""

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self._over = over
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName(tr("Drop target"))
        self.path: Path | None = None
        self.text = ""
        self.problem = ""
        self.may_add = False
        self.adding = False
        self.hide()

    def show_for(self, path: Path, *, may_add: bool) -> None:
        """Look at what is dragged, and show the targets."""
        self.path, self.may_add, self.adding, self.problem = path, may_add, False, ""
        found = readers.recognise(path)
        self.text = escaped(path.name)
        if found is None:
            self.problem = tr("{name}: no folder of pictures, manifest, pairs.txt or .bin", name=escaped(path.name))
        else:
            parts = (self.text, found.title, self._count(found) if found.pictures else "", found.note)
            self.text = " · ".join(part for part in parts if part)
        self.setGeometry(self._over.rect())
        self.raise_()
        self.show()

    def _count(self, found: readers.Recognised) -> str:
        pictures = plural(found.pictures, "{n} picture", "{n} pictures")
        if not found.complete:
            return tr("more than {pictures}", pictures=pictures)
        return (
            pictures
            if not found.identities
            else tr(
                "{pictures} of {people}",
                pictures=pictures,
                people=plural(found.identities, "{n} identity", "{n} identities"),
            )
        )

    def over(self, point: QPointF) -> None:
        """Follow the pointer: which target would take it."""
        adding = self.may_add and not self.problem and self._boxes()[1].contains(point)
        if adding != self.adding:
            self.adding = adding
            self.update()

    def _boxes(self) -> tuple[QRectF, QRectF]:
        whole = QRectF(self.rect()).adjusted(18, 18, -18, -18)
        if not self.may_add or self.problem:
            return whole, QRectF()
        return whole.adjusted(0, 0, 0, -104), QRectF(whole.x(), whole.bottom() - 92, whole.width(), 92)

    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), look.q(theme.mix(look.win, look.accent, 0.2), 0.88))
        first, second = self._boxes()
        refused = bool(self.problem)
        self._target(painter, first, active=not self.adding and not refused)
        middle = first.center().y()
        icons.paint(
            painter,
            QRectF(first.center().x() - 20, middle - 62, 40, 40),
            "cross" if refused else "download",
            "bad" if refused else "accent",
            width=0.9,
        )
        title = tr("This cannot be opened as a gallery") if refused else tr("Open as a new gallery")
        draw_text(
            painter, QRectF(first.x(), middle - 8, first.width(), 24), title, "text", 16, bold=True, align="centre"
        )
        draw_text(
            painter,
            QRectF(first.x() + 12, middle + 20, first.width() - 24, 18),
            self.problem or self.text,
            "text",
            12,
            align="centre",
        )
        if second.isValid():
            self._target(painter, second, active=self.adding)
            draw_text(
                painter,
                QRectF(second.x(), second.center().y() - 20, second.width(), 20),
                tr("Add to the open gallery"),
                "text",
                12,
                align="centre",
            )
            draw_text(
                painter,
                QRectF(second.x(), second.center().y(), second.width(), 18),
                tr("identities are joined by name"),
                "text2",
                10,
                align="centre",
            )

    def _target(self, painter: QPainter, box: QRectF, *, active: bool) -> None:
        look = theme.current()
        pen = QPen(look.q("accent") if active else look.q("text2", 0.6), 2 if active else 1.4)
        pen.setDashPattern([5, 3])
        painter.setPen(pen)
        painter.setBrush(look.q("accent", 0.1) if active else look.q("base", 0.35))
        painter.drawRoundedRect(box, 8, 8)
