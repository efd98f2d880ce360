"""Ground: a gallery on which faces are searched for by patches; what searches share.

Vectors and ready-made patches stay in the process beside encoder and maps (`patching`), so that the next question about
the same gallery is answered at once. For one thread at a time.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.patch_sets import Grid, PatchSets, landmarks_in, sets_of
from facelens.analyses.plan import MatchPlan
from facelens.errors import InputError
from facelens.features import patching
from facelens.features.featureset import FeatureSet
from facelens.features.feed import placed_face
from facelens.features.patching import Look, Model, Network, Recent, Shown
from facelens.features.store import picture_keys
from facelens.images import dense
from facelens.images.faceset import FaceSet, Ids
from facelens.images.occlusion import CLEAR, Occlusion, moved
from facelens.progress import Tick, silent
from facelens.words import plural, tr

ROOM = 384 << 20  # bytes of ready-made patches that stay
BLOCK = 1 << 22  # numbers of vectors looked at at once
FEW = 5  # landmarks of a face that every detector gives
NAMED = 3  # broken pictures that are told by name

Floats = NDArray[np.float32]
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Ground:
    """What every search by patches starts from: a gallery, its vectors, and the model that made them.

    The faces that are searched for are those of the gallery itself, or of `queries`, another one; `asking` are the
    vectors of that as far as there are any, and whoever has none is looked at by the model.
    """

    faces: FaceSet
    features: FeatureSet
    model: Model
    folder: Path  # where patch maps are kept
    excluded: Ids = field(default_factory=lambda: np.zeros(0, np.int64))  # faces that are not searched
    queries: FaceSet | None = None
    asking: FeatureSet | None = None
    quarantined: Path | None = None  # as in `tasks.check_gallery`
    tells: Callable[[Any], Any] | None = None  # in disguise: what is found as it may be told; pictures are as they are

    def told(self, found: Found) -> Found:
        """What was found here, as it may be told."""
        return found if self.tells is None else self.tells(found)  # type: ignore[no-any-return]

    @property
    def home(self) -> FaceSet:
        """The faces that are searched for."""
        return self.faces if self.queries is None else self.queries

    @property
    def apart(self) -> bool:
        """Whether those are of another gallery."""
        return self.queries is not None


@dataclass(frozen=True, eq=False)
class Asked:
    """The face that is searched for."""

    face: int  # id
    sets: PatchSets  # one
    person: int  # its code among the identities of the gallery, -1: nobody there
    originals: Ids  # the same picture in the gallery: itself, or of the same person and file name
    shown: Shown | None
    occlusion: Occlusion


class Patched:
    """A ground as its model sees it, in the patches of a plan."""

    def __init__(self, ground: Ground, plan: MatchPlan) -> None:
        self.ground, self.plan, self.faces = ground, plan, ground.faces
        self.net: Network = patching.network(ground.model, layer=plan.layer)
        self.features = _held(ground.features)
        self.broken: dict[int, str] = {}  # face -> the name of its file, which gives no patches
        self._landmarks = 0  # most that were known of a face
        kept = patching.cache(self.faces, self.net, ground.folder)
        self._shelf = _shelves.get((kept.folder, kept.of, plan.grid), _Shelf)

    @cached_property
    def _home(self) -> Patched | None:
        """The faces that are searched for, with their vectors; None where there are none of them."""
        ground = self.ground
        if not ground.apart:
            return self
        if ground.asking is None:
            return None
        made = Patched(replace(ground, faces=ground.home, features=ground.asking, queries=None, asking=None), self.plan)
        made.broken = self.broken
        return made

    def asked(self, query: int, *, occlusion: Occlusion, tick: Tick = silent) -> Asked:
        """The face that is searched for, painted or not."""
        home, row = self.ground.home, self.ground.home.row_of(query)
        if row is None:
            raise InputError(tr("The face that is searched for is not there."), hint=tr("Choose another one."))
        shown = patching.shown(home, row, self.net.card, occlusion=occlusion, quarantined=self.ground.quarantined)
        if occlusion.clear:
            for sets in self._embedded(np.array([query], np.int64), tick=tick):
                return Asked(query, sets, *self._known(row), shown, occlusion)
        look = patching.look(home, row, self.net, occlusion=occlusion, quarantined=self.ground.quarantined)
        return self._looked(row, look, occlusion)

    def several(self, ids: Ids, *, occlusion: Occlusion, tick: Tick = silent) -> list[Asked]:
        """As `asked`, many at once; those without a picture are in `broken`, and nothing is shown of clear ones."""
        found: dict[int, Asked] = {}
        home = self.ground.home
        if occlusion.clear:
            known = self._embedded(ids, tick=tick)
            rows = home.rows_of(np.array([sets.ids[0] for sets in known], np.int64))
            for sets, row in zip(known, rows.tolist()):
                found[int(home.ids[row])] = Asked(int(home.ids[row]), sets, *self._known(row), None, occlusion)
        if self.ground.apart or not occlusion.clear:
            rest = np.array([face for face in ids.tolist() if face not in found and face not in self.broken], np.int64)
            rows = home.rows_of(rest)
            guarded = self.ground.quarantined
            looks = patching.looks(home, rows, self.net, occlusion=occlusion, quarantined=guarded, tick=tick)
            for row, look in zip(rows.tolist(), looks):
                if isinstance(look, str):
                    self._note(home, [int(home.ids[row])])
                else:
                    found[int(home.ids[row])] = self._looked(row, look, occlusion)
        return [found[face] for face in ids.tolist() if face in found]

    def _embedded(self, ids: Ids, *, tick: Tick) -> list[PatchSets]:
        """Those of some faces that have vectors and patches, each by itself."""
        if self._home is None:
            return []
        usable = ids[self._home.features.rows_of(ids)[1]]
        sets, _ = self._home.sets(usable, tick=tick)
        self._landmarks = max(self._landmarks, self._home._landmarks)
        return [sets.take(slice(place, place + 1)) for place in range(len(sets))]

    def _looked(self, row: int, look: Look, occlusion: Occlusion) -> Asked:
        """A face that has no vector of its own, or not as it is painted."""
        home = self.ground.home
        name = np.array([home.ids[row] if occlusion.clear else -1], np.int64)
        sets = sets_of(name, look.map[None], look.vector[None], grid=self.plan.grid)
        if self.plan.weights == "lmk":
            sets = replace(sets, points=self._counted(home, row, sets.grid, occlusion)[None])
        return Asked(int(home.ids[row]), sets, *self._known(row), look.shown, occlusion)

    def _known(self, row: int) -> tuple[int, Ids]:
        """Who a face is in the gallery, and where it is there itself."""
        home = self.ground.home
        if not self.ground.apart:
            return int(home.identity.codes[row]), home.ids[row : row + 1]
        person, name = self._codes.get(home.identity.name(row), -1), home.file_name(row)
        same = np.flatnonzero(self.faces.identity.codes == person) if person >= 0 else np.zeros(0, np.int64)
        found = [int(self.faces.ids[other]) for other in same.tolist() if self.faces.file_name(other) == name]
        return person, np.array(found, np.int64)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {name: code for code, name in enumerate(self.faces.identity.names)}

    def shown(self, face: int) -> Shown:
        """A face of the gallery as the network saw it."""
        row = self.faces.row_of(face)
        assert row is not None
        return patching.shown(self.faces, row, self.net.card, quarantined=self.ground.quarantined)

    def sets(self, ids: Ids, *, tick: Tick = silent) -> tuple[PatchSets, Ids]:
        """The patches of faces of the gallery, and the faces that give none: see `broken`."""
        rows = self.faces.rows_of(ids)
        keys = dict(zip(ids.tolist(), picture_keys(self.faces, rows).tolist()))
        ready = {face: self._shelf.get(face, key) for face, key in keys.items()}
        missing = np.array([face for face, one in ready.items() if one is None], np.int64)
        if len(missing):
            found = patching.maps(
                self.faces,
                self.faces.rows_of(missing),
                self.net,
                folder=self.ground.folder,
                quarantined=self.ground.quarantined,
                tick=tick,
            )
            self._note(self.faces, [face for face, _ in found.skipped])
            if found.maps:
                made = _patches(found.maps, self.plan.grid)
                self._shelf.grid = made.grid
                for face, patches, centre in zip(made.ids.tolist(), made.patches, made.centre):
                    ready[face] = patches, centre
                    self._shelf.put(face, keys[face], patches.copy(), centre.copy())
        there = [(face, *one) for face, one in ready.items() if one is not None]
        gone = np.array([face for face, one in ready.items() if one is None], np.int64)
        if not there:
            return _nothing(), gone
        good = np.array([face for face, *_ in there], np.int64)
        embedding, known = self.features.unit(good)
        if not known.all():
            raise InputError(tr("A face that is matched has no vector."), hint=tr("Embed the gallery."))
        points = None
        if self.plan.weights == "lmk":
            points = np.stack([self._points(face, keys[face]) for face in good.tolist()])
        patches, centre = np.stack([one[1] for one in there]), np.stack([one[2] for one in there])
        return PatchSets(good, patches, centre, embedding, self._shelf.grid, points), gone

    def notes(self) -> tuple[str, ...]:
        """What there is to say about pictures and landmarks that were missed."""
        found = []
        if self.broken:
            names = ", ".join([*self.broken.values()][:NAMED])
            told = plural(
                len(self.broken),
                "{n} picture gives no patches and is left out",
                "{n} pictures give no patches and are left out",
            )
            found.append(f"{told}: {names}{', …' if len(self.broken) > NAMED else ''}.")
        if self.plan.weights == "lmk" and not self._landmarks:
            found.append(tr("No landmarks are known, so all patches weigh the same."))
        elif self.plan.weights == "lmk" and self._landmarks <= FEW:
            found.append(tr("Only {n} landmarks of a face are known, which is few to weigh patches by.", n=FEW))
        return tuple(found)

    def _note(self, home: FaceSet, ids: list[int]) -> None:
        self.broken |= {
            int(home.ids[row]): home.file_name(row) for row in home.rows_of(np.array(ids, np.int64)).tolist()
        }

    def _points(self, face: int, key: int) -> Floats:
        kept = self._shelf.points.get(face)
        if kept is None or kept[0] != key:
            row = self.faces.row_of(face)
            assert row is not None
            counted = self._counted(self.faces, row, self._shelf.grid, CLEAR)
            kept = self._shelf.points[face] = key, counted
        self._landmarks = max(self._landmarks, int(kept[1].sum()))
        return kept[1]

    def _counted(self, home: FaceSet, row: int, grid: Grid, occlusion: Occlusion) -> Floats:
        """(P,) how many landmarks lie in each cell: of a dense set where there is one, else the five; 0 for none."""
        many = dense.points(home, np.array([row]))
        known = home.landmarks is not None and bool(np.isfinite(home.landmarks[row]).all())
        if many is None and not known:
            return np.zeros(grid[0] * grid[1], np.float32)
        card = self.net.card
        points = placed_face(home, row, card, None if many is None else many[0])
        assert points is not None
        after = moved(points, card.size, occlusion, face=int(home.ids[row]))
        counted: Floats = landmarks_in(after[None].astype(np.float32), grid, card.size)[0]
        self._landmarks = max(self._landmarks, int(counted.sum()))
        return counted


class FirstStage:
    """The whole gallery by its cosine with one face."""

    def __init__(self, patched: Patched, asked: Asked, *, without: Ids) -> None:
        faces, features = patched.faces, patched.features
        self.ids = features.ids
        self._cosine = _cosines(features, asked.sets.embedding[0])
        if len(faces) == len(features) and np.array_equal(faces.ids, features.ids):
            codes, here = faces.identity.codes, np.ones(len(faces), bool)
        else:
            rows = faces.rows_of(self.ids)
            here = np.isin(self.ids, faces.ids)
            codes = np.full(len(self.ids), -1, np.int32)
            codes[here] = faces.identity.codes[rows]
        self._right = (codes == asked.person) & (asked.person >= 0)
        self._in = here & np.isfinite(self._cosine)
        self.leave_out(without)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._in))

    def leave_out(self, ids: Ids) -> None:
        """Faces that are not searched."""
        if len(ids):
            self._in &= ~np.isin(self.ids, ids)
        self._score = np.where(self._in, self._cosine, -np.inf)

    def shortlist(self, k: int) -> tuple[Ids, NDArray[np.float64]]:
        """The `k` nearest and their cosines, largest first; equals as they lie in the gallery."""
        k = min(k, len(self))
        if not k:
            return np.zeros(0, np.int64), np.zeros(0)
        least = np.partition(self._score, len(self._score) - k)[len(self._score) - k]
        places = np.flatnonzero(self._score >= least)
        places = places[np.argsort(-self._score[places], kind="stable")][:k]
        return self.ids[places], self._score[places].astype(np.float64)

    def is_right(self, ids: Ids) -> NDArray[np.bool_]:
        """Which of some faces show the person that is searched for."""
        return np.isin(ids, self.ids[self._right])

    def right_ranks(self) -> NDArray[np.int64]:
        """The ranks of all right faces, ascending."""
        right = np.flatnonzero(self._right & self._in)
        return np.sort([self._rank(place) for place in right.tolist()]).astype(np.int64)

    def first_right(self) -> tuple[int, int]:
        """Rank and id of the first right face; (0, -1) where there is none."""
        right = np.flatnonzero(self._right & self._in)
        if not len(right):
            return 0, -1
        place = int(right[np.argmax(self._score[right])])
        return self._rank(place), int(self.ids[place])

    def _rank(self, place: int) -> int:
        score = self._score[place]
        return 1 + int(np.count_nonzero(self._score > score) + np.count_nonzero(self._score[:place] == score))


# What stays in the process


class _Shelf:
    """Patches of faces as they are matched, of one network, gallery and grid; those unused longest go first."""

    def __init__(self) -> None:
        self.grid: Grid = (0, 0)
        self.points: dict[int, tuple[int, Floats]] = {}  # state of the picture, landmarks in each cell
        self._kept: OrderedDict[int, tuple[int, Floats, Floats]] = OrderedDict()  # state, patches, centre
        self._held = 0

    def get(self, face: int, key: int) -> tuple[Floats, Floats] | None:
        kept = self._kept.get(face)
        if kept is None or kept[0] != key:
            return None
        self._kept.move_to_end(face)
        return kept[1], kept[2]

    def put(self, face: int, key: int, patches: Floats, centre: Floats) -> None:
        before = self._kept.pop(face, None)
        self._kept[face] = key, patches, centre
        self._held += patches.nbytes - (0 if before is None else before[1].nbytes)
        while self._held > ROOM and len(self._kept) > 1:
            self._held -= self._kept.popitem(last=False)[1][1].nbytes


_shelves: Recent[tuple[object, ...], _Shelf] = Recent(2)
_vectors: deque[FeatureSet] = deque(maxlen=3)  # those in use are not read from disk again: see StoredFeatures


def forget() -> None:
    """Let go of everything that stays in the process."""
    patching.forget()
    _shelves.clear()
    _vectors.clear()


def _held(features: FeatureSet) -> FeatureSet:
    if not any(one is features for one in _vectors):
        _vectors.append(features)
    return features


def _cosines(features: FeatureSet, unit: Floats) -> Floats:
    found = np.empty(len(features), np.float32)
    step = max(1, BLOCK // max(1, features.dimensions))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for start in range(0, len(features), step):
            some = slice(start, start + step)
            found[some] = features.vectors[some] @ unit / features.norms[some]
    found[np.isin(features.ids, features.invalid)] = np.nan
    return found


def _patches(maps: dict[int, Floats], grid: Grid | None) -> PatchSets:
    ids = np.array(list(maps), np.int64)
    return sets_of(ids, np.stack(list(maps.values())), np.zeros((len(ids), 1), np.float32), grid=grid)


def _nothing() -> PatchSets:
    empty = np.zeros((0, 0), np.float32)
    return PatchSets(np.zeros(0, np.int64), np.zeros((0, 0, 0), np.float32), empty, empty, (0, 0))
