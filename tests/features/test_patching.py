"""Patch maps of faces: made once, found again bit for bit; networks that stay; what a network is shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from facelens.errors import Cancelled, InputError
from facelens.features import extract, library, patching
from facelens.features.card import Card
from facelens.features.feed import feed_face, placed_face
from facelens.features.grids import Choice, grids
from facelens.features.models import MODELS, shapes
from facelens.features.patching import Model
from facelens.images import dense
from facelens.images.faceset import FaceSet
from facelens.images.occlusion import Occlusion, painted
from tests.features.patched import NET, drawn, model


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> FaceSet:
    return drawn(tmp_path_factory.mktemp("drawn") / "g")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    patching.forget()


def test_maps_are_made_once_and_found_again(faces: FaceSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net, rows = patching.network(model()), np.arange(len(faces))
    made = patching.maps(faces, rows, net, folder=tmp_path)
    assert not made.skipped and list(made.maps) == faces.ids.tolist()
    pictures = np.stack([feed_face(faces, row, net.card) for row in rows])
    told = net.encoder(pictures, patches=True).patches
    assert told is not None
    for face, one in zip(faces.ids.tolist(), told):
        np.testing.assert_allclose(made.maps[face], one, atol=1e-3 * np.abs(one).max())

    monkeypatch.setattr(extract, "encoding", None)  # no picture is looked at from here on
    for _ in range(2):  # in memory, and on disk
        again = patching.maps(faces, rows[::-1], patching.network(model()), folder=tmp_path)
        for face in faces.ids.tolist():
            np.testing.assert_array_equal(again.maps[face], made.maps[face])
        patching.forget()


def test_a_network_stays_and_another_layer_is_another_one(tmp_path: Path) -> None:
    copy = tmp_path / "net.safetensors"
    copy.write_bytes(NET.read_bytes())
    found = patching.network(Model(copy))
    assert patching.network(Model(copy)) is found
    finer = patching.network(Model(copy), layer="stage1")
    assert finer.seen.card.grid == (16, 16)
    pictures = np.zeros((1, *found.card.size, 3), np.uint8)
    maps = [net.encoder(pictures, patches=True).patches for net in (found, finer)]
    assert [None if one is None else one.shape[2:] for one in maps] == [(8, 8), (16, 16)]
    os.utime(copy, ns=(1, 10**18))
    assert patching.network(Model(copy)) is not found


def test_without_a_patch_map(faces: FaceSet) -> None:
    bare = Model(NET, library.inspect(NET).card.changed(patch_layer="", grid=None))
    with pytest.raises(InputError, match="no patch map") as refused:
        patching.network(bare)
    assert "patch layer" in refused.value.hint
    assert patching.network(bare, patches=False).card.dimensions
    assert grids(library.inspect(NET, card=bare.card)) == ()
    with pytest.raises(InputError, match="cannot be read"):
        patching.network(Model(NET.with_name("gone")))


def test_broken_pictures_are_named_and_cancelling_keeps_what_was_made(tmp_path: Path) -> None:
    faces = drawn(tmp_path / "g", each=2)
    faces.path(3).write_bytes(b"")
    faces.path(4).unlink()
    net, rows = patching.network(model()), np.arange(len(faces))

    def tick(done: int, total: int, note: str = "") -> None:
        if done:
            raise Cancelled

    with pytest.raises(Cancelled):
        patching.maps(faces, rows, net, folder=tmp_path / "maps", tick=tick)
    kept, missing = patching.cache(faces, net, tmp_path / "maps").get(faces.ids)
    assert kept and len(missing)
    found = patching.maps(faces, rows, net, folder=tmp_path / "maps", quarantined=tmp_path / "q")
    assert dict(found.skipped) == {int(faces.ids[3]): "empty", int(faces.ids[4]): "missing"}
    assert set(found.maps) == set(faces.ids.tolist()) - set(dict(found.skipped))


def test_what_is_painted_is_what_the_network_gets(faces: FaceSet) -> None:
    net, asked = patching.network(model()), Occlusion("mask")
    plain, seen = patching.look(faces, 2, net), patching.look(faces, 2, net, occlusion=asked)
    points = placed_face(faces, 2, net.card)
    wanted = painted(feed_face(faces, 2, net.card), asked, face=int(faces.ids[2]), landmarks=points)
    np.testing.assert_array_equal(seen.shown.crop, wanted)
    told = net.encoder(wanted[None].copy(), patches=True)
    assert told.patches is not None
    np.testing.assert_allclose(seen.vector, told.vectors[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(seen.map, told.patches[0], rtol=1e-3, atol=1e-4)
    assert np.abs(seen.vector - plain.vector).max() > 1e-2
    assert patching.look(faces, 2, net, occlusion=asked) is seen


CARDS = (
    Card("a", "a", size=(112, 112)),
    Card("b", "b", size=(112, 96), crop=(0, 8, 112, 104)),
    Card("c", "c", size=(64, 64), template="none"),
    Card("d", "d", size=(160, 160), template="facenet160"),
)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
@pytest.mark.parametrize("aligned", [True, False])
def test_points_are_where_the_picture_has_them(faces: FaceSet, tmp_path: Path, card: Card, aligned: bool) -> None:
    """A white dot on a black picture is found at the place that is told."""
    here = replace(faces, root=tmp_path, landmarks=faces.landmarks if aligned else None)
    assert faces.landmarks is not None
    dot = np.array([110.0, 130.0])
    picture = np.zeros((224, 224, 3), np.uint8)
    picture[126:135, 106:115] = 255
    here.path(0).parent.mkdir(parents=True)
    Image.fromarray(picture).save(here.path(0), quality=100)
    found = placed_face(here, 0, card, dot[None])
    assert found is not None
    seen = feed_face(here, 0, card)[..., 0].astype(float)
    seen[seen < 30] = 0
    rows, columns = np.mgrid[: seen.shape[0], : seen.shape[1]]
    centre = [(columns * seen).sum() / seen.sum(), (rows * seen).sum() / seen.sum()]
    np.testing.assert_allclose(found[0], centre, atol=0.5)


def test_five_points_of_an_aligned_picture_are_those_of_the_template(faces: FaceSet) -> None:
    bare = replace(faces, landmarks=None)
    found = placed_face(bare, 0, CARDS[1])
    assert found is not None
    np.testing.assert_allclose(found[0], [30.2946, 51.6963], atol=1e-3)
    assert placed_face(bare, 0, CARDS[2]) is None


def test_dense_points_lie_beside_the_gallery(faces: FaceSet, tmp_path: Path) -> None:
    found = dense.points(faces, np.array([5, 0]))
    assert found is not None and found.shape == (2, 68, 2)
    lines = (faces.root / dense.FILE).read_text().splitlines()
    own = next(line for line in lines if line.startswith(os.fsdecode(faces.paths[5]))).split(",")
    hidden = np.array([mark == "0" for mark in own[1]])
    assert hidden.any() and np.isnan(found[0, hidden]).all()
    np.testing.assert_allclose(
        found[0, ~hidden].ravel(), np.array(own[2:], float).reshape(-1, 2)[~hidden].ravel(), atol=1e-3
    )
    assert dense.points(replace(faces, root=tmp_path), np.array([0])) is None
    (tmp_path / dense.FILE).write_text("path,visible,p0_x,p0_y\na,1,x,2\nb,1,2\n")
    assert dense.points(replace(faces, root=tmp_path), np.array([0])) is None


def test_grids_of_a_model() -> None:
    assert grids(library.inspect(NET)) == (
        Choice("8 × 8"),
        Choice("16 × 16", "stage1"),
        Choice("4 × 4", "", (4, 4)),
        Choice("3 × 3", "", (3, 3)),
    )


@pytest.mark.parametrize(
    ("name", "layer", "label"), [("casia", "blocks.11", "14 × 12"), ("foamliu", "features.11", "14 × 14")]
)
def test_a_finer_grid_lies_inside_a_row_of_blocks(name: str, layer: str, label: str) -> None:
    spec = MODELS[f"mobilefacenet_{name}"]
    layers = tuple((tap, " × ".join(map(str, sides))) for tap, sides in shapes.layers(spec))
    seen = library.Inspection(NET, "weights", "", 0, spec.card, layers=layers)
    assert grids(seen)[1] == Choice(label, layer)
    picture = torch.rand(2, 3, *spec.card.size, generator=torch.Generator().manual_seed(0))
    network = shapes.tapping(spec, layer).build().eval()
    usual = spec.build().eval()
    usual.load_state_dict(network.state_dict())
    with torch.no_grad():
        finer, own = network(picture), usual(picture)
    assert finer.patches.shape[1:] == dict(shapes.layers(spec))[layer]
    assert torch.equal(finer.embedding, own.embedding), "the vector is the same"
    row, _, _ = layer.partition(".")
    assert shapes.tapping(spec, row).build().patch_layer == f"{row}.14", "cards that name the whole row hold"
