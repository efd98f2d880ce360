"""Model card: what has to be known besides the weights to get the vectors a model was made for.

It lies as JSON beside the checkpoint (`NAME.card.json`), can be edited, and goes into the fingerprint of every vector.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from facelens.errors import InputError
from facelens.files import atomic_write
from facelens.words import escaped, tr

SUFFIX = ".card.json"
ORDERS = ("RGB", "BGR", "GREY")
TEMPLATES = ("arcface112", "cosface96x112", "facenet160", "none")
_LONGEST = 1 << 20  # bytes of a card; more is no card


@dataclass(frozen=True)
class Card:
    """How pictures are fed to one model. `size` is (height, width); a pixel x of 0..255 goes in as (x - mean) / std."""

    name: str
    architecture: str
    size: tuple[int, int] = (112, 112)
    order: str = "RGB"
    mean: tuple[float, ...] = (127.5, 127.5, 127.5)
    std: tuple[float, ...] = (127.5, 127.5, 127.5)
    template: str = "arcface112"  # alignment of pictures that are not aligned yet; "none": resize only
    crop: tuple[int, int, int, int] | None = None  # top, left, bottom, right inside the aligned picture, before `size`
    flip: bool = False  # add the vector of the mirrored picture
    dimensions: int = 512
    patch_layer: str = ""  # layer or tensor whose output is the patch map, "" for none
    grid: tuple[int, int] | None = None  # rows, columns of the patch map
    licence: str = ""
    notes: str = ""
    network: str = ""  # which network of a file that holds several (`library.Inspection.networks`), "" for the usual
    options: Mapping[str, Any] = field(default_factory=dict)  # arguments of the architecture, e.g. {"parts": 16}

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise InputError(
                tr(
                    "A card's channel order is {known}, not {given}.",
                    known=", ".join(ORDERS),
                    given=escaped(str(self.order)),
                )
            )
        if self.template not in TEMPLATES:
            raise InputError(tr("A card's template is one of {known}.", known=", ".join(TEMPLATES)))
        if min(self.size) < 8 or max(self.size) > 2048:
            raise InputError(tr("An input of {size} pixels is not possible.", size=f"{self.size[0]} × {self.size[1]}"))
        if any(not s > 0 for s in self.std):
            raise InputError(tr("A card's std must be positive."))

    @property
    def channels(self) -> int:
        """1 for grey, else 3."""
        return 1 if self.order == "GREY" else 3

    @property
    def design(self) -> str:
        """The architecture, where two models can share one; a file that brings its own graph is one by itself."""
        own = self.architecture in ("onnx", "torchscript")
        return f"{self.architecture}, {self.name}" if own else self.architecture

    @property
    def digest(self) -> str:
        """Fingerprint of everything that changes vectors; name, licence, notes and the choice of patch map do not."""
        silent = ("name", "licence", "notes", "patch_layer", "grid")
        telling = {key: value for key, value in asdict(self).items() if key not in silent}
        return hashlib.sha256(json.dumps(telling, sort_keys=True).encode()).hexdigest()

    def changed(self, **changes: Any) -> Card:
        """The card with some fields replaced."""
        return replace(self, **changes)

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        return {"facelens_card": 1, **asdict(self), "options": dict(self.options)}

    @classmethod
    def from_json(cls, found: object) -> Card:
        """Read; wrong types and unknown fields are named."""
        if not isinstance(found, dict) or "architecture" not in found:
            raise InputError(
                tr("This is no model card."), hint=tr("A card is a JSON object with at least name and architecture.")
            )
        known = {f.name for f in fields(cls)}
        if unknown := found.keys() - known - {"facelens_card"}:
            raise InputError(
                tr("The card has fields FaceLens does not know: {names}.", names=", ".join(sorted(map(str, unknown))))
            )
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in found.items() if key in known
        }
        values.setdefault("name", str(values["architecture"]))
        for key, value in values.items():
            if not _FITS[key](value):
                message = tr("The card's {field} cannot be {value}.", field=key, value=escaped(repr(value)[:60]))
                raise InputError(message, hint=tr("Correct it, or delete the card to start from the defaults."))
        return cls(**values)


def _text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 100_000


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1_000_000


def _numbers(value: object) -> bool:
    known = isinstance(value, tuple) and len(value) in (1, 3)
    return known and all(isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) < 1e6 for v in value)  # type: ignore[union-attr, attr-defined]


def _wholes(count: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, tuple) and len(value) == count and all(map(_whole, value))


_FITS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("name", "architecture", "order", "template", "patch_layer", "licence", "notes", "network"), _text),
    "size": _wholes(2),
    "mean": _numbers,
    "std": _numbers,
    "crop": lambda value: value is None or _wholes(4)(value),
    "flip": lambda value: isinstance(value, bool),
    "dimensions": lambda value: _whole(value) and value != 0,
    "grid": lambda value: value is None or _wholes(2)(value),
    "options": lambda value: isinstance(value, dict) and all(map(_text, value)),
}


def beside(checkpoint: Path) -> Path:
    """Where the card of a checkpoint lies."""
    return checkpoint.with_name(checkpoint.name + SUFFIX)


def load(path: Path) -> Card:
    """Read a card."""
    try:
        if path.stat().st_size > _LONGEST:
            raise InputError(tr("{name} is too large for a model card.", name=escaped(path.name)))
        return Card.from_json(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            tr("{name} cannot be read as a model card.", name=escaped(path.name)), details=str(error)
        ) from None


def save(card: Card, path: Path) -> None:
    """Write a card, whole or not at all."""
    with atomic_write(path) as file:
        file.write((json.dumps(card.as_json(), indent=2) + "\n").encode())
