"""A question, the job that answers it, and the answer in the workspace: what panels that wait for results share."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from facelens.session.jobs import Job, Request, State
from facelens.session.workspace import Answer, Workspace
from facelens.views.panel import Desk

Question = tuple[object, ...]
ON_THE_WAY = ("inspect:", "vectors:", "embed:")  # slots of jobs that may change what is asked


class Errands(QObject):
    """Jobs about the open gallery: they stop when it is left, and what still comes of them is dropped.

    What is for one page only goes through `while_there`; an answer that is kept in the workspace is for all pages.
    """

    left = Signal()  # another gallery is open, or none

    def __init__(self, desk: Desk, parent: QObject) -> None:
        super().__init__(parent)
        self.desk = desk
        self._here = self._gallery()
        self._sent: dict[int, Question] = {}
        self._stop = desk.store.listen(self._on_store)
        self.destroyed.connect(self._stop)

    def close(self) -> None:
        """Stop listening."""
        self._stop()

    def submit(
        self,
        request: Request,
        *,
        then: Callable[[Job], None] = lambda job: None,
        partial: Callable[[object], None] = lambda value: None,
    ) -> None:
        """As with the queue, for the gallery that is open now."""
        of = self._gallery()
        number = self.desk.jobs.submit(
            request,
            then=lambda job: then(job) if of == self._gallery() else None,
            partial=lambda value: partial(value) if of == self._gallery() else None,
        )
        running = {job.number for job in self.desk.jobs.jobs if not job.state.ended}
        self._sent = {old: gallery for old, gallery in self._sent.items() if old in running} | {number: of}

    def _gallery(self) -> Question:
        faces = self.desk.workspace.faces
        return () if faces is None else faces.pictures

    def _on_store(self, changed: frozenset[str], initiator: object) -> None:
        if "faces" in changed and (now := self._gallery()) != self._here:
            self._here = now
            for number in [number for number, of in self._sent.items() if of != now]:
                self.desk.jobs.cancel(number)
            self.left.emit()


class Asking(QObject):
    """One kind of question. What is asked follows from the workspace; an answer to another question is dropped."""

    changed = Signal()  # a job began, went on or ended

    def __init__(
        self,
        desk: Desk,
        parent: QObject,
        *,
        slot: str,
        field: str,
        question: Callable[[Workspace], Question],
        request: Callable[[Workspace], Request | None],
    ) -> None:
        """`field` of the workspace keeps the Answer; `request` says what to run (its slot is set here)."""
        super().__init__(parent)
        self.desk, self.slot, self.field = desk, slot, field
        self._question, self._request = question, request
        self._running: Question = ()
        self._declined: Question = ()  # its job failed or was cancelled: not asked again unasked
        self._errands = Errands(desk, self)
        self._errands.left.connect(self._on_left)
        self._stop = desk.jobs.listen(self._on_job)
        self.destroyed.connect(self._stop)

    def close(self) -> None:
        """Stop listening."""
        self._stop()
        self._errands.close()

    def job(self) -> Job | None:
        """The job that waits or runs."""
        jobs = [job for job in self.desk.jobs.jobs if job.request.slot == self.slot and not job.state.ended]
        return jobs[-1] if jobs else None

    @property
    def declined(self) -> bool:
        """Whether what is asked now was stopped or has failed before."""
        question = self._question(self.desk.workspace)
        return bool(question) and question == self._declined

    def answered(self) -> bool:
        """Whether the answer to what is asked now is there, or a part of it."""
        kept = getattr(self.desk.workspace, self.field)
        return kept is not None and kept.question == self._question(self.desk.workspace)

    def start(self) -> bool:
        """Ask unasked, unless it is answered, being answered, was stopped before, or vectors are on their way."""
        question = self._question(self.desk.workspace)
        if not question or self.answered() or question in (self._running, self._declined):
            return False
        if self.desk.asked.get(self.slot) == question:
            return False  # the same page in another place is at it
        if any(job.request.slot.startswith(ON_THE_WAY) and not job.state.ended for job in self.desk.jobs.jobs):
            return False
        self.run()
        return True

    def run(self) -> None:
        """Ask now."""
        workspace = self.desk.workspace
        question = self._question(workspace)
        request = self._request(workspace) if question else None
        if request is None:
            return
        self._running, self._declined = question, ()
        self.desk.asked[self.slot] = question

        def done(job: Job) -> None:
            if self.desk.asked.get(self.slot) == question:
                del self.desk.asked[self.slot]
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
            elif job.state is State.DONE:
                self._keep(question, job.result)

        self._errands.submit(request, then=done, partial=lambda value: self._keep(question, value))

    def cancel(self) -> None:
        """Stop the job."""
        self.desk.jobs.cancel_slot(self.slot)

    def _keep(self, question: Question, found: object) -> None:
        # An answer to another question is kept while there is none to this one: one may come back to it.
        if question == self._question(self.desk.workspace) or not self.answered():
            self.desk.store.update(initiator=self, **{self.field: Answer(question, found)})

    def _on_left(self) -> None:
        """Whoever comes back asks anew; what was asked of the new gallery already, by a page that heard of it first,
        goes on."""
        if self._running == self._question(self.desk.workspace):
            return
        self._running = self._declined = ()
        self.desk.asked.pop(self.slot, None)

    def _on_job(self, job: Job) -> None:
        if job.request.slot != self.slot:
            if job.request.slot.startswith(ON_THE_WAY) and job.state.ended:
                QTimer.singleShot(0, self, self.changed.emit)
            return
        if job.state.ended and self.job() is None:
            if job.state is not State.DONE:
                self._declined = self._running
            self._running = ()
        QTimer.singleShot(0, self, self.changed.emit)  # after whoever asked has got the answer
