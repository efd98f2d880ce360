"""Verification, identification and retrieval."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from facelens.commands import stores, values, work
from facelens.errors import InputError
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = (
    "facelens evaluate STORE --far 1e-2 1e-3 --json numbers.json",
    "facelens evaluate --gallery FOLDER --model old.pth new.pth --protocol pairs.txt",
)


def add(commands: Commands) -> None:
    from facelens.analyses import plan

    command = commands.add_parser("evaluate", help=tr("verification, identification and retrieval, with intervals"))
    command.add_argument(
        "store",
        nargs="?",
        metavar="STORE",
        help=tr("vectors to evaluate: a store's folder, the start of its name in the cache, or an exported file"),
    )
    command.add_argument(
        "--query", metavar="STORE", help=tr("queries: other faces, or the same by another model, searched in STORE")
    )
    command.add_argument("--query-gallery", type=Path, metavar="PATH", help=tr("where the pictures of --query are now"))
    command.add_argument("--compare", metavar="STORE", help=tr("a second model; shows what it does better or worse"))
    command.add_argument("--gallery", type=Path, metavar="PATH", help=tr("where the pictures are now"))
    command.add_argument(
        "--model",
        type=Path,
        nargs="+",
        metavar="FILE",
        help=tr("embed --gallery with this model first (two: compare them) instead of giving a STORE"),
    )
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    command.add_argument(
        "--protocol", type=Path, metavar="FILE", help=tr("pairs.txt, or a table with the columns a, b, same, fold")
    )
    command.add_argument("--all-pairs", action="store_true", help=tr("compare all pairs, whatever test there is"))
    command.add_argument("--only", nargs="+", choices=plan.PARTS, help=tr("leave the others out"))
    command.add_argument("--far", nargs="+", type=values.rate, help=tr("false accept rates (default: 1e-1 to 1e-6)"))
    command.add_argument("--rule", choices=plan.RULES, help=tr("of TAR at a FAR (default: roc)"))
    command.add_argument("--fpir", nargs="+", type=values.rate, help=tr("of open-set searches (default: 1e-1 to 1e-3)"))
    command.add_argument("--open-rule", choices=plan.OPEN_RULES, help=tr("default: nist"))
    command.add_argument("--r-mode", choices=plan.R_MODES, help=tr("whether R counts the query itself"))
    command.add_argument("--no-junk", action="store_true", help=tr("keep what the query's own camera saw"))
    command.add_argument("--nmi", choices=plan.NMI_MEANS, help=tr("mean (2019 numbers: geometric)"))
    command.add_argument("--cluster", action="store_true", help=tr("NMI also where it takes many minutes"))
    command.add_argument("--breakdown", metavar="COLUMN", help=tr("also for each value of a column"))
    command.add_argument("--resamples", type=int, help=tr("draws for intervals (default: 1000; 0 for none)"))
    command.add_argument("--seed", type=int, help=tr("of the draws (default: 0)"))
    command.add_argument("--no-detector-score", action="store_true", help=tr("templates: all pictures count alike"))
    command.add_argument("--unit-length", action="store_true", help=tr("templates: pictures at unit length"))
    command.add_argument("--no-flip", action="store_true", help=tr("templates: vectors without the mirrored picture"))
    command.add_argument("--empty-templates", choices=plan.EMPTY, help=tr("pairs of a template without usable picture"))
    command.add_argument("--json", type=Path, metavar="FILE", help=tr("also write all numbers as JSON"))
    command.add_argument("--csv", type=Path, metavar="FILE", help=tr("also as CSV, with every search and query"))
    command.add_argument("--latex", type=Path, metavar="FILE", help=tr("also the main table as LaTeX"))
    command.add_argument("--policy", type=Path, metavar="FILE", help=tr("also the thresholds for --policy-far as JSON"))
    command.add_argument("--policy-far", type=values.rate, default=1e-3, help=tr("default: 1e-3"))
    work.disguise_arguments(command, pictures=False)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.analyses.evaluation import evaluate_both
    from facelens.analyses.plan import ALL_PAIRS, PARTS, Plan
    from facelens.session import policy, reports, tables, vectors
    from facelens.session.outgoing import Sentences

    if arguments.query_gallery and not arguments.query:
        raise InputError(tr("--query-gallery is given without --query."), hint=tr("Give the store of the queries too."))
    if arguments.query and arguments.compare:
        raise InputError(
            tr("--query and --compare cannot be given together."), hint=tr("Evaluate the two one after the other.")
        )
    names = _stores(arguments)
    opened = vectors.open_stores(
        names,
        cache=stores.store_root(arguments.root),
        gallery=arguments.gallery,
        protocol=arguments.protocol,
        query=arguments.query or "",
        query_gallery=arguments.query_gallery,
    )
    test = None if arguments.all_pairs else opened.protocol
    asked: dict[str, Any] = {
        "parts": arguments.only and tuple(part for part in PARTS if part in arguments.only),
        "fars": arguments.far and tuple(sorted(set(arguments.far), reverse=True)),
        "rule": arguments.rule,
        "fpirs": arguments.fpir and tuple(sorted(set(arguments.fpir), reverse=True)),
        "open_rule": arguments.open_rule,
        "r_mode": arguments.r_mode,
        "breakdown": arguments.breakdown,
        "nmi_mean": arguments.nmi,
        "clustered": sys.maxsize if arguments.cluster else None,
        "empty_templates": arguments.empty_templates,
        "resamples": arguments.resamples,
        "seed": arguments.seed,
    }
    plan = Plan(
        protocol=test.name if test is not None else ALL_PAIRS,
        junk=not arguments.no_junk,
        flip=not arguments.no_flip,
        detector_score=not arguments.no_detector_score,
        keep_norm=not arguments.unit_length,
        **{name: value for name, value in asked.items() if value is not None},
    )
    second = opened.features[1] if len(opened.features) > 1 else None
    found = evaluate_both(
        opened.faces,
        test,
        plan,
        a=opened.features[0],
        b=second,
        query_a=opened.queries,
        searching=opened.searching,
        tick=work.Line(tr("Evaluating")),
    )
    faces, found, said = work.outgoing(arguments, opened.faces, found, Sentences(opened.notes))
    for line in (*said.lines, *reports.lines(found, faces=faces)):
        print(line)
    for out, write in (
        (arguments.json, tables.write_json),
        (arguments.csv, tables.write_csv),
        (arguments.latex, tables.write_latex),
    ):
        if out:
            write(out, found, faces=faces)
    if arguments.policy:
        policy.write_policy(arguments.policy, found, target=arguments.policy_far)
    return 0


def _stores(arguments: argparse.Namespace) -> list[str]:
    """The stores that are asked for; those of --model are filled first."""
    further = [arguments.compare] if arguments.compare else []
    if not arguments.model:
        if not arguments.store:
            raise InputError(
                tr("Nothing to evaluate is given."), hint=tr("Give a STORE, or --gallery PATH and --model FILE.")
            )
        return [arguments.store, *further]
    if arguments.store or arguments.gallery is None or len(arguments.model) > (1 if further or arguments.query else 2):
        raise InputError(
            tr("--model embeds the gallery of --gallery and stands in place of STORE."),
            hint=tr("Give --gallery PATH, no STORE, and two models at most."),
        )
    return [*stores.embedded_stores(arguments), *further]
