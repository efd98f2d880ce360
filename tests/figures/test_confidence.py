"""Figures of parts and learners: they say what the numbers say, of whom, and what is not known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import QuadMesh
from matplotlib.patches import Rectangle

from facelens.analyses.measure import Measure
from facelens.analyses.universal import Effect
from facelens.errors import Cancelled, InputError
from facelens.figures import learners, part_study, sheet
from facelens.figures.confidence import Subject, draw_distributions, draw_jury, draw_maps
from facelens.figures.page import HATCH, mapped
from facelens.images.faceset import FaceSet
from facelens.session import drawing
from tests.figures.parted import SLICES, K, N, make_curve, make_faces, make_learners, make_parts, make_study
from tests.figures.parted import make_verdict as made_verdict

SUBJECT = Subject("gallery", "net", SLICES, N)


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    return make_faces(tmp_path)


def texts(figure: Any) -> list[str]:
    return [t.get_text() for t in figure.texts] + [t.get_text() for axes in figure.axes for t in axes.texts]


def meshes(figure: Any) -> list[Any]:
    """Cells of colour, without the scale."""
    found = [one for axes in figure.axes for one in axes.collections if isinstance(one, QuadMesh)]
    return [one for one in found if one.get_array().size < 64]


def hatched(figure: Any) -> int:
    return sum(isinstance(p, Rectangle) and p.get_hatch() == HATCH for axes in figure.axes for p in axes.patches)


def inside(figure: Any) -> None:
    """Nothing leaves the page."""
    figure.draw_without_rendering()
    wide, high = figure.get_size_inches() * figure.dpi
    for text in figure.texts:
        box = text.get_window_extent()
        assert box.x0 >= -1 and box.x1 <= wide + 1 and box.y0 >= -1 and box.y1 <= high + 1, text.get_text()


def test_maps_show_each_value_at_its_place_on_one_scale(faces: FaceSet) -> None:
    parts = make_parts(faces)
    figure = draw_maps(faces, parts, shown="variance", model="net")
    said = texts(figure)
    assert "A cell for each part: log σ², calibrated (PA head)" in said
    assert "my $1$ gallery · net · 4 learned parts · N = 24 faces" in said
    assert {"Low", "Medium", "High", "bright = less sure"} <= set(said)
    values, spread = parts.values["variance"], parts.spread["variance"]
    cells = [one.get_array() for one in meshes(figure)]
    low = [cell for cell in cells if abs(cell[0, 0] - values[0, 0]) < 1e-6]
    np.testing.assert_allclose(low[0], values[0].reshape(2, 2))
    np.testing.assert_allclose(cells[-1], values[-1].reshape(2, 2))
    assert {(one.norm.vmin, one.norm.vmax) for one in meshes(figure)} == {(spread.low, spread.high)}
    assert said.count("not readable") == 1
    inside(figure)


def test_maps_of_chosen_faces_hatch_what_is_not_known(faces: FaceSet) -> None:
    figure = draw_maps(faces, make_parts(faces, SLICES), shown="share", ids=faces.ids[[3, 0]])
    said = texts(figure)
    assert any("4 slices, not learned parts" in text and "2 faces chosen" in text for text in said)
    first, second = (one.get_array() for one in meshes(figure))
    assert first.mask.tolist() == [[False, True], [False, False]] and not np.ma.is_masked(second)
    assert hatched(figure) == 1 and any("hatched: no value" in text for text in said)
    assert "mean −2.68" in said, "over the parts that have a value"
    with pytest.raises(InputError, match="nothing to draw"):
        draw_maps(faces, make_parts(faces), shown="share")


def test_a_map_of_seven_parts_has_two_free_places() -> None:
    cells = mapped(np.arange(7.0))
    assert cells.shape == (3, 3) and np.isinf(cells).sum() == 2 and not np.isnan(cells).any()


def test_distributions_count_faces_and_show_both_ends(faces: FaceSet) -> None:
    parts = make_parts(faces)
    figure = draw_distributions(faces, parts, shown="variance", model="net", each=2)
    bars = [axes for axes in figure.axes if axes.containers]
    counts = parts.spread["variance"].counts
    assert len(bars) == K
    for k, axes in enumerate(bars):
        widths = np.array([bar.get_width() for bar in axes.containers[0]])
        assert widths.sum() * counts[k].max() / 2 == pytest.approx(counts[k].sum())
        assert float(axes.lines[-1].get_ydata()[0]) == pytest.approx(parts.spread["variance"].quartiles[k, 1])
    assert sum(bool(axes.images) for axes in figure.axes) == 2 * 2 * K
    assert {"part 1", "part 4", "surest", "least sure", "sure", "unsure"} <= set(texts(figure))
    inside(figure)


def test_bars_of_the_jury_add_up_to_the_score(faces: FaceSet) -> None:
    verdict, ruling = made_verdict(faces)
    figure = draw_jury(faces, make_parts(faces), verdict, ruling=ruling, match="weighted", model="net")
    bars = [patch for axes in figure.axes for box in axes.containers for patch in box]
    left_out = [bar for bar in bars if bar.get_hatch()]
    assert sum(bar.get_width() for bar in bars if not bar.get_hatch()) == pytest.approx(verdict.score)
    assert [bar.get_width() for bar in left_out] == pytest.approx([-0.2])
    said = texts(figure)
    wanted = {"0.500", "same person, right", "threshold 0.300 at FAR 1e-3", "Σ = 0.500", "left out", "+0.250"}
    assert wanted <= set(said), said
    assert any("1 of 3 disagree: 4" in text for text in said)
    wrong, _ = made_verdict(faces, same=False)
    assert "different people, wrong" in texts(draw_jury(faces, make_parts(faces), wrong))
    with pytest.raises(InputError, match="no part votes"):
        draw_jury(faces, make_parts(faces), replace(verdict, why="no part votes"))


def test_effects_are_coloured_only_where_they_are_shown() -> None:
    figure = part_study.draw_effects(make_study(), SUBJECT)
    (mesh,) = meshes(figure)
    assert mesh.get_array().mask.tolist() == [[False, False, True, False], [True, True, True, True]]
    assert mesh.get_array()[0, 0] == pytest.approx(-0.4), "what makes less sure is red"
    assert hatched(figure) == 1
    said = texts(figure)
    assert said.index("role = degraded") < said.index("blur"), "the strongest first"
    assert {"+0.40", "−0.30", "−0.03", "unsure +0.40", "sure −0.40"} <= set(said)
    inside(figure)
    share = part_study.draw_effects(make_study("share"), SUBJECT)
    assert meshes(share)[0].get_array()[0, 0] == pytest.approx(0.4)


def test_correlation_leaves_out_a_part_with_itself() -> None:
    found = make_study().correlation
    assert found is not None
    figure = part_study.draw_correlation(found, SUBJECT)
    for mesh, mean in zip(meshes(figure), (0.5, 0.05)):
        assert mesh.get_array().mask.diagonal().all() and mesh.get_array().mean() == pytest.approx(mean)
    assert {"mean 0.500 [0.450, 0.550]", "after a random rotation: mean 0.480", ".05"} <= set(texts(figure))
    inside(figure)
    alone = part_study.draw_correlation(replace(found, centre=None), SUBJECT)
    assert hatched(alone) == 1 and len(meshes(alone)) == 1


def test_single_parts_stand_beside_all_parts() -> None:
    figure = part_study.draw_without(make_study(), SUBJECT, far=1e-3)
    only, _, without, unknown = figure.axes
    assert [bar.get_height() for bar in only.patches] == pytest.approx([0.3] * K)
    dots = [float(box.lines[0].get_ydata()[0]) for box in without.containers]
    assert dots == pytest.approx([0.7, 0.72, 0.74, 0.76])
    assert without.lines[-1].get_ydata()[0] == pytest.approx(0.8) and "all 0.800" in texts(figure)
    assert "TAR @ FAR 1e-3, all but one part, higher is better" in texts(figure)
    assert sum(patch.get_hatch() == HATCH for patch in unknown.patches) == K
    inside(figure)


def test_recall_is_drawn_with_its_orders() -> None:
    curve = make_curve()
    figure = part_study.draw_recall(curve, SUBJECT)
    drawn = [line.get_ydata().tolist() for line in figure.axes[0].lines if line.get_linewidth() > 1.5]
    assert sorted(drawn) == curve.ordered.tolist()
    assert {"Recall@1", "Recall@4", "slices used"} <= set(texts(figure))
    assert any("20 orders" in text and "12 queries" in text for text in texts(figure))
    inside(figure)


def test_specialists_stand_in_the_row_of_their_learner(faces: FaceSet) -> None:
    found = make_learners(faces)
    assert learners.others(found, 0).tolist() == [40, 3] and learners.others(found, 2).tolist() == []
    figure = learners.draw_specialists(faces, found, each=4)
    said = texts(figure)
    assert {"Learner 1", "2 faces it alone finds", "others beyond rank 30: 1", "others 40", "Recall@1 0.120"} <= set(
        said
    )
    assert said.count("none: others find all that it finds") == 2
    assert any("divided (4 learners)" in text for text in said)
    assert any("against =whole (4 slices, not learned parts)" in text for text in said)
    assert sum(bool(axes.images) for axes in figure.axes) == 6, "queries and the faces found"
    inside(figure)
    nobody = replace(found, specialists=(faces.ids[:0],) * K)
    with pytest.raises(InputError, match="nothing to draw"):
        learners.draw_specialists(faces, nobody)


def test_the_table_of_learners(faces: FaceSet) -> None:
    rows = learners.rows(make_learners(faces))
    assert rows[1] == ["learner 2", "3 to 4", "0.220 [0.170, 0.270]", "0.200 [0.150, 0.250]"]
    assert rows[4][2:] == ["0.270 [0.220, 0.320]", "0.250 [0.200, 0.300]"]
    assert rows[5][:3] == ["all together", "1 to 8", "0.720 [0.670, 0.770]"]
    figure = learners.draw_table(faces, make_learners(faces))
    caption = " ".join(texts(figure))
    assert "difference: each alone, on average +0.020 [−0.030, +0.070]" in caption
    inside(figure)
    assert len(learners.rows(make_learners(faces, baseline=False))[0]) == 3


def test_recall_against_dimensions_and_groups(faces: FaceSet) -> None:
    found = make_learners(faces)
    figure = learners.draw_dimensions(faces, found)
    (axes,) = figure.axes
    assert len(axes.lines) == 4 and [t.get_text() for t in axes.get_xticklabels()] == ["2", "4", "6", "8"]
    dashed = [line for line in axes.lines if line.is_dashed()]
    assert len(dashed) == 2, "the baseline"
    assert found.baseline is not None
    other = replace(found, baseline=replace(found.baseline, layout=replace(SLICES, width=4)))
    drawn = [line for line in learners.draw_dimensions(faces, other).axes[0].lines if line.is_dashed()]
    assert drawn[0].get_xdata().tolist() == [4, 8, 12, 16], "at its own dimensions"
    assert learners.rows(other)[1][1] == "3 to 4 / 5 to 8"
    inside(figure)
    groups = learners.draw_clusters(faces, found)
    (mesh,) = meshes(groups)
    assert mesh.get_array()[0, 0] == pytest.approx(0.8) and hatched(groups) == K + K, "an empty group, and people"
    inside(groups)
    with pytest.raises(InputError, match="not worked out yet"):
        learners.draw_clusters(faces, replace(found, clusters=None))


def test_the_same_figure_gives_the_same_file(faces: FaceSet, tmp_path: Path) -> None:
    verdict, ruling = made_verdict(faces)
    made = []
    for name in ("a", "b"):
        figure = draw_jury(faces, make_parts(faces), verdict, ruling=ruling)
        made.append(sheet.save(figure, tmp_path / f"{name}.png", paper=sheet.Paper(dpi=40)).read_bytes())
    assert made[0] == made[1] and len(made[0]) > 1000


def test_what_is_not_worked_out_yet_is_left_out(faces: FaceSet, tmp_path: Path) -> None:
    parts, study = make_parts(faces), replace(make_study(), correlation=None, without=(), curve=None)
    written = drawing.draw_confidence(
        tmp_path / "f.svg", faces, parts, study, which=drawing.CONFIDENCE[3:], model="net"
    )
    assert [path.name for path in written] == ["f attributes.svg", "f attribute curves.svg"]
    with pytest.raises(InputError, match="No pair is chosen"):
        drawing.draw_confidence(tmp_path / "f.svg", faces, parts, study, which=["jury"])
    (one,) = drawing.draw_learners(tmp_path / "l.svg", faces, make_learners(faces, groups=False), which=["table"])
    assert "all together" in one.read_text()


def test_drawing_can_be_stopped(faces: FaceSet) -> None:
    def tick(done: int, total: int, note: str = "") -> None:
        if done == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        draw_maps(faces, make_parts(faces), shown="variance", tick=tick)


def test_curves_of_the_attributes_that_move_most() -> None:
    def effect(column: str, group: str, *values: float) -> Effect:
        strength = tuple(Measure(value, value - 0.05, value + 0.05, 20) for value in values)
        bins = 2 if group else 3
        middle = np.arange(K * bins, dtype=float).reshape(K, bins)
        return Effect(
            column, group, 20, strength, np.zeros(0) if group else np.array([-5.0, 0.0, 2.5, 9.0]), middle,
            np.stack([middle - 1, middle + 2], -1),
        )  # fmt: skip

    effects = (effect("yaw", "", 0.1, -0.2, 0.3, 0.0), effect("role", "a <mask>", 0.2, 0.9, 0.1, 0.1))
    study = replace(make_study(), effects=effects)
    figure = part_study.draw_effect_curves(study, SUBJECT)
    said = texts(figure)
    assert said.index("role = a <mask>, slice 2") < said.index("yaw, slice 3"), "the strongest first"
    assert {"ρ +0.90 [+0.85, +0.95]", "ρ +0.30 [+0.25, +0.35]"} <= set(said)
    group, numbers = figure.axes
    assert [one.get_text() for one in group.get_xticklabels()] == ["others", "a <mask>"]
    assert [one.get_text() for one in numbers.get_xticklabels()] == ["−5", "0", "2.5", "9"]
    (line,) = (one for one in numbers.lines if one.get_linewidth() == pytest.approx(1.7))
    np.testing.assert_allclose(line.get_ydata(), [6, 7, 8])  # of part 3
    assert len(numbers.lines) == K, "the others are there too"
    inside(figure)
    many = replace(study, effects=tuple(effect(f"column_{i}", "", 0.5, 0.1, 0.1, 0.1) for i in range(9)))
    assert len(part_study.draw_effect_curves(many, SUBJECT).axes) == part_study.CURVES
    with pytest.raises(InputError, match="no attributes"):
        part_study.draw_effect_curves(replace(study, effects=()), SUBJECT)
