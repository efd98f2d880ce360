"""The guide's window: the right page at once, links inside, search, the way back, and never a step outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from facelens.session import guide
from facelens.views import theme
from facelens.views.guide import GuideWindow
from facelens.views.main_window import MainWindow
from facelens.views.panels import PANELS


@pytest.fixture
def book(leftovers: None, monkeypatch: pytest.MonkeyPatch, pump: Callable) -> Iterator[GuideWindow]:
    """The window by itself; whatever would leave the program fails the test."""

    def out(url: QUrl) -> bool:
        raise AssertionError(f"{url.toString()} was opened")

    monkeypatch.setattr(QDesktopServices, "openUrl", out)
    made = GuideWindow()
    made.show_page("start")
    made.show()
    pump()
    yield made
    made.close()
    made.deleteLater()
    pump()


def wheel(widget: QWidget, turn: int) -> None:
    at = QPointF(widget.rect().center())
    event = QWheelEvent(
        at, widget.mapToGlobal(at), QPoint(0, 0), QPoint(0, turn), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(widget, event)


@pytest.mark.parametrize("word", [page.word for page in PANELS])
def test_it_opens_at_the_page_in_front(browsing: MainWindow, word: str, pump: Callable) -> None:
    browsing.stage.show_page(word)
    browsing.act("guide.open")
    pump()
    book = browsing.commands.guide
    assert book.isVisible() and book.page == word
    assert book.title.text() == guide.page(word).title in book.text.toPlainText()


def test_the_key_opens_it_and_again_turns_to_another_page(browsing: MainWindow, pump: Callable) -> None:
    QTest.keyClick(browsing, Qt.Key.Key_F1)
    pump()
    assert browsing.commands.guide.page == "gallery"
    browsing.activateWindow()
    pump()
    browsing.stage.show_page("doctor")
    QTest.keyClick(browsing, Qt.Key.Key_F1)
    pump()
    assert browsing.commands.guide.page == "doctor"
    browsing.commands.guide.go_back()
    assert browsing.commands.guide.page == "gallery"


def test_a_page_beside_the_stage_has_its_own(browsing: MainWindow, pump: Callable) -> None:
    browsing.open_beside("doctor")
    pump()
    from facelens.views.controls import Dock

    dock = browsing.findChild(Dock, "beside-doctor")
    dock.widget().again.setFocus()  # type: ignore[attr-defined]
    assert browsing.page_in_front() == "doctor"
    browsing.stage.current.home().setFocus()
    assert browsing.page_in_front() == "gallery"


def test_the_section_asked_for_is_at_the_top_at_once(browsing: MainWindow, pump: Callable) -> None:
    browsing.commands.open_guide("workspace", "inspector")
    pump()
    text = browsing.commands.guide.text
    block = text.document().findBlockByNumber(text._heads["inspector"])
    top = text.document().documentLayout().blockBoundingRect(block).top() - text.verticalScrollBar().value()
    assert 0 <= top <= 30


def test_it_closes_with_the_window(browsing: MainWindow, close: Callable, pump: Callable) -> None:
    browsing.act("guide.open")
    book = browsing.commands.guide
    assert book.isVisible()
    browsing.close()
    pump()
    assert not book.isVisible()
    close(browsing)


@pytest.mark.parametrize("word", guide.PAGES)
def test_every_page_is_drawn_whole(book: GuideWindow, word: str) -> None:
    book.show_page(word)
    text = book.text.toPlainText()
    assert "**" not in text and "```" not in text and "<!--" not in text and "|---" not in text
    page = guide.page(word)
    for section in page.sections:
        assert section.title in text
        if section.formula:
            assert section.formula.splitlines()[0].strip() in text
        book.text.show_anchor(section.anchor)
        assert section.anchor in book.text._heads


def test_a_link_leads_to_another_page(book: GuideWindow) -> None:
    book.text.anchorClicked.emit(QUrl("match.md#flow-picture"))
    assert book.page == "match"
    assert book.rows[book.list.row].anchor == "flow-picture"
    assert book.text.verticalScrollBar().value() > 100
    book.text.anchorClicked.emit(QUrl("#alpha"))
    assert book.page == "match" and book.rows[book.list.row].anchor == "alpha"


@pytest.mark.parametrize("link", ["https://example.org", "file:///etc/hostname", "mailto:a@b", "match.txt", "../x.md"])
def test_nothing_outside_is_opened_or_loaded(book: GuideWindow, link: str) -> None:
    book.text.anchorClicked.emit(QUrl(link))
    assert book.page == "start"
    assert book.text.loadResource(2, QUrl(link)) is None


def test_back_and_forward(book: GuideWindow) -> None:
    assert not book.back.isEnabled() and not book.forward.isEnabled()
    book.show_page("match", "alpha")
    book.show_page("upgrade")
    book.go_back()
    assert book.page == "match" and book.forward.isEnabled()
    assert book.text.anchor_here() == "alpha"
    book.go_back()
    assert book.page == "start" and not book.back.isEnabled()
    QTest.keyClick(book, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert book.page == "match"
    book.show_page("gallery")
    assert not book.forward.isEnabled()


def test_contents_show_the_sections_of_the_page(book: GuideWindow) -> None:
    assert [row.page for row in book.rows if row.kind == "page"] == list(guide.PAGES)
    place = next(i for i, row in enumerate(book.rows) if row.page == "upgrade")
    book.list.go(place)
    assert book.page == "upgrade"
    titles = [row.text for row in book.rows if row.kind == "section"]
    assert titles == [section.title for section in guide.page("upgrade").sections[1:]]


def test_search_lists_sections_with_a_line_around(book: GuideWindow) -> None:
    QTest.keyClicks(book.search, "sinkhorn")
    assert book.rows and all(row.kind == "hit" for row in book.rows)
    assert any("sinkhorn" in row.context.lower() for row in book.rows)
    QTest.keyClick(book.search, Qt.Key.Key_Return)
    assert book.page == "match" and book.text.extraSelections()
    assert book.rows[0].kind == "hit", "the list stays while one reads what was found"
    QTest.keyClick(book, Qt.Key.Key_Escape)
    assert not book.search.text() and book.isVisible() and not book.text.extraSelections()
    assert book.rows[0].kind == "page"
    QTest.keyClick(book, Qt.Key.Key_Escape)
    assert not book.isVisible()


def test_a_search_without_result_says_so(book: GuideWindow) -> None:
    QTest.keyClicks(book.search, "qqqzzz")
    assert not book.rows and book.nothing.isVisible() and "qqqzzz" in book.nothing.text()


def test_the_keyboard_reaches_everything(book: GuideWindow, pump: Callable) -> None:
    QTest.keyClick(book, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    pump()
    assert book.focusWidget() is book.search
    QTest.keyClick(book.search, Qt.Key.Key_Down)
    assert book.focusWidget() is book.list
    QTest.keyClick(book.list, Qt.Key.Key_Down)
    assert book.page != "start" or book.rows[book.list.row].anchor


def test_text_can_be_selected_and_zoomed(book: GuideWindow) -> None:
    assert book.text.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByMouse
    high = book.text.document().size().height()
    wheel(book.text.viewport(), 120)
    assert book.text.zoom == 1.1 and book.text.document().size().height() > high
    assert "110 %" in book.header.subtitle()
    wheel(book.text.viewport(), -120)
    wheel(book.text.viewport(), -120)
    assert book.text.zoom == 0.9
    for _ in range(30):
        wheel(book.text.viewport(), 120)
    assert book.text.zoom == 2.0
    QTest.keyClick(book, Qt.Key.Key_0, Qt.KeyboardModifier.ControlModifier)
    assert book.text.zoom == 1.0


def test_it_wears_the_theme(book: GuideWindow, qapp: QApplication) -> None:
    def inks() -> set[str]:
        found, block = set(), book.text.document().begin()
        while block.isValid():
            at = block.begin()
            while not at.atEnd():
                found.add(at.fragment().charFormat().foreground().color().name())
                at += 1
            block = block.next()
        return found

    def allowed(look: theme.Theme) -> set[str]:
        return {value.lower() for value in (look.text, look.text2, look.text3, look.accent)}

    assert inks() <= allowed(theme.DARK)
    try:
        theme.apply(qapp, "light")
        assert inks() <= allowed(theme.LIGHT)
        book.hide()
        theme.apply(qapp, "dark")
        assert inks() <= allowed(theme.LIGHT), "nobody waits for a page that is not seen"
        book.show()
        assert inks() <= allowed(theme.DARK)
    finally:
        theme.apply(qapp, "dark")


def test_a_page_is_laid_out_once(book: GuideWindow) -> None:
    laid: list[object] = []
    book.text.document().documentLayout().documentSizeChanged.connect(laid.append)
    book.show_page("figures")
    assert len(laid) < 20, "not after every word"


def test_a_changed_key_is_in_the_page_at_once(browsing: MainWindow, pump: Callable) -> None:
    browsing.commands.open_guide("evaluation", "controls")
    assert "Analyse > Evaluate (Ctrl+R)" in browsing.commands.guide.text.toPlainText()
    browsing.set_keys({"evaluate.run": ("F9",)})
    try:
        assert "Analyse > Evaluate (F9)" in browsing.commands.guide.text.toPlainText()
    finally:
        browsing.set_keys({})


def test_its_controls_have_names(book: GuideWindow) -> None:
    from tests.gui.test_access import nameless

    assert not nameless(book)
