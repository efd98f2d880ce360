"""How the parts vote, against loops over the pairs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses import jury
from facelens.analyses.parts import Parts, Pool, cut, parts_of, products, votes
from facelens.analyses.plan import MATCHES, PartsPlan
from facelens.analyses.scores import Scores
from facelens.analyses.verification import place
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet

K, WIDTH, PEOPLE, EACH = 4, 3, 8, 4
N = PEOPLE * EACH
ALL = np.ones(K, bool)
SOME = np.array([True, False, True, True])
ONE = np.array([False, False, True, False])
NONE = np.zeros(K, bool)


def made(*, unknown: int = 0, learned: bool = True, blind: bool = False) -> tuple[Parts, FeatureSet]:
    """Some people, the last faces of which nobody knows; `blind`: two faces have no confidence in part 2."""
    rng = np.random.default_rng(3)
    who: list[str | None] = [f"p{i // EACH:02}" for i in range(N)]
    who[N - unknown :] = [None] * unknown
    faces = FaceSet.build("g", Path("."), paths=[f"{i:03}.jpg" for i in range(N)], identities=who)
    centre = rng.normal(size=(PEOPLE, K * WIDTH))
    vectors = (centre[np.arange(N) // EACH] + 0.8 * rng.normal(size=(N, K * WIDTH))).astype(np.float32)
    sure = np.exp(rng.normal(2, 1, (N, K))).astype(np.float32)
    if blind:
        sure[[0, 5], 1] = 0
    features = FeatureSet(faces.ids, vectors, Provenance("x", "m"), confidence=sure if learned else None)
    return cut(faces, PartsPlan(parts=K), features=features), features


def votes_of(parts: Parts, features: FeatureSet, i: int, j: int, match: str, kept: np.ndarray) -> np.ndarray:
    """The votes of the parts kept on two rows, and of each other one as if it alone came back."""
    a, b = parts_of(features, parts, parts.ids[[i, j]]).astype(float)
    surety = parts.log_variance

    def among(some: np.ndarray) -> np.ndarray:
        chosen = np.flatnonzero(some)
        return votes(
            match,
            (a * b).sum(1)[chosen],
            square=((a**2).sum(1)[chosen], (b**2).sum(1)[chosen]),
            log_variance=None if surety is None else (surety[i, chosen], surety[j, chosen]),
            width=WIDTH,
        )

    found = np.full(K, np.nan)
    if kept.any():
        found[kept] = among(kept)
    for k in np.flatnonzero(~kept):
        more = kept.copy()
        more[k] = True
        with np.errstate(invalid="ignore"):
            found[k] = among(more)[np.flatnonzero(more) == k][0]
    return found


def score_of(parts: Parts, features: FeatureSet, i: int, j: int, match: str, kept: np.ndarray) -> float:
    return float(votes_of(parts, features, i, j, match, kept)[kept].sum())


@pytest.mark.parametrize("match", MATCHES)
@pytest.mark.parametrize("kept", [ALL, SOME, ONE], ids=["all", "some", "one"])
def test_a_ruling_against_a_loop(match: str, kept: np.ndarray) -> None:
    parts, features = made()
    pool, far = parts.pool, 0.05
    said = np.array([votes_of(parts, features, i, j, match, kept) for i, j in zip(pool.first, pool.second)])
    scores = said[:, kept].sum(1)
    found = jury.ruling(parts, match=match, kept=kept, far=far)
    assert np.allclose(found.typical[kept], said[~pool.genuine][:, kept].mean(0), atol=5e-6)
    assert np.allclose(found.genuine[kept], said[pool.genuine][:, kept].mean(0), atol=5e-6)
    others = np.sort(scores[~pool.genuine])[::-1]
    assert found.threshold == pytest.approx(others[int(far * len(others))], abs=5e-6)
    assert np.isnan(found.share[~kept]).all()
    assert np.nansum(found.share) == pytest.approx(found.threshold, abs=1e-5)
    assert np.ptp((found.share - found.typical)[kept]) == pytest.approx(0, abs=1e-6)


def test_a_ruling_accepts_what_verification_accepts() -> None:
    parts, _ = made()
    pool = parts.pool
    value = (pool.products / K).sum(1)
    order = np.argsort(-value, kind="stable")
    rows = pool.first[order].astype(np.int32), pool.second[order].astype(np.int32)
    scores = Scores(parts.ids, parts.identity, value[order], *rows, pool.genuine[order])
    for far in (0.01, 0.05, 0.5):
        found = jury.ruling(parts, match="cosine", kept=ALL, far=far)
        step = place(scores.steps, far)
        assert found.tar.value == scores.steps.genuine[step] / pool.genuine.sum()
        assert found.tar.n == pool.genuine.sum()


def test_a_rate_that_the_pool_cannot_show() -> None:
    parts, features = made()
    found = jury.ruling(parts, match="cosine", kept=ALL, far=1e-4)
    assert found.threshold is None and "FAR" in found.why and not found.tar.defined
    pair = int(parts.ids[0]), int(parts.ids[1])
    verdict = jury.verdict(parts, features, *pair, match="cosine", kept=ALL, ruling=found)
    assert verdict.same is None and verdict.disagree == () and np.isfinite(verdict.score)
    averaged = jury.average(
        parts, features, which="false matches", ids=parts.ids, match="cosine", kept=ALL, ruling=found
    )
    assert averaged.n == 0 and averaged.why == found.why


@pytest.mark.parametrize("match", MATCHES)
def test_a_verdict_adds_up(match: str) -> None:
    parts, features = made(unknown=2)
    for i, j, kept in ((0, 1, SOME), (0, 5, SOME), (0, N - 1, ALL), (3, 9, ONE), (3, 9, NONE)):
        ruling = jury.ruling(parts, match=match, kept=kept, far=0.1)
        pair = int(parts.ids[i]), int(parts.ids[j])
        found = jury.verdict(parts, features, *pair, match=match, kept=kept, ruling=ruling)
        naive = votes_of(parts, features, i, j, match, kept)
        assert np.allclose(found.votes, naive, atol=1e-6)
        assert found.whole == pytest.approx(score_of(parts, features, i, j, match, ALL), rel=1e-6, abs=1e-6)
        assert found.genuine == (None if j == N - 1 else i // EACH == j // EACH)
        if not kept.any():
            assert np.isnan(found.score) and found.why and found.same is None
            continue
        assert found.votes[kept].sum() == pytest.approx(found.score, abs=1e-6)
        assert found.same == (found.score > ruling.threshold)
        against = [k for k in np.flatnonzero(kept) if (naive[k] > ruling.share[k]) != found.same]
        assert list(found.disagree) == against


@pytest.mark.parametrize("match", MATCHES)
def test_the_pair_that_sets_the_threshold_is_not_above_it(match: str) -> None:
    parts, features = made()
    others = parts.ids[parts.pool.first[~parts.pool.genuine]], parts.ids[parts.pool.second[~parts.pool.genuine]]
    for far in (0.05, 0.1, 0.2):
        ruling = jury.ruling(parts, match=match, kept=SOME, far=far)
        how = {"match": match, "kept": SOME, "ruling": ruling}
        same = [jury.verdict(parts, features, int(a), int(b), **how).same for a, b in zip(*others)]
        assert sum(map(bool, same)) == int(far * len(same))


@pytest.mark.parametrize("match", MATCHES)
@pytest.mark.parametrize("kept", [ALL, SOME, ONE], ids=["all", "some", "one"])
def test_ranks_against_sorting(match: str, kept: np.ndarray) -> None:
    parts, features = made(unknown=2)
    for i, j in ((0, 1), (0, 20), (N - 1, 3)):
        query = int(parts.ids[i])
        line = jury.Lineup(parts, products(features, parts, query), query, match=match)
        found = line.standing(int(parts.ids[j]), kept=kept)
        for some, rank, mate in ((ALL, found.before, found.mate_before), (kept, found.after, found.mate_after)):
            others = [row for row in range(len(parts.ids)) if row != i]
            others.sort(key=lambda row: -score_of(parts, features, i, row, match, some))
            assert rank == others.index(j) + 1
            mates = [place for place, row in enumerate(others, 1) if row // EACH == i // EACH]
            assert mate == (0 if i == N - 1 else mates[0])
        assert found.of == len(parts.ids) - 1


def test_nobody_stands_anywhere_without_votes() -> None:
    parts, features = made()
    a, b = (int(one) for one in parts.ids[:2])
    found = jury.standing(parts, products(features, parts, a), a, b, match="cosine", kept=NONE)
    assert found.before > 0 and (found.after, found.mate_after) == (0, 0)
    ruling = jury.ruling(parts, match="cosine", kept=NONE, far=0.1)
    assert ruling.threshold is None and ruling.why == "no part votes"
    assert jury.recall(parts, features, match="cosine", kept=NONE).why == "no part votes"


@pytest.mark.parametrize("match", MATCHES)
@pytest.mark.parametrize("which", jury.WHICH)
def test_an_average_against_a_loop(match: str, which: str) -> None:
    parts, features = made(unknown=3)
    ruling = jury.ruling(parts, match=match, kept=SOME, far=0.2)
    rows = [0, 1, 2, 5, 6, 9, 13, 14, 20, 26, 30]
    chosen = []
    for i in rows:
        for j in rows:
            same = i // EACH == j // EACH
            score = score_of(parts, features, i, j, match, SOME)
            wanted = {
                "genuine": same,
                "impostor": not same,
                "false matches": not same and score > ruling.threshold,
                "false non-matches": same and score <= ruling.threshold,
            }[which]
            if i < j < N - 3 and wanted:
                chosen.append(votes_of(parts, features, i, j, match, SOME))
    found = jury.average(parts, features, which=which, ids=parts.ids[rows], match=match, kept=SOME, ruling=ruling)
    assert found.n == len(chosen)
    if chosen:
        assert np.allclose(found.votes, np.mean(chosen, 0), atol=5e-6)
        assert np.allclose(found.high, np.percentile(chosen, 75, axis=0), atol=5e-6)


@pytest.mark.parametrize("match", MATCHES)
def test_an_average_over_the_pool_is_that_over_all_pairs(match: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, features = made(blind=True)
    ruling = jury.ruling(parts, match=match, kept=ALL, far=0.2)
    pool, bench = parts.pool, jury.Bench(parts, match)
    for which in jury.WHICH:
        how = {"which": which, "match": match, "kept": ALL, "ruling": ruling}
        found = jury.average(parts, features, ids=parts.ids, bench=bench, **how)
        monkeypatch.setattr(jury, "pool", lambda *_, **__: (pool.first, pool.second, pool.genuine))
        monkeypatch.setattr(jury, "BLOCK", 1 if which == "genuine" else 1 << 20)  # both ways to compare
        some = jury.average(replace(parts, ids=np.append(parts.ids, 1)), features, ids=parts.ids, **how)
        assert found.n == some.n > 0
        assert np.allclose(found.votes, some.votes, atol=5e-6)


def test_an_average_of_the_gallery_is_that_of_the_ruling() -> None:
    parts, features = made()
    ruling = jury.ruling(parts, match="weighted", kept=SOME, far=0.1)
    found = jury.average(
        parts, features, which="impostor", ids=parts.ids[:1], match="weighted", kept=SOME, ruling=ruling
    )
    assert np.allclose(found.votes[SOME], ruling.typical[SOME], atol=1e-6)
    assert found.n == np.count_nonzero(~parts.pool.genuine)


@pytest.mark.parametrize("match", MATCHES)
@pytest.mark.parametrize("kept", [ALL, SOME, ONE], ids=["all", "some", "one"])
def test_recall_against_a_loop(match: str, kept: np.ndarray) -> None:
    """Faces that nobody knows are not searched."""
    parts, features = made(unknown=2)
    hits = []
    for i in range(N - 2):
        others = [row for row in range(N - 2) if row != i]
        best = max(others, key=lambda row: score_of(parts, features, i, row, match, kept))
        hits.append(best // EACH == i // EACH)
    found = jury.recall(parts, features, match=match, kept=kept)
    assert (found.value, found.n) == (pytest.approx(np.mean(hits)), N - 2)
    assert found.low <= found.value <= found.high
    assert jury.recall(parts, features, match=match, kept=kept, queries=9).n == 9


def test_parts_without_confidence_take_their_pairs_out() -> None:
    """Leaving that part out brings them back."""
    parts, features = made(blind=True)
    sound = (parts.pool.first != 0) & (parts.pool.second != 0) & (parts.pool.first != 5) & (parts.pool.second != 5)
    pair = int(parts.ids[0]), int(parts.ids[1])
    for match in ("weighted", "likelihood"):
        ruling = jury.ruling(parts, match=match, kept=ALL, far=0.1)
        assert ruling.tar.n == np.count_nonzero(sound & parts.pool.genuine)
        verdict = jury.verdict(parts, features, *pair, match=match, kept=ALL, ruling=ruling)
        assert np.isnan(verdict.score) and verdict.same is None and "confidence" in verdict.why
        line = jury.Lineup(parts, products(features, parts, pair[1]), pair[1], match=match)
        assert line.standing(pair[0], kept=ALL).after == 0
        here = [row for row in range(len(parts.ids)) if row not in (0, 5)]
        best = [max(set(here) - {i}, key=lambda j, i=i: score_of(parts, features, i, j, match, ALL)) for i in here]
        recall = jury.recall(parts, features, match=match, kept=ALL)
        assert recall.value == pytest.approx(np.mean([i // EACH == j // EACH for i, j in zip(here, best)]))
        assert recall.n == len(here)
        averaged = jury.average(
            parts, features, which="genuine", ids=parts.ids[:4], match=match, kept=ALL, ruling=ruling
        )
        assert averaged.n == 3
        ruling = jury.ruling(parts, match=match, kept=SOME, far=0.1)
        assert ruling.tar.n == parts.pool.genuine.sum()
        verdict = jury.verdict(parts, features, *pair, match=match, kept=SOME, ruling=ruling)
        assert verdict.score == pytest.approx(score_of(parts, features, 0, 1, match, SOME), abs=1e-5)
        assert line.standing(pair[0], kept=SOME).after > 0
        assert jury.recall(parts, features, match=match, kept=SOME).n == len(parts.ids)


def test_slices_weigh_as_they_are_long() -> None:
    parts, features = made(learned=False)
    ruling = jury.ruling(parts, match="cosine", kept=ALL, far=0.1)
    pair = int(parts.ids[0]), int(parts.ids[1])
    found = jury.verdict(parts, features, *pair, match="cosine", kept=ALL, ruling=ruling)
    a, b = features.unit(parts.ids[:2])[0].astype(float)
    assert found.score == pytest.approx(a @ b, abs=1e-6)
    with pytest.raises(InputError, match="how sure"):
        jury.ruling(parts, match="weighted", kept=ALL, far=0.1)


def test_a_face_that_is_not_here() -> None:
    parts, features = made()
    ruling = jury.ruling(parts, match="cosine", kept=ALL, far=0.1)
    with pytest.raises(InputError, match="no vector"):
        jury.verdict(parts, features, int(parts.ids[0]), 12345, match="cosine", kept=ALL, ruling=ruling)


def test_one_person_has_nothing_to_be_told_from() -> None:
    parts, features = made()
    alone = replace(parts, ids=parts.ids[:4], identity=parts.identity[:4], pool=replace_pool(parts, 4))
    assert "one identity" in jury.recall(alone, features, match="cosine", kept=ALL).why
    assert "impostor" in jury.ruling(alone, match="cosine", kept=ALL, far=0.1).why


def replace_pool(parts: Parts, n: int) -> Pool:
    inside = (parts.pool.first < n) & (parts.pool.second < n)
    pool = parts.pool
    return replace(
        pool,
        first=pool.first[inside],
        second=pool.second[inside],
        genuine=pool.genuine[inside],
        products=pool.products[inside],
    )
