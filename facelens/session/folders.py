"""Where FaceLens keeps things: settings, cache, log. FACELENS_HOME puts all of them under one folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def home() -> Path | None:
    """The one folder for everything when FACELENS_HOME is set, else None: the system's own places are used."""
    said = os.environ.get("FACELENS_HOME", "")
    return Path(said).expanduser().absolute() if said else None


def config() -> Path:
    """The folder of settings."""
    return _folder(
        "config", xdg="XDG_CONFIG_HOME", usual=".config", mac="Library/Application Support", windows="APPDATA"
    )


def cache() -> Path:
    """The folder of what can be made again: embeddings, thumbnails."""
    return _folder("cache", xdg="XDG_CACHE_HOME", usual=".cache", mac="Library/Caches", windows="LOCALAPPDATA")


def quarantine() -> Path:
    """The folder where pictures that crash the decoder are written down."""
    return cache() / "quarantine"


def vectors() -> Path:
    """The folder of vectors."""
    return cache() / "features"


def consents() -> Path:
    """The book of the programs that the user trusts."""
    return state() / "consents.json"


def trained() -> Path:
    """The folder for what the user trains: in plain sight, and not made before it is needed."""
    base = home()
    return base / "trained" if base is not None else Path.home() / "FaceLens" / "trained"


def data() -> Path:
    """The folder of what cannot be made again: backups of workspaces, and work that was not saved."""
    return _folder(
        "data", xdg="XDG_DATA_HOME", usual=".local/share", mac="Library/Application Support", windows="LOCALAPPDATA"
    )


def state() -> Path:
    """The folder of the log."""
    return _folder("state", xdg="XDG_STATE_HOME", usual=".local/state", mac="Library/Logs", windows="LOCALAPPDATA")


def _folder(kind: str, *, xdg: str, usual: str, mac: str, windows: str) -> Path:
    base = home()
    if base is not None:
        folder = base / kind
    elif sys.platform == "darwin":
        folder = Path.home() / mac / "FaceLens"
    elif sys.platform == "win32":
        folder = Path(os.environ.get(windows) or Path.home() / "AppData" / "Local") / "FaceLens" / kind
    else:
        said = os.environ.get(xdg, "")
        # The XDG rules: a relative path counts as not set.
        folder = (Path(said) if os.path.isabs(said) else Path.home() / usual) / "facelens"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.name == "posix" and folder.stat().st_mode & 0o077:
        try:
            folder.chmod(0o700)  # what lies here tells whose faces were looked at: for the user alone
        except OSError:
            pass
    return folder
