"""Keys: the usual ones, those of the user, and what clashes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from facelens.session import keys
from facelens.session.actions import ACTIONS, BY_ID
from facelens.session.settings import Settings
from facelens.session.workspace import Workspace


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    keys.use({})
    yield
    keys.use({})


def test_a_key_has_one_command_whatever_is_chosen() -> None:
    assert keys.clashing("mark.flag", "x", {}) == ("mark.reject",)
    chosen = keys.with_key({}, "mark.flag", "X")
    assert chosen == {"mark.flag": ("X",), "mark.reject": ()}
    chosen = keys.with_key(chosen, "palette.open", "Ctrl+J")
    assert chosen["confidence.show"] == () and chosen["palette.open"] == ("Ctrl+J",)
    every = [keys.alike(key) for one in ACTIONS for key in keys.keys_of(one.id, chosen)]
    assert len(every) == len(set(every))
    back = keys.with_key(keys.with_key(chosen, "mark.reject", "X"), "mark.flag", "P")
    assert "mark.flag" not in back and "mark.reject" not in back, "the usual keys are not written down"


def test_one_of_two_keys_is_taken() -> None:
    chosen = keys.with_key({}, "mark.flag", "Ctrl+Y")
    assert chosen["history.redo"] == ("Ctrl+Shift+Z",)


@pytest.mark.parametrize("key", ["Left", "f", "Space", "Tab", "Return"])
def test_keys_that_cannot_be_had(key: str) -> None:
    assert keys.fixed(key)


def test_no_usual_key_is_a_fixed_one() -> None:
    assert not [key for one in ACTIONS for key in one.keys if keys.fixed(key)]


def test_reasons_name_the_key_of_now() -> None:
    needs = BY_ID["doctor.run"].needs
    assert needs(Workspace()) == "Needs a gallery. Open one first (Ctrl+O)."
    keys.use({"gallery.open": ("Ctrl+Alt+O",)})
    assert needs(Workspace()) == "Needs a gallery. Open one first (Ctrl+Alt+O)."
    keys.use({"gallery.open": ()})
    assert needs(Workspace()) == "Needs a gallery. Open one first."


def test_settings_keep_them_and_refuse_nonsense(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    Settings(keys={"mark.flag": ("F9",)}).save(path)
    assert Settings.load(path).keys == {"mark.flag": ("F9",)}
    path.write_text(json.dumps({"keys": {"mark.flag": ["F9"], "a": "F8", "b": [3], "c": [""], "d": ["x" * 99]}}))
    assert Settings.load(path).keys == {"mark.flag": ("F9",)}
    path.write_text(json.dumps({"keys": [1]}))
    assert Settings.load(path).keys == {}
