"""The verdict: what it says, that it never says more, and what it says it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facelens.analyses.measure import Measure
from facelens.analyses.upgrade import Upgrade
from facelens.figures.verdict import verdict
from tests.figures.upgraded import FULL, made


@pytest.fixture
def found() -> Upgrade:
    return made()[2]


def with_difference(
    found: Upgrade, difference: Measure, *, new: Measure | None = None, chance: bool = False
) -> Upgrade:
    plan, matrix = found.plan, found.matrix
    tests = []
    for one in matrix.tests:
        if (one.query, one.gallery) == (plan.new, plan.old):
            value = new or Measure(0.974, 0.966, 0.981, n=100)
            one = replace(one, verification=value, chance=chance)
        elif one.query == one.gallery == plan.old:
            one = replace(one, verification=Measure(0.962, 0.952, 0.971, n=100))
        tests.append(one)
    differences = {**matrix.difference, "1:1": difference}
    return replace(found, matrix=replace(matrix, tests=tuple(tests), difference=differences))


def test_higher_lower_and_neither(found: Upgrade) -> None:
    said = verdict(with_difference(found, Measure(0.012, 0.004, 0.020)))
    assert said.tone == "good"
    assert said.sentence == (
        "New queries on the old gallery score higher than old on old: 0.974 against 0.962, "
        "difference +0.012 [+0.004, +0.020]."
    )
    said = verdict(with_difference(found, Measure(-0.012, -0.020, -0.004)))
    assert said.tone == "bad" and "score lower than old on old" in said.sentence
    for low, high in ((-0.009, 0.003), (0.0, 0.01), (-0.01, 0.0), (0.0, 0.0)):
        said = verdict(with_difference(found, Measure(-0.003, low, high)))
        assert said.tone == "open" and "not shown to score lower or higher" in said.sentence
    assert (
        "That nothing is lost: a loss of up to 0.0100 is within the interval."
        in verdict(with_difference(found, Measure(-0.003, -0.00999, 0.01))).caveats
    )


def test_without_an_interval_nothing_is_shown(found: Upgrade) -> None:
    said = verdict(with_difference(found, Measure(0.012)))
    assert said.tone == "open" and "without an interval nothing is shown" in said.sentence
    assert "resamples" not in said.evidence


def test_guessing_is_called_guessing(found: Upgrade) -> None:
    said = verdict(with_difference(found, Measure(-0.9, -0.95, -0.8), new=Measure(0.001, 0.0, 0.002), chance=True))
    assert said.tone == "bad" and "no better than guessing: 0.001 against 0.962" in said.sentence


def test_what_cannot_be_compared_says_why(found: Upgrade) -> None:
    why = Measure.none("other dimensions")
    said = verdict(with_difference(found, why, new=why))
    assert said.tone == "open" and "cannot be compared" in said.sentence and "other dimensions" in said.sentence


def test_the_evidence_counts(found: Upgrade) -> None:
    said = verdict(found)
    assert found.flips is not None
    assert f"{len(found.flips.lost)} of 120 searches lost, {len(found.flips.gained)} gained" in said.evidence
    assert "TAR @ FAR 1e-2, 1:1" in said.evidence and "24 people" in said.evidence
    assert "240 genuine, 6,900 impostor pairs" in said.evidence and "30 resamples" in said.evidence
    other = verdict(found, task="1:N")
    assert "TPIR @ FPIR 1e-1, 1:N" in other.evidence and "searches of enrolled people" in other.evidence
    assert "searches lost" not in verdict(replace(found, flips=None)).evidence


def test_mapped_queries_are_called_so() -> None:
    found = made(replace(FULL, new="apart", upper="", others=(), direction="backward"))[2]
    said = verdict(found)
    assert said.sentence.startswith("New queries mapped into the old space, on the old gallery,")
    assert "12 people unseen in fitting" in said.evidence
    assert any("fitted on 12 other people of the same gallery" in line for line in said.caveats)


def test_it_never_says_that_one_may_ship(found: Upgrade) -> None:
    for low, high in ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1)):
        said = verdict(with_difference(found, Measure((low + high) / 2, low, high)))
        words = " ".join((said.sentence, said.evidence)).lower()
        assert not any(word in words for word in ("safe", "ship", "compatible", "fine", "recommend", "equal"))
        assert said.caveats[0].startswith("Whether the new model may be used")
    assert any("fewer than 30 people" in line for line in verdict(found).caveats)  # 24
