"""Real galleries open with the right counts, and the doctor finds in them what is known to be there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facelens.images import builder, decode, doctor, readers

pytestmark = pytest.mark.real


@pytest.fixture(scope="session")
def faces_root(real_faces: Path) -> Path:
    return real_faces / "faces"


@pytest.mark.parametrize(
    ("place", "kind"), [("lfw", "manifest"), ("lfw/raw", "folders"), ("lfw/aligned112", "folders")]
)
def test_lfw_opens(faces_root: Path, place: str, kind: str) -> None:
    seen = readers.recognise(faces_root / place)
    assert seen is not None and seen.kind == kind and seen.certain
    faces = readers.read(faces_root / place).faces
    assert (len(faces), len(faces.identity.names)) == (2610, 874)
    assert (faces.identity.counts() >= 10).sum() == 158
    side = 112 if place.endswith("112") else 250
    assert decode.read_face(faces, 7).shape == (side, side, 3)


def test_lfw_through_its_table(faces_root: Path) -> None:
    reading = readers.read(faces_root / "lfw")
    faces = reading.faces
    assert faces.root.name == "raw" and faces.landmarks is not None and np.isfinite(faces.landmarks).all()
    assert set(faces.columns) == {"role", "det_score"}
    row = next(i for i in range(len(faces)) if faces.paths[i] == b"AJ_Cook/AJ_Cook_0001.jpg")
    np.testing.assert_allclose(faces.landmarks[row][:2], [[105.65, 113.5], [147.08, 115.09]])
    aligned = readers.read(faces_root / "lfw" / "images.csv", options={"root": "aligned112"})
    assert aligned.faces.landmarks is None and len(aligned.faces) == 2610
    assert any("do not fit" in note for note in aligned.notes)


@pytest.mark.parametrize("root", ["", "raw", "aligned112"])
def test_lfw_pairs(faces_root: Path, root: str) -> None:
    options = {"root": root} if root else None
    official = readers.read(faces_root / "lfw" / "pairs.txt", options=options)
    table = readers.read(faces_root / "lfw" / "pairs_fold1.csv", options=options)
    assert official.protocol is not None and official.protocol.pairs is not None
    assert table.protocol is not None and table.protocol.pairs is not None
    first = official.protocol.pairs.fold == 0
    assert first.sum() == 600 and official.protocol.pairs.same[first].sum() == 300
    np.testing.assert_array_equal(official.protocol.pairs.pairs[first], table.protocol.pairs.pairs)
    np.testing.assert_array_equal(official.protocol.pairs.same[first], table.protocol.pairs.same)
    codes = official.faces.identity.codes[official.protocol.pairs.pairs]
    np.testing.assert_array_equal(codes[:, 0] == codes[:, 1], official.protocol.pairs.same)
    assert any(f"{6000 - len(official.protocol.pairs):,} pairs" in note for note in official.notes)


def test_orl_opens(faces_root: Path) -> None:
    faces = readers.read(faces_root / "orl").faces
    assert (len(faces), len(faces.identity.names)) == (400, 40) and set(faces.identity.counts().tolist()) == {10}
    assert decode.read_face(faces, 0).shape == (112, 92, 3)
    assert len(doctor.diagnose(faces).bad_ids) == 0


def test_deepface_emd_opens(faces_root: Path) -> None:
    root = faces_root / "deepface-emd-small"
    reading = readers.read(root / "data_small")
    assert (len(reading.faces), len(reading.faces.identity.names)) == (40, 20)
    assert any("5 names occur in more than one folder" in note for note in reading.notes)
    merged = readers.read(root / "data_small", options={"identity": "name"}).faces
    assert len(merged.identity.names) == 5
    listed = readers.read(root / "data_files" / "small" / "lfw_128.txt").faces
    assert (len(listed), len(listed.identity.names)) == (10, 5) and listed.root.name == "data_small"


def test_the_doctor_finds_lfws_known_doubles(faces_root: Path) -> None:
    faces = readers.read(faces_root / "lfw" / "aligned112").faces
    diagnosis = doctor.diagnose(faces)
    same = diagnosis.finding("same picture")
    assert same is not None and any("Julie_Gerberding_0004.jpg = " in line for line in same.details)
    assert len(same.ids) <= 10  # and nothing that only looks alike
    assert len(diagnosis.bad_ids) == 0


def test_a_bin_of_real_pairs(faces_root: Path, tmp_path: Path) -> None:
    faces = readers.read(faces_root / "lfw" / "aligned112").faces
    pairs = builder.build_pairs(faces, folds=5, per_fold=20, seed=3)
    assert builder.disjoint_folds(faces, pairs)
    builder.write_bin(tmp_path / "lfw.bin", faces, pairs)
    reading = readers.read(tmp_path / "lfw.bin")
    assert len(reading.faces) == 400
    np.testing.assert_array_equal(
        decode.read_face(reading.faces, 11), decode.read_face(faces, int(pairs.pairs.ravel()[11]))
    )
