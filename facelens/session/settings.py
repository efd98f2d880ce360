"""Settings: what the user has chosen, as one frozen value in one JSON file.

A file that cannot be read is kept beside it as settings.json.bad and the defaults are used; a single value of the wrong
type gives way to its default. What is not known (written by a newer FaceLens) is left out.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from facelens.analyses.plan import ALPHA, PATCH_WEIGHTS, PLAIN_SUM, SOLVERS
from facelens.errors import FaceLensError
from facelens.files import atomic_write
from facelens.session import folders, keys

_log = logging.getLogger("facelens.settings")

THEMES = ("system", "light", "dark")
SIZES = (48, 512)  # thumbnails, in pixels


@dataclass(frozen=True)
class Recent:
    """A gallery or workspace that has been open: where it is, its name, how many faces it had."""

    path: str
    name: str = ""
    faces: int = 0


@dataclass(frozen=True)
class Searching:
    """How faces are searched for by their patches, and how the plan is looked at: as it was left last."""

    alpha: float = ALPHA
    weights: str = "uniform"
    solver: str = "exact"
    epsilon: float = 0.05
    shortlist: int = 100
    cut: float = 0.02
    opacity: float = 0.6
    colours: str = "viridis"


@dataclass(frozen=True)
class Drawing:
    """How figures are written: as it was left last."""

    format: str = "png"
    width: float = 0.0  # mm; 0: as they are laid out
    dpi: int = 200
    recipe: bool = True  # whether it is written beside the figure how it was made


@dataclass(frozen=True)
class Settings:
    """Everything that outlives the window. Change with `dataclasses.replace`, then `save`."""

    theme: str = "system"
    layout: str = "browse"  # name of the layout in use
    layouts: dict[str, bytes] = field(default_factory=dict)  # Qt's own bytes for each layout
    geometry: bytes = b""
    recent: tuple[Recent, ...] = ()  # galleries
    workspaces: tuple[Recent, ...] = ()
    thumbnail_size: int = 101
    megapixels: int = 89  # a picture with more is not opened
    model_gb: int = 8  # what the tensors of a model file may take
    detector: str = ""  # the file that finds faces
    detector_policy: str = "largest"  # which of several faces
    training: str = ""  # folder of the last training, which may not be finished
    searching: Searching = field(default_factory=Searching)
    drawing: Drawing = field(default_factory=Drawing)
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of commands, where they are not the usual ones
    advance: bool = False  # whether a mark leads to the next face
    still: bool = False  # nothing moves by itself: what would glide is there at once
    pseudonyms: bool = False  # in whatever is exported, people and pictures have other names
    blur: bool = False  # and faces cannot be made out

    @classmethod
    def load(cls, path: Path | None = None) -> Settings:
        """Read the settings; whatever is wrong with the file, there are settings afterwards."""
        path = path or place()
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return cls()
        except OSError as error:
            _log.warning("settings could not be read: %s", error.strerror)
            return cls()
        try:
            found = json.loads(raw)
            if not isinstance(found, dict):
                raise ValueError("not an object")
        except (ValueError, RecursionError) as error:
            _log.warning("settings are damaged (%s); they are kept as %s.bad, defaults are used", error, path.name)
            try:
                os.replace(path, path.with_name(path.name + ".bad"))
            except OSError:
                pass
            return cls()
        return cls(**{name: value for name, read in _READ.items() if (value := _taken(name, read, found)) is not None})

    def save(self, path: Path | None = None) -> bool:
        """Write the settings whole or not at all; False, and a line in the log, where that is not possible."""
        path = path or place()
        try:
            with atomic_write(path) as stream:
                stream.write(json.dumps(asdict(self), indent=1, default=_text).encode())
            if os.name == "posix":
                path.chmod(0o600)
        except (FaceLensError, OSError) as error:
            _log.warning("settings could not be written: %s", error)
            return False
        return True


def place() -> Path:
    """The settings file."""
    return folders.config() / "settings.json"


def _taken(name: str, read: Callable[[Any], Any], found: dict[str, Any]) -> Any:
    if name not in found:
        return None
    try:
        value = read(found[name])
    except (ValueError, TypeError, KeyError, AttributeError, binascii.Error):
        value = None
    if value is None:
        _log.warning("setting %s is not usable; its default is used", name)
    return value


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(type(value).__name__)


def _bytes(value: Any) -> bytes | None:
    return base64.b64decode(value, validate=True) if isinstance(value, str) else None


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _theme(value: Any) -> str | None:
    return value if value in THEMES else None


def _size(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return min(max(value, SIZES[0]), SIZES[1]) if whole else None


def _within(value: Any, most: int) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return min(max(value, 1), most) if whole else None


def _layouts(value: Any) -> dict[str, bytes]:
    read = {name: _bytes(text) for name, text in value.items()}
    return {name: state for name, state in read.items() if state is not None}


def _recent(value: Any) -> tuple[Recent, ...] | None:
    if not isinstance(value, list):
        return None
    return tuple(
        Recent(one["path"], str(one.get("name", "")), faces if isinstance(faces := one.get("faces"), int) else 0)
        for one in value
        if isinstance(one, dict) and isinstance(one.get("path"), str) and one["path"]
    )


def _searching(value: Any) -> Searching:
    """Each value as far as it can be used."""
    usable: dict[str, Callable[[Any], bool]] = {
        "alpha": lambda x: x == PLAIN_SUM or 0 <= x <= 1,
        "weights": lambda x: x in PATCH_WEIGHTS,
        "solver": lambda x: x in SOLVERS,
        "epsilon": lambda x: 0.001 <= x <= 1,
        "shortlist": lambda x: isinstance(x, int) and 0 <= x <= 100_000,
        "cut": lambda x: 0 <= x <= 0.2,
        "opacity": lambda x: 0 <= x <= 1,
        "colours": lambda x: x in ("viridis", "cividis"),
    }
    found: dict[str, Any] = {}
    for name, fits in usable.items():
        given = value.get(name)
        kinds = (str,) if name in ("weights", "solver", "colours") else (int, float)
        if isinstance(given, kinds) and not isinstance(given, bool) and fits(given):
            found[name] = given
    return Searching(**found)


def _drawing(value: Any) -> Drawing:
    """Each value as far as it can be used."""
    usable: dict[str, Callable[[Any], bool]] = {
        "format": lambda x: x in ("png", "svg", "pdf"),
        "width": lambda x: isinstance(x, (int, float)) and not isinstance(x, bool) and (x == 0 or 5 <= x <= 5000),
        "dpi": lambda x: isinstance(x, int) and not isinstance(x, bool) and 20 <= x <= 2400,
        "recipe": lambda x: isinstance(x, bool),
    }
    return Drawing(**{name: value[name] for name, fits in usable.items() if name in value and fits(value[name])})


_READ: dict[str, Callable[[Any], Any]] = {
    "theme": _theme,
    "layout": _name,
    "layouts": _layouts,
    "geometry": _bytes,
    "recent": _recent,
    "workspaces": _recent,
    "thumbnail_size": _size,
    "megapixels": lambda value: _within(value, 2000),
    "model_gb": lambda value: _within(value, 512),
    "detector": lambda value: value if isinstance(value, str) else None,
    "detector_policy": _name,
    "training": lambda value: value if isinstance(value, str) else None,
    "searching": _searching,
    "drawing": _drawing,
    "keys": keys.read,
    "advance": lambda value: value if isinstance(value, bool) else None,
    "still": lambda value: value if isinstance(value, bool) else None,
    "pseudonyms": lambda value: value if isinstance(value, bool) else None,
    "blur": lambda value: value if isinstance(value, bool) else None,
}
assert set(_READ) == {one.name for one in fields(Settings)}
