"""Rules about columns: against a loop, what is refused, and the columns of drawn people."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

from facelens.errors import InputError
from facelens.features import crops, recipe
from facelens.features.attributes import Rule, labels, told_apart
from facelens.images.faceset import Column, Labels
from facelens.images.synthetic.gallery import TRAINING_SEED, training_pictures
from facelens.resources import sample_data

SMILE = [0.7, 0.5, math.nan, -0.2, 0.0]
MALE = [-1, 1, 1, -1, 1]
ROLE = ["cover", "clear", None, "cover", "degraded"]
COLUMNS: dict[str, Column] = {"smile": np.array(SMILE), "male": np.array(MALE), "eye role": Labels.of(ROLE)}


def test_labels_against_a_loop() -> None:
    rules = {
        "a": "smile > 0.5",
        "b": "smile<0.5",
        "c": "male",
        "d": " eye role = cover ",
        "e": "male = 1",
        "f": "smile",
    }
    wanted = []
    for smile, male, role in zip(SMILE, MALE, ROLE):
        known = not math.isnan(smile)
        named = None if role is None else role == "cover"
        row = [
            smile > 0.5 if known else None,
            smile < 0.5 if known else None,
            male > 0,
            named,
            male == 1,
            smile > 0 if known else None,
        ]
        wanted.append([math.nan if one is None else float(one) for one in row])
    found = labels(rules, COLUMNS)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.array(wanted, np.float32))


@pytest.mark.parametrize("text", ["", " ", ">", "smile >", "smile > much", "a > 1 > 2", "= cover", 3, None])
def test_what_is_no_rule(text: object) -> None:
    assert Rule.of(text) is None


@pytest.mark.parametrize(
    ("rule", "message", "hint"),
    [
        ("smil > 0.5", "no column smil", "Did you mean smile?"),
        ("hat", "no column hat", "Its columns are smile, male, eye role."),
        ("eye role", "eye role holds words, not numbers: clear, cover, degraded", "eye role = WORD"),
        ("eye role > 3", "holds words", "eye role = WORD"),
    ],
)
def test_columns_that_do_not_answer(rule: str, message: str, hint: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        labels({"a": rule}, COLUMNS)
    assert hint in caught.value.hint


@pytest.mark.parametrize("rule", ["smile > 3", "smile > -1", "eye role = mask"])
def test_an_attribute_needs_two_values(rule: str) -> None:
    rules = {"fine": "male", "odd": rule}
    with pytest.raises(InputError, match="odd is the same on all") as caught:
        told_apart(rules, labels(rules, COLUMNS))
    assert rule in caught.value.hint
    told_apart({"fine": "male"}, labels({"fine": "male"}, COLUMNS))


def test_drawn_people_have_the_columns_of_the_sample_gallery() -> None:
    data = recipe.Data(people=2, pictures=2)
    found = crops.columns(data, None)
    with (sample_data() / "manifest.csv").open(encoding="utf-8", newline="") as file:
        assert set(found) < set(next(csv.reader(file)))
    drawn = [one.rendered.photo for one in training_pictures(range(TRAINING_SEED, TRAINING_SEED + 2), 2, size=48)]
    for name in ("smile", "yaw", "mask", "degradation"):
        assert np.array_equal(found[name], [getattr(photo, name) for photo in drawn])  # type: ignore[arg-type]
