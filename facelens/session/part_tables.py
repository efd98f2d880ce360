"""What the parts of a model say as tables for other programs: CSV with a line for each face, JSON of all the rest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from facelens import __version__
from facelens.analyses.divided import Learners
from facelens.analyses.jury import Ruling, Standing, Verdict
from facelens.analyses.parts import Parts
from facelens.analyses.plan import PartsPlan
from facelens.analyses.universal import Study
from facelens.figures.confidence import means
from facelens.images.faceset import FaceSet, Ids
from facelens.progress import Tick, silent
from facelens.session.tables import csv_text, json_text, plain, written
from facelens.words import escaped

NAMES = {"variance": "log_variance", "distance": "distance", "share": "share"}  # of SHOWN, as columns


def write_confidence(out: Path, faces: FaceSet, parts: Parts, *, only: Ids | None = None, tick: Tick = silent) -> Path:
    """A line for each face, or for those of `only`: all that is said of each of its parts, counted from 1.

    s is the confidence as the model gives it, log_variance = −log s; a mean is over the parts that have a value.
    """
    tick(0, 1)
    written(out, csv_text(_heads(parts), _face_rows(faces, parts, only)))
    tick(1, 1)
    return out


def _heads(parts: Parts) -> list[str]:
    heads = ["path", "identity"]
    for name in parts.values:
        stems = ("s", NAMES[name]) if name == "variance" else (NAMES[name],)
        heads += [f"{stem}_{k + 1}" for stem in stems for k in range(parts.layout.parts)]
        if name != "share":  # whose mean is 1
            heads.append(f"{NAMES[name]}_mean")
    return heads


def _face_rows(faces: FaceSet, parts: Parts, only: Ids | None) -> Iterator[list[object]]:
    places = np.arange(len(parts.ids)) if only is None else parts.rows_of(only)
    if faces.disguised:
        places = parts.rows_of(faces.ids[faces.listed(faces.rows_of(parts.ids[places]))])
    average = {name: means(values) for name, values in parts.values.items()}
    for place in places.tolist():
        row = faces.row_of(int(parts.ids[place]))
        told: list[object] = ["", ""] if row is None else [_path(faces, row), escaped(faces.identity.name(row))]
        for name, values in parts.values.items():
            if name == "variance":
                told += list(np.exp(-values[place].astype(np.float64)))
            told += list(values[place])
            if name != "share":
                told.append(average[name][place])
        yield told


def _path(faces: FaceSet, row: int) -> str:
    return escaped(os.fsdecode(faces.paths[row]))


def study_json(faces: FaceSet, parts: Parts, study: Study | None, plan: PartsPlan) -> dict[str, object]:
    """All numbers about the parts of a model, but for those of single faces."""
    return {
        "format": "facelens confidence",
        "facelens": __version__,
        "gallery": gallery_json(faces),
        "plan": plain(plan),
        "layout": plain(parts.layout),
        "head": parts.layout.head or None,
        "faces": len(parts.ids),
        "values": {
            NAMES[name]: {"quartiles": plain(one.quartiles), "scale": [one.low, one.high]}
            for name, one in parts.spread.items()
        },
        "study": plain(study),
        "queries": 0 if study is None else len(study.queries),
        "notes": [escaped(note) for note in dict.fromkeys((*parts.notes, *(study.notes if study is not None else ())))],
    }


def pair_json(faces: FaceSet, verdict: Verdict, ruling: Ruling, standing: Standing | None) -> dict[str, object]:
    """How the parts voted on one pair."""
    rows = [faces.row_of(face) for face in (verdict.query, verdict.gallery)]
    told = plain(verdict) | {
        name: None if row is None else _path(faces, row) for name, row in zip(("query", "gallery"), rows)
    }
    return {"verdict": told, "ruling": plain(ruling), "standing": plain(standing)}


def gallery_json(faces: FaceSet) -> dict[str, object]:
    """Which gallery it was."""
    return {"name": escaped(faces.name), "digest": faces.digest, "faces": len(faces)}


def write_study(
    out: Path, faces: FaceSet, parts: Parts, study: Study | None, plan: PartsPlan, *, tick: Tick = silent
) -> Path:
    """The same as a file."""
    tick(0, 1)
    written(out, json_text(study_json(faces, parts, study, plan)))
    tick(1, 1)
    return out


def learners_json(faces: FaceSet, found: Learners) -> dict[str, object]:
    """All numbers about learners, but for those of single faces."""
    groups = found.clusters
    return {
        "format": "facelens learners",
        "facelens": __version__,
        "gallery": gallery_json(faces),
        "faces": len(found.ids),
        "queries": len(found.queries),
        "recalls": list(found.ks),
        "own": plain(found.own),
        "baseline": plain(found.baseline),
        "gain": plain(found.gain),
        "gain_together": plain(found.whole_gain),
        "specialists": [len(some) for some in found.specialists],
        "groups": None
        if groups is None
        else {name: plain(getattr(groups, name)) for name in ("sizes", "people", "stability", "kept", "recall")},
        "notes": [escaped(note) for note in found.notes],
    }


def write_learners(out: Path, faces: FaceSet, found: Learners, *, tick: Tick = silent) -> Path:
    """By the ending: JSON of all numbers, or CSV with a line for each query: at which rank each learner finds it."""
    tick(0, 1)
    if out.suffix.lower() == ".json":
        written(out, json_text(learners_json(faces, found)))
    else:
        write_queries(out, faces, found)
    tick(1, 1)
    return out


def write_queries(out: Path, faces: FaceSet, found: Learners) -> Path:
    """CSV: at which rank each learner finds each query, its group, and who alone found it, and whom."""
    ranks = [f"rank_{k + 1}" for k in range(found.own.layout.parts)]
    return written(
        out, csv_text(["path", "identity", "group", *ranks, "found_alone_by", "found"], _query_rows(faces, found))
    )


def _query_rows(faces: FaceSet, found: Learners) -> Iterator[list[object]]:
    group: dict[int, int] = {}
    if found.clusters is not None:
        group = dict(zip(found.ids.tolist(), (found.clusters.learner + 1).tolist()))
    alone = {
        int(face): (k + 1, int(found.found[k][i]) if k < len(found.found) else None)
        for k, some in enumerate(found.specialists)
        for i, face in enumerate(some.tolist())
    }
    told = zip(found.queries.tolist(), found.ranks.tolist())
    if faces.disguised:
        ranked, listed = dict(told), faces.listed(faces.rows_of(found.queries))
        told = zip(faces.ids[listed].tolist(), (ranked[face] for face in faces.ids[listed].tolist()))
    for query, ranks in told:
        row = faces.row_of(int(query))
        who: list[object] = ["", ""] if row is None else [_path(faces, row), escaped(faces.identity.name(row))]
        learner, mate = alone.get(int(query), (None, None))
        place = faces.row_of(mate)
        yield [
            *who,
            group.get(int(query)),
            *(rank or None for rank in ranks),
            learner,
            "" if place is None else _path(faces, place),
        ]
