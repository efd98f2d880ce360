"""Figures of a match: what is drawn is what was found, rows are the query's, and shapes tell right from wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.patches import PathPatch

from facelens.errors import InputError
from facelens.figures import reranking, transport
from facelens.images.faceset import FaceSet
from facelens.session.drawing import draw_match
from facelens.session.matched import Subject
from tests.figures.matched import PLAN, make_faces, make_pair, make_searched, make_sweep
from tests.figures.test_confidence import inside, texts


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    return make_faces(tmp_path)


@pytest.fixture
def subject(faces: FaceSet) -> Subject:
    return Subject(faces, make_searched(faces), PLAN, int(faces.ids[0]))


def pictures(figure: Any, shape: tuple[int, ...]) -> list[np.ndarray]:
    """What is drawn as cells of such a shape."""
    arrays = [np.asarray(image.get_array()) for axes in figure.axes for image in axes.images]
    return [array for array in arrays if array.shape == shape]


def marks(figure: Any) -> list[str]:
    """Shapes of what is right and wrong, in order."""
    drawn = [line.get_marker() for axes in figure.axes for line in axes.lines]
    return [one for one in drawn if isinstance(one, str) and one in "os"]


def test_the_flow_figure_shows_the_plan_as_it_is(faces: FaceSet, subject: Subject) -> None:
    pair = make_pair(faces, 1)
    figure = transport.draw_flow(subject.match(pair), plan=PLAN, told=subject.told)
    (plan,) = pictures(figure, (4, 6))
    np.testing.assert_array_equal(plan, pair.found.flow)  # rows are the query's patches
    (u,), (v,) = pictures(figure, (2, 2)), pictures(figure, (2, 3))
    np.testing.assert_allclose(u.ravel(), 4 * pair.found.u)
    np.testing.assert_allclose(v.ravel(), 6 * pair.found.v)
    said = " ".join(texts(figure))
    distance = 0.5 * pair.found.emd + 0.5 * 0.55
    for told in (
        "my $1$ gallery · net · 2 × 2 patches", "searched among the 23 others, its own picture left out; shortlist 4",
        "α 0.50 · weights APC · exact solver", f"EMD {pair.found.emd:.3f}", "cosine 0.450", f"distance {distance:.3f}",
        "marginal error 2e-16", "mask painted", "rank 3 → 1", "rows = query", "100 % of the mass",
    ):  # fmt: skip
        assert told in said, told
    assert marks(figure) == ["o", "o"]  # on the face and beside the distance
    hatched = [p for axes in figure.axes for p in axes.patches if p.get_hatch()]
    assert len(hatched) == 3 * 1 + 2 * 2  # a patch in flow, weights and plan; two of the gallery face in the last two
    inside(figure)


def test_streams_go_from_patch_to_patch(faces: FaceSet, subject: Subject) -> None:
    pair = make_pair(faces, 1)
    found = transport.strongest(pair.found, cut=0.3, most=2)
    assert found.ends.tolist() == [[1, 0], [0, 5]] and (found.of, found.below) == (3, 1)
    assert found.carried == pytest.approx(0.65)
    even = replace(pair.found, flow=np.eye(4, 6) / 4)
    nearest = np.argsort(np.diag(even.distance[:, :4]))[:3]
    assert transport.strongest(even, most=3).ends[:, 0].tolist() == nearest.tolist()  # of equals the nearest
    fan = transport.strongest(pair.found, patch=("query", 0))
    assert fan.ends.tolist() == [[0, 5], [0, 4]] and fan.shares.tolist() == pytest.approx([0.75, 0.25])
    to = transport.strongest(pair.found, patch=("gallery", 4))
    assert to.ends.tolist() == [[0, 4]] and to.shares.tolist() == pytest.approx([1.0])

    figure = transport.draw_flow(subject.match(pair), plan=PLAN, told=[], patch=("query", 0))
    said = texts(figure)
    assert {"75 %", "25 %"} <= set(said) and any(one.startswith("Patch row 1, column 1 (") for one in said)
    drawn = [p for axes in figure.axes for p in axes.patches if isinstance(p, PathPatch)]
    widths = [p.get_linewidth() for p in drawn[1::2]]  # each on a dark edge
    assert widths[1] == pytest.approx(3 * widths[0])  # the stronger one comes last, on top
    paths = [p.get_path().vertices for p in drawn[1::2]]
    assert all(path[0][0] < path[-1][0] for path in paths)  # from the query at the left to the gallery face


def test_regions_add_up(faces: FaceSet, subject: Subject) -> None:
    mate, other = make_pair(faces, 1), make_pair(faces, 4)
    other = replace(other, found=replace(other.found, distance=other.found.distance + 0.1, emd=other.found.emd + 0.1))
    figure = transport.draw_regions(subject.match(mate), subject.match(other), plan=PLAN, told=subject.told)
    said = texts(figure)
    assert {f"{mate.found.emd:.3f}", "−0.100", "sum", "this mate", "nearest other"} <= set(said)
    assert marks(figure) == ["o", "s"]
    inside(figure)
    alone = texts(transport.draw_regions(subject.match(mate), plan=PLAN, told=[]))
    assert "−0.100" not in alone and "nearest other" not in alone


def test_the_ranking_before_and_after(faces: FaceSet, subject: Subject) -> None:
    assert subject.searched is not None
    asked: dict[str, Any] = {"query": subject.query(), "plan": PLAN, "told": subject.told, "first": (3, 1)}
    right = subject.searched.right
    figure = reranking.draw_ranking(faces, subject.searched.found, right=right, **asked)
    said = texts(figure)
    assert [one for one in said if "from" in one or one == "same rank"] == [
        "▲ from 3", "same rank", "▼ from 1", "same rank",
    ]  # fmt: skip
    assert "3 → 1" in said and {"0.600", "0.300"} <= set(said)
    #  the query's mark, then row by row before and after: wrong, right, wrong, wrong, right, wrong, wrong, wrong
    assert marks(figure) == ["o", "s", "o", "s", "s", "o", "s", "s", "s"]
    inside(figure)
    short = texts(reranking.draw_ranking(faces, subject.searched.found, right=right, top=2, **asked))
    assert "first right face at rank 3" in short and "▲ from 3" in short
    unknown = reranking.draw_ranking(faces, subject.searched.found, right=None, **asked)
    assert not marks(unknown) and "3 → 1" not in texts(unknown)


def test_the_sweep_has_a_curve_for_each_weighting(faces: FaceSet, subject: Subject) -> None:
    sweep = make_sweep(faces)
    figure = reranking.draw_sweep(sweep, plan=PLAN, told=subject.swept(sweep, (2, 2)))
    axes = figure.axes[0]
    curves = [line for line in axes.lines if len(line.get_xdata()) == 3]
    for line, row in zip(curves, sweep.rows, strict=True):
        values = [one.value for one in row.measures["P@1"][1:]]
        np.testing.assert_allclose(np.array(line.get_xydata()), np.column_stack([row.alphas[1:], values]))
    assert {(line.get_marker(), line.get_color()) for line in curves} == {("o", "#0a63c9"), ("s", "#8a6100")}
    dotted = [line for line in axes.lines if line.get_linestyle() == ":" or line.get_ydata()[0] == 0.6]
    assert any(set(np.ravel(line.get_ydata())) == {0.6} for line in dotted)  # by cosine alone
    said = texts(figure)
    assert (
        "APC, α 0.50: 0.800 [0.750, 0.840]" in said
        and "my $1$ gallery · net · 2 × 2 patches · 2 of 3 queries · mask" in said
    )
    assert any("N = 2 queries" in one and "3 faces are searched for" in one for one in said)
    assert [one.get_text() for one in axes.get_xticklabels()] == ["0", "0.5", "1", "sum"]
    inside(figure)


def test_figures_as_files(faces: FaceSet, tmp_path: Path) -> None:
    searched, pair, query = make_searched(faces), make_pair(faces, 1), int(faces.ids[0])
    made = draw_match(tmp_path / "m.svg", faces, searched, pair, plan=PLAN, query=query)
    assert [path.name for path in made] == ["m flow.svg", "m ranking.svg", "m regions.svg"]  # nothing was swept
    assert "Why two faces match" in (tmp_path / "m flow.svg").read_text()
    with pytest.raises(InputError, match="All queries are not searched for"):
        draw_match(tmp_path / "m.svg", faces, searched, pair, plan=PLAN, which=("sweep",))
    with pytest.raises(InputError, match="No match"):
        draw_match(tmp_path / "m.svg", faces, None, None, plan=PLAN, which=("flow", "ranking"))
