"""Everything that a workspace says, as one page with its numbers, tables and figures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import stores, work
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = (
    "facelens report work.facelens --out report",
    "facelens report work.facelens --out report --only upgrade",
    "facelens report work.facelens --out report --pseudonyms --blur",
)


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "report", help=tr("a page of all that a workspace says, with its numbers, tables and figures")
    )
    command.add_argument("workspace", type=Path, metavar="WORKSPACE", help=tr("a .facelens file"))
    command.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help=tr("a new folder, or that of a report to replace")
    )
    command.add_argument("--only", default="", metavar="A,B", help=tr("some sections, e.g. evaluation,upgrade"))
    command.add_argument(
        "--with-sweep", action="store_true", help=tr("search for every face by its patches; takes minutes")
    )
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    work.trust_argument(command)
    work.disguise_arguments(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from functools import partial

    from facelens.session import archive, replay, report, report_folder, tasks
    from facelens.session.outgoing import Sentences, outgoing

    only = [name.strip() for name in arguments.only.split(",") if name.strip()]
    report.chosen(only)
    report_folder.check(arguments.out)
    opened = replay.replay(
        archive.read(arguments.workspace),
        trusted=arguments.trust,
        root=stores.store_root(arguments.root),
        embed=partial(work.apart, tasks.embed_gallery),
        check=partial(work.apart, tasks.check_gallery),
        tick=work.Line(tr("Opening")),
    )
    guise = work.one_guise(arguments)  # what is printed and what is written have the same pseudonyms
    _, told = outgoing(guise, opened.workspace.faces, Sentences((*opened.changed, *opened.notes)))
    for line in told.lines:
        print(line)
    page = report.write(
        arguments.out, opened.workspace, only=only, sweep=arguments.with_sweep, notes=opened.changed,
        guise=guise, tick=work.Line(tr("Reporting")),
    )  # fmt: skip
    print(tr("Report: {path}", path=escaped(str(page))))
    return 0
