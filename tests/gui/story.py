"""A day with FaceLens, told by mouse and keys in the real window: run as a program, so that it can be killed.

    story.py first ROOM GALLERY OLD NEW      open, embed, evaluate, look, explain, compare, tag, export, save, wait
    story.py second ROOM                     reopen what the killed one left, go on, undo

Everything it sees is printed as one JSON line a step; see test_story.py. Only the dialogs of the desktop itself, which
no test can type into, answer by themselves.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QEventLoop,
    QMimeData,
    QPoint,
    QPointF,
    Qt,
    QtMsgType,
    QUrl,
    qInstallMessageHandler,
)
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton, QWidget

LEFT, NONE, CTRL = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier
SHIFT, COPY = Qt.KeyboardModifier.ShiftModifier, Qt.DropAction.CopyAction
PATIENCE = 120.0  # s
MACHINE = ("This plugin does not support", "XDG_RUNTIME_DIR", "runtime directory")  # said of it, not of us

answers: dict[str, str] = {}  # what the dialogs of the desktop say
heard: list[str] = []  # warnings of Qt and what escaped


def say(step: str, **seen: object) -> None:
    print(json.dumps({"step": step, "warnings": heard, **seen}), flush=True)


class Hand:
    """Somebody at the window."""

    def __init__(self, room: Path) -> None:
        from facelens.session import log
        from facelens.session.settings import Settings
        from facelens.views import theme
        from facelens.views.app import make_application
        from facelens.views.main_window import MainWindow

        self.room = room
        log.install(on_crash=lambda error, trace: heard.append(trace))
        self.app: QApplication = make_application()
        theme.apply(self.app, "dark")
        self.window = MainWindow(Settings.load())
        self.window.after_paint(self.window.keeping.offer)  # as app.run does
        self.window.resize(1440, 900)
        self.window.show()
        self.come()
        self.rest()

    def come(self) -> None:
        """Bring the window to the front, as a window manager does; the display has none."""
        self.window.activateWindow()
        assert QTest.qWaitForWindowActive(self.window)

    def pump(self) -> None:
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def until(self, condition: Callable[[], object], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            self.pump()
            time.sleep(0.002)
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain: {what}")

    def rest(self) -> None:
        """Until nothing is under way."""
        quiet = 0

        def rested() -> bool:
            nonlocal quiet
            busy = self.window.jobs.busy or not self.window.thumbnails.idle
            quiet = 0 if busy else quiet + 1
            return quiet >= 5

        self.until(rested, "jobs come to rest")
        failed = [str(job.error) for job in self.window.jobs.jobs if job.state.name == "FAILED"]
        assert not failed, failed

    @property
    def now(self):  # type: ignore[no-untyped-def]
        return self.window.store.workspace

    def key(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = NONE, *, on: QWidget | None = None) -> None:
        QTest.keyClick(on or self.app.focusWidget() or self.window, key, modifiers)
        self.pump()

    def type(self, text: str) -> None:
        QTest.keyClicks(self.app.focusWidget() or self.window, text)
        self.pump()

    def click(self, widget: QWidget, at: QPoint | None = None, modifiers: Qt.KeyboardModifier = NONE) -> None:
        QTest.mouseClick(widget, LEFT, modifiers, at or widget.rect().center())
        self.pump()

    def drop(self, path: Path) -> None:
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path))])
        event = QDragEnterEvent(QPoint(700, 400), COPY, data, LEFT, NONE)
        event.ignore()
        QApplication.sendEvent(self.window, event)
        assert event.isAccepted(), f"{path.name} is not recognised"
        QApplication.sendEvent(self.window, QDropEvent(QPointF(700, 400), COPY, data, LEFT, NONE))
        self.rest()

    def command(self, words: str) -> None:
        """By the palette: Ctrl+K, words, Enter."""
        self.key(Qt.Key.Key_K, CTRL, on=self.window)
        self.until(lambda: self.window.palette_card.isVisible(), "the palette opens")
        self.type(words)
        self.key(Qt.Key.Key_Return)
        self.rest()

    def shoot(self, name: str) -> None:
        self.window.grab().save(str(self.room / f"{name}.png"))


def first(room: Path, gallery: Path, old: Path, new: Path) -> None:
    hand = Hand(room)
    window = hand.window
    say("welcome", title=window.windowTitle())

    answers["folder"] = str(gallery)
    hand.key(Qt.Key.Key_O, CTRL, on=window)
    hand.rest()
    say("open", faces=len(hand.now.faces), people=len(hand.now.faces.identity.names))

    for path in (old, new):
        hand.drop(path)
        hand.command("embed the gallery")
    hand.shoot("models")
    say("embed", models=list(hand.now.features), a=hand.now.model_a, b=hand.now.model_b,
        vectors=[len(one) for one in hand.now.features.values()])  # fmt: skip

    hand.key(Qt.Key.Key_R, CTRL, on=window)
    hand.rest()
    hand.shoot("evaluation")
    say("evaluate", page=window.stage.word, eer=hand.now.evaluation.b.verification.eer.value)

    hand.key(Qt.Key.Key_U, CTRL, on=window)
    hand.rest()
    hand.shoot("uncertainty")
    say("uncertainty", page=window.stage.word, shown=len(hand.now.uncertainty.ids),
        column="variance" in hand.now.faces.columns)  # fmt: skip

    window.stage.show_page("gallery")
    hand.rest()
    grid = window.panel("gallery").grid
    hand.key(Qt.Key.Key_F, CTRL, on=window)  # browse what the models disagree about
    hand.type("variance > p50")
    hand.key(Qt.Key.Key_Return)
    hand.rest()
    shown = hand.now.shown_ids.tolist()
    hand.click(grid.viewport(), grid.cell_rect(1).center())
    say("browse", filter=hand.now.arrangement.filter, shown=len(shown),
        current=shown.index(hand.now.selection.current))  # fmt: skip

    hand.key(Qt.Key.Key_F, CTRL | SHIFT, on=window)
    hand.rest()
    page = window.panel("match")
    searched = page.found()
    hand.shoot("match")
    say("explain", page=window.stage.word, query=hand.now.query == shown[1], candidates=len(searched.found.ids),
        mass=float(page.figure_held()["pair"].found.flow.sum()))  # fmt: skip

    hand.key(Qt.Key.Key_U, CTRL | SHIFT, on=window)
    hand.rest()
    hand.shoot("upgrade")
    from facelens.figures.verdict import verdict

    say("compare", page=window.stage.word, verdict=verdict(hand.now.upgrade).sentence)

    window.stage.show_page("gallery")
    hand.rest()
    hand.click(grid.viewport(), grid.cell_rect(2).center())
    hand.click(grid.viewport(), grid.cell_rect(4).center(), CTRL)
    hand.key(Qt.Key.Key_P, on=grid)
    time.sleep(0.2)  # no hand is so fast that two things are one step
    hand.key(Qt.Key.Key_T, on=grid)
    hand.type("look again")
    hand.key(Qt.Key.Key_Return)
    hand.rest()
    marks, ids = hand.now.annotations, hand.now.faces.ids
    say("tag", tags={name: len(some) for name, some in marks.tags.items()}, undo=hand.now.history.undo,
        flagged=int((marks.flags.at(ids) == 1).sum()))  # fmt: skip

    answers["save"] = str(room / "figure")
    hand.key(Qt.Key.Key_E, CTRL, on=window)
    from facelens.views.figure_sheet import FigureSheet

    [sheet] = window.findChildren(FigureSheet)
    hand.until(lambda: sheet.sheet.image is not None, "the preview comes")
    sheet.grab().save(str(room / "sheet.png"))
    hand.click(sheet.save)
    hand.come()
    hand.rest()
    say("export", files=sorted(path.name for path in room.glob("figure*")))

    answers["save"] = str(room / "day.facelens")
    hand.key(Qt.Key.Key_S, CTRL, on=window)
    hand.until(lambda: (room / "day.facelens").exists() and not window.keeping.dirty, "the file is written")
    say("save", title=window.windowTitle(), steps=hand.now.history.done)

    hand.click(grid.viewport(), grid.cell_rect(0).center())
    hand.key(Qt.Key.Key_5, on=grid)
    hand.until(lambda: not window.keeping.dirty, "it is saved by itself")
    say("kill me", ratings=int((hand.now.annotations.ratings.at(hand.now.faces.ids) == 5).sum()))
    hand.until(lambda: False, "a kill")


def second(room: Path) -> None:
    hand = Hand(room)
    window = hand.window
    hand.until(lambda: window.notices.cards, "it is said that the last one was killed")
    [card] = window.notices.cards
    say("after the kill", offered=card.accessibleName())
    [go_on] = [one for one in card.findChildren(QPushButton) if one.text() == "Go on with it"]
    hand.click(go_on)
    hand.until(lambda: window.keeping.reopening is not None and not window.keeping.reopening.under_way, "it is open")
    hand.rest()
    hand.shoot("reopened")
    from facelens.session import archive

    saved, now = archive.read(room / "day.facelens"), archive.taken(hand.now)
    other = [name for name in ("models", "stores", "fields", "excluded", "selected", "current", "pair", "query",
             "annotations", "subsets") if getattr(saved, name) != getattr(now, name)]  # fmt: skip
    say("differs", what=other, fields=[name for name in now.fields if saved.fields.get(name) != now.fields[name]])
    hand.until(lambda: not window.keeping.dirty, "nothing is left to save")
    marks = hand.now.annotations
    say("reopen", faces=len(hand.now.faces), models=list(hand.now.features), a=hand.now.model_a, b=hand.now.model_b,
        filter=hand.now.arrangement.filter, query=hand.now.query is not None,
        tags={name: len(ids) for name, ids in marks.tags.items()}, embedded=_embedded(window),
        ratings=int((marks.ratings.at(hand.now.faces.ids) == 5).sum()), title=window.windowTitle())  # fmt: skip

    window.stage.show_page("gallery")
    hand.rest()
    grid = window.panel("gallery").grid
    hand.click(grid.viewport(), grid.cell_rect(3).center())
    hand.key(Qt.Key.Key_X, on=grid)
    rejected = int((hand.now.annotations.flags.at(hand.now.faces.ids) == -1).sum())
    hand.key(Qt.Key.Key_Z, CTRL, on=window)
    say("undo", rejected=rejected, after=int((hand.now.annotations.flags.at(hand.now.faces.ids) == -1).sum()),
        redo=hand.now.history.redo)  # fmt: skip
    hand.key(Qt.Key.Key_Q, CTRL, on=window)
    hand.until(lambda: not window.isVisible(), "the window closes")
    say("closed")


def _embedded(window) -> int:  # type: ignore[no-untyped-def]
    """How often pictures were shown to a model since the start."""
    return sum(job.request.slot.startswith("embed:") for job in window.jobs.jobs)


def main() -> None:
    qInstallMessageHandler(
        lambda kind, context, text: heard.append(text)
        if kind != QtMsgType.QtDebugMsg and not any(word in text for word in MACHINE)
        else None
    )
    QFileDialog.getExistingDirectory = lambda *_, **__: answers["folder"]  # type: ignore[method-assign,assignment]
    QFileDialog.getSaveFileName = lambda *_, **__: (answers["save"], "")  # type: ignore[method-assign,assignment]
    which, room, *rest = sys.argv[1:]
    try:
        first(Path(room), *map(Path, rest)) if which == "first" else second(Path(room))
    except BaseException:
        traceback.print_exc()  # the window's own hook would keep it to itself
        os._exit(1)


if __name__ == "__main__":
    main()
