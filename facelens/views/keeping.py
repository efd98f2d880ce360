"""Keeping: the workspace and its file. Saved by hand, and by itself a moment after every change.

A workspace that was saved once is kept in its file, with backups; one that never was, or whose file cannot be written,
is kept in the user's own folder and offered at the next start. Nothing is asked on closing unless neither can be
written.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QMessageBox

from facelens.errors import FaceLensError
from facelens.session import archive, questions, shelf
from facelens.session.archive import FIELDS, SUFFIX, Archive
from facelens.session.jobs import Job, Request, State
from facelens.session.settings import Recent
from facelens.session.workspace import Workspace
from facelens.views.later import Later
from facelens.views.reopening import Reopening
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.views.main_window import MainWindow
    from facelens.views.notices import Notice

MOMENT = 1500  # ms after the last change
PATIENCE = 3.0  # s after the first one, where others follow without a pause: somebody culls
RECENT = 12
MANY = 50_000  # faces whose paths are not looked up in the window's thread
KINDS = "FaceLens (*.facelens)"
# What of the workspace is in the file and is changed by hand.
KEPT = frozenset((*FIELDS, "galleries", "tables", "excluded", "selection", "models", "query", "queries"))
KEPT |= {"annotations", "subsets", "identity_edits"}


@dataclass(frozen=True)
class Written:
    """How writing ended: what the file says now, or why it could not be written."""

    path: Path
    of: Workspace
    found: Archive | None = None
    problem: FaceLensError | None = None
    late: bool = False  # something newer was written before
    by_hand: bool = False


class Keeping(QObject):
    """Knows the file of the workspace, and whether it says what is on the screen."""

    changed = Signal()  # what the title and the status bar say

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.window, self.desk = window, window.desk
        self.path: Path | None = None
        self.saved: Archive | None = None  # what the file says
        self.when = ""  # the hour and minute it was written
        self.kept = Archive()  # what a file said and could not be opened
        self.read_only = False
        self.dirty = False  # something was changed by hand that no file of the user's says
        self.reopening: Reopening | None = None
        self.session: shelf.Session | None = None  # made when there is something to keep
        self._seen: tuple[int, int] | None = None  # the file as it was left here
        self._closed = False
        self._told = ""  # the last problem with saving by itself
        self._offered: tuple[Path, Notice] | None = None  # work to go on with, and the notice that says so
        self._writing = threading.Lock()
        self._asked = self._newest = 0  # numbers of what is to be written, and of what was
        self._later = Later(self)
        self._later.done.connect(self._on_written)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(MOMENT)
        self._timer.timeout.connect(self.save_by_itself)
        self._waiting = 0.0  # since when the timer has been put off
        self._stop = self.desk.store.listen(self._on_store)

    # -- what is there to keep

    @property
    def name(self) -> str:
        """What the window is called after, "" while there is no file."""
        return self.path.stem if self.path is not None else ""

    @property
    def said(self) -> str:
        """For the status bar."""
        if self.read_only:
            return tr("Read only")
        if self.path is not None:
            if self.dirty:
                return tr("Not saved yet")
            return tr("Saved {when}", when=self.when) if self.when else tr("Saved")
        return ""

    @property
    def workspace(self) -> Workspace:
        """What is known, with a sorting that still waits for its column."""
        workspace = self.desk.workspace
        waiting = self.reopening.arrangement if self.reopening is not None else None
        return replace(workspace, arrangement=waiting) if waiting is not None else workspace

    @property
    def worth_keeping(self) -> bool:
        """Whether there is anything that opening a gallery again would not bring."""
        workspace = self.desk.workspace
        return self.path is not None or (workspace.faces is not None and bool(workspace.history.steps))

    def _on_store(self, changed: frozenset[str], initiator: object) -> None:
        if not changed & KEPT or (self.reopening is not None and self.reopening.under_way):
            return
        if self.worth_keeping and not self.dirty:
            self.dirty = True
            self.changed.emit()
        if self.dirty and self.desk.remember:
            self._save_soon()

    # -- writing

    def _save_soon(self) -> None:
        now = time.monotonic()
        if not self._timer.isActive():
            self._waiting = now
        if now - self._waiting <= PATIENCE:
            self._timer.start()

    def save(self) -> None:
        """Write the file now; ask for its name where it has none."""
        if self.path is None or self.read_only:
            self.save_as()
        else:
            self._begin(self.path, by_hand=True)

    def save_as(self) -> None:
        """Ask where, and write there from now on."""
        faces = self.desk.workspace.faces
        name = self.name or (faces.name if faces is not None else tr("workspace"))
        folder = self.path.parent if self.path is not None and not self.read_only else Path()
        suggested = str(folder / (name.replace("/", "-") + SUFFIX))
        if chosen := QFileDialog.getSaveFileName(self.window, tr("Save workspace"), suggested, KINDS)[0]:
            self.save_to(Path(chosen))

    def save_to(self, path: Path) -> None:
        """Write there from now on; what a file there said is backed up first."""
        path = Path(os.path.abspath(path if path.suffix == SUFFIX else path.with_name(path.name + SUFFIX)))
        self._begin(path, by_hand=True)

    def save_by_itself(self) -> None:
        """A moment after a change: to the file, or aside where there is none that can be written."""
        if self.dirty and not (self.reopening is not None and self.reopening.under_way):
            self._begin(self._target(), by_hand=False)

    def _target(self) -> Path:
        foreign = self.path is not None and self._seen is not None and _state(self.path) != self._seen
        if foreign and self._told != "foreign":
            self._told = "foreign"
            title = tr("{name} was changed by somebody else", name=escaped(self.path.name))  # type: ignore[union-attr]
            text = tr("Your work is kept aside, the file is left as it is. Save writes yours and backs up the other.")
            self.desk.say(title, text, "workspace.save")
        if self.path is None or self.read_only or foreign:
            return self._aside().path
        return self.path

    def _aside(self) -> shelf.Session:
        if self.session is None:
            self.session = shelf.Session()
        self.session.path.parent.mkdir(exist_ok=True, mode=0o700)  # it may have been deleted with all local data
        return self.session

    def _begin(self, path: Path, *, by_hand: bool) -> None:
        self._timer.stop()
        work = self._work(path, by_hand=by_hand)
        if by_hand:
            self._on_written(work())
        else:
            self._later.ask(work)

    def _work(self, path: Path, *, by_hand: bool) -> Callable[[], Written]:
        workspace, kept, layout, before = self.workspace, self.kept, self.window.layout_now(), self.saved
        own = path == self.path
        self._asked = number = self._asked + 1

        def work() -> Written:
            with self._writing:
                if number < self._newest:
                    return Written(path, workspace, late=True)
                self._newest = number
                try:
                    found = archive.taken(workspace, layout=layout, kept=kept)
                    if by_hand or not own or not archive.same(found, before) or _beside(found, before):
                        if not shelf.is_unsaved(path):
                            shelf.back_up(path, at_once=by_hand and not own)
                        archive.write(found, path)
                        shelf.remember(found, but=kept.places)
                    return Written(path, workspace, replace(found, path=path), by_hand=by_hand)
                except FaceLensError as error:
                    return Written(path, workspace, problem=error, by_hand=by_hand)
                except OSError as error:
                    problem = FaceLensError(tr("{path} was not written.", path=escaped(str(path))), details=str(error))
                    return Written(path, workspace, problem=problem, by_hand=by_hand)

        return work

    def _on_written(self, written: Written) -> None:
        if written.late or self._closed:
            return
        if written.problem is not None:
            self._fail(written)
        elif not shelf.is_unsaved(written.path) and (written.by_hand or written.path == self.path):
            self._take(written)
        self.changed.emit()

    def _fail(self, written: Written) -> None:
        assert written.problem is not None
        aside = shelf.is_unsaved(written.path)
        if written.by_hand or self._told != written.problem.message:
            self._told = written.problem.message
            error = written.problem
            kept = tr("Your work is still here.") if aside else tr("Your work is kept aside until it can be written.")
            self.desk.notify(FaceLensError(error.message, hint=f"{error.hint} {kept}".strip(), details=error.details))
        if not aside and self.desk.remember:
            self._begin(self._aside().path, by_hand=False)

    def _take(self, written: Written) -> None:
        """The file says what was on the screen."""
        moved = written.path != self.path
        self.path, self.saved, self.read_only = written.path, written.found, False
        self.when, self._told = f"{datetime.now():%H:%M}", ""
        self._seen = _state(written.path)
        self.dirty = self.workspace is not written.of and not self._is_saved()
        if self.dirty and self.desk.remember:
            self._save_soon()
        if self.session is not None:
            self.session.discard()
        if moved:
            self._remember()
        if self.desk.remember:
            self._aside().works_on(self.path)
        if written.by_hand:
            self.desk.tell(tr("Saved to {path}", path=escaped(str(written.path))))

    def _is_saved(self) -> bool:
        if len(self.desk.workspace.selection) + len(self.desk.workspace.excluded) > MANY:
            return False  # which is found out while it is written
        return archive.same(archive.taken(self.workspace, kept=self.kept), self.saved)

    def _remember(self) -> None:
        if self.path is None or shelf.is_unsaved(self.path):
            return
        faces = self.desk.workspace.faces
        entry = Recent(str(self.path), self.path.stem, len(faces) if faces is not None else 0)
        others = tuple(old for old in self.desk.settings.workspaces if old.path != entry.path)
        self.desk.settle(workspaces=(entry, *others)[:RECENT])

    # -- reading

    def open_file(self) -> None:
        """Ask for a workspace and open it."""
        if name := QFileDialog.getOpenFileName(self.window, tr("Open workspace"), "", KINDS)[0]:
            self.open(Path(name))

    def open_earlier(self) -> None:
        """Ask for a backup and open it, without a name: saving does not write over anything."""
        kept = shelf.backups(self.path) if self.path is not None else []
        folder = kept[0].parent if kept else shelf.backups_root()
        if name := QFileDialog.getOpenFileName(self.window, tr("Open an earlier version"), str(folder), KINDS)[0]:
            self.open(Path(name))

    def offer(self) -> None:
        """Say that an earlier window ended in the middle of work, and how to go on with it."""
        left = next((one for one in shelf.unsaved() if one.crashed), None)
        if left is None or not self.desk.remember:
            return
        title = tr("FaceLens was ended in the middle of work")
        name = tr("It") if shelf.is_unsaved(left.path) else escaped(left.path.name)
        text = tr("{name} was kept as it was at {when}.", name=name, when=f"{datetime.fromtimestamp(left.when):%H:%M}")
        card = self.window.notices.show(title, text, kind="info", button=tr("Go on with it"))
        card.acted.connect(lambda: self.open(left.path))
        self._offered = left.path, card

    def open(self, path: Path) -> None:
        """Read a workspace and put it in the place of what is open; where it cannot be read nothing changes."""
        path = Path(os.path.abspath(path))
        origin = shelf.origin(path)
        request = Request(
            title=tr("Open {name}", name=escaped(path.name)),
            call=_read,
            args=(path, origin.parent if origin is not None else None),
            slot="workspace",
            place="thread",
        )
        self.desk.jobs.submit(request, then=lambda job: self._on_read(job, path))

    def _on_read(self, job: Job, path: Path) -> None:
        if job.state is State.FAILED:
            kept = tuple(old for old in self.desk.settings.workspaces if old.path != str(path) or path.exists())
            self.desk.settle(workspaces=kept)
            self.desk.notify(job.error, trace=job.trace)
        elif job.state is State.DONE and isinstance(job.result, Archive):
            self.leave()
            found = job.result
            own = not shelf.is_unsaved(path) and shelf.origin(path) is None
            self.path = path if own else None
            self.read_only = own and (found.newer or not os.access(path, os.W_OK))
            self.saved, self.kept = found if own else None, Archive(unknown=found.unknown)
            self._seen = _state(path) if own else None
            self.when = found.saved[11:16]
            self.reopening = Reopening(self.window, found, done=self._on_open)
            self.reopening.start()
            self.changed.emit()

    def resume(self, reopening: Reopening) -> None:
        """Something was located: what is open now is no change by hand."""
        self._timer.stop()

    def _on_open(self, reopening: Reopening) -> None:
        """All is there that will be."""
        self.kept = reopening.kept
        self.dirty = self.path is None
        left = reopening.found.path
        if self._offered is not None and self._offered[0] == left:  # one has gone on with it already
            if self._offered[1] in self.window.notices.cards:
                self._offered[1].dismiss()
            self._offered = None
        if shelf.is_unsaved(left):  # it goes on being kept, as work of this window
            if self.desk.remember and self._work(self._aside().path, by_hand=False)().problem is None:
                shelf.forget(shelf.Left(left, 0.0, crashed=False))
        elif self.path is not None:
            for one in shelf.unsaved():
                if one.path == self.path:
                    shelf.forget(one)
            if self.desk.remember:
                self._aside().works_on(self.path)
            self._remember()
        if self.path is not None and not self.read_only and not self._is_saved():
            self.dirty = True  # a folder was located, or a file of an older version was read
            if self.desk.remember:
                self._save_soon()
        self.changed.emit()

    # -- leaving

    def leave(self) -> None:
        """The gallery gives way to another one: the file stays as it is, and what comes has no file yet."""
        self._timer.stop()
        if self.reopening is not None:
            unfinished = self.reopening.under_way
            self.reopening.close()
            self.reopening = None
        else:
            unfinished = False
        if self.dirty and not unfinished and self.desk.remember:
            written = self._work(self._target(), by_hand=False)()
            if written.problem is not None:
                self.desk.notify(written.problem)
        if self.session is not None:
            self.session.close()
            self.session = None
        self.path = self.saved = self._seen = None
        self.window.modelling.before = {}
        self.kept, self.when, self.read_only, self.dirty, self._told = Archive(), "", False, False, ""
        self.changed.emit()

    def _notes_more(self) -> bool:
        """Whether the file would note another layout or other results; neither makes it another one."""
        if self.path is None or self.read_only or self.saved is None:
            return False
        now = Archive(layout=self.window.layout_now(), results=questions.results(self.desk.workspace))
        return _beside(now, self.saved)

    def may_close(self) -> bool:
        """Write what is to be written; asks only where it cannot be."""
        if not self.desk.remember or (self.reopening is not None and self.reopening.under_way):
            return True
        self._timer.stop()
        if not (self.dirty or self._notes_more()):
            return True
        written = self._work(self._target(), by_hand=False)()
        if written.problem is not None and not shelf.is_unsaved(written.path):
            written = self._work(self._aside().path, by_hand=False)()
        if written.problem is not None:
            return self._close_all_the_same(written.problem)
        self._on_written(written)
        return True

    def _close_all_the_same(self, problem: FaceLensError) -> bool:
        box = QMessageBox(self.window)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(tr("Your work could not be saved. {why}", why=problem.message))
        box.setInformativeText(problem.hint)
        lose = box.addButton(tr("Close without saving"), QMessageBox.ButtonRole.DestructiveRole)
        stay = box.addButton(tr("Keep working"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(stay)
        box.setEscapeButton(stay)
        box.exec()
        box.deleteLater()
        return box.clickedButton() is lose

    def close(self) -> None:
        """The window closes: wait for what is being written."""
        self._closed = True
        self._timer.stop()
        self._stop()
        if self.reopening is not None:
            self.reopening.close()
        with self._writing:
            if self.session is not None:
                self.session.close()
                self.session = None


def _read(path: Path, folder: Path | None, *, tick: object = None) -> Archive:
    return archive.read(path, folder=folder)


def _beside(one: Archive, other: Archive | None) -> bool:
    """Whether they differ in what a file notes besides what it says."""
    return other is None or (one.layout, one.results) != (other.layout, other.results)


def _state(path: Path) -> tuple[int, int] | None:
    """Enough to see that somebody has written a file."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size
