"""Margin loss on slices, the pairs it is made of, and what learners do to a toy, against loops and closed forms."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from facelens.features.losses.divided import (
    SAMPLERS,
    Divided,
    Margin,
    Pairs,
    closest,
    distance_weighted,
    distances,
    negative_weights,
)
from facelens.features.models.divided import slice_of
from facelens.features.models.universal import parts_of

DTYPES = [torch.float32, torch.float64]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other take longer than these sums."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def batch(dtype: torch.dtype = torch.float64, *, n: int = 16, d: int = 8, classes: int = 4) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(2)
    return torch.randn(n, d, generator=g, dtype=dtype).requires_grad_(), torch.arange(n) % classes


def at_distance(*angles_from: float) -> Tensor:
    """Unit vectors of the plane at these distances from (1, 0)."""
    angle = 2 * torch.asin(torch.tensor([0.0, *angles_from], dtype=torch.float64) / 2)
    return torch.stack([angle.cos(), angle.sin()], 1)


@pytest.mark.parametrize(
    ("distance", "positive", "expected"), [(1.3, True, 0.3), (0.9, True, 0.0), (1.1, False, 0.3), (1.5, False, 0.0)]
)
def test_hand_values(distance: float, positive: bool, expected: float) -> None:  # T5
    pair, none = torch.tensor([[0, 1]]), torch.zeros(0, 2, dtype=torch.int64)
    pairs = Pairs(pair, none) if positive else Pairs(none, pair)
    terms = Margin().of_pairs(at_distance(distance), pairs)
    assert float(terms.total.detach()) == pytest.approx(expected, abs=1e-7)
    assert float(terms.named["positive" if positive else "negative"]) == pytest.approx(expected, abs=1e-7)
    assert float(terms.named["negative" if positive else "positive"]) == 0.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sampler", list(SAMPLERS))
def test_loss_and_gradient_follow_the_equations(sampler: str, dtype: torch.dtype) -> None:
    x, y = batch(dtype)
    loss = Margin(sampler=sampler, learn_beta=True, nu=0.3).to(dtype)
    seeded = lambda: torch.Generator().manual_seed(5)  # noqa: E731
    terms = loss(x, y, generator=seeded())
    pairs = SAMPLERS[sampler](F.normalize(x.detach()), y, generator=seeded())
    total, count = torch.zeros((), dtype=dtype), 0
    for same, chosen in ((True, pairs.positive), (False, pairs.negative)):
        for i, j in chosen.tolist():
            a, b = x[i] / x[i].norm(), x[j] / x[j].norm()
            d = (((a - b) ** 2).sum() + 1e-8).sqrt()
            one = d - loss.beta + 0.2 if same else loss.beta - d + 0.2
            if one > 0:
                total, count = total + one, count + 1
    expected = (total + 0.3 * loss.beta.abs()) / count
    tolerance = 1e-12 if dtype == torch.float64 else 2e-5
    torch.testing.assert_close(terms.total, expected, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(sum(terms.named.values()), expected.detach(), rtol=tolerance, atol=tolerance)
    assert list(terms.named) == ["positive", "negative", "boundary"]
    for one, other in zip(
        torch.autograd.grad(terms.total, [x, loss.beta]), torch.autograd.grad(expected, [x, loss.beta])
    ):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


def test_gradient_of_a_pair_is_a_unit_vector() -> None:
    unit = at_distance(1.3).requires_grad_()
    none = torch.zeros(0, 2, dtype=torch.int64)
    (gradient,) = torch.autograd.grad(Margin().of_pairs(unit, Pairs(torch.tensor([[0, 1]]), none)).total, [unit])
    torch.testing.assert_close(gradient[0], ((unit[0] - unit[1]) / 1.3).detach())
    torch.testing.assert_close(gradient[1], -gradient[0])


def test_beta_is_learned_only_when_asked() -> None:
    x, y = batch()
    fixed = Margin()
    fixed(x, y).total.backward()
    assert fixed.beta.grad is None and float(fixed.beta) == pytest.approx(1.2)
    learned = Margin(learn_beta=True)
    terms = learned(x, y, generator=torch.Generator().manual_seed(0))
    pairs = distance_weighted(F.normalize(x.detach()), y, generator=torch.Generator().manual_seed(0))
    unit = F.normalize(x.detach())
    costly = [
        int(((unit[p[:, 0]] - unit[p[:, 1]]).norm(dim=1) * sign > edge).sum())
        for p, sign, edge in ((pairs.positive, 1, 1.0), (pairs.negative, -1, -1.4))
    ]
    (gradient,) = torch.autograd.grad(terms.total, [learned.beta])
    assert float(gradient) == pytest.approx((costly[1] - costly[0]) / sum(costly), abs=1e-6)


def test_twins_and_batches_without_pairs_are_harmless() -> None:
    x = torch.ones(6, 8, requires_grad=True)
    terms = Margin()(x, torch.tensor([0, 0, 0, 1, 1, 1]))
    terms.total.backward()
    assert torch.isfinite(terms.total) and x.grad is not None and torch.isfinite(x.grad).all()
    for labels in (torch.zeros(6, dtype=torch.int64), torch.arange(6)):
        for sampler in SAMPLERS:
            x = torch.randn(6, 8, requires_grad=True)
            terms = Margin(sampler=sampler)(x, labels)
            terms.total.backward()
            assert x.grad is not None and torch.isfinite(x.grad).all()
            assert float(terms.named["negative"]) == 0.0
    with pytest.raises(ValueError, match="random"):
        Margin(sampler="random")


def test_float32_under_mixed_precision() -> None:
    x, y = batch(torch.float32)
    seeded = lambda: torch.Generator().manual_seed(5)  # noqa: E731
    plain = Margin()(x, y, generator=seeded())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = Margin()(x, y, generator=seeded())
    assert mixed.total.dtype == torch.float32
    torch.testing.assert_close(mixed.total, plain.total)


# Pairs


def density(d: float, n: int) -> float:
    return d ** (n - 2) * (1 - d * d / 4) ** ((n - 3) / 2)


@pytest.mark.parametrize("n", [4, 16, 128])
def test_weights_are_the_inverse_density(n: int) -> None:
    d = torch.tensor([[0.2, 0.5, 0.9, 1.2, 1.399, 1.4, 1.9, 1.0]], dtype=torch.float64)
    allowed = torch.tensor([[True] * 7 + [False]])
    found = negative_weights(d, allowed, dimensions=n)
    inverse = [1 / density(max(v, 0.5), n) for v in d[0, :5].tolist()]
    expected = torch.tensor([*inverse, 0.0, 0.0, 0.0], dtype=torch.float64) / sum(inverse)
    torch.testing.assert_close(found[0], expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("n", [2, 3])
def test_few_dimensions_have_even_weights(n: int) -> None:
    d = torch.tensor([[0.2, 0.9, 1.3, 1.5, 0.4]])
    found = negative_weights(d, torch.tensor([[True] * 4 + [False]]), dimensions=n)
    torch.testing.assert_close(found[0].float(), torch.tensor([1 / 3, 1 / 3, 1 / 3, 0.0, 0.0]))


def test_weights_survive_many_dimensions() -> None:
    """In 2048 dimensions 1 / q spans hundreds of powers of ten."""
    d = torch.linspace(0.0, 2.0, 41)[None]
    found = negative_weights(d, torch.ones(1, 41, dtype=torch.bool), dimensions=2048)
    assert torch.isfinite(found).all() and float(found.sum()) == pytest.approx(1.0)
    assert not found[0, d[0] >= 1.4].any()
    assert not negative_weights(d, torch.zeros(1, 41, dtype=torch.bool), dimensions=2048).any()


def test_distance_weighted_pairs() -> None:  # T6
    x, y = batch(n=40, d=6, classes=10)
    unit = F.normalize(x.detach())
    seen = {}
    for seed in range(20):
        pairs = distance_weighted(unit, y, generator=torch.Generator().manual_seed(seed))
        assert sorted(map(tuple, pairs.positive.tolist())) == [
            (i, j) for i in range(40) for j in range(40) if i != j and y[i] == y[j]
        ]
        a, n = pairs.negative.T
        assert (y[a] != y[n]).all()
        apart = (unit[a] - unit[n]).norm(dim=1)
        assert (apart < 1.4).all()
        reachable = [i for i in range(40) if any(y[i] != y[j] and (unit[i] - unit[j]).norm() < 1.4 for j in range(40))]
        assert torch.bincount(a, minlength=40).tolist() == [3 if i in reachable else 0 for i in range(40)]
        seen[seed] = n.tolist()
    again = distance_weighted(unit, y, generator=torch.Generator().manual_seed(7))
    assert again.negative[:, 1].tolist() == seen[7] != seen[8]


def test_frequencies_follow_the_inverse_density() -> None:  # T6
    """One anchor with positives enough for many draws, five negatives at known distances, one out of reach."""
    places = [0.3, 0.7, 1.0, 1.2, 1.35, 1.6]
    n = 6
    plane = at_distance(*places)
    copies = 150
    unit = torch.cat([plane[:1].repeat(copies, 1), plane[1:]])
    unit = F.pad(unit, (0, n - 2))
    labels = torch.cat([torch.zeros(copies, dtype=torch.int64), torch.arange(1, 7)])
    pairs = distance_weighted(unit, labels, generator=torch.Generator().manual_seed(0))
    drawn = torch.bincount(pairs.negative[:, 1], minlength=copies + 6)[copies:].double()
    assert int(drawn.sum()) == copies * (copies - 1)
    inverse = torch.tensor([1 / density(max(d, 0.5), n) for d in places[:5]], dtype=torch.float64)
    share = inverse / inverse.sum()
    error = (drawn[:5] / drawn.sum() - share) / (share * (1 - share) / drawn.sum()).sqrt()
    assert error.abs().max() < 4 and drawn[5] == 0  # within four standard deviations


def test_closest_pairs() -> None:
    x, y = batch(n=24, d=3, classes=6)
    unit = F.normalize(x.detach())
    pairs = closest(unit, y)
    d = torch.cdist(unit, unit)
    expected = []
    for a in range(24):
        others = sorted((float(d[a, j]), j) for j in range(24) if y[j] != y[a] and d[a, j] >= 0.5)
        expected += [(a, j) for _, j in others[:3]]  # as many as positives
    assert sorted(map(tuple, pairs.negative.tolist())) == sorted(expected)
    assert len(pairs.positive) == 24 * 3
    few = closest(at_distance(0.1, 0.3, 0.9), torch.tensor([0, 0, 1, 2]))  # one is too close, one is left
    assert [tuple(pair) for pair in few.negative.tolist() if pair[0] == 0] == [(0, 3)]


def test_distances() -> None:
    x, _ = batch()
    unit = F.normalize(x.detach())
    found = distances(unit)
    off = ~torch.eye(16, dtype=torch.bool)
    torch.testing.assert_close(found[off], torch.cdist(unit, unit)[off])
    assert (found.diagonal() == 0.01).all()


# Against a library


def test_the_loss_is_that_of_pytorch_metric_learning() -> None:
    from pytorch_metric_learning import losses

    x, y = batch(torch.float64, n=20, classes=5)
    unit = F.normalize(x)
    pairs = distance_weighted(unit.detach(), y, generator=torch.Generator().manual_seed(1))
    assert torch.equal(pairs.positive[:, 0], pairs.negative[:, 0])  # every anchor has one in reach
    theirs = losses.MarginLoss(margin=0.2, nu=0, beta=1.2)(
        x, y, (pairs.positive[:, 0], pairs.positive[:, 1], pairs.negative[:, 1])
    )
    ours = Margin().double().of_pairs(unit, pairs).total
    torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-7)
    for one, other in zip(torch.autograd.grad(ours, [x], retain_graph=True), torch.autograd.grad(theirs, [x])):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n", [4, 16, 64])
def test_the_distribution_is_that_of_pytorch_metric_learning(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytorch_metric_learning.miners import distance_weighted_miner as module

    x, y = batch(torch.float64, n=30, d=n, classes=6)
    x = F.normalize(x.detach() + 0.8 * torch.eye(n, dtype=torch.float64)[0])  # some in reach, some not
    seen = {}

    def watch(labels: Tensor, *, ref_labels: Tensor, weights: Tensor) -> tuple[Tensor, ...]:
        seen["weights"] = weights
        return (labels[:0],) * 3

    monkeypatch.setattr(module.lmu, "get_random_triplet_indices", watch)
    module.DistanceWeightedMiner(cutoff=0.5, nonzero_loss_cutoff=1.4)(x, y)
    ours = negative_weights(distances(x), y[:, None] != y[None], dimensions=n)
    torch.testing.assert_close(ours, seen["weights"], rtol=1e-6, atol=1e-12)
    assert (ours[y[:, None] != y[None]] == 0).any() and (ours.sum(1) > 0.999).all()


# Learners


def steps(network: nn.Module, loss: nn.Module, x: Tensor, y: Tensor, *, learner: tuple[int, ...] = ()) -> list[Tensor]:
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    dice = torch.Generator().manual_seed(4)
    states = []
    for _ in range(10):
        rows = torch.randperm(len(x), generator=dice)[:16]
        optimiser.zero_grad()
        loss(network(x[rows]), y[rows], *learner, generator=dice).total.backward()
        optimiser.step()
        states.append(torch.cat([p.detach().flatten().clone() for p in network.parameters()]))
    return states


def test_one_learner_is_plain_training() -> None:  # T1
    x, y = batch(torch.float32, n=40, d=12)
    x = x.detach()
    found = []
    for loss, learner in ((Margin(), ()), (Divided(8, learners=1), (0,)), (Divided(8, learners=4), (None,))):
        torch.manual_seed(0)
        found.append(steps(nn.Linear(12, 8), loss, x, y, learner=learner))  # type: ignore[arg-type]
    for plain, one, whole in zip(*found):
        assert torch.equal(plain, one) and torch.equal(plain, whole)
    assert not torch.equal(found[0][0], found[0][-1])


@pytest.mark.parametrize("normalised", [False, True])
def test_a_learner_moves_its_own_rows_only(normalised: bool) -> None:  # T2
    x, y = batch(torch.float32, d=12)
    body, last, loss = nn.Linear(12, 20), nn.Linear(20, 8), Divided(8, learners=4)
    for learner in range(4):
        for layer in (body, last):
            layer.zero_grad()
        embedding = last(torch.relu(body(x.detach())))
        embedding = parts_of(embedding, 4).flatten(1) if normalised else embedding
        loss(embedding, y, learner).total.backward()
        rows = slice_of(learner, learners=4, dimensions=8)
        assert last.weight.grad is not None and last.bias.grad is not None and body.weight.grad is not None
        others = torch.ones(8, dtype=torch.bool)
        others[rows] = False
        assert not last.weight.grad[others].any() and not last.bias.grad[others].any()
        assert last.weight.grad[rows].abs().sum(1).min() > 0
        assert body.weight.grad.abs().max() > 0
    last.zero_grad()
    loss(last(torch.relu(body(x.detach()))), y).total.backward()  # merged: every row
    assert last.weight.grad is not None and (last.weight.grad.abs().sum(1) > 0).all()


def test_learners_are_checked() -> None:
    with pytest.raises(ValueError, match="evenly"):
        Divided(10, learners=4)
    x, y = batch()
    for learner in (-1, 4):
        with pytest.raises(IndexError, match="0 to 3"):
            Divided(8, learners=4)(x, y, learner)


def test_slices_have_length_one_and_the_whole_the_root_of_their_number() -> None:  # T7
    x, _ = batch()
    parts = parts_of(x, 4)
    torch.testing.assert_close(parts.norm(dim=2), torch.ones(16, 4, dtype=torch.float64))
    torch.testing.assert_close(parts.flatten(1).norm(dim=1), torch.full((16,), math.sqrt(4), dtype=torch.float64))


def factors(seed: int, *, noise: float, other: float) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """People differ in two factors of three numbers. Training pictures of the even people tell the first of them, the
    second changes from picture to picture; of the odd ones the reverse. Test pictures tell both. All is turned.
    """
    g = torch.Generator().manual_seed(seed)
    turn = torch.linalg.qr(torch.randn(10, 10, generator=g))[0]

    def draw(people: int, *, trained: bool) -> tuple[Tensor, Tensor]:
        y = torch.arange(people).repeat_interleave(8)
        both = torch.randn(people, 2, 3, generator=g)[y]
        if trained:
            both[torch.arange(len(y)), 1 - y % 2] = other * torch.randn(len(y), 3, generator=g)
        x = F.pad(both.flatten(1), (0, 4))
        return (x + noise * torch.randn(x.shape, generator=g)) @ turn, y

    return *draw(40, trained=True), *draw(100, trained=False), turn


def learned(learners: int, seed: int, **world: float) -> tuple[float, float, Tensor]:
    """Mean |r| between dimensions of the two halves, Recall@1, and how strongly half i listens to factor j."""
    x, y, x_test, y_test, turn = factors(seed, **world)
    torch.manual_seed(seed)
    network, loss, d = nn.Linear(10, 16), Divided(16, learners=learners), torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    for step in range(120):
        learner = step % learners
        people = torch.randperm(40, generator=d)
        people = people[(people % 2 == learner) | (learners == 1)][:12]
        rows = (8 * people[:, None] + torch.rand(12, 8, generator=d).argsort(1)[:, :4]).flatten()
        optimiser.zero_grad()
        loss(network(x[rows]), y[rows], learner, generator=d).total.backward()
        optimiser.step()
    with torch.no_grad():
        embedding = parts_of(network(x_test), learners).flatten(1)
        listens = (network.weight @ turn.T)[:, :6].view(2, 8, 2, 3).square().sum((1, 3)).sqrt()
    nearest = torch.cdist(embedding, embedding).fill_diagonal_(torch.inf).argmin(1)
    between = np.abs(np.corrcoef(embedding.T.numpy()))[:8, 8:].mean()
    return float(between), float((y_test[nearest] == y_test).float().mean()), listens


@pytest.mark.parametrize("seed", [0, 1])
def test_learners_of_two_factors_say_different_things(seed: int) -> None:  # T8
    """Where the factors are nearly all there is, two learners are less alike than two halves of one."""
    (r_1, recall_1, even), (r_2, recall_2, own) = (learned(k, seed, noise=0.1, other=3.0) for k in (1, 2))
    assert r_2 < 0.75 * r_1, (r_1, r_2)
    assert recall_2 >= recall_1 - 0.005, (recall_1, recall_2)
    assert own.diagonal().min() > 3 * max(own[0, 1], own[1, 0])
    assert torch.allclose(even[0] / even[0].sum(), even[1] / even[1].sum(), atol=0.15)  # both halves hear the same


def test_learners_are_not_led_astray_by_noise() -> None:  # T8
    """With more noise two learners find far more. One learner's halves are hardly more alike then: it hears noise."""
    (_, recall_1, _), (_, recall_2, own) = (learned(k, 0, noise=0.2, other=2.0) for k in (1, 2))
    assert recall_2 > recall_1 + 0.1, (recall_1, recall_2)
    assert own.diagonal().min() > 2 * max(own[0, 1], own[1, 0])


def test_recall_never_falls_with_k() -> None:  # T9
    from facelens.analyses.retrieval import retrieve

    _, _, x, y, _ = factors(0, noise=0.6, other=1.0)
    vectors = parts_of(x[:, :8], 2).flatten(1).numpy()
    ids, people = np.arange(len(y), dtype=np.int64), y.numpy().astype(np.int32)
    found = retrieve(
        vectors, vectors, query_ids=ids, gallery_ids=ids, query_identity=people, gallery_identity=people,
        same_set=True, recalls=(1, 2, 3, 5, 10, 50, 799), resamples=0,
    )  # fmt: skip
    recall = [float(found.measures[f"Recall@{k}"].value or 0.0) for k in (1, 2, 3, 5, 10, 50, 799)]
    assert recall == sorted(recall) and 0.05 < recall[0] < recall[3] < recall[-1] == 1.0
