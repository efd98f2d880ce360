"""The feature store under kill -9, full disks, power cuts, flipped bits and two writers: no row lost, twice or wrong.

Counts are small by default; `-m faults` runs the full ones.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.errors import DiskFull
from facelens.features import shard, store
from facelens.features.card import Card
from facelens.features.store import Damaged, Store, fingerprint
from facelens.images.faceset import FaceSet

D = 8
CARD = Card("net", "small", dimensions=D)
ROOT = Path(__file__).resolve().parents[2]


def gallery(n: int) -> FaceSet:
    paths = [f"{i:06}.jpg" for i in range(n)]
    return FaceSet.build("g", Path("/nowhere"), paths=paths, identities=[None] * n)


def vectors_of(ids: np.ndarray) -> np.ndarray:
    """The only right vector of each face."""
    return np.stack([np.sin(float(i % 100_003) + np.arange(D)) for i in ids.tolist()]).astype(np.float32).reshape(-1, D)


def made(root: Path, faces: FaceSet) -> Store:
    return Store.create(root, fingerprint(faces, weights="w", card=CARD), card=CARD, weights="w")


def check(root: Path, faces: FaceSet, acked: set[int]) -> int:
    """Open afresh: every acknowledged row is there, each once, each right. How many there are."""
    kept = made(root, faces)
    found = kept.features(faces)
    served = found.ids.tolist()
    assert len(set(served)) == len(served) and acked <= set(served), f"lost {len(acked - set(served))}"
    if served:
        np.testing.assert_array_equal(found.vectors, vectors_of(found.ids))
    assert kept.damaged == 0
    missing = kept.missing(faces)
    assert sorted([*faces.ids[missing].tolist(), *served]) == sorted(faces.ids.tolist())
    return len(served)


# Killed. One warm process forks writers on demand: importing takes longer than writing.

WRITER = """
import os, sys
import numpy as np, pyarrow, pyarrow.ipc
sys.path.insert(0, {root!r})
import importlib.util
spec = importlib.util.spec_from_file_location("faults", {here!r})
faults = importlib.util.module_from_spec(spec)
spec.loader.exec_module(faults)
print("ready", flush=True)
for line in sys.stdin:
    children = []
    for order in line.split(";"):
        child = os.fork()
        if not child:
            try:
                faults.write_and_tell(*order.split("|"))
            finally:
                os._exit(0)
        children.append(child)
    print("pids", *children, flush=True)
    for child in children:
        os.waitpid(child, 0)
    print("dead", flush=True)
"""


def write_and_tell(root: str, n: str, seed: str, rows: str = "") -> None:
    """Embed what is missing, telling each id once it is safe; merge now and then."""
    faces, dice = gallery(int(n)), np.random.default_rng(int(seed))
    kept = made(Path(root), faces)
    todo = kept.missing(faces) if not rows else np.arange(*map(int, rows.split(":")))
    while len(todo):
        with kept.writer() as writer:
            for _ in range(4):
                some, todo = np.split(todo, [int(dice.integers(1, 30 if len(faces) < 1000 else 800))])
                if len(some):
                    writer.append(faces.ids[some], vectors_of(faces.ids[some]))
                writer.flush()
                for few in np.array_split(
                    faces.ids[some], 1 + len(some) // 100
                ):  # what fits a pipe at once stays whole
                    os.write(1, b"".join(b"ack %d\n" % i for i in few.tolist()))
        if dice.random() < 0.3:
            kept.compact(faces)


class Writers:
    """The warm process."""

    def __init__(self) -> None:
        code = WRITER.format(root=str(ROOT), here=__file__)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def run(self, *orders: str, kill_after: tuple[int, float] | None = None) -> set[int]:
        """The ids that were acknowledged; killed some moments after so many acknowledgements."""
        assert self.process.stdin is not None
        self.process.stdin.write(";".join(orders) + "\n")
        acked: set[int] = set()
        victims: list[int] = []
        killed = kill_after is None
        while (line := self._line()) != "dead":
            assert line, "the writers have died"
            kind, *numbers = line.split()
            if kind == "pids":
                victims = [int(number) for number in numbers]
            else:
                acked.add(int(numbers[0]))
            if not killed and kill_after is not None and victims and len(acked) >= kill_after[0]:
                until = time.perf_counter() + kill_after[1]
                while time.perf_counter() < until:  # any moment, also in the middle of a write
                    pass
                for victim in victims:
                    with suppress(ProcessLookupError):  # it may have finished
                        os.kill(victim, signal.SIGKILL)
                killed = True
        return acked

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def writers() -> Iterator[Writers]:
    if os.name != "posix":
        pytest.skip("needs fork")
    made = Writers()
    yield made
    made.close()


def killed(writers: Writers, root: Path, kills: int) -> None:
    dice, faces, acked = np.random.default_rng(0), gallery(300), set[int]()
    for seed in range(kills):
        moment = (int(dice.integers(0, 60)), float(dice.random() * 0.012))
        acked |= writers.run(f"{root}|300|{seed}", kill_after=moment)
        if check(root, faces, acked) == len(faces):
            made(root, faces).purge()
            acked = set()
    acked |= writers.run(f"{root}|300|{kills}")
    assert check(root, faces, acked) == len(faces)


def test_killed_at_any_moment(writers: Writers, tmp_path: Path) -> None:
    killed(writers, tmp_path / "cache", 25)


@pytest.mark.faults
def test_killed_at_any_moment_a_thousand_times(writers: Writers, tmp_path: Path) -> None:
    killed(writers, tmp_path / "cache", 1000)


def two_at_once(writers: Writers, root: Path, rows: int, runs: int) -> None:
    faces = gallery(2 * rows)
    for run in range(runs):
        place = root / str(run)
        # The middle is written by both.
        parts = (f"0:{rows + rows // 10}", f"{rows - rows // 10}:{2 * rows}")
        acked = writers.run(*(f"{place}|{2 * rows}|{2 * run + i}|{part}" for i, part in enumerate(parts)))
        assert len(acked) == 2 * rows and check(place, faces, acked) == 2 * rows


def test_two_writers(writers: Writers, tmp_path: Path) -> None:
    two_at_once(writers, tmp_path, 400, 2)


@pytest.mark.faults
def test_two_writers_at_length(writers: Writers, tmp_path: Path) -> None:
    two_at_once(writers, tmp_path, 20_000, 20)


# The n-th call fails, or is the last one before the power goes.


class PowerCut(BaseException):
    """Nothing happens any more."""


class Disk:
    """Counts calls that change the disk; the n-th fails, or the power goes and what was not synced is uncertain."""

    def __init__(self, patch: pytest.MonkeyPatch, n: int, *, cut: bool) -> None:
        self.left, self.cut, self.off = n, cut, False
        self.kept_part = False  # the call that failed would have removed something
        self.unsynced: set[str] = set()  # files whose contents may be anything
        self.renamed: dict[str, bytes] = {}  # new names that may be gone
        self.removed: dict[str, bytes] = {}  # names that may still be there
        real: dict[str, Callable[..., Any]] = {
            name: getattr(os, name) for name in ("fdopen", "fsync", "replace", "unlink")
        }
        disk = self

        class File(io.BufferedWriter):
            def write(self, data: Any) -> int:
                disk.unsynced.add(disk.path(self.fileno()))
                try:
                    disk.step()
                except BaseException:
                    super().write(bytes(memoryview(data).cast("B"))[: memoryview(data).nbytes // 2])
                    raise
                return super().write(data)

        def fdopen(handle: int, mode: str) -> io.BufferedWriter:
            return File(io.FileIO(handle, mode))

        def fsync(handle: int) -> None:
            disk.step()
            real["fsync"](handle)
            path = disk.path(handle)
            disk.unsynced.discard(path)
            if os.path.isdir(path):
                for names in (disk.renamed, disk.removed):
                    for name in [name for name in names if os.path.dirname(name) == path]:
                        del names[name]

        def replace(old: Any, new: Any) -> None:
            disk.step()
            before = Path(new).read_bytes() if os.path.exists(new) else b""
            real["replace"](old, new)
            disk.renamed[str(new)] = before
            if str(old) in disk.unsynced:
                disk.unsynced.add(str(new))

        def unlink(path: Any, **options: Any) -> None:
            disk.kept_part |= disk.left == 1
            disk.step()
            before = Path(path).read_bytes()
            real["unlink"](path, **options)
            disk.removed[str(path)] = before

        for name, call in {"fdopen": fdopen, "fsync": fsync, "replace": replace, "unlink": unlink}.items():
            patch.setattr(os, name, call)

    def path(self, handle: int) -> str:
        return os.readlink(f"/proc/self/fd/{handle}")

    def step(self) -> None:
        self.left -= 1
        if self.off or (self.left == 0 and self.cut):
            self.off = True
            raise PowerCut
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def lose(self, dice: np.random.Generator) -> None:
        """What a disk may look like after the power has gone."""
        for path in self.unsynced:
            if os.path.exists(path):
                data = Path(path).read_bytes()
                cut = int(dice.integers(0, len(data) + 1))
                Path(path).write_bytes(data[:cut] + bytes(len(data) - cut) * int(dice.integers(2)))
        for path, before in self.renamed.items():
            if dice.random() < 0.5 and os.path.exists(path):
                if before:
                    Path(path).write_bytes(before)
                else:
                    os.unlink(path)
        for path, before in self.removed.items():
            if dice.random() < 0.5:
                Path(path).write_bytes(before)


def work(root: Path, faces: FaceSet, acked: set[int]) -> None:
    kept = made(root, faces)
    with kept.writer(total=len(faces)) as writer:
        for rows in np.array_split(kept.missing(faces), 3):
            if len(rows):
                writer.append(faces.ids[rows], vectors_of(faces.ids[rows]))
                writer.flush()
                acked.update(faces.ids[rows].tolist())
    kept.compact(faces)


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="finds the names of open files in /proc")
@pytest.mark.parametrize(
    ("cut", "scratch"),
    [
        (False, 0),
        (True, 1 << 30),
        *(pytest.param(*rest, marks=pytest.mark.faults) for rest in ((True, 0), (False, 1 << 30))),
    ],
)
def test_every_call_fails_once(tmp_path: Path, cut: bool, scratch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SCRATCH", scratch)
    faces = gallery(30)
    for n in range(1, 200):
        root, acked = tmp_path / str(n), set[int]()
        with monkeypatch.context() as patch:
            disk = Disk(patch, n, cut=cut)
            try:
                work(root, faces, acked)
            except PowerCut:
                assert cut
            except DiskFull:
                assert not cut
        if cut:
            disk.lose(np.random.default_rng(n))
            assert not list(root.rglob("*.damaged"))
        check(root, faces, acked)
        work(root, faces, acked)
        assert check(root, faces, acked) == 30 and len(list(root.rglob("*.arrow"))) == 1
        if not cut and not disk.kept_part:
            assert not list(root.rglob("*.part"))
        if disk.left > 0:
            assert n > 30
            return
    raise AssertionError("the work has no end")


# Damaged files


def mutated(data: bytes, dice: np.random.Generator) -> bytes:
    at = int(dice.integers(len(data)))
    match dice.integers(6):
        case 0:
            return data[:at]
        case 1:
            return data + data[:at]
        case 2:
            return data[:at] + bytes(len(data[at : at + 64])) + data[at + 64 :]
        case _:
            return data[:at] + bytes([data[at] ^ (1 << int(dice.integers(8)))]) + data[at + 1 :]


def damaged(root: Path, times: int) -> None:
    faces = gallery(60)
    kept = made(root, faces)
    with kept.writer() as writer:
        for rows in np.array_split(np.arange(60), 3):
            writer.append(faces.ids[rows], vectors_of(faces.ids[rows]))
            writer.flush()
    whole = {path: path.read_bytes() for path in kept.folder.iterdir()}
    noticed = 0
    for seed in range(times):
        dice = np.random.default_rng(seed)
        for path in kept.folder.iterdir():
            if path not in whole:
                path.unlink()
        for path, data in whole.items():
            path.write_bytes(data)
        victim = sorted(whole)[int(dice.integers(len(whole)))]
        victim.write_bytes(mutated(whole[victim], dice))
        again = Store.open(root, kept.fingerprint)
        lazy = bool(dice.integers(2))
        part = faces.take(np.arange(20)) if dice.integers(2) else faces
        try:
            found = again.features(part, lazy=lazy)
            right = vectors_of(found.ids) if len(found) else found.vectors
            assert np.array_equal(found.vectors, right), f"wrong values served (seed {seed})"
        except Damaged:
            assert lazy
        missing = again.missing(faces)
        left = again.features(faces)
        assert sorted([*faces.ids[missing].tolist(), *left.ids.tolist()]) == sorted(faces.ids.tolist())
        assert not len(left) or np.array_equal(left.vectors, vectors_of(left.ids))
        assert (again.damaged == len(missing)) and bool(again.notice) == bool(len(missing))
        changed = victim.name.endswith(".arrow") and victim.exists() and victim.read_bytes() != whole[victim]
        assert not changed, f"a damaged shard stays in use (seed {seed})"
        noticed += bool(len(missing))
    assert noticed > times / 3


def test_flipped_bits_and_cut_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "BLOCK", 4 * D * 7)
    damaged(tmp_path / "cache", 300)


@pytest.mark.faults
def test_flipped_bits_and_cut_files_at_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "BLOCK", 4 * D * 7)
    damaged(tmp_path / "cache", 10_000)
