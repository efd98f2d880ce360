"""Patches find back to the pixels they came from."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from facelens.errors import InputError
from facelens.features.models import MODELS
from facelens.features.models.geometry import in_aligned, patch_at, patch_boxes, patch_centres
from facelens.features.models.stages import run


def test_tiles_of_a_112_picture() -> None:
    boxes = patch_boxes(MODELS["iresnet50"].card, (7, 7))
    assert boxes.shape == (49, 4)
    assert boxes[0].tolist() == [0, 0, 16, 16]
    assert boxes[1].tolist() == [16, 0, 32, 16]  # to the right first
    assert boxes[7].tolist() == [0, 16, 16, 32]
    assert boxes[-1].tolist() == [96, 96, 112, 112]


@pytest.mark.parametrize("name", MODELS)
def test_tiles_share_the_picture_out(name: str) -> None:
    card = MODELS[name].card
    assert card.grid is not None
    boxes = patch_boxes(card, card.grid)
    height, width = card.size
    seen = np.zeros((height, width), int)
    for p, (left, top, right, bottom) in enumerate(boxes):
        x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
        inside = (x >= left) & (x < right) & (y >= top) & (y < bottom)
        seen += inside
        assert {patch_at(card, card.grid, x=float(a), y=float(b)) for a, b in zip(x[inside][:3], y[inside][:3])} == {p}
    assert (seen == 1).all()


def test_tall_pictures_and_crops() -> None:
    card = MODELS["mobilefacenet_casia"].card
    boxes = patch_boxes(card, (7, 6))
    assert boxes.shape == (42, 4) and boxes[5].tolist() == [80, 0, 96, 16] and boxes[6].tolist() == [0, 16, 16, 32]
    aligned = in_aligned(boxes, card)
    assert aligned[0].tolist() == [8, 0, 24, 16] and aligned[-1].tolist() == [88, 96, 104, 112]
    assert in_aligned(patch_centres(card, (7, 6)), card)[0].tolist() == [8.5, 0.5]
    doubled = card.changed(size=(224, 192))
    assert in_aligned(patch_boxes(doubled, (7, 6)), doubled).tolist() == aligned.tolist()
    same = MODELS["iresnet50"].card
    assert in_aligned(boxes, same).tolist() == boxes.tolist()


def test_points_outside_belong_to_no_patch() -> None:
    card = MODELS["iresnet50"].card
    assert patch_at(card, (7, 7), x=112, y=0) is None and patch_at(card, (7, 7), x=0, y=-0.1) is None
    with pytest.raises(InputError, match="at least one row"):
        patch_boxes(card, (0, 7))


@pytest.mark.parametrize(
    ("name", "options", "big"),
    [
        ("iresnet18", {"blocks": (1, 1, 1, 1)}, 304),
        ("mobilefacenet_casia", {}, 400),
        ("sphere20", {"blocks": (1, 1, 1, 1)}, 304),
        ("resnetface18", {"blocks": (1, 1, 1, 1)}, 304),
        ("inception_resnet_v1", {}, 544),
        ("resnet50", {}, 544),
        ("small_dense", {}, 160),
        ("cnn4", {}, 112),
    ],
)
def test_centres_of_receptive_fields(name: str, options: dict[str, object], big: int) -> None:
    """With every weight positive and equal, the gradient of a patch is balanced about the centre of what it sees."""
    spec = MODELS[name].fitted(options)
    network = spec.build(**options).eval().double()
    for key, value in network.state_dict().items():
        if key.endswith("weight") and value.ndim == 4:
            value.fill_(1 / value[0].numel())
    # A maximum follows one pixel only; a mean over the same window has the same centre.
    for parent in list(network.modules()):
        for child, module in list(parent.named_children()):
            if isinstance(module, torch.nn.MaxPool2d):
                setattr(parent, child, torch.nn.AvgPool2d(module.kernel_size, module.stride, module.padding))
    stages = _stages(network, spec.card.patch_layer)
    x = torch.ones(1, spec.card.channels, big, big, dtype=torch.float64, requires_grad=True)
    patches, _ = run(network, x, stages=stages)
    middle = patches.shape[2] // 2
    (gradient,) = torch.autograd.grad(patches[0, :, middle, middle].sum(), x)
    mass = gradient.abs().sum((0, 1))
    assert mass[0].max() < 1e-3 * mass.max() and mass[-1].max() < 1e-3 * mass.max()  # not cut off at the border
    places = torch.arange(big, dtype=torch.float64) + 0.5
    centre = float((mass.sum(0) * places).sum() / mass.sum())
    assert spec.card.grid is not None
    centres = patch_centres(spec.card, spec.card.grid)
    columns = spec.card.grid[1]
    first, stride = centres[0, 0], centres[1, 0] - centres[0, 0]
    assert centres[columns, 1] - centres[0, 1] == stride
    assert centre == pytest.approx(first + middle * stride, abs=0.6)


def _stages(network: torch.nn.Module, last: str) -> list[str]:
    """Names of the stages up to the patch layer, in the order in which the network holds them."""
    import importlib

    module = importlib.import_module(type(network).__module__)
    stages = list(getattr(network, "STAGES", getattr(module, "STAGES", ())))
    return stages[: stages.index(last) + 1]
