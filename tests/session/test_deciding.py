"""Two faces, one person or not: a threshold from strangers and listed pairs, by patches of a small network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses import decisions
from facelens.analyses.plan import MatchPlan
from facelens.errors import InputError
from facelens.images.protocol import Pairs
from facelens.session import deciding, ground, matching, tasks
from facelens.session.ground import Ground
from tests.features.patched import NET, drawn, model

PLAN = MatchPlan(grid=(4, 4), shortlist=0)


def test_strangers_and_listed_pairs(tmp_path: Path) -> None:
    faces = drawn(tmp_path / "g", people=4, each=2)
    features = tasks.embed_gallery(faces, NET, root=tmp_path / "store").features(faces)
    here = Ground(faces, features, model(), tmp_path / "maps")
    searched = {int(face): matching.search(here, int(face), PLAN).found for face in faces.ids}

    def told(one: int, other: int) -> tuple[float, float]:
        found = searched[one]
        place = found.ids.tolist().index(other)
        return float(found.cosine[place]), float(found.emd[place])

    found = deciding.strangers(here, PLAN)
    rows = [(a, b) for a in range(8) for b in range(a + 1, 8) if faces.identity.codes[a] != faces.identity.codes[b]]
    assert len(found.emd) == len(rows) == 24
    wanted = np.array([told(int(faces.ids[a]), int(faces.ids[b])) for a, b in rows])
    np.testing.assert_allclose(np.sort(found.cosine), np.sort(wanted[:, 0]), atol=1e-5)
    np.testing.assert_allclose(np.sort(found.emd), np.sort(wanted[:, 1]), atol=1e-5)
    limit = decisions.threshold(found, alpha=0.7, far=0.25)
    blend = 0.7 * wanted[:, 1] + 0.3 * (1 - wanted[:, 0])
    assert limit.value == pytest.approx(np.sort(blend)[6], abs=1e-5)
    fewer = deciding.strangers(replace(here, excluded=faces.ids[:2]), PLAN)
    assert len(fewer.emd) == 12

    pairs = np.array([(0, 1), (0, 2), (2, 3), (4, 2), (4, 5), (6, 1), (6, 7), (0, 5)])
    listed = Pairs(pairs, faces.identity.codes[pairs[:, 0]] == faces.identity.codes[pairs[:, 1]], np.zeros(8, np.int32))
    verified = deciding.verify(here, listed, PLAN, alphas=(0.0, 0.7))
    by_patches = verified.found[1]
    expected = []
    for a, b in pairs:
        cosine, emd = told(int(faces.ids[a]), int(faces.ids[b]))
        expected.append(1 - 0.7 * emd - 0.3 * (1 - cosine))
    np.testing.assert_allclose(by_patches.curve.threshold, np.sort(expected)[::-1], atol=1e-5)
    right, wrong = np.array(expected)[listed.same], np.array(expected)[~listed.same]
    assert (by_patches.n_genuine, by_patches.n_impostor) == (len(right), len(wrong)) == (4, 4)
    assert by_patches.auc.value == pytest.approx((right[:, None] > wrong).mean())

    faces.path(7).write_bytes(b"")
    ground.forget()
    without = deciding.verify(here, listed, PLAN, alphas=(0.7,))
    assert (without.found[0].n_genuine, without.found[0].n_impostor) == (3, 4)
    with pytest.raises(InputError, match="templates"):
        deciding.verify(here, replace(listed, of="template"), PLAN)
    ground.forget()
