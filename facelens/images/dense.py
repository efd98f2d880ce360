"""Dense points: the many points on each face that a table beside a gallery may tell, as the drawn faces have it.

Table     points68.csv in the folder of the gallery: path, visible (a 0 or 1 for each point), p0_x, p0_y, p1_x, ...
Shapes    (n, L, 2) float32, x and y in pixels of the upright picture, NaN where a point is hidden or not known
"""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from facelens.images.faceset import FaceSet, Ids, Rows, face_ids

FILE = "points68.csv"
MOST = 500  # points of a face


def points(faces: FaceSet, rows: Rows) -> NDArray[np.float32] | None:
    """The points of the faces at `rows`; None where the gallery has no such table, or none of these faces is in it."""
    path = faces.root / FILE
    try:
        state = path.stat()
    except OSError:
        return None
    ids, found = _table(path, state.st_mtime_ns, state.st_size)
    if not len(ids):
        return None
    wanted = faces.ids[rows]
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    known = ids[at] == wanted
    return np.where(known[:, None, None], found[at], np.float32(np.nan)) if known.any() else None


@lru_cache(maxsize=2)
def _table(path: Path, changed: int, size: int) -> tuple[Ids, NDArray[np.float32]]:
    """Ids, ascending, and points of every line that can be read."""
    paths: list[bytes] = []
    lines: list[NDArray[np.float32]] = []
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            reader = csv.reader(file)
            head = next(reader, [])
            count = sum(name.endswith("_x") for name in head)
            if head[:2] != ["path", "visible"] or len(head) != 2 + 2 * count or not 0 < count <= MOST:
                return np.zeros(0, np.int64), np.zeros((0, 0, 2), np.float32)
            for cells in reader:
                try:
                    found = np.array(cells[2:], np.float32).reshape(count, 2)
                except ValueError:
                    continue
                hidden = np.array([mark == "0" for mark in cells[1].ljust(count)[:count]])
                paths.append(cells[0].encode("utf-8", "surrogateescape"))
                lines.append(np.where(hidden[:, None], np.float32(np.nan), found))
    except (OSError, csv.Error):
        pass  # what was read counts
    ids, first = np.unique(face_ids(paths), return_index=True)
    return ids, np.array(lines, np.float32).reshape(len(lines), count if lines else 0, 2)[first]
