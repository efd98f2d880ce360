"""Market-1501 names: 0002_c1s1_000451_03.jpg is person 2 seen by camera 1, in bounding_box_train, _test and query.

Person -1 is junk (a bad box) and 0000 are distractors, which are many different people: both get no identity, and junk
stays out of the search gallery. DukeMTMC-reID uses the same folders and nearly the same names.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

import numpy as np

from facelens.errors import InputError
from facelens.images.faceset import CAMERA, ROLE, SPLIT, FaceSet, Labels
from facelens.images.protocol import Protocol
from facelens.images.readers.folders import walk
from facelens.images.readers.layout import Glance, Options, Reading, Recognised
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

_NAME = re.compile(rb"^(-1|\d{4,5})_c(\d{1,2})(?:s\d{1,2})?_[f\d]\d*")
_FOLDERS = {
    b"bounding_box_train": ("train", None),
    b"bounding_box_test": ("test", "gallery"),
    b"query": ("test", "query"),
}


def recognise(path: Path) -> Recognised | None:
    """A folder with Market's sub-folders, or most of whose pictures have such names."""
    if not path.is_dir():
        return None
    known = [name for name in _FOLDERS if (path / os.fsdecode(name)).is_dir()]
    if len(known) < 2 and b"bounding_box_test" not in known and not _NAME.match(_first_picture(path)):
        return None
    glance = Glance(path)
    pictures = glance.pictures()
    matches = [_NAME.match(p.rpartition(b"/")[2]) for p in pictures]
    hits = [match for match in matches if match]
    if not hits or len(hits) < 0.8 * len(pictures):
        return None
    people = {match.group(1) for match in hits} - {b"-1", b"0000"}
    return Recognised("market", tr("Market-1501 names"), len(hits), len(people), True, "", glance.complete)


def _first_picture(path: Path) -> bytes:
    try:
        with os.scandir(os.fsencode(path)) as entries:
            return next((entry.name for entry in islice(entries, 50) if _NAME.match(entry.name)), b"")
    except OSError:
        return b""


def read(path: Path, *, options: Options | None = None, tick: Tick = silent) -> Reading:
    """Open a folder of such names; pictures named otherwise are left out and counted."""
    found = walk(path, links=bool((options or {}).get("links")), tick=tick)
    matches = [(p, _NAME.match(p.rpartition(b"/")[2])) for p in found.paths]
    kept = [(p, match) for p, match in matches if match]
    if not kept:
        message = tr("No picture in {path} has a Market-1501 name.", path=escaped(str(path)))
        raise InputError(message, hint=tr("Names look like 0002_c1s1_000451_03.jpg."))
    identities: list[str | None] = []
    cameras: list[str | None] = []
    roles: list[str | None] = []
    splits: list[str | None] = []
    search: list[str | None] = []
    for p, match in kept:
        person, folder = match.group(1), p.rpartition(b"/")[0].rpartition(b"/")[2]
        split, group = _FOLDERS.get(folder, (None, None))
        stranger = "junk" if person == b"-1" else "distractor" if int(person) == 0 else None
        identities.append(None if stranger else person.decode())
        cameras.append(match.group(2).decode())
        splits.append(split)
        roles.append(stranger or group)
        search.append(None if stranger == "junk" else group)
    columns = {CAMERA: Labels.of(cameras)}
    if any(roles):
        columns[ROLE] = Labels.of(roles)
    if any(splits):
        columns[SPLIT] = Labels.of(splits)
    notes = found.notes()
    if len(kept) < len(matches):
        left = len(matches) - len(kept)
        notes.append(
            plural(
                left,
                "{n} picture has another name and was left out.",
                "{n} pictures have other names and were left out.",
            )
        )
    for stranger, one, many in (
        (
            "junk",
            "{n} picture is junk (-1): it is left out of the search gallery.",
            "{n} pictures are junk (-1): they are left out of the search gallery.",
        ),
        (
            "distractor",
            "{n} picture is a distractor (0000): it has no identity.",
            "{n} pictures are distractors (0000): they have no identity.",
        ),
    ):
        if count := sum(role == stranger for role in roles):
            notes.append(plural(count, one, many))
    faces = FaceSet.build(path.name, path, paths=[p for p, _ in kept], identities=identities, columns=columns)
    groups = {
        name: np.flatnonzero([group == name for group in search]).astype(np.int64) for name in ("query", "gallery")
    }
    groups = {name: rows for name, rows in groups.items() if len(rows)}
    return Reading(faces, Protocol("Market-1501", None, groups) if groups else None, tuple(notes))
