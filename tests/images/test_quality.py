"""Scores from elsewhere: tables of every make are read, find their faces, and say what did not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facelens.errors import FaceLensError, InputError
from facelens.images import quality
from facelens.images.faceset import FaceSet, Labels
from facelens.images.readers import table

PATHS = ("Ann/1.jpg", "Ann/2.jpg", "Bo/1.jpg", "Bo/3.jpg")
OFIQ = ("UnifiedQualityScore", "Sharpness", "HeadPoseYaw")


@pytest.fixture
def faces() -> FaceSet:
    columns = {"blur": np.arange(4.0), "light": Labels.of("abab")}
    return FaceSet.build("people", Path("/g"), paths=PATHS, identities=["Ann", "Ann", "Bo", "Bo"], columns=columns)


def put(folder: Path, text: str | bytes, name: str = "scores.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def values(faces: FaceSet, name: str) -> list[float]:
    column = faces.columns[name]
    assert isinstance(column, np.ndarray)
    return column.tolist()


def ofiq(paths: list[str]) -> str:
    """As OFIQSampleApp writes it: a semicolon at the end of the header, none at the end of the lines."""
    head = "Filename;" + "".join(f"{name};" for name in (*OFIQ, *(f"{name}.scalar" for name in OFIQ)))
    lines = [f"{path};{20 + i}.5;44;-1.25;{60 + i};99;{-1 if i == 1 else 100}" for i, path in enumerate(paths)]
    return "\n".join([head, *lines]) + "\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("path,quality\nAnn/1.jpg,.1\nAnn/2.jpg,.2\nBo/1.jpg,.3\nBo/3.jpg,.4\n", "a.csv"),
        ("quality\tFile Name\n.3\t/x/Bo/1.jpg\n.4\t/x/Bo/3.jpg\n.1\t/x/Ann/1.jpg\n.2\t/x/Ann/2.jpg\n", "a.tsv"),
        ("name;quality\nAnn\\1.jpg;.1\nAnn\\2.jpg;.2\nBo\\1.jpg;.3\nBo\\3.jpg;.4\n", "a.csv"),
        ("Ann/1.jpg 0.1\nAnn/2.jpg 0.2\nBo/1.jpg 0.3\nBo/3.jpg 0.4\n", "quality.txt"),
    ],
)
def test_tables_of_every_make(tmp_path: Path, faces: FaceSet, text: str, name: str) -> None:
    path = put(tmp_path, text, name)
    found, report = quality.joined(faces, quality.read(path))
    assert values(found, "quality") == [0.1, 0.2, 0.3, 0.4]
    assert report.whole and report.sentence() == "4 of 4 faces have a value; 0 lines match no face."
    assert len(quality.columns_of(path)) == 1


def test_parquet(tmp_path: Path, faces: FaceSet) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"image": list(PATHS), "score": [1, None, 3, 4], "who": ["a"] * 4, "vector": [[1.0]] * 4}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    found, report = quality.joined(faces, quality.read(tmp_path / "a.parquet"))
    np.testing.assert_array_equal(found.columns["score"], [1, np.nan, 3, 4])
    assert (report.columns, report.faces) == (("score",), 3) and not report.whole


@pytest.mark.parametrize("long", [False, True])
def test_ofiq(tmp_path: Path, faces: FaceSet, long: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if long:
        monkeypatch.setattr(table, "SMALL", 0)  # as pyarrow reads it
    path = put(tmp_path, ofiq([f"../data/{name}" for name in PATHS]))
    scores = quality.read(path)
    assert list(scores.scores) == [*OFIQ, *(f"{name}.scalar" for name in OFIQ)] == list(quality.columns_of(path))
    found, report = quality.joined(faces, scores)
    assert values(found, "UnifiedQualityScore.scalar") == [60, 61, 62, 63]
    np.testing.assert_array_equal(found.columns["HeadPoseYaw"], [-1.25, np.nan, -1.25, -1.25])
    assert report.notes == ("1 value could not be assessed by OFIQ.",) and report.faces == 4


def test_what_does_not_fit_is_counted(tmp_path: Path, faces: FaceSet) -> None:
    lines = "Ann/1.jpg,1\n1.jpg,2\nAnn/2.jpg,3\n/x/Ann/2.jpg,4\nnobody.jpg,5\nother/3.jpg,6\n,7\n"
    found, report = quality.joined(faces, quality.read(put(tmp_path, "path,q\n" + lines)))
    np.testing.assert_array_equal(found.columns["q"], [1, np.nan, np.nan, 6])
    said = "2 of 4 faces have a value; 1 line matches no face; 3 lines could be several faces."
    assert report.sentence() == said and not report.whole


def test_a_name_that_is_taken_gets_that_of_the_file(tmp_path: Path, faces: FaceSet) -> None:
    text = 'path,blur,light,identity,"norm, net","flip variance, net",variance,fresh\n'
    scores = quality.read(put(tmp_path, text + "Ann/1.jpg,5,6,7,8,9,10,11\n"))
    found, report = quality.joined(faces, scores)
    plain = ["blur", "light", "identity", "norm, net", "flip variance, net", "variance"]
    assert list(report.columns) == [*(f"scores: {name}" for name in plain), "fresh"]
    assert values(found, "blur") == [0, 1, 2, 3] and found.identity is faces.identity
    again, report = quality.joined(found, scores)
    assert again.columns.keys() == found.columns.keys(), "the same file once more adds nothing"


def test_values_stay_as_they_are_and_others_are_missing(tmp_path: Path, faces: FaceSet) -> None:
    text = "path,q\nAnn/1.jpg,-12.5\nAnn/2.jpg,nan\nBo/1.jpg,-inf\nBo/3.jpg,1e300\n"
    found, report = quality.joined(faces, quality.read(put(tmp_path, text)))
    np.testing.assert_array_equal(found.columns["q"], [-12.5, np.nan, np.nan, 1e300])
    assert report.notes == ("1 value is infinite and counts as missing.",)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("a,b\n1,2\n", "no column of picture names", "Call it path or filename. Columns: a, b."),
        ("path,who\nAnn/1.jpg,Ann\n", "no column of numbers", "with a point"),
        ("path;q\nAnn/1.jpg;0,5\n", "no column of numbers", "with a point"),
        ("path,q\nAnn/1.jpg,nan\n", "no column of numbers", ""),
        ("path,q\n", "no column of numbers", ""),
        ("path,q\nAnn/1.jpg,1\nAnn/1.jpg,2\n", "two different lines for Ann/1.jpg", "Keep one line"),
        ("", "is empty", ""),
        (b"\0\1\2" * 50, "not a text table", "CSV, TSV or Parquet"),
        ("path,q\n" + "x" * (2 << 20), "longer than 1 MB", ""),
        ("path," + ",".join("c" * 5000) + "\n", "5,001 columns", ""),
    ],
)
def test_bad_tables_say_what_is_wrong(tmp_path: Path, text: str | bytes, message: str, hint: str) -> None:
    path = put(tmp_path, text)
    with pytest.raises(InputError, match=message) as caught:
        quality.read(path)
    assert hint in caught.value.hint


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (tmp_path / "absent.csv", tmp_path):
        with pytest.raises(InputError, match="There is no file"):
            quality.read(path)
    monkeypatch.setattr(quality, "LARGEST", 10)
    with pytest.raises(InputError, match="too large"):
        quality.read(put(tmp_path, "path,q\nAnn/1.jpg,1\n"))


def test_a_table_of_other_pictures(tmp_path: Path, faces: FaceSet) -> None:
    with pytest.raises(InputError, match="No line of scores is about a face of people") as caught:
        quality.joined(faces, quality.read(put(tmp_path, "path,q\nCy/9.jpg,1\n")))
    assert "file names" in caught.value.hint and caught.value.details == "Cy/9.jpg"


def test_equal_lines_count_once_and_encodings_are_guessed(tmp_path: Path, faces: FaceSet) -> None:
    text = "path,q\nAnn/1.jpg,1\nAnn/1.jpg,1\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "latin-1"):
        found = quality.read(put(tmp_path, text.replace("q", "Qualität").encode(encoding)))
        assert found.keys == ("Ann/1.jpg",) and list(found.scores) == ["Qualität"]


def test_a_manifest_is_looked_at_only(tmp_path: Path) -> None:
    assert quality.columns_of(put(tmp_path, "path,who,q,n\n1.jpg,a,1,\n2.jpg,b,,\n")) == ("q",)
    assert quality.columns_of(put(tmp_path, b"\0")) == quality.columns_of(tmp_path / "absent.csv") == ()


@pytest.mark.parametrize("seed", range(200))
def test_mutants_are_read_or_refused(tmp_path: Path, faces: FaceSet, seed: int) -> None:
    dice = np.random.default_rng(seed)
    data = bytearray((ofiq(list(PATHS)) if seed % 2 else "path,q\n" + "".join(f"{p},1\n" for p in PATHS)).encode())
    for _ in range(int(dice.integers(1, 12))):
        at = int(dice.integers(len(data)))
        data[at : at + int(dice.integers(0, 6))] = bytes(dice.integers(0, 256, int(dice.integers(0, 6)), np.uint8))
    try:
        found, report = quality.joined(faces, quality.read(put(tmp_path, bytes(data))))
    except FaceLensError:
        return
    assert all(len(found.columns[name]) == 4 for name in report.columns) and 0 <= report.faces <= 4
