"""Searches by patches in files and in the commands: the numbers of the search, in forms that nobody misreads."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from facelens.__main__ import main
from facelens.analyses import plan, regions
from facelens.analyses.plan import MatchPlan
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet
from facelens.images.occlusion import Occlusion
from facelens.progress import Tick
from facelens.session import exporting, ground, match_report, matching, tasks
from facelens.session.ground import Ground
from facelens.session.jobs import Request
from facelens.session.match_tables import pair_json, write_ranking, write_sweep
from facelens.session.matched import Subject
from facelens.words import number
from tests.features.patched import NET, SAMPLE, drawn, model
from tests.figures.matched import PLAN, make_faces, make_pair, make_searched, make_sweep


def lines_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


# Files


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    return make_faces(tmp_path)


def test_a_ranking_as_csv_and_json(faces: FaceSet, tmp_path: Path) -> None:
    searched, query = make_searched(faces), int(faces.ids[0])
    lines = lines_of(write_ranking(tmp_path / "r.csv", faces, searched, PLAN, query=query))
    assert [(one["rank_before"], one["rank_after"], one["right"]) for one in lines] == [
        ("3", "1", "1"), ("2", "2", "0"), ("1", "3", "0"), ("4", "4", "0"),
    ]  # fmt: skip
    assert lines[0]["path"] == "'=1.png" and lines[0]["identity"] == "'=p0", "no spreadsheet runs a name"
    assert [float(lines[0][name]) for name in ("cosine", "emd", "distance")] == [0.45, 0.05, 0.3]
    told = json.loads(write_ranking(tmp_path / "r.json", faces, searched, PLAN, query=query).read_text())
    assert told["first_right"] == {"before": 3, "after": 1} and told["plan"]["weights"] == "apc"
    assert told["query"]["path"] == "=0.png" and told["query"]["occlusion"]["kind"] == "mask"
    assert told["ranking"][0]["right"] is True and told["ranking"][0]["path"] == "=1.png" and told["grid"] == [2, 2]
    assert "its own picture left out" in told["how"] and told["notes"] == ["a note"]
    nobody = lines_of(write_ranking(tmp_path / "n.csv", faces, _unknown(searched), PLAN, name="x.jpg"))
    assert {one["right"] for one in nobody} == {""}, "nobody knows who that is"


def _unknown(searched: matching.Searched) -> matching.Searched:
    return matching.Searched(
        searched.found, np.zeros(4, bool), 23, 0, -1, searched.shown, searched.occlusion
    )  # fmt: skip


def test_a_pair_and_a_sweep_as_json(faces: FaceSet, tmp_path: Path) -> None:
    pair = make_pair(faces, 1)
    told = pair_json(Subject(faces, make_searched(faces), PLAN, int(faces.ids[0])), pair)
    assert np.shape(told["flow"]) == (4, 6) and told["ranks"] == [3, 1] and told["right"] is True
    assert sum(told["regions"].values()) == pytest.approx(told["emd"])  # type: ignore[attr-defined]
    assert told["distance"] == pytest.approx(0.5 * pair.found.emd + 0.5 * 0.55)
    sweep = make_sweep(faces)
    swept = json.loads(write_sweep(tmp_path / "s.json", faces, sweep, PLAN).read_text())
    assert swept["queries"] == 3 and swept["before"]["P@1"]["value"] == 0.6 and swept["occlusion"] == "mask"
    steps = swept["after"][1]["steps"]
    assert swept["after"][1]["weights"] == "apc" and [one["alpha"] for one in steps] == ["sum", 0.0, 0.5, 1.0]
    assert steps[2]["measures"]["RP"] | {"low": 0} == {
        "value": pytest.approx(0.8), "low": 0, "high": pytest.approx(0.84), "n": 2, "why": "", "supported": True,
    }  # fmt: skip
    assert [(one["better"], one["worse"]) for one in steps] == [(1, 0), (0, 0), (1, 0), (1, 1)]


# The commands


class World(NamedTuple):
    faces: FaceSet
    features: FeatureSet
    store: Path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("matched")
    faces = drawn(root / "g", people=4, each=3)
    done = tasks.embed_gallery(faces, NET, root=root / "store")
    yield World(faces, done.features(faces), done.store)
    ground.forget()


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is done in this process: starting another takes longer than all of it."""

    def run(request: Request, *, tick: Tick) -> Any:
        return request.call(*request.args, **request.kwargs, tick=tick)

    monkeypatch.setattr("facelens.session.jobs.run_apart", run)


def name_of(world: World, row: int) -> str:
    return world.faces.paths[row].decode()


def test_match_says_what_was_found(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outs = {name: tmp_path / f"m.{name}" for name in ("csv", "json", "svg")}
    words = ["--occlude", "mask", "--weights", "apc", "--alpha", "0.5", "--grid", "4x4", "--shortlist", "6"]
    words += ["--top", "2", "--solver", "sinkhorn", "--epsilon", "0.1"]
    files = ["--csv", str(outs["csv"]), "--json", str(outs["json"]), "--figure", str(outs["svg"])]
    assert main(["match", name_of(world, 4), str(world.store), *words, *files]) == 0
    said = capsys.readouterr().out
    asked = MatchPlan("plain", weights="apc", alpha=0.5, grid=(4, 4), shortlist=6, solver="sinkhorn", epsilon=0.1)
    here = Ground(world.faces, world.features, model(), tmp_path / "maps")
    query, painted = int(world.faces.ids[4]), Occlusion("mask")
    found = match_report.examine(here, query, asked, occlusion=painted)
    searched = found.searched
    assert "plain, 4 × 4 patches; α 0.50, weights APC, Sinkhorn, ε 0.1" in said
    assert "(mask painted): searched among the 11 others, its own picture left out; shortlist 6." in said
    assert f"First right face: rank {searched.first} → {searched.after(0.5)}." in said
    lines, told = lines_of(outs["csv"]), json.loads(outs["json"].read_text())
    assert len(lines) == 6 and said.count("  right  ") + said.count("  wrong  ") >= 2
    for line in lines[:2]:
        value, judged = number(float(line["distance"]), 4), "right" if line["right"] == "1" else "wrong"
        assert f"{value}    {judged}  {line['path']}" in said
    assert told["pair"]["right"] and not told["other"]["right"], "the first mate beside the first other"
    shares = regions.shares((4, 4), found.pair.query.points, found.pair.query.crop.shape[:2])
    ledger = regions.ledger(found.pair.found, shares)
    assert list(told["pair"]["regions"].values()) == pytest.approx(ledger.tolist(), abs=1e-6)
    assert number(float(ledger[1]), 4) in said.split("eyes")[1].splitlines()[0]
    assert sorted(path.name for path in tmp_path.glob("m*.svg")) == ["m flow.svg", "m ranking.svg", "m regions.svg"]


def test_a_picture_from_elsewhere(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    person = world.faces.identity.names[0]
    folder = tmp_path / person
    folder.mkdir()
    (folder / "new.jpg").write_bytes((world.faces.root / name_of(world, 0)).read_bytes())
    words = ["match", str(folder / "new.jpg"), str(world.store), "--shortlist", "5"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert f"Searched for as {person}, the name of its folder." in said and "First right face: rank" in said
    assert "taken as an aligned face" in said, "faces of the gallery are placed by their landmarks"
    assert "new.jpg: searched in a gallery of 12; shortlist 5." in said
    (tmp_path / "new.jpg").write_bytes((folder / "new.jpg").read_bytes())
    assert main(["match", str(tmp_path / "new.jpg"), *words[2:]]) == 0
    said = capsys.readouterr().out
    assert "It is not known who this is" in said and "  right  " not in said
    assert main(["match", str(tmp_path / "new.jpg"), *words[2:], "--identity", person]) == 0
    assert "First right face: rank" in capsys.readouterr().out


def test_under_pseudonyms_nobody_is_named(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the gallery and of a picture from elsewhere; the query and its mates have one pseudonym."""
    out = tmp_path / "out"
    out.mkdir()
    person = world.faces.identity.names[0]
    folder = tmp_path / person
    folder.mkdir()
    (folder / "new.jpg").write_bytes((world.faces.root / name_of(world, 0)).read_bytes())
    hidden = ["--pseudonyms", "--blur", "--key", "k"]
    for number_of, query in enumerate((name_of(world, 4), str(folder / "new.jpg"))):
        files = [word for kind in ("csv", "json") for word in (f"--{kind}", str(out / f"{number_of}.{kind}"))]
        words = ["--shortlist", "6", *files, "--figure", str(out / f"{number_of}.svg"), *hidden]
        assert main(["match", query, str(world.store), *words]) == 0
    assert main(["rerank", str(world.store), "--shortlist", "5", "--json", str(out / "r.json"), *hidden]) == 0
    told = capsys.readouterr().out + "".join(path.read_text() for path in out.iterdir())
    names = {*world.faces.identity.names, *(name.replace("_", " ") for name in world.faces.identity.names)}
    names |= {name_of(world, row) for row in range(len(world.faces))} | {str(world.faces.root), "new.jpg"}
    assert "P000" in told and not [name for name in names | {world.faces.digest} if name in told]
    first = json.loads((out / "0.json").read_text())
    assert first["query"]["path"].startswith(first["query"]["identity"])
    mates = [row for row in first["ranking"] if row["right"]]
    assert mates and all(row["identity"] == first["query"]["identity"] for row in mates)


def test_rerank_says_what_the_sweep_says(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "s.json"
    words = ["--queries", world.faces.identity.names[0], "--apart", "--weights", "uniform,sc", "--alphas", "0,0.5,sum"]
    figure = ["--figure", str(tmp_path / "s.svg")]
    assert main(["rerank", str(world.store), *words, "--shortlist", "5", "--json", str(out), *figure]) == 0
    said, told = capsys.readouterr().out, json.loads(out.read_text())
    assert "3 queries; exact solver; shortlist 5." in said and "Only 0 of them have somebody to find" in said
    assert told["queries"] == 3 and told["searched"] == 9
    table = ["--latex", str(tmp_path / "s.tex")]
    assert main(["rerank", str(world.store), *words[3:], "--shortlist", "5", "--json", str(out), *table]) == 0
    assert [line.split(" & ")[0] for line in (tmp_path / "s.tex").read_text().splitlines() if " & " in line] == [
        "Method", "Stage 1", "Uniform", "SC",
    ]  # fmt: skip
    said, told = capsys.readouterr().out, json.loads(out.read_text())
    assert told["queries"] == 12 and [row["weights"] for row in told["after"]] == ["uniform", "sc distance"]
    step = told["after"][1]["steps"][1]
    value = step["measures"]["MAP@R"]
    shown = f"{number(value['value'], 4)} [{number(value['low'], 4)}, {number(value['high'], 4)}]"
    line = next(line for line in said.split("Weights SC")[1].splitlines() if "α 0.50" in line)
    assert shown in line and line.split()[-2:] == [str(step["better"]), str(step["worse"])]
    assert "the clear picture of a query is not in the gallery" in said and (tmp_path / "s.svg").is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["match", "nobody.jpg", "STORE"], "nobody.jpg is not in this gallery, and no picture file"),
        (["match", "BROKEN", "STORE"], "broken.jpg cannot be shown to a network"),
        (["match", "FACE", "STORE", "--shortlist", "13"], "A shortlist of 13 is longer than the gallery of 12"),
        (["match", "FACE", "STORE", "--weights", "cc"], "cannot be weighed by an embedding"),
        (["match", "FACE", "STORE", "--grid", "90x90"], "plain sees 8 × 8 patches, which cannot be cut into 90 × 90"),
        (
            ["match", "FACE", "STORE", "--model", "OTHER"],
            "residual.safetensors is not the model that made these vectors",
        ),
        (["match", "FACE", "STORE", "--model", "nowhere.pt"], "The model is not at nowhere.pt"),
        (["match", "FACE", "VECTORS"], "do not say where it lies"),
        (["match", "BROKEN", "STORE", "--identity", "Nobody"], "Nobody in this gallery is called Nobody"),
        (["rerank", "STORE", "--queries", "identity = Nobody"], "No face passes identity = Nobody"),
        (["rerank", "x" * 8], "There is no store"),
    ],
)
def test_wrong_words(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"no picture")
    places = {
        "STORE": world.store,
        "FACE": name_of(world, 4),
        "BROKEN": tmp_path / "broken.jpg",
        "OTHER": SAMPLE / "checkpoints" / "residual.safetensors",
    }
    if "VECTORS" in words:
        places["VECTORS"] = tmp_path / "v.npz"
        exporting.export(world.features, world.faces, tmp_path / "v.npz")
    assert main([str(places.get(word, word)) for word in words]) == 1
    told = capsys.readouterr().err.splitlines()
    assert said in told[0] and len(told) == 2 and told[1]


def test_the_commands_know_the_words_of_the_analyses(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["--alpha", "1.5"], ["--alpha", "-2"], ["--weights", "best"], ["--grid", "4"], ["--epsilon", "0"]):
        with pytest.raises(SystemExit) as ended:
            main(["match", "x", "y", *wrong])
        assert ended.value.code == 2
    said = capsys.readouterr().err
    assert all(name.replace(" ", "-") in said for name in plan.PATCH_WEIGHTS) and "1.5 is no share from 0 to 1" in said
    from facelens.commands import parser

    asked = parser().parse_args(["rerank", "y", "--weights", "sc,SC-similarity", "--alphas", "0.3,sum,-1"])
    assert asked.weights == ("sc distance", "sc similarity") and asked.alphas == (0.3, -1.0)
