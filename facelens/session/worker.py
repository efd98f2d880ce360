"""The worker: one long-lived process for heavy work, so that the window never waits and a crash is not the window's.

It is spawned (never forked), runs at nice 10, imports nothing of the program that started it and ends when that program
does, however that happens. Messages go through one pipe; arrays that make a message larger than 1 MB go through a block
of shared memory for each message, which the receiver removes. The worker's standard output and error come back as lines
for the log.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import pickle
import secrets
import signal
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import connection, get_context, shared_memory
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

import numpy as np

from facelens.errors import Cancelled, FaceLensError
from facelens.words import tr

INLINE_BYTES = 1 << 20  # up to here a message goes through the pipe
TICK_SECONDS = 0.05  # how often the worker reports how far it is

_log = logging.getLogger("facelens.worker")
_spawn = get_context("spawn")


# Messages


@dataclass(frozen=True)
class Message:
    """What one side said about job `number`; `load()` rebuilds the object that came with it."""

    kind: str  # to the worker: job, cancel, warm, set; back: ready, tick, partial, done, failed, cancelled
    number: int
    extra: tuple[Any, ...]
    load: Callable[[], Any]


class Channel:
    """One end of the pipe. Sending is safe from several threads, receiving belongs to one."""

    def __init__(self, pipe: Connection, prefix: str) -> None:
        self.pipe = pipe
        self.prefix = prefix
        self._sending = threading.Lock()
        self._sent = 0
        self._kept: list[shared_memory.SharedMemory] = []
        self.received = 0  # blocks of the other side that have been seen
        self.shared_bytes = 0  # what has gone through shared memory, both ways

    def send(self, kind: str, number: int = 0, extra: tuple[Any, ...] = (), *, payload: object = None) -> None:
        """Say something; pickling errors come out before a byte is sent."""
        buffers: list[pickle.PickleBuffer] = []
        body = pickle.dumps(payload, protocol=5, buffer_callback=buffers.append)
        parts = [memoryview(body), *(buffer.raw() for buffer in buffers)]
        sizes = [part.nbytes for part in parts]
        with self._sending:
            block = self._share(parts, sizes) if sum(sizes) > INLINE_BYTES else None
            head = (kind, number, extra, block and block.name, sizes)
            try:
                self.pipe.send_bytes(pickle.dumps(head, protocol=5))
                if block is None:
                    for part in parts:
                        self.pipe.send_bytes(part)
            except BaseException:
                if block is not None:
                    _remove(block.name)
                raise

    def receive(self) -> Message:
        """The next message; EOFError when the other side is gone."""
        kind, number, extra, block, sizes = pickle.loads(self.pipe.recv_bytes())
        self._kept.clear()
        if block is None:
            parts = [self.pipe.recv_bytes() for _ in sizes]
            return Message(
                kind, number, extra, lambda: pickle.loads(parts[0], buffers=[bytearray(p) for p in parts[1:]])
            )
        self.received += 1
        whole = self._fetch(block)
        cuts = _places(sizes)
        views = [whole[at : at + size] for at, size in zip(cuts, sizes, strict=True)]
        return Message(kind, number, extra, lambda: pickle.loads(views[0].data, buffers=views[1:]))

    def sweep(self, other_prefix: str) -> None:
        """Remove what the two sides may have left in shared memory when the other one died."""
        _remove(f"{self.prefix}{self._sent}")
        _remove(f"{other_prefix}{self.received + 1}")

    def _share(self, parts: list[memoryview], sizes: list[int]) -> shared_memory.SharedMemory | None:
        cuts = _places(sizes)
        total = cuts[-1] + sizes[-1]
        if not _room(total):
            return None
        self._sent += 1
        try:
            block = shared_memory.SharedMemory(f"{self.prefix}{self._sent}", create=True, size=total)
        except OSError:
            return None
        whole = np.frombuffer(_memory(block), np.uint8)
        for part, at, size in zip(parts, cuts, sizes, strict=True):
            whole[at : at + size] = np.frombuffer(part, np.uint8)  # numpy copies without holding up other threads
        del whole
        self.shared_bytes += total
        if os.name == "nt":
            self._kept.append(block)  # Windows frees a block with its last handle: hold it until the other side answers
        else:
            block.close()
        return block

    def _fetch(self, name: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
        block = shared_memory.SharedMemory(name)
        block.unlink()
        view = np.frombuffer(_memory(block), np.uint8)
        whole = view.copy()  # a copy frees the block now: shared memory is scarce, and arrays may live long
        del view
        block.close()
        self.shared_bytes += len(whole)
        return whole


def _memory(block: shared_memory.SharedMemory) -> memoryview:
    assert block.buf is not None  # only a closed block has none
    return block.buf


def _places(sizes: list[int]) -> list[int]:
    """Where each part begins: on a cache line, so that arrays come out aligned."""
    places, at = [], 0
    for size in sizes:
        places.append(at)
        at += (size + 63) // 64 * 64
    return places


def _room(size: int) -> bool:
    # A block that the file system cannot back is made all right and then kills whoever writes to it (containers often
    # have 64 MB). The pipe is slower, but has no such end.
    try:
        disk = os.statvfs("/dev/shm")
    except (AttributeError, OSError):
        return True
    return disk.f_bavail * disk.f_frsize > size + INLINE_BYTES


def _remove(name: str) -> None:
    try:
        block = shared_memory.SharedMemory(name)
    except (OSError, ValueError):
        return
    block.unlink()
    block.close()


# The window's side


@dataclass(frozen=True)
class Ended:
    """The worker process is gone; `output` is what it said last."""

    exit_code: int | None
    output: str

    @property
    def reason(self) -> str:
        """ "signal 9" or "exit code 3"."""
        if self.exit_code is not None and self.exit_code < 0:
            return tr("signal {number}", number=-self.exit_code)
        return tr("exit code {number}", number=self.exit_code if self.exit_code is not None else "?")


class Worker:
    """The worker process as its owner sees it. One thread owns it; `kill` and `poke` may come from any."""

    def __init__(self, *, nice: int = 10) -> None:
        self._nice = nice
        self._process: Any = None
        self._channel: Channel | None = None
        self._output: Connection | None = None
        self._other_prefix = ""
        self._line = b""
        self._said: list[str] = []
        self._poked, self._poke = _spawn.Pipe(duplex=False)
        self._is_poked = False

    @property
    def pid(self) -> int | None:
        """Process id, None when there is no worker."""
        process = self._process
        return None if process is None else process.pid

    @property
    def shared_bytes(self) -> int:
        """What has gone through shared memory since the worker started."""
        return self._channel.shared_bytes if self._channel else 0

    def start(self) -> None:
        """Spawn the process if there is none. The calling thread must outlive it, as Linux ties the two."""
        if self._process is not None:
            return
        token = secrets.token_hex(3)
        ours, theirs = _spawn.Pipe()
        output, said = _spawn.Pipe(duplex=False)
        self._other_prefix = f"fl-{token}-w-"
        process = _spawn.Process(
            target=serve,
            args=(theirs, said, self._other_prefix, os.getpid(), self._nice),
            name="facelens-worker",
            daemon=True,
        )
        with _without_main():
            process.start()
        theirs.close()  # with our copy gone, the end of the worker is the end of the pipe
        said.close()
        self._process, self._output, self._said, self._line = process, output, [], b""
        self._channel = Channel(ours, f"fl-{token}-p-")

    def send(self, kind: str, number: int = 0, *, payload: object = None) -> None:
        """Tell the worker; pickling errors are raised, a dead worker is reported by `wait`."""
        self.start()
        if kind == "job":
            self._said = []
        try:
            self._channel.send(kind, number, payload=payload)  # type: ignore[union-attr]
        except (BrokenPipeError, ConnectionResetError):
            pass

    def wait(self, timeout: float | None) -> list[Message | Ended]:
        """What the worker has said since; returns early when poked."""
        things: list[Any] = [self._poked]
        if self._process is not None:
            things += [self._channel.pipe, self._process.sentinel]  # type: ignore[union-attr]
            things += [self._output] if self._output else []
        ready = connection.wait(things, timeout)
        if self._poked in ready:
            while self._poked.poll():
                self._poked.recv_bytes()
            self._is_poked = False  # after reading: a poke in between need not be heard twice
        if self._process is None:
            return []
        news: list[Message | Ended] = []
        gone = self._process.sentinel in ready
        if self._output in ready:
            self._read_output()
        try:
            while self._channel.pipe.poll():  # type: ignore[union-attr]
                news.append(self._channel.receive())  # type: ignore[union-attr]
        except (EOFError, OSError):
            gone = True
        if gone:
            news.append(self._bury())
        return news

    def poke(self) -> None:
        """Make `wait` return."""
        if not self._is_poked:
            self._is_poked = True
            with contextlib.suppress(OSError):
                self._poke.send_bytes(b"")

    def kill(self) -> None:
        """End the process now; `wait` reports it."""
        process = self._process
        if process is not None:
            with contextlib.suppress(ValueError, OSError):
                process.kill()

    def close(self) -> None:
        """End the process and free everything; the object is done with."""
        if self._process is not None:
            self.kill()
            self._bury()
        self._poked.close()
        self._poke.close()

    def _bury(self) -> Ended:
        process, channel = self._process, self._channel
        process.join(1.0)
        if process.exitcode is None:
            process.kill()
            process.join(1.0)
        self._read_output()
        code = process.exitcode
        assert channel is not None
        channel.sweep(self._other_prefix)
        channel.pipe.close()
        if self._output is not None:
            self._output.close()
        with contextlib.suppress(ValueError):
            process.close()
        self._process = self._channel = self._output = None
        return Ended(code, "\n".join(self._said))

    def _read_output(self) -> None:
        try:
            while self._output is not None and self._output.poll():
                got = os.read(self._output.fileno(), 65536)
                if not got:
                    self._output.close()
                    self._output = None
                *lines, self._line = (self._line + got).split(b"\n")
                for line in lines:
                    self._say(line.decode("utf-8", "replace"))
        except OSError:
            pass
        if self._output is None and self._line:
            self._say(self._line.decode("utf-8", "replace"))
            self._line = b""

    def _say(self, line: str) -> None:
        if line.strip():
            self._said = [*self._said[-199:], line]
            level = logging.getLevelName(line.split(" ", 1)[0])
            _log.log(level if isinstance(level, int) else logging.INFO, "%s", line)


_starting = threading.Lock()


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    # Spawning imports the parent's main script again in the child, with all that a script without a guard does. The
    # worker needs nothing of it: hide it while the start message is made.
    with _starting:
        real = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = real


def stop_tracker() -> None:
    """End the helper process that multiprocessing keeps for shared memory; it comes back when it is needed."""
    if os.name == "nt":
        return
    from multiprocessing import active_children, resource_tracker

    stop = getattr(resource_tracker._resource_tracker, "_stop", None)
    if stop is not None and not active_children():  # it waits for everyone who holds the tracker's pipe
        stop()


# The worker's side


class _Tick:
    """Counts for the job that runs; the listening thread sends the counts on, so that a call costs next to nothing."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.number = 0
        self.unwanted = 0  # the newest job that has been cancelled; numbers only grow
        self.now: tuple[int, int, str] = (0, 0, "")
        self._told: tuple[int, int, str] = (0, 0, "")
        self.taken = 0  # jobs that have come in, counted by the listening thread
        self.finished = 0  # jobs that are done with, counted by the main thread

    def __call__(self, done: int, total: int, note: str = "") -> None:
        self.now = (int(done), int(total), note)
        if self.unwanted >= self.number:
            raise Cancelled

    def partial(self, value: object) -> None:
        if self.unwanted >= self.number:
            raise Cancelled
        self._channel.send("partial", self.number, payload=value)

    def begin(self, number: int) -> None:
        self.now = self._told = (0, 0, "")
        self.number = number

    def flush(self) -> None:
        number, now = self.number, self.now
        if number and now is not self._told:
            self._told = now
            self._channel.send("tick", number, now)


def serve(pipe: Connection, output: Connection, prefix: str, parent: int, nice: int) -> None:
    """The life of the worker process: take a job, do it, tell; until the pipe ends."""
    _settle(output, parent, nice)
    channel = Channel(pipe, prefix)
    tick = _Tick(channel)
    inbox: SimpleQueue[Message] = SimpleQueue()
    threading.Thread(target=_listen, args=(channel, tick, inbox), name="facelens-listen", daemon=True).start()
    channel.send("ready")
    while True:
        message = inbox.get()
        if message.kind == "warm":
            for module in message.load():
                try:
                    importlib.import_module(module)
                except Exception:
                    _log.warning("could not import %s ahead of time", module, exc_info=True)
        elif message.kind == "set":
            os.environ.update(message.load())
        else:
            _run(message, channel, tick)
            tick.number = 0
            tick.finished += 1
        del message  # a job may hold gigabytes; do not keep them until the next one


def _run(message: Message, channel: Channel, tick: _Tick) -> None:
    number = message.number
    tick.begin(number)
    try:
        call, args, kwargs = message.load()
        if tick.unwanted >= number:
            raise Cancelled
        result = call(*args, **kwargs, tick=tick)
        try:
            channel.send("done", number, tick.now, payload=result)
        except (BrokenPipeError, ConnectionResetError):
            raise
        except Exception as error:  # a type decides by itself how it refuses to be pickled
            name = getattr(call, "__qualname__", repr(call))
            raise FaceLensError(
                tr("The result of {name} cannot be brought back from the worker process.", name=name),
                hint=tr("Report this; the rest of FaceLens is not affected."),
                details=f"{type(result).__qualname__}: {error}",
            ) from error
    except Cancelled:
        channel.send("cancelled", number, tick.now)
    except BaseException as error:  # also SystemExit: a library's exit is not the worker's
        trace = traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(error))
            payload: object = error
        except Exception:
            payload = None  # the type and the words must do
        said = (*tick.now, type(error).__qualname__, str(error), trace)
        channel.send("failed", number, said, payload=payload)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _listen(channel: Channel, tick: _Tick, inbox: SimpleQueue[Message]) -> None:
    try:
        while True:
            while not channel.pipe.poll(TICK_SECONDS if tick.taken != tick.finished else None):
                tick.flush()
            message = channel.receive()
            if message.kind == "cancel":
                tick.unwanted = max(tick.unwanted, message.number)
            else:
                tick.taken += message.kind == "job"
                inbox.put(message)
            del message  # it may hold the arrays of a job
    except (EOFError, OSError):
        os._exit(0)  # the owner is gone, and so is the reason for whatever runs


def _settle(output: Connection, parent: int, nice: int) -> None:
    import faulthandler

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in the terminal is for the window to decide upon
    if hasattr(os, "nice"):
        with contextlib.suppress(OSError):
            os.nice(nice)
    # Threads of a product wait for one another asleep. Those that spin take the cores they wait for, and where other
    # programs work a training is ten times slower. Read when torch is imported, which is later.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: also while a library holds every thread up
        if os.getppid() != parent:
            os._exit(0)
    if os.name != "nt":
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        output.close()
        for number, name in ((1, "stdout"), (2, "stderr")):
            stream = open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)  # noqa: SIM115
            setattr(sys, name, stream)
        faulthandler.enable(sys.stderr)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", force=True)
