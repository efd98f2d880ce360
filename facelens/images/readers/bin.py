"""insightface .bin: pairs of encoded pictures in one file; read in place, never unpickled (see images.container)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from facelens.errors import InputError
from facelens.images import container
from facelens.images.faceset import FaceSet
from facelens.images.protocol import Pairs, Protocol
from facelens.images.readers.layout import Options, Reading, Recognised
from facelens.progress import Tick, silent
from facelens.words import escaped, tr

FOLDS = 10


def recognise(path: Path) -> Recognised | None:
    """A file whose name ends in .bin and that starts like a pickle of a list."""
    if path.suffix.lower() != ".bin" or not path.is_file():
        return None
    try:
        with open(path, "rb") as stream:
            start = stream.read(64)
        if start[:1] not in (b"\x80", b"(", b"]"):
            return None
        if os.path.getsize(path) > 32 << 20:
            note = tr("The pictures are counted when it is opened.")
            return Recognised("bin", tr("Pairs in one .bin file"), 0, None, True, note, complete=False)
        pictures = len(container.index(path))
    except (OSError, InputError):
        return None
    return Recognised("bin", tr("Pairs in one .bin file"), pictures)


def read(path: Path, *, options: Options | None = None, tick: Tick = silent) -> Reading:
    """Open a .bin; folds are ten consecutive parts, as insightface evaluates them."""
    try:
        stored = container.index(path, tick=tick)
    except OSError as error:
        message = tr("{name} could not be read.", name=escaped(path.name))
        raise InputError(message, hint=tr("Choose another file."), details=str(error)) from error
    if not len(stored):
        raise InputError(tr("{name} holds no pictures.", name=escaped(path.name)), hint=tr("Choose another file."))
    name = os.fsencode(path.name)
    paths = [b"%s/%06d" % (name, place) for place in range(len(stored))]
    faces = FaceSet.build(path.stem, path.parent, paths=paths, identities=[None] * len(stored), embedded=True)
    pairs = Pairs(
        np.arange(len(stored), dtype=np.int64).reshape(-1, 2), stored.same, consecutive_folds(len(stored.same), FOLDS)
    )
    notes = (tr("A .bin file names nobody: the faces have no identities, only pairs."),)
    return Reading(faces, Protocol(path.stem, pairs), notes)


def consecutive_folds(pairs: int, folds: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """(P,) fold of each pair: consecutive parts whose sizes differ by one at most, the larger first."""
    parts = np.array_split(np.arange(pairs), max(1, min(folds, pairs)))
    return np.concatenate([np.full(len(part), fold, np.int32) for fold, part in enumerate(parts)])
