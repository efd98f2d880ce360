from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facelens.errors import InputError
from facelens.images import readers
from facelens.images.readers import lfw

NAMES = ("Ann_Lee", "Bo", "Cy_O")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in NAMES:
        for number in (1, 2, 3):
            path = tmp_path / name / f"{name}_{number:04d}.jpg"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"\xff\xd8")
    return tmp_path


def write(root: Path, text: str, name: str = "pairs.txt") -> Path:
    (root / name).write_text(text)
    return root / name


def as_names(reading: readers.Reading) -> list[tuple[str, str, bool, int]]:
    assert reading.protocol is not None and reading.protocol.pairs is not None
    pairs, faces = reading.protocol.pairs, reading.faces
    return [
        (faces.file_name(int(a)), faces.file_name(int(b)), bool(same), int(fold))
        for (a, b), same, fold in zip(pairs.pairs, pairs.same, pairs.fold, strict=True)
    ]


TEXT = "2\t1\nAnn_Lee\t1\t2\nAnn_Lee\t1\tBo\t3\nBo\t1\t2\nBo\t1\tCy_O\t2\n"


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\t", " "), TEXT.replace("\n", "\r\n"), "\n" + TEXT + "\n"])
def test_folds_and_truth(root: Path, text: str) -> None:
    expected = [
        ("Ann_Lee_0001.jpg", "Ann_Lee_0002.jpg", True, 0),
        ("Ann_Lee_0001.jpg", "Bo_0003.jpg", False, 0),
        ("Bo_0001.jpg", "Bo_0002.jpg", True, 1),
        ("Bo_0001.jpg", "Cy_O_0002.jpg", False, 1),
    ]
    path = write(root, text)
    assert as_names(readers.read(path)) == expected
    assert as_names(readers.read(root)) == expected  # found beside the pictures
    seen = readers.recognise(path)
    assert seen is not None and seen.kind == "pairs" and seen.pictures == 9
    assert "pairs.txt" in getattr(readers.recognise(root), "note", "")


def test_view_one_and_no_header_have_one_fold(root: Path) -> None:
    for text in ("1\nAnn_Lee\t1\t2\nAnn_Lee\t1\tBo\t3\n", "Ann_Lee\t1\t2\nAnn_Lee\t1\tBo\t3\n"):
        assert [row[3] for row in as_names(readers.read(write(root, text)))] == [0, 0]


def test_absent_pictures_are_left_out_and_counted(root: Path) -> None:
    reading = readers.read(write(root, "1\t2\nAnn_Lee\t1\t9\nBo\t1\t2\nDi\t1\tBo\t1\nBo\t1\tCy_O\t1\n"))
    assert [row[2] for row in as_names(reading)] == [True, False]
    assert any(note.startswith("2 pairs of pairs.txt were left out") for note in reading.notes)
    with pytest.raises(InputError, match="None of the pictures"):
        readers.read(write(root, "Di\t1\t2\n", "other.txt"))


def test_pictures_elsewhere(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("lists")
    path = write(other, TEXT)
    assert len(as_names(readers.read(path, options={"root": str(root)}))) == 4


def test_a_broken_line_is_named(root: Path) -> None:
    with pytest.raises(InputError, match="Line 3 of pairs"):
        lfw.parse(write(root, "1\t1\nBo\t1\t2\nBo what\n"))
    reading = readers.read(root)  # a bad list beside the pictures does not close the gallery
    assert len(reading.faces) == 9 and any("Line 3" in note for note in reading.notes)


@pytest.mark.parametrize(
    "text",
    [
        "a,b,same\nBo/Bo_0001.jpg,Bo/Bo_0002.jpg,1\nBo/Bo_0001.jpg,Cy_O/Cy_O_0001.jpg,0\n",
        "path1;path2;label\nBo/Bo_0001.jpg;Bo/Bo_0002.jpg;True\nBo/Bo_0001.jpg;Cy_O/Cy_O_0001.jpg;False\n",
    ],
)
def test_tables_of_pairs(root: Path, text: str) -> None:
    got = as_names(readers.read(write(root, text, "pairs.csv")))
    assert got == [("Bo_0001.jpg", "Bo_0002.jpg", True, 0), ("Bo_0001.jpg", "Cy_O_0001.jpg", False, 0)]
    with pytest.raises(InputError, match="Row 2"):
        readers.read(write(root, text.replace("1\n", "maybe\n").replace("True", "maybe"), "pairs.csv"))


def test_folds_of_a_table(root: Path) -> None:
    text = "a,b,same,fold\nBo/Bo_0001.jpg,Bo/Bo_0002.jpg,1,x\nBo/Bo_0001.jpg,Bo/Bo_0003.jpg,1,y\n"
    assert [row[3] for row in as_names(readers.read(write(root, text, "p.csv")))] == [0, 1]


def test_the_same_name_twice_is_not_guessed(root: Path) -> None:
    for branch in ("x", "y"):
        path = root / "both" / branch / "Bo" / "Bo_0001.jpg"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"\xff\xd8")
    (root / "both/x/Bo/Bo_0002.jpg").write_bytes(b"\xff\xd8")
    listed = lfw.parse(write(root, "Bo\t1\t2\n"))
    protocol, notes = lfw.protocol(readers.read(root / "both").faces, listed)
    assert protocol is None and "several pictures" in notes[0]


def test_six_thousand_lines_have_ten_folds(root: Path) -> None:
    lines = ["10\t300"]
    for _ in range(10):
        lines += ["Bo\t1\t2"] * 300 + ["Bo\t1\tCy_O\t1"] * 300
    listed = lfw.parse(write(root, "\n".join(lines) + "\n"))
    assert np.bincount(listed.fold).tolist() == [600] * 10 and listed.same.sum() == 3000
