"""Upgrades of the sample checkpoints: independent, L2, BCT and LCE separate as the paper says; the command."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from facelens.__main__ import main
from facelens.analyses import crossing
from facelens.analyses.crossing import Matrix
from facelens.analyses.plan import UpgradePlan
from facelens.analyses.same_class import same_class
from facelens.analyses.spaces import spaces
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.features.transforms import load, save
from facelens.images.faceset import FaceSet
from facelens.resources import sample_data
from facelens.session import tasks, upgrading

NAMES = ("old", "new", "l2", "bct", "lce")
FOLDER = sample_data() / "checkpoints"
FEW = ("--far", "1e-2", "--resamples", "40")


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tasks.Embedded]:
    faces, root = tasks.open_gallery(sample_data()).faces, tmp_path_factory.mktemp("sample vectors")
    return {name: tasks.embed_gallery(faces, FOLDER / f"{name}.safetensors", root=root) for name in NAMES}


@pytest.fixture(scope="module")
def world(embedded: dict[str, tasks.Embedded]) -> tuple[FaceSet, dict[str, FeatureSet]]:
    faces = tasks.open_gallery(sample_data()).faces
    return faces, {name: one.features(faces) for name, one in embedded.items()}


@pytest.fixture(scope="module")
def crossed(world: tuple[FaceSet, dict[str, FeatureSet]]) -> dict[str, Matrix]:
    faces, features = world
    plan = UpgradePlan(old="old", upper="new", far=1e-2, resamples=100, transforms="none")
    every = {name: replace(plan, new=name, upper="" if name == "new" else "new") for name in NAMES[1:]}
    return {name: crossing.crossed(spaces(faces, one, features=features), one) for name, one in every.items()}


def tar(found: Matrix, query: str, gallery: str) -> float:
    test = found.test(query, gallery)
    assert test is not None and test.verification.value is not None
    return test.verification.value


def test_they_separate_as_the_paper_says(crossed: dict[str, Matrix]) -> None:
    independent = crossed["new"].test("new", "old")
    assert independent is not None and independent.chance and tar(crossed["new"], "new", "old") < 0.03
    old = tar(crossed["lce"], "old", "old")
    cross = {name: tar(crossed[name], name, "old") for name in ("l2", "bct", "lce")}
    print(f"old/old {old:.4f}, new/old {tar(crossed['new'], 'new', 'old'):.4f}, {cross}")
    for name, value in cross.items():
        one = crossed[name]
        assert value > old, name  # what backward compatible training promises
        assert value < tar(one, name, name) and one.bounds[0].holds
        assert not any(test.chance for test in one.tests if "new" not in (test.query, test.gallery))
    assert cross["lce"] > max(cross["l2"], cross["bct"])
    # What the interval shows: LCE and L2 are above the old model, BCT may be.
    shown = {name: crossed[name].difference["1:1"].low or 0.0 for name in cross}
    assert shown["lce"] > 0 and shown["l2"] > 0 and shown["bct"] < 0.02
    gains = {name: next(g for g in crossed[name].gains if g.of == "direct" and g.task == "1:1") for name in cross}
    assert all(one.telling for one in gains.values())
    assert 100 > (gains["lce"].percent.value or 0) > (gains["l2"].percent.value or 0) > 0


def test_lce_is_farther_point_to_point_and_yet_more_compatible(
    world: tuple[FaceSet, dict[str, FeatureSet]], crossed: dict[str, Matrix]
) -> None:
    faces, features = world
    found = same_class(features, "old", ["l2", "lce"], faces.ids)
    l2, lce = (one.point_distance for one in found.upgrades)
    print(f"d_pw: l2 {l2:.3f}, lce {lce:.3f}")
    assert lce > l2 + 0.1
    assert lce == pytest.approx(crossed["lce"].point_distance.value, abs=1e-4)
    centre = {one.model: one.centre.value or 0.0 for name in ("l2", "lce") for one in crossed[name].compactness}
    print({name: round(value, 3) for name, value in centre.items()})
    assert max(centre["l2"], centre["lce"]) < centre["old"] - 0.1  # the paper has LCE below L2; here they are equal
    assert centre["lce"] == pytest.approx(centre["l2"], abs=0.01)


def test_the_command_tells_all_and_writes_all(
    embedded: dict[str, tasks.Embedded], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stores = [str(embedded[name].store) for name in ("old", "lce")]
    words = ["--upper", str(embedded["new"].store), "--further", str(embedded["l2"].store), *FEW, "--traffic", "yaw"]
    out = {name: str(tmp_path / file) for name, file in (("json", "u.json"), ("csv", "f.csv"), ("backfill", "o.csv"))}
    given = [word for name, path in out.items() for word in (f"--{name}", path)]
    folder = tmp_path / "report"
    given += ["--latex", str(tmp_path / "u.tex")]
    assert main(["upgrade", *stores, *words, *given, "--report", str(folder), "--order", "traffic"]) == 0
    assert (tmp_path / "u.tex").read_text().count(r"\begin{tabular}") == 3
    said = capsys.readouterr().out
    assert "New queries on the old gallery score higher than old on old: 0.653 against 0.585, difference +0.068" in said
    assert "searches lost" in said and "old/upper" in said and "chance" in said and "l2/old" in said
    assert "by traffic" in said and "What this does not say" in said and "d_pw old, new  0.828" in said
    told = json.loads((tmp_path / "u.json").read_text())
    assert told["format"] == "facelens upgrade" and told["verdict"]["1:1"]["tone"] == "good"
    assert [one["name"] for one in told["models"]] == ["old", "lce", "new", "l2"]
    assert all(one["weights_sha256"] for one in told["models"])
    with open(tmp_path / "f.csv") as file:
        lines = list(csv.DictReader(file))
    lost = [line for line in lines if line["change"] == "lost"]
    assert len(lost) == told["flips"]["searches"]["lost"] and lines[: len(lost)] == lost
    assert all(line["old_right"] == "1" and line["new_right"] == "0" for line in lost)
    with open(tmp_path / "o.csv") as file:
        order = list(csv.DictReader(file))
    assert len(order) == 640 and order[-1]["share"] == "1"
    page = (folder / "index.html").read_text()
    assert page.count('<img src="data:image/png;base64,') == 6 and "http" not in page.replace("http-equiv", "")
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    parts = ("matrix", "gains", "sequence", "flips", "backfill", "same people")
    assert files == {
        "index.html", "upgrade.json", "flips.csv", "flips-pairs.csv", "backfill.csv",
        *(f"figures/upgrade {name}.png" for name in parts),
    }  # fmt: skip


def test_transforms_of_files_name_their_direction(world: tuple[FaceSet, dict[str, FeatureSet]], tmp_path: Path) -> None:
    _, features = world
    old, new = features["old"], features["lce"]
    bare = FOLDER / "transforms/lce_transform.new_to_old.safetensors"
    assert upgrading.transform_files([f"backward={bare}"], old, new) == (("backward", str(bare)),)
    with pytest.raises(InputError, match="does not say between which models"):
        upgrading.transform_files([str(bare)], old, new)
    named = replace(load(bare), source="lce")
    save(named, tmp_path / "back=1.safetensors")
    file = str(tmp_path / "back=1.safetensors")
    assert upgrading.transform_files([file], old, new) == (("backward", file),)
    wide = FOLDER / "transforms/larger.new_to_old.safetensors"
    larger = replace(new, vectors=new.vectors[:, :1].repeat(192, axis=1))
    assert upgrading.transform_files([str(wide)], old, larger) == (("backward", str(wide)),)
    with pytest.raises(InputError, match="Two transforms are given for the direction backward"):
        upgrading.transform_files([file, f"backward={bare}"], old, new)
    with pytest.raises(InputError, match="There is no file"):
        upgrading.transform_files(["backward=/nowhere"], old, new)


def test_wrong_words_say_what_to_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["upgrade", "one"]) == 1
    assert "between two models; 1 are given" in capsys.readouterr().err
    assert main(["upgrade", "one", "--model", "a", "b"]) == 1
    assert "stands in place of STORE" in capsys.readouterr().err
    for wrong in (["--far", "7"], ["--direction", "up"], ["--order", "x"], ["--task", "2"]):
        with pytest.raises(SystemExit):
            main(["upgrade", "x", "y", *wrong])


def test_files_of_models_are_embedded_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from facelens.commands import work

    def here(call: Any, *given: Any, **named: Any) -> Any:
        return call(*given, **named)

    monkeypatch.setattr(work, "apart", here)  # a process for each model would take most of the time
    people = sorted(path for path in sample_data().iterdir() if path.is_dir() and path.name != "checkpoints")[:8]
    for person in people:
        shutil.copytree(person, tmp_path / "few" / person.name)
    models = [str(FOLDER / f"{name}.safetensors") for name in ("old", "lce_transform")]
    files = [f"{way}={FOLDER}/transforms/lce_transform.{name}.safetensors"
             for way, name in (("backward", "new_to_old"), ("forward", "old_to_new"))]  # fmt: skip
    words = ["--gallery", str(tmp_path / "few"), "--store", str(tmp_path / "store"), "--model", *models, *FEW]
    for file in files:
        words += ["--transform", file]
    assert main(["upgrade", *words, "--direction", "backward"]) == 0
    said = capsys.readouterr().out
    assert "New queries mapped into the old space" in said and "8 people" in said
    assert "backward: lce_transform.new_to_old.safetensors" in said
