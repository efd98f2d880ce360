from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.errors import Cancelled
from facelens.images import builder, decode, doctor, readers

from .conftest import Draw, drawn


def kinds(diagnosis: doctor.Diagnosis) -> dict[str, int]:
    return {finding.kind: len(finding.ids) for finding in diagnosis.findings}


def check(root: Path) -> tuple[doctor.Diagnosis, list[str]]:
    faces = readers.read(root).faces
    diagnosis = doctor.diagnose(faces, threads=2)
    return diagnosis, doctor.report(diagnosis, faces)


def test_a_good_gallery_has_nothing_wrong(people: Path) -> None:
    diagnosis, lines = check(people)
    assert diagnosis.findings == () and lines[-1] == "Nothing is wrong."
    assert len(diagnosis.bad_ids) == 0
    assert diagnosis.columns["width"].tolist() == [64.0] * 12  # type: ignore[union-attr]


def break_one(path: Path, how: str) -> None:
    data = path.read_bytes()
    broken = {
        "zero-byte": b"",
        "truncated": data[: len(data) // 2],
        "unreadable": b"<html>404</html>",
    }
    if how == "missing":
        path.unlink()
    elif how == "huge":
        path.write_bytes(data[:2] + data[2:].replace(b"\x08\x00\x40\x00\x40", b"\x08\xff\xff\xff\xff", 1))
    else:
        path.write_bytes(broken[how])


@pytest.mark.parametrize("how", ["zero-byte", "truncated", "unreadable", "missing", "huge"])
def test_each_way_to_be_unusable(people: Path, how: str) -> None:
    faces = readers.read(people).faces
    break_one(faces.path(4), how)
    diagnosis = doctor.diagnose(faces)
    assert kinds(diagnosis) == {how: 1}
    assert diagnosis.bad_ids.tolist() == [faces.ids[4]]
    assert diagnosis.usable(faces.ids).tolist() == [i for i in faces.ids.tolist() if i != faces.ids[4]]
    assert np.isnan(diagnosis.columns["width"][4])  # type: ignore[index]
    assert faces.file_name(4) in diagnosis.findings[0].details[0]


def test_five_percent_broken_lose_none_of_the_good(draw: Draw, tmp_path: Path) -> None:
    for i in range(200):
        draw(f"g/p{i // 10:02d}/{i:03d}.jpg", i, width=32, height=32)
    faces = readers.read(tmp_path / "g").faces
    rng = np.random.default_rng(0)
    bad = sorted(rng.choice(200, 10, replace=False).tolist())
    for place, row in enumerate(bad):
        break_one(faces.path(row), ["zero-byte", "truncated", "unreadable"][place % 3])
    reading = readers.read(tmp_path / "g")
    assert len(reading.faces) == 200  # the gallery opens with all of them
    diagnosis = doctor.diagnose(reading.faces)
    assert sorted(reading.faces.rows_of(diagnosis.bad_ids).tolist()) == bad
    assert len(diagnosis.usable(reading.faces.ids)) == 190
    for row in set(range(200)) - set(bad):
        assert decode.read_face(reading.faces, row).shape == (32, 32, 3)


def test_copies_within_and_across_identities(people: Path) -> None:
    shutil.copy(people / "Ann_Lee/Ann_Lee_0001.jpg", people / "Ann_Lee/Ann_Lee_0004.jpg")
    shutil.copy(people / "Bo_Rask/Bo_Rask_0001.jpg", people / "Cy_Odum/Cy_Odum_0004.jpg")
    diagnosis, lines = check(people)
    assert kinds(diagnosis) == {"copies across identities": 2, "copies": 2}
    across = diagnosis.finding("copies across identities")
    assert across is not None and across.severity == "warning" and len(set(across.group.tolist())) == 1
    assert any("Bo_Rask_0001.jpg = Cy_Odum/Cy_Odum_0004.jpg" in line for line in lines)
    assert len(diagnosis.bad_ids) == 0


def test_the_same_picture_saved_otherwise(people: Path) -> None:
    image = Image.open(people / "Ann_Lee/Ann_Lee_0001.jpg")
    image.save(people / "Ann_Lee/again.png")
    image.resize((48, 48), Image.Resampling.LANCZOS).save(people / "Bo_Rask/small.jpg", quality=80)
    Image.open(people / "Cy_Odum/Cy_Odum_0001.jpg").save(people / "Cy_Odum/weak.jpg", quality=40)
    diagnosis, _ = check(people)
    assert kinds(diagnosis) == {"same picture across identities": 3, "same picture": 2, "size mix": 0}


def test_pictures_that_look_alike_but_differ_are_not_called_the_same(draw: Draw, tmp_path: Path) -> None:
    base = np.asarray(drawn(1), np.int16)
    for i in range(6):
        pixels = base.copy()
        pixels[8 * i : 8 * i + 16, 8:24] = 255 - pixels[8 * i : 8 * i + 16, 8:24]  # another face on the same background
        (tmp_path / "g/ann").mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / f"g/ann/{i}.png")
    draw("g/bo/1.png", 7)
    assert "same picture" not in kinds(check(tmp_path / "g")[0])


def test_fine_detail_tells_pictures_apart(tmp_path: Path) -> None:
    """The coarse look is the same, so that only the comparison of pixels can tell."""
    base = np.asarray(drawn(1), np.int16) // 8 + 110
    y, x = np.mgrid[:64, :64]
    (tmp_path / "g/ann").mkdir(parents=True)
    for name, stripes in (("a", (x // 4) % 2), ("b", (y // 4) % 2)):
        pixels = np.clip(base + 10 * stripes[..., None] - 5, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"g/ann/{name}.png")
    faces = readers.read(tmp_path / "g").faces
    looks = np.stack([doctor._look_bits(decode.read_face(faces, row)) for row in range(2)])
    assert len(doctor.similar_looks(looks)) == 1
    assert "same picture" not in kinds(doctor.diagnose(faces))


def test_similar_looks_against_a_double_loop() -> None:
    rng = np.random.default_rng(0)
    look = rng.integers(0, 2**32, (60, 4), np.uint32)
    for i in range(0, 40, 2):  # the odd row is the even one with up to five bits turned
        look[i + 1] = look[i]
        for bit in rng.choice(128, rng.integers(0, 6), replace=False):
            look[i + 1, bit // 32] ^= np.uint32(1 << (bit % 32))
    slow = {
        (i, j)
        for i in range(60)
        for j in range(i + 1, 60)
        if sum(int(x).bit_count() for x in look[i] ^ look[j]) <= 6 and (look[i] == look[j]).any()
    }
    assert {tuple(pair) for pair in doctor.similar_looks(look).tolist()} == slow
    assert len(slow) >= 15
    assert doctor.similar_looks(look[:0]).shape == (0, 2) and doctor.similar_looks(look[:1]).shape == (0, 2)


def test_thousands_of_blank_pictures_stay_cheap() -> None:
    pairs = doctor.similar_looks(np.zeros((20_000, 4), np.uint32))
    assert len(pairs) <= 24 * 20_000


def test_identities(draw: Draw, tmp_path: Path) -> None:
    draw("flat/a.jpg", 1)
    assert kinds(check(tmp_path / "flat")[0]) == {"no identities": 0}
    draw("one/ann/1.jpg", 1)
    draw("one/ann/2.jpg", 2)
    assert kinds(check(tmp_path / "one")[0]) == {"one identity": 0}
    draw("single/ann/1.jpg", 1)
    draw("single/bo/1.jpg", 2)
    found = check(tmp_path / "single")[0].finding("singletons")
    assert found is not None and found.severity == "warning" and len(found.ids) == 2
    draw("single/bo/2.jpg", 3)
    found = check(tmp_path / "single")[0].finding("singletons")
    assert found is not None and found.severity == "note" and found.details == ("ann",)
    for name in ("train/ann/1.jpg", "train/ann/2.jpg", "test/ann/3.jpg", "test/bo/1.jpg", "test/bo/2.jpg"):
        draw(f"split/{name}", sum(name.encode()))
    found = check(tmp_path / "split")[0].finding("identities across split")
    assert found is not None and len(found.ids) == 3 and found.details == ("ann",)


def test_sizes_channels_tiny_and_frames(draw: Draw, tmp_path: Path) -> None:
    draw("g/ann/1.png", 1)
    draw("g/ann/2.png", 2, width=20, height=40)
    drawn(3).convert("L").save(tmp_path / "g/ann/3.png")
    frames = [drawn(i) for i in (4, 5)]
    frames[0].save(tmp_path / "g/ann/4.gif", save_all=True, append_images=frames[1:])
    draw("g/bo/1.png", 6)
    draw("g/bo/2.png", 7)
    diagnosis, _ = check(tmp_path / "g")
    assert kinds(diagnosis) == {"size mix": 0, "channel mix": 1, "tiny": 1, "frames": 1}


def test_damage_inside_a_jpeg_is_a_warning(draw: Draw, tmp_path: Path) -> None:
    path = draw("g/ann/1.jpg", 1, width=256, height=256)
    draw("g/ann/2.jpg", 2)
    draw("g/bo/1.jpg", 3)
    draw("g/bo/2.jpg", 4)
    data = bytearray(path.read_bytes())
    data[-600:-2] = bytes(598)  # a download that never filled its end
    path.write_bytes(data)
    diagnosis, _ = check(tmp_path / "g")
    damaged = diagnosis.finding("damaged") or diagnosis.finding("truncated")
    assert damaged is not None and len(damaged.ids) == 1


def test_a_bin_is_checked_like_files(people: Path, tmp_path: Path) -> None:
    faces = readers.read(people).faces
    builder.write_bin(tmp_path / "x.bin", faces, builder.build_pairs(faces, folds=1, per_fold=4))
    inside = readers.read(tmp_path / "x.bin").faces
    diagnosis = doctor.diagnose(inside)
    assert len(diagnosis.bad_ids) == 0 and "no identities" in kinds(diagnosis)
    assert all(finding.severity == "note" for finding in diagnosis.findings)


def test_an_empty_set() -> None:
    from facelens.images.faceset import FaceSet

    empty = FaceSet.build("none", Path("."), paths=[], identities=[])
    assert doctor.diagnose(empty).findings == ()


def test_ticks_and_cancelling(people: Path) -> None:
    faces = readers.read(people).faces
    seen: list[tuple[int, int]] = []
    doctor.diagnose(faces, tick=lambda done, total, note="": seen.append((done, total)))
    assert seen[0] == (0, 12) and (12, 12) in seen

    def stop(done: int, total: int, note: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        doctor.diagnose(faces, tick=stop)


def test_json_has_the_same(people: Path) -> None:
    break_one(people / "Ann_Lee/Ann_Lee_0001.jpg", "zero-byte")
    faces = readers.read(people).faces
    diagnosis = doctor.diagnose(faces)
    made = json.loads(json.dumps(doctor.as_json(diagnosis, faces)))
    assert made["faces"] == 12 and made["unusable"] == 1
    assert made["findings"][0]["kind"] == "zero-byte"
    assert made["findings"][0]["paths"] == ["Ann_Lee/Ann_Lee_0001.jpg"]
