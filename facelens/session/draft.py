"""What is to be trained next: the text of a recipe, on which faces, into which folder. Pure; needs no torch.

The text is the only state of a recipe: whatever a form changes, it changes there, so the two cannot disagree.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from facelens.errors import InputError
from facelens.features import recipe as recipes
from facelens.features.recipe import Recipe, TransformLoss
from facelens.features.recipe_text import text_of, with_value
from facelens.session.training import STATE, places
from facelens.words import tr

Source = Literal["open", "drawn", "stated"]  # the open gallery, drawn people, the gallery that the recipe names
SOURCES: Mapping[Source, str] = {
    "open": "the open gallery",
    "drawn": "the sample world, drawn",
    "stated": "the gallery of the recipe",
}
assert {*SOURCES} == {*get_args(Source)}
LONGEST = 100_000  # letters of a recipe that is kept in a workspace file

ROLES = {
    "start": "Weights to start from",
    "old": "Old model",
    "new": "New model",
    "gallery": "Gallery model",
    "query": "Query model",
    "attributes": "Attribute network",
}


@dataclass(frozen=True)
class Draft:
    """A recipe by name or file, its text as it stands, and what goes with it."""

    name: str
    text: str
    folder: Path  # relative paths in the text start here
    source: Source
    out: Path

    @classmethod
    def of(cls, name: str | Path, *, source: Source, root: Path) -> Draft:
        """A recipe of FaceLens or a file, to be trained into a folder of its own below `root`."""
        shown, text, folder = recipes.read(name)
        draft = cls(str(name), text, folder, source, free(root / Path(shown).stem))
        stated = draft.recipe.data.gallery if draft.recipe is not None else ""
        return replace(draft, source="stated") if stated else draft

    @cached_property
    def _read(self) -> Recipe | InputError:
        try:
            return recipes.parse(self.text, name=f"{self.title}.toml", folder=self.folder)
        except InputError as error:
            return error

    @property
    def title(self) -> str:
        """The recipe's name without its folder and ending."""
        return Path(self.name).name.removesuffix(".toml")

    @property
    def recipe(self) -> Recipe | None:
        """What the text says; None where it cannot be read."""
        return self._read if isinstance(self._read, Recipe) else None

    @property
    def problem(self) -> InputError | None:
        """What is wrong with the text."""
        return self._read if isinstance(self._read, InputError) else None

    def with_values(self, values: Mapping[str, Any]) -> Draft:
        """The same with some dotted keys set in the text; None takes one out."""
        text = self.text
        for key, value in values.items():
            text = with_value(text, key, value)
        return replace(self, text=text)

    @property
    def files(self) -> tuple[tuple[str, Path], ...]:
        """(dotted key, place) of the models and the gallery that the text names; keys of stages begin with "stages"."""
        if self.recipe is None:
            return ()
        stages = {f"stages.{i}": dict(one.change) for i, one in enumerate(self.recipe.stages)}
        models = {f"models.{role}": getattr(self.recipe.models, role) for role in ROLES}
        named = [*models.items(), ("data.gallery", self.recipe.data.gallery), *_flat(stages)]
        files = [(key, said) for key, said in named if "models." in key or "data.gallery" in key]
        return tuple((key, Path(said)) for key, said in files if isinstance(said, str) and said)

    def permitted(self, may: Callable[[Path], bool], *, root: Path) -> Draft | None:
        """As far as it may be followed: without files that may not be opened, and written below `root` if not there.

        None where the text names such a file so that it cannot be taken out.
        """
        draft = self
        refused = {key: None for key, place in self.files if not may(place)}
        try:
            draft = draft.with_values(refused)
        except InputError:
            return None
        if any(not may(place) for _, place in draft.files):
            return None
        if draft.folder != Path() and not may(draft.folder):
            draft = replace(draft, folder=Path())
        return draft if may(draft.out) else replace(draft, out=free(root / draft.title))

    @property
    def final(self) -> Recipe | None:
        """The recipe as it is trained: where people are drawn, or the open gallery is taken, it names no gallery."""
        if self.recipe is None or self.source == "stated" or not self.recipe.data.gallery:
            return self.recipe
        return recipes.changed(self.recipe, {"data.gallery": ""})

    @property
    def needed(self) -> tuple[str, ...]:
        """Models (of ROLES) that must be given: those the kind rests on, and those the text has a place for."""
        if self.recipe is None:
            return ()
        asked = {place[1] for place in recipes.lines(self.text) if len(place) == 2 and place[0] == "models"}
        return tuple(role for role in ROLES if role in asked | _rests_on(self.recipe))

    @property
    def missing(self) -> tuple[str, ...]:
        """Those of them that are not given yet."""
        return tuple(role for role in self.needed if self.recipe and not getattr(self.recipe.models, role))

    @property
    def taken(self) -> bool:
        """Whether the folder holds a training."""
        known = places(self.recipe, self.out) if self.recipe is not None else [("", self.out)]
        return any((place / STATE).exists() for _, place in known)


def of_run(recipe: Recipe, *, source: Source, out: Path) -> Draft:
    """The draft that a training was begun with."""
    return Draft(recipe.name, text_of(recipe), Path(), source, out)


# What the form calls what the text has a key for.
FIELDS = {
    "seed": "seed",
    "optimiser.rate": "rate",
    "batch.people": "people in a batch",
    "batch.pictures": "pictures of each person in a batch",
    "batch.size": "pictures in a batch",
    "data.people": "drawn people",
    "data.pictures": "pictures of each drawn person",
    **{f"models.{role}": name.lower() for role, name in ROLES.items()},
}
LENGTH = ("epochs", "steps")


def told(old: str, new: str) -> tuple[str, str, str]:
    """What differs between two texts of a recipe, as the form says it, from what and to what; both "" where many do.

    >>> told("epochs = 3\\n[loss]\\nmargin = 0.3", "epochs = 3\\n[loss]\\nmargin = 0.4")
    ('loss.margin', '0.3', '0.4')
    >>> told("epochs = 3", "steps = 50")
    ('length', '3 epochs', '50 steps')
    """
    whole = tr("text of the recipe"), "", ""
    try:
        was, now = (dict(_flat(tomllib.loads(text))) for text in (old, new))
        keys = [key for key in {**was, **now} if was.get(key) != now.get(key)]
    except (tomllib.TOMLDecodeError, RecursionError):
        return whole
    if keys and {*keys} <= {*LENGTH}:
        lengths = [next((f"{one[unit]} {tr(unit)}" for unit in LENGTH if one.get(unit)), "") for one in (was, now)]
        return tr("length"), lengths[0], lengths[1]
    models = [key for key in keys if key.startswith("models.")]
    if not models and len(keys) != 1:
        return (tr("{n} settings of the recipe", n=len(keys)), "", "") if keys else whole
    key = (models or keys)[0]
    values = [_shown(key, one.get(key)) for one in (was, now)]
    return tr(FIELDS[key]) if key in FIELDS else key, values[0], values[1]


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Values by dotted key; tables in a list are one value."""
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _shown(key: str, value: Any) -> str:
    if value is None:
        return ""
    if key.startswith("models."):
        return Path(str(value)).name
    said = f"{value:g}" if isinstance(value, float) else str(value)
    return said if len(said) <= 40 else f"{said[:39]}…"


def _rests_on(recipe: Recipe) -> set[str]:
    """Models without which the first stage of a recipe cannot be trained."""
    first = recipes.stage(recipe, 0) if recipe.stages else recipe
    if isinstance(first.loss, TransformLoss):
        return {"old", "new"} if first.loss.mode == "lce" else {"gallery", "query"}
    return {"aggregation": {"start"}, "compatible": {"old"}}.get(first.kind, set())


def free(folder: Path) -> Path:
    """The folder, with a number where there is one of that name already."""
    number, tried = 1, folder
    while tried.exists():
        number += 1
        tried = folder.with_name(f"{folder.name}-{number}")
    return tried


@cache
def offered() -> tuple[tuple[str, str], ...]:
    """(name, what it is) of the recipes that come with FaceLens."""
    return tuple((name, recipes.load(name).about) for name in recipes.names())


def value_of(text: str) -> Any:
    """What is typed into a field: a number where it is one; the recipe's own check says what is wrong with the rest.

    >>> value_of("12"), value_of("1e-3"), value_of("many")
    (12, 0.001, 'many')
    """
    for kind in (int, float):
        try:
            return kind(text.strip().replace(",", "").replace("−", "-"))
        except ValueError:
            continue
    return text


def reason(draft: Draft, *, gallery: bool) -> str:
    """Why a draft cannot be trained as it is, "" where it can; `gallery`: whether one is open."""
    if draft.problem is not None:
        return str(draft.problem)
    if draft.missing:
        return tr("This recipe needs a model: {role}.", role=tr(ROLES[draft.missing[0]]).lower())
    if draft.source == "open" and not gallery:
        return tr("No gallery is open. Open one, or train on drawn people.")
    return ""
