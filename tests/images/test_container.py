from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from facelens.errors import InputError
from facelens.images import container, decode, readers

from .conftest import Draw


@pytest.fixture
def pictures(draw: Draw) -> list[bytes]:
    return [draw(f"{i}.jpg", i).read_bytes() for i in range(6)]


SAME = [True, False, True]


@pytest.mark.parametrize("protocol", range(1, 6))
@pytest.mark.parametrize("items", ["bytes", "bytearray", "array", "pixels"])
@pytest.mark.parametrize("same", ["bool", "numpy", "array", "int"])
def test_every_way_of_writing_a_bin(
    tmp_path: Path, pictures: list[bytes], protocol: int, items: str, same: str
) -> None:
    make = {
        "bytes": bytes,
        "bytearray": bytearray,
        "array": lambda data: np.frombuffer(data, np.uint8),
        "pixels": decode.decode,
    }[items]
    truth = {"bool": SAME, "numpy": [np.bool_(x) for x in SAME], "array": np.array(SAME), "int": [1, 0, 1]}[same]
    path = tmp_path / "a.bin"
    path.write_bytes(pickle.dumps(([make(data) for data in pictures], truth), protocol=protocol))
    reading = readers.read(path)
    assert len(reading.faces) == 6 and reading.faces.embedded
    assert reading.protocol is not None and reading.protocol.pairs is not None
    assert reading.protocol.pairs.same.tolist() == SAME
    assert reading.protocol.pairs.pairs.tolist() == [[0, 1], [2, 3], [4, 5]]
    for row, data in enumerate(pictures):
        np.testing.assert_array_equal(decode.read_face(reading.faces, row), decode.decode(data))
        assert decode.header_face(reading.faces, row).width == 64
        assert decode.thumbnail_face(reading.faces, row, 32).shape[:2] == (32, 32)


def test_python_2_wrote_strings(tmp_path: Path) -> None:
    # Protocol 2 of Python 2: BINSTRING and SHORT_BINSTRING.
    path = tmp_path / "a.bin"
    path.write_bytes(b"\x80\x02](U\x03abcT\x04\x00\x00\x00\xff\xd8\xff\x00e]\x88a\x86.")
    stored = container.index(path)
    assert [stored.read(0), stored.read(1)] == [b"abc", b"\xff\xd8\xff\x00"]


class Canary:
    """Pickles to a call that makes a file."""

    def __init__(self, command: tuple[object, ...]) -> None:
        self.command = command

    def __reduce__(self) -> tuple[object, ...]:
        return self.command  # type: ignore[return-value]


@pytest.mark.parametrize("place", ["whole", "pictures", "same", "item"])
@pytest.mark.parametrize("protocol", range(6))
def test_code_is_refused_and_not_run(tmp_path: Path, place: str, protocol: int) -> None:
    witness = tmp_path / "witness"
    for command in ((os.mkdir, (str(witness),)), (eval, (f"open({str(witness)!r}, 'w')",)), (exec, ("1",))):
        bad = Canary(command)
        whole = {"whole": bad, "pictures": (bad, [True]), "same": ([b"a", b"b"], bad), "item": ([b"a", bad], [True])}[
            place
        ]
        path = tmp_path / "a.bin"
        path.write_bytes(pickle.dumps(whole, protocol=protocol))
        says = "Nothing in it was run" if protocol == 0 else r"program code \(.*Nothing in it was run"
        with pytest.raises(InputError, match=says):
            readers.read(path)
        assert not witness.exists()


def test_a_length_that_lies_allocates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    for opcode in (
        b"B\xff\xff\xff\x7f",
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\x3f",
        b"\x96\xff\xff\xff\xff\xff\x00\x00\x00",
    ):
        path.write_bytes(b"\x80\x04](" + opcode + b"abce]\x88a\x86.")
        with pytest.raises(InputError, match="cut short"):
            container.index(path)


@pytest.mark.parametrize(
    "value",
    [([b"a"], [True]), ([b"a", b"b"], [True, False]), [], {"a": 1}, ([1, 2], [True]), ([b"a", b"b"], ["x"]), ([], [])],
)
def test_other_shapes_are_refused(tmp_path: Path, value: object) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(pickle.dumps(value))
    with pytest.raises(InputError):
        readers.read(path)


def test_a_changed_file_is_indexed_anew(tmp_path: Path, pictures: list[bytes]) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(pickle.dumps((pictures[:2], [True])))
    assert len(container.index(path)) == 2
    path.write_bytes(pickle.dumps((pictures[:4], [True, False])))
    assert len(container.index(path)) == 4


def test_a_file_that_shrinks_is_a_picture_error(tmp_path: Path, pictures: list[bytes]) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(pickle.dumps((pictures[:2], [True])))
    faces = readers.read(path).faces
    path.unlink()
    with pytest.raises(decode.PictureError) as caught:
        decode.read_face(faces, 0)
    assert caught.value.reason == "missing"
