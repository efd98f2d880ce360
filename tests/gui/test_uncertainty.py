"""The Uncertainty panel: one line in all its parts, everything that is brushed is the selection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtTest import QTest

from facelens.analyses.plan import VARIANCE, EnsemblePlan, resolved
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet
from facelens.session import refusals
from facelens.session.identities import named, taken_back
from facelens.session.questions import limit_of
from facelens.session.selection import Selection
from facelens.views.figures import Figures
from facelens.views.panel import Desk
from facelens.views.panels.uncertainty import UncertaintyPanel
from tests.gui.conftest import Calls, settle
from tests.gui.evaluation.stub import features, gallery

PLAN = EnsemblePlan(far=0.05, fpir=0.1, resamples=20)
_ANSWERS: dict[object, Any] = {}


@pytest.fixture(autouse=True)
def answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same question is worked out once for all tests of this file."""
    from facelens.analyses import uncertainty

    real = uncertainty.assess

    def assess(faces: FaceSet, plan: EnsemblePlan, *, tick: Any, **given: Any) -> Any:
        names = tuple(sorted(given["features"]))
        key = (
            plan,
            names,
            given["excluded"].tobytes(),
            None if given["fitting"] is None else given["fitting"].tobytes(),
        )
        if key not in _ANSWERS:
            _ANSWERS[key] = real(faces, plan, tick=tick, **{**given, "folder": None})
        return _ANSWERS[key]

    monkeypatch.setattr(uncertainty, "assess", assess)


@pytest.fixture(scope="module")
def faces() -> FaceSet:
    rng = np.random.default_rng(3)
    noise = np.where(rng.random(120) < 0.25, 2.0, 0.4)
    return gallery(20, 6, noise=noise, quality=-noise + 0.1 * rng.normal(size=120))


@pytest.fixture(scope="module")
def three(faces: FaceSet) -> dict[str, FeatureSet]:
    rng = np.random.default_rng(5)
    truth = rng.normal(size=(20, 8))[faces.identity.codes]
    noise = np.asarray(faces.columns["noise"])[:, None]
    found = {}
    for name in ("plain", "residual", "new"):
        turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]
        found[name] = features(faces, (truth + noise * rng.normal(size=truth.shape)) @ turn, name)
    return found


@pytest.fixture(scope="module", autouse=True)
def compiled(faces: FaceSet, three: dict[str, FeatureSet]) -> None:
    """Loops that are compiled when they are first called would take longer than a test waits."""
    from facelens.analyses import uncertainty

    uncertainty.assess(faces, resolved(PLAN, tuple(three)), features=three)


@pytest.fixture
def page(panel: Callable[..., Any], desk: Desk, faces: FaceSet, three: dict[str, FeatureSet]) -> UncertaintyPanel:
    """A panel on which the ensemble of three models has been worked out."""
    made = panel(UncertaintyPanel)
    made.resize(1200, 700)
    desk.store.update(faces=faces, features=three, model_b="new", ensemble=PLAN)
    settle(desk)
    assert desk.workspace.uncertainty is not None
    assert desk.workspace.uncertainty.complete
    return made


def test_small_galleries_are_looked_at_unasked(page: UncertaintyPanel, desk: Desk) -> None:
    assert [job.request.slot for job in desk.jobs.jobs] == ["assess"], "asked once"
    assert page.pages.currentWidget() is page.area
    assert page.controls.ensemble.text() == "M2M into new, 3 models"
    assert page.controls.fitted.text() == "fitted on 10 people, shown on the other 10 · 60 faces"
    assert page.histogram.header.subtitle() == "N = 60 faces"
    variance = desk.workspace.faces.columns[VARIANCE]
    assert np.isfinite(variance).sum() == 60


def test_one_line_in_every_part(page: UncertaintyPanel, desk: Desk) -> None:
    found = desk.workspace.uncertainty
    page.variance.step_moved.emit(7)
    limit = limit_of(desk.workspace)
    refused = int((found.values > limit).sum())
    assert desk.workspace.refusal == 7
    assert page.variance.refused == refused == len(found.ids) - int(found.verification.kept[7])
    assert page.risk.chart.step == 7
    unsure = sum(page.quadrants.count(card) for card in ((0, 1), (1, 1)))
    assert unsure == int(((found.values > limit) & (found.recognition.right >= 0)).sum())
    said = page.gains.cells[0].gain
    assert said.value == f"{1 - found.verification.error.value[7]:.3f}"
    page.risk.step_moved.emit(0)
    assert limit_of(desk.workspace) == np.inf
    assert page.variance.refused == 0


@pytest.mark.parametrize("key", ["grid", "identities", "members", "scatter"])
def test_every_page_of_faces_follows_the_line(page: UncertaintyPanel, desk: Desk, key: str) -> None:
    page.show_below(key)
    if key == "scatter":
        page.compare_with("noise")
    desk.store.update(refusal=5)
    limit = limit_of(desk.workspace)
    found = desk.workspace.uncertainty
    refused = int((found.values > limit).sum())
    if key == "grid":
        assert int(page.grid._marks.refused.sum()) == refused
        worst = found.ids[np.argsort(-found.values, kind="stable")]
        np.testing.assert_array_equal(page.grid.ids, worst)
    elif key == "scatter":
        assert page.scatter.refused == refused
        assert "Spearman" in page.scatter.sentence()
    elif key == "identities":
        assert int(page.identities._refused.sum()) == refused


def test_what_is_brushed_is_the_selection(page: UncertaintyPanel, desk: Desk) -> None:
    found = desk.workspace.uncertainty
    some = found.ids[np.argsort(found.values)][10:14]
    page.variance.brushed.emit(some)
    np.testing.assert_array_equal(np.sort(desk.workspace.selection.ids), np.sort(some))
    page.risk.stretch.emit(2, 6)
    limits = found.verification.limit
    between = found.ids[(found.values > limits[6]) & (found.values <= limits[2])]
    np.testing.assert_array_equal(np.sort(desk.workspace.selection.ids), np.sort(between))


def test_a_face_chosen_elsewhere_is_told_member_by_member(page: UncertaintyPanel, desk: Desk) -> None:
    face = int(desk.workspace.uncertainty.ids[4])
    page.show_below("members")
    desk.store.update(selection=Selection(np.array([face]), face))
    assert page.members.face.face == face
    other = int(desk.workspace.uncertainty.ids[5])
    page.show_below("strip")
    desk.store.update(selection=Selection(np.array([other]), other))
    page.show_below("members")
    assert page.members.face.face == other
    assert "away from the others" in str(page._members_of(face))


def test_another_score_refuses_its_low_values(page: UncertaintyPanel, desk: Desk) -> None:
    page.controls.scored.emit("quality")
    settle(desk)
    found = desk.workspace.uncertainty
    assert (found.by, found.lower) == ("quality", True)
    assert page.histogram.header.title() == "Quality"
    assert desk.workspace.resolved_ensemble.by == "quality"


def test_the_rules_ask_again(page: UncertaintyPanel, desk: Desk) -> None:
    page.controls.choices["emptied", "unenrol"].trigger()
    assert desk.workspace.ensemble.emptied == "unenrol"
    assert page.work.job() is not None or desk.workspace.uncertainty is not None
    settle(desk)
    assert desk.workspace.uncertainty.complete


def test_members_are_chosen_on_the_card(page: UncertaintyPanel, desk: Desk) -> None:
    form = page.controls.form
    form.boxes["plain"].setChecked(False)
    settle(desk)
    assert desk.workspace.resolved_ensemble.members == ("residual", "new")
    assert len(desk.workspace.uncertainty.members) == 2
    form.boxes["residual"].setChecked(False)
    assert form.trouble.text() == "An ensemble needs two members or more; 1 is chosen."
    assert desk.workspace.resolved_ensemble.members == ("residual", "new")


def test_a_filter_that_means_nothing_is_told(page: UncertaintyPanel, desk: Desk, pump: Callable) -> None:
    form = page.controls.form
    page.controls.open_form()
    for text in ("noise <", "noize < 1"):
        form.fitted_on.clear()
        QTest.keyClicks(form.fitted_on, text)
        assert form.trouble.text(), text
    form.hide()  # nothing of it is left
    assert (desk.workspace.ensemble.fitted_on, form.fitted_on.text(), form.trouble.text()) == ("", "", "")
    page.controls.open_form()
    QTest.keyClicks(form.fitted_on, "noise < 1")
    assert not form.trouble.text()
    assert desk.workspace.ensemble.fitted_on == "", "not while it is typed"
    form.hide()
    assert desk.workspace.ensemble.fitted_on == "noise < 1"


def test_another_query_model(page: UncertaintyPanel, desk: Desk) -> None:
    page.show_below("members")
    page._list_query_models()
    assert [action.text() for action in page.update_menu.actions()] == ["plain", "residual"]
    page.update_menu.actions()[0].trigger()
    settle(desk)
    assert page.members.places.key == "update"


def test_fewer_than_two_models(
    panel: Callable[..., Any], desk: Desk, faces: FaceSet, three: dict[str, FeatureSet]
) -> None:
    page = panel(UncertaintyPanel)
    assert page.empty.isVisible()
    desk.store.update(faces=faces, features={"new": three["new"]}, model_b="new")
    assert page.next.isVisible()
    assert page.work.job() is None


def test_a_failure_is_told_once_and_not_tried_again(
    panel: Callable[..., Any],
    desk: Desk,
    faces: FaceSet,
    three: dict[str, FeatureSet],
    calls: Calls,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from facelens.analyses import uncertainty

    def fail(*_: object, **__: object) -> None:
        raise InputError("No.", hint="Yes.")

    monkeypatch.setattr(uncertainty, "assess", fail)
    page = panel(UncertaintyPanel)
    desk.store.update(faces=faces, features=three, model_b="new", ensemble=PLAN)
    settle(desk)
    desk.store.update(selection=Selection(faces.ids[:1], int(faces.ids[0])))
    settle(desk)
    assert len(calls.named("notify")) == 1
    assert page.run.isVisible()


def test_lists_and_curves_are_written(page: UncertaintyPanel, desk: Desk, tmp_path: Path) -> None:
    desk.store.update(refusal=4)
    found, limit = desk.workspace.uncertainty, limit_of(desk.workspace)
    page.work.export_faces(tmp_path / "refused.csv", refused=True)
    settle(desk)
    page.work.export_curves(tmp_path / "curve.csv")
    settle(desk)
    Figures(desk, lambda word: page).draw("uncertainty", tmp_path / "figure.png")
    settle(desk)
    lines = (tmp_path / "refused.csv").read_text().splitlines()
    assert len(lines) - 1 == int((found.values > limit).sum())
    assert lines[0].startswith("path,identity,variance,percentile")
    assert (tmp_path / "curve.csv").read_text().count("\n") == 1 + len(found.verification.coverage) + len(
        found.identification.coverage
    )
    assert {path.name for path in tmp_path.glob("figure*.png")} >= {"figure histogram.png", "figure strip.png"}


def test_written_values_are_those_of_the_faces(page: UncertaintyPanel, desk: Desk, tmp_path: Path) -> None:
    import csv

    found, faces = desk.workspace.uncertainty, desk.workspace.faces
    refusals.write_faces(tmp_path / "all.csv", faces, found, limit=np.inf)
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    assert len(rows) == len(found.ids)
    values = [float(row["variance"]) for row in rows]
    assert values == sorted(values, reverse=True)
    first = int(np.argmax(found.variance))
    assert rows[0]["disagrees_most"] == found.members[int(found.apart[:, first].argmax())].name
    assert float(rows[0]["pairwise"]) == pytest.approx(3 * found.variance[first])  # 2M / (M - 1) with three members


def test_nothing_of_an_older_question_is_shown(page: UncertaintyPanel, desk: Desk) -> None:
    old = desk.workspace.uncertainty
    desk.store.update(ensemble=replace(desk.workspace.ensemble, seed=1))
    assert desk.workspace.uncertainty is not old
    settle(desk)
    assert desk.workspace.uncertainty is not None


def test_who_is_given_another_name_keeps_the_order_by_variance(page: UncertaintyPanel, desk: Desk) -> None:
    page.hide()
    faces, question = desk.workspace.faces, desk.workspace.ensemble_question
    desk.store.update(arrangement=replace(desk.workspace.arrangement, sort=VARIANCE, descending=True))
    before = desk.workspace.shown_ids.tolist()
    desk.store.update(identity_edits=named(desk.workspace.identity_edits, faces, faces.ids[:3], "Somebody"))
    assert desk.workspace.shown_ids.tolist() == before and desk.workspace.arrangement.sort == VARIANCE
    assert desk.workspace.ensemble_question != question and desk.workspace.uncertainty is None, "to be asked anew"
    desk.store.update(identity_edits=taken_back(desk.workspace.identity_edits, faces.ids))
    assert desk.workspace.ensemble_question == question and desk.workspace.uncertainty is not None


def test_the_variance_of_another_ensemble_is_no_column(page: UncertaintyPanel, desk: Desk) -> None:
    desk.store.update(excluded=desk.workspace.uncertainty.ids[:1])
    assert VARIANCE in desk.workspace.faces.columns, "who excludes the worst goes on to see the others"
    settle(desk)
    page.hide()
    desk.store.update(model_b="plain", arrangement=replace(desk.workspace.arrangement, sort=VARIANCE))
    assert desk.workspace.resolved_ensemble.target == "plain"
    assert VARIANCE not in desk.workspace.faces.columns
    assert desk.workspace.arrangement.sort == ""


def test_a_score_that_is_gone_refuses_nothing(page: UncertaintyPanel, desk: Desk, calls: Calls) -> None:
    desk.store.update(ensemble=replace(PLAN, by="quality", lower=True))
    settle(desk)
    faces = desk.workspace.faces
    desk.store.update(faces=replace(faces, columns={k: v for k, v in faces.columns.items() if k != "quality"}))
    settle(desk)
    assert (desk.workspace.uncertainty.by, desk.workspace.uncertainty.lower) == (VARIANCE, False)
    assert page.controls.score.currentData() == VARIANCE
    assert not calls.named("notify")


def test_a_filter_that_does_not_fit_is_said_once(page: UncertaintyPanel, desk: Desk, calls: Calls) -> None:
    page.controls.planned.emit({"fitted_on": "blur < p50"})
    desk.store.update(selection=Selection(desk.workspace.faces.ids[:1]))
    settle(desk)
    page.work.update_query("plain", lambda _: pytest.fail("there is no answer"))
    assert len(calls.named("notify")) == 2
    assert page.run.isVisible()


def test_another_column_keeps_what_is_compared_up_to_date(page: UncertaintyPanel, desk: Desk) -> None:
    page.compare_with("quality")
    before = page.controls.compare.currentText()
    assert before.startswith("quality, ρ = −")
    faces = desk.workspace.faces
    desk.store.update(faces=faces.with_columns({"quality": -np.asarray(faces.columns["quality"])}))
    assert page.controls.compare.currentText() == before.replace("−", "")


def test_an_update_of_another_ensemble_is_not_shown(page: UncertaintyPanel, desk: Desk) -> None:
    page._on_query_model("plain")
    settle(desk)
    assert page.members.updates.model().rowCount() == 2
    desk.store.update(excluded=desk.workspace.faces.ids[:1])
    settle(desk)
    assert page.members.updates.model().rowCount() == 0
    page._on_query_model("plain")
    desk.store.update(excluded=desk.workspace.faces.ids[:0])
    settle(desk)
    assert page.members.updates.model().rowCount() == 0


def test_figures_compare_what_the_page_compares(page: UncertaintyPanel, desk: Desk) -> None:
    assert (page.figure_view().against, page.figure_view().query) == ("", "")
    page.compare_with("noise")
    others = [name for name in desk.workspace.features if name != desk.workspace.resolved_ensemble.target]
    page._on_query_model(others[-1])
    settle(desk)
    assert (page.figure_view().against, page.figure_view().query) == ("noise", others[-1])
    page.scatter.setFocus()
    assert page.figure_name() == "scatter"
    page.show_below("identities")
    page.identities.sort_by("person", ascending=False)
    names = desk.workspace.faces.identity.names
    assert page.figure_view().people[:2] == (names[-1], names[-2]) or len(page.figure_view().people) < len(names)
    assert list(page.figure_view().people) == sorted(page.figure_view().people, reverse=True)
    desk.store.update(excluded=desk.workspace.faces.ids[:1])
    assert page.figure_view().query == "", "it was tried on another ensemble"


def test_the_pairwise_form_is_the_same_in_another_unit(page: UncertaintyPanel, desk: Desk) -> None:
    before = desk.workspace.uncertainty
    page.controls.scored.emit("pairwise distance")
    settle(desk)
    found = desk.workspace.uncertainty
    assert found.by == "pairwise distance"
    np.testing.assert_allclose(found.values, 3 * before.variance)  # 2M / (M - 1) with three members
    np.testing.assert_array_equal(found.verification.error.value, before.verification.error.value)
    assert page.histogram.header.title() == "Pairwise distance"
