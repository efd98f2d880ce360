"""Regions: shares add up, follow the face, mirror with it; ledgers add up to the distance; words for cells."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike

from facelens.analyses import regions, reranking
from facelens.analyses.patch_sets import sets_of
from facelens.analyses.plan import MatchPlan
from facelens.analyses.regions import REGIONS
from facelens.images.align import TEMPLATES

POINTS = TEMPLATES["arcface112"].points
SIZE = (112, 112)


def regions_at(places: ArrayLike, points: np.ndarray | None = None, size: tuple[int, int] = SIZE) -> list[str]:
    """The regions of some pixels."""
    grid = (size[0] // 4, size[1] // 4)
    found = regions.shares(grid, points, size).reshape(*grid, -1)
    return [REGIONS[int(found[int(y) // 4, int(x) // 4].argmax())] for x, y in np.asarray(places)]


def explained(*, solver: str) -> reranking.Explained:
    rng = np.random.default_rng(0)
    query, gallery = (
        sets_of(np.array([i]), rng.normal(0.3, 1, (1, 8, 7, 6)).astype(np.float32), np.ones((1, 4), np.float32))
        for i in (1, 2)
    )
    return reranking.explain(query, gallery, MatchPlan(weights="apc", solver=solver), cosine=0.4)


@pytest.mark.parametrize("grid", [(7, 7), (7, 6), (8, 8), (4, 4), (3, 3), (16, 16), (1, 1)])
def test_shares_of_a_cell_add_up_to_one(grid: tuple[int, int]) -> None:
    for size in ((112, 112), (112, 96), (160, 160), (128, 100)):
        found = regions.shares(grid, None, size)
        assert found.shape == (grid[0] * grid[1], len(REGIONS)) and (found >= 0).all()
        assert (found.sum(1) == 1).all()
        assert (found.sum(0) > 0).all()  # every region is somewhere


def test_regions_lie_where_the_landmarks_are() -> None:
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    turned = (POINTS - POINTS.mean(0)) @ turn.T * 1.7 + (150, 140)
    for points, size in ((None, SIZE), (POINTS, SIZE), (turned, (280, 300))):
        five = POINTS if points is None else points
        assert regions_at(five, points, size) == ["eyes", "eyes", "nose", "mouth", "mouth"]
        eyes, mouth = five[:2].mean(0), five[3:].mean(0)
        cheek = five[0] + 0.6 * (five[3] - five[0]) - 0.2 * (five[1] - five[0])
        assert regions_at([eyes - 0.7 * (mouth - eyes), cheek], points, size) == ["forehead", "cheeks"]
    assert regions_at([(2, 2), (109, 109)]) == ["outside", "outside"]


def test_a_mirrored_face_has_mirrored_shares() -> None:
    points = POINTS + np.random.default_rng(0).normal(0, 3, POINTS.shape)
    mirrored = (points * (-1, 1) + (111, 0))[[1, 0, 2, 4, 3]]
    found = regions.shares((7, 7), points, SIZE).reshape(7, 7, -1)
    np.testing.assert_array_equal(regions.shares((7, 7), mirrored, SIZE).reshape(7, 7, -1), found[:, ::-1])


def test_landmarks_that_show_no_face_are_as_good_as_none() -> None:
    wanted = regions.shares((7, 7), None, SIZE)
    for points in (np.full((5, 2), np.nan), np.full((5, 2), 40.0)):
        np.testing.assert_array_equal(regions.shares((7, 7), points, SIZE), wanted)
    assert regions.name_of(23, (7, 7), np.full((5, 2), np.nan), SIZE) == "left eye"


@pytest.mark.parametrize("solver", ["sinkhorn", "paper"])
def test_a_ledger_adds_up_to_the_distance(solver: str) -> None:
    pair = explained(solver=solver)
    shares = regions.shares(pair.grid, None, (112, 96))
    found = regions.ledger(pair, shares)
    naive = [sum(shares[i, r] * pair.flow[i, j] * pair.distance[i, j] for i in range(42) for j in range(42))
             for r in range(len(REGIONS))]  # fmt: skip
    np.testing.assert_allclose(found, naive, rtol=0, atol=1e-15)
    assert found.sum() == pytest.approx(pair.emd, rel=0, abs=1e-15)
    np.testing.assert_allclose(regions.mass(pair, shares).sum(), pair.flow.sum(), rtol=1e-14)


def test_every_region_has_patches_to_light() -> None:
    for grid in ((7, 6), (4, 4), (3, 3)):
        shares = regions.shares(grid, None, SIZE)
        assert all(regions.patches_of(shares, region) for region in range(len(REGIONS)))
    eyes = regions.patches_of(regions.shares((7, 7), None, SIZE), regions.EYES)
    assert {23, 25} <= set(eyes) and not {31, 45} & set(eyes)
    assert regions.patches_of(np.zeros((4, len(REGIONS))), 0) == ()


def test_words_for_cells_are_mirrored_too() -> None:
    for row in range(7):
        left, right = (regions.name_of(7 * row + column, (7, 7)) for column in (2, 4))
        assert left.replace("left", "right") == right
    assert [regions.name_of(7 * row + 3, (7, 7)) for row in range(7)] == [
        "outside the face", "forehead", "between the brows", "bridge of the nose", "nose", "mouth", "chin",
    ]  # fmt: skip


def test_an_average_has_the_quartiles_of_pairs() -> None:
    rows = np.random.default_rng(0).random((9, len(REGIONS)))
    found = regions.averaged(list(rows))
    ordered = np.sort(rows, axis=0)
    np.testing.assert_allclose(found.mean, rows.mean(0))
    np.testing.assert_array_equal([found.low, found.high], [ordered[2], ordered[6]])
    sums = np.sort(rows.sum(1))
    assert found.total == pytest.approx((sums.mean(), sums[2], sums[6])) and found.n == 9
    assert regions.averaged([]).n == 0 and np.isnan(regions.averaged([]).mean).all()


def test_what_makes_the_difference_is_told() -> None:
    change = np.zeros(len(REGIONS))
    assert regions.told(change) == "No region differs by 0.001."
    change[regions.MOUTH] = 0.02
    assert regions.told(change) == "Mouth +0.020, all other regions 0.000."
