"""Sub-embeddings with confidence, and learners on slices."""

from __future__ import annotations

import math

import pytest
import torch

from facelens.errors import InputError
from facelens.features.models import MODELS, Output
from facelens.features.models.divided import divided, initialise_slices, slice_of
from facelens.features.models.universal import Uncertainty, Universal, parts_of, universal

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


def test_uncertainty_starts_even_and_is_never_nothing() -> None:
    torch.manual_seed(0)
    head = Uncertainty(20, hidden=8, parts=4).double()
    x = torch.randn(32, 20, dtype=torch.float64)
    raw = head(x)
    torch.testing.assert_close(raw, torch.full_like(raw, -7.0), rtol=0, atol=2e-3)
    with torch.no_grad():
        head.scale.fill_(3.0)
    inner = torch.relu(head.bn1(head.fc1(x)))
    z = head.fc2(inner)
    z = (z - z.mean(0)) / (z.var(0, unbiased=False) + 1e-5).sqrt()
    torch.testing.assert_close(head(x), (1e-6 + (3.0 * z - 7.0).exp()).log())
    with torch.no_grad():
        head.shift.fill_(-1e4)
    torch.testing.assert_close(head(x), torch.full_like(raw, math.log(1e-6)))
    with torch.no_grad():
        head.shift.fill_(1e4)
    torch.testing.assert_close(head(x), torch.full_like(raw, 10.0))
    assert [name for name, _ in head.named_parameters()] == [
        "scale", "shift", "fc1.weight", "bn1.weight", "bn1.bias", "fc2.weight",
    ]  # fmt: skip


def test_with_an_uncertainty_head_confidence_is_its_precision() -> None:
    network = universal("small_plain", parts=4, uncertainty=8, backbone_options=TINY).eval()
    assert network.uncertainty is not None
    with torch.no_grad():
        network.uncertainty.scale.fill_(1.0)
        x = torch.randn(2, 3, 16, 16)
        _, patches, confidence = network(x)
        assert patches is not None and confidence is not None
        variance = network.uncertainty(patches.flatten(1)).exp()
        torch.testing.assert_close(confidence, 1 / variance)
        assert confidence.std() > 0
        traced = torch.jit.trace(network.uncertainty, patches.flatten(1))  # as when vectors are computed
        torch.testing.assert_close(traced(patches.flatten(1)), variance.log())


def test_calibration_leaves_all_but_the_head_as_it_is() -> None:
    network = universal("small_plain", parts=4, uncertainty=8, backbone_options=TINY)
    assert network.uncertainty is not None
    parameters = network.calibrate()
    assert len(parameters) == 6 and all(p.requires_grad for p in parameters)
    assert sum(p.requires_grad for p in network.parameters()) == 6
    for training in (False, True, False):
        network.train(training)
        assert network.uncertainty.bn1.training == training
        assert not any(module.training for module in network.backbone.modules())
    with pytest.raises(InputError, match="no uncertainty head"):
        universal("small_plain", parts=4, backbone_options=TINY).calibrate()


class Given(torch.nn.Module):
    """A backbone that has answered already."""

    def __init__(self, patches: torch.Tensor) -> None:
        super().__init__()
        self.patches = patches

    def forward(self, x: torch.Tensor) -> Output:
        return Output(self.patches.flatten(1), self.patches)


@pytest.mark.parametrize("uncertainty", [0, 8])
def test_confidence_keeps_its_digits_under_mixed_precision(uncertainty: int) -> None:
    torch.manual_seed(0)
    network = Universal(Given(torch.randn(3, 8, 2, 2)), features=32, parts=4, uncertainty=uncertainty).eval()
    torch.nn.init.normal_(network.confidence.weight, std=0.5)
    x = torch.zeros(3, 3, 16, 16)
    with torch.no_grad():
        plain = network(x).confidence
        with torch.autocast("cpu", dtype=torch.bfloat16):
            mixed = network(x).confidence
    assert plain is not None and mixed is not None and mixed.dtype == torch.float32
    torch.testing.assert_close(mixed, plain)


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
