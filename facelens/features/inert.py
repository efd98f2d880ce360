"""Read the weights out of a file of pickles without running anything that the file says.

A pickle is a program for a small stack machine; its dangerous words import a name and call it. Here the words are
followed on a stack of our own: no name of the file is ever imported. A call of one of a few known constructors
(tensors, arrays, ordered dicts) is understood and done by hand; every other call becomes a `Foreign` record that does
nothing. Tensors stay descriptions until they are chosen: type, shape, strides and place are checked against the bytes
that are there before any memory is asked for.

Understood    torch archives (zip, since 1.6), torch streams (0.2 to 1.5), torch tars (before 0.2), plain pickles of
              tensors or arrays (protocols 0 to 5), npz, npy, safetensors
Taken         dense tensors. Sparse, quantised and object tensors are refused by name
"""

from __future__ import annotations

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
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.words import escaped, plural, tr

MB = 1_000_000


class Spoilt(Exception):
    """The bytes do not follow their own format, or ask for more than they may."""


class Cut(Spoilt):
    """The file ends before it should; `want` is the length it should have had, 0 when nothing tells."""

    def __init__(self, reason: str, *, want: int = 0) -> None:
        super().__init__(reason)
        self.want = want


@dataclass(frozen=True)
class Limits:
    """What a stranger's file may cost. Bytes asked for: at most `ratio` times the file and at most `ceiling`."""

    ceiling: int = 8 << 30
    ratio: int = 20
    floor: int = 16 << 20  # small files may always ask for this much: an expanded tensor is short on disk
    opcodes: int = 8_000_000
    memo: int = 4_000_000
    depth: int = 100
    entries: int = 200_000  # of an archive, of a state dict

    def bytes_for(self, size: int) -> int:
        """The most that a file of `size` bytes may ask for."""
        return min(self.ceiling, max(self.floor, self.ratio * size))


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


# What the stack machine builds


@dataclass(eq=False, slots=True)
class Name:
    """Something the file wanted to import. It is not."""

    module: str
    name: str

    @property
    def dotted(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(eq=False, slots=True)
class Foreign:
    """Something the file wanted to make by calling `name`. Nothing was called."""

    name: str
    args: Any = None
    state: Any = None
    items: dict[Any, Any] | None = None
    elements: list[Any] | None = None


class Fields(dict[Any, Any]):
    """A Namespace, as a plain dict of its fields."""


@dataclass(eq=False, slots=True)
class Storage:
    """A run of numbers somewhere in the file: `count` of `kind`; `start` counts in numbers from the root storage."""

    kind: str
    key: str
    count: int
    start: int = 0
    bytes: Pile | None = None

    @property
    def width(self) -> int:
        return _WIDTH[self.kind]


@dataclass(eq=False, slots=True)
class Tensor:
    """A dense tensor that has been described but not read; `refusal` says why it cannot be."""

    storage: Storage | None
    kind: str
    shape: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    offset: int = 0
    refusal: str = ""

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        return self.count * _WIDTH.get(self.kind, 0)


@dataclass(eq=False, slots=True)
class Kind:
    """A numpy dtype as written: code such as `f4`, and byte order."""

    code: str
    order: str = "<"
    plain: bool = True


@dataclass(eq=False, slots=True)
class Array:
    """A numpy array as written; `data` are its bytes."""

    kind: Kind | None = None
    shape: tuple[int, ...] = ()
    fortran: bool = False
    data: bytes | bytearray | memoryview = b""
    refusal: str = ""

    @property
    def size(self) -> int:
        return math.prod(self.shape) * (_width_of(self.kind.code) if self.kind else 0)


class Pile(Protocol):
    """Where the bytes of storages lie."""

    def length(self, key: str) -> int: ...

    def read(self, key: str, start: int, length: int) -> bytes | memoryview: ...


class _Mark:
    pass


# Types

_WIDTH = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "bool": 1,
    "complex64": 8,
    "complex128": 16,
    "bytes": 1,
}
_STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "UntypedStorage": "bytes",
}
_TORCH_KINDS = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32"}
_SAFE_KINDS = {
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
_CODE = re.compile(r"(?:[fiu][1248]|b1|c8|c16|f16|[SUV]\d{1,6})\Z")
_LONG_NAME = {"bool": "b1", "half": "f2", "single": "f4", "double": "f8", "int": "i8", "float": "f8"}


def _width_of(code: str) -> int:
    return int(code[1:]) * (4 if code[0] == "U" else 1)


def _number_kind(code: str) -> bool:
    return code[0] in "fiubc" and code != "f16"


# Names. What is not understood below and not listed as harmless here counts as program code when it would be called.

_HARMLESS_MODULES = frozenset(
    ("argparse", "types", "collections", "pathlib", "datetime", "decimal", "fractions", "uuid", "enum", "typing")
)
_HARMLESS_BUILTINS = frozenset(
    [
        "set",
        "frozenset",
        "list",
        "dict",
        "tuple",
        "int",
        "float",
        "str",
        "bytes",
        "bytearray",
        "bool",
        "complex",
        "slice",
        "range",
        "object",
        "type",
        "Ellipsis",
        "NoneType",
        "NotImplemented",
    ]
)
_HARMLESS = frozenset(
    (
        "copyreg._reconstructor",
        "copyreg.__newobj__",
        "copyreg.__newobj_ex__",
        "functools.partial",
        "torch.device",
        "torch.serialization._get_layout",
        "torch._utils._rebuild_sparse_tensor",
        "torch._utils._rebuild_qtensor",
        "torch._utils._rebuild_nested_tensor",
        "torch._utils._rebuild_meta_tensor_no_storage",
        "torch._utils._rebuild_wrapper_subclass",
        "numpy.random._pickle.__randomstate_ctor",
        "numpy.random._pickle.__generator_ctor",
        "numpy.random._pickle.__bit_generator_ctor",
    )
)
_PYTHON2 = {"__builtin__": "builtins", "copy_reg": "copyreg", "UserDict": "collections", "UserList": "collections"}


def _runs(dotted: str) -> bool:
    """Whether calling the name would run a program rather than make a record of data."""
    module, _, name = dotted.rpartition(".")
    top = module.split(".")[0]
    if dotted in _HARMLESS or top in _HARMLESS_MODULES:
        return False
    if top == "builtins":
        return name not in _HARMLESS_BUILTINS
    if top in sys.stdlib_module_names or (top in ("nt", "posix", "__main__") and not name[:1].isupper()):
        return True
    # Others' classes are data to be skipped; others' functions are calls.
    return not name.lstrip("_")[:1].isupper()


def _always_runs(dotted: str) -> bool:
    """Whether the name is a danger even when it is only mentioned."""
    top = dotted.split(".")[0]
    return (top in sys.stdlib_module_names or top in ("nt", "posix")) and _runs(dotted)


# The stack machine


class _Source:
    """Bytes `start` to `end` of a stream, read in pieces; a length written in the file never allocates more than there is."""

    def __init__(self, stream: BinaryIO, start: int, end: int) -> None:
        self._stream, self.end = stream, end
        self._at = start  # place in the stream of the end of the piece at hand
        self._piece, self._next = b"", 0

    @property
    def position(self) -> int:
        return self._at - len(self._piece) + self._next

    def take(self, n: int) -> bytes:
        stop = self._next + n
        if stop <= len(self._piece):
            found = self._piece[self._next : stop]
            self._next = stop
            return found
        position = self.position
        if position + n > self.end:
            raise Cut("the pickle ends early", want=position + n)
        self._stream.seek(position)
        self._piece = self._stream.read(min(max(n, 1 << 16), self.end - position))
        if len(self._piece) < n:
            raise Cut("the file has become shorter")
        self._at, self._next = position + len(self._piece), n
        return self._piece[:n]

    def line(self) -> bytes:
        found = bytearray()
        while True:
            c = self.take(1)
            if c == b"\n":
                return bytes(found)
            found += c
            if len(found) > 65536:
                raise Spoilt("a line of the pickle is too long")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _key(value: Any) -> Any:
    """A value made fit to be the key of a dict. Nested, huge and chosen-to-collide keys would cost unbounded time."""
    if value is None or isinstance(value, (str, bytes, bool, float)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 60 else f"int of {value.bit_length()} bits"
    if isinstance(value, tuple):
        return "(" + ", ".join(str(v) if isinstance(v, (str, int, float)) else "…" for v in value[:16])[:200] + ")"
    return f"<{type(value).__name__} {id(value):x}>"


class Machine:
    """Follows the words of pickles in one source; several pickles may follow each other."""

    def __init__(
        self,
        source: _Source,
        limits: Limits,
        *,
        persistent: Callable[[Any], Any] | None = None,
        inner: Callable[[bytes], Any] | None = None,
    ) -> None:
        self.source, self.limits = source, limits
        self._persistent, self._inner = persistent, inner
        self.foreign: Counter[str] = Counter()
        self.code: dict[str, None] = {}
        self._steps = 0
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}

    def load(self) -> Any:
        """The value of the next pickle."""
        self._stack, self._marks, self._memo = [], [], {}
        take, words = self.source.take, _WORDS
        allowed = self.limits.opcodes
        try:
            while True:
                word = take(1)[0]
                self._steps += 1
                if self._steps > allowed:
                    raise Spoilt("the pickle is too long")
                if word == 0x2E:  # STOP
                    return self._stack.pop()
                step = words.get(word)
                if step is None:
                    raise Spoilt(f"0x{word:02x} is no word of a pickle")
                step(self)
        except (IndexError, KeyError, TypeError, ValueError, AttributeError, struct.error, OverflowError) as error:
            if isinstance(error, Spoilt):
                raise
            raise Spoilt(f"the pickle is damaged ({type(error).__name__})") from None

    # numbers and text

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _int(self) -> None:
        line = self.source.line()
        self._push({b"00": False, b"01": True}.get(line) if line in (b"00", b"01") else _small(line))

    def _long(self) -> None:
        self._push(_small(self.source.line().rstrip(b"L")))

    def _long_n(self, width: int) -> None:
        n = int.from_bytes(self.source.take(width), "little", signed=width == 4)
        if not 0 <= n <= 4096:
            raise Spoilt("a number of the pickle is too long")
        self._push(int.from_bytes(self.source.take(n), "little", signed=True))

    def _number(self, form: str) -> None:
        self._push(struct.unpack(form, self.source.take(struct.calcsize(form)))[0])

    def _float(self) -> None:
        self._push(float(self.source.line()))

    def _string(self) -> None:
        line = self.source.line()
        if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in b"\"'":
            raise Spoilt("a text of the pickle has no quotes")
        body = re.sub(
            rb"\\(x[0-9a-fA-F]{2}|.)",
            lambda m: bytes([int(m[1][1:], 16)]) if m[1][:1] == b"x" and len(m[1]) == 3 else _ESCAPES.get(m[1], m[1]),
            line[1:-1],
        )
        self._push(body.decode("latin-1"))

    def _unicode(self) -> None:
        line = self.source.line().decode("latin-1")
        self._push(re.sub(r"\\u([0-9a-fA-F]{4})|\\U(0010[0-9a-fA-F]{4}|000[0-9a-fA-F]{5})", _unescape, line))

    def _sized(self, width: int, form: str) -> None:
        n = int.from_bytes(self.source.take(width), "little")
        if n > self.source.end:
            raise Cut("a part of the pickle is longer than the file", want=self.source.position + n)
        data = self.source.take(n)
        self._push(_text(data) if form == "text" else data.decode("latin-1") if form == "latin" else data)

    # containers

    def _marked(self) -> list[Any]:
        items = self._stack
        self._stack = self._marks.pop()
        return items

    def _mark(self) -> None:
        if len(self._marks) > self.limits.memo:
            raise Spoilt("the pickle is nested too deeply")
        self._marks.append(self._stack)
        self._stack = []

    def _pop(self) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._marked()

    def _tuple(self, n: int) -> None:
        if len(self._stack) < n:
            raise Spoilt("the stack is empty")
        self._stack[-n:] = [tuple(self._stack[-n:])]

    def _extend(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if isinstance(target, list):
            target.extend(items)
        elif isinstance(target, Foreign):
            if target.elements is None:
                target.elements = []
            target.elements.extend(items)

    def _set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if isinstance(target, Foreign):
            if target.items is None:
                target.items = {}
            target = target.items
        if isinstance(target, dict):
            for k, v in zip(items[::2], items[1::2]):
                target[_key(k)] = v

    def _dict(self) -> None:
        items = self._marked()
        self._push({_key(k): v for k, v in zip(items[::2], items[1::2])})

    # memo

    def _put(self, index: int) -> None:
        if len(self._memo) >= self.limits.memo or index < 0:
            raise Spoilt("the pickle remembers too much")
        self._memo[index] = self._stack[-1]

    # names and calls

    def _name(self, module: str, name: str) -> None:
        self._push(self._named(module, name))

    def _named(self, module: str, name: str) -> Name:
        if len(module) + len(name) > 1000:
            raise Spoilt("a name in the pickle is too long")
        module = _PYTHON2.get(module, module)
        if module.startswith("numpy._core"):
            module = "numpy.core" + module[len("numpy._core") :]
        found = Name(module, name)
        if _always_runs(found.dotted):
            self._blame(found.dotted)
        return found

    def _blame(self, dotted: str) -> None:
        if dotted not in _KNOWN and len(self.code) < 1000:
            self.code[dotted] = None

    def _stack_global(self) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise Spoilt("a name in the pickle is no text")
        self._name(module, name)

    def _extension(self, width: int) -> None:
        # A number that stands for a name registered on the machine that opens the file: always foreign.
        number = int.from_bytes(self.source.take(width), "little")
        self._push(Name("copyreg", f"extension_{number}"))
        self._blame(f"copyreg.extension_{number}")

    def call(self, callee: Any, args: Any) -> Any:
        """What the file wanted from calling `callee`: done by hand where it is known, else a record."""
        if not isinstance(args, tuple):
            raise Spoilt("the arguments of a call are no tuple")
        if not isinstance(callee, Name):
            shown = callee.name if isinstance(callee, Foreign) else type(callee).__name__
            self.foreign[f"call of {shown}"] += 1
            return Foreign(f"call of {shown}", args)
        known = _KNOWN.get(callee.dotted)
        if known is not None:
            return known(self, args)
        if _runs(callee.dotted):
            self._blame(callee.dotted)
        return self._made(callee, args)

    def _made(self, callee: Name, args: Any) -> Foreign:
        self.foreign[callee.dotted] += 1
        return Foreign(callee.dotted, args)

    def _reduce(self) -> None:
        args, callee = self._stack.pop(), self._stack.pop()
        self._push(self.call(callee, args))

    def _new(self, *, keywords: bool) -> None:
        if keywords:
            self._stack.pop()
        args, callee = self._stack.pop(), self._stack.pop()
        self._push(self._instance(callee, args))

    def _instance(self, callee: Any, args: Any) -> Any:
        if isinstance(callee, Name):
            known = _KNOWN.get(callee.dotted)
            if known is not None and isinstance(args, tuple):
                return known(self, args)
            if _always_runs(callee.dotted):
                self._blame(callee.dotted)
            return self._made(callee, args)
        return self.call(callee, args)

    def _inst(self) -> None:
        module, name = _text(self.source.line()), _text(self.source.line())
        args = tuple(self._marked())
        self._push(self._instance(self._named(module, name), args))

    def _obj(self) -> None:
        args = self._marked()
        self._push(self._instance(args[0], tuple(args[1:])))

    def _build(self) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if isinstance(target, Array):
            _fill(target, state)
        elif isinstance(target, Kind):
            if isinstance(state, tuple) and len(state) > 3:
                target.order = state[1] if state[1] in ("<", ">", "|", "=") else "<"
                target.plain = target.plain and state[2] is None and state[3] is None
        elif isinstance(target, Fields):
            if isinstance(state, dict):
                target.update(state)
        elif isinstance(target, Foreign):
            # (dict of attributes, dict of slots) or either alone
            parts = state if isinstance(state, tuple) and len(state) == 2 else (state,)
            joined: dict[Any, Any] = {}
            for part in parts:
                if isinstance(part, dict):
                    joined.update(part)
            target.state = joined or state

    def _persistent_id(self, wanted: Any) -> None:
        if self._persistent is None:
            raise Spoilt("the pickle speaks of parts that are not in the file")
        self._push(self._persistent(wanted))

    def _refuse(self) -> None:
        raise Spoilt("the pickle needs data that was stored elsewhere")

    def inner(self, data: Any) -> Any:
        """What `torch.storage._load_from_bytes` would give: a torch file inside the pickle."""
        if self._inner is None or not isinstance(data, (bytes, bytearray)):
            raise Spoilt("a torch file inside the pickle cannot be read")
        return self._inner(bytes(data))


_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\", b"'": b"'", b'"': b'"'}


def _small(line: bytes) -> int:
    if len(line) > 4000:
        raise Spoilt("a number of the pickle is too long")
    return int(line)


def _unescape(m: re.Match[str]) -> str:
    return chr(int(m[1] or m[2], 16))


_WORDS: dict[int, Callable[[Machine], None]] = {
    ord(word): step
    for word, step in {
        "\x80": lambda m: m.source.take(1) and None,  # PROTO
        "\x95": lambda m: m.source.take(8) and None,  # FRAME: the source has its own pieces
        "(": Machine._mark,
        "0": Machine._pop,
        "1": lambda m: m._marked() and None,
        "2": lambda m: m._push(m._stack[-1]),
        "N": lambda m: m._push(None),
        "\x88": lambda m: m._push(True),
        "\x89": lambda m: m._push(False),
        "I": Machine._int,
        "L": Machine._long,
        "F": Machine._float,
        "J": lambda m: m._number("<i"),
        "K": lambda m: m._number("<B"),
        "M": lambda m: m._number("<H"),
        "G": lambda m: m._number(">d"),
        "\x8a": lambda m: m._long_n(1),
        "\x8b": lambda m: m._long_n(4),
        "S": Machine._string,
        "V": Machine._unicode,
        "T": lambda m: m._sized(4, "latin"),
        "U": lambda m: m._sized(1, "latin"),
        "X": lambda m: m._sized(4, "text"),
        "\x8c": lambda m: m._sized(1, "text"),
        "\x8d": lambda m: m._sized(8, "text"),
        "B": lambda m: m._sized(4, "bytes"),
        "C": lambda m: m._sized(1, "bytes"),
        "\x8e": lambda m: m._sized(8, "bytes"),
        "\x96": lambda m: m._sized(8, "bytes"),  # BYTEARRAY8
        "\x97": Machine._refuse,  # NEXT_BUFFER
        "\x98": lambda m: None,  # READONLY_BUFFER
        "]": lambda m: m._push([]),
        "l": lambda m: m._push(m._marked()),
        "a": lambda m: m._extend([m._stack.pop()]),
        "e": lambda m: m._extend(m._marked()),
        ")": lambda m: m._push(()),
        "t": lambda m: m._push(tuple(m._marked())),
        "\x85": lambda m: m._tuple(1),
        "\x86": lambda m: m._tuple(2),
        "\x87": lambda m: m._tuple(3),
        "}": lambda m: m._push({}),
        "d": Machine._dict,
        "s": lambda m: m._set_items([m._stack.pop(), m._stack.pop()][::-1]),
        "u": lambda m: m._set_items(m._marked()),
        "\x8f": lambda m: m._push([]),  # EMPTY_SET, as a list
        "\x90": lambda m: m._extend(m._marked()),
        "\x91": lambda m: m._push(m._marked()),  # FROZENSET
        "p": lambda m: m._put(_small(m.source.line())),
        "q": lambda m: m._put(m.source.take(1)[0]),
        "r": lambda m: m._put(int.from_bytes(m.source.take(4), "little")),
        "\x94": lambda m: m._put(len(m._memo)),
        "g": lambda m: m._push(m._memo[_small(m.source.line())]),
        "h": lambda m: m._push(m._memo[m.source.take(1)[0]]),
        "j": lambda m: m._push(m._memo[int.from_bytes(m.source.take(4), "little")]),
        "c": lambda m: m._name(_text(m.source.line()), _text(m.source.line())),
        "\x93": Machine._stack_global,
        "\x82": lambda m: m._extension(1),
        "\x83": lambda m: m._extension(2),
        "\x84": lambda m: m._extension(4),
        "R": Machine._reduce,
        "\x81": lambda m: m._new(keywords=False),
        "\x92": lambda m: m._new(keywords=True),
        "i": Machine._inst,
        "o": Machine._obj,
        "b": Machine._build,
        "P": lambda m: m._persistent_id(_text(m.source.line())),
        "Q": lambda m: m._persistent_id(m._stack.pop()),
    }.items()
}


# Known constructors, done by hand


def _whole(values: Any) -> tuple[int, ...]:
    values = tuple(values)
    if len(values) > 32 or not all(type(v) is int and 0 <= v < 1 << 62 for v in values):
        raise Spoilt("the shape of a tensor is not possible")
    return values


def dense(storage: Any, offset: Any, shape: Any, stride: Any, kind: str = "") -> Tensor:
    """A tensor over a storage, checked against it."""
    if not isinstance(storage, Storage):
        raise Spoilt("a tensor has no storage")
    shape, stride = _whole(shape), _whole(stride)
    (offset,) = _whole((offset,))
    if len(shape) != len(stride):
        raise Spoilt("a tensor's shape and strides do not agree")
    kind = kind or storage.kind
    if kind not in _WIDTH or storage.kind not in _WIDTH:
        return Tensor(None, kind, shape, refusal=kind)
    width, room = _WIDTH[kind], storage.count * storage.width
    if math.prod(shape):
        last = offset + sum((n - 1) * step for n, step in zip(shape, stride))
        if (last + 1) * width > room:
            raise Spoilt(f"a tensor of {(last + 1) * width:,} bytes lies in a storage of {room:,}")
    return Tensor(storage, kind, shape, stride, offset)


def _tensor_v2(machine: Machine, args: tuple[Any, ...]) -> Any:
    made = dense(*args[:4])
    if len(args) > 6 and isinstance(args[6], dict) and any(args[6].get(bit) for bit in ("conj", "neg")):
        made.refusal = "conjugate view"
    return made


def _tensor_v3(machine: Machine, args: tuple[Any, ...]) -> Any:
    kind = args[6].name if isinstance(args[6], Name) else ""
    return dense(*args[:4], kind=_TORCH_KINDS.get(kind, kind))


def _from_type(machine: Machine, args: tuple[Any, ...]) -> Any:
    # (function, type, arguments, state): a subclass of Tensor, taken as the tensor it is
    return machine.call(args[0], args[2])


def _refused(why: str) -> Callable[[Machine, tuple[Any, ...]], Any]:
    return lambda machine, args: Tensor(None, why, refusal=why)


def _from_numpy(machine: Machine, args: tuple[Any, ...]) -> Any:
    # (array, dtype, device, requires_grad): tensors of other devices (XLA, MPS)
    return args[0] if isinstance(args[0], Array) else Tensor(None, "", refusal="device tensor")


def _ordered(machine: Machine, args: tuple[Any, ...]) -> Any:
    made: dict[Any, Any] = {}
    if args:
        pairs = args[0].items() if isinstance(args[0], dict) else args[0] if isinstance(args[0], (list, tuple)) else ()
        for k, v in pairs:
            made[_key(k)] = v
    return made


def _default(machine: Machine, args: tuple[Any, ...]) -> Any:
    return _ordered(machine, args[1:])


def _listed(machine: Machine, args: tuple[Any, ...]) -> Any:
    return list(args[0]) if args and isinstance(args[0], (list, tuple)) else []


def _encoded(machine: Machine, args: tuple[Any, ...]) -> Any:
    # bytes as protocols 0 to 2 write them
    if not isinstance(args[0], str) or args[1:] not in ((), ("latin1",), ("latin-1",)):
        raise Spoilt("a text of the pickle has an unknown encoding")
    return args[0].encode("latin-1")


def _dtype(machine: Machine, args: tuple[Any, ...]) -> Any:
    code = args[0]
    if isinstance(code, Name):
        code = code.name
    if not isinstance(code, str):
        return Kind("V0", plain=False)
    order, code = (code[0], code[1:]) if code[:1] in ("<", ">", "|", "=") else ("<", code)
    return Kind(code, order, plain=bool(_CODE.match(code)))


def _scalar(machine: Machine, args: tuple[Any, ...]) -> Any:
    kind, data = args[0], args[1] if len(args) > 1 else b""
    data = data.encode("latin-1") if isinstance(data, str) else data
    if not isinstance(kind, Kind) or not kind.plain or not isinstance(data, (bytes, bytearray)):
        return Foreign("numpy object")
    if len(data) != _width_of(kind.code):
        raise Spoilt("a number of the pickle has the wrong length")
    found = np.frombuffer(data, _numpy_kind(kind))[0].item()
    return found


def _array(machine: Machine, args: tuple[Any, ...]) -> Any:
    return Array()


def _array_from_buffer(machine: Machine, args: tuple[Any, ...]) -> Any:
    made = Array()
    _fill(made, (1, args[2], args[1], args[3] == "F", args[0]))
    return made


def _fill(target: Array, state: Any) -> None:
    if not isinstance(state, tuple) or len(state) < 4:
        raise Spoilt("an array is not complete")
    shape, kind, fortran, data = state[-4:]
    data = data.encode("latin-1") if isinstance(data, str) else data
    if not isinstance(kind, Kind):
        raise Spoilt("an array has no type")
    target.kind, target.shape, target.fortran = kind, _whole(shape), bool(fortran)
    if not kind.plain or not _number_kind(kind.code) or not isinstance(data, (bytes, bytearray, memoryview)):
        target.refusal = "object array"
        return
    if target.size != len(data):
        raise Spoilt(f"an array of {target.size:,} bytes holds {len(data):,}")
    target.data = data


def _numpy_kind(kind: Kind) -> np.dtype[Any]:
    return np.dtype(("<" if kind.order in "|=" else kind.order) + kind.code)


def _fields(machine: Machine, args: tuple[Any, ...]) -> Any:
    return Fields()


def _path(machine: Machine, args: tuple[Any, ...]) -> Any:
    return "/".join(str(part) for part in args if isinstance(part, str))


def _reconstructor(machine: Machine, args: tuple[Any, ...]) -> Any:
    # (class, base, state of the base): protocols 0 and 1 make every object this way
    made = machine._instance(args[0], ())
    if isinstance(made, Foreign) and len(args) > 2 and isinstance(args[2], dict):
        made.items = args[2]
    return made


def _new_object(machine: Machine, args: tuple[Any, ...]) -> Any:
    return machine._instance(args[0], tuple(args[1:]))


def _first(machine: Machine, args: tuple[Any, ...]) -> Any:
    return args[0] if args and isinstance(args[0], (Tensor, Array)) else Foreign("torch.nn.parameter.Parameter", args)


def _loaded(machine: Machine, args: tuple[Any, ...]) -> Any:
    return machine.inner(args[0])


_KNOWN: Mapping[str, Callable[[Machine, tuple[Any, ...]], Any]] = {
    "torch._utils._rebuild_tensor": _tensor_v2,
    "torch._utils._rebuild_tensor_v2": _tensor_v2,
    "torch._utils._rebuild_tensor_v3": _tensor_v3,
    "torch._utils._rebuild_parameter": _first,
    "torch._utils._rebuild_parameter_with_state": _first,
    "torch.nn.parameter.Parameter": _first,
    "torch.nn.parameter.Buffer": _first,
    "torch._tensor._rebuild_from_type_v2": _from_type,
    "torch._tensor._rebuild_from_type": lambda machine, args: machine.call(args[0], args[2]),
    "torch._utils._rebuild_device_tensor_from_numpy": _from_numpy,
    "torch._utils._rebuild_xla_tensor": _from_numpy,
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": _first,
    "torch._utils._rebuild_sparse_tensor": _refused("sparse"),
    "torch._utils._rebuild_sparse_csr_tensor": _refused("sparse"),
    "torch._utils._rebuild_qtensor": _refused("quantised"),
    "torch._utils._rebuild_nested_tensor": _refused("nested"),
    "torch._utils._rebuild_meta_tensor_no_storage": _refused("meta (without data)"),
    "torch.storage._load_from_bytes": _loaded,
    "torch.Size": lambda machine, args: tuple(args[0]) if args else (),
    "collections.OrderedDict": _ordered,
    "collections.Counter": _ordered,
    "collections.defaultdict": _default,
    "collections.deque": _listed,
    "builtins.dict": _ordered,
    "builtins.set": _listed,
    "builtins.frozenset": _listed,
    "builtins.list": _listed,
    "builtins.tuple": _listed,
    "builtins.bytearray": lambda machine, args: (
        args[0] if args and isinstance(args[0], (bytes, bytearray)) else _encoded(machine, args) if args else b""
    ),
    "_codecs.encode": _encoded,
    "copyreg._reconstructor": _reconstructor,
    "copyreg.__newobj__": _new_object,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy.core.multiarray._reconstruct": _array,
    "numpy.ndarray": _array,
    "numpy.core.numeric._frombuffer": _array_from_buffer,
    "numpy.dtype": _dtype,
    "argparse.Namespace": _fields,
    "types.SimpleNamespace": _fields,
    **dict.fromkeys(
        (
            f"{module}.{name}"
            for module in ("pathlib", "pathlib._local")
            for name in ("Path", "PosixPath", "WindowsPath", "PurePath", "PurePosixPath", "PureWindowsPath")
        ),
        _path,
    ),
}


def _storage(wanted: Any, seen: dict[str, Storage], pile: Pile | None) -> Any:
    """What a persistent id stands for: ("storage", type, key, place, count[, view])."""
    if not isinstance(wanted, tuple) or not wanted:
        raise Spoilt("a part of the file has no name")
    if wanted[0] == "module" and len(wanted) > 1:
        return wanted[1]  # the class, with its source text beside it
    if wanted[0] != "storage" or len(wanted) < 5:
        raise Spoilt("a part of the file is of an unknown kind")
    kind, key, count = wanted[1], wanted[2], wanted[4]
    name = kind.name if isinstance(kind, Name) else ""
    if not isinstance(count, int) or not 0 <= count < 1 << 62 or isinstance(count, bool):
        raise Spoilt("a storage has no size")
    key = str(key) if isinstance(key, (str, int)) else ""
    if not key or len(key) > 200 or "/" in key or "\\" in key or ".." in key:
        raise Spoilt("a storage has no proper name")
    kind = _STORAGES.get(name, name)
    if key not in seen:
        seen[key] = Storage(kind, key, count, bytes=pile)
    root = seen[key]
    if kind != root.kind or count > root.count:
        if _WIDTH.get(kind, 0) * count > _WIDTH.get(root.kind, 0) * root.count:
            raise Spoilt("a storage has two sizes")
        root = Storage(kind, key, count, bytes=pile)
    view = wanted[5] if len(wanted) > 5 else None
    if isinstance(view, tuple) and len(view) == 3:
        start, length = _whole(view[1:])
        if start + length > root.count:
            raise Spoilt("a view reaches past its storage")
        return Storage(root.kind, key, length, start, bytes=pile)
    return root


def array_of(found: Tensor | Array, limits: Limits) -> NDArray[Any]:
    """The numbers, contiguous and in this machine's byte order; bfloat16 becomes float32."""
    if isinstance(found, Array):
        assert found.kind is not None
        flat = np.frombuffer(found.data, _numpy_kind(found.kind))
        made = flat.reshape(found.shape, order="F" if found.fortran else "C")
        return np.ascontiguousarray(made).astype(made.dtype.newbyteorder("="), copy=False)
    storage, width = found.storage, _WIDTH[found.kind]
    kind = np.dtype({"bfloat16": "uint16", "bytes": "uint8"}.get(found.kind, found.kind))
    swapped = False
    if storage is None or not found.count:
        made = np.zeros(found.shape, kind)
    else:
        span = 1 + sum((n - 1) * step for n, step in zip(found.shape, found.stride))
        assert storage.bytes is not None
        start = storage.start * storage.width + found.offset * width
        data = storage.bytes.read(storage.key, start, span * width)
        swapped = getattr(storage.bytes, "swapped", False)
        if swapped:
            kind = kind.newbyteorder("S")
        strides = tuple(step * width for step in found.stride)
        made = np.ascontiguousarray(np.ndarray(found.shape, kind, buffer=data, strides=strides))
        made = made.reshape(found.shape)  # a scalar stays one
        if swapped:
            made = made.astype(kind.newbyteorder("="))
    if found.kind == "bfloat16":
        wide = np.left_shift(made.astype(np.uint32), 16, dtype=np.uint32)
        return wide.view(np.float32)
    return made


# Containers


class _ZipPile:
    """Storages of a torch archive: entries `PREFIX/data/KEY`."""

    def __init__(self, archive: Archive, prefix: str, *, swapped: bool) -> None:
        self._archive, self._prefix, self.swapped = archive, prefix, swapped
        self.unsound: set[str] = set()
        self._last: tuple[str, bytes] = ("", b"")

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


class Archive:
    """A zip, its directory checked before anything is read."""

    def __init__(self, stream: BinaryIO, size: int, limits: Limits) -> None:
        self._stream, self._size = stream, size
        self._most = limits.bytes_for(size)
        try:
            stream.seek(0)
            self._zip = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error, IndexError) as error:
            raise Spoilt(f"the archive is damaged ({error})") from None
        entries = self._zip.infolist()
        if len(entries) > limits.entries:
            raise Spoilt("the archive has too many entries")
        self.entries = {entry.filename: entry for entry in entries}
        if len(self.entries) < len(entries):
            raise Spoilt("two entries of the archive have the same name")
        declared = sum(entry.file_size for entry in entries)
        if declared > self._most:
            raise Spoilt(f"it would unpack to {declared:,} bytes")

    def read(self, name: str) -> tuple[bytes, bool]:
        """The bytes of an entry, and whether its checksum agrees (torch can write without)."""
        entry = self.entries[name]
        if entry.flag_bits & 1:
            raise Spoilt("the archive is encrypted")
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
    except Spoilt:
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
    machine = _machine_over(data, limits, lambda wanted: _storage(wanted, seen, pile))
    root = machine.load()
    for storage in seen.values():
        if storage.kind in _WIDTH and storage.count * storage.width > pile.length(storage.key):
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
    import io

    return Machine(_Source(io.BytesIO(data), 0, len(data)), limits, persistent=persistent, inner=inner)


def _cut_archive(stream: BinaryIO, size: int, limits: Limits) -> Spoilt:
    """Why an archive without a directory has none: its first entry tells how long the whole should be."""
    try:
        stream.seek(0)
        head = stream.read(30)
        n, m = struct.unpack("<HH", head[26:30])
        if not stream.read(n).endswith(b"data.pkl"):
            return Cut("the archive has no directory at its end")
        seen: dict[str, Storage] = {}
        source = _Source(stream, 30 + n + m, size)
        machine = Machine(source, limits, persistent=lambda wanted: _storage(wanted, seen, None))
        machine.load()
    except (Spoilt, struct.error):
        return Cut("the archive has no directory at its end")
    want = source.position + sum(64 * -(-s.count * _WIDTH.get(s.kind, 0) // 64) + 128 for s in seen.values())
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
    source = _Source(stream, start, size)
    machine = Machine(source, limits, persistent=lambda wanted: _storage(wanted, seen, pile))
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
        if storage.kind not in _WIDTH:
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
    return sum(8 + s.count * _WIDTH.get(s.kind, 0) for s in seen.values())


def _read_tar(stream: BinaryIO, size: int, limits: Limits) -> _Found:
    """torch before 0.2: a tar of storages, tensors and a pickle."""
    entries = dict(_tar_entries(stream, size))
    if not {"storages", "tensors", "pickle"} <= entries.keys():
        shown = ", ".join(escaped(name) for name in list(entries)[:3])
        raise Spoilt(f"it is a tar that holds {shown}; unpack it first" if shown else "it is an empty tar")
    pile = _StreamPile(stream)
    parts: dict[int, Storage | Tensor] = {}
    start, end = entries["storages"]
    machine = Machine(_Source(stream, start, end), limits)
    for _ in range(_count(machine.load())):
        key, _, kind = machine.load()
        at = machine.source.position
        (count,) = struct.unpack("<q", machine.source.take(8))
        made = Storage(_STORAGES.get(getattr(kind, "name", ""), ""), str(key), count, bytes=pile)
        if made.kind not in _WIDTH or count < 0 or at + 8 + count * made.width > end:
            raise Cut("the file ends inside its storages", want=at + 8 + max(count, 0) * _WIDTH.get(made.kind, 0))
        pile.places[made.key] = (at + 8, count * made.width)
        parts[key] = made
        machine.source = _Source(stream, at + 8 + count * made.width, end)
    for target, root, offset, count in machine.load():
        whole = parts[root]
        offset, count = _whole((offset, count))
        if not isinstance(whole, Storage) or offset + count > whole.count:
            raise Spoilt("a view reaches past its storage")
        parts[target] = Storage(whole.kind, whole.key, count, offset, bytes=pile)
    start, end = entries["tensors"]
    second = Machine(_Source(stream, start, end), limits)
    for _ in range(_count(second.load())):
        key, storage, _ = second.load()
        (ndim, _) = struct.unpack("<ii", second.source.take(8))
        if not 0 <= ndim <= 32:
            raise Spoilt("the shape of a tensor is not possible")
        numbers = struct.unpack(f"<{2 * ndim + 1}q", second.source.take(16 * ndim + 8))
        parts[key] = dense(parts[storage], numbers[-1], numbers[:ndim], numbers[ndim:-1])

    def part(wanted: Any) -> Any:
        return wanted[0] if isinstance(wanted, tuple) and wanted else parts[int(wanted)]

    third = Machine(_Source(stream, *entries["pickle"]), limits, persistent=part)
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
    inner: list[Machine] = []

    def within(data: bytes) -> Any:
        import io

        if len(inner) > 100_000:
            raise Spoilt("too many torch files inside the pickle")
        found = _read_stream(io.BytesIO(data), len(data), limits)
        if found.code:
            machine.code.update(found.code)
        return found.root

    machine = Machine(_Source(stream, 0, size), limits, inner=within)
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
    made = Array(Kind(code, order or "<"), _whole(int(n) for n in shape.replace(" ", "").split(",") if n))
    made.fortran = fortran == "True"
    if code.startswith("O"):
        made.refusal = "object array"
    elif not _CODE.match(code) or not _number_kind(code):
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
        raise Spoilt("it is larger than the ceiling")
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
            kind, shape = _SAFE_KINDS.get(about["dtype"], str(about["dtype"])[:20]), _whole(about["shape"])
            start, end = _whole(about["data_offsets"])
        except (TypeError, KeyError, ValueError):
            raise Spoilt(f"the header is damaged at {escaped(str(name)[:80])}") from None
        ends = max(ends, end)
        if kind not in _WIDTH:
            root[name] = Tensor(None, kind, shape, refusal=kind)
            continue
        if end < start or math.prod(shape) * _WIDTH[kind] != end - start:
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
        if not apart and _is_module(value):
            if tensors := state_of(value, limits):
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
    if take is not None:
        return next((c for c in candidates if c.path == take), None)
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
        return _Candidate(parent, flat)
    return best


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
    source = _Source(stream, 0, size)
    try:
        magic = Machine(source, Limits(opcodes=64)).load() == _MAGIC
    except Spoilt:
        magic = False
    if magic:
        return _read_stream(stream, size, limits)
    return _read_pickle(stream, size, limits)


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
        raise Spoilt(f"its tensors would take {declared:,} bytes, and a file of {size:,} may take {most:,}")
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
        tr("{name} ({n} tensors)", name=escaped(name), n=count) for name, count in _gathered(aside).most_common(40)
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
