"""Mapping: which faces several models have, and how vectors of one model come into the space of another.

What Ensembles and Upgrades share: transforms are fitted on the faces of some people (features/fitting), read from a
file, or not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.features.fitting import Fit

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Map:
    """How vectors of one model come into the common space; without a transform they lie there already."""

    how: str
    why: str = ""
    transform: Callable[[Floats], Floats] | None = None

    def __call__(self, vectors: Floats) -> Floats:
        return vectors if self.transform is None else self.transform(vectors)


def usable(
    faces: FaceSet, models: Sequence[str], features: Mapping[str, FeatureSet], excluded: Ids | None
) -> tuple[Rows, list[str]]:
    """Rows of the faces that every model has a vector of; and what is left out."""
    kept = np.ones(len(faces), bool)
    if excluded is not None:
        kept[faces.rows_of(excluded)] = False
    known = kept.copy()
    for name in models:
        known &= features[name].rows_of(faces.ids)[1]
    if not known.any():
        raise InputError(tr("No face has a vector of every model."), hint=tr("Embed the gallery with all of them."))
    lost = int((kept & ~known).sum())
    notes = []
    if lost:
        words = (
            "{n} face is left out: a model has no vector of it.",
            "{n} faces are left out: a model has no vector of them.",
        )
        notes.append(plural(lost, *words))
    return np.flatnonzero(known).astype(np.int64), notes


def fitted_on(faces: FaceSet, rows: Rows, fitting: Ids | None, *, seed: int = 0) -> NDArray[np.bool_]:
    """Which of the faces at `rows` transforms are fitted on: those of `fitting`, without it of half of the people."""
    from facelens.features.fitting import people_split

    if fitting is not None:
        chosen = np.isin(faces.ids[rows], fitting)
        if not chosen.any():
            raise InputError(
                tr("No face passes the filter of what transforms are fitted on."), hint=tr("Change it, or empty it.")
            )
        return chosen
    names = [faces.identity.name(int(row)) or f"\0{faces.ids[row]}" for row in rows]
    return people_split(names, seed=seed)


def unseen(identity: NDArray[np.int32], fits: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], int]:
    """Which faces are of people no transform is fitted on, given which ones it is; and how many people it is."""
    people = np.unique(identity[fits & (identity >= 0)])
    shown: NDArray[np.bool_] = ~fits & ~np.isin(identity, people)
    if not shown.any():
        raise InputError(
            tr("No face is left to show: transforms are fitted on all people."),
            hint=tr("Fit on some of the people, or on another gallery."),
        )
    return shown, len(people) or int(fits.sum())


def from_file(path: Path, source: FeatureSet, target: FeatureSet | None) -> Map:
    """A transform of the source model, into the space of the target where there is one."""
    from facelens.features import transforms

    found = transforms.load(path)
    sides = [("{file} takes {a} dimensions, {name} has {b}.", found.dimensions_in, source)]
    if target is not None:
        sides.append(("{file} gives {a} dimensions, {name} has {b}.", found.dimensions, target))
    for words, dimensions, model in sides:
        if dimensions != model.dimensions:
            name = escaped(model.provenance.model)
            raise InputError(
                tr(words, file=escaped(path.name), a=dimensions, name=name, b=model.dimensions),
                hint=tr("Choose the transform of this model, or fit one here."),
            )
    return Map("file", escaped(path.name), found)


def elsewhere(one: Map, target: str, model: str) -> list[str]:
    """What to say of a file's transform that does not lead into the space of the target, by its name or its model's."""
    there = getattr(one.transform, "target", "")
    if there in ("", target, model):
        return []
    words = "{file} was fitted into {there}, not into {here}."
    return [tr(words, file=one.why, there=escaped(there), here=escaped(target))]


def fitted(
    source: Floats,
    target: Floats,
    labels: NDArray[np.int32],
    *,
    names: tuple[str, str],
    method: str = "auto",
    copies: int = 1,
    seed: int = 0,
    folder: Path | None = None,
    tick: Tick = silent,
) -> Sequence[Fit]:
    """Transforms of the source's vectors into the target's space; what is kept in `folder` is not fitted again."""
    from facelens.features import fitting

    tick(0, 1, tr("Fitting {name}", name=names[0]))

    def make() -> Sequence[Fit]:
        return fitting.copies(source, target, labels, copies, method=method, seed=seed, names=names, tick=tick)

    settings = {"method": method, "mode": "m2m", "copies": copies, "seed": seed, "name": names[0]}
    return kept(folder, make, source, target, labels, **settings)


def kept(
    folder: Path | None, make: Callable[[], Sequence[Fit]], *arrays: NDArray[np.generic], **settings: object
) -> Sequence[Fit]:
    """What is made of these arrays with these settings, from `folder` where it was made before."""
    from facelens.features import fitting

    return make() if folder is None else fitting.cached(folder, fitting.key(*arrays, **settings), make)


def some(identity: NDArray[np.int32], most: int, *, seed: int = 0) -> NDArray[np.int64]:
    """Places of the faces of some people, at most `most`; all of them where there are fewer."""
    if len(identity) <= most:
        return np.arange(len(identity))
    people, counts = np.unique(identity[identity >= 0], return_counts=True)
    order = np.random.default_rng(seed).permutation(len(people))
    taken = people[order[: max(2, int(np.searchsorted(np.cumsum(counts[order]), most, side="right")))]]
    return np.flatnonzero(np.isin(identity, taken))
