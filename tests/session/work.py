"""What the jobs of the tests do; the worker process imports this module."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from facelens.errors import Cancelled, DiskFull, InputError, NeedsChoice
from facelens.progress import Tick, offer


def add(a: int, b: int, *, tick: Tick) -> int:
    tick(1, 1)
    return a + b


def whoami(*, tick: Tick) -> tuple[int, int]:
    return os.getpid(), os.nice(0)


def modules(*, tick: Tick) -> set[str]:
    return set(sys.modules)


def count(n: int, *, tick: Tick, seconds: float = 0.005) -> int:
    for i in range(n):
        tick(i, n, f"item {i}")
        time.sleep(seconds)
    tick(n, n)
    return n


def started(file: str, *, tick: Tick) -> int:
    """Says that it runs, then waits for ever, but listens."""
    Path(file).write_text(str(os.getpid()))
    while True:
        tick(1, 2)
        time.sleep(0.005)


def saving(file: str, *, tick: Tick, seconds: float = 0.6) -> None:
    """Runs until it is cancelled, and takes its time to write down that it was."""
    Path(file).write_text("running")
    try:
        while True:
            offer(tick, "row")
            tick(1, 2)
            time.sleep(0.005)
    except Cancelled:
        time.sleep(seconds)
        Path(file).write_text("saved")
        raise


def deaf(file: str, *, tick: Tick) -> None:
    """Says that it runs, then never looks at its tick again."""
    Path(file).write_text(str(os.getpid()))
    while True:
        time.sleep(0.05)


def kill(number: int, *, tick: Tick) -> None:
    print("about to go", flush=True)
    os.kill(os.getpid(), number)
    time.sleep(30)


def segfault(*, tick: Tick) -> None:
    ctypes.string_at(0)


def leave(code: int, *, tick: Tick) -> None:
    sys.exit(code)


def hard_exit(code: int, *, tick: Tick) -> None:
    os._exit(code)


def double(values: Any, *, tick: Tick) -> Any:
    return values * 2


def same(value: Any, *, tick: Tick) -> Any:
    return value


def writable(values: np.ndarray, *, tick: Tick) -> bool:
    return values.flags.writeable


def pieces(n: int, size: int, *, tick: Tick) -> int:
    for i in range(n):
        offer(tick, np.full(size, i))
    return n


def fail_disk(*, tick: Tick) -> None:
    tick(3, 10)
    raise DiskFull("The disk is full; 3 of 10 are kept.", hint="Free 30 MB and press Retry.", details="/dev/sda")


def fail_input(*, tick: Tick) -> None:
    raise InputError("This file cannot be read.", hint="Choose another.")


def fail_choice(*, tick: Tick) -> None:
    raise NeedsChoice("Two columns may be the path.", options={"path": ["file", "name"]})


class Stubborn(Exception):
    """Cannot be rebuilt from its arguments."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


def fail_stubborn(*, tick: Tick) -> None:
    raise Stubborn(1, 2)


def fail_plain(*, tick: Tick) -> None:
    raise ZeroDivisionError("nothing to divide by")


def unpicklable(*, tick: Tick) -> object:
    return lambda: 1


def say(words: str, *, tick: Tick) -> None:
    print(words)
    sys.stderr.write(words.upper() + "\n")
    os.write(1, b"from C: " + words.encode() + b"\n")


def interrupt_me(*, tick: Tick) -> str:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.02)
    return "still here"


def variable(name: str, *, tick: Tick) -> str:
    return os.environ.get(name, "not set")
