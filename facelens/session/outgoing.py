"""Outgoing: what an export is given, in disguise, so that writers and figures need not know of it.

FaceSets are disguised as such (`images.disguise`). Results that hold names, sentences, fingerprints or pictures of
their own are copied with those replaced; which fields that are is said in RULES, by class. Classes of results whose
texts name nobody are in PLAIN: a class that is in neither is refused, so that a new one is thought about. What works
something out where it is drawn (a partial call, the ground of a search) looks at what is hidden, and gives what it
found in disguise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from facelens.analyses.plan import ALL_PAIRS
from facelens.features.featureset import FeatureSet
from facelens.images import decode
from facelens.images.disguise import QUERIES, Disguise, Guise
from facelens.images.faceset import FaceSet, Labels
from facelens.progress import Tick

TEST, FILE = "test", "file"  # what a list of pairs, and a file, is called
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
    "Ledgers": {"notes": "said"},
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
    "Protocol": {"name": "test", "notes": "said"},
    "Listing": {"title": "said", "none": "said"},
    "Inspection": {"path": "file", "notes": "nothing"},
    "Parity": {"names": "file name", "skipped": "left out"},
}
# Classes whose texts need no rule; Slice, Effect and Look are told with the column they are of, see `Told`.
PLAIN = frozenset({
    "Scores", "Bulk", "OperatingPoint", "Measure", "Accuracy", "Curve", "Histogram", "Spread", "OpenPoint",
    "OpenCurve", "Searches", "Queries", "Confusable", "Clustering", "Difference", "Band", "Size", "Layout", "Pool",
    "Correlation", "Without", "Fusion", "Side", "Clusters", "Reranked", "Occlusion", "Explained", "Found",
    "SweepRow", "Upgrade", "CrossTest", "Gain", "Bound", "Compactness", "Flips", "Pairs", "Backfill", "Order",
    "SameClass", "Upgraded", "ProjectionPlan", "Alike", "FeatureSet", "Verdict", "Ruling", "Standing", "Diagnosis",
    "PartsPlan", "MatchPlan", "Patch", "Protocol", "Templates", "Slice", "Effect", "Look",
    "Average", "Keys", "CrossErrors", "Salient", "Deletion", "Links",
    "WhatIf", "Outcome", "Variant",
})  # fmt: skip


@dataclass(frozen=True)
class Sentences:
    """What there is to say besides."""

    lines: tuple[str, ...] = ()


def outgoing(guise: Guise, *values: Any, first: FaceSet | None = None) -> tuple[Any, ...]:
    """The values in disguise, all in the same one; `first` is the gallery that is numbered first."""
    if not guise:
        return values
    told = Told(guise, first, *values)
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


class Told:
    """Values as one disguise has them told: that of the galleries in `known`, the first of which is numbered first."""

    def __init__(self, guise: Guise, *known: object) -> None:
        galleries = list({id(one): one for value in known for one in _galleries(value)}.values())
        self.disguise = Disguise(guise, *galleries)
        self.hidden = guise.pseudonyms
        self._faces: dict[int, tuple[FaceSet, FaceSet]] = {}  # as they are, in disguise
        for value in known:
            self.prepare(value)

    def prepare(self, value: object) -> None:
        """Learn the names of tests, which sentences may have as well."""
        if isinstance(value, (FaceSet, np.ndarray)):
            return
        field = {"Evaluation": "protocol", "Plan": "protocol", "Protocol": "name"}.get(type(value).__name__, "")
        name = getattr(value, field, None)
        if isinstance(name, str) and name not in USUAL:
            self.disguise.also(name, TEST)
        for _, one in _inside(value):
            self.prepare(one)

    def of(self, value: Any) -> Any:
        """The value in disguise."""
        if isinstance(value, FaceSet):
            if id(value) not in self._faces:
                self._faces[id(value)] = value, self.disguise.faces(value)
            return self._faces[id(value)][1]
        if isinstance(value, partial):
            return lambda *given, **named: self.of(value(*given, **named))
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
        if name == "Ground":
            return replace(value, tells=self.of)
        if name == "Run":  # whose recipe names files; what it is and its rows tell of no picture
            hidden = {"name": self.disguise.gallery(value.name), "folder": Path(FILE), "gallery": None, "files": ()}
            return replace(value, **hidden) if self.hidden and value.name else value
        if name not in RULES and name not in PLAIN:
            raise TypeError(f"nobody has said what of {name} may be told")
        rules = RULES.get(name, {})
        changes = {}
        for field, one in _inside(value):
            made = self._ruled(rules[field], one) if field in rules else self.of(one)
            if made is not one:
                changes[field] = made
        changes |= self._of_columns(name, value, changes) if self.hidden else {}
        if not changes and not (name == "Protocol" and self.hidden):
            return value
        made = value._replace(**changes) if hasattr(value, "_replace") else replace(value, **changes)
        if name == "Protocol":  # which rows it compares tells of the gallery
            made.__dict__["digest"] = self.disguise.secret(value.digest)
        return made

    def _of_columns(self, name: str, value: Any, changes: Mapping[str, Any]) -> dict[str, Any]:
        """What stands in a column of text, for results that know which."""
        told = self.disguise.value
        if name == "Evaluation":
            column, made = value.plan.breakdown, {}
            for side in ("a", "b"):
                report = changes.get(side, getattr(value, side))
                if report is not None and report.slices:
                    slices = [replace(one, value=told(column, one.value)) for one in report.slices]
                    if any(a.value != b.value for a, b in zip(slices, report.slices, strict=True)):
                        slices.sort(key=lambda one: one.value)  # they stood in the order of what is hidden
                    made[side] = replace(report, slices=tuple(slices))
            return made
        if name == "Listing" and value.group and (hidden := told(value.column, value.group)) != value.group:
            title = value.title.removesuffix(value.group)
            return {"title": self.disguise.sentence(title) + hidden, "none": "", "group": hidden}
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
        if rule == "left out":
            return ()
        if isinstance(value, tuple) and rule != "files":
            return tuple(self._ruled(rule, one) for one in value)
        if rule == "files":  # (of what, where)
            return tuple((of, f"{FILE} {place}{Path(file).suffix}") for place, (of, file) in enumerate(value, 1))
        ways: dict[str, Callable[[Any], Any]] = {
            "gallery": self.disguise.gallery,
            "queries": lambda name: self.disguise.gallery(name, QUERIES),
            "digest": self.disguise.secret,
            "test": lambda name: name if name in USUAL else TEST,
            "said": self.disguise.sentence,
            "people": self.disguise.person,
            "filter": lambda text: "…" if text else "",
            "file": lambda path: Path(FILE).with_suffix(path.suffix),
            "file name": lambda name: FILE + Path(name).suffix,
            "nothing": lambda text: "",
        }
        return ways[rule](value)


def _kept(old: Mapping[Any, Any], new: dict[Any, Any]) -> Mapping[Any, Any]:
    return old if all(new[name] is one for name, one in old.items()) else new
