"""Assessing: from the vectors of several models to what their ensemble is unsure of, and from that to files.

Holds no state: what is known is in the workspace, what is under way in the job queue. Slots are `assess`, `update`
(another query model) and `uncertainty file`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from facelens.session import filters, folders
from facelens.session.actions import assessable
from facelens.session.jobs import Job, Request, State
from facelens.session.workspace import Assessed, Workspace, with_variance
from facelens.views.leaving import leaving, written
from facelens.views.panel import Desk
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.analyses.uncertainty import Uncertainty

AT_ONCE = 5_000  # faces that are assessed without being asked
SLOT = "assess"


class Assessing:
    """What can be done with an ensemble; any panel may make one."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def run(self) -> None:
        """Answer what is asked of the ensemble now, in the worker."""
        from facelens.analyses import uncertainty

        workspace = self.desk.workspace
        if reason := assessable(workspace):
            self.desk.tell(reason)
            return
        if (given := self._given(workspace)) is None:
            return
        question = workspace.ensemble_question
        request = Request(
            title=tr("Ensemble of {names}", names=", ".join(workspace.resolved_ensemble.members)),
            call=uncertainty.assess,
            args=(workspace.faces, workspace.resolved_ensemble),
            kwargs=given,
            slot=SLOT,
            unit="",
            short=True,
        )

        def done(job: Job) -> None:
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
            elif job.state is State.DONE:
                self._keep(question, job.result)

        self.desk.jobs.submit(request, then=done, partial=lambda value: self._keep(question, value))

    def update_query(self, target: str, then: Callable[[Any], None]) -> None:
        """What a new query model changes when the gallery's stored vectors are mapped into its space.

        `then` is not called where another ensemble is asked for by the time it is known.
        """
        from facelens.analyses import uncertainty

        workspace = self.desk.workspace
        given, question = self._given(workspace), workspace.ensemble_question
        if given is None or target not in workspace.features:
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

    def _given(self, workspace: Workspace) -> dict[str, Any] | None:
        """What an ensemble works with; None, and the user is told, where the filter does not fit the gallery."""
        plan, faces = workspace.resolved_ensemble, workspace.faces
        assert faces is not None
        names = dict.fromkeys((*plan.members, plan.target))
        networks = {name: found.card.design for name in names if (found := workspace.inspection(name)) is not None}
        try:
            fitting = faces.ids[filters.parse(plan.fitted_on).rows(faces)] if plan.fitted_on else None
        except filters.FilterError as error:
            self.desk.notify(error)
            return None
        return {
            "features": {name: workspace.features[name] for name in names},
            "networks": networks,
            "fitting": fitting,
            "excluded": workspace.excluded,
            "folder": folders.cache() / "transforms",
        }

    def _keep(self, question: tuple[object, ...], found: Any) -> None:
        """Put an answer into the workspace; one to an older question is dropped."""
        workspace = self.desk.workspace
        if not question or question != workspace.ensemble_question or workspace.faces is None:
            return
        changes: dict[str, object] = {"assessed": Assessed(question, found)}
        old = workspace.uncertainty
        if old is None or old.verification is None:
            changes["refusal"] = first_step(found)
        if old is None:
            changes["faces"] = with_variance(workspace.faces, found)
        self.desk.store.update(initiator=self, **changes)

    def job(self) -> Job | None:
        """The assessment that waits or runs."""
        jobs = [job for job in self.desk.jobs.jobs if job.request.slot == SLOT and not job.state.ended]
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

    def export_figures(self, out: Path) -> None:
        """Draw histogram, curves and strip for a paper: PNG, SVG or PDF, by the ending, a file each."""
        from facelens.session.drawing import draw_uncertainty

        workspace = self.desk.workspace
        if (found := workspace.uncertainty) is not None:
            self._write(out, draw_uncertainty, workspace.faces, found, step=workspace.refusal, lower=found.lower)

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


def limit_of(workspace: Workspace) -> float:
    """Faces whose score is above it are refused; infinite where none is."""
    found = workspace.uncertainty
    risk = found.verification if found is not None else None
    return float(risk.limit[min(workspace.refusal, len(risk.limit) - 1)]) if risk is not None else math.inf


def first_step(found: Uncertainty) -> int:
    """Where the line stands before anybody moved it: 5 % are refused, where that can be asked."""
    risk = found.verification
    return int(abs(risk.coverage - 0.95).argmin()) if risk is not None else 0


def asked(desk: Desk, initiator: object = None, **changes: object) -> None:
    """Ask for something else of the ensemble."""
    desk.store.update(initiator=initiator, ensemble=replace(desk.workspace.ensemble, **changes))  # type: ignore[arg-type]
