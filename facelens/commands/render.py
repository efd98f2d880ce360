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
    from facelens.session.workspace import Workspace

EXAMPLES = ("facelens render roc.png.recipe.json --format svg", "facelens render figures/*.recipe.json --width 3.35")


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
    work.trust_argument(command)
    command.add_argument(
        "--strict", action="store_true", help=tr("draw nothing where the data is not what it was")
    )
    work.disguise_arguments(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from dataclasses import replace

    from facelens.figures.sheet import Paper
    from facelens.session import archive, depicting, figure_recipe, questions

    if arguments.out is not None and len(arguments.recipe) > 1:
        raise InputError(tr("--out is for one recipe."), hint=tr("Render them one by one, or leave --out."))
    hidden = work.guise(arguments)
    recipes = [(path, figure_recipe.read(path)) for path in arguments.recipe]
    last: tuple[Recipe, Workspace] | None = None  # recipes of one workspace share what is worked out
    for path, recipe in recipes:
        if last is not None and last[0].before == recipe.before and archive.same(last[0].workspace, recipe.workspace):
            workspace = last[1]
        else:
            workspace = questions.answered(_opened(recipe, arguments), recipe.before, tick=work.Line(tr("Working out")))
        row, which = depicting.DEPICTED[recipe.panel], frozenset({recipe.name})
        workspace = questions.answered(workspace, row.answers(which, recipe.view), tick=work.Line(tr("Working out")))
        last = recipe, workspace
        drawn = depicting.depict(
            workspace,
            recipe.panel,
            _place(recipe, path, arguments),
            which=(recipe.name,),
            view=recipe.view,
            paper=Paper(arguments.width or recipe.paper.width, arguments.dpi or recipe.paper.dpi),
            guise=replace(hidden, blur=hidden.blur or recipe.blur),
            tick=work.Line(tr("Drawing")),
        )
        print(tr("Drawn: {names}", names=escaped(str(drawn[0]))))
    return 0


def _place(recipe: Recipe, path: Path, arguments: argparse.Namespace) -> Path:
    from facelens.session.figure_recipe import SUFFIX

    if arguments.out is not None:
        out: Path = arguments.out
        return out.with_suffix(f".{arguments.format}") if arguments.format else out
    return path.with_name(path.name.removesuffix(SUFFIX)).with_suffix(f".{arguments.format or recipe.format}")


def _opened(recipe: Recipe, arguments: argparse.Namespace) -> Workspace:
    """What the recipe names; says what is not as it was."""
    from functools import partial

    from facelens.session import depicting, replay, tasks
    from facelens.session.workspace import Workspace

    if not depicting.DEPICTED[recipe.panel].gallery:
        replay.allowed(recipe.workspace, Path(recipe.view.run), trusted=arguments.trust)
        return Workspace()
    if recipe.view.forms:  # read as a model is: only where one was opened before
        replay.allowed(recipe.workspace, Path(recipe.view.forms[1]), trusted=arguments.trust)
    opened = replay.replay(
        recipe.workspace,
        trusted=arguments.trust,
        root=stores.store_root(arguments.root),
        embed=partial(work.apart, tasks.embed_gallery),
        check=partial(work.apart, tasks.check_gallery),
        tick=work.Line(tr("Opening")),
    )
    if opened.changed and arguments.strict:
        raise InputError(" ".join(opened.changed), hint=tr("Leave --strict to draw it all the same."))
    for line in opened.changed:
        print(tr("Not as it was: {what}", what=line))
    return opened.workspace
