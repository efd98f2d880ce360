"""Confidence-aware identification, decorrelation by masks, and calibration, against loops over their equations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from facelens.errors import InputError
from facelens.features.losses.universal import (
    WEIGHTS,
    Discriminator,
    MutualLikelihood,
    Universal,
    adversarial,
    alternate,
    classification,
    discrimination,
    identification,
    logits,
    masks,
    mutual_likelihood,
    regulariser,
)
from facelens.features.models.universal import fused, parts_of

B, C, K, D, M = 6, 5, 4, 24, 3
DTYPES = [torch.float32, torch.float64]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other take longer than these sums."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(
        a, b, rtol=1e-12 if a.dtype == torch.float64 else 2e-5, atol=1e-12 if a.dtype == torch.float64 else 2e-5
    )


def example(dtype: torch.dtype = torch.float64, *, size: int = B) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Raw embedding, confidence, labels, variations (soft ones too)."""
    g = torch.Generator().manual_seed(7)
    f = torch.randn(size, D, generator=g, dtype=dtype).requires_grad_()
    s = (torch.rand(size, K, generator=g, dtype=dtype) * 60 + 5).requires_grad_()
    y = torch.randint(C, (size,), generator=g)
    u = torch.randint(2, (size, M), generator=g).to(dtype)
    u[0, 0] = 0.3
    return f, s, y, u


def made(dtype: torch.dtype = torch.float64, **options: object) -> Universal:
    torch.manual_seed(3)
    loss = Universal(D, C, parts=K, variations=M, **options).to(dtype)  # type: ignore[arg-type]
    assert loss.discriminator is not None
    nn.init.normal_(loss.discriminator.linear.weight, std=0.8)
    nn.init.normal_(loss.discriminator.linear.bias)
    return loss


def naive_identification(f: Tensor, s: Tensor, w: Tensor, y: Tensor, margin: float) -> Tensor:
    """Eq. (8), one number at a time, for raw f and w."""
    losses = []
    d = D // K
    for i in range(len(f)):
        a = []
        for j in range(len(w)):
            parts = []
            for k in range(K):
                one, other = f[i, k * d : k * d + d], w[j, k * d : k * d + d]
                parts.append(s[i, k] * (one / one.norm()) @ (other / other.norm()))
            a.append(sum(parts) / K - (margin if j == y[i] else 0.0))
        losses.append(torch.logsumexp(torch.stack(a), 0) - a[int(y[i])])
    return torch.stack(losses).mean()


def naive_told(f: Tensor, loss: Universal) -> list[list[list[Tensor]]]:
    """[i][t][t'] with masked copies of the whole embedding."""
    assert loss.discriminator is not None
    weight, bias = loss.discriminator.linear.weight.detach(), loss.discriminator.linear.bias.detach()
    d = D // K
    found = []
    for i in range(len(f)):
        unit = torch.cat([f[i, k * d : k * d + d] / f[i, k * d : k * d + d].norm() for k in range(K)])
        rows = []
        for t in range(M):
            seen = unit * loss.discriminator.masks[t].repeat_interleave(d)
            rows.append([weight[j] @ seen + bias[j] for j in range(M)])
        found.append(rows)
    return found


def entropy(logit: Tensor, wanted: Tensor | float) -> Tensor:
    p = torch.sigmoid(logit)
    return -(wanted * p.log() + (1 - wanted) * (1 - p).log())


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_term_and_gradient_follow_the_equations(dtype: torch.dtype) -> None:
    f, s, y, u = example(dtype)
    loss = made(dtype)
    terms = loss(f, s, y, u)
    told = naive_told(f, loss)
    expected = {
        "identification": naive_identification(f, s, loss.prototypes, y, 30.0),
        "regulariser": sum(s[i, k] ** 2 for i in range(B) for k in range(K)) / K / B,
        "classification": sum(entropy(told[i][t][t], u[i, t]) for i in range(B) for t in range(M)) / B,
        "adversarial": sum(entropy(told[i][t][j], 0.5) for i in range(B) for t in range(M) for j in range(M) if j != t)
        / B,
    }
    assert list(terms.named) == list(expected)
    for name, value in expected.items():
        close(terms.named[name], value.detach())  # type: ignore[union-attr]
    total = sum(WEIGHTS.get(name, 1.0) * value for name, value in expected.items())
    close(terms.total, total)  # type: ignore[arg-type]
    assert WEIGHTS == {"regulariser": 0.001, "classification": 2.0, "adversarial": 2.0}
    ours = torch.autograd.grad(terms.total, [f, s, loss.prototypes])
    theirs = torch.autograd.grad(total, [f, s, loss.prototypes])  # type: ignore[arg-type]
    for one, other in zip(ours, theirs):
        close(one, other)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_discriminator_learns_every_variation_through_every_mask(dtype: torch.dtype) -> None:
    f, _, _, u = example(dtype)
    loss = made(dtype)
    terms = loss.discriminate(f, u)
    told = naive_told(f, loss)
    expected = sum(entropy(told[i][t][j], u[i, j]) for i in range(B) for t in range(M) for j in range(M)) / B
    assert list(terms.named) == ["discriminator"]
    close(terms.total, expected.detach())  # type: ignore[union-attr]


def test_one_part_and_constant_confidence_are_cosface() -> None:  # T1
    f, _, y, _ = example()
    loss = Universal(D, C, parts=1, variations=0, margin=22.4).double()
    terms = loss(f, torch.full((B, 1), 64.0, dtype=torch.float64), y)
    cosine = F.normalize(f) @ F.normalize(loss.prototypes).T
    cosface = F.cross_entropy(64.0 * (cosine - 0.35 * F.one_hot(y, C).double()), y)
    torch.testing.assert_close(terms.named["identification"], cosface.detach(), rtol=1e-12, atol=1e-12)
    assert list(terms.named) == ["identification", "regulariser"]


@pytest.mark.parametrize("form", ["mean", "sum"])
def test_gradients_have_the_closed_form(form: str) -> None:  # T2, T4
    f, s, y, _ = example()
    unit = parts_of(f.detach(), K).requires_grad_()
    w = parts_of(torch.randn(C, D, dtype=torch.float64), K).requires_grad_()
    c, margin = (1 / K, 30.0) if form == "mean" else (1.0, 12.0)
    a = logits(unit, s * (c * K), w)
    each = identification(a, y, margin=margin)
    reg = regulariser(s)
    lam = 0.001
    g_f, g_w, g_s = torch.autograd.grad((each + lam * reg).sum(), [unit, w, s])
    p = torch.softmax(a - margin * F.one_hot(y, C), 1).detach()
    error = p - F.one_hot(y, C)
    close(g_f, c * s[..., None] * torch.einsum("ic,ckd->ikd", error, w))
    close(g_w, c * torch.einsum("ic,ik,ikd->ckd", error, s, unit))
    cosine = torch.einsum("ikd,ckd->ikc", unit, w)
    close(g_s, c * torch.einsum("ic,ikc->ik", error, cosine) + lam * 2 * s / K)


def test_gradients_of_raw_vectors_lie_in_the_tangent() -> None:
    f, s, y, u = example()
    (gradient,) = torch.autograd.grad(made()(f, s, y, u).total, [f])
    radial = (gradient.view(B, K, -1) * parts_of(f, K)).sum(-1)
    torch.testing.assert_close(radial, torch.zeros_like(radial), rtol=0, atol=1e-12)
    assert gradient.abs().max() > 1e-3


def test_gaussian_posterior_is_the_softmax_of_cosines() -> None:  # T3
    f, _, _, _ = example()
    one, w = F.normalize(f), F.normalize(torch.randn(C, D, dtype=torch.float64))
    variance = 0.037
    likelihood = -torch.cdist(one, w).square() / (2 * variance)
    ours = logits(one[:, None], torch.full((B, 1), 1 / variance, dtype=torch.float64), w[:, None])
    torch.testing.assert_close(torch.softmax(likelihood, 1), torch.softmax(ours, 1), rtol=1e-10, atol=1e-14)


def test_the_regulariser_pulls_by_twice_the_confidence() -> None:  # T4
    _, s, _, _ = example()
    (gradient,) = torch.autograd.grad(regulariser(s).sum(), [s])
    close(gradient, 2 * s / K)


def test_the_adversarial_term_is_smallest_where_nothing_can_be_told() -> None:  # T5
    even = torch.zeros(2, M, M, dtype=torch.float64, requires_grad=True)
    close(adversarial(even), torch.full((2,), M * (M - 1) * math.log(2), dtype=torch.float64))
    (gradient,) = torch.autograd.grad(adversarial(even).sum(), [even])
    assert not gradient.any()
    g = torch.Generator().manual_seed(0)
    for _ in range(20):
        other = torch.randn(2, M, M, generator=g, dtype=torch.float64)
        assert (adversarial(other) > adversarial(even)).all()
    own = torch.diag_embed(torch.full((2, M), 50.0, dtype=torch.float64))  # the own variation is not its business
    close(adversarial(own), adversarial(even).detach())


def test_masks_choose_half_of_the_groups_and_differ() -> None:  # T6
    found = masks(9, 16, seed=4)
    assert found.dtype == torch.bool and found.shape == (9, 16)
    assert found.sum(1).tolist() == [8] * 9
    assert len({tuple(row) for row in found.tolist()}) == 9
    assert torch.equal(found, masks(9, 16, seed=4))
    assert not torch.equal(found, masks(9, 16, seed=5))
    state = torch.get_rng_state()
    masks(3, 16)
    assert torch.equal(state, torch.get_rng_state())  # training's own dice are left alone
    assert len({tuple(row) for row in masks(6, 4).tolist()}) == 6  # all there are
    assert masks(2, 5).sum(1).tolist() == [2, 2]
    for variations, parts in [(7, 4), (1, 1), (3, 2)]:
        with pytest.raises(InputError, match="too few"):
            masks(variations, parts)


def test_masks_travel_with_the_loss() -> None:
    loss, other = made(), made(seed=9)
    other.load_state_dict(loss.state_dict())
    assert loss.discriminator is not None and other.discriminator is not None
    assert torch.equal(loss.discriminator.masks, other.discriminator.masks)


def test_confidence_gates_the_gradient() -> None:  # T7
    f, s, y, _ = example()
    w = parts_of(torch.randn(C, D, dtype=torch.float64), K)
    unit = parts_of(f.detach(), K)

    def gradient(confidence: Tensor, where: Tensor) -> Tensor:
        # The same p in both: what counts is how strongly the error reaches the group.
        unit_ = unit.clone().requires_grad_()
        a = logits(unit_, confidence, w)
        (found,) = torch.autograd.grad((a * where).sum(), [unit_])
        return found

    error = torch.softmax(logits(unit, s, w), 1).detach() - F.one_hot(y, C)
    more = s.detach().clone()
    more[2, 1] *= 2
    before, after = gradient(s.detach(), error), gradient(more, error)
    close(after[2, 1], 2 * before[2, 1])
    after[2, 1] = before[2, 1]
    assert torch.equal(after, before)


def test_extreme_logits_stay_finite() -> None:
    f, _, y, u = example(torch.float32)
    top = torch.full((B, K), math.exp(7.0), requires_grad=True)
    loss = made(torch.float32)
    assert loss.discriminator is not None
    nn.init.constant_(loss.discriminator.linear.bias, 500.0)  # sigmoid is 1 to the last digit
    terms = loss(f, top, y, u)
    assert torch.isfinite(terms.total)
    for gradient in torch.autograd.grad(terms.total, [f, top, loss.prototypes]):
        assert torch.isfinite(gradient).all()


def test_labels_of_mined_variations_may_be_soft() -> None:
    told = torch.randn(2, M, M, dtype=torch.float64)
    u = torch.tensor([[0.2, 0.9, 0.5], [1.0, 0.0, 0.35]], dtype=torch.float64)
    expected = sum(entropy(told[:, t, t], u[:, t]) for t in range(M))
    close(classification(told, u), expected)  # type: ignore[arg-type]
    expected = sum(entropy(told[:, t, j], u[:, j]) for t in range(M) for j in range(M))
    close(discrimination(told, u), expected)  # type: ignore[arg-type]
    close(discrimination(told, u.bool()), discrimination(told, u.bool().double()))


def test_gradients_pass_through_the_frozen_discriminator() -> None:
    f, s, y, u = example()
    loss = made(weights={"identification": 0.0, "regulariser": 0.0})
    loss(f, s, y, u).total.backward()
    assert f.grad is not None and f.grad.abs().max() > 1e-3
    for parameter in loss.discriminator_parameters():
        assert parameter.grad is None
    f.grad = None
    loss.discriminate(f, u).total.backward()
    assert f.grad is None and all(p.grad is not None for p in loss.discriminator_parameters())
    own, c = list(loss.own_parameters()), list(loss.discriminator_parameters())
    assert len(own) == 1 and own[0] is loss.prototypes and len(c) == 2


def test_a_step_improves_the_discriminator_and_leaves_the_graph() -> None:
    f, s, y, u = example()
    loss = made()
    optimiser = torch.optim.SGD(loss.discriminator_parameters(), lr=0.05)
    prototypes = loss.prototypes.detach().clone()
    losses = [float(alternate(loss, optimiser, embedding=f, variations=u).named["discriminator"]) for _ in range(30)]
    assert losses[-1] < 0.8 * losses[0]
    assert torch.equal(loss.prototypes, prototypes) and f.grad is None
    loss(f, s, y, u).total.backward()  # the network's half still works
    assert f.grad is not None and all(p.grad is None for p in loss.discriminator_parameters())


def test_float32_under_mixed_precision() -> None:
    f, s, y, u = example(torch.float32)
    loss = made(torch.float32)
    plain = loss(f, s, y, u)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = loss(f, s, y, u)
        told = loss.discriminate(f, u)
    assert mixed.total.dtype == told.total.dtype == torch.float32
    close(mixed.total, plain.total)
    assert loss(f.bfloat16(), s.bfloat16(), y, u).total.dtype == torch.float32


def test_wrong_use_is_refused() -> None:
    f, s, y, u = example()
    with pytest.raises(ValueError, match=r"\(6, 3\)"):
        made()(f, s, y)
    with pytest.raises(ValueError, match=r"\(6, 2\)"):
        made()(f, s, y, u[:, :2])
    with pytest.raises(ValueError, match="confidence"):
        Universal(D, C, weights={"confidence": 1.0})
    with pytest.raises(ValueError, match="no variations"):
        Universal(D, C, parts=K, variations=0).discriminate(f, u)


def test_decorrelation_does_what_it_says() -> None:
    """Where the masks say so, a variation can be told afterwards, and elsewhere it cannot."""
    torch.manual_seed(0)
    u = torch.randint(2, (256, 2)).float()
    x = torch.cat([u, torch.randn(256, 14)], 1)
    network, loss = nn.Linear(16, 32), Universal(32, 2, parts=4, variations=2, weights={"identification": 0.0}, seed=1)
    first = torch.optim.Adam(network.parameters(), lr=0.02)
    second = torch.optim.Adam(loss.discriminator_parameters(), lr=0.02)
    labels, confidence = torch.zeros(256, dtype=torch.int64), torch.ones(256, 4)
    for _ in range(400):
        embedding = network(x)
        alternate(loss, second, embedding=embedding, variations=u)
        first.zero_grad()
        loss(embedding, confidence, labels, u).total.backward()
        first.step()
    assert isinstance(loss.discriminator, Discriminator)
    told = torch.sigmoid(loss.discriminator(parts_of(network(x), 4))).detach()
    right = ((told > 0.5) == (u[:, None] > 0.5)).float().mean(0)  # [mask, variation]
    assert right[0, 0] > 0.95 and right[1, 1] > 0.95
    unsure = (told - 0.5).abs().mean(0)
    assert unsure[0, 1] < 0.25 and unsure[1, 0] < 0.25 and min(unsure[0, 0], unsure[1, 1]) > 0.35


# Calibration


def naive_score(a: Tensor, va: Tensor, b: Tensor, vb: Tensor) -> Tensor:
    total = torch.zeros((), dtype=a.dtype)
    for k in range(len(a)):
        v = va[k] + vb[k]
        total = total + ((a[k] - b[k]) ** 2).sum() / v + a.shape[1] * torch.log(v)
    return -total / 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_calibration_is_the_mean_over_genuine_pairs(dtype: torch.dtype) -> None:
    f, s, _, _ = example(dtype)
    y = torch.tensor([0, 1, 0, 0, 2, 1])
    terms = MutualLikelihood(parts=K)(f, s, y)
    parts = parts_of(f, K)
    pairs = [(i, j) for i, j in combinations(range(B), 2) if y[i] == y[j]]
    assert len(pairs) == 4
    expected = -torch.stack([naive_score(parts[i], 1 / s[i], parts[j], 1 / s[j]) for i, j in pairs]).mean()
    assert list(terms.named) == ["likelihood"]
    close(terms.total, expected)
    for one, other in zip(torch.autograd.grad(terms.total, [f, s]), torch.autograd.grad(expected, [f, s])):
        close(one, other)
    assert not torch.autograd.grad(MutualLikelihood(parts=K)(f, s, y).total, [s])[0][4].any()  # alone: no pair
    with pytest.raises(InputError, match="two pictures"):
        MutualLikelihood(parts=K)(f, s, torch.arange(B))


def test_the_level_is_the_best_variance_for_all() -> None:
    f, s, _, _ = example()
    y, loss = torch.tensor([0, 1, 0, 0, 2, 1]), MutualLikelihood(parts=K)
    level = torch.tensor(loss.level(f, y), dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(loss(f, (-level).exp().expand_as(s), y).total, [level])
    assert abs(float(slope)) < 1e-6 * D
    assert loss.level(torch.ones(2, D), torch.zeros(2)) == pytest.approx(math.log(1e-6)), "the same picture twice"


def test_the_score_is_a_gaussian_log_likelihood() -> None:
    """Two points drawn from N(f, v): the density of their difference at 0, but for the constant."""
    a, b = (parts_of(torch.randn(D, dtype=torch.float64), K) for _ in range(2))
    va, vb = torch.rand(K, dtype=torch.float64) + 0.1, torch.rand(K, dtype=torch.float64) + 0.1
    density = torch.distributions.Normal(a, (va + vb).sqrt()[:, None]).log_prob(b).sum()
    close(mutual_likelihood(a, va, b, vb), density + D / 2 * math.log(2 * math.pi))


def test_equal_variances_rank_like_distance() -> None:  # T8
    g = torch.Generator().manual_seed(1)
    parts = parts_of(torch.randn(40, D, generator=g, dtype=torch.float64), K)
    equal = torch.full((40, K), 0.21, dtype=torch.float64)
    score = mutual_likelihood(parts[:, None], equal[:, None], parts[None], equal[None])  # (40, 40)
    far = torch.cdist(parts.flatten(1), parts.flatten(1)).square()
    upper = torch.triu_indices(40, 40, 1)
    assert torch.equal(score[*upper].argsort(descending=True), far[*upper].argsort())
    # a part nobody is sure of stops counting
    unsure = equal.clone()
    unsure[:, 2] = 1e9
    score = mutual_likelihood(parts[:, None], unsure[:, None], parts[None], unsure[None])
    rest = parts[:, [0, 1, 3]].flatten(1)
    assert torch.equal(score[*upper].argsort(descending=True), torch.cdist(rest, rest).square()[*upper].argsort())


def test_fusion_weighs_by_precision() -> None:  # T9
    parts = parts_of(torch.randn(5, D, dtype=torch.float64), K)
    equal = torch.full((5, K), 0.3, dtype=torch.float64)
    unit, variance = fused(parts, equal)
    close(unit, F.normalize(parts.mean(0), dim=-1))
    close(variance, equal[0])
    close(fused(parts, equal, rule="bayes")[1], equal[0] / 5)
    uneven = torch.rand(5, K, dtype=torch.float64) + 0.01
    unit, variance = fused(parts, uneven)
    for k in range(K):
        mean = sum(parts[i, k] / uneven[i, k] for i in range(5)) / sum(1 / uneven[i, k] for i in range(5))
        close(unit[k], mean / mean.norm())  # type: ignore[union-attr,operator]
        assert variance[k] == uneven[:, k].min()
    with pytest.raises(ValueError, match="mean"):
        fused(parts, equal, rule="mean")


class Toy(nn.Module):
    """A backbone on vectors that gives what the heads take."""

    def __init__(self, inputs: int, dimensions: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, 64), nn.BatchNorm1d(64), nn.ReLU())
        self.out = nn.Linear(64, dimensions)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, None]:
        inner = self.body(x)
        return self.out(inner), inner[:, :, None, None], None


def test_calibrated_confidence_tells_clean_from_noised() -> None:  # T10
    from facelens.features.models.universal import Universal as Network

    torch.manual_seed(0)
    inputs, classes = 32, 10
    centres = 2 * torch.randn(classes, inputs)

    def draw(n: int) -> tuple[Tensor, Tensor, Tensor]:
        y = torch.arange(n) % classes
        noised = torch.arange(n) // classes % 2 == 1  # half of each person's pictures
        x = centres[y] + 0.4 * torch.randn(n, inputs) + 3.0 * noised[:, None] * torch.randn(n, inputs)
        return x, y, noised

    network = Network(Toy(inputs, 32), features=64, parts=4, uncertainty=16)
    head, network.uncertainty = network.uncertainty, None  # first the confidence of training
    loss = Universal(32, classes, parts=4, variations=0, margin=10.0)
    optimiser = torch.optim.Adam([*network.parameters(), *loss.own_parameters()], lr=0.01)
    for _ in range(150):
        x, y, _ = draw(80)
        embedding, _, confidence = network(x)
        terms = loss(embedding, confidence, y)
        optimiser.zero_grad()
        terms.total.backward()
        optimiser.step()
    network.uncertainty = head
    before = {name: value.clone() for name, value in network.state_dict().items()}
    optimiser = torch.optim.Adam(network.calibrate(), lr=0.03)
    network.train()
    likelihood = MutualLikelihood(parts=4)
    first = last = 0.0
    for step in range(200):
        x, y, _ = draw(80)
        embedding, _, confidence = network(x)
        terms = likelihood(embedding, confidence, y)
        optimiser.zero_grad()
        terms.total.backward()
        optimiser.step()
        last = float(terms.named["likelihood"])
        first = first if step else last
    assert last < first - 10
    for name, value in network.state_dict().items():  # all but the head stayed, running means too
        assert name.startswith("uncertainty.") or torch.equal(value, before[name])
    x, y, noised = draw(2000)
    with torch.no_grad():
        confidence = network.eval()(x).confidence
    assert confidence is not None
    clean, dirty = confidence[~noised].mean(0), confidence[noised].mean(0)
    assert (clean > 1.5 * dirty).all(), (clean, dirty)
