"""Vectors of a gallery by a model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import align, stores, work
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = (
    "facelens embed FOLDER --model model.pth",
    "facelens embed PHOTOGRAPHS --model model.onnx --detector yunet.onnx --export vectors.npz",
)


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "embed", help=tr("embed a gallery with a model; what is done already is not done again")
    )
    command.add_argument("gallery", type=Path, help=tr("a folder, manifest, pairs.txt or .bin"))
    command.add_argument("--model", type=Path, required=True, metavar="FILE", help=tr("checkpoint or ONNX file"))
    command.add_argument("--card", type=Path, metavar="FILE", help=tr("model card instead of the one beside the file"))
    command.add_argument("--store", type=Path, metavar="DIR", help=tr("where vectors are kept (default: the cache)"))
    command.add_argument(
        "--export",
        type=Path,
        metavar="FILE",
        help=tr("also write the vectors: NAME.npz, NAME.parquet, or a folder for TensorBoard's projector"),
    )
    command.add_argument("--skipped", type=Path, metavar="FILE", help=tr("also list the skipped pictures as CSV"))
    command.add_argument("--network", metavar="NAME", help=tr("which network of a file that holds several"))
    align.detector_arguments(command, required=False)
    command.add_argument("--batch", type=int, default=32, help=tr("pictures at a time (default: 32)"))
    command.add_argument("--threads", type=int, default=None, help=tr("processor cores (default: all)"))
    work.disguise_arguments(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.session import exporting, tasks

    if arguments.export:
        exporting.target_of(arguments.export)  # before anything is done
    faces = tasks.open_gallery(arguments.gallery).faces
    if arguments.detector:
        faces = align.aligned(faces, arguments)
    done = work.apart(
        tasks.embed_gallery,
        faces,
        arguments.model,
        card=arguments.card,
        root=stores.store_root(arguments.store),
        consents=stores.consents(),
        batch=arguments.batch,
        threads=arguments.threads,
        network=arguments.network,
        tick=work.Line(tr("Embedding")),
    )
    print(done.sentence)
    for line in done.notes:
        print(line)
    print(tr("Store: {path}", path=done.store))
    (told,) = work.outgoing(arguments, faces)
    if arguments.skipped:
        tasks.write_skipped(arguments.skipped, told, skipped=done.skipped)
    if arguments.export:
        written = exporting.export(done.features(faces), told, arguments.export, tick=work.Line(tr("Writing")))
        print(written.sentence())
    return 0
