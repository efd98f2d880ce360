"""Windows, panels and small galleries for the tests of the views.

A test that uses `window` or `panel` fails when it leaves a thread, a process or a top-level widget behind. pytest-qt
fails it when an exception escaped in a slot or Qt warned.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw
from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QMessageBox, QWidget

from facelens.images import readers
from facelens.session.jobs import JobQueue, Request
from facelens.session.settings import Settings
from facelens.session.store import Store
from facelens.views import later, main_window, motion, theme
from facelens.views.bridge import Bridge
from facelens.views.main_window import MainWindow
from facelens.views.panel import Desk, Panel
from facelens.views.thumbnails import Thumbnails

PATIENCE = 60.0  # seconds; only a hanging test ever waits as long
PEOPLE = ("Ada_Byron", "Bo_Chen", "Cy_Diaz", "Di_Eng")


class NearbyQueue(JobQueue):
    """Runs everything on threads: the same calls and states without a second to start the worker process."""

    def submit(self, request: Request, **how: Any) -> int:
        return super().submit(replace(request, place="thread"), **how)


def draw(path: Path, seed: int, *, side: int = 48) -> None:
    """A made-up face that the doctor does not take for another one."""
    rng = np.random.default_rng(seed)
    image = Image.fromarray(rng.integers(0, 255, (6, 6, 3), np.uint8)).resize((side, side), Image.Resampling.BICUBIC)
    pen = ImageDraw.Draw(image)
    skin = tuple(int(v) for v in rng.integers(90, 230, 3))
    pen.ellipse((side * 0.2, side * 0.1, side * 0.8, side * 0.9), fill=skin)
    for x in (0.38, 0.62):
        pen.ellipse((side * (x - 0.05), side * 0.38, side * (x + 0.05), side * 0.46), fill=(20, 20, 20))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


def make_gallery(
    root: Path,
    *,
    people: tuple[str, ...] = PEOPLE,
    pictures: int = 3,
    manifest: bool = True,
    broken: int = 0,
    seed: int = 0,
) -> Path:
    """Identity folders; with `manifest` also columns and landmarks; the last `broken` pictures are damaged."""
    names = [(person, f"{person}/{i:02}.png") for person in people for i in range(pictures)]
    rows = [
        "path,identity,split,blur,yaw,leye_x,leye_y,reye_x,reye_y,nose_x,nose_y,lmouth_x,lmouth_y,rmouth_x,rmouth_y"
    ]
    rng = np.random.default_rng(seed)
    for i, (person, name) in enumerate(names):
        draw(root / name, seed * 10_000 + i)
        blur = "" if i % 5 == 4 else f"{rng.uniform():.3f}"
        points = "18,20,30,20,24,27,19,33,29,33"
        rows.append(f"{name},{person},{'test' if i % 2 else 'train'},{blur},{rng.normal(0, 20):.2f},{points}")
    for _, name in names[len(names) - broken :] if broken else []:
        data = (root / name).read_bytes()
        (root / name).write_bytes(data[: len(data) // 3])
    if manifest:
        (root / "manifest.csv").write_text("\n".join(rows) + "\n")
    return root


def pump(seconds: float = 0.0) -> None:
    """Let Qt do what it has to do now."""
    QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, max(1, int(seconds * 1000)))
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def until(condition: Callable[[], object], what: str = "") -> None:
    """Process events until `condition` holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        pump(0.01)
        time.sleep(0.001)  # jobs on threads go on meanwhile; asking without a pause keeps the lock of Python from them
        assert time.monotonic() < end, f"waited {PATIENCE:.0f} s in vain: {what or condition}"


def settle(of: MainWindow | Desk) -> None:
    """Process events until no job waits or runs and no thumbnail is awaited."""
    quiet = 0

    def rested() -> bool:
        nonlocal quiet
        quiet = 0 if of.jobs.busy or not of.thumbnails.idle or later.under_way else quiet + 1
        return quiet >= 3

    until(rested, "jobs or thumbnails do not come to rest")


def children() -> set[int]:
    """Process ids of our children."""
    found: set[int] = set()
    for task in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
        try:
            found |= {int(pid) for pid in task.read_text().split()}
        except OSError:
            continue
    return found


def _address(widget: QWidget) -> int:
    """Of the widget itself: what Python holds of a widget of Qt's own is made anew each time."""
    from shiboken6 import getCppPointer

    return int(getCppPointer(widget)[0])


class _Leftovers:
    """What is there now, to be compared with what is there after the test."""

    def __init__(self) -> None:
        self.threads = set(threading.enumerate())
        self.children = children()
        self.widgets = {_address(widget) for widget in QApplication.topLevelWidgets()}

    def check(self) -> None:
        gc.collect()
        for _ in range(3):
            pump()
        threads = [thread.name for thread in threading.enumerate() if thread not in self.threads]
        pools = ("encode_", "transport_")  # of the whole process
        threads = [name for name in threads if not name.startswith(pools)]
        assert not threads, f"threads were left behind: {threads}"
        assert not children() - self.children, f"processes were left behind: {children() - self.children}"
        widgets = [w for w in QApplication.topLevelWidgets() if _address(w) not in self.widgets]
        named = [f"{type(w).__name__}({w.objectName() or w.windowTitle()})" for w in widgets]
        # Qt itself keeps one tooltip and the popups of combo boxes of its own.
        assert not [name for name in named if not name.startswith("QLabel")], f"widgets were left behind: {named}"


@pytest.fixture(name="make_gallery")
def _make_gallery() -> Callable[..., Path]:
    """Function: a small gallery on disk."""
    return make_gallery


@pytest.fixture(name="settle")
def _settle() -> Callable[[MainWindow | Desk], None]:
    """Function: wait until nothing is under way."""
    return settle


@pytest.fixture(name="until")
def _until() -> Callable[..., None]:
    """Function: process events until a condition holds."""
    return until


@pytest.fixture(name="pump")
def _pump() -> Callable[..., None]:
    """Function: let Qt do what it has to do now."""
    return pump


@pytest.fixture
def tiny_faces(tmp_path: Path) -> Path:
    """A gallery of 4 identities with 3 pictures each, with columns and landmarks."""
    return make_gallery(tmp_path / "tiny")


@pytest.fixture(autouse=True, scope="module")
def swept() -> None:
    """What earlier files left is collected once."""
    gc.collect()


@pytest.fixture(autouse=True)
def tidy(swept: None) -> Iterator[None]:
    """No thread of a test collects garbage, as in the application; what a test leaves is collected after it.

    What was there before it (pytest, torch, half a million objects) is not looked through again for each test.
    """
    gc.disable()
    gc.freeze()
    let_go()
    yield
    gc.enable()


def let_go() -> None:
    """Qt remembers a button that an earlier test has pressed and never let go; what is one step depends on it."""
    none = Qt.MouseButton.NoButton
    if QApplication.instance() is None or QApplication.mouseButtons() == none:
        return
    widget = QWidget()
    for button in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton, Qt.MouseButton.RightButton):
        if QApplication.mouseButtons() & button:
            QTest.mouseRelease(widget, button)
    assert QApplication.mouseButtons() == none


@pytest.fixture
def leftovers(qapp: QApplication) -> Iterator[None]:
    """Fails the test that leaves a thread, a process or a top-level widget behind."""
    if not (qapp.styleSheet() and theme.current().dark):
        theme.apply(qapp, "dark")
    pump()
    before = _Leftovers()
    yield
    before.check()


@pytest.fixture
def open_window(leftovers: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., MainWindow]]:
    """Function: a shown MainWindow whose jobs run on threads; it is closed and deleted after the test."""
    monkeypatch.setattr(main_window, "JobQueue", NearbyQueue)
    made: list[MainWindow] = []

    def open_one(settings: Settings | None = None, *, size: tuple[int, int] = (1440, 900), **how: Any) -> MainWindow:
        window = MainWindow(settings or Settings(theme="dark"), **how)
        window.resize(*size)
        made.append(window)
        window.show()
        window.activateWindow()
        pump()
        return window

    yield open_one
    for window in made:
        close(window)
    made.clear()


def close(window: MainWindow) -> None:
    """Close a window for good; does nothing when the test has done so."""
    from shiboken6 import isValid

    if isValid(window):
        monkey = window.jobs
        monkey.shutdown()  # what still runs is no reason to ask
        window.close()
        window.deleteLater()
        pump()


@pytest.fixture(name="close")
def _close() -> Callable[[MainWindow], None]:
    """Function: close and delete a window before the test ends."""
    return close


@pytest.fixture
def window(open_window: Callable[..., MainWindow]) -> MainWindow:
    """A window without a gallery."""
    return open_window()


@pytest.fixture
def browsing(window: MainWindow, tiny_faces: Path) -> MainWindow:
    """A window with `tiny_faces` open and checked."""
    window.opening.open(tiny_faces)
    settle(window)
    assert window.store.workspace.diagnosis is not None
    return window


class Calls(list[tuple[str, object]]):
    """What a panel asked the window for: (what, with what)."""

    def named(self, what: str) -> list[object]:
        return [value for name, value in self if name == what]


@pytest.fixture
def calls() -> Calls:
    """What panels on `desk` asked for."""
    return Calls()


@pytest.fixture
def desk(leftovers: None, calls: Calls) -> Iterator[Desk]:
    """A desk without a window."""
    bridge = Bridge()
    jobs = NearbyQueue(post=bridge.post)
    thumbnails = Thumbnails(threads=2)
    yield Desk(
        store=Store(),
        jobs=jobs,
        thumbnails=thumbnails,
        settings=Settings(),
        act=lambda id: calls.append(("act", id)),
        open_path=lambda path: calls.append(("open", path)),
        notify=lambda error, trace="": calls.append(("notify", error)),
        remember=False,
    )
    jobs.shutdown()
    bridge.close()
    thumbnails.close()


@pytest.fixture
def panel(desk: Desk) -> Iterator[Callable[..., Any]]:
    """Function: a panel or dock of the class given, shown on `desk`."""
    made: list[Panel] = []

    def make(cls: type[Panel], *, shown: bool = True) -> Panel:
        one = cls(desk)
        one.resize(900, 640)
        made.append(one)
        if shown:
            one.show()
            pump()
        return one

    yield make
    from shiboken6 import isValid

    for one in made:
        if isValid(one):
            one.close_panel()
            one.close()
            one.deleteLater()
    made.clear()
    pump()


@pytest.fixture
def load(desk: Desk) -> Callable[..., None]:
    """Function: put a gallery on `desk`, checked by the doctor unless told otherwise."""

    def put(path: Path, *, check: bool = True, kind: str | None = None) -> None:
        from facelens.images import doctor
        from facelens.session.workspace import Source

        reading = readers.read(path, kind=kind)
        faces, diagnosis = reading.faces, None
        if check:
            diagnosis = doctor.diagnose(faces)
            faces = faces.with_columns(diagnosis.columns)
        desk.store.update(
            faces=faces,
            source=Source(path, faces.name, len(faces), "folders"),
            notes=reading.notes,
            diagnosis=diagnosis,
            excluded=diagnosis.bad_ids if diagnosis is not None else np.zeros(0, np.int64),
        )

    return put


def walk(widget: QWidget) -> list[QWidget]:
    """The widget and everything in it that is visible."""
    return [part for part in (widget, *widget.findChildren(QWidget)) if part.isVisible()]


@pytest.fixture(autouse=True)
def motion_as_the_desktop_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that reduces motion does so for itself alone."""
    monkeypatch.setattr(motion, "reduced", False)


@pytest.fixture(autouse=True)
def no_dialog_waits_for_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dialog that nobody answers would hang the run for good: a test says what it answers, or fails."""

    def unanswered(*args: object, **kwargs: object) -> None:
        raise AssertionError("a dialog was opened that the test does not answer")

    for name in ("getExistingDirectory", "getOpenFileName", "getOpenFileNames", "getSaveFileName"):
        monkeypatch.setattr(QFileDialog, name, unanswered)
    monkeypatch.setattr(QDialog, "exec", unanswered)
    monkeypatch.setattr(QMessageBox, "exec", unanswered)
