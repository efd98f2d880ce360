"""The shelf: what FaceLens keeps of workspaces in the user's own folder.

Up to ten dated backups of each file; work that was never saved, or could not be; and the places outside a file's folder
that the user has had open here, so that a file from a stranger cannot open others by itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from facelens.errors import FaceLensError
from facelens.files import atomic_write
from facelens.resources import sample_data
from facelens.session import folders
from facelens.session.archive import SUFFIX, Archive, Layout

BACKUPS = 10  # of each file
BETWEEN = 300.0  # s between two backups of a file that is saved again and again
UNSAVED = 5  # sessions that were never saved
KNOWN = 2000  # places


# Backups


def back_up(path: Path, *, at_once: bool = False) -> Path | None:
    """Put a copy of the file aside before it is written over, unless one was made a short while ago."""
    path = Path(os.path.realpath(path))
    if not path.is_file():
        return None
    kept = backups(path)
    if kept and not at_once and time.time() - kept[0].stat().st_mtime < BETWEEN:
        return None
    folder = _backups_of(path)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with atomic_write(folder / "origin") as file:
        file.write(os.fsencode(path))
    copy = folder / f"{datetime.now():%Y-%m-%d %H-%M-%S-%f}{SUFFIX}"
    with atomic_write(copy) as file, open(path, "rb") as old:
        shutil.copyfileobj(old, file)
    for old_copy in backups(path)[BACKUPS:]:
        old_copy.unlink(missing_ok=True)
    return copy


def backups(path: Path) -> list[Path]:
    """Copies of a file, newest first."""
    return sorted(_backups_of(Path(os.path.realpath(path))).glob(f"*{SUFFIX}"), reverse=True)


def origin(copy: Path) -> Path | None:
    """The file that a backup is of; None for a file that is no backup."""
    if not copy.is_relative_to(backups_root()):
        return None
    try:
        return Path(os.fsdecode((copy.parent / "origin").read_bytes()))
    except OSError:
        return None


def backups_root() -> Path:
    """The folder of all backups, each file's in one of their own."""
    return folders.data() / "backups"


def _backups_of(path: Path) -> Path:
    return backups_root() / f"{path.stem[:80]} {hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"


# Work that was not saved


@dataclass(frozen=True)
class Left:
    """Work of an earlier session that can be gone on with."""

    path: Path
    when: float  # seconds since 1970
    crashed: bool  # its window was not closed, it ended


class Session:
    """One window: where its unsaved work is kept, and a mark that it is open, which goes with the process."""

    def __init__(self) -> None:
        folder = folders.data() / "unsaved"
        folder.mkdir(exist_ok=True, mode=0o700)
        base = f"{datetime.now():%Y-%m-%d %H-%M-%S-%f}-{os.getpid()}"
        self.path = folder / f"{base}{SUFFIX}"
        self._mark = folder / f"{base}.open"
        self._held: IO[bytes] | None = open(self._mark, "wb")  # noqa: SIM115  held as long as the window is open
        hold(self._held)

    def works_on(self, path: Path | None) -> None:
        """Write down which file the window saves to."""
        if self._held is not None:
            self._held.seek(0)
            self._held.truncate()
            self._held.write(os.fsencode(path) if path is not None else b"")
            self._held.flush()

    def discard(self) -> None:
        """What was not saved is saved now, or not wanted."""
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """The window is closed properly."""
        if self._held is not None:
            self._held.close()
            self._held = None
            self._mark.unlink(missing_ok=True)
        for old in unsaved()[UNSAVED:]:
            forget(old)


def unsaved() -> list[Left]:
    """What sessions that are over have left, newest first; of a file that was saved, the file."""
    folder = folders.data() / "unsaved"
    left = []
    bases = {one.stem for one in folder.glob("*") if one.suffix in (SUFFIX, ".open")} if folder.is_dir() else ()
    for base in bases:
        kept, mark = folder / f"{base}{SUFFIX}", folder / f"{base}.open"
        crashed = mark.exists()
        if crashed and is_held(mark):
            continue  # that window is open
        path = kept if kept.exists() else _file_of(mark)
        if path is None or not path.is_file():
            mark.unlink(missing_ok=True)
            continue
        left.append(Left(path, path.stat().st_mtime, crashed))
    return sorted(left, key=lambda one: -one.when)


def forget(left: Left) -> None:
    """Work that is not offered again; a file of the user's own stays."""
    folder = folders.data() / "unsaved"
    if left.path.parent == folder:
        left.path.unlink(missing_ok=True)
        left.path.with_suffix(".open").unlink(missing_ok=True)
        return
    for mark in folder.glob("*.open"):
        if not is_held(mark) and _file_of(mark) == left.path:
            mark.unlink(missing_ok=True)


def is_unsaved(path: Path) -> bool:
    """Whether a file is work that was not saved, to be shown without a name."""
    return path.parent == folders.data() / "unsaved"


def _file_of(mark: Path) -> Path | None:
    try:
        said = mark.read_bytes()
    except OSError:
        return None
    return Path(os.fsdecode(said)) if said else None


def hold(file: IO[bytes]) -> bool:
    """Hold a file as long as it is open, or this process lives; False where another one does."""
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True


def is_held(mark: Path) -> bool:
    """Whether a process that lives holds a file."""
    try:
        with open(mark, "r+b") as file:
            return not hold(file)
    except OSError:
        return True


# Places and layouts that are the user's own


def remember(found: Archive, *, but: Archive | None = None) -> None:
    """Everything this file points at was open here, and its layout was made here.

    `but` is what it only keeps of a file that may be a stranger's: nobody has opened that.
    """
    places, layouts = _known()
    foreign = {one.path for one in but.places} if but is not None else set()
    own = [str(one.path) for one in found.places if one.path not in foreign]
    new = [_digest(found.layout)]
    if set(own) <= set(places) and set(new) <= set(layouts):
        return
    told = {
        "places": list(dict.fromkeys((*own, *places)))[:KNOWN],
        "layouts": list(dict.fromkeys((*new, *layouts)))[:KNOWN],
    }
    try:
        with atomic_write(_book()) as file:
            file.write(json.dumps(told).encode("ascii"))
    except FaceLensError:
        pass  # the file asks again, which is no loss


def known(path: Path) -> bool:
    """Whether the user has had this open here."""
    return path.is_relative_to(sample_data()) or str(path) in _known()[0]


def may_open(path: Path, found: Archive, recent: Iterable[str] = ()) -> bool:
    """Whether a file may open this by itself: it lies inside the file's folder, or the user has had it open before.

    `recent` are galleries of the user's own.
    """
    if known(path) or str(path) in recent:
        return True
    folder = (origin(found.path) or found.path).parent.resolve()
    return path.is_relative_to(folder) and path.resolve().is_relative_to(folder)


def trust(paths: Iterable[Path]) -> None:
    """The user has chosen these."""
    from facelens.session.archive import Gallery, Place

    remember(Archive(galleries=tuple(Gallery(Place(path)) for path in paths)))


def own_layout(layout: Layout) -> bool:
    """Whether these bytes were made by a window of this user's: Qt reads no others."""
    return _digest(layout) in _known()[1]


def _digest(layout: Layout) -> str:
    return hashlib.sha256(layout.state).hexdigest()


def _book() -> Path:
    return folders.data() / "known.json"


def _known() -> tuple[list[str], list[str]]:
    try:
        told = json.loads(_book().read_bytes())
        places, layouts = told["places"], told["layouts"]
        if all(isinstance(one, str) for one in (*places, *layouts)):
            return places, layouts
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass
    return [], []
