"""Open a model file that came from anywhere: say what it is by its content, take its weights, run nothing.

    weights        .pth .pt .ckpt .pkl .safetensors .npz, through the inert reader in a sealed process
    onnx           looked into the same way; run by onnxruntime (see `onnx`)
    torchscript    a program: opened only after consent to this very file, which is No until the user says otherwise

A file that cannot be opened says why: a web page, a pointer, a part of a download. There is no second, laxer way in.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from facelens.errors import FaceLensError, InputError, NeedsChoice
from facelens.features import sealed
from facelens.features.graph import Graph
from facelens.features.inert import Limits
from facelens.features.weights import Contents
from facelens.files import atomic_write
from facelens.limits import MODEL_GB
from facelens.progress import Tick, silent
from facelens.words import escaped, tr

WEIGHTS, ONNX, TORCHSCRIPT = "weights", "onnx", "torchscript"
_PIECE = 1 << 22


def nobody(sha256: str) -> bool:
    """Consent to nothing."""
    return False


@dataclass(frozen=True, eq=False)
class ModelFile:
    """An opened model file. `contents` for weights, `graph` for ONNX; a TorchScript program has neither."""

    path: Path
    kind: str
    sha256: str
    size: int
    contents: Contents | None = None
    graph: Graph | None = None
    notes: tuple[str, ...] = ()


def open_model(
    path: Path,
    *,
    consents: Callable[[str], bool] = nobody,
    limits: Limits | None = None,
    take: str | None = None,
    tick: Tick = silent,
) -> ModelFile:
    """Open `path`, whatever its name ends in.

    consents    whether the user trusts the program with this SHA-256; a TorchScript file without is a NeedsChoice
                whose options are {"consent": sha256}
    take        which of several state dicts (`contents.others`), None for the usual choice
    """
    path = Path(path)
    shown = escaped(path.name)
    try:
        about = os.stat(path)
        if stat.S_ISDIR(about.st_mode):
            raise InputError(tr("{name} is a folder, not a model file.", name=shown))
        if not stat.S_ISREG(about.st_mode):
            raise InputError(tr("{name} is no plain file.", name=shown))
        with open(path, "rb") as stream:
            return _opened(path, stream, shown, consents=consents, limits=limits, take=take, tick=tick)
    except OSError as error:
        raise InputError(
            tr("{name} cannot be read: {reason}.", name=shown, reason=error.strerror or type(error).__name__),
            details=str(error),
        ) from None


def _opened(
    path: Path,
    stream: BinaryIO,
    shown: str,
    *,
    consents: Callable[[str], bool],
    limits: Limits | None,
    take: str | None,
    tick: Tick,
) -> ModelFile:
    before = os.fstat(stream.fileno())
    size = before.st_size
    if size > 4 * (limits or Limits()).ceiling:  # before reading all of it for the hash
        raise InputError(
            tr("{name} is larger than a model may be ({size} GB).", name=shown, size=f"{size / 1e9:,.0f}"),
            hint=tr(
                "Take the weights out and save them alone, or raise the limit: Help, Limits in the window, {name}.",
                name=MODEL_GB,
            ),
        )
    head = stream.read(4096)
    if (known := _other(head, size, shown)) is not None:
        raise known
    digest = _digest(stream, size, shown, tick)
    try:
        found = sealed.read(stream, size, shown=shown, limits=limits, take=take, tick=tick)
    except InputError as error:
        raise _text(head, shown) or error from None
    after = os.fstat(stream.fileno())
    if (after.st_size, after.st_mtime_ns) != (size, before.st_mtime_ns):
        raise InputError(
            tr("{name} changed while it was read.", name=shown), hint=tr("Wait until it is complete and open it again.")
        )
    if isinstance(found, Contents):
        return ModelFile(path, WEIGHTS, digest, size, contents=found, notes=found.notes)
    if isinstance(found, Graph):
        from facelens.features import onnx

        onnx.check(path, found)
        notes = () if onnx.installed() else (tr("To use {name}, install onnxruntime.", name=shown),)
        return ModelFile(path, ONNX, digest, size, graph=found, notes=notes)
    if not consents(digest):
        raise NeedsChoice(
            tr("{name} is a TorchScript program. It was not run.", name=shown),
            hint=tr("Allow it only if you trust where it comes from; or open its state dict instead."),
            options={"consent": digest},
        )
    return ModelFile(path, TORCHSCRIPT, digest, size, notes=(tr("You allowed {name} to run.", name=shown),))


def sha256(path: Path, *, tick: Tick = silent) -> str:
    """The SHA-256 of a file, read in pieces."""
    with open(path, "rb") as stream:
        return _digest(stream, os.fstat(stream.fileno()).st_size, escaped(Path(path).name), tick)


def _digest(stream: BinaryIO, size: int, shown: str, tick: Tick) -> str:
    found = hashlib.sha256()
    stream.seek(0)
    done = 0
    while piece := stream.read(_PIECE):
        found.update(piece)
        done += len(piece)
        tick(min(done, size), size, tr("Reading {name}", name=shown))
    return found.hexdigest()


def load_program(model: ModelFile, *, consents: Callable[[str], bool]) -> Any:
    """The torch.jit module of a TorchScript file the user trusts. Asked again, of the bytes that are run."""
    import io

    shown = escaped(model.path.name)
    if model.kind != TORCHSCRIPT:
        raise InputError(tr("{name} is no TorchScript program.", name=shown))
    try:
        data = model.path.read_bytes()
    except OSError as error:
        raise InputError(tr("{name} cannot be read: {reason}.", name=shown, reason=error.strerror or "")) from None
    digest = hashlib.sha256(data).hexdigest()
    if not consents(digest):
        raise NeedsChoice(
            tr("{name} is a TorchScript program. It was not run.", name=shown),
            hint=tr("It has changed, or you have not allowed it."),
            options={"consent": digest},
        )
    import torch

    try:
        return torch.jit.load(io.BytesIO(data), map_location="cpu").eval()  # type: ignore[no-untyped-call]
    except Exception as error:
        raise InputError(tr("{name} cannot be run: torch refuses it.", name=shown), details=str(error)[:2000]) from None


class ConsentBook:
    """Which programs the user trusts, by SHA-256, in a JSON file. A book that cannot be read trusts nothing."""

    def __init__(self, path: Path) -> None:
        self._path = Path(path)

    def __call__(self, sha256: str) -> bool:
        return sha256 in self.entries()

    def entries(self) -> dict[str, dict[str, str]]:
        """SHA-256 -> name and day of the consent."""
        try:
            found = json.loads(self._path.read_bytes())["trusted"]
            return {
                key: {k: str(v) for k, v in value.items()}
                for key, value in found.items()
                if isinstance(value, dict) and len(key) == 64
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}

    def allow(self, sha256: str, name: str) -> None:
        """Remember a Yes."""
        if len(sha256) != 64:
            raise FaceLensError(tr("This is no SHA-256."))
        self._save({**self.entries(), sha256: {"name": escaped(name), "when": datetime.now(UTC).date().isoformat()}})

    def withdraw(self, sha256: str) -> None:
        """Forget it."""
        self._save({key: value for key, value in self.entries().items() if key != sha256})

    def _save(self, entries: dict[str, dict[str, str]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(self._path) as file:
            file.write(json.dumps({"trusted": entries}, indent=2).encode())


# What a file is when it is no model. The words are the cause, then what to do.

_STARTS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89PNG", "a picture", ""),
    (b"\xff\xd8\xff", "a picture", ""),
    (b"GIF8", "a picture", ""),
    (b"%PDF", "a PDF document", ""),
    (b"\x1f\x8b", "packed with gzip", "Unpack it first."),
    (b"BZh", "packed with bzip2", "Unpack it first."),
    (b"\xfd7zXZ", "packed with xz", "Unpack it first."),
    (b"7z\xbc\xaf\x27\x1c", "packed with 7-Zip", "Unpack it first."),
    (b"Rar!", "packed with RAR", "Unpack it first."),
    (b"\x89HDF", "a Keras or HDF5 file", "Export the model as ONNX."),
    (b"GGUF", "a language model (GGUF)", ""),
    (b"PAR1", "a table (Parquet)", "Open it as features or as a gallery."),
    (b"ARROW1", "a table (Arrow)", "Open it as features."),
    (b"\x7fELF", "a program", ""),
    (b"MZ", "a program", ""),
    (b"SQLite format 3", "a database", ""),
)


def _other(head: bytes, size: int, shown: str) -> InputError | None:
    """What the file is, when its first bytes tell that it is no model."""
    if not size:
        return InputError(tr("{name} is empty.", name=shown), hint=tr("The download or the copy failed. Get it again."))
    if head.startswith(b"version https://git-lfs.github.com/spec/"):
        return InputError(
            tr("{name} is a Git-LFS pointer, not the file itself.", name=shown),
            hint=tr("Run git lfs pull in its folder."),
        )
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:2048].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")) or (start[:1] == b"<" and b"<html" in start):
        return InputError(
            tr("{name} is a web page (download failed?).", name=shown),
            hint=tr("Download the file itself, not the page about it."),
        )
    if start.startswith(b"<?xml"):
        return InputError(
            tr("{name} is an XML text (download failed?).", name=shown), hint=tr("Download the file again.")
        )
    for signature, what, hint in _STARTS:
        if head.startswith(signature):
            return InputError(
                tr("{name} is {what}, not a model.", name=shown, what=tr(what)), hint=tr(hint) if hint else ""
            )
    if head[4:8] == b"TFL3":
        return InputError(tr("{name} is a TensorFlow Lite model.", name=shown), hint=tr("Export the model as ONNX."))
    if len(head) > 64 and not head.strip(b"\0"):
        return InputError(
            tr("{name} is filled with zeros.", name=shown), hint=tr("The download or the disk failed. Get it again.")
        )
    return None


def _text(head: bytes, shown: str) -> InputError | None:
    """A file of plain text that turned out to be no model."""
    if head[:1] in b"(]}c\x80" or any(c < 9 or 13 < c < 32 or c == 127 for c in head[:1024]):
        return None
    return InputError(
        tr("{name} is a text file, not a model.", name=shown), hint=tr("Open the checkpoint that belongs to it.")
    )
