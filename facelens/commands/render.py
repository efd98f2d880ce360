"""Figures again, from the recipes that lie beside them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import stores, values, work
from facelens.errors import InputError
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.commands import Commands
    from facelens.session.figure_recipe import Recipe


def add(commands: Commands) -> None:
    command = commands.add_parser("render", help=tr("draw a figure again from its recipe, without a display"))
    command.add_argument("recipe", type=Path, nargs="+", metavar="RECIPE", help=tr("NAME.recipe.json beside a figure"))
    command.add_argument("--format", choices=("png", "svg", "pdf"), help=tr("(default: as it was)"))
    command.add_argument(
        "--out", type=Path, metavar="FILE", help=tr("where to (default: beside the recipe, under the figure's name)")
    )
    command.add_argument("--width", type=values.above, metavar="INCHES", help=tr("(default: as it was)"))
    command.add_argument("--dpi", type=values.count, help=tr("of PNG, and of pictures in SVG and PDF"))
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    command.add_argument(
        "--trust", action="store_true", help=tr("open what the recipe names wherever it lies: you know who made it")
    )
    command.add_argument(
        "--strict", action="store_true", help=tr("draw nothing where the data is not what it was")
    )
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.session import figure_recipe

    if arguments.out is not None and len(arguments.recipe) > 1:
        raise InputError(tr("--out is for one recipe."), hint=tr("Render them one by one, or leave --out."))
    for path in arguments.recipe:
        _draw(figure_recipe.read(path), path, arguments)
    return 0


def _draw(recipe: Recipe, path: Path, arguments: argparse.Namespace) -> None:
    from functools import partial

    from facelens.figures.sheet import Paper
    from facelens.session import depicting, figure_recipe, questions, replay, tasks
    from facelens.session.workspace import Workspace

    ending = f".{arguments.format or (arguments.out.suffix.lstrip('.') if arguments.out else recipe.format)}"
    name = path.name.removesuffix(figure_recipe.SUFFIX)
    out = arguments.out or path.with_name(name).with_suffix(ending)
    paper = Paper(arguments.width or recipe.paper.width, arguments.dpi or recipe.paper.dpi)
    if depicting.DEPICTED[recipe.panel].gallery:
        opened = replay.replay(
            recipe.workspace,
            trusted=arguments.trust,
            root=stores.store_root(arguments.root),
            embed=partial(work.apart, tasks.embed_gallery),
            check=partial(work.apart, tasks.check_gallery),
            tick=work.Line(tr("Opening")),
        )
    else:
        replay.allowed(recipe.workspace, Path(recipe.view.run), trusted=arguments.trust)
        opened = replay.Replayed(Workspace())
    if opened.changed and arguments.strict:
        raise InputError(" ".join(opened.changed), hint=tr("Leave --strict to draw it all the same."))
    for line in opened.changed:
        print(tr("Not as it was: {what}", what=line))
    workspace = questions.answered(opened.workspace, recipe.before, tick=work.Line(tr("Working out")))
    drawn = depicting.depict(
        workspace, recipe.panel, out, which=(recipe.name,), view=recipe.view, paper=paper,
        tick=work.Line(tr("Drawing")),
    )  # fmt: skip
    print(tr("Drawn: {names}", names=escaped(str(drawn[0]))))
