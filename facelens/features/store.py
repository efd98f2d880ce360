"""Feature sets on disk: one folder for each gallery, model and way of feeding; filled piece by piece, opened at once.

A store is a folder named by its fingerprint: `store.json` (what made the vectors) and shards. A shard is an Arrow IPC
file that is never changed: written under another name, fsynced, renamed, folder fsynced. Its name holds the checksum of
everything but the vectors, and that holds a checksum for each block of vectors. Nothing of a shard is parsed before the
first has been verified, no vector is handed out before the second.

Rows       id int64, norm float32, key uint64 (state of the picture, 0 = not known), confidence float32[S] where the
           model has one, vector float32[D]
Resume     a face is missing when no shard holds it, or only for an earlier state of its picture
Twice      the later shard wins; two processes may write at once, each makes shards of its own
Crash      what `flush` has returned for is there; everything else is not, and leaves at most a .part file
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from facelens.errors import DiskFull, FaceLensError, InputError
from facelens.features.card import Card
from facelens.features.featureset import FeatureSet, Provenance
from facelens.features.shard import (
    Keys,
    Shard,
    amount,
    block_rows,
    commit,
    free_bytes,
    is_full,
    remove,
    shards_in,
    write_shard,
)
from facelens.files import sync_folder
from facelens.images.faceset import FaceSet, Ids, Opened, Rows
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

PREPROCESSING = 1  # raise when decoding or alignment gives other pixels than before: vectors of the old ones are no use
FORMAT = 1
MANIFEST = "store.json"
FLUSH_ROWS = 8192  # rows after which a writer makes a shard by itself
FLUSH_BYTES = 64 << 20
SCRATCH = 256 << 20  # bytes of vectors above which a merge goes through a file instead of memory
MARGIN = 16 << 20  # bytes of the disk that are left alone
ABANDONED = 3600  # seconds after which an unfinished file has no writer any more
_LONGEST = 4 << 20  # bytes of a manifest


class Damaged(FaceLensError):
    """Stored vectors are not what was written: they have been set aside, embed the gallery again."""


def fingerprint(faces: FaceSet, *, weights: str, card: Card) -> str:
    """The name of the store: place of the gallery, SHA-256 of the weights, everything in the card that tells.

    Neither the list of faces nor their names are in it: a gallery that grows keeps its store, and each row carries the
    state of its picture.
    """
    told = ["store", FORMAT, os.fsencode(faces.root.absolute()).hex(), weights, card.digest, PREPROCESSING]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]


def picture_keys(faces: FaceSet, rows: Rows | None = None) -> Keys:
    """(n,) state of the pictures at `rows`: size, time of change and landmarks in 64 bits; 0 where no file is there.

    Take them before a picture is read, so that one that changes meanwhile counts as changed.
    """
    wanted = np.arange(len(faces)) if rows is None else rows
    root = os.fsencode(faces.root)
    sizes = np.zeros(len(wanted), np.uint64)
    times = np.zeros(len(wanted), np.uint64)
    there = np.zeros(len(wanted), bool)
    containers: dict[bytes, os.stat_result | None] = {}
    for place, row in enumerate(wanted.tolist()):
        path = faces.paths[row]
        if faces.embedded:  # the last part is the place inside the container
            path = path.rpartition(b"/")[0]
            if path not in containers:
                containers[path] = _stat(os.path.join(root, path))
            found = containers[path]
        else:
            found = _stat(os.path.join(root, path))
        if found is not None:
            there[place], sizes[place] = True, found.st_size
            times[place] = found.st_mtime_ns & 0xFFFF_FFFF_FFFF_FFFF
    keys = _mixed(_mixed(sizes) ^ times)
    if faces.landmarks is not None:
        points = np.ascontiguousarray(faces.landmarks[wanted], np.float32).reshape(len(wanted), 10)
        for column in np.where(np.isnan(points), np.float32(np.nan), points).view(np.uint32).T.astype(np.uint64):
            keys = _mixed(keys ^ column)
    keys[keys == 0] = 1
    keys[~there] = 0
    return keys


def _stat(path: bytes) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def _mixed(values: Keys) -> Keys:
    # The finaliser of splitmix64: every bit of the input turns half of the bits of the output.
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def versions() -> dict[str, str]:
    """The libraries that have a say in vectors, without importing any of them."""
    found = {}
    for name in ("facelens", "torch", "onnxruntime", "numpy", "pillow", "simplejpeg", "pyarrow"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True)
class StoreInfo:
    """What is cached for one gallery and model; `rows` counts a face twice that was embedded twice."""

    fingerprint: str
    folder: Path
    gallery: str
    model: str
    weights: str
    dimensions: int
    rows: int
    size: int
    changed: float  # seconds since 1970


class Store:
    """The vectors of one gallery by one model. For one thread at a time; open it again for another."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.damaged = 0  # features found damaged since this was opened
        self._shards: list[Shard] = []
        self._lost: set[str] = set()  # damaged files that could not be moved
        self._index: tuple[Ids, Rows] | None = None  # sorted ids, and where each lies counted through all shards

    @classmethod
    def create(
        cls,
        root: Path,
        fingerprint: str,
        *,
        card: Card,
        weights: str = "",
        gallery: str = "",
        dimensions: int | None = None,
        parts: int = 0,
        opened: Opened | None = None,
        imported: Mapping[str, str] | None = None,
        file: Path | None = None,
    ) -> Store:
        """The store of that name under `root`, made where it is not there yet. `parts` = S numbers of confidence.

        `opened` says where the gallery lies, `file` where the model, for programs that start from the store; the latest
        word counts.
        `imported` says where vectors come from that no model of ours made.
        """
        _check_name(fingerprint)
        try:
            store = cls.open(root, fingerprint)
        except InputError:
            manifest = {
                "format": FORMAT,
                "fingerprint": fingerprint,
                "gallery": gallery,
                "weights": weights,
                "card": card.as_json(),
                "preprocessing": PREPROCESSING,
                "dimensions": int(dimensions or card.dimensions),
                "parts": int(parts),
                "versions": versions(),
            }
            if imported is not None:
                manifest["imported"] = dict(imported)
            folder = Path(root) / fingerprint
            _make_folder(Path(root))
            _make_folder(folder)
            store = cls(folder, manifest)
            store._save_manifest()
            sync_folder(Path(root))
        wanted = int(dimensions or card.dimensions), int(parts)
        if wanted != (store.dimensions, store.parts):
            raise InputError(
                tr("The store has {a} dims, the model gives {b}.", a=store.dimensions, b=wanted[0]),
                hint=tr("Delete the cached features of this model."),
            )
        said: dict[str, Any] = {} if opened is None or opened == store.opened else {"opened": _told(opened)}
        if file is not None and os.fspath(file.absolute()) != store.file:
            said["file"] = os.fspath(file.absolute())
        if said:
            store.manifest = {**store.manifest, **said}
            store._note_rows()
        return store

    @classmethod
    def open(cls, root: Path, fingerprint: str) -> Store:
        """The store of that name under `root`; an `InputError` where there is none."""
        _check_name(fingerprint)
        folder = Path(root) / fingerprint
        manifest = _read_manifest(folder / MANIFEST)
        if manifest is None or manifest.get("fingerprint") != fingerprint:
            manifest = _manifest_of_shards(folder, fingerprint)
            if manifest is None:
                raise InputError(
                    tr("There are no cached features of this model for this gallery."), hint=tr("Embed the gallery.")
                )
            store = cls(folder, manifest)
            store._save_manifest()
            return store
        if manifest["format"] > FORMAT:
            raise InputError(
                tr("The cached features were made by a newer FaceLens."),
                hint=tr("Update FaceLens, or delete the cached features of this model."),
            )
        return cls(folder, manifest)

    @property
    def fingerprint(self) -> str:
        """Its name."""
        return str(self.manifest["fingerprint"])

    @property
    def dimensions(self) -> int:
        """D."""
        return int(self.manifest["dimensions"])

    @property
    def parts(self) -> int:
        """S, 0 where the model gives no confidence."""
        return int(self.manifest["parts"])

    @property
    def card(self) -> Card:
        """How pictures were fed."""
        return Card.from_json(dict(self.manifest["card"]))

    @property
    def imported(self) -> dict[str, str] | None:
        """file, sha256 and place (of the gallery) of vectors that came from elsewhere; None for a model's."""
        found = self.manifest.get("imported")
        return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else None

    @property
    def opened(self) -> Opened | None:
        """Where the gallery was opened from; None where an earlier version made the store."""
        return _opened(self.manifest.get("opened"))

    @property
    def file(self) -> str:
        """Where the model lay; "" where that is not known."""
        return str(self.manifest.get("file") or "")

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return _folder_size(self.folder)

    @property
    def notice(self) -> str:
        """What to tell about damage found so far, "" for none."""
        if not self.damaged:
            return ""
        return plural(
            self.damaged,
            "{n} cached feature was damaged and will be recomputed.",
            "{n} cached features were damaged and will be recomputed.",
        )

    def __len__(self) -> int:
        self._refresh()
        return len(self._positions()[0])

    # Reading

    def missing(self, faces: FaceSet, *, lazy: bool = False) -> Rows:
        """Rows of `faces` to be embedded: not stored, stored for an earlier state of the picture, or damaged.

        A picture that is not there any more keeps the vector it has. `lazy` neither looks at the pictures nor verifies
        vectors: for a count, not for work.
        """
        at, found = self._found(faces, lazy=lazy)
        while not lazy and self._mend(at):
            at, found = self._found(faces, lazy=lazy)
        return np.flatnonzero(~found).astype(np.int64)

    def features(self, faces: FaceSet | None = None, *, lazy: bool = False) -> FeatureSet:
        """The stored vectors in the order of `faces`, those not stored left out; without `faces` all, as stored.

        Mapped where the rows lie one after the other in one shard, else gathered once. Vectors are verified, and those
        of changed pictures left out. `lazy` returns at once: pictures are not looked at again, mapped vectors are
        verified when they are first used (and raise `Damaged` then).
        """
        at, _ = self._found(faces, lazy=lazy)
        span = self._span(at)
        while (span is None or not lazy) and self._mend(at):
            at, _ = self._found(faces, lazy=lazy)
            span = self._span(at)
        if span is not None:
            shard, rows = span
            return self._made(shard.ids[rows], shard.vectors[rows], shard.norms[rows], shard, rows=rows)
        n = len(at)
        ids, norms, keys = np.empty(n, np.int64), np.empty(n, np.float32), np.empty(n, np.uint64)
        vectors = np.empty((n, self.dimensions), np.float32)
        confidence = np.empty((n, self.parts), np.float32) if self.parts else None
        for shard, places, inside in self._by_shard(at):
            ids[places], norms[places], keys[places] = shard.ids[inside], shard.norms[inside], shard.keys[inside]
            vectors[places] = shard.vectors[inside]
            if confidence is not None and shard.confidence is not None:
                confidence[places] = shard.confidence[inside]
        for array in (ids, norms, vectors, confidence):
            if array is not None:
                array.flags.writeable = False
        gathered = StoredFeatures(ids, vectors, self._provenance(ids, keys), norms, confidence)
        gathered.of(self)
        return gathered

    def _made(
        self, ids: Ids, vectors: NDArray[np.float32], norms: NDArray[np.float32], shard: Shard, *, rows: slice
    ) -> FeatureSet:
        confidence = None if shard.confidence is None else shard.confidence[rows]
        made = MappedFeatures(ids, vectors, self._provenance(ids, shard.keys[rows]), norms, confidence)
        made.attach(self, shard, rows)
        return made

    def _provenance(self, ids: Ids, keys: Keys) -> Provenance:
        # Equal fingerprints, equal vectors: so it also tells which faces, and in which state their pictures were.
        state = hashlib.sha256(self.fingerprint.encode())
        state.update(np.ascontiguousarray(ids).data)
        state.update(np.ascontiguousarray(keys).data)
        card, versions = self.card, dict(self.manifest["versions"])
        return Provenance(state.hexdigest(), card.name, str(self.manifest["weights"]), card, versions, self.file)

    def _found(self, faces: FaceSet | None, *, lazy: bool) -> tuple[Rows, NDArray[np.bool_]]:
        """Where the vectors of `faces` lie, and which faces those are."""
        self._refresh()
        only = self._shards[0] if len(self._shards) == 1 and self._shards[0].told["unique"] else None
        if faces is None:
            if only is not None:
                return np.arange(only.rows), np.ones(only.rows, bool)
            at = np.sort(self._positions()[1])
            return at, np.ones(len(at), bool)
        if only is not None and len(faces) == only.rows and np.array_equal(faces.ids, only.ids):
            at, found = np.arange(only.rows), np.ones(only.rows, bool)  # a million ids need not be sorted
        else:
            ids, positions = self._positions()
            if not len(ids):
                return np.zeros(0, np.int64), np.zeros(len(faces), bool)
            place = np.minimum(np.searchsorted(ids, faces.ids), len(ids) - 1)
            found = ids[place] == faces.ids
            at = positions[place[found]]
        if not lazy and len(at):
            now = picture_keys(faces, np.flatnonzero(found).astype(np.int64))
            then = np.concatenate([shard.keys for shard in self._shards])[at]
            same = (now == then) | (now == 0) | (then == 0)
            at = at[same]
            found[found] = same
        return at, found

    def _positions(self) -> tuple[Ids, Rows]:
        if self._index is None:
            ids = np.concatenate([np.zeros(0, np.int64), *(shard.ids for shard in self._shards)])
            order = np.argsort(ids, kind="stable").astype(np.int64)
            ordered = ids[order]
            last = np.append(ordered[1:] != ordered[:-1], True)[: len(ordered)]  # the latest of equal ids
            self._index = ordered[last], order[last]
        return self._index

    def _by_shard(self, at: Rows) -> Iterator[tuple[Shard, NDArray[np.int64], Rows | slice]]:
        """Which of `at` lie in each shard, and where there; a slice where they follow each other."""
        ends = np.cumsum([shard.rows for shard in self._shards])
        owner = np.searchsorted(ends, at, side="right")
        for number in np.unique(owner).tolist():
            shard = self._shards[number]
            places = np.flatnonzero(owner == number)
            inside = at[places] - (ends[number] - shard.rows)
            if (np.diff(inside) == 1).all():
                yield shard, places, slice(int(inside[0]), int(inside[-1]) + 1)
            else:
                yield shard, places, inside

    def _span(self, at: Rows) -> tuple[Shard, slice] | None:
        pieces = list(self._by_shard(at))
        if len(pieces) == 1 and isinstance(pieces[0][2], slice):
            return pieces[0][0], pieces[0][2]
        return None

    def _mend(self, at: Rows) -> bool:
        """Verify the vectors at `at`; True where some were damaged and everything has to be looked up again."""
        hurt = [(shard, bad) for shard, _, inside in self._by_shard(at) if (bad := self._verified(shard, inside))]
        for shard, bad in hurt:
            self._set_aside(shard, bad)
        return bool(hurt)

    def _verified(self, shard: Shard, rows: Rows | slice | None) -> list[int]:
        try:
            return shard.verify(rows)
        except OSError as error:
            raise self._unreadable(error) from error

    def _refresh(self) -> None:
        """See what shards there are now; later ones win."""
        for _ in range(100):
            known = {shard.path.name: shard for shard in self._shards}
            try:
                names = os.listdir(self.folder)
            except FileNotFoundError:
                names = []
            except OSError as error:
                raise self._unreadable(error) from error
            found = [known.get(name) or Shard.named(self.folder / name) for name in names if name not in self._lost]
            shards = sorted((shard for shard in found if shard is not None), key=lambda shard: shard.order)
            kept = [shard for shard in shards if shard.loaded or self._load(shard)]
            if kept != self._shards:
                self._shards, self._index = kept, None
            if len(kept) == len(shards):
                return
        raise InputError(tr("The cached features change all the time."), hint=tr("Close other windows of FaceLens."))

    def _load(self, shard: Shard) -> bool:
        try:
            whole = (shard.dimensions, shard.parts) == (self.dimensions, self.parts) and shard.load(self.fingerprint)
        except FileNotFoundError:  # merged away by another process since the folder was listed
            return False
        except OSError as error:
            if error.errno != errno.EIO:
                raise self._unreadable(error) from error
            whole = False
        except (ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            self._set_aside(shard, None)
        return whole

    def _unreadable(self, error: OSError) -> InputError:
        return InputError(
            tr("The cached features could not be read."),
            hint=tr("Check the permissions of the cache folder."),
            details=str(error),
        )

    def _set_aside(self, shard: Shard, bad: Sequence[int] | None) -> None:
        """Take a damaged shard out; rows of blocks that are whole go into a new one first."""
        if bad is not None and not shard.path.exists():
            self._shards = [other for other in self._shards if other is not shard]
            self._index = None
            return
        keep = np.zeros(shard.rows, bool)
        if bad is not None:
            bad = sorted({*bad, *shard.verify()})
            keep[:] = True
            for block in bad:
                keep[block * shard.block_rows : (block + 1) * shard.block_rows] = False
        self.damaged += int((~keep).sum())
        if keep.any():
            rows = np.flatnonzero(keep)
            try:
                confidence = None if shard.confidence is None else shard.confidence[rows]
                self._write(
                    shard.ids[rows],
                    shard.vectors[rows],
                    norms=shard.norms[rows],
                    confidence=confidence,
                    keys=shard.keys[rows],
                    sequence=shard.sequence,
                    merges=shard.merges + 1,
                )
            except (OSError, FaceLensError):
                pass  # no room: these are recomputed as well
        try:
            os.replace(shard.path, shard.path.with_name(shard.path.name + ".damaged"))
        except OSError:
            self._lost.add(shard.path.name)
        self._shards = [other for other in self._shards if other is not shard]
        self._index = None

    # Writing

    @contextmanager
    def writer(self, *, total: int = 0) -> Iterator[Writer]:
        """Takes rows; what has come is kept also when the block ends with an error. `total` rows must find room."""
        _make_folder(self.folder)
        self._clean()
        writer = Writer(self, total)
        writer.check_room(total)
        try:
            yield writer
        except BaseException:
            try:
                writer.flush()
            except (OSError, FaceLensError):
                pass  # the first failure is the one to tell
            raise
        else:
            writer.flush()
        finally:
            writer.closed = True
            self._note_rows()

    def compact(self, faces: FaceSet | None = None, *, tick: Tick = silent) -> None:
        """Merge all shards into one, in the order of `faces` (what is not among them follows), and drop doubles.

        Old shards go when the new one is there. Afterwards `features` maps instead of gathering.
        """
        self._refresh()
        while self._mend(self._positions()[1]):
            self._refresh()
        self._clean(damaged=True)
        ids, positions = self._positions()
        if not len(ids):
            return
        if faces is None:
            at = np.sort(positions)
        else:
            place = np.minimum(np.searchsorted(ids, faces.ids), len(ids) - 1)
            first = place[ids[place] == faces.ids]
            first = first[np.sort(np.unique(first, return_index=True)[1])]
            rest = np.setdiff1d(np.arange(len(ids)), first)
            at = positions[np.concatenate([first, rest])]
        merged = list(self._shards)
        if len(merged) == 1 and np.array_equal(at, np.arange(merged[0].rows)):
            return
        total = 4 * len(at) * self.dimensions
        self._check_room(total * (2 if total > SCRATCH else 1))
        columns = {
            name: np.concatenate([getattr(shard, name) for shard in merged])[at] for name in ("ids", "norms", "keys")
        }
        confidence = None
        if self.parts:
            confidence = np.concatenate([shard.confidence for shard in merged if shard.confidence is not None])[at]
        scratch = self.folder / f".{secrets.token_hex(8)}.part"
        try:
            vectors = self._merged_vectors(at, scratch if total > SCRATCH else None, tick)
            self._write(
                columns["ids"],
                vectors,
                norms=columns["norms"],
                confidence=confidence,
                keys=columns["keys"],
                sequence=max(shard.sequence for shard in merged),
                merges=max(shard.merges for shard in merged) + 1,
            )
        except OSError as error:
            raise self._failed(error) from error
        finally:
            remove(scratch)
        for shard in merged:
            remove(shard.path)
        self._refresh()
        self._note_rows()

    def _merged_vectors(self, at: Rows, scratch: Path | None, tick: Tick) -> NDArray[np.float32]:
        step = block_rows(self.dimensions)

        def pieces() -> Iterator[NDArray[np.float32]]:
            for start in range(0, len(at), step):
                tick(start, len(at), tr("Merging features"))
                some = at[start : start + step]
                block = np.empty((len(some), self.dimensions), np.float32)
                for shard, places, inside in self._by_shard(some):
                    block[places] = shard.vectors[inside]
                yield block

        if scratch is None:
            return np.concatenate(list(pieces()))
        # Through a file: a million vectors would take 2 GB of memory.
        with open(scratch, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
            for block in pieces():
                stream.write(block.data)
        return np.memmap(scratch, np.float32, "r", shape=(len(at), self.dimensions))

    def _write(
        self,
        ids: Ids,
        vectors: NDArray[np.float32],
        *,
        norms: NDArray[np.float32],
        confidence: NDArray[np.float32] | None,
        keys: Keys,
        sequence: int | None = None,
        merges: int = 0,
    ) -> None:
        """Make one shard; it is safe on disk when this returns."""
        columns: dict[str, NDArray[Any]] = {"id": ids, "norm": norms, "key": keys}
        if confidence is not None:
            columns["confidence"] = confidence
        write_shard(self.folder, {**columns, "vector": vectors}, manifest=self.manifest, order=(sequence, merges))

    def _check_room(self, needed: int, *, kept: int = 0, total: int = 0) -> None:
        free = free_bytes(self.folder)
        if needed + MARGIN > free:
            raise _full(self.folder, needed, free, kept=kept, total=total)

    def _failed(self, error: OSError, *, needed: int = 0, kept: int = 0, total: int = 0) -> FaceLensError:
        if is_full(error):
            return _full(self.folder, needed, free_bytes(self.folder), kept=kept, total=total, details=str(error))
        return InputError(
            tr("The features could not be stored: {reason}.", reason=error.strerror or type(error).__name__),
            hint=tr("Check the cache folder, then press Resume."),
            details=str(error),
        )

    def _save_manifest(self) -> None:
        rows = sum(shard.rows for shard in shards_in(self.folder))
        told = {**self.manifest, "rows": rows}
        text = json.dumps({**told, "sum": _sum_of(told)}, indent=2) + "\n"

        def write(stream: BinaryIO) -> None:
            stream.write(text.encode())

        try:
            commit(self.folder, write, name=lambda part: MANIFEST)
        except OSError as error:
            raise self._failed(error) from error

    def _note_rows(self) -> None:
        try:
            self._save_manifest()
        except (OSError, FaceLensError):
            pass  # for people who look into the file; the rows themselves are safe

    def _clean(self, *, damaged: bool = False) -> None:
        """Remove what killed writers have left; another process may be writing, so only what is old."""
        old = time.time() - ABANDONED
        for path in self.folder.iterdir():
            if path.name.endswith(".part"):
                found = _stat(os.fsencode(path))
                if found is not None and found.st_mtime < old:
                    remove(path)
            elif damaged and path.name.endswith(".damaged"):
                remove(path)

    def purge(self) -> None:
        """Delete everything that is stored; mapped vectors in use stay readable where the system allows it."""
        self._shards, self._index = [], None
        _delete(self.folder)


def _full(folder: Path, needed: int, free: int, *, kept: int, total: int, details: str = "") -> DiskFull:
    message = tr(
        "The disk is full: {needed} needed, {free} free on {place}.",
        needed=amount(needed),
        free=amount(free),
        place=escaped(_mount(folder)),
    )
    if total:
        message += " " + tr("{kept} of {total} kept.", kept=kept, total=total)
    return DiskFull(message, hint=tr("Free some space and press Resume."), details=details)


def _mount(folder: Path) -> str:
    if os.name != "posix":
        return folder.absolute().drive or str(folder)
    place = folder.absolute()
    while not os.path.ismount(place) and place != place.parent:
        place = place.parent
    return str(place)


class Writer:
    """Takes rows and makes shards of them; `kept` rows are safe on disk."""

    def __init__(self, store: Store, total: int) -> None:
        self.store = store
        self.total = total
        self.kept = 0
        self.closed = False
        self._waiting: list[tuple[Ids, NDArray[np.float32], NDArray[np.float32] | None, Keys]] = []
        self._rows = 0

    def append(
        self,
        ids: Ids,
        vectors: NDArray[np.float32],
        *,
        confidence: NDArray[np.float32] | None = None,
        keys: Keys | None = None,
    ) -> None:
        """Take (n,) ids, (n, D) vectors, (n, S) confidence and `picture_keys` taken before the pictures were read.

        Without keys the rows never go stale. Vectors that are no use (NaN, zero) are stored: trying again helps nobody.
        """
        if self.closed:
            raise ValueError("the writer is closed")
        # Copies: callers fill the same buffer with the next batch.
        taken = np.array(ids, np.int64)
        rows = np.array(vectors, np.float32)
        sure = None if confidence is None else np.array(confidence, np.float32)
        states = np.zeros(len(taken), np.uint64) if keys is None else np.array(keys, np.uint64)
        if rows.shape != (len(taken), self.store.dimensions):
            raise InputError(
                tr(
                    "The model gives {a} dims, its store has {b}.",
                    a=int(rows.shape[-1]) if rows.ndim else 0,
                    b=self.store.dimensions,
                ),
                hint=tr("Correct the dimensions in the model card."),
            )
        if (0 if sure is None else int(sure.shape[-1])) != self.store.parts or len(states) != len(taken):
            raise ValueError("confidence or keys do not fit the store")
        if len(taken):
            self._waiting.append((taken, rows, sure, states))
            self._rows += len(taken)
        if self._rows >= FLUSH_ROWS or 4 * self._rows * self.store.dimensions >= FLUSH_BYTES:
            self.flush()

    def check_room(self, rows: int) -> None:
        """Refuse before work is spent when the disk cannot take so many rows."""
        width = 4 * (self.store.dimensions + self.store.parts) + 20
        self.store._check_room(rows * width, kept=self.kept, total=self.total)

    def flush(self) -> int:
        """Make a shard of what has come; returns how many rows of this writer are safe on disk now."""
        if not self._waiting:
            return self.kept
        rows = self._rows
        ids = np.concatenate([piece[0] for piece in self._waiting])
        vectors = np.concatenate([piece[1] for piece in self._waiting])
        confidence = None
        if self.store.parts:
            confidence = np.concatenate([piece[2] for piece in self._waiting if piece[2] is not None])
        keys = np.concatenate([piece[3] for piece in self._waiting])
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)).astype(np.float32)
        try:
            self.check_room(rows)
            self.store._write(ids, vectors, norms=norms, confidence=confidence, keys=keys)
        except OSError as error:
            raise self.store._failed(
                error, needed=vectors.nbytes, kept=self.kept, total=max(self.total, self.kept + rows)
            ) from error
        self.kept += rows
        self._waiting, self._rows = [], 0
        return self.kept


class StoredFeatures(FeatureSet):
    """Vectors of a store; they travel to another process as its name, and are those in use there if there are any."""

    def of(self, store: Store) -> None:
        """Say whose they are."""
        self.__dict__["_store"] = store
        _in_use[self.provenance.fingerprint] = self

    def __reduce__(self) -> tuple[object, ...]:
        store: Store | None = self.__dict__.get("_store")
        if store is None:  # changed since
            return FeatureSet, (self.ids, self.vectors, self.provenance, self.norms, self.confidence, self.invalid)
        return _reopened, (store.folder.parent, store.fingerprint, np.array(self.ids), self.provenance.fingerprint)


_in_use: WeakValueDictionary[str, StoredFeatures] = WeakValueDictionary()


class MappedFeatures(StoredFeatures):
    """Vectors mapped from a shard; each is verified before it is first handed out."""

    @property  # type: ignore[override]
    def vectors(self) -> NDArray[np.float32]:
        """(N, D). The first use verifies all of them: about a second for 2 GB."""
        self._verify(None)
        found: NDArray[np.float32] = self.__dict__["_mapped"]
        return found

    @vectors.setter
    def vectors(self, value: NDArray[np.float32]) -> None:
        self.__dict__["_mapped"] = value

    def attach(self, store: Store, shard: Shard, rows: slice) -> None:
        """Say where the vectors lie."""
        self.__dict__["_source"] = store, shard, rows
        self.of(store)

    def _verify(self, rows: Rows | None) -> None:
        source = self.__dict__.get("_source")
        if source is None:
            return
        store, shard, span = source
        if bad := store._verified(shard, span if rows is None else rows + span.start):
            before = store.damaged
            store._set_aside(shard, bad)
            _in_use.pop(self.provenance.fingerprint, None)
            raise Damaged(
                plural(
                    max(1, store.damaged - before),
                    "{n} cached feature was damaged.",
                    "{n} cached features were damaged.",
                ),
                hint=tr("Embed the gallery again; only these are recomputed."),
            )

    @property
    def dimensions(self) -> int:
        """D."""
        return int(self.__dict__["_mapped"].shape[1])

    def unit(self, ids: Ids) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """See FeatureSet; verifies only what it takes."""
        rows, found = self.rows_of(ids)
        self._verify(rows)
        return self.__dict__["_mapped"][rows] / self.norms[rows, None], found

def _reopened(root: Path, name: str, ids: Ids, wanted: str) -> FeatureSet:
    from facelens.images.faceset import Labels
    from facelens.images.packed import Packed

    if (known := _in_use.get(wanted)) is not None:
        return known
    codes = np.full(len(ids), -1, np.int32)
    empty = Packed(np.zeros(0, np.uint8), np.zeros(len(ids) + 1, np.int64))
    made = Store.open(root, name).features(FaceSet("", root, empty, Labels(codes, ()), ids=ids), lazy=True)
    if made.provenance.fingerprint != wanted:
        raise Damaged(tr("The cached features have changed meanwhile."), hint=tr("Run it again."))
    return made


# All stores


def follow(
    faces: FaceSet, root: Path, old: str, new: str, *, ids: Ids | None = None, tick: Tick = silent
) -> None:
    """Bring vectors to where a gallery lies now, from the store `old` of where it lay: of pictures that are the same.

    `new` is what the store of the same model is called for these faces; of another model nothing is taken. `ids` are
    what faces were called then, where galleries that were joined lie otherwise now. The old store stays, for the
    gallery may have been copied.
    """
    try:
        _check_name(old)
        before = Store.open(root, old)
    except (InputError, ValueError):
        return
    weights = str(before.manifest["weights"])
    if before.imported is not None or fingerprint(faces, weights=weights, card=before.card) != new:
        return
    keys = picture_keys(faces)
    then = faces if ids is None or ids is faces.ids else replace(faces, ids=ids)
    found = before.features(then)
    if not len(found):
        return
    kept = Store.create(
        root, new, card=before.card, weights=weights, gallery=faces.name, dimensions=before.dimensions,
        parts=before.parts, opened=faces.opened, file=Path(before.file) if before.file else None,
    )  # fmt: skip
    rows = then.rows_of(found.ids)
    left = np.flatnonzero(np.isin(rows, kept.missing(faces)))
    with kept.writer(total=len(left)) as writer:
        for start in range(0, len(left), FLUSH_ROWS):
            tick(start, len(left), "")
            some = left[start : start + FLUSH_ROWS]
            sure = found.confidence[some] if found.confidence is not None else None
            writer.append(faces.ids[rows[some]], found.vectors[some], confidence=sure, keys=keys[rows[some]])


def stores(root: Path) -> list[StoreInfo]:
    """What is cached under `root`, the latest first. Looks at names and manifests only."""
    found = []
    for folder in _folders(root):
        manifest = _read_manifest(folder / MANIFEST) or {}
        card = manifest.get("card", {})
        shards = shards_in(folder)
        told = _stat(os.fsencode(folder))
        found.append(
            StoreInfo(
                fingerprint=folder.name,
                folder=folder,
                gallery=str(manifest.get("gallery", "")),
                model=str(card.get("name", "")) if isinstance(card, dict) else "",
                weights=str(manifest.get("weights", "")),
                dimensions=int(manifest.get("dimensions", shards[0].dimensions if shards else 0)),
                rows=sum(shard.rows for shard in shards),
                size=_folder_size(folder),
                changed=told.st_mtime if told is not None else 0.0,
            )
        )
    return sorted(found, key=lambda info: -info.changed)


def imported(faces: FaceSet, root: Path) -> list[Store]:
    """The stores under `root` with vectors that were imported for this gallery."""
    found = []
    for folder in _folders(root):
        manifest = _read_manifest(folder / MANIFEST)
        if manifest is not None and isinstance(manifest.get("imported"), dict):
            store = Store(folder, manifest)
            if (store.imported or {}).get("place") == place_of(faces):
                found.append(store)
    return sorted(found, key=lambda store: store.folder.name)


def place_of(faces: FaceSet) -> str:
    """Where a gallery lies, as it is written down."""
    return hashlib.sha256(os.fsencode(faces.root.absolute())).hexdigest()


def purge(root: Path) -> None:
    """Delete every store under `root`, also what an interrupted deletion has left."""
    for folder in _folders(root, all_of_them=True):
        _delete(folder)


def _folders(root: Path, *, all_of_them: bool = False) -> list[Path]:
    try:
        found = [path for path in Path(root).iterdir() if path.is_dir() and not path.is_symlink()]
    except FileNotFoundError:
        return []
    return [
        path
        for path in found
        if re.fullmatch("[0-9a-f]{8,64}", path.name) or (all_of_them and path.name.endswith(".deleted"))
    ]


def _delete(folder: Path) -> None:
    if not folder.exists():
        return
    try:
        gone = folder
        if not folder.name.endswith(".deleted"):
            # Gone at once: a deletion that is interrupted leaves no half store.
            gone = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.deleted")
            os.replace(folder, gone)
        shutil.rmtree(gone)
    except OSError as error:
        raise InputError(
            tr("The cached features could not be deleted: {reason}.", reason=error.strerror or type(error).__name__),
            hint=tr("Close other windows of FaceLens and try again."),
            details=str(error),
        ) from error


def _folder_size(folder: Path) -> int:
    """Bytes in a folder, what is measured of its vectors included."""
    total = 0
    try:
        for entry in os.scandir(folder):
            try:
                inside = entry.is_dir(follow_symlinks=False)
                total += _folder_size(Path(entry.path)) if inside else entry.stat(follow_symlinks=False).st_size
            except OSError:
                continue
    except OSError:
        return 0
    return total


def _told(opened: Opened) -> dict[str, Any]:
    return {"path": os.fspath(opened.path), "kind": opened.kind, "options": dict(opened.options)}


def _opened(told: object) -> Opened | None:
    if not isinstance(told, dict) or not isinstance(told.get("path"), str) or not told["path"]:
        return None
    options = told.get("options")
    said = {str(name): str(value) for name, value in options.items()} if isinstance(options, dict) else {}
    return Opened(Path(told["path"]), str(told.get("kind") or ""), said)


def _check_name(fingerprint: str) -> None:
    if not re.fullmatch("[0-9a-f]{8,64}", fingerprint):
        raise ValueError(f"no fingerprint: {fingerprint!r}")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.name == "posix" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
            folder.chmod(0o700)  # vectors of faces are for their owner alone
    except OSError as error:
        raise InputError(
            tr("The cache folder could not be made: {reason}.", reason=error.strerror or type(error).__name__),
            hint=tr("Choose another place."),
            details=str(error),
        ) from error


def _sum_of(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _read_manifest(path: Path) -> dict[str, Any] | None:
    """The manifest where it is there and whole."""
    try:
        if path.stat().st_size > _LONGEST:
            return None
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.pop("sum", None) != _sum_of(found):
        return None
    found.pop("rows", None)
    return found


def _manifest_of_shards(folder: Path, fingerprint: str) -> dict[str, Any] | None:
    """Every shard carries the manifest, so a lost one can be had back."""
    try:
        shards = shards_in(folder)
    except OSError:
        return None
    for shard in shards:
        try:
            if shard.load(fingerprint):
                found: dict[str, Any] = shard.told["manifest"]
                return found
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None
