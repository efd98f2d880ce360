"""The Upgrade panel: one question, answered part by part; every part leads to faces."""

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
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog

from facelens.analyses import cross_errors, projection, upgrade
from facelens.analyses.plan import UpgradePlan
from facelens.analyses.projection import Projection
from facelens.analyses.upgrade import Upgrade
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet
from facelens.progress import offer
from facelens.session import questions
from facelens.session.selection import Selection
from facelens.views import theme
from facelens.views.figure_sheet import FigureSheet
from facelens.views.panel import Desk
from facelens.views.panels.upgrade import LOW, UpgradePanel
from tests.gui.conftest import Calls, pump, settle
from tests.gui.evaluation.stub import choose, features, gallery
from tests.gui.test_access import nameless
from tests.gui.upgraded import ASKED, models, studied

_ANSWERS: dict[object, Any] = {}
WITH_UPPER = replace(ASKED, upper="upper")


@pytest.fixture(scope="module")
def faces() -> FaceSet:
    return gallery(14, 4, visits=np.arange(56.0))


@pytest.fixture(scope="module")
def vectors(faces: FaceSet) -> dict[str, FeatureSet]:
    return models(faces)


@pytest.fixture(autouse=True)
def answered_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The same question is worked out once for all tests of this file; what was asked is listed."""
    asked: list[str] = []

    def study(faces: FaceSet, plan: UpgradePlan, *, tick: Any, **given: Any) -> Upgrade:
        asked.append("study")
        same = replace(plan, far=ASKED.far).asked
        key = (faces.digest, same, given["excluded"].tobytes(), *given["features"].values())
        if key not in _ANSWERS:
            _ANSWERS[key] = studied(faces, given["features"], plan, excluded=given["excluded"])
        found = _ANSWERS[key]
        offer(tick, replace(found, flips=None, moves=None, backfill=None, complete=False))
        return found

    def project(faces: FaceSet, plan: Any, *, features: FeatureSet, other: FeatureSet, **_: Any) -> Projection:
        asked.append("map")
        rng = np.random.default_rng(2)
        points, moved = (rng.normal(size=(len(features), 2)).astype(np.float32) for _ in range(2))
        return Projection(features.ids, points, plan, "pca", True, other=moved, how="aligned", residual=0.5)

    monkeypatch.setattr(upgrade, "study", study)
    monkeypatch.setattr(projection, "project", project)
    monkeypatch.setattr(questions, "transforms", lambda: tmp_path / "transforms")
    return asked


@pytest.fixture
def page(panel: Callable[..., Any], desk: Desk, faces: FaceSet, vectors: dict[str, FeatureSet]) -> UpgradePanel:
    made = panel(UpgradePanel)
    made.resize(1440, 776)
    desk.store.update(
        faces=faces, features=vectors, model_a="old", model_b="new", upgrade_plan=WITH_UPPER
    )
    settle(desk)
    assert desk.workspace.upgrade is not None and desk.workspace.upgrade.complete
    return made


def found(desk: Desk) -> Upgrade:
    assert desk.workspace.upgrade is not None
    return desk.workspace.upgrade


# What is seen


def test_old_and_new_are_models_a_and_b_and_small_galleries_are_looked_at_unasked(
    page: UpgradePanel, desk: Desk, answered_once: list[str]
) -> None:
    assert answered_once == ["study", "map"]
    assert page.pages.currentWidget() is page.area
    assert (page.plan.old, page.plan.new) == ("old", "new")
    assert page.verdict.sentence.text().startswith("New queries on the old gallery")
    assert page.which.button("lost").text() == f"Lost {len(found(desk).flips.lost)}"
    assert page.home() is page.matrix.cells


def test_swapping_a_and_b_asks_anew(
    page: UpgradePanel, desk: Desk, answered_once: list[str]
) -> None:
    before = page.verdict.sentence.text()
    desk.store.update(model_a="new", model_b="old")
    settle(desk)
    assert answered_once.count("study") == 2
    assert page.verdict.sentence.text() != before


def test_parts_come_one_after_another_and_say_so(page: UpgradePanel, desk: Desk) -> None:
    whole = found(desk)
    part = replace(whole, flips=None, moves=None, backfill=None, complete=False)
    answer = replace(desk.workspace.upgrade_answer, found=part)
    desk.store.update(upgrade_answer=answer)
    assert page.pages.currentWidget() is page.area, "finished parts are usable"
    assert "stopped" in page.cards.why and "stopped" in page.backfill.chart.accessibleDescription()
    assert page.which.button("lost").text() == "Lost"
    assert not page.write_flips.isEnabled()
    assert page.map.legend.isHidden(), "nothing is known of the faces"
    desk.store.update(upgrade_answer=replace(answer, found=whole))
    assert page.cards.flips and page.write_flips.isEnabled()


def test_models_that_cannot_meet_say_why_instead_of_a_number(page: UpgradePanel, desk: Desk) -> None:
    desk.store.update(model_b="wide", upgrade_plan=replace(ASKED, transforms="none"))
    settle(desk)
    assert "dimensions" in page.verdict.sentence.text()
    assert page.verdict.tone == "text3"
    assert "dimensions" in page.cards.why
    assert "dimensions" in page.backfill.chart.accessibleDescription()
    for part in (page.matrix.cells, page.directions, page.sequence):
        assert "nan" not in part.accessibleDescription().lower()
    assert not page.matrix.cells.choosable(("wide", "old"))


def test_a_hidden_page_asks_nothing_and_catches_up(
    panel: Callable[..., Any], desk: Desk, faces: FaceSet, vectors: dict[str, FeatureSet], answered_once: list[str]
) -> None:
    made = panel(UpgradePanel, shown=False)
    desk.store.update(faces=faces, features=vectors, model_a="old", model_b="new", upgrade_plan=WITH_UPPER)
    settle(desk)
    assert not answered_once and made._shown is None
    made.show()
    settle(desk)
    assert made._shown is desk.workspace.upgrade is not None


@pytest.mark.parametrize("lacks", ["gallery", "models", "vectors", "second"])
def test_what_is_missing_is_said_with_the_next_step(
    panel: Callable[..., Any], desk: Desk, faces: FaceSet, vectors: dict[str, FeatureSet], lacks: str
) -> None:
    made = panel(UpgradePanel)
    given: dict[str, Any] = {} if lacks == "gallery" else {"faces": faces}
    if lacks == "second":
        given |= {"features": {"old": vectors["old"]}, "model_a": "old"}
    desk.store.update(**given)
    settle(desk)
    assert made.pages.currentWidget() is made.empty
    assert (made.open if lacks == "gallery" else made.next).isVisible()
    assert not made.verdict.isVisible()


def test_a_failed_study_is_told_once_and_not_asked_again(
    panel: Callable[..., Any], desk: Desk, calls: Calls, faces: FaceSet, vectors: dict[str, FeatureSet],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def broken(*_: Any, **__: Any) -> Upgrade:
        raise InputError("no use")

    monkeypatch.setattr(upgrade, "study", broken)
    made = panel(UpgradePanel)
    desk.store.update(faces=faces, features=vectors, model_a="old", model_b="new", upgrade_plan=WITH_UPPER)
    settle(desk)
    desk.store.update(selection=Selection(faces.ids[:1]))
    settle(desk)
    assert len(calls.named("notify")) == 1
    assert made.run.isVisible()


def test_cancelling_leaves_what_is_there(page: UpgradePanel, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from facelens.session.jobs import Request

    def endless(*, tick: Any) -> None:
        while True:
            tick(0, 1)

    monkeypatch.setattr(page.asking, "_request", lambda _: Request(title="slow", call=endless, slot=questions.UPGRADE))
    page.asking.run()
    pump()
    page.show_page()
    assert page.working.isVisible()
    page.working.cancel.click()
    settle(desk)
    page.show_page()
    assert not page.working.isVisible() and page.pages.currentWidget() is page.area


# What follows from a click


def test_a_cell_lists_its_errors_and_they_are_the_selection(page: UpgradePanel, desk: Desk, faces: FaceSet) -> None:
    page.matrix.cells.chosen.emit(("new", "old"))
    settle(desk)
    assert page.which.value() == "errors"
    listed = page._errors
    assert listed is not None and (listed.query, listed.gallery, listed.direction) == ("new", "old", "direct")
    matrix = found(desk).matrix
    assert listed.missed == round((1 - matrix.test("new", "old").verification.value) * 2 * matrix.genuine)
    assert set(desk.workspace.selection.ids.tolist()) == set(listed.first.tolist())
    assert f"{listed.missed:,} pairs missed" in page.flips.header.subtitle()
    assert page.figure_view().tested == ("new", "old", "direct") and page.figure_held()["errors"] is listed
    assert dict(page.figure_places())[page.cards] == "errors", "what is copied is what is listed"
    page.which.button("pairs").click()
    assert dict(page.figure_places())[page.cards] == "pairs"
    page.which.button("errors").click()
    page.ask({"task": "1:N"})
    assert page.which.value() == "lost" and not page.which.offers("errors"), "those were of another test"


def test_errors_of_another_question_are_dropped(page: UpgradePanel, desk: Desk) -> None:
    page.list_errors("new", "old", "direct")
    page.ask({"far": 0.1})
    settle(desk)
    assert page._errors is None and not page.which.offers("errors")


def test_errors_that_fail_are_told(
    page: UpgradePanel, desk: Desk, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise InputError("no use")

    monkeypatch.setattr(cross_errors, "spaces", broken)
    page.list_errors("new", "old", "direct")
    settle(desk)
    assert len(calls.named("notify")) == 1
    assert page.which.value() == "lost"


def test_a_card_shows_the_face_in_both_maps_and_match_explains_it(
    page: UpgradePanel, desk: Desk, calls: Calls
) -> None:
    assert page.cards.flips, "somebody is lost"
    card = page.cards.flips[0]
    spot = page.cards.card(0).center().toPoint()
    QTest.mouseClick(page.cards, Qt.MouseButton.LeftButton, pos=spot)
    assert desk.workspace.selection.current == card.face
    QTest.mouseDClick(page.cards, Qt.MouseButton.LeftButton, pos=spot)
    assert desk.workspace.selection.pair == (card.face, card.other)
    assert "match.show" in calls.named("act")


def test_lost_gained_and_pairs_can_be_selected(page: UpgradePanel, desk: Desk) -> None:
    flips = found(desk).flips
    for kind, ids in (
        ("lost", flips.searches.ids[flips.lost]),
        ("gained", flips.searches.ids[flips.gained]),
        ("pairs", flips.pairs.first),
    ):
        page.which.button(kind).click()
        page.choose.click()
        assert set(desk.workspace.selection.ids.tolist()) == set(ids.tolist())


def test_which_flips_and_how_maps_lie_are_steps(page: UpgradePanel, desk: Desk) -> None:
    page.which.button("gained").click()
    assert desk.workspace.history.undo == "flips lost → gained" and desk.workspace.looks.flips_of == "gained"
    page.map.switch.button("overlay").click()
    assert desk.workspace.history.undo == "old and new side by side → overlay" and page.map.mode == "overlay"
    desk.store.go(desk.workspace.history.done - 2)
    assert (page.which.value(), page.map.mode, page.map.switch.value()) == ("lost", "side", "side")
    desk.store.go(desk.workspace.history.done + 2)
    assert (page.which.value(), page.map.mode) == ("gained", "overlay")


def test_the_task_is_one_for_all_parts(page: UpgradePanel, desk: Desk, answered_once: list[str]) -> None:
    page.matrix.choice.button("1:N").click()
    assert desk.workspace.upgrade_plan.task == "1:N"
    assert "TPIR" in page.matrix.header.subtitle() and "TPIR" in page.verdict.evidence.text()
    assert {gain.task for gain in page.gains.rows.gains} == {"1:N"}
    assert answered_once.count("study") == 1, "both are known"


def test_a_direction_that_is_clicked_is_asked_for(page: UpgradePanel, desk: Desk) -> None:
    page.ask({"transforms": "fit", "method": "procrustes"})
    settle(desk)
    page.directions.chosen.emit("backward")
    settle(desk)
    assert desk.workspace.upgrade_plan.direction == "backward"
    assert found(desk).matrix.direction == "backward"
    assert "backward" in " ".join(page._notes(found(desk)))
    assert page.controls.direction.currentData() == "backward"


def test_the_line_and_the_order_of_the_backfill_are_undoable(page: UpgradePanel, desk: Desk) -> None:
    page.backfill.chart.setFocus()
    before = desk.workspace.upgrade_plan.share
    cards = page.cards.flips
    QTest.keyClick(page.backfill.chart, Qt.Key.Key_Right)
    moved = desk.workspace.upgrade_plan.share
    assert moved > before
    assert page.cards.flips is cards, "nothing else is drawn anew"
    QTest.keyClick(page.backfill.chart, Qt.Key.Key_Down)
    name = desk.workspace.upgrade_plan.order
    assert name and page.case()["order"] == name
    changes, _ = desk.workspace.history.towards(desk.workspace, 0)
    assert "upgrade_plan" in changes
    desk.store.update(**changes)
    assert desk.workspace.upgrade_plan.share == before


def test_without_an_upper_model_one_can_be_chosen(page: UpgradePanel, desk: Desk) -> None:
    page.ask({"upper": ""})
    settle(desk)
    assert page.gains.currentIndex() == 1 and page.gains.choose.isEnabled()
    choose(page.controls.upper, "upper")
    settle(desk)
    assert page.gains.currentIndex() == 0
    assert desk.workspace.resolved_upgrade.upper == "upper"


def test_further_models_make_a_sequence(page: UpgradePanel, desk: Desk) -> None:
    page.ask({"others": ("mid", "next")})
    settle(desk)
    shown = [(bound.low, bound.high) for bound in page.sequence.bounds]
    assert shown == [("old", "mid"), ("mid", "next"), ("next", "new")]
    assert page.controls.others.text().strip() == "2 further"


def test_the_verdict_is_copied_with_its_evidence(page: UpgradePanel) -> None:
    page.verdict.copy.click()
    copied = QGuiApplication.clipboard().text()
    assert page.verdict.sentence.text() in copied and page.verdict.evidence.text() in copied
    assert "ship" not in copied


# The map and the same people


def test_the_map_tells_what_became_of_a_face(page: UpgradePanel, desk: Desk) -> None:
    flips = found(desk).flips
    face = int(flips.searches.ids[flips.lost[0]])
    lines = page._changes.lines(face)
    assert lines[0].startswith("lost: mate ") and "→" in lines[0] and lines[0].token == "bad"
    moved, keeps = lines[1]
    assert moved.startswith("moved ") and keeps.endswith(f" of {found(desk).moves.k}")
    assert page._changes.lines(-5) == []
    assert [entry.text() for entry in page.map.legend.entries] and page.map.legend.isVisible()


def test_faces_on_the_map_are_coloured_by_change_identity_or_way(page: UpgradePanel, desk: Desk) -> None:
    assert page.colour.currentData() == "change"
    assert page._colouring() is None
    choose(page.colour, "identity")
    assert page._colouring().title == "identity"
    assert page.figure_view().on_map == "identity"
    choose(page.colour, "moved")
    assert page.figure_view().on_map == "moved"
    assert page._colouring().numbers and "bright = moved farther" in page.upper.header.subtitle()


def test_the_same_people_are_the_selected_ones_else_eight(page: UpgradePanel, desk: Desk, faces: FaceSet) -> None:
    page.show_upper("people")
    shown = page.people._found
    assert len(np.unique(faces.identity.codes[faces.rows_of(shown.ids)])) == 8
    assert [one.name for one in shown.upgrades] == ["new", "upper"]
    desk.store.update(selection=Selection(faces.ids[[0, 5]]))
    shown = page.people._found
    assert set(faces.identity.codes[faces.rows_of(shown.ids)].tolist()) == {0, 1}
    choose(page.beside, "")
    assert [one.name for one in page.people._found.upgrades] == ["new"]
    assert page.case()["people"].upgrades[0].name == "new"


def test_only_the_tools_of_the_page_that_is_seen_are_in_its_header(page: UpgradePanel) -> None:
    assert page.colour.isVisible() and not page.beside.isVisible()
    page.show_upper("people")
    assert page.beside.isVisible() and not page.colour.isVisible() and not page.map.switch.isVisible()


def test_a_hidden_page_of_another_gallery_takes_a_new_theme(page: UpgradePanel, desk: Desk) -> None:
    page.show_upper("people")
    page.hide()
    desk.store.update(faces=gallery(3, 2), features={}, selection=Selection())
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    for scheme in ("light", "dark"):
        theme.apply(app, scheme)  # type: ignore[arg-type]


# Room


def test_lower_rows_become_tabs_where_the_window_is_low(page: UpgradePanel, desk: Desk) -> None:
    assert page.flips.isVisible() and page.backfill.isVisible() and not page.middle.switch.offers("backfill")
    page.resize(1280, LOW - 60)
    pump()
    assert not page.flips.isVisible() and not page.backfill.isVisible()
    page.show_middle("backfill")
    page.show_upper("flips")
    assert page.flips.isVisible() and page.backfill.isVisible() and page.backfill.export.isVisible()
    page.matrix.cells.chosen.emit(("old", "old"))
    assert page.upper.key == "flips" and page.which.value() == "errors"
    settle(desk)
    page.resize(1440, 776)
    pump()
    assert page.flips.isVisible() and page.backfill.isVisible() and page.backfill.header.isVisible()
    assert page.upper.key == "map" and page.middle.key == "gains"


def test_nothing_is_wider_than_the_page(page: UpgradePanel) -> None:
    for size in ((1440, 776), (1280, 596), (900, 500), (700, 500)):
        page.resize(*size)
        pump()
        assert page.body.minimumSizeHint().width() <= size[0], size
        assert page.width() == size[0]


def test_every_control_has_a_name_and_says_what_it_does(page: UpgradePanel) -> None:
    assert not nameless(page)
    for key in ("directions", "sequence"):
        page.show_middle(key)
        assert not nameless(page)
    page.show_upper("people")
    page.resize(1280, LOW - 60)
    pump()
    page.show_upper("flips")
    page.show_middle("backfill")
    assert not nameless(page)


def test_tab_reaches_every_part(page: UpgradePanel) -> None:
    page.activateWindow()
    page.controls.upper.setFocus()
    seen: set[Any] = set()
    for _ in range(60):
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        seen.add(QApplication.focusWidget())
    wanted = (page.verdict.caveats, page.matrix.cells, page.gains.rows, page.backfill.chart, page.cards, page.colour)
    assert [type(one).__name__ for one in wanted if one not in seen] == []


# Files


def test_commands_write_what_is_on_the_page(
    browsing: Any, vectors: dict[str, FeatureSet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = browsing
    faces = window.store.workspace.faces
    rng = np.random.default_rng(1)
    who = rng.normal(size=(len(faces.identity.names), 8))[faces.identity.codes]
    made = {name: features(faces, who + 0.8 * rng.normal(size=who.shape), name) for name in ("old", "new")}
    window.store.update(features=made, model_a="old", model_b="new", upgrade_plan=replace(ASKED, far=0.2, fpir=0.3))
    window.act("layout.upgrade")
    settle(window)
    assert window.stage.word == "upgrade" and window.store.workspace.upgrade is not None
    out = tmp_path / "out"
    out.mkdir()
    answers = iter([str(out / "flips.csv"), str(out / "order.csv"), str(out / "numbers.json"), str(out / "figure.png")])
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (next(answers), "PNG (*.png)"))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(out))
    for id in ("upgrade.flips", "upgrade.order", "upgrade.export", "upgrade.figure", "upgrade.report"):
        window.act(id)
        for sheet in window.findChildren(FigureSheet):
            sheet.save.click()
        settle(window)
    assert not window.notices.cards
    names = {path.name for path in out.iterdir()}
    assert {"flips.csv", "flips-pairs.csv", "order.csv", "numbers.json", "figure matrix.png"} <= names
    assert (out / f"{faces.name} upgrade" / "index.html").exists()
    window.act("upgrade.run")
    settle(window)
    assert window.store.workspace.upgrade.complete


def test_what_is_exported_is_what_is_looked_at(page: UpgradePanel, desk: Desk, calls: Calls, tmp_path: Path) -> None:
    from facelens.session.upgrade_tables import write_order

    page.backfill.export.click()
    page.write_flips.click()
    assert calls.named("act")[-2:] == ["upgrade.order", "upgrade.flips"]
    page.ask({"order": "random", "share": 0.5})
    case = page.case()
    assert (case["order"], case["share"], case["task"]) == ("random", 0.5, "1:1")
    write_order(tmp_path / "order.csv", desk.workspace.faces, found(desk), order=case["order"])
    assert len((tmp_path / "order.csv").read_text().splitlines()) == len(found(desk).ids) + 1
    page.ask({"order": "gone"})
    assert page.case()["order"] == found(desk).backfill.orders[0].name


# Dirty galleries and the end


@pytest.mark.parametrize("case", ["one person", "one picture each", "nameless", "NaN", "two faces"])
def test_dirty_galleries(panel: Callable[..., Any], desk: Desk, calls: Calls, case: str) -> None:
    people, pictures = {"one person": (1, 8), "one picture each": (9, 1), "two faces": (1, 2)}.get(case, (5, 3))
    faces = gallery(people, pictures)
    if case == "nameless":
        faces = replace(faces, identity=replace(faces.identity, codes=np.full(len(faces), -1, np.int32), names=()))
    rng = np.random.default_rng(0)
    made = {name: rng.normal(size=(len(faces), 6)) for name in ("old", "new")}
    if case == "NaN":
        made["new"][::2] = np.nan
    desk.store.update(
        faces=faces,
        features={name: features(faces, x, name) for name, x in made.items()},
        model_a="old",
        model_b="new",
        upgrade_plan=replace(ASKED, resamples=20, method="procrustes"),
    )
    page = panel(UpgradePanel)
    settle(desk)
    page.show_upper("people")
    page.grab()
    for part in (page.matrix.cells, page.directions, page.sequence, page.gains.rows, page.backfill.chart):
        assert "nan" not in part.accessibleDescription().lower()
    assert all(isinstance(error, InputError) for error in calls.named("notify")), calls.named("notify")


def test_the_page_dies_when_it_is_closed(desk: Desk, faces: FaceSet, vectors: dict[str, FeatureSet]) -> None:
    made = UpgradePanel(desk)
    made.show()
    desk.store.update(faces=faces, features=vectors, model_a="old", model_b="new", upgrade_plan=WITH_UPPER)
    settle(desk)
    gone = weakref.ref(made)
    made.close_panel()
    made.close()
    made.deleteLater()
    del made
    pump()
    gc.collect()
    pump()
    assert gone() is None
    desk.store.update(selection=Selection(faces.ids[:3]))
