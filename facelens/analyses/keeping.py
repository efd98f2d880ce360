"""Keeping: maps on disk by what they were made of: none is made twice, and one of nearly the same faces is found.

A file's name tells the settings and the vectors. Inside, each point has the digest of its vector: a map of other faces
gives away which of ours are on it, whatever the gallery is called.
"""

from __future__ import annotations

import json
import logging
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.layouts import BLOCK, Floats, Vectors
from facelens.analyses.measure import Measure
from facelens.analyses.similarity import row_digests
from facelens.errors import FaceLensError
from facelens.features import fitting
from facelens.files import atomic_write
from facelens.images.faceset import Rows
from facelens.progress import Tick, silent

Digests = NDArray[np.uint64]

FORMAT = 2  # raise when the same vectors give other points than before
SHARE = 0.9  # of the faces of either that two maps must have in common to be taken for one another
LOOKED = 16  # maps of the same settings that are looked through, the latest first

_log = logging.getLogger("facelens.projection")


@dataclass(frozen=True, eq=False)
class Kept:
    """A finished map."""

    points: Floats  # (N, 2)
    digests: Digests  # (N,)
    shares: tuple[float, float]
    quality: Measure
    other: Floats | None = None  # (N, 2) of a second model
    other_quality: Measure = field(default_factory=lambda: Measure.none(""))


def digests(x: Vectors, y: Vectors | None = None, *, tick: Tick = silent) -> Digests:
    """(N,) a number for each vector, or for each pair of two models' vectors; the second of equal ones has the next.

    >>> digests(np.array([[1, 2], [2, 1], [1, 2]], np.float32)).argsort().argsort().tolist() in ([0, 2, 1], [1, 0, 2])
    True
    """
    found = _digests(x, tick=tick)
    if y is not None:
        found = found * np.uint64(0x9E3779B97F4A7C15) + _digests(y, tick=tick)
    order = np.argsort(found, kind="stable")
    first = np.append(True, found[order][1:] != found[order][:-1])[: len(found)]
    place = np.arange(len(found))
    found[order] += (place - np.maximum.accumulate(np.where(first, place, 0))).astype(np.uint64)
    return found


def _digests(x: Vectors, *, tick: Tick) -> Digests:
    n, D = x.shape
    found = np.empty(n, np.uint64)
    step = max(1, BLOCK // max(1, D))
    for start in range(0, n, step):
        tick(start, n)
        found[start : start + step] = row_digests(x[start : start + step])
    return found


class Shelf:
    """The maps of one kind of settings in a folder."""

    def __init__(self, folder: Path, settings: tuple[object, ...]) -> None:
        self.folder = folder
        self.kind = fitting.key(projection=FORMAT, settings=settings)

    def place(self, of: Digests) -> Path:
        """The file of the map of these vectors."""
        return self.folder / f"{self.kind}-{fitting.key(of)}.npz"

    def same(self, of: Digests) -> Kept | None:
        """The map of these very vectors; None where there is none, or its file is damaged."""
        found = _read(self.place(of))
        return found if found is not None and np.array_equal(found.digests, of) else None

    def like(self, of: Digests) -> tuple[Kept, Rows] | None:
        """A map of nearly the same vectors, the latest, and (N,) where these are on it, -1 for those that are not."""
        files = sorted(self.folder.glob(f"{self.kind}-*.npz"), key=_age, reverse=True)
        for path in files[:LOOKED]:
            found = _read(path)
            if found is None or not len(found.digests):
                continue
            order = np.argsort(found.digests)
            at = order[np.minimum(np.searchsorted(found.digests, of, sorter=order), len(order) - 1)]
            at = np.where(found.digests[at] == of, at, -1).astype(np.int64)
            if np.count_nonzero(at >= 0) >= SHARE * max(len(of), len(order)):
                return found, at
        return None

    def put(self, made: Kept) -> None:
        """Keep a map, if the disk has room."""
        said = {"shares": made.shares, "quality": _told(made.quality), "other_quality": _told(made.other_quality)}
        arrays: dict[str, Any] = {"points": made.points, "digests": made.digests}
        if made.other is not None:
            arrays["other"] = made.other
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.place(made.digests)) as file:
                np.savez(file, said=np.array(json.dumps(said)), **arrays)
        except (OSError, FaceLensError) as error:
            _log.warning("the map is not kept in %s: %s", self.folder, error)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _read(path: Path) -> Kept | None:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            said, points, marks = json.loads(str(file["said"])), file["points"], file["digests"]
            other = file.get("other")
        shares = (float(said["shares"][0]), float(said["shares"][1]))
        qualities = (_measure(said[name]) for name in ("quality", "other_quality"))
        found = Kept(points, marks, shares, next(qualities), other, next(qualities))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        _log.info("%s is damaged and made anew: %s", path, error)
        return None
    maps = [points] if other is None else [points, other]
    whole = all(one.shape == (len(marks), 2) and one.dtype == np.float32 and np.isfinite(one).all() for one in maps)
    return found if whole and marks.dtype == np.uint64 and marks.ndim == 1 else None


def _told(one: Measure) -> list[Any]:
    return [one.value, one.n, one.why]


def _measure(told: list[Any]) -> Measure:
    value, n, why = told
    return Measure.none(str(why), n=int(n)) if value is None else Measure(float(value), n=int(n))
