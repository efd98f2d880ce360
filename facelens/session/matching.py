"""Matching: the searches by patches that the window asks for. Each runs in the worker process or in a script alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import regions, reranking, transport
from facelens.analyses.patch_sets import PatchSets
from facelens.analyses.plan import PATCH_WEIGHTS, RESAMPLES, MatchPlan
from facelens.analyses.regions import Average
from facelens.analyses.reranking import Explained, Nearest, Reranked, Sweep
from facelens.analyses.sweeping import ALPHAS, Line, Tally
from facelens.errors import InputError
from facelens.features import patching
from facelens.features import saliency as salience
from facelens.features.patching import Shown
from facelens.features.saliency import Deletion
from facelens.images import dense
from facelens.images.faceset import FaceSet, Ids
from facelens.images.occlusion import CLEAR, Occlusion
from facelens.progress import Tick, offer, part_of, silent
from facelens.session.ground import Asked, FirstStage, Ground, Patched
from facelens.words import number, plural, tr

TOGETHER = 256  # faces whose patches are worked on at once
BLOCK = 64  # queries that are encoded together
TELL = 1.0  # seconds between results of a sweep that are offered
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
    ground: Ground,
    query: int,
    plan: MatchPlan,
    *,
    occlusion: Occlusion | None = None,
    original: bool = False,
    tick: Tick = silent,
) -> Searched:
    """Search the gallery for one face: by the cosine of the vectors first, the best of that by patches.

    The same picture is no answer, unless its `original` is to stay, which it cannot where it is the query as it is.
    """
    patched = Patched(ground, plan)
    asked = patched.asked(query, occlusion=occlusion or CLEAR, tick=tick)
    own = (not ground.apart and asked.occlusion.clear) or not original
    first = FirstStage(patched, asked, without=np.append(ground.excluded, asked.originals) if own else ground.excluded)
    found = _reranked(patched, asked, first, plan, tick=tick)
    rank, mate = first.first_right()
    notes = (*patched.notes(), *_all_of_them(plan, found))
    assert asked.shown is not None
    right = first.is_right(found.ids)
    return ground.told(
        Searched(found, right, len(first), rank, mate, asked.shown, occlusion=asked.occlusion, notes=notes)
    )


def explain(
    ground: Ground,
    query: int,
    gallery: int,
    plan: MatchPlan,
    *,
    occlusion: Occlusion | None = None,
    tick: Tick = silent,
) -> Pair:
    """Why the query and one face of the gallery match as they do."""
    patched = Patched(ground, plan)
    asked = patched.asked(query, occlusion=occlusion or CLEAR, tick=tick)
    sets, gone = patched.sets(np.array([gallery], np.int64), tick=tick)
    if len(gone):
        raise InputError(" ".join(patched.notes()), hint=tr("Choose another face of the gallery."))
    cosine = float(asked.sets.embedding[0].astype(np.float64) @ sets.embedding[0].astype(np.float64))
    found = reranking.explain(asked.sets, sets, plan, cosine=cosine)
    assert asked.shown is not None
    return ground.told(Pair(found, asked.shown, patched.shown(gallery), patched.notes()))


@dataclass(frozen=True, eq=False)
class Salient:
    """Which places of a query make it like another face, and whether that can be believed."""

    kind: str  # of salience.KINDS
    values: NDArray[np.float64]  # (rows, columns)
    check: Deletion
    shown: Shown

    @property
    def titles(self) -> tuple[str, str]:
        """What the check says of the map, the longer words first."""
        area = number(self.check.area, 3, sign=True)
        return tr("deletion check {area}", area=area), area

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
    ground: Ground,
    query: int,
    gallery: int,
    plan: MatchPlan,
    *,
    kind: str = "occlusion",
    fill: str = "grey",
    occlusion: Occlusion | None = None,
    tick: Tick = silent,
) -> Salient:
    """Which places of the query the similarity to a face of the gallery hangs on, for any model.

    `kind` and `fill` of `salience`; the grid is that of the patches where there are any.
    """
    net = patching.network(ground.model, layer=plan.layer, patches=False)
    home, row = ground.home, ground.home.row_of(query)
    other, known = ground.features.unit(np.array([gallery], np.int64))
    if row is None or not known.all():
        raise InputError(tr("One of the two faces is not there."), hint=tr("Choose others."))
    shown = patching.shown(home, row, net.card, occlusion=occlusion or CLEAR, quarantined=ground.quarantined)
    given = (shown.crop, other[0], net.encoder)
    grid = plan.grid or net.seen.card.grid or GRID
    if kind == "gradient":
        values = salience.gradient(*given, grid=grid, tick=part_of(tick, 0, 3))
    else:
        values = salience.occlusion(*given, grid=grid, fill=fill, tick=part_of(tick, 0, 3))
    check = salience.deletion(*given, values, fill=fill, tick=part_of(tick, 2, 3))
    return Salient(kind, values, check, shown)


@dataclass(frozen=True, eq=False)
class Ledgers:
    """What the regions of some faces cost on average, each with the nearest picture of its person and of another."""

    mate: Average
    other: Average
    notes: tuple[str, ...] = ()


def ledgers(
    ground: Ground, ids: Ids, plan: MatchPlan, *, occlusion: Occlusion | None = None, tick: Tick = silent
) -> Ledgers:
    """Search for each of some faces, and average the ledgers of what is found first; see `search`.

    Faces whose person has no other picture on the shortlist count for the others only.
    """
    patched = Patched(ground, plan)
    kept: dict[bool, list[NDArray[np.float64]]] = {True: [], False: []}
    for done, face in enumerate(ids.tolist()):
        tick(done, len(ids))
        asked = patched.asked(face, occlusion=occlusion or CLEAR, tick=_Aside(tick, done, len(ids)))
        assert asked.shown is not None
        first = FirstStage(patched, asked, without=np.append(ground.excluded, asked.originals))
        shares = regions.shares(asked.sets.grid, asked.shown.points, asked.shown.crop.shape[:2])
        for same, best in _nearest(patched, asked, first, plan, tick=_Aside(tick, done, len(ids))).items():
            if best is not None:
                sets, _ = patched.sets(np.array([best.id], np.int64))
                told = reranking.explain(asked.sets, sets, plan, cosine=best.cosine)
                kept[same].append(regions.ledger(told, shares))
    tick(len(ids), len(ids))
    return Ledgers(regions.averaged(kept[True]), regions.averaged(kept[False]), patched.notes())


def sweep(
    ground: Ground,
    plan: MatchPlan,
    *,
    occlusion: Occlusion | None = None,
    among: Ids | None = None,
    original: bool = False,
    weights: Sequence[str] = (),
    alphas: Sequence[float] = ALPHAS,
    tick: Tick = silent,
) -> Sweep:
    """Search for many faces, and say what the second stage does at every alpha and with every way to weigh patches.

    Searched for are the faces `among` those that can be; without, all of another gallery, or all of this one that are
    not excluded and have another picture there. Results so far are offered now and then. `weights` are by default all
    that can be used. `original` as for `search`.
    """
    asked, without = occlusion or CLEAR, ground.excluded
    ids = ground.home.ids if ground.apart else _searched_for(ground)
    ids = ids if among is None else np.asarray(among, np.int64)
    if not len(ids):
        raise InputError(
            tr("There is nobody to search for: no person has two pictures."), hint=tr("Choose a gallery with names.")
        )
    kinds = tuple(weights) or _weights(ground.home, plan)
    if "lmk" in kinds:
        plan = replace(plan, weights="lmk")  # so that landmarks are looked up
    patched = Patched(ground, plan)
    own = (not ground.apart and asked.clear) or not original
    tally = Tally((), tuple(alphas))
    searched = 0

    def so_far(*, complete: bool) -> Sweep:
        return tally.sweep(
            occlusion="" if asked.clear else asked.kind,
            gallery=searched,
            shortlist=plan.shortlist,
            solver=plan.solver,
            how=_how(len(tally), searched, own=own, apart=ground.apart, excluded=bool(np.isin(ids, without).all())),
            complete=complete,
            notes=patched.notes(),
            resamples=RESAMPLES if complete else 0,
        )

    told = time.monotonic()
    for start in range(0, len(ids), BLOCK):
        here = _Aside(tick, start, len(ids))
        several = patched.several(ids[start : start + BLOCK], occlusion=asked, tick=here)
        firsts = [
            FirstStage(patched, one, without=np.append(without, one.originals) if own else without) for one in several
        ]
        lists = [first.shortlist(plan.shortlist or len(first))[0] for first in firsts]
        if plan.shortlist and lists:
            patched.sets(np.unique(np.concatenate(lists)), tick=here)  # all pictures in one go
        for place, (one, first) in enumerate(zip(several, firsts)):
            if not tally.weights:
                tally.weights = tuple(kind for kind in kinds if kind != "cc" or _fits(one))
            tally.add(_line(patched, one, first, plan, weights=tally.weights, tick=here))
            searched = max(searched, len(first))
            tick(start + place + 1, len(ids))
            if time.monotonic() - told > TELL:
                offer(tick, so_far(complete=False))
                told = time.monotonic()
    return ground.told(so_far(complete=True))


class _Aside:
    """The tick of what is done for some queries of many: it listens, and counts nothing."""

    def __init__(self, tick: Tick, done: int, total: int) -> None:
        self._tick, self._done, self._total = tick, done, total

    def __call__(self, done: int, total: int, note: str = "") -> None:
        self._tick(self._done, self._total, note)


def _searched_for(ground: Ground) -> Ids:
    """Faces with a vector whose person has another one."""
    faces = ground.faces
    _, known = ground.features.rows_of(faces.ids)
    codes = np.where(known & ~np.isin(faces.ids, ground.excluded), faces.identity.codes, -1)
    counts = np.bincount(codes[codes >= 0], minlength=len(faces.identity.names))
    found: Ids = faces.ids[(codes >= 0) & (counts[codes] > 1)]
    return found


def _weights(home: FaceSet, plan: MatchPlan) -> tuple[str, ...]:
    """All ways to weigh patches that say something here, the one of the plan first."""
    known = home.landmarks is not None or dense.points(home, np.arange(min(len(home), 1))) is not None
    usable = [kind for kind in PATCH_WEIGHTS if kind != "lmk" or known]
    return tuple(sorted(usable, key=lambda kind: kind != plan.weights))


def _fits(asked: Asked) -> bool:
    return bool(asked.sets.embedding.shape[1] == asked.sets.patches.shape[2])


def _line(
    patched: Patched, asked: Asked, first: FirstStage, plan: MatchPlan, *, weights: Sequence[str], tick: Tick
) -> Line:
    parts: dict[str, list[NDArray[np.float64]]] = {kind: [] for kind in weights}

    def match(sets: PatchSets, cosine: NDArray[np.float64]) -> None:
        found = transport.costs(asked.sets, sets, kinds=weights, solver=plan.solver, epsilon=plan.epsilon)
        for kind, solved in found.items():
            parts[kind].append(solved.cost)

    def again() -> None:
        for kind in weights:
            parts[kind].clear()

    ids, cosine = _second_stage(patched, first, plan, match=match, again=again, tick=tick)
    emd = {kind: np.concatenate([np.zeros(0), *some]) for kind, some in parts.items()}
    right, ranks = first.is_right(ids), first.right_ranks()
    return Line(asked.face, asked.person, cosine, emd, right, ranks[ranks > len(ids)])


def _how(n: int, gallery: int, *, own: bool, apart: bool, excluded: bool) -> str:
    asked = plural(n, "{n} face is searched for", "{n} faces are searched for")
    if excluded:
        where = tr("among {n} others; no query is in the gallery", n=gallery)
    elif apart and own:
        where = tr("in a gallery of {n}; pictures of the same name are left out", n=gallery)
    elif apart:
        where = tr("in a gallery of {n}", n=gallery)
    elif own:
        where = tr("among the {n} others; the clear picture of a query is not in the gallery", n=gallery)
    else:
        where = tr("among {n}; the clear picture of every query is in the gallery", n=gallery)
    return tr("{asked} {where}.", asked=asked, where=where)


def _second_stage(
    patched: Patched,
    first: FirstStage,
    plan: MatchPlan,
    *,
    match: Callable[[PatchSets, NDArray[np.float64]], None],
    again: Callable[[], None],
    tick: Tick,
) -> tuple[Ids, NDArray[np.float64]]:
    """The shortlist and its cosines, `match`ed piece by piece; all `again` where pictures turn out to be broken.

    Others take their place.
    """
    while True:
        ids, cosine = first.shortlist(plan.shortlist or len(first))
        for start in range(0, len(ids), TOGETHER):
            some = slice(start, start + TOGETHER)
            sets, gone = patched.sets(ids[some], tick=tick)
            if len(gone):
                first.leave_out(gone)
                again()
                break
            match(sets, cosine[some])
        else:
            return ids, cosine


def _nearest(
    patched: Patched, asked: Asked, first: FirstStage, plan: MatchPlan, *, tick: Tick
) -> dict[bool, Nearest | None]:
    """Of the shortlist the nearest face of the same person (True), and of another; patches are read as far as needed.

    All again where pictures turn out to be broken: others take their place.
    """

    def pieces(ids: Ids, cosine: NDArray[np.float64]) -> Iterator[tuple[PatchSets, NDArray[np.float64]]]:
        for start in range(0, len(ids), TOGETHER):
            some = slice(start, start + TOGETHER)
            sets, gone = patched.sets(ids[some], tick=tick)
            if len(gone):
                first.leave_out(gone)
                return
            yield sets, cosine[some]

    while True:
        searched = len(first)
        ids, cosine = first.shortlist(plan.shortlist or searched)
        right = first.is_right(ids)
        found = {
            same: reranking.nearest(asked.sets, pieces(ids[some], cosine[some]), plan)
            for same, some in ((True, right), (False, ~right))
        }
        if len(first) == searched:
            return found


def _reranked(patched: Patched, asked: Asked, first: FirstStage, plan: MatchPlan, *, tick: Tick) -> Reranked:
    parts: list[Reranked] = []

    def match(sets: PatchSets, cosine: NDArray[np.float64]) -> None:
        parts.append(reranking.rerank(asked.sets, sets, cosine, plan, tick=tick))

    _second_stage(patched, first, plan, match=match, again=parts.clear, tick=tick)
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
