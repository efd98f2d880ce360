"""The log: a rotating file, the last lines in memory for the Log dock, and a place for whatever nobody caught.

It holds no embedding, and no path of a picture unless the user asks for that: places on disk are shortened before a
line is kept anywhere.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import logging.handlers
import os
import re
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from facelens.session import folders

FILE = "facelens.log"
_BYTES, _FILES = 1_000_000, 3
_LONGEST = 20_000  # characters of one entry
_root = logging.getLogger("facelens")


@dataclass(frozen=True)
class Line:
    """One entry of the log as the dock shows it."""

    time: float  # seconds since the epoch
    level: int
    source: str
    text: str


class Shortened(logging.Formatter):
    """Formats an entry, traceback included, and takes out what does not belong into a log."""

    def __init__(self, form: str, *, paths: bool = False) -> None:
        super().__init__(form)
        self.paths = paths

    def format(self, record: logging.LogRecord) -> str:
        """The entry as text."""
        return shortened(super().format(record), paths=self.paths)


# Quoted paths may hold spaces; unquoted ones end at the first.
_PATH = re.compile(
    r"""(?P<quote>["'])(?P<quoted>(?:~|[A-Za-z]:)?[/\\][^"'\n]*)(?P=quote)|(?<![\w.~/\\>])(?:~|[A-Za-z]:)?[/\\][^\s"':,;)\]]+"""
)
_TRACE = re.compile(r'^\s*File ".*", line \d+')


def shortened(text: str, *, paths: bool = False) -> str:
    """`text` with the home folder as ~ and, unless `paths`, other places as <path>; lines of tracebacks keep theirs.

    >>> shortened("could not read '/data/Ann Bee/1.jpg'")
    "could not read '<path>'"
    """
    if len(text) > _LONGEST:
        text = text[: _LONGEST // 2] + "\n…\n" + text[-_LONGEST // 2 :]
    for place in _homes():
        text = text.replace(place, "~")
    if paths:
        return text
    return "\n".join(line if _TRACE.match(line) else _PATH.sub(_hidden, line) for line in text.split("\n"))


def _hidden(match: re.Match[str]) -> str:
    quote = match["quote"] or ""
    return f"{quote}<path>{quote}"


def _homes() -> list[str]:
    found = []
    with contextlib.suppress(RuntimeError, OSError):
        found = [str(Path.home()), str(Path.home().resolve())]
    return sorted({place for place in found if len(place) > 1}, key=len, reverse=True)


class Memory(logging.Handler):
    """The last entries, for the Log dock; listeners are called on the thread that logged."""

    def __init__(self, size: int = 2000) -> None:
        super().__init__()
        self._lines: deque[Line] = deque(maxlen=size)
        self._listeners: tuple[Callable[[Line], None], ...] = ()
        self._guard = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one entry and tell the listeners."""
        try:
            line = Line(record.created, record.levelno, record.name, self.format(record))
            with self._guard:
                self._lines.append(line)
                listeners = self._listeners
            for listener in listeners:
                listener(line)
        except Exception:
            self.handleError(record)

    def records(self) -> tuple[Line, ...]:
        """What is kept, oldest first."""
        with self._guard:
            return tuple(self._lines)

    def listen(self, listener: Callable[[Line], None]) -> Callable[[], None]:
        """Call `listener(line)` for each new entry; the returned function ends that."""
        with self._guard:
            self._listeners = (*self._listeners, listener)

        def stop() -> None:
            with self._guard:
                self._listeners = tuple(other for other in self._listeners if other is not listener)

        return stop

    def clear(self) -> None:
        """Forget all entries."""
        with self._guard:
            self._lines.clear()


memory = Memory()
memory.setFormatter(Shortened("%(message)s"))


class _File(logging.handlers.RotatingFileHandler):
    def _open(self):  # type: ignore[no-untyped-def]
        stream = super()._open()
        with contextlib.suppress(OSError):
            os.chmod(self.baseFilename, 0o600)
        return stream


def path() -> Path:
    """The log file."""
    return folders.state() / FILE


def records() -> tuple[Line, ...]:
    """The last entries, oldest first."""
    return memory.records()


def listen(listener: Callable[[Line], None]) -> Callable[[], None]:
    """Call `listener(line)` for each new entry, on the thread that logged; the returned function ends that."""
    return memory.listen(listener)


def install(
    *, verbose: bool = False, paths: bool = False, on_crash: Callable[[BaseException, str], None] | None = None
) -> Callable[[], None]:
    """Begin to log; the returned function puts everything back.

    `paths` lets entries keep places on disk. `on_crash(error, traceback)` is called for an exception that nobody
    caught, on the thread it happened on.
    """
    handlers: list[logging.Handler] = [memory]
    memory.setFormatter(Shortened("%(message)s", paths=paths))
    crash_file = None
    try:
        file = _File(path(), maxBytes=_BYTES, backupCount=_FILES - 1, encoding="utf-8", errors="backslashreplace")
        file.setFormatter(Shortened("%(asctime)s %(levelname)s %(name)s: %(message)s", paths=paths))
        handlers.append(file)
        crash_file = open(folders.state() / "crash.log", "a", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        warnings.warn(f"no log file: {error.strerror}", RuntimeWarning, stacklevel=2)
    if verbose and sys.stderr is not None:
        screen = logging.StreamHandler(sys.stderr)
        screen.setFormatter(Shortened("%(levelname)s %(name)s: %(message)s", paths=paths))
        handlers.append(screen)
    before = (_root.level, _root.propagate, sys.excepthook, threading.excepthook, faulthandler.is_enabled())
    _root.setLevel(logging.DEBUG if verbose else logging.INFO)
    for handler in handlers:
        _root.addHandler(handler)
    if crash_file is not None and not before[4]:
        faulthandler.enable(crash_file)

    def crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None, where: str) -> None:
        _root.critical("%s: %s", where, kind.__name__, exc_info=(kind, error, trace))
        if on_crash is not None:
            import traceback

            on_crash(error, "".join(traceback.format_exception(kind, error, trace)))

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            before[2](kind, error, trace)
            return
        crashed(kind, error, trace, "uncaught")
        if on_crash is None:
            before[2](kind, error, trace)

    def thread_hook(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is not SystemExit and args.exc_value is not None:
            crashed(
                args.exc_type,
                args.exc_value,
                args.exc_traceback,
                f"uncaught in {args.thread.name if args.thread else '?'}",
            )

    sys.excepthook = hook
    threading.excepthook = thread_hook

    def restore() -> None:
        if sys.excepthook is hook:
            sys.excepthook = before[2]
        if threading.excepthook is thread_hook:
            threading.excepthook = before[3]
        for handler in handlers:
            _root.removeHandler(handler)
            if handler is not memory:
                handler.close()
        _root.setLevel(before[0])
        if crash_file is not None:
            if not before[4]:
                faulthandler.disable()
            crash_file.close()

    return restore
