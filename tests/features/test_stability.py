"""Stability: the variance is its definition, every network is asked or refused, what is measured is kept."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from facelens.errors import Cancelled, InputError
from facelens.features import stability
from facelens.features.card import Card
from facelens.features.encoder import Encoded, TorchEncoder
from facelens.features.models import MODELS, Output
from facelens.features.stability import PASSES, Wavering, cropped, drop, flipped, measure, read, variance
from facelens.features.store import Store
from facelens.images.faceset import FaceSet

CARD = Card("thumbs", "thumbs", size=(16, 16), template="none", dimensions=12)


class Thumbs:
    """Vectors are small copies of the pictures; a card's flip adds the mirrored one."""

    dimensions, parts = 12, 0

    def __init__(self, card: Card = CARD) -> None:
        self.card = card
        self.seen = 0

    def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
        self.seen += len(pictures)
        both = [pictures, pictures[:, :, ::-1]] if self.card.flip else [pictures]
        small = [some[:, ::8, ::8].reshape(len(some), 12).astype(np.float32) for some in both]
        return Encoded(np.sum(small, 0))


def gallery(folder: Path, n: int) -> FaceSet:
    folder.mkdir()
    for i in range(n):
        pixels = np.random.default_rng(i).integers(0, 255, (16, 16, 3), np.uint8)
        if i == 0:
            pixels = np.maximum(pixels, pixels[:, ::-1])  # its own mirror image
        Image.fromarray(pixels).save(folder / f"{i:02}.png")
    return FaceSet.build("g", folder, paths=[f"{i:02}.png" for i in range(n)], identities=["A"] * n)


def kept(root: Path) -> Store:
    return Store.create(root, "0" * 32, card=CARD)


def test_the_variance_is_its_definition() -> None:
    vectors = np.random.default_rng(0).normal(size=(20, 5, 7)) * 3
    for row, found in zip(vectors, variance(vectors.astype(np.float32))):
        units = [vector / np.sqrt((vector**2).sum()) for vector in row]
        mean = sum(units) / 5
        assert found == pytest.approx(sum(((unit - mean) ** 2).sum() for unit in units) / 5, abs=1e-6)
    assert variance(np.full((1, 2, 3), 7.0)).tolist() == [0]
    assert np.isnan(variance(np.zeros((1, 2, 3)))).all()


def test_variants_of_a_picture() -> None:
    picture = np.random.default_rng(1).integers(0, 255, (1, 64, 48, 3), np.uint8)
    first, mirrored = flipped(picture)
    np.testing.assert_array_equal(first, picture[0])
    np.testing.assert_array_equal(mirrored, picture[0, :, ::-1])
    made = cropped(picture)
    assert made.shape == (5, 64, 48, 3) and len({one.tobytes() for one in made}) == 5
    np.testing.assert_array_equal(made[0], picture[0])
    for one, (y, x) in zip(made[1:], [(0, 0), (0, 2), (2, 0), (2, 2)]):
        cut = Image.fromarray(picture[0, y : y + 62, x : x + 46]).resize((48, 64), Image.Resampling.BILINEAR)
        np.testing.assert_array_equal(one, np.asarray(cut))


@pytest.mark.parametrize("flip", [False, True])
def test_every_face_is_measured_once_and_kept(tmp_path: Path, flip: bool) -> None:
    faces, encoder, store = gallery(tmp_path / "g", 12), Thumbs(CARD.changed(flip=flip)), kept(tmp_path / "s")
    assert read(faces, store.folder) == {}
    done = measure(faces, encoder, store, "flip")
    assert (done.embedded, done.reused) == (12, 0)
    found = read(faces.take(np.arange(11, -1, -1)), store.folder)["flip"][::-1]
    assert found[0] < 1e-12 and (found[1:] > 0.01).all(), "a picture that is its own mirror image does not waver"
    pictures = np.stack([np.asarray(Image.open(faces.path(row))) for row in range(12)])
    both = np.stack([Thumbs()(pictures).vectors, Thumbs()(pictures[:, :, ::-1]).vectors], 1)
    np.testing.assert_allclose(found, variance(both), atol=1e-6)
    again = measure(faces, encoder, store, "flip")
    assert (again.embedded, again.reused) == (0, 12)
    measure(faces, encoder, store, "crop")
    assert list(read(faces, store.folder)) == ["flip", "crop"]
    os.utime(faces.path(3), ns=(1, 10**18))
    assert np.flatnonzero(np.isnan(read(faces, store.folder)["flip"])).tolist() == [3], "another picture by now"


def test_cancelling_keeps_what_is_finished(tmp_path: Path) -> None:
    faces, store = gallery(tmp_path / "g", 12), kept(tmp_path / "s")

    def stop(done: int, total: int, note: str = "") -> None:
        if done >= 4:
            raise Cancelled

    with pytest.raises(Cancelled):
        measure(faces, Thumbs(), store, "crop", batch=4, tick=stop)
    assert np.isfinite(read(faces, store.folder)["crop"]).sum() == 4
    assert measure(faces, Thumbs(), store, "crop").embedded == 8


def test_a_setting_more_is_another_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faces, store = gallery(tmp_path / "g", 3), kept(tmp_path / "s")
    measure(faces, Thumbs(), store, "crop")
    monkeypatch.setattr(stability, "SETTINGS", {**stability.SETTINGS, "crop": (7, 8)})
    assert read(faces, store.folder) == {}


def test_it_goes_with_the_vectors(tmp_path: Path) -> None:
    faces, store = gallery(tmp_path / "g", 3), kept(tmp_path / "s")
    before = store.size
    measure(faces, Thumbs(), store, "flip")
    assert store.size > before and len(store) == 0
    store.purge()
    assert not store.folder.exists() and read(faces, store.folder) == {}


def test_programs_without_layers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="thumbs is a finished program") as caught:
        Wavering(Thumbs(), "dropout")
    assert "flip or crop" in caught.value.hint


# Dropout


class Tiny(torch.nn.Module):
    """Sixteen numbers of a picture, a dropout where asked, a linear layer, and a head beside them."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.dropout = torch.nn.Dropout(rate)
        self.linear = torch.nn.Linear(16, 12)
        self.beside = torch.nn.Linear(16, 2)

    def forward(self, x: torch.Tensor) -> Output:
        flat = x[:, 0, ::4, ::4].flatten(1)
        embedding = self.linear(self.dropout(flat))
        return Output(embedding, None, self.beside(flat))


@pytest.mark.parametrize("rate", [0.0, 0.25])
def test_dropout_leaves_out_as_many_as_it_should(rate: float) -> None:
    torch.manual_seed(0)
    encoder = TorchEncoder(Tiny(rate), CARD, device="cpu")
    pictures = np.random.default_rng(2).integers(0, 255, (9, 16, 16, 3), np.uint8)
    whole = Wavering(encoder, "dropout")(pictures).vectors[:, 0]
    single = np.concatenate([Wavering(encoder, "dropout")(pictures[i : i + 1]).vectors[:, 0] for i in range(9)])
    np.testing.assert_allclose(whole, single, atol=1e-6, err_msg="a value depends on its batch")
    again = TorchEncoder(encoder.network, CARD, device="cpu")(pictures).vectors
    np.testing.assert_array_equal(encoder(pictures).vectors, again)
    assert len(again) == 9, "the network itself drops nothing"

    linear, p = encoder.network.linear, rate or stability.RATE
    flat = (pictures[:, ::4, ::4, 0].reshape(9, 16).astype(np.float64) - 127.5) / 127.5
    dice = np.random.default_rng(0)
    masks = (dice.random((4000, 1, 16)) >= p) / (1 - p)
    drawn = (flat * masks) @ linear.weight.detach().numpy().T + linear.bias.detach().numpy()
    np.testing.assert_allclose(whole, variance(drawn.transpose(1, 0, 2)), rtol=0.35)


REFUSED = {"cnn4", "resnet50_neck"}
LARGE = {"iresnet34", "iresnet50", "iresnet100", "resnet50", "universal", "divided"}  # made of what the others are


@pytest.mark.parametrize("name", sorted(set(MODELS) - LARGE))
def test_dropout_finds_its_place_in_every_network(name: str) -> None:
    spec = MODELS[name]
    network = spec.build().eval()
    if name in REFUSED:
        with pytest.raises(InputError, match="ends without a linear layer"):
            drop(network, spec.card)
        return
    drop(network, spec.card)
    _waver(network, spec.card)


@pytest.mark.parametrize("head", ["universal", "divided"])
def test_heads_waver_as_their_backbones_do(head: str) -> None:
    options = {"backbone": "small_plain", "parts" if head == "universal" else "learners": 4, "backbone_options": {}}
    spec = MODELS[head].fitted(options)
    network = spec.build().eval()
    drop(network, spec.card)
    _waver(network, spec.card)


def _waver(network: torch.nn.Module, card: Card) -> None:
    with torch.inference_mode():
        found = network(torch.rand((1, card.channels, *card.size))).embedding
    assert found.shape == (PASSES, card.dimensions)
    assert 0 < variance(found.numpy()[None])[0] < 1
