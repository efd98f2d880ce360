"""Single-model variance in the window: chosen, measured, shown as columns, kept with the vectors and gone with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.features import stability
from facelens.views.main_window import MainWindow
from facelens.views.stability import WAYS, MeasureVariance
from tests.gui.test_models import answering, embedded, load, net, page

__all__ = ["embedded", "net"]


def chosen(window: MainWindow) -> MeasureVariance:
    window.act("model.variance")
    dialog = window.findChild(MeasureVariance)
    assert dialog is not None
    return dialog


def measured(window: MainWindow, settle: Callable, *kinds: str) -> None:
    dialog = chosen(window)
    for kind, box in dialog.boxes.items():
        box.setChecked(kind in kinds)
    dialog.measure.click()
    settle(window)


def columns(window: MainWindow) -> list[str]:
    faces = window.store.workspace.faces
    assert faces is not None
    return [name for name in faces.columns if " variance, " in name]


def test_the_dialog_offers_what_can_be_measured(embedded: MainWindow, settle: Callable, pump: Callable) -> None:
    assert tuple(WAYS) == stability.KINDS
    dialog = chosen(embedded)
    assert [box.isEnabled() for box in dialog.boxes.values()] == [True] * 3 and dialog.boxes["flip"].isChecked()
    dialog.boxes["flip"].setChecked(False)
    assert not dialog.measure.isEnabled() and dialog.measure.toolTip() == "Choose a way first."
    dialog.reject()
    pump()
    [found] = embedded.store.workspace.models
    embedded.store.update(models=(replace(found, kind="onnx"),))
    dialog = chosen(embedded)
    assert not dialog.boxes["dropout"].isEnabled() and dialog.boxes["crop"].isEnabled()
    dialog.reject()


def test_variances_become_columns(embedded: MainWindow, settle: Callable, pump: Callable) -> None:
    measured(embedded, settle, "flip", "dropout")
    assert columns(embedded) == ["flip variance, net", "dropout variance, net"]
    faces = embedded.store.workspace.faces
    assert faces is not None
    values = faces.columns["flip variance, net"]
    assert (values > 0).all()  # type: ignore[operator]
    assert "not that of an ensemble" in embedded.statusBar().currentMessage()
    assert "12 faces embedded." in page(embedded).notes.text(), "what the embedding said still holds"
    assert len(embedded.store.workspace.features["net"]) == 12
    dialog = chosen(embedded)
    assert [box.isEnabled() for box in dialog.boxes.values()] == [False, True, False]
    dialog.reject()
    pump()

    root = faces.root
    embedded.opening.close()
    embedded.opening.open(root)
    settle(embedded)
    faces = embedded.store.workspace.faces
    assert faces is not None and columns(embedded) == ["flip variance, net", "dropout variance, net"]
    np.testing.assert_array_equal(faces.columns["flip variance, net"], values)


def test_variances_are_renamed_and_deleted_with_the_model_s_vectors(
    embedded: MainWindow, settle: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(embedded, settle, "flip")
    arrangement = embedded.store.workspace.arrangement
    embedded.store.update(arrangement=replace(arrangement, sort="flip variance, net"))
    form = page(embedded).form
    form.name.setText("old net")
    form.name.textEdited.emit("old net")
    form.save.click()
    settle(embedded)
    assert columns(embedded) == ["flip variance, old net"]
    assert embedded.store.workspace.arrangement.sort == "", "what it was sorted by has another name"
    embedded.store.update(arrangement=replace(arrangement, sort="flip variance, old net", filter="`norm, old net` > 0"))
    answering(monkeypatch, "Delete")
    folder = embedded.store.workspace.stored["old net"].folder
    embedded.act("vectors.delete")
    settle(embedded)
    assert columns(embedded) == [] and not folder.exists()
    assert embedded.store.workspace.arrangement == arrangement and len(embedded.store.workspace.shown) == 12


def test_a_model_without_vectors_can_be_measured_and_cancelled(
    browsing: MainWindow, net: Callable, settle: Callable, until: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(browsing, net(), settle)
    real = stability.measure

    def held(faces, encoder, store, kind, *, tick, **other):
        def wait(done: int, total: int, note: str = "") -> None:
            tick(done, total, note)
            while done >= 4:  # until somebody cancels
                tick(done, total, note)

        return real(faces, encoder, store, kind, batch=4, tick=wait, **other)

    monkeypatch.setattr(stability, "measure", held)
    browsing.modelling.measure("net", "flip")
    until(lambda: any(job.done >= 4 for job in browsing.jobs.running), "four faces")
    browsing.act("jobs.cancel")
    settle(browsing)
    faces = browsing.store.workspace.faces
    assert faces is not None
    known = np.isfinite(faces.columns["flip variance, net"])
    assert 4 <= known.sum() < 12 and "net" not in browsing.store.workspace.features
    monkeypatch.setattr(stability, "measure", real)
    measured(browsing, settle, "flip")
    assert np.isfinite(browsing.store.workspace.faces.columns["flip variance, net"]).all()
    assert "were there already" in browsing.statusBar().currentMessage()


def test_a_network_that_cannot_drop_anything_says_so(
    browsing: MainWindow, net: Callable, settle: Callable, tmp_path: Path
) -> None:
    load(browsing, net("plain", kind="cnn4"), settle)
    measured(browsing, settle, "dropout")
    [card] = browsing.notices.cards
    assert "without a linear layer" in card.accessibleName() and columns(browsing) == []
