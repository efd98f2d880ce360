"""Frozen values as plain JSON and back. Reading is strict: a value of the wrong type or out of range is refused.

What a plan may hold is said by the types of its fields, by CHOICES and by RANGES; a field without a row there may be
any text, or any number that a hand could have set.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from facelens.analyses import plan as plans
from facelens.images import occlusion

LONGEST = 4096  # letters of a text
MOST = 1000  # values of a list
NUMBERS = (-1e9, 1e9)

T = TypeVar("T")


class Misfit(ValueError):
    """A value that cannot be used; the text says where it stands and what it is."""


def _also(*words: str, of: tuple[str, ...]) -> tuple[str, ...]:
    return (*words, *of)


# Texts that are names of something, by class and field.
CHOICES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "Plan": {
        "parts": plans.PARTS,
        "rule": plans.RULES,
        "open_rule": plans.OPEN_RULES,
        "r_mode": plans.R_MODES,
        "nmi_mean": _also("", of=plans.NMI_MEANS),
        "empty_templates": plans.EMPTY,
    },
    "EnsemblePlan": {
        "mode": plans.MODES,
        "method": plans.METHODS,
        "queries": plans.QUERIES,
        "refuse": plans.REFUSE,
        "emptied": plans.EMPTIED,
        "weights": plans.WEIGHTS,
        "right": plans.RECOGNISED,
    },
    "PartsPlan": {"cut": plans.CUTS, "show": _also("", of=plans.SHOWN), "match": plans.MATCHES},
    "ProjectionPlan": {"method": plans.PROJECTIONS, "metric": plans.METRICS, "space": plans.SPACES},
    "MatchPlan": {"weights": plans.PATCH_WEIGHTS, "solver": plans.SOLVERS},
    "UpgradePlan": {
        "direction": _also("auto", of=plans.DIRECTIONS),
        "transforms": plans.TRANSFORMS,
        "method": plans.METHODS,
        "task": plans.TASKS,
        "order": ("", "flip risk", "uncertainty", "random", "traffic"),
    },
    "Occlusion": {"kind": occlusion.KINDS},
    "Operating": {"of": ("", "a", "b")},
}

# Least and most of a number, or of each number of a list, by field.
RANGES: Mapping[str, tuple[float, float]] = {
    "far": (0, 1),
    "fpir": (0, 1),
    "fars": (0, 1),
    "fpirs": (0, 1),
    "share": (0, 1),
    "strength": (0, 1),
    "recalls": (1, 10**6),
    "clustered": (0, 2**40),
    "resamples": (0, 10**5),
    "seed": (0, 2**31 - 1),
    "copies": (1, 64),
    "parts": (0, 4096),
    "part": (-1, 4095),
    "neighbours": (2, 1000),
    "min_dist": (0, 10),
    "perplexity": (1, 1000),
    "epsilon": (1e-6, 10),
    "alpha": (-1, 1),
    "shortlist": (0, 10**6),
    "grid": (1, 64),
    "strokes": (-10, 10),
    "threshold": (-1e6, 1e6),
    "plan_cut": (0, 0.2),
    "plan_opacity": (0, 1),
}
LISTS = {"strokes": 100_000, "map_focus": 1_000_000}  # longer lists than MOST


def as_plain(value: Any) -> Any:
    """What JSON can hold: dataclasses become objects, tuples lists.

    >>> as_plain(plans.PartsPlan(model="net"))["model"]
    'net'
    """
    if is_dataclass(value):
        return {one.name: as_plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, (tuple, list)):
        return [as_plain(one) for one in value]
    return value


def from_plain(cls: type[T], found: object, where: str) -> T:
    """The value that `found` describes; what it does not say is as usual, what nobody knows is passed over.

    >>> from_plain(plans.PartsPlan, {"parts": 8}, "parts").parts
    8
    """
    if not isinstance(found, dict):
        raise Misfit(f"{where} is {shown(found)}, not an object")
    choices = CHOICES.get(cls.__name__, {})
    said = {}
    for name, hint in _hints(cls).items():  # type: ignore[arg-type]
        if name in found:
            at = f"{where}.{name}"
            said[name] = _value(hint, found[name], at, name)
            allowed = choices.get(name)
            words = said[name] if isinstance(said[name], tuple) else (said[name],)
            if allowed is not None and any(word not in allowed for word in words):
                raise Misfit(f"{at} is {shown(found[name])}, not one of {', '.join(map(repr, allowed))}")
    return cls(**said)


@cache
def _hints(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {one.name: hints[one.name] for one in fields(cls)}


def _value(hint: Any, found: object, where: str, name: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):  # something or None
        if found is None:
            return None
        return _value(next(one for one in inner if one is not type(None)), found, where, name)
    if origin is tuple:
        if not isinstance(found, list):
            raise Misfit(f"{where} is {shown(found)}, not a list")
        if inner[-1] is not Ellipsis and len(found) != len(inner):
            raise Misfit(f"{where} has {len(found)} values, not {len(inner)}")
        if len(found) > LISTS.get(name, MOST):
            raise Misfit(f"{where} has {len(found):,} values")
        kinds = (inner[0],) * len(found) if inner[-1] is Ellipsis else inner
        return tuple(
            _value(kind, one, f"{where}[{i}]", name) for i, (kind, one) in enumerate(zip(kinds, found, strict=True))
        )
    if is_dataclass(hint):
        return from_plain(hint, found, where)  # type: ignore[arg-type]
    if hint is str:
        return text(found, where)
    if hint is bool:
        if not isinstance(found, bool):
            raise Misfit(f"{where} is {shown(found)}, not true or false")
        return found
    least, most = RANGES.get(name, NUMBERS)
    return number(found, where, least, most, whole=hint is int)


def text(found: object, where: str, *, longest: int = LONGEST) -> str:
    """A text that is not too long."""
    if not isinstance(found, str):
        raise Misfit(f"{where} is {shown(found)}, not a text")
    if len(found) > longest or "\0" in found:
        raise Misfit(f"{where} is a text of {len(found):,} letters that cannot be used")
    return found


def number(found: object, where: str, least: float, most: float, *, whole: bool) -> Any:
    """A number in its range; a whole one is one also where a fraction would do."""
    if isinstance(found, bool) or not isinstance(found, int if whole else (int, float)):
        raise Misfit(f"{where} is {shown(found)}, not a {'whole number' if whole else 'number'}")
    if not least <= found <= most:  # nor is what is no number
        raise Misfit(f"{where} is {shown(found)}, not between {least:g} and {most:g}")
    return found if whole else float(found)


def shown(found: object) -> str:
    """A value in few letters, for a message."""
    if isinstance(found, (dict, list)):
        return "an object" if isinstance(found, dict) else "a list"
    said = repr(found) if not isinstance(found, str) else repr(found[:40])
    return said if len(said) <= 48 else said[:47] + "…"
