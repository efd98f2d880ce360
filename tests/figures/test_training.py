"""Figures of a training: every row is on its curve, names stand beside their curves, and what a kind does not tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.errors import InputError
from facelens.features import recipe as recipes
from facelens.features.confidences import spread
from facelens.figures import sheet, training
from facelens.session.drawing import draw_training
from facelens.session.training import Run
from tests.figures.test_confidence import inside, texts

TOLD = ["universal $x$", "on <b>mine</b>", "seed 0"]


def rows(n: int = 6, *, terms: tuple[float, ...] = (2.0, 1.0), steps: int = 60, **facts: Any) -> list[dict[str, Any]]:
    made = []
    for i in range(n):
        row: dict[str, Any] = {
            "step": 10 * (i + 1), "steps": steps, "rate": 0.1 / (i + 1),
            "terms": {"loss": sum(terms) / (i + 1), **{f"term_{k}": term / (i + 1) for k, term in enumerate(terms)}},
            "facts": facts,
        }  # fmt: skip
        if i % 2:
            row["validation"] = {"precision_at_1": 0.5 + i / 20, "tar_at_far_1e-2": 0.1 + i / 20}
        made.append(row)
    return made


def drawn(figure: Any, axes: int) -> dict[int, np.ndarray]:
    return {i: np.array(line.get_xydata()) for i, line in enumerate(figure.axes[axes].lines)}


def test_every_row_is_on_its_curve() -> None:
    figure = training.draw_curves(rows(), TOLD)
    said = texts(figure)
    titles = ["terms of the loss, lower is better", "held-out people, higher is better", "learning rate"]
    assert [one for one in said if one in titles] == titles and "universal $x$ · on <b>mine</b> · seed 0" in said
    assert {"loss 0.5", "term 0 0.3333", "term 1 0.1667", "P@1 0.75", "TAR @ FAR 1e-2 0.35"} <= set(said)
    first = drawn(figure, 0)
    np.testing.assert_allclose(first[2], [[10 * (i + 1), 3 / (i + 1)] for i in range(6)])  # the loss is on top
    checks = drawn(figure, 1)
    np.testing.assert_allclose(checks[0], [[20, 0.55], [40, 0.65], [60, 0.75]])
    lead, *others = sorted(figure.axes[0].lines, key=lambda line: -line.get_linewidth())
    assert lead.get_color() == "#1b1b1b" and len({line.get_color() for line in others}) == 2
    assert len({(line.is_dashed(), line.get_color()) for line in others}) == 2, "never told by colour alone"
    assert any("60 steps" in one for one in said)
    inside(figure)


def test_names_keep_their_values_where_they_are_cut() -> None:
    some = rows()
    for row in some:
        row["terms"]["a_term_with_a_name_that_nobody_can_say_in_one_breath"] = 0.25
    figure = training.draw_curves(some, TOLD)
    assert any(one.startswith("a term with") and one.endswith("… 0.25") for one in texts(figure))
    inside(figure)


def test_terms_that_lie_far_apart_are_logarithmic() -> None:
    some = training.curves(rows(terms=(900.0, 0.5)), "terms", lead="loss")
    assert training.far_apart(some) and not training.far_apart(some[:1])
    figure = training.draw_curves(rows(terms=(900.0, 0.5)), TOLD)
    assert "terms of the loss, lower is better (log)" in texts(figure)
    np.testing.assert_allclose(drawn(figure, 0)[0][0], [10, np.log10(900.0)])
    below = rows(terms=(900.0, -0.5))
    assert "terms of the loss, lower is better" in texts(training.draw_curves(below, TOLD)), "no logarithm of those"


def test_hidden_curves_are_left_out_and_the_others_keep_their_colours() -> None:
    whole = training.draw_curves(rows(), TOLD)
    colours = {line.get_color(): np.array(line.get_ydata()) for line in whole.axes[0].lines}
    figure = training.draw_curves(rows(), TOLD, hidden=("terms term_0", "validation precision_at_1", training.RATE))
    said = texts(figure)
    assert {"loss 0.5", "term 1 0.1667", "TAR @ FAR 1e-2 0.35"} <= set(said) and "learning rate" not in said
    assert not any(one.startswith(("term 0", "P@1")) for one in said) and len(figure.axes) == 2
    assert len(figure.axes[0].lines) == 2
    for line in figure.axes[0].lines:
        np.testing.assert_array_equal(colours[line.get_color()], line.get_ydata())
    assert any("3 more curves are not drawn" in one for one in said)
    inside(figure)
    every = [f"terms {name}" for name in ("loss", "term_0", "term_1")]
    with pytest.raises(InputError, match="All curves are hidden"):
        training.draw_curves(rows(1), TOLD, hidden=[*every, training.RATE])
    clusters = rows(sizes=[30, 10], kept=0.75, stability=0.5)
    said = texts(training.draw_clusters(clusters, TOLD, hidden=("facts stability", "sizes 1")))
    assert "kept their learner 0.75" in said and "learner 2 0.25" in said
    assert not any(one.startswith(("NMI", "learner 1")) for one in said)


def test_one_row_is_a_dot_and_none_is_said() -> None:
    one = training.draw_curves(rows(1), TOLD)
    assert {line.get_marker() for line in one.axes[0].lines} == {"o"}
    assert any("10 of 60 steps: it was not finished" in text for text in texts(one))
    inside(one)
    with pytest.raises(InputError, match="told nothing yet"):
        training.draw_curves([], TOLD)


def test_long_trainings_are_averaged() -> None:
    steps, values = training.thinned(np.arange(1000.0), np.arange(1000.0), 100)
    assert len(values) == 100 and values[0] == pytest.approx(4.5) and steps[0] == 9 and steps[-1] == 999
    many = training.curves(rows(3000, steps=30_000), "terms")[0]
    assert len(many.values) <= training.POINTS


def test_what_is_no_number_is_no_curve() -> None:
    some = rows(phase="divided", sizes=[3, 4], kept=0.5, beta=1.2, odd=float("nan"))
    assert [one.name for one in training.curves(some, "facts", but=training.TOLD_APART)] == ["beta"]
    assert "facts" in texts(training.draw_curves(some, TOLD))


# Confidences


def told(k: int = 3) -> dict[str, Any]:
    draws = np.random.default_rng(0)
    groups = {"clean": draws.uniform(20, 60, (50, k)), "blur": draws.uniform(5, 30, (20, k))}
    return spread({**groups, "occlusion": draws.uniform(5, 30, (10, k))})


def test_each_part_against_each_variation() -> None:
    some = rows(confidences=told())
    figure = training.draw_confidences(some, TOLD)
    said = texts(figure)
    assert {"clean, N = 50 against blur, N = 20", "clean, N = 50 against occlusion, N = 10"} <= set(said)
    assert said.count("1") == said.count("3") == 2 and any("held-out faces at step 60" in one for one in said)
    first = figure.axes[0]
    medians = [line for line in first.lines if line.get_linewidth() == pytest.approx(1.3)]
    expected = [told()["groups"][name]["quantiles"][k][2] for k in range(3) for name in ("clean", "blur")]
    np.testing.assert_allclose([10 ** line.get_ydata()[0] for line in medians], expected, rtol=1e-6)
    hatched = [bars for bars in first.containers if bars[0].get_hatch()]
    assert len(hatched) == 3 == len(first.containers) - len(hatched), "half of them are hatched"
    width = sum(bar.get_width() for bar in hatched[0])
    assert width > 0 > sum(bar.get_width() for bar in first.containers[0]), "to the right, and to the left"
    inside(figure)
    alone = {**told(), "groups": {"clean": told()["groups"]["clean"]}}
    inside(training.draw_confidences(rows(confidences=alone), TOLD))
    with pytest.raises(InputError, match="no confidences"):
        training.draw_confidences(rows(), TOLD)


@pytest.mark.parametrize("k", [1, 16, 64])
def test_as_many_parts_as_there_are(k: int) -> None:
    inside(training.draw_confidences(rows(confidences=told(k)), TOLD))


# Clusters


def test_clusters_keep_their_learners() -> None:
    some = rows(sizes=[30, 10], kept=0.75, stability=0.5, phase="divided")
    some[-1]["facts"] = {**some[-1]["facts"], "phase": "merged"}
    some[-2]["facts"] = {**some[-2]["facts"], "phase": "merged"}
    figure = training.draw_clusters(some, TOLD)
    said = texts(figure)
    assert {"kept their learner 0.75", "NMI with those before 0.5", "learner 1 0.75", "learner 2 0.25"} <= set(said)
    assert any("grey: merged" in one for one in said)
    (zone,) = figure.axes[0].patches
    assert zone.get_x() == 50 and zone.get_x() + zone.get_width() == 60
    inside(figure)
    once = training.draw_clusters(rows(sizes=[30, 10]), TOLD)
    assert "share of all faces" in texts(once) and "share of faces, NMI; 1 is stable" not in texts(once)
    with pytest.raises(InputError, match="divides no faces"):
        training.draw_clusters(rows(), TOLD)


# Files


def test_of_several_stages_one_is_drawn(tmp_path: Path) -> None:
    every = [{**row, "stage": "phi1"} for row in rows(6)] + [{**row, "stage": "phi2"} for row in rows(2)]
    run = Run(tmp_path, recipes.load("sequential"), None, "my $gallery$", rows=tuple(every))
    (last,) = draw_training(tmp_path / "a.svg", run, which=("curves",))
    (first,) = draw_training(tmp_path / "b.svg", run, stage="phi1", which=("curves",))
    assert "stage phi2 · on my $gallery$" in last.read_text() and "20 of 60 steps" in last.read_text()
    assert "stage phi1" in first.read_text() and "60 steps" in first.read_text()
    drawn = Run(tmp_path, recipes.load("universal"), rows=tuple(rows(confidences=told())))
    made = draw_training(tmp_path / "t.svg", drawn)
    assert [path.name for path in made] == ["t curves.svg", "t confidences.svg"], "there are no learners"
    assert "on drawn people" in made[0].read_text()
    again = draw_training(tmp_path / "u.svg", drawn)
    assert [one.read_bytes() for one in made] == [two.read_bytes() for two in again]
    sheet.save(training.draw_curves(rows(), TOLD), tmp_path / "c.pdf")
