from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facelens.errors import InputError
from facelens.images import readers
from facelens.images.faceset import Labels


@pytest.fixture
def ijb(tmp_path: Path) -> Path:
    """Six crops in four templates of two subjects; crop 6 is not there."""
    crops, meta = tmp_path / "loose_crop", tmp_path / "meta"
    crops.mkdir()
    meta.mkdir()
    for i in range(1, 6):
        (crops / f"{i}.jpg").write_bytes(b"\xff\xd8")
    (meta / "ijbc_face_tid_mid.txt").write_text(
        "1.jpg 10 7\n2.jpg 10 8\n3.jpg 11 9\n4.jpg 20 7\n5.jpg 21 3\n6.jpg 30 1\n"
    )
    (meta / "ijbc_template_pair_label.txt").write_text("10 11 1\n10 20 0\n11 30 0\n")
    points = " ".join(str(v) for v in range(10))
    (meta / "ijbc_name_5pts_score.txt").write_text("".join(f"{i}.jpg {points} 0.{i}\n" for i in range(1, 7)))
    (meta / "ijbc_1N_gallery_G1.csv").write_text("TEMPLATE_ID,SUBJECT_ID\n10,100\n")
    (meta / "ijbc_1N_gallery_G2.csv").write_text("TEMPLATE_ID,SUBJECT_ID\n20,200\n30,300\n")
    (meta / "ijbc_1N_probe_mixed.csv").write_text("TEMPLATE_ID,SUBJECT_ID\n11,100\n21,200\n")
    return tmp_path


def test_ijb_templates_media_points_and_pairs(ijb: Path) -> None:
    seen = readers.recognise(ijb)
    assert seen is not None and (seen.kind, seen.title, seen.pictures) == ("ijb", "IJB-C", 6)
    for place in (ijb, ijb / "meta", ijb / "meta" / "ijbc_face_tid_mid.txt"):
        reading = readers.read(place)
        faces = reading.faces
        assert list(faces.paths) == [b"1.jpg", b"2.jpg", b"3.jpg", b"4.jpg", b"5.jpg"]
        assert faces.columns["template"].tolist() == [10, 10, 11, 20, 21]  # type: ignore[union-attr]
        assert faces.columns["media"].tolist() == [7, 8, 9, 7, 3]  # type: ignore[union-attr]
        assert [faces.identity.name(i) for i in range(5)] == ["100", "100", "100", "200", "200"]
        np.testing.assert_allclose(faces.columns["det_score"], [0.1, 0.2, 0.3, 0.4, 0.5])  # type: ignore[arg-type]
        assert faces.landmarks is not None and faces.landmarks[2].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
        protocol = reading.protocol
        assert protocol is not None and protocol.pairs is not None and protocol.pairs.of == "template"
        assert protocol.pairs.pairs.tolist() == [[10, 11], [10, 20]] and protocol.pairs.same.tolist() == [True, False]
        assert protocol.groups_of == "template"
        assert {name: t.tolist() for name, t in protocol.groups.items()} == {
            "gallery1": [10],
            "gallery2": [20],
            "query": [11, 21],
        }
        assert any("1 listed picture" in note for note in reading.notes)
        assert any("1 pair of templates" in note for note in reading.notes)


def test_a_picture_in_several_templates_counts_in_each(ijb: Path) -> None:
    # 1.jpg also in template 21 (twice the same line), 5.jpg also in 40, which alone says who it shows.
    (ijb / "meta" / "ijbc_face_tid_mid.txt").write_text(
        "1.jpg 10 7\n2.jpg 50 8\n1.jpg 21 4\n1.jpg 21 4\n4.jpg 20 7\n5.jpg 60 3\n5.jpg 40 2\n6.jpg 30 1\n"
    )
    (ijb / "meta" / "ijbc_1N_gallery_G2.csv").write_text("TEMPLATE_ID,SUBJECT_ID\n20,200\n40,400\n")
    (ijb / "meta" / "ijbc_template_pair_label.txt").write_text("10 21 1\n10 20 0\n21 40 0\n20 30 0\n")
    reading = readers.read(ijb)
    faces, protocol = reading.faces, reading.protocol
    assert list(faces.paths) == [b"1.jpg", b"2.jpg", b"4.jpg", b"5.jpg"]
    assert faces.columns["template"].tolist() == [10, 50, 20, 60]  # type: ignore[union-attr]
    assert [faces.identity.name(i) for i in range(4)] == ["100", "", "200", "400"]
    assert protocol is not None and protocol.pairs is not None and protocol.templates is not None
    members = protocol.templates
    assert list(zip(members.template.tolist(), members.row.tolist(), members.media.tolist(), strict=True)) == [
        (10, 0, 7),
        (50, 1, 8),
        (21, 0, 4),
        (20, 2, 7),
        (60, 3, 3),
        (40, 3, 2),
    ]
    assert protocol.pairs.pairs.tolist() == [[10, 21], [10, 20], [21, 40]]
    assert protocol.groups["query"].tolist() == [21] and not any("first" in note for note in reading.notes)


def test_ijb_without_the_further_files(ijb: Path) -> None:
    for path in (ijb / "meta").iterdir():
        if "tid_mid" not in path.name:
            path.unlink()
    reading = readers.read(ijb)
    assert reading.protocol is None and reading.faces.landmarks is None and not reading.faces.identity.names


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ijbc_face_tid_mid.txt", "1.jpg 10\n"),
        ("ijbc_face_tid_mid.txt", "1.jpg ten 3\n"),
        ("ijbc_template_pair_label.txt", "1 2 x\n"),
        ("ijbc_template_pair_label.txt", "1 2\n"),
        ("ijbc_name_5pts_score.txt", "1.jpg 1 2 3\n"),
        ("ijbc_1N_gallery_G1.csv", "TEMPLATE_ID,SUBJECT_ID\nx,1\n"),
        ("ijbc_face_tid_mid.txt", "nothing.jpg 1 1\n"),
    ],
)
def test_ijb_damage_is_named(ijb: Path, name: str, text: str) -> None:
    (ijb / "meta" / name).write_text(text)
    with pytest.raises(InputError):
        readers.read(ijb)


def test_market(tmp_path: Path) -> None:
    names = (
        "bounding_box_train/0002_c1s1_000451_03.jpg",
        "bounding_box_test/0001_c1s1_000151_01.jpg",
        "bounding_box_test/0001_c2s1_000301_00.jpg",
        "bounding_box_test/-1_c3s1_000401_00.jpg",
        "bounding_box_test/0000_c4s1_000501_00.jpg",
        "query/0001_c3s1_000551_00.jpg",
        "query/Thumbs.jpg",
    )
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\xff\xd8")
    seen = readers.recognise(tmp_path)
    assert seen is not None and (seen.kind, seen.pictures, seen.identities) == ("market", 6, 2)
    reading = readers.read(tmp_path)
    faces = reading.faces
    camera, role, split = (faces.columns[name] for name in ("camera", "role", "split"))
    assert isinstance(camera, Labels) and isinstance(role, Labels) and isinstance(split, Labels)
    got = {
        faces.file_name(row)[:7]: (faces.identity.name(row), camera.name(row), role.name(row), split.name(row))
        for row in range(len(faces))
    }
    assert got == {
        "-1_c3s1": ("", "3", "junk", "test"),
        "0000_c4": ("", "4", "distractor", "test"),
        "0001_c1": ("0001", "1", "gallery", "test"),
        "0001_c2": ("0001", "2", "gallery", "test"),
        "0002_c1": ("0002", "1", "", "train"),
        "0001_c3": ("0001", "3", "query", "test"),
    }
    assert reading.protocol is not None
    members = {name: [faces.file_name(int(row))[:7] for row in rows] for name, rows in reading.protocol.groups.items()}
    assert members == {"query": ["0001_c3"], "gallery": ["0000_c4", "0001_c1", "0001_c2"]}
    assert any("1 picture has another name" in note for note in reading.notes)


def test_market_names_in_one_folder_and_in_duke(tmp_path: Path) -> None:
    for name in ("0001_c2_f0046182.jpg", "0001_c5_f0057039.jpg", "0003_c1_f0044158.jpg"):
        (tmp_path / name).write_bytes(b"\xff\xd8")
    faces = readers.read(tmp_path).faces
    assert faces.identity.names == ("0001", "0003")
    with pytest.raises(InputError, match="Market"):
        _only_others(tmp_path)


def _only_others(folder: Path) -> None:
    for path in folder.iterdir():
        path.rename(folder / f"x{path.name}")
    readers.read(folder, kind="market")
