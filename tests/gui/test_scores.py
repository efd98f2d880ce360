"""Scores of a table in the window: imported or dropped, to sort, filter and inspect by; what does not fit is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QFileDialog

from facelens.session.selection import Selection
from facelens.views.main_window import MainWindow
from tests.gui.test_drop import carried, drop, enter


def scores(window: MainWindow, path: Path, *, lines: int = 12, header: str = "Filename;quality") -> Path:
    """A table that gives face i the score (7 i) mod 12."""
    faces = window.store.workspace.faces
    assert faces is not None
    rows = [f"/elsewhere/{faces.paths[i].decode()};{7 * i % 12}" for i in range(lines)]
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def imported(window: MainWindow, path: Path, settle: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    window.act("scores.import")
    settle(window)


def test_imported_scores_sort_filter_and_inspect(
    browsing: MainWindow, tmp_path: Path, settle: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported(browsing, scores(browsing, tmp_path / "mine.csv"), settle, monkeypatch)
    said = browsing.statusBar().currentMessage()
    assert said == "1 score from mine.csv: 12 of 12 faces have a value; 0 lines match no face."
    assert not browsing.notices.cards

    panel = browsing.panel("gallery")
    panel.sort.setCurrentIndex(panel.sort.findData("quality"))
    panel.sort.activated.emit(panel.sort.currentIndex())
    assert browsing.store.workspace.shown.tolist() == np.argsort(7 * np.arange(12) % 12).tolist()

    line = browsing.panel("filter").line
    line.setText("quality >= p50")
    browsing.panel("filter").apply()
    assert len(browsing.store.workspace.shown) == 6

    best = int(browsing.store.workspace.shown_ids[-1])
    browsing.store.update(selection=Selection(np.array([best]), best))
    rail = browsing.panel("inspector")._rails[0]
    assert (rail.accessibleName(), rail.accessibleDescription()) == ("quality", "11.00 percentile 96")


def test_a_name_longer_than_the_list_is_wide_is_in_its_tip(
    browsing: MainWindow, tmp_path: Path, settle: Callable
) -> None:
    name = "LeftwardCropOfTheFaceImage.scalar"
    browsing.opening.take_scores(scores(browsing, tmp_path / "ofiq.csv", header=f"Filename;{name}"))
    settle(browsing)
    browsing.store.update(arrangement=replace(browsing.store.workspace.arrangement, sort=name))
    assert name in browsing.panel("gallery").sort.toolTip()


def test_what_does_not_fit_stays_on_screen(
    browsing: MainWindow, tmp_path: Path, settle: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scores(browsing, tmp_path / "some.csv", lines=5)
    path.write_text(path.read_text() + "stranger.png;3\n")
    imported(browsing, path, settle, monkeypatch)
    [card] = browsing.notices.cards
    assert card.accessibleName() == "1 score from some.csv"
    assert card.accessibleDescription() == "5 of 12 faces have a value; 1 line matches no face."


def test_a_bad_table_is_a_notice_and_changes_nothing(
    browsing: MainWindow, tmp_path: Path, settle: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = browsing.store.workspace
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    imported(browsing, tmp_path / "bad.csv", settle, monkeypatch)
    [card] = browsing.notices.cards
    assert "no column of picture names" in card.accessibleName()
    assert browsing.store.workspace is before


def test_scores_of_a_gallery_that_was_closed_meanwhile_go_nowhere(
    browsing: MainWindow, tmp_path: Path, settle: Callable
):
    browsing.opening.take_scores(scores(browsing, tmp_path / "late.csv"))
    browsing.act("gallery.close")
    settle(browsing)
    assert browsing.store.workspace.faces is None and not browsing.notices.cards


def test_a_dropped_table_of_numbers_is_taken_for_scores(browsing: MainWindow, tmp_path: Path, settle: Callable) -> None:
    data = carried(scores(browsing, tmp_path / "dropped.csv", header="Filename;sharpness"))
    enter(browsing, data)
    assert browsing.veil.targets == ("scores", "open", "add") and not browsing.veil.problem
    assert browsing.veil.text == "dropped.csv · sharpness"
    browsing.grab()
    drop(browsing, data, QPoint(700, 300))
    settle(browsing)
    faces = browsing.store.workspace.faces
    assert faces is not None and len(faces) == 12 and "sharpness" in faces.columns


def test_a_table_that_names_people_is_a_gallery_first(browsing: MainWindow, tiny_faces: Path, tmp_path: Path) -> None:
    enter(browsing, carried(tiny_faces / "manifest.csv"))
    assert browsing.veil.targets == ("open", "add", "scores") and browsing.veil.doing == "open"
    (tmp_path / "odd.csv").write_text("image id,q\n0001,1\n")
    enter(browsing, carried(tmp_path / "odd.csv"))
    assert browsing.veil.targets == ("scores",) and not browsing.veil.problem


def test_columns_of_the_doctor_that_come_later_stay(browsing: MainWindow, tmp_path: Path, settle: Callable) -> None:
    faces = browsing.store.workspace.faces
    assert faces is not None
    plain = replace(faces, columns={})
    browsing.store.update(faces=plain)
    browsing.opening.take_scores(scores(browsing, tmp_path / "q.csv"))
    browsing.store.update(faces=plain.with_columns({"late": np.arange(12.0)}))
    settle(browsing)
    now = browsing.store.workspace.faces
    assert now is not None and {"late", "quality"} <= now.columns.keys()
