"""Attributes without identity: against loops over their equations, and a toy where a person hides in an attribute."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from facelens.features.losses.attributes import Attributes, anonymity, appended, attribution, mine
from facelens.features.models.cnn4 import CNN4

B, A, N, D = 6, 3, 5, 8
DTYPES = [torch.float32, torch.float64]


def close(a: Tensor, b: Tensor) -> None:
    tolerance = 1e-12 if a.dtype == torch.float64 else 2e-5
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def _labels() -> Tensor:
    labels = torch.tensor([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 1], [0.25, 0.5, 1.0], [1, 0, 0]])
    labels[1, 2] = labels[3, 0] = math.nan
    return labels


def _naive_attribution(told: Tensor, labels: Tensor) -> Tensor:
    rows = []
    for i in range(len(told)):
        cost = told.new_zeros(())
        for a in range(told.shape[1]):
            target = float(labels[i, a])
            if math.isnan(target):
                continue
            p = 1 / (1 + torch.exp(-told[i, a]))
            cost = cost - target * torch.log(p) - (1 - target) * torch.log(1 - p)
        rows.append(cost)
    return torch.stack(rows)


def _naive_anonymity(told: Tensor) -> Tensor:
    rows = []
    for i in range(len(told)):
        whole = sum(torch.exp(told[i, c]) for c in range(told.shape[1]))
        rows.append(-sum(torch.log(torch.exp(told[i, c]) / whole) for c in range(told.shape[1])) / told.shape[1])
    return torch.stack(rows)


@pytest.mark.parametrize("dtype", DTYPES)
def test_terms_and_gradients_are_those_of_the_equations(dtype):
    torch.manual_seed(0)
    loss = Attributes(D, A, identities=N, weights={"adversarial": 0.5}).to(dtype)
    ours, naive = (torch.randn(B, D, dtype=dtype).requires_grad_() for _ in range(2))
    naive.data.copy_(ours.data)
    found = loss(ours, _labels())
    attribute = _naive_attribution(naive @ loss.classifier.weight.T + loss.classifier.bias, _labels()).mean()
    weight, bias = loss.discriminator.weight.detach(), loss.discriminator.bias.detach()
    adversarial = _naive_anonymity(naive @ weight.T + bias).mean()
    close(found.named["attribute"], attribute.detach())
    close(found.named["adversarial"], adversarial.detach())
    close(found.total, attribute + 0.5 * adversarial)
    found.total.backward()
    (attribute + 0.5 * adversarial).backward()
    close(ours.grad, naive.grad)
    assert ours.grad.isfinite().all()


def test_nobody_is_least_where_all_are_as_likely():
    told = torch.zeros(2, N, dtype=torch.float64, requires_grad=True)
    lowest = anonymity(told)
    close(lowest, torch.full((2,), math.log(N), dtype=torch.float64))
    lowest.sum().backward()
    assert told.grad.abs().max() < 1e-15
    assert (anonymity(torch.randn(50, N)) > math.log(N)).all()


def test_large_logits_stay_finite():
    told = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    total = attribution(told, torch.tensor([[0.0, 1.0, math.nan]])).sum() + anonymity(told).sum()
    total.backward()
    assert total.isfinite() and told.grad.isfinite().all()


def test_an_unknown_attribute_teaches_nothing():
    told = torch.randn(B, A, requires_grad=True)
    attribution(told, _labels()).sum().backward()
    assert told.grad[1, 2] == told.grad[3, 0] == 0 and (told.grad != 0).sum() == B * A - 2


def test_each_side_trains_its_own():
    loss = Attributes(D, A, identities=N)
    features = torch.randn(B, D, requires_grad=True)
    loss(features, _labels()).total.backward()
    assert features.grad.abs().sum() > 0 and loss.discriminator.weight.grad is None
    assert all(one.grad is not None for one in loss.own_parameters())
    features.grad = None
    loss.zero_grad(set_to_none=True)
    loss.discriminate(features, torch.arange(B) % N).total.backward()
    assert features.grad is None and loss.classifier.weight.grad is None
    assert all(one.grad is not None for one in loss.discriminator_parameters())


def test_wrong_shapes_and_weights_are_refused():
    with pytest.raises(ValueError, match="attributes are"):
        Attributes(D, A, identities=N)(torch.randn(B, D), torch.zeros(B, A + 1))
    with pytest.raises(ValueError, match="unknown"):
        Attributes(D, A, identities=N, weights={"identity": 1.0})


def _toy(adversarial: float) -> tuple[float, float]:
    """Accuracy of the attribute, and the share of what varies that people explain, with this much of the term."""
    torch.manual_seed(1)
    people, each = 4, 40
    labels = torch.arange(people).repeat_interleave(each)
    attribute = torch.randint(0, 2, (len(labels), 1)).float()
    x = torch.cat([nn.functional.one_hot(labels).float() * 2, attribute * 2], 1) + 0.1 * torch.randn(len(labels), 5)
    network = nn.Linear(5, 4)
    loss = Attributes(4, 1, identities=people, weights={"adversarial": adversarial})
    ours = torch.optim.Adam([*network.parameters(), *loss.own_parameters()], lr=0.02)
    other = torch.optim.Adam(loss.discriminator_parameters(), lr=0.05)
    for _ in range(150):
        f = network(x)
        other.zero_grad()
        loss.discriminate(f, labels).total.backward()
        other.step()
        ours.zero_grad()
        loss(f, attribute).total.backward()
        ours.step()
    f = network(x).detach()
    right = ((loss.classifier(f) > 0) == (attribute > 0.5)).float().mean()
    centres = torch.stack([f[labels == c].mean(0) for c in range(people)])
    return float(right), float(centres.var(0, correction=0).sum() / f.var(0, correction=0).sum())


def test_the_adversary_takes_identities_out_and_leaves_the_attribute():
    with_it, without = _toy(3.0), _toy(0.0)
    assert with_it[0] > 0.97 and without[0] > 0.97
    assert with_it[1] < 0.5 * without[1], (with_it, without)


def test_mined_labels_follow_those_of_what_was_done():
    torch.manual_seed(0)
    network, loss = CNN4(), Attributes(512, A, identities=N)
    network.train()
    pictures = torch.randn(5, 3, 16, 16)
    done: list[int] = []
    mined = mine(network, loss.classifier, pictures.split(2), total=5, tick=lambda i, n, note="": done.append(i))
    assert network.training and done == [0, 2, 4]
    assert mined.shape == (5, A) and ((mined > 0) & (mined < 1)).all() and not mined.requires_grad
    torch.testing.assert_close(
        mined, mine(network, loss.classifier, [pictures]), rtol=1e-4, atol=1e-5
    )  # batches do not matter
    u = torch.tensor([[1, 0]] * 5, dtype=torch.uint8)
    both = appended(u, mined)
    assert both.shape == (5, 2 + A) and torch.equal(both[:, :2], u.float()) and torch.equal(both[:, 2:], mined)
    assert mine(network, loss.classifier, []).shape == (0, A)
    with pytest.raises(ValueError, match="mined"):
        appended(u[:3], mined)
