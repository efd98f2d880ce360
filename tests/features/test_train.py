"""The loop on a dozen tiny pictures: what comes out, that it resumes bit for bit, and every kind of training."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from facelens.errors import Cancelled, InputError
from facelens.features import card as cards
from facelens.features import crops as cropping
from facelens.features import encoder, library, recipe, transforms
from facelens.features.history import history
from facelens.features.kinds import KINDS, Drawn, Margin
from facelens.features.losses import Terms
from facelens.features.ranks import Ranks
from facelens.features.recipe import Recipe
from facelens.features.state import read_tensors
from facelens.features.train import CHECKPOINT, STATE, Trained, searched, train
from facelens.images.faceset import FaceSet

ROOT = Path(__file__).resolve().parents[2]
PEOPLE, PICTURES = 6, 6
SMALL = ["network.options={grid=[2, 2]}", "batch.people=4", "batch.pictures=2", "schedule.warmup=2", "log=1"]


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    """Pictures are so small here that threads would only wait for each other, and making networks fast takes longer
    than using them."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "_fused", lambda plain, batch: plain)
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> FaceSet:
    """Six people who are a colour each, with noise; 16 x 16, so that a step takes milliseconds."""
    root = tmp_path_factory.mktemp("gallery")
    rng = np.random.default_rng(0)
    paths, names = [], []
    for person in range(PEOPLE):
        colour = rng.integers(0, 255, 3)
        for k in range(PICTURES):
            picture = np.clip(colour + rng.normal(0, 25, (16, 16, 3)), 0, 255).astype(np.uint8)
            paths.append(f"{person}/{k}.png")
            names.append(f"person {person}")
            (root / f"{person}").mkdir(exist_ok=True)
            Image.fromarray(picture).save(root / paths[-1])
    return FaceSet.build("colours", root, paths=paths, identities=names)


def small(name: str = "cosface", *changes: str, steps: int = 6) -> Recipe:
    """A recipe of FaceLens on that gallery: 16 x 16 pictures, few steps."""
    return recipe.load(name, changes=[f"steps={steps}", "epochs=0", *SMALL, *changes])


def weights(out: Path) -> dict[str, torch.Tensor]:
    return read_tensors(out / CHECKPOINT)[0]


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


class Stopping:
    """A tick that ends the training before a step, and keeps the rows it is offered."""

    def __init__(self, at: int = -1) -> None:
        self.at = at
        self.rows: list[dict[str, Any]] = []

    def __call__(self, done: int, total: int, note: str = "") -> None:
        if note == "Training" and done == self.at:
            raise Cancelled

    def partial(self, row: dict[str, Any]) -> None:
        self.rows.append(row)


@dataclass(frozen=True)
class Done:
    """A training that several tests look at: where it lies, what it gave, the rows it offered."""

    out: Path
    trained: Trained
    rows: list[dict[str, Any]]

    @property
    def file(self) -> Path:
        return self.out / CHECKPOINT


def done(told: Recipe, out: Path, faces: FaceSet) -> Done:
    tick = Stopping()
    return Done(out, train(told, out, faces=faces, tick=tick), tick.rows)


@pytest.fixture(scope="module")
def cosface(faces: FaceSet, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The plainest training."""
    return done(small(), tmp_path_factory.mktemp("cosface"), faces)


SILENT = [f"augment.{one}=0.0" for one in recipe.load("universal").augment.variations]
PARTS = "backbone='small_plain', parts=4, backbone_options={grid=[2, 2]}"
LEARNERS = "backbone='small_plain', learners=2, backbone_options={grid=[2, 2]}"


@pytest.fixture(scope="module")
def universal(faces: FaceSet, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Sub-embeddings, nothing done to the pictures."""
    told = small("universal", f"network.options={{{PARTS}}}", *SILENT)
    return done(told, tmp_path_factory.mktemp("universal"), faces)


@pytest.fixture(scope="module")
def divided(faces: FaceSet, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Learners, clustered anew in every epoch."""
    return done(in_clusters(), tmp_path_factory.mktemp("divided"), faces)


def in_clusters() -> Recipe:
    return small("divided", f"network.options={{{LEARNERS}}}", "loss.every=1", steps=10)


def test_what_is_trained_is_a_model_like_any_other(cosface: Done) -> None:
    assert cosface.trained.step == 6 and cosface.trained.files == (cosface.file,)
    model, seen = library.encoder(cosface.file, threads=1)
    assert seen.fits and seen.from_card and seen.card.name == "cosface" and seen.card.size == (16, 16)
    vectors = model(np.zeros((2, 16, 16, 3), np.uint8)).vectors
    assert vectors.shape == (2, 128) and np.isfinite(vectors).all()
    rows = history(cosface.out)
    assert rows == cosface.rows and [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert all(set(row["terms"]) == {"classification", "loss"} for row in rows)
    assert rows[0]["rate"] == pytest.approx(0.001) and rows[1]["rate"] == pytest.approx(0.002)
    assert set(rows[-1]["validation"]) == {"precision_at_1", "tar_at_far_1e-2"} and "validation" not in rows[0]
    assert json.loads((cosface.out / "recipe.json").read_bytes())["kind"] == "margin"


def test_it_learns(faces: FaceSet, tmp_path: Path) -> None:
    train(small(steps=30), tmp_path, faces=faces)
    losses = [row["terms"]["loss"] for row in history(tmp_path)]
    assert np.mean(losses[-5:]) < 0.7 * np.mean(losses[:5])


def test_a_seed_is_a_result(faces: FaceSet, cosface: Done, tmp_path: Path) -> None:
    torch.manual_seed(5)  # what was drawn before plays no part
    for name, seed in (("again", 0), ("other", 1)):
        train(small("cosface", f"seed={seed}"), tmp_path / name, faces=faces, cache=cosface.out)
    first, again, other = (weights(out) for out in (cosface.out, tmp_path / "again", tmp_path / "other"))
    assert same(first, again) and not same(first, other)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_stopped_and_resumed_is_the_same_bit_for_bit(faces: FaceSet, tmp_path: Path, optimiser: str) -> None:
    changes = ["optimiser.rate=0.01", "checkpoint=10", "log=4", "validation.every=6"]
    told = small("cosface", f"optimiser.kind={optimiser}", *changes, steps=20)
    train(told, tmp_path / "once", faces=faces, cache=tmp_path)
    with pytest.raises(Cancelled):
        train(told, tmp_path / "twice", faces=faces, cache=tmp_path, tick=Stopping(13))
    assert [row["step"] for row in history(tmp_path / "twice")] == [4, 6, 8, 10, 12]
    train(told, tmp_path / "twice", faces=faces, cache=tmp_path, resume=True)
    assert same(weights(tmp_path / "once"), weights(tmp_path / "twice"))
    once, twice = (read_tensors(tmp_path / name / STATE) for name in ("once", "twice"))
    assert same(once[0], twice[0]) and once[1] == twice[1]
    assert history(tmp_path / "once") == history(tmp_path / "twice")


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {root!r})
import torch
from facelens.features import recipe, train
from facelens.images.readers import read

torch.set_num_threads(1)

def tick(done, total, note=""):
    if note == "Training" and done == 11:
        os.kill(os.getpid(), signal.SIGKILL)

faces = read(Path({gallery!r})).faces
train.train(recipe.load("cosface", changes={changes!r}), Path({out!r}), faces=faces, tick=tick)
"""


def test_killed_and_resumed_is_the_same_bit_for_bit(faces: FaceSet, tmp_path: Path) -> None:
    from facelens.images.readers import read

    changes = ["steps=20", "epochs=0", *SMALL, "checkpoint=10"]
    gallery = read(faces.root).faces
    train(recipe.load("cosface", changes=changes), tmp_path / "once", faces=gallery)
    script = KILLED.format(root=str(ROOT), gallery=str(faces.root), changes=changes, out=str(tmp_path / "killed"))
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert [row["step"] for row in history(tmp_path / "killed")][-1] == 11, "a row that is not in the checkpoint"
    train(recipe.load("cosface", changes=changes), tmp_path / "killed", faces=gallery, resume=True)
    assert same(weights(tmp_path / "once"), weights(tmp_path / "killed"))
    assert history(tmp_path / "once") == history(tmp_path / "killed")


def test_resuming_something_else_is_refused(faces: FaceSet, tmp_path: Path) -> None:
    train(small(steps=2), tmp_path, faces=faces)
    with pytest.raises(InputError, match="holds a training already"):
        train(small(steps=2), tmp_path, faces=faces)
    with pytest.raises(InputError, match="another recipe"):
        train(small("cosface", "loss.margin=0.1", steps=2), tmp_path, faces=faces, resume=True)
    with pytest.raises(InputError, match="another recipe or gallery"):
        train(small(steps=2), tmp_path, faces=faces.take(np.arange(30)), resume=True)
    (tmp_path / STATE).write_bytes(b"\0" * 100)
    with pytest.raises(InputError, match="cannot be read"):
        train(small(steps=2), tmp_path, faces=faces, resume=True)


def test_a_loss_that_is_no_number_ends_it(faces: FaceSet, tmp_path: Path) -> None:
    told = ["optimiser.kind=sgd", "optimiser.rate=100.0", "optimiser.decay=1.0"]
    with pytest.raises(InputError, match="no number any more"):
        train(small("cosface", *told, steps=200), tmp_path, faces=faces)


def test_unreadable_pictures_are_left_out(faces: FaceSet, tmp_path: Path) -> None:
    root = tmp_path / "gallery"
    for path in (os.fsdecode(path) for path in faces.paths):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"nothing" if path == "3/2.png" else (faces.root / path).read_bytes())
    damaged = FaceSet.build(
        "damaged", root, paths=list(faces.paths), identities=[faces.identity.name(row) for row in range(len(faces))]
    )
    told = small()
    people = cropping.roll(told.data, damaged)
    card = cards.Card("tiny", "small_plain", size=(16, 16))
    found = cropping.cut(people, card, data=told.data, faces=damaged, cache=tmp_path)
    assert np.flatnonzero(~found.usable).tolist() == [3 * PICTURES + 2]
    assert (people.only(found.usable).codes < 0).sum() == 1
    train(told, tmp_path / "out", faces=damaged)


def test_a_smaller_share_is_part_of_a_larger_one(faces: FaceSet) -> None:
    people = cropping.roll(small().data, faces)
    whole, held = cropping.divided(people, small().data, held_out=0.34)
    half, held_again = cropping.divided(people, small("cosface", "data.share=0.5").data, held_out=0.34)
    assert set(half.names) < set(whole.names) and held.names == held_again.names and len(held.names) == 2
    assert not set(whole.names) & set(held.names) and not (set(whole.rows) & set(held.rows))


def test_validation_against_a_loop() -> None:
    rng = np.random.default_rng(3)
    query, gallery = (rng.normal(size=(24, 5)).astype(np.float32) for _ in range(2))
    codes = np.repeat(np.arange(6), 4)
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (query, gallery)]
    right, genuine, impostor = [], [], []
    for i in range(24):
        scores = {j: float(unit[0][i] @ unit[1][j]) for j in range(24) if j != i}
        right.append(codes[max(scores, key=lambda j: scores[j])] == codes[i])
        for j, score in scores.items():
            (genuine if codes[i] == codes[j] else impostor).append(score)
    threshold = sorted(impostor, reverse=True)[int(0.01 * len(impostor))]
    found = searched(query, gallery, codes)
    assert found["precision_at_1"] == np.mean(right)
    assert found["tar_at_far_1e-2"] == pytest.approx(np.mean([score > threshold for score in genuine]))


UPGRADES = {
    "bct": {"classification", "compatibility"},
    "l2": {"classification", "distance"},
    "lce-direct": {"classification", "alignment", "boundary"},
    "lce-transform": {"classification", "alignment", "boundary"},
    "dimension-up": {"classification", "alignment", "boundary"},
    "dimension-down": {"classification", "alignment", "boundary"},
}


@pytest.mark.parametrize("name", UPGRADES)
def test_upgrades(faces: FaceSet, cosface: Done, tmp_path: Path, name: str) -> None:
    dimensions = {"dimension-up": 160, "dimension-down": 96}.get(name, 128)
    told = small(
        name,
        f"models.old={cosface.file}",
        "network.architecture=small_plain",
        f"network.options.dimensions={dimensions}",
        steps=3,
    )
    done = train(told, tmp_path, faces=faces, cache=cosface.out)
    rows = history(tmp_path)
    assert torch.get_num_threads() == 1, "asking the old model leaves the cores as they were"
    assert set(rows[-1]["terms"]) == {*UPGRADES[name], "loss"}
    if "alignment" in UPGRADES[name]:
        assert rows[0]["terms"]["alignment"] < 0.5 * 2 / dimensions, "classes start at the old centres, not anywhere"
    ways = {"backward", "forward"} if told.loss.transform != "none" else {"direct"}  # type: ignore[union-attr]
    assert {key.split()[0] for key in rows[-1]["validation"] if " " in key} == ways
    assert cards.load(cards.beside(tmp_path / CHECKPOINT)).dimensions == dimensions
    assert len(weights(tmp_path)["linear.weight"]) == dimensions
    assert {path.stem for path in done.files[1:]} == ({"old_to_new", "new_to_old"} if "forward" in ways else set())
    for path in done.files[1:]:
        found = transforms.load(path)
        mapped = found(np.random.default_rng(0).normal(size=(3, found.dimensions_in)))
        assert mapped.shape == (3, found.dimensions) and np.allclose(np.linalg.norm(mapped, axis=1), 1, atol=1e-5)


def test_bct_refuses_to_shrink(faces: FaceSet, cosface: Done, tmp_path: Path) -> None:
    told = small("bct", f"models.old={cosface.file}", "network.options.dimensions=96")
    with pytest.raises(InputError, match="BCT cannot make vectors shorter"):
        train(told, tmp_path, faces=faces, cache=cosface.out)


def test_a_model_that_is_needed_is_asked_for(faces: FaceSet, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"models\.old") as caught:
        train(small("bct"), tmp_path, faces=faces)
    assert "--set models.old=FILE" in caught.value.hint


def test_sub_embeddings(universal: Done) -> None:
    assert set(universal.rows[-1]["terms"]) == {"identification", "regulariser", "loss"}
    assert np.shape(universal.rows[-1]["facts"]["confidence"]) == (4, 5)
    assert library.inspect(universal.file).fits


def test_learners(divided: Done) -> None:
    rows = divided.rows
    assert set(rows[-1]["terms"]) == {"positive", "negative", "loss"}
    assert [row["facts"]["phase"] for row in (rows[0], rows[-1])] == ["slices", "merged"]
    assert sum(rows[0]["facts"]["sizes"]) == 4 * PICTURES
    assert cards.load(cards.beside(divided.file)).options["whole"] is True
    assert library.inspect(divided.file).fits


def test_learners_can_start_from_a_trained_backbone(faces: FaceSet, cosface: Done, tmp_path: Path) -> None:
    start = f"models.start={cosface.file}"
    told = small("divided", f"network.options={{{LEARNERS}}}", start, "optimiser.rate=1e-8", steps=1)
    train(told, tmp_path, faces=faces, cache=cosface.out)
    trained, before = weights(tmp_path), weights(cosface.out)
    assert torch.allclose(trained["backbone.linear.weight"], before["linear.weight"], atol=1e-4)
    other = small("divided", f"network.options={{{LEARNERS.replace('plain', 'dense')}}}", start)
    with pytest.raises(InputError, match="do not fit"):
        train(other, tmp_path / "other", faces=faces, cache=cosface.out)


@pytest.mark.parametrize("stop", [3, 7])
def test_divided_resumes_in_its_clusters(faces: FaceSet, divided: Done, tmp_path: Path, stop: int) -> None:
    with pytest.raises(Cancelled):
        train(in_clusters(), tmp_path, faces=faces, cache=divided.out, tick=Stopping(stop))
    train(in_clusters(), tmp_path, faces=faces, cache=divided.out, resume=True)
    assert same(weights(divided.out), weights(tmp_path))


def test_calibration_changes_confidences_alone(faces: FaceSet, universal: Done, tmp_path: Path) -> None:
    told = small(
        "pa-finetune", f"network.options={{{PARTS}, uncertainty=8}}", f"models.start={universal.file}", *SILENT
    )
    file = train(told, tmp_path, faces=faces, cache=universal.out).files[0]
    before, after = weights(universal.out), weights(tmp_path)
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert set(history(tmp_path)[-1]["terms"]) == {"likelihood", "loss"}
    assert library.encoder(file, threads=1)[1].fits


def test_calibration_starts_where_the_distances_are(faces: FaceSet, universal: Done, tmp_path: Path) -> None:
    told = ["optimiser.rate=1e-8", f"network.options={{{PARTS}, uncertainty=8}}", f"models.start={universal.file}"]
    shift, loss = {}, {}
    for start in ("measured", "pfe"):
        train(small("pa-finetune", *told, *SILENT, f"loss.shift={start}", steps=1), tmp_path / start, faces=faces)
        shift[start] = float(weights(tmp_path / start)["uncertainty.shift"])
        loss[start] = history(tmp_path / start)[-1]["terms"]["loss"]
    assert shift["pfe"] == pytest.approx(-7, abs=1e-4)
    assert shift["measured"] < -8, "pictures of a person are almost the same here"
    assert loss["measured"] < loss["pfe"]


@pytest.mark.parametrize("name", ["m2m", "unified", "lce-frozen"])
def test_transforms_learn_from_stored_vectors_without_pictures(
    faces: FaceSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from facelens.features import feed
    from facelens.features.exports import Outgoing, npz
    from facelens.features.featureset import FeatureSet, Provenance

    rng = np.random.default_rng(0)
    people = rng.normal(size=(PEOPLE, 24))[faces.identity.codes] + 0.1 * rng.normal(size=(len(faces), 24))
    files = {}
    for model, width in (("gallery", 24), ("query", 16)):
        vectors = (people @ rng.normal(size=(24, width))).astype(np.float32)
        files[model] = tmp_path / f"{model}.npz"
        npz.write(files[model], Outgoing.of(FeatureSet(faces.ids, vectors, Provenance(model, model)), faces))

    def refused(*_: object) -> None:
        raise AssertionError("a picture was read")

    monkeypatch.setattr(cropping, "feed_face", refused)
    monkeypatch.setattr(feed, "feed_face", refused)
    first, second = ("models.new", "models.old") if name == "lce-frozen" else ("models.gallery", "models.query")
    told = small(name, f"{first}={files['gallery']}", f"{second}={files['query']}", steps=12)
    done = train(told, tmp_path / "out", faces=faces)
    terms = {"alignment", "boundary"} if name == "lce-frozen" else {"similarity", "kl", "dual"}
    assert set(history(tmp_path / "out")[-1]["terms"]) == {*terms, "loss"}
    wanted = {"m2m": {"gallery"}, "unified": {"gallery", "query"}, "lce-frozen": {"old_to_new", "new_to_old"}}[name]
    assert {path.stem for path in done.files} == wanted
    sides = {path.stem: transforms.load(path) for path in done.files}
    assert not (tmp_path / "out" / CHECKPOINT).exists()
    if name == "m2m":
        assert (sides["gallery"].dimensions_in, sides["gallery"].dimensions) == (24, 16)


def test_a_sequence_of_upgrades(faces: FaceSet, tmp_path: Path) -> None:
    from facelens.session.training import train_model

    told = small("sequential", "validation.share=0.0", "data.share=1.0", steps=2)
    shares = [one.change["data.share"] for one in told.stages]
    assert shares == sorted(shares)
    told = replace(told, stages=tuple(replace(one, change={**one.change, "data.share": 0.5}) for one in told.stages))
    done = train_model(told, tmp_path, gallery=faces.root)
    assert [path[0].parent.name for path in done.files] == ["phi1", "phi2", "phi3"]
    assert "alignment" in history(tmp_path / "phi2")[-1]["terms"]
    assert "alignment" not in history(tmp_path / "phi1")[-1]["terms"]
    said = json.loads((tmp_path / "phi3" / "recipe.json").read_bytes())
    assert said["models"]["old"] == str(tmp_path / "phi2" / CHECKPOINT) and len(done.lines()) == 3


def test_half_precision_is_for_graphics_cards_alone(
    faces: FaceSet, cosface: Done, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no card here, and not every processor knows half precision: the scaler is real, the rest is asked."""
    from facelens.features import train as training

    assert training.takes_half(torch.device("cuda:1")) and not training.takes_half(torch.device("cpu"))
    asked: list[bool] = []

    def stand_in(device: torch.device, *, half: bool) -> AbstractContextManager[object]:
        asked.append(half)
        return nullcontext()

    monkeypatch.setattr(training, "takes_half", lambda device: True)
    monkeypatch.setattr(training, "precision", stand_in)
    with pytest.raises(Cancelled):
        train(small(), tmp_path, faces=faces, cache=cosface.out, tick=Stopping(3))
    train(small(), tmp_path, faces=faces, cache=cosface.out, resume=True)
    assert asked == [True] * 6
    full, half = weights(cosface.out), weights(tmp_path)
    for name in full:
        torch.testing.assert_close(half[name], full[name], rtol=1e-3, atol=1e-4)
    said = json.loads(read_tensors(tmp_path / STATE)[1]["facelens_state"])
    assert said["scaler"]["scale"] == 2.0**16 and said["scaler"]["_growth_tracker"] == 6, "kept over the stop"


def test_variations_are_labelled_and_follow_from_the_step(
    faces: FaceSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from facelens.features import material

    done: list[list[str]] = []

    def stand_in(picture: np.ndarray, variations: list[str], points: np.ndarray, seed: int) -> np.ndarray:
        done.append(variations)
        return np.full_like(picture, len(variations)) + np.uint8(seed % 7)

    monkeypatch.setattr(material, "_perturbed", stand_in)
    told = small("cosface", "augment.blur=0.5", "augment.mask=0.5", "augment.flip=0.0")
    card = cards.Card("tiny", "small_plain", size=(16, 16))
    options: dict[str, Any] = {"faces": faces, "cache": tmp_path, "device": torch.device("cpu"), "pictures": True}
    whole = material.Material(told, card, ranks=Ranks(), **options)
    rows = whole.trained.rows[:8]
    batch = whole.batch(rows, 5)
    assert batch.variations.shape == (8, 2) and 0 < float(batch.variations.sum()) < 16
    touched = batch.variations.any(1)
    assert done == [
        [name for name, does in zip(("blur", "mask"), line) if does] for line in batch.variations.tolist() if any(line)
    ]
    plain = whole.plain(rows).shown()
    changed = (batch.shown() != plain).flatten(1).any(1)
    assert torch.equal(changed, touched), "exactly those that are labelled"
    again = whole.batch(rows, 5)
    assert torch.equal(again.shown(), batch.shown()) and not torch.equal(whole.batch(rows, 6).shown(), batch.shown())
    halves = [material.Material(told, card, ranks=_Pretended(rank, 2), **options).batch(rows, 5) for rank in (0, 1)]
    assert torch.equal(torch.cat([half.shown() for half in halves]), batch.shown())
    assert torch.equal(torch.cat([half.variations for half in halves]), batch.variations)


def test_recipes_and_perturb_know_the_same_variations() -> None:
    from facelens.images.perturb import VARIATIONS

    everything = recipe.Augment(**dict.fromkeys(VARIATIONS, 0.5))
    assert list(everything.variations) == list(VARIATIONS)


def test_flips_are_mirror_images(faces: FaceSet, tmp_path: Path) -> None:
    from facelens.features import material

    card = cards.Card("tiny", "small_plain", size=(16, 16))
    options: dict[str, Any] = {"faces": faces, "cache": tmp_path, "device": torch.device("cpu"), "pictures": True}
    for chance in (0.0, 0.5, 1.0):
        data = material.Material(small("cosface", f"augment.flip={chance}"), card, ranks=Ranks(), **options)
        rows = data.trained.rows[:16]
        shown, plain = data.batch(rows, 0).shown(), data.plain(rows).shown()
        mirrored = (shown == plain.flip(3)).flatten(1).all(1)
        assert torch.equal(~mirrored, (shown == plain).flatten(1).all(1))
        assert {0.0: mirrored.sum() == 0, 0.5: 3 < mirrored.sum() < 13, 1.0: mirrored.all()}[chance]


class Noisy(Margin):
    """A kind that draws numbers while it learns, as dropout does."""

    def forward(self, batch: Drawn, part: str = "loss") -> Terms:
        terms: Terms = self.head(self.network(batch.shown()).embedding + torch.randn(128), batch.labels)
        return terms


def test_what_is_drawn_while_learning_follows_from_the_step(
    faces: FaceSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, "margin", Noisy)
    train(small(), tmp_path / "once", faces=faces, cache=tmp_path)
    with pytest.raises(Cancelled):
        train(small(), tmp_path / "twice", faces=faces, cache=tmp_path, tick=Stopping(3))
    torch.manual_seed(5)
    before = torch.get_rng_state()
    train(small(), tmp_path / "twice", faces=faces, cache=tmp_path, resume=True)
    assert same(weights(tmp_path / "once"), weights(tmp_path / "twice"))
    assert torch.equal(before, torch.get_rng_state()), "whoever called keeps their numbers"


class _Pretended(Ranks):
    def wait(self) -> None:
        pass


def test_universal_with_variations(faces: FaceSet, tmp_path: Path) -> None:
    options = f"network.options={{{PARTS}}}"
    train(small("universal", options), tmp_path / "once", faces=faces, cache=tmp_path)
    terms = {"discriminator", "identification", "regulariser", "classification", "adversarial", "loss"}
    assert set(history(tmp_path / "once")[-1]["terms"]) == terms
    with pytest.raises(Cancelled):
        train(small("universal", options), tmp_path / "twice", faces=faces, cache=tmp_path, tick=Stopping(3))
    train(small("universal", options), tmp_path / "twice", faces=faces, cache=tmp_path, resume=True)
    once, twice = (read_tensors(tmp_path / name / STATE)[0] for name in ("once", "twice"))
    assert same(once, twice) and any(".discriminator." in name for name in once)


def test_command_line(faces: FaceSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from facelens.__main__ import main

    arguments = ["--gallery", str(faces.root), "--out", str(tmp_path / "out"), "--set", "steps=3", "epochs=0", *SMALL]
    assert main(["train", "cosface", *arguments]) == 0
    said = capsys.readouterr().out
    assert "3 of 3" in said and "classification" in said and str(tmp_path / "out" / CHECKPOINT) in said
    assert main(["train", "cosface", *arguments]) == 1
    assert main(["train", "cosface", *arguments, "loss.margn=1"]) == 1
    assert "Did you mean margin?" in capsys.readouterr().err
