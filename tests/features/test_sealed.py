"""The child that reads: it can do nothing else, and whatever becomes of it the parent has a sentence for."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.errors import Cancelled, InputError
from facelens.features import sealed
from facelens.features.inert import Limits
from facelens.features.weights import Contents

ROOT = Path(__file__).resolve().parents[2]


def in_seal(work: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run `work` in a process after the seal; `before` prepares it."""
    code = f"import sys; sys.path[:] = {[str(ROOT), *sys.path]!r}\nfrom facelens.features import sealed\n{before}\n"
    code += f"sealed.seal()\n{work}\nprint('went on')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("work", "event"),
    [
        ("os.system('true')", "os.system"),
        ("subprocess.run(['true'])", "subprocess.Popen"),
        ("os.fork()", "os.fork"),
        ("os.execv('/bin/true', ['true'])", "os.exec"),
        ("os.posix_spawn('/bin/true', ['true'], {})", "os.posix_spawn"),
        ("exec('1')", "compile"),
        ("eval('1')", "compile"),
        ("import wave", "import"),
        ("socket.socket()", "socket.__new__"),
        ("open('/dev/null', 'w')", "open"),
        ("open('/etc/hostname')", "open"),
        ("os.remove('/nonexistent')", "os.remove"),
        ("os.rename('/a', '/b')", "os.rename"),
        ("os.listdir('/')", "os.listdir"),
        ("pickle.loads(b'cos\\nsystem\\n.')", "pickle.find_class"),
        ("ctypes.CDLL(None)", "ctypes.dlopen"),
        ("os.kill(1, 0)", "os.kill"),
        ("sys.addaudithook(print)", "sys.addaudithook"),
        ("marshal.loads(b'N')", "marshal.loads"),
        ("try:\n    os.system('true')\nexcept BaseException:\n    pass", "os.system"),
    ],
)
def test_whatever_is_tried_is_the_end(work: str, event: str) -> None:
    ended = in_seal(work, "import os, subprocess, socket, pickle, ctypes, marshal")
    assert ended.returncode == 86, ended
    assert f"forbidden: {event}" in ended.stderr and "went on" not in ended.stdout


def test_reading_and_reckoning_are_allowed() -> None:
    ended = in_seal("x = [i for i in range(9)]; import sys; print(len(x), file=sys.stdout)")
    assert (ended.returncode, ended.stdout.split()) == (0, ["9", "went", "on"]), ended.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other systems differ")
def test_limits_of_the_child() -> None:
    def ended(work: str) -> subprocess.CompletedProcess[str]:
        return in_seal(work, "import os, sys\nfrom facelens.features.sealed import confine\nconfine(100 << 20, 2)")

    assert (
        "MemoryError" in ended("try:\n    bytearray(200 << 20)\nexcept MemoryError:\n    print('MemoryError')").stdout
    )
    assert "went on" in ended("bytearray(20 << 20)").stdout
    written = in_seal(
        "",
        "import os\nfrom facelens.features.sealed import confine\nout = open(os.devnull)\n"
        "import tempfile\nf = tempfile.TemporaryFile()\nconfine(100 << 20, 2)\nf.write(b'x'); f.flush()",
    )
    assert written.returncode == -25 or "File too large" in written.stderr  # SIGXFSZ


def saved(tmp_path: Path, value: Any) -> Path:
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(value, protocol=4))
    return path


def read(path: Path, **options: Any) -> Any:
    with open(path, "rb") as stream:
        return sealed.read(stream, path.stat().st_size, shown=path.name, **options)


def test_tensors_come_back_equal(tmp_path: Path) -> None:
    given = {
        "a": np.random.default_rng(0).standard_normal((300, 400)).astype(np.float32),
        "b": np.arange(5),
        "c": np.zeros((0, 3), np.float16),
        "d": np.array(2.5),
        "e\ud800 ü": np.array([True]),
    }
    seen: list[tuple[int, int]] = []
    found = read(saved(tmp_path, given), tick=lambda done, total, note="": seen.append((done, total)))
    assert isinstance(found, Contents) and list(found.tensors) == list(given)
    for key, value in given.items():
        np.testing.assert_array_equal(found.tensors[key], value)
        assert found.tensors[key].dtype == value.dtype and found.tensors[key].shape == value.shape
    assert seen[-1] == (480_049, 480_049)
    found.tensors["a"][0, 0] = 1  # owned: nothing of the child is shared


def test_cancelling_ends_the_child(tmp_path: Path) -> None:
    def tick(done: int, total: int, note: str = "") -> None:
        if done:
            raise Cancelled

    with pytest.raises(Cancelled):
        read(saved(tmp_path, {"a": np.zeros((3000, 1000), np.float32)}), tick=tick)


def test_cancelling_need_not_wait_for_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "_CHILD", "import time; time.sleep(60)")
    calls = []

    def tick(done: int, total: int, note: str = "") -> None:
        calls.append(done)
        if len(calls) > 2:
            raise Cancelled

    start = time.monotonic()
    with pytest.raises(Cancelled):
        read(saved(tmp_path, {}), tick=tick)
    assert time.monotonic() - start < 10


def test_a_child_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "_CHILD", "import time; time.sleep(60)")
    start = time.monotonic()
    with pytest.raises(InputError) as caught:
        read(saved(tmp_path, {}), seconds=0.3)
    assert caught.value.message == "model.pkl was not opened: it could not be read within 1 second."
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    ("child", "said"),
    [
        ("import os; os.kill(os.getpid(), 11)", "ended (code -11)"),
        ("import os; os.abort()", "ended (code -6)"),
        ("raise SystemExit(3)", "ended (code 3)"),
        ("import os; os.write(1, b'\\x05\\0\\0\\0\\0\\0\\0\\0{}'); os._exit(9)", "ended (code 9)"),
        ("import os; os.write(1, b'\\xff' * 8); os._exit(0)", "ended (code 0)"),
        ("import os; os.write(1, b'\\2\\0\\0\\0\\0\\0\\0\\0{}'); os._exit(0)", "ended (code 0)"),
        ("import os; os.write(1, b'\\2\\0\\0\\0\\0\\0\\0\\0{]'); os.write(1, bytes(1 << 22))", "ended (code -9)"),
        ("import os; os.write(2, b'forbidden: os.system'); os._exit(86)", "something forbidden"),
    ],
)
def test_a_child_that_dies_has_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, child: str, said: str
) -> None:
    monkeypatch.setattr(sealed, "_CHILD", child)
    with pytest.raises(InputError) as caught:
        read(saved(tmp_path, {}))
    assert said in caught.value.message and caught.value.message.startswith("model.pkl was not opened")


def test_an_answer_that_asks_for_too_much_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = json.dumps({"kind": "weights", "tensors": [["a", "float32", [1 << 40]]]}).encode()
    data = len(head).to_bytes(8, "little") + head + b"\0"
    monkeypatch.setattr(sealed, "_CHILD", f"import os; os.write(1, {data!r}); os._exit(0)")
    monkeypatch.setattr(np, "empty", lambda *_: pytest.fail("memory was taken"))
    with pytest.raises(InputError, match="ended"):
        read(saved(tmp_path, {}))


def test_a_fault_after_the_first_tensors_is_told(tmp_path: Path) -> None:
    """A packed storage that is damaged shows only when it is read."""
    import zipfile

    path = tmp_path / "model.pth"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("m/data.pkl", two_tensors())
        file.writestr("m/data/0", np.arange(4, dtype=np.float32).tobytes())
        file.writestr("m/data/1", np.arange(4000, dtype=np.float32).tobytes())
    data = bytearray(out.getvalue())
    info = zipfile.ZipFile(io.BytesIO(bytes(data))).getinfo("m/data/1")
    start = info.header_offset + 30 + len("m/data/1")
    data[start + 20 : start + 60] = b"\xff" * 40
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.message.startswith("model.pth cannot be opened: entry m/data/1 of the archive")


def two_tensors() -> bytes:
    def text(value: str) -> bytes:
        return b"X" + len(value).to_bytes(4, "little") + value.encode()

    def tensor(key: str, count: int) -> bytes:
        n = b"M" + count.to_bytes(2, "little")
        storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(key) + text("cpu") + n + b"tQ"
        rest = n + b"\x85K\x01\x85\x89}"
        return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + rest + b"tR"

    return b"\x80\x02}(" + text("a.w") + tensor("0", 4) + text("b.w") + tensor("1", 4000) + b"u."


def test_the_memory_limit_reaches_the_child(tmp_path: Path) -> None:
    """A file may say it needs much within its bounds; what is too much for this machine is a sentence, not a death."""
    path = saved(tmp_path, {"a": np.zeros((500, 1000), np.float32)})
    with pytest.raises(InputError):
        read(path, limits=Limits(ceiling=1 << 20))


def test_the_child_starts_quickly_and_without_torch(tmp_path: Path) -> None:
    path = saved(tmp_path, {"fc.weight": np.zeros((2, 2), np.float32)})
    best = 9.0
    for _ in range(3):
        start = time.monotonic()
        read(path)
        best = min(best, time.monotonic() - start)
    assert best < 1.0  # about 0.2 s on a quiet machine
    script = f"import sys; sys.path[:] = {[str(ROOT), *sys.path]!r}\nimport facelens.features.sealed\n"
    script += "print(sorted({'torch', 'onnxruntime', 'PySide6', 'pyarrow'} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.stdout.strip() == "[]", ended.stderr


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    path = saved(tmp_path, {"fc.weight": np.zeros((2, 2), np.float32)})
    read(path)
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    read(path)
    after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    assert before == after
