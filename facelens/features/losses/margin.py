"""Cosine classifiers with a margin: CosFace and ArcFace.

Computes    cos_j = n(x) . n(W_j);  loss = mean over the batch of -log softmax(l)_y,  l_j = s cos_j for j != y
            CosFace  l_y = s (cos_y - m)
            ArcFace  l_y = s cos(theta_y + m) while theta_y <= pi - m; further out, as `beyond` says:
                     "line"  s (cos_y - m sin m), which keeps falling where the cosine would turn back
                     "easy"  s cos_y wherever theta_y >= pi / 2 (no margin for hopeless pictures)
                     "open"  s cos(theta_y + m) all the way, which rises again beyond pi - m
Shapes      x (B, D) any length, labels (B,) int64, W (C, D) any length, cosines and logits (B, C); with `classes`
            (S,), sorted and holding every label of the batch, logits (B, S)
Reference   Wang et al., "CosFace: Large Margin Cosine Loss for Deep Face Recognition", CVPR 2018; Deng et al.,
            "ArcFace: Additive Angular Margin Loss for Deep Face Recognition", CVPR 2019; a subset of the classes as
            in An et al., "Partial FC", ICCVW 2021
Departs     sin theta = sqrt(max(1 - cos^2, 1e-12)): the root's slope is infinite at cos = +-1, where the margin now
            adds no gradient;
            vectors shorter than 1e-12 count as 0 and get no gradient (x / 1e-12 would give them one of 1e12);
            half precision is computed in float32, autocast or not;
            CosFace's m is the paper's 0.35, PRESETS has the 0.40 of insightface
"""

from __future__ import annotations

import math
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from facelens.errors import InputError
from facelens.features.losses import Terms, weighted
from facelens.progress import Tick, silent
from facelens.words import tr

SHORTEST = 1e-12
BEYOND = ("line", "easy", "open")
CHUNK = 65_536  # rows at a time where a whole training set passes through in float64


class MarginHead(nn.Module):
    """A cosine classifier; what its margin does to the cosine of the true class, `with_margin` says.

    `prototypes` (C, D) start the rows, random directions otherwise; `frozen` keeps them as they are.
    """

    def __init__(
        self,
        classes: int,
        dimensions: int,
        *,
        scale: float,
        margin: float,
        prototypes: Tensor | None = None,
        frozen: bool = False,
    ) -> None:
        super().__init__()
        self.scale, self.margin = scale, margin
        rows = torch.randn(classes, dimensions) if prototypes is None else prototypes.detach()
        if rows.shape != (classes, dimensions):
            raise ValueError(f"prototypes are {tuple(rows.shape)}, not {(classes, dimensions)}")
        rows = unit_rows(rows)
        empty = rows.square().sum(1) < 0.5
        if empty.any():  # a row of zeros has no direction and would never learn one
            raise InputError(
                tr(
                    "{n} of {total} classes have no prototype, the first is class {first}.",
                    n=int(empty.sum()),
                    total=classes,
                    first=int(empty.nonzero()[0]),
                ),
                hint=tr("Number the classes without gaps, and give each at least one picture."),
            )
        self.weight = nn.Parameter(rows.clone(), requires_grad=not frozen)

    @classmethod
    def of(cls, prototypes: Tensor, *, frozen: bool = False, **options: Any) -> Self:
        """A head that starts at given rows: another head's, or the means of classes."""
        classes, dimensions = prototypes.shape
        return cls(classes, dimensions, prototypes=prototypes, frozen=frozen, **options)

    def like(self, prototypes: Tensor, *, frozen: bool = False, **options: Any) -> Self:
        """A head of the same kind and settings at other rows; `options` go before the settings."""
        return type(self).of(prototypes, frozen=frozen, **(self.settings() | options))

    def settings(self) -> dict[str, Any]:
        return {"scale": self.scale, "margin": self.margin}

    @property
    def classes(self) -> int:
        return self.weight.shape[0]

    @property
    def dimensions(self) -> int:
        return self.weight.shape[1]

    def prototypes(self, classes: Tensor | None = None) -> Tensor:
        """The rows as unit vectors (C, D), or those of some classes."""
        return unit_rows(self.weight if classes is None else self.weight[classes])

    def cosines(self, x: Tensor, *, classes: Tensor | None = None) -> Tensor:
        rows = self.prototypes(classes)
        x = unit_rows(x)
        kind = torch.promote_types(x.dtype, rows.dtype)
        with torch.autocast(x.device.type, enabled=False):
            return x.to(kind) @ rows.to(kind).T  # (B, C)

    def with_margin(self, cosine: Tensor) -> Tensor:
        """The cosine of the true class (B,) made harder."""
        raise NotImplementedError

    def logits(self, x: Tensor, labels: Tensor | None = None, *, classes: Tensor | None = None) -> Tensor:
        """Scaled cosines; the label's with its margin where labels are given."""
        cosine = self.cosines(x, classes=classes)
        if labels is not None:
            column = (labels if classes is None else positions(labels, classes))[:, None]  # (B, 1)
            cosine = cosine.scatter(1, column, self.with_margin(cosine.gather(1, column)))
        return self.scale * cosine

    def loss(self, x: Tensor, labels: Tensor, *, classes: Tensor | None = None) -> Tensor:
        """Mean cross entropy of the batch, ()."""
        logits = self.logits(x, labels, classes=classes)
        return F.cross_entropy(logits, labels if classes is None else positions(labels, classes))

    def forward(self, x: Tensor, labels: Tensor, *, classes: Tensor | None = None) -> Terms:
        return weighted({"classification": self.loss(x, labels, classes=classes)}, {})


class CosFace(MarginHead):
    def __init__(
        self, classes: int, dimensions: int, *, scale: float = 64.0, margin: float = 0.35, **options: Any
    ) -> None:
        super().__init__(classes, dimensions, scale=scale, margin=margin, **options)

    def with_margin(self, cosine: Tensor) -> Tensor:
        return cosine - self.margin


class ArcFace(MarginHead):
    """`margin` in radians; `beyond` says what happens to angles over pi - margin."""

    def __init__(
        self,
        classes: int,
        dimensions: int,
        *,
        scale: float = 64.0,
        margin: float = 0.5,
        beyond: str = "line",
        **options: Any,
    ) -> None:
        super().__init__(classes, dimensions, scale=scale, margin=margin, **options)
        if beyond not in BEYOND:
            raise ValueError(f"beyond is one of {BEYOND}, not {beyond!r}")
        self.beyond = beyond

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"beyond": self.beyond}

    def with_margin(self, cosine: Tensor) -> Tensor:
        sine = (1 - cosine.square()).clamp_min(1e-12).sqrt()
        moved = cosine * math.cos(self.margin) - sine * math.sin(self.margin)
        if self.beyond == "easy":
            return torch.where(cosine > 0, moved, cosine)
        if self.beyond == "line":
            line = cosine - self.margin * math.sin(self.margin)
            return torch.where(cosine >= -math.cos(self.margin), moved, line)
        return moved


HEADS: dict[str, type[CosFace] | type[ArcFace]] = {"cosface": CosFace, "arcface": ArcFace}

PRESETS: dict[str, dict[str, dict[str, float]]] = {
    "paper": {"cosface": {"scale": 64.0, "margin": 0.35}, "arcface": {"scale": 64.0, "margin": 0.5}},
    "repo-compatible": {"cosface": {"scale": 64.0, "margin": 0.40}, "arcface": {"scale": 64.0, "margin": 0.5}},
}


def unit_rows(x: Tensor) -> Tensor:
    """Each row at length 1, in float32 at least; a row shorter than 1e-12 becomes 0 and has no gradient."""
    x = x.to(torch.promote_types(x.dtype, torch.float32))
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    short = length < SHORTEST
    return torch.where(short, 0.0, x / length.masked_fill(short, 1.0))


def positions(labels: Tensor, classes: Tensor) -> Tensor:
    """Where each label stands in a sorted choice of classes."""
    found = torch.searchsorted(classes, labels).clamp_max(len(classes) - 1)
    if not torch.equal(classes[found], labels):
        raise ValueError("the chosen classes lack a label of the batch")
    return found


def sample_classes(labels: Tensor, total: int, *, count: int) -> Tensor:
    """The batch's classes and random others up to `count`, sorted; all of the batch's even where they are more."""
    seen = torch.bincount(labels, minlength=total) > 0
    present, others = seen.nonzero()[:, 0], (~seen).nonzero()[:, 0]
    wanted = max(0, min(count, total) - len(present))
    drawn = torch.randperm(len(others))[:wanted].to(labels.device)  # on the CPU: the same choice on every device
    return torch.cat([present, others[drawn]]).sort().values


def class_means(
    vectors: Tensor, labels: Tensor, *, classes: int | None = None, tick: Tick = silent
) -> tuple[Tensor, Tensor]:
    """Each class's n(mean of n(vectors)) (C, D), and how many pictures it has (C,); 0 where there is none.

    Sums run in float64, so that the order of the pictures does not matter.
    """
    if classes is None:
        classes = int(labels.max()) + 1 if len(labels) else 0
    sums = torch.zeros(classes, vectors.shape[1], dtype=torch.float64, device=vectors.device)
    for start in range(0, len(vectors), CHUNK):
        tick(start, len(vectors))
        part = slice(start, start + CHUNK)
        sums.index_add_(0, labels[part], unit_rows(vectors[part]).double())
    counts = torch.bincount(labels, minlength=classes)
    kind = torch.promote_types(vectors.dtype, torch.float32)
    return unit_rows(sums).to(kind), counts
