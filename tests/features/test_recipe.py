"""Recipes: what comes with FaceLens can be read; what is wrong is refused with its line and what was meant."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise
from pathlib import Path

import pytest

from facelens.errors import InputError
from facelens.features import recipe
from facelens.features.models import MODELS
from facelens.features.recipe import Recipe, Schedule, load, parse

SAID = """# a comment
kind = "margin"
steps = 10

[network]
architecture = "small_plain"

[loss]
margin = 0.4
"""

ALL = [
    "arcface",
    "attributes",
    "bct",
    "cosface",
    "dimension-down",
    "dimension-up",
    "divided",
    "l2",
    "lce-direct",
    "lce-frozen",
    "lce-transform",
    "m2m",
    "mask-finetune",
    "pa-finetune",
    "sequential",
    "unified",
    "universal",
]


def test_what_comes_with_facelens() -> None:
    assert list(recipe.names()) == ALL


@pytest.mark.parametrize("name", ALL)
def test_each_can_be_read(name: str) -> None:
    found = recipe.load(name)
    assert found.name == name and found.about and found.total(1000) > 0
    spec = MODELS[found.network.architecture].fitted(found.network.options)
    assert spec.card.size == (64, 64)
    for number in range(len(found.stages)):
        assert recipe.stage(found, number, old="old.safetensors").models.old == "old.safetensors"


@pytest.mark.parametrize("name", ["bct", "l2", "lce-direct"])
def test_upgrades_that_compare_directly_have_the_dimensions_of_the_old_model(name: str) -> None:
    old, new = (recipe.load(one).network for one in ("cosface", name))
    sides = [MODELS[one.architecture].fitted(one.options).card.dimensions for one in (old, new)]
    assert sides[0] == sides[1]


def test_reading() -> None:
    found = parse(SAID, name="mine.toml")
    assert (found.kind, found.name, found.steps, found.loss.margin) == ("margin", "mine", 10, 0.4)  # type: ignore[union-attr]
    assert found.optimiser == recipe.Optimiser() and found.loss == recipe.MarginLoss(margin=0.4)
    assert parse(SAID.replace("0.4", "1")).loss == recipe.MarginLoss(margin=1.0), "a whole number is a number"


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("margn = 0.4", "line 9: loss.margn is not known.", "Did you mean margin?"),
        ("zzz = 0.4", "line 9: loss.zzz is not known.", "Known are head, scale, margin."),
        ('margin = "0.4"', "line 9: loss.margin is a number, not '0.4'.", ""),
        ("margin = true", "line 9: loss.margin is a number, not True.", ""),
        ("margin = nan", "line 9: loss.margin goes from 0 to 3.2; nan is outside.", ""),
        ("margin = -0.1", "line 9: loss.margin goes from 0 to 3.2; -0.1 is outside.", ""),
        ('head = "cosfac"', "line 9: loss.head is one of cosface, arcface.", "Did you mean cosface?"),
        ("margin = [0.4]", "line 9: loss.margin is a number, not [0.4].", ""),
        ("margin.of = 1", "line 9: loss.margin is a number, not {'of': 1}.", ""),
        ("margin = 0.4\n[batch]\npeople = 1.5", "line 11: batch.people is a whole number, not 1.5.", ""),
        ("margin = 0.4\n[batch]\nkind = 'cluster'", "line 11: batches of one cluster and the kind divided", ""),
        ("margin = 0.4\n[schedule]\nat = [2.0]", "line 11: schedule.at are shares", ""),
        ("margin = 0.4\n[schedule]\nat = 0.5", "line 11: schedule.at is a list.", ""),
        ("margin = 0.4\n[optimizer]\nrate = 1", "line 10: optimizer is not known.", "Did you mean optimiser?"),
        ("margin = 0.4\n[[stages]]\n[[stages]]\nnam = 'a'", "line 12: stages.1.nam is not known.", "name?"),
        (
            "margin = 0.4\n[[stages]]\nname = 'a'\nchange = {'loss.margn' = 1}",
            "line 12: loss.margn is not known.",
            "Did you mean margin?",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line(line: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(SAID.replace("margin = 0.4", line), name="a.toml")
    assert caught.value.message.startswith(f"a.toml, {message}")
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "states no kind"),
        ('kind = "cosface"\nsteps = 1', "line 1: there is no kind cosface"),
        ("kind = 3", "line 1: there is no kind 3"),
        ('kind = "margin"', "either steps or epochs"),
        ('kind = "margin"\nsteps = 1\nepochs = 1', "line 3: a recipe states either steps or epochs"),
        ("kind =", "is no TOML"),
        ('kind = "margin"\nkind = "margin"', "is no TOML"),
        ('kind = "margin"\nsteps = 1\nloss = 3', "line 3: loss is a table"),
        ('kind = "aggregation"\nsteps = 1\n[batch]\nkind = "plain"', "batches need two of each"),
        ('kind = "compatible"\nsteps = 1\n[loss]\nmethod = "bct"\ntransform = "rbt"', "line 5: bct compares directly"),
        ('kind = "margin"\nsteps = 1\n[network]\noptions = "x"', "line 4: network.options is a table"),
    ],
)
def test_what_cannot_be(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert message in caught.value.message


def test_values_from_the_command_line() -> None:
    changes = ["loss.margin=0.2", "network.architecture=small_residual", "schedule.at=[0.5, 0.8]", 'name="other"']
    found = parse(SAID, changes=changes)
    assert found.loss == recipe.MarginLoss(margin=0.2) and found.network.architecture == "small_residual"
    assert found.schedule.at == (0.5, 0.8) and found.name == "other"
    for change, message in (
        ("loss.margn=1", "--set loss.margn=1: loss.margn is not known."),
        ("loss", "sets nothing"),
        ("steps=many", "--set steps=many: steps is a whole number, not 'many'."),
        ("steps.x=1", "steps is no table"),
    ):
        with pytest.raises(InputError) as caught:
            parse(SAID, changes=[change])
        assert message in caught.value.message


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(SAID + '[models]\nstart = "a.pth"\n[data]\ngallery = "/b"\n')
    found = recipe.load(path)
    assert found.models.start == str(tmp_path / "a.pth") and found.data.gallery == "/b", "relative to the recipe"
    with pytest.raises(InputError, match="no recipe cosfac") as caught:
        recipe.load("cosfac")
    assert "Did you mean cosface?" in caught.value.hint
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read"):
        recipe.load(path)


def test_lines_inside_long_texts_are_not_keys() -> None:
    text = 'about = """\nmargin = 3\n[loss]\n"""\nkind = "margin"\nsteps = 1\n"loss".margin = 9'
    assert recipe.lines(text) == {("about",): 1, ("kind",): 5, ("steps",): 6, ("loss", "margin"): 7}
    with pytest.raises(InputError, match="line 7"):
        parse(text)


def test_digest_knows_what_matters() -> None:
    plain = parse(SAID)
    for same in ("checkpoint=7", "log=3", "name=x", "about=y"):
        assert parse(SAID, changes=[same]).digest == plain.digest
    told = {
        parse(SAID, changes=[other]).digest for other in ("seed=1", "loss.scale=1.0", "steps=11", "augment.flip=0.0")
    }
    assert len(told) == 4 and plain.digest not in told


def test_a_changed_recipe_is_checked_again() -> None:
    plain = parse(SAID)
    assert recipe.changed(plain, {}) == plain
    assert recipe.changed(plain, {"kind": "compatible", "loss.method": "l2"}).loss == recipe.CompatibleLoss(method="l2")
    with pytest.raises(InputError, match=r"data\.share"):
        recipe.changed(plain, {"data.share": 2.0})


def test_schedules() -> None:
    cosine = Schedule("cosine", warmup=4, least=0.1)
    shares = [cosine.share(step, 20) for step in range(20)]
    assert shares[:4] == [0.25, 0.5, 0.75, 1.0] and shares[4] == 1.0
    assert all(a > b for a, b in pairwise(shares[4:])) and shares[-1] > 0.1
    assert cosine.share(20, 20) == pytest.approx(0.1)
    assert shares[12] == pytest.approx(0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * 8 / 16)))
    assert {Schedule("constant").share(step, 9) for step in range(9)} == {1.0}
    steps = Schedule("step", at=(0.5, 0.75), factor=0.5)
    assert [steps.share(step, 8) for step in range(8)] == [1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25]


def test_epochs_become_steps() -> None:
    told = parse('kind = "margin"\nepochs = 3\n[batch]\npeople = 8\npictures = 4')
    assert told.batch.rows == 32 and told.total(320) == 30
    assert dataclasses.replace(told, steps=7).total(320) == 7
    assert isinstance(told, Recipe)


def test_another_length_takes_the_place_of_the_recipes_own() -> None:
    assert (load("cosface", changes=["steps=60"]).steps, load("cosface", changes=["steps=60"]).epochs) == (60, 0)
    assert parse('kind = "margin"\nsteps = 5', changes=["epochs=2"]).epochs == 2
    with pytest.raises(InputError, match="either steps or epochs"):
        load("cosface", changes=["steps=60", "epochs=2"])
