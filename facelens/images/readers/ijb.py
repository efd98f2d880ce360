"""IJB-B and IJB-C as their usual meta files: faces in templates and media, pairs of templates, galleries and probes.

Files      *_face_tid_mid.txt (picture, template, media); *_template_pair_label.txt (template, template, 1 or 0);
           *_name_5pts_score.txt (picture, five points x y, detector score); *_1N_gallery_G1.csv, _G2.csv and
           *_1N_probe*.csv (TEMPLATE_ID, SUBJECT_ID, ...); pictures in loose_crop
Pairs and groups of the protocol hold template numbers. A picture may be in several templates: all are in the
protocol's templates, the columns "template" and "media" hold the first.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.images.faceset import MEDIA, TEMPLATE, Column, FaceSet
from facelens.images.protocol import Pairs, Protocol, Templates
from facelens.images.readers import table
from facelens.images.readers.folders import present
from facelens.images.readers.layout import Options, Reading, Recognised, listed_once
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

FACES, PAIRS, POINTS = "_face_tid_mid.txt", "_template_pair_label.txt", "_name_5pts_score.txt"
CROPS = ("loose_crop", "crops", "images", "img", ".")


def _meta(path: Path) -> Path | None:
    """The file of faces for a folder (itself or its meta folder) or for any of the meta files."""
    folders = (
        [path, path / "meta"] if path.is_dir() else [path.parent] if path.name.endswith((FACES, PAIRS, POINTS)) else []
    )
    for folder in folders:
        try:
            found = sorted(p for p in folder.iterdir() if p.name.endswith(FACES))
        except OSError:
            continue
        if found:
            return found[0]
    return None


def recognise(path: Path) -> Recognised | None:
    """A folder with the meta files, or one of them."""
    meta = _meta(path)
    if meta is None:
        return None
    with open(meta, "rb") as stream:
        start = stream.read(1 << 20)
    complete = os.path.getsize(meta) == len(start)
    count = start.count(b"\n") if complete else int(start.count(b"\n") * os.path.getsize(meta) / max(1, len(start)))
    return Recognised("ijb", _title(meta), count, None, True, "", complete)


def _title(meta: Path) -> str:
    word = meta.name[: -len(FACES)].upper()
    return {"IJBC": "IJB-C", "IJBB": "IJB-B"}.get(word, word or "IJB")


def read(path: Path, *, options: Options | None = None, tick: Tick = silent) -> Reading:
    """Open IJB; options["root"] names the folder of the crops where it is not beside the meta files."""
    meta = _meta(path)
    if meta is None:
        raise InputError(
            tr("{path} has no IJB meta files.", path=escaped(str(path))), hint=tr("One ends in {end}.", end=FACES)
        )
    tick(0, 0, tr("Reading {name}", name=meta.name))
    rows = _words(meta, 3)
    names = [row[0] for row in rows]
    template = _integers([row[1] for row in rows], meta)
    media = _integers([row[2] for row in rows], meta)
    notes: list[str] = []
    root = _crops(meta, names, (options or {}).get("root"))
    there = present(root, names, tick=tick)
    keep = np.array(listed_once(names, there, notes), np.int64)
    if not len(keep):
        message = tr("None of the {n} pictures of {name} is there.", n=len(names), name=escaped(meta.name))
        raise InputError(message, hint=tr("Say in which folder the crops are."), details=str(root))
    paths = [names[line] for line in keep.tolist()]
    members = _templates(names, paths, there, template=template, media=media)
    columns: dict[str, Column] = {TEMPLATE: template[keep], MEDIA: media[keep]}
    landmarks = None
    stem = meta.name[: -len(FACES)]
    if (meta.parent / f"{stem}{POINTS}").is_file():
        landmarks, columns["det_score"] = _points(meta.parent / f"{stem}{POINTS}", paths)
    groups, subjects = _groups(meta.parent, stem)
    known = members.numbers
    groups = {name: templates[np.isin(templates, known)] for name, templates in groups.items()}
    identities = _subjects(members, subjects, len(paths))
    if not any(identities):
        notes.append(tr("No gallery or probe file names the subjects, so the faces have no identities."))
    faces = FaceSet.build(_title(meta), root, paths=paths, identities=identities, columns=columns, landmarks=landmarks)
    pairs = _pairs(meta.parent / f"{stem}{PAIRS}", known, notes)
    protocol = None
    if pairs is not None or groups:
        protocol = Protocol(_title(meta), pairs, groups, groups_of="template", templates=members)
    return Reading(faces, protocol, tuple(notes))


def _words(path: Path, least: int) -> list[list[bytes]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise table.unreadable(path, error) from error
    rows = [line.split() for line in data.split(b"\n") if line.strip()]
    for number, row in enumerate(rows, 1):
        if len(row) < least:
            message = tr(
                "Line {n} of {name} has {m} words instead of {least}.",
                n=number,
                name=escaped(path.name),
                m=len(row),
                least=least,
            )
            raise InputError(message, hint=tr("Check that the file is complete."))
    return rows


def _integers(words: list[bytes], path: Path) -> NDArray[np.int64]:
    try:
        return np.array([int(word) for word in words], np.int64)
    except (ValueError, OverflowError) as error:
        message = tr(
            "{name} has something else than a number where a template or media number should be.",
            name=escaped(path.name),
        )
        raise InputError(message, hint=tr("Check that the file is complete."), details=str(error)) from error


def _crops(meta: Path, names: list[bytes], given: object) -> Path:
    base = meta.parent.parent if meta.parent.name == "meta" else meta.parent
    if given:
        root = Path(os.fspath(str(given)))
        return root if root.is_absolute() else base / root
    some = names[:: max(1, len(names) // 20)]
    candidates = [folder / crop for folder in dict.fromkeys((base, meta.parent)) for crop in CROPS]
    counted = [(sum((c / os.fsdecode(name)).is_file() for name in some), -i, c) for i, c in enumerate(candidates)]
    return max(counted)[2]


def _templates(
    names: list[bytes],
    paths: list[bytes],
    there: NDArray[np.bool_],
    *,
    template: NDArray[np.int64],
    media: NDArray[np.int64],
) -> Templates:
    """Every line whose picture is there; the same line twice counts once."""
    row_of = {path: row for row, path in enumerate(paths)}
    lines = np.flatnonzero(there)
    rows = np.fromiter((row_of[names[line]] for line in lines.tolist()), np.int64, len(lines))
    listed = np.stack([template[lines], rows, media[lines]], 1)
    _, first = np.unique(listed, axis=0, return_index=True)
    listed = listed[np.sort(first)]
    return Templates(*(np.ascontiguousarray(column) for column in listed.T))


def _subjects(members: Templates, subjects: dict[int, str], n: int) -> list[str | None]:
    """Who is on each picture: the subject of the first of its templates that has one."""
    found: list[str | None] = [None] * n
    for number, row in zip(members.template.tolist(), members.row.tolist(), strict=True):
        if found[row] is None:
            found[row] = subjects.get(number)
    return found


def _points(path: Path, paths: list[bytes]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    rows = {row[0]: row[1:] for row in _words(path, 12)}
    landmarks = np.full((len(paths), 5, 2), np.nan, np.float32)
    score = np.full(len(paths), np.nan)
    for place, name in enumerate(paths):
        if name in rows:
            try:
                values = np.array(rows[name][:11], np.float64)
            except ValueError as error:
                message = tr(
                    "{name} has something else than numbers for {picture}.",
                    name=path.name,
                    picture=escaped(os.fsdecode(name)),
                )
                raise InputError(message, hint=tr("Check that the file is complete.")) from error
            landmarks[place], score[place] = values[:10].reshape(5, 2), values[10]
    return landmarks, score


def _groups(folder: Path, stem: str) -> tuple[dict[str, NDArray[np.int64]], dict[int, str]]:
    """Template numbers of the galleries and of the probes, and the subject of each template."""
    groups: dict[str, NDArray[np.int64]] = {}
    subjects: dict[int, str] = {}
    for path in sorted(folder.glob(f"{stem}_1N_*.csv")):
        name = path.stem.lower()
        group = (
            "query" if "probe" in name else "gallery1" if "g1" in name else "gallery2" if "g2" in name else "gallery"
        )
        templates = []
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as stream:
            for number, row in enumerate(csv.reader(stream), 1):
                if len(row) < 2 or (number == 1 and not row[0].strip().isdigit()):
                    continue
                if not row[0].strip().isdigit():
                    message = tr(
                        "Row {n} of {name} does not start with a template number.", n=number, name=escaped(path.name)
                    )
                    raise InputError(message, hint=tr("Check that the file is complete."))
                templates.append(int(row[0]))
                subjects[int(row[0])] = row[1].strip()
        both = np.concatenate([groups.get(group, np.zeros(0, np.int64)), np.array(templates, np.int64)])
        groups[group] = np.unique(both)
    return groups, subjects


def _pairs(path: Path, known: NDArray[np.int64], notes: list[str]) -> Pairs | None:
    if not path.is_file():
        return None
    try:
        rows = np.loadtxt(path, np.int64, comments=None, ndmin=2)
    except (ValueError, OSError) as error:
        raise InputError(
            tr("{name} is damaged.", name=escaped(path.name)), hint=tr("Copy it again."), details=str(error)
        ) from error
    if not len(rows):
        return None
    if rows.shape[1] < 3:
        raise InputError(
            tr("{name} does not have three numbers a line.", name=escaped(path.name)), hint=tr("Copy it again.")
        )
    there = np.isin(rows[:, :2], known).all(1)
    if not there.all():
        one, many = (
            "{n} pair of templates was left out: its pictures are not here.",
            "{n} pairs of templates were left out: their pictures are not here.",
        )
        notes.append(plural(int((~there).sum()), one, many))
    kept = rows[there]
    return Pairs(np.ascontiguousarray(kept[:, :2]), kept[:, 2] == 1, np.zeros(len(kept), np.int32), of="template")
