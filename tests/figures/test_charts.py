"""Figures of an evaluation: they say what the numbers say, say why where there is none, and are the same each time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.identification import Identification, OpenCurve, OpenPoint, Searches
from facelens.analyses.measure import Measure
from facelens.analyses.plan import Plan
from facelens.analyses.verification import Accuracy, Curve, Difference, Histogram, OperatingPoint, Paired, Verification
from facelens.errors import InputError
from facelens.figures import charts, sheet
from facelens.figures.style import INK

FARS = (1e-2, 1e-3, 1e-6)
NONE = Measure.none("one identity, so there is no impostor pair")


def tar_at(far: Any, lift: float = 0.0) -> Any:
    return 1 - (0.05 + lift) * np.log10(far) / -6


def verified(lift: float = 0.0, *, bands: bool = True) -> Verification:
    far = np.concatenate([[0.0], np.logspace(-7, 0, 300)])
    tar = tar_at(np.maximum(far, 1e-7), lift)
    none = np.full(len(far), np.nan)
    points = [
        OperatingPoint(t, "roc", 0.4, Measure(float(tar_at(t, lift)), 0.9, 0.99), t, int(t * 1e6), 7) for t in FARS[:2]
    ]
    why = "no support: 1,000,000 impostor pairs resolve FAR ≥ 3e-6 (rule of 3)"
    points.append(OperatingPoint(1e-6, "roc", 0.6, Measure(0.9, why=why, supported=False), 1e-6, 1, 70))
    edges = np.linspace(-0.5, 1, 61)
    middle = (edges[1:] + edges[:-1]) / 2
    bell = [np.rint(n * np.exp(-(((middle - at) / 0.1) ** 2))).astype(np.int64) for n, at in ((90, 0.6), (9000, 0))]
    return Verification(
        n_genuine=5000, n_impostor=1_000_000, n_invalid=0, rule="roc", points=tuple(points),
        eer=Measure(0.012 + lift, 0.01, 0.014), eer_threshold=0.3, auc=Measure(0.9991, 0.999, 0.9992),
        d_prime=NONE, fmr100=NONE, fmr1000=NONE, best=Accuracy("best", NONE, None), folds=None,
        curve=Curve(np.linspace(1, -1, 301), far, tar, tar - 0.01 if bands else none, tar + 0.01 if bands else none),
        histogram=Histogram(edges, *bell), smallest_far=3e-6,
        resampled="identities" if bands else "", resamples=1000 if bands else 0,
    )  # fmt: skip


def identified(lift: float = 0.0, *, strangers: bool = True) -> Identification:
    cmc = 1 - (0.06 + lift) * np.exp(-np.arange(30) / 4)
    ids, flags, reals = np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0)
    searches = Searches(ids, ids.astype(np.int32), ids.astype(np.int8), flags, ids, ids, reals, ids, reals)
    fpir = np.logspace(-3, 0, 50)
    tpir = tar_at(fpir, lift)
    return Identification(
        n_mated=900, n_unmated=600 if strangers else 0, n_gallery=300, n_enrolled=300, n_invalid=0, galleries=2,
        cmc=cmc, cmc_low=cmc - 0.01, cmc_high=np.minimum(cmc + 0.01, 1),
        ranks=((1, Measure(float(cmc[0]), cmc[0] - 0.01, cmc[0] + 0.01)),),
        open=(OpenPoint(0.1, "nist", Measure(0.93, 0.9, 0.95), Measure(0.95, 0.92, 0.97), 0.4, 0.1, 60),),
        open_curve=OpenCurve(fpir, fpir, tpir, tpir - 0.02, tpir + 0.02) if strangers else None,
        searches=searches, how="two galleries", resamples=1000, smallest_fpir=5e-3,
    )  # fmt: skip


@pytest.fixture
def both() -> Evaluation:
    a = Report("old $x_1$", "old $x_1$", None, verified(0.02), identified(0.02), None)
    b = Report("<b>new</b> & co", "<b>new</b> & co", None, verified(), identified(), None)
    differences = (
        Difference(1e-2, Measure(0.0067, 0.001, 0.012)),
        Difference(1e-3, Measure(-0.003, -0.009, 0.003)),
    )
    paired = Paired(differences, NONE, NONE, 5000, 1_000_000)
    return Evaluation(Plan(), "my gallery", 2610, 874, a, b, paired, "digest")


FIGURES: dict[str, Callable[[Evaluation], Any]] = {
    "roc": charts.roc,
    "det": charts.det,
    "cmc": charts.cmc,
    "open_set": charts.open_set,
    "operating_points": charts.operating_points,
    "histogram": lambda e: charts.histogram(e.b, threshold=0.421, far=1e-4),
}


def texts(figure: Any) -> list[str]:
    found = [t.get_text() for t in figure.texts]
    for axes in figure.axes:
        found += [t.get_text() for t in axes.texts]
        if axes.get_legend() is not None:
            found += [t.get_text() for t in axes.get_legend().get_texts()]
    return found


@pytest.mark.parametrize(("name", "kind"), [*((name, "svg") for name in FIGURES), ("roc", "png"), ("cmc", "pdf")])
def test_the_same_evaluation_gives_the_same_file(both: Evaluation, name: str, kind: str, tmp_path: Path) -> None:
    one = sheet.save(FIGURES[name](both), tmp_path / f"one.{kind}", paper=sheet.Paper(dpi=80)).read_bytes()
    two = sheet.save(FIGURES[name](both), tmp_path / f"two.{kind}", paper=sheet.Paper(dpi=80)).read_bytes()
    assert one == two and len(one) > 2000
    if kind == "png":
        with Image.open(tmp_path / "one.png") as image:
            assert image.getpixel((0, 0))[:3] == (255, 255, 255), "figures are in the light theme"
    if kind == "svg":
        text = one.decode()
        assert "<b>" not in text and "<text" in text, "names are escaped, and text stays text"
        assert not re.search(r"<script|<dc:date|\son\w+=|href=\"(?!#|data:)", text)
        assert "nan" not in text.lower().replace("dominant", "")


def test_roc_names_what_it_shows(both: Evaluation) -> None:
    figure = charts.roc(both)
    said = texts(figure)
    assert {"TAR, higher is better", "FAR (log), lower is stricter", "no support"} <= set(said)
    assert {"B  <b>new</b> & co\nAUC 0.9991 [0.9990, 0.9992]", "A  old $x_1$\nAUC 0.9991 [0.9990, 0.9992]"} <= set(said)
    assert any("5,000 genuine, 1,000,000 impostor pairs" in t and "my gallery" in t for t in said)
    assert any("95 % intervals, identities resampled 1,000 ×" in t for t in said)
    (axes,) = figure.axes
    assert [t.get_text() for t in axes.get_xticklabels()] == ["1e-6", "1e-5", "1e-4", "1e-3", "1e-2", "1e-1", "1"]
    shown = {name: spine.get_visible() for name, spine in axes.spines.items()}
    assert shown == {"left": False, "right": False, "top": False, "bottom": True}


def test_a_is_dashed_b_is_solid_and_nothing_is_drawn_without_support(both: Evaluation) -> None:
    (axes,) = charts.roc(both).axes
    a, b = (line for line in axes.lines if len(line.get_xdata()) > 50)
    assert a.get_color() == INK["A"] and a.is_dashed() and b.get_color() == INK["B"] and not b.is_dashed()
    for line in (a, b):
        assert line.get_xdata().min() >= np.log10(3e-6) - 1e-9
    dots = [line for line in axes.lines if len(line.get_xdata()) == 1]
    assert len(dots) == 4, "two operating points with support for each model"
    assert {round(float(d.get_xdata()[0]), 6) for d in dots} == {-2.0, -3.0}


def test_limits(both: Evaluation) -> None:
    roc = charts.roc_limits(both)
    assert roc.x == (pytest.approx(1e-6), 1.0) and roc.support == 3e-6
    assert roc.y == (0.9, 1.0), "below every band where there is support"
    det = charts.det_limits(both)
    assert det.x == (pytest.approx(1e-5), 0.4) and det.y == (pytest.approx(1e-4), 0.4)
    assert charts.open_limits(both).support == 5e-3
    bad = replace(both, b=None, a=replace(both.a, verification=replace(verified(), eer=Measure(0.45))))
    assert charts.det_limits(bad).x[1] == 0.9, "a model as good as chance is still in sight"


def test_det_meets_at_the_eer(both: Evaluation) -> None:
    figure = charts.det(both)
    assert "B  <b>new</b> & co\nEER 0.0120 [0.0100, 0.0140]" in texts(figure)
    (axes,) = figure.axes
    (dot,) = (d for d in axes.lines if len(d.get_xdata()) == 1 and d.get_color() == INK["B"])
    from scipy.special import ndtri

    assert dot.get_xdata()[0] == pytest.approx(ndtri(0.012)) == dot.get_ydata()[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["0.01 %", "0.1 %", "1 %", "10 %", "40 %"]


def test_histogram_line_and_counts(both: Evaluation) -> None:
    said = texts(charts.histogram(both.b, threshold=0.421, far=1e-4))
    assert {"threshold 0.421", "FAR 1e-4", "N = 5,000", "N = 1,000,000"} <= set(said)
    assert "share of pairs, each group scaled to its peak" in said
    assert "threshold 0.421" not in texts(charts.histogram(both.b))


def test_cmc_has_a_point_for_each_rank(both: Evaluation) -> None:
    figure = charts.cmc(both)
    (axes,) = figure.axes
    series = [line for line in axes.lines if len(line.get_xdata()) == 20 and line.get_marker() == "o"]
    assert len(series) == 2 and all(line.get_linestyle() == "None" for line in series)
    assert [t.get_text() for t in axes.get_xticklabels()] == ["1", "5", "10", "15", "20"]
    assert "B  <b>new</b> & co\nrank 1 0.9400 [0.9300, 0.9500]" in texts(figure)


def test_no_number_of_a_legend_stands_without_its_interval(both: Evaluation) -> None:
    for draw in (charts.roc, charts.det, charts.cmc, charts.open_set):
        (axes,) = draw(both).axes
        said = [t.get_text() for t in axes.get_legend().get_texts()]
        assert len(said) == 2 and all(re.search(r"0\.\d{4} \[0\.\d{4}, 0\.\d{4}\]", text) for text in said)


def test_a_long_name_takes_two_lines(both: Evaluation) -> None:
    crossed = replace(both.a, query="a network of many letters", gallery="another one\n")
    said = texts(charts.roc(replace(both, a=crossed, gallery="g\t")))
    assert any(text.startswith("g\\x09 · ") for text in said)
    name = "A  a network of many letters in the\ngallery of another one\\x0a\n"
    assert any(text.startswith(name) for text in said), "and is shown as a file name is"


def test_table(both: Evaluation) -> None:
    figure = charts.operating_points(both)
    said = texts(figure)
    assert said[:4] == ["target FAR", "A TAR [95 %]", "B TAR [95 %]", "B − A, paired"]
    assert "no support: 1,000,000 impostor pairs resolve FAR ≥ 3e-6 (rule of 3)" in said
    ink = {t.get_text(): t.get_color() for t in figure.axes[0].texts}
    assert ink["+0.0067 [+0.0010, +0.0120]"] == INK["good"]
    assert ink["−0.0030 [−0.0090, +0.0030]"] == INK["text"], "coloured only when the interval leaves 0 out"
    assert "1e-6" in said and "0.9000" not in said, "a value without support is not shown"
    alone = texts(charts.operating_points(replace(both, a=None, paired=None)))
    assert alone[:3] == ["target FAR", "B TAR [95 %]", "threshold B"]


def test_without_intervals_and_with_one_model(both: Evaluation, tmp_path: Path) -> None:
    bare = replace(both, a=None, paired=None, b=replace(both.b, verification=verified(bands=False)))
    for draw in (charts.roc, charts.det, charts.operating_points):
        figure = draw(bare)
        sheet.save(figure, tmp_path / "x.svg")
        assert any("no intervals" in t for t in texts(figure))


def test_nothing_defined_says_why(both: Evaluation, tmp_path: Path) -> None:
    none = np.zeros(0)
    empty = replace(
        verified(), n_genuine=10, n_impostor=0, points=(OperatingPoint(1e-2, "roc", None, NONE, 0.0, 0, 0),), eer=NONE,
        auc=NONE, curve=Curve(none, none, none, none, none), smallest_far=None, resamples=0,
        histogram=Histogram(np.array([0.0, 1.0]), np.zeros(1, np.int64), np.zeros(1, np.int64)),
    )  # fmt: skip
    one = replace(
        both, a=None, paired=None, b=replace(both.b, verification=empty, identification=identified(strangers=False))
    )
    why = "n/a: one identity, so there is no impostor pair"
    for draw in (charts.roc, charts.det, charts.operating_points):
        figure = draw(one)
        assert why in texts(figure)
        sheet.save(figure, tmp_path / "x.svg")
    assert "n/a: there is no pair" in texts(charts.histogram(one.b))
    assert any(t.startswith("n/a: every searched person") for t in texts(charts.open_set(one)))
    nobody = replace(identified(), n_mated=0, cmc=none, cmc_low=none, cmc_high=none, ranks=())
    figure = charts.cmc(replace(one, b=replace(one.b, identification=nobody)))
    assert "n/a: no searched person is in the gallery" in texts(figure)
    sheet.save(figure, tmp_path / "y.svg")


@pytest.mark.parametrize("name", FIGURES)
def test_a_part_that_was_not_asked_for(both: Evaluation, name: str) -> None:
    without = replace(both, a=None, b=replace(both.b, verification=None, identification=None))
    with pytest.raises(InputError, match="nothing to draw") as caught:
        FIGURES[name](without)
    assert caught.value.hint
