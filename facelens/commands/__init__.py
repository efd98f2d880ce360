"""The commands, one file for each: `add` says what it can be told, `run` does it and imports what that takes."""

from __future__ import annotations

import argparse
from typing import TypeAlias

from facelens import __version__
from facelens.commands import (
    align,
    confidence,
    doctor,
    embed,
    evaluate,
    gui,
    learners,
    match,
    models,
    pairs,
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

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

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
    train,
    align,
    models,
    sample,
)


def parser() -> argparse.ArgumentParser:
    """What can be said on the command line."""
    words = argparse.ArgumentParser(
        prog="facelens", description=tr("Look inside face embeddings. Everything stays on this computer.")
    )
    words.add_argument("--version", action="version", version=f"FaceLens {__version__}")
    commands = words.add_subparsers(title=tr("commands"), metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return words
