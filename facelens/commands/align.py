"""The five points of every face, as a manifest."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import work
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands
    from facelens.images.faceset import FaceSet

EXAMPLES = ("facelens align PHOTOGRAPHS --detector yunet.onnx --out manifest.csv",)


def add(commands: Commands) -> None:
    command = commands.add_parser("align", help=tr("find the five points of every face and write them as a manifest"))
    command.add_argument("gallery", type=Path, help=tr("a folder, manifest, pairs.txt or .bin"))
    command.add_argument("--out", type=Path, required=True, metavar="FILE", help=tr("the manifest, a CSV file"))
    detector_arguments(command, required=True)
    work.disguise_arguments(command, pictures=False)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    import numpy as np

    from facelens.images import detect
    from facelens.images.builder import write_list
    from facelens.session.tasks import open_gallery

    faces = aligned(open_gallery(arguments.gallery).faces, arguments)
    assert faces.landmarks is not None
    (told,) = work.outgoing(arguments, faces.with_columns(detect.as_columns(faces.landmarks)))
    write_list(arguments.out, told, np.arange(len(told)))
    print(tr("The manifest is {path}.", path=arguments.out))
    return 0


def detector_arguments(command: argparse.ArgumentParser, *, required: bool) -> None:
    command.add_argument(
        "--detector", type=Path, required=required, metavar="FILE", help=tr("YuNet ONNX file that finds faces")
    )
    command.add_argument(
        "--policy",
        choices=("largest", "centre", "best", "only"),
        default="largest",
        help=tr("which of several faces (default: largest)"),
    )


def aligned(faces: FaceSet, arguments: argparse.Namespace) -> FaceSet:
    from facelens.session.tasks import align_gallery

    done = work.apart(
        align_gallery, faces, arguments.detector, policy=arguments.policy, tick=work.Line(tr("Finding faces"))
    )
    print(done.sentence)
    return done.faces
