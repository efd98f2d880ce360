"""Names from elsewhere find their faces: by path, by the end of it, by a file name that occurs once."""

from __future__ import annotations

from pathlib import Path

import pytest

from facelens.images.faceset import FaceSet
from facelens.images.matching import NONE, SEVERAL, rows_by_name

PATHS = ["a/1.jpg", "b/1.jpg", "b/2.jpg", "b/2.png", "c/b/3.jpg", "b/3.jpg", "d/né.jpg", b"d/n\xff.jpg", "e/only.jpg"]
FACES = FaceSet.build("g", Path("/g"), paths=PATHS, identities=[None] * len(PATHS))


def row(name: str, *, loosely: bool = False) -> int:
    return int(rows_by_name([name], FACES, loosely=loosely)[0])


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("a/1.jpg", 0),
        ("/data/g/a/1.jpg", 0),
        ("1.jpg", SEVERAL),
        ("b/2", SEVERAL),
        ("2.png", 3),
        ("/x/c/b/3.jpg", 4),  # both 3.jpg are its end; the longer one is meant
        ("b/3.jpg", 5),
        ("d/n\udce9.jpg", 6),  # written in Latin-1
        ("d/n\udcff.jpg", 7),  # bytes that are no text
        ("d/n\\xff.jpg", 7),  # the same as an export shows them
        ("x/only.jpg", NONE),
        ("", NONE),
    ],
)
def test_a_name_finds_its_face(name: str, fits: int) -> None:
    assert row(name) == fits


@pytest.mark.parametrize(
    ("name", "fits"),
    [("x/only.jpg", 8), ("x\\only.png", 8), ("x/1.jpg", NONE), ("1.jpg", SEVERAL), ("lonely.jpg", NONE)],
)
def test_loosely_a_file_name_is_enough_where_it_is_the_only_one(name: str, fits: int) -> None:
    assert row(name, loosely=True) == fits


def test_loosely_a_file_name_that_is_asked_for_twice_is_nobody_s() -> None:
    assert rows_by_name(["x/only.jpg", "y/only.jpg"], FACES, loosely=True).tolist() == [NONE, NONE]
    assert rows_by_name(["e/only.jpg", "y/only.jpg"], FACES, loosely=True).tolist() == [8, NONE]
