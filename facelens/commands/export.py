"""Faces and vectors for other programs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import stores, values, work
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.analyses.projection import Projection
    from facelens.commands import Commands
    from facelens.session.exporting import Exportable

EXAMPLES = (
    "facelens export STORE --out faces.parquet --map umap",
    "facelens export STORE --out folder --as fiftyone",
    "facelens export work.facelens --model NAME --out tensorboard",
)


def add(commands: Commands) -> None:
    from facelens.analyses import plan
    from facelens.session import exporting

    command = commands.add_parser(
        "export", help=tr("faces and vectors for Embedding Atlas, TensorBoard, FiftyOne, numpy or pandas")
    )
    command.add_argument("store", metavar="STORE", help=tr("vectors, named as in evaluate, or a NAME.facelens"))
    command.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help=tr("NAME.npz, NAME.parquet, or a folder for TensorBoard or FiftyOne"),
    )
    command.add_argument(
        "--as", dest="target", choices=tuple(exporting.TARGETS), default="", help=tr("default: as the ending says")
    )
    command.add_argument(
        "--map",
        dest="method",
        choices=plan.PROJECTIONS,
        help=tr("with a map by this method (default: UMAP where it was made before, else none)"),
    )
    command.add_argument(
        "--nearest",
        type=values.size,
        default=exporting.NEAREST,
        metavar="K",
        help=tr("in .parquet, the K nearest faces of each (default: 15; 0: none)"),
    )
    command.add_argument(
        "--thumbnails",
        type=values.size,
        default=exporting.THUMBNAIL,
        metavar="PIXELS",
        help=tr("in .parquet, pictures of this size (default: 96; 0: none)"),
    )
    command.add_argument("--model", default="", metavar="NAME", help=tr("which model of a workspace"))
    command.add_argument("--gallery", type=Path, metavar="PATH", help=tr("where the pictures are now"))
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    command.add_argument(
        "--scores", type=Path, action="append", default=[], metavar="FILE", help=tr("table of columns; again for more")
    )
    work.trust_argument(command)
    work.disguise_arguments(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.session import exporting

    target = exporting.target_of(arguments.out, arguments.target)
    found = _opened(arguments)
    for line in found.notes:
        print(line)
    features, faces, laid = work.outgoing(arguments, found.features, found.faces, _map(found, arguments.method))
    written = exporting.export(
        features,
        faces,
        arguments.out,
        target=target,
        projection=laid,
        excluded=found.excluded,
        nearest=arguments.nearest,
        thumbnails=arguments.thumbnails,
        tick=work.Line(tr("Writing")),
    )
    for line in (written.sentence(), *written.notes):
        print(line)
    if written.command:
        print(tr("To open it: {command}", command=written.command))
    return 0


def _opened(arguments: argparse.Namespace) -> Exportable:
    """The faces and vectors, of a store or of a workspace."""
    import numpy as np

    from facelens.analyses.plan import ProjectionPlan
    from facelens.images import quality
    from facelens.session import archive, exporting, vectors
    from facelens.words import escaped

    cache = stores.store_root(arguments.root)
    if Path(arguments.store).suffix == archive.SUFFIX:
        given = {"model": arguments.model, "gallery": arguments.gallery, "trusted": arguments.trust}
        found = exporting.of_file(Path(arguments.store), root=cache, **given, tick=work.Line(tr("Opening")))
    else:
        opened = vectors.open_stores([arguments.store], cache=cache, gallery=arguments.gallery)
        nobody = np.zeros(0, np.int64)
        found = exporting.Exportable(opened.faces, opened.features[0], nobody, ProjectionPlan(), opened.notes)
    faces, notes = found.faces, list(found.notes)
    for path in arguments.scores:
        faces, joined = quality.joined(faces, quality.read(path))
        notes += [f"{escaped(path.name)}: {joined.sentence()}", *joined.notes]
    return exporting.Exportable(faces, found.features, found.excluded, found.plan, tuple(notes))


def _map(found: Exportable, method: str | None) -> Projection | None:
    """The map that is asked for, else one that was made before."""
    from dataclasses import replace

    from facelens.analyses.projection import project
    from facelens.session import folders

    plan = replace(found.plan, model=found.features.provenance.model, other="", part=None)
    made = project(
        found.faces,
        replace(plan, method=method) if method else plan,
        features=found.features,
        excluded=found.excluded,
        folder=folders.cache() / "projections",
        refine=bool(method),
        tick=work.Line(tr("Laying out")),
    )
    return made if made.final else None
