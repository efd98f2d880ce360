"""Quarantine: pictures that crash or hang the decoder are found out, left out, and not tried again unasked.

A decoder is C code that strangers' files go through: it may take the whole process with it. So a process that reads a
gallery marks what each of its threads is reading in a small file. The marks of a process that died are suspects; the
next one that reads the gallery tries each of them alone in a process of its own. One that dies or does not come back
there has failed twice: it goes into the book, with the state of its file, and counts as unreadable until the file
changes or the user asks for another try.

Marks     a file for each guard: 16 bytes a thread, face id int64 and time int64, zeros for nothing; locked while alive
Book      quarantine.json: gallery (digest of its place) -> face id -> state of the file, what happened. No paths.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import pickle
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from facelens.files import atomic_write
from facelens.images.faceset import FaceSet, Ids
from facelens.progress import Tick, silent
from facelens.words import plural, tr

PATIENCE = 120.0  # seconds one picture may take; one on a slow drive takes a few
HUNG = 71  # exit code of a process that ended itself because a picture did not come out of the decoder
SLOTS = 256  # threads of one process that read pictures
IN_VAIN = 2  # starts after which a job that dies without a culprit is given up
BOOK = "quarantine.json"
_MARK = 16
_log = logging.getLogger("facelens.quarantine")


class Guard:
    """Watches over the reading of one gallery. Several threads may use it; `folder` None guards nothing.

    With `watch` a picture that takes longer than `patience` ends this process: only for one that will be started anew.
    """

    def __init__(self, faces: FaceSet, folder: Path | None, *, patience: float = PATIENCE, watch: bool = False) -> None:
        self.faces, self.folder, self.patience = faces, folder, patience
        self._reasons: dict[int, str] = {}
        self._own = threading.local()
        self._lock = threading.Lock()
        self._taken = 0
        self._since: dict[int, float] = {}
        self._marks: Path | None = None
        self._file = -1
        self._over = threading.Event()
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._marks, self._file = _open_marks(folder)
        except OSError as error:
            _log.warning("pictures are read without a guard: %s", error)
        if watch:
            threading.Thread(target=self._watch, name="facelens-guard", daemon=True).start()

    # Before reading

    def settle(self, *, tick: Tick = silent) -> int:
        """Try the suspects of dead processes, each alone, and note those that fail again; returns how many did.

        Afterwards `why` knows everything in the book about this gallery.
        """
        if self.folder is None:
            return 0
        culprits: dict[int, str] = {}
        for path, ids in left_behind(self.folder).items():
            rows = [row for face in ids.tolist() if (row := self.faces.row_of(face)) is not None]
            for done, row in enumerate(rows):
                tick(done, len(rows), tr("Trying pictures again, one by one"))
                if what := tried_alone(self.faces, row, patience=self.patience):
                    culprits[int(self.faces.ids[row])] = what
            _forget_marks(path, self.faces.ids[np.array(rows, np.int64)] if rows else np.zeros(0, np.int64))
        if culprits:
            _note(self.folder, self.faces, culprits)
        self._reasons = _known(self.folder, self.faces)
        return len(culprits)

    def why(self, row: int) -> str:
        """Why a picture is not read at all, "" where it is."""
        return self._reasons.get(int(self.faces.ids[row]), "") if self._reasons else ""

    # While reading

    def reading(self, row: int) -> AbstractContextManager[None]:
        """Marks the picture that this thread reads now."""
        return self.marking(int(self.faces.ids[row]))

    @contextmanager
    def marking(self, face: int) -> Iterator[None]:
        """As `reading`, by the id of the face."""
        if self._file < 0:
            yield
            return
        slot = self._slot()
        self._since[slot] = time.monotonic()
        self._write(slot, face.to_bytes(8, "little", signed=True), time.time_ns())
        try:
            yield
        finally:
            self._since.pop(slot, None)
            self._write(slot, bytes(8), 0)

    def close(self) -> None:
        """Reading is over: nobody is a suspect."""
        self._over.set()
        with self._lock:
            file, self._file = self._file, -1
            if file >= 0:
                os.close(file)
        if self._marks is not None:
            self._marks.unlink(missing_ok=True)

    def _slot(self) -> int:
        slot = getattr(self._own, "slot", None)
        if slot is None:
            with self._lock:
                slot = self._own.slot = self._taken % SLOTS
                self._taken += 1
        return int(slot)

    def _write(self, slot: int, face: bytes, when: int) -> None:
        mark = face + when.to_bytes(8, "little")
        # Written, not mapped: a mapped file on a full disk would be a crash of its own.
        with suppress(OSError):
            if hasattr(os, "pwrite"):
                os.pwrite(self._file, mark, slot * _MARK)
            else:
                with self._lock:
                    os.lseek(self._file, slot * _MARK, os.SEEK_SET)
                    os.write(self._file, mark)

    def _watch(self) -> None:
        step = min(1.0, self.patience / 4)
        try:
            while not self._over.wait(step):
                oldest = min(list(self._since.values()), default=time.monotonic())
                if time.monotonic() - oldest > self.patience:
                    _log.error("a picture did not come out of the decoder; this process ends")
                    os._exit(HUNG)
                # A decoder may also hang while it holds every other thread up; this clock needs none of them.
                faulthandler.dump_traceback_later(2 * self.patience, exit=True)
        finally:
            faulthandler.cancel_dump_traceback_later()


@contextmanager
def guarded(
    faces: FaceSet,
    folder: Path | None,
    *,
    patience: float = PATIENCE,
    watch: bool = False,
    tick: Tick = silent,
) -> Iterator[Guard]:
    """A guard that has settled what was left over, closed at the end; a process that dies leaves its marks."""
    guard = Guard(faces, folder, patience=patience, watch=watch)
    try:
        guard.settle(tick=tick)
        yield guard
    finally:
        guard.close()


class Again:
    """Whether a job whose process died is worth another start: a culprit may be found, or one was found last time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known = self._in_vain = 0

    def __call__(self, times: int) -> bool:
        """`times` it has been started again already."""
        if not left_behind(self.folder):
            return False
        known = sum(map(len, _read_book(self.folder).values()))
        self._in_vain = 1 if not times or known > self._known else self._in_vain + 1
        self._known = known
        return self._in_vain <= IN_VAIN


def release(faces: FaceSet, folder: Path, ids: Ids | None = None) -> int:
    """Let pictures of a gallery be tried again, all or those with `ids`; returns how many were kept out."""
    book = _read_book(folder)
    kept = book.get(_place(faces), {})
    gone = [face for face in kept if ids is None or int(face) in set(ids.tolist())]
    if gone:
        left = {face: entry for face, entry in kept.items() if face not in gone}
        book = {**book, _place(faces): left}
        _write_book(folder, {place: entries for place, entries in book.items() if entries})
    return len(gone)


def kept_out(faces: FaceSet, folder: Path) -> dict[int, str]:
    """Face id -> reason of the pictures of a gallery that are not tried."""
    return _known(folder, faces)


def avoided(faces: FaceSet, folder: Path) -> dict[int, str]:
    """Face id -> reason of what a process that must not die leaves alone: what is kept out, and suspects."""
    found = {
        face: tr("It was being read when FaceLens ended unexpectedly. It is tried alone first.")
        for ids in left_behind(folder).values()
        for face in ids.tolist()
        if faces.row_of(face) is not None
    }
    return found | {face: tr("The picture {reason}.", reason=why) for face, why in kept_out(faces, folder).items()}


# Marks


def _open_marks(folder: Path) -> tuple[Path, int]:
    path = folder / f"reading-{os.getpid()}-{secrets.token_hex(4)}.marks"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    os.write(file, bytes(SLOTS * _MARK))
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return path, file


def left_behind(folder: Path) -> dict[Path, Ids]:
    """What processes were reading when they died: for each file of marks the ids of faces, at least one."""
    found: dict[Path, Ids] = {}
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".marks")
    except OSError:
        return found
    for path in paths:
        with suppress(OSError):
            if _alive(path):
                continue
            data = path.read_bytes()
            marks = np.frombuffer(data[: len(data) // _MARK * _MARK], np.int64).reshape(-1, 2)
            ids = np.unique(marks[marks[:, 1] != 0, 0])
            old = time.time() - path.stat().st_mtime > 30 * 86400
            if len(ids) and not old:
                found[path] = ids
            else:
                path.unlink(missing_ok=True)
    return found


def _alive(path: Path) -> bool:
    if os.name != "posix":
        try:
            os.replace(path, path)  # refused while somebody has it open
        except PermissionError:
            return True
        return False
    import fcntl

    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _forget_marks(path: Path, ids: Ids) -> None:
    """Take settled suspects out; those of other galleries wait until theirs is read."""
    with suppress(OSError):
        marks = np.frombuffer(path.read_bytes(), np.int64).reshape(-1, 2).copy()
        marks[np.isin(marks[:, 0], ids)] = 0
        if marks.any():
            path.write_bytes(marks.tobytes())
        else:
            path.unlink(missing_ok=True)


# Trying


def tried_alone(faces: FaceSet, row: int, *, patience: float = PATIENCE) -> str:
    """Read one picture in a process of its own: "" where that came to an end, else "crashed" or "hung"."""
    path = json.dumps([str(Path(__file__).parents[2]), *(os.path.abspath(part or ".") for part in sys.path)])
    try:
        child = subprocess.Popen(
            [sys.executable, "-X", "utf8", "-c", _CHILD, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        _log.warning("no process could be started to try a picture: %s", error)
        return ""
    try:
        said, _ = child.communicate(pickle.dumps(faces.take(np.array([row]))), timeout=patience)
    except subprocess.TimeoutExpired:
        return "hung"
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()
    # A child that did not get as far as the picture says nothing about it.
    return "crashed" if said.startswith(b"begun") and not said.endswith(b"over") else ""


_CHILD = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from facelens.images.quarantine import child
child()
"""


def child() -> None:
    """The life of the process that tries one picture: its end is the answer."""
    from facelens.images import decode

    faces: FaceSet = pickle.load(sys.stdin.buffer)
    sys.stdout.write("begun")
    sys.stdout.flush()
    with suppress(Exception):  # a picture that is refused with words is no danger
        decode.read_face(faces, 0)
    with suppress(Exception):
        decode.checked(decode.face_bytes(faces, 0), name=faces.file_name(0))
    sys.stdout.write("over")
    sys.stdout.flush()


# Book


def _place(faces: FaceSet) -> str:
    return blake2b(os.fsencode(faces.root.absolute()), digest_size=8).hexdigest()


def _state(faces: FaceSet, row: int) -> str:
    path = faces.paths[row]
    if faces.embedded:  # the last part is the place inside the container
        path = path.rpartition(b"/")[0]
    try:
        found = os.stat(os.path.join(os.fsencode(faces.root), path))
    except (OSError, ValueError):
        return ""
    return f"{found.st_size}.{found.st_mtime_ns}"


def _read_book(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    try:
        found: Any = json.loads((folder / BOOK).read_bytes())
        return {
            str(place): {
                str(int(face)): {"state": str(entry["state"]), "what": str(entry["what"])}
                for face, entry in entries.items()
            }
            for place, entries in found.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _write_book(folder: Path, book: dict[str, dict[str, dict[str, str]]]) -> None:
    with atomic_write(folder / BOOK) as file:
        file.write(json.dumps(book, indent=1).encode())
    if os.name == "posix":
        (folder / BOOK).chmod(0o600)


def _note(folder: Path, faces: FaceSet, culprits: dict[int, str]) -> None:
    book = _read_book(folder)
    entries = dict(book.get(_place(faces), {}))
    for face, what in culprits.items():
        row = faces.row_of(face)
        assert row is not None
        entries[str(face)] = {"state": _state(faces, row), "what": what}
        _log.warning("a picture %s the decoder twice and is left out", what)
    _write_book(folder, {**book, _place(faces): entries})


def _known(folder: Path, faces: FaceSet) -> dict[int, str]:
    found: dict[int, str] = {}
    for face, entry in _read_book(folder).get(_place(faces), {}).items():
        row = faces.row_of(int(face))
        if row is not None and _state(faces, row) == entry["state"]:  # a file that changed is another picture
            found[int(face)] = _reason(entry["what"])
    return found


def _reason(what: str) -> str:
    if what == "hung":
        return tr("did not come out of the decoder twice and was skipped")
    return tr("crashed the decoder twice and was skipped")


def sentence(n: int) -> str:
    """About pictures that are kept out, for the notes of a job."""
    return plural(
        n,
        "{n} picture crashes the decoder. It is left out until its file changes or you ask for another try.",
        "{n} pictures crash the decoder. They are left out until their files change or you ask for another try.",
    )
