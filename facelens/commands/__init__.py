"""The commands, one file for each: `add` says what it can be told, `run` does it and imports what that takes, EXAMPLES
are shown under its help."""

from __future__ import annotations

from typing import TypeAlias

from facelens import __version__
from facelens.commands import (
    align,
    collect,
    confidence,
    doctor,
    embed,
    evaluate,
    export,
    gui,
    learners,
    match,
    models,
    pairs,
    parsing,
    project,
    render,
    report,
    rerank,
    sample,
    tour,
    train,
    uncertainty,
    upgrade,
)
from facelens.words import tr

Commands: TypeAlias = parsing.Commands

# In the order of the help.
COMMANDS = (
    gui,
    tour,
    doctor,
    pairs,
    embed,
    evaluate,
    uncertainty,
    upgrade,
    confidence,
    learners,
    match,
    rerank,
    project,
    report,
    render,
    collect,
    export,
    train,
    align,
    models,
    sample,
)


def parser() -> parsing.Parser:
    """What can be said on the command line."""
    words = parsing.Parser(
        prog="facelens",
        description=tr("Look inside face embeddings. Everything stays on this computer."),
        epilog=tr(
            "“facelens COMMAND --help” says what a command can be told.\n"
            "Exit codes: 0 done; 1 could not be done, or a check was not passed; 2 asked wrongly; 3 no window can be "
            "opened; 130 stopped."
        ),
    )
    words.add_argument("--version", action="version", version=f"FaceLens {__version__}")
    commands: Commands = words.add_subparsers(title=tr("commands"), metavar="COMMAND", required=True)  # type: ignore[assignment]
    for command in COMMANDS:
        command.add(commands)
        commands.choices[command.__name__.rpartition(".")[2]].show(command.EXAMPLES)
    return words
