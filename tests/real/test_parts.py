"""Slices of a published network: all alike, none needed, and no better than slices cut after a rotation by chance.

The centre-distance correlation of .53 to .58 is that of slices brought to length 1, with Euclidean distances; as they
lie, slices share the length of the vector, which adds some .06.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses.part_correlation import correlate
from facelens.analyses.part_pairs import rates
from facelens.analyses.parts import cut
from facelens.analyses.plan import PartsPlan
from facelens.analyses.universal import study
from facelens.images.faceset import FaceSet
from facelens.session import tasks

pytestmark = pytest.mark.real

K = 16
MODEL = "mobilefacenet-facexzoo/face_recognition_1.0.state_dict.pt"


@pytest.mark.parametrize(
    ("people", "within"),  # of people with ten pictures; their few pairs leave some room
    [(40, 2), pytest.param(158, 1, marks=pytest.mark.faults)],
)
def test_slices_of_an_ordinary_embedding(people: int, within: int, real_faces: Path, tmp_path: Path) -> None:
    folder = real_faces / "faces/lfw"
    with open(folder / "images.csv") as stream:
        lines = [line for line in csv.DictReader(stream) if line["role"] == "core10"]
    drawn = np.random.default_rng(0).permutation(sorted({line["identity"] for line in lines}))[:people]
    lines = [line for line in lines if line["identity"] in set(drawn)]
    paths, names = ([line[key] for line in lines] for key in ("path", "identity"))
    faces = FaceSet.build("lfw", folder / "aligned112", paths=paths, identities=names)
    features = tasks.embed_gallery(faces, real_faces / "weights" / MODEL, root=tmp_path).features(faces)

    plan = PartsPlan(parts=K, unit=True)
    parts = cut(faces, plan, features=features)
    found = study(faces, parts, plan, features=features, columns=(), resamples=100)
    assert found.correlation is not None and found.whole is not None and found.curve is not None
    centre, control = found.correlation.centre_mean, found.correlation.control_centre
    whole = found.whole[0].value
    alone, without = ([getattr(one, f"tar_{kind}").value for one in found.without] for kind in ("only", "without"))
    eight = rates(parts, np.arange(K)[None] < 8, match="cosine", far=1e-3, resamples=0)[0].value
    raw = cut(faces, PartsPlan(parts=K), features=features)
    plain = correlate(raw, PartsPlan(parts=K), features=features, resamples=0).centre_mean
    turned = cut(faces, PartsPlan(parts=K, unit=True, cut="random"), features=features)
    other = [one.value for one in rates(turned, np.eye(K, dtype=bool), match="cosine", far=1e-3, resamples=0)]
    print(f"centre {centre.text(3)}, as they lie {plain.text(3)}, rotated {control.text(3)}")
    print(f"TAR {whole:.4f}, eight {eight:.4f}, one {np.round(alone, 3)}, without {np.round(without, 4)}")
    print(f"rotated, one {np.round(other, 3)}; Recall {found.curve.ordered[0].round(3)}")
    assert centre.value == pytest.approx(0.55, abs=0.02 * (1 + within)) and control.value is not None
    assert plain.value > centre.value + 0.03  # type: ignore[operator]
    assert abs(control.value - centre.value) < 0.05, "slices of an ordinary network are no parts"  # type: ignore[operator]
    assert 0.6 - 0.02 * within < np.mean(alone) < 0.7 + 0.02 * within
    assert abs(np.mean(other) - np.mean(alone)) < 0.06 and np.mean(other) > np.mean(alone) - 0.02
    assert eight == pytest.approx(0.98, abs=0.007 * within)
    assert np.abs(np.array(without) - whole).max() < 0.003 * within
