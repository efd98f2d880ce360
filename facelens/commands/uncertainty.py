"""Where several models disagree."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import stores, values, work
from facelens.errors import InputError
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = (
    "facelens uncertainty STORE STORE STORE --csv faces.csv",
    "facelens uncertainty --gallery FOLDER --model a.pth b.pth --by quality --low-first --scores quality.csv",
)


def add(commands: Commands) -> None:
    from facelens.analyses import plan

    command = commands.add_parser(
        "uncertainty", help=tr("where several models disagree, and what refusing such pictures does")
    )
    usual = plan.EnsemblePlan()
    command.add_argument(
        "stores",
        nargs="*",
        metavar="STORE",
        help=tr("vectors of one gallery by two models or more, named as in evaluate"),
    )
    command.add_argument("--gallery", type=Path, metavar="PATH", help=tr("where the pictures are now"))
    command.add_argument(
        "--model", type=Path, nargs="+", metavar="FILE", help=tr("embed --gallery with these instead of giving STOREs")
    )
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    command.add_argument("--members", nargs="+", default=(), metavar="NAME", help=tr("models (default: all)"))
    command.add_argument("--target", default="", metavar="NAME", help=tr("the query model (default: the last)"))
    command.add_argument(
        "--mode", choices=plan.MODES, default=usual.mode, help=tr("into the query model's space, or a new one")
    )
    command.add_argument(
        "--method", choices=plan.METHODS, default=usual.method, help=tr("of fitting transforms (default: auto)")
    )
    command.add_argument("--copies", type=values.count, default=1, metavar="N", help=tr("transforms of each model"))
    command.add_argument(
        "--transform",
        action="append",
        default=[],
        metavar="[MODEL=]FILE",
        help=tr("one that was fitted elsewhere; again for further models"),
    )
    command.add_argument(
        "--fit-on", default="", metavar="FILTER", help=tr('e.g. "split = train" (default: half of the people)')
    )
    command.add_argument(
        "--queries", choices=plan.QUERIES, default=usual.queries, help=tr("who is compared with the ensemble")
    )
    command.add_argument(
        "--scores", type=Path, action="append", default=[], metavar="FILE", help=tr("table of scores; again for more")
    )
    command.add_argument("--by", metavar="COLUMN", help=tr("refuse by this score (default: the variance)"))
    command.add_argument("--low-first", action="store_true", help=tr("low values of --by are refused first"))
    command.add_argument("--reject", type=values.rate, metavar="SHARE", help=tr("of the faces (default: 0.05)"))
    command.add_argument("--far", type=values.rate, default=usual.far, help=tr("of 1:1 (default: 1e-3)"))
    command.add_argument("--fpir", type=values.rate, default=usual.fpir, help=tr("of 1:N (default: 1e-2)"))
    command.add_argument("--refuse", choices=plan.REFUSE, default=usual.refuse, help=tr("1:1, whose pictures"))
    command.add_argument(
        "--emptied", choices=plan.EMPTIED, default=usual.emptied, help=tr("1:N, a template that lost all its pictures")
    )
    command.add_argument(
        "--weights", choices=plan.WEIGHTS, default=usual.weights, help=tr("1:N, of the pictures of a template")
    )
    command.add_argument(
        "--right", choices=plan.RECOGNISED, default=usual.right, help=tr("when a face counts as recognised")
    )
    command.add_argument("--resamples", type=int, default=usual.resamples, help=tr("draws for intervals; 0 for none"))
    command.add_argument("--seed", type=int, default=usual.seed, help=tr("of the draws (default: 0)"))
    command.add_argument(
        "--update-query", default="", metavar="NAME", help=tr("also another query model, by its name or its STORE")
    )
    command.add_argument("--csv", type=Path, metavar="FILE", help=tr("all faces with their scores"))
    command.add_argument("--refused", type=Path, metavar="FILE", help=tr("the refused faces alone, as CSV"))
    command.add_argument("--curve", type=Path, metavar="FILE", help=tr("the errors that are left: NAME.csv or .json"))
    command.add_argument("--json", type=Path, metavar="FILE", help=tr("all numbers about the ensemble"))
    command.add_argument("--figure", type=Path, metavar="FILE", help=tr("the charts: NAME.pdf, .svg or .png"))
    work.disguise_arguments(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.analyses.plan import VARIANCE, EnsemblePlan
    from facelens.session import ensembles, folders, refusals
    from facelens.session.uncertainty_report import SHARE, UncertaintyReport

    if arguments.low_first and not arguments.by:
        raise InputError(tr("--low-first is given without --by."), hint=tr("Give the column to refuse by too."))
    gathered = ensembles.gathered(
        _stores(arguments),
        cache=stores.store_root(arguments.root),
        gallery=arguments.gallery,
        scores=arguments.scores,
        update=arguments.update_query,
    )
    same = ("target", "mode", "method", "copies", "queries", "far", "fpir", "refuse", "emptied", "weights", "right")
    asked = {name: getattr(arguments, name) for name in (*same, "resamples", "seed")}
    wanted = EnsemblePlan(
        members=tuple(dict.fromkeys(arguments.members)),
        fitted_on=arguments.fit_on,
        by=arguments.by or VARIANCE,
        lower=arguments.low_first,
        **asked,
    )
    plan = ensembles.planned(gathered, wanted, files=arguments.transform)
    folder, tick = folders.cache() / "transforms", work.Line(tr("Assessing"))
    found = ensembles.assessed(gathered, plan, folder=folder, tick=tick)
    made = UncertaintyReport(
        gathered.faces,
        found,
        plan,
        share=arguments.reject or SHARE,
        scores=gathered.scores,
        update=ensembles.updated(gathered, plan, folder=folder, tick=tick) if gathered.update else None,
        notes=gathered.notes,
    )
    (report,) = work.outgoing(arguments, made)
    faces, found = report.faces, report.found
    for line in report.lines():
        print(line)
    for out, only in ((arguments.csv, None), (arguments.refused, report.refused)):
        if out:
            refusals.write_faces(out, faces, found, limit=report.limit, only=only)
    if arguments.curve:
        refusals.write_curves(arguments.curve, found)
    if arguments.json:
        report.write_json(arguments.json)
    if arguments.figure:
        from facelens.session.drawing import draw_uncertainty

        changed = report.update
        work.tell_figures(
            draw_uncertainty(
                arguments.figure,
                faces,
                found,
                step=report.step,
                lower=found.lower,
                plan=report.plan,
                against=next((name for name in report.scores if name != report.plan.by), ""),
                update=None if changed is None else lambda **_: changed,
            )
        )
    return 0


def _stores(arguments: argparse.Namespace) -> list[str]:
    """The stores that are asked for; those of --model are filled first."""
    if not arguments.model and not arguments.stores:
        raise InputError(
            tr("No vectors are given."), hint=tr("Give two STOREs or more, or --gallery PATH and --model FILE FILE.")
        )
    if not arguments.model:
        return list(arguments.stores)
    if arguments.stores or arguments.gallery is None:
        raise InputError(
            tr("--model embeds the gallery of --gallery and stands in place of STORE."),
            hint=tr("Give --gallery PATH and no STORE."),
        )
    return stores.embedded_stores(arguments)
