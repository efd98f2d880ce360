"""Protocol: what a published test asks of the things that can be compared: which pairs, which queries, which galleries.

Shapes      pairs (P, 2) of faces or templates with folds; groups: places of queries, places of entries, gallery of each
Departs     a pair with a side that cannot be compared is left out and counted; where the plan says "lowest" it is
            scored below all others (as PFE does)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import similarity, templates
from facelens.analyses.plan import ALL_PAIRS, Plan
from facelens.analyses.scores import Scores
from facelens.analyses.things import Searching, Things
from facelens.errors import InputError
from facelens.images.faceset import FaceSet, Rows
from facelens.images.protocol import Protocol
from facelens.progress import Tick
from facelens.words import escaped, plural, tr

GALLERIES = {"gallery": 0, "gallery1": 1, "gallery2": 2}  # groups of a test, and the number of the gallery


def published_test(
    protocol: Protocol | None, plan: Plan, searching: Searching | None
) -> tuple[Protocol | None, list[str]]:
    """The test that the plan asks for, as far as it can be done with queries from elsewhere."""
    test = protocol if plan.protocol != ALL_PAIRS else None
    if test is None or searching is None:
        return test, []
    name = escaped(test.name)
    if test.groups_of != "template" and any(group in test.groups for group in GALLERIES):
        note = tr("Of {name} only the gallery is used: the queries are those given.", name=name)
        return replace(test, pairs=None, groups={**test.groups, "query": np.zeros(0, np.int64)}), [note]
    return None, [tr("{name} compares faces of the gallery with each other, so it is not used.", name=name)]


def scores_of(
    faces: FaceSet, things: Things, test: Protocol | None, plan: Plan, notes: list[str], *, tick: Tick
) -> Scores:
    """Scores of the published pairs, or of all."""
    if test is not None and test.pairs is None and things.split is None:
        notes.append(tr("{name} lists no pairs, so all pairs are compared.", name=escaped(test.name)))
    if test is None or test.pairs is None:
        return things.all_pairs(np.arange(len(things)), fars=plan.fars, tick=tick)
    listed = test.pairs
    ids = listed.pairs if listed.of == "template" else faces.ids[listed.pairs]
    if listed.of != things.of:
        raise InputError(
            tr("{name} compares templates in one part and faces in another.", name=escaped(test.name)),
            hint=tr("Compare all pairs instead."),
        )
    at = things.places(ids.ravel()).reshape(-1, 2)
    made = similarity.listed_pairs(
        things.query,
        things.gallery,
        pairs=at,
        same=listed.same,
        ids=things.ids,
        identity=things.identity,
        fold=listed.fold if len(np.unique(listed.fold)) > 1 else None,
        of=things.of,
        tick=tick,
    )
    made = replace(made, invalid=np.intersect1d(things.invalid, ids))
    if made.missing and plan.empty_templates == "lowest" and things.of == "template":
        lost = (at < 0).any(1)
        notes.append(
            plural(
                made.missing,
                "{n} pair has a template without usable picture and is scored lowest.",
                "{n} pairs have a template without usable picture and are scored lowest.",
            )
        )
        return _with_lowest(made, ids[lost], listed.same[lost], listed.fold[lost])
    if made.missing:
        one = "{n} listed pair could not be compared: one side has no usable vector."
        many = "{n} listed pairs could not be compared: one side has no usable vector."
        notes.append(plural(made.missing, one, many))
    return made


def _with_lowest(scores: Scores, ids: NDArray[np.int64], same: NDArray[np.bool_], fold: NDArray[np.int32]) -> Scores:
    """Pairs that could not be compared, added below all others (as PFE does)."""
    everyone = np.concatenate([scores.ids, np.setdiff1d(ids, scores.ids)])
    order = np.argsort(everyone)
    at = order[np.searchsorted(everyone[order], ids.ravel())].reshape(-1, 2).astype(np.int32)
    unknown = np.full(len(everyone) - len(scores.ids), -1, np.int32)
    return replace(
        scores,
        ids=everyone,
        identity=np.concatenate([scores.identity, unknown]),
        score=np.concatenate([scores.score, np.full(len(ids), templates.LOWEST, scores.score.dtype)]),
        first=np.concatenate([scores.first, at[:, 0]]),
        second=np.concatenate([scores.second, at[:, 1]]),
        genuine=np.concatenate([scores.genuine, same]),
        fold=None if scores.fold is None else np.concatenate([scores.fold, fold]),
        missing=0,
    )


def groups_of(things: Things, test: Protocol | None, faces: FaceSet) -> tuple[Rows, Rows, NDArray[np.int8]] | None:
    """Places of the published queries and of the gallery entries, and which gallery each is in; None for none."""
    if test is None or "query" not in test.groups:
        return None
    galleries = [(part, test.groups[name]) for name, part in GALLERIES.items() if name in test.groups]
    if not galleries:
        return None

    def places(members: NDArray[np.int64]) -> Rows:
        at = things.places(members if test.groups_of == "template" else faces.ids[members])
        return at[at >= 0]

    entries = [places(members) for _, members in galleries]
    parts = [np.full(len(at), part, np.int8) for at, (part, _) in zip(entries, galleries, strict=True)]
    probes = places(test.groups["query"]) if things.split is None else things.searching
    return probes, np.concatenate(entries), np.concatenate(parts)
