"""Uncertainty: models of different spaces, put together; who is unsure, and what refusing does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses.correlation import spearman
from facelens.analyses.plan import EnsemblePlan
from facelens.analyses.uncertainty import Uncertainty, assess, update_query
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet, Labels

PEOPLE, PICTURES, DIMENSIONS = 60, 6, 16
PLAN = EnsemblePlan(members=("a", "b", "c"), target="c", far=1e-2, resamples=50)


@pytest.fixture(scope="module")
def world() -> tuple[FaceSet, dict[str, FeatureSet], np.ndarray]:
    """People in 16 dimensions; three models see them turned, at 24, 20 and 16 dimensions; some pictures are noisy."""
    rng = np.random.default_rng(0)
    n = PEOPLE * PICTURES
    who = np.repeat(np.arange(PEOPLE), PICTURES)
    noise = np.where(rng.random(n) < 0.2, 2.5, 0.3)
    centres = rng.normal(size=(PEOPLE, DIMENSIONS))
    faces = FaceSet.build(
        "drawn",
        Path("nowhere"),
        paths=[f"p{p:02}/{i}.png" for p in range(PEOPLE) for i in range(PICTURES)],
        identities=[f"p{p:02}" for p in who],
        columns={"noise": noise.astype(np.float32), "quality": -noise},
    )
    truth = centres[who] + 0.3 * rng.normal(size=(n, DIMENSIONS))
    features = {}
    for name, dimensions in (("a", 24), ("b", 20), ("c", 16)):
        turn = np.linalg.qr(rng.normal(size=(dimensions, DIMENSIONS)))[0]
        seen = (truth + noise[:, None] * rng.normal(size=truth.shape) / 2) @ turn.T
        features[name] = FeatureSet(faces.ids, seen.astype(np.float32), Provenance(fingerprint=name, model=name))
    return faces, features, noise


@pytest.fixture(scope="module")
def found(world: tuple[FaceSet, dict[str, FeatureSet], np.ndarray]) -> Uncertainty:
    faces, features, _ = world
    return assess(faces, PLAN, features=features, networks={"a": "x", "b": "y", "c": "x"})


def test_people_it_was_fitted_on_are_not_shown(world: tuple, found: Uncertainty) -> None:
    faces, _, _ = world
    shown = set(faces.identity.codes[faces.rows_of(found.ids)].tolist())
    assert found.fitted_people + found.shown_people == PEOPLE
    assert len(shown) == found.shown_people == 30
    assert len(found.ids) + found.fitted_faces == len(faces)


def test_variance_tells_noisy_pictures(world: tuple, found: Uncertainty) -> None:
    faces, _, noise = world
    injected = noise[faces.rows_of(found.ids)]
    assert found.variance[injected > 1].min() > np.median(found.variance[injected < 1])
    assert spearman(found.variance, injected).value > 0.6


def test_refusing_the_unsure_leaves_fewer_errors(found: Uncertainty) -> None:
    for risk in (found.verification, found.identification):
        assert risk is not None
        assert risk.error.value[0] > 0.02
    risk = found.verification
    step = int(np.abs(risk.coverage - 0.8).argmin())
    assert risk.error.value[step] < 0.6 * risk.error.value[0]
    assert risk.change.value[step] == pytest.approx(risk.error.value[step] / risk.error.value[0] - 1)
    assert risk.change.high[step] < 0


def test_members_are_chance_before_and_good_after_mapping(found: Uncertainty) -> None:
    by_name = {one.name: one for one in found.members}
    assert by_name["c"].how == "itself"
    assert by_name["a"].how in ("ridge", "procrustes")
    assert by_name["a"].why
    assert not by_name["a"].raw.defined  # 24 dimensions against 16
    assert by_name["a"].alone.value > 0.5
    assert found.together.value > max(one.alone.value for one in found.members) - 0.02


@pytest.mark.parametrize("changes", [{"queries": "ensemble"}, {"mode": "unified", "method": "ridge"}])
def test_before_mapping_is_against_the_query_model_as_it_is(world: tuple, changes: dict[str, str]) -> None:
    faces, features, _ = world
    turn = np.linalg.qr(np.random.default_rng(9).normal(size=(DIMENSIONS, DIMENSIONS)))[0].astype(np.float32)
    turned = replace(features["c"], vectors=features["c"].vectors @ turn, provenance=Provenance("d", "d"))
    plan = replace(PLAN, members=("d", "c"), resamples=0, **changes)
    found = assess(faces, plan, features={**features, "d": turned})
    assert found.members[0].raw.value < 0.2 < found.members[0].alone.value
    assert found.members[1].raw.value > 0.5


def test_larger_ensembles_are_better(found: Uncertainty) -> None:
    best = {size.members: size.verification.value for size in found.sizes if size.diversity == "D-TGA"}
    assert best[3] > best[min(best)]


def test_another_score_refuses_by_itself(world: tuple, found: Uncertainty) -> None:
    faces, features, _ = world
    by = assess(faces, replace(PLAN, by="quality", lower=True), features=features)
    np.testing.assert_array_equal(by.values, -np.asarray(faces.columns["quality"])[faces.rows_of(by.ids)])
    np.testing.assert_allclose(by.variance, found.variance)
    with pytest.raises(InputError, match="no score"):
        assess(faces, replace(PLAN, by="beauty"), features=features)


def test_transforms_are_fitted_once(world: tuple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from facelens.features import fitting

    faces, features, _ = world
    first = assess(faces, PLAN, features=features, folder=tmp_path)
    monkeypatch.setattr(fitting, "fit", lambda *_, **__: pytest.fail("fitted again"))
    again = assess(faces, PLAN, features=features, folder=tmp_path)
    np.testing.assert_array_equal(again.variance, first.variance)


def test_a_transform_of_a_file_maps_everybody(world: tuple, tmp_path: Path) -> None:
    from facelens.features import fitting, transforms

    faces, features, _ = world
    files = []
    for name in ("a", "b"):
        made = fitting.fit(features[name].vectors, features["c"].vectors, faces.identity.codes, method="ridge")
        transforms.save(made.transform, tmp_path / name)
        files.append((name, str(tmp_path / name)))
    plan = replace(PLAN, files=tuple(files))
    found = assess(faces, plan, features=features)
    assert found.fitted_people == 0
    assert len(found.ids) == len(faces)
    with pytest.raises(InputError, match="takes 24 dimensions"):
        assess(faces, replace(plan, files=(("b", str(tmp_path / "a")),)), features=features)
    with pytest.raises(InputError, match="gives 16 dimensions, b has 20"):
        assess(faces, replace(plan, target="b", files=(("a", str(tmp_path / "a")),)), features=features)
    with pytest.raises(InputError, match="of every model, or of none"):
        assess(faces, replace(plan, mode="unified"), features=features)


def test_a_filter_says_what_is_fitted_on(world: tuple) -> None:
    faces, features, _ = world
    fitting = faces.ids[: 20 * PICTURES : 2]  # every other picture of 20 people
    found = assess(faces, PLAN, features=features, fitting=fitting)
    assert (found.fitted_people, found.fitted_faces) == (20, len(fitting))
    assert found.shown_people == 40
    with pytest.raises(InputError, match="No face passes"):
        assess(faces, PLAN, features=features, fitting=np.zeros(0, np.int64))


def test_one_model_with_several_transforms(world: tuple) -> None:
    faces, features, _ = world
    found = assess(faces, replace(PLAN, members=("a",), copies=3), features=features)
    assert [one.name for one in found.members] == ["a (1)", "a (2)", "a (3)"]
    assert {size.diversity for size in found.sizes if size.members > 1} == {"D-T"}


def test_a_common_space_of_its_own(world: tuple) -> None:
    faces, features, _ = world
    found = assess(faces, replace(PLAN, mode="unified", method="ridge"), features=features)
    assert (found.mode, found.target) == ("unified", "")
    assert found.together.value > 0.4


def test_a_new_query_model_searches_the_stored_vectors(world: tuple) -> None:
    faces, features, _ = world
    plan = replace(PLAN, members=("a", "b"), target="a")
    found = update_query(faces, plan, features=features, target="c")
    assert [row[0] for row in found.rows] == ["1:1", "1:N"]
    for _, before, after in found.rows:
        assert before.value > 0.4
        assert after.value > 0.4
    with pytest.raises(InputError, match="query model already"):
        update_query(faces, plan, features=features, target="a")


def test_faces_that_a_model_does_not_know_are_left_out_and_counted(world: tuple) -> None:
    faces, features, _ = world
    short = features["b"]
    less = FeatureSet(short.ids[5:], short.vectors[5:], short.provenance)
    found = assess(faces, PLAN, features={**features, "b": less})
    assert "5 faces are left out: a model has no vector of them." in found.notes
    assert not np.isin(faces.ids[:5], found.ids).any()


def test_nobody_has_a_name(world: tuple) -> None:
    faces, features, _ = world
    nameless = replace(faces, identity=Labels.of([None] * len(faces)))
    found = assess(nameless, PLAN, features=features)
    assert np.isfinite(found.variance).all()
    assert not found.together.defined
    assert found.together.why == "no pair was compared"


def test_the_query_model_stays_as_it_is_whatever_file_it_has(world: tuple, tmp_path: Path) -> None:
    from facelens.features import fitting, transforms

    faces, features, _ = world
    turned = fitting.fit(features["c"].vectors, -features["c"].vectors, faces.identity.codes, method="ridge")
    transforms.save(turned.transform, tmp_path / "c")
    plain, given = (
        assess(faces, replace(PLAN, files=files), features=features) for files in ((), (("c", str(tmp_path / "c")),))
    )
    np.testing.assert_array_equal(given.variance, plain.variance)
    assert given.members[-1].how == "itself"


def test_a_transform_into_another_space_is_told(world: tuple, tmp_path: Path) -> None:
    from facelens.features import fitting, transforms

    faces, features, _ = world
    vectors = features["b"].vectors, features["c"].vectors
    made = fitting.fit(*vectors, faces.identity.codes, method="ridge", names=("b", "d"))
    transforms.save(made.transform, tmp_path / "b")
    found = assess(faces, replace(PLAN, files=(("b", str(tmp_path / "b")),)), features=features)
    assert "b was fitted into d, not into c." in found.notes


def test_before_and_after_an_update_are_of_the_same_people(world: tuple, tmp_path: Path) -> None:
    from facelens.features import fitting, transforms

    faces, features, _ = world
    made = fitting.fit(features["b"].vectors, features["a"].vectors, faces.identity.codes, method="ridge")
    transforms.save(made.transform, tmp_path / "b")
    plan = replace(PLAN, members=("a", "b"), target="a", files=(("b", str(tmp_path / "b")),))
    found = update_query(faces, plan, features=features, target="c")
    for _, before, after in found.rows:
        assert before.n == after.n
    fitted_here = update_query(faces, replace(plan, files=()), features=features, target="c")
    other_space = update_query(faces, replace(plan, mode="unified"), features=features, target="c")
    assert other_space.rows[0][1].value == fitted_here.rows[0][1].value
    with pytest.raises(InputError, match="but those of b itself"):
        update_query(faces, replace(PLAN, members=("b",), target="a", copies=3), features=features, target="b")


def test_templates_are_weighed_by_variance_whatever_is_refused_by(world: tuple, found: Uncertainty) -> None:
    faces, features, _ = world
    plan = replace(PLAN, by="quality", weights="inverse")  # qualities are negative here
    by_quality = assess(faces, plan, features=features)
    assert by_quality.identification.error.value[0] == pytest.approx(1 - by_quality.weighted.value)
    assert by_quality.weighted.value == found.weighted.value


def test_all_are_compared_on_the_same_people(world: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    from facelens.analyses import uncertainty

    faces, features, _ = world
    monkeypatch.setattr(uncertainty, "AMONG", 40)
    names = [faces.identity.name(row) if row < 300 else None for row in range(len(faces))]
    found = assess(replace(faces, identity=Labels.of(names)), PLAN, features=features)
    assert found.together.defined
    assert found.members[0].alone.n == found.together.n
    assert "Members are compared on 36 faces of 6 people." in found.notes
