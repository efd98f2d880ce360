"""Spaces: who counts, how new queries meet the old gallery, and when two models do not understand each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses import mapping
from facelens.analyses.measure import Measure
from facelens.analyses.spaces import SELF, Spaces, at_chance, spaces
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Labels
from tests.analyses.upgraded import PEOPLE, PLAN, D, gallery, models

Made = tuple[FaceSet, dict[str, FeatureSet]]


@pytest.fixture(scope="module")
def world() -> Made:
    faces = gallery()
    return faces, models(faces)


@pytest.fixture(scope="module")
def apart(world: Made) -> Spaces:
    faces, features = world
    return spaces(faces, replace(PLAN, new="apart"), features=features)


def closeness(query: np.ndarray, gallery: np.ndarray) -> float:
    """The mean cosine of the two vectors of a face."""
    return float((query * gallery).sum(1).mean())


def test_models_of_one_space_meet_as_they_are(world: Made) -> None:
    faces, features = world
    found = spaces(faces, replace(PLAN, upper="upper", others=("mid",)), features=features)
    assert (found.direction, found.models) == ("direct", ("old", "new", "upper", "mid"))
    assert found.ids.tolist() == faces.ids.tolist() and found.people == PEOPLE
    assert not found.mapped and not found.fitted and found.fitted_people == 0
    assert found.directions("new", "old") == ("direct",) and found.directions("old", "old") == (SELF,)
    query, searched = found.sides("new", "old")
    assert query is found.vectors["new"] and searched is found.vectors["old"]
    assert found.sides("mid", "mid")[0] is found.sides("mid", "mid")[1]
    assert np.allclose(np.linalg.norm(query, axis=1), 1, atol=1e-6)


def test_models_that_do_not_understand_each_other_are_mapped(apart: Spaces) -> None:
    assert apart.directions("apart", "old") == ("direct", "backward", "forward") and apart.direction != "direct"
    assert {one.direction for one in apart.fitted} == {"backward", "forward"} and all(one.why for one in apart.fitted)
    assert abs(closeness(*apart.sides("apart", "old", "direct"))) < 0.15
    for direction, moved in (("backward", "apart"), ("forward", "old")):
        query, searched = apart.sides("apart", "old", direction)
        assert (query is apart.vectors["apart"]) == (moved == "old")
        assert (searched is apart.vectors["old"]) == (moved == "apart")
        assert closeness(query, searched) > 0.6
        assert np.allclose(np.linalg.norm(apart.mapped[direction], axis=1), 1, atol=1e-5)
        other = apart.sides("old", "apart", direction)  # the other order: the same vectors, the other way round
        assert other[0] is searched and other[1] is query


@pytest.mark.parametrize(("better", "direction"), [("apart", "backward"), ("", "forward")])
def test_the_direction_that_did_better_in_fitting_is_meant(
    world: Made, monkeypatch: pytest.MonkeyPatch, better: str, direction: str
) -> None:
    from facelens.features import fitting
    from facelens.features.held_out import Check

    faces, features = world
    copies = fitting.copies

    def judged(*args: object, names: tuple[str, str] = ("", ""), **kwargs: object) -> list[fitting.Fit]:
        made = copies(*args, names=names, **kwargs)  # type: ignore[arg-type]
        check = Check("procrustes", 0.0, "1e-2", 0.9 if names == (better, "old") else 0.8, 2.0, 20)
        return [replace(one, checks=(check,)) for one in made]

    monkeypatch.setattr(fitting, "copies", judged)
    plan = replace(PLAN, new="apart", method="procrustes")
    assert spaces(faces, plan, features=features).direction == direction


def test_people_it_was_fitted_on_do_not_count(world: Made, apart: Spaces) -> None:
    faces, features = world
    assert apart.fitted_people + apart.people == PEOPLE and apart.fitted_people == PEOPLE // 2
    fitting = faces.ids[faces.identity.codes < 25]
    found = spaces(faces, replace(PLAN, new="apart"), features=features, fitting=fitting)
    assert found.fitted_people == 25 and found.identity.min() == 25
    with pytest.raises(InputError, match="fitted on all people"):
        spaces(faces, replace(PLAN, new="apart"), features=features, fitting=faces.ids)


def test_other_dimensions_need_a_transform(world: Made) -> None:
    faces, features = world
    bare = spaces(faces, replace(PLAN, new="wide", transforms="none"), features=features)
    assert bare.directions("wide", "old") == () and len(bare) == len(faces)
    with pytest.raises(InputError, match="cannot be compared"):
        bare.sides("wide", "old")
    found = spaces(faces, replace(PLAN, new="wide"), features=features)
    assert found.directions("wide", "old") == ("backward", "forward")
    assert found.mapped["backward"].shape[1] == D and found.mapped["forward"].shape[1] == 2 * D
    assert closeness(*found.sides("wide", "old")) > 0.6


def test_what_is_asked_for_is_done(world: Made) -> None:
    faces, features = world
    fitted = spaces(faces, replace(PLAN, transforms="fit"), features=features)
    assert set(fitted.mapped) == {"backward", "forward"} and fitted.direction == "direct"
    backward = spaces(faces, replace(PLAN, direction="backward"), features=features)
    assert backward.direction == "backward" and backward.sides("new", "old")[1] is backward.vectors["old"]
    with pytest.raises(InputError, match="no transform for the direction forward"):
        spaces(faces, replace(PLAN, direction="forward", transforms="none"), features=features)


def test_a_transform_of_a_file_is_taken_and_nobody_is_left_out(world: Made, apart: Spaces, tmp_path: Path) -> None:
    from facelens.features import fitting, transforms

    faces, features = world
    x, y = features["apart"].unit(faces.ids)[0], features["old"].unit(faces.ids)[0]
    (made,) = fitting.copies(x, y, faces.identity.codes, 1, method="procrustes", names=("apart", "old"))
    transforms.save(made.transform, tmp_path / "back.safetensors")
    files = (("backward", str(tmp_path / "back.safetensors")),)
    found = spaces(faces, replace(PLAN, new="apart", files=files), features=features)
    assert found.direction == "backward" and len(found) == len(faces) and found.fitted_people == 0
    assert [one.how for one in found.fitted] == ["file"] and closeness(*found.sides("apart", "old")) > 0.5
    with pytest.raises(InputError, match="takes 16 dimensions, wide has 32"):
        spaces(faces, replace(PLAN, new="wide", files=files), features=features)


def test_faces_without_a_name_or_a_vector_are_left_out_and_counted(world: Made) -> None:
    faces, features = world
    names = [faces.identity.name(row) for row in range(len(faces))]
    nameless = replace(faces, identity=Labels.of(["" if row < 3 else name for row, name in enumerate(names)]))
    short = replace(features["new"], ids=faces.ids[:-2], vectors=features["new"].vectors[:-2],
                    norms=features["new"].norms[:-2])  # fmt: skip
    found = spaces(nameless, PLAN, features={**features, "new": short}, excluded=faces.ids[10:11])
    assert len(found) == len(faces) - 3 - 2 - 1
    said = " ".join(found.notes)
    assert "2 faces are left out: a model has no vector" in said and "3 faces are left out: nobody knows" in said


def test_two_models_with_vectors_are_needed(world: Made) -> None:
    faces, features = world
    for plan in (replace(PLAN, new="old"), replace(PLAN, old="")):
        with pytest.raises(InputError, match="between two models"):
            spaces(faces, plan, features=features)
    with pytest.raises(InputError, match="gone has no vectors"):
        spaces(faces, replace(PLAN, upper="gone"), features=features)


@pytest.mark.parametrize(("apart", "chance"), [(0.0, True), (0.3, True), (1.2, False), (3.0, False)])
def test_guessing_is_told_from_knowing(apart: float, chance: bool) -> None:
    """By draws of two normal distributions, some standard deviations apart."""
    rng = np.random.default_rng(1)
    genuine, impostor = rng.normal(apart, size=4000), rng.normal(size=400_000)
    for far in (1e-2, 1e-3):
        threshold = np.quantile(impostor, 1 - far)
        tar = float((genuine >= threshold).mean())
        reach = 2 * float(np.sqrt(tar * (1 - tar) / len(genuine)))
        assert at_chance(Measure(tar, max(tar - reach, 0.0), tar + reach), far) == chance


def test_some_faces_are_whole_people() -> None:
    identity = np.repeat(np.arange(30), 4).astype(np.int32)
    places = mapping.some(identity, 50)
    assert len(places) == 48 and (np.bincount(identity[places])[np.unique(identity[places])] == 4).all()
    assert len(mapping.some(identity, 1000)) == len(identity)


def test_fitted_transforms_are_kept(world: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from facelens.features import fitting

    faces, features = world
    plan = replace(PLAN, new="apart", method="procrustes")
    first = spaces(faces, plan, features=features, folder=tmp_path)
    monkeypatch.setattr(fitting, "copies", lambda *a, **k: pytest.fail("fitted again"))
    again = spaces(faces, plan, features=features, folder=tmp_path)
    assert np.allclose(first.mapped["backward"], again.mapped["backward"], atol=1e-6)


def test_nobody_is_left(world: Made) -> None:
    faces, features = world
    strangers = replace(faces, identity=Labels.of([""] * len(faces)))
    with pytest.raises(InputError, match="No face is left") as told:
        spaces(strangers, PLAN, features=features)
    assert told.value.hint.startswith("Say who")
    with pytest.raises(InputError) as told:
        spaces(faces, replace(PLAN, new="apart"), features=features, fitting=faces.ids)
    assert "fit" in told.value.message + told.value.hint
