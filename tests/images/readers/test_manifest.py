from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.errors import InputError, NeedsChoice
from facelens.images import readers
from facelens.images.faceset import Labels
from facelens.images.readers import manifest, table


def picture(path: Path, size: int = 8) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (size, size)).save(path)


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    for i in range(4):
        picture(tmp_path / f"{i}.png", 100)
    return tmp_path


def write(folder: Path, text: str | bytes, name: str = "list.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def names(reading: readers.Reading) -> list[str]:
    return [reading.faces.identity.name(row) for row in range(len(reading.faces))]


@pytest.mark.parametrize(
    "text",
    [
        "path,identity\n0.png,ann\n1.png,bo\n",
        "Filename;Subject ID\n0.png;ann\n1.png;bo\n",
        "image_path\tperson\n0.png\tann\n1.png\tbo\n",
        "\ufeffidentity,path\nann,0.png\nbo,1.png\n",
        "0.png,ann\n1.png,bo\n",
        "0.png ann\n1.png bo\n",
        'path,identity\n"0.png","ann"\r\n./1.png,bo\r\n',
        "id,label\n0.png,ann\n1.png,bo\n",
        "file,name\n0.png,ann\n1.png,bo",
    ],
)
def test_usual_forms_are_read_without_a_question(flat: Path, text: str) -> None:
    reading = readers.read(write(flat, text))
    assert list(reading.faces.paths) == [b"0.png", b"1.png"]
    assert names(reading) == ["ann", "bo"]


def test_utf_16_and_latin_1(tmp_path: Path) -> None:
    picture(tmp_path / "é.png")
    for data in ("path,identity\né.png,Zoë\n".encode("utf-16"), "path,identity\né.png,Zoë\n".encode("latin-1")):
        reading = readers.read(write(tmp_path, data))
        assert reading.faces.path(0) == tmp_path / "é.png" and names(reading) == ["Zoë"]


def test_columns_become_numbers_or_names(flat: Path) -> None:
    text = "path,identity,age,note,set,cam,empty\n0.png,a,31,x,train,1,\n1.png,a,,y,test,2,\n2.png,b,nan,,test,2,\n"
    faces = readers.read(write(flat, text)).faces
    np.testing.assert_array_equal(faces.columns["age"], [31, np.nan, np.nan])
    assert set(faces.columns) == {"age", "note", "split", "camera"}
    for name, expected in {
        "note": ["x", "y", ""],
        "split": ["train", "test", "test"],
        "camera": ["1", "2", "2"],
    }.items():
        column = faces.columns[name]
        assert isinstance(column, Labels) and [column.name(i) for i in range(3)] == expected


def test_leading_zeros_of_identities_stay(flat: Path) -> None:
    assert names(readers.read(write(flat, "path,identity\n0.png,0012\n1.png,12\n"))) == ["0012", "12"]


def test_missing_and_repeated_rows_are_counted(flat: Path) -> None:
    reading = readers.read(write(flat, "path,identity\n0.png,a\n9.png,b\n8.png,b\n0.png,c\n1.png,a\n"))
    assert list(reading.faces.paths) == [b"0.png", b"1.png"]
    assert any(note.startswith("2 listed pictures are not there") for note in reading.notes)
    assert any(note.startswith("1 row names a picture that was listed before") for note in reading.notes)
    with pytest.raises(InputError, match="None of the 1 pictures"):
        readers.read(write(flat, "path,identity\nin no folder near.png,a\n"))  # those beside this one are tried too


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("first,second,identity\n0.png,1.png,a\n2.png,3.png,b\n", "more than one column"),
        ("a1,b1\nx,y\nz,w\n", "no column holds"),
        ("path,nickname\n0.png,ann\n1.png,bo\n", "no column is named like an identity"),
        ("path,identity\n0,ann\n1,bo\n", "do not end like pictures"),
    ],
)
def test_a_doubt_asks_with_a_preview(flat: Path, text: str, doubt: str) -> None:
    path = write(flat, text)
    with pytest.raises(NeedsChoice) as caught:
        readers.read(path, kind="manifest")
    seen = caught.value.options
    assert isinstance(seen, readers.Preview) and not seen.certain and doubt in seen.doubt
    assert len(seen.rows) == 2 and seen.header == tuple(text.split("\n")[0].split(","))


def test_the_answer_is_taken(flat: Path) -> None:
    path = write(flat, "first,second,who\n0.png,1.png,a\n2.png,3.png,b\n")
    reading = readers.read(path, options={"path": "second", "identity": "who"})
    assert list(reading.faces.paths) == [b"1.png", b"3.png"] and names(reading) == ["a", "b"]
    reading = readers.read(path, options={"path": "first", "identity": None})
    assert names(reading) == ["", ""]
    with pytest.raises(InputError, match="no column third"):
        readers.read(path, options={"path": "third"})


def test_a_preview_has_20_rows(flat: Path) -> None:
    path = write(flat, "path,identity\n" + "".join(f"{i}.png,x\n" for i in range(100)))
    seen = readers.preview(path)
    assert len(seen.rows) == 20 and seen.certain and dict(seen.guess) == {"path": "path", "identity": "identity"}


def test_pictures_may_lie_below_or_above_the_table(tmp_path: Path) -> None:
    picture(tmp_path / "data/pictures/ann/1.png")
    picture(tmp_path / "data/pictures/bo/1.png")
    text = "path,identity\nann/1.png,a\nbo/1.png,b\n"
    (tmp_path / "data/lists/x").mkdir(parents=True)
    for place in (tmp_path / "data", tmp_path / "data/pictures", tmp_path / "data/lists"):
        reading = readers.read(write(place, text))
        assert reading.faces.root.resolve() == tmp_path / "data/pictures"
        assert any("pictures are in" in note for note in reading.notes) == (place.name != "pictures")
    far = write(tmp_path, "path,identity\n1.png,a\n")
    assert readers.read(far, options={"root": "data/pictures/ann"}).faces.root == tmp_path / "data/pictures/ann"


def test_windows_slashes_and_absolute_paths(tmp_path: Path) -> None:
    picture(tmp_path / "p/ann/1.png")
    picture(tmp_path / "p/bo/2.png")
    reading = readers.read(write(tmp_path, "path,identity\np\\ann\\1.png,a\np\\bo\\2.png,b\n"))
    assert list(reading.faces.paths) == [b"p/ann/1.png", b"p/bo/2.png"]
    other = tmp_path / "elsewhere"
    other.mkdir()
    reading = readers.read(write(other, f"path,identity\n{tmp_path}/p/ann/1.png,a\n{tmp_path}/p/bo/2.png,b\n"))
    assert reading.faces.root == tmp_path / "p" and list(reading.faces.paths) == [b"ann/1.png", b"bo/2.png"]


def test_paths_that_lead_out_are_read_and_said(tmp_path: Path) -> None:
    picture(tmp_path / "a/1.png")
    picture(tmp_path / "b/2.png")
    reading = readers.read(write(tmp_path / "a", "path,identity\n1.png,x\n../b/2.png,y\n"))
    assert len(reading.faces) == 2 and any("1 path leads out" in note for note in reading.notes)


def test_without_identities_the_folders_name_them(tmp_path: Path) -> None:
    picture(tmp_path / "ann/1.png")
    picture(tmp_path / "bo/1.png")
    reading = readers.read(write(tmp_path, "path,quality\nann/1.png,0.5\nbo/1.png,0.7\n"))
    assert names(reading) == ["ann", "bo"]
    np.testing.assert_array_equal(reading.faces.columns["quality"], [0.5, 0.7])


POINTS = [(30, 40), (70, 40), (50, 60), (35, 80), (65, 80)]
HEADS = {
    "numbered": [f"lm{i}_{axis}" for i in range(5) for axis in "xy"],
    "from one": [f"{axis}{i}" for i in range(1, 6) for axis in "xy"],
    "short": ["le_x", "le_y", "re_x", "re_y", "nose_x", "nose_y", "lm_x", "lm_y", "rm_x", "rm_y"],
    "eyes": [
        "l_eye_x",
        "l_eye_y",
        "r_eye_x",
        "r_eye_y",
        "nose_x",
        "nose_y",
        "l_mouth_x",
        "l_mouth_y",
        "r_mouth_x",
        "r_mouth_y",
    ],
    "celeba": [
        "lefteye_x",
        "lefteye_y",
        "righteye_x",
        "righteye_y",
        "nose_x",
        "nose_y",
        "leftmouth_x",
        "leftmouth_y",
        "rightmouth_x",
        "rightmouth_y",
    ],
}


@pytest.mark.parametrize("head", HEADS)
def test_landmarks_under_their_usual_names(flat: Path, head: str) -> None:
    cells = ",".join(f"{v}" for point in POINTS for v in point)
    text = f"path,identity,{','.join(HEADS[head])},age\n0.png,a,{cells},3\n1.png,b{',' * 10},4\n"
    faces = readers.read(write(flat, text)).faces
    assert faces.landmarks is not None and set(faces.columns) == {"age"}
    np.testing.assert_array_equal(faces.landmarks[0], POINTS)
    assert np.isnan(faces.landmarks[1]).all()


def test_the_persons_own_left_is_turned_round(flat: Path) -> None:
    own = [POINTS[i] for i in (1, 0, 2, 4, 3)]
    cells = ",".join(f"{v}" for point in own for v in point)
    reading = readers.read(write(flat, f"path,identity,{','.join(HEADS['eyes'])}\n0.png,a,{cells}\n"))
    assert reading.faces.landmarks is not None
    np.testing.assert_array_equal(reading.faces.landmarks[0], POINTS)
    assert any("exchanged" in note for note in reading.notes)


def test_landmarks_choose_the_crop_they_belong_to(tmp_path: Path) -> None:
    for crop, size in (("aligned", 48), ("raw", 100)):
        for i in range(3):
            picture(tmp_path / crop / f"{i}.png", size)
    cells = ",".join(f"{v}" for point in POINTS for v in point)
    text = f"path,identity,{','.join(HEADS['short'])}\n" + "".join(f"{i}.png,a{i},{cells}\n" for i in range(3))
    path = write(tmp_path, text, "images.csv")
    reading = readers.read(tmp_path)
    assert reading.faces.root.name == "raw" and reading.faces.landmarks is not None
    assert any("also in aligned" in note for note in reading.notes)
    reading = readers.read(path, options={"root": "aligned"})
    assert reading.faces.root.name == "aligned" and reading.faces.landmarks is None
    assert any("do not fit" in note for note in reading.notes)


def test_a_folder_is_read_through_its_manifest(flat: Path) -> None:
    write(flat, "path,identity\n0.png,ann\n1.png,bo\n", "manifest.csv")
    seen = readers.recognise(flat)
    assert seen is not None and (seen.kind, seen.pictures, seen.identities) == ("manifest", 2, 2)
    assert names(readers.read(flat)) == ["ann", "bo"]
    assert readers.read(flat).faces.name == flat.name
    assert "2 pictures there are not listed in manifest.csv." in readers.read(flat).notes
    assert not readers.read(flat / "manifest.csv").notes
    write(flat, "path,identity\nx.png,ann\ny.png,bo\n", "manifest.csv")  # pictures of another place
    assert len(readers.read(flat).faces) == 4


def test_parquet(flat: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = pa.table(
        {
            "path": ["0.png", "1.png", "2.png"],
            "identity": pa.array([3, 3, None], pa.int64()),
            "score": pa.array([0.5, None, 1.5], pa.float32()),
            "smiles": [True, False, None],
            "colour": pa.array(["red", None, "blue"]).dictionary_encode(),
            "vector": [[1.0], [2.0], [3.0]],
        }
    )
    pq.write_table(made, flat / "m.parquet")
    faces = readers.read(flat / "m.parquet").faces
    assert [faces.identity.name(i) for i in range(3)] == ["3", "3", ""]
    np.testing.assert_array_equal(faces.columns["score"], [0.5, np.nan, 1.5])
    np.testing.assert_array_equal(faces.columns["smiles"], [1, 0, np.nan])
    colour = faces.columns["colour"]
    assert isinstance(colour, Labels) and [colour.name(i) for i in range(3)] == ["red", "", "blue"]
    assert "vector" not in faces.columns
    seen = readers.recognise(flat / "m.parquet")
    assert seen is not None and seen.pictures == 3


def test_the_large_way_reads_as_the_small_one(flat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'path,identity,age,note\n0.png,007,31,x\n1.png,"a\nb",,é\n2.png,7,nan,\n3.png,,NA,"q,""z"\n'
    path = write(flat, text)
    small = readers.read(path).faces
    monkeypatch.setattr(table, "SMALL", 0)
    large = readers.read(path).faces
    assert list(small.paths) == list(large.paths)
    for name in ("identity", "age", "note"):
        a, b = small.values(name), large.values(name)
        if isinstance(a, Labels):
            assert isinstance(b, Labels) and a.names == b.names
            np.testing.assert_array_equal(a.codes, b.codes)
        else:
            np.testing.assert_array_equal(a, b)  # type: ignore[arg-type]


def test_bytes_that_are_no_text_survive_both_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = os.path.join(os.fsencode(tmp_path), b"caf\xe9.png")
    Image.new("RGB", (4, 4)).save(tmp_path / "x.png")
    os.rename(tmp_path / "x.png", raw)
    path = write(tmp_path, b"path,identity\ncaf\xe9.png,Zo\xeb\n")
    for limit in (table.SMALL, 0):
        monkeypatch.setattr(table, "SMALL", limit)
        reading = readers.read(path)
        assert list(reading.faces.paths) == [b"caf\xe9.png"] and names(reading) == ["Zoë"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"\x00\x01\x02\x03" * 50, "not a text table"),
        (b"path,identity\n" + b"a" * (2 << 20), "longer than 1 MB"),
        (b'path,identity\n"' + b"a\n" * (1 << 18), "not a table"),
        (b"path,identity\n" + b"," * 5000 + b"\n0.png,a\n", "columns"),
        (b"path\n", "None of the 0"),
    ],
)
def test_odd_tables_are_refused_with_a_reason(flat: Path, data: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        readers.read(write(flat, data), options={"path": "path"})


def test_names_of_columns_are_made_unique() -> None:
    assert table._unique(["a", "a", "", "a"]) == ["a", "a 2", "column 3", "a 3"]


def test_a_guarded_cell_is_freed() -> None:
    assert manifest.unguarded("'=x") == "=x" and manifest.unguarded("''=x") == "'=x"
    assert manifest.unguarded("=x") is None and manifest.unguarded("'ann") is None
