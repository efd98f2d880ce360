"""What each learner of a divided embedding finds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import parts, stores, work
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = ("facelens learners STORE --baseline STORE --figure learners.pdf",)


def add(commands: Commands) -> None:
    command = commands.add_parser("learners", help=tr("what each learner of a divided embedding finds alone"))
    parts.part_arguments(command, models=tr("embed --gallery with this (and a baseline) instead of giving a STORE"))
    command.add_argument("--baseline", metavar="STORE", help=tr("an undivided model, cut into as many slices"))
    command.add_argument("--csv", type=Path, metavar="FILE", help=tr("all queries with the rank of each learner"))
    command.add_argument("--latex", type=Path, metavar="FILE", help=tr("the table of the learners for a paper"))
    work.disguise_arguments(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.session import vectors
    from facelens.session.learners_report import learners_of
    from facelens.session.part_tables import write_queries

    names = parts.part_stores(arguments, most=1 if arguments.baseline else 2)
    if arguments.baseline:
        names.append(arguments.baseline)
    opened = vectors.open_stores(names, cache=stores.store_root(arguments.root), gallery=arguments.gallery)
    found = learners_of(
        opened, parts.parts_plan(arguments), resamples=arguments.resamples, tick=work.Line(tr("Looking at learners"))
    )
    (report,) = work.outgoing(arguments, found)
    for line in report.lines():
        print(line)
    if arguments.csv:
        write_queries(arguments.csv, report.faces, report.found)
    if arguments.json:
        report.write_json(arguments.json)
    if arguments.latex:
        from facelens.session import latex

        latex.write_latex(arguments.latex, latex.learners_latex(report.faces, report.found))
    if arguments.figure:
        from facelens.session.drawing import draw_learners

        work.tell_figures(draw_learners(arguments.figure, report.faces, report.found))
    return 0
