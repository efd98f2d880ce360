"""A verification list of a gallery."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import work
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = ("facelens pairs FOLDER --out pairs.txt --folds 10 --per-fold 300 --seed 0",)


def add(commands: Commands) -> None:
    command = commands.add_parser("pairs", help=tr("build a verification list from a gallery"))
    command.add_argument("gallery", type=Path, help=tr("a folder, manifest, pairs.txt or .bin"))
    command.add_argument("--out", type=Path, required=True, metavar="FILE", help=tr("pairs.txt or NAME.bin"))
    command.add_argument("--folds", type=int, default=10, help=tr("default: 10"))
    command.add_argument(
        "--per-fold", type=int, default=300, help=tr("genuine pairs of a fold, and as many impostors (default: 300)")
    )
    command.add_argument("--seed", type=int, default=0, help=tr("of the draw (default: 0)"))
    work.disguise_arguments(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.session.tasks import build_protocol, open_gallery

    (faces,) = work.outgoing(arguments, open_gallery(arguments.gallery).faces)
    written = build_protocol(
        faces, arguments.out, folds=arguments.folds, per_fold=arguments.per_fold, seed=arguments.seed
    )
    print(tr("{n} pairs written to {path}.", n=written, path=arguments.out))
    return 0
