"""Faces as a map."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import stores, values, work
from facelens.errors import InputError
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.analyses.projection import Projection
    from facelens.commands import Commands
    from facelens.images.faceset import FaceSet

MOVED = 5  # people that are printed

EXAMPLES = (
    "facelens project STORE --out map.csv --out map.png",
    "facelens project OLD_STORE --other NEW_STORE --by moved --out moved.pdf",
)


def add(commands: Commands) -> None:
    from facelens.analyses import plan

    command = commands.add_parser("project", help=tr("the faces as a map, of one model or of two"))
    usual = plan.ProjectionPlan()
    command.add_argument("store", metavar="STORE", help=tr("vectors of a gallery, named as in evaluate"))
    command.add_argument("--other", metavar="STORE", help=tr("those of a model that replaces it: where faces move to"))
    command.add_argument("--gallery", type=Path, metavar="PATH", help=tr("where the pictures are now"))
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    command.add_argument("--method", choices=plan.PROJECTIONS, default=usual.method, help=tr("default: umap"))
    command.add_argument("--neighbours", type=int, default=usual.neighbours, help=tr("of UMAP (default: 15)"))
    command.add_argument("--min-dist", type=float, default=usual.min_dist, help=tr("of UMAP (default: 0.1)"))
    command.add_argument("--perplexity", type=float, default=usual.perplexity, help=tr("of t-SNE (default: 30)"))
    command.add_argument("--metric", choices=plan.METRICS, default=usual.metric, help=tr("default: cosine"))
    command.add_argument("--seed", type=int, default=usual.seed, help=tr("of UMAP and t-SNE (default: 0)"))
    command.add_argument(
        "--space",
        choices=plan.SPACES,
        default=usual.space,
        help=tr("two models fitted together, or each by itself and aligned (default: as their vectors allow)"),
    )
    command.add_argument(
        "--part", type=values.count, metavar="K", help=tr("of a model with parts (default: the whole vector)")
    )
    command.add_argument("--anew", action="store_true", help=tr("no map of nearly the same faces is taken over"))
    command.add_argument(
        "--scores", type=Path, action="append", default=[], metavar="FILE", help=tr("table of columns; again for more")
    )
    command.add_argument(
        "--by", default="identity", metavar="COLUMN", help=tr("colours of a figure: identity, moved, or a column")
    )
    command.add_argument(
        "--out",
        type=Path,
        action="append",
        required=True,
        metavar="FILE",
        help=tr("points: .csv, .parquet, .npz; figure: .png, .svg, .pdf; again for more"),
    )
    work.disguise_arguments(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.analyses.plan import ProjectionPlan
    from facelens.analyses.projection import project
    from facelens.figures.projection import Look
    from facelens.figures.projection_words import sentence
    from facelens.figures.sheet import FORMATS
    from facelens.session import ensembles, folders
    from facelens.session.drawing import draw_projection
    from facelens.session.outgoing import Sentences
    from facelens.session.projection_tables import TABLES, write_points

    figures = tuple(f".{kind}" for kind in FORMATS)
    for out in arguments.out:
        if out.suffix.lower() not in (*TABLES, *figures):
            raise InputError(
                tr("{name} is neither a table of points nor a figure.", name=escaped(out.name)),
                hint=tr("Name it .csv, .parquet or .npz, or .png, .svg or .pdf."),
            )
    wanted = [one for one in (arguments.store, arguments.other) if one]
    cache = stores.store_root(arguments.root)
    gathered = ensembles.gathered(wanted, cache=cache, gallery=arguments.gallery, scores=arguments.scores)
    faces, names = gathered.faces, list(gathered.features)
    if arguments.by not in ("identity", "moved", *faces.columns):
        known = ", ".join(escaped(name) for name in ("identity", "moved", *faces.columns))
        raise InputError(
            tr("There is no column {name}.", name=escaped(arguments.by)), hint=tr("Try {known}.", known=known)
        )
    same = ("method", "neighbours", "min_dist", "perplexity", "metric", "seed", "space")
    plan = ProjectionPlan(
        model=names[0],
        other=names[1] if len(names) > 1 else "",
        part=arguments.part - 1 if arguments.part else None,
        **{name: getattr(arguments, name) for name in same},
    )
    found = project(
        faces,
        plan,
        features=gathered.features[names[0]],
        other=gathered.features[names[1]] if len(names) > 1 else None,
        folder=folders.cache() / "projections",
        anew=arguments.anew,
        tick=work.Line(tr("Laying out")),
    )
    faces, found, said = work.outgoing(arguments, faces, found, Sentences(gathered.notes))
    for line in (*said.lines, sentence(found), *(one for one in found.notes if one != found.agreement)):
        print(line)
    for line in _moved(faces, found):
        print(line)
    for out in arguments.out:
        if out.suffix.lower() in TABLES:
            write_points(out, faces, found)
        else:
            draw_projection(out, faces, found, look=Look(by=arguments.by), which=("map",))
    return 0


def _moved(faces: FaceSet, found: Projection) -> list[str]:
    """Who moved most from one model to the other."""
    from facelens.analyses.moves import grouped
    from facelens.figures.projection_words import moved_as
    from facelens.words import number, plural

    if found.moved is None:
        return []
    people = grouped(found.moved, faces.identity.codes[faces.rows_of(found.ids)])
    said = [tr("Moved most, by the mean {what}:", what=moved_as(found))]
    for code, by, n in zip(people.codes[:MOVED].tolist(), people.moved.tolist(), people.faces.tolist()):
        counted = plural(n, "{n} face", "{n} faces")
        said.append(f"  {number(by, 3)}  {escaped(faces.identity.names[code])}, {counted}")
    return said
