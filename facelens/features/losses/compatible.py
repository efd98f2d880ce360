"""What trains an upgrade: new vectors that can be compared with the vectors an old model has stored.

Computes    for class j, from the old model on the new training set:
            w1_j = n(mean of n(f1_i)),  cosb_j = min over i in j of n(f1_i) . w1_j   (its cone)
            LCE    alignment, direct       1/(n d) sum_j ||n(w2_j) - w1_j||^2
                   alignment, transformed  1/2 [1/(n d2) sum_j ||n(w2_j) - T12(w1_j)||^2
                                                + 1/(n d1) sum_j ||T21(n(w2_j)) - w1_j||^2]
                   boundary                mean of max(0, cosb_y - delta - cos(T21(n(f2)), w1_y)); direct: T21(x) = x
                   total                   classification + 100 alignment + 1 boundary
                   between frozen models   w2_j = class means of the new model, no classification; T12, T21 learn
            BCT    classification(f2; W2) + 1 classification(f2[:d1]; W_old fixed)
            L2     classification + 1 mean of ||n(f2) - n(f1)||^2; transformed: 1/2 [||n(T21(n(f2))) - n(f1)||^2
                   + ||n(f2) - n(T12(n(f1)))||^2]
            upper  classification alone
Shapes      f1 (B, d1), f2 (B, d2) any length; labels (B,) int64; w1 (C, d1) unit; cosb (C,); w2 (C, d2) the rows of
            the new model's cosine classifier
Reference   Meng, Zhang, Xu, Zhou, "Learning Compatible Embeddings", ICCV 2021 (LCE; its code for the element means
            and lambdas); Shen, Xiong, Xia, Soatto, "Towards Backward-Compatible Representation Learning", CVPR 2020
            (BCT)
Departs     LCE: f2 and T21(f2) are normalised before the cosine. The authors' code only clamps the product to
            [-1, 1], which is 1 for nearly every picture and has no gradient there; it also leaves the transforms out
            of the optimiser. Neither is offered. The new classifier should start at the old centres: from random
            directions the alignment, divided by n d, needs far more steps than the rest. Classes without a direction
            (no picture, or vectors that cancel) take no part;
            BCT "repo-compatible" (MixBCT): plain cosines in the old head, no scale, no margin: a weak gradient;
            L2 "repo-compatible" (openBCT): no classification, the longer vector cut to the shorter, mean over
            elements instead of the sum (1/d of it)
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from facelens.errors import InputError
from facelens.features.losses import Terms, weighted
from facelens.features.losses.margin import CHUNK, MarginHead, class_means, sample_classes, unit_rows
from facelens.features.models.compatible import Compatible
from facelens.progress import Tick, silent
from facelens.words import tr

PRESETS = ("paper", "repo-compatible")
MANY = 100_000  # classes aligned in one step at most


class Cones(NamedTuple):
    """Where the old model puts each class.

    centres     (C, d1) unit, float32 or float64 as given; 0 for a class without a direction
    boundaries  (C,) cosine of the widest angle to the centre; -1 for a class without a direction
    counts      (C,) pictures
    """

    centres: Tensor
    boundaries: Tensor
    counts: Tensor

    @property
    def known(self) -> Tensor:
        """(C,) bool: classes that have a centre."""
        return self.centres.square().sum(1) > 0.5

    @property
    def usable(self) -> Tensor:
        """(C,) bool: classes whose cone is wider than a point, which takes two different pictures."""
        return self.known & (self.counts > 1) & (self.boundaries < 1 - 1e-6)


def class_cones(vectors: Tensor, labels: Tensor, *, classes: int | None = None, tick: Tick = silent) -> Cones:
    """The old model's cones over the new training set.

    The authors add each picture's vector to that of its mirror image first; give such sums to do the same.
    """
    centres, counts = class_means(vectors, labels, classes=classes, tick=tick)
    boundaries = torch.ones(len(centres), dtype=centres.dtype, device=centres.device)
    for start in range(0, len(vectors), CHUNK):
        tick(start, len(vectors))
        part = slice(start, start + CHUNK)
        cosine = (unit_rows(vectors[part]) * centres[labels[part]]).sum(1)  # (B,)
        boundaries.scatter_reduce_(0, labels[part], cosine, "amin")
    cones = Cones(centres, boundaries, counts)
    return cones._replace(boundaries=boundaries.masked_fill(~cones.known, -1.0))


def alignment(new: Tensor, old: Tensor, *, transforms: Compatible | None = None, scaling: str = "element") -> Tensor:
    """Mean squared distance of the new centres (n, d2) from the old (n, d1), ().

    scaling "element" divides by n d, so that a class weighs 1/d of its distance; "class" divides by n alone.
    No classes give 0.
    """
    if scaling not in ("element", "class"):
        raise ValueError(f"scaling is element or class, not {scaling!r}")
    new, old = unit_rows(new), unit_rows(old)
    if transforms is None:
        return _distance(new, old, scaling=scaling)
    forward = _distance(new, _through(transforms.old_to_new, old), scaling=scaling)
    backward = _distance(_through(transforms.new_to_old, new), old, scaling=scaling)
    return (forward + backward) / 2


def boundary(
    new: Tensor, labels: Tensor, *, cones: Cones, transforms: Compatible | None = None, slack: float = 0.0
) -> Tensor:
    """How far new vectors (B, d2) lie outside the old cone of their class, as a cosine, mean of the batch, ().

    `slack` lowers each boundary: useful where the new model is weaker than the old.
    """
    x = unit_rows(new)
    if transforms is not None:
        x = unit_rows(_through(transforms.new_to_old, x))
    cosine = (x * cones.centres[labels]).sum(1)  # (B,)
    return (cones.boundaries[labels] - slack - cosine).clamp_min(0).mean()


def point_distance(a: Tensor, b: Tensor) -> Tensor:
    """Mean squared distance of unit vectors, (): 2 - 2 mean cosine."""
    return (unit_rows(a) - unit_rows(b)).square().sum(1).mean()


class _Aligned(nn.Module):
    """The two terms of LCE, with cones that never change.

    slack goes to `boundary`, scaling to `alignment`. Over `sampled` classes, a step aligns the batch's and some
    random others.
    """

    centres: Tensor
    boundaries: Tensor
    counts: Tensor
    aligned: Tensor

    def __init__(
        self,
        cones: Cones,
        *,
        transforms: Compatible | None,
        alignment_weight: float = 100.0,
        boundary_weight: float = 1.0,
        slack: float = 0.0,
        scaling: str = "element",
        sampled: int = MANY,
    ) -> None:
        super().__init__()
        for name, value in cones._asdict().items():
            # Not saved: they follow from the old model and the data, and can be larger than the network.
            self.register_buffer(name, value.detach().clone(), persistent=False)
        self.register_buffer("aligned", cones.known, persistent=False)  # (C,) classes with a direction on both sides
        self.transforms = transforms
        self.weights = {"alignment": alignment_weight, "boundary": boundary_weight}
        self.slack, self.scaling, self.sampled = slack, scaling, sampled

    @property
    def cones(self) -> Cones:
        return Cones(self.centres, self.boundaries, self.counts)

    def terms(self, new: Tensor, labels: Tensor, *, rows: Tensor) -> dict[str, Tensor]:
        cones = self.cones
        chosen = self.aligned.nonzero()[:, 0]
        if len(cones.centres) > self.sampled:
            chosen = sample_classes(labels, len(cones.centres), count=self.sampled)
            chosen = chosen[self.aligned[chosen]]
        return {
            "alignment": alignment(
                rows[chosen], cones.centres[chosen], transforms=self.transforms, scaling=self.scaling
            ),
            "boundary": boundary(new, labels, cones=cones, transforms=self.transforms, slack=self.slack),
        }


class LCE(_Aligned):
    """A new model in training: its classes aligned with the old centres, its vectors inside the old cones.

    `transforms` and `head` learn with the model: both are among this module's parameters.
    """

    def __init__(self, cones: Cones, head: MarginHead, *, transforms: Compatible | None = None, **options: Any) -> None:
        _check_spaces(cones.centres.shape[1], head.dimensions, transforms)
        _check_classes(len(cones.centres), head.classes)
        super().__init__(cones, transforms=transforms, **options)
        self.head = head

    def forward(self, new: Tensor, labels: Tensor, *, classes: Tensor | None = None) -> Terms:
        terms = {"classification": self.head.loss(new, labels, classes=classes)}
        return weighted(terms | self.terms(new, labels, rows=self.head.weight), self.weights)


class FrozenLCE(_Aligned):
    """Two finished models: only the transforms between them learn. `new_centres` (C, d2) are the new class means."""

    new_centres: Tensor

    def __init__(self, cones: Cones, new_centres: Tensor, *, transforms: Compatible, **options: Any) -> None:
        _check_spaces(cones.centres.shape[1], new_centres.shape[1], transforms)
        _check_classes(len(cones.centres), len(new_centres))
        super().__init__(cones, transforms=transforms, **options)
        self.register_buffer("new_centres", unit_rows(new_centres.detach()).clone(), persistent=False)
        self.aligned &= self.new_centres.square().sum(1) > 0.5

    def forward(self, new: Tensor, labels: Tensor) -> Terms:
        return weighted(self.terms(new.detach(), labels, rows=self.new_centres), self.weights)


class BCT(nn.Module):
    """A new model that also satisfies the old classifier, which is fixed; both compare directly.

    `old_head` has a row for each new class (see `pseudo_classifier`); use a scale of at least 16. A new model with
    more dimensions is compared by its first d1; fewer are refused.
    """

    def __init__(self, head: MarginHead, old_head: MarginHead, *, weight: float = 1.0) -> None:
        super().__init__()
        if head.dimensions < old_head.dimensions:
            raise InputError(
                tr(
                    "The old model has {old} dimensions, the new one {new}: BCT cannot make vectors shorter.",
                    old=old_head.dimensions,
                    new=head.dimensions,
                ),
                hint=tr("Use LCE with transforms, or a new model with as many dimensions."),
            )
        _check_classes(old_head.classes, head.classes)
        self.head, self.old_head = head, old_head
        self.old_head.requires_grad_(False)
        self.weights = {"compatibility": weight}

    @classmethod
    def of_prototypes(
        cls, head: MarginHead, prototypes: Tensor, *, weight: float = 1.0, preset: str = "paper", **options: Any
    ) -> Self:
        """The old classifier from its rows (C, d1): a head of the new one's kind and settings.

        "repo-compatible" takes plain cosines, scale 1 and no margin. `options` go before either.
        """
        plain = {"scale": 1.0, "margin": 0.0} if _known(preset) == "repo-compatible" else {}
        return cls(head, head.like(prototypes, frozen=True, **(plain | options)), weight=weight)

    def forward(self, new: Tensor, labels: Tensor, *, classes: Tensor | None = None) -> Terms:
        terms = {
            "classification": self.head.loss(new, labels, classes=classes),
            "compatibility": self.old_head.loss(new[:, : self.old_head.dimensions], labels, classes=classes),
        }
        return weighted(terms, self.weights)


def pseudo_classifier(
    vectors: Tensor,
    labels: Tensor,
    *,
    classes: int | None = None,
    old_rows: Tensor | None = None,
    old_labels: Tensor | None = None,
    tick: Tick = silent,
) -> Tensor:
    """Rows of an old classifier for the new classes, (C, d1) unit: the mean of the old model's vectors of a class.

    Where the old classifier itself is at hand, `old_rows` (K, d1) replace the means: row k is new class
    `old_labels[k]`, or is dropped where that is -1.
    """
    rows, _ = class_means(vectors, labels, classes=classes, tick=tick)
    if old_rows is not None and old_labels is not None:
        kept = old_labels >= 0
        rows[old_labels[kept]] = unit_rows(old_rows[kept]).to(rows.dtype)
    return rows


class L2(nn.Module):
    """A new model whose vector of every picture comes near the old model's vector of it.

    Without a head there is no classification. `cut` shortens the longer vector where dimensions differ and no
    transforms are given; `scaling` as in `alignment`.
    """

    def __init__(
        self,
        head: MarginHead | None,
        *,
        transforms: Compatible | None = None,
        weight: float = 1.0,
        cut: bool = False,
        scaling: str = "class",
    ) -> None:
        super().__init__()
        if scaling not in ("element", "class"):
            raise ValueError(f"scaling is element or class, not {scaling!r}")
        self.head, self.transforms = head, transforms
        self.cut, self.scaling = cut, scaling
        self.weights = {"distance": weight}

    @classmethod
    def of_preset(cls, preset: str, *, head: MarginHead | None = None, **options: Any) -> Self:
        """ "paper" classifies too and needs a head; "repo-compatible" has none and cuts the longer vector."""
        if _known(preset) == "repo-compatible":
            options.setdefault("cut", True)
            options.setdefault("scaling", "element")
            return cls(None, **options)
        if head is None:
            raise ValueError("the paper's L2 classifies: give a head")
        return cls(head, **options)

    def forward(self, new: Tensor, labels: Tensor, *, old: Tensor, classes: Tensor | None = None) -> Terms:
        """`old` (B, d1) are the old model's vectors of the same pictures."""
        terms = {} if self.head is None else {"classification": self.head.loss(new, labels, classes=classes)}
        terms["distance"] = self._distance(new, old.detach())
        return weighted(terms, self.weights)

    def _distance(self, new: Tensor, old: Tensor) -> Tensor:
        if self.transforms is not None:
            new, old = unit_rows(new), unit_rows(old)
            back, ahead = _through(self.transforms.new_to_old, new), _through(self.transforms.old_to_new, old)
            pairs = [(unit_rows(back), old), (new, unit_rows(ahead))]
        else:
            if self.cut:
                both = min(new.shape[1], old.shape[1])
                new, old = new[:, :both], old[:, :both]
            _check_spaces(old.shape[1], new.shape[1], None)
            pairs = [(unit_rows(new), unit_rows(old))]
        return torch.stack([_distance(a, b, scaling=self.scaling) for a, b in pairs]).mean()


class Upper(nn.Module):
    """A new model trained as if there were no old one: the most an upgrade can hope for against itself."""

    def __init__(self, head: MarginHead) -> None:
        super().__init__()
        self.head = head

    def forward(self, new: Tensor, labels: Tensor, *, classes: Tensor | None = None) -> Terms:
        return weighted({"classification": self.head.loss(new, labels, classes=classes)}, {})


def _distance(a: Tensor, b: Tensor, *, scaling: str) -> Tensor:
    squares = (a - b).square().sum(1)  # (n,)
    total = squares.sum() / max(1, len(squares))
    return total / a.shape[1] if scaling == "element" else total


def _through(transform: nn.Module, x: Tensor) -> Tensor:
    if len(x) == 1 and any(isinstance(part, nn.BatchNorm1d) and part.training for part in transform.modules()):
        raise InputError(
            tr("A transform cannot learn from a single row: batch normalisation needs two."),
            hint=tr("Use at least two classes and batches of at least two pictures, or a linear transform."),
        )
    parameter = next(transform.parameters(), None)
    y: Tensor = transform(x if parameter is None else x.to(parameter.dtype))
    return y.to(torch.promote_types(y.dtype, torch.float32))


def _known(preset: str) -> str:
    if preset not in PRESETS:
        raise ValueError(f"a preset is one of {PRESETS}, not {preset!r}")
    return preset


def _check_spaces(old: int, new: int, transforms: Compatible | None) -> None:
    if transforms is None and old != new:
        raise InputError(
            tr(
                "The old model has {old} dimensions, the new one {new}: their vectors cannot be compared directly.",
                old=old,
                new=new,
            ),
            hint=tr("Train with transforms."),
        )
    if transforms is not None and (transforms.old_dimensions, transforms.new_dimensions) != (old, new):
        raise ValueError(
            f"transforms between {transforms.old_dimensions} and {transforms.new_dimensions} dimensions "
            f"for models of {old} and {new}"
        )


def _check_classes(old: int, new: int) -> None:
    if old != new:
        raise ValueError(f"{old} classes of the old model, {new} of the new: one of each, in the same order")
