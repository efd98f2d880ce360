"""One search, by embedding and by patches."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import align, patches, stores, values, work
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = ("facelens match FACE.jpg STORE --occlude mask --alpha 0.7 --figure match.pdf",)


def add(commands: Commands) -> None:
    from facelens.analyses import plan

    command = commands.add_parser(
        "match", help=tr("search for a face by its embedding and by its patches, and say why")
    )
    command.add_argument("query", metavar="QUERY", help=tr("a picture, or the path of one inside the gallery"))
    command.add_argument("store", metavar="GALLERY_STORE", help=tr("vectors of the gallery, named as in evaluate"))
    patches.patch_arguments(command)
    command.add_argument(
        "--alpha", type=values.alpha, default=plan.ALPHA, help=tr("share of the patches (0.7), or sum")
    )
    command.add_argument("--weights", type=values.weights, default="uniform", help=tr("default: uniform"))
    command.add_argument("--identity", default="", metavar="NAME", help=tr("who a picture from elsewhere shows"))
    align.detector_arguments(command, required=False)
    command.add_argument("--top", type=values.count, default=10, metavar="N", help=tr("faces to list (default: 10)"))
    command.add_argument("--figure", type=Path, metavar="FILE", help=tr("the figures: NAME.pdf, .svg or .png"))
    command.add_argument("--csv", type=Path, metavar="FILE", help=tr("the shortlist before and after"))
    command.add_argument("--json", type=Path, metavar="FILE", help=tr("all numbers, with the plans of two faces"))
    work.disguise_arguments(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.session import match_report
    from facelens.session.match_tables import write_ranking
    from facelens.session.matched import Subject

    faces, features, notes = stores.opened_one(arguments)
    query = match_report.query_of(faces, arguments.query, identity=arguments.identity)
    queries, said = query.queries, [*notes, *query.notes]
    if queries is not None and arguments.detector:
        queries = align.aligned(queries, arguments)
    elif queries is not None and faces.landmarks is not None:
        said.append(tr("The picture is taken as an aligned face; of a photograph find the face with --detector FILE."))
    asked = patches.match_plan(arguments, len(faces), alpha=arguments.alpha, weights=arguments.weights)
    model, plan, _ = match_report.ready(features, asked, file=arguments.model, consents=stores.consents())
    ground = replace(patches.ground(faces, features, model), queries=queries)
    found = work.apart(
        match_report.examine,
        ground,
        query.face,
        plan,
        occlusion=patches.occlusion(arguments),
        tick=work.Line(tr("Matching")),
    )
    home = query.face if queries is None else None
    name = "" if queries is None else queries.file_name(0)
    subject = Subject(faces, found.searched, plan, home, name)
    report = match_report.MatchReport(subject, found, top=arguments.top, notes=tuple(said))
    report, _ = work.outgoing(arguments, report, queries)  # whose names are hidden too
    faces, found, name = report.subject.faces, report.found, report.subject.name
    for line in report.lines():
        print(line)
    if arguments.csv:
        write_ranking(arguments.csv, faces, found.searched, plan, query=home, name=name)
    if arguments.json:
        report.write_json(arguments.json)
    if arguments.figure:
        from facelens.session.drawing import draw_match

        work.tell_figures(
            draw_match(
                arguments.figure,
                faces,
                found.searched,
                found.pair,
                plan=plan,
                query=home,
                name=name,
                other=found.other,
                which=("flow", "ranking", "regions"),
            )
        )
    return 0
