"""Published networks, brought into one another's space: TAR on people the transforms were not fitted on.

LFW: 79 of the 158 people with ten pictures are tested on, the other 795 people fitted on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from facelens.analyses.similarity import all_pairs
from facelens.analyses.verification import verify
from facelens.features.featureset import FeatureSet
from facelens.features.fitting import fit, fit_unified
from facelens.images.faceset import FaceSet, Labels

pytestmark = pytest.mark.real

Floats = NDArray[np.floating]


class Lfw(NamedTuple):
    """Which pictures are fitted on and which tested on, and what each network says about all of them."""

    faces: FaceSet
    fitted: NDArray[np.bool_]
    tested: NDArray[np.bool_]
    vectors: Callable[[str], Floats]

    @property
    def people(self) -> NDArray[np.int32]:
        return self.faces.identity.codes

    def tar(self, query: Floats, gallery: Floats) -> float:
        """At FAR 1e-3, of vectors of the tested pictures."""
        ids, people = self.faces.ids[self.tested], self.people[self.tested]
        measure = verify(all_pairs(query, ids=ids, identity=people, against=gallery), fars=(1e-3,), resamples=0)
        assert measure.points[0].tar.value is not None
        return measure.points[0].tar.value

    def mapped(self, source: str, target: str, rows: NDArray[np.bool_] | None = None, **settings: str) -> float:
        """TAR of the target's queries in a gallery of the source's vectors, mapped."""
        rows = self.fitted if rows is None else rows
        x, y = self.vectors(source), self.vectors(target)
        found = fit(x[rows], y[rows], self.people[rows], **settings)  # type: ignore[arg-type]
        tar = self.tar(y[self.tested], found.transform(x[self.tested]))
        print(f"{source} > {target}: {tar:.4f} ({found.why})")
        return tar


@pytest.fixture(scope="module")
def lfw(lfw_faces: FaceSet, lfw_features: Callable[[str], FeatureSet]) -> Lfw:
    role, names = lfw_faces.columns["role"], lfw_faces.identity
    assert isinstance(role, Labels)
    ten = role.codes == role.names.index("core10")
    people = sorted({names.names[code] for code in names.codes[ten]})
    apart = set(np.random.default_rng(0).permutation(people)[:79].tolist())
    held = np.array([names.names[code] in apart for code in names.codes])

    def vectors(name: str) -> Floats:
        unit, found = lfw_features(name).unit(lfw_faces.ids)
        assert found.all()
        return unit

    return Lfw(lfw_faces, ~held, held & ten, vectors)


def test_a_mapped_gallery_is_found_by_another_model(lfw: Lfw) -> None:
    assert (lfw.tested.sum(), len(set(lfw.people[lfw.fitted]))) == (790, 795)
    casia, foamliu = (lfw.vectors(name)[lfw.tested] for name in ("casia", "foamliu"))
    assert lfw.tar(foamliu, foamliu) == pytest.approx(0.977, abs=0.002)
    assert lfw.tar(casia, casia) == pytest.approx(0.911, abs=0.002)
    assert lfw.tar(foamliu, casia) < 0.01  # not mapped: chance
    found = lfw.mapped("casia", "foamliu", method="ridge")
    assert found == pytest.approx(0.932, abs=0.01)
    assert lfw.mapped("casia", "foamliu") == found  # hundreds of people: ridge is chosen
    assert lfw.mapped("casia", "foamliu", method="procrustes") < found
    # where the target is the weaker model, turning is better
    turned = lfw.mapped("foamliu", "casia", method="procrustes")
    assert lfw.mapped("foamliu", "casia") == turned > lfw.mapped("foamliu", "casia", method="ridge") + 0.03


def test_few_people_are_mapped_with_more_care(lfw: Lfw) -> None:
    names = np.unique(lfw.people[lfw.fitted])
    few = lfw.fitted & np.isin(lfw.people, np.random.default_rng(1).permutation(names)[:79])
    chosen, ridge = lfw.mapped("casia", "foamliu", few), lfw.mapped("casia", "foamliu", few, method="ridge")
    assert chosen > ridge + 0.05


@pytest.mark.faults  # takes minutes: every network over all pictures, and the training of transforms
@pytest.mark.parametrize(
    ("source", "target", "measured"),
    [
        ("facexzoo 1.0", "foamliu", 0.971),
        ("facexzoo 2.0", "foamliu", 0.928),
        ("w600k", "foamliu", 0.977),
        ("facexzoo 1.0", "facexzoo 2.0", 0.956),
    ],
)
def test_ridge_between_other_networks(lfw: Lfw, source: str, target: str, measured: float) -> None:
    x, y = (lfw.vectors(name)[lfw.tested] for name in (source, target))
    if x.shape == y.shape:
        assert lfw.tar(y, x) < 0.01
    ridge = lfw.mapped(source, target, method="ridge")
    assert ridge == pytest.approx(measured, abs=0.01)
    assert lfw.mapped(source, target) > ridge - 0.005
    assert lfw.mapped(source, target, method="rbt") == pytest.approx(ridge, abs=0.01)


@pytest.mark.faults
def test_one_query_side_for_several_members(lfw: Lfw) -> None:
    names = ("facexzoo 1.0", "casia")
    sides = [lfw.vectors(name) for name in (*names, "foamliu")]
    *members, query = (one[lfw.fitted] for one in sides)
    found = fit_unified(members, query, lfw.people[lfw.fitted], names=(*names, "foamliu"))
    asked = found.query.transform(sides[-1][lfw.tested])
    assert lfw.tar(asked, asked) > 0.97
    for one, vectors, least in zip(found.members, sides, (0.96, 0.92)):
        tar = lfw.tar(asked, one.transform(vectors[lfw.tested]))
        print(f"{one.transform.source}: {tar:.4f} ({one.why})")
        assert tar > least
