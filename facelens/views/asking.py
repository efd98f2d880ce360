"""A question, the job that answers it, and the answer in the workspace: what panels that wait for results share."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from facelens.session.jobs import Job, Request, State
from facelens.session.workspace import Answer, Workspace
from facelens.views.panel import Desk

Question = tuple[object, ...]
ON_THE_WAY = ("inspect:", "vectors:", "embed:")  # slots of jobs that may change what is asked


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
        self._stop = desk.jobs.listen(self._on_job)
        self.destroyed.connect(self._stop)

    def close(self) -> None:
        """Stop listening."""
        self._stop()

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

        def done(job: Job) -> None:
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
            elif job.state is State.DONE:
                self._keep(question, job.result)

        self.desk.jobs.submit(request, then=done, partial=lambda value: self._keep(question, value))

    def cancel(self) -> None:
        """Stop the job."""
        self.desk.jobs.cancel_slot(self.slot)

    def _keep(self, question: Question, found: object) -> None:
        # An answer to another question is kept while there is none to this one: one may come back to it.
        if question == self._question(self.desk.workspace) or not self.answered():
            self.desk.store.update(initiator=self, **{self.field: Answer(question, found)})

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
