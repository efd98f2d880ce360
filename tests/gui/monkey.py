"""A monkey at the real window, with the real worker: run as a program, so that a crash is seen and not suffered.

    monkey.py ROOM GALLERY SEED STEPS MODEL...

Opens the gallery, embeds it with the models, lets every page work out what it shows, then does STEPS things at random:
mouse and keys anywhere in the window in front, commands, menus, pages, sizes, other galleries, saved workspaces.
The dialogs of the desktop itself give a place in ROOM, or nothing. What it saw is printed as one JSON line at the end;
test_monkey.py says what must be so.
"""

from __future__ import annotations

import collections
import faulthandler
import gc
import json
import os
import random
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QEventLoop,
    QPoint,
    QPointF,
    Qt,
    QTimer,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtGui import QCloseEvent, QContextMenuEvent, QDrag, QHelpEvent, QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QLayout,
    QLineEdit,
    QMenu,
    QMessageBox,
    QPlainTextEdit,
    QWidget,
)
from shiboken6 import isValid

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton
NONE, SHIFT, CTRL, ALT = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.AltModifier,
)
PATIENCE = 300.0  # s
HANGS = 200.0  # s; after that it says where, and ends
STALL = 0.2  # s of the window's own thread
LOOK = 2_000  # steps between two looks at what is left over
EMPTY = 40  # steps that it stays with nothing to look at, before the saved workspace is brought back
MACHINE = ("This plugin does not support", "XDG_RUNTIME_DIR", "runtime directory")  # said of it, not of us
ALONE = ("application.quit", "training.start", "training.resume")  # ends the window; takes minutes
TEXTS = (
    "blur > ", "ada", "(", '"', "p90", "and", "<b>", "variance > p50", "evaluate", "light", "0.5", "12", "a, b", "xyz"
)  # fmt: skip
KEYS = (
    "Left", "Right", "Up", "Down", "Home", "End", "PageUp", "PageDown", "Space", "Return", "Escape", "Tab", "Backtab",
    "Delete", "Backspace", "Plus", "Minus", "Backslash", "F1", "F2", "F5", "F6", "Question",
    *"ACEFGINPTUXZ0135",
)  # fmt: skip

heard: list[str] = []  # warnings of Qt and what escaped


class Watch(threading.Thread):
    """Looks every few milliseconds where the window's thread is, so that a stall can say what it was spent on."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._thread = threading.get_ident()
        self._seen: collections.Counter[str] = collections.Counter()

    def run(self) -> None:
        while True:
            time.sleep(0.02)
            frame, lines = sys._current_frames().get(self._thread), []
            while frame is not None:
                if "facelens" in frame.f_code.co_filename:
                    lines.append(f"{Path(frame.f_code.co_filename).stem}:{frame.f_lineno} {frame.f_code.co_name}")
                frame = frame.f_back
            self._seen[" < ".join(lines[:6])] += 1

    def begin(self) -> None:
        self._seen = collections.Counter()

    def where(self) -> list[tuple[str, int]]:
        """The places seen most often since it began."""
        return self._seen.most_common(2)


class Monkey:
    """Does what hands can do, and notes what it did."""

    def __init__(self, room: Path, gallery: Path, seed: int, models: list[Path]) -> None:
        from facelens.session import log
        from facelens.session.settings import Settings
        from facelens.views import theme
        from facelens.views.app import load_ahead, make_application
        from facelens.views.controls import FocusRing
        from facelens.views.main_window import MainWindow

        self.room, self.gallery, self.models, self.rng = room, gallery, models, random.Random(seed)
        self.done: collections.deque[str] = collections.deque(maxlen=25)
        self.stalls: list[tuple[float, int, str, list[tuple[str, int]]]] = []
        self.full: collections.Counter[str] = collections.Counter()  # steps on each page with vectors to show
        self.watch = Watch()
        self.watch.start()
        self._pulse = time.thread_time()
        self.worst = 0.0
        self.written = 0
        self.at = self.empty = 0
        log.install(on_crash=lambda error, trace: heard.append(trace))
        self.app = make_application()
        theme.apply(self.app, "dark")
        FocusRing().follow(self.app)

        class Caged(MainWindow):
            def closeEvent(self, event: QCloseEvent) -> None:
                event.ignore()

        self.window = Caged(Settings.load())
        self.window.resize(1440, 900)
        self.window.show()
        self.window.activateWindow()
        load_ahead(self.window)
        self._popups = QTimer(timeout=self._on_popup, interval=40)  # a button with a menu waits until it is closed
        self._popups.start()
        self._beat = QTimer(timeout=self._on_beat, interval=0)
        self._beat.start()
        self.tricks: list[tuple[int, Callable[[], str]]] = [
            (30, self.click), (12, self.drag), (12, self.hover), (8, self.wheel), (3, self.double), (3, self.menu),
            (25, self.key), (6, self.type), (18, self.act), (8, self.page), (2, self.palette), (2, self.size),
            (2, self.dock), (2, self.tip), (1, self.open), (1, self.arrange), (1, self.name),
        ]  # fmt: skip

    # -- waiting

    def pump(self) -> None:
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def rest(self) -> None:
        """Until nothing is under way."""
        end, quiet = time.monotonic() + PATIENCE, 0
        while quiet < 5:
            self.pump()
            time.sleep(0.002)
            busy = self.window.jobs.busy or not self.window.thumbnails.idle
            quiet = 0 if busy else quiet + 1
            if time.monotonic() > end:
                raise AssertionError(f"jobs never come to rest: {[j.title for j in self.window.jobs.jobs[-3:]]}")

    def prepare(self) -> list[str]:
        """Every page with something on it; the pages that were asked."""
        self.window.open_path(self.gallery)
        self.rest()
        for path in self.models:
            self.window.open_model(path)
            self.rest()
            self.window.act("model.embed")
            self.rest()
        from facelens.views.panels import PANELS

        words = [cls.word for cls in PANELS]
        first = self.window.store.workspace.shown_ids[0]
        self.window.store.update(query=int(first))
        for id in ("evaluate.run", "uncertainty.run", "upgrade.run"):
            self.window.act(id)
            self.rest()
        for word in words:
            self.window.stage.show_page(word)
            self.rest()
        for name in ("full", "saved"):  # what is saved later goes to the last
            self.window.keeping.save_to(self.room / f"{name}.facelens")
            self.rest()
        return words

    # -- one thing at random

    def step(self) -> None:
        trick = self.rng.choices([t for _, t in self.tricks], [w for w, _ in self.tricks])[0]
        self.done.append(trick.__name__)
        try:
            said = trick()
        except RuntimeError as error:
            where = traceback.extract_tb(error.__traceback__)[-1].filename
            if "already deleted" not in str(error) or Path(where).name != Path(__file__).name:
                raise
            said = "gone"  # what the monkey itself still had in hand; the window has to know better
        self.done[-1] += f" {said}"
        for _ in range(self.rng.choice((1, 1, 1, 3))):
            self.pump()
        self.tidy()
        self.at += 1
        if self.window.store.workspace.features:
            self.full[self.window.stage.current.word] += 1
            self.empty = 0
        else:
            self.empty += 1
        if self.empty == EMPTY:
            self.bring_back()

    def _on_beat(self) -> None:
        """Once in every round of the event loop: how long its own thread has worked since the last one.

        So long nobody was heard. Waiting for others does not count, but what several hands do in a row does, unless
        they let the window take a breath.
        """
        took = time.thread_time() - self._pulse
        self.worst = max(self.worst, took)
        if took > STALL:
            self.stalls.append((round(took, 3), self.at, self.done[-1] if self.done else "", self.watch.where()))
        self.watch.begin()
        self._pulse = time.thread_time()

    def _on_popup(self) -> None:
        """Menus are used or left."""
        popup = QApplication.activePopupWidget()
        if popup is None:
            return
        if isinstance(popup, QMenu) and self.rng.random() < 0.5:
            for _ in range(self.rng.randrange(1, 6)):
                QTest.keyClick(popup, Qt.Key.Key_Down)
            QTest.keyClick(popup, Qt.Key.Key_Return)
        if (popup := QApplication.activePopupWidget()) is not None:
            popup.close()

    def tidy(self) -> None:
        """Dialogs are played with for a while."""
        for dialog in [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog) and w.isVisible()]:
            if self.rng.random() < 0.15:
                dialog.close()

    def front(self) -> QWidget:
        """Dialogs first, else one of the windows that are there."""
        tops = [w for w in QApplication.topLevelWidgets() if w.isVisible() and w.isWindow() and w.width() > 60]
        dialogs = [w for w in tops if isinstance(w, QDialog)]
        others = [w for w in tops if w is not self.window and not isinstance(w, (QMenu, QDialog))]
        if dialogs and (any(w.isModal() for w in dialogs) or self.rng.random() < 0.7):
            return dialogs[-1]
        return self.rng.choice(others) if others and self.rng.random() < 0.1 else self.window

    def spot(self) -> tuple[QWidget, QPoint]:
        """A place in the window in front; half of the time in the page that is shown."""
        top = self.front()
        area: QWidget = top
        if top is self.window and self.rng.random() < 0.6:
            area = self.window.stage.current
        inside = QPoint(self.rng.randrange(max(1, area.width())), self.rng.randrange(max(1, area.height())))
        for child in (area.childAt(inside), area):
            try:
                called(child)
                return child, child.mapFrom(area, inside)
            except (AttributeError, RuntimeError):  # nobody there, or one of Qt's own taken for one that is gone
                continue
        return self.window, QPoint(1, 1)

    def modifiers(self) -> Qt.KeyboardModifier:
        return self.rng.choice([NONE, NONE, NONE, NONE, CTRL, SHIFT, ALT, CTRL | SHIFT])

    def click(self) -> str:
        widget, spot = self.spot()
        name = called(widget)
        QTest.mouseClick(widget, LEFT, self.modifiers(), spot)
        return name

    def double(self) -> str:
        widget, spot = self.spot()
        name = called(widget)
        QTest.mouseDClick(widget, LEFT, NONE, spot)
        return name

    def drag(self) -> str:
        widget, spot = self.spot()
        name, modifiers = called(widget), self.modifiers()
        button = self.rng.choice([LEFT, LEFT, Qt.MouseButton.MiddleButton])
        self._mouse(widget, QEvent.Type.MouseButtonPress, spot, button, button, modifiers)
        for _ in range(self.rng.randrange(1, 5)):
            if not isValid(widget):
                return name
            spot = QPoint(self.rng.randrange(max(1, widget.width())), self.rng.randrange(max(1, widget.height())))
            self._mouse(widget, QEvent.Type.MouseMove, spot, Qt.MouseButton.NoButton, button, modifiers)
            if self.rng.random() < 0.5:
                self.pump()
        self._mouse(widget, QEvent.Type.MouseButtonRelease, spot, button, Qt.MouseButton.NoButton, modifiers)
        return name

    def hover(self) -> str:
        widget, spot = self.spot()
        none = Qt.MouseButton.NoButton
        self._mouse(widget, QEvent.Type.MouseMove, spot, none, none, self.modifiers())
        return called(widget) if isValid(widget) else "gone"

    def _mouse(self, widget: QWidget, kind: QEvent.Type, spot: QPoint, button, buttons, modifiers) -> None:  # type: ignore[no-untyped-def]
        if isValid(widget):
            at = QPointF(spot)
            event = QMouseEvent(kind, at, widget.mapToGlobal(at), button, buttons, modifiers)
            QCoreApplication.postEvent(widget, event)  # sent from Python, what fails would end it, see views/binding.py
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)

    def wheel(self) -> str:
        widget, spot = self.spot()
        turned = QPoint(0, self.rng.choice([-360, -120, 120, 360]))
        at = QPointF(spot)
        event = QWheelEvent(
            at, widget.mapToGlobal(at), QPoint(), turned, Qt.MouseButton.NoButton, self.modifiers(),
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(widget, event)
        return called(widget) if isValid(widget) else "gone"

    def menu(self) -> str:
        widget, spot = self.spot()
        name = called(widget)
        reason = QContextMenuEvent.Reason.Mouse
        QApplication.sendEvent(widget, QContextMenuEvent(reason, spot, widget.mapToGlobal(spot), NONE))
        return name

    def tip(self) -> str:
        widget, spot = self.spot()
        kind = self.rng.choice([QEvent.Type.ToolTip, QEvent.Type.WhatsThis])
        QApplication.sendEvent(widget, QHelpEvent(kind, spot, widget.mapToGlobal(spot)))
        return called(widget) if isValid(widget) else "gone"

    def key(self) -> str:
        name, modifiers = self.rng.choice(KEYS), self.rng.choice([NONE, NONE, NONE, NONE, SHIFT, CTRL])
        widget = QApplication.focusWidget() or self.window
        if (name, modifiers) == ("Q", CTRL):
            return "nothing"
        QTest.keyClick(widget, getattr(Qt.Key, f"Key_{name}"), modifiers)
        return f"{name} {modifiers.name} on {type(widget).__name__}"

    def type(self) -> str:
        lines = [w for w in self.front().findChildren(QWidget) if isinstance(w, (QLineEdit, QPlainTextEdit))]
        lines = [line for line in lines if line.isVisible() and line.isEnabled()]
        if not lines:
            return "nothing"
        line, text = self.rng.choice(lines), self.rng.choice(TEXTS)
        name = called(line)
        line.setFocus()
        if isinstance(line, QLineEdit) and self.rng.random() < 0.5:
            line.clear()
        for letter in text:
            if isValid(line):
                QTest.keyClicks(line, letter)
                self.pump()
        if isValid(line) and self.rng.random() < 0.5:
            QTest.keyClick(line, Qt.Key.Key_Return)
        return f"{text!r} into {name}"

    def act(self) -> str:
        from facelens.session.actions import ACTIONS

        action = self.rng.choice(ACTIONS)
        rare = action.id.startswith(("theme.", "gallery.", "vectors.delete", "report.", "model.remove"))
        if action.id in ALONE or (rare and self.rng.random() < 0.8):
            return "nothing"
        self.window.act(action.id)
        return action.id

    def page(self) -> str:
        from facelens.views.panels import PANELS

        word = self.rng.choice([cls.word for cls in PANELS])
        self.window.stage.show_page(word)
        if self.rng.random() < 0.15:
            self.pump()
            self.window.open_beside(self.rng.choice([cls.word for cls in PANELS]))
            return f"{word}, another beside"
        return word

    def palette(self) -> str:
        self.window.act("palette.open")
        text = self.rng.choice(TEXTS)
        QTest.keyClicks(self.window.palette_card.line, text)
        QTest.keyClick(self.window.palette_card.line, self.rng.choice([Qt.Key.Key_Down, Qt.Key.Key_Escape]))
        return text

    def size(self) -> str:
        self.window.resize(self.rng.randrange(900, 1600), self.rng.randrange(560, 1000))
        return f"{self.window.width()} x {self.window.height()}"

    def dock(self) -> str:
        dock = self.rng.choice(list(self.window.docks.values()))
        self.rng.choice([dock.show, dock.show, dock.close, lambda: dock.setFloating(not dock.isFloating())])()
        return dock.objectName()

    def open(self) -> str:
        path = self.rng.choice([self.gallery, self.gallery, self.room / "nowhere", *self.models])
        self.window.open_path(path)
        return path.name

    def arrange(self) -> str:
        """Another selection, order, filter and exclusion, as several panels may ask for at once."""
        import numpy as np

        from facelens.session.filters import comparison
        from facelens.session.selection import Mode, Selection
        from facelens.session.workspace import Arrangement

        store, rng = self.window.store, self.rng
        faces = store.workspace.faces
        if faces is None:
            return "nothing"
        ids = faces.ids[sorted(rng.sample(range(len(faces)), min(len(faces), rng.randrange(6))))]
        filters = ["", "", 'identity ~ "a"', "nobody", "flag = rejected", "not tag = ada", "rating > 2"]
        filters += [comparison(name, ">", 0.5) for name, of in faces.columns.items() if isinstance(of, np.ndarray)]
        store.update(
            selection=rng.choice(
                [
                    Selection(ids=ids, current=int(rng.choice(faces.ids))),
                    store.workspace.selection.combine(ids, rng.choice(list(Mode))),
                ]
            ),
            arrangement=Arrangement(
                filter=rng.choice(filters),
                sort=rng.choice(["", *faces.sortable, "rating", "flag"]),
                descending=rng.random() < 0.5,
                group=rng.choice(["", "identity"]),
            ),
            excluded=ids if rng.random() < 0.2 else store.workspace.excluded,
        )
        return store.workspace.arrangement.filter

    def name(self) -> str:
        """Somebody else for the faces at hand, or for all of a person."""
        from facelens.views.naming import NameSheet, faces_of

        workspace, rng = self.window.store.workspace, self.rng
        if (faces := workspace.faces) is None:
            return "nothing"
        person = rng.choice(["", *faces.identity.names])
        ids = faces_of(workspace, person) if person else workspace.selection.ids
        if not len(ids):
            return "nothing"
        sheet = NameSheet(self.window.desk, ids, self.window, person=person)
        sheet.show()
        sheet.line.setText(rng.choice(["ada byron", "Somebody", "<b>x</b>", "a\u202eb", "", *faces.identity.names]))
        rng.choice([sheet.give.click, sheet.give.click, sheet.nobody.click, sheet.reject])()
        return person

    def bring_back(self) -> None:
        """All that there was to look at; most steps should be done on something."""
        for dialog in [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog)]:
            dialog.close()
        again = self.room / "again.facelens"  # what is done next is saved there by itself
        shutil.copy(self.room / "full.facelens", again)
        self.window.keeping.open(again)
        self.rest()
        self.done.append("the saved workspace is brought back")
        self.empty = 0

    # -- what the desktop's own dialogs say

    def place_to_save(self, *asked: object, **_: object) -> tuple[str, str]:
        kinds = str(asked[3]) if len(asked) > 3 else ""
        if self.rng.random() < 0.5:
            return "", ""
        first = kinds.split(";;")[0]
        ending = first.partition("(*")[2].partition(")")[0].split(" ")[0]
        self.written += 1
        return str(self.room / f"written {self.written % 40}{ending}"), first

    def file_to_open(self, *_: object, **__: object) -> tuple[str, str]:
        files = ["", "", str(self.gallery / "manifest.csv"), str(self.models[0]), str(self.room / "saved.facelens")]
        return self.rng.choice(files), ""

    def folder(self, *_: object, **__: object) -> str:
        return self.rng.choice(["", "", str(self.gallery), str(self.room / "reports")])

    # -- what is left over

    def leaks(self) -> list[str]:
        """Panels that no window shows any more, dialogs that were closed, places of layouts."""
        from shiboken6 import Shiboken

        from facelens.views import binding
        from facelens.views.panel import Panel

        for dialog in [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog)]:
            dialog.close()
        self.window.act("layout.reset")
        for _ in range(3):
            self.pump()
            gc.collect()
            self._pulse = time.thread_time()  # that was not the window's work
        alive = [one for one in Shiboken.getAllValidWrappers() if isinstance(one, (Panel, QDialog))]
        shown = {id(one) for one in (*self.window.findChildren(Panel),)}
        loose = [type(one).__name__ for one in alive if isinstance(one, Panel) and id(one) not in shown]
        twice = collections.Counter(type(one).__name__ for one in alive if isinstance(one, Panel))
        beside = [name for name, n in twice.items() if n > 2]  # one in the stage, one beside it
        kept = collections.Counter(type(one).__name__ for one in alive if isinstance(one, QDialog))
        places = [f"{type(one).__name__}, held by {holders(one)}" for one in binding.kept()]
        return [*loose, *beside, *(name for name, n in kept.items() if n > 1), *places]

    def crashes(self) -> list[str]:
        cards = [card for card in self.window.notices.cards if "inside FaceLens" in card.accessibleName()]
        return [card.details.toPlainText() for card in cards]


def holders(place: object) -> list[str]:
    """Who keeps a place of a layout; it is not touched itself, for it may be gone."""
    from shiboken6 import Shiboken

    found = [
        f"{type(one).__name__} of {called(one.parentWidget())}" if isinstance(one, QLayout) else type(one).__name__
        for one in gc.get_referrers(place)
    ]
    return [*found, Shiboken.dump(place)[:300]]


def called(widget: QWidget) -> str:
    """A widget, so that it can be found."""
    name = widget.accessibleName() or widget.objectName()
    return f"{type(widget).__name__}({name[:40]})"


def main() -> None:
    faulthandler.enable()
    faulthandler.dump_traceback_later(HANGS, exit=True)
    qInstallMessageHandler(
        lambda kind, context, text: heard.append(text)
        if kind != QtMsgType.QtDebugMsg and not any(word in text for word in MACHINE)
        else None
    )
    room, gallery, seed, steps, *models = sys.argv[1:]
    monkey = Monkey(Path(room), Path(gallery), int(seed), [Path(one) for one in models])
    QFileDialog.getSaveFileName = monkey.place_to_save  # type: ignore[method-assign,assignment]
    QFileDialog.getOpenFileName = monkey.file_to_open  # type: ignore[method-assign,assignment]
    QFileDialog.getOpenFileNames = lambda *_, **__: ([], "")  # type: ignore[method-assign,assignment]
    QFileDialog.getExistingDirectory = monkey.folder  # type: ignore[method-assign,assignment]
    QMessageBox.exec = lambda box: 0  # type: ignore[method-assign,assignment]  # nobody agrees to anything
    QDrag.exec = lambda *_: Qt.DropAction.IgnoreAction  # type: ignore[method-assign,assignment]  # there is no desktop
    (Path(room) / "reports").mkdir(exist_ok=True)
    told: dict[str, object] = {}
    try:
        told["pages"] = monkey.prepare()
        monkey.worst, monkey.stalls, leaked = 0.0, [], []
        begun = time.monotonic()
        for number in range(int(steps)):
            monkey.step()
            if number % 50 == 0:
                faulthandler.dump_traceback_later(HANGS, exit=True)
            if number % LOOK == LOOK - 1:
                leaked += monkey.leaks()
            if heard or leaked or (number % 50 == 0 and monkey.crashes()):
                break
        leaked += monkey.leaks()
        heard.extend(monkey.crashes())
        told |= {"steps": monkey.at, "seconds": round(time.monotonic() - begun, 1), "leaked": leaked}
        told["full"] = dict(monkey.full)
    except BaseException:
        heard.append(traceback.format_exc())
    told |= {"heard": heard, "last": list(monkey.done), "worst": round(monkey.worst, 3), "stalls": monkey.stalls}
    print(json.dumps(told), flush=True)
    monkey.window.jobs.shutdown()
    os._exit(1 if heard else 0)


if __name__ == "__main__":
    main()
