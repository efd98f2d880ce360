"""Work of a command: one line on the terminal while it lasts, pictures read in a process of their own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.images.disguise import Guise
    from facelens.progress import Tick

Result = TypeVar("Result")


def apart(call: Callable[..., Result], *arguments: object, tick: Tick, **named: object) -> Result:
    """Read pictures in a worker process: one that crashes the decoder is found out and left out, the rest goes on."""
    import logging
    from inspect import signature

    from facelens.images.quarantine import Again
    from facelens.session import folders
    from facelens.session.jobs import Request, run_apart

    logging.getLogger("facelens.jobs").addHandler(logging.NullHandler())  # what fails is told once, by `main`
    book = folders.quarantine()
    if "quarantined" in signature(call).parameters:  # else what it is given knows of the book
        named["quarantined"] = book
    request = Request(call.__name__, call, arguments, named, again=Again(book))
    return run_apart(request, tick=tick)  # type: ignore[return-value]


def disguise_arguments(command: argparse.ArgumentParser, *, pictures: bool = True) -> None:
    """For commands that write files: in what disguise; `pictures` where there are any in them."""
    command.add_argument(
        "--pseudonyms", action="store_true", help=tr("people and pictures have other names, P0001 and P0001/001")
    )
    if pictures:
        command.add_argument("--blur", action="store_true", help=tr("nobody can be made out on pictures"))
    command.add_argument(
        "--key", default="", metavar="WORDS", help=tr("the same words, the same pseudonyms (default: others each time)")
    )
    command.add_argument(
        "--keep",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help=tr("columns of text that stay readable under pseudonyms (default: split and role)"),
    )


def trust_argument(command: argparse.ArgumentParser) -> None:
    """For commands that open what a file names."""
    command.add_argument(
        "--trust", action="store_true", help=tr("open what the file names wherever it lies: you know who made it")
    )


def guise(arguments: argparse.Namespace) -> Guise:
    """What is to be hidden."""
    from facelens.images.disguise import Guise

    blur = getattr(arguments, "blur", False)
    return Guise(arguments.pseudonyms, blur, arguments.key, tuple(arguments.keep))


def one_guise(arguments: argparse.Namespace) -> Guise:
    """The same for what goes out piece by piece: where no key is given, one is drawn for all of it."""
    import secrets
    from dataclasses import replace

    hidden = guise(arguments)
    return replace(hidden, key=hidden.key or secrets.token_hex(32))


def outgoing(arguments: argparse.Namespace, *values: Any) -> tuple[Any, ...]:
    """What is written and printed, in the disguise that is asked for."""
    from facelens.session.outgoing import outgoing

    return outgoing(guise(arguments), *values)


def tell_figures(written: Sequence[Path]) -> None:
    """Say where they are: of several each has a name of its own."""
    print(tr("Drawn: {names}", names=", ".join(escaped(str(path)) for path in written)))


class Line:
    """A tick that redraws one line on a terminal, and stays silent elsewhere."""

    def __init__(self, title: str) -> None:
        self.title = title

    def __call__(self, done: int, total: int, note: str = "") -> None:
        if sys.stderr.isatty():
            end = "\n" if done >= total else "\r"
            print(f"\x1b[2K{self.title} {done:,} of {total:,}", end=end, file=sys.stderr, flush=True)
