"""Thumbnails: pictures decoded off the GUI thread, newest request first, kept within a byte budget."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QPixmap

from facelens.errors import FaceLensError
from facelens.images import decode
from facelens.images.faceset import FaceSet
from facelens.images.quarantine import Guard, avoided
from facelens.words import tr

WHOLE = 0  # the size that stands for the picture as it is stored
MOST_WAITING = 256  # beyond this, what was asked for longest ago has been scrolled away
MOST_WHOLE = 4  # as many as are compared at once; each may take hundreds of megabytes
FRAME = 16  # ms between two `ready`


class Key(NamedTuple):
    """What is cached: a face of a gallery at a size."""

    gallery: int
    face: int
    size: int


class _Queue:
    """Requests and answers between the GUI thread and the decoders. Knows nothing of QObjects but the bell."""

    def __init__(self, bell: Callable[[], None], folder: Path | None) -> None:
        self._bell = bell
        self._folder = folder
        self._guard: Guard | None = None
        self._waiting: OrderedDict[Key, tuple[FaceSet, int]] = OrderedDict()
        self._working: set[Key] = set()
        self._done: list[tuple[Key, QImage | str]] = []
        self._free = threading.Condition()
        self._stopped = False
        self.most = MOST_WAITING

    def ask(self, key: Key, faces: FaceSet, row: int) -> None:
        with self._free:
            if self._stopped or key in self._working:
                return
            known = key in self._waiting
            self._waiting[key] = faces, row
            self._waiting.move_to_end(key)
            if not known:
                if len(self._waiting) > self.most:
                    self._waiting.popitem(last=False)
                self._free.notify()

    def forget(self) -> None:
        with self._free:
            self._waiting.clear()
            self._working.clear()  # their answers are dropped by `_work`
            self._done.clear()

    def stop(self) -> None:
        with self._free:
            self._stopped = True
            self._waiting.clear()
            self._free.notify_all()

    def collect(self) -> list[tuple[Key, QImage | str]]:
        with self._free:
            done, self._done = self._done, []
            return done

    @property
    def idle(self) -> bool:
        with self._free:
            return not (self._waiting or self._working or self._done)

    def guard(self, faces: FaceSet) -> Guard:
        """Notes what is being read: a picture that takes the whole program with it is known the next time."""
        with self._free:
            if self._guard is None:
                self._guard = Guard(faces, self._folder)
            return self._guard

    def end_guard(self) -> None:
        with self._free:
            guard, self._guard = self._guard, None
        if guard is not None:
            guard.close()

    def work(self) -> None:
        """The life of one decoding thread."""
        while True:
            with self._free:
                while not self._waiting and not self._stopped:
                    self._free.wait()
                if self._stopped:
                    return
                key, (faces, row) = self._waiting.popitem()
                self._working.add(key)
            with self.guard(faces).marking(key.face):
                answer = _decoded(faces, row, key.size)
            with self._free:
                if key not in self._working or self._stopped:
                    continue
                self._working.discard(key)
                first = not self._done
                self._done.append((key, answer))
            if first:
                self._bell()


def _decoded(faces: FaceSet, row: int, size: int) -> QImage | str:
    try:
        if size == WHOLE:
            return image_of(decode.read_face(faces, row))
        image = image_of(decode.thumbnail_face(faces, row, size))
        if max(image.width(), image.height()) <= size:
            return image
        # The whole picture inside the square: a crop might cut off what one is looking for.
        return image.scaled(size, size, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation)
    except FaceLensError as error:
        return str(error)
    except Exception as error:  # a picture may break a decoder in any way; the others must still be shown
        return tr("The picture could not be read: {error}", error=error or type(error).__name__)


def image_of(pixels: NDArray[np.uint8]) -> QImage:
    """A picture of its own from (H, W, 3) uint8, in the format that paints fastest."""
    pixels = np.ascontiguousarray(pixels)
    height, width = pixels.shape[:2]
    # Converting copies, so the array may go away afterwards.
    return QImage(pixels.data, width, height, 3 * width, QImage.Format.Format_RGB888).convertToFormat(
        QImage.Format.Format_RGB32
    )


class _Bell(QObject):
    rang = Signal()


class Thumbnails(QObject):
    """One for the application; views ask for what they paint and paint again on `ready`."""

    ready = Signal(object)  # set of face ids that can be painted now, or are known to be broken

    def __init__(
        self,
        *,
        budget: int = 256 << 20,
        threads: int | None = None,
        quarantined: Path | None = None,
        parent: QObject | None = None,
    ) -> None:
        """`quarantined` is the folder where pictures that crash the decoder are written down."""
        super().__init__(parent)
        self._quarantined = quarantined
        self._budget = budget
        self._bytes = 0
        self._pixmaps: OrderedDict[Key, QPixmap] = OrderedDict()
        self._whole: OrderedDict[Key, QPixmap] = OrderedDict()
        self._sizes: dict[tuple[int, int], int] = {}  # the size each face was last seen at, to stand in for another
        self._broken: dict[tuple[int, int], str] = {}
        self._avoided: set[int] = set()
        self._galleries: dict[Path, int] = {}
        self._last: tuple[FaceSet | None, int] = (None, -1)
        self._bell = _Bell()
        self._bell.rang.connect(self._on_rang)
        self._queue = _Queue(self._bell.rang.emit, quarantined)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(FRAME)
        self._timer.timeout.connect(self._collect)
        count = threads or max(2, min(4, os.cpu_count() or 2))
        # Threads know only the queue, so this object can die while they wait.
        self._threads = [
            threading.Thread(target=self._queue.work, name=f"decode-{i}", daemon=True) for i in range(count)
        ]
        for thread in self._threads:
            thread.start()
        self._stop = weakref.finalize(self, self._queue.stop)

    def get(self, faces: FaceSet, row: int, size: int) -> QPixmap | None:
        """The picture fitted into `size` x `size` device pixels, or None while it is being decoded.

        Where only another size is at hand, that one is given and the right one follows.
        """
        gallery = self._gallery(faces)
        face = int(faces.ids[row])
        key = Key(gallery, face, size)
        found = self._pixmaps.get(key)
        if found is not None:
            self._pixmaps.move_to_end(key)
            return found
        if (gallery, face) in self._broken:
            return None
        self._queue.ask(key, faces, row)
        stand_in = self._sizes.get((gallery, face))
        return None if stand_in is None else self._pixmaps.get(Key(gallery, face, stand_in))

    def whole(self, faces: FaceSet, row: int) -> QPixmap | None:
        """The picture as it is stored, or None while it is being decoded. Only a few are kept."""
        gallery = self._gallery(faces)
        key = Key(gallery, int(faces.ids[row]), WHOLE)
        found = self._whole.get(key)
        if found is not None:
            self._whole.move_to_end(key)
        elif (gallery, key.face) not in self._broken:
            self._queue.ask(key, faces, row)
        return found

    def expect(self, count: int) -> None:
        """A view shows `count` faces at once: so many requests must be able to wait, or some would never be served."""
        self._queue.most = max(self._queue.most, 2 * count)

    def broken(self, face: int) -> str | None:
        """Why the picture cannot be shown, or None; for the gallery last asked for."""
        return self._broken.get((self._last[1], face))

    def forget(self) -> None:
        """Read everything from disk again when it is next asked for."""
        self._queue.forget()
        for kept in (self._pixmaps, self._whole, self._sizes, self._broken):
            kept.clear()  # type: ignore[attr-defined]
        self._bytes = 0

    @property
    def idle(self) -> bool:
        """Whether everything asked for has been shown or dropped."""
        return self._queue.idle

    def close(self) -> None:
        """Stop the decoders and wait for them; nothing is decoded afterwards."""
        self._timer.stop()
        self._stop()
        for thread in self._threads:
            thread.join()
        self._threads = []
        self._queue.end_guard()
        self.forget()

    def _gallery(self, faces: FaceSet) -> int:
        # Ids come from paths inside a gallery, so two galleries may share them.
        if self._last[0] is not faces:
            new = faces.root not in self._galleries
            self._last = faces, self._galleries.setdefault(faces.root, len(self._galleries))
            if new:
                self._avoid(faces, self._last[1])
        return self._last[1]

    def _avoid(self, faces: FaceSet, gallery: int) -> set[int]:
        """Leave alone what would take this process with it; returns the ids."""
        found = avoided(faces, self._quarantined) if self._quarantined is not None else {}
        self._avoided = set(found)
        self._broken.update({(gallery, face): why for face, why in found.items()})
        return self._avoided

    def recheck(self, faces: FaceSet) -> None:
        """The doctor has read the gallery: suspects are cleared, or known to be dangerous."""
        gallery = self._gallery(faces)
        before = self._avoided
        for face in before:
            self._broken.pop((gallery, face), None)
        if changed := before ^ self._avoid(faces, gallery) | before:
            self.ready.emit(set(changed))

    def _on_rang(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    def _collect(self) -> None:
        arrived: set[int] = set()
        for key, answer in self._queue.collect():
            arrived.add(key.face)
            if isinstance(answer, str):
                self._broken[key.gallery, key.face] = answer
            else:
                self._keep(key, QPixmap.fromImage(answer))
        if arrived:
            self.ready.emit(arrived)

    def _keep(self, key: Key, pixmap: QPixmap) -> None:
        if key.size == WHOLE:
            self._whole[key] = pixmap
            if len(self._whole) > MOST_WHOLE:
                self._whole.popitem(last=False)
            return
        replaced = self._pixmaps.pop(key, None)
        self._bytes += _cost(pixmap) - (_cost(replaced) if replaced is not None else 0)
        self._pixmaps[key] = pixmap
        self._sizes[key.gallery, key.face] = key.size
        while self._bytes > self._budget and len(self._pixmaps) > 1:
            old, dropped = self._pixmaps.popitem(last=False)
            self._bytes -= _cost(dropped)
            if self._sizes.get(old[:2]) == old.size:
                del self._sizes[old[:2]]


def _cost(pixmap: QPixmap) -> int:
    return pixmap.width() * pixmap.height() * 4
