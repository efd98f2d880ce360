"""Training as the command line and the window start it. torch is imported only inside the functions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from facelens.errors import InputError
from facelens.features.recipe import Recipe, stage
from facelens.progress import Tick, silent
from facelens.session.tasks import open_gallery
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.features.train import Trained


@dataclass(frozen=True)
class Training:
    """What was trained, in order: the files of each, its steps and last validation."""

    files: tuple[tuple[Path, ...], ...]
    steps: tuple[int, ...]
    validation: tuple[dict[str, float], ...]

    def lines(self) -> list[str]:
        """What to say about it."""
        said = []
        for files, steps, measured in zip(self.files, self.steps, self.validation):
            said.append(tr("Trained in {n} steps: {paths}", n=f"{steps:,}", paths=", ".join(map(str, files))))
            if measured:
                said.append(tr("People who were held out: {numbers}", numbers=_numbers(measured)))
        return said


def train_model(
    recipe: Recipe,
    out: Path,
    *,
    gallery: Path | None = None,
    cache: Path | None = None,
    resume: bool = False,
    device: str = "",
    tick: Tick = silent,
) -> Training:
    """Train what a recipe says; a recipe of several stages trains each into a folder of its own below `out`."""
    from facelens.features.train import train

    given = gallery or (Path(recipe.data.gallery) if recipe.data.gallery else None)
    faces = open_gallery(given, tick=tick).faces if given is not None else None
    done: list[Trained] = []
    for number in range(len(recipe.stages) or 1):
        this, folder = recipe, out
        if recipe.stages:
            old = str(done[-1].files[0]) if done else ""
            this = stage(recipe, number, old=old)
            folder = out / this.name
        done.append(train(this, folder, faces=faces, cache=cache or out, resume=resume, device=device, tick=tick))
    return Training(
        tuple(one.files for one in done), tuple(one.step for one in done), tuple(one.validation for one in done)
    )


def words(row: object) -> str:
    """A row of history for a terminal.

    >>> words({"step": 20, "steps": 100, "rate": 0.1, "terms": {"loss": 1.5}})
    '      20 of 100  rate 0.1  loss 1.500'
    """
    if not isinstance(row, dict):
        raise InputError(tr("This is no row of a training."))
    parts = [f"{row['step']:>8,} of {row['steps']:,}", f"rate {row['rate']:.4g}"]
    parts += [_numbers(row.get(part, {})) for part in ("terms", "facts", "validation")]
    return "  ".join(filter(None, parts))


def _numbers(named: dict[str, Any]) -> str:
    """Numbers by name; a table in it is one of counts.

    >>> _numbers({"loss": 1.5, "mined": {"smiling": 812, "hat": 40}, "phase": "merged"})
    'loss 1.500  mined smiling 812, hat 40'
    """
    said = [f"{name} {value:.3f}" for name, value in named.items() if isinstance(value, float)]
    tables = [(name, value) for name, value in named.items() if isinstance(value, dict)]
    said += [f"{name} {', '.join(f'{one} {count:,}' for one, count in table.items())}" for name, table in tables]
    return "  ".join(said)
