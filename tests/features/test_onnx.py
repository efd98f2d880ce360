"""ONNX files: looked into without a library, tapped anywhere, run in any batch size."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.errors import InputError
from facelens.features import graph, onnx
from facelens.features.checkpoint import open_model
from facelens.features.graph import Graph, Port, _piece, _varint
from facelens.features.onnx import OnnxEncoder

needs_runtime = pytest.mark.skipif(not onnx.installed(), reason="onnxruntime is not installed")


# A writer of small models, field by field, as the format has them.


def port(name: str, shape: tuple[int | str, ...], kind: int = 1) -> bytes:
    dims = b"".join(_piece(1, b"\x08" + _varint(n) if isinstance(n, int) else _piece(2, n.encode())) for n in shape)
    return _piece(1, name.encode()) + _piece(2, _piece(1, b"\x08" + _varint(kind) + _piece(2, dims)))


def node(op: str, inputs: list[str], outputs: list[str], **attributes: list[int] | int) -> bytes:
    data = b"".join(_piece(1, i.encode()) for i in inputs) + b"".join(_piece(2, o.encode()) for o in outputs)
    data += _piece(4, op.encode())
    for name, value in attributes.items():
        body = _piece(1, name.encode())
        if isinstance(value, int):
            body += b"\x18" + _varint(value) + b"\xa0\x01\x02"
        else:
            body += b"".join(b"\x40" + _varint(n) for n in value) + b"\xa0\x01\x07"
        data += _piece(5, body)
    return _piece(1, data)


def tensor(name: str, value: np.ndarray) -> bytes:
    kind = {"float32": 1, "int64": 7}[value.dtype.name]
    dims = b"".join(b"\x08" + _varint(n) for n in value.shape)
    return _piece(5, dims + b"\x10" + _varint(kind) + _piece(8, name.encode()) + _piece(9, value.tobytes()))


def model(*, batch: int | str = "N", fixed: bool = False, size: int = 8) -> bytes:
    """x -> conv 3x3 stride 2 (4 channels) "map" -> relu "active" -> mean over places -> reshape "y" (N, 4).

    `fixed`: the reshape holds one row, as some exporters write it, although the input says any batch.
    """
    rng = np.random.default_rng(1)
    weight = rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
    shape = np.array([1 if fixed else -1, 4], np.int64)
    body = node("Conv", ["x", "w"], ["map"], strides=[2, 2], pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    body += node("Relu", ["map"], ["active"]) + node("GlobalAveragePool", ["active"], ["pooled"])
    body += node("Reshape", ["pooled", "shape"], ["y"])
    body += _piece(2, b"g") + tensor("w", weight) + tensor("shape", shape)
    body += _piece(11, port("x", (batch, 3, size, size))) + _piece(12, port("y", (batch, 4)))
    return b"\x08\x07" + _piece(2, b"test") + _piece(8, b"\x10\x0d") + _piece(7, body)


def look(data: bytes) -> Graph:
    return graph.inspect(io.BytesIO(data), len(data), shown="m.onnx")


def saved(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    return path


def test_what_a_file_says_about_itself() -> None:
    found = look(model())
    assert found.inputs == (Port("x", "float32", ("N", 3, 8, 8)),)
    assert found.outputs == (Port("y", "float32", ("N", 4)),)
    assert [p.name for p in found.between] == ["map", "active", "pooled"]
    assert found.opsets == {"": 13} and found.domains == ("",) and found.producer == "test"
    assert (found.nodes, found.parameters) == (4, 4 * 27 + 2)
    assert Graph.from_json(found.as_json()) == found
    assert graph.elements(found.outputs[0]) == 4 and graph.elements(Port("a")) is None


def test_weights_listed_as_inputs_are_no_inputs() -> None:
    """Files of the first versions list every weight among the inputs."""
    old = model()
    extra = _piece(7, _piece(11, port("w", (4, 3, 3, 3))))
    assert [p.name for p in look(old + extra).inputs] == ["x"]


def test_agrees_with_the_onnx_package(tmp_path: Path) -> None:
    library = pytest.importorskip("onnx")
    data = graph.tapped(model(), ["active"])
    theirs = library.load_model_from_string(data)
    ours = look(data)
    assert [o.name for o in theirs.graph.output] == [p.name for p in ours.outputs] == ["y", "active"]
    assert len(theirs.graph.node) == ours.nodes
    assert [i.name for i in theirs.graph.input] == [p.name for p in ours.inputs]


@pytest.mark.parametrize("data", [b"\x80\x02}.", b"PK\x03\x04", b"\x08", b"\x08\x07", b"text", b"\x08\x07\x3b\x00"])
def test_what_is_no_model(data: bytes) -> None:
    assert not graph.is_onnx(io.BytesIO(data), len(data))


def test_what_is_a_model() -> None:
    assert graph.is_onnx(io.BytesIO(model()), len(model()))
    assert graph.is_onnx(io.BytesIO(model()[:200]), 200)  # cut, but one can tell what it was


def test_damaged_files_are_refused() -> None:
    for data in (b"\x08\x07" + _piece(7, b""), b"\x08\x07" + _piece(7, b"\xff" * 20), b"\x08\x07" + _piece(2, b"\xff")):
        with pytest.raises(InputError):
            look(data)


def reference(batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N, 4) and the map (N, 4, 4, 4) as loops over the definition."""
    weight = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32)
    padded = np.pad(batch, ((0, 0), (0, 0), (1, 1), (1, 1)))
    made = np.zeros((len(batch), 4, 4, 4), np.float32)
    for i in range(4):
        for j in range(4):
            window = padded[:, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
            made[:, :, i, j] = np.einsum("nchw,ochw->no", window, weight)
    return np.maximum(made, 0).mean((2, 3)), made


@needs_runtime
@pytest.mark.parametrize("batch", ["N", 1, 4])
@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_any_number_of_pictures(tmp_path: Path, batch: int | str, n: int) -> None:
    encoder = OnnxEncoder(saved(tmp_path, model(batch=batch)), patches="map", threads=1)
    pictures = np.random.default_rng(2).standard_normal((n, 3, 8, 8)).astype(np.float32)
    vectors, maps = encoder(pictures)
    expected, patches = reference(pictures)
    assert maps is not None and vectors.dtype == maps.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    np.testing.assert_allclose(maps, patches, atol=1e-5)
    assert encoder.batch == (None if batch == "N" else batch)
    assert (encoder.channels, encoder.size) == (3, (8, 8))


@needs_runtime
def test_a_model_that_takes_one_picture_whatever_it_says(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    encoder = OnnxEncoder(saved(tmp_path, model(fixed=True)))
    pictures = np.random.default_rng(2).standard_normal((5, 3, 8, 8)).astype(np.float32)
    vectors, maps = encoder(pictures)
    np.testing.assert_allclose(vectors, reference(pictures)[0], atol=1e-5)
    assert maps is None and encoder.batch == 1
    assert capfd.readouterr() == ("", "")  # onnxruntime's own complaint is not for users


@needs_runtime
def test_every_tensor_can_be_tapped(tmp_path: Path) -> None:
    path = saved(tmp_path, model())
    pictures = np.ones((2, 3, 8, 8), np.float32)
    for name, shape in {"map": (2, 4, 4, 4), "active": (2, 4, 4, 4), "pooled": (2, 4, 1, 1)}.items():
        _, maps = OnnxEncoder(path, patches=name)(pictures)
        assert maps is not None and maps.shape == shape
    vectors, _ = OnnxEncoder(path, embedding="pooled")(pictures)
    assert vectors.shape == (2, 4)


@needs_runtime
@pytest.mark.parametrize(
    ("options", "pictures", "said"),
    [
        ({"patches": "nowhere"}, None, "m.onnx has no tensor nowhere."),
        ({"patches": "y"}, (1, 3, 8, 8), "y of m.onnx is no patch map: its shape is 1 × 4."),
        ({}, (1, 3, 9, 9), "m.onnx does not run on pictures of 1 × 3 × 9 × 9."),
        ({}, (1, 1, 8, 8), "m.onnx does not run on pictures of 1 × 1 × 8 × 8."),
        ({}, (0, 3, 8, 8), "There are no pictures to embed."),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path, options: dict[str, Any], pictures: tuple[int, ...] | None, said: str
) -> None:
    path = saved(tmp_path, model())
    with pytest.raises(InputError) as caught:
        OnnxEncoder(path, **options)(np.zeros(pictures or (1, 3, 8, 8), np.float32))
    assert caught.value.message == said


@needs_runtime
def test_what_the_runtime_refuses_has_a_sentence(tmp_path: Path) -> None:
    broken = model().replace(b"GlobalAveragePool", b"GlobalAveragePoxx")
    with pytest.raises(InputError) as caught:
        OnnxEncoder(saved(tmp_path, broken))
    assert caught.value.message == "m.onnx cannot be run: onnxruntime refuses it." and caught.value.details


def test_without_the_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    monkeypatch.setattr(onnx, "installed", lambda: False)
    path = saved(tmp_path, model())
    found = open_model(path)
    assert found.kind == "onnx" and found.notes == ("To use m.onnx, install onnxruntime.",)
    with pytest.raises(InputError) as caught:
        OnnxEncoder(path)
    assert caught.value.message == "m.onnx is an ONNX model, and onnxruntime is not installed."
    assert caught.value.hint == "Install it with: pip install onnxruntime"


def test_the_file_is_checked_again_when_it_is_run(tmp_path: Path) -> None:
    """Between looking and running a file can be exchanged."""
    evil = _piece(
        7, _piece(5, b"\x08\x04" + _piece(8, b"z") + _piece(13, _piece(1, b"location") + _piece(2, b"/etc/passwd")))
    )
    with pytest.raises(InputError, match="which is not in its folder"):
        OnnxEncoder(saved(tmp_path, model() + evil))


@needs_runtime
def test_a_file_that_was_exchanged_is_noticed(tmp_path: Path) -> None:
    found = look(model())
    OnnxEncoder(saved(tmp_path, model()), found)
    with pytest.raises(InputError, match="has changed since it was opened"):
        OnnxEncoder(saved(tmp_path, model(batch=4)), found)


def test_tensors_that_could_be_patch_maps() -> None:
    known = _piece(7, _piece(13, port("map", ("N", 4, 4, 4))) + _piece(13, port("pooled", ("N", 4, 1, 1))))
    assert graph.maps(look(model() + known)) == (Port("map", "float32", ("N", 4, 4, 4)),)
    assert graph.maps(look(model())) == ()
