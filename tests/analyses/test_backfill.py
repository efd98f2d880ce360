"""Backfill: every share of every order is what an evaluation of that mixed gallery finds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from facelens.analyses import backfill, identification, mixed, similarity
from facelens.analyses.backfill import Backfill, Queue
from facelens.analyses.flips import Searched, flips
from facelens.analyses.mixed import Drawing, Sides

FAR, FPIR = 1e-2, 0.1
PEOPLE, PICTURES, STEPS = 24, 6, 20


@pytest.fixture(scope="module")
def world() -> tuple[Sides, NDArray, NDArray]:
    """A new model that is better than the old one, and mapped queries that suffer a little; ids, who they are."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(PEOPLE), PICTURES).astype(np.int32)
    centres = rng.normal(size=(PEOPLE, 32))

    def seen(noise: float) -> NDArray:
        return similarity.unit(centres[who] + noise * rng.normal(size=(len(who), 32)))[0].astype(np.float32)

    return Sides(seen(1.0), seen(1.2), seen(0.7)), rng.permutation(len(who)).astype(np.int64) * 3, who


@pytest.fixture(scope="module")
def searches(world: tuple[Sides, NDArray, NDArray]) -> Searched:
    sides, ids, who = world
    return flips(sides.old, sides.query, sides.old, ids=ids, identity=who, far=FAR).searches


@pytest.fixture(scope="module")
def found(world: tuple[Sides, NDArray, NDArray], searches: Searched) -> tuple[Backfill, list[Queue]]:
    sides, ids, who = world
    queues = [
        backfill.by_flip_risk(ids, who, searches),
        backfill.by_traffic(np.arange(len(ids)) % 7.0, "asked"),
        backfill.by_chance(len(ids), chances=3),
    ]
    asked = {"queues": queues, "far": FAR, "fpir": FPIR, "steps": STEPS}
    return backfill.backfill(*sides, ids=ids, identity=who, **asked), queues


def tar_by_hand(score: NDArray, who: NDArray) -> float:
    same, own = who[:, None] == who, np.eye(len(who), dtype=bool)
    strangers = np.sort(score[~same])[::-1]
    limit = strangers[int(FAR * len(strangers))]  # the first that must be refused
    return float((score[same & ~own] > limit).mean())


def tpir_by_hand(sides: Sides, new: NDArray, ids: NDArray, who: NDArray) -> float:
    """Of a gallery in which the faces `new` are new: both products side by side decide for every entry."""
    split = identification.split(who)
    wide = np.concatenate([np.where(new[:, None], 0, sides.old), np.where(new[:, None], sides.new, 0)], axis=1)
    probes = np.concatenate([sides.query, sides.new], axis=1)  # two unit vectors, of which an entry sees one
    parts = []
    for part in (1, 2):
        entries, score = split.gallery[split.part == part], None
        score = probes[split.probe].astype(np.float64) @ wide[entries].T
        same = who[split.probe][:, None] == who[entries]
        other, mate = np.where(same, -9, score).max(axis=1), np.where(same, score, -9).max(axis=1)
        mated = same.any(axis=1)
        strangers = np.sort(other[~mated])[::-1]
        threshold = strangers[int(FPIR * len(strangers) + 1e-9) - 1]
        parts.append(((mate >= threshold) & (other < mate))[mated].mean())
    return float(np.mean(parts))


def test_every_share_is_what_a_mixed_gallery_gives(
    found: tuple[Backfill, list[Queue]], world: tuple[Sides, NDArray, NDArray]
) -> None:
    result, queues = found
    sides, ids, who = world
    before, after = sides.query @ sides.old.T, sides.new @ sides.new.T
    assert result.shares.tolist() == [step / STEPS for step in range(STEPS + 1)]
    for order, queue in zip(result.orders, queues):
        assert order.ids.tolist() == ids[queue.ways[0]].tolist()
        for step, share in enumerate(result.shares):
            tar, tpir = [], []
            for way in queue.ways:
                new = np.zeros(len(ids), bool)
                new[way[: int(share * len(ids) + 0.5)]] = True
                tar.append(tar_by_hand(np.where(new, after, before), who))
                tpir.append(tpir_by_hand(sides, new, ids, who))
            assert order.value["1:1"][step] == pytest.approx(np.mean(tar), abs=2e-3)  # a genuine pair is 1.4e-3
            assert order.value["1:N"][step] == pytest.approx(np.mean(tpir), abs=1e-9)
    assert result.order("traffic") is result.orders[1] and result.order("uncertainty") is None


def test_bands_hold_the_value_and_are_the_same_where_orders_meet(found: tuple[Backfill, list[Queue]]) -> None:
    first, *others = found[0].orders
    for task in ("1:1", "1:N"):
        for order in (first, *others):
            assert (order.low[task] <= order.value[task]).all() and (order.value[task] <= order.high[task]).all()
            assert (order.high[task] - order.low[task] > 0.01).all()
        for other in others:
            for end in (0, -1):
                assert other.value[task][end] == pytest.approx(first.value[task][end])
                assert other.low[task][end] == pytest.approx(first.low[task][end])


def test_a_band_from_some_of_the_pairs_is_about_as_wide(
    world: tuple[Sides, NDArray, NDArray], monkeypatch: pytest.MonkeyPatch
) -> None:
    sides, _, who = world
    entered = np.ones((1, len(who)), np.int16)
    drawing = Drawing((0,), (0, 1), 100)

    def width() -> tuple[float, float]:
        rates = mixed.verified(sides, who, entered, steps=2, far=FAR, drawing=drawing)
        low, high = np.quantile(rates.drawn[0, 0], [0.1, 0.9])
        return float(rates.value[0, 0]), float(high - low)

    whole = width()
    monkeypatch.setattr(mixed, "SAMPLE", 8000)
    monkeypatch.setattr(mixed, "GENUINE", 400)
    monkeypatch.setattr(mixed, "COLUMNS", 50)
    some = width()
    assert some[0] == whole[0]  # all pairs are counted, however many are drawn
    assert 0.6 < some[1] / whole[1] < 1.6


def test_orders_say_who_comes_first(world: tuple[Sides, NDArray, NDArray], searches: Searched) -> None:
    _, ids, who = world
    (way,) = backfill.by_flip_risk(ids, who, searches).ways
    worst = {person: searches.new_margin[who == person].min() for person in range(PEOPLE)}
    assert [worst[who[place]] for place in way] == sorted(worst[person] for person in who)
    assert searches.new_margin[way[0]] == searches.new_margin.min()
    (way,) = backfill.by_uncertainty(np.array([1.0, np.nan, 3.0, 2.0]), "").ways
    assert way.tolist() == [2, 3, 0, 1]


def test_without_strangers_there_is_no_rate() -> None:
    vectors = similarity.unit(np.random.default_rng(0).normal(size=(4, 8)))[0]
    made = backfill.backfill(
        vectors, vectors, vectors, ids=np.arange(4), identity=np.zeros(4, np.int32), queues=[backfill.by_chance(4)]
    )
    assert np.isnan(made.orders[0].value["1:1"]).all() and np.isnan(made.orders[0].low["1:N"]).all()
