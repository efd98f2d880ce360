"""The evaluation page: what it says until there is something to see, what it asks, how it fits."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt

from facelens.images.faceset import FaceSet, Labels
from facelens.images.protocol import Pairs, Protocol
from facelens.session.jobs import State
from facelens.session.questions import EVALUATE
from facelens.session.workspace import Operating
from facelens.views.panel import Desk
from facelens.views.panels import evaluation as page
from facelens.views.panels.evaluation import EvaluationPanel
from tests.gui.conftest import pump, settle
from tests.gui.evaluation.stub import choose, features, put, vectors
from tests.gui.test_access import nameless, tabbed


def test_until_there_is_something_to_evaluate_the_page_says_what_to_do(
    desk: Desk, panel: Callable, faces: FaceSet, calls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = panel(EvaluationPanel)
    assert shown.empty.isVisible() and shown.empty.accessibleName() == "No gallery yet"
    assert not shown.controls.isVisible() and shown.home() is shown.open
    shown.open.click()
    desk.store.update(faces=faces)
    assert shown.empty.accessibleName() == "No model yet"
    assert not shown.controls.tables.isEnabled() and not nameless(shown)
    shown.next.click()
    monkeypatch.setattr(page, "AT_ONCE", 10)  # a large gallery waits to be asked
    put(desk, faces, vectors(faces, "new"))
    assert shown.empty.accessibleName() == "Ready to evaluate" and "30 faces" in shown.empty.accessibleDescription()
    assert not desk.jobs.jobs
    shown.run.click()
    assert calls.named("act") == ["gallery.open", "model.show", "evaluate.run"]


def test_the_icon_of_the_empty_page_can_be_seen(panel: Callable) -> None:
    image = panel(EvaluationPanel).empty._icon.pixmap().toImage()
    places = [(x, y) for x in range(image.width()) for y in range(image.height())]
    painted = [at for at in places if image.pixelColor(*at).alpha() > 60]
    assert len(painted) > 0.05 * len(places), "a drawing, not some dots"


def test_a_gallery_without_names_says_what_is_missing(desk: Desk, panel: Callable, settle: Callable) -> None:
    shown = panel(EvaluationPanel)
    flat = FaceSet.build("flat", Path("/nowhere"), paths=[f"{k:02}.png" for k in range(6)], identities=[""] * 6)
    put(desk, flat, features(flat, np.random.default_rng(0).normal(size=(6, 4)), "new"))
    settle(desk)
    assert shown.empty.isVisible() and shown.empty.accessibleName() == "Nobody has a name"
    assert shown.open.isVisible() and not shown.next.isVisible() and not shown.run.isVisible()
    assert not desk.jobs.jobs, "nothing is worked out that cannot be judged"
    pairs = Pairs(np.array([[0, 1], [2, 3], [4, 5]]), np.array([True, False, False]), np.zeros(3, np.int32))
    desk.store.update(protocol=Protocol("listed", pairs), plan=replace(desk.workspace.plan, protocol="listed"))
    settle(desk)
    assert shown.body.isVisible()


def test_a_small_gallery_is_evaluated_when_the_page_is_shown_and_keys_reach_all(
    desk: Desk, panel: Callable, faces: FaceSet, settle: Callable
) -> None:
    put(desk, faces, vectors(faces, "old", noise=1.2), vectors(faces, "new", seed=1, noise=0.8))
    both = panel(EvaluationPanel)
    settle(desk)
    runs = [job for job in desk.jobs.jobs if job.request.slot == EVALUATE]
    assert len(runs) == 1 and both.body.isVisible() and not both.working.isVisible()
    assert both.controls.method.text() == "95 % intervals, identities resampled 40 ×"
    assert both.controls.protocol.currentText() == "all pairs, 6 identities"
    for part in ("identification", "retrieval", "verification"):
        both.show_part(part)
        assert not nameless(both), part
    both.resize(1300, 760)
    both.activateWindow()
    reached = tabbed(both, both.controls.protocol)
    page_ = both.verification
    for control in (
        both.controls.rule,
        both.controls.breakdown,
        both.controls.tables,
        page_.roc,
        page_.det,
        page_.scores,
        page_.points,
        both.list,
    ):
        assert control in reached, control.accessibleName()
    order = [reached.index(part) for part in (page_.latex, page_.add_far, page_.points, both.list)]
    assert order == sorted(order), "as it stands: the header, what lies under it, the list"


def test_a_stopped_evaluation_is_not_begun_again_unasked(
    desk: Desk, panel: Callable, faces: FaceSet, settle: Callable, until: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    from facelens.analyses import evaluation

    def endless(*_: object, tick: Callable, **__: object) -> None:
        while True:
            tick(1, 4, "counting")

    monkeypatch.setattr(evaluation, "evaluate_both", endless)
    put(desk, faces, vectors(faces, "new"))
    shown = panel(EvaluationPanel)
    until(lambda: shown.working.isVisible() and shown.skeleton.isVisible())
    shown.grab()
    shown.working.cancel.click()
    settle(desk)
    assert shown.empty.accessibleName() == "The evaluation was stopped" and shown.run.isVisible()
    assert [job.state for job in desk.jobs.jobs] == [State.CANCELLED]


def test_what_fails_says_so_and_is_not_repeated(
    desk: Desk, panel: Callable, faces: FaceSet, settle: Callable, calls: Any
) -> None:
    wide = features(faces, np.ones((len(faces), 3)), "wide")
    put(desk, faces, vectors(faces, "new"), wide, crossing="ab")
    shown = panel(EvaluationPanel)
    settle(desk)
    [error] = calls.named("notify")
    assert "one space" in str(error) and shown.run.isVisible()
    assert len([job for job in desk.jobs.jobs if job.request.slot == EVALUATE]) == 1


def test_results_of_other_vectors_are_never_shown(both: EvaluationPanel, faces: FaceSet) -> None:
    desk = both.desk
    old = desk.workspace.evaluation
    desk.store.update(features={**desk.workspace.features, "new": vectors(faces, "new", seed=9)})
    assert desk.workspace.evaluation is None and not both.body.isVisible()
    settle(desk)
    assert desk.workspace.evaluation is not old and both.body.isVisible()
    desk.store.update(excluded=faces.ids[:3])
    assert desk.workspace.evaluation is None
    settle(desk)
    assert desk.workspace.evaluation.faces == 27


def test_what_is_left_out_is_said_without_alarm(both: EvaluationPanel, faces: FaceSet) -> None:
    desk = both.desk
    assert not both.banner.isVisible() and not both.notes.isVisible()
    desk.store.update(excluded=faces.ids[:1])
    settle(desk)
    assert both.notes.isVisible() and both.notes.text() == "1 excluded face is left out."
    assert not both.banner.isVisible()


def test_back_to_an_earlier_question_costs_nothing(both: EvaluationPanel) -> None:
    desk = both.desk
    old = desk.workspace.evaluation
    choose(both.controls.rule, "nist")
    settle(desk)
    assert desk.workspace.evaluation is not old and desk.workspace.plan.rule == "nist"
    assert "impostor scores" in both.controls.rule.toolTip()
    jobs = len(desk.jobs.jobs)
    choose(both.controls.rule, "roc")
    assert desk.workspace.evaluation is old and len(desk.jobs.jobs) == jobs


def test_each_kind_of_test_offers_its_own_conventions(both: EvaluationPanel) -> None:
    controls = both.controls
    seen = {}
    for part in ("verification", "identification", "retrieval"):
        both.show_part(part)
        seen[part] = {field for field, group in controls.groups.items() if group.isVisible()}
    assert seen == {
        "verification": {"rule", "breakdown", "crossing"},
        "identification": {"open_rule", "crossing"},
        "retrieval": {"r_mode", "nmi_mean", "crossing"},
    }
    offered = {
        field: [combo.itemData(i) for i in range(combo.count())] for field, combo in controls.conventions.items()
    }
    assert offered == {
        "rule": ["roc", "nist", "nearest", "conservative", "pfe"],
        "open_rule": ["nist", "roc", "mixbct", "pfe"],
        "r_mode": ["exclude_self", "paper"],
        "junk": [True, False],
        "nmi_mean": ["", "arithmetic", "geometric"],
    }
    for combo in controls.conventions.values():
        for i in range(combo.count()):
            tip = combo.itemData(i, Qt.ItemDataRole.ToolTipRole)
            assert tip.endswith(".") and tip.count(". ") == 0 and tip != combo.itemText(i)


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("identification", "open_rule", "mixbct"),
        ("retrieval", "r_mode", "paper"),
        ("retrieval", "nmi_mean", "geometric"),
    ],
)
def test_a_convention_is_switched_and_back(both: EvaluationPanel, part: str, field: str, value: object) -> None:
    desk = both.desk
    both.show_part(part)
    old, before = desk.workspace.evaluation, getattr(desk.workspace.plan, field)
    combo = both.controls.conventions[field]
    choose(combo, value)
    assert getattr(desk.workspace.plan, field) == value and desk.workspace.evaluation is None
    settle(desk)
    found = desk.workspace.evaluation
    report = found.b
    if field == "open_rule":
        assert {point.rule for point in report.identification.open} == {value}
    elif field == "r_mode":
        assert report.retrieval.measures["RP"].value < old.b.retrieval.measures["RP"].value
    else:
        assert report.clustering.mean == value
        assert "NMI" in [both.retrieval.means.text(i, 0) for i in range(len(both.retrieval.means.model_.rows))]
    jobs = len(desk.jobs.jobs)
    choose(combo, before)
    assert desk.workspace.evaluation is old and len(desk.jobs.jobs) == jobs


def test_the_rule_for_one_camera_is_offered_where_cameras_are_known(both: EvaluationPanel) -> None:
    desk = both.desk
    both.show_part("retrieval")
    assert not both.controls.groups["junk"].isVisible()
    faces = desk.workspace.faces
    cameras = Labels.of([f"c{i % 3}" for i in range(30)])
    desk.store.update(faces=replace(faces, columns={**faces.columns, "camera": cameras}))
    assert both.controls.groups["junk"].isVisible()
    choose(both.controls.conventions["junk"], False)
    assert desk.workspace.plan.junk is False


def test_another_kind_of_test_is_shown_from_its_top_and_takes_the_keyboard(
    desk: Desk, panel: Callable, faces: FaceSet, settle: Callable, until: Callable
) -> None:
    put(desk, faces, vectors(faces, "new", seed=1))
    shown = panel(EvaluationPanel)
    settle(desk)
    shown.resize(760, 420)
    shown.activateWindow()
    shown.verification.points.setFocus()
    until(shown.verification.points.hasFocus)
    shown.area.verticalScrollBar().setValue(300)
    shown.controls.part.button("identification").click()
    settle(desk)
    assert shown.area.verticalScrollBar().value() == 0
    assert shown.identification.table.hasFocus()


def test_sizes(both: EvaluationPanel) -> None:
    both.verification.points.tap(1, 5)
    for size in ((1440, 760), (1280, 556), (928, 560), (560, 420), (420, 700)):
        both.resize(*size)
        pump()
        low = both.verification.low
        assert both.verification.scores_frame.isVisible() is not low
        assert both.verification.switch_shows("scores") is low
        assert both.verification.roc_frame.isVisible() or both.verification.det_frame.isVisible()
    both.grab()


def test_a_closed_page_is_gone(desk: Desk, faces: FaceSet, settle: Callable, pump: Callable) -> None:
    put(desk, faces, vectors(faces, "new"))
    shown = EvaluationPanel(desk)
    shown.show()
    settle(desk)
    shown.verification.points.tap(1, 5)
    gone = weakref.ref(shown)
    shown.close_panel()
    shown.close()
    shown.deleteLater()
    del shown
    pump()
    gc.collect()
    assert gone() is None
    desk.store.update(operating=Operating(0.2))
