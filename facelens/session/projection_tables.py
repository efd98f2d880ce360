"""The points of a map as a file: CSV, Parquet or npz, a face a row, with its name and where both models have it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.projection import Projection
from facelens.errors import InputError
from facelens.figures.projection_words import CHANGES, sentence
from facelens.files import atomic_write
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.session.tables import csv_text, written
from facelens.words import escaped, tr

TABLES = (".csv", ".parquet", ".npz")


def write_points(
    out: Path, faces: FaceSet, found: Projection, *, change: NDArray[np.int8] | None = None, tick: Tick = silent
) -> Path:
    """Write a row for each face: id, picture, identity, x, y; of two models also where the second has it, how far that
    is, and what became of the face where it is known."""
    tick(0, 1)
    columns = _columns(faces, found, change)
    ending = out.suffix.lower()
    if ending == ".csv":
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return written(out, csv_text(list(columns), rows))
    if ending == ".npz":
        with atomic_write(out) as stream:
            np.savez(stream, said=np.array(json.dumps(_about(found))), **columns)  # type: ignore[arg-type]
        return out
    if ending == ".parquet":
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table({name: pyarrow.array(column) for name, column in columns.items()})
        table = table.replace_schema_metadata({b"facelens": json.dumps(_about(found)).encode()})
        with atomic_write(out) as stream:
            pyarrow.parquet.write_table(table, stream)
        return out
    raise InputError(
        tr("{name} is no table of points.", name=escaped(out.name)),
        hint=tr("Name it .csv, .parquet or .npz."),
    )


def _columns(faces: FaceSet, found: Projection, change: NDArray[np.int8] | None) -> dict[str, NDArray[Any]]:
    rows = faces.rows_of(found.ids)
    if len(rows) != len(found):
        raise InputError(tr("The map is of other faces."), hint=tr("Lay out the open gallery first."))
    place = np.zeros(len(faces), np.int64)
    place[rows] = np.arange(len(rows))
    rows = faces.listed(rows)
    order = place[rows]
    made: dict[str, NDArray[Any]] = {
        "id": faces.told_ids[rows],
        "path": np.array([escaped(os.fsdecode(faces.paths[row])) for row in rows.tolist()]),
        "identity": np.array([escaped(faces.identity.name(row)) for row in rows.tolist()]),
        "x": found.points[order, 0],
        "y": found.points[order, 1],
    }
    if found.other is not None:
        made |= {"x_new": found.other[order, 0], "y_new": found.other[order, 1]}
    if found.moved is not None:
        made["moved"] = found.moved[order]
    if change is not None:
        made["change"] = np.array(CHANGES)[np.asarray(change, np.int64)[order] + 1]
    return made


def _about(found: Projection) -> dict[str, object]:
    """How the points were made."""
    return {"said": sentence(found), "notes": found.notes, "plan": vars(found.plan), "drawn": found.drawn,
            "how": found.how, "residual": found.residual}  # fmt: skip
