"""From a file to pixels: one door for every picture, which refuses bombs and names the reason when nothing comes out.

Shapes    pictures (H, W, 3) uint8 RGB, upright (EXIF orientation applied)
"""

from __future__ import annotations

import importlib
import io
import os
import stat
import struct
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from facelens import limits
from facelens.errors import InputError
from facelens.images import container
from facelens.images.faceset import FaceSet
from facelens.words import escaped, tr

Picture = NDArray[np.uint8]

# What FaceLens opens. Never "whatever Pillow knows": an EPS named .jpg would start a PostScript interpreter.
FORMATS = ("JPEG", "MPO", "PNG", "BMP", "DIB", "WEBP", "GIF", "TIFF", "PPM", "JPEG2000", "AVIF")
_ENDINGS = b"jpg jpeg jpe jfif png bmp dib webp gif tif tiff pgm ppm pbm pnm jp2 avif heic heif"
SUFFIXES = frozenset(b"." + ending for ending in _ENDINGS.split())
LIMIT_BYTES = 1 << 30
BACKDROP = 127  # grey under transparent pixels: neutral for the eye and for networks alike
BLURRED = 9  # pixels across that are left of a blurred picture
LONGEST = 4  # a thumbnail's longer side is at most this many times its size; the middle is kept

# Pillow's own limit only warns and cannot be raised for one call; `_refuse_large` comes before every decoding.
Image.MAX_IMAGE_PIXELS = None
warnings.filterwarnings(
    "ignore", module=r"PIL\."
)  # about corrupt metadata: the pixels decide whether a picture is good


class PictureError(InputError):
    """No picture comes out of this file; `reason` is one of REASONS, to count by."""

    def __init__(self, message: str, *, reason: str = "unreadable", hint: str = "", details: str = "") -> None:
        super().__init__(message, hint=hint, details=details)
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.message, self.reason, self.hint, self.details)


def _rebuild(message: str, reason: str, hint: str, details: str) -> PictureError:
    return PictureError(message, reason=reason, hint=hint, details=details)


REASONS = ("missing", "not allowed", "empty", "truncated", "too large", "not a picture", "not supported", "unreadable")


@dataclass(frozen=True)
class Header:
    """What a file says about its picture before it is decoded; width and height are those of the upright picture."""

    width: int
    height: int
    mode: str
    format: str
    bytes: int
    animated: bool = False

    @property
    def channels(self) -> int:
        """1 for grey, 3 for colour, 4 with transparency; a palette counts as colour."""
        if self.mode in ("RGBA", "LA", "PA", "La", "RGBa"):
            return 4
        return 1 if self.mode in ("1", "L", "I", "F") or self.mode.startswith("I;") else 3


def read(path: str | bytes | os.PathLike[Any], *, limit_megapixels: float = 0, into: Picture | None = None) -> Picture:
    """The whole picture. Of several frames the first; raises PictureError.

    A JPEG that fits is decoded `into` a flat array where one is given, which is half as fast again as fresh memory: the
    picture is good until the array is used for the next one.
    """
    return decode(load(path), name=_shown(path), limit_megapixels=limit_megapixels, into=into)


def thumbnail(path: str | bytes | os.PathLike[Any], size: int, *, limit_megapixels: float = 0) -> Picture:
    """A small picture that covers size x size: its shorter side is at least `size`, and less than about twice that.

    The aspect ratio is kept, but the longer side is cut to 4 sizes around the middle. Pictures that are smaller come as
    they are. JPEGs are decoded at a reduced scale, without the GIL.
    """
    return _small(load(path), size, name=_shown(path), limit_megapixels=limit_megapixels)


def header(path: str | bytes | os.PathLike[Any], *, name: str = "") -> Header:
    """Size and format, without decoding; a file that has a good header may still be broken further on."""
    name = name or _shown(path)
    with _opened(path, name) as stream:
        length = os.fstat(stream.fileno()).st_size
        return _header(stream, name=name, length=length)


def read_face(faces: FaceSet, row: int, *, limit_megapixels: float = 0, into: Picture | None = None) -> Picture:
    """The picture of one face, wherever it lies: in a file of its own or inside a container. `into` as for `read`."""
    pixels = _stored_pixels(faces, row) if faces.embedded else None
    if pixels is None:
        data = _stored_bytes(faces, row)
        pixels = decode(data, name=_face(faces, row), limit_megapixels=limit_megapixels, into=into)
    return _shown_as(faces, pixels)


def thumbnail_face(faces: FaceSet, row: int, size: int) -> Picture:
    """`thumbnail` of one face, wherever it lies."""
    pixels = _stored_pixels(faces, row) if faces.embedded else None
    if pixels is not None:
        return _shown_as(faces, np.asarray(_reduced(Image.fromarray(pixels), size)))
    return _shown_as(faces, _small(_stored_bytes(faces, row), size, name=_face(faces, row), limit_megapixels=0))


def _shown_as(faces: FaceSet, pixels: Picture) -> Picture:
    return blurred(pixels) if faces.behind is not None and faces.behind.blur else pixels


def blurred(pixels: Picture) -> Picture:
    """The picture with no more left of it than a thumbnail of BLURRED pixels has: nobody can be made out."""
    high, wide = pixels.shape[:2]
    scale = BLURRED / min(high, wide)
    if scale >= 1:
        return pixels
    few = (max(1, round(wide * scale)), max(1, round(high * scale)))
    longest = LONGEST * BLURRED  # of a strip too, no more is left than that
    few = (min(few[0], longest), min(few[1], longest))
    least = Image.fromarray(pixels).resize(few, Image.Resampling.BOX)
    return np.asarray(least.resize((wide, high), Image.Resampling.BICUBIC))


def header_face(faces: FaceSet, row: int) -> Header:
    """`header` of one face, wherever it lies."""
    if not faces.embedded:
        return header(faces.path(row), name=_face(faces, row))
    pixels = _stored_pixels(faces, row)
    if pixels is not None:
        return Header(pixels.shape[1], pixels.shape[0], "RGB", "array", pixels.nbytes)
    return header_of(_stored_bytes(faces, row), name=_face(faces, row))


def face_bytes(faces: FaceSet, row: int) -> bytes:
    """The encoded picture of one face, exactly as it is stored; of a disguised one the pixels alone, as PNG."""
    if faces.behind is None:
        return _stored_bytes(faces, row)
    made = io.BytesIO()
    Image.fromarray(read_face(faces, row)).save(made, "PNG")
    return made.getvalue()


def _stored_bytes(faces: FaceSet, row: int) -> bytes:
    if not faces.embedded:
        return load(faces.path(row), name=_face(faces, row))
    stored, place = _place(faces, row)
    try:
        return stored.read(place)
    except OSError as error:
        raise _from_os(error, _face(faces, row)) from error


def _place(faces: FaceSet, row: int) -> tuple[container.Container, int]:
    root, path = faces.stored(row)
    name, _, place = path.rpartition(b"/")
    try:
        return container.index(root / os.fsdecode(name)), int(place)
    except OSError as error:
        raise _from_os(error, _face(faces, row) if faces.disguised else escaped(os.fsdecode(name))) from error
    except InputError as error:
        raise PictureError(error.message, hint=error.hint, details=error.details) from error


def _stored_pixels(faces: FaceSet, row: int) -> Picture | None:
    # Old .bin files may hold decoded arrays instead of JPEGs.
    stored, place = _place(faces, row)
    shape = stored.shapes.get(place)
    if shape is None:
        return None
    data = _stored_bytes(faces, row)
    if len(data) != shape[0] * shape[1] * shape[2]:
        raise PictureError(tr("{name} is damaged and could not be decoded.", name=_face(faces, row)))
    return np.frombuffer(data, np.uint8).reshape(shape)


def _face(faces: FaceSet, row: int) -> str:
    return escaped(os.fsdecode(faces.paths[row])) if faces.embedded else faces.file_name(row)


def _shown(path: str | bytes | os.PathLike[Any]) -> str:
    return escaped(os.path.basename(os.fsdecode(path)))


def _opened(path: str | bytes | os.PathLike[Any], name: str) -> io.BufferedReader:
    try:
        # Not blocking: a named pipe with a picture's name must not hang the program.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            os.close(handle)
            raise PictureError(tr("{name} is not a file.", name=name), reason="not a picture")
    except (OSError, ValueError) as error:
        raise _from_os(error, name) from error
    if state.st_size == 0:
        os.close(handle)
        raise PictureError(tr("{name} is empty.", name=name), reason="empty")
    return os.fdopen(handle, "rb")


def load(path: str | bytes | os.PathLike[Any], *, name: str = "") -> bytes:
    """The bytes of a picture's file; refuses what is no file, is empty or is larger than any picture."""
    name = name or _shown(path)
    with _opened(path, name) as stream:
        if os.fstat(stream.fileno()).st_size > LIMIT_BYTES:
            raise PictureError(tr("{name} is larger than 1 GB and was not opened.", name=name), reason="too large")
        try:
            return stream.read()
        except OSError as error:
            raise _from_os(error, name) from error


def _from_os(error: OSError | ValueError, name: str) -> PictureError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return PictureError(tr("{name} is not there any more.", name=name), reason="missing", details=str(error))
    if isinstance(error, PermissionError):
        message = tr("{name} may not be read by this user.", name=name)
        return PictureError(message, reason="not allowed", hint=tr("Change its permissions."), details=str(error))
    return PictureError(
        tr("{name} could not be read from the disk.", name=name), reason="unreadable", details=str(error)
    )


def decode(data: bytes, *, name: str = "picture", limit_megapixels: float = 0, into: Picture | None = None) -> Picture:
    """Encoded bytes to pixels, as `read`."""
    return checked(data, name=name, limit_megapixels=limit_megapixels, into=into)[0]


def checked(
    data: bytes, *, name: str = "picture", limit_megapixels: float = 0, into: Picture | None = None
) -> tuple[Picture, bool]:
    """`decode`, and whether the picture is sound: False where the decoder had to make up for damage inside a JPEG."""
    complaint = ""
    if data[:3] == b"\xff\xd8\xff":
        made, complaint = _turbo(data, 0, name=name, limit_megapixels=limit_megapixels, into=into)
        if made is not None:
            return made, True
    pixels = np.ascontiguousarray(_pillow(data, name=name, limit_megapixels=limit_megapixels))
    return pixels, not any(word in complaint for word in ("orrupt", "remature", "nvalid"))


def _turbo(
    data: bytes, size: int, *, name: str, limit_megapixels: float, into: Picture | None = None
) -> tuple[Picture | None, str]:
    """The fast way for sound RGB and grey JPEGs, which leaves all others to Pillow: None, and what the decoder said."""
    import simplejpeg

    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(data)
        if colours in ("CMYK", "YCCK"):
            return None, ""
        _refuse_large(width, height, name=name, limit_megapixels=limit_megapixels)
        fits = into is not None and 3 * height * width <= into.size
        pixels: Picture = simplejpeg.decode_jpeg(
            data, "RGB", fastdct=size > 0, min_height=size, min_width=size, buffer=into if fits else None
        )
    except ValueError as error:
        return None, str(error)
    return _upright(pixels, _jpeg_orientation(data)), ""


def _small(data: bytes, size: int, *, name: str, limit_megapixels: float) -> Picture:
    if data[:3] == b"\xff\xd8\xff":
        made, _ = _turbo(data, size, name=name, limit_megapixels=limit_megapixels)
        if made is not None:
            longest = LONGEST * size
            if min(made.shape[:2]) < 2 * size and max(made.shape[:2]) <= longest:
                return made
            return np.asarray(_reduced(Image.fromarray(made), size))
    return np.array(_reduced(_pillow(data, name=name, limit_megapixels=limit_megapixels, size=size), size))


def _reduced(image: Image.Image, size: int) -> Image.Image:
    longest = LONGEST * size
    scale = max(size / min(image.size), 1 / max(image.size))
    if scale < 1:
        width, height = (max(1, round(side * scale)) for side in image.size)
        image = image.resize((width, height), Image.Resampling.BOX if scale < 0.5 else Image.Resampling.BILINEAR)
    if max(image.size) > longest:
        width, height = (min(side, longest) for side in image.size)
        left, top = (image.width - width) // 2, (image.height - height) // 2
        image = image.crop((left, top, left + width, top + height))
    return image


def _about(value: float) -> str:
    """Whole numbers from 10 on, two digits below."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _refuse_large(width: int, height: int, *, name: str, limit_megapixels: float) -> None:
    limit_megapixels = limit_megapixels or limits.megapixels()  # 0: what the user has set
    if width * height > limit_megapixels * 1e6:
        message = tr(
            "{name} has {megapixels} megapixels, more than the limit of {limit}, and was not opened.",
            name=name, megapixels=_about(width * height / 1e6), limit=f"{limit_megapixels:g}",
        )  # fmt: skip
        hint = tr("Make it smaller, or raise the limit: Help, Limits in the window, {name}.", name=limits.MEGAPIXELS)
        raise PictureError(message, reason="too large", hint=hint)


@cache
def _formats(heic: bool) -> tuple[str, ...]:
    """Those of FORMATS that this Pillow can open. Only their plugins are imported, which also is faster than all."""
    for name in ("Jpeg", "Mpo", "Png", "Bmp", "WebP", "Gif", "Tiff", "Ppm", "Jpeg2K", "Avif"):
        try:
            importlib.import_module(f"PIL.{name}ImagePlugin")
        except ImportError:
            continue
    known = tuple(name for name in FORMATS if name in Image.OPEN)
    if not heic:
        return known
    try:
        pillow_heif = importlib.import_module("pillow_heif")
    except ImportError:
        return known
    pillow_heif.register_heif_opener()
    return (*known, "HEIF")


def _identified(stream: Any, *, name: str) -> Image.Image:
    start = stream.read(512)
    stream.seek(0)
    try:
        return Image.open(stream, formats=_formats(_is_heic(start)))
    except Exception as error:  # Pillow's plugins raise whatever their parsing code meets
        raise _unidentified(start, error, name) from error


def header_of(data: bytes, *, name: str = "picture") -> Header:
    """`header` of encoded bytes."""
    return _header(io.BytesIO(data), name=name, length=len(data))


def _header(stream: Any, *, name: str, length: int) -> Header:
    image = _identified(stream, name=name)
    width, height = image.size
    if _pillow_orientation(image) >= 5 and image.format != "TIFF":  # a TIFF tells the upright size by itself
        width, height = height, width
    try:
        animated = bool(getattr(image, "is_animated", False)) and image.format != "MPO"
    except Exception:
        animated = False
    return Header(width, height, image.mode, image.format or "", length, animated)


def _pillow(data: bytes, *, name: str, limit_megapixels: float, size: int = 0) -> Image.Image:
    image = _identified(io.BytesIO(data), name=name)
    try:
        _refuse_large(*image.size, name=name, limit_megapixels=limit_megapixels)
        if size:
            image.draft("RGB" if image.mode != "L" else "L", (size, size))
        image.load()
        turned = _pillow_orientation(image)
        image = _rgb(image)
        return image if turned == 1 else Image.fromarray(_upright(np.asarray(image), turned))
    except PictureError:
        raise
    except Exception as error:
        text = str(error).lower()
        cut = any(
            word in text for word in ("truncated", "not enough", "unexpected end", "broken data stream", "end of file")
        )
        if cut:
            message = tr("{name} ends before its picture is complete.", name=name)
            raise PictureError(
                message, reason="truncated", hint=tr("Copy or download it again."), details=str(error)
            ) from error
        details = f"{type(error).__name__}: {error}"
        raise PictureError(tr("{name} is damaged and could not be decoded.", name=name), details=details) from error


def _rgb(image: Image.Image) -> Image.Image:
    mode = image.mode
    if mode == "RGB" and "transparency" not in image.info:
        return image
    if mode in ("I", "F") or mode.startswith("I;"):
        return Image.fromarray(_grey_bytes(image)).convert("RGB")
    if "transparency" in image.info or mode in ("RGBA", "LA", "PA", "La", "RGBa"):
        over = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", over.size, (BACKDROP, BACKDROP, BACKDROP, 255)), over).convert(
            "RGB"
        )
    return image.convert("RGB")


def _grey_bytes(image: Image.Image) -> Picture:
    """Deep grey scaled to 8 bits. Where the file does not tell its range: the smallest usual one that holds all."""
    values = np.nan_to_num(np.asarray(image).astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    top = float(values.max(initial=0.0))
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PPM"):
        full = 65535.0
    else:
        ranges = (1.0, 255.0, 65535.0) if image.mode == "F" else (255.0, 65535.0, 2.0**31 - 1)
        full = next((bound for bound in ranges if top <= bound), top)
    return np.asarray(np.rint(np.clip(values, 0, full) * (255.0 / full)), np.uint8)


def _upright(pixels: Picture, turned_as: int) -> Picture:
    if turned_as == 1:
        return pixels
    turned = {
        2: lambda a: a[:, ::-1],
        3: lambda a: a[::-1, ::-1],
        4: lambda a: a[::-1],
        5: lambda a: a.swapaxes(0, 1),
        6: lambda a: a[::-1].swapaxes(0, 1),
        7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
        8: lambda a: a[:, ::-1].swapaxes(0, 1),
    }[turned_as](pixels)
    return np.ascontiguousarray(turned)


def orientation(data: bytes) -> int:
    """The EXIF orientation of encoded bytes, 1 = upright."""
    if data[:3] == b"\xff\xd8\xff":
        return _jpeg_orientation(data)
    return _pillow_orientation(_identified(io.BytesIO(data), name="picture"))


def _pillow_orientation(image: Image.Image) -> int:
    try:
        value = image.getexif().get(0x0112, 1)
    except Exception:
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _jpeg_orientation(data: bytes) -> int:
    """The EXIF orientation of a JPEG, 1 where there is none or it makes no sense."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] not in (0xDA, 0xD9):
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at + 1] == 0xE1 and data[at + 4 : at + 10] == b"Exif\0\0":
            return _tiff_orientation(data[at + 10 : at + 2 + length])
        at += 2 + length
    return 1


def _tiff_orientation(block: bytes) -> int:
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(block[:4])
    if order is None:
        return 1
    try:
        (first,) = struct.unpack_from(order + "I", block, 4)
        (count,) = struct.unpack_from(order + "H", block, first)
        for entry in range(min(count, 256)):
            tag, kind, _, value = struct.unpack_from(order + "HHIH", block, first + 2 + 12 * entry)
            if tag == 0x0112 and kind == 3:
                return value if 1 <= value <= 8 else 1
    except struct.error:
        pass
    return 1


def _is_heic(start: bytes) -> bool:
    return start[4:8] == b"ftyp" and start[8:12] in (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")


def _unidentified(start: bytes, error: Exception, name: str) -> PictureError:
    details = f"{type(error).__name__}: {error}"
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if _is_heic(start):
        message = tr("{name} is a HEIC picture, which needs a further library.", name=name)
        return PictureError(
            message, reason="not supported", hint=tr("Install HEIC support: pip install pillow-heif."), details=details
        )
    if start.startswith((b"%!PS", b"\xc5\xd0\xd3\xc6", b"%PDF")) or b"<svg" in text:
        message = tr("{name} is a drawing (EPS, PDF or SVG) and was not opened.", name=name)
        return PictureError(message, reason="not supported", hint=tr("Save it as PNG or JPEG."), details=details)
    if text.startswith((b"<!doctype html", b"<html")):
        message = tr("{name} is a web page, not a picture.", name=name)
        return PictureError(
            message,
            reason="not a picture",
            hint=tr("Download it again; the server sent a page instead."),
            details=details,
        )
    if start.startswith(b"version https://git-lfs"):
        message = tr("{name} is a Git LFS pointer, not the picture itself.", name=name)
        return PictureError(message, reason="not a picture", hint=tr("Run git lfs pull."), details=details)
    known = (
        b"\xff\xd8\xff",
        b"\x89PNG",
        b"GIF8",
        b"BM",
        b"RIFF",
        b"II*\0",
        b"MM\0*",
        b"P1",
        b"P2",
        b"P3",
        b"P4",
        b"P5",
        b"P6",
    )
    if start.startswith(known):
        if len(start) < 64 or "truncated" in str(error).lower():
            message = tr("{name} ends before its picture is complete.", name=name)
            return PictureError(message, reason="truncated", hint=tr("Copy or download it again."), details=details)
        return PictureError(tr("{name} is damaged and could not be decoded.", name=name), details=details)
    return PictureError(
        tr("{name} is not a picture that FaceLens knows.", name=name), reason="not a picture", details=details
    )
