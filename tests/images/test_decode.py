from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.images import decode

from .conftest import Draw, drawn


def test_a_jpeg_is_read_as_pillow_reads_it(draw: Draw) -> None:
    path = draw("a.jpg", 1, width=61, height=47)
    np.testing.assert_array_equal(decode.read(path), np.asarray(Image.open(path).convert("RGB")))


@pytest.mark.parametrize("suffix", ["png", "bmp", "tif", "ppm", "webp"])
def test_lossless_formats_keep_their_pixels(tmp_path: Path, suffix: str) -> None:
    image = drawn(2, width=33, height=21)
    image.save(tmp_path / f"a.{suffix}", **({"lossless": True} if suffix == "webp" else {}))
    np.testing.assert_array_equal(decode.read(tmp_path / f"a.{suffix}"), np.asarray(image))


@pytest.mark.parametrize(("width", "height"), [(250, 250), (300, 200), (200, 300), (113, 112), (90, 90), (1000, 120)])
@pytest.mark.parametrize("suffix", ["jpg", "png"])
def test_thumbnails_cover_the_size_and_keep_the_aspect(draw: Draw, suffix: str, width: int, height: int) -> None:
    path = draw(f"a.{suffix}", 3, width=width, height=height)
    small = decode.thumbnail(path, 112)
    h, w = small.shape[:2]
    assert min(h, w) >= min(112, min(width, height)) and max(h, w) <= max(4 * 112, 0)
    assert min(h, w) < 2 * 112
    if max(h, w) < 4 * 112:
        assert abs(w / h - width / height) < 0.02 * width / height


def test_a_thumbnail_looks_like_the_picture(draw: Draw) -> None:
    for name in ("a.jpg", "b.png"):
        path = draw(name, 4, width=256, height=256)
        small = Image.fromarray(decode.thumbnail(path, 64)).resize((16, 16), Image.Resampling.BOX)
        whole = Image.fromarray(decode.read(path)).resize((16, 16), Image.Resampling.BOX)
        assert np.abs(np.asarray(small, float) - np.asarray(whole, float)).mean() < 4


def test_a_very_long_picture_is_cut_around_its_middle(tmp_path: Path) -> None:
    pixels = np.zeros((10, 4000, 3), np.uint8)
    pixels[:, 1990:2010] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    small = decode.thumbnail(tmp_path / "a.png", 10)
    assert small.shape == (10, 40, 3)
    assert small[5, 20].min() == 255 and small[5, 0].max() == 0


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tif"])
def test_every_exif_orientation_is_applied(tmp_path: Path, orientation: int, suffix: str) -> None:
    from PIL import ImageOps

    image = drawn(5, width=40, height=24)
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"a.{suffix}"
    image.save(path, exif=exif, **({"lossless": True} if suffix == "webp" else {}))
    expected = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
    np.testing.assert_array_equal(decode.read(path), np.asarray(expected))
    head = decode.header(path)
    assert (head.width, head.height) == expected.size
    assert decode.thumbnail(path, 24).shape[:2] == expected.size[::-1]


def test_header_tells_size_mode_format_and_bytes(draw: Draw) -> None:
    path = draw("a.png", 6, width=30, height=20)
    assert decode.header(path) == decode.Header(30, 20, "RGB", "PNG", path.stat().st_size)
    Image.new("L", (3, 2)).save(path)
    assert decode.header(path).channels == 1


def test_an_error_survives_the_way_between_processes(tmp_path: Path) -> None:
    with pytest.raises(decode.PictureError) as caught:
        decode.read(tmp_path / "none.jpg")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (
        (again.reason, again.message)
        == (caught.value.reason, caught.value.message)
        == ("missing", caught.value.message)
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jpg")
    with pytest.raises(decode.PictureError) as caught:
        decode.read(tmp_path / "a.jpg")
    assert caught.value.reason == "not a picture"


def test_a_folder_is_no_picture(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").mkdir()
    with pytest.raises(decode.PictureError):
        decode.read(tmp_path / "a.jpg")


def test_threads_read_the_same_pixels(draw: Draw) -> None:
    paths = [draw(f"{i}.{'jpg' if i % 2 else 'png'}", i) for i in range(12)]
    alone = [decode.read(path) for path in paths]
    together: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=lambda i=i: together.update({i: decode.read(paths[i])})) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, pixels in enumerate(alone):
        np.testing.assert_array_equal(pixels, together[i])
