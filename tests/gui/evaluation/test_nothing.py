"""No number without support: every part of the evaluation page says why there is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from facelens.images.faceset import FaceSet
from facelens.session.workspace import Operating
from facelens.views.panels.evaluation import EvaluationPanel
from tests.gui.conftest import Calls, settle
from tests.gui.evaluation.stub import features, gallery, put
from tests.gui.test_access import nameless


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


def test_an_operating_point_without_support_has_a_line_but_no_number(both: EvaluationPanel) -> None:
    roc = both.verification.roc
    assert [point.key for point in roc._points] == ["A", "B"]
    both.desk.store.update(operating=Operating(1e-5))
    assert roc.decision == pytest.approx(1e-5) and not roc._points


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
