"""Faces and vectors to other programs, by the command and by the function behind it."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from facelens.__main__ import main
from facelens.analyses import nearest as module
from facelens.analyses.plan import ProjectionPlan
from facelens.analyses.projection import project
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.features.store import Store
from facelens.session import archive, exporting, shelf, vectors
from facelens.session.annotations import FLAGGED
from facelens.session.exporting import export, map_of, target_of
from facelens.session.workspace import Stored, Workspace
from tests.session.evaluated import World


@pytest.fixture
def seen(world: World) -> World:
    """The same with pictures that can be seen."""
    for row in range(len(world.faces)):
        Image.new("RGB", (24, 24), (6 * row, 0, 0)).save(world.faces.path(row))
    return world


@pytest.fixture
def features(world: World) -> FeatureSet:
    return vectors.open_stores([str(world.old)], cache=world.cache).features[0]


def test_a_path_says_what_it_is_for() -> None:
    assert [target_of(Path(name)) for name in ("a.npz", "a.PARQUET", "a")] == ["npz", "parquet", "tensorboard"]
    assert target_of(Path("a.b"), "fiftyone") == "fiftyone"
    for name, said in (("a.tsv", ""), ("a", "npz"), ("a.npz", "parquet")):
        with pytest.raises(InputError):
            target_of(Path(name), said)


def test_the_nearest_are_those_of_the_vectors(
    seen: World, features: FeatureSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = features.vectors / features.norms[:, None]
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -2)
    written = export(features, seen.faces, tmp_path / "m.parquet", nearest=3)
    found = pq.read_table(tmp_path / "m.parquet")
    cells = found["neighbors"].to_pylist()
    np.testing.assert_array_equal([cell["ids"] for cell in cells], np.argsort(-cosine, axis=1)[:, :3])
    np.testing.assert_allclose(
        [cell["distances"] for cell in cells], 1 + np.sort(-cosine, axis=1)[:, :3], rtol=1e-4, atol=1e-5
    )
    assert "exact" in json.loads(found.schema.metadata[b"facelens"])["neighbors"]
    assert written.command == f"embedding-atlas {tmp_path}/m.parquet --vector embedding --neighbors neighbors"
    # Faces that are left out are nobody's neighbours, and rows are counted without them.
    export(features, seen.faces, tmp_path / "m.parquet", nearest=100, excluded=features.ids[:10])
    ids = np.array([cell["ids"] for cell in pq.read_table(tmp_path / "m.parquet")["neighbors"].to_pylist()])
    assert ids.shape == (30, 29) and sorted({*ids.ravel().tolist()}) == list(range(30))


def test_the_command_writes_for_embedding_atlas(
    seen: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "my faces.parquet"
    scores = tmp_path / "scores.csv"
    scores.write_text("path,ofiq\n" + "".join(f"=p0/{n}.jpg,{n}\n" for n in range(4)))
    words = ["export", str(seen.old), "--out", str(out), "--map", "pca", "--scores", str(scores)]
    assert main(words) == 0
    said = capsys.readouterr().out.splitlines()
    command = said[-1].removeprefix("To open it: ")
    assert f"40 faces written to {out}." in said
    assert shlex.split(command)[:2] == ["embedding-atlas", str(out)]
    table = pq.read_table(out)
    named = [word for option, word in zip(shlex.split(command)[2::2], shlex.split(command)[3::2]) if option != "--text"]
    assert named == ["projection_x", "projection_y", "neighbors", "image"] and set(named) <= {*table.column_names}
    assert table["ofiq"].null_count == 36 and np.isfinite(table["projection_x"].to_numpy()).all()
    assert main(["export", str(seen.old), "--out", str(out), "--nearest", "0", "--thumbnails", "0"]) == 0
    assert not {"neighbors", "image", "projection_x"} & {*pq.read_table(out).column_names}


def test_a_map_that_was_made_before_goes_along(
    seen: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = tmp_path / "m.csv"
    assert main(["project", str(seen.old), "--out", str(points)]) == 0
    assert main(["export", str(seen.old), "--out", str(tmp_path / "m.npz")]) == 0
    with np.load(tmp_path / "m.npz") as file:
        x = [float(line.split(",")[3]) for line in points.read_text().splitlines()[1:]]
        np.testing.assert_allclose(file["points"][:, 0], x, rtol=1e-5, atol=1e-5)
        assert "UMAP" in json.loads(str(file["about"]))["map"]
    capsys.readouterr()


@pytest.mark.parametrize(("target", "file"), [("tensorboard", "projector_config.pbtxt"), ("fiftyone", "labels.json")])
def test_the_command_writes_folders(
    seen: World, tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str, file: str
) -> None:
    folder = tmp_path / "deep" / "out"
    assert main(["export", str(seen.old), "--out", str(folder), "--as", target]) == 0
    said = capsys.readouterr().out
    assert (folder / file).is_file()
    assert (f"tensorboard --logdir {folder}" if target == "tensorboard" else "README.txt in it") in said
    (tmp_path / "file").write_text("")
    assert main(["export", str(seen.old), "--out", str(tmp_path / "file" / "out"), "--as", target]) == 1
    assert "cannot be made" in capsys.readouterr().err


def test_tensorboard_shows_only_so_many(
    seen: World, features: FeatureSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from facelens.features.exports import tensorboard

    monkeypatch.setattr(tensorboard, "LIMIT", 39)
    assert export(features, seen.faces, tmp_path / "tb").notes == ("TensorBoard shows the first 39 of them.",)


def test_whose_map_it_is(world: World, features: FeatureSet) -> None:
    other = vectors.open_stores([str(world.new)], cache=world.cache).features[0]
    plan = ProjectionPlan(model="a", other="b", method="pca")
    found = project(world.faces, plan, features=features, other=other)
    assert map_of(found, "a") is found and map_of(found, "c") is None and map_of(None, "a") is None
    second = map_of(found, "b")
    assert second is not None and second.points is found.other
    assert map_of(replace(found, final=False), "a") is None


# Workspaces


@pytest.fixture
def saved(seen: World) -> Path:
    """A workspace file beside its gallery: two models with vectors, a face that is flagged, one that is left out."""
    faces = seen.faces
    kept = {name: Store.open(seen.cache, folder.name) for name, folder in (("old", seen.old), ("new", seen.new))}
    workspace = Workspace(
        faces=faces,
        galleries=(faces.opened,) if faces.opened is not None else (),
        stored={name: Stored(one.folder, one.fingerprint, one.size) for name, one in kept.items()},
        model="new",
        excluded=faces.ids[:1],
    )
    flagged = replace(workspace.annotations, flags=workspace.annotations.flags.put(faces.ids[1:3], FLAGGED))
    path = seen.gallery.parent / "work.facelens"
    archive.save(replace(workspace, annotations=flagged), path)
    return path


def test_a_workspace_brings_its_marks(saved: Path, seen: World, capsys: pytest.CaptureFixture[str]) -> None:
    out = saved.with_name("out.parquet")
    words = ["export", str(saved), "--out", str(out), "--store", str(seen.cache), "--thumbnails", "0"]
    assert main(words) == 0
    table = pq.read_table(out)
    assert "39 faces" in capsys.readouterr().out and json.loads(table.schema.metadata[b"facelens"])["model"] == (
        "new & better"
    )
    assert table["flag"].to_pylist()[:3] == ["flagged", "flagged", None]
    assert main([*words, "--model", "old"]) == 0
    assert json.loads(pq.read_table(out).schema.metadata[b"facelens"])["model"] == "old net_1"
    assert main([*words, "--model", "older"]) == 1 and "--model: " in capsys.readouterr().err


def test_a_workspace_leads_nowhere_else(saved: Path, seen: World, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = saved.parent / "elsewhere"
    elsewhere.mkdir()
    alone = elsewhere / "work.facelens"
    said = json.loads(saved.read_text())
    said["galleries"][0]["place"] = {"outside": str(seen.gallery)}
    alone.write_text(json.dumps(said))
    words = ["export", str(alone), "--out", str(elsewhere / "out.npz"), "--store", str(seen.cache)]
    assert main(words) == 1 and "outside the folder of the workspace" in capsys.readouterr().err
    assert main([*words, "--gallery", str(seen.gallery)]) == 0
    shelf.trust([seen.gallery])
    assert main(words) == 0
    shutil.rmtree(seen.cache)
    assert main(words) == 1 and "not on this computer any more" in capsys.readouterr().err


def test_all_with_all_by_principal_components(monkeypatch: pytest.MonkeyPatch) -> None:
    from facelens.features.featureset import Provenance

    rng = np.random.default_rng(0)
    people = rng.normal(size=(40, 64))
    x = (np.repeat(people, 10, 0) + 0.2 * rng.normal(size=(400, 64))).astype(np.float32)
    found = FeatureSet(rng.permutation(400).astype(np.int64), x, Provenance("", "m"))
    exact, cosine = module.every(found, found.ids, k=5)
    monkeypatch.setattr(module, "EXACT", 100)
    near, close = module.every(found, found.ids, k=5)
    np.testing.assert_array_equal(near, exact)
    np.testing.assert_allclose(close, cosine, atol=1e-5)
    assert (near != np.arange(400)[:, None]).all()
    few, none = module.every(found, found.ids[:2], k=3)
    assert few.tolist() == [[1, -1, -1], [0, -1, -1]] and np.isneginf(none[:, 1:]).all()
    assert exporting.NEAREST == 15
