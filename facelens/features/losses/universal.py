"""Sub-embeddings that know how sure they are, and that see different things.

Computes    a_ij  = 1/K sum_k s_i^(k) f_i^(k) . w_j^(k)
            L_idt = -log exp(a_iy - m) / (exp(a_iy - m) + sum_{j != y} exp(a_ij))                    Eq. (8)
            L_reg = 1/K sum_k (s_i^(k))^2
            L_cls = -sum_t log p_C(u^(t) = u_i^(t) | V_t(f_i))
            L_adv = -sum_t sum_{t' != t} 1/2 [log p_C(u^(t') = 0 | V_t(f_i)) + log p_C(u^(t') = 1 | V_t(f_i))]
            L     = L_idt + 0.001 L_reg + 2 L_cls + 2 L_adv, each the mean over the batch; C is held still
            L_C   = -sum_t sum_t' log p_C(u^(t') = u_i^(t') | V_t(f_i)), for C alone, f is held still
            score = -1/2 sum_k [||f_i^(k) - f_j^(k)||^2 / (v_i^(k) + v_j^(k)) + D/K log(v_i^(k) + v_j^(k))], v = 1 / s;
            calibration minimises the mean of -score over the pairs of a batch that show the same person;
            were all variances the same, it would be smallest at v = mean ||f_i^(k) - f_j^(k)||^2 / (2 D/K)
Shapes      f (B, D), K groups of D / K numbers, each brought to length 1; s (B, K), > 0; w (C, D), likewise;
            u (B, M) in [0, 1], M variations; V (M, K) bool, K / 2 groups each, the others become 0; C: D -> M logits
Reference   Shi, Yu, Sohn, Chandraker, Jain, "Towards Universal Representation Learning for Deep Face Recognition",
            CVPR 2020; Shi, Jain, "Probabilistic Face Embeddings", ICCV 2019 (score, calibration)
Departs     masks act on the unit groups, so the lengths of the raw groups tell C nothing; the lambdas are assumed;
            L_adv is smallest at p = 1/2, where it is M (M - 1) log 2 and not 0; PFE has no 1/2 before its score and a
            variance for each dimension, and starts from exp(-7), not from what the first batch asks for: the shift
            is one number, and the steps of Adam are too small to carry it far; all is computed in float32 or
            better, also where the network is not
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from facelens.errors import InputError
from facelens.features.losses import Terms, weighted
from facelens.features.models.universal import LEAST, parts_of
from facelens.words import tr

MARGIN = 30.0  # of the logit, not of the cosine
WEIGHTS: Mapping[str, float] = {"regulariser": 0.001, "classification": 2.0, "adversarial": 2.0}


def logits(parts: Tensor, confidence: Tensor, prototypes: Tensor) -> Tensor:
    """a_ij for unit parts (B, K, d), confidence (B, K) and unit prototypes (C, K, d): (B, C)."""
    parts, confidence, prototypes = _precise(parts), _precise(confidence), _precise(prototypes)
    with _full(parts):
        gated = parts * confidence[..., None] / parts.shape[1]
        return gated.flatten(1) @ prototypes.flatten(1).T


def identification(a: Tensor, labels: Tensor, *, margin: float = MARGIN) -> Tensor:
    """L_idt of each picture: (B, C) and (B,) -> (B,). The margin is taken off the logit of the right person."""
    less = a.new_full((len(a), 1), -margin)
    return F.cross_entropy(a.scatter_add(1, labels[:, None], less), labels, reduction="none")


def regulariser(confidence: Tensor) -> Tensor:
    """L_reg of each picture: (B, K) -> (B,). Without it confidences grow without end."""
    return _precise(confidence).square().mean(1)


def masks(variations: int, parts: int, *, seed: int = 0) -> Tensor:
    """V: for each variation its own choice of K // 2 groups, no two alike: (M, K) bool."""
    kept = parts // 2
    if variations and (kept == 0 or variations > math.comb(parts, kept)):
        raise InputError(
            tr("{k} parts are too few for {m} variations that each choose half of them.", k=parts, m=variations),
            hint=tr("Use more parts or fewer variations."),
        )
    generator = torch.Generator().manual_seed(seed)
    chosen: dict[tuple[int, ...], None] = {}  # a set that remembers the order
    while len(chosen) < variations:
        chosen[tuple(sorted(torch.randperm(parts, generator=generator)[:kept].tolist()))] = None
    found = torch.zeros(variations, parts, dtype=torch.bool)
    for t, groups in enumerate(chosen):
        found[t, list(groups)] = True
    return found


class Discriminator(nn.Module):
    """C: which variations a picture carries, told from half of its parts."""

    masks: Tensor

    def __init__(self, dimensions: int, *, parts: int, variations: int, seed: int = 0) -> None:
        super().__init__()
        self.linear = nn.Linear(dimensions, variations)
        self.register_buffer("masks", masks(variations, parts, seed=seed))

    def forward(self, parts: Tensor, *, frozen: bool = False) -> Tensor:
        """Logits [i, t, t'] of variation t' seen through mask t: (B, K, d) -> (B, M, M).

        `frozen` lets gradients through to the parts and gives none to C.
        """
        parts = _precise(parts)
        weight, bias = (x.to(parts.dtype) for x in (self.linear.weight, self.linear.bias))
        if frozen:
            weight, bias = weight.detach(), bias.detach()
        with _full(parts):
            by_group = weight.view(len(weight), parts.shape[1], -1)  # (M, K, d)
            # A masked group adds nothing, so every group is asked once and the answers are added by mask.
            told = torch.einsum("bkd,mkd->bkm", parts, by_group)
            return torch.einsum("tk,bkm->btm", self.masks.to(parts.dtype), told) + bias


def discrimination(told: Tensor, variations: Tensor) -> Tensor:
    """L_C of each picture: every variation through every mask. (B, M, M) and (B, M) -> (B,)."""
    wanted = variations.to(told.dtype)[:, None, :].expand_as(told)
    return F.binary_cross_entropy_with_logits(told, wanted, reduction="none").sum((1, 2))


def classification(told: Tensor, variations: Tensor) -> Tensor:
    """L_cls of each picture: each variation through its own mask. (B, M, M) and (B, M) -> (B,)."""
    own = told.diagonal(dim1=1, dim2=2)  # (B, M)
    return F.binary_cross_entropy_with_logits(own, variations.to(told.dtype), reduction="none").sum(1)


def adversarial(told: Tensor) -> Tensor:
    """L_adv of each picture: through the masks of others a variation cannot be told. (B, M, M) -> (B,)."""
    unsure = F.binary_cross_entropy_with_logits(told, torch.full_like(told, 0.5), reduction="none")
    own = torch.eye(told.shape[1], dtype=torch.bool, device=told.device)
    return unsure.masked_fill(own, 0.0).sum((1, 2))


class Universal(nn.Module):
    """The loss of network and prototypes, and of C. With no variations only identification and regulariser are left.

    One step is: `discriminate` on what the network gave, step C's optimiser, then call the loss, step the others
    (`alternate` does the first half). `weights` may change some of WEIGHTS and leaves the rest.
    """

    def __init__(
        self,
        dimensions: int,
        classes: int,
        *,
        parts: int = 16,
        variations: int = 3,
        margin: float = MARGIN,
        weights: Mapping[str, float] = WEIGHTS,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if unknown := set(weights) - {"identification", *WEIGHTS}:
            raise ValueError(f"weights of unknown terms: {sorted(unknown)}")
        self.parts, self.variations, self.margin = parts, variations, margin
        self.weights = {**WEIGHTS, **weights}
        self.prototypes = nn.Parameter(torch.empty(classes, dimensions))
        nn.init.normal_(self.prototypes, std=0.01)  # only directions count
        self.discriminator = (
            Discriminator(dimensions, parts=parts, variations=variations, seed=seed) if variations else None
        )

    def own_parameters(self) -> Iterator[nn.Parameter]:
        """What is trained together with the network: all but C."""
        return (value for name, value in self.named_parameters() if not name.startswith("discriminator."))

    def discriminator_parameters(self) -> Iterator[nn.Parameter]:
        """What C's own optimiser trains."""
        return iter(()) if self.discriminator is None else self.discriminator.parameters()

    def forward(self, embedding: Tensor, confidence: Tensor, labels: Tensor, variations: Tensor | None = None) -> Terms:
        """What network and prototypes minimise. (B, D), (B, K), (B,), (B, M) of numbers in [0, 1]."""
        parts = parts_of(_precise(embedding), self.parts)  # (B, K, d)
        a = logits(parts, confidence, parts_of(_precise(self.prototypes), self.parts))
        terms = {
            "identification": identification(a, labels, margin=self.margin).mean(),
            "regulariser": regulariser(confidence).mean(),
        }
        if self.discriminator is not None:
            told = self.discriminator(parts, frozen=True)
            terms["classification"] = classification(told, self._checked(variations, told)).mean()
            terms["adversarial"] = adversarial(told).mean()
        return weighted(terms, self.weights)

    def discriminate(self, embedding: Tensor, variations: Tensor) -> Terms:
        """What C minimises. No gradient reaches the embedding."""
        if self.discriminator is None:
            raise ValueError("there are no variations to tell apart")
        told = self.discriminator(parts_of(_precise(embedding.detach()), self.parts))
        return weighted({"discriminator": discrimination(told, self._checked(variations, told)).mean()}, {})

    def _checked(self, variations: Tensor | None, told: Tensor) -> Tensor:
        wanted = (len(told), self.variations)
        if variations is None or tuple(variations.shape) != wanted:
            found = None if variations is None else tuple(variations.shape)
            raise ValueError(f"variations must be labelled with shape {wanted}, not {found}")
        return variations


def alternate(loss: Universal, optimiser: torch.optim.Optimizer, *, embedding: Tensor, variations: Tensor) -> Terms:
    """C's half of a step: `optimiser`, which holds C's parameters only, improves C on a copy of the embedding.

    Call it before the loss itself: the network is then measured against the newest C, and the graph of the
    embedding is left as it is.
    """
    optimiser.zero_grad(set_to_none=True)
    terms = loss.discriminate(embedding, variations)
    terms.total.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return terms


def mutual_likelihood(a: Tensor, variance_a: Tensor, b: Tensor, variance_b: Tensor) -> Tensor:
    """How likely two pictures share one point: parts (..., K, d) and variances (..., K) -> (...). Higher is closer.

    Leading axes broadcast: a[:, None] against b[None] gives every pair.
    """
    a, b = _precise(a), _precise(b)
    return _likelihood(a, _precise(variance_a).log(), b, _precise(variance_b).log())


class MutualLikelihood(nn.Module):
    """The loss of calibration (PA): genuine pairs of the batch should be likely; impostors play no part.

    Confidences are 1 / variance, as a network with an uncertainty head gives them.
    """

    def __init__(self, *, parts: int = 16) -> None:
        super().__init__()
        self.parts = parts

    def forward(self, embedding: Tensor, confidence: Tensor, labels: Tensor) -> Terms:
        """(B, D), (B, K), (B,) -> the mean over pairs i < j of one person. A batch without such a pair is refused."""
        first, second = _genuine(labels)
        parts, logarithm = parts_of(_precise(embedding), self.parts), -_precise(confidence).log()
        score = _likelihood(parts[first], logarithm[first], parts[second], logarithm[second])
        return weighted({"likelihood": -score.mean()}, {})

    def level(self, embedding: Tensor, labels: Tensor) -> float:
        """The logarithm of the variance that, given to all parts of all pictures, makes the loss smallest."""
        first, second = _genuine(labels)
        parts = parts_of(_precise(embedding.detach()), self.parts)
        far = (parts[first] - parts[second]).square().sum(-1).mean()
        return float((far / (2 * parts.shape[-1])).log().clamp(min=LEAST))


def _genuine(labels: Tensor) -> tuple[Tensor, Tensor]:
    """The pairs i < j of one person."""
    first, second = torch.triu_indices(len(labels), len(labels), 1, device=labels.device)
    genuine = labels[first] == labels[second]
    if not bool(genuine.any()):
        raise InputError(
            tr("No person has two pictures in this batch, so there is no pair to learn from."),
            hint=tr("Use batches with at least two pictures of a person."),
        )
    return first[genuine], second[genuine]


def _likelihood(a: Tensor, log_a: Tensor, b: Tensor, log_b: Tensor) -> Tensor:
    together = torch.logaddexp(log_a, log_b)  # (..., K), log(v_a + v_b) without leaving the logarithm
    far = (a - b).square().sum(-1)  # (..., K)
    return -0.5 * (far * together.neg().exp() + a.shape[-1] * together).sum(-1)


def _precise(x: Tensor) -> Tensor:
    """Float32 at least: half precision has three digits, and exponentials multiply the error."""
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


def _full(x: Tensor) -> torch.autocast:
    """Inside, matrix products keep the precision of what they are given."""
    return torch.autocast(x.device.type, enabled=False)
