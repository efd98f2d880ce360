"""Assessing: from the vectors of several models to what their ensemble is unsure of, and from that to files.

Holds no state: what is known is in the workspace, what is under way in the job queue. Slots are `assess`, `update`
(another query model) and `uncertainty file`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from facelens.session import filters, questions
from facelens.session.actions import assessable
from facelens.session.jobs import Job, Request, State
from facelens.session.questions import ASSESS, first_step, limit_of
from facelens.session.workspace import Assessed, with_variance
from facelens.views.leaving import leaving, written
from facelens.views.panel import Desk
from facelens.words import escaped, tr

if TYPE_CHECKING:
    pass

AT_ONCE = 5_000  # faces that are assessed without being asked


class Assessing:
    """What can be done with an ensemble; any panel may make one."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def run(self, *, line: bool = True) -> None:
        """Answer what is asked of the ensemble now, in the worker; without `line` the line of refusal stays."""
        workspace = self.desk.workspace
        if reason := assessable(workspace):
            self.desk.tell(reason)
            return
        question = workspace.ensemble_question
        try:
            request = questions.uncertainty(workspace)
        except filters.FilterError as error:
            self.desk.notify(error)
            return
        assert request is not None

        def done(job: Job) -> None:
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
            elif job.state is State.DONE:
                self._keep(question, job.result, line=line)

        self.desk.jobs.submit(request, then=done, partial=lambda value: self._keep(question, value, line=line))

    def update_query(self, target: str, then: Callable[[Any], None]) -> None:
        """What a new query model changes when the gallery's stored vectors are mapped into its space.

        `then` is not called where another ensemble is asked for by the time it is known.
        """
        from facelens.analyses import uncertainty

        workspace = self.desk.workspace
        if target not in workspace.features:
            return
        question = workspace.ensemble_question
        try:
            given = questions.ensemble_of(workspace)
        except filters.FilterError as error:
            self.desk.notify(error)
            return
        given["features"] = {**given["features"], target: workspace.features[target]}
        request = Request(
            title=tr("Query update to {name}", name=target),
            call=uncertainty.update_query,
            args=(workspace.faces, workspace.resolved_ensemble),
            kwargs={**given, "target": target},
            slot="update",
            unit="",
            short=True,
        )

        def done(job: Job) -> None:
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
            elif job.state is State.DONE and question == self.desk.workspace.ensemble_question:
                then(job.result)

        self.desk.jobs.submit(request, then=done)

    def _keep(self, question: tuple[object, ...], found: Any, *, line: bool) -> None:
        """Put an answer into the workspace; one to an older question is dropped."""
        workspace = self.desk.workspace
        if not question or question != workspace.ensemble_question or workspace.faces is None:
            return
        changes: dict[str, object] = {"assessed": Assessed(question, found)}
        old = workspace.uncertainty
        if line and (old is None or old.verification is None):
            changes["refusal"] = first_step(found)
        if old is None:
            changes["faces"] = with_variance(workspace.faces, found)
        self.desk.store.update(initiator=self, **changes)

    def job(self) -> Job | None:
        """The assessment that waits or runs."""
        jobs = [job for job in self.desk.jobs.jobs if job.request.slot == ASSESS and not job.state.ended]
        return jobs[-1] if jobs else None

    # -- out of the window

    def export_faces(self, out: Path, *, refused: bool) -> None:
        """Write the refused faces, or all, with their scores as CSV, worst first."""
        from facelens.session import refusals

        workspace = self.desk.workspace
        found = workspace.uncertainty
        if found is None:
            return
        limit = limit_of(workspace)
        only = found.ids[found.values > limit] if refused else None
        self._write(out, refusals.write_faces, workspace.faces, found, limit=limit, only=only)

    def export_curves(self, out: Path) -> None:
        """Write what refusing does at every step as CSV, or all numbers as JSON."""
        from facelens.session import refusals

        if (found := self.desk.workspace.uncertainty) is not None:
            self._write(out, refusals.write_curves, found)

    def _write(self, out: Path, call: Callable[..., object], *args: Any, **kwargs: Any) -> None:
        request = Request(
            title=tr("Write {name}", name=escaped(out.name)),
            call=call,
            args=(out, *args),
            kwargs=kwargs,
            slot="uncertainty file",
            short=True,
        )

        def done(job: Job) -> None:
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
            elif job.state is State.DONE:
                self.desk.tell(written(self.desk, out))

        self.desk.jobs.submit(leaving(self.desk, request), then=done)


def asked(desk: Desk, initiator: object = None, **changes: object) -> None:
    """Ask for something else of the ensemble."""
    desk.store.update(initiator=initiator, ensemble=replace(desk.workspace.ensemble, **changes))  # type: ignore[arg-type]
