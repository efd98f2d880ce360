"""What a file is at first sight, by its ending and its first bytes, without opening it; the real reader decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from facelens.images import readers

Kind = Literal["gallery", "model", "detector", "vectors", "recipe", "table", "workspace", ""]

MODELS = (".pth", ".pt", ".ckpt", ".safetensors", ".onnx", ".pkl")
VECTORS = (".npy", ".npz", ".parquet", ".tsv", ".safetensors")
_WORDS = frozenset(("vectors", "vector", "embeddings", "embedding", "features", "feature", "feats", "feat", "emb", "x"))
_HEAD = 4096
_DETECTOR = 2 << 20  # bytes; YuNet has a quarter of a megabyte


def glance(path: Path) -> Kind:
    """A gallery, model, detector, vectors, recipe, workspace, a table of pictures or vectors, or "" for none."""
    suffix = path.suffix.lower()
    if path.is_dir():
        return "gallery"
    if suffix == ".onnx":
        return "detector" if _finds_faces(path) else "model"
    if suffix in (".pth", ".pt", ".ckpt", ".pkl"):
        return "model"
    if suffix == ".toml":
        return "recipe"
    if suffix == ".facelens":
        return "workspace"
    if suffix == ".npy":
        return "vectors"
    if suffix == ".safetensors":
        return "vectors" if _few_vectors(_head(path)) else "model"
    if suffix == ".npz":
        return "vectors" if b"." not in _first_member(_head(path)) else "model"  # parameters have dots in their names
    if readers.recognise(path) is not None:
        return "table" if suffix in (".parquet", ".pq", ".tsv") else "gallery"
    if suffix in (".parquet", ".pq", ".tsv"):
        return "vectors"
    head = _head(path)
    saved_by_torch = head.startswith(b"PK\x03\x04") and b"data.pkl" in head[:200]
    return "model" if saved_by_torch or (head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05") else ""


def _head(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""


def _finds_faces(path: Path) -> bool:
    """Whether a small ONNX file has the outputs of YuNet."""
    try:
        if path.stat().st_size > _DETECTOR:
            return False
        data = path.read_bytes()
    except OSError:
        return False
    return all(f"{part}_{stride}".encode() in data for part in ("cls", "obj", "bbox", "kps") for stride in (8, 16, 32))


def _few_vectors(head: bytes) -> bool:
    """Whether a safetensors header lists rows of vectors; one too long for a glance is that of a network."""
    length = int.from_bytes(head[:8], "little")
    if not 2 <= length <= len(head) - 8:
        return False
    try:
        listed = json.loads(head[8 : 8 + length])
        shapes = {name.lower(): entry["shape"] for name, entry in listed.items() if name != "__metadata__"}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False
    return any(name in _WORDS and len(shape) == 2 for name, shape in shapes.items())


def _first_member(head: bytes) -> bytes:
    """The name of the first array in an npz, without its ending."""
    if len(head) < 30 or not head.startswith(b"PK\x03\x04"):
        return b"."
    length = int.from_bytes(head[26:28], "little")
    return head[30 : 30 + length].removesuffix(b".npy")
