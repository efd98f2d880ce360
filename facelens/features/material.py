"""What a training learns from: people, their pictures, vectors of models that do not learn, and the batches of them.

What happens to a picture on the way in is drawn for the whole batch of a step, so that it depends on nothing but seed
and step: not on what was drawn before, nor on how many processes share the batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from facelens.errors import InputError
from facelens.features import card as cards
from facelens.features import checkpoint, library
from facelens.features import crops as cropping
from facelens.features.attributes import Head, labels
from facelens.features.card import Card
from facelens.features.crops import Crops, Roll
from facelens.features.encoder import Encoder, prepared
from facelens.features.kinds import Drawn, Mined
from facelens.features.ranks import Ranks
from facelens.features.recipe import Recipe
from facelens.features.samplers import share
from facelens.files import atomic_write
from facelens.images.faceset import FaceSet, Rows
from facelens.progress import Tick, silent
from facelens.words import escaped, tr

_PIECE = 256  # pictures embedded at a time


class Material:
    """The data of one training, as the recipe and the card of its network ask for them."""

    def __init__(
        self,
        recipe: Recipe,
        card: Card,
        *,
        faces: FaceSet | None,
        cache: Path,
        device: torch.device,
        ranks: Ranks,
        pictures: bool,
        tick: Tick = silent,
    ) -> None:
        self._recipe, self._card, self._cache = recipe, card, cache
        self._device, self._ranks, self._tick = device, ranks, tick
        self._faces = cropping.wanted(faces, recipe.data) if faces is not None else None
        self._with_pictures = pictures
        self._labelled: list[str] = []  # names the labels that were asked for
        self._all = cropping.roll(recipe.data, self._faces)
        usable = self.crops.usable if pictures else self._with_vectors()
        self._all = self._all.only(usable)
        self.trained, self.held_out = cropping.divided(self._all, recipe.data, held_out=recipe.validation.share)

    @cached_property
    def crops(self) -> Crops:
        """The pictures the network learns from."""
        return self._cut(self._card)

    @property
    def digest(self) -> str:
        """Names the gallery, the people who are trained on, and what else was said about their pictures."""
        told = [self._all.digest[:16], f"{len(self.trained.rows)}", f"{len(self.trained.names)}", *self._labelled]
        return "-".join(told)

    def batch(self, rows: Rows, step: int) -> Drawn:
        """This process's part of the batch of a step."""
        mine = share(rows, self._ranks.rank, self._ranks.count)
        rng = np.random.default_rng([7, self._recipe.seed, step])
        flipped = rng.random(len(rows)) < self._recipe.augment.flip
        chances = self._recipe.augment.variations
        varied = rng.random((len(rows), len(chances))) < np.array(list(chances.values()))  # (B, T)
        seeds = rng.integers(0, 2**63, len(rows))
        return self._drawn(self.trained, rows[mine], step, flipped[mine], varied[mine], seeds[mine])

    def plain(self, rows: Rows, *, held_out: bool = False) -> Drawn:
        """Faces with nothing done to them."""
        nothing = np.zeros((len(rows), len(self._recipe.augment.variations)), bool)
        people = self.held_out if held_out else self.trained
        return self._drawn(people, rows, 0, np.zeros(len(rows), bool), nothing, np.zeros(len(rows), np.int64))

    def varied(self, rows: Rows, *, held_out: bool = False) -> Drawn:
        """Faces with one variation of the recipe each, in turn; the same whenever they are asked for."""
        kinds = len(self._recipe.augment.variations)
        one_each = np.arange(len(rows))[:, None] % max(kinds, 1) == np.arange(kinds)  # (B, T)
        people = self.held_out if held_out else self.trained
        return self._drawn(people, rows, 0, np.zeros(len(rows), bool), one_each, np.arange(len(rows)))

    def pictures(self, rows: Rows) -> Tensor:
        """Their pictures alone."""
        return self.plain(rows).shown()

    def begun(self, file: str | Path) -> tuple[nn.Module, Card]:
        """A network that was trained before, with its card."""
        from facelens.features.encoder import TorchEncoder

        encoder, seen = self._encoder(Path(file))
        if not isinstance(encoder, TorchEncoder):
            raise InputError(tr("{name} holds no weights to learn on.", name=escaped(Path(file).name)))
        return encoder.network, seen.card

    def frozen(self, file: str) -> NDArray[np.float32]:
        """(N, D) vectors of all faces: read where they are stored, else embedded once and kept beside the crops.

        A picture's vector is added to that of its mirror image, as the authors of LCE do.
        """
        if _is_stored(Path(file)):
            return self._stored(Path(file))
        kept = self._cache / f"vectors-{_fingerprint(Path(file), self._all.digest)}.npy"
        if self._ranks.first and not kept.exists():
            self._embed(Path(file), kept)
        self._ranks.wait()
        vectors: NDArray[np.float32] = np.load(kept, allow_pickle=False)
        return vectors

    def attributes(self, rules: Mapping[str, str]) -> NDArray[np.float32]:
        """(N, A) what rules about the gallery's columns say of all faces; NaN where nobody knows."""
        found = labels(rules, cropping.columns(self._recipe.data, self._faces))
        self._labelled.append(hashlib.sha256(found.tobytes()).hexdigest()[:16])
        return found

    def mined(self, file: str) -> Mined:
        """What an attribute network sees on all pictures as they are: asked once and kept beside the crops."""
        head, name = Head.read(Path(file)), _fingerprint(Path(file), self._all.digest)
        kept = self._cache / f"mined-{name}.npy"
        if self._ranks.first and not kept.exists():
            self._mine(Path(file), head, kept)
        self._ranks.wait()
        self._labelled.append(name)
        return Mined(head.names, np.load(kept, allow_pickle=False))

    def _mine(self, file: Path, head: Head, kept: Path) -> None:
        from facelens.features.losses.attributes import mine

        network, card = self.begun(file)
        crops = self._cut(card, waiting=False)
        where = next(network.parameters()).device
        with _numbers_kept():
            classifier = nn.Linear(head.weight.shape[1], len(head.names), device=where)
        classifier.load_state_dict({"weight": torch.from_numpy(head.weight), "bias": torch.from_numpy(head.bias)})

        def pieces() -> Iterator[Tensor]:
            for start in range(0, len(crops), _PIECE):
                yield torch.from_numpy(prepared(np.array(crops.pictures[start : start + _PIECE]), card)).to(where)

        found = mine(network, classifier, pieces(), total=len(crops), tick=self._tick)
        with atomic_write(kept) as stream:
            np.save(stream, found.numpy())

    def _embed(self, file: Path, kept: Path) -> None:
        encoder, seen = self._encoder(file)
        crops = self._cut(seen.card, waiting=False)
        parts = []
        for start in range(0, len(crops), _PIECE):
            self._tick(start, len(crops), tr("Embedding with {name}", name=seen.card.name))
            piece = np.array(crops.pictures[start : start + _PIECE])  # a copy: the map is read-only
            mirrored = np.ascontiguousarray(piece[:, :, ::-1])
            parts.append(encoder(piece).vectors + encoder(mirrored).vectors)
        with atomic_write(kept) as stream:
            np.save(stream, np.concatenate(parts).astype(np.float32))

    def _encoder(self, file: Path) -> tuple[Encoder, library.Inspection]:
        """A model that is there already. Whether it is asked or its answers are kept must change nothing else: neither
        the numbers that are drawn, nor on how many cores sums are made."""
        with _numbers_kept():
            return library.encoder(file, threads=torch.get_num_threads(), tick=self._tick)

    def _drawn(
        self,
        people: Roll,
        rows: Rows,
        step: int,
        flipped: NDArray[np.bool_],
        varied: NDArray[np.bool_],
        seeds: NDArray[np.int64],
    ) -> Drawn:
        pictures = None
        if self._with_pictures:
            taken = np.array(self.crops.pictures[rows])
            names = list(self._recipe.augment.variations)
            for i in np.flatnonzero(varied.any(1)):
                told = [name for name, does in zip(names, varied[i]) if does]
                taken[i] = _perturbed(taken[i], told, self.crops.points[rows[i]], int(seeds[i]))
            taken[flipped] = taken[flipped, :, ::-1]  # last: the five points are those of the picture as it was
            pictures = torch.from_numpy(prepared(taken, self._card))
            pictures = pictures.to(self._device, memory_format=torch.channels_last)  # a fifth faster on processors
        labels = torch.from_numpy(people.codes[rows].astype(np.int64)).to(self._device)
        variations = torch.from_numpy(varied.astype(np.float32)).to(self._device)
        return Drawn(torch.from_numpy(rows).to(self._device), labels, pictures, variations, step)

    def _cut(self, card: Card, *, waiting: bool = True) -> Crops:
        """All pictures as `card` feeds them; the first process cuts them, the others wait."""
        options = {"data": self._recipe.data, "faces": self._faces, "cache": self._cache}
        if self._ranks.first:
            cropping.cut(self._all, card, **options, tick=self._tick)  # type: ignore[arg-type]
        if waiting:
            self._ranks.wait()
        return cropping.cut(self._all, card, **options)  # type: ignore[arg-type]

    def _with_vectors(self) -> NDArray[np.bool_]:
        """Faces of which every model that the recipe names has a vector."""
        models = self._recipe.models
        used = [file for file in (models.old, models.new, models.gallery, models.query) if file]
        usable = np.ones(len(self._all.codes), bool)
        for file in used:
            usable &= np.isfinite(self.frozen(file)).all(1)
        return usable

    def _stored(self, path: Path) -> NDArray[np.float32]:
        from facelens.features import exchange
        from facelens.features.store import Store

        if self._faces is None:
            raise InputError(
                tr("The vectors in {name} belong to a gallery, and none is given.", name=escaped(path.name)),
                hint=tr("Add --gallery PATH."),
            )
        if path.is_dir():
            features = Store.open(path.parent, path.name).features(self._faces)
        else:
            features = exchange.join(exchange.read(path, tick=self._tick), self._faces).features
        vectors = np.full((len(self._faces), features.dimensions), np.nan, np.float32)
        rows, found = features.rows_of(self._faces.ids)
        vectors[found] = features.vectors[rows]
        return vectors


def _perturbed(
    picture: NDArray[np.uint8], variations: list[str], points: NDArray[np.float32], seed: int
) -> NDArray[np.uint8]:
    """A picture with variations done to it; how strong each is follows from the seed."""
    from facelens.images.perturb import perturb

    return perturb(picture, variations, seed=seed, landmarks=points).picture


def _numbers_kept() -> AbstractContextManager[None]:
    """Networks that are built on the way must not change what is drawn for the one that learns."""
    return torch.random.fork_rng(devices=[])


def _fingerprint(file: Path, people: str) -> str:
    """Names a model with its card, and the faces it has seen; the model itself is not opened for it."""
    try:
        beside = cards.beside(file)
        told = [checkpoint.sha256(file), hashlib.sha256(beside.read_bytes() if beside.exists() else b"").hexdigest()]
    except OSError as error:
        raise InputError(
            tr("{name} cannot be read: {reason}.", name=escaped(str(file)), reason=error.strerror or ""),
            details=str(error),
        ) from None
    return hashlib.sha256(" ".join([*told, people, str(cropping.VERSION)]).encode()).hexdigest()[:24]


def _is_stored(path: Path) -> bool:
    return path.is_dir() or path.suffix.lower() in (".npz", ".npy", ".parquet", ".tsv")
