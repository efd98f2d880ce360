"""Stability: how much one model's answer about a picture changes when the picture, or the model, is changed a little.

Computes    variance = 1 - ||(1/K) sum_k z_k||^2 over K unit vectors z_k of one picture by one model
            flip      the picture and its mirror image, K = 2
            crop      the picture and its four corners of 31/32 of each side, enlarged to the whole, K = 5
            dropout   K = 64 passes in which random numbers before the last linear layer are left out: by the network's
                      own dropout layer where it has one, else each with probability 1/2
Shapes      pictures (B, height, width, 3) uint8 -> variance (B,) float64 in [0, 1], higher is less sure
Reference   Terhörst, Kolf, Damer, Kirchbuchner, Kuijper, "SER-FIQ: Unsupervised Estimation of Face Image Quality Based
            on Stochastic Embedding Robustness", CVPR 2020 (dropout)
Departs     SER-FIQ maps the mean distance of all pairs through a sigmoid; its order is that of the variance. All
            pictures see the same K patterns, so that a value does not depend on its batch. A card's `flip`, which adds
            the mirror image, is left aside. None of this is the variance of an ensemble: that is of several models
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.features.card import Card
from facelens.features.feed import resized
from facelens.features.store import Store
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.words import tr

if TYPE_CHECKING:
    from torch import Tensor, nn

    from facelens.features.encoder import Encoded, Encoder
    from facelens.features.extract import Extraction
    from facelens.images.quarantine import Guard

Pictures = NDArray[np.uint8]

KINDS = ("flip", "crop", "dropout")
FORMAT = 1  # raise when the same picture gets another number than before
CORNER = 31, 32  # share of each side: 4 of 112 pixels are cut off
PASSES = 64
RATE = 0.5
SETTINGS: Mapping[str, tuple[object, ...]] = {"flip": (), "crop": CORNER, "dropout": (PASSES, RATE)}


def variance(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """(B,) of (B, K, D) vectors of any length; NaN where one of them is no use.

    >>> variance(np.array([[[1.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]]])).tolist()
    [0.0, 1.0]
    """
    wide = np.asarray(vectors, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (wide / np.linalg.norm(wide, axis=2, keepdims=True)).mean(1)
    found: NDArray[np.float64] = np.clip(1 - np.einsum("bd,bd->b", mean, mean), 0, 1)
    return found


class Wavering:
    """An encoder whose one dimension is the variance of several answers of another one."""

    dimensions, parts = 1, 0

    def __init__(self, encoder: Encoder, kind: str) -> None:
        """`encoder` as it comes from the library; an InputError where it cannot be asked in this way."""
        self.card: Card = encoder.card
        self._vary: Callable[[Pictures], Pictures] = {"flip": flipped, "crop": cropped}.get(kind, lambda some: some)
        if kind == "dropout":
            self.encoder = dropping(encoder)
        else:
            self.encoder = copy.copy(encoder)
            self.encoder.card = encoder.card.changed(flip=False)
        self.streams = int(getattr(encoder, "streams", 1))

    @property
    def device(self) -> object:
        """Where the network is."""
        return getattr(self.encoder, "device", "cpu")

    def use_processor(self) -> None:
        """Leave the graphics card."""
        self.encoder.use_processor()  # type: ignore[attr-defined]

    def __call__(self, pictures: Pictures, *, patches: bool = False) -> Encoded:
        """(B, 1) variances."""
        from facelens.features.encoder import Encoded

        found = self.encoder(self._vary(pictures)).vectors.reshape(len(pictures), -1, self.encoder.dimensions)
        return Encoded(variance(found).astype(np.float32)[:, None])


def flipped(pictures: Pictures) -> Pictures:
    """(2 B, ...) each picture and its mirror image."""
    return np.stack([pictures, pictures[:, :, ::-1]], 1).reshape(-1, *pictures.shape[1:])


def cropped(pictures: Pictures) -> Pictures:
    """(5 B, ...) each picture and its four corners."""
    height, width = pictures.shape[1:3]
    tall, wide = (side * CORNER[0] // CORNER[1] for side in (height, width))
    corners = [(top, left) for top in (0, height - tall) for left in (0, width - wide)]
    made = [
        [one, *(resized(np.ascontiguousarray(one[y : y + tall, x : x + wide]), (height, width)) for y, x in corners)]
        for one in pictures
    ]
    return np.array(made, np.uint8).reshape(-1, height, width, 3)


# Dropout


def dropping(encoder: Encoder) -> Encoder:
    """An encoder that gives each picture PASSES vectors, one after the other, each with other numbers left out."""
    from facelens.features.encoder import Program, TorchEncoder

    if not isinstance(encoder, TorchEncoder) or isinstance(encoder.network, Program):
        raise InputError(
            tr("Dropout needs the layers of a network; {name} is a finished program.", name=encoder.card.name),
            hint=tr("Measure flip or crop variance, or open a checkpoint of this model."),
        )
    network = copy.deepcopy(encoder.network)
    drop(network, encoder.card)
    return TorchEncoder(network, encoder.card.changed(flip=False), device=str(encoder.device))


def drop(network: nn.Module, card: Card) -> None:
    """Let numbers be left out at the last dropout layer that has a say in the embedding, else at the last linear one.

    The layer sees each row of its batch PASSES times; so does all that follows, which is little.
    """
    import torch

    chance = torch.Generator().manual_seed(0)
    device = next(network.parameters()).device
    noise = torch.randn((2, card.channels, *card.size), generator=chance).to(device)
    with torch.inference_mode():
        for layer, rate, shape in _candidates(network, noise):
            pattern = (torch.rand((PASSES, *shape), generator=chance) >= rate).float().to(device) / (1 - rate)

            def repeated(_: nn.Module, args: tuple[Any, ...], pattern: Tensor = pattern) -> tuple[Tensor]:
                return ((args[0][:, None] * pattern.to(args[0].device)).flatten(0, 1),)

            hook = layer.register_forward_pre_hook(repeated)
            try:
                found = network(noise).embedding
            except RuntimeError:  # a layer beside the main path, whose rows do not fit any more
                found = noise
            if len(found) == len(noise) * PASSES and not torch.equal(found[0], found[1]):
                return
            hook.remove()
    raise InputError(
        tr("{name} ends without a linear layer before which numbers could be left out.", name=card.name),
        hint=tr("Measure flip or crop variance."),
    )


def _candidates(network: nn.Module, batch: Tensor) -> list[tuple[nn.Module, float, tuple[int, ...]]]:
    """Layers with the rate at which numbers may be left out before them and the shape of these, the best first."""
    from torch import nn

    ran: list[tuple[nn.Module, tuple[int, ...]]] = []
    watched = [
        layer.register_forward_pre_hook(lambda layer, args: ran.append((layer, tuple(args[0].shape[1:]))))
        for layer in network.modules()
        if isinstance(layer, (nn.Linear, nn.Conv2d, nn.Dropout))
    ]
    network(batch)
    for watch in watched:
        watch.remove()
    ran.reverse()
    own = [(layer, layer.p, shape) for layer, shape in ran if isinstance(layer, nn.Dropout) and 0 < layer.p < 1]
    last = [
        (layer, RATE, shape)
        for layer, shape in ran
        if isinstance(layer, nn.Linear) or (isinstance(layer, nn.Conv2d) and shape[1:] == (1, 1) and layer.groups == 1)
    ]
    return [*own, *last]


# On disk


def _name(fingerprint: str, kind: str) -> str:
    told = ["stability", FORMAT, fingerprint, kind, *SETTINGS[kind]]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]


def store_in(kept: Store, kind: str) -> Store:
    """The store of one kind of variance, inside that of the model's vectors: both are deleted together."""
    weights, gallery = str(kept.manifest["weights"]), str(kept.manifest["gallery"])
    name = _name(kept.fingerprint, kind)
    return Store.create(kept.folder, name, card=kept.card, weights=weights, gallery=gallery, dimensions=1)


def measure(
    faces: FaceSet,
    encoder: Encoder,
    kept: Store,
    kind: str,
    *,
    batch: int = 32,
    threads: int | None = None,
    guard: Guard | None = None,
    tick: Tick = silent,
) -> Extraction:
    """Measure the variance of every face that has none in `kept`, the store of this model's vectors.

    As in `extract.embed`: pictures that cannot be read are skipped, cancelling keeps what is finished.
    """
    from facelens.features import extract

    return extract.embed(
        faces, Wavering(encoder, kind), store_in(kept, kind), batch=batch, threads=threads, guard=guard, tick=tick
    )


def read(faces: FaceSet, folder: Path) -> dict[str, NDArray[np.float32]]:
    """(N,) variances of every kind that was measured, by kind; NaN where a face has none.

    `folder` is that of the store of the model's vectors.
    """
    found = {}
    for kind in KINDS:
        try:
            kept = Store.open(folder, _name(folder.name, kind)).features(faces)
        except InputError:
            continue
        if len(kept):
            values = np.full(len(faces), np.nan, np.float32)
            values[faces.rows_of(kept.ids)] = kept.vectors[:, 0]
            found[kind] = values
    return found
