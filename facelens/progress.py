"""How a long function tells how far it is, and learns that it should stop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Tick(Protocol):
    """Called between pieces of work; raises `Cancelled` when the work is no longer wanted."""

    def __call__(self, done: int, total: int, note: str = "") -> None: ...


def silent(done: int, total: int, note: str = "") -> None:
    """The tick of scripts and tests that do not watch."""


def ticking(
    items: Sequence[T] | Iterable[T], tick: Tick, *, total: int | None = None, every: int = 1, note: str = ""
) -> Iterator[T]:
    """Yield `items`, telling `tick` before every `every`-th one and once at the end.

    >>> seen = []
    >>> list(ticking("abc", lambda done, total, note="": seen.append((done, total))))
    ['a', 'b', 'c']
    >>> seen
    [(0, 3), (1, 3), (2, 3), (3, 3)]
    """
    count = total if total is not None else len(items) if isinstance(items, Sequence) else 0
    done = 0
    for item in items:
        if done % every == 0:
            tick(done, count, note)
        yield item
        done += 1
    tick(done, max(count, done), note)


def offer(tick: Tick, value: object) -> None:
    """Hand an intermediate result to whoever watches; nothing happens where nobody takes them.

    A tick that takes them has a method `partial(value)`. Values go to another process: give what is new, not all.

    >>> offer(silent, "half of it")
    """
    take = getattr(tick, "partial", None)
    if take is not None:
        take(value)
