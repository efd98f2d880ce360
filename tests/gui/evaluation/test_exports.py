"""Tables, policies and figures out of the evaluation page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from facelens.images.faceset import FaceSet
from facelens.session.jobs import Request
from facelens.session.workspace import Operating
from facelens.views.figures import Figures
from facelens.views.main_window import MainWindow
from facelens.views.panels.evaluation import EvaluationPanel
from tests.gui.conftest import settle
from tests.gui.evaluation.stub import put, vectors


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
    both.desk.draw = lambda *given: drawn.append(given)
    both.verification.drawn.emit("roc")
    assert drawn == [("evaluation", "roc")] and both.figure_view().side == "b"
    requests: list[Request] = []
    submit = both.desk.jobs.submit
    monkeypatch.setattr(both.desk.jobs, "submit", lambda one, **how: (requests.append(one), submit(one, **how))[1])
    Figures(both.desk, lambda word: both).draw("evaluation", tmp_path / "roc.svg", which=("roc",))
    settle(both.desk)
    assert (tmp_path / "roc.svg").stat().st_size > 1000
    [sent] = requests[-1].args[2]
    assert sent.a.scores is sent.b.scores is None, "millions of scores are not sent to where curves are drawn"
    assert both.desk.workspace.evaluation.b.scores is not None
