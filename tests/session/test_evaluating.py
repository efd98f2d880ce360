"""Stores opened by any of their names, the same numbers on screen and in files, thresholds carried from old to new."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from facelens.__main__ import main
from facelens.analyses.bootstrap import draw
from facelens.analyses.evaluation import Evaluation, evaluate_both
from facelens.analyses.plan import EMPTY, NMI_MEANS, OPEN_RULES, PARTS, R_MODES, RULES, Plan
from facelens.errors import InputError
from facelens.features.card import Card
from facelens.features.featureset import FeatureSet, Provenance
from facelens.features.store import Store, fingerprint
from facelens.images import builder
from facelens.images.faceset import FaceSet, Labels
from facelens.session import evaluating, reports, tasks

D = 12
PLAN = Plan(resamples=40, fars=(0.1, 0.02, 1e-6), breakdown="light")
PEOPLE, EACH = 10, 4


@dataclass(frozen=True)
class World:
    """A gallery on disk with two stores, old and new."""

    gallery: Path
    faces: FaceSet
    cache: Path
    old: Path
    new: Path


@pytest.fixture
def world(tmp_path: Path) -> World:
    gallery = tmp_path / "people"
    for person in range(PEOPLE):
        (gallery / f"=p{person}").mkdir(parents=True)  # a name that a spreadsheet would run
        for number in range(EACH):
            (gallery / f"=p{person}" / f"{number}.jpg").write_bytes(b"\xff\xd8")
    faces = tasks.open_gallery(gallery).faces
    cache = tmp_path / "cache"
    old, new = (stored(faces, cache, name, spread) for name, spread in (("old net_1", 0.9), ("new & better", 0.5)))
    return World(gallery, faces, cache, old, new)


def vectors_of(faces: FaceSet, spread: float) -> np.ndarray:
    rng = np.random.default_rng(int(100 * spread))
    centres = np.random.default_rng(1).normal(size=(PEOPLE, D))
    return (centres[faces.identity.codes] + spread * rng.normal(size=(len(faces), D))).astype(np.float32)


def stored(faces: FaceSet, cache: Path, name: str, spread: float) -> Path:
    card = Card(name, "small_plain", dimensions=D)
    store = Store.create(
        cache,
        fingerprint(faces, weights=name, card=card),
        card=card,
        weights="ab" * 32,
        gallery=faces.name,
        opened=faces.opened,
    )
    with store.writer(total=len(faces)) as writer:
        writer.append(faces.ids, vectors_of(faces, spread))
    return store.folder


@pytest.fixture
def both(world: World) -> tuple[World, Evaluation]:
    columns = {"light": Labels.of(["@day" if i % 2 else "night" for i in range(len(world.faces))])}
    world = replace(world, faces=world.faces.with_columns(columns))
    opened = evaluating.open_stores([str(world.old), str(world.new)], cache=world.cache)
    a, b = opened.features
    return world, evaluate_both(world.faces, None, PLAN, a=a, b=b)


# Opening


def test_a_store_by_any_of_its_names(world: World, tmp_path: Path) -> None:
    name = world.old.name
    for word in (str(world.old), name, name[:8], name[:8].upper()):
        opened = evaluating.open_stores([word], cache=world.cache)
        assert len(opened.faces) == 40 and opened.faces.identity.names[0] == "=p0"
        (features,) = opened.features
        assert len(features) == 40 and features.provenance.model == "old net_1"
    alone = tmp_path / "alone"
    shutil.copytree(world.old, alone / name)
    assert len(evaluating.open_stores([str(alone)], cache=world.cache).features[0]) == 40


def test_what_is_no_store_is_told(world: World, tmp_path: Path) -> None:
    for word, said in (
        ("ffff", "There is no store"),
        ("0", "There is no store"),
        (str(world.gallery), "is no store"),
        (str(world.cache), "several stores"),
    ):
        with pytest.raises(InputError, match=said):
            evaluating.open_stores([word], cache=world.cache)
    renamed = tmp_path / "renamed"
    shutil.copytree(world.old, renamed)
    with pytest.raises(InputError, match="renamed"):
        evaluating.open_stores([str(renamed)], cache=world.cache)


def test_a_gallery_that_has_moved(world: World, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    world.gallery.rename(moved)
    with pytest.raises(InputError, match=r"not at .*people any more") as refused:
        evaluating.open_stores([str(world.old)], cache=world.cache)
    assert "--gallery" in refused.value.hint
    opened = evaluating.open_stores([str(world.old)], cache=world.cache, gallery=moved)
    assert len(opened.features[0]) == 40
    other = tmp_path / "others" / "x"
    other.mkdir(parents=True)
    (other / "9.jpg").write_bytes(b"\xff\xd8")
    with pytest.raises(InputError, match="No vector of"):
        evaluating.open_stores([str(world.old)], cache=world.cache, gallery=other.parent)


def test_a_store_of_an_earlier_version(world: World) -> None:
    store = Store.open(world.cache, world.old.name)
    store.manifest = {name: value for name, value in store.manifest.items() if name != "opened"}
    store._save_manifest()
    with pytest.raises(InputError, match="does not say where") as refused:
        evaluating.open_stores([str(world.old)], cache=world.cache)
    assert "--gallery" in refused.value.hint
    # another store of the same gallery may know
    assert len(evaluating.open_stores([str(world.old), str(world.new)], cache=world.cache).features) == 2
    assert len(evaluating.open_stores([str(world.old)], cache=world.cache, gallery=world.gallery).faces) == 40


@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_exported_vectors_need_no_gallery(world: World, tmp_path: Path, form: str) -> None:
    features = evaluating.open_stores([str(world.old)], cache=world.cache).features[0]
    out = tmp_path / f"vectors.{form}"
    tasks.export_vectors(features, world.faces, out)
    opened = evaluating.open_stores([str(out)], cache=world.cache)
    assert opened.faces.identity.names == world.faces.identity.names and len(opened.features[0]) == 40
    plan = replace(PLAN, breakdown="", parts=("verification",))
    of_file = evaluate_both(opened.faces, None, plan, a=opened.features[0]).a
    of_store = evaluate_both(world.faces, None, plan, a=features).a
    assert of_file is not None and of_store is not None
    assert of_file.verification.points == of_store.verification.points  # type: ignore[union-attr]


def test_lists_of_pairs(world: World, tmp_path: Path) -> None:
    rows = [
        "a,b,same,fold",
        "=p0/0.jpg,=p0/1.jpg,1,1",
        "people/=p1/0.jpg,people/=p2/1.jpg,0,2",
        "x/1.jpg,=p0/1.jpg,0,2",
    ]
    table = tmp_path / "pairs.csv"
    table.write_text("\n".join(rows) + "\n")
    opened = evaluating.open_stores([str(world.old)], cache=world.cache, protocol=table)
    pairs = opened.protocol.pairs  # type: ignore[union-attr]
    assert pairs is not None and pairs.same.tolist() == [True, False] and pairs.fold.tolist() == [0, 1]
    assert any("1 pair of pairs.csv was left out" in note for note in opened.notes)
    for name, text, said in (
        ("none.csv", "a,b,same\nx.jpg,y.jpg,1\n", "None of the pairs"),
        ("not.csv", "hello\n", "is not a pair"),
        ("faces.bin", "x", "brings its own pictures"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=said):
            evaluating.open_stores([str(world.old)], cache=world.cache, protocol=tmp_path / name)
    with pytest.raises(InputError, match="nothing at"):
        evaluating.open_stores([str(world.old)], cache=world.cache, protocol=tmp_path / "absent.csv")


# Files


def test_json_has_every_number(both: tuple[World, Evaluation], tmp_path: Path) -> None:
    world, found = both
    told = json.loads(evaluating.write_json(tmp_path / "e.json", found, faces=world.faces).read_text())
    assert told["plan"]["fars"] == [0.1, 0.02, 1e-6] and told["digest"] == found.digest
    assert told["gallery"]["identities"] == 10 and told["gallery"]["digest"] == world.faces.digest
    model = told["models"]["A"]
    assert model["gallery"]["weights_sha256"] == "ab" * 32 and model["gallery"]["card"]["name"] == "old net_1"
    points = found.a.verification.points  # type: ignore[union-attr]
    assert model["verification"]["points"][0]["tar"]["value"] == points[0].tar.value
    assert model["verification"]["points"][2]["tar"]["supported"] is False
    assert model["pairs"]["genuine"] == 60 and len(model["slices"]) == 2
    assert model["retrieval"]["measures"]["P@1"]["n"] == 40
    assert told["b_minus_a"]["verification"]["points"][0]["tar"]["value"] is not None
    assert len(model["confusable"]["people"][0]["best_pair"]) == 2


def test_csv_runs_no_formulas(both: tuple[World, Evaluation], tmp_path: Path) -> None:
    world, found = both
    out = evaluating.write_csv(tmp_path / "e.csv", found, faces=world.faces)
    tables = {}
    for name in ("e.csv", "e-searches.csv", "e-queries.csv"):
        with open(tmp_path / name, newline="") as stream:
            tables[name] = list(csv.DictReader(stream))
    assert out == tmp_path / "e.csv"
    first = tables["e.csv"][0]
    point = found.a.verification.points[0]  # type: ignore[union-attr]
    assert (first["measure"], float(first["target"])) == ("TAR", 0.1)
    assert float(first["value"]) == pytest.approx(point.tar.value) and int(first["n_impostor"]) == 720
    assert float(first["low"]) == pytest.approx(point.tar.low) and float(first["threshold"]) == pytest.approx(
        point.threshold
    )
    unsupported = [row for row in tables["e.csv"] if row["target"] == "1e-06" and row["part"] == "verification"]
    assert unsupported and all(row["supported"] == "0" and row["why"] for row in unsupported)
    assert {row["slice"] for row in tables["e.csv"]} == {"", "'@day", "night"}
    assert {row["model"] for row in tables["e.csv"]} == {"A old net_1", "B new & better", "B - A"}
    assert len(tables["e-queries.csv"]) == 80 and len(tables["e-searches.csv"]) == 2 * 60
    assert all(row["query"].startswith("'=p") and row["identity"].startswith("'=") for row in tables["e-queries.csv"])
    worst = [float(row["MAP@R"]) for row in tables["e-queries.csv"][:40]]
    assert worst == sorted(worst)


def test_latex_escapes_names(both: tuple[World, Evaluation], tmp_path: Path) -> None:
    world, found = both
    text = evaluating.write_latex(tmp_path / "e.tex", found, faces=world.faces).read_text()
    assert r"A: old net\_1" in text and r"B: new \& better" in text and "B $-$ A" in text
    table = text[text.index(r"\begin{tabular}") :]
    rows = [line for line in table.splitlines() if "&" in line]
    assert len(rows) == 4 and len({line.replace(r"\&", "").count("&") for line in rows}) == 1
    assert "--" in rows[1] and "scriptsize" in rows[1] and "−" not in text
    assert evaluating.latex_text("a_b{c}\\~^") == r"a\_b\{c\}\textbackslash{}\textasciitilde{}\textasciicircum{}"


def test_policy_carries_the_threshold(both: tuple[World, Evaluation], tmp_path: Path) -> None:
    _, found = both
    told = json.loads(evaluating.write_policy(tmp_path / "p.json", found, target=0.1).read_text())
    old, new = told["models"]
    points = [one.verification.points[0] for one in (found.a, found.b)]  # type: ignore[union-attr]
    assert [old["threshold"], new["threshold"]] == [one.threshold for one in points]
    assert old["model"]["weights_sha256"] == "ab" * 32 and old["n_impostor"] == 720 and told["rule"] == "roc"
    scores = found.b.scores  # type: ignore[union-attr]
    assert scores is not None
    carried = told["carried"]
    assert carried["threshold"] == points[0].threshold and carried["exact"]
    assert carried["far"] == pytest.approx((scores.impostor_scores >= points[0].threshold).mean())
    assert carried["tar"]["value"] == pytest.approx((scores.genuine_scores >= points[0].threshold).mean())
    # intervals of the same draws: that of the old threshold, and of the real FAR of each
    draws = draw(scores, resamples=PLAN.resamples, seed=PLAN.seed)
    step = np.searchsorted(-scores.steps.threshold, -points[0].threshold, side="right") - 1
    assert (draws.places == np.arange(len(scores.steps.threshold))).all()
    low, high = np.quantile(draws.genuine[:, step] / draws.genuine[:, -1], [0.025, 0.975])
    assert (carried["tar"]["low"], carried["tar"]["high"]) == pytest.approx((low, high))
    low, high = np.quantile(draws.impostor[:, step] / draws.impostor[:, -1], [0.025, 0.975])
    assert carried["far_interval"] == pytest.approx([low, high]) and low < carried["far"] < high
    assert all(one["far_interval"][0] < one["far"] < one["far_interval"][1] for one in told["models"])
    between = evaluating.policy(found, target=0.05)  # a rate that the plan does not have
    assert points[0].threshold < between["models"][0]["threshold"]
    with pytest.raises(InputError, match="no threshold for FAR 1e-6"):
        evaluating.policy(found, target=1e-6)
    with pytest.raises(InputError, match="no operating points"):
        evaluating.policy(replace(found, a=None, b=None), target=0.1)


def test_lines_name_rule_counts_and_reasons(both: tuple[World, Evaluation]) -> None:
    world, found = both
    text = "\n".join(reports.lines(found, faces=world.faces))
    for words in (
        "people: 40 faces, 10 people. Test: all pairs.",
        "Model A: old net_1",
        "60 genuine and 720 impostor pairs; rule roc; 95 % intervals from 40 draws of identities",
        "unattainable: 720 impostor pairs",
        "By light, at the thresholds of all pairs",
        "B minus A",
        "MAP@R",
        "rank 1",
    ):
        assert words in text, words
    assert "nan" not in text.lower()


def test_an_empty_evaluation_can_be_told_and_written(tmp_path: Path) -> None:
    faces = FaceSet.build("none", tmp_path, paths=[], identities=[])
    none = FeatureSet(np.zeros(0, np.int64), np.zeros((0, D), np.float32), Provenance("f", "net"))
    found = evaluate_both(faces, None, PLAN, a=none, b=none)
    assert "n/a: no pair was compared" in "\n".join(reports.lines(found, faces=faces))
    for write, name in (
        (evaluating.write_json, "e.json"),
        (evaluating.write_csv, "e.csv"),
        (evaluating.write_latex, "e.tex"),
    ):
        assert write(tmp_path / name, found, faces=faces).stat().st_size


# The command


def test_the_command(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outs = {kind: tmp_path / f"out.{kind}" for kind in ("json", "csv", "latex", "policy")}
    files = [word for kind, path in outs.items() for word in (f"--{kind}", str(path))]
    words = ["evaluate", str(world.old), "--compare", str(world.new), "--far", "1e-1", "2e-2", "--resamples", "20"]
    assert main([*words, *files, "--policy-far", "0.1", "--rule", "nist", "--nmi", "geometric"]) == 0
    said = capsys.readouterr().out
    assert "rule nist" in said and "NMI (geometric)" in said and "Model B: new & better" in said and "B minus A" in said
    assert all(path.stat().st_size for path in outs.values())
    assert json.loads(outs["json"].read_text())["plan"]["fars"] == [0.1, 0.02]
    assert (
        main(["evaluate", str(world.old), "--query", str(world.new), "--only", "verification", "--resamples", "0"]) == 0
    )
    said = capsys.readouterr().out
    assert (
        "new & better in the gallery of old net_1" in said and "Retrieval" not in said and "without intervals" in said
    )


@pytest.fixture
def masked(world: World, tmp_path: Path) -> tuple[Path, Path]:
    """Copies of some of the pictures at the same paths in another folder, one more person, and their store."""
    folder = tmp_path / "masked"
    for person, number in (*((p, n) for p in range(6) for n in range(2)), (99, 0)):
        (folder / f"=p{person}").mkdir(parents=True, exist_ok=True)
        (folder / f"=p{person}" / f"{number}.jpg").write_bytes(b"\xff\xd8")
    return folder, stored(tasks.open_gallery(folder).faces, world.cache, "old net_1", 0.9)


def test_queries_in_another_folder(
    world: World, masked: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, store = masked
    opened = evaluating.open_stores([str(world.old)], cache=world.cache, query=str(store))
    assert opened.searching is not None and opened.queries is not None
    assert len(opened.faces) == 53 and len(np.unique(opened.faces.ids)) == 53
    assert opened.faces.path(40).resolve() == (folder / "=p0/0.jpg").resolve()
    assert opened.queries.ids.tolist() == opened.searching.ids.tolist() == opened.faces.ids[40:].tolist()
    np.testing.assert_array_equal(opened.queries.vectors, vectors_of(tasks.open_gallery(folder).faces, 0.9))

    out = tmp_path / "e.json"
    words = ["evaluate", str(world.old), "--query", str(store), "--resamples", "20", "--far", "0.1", "--json", str(out)]
    assert main([*words, "--csv", str(tmp_path / "e.csv"), "--latex", str(tmp_path / "e.tex")]) == 0
    said = capsys.readouterr().out
    assert "people: 40 faces, 10 people. Test: all pairs." in said
    assert "Queries of masked: 13 faces, 7 people, of whom the gallery has 6." in said
    assert "12 queries have the same paths as faces of the gallery" in said
    assert "Model A: old net_1\n" in said and "weights" not in said  # the same weights, although two stores
    assert f"{12 * 4} genuine and {13 * 40 - 12 * 4} impostor pairs" in said
    assert "12 searches of enrolled people, 1 of others; 40 entries" in said
    assert "Retrieval: 12 queries in 40, 1 with nothing to find" in said
    told = json.loads(out.read_text())
    assert told["queries"] == {"name": "masked", "faces": 13, "identities": 7, "enrolled": 6}
    with open(tmp_path / "e-queries.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["query"].split("/")[0] for row in rows} == {"masked"}
    assert {row["nearest"].split("/")[0] for row in rows} == {"people"}
    assert "queries of masked" in (tmp_path / "e.tex").read_text()

    # the same pictures listed in a file are the same gallery
    listed = tmp_path / "people" / "list.csv"
    listed.write_text("path,identity\n" + "".join(f"=p{p}/{n}.jpg,=p{p}\n" for p in range(10) for n in range(4)))
    again = stored(tasks.open_gallery(listed).faces, tmp_path / "other", "new & better", 0.5)
    listed.rename(tmp_path / "people.csv")
    with pytest.raises(InputError, match="gallery of the queries is not at") as refused:
        evaluating.open_stores([str(world.old)], cache=world.cache, query=str(again))
    assert "--query-gallery" in refused.value.hint
    (tmp_path / "people.csv").rename(listed)
    opened = evaluating.open_stores([str(world.old)], cache=world.cache, query=str(again))
    assert opened.searching is None and opened.queries is not None and len(opened.faces) == len(opened.queries) == 40
    same = evaluating.open_stores([str(world.old)], cache=world.cache, query=str(world.new))
    assert same.searching is None and len(same.faces) == 40


def test_queries_that_moved_and_queries_of_a_file(world: World, masked: tuple[Path, Path], tmp_path: Path) -> None:
    folder, store = masked
    queries = evaluating.open_stores([str(store)], cache=world.cache)
    out = tmp_path / "vectors.npz"
    tasks.export_vectors(queries.features[0], queries.faces, out)
    moved = folder.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="gallery of the queries is not at"):
        evaluating.open_stores([str(world.old)], cache=world.cache, query=str(store))
    for name in (str(store), str(out)):
        opened = evaluating.open_stores([str(world.old)], cache=world.cache, query=name, query_gallery=moved)
        assert opened.searching is not None and len(opened.searching.ids) == 13
    # a file with none of the gallery's names is another gallery by itself; with its names, vectors of the same faces
    names, rows = [f"else/{i}.jpg" for i in range(4)], np.eye(4, D, dtype=np.float32)
    np.savez(tmp_path / "own.npz", vectors=rows, names=names, identity=["=p0", "=p1", "=p1", "x"])
    opened = evaluating.open_stores([str(world.old)], cache=world.cache, query=str(tmp_path / "own.npz"))
    assert opened.searching is not None and len(opened.faces) == 44
    assert opened.faces.identity.codes[40] == opened.faces.identity.codes[0]
    assert evaluating.open_stores([str(world.old)], cache=world.cache, query=str(out)).searching is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Nothing to evaluate"),
        (["x" * 8], "There is no store"),
        (["OLD", "--query", "NEW", "--compare", "NEW"], "cannot be given together"),
        (["OLD", "--model", "net.pt"], "in place of STORE"),
        (["--model", "net.pt"], "in place of STORE"),
        (["--gallery", "g", "--query", "NEW", "--model", "net.pt", "net.pt"], "in place of STORE"),
        (["OLD", "--query-gallery", "g"], "without --query"),
    ],
)
def test_wrong_words(world: World, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    places = {"OLD": str(world.old), "NEW": str(world.new)}
    assert main(["evaluate", *(places.get(word, word) for word in words)]) == 1
    assert said in capsys.readouterr().err


def test_the_command_knows_the_words_of_the_analyses(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    said = capsys.readouterr().out.replace("\n", "").replace(" ", "")
    for known in (RULES, OPEN_RULES, R_MODES, NMI_MEANS, EMPTY, PARTS):
        assert "{" + ",".join(known) + "}" in said
    with pytest.raises(SystemExit):
        main(["evaluate", "x", "--far", "7"])


def test_an_ijb_folder_and_a_bin_from_their_stores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    meta, crops = tmp_path / "ijb" / "meta", tmp_path / "ijb" / "loose_crop"
    meta.mkdir(parents=True)
    crops.mkdir()
    members, pairs, gallery, probes = [], [], [[], []], []
    for person in range(PEOPLE):
        for number in range(EACH):
            name = f"{EACH * person + number}.jpg"
            (crops / name).write_bytes(b"\xff\xd8")
            members.append(f"{name} {10 * person + number // 2} {number}")
            members += [f"{name} {10 * person + 2} {number}"] if number in (1, 2) else []  # in a second template too
        gallery[person % 2].append(f"{10 * person},{person}")
        probes += [f"{10 * person + 1},{person}", f"{10 * person + 2},{person}"]
        pairs += [f"{10 * person} {10 * person + 1} 1", f"{10 * person} {10 * ((person + 1) % PEOPLE) + 2} 0"]
    for name, rows in (
        ("ijbc_face_tid_mid.txt", members),
        ("ijbc_template_pair_label.txt", pairs),
        ("ijbc_1N_gallery_G1.csv", ["TEMPLATE_ID,SUBJECT_ID", *gallery[0]]),
        ("ijbc_1N_gallery_G2.csv", ["TEMPLATE_ID,SUBJECT_ID", *gallery[1]]),
        ("ijbc_1N_probe_mixed.csv", ["TEMPLATE_ID,SUBJECT_ID", *probes]),
    ):
        (meta / name).write_text("\n".join(rows) + "\n")
    faces = tasks.open_gallery(tmp_path / "ijb").faces
    store = stored(faces, tmp_path / "cache", "net", 0.6)
    words = ["--resamples", "20", "--fpir", "0.5", "--far", "0.5"]
    assert main(["evaluate", str(store), *words, "--csv", str(tmp_path / "e.csv")]) == 0
    said = capsys.readouterr().out
    assert "Test: IJB-C." in said and "10 genuine and 10 impostor pairs" in said
    assert "20 searches of enrolled people, 20 of others" in said and "without the mirrored picture" in said
    with open(tmp_path / "e-searches.csv", newline="") as stream:
        assert {row["query"] for row in csv.DictReader(stream)} == {line.split(",")[0] for line in probes}

    pairs_of = builder.build_pairs(world_of(tmp_path / "some"), folds=2, per_fold=5)
    builder.write_bin(tmp_path / "some.bin", world_of(tmp_path / "some"), pairs_of)
    faces = tasks.open_gallery(tmp_path / "some.bin").faces
    store = stored(faces, tmp_path / "cache", "net", 0.6)
    assert main(["evaluate", str(store), "--resamples", "20"]) == 0
    said = capsys.readouterr().out
    assert (
        "10 genuine and 10 impostor pairs" in said and "draws of pairs" in said and "40 faces have no identity" in said
    )
    assert "n/a" in said  # nobody is known, so nobody can be found


def world_of(folder: Path) -> FaceSet:
    from PIL import Image

    for person in range(5):
        (folder / f"p{person}").mkdir(parents=True, exist_ok=True)
        for number in range(EACH):
            Image.new("RGB", (8, 8), (40 * person, 40 * number, 0)).save(folder / f"p{person}" / f"{number}.png")
    return tasks.open_gallery(folder).faces
