"""Identity folders: root/identity/picture, with any folders between; and one flat folder of pictures.

The identity is the whole folder path inside the gallery (without what all have in common), so that people of the same
name in different branches stay apart. A first level of train, val, test becomes the column "split" instead.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from facelens.errors import InputError
from facelens.images.faceset import SPLIT, Column, FaceSet, Labels
from facelens.images.readers.layout import Glance, Options, Reading, Recognised, is_picture_name
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

SPLITS = frozenset({"train", "training", "val", "valid", "validation", "test", "testing", "dev", "eval"})
DEEPEST = 64
_NUMBERED = re.compile(r"^(.+)_\d{4}$")


@dataclass
class Walk:
    """Pictures below a folder, as sorted paths, and how many entries were passed over and why."""

    paths: list[bytes]
    links: int = 0
    repeated: int = 0
    others: int = 0
    locked: list[bytes] = field(default_factory=list)
    too_deep: int = 0

    def notes(self) -> list[str]:
        """One sentence for each reason to leave something out."""
        said = []
        if self.locked:
            shown = ", ".join(escaped(os.fsdecode(name)) or "." for name in self.locked[:3])
            said.append(
                plural(len(self.locked), "{n} folder could not be read", "{n} folders could not be read")
                + f": {shown}."
            )
        if self.links:
            said.append(plural(self.links, "{n} link was not followed.", "{n} links were not followed."))
        if self.repeated:
            one = "{n} further name of a file that is already listed was left out."
            said.append(plural(self.repeated, one, "{n} further names of files that are already listed were left out."))
        if self.too_deep:
            one, many = "{n} folder lies too deep and was left out.", "{n} folders lie too deep and were left out."
            said.append(plural(self.too_deep, one, many))
        return said


def walk(root: Path, *, links: bool = False, tick: Tick = silent) -> Walk:
    """Find the pictures below `root`. Each file is listed once, however many names or links it has."""
    base = os.fsencode(root)
    seen: set[tuple[int, int]] = set()
    found = Walk([])
    try:
        state = os.stat(base)
    except OSError as error:
        raise _unreadable(root, error) from error
    seen.add((state.st_dev, state.st_ino))
    waiting: list[tuple[bytes, int, int]] = [(b"", 0, state.st_dev)]
    while waiting:
        inside, depth, device = waiting.pop()
        tick(len(found.paths), 0)
        try:
            with os.scandir(os.path.join(base, inside) if inside else base) as listing:
                entries = sorted(listing, key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            if not inside:
                raise _unreadable(root, error) from error
            found.locked.append(inside)
            continue
        files = []
        for entry in entries:
            where = inside + b"/" + entry.name if inside else entry.name
            try:
                if entry.is_symlink():
                    if not links:
                        found.links += entry.is_dir() or is_picture_name(entry.name)
                        continue
                    target = entry.stat()
                    key, folder = (target.st_dev, target.st_ino), stat.S_ISDIR(target.st_mode)
                    regular = stat.S_ISREG(target.st_mode)
                else:
                    folder = entry.is_dir(follow_symlinks=False)
                    regular = entry.is_file(follow_symlinks=False)
                    key = (device, entry.inode())
            except OSError:
                continue  # a link to nowhere, or gone since the folder was listed
            if folder:
                if entry.name.startswith(b"."):
                    continue
                if depth >= DEEPEST:
                    found.too_deep += 1
                    continue
                device_below = device
                if os.path.ismount(entry.path):
                    device_below = entry.stat().st_dev
                    key = (device_below, entry.stat().st_ino)
                if key in seen:
                    found.repeated += 1
                    continue
                seen.add(key)
                waiting.append((where, depth + 1, device_below if not entry.is_symlink() else key[0]))
            elif regular and is_picture_name(entry.name):
                files.append((where, key))
            elif regular:
                found.others += 1
        for where, key in reversed(files):
            if key in seen:
                found.repeated += 1
            else:
                seen.add(key)
                found.paths.append(where)
    found.paths.sort()
    return found


def _unreadable(root: Path, error: OSError) -> InputError:
    shown = escaped(str(root))
    if isinstance(error, FileNotFoundError):
        return InputError(
            tr("There is no folder {path}.", path=shown), hint=tr("Choose another folder."), details=str(error)
        )
    message = tr("The folder {path} could not be read.", path=shown)
    return InputError(message, hint=tr("Check its permissions, or choose another folder."), details=str(error))


def folder_identities(folders: list[str]) -> dict[str, str]:
    """Identity of each folder path ("" = none): the path without the leading folders that all have in common."""
    named = {folder for folder in folders if folder}
    parents = [folder.split("/")[:-1] for folder in named]
    shared = 0
    while parents and all(len(parent) > shared and parent[shared] == parents[0][shared] for parent in parents):
        shared += 1
    return {folder: "/".join(folder.split("/")[shared:]) for folder in {*folders}}


def numbered_names(stems: list[str]) -> list[str | None] | None:
    """Identities out of names like Ann_Lee_0001, None unless (nearly) all look so and somebody has two."""
    matches = [_NUMBERED.match(stem) for stem in stems]
    names = [match.group(1) if match else None for match in matches]
    hits = [name for name in names if name]
    if len(hits) < 2 or len(hits) < 0.95 * len(names) or len(set(hits)) == len(hits) or len(set(hits)) == 1:
        return None
    return names


def recognise(path: Path) -> Recognised | None:
    """Any folder with a picture in it, to be tried last."""
    if not path.is_dir():
        return None
    glance = Glance(path)
    pictures = glance.pictures()
    if not pictures:
        return None
    folders = [os.fsdecode(p.rpartition(b"/")[0]) for p in pictures]
    if not any(folders):
        stems = [os.path.splitext(os.fsdecode(p))[0] for p in pictures]
        names = numbered_names(stems)
        note = tr("Identities are taken from names like Name_0001.jpg.") if names else tr("There are no identities.")
        count = len({name for name in names if name}) if names else None
        return Recognised("folders", tr("Folder of pictures"), len(pictures), count, True, note, glance.complete)
    _, rest = split_off(folders)
    identities = len({folder for folder in rest if folder})
    return Recognised("folders", tr("One folder per person"), len(pictures), identities, True, "", glance.complete)


def split_off(folders: list[str]) -> tuple[list[str | None], list[str]]:
    """Take a first level of train, val, test off the folder paths; all of them must have one."""
    tops = {folder.partition("/")[0].lower() for folder in folders}
    deep = any("/" in folder for folder in folders)
    if deep and tops <= SPLITS and tops:
        return [folder.partition("/")[0].lower() for folder in folders], [
            folder.partition("/")[2] for folder in folders
        ]
    return [None] * len(folders), folders


def read(path: Path, *, options: Options | None = None, tick: Tick = silent) -> Reading:
    """Open a folder.

    Options: "identity" = "path" (default), "name" (the last folder: people of the same name are one), "top" (the first
    folder), "none"; "links" = True follows links.
    """
    chosen = dict(options or {})
    found = walk(path, links=bool(chosen.get("links")), tick=tick)
    if not found.paths:
        hint = tr("Choose a folder with pictures in it.")
        if found.links:
            hint = tr("It holds only links; open it with links followed.")
        raise InputError(tr("No pictures were found in {path}.", path=escaped(str(path))), hint=hint)
    notes = found.notes()
    parents = [os.fsdecode(p.rpartition(b"/")[0]) for p in found.paths]
    splits, folders = split_off(parents)
    identities, said = _identities(found.paths, folders, str(chosen.get("identity", "path")))
    notes += said
    columns: dict[str, Column] = {}
    if any(splits):
        columns[SPLIT] = Labels.of(splits)
    faces = FaceSet.build(path.name or str(path), path, paths=found.paths, identities=identities, columns=columns)
    return Reading(faces, None, tuple(notes))


def _identities(paths: list[bytes], folders: list[str], mode: str) -> tuple[list[str | None], list[str]]:
    if mode == "none":
        return [None] * len(paths), []
    if not any(folders):
        names = numbered_names([os.path.splitext(os.fsdecode(p.rpartition(b"/")[2]))[0] for p in paths])
        if names is None:
            return [None] * len(paths), [tr("The pictures lie in one folder, so they have no identities.")]
        return names, [tr("Identities are taken from the file names (Name_0001.jpg).")]
    if mode == "top":
        return [folder.partition("/")[0] or None for folder in folders], []
    if mode == "name":
        return [folder.rpartition("/")[2] or None for folder in folders], []
    if mode != "path":
        raise InputError(tr("Identities can be taken by path, name or top, not by {mode}.", mode=mode))
    made = folder_identities(folders)
    branches = defaultdict(set)
    for folder in made:
        if folder:
            branches[folder.rpartition("/")[2]].add(folder)
    several = sorted(name for name, where in branches.items() if len(where) > 1)
    notes = []
    if several:
        shown = ", ".join(escaped(name) for name in several[:3]) + (", …" if len(several) > 3 else "")
        notes.append(
            plural(len(several), "{n} name occurs in more than one folder", "{n} names occur in more than one folder")
            + tr(" ({shown}). They are kept apart as different people.", shown=shown)
        )
    loose = sum(not folder for folder in folders)
    if loose:
        one, many = "{n} picture lies outside the identity folders.", "{n} pictures lie outside the identity folders."
        notes.append(plural(loose, one, many) + " " + tr("They have no identity."))
    return [made[folder] or None for folder in folders], notes


def present(root: Path, paths: list[bytes], *, tick: Tick = silent) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(N,) which of the paths under `root` are there. Lists each folder once instead of asking for each file."""
    base = os.fsencode(root)
    there = np.zeros(len(paths), bool)
    by_folder: dict[bytes, list[int]] = defaultdict(list)
    for row, path in enumerate(paths):
        by_folder[path.rpartition(b"/")[0]].append(row)
    done = 0
    for folder, rows in by_folder.items():
        tick(done, len(paths))
        done += len(rows)
        full = os.path.join(base, folder) if folder or not paths[rows[0]].startswith(b"/") else b"/"
        names: Counter[bytes] | set[bytes] = set()
        if len(rows) > 3:
            try:
                names = set(os.listdir(full))
            except (OSError, ValueError):
                names = set()
        for row in rows:
            name = paths[row].rpartition(b"/")[2]
            there[row] = bool(name) and (name in names or _exists(os.path.join(full, name)))
    return there


def _exists(path: bytes) -> bool:
    # Not found in the listing may still be there: file systems that do not tell upper from lower case.
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
