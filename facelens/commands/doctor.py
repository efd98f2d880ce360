"""What is wrong with a gallery."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import work
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = ("facelens doctor FOLDER --json findings.json",)


def add(commands: Commands) -> None:
    command = commands.add_parser("doctor", help=tr("say what is wrong with a gallery"))
    command.add_argument("gallery", type=Path, help=tr("a folder, manifest, pairs.txt or .bin"))
    command.add_argument("--json", type=Path, metavar="FILE", help=tr("also write the findings as JSON"))
    work.disguise_arguments(command, pictures=False)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.files import atomic_write
    from facelens.images import doctor
    from facelens.session.outgoing import Sentences
    from facelens.session.tasks import check_gallery, open_gallery

    reading = open_gallery(arguments.gallery)
    diagnosis = work.apart(check_gallery, reading.faces, tick=work.Line(tr("Checking")))
    faces, diagnosis, said = work.outgoing(arguments, reading.faces, diagnosis, Sentences(reading.notes))
    for line in (*said.lines, *doctor.report(diagnosis, faces)):
        print(line)
    if arguments.json:
        with atomic_write(arguments.json) as file:
            file.write(json.dumps(doctor.as_json(diagnosis, faces), indent=2).encode())
    return 0
