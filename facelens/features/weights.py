"""Find the weights in a model file: which container it is, where the state dict lies in it, what else is there.

Understood    torch archives (zip, since 1.6), torch streams (0.2 to 1.5), torch tars (before 0.2), plain pickles of
              tensors or arrays (protocols 0 to 5), npz, npy, safetensors
Not run       anything; see `inert`
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.features.inert import (
    CODE,
    STORAGES,
    WIDTH,
    Array,
    Cut,
    Foreign,
    Kind,
    Limits,
    Machine,
    Source,
    Spoilt,
    Storage,
    Tensor,
    array_of,
    dense,
    number_kind,
    storage_of,
    whole,
)
from facelens.limits import MODEL_GB
from facelens.words import escaped, plural, tr

MB = 1_000_000

SAFE_KINDS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "BOOL": "bool",
    "C64": "complex64",
}


@dataclass(frozen=True, eq=False)
class Contents:
    """What was found. `tensors` is the flat state dict; `container` the key it lay under, "" for the file itself.

    `ignored` names what was not taken, `code` what the file wanted to be called and FaceLens does not know (nothing
    was), `others` the further state dicts one could have taken, `said` the plain values beside the weights (epoch,
    args), `notes` sentences for the user.
    """

    tensors: dict[str, NDArray[Any]]
    form: str
    container: str = ""
    ignored: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    said: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class _ZipPile:
    """Storages of a torch archive: entries `PREFIX/data/KEY`."""

    def __init__(self, archive: Archive, prefix: str, *, swapped: bool) -> None:
        self._archive, self._prefix, self.swapped = archive, prefix, swapped
        self.unsound: set[str] = set()
        self._last: tuple[str, bytes] = ("", b"")
        self._budget = 4 * archive.most

    def _entry(self, key: str) -> str:
        for place in (f"{self._prefix}data/{key}", f"{self._prefix}tensors/{key}"):
            if place in self._archive.entries:
                return place
        raise Cut(f"storage {key} is not in the archive")

    def length(self, key: str) -> int:
        return self._archive.entries[self._entry(key)].file_size

    def read(self, key: str, start: int, length: int) -> memoryview:
        if self._last[0] != key:
            data, sound = self._archive.read(self._entry(key))
            if not sound:
                self.unsound.add(key)
            self._last = (key, data)  # tensors that share a storage follow each other
            self._budget -= len(data)
            if self._budget < 0:
                raise Spoilt("its tensors lie across each other")
        return memoryview(self._last[1])[start : start + length]


class _StreamPile:
    """Storages that lie one after the other in the file."""

    swapped = False

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.places: dict[str, tuple[int, int]] = {}

    def length(self, key: str) -> int:
        if key not in self.places:
            raise Cut(f"storage {key} is not in the file")
        return self.places[key][1]

    def read(self, key: str, start: int, length: int) -> bytes:
        self._stream.seek(self.places[key][0] + start)
        data = self._stream.read(length)
        if len(data) < length:
            raise Cut("the file has become shorter")
        return data


class _NoDirectory(Spoilt):
    """A zip without its end."""


class Archive:
    """A zip, its directory checked before anything is read."""

    def __init__(self, stream: BinaryIO, size: int, limits: Limits) -> None:
        self._stream, self._size = stream, size
        self.most = limits.bytes_for(size)
        try:
            stream.seek(0)
            self._zip = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error, IndexError) as error:
            raise _NoDirectory(f"the archive is damaged ({error})") from None
        entries = self._zip.infolist()
        if len(entries) > limits.entries:
            raise Spoilt("the archive has too many entries")
        self.entries = {entry.filename: entry for entry in entries}
        if len(self.entries) < len(entries):
            raise Spoilt("two entries of the archive have the same name")
        declared = sum(entry.file_size for entry in entries)
        if declared > self.most:
            raise Spoilt(f"it would unpack to {declared:,} bytes")

    def read(self, name: str) -> tuple[bytes, bool]:
        """The bytes of an entry, and whether its checksum agrees (torch can write without)."""
        entry = self.entries[name]
        if entry.flag_bits & 1:
            raise Spoilt("the archive is encrypted")
        if not 0 <= entry.header_offset < self._size:
            raise Cut("an entry of the archive is not where its directory says")
        self._stream.seek(entry.header_offset)
        head = self._stream.read(30)
        if len(head) < 30 or head[:4] != b"PK\x03\x04":
            raise Cut("an entry of the archive is not where its directory says")
        n, m = struct.unpack("<HH", head[26:30])
        start = entry.header_offset + 30 + n + m
        if start + entry.compress_size > self._size:
            raise Cut("an entry of the archive reaches past its end", want=start + entry.compress_size)
        self._stream.seek(start)
        data = self._stream.read(entry.compress_size)
        if entry.compress_type == zipfile.ZIP_DEFLATED:
            try:
                data = zlib.decompressobj(-15).decompress(data, entry.file_size + 1)
            except zlib.error:
                raise Spoilt(f"entry {escaped(name)} of the archive is damaged") from None
        elif entry.compress_type != zipfile.ZIP_STORED:
            raise Spoilt("the archive is packed in an unusual way")
        if len(data) != entry.file_size:
            raise Spoilt(f"entry {escaped(name)} of the archive has the wrong length")
        return data, zlib.crc32(data) == entry.CRC


@dataclass(eq=False)
class _Found:
    """What a container held, before anything is chosen."""

    root: Any
    form: str
    foreign: Counter[str] = field(default_factory=Counter)
    code: dict[str, None] = field(default_factory=dict)
    pile: Any = None
    torchscript: bool = False


_MAGIC = 0x1950A86A20F9469CFC6C


def _joined(form: str, root: Any, *machines: Machine, pile: Any = None) -> _Found:
    found = _Found(root, form, pile=pile)
    for machine in machines:
        found.foreign.update(machine.foreign)
        found.code.update(machine.code)
    return found


def _read_zip(stream: BinaryIO, size: int, limits: Limits) -> _Found:
    try:
        archive = Archive(stream, size, limits)
    except _NoDirectory:
        raise _cut_archive(stream, size, limits) from None
    names = archive.entries
    pickles = [name for name in names if name == "data.pkl" or (name.endswith("/data.pkl") and name.count("/") == 1)]
    if not pickles:
        if names and all(name.endswith(".npy") for name in names):
            return _read_npz(archive)
        raise Spoilt(_other_zip(list(names)))
    if len(pickles) > 1:
        raise Spoilt("the archive holds several models")
    prefix = pickles[0].removesuffix("data.pkl")
    if f"{prefix}constants.pkl" in names or any(name.startswith(f"{prefix}code/") for name in names):
        return _Found(None, "torchscript", torchscript=True)
    order = f"{prefix}byteorder"
    swapped = order in names and archive.read(order)[0].strip() == (b"big" if sys.byteorder == "little" else b"little")
    pile = _ZipPile(archive, prefix, swapped=swapped)
    data, _ = archive.read(pickles[0])
    seen: dict[str, Storage] = {}
    machine = _machine_over(data, limits, lambda wanted: storage_of(wanted, seen, pile))
    root = machine.load()
    for storage in seen.values():
        if storage.kind in WIDTH and storage.count * storage.width > pile.length(storage.key):
            raise Spoilt(
                f"storage {storage.key} should have {storage.count * storage.width:,} bytes"
                f" and has {pile.length(storage.key):,}"
            )
    return _joined("torch archive", root, machine, pile=pile)


def _machine_over(
    data: bytes,
    limits: Limits,
    persistent: Callable[[Any], Any] | None,
    inner: Callable[[bytes], Any] | None = None,
) -> Machine:
    return Machine(Source(io.BytesIO(data), 0, len(data)), limits, persistent=persistent, inner=inner)


def _cut_archive(stream: BinaryIO, size: int, limits: Limits) -> Spoilt:
    """Why an archive without a directory has none: its first entry tells how long the whole should be."""
    try:
        stream.seek(0)
        head = stream.read(30)
        n, m = struct.unpack("<HH", head[26:30])
        if not stream.read(n).endswith(b"data.pkl"):
            return Cut("the archive has no directory at its end")
        seen: dict[str, Storage] = {}
        source = Source(stream, 30 + n + m, size)
        machine = Machine(source, limits, persistent=lambda wanted: storage_of(wanted, seen, None))
        machine.load()
    except (Spoilt, struct.error):
        return Cut("the archive has no directory at its end")
    want = source.position + sum(64 * -(-s.count * WIDTH.get(s.kind, 0) // 64) + 128 for s in seen.values())
    if want <= size:
        return Spoilt("the directory of the archive is damaged")
    return Cut("the archive has no directory at its end", want=want)


def _other_zip(names: list[str]) -> str:
    for name in names:
        if name.lower().endswith((".pth", ".pt", ".ckpt", ".pkl", ".onnx", ".safetensors", ".bin", ".pth.tar")):
            return f"it is a zip that holds {escaped(name)}; unpack it first"
    if any(name.startswith("word/") or name.startswith("xl/") for name in names):
        return "it is an office document"
    return "it is a zip of something else"


def _read_stream(stream: BinaryIO, size: int, limits: Limits, start: int = 0) -> _Found:
    """torch 0.2 to 1.5: pickles of magic, version, sizes, object and keys; then the storages."""
    pile = _StreamPile(stream)
    seen: dict[str, Storage] = {}
    source = Source(stream, start, size)
    machine = Machine(source, limits, persistent=lambda wanted: storage_of(wanted, seen, pile))
    machine.load()  # magic, known already
    if machine.load() != 1001:
        raise Spoilt("its version is unknown")
    about = machine.load()
    if isinstance(about, dict) and about.get("little_endian") is False:
        raise Spoilt("it was written by a big-endian machine")
    root = machine.load()
    try:
        keys = machine.load()
    except Cut as error:
        raise Cut(str(error), want=max(error.want, source.position + _length(seen))) from None
    if not isinstance(keys, list) or not all(isinstance(key, (str, int)) for key in keys):
        raise Spoilt("the list of storages is damaged")
    at = source.position
    whole = at + _length(seen)
    for key in map(str, keys):
        if key not in seen or key in pile.places:
            raise Spoilt("a storage belongs to no tensor")
        storage = seen[key]
        if storage.kind not in WIDTH:
            raise Spoilt(f"it holds {storage.kind} tensors")
        stream.seek(at)
        head = stream.read(8)
        if len(head) < 8:
            raise Cut("the file ends before its storages", want=whole)
        (count,) = struct.unpack("<q", head)
        if count != storage.count:
            raise Spoilt(f"storage {key} should have {storage.count:,} numbers and has {count:,}")
        length = count * storage.width
        if at + 8 + length > size:
            raise Cut("the file ends inside its storages", want=whole)
        pile.places[key] = (at + 8, length)
        at += 8 + length
    return _joined("torch stream", root, machine, pile=pile)


def _length(seen: Mapping[str, Storage]) -> int:
    return sum(8 + s.count * WIDTH.get(s.kind, 0) for s in seen.values())


def _read_tar(stream: BinaryIO, size: int, limits: Limits) -> _Found:
    """torch before 0.2: a tar of storages, tensors and a pickle."""
    entries = dict(_tar_entries(stream, size))
    if not {"storages", "tensors", "pickle"} <= entries.keys():
        shown = ", ".join(escaped(name) for name in list(entries)[:3])
        raise Spoilt(f"it is a tar that holds {shown}; unpack it first" if shown else "it is an empty tar")
    pile = _StreamPile(stream)
    parts: dict[int, Storage | Tensor] = {}
    start, end = entries["storages"]
    machine = Machine(Source(stream, start, end), limits)
    for _ in range(_count(machine.load())):
        key, _, kind = machine.load()
        at = machine.source.position
        (count,) = struct.unpack("<q", machine.source.take(8))
        made = Storage(STORAGES.get(getattr(kind, "name", ""), ""), str(key), count, bytes=pile)
        if made.kind not in WIDTH or count < 0 or at + 8 + count * made.width > end:
            raise Cut("the file ends inside its storages", want=at + 8 + max(count, 0) * WIDTH.get(made.kind, 0))
        pile.places[made.key] = (at + 8, count * made.width)
        parts[key] = made
        machine.source = Source(stream, at + 8 + count * made.width, end)
    for target, root, offset, count in machine.load():
        base = parts[root]
        offset, count = whole((offset, count))
        if not isinstance(base, Storage) or offset + count > base.count:
            raise Spoilt("a view reaches past its storage")
        parts[target] = Storage(base.kind, base.key, count, offset, bytes=pile)
    start, end = entries["tensors"]
    second = Machine(Source(stream, start, end), limits)
    for _ in range(_count(second.load())):
        key, storage, _ = second.load()
        (ndim, _) = struct.unpack("<ii", second.source.take(8))
        if not 0 <= ndim <= 32:
            raise Spoilt("the shape of a tensor is not possible")
        numbers = struct.unpack(f"<{2 * ndim + 1}q", second.source.take(16 * ndim + 8))
        parts[key] = dense(parts[storage], numbers[-1], numbers[:ndim], numbers[ndim:-1])

    def part(wanted: Any) -> Any:
        return wanted[0] if isinstance(wanted, tuple) and wanted else parts[int(wanted)]

    third = Machine(Source(stream, *entries["pickle"]), limits, persistent=part)
    return _joined("torch tar", third.load(), machine, second, third, pile=pile)


def _count(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value <= 1_000_000:
        raise Spoilt("a count is not possible")
    return value


def _tar_entries(stream: BinaryIO, size: int) -> Iterator[tuple[str, tuple[int, int]]]:
    at = 0
    while at + 512 <= size:
        stream.seek(at)
        head = stream.read(512)
        if not head.strip(b"\0"):
            return
        try:
            length = int(head[124:136].strip(b"\0 ") or b"0", 8)
        except ValueError:
            raise Spoilt("the tar is damaged") from None
        if length < 0 or at + 512 + length > size:
            raise Cut("the tar ends inside an entry", want=at + 512 + max(length, 0))
        if head[156:157] in (b"0", b"\0"):
            yield (
                head[:100].split(b"\0")[0].decode("utf-8", "replace").removeprefix("./"),
                (at + 512, at + 512 + length),
            )
        at += 512 + -(-length // 512) * 512


def _read_pickle(stream: BinaryIO, size: int, limits: Limits) -> _Found:
    """A pickle of its own, of arrays or of tensors that carry small torch files inside."""
    left = 2 * size

    def within(data: bytes) -> Any:
        nonlocal left
        left -= len(data)
        if left < 0:  # the same bytes again and again
            raise Spoilt("it holds too many torch files")
        found = _read_stream(io.BytesIO(data), len(data), limits)
        machine.code.update(found.code)
        return found.root

    machine = Machine(Source(stream, 0, size), limits, inner=within)
    return _joined("pickle", machine.load(), machine)


_HEADER = re.compile(
    r"\{'descr': '([<>|=]?)([^']{1,20})', 'fortran_order': (True|False), 'shape': \(([\d, ]*)\), \} *\n\Z"
)


def npy(data: bytes | memoryview) -> Array:
    """An array as np.save writes it; nothing is unpickled."""
    if bytes(data[:6]) != b"\x93NUMPY":
        raise Spoilt("it is no npy array")
    wide = data[6:7] != b"\x01"
    try:
        (n,) = struct.unpack("<I" if wide else "<H", data[8 : 12 if wide else 10])
    except struct.error:
        raise Cut("the array ends in its header") from None
    start = (12 if wide else 10) + n
    if n > 65536 or start > len(data):
        raise Cut("the array ends in its header")
    found = _HEADER.match(bytes(data[(12 if wide else 10) : start]).decode("latin-1"))
    if not found:
        raise Spoilt("its array is of a structured type")
    order, code, fortran, shape = found.groups()
    made = Array(Kind(code, order or "<"), whole(int(n) for n in shape.replace(" ", "").split(",") if n))
    made.fortran = fortran == "True"
    if code.startswith("O"):
        made.refusal = "object array"
    elif not CODE.match(code) or not number_kind(code):
        made.refusal = f"array of {code}"
    elif start + made.size != len(data):
        raise Cut("the array is shorter than it says", want=start + made.size)
    else:
        made.data = data[start:]
    return made


def _read_npz(archive: Archive) -> _Found:
    root = {}
    for name in archive.entries:
        data, sound = archive.read(name)
        if not sound:
            raise Spoilt(f"entry {escaped(name)} of the archive is damaged")
        root[name.removesuffix(".npy")] = npy(data)
    return _Found(root, "npz")


def _read_npy(stream: BinaryIO, size: int, limits: Limits) -> _Found:
    stream.seek(0)
    if size > limits.ceiling:
        raise Spoilt(f"it is larger than a model file may be; the limit is in Help, Limits ({MODEL_GB})")
    return _Found(npy(stream.read(size)), "npy")


def _read_safetensors(stream: BinaryIO, size: int, limits: Limits) -> _Found:
    stream.seek(0)
    (n,) = struct.unpack("<Q", stream.read(8))
    if n > min(size - 8, 100 << 20):
        raise Cut("the header is longer than the file", want=8 + n)
    try:
        header = json.loads(stream.read(n))
    except (ValueError, RecursionError):
        raise Spoilt("the header is damaged") from None
    if not isinstance(header, dict) or len(header) > limits.entries:
        raise Spoilt("the header is damaged")
    pile = _StreamPile(stream)
    root: dict[str, Any] = {}
    ends = 0
    for name, about in header.items():
        if name == "__metadata__":
            continue
        try:
            kind, shape = SAFE_KINDS.get(about["dtype"], str(about["dtype"])[:20]), whole(about["shape"])
            start, end = whole(about["data_offsets"])
        except (TypeError, KeyError, ValueError):
            raise Spoilt(f"the header is damaged at {escaped(str(name)[:80])}") from None
        ends = max(ends, end)
        if kind not in WIDTH:
            root[name] = Tensor(None, kind, shape, refusal=kind)
            continue
        if end < start or math.prod(shape) * WIDTH[kind] != end - start:
            raise Spoilt(f"the size of {escaped(name[:80])} does not agree with its shape")
        pile.places[name] = (8 + n + start, end - start)
        storage = Storage(kind, name, math.prod(shape), bytes=pile)
        root[name] = dense(storage, 0, shape, _strides(shape))
    if 8 + n + ends > size:
        raise Cut("the file ends inside its tensors", want=8 + n + ends)
    if 8 + n + ends < size:
        raise Spoilt("bytes follow the last tensor")
    told = header.get("__metadata__")
    if isinstance(told, dict):
        root["__metadata__"] = {str(k)[:200]: v for k, v in told.items() if isinstance(v, str)}
    return _Found(root, "safetensors", pile=pile)


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps, step = [], 1
    for n in reversed(shape):
        steps.append(step)
        step *= max(n, 1)
    return tuple(reversed(steps))


# Choosing the state dict

# In this order; the first that holds tensors is taken. All seen in public code.
CONTAINERS = (
    "state_dict",
    "model_state_dict",
    "net_state_dict",
    "backbone_state_dict",
    "state_dict_backbone",
    "model_state",
    "model",
    "net",
    "network",
    "backbone",
    "params_ema",
    "params",
    "weights",
    "encoder",
    "module",
    "ema",
    "model_ema",
    "student",
    "teacher",
    "generator",
)
_OPTIMIZERS = re.compile(r"optim|scheduler|scaler|momentum|rng|amp", re.IGNORECASE)
_EMBEDDINGS = re.compile(r"(?:embed|feat|vector|emb|descriptor|template|gallery|query|probe)", re.IGNORECASE)


@dataclass(eq=False)
class _Candidate:
    path: str
    tensors: dict[str, Tensor | Array]

    @property
    def rank(self) -> tuple[int, int, int]:
        last = self.path.rpartition(".")[2]
        known = CONTAINERS.index(last) if last in CONTAINERS else len(CONTAINERS)
        return known, -len(self.tensors), self.path.count(".")


def _is_tensor(value: Any) -> bool:
    return isinstance(value, (Tensor, Array))


def _is_module(value: Any) -> bool:
    return isinstance(value, Foreign) and isinstance(value.state, dict) and isinstance(_get(value, "_modules"), dict)


def _get(module: Foreign, name: str) -> Any:
    return module.state.get(name) if isinstance(module.state, dict) else None


def state_of(module: Foreign, limits: Limits) -> dict[str, Tensor | Array]:
    """The state dict of a whole pickled network, from what its parts hold."""
    found: dict[str, Tensor | Array] = {}
    waiting: list[tuple[str, Any, int]] = [("", module, 0)]
    visits = 0
    while waiting:
        prefix, part, depth = waiting.pop()
        visits += 1
        if depth > limits.depth or visits > limits.entries:
            raise Spoilt("the network is nested too deeply")
        if not isinstance(part, Foreign):
            continue
        passing = _get(part, "_non_persistent_buffers_set")
        passing = {v for v in passing if isinstance(v, str)} if isinstance(passing, list) else set()
        for kind in ("_parameters", "_buffers"):
            values = _get(part, kind)
            for name, value in values.items() if isinstance(values, dict) else ():
                if _is_tensor(value) and not (kind == "_buffers" and name in passing):
                    found[f"{prefix}{name}"] = value
        children = _get(part, "_modules")
        if isinstance(children, dict):
            # Last in, first out: in reverse, so that the names come in the order of the network.
            waiting.extend((f"{prefix}{name}.", child, depth + 1) for name, child in reversed(children.items()))
    return found


def _inside(value: Any) -> list[tuple[str, Any]]:
    """The named parts of a value."""
    if isinstance(value, dict):
        return [(str(k)[:300], v) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return [(str(i), v) for i, v in enumerate(value)]
    if isinstance(value, Foreign):
        parts: dict[str, Any] = {}
        if value.name.startswith("omegaconf.") and isinstance(value.state, dict):
            content = value.state.get("_content", value.state.get("_val"))
            return [("", content)] if not isinstance(content, (dict, list)) else _inside(content)
        for source in (value.items, value.state):
            if isinstance(source, dict):
                parts.update({str(k)[:300]: v for k, v in source.items()})
        if value.elements:
            parts.update({str(i): v for i, v in enumerate(value.elements)})
        return list(parts.items())
    return []


def _survey(root: Any, limits: Limits) -> tuple[list[_Candidate], Counter[str], dict[str, Any]]:
    """State dicts in the value, tensors left aside by the name they lie under, plain values."""
    candidates: list[_Candidate] = []
    aside: Counter[str] = Counter()
    said: dict[str, Any] = {}
    seen: set[int] = set()
    waiting: list[tuple[str, Any, int, str]] = [("", root, 0, "")]
    while waiting:
        path, value, depth, apart = waiting.pop(0) if len(waiting) < 1000 else waiting.pop()
        if _is_tensor(value):
            aside[apart or path] += 1
            continue
        if isinstance(value, (str, int, float)) or value is None:
            if not apart and len(said) < 200 and len(path) < 200 and path and value is not None:
                said[path] = value[:500] if isinstance(value, str) else value
            continue
        if id(value) in seen or depth > limits.depth:
            continue
        seen.add(id(value))
        if not apart and _is_module(value) and (tensors := state_of(value, limits)):
            candidates.append(_Candidate(path, tensors))
            continue
        parts = _inside(value)
        here = not apart and not _looks_like_optimizer(value)
        if not here and not apart:
            apart = path or "optimizer"
        tensors = {name: part for name, part in parts if _is_tensor(part)} if here else {}
        if tensors:
            if len(tensors) != sum(_is_tensor(part) for _, part in parts):
                raise Spoilt("two tensors have the same name")
            candidates.append(_Candidate(path, tensors))
        for name, part in parts:
            if name in tensors and _is_tensor(part):
                continue
            inner = f"{path}.{name}".strip(".") if path or name else ""
            label = apart or (inner if _OPTIMIZERS.search(name) and not _is_tensor(part) else "")
            if not (isinstance(part, (str, int, float)) and apart):
                waiting.append((inner, part, depth + 1, label))
    return candidates, aside, said


def _looks_like_optimizer(value: Any) -> bool:
    return isinstance(value, dict) and "param_groups" in value and "state" in value


def _chosen(candidates: list[_Candidate], take: str | None) -> _Candidate | None:
    if take is not None and (named := next((c for c in candidates if c.path == take), None)) is not None:
        return named
    if not candidates:
        return None
    best = min(candidates, key=lambda c: c.rank)
    parent = best.path.rpartition(".")[0]
    siblings = [c for c in candidates if c.path and c.path.rpartition(".")[0] == parent]
    if best.rank[0] == len(CONTAINERS) and len(siblings) > 2 and all(len(c.tensors) <= 8 for c in siblings):
        # One dict for each layer: {"conv1": {"weight": ..., "bias": ...}, ...}
        cut = len(parent) + 1 if parent else 0
        flat = {f"{c.path[cut:]}.{name}": value for c in siblings for name, value in c.tensors.items()}
        candidates[:] = [c for c in candidates if c not in siblings]
        best = _Candidate(parent, flat)
    return best if take is None or best.path == take else None


def _holds_embeddings(candidates: list[_Candidate], root: Any) -> bool:
    if isinstance(root, (Tensor, Array)):
        return len(root.shape) == 2
    if len(candidates) != 1 or len(candidates[0].tensors) > 8:
        return False
    tensors = candidates[0].tensors
    named = [value for name, value in tensors.items() if _EMBEDDINGS.match(name) and "." not in name]
    return any(len(value.shape) == 2 and value.shape[0] > 1 for value in named)


# The door


@dataclass(eq=False)
class Reading:
    """A file whose pickles have been followed; `arrays` reads the chosen tensors one after the other."""

    form: str
    container: str
    chosen: dict[str, Tensor | Array]
    ignored: tuple[str, ...]
    code: tuple[str, ...]
    others: tuple[str, ...]
    said: dict[str, Any]
    notes: list[str]
    torchscript: bool
    limits: Limits
    pile: Any = None

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Name and numbers of each tensor."""
        for name, value in self.chosen.items():
            yield name, array_of(value, self.limits)

    def kinds(self) -> list[tuple[str, str, tuple[int, ...]]]:
        """Name, numpy type and shape of each tensor, before any is read."""
        return [(name, _kind_name(value), value.shape) for name, value in self.chosen.items()]

    @property
    def unsound(self) -> int:
        """How many storages had a wrong checksum so far."""
        return len(getattr(self.pile, "unsound", ()))


def _kind_name(value: Tensor | Array) -> str:
    if isinstance(value, Array):
        assert value.kind is not None
        return np.dtype(value.kind.code).name
    return {"bfloat16": "float32", "bytes": "uint8"}.get(value.kind, value.kind)


def follow(
    stream: BinaryIO, size: int, *, shown: str, limits: Limits | None = None, take: str | None = None
) -> Reading:
    """Follow the file and choose its state dict. Every fault is an InputError that names `shown` and the cause.

    take    container to take instead of the usual choice
    """
    limits = limits or Limits()
    try:
        found = _found(stream, size, limits)
        return _reading(found, size, shown, limits, take)
    except Cut as error:
        raise cut(shown, size, error.want, details=str(error)) from None
    except Spoilt as error:
        raise InputError(
            tr("{name} cannot be opened: {reason}.", name=shown, reason=error),
            hint=tr("Download or save it again."),
        ) from None
    except (MemoryError, RecursionError) as error:
        raise InputError(
            tr("{name} asks for more memory than a model needs and was not opened.", name=shown),
            details=type(error).__name__,
        ) from None
    except OSError as error:
        raise InputError(
            tr("{name} cannot be read: {reason}.", name=shown, reason=error.strerror or type(error).__name__)
        ) from None


def cut(shown: str, size: int, want: int, *, details: str = "") -> InputError:
    """The error of a file that ends early."""
    hint = tr("The download or the copy was not finished. Get the file again.")
    if want > 1 << 42:
        return InputError(
            tr("{name} cannot be opened: a size written in it is not possible.", name=shown),
            hint=tr("Download or save it again."),
            details=details,
        )
    if want <= size:
        return InputError(
            tr("{name} is not complete: it ends after {have}.", name=shown, have=_mb(size)), hint=hint, details=details
        )
    if size < MB // 10:
        have, whole = f"{size:,}", f"{want:,} bytes"
    else:
        have, whole = _mb(size).removesuffix(" MB"), _mb(want)
        if have == whole.removesuffix(" MB"):
            have, whole = f"{size:,}", f"{want:,} bytes"
    return InputError(
        tr("{name} ends after {have} of {want}.", name=shown, have=have, want=whole), hint=hint, details=details
    )


def _mb(size: int) -> str:
    if size < MB // 10:
        return plural(size, "{n} byte", "{n} bytes")
    return f"{size / MB:.0f} MB" if size >= 10 * MB else f"{size / MB:.1f} MB"


_PICKLES = b"\x80(]}c"  # first bytes of pickles as they are written


def _found(stream: BinaryIO, size: int, limits: Limits) -> _Found:
    stream.seek(0)
    head = stream.read(512)
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _read_zip(stream, size, limits)
    if head[:6] == b"\x93NUMPY":
        return _read_npy(stream, size, limits)
    if is_safetensors(head, size):
        return _read_safetensors(stream, size, limits)
    if head[257:262] == b"ustar" or _old_tar(head):
        try:
            return _read_tar(stream, size, limits)
        except (KeyError, ValueError, TypeError, struct.error, AttributeError):
            raise Spoilt("the tar is damaged") from None
    source = Source(stream, 0, size)
    try:
        magic = Machine(source, Limits(opcodes=64)).load() == _MAGIC
    except Spoilt:
        magic = False
    if magic:
        return _read_stream(stream, size, limits)
    try:
        return _read_pickle(stream, size, limits)
    except Spoilt:  # of words that no pickle has, which would tell a user nothing
        if head[:1] in _PICKLES:
            raise
        raise Spoilt("its first bytes are of no kind of model file") from None


def is_safetensors(head: bytes, size: int) -> bool:
    """Whether a file that begins with `head` is one: a length, then a JSON object."""
    return len(head) > 9 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 40


def _old_tar(head: bytes) -> bool:
    if len(head) < 512 or not head[:1].isalnum():
        return False
    try:
        said = int(head[148:156].strip(b"\0 ") or b"x", 8)
    except ValueError:
        return False
    return said == sum(head[:148]) + 256 + sum(head[156:])


def _reading(found: _Found, size: int, shown: str, limits: Limits, take: str | None) -> Reading:
    code = tuple(found.code)
    if found.torchscript:
        return Reading("torchscript", "", {}, (), (), (), {}, [], True, limits)
    candidates, aside, said = _survey(found.root, limits)
    named = _code_words(code)
    root = found.root
    if isinstance(root, (Tensor, Array)) and not root.refusal and len(root.shape) != 2:
        candidates = []
    if _holds_embeddings(candidates, root):
        raise InputError(
            tr("{name} holds embeddings, not the weights of a model.", name=shown), hint=tr("Open it as features.")
        )
    chosen = _chosen(candidates, take)
    if chosen is None or not chosen.tensors:
        if code:
            raise InputError(
                tr("{name} contains program code ({code}). Nothing was run. 0 tensors taken.", name=shown, code=named),
                hint=tr("Do not use this file; get the weights from a place you trust."),
            )
        refused = root.refusal if isinstance(root, (Tensor, Array)) else ""
        if refused == "object array":
            raise InputError(
                tr("{name} is an object array, which can hold program code.", name=shown),
                hint=tr("Re-save it as float32."),
            )
        what = ", ".join(f"{n} × {c}" for n, c in found.foreign.most_common(5)) or type(root).__name__
        raise InputError(
            tr("{name} holds no weights.", name=shown),
            hint=tr("Save them with torch.save(model.state_dict(), path)."),
            details=tr("Found: {what}.", what=escaped(what)),
        )
    for name, value in chosen.tensors.items():
        if value.refusal:
            hint = (
                tr("Re-save it as float32.")
                if value.refusal == "object array"
                else tr("Only dense tensors are taken. Convert it and save it again.")
            )
            raise InputError(
                tr(
                    "{name} was not opened: {tensor} is of a kind FaceLens does not take ({kind}).",
                    name=shown,
                    tensor=escaped(name[:80]),
                    kind=escaped(value.refusal),
                ),
                hint=hint,
            )
    if len(chosen.tensors) > limits.entries:
        raise Spoilt("it has too many tensors")
    declared, most = sum(value.size for value in chosen.tensors.values()), limits.bytes_for(size)
    if declared > most:
        where = f"; the limit is in Help, Limits ({MODEL_GB})" if most == limits.ceiling else ""
        raise Spoilt(f"its tensors would take {declared:,} bytes, and a file of {size:,} may take {most:,}{where}")
    notes = []
    if code:
        notes.append(
            tr(
                "{name} contains program code ({code}). Nothing was run. Weights only were taken.",
                name=shown,
                code=named,
            )
        )
    others = [c for c in candidates if c is not chosen]
    for candidate in others:
        aside[candidate.path or tr("(the file itself)")] += len(candidate.tensors)
    ignored = [
        f"{escaped(name)} ({plural(count, '{n} tensor', '{n} tensors')})"
        for name, count in _gathered(aside).most_common(40)
    ]
    ignored += [f"{escaped(name)} × {count}" for name, count in found.foreign.most_common(40)]
    return Reading(
        found.form,
        chosen.path,
        chosen.tensors,
        tuple(ignored),
        code,
        tuple(c.path for c in others),
        said,
        notes,
        False,
        limits,
        found.pile,
    )


def _gathered(aside: Counter[str]) -> Counter[str]:
    return aside if len(aside) <= 40 else Counter({tr("elsewhere"): sum(aside.values())})


def _code_words(code: tuple[str, ...]) -> str:
    shown = ", ".join(escaped(name[:100]) for name in code[:3])
    return shown if len(code) <= 3 else tr("{names} and {n} more", names=shown, n=len(code) - 3)


def read(stream: BinaryIO, size: int, *, shown: str, limits: Limits | None = None, take: str | None = None) -> Contents:
    """Everything at once, in this process; strangers' files go through `sealed.read`."""
    reading = follow(stream, size, shown=shown, limits=limits, take=take)
    try:
        tensors = dict(reading.arrays())
    except Cut as error:
        raise cut(shown, size, error.want, details=str(error)) from None
    except Spoilt as error:
        raise InputError(tr("{name} cannot be opened: {reason}.", name=shown, reason=error)) from None
    return Contents(
        tensors,
        reading.form,
        reading.container,
        reading.ignored,
        reading.code,
        reading.others,
        reading.said,
        (*reading.notes, *unsound_note(shown, reading.unsound)),
    )


def unsound_note(shown: str, count: int) -> tuple[str, ...]:
    """What is said about parts of an archive whose checksum does not agree."""
    if not count:
        return ()
    return (
        tr(
            "The checksum of {parts} of {name} does not agree: the file is damaged or was written without checksums.",
            parts=plural(count, "{n} part", "{n} parts"),
            name=shown,
        ),
    )
