"""An attribute network learns from columns; what it sees becomes further variations of the universal kind."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from facelens.errors import Cancelled, InputError
from facelens.features import card as cards
from facelens.features import library, recipe
from facelens.features.attributes import Head
from facelens.features.feed import feed_face
from facelens.features.losses import Terms
from facelens.features.losses.universal import Universal
from facelens.features.material import Material
from facelens.features.ranks import Ranks
from facelens.features.recipe import Recipe
from facelens.features.state import read_tensors
from facelens.features.train import CHECKPOINT, STATE, agreed, train
from facelens.images.faceset import FaceSet, Labels

PEOPLE, PICTURES = 6, 8
SMALL = [
    "optimiser.rate=0.003",
    "batch.people=4",
    "batch.pictures=2",
    "schedule.warmup=2",
    "log=1",
    "validation.share=0.34",
]
TINY = ["network.architecture=small_plain", "network.options={grid=[2, 2]}"]
PARTS = ["network.options={backbone='small_plain', parts=4, backbone_options={grid=[2, 2]}}"]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> FaceSet:
    """People are a colour each; on every other picture the lower half is lit."""
    root = tmp_path_factory.mktemp("gallery")
    rng = np.random.default_rng(0)
    paths, names, lit = [], [], []
    for person in range(PEOPLE):
        colour = rng.integers(40, 120, 3)
        (root / f"{person}").mkdir()
        for k in range(PICTURES):
            picture = colour + rng.normal(0, 20, (16, 16, 3))
            picture[8:] += 120 * (k % 2)
            paths.append(f"{person}/{k}.png")
            names.append(f"person {person}")
            lit.append(k % 2 * rng.uniform(0.5, 1))
            Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8)).save(root / paths[-1])
    light = np.array(lit)
    columns = {"light": light, "room": Labels.of(["bright" if one else "dark" for one in light])}
    return FaceSet.build("rooms", root, paths=paths, identities=names, columns=columns)


def attributes(*changes: str, rules: str = "{lit='light > 0.2'}", steps: int = 32) -> Recipe:
    return recipe.load("attributes", changes=[f"steps={steps}", *SMALL, *TINY, f"loss.attributes={rules}", *changes])


def universal(file: Path, *changes: str, steps: int = 4) -> Recipe:
    told = [f"steps={steps}", *SMALL, *PARTS, f"models.attributes={file}"]
    return recipe.load("universal", changes=[*told, *changes])


@pytest.fixture(scope="module")
def network(faces: FaceSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that knows one attribute."""
    out = tmp_path_factory.mktemp("network")
    done = train(attributes(), out, faces=faces)
    assert set(done.validation) == {"lit accuracy", "lit balanced_accuracy"}
    assert done.validation["lit balanced_accuracy"] > 0.8, done.validation
    return done.files[0]


def stop(done: int, total: int, note: str = "") -> None:
    if note == "Training" and done == 2:
        raise Cancelled


def same_in_the_end(told: Recipe, faces: FaceSet, folder: Path, cache: Path) -> bool:
    """Whether a training that was stopped ends as one that was not, all numbers of its state included; what is kept in
    the cache plays no part."""
    train(told, folder / "once", faces=faces)
    with pytest.raises(Cancelled):
        train(told, folder / "twice", faces=faces, cache=cache, tick=stop)
    train(told, folder / "twice", faces=faces, cache=cache, resume=True)
    once, twice = (read_tensors(folder / name / STATE)[0] for name in ("once", "twice"))
    return once.keys() == twice.keys() and all(torch.equal(once[name], twice[name]) for name in once)


def test_an_easy_attribute_is_learned_and_the_file_is_a_model(network: Path) -> None:
    head = Head.read(network)
    assert head.names == ("lit",) and head.weight.shape == (1, 128) and head.bias.shape == (1,)
    _, seen = library.encoder(network, threads=1)
    assert seen.fits and seen.card.name == "attributes"


def test_words_are_compared_and_the_labels_are_the_same(faces: FaceSet, network: Path, tmp_path: Path) -> None:
    train(attributes(rules="{lit='room = bright'}"), tmp_path, faces=faces, cache=network.parent)
    assert torch.equal(read_tensors(tmp_path / CHECKPOINT)[0][Head.WEIGHT], read_tensors(network)[0][Head.WEIGHT])


def test_training_resumes_bit_for_bit(faces: FaceSet, network: Path, tmp_path: Path) -> None:
    assert same_in_the_end(attributes(steps=4), faces, tmp_path, network.parent)


def test_other_labels_are_refused_on_resuming(faces: FaceSet, network: Path, tmp_path: Path) -> None:
    told = attributes(steps=4)
    with pytest.raises(Cancelled):
        train(told, tmp_path, faces=faces, cache=network.parent, tick=stop)
    light = np.array(faces.columns["light"])
    light[0] = 0.9
    other = faces.with_columns({"light": light})
    with pytest.raises(InputError, match="another recipe or gallery"):
        train(told, tmp_path, faces=other, cache=network.parent, resume=True)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("{lit='smile'}", "no column smile"),
        ("{lit='light > 2'}", "lit is the same on all pictures"),
        ("{lit='room'}", "room holds words"),
    ],
)
def test_attributes_that_cannot_be_learned(
    faces: FaceSet, network: Path, tmp_path: Path, rules: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        train(attributes(rules=rules), tmp_path, faces=faces, cache=network.parent)


@pytest.mark.parametrize(("rules", "message"), [("{}", "names none"), ("{a=1}", "attributes.a is a rule")])
def test_a_recipe_without_rules(rules: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        attributes(rules=rules)


def test_accuracy_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    said = rng.integers(0, 2, 50).astype(np.float32)
    right = np.where(rng.random(50) < 0.2, np.nan, rng.random(50) < 0.3).astype(np.float32)
    counts = {0: [0, 0], 1: [0, 0]}
    for a, b in zip(said, right):
        if not math.isnan(b):
            counts[int(b)][0] += int(a == b)
            counts[int(b)][1] += 1
    found = agreed(said, right)
    assert found["accuracy"] == pytest.approx((counts[0][0] + counts[1][0]) / (counts[0][1] + counts[1][1]))
    assert found["balanced_accuracy"] == pytest.approx((counts[0][0] / counts[0][1] + counts[1][0] / counts[1][1]) / 2)
    assert agreed(said[:0], right[:0]) == {} and set(agreed(said[:1], said[:1])) == {"accuracy"}


def material(told: Recipe, faces: FaceSet, cache: Path) -> Material:
    card = cards.Card("tiny", "small_plain", size=(16, 16))
    options: dict[str, Any] = {"device": torch.device("cpu"), "ranks": Ranks(), "pictures": True}
    return Material(told, card, faces=faces, cache=cache, **options)


def seen_in_a_loop(faces: FaceSet, network: Path) -> NDArray[np.float64]:
    """1 / (1 + exp(-(w . f + b))), a picture and an attribute at a time."""
    model, head = library.encoder(network, threads=1)[0], Head.read(network)
    rows = []
    for row in range(len(faces)):
        f = model(np.array(feed_face(faces, row, model.card))[None]).vectors[0].astype(np.float64)
        row_of = []
        for a in range(len(head.names)):
            told = sum(float(w) * float(x) for w, x in zip(head.weight[a], f)) + float(head.bias[a])
            row_of.append(1 / (1 + math.exp(-told)))
        rows.append(row_of)
    return np.array(rows)


def test_mining_against_a_loop(faces: FaceSet, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from facelens.features import material as materials

    monkeypatch.setattr(materials, "_PIECE", 5)  # the last piece is smaller
    found = material(universal(network), faces, tmp_path).mined(str(network))
    assert found.names == ("lit",) and found.labels.dtype == np.float32
    np.testing.assert_allclose(found.labels, seen_in_a_loop(faces, network), rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(Material, "_mine", None)  # kept beside the crops: nothing is asked again
    again = material(universal(network), faces, tmp_path).mined(str(network))
    assert np.array_equal(again.labels, found.labels)


def test_mined_variations_stand_beside_those_that_were_done(
    faces: FaceSet, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, list[torch.Tensor]] = {"discriminator": [], "loss": []}
    discriminate, forward = Universal.discriminate, Universal.forward

    def told(self: Universal, embedding: torch.Tensor, variations: torch.Tensor) -> Terms:
        asked["discriminator"].append(variations)
        return discriminate(self, embedding, variations)

    def lost(self: Universal, embedding: Any, confidence: Any, labels: Any, variations: Any) -> Terms:
        asked["loss"].append(variations)
        return forward(self, embedding, confidence, labels, variations)

    monkeypatch.setattr(Universal, "discriminate", told)
    monkeypatch.setattr(Universal, "forward", lost)
    recipe_told = universal(network)
    rows: list[dict[str, Any]] = []

    class Keeping:
        def __call__(self, done: int, total: int, note: str = "") -> None: ...

        def partial(self, row: dict[str, Any]) -> None:
            rows.append(row)

    train(recipe_told, tmp_path, faces=faces, cache=network.parent, tick=Keeping())
    data = material(recipe_told, faces, network.parent)
    seen = data.mined(str(network)).labels
    from facelens.features.samplers import sampler

    drawing = sampler(recipe_told.batch, data.trained.codes, seed=recipe_told.seed)
    for step in range(4):
        batch = data.batch(drawing.rows(step), step)
        wanted = torch.cat([batch.variations, torch.from_numpy(seen[drawing.rows(step)])], 1)
        assert wanted.shape == (8, 4), "blur, occlusion, pose and what was mined"
        assert torch.equal(asked["discriminator"][step], wanted) and torch.equal(asked["loss"][step], wanted)
    masks = read_tensors(tmp_path / STATE)[0]["module.loss.discriminator.masks"]
    assert masks.shape == (4, 4) and (masks.sum(1) == 2).all() and len({tuple(row) for row in masks.tolist()}) == 4
    trained = data.trained.rows
    assert [row["facts"]["mined"] for row in rows] == [{"lit": int((seen[trained, 0] > 0.5).sum())}] * 4
    assert 0 < rows[0]["facts"]["mined"]["lit"] < len(trained)


def test_mined_variations_alone_are_enough(faces: FaceSet, network: Path, tmp_path: Path) -> None:
    silent = [f"augment.{name}=0.0" for name in ("blur", "occlusion", "pose")]
    train(universal(network, *silent), tmp_path, faces=faces, cache=network.parent)
    assert read_tensors(tmp_path / STATE)[0]["module.loss.discriminator.linear.bias"].shape == (1,)


def test_with_mined_variations_it_resumes_bit_for_bit(faces: FaceSet, network: Path, tmp_path: Path) -> None:
    assert same_in_the_end(universal(network), faces, tmp_path, network.parent)


def test_other_mined_labels_are_refused_on_resuming(faces: FaceSet, network: Path, tmp_path: Path) -> None:
    """The file keeps its name and says something else."""
    from facelens.features.state import write_tensors

    copy = tmp_path / CHECKPOINT
    cards.beside(copy).write_bytes(cards.beside(network).read_bytes())
    copy.write_bytes(network.read_bytes())
    with pytest.raises(Cancelled):
        train(universal(copy), tmp_path / "out", faces=faces, cache=network.parent, tick=stop)
    tensors, said = read_tensors(network)
    write_tensors(copy, {**tensors, Head.BIAS: tensors[Head.BIAS] + 1}, said)
    with pytest.raises(InputError, match="another recipe or gallery"):
        train(universal(copy), tmp_path / "out", faces=faces, cache=network.parent, resume=True)


def test_a_file_without_attributes_is_refused(faces: FaceSet, network: Path, tmp_path: Path) -> None:
    from facelens.features.state import write_tensors

    tensors, _ = read_tensors(network)
    write_tensors(tmp_path / "nameless.safetensors", tensors, {})
    write_tensors(tmp_path / "short.safetensors", tensors, {Head.NAMES: '["a", "b"]'})
    (tmp_path / "odd.safetensors").write_bytes(b"nothing")
    for name in ("nameless", "short", "odd", "absent"):
        file = tmp_path / f"{name}.safetensors"
        with pytest.raises(InputError, match=f"{file.name} is no attribute network") as caught:
            train(universal(file), tmp_path / "out", faces=faces, cache=network.parent)
        assert "facelens train attributes" in caught.value.hint
