"""Parity: the same answers pass, others do not, and the worst pictures are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from facelens.errors import Cancelled, InputError
from facelens.features import parity
from facelens.features.card import Card
from facelens.features.encoder import Encoded
from facelens.features.parity import Parity, compare, fed_alike
from facelens.images.faceset import FaceSet

CARD = Card("a", "a", size=(16, 16), template="none", dimensions=8)
N = 40


class Fixed:
    """Projects pixels; `noise` is added to the vector of the picture whose red corner is `of`, or to all."""

    parts = 0

    def __init__(self, *, noise: float = 0.0, of: int | None = None, scale: float = 1.0, dimensions: int = 8) -> None:
        self.card, self.dimensions = CARD, dimensions
        self.noise, self.of, self.scale = noise, of, scale
        self.matrix = np.random.default_rng(0).standard_normal((16 * 16 * 3, dimensions))

    def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
        vectors = (pictures.reshape(len(pictures), -1) - 127.0) @ self.matrix
        off = np.linalg.norm(vectors, axis=1, keepdims=True) * self.noise * np.eye(self.dimensions)[0]
        hit = np.ones(len(pictures), bool) if self.of is None else pictures[:, 0, 0, 0] == self.of
        return Encoded(((vectors + hit[:, None] * off) * self.scale).astype(np.float32))


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> FaceSet:
    folder = tmp_path_factory.mktemp("g")
    rng = np.random.default_rng(1)
    for i in range(N):
        picture = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
        picture[0, 0, 0] = i
        Image.fromarray(picture).save(folder / f"{i:02}.png")
    return FaceSet.build("g", folder, paths=[f"{i:02}.png" for i in range(N)], identities=["A"] * N)


def test_the_same_twice_passes(faces: FaceSet) -> None:
    ticks: list[tuple[int, int]] = []
    found = compare(
        faces, np.arange(N), Fixed(), Fixed(scale=3), tick=lambda done, total, note="": ticks.append((done, total))
    )
    assert found.passed and ticks == [(0, N), (32, N), (N, N)]
    np.testing.assert_array_equal(found.ids, faces.ids)
    np.testing.assert_allclose(found.norms[:, 1] / found.norms[:, 0], 3, rtol=1e-5)
    assert found.sentence() == "Both forms agree: smallest cosine 1.000000, mean 1.000000, over 40 pictures."
    counts, edges = found.histogram()
    assert counts.sum() == N and counts[0] == N and len(edges) == 41


def test_one_picture_that_differs_is_found(faces: FaceSet) -> None:
    found = compare(faces, np.arange(N), Fixed(), Fixed(noise=0.2, of=17), names=("a.pth", "a.onnx"))
    assert not found.passed and found.cosines.mean() > 0.999
    assert found.worst(1).tolist() == [faces.ids[17]]
    assert found.sentence().startswith("The forms differ: 1 picture is below the line; smallest cosine 0.9")
    assert next(line for line in parity.lines(found, faces) if "17.png" in line).startswith("  0.9")


def test_all_a_little_off_fails_by_the_mean(faces: FaceSet) -> None:
    found = compare(faces, np.arange(N), Fixed(), Fixed(noise=0.03))
    assert found.cosines.min() >= parity.LEAST and found.cosines.mean() < parity.MEAN and not found.passed
    assert compare(faces, np.arange(N), Fixed(), Fixed(noise=0.03), mean=0.999).passed


def test_vectors_that_are_no_use_do_not_pass(faces: FaceSet) -> None:
    class Zero(Fixed):
        def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
            vectors = super().__call__(pictures).vectors
            vectors[pictures[:, 0, 0, 0] == 3] = 0
            vectors[pictures[:, 0, 0, 0] == 5] = np.nan
            return Encoded(vectors)

    found = compare(faces, np.arange(N), Fixed(), Zero())
    assert not found.passed and np.isnan(found.cosines[[3, 5]]).all()
    assert found.worst(2).tolist() == [faces.ids[3], faces.ids[5]]
    assert "2 pictures are below the line" in found.sentence()


def test_pictures_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    Image.new("RGB", (16, 16), (9, 8, 7)).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"")
    faces = FaceSet.build("g", tmp_path, paths=["a.png", "b.png"], identities=["A", "A"])
    found = compare(faces, np.arange(2), Fixed(), Fixed())
    assert found.ids.tolist() == [faces.ids[0]] and found.skipped == ((int(faces.ids[1]), "empty"),)
    nothing = compare(faces, np.array([1]), Fixed(), Fixed())
    assert not nothing.passed and nothing.sentence() == "No picture could be compared."


def test_other_dimensions_are_refused(faces: FaceSet) -> None:
    with pytest.raises(InputError, match=r"a has 8 dims, b has 9\."):
        compare(faces, np.arange(2), Fixed(), Fixed(dimensions=9), names=("a", "b"))


def test_it_can_be_stopped(faces: FaceSet) -> None:
    def stop(done: int, total: int, note: str = "") -> None:
        if done:
            raise Cancelled

    with pytest.raises(Cancelled):
        compare(faces, np.arange(N), Fixed(), Fixed(), tick=stop)


def test_a_file_that_does_not_say_how_it_is_fed() -> None:
    told = Card("b", "net", order="BGR", std=(128.0,) * 3, size=(112, 96), crop=(0, 8, 112, 104), dimensions=128)
    card = fed_alike(Card("o", "onnx", dimensions=128, patch_layer="509"), told)
    assert (card.name, card.architecture, card.patch_layer, card.order, card.size) == (
        "o", "onnx", "509", "BGR", (112, 96),
    )  # fmt: skip
    assert (card.std, card.crop) == (told.std, told.crop)


def test_no_picture_is_no_pass() -> None:
    assert not Parity(("a", "b"), np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 2))).passed
