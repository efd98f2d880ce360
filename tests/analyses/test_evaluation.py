"""Evaluation of small galleries: the parts agree with plain counting, and every dirty case has a stated result."""

from __future__ import annotations

import pickle
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses import similarity
from facelens.analyses.evaluation import (
    Evaluation,
    QuerySet,
    Report,
    evaluate,
    evaluate_both,
    pairs_between,
)
from facelens.analyses.measure import Measure
from facelens.analyses.plan import ALL_PAIRS, Plan
from facelens.analyses.things import Searching
from facelens.errors import Cancelled, InputError
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet, Labels
from facelens.images.protocol import Pairs, Protocol, Templates

D = 16
FAST = Plan(resamples=60, fars=(0.1, 0.01, 1e-6))


def gallery(people: int = 12, each: int = 5, *, identities: list[str | None] | None = None) -> FaceSet:
    n = people * each
    who = [f"p{i // each:02}" for i in range(n)] if identities is None else identities
    columns = {
        "light": Labels.of(["day" if i % 2 else "night" for i in range(n)]),
        "age": np.arange(n, dtype=np.float64),
        "camera": np.arange(n, dtype=np.int64) % 3,
    }
    return FaceSet.build("g", Path("."), paths=[f"{i:04}.jpg" for i in range(n)], identities=who, columns=columns)


def vectors(faces: FaceSet, *, spread: float = 0.9, seed: int = 0, model: str = "old") -> FeatureSet:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(len(faces.identity.names) + 1, D))
    made = centres[faces.identity.codes] + spread * rng.normal(size=(len(faces), D))
    return FeatureSet(faces.ids, made.astype(np.float32) * 3, Provenance(f"{model}{seed}", model))


def measures(value: object) -> list[Measure]:
    """Every measure inside a result."""
    if isinstance(value, Measure):
        return [value]
    if is_dataclass(value) and not isinstance(value, type):
        return [m for f in fields(value) for m in measures(getattr(value, f.name))]
    if isinstance(value, (tuple, list)):
        return [m for one in value for m in measures(one)]
    if hasattr(value, "values") and callable(value.values):
        return [m for one in value.values() for m in measures(one)]
    return []


def check(result: Report | Evaluation) -> list[Measure]:
    """No number is NaN, and where there is none the reason is said."""
    found = measures(result)
    assert found
    for one in found:
        assert one.value is None or np.isfinite(one.value), one
        assert one.value is not None or one.why, one
        assert one.supported or one.why, one
        assert "nan" not in one.text().lower().replace("finance", ""), one
    return found


def test_all_parts_agree_with_plain_counting() -> None:
    faces = gallery()
    features = vectors(faces)
    report = check_report(evaluate(faces, None, replace(FAST, junk=False), query=features))
    unit = features.vectors.astype(np.float64) / np.linalg.norm(features.vectors.astype(np.float64), axis=1)[:, None]
    score = unit @ unit.T
    a, b = np.triu_indices(len(faces), 1)
    same = faces.identity.codes[a] == faces.identity.codes[b]
    genuine, impostor = score[a, b][same], score[a, b][~same]
    assert (
        (report.verification.n_genuine, report.verification.n_impostor) == (len(genuine), len(impostor)) == (120, 1650)
    )
    point = report.verification.points[1]
    k = int(0.01 * len(impostor))
    lowest = min(t for t in np.concatenate([genuine, impostor]) if (impostor >= t).sum() <= k)
    assert (
        point.tar.value == pytest.approx((genuine >= lowest).mean())
        and point.false_matches == (impostor >= lowest).sum()
    )
    assert point.tar.low is not None and point.tar.low <= point.tar.value <= point.tar.high
    assert not report.verification.points[2].tar.defined and report.verification.points[2].tar.why
    np.fill_diagonal(score, -9)
    first = faces.identity.codes[score.argmax(1)] == faces.identity.codes
    assert report.retrieval.measures["P@1"].value == pytest.approx(first.mean())
    assert report.identification.galleries == 2 and report.identification.n_enrolled == 12
    assert report.clustering is not None and report.clustering.measures["NMI"].value > 0.5
    assert all(one.low is not None for one in measures(report) if one.defined)  # no number without its interval
    worst = report.confusable[0]
    assert worst.first != worst.second and worst.false_matches >= report.confusable[-1].false_matches
    assert report.confused_at == report.verification.points[0].threshold  # 16 false matches are few to divide


def check_report(report: Report) -> Report:
    check(report)
    assert report.verification is not None and report.identification is not None and report.retrieval is not None
    return report


def test_two_models_by_turns() -> None:
    """Queries of one model in the gallery of another: both sides are used, and the order matters."""
    faces = gallery()
    old, new = vectors(faces), vectors(faces, spread=0.5, seed=1, model="new")
    cross = check_report(evaluate(faces, None, FAST, query=new, gallery=old))
    n = len(faces)
    assert (cross.query, cross.gallery) == ("new", "old")
    assert cross.verification.n_genuine + cross.verification.n_impostor == n * (n - 1)
    scores = cross.scores
    assert scores is not None
    unit = [one.vectors / one.norms[:, None] for one in (new, old)]
    for place in (0, 57, 999):
        i, j = scores.first[place], scores.second[place]
        assert scores.score[place] == pytest.approx(float(unit[0][i] @ unit[1][j]), abs=1e-5)
    searches = cross.identification.searches
    row = {int(face): place for place, face in enumerate(faces.ids)}
    for line in np.flatnonzero(searches.mated)[:20].tolist():
        query, mate = row[int(searches.query[line])], row[int(searches.mate[line])]
        assert searches.mate_score[line] == pytest.approx(float(unit[0][query] @ unit[1][mate]), abs=1e-5)
    queries = cross.retrieval.queries
    for line in range(0, len(queries.query), 7):
        query, nearest = row[int(queries.query[line])], row[int(queries.nearest[line])]
        assert queries.nearest_score[line] == pytest.approx(float(unit[0][query] @ unit[1][nearest]), abs=1e-5)
    other = evaluate(faces, None, FAST, query=old, gallery=new)
    assert other.retrieval.measures["MAP@R"].value != cross.retrieval.measures["MAP@R"].value  # type: ignore[union-attr]
    narrow = FeatureSet(faces.ids, new.vectors[:, :8].copy(), new.provenance)
    with pytest.raises(InputError, match="8 dims, old has 16"):
        evaluate(faces, None, FAST, query=narrow, gallery=old)


# Queries of another gallery


def side_by_side(people: int = 12, each: int = 5, m: int = 30) -> tuple[FaceSet, FeatureSet, FeatureSet, Searching]:
    """A gallery, then `m` queries: of its first people, of some whom it does not have, and one whom nobody knows."""
    n = people * each
    whom = [f"p{i % (people + 3):02}" for i in range(m)]
    whom[4] = ""
    faces = FaceSet.build(
        "g",
        Path("."),
        paths=[f"{i:04}.jpg" for i in range(n + m)],
        identities=[*(f"p{i // each:02}" for i in range(n)), *whom],
        columns={"mask": Labels.of([""] * n + ["on" if i % 3 else "off" for i in range(m)])},
    )
    both = vectors(faces)
    queries, rest = faces.ids[n:], faces.ids[:n]
    asked = FeatureSet(queries, both.vectors[n:].copy(), Provenance("q", "new", weights="b"))
    asked.vectors[7] = np.nan
    asked = FeatureSet(queries, asked.vectors, asked.provenance)
    searched = FeatureSet(rest, both.vectors[:n].copy(), Provenance("g", "old", weights="a"))
    return faces, asked, searched, Searching("q", queries)


@pytest.mark.parametrize("counted", [False, True])
def test_queries_of_another_gallery(counted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part against plain loops, also where most pairs are only counted."""
    faces, asked, searched, searching = side_by_side()
    if counted:
        whole = similarity.all_pairs
        monkeypatch.setattr(similarity, "all_pairs", lambda *args, **named: whole(*args, **named, keep=300))
    plan = replace(FAST, breakdown="mask")
    report = check_report(evaluate(faces, None, plan, query=asked, gallery=searched, searching=searching))
    unit = [one.vectors.astype(np.float64) / np.linalg.norm(one.vectors, axis=1)[:, None] for one in (asked, searched)]
    used = np.array([i for i in range(30) if i not in (4, 7)])
    score, who, whose = (unit[0] @ unit[1].T)[used], faces.identity.codes[60:][used], faces.identity.codes[:60]
    same = who[:, None] == whose[None, :]
    found, scores = report.verification, report.scores
    assert (found.n_genuine, found.n_impostor) == (same.sum(), (~same).sum())
    assert (scores.bulk is not None) == counted and found.resampled == "identities"
    k = int(0.01 * found.n_impostor)
    lowest = min(t for t in score.ravel() if (score[~same] >= t).sum() <= k)
    assert found.points[1].tar.value == pytest.approx((score[same] >= lowest).mean())
    assert found.points[1].tar.low <= found.points[1].tar.value <= found.points[1].tar.high
    assert np.isin(scores.ids[scores.first], searching.ids).all()
    assert not np.isin(scores.ids[scores.second], searching.ids).any()

    known = same.any(1)
    mate = np.where(same, score, -9).max(1)
    rank = 1 + ((score >= mate[:, None]) & ~same).sum(1)
    searches = report.identification
    assert (searches.n_mated, searches.n_unmated, searches.n_gallery) == (known.sum(), (~known).sum(), 60)
    assert searches.ranks[0][1].value == pytest.approx((rank[known] == 1).mean())
    assert searches.galleries == 1 and "Every face of the gallery is enrolled" in searches.how

    order = np.argsort(-score, axis=1)
    hits = np.take_along_axis(same, order, axis=1)
    R = same.sum(1)[known]
    precision = [hits[q][:r].sum() / r for q, r in zip(np.flatnonzero(known), R)]
    assert report.retrieval.measures["RP"].value == pytest.approx(np.mean(precision))
    assert (report.retrieval.n_queries, report.retrieval.n_gallery) == (known.sum(), 60)
    assert report.retrieval.measures["P@1"].value == pytest.approx(hits[known, 0].mean())
    assert report.retrieval.how == "Every query is searched in the whole gallery."

    assert [one.value for one in report.slices] == ["off", "on"]
    for one, value in zip(report.slices, (0, 1)):
        mine = (used % 3 > 0) == value
        assert (one.n_genuine, one.n_impostor) == (same[mine].sum(), (~same[mine]).sum())
        t = found.points[1].threshold
        assert one.tar[1][1].value == pytest.approx((score[mine][same[mine]] >= np.float32(t)).mean())
    notes = " ".join(report.notes)
    for words in ("1 face is left out", "1 face has no identity", "different weights", "mask of the query"):
        assert words in notes

    taken, total = pairs_between(
        faces, None, plan, query=asked, gallery=searched, searching=searching, low=0.2, high=2.0, genuine=False, limit=9
    )
    assert total == ((score >= 0.2) & ~same).sum() and taken.score[0] == pytest.approx(score[~same].max())


def test_pairs_on_tap_are_those_of_the_scores() -> None:
    faces = gallery()
    old, new = vectors(faces), vectors(faces, seed=1, model="new")
    report = evaluate(faces, None, replace(FAST, parts=("verification",)), query=old)
    assert report.scores is not None and report.verification is not None
    point = report.verification.points[0]
    assert point.threshold is not None
    pairs, total = pairs_between(faces, None, FAST, gallery=old, low=point.threshold, high=2, genuine=False, limit=5)
    assert total == point.false_matches > 5
    kept = report.scores.between(point.threshold, 2.0, genuine=False)
    np.testing.assert_array_equal(pairs.score, report.scores.score[kept[:5]])
    crossed, total = pairs_between(faces, None, FAST, gallery=old, query=new, low=-1, high=2, limit=7)
    assert len(crossed.score) == 7 and total == len(faces) * (len(faces) - 1)


def test_both_models_with_queries_of_another_gallery() -> None:
    faces, asked, searched, searching = side_by_side()
    better = [replace(one, vectors=np.round(one.vectors), norms=np.zeros(0)) for one in (asked, searched)]
    known = {"a": searched, "query_a": asked, "b": better[1], "query_b": better[0]}
    found = evaluate_both(faces, None, FAST, **known, searching=searching)
    check(found)
    assert (found.faces, found.identities) == (60, 12)
    assert found.queries == QuerySet("q", 30, 15, 12)
    assert found.paired.n_genuine == found.a.verification.n_genuine and found.paired_search is not None
    assert found.digest != evaluate_both(faces, None, FAST, **known, searching=Searching("q", faces.ids[50:])).digest
    fewer = evaluate_both(faces, None, FAST, **known, searching=searching, excluded=faces.ids[[0, 61]])
    assert fewer.faces == 59 and fewer.queries.faces == 29
    with pytest.raises(ValueError, match="vectors of their own"):
        evaluate_both(faces, None, FAST, a=searched, searching=searching)
    narrow = replace(asked, vectors=asked.vectors[:, :8].copy())
    with pytest.raises(InputError, match="8 dims, old has 16"):
        evaluate(faces, None, FAST, query=narrow, gallery=searched, searching=searching)


def test_a_published_gallery_with_queries_of_another() -> None:
    faces, asked, searched, searching = side_by_side()
    rows = np.arange(60)
    groups = {"gallery1": rows[rows % 10 == 0], "gallery2": rows[rows % 10 == 5], "query": rows[1::2]}
    test = Protocol("pub", None, groups)
    plan = replace(FAST, protocol="pub")
    report = check_report(evaluate(faces, test, plan, query=asked, gallery=searched, searching=searching))
    assert report.identification.n_gallery == 12 and report.identification.galleries == 2
    assert set(report.identification.searches.query.tolist()) <= set(searching.ids.tolist())
    assert report.retrieval.n_gallery == 12 and "as published with pub" in report.identification.how
    known = {"query_a": asked, "a": searched, "searching": searching}
    assert evaluate_both(faces, test, plan, **known).protocol == "pub"
    pairs = listed(faces.take(np.arange(60)))
    found = evaluate_both(faces, pairs, replace(FAST, protocol="test"), **known)
    assert found.protocol == ALL_PAIRS and any("test compares faces of the gallery" in note for note in found.a.notes)
    nobody = FaceSet.build("n", Path("."), paths=["a", "b", "c"], identities=["x", "x", "y"])
    alone = evaluate(
        nobody,
        None,
        FAST,
        query=FeatureSet(nobody.ids[2:], np.ones((1, D), np.float32), Provenance("1", "net", weights="w")),
        gallery=FeatureSet(nobody.ids[:2], np.ones((2, D), np.float32), Provenance("2", "net", weights="w")),
        searching=Searching("q", nobody.ids[2:]),
    )
    check(alone)
    one = FaceSet.build("o", Path("."), paths=list("abcdefgh"), identities=["x", "x", "y", "z", "x", "v", "w", "x"])
    known = vectors(one)
    sides = [
        FeatureSet(one.ids[part], known.vectors[part].copy(), Provenance(name, "net", weights="w"))
        for part, name in ((slice(4, 8), "q"), (slice(0, 4), "g"))
    ]
    mated = evaluate(one, None, FAST, query=sides[0], gallery=sides[1], searching=Searching("q", one.ids[4:]))
    shown = [*mated.retrieval.measures.values(), *(m for _, m in mated.identification.ranks), mated.verification.eer]
    assert all(m.low is None for m in shown) and any(m.value is not None for m in shown)  # one person has no spread
    assert any("No query shows a person of the gallery" in note for note in alone.notes)
    assert not any("weights" in note for note in alone.notes)


def listed(faces: FaceSet, n: int = 40) -> Protocol:
    rng = np.random.default_rng(2)
    pairs = np.array([rng.choice(len(faces), 2, replace=False) for _ in range(n)], np.int64)
    pairs[: n // 2, 1] = pairs[: n // 2, 0] // 5 * 5 + (pairs[: n // 2, 0] + 1) % 5
    codes = faces.identity.codes
    same = codes[pairs[:, 0]] == codes[pairs[:, 1]]
    return Protocol("test", Pairs(pairs, same, (np.arange(n) % 4).astype(np.int32)))


def test_published_pairs() -> None:
    faces = gallery()
    features = vectors(faces)
    protocol = listed(faces)
    plan = replace(FAST, protocol="test")
    report = evaluate(faces, protocol, plan, query=features)
    check(report)
    verified = report.verification
    assert verified is not None and verified.n_genuine == protocol.pairs.same.sum()  # type: ignore[union-attr]
    assert verified.n_genuine + verified.n_impostor == 40 and verified.folds is not None
    assert evaluate(faces, protocol, FAST, query=features).verification.n_genuine == 120  # type: ignore[union-attr]
    # a face without vector, and an excluded one: their pairs are counted as missing
    a, b = protocol.pairs.pairs[0].tolist(), protocol.pairs.pairs[25].tolist()  # type: ignore[union-attr]
    lost = features.vectors.copy()
    lost[a[0]] = np.nan
    hurt = FeatureSet(faces.ids, lost, features.provenance)
    report = evaluate(faces, protocol, plan, query=hurt, excluded=faces.ids[[b[0]]])
    out = np.isin(protocol.pairs.pairs, [a[0], b[0]]).any(1).sum()  # type: ignore[union-attr]
    assert report.scores is not None and report.scores.missing == out and len(report.scores.score) == 40 - out
    assert any(f"{out} listed pairs could not be compared" in note for note in report.notes)
    assert any("1 excluded face" in note for note in report.notes) and any("no use" in note for note in report.notes)
    with pytest.raises(InputError):
        evaluate(faces, None, plan, query=features)


def test_published_galleries_and_cameras() -> None:
    faces = gallery()
    groups = {"query": np.arange(0, 60, 5), "gallery": np.setdiff1d(np.arange(60), np.arange(0, 60, 5))}
    report = evaluate(faces, Protocol("m", None, groups), replace(FAST, protocol="m"), query=vectors(faces))
    check(report)
    assert report.retrieval is not None and report.identification is not None
    assert report.retrieval.n_queries == 12 and report.retrieval.n_gallery == 48 == report.identification.n_gallery
    assert report.identification.galleries == 1 and "mAP" in report.retrieval.measures
    assert any("lists no pairs" in note for note in report.notes)
    found = evaluate(faces, Protocol("m", None, groups), replace(FAST, protocol="m", junk=False), query=vectors(faces))
    assert found.retrieval.queries.findable.sum() > report.retrieval.queries.findable.sum()  # type: ignore[union-attr]


def ijb() -> tuple[FaceSet, Protocol]:
    """Every person in three templates: pictures 0 1, 2 3, and 3 4, so that picture 3 is in two."""
    faces = gallery()
    template, row = [], []
    for person in range(12):
        for part, members in enumerate(((0, 1), (2, 3), (3, 4))):
            template += [10 * person + part] * 2
            row += [5 * person + member for member in members]
    members = Templates(np.array(template), np.array(row), np.zeros(len(row), np.int64))
    numbers = members.numbers
    a, b = np.triu_indices(len(numbers), 1)
    pairs = np.stack([numbers[a], numbers[b]], 1)
    groups = {"gallery1": np.arange(0, 60, 10), "gallery2": np.arange(60, 120, 10), "query": numbers[numbers % 10 > 0]}
    same = pairs[:, 0] // 10 == pairs[:, 1] // 10
    listed = Pairs(pairs, same, np.zeros(len(pairs), np.int32), of="template")
    return faces, Protocol("IJB", listed, groups, groups_of="template", templates=members)


@pytest.mark.parametrize("empty", ["missing", "lowest"])
def test_templates(empty: str) -> None:
    faces, protocol = ijb()
    features = vectors(faces)
    plan = replace(FAST, protocol="IJB", empty_templates=empty, breakdown="light")
    report = check_report(evaluate(faces, protocol, plan, query=features))
    assert report.of == "template" and report.scores is not None and report.scores.of == "template"
    assert (report.verification.n_genuine, report.verification.n_impostor) == (36, 36 * 35 // 2 - 36)
    assert (report.identification.n_mated, report.identification.n_unmated) == (24, 24)
    assert report.retrieval.n_queries == 24 and any("detector scores" in note for note in report.notes)
    # every template has pictures of both values of light, so it has none
    assert not report.slices and any("36 have no value of light (or several)" in note for note in report.notes)
    hurt = features.vectors.copy()
    hurt[:2] = 0
    lost = evaluate(faces, protocol, plan, query=FeatureSet(faces.ids, hurt, features.provenance))
    check(lost)
    assert lost.verification is not None and lost.scores is not None
    if empty == "missing":
        assert lost.verification.n_genuine == 34 and lost.scores.missing == 35
    else:
        assert lost.verification.n_genuine == 36 and lost.scores.missing == 0
        assert (lost.scores.score[-35:] == -2).all() and any("scored lowest" in note for note in lost.notes)
    assert any("1 template has no usable picture" in note for note in lost.notes)
    cross = evaluate(faces, protocol, plan, query=features, gallery=vectors(faces, seed=1, model="new"))
    check(cross)
    assert any("unit length" in note for note in cross.notes) and cross.scores is not None
    plain = FeatureSet(faces.ids, features.vectors / features.norms[:, None], features.provenance)
    again = evaluate(faces, protocol, plan, query=plain, gallery=vectors(faces, seed=1, model="new"))
    np.testing.assert_allclose(cross.scores.score, again.scores.score, atol=1e-6)  # type: ignore[union-attr]
    assert np.ptp(features.norms) > 1


def test_breakdown_uses_the_thresholds_of_all() -> None:
    faces = gallery()
    features = vectors(faces)
    report = check_report(evaluate(faces, None, replace(FAST, breakdown="light"), query=features))
    assert [one.value for one in report.slices] == ["day", "night"] and sum(one.faces for one in report.slices) == 60
    scores, threshold = report.scores, report.verification.points[0].threshold
    assert scores is not None and threshold is not None
    codes = faces.columns["light"].codes  # type: ignore[union-attr]
    for one, code in zip(report.slices, (0, 1), strict=True):
        inside = (codes[scores.first] == code) & (codes[scores.second] == code)
        genuine, impostor = scores.score[inside & scores.genuine], scores.score[inside & ~scores.genuine]
        assert (one.n_genuine, one.n_impostor) == (len(genuine), len(impostor))
        tar, far = one.tar[0][1], one.far[0][1]
        assert tar.value == pytest.approx((genuine >= threshold).mean())
        assert far.value == pytest.approx((impostor >= threshold).mean())
        assert tar.low is not None and tar.low <= tar.value <= tar.high and far.low <= far.value <= far.high  # type: ignore[operator]
        assert not one.tar[2][1].defined and one.eer.defined
    binned = evaluate(faces, None, replace(FAST, breakdown="age", parts=("verification",)), query=features)
    assert [one.value for one in binned.slices] == ["0 to 14.75", "14.75 to 29.5", "29.5 to 44.25", "44.25 to 59"]
    assert [one.faces for one in binned.slices] == [15, 15, 15, 15]
    clean = [one.far[1][1] for one in binned.slices if one.far[1][1].value == 0]
    assert clean and all(far.high == pytest.approx(3 / far.n) for far in clean)  # none of 75 may still be 4 %
    none = evaluate(faces, None, replace(FAST, breakdown="nothing"), query=features)
    assert not none.slices and any("no column nothing" in note for note in none.notes)


def test_slices_are_the_same_where_pairs_are_only_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    faces = gallery()
    plan = replace(FAST, breakdown="light", parts=("verification",), resamples=0)
    whole = evaluate(faces, None, plan, query=vectors(faces))
    real = similarity.all_pairs
    monkeypatch.setattr(similarity, "all_pairs", lambda *a, **k: real(*a, **{**k, "keep": 600}))
    counted = evaluate(faces, None, plan, query=vectors(faces))
    assert counted.scores is not None and counted.scores.bulk is not None
    for one, other in zip(whole.slices, counted.slices, strict=True):
        assert (one.n_genuine, one.n_impostor) == (other.n_genuine, other.n_impostor)
        assert one.tar[0][1].value == pytest.approx(other.tar[0][1].value, abs=0.02)


def test_both_models_and_their_difference() -> None:
    faces = gallery()
    old, new = vectors(faces), vectors(faces, spread=0.4, seed=1, model="new")
    both = evaluate_both(faces, None, FAST, a=old, b=new)
    check(both)
    assert both.a is not None and both.b is not None and both.paired is not None
    for point, a, b in zip(both.paired.points, both.a.verification.points, both.b.verification.points, strict=True):  # type: ignore[union-attr]
        if point.tar.defined:
            assert point.tar.value == pytest.approx(b.tar.value - a.tar.value)  # type: ignore[operator]
    assert both.paired_search is not None and both.paired_retrieval is not None
    assert (both.faces, both.identities, both.protocol) == (60, 12, ALL_PAIRS)
    again = evaluate_both(faces, None, FAST, a=old, b=new)
    assert again.digest == both.digest
    assert evaluate_both(faces, None, replace(FAST, seed=1), a=old, b=new).digest != both.digest
    assert evaluate_both(faces, None, FAST, a=old).digest != both.digest
    alike = evaluate_both(faces, None, FAST, a=old, b=old)
    assert alike.paired is not None and alike.paired.eer.value == 0
    twin = FeatureSet(new.ids, new.vectors, replace(new.provenance, model="old"))
    named = evaluate_both(faces, None, replace(FAST, parts=("verification",)), a=old, b=twin)
    assert named.a is not None and named.b is not None and (named.a.gallery, named.b.gallery) == ("old", "old (2)")


def test_differences_are_of_what_both_could_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    faces = gallery()
    old, new = vectors(faces), vectors(faces, spread=0.4, seed=1, model="new")
    hurt = new.vectors.copy()
    hurt[[3, 8]] = np.nan
    new = FeatureSet(new.ids, hurt, new.provenance)
    plan = replace(FAST, parts=("verification",))
    both = evaluate_both(faces, None, plan, a=old, b=new)
    assert both.paired is not None and (both.paired.n_genuine, both.paired.n_impostor) == (112, 1541)
    real = similarity.all_pairs
    monkeypatch.setattr(similarity, "all_pairs", lambda *a, **k: real(*a, **{**k, "keep": 600}))
    counted = evaluate_both(faces, None, plan, a=old, b=new)
    assert counted.paired is not None and (counted.paired.n_genuine, counted.paired.n_impostor) == (112, 1541)
    assert not counted.paired.notes
    for one, other in zip(both.paired.points[:2], counted.paired.points[:2], strict=True):
        assert one.tar.value == pytest.approx(other.tar.value)


def test_clustering_is_left_out_where_it_takes_too_long() -> None:
    faces = gallery()
    report = evaluate(faces, None, replace(FAST, parts=("retrieval",), clustered=100), query=vectors(faces))
    assert report.clustering is None and any("Clustering is left out" in note for note in report.notes)
    report = evaluate(faces, None, replace(FAST, parts=("retrieval",), nmi_mean=""), query=vectors(faces))
    assert report.clustering is None and not report.notes


SINGLE = [f"s{i}" for i in range(6)]


def dirty(case: str) -> tuple[FaceSet, FeatureSet]:
    faces = gallery(3, 2)
    if case == "empty":
        faces = faces.take(np.zeros(0, np.int64))
    elif case == "one face":
        faces = faces.take(np.array([0]))
    elif case == "one identity":
        faces = gallery(3, 2, identities=["x"] * 6)
    elif case == "all singletons":
        faces = gallery(3, 2, identities=list(SINGLE))
    elif case == "no identities":
        faces = gallery(3, 2, identities=[None] * 6)
    elif case == "half without identity":
        faces = gallery(3, 2, identities=["a", "a", "b", None, None, None])
    features = vectors(faces)
    made = features.vectors.copy()
    if case == "all nan":
        made[:] = np.nan
    elif case == "some nan":
        made[0], made[3] = np.nan, np.inf
    elif case == "zeros":
        made[:] = 0
    elif case == "constant":
        made[:] = 1
    elif case == "ties":
        made[:] = np.sign(made[:, :1]) * np.eye(1, D)
    elif case == "no vectors":
        return faces, FeatureSet(np.zeros(0, np.int64), np.zeros((0, D), np.float32), Provenance("n", "none"))
    return faces, FeatureSet(faces.ids, made, features.provenance)


CASES = (
    "empty",
    "one face",
    "one identity",
    "all singletons",
    "no identities",
    "half without identity",
    "all nan",
    "some nan",
    "zeros",
    "constant",
    "ties",
    "no vectors",
)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("crossed", [False, True])
def test_dirty_galleries_have_stated_results(case: str, crossed: bool) -> None:
    faces, features = dirty(case)
    plan = replace(FAST, breakdown="light", resamples=20)
    other = None
    if crossed:
        other = FeatureSet(features.ids, features.vectors[:, ::-1].copy(), replace(features.provenance, model="b"))
    report = check_report(evaluate(faces, None, plan, query=features, gallery=other))
    values = {one.value for one in measures(report.verification)}
    if case in (
        "empty",
        "one face",
        "one identity",
        "all singletons",
        "no identities",
        "all nan",
        "zeros",
        "no vectors",
    ):
        assert values == {None}, case
        assert all(point.threshold is None for point in report.verification.points)
    if case == "constant":
        assert report.verification.auc.value == 0.5 and report.verification.points[0].tar.value == 0
    both = evaluate_both(faces, None, plan, a=features, b=other or features)
    check(both)


@pytest.mark.parametrize("case", CASES)
def test_dirty_galleries_with_published_pairs(case: str) -> None:
    faces, features = dirty(case)
    n = len(faces)
    pairs = np.array([[0, 1], [2, 3], [0, 4], [1, 5]]) if n == 6 else np.zeros((0, 2), np.int64)
    same = np.array([True, True, False, False]) if n == 6 else np.zeros(0, bool)
    protocol = Protocol("p", Pairs(pairs, same, np.zeros(len(pairs), np.int32)))
    report = evaluate(faces, protocol, replace(FAST, protocol="p", resamples=20), query=features)
    check(report)
    if case == "no identities":
        assert report.verification is not None and report.verification.n_genuine == 2
        assert report.verification.resampled == "pairs" and any("no identity" in note for note in report.notes)


def test_stops_when_asked() -> None:
    faces = gallery()

    def stop(done: int, total: int, note: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        evaluate(faces, None, FAST, query=vectors(faces), tick=stop)
    seen: list[tuple[int, int]] = []
    evaluate(faces, None, FAST, query=vectors(faces), tick=lambda done, total, note="": seen.append((done, total)))
    shares = [done / total for done, total in seen]
    assert shares == sorted(shares) and shares[-1] == 1.0


def test_verification_is_offered_before_the_rest() -> None:
    class Watching:
        def __init__(self) -> None:
            self.seen: list[Evaluation] = []

        def __call__(self, done: int, total: int, note: str = "") -> None: ...

        def partial(self, value: Evaluation) -> None:
            self.seen.append(value)

    faces, tick = gallery(), Watching()
    both = evaluate_both(faces, None, FAST, a=vectors(faces), b=vectors(faces, seed=1, model="new"), tick=tick)
    first, second = tick.seen
    assert both.complete and not first.complete and not second.complete and first.digest == both.digest
    assert first.a is not None and first.a.verification is not None and first.a.retrieval is None and first.b is None
    assert second.a is both.a and second.b is not None and second.b.scores is both.b.scores  # type: ignore[union-attr]
    alone = Watching()
    evaluate_both(faces, None, replace(FAST, parts=("verification",)), a=vectors(faces), tick=alone)
    assert not alone.seen


def test_results_travel_between_processes() -> None:
    faces = gallery()
    both = evaluate_both(faces, None, replace(FAST, breakdown="light"), a=vectors(faces), b=vectors(faces, seed=1))
    again = pickle.loads(pickle.dumps(both))
    assert measures(again) == measures(both)
