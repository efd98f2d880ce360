"""Finding faces from the window: dialog, drop of a detector, what becomes of points, vectors and single pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QLabel

from facelens.images import detect
from facelens.images.faceset import FaceSet, Labels
from facelens.session import tasks
from facelens.session.glance import glance
from facelens.session.settings import Settings
from facelens.views.finding import COLUMN, FindFaces
from facelens.views.main_window import MainWindow
from tests.gui.test_access import nameless
from tests.gui.test_drop import carried, drop, enter
from tests.gui.test_models import load, net, page  # noqa: F401

FIVE = np.array([(18, 20), (30, 20), (24, 27), (19, 33), (29, 33)], np.float32)


@pytest.fixture
def yunet(tmp_path: Path) -> Path:
    """A file with the names of YuNet's outputs; what it finds is said by `found`."""
    path = tmp_path / "yunet.onnx"
    path.write_bytes(b" ".join(f"{p}_{s}".encode() for p in ("cls", "obj", "bbox", "kps") for s in (8, 16, 32)))
    return path


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """Row 0 has no face, row 1 has two, the others one; the list has what was asked."""
    asked: list[dict] = []

    def align(faces: FaceSet, detector: Path, *, policy: str, quarantined: Path, tick: Callable) -> tasks.Aligned:
        asked.append({"faces": faces, "detector": detector, "policy": policy})
        points = np.tile(FIVE, (len(faces), 1, 1)) + 1
        points[0] = np.nan
        notes = {int(faces.ids[0]): "no face found", int(faces.ids[1]): "2 faces found"}
        return tasks.Aligned(replace(faces, landmarks=points), 11, 1, notes, "11 faces have their five points.")

    monkeypatch.setattr(tasks, "align_gallery", align)
    return asked


def dialog(window: MainWindow) -> FindFaces:
    (shown,) = [one for one in window.findChildren(FindFaces) if one.isVisible()]
    return shown


def test_found_points_are_those_of_the_gallery_and_old_vectors_are_not(
    browsing: MainWindow,
    net: Callable,  # noqa: F811
    settle: Callable,
    yunet: Path,
    found: list[dict],
) -> None:
    shown = load(browsing, net(), settle)
    shown.embed.click()
    settle(browsing)
    assert browsing.store.workspace.embedded("net") == (12, 12)
    browsing.act("faces.find")
    asking = dialog(browsing)
    assert not nameless(asking) and not asking.find_faces.isEnabled()
    assert "Choose a detector" in asking.find_faces.toolTip()
    asking.take(yunet)
    asking.policy.setCurrentIndex(asking.policy.findData("centre"))
    assert asking.anew.isVisible()  # this gallery has landmarks
    asking.anew.setChecked(True)
    asking.grab()
    asking.find_faces.click()
    settle(browsing)
    (asked,) = found
    assert asked["detector"] == yunet and asked["policy"] == "centre" and asked["faces"].landmarks is None
    workspace = browsing.store.workspace
    faces = workspace.faces
    assert faces is not None and faces.landmarks is not None
    assert np.array_equal(faces.landmarks[1:], np.tile(FIVE + 1, (11, 1, 1))) and np.isnan(faces.landmarks[0]).all()
    assert workspace.embedded("net") == (0, 12)
    column = faces.columns[COLUMN]
    assert isinstance(column, Labels) and column.name(0) == "no face found" and column.name(1) == "2 faces found"
    (card,) = browsing.notices.cards
    assert any("1 picture: no face found" in part.text() for part in card.findChildren(QLabel))
    assert browsing.desk.settings.detector == str(yunet) and browsing.desk.settings.detector_policy == "centre"
    shown.embed.click()
    settle(browsing)
    assert browsing.store.workspace.embedded("net") == (12, 12)


def test_a_dropped_detector_is_offered_as_one(
    browsing: MainWindow, settle: Callable, yunet: Path, found: list[dict]
) -> None:
    assert glance(yunet) == "detector"
    enter(browsing, carried(yunet))
    assert browsing.veil.doing == "detector" and "YuNet" in browsing.veil.text and not browsing.veil.problem
    browsing.grab()
    drop(browsing, carried(yunet), QPoint(700, 400))
    asking = dialog(browsing)
    assert asking.path == yunet and asking.find_faces.isEnabled()
    asking.find_faces.click()
    settle(browsing)
    assert len(found) == 1 and not browsing.store.workspace.models
    faces = found[0]["faces"]
    assert faces.landmarks is not None  # points of the manifest are kept


def test_a_detector_without_a_gallery_is_kept_for_later(window: MainWindow, yunet: Path) -> None:
    enter(window, carried(yunet))
    drop(window, carried(yunet), QPoint(700, 400))
    assert window.desk.settings.detector == str(yunet) and "Open a gallery" in window.statusBar().currentMessage()
    assert not window.findChildren(FindFaces)


def test_a_file_that_went_away_is_said(browsing: MainWindow, yunet: Path) -> None:
    browsing.desk.settle(detector=str(yunet))
    yunet.unlink()
    browsing.find_faces()
    asking = dialog(browsing)
    assert "not there any more" in asking.file.text() and not asking.find_faces.isEnabled()
    asking.reject()


def test_whole_photographs_get_a_hint_where_a_model_wants_aligned_faces(
    window: MainWindow,
    net: Callable,  # noqa: F811
    settle: Callable,
    tmp_path: Path,
    found: list[dict],
    yunet: Path,
) -> None:
    rng = np.random.default_rng(0)
    for i in range(12):
        (tmp_path / "raw" / f"p{i % 3}").mkdir(parents=True, exist_ok=True)
        size = (int(rng.integers(200, 400)), int(rng.integers(200, 400)), 3)
        Image.fromarray(rng.integers(0, 255, size, np.uint8)).save(tmp_path / "raw" / f"p{i % 3}" / f"{i}.jpg")
    window.opening.open(tmp_path / "raw")
    settle(window)
    shown = load(window, net(), settle)
    assert shown.find_faces.isVisible() and shown.raw.isVisible()
    window.finding.start(yunet)
    settle(window)
    assert not shown.find_faces.isVisible()


@pytest.mark.parametrize(
    ("sides", "raw"),
    [
        ([(112, 112)], False),
        ([(160, 160)], False),
        ([(250, 250)], True),
        ([(218, 178)], True),
        ([(112, 112), (90, 130)], True),
    ],
)
def test_what_looks_raw(sides: list[tuple[int, int]], raw: bool) -> None:
    n = 20
    faces = FaceSet.build("g", Path("g"), paths=[f"{i}.png" for i in range(n)], identities=["A"] * n)
    assert not detect.looks_raw(faces, (112, 112))  # not measured yet
    found = np.array([sides[i % len(sides)] for i in range(n)], np.float64)
    faces = faces.with_columns({"height": found[:, 0], "width": found[:, 1]})
    assert detect.looks_raw(faces, (112, 112)) is raw


def test_the_settings_keep_the_detector(tmp_path: Path) -> None:
    assert Settings(detector="/a/yunet.onnx", detector_policy="only").save(tmp_path / "s.json")
    assert Settings.load(tmp_path / "s.json").detector_policy == "only"
