"""Evaluating: from vectors to curves and tables, and from those to files.

Holds no state: what is known is in the workspace, what is under way in the job queue. Slots are `evaluate`, `pairs`
(what a tap lists and is not kept), `tables` and `figure`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from facelens.session import questions
from facelens.session.actions import evaluable
from facelens.session.jobs import Job, Request, State
from facelens.session.questions import EVALUATE
from facelens.session.workspace import Evaluated, Workspace, with_answer
from facelens.views.leaving import leaving, written
from facelens.views.panel import Desk
from facelens.words import escaped, tr

AT_ONCE = 5_000  # faces that are evaluated without being asked
PAIRS_A_SECOND = 6_000_000  # with intervals, on two cores


class Evaluating:
    """What can be done with an evaluation; any panel may make one."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def run(self) -> None:
        """Answer what is asked now, in the worker."""
        workspace = self.desk.workspace
        if reason := evaluable(workspace):
            self.desk.tell(reason)
            return
        question, request = workspace.question, questions.evaluation(workspace)
        assert request is not None

        def done(job: Job) -> None:
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
            elif job.state is State.DONE:
                self.keep(question, job.result)

        def part(value: object) -> None:
            self.keep(question, value)

        self.desk.jobs.submit(request, then=done, partial=part)

    def keep(self, question: tuple[object, ...], evaluation: Any) -> None:
        """Put an answer into the workspace; one to an older question is dropped."""
        workspace = self.desk.workspace
        if question and question == workspace.question:
            answers = with_answer(workspace, Evaluated(question, evaluation))
            self.desk.store.update(evaluated=answers, initiator=self)

    def job(self) -> Job | None:
        """The evaluation that waits or runs."""
        jobs = [job for job in self.desk.jobs.jobs if job.request.slot == EVALUATE and not job.state.ended]
        return jobs[-1] if jobs else None

    def list_pairs(
        self, side: str, *, low: float, high: float, genuine: bool | None, then: Callable[[Any], None]
    ) -> None:
        """Look up pairs that are only counted in the results; `side` is "a" or "b"."""
        from facelens.analyses import evaluation

        workspace = self.desk.workspace
        found = questions.sides(workspace)
        request = Request(
            title=tr("List pairs"),
            call=evaluation.pairs_between,
            args=(workspace.faces, workspace.protocol, workspace.plan),
            kwargs={
                "gallery": found[side],
                "query": found[f"query_{side}"],
                "low": low,
                "high": high,
                "genuine": genuine,
                "excluded": workspace.excluded,
            },
            slot="pairs",
            unit=tr("pairs"),
            short=True,
        )

        def done(job: Job) -> None:
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
            elif job.state is State.DONE:
                then(job.result)

        self.desk.jobs.submit(request, then=done)

    # -- out of the window

    def export_tables(self, out: Path) -> None:
        """Write all numbers as .json, .csv or .tex, by the ending."""
        from facelens.session import tables

        workspace = self.desk.workspace
        evaluation = workspace.evaluation
        if evaluation is None:
            return
        kinds = {".csv": tables.write_csv, ".tex": tables.write_latex}
        write = kinds.get(out.suffix.lower(), tables.write_json)
        self._write(out, write, (out, evaluation), {"faces": workspace.faces})

    def export_policy(self, out: Path) -> None:
        """Write the threshold of the operating point as JSON, with what it rests on."""
        from facelens.session import policy

        workspace = self.desk.workspace
        if workspace.evaluation is not None:
            self._write(out, policy.write_policy, (out, workspace.evaluation), {"target": workspace.operating.far})

    def _write(self, out: Path, call: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        request = Request(
            title=tr("Write {name}", name=escaped(out.name)),
            call=_ticked,
            args=(call, args, kwargs),
            slot="tables",
            place="thread",
        )
        self.desk.jobs.submit(leaving(self.desk, request), then=lambda job: self._said(job, out))

    def _said(self, job: Job, out: Path) -> None:
        if job.state is State.FAILED:
            self.desk.notify(job.error, trace=job.trace)
        elif job.state is State.DONE:
            self.desk.tell(written(self.desk, out))


def _ticked(call: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any], *, tick: object) -> object:
    """A short call as a job."""
    return call(*args, **kwargs)


def plan_changed(desk: Desk, initiator: object = None, **changes: object) -> None:
    """Ask for something else."""
    desk.store.update(plan=replace(desk.workspace.plan, **changes), initiator=initiator)  # type: ignore[arg-type]


def seconds(workspace: Workspace) -> float:
    """How long an evaluation may take, roughly."""
    n = len(workspace.kept_faces) if workspace.kept_faces is not None else 0
    listed = workspace.plan.protocol != "all pairs" and workspace.protocol is not None and workspace.protocol.pairs
    pairs = len(workspace.protocol.pairs) if listed else n * n / 2  # type: ignore[union-attr,arg-type]
    return 1.0 + len(workspace.evaluable) * pairs / PAIRS_A_SECOND
