"""Figures of an upgrade: the numbers and words are those of the result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from facelens.analyses.flips import Flips
from facelens.analyses.same_class import most_pictured, same_class
from facelens.errors import InputError
from facelens.figures import backfill, crossing, crossing_words, flips, upgrade_table
from facelens.figures import same_class as same_class_figure
from facelens.session.drawing import draw_upgrade
from tests.figures.test_confidence import inside
from tests.figures.upgraded import FULL, made


def said(figure: Figure) -> list[str]:
    texts = list(figure.texts)
    for axes in figure.axes:
        texts += [*axes.texts, axes.title]
    return [text.get_text() for text in texts if text.get_text()]


def test_the_matrix_has_every_test() -> None:
    _, _, found = made()
    words = said(crossing.draw_matrix(found, gallery="people"))
    for test in found.matrix.tests:
        shown = crossing_words.value(test.verification)
        assert shown in words, (test.query, test.gallery)
    assert words.count("chance") == sum(test.chance for test in found.matrix.tests) == 6
    assert "people · old → new · N = 120 faces of 24 people" in " ".join(words)
    other = said(crossing.draw_matrix(found, gallery="people", task="1:N"))
    assert any("TPIR @ FPIR 1e-1" in word for word in other)


def test_a_matrix_with_transforms_has_all_directions() -> None:
    _, _, found = made(replace(FULL, new="apart", upper="", others=("wide",)))
    words = said(crossing.draw_matrix(found))
    assert any(word.startswith(("backward 0.", "forward 0.")) for word in words) and "direct chance" in words
    assert "n/a" in words  # of other dimensions
    assert any("fitted on 12 other people" in word for word in words)


def test_gains_have_intervals_and_say_of_what() -> None:
    _, _, found = made()
    words = said(crossing.draw_gains(found, gallery="people"))
    gains = [one for one in found.matrix.gains if one.task == "1:1"]
    assert all(crossing_words.gain_told(one) in words for one in gains)
    assert any(crossing_words.possible(gains[0]) in word for word in words)
    assert "Upgrade, direct (best)" in words
    with pytest.raises(InputError, match="no upper model is named"):
        crossing.draw_gains(made(replace(FULL, upper=""))[2])


def test_gains_far_off_are_arrows_at_the_edge() -> None:
    _, _, found = made()
    far = tuple(
        replace(one, percent=replace(one.percent, value=-1600.0, low=-2000.0, high=-900.0))
        for one in found.matrix.gains
    )
    figure = crossing.draw_gains(replace(found, matrix=replace(found.matrix, gains=far)))
    axes = figure.axes[0]
    assert axes.get_xlim()[0] > -200
    assert [line.get_marker() for line in axes.lines].count("<") == 2


def test_the_sequence_is_judged() -> None:
    _, _, found = made()
    words = said(crossing.draw_sequence(found))
    bounds = [one for one in found.matrix.bounds if one.task == "1:1"]
    assert words[words.index("→ mid") - 1] == "old" and words[words.index("→ new") - 1] == "mid"
    assert all(crossing_words.bound_words(found.plan, one) in words for one in bounds)


def test_the_backfill_names_its_orders_and_its_end() -> None:
    _, _, found = made()
    figure = backfill.draw_backfill(found, gallery="people", share=0.4, order="random")
    words = said(figure)
    assert found.backfill is not None
    random = found.backfill.order("random")
    assert random is not None
    assert any(word.startswith("40 % reaches 0.") for word in words) and any("new/new 0." in word for word in words)
    assert {"random", "by flip risk", "by uncertainty"} <= set(words)
    low, high = figure.axes[0].get_ylim()
    assert low <= np.nanmin(random.low["1:1"]) and high >= np.nanmax(random.value["1:1"])
    with pytest.raises(InputError, match="no backfill"):
        backfill.draw_backfill(replace(found, backfill=None))


def test_flips_are_cards_lost_first() -> None:
    faces, _, found = made()
    assert isinstance(found.flips, Flips) and len(found.flips.lost) and len(found.flips.gained)
    words = said(flips.draw_flips(faces, found, most=2))
    lost, gained = (next(i for i, word in enumerate(words) if word.startswith(head)) for head in ("Lost", "Gained"))
    assert lost < gained and words[lost] == f"Lost {len(found.flips.lost)}"
    shown = sum(word.startswith("mate ") for word in words)
    assert shown == min(2, len(found.flips.lost)) + min(2, len(found.flips.gained))
    nothing = replace(found.flips, searches=replace(found.flips.searches, new_right=found.flips.searches.old_right))
    words = said(flips.draw_flips(faces, replace(found, flips=nothing)))
    assert "no search was lost" in words and "no search was gained" in words


def test_the_same_people_have_d_pw_in_their_titles() -> None:
    faces, features, found = made()
    people = same_class(features, "old", ["new", "mid", "wide"], most_pictured(faces, found.ids, 3))
    words = said(same_class_figure.draw_same_class(faces, people))
    for one in people.upgrades:
        assert f"{one.name}: d_pw = {one.point_distance:.3f}" in words
    assert "p00" in words and any("left out, for their dimensions differ: wide" in word for word in words)
    with pytest.raises(InputError, match="no upgrade has the dimensions"):
        same_class_figure.draw_same_class(faces, same_class(features, "old", ["wide"], found.ids))


def test_what_cannot_be_drawn_is_left_out_unless_nothing_can(tmp_path: Path) -> None:
    faces, _, found = made()
    drawn = draw_upgrade(
        tmp_path / "u.svg", faces, replace(found, flips=None, backfill=None), which=("flips", "matrix")
    )
    assert [path.name for path in drawn] == ["u matrix.svg"]
    with pytest.raises(InputError):
        draw_upgrade(tmp_path / "u.svg", faces, found, which=("same people",))


def test_the_table_of_the_models() -> None:
    _, features, found = made()
    sizes = {name: one.dimensions for name, one in features.items()}
    figure = upgrade_table.draw_upgrade_table(found, gallery="people", dimensions=sizes)
    words = said(figure)
    assert "people · old → new · N = 120 faces of 24 people" in " ".join(words)
    for name, role in (("old", "old"), ("mid", "further"), ("new", "new"), ("upper", "upper")):
        assert name in words and role in words
    own = found.matrix.test("new", "new")
    assert own is not None and crossing_words.value(own.verification) in words
    assert crossing_words.interval(own.verification) in words
    gains = [one for one in found.matrix.gains if one.task == "1:1"]
    for gain in gains:
        if gain.of == "performance" or gain.best:
            assert gain.percent.value is not None and crossing_words.percent(gain.percent.value) in words
    assert "+100.0 %" in words or "−100.0 %" in words
    assert words.count("chance") == sum(one.chance for one in found.matrix.tests if one.gallery == "old")
    assert words.count("–") >= 2 * 4, "neither backward nor forward was tested"
    inside(figure)
    other = said(upgrade_table.draw_upgrade_table(found, task="1:N"))
    assert any("TPIR @ FPIR 1e-1" in word for word in other)


def test_directions_say_what_they_reach_or_why_not() -> None:
    _, _, found = made()
    words = said(upgrade_table.draw_directions(found, gallery="people"))
    assert words.count("no transform T21 from new to old") == 1 == words.count("no transform T12 from old to new")
    direct = found.matrix.test("new", "old", "direct")
    assert direct is not None and crossing_words.value(direct.verification) in words
    assert words.count("T21") == 1 == words.count("T12") and words.count("query") == 3

    _, _, mapped = made(replace(FULL, new="apart", upper="", others=("wide",)))
    figure = upgrade_table.draw_directions(mapped)
    words = said(figure)
    for way in ("direct", "backward", "forward"):
        test = mapped.matrix.test("apart", "old", way)
        assert test is not None and crossing_words.value(test.verification) in words
    assert "chance" in words
    frames = [p for axes in figure.axes for p in axes.patches if p.get_linewidth() == 1.8]
    assert len(frames) == 1, "the direction that is meant"
    inside(figure)


def test_distances_within_a_person() -> None:
    _, _, found = made()
    figure = upgrade_table.draw_compactness(found, gallery="people")
    words = said(figure)
    for one in found.matrix.compactness:
        assert one.centre.text(3) in words and one.angle.text(1) in words
    assert any(found.matrix.point_distance.text(3) in word for word in words)
    inside(figure)


def test_a_table_of_long_names() -> None:
    _, _, found = made()
    long = "a model with a name of very many letters, version 2.0.1 final"
    plan = replace(found.plan, upper=long)
    tests = tuple(replace(one, query=long, gallery=long) if one.query == one.gallery == "upper" else one
                  for one in found.matrix.tests)  # fmt: skip
    named = replace(found, plan=plan, matrix=replace(found.matrix, tests=tests))
    inside(upgrade_table.draw_upgrade_table(named, gallery=long))
    inside(upgrade_table.draw_directions(named, gallery=long))


def test_d_pw_stands_whatever_the_upgrade_is_called() -> None:
    faces, features, found = made()
    long = "an upgrade with a name of very many letters, version 2.0.1 final, run 7"
    shown = same_class({**features, long: features["new"]}, "old", [long], most_pictured(faces, found.ids, 3))
    figure = same_class_figure.draw_same_class(faces, shown)
    (title,) = (text for text in said(figure) if "d_pw = " in text and "…" in text)
    assert title.startswith("an upgrade") and title.endswith(f": d_pw = {shown.upgrades[0].point_distance:.3f}")
    inside(figure)
