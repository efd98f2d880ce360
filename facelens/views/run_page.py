"""What a training has come to so far: how far it is, its curves, what its kind has to tell, its log.

Terms and validation come first; below them what only some kinds have (confidences of sub-embeddings, clusters of
learners), the learning rate and the log. Where there is little room frames move below each other and the page scrolls.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QRectF, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from facelens.figures.training import RATE
from facelens.session.columns import Columns
from facelens.session.jobs import Job, State
from facelens.session.training import Row, Run, words
from facelens.views import theme
from facelens.views.controls import Segmented, draw_text, label, plain_tip
from facelens.views.curves import Curve, Curves, called, curves_of, far_apart, metric, negative
from facelens.views.docks.jobs import duration
from facelens.views.frame import Frame, Skeleton, fill, lay_out, scrolled, split
from facelens.views.kind_facts import KindFacts
from facelens.words import escaped, plural, tr

WIDE, MEDIUM = 940, 540  # px; from here on three, two frames stand side by side
LEAST = 206  # px of a row of frames
METRICS = {"precision_at_1": "P@1", "tar_at_far_1e-2": "TAR @ FAR 1e-2"}


class RunPage(QWidget):
    """One training, running or ended."""

    stopped = Signal()
    resumed = Signal()
    shown_models = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run: Run | None = None
        self._rows: list[Row] = []  # of the stage that is shown
        self._columns = Columns()  # of those rows
        self._logged: tuple[Row, ...] = ()
        self._by_hand = False  # the scale of the terms was chosen
        self._arranged: tuple[tuple[QWidget, ...], ...] = ()
        self.terms = Curves(tr("terms of the loss, lower is better"), name=tr("Terms of the loss"), low=0.0)
        held_out = tr("held-out people, higher is better")
        self.checks = Curves(held_out, name=tr("Validation"), low=0.0, high=1.0, write=metric)
        self.rate = Curves(tr("learning rate"), name=tr("Learning rate"), low=0.0)
        self._build_frames()
        self._lines = [split(Qt.Orientation.Horizontal) for _ in range(5)]
        self.split, self.pages = split(Qt.Orientation.Vertical), QStackedWidget()
        lay_out(self, self._build_strip(), body=self.pages)
        self.skeleton = Skeleton()  # until the first row is there
        for page in (scrolled(self.split, tr("Curves of the training")), self.skeleton, QWidget()):
            self.pages.addWidget(page)
        fill(self.split, *self._lines)
        fill(self._lines[0], *self.frames)  # until there is a width to arrange them by

    # -- building

    def _build_strip(self) -> QWidget:
        self.lead, self.state, self.line = label(name="lead"), label(name="sub"), _Cut()
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(tr("Progress of the training"))
        self.stage = QComboBox()
        self.stage.setAccessibleName(tr("Stage"))
        self.stage.setToolTip(tr("Which of the trainings in a row is shown"))
        self.stage.setFixedHeight(26)
        self.stage.activated.connect(lambda _: self._draw())
        self.stop = QPushButton(tr("Stop"))
        self.stop.setToolTip(tr("Ends after the step at hand; what was learned is saved, and Resume goes on"))
        self.stop.clicked.connect(self.stopped)
        self.resume = QPushButton(tr("Resume"))
        self.resume.setObjectName("primary")
        self.resume.setToolTip(tr("Goes on from the last step that is saved, with its own recipe and faces"))
        self.resume.clicked.connect(self.resumed)
        self.models = QPushButton(tr("Show models"))
        self.models.setToolTip(tr("What was trained is there"))
        self.models.clicked.connect(self.shown_models)
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(self.lead, 0, Qt.AlignmentFlag.AlignBaseline)
        head.addWidget(self.state, 1, Qt.AlignmentFlag.AlignBaseline)
        said = QVBoxLayout()
        said.setSpacing(4)
        said.addLayout(head)
        said.addWidget(self.bar)
        said.addWidget(self.line)
        strip = QWidget()
        strip.setObjectName("header")
        strip.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(strip)
        row.setContentsMargins(12, 8, 12, 8)
        row.setSpacing(12)
        row.addLayout(said, 1)
        for part in (self.stage, self.stop, self.resume, self.models):
            row.addWidget(part, 0, Qt.AlignmentFlag.AlignVCenter)
        return strip

    def _build_frames(self) -> None:
        self.scale = Segmented(
            [("linear", tr("linear")), ("log", tr("log"))], label=tr("Scale of the terms"), height=22
        )
        self.scale.button("linear").setToolTip(tr("Equal steps of the value"))
        self.scale.changed.connect(self._on_scale)
        self.terms_frame = Frame(tr("Terms"), self.terms)
        self.terms_frame.header.add(self.scale)
        self.checks_frame = Frame(tr("Validation"), self.checks)
        self.rate_frame = Frame(tr("Learning rate"), self.rate)
        self.facts = KindFacts()
        self.log = QPlainTextEdit()
        self.log.setObjectName("mono")
        self.log.setProperty("bare", True)
        self.log.setReadOnly(True)
        self.log.setFont(theme.font(10, mono=True))
        self.log.setAccessibleName(tr("Log of the training"))
        self.log.setWhatsThis(tr("What the training has said, step by step."))
        self.log.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.log_frame = Frame(tr("Log"), self.log)
        self.copy = self.log_frame.header.add_button(
            "copy", tr("Copy all lines"), lambda: QGuiApplication.clipboard().setText(self.log.toPlainText())
        )
        self.frames = (self.terms_frame, self.checks_frame, self.facts, self.rate_frame, self.log_frame)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Put the frames side by side as far as there is room."""
        wide = self.width()
        own: list[QWidget] = [self.facts] if self.facts.tells else []
        rows: list[list[QWidget]]
        if wide >= WIDE:
            rows = [[self.terms_frame, self.checks_frame], [*own, self.rate_frame, self.log_frame]]
        elif wide >= MEDIUM:
            lower: list[list[QWidget]] = (
                [[*own, self.rate_frame], [self.log_frame]] if own else [[self.rate_frame, self.log_frame]]
            )
            rows = [[self.terms_frame, self.checks_frame], *lower]
        else:
            rows = [[frame] for frame in (self.terms_frame, self.checks_frame, *own, self.rate_frame, self.log_frame)]
        told = tuple(tuple(row) for row in rows)
        if told == self._arranged:
            return
        self._arranged = told
        self.facts.setVisible(bool(own))
        for place, line in enumerate(self._lines):
            row = rows[place] if place < len(rows) else []
            for frame in row:
                line.addWidget(frame)
            line.setVisible(bool(row))
            line.setSizes([_share(self, frame) for frame in row])
        self.split.setSizes([300, *(240 for _ in rows[1:])])
        self.split.setMinimumHeight(LEAST * len(rows))

    # -- showing

    @property
    def folder(self) -> Path | None:
        """Of the training that is shown."""
        return self._run.folder if self._run is not None else None

    def hidden(self) -> tuple[str, ...]:
        """Keys of the curves that are switched off, as a figure knows them."""
        found = [RATE] if self.rate.hidden else []
        for chart, part, names in ((self.terms, "terms", {}), (self.checks, "validation", METRICS)):
            found += [f"{part} {name}" for name in self._columns.part(part) if called(name, names) in chart.hidden]
        return (*found, *self.facts.hidden())

    def show_run(self, run: Run, job: Job | None) -> None:
        """Show all there is of a training."""
        other = self.folder != run.folder
        followed = self.stage.currentIndex() == self.stage.count() - 1
        self._run = run
        if other:
            self._by_hand = False
        with QSignalBlocker(self.stage):
            at = self.stage.currentText()
            self.stage.clear()
            self.stage.addItems([escaped(name) for name in run.stages])
            last = self.stage.count() - 1
            self.stage.setCurrentIndex(last if followed or other else max(self.stage.findText(at), 0))
        self.stage.setVisible(len(run.stages) > 1)
        self.show_job(job)
        self.pages.setCurrentIndex(0 if run.rows else 1 if job is not None else 2)
        self._draw()
        self._show_log(run)

    def show_job(self, job: Job | None) -> None:
        """Show how far it is."""
        run = self._run
        if run is None:
            return
        done = int(run.rows[-1]["step"]) if run.rows else run.step
        total = run.steps
        if job is not None and job.note == tr("Training"):
            done, total = job.done, job.total
        self.lead.setText(tr("{done} of {total} steps", done=done, total=total) if total else escaped(run.recipe.name))
        self.state.setText(_standing(run, job))
        where = run.name or tr("drawn people")
        parts = [escaped(run.recipe.name), tr("on {faces}", faces=escaped(where)), *(_pace(job) if job else [])]
        networks, maps = run.made
        if job is None:
            parts += [tr("transforms {names}", names=", ".join(file.stem for file in maps))] if maps else []
            parts.append(escaped(str(run.folder)))
        self.line.setText(" · ".join(parts))
        self.line.setToolTip(plain_tip(escaped(str(run.folder))))
        alone = job is not None and not job.total
        self.bar.setRange(0, 0 if alone else 1000)
        if job is not None and job.total:
            self.bar.setValue(round(1000 * job.done / job.total))
        elif not alone:
            self.bar.setValue(round(1000 * done / total) if total else 0)
        kind = "good" if run.files and job is None else "bad" if run.error is not None and job is None else ""
        if self.bar.property("kind") != kind:
            self.bar.setProperty("kind", kind)
            self.bar.style().unpolish(self.bar)
            self.bar.style().polish(self.bar)
        stopping = job is not None and job.state is State.RUNNING and job.note == tr("Stopping")
        held = self.stop.hasFocus()
        self.stop.setVisible(job is not None)
        self.stop.setEnabled(not stopping)
        self.resume.setVisible(job is None and not run.files and bool(run.step or run.rows))
        self.models.setVisible(job is None and bool(networks))
        if held and job is None:
            next((one for one in (self.resume, self.models) if one.isVisible()), self.terms.chart).setFocus()

    def _draw(self) -> None:
        run = self._run
        if run is None:
            return
        name = run.stages[self.stage.currentIndex()] if len(run.stages) > 1 else run.stage
        self._rows = [row for row in run.rows if row.get("stage", "") == name]
        steps = int(self._rows[-1]["steps"]) if self._rows else 1
        self._columns.update(self._rows)
        terms = curves_of(self._columns, "terms", lead="loss")
        self._show_scale(terms)
        self.terms.show_curves(terms, steps=steps, log=self.scale.value() == "log")
        self.terms.set_note("" if terms else tr("Comes every {n} steps.", n=run.recipe.log))
        checks = curves_of(self._columns, "validation", words=METRICS)
        first = {one.name: float(one.values[0]) for one in checks if one.steps[0] == 0}
        self.checks.show_curves(checks, steps=steps, start=first)
        every = run.recipe.validation.every
        later = tr("Comes every {n} steps.", n=every) if every else tr("Comes at the end.")
        self.checks.set_note("" if checks else later)
        rate = Curve(tr("rate"), self._columns.steps, self._columns.rates, leads=True)
        self.rate.show_curves([rate] if self._rows else [], steps=steps)
        self.facts.show_rows(self._rows, self._columns)
        self._arrange()

    def _show_scale(self, terms: Sequence[Curve]) -> None:
        """Logarithmic where terms lie far apart, unless the user has said something else."""
        below = negative(terms)
        if below or not self._by_hand:
            self.scale.set_value("log" if far_apart(terms) else "linear")
        self.scale.button("log").setEnabled(not below)
        why = tr("Some terms are below 0, so they have no logarithm.")
        self.scale.button("log").setToolTip(why if below else tr("Equal steps are equal ratios; 0 is left out"))
        self.terms.low = None if below else 0.0

    def _on_scale(self) -> None:
        self._by_hand = True
        self._draw()

    # -- the log

    def _show_log(self, run: Run) -> None:
        """Add the rows that are new; who has scrolled back stays there."""
        known = len(self._logged)
        same = known <= len(run.rows) and (not known or run.rows[known - 1] is self._logged[-1])
        bar = self.log.verticalScrollBar()
        follows = bar.value() >= bar.maximum() - 4
        if not same:
            self.log.clear()
            known = 0
        if known < len(run.rows):
            cursor = QTextCursor(self.log.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            lines = "\n".join(words(row) for row in run.rows[known:])
            cursor.insertText(("\n" if known else "") + lines)
        self._logged = run.rows
        if follows:
            bar.setValue(bar.maximum())
        self.log_frame.header.set_subtitle(plural(len(run.rows), "{n} row", "{n} rows") if run.rows else "")


class _Cut(QLabel):
    """One line whose middle is cut out where it does not fit: the end of a path tells it apart."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(15)

    def paintEvent(self, event: QPaintEvent) -> None:
        draw_text(QPainter(self), QRectF(self.rect()), self.text(), "text2", 11, middle=True)


def _share(page: RunPage, frame: QWidget) -> int:
    return 300 if frame is page.terms_frame or frame is page.facts else 200


def _standing(run: Run, job: Job | None) -> str:
    """What state a training is in, in a word or two."""
    if job is not None:
        if job.state is State.WAITING:
            return tr("waiting")
        words = job.note if job.note and job.note != tr("Training") else tr("running") if job.total else tr("starting")
        several = len(run.recipe.stages)
        which = tr("{name}, {i} of {n}", name=run.stage, i=len(run.stages), n=several) if several and run.rows else ""
        return f"{words} · {which}" if which else words
    if run.files:
        return tr("finished")
    return tr("failed") if run.error is not None else tr("stopped, saved at step {n}", n=run.step or _last(run))


def _last(run: Run) -> int:
    return int(run.rows[-1]["step"]) if run.rows else 0


def _pace(job: Job) -> list[str]:
    """How fast it is and how long it still takes; before the first step, how far the pictures are."""
    parts = []
    if job.note != tr("Training"):
        parts += [tr("{done} of {total}", done=job.done, total=job.total)] if job.total else []
    elif job.rate >= 1:
        rate = f"{job.rate:.1f}" if job.rate < 10 else f"{job.rate:,.0f}"
        parts.append(tr("{rate} {unit}/s", rate=rate, unit=job.request.unit))
    elif job.rate > 0:
        parts.append(tr("{time} a step", time=duration(1 / job.rate)))
    if job.eta_seconds is not None:
        parts.append(tr("{time} left", time=duration(job.eta_seconds, fine=False)))
    return parts
