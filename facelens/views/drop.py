"""The veil over the stage while something is dragged in: it says what was recognised and what letting go will do."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from facelens.images import quality, readers
from facelens.images.readers import table
from facelens.session.glance import glance
from facelens.views import icons, theme
from facelens.views.controls import draw_text
from facelens.words import escaped, plural, tr

TITLES = {
    "open": ("Open as a new gallery", ""),
    "model": ("Use as a model", ""),
    "detector": ("Find faces with this detector", "in the open gallery"),
    "vectors": ("Import as vectors", "for the open gallery"),
    "recipe": ("Train this recipe", ""),
    "workspace": ("Open this workspace", "in the place of what is open"),
    "add": ("Add to the open gallery", "identities are joined by name"),
    "queries": ("Use as the query set", "its faces are searched for in the open gallery"),
    "pairs": ("Use as the test of the open gallery", "compare the pairs it lists"),
    "scores": ("Import as scores", "for the faces of the open gallery"),
}
SHOWN = 4  # names of scores


class DropVeil(QWidget):
    """One large target for what the file seems to be, and smaller ones for other intentions."""

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self._over = over
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName(tr("Drop target"))
        self.paths: tuple[Path, ...] = ()
        self.text = ""
        self.problem = ""
        self.targets: tuple[str, ...] = ("open",)
        self.doing = "open"  # the target under the pointer
        self.matching = False  # whether faces are searched for on the page under it
        self.hide()

    @property
    def path(self) -> Path | None:
        """The first of what is dragged."""
        return self.paths[0] if self.paths else None

    @property
    def adding(self) -> bool:
        """Whether letting go joins it to the open gallery."""
        return self.doing == "add"

    def show_for(self, path: Path, *others: Path, may_add: bool) -> None:
        """Look at what is dragged, and show the targets; `may_add` while a gallery is open."""
        self.paths, self.problem = (path, *others), ""
        kind = glance(path)
        self.text = escaped(path.name)
        if kind == "model":
            self.targets = ("model",)
            self.text = " · ".join((self._names(), tr("it is read, nothing in it is run")))
        elif kind == "detector":
            self.targets = ("detector",)
            self.text = " · ".join((self.text, tr("a face detector (YuNet)")))
        elif kind == "recipe":
            self.targets = ("recipe",)
            self.text = " · ".join((self.text, tr("a recipe; nothing starts by itself")))
        elif kind == "workspace":
            self.targets = ("workspace",)
            self.text = " · ".join((self.text, tr("what is open now is kept")))
        elif kind == "vectors":
            self.targets = ("vectors",)
            if not may_add:
                self.problem = tr("{name} holds vectors; open their gallery first", name=self.text)
        else:
            self._show_gallery(path, table=kind == "table", may_add=may_add)
        self.doing = self.targets[0]
        self.setGeometry(self._over.rect())
        self.raise_()
        self.show()

    def _names(self) -> str:
        models = [one for one in self.paths[:50] if one is self.paths[0] or glance(one) == "model"]
        more = tr("and {n} more", n=len(models) - 1) if len(models) > 1 else ""
        return f"{escaped(self.paths[0].name)} {more}".strip()

    def _show_gallery(self, path: Path, *, table: bool, may_add: bool) -> None:
        found = readers.recognise(path)
        beside = ("add", *(("queries",) if self.matching else ())) if may_add else ()
        self.targets = ("open", *beside, *(("vectors",) if may_add and table else ()))
        if found is None:
            self.targets = ("open",)
            self.problem = tr("{name}: no folder of pictures, manifest, pairs.txt or .bin", name=escaped(path.name))
        else:
            parts = (self.text, found.title, self._count(found) if found.pictures else "", found.note)
            self.text = " · ".join(part for part in parts if part)
            if found.kind == "pairs" and may_add:
                self.targets = ("pairs", "open")
        if may_add and (found is None or found.kind == "manifest"):
            self._offer_scores(path)

    def _offer_scores(self, path: Path) -> None:
        """A table of numbers that names nobody is more likely about the open gallery than another one."""
        names = quality.columns_of(path) if table.is_table_name(path) else ()
        if not names:
            return
        if self.problem:
            self.targets, self.problem = ("scores",), ""
        elif "identity" in readers.preview(path).guess:
            self.targets = (*self.targets, "scores")
        else:
            shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
            self.targets, self.text = ("scores", *self.targets), f"{escaped(path.name)} · {escaped(shown)}"

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
        boxes = self._boxes()
        doing = next((key for key, box in boxes.items() if box.contains(point)), self.targets[0])
        if doing != self.doing:
            self.doing = doing
            self.update()

    def _boxes(self) -> dict[str, QRectF]:
        whole = QRectF(self.rect()).adjusted(18, 18, -18, -18)
        first, *others = self.targets
        if not others or self.problem:
            return {first: whole}
        wide = (whole.width() - 12 * (len(others) - 1)) / len(others)
        boxes = {first: whole.adjusted(0, 0, 0, -104)}
        for place, key in enumerate(others):
            boxes[key] = QRectF(whole.x() + place * (wide + 12), whole.bottom() - 92, wide, 92)
        return boxes

    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), look.q(theme.mix(look.win, look.accent, 0.2), 0.88))
        for key, box in self._boxes().items():
            self._target(painter, box, active=key == self.doing and not self.problem)
            if key == self.targets[0]:
                self._large(painter, box, key)
            else:
                self._small(painter, box, key)

    def _large(self, painter: QPainter, box: QRectF, key: str) -> None:
        refused = bool(self.problem)
        middle = box.center().y()
        icon = "cross" if refused else {"model": "cube", "detector": "search", "recipe": "play"}.get(key, "download")
        mark = QRectF(box.center().x() - 20, middle - 62, 40, 40)
        icons.paint(painter, mark, icon, "bad" if refused else "accent", width=0.9)
        title = tr(TITLES[key][0])
        if refused:
            title = tr("This cannot be opened as a gallery") if key == "open" else tr("This needs a gallery")
        line = QRectF(box.x(), middle - 8, box.width(), 24)
        draw_text(painter, line, title, "text", 16, bold=True, align="centre")
        line = QRectF(box.x() + 12, middle + 20, box.width() - 24, 18)
        draw_text(painter, line, self.problem or self.text, "text", 12, align="centre")

    def _small(self, painter: QPainter, box: QRectF, key: str) -> None:
        title, note = TITLES[key]
        line = QRectF(box.x(), box.center().y() - 20, box.width(), 20)
        draw_text(painter, line, tr(title), "text", 12, align="centre")
        draw_text(painter, line.translated(0, 20), tr(note), "text2", 10, align="centre")

    def _target(self, painter: QPainter, box: QRectF, *, active: bool) -> None:
        look = theme.current()
        pen = QPen(look.q("accent") if active else look.q("text2", 0.6), 2 if active else 1.4)
        pen.setDashPattern([5, 3])
        painter.setPen(pen)
        painter.setBrush(look.q("accent", 0.1) if active else look.q("base", 0.35))
        painter.drawRoundedRect(box, 8, 8)
