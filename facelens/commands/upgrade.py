"""Queries of a new model in the gallery of an old one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import stores, values, work
from facelens.errors import InputError
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands

FIT = {"auto": "auto", "always": "fit", "never": "none"}

EXAMPLES = ("facelens upgrade OLD_STORE NEW_STORE --report folder",)


def add(commands: Commands) -> None:
    from facelens.analyses import plan

    command = commands.add_parser(
        "upgrade", help=tr("whether queries of a new model find people in the gallery of an old one, and who is lost")
    )
    usual = plan.UpgradePlan()
    command.add_argument(
        "stores", nargs="*", metavar="STORE", help=tr("vectors of one gallery: the old model's, then the new one's")
    )
    command.add_argument("--gallery", type=Path, metavar="PATH", help=tr("where the pictures are now"))
    command.add_argument(
        "--model",
        type=Path,
        nargs=2,
        metavar=("OLD", "NEW"),
        help=tr("embed --gallery with these instead of giving STOREs; --upper and --further are files of models then"),
    )
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    command.add_argument("--upper", metavar="STORE", help=tr("the new model, trained without regard to the old one"))
    command.add_argument(
        "--further", nargs="+", default=[], metavar="STORE", help=tr("models of the matrix, and between old and new")
    )
    command.add_argument(
        "--transform",
        action="append",
        default=[],
        metavar="[DIRECTION=]FILE",
        help=tr("one that was fitted elsewhere: backward=FILE from new to old, forward=FILE from old to new"),
    )
    command.add_argument(
        "--fit", choices=tuple(FIT), default="auto", help=tr("transforms here (default: where needed)")
    )
    command.add_argument("--method", choices=plan.METHODS, default=usual.method, help=tr("of fitting (default: auto)"))
    command.add_argument(
        "--fit-on", default="", metavar="FILTER", help=tr('e.g. "split = train" (default: half of the people)')
    )
    command.add_argument(
        "--direction",
        choices=("auto", *plan.DIRECTIONS),
        default="auto",
        help=tr("how new queries meet the old gallery"),
    )
    command.add_argument("--task", choices=plan.TASKS, default=usual.task, help=tr("what the verdict speaks of"))
    command.add_argument("--far", type=values.rate, default=usual.far, help=tr("of 1:1 (default: 1e-3)"))
    command.add_argument("--fpir", type=values.rate, default=usual.fpir, help=tr("of 1:N (default: 1e-2)"))
    command.add_argument(
        "--scores", type=Path, action="append", default=[], metavar="FILE", help=tr("table of columns; again for more")
    )
    command.add_argument("--traffic", default="", metavar="COLUMN", help=tr("how often a face is asked for"))
    command.add_argument("--order", choices=plan.BACKFILLS, default="", help=tr("of the backfill in figure and file"))
    command.add_argument("--resamples", type=int, default=usual.resamples, help=tr("draws for intervals; 0 for none"))
    command.add_argument("--seed", type=int, default=usual.seed, help=tr("of the draws (default: 0)"))
    command.add_argument("--json", type=Path, metavar="FILE", help=tr("all numbers"))
    command.add_argument("--report", type=Path, metavar="DIR", help=tr("a page with everything, and all files"))
    command.add_argument("--csv", type=Path, metavar="FILE", help=tr("searches and pairs that are lost or gained"))
    command.add_argument("--backfill", type=Path, metavar="FILE", help=tr("the gallery, first to be embedded first"))
    command.add_argument(
        "--latex", type=Path, metavar="FILE", help=tr("models with gains, matrix, intra-class distances")
    )
    command.add_argument("--figure", type=Path, metavar="FILE", help=tr("the figures: NAME.pdf, .svg or .png"))
    work.disguise_arguments(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.analyses.plan import UpgradePlan
    from facelens.session import ensembles, folders, upgrading
    from facelens.session.upgrade_report import UpgradeReport, write_report
    from facelens.session.upgrade_tables import write_flips, write_order

    gathered = ensembles.gathered(
        _stores(arguments),
        cache=stores.store_root(arguments.root),
        gallery=arguments.gallery,
        scores=arguments.scores,
    )
    names = list(gathered.features)
    same = ("method", "direction", "task", "far", "fpir", "traffic", "resamples", "seed")
    plan = UpgradePlan(
        old=names[0],
        new=names[1],
        upper=names[2] if arguments.upper else "",
        others=tuple(names[3 if arguments.upper else 2 :]),
        transforms=FIT[arguments.fit],
        files=upgrading.transform_files(arguments.transform, gathered.features[names[0]], gathered.features[names[1]]),
        fitted_on=arguments.fit_on,
        **{name: getattr(arguments, name) for name in same},
    )
    faces, features = gathered.faces, gathered.features
    folder = folders.cache() / "transforms"
    found = upgrading.study(faces, plan, features=features, folder=folder, tick=work.Line(tr("Comparing")))
    people = upgrading.pictured(faces, found, features) if arguments.report or arguments.figure else None
    report = UpgradeReport(faces, found, order=arguments.order, features=features, notes=gathered.notes)
    report, people = work.outgoing(arguments, report, people)
    faces, found, features = report.faces, report.found, report.features
    for line in report.lines():
        print(line)
    if arguments.json:
        report.write_json(arguments.json)
    if arguments.csv:
        write_flips(arguments.csv, faces, found)
    if arguments.backfill:
        write_order(arguments.backfill, faces, found, order=arguments.order)
    if arguments.report:
        page = write_report(
            arguments.report, faces, found, order=arguments.order, people=people, features=features, notes=report.notes
        )
        print(tr("Report: {path}", path=str(page)))
    sizes = {name: one.dimensions for name, one in features.items()}
    if arguments.latex:
        from facelens.session import latex

        latex.write_latex(arguments.latex, latex.upgrade_latex(faces, found, dimensions=sizes))
    if arguments.figure:
        from facelens.session.drawing import draw_upgrade

        work.tell_figures(
            draw_upgrade(arguments.figure, faces, found, order=arguments.order, people=people, dimensions=sizes)
        )
    return 0


def _stores(arguments: argparse.Namespace) -> list[str]:
    """Old, new, upper, further; those of --model are filled first."""
    more = [*filter(None, [arguments.upper]), *arguments.further]
    if not arguments.model:
        if len(arguments.stores) != 2:
            raise InputError(
                tr("An upgrade is between two models; {n} are given.", n=len(arguments.stores)),
                hint=tr("Give OLD_STORE NEW_STORE, or --gallery PATH and --model OLD NEW."),
            )
        return [*arguments.stores, *more]
    if arguments.stores or arguments.gallery is None:
        raise InputError(
            tr("--model embeds the gallery of --gallery and stands in place of STORE."),
            hint=tr("Give --gallery PATH and no STORE."),
        )
    arguments.model = [*arguments.model, *map(Path, more)]
    return stores.embedded_stores(arguments)
