"""Vectors to other programs: the files are what these programs document, and come back as they went out."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from facelens import __version__
from facelens.errors import Cancelled, InputError
from facelens.features.card import Card
from facelens.features.exchange import join, read
from facelens.features.exports import Near, Outgoing, fiftyone, npz, parquet, tensorboard
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images import builder, readers
from facelens.images.faceset import FaceSet, Labels

N, D = 12, 5
PATHS = [f"Person_{i // 3}/{i:04}.jpg" for i in range(N)]


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    root = tmp_path / "gallery"
    for i, path in enumerate(PATHS):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (20, 30), (20 * i, 0, 255 - 20 * i)).save(root / path)
    age = np.arange(N, dtype=np.float64)
    age[2] = np.nan
    return FaceSet.build(
        "g",
        root,
        paths=PATHS,
        identities=[path.split("/")[0] if i != 7 else None for i, path in enumerate(PATHS)],
        columns={"age": age, "hat": Labels.of(["=yes", None] * (N // 2)), "taken at": np.arange(N)},
    )


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)


def features_of(faces: FaceSet, vectors: np.ndarray, **more: Any) -> FeatureSet:
    card = Card("net", "small_plain", dimensions=D, licence="CC BY-NC 4.0")
    return FeatureSet(faces.ids, vectors, Provenance("f" * 64, "net", "ab" * 32, card), **more)


def going(faces: FaceSet, vectors: np.ndarray, **more: Any) -> Outgoing:
    return Outgoing.of(features_of(faces, vectors, **more), faces)


def on_map(out: Outgoing) -> Outgoing:
    points = np.column_stack([np.arange(len(out)), -np.arange(len(out))]).astype(np.float32)
    return replace(out, points=points, said={"map": "PCA of net"})


# npz


def test_npz_comes_back(tmp_path: Path, faces: FaceSet, vectors: np.ndarray) -> None:
    vectors[4] = np.nan
    sure = np.random.default_rng(2).random((N, 2)).astype(np.float32)
    features = features_of(faces, vectors, confidence=sure)
    npz.write(tmp_path / "out.npz", on_map(Outgoing.of(features, faces, unusable=True)))
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_array_equal(found["vectors"], vectors)
        np.testing.assert_array_equal(found["confidence"], sure)
        assert found["identity"].tolist() == [path.split("/")[0] if i != 7 else "" for i, path in enumerate(PATHS)]
        assert found["usable"].tolist() == [i != 4 for i in range(N)] and found["points"][3].tolist() == [3, -3]
        assert json.loads(str(found["about"]))["licence"] == "CC BY-NC 4.0"
    joined = join(read(tmp_path / "out.npz"), faces)
    np.testing.assert_array_equal(joined.features.vectors, np.delete(vectors, 4, 0))
    assert joined.features.invalid.tolist() == [faces.ids[4]]


def test_faces_that_are_left_out(tmp_path: Path, faces: FaceSet, vectors: np.ndarray) -> None:
    out = Outgoing.of(features_of(faces, vectors), faces, without=faces.ids[:3])
    assert len(out) == N - 3 and out.left_out == 3 and out.name(0) == PATHS[3]
    npz.write(tmp_path / "some.npz", out)
    with np.load(tmp_path / "some.npz") as found:
        np.testing.assert_array_equal(found["vectors"], vectors[3:])
        assert found["ids"].tolist() == faces.ids[3:].tolist()


# Parquet


def test_parquet_has_the_columns_that_other_programs_document(
    tmp_path: Path, faces: FaceSet, vectors: np.ndarray
) -> None:
    out = on_map(going(faces, vectors))
    places = np.array([[(i + 1) % N, (i + 2) % N] for i in range(N)])
    places[5, 1] = -1
    out = replace(out, near=Near(places, np.full((N, 2), 0.25, np.float32)))
    parquet.write(tmp_path / "out.parquet", out, thumbnails=16)
    found = pq.read_table(tmp_path / "out.parquet")
    own = ["norm", "projection_x", "projection_y", "neighbors", "embedding", "filepath", "id"]
    assert found.column_names == ["image", "identity", "path", "age", "hat", "taken at", *own]
    # Embedding Atlas: x and y, ids that count rows from 0, pictures as bytes with a path; no number above 2^53.
    assert found.schema.field("projection_x").type == pa.float32() and found["projection_y"][3].as_py() == -3
    kind = pa.struct({"ids": pa.list_(pa.int64()), "distances": pa.list_(pa.float32())})
    assert found.schema.field("neighbors").type == kind
    assert found["neighbors"][4].as_py() == {"ids": [5, 6], "distances": [0.25, 0.25]}
    assert found["neighbors"][5].as_py() == {"ids": [6], "distances": [0.25]}
    assert found.schema.field("image").type == pa.struct({"bytes": pa.binary(), "path": pa.string()})
    picture = found["image"][3].as_py()
    assert picture["path"] == "0003.jpg" and picture["bytes"][:3] == b"\xff\xd8\xff"
    seen = Image.open(io.BytesIO(picture["bytes"]))
    assert max(seen.size) == 16 and np.asarray(seen)[8, 4].tolist() == pytest.approx([60, 0, 195], abs=8)
    assert found["id"].to_pylist() == [str(face) for face in faces.ids]
    # FiftyOne: where each picture lies. pandas: one vector a row, all of one length.
    assert all(Path(file).is_file() for file in found["filepath"].to_pylist())
    assert found.schema.field("embedding").type == pa.list_(pa.float32(), D)
    np.testing.assert_array_equal(np.array(found["embedding"].to_pylist(), np.float32), vectors)
    # What is missing is missing.
    assert found["age"].null_count == 1 and found["hat"].to_pylist() == ["=yes", None] * (N // 2)
    assert found["identity"][7].as_py() is None and found["taken at"].type == pa.int64()
    said = json.loads(found.schema.metadata[b"facelens"])
    assert said["model"] == "net" and said["sha256"] == "ab" * 32 and said["licence"] == "CC BY-NC 4.0"
    assert said["made_by"] == f"FaceLens {__version__}" and said["map"] == "PCA of net"
    np.testing.assert_array_equal(join(read(tmp_path / "out.parquet"), faces).features.vectors, vectors)


def test_columns_of_a_gallery_never_hide_those_of_the_table(tmp_path: Path, vectors: np.ndarray) -> None:
    taken = {name: np.arange(N) for name in ("id", "ID_", "Embedding", "neighbors", "x")}
    faces = FaceSet.build("g", tmp_path, paths=PATHS, identities=[None] * N, columns=taken)
    parquet.write(tmp_path / "out.parquet", going(faces, vectors))
    names = pq.read_table(tmp_path / "out.parquet").column_names
    assert names[2:7] == ["id_", "ID__", "Embedding_", "neighbors_", "x"]
    assert len({name.lower() for name in names}) == len(names)  # DuckDB does not see capitals
    np.testing.assert_array_equal(read(tmp_path / "out.parquet").vectors, vectors)


def test_a_picture_that_cannot_be_read_is_no_picture(tmp_path: Path, faces: FaceSet, vectors: np.ndarray) -> None:
    (faces.root / PATHS[5]).write_bytes(b"broken")
    parquet.write(tmp_path / "out.parquet", going(faces, vectors), thumbnails=16)
    cells = pq.read_table(tmp_path / "out.parquet")["image"].to_pylist()
    assert [n for n, cell in enumerate(cells) if cell is None] == [5]


def test_a_table_is_written_block_by_block_and_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, d = 40_000, 64
    faces = FaceSet.build("g", tmp_path, paths=[f"{i}.jpg" for i in range(n)], identities=[None] * n)
    vectors = np.lib.format.open_memmap(tmp_path / "v.npy", "w+", np.float32, (n, d))
    vectors[:] = np.random.default_rng(0).normal(size=(n, d))
    monkeypatch.setattr(parquet, "BLOCK", 1000)
    out = Outgoing.of(FeatureSet(faces.ids, vectors, Provenance("", "net"), np.ones(n, np.float32)), faces)
    assert out.names  # made before the clock starts
    tracemalloc.start()
    parquet.write(tmp_path / "out.parquet", out)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20  # of 10 MB of vectors
    tracemalloc.stop()
    assert pq.ParquetFile(tmp_path / "out.parquet").metadata.num_row_groups == 40
    before = (tmp_path / "out.parquet").read_bytes()

    def stop(done: int, total: int, note: str = "") -> None:
        if done >= 5000:
            raise Cancelled

    with pytest.raises(Cancelled):
        parquet.write(tmp_path / "out.parquet", out, tick=stop)
    assert (tmp_path / "out.parquet").read_bytes() == before and not list(tmp_path.glob(".facelens-*"))


# TensorBoard


def test_the_projector_gets_its_files(tmp_path: Path, faces: FaceSet, vectors: np.ndarray) -> None:
    vectors[4] = 0
    (faces.root / PATHS[5]).write_bytes(b"broken")
    written = tensorboard.write(tmp_path, going(faces, vectors))
    assert [path.name for path in written] == ["vectors.tsv", "metadata.tsv", "sprite.png", "projector_config.pbtxt"]
    left = np.delete(vectors, 4, 0)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "vectors.tsv", np.float32), left)
    lines = (tmp_path / "metadata.tsv").read_text().splitlines()
    assert lines[0] == "path\tidentity\tage\that\ttaken at" and len(lines) == N
    assert lines[1] == f"{PATHS[0]}\tPerson_0\t0.0\t'=yes\t0"
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert config.count("embeddings {") == 1 and 'tensor_name: "net"' in config
    assert 'tensor_path: "vectors.tsv"' in config and config.count("single_image_dim: 64") == 2
    joined = join(read(tmp_path / "vectors.tsv"), faces)
    np.testing.assert_array_equal(joined.features.vectors, left)
    assert joined.without_vector.tolist() == [4]


def test_tiles_of_the_sprite_stand_row_by_row_on_a_square(tmp_path: Path, faces: FaceSet, vectors: np.ndarray) -> None:
    (faces.root / PATHS[9]).write_bytes(b"broken")
    tensorboard.write(tmp_path, going(faces, vectors))
    with Image.open(tmp_path / "sprite.png") as image:
        sheet = np.asarray(image)
    assert sheet.shape == (4 * 64, 4 * 64, 3)  # as many rows as columns, a power of two
    for n in range(16):
        tile = sheet[64 * (n // 4) :][:64, 64 * (n % 4) :][:, :64]
        if n == 9 or n >= N:
            assert (tile == 128).all(), n
        else:
            assert tile[32, 32].tolist() == pytest.approx([20 * n, 0, 255 - 20 * n], abs=6), n
    assert (sheet[:64, :8] == 128).all()  # 20 × 30 pictures are not stretched
    tensorboard.write(tmp_path, Outgoing.of(features_of(faces, vectors), faces, without=faces.ids[5:]))
    with Image.open(tmp_path / "sprite.png") as image:
        assert image.size == (256, 256)


def test_a_map_is_a_tensor_of_three_dimensions(tmp_path: Path, faces: FaceSet, vectors: np.ndarray) -> None:
    written = tensorboard.write(tmp_path, on_map(going(faces, vectors)), sprite=False)
    assert "map.tsv" in {path.name for path in written}
    points = np.loadtxt(tmp_path / "map.tsv")
    assert points.shape == (N, 3) and points[3].tolist() == [3, -3, 0]
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert config.count("embeddings {") == 2 and 'tensor_name: "net, map"' in config
    tensorboard.write(tmp_path, going(faces, vectors), sprite=False)
    assert not (tmp_path / "map.tsv").exists() and "map" not in (tmp_path / "projector_config.pbtxt").read_text()


@pytest.mark.parametrize("name", ['a "b" \\ c', "n\u00e9t", "x\ny", "=1"])
def test_a_model_of_any_name_is_named_in_the_config(
    tmp_path: Path, faces: FaceSet, vectors: np.ndarray, name: str
) -> None:
    features = replace(features_of(faces, vectors), provenance=Provenance("f", name))
    tensorboard.write(tmp_path, Outgoing.of(features, faces), sprite=False)
    line = (tmp_path / "projector_config.pbtxt").read_text().splitlines()[1].strip()
    said = line.removeprefix("tensor_name: ").encode().decode("unicode_escape").encode("latin-1").decode()
    assert said == f'"{name}"'.replace("\n", "\\x0a") and len(line.splitlines()) == 1


def test_a_sprite_fits_the_projector(tmp_path: Path, faces: FaceSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensorboard, "SPRITE", 40)
    out = going(faces, np.ones((N, D), np.float32))
    tensorboard.write(tmp_path, out)
    with Image.open(tmp_path / "sprite.png") as sheet:
        assert sheet.size == (40, 40)
    monkeypatch.setattr(tensorboard, "SPRITE", 20)  # nothing to be seen at five pixels
    tensorboard.write(tmp_path, out)
    assert not (tmp_path / "sprite.png").exists()  # nor that of the export before
    assert "sprite" not in (tmp_path / "projector_config.pbtxt").read_text()


# FiftyOne


def test_the_folder_for_fiftyone_is_the_one_it_documents(tmp_path: Path, faces: FaceSet, vectors: np.ndarray) -> None:
    folder = tmp_path / "fo"
    folder.mkdir()
    vectors[4] = np.nan
    out = fiftyone.write(folder, on_map(going(faces, vectors)))
    assert {path.name for path in folder.iterdir()} == {"data.json", "labels.json", "faces.parquet", "README.txt"}
    data, labels = (json.loads((folder / name).read_text()) for name in ("data.json", "labels.json"))
    assert labels["classes"] == ["Person_0", "Person_1", "Person_2", "Person_3"]
    assert data.keys() == labels["labels"].keys() and len(data) == len(out) == N - 1
    first, nobody, third = (str(faces.ids[row]) for row in (0, 7, 2))
    assert Path(data[first]).samefile(faces.path(0)) and os.path.isabs(data[first])
    said = {"label": "Person_0", "attributes": {"age": 0.0, "hat": "=yes", "taken_at": 0}}
    assert labels["labels"][first] == said and labels["labels"][nobody] is None
    assert "age" not in labels["labels"][third]["attributes"]  # NaN is no JSON
    table = pq.read_table(folder / "faces.parquet")
    assert sorted(table["filepath"].to_pylist()) == sorted(data.values())
    readme = (folder / "README.txt").read_text()
    lines = [line for line in readme.splitlines() if line.startswith(("import", "dataset", "table", "vectors", "fo"))]
    compile("\n".join(lines), "README.txt", "exec")
    assert 'data_path="data.json"' in readme and "projection_x" in readme and "licence: CC BY-NC 4.0" in readme
    fiftyone.write(folder, going(faces, vectors))
    assert "projection_x" not in (folder / "README.txt").read_text()


def test_pictures_inside_another_file_are_written_for_fiftyone(tmp_path: Path, faces: FaceSet) -> None:
    builder.write_bin(tmp_path / "x.bin", faces, builder.build_pairs(faces, folds=2, per_fold=2))
    faces = readers.read(tmp_path / "x.bin").faces
    assert faces.embedded
    vectors = np.random.default_rng(0).normal(size=(len(faces), D)).astype(np.float32)
    folder = tmp_path / "fo"
    folder.mkdir()
    out = fiftyone.write(folder, Outgoing.of(features_of(faces, vectors), faces))
    assert not (folder / "data.json").exists() and "data_path" not in (folder / "README.txt").read_text()
    names = {path.stem for path in (folder / "data").iterdir()}
    assert names == {str(face) for face in out.ids} == json.loads((folder / "labels.json").read_text())["labels"].keys()
    files = pq.read_table(folder / "faces.parquet")["filepath"].to_pylist()
    for file in files:
        with Image.open(file) as picture:
            assert picture.size == (20, 30)
    parquet.write(tmp_path / "out.parquet", Outgoing.of(features_of(faces, vectors), faces))
    assert pq.read_table(tmp_path / "out.parquet")["filepath"].null_count == len(faces)


# Names of all kinds

ODD = [
    b"=1+1.jpg",
    b"a\tb.jpg",
    b"a\nb.jpg",
    b"\xff\xfe.jpg",
    "ä\u202eb.jpg".encode(),
    b"a'b.jpg",
    b"@x/-y.jpg",
    b"#.jpg",
    b'"},"x":{"y.jpg',
]


@pytest.mark.parametrize("form", ["npz", "parquet", "projector"])
def test_odd_names_come_back(tmp_path: Path, form: str) -> None:
    people = ["=cmd()", "\t", "a\nb", "\udcff", "+1", "", None, "-"]
    odd = FaceSet.build("odd", tmp_path, paths=ODD[:8], identities=people)
    vectors = np.random.default_rng(0).normal(size=(len(odd), D)).astype(np.float32)
    out = going(odd, vectors)
    writers: dict[str, Callable[[], object]] = {
        "npz": lambda: npz.write(tmp_path / "o.npz", out),
        "parquet": lambda: parquet.write(tmp_path / "o.parquet", out),
        "projector": lambda: tensorboard.write(tmp_path, out, sprite=False),
    }
    writers[form]()
    joined = join(read(tmp_path / ("vectors.tsv" if form == "projector" else f"o.{form}")), odd)
    assert joined.report == []
    np.testing.assert_array_equal(joined.features.vectors, vectors)
    if form == "projector":
        cells = [c for line in (tmp_path / "metadata.tsv").read_text().splitlines() for c in line.split("\t")]
        assert len(cells) == 2 * (len(odd) + 1) and not [c for c in cells if c[:1] in tuple("=+-@")]
    if form == "parquet":
        files = pq.read_table(tmp_path / "o.parquet")["filepath"].to_pylist()
        assert files[2] == f"{tmp_path}/a\nb.jpg" and files[3] is None  # exact, or not at all


def test_odd_names_for_fiftyone(tmp_path: Path) -> None:
    odd = FaceSet.build("../odd\n", tmp_path, paths=ODD, identities=['"' for _ in ODD])
    vectors = np.random.default_rng(0).normal(size=(len(ODD), D)).astype(np.float32)
    folder = tmp_path / "fo"
    folder.mkdir()
    out = fiftyone.write(folder, going(odd, vectors))
    data = json.loads((folder / "data.json").read_text())
    assert len(out) == len(data) == len(ODD) - 1 and str(odd.ids[3]) not in data  # no text, so no entry
    assert data[str(odd.ids[8])] == f"{tmp_path}/{os.fsdecode(ODD[8])}"
    table = pq.read_table(folder / "faces.parquet")
    np.testing.assert_array_equal(np.array(table["embedding"].to_pylist(), np.float32), np.delete(vectors, 3, 0))
    assert 'name="___odd_x0a"' in (folder / "README.txt").read_text()


def test_vectors_of_another_gallery_are_not_written(tmp_path: Path, faces: FaceSet, vectors: np.ndarray) -> None:
    with pytest.raises(InputError, match="9 vectors belong to faces that are not in this gallery"):
        Outgoing.of(features_of(faces, vectors), faces.take(np.arange(3)))


def test_nothing_to_write(tmp_path: Path, faces: FaceSet) -> None:
    empty = FeatureSet(np.zeros(0, np.int64), np.zeros((0, D), np.float32), Provenance("", "net"))
    out = Outgoing.of(empty, faces)
    parquet.write(tmp_path / "a.parquet", out, thumbnails=16)
    npz.write(tmp_path / "a.npz", out)
    assert len(tensorboard.write(tmp_path, out)) == 3
    assert len(fiftyone.write(tmp_path, out)) == 0
    assert len(read(tmp_path / "a.npz")) == 0 and pq.read_table(tmp_path / "a.parquet").num_rows == 0
