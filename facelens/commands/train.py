"""A training as a recipe says."""

from __future__ import annotations

import argparse
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from facelens.commands import work
from facelens.errors import Cancelled
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.commands import Commands

EXAMPLES = (
    "facelens train cosface --gallery FOLDER --out run --set loss.scale=32 epochs=20",
    "facelens train cosface --out run --resume",
)


def add(commands: Commands) -> None:
    command = commands.add_parser("train", help=tr("train a model as a recipe says"))
    command.add_argument("recipe", help=tr("a recipe's name (cosface, universal, ...) or a TOML file"))
    command.add_argument("--gallery", type=Path, help=tr("what to train on (default: the recipe's, or drawn people)"))
    command.add_argument("--out", type=Path, metavar="DIR", help=tr("default: trained/RECIPE"))
    command.add_argument("--cache", type=Path, metavar="DIR", help=tr("where cut-out faces are kept (default: --out)"))
    command.add_argument("--resume", action="store_true", help=tr("go on where a training stopped"))
    command.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help=tr("another value, e.g. loss.margin=0.4"),
    )
    command.add_argument(
        "--device", default="", help=tr("cpu, cuda, cuda:1 (default: the first graphics card, if any)")
    )
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from facelens.features import recipe as recipes
    from facelens.session.training import train_model

    recipe = recipes.load(arguments.recipe, changes=arguments.set)
    out = arguments.out or Path("trained") / recipe.name
    with _Steps() as steps:
        done = train_model(
            recipe,
            out,
            gallery=arguments.gallery,
            cache=arguments.cache,
            resume=arguments.resume,
            device=arguments.device,
            tick=steps,
        )
    if steps.talks:
        for line in done.lines():
            print(line)
    return 0


class _Steps(work.Line):
    """Prints each row of a training; Ctrl-C ends it after the step at hand, so that it can be resumed there."""

    def __init__(self) -> None:
        super().__init__("")
        self.talks = os.environ.get("RANK", "0") == "0"  # under torchrun one process speaks for all
        self._stopped = False
        self._usual: Any = None

    def __enter__(self) -> _Steps:
        try:
            self._usual = signal.signal(signal.SIGINT, self._stop)
        except ValueError:  # not the main thread: whoever runs us there deals with Ctrl-C
            self._usual = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._usual is not None:
            signal.signal(signal.SIGINT, self._usual)

    def _stop(self, *_: object) -> None:
        if self._stopped:
            raise KeyboardInterrupt
        self._stopped = True

    def __call__(self, done: int, total: int, note: str = "") -> None:
        if self._stopped:
            raise Cancelled
        self.title = note
        if self.talks:
            super().__call__(done, total)

    def partial(self, row: object) -> None:
        from facelens.session.training import words

        if self.talks:
            print(words(row), flush=True)
