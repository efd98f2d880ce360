"""A workspace with all that belongs to it as one zip."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import stores, work
from facelens.errors import InputError
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.commands import Commands

PICTURES = ("none", "thumbnails", "originals")  # as in images.giving, which takes a while to import
EXAMPLES = ("facelens collect work.facelens --out sent.zip --pseudonyms --blur --vectors",)


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "collect", help=tr("a workspace with pictures, marks and vectors as one zip, to be opened elsewhere")
    )
    command.add_argument("workspace", type=Path, metavar="WORKSPACE", help=tr("a NAME.facelens"))
    command.add_argument("--out", type=Path, required=True, metavar="FILE", help=tr("NAME.zip"))
    command.add_argument(
        "--pictures", choices=PICTURES, default="thumbnails", help=tr("default: thumbnails of 160 pixels")
    )
    command.add_argument("--vectors", action="store_true", help=tr("also the vectors of all models"))
    command.add_argument("--models", action="store_true", help=tr("also the files of models; see their licences"))
    command.add_argument(
        "--words", action="store_true", help=tr("under pseudonyms: notes, and names of tags and subsets, as written")
    )
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    work.trust_argument(command)
    work.disguise_arguments(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.session import archive, collecting

    if arguments.out.suffix.lower() != ".zip":
        raise InputError(
            tr("{name} is no zip.", name=escaped(arguments.out.name)), hint=tr("Give a name that ends in .zip.")
        )
    collection, notes = collecting.Collection.of_file(
        archive.read(arguments.workspace),
        root=stores.store_root(arguments.root),
        trusted=arguments.trust,
        tick=work.Line(tr("Opening")),
    )
    choice = collecting.Choice(
        arguments.pictures, arguments.vectors, arguments.models, arguments.words, work.guise(arguments)
    )
    done = work.apart(
        collecting.collect, collection, arguments.out.absolute(), choice, tick=work.Line(tr("Collecting"))
    )
    for line in (*notes, *done.said):
        print(line)
    print(tr("Written to {path}, {size} bytes.", path=escaped(str(arguments.out)), size=done.size))
    return 0
