from __future__ import annotations

import csv
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from facelens.errors import InputError
from facelens.images import builder, decode, readers
from facelens.images.faceset import FaceSet, Labels
from facelens.images.protocol import Pairs

from .conftest import Draw


def faces_of(sizes: list[int], *, missing: int = 0) -> FaceSet:
    names = [f"P{i}" for i, n in enumerate(sizes) for _ in range(n)] + [None] * missing
    paths = [f"{name or 'x'}/{row}.jpg" for row, name in enumerate(names)]
    return FaceSet.build("made", Path("/nowhere"), paths=paths, identities=names)


def check(faces: FaceSet, pairs: Pairs, folds: int, per_fold: int) -> None:
    codes = faces.identity.codes[pairs.pairs]
    assert (codes >= 0).all()
    np.testing.assert_array_equal(codes[:, 0] == codes[:, 1], pairs.same)
    assert (pairs.pairs[:, 0] != pairs.pairs[:, 1]).all()
    assert len({frozenset(pair) for pair in pairs.pairs.tolist()}) == len(pairs)
    for fold in range(folds):
        assert (pairs.same[pairs.fold == fold]).sum() == per_fold == (~pairs.same[pairs.fold == fold]).sum()


@pytest.mark.parametrize(
    ("sizes", "folds", "per_fold"), [([10] * 40, 10, 30), ([4] * 12, 3, 6), ([30, 2, 2, 2], 1, 40), ([60] * 4, 2, 500)]
)
def test_balanced_without_repeats(sizes: list[int], folds: int, per_fold: int) -> None:
    faces = faces_of(sizes, missing=3)
    pairs = builder.build_pairs(faces, folds=folds, per_fold=per_fold)
    check(faces, pairs, folds, per_fold)


def test_identities_stay_in_one_fold_where_they_can() -> None:
    roomy = faces_of([10] * 40)
    assert builder.disjoint_folds(roomy, builder.build_pairs(roomy, folds=10, per_fold=30))
    tight = faces_of([10] * 3)
    pairs = builder.build_pairs(tight, folds=5, per_fold=20)
    check(tight, pairs, 5, 20)
    assert not builder.disjoint_folds(tight, pairs)


def test_every_pair_there_is() -> None:
    faces = faces_of([3, 3])
    check(faces, builder.build_pairs(faces, folds=1, per_fold=6), 1, 6)
    check(faces, builder.build_pairs(faces, folds=2, per_fold=3), 2, 3)


def test_one_person_with_nearly_everything() -> None:
    faces = faces_of([400, 1])
    check(faces, builder.build_pairs(faces, folds=1, per_fold=390), 1, 390)


def test_the_seed_decides() -> None:
    faces = faces_of([6] * 30)
    one, two, other = (builder.build_pairs(faces, folds=3, per_fold=10, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.pairs, two.pairs)
    assert (one.pairs != other.pairs).any()


def test_people_take_turns() -> None:
    faces = faces_of([50, 3, 3, 3])
    pairs = builder.build_pairs(faces, folds=1, per_fold=12)
    owners = faces.identity.codes[pairs.pairs[pairs.same][:, 0]]
    assert np.bincount(owners, minlength=4).tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("sizes", [[], [1], [1, 1, 1], [5], [2, 2]])
def test_too_few_is_said_with_a_way_out(sizes: list[int]) -> None:
    with pytest.raises(InputError) as caught:
        builder.build_pairs(faces_of(sizes), folds=1, per_fold=4)
    assert "are wanted" in caught.value.message and caught.value.hint
    with pytest.raises(InputError):
        builder.build_pairs(faces_of([5, 5]), folds=0)


def test_the_hint_keeps_its_promise() -> None:
    faces = faces_of([4, 4, 4])
    with pytest.raises(InputError, match="at most 6 pairs a fold"):
        builder.build_pairs(faces, folds=3, per_fold=100)
    check(faces, builder.build_pairs(faces, folds=3, per_fold=6), 3, 6)


def reopened(path: Path, faces: FaceSet) -> Pairs:
    protocol = readers.read(path, options={"root": str(faces.root)}).protocol
    assert protocol is not None and protocol.pairs is not None
    return protocol.pairs


def test_pairs_txt_in_lfws_form(people: Path, tmp_path: Path) -> None:
    faces = readers.read(people).faces
    pairs = builder.build_pairs(faces, folds=2, per_fold=3)
    builder.write_pairs_txt(tmp_path / "pairs.txt", faces, pairs)
    text = (tmp_path / "pairs.txt").read_text()
    assert text.startswith("2\t3\n") and ".jpg" not in text
    again = reopened(tmp_path / "pairs.txt", faces)
    for name in ("pairs", "same", "fold"):
        np.testing.assert_array_equal(getattr(again, name), getattr(pairs, name))


def test_pairs_txt_with_paths_where_names_do_not_fit(draw: Draw, tmp_path: Path) -> None:
    odd = ["g/a b/100%.jpg", "g/a b/tab\there.jpg", "g/a b/é.jpg", "g/=c/1.jpg", "g/=c/2\n3.jpg", "g/=c/x.png"]
    for seed, name in enumerate(odd):
        draw(name, seed)
    faces = readers.read(tmp_path / "g").faces
    pairs = builder.build_pairs(faces, folds=2, per_fold=3)
    builder.write_pairs_txt(tmp_path / "p.txt", faces, pairs)
    again = reopened(tmp_path / "p.txt", faces)
    for name in ("pairs", "same", "fold"):
        np.testing.assert_array_equal(getattr(again, name), getattr(pairs, name))


def test_a_bin_round_trip(people: Path, draw: Draw, tmp_path: Path) -> None:
    draw("people/Ann_Lee/grey.bmp", 77)
    faces = readers.read(people).faces
    pairs = builder.build_pairs(faces, folds=1, per_fold=9)
    builder.write_bin(tmp_path / "x.bin", faces, pairs)
    reading = readers.read(tmp_path / "x.bin")
    assert reading.protocol is not None and reading.protocol.pairs is not None
    np.testing.assert_array_equal(reading.protocol.pairs.same, pairs.same)
    for place, row in enumerate(pairs.pairs.ravel().tolist()):
        np.testing.assert_array_equal(decode.read_face(reading.faces, place), decode.read_face(faces, row))
    # and what everybody else's code sees
    pictures, same = pickle.loads((tmp_path / "x.bin").read_bytes())
    assert same == pairs.same.tolist() and all(isinstance(data, bytes) for data in pictures)


def test_a_bin_holds_upright_pictures(tmp_path: Path, draw: Draw) -> None:
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6
    for seed, name in enumerate(("g/a/1.jpg", "g/a/2.jpg", "g/b/1.jpg")):
        path = draw(name, seed, width=40, height=20)
        Image.open(path).save(path, exif=exif)
    faces = readers.read(tmp_path / "g").faces
    builder.write_bin(tmp_path / "x.bin", faces, builder.build_pairs(faces, folds=1, per_fold=1))
    pictures, _ = pickle.loads((tmp_path / "x.bin").read_bytes())
    import io

    assert all(Image.open(io.BytesIO(data)).size == (20, 40) for data in pictures)


def test_a_list_of_a_selection(people: Path, tmp_path: Path) -> None:
    faces = readers.read(people).faces.with_columns(
        {"score": np.linspace(-1, 1, 12), "n": np.arange(12), "tone": Labels.of(["-x", None] * 6)}
    )
    builder.write_list(tmp_path / "list.csv", faces, np.array([5, 2, 7]))
    with open(tmp_path / "list.csv", newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == ["path", "readable", "identity", "score", "n", "tone"]
    assert rows[1][0] == "people/Bo_Rask/Bo_Rask_0003.jpg" and rows[1][5] == "" and rows[2][5] == "'-x"
    assert float(rows[1][3]) == faces.columns["score"][5]  # type: ignore[index]
    assert not rows[2][3].startswith("'")  # a negative number stays a number
    again = readers.read(tmp_path / "list.csv").faces
    assert [again.path(i) for i in range(3)] == [faces.path(i) for i in (5, 2, 7)]
    assert [again.identity.name(i) for i in range(3)] == [faces.identity.name(i) for i in (5, 2, 7)]
    np.testing.assert_array_equal(again.columns["score"], faces.columns["score"][[5, 2, 7]])  # type: ignore[index]
    assert "readable" not in again.columns


def test_a_list_as_parquet_is_a_gallery_again_and_its_columns_keep_their_types(people: Path, tmp_path: Path) -> None:
    faces = readers.read(people).faces.with_columns(
        {"score": np.where(np.arange(12) == 5, np.nan, 0.25), "n": np.arange(12), "tone": Labels.of(["-x", None] * 6)}
    )
    builder.write_list(tmp_path / "list.parquet", faces, np.array([5, 2, 7]))
    table = parquet.read_table(tmp_path / "list.parquet")
    assert table.column_names == ["path", "identity", "score", "n", "tone"]
    assert table["score"].to_pylist() == [None, 0.25, 0.25] and table["n"].to_pylist() == [5, 2, 7]
    again = readers.read(tmp_path / "list.parquet").faces
    assert [again.path(i) for i in range(3)] == [faces.path(i) for i in (5, 2, 7)]
    assert [again.identity.name(i) for i in range(3)] == [faces.identity.name(i) for i in (5, 2, 7)]
    tone = again.columns["tone"]
    assert isinstance(tone, Labels) and tone.name(1) == "-x", "no quote goes before it: nothing runs formulas there"


def test_a_list_as_json(people: Path, tmp_path: Path) -> None:
    faces = readers.read(people).faces.with_columns(
        {"score": np.where(np.arange(12) == 5, np.inf, 0.25), "n": np.arange(12), "tone": Labels.of(["=1", None] * 6)}
    )
    builder.write_list(tmp_path / "list.JSON", faces, np.array([5, 2]))
    first, second = json.loads((tmp_path / "list.JSON").read_text("utf-8"))
    assert first["path"] == "people/Bo_Rask/Bo_Rask_0003.jpg" and first["score"] is None and first["n"] == 5
    assert second["tone"] == "=1" and second["score"] == 0.25
    builder.write_list(tmp_path / "none.json", faces, np.array([], np.int64))
    assert json.loads((tmp_path / "none.json").read_text("utf-8")) == []


def test_a_name_that_is_no_text_survives_in_every_kind_of_list(tmp_path: Path, draw: Draw) -> None:
    draw("g/plain.png", 1)
    os.rename(os.fsencode(tmp_path / "g" / "plain.png"), os.fsencode(tmp_path / "g") + b"/\xff.png")
    faces = readers.read(tmp_path / "g").faces
    for ending in ("csv", "json", "parquet"):
        builder.write_list(tmp_path / "g" / f"list.{ending}", faces, np.arange(1))
    (said,) = json.loads((tmp_path / "g" / "list.json").read_text("utf-8"))
    assert os.fsencode(said["path"]) == faces.paths[0] == b"\xff.png"
    assert parquet.read_table(tmp_path / "g" / "list.parquet")["path"].to_pylist() == [b"\xff.png"]


def test_a_guard_and_a_quote_in_a_name_are_told_apart(tmp_path: Path, draw: Draw) -> None:
    for seed, name in enumerate(("=1.png", "'=1.png", "''=1.png", "1.png")):
        draw(f"g/{name}", seed)
    faces = readers.read(tmp_path / "g").faces
    for raw in (False, True):
        builder.write_list(tmp_path / "g" / "list.csv", faces, np.arange(4), raw=raw)
        again = readers.read(tmp_path / "g" / "list.csv").faces
        assert list(again.paths) == list(faces.paths)


def test_a_list_elsewhere_has_absolute_paths(people: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    faces = readers.read(people).faces
    path = tmp_path_factory.mktemp("far") / "list.csv"
    builder.write_list(path, faces, np.arange(12))
    again = readers.read(path).faces
    assert [again.path(i) for i in range(12)] == [faces.path(i) for i in range(12)]
