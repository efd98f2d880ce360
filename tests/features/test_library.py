"""Model files at hand: what is said about them before use, and the encoder that comes of them."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from facelens.errors import InputError, NeedsChoice
from facelens.features import card as cards
from facelens.features import library, onnx
from facelens.features.card import Card
from facelens.features.encoder import TorchEncoder
from facelens.features.models import MODELS
from facelens.session import tasks

rng = np.random.default_rng(0)


def _other(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    network = MODELS["small_plain"].build()
    save_file(network.state_dict(), tmp_path / "net.safetensors")
    return tmp_path / "net.safetensors"


def test_weights_are_recognised(saved: Path) -> None:
    found = library.inspect(saved)
    assert found.fits and found.kind == "weights" and found.score == 1.0 and not found.from_card
    assert found.card == MODELS["small_plain"].card.changed(name="net")
    assert found.keys.matched == found.keys.wanted > 0 and found.title == "Small, plain"
    assert len(found.sha256) == 64 and found.size == saved.stat().st_size
    assert pickle.loads(pickle.dumps(found)) == found, "it travels between processes"
    text = "\n".join(tasks.describe_model(found))
    assert "net.safetensors: Small, plain" in text and "64 × 64, RGB, mean 127.5" in text and found.sha256 in text


def test_the_encoder_is_the_network(saved: Path) -> None:
    encoder, seen = library.encoder(saved, threads=1)
    torch.manual_seed(0)
    network = MODELS["small_plain"].build()
    pictures = rng.integers(0, 256, (3, 64, 64, 3), dtype=np.uint8)
    theirs = TorchEncoder(network, seen.card, fast=False)(pictures).vectors
    np.testing.assert_allclose(encoder(pictures).vectors, theirs, atol=1e-4)
    assert encoder.dimensions == 128 and encoder.card == seen.card


def test_the_card_beside_the_file_decides(saved: Path) -> None:
    mine = MODELS["small_plain"].card.changed(name="mine", order="BGR")
    cards.save(mine, cards.beside(saved))
    assert library.inspect(saved).card == mine and library.inspect(saved).from_card
    other = mine.changed(name="other", flip=True)
    assert library.inspect(saved, card=other).card == other
    cards.save(other, saved.parent / "other.json")
    assert library.encoder(saved, card=saved.parent / "other.json", threads=1)[0].card == other


def test_a_card_for_another_network(saved: Path) -> None:
    wrong = library.inspect(saved, card=MODELS["cnn4"].card)
    assert not wrong.fits and wrong.keys.missing
    with pytest.raises(InputError):
        library.encoder(saved, card=MODELS["cnn4"].card)
    with pytest.raises(InputError, match="does not know: nonsense"):
        library.inspect(saved, card=Card("n", "nonsense"))


def test_weights_that_do_not_fit_are_never_half_loaded(saved: Path, tmp_path: Path) -> None:
    network = MODELS["small_plain"].build()
    tensors = network.state_dict()
    gone = next(iter(tensors))
    save_file({key: value for key, value in tensors.items() if key != gone}, tmp_path / "cut.safetensors")
    found = library.inspect(tmp_path / "cut.safetensors")
    assert not found.fits and found.keys.missing == (gone,)
    with pytest.raises(InputError):
        library.encoder(tmp_path / "cut.safetensors")


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("runs/model.pt", "runs model"),
        ("casia/068.ckpt", "casia 068"),
        ("x/net_1.0.state_dict.pt", "net_1.0"),
        ("x/glint.pth.tar", "glint"),
    ],
)
def test_names_for_people(place: str, name: str) -> None:
    assert library._name(Path(place)) == name


@pytest.mark.skipif(not onnx.installed(), reason="onnxruntime is not installed")
def test_onnx_files(tmp_path: Path) -> None:
    path = _other("test_encoder").tiny_onnx(tmp_path / "m.onnx")
    found = library.inspect(path)
    assert found.fits and found.kind == "onnx"
    assert (found.card.size, found.card.order, found.card.dimensions) == ((16, 16), "RGB", 3)
    assert "assumed" in found.card.notes
    encoder, _ = library.encoder(path, threads=1)
    assert encoder(np.zeros((2, 16, 16, 3), np.uint8)).vectors.shape == (2, 3)


def test_programs_need_consent(tmp_path: Path) -> None:
    class Net(torch.nn.Module):
        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            return batch.mean((2, 3))

    torch.jit.script(Net()).save(str(tmp_path / "net.pt"))
    for use in (library.inspect, library.encoder):
        with pytest.raises(NeedsChoice, match=r"is a TorchScript program\. It was not run"):
            use(tmp_path / "net.pt")
    asked: list[str] = []

    def yes(sha256: str) -> bool:
        asked.append(sha256)
        return True

    encoder, seen = library.encoder(tmp_path / "net.pt", consents=yes)
    assert asked and set(asked) == {seen.sha256} and seen.kind == "torchscript"
    pictures = np.full((2, 112, 112, 3), 255, np.uint8)
    np.testing.assert_allclose(encoder(pictures).vectors, 1.0, atol=1e-5)


def test_the_patch_layer_can_be_chosen_for_a_network_of_ours(saved: Path) -> None:
    seen = library.inspect(saved)
    assert dict(seen.layers)["stage1"] == "48 × 16 × 16" and seen.card.patch_layer == "stage3"
    chosen = seen.card.changed(patch_layer="stage1")
    assert chosen.digest == seen.card.digest  # vectors are the same
    again = library.inspect(saved, card=chosen)
    assert again.card.grid == (16, 16) and "  patches   stage1, 16 × 16" in tasks.describe_model(again)
    none, _ = library.encoder(saved, card=seen.card.changed(patch_layer="", grid=None), threads=1)
    assert none(np.zeros((1, 64, 64, 3), np.uint8), patches=True).patches is None
    with pytest.raises(InputError, match="no patch layer"):
        library.encoder(saved, card=seen.card.changed(patch_layer="stage9"), threads=1)


@pytest.mark.parametrize("name", ["divided", "universal"])
def test_heads_are_encoders_too(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    options = {"backbone": "small_plain", "backbone_options": {}} | ({"parts": 4} if name == "universal" else {})
    save_file(MODELS[name].fitted(options).build().state_dict(), tmp_path / "net.safetensors")
    card = MODELS[name].fitted(options).card.changed(name="net")
    made, seen = library.encoder(tmp_path / "net.safetensors", card=card, threads=1)
    pictures = np.zeros((2, 64, 64, 3), np.uint8)
    assert seen.fits and made(pictures, patches=True).patches.shape[2:] == (8, 8)
    if name == "divided":
        made, _ = library.encoder(tmp_path / "net.safetensors", card=card.changed(patch_layer="stage1"), threads=1)
        assert made(pictures, patches=True).patches.shape[2:] == (16, 16)
    else:
        assert not seen.layers and made(pictures).confidence.shape == (2, 4)


def test_the_patch_layer_of_the_card_is_the_one_that_is_tapped(saved: Path) -> None:
    pictures = np.zeros((1, 64, 64, 3), np.uint8)
    usual, seen = library.encoder(saved, threads=1)
    assert usual(pictures, patches=True).patches.shape[2:] == (8, 8)
    earlier, _ = library.encoder(saved, card=seen.card.changed(patch_layer="stage1", grid=None), threads=1)
    assert earlier(pictures, patches=True).patches.shape[2:] == (16, 16)


def test_of_two_networks_in_one_file_one_is_used_and_said(saved: Path, tmp_path: Path) -> None:
    state = MODELS["small_plain"].build().state_dict()
    both = {f"{prefix}{key}": tensor.clone() for prefix in ("online.", "ema.") for key, tensor in state.items()}
    torch.save(both, tmp_path / "both.pt")
    found = library.inspect(tmp_path / "both.pt")
    assert found.fits and any(
        "more than one network" in note and "under ema is used, not online." in note for note in found.notes
    )
    encoder, _ = library.encoder(tmp_path / "both.pt", threads=1)
    assert encoder.dimensions == 128


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """Two networks in one state dict, and a third, of another architecture, in another."""
    torch.manual_seed(1)
    online, ema, student = (MODELS[name].build() for name in ("small_plain", "small_plain", "small_residual"))
    both = {
        f"{prefix}{key}": value
        for prefix, of in (("online.", online), ("ema.", ema))
        for key, value in of.state_dict().items()
    }
    torch.save({"state_dict": both, "student": student.state_dict(), "epoch": 3}, tmp_path / "several.pt")
    return tmp_path / "several.pt"


def test_which_of_several_networks_can_be_chosen(several: Path) -> None:
    words = {library.network_words(one) for one in library.inspect(several).networks}
    assert words == {"state_dict, ema", "state_dict, online", "student"}
    pictures = rng.integers(0, 255, (2, 64, 64, 3), np.uint8)
    vectors = {}
    for name in ("online", "ema", "student"):
        seen = library.inspect(several, network=name)
        assert seen.fits and library.network_words(seen.networks[0]).endswith(name) and len(seen.networks) > 1
        assert seen.card.network == seen.networks[0] and seen.card.name.endswith(f"{name})")
        made, again = library.encoder(several, card=seen.card, threads=1)  # as the card remembers it
        assert again.card == seen.card
        vectors[name] = made(pictures).vectors
        np.testing.assert_array_equal(
            library.encoder(several, network=name, threads=1)[0](pictures).vectors, vectors[name]
        )
    assert vectors["student"].shape == (2, 96) and not np.allclose(vectors["online"], vectors["ema"])
    with pytest.raises(InputError, match="holds no network teacher") as caught:
        library.inspect(several, network="teacher")
    assert "student" in caught.value.hint


def test_a_chosen_network_can_be_another_architecture(several: Path) -> None:
    card = library.inspect(several).card
    cards.save(card, cards.beside(several))
    seen = library.inspect(several, network="student")
    assert seen.card.architecture == "small_residual" and not seen.from_card
    cards.save(seen.card, cards.beside(several))
    assert library.inspect(several).card.architecture == "small_residual"
    assert any(line.startswith("  network   student; also there: state_dict") for line in tasks.describe_model(seen))


def test_a_file_with_one_network_offers_no_choice(saved: Path) -> None:
    assert library.inspect(saved).networks == ()
    with pytest.raises(InputError, match="holds no network"):
        library.inspect(saved, network="ema")
