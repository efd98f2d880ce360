"""The evaluation page: every tap lists exactly the pairs behind it, one operating point, no number without support."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog

from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet, Labels
from facelens.images.protocol import Pairs, Protocol, Templates
from facelens.session.jobs import Request, State
from facelens.session.selection import Selection
from facelens.session.settings import Settings
from facelens.session.store import Store
from facelens.session.workspace import PLAN, Operating, Workspace
from facelens.views import listing, theme
from facelens.views.bridge import Bridge
from facelens.views.controls import text_width
from facelens.views.evaluating import SLOT
from facelens.views.main_window import MainWindow
from facelens.views.panel import Desk
from facelens.views.panels import evaluation as page
from facelens.views.panels.evaluation import EvaluationPanel
from facelens.views.plots import Mark
from facelens.views.thumbnails import Thumbnails
from tests.gui.conftest import Calls, NearbyQueue, pump, settle
from tests.gui.test_access import nameless, tabbed

FARS = (0.2, 0.05, 0.01, 1e-5)


def gallery(people: int = 6, pictures: int = 5, **columns: Any) -> FaceSet:
    """Faces without pictures: the list shows them as broken, which is enough here."""
    names = [f"Person_{i}" for i in range(people) for _ in range(pictures)]
    return FaceSet.build(
        "stub",
        Path("/nowhere"),
        paths=[f"{name}/{k:02}.png" for k, name in enumerate(names)],
        identities=names,
        columns=columns,
    )


def vectors(faces: FaceSet, name: str, *, seed: int = 0, noise: float = 0.9, D: int = 8) -> FeatureSet:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(len(faces.identity.names), D))
    x = centres[faces.identity.codes] + noise * rng.normal(size=(len(faces), D))
    return features(faces, x, name)


def features(faces: FaceSet, x: np.ndarray, name: str) -> FeatureSet:
    return FeatureSet(faces.ids, np.asarray(x, np.float32), Provenance(f"{name}-{hash(x.tobytes())}", name))


def put(desk: Desk, faces: FaceSet, *found: FeatureSet, **changes: Any) -> None:
    """Models A and B (or B alone) with vectors of the gallery."""
    names = [one.provenance.model for one in found]
    plan = replace(PLAN, fars=FARS, resamples=40)
    places = dict(zip(("model_a", "model_b") if len(names) > 1 else ("model_b",), names))
    settings = {"plan": plan, "operating": Operating(0.05), "features": dict(zip(names, found)), **places, **changes}
    desk.store.update(faces=faces, **settings)


_ANSWERS: dict[tuple[object, ...], Any] = {}


@pytest.fixture(autouse=True)
def answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same question is worked out once for all tests of this file."""
    from facelens.analyses import evaluation

    real = evaluation.evaluate_both

    def evaluate(faces: FaceSet, protocol: Protocol | None, plan: Any, *, tick: Any, **given: Any) -> Any:
        models = tuple(one.provenance.fingerprint if isinstance(one, FeatureSet) else None for one in given.values())
        key = (faces.digest, protocol.name if protocol else "", plan, models, given["excluded"].tobytes())
        if key not in _ANSWERS:
            _ANSWERS[key] = real(faces, protocol, plan, tick=tick, **given)
        return _ANSWERS[key]

    monkeypatch.setattr(evaluation, "evaluate_both", evaluate)


@pytest.fixture(scope="module")
def faces() -> FaceSet:
    light = ["day" if i % 2 else "night" for i in range(30)]
    return gallery(light=Labels.of(light), yaw=np.linspace(-40, 40, 30))


@dataclass
class Table:
    """A page that many tests share, because making one takes as long as ten of them."""

    desk: Desk
    page: EvaluationPanel
    calls: Calls
    start: Workspace

    def reset(self) -> None:
        """As it was when it was made."""
        fields = ("faces", "protocol", "excluded", "features", "model_a", "model_b", "plan", "crossing", "operating")
        page = self.page
        self.calls.clear()
        page._declined = page._running = ()
        chosen, page.verification._wanted = page.verification._wanted, ""
        evaluated = self.start.evaluated
        kept = {name: getattr(self.start, name) for name in fields}
        self.desk.store.update(**kept, evaluated=evaluated, selection=Selection())
        view, evaluation = page.verification.view, evaluated[0].evaluation
        if chosen or view is None or not view.both or view.sides[1].report is not evaluation.b:
            page._show_evaluation(evaluation)
        page._clear_list()
        page.show_part("verification")
        page.verification.places.show_key("points")
        page.resize(900, 640)
        page.show()
        pump()


@pytest.fixture(scope="module")
def table(qapp: QApplication, faces: FaceSet) -> Iterator[Table]:
    """The page with two models, evaluated."""
    if not (qapp.styleSheet() and theme.current().dark):
        theme.apply(qapp, "dark")
    bridge, calls = Bridge(), Calls()
    jobs, thumbnails = NearbyQueue(post=bridge.post), Thumbnails(threads=2)
    desk = Desk(
        store=Store(), jobs=jobs, thumbnails=thumbnails, settings=Settings(),
        act=lambda id: calls.append(("act", id)), open_path=lambda path: calls.append(("open", path)),
        notify=lambda error, trace="": calls.append(("notify", error)), remember=False,
    )  # fmt: skip
    put(desk, faces, vectors(faces, "old", noise=1.2), vectors(faces, "new", seed=1, noise=0.8))
    page_ = EvaluationPanel(desk)
    page_.resize(900, 640)
    page_.show()
    settle(desk)
    assert desk.workspace.evaluation is not None, [job.error for job in jobs.jobs]
    made = Table(desk, page_, calls, desk.workspace)
    yield made
    page_.close_panel()
    page_.close()
    page_.deleteLater()
    del made.page
    jobs.shutdown()
    bridge.close()
    thumbnails.close()
    pump()


@pytest.fixture
def both(table: Table) -> Iterator[EvaluationPanel]:
    """The shared page, as it was when it was made."""
    table.reset()
    yield table.page
    table.desk.jobs.cancel_slot(SLOT)
    settle(table.desk)


@pytest.fixture
def single(both: EvaluationPanel, faces: FaceSet) -> EvaluationPanel:
    """The shared page with one model, evaluated."""
    put(both.desk, faces, vectors(faces, "new", seed=1), model_a="")
    settle(both.desk)
    return both


@pytest.fixture
def asked(table: Table) -> Calls:
    """What the shared page asked the window for."""
    return table.calls


# -- numpy says what is right


class Truth:
    """All pairs of a model, worked out here."""

    def __init__(self, desk: Desk, name: str) -> None:
        faces, found = desk.workspace.faces, desk.workspace.features[name]
        assert faces is not None
        x = found.vectors.astype(np.float64)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        i, j = np.triu_indices(len(faces), 1)
        self.score = (x @ x.T)[i, j]
        self.genuine = faces.identity.codes[i] == faces.identity.codes[j]
        self.ids, self.i, self.j, self.codes = faces.ids, i, j, faces.identity.codes

    def pairs(self, chosen: np.ndarray) -> set[frozenset[int]]:
        return {frozenset((int(self.ids[a]), int(self.ids[b]))) for a, b in zip(self.i[chosen], self.j[chosen])}

    def faces(self, chosen: np.ndarray) -> np.ndarray:
        return np.unique(self.ids[np.concatenate([self.i[chosen], self.j[chosen]])])


def listed(panel: EvaluationPanel) -> set[frozenset[int]]:
    found = panel.list.listing
    return {frozenset((int(a), int(b))) for a, b in zip(found.first, found.second)}


def holds(panel: EvaluationPanel, truth: Truth, chosen: np.ndarray) -> None:
    """The list and the selection are exactly these pairs, by margin."""
    assert chosen.any(), "a test with nothing to list shows nothing"
    assert listed(panel) == truth.pairs(chosen) and len(panel.list.listing) == int(chosen.sum())
    selection = panel.desk.workspace.selection
    assert selection.ids.tolist() == truth.faces(chosen).tolist()
    first = (int(panel.list.listing.first[0]), int(panel.list.listing.second[0]))
    assert selection.pair == first and selection.current == first[0]
    found = panel.list.listing
    bad = np.where(np.isin(found.kind, (listing.GENUINE, listing.FALSE_NON_MATCH)), -found.margin, found.margin)
    assert (np.diff(bad) <= 1e-12).all(), "worst first"


def threshold(panel: EvaluationPanel, letter: str) -> float:
    view = panel.verification.view
    assert view is not None
    t = view.threshold(letter)
    assert t is not None
    return t


# -- states


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


def test_a_small_gallery_is_evaluated_when_the_page_is_shown_and_keys_reach_all(
    desk: Desk, panel: Callable, faces: FaceSet, settle: Callable
) -> None:
    put(desk, faces, vectors(faces, "old", noise=1.2), vectors(faces, "new", seed=1, noise=0.8))
    both = panel(EvaluationPanel)
    settle(desk)
    runs = [job for job in desk.jobs.jobs if job.request.slot == SLOT]
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
    assert len([job for job in desk.jobs.jobs if job.request.slot == SLOT]) == 1


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


def choose(combo: Any, data: object) -> None:
    place = combo.findData(data)
    assert place >= 0
    combo.setCurrentIndex(place)
    combo.activated.emit(place)


# -- the table


def test_the_table_has_the_numbers_of_the_evaluation(both: EvaluationPanel) -> None:
    desk = both.desk
    table, evaluation = both.verification.points, desk.workspace.evaluation
    heads = [column.title for column in table.model_.columns]
    assert heads == ["target FAR", "A  TAR [95 %]", "B  TAR [95 %]", "B − A, paired", "threshold B", "impostors"]
    assert [table.text(i, 0) for i in range(4)] == ["0.2", "5e-2", "1e-2", "1e-5"]
    point = evaluation.b.verification.points[1]
    assert table.text(1, 2).startswith(f"{point.tar.value:.4f} [") and table.text(1, 5) == f"{point.false_matches:,}"
    assert table.text(1, 3)[0] in "+−" or table.text(1, 3).startswith("0.0000")
    assert table.cell(3, 1).why and table.cell(3, 1).span == 4 and "impostor pairs" in table.text(3, 1)
    assert table.marked == 1


def test_differences_are_coloured_only_when_zero_is_outside() -> None:
    from facelens.analyses.measure import Measure
    from facelens.views.tables import difference_cell

    assert difference_cell(Measure(0.02, -0.01, 0.05)).colour == "text"
    assert difference_cell(Measure(0.02, 0.01, 0.05)).colour == "good"
    low = difference_cell(Measure(-0.02, -0.03, -0.01))
    assert low.colour == "bad" and low.text == "−0.0200 [−0.0300, −0.0100]"
    assert difference_cell(Measure.none("too few")).why and difference_cell(None).why


# -- taps: list and selection are exactly the right pairs


def test_cells_of_the_table(both: EvaluationPanel) -> None:
    desk = both.desk
    truth = Truth(desk, "new")
    for row in (0, 1):
        both.verification.points.tap(row, 5)
        t = threshold(both, "B")
        holds(both, truth, ~truth.genuine & (truth.score >= t - 1e-6))
        n = len(both.list.listing)
        assert both.errors.header.subtitle() == f"B: {n} false matches above {t:.3f}".replace("-", "−")
        assert int(both.verification.points.text(row, 5)) == n and desk.workspace.operating.far == FARS[row]
        assert both.foot.text().endswith(f"of {n}")
    for column, name, letter in ((1, "old", "A"), (2, "new", "B")):
        both.verification.points.tap(2, column)
        truth = Truth(desk, name)
        holds(both, truth, truth.genuine & (truth.score < threshold(both, letter) - 1e-6))
        title = both.errors.header.subtitle()
        assert title.startswith(f"{letter}: ") and "false non-match" in title


def test_a_difference_lists_the_pairs_that_changed_sides(both: EvaluationPanel) -> None:
    desk = both.desk
    both.verification.points.tap(1, 3)
    a, b = Truth(desk, "old"), Truth(desk, "new")
    right_a, right_b = a.score >= threshold(both, "A") - 1e-6, b.score >= threshold(both, "B") - 1e-6
    changed = b.genuine & (right_a != right_b)
    assert changed.any() and listed(both) == b.pairs(changed)
    gained = int((b.genuine & right_b & ~right_a).sum())
    assert int((both.list.listing.kind == listing.GAINED).sum()) == gained
    assert f"{gained} gained by B" in both.errors.header.subtitle()


def test_a_point_of_a_curve_lists_both_errors(both: EvaluationPanel) -> None:
    desk = both.desk
    page_ = both.verification
    side = page_.view.side_of("A")
    index = len(side.drawn) // 3
    page_.det.picked.emit("A", index)
    truth = Truth(desk, "old")
    t = float(side.verification.curve.threshold[side.drawn[index]])
    wrong = np.where(truth.genuine, truth.score < t - 1e-6, truth.score >= t - 1e-6)
    holds(both, truth, wrong)
    assert desk.workspace.operating == Operating(float(side.verification.curve.far[side.drawn[index]]), t, "a")
    assert threshold(both, "A") == t and page_.points.rows_.count(None) == 1


def test_bins_and_brushes(both: EvaluationPanel) -> None:
    desk = both.desk
    truth = Truth(desk, "new")
    edges = both.verification.view.side.verification.histogram.edges
    middle = len(edges) // 2
    low, high = float(edges[middle - 6]), float(edges[middle + 6])
    inside = (truth.score >= low) & (truth.score < high)
    both.verification.scores.brushed.emit(low, high)
    holds(both, truth, inside)
    for key, kind in (("genuine", truth.genuine), ("impostor", ~truth.genuine)):
        both.verification.scores.bin_picked.emit(key, low, high)
        holds(both, truth, inside & kind)
    both.verification.scores.brushed.emit(float(edges[0]), float(edges[-1]))
    assert len(both.list.listing) == len(truth.score), "the last bin holds its upper edge"


def test_confusable_people_list_their_pairs(both: EvaluationPanel) -> None:
    desk = both.desk
    page_ = both.verification
    page_.places.show_key("confusable")
    one = page_.view.side.report.confusable[0]
    page_.confusable.tap(0, 0)
    truth = Truth(desk, "new")
    a, b = truth.codes[truth.i], truth.codes[truth.j]
    holds(both, truth, ((a == one.first) & (b == one.second)) | ((a == one.second) & (b == one.first)))
    assert page_.view.who(one.first) in both.errors.header.subtitle()


def test_a_breakdown_and_the_errors_of_a_group(both: EvaluationPanel) -> None:
    desk = both.desk
    page_ = both.verification
    page_.places.show_key("slices")
    assert page_.slices.cell(0, 0).why and "choose a column" in page_.slices.text(0, 0)
    choose(both.controls.breakdown, "light")
    settle(desk)
    assert [page_.slices.text(i, 0) for i in range(2)] == ["day", "night"]
    desk.store.update(operating=Operating(0.2))
    page_.slices.tap(0, 7)  # real FAR of B
    truth = Truth(desk, "new")
    day = np.asarray(desk.workspace.faces.columns["light"].codes) == 0
    t = threshold(both, "B")
    holds(both, truth, ~truth.genuine & (truth.score >= t - 1e-6) & day[truth.i] & day[truth.j])
    assert both.errors.header.subtitle().endswith("in day")
    page_.slices.tap(0, 4)  # TAR of A
    truth = Truth(desk, "old")
    holds(both, truth, truth.genuine & (truth.score < threshold(both, "A") - 1e-6) & day[truth.i] & day[truth.j])


def test_a_breakdown_by_numbers_has_quarters(both: EvaluationPanel) -> None:
    page_, desk = both.verification, both.desk
    page_.places.show_key("slices")
    choose(both.controls.breakdown, "yaw")
    settle(desk)
    assert [page_.slices.text(i, 0) for i in range(4)] == ["−40 to −20", "−20 to 0", "0 to 20", "20 to 40"]
    desk.store.update(operating=Operating(0.2))
    truth, t = Truth(desk, "new"), threshold(both, "B")
    yaw = np.asarray(desk.workspace.faces.columns["yaw"])
    for row, inside in enumerate((yaw < -20, (yaw >= -20) & (yaw < 0), (yaw >= 0) & (yaw < 20), yaw >= 20)):
        wrong = ~truth.genuine & (truth.score >= t - 1e-6) & inside[truth.i] & inside[truth.j]
        page_.slices.tap(row, 7)
        assert listed(both) == truth.pairs(wrong)
        assert page_.slices.text(row, 1) == str(int(inside.sum()))


def test_only_columns_that_divide_are_offered(both: EvaluationPanel) -> None:
    faces = both.desk.workspace.faces
    own = Labels.of([f"file {i}" for i in range(30)])
    more = {"width": np.full(30, 112.0), "name": own, "blur": np.where(np.arange(30) < 25, 0.0, 0.5)}
    both.desk.store.update(faces=replace(faces, columns={**faces.columns, **more}))
    combo = both.controls.breakdown
    assert [combo.itemData(i) for i in range(combo.count())] == ["", "light", "yaw", "blur"]


def test_ranks_and_open_set(both: EvaluationPanel) -> None:
    desk = both.desk
    both.show_part("identification")
    found = desk.workspace.evaluation.b.identification
    both.identification.table.tap(0, 2)
    missed = found.searches.query[found.searches.mated & (found.searches.rank > 1)]
    assert sorted(both.list.listing.first.tolist()) == sorted(missed.tolist()) and len(missed)
    assert both.errors.header.subtitle() == f"B: {len(missed)} searches miss at rank 1"
    assert set(missed.tolist()) <= set(desk.workspace.selection.ids.tolist())
    both.identification.cmc.picked.emit("B", 2)
    beyond = found.searches.mated & (found.searches.rank > 3)
    assert sorted(both.list.listing.first.tolist()) == sorted(found.searches.query[beyond].tolist())
    row = next(i for i, (kind, key) in enumerate(both.identification._lines) if kind == "open" and key == 0.1)
    point = next(p for p in found.open if p.target == 0.1)
    if not both.identification.table.cell(row, 1).why:
        both.identification.table.tap(row, 6)
        assert len(both.list.listing) == point.false_alarms
    index = len(both.identification._drawn["B"]) // 2
    both.identification.open.picked.emit("B", index)
    assert "missed search" in both.errors.header.subtitle()


def test_queries_worst_first(both: EvaluationPanel) -> None:
    desk = both.desk
    both.show_part("retrieval")
    retrieval, found = both.retrieval, desk.workspace.evaluation.b.retrieval
    assert retrieval.query_frame.header.subtitle() == "worst first, by MAP@R"
    both.resize(1300, 700)
    pump()
    assert retrieval.by.currentText() == "worst in MAP@R"
    assert retrieval.by.width() >= text_width("worst in MAP@R", 12) + 24, "it can be read"
    values = [float(retrieval.queries.text(i, 3)) for i in range(len(found.queries.query))]
    assert values == sorted(values) and len(values) == 30
    row = next(i for i in range(9) if retrieval.means.text(i, 0) == "P@1")
    retrieval.means.tap(row, 2)
    wrong = found.queries.query[np.asarray(found.queries.values["P@1"]) < 1]
    assert sorted(both.list.listing.first.tolist()) == sorted(wrong.tolist()) and len(wrong)
    retrieval.queries.tap(0, 0)
    line = int(found.queries.worst("MAP@R")[0])
    assert set(both.list.listing.first.tolist()) == {int(found.queries.query[line])}
    assert int(found.queries.nearest_wrong[line]) in both.list.listing.second.tolist()


# -- one operating point


def test_everything_follows_the_line(both: EvaluationPanel) -> None:
    desk = both.desk
    page_, truth = both.verification, Truth(desk, "new")
    page_.scores.moved.emit(0.3)
    assert desk.workspace.operating.threshold == 0.3 and page_.scores.decision == pytest.approx(0.3)
    accepted = int((~truth.genuine & (truth.score >= 0.3)).sum())
    far = accepted / int((~truth.genuine).sum())
    assert page_.roc.decision == pytest.approx(far) and desk.workspace.operating.far == pytest.approx(far)
    row = page_.points.marked
    assert page_.points.rows_[row] is None and page_.points.text(row, 5) == str(accepted)
    tar = float((truth.score[truth.genuine] >= 0.3).mean())
    assert page_.points.text(row, 2).startswith(f"{tar:.4f}")
    side = page_.view.side_of("A")
    assert threshold(both, "A") == listing.threshold_at(side.report.scores, far, rule="roc") != 0.3
    page_.roc.moved.emit(0.0501)  # near a row: it snaps
    assert desk.workspace.operating == Operating(0.05) and page_.points.marked == 1 and None not in page_.points.rows_
    page_.points.tap(0, 0)
    assert page_.roc.decision == pytest.approx(0.2) and page_.scores.decision == pytest.approx(threshold(both, "B"))


def test_the_list_follows_when_the_line_is_let_go(both: EvaluationPanel) -> None:
    desk = both.desk
    page_, truth = both.verification, Truth(desk, "new")
    page_.points.tap(1, 5)
    page_.roc.moved.emit(0.11)
    before = listed(both)
    page_.roc.settled.emit(0.11)
    t = threshold(both, "B")
    holds(both, truth, ~truth.genuine & (truth.score >= t - 1e-6))
    assert listed(both) != before


def test_the_scores_of_the_other_model(both: EvaluationPanel) -> None:
    desk = both.desk
    page_ = both.verification
    choose(page_.model, "A")
    assert page_.scores.decision == pytest.approx(threshold(both, "A"))
    page_.scores.settled.emit(0.2)
    assert desk.workspace.operating.of == "a"


def test_a_threshold_is_carried_over(both: EvaluationPanel) -> None:
    desk = both.desk
    page_, truth = both.verification, Truth(desk, "new")
    page_.places.show_key("threshold")
    table = page_.bench.table
    assert [table.text(i, 0) for i in range(3)] == ["A  old", "B  with the threshold of A", "B  new"]
    t = threshold(both, "A")
    assert table.text(1, 4) == str(int((~truth.genuine & (truth.score >= t)).sum()))
    assert "the threshold of A gives B" in page_.bench.sentence.text()
    heads = [column.title for column in table.model_.columns]
    assert heads[2:4] == ["real FAR [95 %]", "TAR [95 %]"]
    for row in range(3):  # no rate without its interval
        for column in (2, 3):
            value, low, high = (
                float(v) for v in table.text(row, column).translate(str.maketrans("[],", "   ")).split()
            )
            assert low <= value <= high and low < high
    table.tap(1, 5)
    holds(both, truth, truth.genuine & (truth.score < t - 1e-6))
    choose(page_.bench.target, 0.2)
    assert desk.workspace.operating == Operating(0.2)


def test_numbers_that_need_no_operating_point(both: EvaluationPanel) -> None:
    desk, page_, truth = both.desk, both.verification, Truth(both.desk, "new")
    page_.places.show_key("summary")
    table, found = page_.summary, desk.workspace.evaluation.b.verification
    assert [table.text(i, 0) for i in range(6)] == ["EER", "AUC", "d′", "FMR100", "FMR1000", "best accuracy"]
    assert table.text(0, 2).startswith(f"{found.eer.value:.4f} [")
    assert table.text(0, 3)[0] in "+−0" and table.text(2, 3) == "not paired"
    table.tap(0, 2)
    t = found.eer_threshold
    holds(both, truth, np.where(truth.genuine, truth.score < t - 1e-6, truth.score >= t - 1e-6))
    table.tap(3, 2)
    t = listing.threshold_at(desk.workspace.evaluation.b.scores, 1e-2, rule="roc")
    holds(both, truth, truth.genuine & (truth.score < t - 1e-6))
    before = listed(both)
    table.tap(1, 2)  # of all pairs: there is no threshold
    assert listed(both) == before


def test_a_far_is_added_and_taken_out(both: EvaluationPanel) -> None:
    desk = both.desk
    menu = both.verification.add_far.menu()
    menu.aboutToShow.emit()
    [add] = [action for action in menu.actions() if action.text() == "Add 1e-1"]
    add.trigger()
    assert 0.1 in desk.workspace.plan.fars
    settle(desk)
    assert both.verification.points.text(1, 0) == "1e-1"
    menu.aboutToShow.emit()
    [out] = [action for action in menu.actions() if action.text() == "Take out 1e-5"]
    out.trigger()
    assert desk.workspace.plan.fars == (0.2, 0.1, 0.05, 0.01)


# -- the list


def test_arrows_walk_the_list_and_enter_compares(both: EvaluationPanel, asked: Calls) -> None:
    desk = both.desk
    both.verification.points.tap(0, 5)
    ids = desk.workspace.selection.ids
    both.list.setFocus()
    QTest.keyClick(both.list, Qt.Key.Key_Down)
    found = both.list.listing
    pair = (int(found.first[1]), int(found.second[1]))
    assert both.list.current == 1 and desk.workspace.selection.pair == pair
    assert desk.workspace.selection.ids.tolist() == ids.tolist()
    assert both.list.accessibleDescription().startswith(f"2 of {found.total}, false match, Person ")
    QTest.keyClick(both.list, Qt.Key.Key_End)
    assert both.list.current == len(found) - 1
    QTest.keyClick(both.list, Qt.Key.Key_Return)
    last = {int(found.first[-1]), int(found.second[-1])}
    assert asked.named("act") == ["view.compare"] and set(desk.workspace.selection.ids.tolist()) == last


def test_the_list_follows_a_pair_chosen_elsewhere_and_can_be_emptied(both: EvaluationPanel) -> None:
    desk = both.desk
    both.verification.points.tap(0, 5)
    found = both.list.listing
    pair = (int(found.first[3]), int(found.second[3]))
    desk.store.update(selection=Selection(np.array(pair), pair[0], pair))
    assert both.list.current == 3
    both.clear.click()
    assert not len(both.list.listing) and not both.errors.header.subtitle() and not both.clear.isVisible()
    assert not len(desk.workspace.selection)


def test_what_is_listed_ends_with_the_selection(both: EvaluationPanel) -> None:
    page_ = both.verification
    page_.roc._pick(Mark("B", 20))
    assert len(both.list.listing) and page_.roc.ring is not None
    both.desk.store.update(selection=Selection())  # as Esc does
    assert not len(both.list.listing) and page_.roc.ring is None and not both.clear.isVisible()
    page_.points.tap(0, 5)
    assert page_.points.framed
    both.desk.store.update(selection=Selection())
    assert not page_.points.framed and both.desk.workspace.evaluation is not None


def test_thousands_of_pairs_have_no_widget_each(both: EvaluationPanel) -> None:
    edges = both.verification.view.side.verification.histogram.edges
    before = len(both.findChildren(object))
    both.verification.scores.brushed.emit(float(edges[0]), float(edges[-1]))
    both.grab()
    assert len(both.list.listing) == 435 and len(both.findChildren(object)) <= before + 2
    assert len(both.list.visible_places()) < 20


def test_of_very_many_pairs_the_worst_of_each_kind_are_listed(
    both: EvaluationPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    both.verification._on_brush(-1.0, 1.0)
    whole = both.list.listing
    monkeypatch.setattr(listing, "LISTED", 20)
    both.verification._on_brush(-1.0, 1.0)
    found = both.list.listing
    assert len(found) == 40 and found.total == len(whole) and "40 can be listed" in both.foot.text()
    genuine = np.isin(whole.kind, (listing.GENUINE, listing.FALSE_NON_MATCH))
    worst = np.sort(np.concatenate([np.flatnonzero(genuine)[:20], np.flatnonzero(~genuine)[:20]]))
    for column in ("first", "second", "score", "margin", "kind"):
        assert np.array_equal(getattr(found, column), getattr(whole, column)[worst]), column


def test_pairs_that_are_only_counted_are_fetched(single: EvaluationPanel, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = single.desk
    from facelens.analyses.scores import Bulk

    evaluation = desk.workspace.evaluation
    report = evaluation.b
    scores, truth = report.scores, Truth(desk, "new")
    floor = float(np.sort(scores.impostor_scores)[-60])
    keep = scores.genuine | (scores.score >= floor)
    lost = np.sort(scores.score[~keep]).astype(np.float64)
    edges = np.append(np.unique(lost), floor)
    cut = replace(
        scores, score=scores.score[keep], first=scores.first[keep], second=scores.second[keep],
        genuine=scores.genuine[keep], floor=floor, bulk=Bulk(edges, np.histogram(lost, edges)[0].astype(np.int64)),
    )  # fmt: skip
    view = single.verification.view
    short = replace(view.side, report=replace(report, scores=cut))
    single.verification.view = replace(view, sides=(short,))
    low = float(np.sort(scores.impostor_scores)[-90])
    single.verification.scores.brushed.emit(low, 2.0)
    assert single.list.listing.total > len(single.list.listing) and "can be listed" in single.foot.text()
    settle(desk)
    holds(single, truth, truth.score >= low - 1e-6)


# -- what cannot be said


def dirty() -> dict[str, tuple[FaceSet, np.ndarray]]:
    rng = np.random.default_rng(0)
    one, alone = gallery(1, 5), gallery(6, 1)
    nan = gallery(3, 3)
    broken = rng.normal(size=(9, 4))
    broken[2] = np.nan
    broken[5] = 0
    return {
        "one face": (gallery(1, 1), rng.normal(size=(1, 4))),
        "one identity": (one, rng.normal(size=(5, 4))),
        "singletons": (alone, rng.normal(size=(6, 4))),
        "nan": (nan, broken),
        "all nan": (nan, np.full((9, 4), np.nan)),
        "ties": (nan, np.ones((9, 4))),
        "two faces": (gallery(2, 1), rng.normal(size=(2, 4))),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "one face",
        "one identity",
        "singletons",
        "nan",
        "ties",
        pytest.param("all nan", marks=pytest.mark.faults),
        pytest.param("two faces", marks=pytest.mark.faults),
    ],
)
def test_every_part_says_why_there_is_nothing(both: EvaluationPanel, asked: Calls, kind: str) -> None:
    faces, x = dirty()[kind]
    shown = both
    put(shown.desk, faces, features(faces, x, "net"), model_a="")
    settle(shown.desk)
    assert not asked.named("notify")
    assert shown.body.isVisible()
    texts = []
    for part in ("verification", "identification", "retrieval"):
        shown.show_part(part)
        shown.grab()
    texts += [shown.identification.table, shown.retrieval.means, shown.retrieval.queries]
    for place in ("points", "summary", "slices", "confusable", "threshold"):
        shown.verification.places.show_key(place)
    shown.grab()
    tables = {
        *(shown.verification.points, shown.verification.summary, shown.verification.confusable),
        *(shown.verification.bench.table, *texts),
    }
    for table in tables:
        for row in table.model_.rows[:20]:
            cells = [row[0]]
            reach = row[0].span
            for j in range(1, len(row)):
                if j >= reach:
                    cells.append(row[j])
                    reach = j + row[j].span
            for cell in cells:
                assert cell.text and "nan" not in cell.text.lower() and "None" not in cell.text, (table, row)
    if kind in ("one identity", "one face", "singletons", "all nan"):
        assert (shown.banner.isVisible() and "No rate can be given" in shown.banner.text()) or kind == "all nan"
        assert shown.verification.points.cell(0, 1).why
    for table in (shown.verification.points, shown.identification.table, shown.retrieval.means):
        for j in range(len(table.model_.columns)):
            table.tap(0, j)  # nothing breaks
    assert not nameless(shown)


# -- the rest of the page


def test_one_model_alone(single: EvaluationPanel) -> None:
    desk = single.desk
    table, truth = single.verification.points, Truth(desk, "new")
    heads = [column.title for column in table.model_.columns]
    assert heads == ["target FAR", "B  TAR [95 %]", "real FAR [95 %]", "threshold B", "false non-matches", "impostors"]
    assert not single.controls.crossing.isVisible()
    table.tap(1, 4)
    holds(single, truth, truth.genuine & (truth.score < threshold(single, "B") - 1e-6))
    assert not single.errors.header.subtitle().startswith("B:")


def test_queries_of_one_model_in_the_gallery_of_the_other(both: EvaluationPanel) -> None:
    desk = both.desk
    choose(both.controls.crossing, "ab")
    settle(desk)
    report = desk.workspace.evaluation.a
    assert (report.query, report.gallery) == ("old", "new")
    assert both.verification.view.names["A"] == "old in new"


def test_the_published_test_of_a_gallery(single: EvaluationPanel, faces: FaceSet) -> None:
    pairs = np.array([[0, 1], [5, 6], [10, 12], [0, 29], [3, 17], [8, 21]])
    test = Protocol("tiny pairs", Pairs(pairs, np.arange(6) < 3, np.zeros(6, np.int32)))
    shown, desk = single, single.desk
    desk.store.update(protocol=test)
    choose(shown.controls.protocol, "tiny pairs")
    settle(desk)
    found = desk.workspace.evaluation
    assert found.protocol == "tiny pairs" and found.b.verification.n_genuine == 3
    edges = shown.verification.view.side.verification.histogram.edges
    shown.verification.scores.brushed.emit(float(edges[0]), float(edges[-1]))
    assert listed(shown) == {frozenset((int(faces.ids[a]), int(faces.ids[b]))) for a, b in pairs}


def templates_of(faces: FaceSet) -> Protocol:
    """Two templates of each person: of two and of three pictures; all pairs of templates."""
    template = np.repeat(np.arange(12) + 100, np.tile([2, 3], 6))
    members = Templates(template.astype(np.int64), np.arange(30, dtype=np.int64), np.arange(30, dtype=np.int64))
    i, j = np.triu_indices(12, 1)
    pairs = np.stack([i + 100, j + 100], 1).astype(np.int64)
    return Protocol(
        "tiny IJB", Pairs(pairs, i // 2 == j // 2, np.zeros(len(i), np.int32), of="template"), templates=members
    )


def test_templates(single: EvaluationPanel, faces: FaceSet) -> None:
    desk = single.desk
    assert not single.controls.groups["templates"].isVisible()
    desk.store.update(protocol=templates_of(faces), plan=replace(desk.workspace.plan, protocol="tiny IJB"))
    assert single.controls.groups["templates"].isVisible()
    settle(desk)
    report = desk.workspace.evaluation.b
    assert report.of == "template" and (report.verification.n_genuine, report.verification.n_impostor) == (6, 60)
    edges = single.verification.view.side.verification.histogram.edges
    single.verification.scores.brushed.emit(float(edges[0]), float(edges[-1]))
    assert len(single.list.listing) == 66 and single.list.listing.of == "template"
    found = single.list.listing
    place = int(np.flatnonzero((found.first == 100) & (found.second == 103))[0])
    text = single.list.pair_text(place)
    assert "Person 0, 2 pictures, template 100" in text and "Person 1, 3 pictures, template 103" in text
    QTest.mouseClick(single.list.viewport(), Qt.MouseButton.LeftButton, pos=single.list.card_rect(0).center())
    chosen = [int(found.pictures(int(side[0]))[0]) for side in (found.first, found.second)]
    assert desk.workspace.selection.pair == tuple(int(faces.ids[row]) for row in chosen)
    assert len(desk.workspace.selection.ids) == 30, "all pictures of the listed templates"
    old = desk.workspace.evaluation
    menu = single.controls.pooling
    assert [menu[name].isChecked() for name in ("detector_score", "keep_norm", "flip", "missing", "lowest")] == [
        *(True, True, True, True, False)
    ]
    menu["keep_norm"].trigger()
    settle(desk)
    assert desk.workspace.plan.keep_norm is False and desk.workspace.evaluation is not old
    menu["lowest"].trigger()
    assert desk.workspace.plan.empty_templates == "lowest"
    menu["missing"].trigger()
    menu["keep_norm"].trigger()
    assert desk.workspace.evaluation is old


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


# -- commands


def test_files_out_of_the_window(
    window: MainWindow, faces: FaceSet, settle: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert window.actions_by_id["evaluate.run"].shortcuts()[0].toString() == "Ctrl+R"
    assert "gallery" in window.actions_by_id["evaluate.run"].toolTip()
    put(window.desk, faces, vectors(faces, "old", seed=3), vectors(faces, "new"), operating=Operating(0.2))
    assert window.actions_by_id["evaluate.export"].toolTip() == "Nothing is drawn yet. Run Evaluate first (Ctrl+R)."
    window.act("evaluate.run")
    assert window.stage.word == "evaluation"
    settle(window)
    for action, name in (
        ("evaluate.export", "t.json"), ("evaluate.export", "t.csv"), ("evaluate.export", "t.tex"),
        ("evaluate.policy", "policy.json"),
    ):  # fmt: skip
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, name=name: (str(tmp_path / name), ""))
        window.act(action)
        settle(window)
        assert (tmp_path / name).stat().st_size > 100, [job.error for job in window.jobs.jobs]
    policy = json.loads((tmp_path / "policy.json").read_text())
    assert "0.2" in json.dumps(policy)
    window.act("evaluate.latex")
    assert "tabular" in QGuiApplication.clipboard().text()
    assert not window.notices.cards


def test_one_figure(both: EvaluationPanel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(both.work, "export_figures", lambda *given, **how: drawn.append((*given, how)))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "roc"), "SVG (*.svg)"))
    both.verification.drawn.emit("roc")
    assert drawn == [(tmp_path / "roc.svg", {"which": ("roc",), "side": "b"})]
    monkeypatch.undo()
    requests: list[Request] = []
    submit = both.desk.jobs.submit
    monkeypatch.setattr(both.desk.jobs, "submit", lambda one, **how: (requests.append(one), submit(one, **how))[1])
    both.work.export_figures(*drawn[0][:1], **drawn[0][1])
    settle(both.desk)
    assert (tmp_path / "roc.svg").stat().st_size > 1000
    sent = requests[-1].args[0]
    assert sent.a.scores is sent.b.scores is None, "millions of scores are not sent to where curves are drawn"
    assert both.desk.workspace.evaluation.b.scores is not None
