"""A folder that FiftyOne imports: its FiftyOneImageClassificationDataset, with the vectors beside it.

data.json        picture of each sample: {"<id>": "/where/it/lies.jpg"}; FiftyOne copies no pictures
data/            instead, where the pictures lie inside another file: <id>.png
labels.json      {"classes": [...], "labels": {"<id>": {"label": who, "attributes": {column: value}}}}, null for nobody
faces.parquet    the same faces with vectors, map and all columns (`parquet.py`)
README.txt       the lines of Python that open it

A face whose picture has a name that is no text is left out: FiftyOne's database holds text only.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from facelens.errors import FaceLensError
from facelens.features.exports import Outgoing, free_names, parquet
from facelens.files import atomic_write
from facelens.images import decode
from facelens.images.faceset import Labels
from facelens.progress import Tick, part_of, silent
from facelens.words import escaped, tr

BLOCK = 4096
TABLE = "faces.parquet"
TAKEN = {"label", "confidence", "logits", "attributes", "tags", "id"}  # what a label of FiftyOne has itself


def write(folder: Path, out: Outgoing, *, tick: Tick = silent) -> Outgoing:
    """Write the files into a folder that is there; returns which faces are in them. labels.json comes last."""
    folder = Path(folder)
    if out.faces.embedded or out.faces.disguised:
        out = _with_pictures(folder / "data", out, tick=part_of(tick, 0, 2))
        (folder / "data.json").unlink(missing_ok=True)
    else:
        there = np.array([out.file(n) is not None for n in range(len(out))], bool)
        out = kept(out, there)
        _write(folder / "data.json", "{", _places(out), "}\n", out, tick=part_of(tick, 0, 4))
    parquet.write(folder / TABLE, out, tick=part_of(tick, 1, 2))
    with atomic_write(folder / "README.txt") as stream:
        stream.write(readme(out).encode())
    classes = json.dumps([escaped(name) for name in out.faces.identity.names])
    _write(folder / "labels.json", f'{{"classes": {classes},\n"labels": {{', _labels(out), "}}\n", out, tick=silent)
    return out


def kept(out: Outgoing, there: np.ndarray) -> Outgoing:
    """Those that are there; who is near whom is no longer known where some are not."""
    if there.all():
        return out
    points = None if out.points is None else out.points[there]
    return replace(out, places=out.places[there], rows=out.rows[there], points=points, near=None)


def readme(out: Outgoing) -> str:
    """How the folder is opened, in FiftyOne's own words."""
    about = out.about
    name = re.sub(r"[^A-Za-z0-9 _-]", "_", str(about["gallery"])) or "faces"
    map_line = (
        '\nfob.compute_visualization(dataset, points=table[["projection_x", "projection_y"]].to_numpy(),'
        ' brain_key="facelens_map")'
        if out.points is not None
        else '\nfob.compute_visualization(dataset, embeddings=vectors, brain_key="facelens_map")  # needs umap-learn'
    )
    pictures = "" if out.files is not None else ' data_path="data.json",'
    said = "\n".join(f"{key}: {value}" for key, value in about.items() if value)
    return f"""Faces and vectors for FiftyOne (pip install fiftyone pandas pyarrow). Run in this folder:

import fiftyone as fo, fiftyone.brain as fob, numpy as np, pandas as pd
dataset = fo.Dataset.from_dir(".", fo.types.FiftyOneImageClassificationDataset,{pictures} dynamic=True, name="{name}")
table = pd.read_parquet("{TABLE}").set_index("filepath").loc[dataset.values("filepath")]
vectors = np.stack(table["embedding"]){map_line}
fob.compute_similarity(dataset, embeddings=vectors, brain_key="facelens")
fo.launch_app(dataset).wait()

{said}
"""


def _write(path: Path, start: str, items: Iterator[str], end: str, out: Outgoing, *, tick: Tick) -> None:
    """A JSON object, item by item."""
    with atomic_write(path) as stream:
        stream.write(start.encode())
        for n, item in enumerate(items):
            if n % BLOCK == 0:
                tick(n, len(out), tr("Writing {name}", name=path.name))
            stream.write(((",\n" if n else "\n") + item).encode())
        stream.write(("\n" + end).encode())


def _places(out: Outgoing) -> Iterator[str]:
    for n, face in enumerate(out.told_ids.tolist()):
        yield f'"{face}": {json.dumps(out.file(n))}'


def _labels(out: Outgoing) -> Iterator[str]:
    columns = out.faces.columns
    names = dict(zip(columns, free_names([_field(name) for name in columns], TAKEN), strict=True))
    for n, (face, row) in enumerate(zip(out.told_ids.tolist(), out.rows.tolist())):
        attributes: dict[str, Any] = {}
        for name, column in columns.items():
            value = escaped(column.name(row)) if isinstance(column, Labels) else column[row].item()
            if value != "" and (isinstance(value, str) or isfinite(value)):
                attributes[names[name]] = value
        who = out.identity(n)
        yield f'"{face}": {json.dumps({"label": who, "attributes": attributes} if who else None)}'


def _field(name: str) -> str:
    """A name that a field of FiftyOne's database can have."""
    return re.sub(r"\W+", "_", name).strip("_") or "column"


def _with_pictures(folder: Path, out: Outgoing, *, tick: Tick) -> Outgoing:
    """Write the pictures that lie inside another file; those that cannot be read are left out."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    files: list[str | None] = []
    for n, (face, row) in enumerate(zip(out.told_ids.tolist(), out.rows.tolist())):
        tick(n, len(out), tr("Writing pictures"))
        files.append(None)
        try:
            picture = decode.read_face(out.faces, row)
        except (FaceLensError, OSError):
            continue
        file = folder / f"{face}.png"
        with atomic_write(file) as stream:
            Image.fromarray(picture).save(stream, "PNG")
        files[-1] = os.path.abspath(file)
    out = kept(out, np.array([file is not None for file in files], bool))
    return replace(out, files=tuple(file for file in files if file is not None))
