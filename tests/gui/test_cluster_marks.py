"""A whole cluster at once: a group of the learners or a lasso on the map is tagged, flagged and named with one key."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from facelens.analyses.plan import PartsPlan, ProjectionPlan
from facelens.images.faceset import FaceSet
from facelens.session.annotations import FLAGGED
from facelens.views.main_window import MainWindow
from facelens.views.naming import NameSheet
from tests.gui.evaluation.stub import features

KEY, LEFT = Qt.Key, Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def modelled(browsing: MainWindow) -> MainWindow:
    """Two models with vectors of the gallery: each person near a corner."""
    faces = browsing.store.workspace.faces
    assert faces is not None
    time = count(100.0, 5.0)
    browsing.store.clock = lambda: next(time)  # a hand takes its time
    rng = np.random.default_rng(0)
    corner = 3 * rng.normal(size=(4, 16))
    made = {
        name: features(faces, corner[faces.identity.codes] + rng.normal(size=(12, 16)), name) for name in ("old", "new")
    }
    with browsing.store.aside():
        browsing.store.update(
            features=made,
            model_a="old",
            model_b="new",
            learners_plan=PartsPlan(model="new", baseline="old", parts=4),
            projection_plan=ProjectionPlan(method="pca"),
        )
    return browsing


def type_tag(window: MainWindow, text: str, pump: Callable) -> None:
    """T, the tag, Enter, wherever the keyboard is."""
    focus = QApplication.focusWidget()
    assert focus is not None
    QTest.keyClick(focus, KEY.Key_T)
    pump()
    line = window.panel("tags").line
    assert QApplication.focusWidget() is line and window.docks["tags"].isVisible()
    QTest.keyClicks(line, text)
    if (popup := line.completer().popup()) is not None:
        popup.hide()
    QTest.keyClick(line, KEY.Key_Return)


def name_all(text: str, pump: Callable) -> None:
    """I, the name, Enter."""
    focus = QApplication.focusWidget()
    assert focus is not None
    QTest.keyClick(focus, KEY.Key_I)
    pump()
    sheet = next(one for one in QApplication.topLevelWidgets() if isinstance(one, NameSheet) and one.isVisible())
    sheet.line.setText(text)
    sheet.give.click()
    pump()


def check(window: MainWindow, ids: np.ndarray, pump: Callable) -> None:
    """The faces `ids` are selected in a view that has the keyboard: tag, flag, name and undo them."""
    store = window.store
    assert np.array_equal(store.workspace.selection.ids, np.sort(ids)) and 1 < len(ids) < 12
    view = QApplication.focusWidget()
    assert view is not None
    type_tag(window, "odd one", pump)
    assert np.array_equal(store.workspace.annotations.tags["odd one"], np.sort(ids))
    faces = f"{len(ids)} faces"
    assert store.workspace.history.undo == f"tag odd one on {faces}"
    view.setFocus()
    QTest.keyClick(view, KEY.Key_P)
    assert np.array_equal(store.workspace.annotations.flags.having(FLAGGED), np.sort(ids))
    name_all("Cluster", pump)
    now: FaceSet = store.workspace.faces  # type: ignore[assignment]
    assert {now.identity.name(int(row)) for row in now.rows_of(ids)} == {"Cluster"}
    assert (np.array([now.identity.name(row) for row in range(12)]) == "Cluster").sum() == len(ids)
    window.act("history.undo")
    assert "Cluster" not in store.workspace.faces.identity.names  # type: ignore[union-attr]
    window.act("history.undo")
    window.act("history.undo")
    assert not store.workspace.annotations.tags and np.array_equal(store.workspace.selection.ids, np.sort(ids))


def test_a_group_of_the_learners(modelled: MainWindow, settle: Callable, pump: Callable) -> None:
    modelled.act("layout.report")  # without the docks
    modelled.act("learners.show")
    settle(modelled)
    page, found = modelled.panel("learners"), modelled.store.workspace.learners
    page.show_below("clusters")
    settle(modelled)
    assert found is not None and found.clusters is not None
    counts = np.bincount(found.clusters.learner)
    group = int(np.argmax(counts))
    cells = page.clusters.cells
    spot = QPoint(20, round(cells.box(group, 0).center().y()))
    QTest.mouseClick(cells.viewport(), LEFT, NONE, spot)
    cells.setFocus()
    check(modelled, found.ids[found.clusters.learner == group], pump)


def test_a_lasso_on_the_map(modelled: MainWindow, settle: Callable, pump: Callable) -> None:
    modelled.act("projection.show")
    settle(modelled)
    page, found = modelled.panel("projection"), modelled.store.workspace.projection
    assert found is not None and found.final
    place = page.map
    place.set_tool("lasso")
    spots = [place._spot(i) for i in range(len(found))]
    at = np.array([[spot.x(), spot.y()] for spot in spots])
    inside = np.argsort(at[:, 0])[:5]
    edge = float((np.sort(at[:, 0])[4] + np.sort(at[:, 0])[5]) / 2)
    left, top, bottom = at[:, 0].min() - 12, at[:, 1].min() - 12, at[:, 1].max() + 12
    trail = [QPoint(round(x), round(y)) for x, y in ((left, top), (edge, top), (edge, bottom), (left, bottom))]
    place.setFocus()
    QTest.mousePress(place, LEFT, NONE, trail[0])
    for point in (*trail[1:], trail[0]):
        QTest.mouseMove(place, point)
    QTest.mouseRelease(place, LEFT, NONE, trail[0])
    check(modelled, found.ids[inside], pump)
