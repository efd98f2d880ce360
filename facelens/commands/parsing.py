"""The parser of the command line: a command says what it does and shows an example, and values are named alike."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from facelens.commands import values
from facelens.words import tr

WIDEST = 15  # letters of a command and its indentation

# What stands for a value in the help, where an option does not say it itself.
METAVARS = {int: "N", float: "X", Path: "PATH", values.count: "N", values.size: "N", values.rate: "RATE"}


class Commands(argparse._SubParsersAction):  # type: ignore[type-arg]
    """The commands, whose line in the list is also the first of their own help."""

    def add_parser(self, name: str, *, help: str = "", **named: Any) -> Parser:  # type: ignore[override]
        named.setdefault("description", help[:1].upper() + help[1:] + "." if help else None)
        made: Parser = super().add_parser(name, help=help, **named)
        return made


class Lines(argparse.HelpFormatter):
    """Keeps lines as they are written: an example is one."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._action_max_length = WIDEST  # it forgets that commands are indented

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = (textwrap.wrap(line, width, subsequent_indent=f"{indent}    ") for line in text.splitlines())
        return "\n".join("\n".join(line) for line in lines)


class Parser(argparse.ArgumentParser):
    """Reads what was said."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **{"formatter_class": Lines, **named})
        self.register("action", "parsers", Commands)

    def add_argument(self, *names: Any, **named: Any) -> argparse.Action:  # type: ignore[override]
        action = super().add_argument(*names, **named)
        if action.metavar is None and action.choices is None and action.nargs != 0 and action.dest != "help":
            kind = METAVARS.get(action.type) if action.option_strings else None  # type: ignore[arg-type]
            action.metavar = kind or action.dest.upper()
        return action

    def show(self, examples: Sequence[str]) -> None:
        """Put examples under the help."""
        title = tr("example:") if len(examples) == 1 else tr("examples:")
        self.epilog = "\n".join([title, *(f"  {line}" for line in examples)])
