"""The command: facelens uncertainty."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.__main__ import main
from facelens.analyses import plan
from facelens.analyses.correlation import spearman
from facelens.analyses.plan import EnsemblePlan
from facelens.analyses.uncertainty import assess
from facelens.commands import work
from facelens.features import learned, transforms
from facelens.images import quality
from facelens.resources import sample_data
from facelens.session import tasks, vectors
from facelens.session.drawing import UNCERTAINTY
from facelens.session.tables import plain
from facelens.session.workspace import Workspace
from facelens.words import number
from tests.session.evaluated import World, stored

FEW = ["--far", "0.1", "--fpir", "0.2", "--resamples", "20"]
OLD, NEW = "old net_1", "new & better"


def lines_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as stream:  # a name that a spreadsheet would run has a quote before it
        return [{name: cell.removeprefix("'") for name, cell in line.items()} for line in csv.DictReader(stream)]


@pytest.fixture
def scores(world: World, tmp_path: Path) -> Path:
    out = tmp_path / "sharp.csv"
    values = np.random.default_rng(3).random((len(world.faces), 2))
    lines = (f"{path.decode()},{a},{b}\n" for path, (a, b) in zip(world.faces.paths, values))
    out.write_text("path,sharpness,light\n" + "".join(lines))
    return out


def test_numbers_are_those_of_the_analysis_and_the_plan_is_the_window_s(
    world: World, scores: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outs = {kind: tmp_path / f"out.{kind}" for kind in ("csv", "json", "refused", "curve")}
    files = [word for kind, path in outs.items() for word in (f"--{kind}", str(path))]
    stores = [str(world.old), str(world.new)]
    words = ["--fit-on", "p1 or p2 or p3 or p4", "--by", "sharpness", "--low-first", "--scores", str(scores)]
    assert main(["uncertainty", *stores, *FEW, *words, "--reject", "0.2", *files]) == 0
    said = capsys.readouterr().out
    told = json.loads(outs["json"].read_text())

    wanted = EnsemblePlan(fitted_on="p1 or p2 or p3 or p4", by="sharpness", lower=True, far=0.1, fpir=0.2, resamples=20)
    features = dict(zip((OLD, NEW), vectors.open_stores(stores, cache=world.cache).features, strict=True))
    faces = quality.joined(world.faces, quality.read(scores))[0]
    window = Workspace(faces=faces, features=features, ensemble=wanted)
    assert told["plan"] == plain(window.resolved_ensemble) and told["plan"]["target"] == NEW

    fitting = faces.ids[np.isin(faces.identity.codes, [1, 2, 3, 4])]
    networks = {OLD: "small_plain", NEW: "small_plain"}
    found = assess(faces, window.resolved_ensemble, features=features, networks=networks, fitting=fitting)
    place = {int(face): i for i, face in enumerate(found.ids)}
    rows = {path.decode(): place.get(int(face)) for path, face in zip(faces.paths, faces.ids)}
    listed = lines_of(outs["csv"])
    assert len(listed) == len(found.ids) == 24
    at = np.array([rows[line["path"]] for line in listed])
    for column, values in (
        ("variance", found.variance),
        ("score", -found.values),
        ("mate_score", found.recognition.mate_score),
        (f"apart: {OLD}", found.apart[0]),
    ):
        np.testing.assert_allclose([float(line[column]) for line in listed], values[at], rtol=1e-7)
    assert [line["recognised"] for line in listed] == [("no", "yes")[right] for right in found.recognition.right[at]]

    step = int(np.abs(found.verification.coverage - 0.8).argmin())
    worst = np.argsort(found.values)[::-1][: told["refused"]["faces"]]
    assert {rows[line["path"]] for line in lines_of(outs["refused"])} == set(worst.tolist())
    assert told["refused"] == {"step": step, "above": found.verification.limit[step], "faces": 5}
    curve = [line for line in lines_of(outs["curve"]) if line["task"] == "1:1"]
    np.testing.assert_allclose([float(line["error"]) for line in curve], found.verification.error.value, rtol=1e-7)
    assert told["together"] == plain(found.together) and told["members"] == plain(found.members)
    light = spearman(np.asarray(faces.columns["light"])[faces.rows_of(found.ids)], found.variance)
    assert told["correlations"]["light"]["value"] == pytest.approx(light.value)
    for words in (
        "people: 2 members in the space of new & better.",
        "Fitted on 16 faces of 4 people; shown on 24 faces of 6 other people.",
        "Members: TAR @ FAR 10 %; 95 % intervals from 20 draws of identities",
        f"together                                       {found.together.text()}",
        "Refused: 5 faces (20.8 %), by sharpness below",
        "20.8 % refused",
        f"light               {number(light.value)} [",
        f"norm, {OLD}",
        "D-TG",
    ):
        assert words in said, said
    assert "nan" not in said.lower()


def test_another_query_model(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    third = stored(world.faces, world.cache, "third", 0.3)
    words = ["uncertainty", str(world.old), str(world.new), *FEW, "--store", str(world.cache), "--update-query"]
    assert main([*words, third.name[:10]]) == 0
    said = capsys.readouterr().out
    assert "2 members in the space of new & better" in said
    heads = next(line for line in said.splitlines() if line.endswith("third"))
    assert heads.split() == [*NEW.split(), "third"]
    assert main([*words, OLD]) == 0
    assert "Another query model" in capsys.readouterr().out
    assert main([*words, NEW]) == 1
    assert "is the query model already" in capsys.readouterr().err


def test_models_of_one_name_stay_apart(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    again = world.cache / "again"
    shutil.copytree(world.old, again / world.old.name)
    assert main(["uncertainty", str(world.old), str(again / world.old.name), *FEW]) == 0
    assert f"in the space of {OLD} (2)" in capsys.readouterr().out


def test_copies_of_one_model_asked_by_another(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["uncertainty", str(world.old), str(world.new), *FEW, "--copies", "3", "--members", OLD]) == 0
    said = capsys.readouterr().out
    assert f"3 members in the space of {NEW}" in said and f"{OLD} (3)" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "No vectors are given"),
        (["OLD"], "Variance needs two members or more; this ensemble has 1."),
        (["OLD", "--copies", "3"], "two members or more"),
        (["OLD", "NEW", "--members", NEW], "two members or more"),
        (["OLD", "NEW", "--members", "nobody", NEW], "There is no model nobody"),
        (["OLD", "x" * 8], "There is no store"),
        (["OLD", "OTHER"], "is of another gallery"),
        (["OLD", "NEW", "--target", "nobody"], "There is no model nobody"),
        (["OLD", "NEW", "--fit-on", "beauty > 3"], "There is no column beauty"),
        (["OLD", "NEW", "--fit-on", "nowhere"], "No face passes"),
        (["OLD", "NEW", "--fit-on", "not nobody"], "No face is left to show"),
        (["OLD", "NEW", "--by", "beauty"], "no score beauty"),
        (["OLD", "NEW", "--low-first"], "without --by"),
        (["OLD", "NEW", "--scores", "nowhere.csv"], "There is no file nowhere.csv"),
        (["OLD", "NEW", "--transform", "nowhere"], "There is no file nowhere"),
        (["OLD", "NEW", "--transform", "TRANSFORM"], "does not say of which model"),
        (["OLD", "NEW", "--transform", "nobody=TRANSFORM"], "There is no model nobody"),
        (["OLD", "NEW", "--transform", f"{OLD}=TRANSFORM"], "takes 7 dimensions, old net_1 has 12"),
        (["OLD", "NEW", "--transform", f"{OLD}=TRANSFORM", "--transform", f"{OLD}=TRANSFORM"], "Two transforms of"),
        (["OLD", "NEW", "--transform", f"{OLD}=TRANSFORM", "--mode", "unified"], "of every model, or of none"),
        (["OLD", "NEW", "--model", "net.pt"], "in place of STORE"),
        (["--model", "net.pt"], "in place of STORE"),
    ],
)
def test_wrong_words(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    transforms.save(learned.linear(np.ones((7, 12))), tmp_path / "t.safetensors")
    shutil.copytree(world.gallery, tmp_path / "copy")
    other = stored(tasks.open_gallery(tmp_path / "copy").faces, world.cache, "other", 0.5)
    places = {"OLD": world.old, "NEW": world.new, "OTHER": other}
    given = [str(places.get(word, word)).replace("TRANSFORM", str(tmp_path / "t.safetensors")) for word in words]
    assert main(["uncertainty", *given, *FEW]) == 1
    told = capsys.readouterr().err.splitlines()
    assert said in told[0] and len(told) == 2 and told[1]


def test_a_transform_says_whose_it_is(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = replace(learned.linear(np.eye(12)), source=OLD, target=NEW)
    transforms.save(made, tmp_path / "t.safetensors")
    assert (
        main(["uncertainty", str(world.old), str(world.new), *FEW, "--transform", str(tmp_path / "t.safetensors")]) == 0
    )
    said = capsys.readouterr().out
    assert "Fitted elsewhere; shown on 40 faces of 10 people." in said and f"{OLD}: t.safetensors" in said


def test_the_command_knows_the_words_of_the_analyses(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["uncertainty", "--help"])
    said = capsys.readouterr().out.replace("\n", "").replace(" ", "")
    known = (plan.MODES, plan.METHODS, plan.QUERIES, plan.REFUSE, plan.EMPTIED, plan.WEIGHTS, plan.RECOGNISED)
    assert all("{" + ",".join(words) + "}" in said for words in known)
    for wrong in (["--copies", "0"], ["--far", "7"], ["--mode", "x"]):
        with pytest.raises(SystemExit):
            main(["uncertainty", "x", "y", *wrong])


def test_from_sample_checkpoints_to_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def here(call: Any, *given: Any, **named: Any) -> Any:
        return call(*given, **named)

    monkeypatch.setattr(work, "apart", here)  # a process for each model would take most of the time
    head, *rows = (sample_data() / "manifest.csv").read_text().splitlines()
    some = [row for row in rows if row.split(",")[1] in sorted({row.split(",")[1] for row in rows})[:12]]
    for row in some:
        path = row.split(",")[0]
        (tmp_path / "few" / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(sample_data() / path, tmp_path / "few" / path)
    (tmp_path / "few/manifest.csv").write_text("\n".join([head, *some]))
    folder = sample_data() / "checkpoints"
    models = [str(folder / f"{name}.safetensors") for name in ("plain", "residual", "new")]
    files = [f"{name}={folder}/transforms/m2m_{name}.gallery.safetensors" for name in ("plain", "residual")]
    words = ["--gallery", str(tmp_path / "few"), "--store", str(tmp_path / "store"), "--csv", str(tmp_path / "all.csv")]
    for file in files:
        words += ["--transform", file]
    assert main(["uncertainty", *words, "--figure", str(tmp_path / "f.png"), *FEW, "--model", *models]) == 0
    said = capsys.readouterr().out
    assert "few: 3 members in the space of new." in said and "Fitted elsewhere" in said
    assert len(lines_of(tmp_path / "all.csv")) == 120
    tars = {line.split()[0]: float(line.split()[4]) for line in said.splitlines() if "small_" in line}
    assert min(tars.values()) > 0.6  # chance is 0.1
    named = {path.stem.removeprefix("f ") for path in tmp_path.glob("f *.png")}
    assert named == set(UNCERTAINTY) - {"scatter", "update"}, "there is no other score, and no other query model"
