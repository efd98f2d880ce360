#!/usr/bin/env python3
"""Set FaceLens up in .venv and start it.

    python3 run.py                    the window on the sample gallery; without a display, a tour of it in files
    python3 run.py test [PYTEST...]   the tests
    python3 run.py -- ARGS...         any facelens command, for example: -- doctor FOLDER
    python3 run.py --help             this text

The first start installs the packages into .venv beside this file; later starts find them there. Nothing outside this
folder is touched, except that on Debian and Ubuntu missing system libraries of Qt are installed when run by root.
To start afresh, delete .venv.
"""
# Standard library only, and no syntax newer than Python 3.6: an old Python must get as far as saying that it is old.

import contextlib
import ctypes
import errno
import hashlib
import importlib.util
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.abspath(__file__))
WINDOWS = os.name == "nt"
OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 13)  # the newest the pinned packages are published for
AGAIN = "py run.py" if WINDOWS else "python3 run.py"

NO_DISPLAY = 3  # the exit code of `facelens gui` when no display can be opened
ROOM_GB = 2.2 if sys.platform.startswith("linux") else 1.2  # what .venv holds at least, without CUDA

# What is installed for what. Each level has its own stamp, so that a plain start asks for no test tools.
LEVELS = {"base": "onnx", "test": "onnx,test"}

# soname: package of Debian, Fedora, Arch.
OFFSCREEN_LIBRARIES = {
    "libglib-2.0.so.0": ("libglib2.0-0", "glib2", "glib2"),
    "libGL.so.1": ("libgl1", "libglvnd-glx", "libglvnd"),
    "libEGL.so.1": ("libegl1", "libglvnd-egl", "libglvnd"),
    "libfontconfig.so.1": ("libfontconfig1", "fontconfig", "fontconfig"),
    "libxkbcommon.so.0": ("libxkbcommon0", "libxkbcommon", "libxkbcommon"),
    "libdbus-1.so.3": ("libdbus-1-3", "dbus-libs", "dbus"),
}
WINDOW_LIBRARIES = {
    "libX11-xcb.so.1": ("libx11-xcb1", "libX11-xcb", "libx11"),
    "libxcb-cursor.so.0": ("libxcb-cursor0", "xcb-util-cursor", "xcb-util-cursor"),
    "libxkbcommon-x11.so.0": ("libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11"),
    "libxcb-icccm.so.4": ("libxcb-icccm4", "xcb-util-wm", "xcb-util-wm"),
    "libxcb-keysyms.so.1": ("libxcb-keysyms1", "xcb-util-keysyms", "xcb-util-keysyms"),
    "libxcb-shape.so.0": ("libxcb-shape0", "libxcb", "libxcb"),
}
DISPLAY_PROGRAMS = {
    "Xvfb": ("xvfb", "xorg-x11-server-Xvfb", "xorg-server-xvfb"),
    "xauth": ("xauth", "xorg-x11-xauth", "xorg-xauth"),
}
INSTALLERS = (
    ("apt-get", "apt-get install -y"),
    ("dnf", "dnf install -y"),
    ("pacman", "pacman -S --needed"),
)


class Trouble(Exception):
    """What happened, in one sentence, and what to do next."""

    def __init__(self, message, hint):
        super().__init__(message)
        self.message = message
        self.hint = hint


# ------------------------------------------------------------------------------------------------- what went wrong


def check_python():
    """Refuse an old Python and name a newer one that is already there."""
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return
    hint = "Install Python 3.11, 3.12 or 3.13 and run this file with it."
    for minor in range(NEWEST_PYTHON[1], OLDEST_PYTHON[1] - 1, -1):
        name = "python3.%d" % minor
        if shutil.which(name) and starts(name):  # a version manager may have the name without the thing
            hint = "This computer has a newer one; run: %s run.py" % name
            break
    raise Trouble("FaceLens needs Python 3.11 or newer; this is %d.%d." % sys.version_info[:2], hint)


def disk_is_full(root):
    return Trouble(
        "The disk is full; the packages need about %.0f GB." % ROOM_GB,
        "Free some space in %s and in the folder for temporary files, then run the same command again." % root,
    )


def folder_is_read_only(root):
    return Trouble(
        "The folder %s cannot be written, and .venv has to be made in it." % root,
        "Copy FaceLens to a folder of your own, or change the rights of this one, then run the same command again.",
    )


def trouble_from_os_error(error, root):
    """Say what an error of the system during the set-up means."""
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return disk_is_full(root)
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return folder_is_read_only(root)
    return Trouble("The set-up failed: %s." % error, "Run the same command again.")


# Looked for in this order: the first lines are causes, the later ones often only follow from them.
_DISK = r"No space left on device|Errno 28\b|Disk quota exceeded|not enough space on the disk|WinError 112\b"
_CERTIFICATE = r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|SSLCertVerificationError"
_DAMAGED = r"DO NOT MATCH THE HASHES|BadZipFile|zipfile\.Bad|IncompleteRead|invalid wheel"
_RIGHTS = r"Permission denied|Read-only file system|Errno 13\b|Errno 30\b|Access is denied|WinError 5\b"
_NETWORK = (
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|Max retries exceeded|"
    r"name resolution|getaddrinfo failed|nodename nor servname|Name or service not known|Network is unreachable|"
    r"No route to host|Connection refused|Connection reset|Connection aborted|timed out|Could not fetch URL|"
    r"ConnectionError|RemoteDisconnected"
)
_ENSUREPIP = r"ensurepip is not\s+available|No module named '?ensurepip|ensurepip.*returned non-zero"


def trouble_from_output(text, code, root, log):
    """Say what the output of a failed pip, venv or apt-get means."""
    see = "Details: %s" % log
    if re.search(_DISK, text, re.I):
        return disk_is_full(root)
    if re.search(_CERTIFICATE, text, re.I):
        return Trouble(
            "pip does not trust the certificate of the package index.",
            "Behind a company proxy, name its certificate with `pip config set global.cert FILE`, then run the same "
            "command again. " + see,
        )
    if re.search(_DAMAGED, text, re.I):
        return Trouble("A download arrived damaged.", "Run the same command again. " + see)
    if re.search(_RIGHTS, text, re.I):
        return folder_is_read_only(root)
    if re.search(_ENSUREPIP, text, re.I):
        return no_venv_module("ensurepip")
    if re.search(_NETWORK, text, re.I):
        return Trouble(
            "pip could not reach the package index.",
            "Check the network connection (or the proxy and index of your pip configuration), then run the same "
            "command again. " + see,
        )
    # When a pinned version is not there, pip speaks of a conflict with the constraint.
    missing = re.search(r"(?:No matching distribution found for|The user requested \(constraint\)) (\S+)", text)
    if missing:
        return Trouble(
            "The package index has no %s for Python %d.%d on this system."
            % ((missing.group(1),) + tuple(sys.version_info[:2])),
            "Run this file with Python 3.11, 3.12 or 3.13 (64 bit); if it is one, check the network and the index that "
            "your pip configuration names. " + see,
        )
    if code in (-9, 137) or "MemoryError" in text:
        return Trouble(
            "The install was killed, most likely because memory ran out.",
            "Close other programs and run the same command again. " + see,
        )
    said = re.findall(r"^(?:ERROR|error|E): *(.+)$", text, re.M) or re.findall(r"\S.*", text)
    last = said[-1].strip().rstrip(".") if said else "exit code %s" % code
    return Trouble("The install failed: %s." % last[:200], "Run the same command again. " + see)


def no_venv_module(name):
    hint = "Install a complete Python (python.org) and run this file with it."
    if shutil.which("apt-get"):
        hint = "Run: sudo apt-get install -y python%d.%d-venv" % sys.version_info[:2]
    return Trouble("This Python cannot make virtual environments: its module %s is missing." % name, hint)


# ---------------------------------------------------------------------------------------------------- on the screen


class Progress:
    """Turns the long output of pip into one line that changes in place, or a few lines where there is no terminal."""

    def __init__(self, stream=None):
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        self.started = time.monotonic()
        self.note = ""
        self.told = set()

    def line(self, text):
        """Read one line of pip's output."""
        found = re.match(r"Collecting (\S+)", text)
        if found:
            return self._show("Looking up packages", re.split(r"[=<>!~\[;(]", found.group(1))[0])
        found = re.match(r"\s*(?:Downloading|Using cached) (?:\S*/)?([^\s/]+?)-([^-\s]+)\S*(?: (\(.+\)))?", text)
        if found and ".metadata" not in text:
            return self._show("Downloading packages", " ".join(part for part in found.groups() if part))
        found = re.match(r"Installing collected packages: (.+)", text)
        if found:
            return self._show("Unpacking %d packages" % len(found.group(1).split(",")), "")
        return None

    def stage(self, text):
        self._show(text, "")

    def tick(self):
        if self.live and self.note:
            self._draw()

    def end(self):
        if self.live and self.note:
            self.stream.write("\r\033[K")
            self.stream.flush()
            self.note = ""

    def _show(self, stage, detail):
        self.note = stage + (": " + detail if detail else "")
        if self.live:
            self._draw()
        elif stage not in self.told:  # pip goes to and fro between looking up and downloading
            self.stream.write("  %s\n" % stage)
            self.stream.flush()
        self.told.add(stage)

    def _draw(self):
        text = "  %3.0f s  %s" % (time.monotonic() - self.started, self.note)
        width = shutil.get_terminal_size().columns - 1
        self.stream.write("\r\033[K" + text[:width])
        self.stream.flush()


def run_logged(command, log, progress, env=None, keep_open=()):
    """Run a command with its output in the open file `log`; return its exit code and the output."""
    options = {} if WINDOWS else {"pass_fds": keep_open}
    process = subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    )
    lines = queue.Queue()

    def read():
        for raw in process.stdout:
            lines.put(raw.decode("utf-8", "replace"))
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    output = []
    try:
        log.write("+ %s\n" % " ".join(command))
        while True:
            try:
                text = lines.get(timeout=1)
            except queue.Empty:
                progress.tick()
                continue
            if text is None:
                break
            output.append(text)
            log.write(text)
            progress.line(text)
        log.flush()
        return process.wait(), "".join(output)
    except BaseException:
        process.terminate()
        process.wait()
        raise


# ------------------------------------------------------------------------------------------------------ setting up


class Setup:
    """One checkout and its .venv. `run` is run_logged, or a stand-in in the tests."""

    def __init__(self, root=ROOT, run=run_logged, progress=None):
        self.root = root
        self.venv = os.path.join(root, ".venv")
        self.python = os.path.join(self.venv, *(("Scripts", "python.exe") if WINDOWS else ("bin", "python")))
        self.log = os.path.join(root, ".venv-install.log")
        self.unfinished = os.path.join(root, ".venv-unfinished")  # there while .venv is being filled
        self.run = run
        self.progress = progress or Progress()
        self.lock_fds = ()

    def prepare(self, level):
        """Make .venv ready for a level; return at once when it is."""
        if self.is_ready(level) and self.python_starts():
            return
        with self.lock():
            if not (self.is_ready(level) and self.python_starts()):  # another run.py may have done it meanwhile
                self.install(level)

    def install(self, level):
        started = time.monotonic()
        say("Setting FaceLens up in %s; the first time takes a few minutes." % self.venv)
        with open(self.log, "w", encoding="utf-8", errors="replace") as log:
            if level == "test":
                self.add_display_programs(log)
            self.make_venv(log)
            write_whole(self.unfinished, version_text())
            pip = [self.python, "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
            pip += ["-c", os.path.join(self.root, "constraints.txt")]
            # The build tools first, so that the constraints hold for them too.
            self.must(pip + ["hatchling", "editables"], log)
            self.must(pip + ["--no-build-isolation", "-e", "%s[%s]" % (self.root, LEVELS[level])], log)
            os.remove(self.unfinished)
        for each in ("base", level):
            write_whole(self.stamp_path(each), self.stamp(each))
        self.progress.end()
        say("Ready after %.0f s." % (time.monotonic() - started))

    def make_venv(self, log):
        """A .venv whose Python starts: the one there is, or a new one in place of a broken or half-filled one."""
        if os.path.exists(self.venv) and not os.path.isdir(self.venv):
            raise Trouble("%s is a file, not a folder." % self.venv, "Move it away and run the same command again.")
        unfinished = os.path.exists(self.unfinished)
        if not unfinished and self.venv_version() == version_text() and self.python_starts("import pip"):
            return
        if os.path.isdir(self.venv) and os.listdir(self.venv):
            if not unfinished and not os.path.exists(os.path.join(self.venv, "pyvenv.cfg")):
                raise Trouble(
                    "%s is there already, but is no virtual environment." % self.venv,
                    "Move it away and run the same command again.",
                )
            say("The .venv that is there is unfinished, broken or of another Python; making it anew.")
        self.check_room()
        self.check_venv_module(log)
        write_whole(self.unfinished, version_text())
        self.progress.stage("Making .venv")
        self.must([sys.executable, "-m", "venv", "--clear", self.venv], log)

    def check_room(self):
        # An old .venv is about to be cleared, which frees its room.
        if not os.path.isdir(self.venv) and shutil.disk_usage(self.root).free < ROOM_GB * 1e9:
            raise disk_is_full(self.root)

    def check_venv_module(self, log):
        for name in ("venv", "ensurepip"):
            if importlib.util.find_spec(name) is None:
                if not self.apt(["python%d.%d-venv" % sys.version_info[:2]], log):
                    raise no_venv_module(name)
                return

    def must(self, command, log):
        code, output = self.run(command, log, self.progress, env=pip_environment(), keep_open=self.lock_fds)
        if code != 0:
            raise trouble_from_output(output, code, self.root, self.log)

    # .......................................................................................... is it ready?

    def stamp_path(self, level):
        return os.path.join(self.venv, "facelens-%s.stamp" % level)

    def stamp(self, level):
        """What the install of a level depends on. A moved folder counts: .venv holds absolute paths."""
        digest = hashlib.sha256()
        for name in ("pyproject.toml", "constraints.txt"):
            with open(os.path.join(self.root, name), "rb") as file:
                digest.update(file.read() + b"\0")
        for text in (version_text(), os.path.realpath(self.root), level, LEVELS[level]):
            digest.update(text.encode("utf-8", "surrogateescape") + b"\0")
        return digest.hexdigest()

    def is_ready(self, level):
        for each in ("base", level):
            try:
                with open(self.stamp_path(each), encoding="ascii") as file:
                    if file.read() != self.stamp(each):
                        return False
            except (OSError, UnicodeDecodeError):
                return False
        return not os.path.exists(self.unfinished)

    def python_starts(self, code=""):
        return os.path.exists(self.python) and starts(self.python, code)

    def venv_version(self):
        try:
            with open(os.path.join(self.venv, "pyvenv.cfg"), encoding="utf-8") as file:
                found = re.search(r"^version(?:_info)?\s*=\s*(\d+\.\d+)", file.read(), re.M)
        except OSError:
            return ""
        return found.group(1) if found else ""

    # .............................................................................................. one at a time

    @contextlib.contextmanager
    def lock(self):
        """Hold the lock of this folder. The system frees it when its holder dies, so it cannot go stale."""
        fd = None
        try:
            fd = os.open(os.path.join(self.root, ".venv-lock"), os.O_RDWR | os.O_CREAT, 0o666)
            told = False
            while not try_lock(fd):
                if not told:
                    say("Another run.py is setting up this folder; waiting for it to finish.")
                    told = True
                time.sleep(0.2)
            # pip inherits it: should this process be killed, the next one waits until its pip is gone too.
            self.lock_fds = () if WINDOWS else (fd,)
            yield
        except OSError as error:
            raise trouble_from_os_error(error, self.root) from error
        finally:
            self.progress.end()
            self.lock_fds = ()
            if fd is not None:
                os.close(fd)

    # ........................................................................................ libraries of the system

    def check_libraries(self, window):
        """Make sure that Qt finds its libraries; return whether it can open a window, not only draw offscreen."""
        if not sys.platform.startswith("linux"):
            return True
        missing = missing_libraries(OFFSCREEN_LIBRARIES)
        for_window = missing_libraries(WINDOW_LIBRARIES) if window else {}
        wanted = dict(missing, **for_window)
        if wanted:
            with self.lock(), open(self.log, "a", encoding="utf-8", errors="replace") as log:
                self.apt([names[0] for names in wanted.values()], log)
            missing, for_window = missing_libraries(missing), missing_libraries(for_window)
        if missing:
            raise Trouble(
                "Qt needs system libraries that are missing: %s." % ", ".join(missing),
                install_line(dict(missing, **for_window)) + ", then run the same command again.",
            )
        if for_window:
            say("A window needs system libraries that are missing: %s." % ", ".join(for_window))
            say(install_line(for_window))
        return not for_window

    def add_display_programs(self, log):
        """Where it is allowed, add what the tests of real windows need; without it those tests are skipped."""
        if not sys.platform.startswith("linux"):
            return
        wanted = missing_libraries(WINDOW_LIBRARIES)
        wanted.update((name, names) for name, names in DISPLAY_PROGRAMS.items() if not shutil.which(name))
        if wanted and not self.apt([names[0] for names in wanted.values()], log):
            say("The tests of real windows will be skipped. To have them: %s." % install_line(wanted))

    def apt(self, packages, log):
        """Install packages of Debian where this is allowed; return whether that was done."""
        if not may_use_apt():
            return False
        self.progress.stage("Installing %s with apt-get" % " ".join(packages))
        env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        apt = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300"]
        self.run(apt + ["update"], log, self.progress, env=env)  # its failure shows in the next line
        code, _ = self.run(apt + ["install", "-y", "--no-install-recommends"] + packages, log, self.progress, env=env)
        self.progress.end()
        if code != 0:
            say("apt-get could not install %s. Details: %s" % (" ".join(packages), self.log))
        return code == 0


def say(text):
    # On stderr: the output of `run.py -- ARGS` belongs to the command.
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def starts(python, code=""):
    """Whether this Python runs a line of code."""
    try:
        return subprocess.call([python, "-I", "-c", code], stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def version_text():
    return "%d.%d" % sys.version_info[:2]


def write_whole(path, text):
    """Write a file so that it is there whole or not at all."""
    part = "%s.%d" % (path, os.getpid())
    with open(part, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def try_lock(fd):
    try:
        if WINDOWS:
            import msvcrt

            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some network disks know no locks; there two starts at once are at their own risk.
        return error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
    return True


def pip_environment():
    """The user's environment and pip configuration, without what would install into another place."""
    drop = ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_CONSTRAINT", "__PYVENV_LAUNCHER__")
    env = {name: value for name, value in os.environ.items() if name not in drop}
    env.update(PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PYTHONIOENCODING="utf-8")
    return env


def may_use_apt():
    return hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get") is not None


def missing_libraries(libraries):
    """The libraries that the loader does not find; asking it is surer than reading its lists."""
    missing = {}
    for soname, packages in libraries.items():
        try:
            ctypes.CDLL(soname)
        except OSError:
            missing[soname] = packages
    return missing


def install_line(wanted):
    """The exact line that installs what is wanted on this system."""
    for column, (tool, command) in enumerate(INSTALLERS):
        if shutil.which(tool):
            packages = sorted({names[column] for names in wanted.values()})
            return "Run: sudo %s %s" % (command, " ".join(packages))
    return "Install them with the package manager of this system"


# ---------------------------------------------------------------------------------------------------------- starting


def launch(command):
    """Run a command in the foreground and return its exit code. Signals sent to this process reach it."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONHOME"}
    started = []

    def forward(number, _frame):
        # Ctrl-C reaches the command by itself: it belongs to the same terminal.
        if number != signal.SIGINT and started:
            with contextlib.suppress(OSError):
                started[0].send_signal(number)

    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, forward) for number in numbers}
    try:
        started.append(subprocess.Popen(command, env=env))
        return started[0].wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_code(code):
    return 128 - code if code < 0 else code


def has_display():
    """Whether there is any display to try. A platform the user chose is tried, unless it shows nothing by design."""
    platform = os.environ.get("QT_QPA_PLATFORM", "").split(":")[0]
    if platform in ("offscreen", "minimal", "minimalegl"):
        return False
    if not sys.platform.startswith("linux"):
        return True
    return bool(platform or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def display_opens(setup):
    code = "import sys; from PySide6.QtGui import QGuiApplication; QGuiApplication(sys.argv)"
    return subprocess.call([setup.python, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


def show(setup):
    """The window on the sample gallery, or the tour in files where no display can be opened."""
    display = has_display()
    window = setup.check_libraries(window=bool(display and os.environ.get("DISPLAY")))
    setup.prepare("base")
    facelens = [setup.python, "-m", "facelens"]
    if display and (window or os.environ.get("WAYLAND_DISPLAY")):
        code = launch(facelens + ["gui", "--sample"])
        # Qt itself aborts when it finds no display (-6; on Windows 3). Asking again tells that from any other abort.
        if code not in (NO_DISPLAY, -6) or display_opens(setup):
            return exit_code(code)
    out = os.path.join(setup.root, "tour")
    say("No display can be opened here, so FaceLens draws its tour into files in %s." % out)
    return exit_code(launch(facelens + ["tour", "--out", out]))


def test(setup, arguments):
    setup.check_libraries(window=False)
    setup.prepare("test")
    os.chdir(setup.root)
    if not arguments:  # the whole suite on all cores; a file's tests stay together and share what they set up
        arguments = ["-n", str(min(os.cpu_count() or 1, 4)), "--dist", "loadfile"]
        arguments += ["--max-worker-restart", "0"]  # a crash ends the run and names its test; a new process would hang
    return exit_code(launch([setup.python, "-m", "pytest"] + arguments))


def command(setup, arguments):
    setup.check_libraries(window=False)
    setup.prepare("base")
    return exit_code(launch([setup.python, "-m", "facelens"] + arguments))


def main(arguments, setup=None):
    try:
        check_python()
        setup = setup or Setup()
        if not arguments:
            return show(setup)
        if arguments[0] in ("-h", "--help"):
            sys.stdout.write(__doc__)
            return 0
        if arguments[0] == "test":
            return test(setup, arguments[1:])
        if arguments[0] == "--":
            return command(setup, arguments[1:])
        say("run.py does not know %r." % arguments[0])
        say("For a facelens command write: %s -- %s" % (AGAIN, " ".join(arguments)))
        return 2
    except Trouble as trouble:
        say(trouble.message)
        say(trouble.hint)
        return 1
    except KeyboardInterrupt:
        say("Stopped. Run the same command again to continue.")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
