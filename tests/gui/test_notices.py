"""Failures: a stated one with its hint, an unexpected one with trace and log, stacked, folded, copied, closed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton

from facelens.errors import DiskFull, InputError
from facelens.session.jobs import Request
from facelens.views.main_window import MainWindow
from facelens.views.notices import MOST


def words(card) -> list[str]:
    return [label.text() for label in card.findChildren(QLabel) if label.text()]


def test_a_stated_failure(window: MainWindow) -> None:
    card = window.notices.error(InputError("x.bin is empty.", hint="Download it again."))
    assert words(card) == ["x.bin is empty", "Download it again."]
    assert card.isVisible() and not card.findChildren(QPushButton), "no details, no buttons for them"
    assert card.accessibleName() == "x.bin is empty." and card.accessibleDescription() == "Download it again."


def test_an_unexpected_one_names_the_log_and_folds_the_trace(window: MainWindow, pump: Callable) -> None:
    card = window.notices.error(RuntimeError("boom"), trace="Traceback\n  boom")
    assert words(card)[0] == "Something went wrong inside FaceLens"
    assert "facelens.log" in words(card)[1]
    assert not card.details.isVisible()
    low = card.height()
    card.fold.click()
    pump()
    assert card.details.isVisible() and card.height() > low
    assert card.fold.text() == "Hide details"
    assert card.geometry().bottom() <= window.stage.height() and card.geometry().top() >= 0
    next(b for b in card.findChildren(QPushButton) if b.text() == "Copy details").click()
    copied = QGuiApplication.clipboard().text()
    assert "boom" in copied and "Something went wrong" in copied
    card.fold.click()
    pump()
    assert not card.details.isVisible() and card.height() == low


def test_cards_stack_without_overlap_and_the_oldest_goes(window: MainWindow, pump: Callable) -> None:
    for i in range(MOST + 2):
        window.notices.show(f"notice {i}", "What to do next.")
    pump()
    cards = window.notices.cards
    assert [card.accessibleName() for card in cards] == [f"notice {i}" for i in range(2, MOST + 2)]
    boxes = [card.geometry() for card in cards]
    for a, b in pairwise(boxes):
        assert a.bottom() < b.top()
    assert all(window.stage.rect().contains(box) for box in boxes)


def test_cards_follow_the_size_of_the_stage(window: MainWindow, pump: Callable) -> None:
    card = window.notices.show("one")
    window.resize(1100, 700)
    pump()
    assert window.stage.rect().contains(card.geometry())
    assert window.stage.width() - card.geometry().right() < 20


def test_closing_one_moves_the_others_down(window: MainWindow, pump: Callable) -> None:
    first, second = window.notices.show("first"), window.notices.show("second")
    pump()
    spot = second.geometry().bottom()
    next(b for b in second.findChildren(QToolButton)).click()
    pump()
    assert window.notices.cards == [first] and first.geometry().bottom() == spot


def test_names_are_no_markup(window: MainWindow) -> None:
    card = window.notices.error(InputError("<b>x</b>.jpg cannot be read.", hint="<i>Leave</i> it out."))
    from PySide6.QtCore import Qt

    for label in card.findChildren(QLabel):
        assert not label.text() or label.textFormat() == Qt.TextFormat.PlainText


def full(*, tick) -> None:
    raise DiskFull("The disk is full; 3 of 9 embeddings are kept.", hint="Free 30 MB and press Retry.")


def test_notify_is_what_panels_use(window: MainWindow, settle: Callable) -> None:
    window.jobs.submit(Request("Embed", full), then=lambda job: window.desk.notify(job.error, trace=job.trace) and None)
    settle(window)
    [card] = window.notices.cards
    assert words(card)[:2] == ["The disk is full; 3 of 9 embeddings are kept", "Free 30 MB and press Retry."]
    assert "Traceback" in card.details.toPlainText()


@pytest.mark.parametrize("error", [InputError("notes.pth is no model."), RuntimeError("boom")])
def test_a_failed_job_is_in_the_log_once(
    window: MainWindow, settle: Callable, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def fails(*, tick: Callable) -> None:
        raise error

    with caplog.at_level("INFO", "facelens"):
        window.jobs.submit(
            Request("Read notes.pth", fails), then=lambda job: window.desk.notify(job.error, trace=job.trace)
        )
        settle(window)
    assert len(window.notices.cards) == 1
    assert len(caplog.records) == 1 and str(error) in caplog.text, caplog.text


def test_a_window_with_notices_closes(window: MainWindow) -> None:
    for i in range(3):
        window.notices.show(f"notice {i}")
    window.close()


def test_a_card_is_as_high_as_its_words(window: MainWindow, pump: Callable) -> None:
    short = window.notices.show("One line", "One more.")
    pump()
    assert short.height() < 90
    long = window.notices.show("A title that is long enough to need a second line in a card of this width", "x " * 200)
    pump()
    for text in long.findChildren(QLabel):
        assert text.height() >= text.heightForWidth(text.width()) or not text.wordWrap()
