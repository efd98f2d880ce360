"""Settings survive what happens to files."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from facelens.session import settings
from facelens.session.settings import Recent, Settings

FULL = Settings(
    theme="dark",
    layout="evaluate",
    layouts={"browse": b"\x00\xff\x01", "evaluate": b""},
    geometry=bytes(range(256)),
    recent=(Recent("/a b/ü\udcff", "a", 3), Recent("/c")),
    workspaces=(Recent("/a b/work.facelens", "work", 3),),
    thumbnail_size=96,
    megapixels=120,
    model_gb=3,
)


def test_round_trip() -> None:
    assert Settings.load() == Settings()
    assert FULL.save()
    assert Settings.load() == FULL
    assert settings.place().stat().st_mode & 0o777 == 0o600
    assert [file.name for file in settings.place().parent.iterdir()] == ["settings.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"null", b"\xff\xfe{}", b"[" * 100_000, b'{"theme": "dark"'])
def test_damaged_file_is_kept_aside(content: bytes) -> None:
    settings.place().write_bytes(content)
    assert Settings.load() == Settings()
    assert not settings.place().exists()
    assert settings.place().with_name("settings.json.bad").read_bytes() == content


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("theme", "pink", "system"),
        ("theme", 3, "system"),
        ("theme", ["dark"], "system"),
        ("layout", None, "browse"),
        ("layouts", {"a": "no base64!", "b": 3, "c": "AAE="}, {}),
        ("layouts", [], {}),
        ("layouts", {"b": 3, "c": "AAE="}, {"c": b"\x00\x01"}),
        ("geometry", 12, b""),
        ("geometry", "é", b""),
        ("recent", {"path": "/a"}, ()),
        ("recent", [3, {"path": ""}, {"path": "/a", "faces": "x", "more": 1}, {"name": "b"}], (Recent("/a"),)),
        ("thumbnail_size", "112", Settings().thumbnail_size),
        ("thumbnail_size", True, Settings().thumbnail_size),
        ("thumbnail_size", 1.5, Settings().thumbnail_size),
        ("thumbnail_size", 10**9, 512),
        ("thumbnail_size", -5, 48),
        ("megapixels", True, 89),
        ("model_gb", 0, 1),
    ],
)
def test_wrong_value_gives_way_alone(name: str, value: object, expected: object) -> None:
    FULL.save()
    stored = json.loads(settings.place().read_text())
    stored[name] = value
    settings.place().write_text(json.dumps(stored))
    assert Settings.load() == replace(FULL, **{name: expected})


def test_unknown_and_absent_fields() -> None:
    settings.place().write_text('{"theme": "light", "from_the_future": {"x": 1}}')
    assert Settings.load() == Settings(theme="light")


def test_failed_write_keeps_the_old_file(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    FULL.save()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert not Settings().save()
    assert "could not be written" in caplog.text
    monkeypatch.undo()


def test_failed_write_in_a_read_only_place(tmp_path: Path) -> None:
    file = tmp_path / "no" / "settings.json"
    assert not FULL.save(file)
    assert Settings.load(file) == Settings()
    (tmp_path / "folder").mkdir()
    assert Settings.load(tmp_path / "folder") == Settings()
