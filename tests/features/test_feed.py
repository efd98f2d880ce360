"""Feeding: pictures are aligned, cut and brought to size as the card says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.features.card import Card
from facelens.features.feed import feed, feed_face, resized
from facelens.images import decode
from facelens.images.align import TEMPLATES, align
from facelens.images.decode import PictureError
from facelens.images.faceset import FaceSet

rng = np.random.default_rng(0)
PICTURE = np.asarray(
    Image.fromarray(rng.integers(0, 256, (12, 10, 3), dtype=np.uint8)).resize((200, 240), Image.Resampling.BICUBIC)
)
POINTS = np.array([(70, 100), (130, 104), (100, 140), (76, 170), (124, 173)], np.float32)


def test_with_points_it_is_aligned() -> None:
    found = feed(PICTURE, POINTS, Card("a", "a"))
    np.testing.assert_array_equal(found, align(PICTURE, POINTS, "arcface112"))
    assert found.shape == (112, 112, 3) and found.dtype == np.uint8


@pytest.mark.parametrize("points", [None, np.full((5, 2), np.nan, np.float32), np.append(POINTS[:4], [[np.nan, 1]], 0)])
def test_without_points_it_counts_as_aligned(points: np.ndarray | None) -> None:
    expected = np.asarray(Image.fromarray(PICTURE).resize((112, 112), Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(feed(PICTURE, points, Card("a", "a")), expected)


def test_a_picture_of_the_right_size_is_left_alone() -> None:
    picture = PICTURE[:112, :112]
    assert feed(picture, None, Card("a", "a")) is picture
    assert resized(picture, (112, 112)) is picture


def test_crop_is_cut_from_the_aligned_picture() -> None:
    card = Card("a", "a", size=(112, 96), crop=(0, 8, 112, 104))
    aligned = align(PICTURE, POINTS, "arcface112")
    np.testing.assert_array_equal(feed(PICTURE, POINTS, card), aligned[:, 8:104])
    small = feed(PICTURE, POINTS, card.changed(size=(56, 48)))
    np.testing.assert_array_equal(small, resized(aligned[:, 8:104], (56, 48)))


@pytest.mark.parametrize("template", [*TEMPLATES, "none"])
def test_every_template_ends_at_the_size_of_the_input(template: str) -> None:
    card = Card("a", "a", template=template, size=(64, 48))
    for points in (POINTS, None):
        assert feed(PICTURE, points, card).shape == (64, 48, 3)
    if template == "none":
        np.testing.assert_array_equal(feed(PICTURE, POINTS, card), resized(PICTURE, (64, 48)))


def test_faces_of_a_gallery(tmp_path: Path) -> None:
    Image.fromarray(PICTURE).save(tmp_path / "a.png")
    faces = FaceSet.build("g", tmp_path, paths=["a.png", "gone.png"], identities=["A", "B"])
    card = Card("a", "a")
    np.testing.assert_array_equal(feed_face(faces, 0, card), feed(PICTURE, None, card))
    known = replace(faces, landmarks=np.stack([POINTS, POINTS]))
    np.testing.assert_array_equal(feed_face(known, 0, card), feed(PICTURE, POINTS, card))
    with pytest.raises(PictureError):
        feed_face(faces, 1, card)


@pytest.mark.parametrize("size", [(112, 112), (250, 250), (1500, 1000)])
@pytest.mark.parametrize("template", ["arcface112", "none"])
@pytest.mark.parametrize("crop", [None, (4, 4, 100, 90)])
def test_pictures_stay_what_they_are_when_the_next_is_read(
    tmp_path: Path, size: tuple[int, int], template: str, crop: tuple[int, int, int, int] | None
) -> None:
    """A thread decodes all its JPEGs into the same memory; what comes out of feeding has to be its own."""
    for i in range(3):
        pixels = np.full((*size, 3), 60 * i + 30, np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{i}.jpg", quality=95)
    faces = FaceSet.build("g", tmp_path, paths=[f"{i}.jpg" for i in range(3)], identities=["A"] * 3)
    inner = (112, 112) if crop is None else (96, 86)
    card = Card("a", "a", template=template, crop=crop, size=inner)
    for points in (None, np.stack([TEMPLATES["arcface112"].points.astype(np.float32)] * 3)):
        fed = [feed_face(replace(faces, landmarks=points), row, card) for row in range(3)]
        for row, picture in enumerate(fed):
            np.testing.assert_array_equal(
                picture, feed(decode.read(tmp_path / f"{row}.jpg"), None if points is None else points[row], card)
            )
            assert abs(int(picture[50, 50, 0]) - 60 * row - 30) <= 2
