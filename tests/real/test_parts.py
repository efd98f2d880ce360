"""Slices of a published network: all alike, none needed, and no better than slices cut after a rotation by chance.

The centre-distance correlation of .53 to .58 is that of slices brought to length 1, with Euclidean distances; as they
lie, slices share the length of the vector, which adds some .06.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from facelens.analyses.part_correlation import correlate
from facelens.analyses.part_pairs import rates
from facelens.analyses.parts import cut
from facelens.analyses.plan import PartsPlan
from facelens.analyses.universal import study
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Labels

pytestmark = pytest.mark.real

K = 16


@pytest.mark.parametrize(
    ("people", "within"),  # of people with ten pictures; their few pairs leave some room
    [(40, 2), pytest.param(158, 1, marks=pytest.mark.faults)],
)
def test_slices_of_an_ordinary_embedding(
    people: int, within: int, lfw_faces: FaceSet, lfw_features: Callable[[str], FeatureSet]
) -> None:
    role, names = lfw_faces.columns["role"], lfw_faces.identity
    assert isinstance(role, Labels)
    ten = role.codes == role.names.index("core10")
    drawn = np.random.default_rng(0).permutation(np.unique(names.codes[ten]))[:people]
    faces = lfw_faces.take(np.flatnonzero(ten & np.isin(names.codes, drawn)))
    features = lfw_features("facexzoo 1.0")

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
