"""Published weights load whole into our networks and recognise faces as well as their authors say."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from facelens.features.card import Card
from facelens.features.models import MODELS
from facelens.features.models.guess import guess, load
from facelens.features.models.mobilefacenet import InsightFaceMobileFaceNet

pytestmark = pytest.mark.real

ZOO = "mobilefacenet-facexzoo/face_recognition_"
# file, architecture, accuracy on LFW (10 folds, measured independently, no flip), shape of the patch map
PUBLISHED = [
    ("mobilefacenet-casia/068.ckpt", "mobilefacenet_casia", 98.98, (512, 7, 6)),
    (ZOO + "1.0.state_dict.pt", "mobilefacenet_facexzoo", 99.55, (512, 7, 7)),
    (ZOO + "2.0.state_dict.pt", "mobilefacenet_facexzoo", 99.42, (512, 7, 7)),
    ("mobilefacenet-foamliu/model.pt", "mobilefacenet_foamliu", 99.43, (512, 7, 7)),
]


@pytest.fixture(autouse=True)
def _two_cores() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, 2))
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def pairs(real_faces: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
    """Pictures (N, 112, 112, 3), rows of the pairs (600, 2), same or not."""
    folder = real_faces / "faces/lfw"
    with open(folder / "pairs_fold1.csv") as file:
        lines = list(csv.DictReader(file))
    names = sorted({line[side] for line in lines for side in "ab"})
    row = {name: i for i, name in enumerate(names)}
    pictures = np.stack([np.asarray(Image.open(folder / "aligned112" / name).convert("RGB")) for name in names])
    chosen = np.array([[row[line["a"]], row[line["b"]]] for line in lines])
    return pictures, chosen, np.array([line["same"] == "1" for line in lines])


def fed(pictures: NDArray[np.uint8], card: Card) -> torch.Tensor:
    """What the card says, without any of the program's own feeding."""
    x = pictures.astype(np.float32)
    if card.crop:
        top, left, bottom, right = card.crop
        x = x[:, top:bottom, left:right]
    if card.order == "BGR":
        x = x[..., ::-1]
    x = (x - np.float32(card.mean)) / np.float32(card.std)
    assert x.shape[1:3] == card.size
    return torch.from_numpy(x.transpose(0, 3, 1, 2).copy())


def state(path: Path) -> dict[str, torch.Tensor]:
    found = torch.load(path, weights_only=True, map_location="cpu")
    tensors: dict[str, torch.Tensor] = found.get("net_state_dict", found)
    return tensors


def accuracy(scores: NDArray[np.float64], same: NDArray[np.bool_]) -> float:
    """In per cent, at the best threshold."""
    return max(float(((scores >= t) == same).mean()) for t in np.append(scores, np.inf)) * 100


@pytest.mark.faults  # test_embedding shows the same through the whole chain; this is the long way round
@pytest.mark.parametrize(("file", "architecture", "published", "patches"), PUBLISHED)
def test_published_weights_recognise_faces(
    real_faces: Path,
    pairs: tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]],
    file: str,
    architecture: str,
    published: float,
    patches: tuple[int, int, int],
) -> None:
    tensors = state(real_faces / "weights" / file)
    spec = MODELS[architecture]
    network = spec.build()
    network.load_state_dict(tensors, strict=True)
    network.eval().to(memory_format=torch.channels_last)
    pictures, rows, same = pairs
    x = fed(pictures, spec.card)
    with torch.inference_mode():
        embeddings = torch.cat([network(batch)[0] for batch in x.split(64)])
        last = network(x[:2])
    assert embeddings.shape == (len(x), spec.card.dimensions)
    assert last.patches is not None and tuple(last.patches.shape[1:]) == patches
    assert tuple(last.patches.shape[2:]) == spec.card.grid
    vectors = torch.nn.functional.normalize(embeddings.double()).numpy()
    scores = (vectors[rows[:, 0]] * vectors[rows[:, 1]]).sum(1)
    assert abs(accuracy(scores, same) - published) <= 0.5


@pytest.mark.parametrize(("file", "architecture"), [row[:2] for row in PUBLISHED])
def test_published_weights_are_guessed(real_faces: Path, file: str, architecture: str) -> None:
    tensors = state(real_faces / "weights" / file)
    ranked = guess({"module." + key: tuple(tensor.shape) for key, tensor in tensors.items()})
    name, score, report = ranked[0]
    assert (name, score, report.prefix, report.fits) == (architecture, 1.0, "module.", True)
    assert not report.ignored and not report.options and report.spec().card == MODELS[architecture].card
    assert ranked[1][1] < 0.1
    network = load(report.spec(), {"module." + key: tensor for key, tensor in tensors.items()})
    assert all(torch.equal(value, tensors[key]) for key, value in network.state_dict().items())


def test_insightface_trunk_against_its_onnx(
    real_faces: Path, pairs: tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]
) -> None:
    """The ONNX file has normalisation folded into its convolutions, and another head; the trunk takes its weights."""
    onnxruntime = pytest.importorskip("onnxruntime")
    path = real_faces / "weights/w600k-mbf/w600k_mbf.onnx"
    nodes = list(_onnx_nodes(path.read_bytes()))
    network = InsightFaceMobileFaceNet().eval()
    convolutions = [
        m for name, m in network.named_modules() if isinstance(m, torch.nn.Conv2d) and "features" not in name
    ]
    norms = [m for m in network.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    slopes = [m for m in network.modules() if isinstance(m, torch.nn.PReLU)]
    given = [inputs for operation, inputs in nodes if operation == "Conv"]
    assert len(given) == len(convolutions) + 1
    with torch.no_grad():
        for module, norm, (weight, bias) in zip(convolutions, norms, given):
            module.weight.copy_(weight)
            norm.running_mean.zero_()
            norm.running_var.fill_(1 - norm.eps)
            norm.weight.fill_(1)
            norm.bias.copy_(bias)
        for prelu, (slope,) in zip(slopes, [inputs for operation, inputs in nodes if operation == "PRelu"]):
            prelu.weight.copy_(slope.flatten())
        x = fed(pairs[0][:4], MODELS["mobilefacenet_insightface"].card)
        m = network(x).patches
        assert m is not None and m.shape == (4, 512, 7, 7)
        weight, bias = given[-1]
        (slope,) = [inputs for operation, inputs in nodes if operation == "PRelu"][-1]
        narrow = torch.nn.functional.prelu(torch.nn.functional.conv2d(m, weight, bias), slope.flatten())
        (matrix, shift) = next(inputs for operation, inputs in nodes if operation == "Gemm")
        scale, offset, mean, variance = next(inputs for operation, inputs in nodes if operation == "BatchNormalization")
        y = narrow.flatten(1) @ matrix.T + shift
        ours = (y - mean) / (variance + 1e-5).sqrt() * scale + offset
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (theirs,) = session.run(None, {"input.1": x.numpy()})
    cosine = torch.nn.functional.cosine_similarity(ours, torch.from_numpy(theirs))
    assert cosine.min() > 0.99999


def _onnx_nodes(data: bytes) -> Iterator[tuple[str, list[torch.Tensor]]]:
    """Operation and constant inputs of every node, by the wire format of protocol buffers alone."""
    graph = next(value for number, value in _fields(data) if number == 7)
    constants = {}
    for number, value in _fields(graph):
        if number == 5:
            parts = list(_fields(value))
            name = next(bytes(v).decode() for n, v in parts if n == 8)
            raw = next((v for n, v in parts if n == 9), b"")
            kind = next(v for n, v in parts if n == 2)
            if kind == 1:
                shape = [v for n, v in parts if n == 1]
                constants[name] = torch.from_numpy(np.frombuffer(raw, np.float32).copy()).reshape(shape)
    for number, value in _fields(graph):
        if number == 1:
            parts = list(_fields(value))
            inputs = [bytes(v).decode() for n, v in parts if n == 1]
            operation = next(bytes(v).decode() for n, v in parts if n == 4)
            yield operation, [constants[name] for name in inputs if name in constants]


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    place = 0

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while place < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            length = varint() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
            yield key >> 3, data[place : place + length]
            place += length
