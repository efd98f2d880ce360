"""One model, two models, published tests and templates on the evaluation page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from facelens.images.faceset import FaceSet
from facelens.images.protocol import Pairs, Protocol, Templates
from facelens.views.panels.evaluation import EvaluationPanel
from tests.gui.conftest import settle
from tests.gui.evaluation.stub import choose
from tests.gui.evaluation.truth import Truth, holds, listed, threshold


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
