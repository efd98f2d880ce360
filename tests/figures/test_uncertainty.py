"""Figures of uncertainty: they say what the numbers say, and names of curves lie on no line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.analyses.measure import Measure
from facelens.analyses.rejection import Band, Risk, steps
from facelens.analyses.uncertainty import Uncertainty
from facelens.errors import InputError
from facelens.figures import labels, refusal, sheet
from facelens.figures.spread import Spread
from facelens.figures.uncertainty import draw_histogram, draw_risk
from facelens.images import readers
from facelens.session import drawing

VALUES = np.random.default_rng(0).permutation(0.02 + 0.42 * np.linspace(0, 1, 1000) ** 3)


def risk(*, undefined: slice = slice(0, 0), values: Any = VALUES) -> Risk:
    found = steps(values, lowest=0.6, most=41)
    share = 1 - found.coverage
    error = 0.05 * np.exp(-3 * share)
    error[undefined] = np.nan
    n = np.full(len(share), 5000)
    return Risk(
        "1:1", 1e-3, found.coverage, found.kept, found.limit, Band(error, error - 0.006, error + 0.007),
        Band(0.05 - error, error * 0, error), Band(error / 0.05 - 1, error, error), np.full(len(share), 0.4), n,
        np.full(len(share), 0.05), 0.05 * np.exp(-15 * share), n * 0, n * 0, Measure(0.0312, 0.0281, 0.0344),
    )  # fmt: skip


def texts(figure: Any) -> list[str]:
    return [t.get_text() for t in figure.texts] + [t.get_text() for axes in figure.axes for t in axes.texts]


# What is counted


@pytest.mark.parametrize("n", [1, 2, 30, 1302, 100_000])
def test_spread_counts_as_a_loop_would(n: int) -> None:
    values = np.random.default_rng(n).gamma(3, 0.05, n).round(3)
    found = Spread.of(values, np.arange(n))
    bins = list(zip(found.edges[:-1], found.edges[1:]))
    for i, (low, high) in enumerate(bins):
        last = i == len(bins) - 1
        assert found.counts[i] == np.count_nonzero((values >= low) & ((values < high) | (last & (values == high))))
    assert found.counts.sum() == n == len(found.values[found.within(found.edges[0], found.edges[-1])])
    for limit in (*values[:3], values.max(), -1.0, np.inf):
        assert found.refused(float(limit)) == np.count_nonzero(values > limit)
    assert (values[found.ids] == found.values).all()


def test_an_outlier_does_not_make_bins_wide() -> None:
    usual = np.linspace(0.1, 0.2, 2000)
    near, far = Spread.of(usual, np.arange(2000)), Spread.of(np.append(usual, 0.5), np.arange(2001))
    assert np.diff(far.edges)[0] == pytest.approx(np.diff(near.edges)[0])


def test_gaps_and_runs_share_all_steps() -> None:
    for seed in range(20):
        values = np.where(np.random.default_rng(seed).random(12) < 0.4, np.nan, 1.0)
        inside = np.concatenate([np.arange(12)[one] for one in refusal.runs(values)] or [np.zeros(0)])
        assert np.flatnonzero(np.isfinite(values)).tolist() == inside.tolist()
        for first, last in refusal.gaps(values):
            assert np.isnan(values[first + 1 : last]).all()


# Where names stand


@pytest.mark.parametrize("seed", range(12))
def test_a_clear_name_lies_on_no_curve_and_nothing_that_is_taken(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 500, 60)
    lines = zip(rng.uniform(20, 160, 3), rng.normal(0, 0.1, 3))
    curves = [(x, base + slope * x + 8 * np.sin(x / 60)) for base, slope in lines]
    taken = [(240.0, 0.0, 256.0, 200.0)]
    for i, curve in enumerate(curves):
        others = curves[:i] + curves[i + 1 :]
        found = labels.beside(curve, others, (110.0, 12.0), (0.0, 0.0, 500.0, 200.0), taken=taken, clear=True)
        if found is None:
            continue
        left, top = found
        assert left + 110 <= 240 or left >= 256
        for xs, ys in curves:
            across = np.interp(np.linspace(left, left + 110, 300), xs, ys)
            assert not ((across > top) & (across < top + 12)).any()
    assert labels.beside(curves[0], curves[1:], (110.0, 12.0), (0.0, 0.0, 500.0, 200.0)) is not None


def test_a_name_wider_than_the_plot_stands_nowhere() -> None:
    x = np.linspace(0, 50, 5)
    assert labels.beside((x, x), [], (80.0, 12.0), (0.0, 0.0, 50.0, 50.0)) is None


# The figures


def test_histogram_says_what_is_refused() -> None:
    figure = draw_histogram(np.append(VALUES, np.nan), "variance", limit=0.3, gallery="my $gallery$")
    said = texts(figure)
    refused = np.count_nonzero(VALUES > 0.3)
    assert {"refuse above 0.300", f"p{100 - refused / 10:g} · {refused} faces refused", "p10", "p90"} <= set(said)
    assert "my $gallery$ · 1,000 faces · 1 without a value" in said
    (axes,) = figure.axes
    full, pale = axes.containers
    assert max(bar.get_x() + bar.get_width() for bar in full if bar.get_width() > 0) == pytest.approx(0.3)
    assert min(bar.get_x() for bar in pale if bar.get_width() > 0) == pytest.approx(0.3)
    assert "refuse nothing" not in texts(draw_histogram(VALUES, "variance")), "without a line nothing is said of it"


def test_histogram_of_a_score_that_is_refused_where_it_is_low() -> None:
    figure = draw_histogram(-(1 - VALUES), "quality", limit=-0.7, lower=True, log=True)
    assert "refuse below 0.700" in texts(figure)
    (axes,) = figure.axes
    assert [t.get_text() for t in axes.get_yticklabels()] == ["1", "10", "100"]
    place = {t.get_text(): t.get_position()[0] for t in axes.get_xticklabels()}
    assert place["0.9"] == pytest.approx(-0.9) and place["0.6"] == pytest.approx(-0.6)


def test_risk_names_its_curves_and_the_step() -> None:
    figure = draw_risk(risk(), step=8, gallery="mine")
    said = texts(figure)
    assert {"random order", "by variance, 95 % interval", "best possible order, by their own errors"} <= set(said)
    assert {"keep 92.0 %", "0.039 [0.033, 0.046]", "1 − TAR @ FAR 1e-3, lower is better"} <= set(said)
    told = "AURC 0.0312 [0.0281, 0.0344] · 95 % intervals, identities resampled"
    assert f"mine · 1:1 · 1,000 faces · 5,000 genuine pairs\n{told}" in said
    named = texts(draw_risk(risk(), whose="ensemble of 2: a, b"))
    assert any(text.endswith(f"{told}\nensemble of 2: a, b") for text in named)
    (axes,) = figure.axes
    assert [t.get_text() for t in axes.get_xticklabels()] == ["100 %", "90 %", "80 %", "70 %", "60 %"]
    assert axes.get_ylim()[0] == 0


def test_undefined_steps_are_not_drawn() -> None:
    figure = draw_risk(risk(undefined=slice(20, 26)), step=22)
    assert "cannot be told from the pairs left" in texts(figure)
    (axes,) = figure.axes
    drawn = np.concatenate([line.get_xdata() for line in axes.lines if line.get_linewidth() == 1.7])
    assert not ((drawn > 0.195) & (drawn < 0.255)).any() and len(drawn) == 35
    with pytest.raises(InputError, match="no error to draw"):
        draw_risk(risk(undefined=slice(None)))


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_risk_gives_the_same_file(kind: str, tmp_path: Path) -> None:
    for draw in (lambda: draw_risk(risk(), step=8), lambda: draw_histogram(VALUES, "variance", limit=0.3)):
        one, two = (sheet.save(draw(), tmp_path / f"{n}.{kind}", paper=sheet.Paper(dpi=60)).read_bytes() for n in "ab")
        assert one == two and len(one) > 2000


def test_all_figures_of_an_uncertainty(tmp_path: Path, make_faces: Any) -> None:
    faces = make_faces(12)
    values = np.linspace(0.1, 0.4, 12)
    none = Measure.none("")
    found = Uncertainty(
        ids=faces.ids, variance=values, apart=np.zeros((2, 12), np.float32), members=(), target="", mode="m2m",
        fitted_people=0, fitted_faces=0, shown_people=3, together=none, by="variance", values=values,
        verification=risk(values=values),
    )  # fmt: skip
    written = drawing.draw_uncertainty(tmp_path / "all.png", faces, found, step=2)
    names = [path.name.removeprefix("all ").removesuffix(".png") for path in written]
    assert names == ["histogram", "1 to 1", "strip", "identities"], "no 1:N yet"
    (one,) = drawing.draw_uncertainty(tmp_path / "one.svg", faces, found, which=["histogram"], step=2)
    assert one.name == "one.svg" and "2 faces refused" in one.read_text()
    with pytest.raises(InputError, match="not worked out yet"):
        drawing.draw_uncertainty(tmp_path / "no.svg", faces, replace(found, verification=None), which=["1 to 1"])


@pytest.fixture
def make_faces(tmp_path: Path) -> Any:
    from PIL import Image

    def make(n: int) -> Any:
        for i in range(n):
            path = tmp_path / "gallery" / f"person {i // 4}" / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (32, 32), (10 * i, 90, 120)).save(path)
        return readers.read(tmp_path / "gallery").faces

    return make
