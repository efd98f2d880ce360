"""Saliency: a network that looks at one place is found out, by covering and by gradients; so are maps of nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from facelens.errors import Cancelled, InputError
from facelens.features import saliency
from facelens.features.card import Card
from facelens.features.encoder import Encoded, TorchEncoder
from facelens.features.models import Output

CARD = Card("eye", "eye", size=(24, 32), template="none", dimensions=2)
GRID = (3, 4)
OTHER = np.array([3.0, 0.0])
CELL = (1, 2)  # rows 8..15, columns 16..23


class Eye(nn.Module):
    """Turns towards OTHER with the light in one cell, away from it without."""

    def forward(self, x: Tensor) -> Output:
        seen = x[:, :, 8:16, 16:24].mean((1, 2, 3))
        return Output(torch.stack([1 + seen, torch.ones_like(seen)], 1))


class Blind:
    """An ONNX file, as far as gradients go; knows the same as Eye."""

    card, dimensions, parts = CARD, 2, 0

    def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
        seen = pictures[:, 8:16, 16:24].mean((1, 2, 3)) / 127.5 - 1
        return Encoded(np.stack([1 + seen, np.ones_like(seen)], 1).astype(np.float32))


PICTURE = np.full((24, 32, 3), 220, np.uint8)


def test_covering_finds_the_place_that_matters() -> None:
    found = saliency.occlusion(PICTURE, OTHER, Blind(), grid=GRID)
    cosine = lambda light: (light / 127.5) / np.hypot(light / 127.5, 1)  # noqa: E731
    np.testing.assert_allclose(found[CELL], cosine(220) - cosine(127), atol=1e-6)
    found[CELL] = 0
    np.testing.assert_allclose(found, 0, atol=1e-7)
    blurred = saliency.occlusion(PICTURE, OTHER, Blind(), grid=GRID, fill="blur")
    np.testing.assert_allclose(blurred, 0, atol=1e-6)  # an even picture stays what it is


@pytest.mark.parametrize("flip", [False, True])
def test_gradients_find_it_too(flip: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saliency, "NOISE", 0.0)
    encoder = TorchEncoder(Eye(), CARD.changed(flip=flip))
    found = saliency.gradient(PICTURE, OTHER, encoder, grid=GRID)
    # cos = a / sqrt(a^2 + 1) with a = 1 + mean of the cell's numbers: d cos / d a = (a^2 + 1)^(-3/2)
    a = 220 / 127.5
    wanted = np.zeros(GRID)
    wanted[CELL] = (a * a + 1) ** -1.5
    if flip:  # the mirror image sees the cell on the other side; both count half
        wanted[1, 1] = wanted[CELL] = wanted[CELL] / 2
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-7)


def test_noise_is_drawn_by_its_seed() -> None:
    encoder = TorchEncoder(Eye(), CARD)
    picture = np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8)
    one, same, other = (saliency.gradient(picture, OTHER, encoder, grid=GRID, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_files_without_layers_have_no_gradient() -> None:
    with pytest.raises(InputError, match="without gradients") as refused:
        saliency.gradient(PICTURE, OTHER, Blind(), grid=GRID)
    assert "occlusion" in refused.value.hint


def test_deletion_tells_a_map_from_noise() -> None:
    found = saliency.occlusion(PICTURE, OTHER, Blind(), grid=GRID)
    good, bad = (saliency.deletion(PICTURE, OTHER, Blind(), one) for one in (found, -found))
    assert good.share[0] == 0 and good.share[-1] == 1 and (np.diff(good.share) > 0).all()
    assert good.salient[0] > 0.8 and np.ptp(good.salient[1:]) < 1e-6  # all is lost with the first cell
    np.testing.assert_allclose(good.random[:, [0, -1]], np.broadcast_to(good.salient[[0, -1]], (saliency.ORDERS, 2)))
    assert good.area > 0.03 and bad.area < -0.03
    nothing = saliency.deletion(PICTURE, np.array([0.0, 0.0]), Blind(), found)
    assert nothing.area == 0


def test_cells_cover_the_picture() -> None:
    count = np.zeros((24, 32), int)
    for top, left, bottom, right in saliency.cells((5, 7), (24, 32)):
        count[top:bottom, left:right] += 1
    assert (count == 1).all()


def test_cancelling() -> None:
    def tick(done: int, total: int, note: str = "") -> None:
        raise Cancelled

    for work in (saliency.occlusion, saliency.gradient):
        with pytest.raises(Cancelled):
            work(PICTURE, OTHER, TorchEncoder(Eye(), CARD), grid=GRID, tick=tick)
