"""How a long function tells how far it is, and learns that it should stop."""

from __future__ import annotations

from typing import Protocol


class Tick(Protocol):
    """Called between pieces of work; raises `Cancelled` when the work is no longer wanted."""

    def __call__(self, done: int, total: int, note: str = "") -> None: ...


def silent(done: int, total: int, note: str = "") -> None:
    """The tick of scripts and tests that do not watch."""


def part_of(tick: Tick, number: int, of: int) -> Tick:
    """The tick of one of several parts of about the same length.

    >>> second = part_of(lambda done, total, note="": print(done, total), 1, 2)
    >>> second(3, 4)
    1750 2000
    """

    def inner(done: int, total: int, note: str = "") -> None:
        tick(int(1000 * (number + min(1.0, done / max(total, 1)))), 1000 * max(of, 1), note)

    return inner


def offer(tick: Tick, value: object) -> None:
    """Hand an intermediate result to whoever watches; nothing happens where nobody takes them.

    A tick that takes them has a method `partial(value)`. Values go to another process: give what is new, not all.

    >>> offer(silent, "half of it")
    """
    take = getattr(tick, "partial", None)
    if take is not None:
        take(value)
