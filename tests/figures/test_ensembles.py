"""Figures of an ensemble: they show what there is, say what it means, and refuse to draw nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from facelens.analyses.measure import Measure
from facelens.analyses.uncertainty import Size
from facelens.errors import InputError
from facelens.figures import ensembles

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
    figure = ensembles.draw_sizes(SIZES, gallery="mine")
    lines = {line.get_label(): np.asarray(line.get_ydata()).tolist() for line in figure.axes[0].lines}
    for key in ("D-T", "D-TGA"):
        assert lines[ensembles.DIVERSITY[key]] == pytest.approx([0.91, 0.92])
    assert "mine · 1:1" in words(figure)


def test_nothing_is_not_drawn() -> None:
    with pytest.raises(InputError, match="both scores"):
        ensembles.draw_scatter(X, np.full(6, np.nan), x_name="a", y_name="b")
    with pytest.raises(InputError, match="nothing to draw"):
        ensembles.draw_sizes(SIZES, task="1:N")
