"""Opening model files: the kind by content, the hash, the state dict chosen, consent for programs."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.errors import Cancelled, InputError, NeedsChoice
from facelens.features import checkpoint, weights
from facelens.features.checkpoint import ConsentBook, load_program, open_model


@pytest.fixture(scope="module")
def torch() -> Any:
    import torch

    return torch


def saved(path: Path, value: Any) -> Path:
    path.write_bytes(pickle.dumps(value, protocol=4))
    return path


ARRAYS = {"fc.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "fc.bias": np.zeros(2, np.float32)}


def test_the_content_decides_not_the_name(tmp_path: Path, torch: Any) -> None:
    for name in ("model.pth", "model.jpg", "model", "model.onnx", "mod\nel.safetensors"):
        torch.save({"state_dict": {k: torch.from_numpy(v) for k, v in ARRAYS.items()}}, tmp_path / name)
        model = open_model(tmp_path / name)
        assert model.kind == checkpoint.WEIGHTS and model.contents is not None
        assert (model.contents.form, model.contents.container) == ("torch archive", "state_dict")
        assert model.sha256 == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        assert model.size == (tmp_path / name).stat().st_size
        for key, value in ARRAYS.items():
            np.testing.assert_array_equal(model.contents.tensors[key], value)


def test_names_are_shown_escaped(tmp_path: Path) -> None:
    path = tmp_path / "a\nb.pth"
    path.write_bytes(b"")
    with pytest.raises(InputError) as caught:
        open_model(path)
    assert caught.value.message == "a\\x0ab.pth is empty."


def test_names_that_are_no_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.pth"))
    saved(path, ARRAYS)
    assert open_model(path).kind == "weights"


def test_progress_and_cancelling(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.pkl", {"a": np.zeros((2000, 1000), np.float32)})
    seen: list[tuple[int, int, str]] = []
    open_model(path, tick=lambda done, total, note="": seen.append((done, total, note)))
    assert seen[0][2] == "Reading m.pkl" and seen[-1] == (8_000_000, 8_000_000, "Opening m.pkl")

    def stop(done: int, total: int, note: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        open_model(path, tick=stop)


def test_a_file_that_changes_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.pkl", ARRAYS)

    def tick(done: int, total: int, note: str = "") -> None:
        if note.startswith("Opening"):
            os.utime(path, ns=(1, 1))

    with pytest.raises(InputError, match="changed while it was read"):
        open_model(path, tick=tick)


def test_a_file_of_terabytes_is_not_even_hashed(tmp_path: Path) -> None:
    path = tmp_path / "m.pth"
    with open(path, "wb") as file:
        file.write(b"PK\x03\x04")
        file.truncate(40 << 30)  # takes no room on the disk
    with pytest.raises(InputError) as caught:
        open_model(path, tick=lambda *_: pytest.fail("it was read"))
    assert caught.value.message == "m.pth is larger than a model may be (43 GB)."


# Which state dict


def chosen(value: Any, take: str | None = None) -> weights.Contents:
    data = pickle.dumps(value, protocol=4)
    return weights.read(io.BytesIO(data), len(data), shown="m.pkl", take=take)


@pytest.mark.parametrize(
    "key",
    [
        *("state_dict", "net_state_dict", "model", "model_state", "params", "state_dict_backbone", "model_state_dict"),
        *("backbone", "net", "weights", "ema", "anything"),
    ],
)
def test_the_container_is_found_and_said(key: str) -> None:
    found = chosen({"epoch": 3, key: ARRAYS, "loss": 0.5})
    assert found.container == key and list(found.tensors) == list(ARRAYS)
    assert found.said == {"epoch": 3, "loss": 0.5}


def test_the_known_container_is_preferred() -> None:
    head = {"weight": np.zeros((5, 2), np.float32), "a": np.zeros(1), "b": np.zeros(1)}
    assert chosen({"head": head, "backbone": ARRAYS}).container == "backbone"
    assert chosen({"ema": head, "state_dict": ARRAYS}).container == "state_dict"
    assert chosen({"mean": np.zeros(3), "model": ARRAYS}).container == "model"
    assert chosen({"mean": np.zeros(3), "something": {**ARRAYS, "c": np.zeros(1)}}).container == "something"
    assert chosen(ARRAYS).container == ""


def test_another_one_can_be_asked_for() -> None:
    both = {"backbone": ARRAYS, "head": {"weight": np.ones((1, 1))}}
    found = chosen(both, "head")
    assert list(found.tensors) == ["weight"] and found.others == ("backbone",)
    with pytest.raises(InputError, match="holds no weights"):
        chosen(both, "nowhere")


def test_optimizer_state_is_never_taken() -> None:
    optimizer = {"state": {0: {"exp_avg": np.zeros((2, 3)), "step": 1}}, "param_groups": [{"lr": 0.1}]}
    with pytest.raises(InputError, match="holds no weights"):
        chosen({"optimizer": optimizer})
    with pytest.raises(InputError, match="holds no weights"):
        chosen({"something": optimizer})
    found = chosen({"optimizer": optimizer, "model": ARRAYS})
    assert found.ignored == ("optimizer (1 tensor)",)


def test_tensors_of_two_equal_names_are_refused() -> None:
    with pytest.raises(InputError, match="two tensors have the same name"):
        chosen({"1": np.zeros(2), 1: np.zeros(2)})


def test_a_wrong_checksum_is_said_not_hidden(tmp_path: Path, torch: Any) -> None:
    path = tmp_path / "m.pth"
    torch.save({"fc.weight": torch.arange(1000.0), "fc.bias": torch.ones(3)}, path)
    assert open_model(path).notes == ()
    data = bytearray(path.read_bytes())
    at = data.find(np.float32(500).tobytes() + np.float32(501).tobytes())
    data[at] ^= 1
    path.write_bytes(data)
    (note,) = open_model(path).notes
    assert note.startswith("The checksum of 1 part of m.pth does not agree")


def test_a_big_endian_archive(tmp_path: Path, torch: Any) -> None:
    import zipfile

    stream = io.BytesIO()
    torch.save({"w": torch.arange(4.0)}, stream)
    source = zipfile.ZipFile(stream)
    with zipfile.ZipFile(tmp_path / "m.pth", "w") as file:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("byteorder"):
                data = b"big"
            elif "/data/" in name:
                data = np.frombuffer(data, "<f4").astype(">f4").tobytes()
            file.writestr(name, data)
    contents = open_model(tmp_path / "m.pth").contents
    assert contents is not None and contents.tensors["w"].tolist() == [0, 1, 2, 3]


def test_safetensors_metadata_is_told(tmp_path: Path) -> None:
    head = json.dumps(
        {"__metadata__": {"arch": "r50"}, "w": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
    ).encode()
    path = tmp_path / "m.safetensors"
    path.write_bytes(len(head).to_bytes(8, "little") + head + b"\x80\x3f\x00\xc0")
    contents = open_model(path).contents
    assert contents is not None and contents.form == "safetensors"
    assert contents.tensors["w"].tolist() == [1, -2] and contents.said == {"__metadata__.arch": "r50"}


def test_safetensors_agree_with_the_library(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    rng = np.random.default_rng(0)
    kinds = ("float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
    tensors = {f"layer.{kind}": (rng.standard_normal((3, 5)) * 9).astype(kind) for kind in kinds}
    library.save_file(tensors, tmp_path / "m.safetensors")
    contents = open_model(tmp_path / "m.safetensors").contents
    assert contents is not None and contents.tensors.keys() == tensors.keys()
    for key, value in tensors.items():
        np.testing.assert_array_equal(contents.tensors[key], value)
        assert contents.tensors[key].dtype == value.dtype


# Consent


@pytest.fixture(scope="module")
def program(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("program") / "model.pt"
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch would like programs to be saved in another way by now
        torch.jit.save(torch.jit.trace(torch.nn.Linear(3, 2), torch.ones(1, 3)), str(path))
    return path


def test_consent_is_for_one_file_and_default_no(
    program: Path, tmp_path: Path, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[Any] = []
    real = torch.jit.load
    monkeypatch.setattr(torch.jit, "load", lambda *a, **k: loads.append(a) or real(*a, **k))
    book = ConsentBook(tmp_path / "consent" / "trusted.json")
    with pytest.raises(NeedsChoice) as caught:
        open_model(program, consents=book)
    assert isinstance(caught.value.options, dict)
    digest = caught.value.options["consent"]
    assert digest == checkpoint.sha256(program)
    book.allow(digest, program.name)
    model = open_model(program, consents=book)
    assert model.kind == checkpoint.TORCHSCRIPT and model.contents is None and not loads
    module = load_program(model, consents=book)
    assert module(torch.ones(1, 3)).shape == (1, 2) and len(loads) == 1

    other = tmp_path / "other.pt"
    other.write_bytes(program.read_bytes() + b"\0")
    with pytest.raises((NeedsChoice, InputError)):
        open_model(other, consents=book)
    # Exchanged after it was opened: what counts are the bytes that would run.
    swapped = tmp_path / "model.pt"
    swapped.write_bytes(program.read_bytes())
    model = open_model(swapped, consents=book)
    swapped.write_bytes(program.read_bytes().replace(b"forward", b"forwarD"))
    with pytest.raises(NeedsChoice):
        load_program(model, consents=book)
    book.withdraw(digest)
    with pytest.raises(NeedsChoice):
        open_model(program, consents=book)
    assert len(loads) == 1


def test_weights_are_no_program(tmp_path: Path) -> None:
    model = open_model(saved(tmp_path / "m.pkl", ARRAYS))
    with pytest.raises(InputError, match="no TorchScript"):
        load_program(model, consents=lambda _: True)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"trusted": 3}', b'{"trusted": {"x": 1}}', b"[" * 100_000])
def test_a_damaged_book_trusts_nothing(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "trusted.json"
    path.write_bytes(damage)
    book = ConsentBook(path)
    assert book.entries() == {} and not book("0" * 64)
    book.allow("0" * 64, "m.pt")
    assert ConsentBook(path)("0" * 64) and book.entries()["0" * 64]["name"] == "m.pt"


def test_bytes_of_no_kind_are_not_called_a_pickle(tmp_path: Path) -> None:
    path = tmp_path / "noise.onnx"
    path.write_bytes(np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8).tobytes())
    with pytest.raises(InputError, match="its first bytes are of no kind of model file"):
        open_model(path)
