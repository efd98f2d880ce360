"""Recipes as text: a value set leaves the rest alone, and what is written reads back as it was."""

from __future__ import annotations

import pytest

from facelens.errors import InputError
from facelens.features import recipe
from facelens.features.recipe_text import text_of, with_value

TEXT = """\
# what it is
kind = "margin"
epochs = 15  # long
[models]
old = "a # b"

[loss]  # of the paper
margin = 0.3
"""


@pytest.mark.parametrize("name", recipe.names())
def test_every_recipe_reads_back_as_it_was(name: str) -> None:
    was = recipe.load(name)
    assert recipe.parse(text_of(was)) == was


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("epochs", 2.5, "epochs = 2.5  # long"),
        ("models.old", 'C:\\new "x"', 'old = "C:\\\\new \\"x\\""'),
        ("loss.scale", 32.0, "margin = 0.3\nscale = 32.0"),
        ("seed", 7, "epochs = 15  # long\nseed = 7\n[models]"),
        ("batch.people", 8, "\n\n[batch]\npeople = 8\n"),
    ],
)
def test_a_value_is_set_where_it_belongs(key: str, value: object, line: str) -> None:
    changed = with_value(TEXT, key, value)
    assert line in changed
    assert {*TEXT.splitlines()} - {*changed.splitlines()} <= {"epochs = 15  # long", 'old = "a # b"'}


def test_a_value_is_taken_out() -> None:
    assert with_value(TEXT, "epochs", None) == TEXT.replace("epochs = 15  # long\n", "")
    assert with_value(TEXT, "steps", None) == TEXT


@pytest.mark.parametrize("text", ["models = { old = '' }\n", "[models]\nold = '''\na'''\n"])
def test_what_is_written_in_another_way_is_left_to_the_user(text: str) -> None:
    with pytest.raises(InputError, match=r"models\.old"):
        with_value(text, "models.old", "x")
