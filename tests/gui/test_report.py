"""The report out of the window: one job, a word on where it lies, nothing left of one that was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from facelens.session.jobs import State
from facelens.session.report import SECTIONS
from facelens.views import reporting
from facelens.views.main_window import MainWindow
from tests.gui.evaluation.stub import features
from tests.gui.upgraded import ASKED
from tests.session.reported import QUICK, tags_of


@pytest.fixture
def studied(browsing: Any) -> MainWindow:
    """Two models have vectors of the gallery."""
    window: MainWindow = browsing
    faces = window.store.workspace.faces
    assert faces is not None
    rng = np.random.default_rng(1)
    who = rng.normal(size=(len(faces.identity.names), 8))[faces.identity.codes]
    made = {name: features(faces, who + 0.8 * rng.normal(size=who.shape), name) for name in ("old", "new")}
    plans = {**QUICK, "upgrade_plan": ASKED}
    window.store.update(features=made, model_a="old", model_b="new", **plans)
    return window


def test_export_report(studied: MainWindow, settle: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    window = studied
    faces = window.store.workspace.faces
    assert faces is not None
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path))
    (tmp_path / f"{faces.name} report").mkdir()
    (tmp_path / f"{faces.name} report" / "mine.txt").write_text("stays")
    window.act("report.export")
    assert [job.request.slot for job in window.jobs.jobs].count(reporting.SLOT) == 1
    settle(window)
    out = tmp_path / f"{faces.name} report (2)"
    twin = json.loads((out / "report.json").read_text())
    assert list(twin["sections"]) == list(SECTIONS) and twin["sections"]["evaluation"]["reason"] is None
    assert "Needs the file of a model with a patch map" in twin["sections"]["match"]["reason"]
    assert tags_of((out / "report.html").read_text()).all("img")
    [card] = window.notices.cards
    card.acted.emit()
    assert QGuiApplication.clipboard().text() == str(out / "report.html")
    assert window.store.workspace.evaluation is None, "what is asked for by the report alone changes nothing here"
    assert (tmp_path / f"{faces.name} report" / "mine.txt").read_text() == "stays"


@pytest.mark.parametrize(("pseudonyms", "blur"), [(True, True), (True, False), (False, True)])
def test_in_the_disguise_of_the_switches(
    studied: MainWindow, settle: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pseudonyms: bool, blur: bool
) -> None:
    window = studied
    faces = window.store.workspace.faces
    assert faces is not None
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path / "out"))
    window.desk.settle(pseudonyms=pseudonyms, blur=blur)
    window.act("report.export")
    settle(window)
    [out] = (tmp_path / "out").iterdir()
    assert out.name == ("gallery report" if pseudonyms else f"{faces.name} report")
    twin = json.loads((out / "report.json").read_text())
    assert twin["disguise"] == {"pseudonyms": pseudonyms, "blur": blur}
    assert twin["sections"]["evaluation"]["reason"] is None and twin["sections"]["upgrade"]["reason"] is None
    told = "".join(path.read_text() for path in out.rglob("*") if path.is_file())
    assert any(name in told for name in faces.identity.names) is not pseudonyms
    assert bool(list(out.rglob("*.recipe.json"))) is not pseudonyms
    [card] = window.notices.cards
    said = card.accessibleName()
    assert ("with pseudonyms" in said, "blurred faces" in said) == (pseudonyms, blur)


def test_stopped_leaves_nothing(studied: MainWindow, settle: Callable, until: Callable, tmp_path: Path) -> None:
    window = studied
    reporting.write(window, tmp_path / "r")
    until(lambda: list(tmp_path.glob(".r.*/figures")), "it has begun")
    for job in window.jobs.jobs:
        window.jobs.cancel(job.number)
    settle(window)
    assert [job.state for job in window.jobs.jobs if job.request.slot == reporting.SLOT] == [State.CANCELLED]
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"] and not window.notices.cards


def test_a_place_that_is_taken_is_told(studied: MainWindow, settle: Callable, tmp_path: Path) -> None:
    window = studied
    (tmp_path / "r").write_text("a file")
    reporting.write(window, tmp_path / "r")
    settle(window)
    [card] = window.notices.cards
    assert "is no report of FaceLens" in card.accessibleName()
    assert (tmp_path / "r").read_text() == "a file"


def test_it_needs_a_gallery(window: MainWindow) -> None:
    action = window.actions_by_id["report.export"]
    assert not action.isEnabled() and action.toolTip() == "Needs a gallery. Open one first (Ctrl+O)."
