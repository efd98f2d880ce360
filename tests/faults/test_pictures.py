"""Pictures, names, tables and containers as they should not be: nothing crashes, nothing is lost, each has a reason.

Counts are small by default; `-m faults` runs the full ones.
"""

from __future__ import annotations

import csv
import io
import os
import pickle
import struct
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from facelens.errors import FaceLensError, InputError
from facelens.images import builder, container, decode, doctor, readers
from facelens.images.readers import table

# Pillow warns about odd metadata; what counts is the outcome, which must not depend on the filter.
pytestmark = pytest.mark.filterwarnings("ignore")

RED, GREEN, BLUE, WHITE, GREY = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (127, 127, 127)


def blocks(mode: str = "RGB") -> Image.Image:
    """16 x 8: red, green | blue, white quarters."""
    image = Image.new("RGB", (16, 8), RED)
    pen = ImageDraw.Draw(image)
    pen.rectangle((8, 0, 15, 3), GREEN)
    pen.rectangle((0, 4, 7, 7), BLUE)
    pen.rectangle((8, 4, 15, 7), WHITE)
    return image.convert(mode)


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def quarters(pixels: np.ndarray) -> list[tuple[int, ...]]:
    """The middle of each quarter: top left, top right, bottom left, bottom right."""
    h, w = pixels.shape[:2]
    return [tuple(int(v) for v in pixels[y, x]) for y in (h // 4, 3 * h // 4) for x in (w // 4, 3 * w // 4)]


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, depth: int, colour: int, rows: bytes) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


GOOD: dict[str, tuple[bytes, list[tuple[int, ...]], int]] = {}


def good(name: str, data: bytes, expected: list[tuple[int, ...]], tolerance: int = 0) -> None:
    GOOD[name] = (data, expected, tolerance)


PLAIN = [RED, GREEN, BLUE, WHITE]
for form in ("PNG", "BMP", "TIFF", "PPM", "DIB"):
    good(f"rgb {form}", saved(blocks(), form), PLAIN)
good("rgb WEBP", saved(blocks(), "WEBP", lossless=True), PLAIN)
good("rgb JPEG2000", saved(blocks(), "JPEG2000"), PLAIN)
good("rgb JPEG", saved(blocks(), "JPEG", quality=100, subsampling=0), PLAIN, 6)  # thumbnails use the fast transform
good("progressive JPEG", saved(blocks(), "JPEG", quality=100, subsampling=0, progressive=True), PLAIN, 6)
for packing in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"):
    good(f"TIFF {packing}", saved(blocks(), "TIFF", compression=packing), PLAIN)
LUMA = [76, 150, 29, 255]
for form in ("PNG", "BMP", "TIFF", "PPM"):
    good(f"grey {form}", saved(blocks("L"), form), [(v, v, v) for v in LUMA], 1)
good("grey JPEG", saved(blocks("L"), "JPEG", quality=100), [(v, v, v) for v in LUMA], 6)
for form in ("PNG", "GIF", "BMP", "TIFF"):
    good(f"palette {form}", saved(blocks().quantize(8), form), PLAIN, 8)
CHECKS = Image.fromarray(np.array([[0, 255], [255, 0]], np.uint8)).resize((16, 8), 0).convert("1")
for form in ("PNG", "TIFF", "BMP"):
    good(f"one bit {form}", saved(CHECKS, form),
         [(0,) * 3, WHITE, WHITE, (0,) * 3])  # fmt: skip
good("CMYK JPEG", saved(blocks("CMYK"), "JPEG", quality=100), PLAIN, 8)
good("CMYK TIFF", saved(blocks("CMYK"), "TIFF"), PLAIN, 2)
good("YCbCr TIFF", saved(blocks("YCbCr"), "TIFF"), PLAIN, 3)
DEEP = np.repeat(np.repeat(np.array([[0, 0x8080], [0x4040, 0xFFFF]], np.uint16), 4, 0), 8, 1)
DEEP_SEEN = [(0,) * 3, (128,) * 3, (64,) * 3, WHITE]
good("16 bit grey PNG", saved(Image.fromarray(DEEP), "PNG"), DEEP_SEEN)
good("16 bit grey TIFF", saved(Image.fromarray(DEEP), "TIFF"), DEEP_SEEN)
good("16 bit grey PGM", b"P5 16 8 65535\n" + DEEP.astype(">u2").tobytes(), DEEP_SEEN)
good("dark 16 bit PGM", b"P5 16 8 65535\n" + np.full((8, 16), 0x1010, ">u2").tobytes(), [(16,) * 3] * 4)
good("12 bit PGM", b"P5 16 8 4095\n" + (DEEP >> 4).astype(">u2").tobytes(), DEEP_SEEN, 1)
WIDE = np.stack([DEEP, DEEP[::-1], DEEP], 2)
good("16 bit RGB PNG", png(16, 8, 16, 2, b"".join(b"\0" + row.astype(">u2").tobytes() for row in WIDE)),
     [(0, 64, 0), (128, 255, 128), (64, 0, 64), (255, 128, 255)], 1)  # fmt: skip
good("float TIFF 0 to 1", saved(Image.fromarray((DEEP / 65535).astype(np.float32)), "TIFF"), DEEP_SEEN, 1)
good("float TIFF 0 to 255", saved(Image.fromarray((DEEP / 257).astype(np.float32)), "TIFF"), DEEP_SEEN, 1)
good("32 bit TIFF", saved(Image.fromarray(DEEP.astype(np.int32)), "TIFF"), DEEP_SEEN, 1)
CLEAR = blocks().convert("RGBA")
CLEAR.putalpha(Image.fromarray(np.repeat(np.array([[0, 255]], np.uint8), 8, 0).repeat(8, 1)))
for form in ("PNG", "TIFF"):
    good(f"alpha {form}", saved(CLEAR, form), [GREY, GREEN, GREY, WHITE])
good("alpha WEBP", saved(CLEAR, "WEBP", lossless=True, exact=True), [GREY, GREEN, GREY, WHITE])
HALF = blocks().convert("RGBA")
HALF.putalpha(128)
good("half alpha PNG", saved(HALF, "PNG"), [(191, 63, 63), (63, 191, 63), (63, 63, 191), (191, 191, 191)], 2)
good("grey and alpha PNG", saved(CLEAR.convert("LA"), "PNG"), [GREY, (150,) * 3, GREY, WHITE], 1)
PALETTE = blocks().quantize(4)
good(
    "transparent palette PNG",
    saved(PALETTE, "PNG", transparency=PALETTE.getpixel((0, 0))),
    [GREY, GREEN, BLUE, WHITE],
    8,
)
good(
    "transparent palette GIF",
    saved(PALETTE, "GIF", transparency=PALETTE.getpixel((0, 0))),
    [GREY, GREEN, BLUE, WHITE],
    8,
)
good("keyed RGB PNG", saved(blocks(), "PNG", transparency=RED), [GREY, GREEN, BLUE, WHITE])
good(
    "moving GIF",
    saved(blocks().quantize(8), "GIF", save_all=True, append_images=[Image.new("L", (16, 8), 9)]),
    PLAIN,
    8,
)
good(
    "moving WEBP",
    saved(blocks(), "WEBP", save_all=True, append_images=[Image.new("RGB", (16, 8))], lossless=True),
    PLAIN,
    1,
)
good("moving PNG", saved(blocks(), "PNG", save_all=True, append_images=[Image.new("RGB", (16, 8))]), PLAIN)
good("pages TIFF", saved(blocks(), "TIFF", save_all=True, append_images=[Image.new("RGB", (16, 8))]), PLAIN)
TURNED = {
    1: PLAIN, 2: [GREEN, RED, WHITE, BLUE], 3: [WHITE, BLUE, GREEN, RED], 4: [BLUE, WHITE, RED, GREEN],
    5: [RED, BLUE, GREEN, WHITE], 6: [BLUE, RED, WHITE, GREEN],
    7: [WHITE, GREEN, BLUE, RED], 8: [GREEN, WHITE, RED, BLUE],
}  # fmt: skip
for turn, expected in TURNED.items():
    exif = Image.Exif()
    exif[0x0112] = turn
    good(f"EXIF {turn} JPEG", saved(blocks(), "JPEG", quality=100, subsampling=0, exif=exif), expected, 6)
    good(f"EXIF {turn} PNG", saved(blocks(), "PNG", exif=exif), expected)
NONSENSE = Image.Exif()
NONSENSE[0x0112] = 77
good("EXIF nonsense", saved(blocks(), "JPEG", quality=100, subsampling=0, exif=NONSENSE), PLAIN, 6)
good("ASCII PPM", b"P3 2 2 255\n255 0 0 0 255 0\n0 0 255 255 255 255\n", PLAIN)
good("junk after the end", saved(blocks(), "PNG") + b"junk" * 100, PLAIN)
good("wrong name", saved(blocks(), "PNG"), PLAIN)


@pytest.mark.parametrize("name", GOOD)
def test_pictures_come_out_with_the_right_pixels(tmp_path: Path, name: str) -> None:
    data, expected, tolerance = GOOD[name]
    path = tmp_path / "a.jpg"  # the name never decides
    path.write_bytes(data)
    for pixels in (decode.read(path), decode.thumbnail(path, 64)):
        assert pixels.dtype == np.uint8 and pixels.shape[2] == 3 and pixels.flags.c_contiguous
        difference = np.abs(np.array(quarters(pixels), int) - np.array(expected, int)).max()
        assert difference <= tolerance, quarters(pixels)


def test_there_are_sixty_of_them() -> None:
    assert len(GOOD) >= 60


def bomb_jpeg() -> bytes:
    data = bytearray(saved(blocks(), "JPEG"))
    at = data.index(b"\xff\xc0") + 5
    data[at : at + 4] = b"\xff\xff\xff\xff"
    return bytes(data)


JPEG, PNG = saved(blocks(), "JPEG"), saved(blocks(), "PNG")
BOMB_BMP = b"BM" + struct.pack("<IHHIIiiHHIIiiII", 100, 0, 0, 54, 40, 40_000, 40_000, 1, 24, 0, 0, 0, 0, 0, 0)
BOMB_GIF = b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0, 0, 0)
BOMB_GIF += b"," + struct.pack("<HHHHB", 0, 0, 65535, 65535, 0) + b"\x02\x00;"
BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "bomb PNG": (png(60_000, 60_000, 8, 2, b"\0"), "too large"),
    "bomb JPEG": (bomb_jpeg(), "too large"),
    "bomb BMP": (BOMB_BMP, "too large"),
    "bomb PGM": (b"P5 99999 99999 255\n" + b"x" * 100, "too large"),
    "bomb GIF": (BOMB_GIF, "too large"),
    "cut JPEG": (saved(blocks().resize((200, 200)), "JPEG")[:900], "truncated"),
    "cut PNG": (saved(Image.effect_noise((100, 100), 90), "PNG")[:2000], "truncated"),
    "cut BMP": (saved(blocks(), "BMP")[:200], "truncated"),
    "cut PGM": (b"P5 16 8 255\n" + b"x" * 20, "truncated"),
    "first bytes of a JPEG": (JPEG[:20], "truncated"),
    "EPS": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n", "not supported"),
    "PDF": (b"%PDF-1.7\n", "not supported"),
    "SVG": (b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>", "not supported"),
    "HEIC": (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0" * 100, "not supported"),
    "web page": (b"<!DOCTYPE html><html><body>404</body></html>", "not a picture"),
    "LFS pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "not a picture"),
    "text": (b"hello, this is no picture at all", "not a picture"),
    "zeros": (bytes(5000), "not a picture"),
    "icon": (saved(blocks().resize((16, 16)), "ICO"), "not a picture"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_picture_is_refused_with_its_reason(tmp_path: Path, name: str) -> None:
    data, reason = BAD[name]
    path = tmp_path / "a.jpg"
    path.write_bytes(data)
    if name == "HEIC" and "HEIF" in decode._formats(True):
        pytest.skip("HEIC support is installed")
    for call in (lambda: decode.read(path), lambda: decode.thumbnail(path, 32)):
        with pytest.raises(decode.PictureError) as caught:
            call()
        assert caught.value.reason == reason, caught.value.details
        assert "a.jpg" in caught.value.message
    assert reason in decode.REASONS


def test_heic_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "a.heic").write_bytes(BAD["HEIC"][0])
    if "HEIF" in decode._formats(True):
        pytest.skip("HEIC support is installed")
    with pytest.raises(decode.PictureError, match="pip install pillow-heif"):
        decode.read(tmp_path / "a.heic")


def test_a_bomb_is_refused_before_it_is_allocated(tmp_path: Path) -> None:
    import tracemalloc

    for name in ("bomb PNG", "bomb JPEG", "bomb BMP", "bomb PGM", "bomb GIF"):
        (tmp_path / "a").write_bytes(BAD[name][0])
        tracemalloc.start()
        with pytest.raises(decode.PictureError):
            decode.read(tmp_path / "a")
        assert tracemalloc.get_traced_memory()[1] < 20e6
        tracemalloc.stop()


def test_the_limit_is_a_setting(tmp_path: Path) -> None:
    Image.new("L", (2000, 1000)).save(tmp_path / "a.png")
    assert decode.read(tmp_path / "a.png").shape == (1000, 2000, 3)
    with pytest.raises(decode.PictureError):
        decode.read(tmp_path / "a.png", limit_megapixels=1.9)


def mutant(data: bytes, rng: np.random.Generator) -> bytes:
    made = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        if not made:
            break
        at = int(rng.integers(0, len(made)))
        what = int(rng.integers(0, 6))
        if what == 0:
            made[at] = int(rng.integers(0, 256))
        elif what == 1:
            made[at] ^= 1 << int(rng.integers(0, 8))
        elif what == 2:
            del made[at : at + int(rng.integers(1, 50))]
        elif what == 3:
            made[at:at] = rng.bytes(int(rng.integers(1, 20)))
        elif what == 4:
            made[at : at + 4] = struct.pack(">I", int(rng.choice([0, 1, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF])))
        else:
            made = made[:at]
    return bytes(made)


def mutate_pictures(count: int, path: Path) -> None:
    sources = [data for data, _, _ in GOOD.values()]
    rng = np.random.default_rng(0)
    outcomes = {"read": 0, "refused": 0}
    for number in range(count):
        path.write_bytes(mutant(sources[number % len(sources)], rng))
        try:
            pixels = decode.read(path)
            decode.thumbnail(path, 16)
            assert pixels.dtype == np.uint8 and pixels.ndim == 3
            outcomes["read"] += 1
        except decode.PictureError as error:
            outcomes["refused"] += error.reason in decode.REASONS
        try:
            decode.header(path)
        except decode.PictureError:
            pass
    assert sum(outcomes.values()) == count and min(outcomes.values()) > count // 20, outcomes


def test_mutated_pictures(tmp_path: Path) -> None:
    mutate_pictures(600, tmp_path / "a.jpg")


@pytest.mark.faults
def test_ten_thousand_mutated_pictures(tmp_path: Path) -> None:
    mutate_pictures(10_000, tmp_path / "a.jpg")


@pytest.fixture
def gallery(tmp_path: Path) -> Path:
    for person in ("ann", "bo"):
        for i in range(3):
            path = tmp_path / "g" / person / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            blocks().rotate(i * 40 + len(person)).save(path)
    return tmp_path / "g"


TABLE = b"""path,identity,age,note
ann/0.png,ann,31,"x, y"
ann/1.png,ann,,\xc3\xa9
bo/0.png,bo,1e3,"q""q"
bo/1.png,bo,nan,-
"""


def mutate(count: int, source: bytes, path: Path, read: Callable[[], object]) -> int:
    rng = np.random.default_rng(1)
    opened = 0
    for _ in range(count):
        path.write_bytes(mutant(source, rng))
        try:
            read()
            opened += 1
        except FaceLensError:
            pass
    return opened


def mutate_tables(count: int, gallery: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = gallery / "list.csv"
    assert mutate(count, TABLE, path, lambda: readers.read(path)) > count // 10
    monkeypatch.setattr(table, "SMALL", 0)
    assert mutate(count // 4, TABLE, path, lambda: readers.read(path)) > count // 40
    path = gallery / "pairs.txt"
    mutate(count, b"2\t1\nann\t1\t2\nann\t1\tbo\t1\nbo\t1\t2\nbo\t2\tann\t1\n", path, lambda: readers.lfw.parse(path))


def test_mutated_tables(gallery: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate_tables(200, gallery, monkeypatch)


@pytest.mark.faults
def test_ten_thousand_mutated_tables(gallery: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate_tables(10_000, gallery, monkeypatch)


def parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    made = pa.table({"path": ["ann/0.png", "bo/1.png"], "identity": ["ann", "bo"], "age": [1.5, None], "n": [1, 2]})
    pq.write_table(made, stream)
    return stream.getvalue()


def test_mutated_parquet(gallery: Path) -> None:
    path = gallery / "list.parquet"
    mutate(150, parquet(), path, lambda: readers.read(path))


@pytest.mark.faults
def test_ten_thousand_mutated_parquet_files(gallery: Path) -> None:
    path = gallery / "list.parquet"
    mutate(10_000, parquet(), path, lambda: readers.read(path))


def mutate_bins(count: int, folder: Path) -> None:
    pictures = [JPEG, PNG, JPEG, PNG]
    path = folder / "a.bin"

    def read() -> None:
        faces = readers.read(path).faces
        for row in range(len(faces)):
            try:
                decode.read_face(faces, row)
            except decode.PictureError:
                pass

    for protocol in (2, 3, 5):
        arrays = [np.frombuffer(data, np.uint8) for data in pictures]
        for items in (pictures, arrays):
            container._kept.clear()
            mutate(count // 6, pickle.dumps((items, [True, False]), protocol=protocol), path, read)


def test_mutated_bins(tmp_path: Path) -> None:
    mutate_bins(600, tmp_path)


@pytest.mark.faults
def test_ten_thousand_mutated_bins(tmp_path: Path) -> None:
    mutate_bins(10_000, tmp_path)


def vanish(count: int, folder: Path) -> None:
    data = saved(blocks(), "PNG")
    for i in range(count):
        path = folder / f"p{i % 7}" / f"{i:04d}.png"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data + i.to_bytes(4, "big"))
    faces = readers.read(folder).faces
    rng = np.random.default_rng(0)
    gone = set(rng.choice(count, count // 3, replace=False).tolist())

    def remove() -> None:
        for row in gone:
            path = faces.path(row)
            if row % 3 == 0:
                path.rename(path.with_suffix(".moved"))
            elif row % 3 == 1:
                path.write_bytes(b"")
            else:
                path.unlink()

    remover = threading.Thread(target=remove)
    remover.start()
    during = doctor.diagnose(faces, threads=2)
    remover.join()
    assert set(faces.rows_of(during.bad_ids).tolist()) <= gone
    after = doctor.diagnose(faces, threads=2)
    assert set(faces.rows_of(after.bad_ids).tolist()) == gone
    assert sum(len(f.ids) for f in after.findings if f.severity == "error") == len(gone)


def test_files_that_vanish_during_the_check(tmp_path: Path) -> None:
    vanish(60, tmp_path)


@pytest.mark.faults
def test_a_thousand_files_that_vanish(tmp_path: Path) -> None:
    vanish(3000, tmp_path)


def test_a_changed_picture_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.new("RGB", (8, 8), RED).save(path)
    assert tuple(decode.read(path)[0, 0]) == RED
    Image.new("RGB", (8, 8), BLUE).save(path)
    assert tuple(decode.read(path)[0, 0]) == BLUE


HOSTILE = [
    b"=1+1", b"+cmd|' /C calc'!A0", b"-2+3", b"@SUM(A1)", b"\t=1", b"\r=1", b"'=1", b"''=1", b"'", b'"',
    b'=HYPERLINK("http://x")', b"a,b", b"a;b", b"a\nb", b"a\r\nb", b'a"b', b" lead", b"trail ", b"\xff\xfe",
    b"caf\xe9", "é".encode(), "e\u0301".encode(), "\u202egnp".encode(), "א".encode(), "😀".encode(), b"CON",
    b"NUL", b"aux", b"a" * 240, b"<b>x</b>", b"%41", b"\\back", b"~", b"$x", b"..x", b"x..", b"-", b"--help",
    b"Case", b"case", b"\x01\x02", b"\x1b[31m", "\ufeffbom".encode(), b"#x", b"a\\tb",
]  # fmt: skip


def names(count: int) -> list[bytes]:
    rng = np.random.default_rng(3)
    alphabet = [bytes([c]) for c in range(1, 256) if c != 0x2F] + [
        b"=",
        b"+",
        b"-",
        b"@",
        b"'",
        b'"',
        b",",
        b"\n",
        b"\r",
    ] * 6
    made = dict.fromkeys(HOSTILE)
    while len(made) < count:
        made[b"".join(alphabet[i] for i in rng.integers(0, len(alphabet), rng.integers(1, 12)))] = None
    return [name for name in made if name not in (b".", b"..")]


def round_trip(count: int, root: Path, where: Path) -> None:
    data = saved(Image.new("L", (2, 2)), "PNG")
    base = os.fsencode(root)
    planted = set()
    for number, name in enumerate(names(count)):
        folder = name if number % 2 else b"p%d" % (number % 5)
        file = b"%d.png" % number if number % 2 else name + b".png"
        if folder.startswith(b".") or file.startswith(b"._"):
            continue  # hidden folders and macOS's shadow files are left out on purpose
        os.makedirs(os.path.join(base, folder), exist_ok=True)
        try:
            with open(os.path.join(base, folder, file), "wb") as stream:
                stream.write(data)
        except OSError:
            continue  # a name this file system does not take
        planted.add(folder + b"/" + file)
    faces = readers.read(root, kind="folders").faces
    assert set(faces.paths) == planted
    for row in range(len(faces)):
        assert decode.read_face(faces, row).shape == (2, 2, 3)
        assert faces.label(row).isprintable()
    order = np.random.default_rng(0).permutation(len(faces))
    for raw in (False, True):
        builder.write_list(where, faces, order, raw=raw)
        again = readers.read(where, kind="manifest", options={"path": "path", "identity": "identity"}).faces
        assert [os.fsencode(again.path(i)) for i in range(len(again))] == [
            os.fsencode(faces.path(int(i))) for i in order
        ]
        if not raw:
            assert [again.identity.name(i) for i in range(len(again))] == [faces.identity.name(int(i)) for i in order]
    builder.write_list(where, faces, order)
    with open(where, encoding="utf-8", errors="surrogateescape", newline="") as stream:
        for row in csv.reader(stream):
            assert not any(cell[:1] in ("=", "+", "-", "@", "\t", "\r", "\0") for cell in row), row


@pytest.mark.skipif(os.name != "posix", reason="names that only POSIX file systems take")
@pytest.mark.parametrize("place", ["inside", "outside"])
def test_names_round_trip(tmp_path: Path, place: str) -> None:
    (tmp_path / "g").mkdir()
    (tmp_path / "far").mkdir()
    round_trip(120, tmp_path / "g", (tmp_path / "g" if place == "inside" else tmp_path / "far") / "list.csv")


@pytest.mark.faults
@pytest.mark.skipif(os.name != "posix", reason="names that only POSIX file systems take")
def test_two_thousand_names_round_trip(tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    round_trip(2000, tmp_path / "g", tmp_path / "g" / "list.csv")


@pytest.mark.faults
def test_a_hundred_random_trees_never_merge(tmp_path: Path) -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        root = tmp_path / str(seed)
        planted = set()
        for _ in range(30):
            where = "/".join(
                [*rng.choice(["ann", "bo", "cy", "test"], rng.integers(1, 4)), f"{rng.integers(0, 4)}.jpg"]
            )
            (root / where).parent.mkdir(parents=True, exist_ok=True)
            (root / where).write_bytes(b"x")
            planted.add(where)
        faces = readers.read(root, kind="folders").faces
        assert {os.fsdecode(path) for path in faces.paths} == planted
        homes: dict[str, set[bytes]] = {}
        for row in range(len(faces)):
            homes.setdefault(faces.identity.name(row), set()).add(faces.paths[row].rpartition(b"/")[0])
        assert all(len(folders) == 1 for folders in homes.values())


def test_reading_a_table_never_runs_past_its_bounds(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_bytes(b"path,identity\n" + b"x" * (3 << 20))
    with pytest.raises(InputError):
        readers.read(tmp_path / "long.csv")
