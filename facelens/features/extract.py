"""Extraction: every face of a gallery through a model into a store, resumable; the network does not wait for pictures.

Computes    pictures are read, aligned and cropped in threads, a batch ahead of the network; vectors go to the store,
            which makes them durable every few seconds. What a finished shard holds is not done again.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facelens.errors import FaceLensError, InputError
from facelens.features.card import Card
from facelens.features.encoder import PIECE, Encoded, Encoder
from facelens.features.feed import feed_face
from facelens.features.store import Store, picture_keys
from facelens.images import align
from facelens.images.decode import PictureError
from facelens.images.faceset import FaceSet, Rows
from facelens.images.quarantine import Guard
from facelens.progress import Tick, silent
from facelens.words import plural, tr

BATCH = 32
HANDFUL = 8  # pictures a thread takes at a time: handing over each one costs as much as a third of its decoding
MANY = 4000  # pictures from which on the compiled warp is worth loading
SAFE_EVERY = 10.0  # seconds after which finished vectors are made durable, however few they are
_log = logging.getLogger("facelens.extract")


@dataclass(frozen=True)
class Extraction:
    """What came of it: vectors made, pictures left out with the reason, and how long it took."""

    embedded: int
    reused: int
    skipped: tuple[tuple[int, str], ...]  # (face id, reason)
    seconds: float
    notice: str = ""  # damage found in the cache, memory that ran out

    def sentence(self) -> str:
        """For the end of a job."""
        parts = [plural(self.embedded, "{n} face embedded", "{n} faces embedded")]
        if self.reused:
            parts.append(tr("{n} were there already", n=self.reused))
        if self.skipped:
            parts.append(plural(len(self.skipped), "{n} picture skipped", "{n} pictures skipped"))
        return ", ".join(parts) + "."


def embed(
    faces: FaceSet,
    encoder: Encoder,
    store: Store,
    *,
    batch: int = BATCH,
    threads: int | None = None,
    guard: Guard | None = None,
    tick: Tick = silent,
) -> Extraction:
    """Embed what the store does not hold yet.

    A picture that cannot be read is skipped with its reason. When the network runs out of memory the batch is halved,
    and a graphics card that cannot take a single picture is given up for the processor. Cancelling keeps every finished
    vector. A picture that kills the process takes the unsaved vectors of the last seconds with it, nothing else; with
    a `guard` it is known the next time and skipped.
    """
    began = time.monotonic()
    rows = store.missing(faces)
    reused = len(faces) - len(rows)
    skipped: list[tuple[int, str]] = []
    done = embedded = 0
    tick(0, len(rows))
    if not len(rows):
        return Extraction(0, reused, (), time.monotonic() - began, store.notice)
    with (
        encoding(faces, rows, encoder, batch=batch, threads=threads, guard=guard) as run,
        store.writer(total=len(rows)) as writer,
    ):
        safe = time.monotonic()
        for fed, found in run.batches:
            skipped += [(int(faces.ids[row]), reason) for row, reason in fed.bad]
            if found is not None:
                writer.append(faces.ids[fed.rows], found.vectors, confidence=found.confidence, keys=fed.keys)
                embedded += len(fed.rows)
            done += len(fed.rows) + len(fed.bad)
            if time.monotonic() - safe > SAFE_EVERY:
                writer.flush()
                safe = time.monotonic()
            tick(done, len(rows))
    try:
        store.compact(faces)  # one shard in gallery order is mapped; many have to be gathered
    except FaceLensError as error:
        _log.warning("shards were not merged: %s", error)  # no room: the vectors are there all the same
    notice = " ".join(part for part in (store.notice, run.notice) if part)
    return Extraction(embedded, reused, tuple(skipped), time.monotonic() - began, notice)


class Encoding:
    """Batches of faces with what a network says of them, None where no picture of a batch could be read."""

    def __init__(self, batches: Iterator[tuple[Fed, Encoded | None]], size: _Size) -> None:
        self.batches, self._size = batches, size

    @property
    def notice(self) -> str:
        """What to tell about memory that ran out so far, "" for nothing."""
        return self._size.notice


@contextmanager
def encoding(
    faces: FaceSet,
    rows: Rows,
    encoder: Encoder,
    *,
    patches: bool = False,
    batch: int = BATCH,
    threads: int | None = None,
    guard: Guard | None = None,
) -> Iterator[Encoding]:
    """The faces at `rows` through a network, in order; pictures are read ahead, see `embed`."""
    streams = _streams(encoder)
    size = _Size(min(batch, PIECE * streams) if streams > 1 else batch)
    with (
        _memory_kept(),
        closing(_pictures(faces, rows, encoder, size=size, threads=threads, guard=guard)) as pictures,
        closing(_vectors(pictures, encoder, size, patches=patches)) as batches,
    ):
        yield Encoding(batches, size)


@contextmanager
def _memory_kept() -> Iterator[None]:
    """Let the C library keep what a batch has freed for the next one, and give it back at the end.

    Left alone, it hands the memory of every layer back and asks for it anew, which takes a tenth of the time. Only
    glibc can be told, and only for the whole process, which is the worker's unless a script embeds by itself;
    elsewhere nothing happens. What is set cannot be unset: from the end on, blocks up to 32 MB come from the heap and
    64 MB of it stay, which is where glibc's own adjustment arrives once a block of 32 MB has been freed.
    """
    try:
        libc = ctypes.CDLL("libc.so.6") if sys.platform == "linux" else None
    except OSError:
        libc = None
    if libc is None:
        yield
        return
    for what, number in ((-1, 1 << 30), (-2, 1 << 26), (-3, 1 << 25)):  # trim threshold, top pad, mmap threshold
        libc.mallopt(what, number)
    try:
        yield
    finally:
        libc.mallopt(-1, 1 << 26)
        libc.mallopt(-2, 1 << 17)  # the default
        libc.malloc_trim(0)


class _Size:
    """The batch size in use; it only shrinks."""

    def __init__(self, rows: int) -> None:
        self.rows = max(1, rows)
        self.notice = ""

    def shrink(self, rows: int) -> None:
        """Memory has run out."""
        self.rows = max(1, min(rows, self.rows))
        self.notice = plural(
            self.rows,
            "Memory ran out; the network took {n} picture at a time from there on.",
            "Memory ran out; the network took {n} pictures at a time from there on.",
        )
        _log.warning("out of memory: batches of %d from here on", self.rows)


class Fed(NamedTuple):
    """A batch on its way: the rows that could be read with their pictures and file states, and those that could not."""

    rows: Rows
    pictures: NDArray[np.uint8]
    keys: NDArray[np.uint64]
    bad: list[tuple[int, str]]


def _pictures(
    faces: FaceSet, rows: Rows, encoder: Encoder, *, size: _Size, threads: int | None, guard: Guard | None
) -> Generator[Fed]:
    """Batches of fed pictures, read two batches ahead."""

    def fed(some: Rows) -> list[tuple[int, np.uint64, NDArray[np.uint8] | str]]:
        # States first: taken after reading, a picture that changes in between would pass for the new one.
        keys = picture_keys(faces, some)
        return [(row, key, _fed_or_why(faces, row, encoder.card, guard)) for row, key in zip(some.tolist(), keys)]

    ahead: deque[Future[list[tuple[int, np.uint64, NDArray[np.uint8] | str]]]] = deque()
    ready: deque[tuple[int, np.uint64, NDArray[np.uint8] | str]] = deque()
    asked = taken = 0
    with ThreadPoolExecutor(threads or max(2, os.cpu_count() or 2), thread_name_prefix="feed") as pool:
        try:
            if len(rows) >= MANY and faces.landmarks is not None and encoder.card.template != "none":
                pool.submit(align.hasten)
            while taken < len(rows):
                while asked < len(rows) and asked - taken < 2 * max(size.rows, BATCH):
                    ahead.append(pool.submit(fed, rows[asked : asked + HANDFUL]))
                    asked += HANDFUL
                while ahead and len(ready) < size.rows:
                    ready.extend(ahead.popleft().result())
                some = [ready.popleft() for _ in range(min(size.rows, len(ready)))]
                taken += len(some)
                good = [(row, key, found) for row, key, found in some if not isinstance(found, str)]
                bad = [(row, found) for row, _, found in some if isinstance(found, str)]
                stacked = (
                    np.stack([found for *_, found in good]) if good else np.zeros((0, *encoder.card.size, 3), np.uint8)
                )
                keys = np.array([key for _, key, _ in good], np.uint64)
                yield Fed(np.array([row for row, *_ in good], np.int64), stacked, keys, bad)
        finally:
            for future in ahead:
                future.cancel()


def _vectors(
    pictures: Iterable[Fed], encoder: Encoder, size: _Size, *, patches: bool
) -> Generator[tuple[Fed, Encoded | None]]:
    """Batches with what the network says of them, in order.

    On the processor two pieces for every core are under way: none waits for another at the end of a batch.
    """
    streams = _streams(encoder)
    calls = max(2, 2 * PIECE * streams // size.rows) if streams > 1 else 1
    ahead: deque[tuple[Fed, Future[Encoded] | None]] = deque()
    with ThreadPoolExecutor(calls, thread_name_prefix="embed") as pool:
        try:
            for fed in pictures:
                found = pool.submit(_encoded, encoder, fed.pictures, size, patches) if len(fed.rows) else None
                ahead.append((fed, found))
                if len(ahead) == calls:
                    done, found = ahead.popleft()
                    yield done, None if found is None else found.result()
            for done, found in ahead:
                yield done, None if found is None else found.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _streams(encoder: Encoder) -> int:
    """How many pieces the encoder works on at the same time."""
    return int(getattr(encoder, "streams", 1))


def _fed_or_why(faces: FaceSet, row: int, card: Card, guard: Guard | None) -> NDArray[np.uint8] | str:
    if guard is not None and (why := guard.why(row)):
        return why
    try:
        with guard.reading(row) if guard is not None else nullcontext():
            return feed_face(faces, row, card)
    except PictureError as error:
        return error.reason
    except InputError as error:
        return error.message


def _encoded(encoder: Encoder, pictures: NDArray[np.uint8], size: _Size, patches: bool) -> Encoded:
    """Encode, in halves of halves where memory runs out."""
    parts: list[Encoded] = []
    start = 0
    while start < len(pictures):
        piece = pictures[start : start + size.rows]
        too_much = False
        try:
            parts.append(encoder(piece, patches=patches))
        except (MemoryError, RuntimeError) as error:
            if not _out_of_memory(error) or (len(piece) == 1 and not _on_a_card(encoder)):
                raise
            too_much = True
        # Outside the except block: there the traceback still holds the tensors that did not fit.
        if too_much:
            if len(piece) == 1:
                encoder.use_processor()  # type: ignore[attr-defined]
            size.shrink(len(piece) // 2)
            _release()
        else:
            start += len(piece)
    confidence = [part.confidence for part in parts if part.confidence is not None]
    maps = [part.patches for part in parts if part.patches is not None]
    return Encoded(
        np.concatenate([part.vectors for part in parts]),
        np.concatenate(confidence) if confidence else None,
        np.concatenate(maps) if maps else None,
    )


def _on_a_card(encoder: Encoder) -> bool:
    return str(getattr(encoder, "device", "cpu")) != "cpu"


def _out_of_memory(error: BaseException) -> bool:
    said = str(error).lower()
    return (
        isinstance(error, MemoryError)
        or "out of memory" in said
        or "can't allocate memory" in said
        or "cannot allocate" in said
    )


def _release() -> None:
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
