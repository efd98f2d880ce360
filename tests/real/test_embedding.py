"""Published weights by drop: the right guess, the right card, and the accuracy on LFW they are known for."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from facelens.features import library, whatif
from facelens.features.models import MODELS
from facelens.images.faceset import FaceSet
from facelens.session import tasks

pytestmark = pytest.mark.real

ZOO = "mobilefacenet-facexzoo/face_recognition_"
HALF = (127.5, 127.5, 127.5)


@dataclass(frozen=True)
class Published:
    """One file: what it is, how it is fed, and its accuracy on LFW (10 folds, measured independently, no flip)."""

    file: str
    architecture: str
    order: str
    accuracy: float
    dimensions: int
    grid: tuple[int, int]
    std: tuple[float, ...] = (128.0, 128.0, 128.0)
    mean: tuple[float, ...] = HALF
    size: tuple[int, int] = (112, 112)
    crop: tuple[int, int, int, int] | None = None


PUBLISHED = [
    Published(
        "mobilefacenet-casia/068.ckpt",
        "mobilefacenet_casia",
        "RGB",
        98.98,
        128,
        (7, 6),
        size=(112, 96),
        crop=(0, 8, 112, 104),
    ),
    Published(ZOO + "1.0.state_dict.pt", "mobilefacenet_facexzoo", "BGR", 99.55, 512, (7, 7)),
    Published(ZOO + "2.0.state_dict.pt", "mobilefacenet_facexzoo", "BGR", 99.42, 512, (7, 7)),
    Published(ZOO + "1.0.face_recognition_mv.pkl", "mobilefacenet_facexzoo", "BGR", 99.55, 512, (7, 7)),
    Published(ZOO + "2.0.face_recognition_mv.pkl", "mobilefacenet_facexzoo", "BGR", 99.42, 512, (7, 7)),
    Published(
        "mobilefacenet-foamliu/model.pt",
        "mobilefacenet_foamliu",
        "RGB",
        99.43,
        128,
        (7, 7),
        mean=(123.675, 116.28, 103.53),
        std=(58.395, 57.12, 57.375),
    ),
    Published("w600k-mbf/w600k_mbf.onnx", "onnx", "RGB", 99.60, 512, (7, 7), std=HALF),
    Published("edgeface-s/edgeface_s_gamma_05.onnx", "onnx", "RGB", 99.78, 512, (3, 3), std=HALF),
]
by_file = pytest.mark.parametrize("published", PUBLISHED, ids=lambda one: one.file.split("/")[1])


@by_file
def test_every_file_opens_with_the_right_guess_and_card(real_faces: Path, published: Published) -> None:
    found = library.inspect(real_faces / "weights" / published.file)
    card = found.card
    assert found.fits and card.architecture == published.architecture
    assert (card.order, card.size, card.crop, card.flip) == (published.order, published.size, published.crop, False)
    np.testing.assert_allclose(card.mean, published.mean, atol=1e-3)
    np.testing.assert_allclose(card.std, published.std, atol=1e-3)
    assert (card.dimensions, card.grid, card.template) == (published.dimensions, published.grid, "arcface112")
    if published.architecture in MODELS:
        assert found.score == 1.0 and found.keys.matched == found.keys.wanted and not found.keys.ignored


def pairs(real_faces: Path) -> tuple[FaceSet, NDArray[np.int64], NDArray[np.bool_]]:
    """The pictures of the first fold as a gallery, the rows of its 600 pairs, same or not."""
    with open(real_faces / "faces/lfw/pairs_fold1.csv") as file:
        lines = list(csv.DictReader(file))
    names = sorted({line[side] for line in lines for side in "ab"})
    row = {name: i for i, name in enumerate(names)}
    faces = FaceSet.build(
        "fold1",
        real_faces / "faces/lfw/aligned112",
        paths=names,
        identities=[name.split("/")[0] for name in names],
    )
    rows = np.array([[row[line["a"]], row[line["b"]]] for line in lines])
    return faces, rows, np.array([line["same"] == "1" for line in lines])


def accuracy(scores: NDArray[np.floating], same: NDArray[np.bool_]) -> float:
    """In per cent, at the best threshold."""
    return max(float(((scores >= t) == same).mean()) for t in np.append(scores, np.inf)) * 100


# One file of each kind in the default run; the others, of the same networks, with -m faults.
@pytest.mark.parametrize(
    "published",
    [
        pytest.param(one, id=one.file.split("/")[1], marks=() if number in (0, 3, 6) else pytest.mark.faults)
        for number, one in enumerate(PUBLISHED)
    ],
)
def test_every_file_recognises_faces(real_faces: Path, tmp_path: Path, published: Published) -> None:
    faces, rows, same = pairs(real_faces)
    done = tasks.embed_gallery(faces, real_faces / "weights" / published.file, root=tmp_path)
    assert (done.embedded, done.skipped) == (len(faces), ())
    unit, found = done.features(faces).unit(faces.ids)
    assert found.all() and unit.shape == (len(faces), published.dimensions)
    measured = accuracy((unit[rows[:, 0]] * unit[rows[:, 1]]).sum(1), same)
    print(f"{published.file}: {measured:.2f} (published {published.accuracy:.2f})")
    assert abs(measured - published.accuracy) <= 0.5


@pytest.mark.parametrize(
    "published",
    [
        pytest.param(one, id=one.file.split("/")[1], marks=() if number == 1 else pytest.mark.faults)
        for number, one in enumerate(PUBLISHED)
        if not one.file.endswith(".pkl")
    ],
)
def test_a_swapped_channel_order_is_noticed(
    real_faces: Path, published: Published, request: pytest.FixtureRequest
) -> None:
    """On 40 people with four pictures each; every variant of a right card in the long run only."""
    with open(real_faces / "faces/lfw/images.csv") as file:
        names = [line["path"] for line in csv.DictReader(file)]
    faces = FaceSet.build(
        "lfw", real_faces / "faces/lfw/aligned112", paths=names, identities=[name.split("/")[0] for name in names]
    )
    rows = whatif.sample(faces, limit=160, seed=1)
    encoder, _ = library.encoder(real_faces / "weights" / published.file)
    order = encoder.card.order
    all_of_them = request.node.get_closest_marker("faults") is not None
    right = whatif.try_out(faces, rows, encoder, ways=whatif.variants(encoder.card)[: None if all_of_them else 2])
    encoder.card = encoder.card.changed(order="RGB" if order == "BGR" else "BGR")
    wrong = whatif.try_out(faces, rows, encoder, ways=whatif.variants(encoder.card)[:2])
    print(*whatif.lines(right), *whatif.lines(wrong), sep="\n")
    assert right.advice() == ()
    (said,) = wrong.advice()
    assert said.startswith(f"This looks BGR-swapped: feeding {order} raises the separation from ")
