"""A study of an upgrade: its parts one after another, orders of the backfill, and who is lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from facelens.analyses.flips import GAINED, LOST, UNSEARCHED
from facelens.analyses.plan import BACKFILLS, VARIANCE, UpgradePlan
from facelens.analyses.upgrade import Upgrade, study
from facelens.errors import Cancelled, InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet
from tests.analyses.upgraded import PLAN, gallery, models

Made = tuple[FaceSet, dict[str, FeatureSet]]


class Watch:
    """A tick that takes what is offered."""

    def __init__(self) -> None:
        self.partial_results: list[Upgrade] = []
        self.shares: list[float] = []

    def __call__(self, done: int, total: int, note: str = "") -> None:
        self.shares.append(done / total)

    def partial(self, value: object) -> None:
        assert isinstance(value, Upgrade)
        self.partial_results.append(value)


@pytest.fixture(scope="module")
def world() -> Made:
    faces = gallery()
    return faces, models(faces)


@pytest.fixture(scope="module")
def watched(world: Made) -> tuple[Upgrade, Watch]:
    faces, features = world
    watch = Watch()
    return study(faces, replace(PLAN, traffic="asked"), features=features, tick=watch), watch


def test_parts_are_offered_as_they_come(watched: tuple[Upgrade, Watch]) -> None:
    found, watch = watched
    told = [(one.flips is not None, one.moves is not None, one.complete) for one in watch.partial_results]
    assert told == [(False, False, False), (True, False, False), (True, True, False)]
    assert found.complete and found.backfill is not None and found.moves is not None
    assert all(one.matrix is found.matrix for one in watch.partial_results)
    assert watch.shares == sorted(watch.shares) and watch.shares[-1] == 1.0


def test_every_order_begins_with_the_old_gallery_and_ends_with_the_new_one(watched: tuple[Upgrade, Watch]) -> None:
    found, _ = watched
    assert found.backfill is not None and {one.name for one in found.backfill.orders} == set(BACKFILLS)
    for order in found.backfill.orders:
        assert sorted(order.ids.tolist()) == sorted(found.ids.tolist())
        for place, query, searched in ((0, "new", "old"), (-1, "new", "new")):
            test = found.matrix.test(query, searched)
            assert test is not None
            assert order.value["1:1"][place] == pytest.approx(test.verification.value, abs=0.01)
            assert order.value["1:N"][place] == pytest.approx(test.identification.value, abs=0.12)


def test_orders_go_by_what_they_are_called(watched: tuple[Upgrade, Watch], world: Made) -> None:
    found, _ = watched
    faces, features = world
    assert found.backfill is not None
    traffic = found.backfill.order("traffic")
    asked = np.asarray(faces.columns["asked"])[faces.rows_of(traffic.ids)]  # type: ignore[union-attr]
    assert (np.diff(asked) <= 0).all()
    unsure = found.backfill.order("uncertainty")
    lengths = features["old"].norms[features["old"].rows_of(unsure.ids)[0]]  # type: ignore[union-attr]
    assert (np.diff(lengths) >= 0).all() and "Shortest vectors of old" in unsure.note  # type: ignore[union-attr]
    varied = faces.with_columns({VARIANCE: np.random.default_rng(0).random(len(faces))})
    other = study(varied, replace(PLAN, resamples=0), features=features).backfill
    assert other is not None and {one.name for one in other.orders} == set(BACKFILLS) - {"traffic"}
    order = other.order("uncertainty")
    values = np.asarray(varied.columns[VARIANCE])[varied.rows_of(order.ids)]  # type: ignore[union-attr]
    assert (np.diff(values) <= 0).all() and "variance" in order.note  # type: ignore[union-attr]


def test_flips_are_those_at_the_thresholds_of_the_matrix(watched: tuple[Upgrade, Watch]) -> None:
    found, _ = watched
    flips, own, cross = found.flips, found.matrix.test("old", "old"), found.matrix.test("new", "old")
    assert flips is not None and own is not None and cross is not None
    assert flips.old_threshold == pytest.approx(own.threshold, abs=1e-5)
    assert flips.new_threshold == pytest.approx(cross.threshold, abs=1e-5)
    pairs = flips.pairs
    net = int((pairs.change == GAINED).sum()) - int((pairs.change == LOST).sum())
    assert net / pairs.genuine == pytest.approx(found.matrix.difference["1:1"].value, abs=1e-6)
    assert len(flips.lost) and len(flips.gained)


def test_every_face_knows_its_change(watched: tuple[Upgrade, Watch]) -> None:
    found, _ = watched
    assert found.flips is not None
    lost, gained = (found.flips.searches.ids[places] for places in (found.flips.lost, found.flips.gained))
    asked = np.concatenate([gained[:1], [-5], lost[:1]])
    assert found.change_of(asked).tolist() == [GAINED, UNSEARCHED, LOST]
    bare = replace(found, flips=None)
    assert bare.change_of(asked).tolist() == [UNSEARCHED] * 3


def test_models_that_cannot_be_compared_have_neighbours_but_no_flips(world: Made) -> None:
    faces, features = world
    plan = UpgradePlan(old="old", new="wide", transforms="none", far=1e-2, resamples=0)
    found = study(faces, plan, features=features)
    assert found.complete and found.flips is None and found.backfill is None
    assert found.moves is not None and np.isnan(found.moves.moved).all() and found.moves.kept.max() > 0


def test_mapped_models_move_in_the_space_where_they_meet(world: Made) -> None:
    faces, features = world
    found = study(faces, replace(PLAN, new="apart", resamples=0), features=features)
    assert found.moves is not None and found.moves.mapped and float(found.moves.moved.mean()) < 0.4
    assert found.flips is not None and set(found.flips.searches.ids) <= set(found.ids)
    assert len(found.ids) < len(faces)


def test_a_column_that_is_not_there_is_told_before_work_begins(world: Made) -> None:
    faces, features = world
    watch = Watch()
    with pytest.raises(InputError, match="no column of numbers gone"):
        study(faces, replace(PLAN, traffic="gone"), features=features, tick=watch)
    assert not watch.shares


@pytest.mark.parametrize("when", [0.05, 0.3, 0.55, 0.65, 0.8])
def test_it_stops_when_asked(world: Made, when: float) -> None:
    faces, features = world

    def tick(done: int, total: int, note: str = "") -> None:
        if done / total >= when:
            raise Cancelled

    with pytest.raises(Cancelled):
        study(faces, PLAN, features=features, tick=tick)
