"""Outgoing: what an export is given, in disguise, so that writers and figures need not know of it.

FaceSets are disguised as such (`images.disguise`). Results that hold names, sentences, fingerprints or pictures of
their own are copied with those replaced; which fields that are is said in RULES, by class. Classes of results whose
texts name nobody are in PLAIN: a class that is in neither is refused, so that a new one is thought about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from facelens.analyses.plan import ALL_PAIRS
from facelens.features.featureset import FeatureSet
from facelens.images import decode
from facelens.images.disguise import QUERIES, Disguise, Guise
from facelens.images.faceset import FaceSet, Labels
from facelens.progress import Tick

TEST = "test"  # what a list of pairs is called
USUAL = frozenset({ALL_PAIRS, "pairs.txt", "Market-1501"})  # names of tests that tell nothing
Value = TypeVar("Value")

# By class: what stands in a field. Texts of other fields are words of FaceLens, of models, or names of columns.
RULES: Mapping[str, Mapping[str, str]] = {
    "Evaluation": {"gallery": "gallery", "gallery_digest": "digest", "digest": "digest", "protocol": "test"},
    "QuerySet": {"name": "queries"},
    "Plan": {"protocol": "test"},
    "Report": {"notes": "said"},
    "Verification": {"notes": "said"},
    "Identification": {"how": "said", "notes": "said"},
    "Retrieval": {"how": "said", "notes": "said"},
    "Paired": {"notes": "said"},
    "Provenance": {"fingerprint": "digest", "file": "nothing"},
    "Card": {"notes": "nothing"},
    "Uncertainty": {"problems": "said", "notes": "said"},
    "Member": {"why": "said"},
    "Risk": {"notes": "said"},
    "Recognition": {"notes": "said"},
    "Update": {"notes": "said"},
    "EnsemblePlan": {"files": "files", "fitted_on": "filter"},
    "UpgradePlan": {"files": "files", "fitted_on": "filter"},
    "Parts": {"notes": "said"},
    "Study": {"notes": "said"},
    "Learners": {"notes": "said"},
    "Searched": {"notes": "said"},
    "Pair": {"notes": "said"},
    "Sweep": {"how": "said", "notes": "said"},
    "Matrix": {"notes": "said"},
    "Fitted": {"why": "said"},
    "Moves": {"people": "people"},
    "Projection": {"notes": "said"},
    "Finding": {"message": "said", "details": "said"},
    "Sentences": {"lines": "said"},
    "UncertaintyReport": {"notes": "said"},
    "UpgradeReport": {"notes": "said"},
    "ConfidenceReport": {"notes": "said"},
    "LearnersReport": {"notes": "said"},
    "MatchReport": {"notes": "said"},
    "RerankReport": {"notes": "said"},
    "Subject": {"name": "said"},
    "Shown": {"crop": "picture"},
}
# Classes whose texts need no rule; Slice, Effect and Look are told with the column they are of, see `_Told`.
PLAIN = frozenset({
    "Scores", "Bulk", "OperatingPoint", "Measure", "Accuracy", "Curve", "Histogram", "Spread", "OpenPoint",
    "OpenCurve", "Searches", "Queries", "Confusable", "Clustering", "Difference", "Band", "Size", "Layout", "Pool",
    "Correlation", "Without", "Fusion", "Side", "Clusters", "Reranked", "Occlusion", "Explained", "Found",
    "SweepRow", "Upgrade", "CrossTest", "Gain", "Bound", "Compactness", "Flips", "Pairs", "Backfill", "Order",
    "SameClass", "Upgraded", "ProjectionPlan", "Alike", "FeatureSet", "Verdict", "Ruling", "Standing", "Diagnosis",
    "PartsPlan", "MatchPlan", "Patch", "Protocol", "Templates", "Slice", "Effect", "Look",
})  # fmt: skip


# Classes that go nowhere in disguise: pictures as they are would be looked at again.
KEPT_BACK = frozenset({"Ground"})


@dataclass(frozen=True)
class Sentences:
    """What there is to say besides."""

    lines: tuple[str, ...] = ()


def outgoing(guise: Guise, *values: Any, first: FaceSet | None = None) -> tuple[Any, ...]:
    """The values in disguise, all in the same one; `first` is the gallery that is numbered first."""
    if not guise:
        return values
    known = list({id(one): one for value in (first, *values) for one in _galleries(value)}.values())
    told = _Told(Disguise(guise, *known))
    for value in values:
        told.prepare(value)
    return tuple(told.of(value) for value in values)


def carried(
    guise: Guise,
    first: FaceSet | None,
    call: Callable[..., Value],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    tick: Tick,
) -> Value:
    """A job that writes or draws, with what it is given in disguise; `first` as for `outgoing`."""
    tick(0, 0)
    hidden, named = outgoing(guise, args, dict(kwargs), first=first)
    return call(*hidden, **named, tick=tick)


def _galleries(value: object) -> Iterator[FaceSet]:
    if isinstance(value, FaceSet):
        if value.behind is None:
            yield value
    else:
        for _, one in _inside(value):
            yield from _galleries(one)


def _inside(value: object) -> Iterator[tuple[str, Any]]:
    """What a value is made of: fields of a result, items of a list; arrays and texts are made of nothing."""
    if isinstance(value, (FaceSet, Labels, np.ndarray, str, bytes)):
        return
    if is_dataclass(value) and not isinstance(value, type):
        yield from ((one.name, getattr(value, one.name)) for one in fields(value))
    elif isinstance(value, Mapping):
        yield from ((str(name), one) for name, one in value.items())
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from zip(value._fields, value, strict=True)
    elif isinstance(value, (tuple, list)):
        yield from (("", one) for one in value)


class _Told:
    """Values as one disguise has them told."""

    def __init__(self, disguise: Disguise) -> None:
        self.disguise = disguise
        self.hidden = disguise.guise.pseudonyms

    def prepare(self, value: object) -> None:
        """Learn the names of tests, which sentences may have as well."""
        if isinstance(value, (FaceSet, np.ndarray)):
            return
        name = getattr(value, "protocol", None) if type(value).__name__ in ("Evaluation", "Plan") else None
        if isinstance(name, str) and name not in USUAL:
            self.disguise.also(name, TEST)
        for _, one in _inside(value):
            self.prepare(one)

    def of(self, value: Any) -> Any:
        if isinstance(value, FaceSet):
            return self.disguise.faces(value)
        if isinstance(value, FeatureSet):  # those that are mapped from disk know where they lie
            arrays = value.norms, value.confidence, value.invalid
            return FeatureSet(value.ids, value.vectors, self.of(value.provenance), *arrays)
        if isinstance(value, Mapping):
            return _kept(value, {name: self.of(one) for name, one in value.items()})
        named = isinstance(value, tuple) and hasattr(value, "_fields")
        if named or (is_dataclass(value) and not isinstance(value, type)):
            return self._result(value)
        if isinstance(value, (tuple, list)):
            made = [self.of(one) for one in value]
            return value if all(a is b for a, b in zip(made, value, strict=True)) else type(value)(made)
        return value

    def _result(self, value: Any) -> Any:
        name = type(value).__name__
        if name in KEPT_BACK:
            return None
        if name not in RULES and name not in PLAIN:
            raise TypeError(f"nobody has said what of {name} may be told")
        rules = RULES.get(name, {})
        changes = {}
        for field, one in _inside(value):
            made = self._ruled(rules[field], one) if field in rules else self.of(one)
            if made is not one:
                changes[field] = made
        changes |= self._of_columns(name, value, changes) if self.hidden else {}
        if not changes:
            return value
        return value._replace(**changes) if hasattr(value, "_replace") else replace(value, **changes)

    def _of_columns(self, name: str, value: Any, changes: Mapping[str, Any]) -> dict[str, Any]:
        """What stands in a column of text, for results that know which."""
        told = self.disguise.value
        if name == "Evaluation":
            column, made = value.plan.breakdown, {}
            for side in ("a", "b"):
                report = changes.get(side, getattr(value, side))
                if report is not None and report.slices:
                    slices = tuple(replace(one, value=told(column, one.value)) for one in report.slices)
                    made[side] = replace(report, slices=slices)
            return made
        if name == "Effect" and value.group:
            return {"group": told(value.column, value.group)}
        if name == "Look" and hasattr(value, "focus"):
            focus = frozenset(self.disguise.person(one) for one in value.focus)
            return {"focus": focus, "augmented": frozenset(told(value.shape, one) for one in value.augmented)}
        return {}

    def _ruled(self, rule: str, value: Any) -> Any:
        if rule == "picture":
            return decode.blurred(value) if self.disguise.guise.blur else value
        if not self.hidden:
            return value
        if isinstance(value, tuple) and rule != "files":
            return tuple(self._ruled(rule, one) for one in value)
        if rule == "files":  # (of what, where)
            return tuple((of, Path(file).name) for of, file in value)
        ways: dict[str, Callable[[Any], Any]] = {
            "gallery": self.disguise.gallery,
            "queries": lambda name: self.disguise.gallery(name, QUERIES),
            "digest": self.disguise.secret,
            "test": lambda name: name if name in USUAL else TEST,
            "said": self.disguise.sentence,
            "people": self.disguise.person,
            "filter": lambda text: "…" if text else "",
            "nothing": lambda text: "",
        }
        return ways[rule](value)


def _kept(old: Mapping[Any, Any], new: dict[Any, Any]) -> Mapping[Any, Any]:
    return old if all(new[name] is one for name, one in old.items()) else new
