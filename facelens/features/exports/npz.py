"""Vectors as one npz file, not compressed: what numpy reads back without a pickle.

ids (N,) int64, names (N,) text or bytes, identity (N,) text, vectors (N, D) float32, norms (N,), usable (N,) bool,
confidence (N, S) and points (N, 2) where there are some, about (JSON): model, SHA-256, licence, version
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from facelens.features.exports import Outgoing
from facelens.files import atomic_write
from facelens.progress import Tick, silent
from facelens.words import escaped, tr


def write(path: Path, out: Outgoing, *, tick: Tick = silent) -> None:
    """All vectors, also those of no use where they are among `out`: `usable` tells."""
    path = Path(path)
    tick(0, 1, tr("Writing {name}", name=escaped(path.name)))
    with atomic_write(path) as stream:
        put(stream, out)
    tick(1, 1)


def put(stream: IO[bytes], out: Outgoing) -> None:
    """Write the same to an open file."""
    features = out.features
    try:
        names: NDArray[Any] = np.array([name.decode() for name in out.names], "U")
    except UnicodeDecodeError:
        names = np.array(out.names, "S")
    arrays: dict[str, NDArray[Any]] = {
        "ids": out.told_ids,
        "names": names,
        "identity": np.array([out.identity(n) for n in range(len(out))], "U"),
        "vectors": features.vectors if out.whole else features.vectors[out.places],
        "norms": features.norms[out.places],
        "usable": ~np.isin(out.ids, features.invalid),
        "about": np.array(json.dumps(out.about)),
    }
    if features.confidence is not None:
        arrays["confidence"] = features.confidence[out.places]
    if out.points is not None:
        arrays["points"] = out.points
    np.savez(stream, **arrays)  # type: ignore[arg-type]
