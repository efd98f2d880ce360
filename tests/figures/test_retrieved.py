"""Sheets of searches and of weights: the order of the paper, frames that shapes tell too, scales with their limits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from facelens.analyses.decisions import Verified
from facelens.analyses.measure import Measure
from facelens.analyses.verification import Accuracy
from facelens.errors import InputError
from facelens.figures import reranking, retrieved, swept, weighing
from facelens.figures.retrieved import Block, Hit
from facelens.figures.style import INK
from facelens.figures.tabular import Column, Table, draw_table
from facelens.figures.transport import Face
from facelens.images.faceset import FaceSet
from facelens.session.drawing import draw_match
from facelens.session.matched import Subject
from tests.figures.matched import PLAN, make_faces, make_pair, make_searched, make_sweep
from tests.figures.test_charts import verified
from tests.figures.test_confidence import inside, texts
from tests.figures.test_transport import marks, pictures

SEEN = np.random.default_rng(0).integers(0, 255, (12, 10, 3), np.uint8)


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    return make_faces(tmp_path)


@pytest.fixture
def subject(faces: FaceSet) -> Subject:
    return Subject(faces, make_searched(faces), PLAN, int(faces.ids[0]))


def block(faces: FaceSet, title: str, *, known: bool = True, n: int = 3) -> Block:
    right = [False, True, False][:n] if known else [None] * n

    def hits(first: float, step: float, flows: bool) -> list[Hit]:
        made = [np.full((12, 10, 3), 40 * i, np.uint8) if flows else None for i in range(n)]
        return [Hit(int(faces.ids[4 * i]), first + step * i, right[i], made[i]) for i in range(n)]

    query = Face(SEEN, "Ada $x$", "mask painted")
    return Block(title, query, hits(0.9, -0.1, False), hits(0.2, 0.1, True), (2, 1) if known else None)


def frames(figure: Any) -> list[str]:
    """Colours of the frames around faces, in order."""
    found = [p for axes in figure.axes for p in axes.patches if isinstance(p, Rectangle) and p.get_linewidth() == 2.0]
    return [to_hex(p.get_edgecolor()) for p in found]


def test_a_block_is_stage_1_flow_stage_2(faces: FaceSet) -> None:
    figure = retrieved.draw_retrieval(faces, [block(faces, "As it is")], plan=PLAN, told=["mine", "net"])
    said = texts(figure)
    place = {t.get_text(): t.get_position()[0] for t in figure.texts}
    assert place["Stage 1"] < place["Flow"] < place["Stage 2"]
    assert [one for one in said if one in ("0.900", "0.800", "0.700", "0.200", "0.300", "0.400")] == [
        "0.900", "0.200", "0.800", "0.300", "0.700", "0.400",
    ]  # fmt: skip
    good, bad = INK["good"], INK["bad"]
    assert frames(figure) == [bad, bad, good, good, bad, bad]
    assert marks(figure) == ["s", "s", "o", "o", "s", "s"], "shapes tell what colours do"
    assert {"Ada $x$", "mask painted", "2 → 1", "1", "2", "3"} <= set(said) and "4" not in said
    flows = pictures(figure, (12, 10, 3))
    assert len(flows) == 1 + 3 and [int(one[0, 0, 0]) for one in flows[1:]] == [0, 40, 80]
    assert "(a) As it is" not in said and "mine · net" in said
    inside(figure)


def test_several_blocks_have_letters(faces: FaceSet) -> None:
    blocks = [block(faces, title) for title in ("As it is", "Mask", "Sunglasses")]
    figure = retrieved.draw_retrieval(faces, blocks, plan=PLAN, told=[])
    at = {t.get_text(): t.get_position() for t in figure.texts}
    a, b, c = (at[f"({letter}) {title}"] for letter, title in zip("abc", ("As it is", "Mask", "Sunglasses")))
    assert a[1] == b[1] > c[1] and a[0] == c[0] < b[0], "two in a row"
    inside(figure)
    boxes = [axes.get_position() for axes in figure.axes]
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            apart = one.x1 <= other.x0 + 1e-9 or other.x1 <= one.x0 + 1e-9
            assert apart or one.y1 <= other.y0 + 1e-9 or other.y1 <= one.y0 + 1e-9


def test_where_nobody_knows_who_it_is_nothing_is_framed(faces: FaceSet) -> None:
    figure = retrieved.draw_retrieval(faces, [block(faces, "x", known=False)], plan=PLAN, told=[])
    assert not frames(figure) and not marks(figure) and "2 → 1" not in texts(figure)
    alone = replace(block(faces, "x", n=1), first=(0, 0))
    assert "nobody to find" in texts(retrieved.draw_retrieval(faces, [alone], plan=PLAN, told=[]))
    with pytest.raises(InputError, match="Nobody was found"):
        retrieved.draw_retrieval(faces, [replace(alone, before=[], after=[])], plan=PLAN, told=[])


# Weights


def test_a_row_for_each_way_to_weigh(faces: FaceSet, subject: Subject) -> None:
    match = subject.match(make_pair(faces, 1))
    even = replace(match, found=replace(match.found, u=np.full(4, 0.25), v=np.full(6, 1 / 6)))
    figure = weighing.draw_flows({"uniform": even, "apc": match}, plan=PLAN, told=subject.told)
    said = texts(figure)
    assert {"Uniform", "APC", f"EMD {match.found.emd:.3f}", "cosine 0.450", "flow"} <= set(said)
    first, second = pictures(figure, (2, 2))
    np.testing.assert_allclose(first, 1.0)
    np.testing.assert_allclose(second.ravel(), 4 * match.found.u)  # in averages, rows as the paper has them
    low, high = 0.0, 2.1
    assert {"0.90", "1.10 ×", f"{low:.2f}", f"{high:.2f} ×"} <= set(said), "each has its own scale, with its limits"
    bold = {t.get_text(): t.get_fontweight() for t in figure.texts}
    assert bold["APC"] == "bold" and bold["Uniform"] == "normal", "the one of the plan"
    hatched = [p for axes in figure.axes for p in axes.patches if p.get_hatch()]
    assert len(hatched) == 2 + 2, "patch 3 of the query has no mass, in weights and flow; two of the gallery face"
    inside(figure)
    with pytest.raises(InputError, match="No match"):
        weighing.draw_flows({}, plan=PLAN, told=[])


def test_weights_by_what_is_painted(faces: FaceSet, subject: Subject) -> None:
    match = subject.match(make_pair(faces, 1))
    rows = [("As it is", {"apc": match, "lmk": match}), ("Mask", {"apc": match})]
    figure = weighing.draw_weights(rows, plan=PLAN, told=subject.told)
    said = texts(figure)
    assert {"faces", "APC", "LMK", "As it is", "Mask", "n/a"} <= set(said)
    assert len(pictures(figure, (2, 2))) == 3 == len(pictures(figure, (2, 3))), "one cannot be weighed"
    assert said.count("0.00") == 2, "a scale for each way"
    inside(figure)
    with pytest.raises(InputError, match="No match"):
        weighing.draw_weights([("As it is", {})], plan=PLAN, told=[])


# Tables


def test_before_and_after_as_a_table(faces: FaceSet, subject: Subject) -> None:
    sweep = make_sweep(faces)
    cosine, uniform, apc = swept.steps(sweep, 0.5)
    assert (cosine.weights, cosine.measures["RP"].value) == ("", 0.6)
    assert (uniform.weights, uniform.alpha, uniform.better, uniform.worse) == ("uniform", 0.5, 1, 0)
    assert apc.measures["P@1"].value == pytest.approx(0.8)
    assert swept.steps(sweep, 1.0)[2].worse == 1 and swept.steps(sweep, -1.0)[1].measures["RP"].value == 0.62
    figure = reranking.draw_before_after(sweep, plan=PLAN, told=subject.swept(sweep, (2, 2)))
    said = texts(figure)
    assert said.index("Stage 1: cosine") < said.index("Uniform") < said.index("APC")
    assert {"0.600 [0.550, 0.640]", "0.800 [0.750, 0.840]", "▲ better", "▼ worse"} <= set(said)
    assert any("Stage 2 at α 0.50" in t and "N = 2 queries" in t for t in said)
    bold = {t.get_text(): t.get_fontweight() for t in figure.texts}
    assert bold["APC"] == "bold" and bold["Uniform"] == "normal"
    inside(figure)


def test_cells_end_where_their_column_does() -> None:
    columns = [Column("", 1.0, right=False), Column("value", 1.2), Column("a head that is too long", 0.8)]
    long = "a name that has more letters than there is room for"
    table = Table(columns, [[long, "0.5 [0.4, 0.6]", "1"], ["b", "n/a: " + long, "2"]], bold={1}, rules={0},
                  groups=[(1, 2, "numbers")])  # fmt: skip
    figure = draw_table("Title", ["of whom"], table, ["foot"])
    inside(figure)
    figure.draw_without_rendering()
    boxes = {t.get_text(): t.get_window_extent() for t in figure.texts}
    cut = [text for text in boxes if text.endswith("…")]
    assert len(cut) == 3
    assert boxes["0.5 [0.4, 0.6]"].x1 == pytest.approx(next(boxes[t] for t in cut if t.startswith("n/a")).x1, abs=2)
    assert boxes["2"].x1 == pytest.approx(boxes["1"].x1, abs=2)


def test_sheets_need_to_know_where_was_searched(faces: FaceSet, tmp_path: Path) -> None:
    searched, pair, query = make_searched(faces), make_pair(faces, 1), int(faces.ids[0])
    for name in ("retrieval", "occlusions", "weights", "flows"):
        with pytest.raises(InputError, match="No match"):
            draw_match(tmp_path / "m.svg", faces, searched, pair, plan=PLAN, query=query, which=(name,))
    (one,) = draw_match(tmp_path / "t.svg", faces, None, None, plan=PLAN, sweep=make_sweep(faces), which=("table",))
    assert "Stage 1: cosine" in one.read_text()


def test_listed_pairs_at_each_share_of_the_patches(subject: Subject) -> None:
    found = [
        replace(verified(), best=Accuracy("best", Measure(0.9 + i / 100, 0.88, 0.95), 0.4), folds=folds)
        for i, folds in enumerate((Accuracy("folds", Measure(0.87), 0.4), None, None))
    ]
    made = Verified((0.0, 0.5, -1.0), tuple(found), "apc", "exact")
    figure = reranking.draw_verified(made, plan=PLAN, told=subject.whose((2, 2)))
    said = texts(figure)
    assert [one for one in said if one in ("cosine alone (α 0)", "α 0.50", "plain sum")] == [
        "cosine alone (α 0)", "α 0.50", "plain sum",
    ]  # fmt: skip
    assert {"0.900 [0.880, 0.950]", "0.910 [0.880, 0.950]", "0.870", "0.012 [0.010, 0.014]"} <= set(said)
    assert any(one.startswith("n/a: the list has") for one in said)
    assert any("5,000 genuine, 1,000,000 impostor pairs" in one and "weights APC" in one for one in said)
    bold = {t.get_text(): t.get_fontweight() for t in figure.texts}
    assert bold["α 0.50"] == "bold" and bold["plain sum"] == "normal"
    inside(figure)
    with pytest.raises(InputError, match="No pair"):
        reranking.draw_verified(replace(made, alphas=(), found=()), plan=PLAN, told=[])


def test_names_in_a_table_are_not_cut_while_there_is_paper() -> None:
    names = ("mobilefacenet-foamliu model", "mobilefacenet-foamliu model, second")
    columns = [Column("model", 1.0, right=False), Column("alone", 0.9)]
    figure = draw_table("Title", ["of whom"], Table(columns, [[name, "0.983"] for name in names], bold={1}), ["foot"])
    assert set(names) <= {text.get_text() for text in figure.texts}
    short = draw_table("Title", ["of whom"], Table(columns, [["old", "0.983"]]), ["foot"])
    assert figure.get_figwidth() >= short.get_figwidth()
