"""Sub-embeddings with confidence, and learners on slices."""

from __future__ import annotations

import math

import pytest
import torch

from facelens.errors import InputError
from facelens.features.models import MODELS
from facelens.features.models.divided import divided, initialise_slices, slice_of
from facelens.features.models.universal import parts_of, universal

TINY = {"grid": (2, 2)}


def test_parts_are_unit_vectors_of_their_own() -> None:
    x = torch.randn(5, 12, dtype=torch.float64) * torch.tensor([100.0] * 4 + [0.01] * 8, dtype=torch.float64)
    parts = parts_of(x, 3)
    for row in range(5):
        for k in range(3):
            group = x[row, 4 * k : 4 * k + 4]
            torch.testing.assert_close(parts[row, k], group / group.norm())
    with pytest.raises(InputError, match="5 equal parts"):
        parts_of(x, 5)


def test_universal_returns_parts_and_confidence() -> None:
    network = universal("small_residual", parts=16, backbone_options=TINY).eval()
    x = torch.randn(3, 3, 16, 16)
    with torch.no_grad():
        raw = network.backbone(x)
        embedding, patches, confidence = network(x)
    assert confidence is not None and confidence.shape == (3, 16) and patches is not None
    torch.testing.assert_close(embedding, parts_of(raw.embedding, 16).flatten(1))
    torch.testing.assert_close(embedding.norm(dim=1), torch.full((3,), 4.0))  # sqrt(16)
    torch.testing.assert_close(confidence, torch.full((3, 16), 64.0))  # starts near CosFace's scale
    # the mean of the groups' cosines is the cosine of the whole
    groups = parts_of(embedding, 16)
    mean = (groups[0] * groups[1]).sum(1).mean()
    torch.testing.assert_close(mean, torch.cosine_similarity(embedding[0], embedding[1], dim=0))


def test_confidence_is_the_exponential_of_the_map() -> None:
    network = universal("small_plain", parts=4, backbone_options=TINY).eval()
    torch.nn.init.normal_(network.confidence.weight, std=0.05)
    with torch.no_grad():
        _, patches, confidence = network(torch.randn(2, 3, 16, 16))
    assert patches is not None
    flat = patches.flatten(1) @ network.confidence.weight.T + network.confidence.bias
    torch.testing.assert_close(confidence, flat.exp())


@pytest.mark.parametrize(("bias", "expected"), [(1e6, math.exp(7)), (-1e6, math.exp(-10))])
def test_confidence_stays_finite(bias: float, expected: float) -> None:
    network = universal("small_plain", parts=4, backbone_options=TINY).eval()
    torch.nn.init.constant_(network.confidence.bias, bias)
    confidence = network(torch.randn(1, 3, 16, 16)).confidence
    assert confidence is not None
    torch.testing.assert_close(confidence, torch.full((1, 4), expected))


def test_universal_of_the_paper() -> None:
    assert MODELS["universal"].options == {"backbone": "iresnet100", "parts": 16}
    assert MODELS["universal"].parameters == MODELS["iresnet100"].parameters + 16 * (512 * 49 + 1)


@pytest.mark.parametrize("backbone", ["universal", "divided", "vgg"])
def test_unknown_backbones_are_refused(backbone: str) -> None:
    with pytest.raises(InputError, match=backbone):
        universal(backbone)
    with pytest.raises(InputError, match=backbone):
        divided(backbone)


def test_uneven_parts_are_refused() -> None:
    with pytest.raises(InputError, match="7 equal parts"):
        universal("small_plain", parts=7)
    with pytest.raises(InputError, match="7 equal parts"):
        divided("small_plain", learners=7)


def test_slices_have_length_one() -> None:
    network = divided("small_plain", learners=8, backbone_options=TINY).eval()
    x = torch.randn(2, 3, 16, 16)
    embedding = network(x).embedding
    for k in range(8):
        part = embedding[:, slice_of(k, learners=8, dimensions=128)]
        torch.testing.assert_close(part.norm(dim=1), torch.ones(2))
    torch.testing.assert_close(embedding.norm(dim=1), torch.full((2,), math.sqrt(8)))
    network.whole = True
    torch.testing.assert_close(network(x).embedding, network.backbone(x).embedding)


def test_a_learner_moves_only_its_rows() -> None:
    torch.manual_seed(0)
    network = divided("resnet50", learners=4, backbone_options={"dimensions": 16}).eval()
    embedding = network(torch.randn(1, 3, 32, 32)).embedding
    rows = slice_of(2, learners=4, dimensions=16)
    (embedding[:, rows] * torch.randn(1, 4)).sum().backward()
    gradient = network.backbone.fc.weight.grad
    moved = gradient.abs().sum(1) > 0
    assert moved[rows].all() and moved.sum() == 4


def test_slices_start_alike_whatever_their_number() -> None:
    layer = torch.nn.Linear(64, 128)
    torch.manual_seed(0)
    initialise_slices(layer, learners=8)
    bound = math.sqrt(6 / (64 + 16))  # Xavier for 16 rows, not for 128
    assert 0.95 * bound < layer.weight.abs().max() <= bound and not layer.bias.any()
