"""The models' page: opening by drop, card and keys, embedding with cancel and resume, vectors in and out, A and B."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QFileDialog, QMessageBox

from facelens.errors import InputError
from facelens.features import card as cards
from facelens.features import extract, whatif
from facelens.features.store import stores
from facelens.images import quarantine
from facelens.session import folders, tasks
from facelens.session.actions import BY_ID
from facelens.session.selection import Selection
from facelens.session.workspace import NORM
from facelens.views.docks import inspector
from facelens.views.exporting import VECTORS, Kind, export
from facelens.views.figure_sheet import FigureSheet
from facelens.views.main_window import MainWindow
from facelens.views.panels.models import ModelsPanel
from facelens.views.sheets import LocalData
from facelens.views.trials import FeedingTrial, ParityTrial
from tests.gui.test_access import nameless, tabbed
from tests.gui.test_drop import carried, drop, enter

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def net(tmp_path: Path) -> Callable[..., Path]:
    """Function: a small network with random weights as a safetensors file."""

    def make(name: str = "net", *, seed: int = 0, folder: str = "weights", kind: str = "small_plain") -> Path:
        import torch
        from safetensors.torch import save_file

        from facelens.features.models import MODELS

        torch.manual_seed(seed)
        path = tmp_path / folder / f"{name}.safetensors"
        path.parent.mkdir(exist_ok=True)
        save_file(MODELS[kind].build().state_dict(), path)
        return path

    return make


def page(window: MainWindow) -> ModelsPanel:
    found = window.stage.panels["models"]
    assert isinstance(found, ModelsPanel)
    return found


def load(window: MainWindow, path: Path, settle: Callable) -> ModelsPanel:
    window.open_model(path)
    settle(window)
    return page(window)


@pytest.fixture
def embedded(browsing: MainWindow, net: Callable, settle: Callable) -> MainWindow:
    """A window whose 12 faces are embedded with one model."""
    load(browsing, net(), settle).embed.click()
    settle(browsing)
    assert browsing.store.workspace.embedded("net") == (12, 12)
    return browsing


def answering(monkeypatch: pytest.MonkeyPatch, text: str) -> list[QMessageBox]:
    """Message boxes are answered with the button of that text; the list has what was asked and the default answers."""
    asked: list[str] = []

    def answer(box: QMessageBox) -> int:
        assert box.defaultButton() is not None
        asked.append(f"{box.text()} [{box.defaultButton().text()}]")
        chosen = next(button for button in box.buttons() if button.text() == text)
        monkeypatch.setattr(QMessageBox, "clickedButton", lambda _box: chosen)
        return 0

    monkeypatch.setattr(QMessageBox, "exec", answer)
    return asked  # type: ignore[return-value]


# -- opening


def test_without_a_model_the_page_says_what_to_do(panel: Callable, calls) -> None:
    shown = panel(ModelsPanel)
    assert shown.empty.isVisible() and shown.empty.accessibleName() == "No model yet"
    assert "Drop a checkpoint (.pth, .pt, .ckpt, .safetensors, .onnx) anywhere." in shown.empty.accessibleDescription()
    for button in shown.empty.findChildren(QAbstractButton):
        button.click()
    assert calls.named("act") == ["model.open", "vectors.import"]


def test_a_dropped_checkpoint_is_recognised_read_and_shown(
    window: MainWindow, net: Callable, settle: Callable, tmp_path: Path
) -> None:
    path = net("glint")
    assert enter(window, carried(path))
    assert window.veil.doing == "model" and "glint.safetensors" in window.veil.text and not window.veil.problem
    window.grab()
    drop(window, carried(path), QPoint(700, 400))
    assert window.stage.word == "models"
    settle(window)
    shown = page(window)
    assert shown.lead.text() == "Small, plain"
    assert shown.keys_line.text().startswith("Matched ") and " of " in shown.keys_line.text()
    assert shown.licence.text() == "licence: not stated" and shown.licence.isVisible()
    assert "glint.safetensors" in shown.about.text() and "SHA-256" in shown.about.text()
    assert [len(way.names) for way in shown.report.keys.ways] == [0, 0, 0, 0]
    assert not shown.embed.isEnabled() and shown.embed.toolTip().startswith("Needs a gallery")
    assert not shown.code.isVisible() and not shown.banner.isVisible()
    [line] = shown.list.lines
    assert line.spoken == "glint, Small, plain, 128-d, not embedded"
    assert window.store.workspace.models[0].path == path and not window.notices.cards


def test_several_models_at_once(window: MainWindow, net: Callable, settle: Callable, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    data = carried(net("one"), tmp_path / "notes.txt", net("two", seed=1))
    enter(window, data)
    assert "and 1 more" in window.veil.text
    drop(window, data, QPoint(700, 400))
    settle(window)
    assert sorted(window.store.workspace.model_names) == ["one", "two"]  # here jobs run side by side


def test_the_same_name_twice_and_the_same_file_twice(window: MainWindow, net: Callable, settle: Callable) -> None:
    first = net("net", folder="a")
    for path in (first, net("net", folder="b", seed=1), first):
        load(window, path, settle)
    assert window.store.workspace.model_names == ("net", "net (2)")
    assert window.store.workspace.model == "net"


def test_a_wrong_file_says_why(window: MainWindow, settle: Callable, tmp_path: Path) -> None:
    wrong = tmp_path / "model.pth"
    wrong.write_bytes(b"<!doctype html><html>404</html>" * 50)
    shown = load(window, wrong, settle)
    [card] = window.notices.cards
    assert "web page" in card.accessibleName() and card.accessibleDescription()
    assert shown.empty.isVisible() and not window.store.workspace.models and not shown.reading.isVisible()


def test_code_in_the_file_is_named(window: MainWindow, net: Callable, settle: Callable) -> None:
    shown = load(window, net(), settle)
    [found] = window.store.workspace.models
    window.store.update(models=(replace(found, code=("posix.system",)),))
    assert shown.code.text() == "The file contains program code (posix.system). Nothing was run."
    assert shown.code.isVisible()


def test_an_architecture_can_be_chosen_and_taken_back(browsing: MainWindow, net: Callable, settle: Callable) -> None:
    shown = load(browsing, net(), settle)
    place = shown.form.architecture.findData("small_residual")
    shown.form.architecture.setCurrentIndex(place)
    shown.form.architecture.activated.emit(place)
    settle(browsing)
    assert shown.lead.text() == "Small, residual" and shown.banner.isVisible()
    assert sum(len(way.names) for way in shown.report.keys.ways[:3]) > 0
    assert not shown.embed.isEnabled() and "do not fit" in shown.embed.toolTip()
    rivals = [b for b in shown.rivals.findChildren(QAbstractButton) if b.isVisible()]
    assert rivals and "Small, plain" in rivals[0].text()
    rivals[0].click()
    settle(browsing)
    assert shown.lead.text() == "Small, plain" and not shown.banner.isVisible() and not shown.rivals.isVisible()
    assert shown.embed.isEnabled()


def test_an_uncertain_guess_is_a_question(window: MainWindow, net: Callable, settle: Callable) -> None:
    shown = load(window, net(), settle)
    [found] = window.store.workspace.models
    window.store.update(models=(replace(found, score=0.62, rivals=(("cnn4", "Four-layer CNN", 0.4),)),))
    assert shown.banner.isVisible() and "62 %" in shown.banner.text()
    assert [b.text() for b in shown.rivals.findChildren(QAbstractButton) if b.isVisible()] == [
        "Use Four-layer CNN, 40 %"
    ]


# -- programs


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A TorchScript file."""
    import torch

    class Flat(torch.nn.Module):
        def forward(self, x):
            return x.mean(dim=(2, 3))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(Flat(), torch.zeros(1, 3, 112, 112)).save(str(tmp_path / "program.pt"))
    return tmp_path / "program.pt"


def test_a_program_is_not_run_unless_allowed(
    window: MainWindow, program: Path, settle: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answering(monkeypatch, "Do not run it")
    load(window, program, settle)
    assert len(asked) == 1 and asked[0].endswith("[Do not run it]"), "the default is no"
    assert not window.store.workspace.models and not (folders.state() / "consents.json").exists()


@pytest.mark.filterwarnings("ignore")
def test_a_program_that_was_allowed_is_not_asked_about_again(
    window: MainWindow, program: Path, settle: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answering(monkeypatch, "Allow this program")
    shown = load(window, program, settle)
    assert len(asked) == 1 and shown.lead.text() == "TorchScript program"
    assert (folders.state() / "consents.json").is_file()
    load(window, program, settle)
    assert len(asked) == 1
    program.write_bytes(program.read_bytes() + b"\0")  # another file now
    load(window, program, settle)
    assert len(asked) == 2


# -- card


def test_the_card_is_edited_saved_and_used(browsing: MainWindow, net: Callable, settle: Callable) -> None:
    path = net()
    shown = load(browsing, path, settle)
    form = shown.form
    assert not form.revert.isEnabled() and form.save.isEnabled(), "there is no card beside the file yet"
    form.mean.clear()
    QTest.keyClicks(form.mean, "100, 110, 120")
    form.order.setCurrentIndex(form.order.findData("BGR"))
    form.order.activated.emit(0)
    assert form.dirty and form.revert.isEnabled()
    assert not shown.embed.isEnabled() and "card was changed" in shown.embed.toolTip()
    form.revert.click()
    assert form.mean.text() == "127.5" and not form.dirty and shown.embed.isEnabled()
    form.mean.clear()
    QTest.keyClicks(form.mean, "100, 110, 120")
    form.licence.clear()
    QTest.keyClicks(form.licence, "MIT")
    form.save.click()
    settle(browsing)
    written = cards.load(cards.beside(path))
    assert written.mean == (100, 110, 120) and written.licence == "MIT"
    assert browsing.store.workspace.models[0].card == written
    assert str(cards.beside(path)) in browsing.statusBar().currentMessage()
    assert shown.licence.text() == "licence: MIT" and shown.embed.isEnabled() and not form.save.isEnabled()


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("mean", "dark", "Mean is a number"),
        ("std", "0", "std must be positive"),
        ("std", "1, 2", "Std needs one number, or 3"),
        ("crop", "1, 2", "Crop is four whole numbers"),
        ("crop", "9, 9, 3, 3", "Crop is empty"),
        ("name", "", "needs a name"),
    ],
)
def test_what_is_no_card_is_not_saved(
    field: str, text: str, said: str, window: MainWindow, net: Callable, settle: Callable
) -> None:
    form = load(window, net(), settle).form
    line = getattr(form, field)
    line.setText(text)
    line.textEdited.emit(text)
    assert said in form.problem.text() and form.problem.isVisible() and not form.save.isEnabled()


def test_a_card_that_cannot_be_written_is_used_all_the_same(
    window: MainWindow, net: Callable, settle: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = load(window, net(), settle)

    def refuse(*_: object) -> None:
        raise InputError("net.safetensors.card.json could not be written: Read-only file system.")

    monkeypatch.setattr(cards, "save", refuse)
    shown.form.flip.click()
    shown.form.save.click()
    settle(window)
    [card] = window.notices.cards
    assert "Read-only" in card.accessibleName() and "until FaceLens is closed" in card.accessibleDescription()
    assert window.store.workspace.models[0].card.flip


def test_renaming_keeps_the_vectors(embedded: MainWindow, settle: Callable) -> None:
    form = page(embedded).form
    form.name.setText("old net")
    form.name.textEdited.emit("old net")
    form.save.click()
    settle(embedded)
    workspace = embedded.store.workspace
    assert workspace.model_names == ("old net",) == tuple(workspace.features)
    assert workspace.embedded("old net") == (12, 12) and workspace.model_b == "old net"
    assert NORM.format(name="old net") in workspace.faces.columns
    assert NORM.format(name="net") not in workspace.faces.columns


# -- embedding


def test_embedding_a_gallery(browsing: MainWindow, net: Callable, settle: Callable) -> None:
    shown = load(browsing, net(), settle)
    assert shown.embed.text() == "Embed 12 faces" and shown.embed.isEnabled()
    shown.embed.click()
    settle(browsing)
    workspace = browsing.store.workspace
    features = workspace.features["net"]
    assert features.vectors.shape == (12, 128) and np.isfinite(features.vectors).all()
    assert set(features.ids.tolist()) == set(workspace.faces.ids.tolist())
    assert shown.embed.text() == "All 12 faces are embedded" and not shown.embed.isEnabled()
    assert "12 faces embedded." in shown.notes.text() and "on this disk" in shown.there.text()
    assert not shown.working.isVisible() and shown.form.isEnabled()
    assert np.allclose(workspace.faces.columns[NORM.format(name="net")], features.norms)
    browsing.stage.show_page("gallery")
    assert "norm, net" in [
        browsing.panel("gallery").sort.itemText(i) for i in range(browsing.panel("gallery").sort.count())
    ]


def test_cancel_keeps_finished_faces_and_embedding_goes_on_from_there(
    browsing: MainWindow, net: Callable, settle: Callable, until: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = extract.embed

    def held(faces, encoder, store, *, batch, tick, **other):
        def wait(done: int, total: int, note: str = "") -> None:
            tick(done, total, note)
            while done >= 4:
                tick(done, total, note)  # raises when the job is cancelled
                time.sleep(0.002)

        return real(faces, encoder, store, batch=4, tick=wait, **other)

    monkeypatch.setattr(extract, "embed", held)
    shown = load(browsing, net(), settle)
    shown.embed.click()
    until(lambda: shown.working.isVisible() and "4 of 12" in shown.working.line.text())
    assert not shown.embed.isEnabled() and not shown.form.isEnabled()
    shown.grab()
    shown.working.cancel.click()
    settle(browsing)
    assert browsing.store.workspace.embedded("net") == (4, 12)
    assert shown.embed.text() == "Embed 8 faces" and "4 of 12 are there already" in shown.there.text()
    assert shown.list.lines[0].spoken.endswith("4 of 12 embedded")
    monkeypatch.setattr(extract, "embed", real)
    before = browsing.store.workspace.features["net"].vectors[:4].copy()
    shown.embed.click()
    settle(browsing)
    assert browsing.store.workspace.embedded("net") == (12, 12)
    assert "8 faces embedded, 4 were there already." in shown.notes.text()
    assert np.array_equal(browsing.store.workspace.features["net"].vectors[:4], before)


def test_pictures_left_out_are_listed_and_written(
    browsing: MainWindow, net: Callable, settle: Callable, tiny_faces: Path, tmp_path: Path
) -> None:
    shown = load(browsing, net(), settle)
    (tiny_faces / "Bo_Chen" / "01.png").write_bytes(b"")
    shown.embed.click()
    settle(browsing)
    assert "1 picture left out" in shown.there.text() and shown.embed.text() == "Embed 1 face"
    assert shown.switch.button("skipped").isEnabled()
    shown.switch.button("skipped").click()
    [line] = shown.left_out.list.lines
    assert line.text.startswith("01.png")
    shown.left_out.list.opened.emit(0)
    assert (
        browsing.store.workspace.faces.file_name(
            browsing.store.workspace.faces.row_of(browsing.store.workspace.selection.current)
        )
        == "01.png"
    )
    shown.left_out.write(tmp_path / "out.csv")
    with open(tmp_path / "out.csv", newline="") as file:
        [line] = csv.DictReader(file)
    assert line["path"] == "Bo_Chen/01.png" and line["reason"]
    shown.grab()


def test_excluded_faces_are_not_embedded(browsing: MainWindow, net: Callable, settle: Callable) -> None:
    shown = load(browsing, net(), settle)
    browsing.store.update(excluded=browsing.store.workspace.faces.ids[:2])
    assert shown.embed.text() == "Embed 10 faces"
    shown.embed.click()
    settle(browsing)
    assert len(browsing.store.workspace.features["net"]) == 10
    browsing.act("faces.include_all")
    assert shown.embed.text() == "Embed 2 faces" and "10 of 12 are there already" in shown.there.text()


def test_vectors_that_are_no_use_are_told(browsing: MainWindow, settle: Callable, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    from facelens.features.models import MODELS

    state = MODELS["small_plain"].build().state_dict()
    for name in ("features.weight", "features.bias"):
        state[name] = torch.zeros_like(state[name])
    save_file(state, tmp_path / "dead.safetensors")
    shown = load(browsing, tmp_path / "dead.safetensors", settle)
    shown.embed.click()
    settle(browsing)
    assert "12 vectors are no use" in shown.notes.text()
    browsing.act("select.next")
    assert not browsing.panel("inspector").near.isVisible()


def test_vectors_come_back_with_their_gallery(
    embedded: MainWindow, tiny_faces: Path, make_gallery: Callable, tmp_path: Path, settle: Callable
) -> None:
    embedded.opening.open(make_gallery(tmp_path / "other", pictures=2, seed=7))
    settle(embedded)
    workspace = embedded.store.workspace
    assert not workspace.features and workspace.embedded("net") == (0, 8) and workspace.model_b == "net"
    embedded.opening.open(tiny_faces)
    settle(embedded)
    assert embedded.store.workspace.embedded("net") == (12, 12)
    embedded.act("gallery.close")
    assert not embedded.store.workspace.features


def test_another_card_has_other_vectors(embedded: MainWindow, settle: Callable) -> None:
    form = page(embedded).form
    form.flip.click()
    form.save.click()
    settle(embedded)
    assert embedded.store.workspace.embedded("net") == (0, 12)
    form.flip.click()
    form.save.click()
    settle(embedded)
    assert embedded.store.workspace.embedded("net") == (12, 12)


def test_taking_a_model_off_the_list(embedded: MainWindow, net: Callable, settle: Callable) -> None:
    load(embedded, net("other", seed=3), settle)
    embedded.act("model.remove")
    assert embedded.store.workspace.model_names == ("net",) and embedded.store.workspace.model == "net"
    embedded.act("model.remove")
    workspace = embedded.store.workspace
    assert (
        not workspace.models and not workspace.features and not workspace.model_b and page(embedded).empty.isVisible()
    )
    assert not embedded.chips["model_a"].isVisible()


# -- what is on disk


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("answer", ["Delete", "Keep"])
def test_deleting_vectors(answer: str, embedded: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch, answer)
    shown = page(embedded)
    assert files(folders.cache() / "features") and "kB" in shown.delete.text()
    shown.delete.click()
    assert asked[0].endswith("[Keep]")
    gone = answer == "Delete"
    assert bool(files(folders.cache() / "features")) is not gone
    assert embedded.store.workspace.embedded("net") == ((0, 12) if gone else (12, 12))
    assert (NORM.format(name="net") in embedded.store.workspace.faces.columns) is not gone
    assert shown.embed.isEnabled() is gone


def test_local_data_counts_and_deletes_vectors(embedded: MainWindow) -> None:
    dialog = LocalData(embedded.desk, embedded)
    texts = [dialog.rows.itemAt(i).widget().text() for i in range(dialog.rows.count())]
    at = texts.index("Vectors")
    assert texts[at + 1] != "0.0 kB" and texts[at + 2] == str(folders.cache() / "features")
    dialog.purge.click()
    assert not files(folders.cache() / "features") and not embedded.store.workspace.features
    assert page(embedded).embed.text() == "Embed 12 faces"
    dialog.reject()


# -- vectors from and to elsewhere


def by_target(target: str) -> Kind:
    return next(one for one in VECTORS if one.target == target)


def test_vectors_go_out_and_come_in_again(embedded: MainWindow, settle: Callable, tmp_path: Path) -> None:
    out = tmp_path / "mine.npz"
    export(embedded, "net", out, by_target("npz"))
    settle(embedded)
    assert str(out) in embedded.statusBar().currentMessage()
    embedded.import_vectors(out)
    settle(embedded)
    workspace = embedded.store.workspace
    assert workspace.model_names == ("net", "mine") and workspace.model == "mine"
    assert np.array_equal(
        workspace.features["mine"].unit(workspace.faces.ids)[0], workspace.features["net"].unit(workspace.faces.ids)[0]
    )
    shown = page(embedded)
    assert "12 vectors of 128 dimensions, imported" in shown.keys_line.text() and not shown.embed.isVisible()
    assert shown.licence.text() == "licence: not stated"
    shown.grab()
    export(embedded, "mine", tmp_path / "projector", by_target("tensorboard"))
    settle(embedded)
    assert {path.name for path in (tmp_path / "projector").iterdir()} >= {"vectors.tsv", "metadata.tsv", "sprite.png"}
    export(embedded, "mine", tmp_path / "mine.parquet", by_target("parquet"))
    settle(embedded)
    assert (tmp_path / "mine.parquet").read_bytes()[:4] == b"PAR1"
    assert not [card for card in embedded.notices.cards if card.property("kind") == "bad"]


def test_dropped_vectors(browsing: MainWindow, settle: Callable, tmp_path: Path, window: MainWindow) -> None:
    faces = browsing.store.workspace.faces
    names = np.array([os.fsdecode(path) for path in faces.paths])
    np.savez(tmp_path / "v.npz", vectors=np.random.default_rng(0).normal(size=(12, 8)).astype(np.float32), names=names)
    data = carried(tmp_path / "v.npz")
    enter(browsing, data)
    assert browsing.veil.doing == "vectors" and not browsing.veil.problem
    browsing.grab()
    drop(browsing, data, QPoint(700, 400))
    settle(browsing)
    assert browsing.store.workspace.features["v"].dimensions == 8 and browsing.stage.word == "models"


def test_vectors_without_a_gallery(window: MainWindow, tmp_path: Path, settle: Callable) -> None:
    np.save(tmp_path / "v.npy", np.zeros((3, 4), np.float32))
    data = carried(tmp_path / "v.npy")
    enter(window, data)
    assert "open their gallery first" in window.veil.problem
    window.grab()
    drop(window, data, QPoint(700, 400))
    settle(window)
    [card] = window.notices.cards
    assert "need a gallery" in card.accessibleName()


@pytest.mark.parametrize("answer", ["Same order as the gallery", "Choose a list of names…", "Do not import"])
def test_vectors_without_names_ask(
    answer: str, browsing: MainWindow, settle: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faces = browsing.store.workspace.faces
    np.save(tmp_path / "v.npy", np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32))
    (tmp_path / "list of names.txt").write_text("\n".join(os.fsdecode(path) for path in reversed(list(faces.paths))))
    asked = answering(monkeypatch, answer)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(tmp_path / "list of names.txt"), ""))
    browsing.import_vectors(tmp_path / "v.npy")
    settle(browsing)
    assert len(asked) == 1 and asked[0].endswith("[Do not import]")
    found = browsing.store.workspace.features.get("v")
    if answer == "Do not import":
        assert found is None
    else:
        first = int(found.ids[np.flatnonzero((found.vectors == np.load(tmp_path / "v.npy")[0]).all(1))[0]])
        assert faces.row_of(first) == (0 if answer.startswith("Same") else 11)


def test_what_does_not_fit_is_told(browsing: MainWindow, settle: Callable, tmp_path: Path) -> None:
    np.savez(
        tmp_path / "v.npz", vectors=np.ones((2, 4), np.float32), names=np.array(["Ada_Byron/00.png", "nobody.png"])
    )
    browsing.import_vectors(tmp_path / "v.npz")
    settle(browsing)
    [card] = browsing.notices.cards
    assert "1 vector belongs to no face" in card.accessibleDescription()
    assert browsing.store.workspace.embedded("v") == (1, 12)


def test_a_table_can_be_a_gallery_or_vectors(browsing: MainWindow, tiny_faces: Path, tmp_path: Path) -> None:
    path = tiny_faces / "again.tsv"
    path.write_text((tiny_faces / "manifest.csv").read_text().replace(",", "\t"))
    enter(browsing, carried(path))
    assert browsing.veil.targets == ("open", "add", "vectors", "scores")
    browsing.grab()
    from tests.gui.test_drop import move

    move(
        browsing,
        carried(path),
        browsing.veil.mapTo(browsing, QPoint(browsing.veil.width() // 2, browsing.veil.height() - 60)),
    )
    assert browsing.veil.doing == "vectors"
    browsing.veil.hide()


# -- A and B


def test_the_first_is_b_then_the_first_two_are_a_and_b(embedded: MainWindow, net: Callable, settle: Callable) -> None:
    assert (embedded.store.workspace.model_a, embedded.store.workspace.model_b) == ("", "net")
    for name in ("second", "third"):
        load(embedded, net(name, seed=len(name)), settle).embed.click()
        settle(embedded)
        assert (embedded.store.workspace.model_a, embedded.store.workspace.model_b) == ("net", "second")
    QTest.keyClick(embedded, Qt.Key.Key_Backslash)
    assert (embedded.store.workspace.model_a, embedded.store.workspace.model_b) == ("second", "net")
    a, b = embedded.chips["model_a"], embedded.chips["model_b"]
    assert a.isVisible() and a.accessibleName() == "Model A: second" and "dashed" in a.toolTip()
    b._fill()
    assert [action.text() for action in b.menu().actions() if action.text()] == ["net", "second", "third", "None"]
    b.menu().triggered.emit(b.menu().actions()[2])
    assert embedded.store.workspace.model_b == "third"
    embedded.modelling.choose("model_b", "second")
    assert (embedded.store.workspace.model_a, embedded.store.workspace.model_b) == ("third", "second"), "never both"
    embedded.grab()


def test_what_is_not_embedded_cannot_be_chosen(embedded: MainWindow, net: Callable, settle: Callable) -> None:
    load(embedded, net("bare", seed=5), settle)
    chip = embedded.chips["model_a"]
    chip._fill()
    states = {action.text(): action.isEnabled() for action in chip.menu().actions() if action.text()}
    assert states == {"net": True, "bare": False, "None": True}


# -- around the page


def test_sources_and_inspector(embedded: MainWindow, settle: Callable) -> None:
    rows = embedded.panel("sources").list
    assert [line.text for line in rows.lines][:2] == ["tiny", "net"]
    embedded.stage.show_page("gallery")
    ids = embedded.store.workspace.shown_ids
    embedded.store.update(selection=Selection(ids=ids[:1], current=int(ids[0])))
    settle(embedded)
    shown = embedded.panel("inspector")
    assert "norm, net" in [rail.accessibleName() for rail in shown._rails if rail.isVisible()]
    assert shown.near.isVisible() and "cosine, model B" in shown.near_note.text()
    unit, _ = embedded.store.workspace.features["net"].unit(ids)
    order = np.argsort(-(unit @ unit[0]), kind="stable")[1:6]
    faces = embedded.store.workspace.faces
    assert faces.ids[shown.near.rows].tolist() == ids[order].tolist()
    assert np.allclose(shown.near.scores, (unit @ unit[0])[order], atol=1e-5)
    assert shown.near.right == [
        bool(faces.identity.codes[r] == faces.identity.codes[faces.row_of(int(ids[0]))]) for r in shown.near.rows
    ]
    assert "right" in shown.near.accessibleDescription() or "wrong" in shown.near.accessibleDescription()
    embedded.grab()
    rows.opened.emit(1)
    assert embedded.stage.word == "models"


def test_nearest_faces_of_a_large_gallery_are_a_job(
    embedded: MainWindow, settle: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspector, "AT_ONCE", 0)
    ids = embedded.store.workspace.shown_ids
    for face in ids[:3]:
        embedded.store.update(selection=Selection(ids=ids[:1], current=int(face)))
    assert any(job.request.slot == "nearest" for job in embedded.jobs.jobs)
    settle(embedded)
    shown = embedded.panel("inspector")
    assert len(shown.near.rows) == 5 and int(ids[2]) not in embedded.store.workspace.faces.ids[shown.near.rows]


def test_every_control_has_a_name_and_says_what_it_does(embedded: MainWindow, net: Callable, settle: Callable) -> None:
    shown = load(embedded, net("<b>a & b", seed=1), settle)
    assert not nameless(embedded)
    shown.switch.button("keys").click()
    assert not nameless(embedded)
    embedded.open_beside("models")
    settle(embedded)
    assert not nameless(embedded)
    tips = [shown.list.model().index(i, 0).data(Qt.ItemDataRole.ToolTipRole) for i in range(len(shown.list.lines))]
    assert tips and not [tip for tip in tips if "<b>" in tip]


def test_the_keyboard_reaches_everything(browsing: MainWindow, net: Callable, settle: Callable) -> None:
    shown = load(browsing, net(), settle)
    assert shown.home() is shown.list
    reached = tabbed(browsing, shown.list)
    form = shown.form
    for control in (
        shown.embed,
        shown.remove,
        form.name,
        form.architecture,
        form.order,
        form.mean,
        form.crop,
        form.save,
    ):
        assert control in reached, control.accessibleName()
    shown.list.setFocus()
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Down)


def test_choosing_a_model_in_the_list(embedded: MainWindow, net: Callable, settle: Callable) -> None:
    shown = load(embedded, net("second", seed=2, kind="small_residual"), settle)
    assert shown.lead.text() == "Small, residual"
    shown.list.go(0)
    assert embedded.store.workspace.model == "net" and shown.lead.text() == "Small, plain"
    assert shown.embed.text() == "All 12 faces are embedded"


NO_TORCH = """
import json, os, sys, time
from pathlib import Path
from PySide6.QtCore import QCoreApplication, QEventLoop
from facelens.views.app import make_application
from facelens.views import theme
from facelens.views.main_window import MainWindow
from facelens.session.settings import Settings
from facelens.session.selection import Selection

def main():
    app = make_application()
    theme.apply(app, "dark")
    window = MainWindow(Settings(theme="dark"), remember=False)
    window.show()

    def settle():
        end, quiet = time.monotonic() + 90, 0
        while quiet < 3 and time.monotonic() < end:
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
            quiet = 0 if window.jobs.busy or not window.thumbnails.idle else quiet + 1

    window.opening.open(Path(sys.argv[1]))
    settle()
    window.open_model(Path(sys.argv[2]))
    settle()
    window.act("model.embed")
    settle()
    window.act("select.next")
    settle()
    done = window.store.workspace.embedded("net")
    near = len(window.panel("inspector").near.rows)
    errors = [str(job.error) for job in window.jobs.jobs if job.error]
    print(json.dumps([done, near, errors, sorted({name.split(".")[0] for name in sys.modules})]))
    window.jobs.shutdown()
    window.close()

if __name__ == "__main__":
    main()
"""


def test_the_process_of_the_window_never_loads_torch(tiny_faces: Path, net: Callable, tmp_path: Path) -> None:
    import json

    script = tmp_path / "drive.py"
    script.write_text(NO_TORCH)
    done = subprocess.run(
        [sys.executable, str(script), str(tiny_faces), str(net())],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    embedded, near, errors, loaded = json.loads(done.stdout.splitlines()[-1])
    assert embedded == [12, 12] and near == 5 and not errors
    assert not set(loaded) & {"torch", "onnxruntime", "umap", "sklearn", "numba", "matplotlib"}


# -- trials


def dialog(kind: type) -> Any:
    return next(w for w in QApplication.topLevelWidgets() if isinstance(w, kind) and w.isVisible())


def test_two_forms_of_a_model_are_compared(
    embedded: MainWindow, net: Callable, settle: Callable, pump: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin, other = net("twin"), net("other", seed=9)
    for second, passes in ((twin, True), (other, False)):
        monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, second=second: (str(second), ""))
        page(embedded).compare.click()
        shown = dialog(ParityTrial)
        settle(embedded)
        assert shown.lead.text().startswith("Both forms agree" if passes else "The forms differ")
        assert "0.999" in shown.note.text() and shown.chart is not None and shown.chart.isVisible()
        assert len(shown.strip.rows) == 5 and shown.strip.isVisible()
        shown.grab()
        assert page(embedded).figure_view().forms == ("net", str(second)) and shown.export.isEnabled()
        row = int(shown.strip.rows[0])
        shown.strip.clicked.emit(row)
        assert embedded.store.workspace.selection.current == embedded.store.workspace.faces.ids[row]
        shown.accept()
        pump()


def test_forms_that_cannot_be_compared(
    embedded: MainWindow, net: Callable, settle: Callable, pump: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = net("small", kind="small_residual")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(second), ""))
    embedded.act("model.compare")
    settle(embedded)
    pump()
    [card] = embedded.notices.cards
    assert "128 dims" in card.accessibleName() and "96" in card.accessibleName()


def test_ways_of_feeding_are_tried_and_the_better_one_goes_into_the_card(
    embedded: MainWindow, settle: Callable, pump: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = embedded.store.workspace.faces.ids
    embedded.store.update(selection=Selection(ids=ids[:2], current=int(ids[0])))
    page(embedded).feed.click()
    shown = dialog(FeedingTrial)
    settle(embedded)
    names = [row[0].text for row in shown.table.model_.rows]
    assert names[0] == "as the card says" and "channels as BGR" in names
    assert len(shown.table.model_.columns) == 7, "with the score of the two selected faces"
    assert not shown.banner.isVisible(), "four people are too few to advise anything"
    assert not nameless(shown)
    shown.grab()
    made = page(embedded).figure_view()
    assert made.fed == "net" and len(made.pair) == 2 and page(embedded).figure_held().keys() == {"feeding"}
    embedded.store.update(selection=Selection())
    assert page(embedded).figure_view() == made, "the pair is that of the trial"
    shown.export.click()
    [sheet] = embedded.findChildren(FigureSheet)
    sheet._later.stop()
    sheet._preview()
    settle(embedded)
    assert (sheet.word, sheet.name, sheet.chosen) == ("models", "feeding", ("feeding",)) and sheet.size_mm is not None
    sheet.reject()
    result = whatif.WhatIf(
        tuple(
            whatif.Outcome(variant, 0.5, 0.1, 1.0 if not i else 2.0, 0.9, 10.0, (0.5, 1.5) if i == 1 else (-1.0, 1.0))
            for i, variant in enumerate(whatif.variants(embedded.store.workspace.models[0].card))
        ),
        100,
        20,
    )
    shown.show_result(result)
    assert shown.banner.text().startswith("This looks BGR-swapped")
    shown.banner.acted.emit()
    pump()
    form = page(embedded).form
    assert form.order.currentData() == "BGR" and form.dirty and not cards.beside(form.found.path).exists()
    assert page(embedded).has_figures()
    embedded.store.update(excluded=ids[-1:])
    assert not page(embedded).has_figures() and page(embedded).figure_held() == {}, "that was of other faces"


def test_closing_a_trial_cancels_it(
    embedded: MainWindow, settle: Callable, pump: Callable, until: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: object, tick: Callable, **__: object) -> None:
        while True:
            tick(1, 2)
            time.sleep(0.002)

    monkeypatch.setattr(tasks, "try_feeding", endless)
    embedded.act("model.feed")
    shown = dialog(FeedingTrial)
    until(lambda: shown.working.isVisible() and "1 of 2" in shown.working.line.text())
    shown.reject()
    settle(embedded)
    pump()
    assert not embedded.notices.cards


def test_every_action_of_models(
    embedded: MainWindow, settle: Callable, pump: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, "Delete")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "out"), "npz (*.npz)"))
    for id in ("model.show", "model.swap", "vectors.export", "vectors.delete", "model.embed", "model.remove"):
        assert not BY_ID[id].needs(embedded.store.workspace), id
        embedded.act(id)
        settle(embedded)
    assert (tmp_path / "out.npz").is_file() and not embedded.store.workspace.models and not embedded.notices.cards
    assert BY_ID["model.embed"].needs(embedded.store.workspace) == "Needs a model. Open one first (Ctrl+M)."


def test_a_picture_that_crashes_the_decoder_is_left_out_until_the_user_asks_for_another_try(
    browsing: MainWindow, net: Callable, settle: Callable
) -> None:
    faces = browsing.store.workspace.faces
    assert faces is not None
    folders.quarantine().mkdir(parents=True, exist_ok=True)
    quarantine._note(folders.quarantine(), faces, {int(faces.ids[5]): "crashed"})
    shown = load(browsing, net(), settle)
    shown.embed.click()
    settle(browsing)
    assert browsing.store.workspace.embedded("net") == (11, 12)
    assert "1 picture crashes the decoder." in shown.notes.text()
    shown.switch.button("skipped").click()
    assert shown.left_out.list.lines[0].text == f"{faces.file_name(5)}   crashed the decoder twice and was skipped"
    assert shown.left_out.again.isVisible()
    shown.left_out.again.click()
    settle(browsing)
    assert browsing.store.workspace.embedded("net") == (12, 12)
    assert not shown.left_out.again.isVisible()


def test_the_patch_layer_is_chosen_in_the_card_and_vectors_stay(embedded: MainWindow, settle: Callable) -> None:
    shown = page(embedded)
    form = shown.form
    assert form.patch.isEnabled() and form.patch.currentText() == "stage3  112 × 8 × 8"
    form.patch.setCurrentIndex(form.patch.findText("stage1  48 × 16 × 16"))
    form.patch.activated.emit(form.patch.currentIndex())
    form.save.click()
    settle(embedded)
    card = embedded.store.workspace.models[0].card
    assert (card.patch_layer, card.grid) == ("stage1", (16, 16))
    assert embedded.store.workspace.embedded("net") == (12, 12)


def test_which_network_of_a_file_is_chosen_in_the_card(window: MainWindow, settle: Callable, tmp_path: Path) -> None:
    import torch

    from facelens.features.models import MODELS

    state = MODELS["small_plain"].build().state_dict()
    torch.save({"model": state, "ema": {key: value + 1 for key, value in state.items()}}, tmp_path / "two.pt")
    shown = load(window, tmp_path / "two.pt", settle)
    combo = shown.form.network
    assert combo.isVisible() and [combo.itemText(i) for i in range(2)] == ["model", "ema"]
    window.grab()
    combo.setCurrentIndex(1)
    combo.activated.emit(1)
    settle(window)
    (found,) = window.store.workspace.models
    assert found.card.network == "ema:" and found.card.name == "two (ema)" and combo.currentText() == "ema"


def test_a_file_with_one_network_has_no_such_row(window: MainWindow, net: Callable, settle: Callable) -> None:
    assert not load(window, net(), settle).form.network.isVisible()


def test_imported_vectors_are_kept_come_back_and_can_be_deleted(
    embedded: MainWindow, settle: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faces = embedded.store.workspace.faces
    assert faces is not None
    found = embedded.store.workspace.features["net"].vectors[:].copy()
    found[3] = 0
    np.savez(tmp_path / "mine.npz", vectors=found, names=np.array([os.fsdecode(path) for path in faces.paths]))
    embedded.import_vectors(tmp_path / "mine.npz")
    settle(embedded)
    shown = page(embedded)
    workspace = embedded.store.workspace
    assert shown.chosen == "mine" and shown.delete.isVisible() and " kB" in shown.delete.text()
    assert "Imported from mine.npz, SHA-256 " in shown.notes.text()
    assert workspace.stored["mine"].folder.is_dir() and workspace.features["mine"].invalid.tolist() == [faces.ids[3]]
    embedded.import_vectors(tmp_path / "mine.npz")  # once more: the same ones
    settle(embedded)
    assert list(embedded.store.workspace.features) == ["net", "mine"]
    (info,) = [one for one in stores(workspace.stored["mine"].folder.parent) if one.model == "mine"]
    assert info.rows == 12

    source = embedded.store.workspace.source
    assert source is not None
    embedded.act("gallery.close")
    settle(embedded)
    assert "mine" not in embedded.store.workspace.features
    (tmp_path / "mine.npz").unlink()
    embedded.opening.open(source.path)
    settle(embedded)
    back = embedded.store.workspace.features["mine"]
    assert len(back) == 12 and back.invalid.tolist() == [faces.ids[3]]
    np.testing.assert_array_equal(back.unit(faces.ids[:1])[0][0], found[0] / back.norms[0])
    assert back.provenance.weights == "" and back.provenance.model == "mine"

    embedded.store.update(model="mine")
    asked = answering(monkeypatch, "Delete")
    folder = embedded.store.workspace.stored["mine"].folder
    embedded.act("vectors.delete")
    assert "Delete the vectors of mine" in asked[0] and not folder.exists()  # type: ignore[operator]
    assert "mine" not in embedded.store.workspace.model_names


def test_evaluating_by_its_key_begins_once(embedded: MainWindow, settle: Callable) -> None:
    """The page begins by itself when it is shown; the command does not stop that to begin again."""
    from facelens.session.jobs import State
    from facelens.session.questions import EVALUATE

    embedded.act("evaluate.run")
    settle(embedded)
    assert [job.state for job in embedded.desk.jobs.jobs if job.request.slot == EVALUATE] == [State.DONE]
    embedded.act("evaluate.run")
    settle(embedded)
    assert len([job for job in embedded.desk.jobs.jobs if job.request.slot == EVALUATE]) == 2, "asked again, run again"
