"""What stands behind the options of a command, read from words."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

from facelens.words import tr

Result = TypeVar("Result")


def rate(word: str) -> float:
    value = float(word)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(tr("{word} is no rate between 0 and 1", word=word))
    return value


def count(word: str) -> int:
    value = int(word)
    if value < 1:
        raise argparse.ArgumentTypeError(tr("{word} is no number from 1 up", word=word))
    return value


def size(word: str) -> int:
    value = int(word)
    if value < 0:
        raise argparse.ArgumentTypeError(tr("{word} is no number from 0 up", word=word))
    return value


def numbers(word: str) -> tuple[int, ...]:
    return tuple(count(one) for one in word.split(","))


def many(read: Callable[[str], Result]) -> Callable[[str], tuple[Result, ...]]:
    def several(word: str) -> tuple[Result, ...]:
        return tuple(dict.fromkeys(read(one.strip()) for one in word.split(",")))

    return several


def alpha(word: str) -> float:
    value = -1.0 if word == "sum" else float(word)
    if not (0 <= value <= 1 or value == -1):
        raise argparse.ArgumentTypeError(tr("{word} is no share from 0 to 1, nor sum", word=word))
    return value


def above(word: str) -> float:
    value = float(word)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(tr("{word} is not above 0", word=word))
    return value


def grid(word: str) -> tuple[int, int]:
    rows, cross, columns = word.lower().replace("×", "x").partition("x")
    if not cross:
        raise argparse.ArgumentTypeError(tr("{word} is no grid such as 4x4", word=word))
    return count(rows), count(columns)


def weights(word: str) -> str:
    from facelens.analyses.plan import PATCH_WEIGHTS

    name = {"sc": "sc distance"}.get(word.lower(), word.lower().replace("-", " "))
    if name not in PATCH_WEIGHTS:
        known = ", ".join(name.replace(" ", "-") for name in PATCH_WEIGHTS)
        raise argparse.ArgumentTypeError(tr("{word} is none of {known}", word=word, known=known))
    return name
