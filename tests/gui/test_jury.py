"""The jury: what it says of a pair and of many, what boxes, rows, faces and keys ask for, and what is painted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from facelens.analyses.jury import Average, Ruling, Standing, Verdict
from facelens.analyses.measure import Measure
from facelens.analyses.parts import Layout
from facelens.images.faceset import FaceSet
from facelens.views import theme
from facelens.views.frame import Frame
from facelens.views.jury import Jury
from facelens.views.panel import Desk

LEFT = Qt.MouseButton.LeftButton
KEYS = Qt.Key
K = 8
LAYOUT = Layout("learned", K, 4, unit=True, head="learned")
VOTES = np.array([0.06, 0.05, -0.04, 0.07, 0.01, 0.06, -0.03, 0.08])
KEPT = np.array([1, 1, 1, 1, 1, 1, 0, 1], bool)
SHARE = np.where(KEPT, 0.02, np.nan)
RULING = Ruling(KEPT, 1e-3, 0.14, Measure(0.962, n=50), np.where(KEPT, 0.005, np.nan), VOTES, SHARE)
WHOLE = replace(RULING, kept=np.ones(K, bool), tar=Measure(0.966, n=50))


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    for name in ("a", "b"):
        Image.new("RGB", (60, 60), (160, 90, 60)).save(tmp_path / f"{name}.png")
    return FaceSet.build("g", tmp_path, paths=["a.png", "b.png"], identities=["Ada", "Bo"])


@pytest.fixture
def jury(desk: Desk, faces: FaceSet, pump: Callable[..., None]) -> Iterator[Jury]:
    desk.store.update(faces=faces)
    made = Jury(desk)
    frame = Frame("Jury", made)
    frame.header.add(made.mode)
    frame.resize(400, 450)
    frame.show()
    pump()
    yield made
    made.pair.close_panel()
    frame.close()
    frame.deleteLater()
    pump()


def verdict(faces: FaceSet, **other: Any) -> Verdict:
    score = float(VOTES[KEPT].sum())
    query, gallery = (int(face) for face in faces.ids)
    made = Verdict(query, gallery, True, VOTES, KEPT, score, 0.391, True, (2, 4))
    return replace(made, **other)


def show(jury: Jury, faces: FaceSet, **other: Any) -> Verdict:
    made = verdict(faces, **other)
    jury.show_verdict(faces, made, RULING, LAYOUT, match="cosine")
    return made


def heard(signal: Any) -> list[Any]:
    got: list[Any] = []
    signal.connect(got.append)
    return got


def test_what_is_said_of_a_pair(jury: Jury, faces: FaceSet) -> None:
    show(jury, faces)
    jury.show_standing(Standing(3, 1, 1302, 3, 1))
    jury.show_rates(RULING, WHOLE, Measure(0.981), Measure(0.981))
    assert jury.pair.sentences() == [
        "cosine, 7 of 8 parts: 0.290",
        "same person, right by name",
        "all parts 0.391 · threshold 0.140",
        "rank of the mate 3 → 1 of 1,302",
        "TAR 0.966 → 0.962 at FAR 1e-3 · Recall@1 0.981",
    ]
    assert (jury.foot.left, jury.foot.right) == ("≠ 2 of 7 disagree: 3, 5", "Σ = 0.290")
    show(jury, faces, genuine=False, disagree=())
    assert jury.pair.decision() == ("same person", "wrong by name") and jury.foot.left == "all 7 agree"
    assert "rank 3 → 1 of 1,302 · mate 3 → 1" in jury.pair.sentences()
    show(jury, faces, genuine=None, same=False)
    assert jury.pair.decision() == ("different people", "names not known")


def test_without_a_score_or_a_threshold_it_says_so(jury: Jury, faces: FaceSet) -> None:
    show(jury, faces, score=np.nan, same=None, disagree=(), why="no part votes")
    assert jury.pair.decision()[0] == "no part votes" and jury.foot.right == "no score"
    ruling = replace(RULING, threshold=None, why="few", share=np.full(K, np.nan), tar=Measure.none("few"))
    jury.show_verdict(faces, verdict(faces, same=None, disagree=()), ruling, LAYOUT, match="cosine")
    jury.show_rates(ruling, ruling, None, None)
    assert jury.pair.decision()[0] == "no decision"
    assert jury.pair.sentences()[-1] == "TAR n/a at FAR 1e-3 · Recall@1 …"
    jury.show_nothing("No pair yet", "Click one face, then another.")
    assert jury.pages.currentWidget() is jury.empty
    show(jury, faces)
    assert jury.pages.currentWidget() is not jury.empty


def test_boxes_leave_parts_out(jury: Jury, faces: FaceSet) -> None:
    show(jury, faces)
    left_out, chosen = heard(jury.left_out_changed), heard(jury.part_chosen)
    view = jury.ballots.viewport()
    for part in (2, 6):
        QTest.mouseClick(view, LEFT, pos=jury.ballots.box(part).center().toPoint())
    assert left_out == [(2, 6), ()] and chosen == []
    QTest.mouseClick(view, LEFT, pos=jury.ballots.row(4).center().toPoint())
    assert chosen == [4]
    jury.set_part(4)
    QTest.keyClick(jury.ballots, KEYS.Key_Down)
    assert jury.ballots.accessibleDescription() == "part 5, votes +0.010, fair share +0.020, disagrees"
    QTest.keyClick(jury.ballots, KEYS.Key_Down)
    QTest.keyClick(jury.ballots, KEYS.Key_Down)
    assert jury.ballots.accessibleDescription() == "part 7, left out, would vote −0.030"
    QTest.keyClick(jury.ballots, KEYS.Key_Space)
    QTest.keyClick(jury.ballots, KEYS.Key_Return)
    assert left_out[2:] == [()] and chosen == [4, 6]
    jury.menu.aboutToShow.emit()
    for action in jury.menu.actions():
        action.trigger()
    everybody = tuple(range(K))
    only = tuple(part for part in everybody if part != 4)
    assert left_out[3:] == [(), everybody, only, (4,), (2, 4, 6)]


def test_faces_of_the_pair_are_looked_at(jury: Jury, faces: FaceSet) -> None:
    show(jury, faces)
    looked = heard(jury.look)
    QTest.mouseClick(jury.pair, LEFT, pos=jury.pair.boxes()[1].center().toPoint())
    QTest.keyClick(jury.pair, KEYS.Key_Left)
    assert jury.pair.accessibleDescription().startswith("Ada")
    QTest.keyClick(jury.pair, KEYS.Key_Return)
    assert looked == [int(faces.ids[1]), int(faces.ids[0])]


def test_bars_say_by_side_colour_and_hatching_who_speaks_for_what(jury: Jury, faces: FaceSet) -> None:
    show(jury, faces)
    ballots, now = jury.ballots, theme.current()
    image = ballots.viewport().grab().toImage()

    def colours(part: int, start: float, end: float) -> set[str]:
        """Along the bar of a part, between two votes."""
        y = round(ballots.row(part).center().y())
        first, last = sorted((round(ballots.spot(start)), round(ballots.spot(end))))
        return {QColor(image.pixel(QPoint(x, y))).name() for x in range(first + 2, last - 1)}

    assert colours(3, 0.03, 0.07) == {now.good} and colours(3, 0.072, 0.08) == {now.base}
    assert colours(2, 0, -0.04) == {now.bad} and now.bad not in colours(2, 0, 0.06)
    assert {now.base, now.bad} & colours(6, 0, -0.03) == {now.base}  # hatched
    assert now.text in colours(2, 0.01, 0.03)  # its fair share


def test_many_parts_scroll_to_the_current_one(jury: Jury, faces: FaceSet) -> None:
    many = np.tile(VOTES, 8)
    layout = Layout("slices", 64, 8, unit=False)
    ruling = replace(RULING, kept=np.ones(64, bool), share=np.full(64, 0.02))
    found = verdict(faces, votes=many, kept=np.ones(64, bool), disagree=())
    jury.show_verdict(faces, found, ruling, layout, match="cosine")
    jury.set_part(60)
    assert jury.ballots.viewport().rect().contains(jury.ballots.row(60).center().toPoint())
    assert jury.ballots.at(jury.ballots.row(60).center()) == 60
    assert jury.pair.sentences()[0].startswith("cosine, 64 of 64 slices")


def test_what_is_said_of_many_pairs(jury: Jury) -> None:
    found = Average("false matches", VOTES, VOTES - 0.01, VOTES + 0.01, 124, "500 pairs among 40 selected faces")
    jury.show_average(found, RULING, LAYOUT)
    told = jury.selection.accessibleDescription()
    assert told.startswith("124 false matches of 500 pairs among 40 selected faces")
    assert told.endswith("Part 8 adds most: +0.075 above its usual vote.")
    assert jury.foot.right == "mean Σ = 0.290" and jury.selection.isVisible() and not jury.pair.isVisible()
    ruling = replace(RULING, genuine=VOTES + np.where(np.arange(K) == 1, 0.03, 0.01))
    jury.show_average(replace(found, which="false non-matches"), ruling, LAYOUT)
    assert jury.selection.accessibleDescription().endswith("Part 2 falls shortest: 0.030 below its usual vote.")
    assert jury.which == "false non-matches"
    nothing = np.full(K, np.nan)
    why = "there is none among these pairs"
    jury.show_average(replace(found, votes=nothing, low=nothing, high=nothing, n=0, why=why), RULING, LAYOUT)
    assert jury.selection.accessibleDescription().endswith("There is none among these pairs")
    wanted = heard(jury.which_changed)
    jury.selection.which.setCurrentIndex(2)
    jury.selection.which.activated.emit(2)
    assert wanted == ["genuine"]
