"""Figures behind an evaluation: by a column, people taken for one another, retrieval; numbers, order, reasons."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.analyses.breakdown import Slice
from facelens.analyses.confusable import Confusable
from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.measure import Measure
from facelens.analyses.plan import Plan
from facelens.analyses.retrieval import Clustering, Paired, Queries, Retrieval
from facelens.errors import InputError
from facelens.figures import breakdown, sheet
from facelens.figures.style import INK
from facelens.session.drawing import draw_charts
from tests.figures.parted import make_faces
from tests.figures.test_charts import verified
from tests.figures.test_confidence import inside, texts

NONE = Measure.none("no genuine pair")


def part(name: str, tar: Measure, far: float, *, n: int = 30) -> Slice:
    rates = ((1e-2, tar), (1e-3, tar if tar is NONE else replace(tar, value=(tar.value or 0) - 0.2)))
    return Slice(name, n, 4 * n, 99 * n, rates, tuple((t, Measure(far)) for t, _ in rates), NONE)


def searched(lift: float = 0.0) -> Retrieval:
    none = np.zeros(0, np.int64)
    queries = Queries(none, none.astype(np.int32), none, {}, none, none, np.zeros(0), none, np.zeros(0))
    means = {name: Measure(v + lift, v + lift - 0.05, v + lift + 0.05) for name, v in (("P@1", 0.9), ("RP", 0.6))}
    return Retrieval(means, queries, 640, 3, 900, 0, "exclude_self", "Every picture is searched.", resamples=200)


@pytest.fixture
def both() -> Evaluation:
    a = Report(
        "old", "old", None, verified(0.02), None, searched(-0.1),
        slices=(part("clear $1$", Measure(0.6, 0.5, 0.7), 0.01), part("a <b>mask</b>", NONE, 0.0)),
    )  # fmt: skip
    b = Report(
        "new", "new", None, verified(), None, searched(), of="face", confused_at=0.613,
        slices=(part("clear $1$", Measure(0.8, 0.7, 0.9), 0.0123), part("a <b>mask</b>", Measure(0.5), 0.0, n=1)),
        clustering=Clustering({"NMI": Measure(0.7)}, np.zeros(0, np.int32), 6, "arithmetic"),
    )  # fmt: skip
    gain = Paired({"P@1": Measure(0.1, 0.05, 0.15), "RP": Measure(0.02, -0.1, 0.14)}, 640)
    return Evaluation(Plan(breakdown="role"), "my gallery", 640, 64, a, b, None, "digest", paired_retrieval=gain)


def points(figure: Any) -> list[tuple[float, float, bool]]:
    """x, y and whether it is filled."""
    lines = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    filled = [line.get_markerfacecolor() != INK["base"] for line in lines]
    return [(round(float(x.get_xdata()[0]), 6), float(x.get_ydata()[0]), f) for x, f in zip(lines, filled)]


def test_a_row_for_each_value_at_the_nearest_rate(both: Evaluation) -> None:
    figure = breakdown.draw_breakdown(both, far=1.2e-2)
    said = texts(figure)
    assert "By role: TAR @ FAR 1e-2, higher is better" in said
    assert any("my gallery" in t and "A old · B new" in t and "identities resampled 1,000 ×" in t for t in said)
    assert {"clear $1$", "a <b>mask</b>", "0.800 [0.700, 0.900]", "0.500", "1.2e-2", "0"} <= set(said)
    assert "30 faces, 120 genuine pairs" in said and "1 face, 4 genuine pairs" in said
    assert points(figure) == [(0.6, -0.17, False), (0.8, 0.17, True), (0.5, 1.17, True)], "A is a ring, B a disc"
    inside(figure)
    assert "By role: TAR @ FAR 1e-3, higher is better" in texts(breakdown.draw_breakdown(both, far=2e-4))


def test_one_model_and_no_breakdown(both: Evaluation) -> None:
    alone = breakdown.draw_breakdown(replace(both, b=None))
    assert points(alone) == [(0.6, 0.0, False)] and "n/a: no genuine pair" in texts(alone)
    with pytest.raises(InputError, match="not broken down") as caught:
        breakdown.draw_breakdown(replace(both, a=None, b=replace(both.b, slices=())))
    assert caught.value.hint
    empty = replace(both, a=None, b=replace(both.b, slices=(part("x", NONE, 0.0),)))
    with pytest.raises(InputError, match="no rate to draw: no genuine pair"):
        breakdown.draw_breakdown(empty)


def test_confusable_people_with_the_pictures_that_look_alike(both: Evaluation, tmp_path: Path) -> None:
    faces = make_faces(tmp_path)
    some = tuple(
        Confusable(i % 6, (i + 1) % 6, 0.9 - i / 100, (int(faces.ids[4 * (i % 6)]), int(faces.ids[23])), 14 - i, 16)
        for i in range(14)
    )
    report = replace(both.b, confusable=some)
    figure = breakdown.draw_confusable(faces, both, report)
    said = texts(figure)
    assert len(figure.axes) == 2 * 12 and said.count("not readable") == 12, "the other picture cannot be read"
    assert [t for t in said if t in {f"{0.9 - i / 100:.3f}" for i in range(14)}][:2] == ["0.900", "0.890"]
    assert said.count("false of 16") == 12 and {"=p0", "=p5", "14", "3"} <= set(said) and "2" not in said
    assert any("false matches: pairs above 0.613" in t and "the first 12 of 14 listed" in t for t in said)
    assert any(t.startswith("new · my gallery") for t in said)
    inside(figure)
    one = breakdown.draw_confusable(faces, both, replace(report, confusable=some[:1]))
    inside(one)
    for other, why in ((replace(report, of="template"), "templates"), (replace(report, confusable=()), "nobody")):
        with pytest.raises(InputError, match=why):
            breakdown.draw_confusable(faces, both, other)


def test_retrieval_of_both_and_what_is_gained(both: Evaluation) -> None:
    figure = breakdown.draw_retrieval(both)
    said = texts(figure)
    assert {"P@1", "RP", "NMI", "0.900 [0.850, 0.950]", "+0.100 [+0.050, +0.150]", "n/a: not worked out"} <= set(said)
    assert any("A old · B new · N = 640 queries · 95 % intervals, identities resampled 200 ×" in t for t in said)
    ink = {t.get_text(): t.get_color() for t in figure.texts}
    assert ink["+0.100 [+0.050, +0.150]"] == INK["good"]
    assert ink["+0.020 [−0.100, +0.140]"] == INK["text2"], "coloured only where the interval leaves 0 out"
    assert points(figure)[:2] == [(0.8, -0.17, False), (0.9, 0.17, True)]
    inside(figure)
    alone = breakdown.draw_retrieval(replace(both, a=None, paired_retrieval=None))
    assert "B − A, paired" not in texts(alone)
    inside(alone)
    none = replace(searched(), measures={"P@1": Measure.none("nobody has two pictures")})
    with pytest.raises(InputError, match="no mean to draw: nobody has two pictures"):
        breakdown.draw_retrieval(replace(both, a=None, b=replace(both.b, retrieval=none, clustering=None)))
    with pytest.raises(InputError, match="nothing to draw"):
        breakdown.draw_retrieval(replace(both, a=None, b=replace(both.b, retrieval=None, clustering=None)))


def test_long_names_are_cut_before_they_meet_others(both: Evaluation) -> None:
    long = "a value of a column that somebody has named with very many letters " * 2
    named = replace(both.b, slices=(part(long, Measure(0.8, 0.7, 0.9), 0.01),), query=long, gallery=long)
    inside(breakdown.draw_breakdown(replace(both, a=None, b=named, gallery=long)))
    inside(breakdown.draw_retrieval(replace(both, b=named, gallery=long)))


def test_as_files(both: Evaluation, tmp_path: Path) -> None:
    (tmp_path / "faces").mkdir()
    faces = make_faces(tmp_path / "faces")
    pair = int(faces.ids[0]), int(faces.ids[8])
    both = replace(both, b=replace(both.b, confusable=(Confusable(0, 2, 0.9, pair, 3, 16),)))
    made = draw_charts(tmp_path / "e.svg", both, faces=faces, far=1e-2)
    names = {path.stem.removeprefix("e ") for path in made}
    assert {"breakdown", "confusable", "retrieval"} <= names and "cmc" not in names
    again = draw_charts(tmp_path / "again.svg", both, faces=faces, which=("confusable",))[0]
    assert again.read_bytes() == (tmp_path / "e confusable.svg").read_bytes()
    assert "a &lt;b&gt;mask&lt;/b&gt;" in (tmp_path / "e breakdown.svg").read_text()
    sheet.save(breakdown.draw_breakdown(both), tmp_path / "b.pdf")
