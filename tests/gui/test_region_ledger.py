"""Region ledger and why not: what is said of a pair and of many, what rows, faces and keys ask for, what is painted."""

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

from facelens.analyses import regions
from facelens.analyses.regions import EYES, REGIONS, averaged
from facelens.analyses.reranking import Explained
from facelens.images.faceset import FaceSet
from facelens.views import theme
from facelens.views.panel import Desk
from facelens.views.region_ledger import RegionLedger
from facelens.views.why_not import WhyNot

LEFT = Qt.MouseButton.LeftButton
KEYS = Qt.Key
MINE = np.array([0.044, 0.071, 0.052, 0.058, 0.096, 0.017])
THEIRS = np.array([0.039, 0.148, 0.066, 0.049, 0.090, 0.019])
SHARES = regions.shares((2, 3), None, (112, 96))


def explained(emd: float = 0.338, cosine: float = 0.415, *, gallery: int = 2) -> Explained:
    flow = np.full((6, 6), 1 / 36)
    mass = np.full(6, 1 / 6)
    table = np.full((6, 6), emd)
    return Explained(1, gallery, (2, 3), (2, 3), mass, mass, table, flow, emd, cosine, 2.2e-16, 0.0, "exact")


@pytest.fixture
def ledger(leftovers: None, pump: Callable[..., None]) -> Iterator[RegionLedger]:
    made = RegionLedger()
    made.resize(310, 420)
    made.show()
    pump()
    yield made
    for part in (made, made.mode):
        part.close()
        part.deleteLater()
    pump()


def show(ledger: RegionLedger, other: np.ndarray | None = THEIRS, **how: Any) -> None:
    given = {"alpha": 0.7, "threshold": 0.43, "genuine": True, "seconds": 0.0031, "shares": SHARES}
    ledger.show_pair(explained(), MINE, other, **{**given, **how})


def heard(signal: Any) -> list[Any]:
    got: list[Any] = []
    signal.connect(got.append)
    return got


def test_what_is_said_of_a_pair(ledger: RegionLedger) -> None:
    show(ledger)
    assert ledger.pair.accessibleDescription().split(". ") == [
        "Blended distance, lower is closer: 0.412",
        "below threshold 0.430 right",
        "0.70 × EMD 0.338  +  0.30 × (1 − cos) 0.585",
        "patches 57 %, whole face 43 %",
    ]
    assert ledger.foot.text() == "exact · marginal error 2e-16 · gap 0 · 3.1 ms"
    assert "eyes 0.071, 21 % of the EMD" in ledger.bars.accessibleDescription()
    show(ledger, genuine=False)
    assert "below threshold 0.430 wrong" in ledger.pair.accessibleDescription()
    show(ledger, threshold=0.4, genuine=None)
    assert ". above threshold 0.400. " in ledger.pair.accessibleDescription()
    ledger.set_alpha(-1.0)
    said = ledger.pair.accessibleDescription()
    assert said.startswith("Sum of distances, lower is closer: 0.923. EMD 0.338  +  (1 − cos) 0.585")
    ledger.show_nothing("No match yet", "Click a face.")
    ledger.set_alpha(0.5)
    assert ledger.pages.currentWidget() is ledger.empty and not ledger.foot.text()


def test_a_row_lights_up_its_patches(ledger: RegionLedger) -> None:
    show(ledger)
    lit = heard(ledger.region_hovered)
    QTest.mouseMove(ledger.bars, ledger.bars.row(EYES).center().toPoint())
    ledger.bars.leaveEvent(None)  # type: ignore[arg-type]
    QTest.keyClick(ledger.bars, KEYS.Key_End)
    QTest.keyClick(ledger.bars, KEYS.Key_Escape)
    eyes, outside = (regions.patches_of(SHARES, region) for region in (EYES, regions.OUTSIDE))
    assert lit == [eyes, None, outside, None] and eyes != outside


def test_bars_have_their_lengths_and_differences_their_signs(ledger: RegionLedger) -> None:
    show(ledger)
    bars, now = ledger.bars, theme.current()
    image = bars.grab().toImage()

    def colours(region: int, start: float, end: float) -> set[str]:
        y, ends = round(bars.track(region).center().y()), (bars.spot(start, region), bars.spot(end, region))
        return {QColor(image.pixel(QPoint(x, y))).name() for x in range(round(ends[0]) + 3, round(ends[1]) - 2)}

    assert bars.spot(0.15, EYES) == pytest.approx(bars.track(EYES).right())  # a round number beyond the largest
    assert colours(EYES, 0.0, 0.071) == {now.accent}
    assert colours(EYES, 0.071, 0.14) == {now.line}
    tick = QPoint(round(bars.spot(0.148, EYES)), round(bars.track(EYES).top()) - 2)
    assert QColor(image.pixel(tick)).name() == now.bad  # the nearest other
    shown = bars.bars
    assert shown is not None
    assert shown.difference(-0.077) == ("−0.077", "good") and shown.difference(0.005) == ("+0.005", "bad")
    assert shown.difference(0.0001) == ("0.000", "text3")
    show(ledger, genuine=False)
    assert bars.bars is not None and bars.bars.difference(-0.077)[1] == "bad"


def test_many_pairs_have_a_mean_and_their_middle_half(ledger: RegionLedger) -> None:
    some = averaged([MINE * scale for scale in (0.6, 1.0, 1.4)])
    ledger.show_selection(some, averaged([THEIRS]), what="selected faces")
    assert ledger.selection.accessibleDescription() == (
        "EMD, lower is closer: 0.338. mean of 3 pairs. half of them between 0.270 and 0.406. selected faces"
    )
    assert "eyes 0.071, 21 % of the EMD, half between 0.057 and 0.085" in ledger.bars.accessibleDescription()
    assert ledger.selection.isVisible() and not ledger.pair.isVisible()
    ledger.show_selection(averaged([]), None, what="nobody is selected")
    assert ledger.pages.currentWidget() is ledger.empty


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    names = ["a1.png", "a2.png", "b1.png"]
    for name in names:
        Image.new("RGB", (40, 40), (160, 90, 60)).save(tmp_path / name)
    return FaceSet.build("g", tmp_path, paths=names, identities=["Ada", "Ada", "Bo"])


def test_the_mate_is_at_the_left_whoever_is_looked_at(desk: Desk, faces: FaceSet, panel: Callable[..., Any]) -> None:
    desk.store.update(faces=faces)
    view: WhyNot = panel(WhyNot)
    view.resize(310, view.height())
    query, mate, other = (int(face) for face in faces.ids)
    chosen = heard(view.candidate_chosen)
    near, far = explained(gallery=mate), explained(0.388, 0.415, gallery=other)
    for pair, ledgers in (((near, far), (MINE, THEIRS)), ((far, near), (THEIRS, MINE))):
        view.show_triple(faces, *pair, *ledgers, alpha=0.7, query=query, mate=pair[0] is near)
        assert view.current_text() == "mate 0.412, other 0.447. Eyes −0.077, all other regions +0.004."
        for box in view.boxes():
            QTest.mouseClick(view, LEFT, pos=box.center().toPoint())
    assert chosen == [mate, other] * 2  # the query is no candidate
    QTest.keyClick(view, KEYS.Key_Right)
    assert view.accessibleDescription().startswith("Bo")
    QTest.keyClick(view, KEYS.Key_Return)
    assert chosen[4:] == [other]
    view.show_nothing()
    QTest.mouseClick(view, LEFT, pos=view.boxes()[0].center().toPoint())
    assert len(chosen) == 5


def test_the_ledger_is_as_long_as_the_regions(ledger: RegionLedger) -> None:
    show(ledger, None)
    assert ledger.bars.bars is not None and ledger.bars.bars.marks is None
    assert ledger.bars.at(ledger.bars.row(len(REGIONS) - 1).center()) == regions.OUTSIDE
    assert ledger.bars.at(ledger.bars.row(len(REGIONS)).center()) == -1
    assert replace(ledger.bars.bars, weight=None).more(EYES) == ["21 % of the EMD"]
