"""Model files and cached vectors."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import stores, work
from facelens.errors import InputError
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = (
    "facelens models inspect model.pth",
    "facelens models whatif model.pth FOLDER",
    "facelens models parity model.pth model.onnx FOLDER",
    "facelens models cached",
)


def add(commands: Commands) -> None:
    models = commands.add_parser("models", help=tr("model files and cached vectors"))
    model_commands = models.add_subparsers(metavar="COMMAND", required=True)
    inspect = model_commands.add_parser("inspect", help=tr("say what a model file is; runs nothing of it"))
    inspect.add_argument("file", type=Path, help=tr("checkpoint or ONNX file"))
    inspect.add_argument("--card", type=Path, metavar="FILE", help=tr("model card instead of the one beside the file"))
    inspect.add_argument("--network", metavar="NAME", help=tr("which network of a file that holds several"))
    inspect.add_argument("--json", action="store_true", help=tr("print the card as JSON"))
    inspect.add_argument("--save-card", action="store_true", help=tr("write the card beside the file"))
    inspect.set_defaults(run=_inspect)
    whatif = model_commands.add_parser("whatif", help=tr("feed pictures in other ways than the card says and compare"))
    whatif.add_argument("file", type=Path, help=tr("checkpoint or ONNX file"))
    whatif.add_argument("gallery", type=Path, help=tr("a folder, manifest, pairs.txt or .bin"))
    whatif.add_argument("--card", type=Path, metavar="FILE", help=tr("model card instead of the one beside the file"))
    whatif.add_argument("--n", type=int, default=160, help=tr("pictures of the sample (default: 160)"))
    whatif.add_argument("--pair", nargs=2, metavar="PICTURE", help=tr("also show the score of two pictures"))
    whatif.set_defaults(run=_whatif)
    parity = model_commands.add_parser("parity", help=tr("check that two forms of a model say the same"))
    parity.add_argument("first", type=Path, metavar="FILE_A", help=tr("one form"))
    parity.add_argument("second", type=Path, metavar="FILE_B", help=tr("the other; ends with 1 where they differ"))
    parity.add_argument("gallery", type=Path, help=tr("a folder, manifest, pairs.txt or .bin"))
    parity.add_argument("--n", type=int, default=200, help=tr("pictures to compare (default: 200)"))
    parity.set_defaults(run=_parity)
    cached = model_commands.add_parser("cached", help=tr("list cached vectors"))
    cached.add_argument("--store", type=Path, metavar="DIR", help=tr("where vectors are kept (default: the cache)"))
    cached.add_argument("--purge", action="store_true", help=tr("delete them all"))
    cached.set_defaults(run=_cached)
    known = model_commands.add_parser("known", help=tr("list the networks FaceLens knows"))
    known.set_defaults(run=_known)


def _inspect(arguments: argparse.Namespace) -> int:
    from facelens.features import card, library
    from facelens.features.checkpoint import ConsentBook
    from facelens.session.tasks import describe_model

    found = library.inspect(
        arguments.file, card=arguments.card, network=arguments.network, consents=ConsentBook(stores.consents())
    )
    if arguments.json:
        print(json.dumps(found.card.as_json(), indent=2))
    else:
        for line in describe_model(found):
            print(line)
    if arguments.save_card:
        card.save(found.card, card.beside(arguments.file))
        print(tr("Card written to {path}.", path=card.beside(arguments.file)))
    return 0 if found.fits else 1


def _whatif(arguments: argparse.Namespace) -> int:
    from facelens.features import whatif
    from facelens.session.tasks import open_gallery, try_feeding

    faces = open_gallery(arguments.gallery).faces
    pair = None
    if arguments.pair:
        at = {os.fsdecode(path): row for row, path in enumerate(faces.paths)}
        if unknown := [name for name in arguments.pair if name not in at]:
            raise InputError(
                tr("{name} is not in this gallery.", name=escaped(unknown[0])),
                hint=tr("Name pictures by their path inside the gallery."),
            )
        pair = (at[arguments.pair[0]], at[arguments.pair[1]])
    result = try_feeding(
        faces,
        arguments.file,
        pair=pair,
        card=arguments.card,
        consents=stores.consents(),
        limit=arguments.n,
        tick=work.Line(tr("Trying")),
    )
    for line in whatif.lines(result):
        print(line)
    return 0


def _parity(arguments: argparse.Namespace) -> int:
    from facelens.features import parity
    from facelens.session.tasks import compare_forms, open_gallery

    faces = open_gallery(arguments.gallery).faces
    result = compare_forms(
        faces,
        arguments.first,
        arguments.second,
        n=arguments.n,
        consents=stores.consents(),
        tick=work.Line(tr("Comparing")),
    )
    for line in parity.lines(result, faces):
        print(line)
    return 0 if result.passed else 1


def _cached(arguments: argparse.Namespace) -> int:
    from facelens.features import store

    root = stores.store_root(arguments.store)
    for info in store.stores(root):
        print(f"{info.size / 1e6:9.1f} MB  {info.rows:>9,}  {info.model}  {info.fingerprint[:12]}")
    if arguments.purge:
        store.purge(root)
        print(tr("All cached vectors are deleted."))
    return 0


def _known(arguments: argparse.Namespace) -> int:
    from facelens.features.models import MODELS

    for spec in MODELS.values():
        size = f"{spec.card.size[0]} × {spec.card.size[1]}"
        print(f"{spec.name:26} {spec.title:32} {size:>9}  {spec.card.dimensions:>5}-d  {spec.parameters / 1e6:6.2f} M")
    return 0
