"""Writing files in the worker, and the words for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from facelens.session.jobs import Job, Request, State
from facelens.views.leaving import leaving, written
from facelens.views.panel import Desk
from facelens.words import escaped, tr


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
