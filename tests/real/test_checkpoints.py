"""The published weights: every one opens, and says what it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facelens.features import onnx
from facelens.features.checkpoint import open_model
from facelens.features.weights import Contents

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def folder(real_faces: Path) -> Path:
    return real_faces / "weights"


def contents(path: Path) -> Contents:
    model = open_model(path)
    assert model.kind == "weights" and model.contents is not None
    return model.contents


@pytest.mark.parametrize(
    ("name", "form", "container", "tensors", "parameters"),
    [
        ("mobilefacenet-casia/068.ckpt", "torch stream", "net_state_dict", 333, 0),
        ("mobilefacenet-foamliu/model.pt", "torch stream", "", 307, 0),
        ("mobilefacenet-facexzoo/face_recognition_1.0.state_dict.pt", "torch archive", "", 333, 0),
        ("mobilefacenet-facexzoo/face_recognition_2.0.state_dict.pt", "torch archive", "", 333, 0),
    ],
)
def test_state_dicts_equal_what_torch_reads(
    folder: Path, name: str, form: str, container: str, tensors: int, parameters: int
) -> None:
    import torch

    found = contents(folder / name)
    assert (found.form, found.container, len(found.tensors)) == (form, container, tensors)
    assert not found.code and not found.notes
    theirs = torch.load(folder / name, map_location="cpu", weights_only=True)
    theirs = theirs[container] if container else theirs
    assert list(theirs) == list(found.tensors)
    for key, value in theirs.items():
        np.testing.assert_array_equal(found.tensors[key], value.numpy())
        assert found.tensors[key].shape == tuple(value.shape)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_whole_modules_hold_the_state_dict_beside_them(folder: Path, version: str) -> None:
    place = folder / "mobilefacenet-facexzoo"
    whole = contents(place / f"face_recognition_{version}.face_recognition_mv.pkl")
    state = contents(place / f"face_recognition_{version}.state_dict.pt")
    assert not whole.code and not whole.notes
    assert any("MobileFaceNet × 1" in line for line in whole.ignored)
    assert [key.removeprefix("module.") for key in whole.tensors] == list(state.tensors)
    for key, value in state.tensors.items():
        np.testing.assert_array_equal(whole.tensors[f"module.{key}"], value)


@pytest.mark.parametrize(
    ("name", "inputs", "output", "parameters"),
    [
        ("w600k-mbf/w600k_mbf.onnx", (3, 112, 112), ("516", 512), 3_400_448),
        ("edgeface-s/edgeface_s_gamma_05.onnx", (3, 112, 112), ("1344", 512), 3_665_170),
        ("yunet/face_detection_yunet_2023mar.onnx", (3, 640, 640), ("cls_8", 1), 53_121),
    ],
)
def test_graphs(folder: Path, name: str, inputs: tuple[int, ...], output: tuple[str, int], parameters: int) -> None:
    model = open_model(folder / name)
    assert model.kind == "onnx" and model.graph is not None
    assert len(model.graph.inputs) == 1 and model.graph.inputs[0].shape is not None
    assert model.graph.inputs[0].shape[1:] == inputs
    first = model.graph.outputs[0]
    assert first.shape is not None and (first.name, first.shape[-1]) == output
    assert model.graph.parameters == parameters and not model.graph.external


@pytest.mark.skipif(not onnx.installed(), reason="onnxruntime is not installed")
@pytest.mark.parametrize(
    ("name", "patches", "shape", "batch"),
    [
        ("w600k-mbf/w600k_mbf.onnx", "509", (512, 7, 7), None),
        (
            "edgeface-s/edgeface_s_gamma_05.onnx",
            "/model/stages/stages.3/blocks/blocks.2/Add_4_output_0",
            (304, 3, 3),
            1,
        ),
    ],
)
def test_encoders(folder: Path, name: str, patches: str, shape: tuple[int, ...], batch: int | None) -> None:
    encoder = onnx.OnnxEncoder(folder / name, patches=patches)
    pictures = np.random.default_rng(0).standard_normal((3, 3, 112, 112)).astype(np.float32)
    vectors, maps = encoder(pictures)
    assert maps is not None and vectors.shape == (3, 512) and maps.shape == (3, *shape)
    assert encoder.batch == batch
    for i in range(3):  # a picture's vector does not depend on its company
        one, its_map = encoder(pictures[i : i + 1])
        assert its_map is not None
        np.testing.assert_allclose(vectors[i], one[0], rtol=1e-3, atol=1e-4 * np.abs(one).max())
        np.testing.assert_allclose(maps[i], its_map[0], rtol=1e-3, atol=1e-4 * np.abs(its_map).max())
