"""Training as the command line and the window start it. torch is imported only inside the functions.

Beside what `features/train.py` writes, the folder of a training holds `run.json`: the whole recipe, the gallery and the
faces that were left out. With it a training goes on after a kill, whoever began it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from facelens.errors import FaceLensError, InputError
from facelens.features.history import history
from facelens.features.recipe import Recipe, of_json, stage
from facelens.files import atomic_write
from facelens.images.faceset import FaceSet, Ids
from facelens.progress import Tick, offer, silent
from facelens.session.tasks import open_gallery
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.features.train import Trained

RUN, STATE, CHECKPOINT = "run.json", "state.safetensors", "checkpoint.safetensors"
Row = Mapping[str, Any]
_HEAD = 1 << 26  # bytes of a safetensors header; more is none of ours


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
    faces: FaceSet | None = None,
    excluded: Ids | None = None,
    cache: Path | None = None,
    resume: bool = False,
    device: str = "",
    tick: Tick = silent,
) -> Training:
    """Train what a recipe says; a recipe of several stages trains each into a folder of its own below `out`.

    `faces` are those of `gallery` where it is open already; without a gallery people are drawn.
    """
    from facelens.features.train import train

    given = gallery or (Path(recipe.data.gallery) if recipe.data.gallery else None)
    begun = any((place / STATE).exists() for _, place in places(recipe, out))
    if not begun or (resume and not (out / RUN).exists()):
        name = faces.name if faces is not None else given.name if given is not None else ""
        _write_run(out, recipe, gallery=given, name=name, excluded=excluded)
    if faces is None and given is not None:
        faces = open_gallery(given, tick=tick).faces
    if faces is not None and excluded is not None and len(excluded):
        faces = faces.take(np.flatnonzero(~np.isin(faces.ids, excluded)).astype(np.int64))
    done: list[Trained] = []
    for number, (name, folder) in enumerate(places(recipe, out)):
        old = str(done[-1].files[0]) if done else ""
        this = stage(recipe, number, old=old) if recipe.stages else recipe
        heard: Tick = _Named(tick, name) if name else tick
        done.append(train(this, folder, faces=faces, cache=cache or out, resume=resume, device=device, tick=heard))
    return Training(
        tuple(one.files for one in done), tuple(one.step for one in done), tuple(one.validation for one in done)
    )


def places(recipe: Recipe, out: Path) -> list[tuple[str, Path]]:
    """The name and the folder of each stage; a recipe without stages has one, without a name."""
    if not recipe.stages:
        return [("", out)]
    names = [stage(recipe, number).name for number in range(len(recipe.stages))]
    return [(name, out / name) for name in names]


class _Named:
    """A tick that says which stage a row belongs to."""

    def __init__(self, tick: Tick, name: str) -> None:
        self._tick, self._name = tick, name

    def __call__(self, done: int, total: int, note: str = "") -> None:
        self._tick(done, total, note)

    def partial(self, row: dict[str, Any]) -> None:
        offer(self._tick, {**row, "stage": self._name})


# What a folder holds


@dataclass(frozen=True, eq=False)
class Run:
    """A training as far as it is known: where it is written, what it trains on what, and its rows so far.

    `rows` of all stages in order, each with its `stage` where there are several; `files` are there when it is done,
    `error` says why it failed.
    """

    folder: Path
    recipe: Recipe
    gallery: Path | None = None
    name: str = ""  # of the gallery; one that was joined of several has no path
    excluded: tuple[int, ...] = ()
    rows: tuple[Row, ...] = ()
    step: int = 0  # the last one that is saved
    files: tuple[Path, ...] = ()
    error: FaceLensError | None = None

    @property
    def steps(self) -> int:
        """Of how many; 0 where no row has told it yet."""
        return int(self.rows[-1]["steps"]) if self.rows else 0

    @property
    def stage(self) -> str:
        """The stage of the last row."""
        return str(self.rows[-1].get("stage", "")) if self.rows else ""

    @cached_property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages that have rows."""
        return tuple(dict.fromkeys(str(row.get("stage", "")) for row in self.rows))

    @property
    def made(self) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """Networks and transforms among the files."""
        networks = tuple(file for file in self.files if file.name == CHECKPOINT)
        return networks, tuple(file for file in self.files if file.name != CHECKPOINT)

    def with_row(self, row: Row) -> Run:
        """One more row; after a restart those that come again replace the old ones."""
        kept, same = list(self.rows), row.get("stage", "")
        while kept and kept[-1].get("stage", "") == same and kept[-1]["step"] >= row["step"]:
            kept.pop()
        return replace(self, rows=(*kept, row))


def held(folder: Path) -> Run | None:
    """The training that a folder holds, None where there is none."""
    try:
        told = json.loads((folder / RUN).read_bytes())
        recipe = of_json(told["recipe"])
        gallery = Path(told["gallery"]) if told["gallery"] else None
        run = Run(folder, recipe, gallery, str(told["name"]), tuple(int(one) for one in told["excluded"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(
            tr("{path} holds a training that cannot be read.", path=escaped(str(folder))),
            hint=tr("Choose another folder."),
            details=str(error),
        ) from None
    rows: list[Row] = []
    step, finished, files = 0, True, list[Path]()
    for name, place in places(recipe, folder):
        own = [row for row in history(place) if _is_row(row)]
        step = saved_step(place / STATE)
        own = [row for row in own if row["step"] <= step]
        rows += [{**row, "stage": name} for row in own] if name else own
        finished &= bool(own) and step >= own[-1]["steps"]
        files += sorted(path for path in place.glob("*.safetensors") if path.name != STATE)
        if not finished:
            break
    return replace(run, rows=tuple(rows), step=step, files=tuple(files) if finished else ())


def saved_step(state: Path) -> int:
    """How many steps are saved, out of the head of the file; 0 where there is none."""
    try:
        with state.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            head = json.loads(file.read(length)) if length < _HEAD else {}
        return int(json.loads(head["__metadata__"]["facelens_state"])["step"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return 0


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and all(isinstance(row.get(key), int) for key in ("step", "steps"))


def _write_run(out: Path, recipe: Recipe, *, gallery: Path | None, name: str, excluded: Ids | None) -> None:
    told = {
        "recipe": recipe.as_json(),
        "gallery": str(gallery.absolute()) if gallery is not None else "",
        "name": name,
        "excluded": excluded.tolist() if excluded is not None else [],
    }
    out.mkdir(parents=True, exist_ok=True)
    with atomic_write(out / RUN) as file:
        file.write((json.dumps(told, indent=1, default=list) + "\n").encode())


# In words


def words(row: object) -> str:
    """A row of history for a terminal.

    >>> words({"step": 20, "steps": 100, "rate": 0.1, "terms": {"loss": 1.5}})
    ' 20 of 100  rate 0.1  loss 1.500'
    """
    if not isinstance(row, dict):
        raise InputError(tr("This is no row of a training."))
    total = f"{row['steps']:,}"
    parts = [row.get("stage", ""), f"{row['step']:>{len(total)},} of {total}", f"rate {row['rate']:.4g}"]
    parts += [_numbers(row.get(part, {})) for part in ("terms", "facts", "validation")]
    return "  ".join(filter(None, parts))


def _numbers(named: dict[str, Any]) -> str:
    """Numbers and counts by name; what is neither is not for a line.

    >>> _numbers({"loss": 1.5, "mined": {"smiling": 1812, "hat": 40}, "phase": "merged", "parts": {"a": [1.0]}})
    'loss 1.500  mined smiling 1,812, hat 40'
    >>> _numbers({"alignment": 0.00097, "boundary": 0.0})
    'alignment 9.7e-04  boundary 0.000'
    """
    said = []
    for name, value in named.items():
        if isinstance(value, float):
            small = 0 < abs(value) < 0.005  # three decimals would say nothing
            said.append(f"{name} {value:.1e}" if small else f"{name} {value:.3f}")
        elif isinstance(value, dict) and all(isinstance(count, int) for count in value.values()):
            said.append(f"{name} {', '.join(f'{one} {count:,}' for one, count in value.items())}")
    return "  ".join(said)
