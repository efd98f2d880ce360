"""Where FaceLens keeps things."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from facelens.session import folders


def test_home_holds_everything(facelens_home: Path) -> None:
    assert folders.home() == facelens_home
    assert [folders.config(), folders.cache(), folders.state()] == [
        facelens_home / name for name in ("config", "cache", "state")
    ]
    for folder in (folders.config(), folders.cache(), folders.state()):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_open_folder_is_closed_to_others(facelens_home: Path) -> None:
    (facelens_home / "cache").mkdir()
    (facelens_home / "cache").chmod(0o755)
    assert folders.cache().stat().st_mode & 0o777 == 0o700


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("FACELENS_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_linux(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert folders.home() is None
    assert folders.config() == places / ".config/facelens"
    assert folders.cache() == places / ".cache/facelens"
    assert folders.state() == places / ".local/state/facelens"
    monkeypatch.setenv("XDG_CACHE_HOME", str(places / "elsewhere"))
    assert folders.cache() == places / "elsewhere/facelens"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert folders.cache() == places / ".cache/facelens"


def test_mac(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert folders.config() == places / "Library/Application Support/FaceLens"
    assert folders.cache() == places / "Library/Caches/FaceLens"
    assert folders.state() == places / "Library/Logs/FaceLens"


def test_windows(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("APPDATA", str(places / "roaming"))
    monkeypatch.setenv("LOCALAPPDATA", str(places / "local"))
    assert folders.config() == places / "roaming/FaceLens/config"
    assert folders.cache() == places / "local/FaceLens/cache"
    assert folders.state() == places / "local/FaceLens/state"


def test_tilde_in_home(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACELENS_HOME", "~/lens")
    assert folders.config() == places / "lens/config"
    assert os.path.isdir(places / "lens/config")
