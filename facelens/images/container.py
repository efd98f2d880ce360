"""Pictures inside one pickle file (insightface .bin), found without running anything that the file says.

A .bin is a pickle of (pictures, same): 2P encoded pictures and P truth values, pair i being pictures 2i and 2i + 1.
The opcodes are followed on a stack of our own: no name of the file is ever imported, calls become inert records, and
payloads stay where they are. What is kept is the place of every picture in the file, so that one of 12,000 is read
without the others.
"""

from __future__ import annotations

import os
import pickletools
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.progress import Tick, silent
from facelens.words import escaped, tr

RAW, LATIN = 0, 1  # how a payload is written in the file: as it is, or as UTF-8 of Latin-1 text

_BYTES = {"BINBYTES": 5, "SHORT_BINBYTES": 2, "BINBYTES8": 9, "BYTEARRAY8": 9, "BINSTRING": 5, "SHORT_BINSTRING": 2}
_TEXT = {"BINUNICODE": 5, "SHORT_BINUNICODE": 2, "BINUNICODE8": 9}


@dataclass(frozen=True)
class _Payload:
    offset: int
    length: int
    written: int = RAW
    text: str | None = None  # short text is kept: it may be a name or a truth value


@dataclass(frozen=True)
class _Name:
    module: str
    name: str


@dataclass
class _Call:
    """What the file wanted to be called, and with what. Nothing is."""

    callee: Any
    arguments: Any
    state: Any = None


class _Mark:
    pass


@dataclass(frozen=True, eq=False)
class Container:
    """Places of the pictures in a .bin file: offset, length (n,) int64, written (n,) uint8; same (P,) bool.

    `shapes` holds (H, W, 3) for the pictures that are stored as pixels.
    """

    path: Path
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    written: NDArray[np.uint8]
    same: NDArray[np.bool_]
    shapes: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.offset)

    def read(self, place: int) -> bytes:
        """The stored bytes of one picture."""
        if not 0 <= place < len(self):
            raise FileNotFoundError(f"{self.path.name} holds no picture {place}")
        with open(self.path, "rb") as stream:
            return _stored(stream, int(self.offset[place]), int(self.length[place]), int(self.written[place]))


def _stored(stream: BinaryIO, offset: int, length: int, written: int) -> bytes:
    stream.seek(offset)
    data = stream.read(length)
    if len(data) < length:
        raise OSError("the file has become shorter")
    try:
        if written == LATIN:
            return data.decode("utf-8", "surrogatepass").encode("latin-1")
    except ValueError as error:
        raise OSError("the stored picture is damaged") from error
    return data


_kept: OrderedDict[tuple[str, int, int], Container] = OrderedDict()
_lock = threading.Lock()


def index(path: Path, *, tick: Tick = silent) -> Container:
    """The places in `path`; kept for the last few files, found again when size or time have changed."""
    state = os.stat(path)
    key = (os.fspath(path), state.st_size, state.st_mtime_ns)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
        with open(path, "rb") as stream:
            made = _indexed(path, stream, state.st_size, tick)
        _kept[key] = made
        while len(_kept) > 4:
            _kept.popitem(last=False)
    return made


class _Bounded:
    """A file that never tries to read more than it has: a length written in the file must not allocate memory."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream, self._size = stream, size

    def read(self, n: int = -1) -> bytes:
        left = self._size - self._stream.tell()
        return self._stream.read(left if n < 0 else min(n, left))

    def readline(self) -> bytes:
        return self._stream.readline(1 << 26)

    def tell(self) -> int:
        return self._stream.tell()


def _refused(path: Path, why: str) -> InputError:
    message = tr(
        "{name} is not a .bin file of pictures and pairs: {why}. Nothing in it was run.",
        name=escaped(path.name),
        why=why,
    )
    return InputError(message, hint=tr("A .bin file is made with the builder, or by insightface."))


# What following damaged opcodes runs into.
_DAMAGE = (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, EOFError, OSError)


def _indexed(path: Path, stream: BinaryIO, size: int, tick: Tick) -> Container:
    try:
        whole = _follow(_Bounded(stream, size), size, tick)
        pictures, same = _pictures_and_same(whole, stream)
    except _Odd as odd:
        raise _refused(path, str(odd)) from None
    except _DAMAGE as error:
        raise _refused(path, tr("it is cut short or damaged")) from error
    payloads, shapes = [], {}
    for place, item in enumerate(pictures):
        payload, shape = _payload(item)
        if payload is None:
            raise _refused(path, tr("entry {n} is no picture", n=place))
        payloads.append(payload)
        if shape is not None:
            shapes[place] = shape
    if len(payloads) != 2 * len(same):
        raise _refused(path, tr("{n} pictures do not make {pairs} pairs", n=len(payloads), pairs=len(same)))
    return Container(
        Path(path),
        np.array([p.offset for p in payloads], np.int64),
        np.array([p.length for p in payloads], np.int64),
        np.array([p.written for p in payloads], np.uint8),
        np.array(same, bool),
        shapes,
    )


class _Odd(Exception):
    """Said to the user as the reason why a file is refused."""


def _follow(stream: _Bounded, size: int, tick: Tick) -> Any:
    """The object that the opcodes describe, made of lists, tuples, numbers, payloads and inert calls."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}

    def since_mark() -> list[Any]:
        for at in range(len(stack) - 1, -1, -1):
            if isinstance(stack[at], _Mark):
                taken = stack[at + 1 :]
                del stack[at:]
                return taken
        raise ValueError("no mark")

    argument: Any
    for count, (opcode, argument, position) in enumerate(pickletools.genops(stream)):  # type: ignore[arg-type]
        name = opcode.name
        if count % 4096 == 0:
            tick(position or 0, size)
        at = position or 0
        if name in _BYTES:
            raw = argument if isinstance(argument, bytes | bytearray) else argument.encode("latin-1")
            # Python 2 wrote names as byte strings too.
            stack.append(_Payload(at + _BYTES[name], len(raw), RAW, raw.decode("latin-1") if len(raw) <= 200 else None))
        elif name in _TEXT:
            length = len(argument.encode("utf-8", "surrogatepass"))
            stack.append(_Payload(at + _TEXT[name], length, LATIN, argument if len(argument) <= 200 else None))
        elif name in ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"):
            stack.append(argument)
        elif name in ("NEWTRUE", "NEWFALSE"):
            stack.append(name == "NEWTRUE")
        elif name == "NONE":
            stack.append(None)
        elif name in ("EMPTY_LIST", "EMPTY_DICT"):
            stack.append([])
        elif name == "EMPTY_TUPLE":
            stack.append(())
        elif name == "MARK":
            stack.append(_Mark())
        elif name == "APPEND":
            item = stack.pop()
            stack[-1].append(item)
        elif name == "APPENDS":
            items = since_mark()
            stack[-1].extend(items)
        elif name in ("LIST", "TUPLE"):
            made = since_mark()
            stack.append(made if name == "LIST" else tuple(made))
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            n = int(name[-1])
            taken = tuple(stack[len(stack) - n :])
            if len(taken) < n:
                raise IndexError(name)
            del stack[len(stack) - n :]
            stack.append(taken)
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[int(argument)] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(memo[int(argument)])
        elif name == "GLOBAL":
            module, _, attribute = argument.partition(" ")
            stack.append(_allowed(module, attribute))
        elif name == "STACK_GLOBAL":
            attribute, module = stack.pop(), stack.pop()
            stack.append(_allowed(module.text, attribute.text))
        elif name == "REDUCE":
            arguments, callee = stack.pop(), stack.pop()
            stack.append(_Call(callee, arguments))
        elif name == "BUILD":
            state = stack.pop()
            if isinstance(stack[-1], _Call):
                stack[-1].state = state
        elif name == "POP":
            stack.pop()
        elif name == "DUP":
            stack.append(stack[-1])
        elif name == "STOP":
            return stack.pop()
        elif name not in ("PROTO", "FRAME"):
            raise _Odd(tr("it holds things other than pictures ({what})", what=name))
    raise EOFError


# What pickles of numpy arrays and of bytes under old protocols mention. Mentioned, not imported.
_HARMLESS = {
    *((f"numpy{core}.multiarray", name) for core in (".core", "._core") for name in ("_reconstruct", "scalar")),
    *((f"numpy{core}.numeric", "_frombuffer") for core in (".core", "._core")),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
    ("__builtin__", "bytes"),
    ("builtins", "bytes"),
    ("__builtin__", "bytearray"),
    ("builtins", "bytearray"),
}


def _allowed(module: object, name: object) -> _Name:
    if (module, name) not in _HARMLESS:
        raise _Odd(tr("it contains program code ({what})", what=escaped(f"{module}.{name}")[:80]))
    return _Name(str(module), str(name))


def _pictures_and_same(whole: Any, stream: BinaryIO) -> tuple[list[Any], list[bool]]:
    if not isinstance(whole, list | tuple) or len(whole) != 2:
        raise _Odd(tr("it is not a pair of lists"))
    pictures, same = whole
    if isinstance(same, _Call):
        payload, _ = _array(same)
        if payload is None:
            raise _Odd(tr("its list of pairs holds other things than yes and no"))
        same = list(_stored(stream, payload.offset, payload.length, payload.written))
    if not isinstance(pictures, list | tuple) or not isinstance(same, list | tuple):
        raise _Odd(tr("it is not a pair of lists"))
    return list(pictures), _truths(same)


def _truths(values: Iterable[Any]) -> list[bool]:
    made = []
    for value in values:
        if isinstance(value, _Call):  # numpy.bool_: scalar(dtype, b"\x01")
            arguments = value.arguments if isinstance(value.arguments, tuple) else ()
            payload = next((a for a in arguments if isinstance(a, _Payload)), None)
            encoded = next((a for a in arguments if isinstance(a, _Call) and _is(a.callee, "encode")), None)
            if encoded is not None:
                payload = encoded.arguments[0]
            if payload is None or not payload.text:
                raise _Odd(tr("its list of pairs holds other things than yes and no"))
            value = payload.text != "\0"
        if not isinstance(value, int | bool):
            raise _Odd(tr("its list of pairs holds other things than yes and no"))
        made.append(bool(value))
    return made


def _is(callee: object, name: str) -> bool:
    return isinstance(callee, _Name) and callee.name == name


def _payload(item: Any) -> tuple[_Payload | None, tuple[int, int, int] | None]:
    if isinstance(item, _Payload):
        return item, None
    if isinstance(item, _Call):
        if _is(item.callee, "encode") or _is(item.callee, "bytes") or _is(item.callee, "bytearray"):
            first = item.arguments[0] if isinstance(item.arguments, tuple) and item.arguments else None
            return _payload(first) if first is not item else (None, None)
        payload, shape = _array(item)
        if payload is None or shape is None:
            return None, None
        if len(shape) == 1:
            return payload, None
        if len(shape) == 3 and shape[2] == 3 and 0 < shape[0] * shape[1] * 3 <= payload.length:
            return payload, (shape[0], shape[1], 3)
    return None, None


def _array(call: _Call) -> tuple[_Payload | None, tuple[int, ...] | None]:
    """Bytes and shape of a pickled uint8 or bool array, (None, None) for anything else."""
    if _is(call.callee, "_reconstruct") and isinstance(call.state, tuple) and len(call.state) == 5:
        _, shape, dtype, fortran, data = call.state
    elif _is(call.callee, "_frombuffer") and isinstance(call.arguments, tuple) and len(call.arguments) == 4:
        data, dtype, shape, order = call.arguments
        fortran = isinstance(order, _Payload) and order.text == "F"
    else:
        return None, None
    if isinstance(data, _Call):
        data = _payload(data)[0]
    if isinstance(shape, int):
        shape = (shape,)
    described = dtype.arguments[0] if isinstance(dtype, _Call) and isinstance(dtype.arguments, tuple) else None
    code = described.text if isinstance(described, _Payload) else None
    fits = isinstance(shape, tuple) and all(type(side) is int and 0 <= side < 1 << 31 for side in shape)
    if (
        code not in ("u1", "b1", "|u1", "|b1")
        or not isinstance(data, _Payload)
        or not fits
        or (fortran and len(shape) > 1)
    ):
        return None, None
    return data, shape
