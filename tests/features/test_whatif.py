"""What-if: the table is what its definitions say, and advice is given only where it clearly helps."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from facelens.errors import Cancelled, InputError
from facelens.features import whatif
from facelens.features.card import Card
from facelens.features.encoder import Encoded, prepared
from facelens.features.whatif import Outcome, Variant, WhatIf, sample, try_out, variants
from facelens.images.faceset import FaceSet

CARD = Card("a", "a", size=(16, 16), dimensions=16, template="none")
PEOPLE, EACH = 20, 4


class Trained:
    """A model that was made for RGB of -1 to 1: a person is a colour pattern, other ways of feeding blur it.

    Channels have very different noise, so that the projection, fitted to RGB, is wrong for BGR.
    """

    dimensions, parts = 16, 0

    def __init__(self, card: Card = CARD) -> None:
        self.card = card
        self.calls = 0

    def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
        self.calls += 1
        x = prepared(pictures, self.card)
        x = x.reshape(len(x), 3, 4, 4, 4, 4).mean((3, 5)).reshape(len(x), 3, 16)
        red = np.tanh(x[:, 0])  # all that tells people apart is in the first channel
        vectors = red + 0.05 * x[:, 2]
        return Encoded(vectors.astype(np.float32))


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> FaceSet:
    """People are patterns of red; blue is the same noise for everybody."""
    folder = tmp_path_factory.mktemp("people")
    rng = np.random.default_rng(0)
    names, who = [], []
    for person in range(PEOPLE):
        pattern = rng.normal(0, 60, (4, 4))
        for i in range(EACH):
            red = 127 + pattern + rng.normal(0, 25, (4, 4))
            blue = 127 + rng.normal(0, 60, (4, 4))
            planes = np.stack([red, np.full((4, 4), 127), blue], -1)
            pixels = np.kron(planes.clip(0, 255), np.ones((4, 4, 1))).astype(np.uint8)
            Image.fromarray(pixels).save(folder / f"{person:02}_{i}.png")
            names.append(f"{person:02}_{i}.png")
            who.append(f"P{person:02}")
    return FaceSet.build("people", folder, paths=names, identities=who)


def slowly(scores: NDArray[np.float64], codes: NDArray[np.int32]) -> tuple[float, float, float, float]:
    """The definitions as loops."""
    genuine, impostor = [], []
    for i, j in combinations(range(len(codes)), 2):
        if codes[i] >= 0 and codes[j] >= 0:
            (genuine if codes[i] == codes[j] else impostor).append(scores[i, j])
    g, i = np.array(genuine), np.array(impostor)
    best = max(((g >= t).mean() + (i < t).mean()) / 2 for t in [*genuine, *impostor])
    return g.mean(), i.mean(), (g.mean() - i.mean()) / np.sqrt((g.var() + i.var()) / 2), best


def test_measures_are_their_definitions() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((30, 5))
    scores = vectors @ vectors.T
    codes = rng.integers(-1, 6, 30).astype(np.int32)
    np.testing.assert_allclose(whatif._measures(scores, codes), slowly(scores, codes))
    assert np.isnan(whatif._measures(scores, np.zeros(30, np.int32))[2]), "no impostors, no separation"


def test_resampling_is_its_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    vectors = rng.standard_normal((24, 5))
    scores = vectors @ vectors.T
    codes = np.append(np.repeat(np.arange(7), 3), [-1, -1, -1]).astype(np.int32)
    monkeypatch.setattr(whatif, "RESAMPLES", 5)
    found = whatif._resampled(scores, codes, seed=9)
    draws = np.random.default_rng(9).multinomial(7, np.full(7, 1 / 7), 5)
    for drawn, value in zip(draws, found):
        genuine: list[float] = []
        impostor: list[float] = []
        for i, j in combinations(range(21), 2):
            a, b = codes[i], codes[j]
            if a == b:
                genuine += [scores[i, j]] * drawn[a]
            else:
                impostor += [scores[i, j]] * (drawn[a] * drawn[b])
        g, i_ = np.array(genuine), np.array(impostor)
        assert value == pytest.approx((g.mean() - i_.mean()) / np.sqrt((g.var() + i_.var()) / 2))


def test_a_right_card_is_left_in_peace(faces: FaceSet) -> None:
    found = try_out(faces, np.arange(len(faces)), Trained())
    assert (found.pictures, found.people, found.skipped) == (PEOPLE * EACH, PEOPLE, 0)
    base = found.outcomes[0]
    assert base.variant.kind == "" and base.separation > 3 and base.gain == (0.0, 0.0)
    swapped = next(one for one in found.outcomes if one.variant.kind == "order")
    assert swapped.separation < 1 and swapped.gain[1] < 0
    assert found.advice() == ()


def test_a_swapped_card_is_noticed(faces: FaceSet) -> None:
    found = try_out(faces, np.arange(len(faces)), Trained(CARD.changed(order="BGR")))
    (first, *_) = found.advice()
    better = next(one for one in found.outcomes if one.variant.kind == "order")
    assert first.startswith("This looks BGR-swapped: feeding RGB raises the separation from ")
    assert f"to {better.separation:.1f}." in first and better.gain[0] > 0
    assert list(whatif.lines(found))[-1] == found.advice()[-1]


def test_wrong_scaling_is_noticed(faces: FaceSet) -> None:
    wrong = CARD.changed(mean=(0.0,) * 3, std=(1.0,) * 3)
    advice = try_out(faces, np.arange(len(faces)), Trained(wrong)).advice()
    assert any(line.startswith("The scaling looks wrong: (x − 127.5) / 12") for line in advice), advice


@pytest.mark.parametrize("people", [2, 5, 9])
def test_a_small_sample_gives_no_advice(faces: FaceSet, people: int) -> None:
    found = try_out(faces, np.arange(EACH * people), Trained(CARD.changed(order="BGR")))
    assert found.people == people and found.advice() == ()


def test_noise_gives_no_advice(faces: FaceSet) -> None:
    """A model that knows nothing: some variant is always the best, none clearly."""

    class Noise(Trained):
        def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
            self.calls += 1
            seed = int(prepared(pictures, self.card).sum()) % 2**31
            return Encoded(np.random.default_rng(seed).standard_normal((len(pictures), 16)).astype(np.float32))

    found = try_out(faces, np.arange(len(faces)), Noise())
    assert abs(found.outcomes[0].separation) < 0.5 and found.advice() == ()


def test_mirroring_is_never_advised() -> None:
    def outcome(kind: str, separation: float, gain: tuple[float, float]) -> Outcome:
        return Outcome(Variant(kind, CARD, kind), 0.6, 0.1, separation, 0.9, 1.0, gain)

    base, flip = outcome("", 2.0, (0, 0)), outcome("flip", 4.0, (1, 3))
    assert WhatIf((base, flip), 100, 30).advice() == ()
    little, unsure = outcome("crop", 2.05, (0.01, 0.1)), outcome("crop", 3, (-0.1, 3))
    assert WhatIf((base, little, unsure), 100, 30).advice() == ()
    clear = outcome("crop", 3, (0.5, 1.5))
    assert WhatIf((base, clear), 100, 30).advice() == (
        "The crop looks wrong: crop raises the separation from 2.0 to 3.0.",
    )
    assert WhatIf((base, clear), 100, 9).advice() == ()
    two = WhatIf((base, outcome("scaling", 3, (1, 2)), outcome("scaling", 5, (1, 2)), clear), 100, 30).advice()
    assert len(two) == 2 and "to 5.0" in two[0], "the best of a kind, the strongest first"


def test_a_pair_has_a_score(faces: FaceSet) -> None:
    found = try_out(faces, np.zeros(0, np.int64), Trained(), pair=(0, 1))
    base = found.outcomes[0]
    assert base.score is not None and base.genuine == pytest.approx(base.score) and np.isnan(base.separation)
    turned = try_out(faces, np.arange(8), Trained(), pair=(9, 2))
    assert turned.pictures == 9 and turned.outcomes[0].score is not None
    head, *rows = whatif.lines(turned)
    assert head.split()[-1] == "pair" and len(rows) == len(turned.outcomes)


def test_ways_that_feed_the_same_pixels_are_told_once(faces: FaceSet) -> None:
    encoder = Trained(CARD)
    found = try_out(faces, np.arange(8), encoder)
    names = [one.variant.name for one in found.outcomes]
    assert len(set(names)) == len(names) == len(variants(CARD)), "templates change the size of these"
    again = try_out(faces, np.arange(8), encoder, ways=[Variant("a", CARD), Variant("b", CARD)])
    assert [one.variant.name for one in again.outcomes] == ["a"]
    assert encoder.card is CARD and encoder.calls == 0, "the encoder that was given is not changed"


def test_what_varies() -> None:
    def fields(card: Card) -> set[str]:
        return {
            name
            for way in variants(card)
            for name in ("order", "mean", "std", "flip", "crop", "template")
            if getattr(way.card, name) != getattr(card, name)
        }

    assert fields(CARD) == {"order", "mean", "std", "flip", "crop", "template"}
    grey = Card("g", "g", order="GREY", mean=(127.5,), std=(127.5,))
    assert "order" not in fields(grey) and all(len(way.card.mean) == 1 for way in variants(grey))
    blue = {way.name: way.card for way in variants(CARD.changed(order="BGR"))}
    assert blue["ImageNet"].mean == (103.53, 116.28, 123.675), "in the order of the channels"
    assert variants(CARD)[0].card is CARD and len({way.name for way in variants(CARD)}) == len(variants(CARD))
    narrow = Card("n", "n", size=(112, 96), crop=(0, 8, 112, 104))
    assert any(way.card.crop is None and way.kind == "crop" for way in variants(narrow))


def test_samples(faces: FaceSet) -> None:
    assert sample(faces).tolist() == list(range(len(faces)))
    some = sample(faces, limit=21, seed=1)
    assert len(some) == 20 and (np.diff(some) > 0).all()
    counts = np.bincount(faces.identity.codes[some])
    assert set(counts[counts > 0]) == {4}
    assert sample(faces, limit=21, seed=1).tolist() == some.tolist() != sample(faces, limit=21, seed=2).tolist()
    assert set(sample(faces, np.arange(40, 80), limit=21)) <= set(range(40, 80))
    alone = replace(faces, identity=type(faces.identity).of([f"{i}" for i in range(len(faces))]))
    assert len(sample(alone, limit=10)) == 10


def test_what_cannot_be_done_is_said(faces: FaceSet, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least two pictures"):
        try_out(faces, np.array([1]), Trained())
    gone = FaceSet.build("g", tmp_path, paths=["a.png", "b.png"], identities=["A", "B"])
    with pytest.raises(InputError, match="cannot be read"):
        try_out(gone, np.arange(2), Trained())

    def stop(done: int, total: int, note: str = "") -> None:
        if done > 20:
            raise Cancelled

    with pytest.raises(Cancelled):
        try_out(faces, np.arange(len(faces)), Trained(), tick=stop)
