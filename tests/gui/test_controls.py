"""Shared controls: they say what they are, tell when they are used, and follow the theme."""

from __future__ import annotations

import gc
import weakref

import pytest
from PySide6.QtCore import QEvent, QPoint, QRect, Qt
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMainWindow,
    QMenu,
    QPushButton,
    QScrollArea,
    QStyleOptionComboBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from facelens.views import controls, theme
from facelens.views.controls import Banner, Chip, Dock, EmptyState, FlowLayout, FocusRing, Header, Rail, Segmented

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture(autouse=True)
def _dark(qapp: QApplication) -> None:
    theme.apply(qapp, "dark")


def colours(widget: QWidget) -> set[str]:
    image = widget.grab().toImage()
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


def test_segments_are_exclusive_and_tell_only_what_the_user_does(qtbot) -> None:
    switch = Segmented([("grid", "Grid (G)"), ("loupe", "Loupe (E)"), ("compare", "Compare (C)")], icons_only=True)
    qtbot.addWidget(switch)
    switch.show()
    told = []
    switch.changed.connect(told.append)
    assert switch.value() == "grid"
    switch.set_current(2)
    switch.set_value("loupe")
    assert (switch.current(), told) == (1, [])
    qtbot.mouseClick(switch.button("compare"), LEFT)
    assert (switch.value(), told) == ("compare", [2])
    assert switch.button("grid").accessibleName() == switch.button("grid").toolTip() == "Grid (G)"
    assert not switch.button("grid").isChecked()


def test_arrows_move_along_segments(qtbot) -> None:
    switch = Segmented([("a", "Browse"), ("b", "Match"), ("c", "Report")])
    qtbot.addWidget(switch)
    switch.show()
    switch.button("a").setFocus()
    told = []
    switch.changed.connect(told.append)
    qtbot.keyClick(switch.button("a"), Qt.Key.Key_Right)
    assert switch.value() == "b" and told == [1]
    switch.button("c").setEnabled(False)
    qtbot.keyClick(switch.button("b"), Qt.Key.Key_Right)
    assert switch.value() == "b"
    qtbot.keyClick(switch.button("b"), Qt.Key.Key_Left)
    assert switch.value() == "a" and told == [1, 0]


def test_chip_is_removed_by_mouse_and_by_key(qtbot) -> None:
    chip = Chip("variance > p80")
    qtbot.addWidget(chip)
    chip.show()
    removed, clicked = [], []
    chip.removed.connect(lambda: removed.append(True))
    chip.clicked.connect(lambda: clicked.append(True))
    close = chip.findChild(QToolButton)
    assert close.accessibleName() == "Remove variance > p80"
    qtbot.mouseClick(close, LEFT)
    qtbot.keyClick(chip, Qt.Key.Key_Delete)
    assert len(removed) == 2 and not clicked
    qtbot.mouseClick(chip, LEFT, pos=chip.rect().center())
    assert len(clicked) == 1
    assert chip.height() == 20
    chip.set_on(True)
    assert theme.DARK.soft in colours(chip)


def test_header_measures_and_buttons(qtbot) -> None:
    header = Header("Inspector", "1 of 6 selected")
    qtbot.addWidget(header)
    pressed = []
    button = header.add_button("pin", "Keep this face", lambda: pressed.append(True))
    more = header.add_menu(QMenu(header))
    header.resize(272, 30)
    header.show()
    assert header.height() == 30 and header.title() == "Inspector" and header.subtitle() == "1 of 6 selected"
    qtbot.mouseClick(button, LEFT)
    assert pressed == [True] and button.accessibleName() == "Keep this face" and more.accessibleName() == "More"
    header.set_subtitle("a subtitle that is far too long for this narrow header and must not widen it")
    assert header.minimumSizeHint().width() <= 272


@pytest.mark.qt_log_ignore("does not support raise", extend=True)
def test_dock_floats_and_closes_from_its_header(qtbot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    dock = Dock("Jobs", "jobs", content=QLabel("none"), parent=window)
    window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
    window.show()
    names = {button.accessibleName(): button for button in dock.header.findChildren(QToolButton)}
    assert set(names) == {"Float Jobs", "Close Jobs"} and dock.objectName() == "jobs"
    qtbot.mouseClick(names["Float Jobs"], LEFT)
    assert dock.isFloating()
    qtbot.mouseClick(names["Float Jobs"], LEFT)
    assert not dock.isFloating()
    qtbot.mouseClick(names["Close Jobs"], LEFT)
    assert not dock.isVisible()
    dock.setWindowTitle("Work")
    assert dock.header.title() == "Work"


def test_rail_says_its_place_and_warns_at_the_ends(qtbot) -> None:
    rail = Rail("variance ↑ less sure", "0.371", percentile=97)
    qtbot.addWidget(rail)
    rail.resize(240, 29)
    assert rail.accessibleName() == "variance ↑ less sure" and rail.accessibleDescription() == "0.371 percentile 97"
    assert theme.DARK.warn in colours(rail)
    rail.set_value("detector score", "0.71", percentile=22)
    assert theme.DARK.warn not in colours(rail)
    rail.set_value("detector score", "n/a", percentile=None)
    assert rail.accessibleDescription() == "n/a"
    rail.grab()


def test_empty_state_offers_the_next_step(qtbot) -> None:
    state = EmptyState("download", "No gallery yet", "Drop a folder.", note="Pictures stay where they are.")
    qtbot.addWidget(state)
    done = []
    first = state.add_button("Open gallery…", lambda: done.append("open"), primary=True)
    state.add_button("Open the sample gallery", lambda: done.append("sample"))
    extra = state.add_extra(QLabel("Recent"))
    state.resize(600, 400)
    state.show()
    qtbot.mouseClick(first, LEFT)
    assert done == ["open"] and extra.isVisible() and theme.DARK.accent in colours(first)
    assert [b.text() for b in state.findChildren(QPushButton)] == ["Open gallery…", "Open the sample gallery"]
    state.set_message("No face matches")
    assert state.accessibleName() == "No face matches" and not state._text.isVisible()
    assert state.minimumSizeHint().width() <= 420


def test_banner_tells_and_goes(qtbot) -> None:
    outer = QWidget()
    qtbot.addWidget(outer)
    banner = Banner()
    QVBoxLayout(outer).addWidget(banner)
    outer.resize(400, 120)
    outer.show()
    assert not banner.isVisible()
    acted, gone = [], []
    banner.acted.connect(lambda: acted.append(True))
    banner.dismissed.connect(lambda: gone.append(True))
    text = "Variance needs two models or more; one is loaded."
    banner.set_message(text, "Load a second checkpoint.", button="Add a model…")
    assert banner.isVisible() and banner.accessibleDescription() == f"{text} Load a second checkpoint."
    qtbot.mouseClick(banner.findChild(QPushButton), LEFT)
    qtbot.mouseClick(banner.findChild(QToolButton), LEFT)
    assert acted == gone == [True] and not banner.isVisible()
    assert theme.DARK.warn in {banner.grab().toImage().pixelColor(1, y).name() for y in range(4, 20)}
    banner.set_message("")
    assert not banner.isVisible()


def test_words_are_never_read_as_markup(qtbot) -> None:
    banner = Banner()
    qtbot.addWidget(banner)
    banner.set_message("<b>1.jpg</b> is empty")
    assert banner.text() == "<b>1.jpg</b> is empty"
    assert all(label.textFormat() == Qt.TextFormat.PlainText for label in banner.findChildren(QLabel) if label.text())


def test_flow_wraps_and_does_not_force_the_dock_wider(qtbot) -> None:
    outer = QWidget()
    qtbot.addWidget(outer)
    flow = FlowLayout(outer)
    chips = [Chip(f"condition {i}") for i in range(6)]
    for chip in chips:
        flow.addWidget(chip)
    outer.resize(220, 200)
    outer.show()
    assert len({chip.y() for chip in chips}) > 1
    assert all(chip.geometry().right() < 220 for chip in chips)
    assert flow.heightForWidth(220) > flow.heightForWidth(2000) == 20
    assert flow.minimumSize().width() < 100
    assert flow.takeAt(0).widget() is chips[0] and flow.count() == 5 and flow.takeAt(99) is None


def test_text_is_cut_to_its_room() -> None:
    cut = controls.shortened("Catherine Zeta-Jones", 60, 10)
    assert cut.endswith("…") and controls.text_width(cut, 10) <= 62
    assert controls.shortened("Bo", 60, 10) == "Bo"


def test_focus_ring_goes_with_the_keyboard(qtbot, qapp) -> None:
    outer = QWidget()
    row = QHBoxLayout(outer)
    one, two, field = QPushButton("Evaluate"), QPushButton("Cancel"), QLineEdit()
    for widget in (one, two, field):
        row.addWidget(widget)
    outer.resize(400, 60)
    outer.show()
    FocusRing().follow(qapp)
    gc.collect()
    ring = qapp.findChild(FocusRing)
    outer.activateWindow()
    one.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(lambda: ring.shown is not None)
    assert ring.shown.geometry() == one.geometry().adjusted(-4, -4, 4, 4)
    assert theme.DARK.accent in colours(ring.shown)
    assert outer.childAt(one.geometry().center()) is one, "the ring takes no clicks"
    two.setFocus(Qt.FocusReason.TabFocusReason)
    assert ring.shown.geometry().center() == two.geometry().center()
    two.setGeometry(QRect(200, 10, 90, 30))
    assert ring.shown.geometry() == QRect(196, 6, 98, 38)
    field.setFocus(Qt.FocusReason.TabFocusReason)
    assert ring.shown is None, "fields show their own border"
    one.setFocus(Qt.FocusReason.TabFocusReason)
    one.hide()
    assert ring._ringed is not one
    two.setFocus(Qt.FocusReason.TabFocusReason)
    outer.close()
    outer.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    other = QPushButton("Other window")
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    other.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(lambda: ring.shown is not None)
    ring.deleteLater()


def test_focus_ring_follows_whatever_its_control_lies_in(qtbot, qapp) -> None:
    outer, area, inner = QWidget(), QScrollArea(), QWidget()
    qtbot.addWidget(outer)
    head, button = QLabel("head"), QPushButton("Evaluate", inner)
    head.setFixedHeight(40)
    head.hide()
    inner.resize(200, 900)
    button.setGeometry(20, 60, 90, 30)
    area.setWidget(inner)
    column = QVBoxLayout(outer)
    for widget in (head, area):
        column.addWidget(widget)
    outer.resize(300, 300)
    outer.show()
    ring = FocusRing()
    ring.follow(qapp)
    outer.activateWindow()
    button.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(lambda: ring.shown is not None)

    def around() -> QRect:
        return QRect(button.mapTo(outer, QPoint(0, 0)), button.size()).adjusted(-4, -4, 4, 4)

    assert ring.shown.geometry() == around()
    before = around()
    head.show()  # the scroll area moves down, the button does not move in it
    qtbot.waitUntil(lambda: around() != before)
    assert ring.shown.geometry() == around()
    area.verticalScrollBar().setValue(20)
    assert ring.shown.geometry() == around() and ring.shown.isVisible()
    area.verticalScrollBar().setValue(400)
    assert not ring.shown.isVisible(), "nothing is ringed where nothing is seen"
    area.verticalScrollBar().setValue(0)
    assert ring.shown.isVisible()
    ring.deleteLater()


@pytest.mark.parametrize("make", [Banner, lambda: EmptyState("download", "x"), lambda: Segmented([("a", "A")])])
def test_dies_when_it_is_closed(qtbot, make) -> None:
    made = make()
    gone = weakref.ref(made)
    made.close()
    made.deleteLater()
    del made
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert gone() is None
    theme.apply(QApplication.instance(), "light")


def test_headings_of_menus_are_seen_under_the_style_sheet(qapp: QApplication) -> None:
    menu = QMenu()
    for heading, words in (("Rates", "1e-2"), ("Templates", "the mean")):
        controls.add_heading(menu, heading)
        menu.addAction(words)
    menu.popup(QPoint(0, 0))
    said = [one for one in menu.findChildren(QLabel) if one.isVisible()]
    assert [one.text() for one in said] == ["Rates", "Templates"] and all(one.height() >= 14 for one in said)
    assert [action.text() for action in menu.actions()] == ["Rates", "1e-2", "", "Templates", "the mean"]
    menu.close()


def test_a_choice_is_cut_in_the_middle_where_there_is_no_room(qtbot) -> None:
    from facelens.views.control_row import WIDEST, Choice

    def shown(combo: controls.Combo) -> str:
        option = QStyleOptionComboBox()
        combo.initStyleOption(option)
        return combo.shown_text(option)

    combo = Choice("Model", "")
    qtbot.addWidget(combo)
    combo.ensurePolished()
    for text in ("7 × 7", "exact", "100", "none", "all pairs, 874 identities", "ROC", "illimitable"):
        combo.fill([(0, text)], 0)
        assert shown(combo) == text, "as wide as its words"
    combo.fill([(0, "mobilefacenet-foamliu model, second version")], 0)
    assert combo.width() == WIDEST
    assert "…" in shown(combo) and shown(combo).startswith("mob") and shown(combo).endswith("ersion")
