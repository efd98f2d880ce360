"""Vectors and maps to other programs: what the dialogs offer, what is written, and how one learns to open it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from facelens.analyses.plan import ProjectionPlan
from facelens.analyses.projection import project
from facelens.features.featureset import FeatureSet, Provenance
from facelens.session.annotations import FLAGGED
from facelens.session.workspace import Answer
from facelens.views import exporting
from facelens.views.exporting import POINTS, VECTORS, Kind
from facelens.views.main_window import MainWindow


@pytest.fixture
def known(browsing: MainWindow) -> MainWindow:
    """A window with vectors of a model, a finished map, a face that is left out and one that is flagged."""
    faces = browsing.store.workspace.faces
    assert faces is not None
    vectors = np.random.default_rng(0).normal(size=(len(faces), 6)).astype(np.float32)
    made = FeatureSet(faces.ids, vectors, Provenance("f", "net"))
    marked = browsing.store.workspace.annotations
    browsing.store.update(
        features={"net": made},
        model="net",
        model_b="net",
        excluded=faces.ids[:1],
        annotations=replace(marked, flags=marked.flags.put(faces.ids[1:2], FLAGGED)),
        projection_plan=ProjectionPlan(model="net", method="pca"),
    )
    now = browsing.store.workspace
    found = project(faces, now.resolved_projection, features=made, excluded=now.excluded)
    browsing.store.update(projection_answer=Answer(now.projection_question, found))
    assert browsing.store.workspace.projection is found
    return browsing


def answer(monkeypatch: pytest.MonkeyPatch, path: Path, line: str) -> list[str]:
    """The file dialog answers with that path and that line; the list has what it offered."""
    offered: list[str] = []

    def save(_parent: object, _title: str, name: str, lines: str) -> tuple[str, str]:
        offered.extend([name, *lines.split(";;")])
        return str(path), line

    monkeypatch.setattr(QFileDialog, "getSaveFileName", save)
    return offered


@pytest.mark.parametrize("kind", VECTORS, ids=lambda kind: kind.words)
def test_vectors_for_every_program(
    known: MainWindow, settle: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    offered = answer(monkeypatch, tmp_path / "net.npz", kind.line)  # the name that was suggested
    known.act("vectors.export")
    settle(known)
    assert offered == ["net.npz", *(one.line for one in VECTORS)] and not [
        card for card in known.notices.cards if card.property("kind") == "bad"
    ]
    out = tmp_path / f"net{kind.ending}"
    assert str(out) in known.statusBar().currentMessage()
    if kind.target == "parquet":
        table = pq.read_table(out)
        assert table.num_rows == 11 and table["flag"][0].as_py() == "flagged" and "projection_x" in table.column_names
        assert ("image" in table.column_names) is ("neighbors" in table.column_names) is kind.rich
    elif kind.target == "npz":
        with np.load(out) as file:
            assert len(file["vectors"]) == 11 and file["points"].shape == (11, 2)
        assert not known.notices.cards
    else:
        file = "projector_config.pbtxt" if kind.target == "tensorboard" else "labels.json"
        assert (out / file).is_file()


def test_the_command_that_opens_it_can_be_copied(
    known: MainWindow, settle: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = next(one for one in VECTORS if one.rich)
    answer(monkeypatch, tmp_path / "a b", kind.line)
    known.act("vectors.export")
    settle(known)
    (card,) = known.notices.cards
    assert "11 faces written" in card.accessibleName() and "1 is left out" in card.accessibleName()
    card.button.click()
    command = QGuiApplication.clipboard().text()
    assert command.startswith(f"embedding-atlas '{tmp_path}/a b.parquet' --x projection_x") and "--image" in command
    assert not known.notices.cards


@pytest.mark.parametrize("kind", POINTS, ids=lambda kind: kind.words)
def test_points_alone_or_with_vectors(
    known: MainWindow, settle: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    answer(monkeypatch, tmp_path / "map.csv", kind.line)
    known.act("projection.export")
    settle(known)
    out = tmp_path / f"map{kind.ending}"
    assert out.exists() and str(out) in known.statusBar().currentMessage()
    if out.suffix == ".parquet":
        table = pq.read_table(out)
        assert table.num_rows == 11 and ("embedding" in table.column_names) is bool(kind.target)
        said = json.loads(table.schema.metadata[b"facelens"])
        assert "PCA" in (said["map"] if kind.target else said["said"])


def test_dialogs_that_do_not_say_which_line_was_chosen(
    known: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, expected, target in (("a.parquet", "a.parquet", "parquet"), ("a", "a.npz", "npz")):
        answer(monkeypatch, tmp_path / name, "")
        asked = exporting.ask(known, "t", "a.npz", VECTORS)
        assert asked is not None and (asked[0].name, asked[1].target) == (expected, target)
    answer(monkeypatch, tmp_path / "v1.5", next(one for one in VECTORS if one.target == "tensorboard").line)
    asked = exporting.ask(known, "t", "a.npz", VECTORS)
    assert asked is not None and asked[0].name == "v1.5"  # no ending of ours, so part of the name
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    assert exporting.ask(known, "t", "a.npz", VECTORS) is None
