"""The window. Qt is imported when it is opened."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = (
    "facelens gui FOLDER",
    "facelens gui --sample",
)


def add(commands: Commands) -> None:
    command = commands.add_parser("gui", help=tr("open the window"))
    kinds = tr("a folder, manifest, pairs.txt, .bin or .facelens to open")
    command.add_argument("gallery", nargs="?", type=Path, help=kinds)
    command.add_argument("--sample", action="store_true", help=tr("open the sample gallery"))
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.views import app

    return app.run(gallery=arguments.gallery, sample=arguments.sample)
