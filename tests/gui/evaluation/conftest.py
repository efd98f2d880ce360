"""One evaluated page for all tests of this folder, because making it takes as long as ten of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Labels
from facelens.images.protocol import Protocol
from facelens.session.questions import EVALUATE
from facelens.session.selection import Selection
from facelens.session.settings import Settings
from facelens.session.store import Store
from facelens.session.workspace import Workspace
from facelens.views import theme
from facelens.views.bridge import Bridge
from facelens.views.panel import Desk
from facelens.views.panels.evaluation import EvaluationPanel
from facelens.views.thumbnails import Thumbnails
from tests.gui.conftest import Calls, NearbyQueue, pump, settle
from tests.gui.evaluation.stub import gallery, put, vectors

_ANSWERS: dict[tuple[object, ...], Any] = {}


@pytest.fixture(autouse=True)
def answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same question is worked out once for all tests of this folder."""
    from facelens.analyses import evaluation

    real = evaluation.evaluate_both

    def evaluate(faces: FaceSet, protocol: Protocol | None, plan: Any, *, tick: Any, **given: Any) -> Any:
        models = tuple(one.provenance.fingerprint if isinstance(one, FeatureSet) else None for one in given.values())
        key = (faces.digest, protocol.name if protocol else "", plan, models, given["excluded"].tobytes())
        if key not in _ANSWERS:
            _ANSWERS[key] = real(faces, protocol, plan, tick=tick, **given)
        return _ANSWERS[key]

    monkeypatch.setattr(evaluation, "evaluate_both", evaluate)


@pytest.fixture(scope="package")
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


@pytest.fixture(scope="package")
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
    table.desk.jobs.cancel_slot(EVALUATE)
    settle(table.desk)
    table.page.hide()  # it lives on, and would lie over the windows of other tests


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
