"""Detection: cells become faces, the right one of several is taken, and what goes wrong has a sentence."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from facelens.errors import Cancelled, InputError
from facelens.images import detect, readers
from facelens.images.builder import write_list
from facelens.images.detect import STRIDES, Detections, Detector, choose, landmarks_for
from facelens.images.faceset import FaceSet

FIVE = np.array([(-10, -8), (10, -8), (0, 0), (-7, 9), (7, 9)], np.float32)  # from the middle of a face


def at(x: float, y: float) -> NDArray[np.float32]:
    """The five points of a face there."""
    return FIVE + np.array([x, y], np.float32)


class Drawn(Detector):
    """A detector whose network sees discs: a face wherever a pixel is brighter than 200, its size in the red part.

    What it says about a face is encoded as the definition of the network's output wants it.
    """

    def __init__(self, *, size: tuple[int, int] | None = (640, 640)) -> None:
        self.size = size
        self.seen: list[tuple[int, ...]] = []

    def cells(self, picture: NDArray[np.uint8]) -> Mapping[str, NDArray[np.float32]]:
        self.seen.append(picture.shape)
        height, width = self.size or picture.shape[:2]
        cells = {
            f"{part}_{s}": np.zeros((height // s, width // s, n), np.float32)
            for s in STRIDES
            for part, n in (("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10))
        }
        zoom = picture.shape[0] / 100  # pictures of these tests are 100 high
        for y, x in self.faces(picture):
            side = 30 * zoom
            for s, score in ((8, 0.9), (16, 0.8)):  # the same face in two grids
                r, c = int(y // s), int(x // s)
                cells[f"cls_{s}"][r, c] = score
                cells[f"obj_{s}"][r, c] = score
                cells[f"bbox_{s}"][r, c] = [x / s - c, y / s - r, np.log(side / s), np.log(side / s)]
                cells[f"kps_{s}"][r, c] = ((FIVE * zoom + [x, y]) / s - [c, r]).ravel()
        return cells

    def faces(self, picture: NDArray[np.uint8]) -> list[tuple[float, float]]:
        bright = picture.mean(2) > 128
        zoom = picture.shape[0] / 100
        found = []
        while bright.any():
            y, x = (int(v) for v in np.argwhere(bright)[0])
            span = int(8 * zoom)
            part = np.argwhere(bright[y : y + span, max(0, x - span) : x + span])
            found.append((y + part[:, 0].mean(), max(0, x - span) + part[:, 1].mean()))
            bright[y : y + span, max(0, x - span) : x + span] = False
        return found


def drawn(*places: tuple[int, int], size: tuple[int, int] = (100, 200)) -> NDArray[np.uint8]:
    picture = np.zeros((*size, 3), np.uint8)
    for x, y in places:
        picture[y - 2 : y + 3, x - 2 : x + 3] = 255
    return picture


def test_cells_become_faces() -> None:
    detector = Drawn()
    found = detect.detect(drawn((40, 50), (150, 60)), detector)
    assert len(found) == 2, "one face is seen in two grids and told once"
    assert detector.seen == [(250, 500, 3)], "enlarged, not beyond the limit"
    order = np.argsort(found.boxes[:, 0])
    np.testing.assert_allclose(found.scores, 0.9, atol=1e-6)
    np.testing.assert_allclose(found.points[order], np.stack([at(40.5, 50.5), at(150.5, 60.5)]), atol=0.6)
    np.testing.assert_allclose(found.boxes[order][0], [25.5, 35.5, 55.5, 65.5], atol=0.6)
    assert [array.dtype for array in found] == [np.float32] * 3


def test_large_pictures_are_reduced_and_points_come_back() -> None:
    picture = np.kron(drawn((40, 50)), np.ones((20, 20, 1), np.uint8))  # 2000 x 4000
    detector = Drawn()
    found = detect.detect(picture, detector)
    assert detector.seen == [(320, 640, 3)]
    np.testing.assert_allclose(found.points[0], (FIVE + 0.5 + [40, 50]) * 20, atol=20)


def test_where_nothing_is_found_it_is_tried_smaller() -> None:
    class Late(Drawn):
        def faces(self, picture: NDArray[np.uint8]) -> list[tuple[float, float]]:
            return super().faces(picture) if picture.shape[0] < 100 else []

    detector = Late()
    found = detect.detect(drawn((40, 50)), detector)
    assert [shape[0] for shape in detector.seen] == [250, 125, 62]
    np.testing.assert_allclose(found.points[0], at(40.5, 50.5), atol=1)
    nothing = detect.detect(drawn(), Drawn())
    assert len(nothing) == 0 and nothing.points.shape == (0, 5, 2)


def test_scores_below_the_least_are_left_out() -> None:
    assert len(detect.detect(drawn((40, 50)), Drawn(), least=0.95)) == 0


def test_boxes_that_share_enough_are_one_face() -> None:
    boxes = np.array([(0, 0, 10, 10), (0, 0, 10, 4), (0, 5, 10, 15), (20, 0, 30, 10)], np.float32)
    found = Detections(boxes, np.linspace(1, 0.7, 4, dtype=np.float32), np.zeros((4, 5, 2), np.float32))
    assert detect._unlike(found, 0.3).tolist() == [0, 3]
    assert detect._unlike(found, 0.35).tolist() == [0, 2, 3]
    assert detect._unlike(found, 0.5).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("policy", "which"), [("largest", 1), ("centre", 2), ("best", 0), ("only", None)])
def test_which_of_several_faces_is_meant(policy: str, which: int | None) -> None:
    boxes = np.array([(0, 0, 10, 10), (60, 0, 100, 40), (45, 45, 60, 60)], np.float32)
    found = Detections(boxes, np.array([0.9, 0.8, 0.7], np.float32), np.zeros((3, 5, 2), np.float32))
    assert choose(found, (100, 100), policy=policy) == which
    one = Detections(*(part[1:2] for part in found))
    assert choose(one, (100, 100), policy=policy) == 0
    assert choose(Detections(*(part[:0] for part in found)), (100, 100), policy=policy) is None


def test_a_policy_that_is_none() -> None:
    with pytest.raises(InputError, match="largest, centre, best, only"):
        landmarks_for(gallery_of({}, Path(".")), Drawn(), policy="first")


def gallery_of(pictures: Mapping[str, NDArray[np.uint8]], folder: Path) -> FaceSet:
    folder.mkdir(exist_ok=True)
    for name, picture in pictures.items():
        Image.fromarray(picture).save(folder / name)
    return FaceSet.build("g", folder, paths=list(pictures), identities=["A"] * len(pictures))


def test_points_of_a_gallery_and_its_manifest(tmp_path: Path) -> None:
    faces = gallery_of(
        {"one.png": drawn((40, 50)), "two.png": drawn((40, 50), (150, 60)), "none.png": drawn()}, tmp_path / "g"
    )
    (tmp_path / "g" / "broken.png").write_bytes(b"")
    faces = FaceSet.build(
        "g",
        tmp_path / "g",
        paths=[*(faces.file_name(row) for row in range(3)), "broken.png", "gone.png"],
        identities=["A"] * 5,
    )
    ticks: list[int] = []
    points, notes = landmarks_for(
        faces, Drawn(), policy="only", threads=2, tick=lambda done, total, note="": ticks.append(done)
    )
    assert ticks == [0, 1, 2, 3, 4, 5]
    assert np.isfinite(points).all((1, 2)).tolist() == [True, False, False, False, False]
    assert [notes.get(int(i), "") for i in faces.ids] == ["", "2 faces found", "no face found", "empty", "missing"]
    both, notes = landmarks_for(faces, Drawn(), policy="largest")
    assert np.isfinite(both[1]).all() and notes[int(faces.ids[1])] == "2 faces found"

    write_list(tmp_path / "g" / "list.csv", faces.with_columns(detect.as_columns(both)), np.arange(5))
    assert ",30.22," in (tmp_path / "g" / "list.csv").read_text()
    again = readers.read(tmp_path / "g" / "list.csv").faces  # which leaves out what is not there
    assert again.landmarks is not None
    np.testing.assert_array_equal(again.landmarks, both[:4])


def test_points_that_are_there_are_kept(tmp_path: Path) -> None:
    faces = gallery_of({"a.png": drawn((40, 50)), "b.png": drawn((40, 50))}, tmp_path / "g")
    given = np.full((2, 5, 2), np.nan, np.float32)
    given[1] = FIVE
    detector = Drawn()
    points, _ = landmarks_for(replace(faces, landmarks=given), detector)
    assert len(detector.seen) == 1
    np.testing.assert_array_equal(points[1], FIVE)
    np.testing.assert_allclose(points[0], at(40.5, 50.5), atol=0.6)


def test_it_can_be_stopped(tmp_path: Path) -> None:
    faces = gallery_of({f"{i}.png": drawn((40, 50)) for i in range(40)}, tmp_path / "g")
    detector = Drawn()

    def stop(done: int, total: int, note: str = "") -> None:
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        landmarks_for(faces, detector, threads=1, tick=stop)
    assert len(detector.seen) < 20, "what was waiting is not done any more"


@pytest.mark.parametrize("data", [b"", b"no model", b"\x08\x07", b"\x08\x07location"])
def test_what_is_no_detector(tmp_path: Path, data: bytes) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / "d.onnx"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        Detector(path)
    assert caught.value.message == "d.onnx is no face detector that FaceLens knows." and "YuNet" in caught.value.hint


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"d\.onnx cannot be read: No such file"):
        Detector(tmp_path / "d.onnx")


def test_without_the_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    (tmp_path / "d.onnx").write_bytes(b"x")
    with pytest.raises(InputError) as caught:
        Detector(tmp_path / "d.onnx")
    assert caught.value.hint == "Install it with: pip install onnxruntime"
