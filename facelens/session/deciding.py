"""Deciding: whether two faces are one person, by their patches and as a whole; as the worker works it out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import decisions
from facelens.analyses.decisions import STRANGERS, Listed, Strangers, Verified
from facelens.analyses.patch_sets import PatchSets
from facelens.analyses.plan import MatchPlan
from facelens.analyses.sweeping import ALPHAS
from facelens.errors import InputError
from facelens.images.protocol import Pairs
from facelens.progress import Tick, part_of, silent
from facelens.session.ground import Ground, Patched
from facelens.words import tr

TOGETHER = 256  # pairs whose patches are worked on at once


def strangers(ground: Ground, plan: MatchPlan, *, tick: Tick = silent) -> Strangers:
    """How near strangers come, from faces spread over the gallery.

    `decisions.threshold` of it says where two faces are taken for one person, at any alpha.
    """
    faces, patched = ground.faces, Patched(ground, plan)
    usable = patched.features.rows_of(faces.ids)[1] & (faces.identity.codes >= 0)
    usable &= ~np.isin(faces.ids, ground.excluded)
    rows = np.flatnonzero(usable)
    few = min(len(rows), int(np.ceil((1 + np.sqrt(1 + 8 * STRANGERS)) / 2)))
    ids = faces.ids[rows[np.unique(np.linspace(0, len(rows) - 1, few).astype(np.int64))]] if few else faces.ids[:0]
    sets, _ = patched.sets(ids, tick=part_of(tick, 0, 2))
    return decisions.strangers(sets, faces.identity.codes[faces.rows_of(sets.ids)], plan, tick=part_of(tick, 1, 2))


def verify(
    ground: Ground, pairs: Pairs, plan: MatchPlan, *, alphas: tuple[float, ...] = ALPHAS, tick: Tick = silent
) -> Verified:
    """How well listed pairs of faces are decided at each alpha; pairs of pictures that give no patches are left out."""
    if pairs.of != "face":
        raise InputError(
            tr("This test compares templates of several pictures, which have no patches."),
            hint=tr("Choose a test of single pictures."),
        )
    faces, patched = ground.faces, Patched(ground, plan)
    ids = faces.ids[pairs.pairs]
    usable = patched.features.rows_of(ids.ravel())[1].reshape(ids.shape).all(1)
    ids, kept = ids[usable], [np.zeros(0, np.int64)]

    def pieces() -> Iterator[tuple[PatchSets, PatchSets]]:
        for start in range(0, len(ids), TOGETHER):
            some = ids[start : start + TOGETHER]
            sets, gone = patched.sets(np.unique(some), tick=lambda done, total, note="": tick(start, len(ids), note))  # noqa: B023
            good = np.flatnonzero(~np.isin(some, gone).any(1))
            if len(good):
                kept.append(good + start)
                first, second = np.searchsorted(sets.ids, some[good].T)
                yield sets.take(first), sets.take(second)

    cosine, emd = decisions.compare(pieces(), plan, total=len(ids), tick=tick)
    if not len(emd):
        raise InputError(tr("No pair of this test can be compared by patches."), hint=tr("Embed the gallery."))
    rows: NDArray[np.int64] = np.flatnonzero(usable)[np.concatenate(kept)]
    people = faces.identity.codes[pairs.pairs[rows]]
    first, second = faces.ids[pairs.pairs[rows]].T
    listed = Listed(first, second, pairs.same[rows], people, pairs.fold[rows])
    return decisions.verify(listed, cosine, emd, plan, alphas=alphas, tick=tick)
