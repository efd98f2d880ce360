"""The shipped gallery must be complete, small, and what the present code draws."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.images.synthetic import build_head, render, sample_identity
from facelens.images.synthetic.gallery import gallery_photos, made_up_names, pairs_text

SAMPLE = Path(__file__).resolve().parents[3] / "sample_data"


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with (SAMPLE / "manifest.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_sixty_four_people_with_ten_pictures_under_eight_megabytes(rows: list[dict[str, str]]) -> None:
    assert len(rows) == 640 and len({r["identity"] for r in rows}) == 64
    own = [p for p in SAMPLE.rglob("*") if p.is_file() and p.relative_to(SAMPLE).parts[0] != "checkpoints"]
    assert {r["path"] for r in rows} == {p.relative_to(SAMPLE).as_posix() for p in own if p.suffix == ".jpg"}
    assert sum(p.stat().st_size for p in own) < 8_000_000


def test_the_pairs_are_those_of_the_builder() -> None:
    assert (SAMPLE / "pairs.txt").read_text(encoding="utf-8") == pairs_text(made_up_names(64), 10)


@pytest.mark.parametrize("person", [0, 37])
def test_the_code_still_draws_the_shipped_pictures(rows: list[dict[str, str]], person: int) -> None:
    head = build_head(sample_identity(person), size=224)
    for row, photo in zip(rows[10 * person : 10 * person + 10], gallery_photos(person, 10)):
        drawn = render(head, photo)
        shipped = np.array([[float(row[f"lm{j}_{axis}"]) for axis in "xy"] for j in range(5)])
        assert np.abs(drawn.landmarks - shipped).max() < 0.05
        with Image.open(SAMPLE / row["path"]) as picture:
            difference = np.abs(np.asarray(picture, float) - drawn.picture).mean()
        # what JPEG takes away; noise costs it most
        assert difference < 3 + 40 * photo.noise, row["path"]
