"""Read a stranger's model file in a process of its own that can do nothing but read and answer.

The parent opens the file and gives it to the child as its standard input; the child answers on its standard output:
eight bytes of length, a JSON head, then the tensors one after the other, each after a byte that says all is well (or
another head that says why not). Before the child looks at the
file it gives up what it does not need: memory beyond a limit, time, files of any size, further processes; and an audit
hook ends it at the first attempt to run, open, write or connect anything. The parent checks the answer against the same
limits before it takes any memory for it.
"""

from __future__ import annotations

import gc
import heapq
import json
import math
import os
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from facelens.errors import FaceLensError, InputError
from facelens.features import graph, weights
from facelens.features.inert import Limits, Spoilt
from facelens.progress import Tick, silent
from facelens.words import plural, tr

_FORBIDDEN = 86  # exit code of a child that was stopped by its audit hook
_SPARE = 384 << 20  # bytes of memory beyond what tensors may take
_PIECE = 1 << 22
_WELL, _ILL = b"\0", b"\1"

_CHILD = (
    "import sys,json;a=json.loads(sys.argv[1]);sys.path[:]=a['path'];from facelens.features.sealed import main;main(a)"
)


def read(
    stream: BinaryIO,
    size: int,
    *,
    shown: str,
    limits: Limits | None = None,
    take: str | None = None,
    seconds: float | None = None,
    tick: Tick = silent,
) -> weights.Contents | graph.Graph | None:
    """What is in the file: weights, an ONNX graph, or None for a TorchScript program.

    stream     the open file, seekable, with a file descriptor
    shown      its name, as messages say it
    seconds    time-out; None: 20 s and a second for every 20 MB
    """
    limits = limits or Limits()
    seconds = 20 + size / 20e6 if seconds is None else seconds
    request = {
        "path": [str(Path(__file__).parents[2]), *(os.path.abspath(p or ".") for p in sys.path)],
        "size": size,
        "shown": shown,
        "take": take,
        "limits": asdict(limits),
        "seconds": seconds,
    }
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    tick(0, size, tr("Opening {name}", name=shown))
    try:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", _CHILD, json.dumps(request)],
            stdin=stream.fileno(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
    except OSError as error:
        raise FaceLensError(
            tr("{name} was not opened: no process could be started for it.", name=shown), details=str(error)
        ) from None
    late = threading.Event()

    def stop() -> None:
        late.set()
        child.kill()

    watch = threading.Timer(seconds, stop)
    watch.daemon = True
    watch.start()
    assert child.stdout is not None and child.stderr is not None
    try:
        try:
            _wait_for(child, child.stdout, size, shown, tick)
            return _answer(child.stdout, size, shown, limits, tick)
        except (EOFError, KeyError, TypeError, ValueError):
            try:
                code = child.wait(timeout=2)
            except subprocess.TimeoutExpired:  # it still writes what nobody wants any more
                child.kill()
                code = child.wait()
            # stderr is small: the child writes one line at most, or the interpreter a last word
            said = child.stderr.read(1 << 16).decode("utf-8", "replace")
            raise _death(code, said, shown, seconds, late=late.is_set()) from None
    finally:
        watch.cancel()
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()
        watch.join()


def _wait_for(child: subprocess.Popen[bytes], pipe: Any, size: int, shown: str, tick: Tick) -> None:
    """Until the child begins to answer or ends; a cancel need not wait for that."""
    begun = threading.Thread(target=pipe.peek, args=(1,), daemon=True)
    begun.start()
    try:
        while begun.is_alive():
            begun.join(0.1)
            tick(0, size, tr("Opening {name}", name=shown))
    except BaseException:
        child.kill()
        begun.join()  # it holds the pipe, which is about to be closed
        raise


def _exactly(pipe: Any, n: int) -> bytes:
    data: bytes = pipe.read(n)
    if len(data) < n:
        raise EOFError
    return data


def _answer(pipe: Any, size: int, shown: str, limits: Limits, tick: Tick) -> weights.Contents | graph.Graph | None:
    n = int.from_bytes(_exactly(pipe, 8), "little")
    if n > 256 << 20:
        raise EOFError
    head = json.loads(_exactly(pipe, n))
    if "error" in head:
        raise InputError(head["error"], hint=head["hint"], details=head["details"])
    if head["kind"] == "torchscript":
        return None
    if head["kind"] == "onnx":
        return graph.Graph.from_json(head["graph"])
    kinds = [(str(name), np.dtype(kind), tuple(map(int, shape))) for name, kind, shape in head["tensors"]]
    total = sum(math.prod(shape) * kind.itemsize for _, kind, shape in kinds)
    if total > 2 * limits.bytes_for(size) or any(kind.hasobject for _, kind, _ in kinds):
        raise EOFError
    tensors: dict[str, NDArray[Any]] = {}
    done = 0
    for name, kind, shape in kinds:
        if _exactly(pipe, 1) != _WELL:
            return _answer(pipe, size, shown, limits, tick)
        tensors[name] = array = np.empty(shape, kind)
        view = array.reshape(-1).view(np.uint8).data if array.size else memoryview(bytearray())
        at = 0
        while at < len(view):
            got = pipe.readinto(view[at : at + _PIECE])
            if not got:
                raise EOFError
            at += got
            done += got
            tick(done, total, tr("Opening {name}", name=shown))
    if _exactly(pipe, 1) != _WELL:
        return _answer(pipe, size, shown, limits, tick)
    unsound = int.from_bytes(_exactly(pipe, 8), "little")
    return weights.Contents(
        tensors,
        head["form"],
        head["container"],
        tuple(head["ignored"]),
        tuple(head["code"]),
        tuple(head["others"]),
        head["said"],
        (*head["notes"], *weights.unsound_note(shown, unsound)),
    )


def _death(code: int, said: str, shown: str, seconds: float, *, late: bool) -> InputError:
    hint = tr("Do not use this file; get the weights from a place you trust.")
    if late or code == -24:  # SIGXCPU
        return InputError(
            tr(
                "{name} was not opened: it could not be read within {time}.",
                name=shown,
                time=plural(math.ceil(seconds), "{n} second", "{n} seconds"),
            ),
            hint=hint,
        )
    if code == _FORBIDDEN:
        return InputError(
            tr("{name} was not opened: reading it would have done something forbidden. It was stopped.", name=shown),
            hint=hint,
            details=said.strip(),
        )
    return InputError(
        tr("{name} was not opened: the process that read it ended (code {code}).", name=shown, code=str(code)),
        hint=tr("Download or save it again."),
        details=said.strip()[-2000:],
    )


# The child

# Audit events that reading needs. Everything else that Python reports ends the process.
_ALLOWED = frozenset(
    ("object.__getattr__", "object.__setattr__", "object.__delattr__", "sys._getframe", "builtins.id", "gc.get_objects")
)
_QUIET = ("cpython.",)


def seal() -> None:
    """From here on this process may not run, open, import or connect anything. There is no way back."""

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in _ALLOWED or event.startswith(_QUIET):
            return
        try:
            os.write(2, f"forbidden: {event} {str(args)[:200]}\n".encode("utf-8", "replace"))
        finally:
            os._exit(_FORBIDDEN)

    sys.addaudithook(hook)


def confine(room: int, seconds: float) -> None:
    """Limit this process: `room` bytes of memory more than now, processor time, no files, no children."""
    try:
        import resource
    except ImportError:  # Windows: the time-out of the parent remains
        return
    try:
        with open("/proc/self/statm", "rb") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        now = 1 << 30
    for limit, most in (
        ("RLIMIT_AS", now + room),
        ("RLIMIT_CPU", math.ceil(seconds) + 5),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_NPROC", 0),
    ):
        kind = getattr(resource, limit, None)
        if kind is not None:
            try:
                hard = resource.getrlimit(kind)[1]
                most = most if hard == resource.RLIM_INFINITY else min(most, hard)
                resource.setrlimit(kind, (most, most))
            except (OSError, ValueError):
                pass  # macOS refuses some; the others and the hook remain


def main(request: dict[str, Any]) -> NoReturn:
    """The child: read standard input, answer on standard output."""
    stream = open(0, "rb", closefd=False)  # noqa: SIM115
    limits = Limits(**request["limits"])
    size, shown = request["size"], request["shown"]
    # What is loaded at first use has to be there before the seal: words, code pages of zip names, number types.
    tr("ready")
    plural(1, "{n}", "{n}")
    b"\xff".decode("cp437")
    heapq.nlargest(1, [1, 2])
    np.left_shift(np.zeros(2, np.uint16).astype(np.uint32), 16)
    np.ascontiguousarray(np.ndarray((1, 1), np.dtype("f4").newbyteorder("S"), buffer=b"0000")).astype("f4")
    confine(_SPARE + 2 * limits.bytes_for(size), request["seconds"])
    gc.disable()  # everything is freed at once, at the end; cycles of a hostile file would only cost time
    answer = _Answer(open(1, "wb", buffering=1 << 20, closefd=False))  # noqa: SIM115
    seal()
    code = 0
    try:
        _serve(stream, answer, size, shown, limits, request["take"])
    except InputError as error:
        answer.put({"error": error.message, "hint": error.hint, "details": error.details})
    except MemoryError:
        answer.put({"error": tr("{name} asks for more memory than a model needs and was not opened.", name=shown)})
    except Spoilt as error:
        answer.put({"error": tr("{name} cannot be opened: {reason}.", name=shown, reason=error)})
    except Exception as error:
        message = tr("{name} cannot be opened: it is damaged.", name=shown)
        answer.put({"error": message, "details": f"{type(error).__name__}: {error}"[:500]})
    except BaseException:
        code = 1
    answer.out.flush()
    os._exit(code)  # no clean-up that would trip over the seal


class _Answer:
    def __init__(self, out: BinaryIO) -> None:
        self.out = out
        self._begun = False

    def put(self, head: dict[str, Any]) -> None:
        """A head; after the first one it stands where a tensor was expected."""
        if self._begun:
            self.out.write(_ILL)
        self._begun = True
        if "error" in head:
            head = {"hint": "", "details": "", **head}
        data = json.dumps(head).encode()
        self.out.write(len(data).to_bytes(8, "little"))
        self.out.write(data)

    def tensor(self, array: NDArray[Any]) -> None:
        self.out.write(_WELL)
        if array.size:
            self.out.write(array.reshape(-1).view(np.uint8).data)


def _serve(stream: Any, answer: _Answer, size: int, shown: str, limits: Limits, take: str | None) -> None:
    if graph.is_onnx(stream, size):
        answer.put({"kind": "onnx", "graph": graph.inspect(stream, size, shown=shown, limits=limits).as_json()})
        return
    reading = weights.follow(stream, size, shown=shown, limits=limits, take=take)
    if reading.torchscript:
        answer.put({"kind": "torchscript"})
        return
    answer.put(
        {
            "kind": "weights",
            "tensors": reading.kinds(),
            "form": reading.form,
            "container": reading.container,
            "ignored": reading.ignored,
            "code": reading.code,
            "others": reading.others,
            "said": reading.said,
            "notes": reading.notes,
        },
    )
    for (_, kind, shape), (_, array) in zip(reading.kinds(), reading.arrays()):
        if (array.dtype.name, array.shape) != (kind, shape):
            raise Spoilt("a tensor is not what it says")
        answer.tensor(array)
    answer.out.write(_WELL)
    answer.out.write(reading.unsound.to_bytes(8, "little"))
