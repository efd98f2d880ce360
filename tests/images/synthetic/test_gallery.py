from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.errors import Cancelled, InputError
from facelens.images.synthetic.gallery import (
    TRAINING_SEED,
    build_gallery,
    gallery_photos,
    made_up_names,
    pairs_text,
    training_pictures,
)
from facelens.images.synthetic.photo import CAMERA_FAULTS, OCCLUDERS


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sample")
    build_gallery(out, identities=3, pictures=10, size=96)
    return out


def _rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_manifest_names_every_picture_once(gallery: Path) -> None:
    rows = _rows(gallery)
    on_disk = {p.relative_to(gallery).as_posix() for p in gallery.rglob("*.jpg")}
    assert len(rows) == 30 and {r["path"] for r in rows} == on_disk
    for r in rows:
        name, file = r["path"].split("/")
        assert name == r["identity"] and file.startswith(f"{name}_0") and len(file) == len(name) + 9
        with Image.open(gallery / r["path"]) as picture:
            assert picture.size == (int(r["width"]), int(r["height"])) == (96, 96)


def test_roles_and_scores(gallery: Path) -> None:
    rows = _rows(gallery)
    for i in range(3):
        roles = [r["role"] for r in rows[10 * i : 10 * i + 10]]
        assert roles == ["cover"] + ["clear"] * 5 + ["degraded"] * 4
    score = {
        role: np.mean([float(r["degradation"]) for r in rows if r["role"] == role])
        for role in ("cover", "clear", "degraded")
    }
    assert score["cover"] < score["clear"] < score["degraded"]
    assert all(0 <= float(r["degradation"]) <= 1 for r in rows)


def test_rebuilding_gives_the_same_gallery(gallery: Path, tmp_path: Path) -> None:
    build_gallery(tmp_path, identities=3, pictures=10, size=96)
    files = sorted(p.relative_to(gallery) for p in gallery.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    for file in files:
        assert (gallery / file).read_bytes() == (tmp_path / file).read_bytes(), file


def test_landmarks_lie_in_clear_pictures(gallery: Path) -> None:
    for r in _rows(gallery):
        if r["role"] != "degraded":
            assert all(0 <= float(r[f"lm{j}_{axis}"]) <= 96 for j in range(5) for axis in "xy")
            assert float(r["lm0_x"]) < float(r["lm1_x"])


def test_points_table_matches_the_manifest(gallery: Path) -> None:
    with (gallery / "points68.csv").open(encoding="utf-8", newline="") as file:
        points = list(csv.DictReader(file))
    rows = _rows(gallery)
    assert [p["path"] for p in points] == [r["path"] for r in rows]
    for p, r in zip(points, rows):
        assert len(p["visible"]) == 68 and set(p["visible"]) <= {"0", "1"}
        assert abs(float(p["p30_x"]) - float(r["lm2_x"])) < 0.06
        eye = np.mean([float(p[f"p{j}_y"]) for j in range(36, 42)])
        assert abs(eye - float(r["lm0_y"])) < 0.06


def test_every_fault_is_shown_evenly_over_the_gallery() -> None:
    shown = dict.fromkeys(CAMERA_FAULTS + OCCLUDERS, 0)
    for seed in range(63):
        for photo in gallery_photos(seed, 10)[6:]:
            for kind in shown:
                shown[kind] += abs(getattr(photo, kind)) >= 0.3
    assert min(shown.values()) >= 21


def test_names_are_unique_and_repeatable() -> None:
    names = made_up_names(500, seed=3)
    assert len(set(names)) == 500 and names == made_up_names(500, seed=3)
    assert names[:64] != made_up_names(64, seed=4)
    assert all(n.isascii() and n.count("_") == 1 for n in names)


def test_pairs_are_balanced_and_folds_share_nobody() -> None:
    names = made_up_names(64)
    lines = pairs_text(names, 10).splitlines()
    assert lines[0] == "10\t30" and len(lines) == 1 + 10 * 60
    people: set[str] = set()
    seen: set[frozenset[tuple[str, str]]] = set()
    for fold in range(10):
        block = [line.split("\t") for line in lines[1 + 60 * fold : 61 + 60 * fold]]
        assert [len(b) for b in block] == [3] * 30 + [4] * 30
        members = {b[0] for b in block} | {b[2] for b in block[30:]}
        assert not members & people
        people |= members
        for b in block:
            pair = frozenset({(b[0], b[1]), (b[0], b[2])} if len(b) == 3 else {(b[0], b[1]), (b[2], b[3])})
            assert len(pair) == 2 and pair not in seen
            assert len(b) == 3 or b[0] != b[2]
            seen.add(pair)


@pytest.mark.parametrize(
    ("people", "pictures", "first"),
    [(1, 10, "0\t0"), (2, 1, "0\t0"), (2, 2, "1\t2"), (3, 10, "1\t30"), (40, 3, "10\t12")],
)
def test_small_galleries_have_fewer_pairs(people: int, pictures: int, first: str) -> None:
    lines = pairs_text(made_up_names(people), pictures).splitlines()
    assert lines[0] == first
    folds, per = (int(v) for v in first.split("\t"))
    assert len(lines) == 1 + 2 * folds * per


@pytest.mark.parametrize("bad", [{"identities": 0}, {"pictures": 0}, {"size": 8}, {"identities": 10**6}])
def test_impossible_galleries_are_refused(tmp_path: Path, bad: dict[str, int]) -> None:
    with pytest.raises(InputError):
        build_gallery(tmp_path, **bad)


def test_building_can_be_cancelled(tmp_path: Path) -> None:
    calls = []

    def tick(done: int, total: int, note: str = "") -> None:
        calls.append((done, total))
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        build_gallery(tmp_path, identities=2, pictures=3, size=64, tick=tick)
    assert calls == [(0, 6), (1, 6), (2, 6), (3, 6)]
    assert len(list(tmp_path.rglob("*.jpg"))) == 3


def test_training_pictures_are_repeatable_and_streams_differ() -> None:
    def take(stream: int) -> list[bytes]:
        pictures = training_pictures([TRAINING_SEED, TRAINING_SEED + 1], 2, size=64, stream=stream)
        return [p.rendered.picture.tobytes() for p in pictures]

    assert take(0) == take(0) != take(1)
    assert [(p.seed, p.number) for p in training_pictures([TRAINING_SEED], 2, size=64)] == [(10_000, 0), (10_000, 1)]
