"""Read the weights out of a file of pickles without running anything that the file says.

A pickle is a program for a small stack machine; its dangerous words import a name and call it. Here the words are
followed on a stack of our own: no name of the file is ever imported. A call of one of a few known constructors
(tensors, arrays, ordered dicts) is understood and done by hand; every other call becomes a `Foreign` record that does
nothing. Tensors stay descriptions until they are chosen: type, shape, strides and place are checked against the bytes
that are there before any memory is asked for.

Dense tensors are taken; sparse, quantised and object tensors are refused by name.
"""

from __future__ import annotations

import math
import re
import struct
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from facelens import limits


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

    ceiling: int = field(default_factory=limits.model_bytes)
    ratio: int = 20
    floor: int = 16 << 20  # small files may always ask for this much: an expanded tensor is short on disk
    opcodes: int = 8_000_000
    memo: int = 4_000_000
    depth: int = 100
    entries: int = 200_000  # of an archive, of a state dict

    def bytes_for(self, size: int) -> int:
        """The most that a file of `size` bytes may ask for."""
        return min(self.ceiling, max(self.floor, self.ratio * size))


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
        return WIDTH[self.kind]


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
        return self.count * WIDTH.get(self.kind, 0)


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

WIDTH = {
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
STORAGES = {
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
CODE = re.compile(r"(?:[fiu][1248]|b1|c8|c16|f16|[SUV]\d{1,6})\Z")
_LONG_NAME = {"bool": "b1", "half": "f2", "single": "f4", "double": "f8", "int": "i8", "float": "f8"}


def _width_of(code: str) -> int:
    return int(code[1:]) * (4 if code[0] == "U" else 1)


def number_kind(code: str) -> bool:
    return code[0] in "fiubc" and code != "f16"


# Names. What is not understood below and not listed as harmless here counts as program code when it would be called.

_HARMLESS_MODULES = frozenset(
    ("argparse", "types", "collections", "pathlib", "datetime", "decimal", "fractions", "uuid", "enum", "typing")
)
_HARMLESS_BUILTINS = frozenset(
    name
    for names in (
        ("set", "frozenset", "list", "dict", "tuple", "int", "float", "str", "bytes", "bytearray", "bool", "complex"),
        ("slice", "range", "object", "type", "Ellipsis", "NoneType", "NotImplemented", "long", "unicode", "xrange"),
    )
    for name in names
)
_HARMLESS = frozenset(
    (
        "copyreg._reconstructor",
        "copyreg.__newobj__",
        "copyreg.__newobj_ex__",
        "functools.partial",
        "torch.device",
        "torch.serialization._get_layout",
        "torch.nn.backends.thnn._get_thnn_function_backend",
        "torch._utils._rebuild_sparse_tensor",
        "torch._utils._rebuild_qtensor",
        "torch._utils._rebuild_nested_tensor",
        "torch._utils._rebuild_meta_tensor_no_storage",
        "torch._utils._rebuild_wrapper_subclass",
        "numpy.random._pickle.__randomstate_ctor",
        "numpy.random._pickle.__generator_ctor",
        "numpy.random._pickle.__bit_generator_ctor",
        "numpy.random.bit_generator.__pyx_unpickle_SeedSequence",
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


class Source:
    """Bytes `start` to `end` of a stream, read in pieces; no length written in the file allocates more than that."""

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

    def skip(self, n: int) -> None:
        """Go on `n` bytes further without reading them."""
        position = self.position + n
        if position > self.end:
            raise Cut("the file ends early", want=position)
        if self._next + n <= len(self._piece):
            self._next += n
        else:
            self._at, self._piece, self._next = position, b"", 0

    def line(self) -> bytes:
        """Up to the next line break, which is stepped over. Protocol 0 writes whole arrays as a line."""
        found = bytearray()
        while True:
            stop = self._piece.find(b"\n", self._next)
            if stop >= 0:
                found += self._piece[self._next : stop]
                self._next = stop + 1
                return bytes(found)
            found += self._piece[self._next :]
            self._next = len(self._piece)
            found += (c := self.take(1))  # brings the next piece
            if c == b"\n":
                return bytes(found[:-1])


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
        source: Source,
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
        stack = self._stack
        if len(stack) < n:
            raise Spoilt("the stack is empty")
        if n == 1:
            stack[-1] = (stack[-1],)
        else:
            stack[-n:] = [tuple(stack[-n:])]

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
            inner = callee.args[0] if isinstance(callee, Foreign) and callee.args else None
            self._blame(inner.dotted if isinstance(inner, Name) else f"call of {shown}")
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
        self._push(self.call(self._named(module, name), args))

    def _obj(self) -> None:
        args = self._marked()
        self._push(self.call(args[0], tuple(args[1:])))

    def _build(self) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if isinstance(state, dict):
            for key, value in state.items():
                if isinstance(value, Name) and isinstance(key, str) and key.startswith("__") and key.endswith("__"):
                    self._blame(value.dotted)  # a method of the object itself, to be called by the next words
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


def whole(values: Any) -> tuple[int, ...]:
    found: tuple[int, ...] = tuple(values)
    if len(found) > 32 or not all(type(v) is int and 0 <= v < 1 << 62 for v in found):
        raise Spoilt("the shape of a tensor is not possible")
    return found


def dense(storage: Any, offset: Any, shape: Any, stride: Any, kind: str = "") -> Tensor:
    """A tensor over a storage, checked against it."""
    if not isinstance(storage, Storage):
        raise Spoilt("a tensor has no storage")
    shape, stride = whole(shape), whole(stride)
    (offset,) = whole((offset,))
    if len(shape) != len(stride):
        raise Spoilt("a tensor's shape and strides do not agree")
    kind = kind or storage.kind
    if kind not in WIDTH or storage.kind not in WIDTH:
        return Tensor(None, kind, shape, refusal=kind or "without a type")
    width, room = WIDTH[kind], storage.count * storage.width
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
    storage, offset, shape, stride = args[:4]
    return dense(storage, offset, shape, stride, _TORCH_KINDS.get(kind, kind))


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


def _byte_array(machine: Machine, args: tuple[Any, ...]) -> Any:
    if not args or isinstance(args[0], (bytes, bytearray)):
        return args[0] if args else b""
    # A number would ask for so many bytes.
    return _encoded(machine, args) if isinstance(args[0], str) else Foreign("builtins.bytearray", args)


def _dtype(machine: Machine, args: tuple[Any, ...]) -> Any:
    code = args[0]
    if isinstance(code, Name):
        code = code.name
    if not isinstance(code, str):
        return Kind("V0", plain=False)
    order, code = (code[0], code[1:]) if code[:1] in ("<", ">", "|", "=") else ("<", code)
    return Kind(code, order, plain=bool(CODE.match(code)))


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
    return Array(refusal="array without data")


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
    target.kind, target.shape, target.fortran = kind, whole(shape), bool(fortran)
    if not kind.plain or not number_kind(kind.code) or not isinstance(data, (bytes, bytearray, memoryview)):
        target.refusal = "object array"
        return
    if target.size != len(data):
        raise Spoilt(f"an array of {target.size:,} bytes holds {len(data):,}")
    target.data, target.refusal = data, ""


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
    "builtins.bytearray": _byte_array,
    "builtins.bytes": _byte_array,
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


def storage_of(wanted: Any, seen: dict[str, Storage], pile: Pile | None) -> Any:
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
    kind = STORAGES.get(name, name)
    if key not in seen:
        seen[key] = Storage(kind, key, count, bytes=pile)
    root = seen[key]
    if kind != root.kind or count > root.count:
        if WIDTH.get(kind, 0) * count > WIDTH.get(root.kind, 0) * root.count:
            raise Spoilt("a storage has two sizes")
        root = Storage(kind, key, count, bytes=pile)
    view = wanted[5] if len(wanted) > 5 else None
    if isinstance(view, tuple) and len(view) == 3:
        start, length = whole(view[1:])
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
        made = np.ascontiguousarray(made).reshape(found.shape)  # a scalar stays one
        return made.astype(made.dtype.newbyteorder("="), copy=False)
    storage, width = found.storage, WIDTH[found.kind]
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
