"""Pictures that are given away: whole, small, or none but a drawn stand-in; and the names they get in an archive.

A picture of disguised faces is pixels and nothing else: no EXIF, no comment, no preview, nothing behind its end.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from PIL import Image

from facelens.images import decode
from facelens.images.faceset import FaceSet
from facelens.words import escaped

KINDS = ("none", "thumbnails", "originals")
SMALL = 160  # pixels of the shorter side of a small picture
EYES = 40  # pixels that stay between the eyes, which is more than networks are shown
QUALITY = 90  # of a JPEG
STAND_IN, CELLS = 64, 8  # pixels and cells across
LETTERS = 100  # of each part of a path


class Given(NamedTuple):
    """An encoded picture, its ending, and by how much it was made smaller."""

    data: bytes
    ending: str
    scale: float = 1.0


def given(faces: FaceSet, row: int, kind: str) -> Given:
    """The picture of a face as it is given away; `kind` is of KINDS. Raises PictureError."""
    if kind == "none":
        return Given(stand_in(faces.label(row), faces.paths[row]), ".png")
    if kind == "thumbnails":
        return _small(faces, row)
    if faces.behind is None:
        data = decode.face_bytes(faces, row)
        ending = os.path.splitext(os.fsdecode(faces.paths[row]))[1].lower()
        known = decode.header_face(faces, row).format  # a file that is none is left out
        if known == "array":
            return Given(_png(decode.read_face(faces, row)), ".png")
        return Given(data, ending if ending.encode() in decode.SUFFIXES else f".{known.lower()}")
    if faces.behind.blur:
        return Given(_jpeg(decode.read_face(faces, row)), ".jpg")
    plain = bare_jpeg(decode.face_bytes(faces.uncovered(), row)) if _is_jpeg(faces, row) else None
    return Given(_png(decode.read_face(faces, row)), ".png") if plain is None else Given(plain, ".jpg")


def _is_jpeg(faces: FaceSet, row: int) -> bool:
    return decode.header_face(faces, row).format in ("JPEG", "MPO")


def _small(faces: FaceSet, row: int) -> Given:
    image = Image.fromarray(decode.read_face(faces, row))
    scale = SMALL / min(image.size)
    if faces.landmarks is not None:
        across = float(np.hypot(*(faces.landmarks[row, 1] - faces.landmarks[row, 0])))
        if np.isfinite(across) and across > 0:
            scale = max(scale, EYES / across)  # a face in a large photograph stays large enough
    if scale >= 1:
        return Given(_jpeg(np.asarray(image)), ".jpg")
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    return Given(_jpeg(np.asarray(image.resize(size, Image.Resampling.LANCZOS))), ".jpg", scale)


def _jpeg(pixels: decode.Picture) -> bytes:
    made = io.BytesIO()
    Image.fromarray(pixels).save(made, "JPEG", quality=QUALITY)
    return made.getvalue()


def _png(pixels: decode.Picture) -> bytes:
    made = io.BytesIO()
    Image.fromarray(pixels).save(made, "PNG")
    return made.getvalue()


def stand_in(person: str, path: bytes) -> bytes:
    """A drawn tile in the place of a picture: a colour for each person, a pattern for each picture."""
    hue = int.from_bytes(hashlib.blake2b(person.encode("utf-8", "replace"), digest_size=1).digest(), "big")
    raw = hashlib.blake2b(path, digest_size=CELLS * CELLS).digest()
    light = (np.frombuffer(raw, np.uint8).reshape(CELLS, CELLS) // 4 + 96).astype(np.uint8)
    tile = np.stack([np.full_like(light, hue), np.full_like(light, 70), light], 2)
    image = Image.fromarray(tile, "HSV").convert("RGB").resize((STAND_IN, STAND_IN), Image.Resampling.NEAREST)
    return _png(np.asarray(image))


def bare_jpeg(data: bytes) -> bytes | None:
    """The same JPEG, pixel for pixel, without anything it says besides; None where it has to be made anew.

    Tables, frames and scans stay, JFIF without its preview and Adobe's word on colours; all else goes, also what stands
    behind the end. A picture that is to be turned, or whose parts are not as they should be, is not taken apart.
    """
    if data[:3] != b"\xff\xd8\xff" or decode.orientation(data) != 1:
        return None
    kept, at = [b"\xff\xd8"], 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        kind = data[at + 1]
        if kind == 0xFF:  # filling
            at += 1
            continue
        if kind == 0xD9:
            return b"".join([*kept, b"\xff\xd9"])
        if kind < 0xC0 or 0xD0 <= kind <= 0xD8:
            return None
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        segment = data[at : at + 2 + length]
        if length < 2 or len(segment) != length + 2:
            return None
        kept.append(_kept(kind, segment))
        at += 2 + length
        if kind == 0xDA:
            end = _scan_end(data, at)
            kept.append(data[at:end])
            at = end
    return b"".join([*kept, b"\xff\xd9"]) if data[at : at + 2] == b"\xff\xd9" else None


def _kept(kind: int, segment: bytes) -> bytes:
    if kind == 0xE0 and segment[4:9] == b"JFIF\0" and len(segment) >= 18:
        return b"\xff\xe0\0\x10" + segment[4:16] + b"\0\0"
    if kind == 0xEE and segment[4:9] == b"Adobe" and len(segment) >= 16:
        return b"\xff\xee\0\x0e" + segment[4:16]
    return b"" if 0xE0 <= kind <= 0xEF or kind == 0xFE else segment


def _scan_end(data: bytes, at: int) -> int:
    """Where the coded pixels end: at the first marker that is neither a stuffed byte nor a restart."""
    while True:
        at = data.find(b"\xff", at)
        if at < 0 or at + 1 >= len(data):
            return len(data)
        if data[at + 1] == 0 or 0xD0 <= data[at + 1] <= 0xD7:
            at += 2
        elif data[at + 1] == 0xFF:
            at += 1
        else:
            return at


# Names

_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(10))})


def safe(name: str) -> str:
    """A name that every system takes for a file, as near to this one as can be.

    >>> safe("a/b:c"), safe("aux.txt"), safe("..")
    ('a_b_c', '_aux.txt', '_')
    """
    shown = _FORBIDDEN.sub("_", escaped(name))[:LETTERS].strip().rstrip(". ")
    if not shown:
        return "_"
    return f"_{shown}" if shown.split(".")[0].casefold() in _DEVICES else shown


def stems(paths: Iterable[bytes]) -> list[str]:
    """A place inside an archive for each path, without ending: relative, safe, none twice, also not in another case."""
    taken: set[str] = set()
    made = []
    for path in paths:
        parts = [part for part in os.fsdecode(path).replace("\\", "/").split("/") if part not in ("", ".", "..")]
        *folders, last = parts or ["_"]
        head, dot, ending = last.rpartition(".")
        file = head if dot and head and f".{ending.lower()}".encode() in decode.SUFFIXES else last
        base = "/".join([*(safe(part) for part in folders), safe(file)])
        name, number = base, 1
        while name.casefold() in taken:
            number += 1
            name = f"{base} ({number})"
        taken.add(name.casefold())
        made.append(name)
    return made


def unique(names: Iterable[str]) -> list[str]:
    """Safe names for files of one folder, without ending, none twice."""
    return stems(safe(name).encode("utf-8", "surrogateescape") + b".png" for name in names)
