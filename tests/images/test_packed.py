from __future__ import annotations

import os

import numpy as np
import pytest

from facelens.images.packed import Packed

WORDS = [b"a/b.jpg", b"", b"\xff\xfe.png", b"x" * 300, "ä/é.jpg".encode()]


def test_items_come_back_as_they_went_in() -> None:
    packed = Packed.of(WORDS)
    assert len(packed) == len(WORDS)
    assert list(packed) == WORDS
    assert [packed[i] for i in range(len(WORDS))] == WORDS
    assert packed[-1] == WORDS[-1]


def test_text_is_taken_as_file_names() -> None:
    assert list(Packed.of([os.fsdecode(b"\xff.jpg"), "b"])) == [b"\xff.jpg", b"b"]


@pytest.mark.parametrize("row", [5, -6, 100])
def test_outside_is_an_index_error(row: int) -> None:
    with pytest.raises(IndexError):
        Packed.of(WORDS)[row]


def test_empty() -> None:
    empty = Packed.of([])
    assert len(empty) == 0 and list(empty) == []
    assert list(empty.take(np.zeros(0, np.int64))) == []


@pytest.mark.parametrize("seed", range(5))
def test_take_against_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = [bytes(rng.integers(0, 256, rng.integers(0, 9), np.uint8)) for _ in range(40)]
    packed = Packed.of(words)
    rows = rng.integers(0, 40, 60)
    assert list(packed.take(rows)) == [words[row] for row in rows]
    assert list(packed.take(rows[:0])) == []
