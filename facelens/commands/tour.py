"""Every panel without a display, as pictures."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = ("facelens tour --out tour --theme light",)


def add(commands: Commands) -> None:
    command = commands.add_parser("tour", help=tr("walk through every panel without a display and write pictures"))
    command.add_argument(
        "--out", type=Path, default=Path("tour"), metavar="DIR", help=tr("folder for the pictures (default: tour)")
    )
    command.add_argument("--theme", choices=("dark", "light", "both"), default="both", help=tr("default: both"))
    command.add_argument("gallery", nargs="?", type=Path, help=tr("another gallery than the sample"))
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from facelens.views.tour import walk

    themes = ("dark", "light") if arguments.theme == "both" else (arguments.theme,)
    written = walk(arguments.out, themes=themes, gallery=arguments.gallery)
    print(tr("The tour is in {folder}: {n} files.", folder=arguments.out.resolve(), n=len(written)))
    for path in written:
        print(f"  {path.relative_to(arguments.out)}")
    return 0
