"""Kinds of training: what a batch is made into. Each is a small module that turns a batch into named terms.

A kind holds the network and whatever else learns with it (classifiers, transforms). The loop in train.py knows no more
of it than the names below; what must outlast a kill lies in parameters and buffers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from facelens.errors import InputError
from facelens.features.attributes import Head, told_apart
from facelens.features.card import Card
from facelens.features.clusters import SLICES, Partition, Phase, preset, regroup
from facelens.features.confidences import spread
from facelens.features.losses import Terms
from facelens.features.losses.attributes import Attributes as AttributeTerms
from facelens.features.losses.attributes import appended
from facelens.features.losses.compatible import BCT, L2, LCE, Cones, FrozenLCE, class_cones, pseudo_classifier
from facelens.features.losses.divided import Divided as DividedTerms
from facelens.features.losses.divided import Margin as DistanceMargin
from facelens.features.losses.ensemble import M2M, Unified
from facelens.features.losses.margin import HEADS, MarginHead, class_means, unit_rows
from facelens.features.losses.universal import MutualLikelihood
from facelens.features.losses.universal import Universal as UniversalTerms
from facelens.features.models import Output, Spec
from facelens.features.models.compatible import Compatible as BothWays
from facelens.features.models.divided import Divided as DividedNetwork
from facelens.features.models.ensemble import TRANSFORMS
from facelens.features.models.universal import Universal as UniversalNetwork
from facelens.features.recipe import (
    AggregationLoss,
    AttributesLoss,
    CompatibleLoss,
    DividedLoss,
    MarginLoss,
    Recipe,
    TransformLoss,
    UniversalLoss,
)
from facelens.features.samplers import Clustered, Sampler
from facelens.features.transforms import Transform
from facelens.progress import Tick, silent
from facelens.words import tr

_PIECE = 256  # pictures embedded at a time


class Drawn(NamedTuple):
    """A batch.

    rows        (B,) where the faces stand among all
    labels      (B,) their people, 0 ... C - 1
    pictures    (B, channels, height, width) as the network wants them, or None where only vectors are used
    variations  (B, T) 1 where a picture was given a variation, in the order of the recipe's variations
    step        which step this is
    """

    rows: Tensor
    labels: Tensor
    pictures: Tensor | None
    variations: Tensor
    step: int = 0

    def shown(self) -> Tensor:
        """The pictures of a kind that has them."""
        assert self.pictures is not None
        return self.pictures


class Mined(NamedTuple):
    """What an attribute network sees: attributes by name, (N, A) how likely each is on every picture."""

    names: tuple[str, ...]
    labels: NDArray[np.float32]


@dataclass(frozen=True)
class Work:
    """What a kind is made of.

    codes       (N,) people, 0 ... C - 1, -1 = not trained on
    frozen      file -> (N, D) vectors of all rows by a model that does not learn; NaN where it has none
    begun       file -> a network that was trained before, with its card
    pictures    rows -> (B, channels, height, width) as they are, nothing done to them
    attributes  rules by name -> (N, A) 1 where a rule holds, 0 where it does not, NaN = not known
    mined       file -> what an attribute network sees
    """

    recipe: Recipe
    spec: Spec
    codes: NDArray[np.int32]
    sampler: Sampler
    frozen: Callable[[str], NDArray[np.float32]]
    begun: Callable[[str], tuple[nn.Module, Card]]
    pictures: Callable[[NDArray[np.int64]], Tensor]
    attributes: Callable[[Mapping[str, str]], NDArray[np.float32]]
    mined: Callable[[str], Mined]
    tick: Tick = silent

    @property
    def classes(self) -> int:
        """C."""
        return int(self.codes.max()) + 1

    @property
    def dimensions(self) -> int:
        """D of the network that learns."""
        return self.spec.card.dimensions

    def needed(self, which: str) -> str:
        """A model file that the recipe cannot do without."""
        file: str = getattr(self.recipe.models, which)
        if not file:
            raise InputError(
                tr("This recipe needs a model: models.{which}.", which=which),
                hint=tr("Add --set models.{which}=FILE.", which=which),
            )
        return file

    def network(self, *, may_lack: str = "") -> nn.Module:
        """The recipe's network, new or with the weights it starts from, which may lack a new part, or be of the
        backbone alone."""
        start = self.recipe.models.start
        made = self.spec.build()
        if start:
            found, _ = self.begun(start)
            bare = hasattr(made, "backbone") and not hasattr(found, "backbone")
            into = made.get_submodule("backbone") if bare else made
            try:
                missing, unexpected = into.load_state_dict(found.state_dict(), strict=False)
                lacking = [name for name in missing if not may_lack or not name.startswith(may_lack)]
                details = ", ".join([*lacking, *unexpected])
            except RuntimeError as error:
                details = str(error)
            if details:
                raise InputError(
                    tr("The weights to start from do not fit the recipe's network."),
                    hint=tr("Give network.architecture and network.options as in the card of that model."),
                    details=details,
                )
        return made

    def head(self, loss: MarginLoss | CompatibleLoss, *, start: Tensor | None = None) -> MarginHead:
        """A classifier of the people who are trained on."""
        made = HEADS[loss.head]
        return made(self.classes, self.dimensions, scale=loss.scale, margin=loss.margin, prototypes=start)

    def labelled(self, vectors: NDArray[np.float32]) -> tuple[Tensor, Tensor]:
        """Vectors (n, D) and people (n,) of those who are trained on."""
        rows = np.flatnonzero(self.codes >= 0)
        return torch.from_numpy(vectors[rows]), torch.from_numpy(self.codes[rows].astype(np.int64))

    def means(self, vectors: NDArray[np.float32]) -> Tensor:
        """(C, D) the mean direction of each person."""
        return class_means(*self.labelled(vectors), classes=self.classes)[0]


class Kind(nn.Module):
    """`parts` are trained one after the other in each step, each by an optimiser of its own."""

    parts: tuple[str, ...] = ("loss",)
    pictures: ClassVar[bool] = True  # whether batches need pictures
    watches: ClassVar[bool] = False  # whether a few faces are looked at with each validation, see `watched`
    multiples: Mapping[str, float] = MappingProxyType({})  # of the learning rate, for groups of `learning`
    network: nn.Module

    def forward(self, batch: Drawn, part: str = "loss") -> Terms:
        """The terms that `part` makes smaller."""
        raise NotImplementedError

    def learning(self, part: str) -> dict[str, list[nn.Parameter]]:
        """What `part` changes: the network, and what learns beside it."""
        inside = {id(one) for one in self.network.parameters()}
        alive = [one for one in self.parameters() if one.requires_grad]
        return {
            "network": [one for one in alive if id(one) in inside],
            "beside": [one for one in alive if id(one) not in inside],
        }

    def turn(self, step: int, steps: int) -> None:
        """Called before every step, for what happens now and then."""

    def restored(self, step: int, steps: int) -> None:
        """Called when parameters and buffers are back from disk and `step` comes next."""

    def facts(self) -> dict[str, Any]:
        """What else is worth a place in the row of history that is being written."""
        return {}

    def watched(self, clean: Drawn, varied: Drawn) -> dict[str, Any]:
        """Facts about the same few faces, as they are and with one variation each, for the row of a validation."""
        return {}

    def compared(self, batch: Drawn) -> dict[str, tuple[Tensor, Tensor]]:
        """Vectors to look for and vectors to look among, (B, D) each, for validation; "" is the model with itself."""
        embedding: Tensor = self.network(batch.shown()).embedding
        return {"": (embedding, embedding)}

    def judged(self, batch: Drawn) -> dict[str, tuple[Tensor, Tensor]]:
        """What is said of each face, and what is right, by name; (B,) each, 0 or 1, NaN = not known; for validation."""
        return {}

    def options(self) -> dict[str, Any]:
        """Options of the network that training has changed, for its card."""
        return {}

    def accompanying(self) -> tuple[dict[str, Tensor], dict[str, str]]:
        """Tensors and words that are written into the network's file beside it."""
        return {}, {}

    def transforms(self) -> dict[str, Transform]:
        """Transforms that are written beside the network, by name."""
        return {}


class Margin(Kind):
    """CosFace or ArcFace; from weights that are there already, the classifier starts at the people's means."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        assert isinstance(work.recipe.loss, MarginLoss)
        self.network = work.network()
        start = work.recipe.models.start
        self.head = work.head(work.recipe.loss, start=work.means(work.frozen(start)) if start else None)

    def forward(self, batch: Drawn, part: str = "loss") -> Terms:
        terms: Terms = self.head(self.network(batch.shown()).embedding, batch.labels)
        return terms


class Universal(Kind):
    """Sub-embeddings with confidences; a discriminator learns to tell variations apart, the network to hide them.

    Variations are those that were done to the picture, then those that an attribute network has found on it.
    """

    watches = True
    mined: Tensor

    def __init__(self, work: Work) -> None:
        super().__init__()
        loss = work.recipe.loss
        assert isinstance(loss, UniversalLoss)
        self._variations = tuple(work.recipe.augment.variations)
        self._confidence: Tensor | None = None  # of the last batch
        self.network = work.network()
        if not isinstance(self.network, UniversalNetwork):
            raise _other_network("universal")
        self.multiples = {"confidence": loss.confidence_rate}
        found = Mined((), np.zeros((len(work.codes), 0), np.float32))
        if work.recipe.models.attributes:
            found = work.mined(work.recipe.models.attributes)
        self.register_buffer("mined", torch.from_numpy(found.labels), persistent=False)  # (N, A)
        counts = (found.labels[work.codes >= 0] > 0.5).sum(0)  # (A,)
        self._counts = {name: int(n) for name, n in zip(found.names, counts)}
        variations = len(work.recipe.augment.variations) + len(found.names)
        if variations:
            self.parts = ("discriminator", "loss")
        self.loss = UniversalTerms(
            work.dimensions,
            work.classes,
            parts=self.network.parts,
            variations=variations,
            margin=loss.margin,
            weights={name: getattr(loss, name) for name in ("regulariser", "classification", "adversarial")},
            seed=work.recipe.seed,
        )
        self._seen: tuple[int, Output] | None = None  # of the first part, for the second

    def forward(self, batch: Drawn, part: str = "loss") -> Terms:
        if self._seen is None or self._seen[0] != batch.step or part == self.parts[0]:
            self._seen = batch.step, self.network(batch.shown())
        out = self._seen[1]
        variations = appended(batch.variations, self.mined[batch.rows])
        if part == "discriminator":
            told: Terms = self.loss.discriminate(out.embedding, variations)
            return told
        self._seen = None
        assert out.confidence is not None
        self._confidence = out.confidence.detach()
        terms: Terms = self.loss(out.embedding, out.confidence, batch.labels, variations)
        return terms

    def learning(self, part: str) -> dict[str, list[nn.Parameter]]:
        if part == "discriminator":
            return {"beside": list(self.loss.discriminator_parameters())}
        named = dict(self.network.named_parameters())
        sure = [name for name in named if name.startswith("confidence.")]
        rest = [one for name, one in named.items() if name not in sure and one.requires_grad]
        beside = list(self.loss.own_parameters())
        return {"network": rest, "confidence": [named[name] for name in sure], "beside": beside}

    def facts(self) -> dict[str, Any]:
        return {**_spread(self._confidence), **({"mined": self._counts} if self._counts else {})}

    def watched(self, clean: Drawn, varied: Drawn) -> dict[str, Any]:
        return _confidences(self.network, clean, varied, self._variations)


class Attributes(Kind):
    """What is on a picture and not who: the network learns attributes, and to hide who it is from a discriminator."""

    parts = ("discriminator", "loss")
    wanted: Tensor

    def __init__(self, work: Work) -> None:
        super().__init__()
        loss = work.recipe.loss
        assert isinstance(loss, AttributesLoss)
        self.names = tuple(loss.attributes)
        labels = work.attributes(loss.attributes)
        told_apart(loss.attributes, labels[work.codes >= 0])
        self.register_buffer("wanted", torch.from_numpy(labels), persistent=False)  # (N, A)
        self.network = work.network()
        weights = {"adversarial": loss.adversarial}
        self.loss = AttributeTerms(work.dimensions, len(self.names), identities=work.classes, weights=weights)
        self._seen: Tensor | None = None  # of the first part, for the second

    def forward(self, batch: Drawn, part: str = "loss") -> Terms:
        if part == "discriminator":
            self._seen = self.network(batch.shown()).embedding
            told: Terms = self.loss.discriminate(self._seen, batch.labels)
            return told
        assert self._seen is not None
        features, self._seen = self._seen, None
        terms: Terms = self.loss(features, self.wanted[batch.rows])
        return terms

    def learning(self, part: str) -> dict[str, list[nn.Parameter]]:
        if part == "discriminator":
            return {"beside": list(self.loss.discriminator_parameters())}
        return {"network": list(self.network.parameters()), "beside": list(self.loss.own_parameters())}

    def compared(self, batch: Drawn) -> dict[str, tuple[Tensor, Tensor]]:
        return {}  # people are what it is to hide

    def judged(self, batch: Drawn) -> dict[str, tuple[Tensor, Tensor]]:
        said = (self.loss.classifier(self.network(batch.shown()).embedding) > 0).float()  # (B, A)
        return dict(zip(self.names, zip(said.T, self.wanted[batch.rows].T)))

    def accompanying(self) -> tuple[dict[str, Tensor], dict[str, str]]:
        head = self.loss.classifier
        return {Head.WEIGHT: head.weight, Head.BIAS: head.bias}, {Head.NAMES: json.dumps(self.names)}


class Aggregation(Kind):
    """Only the uncertainty head of a trained network learns, from pictures of the same person."""

    watches = True

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._variations = tuple(work.recipe.augment.variations)
        self._confidence: Tensor | None = None  # of the last batch
        work.needed("start")
        self.network = work.network(may_lack="uncertainty.")
        if not isinstance(self.network, UniversalNetwork):
            raise _other_network("universal")
        self.network.calibrate()
        self.loss = MutualLikelihood(parts=self.network.parts)
        self._work = work

    def turn(self, step: int, steps: int) -> None:
        loss = self._work.recipe.loss
        assert isinstance(loss, AggregationLoss)
        if step == 0 and loss.shift == "measured":
            self._measure()

    def _measure(self) -> None:
        """Start the shared shift where the genuine pairs of the first batch ask for it."""
        assert isinstance(self.network, UniversalNetwork) and self.network.uncertainty is not None
        rows = self._work.sampler.rows(0)
        self.eval()
        with torch.no_grad():
            vectors = self.network(self._work.pictures(rows)).embedding
            labels = torch.from_numpy(self._work.codes[rows]).to(vectors.device)
            self.network.uncertainty.shift.fill_(self.loss.level(vectors, labels))

    def forward(self, batch: Drawn, part: str = "loss") -> Terms:
        out: Output = self.network(batch.shown())
        assert out.confidence is not None
        self._confidence = out.confidence.detach()
        terms: Terms = self.loss(out.embedding, out.confidence, batch.labels)
        return terms

    def facts(self) -> dict[str, Any]:
        return _spread(self._confidence)

    def watched(self, clean: Drawn, varied: Drawn) -> dict[str, Any]:
        return _confidences(self.network, clean, varied, self._variations)


class Divided(Kind):
    """K learners on slices of the embedding, each with its own cluster of the data; at the end all on everything."""

    partition: Tensor

    def __init__(self, work: Work) -> None:
        super().__init__()
        loss = work.recipe.loss
        assert isinstance(loss, DividedLoss) and isinstance(work.sampler, Clustered)
        self.network = work.network()
        if not isinstance(self.network, DividedNetwork):
            raise _other_network("divided")
        self._work, self._settings, self._sampler = work, loss, work.sampler
        self._division = preset(loss.preset, learners=self.network.learners, seed=work.recipe.seed)
        margin = DistanceMargin(sampler=self._division.sampler, alpha=loss.alpha, beta=loss.beta)
        self.loss = DividedTerms(work.dimensions, learners=self.network.learners, margin=margin)
        self.register_buffer("partition", torch.full((len(work.codes),), -1, dtype=torch.int64))
        self._phase: Phase = SLICES
        self._facts: dict[str, Any] = {}

    def train(self, mode: bool = True) -> Divided:
        super().train(mode)
        if self._settings.freeze_norms:
            for part in self.network.modules():
                if isinstance(part, nn.modules.batchnorm._BatchNorm):
                    part.eval()
        return self

    def turn(self, step: int, steps: int) -> None:
        self._set_phase(step, steps)
        epoch, place = divmod(step, self._sampler.epoch)
        if place == 0 and self._phase.clusters and epoch % self._division.every == 0:
            self._regroup()

    def restored(self, step: int, steps: int) -> None:
        self._set_phase(step, steps)
        if self._phase.clusters and bool((self.partition >= 0).any()):
            self._sampler.divide(self.partition.cpu().numpy(), clusters=self._division.learners)

    def forward(self, batch: Drawn, part: str = "loss") -> Terms:
        learner = self._sampler.cluster(batch.step) if self._phase.slices else None
        terms: Terms = self.loss(self.network(batch.shown()).embedding, batch.labels, learner)
        return terms

    def facts(self) -> dict[str, Any]:
        return {"phase": self._phase.name, **self._facts}

    def options(self) -> dict[str, Any]:
        assert isinstance(self.network, DividedNetwork)
        return {"whole": True} if self.network.whole else {}

    def _set_phase(self, step: int, steps: int) -> None:
        """The division as it would be with the epochs of this training."""
        epochs = math.ceil(steps / self._sampler.epoch)
        division = preset(
            self._settings.preset,
            learners=self._division.learners,
            every=self._settings.every,
            epochs=epochs,
            merge_from=round(epochs * self._settings.merge),
            seed=self._division.seed,
        )
        self._division = division
        before, self._phase = self._phase, division.phase(step // self._sampler.epoch)
        assert isinstance(self.network, DividedNetwork)
        self.network.whole = not self._phase.slices
        if not self._phase.clusters and before.clusters:
            self._sampler.divide(np.zeros(len(self.partition), np.int64), clusters=1)

    def _regroup(self) -> None:
        rows = np.flatnonzero(self._work.codes >= 0)
        before = self.partition.cpu().numpy()[rows].astype(np.int32)
        previous = None
        if (before >= 0).all():
            previous = Partition(before, np.ones(len(rows), bool), self._division.learners)
        found = regroup(
            self._vectors(rows),
            self._work.codes[rows],
            division=self._division,
            previous=previous,
            tick=self._work.tick,
        )
        self.partition[torch.from_numpy(rows)] = torch.from_numpy(found.learner.astype(np.int64)).to(
            self.partition.device
        )
        self._sampler.divide(self.partition.cpu().numpy(), clusters=self._division.learners)
        self._facts = {"sizes": found.sizes.tolist(), "stability": found.stability, "kept": found.kept}

    def _vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        self.eval()
        parts = []
        with torch.inference_mode():
            for start in range(0, len(rows), _PIECE):
                out: Output = self.network(self._work.pictures(rows[start : start + _PIECE]))
                deep = self._division.source == "penultimate" and out.patches is not None
                vectors = out.patches.mean((2, 3)) if deep and out.patches is not None else out.embedding
                parts.append(vectors.float().cpu().numpy())
        return np.concatenate(parts)


class Compatible(Kind):
    """A new model whose vectors can be compared with the old one's: LCE, BCT or L2."""

    old: Tensor

    def __init__(self, work: Work) -> None:
        super().__init__()
        loss = work.recipe.loss
        assert isinstance(loss, CompatibleLoss)
        self._settings = loss
        vectors = work.frozen(work.needed("old"))
        self.network = work.network()
        self.register_buffer("old", torch.from_numpy(vectors), persistent=False)  # (N, d1)
        self.maps = None
        if loss.transform != "none":
            self.maps = _both_ways(loss, vectors.shape[1], work.dimensions)
        old, labels = work.labelled(vectors)
        self.loss: nn.Module
        if loss.method == "lce":
            cones = class_cones(old, labels, classes=work.classes, tick=work.tick)
            self.loss = LCE(
                cones,
                work.head(loss, start=_aligned_start(cones, self.maps, work.dimensions)),
                transforms=self.maps,
                alignment_weight=loss.align,
                boundary_weight=loss.boundary,
                slack=loss.slack,
                scaling=loss.scaling,
            )
            return
        head = work.head(loss)
        if loss.method == "bct":
            rows = pseudo_classifier(old, labels, classes=work.classes, tick=work.tick)
            self.loss = BCT.of_prototypes(head, rows, weight=loss.weight)
        else:
            if self.maps is None and vectors.shape[1] != work.dimensions:
                raise InputError(
                    tr(
                        "The old model has {old} dimensions, the new one {new}: they cannot be compared directly.",
                        old=vectors.shape[1],
                        new=work.dimensions,
                    ),
                    hint=tr("Train with transforms."),
                )
            self.loss = L2(head, transforms=self.maps, weight=loss.weight)

    def forward(self, batch: Drawn, part: str = "loss") -> Terms:
        new = self.network(batch.shown()).embedding
        further = {"old": self.old[batch.rows]} if self._settings.method == "l2" else {}
        terms: Terms = self.loss(new, batch.labels, **further)
        return terms

    def compared(self, batch: Drawn) -> dict[str, tuple[Tensor, Tensor]]:
        new, old = self.network(batch.shown()).embedding, self.old[batch.rows]
        if self.maps is not None:
            ways = ("backward", "forward")
            return {"": (new, new), **{way: self.maps(new, old, direction=way) for way in ways}}
        both = min(new.shape[1], old.shape[1])  # bct: a longer vector starts with what is comparable
        return {"": (new, new), "direct": (new[:, :both], old[:, :both])}

    def transforms(self) -> dict[str, Transform]:
        return {} if self.maps is None else _written_both(self.maps, self._settings)


class Mapped(Kind):
    """Transforms between models that are there already; they learn from vectors alone."""

    pictures = False
    first: Tensor
    second: Tensor

    def __init__(self, work: Work) -> None:
        super().__init__()
        loss = work.recipe.loss
        assert isinstance(loss, TransformLoss)
        self._settings = loss
        names = ("new", "old") if loss.mode == "lce" else ("gallery", "query")
        first, second = (work.frozen(work.needed(name)) for name in names)
        for name, vectors in (("first", first), ("second", second)):
            self.register_buffer(name, torch.from_numpy(vectors), persistent=False)
        sides = first.shape[1], second.shape[1]
        self.loss: nn.Module
        if loss.mode == "lce":
            both = self.network = _both_ways(loss, sides[1], sides[0])
            cones = class_cones(*work.labelled(second), classes=work.classes, tick=work.tick)
            self.loss = FrozenLCE(
                cones,
                work.means(first),
                transforms=both,
                alignment_weight=loss.align,
                boundary_weight=loss.boundary,
                slack=loss.slack,
            )
            return
        ends = ("gallery",) if loss.mode == "m2m" else ("gallery", "query")
        self.network = nn.ModuleDict({end: _one_way(loss, sides[end == "query"], sides[1]) for end in ends})
        options: dict[str, Any] = {
            "head": {"scale": loss.scale, "margin": loss.margin},
            "similarity_weight": loss.similarity,
            "kl_weight": loss.divergence,
            "dual_weight": loss.classification,
            "temperature": loss.temperature,
            "kl_direction": {"query": "q->g", "gallery": "g->q", "both": "symmetric"}[loss.direction],
        }
        if loss.mode == "m2m":
            self.loss = M2M.of_prototypes(work.means(second), **options)
        else:  # transforms of equal dimensions start as they are, so the query model's means are the mapped means
            self.loss = Unified.of_vectors(*work.labelled(second), **options)

    def forward(self, batch: Drawn, part: str = "loss") -> Terms:
        if self._settings.mode == "lce":
            terms: Terms = self.loss(self.first[batch.rows], batch.labels)
            return terms
        mapped: Terms = self.loss(*self._mapped(batch), labels=batch.labels)
        return mapped

    def compared(self, batch: Drawn) -> dict[str, tuple[Tensor, Tensor]]:
        if self._settings.mode == "lce":
            sides = self.first[batch.rows], self.second[batch.rows]
            return {way: self.network(*sides, direction=way) for way in ("backward", "forward")}
        gallery, query = self._mapped(batch)
        return {"cross": (query, gallery), "query": (query, query)}

    def transforms(self) -> dict[str, Transform]:
        if isinstance(self.network, BothWays):
            return _written_both(self.network, self._settings)
        assert isinstance(self.network, nn.ModuleDict)
        sides = {"gallery": self.first.shape[1], "query": self.second.shape[1]}
        options = _options(self._settings)
        return {
            name: Transform(self._settings.transform, sides[name], self.second.shape[1], options, module)
            for name, module in self.network.items()
        }

    def _mapped(self, batch: Drawn) -> tuple[Tensor, Tensor]:
        assert isinstance(self.network, nn.ModuleDict)
        sides = {"gallery": unit_rows(self.first[batch.rows]), "query": unit_rows(self.second[batch.rows])}
        for name, transform in self.network.items():
            sides[name] = transform(sides[name])
        return sides["gallery"], sides["query"]


def _aligned_start(cones: Cones, maps: BothWays | None, dimensions: int) -> Tensor | None:
    """Where the new classifier starts: at the old centres, brought into the new space; None where the spaces differ,
    which the loss will refuse."""
    if maps is None and cones.centres.shape[1] != dimensions:
        return None
    with torch.no_grad():
        rows = cones.centres if maps is None else maps.eval().old_to_new(cones.centres)
        if maps is not None:
            maps.train()
        return torch.where(cones.known[:, None], rows, torch.randn_like(rows))


def _options(loss: CompatibleLoss | TransformLoss) -> dict[str, Any]:
    if loss.transform == "linear":
        return {}
    skip = {"linear_skip": True} if isinstance(loss, TransformLoss) and loss.linear_skip else {}
    return {"hidden": loss.hidden, **skip}


def _one_way(loss: TransformLoss, width_in: int, width: int) -> nn.Module:
    return TRANSFORMS[loss.transform](width_in, width, **_options(loss))


def _both_ways(loss: CompatibleLoss | TransformLoss, old: int, new: int) -> BothWays:
    return BothWays(old, new, kind=loss.transform, **_options(loss))


def _written_both(maps: BothWays, loss: CompatibleLoss | TransformLoss) -> dict[str, Transform]:
    old, new, options = maps.old_dimensions, maps.new_dimensions, _options(loss)
    return {
        "old_to_new": Transform(loss.transform, old, new, options, maps.old_to_new),
        "new_to_old": Transform(loss.transform, new, old, options, maps.new_to_old),
    }


def _confidences(network: nn.Module, clean: Drawn, varied: Drawn, variations: tuple[str, ...]) -> dict[str, Any]:
    """How sure each part is of faces as they are, and of those with each variation."""
    sure = network(clean.shown()).confidence.float().cpu().numpy()
    groups = {"clean": sure}
    if variations:
        found, which = network(varied.shown()).confidence.float().cpu().numpy(), varied.variations.cpu().numpy() > 0
        groups |= {name: found[which[:, place]] for place, name in enumerate(variations)}
    return {"confidences": spread(groups)}


def _spread(confidence: Tensor | None) -> dict[str, Any]:
    """For each part the confidences of the batch: lowest, quartiles, highest."""
    if confidence is None:
        return {}
    marks = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0], device=confidence.device)
    found: list[list[float]] = torch.quantile(confidence.float(), marks, dim=0).T.tolist()
    return {"confidence": [[round(value, 4) for value in part] for part in found]}


def _other_network(name: str) -> InputError:
    return InputError(
        tr("This kind of training needs the network {name}.", name=name),
        hint=tr('Set network.architecture to "{name}" and its backbone in network.options.', name=name),
    )


KINDS: dict[str, Callable[[Work], Kind]] = {
    "margin": Margin,
    "universal": Universal,
    "attributes": Attributes,
    "aggregation": Aggregation,
    "divided": Divided,
    "compatible": Compatible,
    "transform": Mapped,
}
