"""The work behind the confidence page: parts, their study, what follows a pair, and the exports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from facelens.session.jobs import Job, Request, State
from facelens.session.workspace import Workspace, attributes
from facelens.views.leaving import leaving, written
from facelens.views.panel import Desk
from facelens.words import escaped, tr

AT_ONCE = 5_000  # faces that are studied without being asked
PARTS, STUDY = "parts", "study"  # slots


def cut_request(workspace: Workspace) -> Request | None:
    """What finds the parts that are asked for."""
    from facelens.analyses import parts

    plan = workspace.resolved_parts
    if workspace.faces is None or not plan.model:
        return None
    return Request(
        title=tr("Parts of {name}", name=plan.model),
        call=parts.cut,
        args=(workspace.faces, plan),
        kwargs={"features": workspace.features[plan.model], "excluded": workspace.excluded},
        slot=PARTS,
        unit="",
        short=True,
    )


def study_request(workspace: Workspace) -> Request | None:
    """What studies the parts that are there."""
    from facelens.analyses import universal

    plan, parts = workspace.resolved_parts, workspace.parts
    if workspace.faces is None or parts is None:
        return None
    shown = plan.show if plan.show in parts.values else next(iter(parts.values), "")
    match = plan.match if parts.log_variance is not None else "cosine"
    return Request(
        title=tr("What the parts of {name} are good for", name=plan.model),
        call=universal.study,
        args=(workspace.faces, parts, replace(plan, show=shown, match=match)),
        kwargs={"features": workspace.features[plan.model], "columns": attributes(workspace.faces)},
        slot=STUDY,
        unit="",
        short=True,
    )


def write(desk: Desk, out: Path, call: Callable[..., object], *args: Any, slot: str, **kwargs: Any) -> None:
    """Write a file in the worker, and say so."""
    request = Request(
        title=tr("Write {name}", name=escaped(out.name)),
        call=call,
        args=(out, *args),
        kwargs=kwargs,
        slot=slot,
        short=True,
    )

    def done(job: Job) -> None:
        if job.state is State.FAILED:
            desk.notify(job.error, trace=job.trace)
        elif job.state is State.DONE:
            desk.tell(written(desk, out))

    desk.jobs.submit(leaving(desk, request), then=done)
