"""Matching: the searches by patches that the window asks for. Each runs in the worker process or in a script alike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import reranking
from facelens.analyses.plan import MatchPlan
from facelens.analyses.reranking import Explained, Reranked
from facelens.errors import InputError
from facelens.features import patching
from facelens.features import saliency as salience
from facelens.features.featureset import FeatureSet
from facelens.features.patching import Model, Shown
from facelens.features.saliency import Deletion
from facelens.images.faceset import FaceSet, Ids
from facelens.images.occlusion import CLEAR, Occlusion
from facelens.progress import Tick, part_of, silent
from facelens.session.ground import Asked, FirstStage, Ground
from facelens.words import number, tr

TOGETHER = 256  # faces whose patches are worked on at once
GRID = (7, 7)  # of saliency where a model has no patches
MANY = 50_000  # faces x patches from which on a search of all of them is warned about


@dataclass(frozen=True, eq=False)
class Searched:
    """A query, the faces it was compared with by patches, and where the first right one stands."""

    found: Reranked
    right: NDArray[np.bool_]  # (k,) of the shortlist: the same person
    gallery: int  # how many faces were searched
    first: int  # rank by cosine of the first right face among all of them; 0: there is none
    first_id: int  # -1
    shown: Shown  # the query as the network saw it
    occlusion: Occlusion
    notes: tuple[str, ...] = ()

    def after(self, alpha: float) -> int:
        """Rank of the first right face after the second stage; 0: there is none."""
        best = np.flatnonzero(self.right[reranking.order(self.found, alpha=alpha)])
        return int(best[0]) + 1 if len(best) else self.first


@dataclass(frozen=True, eq=False)
class Pair:
    """Why two faces match as they do, and both as the network saw them."""

    found: Explained
    query: Shown
    gallery: Shown
    notes: tuple[str, ...] = ()


def search(
    faces: FaceSet,
    query: int,
    plan: MatchPlan,
    *,
    features: FeatureSet,
    model: Model,
    folder: Path,
    occlusion: Occlusion | None = None,
    excluded: Ids | None = None,
    queries: FaceSet | None = None,
    original: bool = False,
    quarantined: Path | None = None,
    tick: Tick = silent,
) -> Searched:
    """Search the gallery for one face: by the cosine of `features` first, the best of that by patches.

    The query is a face of `queries`, or of the gallery itself; then it is no answer, unless it is painted and its
    `original` is to stay. `folder` is where patch maps are kept, `quarantined` as in `tasks.check_gallery`.
    """
    ground = Ground(faces, plan, features=features, model=model, folder=folder, quarantined=quarantined)
    asked = ground.asked(query, occlusion=occlusion or CLEAR, queries=queries, tick=tick)
    own = [query] if queries is None and (asked.occlusion.clear or not original) else []
    without = np.array(own, np.int64) if excluded is None else np.append(excluded, own).astype(np.int64)
    first = FirstStage(ground, asked, without=without)
    found = _reranked(ground, asked, first, plan, tick=tick)
    rank, mate = first.first_right()
    notes = (*ground.notes(), *_all_of_them(plan, found))
    return Searched(
        found, first.is_right(found.ids), len(first), rank, mate, asked.shown, occlusion=asked.occlusion, notes=notes
    )


def explain(
    faces: FaceSet,
    query: int,
    gallery: int,
    plan: MatchPlan,
    *,
    features: FeatureSet,
    model: Model,
    folder: Path,
    occlusion: Occlusion | None = None,
    queries: FaceSet | None = None,
    quarantined: Path | None = None,
    tick: Tick = silent,
) -> Pair:
    """Why the query and one face of the gallery match as they do; arguments as for `search`."""
    ground = Ground(faces, plan, features=features, model=model, folder=folder, quarantined=quarantined)
    asked = ground.asked(query, occlusion=occlusion or CLEAR, queries=queries, tick=tick)
    sets, gone = ground.sets(np.array([gallery], np.int64), tick=tick)
    if len(gone):
        raise InputError(" ".join(ground.notes()), hint=tr("Choose another face of the gallery."))
    cosine = float(asked.sets.embedding[0].astype(np.float64) @ sets.embedding[0].astype(np.float64))
    found = reranking.explain(asked.sets, sets, plan, cosine=cosine)
    return Pair(found, asked.shown, ground.shown(gallery), ground.notes())


@dataclass(frozen=True, eq=False)
class Salient:
    """Which places of a query make it like another face, and whether that can be believed."""

    kind: str  # of salience.KINDS
    values: NDArray[np.float64]  # (rows, columns)
    check: Deletion
    shown: Shown

    @property
    def title(self) -> str:
        """What the map is, and what the check says of it."""
        name = tr("Gradient") if self.kind == "gradient" else tr("Occlusion")
        return tr("{name}, deletion {area}", name=name, area=number(self.check.area, 3, sign=True))

    @property
    def sentence(self) -> str:
        """Whether the map tells anything."""
        if self.check.area <= 0:
            return tr("Covering what the map marks does no more than covering at random: it tells nothing.")
        return tr(
            "Covering what the map marks first lowers the similarity by {area} more than covering at random.",
            area=number(self.check.area, 3),
        )


def saliency(
    faces: FaceSet,
    query: int,
    gallery: int,
    plan: MatchPlan,
    *,
    features: FeatureSet,
    model: Model,
    folder: Path | None = None,
    kind: str = "occlusion",
    fill: str = "grey",
    occlusion: Occlusion | None = None,
    queries: FaceSet | None = None,
    quarantined: Path | None = None,
    tick: Tick = silent,
) -> Salient:
    """Which places of the query the similarity to a face of the gallery hangs on, for any model.

    `kind` and `fill` of `salience`; the grid is that of the patches where there are any. Others as for `search`.
    """
    net = patching.network(model, layer=plan.layer, patches=False)
    home = faces if queries is None else queries
    row = home.row_of(query)
    other, known = features.unit(np.array([gallery], np.int64))
    if row is None or not known.all():
        raise InputError(tr("One of the two faces is not there."), hint=tr("Choose others."))
    shown = patching.shown(home, row, net.card, occlusion=occlusion or CLEAR)
    given = (shown.crop, other[0], net.encoder)
    grid = plan.grid or net.seen.card.grid or GRID
    if kind == "gradient":
        values = salience.gradient(*given, grid=grid, tick=part_of(tick, 0, 3))
    else:
        values = salience.occlusion(*given, grid=grid, fill=fill, tick=part_of(tick, 0, 3))
    check = salience.deletion(*given, values, fill=fill, tick=part_of(tick, 2, 3))
    return Salient(kind, values, check, shown)


def _reranked(ground: Ground, asked: Asked, first: FirstStage, plan: MatchPlan, *, tick: Tick) -> Reranked:
    """The shortlist by patches; where pictures turn out to be broken, others take their place."""
    while True:
        ids, cosine = first.shortlist(plan.shortlist or len(first))
        parts: list[Reranked] = []
        for start in range(0, len(ids), TOGETHER):
            some = slice(start, start + TOGETHER)
            sets, gone = ground.sets(ids[some], tick=tick)
            if len(gone):
                first.leave_out(gone)
                break
            parts.append(reranking.rerank(asked.sets, sets, cosine[some], plan, tick=tick))
        else:
            return _joined(parts, asked, plan)


def _joined(parts: list[Reranked], asked: Asked, plan: MatchPlan) -> Reranked:
    nothing = np.zeros(0)
    return Reranked(
        int(asked.sets.ids[0]),
        np.concatenate([np.zeros(0, np.int64), *(part.ids for part in parts)]),
        np.concatenate([nothing, *(part.cosine for part in parts)]),
        np.concatenate([nothing, *(part.emd for part in parts)]),
        np.concatenate([nothing, *(part.error for part in parts)]),
        plan.solver,
        asked.sets.grid,
        sum(part.seconds for part in parts),
    )


def _all_of_them(plan: MatchPlan, found: Reranked) -> tuple[str, ...]:
    """What a search without a first stage cost, where that is much."""
    if plan.shortlist or len(found.ids) * found.grid[0] * found.grid[1] < MANY:
        return ()
    return (
        tr(
            "All {n} faces were matched patch by patch, which took {seconds} s; a shortlist takes a part of that.",
            n=len(found.ids),
            seconds=number(found.seconds, 1),
        ),
    )
