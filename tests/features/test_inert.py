"""The stack machine: what it builds of each word, what it takes for code, what it refuses."""

from __future__ import annotations

import argparse
import builtins
import collections
import datetime
import decimal
import functools
import importlib
import io
import math
import pathlib
import pickle
import struct
import types
from typing import Any

import numpy as np
import pytest

from facelens.features import inert
from facelens.features.inert import Array, Cut, Foreign, Limits, Machine, Source, Spoilt, Storage, Tensor


def load(data: bytes, **options: Any) -> Any:
    return machine(data, **options).load()


def machine(data: bytes, limits: Limits | None = None, **options: Any) -> Machine:
    return Machine(Source(io.BytesIO(data), 0, len(data)), limits or Limits(), **options)


PLAIN: list[Any] = [
    None,
    True,
    False,
    *(0, 1, 255, 256, 65535, 65536, -1, -(2**31), 2**31, 2**63, -(2**63), 2**200, -(2**200)),
    *(0.0, -1.5, 1e300, math.inf),
    *("", "text", "ü€😀", "line\nbreak\\ and 'quotes' \"two\"", "x" * 70_000),
    *(b"", b"bytes\x00\xff", bytes(range(256)) * 300),
    [1, [2, [3]]],
    (),
    (1,),
    (1, 2),
    (1, 2, 3),
    (1, 2, 3, 4),
    {"a": 1, "b": {"c": (1, 2)}, 3: None},
    list(range(3000)),
    {str(i): i for i in range(3000)},
    collections.OrderedDict(a=1, b=2),
    ["same"] * 3,
]


@pytest.mark.parametrize("protocol", range(6))
def test_plain_values_come_out_as_they_went_in(protocol: int) -> None:
    for value in PLAIN:
        found = load(pickle.dumps(value, protocol=protocol))
        assert found == value and (type(found) is type(value) or isinstance(value, collections.OrderedDict)), value


@pytest.mark.parametrize("protocol", range(6))
def test_known_objects_become_plain_data(protocol: int) -> None:
    cases: list[tuple[Any, Any]] = [
        ({1, 2, 3}, [1, 2, 3]),
        (frozenset((1,)), [1]),
        (collections.defaultdict(int, a=1), {"a": 1}),
        (collections.Counter(a=2), {"a": 2}),
        (collections.deque([1, 2]), [1, 2]),
        (argparse.Namespace(a=1, b="x"), {"a": 1, "b": "x"}),
        (types.SimpleNamespace(a=1), {"a": 1}),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (np.float32(0.5), 0.5),
        (np.int64(-3), -3),
        (np.bool_(True), True),
        (bytearray(b"ab"), b"ab"),
    ]
    for value, expected in cases:
        one = machine(pickle.dumps(value, protocol=protocol))
        assert one.load() == expected, value
        assert not one.code, value


@pytest.mark.parametrize("protocol", range(6))
def test_arrays(protocol: int) -> None:
    for value in (
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(3, dtype=">i4"),
        np.array(2.5, np.float16),
        np.zeros((0, 4), np.uint8),
        np.array([True, False]),
        np.array([1 + 2j], np.complex64),
        np.arange(10)[::2],
    ):
        found = load(pickle.dumps(value, protocol=protocol))
        assert isinstance(found, Array) and not found.refusal
        made = inert.array_of(found, Limits())
        np.testing.assert_array_equal(made, value)
        assert made.shape == value.shape and made.dtype == value.dtype.newbyteorder("=") and made.flags.c_contiguous


def test_arrays_of_objects_are_refused() -> None:
    for value in (np.array([{}], dtype=object), np.zeros(2, [("a", "f4")]), np.array(["text"])):
        found = load(pickle.dumps(value))
        assert isinstance(found, Array) and found.refusal == "object array"


def test_other_objects_become_records() -> None:
    one = machine(pickle.dumps([datetime.date(2020, 1, 2), decimal.Decimal("1.5"), functools.partial(print, 1)]))
    day, number, partial = one.load()
    assert (day.name, number.name, partial.name) == ("datetime.date", "decimal.Decimal", "functools.partial")
    assert number.args == ("1.5",)
    assert one.foreign["datetime.date"] == 1
    assert list(one.code) == ["builtins.print"]  # mentioned, and never a part of data


class Thing:
    def __init__(self) -> None:
        self.weight = [1, 2]


class Slotted(dict):  # type: ignore[type-arg]
    pass


def test_the_state_of_foreign_objects_is_kept() -> None:
    for protocol in range(6):
        found = load(pickle.dumps(Thing(), protocol=protocol))
        assert isinstance(found, Foreign) and found.name.endswith("Thing") and found.state == {"weight": [1, 2]}
        found = load(pickle.dumps(Slotted(a=1), protocol=protocol))
        assert isinstance(found, Foreign) and found.items == {"a": 1}


def test_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(importlib, "import_module", lambda *a, **k: asked.append(a[0]))
        patch.setattr(builtins, "__import__", lambda *a, **k: asked.append(a[0]))  # last: patching itself imports
        found = load(b"\x80\x02cwave\nopen\n)R.")
    assert isinstance(found, Foreign) and found.name == "wave.open"
    assert not asked


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (b"cos\nsystem\n(S'x'\ntR.", ["os.system"]),
        (b"cos\nsystem\n.", ["os.system"]),
        (b"c__builtin__\neval\n(S'1'\ntR.", ["builtins.eval"]),
        (b"cmodels.net\nNet\n)\x81.", []),
        (b"cmodels.net\nnet\n)\x81.", []),
        (b"cmodels.net\nmake\n)R.", ["models.net.make"]),
        (b"ctorch\nfloat32\n.", []),
        (b"ctorch.nn.functional\nrelu\n.", []),
        (b"ctorch\ndevice\n(S'cuda'\ntR.", []),
        (b"(S'x'\nios\nsystem\n.", ["os.system"]),
        (b"(cos\nsystem\nS'x'\no.", ["os.system"]),
        (b"\x82\x01.", ["copyreg.extension_1"]),
        (b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR.", []),
        (b"cnumpy._core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR.", []),
        (
            b"cbuiltins\ngetattr\n(cos\nS'system'\ntR.".replace(b"cos\n", b"cos\npath\n"),
            ["builtins.getattr", "os.path"],
        ),
    ],
)
def test_what_counts_as_code(words: bytes, code: list[str]) -> None:
    one = machine(words)
    one.load()
    assert list(one.code) == code


@pytest.mark.parametrize(
    "words",
    [
        b"",
        b"\x80\x02",
        b".",
        b"R.",
        b"t.",
        b"\xff.",
        b"h\x01.",
        b"]K\x01K\x02s",
        b"I" + b"9" * 5000 + b"\n.",
        b"Iabc\n.",
        b"S'open\n.",
        b"V" + b"x" * 70_000,
        b"c" + b"a" * 2000 + b"\nb\n.",
        b"\x8c\x02\xff\xff.",
        b"K\x01K\x02\x93.",
        b"P0\n.",
        b"\x97.",
        b"cos\nsystem\nK\x01R.",
        b"p-1\n.",
    ],
)
def test_damaged_pickles_are_refused(words: bytes) -> None:
    with pytest.raises(Spoilt):
        load(words)


def test_limits() -> None:
    assert load(b"\x80\x02" + b"NN" * 10 + b".", limits=Limits(opcodes=30)) is None
    with pytest.raises(Spoilt, match="too long"):
        load(b"\x80\x02" + b"NN" * 20 + b".", limits=Limits(opcodes=30))
    with pytest.raises(Spoilt, match="remembers"):
        load(b"N" + b"".join(b"r" + struct.pack("<I", i) for i in range(50)) + b".", limits=Limits(memo=20))
    assert Limits().bytes_for(1000) == 16 << 20
    assert Limits().bytes_for(10 << 20) == 200 << 20
    assert Limits(ceiling=100).bytes_for(10 << 20) == 100


def test_keys_are_tamed() -> None:
    """Keys that would take long to hash or that collide are replaced by words."""
    deep: Any = ()
    for _ in range(90):
        deep = (deep,)
    found = load(pickle.dumps({deep: 1, (1, "a"): 2, 2**100: 3, 1.5: 4, b"x": 5}))
    assert set(found) == {"(…)", "(1, a)", "int of 101 bits", 1.5, b"x"}


def test_a_source_reads_across_its_pieces() -> None:
    data = bytes(range(256)) * 1000
    source = Source(io.BytesIO(data), 10, len(data) - 10)
    found = b""
    for n in (1, 70_000, 3, 65_536, 0, 9):
        assert source.position == 10 + len(found)
        found += source.take(n)
    source.skip(50)
    source.skip(100_000)
    assert source.take(2) == data[source.position - 2 : source.position]
    assert found == data[10 : 10 + len(found)]
    with pytest.raises(Cut):
        source.take(len(data))
    with pytest.raises(Cut):
        source.skip(len(data))


class Pile:
    swapped = False

    def __init__(self, data: bytes) -> None:
        self.data = data

    def length(self, key: str) -> int:
        return len(self.data)

    def read(self, key: str, start: int, length: int) -> bytes:
        assert start >= 0 and start + length <= len(self.data), "reads past the storage"
        return self.data[start : start + length]


def test_strided_tensors_equal_numpy() -> None:
    numbers = np.arange(60, dtype=np.float32)
    storage = Storage("float32", "0", 60, bytes=Pile(numbers.tobytes()))
    rng = np.random.default_rng(0)
    tried = taken = 0
    for _ in range(500):
        ndim = int(rng.integers(0, 4))
        shape = tuple(int(n) for n in rng.integers(0, 6, ndim))
        stride = tuple(int(n) for n in rng.integers(0, 20, ndim))
        offset = int(rng.integers(0, 60))
        fits = not math.prod(shape) or offset + sum((n - 1) * s for n, s in zip(shape, stride)) < 60
        tried += 1
        if not fits:
            with pytest.raises(Spoilt):
                inert.dense(storage, offset, shape, stride)
            continue
        taken += 1
        tensor = inert.dense(storage, offset, shape, stride)
        expected = (
            np.array([], np.float32).reshape(shape)
            if not math.prod(shape)
            else np.lib.stride_tricks.as_strided(numbers[offset:], shape, tuple(4 * s for s in stride))
        )
        np.testing.assert_array_equal(inert.array_of(tensor, Limits()), expected)
    assert taken > 100 and tried - taken > 100


@pytest.mark.parametrize(
    ("shape", "stride", "offset"),
    [((-1,), (1,), 0), ((4,), (-1,), 3), ((4,), (1,), -1), ((4, 1), (1,), 0), ((True,), (1,), 0), ((4.0,), (1,), 0)],
)
def test_impossible_tensors(shape: Any, stride: Any, offset: Any) -> None:
    with pytest.raises(Spoilt):
        inert.dense(Storage("float32", "0", 4), offset, shape, stride)


def test_a_storage_read_as_another_type_keeps_its_bytes() -> None:
    untyped = Storage("bytes", "0", 16, bytes=Pile(np.arange(4, dtype=np.float32).tobytes()))
    tensor = inert.dense(untyped, 1, (3,), (1,), "float32")
    assert inert.array_of(tensor, Limits()).tolist() == [1, 2, 3]
    with pytest.raises(Spoilt):
        inert.dense(untyped, 2, (3,), (1,), "float32")


def test_bfloat16_becomes_float32() -> None:
    exact = np.array([1.0, -2.5, 3.140625, np.inf], np.float32)
    data = (exact.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    tensor = Tensor(Storage("bfloat16", "0", 4, bytes=Pile(data)), "bfloat16", (4,), (1,))
    np.testing.assert_array_equal(inert.array_of(tensor, Limits()), exact)


def test_the_other_byte_order() -> None:
    pile = Pile(np.arange(4, dtype=">f4").tobytes())
    pile.swapped = True
    tensor = Tensor(Storage("float32", "0", 4, bytes=pile), "float32", (2, 2), (1, 2))
    made = inert.array_of(tensor, Limits())
    assert made.tolist() == [[0, 2], [1, 3]] and made.dtype.isnative
