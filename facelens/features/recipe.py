"""Recipes: what is trained, on what and how, read from TOML. Needs no torch.

A recipe is checked whole before any work is spent on it: a key that is not known, a value of the wrong kind or outside
its range is refused with its line and the nearest known key.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from importlib import resources
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from facelens.errors import InputError
from facelens.features.attributes import Rule
from facelens.features.models import MODELS
from facelens.words import escaped, tr

_LONGEST = 1 << 20  # bytes of a recipe; more is no recipe
_DEEPEST = 16  # tables in tables


def _number(default: float, least: float, most: float) -> Any:
    return field(default=default, metadata={"least": least, "most": most})


def _one_of(*choices: str) -> Any:
    return field(default=choices[0], metadata={"choices": choices})


@dataclass(frozen=True)
class Network:
    """Which of MODELS is trained, and its options."""

    architecture: str = field(default="small_plain", metadata={"choices": tuple(MODELS)})
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Models:
    """Model files the training rests on; paths are relative to the recipe. Vectors stored before serve as well, where
    only vectors are needed."""

    start: str = ""  # weights to start from
    old: str = ""  # the model that stays as it is in an upgrade
    new: str = ""  # upgrade by transforms alone: the model that is there already
    gallery: str = ""  # ensembles: the model whose vectors are mapped
    query: str = ""  # ensembles: the model into whose space they are mapped
    attributes: str = ""  # universal: the attribute network whose answers are further variations


@dataclass(frozen=True)
class Data:
    """Pictures and people. Without a gallery the training people of the sample world are drawn."""

    gallery: str = ""
    people: int = _number(60, 2, 10_000)  # drawn people
    pictures: int = _number(20, 2, 1_000)  # of each drawn person
    degrade: float = _number(0.5, 0, 1)  # share of the drawn pictures with a fault
    split: str = ""  # only faces with this value in the gallery's column `split`
    share: float = _number(1.0, 1e-6, 1)  # of the people; a smaller share is part of a larger one
    least: int = _number(2, 1, 1_000)  # pictures a person needs to count


@dataclass(frozen=True)
class Augment:
    """What is done to pictures on the way in: the probability of each."""

    flip: float = _number(0.5, 0, 1)
    blur: float = _number(0.0, 0, 1)
    occlusion: float = _number(0.0, 0, 1)
    pose: float = _number(0.0, 0, 1)
    low_resolution: float = _number(0.0, 0, 1)
    mask: float = _number(0.0, 0, 1)
    sunglasses: float = _number(0.0, 0, 1)
    crop70: float = _number(0.0, 0, 1)

    @property
    def variations(self) -> dict[str, float]:
        """The probabilities of those that are labelled, in a fixed order: all but the flip."""
        return {name: value for name, value in asdict(self).items() if name != "flip" and value > 0}


@dataclass(frozen=True)
class Optimiser:
    """SGD with momentum, or Adam. `decay` is weight decay, `clip` the longest gradient (0 = any)."""

    kind: str = _one_of("sgd", "adam")
    rate: float = _number(0.1, 1e-8, 100)
    momentum: float = _number(0.9, 0, 0.9999)
    decay: float = _number(5e-4, 0, 1)
    clip: float = _number(0.0, 0, 1e6)
    head_rate: float = _number(1.0, 0, 1e4)  # rate of the loss's own parameters, as a multiple


@dataclass(frozen=True)
class Schedule:
    """The learning rate over time. `at` are shares of all steps where `step` multiplies it by `factor`."""

    kind: str = _one_of("cosine", "constant", "step")
    warmup: int = _number(0, 0, 10_000_000)  # steps
    at: tuple[float, ...] = ()
    factor: float = _number(0.1, 1e-6, 1)
    least: float = _number(0.0, 0, 1)  # cosine: what is left at the end, as a share

    def share(self, step: int, steps: int) -> float:
        """What the rate is multiplied by in `step`, of 0 ... steps - 1.

        >>> [round(Schedule("cosine", warmup=2).share(step, 6), 3) for step in range(6)]
        [0.5, 1.0, 1.0, 0.854, 0.5, 0.146]
        >>> [Schedule("step", at=(0.5,)).share(step, 4) for step in range(4)]
        [1.0, 1.0, 0.1, 0.1]
        """
        if step < self.warmup:
            return (step + 1) / self.warmup
        if self.kind == "cosine":
            along = (step - self.warmup) / max(steps - self.warmup, 1)
            return self.least + (1 - self.least) * 0.5 * (1 + math.cos(math.pi * min(along, 1.0)))
        if self.kind == "step":
            return float(self.factor ** sum(step >= place * steps for place in self.at))
        return 1.0


@dataclass(frozen=True)
class Batch:
    """balanced: `people` with `pictures` each; plain: `size` pictures, each once an epoch; cluster: balanced inside
    one cluster."""

    kind: str = _one_of("balanced", "plain", "cluster")
    people: int = _number(16, 1, 100_000)
    pictures: int = _number(4, 1, 1_000)
    size: int = _number(64, 2, 100_000)

    @property
    def rows(self) -> int:
        """Pictures in a batch."""
        return self.size if self.kind == "plain" else self.people * self.pictures


@dataclass(frozen=True)
class Validation:
    """A share of the people is never trained on; `every` so many steps (0 = at the end) they are searched for."""

    every: int = _number(0, 0, 10_000_000)
    share: float = _number(0.1, 0, 0.9)


@dataclass(frozen=True)
class MarginLoss:
    """CosFace or ArcFace."""

    head: str = _one_of("cosface", "arcface")
    scale: float = _number(64.0, 0.1, 1e4)
    margin: float = _number(0.35, 0, 3.2)


@dataclass(frozen=True)
class UniversalLoss:
    """Confidence-aware identification with variations told apart; the weights of its terms."""

    margin: float = _number(30.0, 0, 1e4)
    regulariser: float = _number(0.001, 0, 1e3)
    classification: float = _number(2.0, 0, 1e3)
    adversarial: float = _number(2.0, 0, 1e3)
    confidence_rate: float = _number(0.01, 0, 1e3)  # of the confidences, as a multiple: at 1 they may all fall to 0


@dataclass(frozen=True)
class AttributesLoss:
    """Attributes that say nothing about who it is; a rule about the gallery's columns for each (attributes.py)."""

    attributes: Mapping[str, str] = field(default_factory=dict)
    adversarial: float = _number(1.0, 0, 1e3)  # weight of hiding who it is


@dataclass(frozen=True)
class AggregationLoss:
    """Mutual likelihood of pictures of the same person; only the confidences are trained."""

    shift: str = _one_of("measured", "pfe")  # where log variance starts: as the first batch asks for, or at -7


@dataclass(frozen=True)
class DividedLoss:
    """Margin loss of K learners, each on its own cluster of the data."""

    alpha: float = _number(0.2, 0, 2)
    beta: float = _number(1.2, 0, 2)
    every: int = _number(2, 1, 10_000)  # epochs between two clusterings
    merge: float = _number(0.8, 0, 1)  # share of all steps after which the whole embedding learns from all data
    preset: str = _one_of("paper", "repo")
    freeze_norms: bool = False  # batch normalisation stays as it was: right where a trained network is the start


@dataclass(frozen=True)
class CompatibleLoss:
    """Training a new model so that its vectors can be compared with an old one's."""

    method: str = _one_of("lce", "bct", "l2")
    head: str = _one_of("cosface", "arcface")
    scale: float = _number(64.0, 0.1, 1e4)
    margin: float = _number(0.35, 0, 3.2)
    transform: str = _one_of("none", "rbt", "linear")
    hidden: int = _number(16, 1, 4096)  # width of an rbt's paths
    align: float = _number(100.0, 0, 1e6)
    scaling: str = _one_of("element", "class")  # whether align weighs each number or each class
    boundary: float = _number(1.0, 0, 1e6)
    slack: float = _number(0.0, 0, 2)  # how far below the old boundary is still inside
    weight: float = _number(1.0, 0, 1e6)  # of the old classifier (bct) or of the distance (l2)


@dataclass(frozen=True)
class TransformLoss:
    """Maps between the spaces of models that stay as they are."""

    mode: str = _one_of("m2m", "unified", "lce")
    transform: str = _one_of("rbt", "linear")
    hidden: int = _number(16, 1, 4096)
    linear_skip: bool = False
    scale: float = _number(64.0, 0.1, 1e4)
    margin: float = _number(0.35, 0, 3.2)
    similarity: float = _number(1.0, 0, 1e6)
    divergence: float = _number(1.0, 0, 1e6)
    classification: float = _number(1.0, 0, 1e6)
    temperature: float = _number(4.0, 1e-3, 1e3)
    direction: str = _one_of("query", "gallery", "both")  # whose distribution is the target of the divergence
    align: float = _number(100.0, 0, 1e6)
    boundary: float = _number(1.0, 0, 1e6)
    slack: float = _number(0.0, 0, 2)


Loss = MarginLoss | UniversalLoss | AttributesLoss | AggregationLoss | DividedLoss | CompatibleLoss | TransformLoss
LOSSES: dict[str, type[Any]] = {
    "margin": MarginLoss,
    "universal": UniversalLoss,
    "attributes": AttributesLoss,
    "aggregation": AggregationLoss,
    "divided": DividedLoss,
    "compatible": CompatibleLoss,
    "transform": TransformLoss,
}


@dataclass(frozen=True)
class Stage:
    """One of several trainings in a row: what is different in it. The model before is the old one of the next."""

    name: str = ""
    change: Mapping[str, Any] = field(default_factory=dict)  # dotted key -> value


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what comes out of a training."""

    kind: str
    name: str = ""
    about: str = ""
    seed: int = _number(0, 0, 2**31 - 1)
    steps: int = _number(0, 0, 100_000_000)
    epochs: float = _number(0.0, 0, 100_000)
    checkpoint: int = _number(200, 1, 100_000_000)  # steps between two checkpoints
    log: int = _number(10, 1, 1_000_000)  # steps between two rows of history
    network: Network = Network()
    models: Models = Models()
    data: Data = Data()
    augment: Augment = Augment()
    loss: Loss = MarginLoss()
    optimiser: Optimiser = Optimiser()
    schedule: Schedule = Schedule()
    batch: Batch = Batch()
    validation: Validation = Validation()
    stages: tuple[Stage, ...] = ()

    @property
    def digest(self) -> str:
        """Fingerprint of everything that changes the result; how often it is written down does not."""
        silent = ("name", "about", "checkpoint", "log")
        telling = {key: value for key, value in asdict(self).items() if key not in silent}
        return hashlib.sha256(json.dumps(telling, sort_keys=True, default=list).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)

    def total(self, rows: int) -> int:
        """How many steps are trained on `rows` pictures."""
        return self.steps or max(1, round(self.epochs * rows / self.batch.rows))


def names() -> tuple[str, ...]:
    """The recipes that come with FaceLens."""
    folder = resources.files("facelens.features") / "recipes"
    return tuple(sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml")))


def load(recipe: str | Path, *, changes: Sequence[str] = ()) -> Recipe:
    """A recipe by its name or file; `changes` are KEY=VALUE with dotted keys, VALUE as in TOML or a bare word."""
    name, text, folder = read(recipe)
    return parse(text, name=name, folder=folder, changes=changes)


def read(recipe: str | Path) -> tuple[str, str, Path]:
    """Name, text, and the folder that relative paths start from, of a recipe by its name or file."""
    path = Path(recipe)
    try:
        if str(recipe) in names():
            path = Path(f"{recipe}.toml")
            return path.name, (resources.files("facelens.features") / "recipes" / path.name).read_text("utf-8"), Path()
        if not path.is_file():
            raise _unknown_recipe(str(recipe))
        if path.stat().st_size > _LONGEST:
            raise InputError(tr("{name} is too large for a recipe.", name=escaped(path.name)))
        return path.name, path.read_text("utf-8"), path.parent
    except (OSError, UnicodeError) as error:
        message = tr("{name} cannot be read as a recipe.", name=escaped(path.name))
        raise InputError(message, details=str(error)) from None


def of_json(table: Mapping[str, Any]) -> Recipe:
    """Undo `as_json`; checked, since it comes from a file.

    >>> of_json(load("cosface").as_json()) == load("cosface")
    True
    """
    name = str(table.get("name", ""))
    said = _Source(escaped(name), {}, {})
    return _checked(_recipe(json.loads(json.dumps(table, default=list)), said), said)


def parse(text: str, *, name: str = "recipe.toml", folder: Path = Path(), changes: Sequence[str] = ()) -> Recipe:
    """A recipe out of TOML; `folder` is what relative paths in it start from."""
    shown = escaped(name)
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(
            tr("{name} is no TOML: {reason}.", name=shown, reason=str(error)), hint=tr("Correct that line.")
        ) from None
    if _deep(table):
        raise InputError(tr("{name} has tables in tables that are nested too deeply.", name=shown))
    for place, keys in (("models", tuple(f.name for f in fields(Models))), ("data", ("gallery",))):
        inside = table.get(place)
        if isinstance(inside, dict):
            for key in keys:
                if isinstance(inside.get(key), str) and inside[key]:
                    inside[key] = str(folder / inside[key])
    said = _Source(shown, lines(text), {})
    table.setdefault("name", Path(name).stem)
    for change in changes:
        _set(table, change, said)
    return _checked(_recipe(table, said), said)


def _deep(table: Mapping[str, Any]) -> bool:
    level: list[Any] = [table]
    for _ in range(_DEEPEST):
        inside = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list)))
        level = [value for values in inside for value in values]
    return bool(level)


def changed(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """The recipe with some dotted keys replaced, checked again.

    >>> changed(parse('kind = "margin"\\nsteps = 5'), {"data.share": 0.25}).data.share
    0.25
    """
    return _changed(recipe, changes, _Source(recipe.name, {}, {}))


def _changed(recipe: Recipe, changes: Mapping[str, Any], said: _Source) -> Recipe:
    table = json.loads(json.dumps(recipe.as_json(), default=list))
    if "kind" in changes and changes["kind"] != recipe.kind:
        table["loss"] = {}
    for key, value in sorted(changes.items()):
        _put(table, key, value, said)
    return _checked(_recipe(table, said), said)


def stage(recipe: Recipe, number: int, *, old: str = "") -> Recipe:
    """One stage of a recipe that has several; `old` is what the stage before made."""
    this = recipe.stages[number]
    changes = {**this.change, "name": this.name or f"{recipe.name} {number + 1}"}
    if old:
        changes.setdefault("models.old", old)
    return changed(replace(recipe, stages=()), changes)


@dataclass(frozen=True)
class _Source:
    """Where a recipe was read, to say so: file, line of each key, keys that were set on the command line."""

    name: str
    lines: Mapping[tuple[str, ...], int]
    given: dict[tuple[str, ...], str]

    def where(self, place: tuple[str, ...]) -> str:
        """The file and the line of a key, or of the nearest table around it."""
        for end in range(len(place), 0, -1):
            if place[:end] in self.given:
                return self.given[place[:end]]
            inside = [line for key, line in self.lines.items() if key[:end] == place[:end]]
            if inside:
                return tr("{name}, line {line}", name=self.name, line=min(inside))
        return self.name


_BARE = re.compile(
    r"""[ \t]*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:[ \t]*\.[ \t]*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)"""
)
_KEY = re.compile(_BARE.pattern + r"[ \t]*=")
_TABLE = re.compile(r"[ \t]*(\[\[?)" + _BARE.pattern + r"[ \t]*\]")


def lines(text: str) -> dict[tuple[str, ...], int]:
    """The line of every key and table; tomllib does not tell. Elements of an array of tables have a number.

    >>> lines('kind = "margin"\\n[loss]\\nmargin = 1\\n[[stages]]\\nname = "a"')
    {('kind',): 1, ('loss',): 2, ('loss', 'margin'): 3, ('stages', '0'): 4, ('stages', '0', 'name'): 5}
    """
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    count: dict[tuple[str, ...], int] = {}
    quoted = ""
    for number, line in enumerate(text.splitlines(), 1):
        if quoted:  # inside a text of several lines
            quoted = "" if line.count(quoted) % 2 else quoted
            continue
        if header := _TABLE.match(line):
            table = _parts(header[2])
            if header[1] == "[[":
                count[table] = count.get(table, -1) + 1
                table = (*table, str(count[table]))
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault((*table, *_parts(key[1])), number)
        quoted = next((mark for mark in ('"""', "'''") if line.count(mark) % 2), "")
    return found


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in re.findall(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""", dotted))


def _set(table: dict[str, Any], change: str, said: _Source) -> None:
    key, sign, word = change.partition("=")
    if not sign or not key.strip():
        raise InputError(tr("{change} sets nothing.", change=escaped(change)), hint=tr("Write KEY=VALUE."))
    try:
        value = tomllib.loads(f"v = {word}")["v"]
    except tomllib.TOMLDecodeError:
        value = word
    said.given[tuple(key.strip().split("."))] = f"--set {escaped(change)}"
    other = {"steps": "epochs", "epochs": "steps"}.get(key.strip(), "")
    if (other,) not in said.given:  # the length of a training is stated in one way or the other
        table.pop(other, None)
    _put(table, key.strip(), value, said)


def _put(table: dict[str, Any], dotted: str, value: Any, said: _Source) -> None:
    *tables, key = dotted.split(".")
    for name in tables:
        inside = table.setdefault(name, {})
        if not isinstance(inside, dict):
            raise _refused(said, tuple(dotted.split(".")), tr("{name} is no table.", name=escaped(name)))
        table = inside
    table[key] = value


def _recipe(table: dict[str, Any], said: _Source) -> Recipe:
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in LOSSES:
        known = tr("Known are {known}.", known=", ".join(LOSSES))
        if kind is None:
            raise InputError(tr("{name} states no kind.", name=said.name), hint=known)
        raise _refused(said, ("kind",), tr("there is no kind {kind}.", kind=escaped(str(kind)[:60])), known)
    made: Recipe = _read(Recipe, table, (), said, {"loss": LOSSES[kind]})
    return made


def _read(
    cls: type[Any], table: Mapping[str, Any], place: tuple[str, ...], said: _Source, known: Mapping[str, Any]
) -> Any:
    """A dataclass out of a table; `known` decides the type of some fields."""
    hints = {**get_type_hints(cls), **known}
    declared = {one.name: one for one in fields(cls)}
    for key in table:
        if key not in declared:
            near = difflib.get_close_matches(key, declared, n=1, cutoff=0.5)
            hint = (
                tr("Did you mean {near}?", near=near[0]) if near else tr("Known are {known}.", known=", ".join(hints))
            )
            raise _refused(said, (*place, key), tr("{key} is not known.", key=_dotted((*place, key))), hint)
    values = {}
    for name, one in declared.items():
        if name in table:
            values[name] = _value(hints[name], table[name], (*place, name), said, dict(one.metadata))
        elif name in known:
            values[name] = known[name]()
        elif one.default is MISSING and one.default_factory is MISSING:
            raise InputError(tr("{name} states no {key}.", name=said.name, key=_dotted((*place, name))))
    return cls(**values)


def _value(hint: Any, given: Any, place: tuple[str, ...], said: _Source, rule: Mapping[str, Any]) -> Any:
    if is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(given, dict):
            raise _refused(said, place, tr("{key} is a table.", key=_dotted(place)))
        return _read(hint, given, place, said, {})
    if get_origin(hint) is tuple:
        if not isinstance(given, (list, tuple)):
            raise _refused(said, place, tr("{key} is a list.", key=_dotted(place)))
        inner = get_args(hint)[0]
        return tuple(_value(inner, one, (*place, str(i)), said, {}) for i, one in enumerate(given))
    if get_origin(hint) in (Mapping, dict) or hint is Mapping:
        if not isinstance(given, dict):
            raise _refused(said, place, tr("{key} is a table.", key=_dotted(place)))
        return given
    assert not isinstance(hint, UnionType)
    if hint is float and isinstance(given, int) and not isinstance(given, bool):
        given = float(given)
    if type(given) is not hint:
        kinds = {str: tr("a text"), int: tr("a whole number"), float: tr("a number"), bool: tr("true or false")}
        shown = escaped(repr(given)[:60])
        why = tr("{key} is {kind}, not {value}.", key=_dotted(place), kind=kinds.get(hint, str(hint)), value=shown)
        raise _refused(said, place, why)
    if "choices" in rule and given not in rule["choices"]:
        near = difflib.get_close_matches(given, rule["choices"], n=1)
        hint_words = tr("Did you mean {near}?", near=near[0]) if near else ""
        known = tr("{key} is one of {known}.", key=_dotted(place), known=", ".join(rule["choices"]))
        raise _refused(said, place, known, hint_words)
    if "least" in rule and not rule["least"] <= given <= rule["most"]:
        why = tr(
            "{key} goes from {least} to {most}; {value} is outside.",
            key=_dotted(place),
            least=f"{rule['least']:g}",
            most=f"{rule['most']:g}",
            value=given,
        )
        raise _refused(said, place, why)
    return given


def _checked(recipe: Recipe, said: _Source) -> Recipe:
    """What no single key can say."""
    if bool(recipe.steps) == bool(recipe.epochs):
        raise _refused(said, ("epochs" if recipe.epochs else "steps",), tr("a recipe states either steps or epochs."))
    if any(not 0 < place <= 1 for place in recipe.schedule.at):
        raise _refused(said, ("schedule", "at"), tr("schedule.at are shares of all steps, from 0 to 1."))
    if (recipe.batch.kind == "cluster") != (recipe.kind == "divided"):
        raise _refused(said, ("batch", "kind"), tr("batches of one cluster and the kind divided go together."))
    paired = recipe.batch.kind != "plain" and recipe.batch.pictures > 1
    if recipe.kind in ("aggregation", "divided") and not paired:
        raise _refused(said, ("batch",), tr("this kind compares pictures of a person: batches need two of each."))
    loss = recipe.loss
    if isinstance(loss, CompatibleLoss) and loss.method == "bct" and loss.transform != "none":
        raise _refused(said, ("loss", "transform"), tr("bct compares directly and has no transform."))
    if isinstance(loss, AttributesLoss):
        if not loss.attributes:
            raise _refused(said, ("loss",), tr("this kind learns attributes, and loss.attributes names none."))
        for name, text in loss.attributes.items():
            if Rule.of(text) is None:
                place = ("loss", "attributes", name)
                why = tr("{key} is a rule about a column, such as smile > 0.5.", key=_dotted(place))
                raise _refused(said, place, why)
    for number, one in enumerate(recipe.stages):
        here = said.where(("stages", str(number), "change"))
        _changed(replace(recipe, stages=()), one.change, _Source(here, {}, {}))
    return recipe


def _dotted(place: tuple[str, ...]) -> str:
    return escaped(".".join(place))


def _refused(said: _Source, place: tuple[str, ...], why: str, hint: str = "") -> InputError:
    return InputError(tr("{where}: {why}", where=said.where(place), why=why), hint=hint)


def _unknown_recipe(name: str) -> InputError:
    near = difflib.get_close_matches(name, names(), n=1)
    hint = tr("Did you mean {near}?", near=near[0]) if near else ""
    known = tr("Recipes that come with FaceLens: {names}.", names=", ".join(names()))
    return InputError(tr("There is no recipe {name}.", name=escaped(name)), hint=f"{hint} {known}".strip())
