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
from facelens.figures import backfill, crossing, crossing_words, flips
from facelens.figures import same_class as same_class_figure
from facelens.session.drawing import draw_upgrade
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
    assert "old → mid" in words and "mid → new" in words
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
