"""The drawn sample world."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import work
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = ("facelens sample build --out sample --identities 64 --pictures 10",)


def add(commands: Commands) -> None:
    sample = commands.add_parser("sample", help=tr("the drawn sample world"))
    sample_commands = sample.add_subparsers(metavar="COMMAND", required=True)
    build = sample_commands.add_parser("build", help=tr("draw the sample gallery"))
    build.add_argument("--out", type=Path, required=True, metavar="DIR", help=tr("folder for the gallery"))
    build.add_argument("--identities", type=int, default=64, help=tr("people (default: 64)"))
    build.add_argument("--pictures", type=int, default=10, help=tr("of each (default: 10)"))
    build.add_argument("--size", type=int, default=None, help=tr("side of a picture in pixels"))
    build.add_argument("--seed", type=int, default=0, help=tr("other people (default: 0)"))
    build.add_argument(
        "--checkpoints", action="store_true", help=tr("also train the sample checkpoints (about a quarter of an hour)")
    )
    build.set_defaults(run=_build)


def _build(arguments: argparse.Namespace) -> int:
    from facelens.images.synthetic.gallery import build_gallery

    size = {} if arguments.size is None else {"size": arguments.size}
    build_gallery(
        arguments.out,
        identities=arguments.identities,
        pictures=arguments.pictures,
        seed=arguments.seed,
        tick=work.Line(tr("Drawing")),
        **size,
    )
    print(tr("The sample gallery is in {folder}.", folder=arguments.out.resolve()))
    if arguments.checkpoints:
        from facelens.session import sample

        folder = arguments.out / sample.FOLDER
        for name, measured in sample.build_checkpoints(folder, arguments.out, tick=work.Line(tr("Training"))).items():
            print(f"{name}: {json.dumps(measured)}")
        print(tr("The sample checkpoints are in {folder}.", folder=folder.resolve()))
    return 0
