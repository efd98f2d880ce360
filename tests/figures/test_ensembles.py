"""Figures of an ensemble: they show what there is, say what it means, and refuse to draw nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex

from facelens.analyses.measure import Measure
from facelens.analyses.rejection import Recognition
from facelens.analyses.uncertainty import Member, Size, Uncertainty, Update
from facelens.errors import InputError
from facelens.figures import ensembles, quadrants
from facelens.figures.style import INK
from tests.figures.parted import make_faces
from tests.figures.test_confidence import inside

X = np.array([0.1, 0.2, 0.3, 0.4, 0.5, np.nan])
Y = np.array([0.9, 0.8, 0.5, 0.3, 0.2, 0.7])
RIGHT = np.array([0, 1, 1, 1, -1, 1], np.int8)
SIZES = tuple(
    Size(n, kind, Measure(0.9 + 0.01 * n, 0.88, 0.96), Measure.none("no stranger"), choices=3)
    for kind in ("D-T", "D-TGA")
    for n in (1, 2)
)


def words(figure: Any) -> str:
    texts = [text.get_text() for text in figure.texts]
    for axes in figure.axes:
        texts += [text.get_text() for text in axes.texts]
        legend = axes.get_legend()
        texts += [text.get_text() for text in legend.get_texts()] if legend is not None else []
    return "\n".join(texts)


def test_scatter_says_what_it_shows() -> None:
    figure = ensembles.draw_scatter(X, Y, x_name="quality", y_name="variance", right=RIGHT, limit=0.6, gallery="mine")
    said = words(figure)
    assert "Spearman −1.00 over 5 faces; higher quality, lower variance" in said
    assert "mine · 5 faces · 1 without both scores" in said and "refuse above 0.600 · 3 faces refused" in said
    assert {"wrong 1", "right 3", "no other picture 1"} <= set(said.split("\n"))
    drawn = np.concatenate([np.asarray(part.get_offsets()) for part in figure.axes[0].collections])
    assert sorted(drawn.tolist()) == sorted([x, y] for x, y in zip(X, Y) if np.isfinite(x))


def test_scatter_of_a_score_that_refuses_low_values() -> None:
    said = words(ensembles.draw_scatter(X, -Y, x_name="a", y_name="b", lower=True, limit=-0.25))
    assert "refuse below 0.250 · 1 face refused" in said and "higher a, lower b" in said


def test_sizes_have_a_line_for_each_level() -> None:
    figure = ensembles.draw_sizes(SIZES, gallery="mine", whose="ensemble of 2: a, b")
    assert figure.axes[0].get_legend() is None and "D-T: one model, several transforms" in words(figure)
    assert "ensemble of 2: a, b" in words(figure) and "TAR, higher is better" in words(figure)
    lines = {line.get_label(): np.asarray(line.get_ydata()).tolist() for line in figure.axes[0].lines}
    for key in ("D-T", "D-TGA"):
        assert lines[ensembles.DIVERSITY[key]] == pytest.approx([0.91, 0.92])
    assert "mine · 1:1" in words(figure)


def test_nothing_is_not_drawn() -> None:
    with pytest.raises(InputError, match="both scores"):
        ensembles.draw_scatter(X, np.full(6, np.nan), x_name="a", y_name="b")
    with pytest.raises(InputError, match="nothing to draw"):
        ensembles.draw_sizes(SIZES, task="1:N")
    with pytest.raises(InputError, match="nothing to draw"):
        ensembles.draw_members(made(members=()))
    with pytest.raises(InputError, match="nothing to draw"):
        ensembles.draw_update(Update("a", "b", (("1:1", NONE, NONE),)))


# Members


NONE = Measure.none("not known")
MEMBERS = (
    Member("old <b>", "net A", 8, "itself", alone=Measure(0.70, 0.65, 0.75)),
    Member("new $x$", "", 16, "ridge", alone=Measure(0.80, 0.74, 0.85), raw=Measure(0.01, 0.0, 0.02)),
    Member("third", "net B", 16, "rbt", alone=NONE, raw=NONE),
)


def made(**changes: Any) -> Uncertainty:
    values = np.linspace(0.1, 0.6, 6)
    found = Uncertainty(
        ids=np.arange(6), variance=values, apart=np.zeros((3, 6), np.float32), members=MEMBERS, target="old <b>",
        mode="m2m", fitted_people=12, fitted_faces=60, shown_people=3, together=Measure(0.78, 0.71, 0.84),
        by="variance", values=values,
    )  # fmt: skip
    return replace(found, **changes)


def points(figure: Any) -> list[tuple[float, float, str]]:
    """x, y and shape of what is marked on the rail, but for whiskers."""
    lines = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", "|", None)]
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0]), str(line.get_marker())) for line in lines]


def test_members_before_and_after_mapping() -> None:
    figure = ensembles.draw_members(made(), gallery="mine")
    said = words(figure)
    assert "Members of the ensemble: TAR, higher is better" in said
    told = "mine · N = 6 faces · model to model: in the space of old <b> · mapped by what 12 other people taught"
    assert told in said.replace("\n", " · ")
    assert {"new $x$ (best alone)", "0.800 [0.740, 0.850]", "n/a: not known", "together"} <= set(said.split("\n"))
    assert "the target itself, net A, 8 dimensions" in said and "mapped: ridge, 16 dimensions" in said
    assert "Together is 0.020 below new $x$ alone; the intervals overlap" in said
    assert points(figure) == [(0.70, 0, "o"), (0.01, 1.22, "x"), (0.80, 1, "o"), (0.78, 3, "s")]
    inside(figure)
    assert "unified: in a space of their own" in words(ensembles.draw_members(made(target="", mode="unified")))


def test_who_the_score_is_of() -> None:
    names = "ensemble of 3: old <b>, new $x$, third, "
    assert ensembles.ensemble_words(made()) == names + "in the space of old <b>"
    assert ensembles.ensemble_words(made(target="")) == names + "in a space of their own"
    assert ensembles.ensemble_words(made(members=())) == ""


def test_another_query_model_before_and_after() -> None:
    rows = (("1:1", Measure(0.7, 0.6, 0.8, n=500), Measure(0.75, 0.65, 0.85)), ("1:N", Measure(0.5, n=40), NONE))
    figure = ensembles.draw_update(Update("old", "new_1", rows), gallery="mine", far=1e-3, fpir=1e-2)
    said = words(figure).split("\n")
    assert "mine · query model old → new_1 · 1:1: N = 500 · 1:N: N = 40" in said
    assert {"1:1  TAR @ FAR 1e-3", "1:N  TPIR @ FPIR 1e-2", "after: queries of new_1", "n/a: not known"} <= set(said)
    assert points(figure) == [(0.7, 0, "o"), (0.75, 1, "o"), (0.5, 2, "o")]
    ring, disc, _ = (line for line in figure.axes[0].lines if line.get_marker() == "o")
    assert ring.get_markerfacecolor() == INK["base"] != disc.get_markerfacecolor()
    inside(figure)


# Uncertainty and correctness


def known(right: list[int], mate: list[float], other: list[float]) -> Recognition:
    n = len(right)
    none = np.full(n, -1, np.int64)
    return Recognition(
        np.array(right, np.int8), none, np.array(mate), none, np.array(other), np.zeros(n, np.float32), 0.4, "best"
    )


def test_groups_are_parted_at_the_limit() -> None:
    values = np.array([0.5, 0.1, 0.3, 0.2, 0.4, np.nan, 0.6, 0.25])
    right = [0, 0, 0, 1, 1, 1, -1, 1]
    groups = quadrants.Groups(values, known(right, [0.5] * 8, [0.6, 0.4, 0.9, 0, 0, 0, 0, 0]), 0.3)
    assert groups.places(0, 0).tolist() == [1, 2], "at the limit is sure; the surest first"
    assert groups.places(0, 1).tolist() == [0]
    assert groups.places(1, 0).tolist() == [3, 7] and groups.places(1, 1).tolist() == [4]
    assert groups.total == 6, "no value, or nobody to be taken for: in no group"
    assert groups.consequence(0, 0) == "another identity above the mate in 1 of 2"
    assert groups.consequence(0, 1) == "refusing these removes 1 of 3 errors"
    assert groups.consequence(1, 1) == "price of refusing: right faces lost" and not groups.consequence(1, 0)
    far = quadrants.Groups(values, groups.recognition, math.inf)
    assert far.places(0, 1).tolist() == [] and far.consequence(0, 1) == ""
    assert far.places(0, 0).tolist() == [1, 2, 0]


def test_quadrants_show_whom_they_count(tmp_path: Path) -> None:
    faces = make_faces(tmp_path)  # 24 of them
    faces = faces.take(np.arange(20))
    values = np.linspace(0.1, 2.0, 20)
    right = [1] * 14 + [0, 1, 0, 0, -1, 0]
    groups = quadrants.Groups(values, known(right, [0.5] * 20, [0.6] * 20), 1.65)
    figure = quadrants.draw_quadrants(faces, faces.ids, groups, name="variance", far=1e-3, whose="ensemble of 2: a, b")
    said = words(figure).split("\n")
    assert {"Sure and wrong  1", "Unsure and wrong  3", "Sure and right  15", "Unsure and right  0"} <= set(said)
    assert "5.3 % of 19" in said and "no face" in said
    assert "another identity scores above the mate" in said and "refusing these removes 3 of 4 errors" in said
    assert "sure (variance ≤ 1.650)" in said and "unsure (variance > 1.650)" in said
    assert any("1 face not judged" in text and "ensemble of 2: a, b" in text for text in said)
    assert any("N = 19 faces · recognised 1:1 at FAR 1e-3" in text for text in said)
    shown = [text for text in said if text in {f"{value:.3f}" for value in values}]
    assert shown[:2] == ["1.500", "2.000"], "the only sure and wrong one, then the least sure"
    assert len(shown) == 1 + 3 + 12, "two rows of a group at most"
    frames = [p for axes in figure.axes for p in axes.patches if to_hex(p.get_edgecolor()) == INK["bad"]]
    assert len(frames) == 1
    inside(figure)
    lower = quadrants.draw_quadrants(faces, faces.ids, quadrants.Groups(-values, groups.recognition, -0.5), lower=True)
    assert "sure (value ≥ 0.500)" in words(lower) and "lower is less sure" in words(lower)
    nobody = quadrants.Groups(values, known([-1] * 20, [0.0] * 20, [0.0] * 20), 1.0)
    with pytest.raises(InputError, match="nobody has two pictures"):
        quadrants.draw_quadrants(faces, faces.ids, nobody)
