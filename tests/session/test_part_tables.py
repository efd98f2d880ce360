"""Parts and learners in files and in the commands: the numbers of the analyses, in forms that nobody misreads."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.__main__ import main
from facelens.analyses import jury, parts, plan
from facelens.analyses.plan import PartsPlan
from facelens.features.card import Card
from facelens.features.store import Store, fingerprint
from facelens.images.faceset import FaceSet
from facelens.session import tasks, vectors
from facelens.session.part_tables import write_confidence, write_learners, write_study
from facelens.session.tables import plain
from facelens.words import number
from tests.figures.parted import SLICES, K, N, make_faces, make_learners, make_parts, make_study
from tests.session.evaluated import D, World, stored, vectors_of

FEW = ["--resamples", "20", "--far", "0.1"]
PAIR = ["=p0/0.jpg", "=p1/1.jpg"]


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    return make_faces(tmp_path)


def lines_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


# Files


def test_every_part_of_every_face_has_its_column(faces: FaceSet, tmp_path: Path) -> None:
    made = make_parts(faces)
    lines = lines_of(write_confidence(tmp_path / "c.csv", faces, made))
    values, distance = made.values["variance"], made.values["distance"]
    assert len(lines) == N and list(lines[0])[:3] == ["path", "identity", "s_1"]
    assert lines[0]["path"] == "'=0.png" and lines[0]["identity"] == "'=p0", "no spreadsheet runs a name"
    for k in range(K):
        told = [float(line[f"log_variance_{k + 1}"]) for line in lines if line[f"log_variance_{k + 1}"]]
        np.testing.assert_allclose(told, values[:, k][np.isfinite(values[:, k])], rtol=1e-6)
        assert float(lines[5][f"s_{k + 1}"]) == pytest.approx(np.exp(-values[5, k]), rel=1e-6)
    assert lines[3]["log_variance_2"] == lines[3]["s_2"] == "" and lines[0]["distance_1"] == ""
    assert float(lines[3]["log_variance_mean"]) == pytest.approx(np.nanmean(values[3]))
    assert float(lines[9]["distance_mean"]) == pytest.approx(distance[9].mean(), rel=1e-6)
    some = lines_of(write_confidence(tmp_path / "s.csv", faces, make_parts(faces, SLICES), only=faces.ids[[7, 2]]))
    assert [line["path"] for line in some] == ["'=7.png", "'=2.png"]
    assert "share_4" in some[0] and not {"s_1", "log_variance_1", "share_mean"} & set(some[0])


def test_a_study_as_json(faces: FaceSet, tmp_path: Path) -> None:
    made, study = make_parts(faces), make_study()
    out = write_study(tmp_path / "s.json", faces, made, study, PartsPlan(model="net"))
    told = json.loads(out.read_text())
    assert told["head"] == "calibrated" and told["layout"]["parts"] == K and told["plan"]["model"] == "net"
    assert told["study"]["correlation"]["centre_mean"]["value"] == 0.5 and told["queries"] == 12
    assert [one["tar_without"]["value"] for one in told["study"]["without"]] == [
        one.tar_without.value for one in study.without
    ]
    assert told["study"]["effects"][0]["strength"][3]["why"] == "nobody knows"
    assert told["study"]["fusion"][0]["name"] == "mean" and told["notes"] == ["a note"]
    assert told["values"]["log_variance"]["quartiles"] == plain(made.spread["variance"].quartiles)


def test_learners_as_json_and_csv(faces: FaceSet, tmp_path: Path) -> None:
    found = make_learners(faces)
    told = json.loads(write_learners(tmp_path / "l.json", faces, found).read_text())
    assert told["own"]["recall"][0][1]["value"] == pytest.approx(0.22) and told["baseline"]["model"] == "=whole"
    assert told["specialists"] == [2, 1, 0, 0] and told["gain_together"][0]["value"] == pytest.approx(0.02)
    assert told["groups"]["sizes"] == [8, 8, 8, 0] and told["groups"]["recall"][0][3] is None
    lines = lines_of(write_learners(tmp_path / "l.csv", faces, found))
    assert [lines[5][f"rank_{k + 1}"] for k in range(K)] == ["1", "40", "50", "60"]
    assert (lines[5]["found_alone_by"], lines[5]["found"], lines[5]["group"]) == ("1", "'=4.png", "3")
    assert lines[9]["rank_1"] == lines[0]["found"] == "", "nobody to find; no specialist"


# The commands


def sure_store(world: World) -> Path:
    """A store of a model with three learned parts."""
    card = Card("sure", "small_plain", dimensions=D)
    store = Store.create(
        world.cache, fingerprint(world.faces, weights="sure", card=card), card=card, parts=3, opened=world.faces.opened
    )
    rng = np.random.default_rng(5)
    with store.writer(total=len(world.faces)) as writer:
        sure = rng.uniform(5, 50, (len(world.faces), 3)).astype(np.float32)
        writer.append(world.faces.ids, vectors_of(world.faces, 0.5), confidence=sure)
    return store.folder


def test_confidence_says_what_the_analyses_say(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(sure_store(world))
    words = ["--match", "likelihood", "--drop", "2", "--pair", *PAIR, "--csv", str(tmp_path / "c.csv")]
    assert main(["confidence", store, *FEW, *words, "--json", str(tmp_path / "c.json")]) == 0
    said = capsys.readouterr().out
    (features,) = vectors.open_stores([store], cache=world.cache).features
    asked = PartsPlan(model="sure", match="likelihood", far=0.1)
    made = parts.cut(world.faces, asked, features=features)
    kept = np.array([True, False, True])
    ruling = jury.ruling(made, match="likelihood", kept=kept, far=0.1)
    paths = [path.decode() for path in world.faces.paths]
    first, second = (int(world.faces.ids[paths.index(name)]) for name in PAIR)
    found = jury.verdict(made, features, first, second, match="likelihood", kept=kept, ruling=ruling)
    assert "people, sure: 3 learned parts; 4 dimensions each; 40 faces of 10 people." in said
    assert "it was learned and not calibrated" in said and "log σ² = −log s, learned, not calibrated" in said
    assert f"part 1  {number(found.votes[0], 1, sign=True)}" in said
    assert f"left out, would add {number(found.votes[1], 1, sign=True)}" in said
    assert f"Σ       {number(found.score, 1)}" in said and "different people · right" in said
    assert "nan" not in said.lower()
    told = json.loads((tmp_path / "c.json").read_text())
    assert told["pair"]["verdict"]["votes"] == plain(found.votes) and told["pair"]["verdict"]["query"] == PAIR[0]
    assert told["kept"]["ruling"]["tar"]["value"] == ruling.tar.value and told["head"] == "learned"
    assert len(lines_of(tmp_path / "c.csv")) == 40


def test_slices_of_an_ordinary_embedding(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["confidence", str(world.new), *FEW, "--parts", "3", "--cut", "rotation", "--unit"]) == 0
    said = capsys.readouterr().out
    assert "3 slices, not learned parts; 4 dimensions each" in said and "Slices of an ordinary embedding" in said
    assert "slice 3" in said and "after a random rotation" in said


def test_learners_beside_a_baseline(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outs = [str(tmp_path / "l.json"), str(tmp_path / "l.csv"), str(tmp_path / "l.svg")]
    words = ["--baseline", str(world.old), "--parts", "3", "--resamples", "20"]
    words += ["--latex", str(tmp_path / "l.tex")]
    assert main(["learners", str(world.new), *words, "--json", outs[0], "--csv", outs[1], "--figure", outs[2]]) == 0
    said = capsys.readouterr().out
    told = json.loads(Path(outs[0]).read_text())
    assert told["own"]["model"] == "new & better" and told["baseline"]["model"] == "old net_1"
    one = told["own"]["recall"][0][1]
    assert f"{number(one['value'])} [{number(one['low'])}, {number(one['high'])}]" in said
    assert "mean, each alone" in said and "Groups of the embedding" in said and "difference: all together" in said
    assert len(lines_of(Path(outs[1]))) == 40 and "all together" in (tmp_path / "l table.svg").read_text()
    assert r" & old net\_1 & new \& better & Dimensions \\" in (tmp_path / "l.tex").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["confidence"], "No vectors are given"),
        (["confidence", "x" * 8], "There is no store"),
        (["confidence", "NEW", "--parts", "5"], "12 dimensions cannot be cut into 5 equal slices"),
        (["confidence", "NEW", "--parts", "1"], "One part is the whole embedding"),
        (["confidence", "NEW", "--match", "likelihood"], "does not say how sure its parts are"),
        (["confidence", "NEW", "--show", "variance"], "These parts have no variance"),
        (["confidence", "NEW", "--parts", "3", "--drop", "4"], "There is no part 4"),
        (["confidence", "NEW", "--parts", "3", "--drop", "1,2,3"], "No part is left to vote"),
        (["confidence", "NEW", "--pair", "nobody.jpg", "=p1/1.jpg"], "nobody.jpg is not in this gallery"),
        (["confidence", "SURE", "--parts", "4"], "sure has parts of its own: 3 learned parts"),
        (["confidence", "NEW", "--model", "net.pt"], "in place of STORE"),
        (["learners", "NEW", "--baseline", "NEW"], "The baseline is the model itself"),
        (["learners", "NEW", "--baseline", "SEVEN", "--parts", "3"], "7 dimensions of seven cannot be cut into 3"),
        (["learners", "NAMELESS", "--parts", "3"], "Nobody in this gallery has two pictures and a name"),
    ],
)
def test_wrong_words(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    places = {"NEW": world.new, "SURE": sure_store, "SEVEN": seven_store, "NAMELESS": nameless_store}
    given = [str(place(world) if callable(place := places.get(word, word)) else place) for word in words]
    assert main([*given, "--resamples", "20"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert said in told[0] and len(told) == 2 and told[1]


def seven_store(world: World) -> Path:
    card = Card("seven", "small_plain", dimensions=7)
    store = Store.create(
        world.cache, fingerprint(world.faces, weights="seven", card=card), card=card, opened=world.faces.opened
    )
    with store.writer(total=len(world.faces)) as writer:
        writer.append(world.faces.ids, vectors_of(world.faces, 0.5)[:, :7])
    return store.folder


def nameless_store(world: World) -> Path:
    folder = world.gallery.parent / "flat"
    folder.mkdir()
    for number_ in range(6):
        (folder / f"{number_}.jpg").write_bytes(b"\xff\xd8")
    faces = tasks.open_gallery(folder).faces
    assert (faces.identity.codes < 0).all()
    named = replace(faces, identity=world.faces.take(np.arange(6)).identity)
    return stored(named, world.cache, "nameless", 0.5)


def test_a_gallery_without_names_is_still_looked_at(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["confidence", str(nameless_store(world)), "--parts", "3", "--resamples", "20"]) == 0
    said = capsys.readouterr().out
    assert "Nobody is named in this gallery" in said and "share of the vector's length" in said and "n/a" in said


def test_the_commands_know_the_words_of_the_analyses(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["confidence", "--help"])
    said = capsys.readouterr().out.replace("\n", "").replace(" ", "")
    assert all("{" + ",".join(words) + "}" in said for words in (plan.CUTS, plan.MATCHES, plan.SHOWN))
    for wrong in (["--parts", "0"], ["--drop", "x"], ["--drop", "0"], ["--far", "7"]):
        with pytest.raises(SystemExit):
            main(["confidence", "x", *wrong])
