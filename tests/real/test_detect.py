"""The published detector on real photographs: its points are those of another detector, and good enough to align."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.images import align, decode, detect
from facelens.images.faceset import FaceSet

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def detector(real_faces: Path) -> detect.Detector:
    pytest.importorskip("onnxruntime")
    return detect.Detector(real_faces / "weights/yunet/face_detection_yunet_2023mar.onnx")


@pytest.fixture(scope="module")
def photographs(real_faces: Path) -> tuple[FaceSet, NDArray[np.float64]]:
    """Every 25th raw photograph, and the points of another detector."""
    with open(real_faces / "faces/lfw/images.csv") as file:
        lines = list(csv.DictReader(file))[::25]
    faces = FaceSet.build(
        "raw", real_faces / "faces/lfw/raw", paths=[x["path"] for x in lines], identities=[x["identity"] for x in lines]
    )
    return faces, np.array([[float(x[c]) for c in detect.COLUMNS] for x in lines]).reshape(-1, 5, 2)


def test_points_agree_with_another_detector(
    detector: detect.Detector, photographs: tuple[FaceSet, NDArray[np.float64]]
) -> None:
    faces, truth = photographs
    points, _ = detect.landmarks_for(faces, detector, policy="centre")
    assert np.isfinite(points).all(), "a face in every photograph"
    between = np.linalg.norm(truth[:, 0] - truth[:, 1], axis=1)
    errors = np.linalg.norm(points - truth, axis=2) / between[:, None]
    print(f"median {np.median(errors):.4f}, 95 % {np.quantile(errors, 0.95):.3f} of the distance of the eyes")
    assert np.median(errors) < 0.08 and np.quantile(errors, 0.95) < 0.2
    # Left and right are those of the picture.
    assert (points[:, 0, 0] < points[:, 1, 0]).all() and (points[:, 3, 0] < points[:, 4, 0]).all()
    assert (points[:, 2, 1] > points[:, :2, 1].mean(1)).all() and (points[:, 3:, 1].mean(1) > points[:, 2, 1]).all()

    again, _ = detect.landmarks_for(replace(faces, landmarks=points), detector)
    np.testing.assert_array_equal(again, points)


def test_aligned_by_the_detector(
    real_faces: Path, detector: detect.Detector, photographs: tuple[FaceSet, NDArray[np.float64]]
) -> None:
    """The crops are nearly those that come with the collection."""
    faces, _ = photographs
    close = []
    for row in range(0, len(faces), 8):
        picture = decode.read_face(faces, row)
        found = detect.detect(picture, detector)
        which = detect.choose(found, picture.shape[:2], policy="centre")
        ours = align.align(picture, found.points[which]).astype(float)
        theirs = decode.read(real_faces / "faces/lfw/aligned112" / faces.path(row).relative_to(faces.root)).astype(
            float
        )
        close.append(np.corrcoef(ours[20:92, 20:92].ravel(), theirs[20:92, 20:92].ravel())[0, 1])
    assert np.median(close) > 0.9


def test_an_encoder_is_no_detector(real_faces: Path) -> None:
    pytest.importorskip("onnxruntime")
    with pytest.raises(InputError, match="is no face detector"):
        detect.Detector(real_faces / "weights/w600k-mbf/w600k_mbf.onnx")
