"""What a reader says about a folder or file, and what it hands over."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.images.decode import SUFFIXES
from facelens.images.faceset import FaceSet
from facelens.images.protocol import Protocol
from facelens.words import plural

Options = Mapping[str, Any]

LOOK = 4000  # entries that recognising may look at
LOOK_SECONDS = 0.08


@dataclass(frozen=True)
class Recognised:
    """What opening a path would give. Counts come from a bounded look: `complete` is False where there is more."""

    kind: str
    title: str
    pictures: int
    identities: int | None = None
    certain: bool = True
    note: str = ""
    complete: bool = True


@dataclass(frozen=True, eq=False)
class Reading:
    """An opened gallery; `notes` say what was left out or decided, one sentence each."""

    faces: FaceSet
    protocol: Protocol | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reader:
    """One layout: a cheap look that gives None when the path is something else, and the reading itself."""

    kind: str
    title: str
    recognise: Callable[[Path], Recognised | None]
    read: Callable[..., Reading]  # (path, *, options, tick)


def is_picture_name(name: bytes) -> bool:
    """Whether a file's name ends like a picture's; files that only hide (._x.jpg of macOS) are none."""
    return os.path.splitext(name)[1].lower() in SUFFIXES and not name.startswith(b"._")


class Glance:
    """A look at a folder that stops after some entries or some time; `complete` tells whether it saw everything."""

    def __init__(self, root: Path, *, entries: int = LOOK, seconds: float = LOOK_SECONDS, depth: int = 6) -> None:
        self.complete = True
        self._root, self._left, self._until, self._depth = os.fsencode(root), entries, time.monotonic() + seconds, depth

    def files(self) -> Iterator[bytes]:
        """Paths of files inside the folder, folder by folder, links left out."""
        waiting = [(b"", 0)]
        while waiting:
            inside, depth = waiting.pop()
            try:
                with os.scandir(os.path.join(self._root, inside) if inside else self._root) as entries:
                    for entry in entries:
                        self._left -= 1
                        if self._left < 0 or time.monotonic() > self._until:
                            self.complete = False
                            return
                        where = inside + b"/" + entry.name if inside else entry.name
                        if entry.is_dir(follow_symlinks=False):
                            if depth < self._depth and not entry.name.startswith(b"."):
                                waiting.append((where, depth + 1))
                        elif entry.is_file(follow_symlinks=False):
                            yield where
            except OSError:
                continue

    def pictures(self) -> list[bytes]:
        """Paths of the pictures seen."""
        return [path for path in self.files() if is_picture_name(path.rsplit(b"/", 1)[-1])]


def listed_once(names: Sequence[bytes], there: NDArray[np.bool_], notes: list[str]) -> list[int]:
    """Rows of a list whose picture is there, each picture once; what is not there is counted in `notes`."""
    missing = int((~there).sum())
    if missing:
        one = "{n} listed picture is not there and was left out."
        notes.append(plural(missing, one, "{n} listed pictures are not there and were left out."))
    seen: set[bytes] = set()
    rows = []
    for row in np.flatnonzero(there).tolist():
        if names[row] not in seen:
            seen.add(names[row])
            rows.append(row)
    return rows
