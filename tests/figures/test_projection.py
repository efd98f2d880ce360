"""Figures of a map: every face where it is, in the colours and shapes that the page has, and what it is made of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection

from facelens.analyses.agreement import Alike
from facelens.analyses.flips import UNSEARCHED
from facelens.analyses.measure import Measure
from facelens.analyses.nearest import Links
from facelens.analyses.plan import ProjectionPlan
from facelens.analyses.projection import Projection
from facelens.errors import InputError
from facelens.figures import hues, projection, sheet
from facelens.figures.projection import Look, draw_map, draw_side_by_side
from facelens.images.faceset import FaceSet, Labels
from facelens.session import drawing
from tests.figures.test_confidence import inside

N = 30


@pytest.fixture
def faces() -> FaceSet:
    paths = [f"p{i % 5}/{i:02}.png" for i in range(N)]
    found = FaceSet.build("made $up$", Path("."), paths=paths, identities=[f"p_{i % 5}" for i in range(N)])
    roles = Labels.of(["clear", "degraded", None][i % 3] for i in range(N))
    return found.with_columns({"role": roles, "blur": np.where(np.arange(N) % 4 == 0, np.nan, np.arange(N) / N)})


def one(faces: FaceSet) -> Projection:
    points = np.random.default_rng(0).normal(size=(N, 2)).astype(np.float32)
    plan = ProjectionPlan(model="net")
    return Projection(faces.ids, points, plan, "umap", True, (0.4, 0.2), Measure(0.93, n=N), notes=("3 are left out.",))


def two(faces: FaceSet) -> Projection:
    made = one(faces)
    other = made.points + np.float32(0.3)
    plan = replace(made.plan, other="new")
    alike = Alike(0.6, 0.0, 4.0)
    return replace(made, plan=plan, other=other, how="joint", alike=alike, moved=np.linspace(0, 1, N, dtype=np.float32),
                   other_quality=Measure(0.95, n=N))  # fmt: skip


def texts(figure: Any) -> str:
    return "\n".join([t.get_text() for t in figure.texts] + [t.get_text() for a in figure.axes for t in a.texts])


def drawn(axes: Any) -> np.ndarray:
    """Where dots are."""
    found = [np.asarray(each.get_offsets()) for each in axes.collections if isinstance(each, PathCollection)]
    return np.concatenate(found)


def maps(figure: Any) -> list[Any]:
    return [axes for axes in figure.axes if any(isinstance(each, PathCollection) for each in axes.collections)]


def as_set(points: np.ndarray) -> set[tuple[float, float]]:
    return {(round(float(x), 4), round(float(y), 4)) for x, y in points}


def test_every_face_is_a_dot_in_the_colour_of_its_name(faces: FaceSet) -> None:
    found = one(faces)
    figure = draw_map(faces, found)
    (axes,) = maps(figure)
    assert as_set(drawn(axes)) == as_set(found.points)
    colours = {tuple(np.round(shade[:3], 3)) for shade in axes.collections[0].get_facecolor()}
    assert colours == {tuple(np.round(hues.person(f"p_{i}"), 3)) for i in range(5)}
    said = texts(figure)
    assert "UMAP of net" in said and "15 neighbours" in said and "trustworthiness 0.93" in said
    assert "3 are left out." in said and "N = 30 faces of 5 people" in said and "made $up$" in said
    assert not axes.collections[0].get_rasterized()


def test_two_models_side_by_side_with_lines_between(faces: FaceSet) -> None:
    found = two(faces)
    figure = draw_map(faces, found)
    old, new = maps(figure)
    assert as_set(drawn(old)) == as_set(found.points) and as_set(drawn(new)) == as_set(found.other)
    assert old.get_xlim() == new.get_xlim() and old.get_ylim() == new.get_ylim()
    (lines,) = [each for each in old.collections if isinstance(each, LineCollection)]
    ends = np.array([path.vertices for path in lines.get_paths()])
    np.testing.assert_allclose(ends[:, 0], found.points, atol=1e-6)
    np.testing.assert_allclose(ends[:, 1], found.other, atol=1e-6)
    said = texts(figure)
    assert "Old  net" in said and "New  new" in said and "fitted on both models" in said and "0.93 and 0.95" in said


def test_gained_and_lost_have_their_marks_over_the_same(faces: FaceSet) -> None:
    change = np.zeros(N, np.int8)
    change[[1, 2]], change[3] = 1, -1
    figure = draw_map(faces, two(faces), Look(by="change", change=change))
    dots = [each for each in maps(figure)[0].collections if isinstance(each, PathCollection)]
    assert [len(each.get_offsets()) for each in dots] == [N - 3, 2, 1], "same, gained, lost"
    assert "gained 2" in texts(figure) and "lost 1" in texts(figure) and f"same {N - 3}" in texts(figure)


def test_faces_that_did_not_search_are_hollow_and_counted_apart(faces: FaceSet) -> None:
    change = np.zeros(N, np.int8)
    change[[1, 2]], change[[3, 4, 5]] = 1, UNSEARCHED
    figure = draw_map(faces, two(faces), Look(by="change", change=change))
    dots = [each for each in maps(figure)[0].collections if isinstance(each, PathCollection)]
    assert [len(each.get_offsets()) for each in dots] == [3, N - 5, 2] and len(dots[0].get_facecolors()) == 0
    assert "not searched 3" in texts(figure) and f"same {N - 5}" in texts(figure)


@pytest.mark.parametrize(
    ("look", "said"),
    [
        (Look(by="role"), ["clear 10", "degraded 10"]),
        (Look(by="blur"), ["blur", "bright = higher"]),
        (Look(by="moved"), ["moved: 1 − cosine of old and new vector"]),
        (Look(by="unsure", values=np.arange(N, dtype=np.float32), values_title="log variance"), ["log variance"]),
        (Look(shape="role", augmented=frozenset({"degraded"})), ["original", "augmented"]),
        (Look(focus=frozenset({"p_1"})), ["p 1 6"]),
        (Look(by=""), ["UMAP"]),
    ],
)
def test_what_colours_and_shapes_say(faces: FaceSet, look: Look, said: list[str]) -> None:
    figure = draw_map(faces, two(faces), look)
    assert all(words in texts(figure) for words in said), texts(figure)
    assert len(drawn(maps(figure)[0])) == N
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    for text in figure.texts:
        box = text.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= width + 1 and box.y0 >= 0 and box.y1 <= height + 1, text.get_text()


def test_selected_people_are_ringed_and_named(faces: FaceSet) -> None:
    figure = draw_map(faces, one(faces), Look(selection=faces.ids[[0, 5]]))
    assert "p 0" in texts(figure) and len(maps(figure)[0].collections[-1].get_offsets()) == 2


def test_lines_lead_to_the_nearest_in_truth(faces: FaceSet) -> None:
    found, ids = one(faces), faces.ids
    pairs = np.column_stack([np.full(4, ids[3]), ids[[8, 13, 4, 29]]])
    near = Links(pairs, np.array([True, True, False, False]), np.ones(4, np.float32))
    part = replace(found, ids=ids[:29], points=found.points[:29])  # the last is not on the map
    figure = draw_map(faces, part, Look(), [near])
    lines = {each.get_zorder(): each for each in maps(figure)[0].collections if isinstance(each, LineCollection)}
    assert len(lines) == 1
    every = [each for each in maps(figure)[0].collections if isinstance(each, LineCollection)]
    ends = [as_set(np.array([path.vertices[1] for path in each.get_paths()])) for each in every]
    assert ends == [as_set(found.points[[8, 13]]), as_set(found.points[[4]])]
    starts = {tuple(path.vertices[0]) for each in every for path in each.get_paths()}
    assert starts == {tuple(found.points[3])}
    assert every[0].get_linestyle() != every[1].get_linestyle(), "never told by colour alone"
    said = texts(figure)
    assert "ring: p 3" in said and "4 nearest vectors: 2 of the same person" in said
    assert "nearest, same person" in said and "nearest, another person" in said
    inside(figure)
    unknown = draw_map(faces, found, Look(), [replace(near, right=None)])
    assert "4 nearest vectors" in texts(unknown) and "person" not in texts(unknown).split("\n4 nearest")[-1]


def test_lines_to_the_nearest_by_two_models(faces: FaceSet) -> None:
    none = Links(np.zeros((0, 2), np.int64), None, np.zeros(0, np.float32))
    near = Links(faces.ids[None, [3, 8]], np.array([True]), np.ones(1, np.float32))
    found = two(faces)
    figure = draw_map(faces, found, Look(), [none, near])
    [first, second] = maps(figure)
    assert sum(each.get_zorder() == 4 for each in first.collections) == 0
    [line] = [each for each in second.collections if each.get_zorder() == 4]
    assert found.other is not None
    np.testing.assert_allclose(line.get_paths()[0].vertices, found.other[[3, 8]])
    assert "new: 1 nearest vector: 1 of the same person" in texts(figure) and "net: " not in texts(figure)
    inside(figure)
    assert texts(draw_map(faces, found, Look(), [none, none])) == texts(draw_map(faces, found, Look()))


def test_many_dots_are_a_picture_in_the_file(faces: FaceSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vector = drawing.draw_projection(tmp_path / "a.svg", faces, two(faces))[0].read_text()
    monkeypatch.setattr(projection, "MANY", 10)
    monkeypatch.setattr(projection, "MOST_LINES", 12)
    figure = draw_map(faces, two(faces))
    (lines,) = [each for each in maps(figure)[0].collections if isinstance(each, LineCollection)]
    assert len(lines.get_paths()) == 12 and lines.get_rasterized()
    text = sheet.save(figure, tmp_path / "b.svg").read_text()
    assert "<image" in text and "<image" not in vector and "UMAP of net" in text


def test_no_faces_and_other_faces(faces: FaceSet) -> None:
    found = one(faces)
    with pytest.raises(InputError, match="no faces on the map"):
        draw_map(faces, replace(found, ids=found.ids[:0], points=found.points[:0]))
    with pytest.raises(InputError, match="other faces"):
        draw_map(faces, replace(found, ids=found.ids + 1))


def test_colours_of_names_do_not_depend_on_how_many_there_are() -> None:
    names = [f"person {i}" for i in range(300)]
    every = hues.people(names)
    for i in (0, 17, 299):
        np.testing.assert_allclose(every[i], hues.person(names[i]), atol=1e-6)
    assert hues.people([]).shape == (0, 3)


# Several models, each by itself


def alone(faces: FaceSet, name: str, seed: int, rows: Any = slice(None)) -> Projection:
    points = (10 * seed + np.random.default_rng(seed).normal(size=(N, 2))).astype(np.float32)
    plan = ProjectionPlan(model=name, method="tsne")
    found = Projection(faces.ids[rows], points[rows], plan, "tsne", True, quality=Measure(0.9 + seed / 100, n=N))
    return replace(found, notes=("3 are left out.",))


def test_models_side_by_side_have_a_layout_each(faces: FaceSet) -> None:
    sides = [alone(faces, "base $1$", 1), alone(faces, "ours", 2, slice(0, 28))]
    look = Look(shape="role", augmented=frozenset({"degraded"}))
    figure = draw_side_by_side(faces, sides, look)
    left, right = maps(figure)[:2]
    assert as_set(drawn(left)) == as_set(sides[0].points) and as_set(drawn(right)) == as_set(sides[1].points)
    assert left.get_xlim() != right.get_xlim(), "each has its own axes"
    assert not [each for each in left.collections if isinstance(each, LineCollection)], "no lines lead between them"
    for axes, n in ((left, N), (right, 28)):
        discs, triangles = (each for each in axes.collections if isinstance(each, PathCollection))
        assert len(triangles.get_offsets()) == sum(1 for i in range(n) if i % 3 == 1)
        assert len(discs.get_offsets()) + len(triangles.get_offsets()) == n
    colours = [
        {tuple(np.round(shade[:3], 3)) for shade in axes.collections[0].get_facecolor()} for axes in (left, right)
    ]
    assert colours[0] == colours[1], "a person has one colour on both"
    said = texts(figure)
    assert "t-SNE of base $1$ and ours, side by side" in said and "(a) base $1$" in said and "(b) ours" in said
    assert "N = 30 faces · trustworthiness 0.91" in said and "N = 28 faces · trustworthiness 0.92" in said
    assert "perplexity" in said and "places on two maps do not compare" in said and said.count("3 are left out") == 1
    assert "original" in said and "augmented" in said
    inside(figure)


def test_side_by_side_knows_nothing_of_moves(faces: FaceSet) -> None:
    look = Look(by="change", change=np.zeros(N, np.int8))
    said = texts(draw_side_by_side(faces, [alone(faces, "a", 1), alone(faces, "b", 2)], look))
    assert "5 people, a colour for each" in said and "gained" not in said
    coloured = draw_side_by_side(faces, [alone(faces, "a", 1), alone(faces, "b", 2)], Look(by="blur"))
    assert "bright = higher" in texts(coloured)
    with pytest.raises(InputError, match="no faces"):
        draw_side_by_side(faces, [alone(faces, "a", 1, slice(0, 0))])
    with pytest.raises(InputError, match="other faces"):
        draw_side_by_side(faces, [replace(alone(faces, "a", 1), ids=faces.ids + 1)])


def test_side_by_side_as_a_file(faces: FaceSet, tmp_path: Path) -> None:
    asked: list[str] = []

    def lay(name: str, seed: int) -> Any:
        def made(**more: Any) -> Projection:
            asked.append(name)
            return alone(faces, name, seed)

        return made

    both = [lay("a", 1), lay("b", 2)]
    made = drawing.draw_projection(tmp_path / "p.svg", faces, one(faces), alone=both)
    assert [path.name for path in made] == ["p map.svg", "p side by side.svg"] and asked == ["a", "b"]
    (only,) = drawing.draw_projection(tmp_path / "q.svg", faces, one(faces), alone=both, which=("map",))
    assert only.name == "q.svg" and asked == ["a", "b"], "what is not drawn is not laid out"
    with pytest.raises(InputError, match="no other model"):
        drawing.draw_projection(tmp_path / "r.svg", faces, one(faces), which=("side by side",))
