"""Many searches, before and after a second stage by patches."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import patches, stores, values, work
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands


ALPHAS = (0.0, 0.3, 0.5, 0.7, 1.0, -1.0)  # as published, and the plain sum

EXAMPLES = ('facelens rerank STORE --queries "role = query" --alphas 0.3,0.7,sum --json sweep.json',)


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "rerank", help=tr("what a second stage by patches does to many searches, before and after")
    )
    command.add_argument("store", metavar="STORE", help=tr("vectors of the gallery, named as in evaluate"))
    patches.patch_arguments(command)
    command.add_argument(
        "--queries",
        default="",
        metavar="FILTER",
        help=tr('who is searched for, e.g. "role = query", or a folder (default: all with another picture)'),
    )
    command.add_argument("--apart", action="store_true", help=tr("leave all queries out of the gallery"))
    command.add_argument(
        "--weights",
        type=values.many(values.weights),
        default=(),
        metavar="A,B",
        help=tr("default: all that can be used"),
    )
    command.add_argument(
        "--alphas",
        type=values.many(values.alpha),
        default=ALPHAS,
        metavar="0.3,0.7,sum",
        help=tr("default: 0,0.3,0.5,0.7,1,sum"),
    )
    command.add_argument("--json", type=Path, metavar="FILE", help=tr("all numbers but those of single queries"))
    command.add_argument("--latex", type=Path, metavar="FILE", help=tr("the table before and after for a paper"))
    command.add_argument("--figure", type=Path, metavar="FILE", help=tr("the curves: NAME.pdf, .svg or .png"))
    work.disguise_arguments(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.session import match_report, matching

    faces, features, notes = stores.opened_one(arguments)
    asking = match_report.asking(faces, arguments.queries)
    asked = patches.match_plan(arguments, len(faces))
    if arguments.weights:
        asked = replace(asked, weights=arguments.weights[0])
    model, plan, grid = match_report.ready(features, asked, file=arguments.model, consents=stores.consents())
    ground = replace(patches.ground(faces, features, model), queries=asking.queries)
    if arguments.apart and asking.among is not None:
        ground = replace(ground, excluded=asking.among)
    sweep = work.apart(
        matching.sweep,
        ground,
        plan,
        among=asking.among,
        weights=arguments.weights,
        alphas=arguments.alphas,
        occlusion=patches.occlusion(arguments),
        tick=work.Line(tr("Searching")),
    )
    report = match_report.RerankReport(faces, sweep, plan, grid, notes=(*notes, *asking.notes))
    report, _ = work.outgoing(arguments, report, asking.queries)
    faces, sweep = report.faces, report.sweep
    for line in report.lines():
        print(line)
    if arguments.json:
        report.write_json(arguments.json)
    if arguments.latex:
        from facelens.session import latex

        latex.write_latex(arguments.latex, latex.sweep_latex(faces, sweep, plan))
    if arguments.figure:
        from facelens.session.drawing import draw_match

        shown = replace(plan, grid=grid)
        work.tell_figures(draw_match(arguments.figure, faces, None, None, plan=shown, sweep=sweep, which=("sweep",)))
    return 0
