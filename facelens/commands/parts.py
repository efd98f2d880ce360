"""What `confidence` and `learners` are both told: whose embedding, cut how."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from facelens.commands import stores, values
from facelens.errors import InputError
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.analyses.plan import PartsPlan


def part_arguments(command: argparse.ArgumentParser, *, models: str) -> None:
    from facelens.analyses import plan

    usual = plan.PartsPlan()
    command.add_argument("store", nargs="?", metavar="STORE", help=tr("vectors of a model, named as in evaluate"))
    command.add_argument("--gallery", type=Path, metavar="PATH", help=tr("where the pictures are now"))
    command.add_argument("--model", type=Path, nargs="+", metavar="FILE", help=models)
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    command.add_argument(
        "--parts", type=values.count, default=0, metavar="K", help=tr("slices of an ordinary embedding (default: 16)")
    )
    command.add_argument(
        "--cut", choices=plan.CUTS, default=usual.cut, help=tr("slices as they lie, by principal axes, or by chance")
    )
    command.add_argument("--unit", action="store_true", help=tr("bring each slice to length 1"))
    command.add_argument("--resamples", type=int, default=500, help=tr("draws for intervals; 0 for none"))
    command.add_argument("--seed", type=int, default=usual.seed, help=tr("of the draws (default: 0)"))
    command.add_argument("--json", type=Path, metavar="FILE", help=tr("all numbers but those of single faces"))
    command.add_argument("--figure", type=Path, metavar="FILE", help=tr("the figures: NAME.pdf, .svg or .png"))


def parts_plan(arguments: argparse.Namespace, **more: Any) -> PartsPlan:
    from facelens.analyses.plan import PartsPlan

    same = {name: getattr(arguments, name) for name in ("parts", "cut", "unit", "seed")}
    return PartsPlan(**same, **more)


def part_stores(arguments: argparse.Namespace, *, most: int) -> list[str]:
    """The store that is asked for; those of --model are filled first, `most` of them."""
    if not arguments.model and not arguments.store:
        raise InputError(tr("No vectors are given."), hint=tr("Give a STORE, or --gallery PATH and --model FILE."))
    if not arguments.model:
        return [arguments.store]
    if arguments.store or arguments.gallery is None or len(arguments.model) > most:
        raise InputError(
            tr("--model embeds the gallery of --gallery and stands in place of STORE."),
            hint=tr("Give --gallery PATH, no STORE, and no more models than are looked at."),
        )
    return stores.embedded_stores(arguments)
