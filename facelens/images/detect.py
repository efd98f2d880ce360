"""Detection: where the faces of a photograph are and their five points, by a YuNet file that the user supplies.

Computes    for each cell (r, c) of the grids of stride s = 8, 16, 32: score = sqrt(cls obj), centre = (c + b0, r + b1)
            s, width and height = (e^b2, e^b3) s, points = (c + k, r + k') s; then the best of overlapping boxes
Shapes      pictures (H, W, 3) uint8 RGB; boxes (n, 4) left, top, right, bottom; scores (n,); points (n, 5, 2): left
            eye, right eye, nose, left and right mouth corner as seen in the picture; float32, in pixels of the picture
Reference   W. Wu, H. Peng, S. Yu, YuNet: a tiny millisecond-level face detector, Machine Intelligence Research 2023
Departs     small pictures are enlarged to the size of the network's input; one in which nothing is found is tried again
            smaller
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.images import decode
from facelens.images.faceset import FaceSet
from facelens.images.quarantine import Guard
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

Floats = NDArray[np.float32]

STRIDES = (8, 16, 32)
POLICIES = ("largest", "centre", "best", "only")  # which face of several: by area, by place, by score, or none
COLUMNS = ("le_x", "le_y", "re_x", "re_y", "nose_x", "nose_y", "lm_x", "lm_y", "rm_x", "rm_y")  # of a manifest
ENLARGED = 2.5  # times a small picture is enlarged at most: points of faces of 40 pixels are less exact
ZOOMS = (1.0, 0.5, 0.25)  # tried in this order until a face is found: one that fills the picture is too large at first
DECIMALS = 2  # of a point: so that a manifest holds exactly what was used
_LONGEST = 64 << 20  # bytes of a detector; YuNet has a quarter of one megabyte


class Detections(NamedTuple):
    """The faces of one picture, the surest first."""

    boxes: Floats
    scores: Floats
    points: Floats

    def __len__(self) -> int:  # of faces, not of fields
        return len(self.scores)


class Detector:
    """A YuNet file ready to be used; several threads may use it at once, each on one processor core."""

    def __init__(self, path: Path) -> None:
        path = Path(path)
        shown = escaped(path.name)
        try:
            with open(path, "rb") as stream:
                data = stream.read(_LONGEST + 1)
        except OSError as error:
            raise InputError(
                tr("{name} cannot be read: {reason}.", name=shown, reason=error.strerror or type(error).__name__)
            ) from None
        # "location" is how an ONNX file names other files with weights. YuNet has none, and none are opened for it.
        if len(data) > _LONGEST or b"location" in data:
            raise _no_detector(shown)
        try:
            import onnxruntime
        except ImportError as error:
            raise InputError(
                tr("Finding faces needs onnxruntime, which is not installed."),
                hint=tr("Install it with: pip install onnxruntime"),
                details=str(error),
            ) from None
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # its warnings go to the terminal, where nobody looks
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # pictures in parallel are faster
        try:
            self._session: Any = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise _no_detector(shown, details=str(error)[:2000]) from None
        inputs = self._session.get_inputs()
        self._names = [f"{part}_{stride}" for stride in STRIDES for part in ("cls", "obj", "bbox", "kps")]
        if len(inputs) != 1 or not {o.name for o in self._session.get_outputs()} >= set(self._names):
            raise _no_detector(shown)
        self._input, shape = inputs[0].name, inputs[0].shape
        fixed = len(shape) == 4 and all(isinstance(side, int) for side in shape[2:])
        self.size: tuple[int, int] | None = (shape[2], shape[3]) if fixed else None
        self._shown = shown

    def cells(self, picture: NDArray[np.uint8]) -> Mapping[str, Floats]:
        """What the network says about every cell; the picture is no larger than `size`."""
        height, width = self.size or [-(-side // 32) * 32 for side in picture.shape[:2]]
        batch = np.zeros((1, 3, height, width), np.float32)
        batch[0, :, : picture.shape[0], : picture.shape[1]] = picture[..., ::-1].transpose(2, 0, 1)  # BGR, 0..255
        try:
            found = self._session.run(self._names, {self._input: batch})
        except Exception as error:
            raise _no_detector(self._shown, details=str(error)[:2000]) from None
        cells = {}
        for name, values in zip(self._names, found):
            part, stride = name.split("_")
            sides = {"cls": 1, "obj": 1, "bbox": 4, "kps": 10}[part]
            grid = (height // int(stride), width // int(stride))
            if values.size != grid[0] * grid[1] * sides:
                raise _no_detector(self._shown, details=f"{name}: {values.shape}")
            cells[name] = np.asarray(values, np.float32).reshape(*grid, sides)
        return cells


def _no_detector(shown: str, *, details: str = "") -> InputError:
    return InputError(
        tr("{name} is no face detector that FaceLens knows.", name=shown),
        hint=tr("FaceLens uses YuNet: face_detection_yunet_2023mar.onnx of the OpenCV model zoo."),
        details=details,
    )


def detect(picture: NDArray[np.uint8], detector: Detector, *, least: float = 0.6, overlap: float = 0.3) -> Detections:
    """The faces with a score of at least `least`; of two boxes that share more than `overlap`, the surer one."""
    height, width = picture.shape[:2]
    limit = detector.size or (640, 640)
    fit = min(ENLARGED, limit[0] / height, limit[1] / width)
    found = _nothing()
    for zoom in ZOOMS:
        scale = fit * zoom
        size = min(limit[0], max(1, round(height * scale))), min(limit[1], max(1, round(width * scale)))
        found = _decoded(detector.cells(_resized(picture, size)), least=least)
        if len(found):
            back = np.array([width / size[1], height / size[0]], np.float32)
            found = Detections(found.boxes * np.tile(back, 2), found.scores, found.points * back)
            break
    kept = _unlike(found, overlap)
    return Detections(found.boxes[kept], found.scores[kept], found.points[kept])


def _nothing() -> Detections:
    return Detections(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros((0, 5, 2), np.float32))


def _resized(picture: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    if picture.shape[:2] == size:
        return picture
    from PIL import Image

    # Pillow's bilinear filter takes in every pixel when it makes a picture smaller, so nothing aliases.
    return np.asarray(Image.fromarray(picture).resize((size[1], size[0]), Image.Resampling.BILINEAR))


def _decoded(cells: Mapping[str, Floats], *, least: float) -> Detections:
    boxes, scores, points = [], [], []
    for stride in STRIDES:
        sure = np.sqrt(cells[f"cls_{stride}"].clip(0, 1) * cells[f"obj_{stride}"].clip(0, 1))[..., 0]
        rows, columns = np.nonzero(sure >= least)
        cell = np.stack([columns, rows], 1).astype(np.float32)
        box = cells[f"bbox_{stride}"][rows, columns]
        centre, half = (cell + box[:, :2]) * stride, np.exp(box[:, 2:]) * (stride / 2)
        boxes.append(np.concatenate([centre - half, centre + half], 1))
        scores.append(sure[rows, columns])
        points.append((cells[f"kps_{stride}"][rows, columns].reshape(-1, 5, 2) + cell[:, None]) * stride)
    order = np.argsort(-np.concatenate(scores), kind="stable")
    # The network's first eye is the person's right one, which is the left one in the picture; so are the mouth corners.
    return Detections(
        np.concatenate(boxes)[order].astype(np.float32),
        np.concatenate(scores)[order].astype(np.float32),
        np.concatenate(points)[order].astype(np.float32),
    )


def _unlike(found: Detections, overlap: float) -> NDArray[np.int64]:
    """Places of the faces that no surer one covers (non-maximum suppression); `found` is sorted by score."""
    boxes = found.boxes
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    left = np.arange(len(boxes))
    kept = []
    while len(left):
        best, left = left[0], left[1:]
        kept.append(int(best))
        low = np.maximum(boxes[best, :2], boxes[left, :2])
        high = np.minimum(boxes[best, 2:], boxes[left, 2:])
        shared = (high - low).clip(0).prod(1)
        left = left[shared <= overlap * (area[best] + area[left] - shared)]
    return np.array(kept, np.int64)


def choose(found: Detections, size: tuple[int, int], *, policy: str = "largest") -> int | None:
    """Which face is meant, None for none; `size` (height, width) of the picture."""
    if policy not in POLICIES:
        raise InputError(tr("The choice of a face is one of {known}.", known=", ".join(POLICIES)))
    if not len(found) or (policy == "only" and len(found) > 1):
        return None
    boxes = found.boxes.astype(np.float64)
    if policy == "largest":
        return int(np.argmax((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])))
    if policy == "centre":
        middle = np.array([size[1], size[0]]) / 2
        return int(np.argmin((((boxes[:, :2] + boxes[:, 2:]) / 2 - middle) ** 2).sum(1)))
    return int(np.argmax(found.scores))


def landmarks_for(
    faces: FaceSet,
    detector: Detector,
    *,
    policy: str = "largest",
    threads: int | None = None,
    guard: Guard | None = None,
    tick: Tick = silent,
) -> tuple[Floats, dict[int, str]]:
    """(N, 5, 2) points for a FaceSet, NaN where none were found, and what there is to say, by face id.

    Points that a gallery has already are kept. A picture that cannot be read has no points and its reason.
    """
    choose(_nothing(), (1, 1), policy=policy)  # a wrong policy is said before the work
    points = np.full((len(faces), 5, 2), np.nan, np.float32)
    if faces.landmarks is not None:
        points[:] = faces.landmarks
    rows = np.flatnonzero(~np.isfinite(points).all((1, 2)))
    notes: dict[int, str] = {}

    def one(row: int) -> tuple[Floats | None, str]:
        if guard is not None and (why := guard.why(row)):
            return None, why
        try:
            with guard.reading(row) if guard is not None else nullcontext():
                picture = decode.read_face(faces, row)
        except decode.PictureError as error:
            return None, error.reason
        found = detect(picture, detector)
        which = choose(found, (picture.shape[0], picture.shape[1]), policy=policy)
        if which is None:
            return None, _count(len(found)) if len(found) else tr("no face found")
        return np.round(found.points[which], DECIMALS), _count(len(found)) if len(found) > 1 else ""

    for done, (row, (five, note)) in enumerate(_ahead(one, rows.tolist(), threads)):
        tick(done, len(rows), tr("Finding faces"))
        points[row] = np.nan if five is None else five
        if note:
            notes[int(faces.ids[row])] = note
    tick(len(rows), len(rows), tr("Finding faces"))
    return points, notes


def looks_raw(faces: FaceSet, size: tuple[int, int]) -> bool:
    """Whether these are whole photographs without points, where faces aligned to `size` (height, width) are wanted.

    Judged by the sides that the doctor has measured: aligned faces have all the same shape, not far from `size`.
    """
    if faces.landmarks is not None and np.isfinite(faces.landmarks).all((1, 2)).any():
        return False
    sides = [faces.columns.get(name) for name in ("height", "width")]
    if not all(isinstance(side, np.ndarray) for side in sides):
        return False
    found = np.stack([np.asarray(side, np.float64) for side in sides], 1)
    found = found[np.isfinite(found).all(1)]
    if not len(found):
        return False
    middle = np.median(found, axis=0)
    mixed = float((found != middle).any(1).mean()) > 0.05
    other_shape = abs(float(np.log(middle[0] / middle[1] * size[1] / size[0]))) > 0.1
    return mixed or other_shape or float((middle / np.array(size)).min()) > 1.5


def as_columns(points: Floats) -> dict[str, NDArray[np.float64]]:
    """The points as columns of a manifest, exactly as they were used."""
    flat = np.round(points.astype(np.float64), DECIMALS).reshape(len(points), 10)
    return {name: np.ascontiguousarray(flat[:, i]) for i, name in enumerate(COLUMNS)}


def _count(n: int) -> str:
    return plural(n, "{n} face found", "{n} faces found")


def _ahead(work: Any, rows: list[int], threads: int | None) -> Iterator[tuple[int, tuple[Floats | None, str]]]:
    """Results in order, a few pictures ahead of whoever takes them."""
    cores = threads or os.cpu_count() or 1
    waiting: deque[tuple[int, Future[tuple[Floats | None, str]]]] = deque()
    with ThreadPoolExecutor(cores, thread_name_prefix="detect") as pool:
        try:
            for row in rows:
                waiting.append((row, pool.submit(work, row)))
                if len(waiting) > 4 * cores:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        finally:
            for _, future in waiting:
                future.cancel()
