"""Models: the networks at hand, what each file turned out to be, how pictures are fed to it, and the vectors it gave.

The list at the left has one line per model with its state for the open gallery; the right side belongs to the chosen
one: what network it is, whether its keys fit, its licence, the button that embeds the gallery, and below that the card,
the key report and the pictures that were left out. Everything long runs in the worker; cancelling keeps finished faces.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from facelens.features.shard import amount
from facelens.session import questions
from facelens.session.actions import embeddable, model_usable
from facelens.session.archive import face_of
from facelens.session.depicting import View
from facelens.session.jobs import Job, Request, State
from facelens.views.card_form import CardForm
from facelens.views.controls import Banner, EmptyState, FlowLayout, Header, Segmented, label, plain_tip
from facelens.views.frame import fill, lay_out, scrolled, split
from facelens.views.key_report import KeyReport
from facelens.views.left_out import LeftOut
from facelens.views.model_list import ModelList
from facelens.views.modelling import Modelling
from facelens.views.panel import Desk, Panel
from facelens.views.shortcuts import keyed
from facelens.views.working import Working
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.features.card import Card
    from facelens.features.library import Inspection
    from facelens.views.trials import Made

NARROW = 560
SURE = 0.9  # see features.library.SURE, which is not worth importing at the start
EXPORT = "For numpy, pandas, Embedding Atlas, TensorBoard or FiftyOne"


class ModelsPanel(Panel):
    """Models, their cards and their vectors."""

    word = "models"
    title = "Models"
    reads = frozenset({"models", "features", "stored", "model", "model_a", "model_b", "faces", "excluded"})

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.setAccessibleName(tr("Models"))
        self.work = Modelling(desk, self)
        self.header = Header(tr("Models"))
        self.add = self.header.add_button("plus", tr("Open model"), lambda: desk.act("model.open"))
        keyed(self.add, "model.open", tr("Open model"))
        self.reading = Working()
        self.reading.cancelled.connect(self._on_cancel_reading)
        self.empty = self._build_empty()
        self.list = ModelList()
        self.list.chosen.connect(lambda name: desk.store.update(model=name, initiator=self))
        self.split, self.pages = split(Qt.Orientation.Horizontal), QStackedWidget()
        lay_out(self, self.header, self.reading, body=self.pages)
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.split)
        self._build_detail()
        self.split.setStretchFactor(1, 1)
        self.split.setSizes([240, 680])
        self._shown: Inspection | None = None
        self._trials: dict[str, Made] = {}  # by what a figure calls them, the last of each
        self._stop_jobs = desk.jobs.listen(self._on_job)
        self.destroyed.connect(self._stop_jobs)

    # -- building

    def _build_empty(self) -> EmptyState:
        made = EmptyState(
            "cube",
            tr("No model yet"),
            tr("Drop a checkpoint (.pth, .pt, .ckpt, .safetensors, .onnx) anywhere."),
            note=tr("FaceLens says what it is and runs nothing in it."),
        )
        self.first = made.add_button(tr("Open model…"), lambda: self.desk.act("model.open"), primary=True)
        keyed(self.first, "model.open", tr("A checkpoint or an ONNX file."))
        vectors = made.add_button(tr("Import vectors…"), lambda: self.desk.act("vectors.import"))
        vectors.setToolTip(tr("Vectors made elsewhere for the open gallery: npy, npz, Parquet, TSV, safetensors"))
        return made

    def _build_detail(self) -> None:
        inner = QWidget()
        inner.setObjectName("panel")
        self.area = scrolled(inner, tr("The chosen model"))
        self.area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        fill(self.split, self.list, self.area)
        self.lead = label(name="lead", wrap=True)
        self.about = label(name="sub", wrap=True)
        self.about.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.keys_line = label(wrap=True)
        self.licence = label(name="small", wrap=True)
        self.code = label(name="problem", wrap=True)
        self.notes = label(name="small", wrap=True)
        self.banner = Banner()
        self.rivals = QWidget()
        self.rivals_flow = FlowLayout(self.rivals, gap=8)
        self.embed = QPushButton()
        self.embed.setObjectName("primary")
        self.embed.setMinimumHeight(32)
        self.embed.clicked.connect(lambda: self.work.embed(self.chosen))
        self.there = label(name="small", wrap=True)
        self.raw = label(name="small", wrap=True)
        self.raw.setText(
            tr("These look like whole photographs without landmarks; this model wants faces cut out and aligned.")
        )
        self.find_faces = self._button(tr("Find faces…"), tr("With a YuNet file of yours"), "faces.find")
        self.working = Working(margins=(0, 0, 0, 0))
        self.working.cancelled.connect(lambda: self.desk.jobs.cancel_slot(f"embed:{self.chosen}"))
        self.export = self._button(tr("Export vectors…"), tr(EXPORT), "vectors.export")
        self.delete = self._button(tr("Delete vectors…"), tr("Deletes them from this disk"), "vectors.delete")
        self.remove = self._button(
            tr("Take off the list"), tr("The file and the vectors on disk stay as they are"), "model.remove"
        )
        self.compare = self._button(tr("Compare forms…"), tr("Whether another file says the same"), "model.compare")
        self.feed = self._button(tr("Feeding what-if…"), tr("Other ways to feed a sample"), "model.feed")
        self.form, self.report = CardForm(), KeyReport()
        self.form.edited.connect(self._show_embed)
        self.form.saved.connect(lambda card: self.work.save_card(self.chosen, card))
        self.form.reverted.connect(self._on_revert)
        self.form.architecture_chosen.connect(self._on_architecture)
        self.form.network_chosen.connect(self._on_network)
        self.switch = Segmented(
            [("card", tr("Card")), ("keys", tr("Keys")), ("skipped", tr("Left out"))], label=tr("Details of the model")
        )
        self.switch.button("card").setToolTip(tr("How pictures are fed to the model"))
        self.switch.button("keys").setToolTip(tr("Which tensors of the file found their place"))
        self.switch.changed.connect(self._on_switch)
        self.left_out = LeftOut(self.desk)
        self.left_out.look.connect(self._on_look)
        self.left_out.retried.connect(lambda: self.work.embed(self.chosen))
        self.details = _Pages()
        column = QVBoxLayout(inner)
        column.setContentsMargins(16, 12, 16, 16)
        column.setSpacing(0)
        column.addWidget(self.lead)
        for gap, part in (
            (2, self.about),
            (8, self.keys_line),
            (2, self.licence),
            (2, self.notes),
            (2, self.code),
            (6, self.banner),
            (6, self.rivals),
        ):
            column.addSpacing(gap)
            column.addWidget(part)
        column.addSpacing(10)
        column.addLayout(_row(self.embed, self.there, stretch=self.there))
        column.addSpacing(6)
        column.addLayout(_row(self.find_faces, self.raw, stretch=self.raw))
        column.addSpacing(8)
        column.addWidget(self.working)
        column.addSpacing(4)
        buttons = QWidget()
        flow = FlowLayout(buttons, gap=8)
        for button in (self.export, self.delete, self.compare, self.feed, self.remove):
            flow.addWidget(button)
        column.addWidget(buttons)
        column.addSpacing(14)
        column.addLayout(_row(self.switch))
        column.addSpacing(10)
        column.addWidget(self.details, 1)
        for page in (self.form, self.report, self.left_out):
            self.details.addWidget(page)

    def _button(self, text: str, tip: str, action: str) -> QPushButton:
        made = QPushButton(text)
        made.setToolTip(tip)
        made.clicked.connect(lambda: self.desk.act(action))
        return made

    def home(self) -> QWidget:
        return next((part for part in (self.list, self.first) if part.isVisible()), self.add)

    # -- trials

    def keep_trial(self, name: str, made: Made) -> None:
        """Hold what came of a trial, to be drawn; `name` is what a figure calls it."""
        self._trials[name] = made

    def _tried(self) -> dict[str, Made]:
        """Trials of what is there now: of these faces, these files, these cards."""
        workspace, found = self.desk.workspace, {}
        for name, made in self._trials.items():
            view = made.view
            if name == "feeding":
                faces = [face_of(workspace.faces, one) for one in view.pair]
                pair = np.array([face for face in faces if face is not None], np.int64)
                request = questions.feeding(workspace, view.fed, pair)
            else:
                request = questions.forms(workspace, view.forms[0], Path(view.forms[1]))
            if request is not None and _alike(request, made.request):
                found[name] = made
        return found

    def has_figures(self) -> bool:
        return bool(self._tried())

    def figure_view(self) -> View:
        tried = {name: made.view for name, made in self._tried().items()}
        fed, forms = tried.get("feeding", View()), tried.get("forms", View())
        return View(fed=fed.fed, pair=fed.pair, forms=forms.forms)

    def figure_held(self) -> dict[str, Any]:
        """What came of them."""
        return {name: made.result for name, made in self._tried().items()}

    def figure_places(self) -> Sequence[tuple[QWidget, str]]:
        return ((self.compare, "forms"), (self.area, "feeding"))

    def close_panel(self) -> None:
        self._stop_jobs()
        super().close_panel()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = event.size().width() < NARROW  # opened beside another page
        across = Qt.Orientation.Vertical if narrow else Qt.Orientation.Horizontal
        if across != self.split.orientation():
            self.split.setOrientation(across)
            self.split.setSizes([120, 500] if narrow else [240, 680])

    # -- what the user sees

    @property
    def chosen(self) -> str:
        """The name of the model that is shown."""
        workspace = self.desk.workspace
        names = workspace.model_names
        return workspace.model if workspace.model in names else (names[0] if names else "")

    def refresh(self, changed: frozenset[str]) -> None:
        workspace = self.desk.workspace
        names = workspace.model_names
        had_focus = self.isAncestorOf(focus) if (focus := self.focusWidget()) is not None else False
        self.pages.setCurrentIndex(1 if names else 0)
        if had_focus and not focus.isVisible():
            self.home().setFocus()
        self.header.set_subtitle(
            " · ".join(
                part
                for part in (
                    plural(len(names), "{n} model", "{n} models") if names else "",
                    plural(len(workspace.kept_faces), "{n} face", "{n} faces") if workspace.kept_faces else "",
                )
                if part
            )
        )
        self.list.show_models(workspace, self.chosen)
        self._show_reading()
        if names:
            self._show_model(changed)

    def _show_model(self, changed: frozenset[str]) -> None:
        name = self.chosen
        workspace = self.desk.workspace
        found = workspace.inspection(name)
        features = workspace.features.get(name)
        if found is None:
            self._show_imported(name)
        elif found is not self._shown:
            self._show_inspection(found)
        self._shown = found
        for part in (self.embed, self.there, self.switch, self.details, self.about):
            part.setVisible(found is not None)
        self.export.setEnabled(features is not None)
        self.export.setToolTip(tr(EXPORT) if features is not None else tr("There are no vectors yet."))
        stored = workspace.stored.get(name)
        self.delete.setVisible(found is not None or stored is not None)
        self.delete.setEnabled(stored is not None and stored.size > 0)
        self.delete.setText(
            tr("Delete vectors ({size})…", size=amount(stored.size))
            if stored and stored.size
            else tr("Delete vectors…")
        )
        self.delete.setToolTip(
            tr("Deletes them from this disk; embedding makes them again")
            if stored and stored.size
            else tr("There are no vectors yet.")
        )
        unusable = model_usable(workspace, name)
        tips = (tr("Whether another file of this model says the same"), tr("Other ways to feed a sample"))
        for button, tip in zip((self.compare, self.feed), tips, strict=True):
            button.setVisible(found is not None)
            button.setEnabled(not unusable)
            button.setToolTip(plain_tip(unusable or tip))
        self._show_notes(found)
        self._show_skipped()
        self._show_embed()

    def _show_inspection(self, found: Inspection) -> None:
        self.lead.setText(found.title)
        self.about.setText(" · ".join((escaped(found.path.name), amount(found.size), f"SHA-256 {found.sha256[:12]}…")))
        self.about.setToolTip(plain_tip(f"{escaped(str(found.path))}\nSHA-256 {found.sha256}"))
        self.keys_line.setText(_sentence(found))
        self.licence.setText(tr("licence: {licence}", licence=escaped(found.card.licence) or tr("not stated")))
        self.code.setText(
            tr(
                "The file contains program code ({names}). Nothing was run.",
                names=", ".join(escaped(name) for name in found.code[:6]),
            )
        )
        self.code.setVisible(bool(found.code))
        self._show_banner(found)
        self._show_rivals(found)
        self.form.set_inspection(found)
        self.report.set_inspection(found)

    def _show_imported(self, name: str) -> None:
        features = self.desk.workspace.features[name]
        self.lead.setText(name)
        self.keys_line.setText(
            tr("{n} vectors of {d} dimensions, imported from a file.", n=len(features), d=features.dimensions)
        )
        self.licence.setText(tr("licence: {licence}", licence=tr("not stated")))
        for part in (self.code, self.banner, self.rivals):
            part.hide()

    def _show_notes(self, found: Inspection | None) -> None:
        stored = self.desk.workspace.stored.get(self.chosen)
        features = self.desk.workspace.features.get(self.chosen)
        notes = [*dict.fromkeys((*(found.notes if found else ()), *((found.card.notes,) if found else ())))]
        notes += [note for note in (stored.notes if stored else ()) if note not in notes]
        if features is not None and len(features.invalid) and not (stored and stored.notes):
            notes.append(
                plural(
                    len(features.invalid),
                    "{n} vector is no use (not a number, or zero) and is left out.",
                    "{n} vectors are no use (not a number, or zero) and are left out.",
                )
            )
        notes = [note for note in notes if note]
        self.notes.setText("\n".join(notes[:6]) + ("\n…" if len(notes) > 6 else ""))
        self.notes.setToolTip(plain_tip("\n".join(notes)))
        self.notes.setVisible(bool(notes))

    def _show_banner(self, found: Inspection) -> None:
        if not found.fits:
            self.banner.set_message(
                tr("The weights do not fit {title}, so they cannot be used like this.", title=found.title),
                tr("Choose another architecture in the card. The key report says what is missing."),
            )
        elif found.score < SURE:
            self.banner.set_message(
                tr("FaceLens is not sure what network this is ({score} %).", score=round(100 * found.score)),
                tr("Choose one of those below, or another in the card."),
            )
        else:
            self.banner.set_message("")

    def _show_rivals(self, found: Inspection) -> None:
        flow = self.rivals_flow
        while item := flow.takeAt(0):
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        unsure = found.rivals if found.score < SURE or not found.fits else ()
        for name, title, score in unsure:
            button = QPushButton(tr("Use {title}, {score} %", title=title, score=round(100 * score)))
            button.setToolTip(tr("Reads the file as this network and compares the keys anew"))
            button.clicked.connect(lambda _=False, name=name: self._on_architecture(name))
            flow.addWidget(button)
        self.rivals.setVisible(bool(unsure))

    def _show_embed(self) -> None:
        workspace = self.desk.workspace
        done, total = workspace.embedded(self.chosen)
        left = total - done
        job = self._job(f"embed:{self.chosen}")
        self.working.show_job(job)
        reason = embeddable(workspace, self.chosen)
        if not reason and self.form.dirty:
            reason = tr("The card was changed. Save it or revert first.")
        if total and not left:
            text = plural(total, "{n} face is embedded", "All {n} faces are embedded")
        elif total:
            text = plural(left, "Embed {n} face", "Embed {n} faces")
        else:
            text = tr("Embed the gallery")
        self.embed.setText(text)
        self.embed.setEnabled(not reason and job is None)
        self.embed.setToolTip(plain_tip(reason or tr("Runs in the background; cancel keeps finished faces")))
        self.embed.setAccessibleDescription(reason)
        self.form.setEnabled(job is None)
        stored = workspace.stored.get(self.chosen)
        parts = []
        if done and left:
            parts.append(tr("{n} of {total} are there already", n=done, total=total))
        if stored is not None and stored.size:
            parts.append(tr("{size} on this disk", size=amount(stored.size)))
        if stored is not None and stored.skipped:
            parts.append(plural(len(stored.skipped), "{n} picture left out", "{n} pictures left out"))
        self.there.setText(" · ".join(parts) or reason)
        raw = self._looks_raw()
        self.raw.setVisible(raw)
        self.find_faces.setVisible(raw)

    def _looks_raw(self) -> bool:
        """Whether the chosen model would be fed photographs that nobody has aligned."""
        found, faces = self.desk.workspace.inspection(self.chosen), self.desk.workspace.kept_faces
        if found is None or faces is None or found.card.template == "none":
            return False
        from facelens.images import align, detect

        return detect.looks_raw(faces, align.TEMPLATES[found.card.template].size)

    def _show_skipped(self) -> None:
        workspace = self.desk.workspace
        stored = workspace.stored.get(self.chosen)
        skipped = stored.skipped if stored is not None else ()
        self.switch.button("skipped").setEnabled(bool(skipped))
        self.switch.button("skipped").setText(tr("Left out {n}", n=len(skipped)) if skipped else tr("Left out"))
        self.switch.button("skipped").setToolTip(
            tr("Pictures that could not be read when the gallery was embedded")
            if skipped
            else tr("No picture was left out.")
        )
        if not skipped and self.switch.value() == "skipped":
            self.switch.set_value("card")
            self._on_switch(0)
        self.left_out.show_skipped(self.chosen, skipped)

    # -- jobs

    def _job(self, slot: str) -> Job | None:
        jobs = [job for job in self.desk.jobs.jobs if job.request.slot.startswith(slot) and not job.state.ended]
        return jobs[-1] if jobs else None

    def _on_job(self, job: Job) -> None:
        if not self.isVisible():
            return
        if job.request.slot.startswith("inspect:"):
            self._show_reading()
        elif job.request.slot == f"embed:{self.chosen}":
            self.working.show_job(None if job.state.ended else job)
            if job.state.ended or job.state is State.WAITING or self.embed.isEnabled():
                self._show_embed()

    def _show_reading(self) -> None:
        self.reading.show_job(self._job("inspect:"))

    def _on_cancel_reading(self) -> None:
        if (job := self._job("inspect:")) is not None:
            self.desk.jobs.cancel(job.number)

    # -- what the user does

    def _on_switch(self, place: int) -> None:
        self.details.setCurrentIndex(place)

    def _on_revert(self) -> None:
        if self._shown is not None:
            self.form.set_inspection(self._shown)
            self._show_embed()

    def propose(self, card: Card) -> None:
        """Fill the form with another card; nothing is written before the user saves it."""
        if self._shown is not None:
            self.switch.set_value("card")
            self._on_switch(0)
            self.form.set_inspection(self._shown, propose=card)
            self._show_embed()

    def _on_architecture(self, name: str) -> None:
        if self._shown is not None and name:
            self.work.load(self._shown.path, architecture=name, network=self._shown.card.network)

    def _on_network(self, name: str) -> None:
        if self._shown is not None and name and name != self._shown.networks[0]:
            self.work.load(self._shown.path, network=name)

    def _on_look(self, face: int) -> None:
        self.desk.store.update(selection=self.desk.workspace.selection.looking_at(face), initiator=self)


class _Pages(QStackedWidget):
    """As high as the page that is shown, not as the highest."""

    def sizeHint(self) -> QSize:
        shown = self.currentWidget()
        return shown.sizeHint() if shown is not None else super().sizeHint()

    def minimumSizeHint(self) -> QSize:
        shown = self.currentWidget()
        return shown.minimumSizeHint() if shown is not None else super().minimumSizeHint()


def _sentence(found: Inspection) -> str:
    if found.kind == "weights":
        return found.keys.sentence[:1].upper() + found.keys.sentence[1:]
    card = found.card
    return tr("Takes {h} × {w} pixels, gives {n} dimensions.", h=card.size[0], w=card.size[1], n=card.dimensions)


def _row(*parts: QWidget, stretch: QWidget | None = None) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(8)
    for part in parts:
        row.addWidget(part, 1 if part is stretch else 0)
    if stretch is None:
        row.addStretch(1)
    return row


def _alike(one: Request, other: Request) -> bool:
    """Whether both ask the same of the same faces."""
    (mine, *files), (its, *others) = one.args, other.args
    return files == others and one.kwargs == other.kwargs and mine.digest == its.digest
