"""Stores opened by any of their names, with galleries that moved, lists of pairs, and queries of other galleries."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.__main__ import main
from facelens.analyses.evaluation import evaluate_both
from facelens.errors import InputError
from facelens.features.card import Card
from facelens.features.store import Store, fingerprint
from facelens.images import builder
from facelens.images.faceset import FaceSet
from facelens.session import exporting, tasks, vectors
from tests.session.evaluated import EACH, PEOPLE, PLAN, D, World, stored, vectors_of


def test_a_store_by_any_of_its_names(world: World, tmp_path: Path) -> None:
    name = world.old.name
    for word in (str(world.old), name, name[:8], name[:8].upper()):
        opened = vectors.open_stores([word], cache=world.cache)
        assert len(opened.faces) == 40 and opened.faces.identity.names[0] == "=p0"
        (features,) = opened.features
        assert len(features) == 40 and features.provenance.model == "old net_1"
    alone = tmp_path / "alone"
    shutil.copytree(world.old, alone / name)
    assert len(vectors.open_stores([str(alone)], cache=world.cache).features[0]) == 40


def test_what_is_no_store_is_told(world: World, tmp_path: Path) -> None:
    for word, said in (
        ("ffff", "There is no store"),
        ("0", "There is no store"),
        (str(world.gallery), "is no store"),
        (str(world.cache), "several stores"),
    ):
        with pytest.raises(InputError, match=said):
            vectors.open_stores([word], cache=world.cache)
    renamed = tmp_path / "renamed"
    shutil.copytree(world.old, renamed)
    with pytest.raises(InputError, match="renamed"):
        vectors.open_stores([str(renamed)], cache=world.cache)


def test_a_gallery_that_has_moved(world: World, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    world.gallery.rename(moved)
    with pytest.raises(InputError, match=r"not at .*people any more") as refused:
        vectors.open_stores([str(world.old)], cache=world.cache)
    assert "--gallery" in refused.value.hint
    opened = vectors.open_stores([str(world.old)], cache=world.cache, gallery=moved)
    assert len(opened.features[0]) == 40
    other = tmp_path / "others" / "x"
    other.mkdir(parents=True)
    (other / "9.jpg").write_bytes(b"\xff\xd8")
    with pytest.raises(InputError, match="No vector of"):
        vectors.open_stores([str(world.old)], cache=world.cache, gallery=other.parent)


def test_stores_of_two_galleries_with_the_same_names(world: World, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(world.gallery, copy)
    other = stored(tasks.open_gallery(copy).faces, world.cache, "other", 0.5)
    with pytest.raises(InputError, match="is of another gallery") as refused:
        vectors.open_stores([str(world.old), str(other)], cache=world.cache)
    assert "--gallery" in refused.value.hint
    assert len(vectors.open_stores([str(world.old), str(other)], cache=world.cache, gallery=copy).features) == 2
    # a list of a gallery lies in another place, yet shows the same pictures
    with open(world.gallery / "list.csv", "w") as stream:
        stream.writelines(["path,identity\n", *(f"{path.decode()},x\n" for path in world.faces.paths)])
    faces = tasks.open_gallery(world.gallery / "list.csv").faces
    card = Card("listed", "small_plain", dimensions=D)
    name = fingerprint(faces, weights="w", card=card)
    listed = Store.create(world.cache, name, card=card, weights="w", opened=faces.opened)
    with listed.writer(total=len(faces)) as writer:
        writer.append(faces.ids, vectors_of(world.faces, 0.5))
    assert len(vectors.open_stores([str(world.old), str(listed.folder)], cache=world.cache).features) == 2


def test_a_store_of_an_earlier_version(world: World) -> None:
    store = Store.open(world.cache, world.old.name)
    store.manifest = {name: value for name, value in store.manifest.items() if name != "opened"}
    store._save_manifest()
    with pytest.raises(InputError, match="does not say where") as refused:
        vectors.open_stores([str(world.old)], cache=world.cache)
    assert "--gallery" in refused.value.hint
    # another store of the same gallery may know
    assert len(vectors.open_stores([str(world.old), str(world.new)], cache=world.cache).features) == 2
    assert len(vectors.open_stores([str(world.old)], cache=world.cache, gallery=world.gallery).faces) == 40


@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_exported_vectors_need_no_gallery(world: World, tmp_path: Path, form: str) -> None:
    features = vectors.open_stores([str(world.old)], cache=world.cache).features[0]
    out = tmp_path / f"vectors.{form}"
    exporting.export(features, world.faces, out)
    opened = vectors.open_stores([str(out)], cache=world.cache)
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
    opened = vectors.open_stores([str(world.old)], cache=world.cache, protocol=table)
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
            vectors.open_stores([str(world.old)], cache=world.cache, protocol=tmp_path / name)
    with pytest.raises(InputError, match="nothing at"):
        vectors.open_stores([str(world.old)], cache=world.cache, protocol=tmp_path / "absent.csv")


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
    opened = vectors.open_stores([str(world.old)], cache=world.cache, query=str(store))
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
        vectors.open_stores([str(world.old)], cache=world.cache, query=str(again))
    assert "--query-gallery" in refused.value.hint
    (tmp_path / "people.csv").rename(listed)
    opened = vectors.open_stores([str(world.old)], cache=world.cache, query=str(again))
    assert opened.searching is None and opened.queries is not None and len(opened.faces) == len(opened.queries) == 40
    same = vectors.open_stores([str(world.old)], cache=world.cache, query=str(world.new))
    assert same.searching is None and len(same.faces) == 40


def test_queries_that_moved_and_queries_of_a_file(world: World, masked: tuple[Path, Path], tmp_path: Path) -> None:
    folder, store = masked
    queries = vectors.open_stores([str(store)], cache=world.cache)
    out = tmp_path / "vectors.npz"
    exporting.export(queries.features[0], queries.faces, out)
    moved = folder.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="gallery of the queries is not at"):
        vectors.open_stores([str(world.old)], cache=world.cache, query=str(store))
    for name in (str(store), str(out)):
        opened = vectors.open_stores([str(world.old)], cache=world.cache, query=name, query_gallery=moved)
        assert opened.searching is not None and len(opened.searching.ids) == 13
    # a file with none of the gallery's names is another gallery by itself; with its names, vectors of the same faces
    names, rows = [f"else/{i}.jpg" for i in range(4)], np.eye(4, D, dtype=np.float32)
    np.savez(tmp_path / "own.npz", vectors=rows, names=names, identity=["=p0", "=p1", "=p1", "x"])
    opened = vectors.open_stores([str(world.old)], cache=world.cache, query=str(tmp_path / "own.npz"))
    assert opened.searching is not None and len(opened.faces) == 44
    assert opened.faces.identity.codes[40] == opened.faces.identity.codes[0]
    assert vectors.open_stores([str(world.old)], cache=world.cache, query=str(out)).searching is None


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
