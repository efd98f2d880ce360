"""The sample checkpoints: what is trained for them, in which order, and what they measure on the sample gallery.

Every one is trained by a recipe that comes with FaceLens, on people of the sample world who are not in the gallery.
Each training has one core to itself, so the result does not depend on how many there are. Weights are kept in half
precision: what is measured, and what upgrades rest on, are the files as they are given away.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.divided import across_slices
from facelens.analyses.ensemble import combined
from facelens.analyses.retrieval import retrieve
from facelens.analyses.similarity import all_pairs
from facelens.analyses.verification import verify
from facelens.features import card as cards
from facelens.features import recipe as recipes
from facelens.features.recipe import Recipe
from facelens.files import atomic_write
from facelens.images.faceset import Labels
from facelens.progress import Tick, silent
from facelens.words import tr

Array = NDArray[Any]
_PIECE = 128  # pictures embedded at a time
FOLDER, TRANSFORMS, METRICS, _BUILDING = "checkpoints", "transforms", "metrics.json", ".building"


@dataclass(frozen=True)
class Part:
    """One training: its name is that of the file, `needs` are parts it rests on, by the recipe's key."""

    name: str
    recipe: str
    about: str
    change: Mapping[str, Any] = field(default_factory=dict)
    needs: Mapping[str, str] = field(default_factory=dict)
    given: bool = True  # whether its model is given away

    def read(self, folder: Path) -> Recipe:
        """The recipe, with the files it rests on in `folder`."""
        needs = {key: str(model_file(folder, name)) for key, name in self.needs.items()}
        nothing_held_out = {"validation.share": 0.0, "validation.every": 0}
        told = {"name": self.name, "about": self.about, **nothing_held_out, **self.change, **needs}
        return recipes.changed(recipes.load(self.recipe), told)


_OLD = {"models.old": "old"}
_MEMBERS = ("plain", "residual")  # mapped into the space of new
_LINEAR = {"loss.transform": "linear"}  # in so few dimensions nearer than residual blocks, and a tenth of their size
_TUNED = {"loss.freeze_norms": True, "epochs": 8.0, "optimiser.rate": 1e-4}  # from trained weights, as the authors do


def _into_new(name: str) -> dict[str, str]:
    return {"models.gallery": name, "models.query": "new"}


PARTS = (
    Part("old", "cosface", "CosFace on a third of the people", {"data.share": 0.3}),
    Part("new", "cosface", "CosFace on all people, knows nothing of old", {"network.architecture": "small_dense"}),
    Part("plain", "cosface", "CosFace on all people, a plain network", {"seed": 1}),
    Part("residual", "cosface", "CosFace on all people, residual", {"network.architecture": "small_residual"}),
    Part("lce", "lce-direct", "Upgrade of old by LCE", needs=_OLD),
    Part("lce_transform", "lce-transform", "Upgrade of old by LCE with transforms", needs=_OLD),
    Part("bct", "bct", "Upgrade of old by BCT", needs=_OLD),
    Part("l2", "l2", "Upgrade of old by L2", needs=_OLD),
    Part("larger", "dimension-up", "Upgrade of old to 192 dimensions by LCE", needs=_OLD),
    Part("smaller", "dimension-down", "Upgrade of old to 64 dimensions by LCE", needs=_OLD),
    Part("second", "lce-direct", "Upgrade of old by LCE on two thirds of the people", {"data.share": 0.65}, _OLD),
    Part("third", "lce-direct", "Upgrade of second by LCE", {"seed": 1}, {"models.old": "second"}),
    Part("universal_start", "universal", "Sub-embeddings with confidences", given=False),
    Part(
        "universal", "pa-finetune", "Sub-embeddings, confidences calibrated", needs={"models.start": "universal_start"}
    ),
    Part("divided", "divided", "Divide and conquer: four learners, from plain", _TUNED, {"models.start": "plain"}),
    Part(
        "undivided",
        "divided",
        "Divide and conquer: one learner, from plain",
        {**_TUNED, "network.options.learners": 1},
        {"models.start": "plain"},
    ),
    *(Part(f"m2m_{name}", "m2m", f"{name} in the space of new", _LINEAR, _into_new(name)) for name in _MEMBERS),
    *(
        Part(f"unified_{name}", "unified", f"{name} and new in one space", _LINEAR, _into_new(name))
        for name in _MEMBERS
    ),
)


def model_file(folder: Path, name: str) -> Path:
    """Where the model of a part lies; those that are not given away stay where they were trained."""
    given = next(part.given for part in PARTS if part.name == name)
    return folder / f"{name}.safetensors" if given else folder / _BUILDING / f"{name}.safetensors"


def names(folder: Path) -> list[str]:
    """The models that are there, in the order of the parts."""
    return [part.name for part in PARTS if part.given and model_file(folder, part.name).exists()]


def build_checkpoints(
    folder: Path, gallery: Path, *, parts: Sequence[Part] = PARTS, workers: int = 0, tick: Tick = silent
) -> dict[str, Any]:
    """Train all parts into `folder`, measure them on `gallery`, write the numbers beside them and give them back.

    What a build that was stopped has finished is not trained again.
    """
    building = folder / _BUILDING
    building.mkdir(parents=True, exist_ok=True)
    (folder / TRANSFORMS).mkdir(exist_ok=True)
    _draw(parts[0], folder, tick)
    done: set[str] = set()
    running: dict[Future[None], str] = {}
    waiting = list(parts)
    with ProcessPoolExecutor(workers or os.cpu_count() or 1, mp_context=get_context("spawn")) as pool:
        while waiting or running:
            for part in [one for one in waiting if done.issuperset(one.needs.values())]:
                waiting.remove(part)
                running[pool.submit(_train, part, folder)] = part.name
            tick(len(done), len(parts), tr("Training"))
            finished, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            for one in finished:
                one.result()
                done.add(running.pop(one))
    metrics = measure(folder, gallery, tick=tick)
    with atomic_write(folder / METRICS) as file:
        file.write((json.dumps(metrics, indent=1) + "\n").encode())
    with atomic_write(folder / "README.md") as file:
        file.write(_note(metrics).encode())
    shutil.rmtree(building)
    return metrics


def _note(metrics: Mapping[str, Any]) -> str:
    """A page about the checkpoints."""
    rows = []
    for part in PARTS:
        first, accepted = metrics.get("found", {}).get(part.name, ("", ""))
        rows.append(f"| {part.name} | {part.recipe} | {part.about} | {first} | {accepted} |")
    return _NOTE.format(rows="\n".join(rows))


_NOTE = """# Sample checkpoints

Small networks that FaceLens trained itself on drawn people who are not in the sample gallery:

    facelens sample build --out sample_data --checkpoints

Weights are in half precision, transforms lie in `transforms/`, all measurements in `metrics.json`. The numbers here are
those of each model with itself on the sample gallery.

| name | recipe | what it is | P@1 | TAR at FAR 1 % |
|---|---|---|---|---|
{rows}

Licence: MIT, the same as FaceLens. They know drawn faces only and are of no use for photographs.
"""


def _draw(part: Part, folder: Path, tick: Tick) -> None:
    """The pictures, which all parts share, once."""
    from facelens.features import crops
    from facelens.features.models import MODELS

    recipe = part.read(folder)
    card = MODELS[recipe.network.architecture].card
    people = crops.roll(recipe.data, None)
    crops.cut(people, card, data=recipe.data, faces=None, cache=folder / _BUILDING, tick=tick)


def _train(part: Part, folder: Path) -> None:
    import torch

    from facelens.features.train import train

    torch.set_num_threads(1)
    building = folder / _BUILDING
    out = building / part.name
    trained = train(part.read(folder), out, cache=building, resume=True)
    for made in trained.files:
        if made.name == "checkpoint.safetensors":
            target = model_file(folder, part.name)
            _halved(made, target)
            cards.save(cards.load(cards.beside(made)).changed(licence="MIT"), cards.beside(target))
        else:
            _halved(made, folder / TRANSFORMS / f"{part.name}.{made.name}")


def _halved(source: Path, target: Path) -> None:
    """The same tensors in half precision."""
    from facelens.features.state import read_tensors, write_tensors

    tensors, said = read_tensors(source)
    write_tensors(target, {name: one.half() if one.is_floating_point() else one for name, one in tensors.items()}, said)


# ---------------------------------------------------------------------------------------------------------------------


def measure(folder: Path, gallery: Path, *, tick: Tick = silent) -> dict[str, Any]:
    """What the checkpoints in `folder` do on a gallery none of whose people they were trained on.

    Each of `found` and `cross` is [P@1, TAR at FAR 1 %]; of a pair "a > b" the queries are a's, the gallery is b's.
    """
    bench = _Bench(folder, gallery, tick=tick)
    return {
        "gallery": {"faces": len(bench.faces), "people": len(bench.faces.identity.names)},
        "found": {name: bench.search(name) for name in names(folder)},
        "cross": bench.cross(),
        "ensemble": bench.ensemble(),
        "universal": bench.universal(),
        "divided": bench.divided(),
    }


class _Bench:
    """The gallery and the vectors of each model, embedded when they are first asked for."""

    def __init__(self, folder: Path, gallery: Path, *, tick: Tick) -> None:
        from facelens.session.tasks import open_gallery

        self.folder, self._tick = folder, tick
        self.faces = open_gallery(gallery, tick=tick).faces
        self.degradation: Array = np.asarray(self.faces.columns["degradation"], np.float64)
        role = self.faces.columns["role"]
        assert isinstance(role, Labels)
        self.degraded = role.codes == role.names.index("degraded")
        self._fed: dict[object, Array] = {}
        self._outputs: dict[str, tuple[Array, Array | None]] = {}

    def vectors(self, name: str) -> Array:
        """(N, D)."""
        return self._embedded(name)[0]

    def mapped(self, name: str, transform: str) -> Array:
        """Vectors of a model, brought into another's space."""
        from facelens.features import transforms

        return transforms.load(self.folder / TRANSFORMS / f"{transform}.safetensors")(self.vectors(name))

    def search(self, query: str | Array, gallery: str | Array | None = None) -> list[float]:
        """P@1 and TAR at FAR 1 % over all faces; a face never finds itself."""
        one = self.vectors(query) if isinstance(query, str) else query
        other = self.vectors(gallery) if isinstance(gallery, str) else gallery
        scores = all_pairs(one, ids=self.faces.ids, identity=self.faces.identity.codes, against=other)
        verified = verify(scores, fars=(0.01,), resamples=0)
        return [self.first(one, other), _rounded(verified.points[0].tar.value)]

    def first(
        self, query: Array, gallery: Array | None = None, *, rows: Array | None = None, among: Array | None = None
    ) -> float:
        """P@1: how often the nearest face is the same person; of some queries, among some faces."""
        gallery = query if gallery is None else gallery
        rows = np.arange(len(query)) if rows is None else rows
        among = np.arange(len(gallery)) if among is None else among
        found = retrieve(
            query[rows],
            gallery[among],
            query_ids=self.faces.ids[rows],
            gallery_ids=self.faces.ids[among],
            query_identity=self.faces.identity.codes[rows],
            gallery_identity=self.faces.identity.codes[among],
            same_set=True,
            resamples=0,
        )
        return _rounded(found.measures["P@1"].value)

    def cross(self) -> dict[str, list[float]]:
        """New queries against what an old model has stored."""
        direct = [("new", "old"), ("lce", "old"), ("bct", "old"), ("l2", "old")]
        row = [("second", "old"), ("third", "second"), ("third", "old")]
        found = {f"{a} > {b}": self.search(a, b) for a, b in direct + row}
        for name in ("lce_transform", "larger", "smaller"):
            found[f"{name} backward > old"] = self.search(self.mapped(name, f"{name}.new_to_old"), "old")
            found[f"{name} > old forward"] = self.search(name, self.mapped("old", f"{name}.old_to_new"))
        return found

    def ensemble(self) -> dict[str, Any]:
        """Members in the space of new: each alone, all together, and what their variance says."""
        members = {"new": self.vectors("new")}
        members |= {name: self.mapped(name, f"m2m_{name}.gallery") for name in _MEMBERS}
        every = combined(list(members.values()))
        unified = {
            name: self.search(self.mapped("new", f"unified_{name}.query"), self.mapped(name, f"unified_{name}.gallery"))
            for name in _MEMBERS
        }
        return {
            "members": {name: self.search(one) for name, one in members.items()},
            "together": self.search(every.vectors),
            "new > mapped": {name: self.search("new", one) for name, one in members.items() if name != "new"},
            "new > together": self.search("new", every.vectors),
            "unified": unified,
            "variance and degradation": _ranked_alike(every.variance, self.degradation),
        }

    def universal(self) -> dict[str, Any]:
        """Degraded queries among clear faces, beside one embedding of the same network; and the confidences: a squared
        distance of the same person should be as large as the variances say, so 1 on average."""
        import torch

        from facelens.features.losses.universal import mutual_likelihood
        from facelens.features.models.universal import parts_of

        rows, among = np.flatnonzero(self.degraded), np.flatnonzero(~self.degraded)
        vectors, confidence = self._embedded("universal")
        assert confidence is not None
        parts = parts_of(torch.from_numpy(vectors), confidence.shape[1])
        variance = torch.from_numpy(1 / confidence)
        codes = self.faces.identity.codes
        clear, clear_variance = parts[among], variance[among]
        nearest = [int(mutual_likelihood(parts[i], variance[i], clear, clear_variance).argmax()) for i in rows]
        likely = codes[among][nearest] == codes[rows]
        first, second = np.nonzero(np.triu(codes[:, None] == codes, 1))
        far = (parts[first] - parts[second]).square().mean(-1) / (variance[first] + variance[second])  # (pairs, K)
        return {
            "degraded P@1": self.first(vectors, rows=rows, among=among),
            "degraded P@1, likelihood": _rounded(likely.mean()),
            "degraded P@1, one embedding": self.first(self.vectors("plain"), rows=rows, among=among),
            "confidence and degradation": _ranked_alike(np.log(confidence).mean(1), self.degradation),
            "distance by variance": _rounded(float(far.mean())),
        }

    def divided(self) -> dict[str, Any]:
        """Recall@1, and how much dimensions of different slices say the same."""
        found = {}
        for name in ("divided", "undivided"):
            vectors = self.vectors(name)
            found[name] = {"Recall@1": self.first(vectors), "correlation": _rounded(across_slices(vectors, 4))}
        return found

    def _embedded(self, name: str) -> tuple[Array, Array | None]:
        if name not in self._outputs:
            from facelens.features import library
            from facelens.features.feed import feed_face

            encoder, seen = library.encoder(model_file(self.folder, name), threads=1)
            fed = (seen.card.size, seen.card.template, seen.card.crop)
            if fed not in self._fed:
                rows = range(len(self.faces))
                self._fed[fed] = np.stack([feed_face(self.faces, row, seen.card) for row in rows])
            pictures = self._fed[fed]
            self._tick(len(self._outputs), len(PARTS), tr("Measuring"))
            made = [encoder(pictures[start : start + _PIECE]) for start in range(0, len(pictures), _PIECE)]
            sure = [one.confidence for one in made if one.confidence is not None]
            vectors = np.concatenate([one.vectors for one in made]).astype(np.float32)
            self._outputs[name] = vectors, np.concatenate(sure) if sure else None
        return self._outputs[name]


def _ranked_alike(a: Array, b: Array) -> float:
    """Spearman's correlation."""
    from scipy.stats import spearmanr

    return _rounded(spearmanr(a, b).statistic)


def _rounded(value: float | None) -> float:
    assert value is not None
    return round(float(value), 4)
