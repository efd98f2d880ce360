"""The points of a map as files, and the command that lays faces out."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from facelens.__main__ import main
from facelens.analyses.plan import ProjectionPlan
from facelens.analyses.projection import Projection, project
from facelens.errors import InputError
from facelens.session import vectors
from facelens.session.projection_tables import write_points
from tests.session.evaluated import World

PLAN = ProjectionPlan(model="a", other="b", method="pca")

CHANGES = ["lost", "gained", "same", "not searched"]


@pytest.fixture
def found(world: World) -> Projection:
    opened = vectors.open_stores([str(world.old), str(world.new)], cache=world.cache)
    return project(world.faces, PLAN, features=opened.features[0], other=opened.features[1])


def lines_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_row_for_each_face(world: World, found: Projection, tmp_path: Path) -> None:
    change = np.zeros(len(found), np.int8)
    change[0], change[1], change[3] = -1, 1, 2
    lines = lines_of(write_points(tmp_path / "m.csv", world.faces, found, change=change))
    assert len(lines) == len(found) and found.other is not None and found.moved is not None
    assert [int(line["id"]) for line in lines] == found.ids.tolist()
    assert lines[0]["path"].startswith("'=p0/") and [line["change"] for line in lines[:4]] == CHANGES
    for name, expected in (("x", found.points[:, 0]), ("y_new", found.other[:, 1]), ("moved", found.moved)):
        np.testing.assert_allclose([float(line[name]) for line in lines], expected, rtol=1e-5, atol=1e-6)


def test_the_same_as_arrays_and_as_columns(world: World, found: Projection, tmp_path: Path) -> None:
    import pyarrow.parquet

    with np.load(write_points(tmp_path / "m.npz", world.faces, found)) as file:
        np.testing.assert_array_equal(file["x"], found.points[:, 0])
        assert file["path"][0] == "=p0/0.jpg" and json.loads(str(file["said"]))["plan"]["method"] == "pca"
        assert "change" not in file.files
    table = pyarrow.parquet.read_table(write_points(tmp_path / "m.parquet", world.faces, found))
    assert table.column_names[:5] == ["id", "path", "identity", "x", "y"]
    assert table["id"].to_pylist() == found.ids.tolist()
    assert json.loads(table.schema.metadata[b"facelens"])["how"] == found.how


def test_what_is_no_table(world: World, found: Projection, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no table of points"):
        write_points(tmp_path / "m.txt", world.faces, found)
    assert not list(tmp_path.glob("m.*"))


def test_the_command_writes_points_and_figures(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outs = [tmp_path / name for name in ("m.csv", "m.parquet", "m.npz", "m.png", "m.svg")]
    words = [word for out in outs for word in ("--out", str(out))]
    assert main(["project", str(world.old), "--other", str(world.new), "--method", "pca", *words]) == 0
    said = capsys.readouterr().out
    assert all(out.stat().st_size for out in outs) and "N = 40" in said and "Moved most" in said
    assert "old net_1" in outs[-1].read_text() and len(lines_of(outs[0])) == 40


def test_one_model_and_one_part(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "m.csv"
    assert main(["project", str(world.new), "--method", "pca", "--part", "2", "--out", str(out)]) == 0
    assert "x_new" not in lines_of(out)[0] and "Moved" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "m.txt"], "neither a table of points nor a figure"),
        (["--out", "m.csv", "--by", "nothing"], "no column nothing"),
        (["--out", "m.csv", "--part", "99"], "no part 99"),
    ],
)
def test_wrong_words(
    world: World, words: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["project", str(world.new), "--method", "pca", *words]) == 1
    assert said in capsys.readouterr().err and not list(tmp_path.glob("m.*"))
