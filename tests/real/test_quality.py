"""Learnt quality scores of real faces find their faces, whichever of the galleries is open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facelens.images import quality, readers

pytestmark = pytest.mark.real


@pytest.mark.parametrize("gallery", ["aligned112", "raw", "images.csv"])
def test_lightqnet_on_lfw(real_faces: Path, gallery: str) -> None:
    lfw = real_faces / "faces" / "lfw"
    scores = quality.read(lfw / "lightqnet.csv")
    faces, report = quality.joined(readers.read(lfw / gallery).faces, scores)
    assert report.sentence() == "2,610 of 2,610 faces have a value; 0 lines match no face."
    column = faces.columns["quality"]
    assert isinstance(column, np.ndarray) and 0 < column.min() < column.max() < 1
    row = faces.paths[7].decode()
    assert column[7] == scores.scores["quality"][scores.keys.index(row)]
