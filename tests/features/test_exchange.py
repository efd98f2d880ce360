"""Vectors from other programs: what does not fit is told, what is no file of vectors is refused."""

from __future__ import annotations

import io
import json
import os
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.errors import FaceLensError, InputError, NeedsChoice
from facelens.features.exchange import Vectors, join, read, require_same_space
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet, Labels

N, D = 12, 5
PATHS = [f"Person_{i // 3}/{i:04}.jpg" for i in range(N)]


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    root = tmp_path / "gallery"
    for i, path in enumerate(PATHS):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (20, 30), (20 * i, 0, 255 - 20 * i)).save(root / path)
    return FaceSet.build(
        "g",
        root,
        paths=PATHS,
        identities=[path.split("/")[0] for path in PATHS],
        columns={"age": np.arange(N, dtype=np.float64), "hat": Labels.of(["=yes", None] * (N // 2))},
    )


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)


def features_of(faces: FaceSet, vectors: np.ndarray, **more: object) -> FeatureSet:
    return FeatureSet(faces.ids, vectors, Provenance("f", "net"), **more)


def safetensors(tensors: dict[str, np.ndarray], told: dict[str, str] | None = None) -> bytes:
    kinds = {"float32": "F32", "float64": "F64", "float16": "F16", "int64": "I64", "uint16": "BF16"}
    head: dict[str, object] = {"__metadata__": told} if told else {}
    body = b""
    for name, array in tensors.items():
        places = [len(body), len(body) + array.nbytes]
        head[name] = {"dtype": kinds[array.dtype.name], "shape": array.shape, "data_offsets": places}
        body += array.tobytes()
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + body


def put(path: Path, kind: str, names: list[str], vectors: np.ndarray) -> Path:
    """A file of vectors with names, as other programs write it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = path / f"vectors.{kind.split('+')[0]}"
    match kind:
        case "npy+txt":
            np.save(place, vectors)
            (path / "vectors.txt").write_text("\n".join(names) + "\n")
        case "npy+csv":
            np.save(place, vectors.astype(np.float64))
            (path / "names.csv").write_text("n,path\n" + "".join(f"{i},{n}\n" for i, n in enumerate(names)))
        case "npz":
            np.savez_compressed(place, embeddings=vectors, filenames=np.array(names), other=np.zeros(3))
        case "parquet":
            rows = pa.array(vectors.tolist(), pa.list_(pa.float32()))
            pq.write_table(pa.table({"n": range(len(names)), "image": names, "embedding": rows}), place)
        case "tsv":
            np.savetxt(place, vectors, delimiter="\t", fmt="%.9g")
            (path / "metadata.tsv").write_text("\n".join(names) + "\n")
        case "tsv+header":
            np.savetxt(place, vectors, delimiter="\t", fmt="%.9g", header="\t".join("abcde"), comments="")
            (path / "metadata.tsv").write_text("path\tage\n" + "".join(f"{n}\t1\n" for n in names))
        case "safetensors":
            place.write_bytes(safetensors({"vectors": vectors}, {"names": json.dumps(names)}))
    return place


KINDS = ["npy+txt", "npy+csv", "npz", "parquet", "tsv", "tsv+header", "safetensors"]


@pytest.mark.parametrize("kind", KINDS)
def test_reads_and_joins(tmp_path: Path, faces: FaceSet, vectors: np.ndarray, kind: str) -> None:
    order = np.random.default_rng(1).permutation(N)
    found = read(put(tmp_path, kind, [PATHS[i] for i in order], vectors[order]))
    joined = join(found, faces)
    assert joined.report == []
    np.testing.assert_array_equal(joined.features.ids, faces.ids)
    np.testing.assert_allclose(joined.features.vectors, vectors, rtol=1e-7)
    assert joined.features.provenance.model == "vectors" and not joined.features.vectors.flags.writeable


def test_ids_join_too(tmp_path: Path, faces: FaceSet, vectors: np.ndarray) -> None:
    ids = np.append(faces.ids[::-1], 77)
    rows = np.append(vectors[::-1], vectors[:1], axis=0)
    np.savez(tmp_path / "a.npz", vectors=rows, ids=ids)
    (tmp_path / "b.safetensors").write_bytes(safetensors({"x": rows, "ids": ids}))
    np.save(tmp_path / "c.npy", rows)
    (tmp_path / "c.csv").write_text("id,other\n" + "".join(f"{i},x\n" for i in ids))
    for name in ("a.npz", "b.safetensors", "c.npy"):
        joined = join(read(tmp_path / name), faces)
        np.testing.assert_array_equal(joined.features.vectors, vectors)
        assert joined.without_face.tolist() == [N] and joined.report == ["1 vector belongs to no face: 77"]
    assert len(join(read(tmp_path / "a.npz"), faces.take(np.zeros(0, np.int64))).without_face) == N + 1


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("Person_1/0004.jpg", 4),
        ("./Person_1/0004.jpg", 4),
        ("Person_1\\0004.jpg", 4),
        ("/data/lfw/Person_1/0004.jpg", 4),
        ("C:\\lfw\\Person_1\\0004.jpg", 4),
        ("0004.jpg", 4),
        ("0004", 4),
        ("Person_1/0004", 4),
        ("'Person_1/0004.jpg", 4),
        ("Person_2/0004.jpg", -1),
        ("004.jpg", -1),
        ("", -1),
    ],
)
def test_names_find_their_faces(faces: FaceSet, name: str, fits: int) -> None:
    joined = join(Vectors("a", np.ones((1, D), np.float32), (name,)), faces)
    assert joined.features.ids.tolist() == ([] if fits < 0 else [faces.ids[fits]])


def test_a_name_of_several_faces_is_given_to_none(vectors: np.ndarray) -> None:
    paths = ["a/1.jpg", "b/1.jpg", "b/2.jpg", "b/2.png"]
    two = FaceSet.build("g", Path("/x"), paths=paths, identities=[None] * 4)
    joined = join(Vectors("v", vectors[:4], ("1.jpg", "a/1.jpg", "b/2", "2.png")), two)
    assert joined.ambiguous.tolist() == [0, 2] and joined.features.ids.tolist() == two.ids[[0, 3]].tolist()
    assert "2 names fit several faces: 1.jpg, b/2" in joined.report


def test_what_does_not_fit_is_told_both_ways(faces: FaceSet, vectors: np.ndarray) -> None:
    names = ("x.jpg", PATHS[3], PATHS[3], PATHS[5], PATHS[7], PATHS[8])
    rows = vectors[:6].copy()
    rows[3], rows[4, 1], rows[5, 0] = 0, np.nan, -np.inf
    joined = join(Vectors("v.npy", rows, names), faces)
    assert joined.features.ids.tolist() == [faces.ids[3]]
    np.testing.assert_array_equal(joined.features.vectors, rows[1:2])  # the first of two counts
    assert joined.features.invalid.tolist() == faces.ids[[5, 7, 8]].tolist()
    assert joined.report == [
        "1 vector belongs to no face: x.jpg",
        f"8 faces have no vector: {PATHS[0]}, {PATHS[1]}, {PATHS[2]}, …",
        f"1 vector came a second time: {PATHS[3]}",
        f"3 vectors are no use (NaN, infinite or zero) and are left out: {PATHS[5]}, {PATHS[7]}, {PATHS[8]}",
    ]


def test_vectors_without_names_need_a_word(tmp_path: Path, faces: FaceSet, vectors: np.ndarray) -> None:
    np.save(tmp_path / "a.npy", vectors)
    found = read(tmp_path / "a.npy")
    with pytest.raises(NeedsChoice, match="does not say which vector"):
        join(found, faces)
    np.testing.assert_array_equal(join(found, faces, by_order=True).features.vectors, vectors)
    with pytest.raises(InputError, match="has 12 vectors, the gallery 3 faces"):
        join(found, faces.take(np.arange(3)), by_order=True)
    (tmp_path / "list.txt").write_text("\n".join(PATHS[::-1]))
    np.testing.assert_array_equal(
        join(read(tmp_path / "a.npy", names=tmp_path / "list.txt"), faces).features.vectors, vectors[::-1]
    )


@pytest.mark.parametrize("seed", range(100))
def test_mismatches(tmp_path: Path, faces: FaceSet, seed: int) -> None:
    """Any number of vectors and names, any number of dimensions: joined right, or refused with both numbers."""
    dice = np.random.default_rng(seed)
    n, m, a, b = (int(x) for x in dice.integers(1, 14, 4))
    rows = dice.normal(size=(n, a)).astype(np.float32)
    names = [PATHS[i] if i < N else f"other{i}" for i in dice.permutation(20)[:m].tolist()]
    place = put(tmp_path, "npy+txt", names, rows)
    if n not in (m, m - 1):  # one line more may be a header
        with pytest.raises(InputError, match=f"has {n} vectors and {m} names"):
            read(place)
    else:
        joined = join(read(place), faces)
        names = names[m - n :]
        for face, vector in zip(joined.features.ids, joined.features.vectors):
            np.testing.assert_array_equal(vector, rows[names.index(PATHS[faces.row_of(int(face)) or 0])])
        assert len(joined.features) + len(joined.without_vector) == N
        assert len(joined.features) + len(joined.without_face) == n
    one = FeatureSet(faces.ids[:1], np.ones((1, a), np.float32), Provenance("", "A"))
    other = FeatureSet(faces.ids[:1], np.ones((1, b), np.float32), Provenance("", "B"))
    if a == b:
        require_same_space(one, other)
    else:
        with pytest.raises(InputError, match=f"A has {a} dims, B has {b}"):
            require_same_space(one, other)


# What should not be opened


def refused(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(InputError) as told:
        read(path)
    return told.value.message


def test_object_arrays_are_not_unpickled(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "ran"),)

    stream = io.BytesIO()
    np.save(stream, np.array([Evil()], object), allow_pickle=True)
    assert "object array" in refused(tmp_path / "a.npy", stream.getvalue())
    zipped = io.BytesIO()
    np.savez(zipped, vectors=np.array([Evil()], object))
    assert "object array" in refused(tmp_path / "a.npz", zipped.getvalue())
    assert not (tmp_path / "ran").exists()


def test_bombs_are_refused_before_anything_is_unpacked(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**9, 512)})
    zeros = bytes(1 << 20)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("vectors.npy", "w") as member:
        member.write(header.getvalue())
        for _ in range(80):
            member.write(zeros)
    lying = safetensors({"x": np.zeros((2, 2), np.float32)}).replace(b"[2, 2]", b"[2, 9]")
    tracemalloc.start()
    assert "unpacks" in refused(tmp_path / "a.npz", bomb.getvalue())
    assert "ends after 16 of 2,048,000,000,000 bytes" in refused(tmp_path / "a.npy", header.getvalue() + bytes(16))
    assert "more than it holds" in refused(tmp_path / "a.safetensors", lying)
    refused(tmp_path / "b.safetensors", struct.pack("<Q", 1 << 62) + b"{}")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


@pytest.mark.parametrize("kind", ["npy", "npz", "parquet", "tsv", "safetensors"])
def test_other_things_are_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    assert "is empty" in refused(path, b"")
    assert "web page" in refused(path, b"<!DOCTYPE html><html>")
    assert "Git LFS" in refused(path, b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n")
    refused(path, b"\0" * 100)
    with pytest.raises(InputError, match="no file"):
        read(tmp_path / f"none.{kind}")


def test_shapes_that_are_no_vectors(tmp_path: Path) -> None:
    for array in (np.zeros(3), np.zeros((2, 3, 4)), np.zeros((2, 0)), np.array(["a"]), np.zeros((1, 70_000))):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(InputError):
            read(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", a=np.zeros((2, 2)), b=np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"several arrays \(a, b\)"):
        read(tmp_path / "a.npz")
    with pytest.raises(InputError, match="is not a file of vectors"):
        read(tmp_path / "a.docx")


def test_lists_of_different_lengths_and_empty_cells(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"vector": [[1.0, 2.0], [3.0]]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="of 1 and of 2 dims"):
        read(tmp_path / "a.parquet")
    pq.write_table(
        pa.table({"vector": [[1.0, 2.0], None, [5.0, 6.0]], "path": ["a", None, "c"]}), tmp_path / "b.parquet"
    )
    found = read(tmp_path / "b.parquet")
    np.testing.assert_array_equal(found.vectors, [[1, 2], [np.nan, np.nan], [5, 6]])
    assert found.names == ("a", "", "c")


def test_half_precision(tmp_path: Path, vectors: np.ndarray) -> None:
    brain = (vectors.view(np.uint32) >> 16).astype(np.uint16)
    (tmp_path / "a.safetensors").write_bytes(safetensors({"x": brain}))
    np.testing.assert_allclose(read(tmp_path / "a.safetensors").vectors, vectors, rtol=2**-7)
    np.save(tmp_path / "a.npy", np.asfortranarray(vectors.astype(np.float16)))
    np.testing.assert_allclose(read(tmp_path / "a.npy").vectors, vectors, rtol=2**-10)


def mutants(path: Path, vectors: np.ndarray, kind: str, times: int) -> None:
    whole = put(path, kind, PATHS, vectors).read_bytes()
    place = path / f"vectors.{kind.split('+')[0]}"
    read_well = 0
    for seed in range(times):
        dice = np.random.default_rng(seed)
        data = bytearray(whole)
        for at in dice.integers(0, len(data), int(dice.integers(1, 6))).tolist():
            data[at] = int(dice.integers(256))
        if dice.random() < 0.3:
            data = data[: int(dice.integers(len(data)))]
        place.write_bytes(data)
        try:
            found = read(place)
            assert found.vectors.dtype == np.float32 and found.vectors.ndim == 2
            read_well += 1
        except FaceLensError:
            pass
    assert read_well < times


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_mutants(tmp_path: Path, vectors: np.ndarray, kind: str) -> None:
    mutants(tmp_path, vectors, kind, 150)


@pytest.mark.faults
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_mutants_at_length(tmp_path: Path, vectors: np.ndarray, kind: str) -> None:
    mutants(tmp_path, vectors, kind, 10_000)
