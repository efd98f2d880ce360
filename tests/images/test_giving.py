"""Pictures that are given away: pixel for pixel the same without what they say of themselves, small, or a tile."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.images import decode, doctor, giving
from facelens.images.disguise import Disguise, Guise
from facelens.images.faceset import FaceSet

SECRET = b"Ann Lee, Rome"


def noise(high: int = 90, wide: int = 120) -> Image.Image:
    rng = np.random.default_rng(0)
    return Image.fromarray(rng.integers(0, 255, (9, 12, 3), np.uint8)).resize((wide, high), Image.Resampling.BICUBIC)


def jpeg(image: Image.Image, **how: object) -> bytes:
    made = io.BytesIO()
    exif = Image.Exif()
    exif[0x013B] = SECRET.decode()
    image.save(made, "JPEG", **{"exif": exif, "comment": SECRET, "icc_profile": SECRET * 9, **how})  # type: ignore[arg-type]
    return made.getvalue()


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"progressive": True},
        {"optimize": True, "quality": 30},
        {"subsampling": 0},
        {"restart_marker_blocks": 2},
        {"dpi": (300, 300)},
    ],
)
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_a_bare_jpeg_has_the_same_pixels_and_says_nothing(how: dict[str, object], mode: str) -> None:
    data = jpeg(noise().convert(mode), **how)
    assert SECRET in data
    # A preview inside JFIF, an extension of it, an odd segment, and something behind the end.
    odd = b"\xff\xe0" + (2 + 5 + 40).to_bytes(2, "big") + b"JFXX\0" + SECRET.ljust(40, b".")
    odd += b"\xff\xef" + (2 + len(SECRET)).to_bytes(2, "big") + SECRET
    data = data[:2] + odd + data[2:] + SECRET * 3
    bare = giving.bare_jpeg(data)
    assert bare is not None and b"Ann" not in bare and len(bare) < len(data)
    assert np.array_equal(decode.decode(bare), decode.decode(data))
    assert giving.bare_jpeg(bare) == bare


def test_a_preview_in_jfif_goes() -> None:
    data = jpeg(noise())
    at = data.index(b"JFIF\0") - 4
    seen = b"\xff\xe0" + (16 + 27).to_bytes(2, "big") + data[at + 4 : at + 16] + b"\3\3" + SECRET.ljust(27, b".")
    with_preview = data[:at] + seen + data[at + 18 :]
    bare = giving.bare_jpeg(with_preview)
    assert bare is not None and SECRET not in bare and np.array_equal(decode.decode(bare), decode.decode(data))


def test_what_is_odd_is_made_anew() -> None:
    data = jpeg(noise(), exif=b"")
    turned = Image.Exif()
    turned[0x0112] = 6
    for bad in (
        jpeg(noise(), exif=turned), data[:-2], data[: len(data) // 2], b"", b"\xff\xd8", b"\x89PNG" + data,
        data[:20] + b"\0\0" + data[22:], b"\xff\xd8\xff\xe1\0\1" + data[2:], b"\xff\xd8\xff\x01" + data[2:],
    ):  # fmt: skip
        assert giving.bare_jpeg(bad) is None
    rng = np.random.default_rng(1)
    for _ in range(300):  # whatever comes out, it comes out
        broken = bytearray(data)
        for at in rng.integers(0, len(data), 6):
            broken[at] = rng.integers(0, 256)
        made = giving.bare_jpeg(bytes(broken))
        assert made is None or made.endswith(b"\xff\xd9")


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    (tmp_path / "Ann").mkdir()
    (tmp_path / "Ann" / "a.jpg").write_bytes(jpeg(noise(400, 500)))
    noise(300, 200).save(tmp_path / "Ann" / "b.png")
    noise(30, 40).save(tmp_path / "Ann" / "c.bmp")
    turned = Image.Exif()
    turned[0x0112] = 6
    (tmp_path / "Ann" / "d.jpg").write_bytes(jpeg(noise(), exif=turned))
    (tmp_path / "Ann" / "e.jpg").write_bytes(b"none")
    names = [f"Ann/{name}" for name in ("a.jpg", "b.png", "c.bmp", "d.jpg", "e.jpg")]
    made = FaceSet.build("g", tmp_path, paths=names, identities=["Ann"] * 5)
    points = np.full((5, 5, 2), np.nan, np.float32)
    points[1, :2] = [[90, 100], [110, 100]]  # a small face in a large picture
    return replace(made, landmarks=points)


def test_originals_as_they_are_or_bare(faces: FaceSet) -> None:
    one = giving.given(faces, 0, "originals")
    assert one == (faces.path(0).read_bytes(), ".jpg", 1.0)
    assert giving.given(faces, 2, "originals").ending == ".bmp"
    told = Disguise(Guise(pseudonyms=True), faces).faces(faces)
    for row, ending in ((0, ".jpg"), (1, ".png"), (2, ".png"), (3, ".png")):
        made = giving.given(told, row, "originals")
        assert made.ending == ending and b"Ann" not in made.data
        assert np.array_equal(decode.decode(made.data), decode.read_face(faces, row))
    for of in (faces, told):
        for kind in ("originals", "thumbnails"):
            with pytest.raises(decode.PictureError):
                giving.given(of, 4, kind)


def test_small_ones_keep_the_face_large_enough(faces: FaceSet) -> None:
    made = giving.given(faces, 0, "thumbnails")
    assert decode.decode(made.data).shape == (160, 200, 3) and made.scale == pytest.approx(0.4)
    assert SECRET not in made.data
    assert giving.given(faces, 1, "thumbnails").scale == 1, "40 pixels between the eyes stay"
    assert giving.given(faces, 2, "thumbnails").scale == 1, "nothing is made larger"
    blurred = Disguise(Guise(blur=True), faces).faces(faces)
    assert decode.decode(giving.given(blurred, 0, "thumbnails").data).std() < decode.decode(made.data).std()


def test_tiles_differ_so_that_the_doctor_takes_none_for_a_copy(tmp_path: Path) -> None:
    names = [f"P{i // 10:04}/{i:03}.png" for i in range(400)]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(giving.stand_in(name[:5], name.encode()))
    faces = FaceSet.build("t", tmp_path, paths=names, identities=[name[:5] for name in names])
    assert [one.kind for one in doctor.diagnose(faces).findings] == []
    assert giving.stand_in("a", b"x") == giving.stand_in("a", b"x") and len(giving.stand_in("a", b"x")) < 1500


def test_names_in_an_archive_lead_nowhere_else() -> None:
    paths = [
        b"../../etc/passwd.jpg", b"/abs/a.png", b"C:\\x\\a.png", b"a/../b.png", b"./a.jpg", b"A.PNG", b"a.jpeg",
        b"aux.png", b"x/con/nul.jpg", b"\xff\xfe.jpg", b"new\nline.png", b"a.png.", b"", b"..", b"lfw.bin/12",
        b"lfw.bin/13", b"x" * 400 + b".png", b"dots. /  b .png",
    ]  # fmt: skip
    made = giving.stems(paths)
    assert len({name.casefold() for name in made}) == len(paths)
    for name in made:
        parts = name.split("/")
        assert not name.startswith("/") and ":" not in name and "\\" not in name and "\n" not in name
        assert all(part and part not in (".", "..") and part == part.strip().rstrip(".") for part in parts), name
        assert all(part.split(".")[0].casefold() not in ("aux", "con", "nul") and len(part) < 120 for part in parts)
    assert made[0] == "etc/passwd" and made[-4:-2] == ["lfw.bin/12", "lfw.bin/13"]
    assert giving.unique(["net", "NET", "a/b", "net.v2"]) == ["net", "NET (2)", "a_b", "net.v2"]
