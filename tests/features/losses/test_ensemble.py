"""The three losses between two models, and small trainings of transforms and ensembles with them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest
import torch
from scipy.stats import spearmanr
from torch import Tensor, nn

from facelens.features.losses.ensemble import M2M, Unified, divergence, similarity
from facelens.features.losses.margin import CosFace, class_means, unit_rows
from facelens.features.models.ensemble import Ensemble, LinearTransform, RBTTransform

DTYPES = [torch.float32, torch.float64]


def _pair(dtype: torch.dtype = torch.float64) -> tuple[CosFace, Tensor, Tensor, Tensor]:
    torch.manual_seed(2)
    z_g, z_q = torch.randn(9, 4, dtype=dtype) * 3, torch.randn(9, 4, dtype=dtype) * 0.2
    return CosFace(5, 4, scale=16.0).to(dtype), z_g, z_q, torch.arange(9) % 5


def _softmax(z: list[float], rows: list[list[float]], factor: float) -> list[float]:
    length = math.sqrt(sum(v * v for v in z))
    logits = [factor * sum(a * b for a, b in zip(z, row)) / length / math.sqrt(sum(b * b for b in row)) for row in rows]
    top = max(logits)
    powers = [math.exp(value - top) for value in logits]
    return [power / sum(powers) for power in powers]


def _kl(p: list[float], q: list[float]) -> float:
    return sum(a * math.log(a / b) for a, b in zip(p, q))


@pytest.mark.parametrize("way", [M2M, Unified])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("direction", ["q->g", "g->q", "symmetric"])
def test_terms_follow_their_equations(way: type[M2M] | type[Unified], dtype: torch.dtype, direction: str) -> None:
    head, z_g, z_q, labels = _pair(dtype)
    loss = way(head, kl_direction=direction, similarity_weight=2.0, kl_weight=0.5, dual_weight=3.0)
    rows = head.weight.double().tolist()
    alike = kl = dual = 0.0
    for g, q, label in zip(z_g.double().tolist(), z_q.double().tolist(), labels.tolist()):
        dot = sum(a * b for a, b in zip(g, q))
        alike += (1 - dot / math.sqrt(sum(a * a for a in g)) / math.sqrt(sum(b * b for b in q))) / len(z_g)
        p_g, p_q = _softmax(g, rows, 16 / 4), _softmax(q, rows, 16 / 4)
        there, back = _kl(p_q, p_g), _kl(p_g, p_q)
        kl += {"q->g": there, "g->q": back, "symmetric": (there + back) / 2}[direction] / len(z_g)
        for z in (g, q):
            p = _softmax(z, rows, 16.0)  # the margin takes s m off one logit
            true = p[label] * math.exp(-16 * 0.35)
            dual -= math.log(true / (1 - p[label] + true)) / len(z_g)
    terms = loss(z_g, z_q, labels=labels)
    assert list(terms.named) == ["similarity", "kl", "dual"]
    wanted = torch.tensor([alike, kl, dual], dtype=dtype)
    tolerance: dict[str, Any] = (
        {"rtol": 1e-4, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 1e-9, "atol": 1e-12}
    )
    torch.testing.assert_close(torch.stack(list(terms.named.values())), wanted, **tolerance)
    torch.testing.assert_close(terms.total.detach(), 2 * wanted[0] + 0.5 * wanted[1] + 3 * wanted[2], **tolerance)
    assert not any(term.requires_grad for term in terms.named.values())


def test_defaults() -> None:
    head, z_g, z_q, labels = _pair()
    loss = Unified(head)
    assert loss.weights == {"similarity": 1.0, "kl": 1.0, "dual": 1.0}
    wanted = divergence(4 * head.cosines(z_g), 4 * head.cosines(z_q))
    torch.testing.assert_close(loss(z_g, z_q, labels=labels).named["kl"], wanted.detach())
    flat = Unified(head, kl_scale=1.0, temperature=2.0)(z_g, z_q, labels=labels).named["kl"]
    torch.testing.assert_close(flat, divergence(head.cosines(z_g) / 2, head.cosines(z_q) / 2).detach())
    for bad in (lambda: Unified(head, kl_direction="up"), lambda: divergence(z_g, z_q, direction="up")):
        with pytest.raises(ValueError, match="up"):
            bad()


@pytest.mark.parametrize("direction", ["q->g", "g->q", "symmetric"])
def test_gradients(direction: str) -> None:
    head, z_g, z_q, labels = _pair()
    loss = Unified(head, kl_direction=direction)
    inputs = (z_g.requires_grad_(), z_q.requires_grad_())
    assert torch.autograd.gradcheck(lambda g, q: loss(g, q, labels=labels).total, inputs, fast_mode=True)


def test_gradients_in_closed_form() -> None:
    """similarity: -(n(q) - cos n(g)) / (B ||g||); KL(q || g) with respect to the gallery's logits: (p_g - p_q) / B."""
    _, z_g, z_q, _ = _pair()
    z_g.requires_grad_()
    similarity(z_g, z_q).backward()
    g, q = unit_rows(z_g.detach()), unit_rows(z_q)
    cosine = (g * q).sum(1, keepdim=True)
    torch.testing.assert_close(z_g.grad, -(q - cosine * g) / z_g.detach().norm(dim=1, keepdim=True) / 9)
    gallery, query = torch.randn(6, 4, dtype=torch.float64, requires_grad=True), torch.randn(6, 4, dtype=torch.float64)
    divergence(gallery, query).backward()
    torch.testing.assert_close(gallery.grad, (gallery.detach().softmax(1) - query.softmax(1)) / 6)


def test_query_side_of_m2m_is_fixed() -> None:
    head, z_g, z_q, labels = _pair()
    for way, moves in ((M2M, False), (Unified, True)):
        a, b = z_g.clone().requires_grad_(), z_q.clone().requires_grad_()
        way(head)(a, b, labels=labels).total.backward()
        assert a.grad is not None and a.grad.abs().sum() > 0
        assert (b.grad is not None) is moves
    # even where the head learns, KL moves it through the gallery side alone
    head.weight.grad = None
    M2M(head, similarity_weight=0.0, dual_weight=0.0)(z_g, z_q, labels=labels).total.backward()
    found, head.weight.grad = head.weight.grad, None
    divergence(4 * head.cosines(z_g), 4 * head.cosines(z_q).detach()).backward()
    torch.testing.assert_close(found, head.weight.grad)


def test_dual_classification_is_symmetric() -> None:
    head, z_g, z_q, labels = _pair()
    loss = Unified(head)
    there, back = loss(z_g, z_q, labels=labels).named, loss(z_q, z_g, labels=labels).named
    torch.testing.assert_close(there["dual"], back["dual"], rtol=1e-15, atol=0)
    torch.testing.assert_close(there["similarity"], back["similarity"])
    assert not torch.isclose(there["kl"], back["kl"])


@pytest.mark.parametrize("direction", ["q->g", "g->q", "symmetric"])
def test_equal_vectors_cost_nothing(direction: str) -> None:
    head, z_g, _, labels = _pair(torch.float32)
    z_g.requires_grad_()
    loss = M2M(head, kl_direction=direction, dual_weight=0.0)
    terms = loss(z_g, z_g, labels=labels)
    assert float(terms.named["similarity"]) == 0 and float(terms.named["kl"]) == 0
    terms.total.backward()
    assert z_g.grad is not None and z_g.grad.abs().max() < 1e-6
    doubled = loss(2 * z_g, z_g, labels=labels)  # only directions count
    assert float(doubled.named["similarity"]) < 1e-12


@pytest.mark.parametrize("way", [M2M, Unified])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_finite_at_extremes(way: type[M2M] | type[Unified], dtype: torch.dtype) -> None:
    head = CosFace.of(torch.eye(4))
    loss = way(head, temperature=1.0, kl_direction="symmetric")  # one-hot beliefs
    e = torch.eye(4, dtype=dtype)
    z_g = torch.stack([e[0], e[0], -e[0], 0 * e[0], 6e4 * e[1]]).requires_grad_()
    z_q = torch.stack([e[0], -e[0], e[1], e[0], 0 * e[0]])
    terms = loss(z_g, z_q, labels=torch.tensor([0, 0, 0, 1, 1]))
    terms.total.backward()
    assert terms.total.isfinite() and terms.total.dtype == torch.float32
    assert z_g.grad is not None and z_g.grad.isfinite().all()
    single = way(CosFace(1, 4))(z_g[:1], z_q[:1], labels=torch.tensor([0]))
    assert single.total.isfinite() and float(single.named["dual"]) == 0


def test_half_precision_is_computed_in_single() -> None:
    head, z_g, z_q, labels = _pair(torch.float32)
    z_g, z_q = z_g.bfloat16(), z_q.bfloat16()
    wanted = Unified(head)(z_g.float(), z_q.float(), labels=labels).total
    assert torch.equal(Unified(head)(z_g, z_q, labels=labels).total, wanted)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(Unified(head)(z_g, z_q, labels=labels).total, wanted)


def test_heads_start_where_the_models_are() -> None:
    rows, labels = torch.randn(5, 4), torch.arange(20) % 5
    fixed = M2M.of_prototypes(rows, head={"margin": 0.4}, temperature=2.0)
    torch.testing.assert_close(fixed.head.weight.data, unit_rows(rows))
    assert not fixed.head.weight.requires_grad and fixed.head.margin == 0.4 and fixed.sharpness == 32
    vectors = torch.randn(20, 4)
    learnt = Unified.of_vectors(vectors, labels)
    torch.testing.assert_close(learnt.head.weight.data, class_means(vectors, labels)[0])
    assert learnt.head.weight.requires_grad and fixed.head.weight.data_ptr() != rows.data_ptr()


# Small trainings. A world of people, seen by models that are rotations of it with noise of their own.


class World(NamedTuple):
    truth: Tensor  # (N, D) unit
    labels: Tensor

    def seen(self, rotation: Tensor, *, noise: Tensor | float) -> Tensor:
        return unit_rows(self.truth @ rotation + noise * torch.randn_like(self.truth) / self.truth.shape[1] ** 0.5)


def _world(classes: int, *, pictures: int, dimensions: int) -> World:
    centres = unit_rows(torch.randn(classes, dimensions))
    labels = torch.arange(classes).repeat_interleave(pictures)
    spread = 0.35 * torch.randn(len(labels), dimensions) / dimensions**0.5
    return World(unit_rows(centres[labels] + spread), labels)


def _rotation(dimensions: int) -> Tensor:
    q: Tensor = torch.linalg.qr(torch.randn(dimensions, dimensions))[0]
    return q


def _recall(query: Tensor, gallery: Tensor, labels: Tensor) -> float:
    """Share of queries whose nearest gallery picture, itself left out, shows the same person."""
    score = query @ gallery.T
    score.fill_diagonal_(-2)
    return float((labels[score.argmax(1)] == labels).double().mean())


def _train(
    transforms: list[nn.Module], loss: M2M | Unified, sides: tuple[Tensor, Tensor], labels: Tensor, *, steps: int
) -> None:
    """`transforms` are the gallery's and, for Unified, the query's."""
    parameters = [p for module in (*transforms, loss) for p in module.parameters() if p.requires_grad]
    optimiser = torch.optim.Adam(parameters, lr=3e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        batch = torch.randint(0, len(labels), (128,))
        mapped = [x[batch] for x in sides]
        for side, transform in enumerate(transforms):
            mapped[side] = transform(mapped[side])
        optimiser.zero_grad()
        loss(mapped[0], mapped[1], labels=labels[batch]).total.backward()
        optimiser.step()
        schedule.step()
    for transform in transforms:
        transform.eval()


@pytest.mark.parametrize("way", ["m2m", "unified"])
def test_unrelated_models_become_comparable(way: str) -> None:
    torch.manual_seed(0)
    fit, held_out = (_world(n, pictures=6, dimensions=12) for n in (60, 30))
    first, second = _rotation(12), _rotation(12)
    sides = fit.seen(first, noise=0.2), fit.seen(second, noise=0.2)
    gallery, query = held_out.seen(first, noise=0.2), held_out.seen(second, noise=0.2)
    own = _recall(query, query, held_out.labels)
    assert _recall(query, gallery, held_out.labels) < 0.15 and own > 0.9
    if way == "m2m":
        transforms: list[nn.Module] = [RBTTransform(12, 12, modules=1)]
        loss: M2M | Unified = M2M.of_prototypes(class_means(sides[1], fit.labels)[0], head={"scale": 16.0})
    else:
        transforms = [RBTTransform(12, 12, modules=1) for _ in range(2)]
        loss = Unified.of_vectors(sides[1], fit.labels, head={"scale": 16.0})
    _train(transforms, loss, sides, fit.labels, steps=120)
    with torch.no_grad():
        z_g = unit_rows(transforms[0](gallery))
        z_q = unit_rows(transforms[1](query)) if way == "unified" else query
    assert (z_g * z_q).sum(1).mean() > 0.85
    assert _recall(z_q, z_g, held_out.labels) > 0.95 * own


def test_ensemble_beats_its_members_and_knows_its_noise_and_its_intruders() -> None:
    torch.manual_seed(0)
    fit, held_out = (_world(n, pictures=5, dimensions=32) for n in (150, 80))
    rotations, target = [_rotation(32) for _ in range(4)], _rotation(32)
    query_side = fit.seen(target, noise=0.2)
    loss = M2M.of_prototypes(class_means(query_side, fit.labels)[0], head={"scale": 16.0})
    ensemble = Ensemble([LinearTransform(32, 32) for _ in rotations])
    for transform, rotation in zip(ensemble.transforms, rotations):  # each member for itself
        _train([transform], loss, (fit.seen(rotation, noise=0.2), query_side), fit.labels, steps=60)

    query = held_out.seen(target, noise=0.2)
    gains, ranks = [], []
    for _ in range(5):
        level = torch.rand(len(held_out.labels), 1) * 4  # every gallery picture has its own noise
        with torch.no_grad():
            mean, variance, members = ensemble([held_out.seen(rotation, noise=level) for rotation in rotations])
        single = [_recall(query, member, held_out.labels) for member in members]
        gains.append(_recall(query, mean, held_out.labels) - max(single))
        ranks.append(spearmanr(variance, level[:, 0]).statistic)
    assert sum(gains) / len(gains) > 0.03
    assert min(ranks) > 0.8

    # a tenth of the gallery is not a face at all: each member sees something else
    broken = torch.randperm(len(held_out.labels))[: len(held_out.labels) // 10]
    views = [held_out.seen(rotation, noise=0.4) for rotation in rotations]
    for view in views:
        view[broken] = unit_rows(torch.randn(len(broken), 32))
    with torch.no_grad():
        dropped = ensemble(views).variance.topk(len(broken)).indices
    assert len(set(dropped.tolist()) & set(broken.tolist())) > 0.9 * len(broken)
