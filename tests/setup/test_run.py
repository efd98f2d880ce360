"""run.py: what it installs and when, what it says when something is wrong, and that the next start heals it."""

from __future__ import annotations

import ast
import errno
import importlib.util
import io
import os
import shutil
import signal
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
posix = pytest.mark.skipif(os.name == "nt", reason="makes a stand-in for .venv with symbolic links")


def load() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("facelens_run", ROOT / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run = load()


class FakeCommands:
    """Stands in for run_logged: makes a .venv that starts, lets pip succeed, or answers as told."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self.answers: dict[str, tuple[int, str] | BaseException] = {}

    def __call__(self, command: list[str], log: Any, progress: Any, **_: Any) -> tuple[int, str]:
        self.commands.append(command)
        for word, answer in self.answers.items():
            if word in command:
                if isinstance(answer, BaseException):
                    raise answer
                return answer
        if "venv" in command:
            fake_venv(Path(command[-1]))
        return 0, ""

    def count(self, word: str) -> int:
        return sum(word in command for command in self.commands)


def fake_venv(folder: Path, version: str = VERSION) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    packages = folder / "lib" / f"python{VERSION}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "pip.py").touch()
    (folder / "bin").mkdir()
    base = Path(sys.base_prefix) / "bin" / f"python{VERSION}"
    (folder / "bin" / "python").symlink_to(base)
    (folder / "pyvenv.cfg").write_text(
        f"home = {base.parent}\ninclude-system-site-packages = false\nversion = {version}.1\n"
    )


@pytest.fixture
def fake() -> FakeCommands:
    return FakeCommands()


@pytest.fixture
def setup(tmp_path: Path, fake: FakeCommands, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A checkout with nothing installed, on a machine that has all libraries and no apt-get."""
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.setattr(run, "may_use_apt", lambda: False)
    monkeypatch.setattr(run, "missing_libraries", lambda libraries: {})
    return run.Setup(str(tmp_path), run=fake, progress=run.Progress(io.StringIO()))


def another(setup: Any) -> Any:
    """The same checkout at the next start."""
    return run.Setup(setup.root, run=setup.run, progress=setup.progress)


# ---------------------------------------------------------------------------------------------------------- the file


def test_an_old_python_can_read_it() -> None:
    source = (ROOT / "run.py").read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 6))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module))
    assert imported <= sys.stdlib_module_names - {"__future__"}


def test_it_names_no_package_host() -> None:
    for name in ("run.py", "pyproject.toml", "constraints.txt"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "://" not in text and "index-url" not in text, name


def test_every_dependency_is_pinned() -> None:
    import tomllib

    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        wanted += extra
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    pinned = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in pins}
    for requirement in map(Requirement, wanted):
        version = pinned[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} excludes its own pin {version}"


# ------------------------------------------------------------------------------------------------------- installing


@posix
def test_a_first_start_installs_and_a_second_does_not(setup: Any, fake: FakeCommands) -> None:
    setup.prepare("base")
    assert fake.count("venv") == 1
    assert fake.commands[-1][-1] == f"{setup.root}[onnx]"
    assert str(Path(setup.root, "constraints.txt")) in fake.commands[-1]
    done = len(fake.commands)
    another(setup).prepare("base")
    assert len(fake.commands) == done


@posix
def test_tests_add_their_tools_and_a_plain_start_keeps_them(setup: Any, fake: FakeCommands) -> None:
    setup.prepare("base")
    assert not setup.is_ready("test")
    another(setup).prepare("test")
    assert fake.commands[-1][-1] == f"{setup.root}[onnx,test]"
    assert fake.count("venv") == 1
    done = len(fake.commands)
    another(setup).prepare("base")
    another(setup).prepare("test")
    assert len(fake.commands) == done


@posix
@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_changed_requirements_are_installed_into_the_same_venv(setup: Any, fake: FakeCommands, name: str) -> None:
    setup.prepare("base")
    with open(Path(setup.root, name), "a") as file:
        file.write("# changed\n")
    pips = fake.count("pip")
    another(setup).prepare("base")
    assert fake.count("pip") > pips
    assert fake.count("venv") == 1


@posix
def test_a_moved_folder_is_installed_again(setup: Any, fake: FakeCommands, tmp_path_factory: Any) -> None:
    setup.prepare("base")
    moved = tmp_path_factory.mktemp("moved") / "facelens"
    shutil.move(setup.root, moved)
    assert not run.Setup(str(moved), run=fake).is_ready("base")


@posix
def test_a_killed_install_is_made_anew(setup: Any, fake: FakeCommands, capsys: Any) -> None:
    fake.answers["--no-build-isolation"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        setup.prepare("base")
    fake.answers.clear()
    another(setup).prepare("base")
    assert fake.count("venv") == 2
    assert "unfinished, broken or of another Python; making it anew" in capsys.readouterr().err
    assert another(setup).is_ready("base")


@posix
def test_a_venv_killed_while_it_was_made_is_made_anew(setup: Any, fake: FakeCommands) -> None:
    def half_made(*_: Any, **__: Any) -> tuple[int, str]:
        Path(setup.venv, "bin").mkdir(parents=True)
        raise KeyboardInterrupt

    setup.run = half_made
    with pytest.raises(KeyboardInterrupt):
        setup.prepare("base")
    setup.run = fake
    another(setup).prepare("base")
    assert another(setup).is_ready("base")


@posix
@pytest.mark.parametrize("damage", ["dangling", "not starting", "no pip", "another Python"])
def test_a_broken_venv_is_made_anew(setup: Any, fake: FakeCommands, damage: str) -> None:
    setup.prepare("base")
    python = Path(setup.python)
    if damage == "dangling":
        python.unlink()
        python.symlink_to("/no/such/python")
    elif damage == "not starting":
        python.unlink()
        python.write_text("#!/bin/sh\nexit 1\n")
        python.chmod(0o755)
    else:
        Path(setup.stamp_path("base")).unlink()
        fake_venv(Path(setup.venv), version="3.9" if damage == "another Python" else VERSION)
        if damage == "no pip":
            next(Path(setup.venv).rglob("pip.py")).unlink()
    another(setup).prepare("base")
    assert fake.count("venv") == 2
    assert another(setup).is_ready("base") and another(setup).python_starts()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_foreign_venv_is_left_alone(setup: Any, kind: str) -> None:
    mine = Path(setup.venv)
    if kind == "folder":
        mine.mkdir()
        mine /= "diary.txt"
    mine.write_text("mine")
    with pytest.raises(run.Trouble, match="is a file, not a folder" if kind == "file" else "no virtual environment"):
        setup.prepare("base")
    assert mine.read_text() == "mine"


def test_pip_keeps_the_users_index_but_not_another_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "my-index")
    monkeypatch.setenv("PIP_TARGET", "elsewhere")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    monkeypatch.setenv("PIP_USER", "1")
    env = run.pip_environment()
    assert env["PIP_INDEX_URL"] == "my-index"
    assert env["PIP_USER"] == "0" and "PIP_TARGET" not in env and "PYTHONPATH" not in env


# --------------------------------------------------------------------------------------------------- what goes wrong

NO_NAME = """\
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by \
'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f>: Failed to establish a new \
connection: [Errno -3] Temporary failure in name resolution')': /simple/torch/
ERROR: Could not find a version that satisfies the requirement torch (from versions: none)
ERROR: No matching distribution found for torch
"""
FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
OUTPUTS = {
    NO_NAME: "pip could not reach the package index.",
    "ReadTimeoutError: HTTPSConnectionPool: Read timed out.": "pip could not reach the package index.",
    "ERROR: 403 Client Error\nProxyError('Cannot connect to proxy.')": "pip could not reach the package index.",
    FULL: "The disk is full; the packages need about 2 GB.",
    NO_NAME + FULL: "The disk is full; the packages need about 2 GB.",
    "OSError: [WinError 112] There is not enough space on the disk": "The disk is full; the packages need about 2 GB.",
    "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"
    " certificate'))\nMax retries exceeded": "pip does not trust the certificate of the package index.",
    "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.": "A download arrived damaged.",
    "ERROR: Could not install packages due to an OSError: [Errno 30] Read-only file system": "The folder ROOT cannot "
    "be written, and .venv has to be made in it.",
    "The conflict is caused by:\n    The user requested numpy\n    The user requested (constraint) numpy==2.4.6\n\n"
    "ERROR: ResolutionImpossible: for help visit": "The package index has no numpy==2.4.6 for Python "
    f"{VERSION} on this system.",
    "ERROR: No matching distribution found for torch==2.13.0": "The package index has no torch==2.13.0 for Python "
    f"{VERSION} on this system.",
    "The virtual environment was not created successfully because ensurepip is not\navailable.": "This Python cannot "
    "make virtual environments: its module ensurepip is missing.",
    "MemoryError": "The install was killed, most likely because memory ran out.",
    "noise\nERROR: Something never seen before.\n": "The install failed: Something never seen before.",
    "": "The install failed: exit code 1.",
}


@pytest.mark.parametrize(("output", "sentence"), OUTPUTS.items(), ids=lambda text: text[-40:])
def test_what_the_output_of_a_failed_pip_means(output: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "ROOM_GB", 2.2)
    trouble = run.trouble_from_output(output, 1, "ROOT", "LOG")
    assert trouble.message == sentence
    assert trouble.hint and "Traceback" not in trouble.hint


def test_a_killed_pip_means_too_little_memory() -> None:
    assert "memory ran out" in run.trouble_from_output("Collecting torch", -9, "ROOT", "LOG").message


@posix
def test_a_failed_install_says_one_sentence_and_the_next_step_and_heals(
    setup: Any, fake: FakeCommands, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.answers["--no-build-isolation"] = (1, NO_NAME)
    assert run.main(["--", "doctor"], setup) == 1
    *_, sentence, step = capsys.readouterr().err.splitlines()
    assert sentence == "pip could not reach the package index."
    assert "run the same command again" in step and setup.log in step

    fake.answers.clear()
    launched: list[list[str]] = []
    monkeypatch.setattr(run, "launch", lambda command: launched.append(command) or 7)
    assert run.main(["--", "doctor", "faces"], another(setup)) == 7
    assert launched == [[setup.python, "-m", "facelens", "doctor", "faces"]]


@pytest.mark.parametrize(
    ("newer", "works", "step"),
    [
        (None, True, "Install Python 3.11, 3.12 or 3.13 and run this file with it."),
        ("python3.12", True, "This computer has a newer one; run: python3.12 run.py"),
        ("python3.12", False, "Install Python 3.11, 3.12 or 3.13 and run this file with it."),
    ],
)
def test_an_old_python(newer: str | None, works: bool, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "starts", lambda name: works)
    out = io.StringIO()
    monkeypatch.setattr(run, "sys", types.SimpleNamespace(version_info=(3, 8, 10, "final", 0), stderr=out))
    monkeypatch.setattr(run.shutil, "which", lambda name: name if name == newer else None)
    assert run.main([]) == 1
    assert out.getvalue().splitlines() == ["FaceLens needs Python 3.11 or newer; this is 3.8.", step]


@pytest.mark.parametrize("name", ["venv", "ensurepip"])
def test_no_venv_module(setup: Any, fake: FakeCommands, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n, *a: None if n == name else find(n, *a))
    monkeypatch.setattr(run.shutil, "which", lambda tool: "/usr/bin/apt-get" if tool == "apt-get" else None)
    with pytest.raises(run.Trouble, match=f"its module {name} is missing") as caught:
        setup.prepare("base")
    assert caught.value.hint == f"Run: sudo apt-get install -y python{VERSION}-venv"
    assert not fake.commands


@posix
def test_root_on_debian_gets_the_venv_module(setup: Any, fake: FakeCommands, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n, *a: None if n == "ensurepip" else find(n, *a))
    monkeypatch.setattr(run, "may_use_apt", lambda: True)
    setup.prepare("base")
    assert [command[-1] for command in fake.commands if "apt-get" in command] == ["update", f"python{VERSION}-venv"]
    assert setup.is_ready("base")


def test_too_little_room_is_said_before_anything_is_made(setup: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run.shutil, "disk_usage", lambda path: types.SimpleNamespace(free=10**8))
    with pytest.raises(run.Trouble, match="The disk is full"):
        setup.prepare("base")
    assert not Path(setup.venv).exists()


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "The disk is full"),
        (errno.EROFS, "cannot be written"),
        (errno.EACCES, "cannot be written"),
        (errno.EIO, "The set-up failed: .*Input/output error"),
    ],
)
@pytest.mark.parametrize("call", ["open", "replace"])
def test_errors_of_the_system(
    setup: Any, number: int, sentence: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(run.os, call, fail)
        with pytest.raises(run.Trouble, match=sentence) as caught:
            setup.prepare("base")
    assert caught.value.hint


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(setup: Any) -> None:
    os.chmod(setup.root, 0o555)
    try:
        with pytest.raises(run.Trouble, match="cannot be written"):
            setup.prepare("base")
    finally:
        os.chmod(setup.root, 0o755)


# ------------------------------------------------------------------------------------------------------- two at once


@posix
def test_the_second_waits_for_the_first_and_installs_nothing(
    setup: Any, fake: FakeCommands, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = another(setup)
    holding = first.lock()
    holding.__enter__()

    def first_finishes(_: float) -> None:
        first.install("base")
        holding.__exit__(None, None, None)

    monkeypatch.setattr(run.time, "sleep", first_finishes)
    setup.prepare("base")
    assert fake.count("venv") == 1 and fake.count("pip") == 2
    assert capsys.readouterr().err.count("Another run.py is setting up this folder; waiting for it to finish.") == 1


@posix
def test_a_killed_holder_leaves_no_lock(setup: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys, time, run\nwith run.Setup(sys.argv[1]).lock():\n  print('held', flush=True)\n  time.sleep(60)"
    env = dict(os.environ, PYTHONPATH=str(ROOT))
    holder = subprocess.Popen([sys.executable, "-c", code, setup.root], env=env, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == "held\n"
        fd = os.open(Path(setup.root, ".venv-lock"), os.O_RDWR)
        assert not run.try_lock(fd)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert run.try_lock(fd)
    os.close(fd)


# ------------------------------------------------------------------------------------------- libraries of the system


class Machine:
    """A Linux machine on which some libraries are missing, and apt-get perhaps installs them."""

    def __init__(self, missing: set[str], *, apt_code: int | None) -> None:
        self.missing, self.apt_code = missing, apt_code
        self.installed: list[str] = []

    def look(self, libraries: dict[str, Any]) -> dict[str, Any]:
        return {soname: packages for soname, packages in libraries.items() if soname in self.missing}

    def __call__(self, command: list[str], log: Any, progress: Any, **options: Any) -> tuple[int, str]:
        assert command[0] == "apt-get" and options["env"]["DEBIAN_FRONTEND"] == "noninteractive"
        if "install" in command:
            self.installed += command[command.index("--no-install-recommends") + 1 :]
            if self.apt_code == 0:
                self.missing.clear()
            return int(self.apt_code or 0), ""
        assert command[-1] == "update" and not self.installed
        return 0, ""


@pytest.fixture
def linux(setup: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Machine]:
    def make(*missing: str, apt_code: int | None = None) -> Machine:
        machine = Machine(set(missing), apt_code=apt_code)
        monkeypatch.setattr(run.sys, "platform", "linux")
        monkeypatch.setattr(run, "missing_libraries", machine.look)
        monkeypatch.setattr(run, "may_use_apt", lambda: apt_code is not None)
        monkeypatch.setattr(run.shutil, "which", lambda tool: tool if tool == "apt-get" else None)
        setup.run = machine
        return machine

    return make


def test_root_on_debian_gets_missing_libraries(setup: Any, linux: Callable[..., Machine]) -> None:
    machine = linux("libEGL.so.1", "libxcb-cursor.so.0", apt_code=0)
    assert setup.check_libraries(window=True)
    assert machine.installed == ["libegl1", "libxcb-cursor0"]


def test_others_get_the_exact_line(setup: Any, linux: Callable[..., Machine]) -> None:
    linux("libEGL.so.1", "libGL.so.1")
    with pytest.raises(run.Trouble) as caught:
        setup.check_libraries(window=False)
    assert caught.value.message == "Qt needs system libraries that are missing: libGL.so.1, libEGL.so.1."
    assert caught.value.hint == "Run: sudo apt-get install -y libegl1 libgl1, then run the same command again."


def test_an_apt_that_fails_gives_the_exact_line_too(setup: Any, linux: Callable[..., Machine], capsys: Any) -> None:
    linux("libEGL.so.1", apt_code=100)
    with pytest.raises(run.Trouble, match=r"missing: libEGL\.so\.1"):
        setup.check_libraries(window=False)
    assert "apt-get could not install libegl1." in capsys.readouterr().err


def test_libraries_of_a_window_are_not_needed_offscreen(setup: Any, linux: Callable[..., Machine], capsys: Any) -> None:
    machine = linux("libxcb-cursor.so.0")
    assert setup.check_libraries(window=False)
    assert not setup.check_libraries(window=True)
    assert "Run: sudo apt-get install -y libxcb-cursor0" in capsys.readouterr().err
    assert not machine.installed


def test_tests_get_xvfb_where_allowed_and_go_on_without(setup: Any, linux: Callable[..., Machine], capsys: Any) -> None:
    machine = linux(apt_code=0)
    setup.add_display_programs(io.StringIO())
    assert machine.installed == ["xvfb", "xauth"]
    linux(apt_code=None)
    setup.add_display_programs(io.StringIO())
    assert "To have them: Run: sudo apt-get install -y xauth xvfb." in capsys.readouterr().err


def test_the_loader_is_asked() -> None:
    wanted = {"libm.so.6": ("a",), "libnosuch.so.9": ("b",)} if sys.platform == "linux" else {"libnosuch": ("b",)}
    assert [*load().missing_libraries(wanted).values()] == [("b",)]


# ---------------------------------------------------------------------------------------------------------- starting


@pytest.fixture
def launched(setup: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """facelens commands that were started; the values to give back are set by the test."""
    codes: dict[str, int] = {}
    order: list[str] = []

    def launch(command: list[str]) -> int:
        assert command[:3] == [setup.python, "-m", "facelens"]
        order.append(command[3])
        return codes.get(command[3], 0)

    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(run.sys, "platform", "linux")
    monkeypatch.setattr(run, "launch", launch)
    monkeypatch.setattr(setup, "prepare", lambda level: order.append(level))
    monkeypatch.setattr(run, "display_opens", lambda _: False)
    codes["order"] = order  # type: ignore[assignment]
    return codes


def test_no_display_draws_the_tour_and_says_where(setup: Any, launched: Any, capsys: Any) -> None:
    assert run.main([], setup) == 0
    assert launched["order"] == ["base", "tour"]
    said = capsys.readouterr().err
    assert f"No display can be opened here, so FaceLens draws its tour into files in {setup.root}" in said


@pytest.mark.parametrize("code", [3, -6])
def test_a_display_that_does_not_open_draws_the_tour(
    setup: Any, launched: Any, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":77")
    launched.update(gui=code, tour=5)
    assert run.main([], setup) == 5
    assert launched["order"] == ["base", "gui", "tour"]


def test_a_crash_of_the_window_is_no_missing_display(
    setup: Any, launched: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":77")
    monkeypatch.setattr(run, "display_opens", lambda _: True)
    launched["gui"] = -6
    assert run.main([], setup) == 128 + 6
    assert launched["order"] == ["base", "gui"]


def test_a_display_shows_the_window(setup: Any, launched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert run.main([], setup) == 0
    assert launched["order"] == ["base", "gui"]


def test_offscreen_is_no_display(setup: Any, launched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":77")
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert run.main([], setup) == 0
    assert launched["order"] == ["base", "tour"]


def test_an_unknown_word_says_how_to_reach_facelens(setup: Any, capsys: Any) -> None:
    assert run.main(["doctor", "faces"], setup) == 2
    assert "run.py -- doctor faces" in capsys.readouterr().err


@posix
def test_exit_codes_and_signals_pass_through() -> None:
    assert run.launch([sys.executable, "-c", "raise SystemExit(5)"]) == 5
    # A signal to run.py reaches the command, which ends in its own way.
    child = "import os, signal, sys\nsignal.alarm(20)\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
    child += "os.kill(os.getppid(), signal.SIGTERM)\nwhile True: signal.pause()"
    assert run.launch([sys.executable, "-c", child]) == 9
    assert run.exit_code(-15) == 143


def test_pip_is_told_in_short_lines() -> None:
    out = io.StringIO()
    progress = run.Progress(out)
    for line in (
        "Collecting torch>=2.10 (from facelens==0.1.0)",
        "  Downloading torch-2.13.0-cp311-cp311-linux_x86_64.whl.metadata (29 kB)",
        "  Downloading numpy-2.4.6-cp311-cp311-linux_x86_64.whl (17 MB)",
        "Collecting sympy (from torch)",
        "  Downloading torch-2.13.0-cp311-cp311-linux_x86_64.whl (180 MB)",
        "Installing collected packages: mpmath, numpy, torch",
        "Successfully installed mpmath-1.3.0",
    ):
        progress.line(line)
    assert out.getvalue().split("\n") == [
        "  Looking up packages",
        "  Downloading packages",
        "  Unpacking 3 packages",
        "",
    ]
    assert progress.note == "Unpacking 3 packages"


def test_a_terminal_sees_one_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    progress = run.Progress(out)
    progress.line("  Downloading torch-2.13.0-cp311-cp311-linux_x86_64.whl (180 MB)")
    assert progress.note == "Downloading packages: torch 2.13.0 (180 MB)"
    progress.tick()
    assert out.getvalue().count("\r") == 2 and "\n" not in out.getvalue()
    progress.end()
    assert out.getvalue().endswith("\r\033[K")


# ------------------------------------------------------------------------------------------------------- for real


def test_help_is_said_without_setting_up() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "run.py"), "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "python3 run.py test" in done.stdout and not done.stderr


@posix
@pytest.mark.slow
def test_a_real_start_without_a_network(tmp_path: Path) -> None:
    for name in ("run.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    # Port 9 of this machine: nobody listens there, and nothing leaves the machine.
    env.update(PIP_CONFIG_FILE=os.devnull, PIP_RETRIES="1", PIP_INDEX_URL="http://127.0.0.1:9/", no_proxy="127.0.0.1")
    start = [sys.executable, str(tmp_path / "run.py"), "--", "--version"]
    done = subprocess.run(start, env=env, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    *_, sentence, step = done.stderr.splitlines()
    assert sentence == "pip could not reach the package index."
    assert str(tmp_path / ".venv-install.log") in step
    assert "Traceback" not in done.stderr
    assert "127.0.0.1" in (tmp_path / ".venv-install.log").read_text()
