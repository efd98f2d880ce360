"""What a file is at first sight."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facelens.session.glance import glance


@pytest.mark.parametrize("name", ["a.pth", "a.PT", "a.ckpt", "a.onnx", "a.pkl"])
def test_models_by_their_ending_even_when_empty(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"")
    assert glance(tmp_path / name) == "model"


def test_weights_and_vectors_in_the_same_containers(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    rows = np.zeros((4, 3), np.float32)
    save_file({"conv.weight": rows}, tmp_path / "net.safetensors")
    save_file({"embeddings": rows}, tmp_path / "rows.safetensors")
    save_file({f"layer{i}.some.long.name.weight": rows for i in range(200)}, tmp_path / "deep.safetensors")
    np.savez(tmp_path / "net.npz", **{"conv.weight": rows})
    np.savez(tmp_path / "rows.npz", vectors=rows)
    np.save(tmp_path / "rows.npy", rows)
    (tmp_path / "odd.npz").write_bytes(b"no zip")
    (tmp_path / "odd.safetensors").write_bytes(b"\xff" * 40)
    said = {path.name: glance(path) for path in tmp_path.iterdir()}
    assert said == {
        "net.safetensors": "model", "rows.safetensors": "vectors", "deep.safetensors": "model", "net.npz": "model",
        "rows.npz": "vectors", "rows.npy": "vectors", "odd.npz": "model", "odd.safetensors": "model",
    }  # fmt: skip


def test_by_the_first_bytes(tmp_path: Path) -> None:
    for name, data, kind in (
        ("checkpoint.pth.tar", b"\x80\x02}q\x00.", "model"),
        ("pytorch_model.dat", b"PK\x03\x04" + b"\0" * 26 + b"archive/data.pkl", "model"),
        ("letter.docx", b"PK\x03\x04" + b"\0" * 26 + b"word/document.xml", ""),
        ("notes.txt", b"hello", ""),
        ("vectors.tsv", b"0.1\t0.2\n0.3\t0.4\n", "vectors"),
    ):
        (tmp_path / name).write_bytes(data)
        assert glance(tmp_path / name) == kind, name
    assert glance(tmp_path / "nothing.here") == "" and glance(tmp_path) == "gallery"
