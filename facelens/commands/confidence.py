"""How sure the parts of an embedding are."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import parts, stores, values, work
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = ("facelens confidence STORE --pair A.jpg B.jpg --drop 2,5 --figure parts.pdf",)


def add(commands: Commands) -> None:
    from facelens.analyses import plan

    command = commands.add_parser(
        "confidence", help=tr("how sure the parts of an embedding are, and how they vote on a pair")
    )
    usual = plan.PartsPlan()
    parts.part_arguments(command, models=tr("embed --gallery with this instead of giving a STORE"))
    command.add_argument(
        "--show", choices=plan.SHOWN, default="", help=tr("of each part (default: the first there is)")
    )
    command.add_argument("--match", choices=plan.MATCHES, default=usual.match, help=tr("how parts are matched"))
    command.add_argument("--far", type=values.rate, default=usual.far, help=tr("default: 1e-3"))
    command.add_argument("--drop", type=values.numbers, default=(), metavar="4,9", help=tr("parts that do not vote"))
    command.add_argument("--pair", nargs=2, default=(), metavar="PICTURE", help=tr("also how the parts vote on these"))
    command.add_argument("--csv", type=Path, metavar="FILE", help=tr("all faces, part by part"))
    work.disguise_arguments(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.session import vectors
    from facelens.session.confidence_report import confidence_of
    from facelens.session.part_tables import write_confidence

    names = parts.part_stores(arguments, most=1)
    opened = vectors.open_stores(names, cache=stores.store_root(arguments.root), gallery=arguments.gallery)
    found = confidence_of(
        opened,
        parts.parts_plan(arguments, show=arguments.show, match=arguments.match, far=arguments.far),
        drop=arguments.drop,
        pair=arguments.pair,
        resamples=arguments.resamples,
        tick=work.Line(tr("Looking at parts")),
    )
    (report,) = work.outgoing(arguments, found)
    for line in report.lines():
        print(line)
    if arguments.csv:
        write_confidence(arguments.csv, report.faces, report.parts)
    if arguments.json:
        report.write_json(arguments.json)
    if arguments.figure:
        from facelens.session.drawing import draw_confidence

        work.tell_figures(
            draw_confidence(
                arguments.figure,
                report.faces,
                report.parts,
                report.study,
                shown=report.study.shown,
                verdict=report.pair.verdict if report.pair is not None else None,
                ruling=report.ruling,
                match=report.plan.match,
                far=report.plan.far,
                model=report.plan.model,
            )
        )
    return 0
