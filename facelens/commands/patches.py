"""What `match` and `rerank` are both told: whose patches, moved how."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from facelens.commands import values
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.analyses.plan import MatchPlan
    from facelens.features.featureset import FeatureSet
    from facelens.features.patching import Model
    from facelens.images.faceset import FaceSet
    from facelens.images.occlusion import Occlusion
    from facelens.session.ground import Ground


OCCLUSIONS = ("mask", "sunglasses", "crop70", "blocks")


def patch_arguments(command: argparse.ArgumentParser) -> None:
    from facelens.analyses import plan

    usual = plan.MatchPlan()
    command.add_argument("--gallery", type=Path, metavar="PATH", help=tr("where the pictures are now"))
    command.add_argument(
        "--model", type=Path, metavar="FILE", help=tr("the model that made the vectors (default: where it lay then)")
    )
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    command.add_argument("--solver", choices=plan.SOLVERS, default=usual.solver, help=tr("default: exact"))
    command.add_argument(
        "--epsilon", type=values.above, default=usual.epsilon, help=tr("of sinkhorn and paper (default: 0.05)")
    )
    command.add_argument(
        "--grid",
        type=values.grid,
        metavar="4x4",
        help=tr("rows and columns of patches (default: as the model has them)"),
    )
    command.add_argument(
        "--shortlist", type=values.size, metavar="K", help=tr("faces the second stage looks at (default: 100; 0: all)")
    )
    command.add_argument("--occlude", choices=OCCLUSIONS, help=tr("paint this on what is searched for"))


def match_plan(arguments: argparse.Namespace, faces: int, **more: Any) -> MatchPlan:
    from facelens.analyses.plan import MatchPlan
    from facelens.session.match_report import checked

    same = {name: getattr(arguments, name) for name in ("solver", "epsilon", "grid")}
    plan = MatchPlan(**same, **more)
    if arguments.shortlist is not None:
        plan = replace(plan, shortlist=arguments.shortlist)
        checked(plan, faces)
    return plan


def ground(faces: FaceSet, features: FeatureSet, model: Model) -> Ground:
    """What every search by patches needs."""
    from facelens.session import folders
    from facelens.session.ground import Ground

    return Ground(faces, features, model, folders.cache() / "patches", quarantined=folders.quarantine())


def occlusion(arguments: argparse.Namespace) -> Occlusion | None:
    from facelens.images.occlusion import Occlusion

    return Occlusion(arguments.occlude) if arguments.occlude else None
