"""The model card: what tells and what does not, and cards that are none."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from facelens.errors import InputError
from facelens.features import card
from facelens.features.card import Card

CARD = Card("net", "iresnet50")

# Another value for every field; a new field makes the test below fail until it is listed.
CHANGES: dict[str, object] = {
    "name": "other",
    "architecture": "sphere20",
    "size": (112, 96),
    "order": "BGR",
    "mean": (0.0, 0.0, 0.0),
    "std": (255.0, 255.0, 255.0),
    "template": "none",
    "crop": (0, 8, 112, 104),
    "flip": True,
    "dimensions": 256,
    "patch_layer": "layer4",
    "grid": (7, 7),
    "licence": "MIT",
    "notes": "from the authors",
    "network": "ema:",
    "options": {"parts": 16},
}
SILENT = {"name", "licence", "notes", "patch_layer", "grid"}


def test_all_fields_are_listed() -> None:
    assert set(CHANGES) == {f.name for f in fields(Card)}


@pytest.mark.parametrize("name", CHANGES)
def test_the_digest_follows_what_tells(name: str) -> None:
    changed = CARD.changed(**{name: CHANGES[name]})
    assert changed != CARD and (changed.digest == CARD.digest) == (name in SILENT)


def test_digests_of_all_changes_differ() -> None:
    telling = [CARD, *(CARD.changed(**{name: value}) for name, value in CHANGES.items() if name not in SILENT)]
    assert len({each.digest for each in telling}) == len(telling)
    one, two = CARD.changed(options={"a": 1, "b": 2}), CARD.changed(options={"b": 2, "a": 1})
    assert one.digest == two.digest


def test_channels() -> None:
    assert CARD.channels == 3 and CARD.changed(order="GREY", mean=(127.5,), std=(128.0,)).channels == 1


@pytest.mark.parametrize("name", [None, *CHANGES])
def test_comes_back_from_its_file(tmp_path: Path, name: str | None) -> None:
    written = CARD if name is None else CARD.changed(**{name: CHANGES[name]})
    place = card.beside(tmp_path / "model.pth")
    assert place.name == "model.pth.card.json"
    card.save(written, place)
    assert card.load(place) == written and card.load(place).digest == written.digest
    assert json.loads(place.read_text())["facelens_card"] == 1


def test_a_card_needs_little() -> None:
    assert Card.from_json({"architecture": "iresnet50"}) == Card("iresnet50", "iresnet50")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"order": "RBG"}, "channel order"),
        ({"template": "tight"}, "template"),
        ({"size": [4, 112]}, "pixels"),
        ({"size": [112, 9999]}, "pixels"),
        ({"std": [0, 1, 1]}, "std"),
        ({"std": [-1, 1, 1]}, "std"),
        ({"colour": 1}, "does not know: colour"),
        ({"size": "large"}, "card"),
        ({"size": None}, "card"),
        ({"std": ["a", "b", "c"]}, "card"),
    ],
)
def test_wrong_fields_are_named(change: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Card.from_json({"name": "net", "architecture": "iresnet50", **change})


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b"null", b"{", b"\xff\xfe", b"[" * 100_000, b'{"name": "x"}', b"7"]
)
def test_what_is_no_card(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(InputError, match="card"):
        card.load(tmp_path / "a")
    with pytest.raises(InputError, match="card"):
        card.load(tmp_path / "none")
    (tmp_path / "b").write_bytes(b" " * (2 << 20))
    with pytest.raises(InputError, match="too large"):
        card.load(tmp_path / "b")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dimensions", "x"),
        ("dimensions", 0),
        ("size", [112]),
        ("size", [112, 112.5]),
        ("mean", [1, 2]),
        ("std", "127"),
        ("flip", "no"),
        ("options", [1]),
        ("architecture", 5),
        ("crop", [0, 1, 2]),
        ("grid", [7, True]),
        ("order", 3),
    ],
)
def test_a_wrong_type_is_named_with_its_field(field: str, value: object) -> None:
    written = {**Card("mine", "iresnet18").as_json(), field: value}
    with pytest.raises(InputError, match=field):
        Card.from_json(written)
