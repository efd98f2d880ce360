"""CosFace and ArcFace heads against their equations, at the ends of the cosine and with some of the classes."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from facelens.errors import InputError
from facelens.features.losses import margin
from facelens.features.losses.margin import (
    HEADS,
    ArcFace,
    CosFace,
    MarginHead,
    class_means,
    positions,
    sample_classes,
    unit_rows,
)

KINDS = [("cosface", {}), ("arcface", {}), ("arcface", {"beyond": "easy"}), ("arcface", {"beyond": "open"})]


def _naive(head: MarginHead, x: Tensor, labels: Tensor) -> float:
    """The mean cross entropy in Python numbers, one picture and one class at a time."""
    total = 0.0
    for row, label in zip(x.double().tolist(), labels.tolist()):
        logits = []
        for j, weight in enumerate(head.weight.double().tolist()):
            dot = sum(a * b for a, b in zip(row, weight))
            cosine = dot / math.sqrt(sum(a * a for a in row)) / math.sqrt(sum(b * b for b in weight))
            if j == label and isinstance(head, CosFace):
                cosine -= head.margin
            elif j == label and isinstance(head, ArcFace):
                angle = math.acos(cosine)
                if head.beyond == "line" and angle > math.pi - head.margin:
                    cosine -= head.margin * math.sin(math.pi - head.margin)
                elif not (head.beyond == "easy" and angle >= math.pi / 2):
                    cosine = math.cos(angle + head.margin)
            logits.append(head.scale * cosine)
        top = max(logits)
        total += top + math.log(sum(math.exp(value - top) for value in logits)) - logits[label]
    return total / len(x)


def _case(kind: str, options: dict[str, Any], *, dtype: torch.dtype) -> tuple[MarginHead, Tensor, Tensor]:
    torch.manual_seed(1)
    head = HEADS[kind](5, 3, scale=16.0, **options).to(dtype)
    x = torch.randn(12, 3, dtype=dtype) * 7
    labels = torch.arange(12) % 5
    x[0] = -head.weight[0].detach() * 3 + 0.1 * x[0]  # one beyond pi - m
    return head, x, labels


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_heads_follow_their_equation(kind: str, options: dict[str, Any], dtype: torch.dtype) -> None:
    head, x, labels = _case(kind, options, dtype=dtype)
    angle = torch.acos(head.cosines(x).gather(1, labels[:, None]))
    assert (angle > math.pi - head.margin).any() and (angle < math.pi / 2).any()
    terms = head(x, labels)
    assert list(terms.named) == ["classification"] and terms.total.dtype == dtype
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    assert float(terms.total.detach()) == pytest.approx(_naive(head, x, labels), rel=tolerance)


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_gradients_of_heads(kind: str, options: dict[str, Any]) -> None:
    head, x, labels = _case(kind, options, dtype=torch.float64)
    weight = head.weight.detach().clone().requires_grad_()

    def loss(x: Tensor, weight: Tensor) -> Tensor:
        del head.weight
        head.weight = weight  # type: ignore[assignment]
        return head.loss(x, labels)

    assert torch.autograd.gradcheck(loss, (x.requires_grad_(), weight), fast_mode=True)


def test_gradient_of_cosface_in_closed_form() -> None:
    """d/dx = s / ||x|| sum_j (p_j - [j = y]) (w_j - cos_j n(x)), with p taken with the margin."""
    head, x, labels = _case("cosface", {}, dtype=torch.float64)
    x.requires_grad_()
    head.loss(x, labels).backward()
    assert x.grad is not None
    with torch.no_grad():
        error = head.logits(x, labels).softmax(1) - torch.nn.functional.one_hot(labels, 5)
        cosine, length = head.cosines(x), x.norm(dim=1, keepdim=True)
        closed = 16 / length * (error @ unit_rows(head.weight) - (error * cosine).sum(1, keepdim=True) * x / length)
    torch.testing.assert_close(x.grad, closed / len(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_gradient_is_finite_where_vector_and_prototype_coincide(
    kind: str, options: dict[str, Any], sign: float, dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    head = HEADS[kind](3, 4, prototypes=torch.eye(4)[:3], **options).to(dtype)
    offsets = torch.tensor([0.0, 1e-9, 1e-6, 1e-4, 1e-3], dtype=dtype)
    x = sign * torch.eye(4, dtype=dtype)[:1].repeat(5, 1)
    x[:, 3] = offsets  # the first row's cosine is exactly +-1, the next ones all but
    x.requires_grad_()
    assert float(head.cosines(x)[0, 0].detach()) == sign
    head.loss(x, torch.zeros(5, dtype=torch.int64)).backward()
    for gradient in (x.grad, head.weight.grad):
        assert gradient is not None and gradient.isfinite().all() and gradient.abs().max() < 1e3


def test_margin_lowers_the_target_without_a_step_back() -> None:
    angle = torch.linspace(0, math.pi, 2001, dtype=torch.float64)
    line, easy, open_ = (ArcFace(2, 2, beyond=name).with_margin(angle.cos()) for name in ("line", "easy", "open"))
    inside = angle < math.pi - 0.5
    torch.testing.assert_close(line[inside], (angle + 0.5).cos()[inside], rtol=0, atol=1e-6)
    assert (line.diff() < 0).all() and not (open_.diff() < 0).all()
    torch.testing.assert_close(easy[angle > math.pi / 2], angle.cos()[angle > math.pi / 2])
    assert (line <= angle.cos()).all() and float(line[-1]) == pytest.approx(-1 - 0.5 * math.sin(0.5))
    with pytest.raises(ValueError, match="sideways"):
        ArcFace(2, 2, beyond="sideways")


@pytest.mark.parametrize("scale", [16.0, 64.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ["cosface", "arcface"])
def test_equal_to_pytorch_metric_learning(kind: str, dtype: torch.dtype, scale: float) -> None:
    from pytorch_metric_learning import losses

    torch.manual_seed(3)
    head = HEADS[kind](7, 12, scale=scale).to(dtype)
    if kind == "cosface":
        peer = losses.CosFaceLoss(7, 12, margin=head.margin, scale=scale)
    else:
        peer = losses.ArcFaceLoss(7, 12, margin=math.degrees(head.margin), scale=scale)
    peer.W.data = head.weight.detach().T.clone()
    x, labels = torch.randn(40, 12, dtype=dtype), torch.arange(40) % 7
    x[:7] = -head.weight.detach() + 0.05 * x[:7]  # beyond pi - m
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    found, wanted = head.loss(ours, labels), peer(theirs, labels)
    torch.testing.assert_close(found, wanted)
    found.backward()
    wanted.backward()
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 1e-7, "atol": 1e-9}
    torch.testing.assert_close(ours.grad, theirs.grad, **tolerance)
    torch.testing.assert_close(head.weight.grad, peer.W.grad.T, **tolerance)


@pytest.mark.parametrize("kind", ["cosface", "arcface"])
def test_some_classes_are_a_smaller_classifier(kind: str) -> None:
    torch.manual_seed(0)
    head = HEADS[kind](20, 6)
    x, labels = torch.randn(8, 6), torch.tensor([3, 17, 3, 5, 17, 9, 5, 3])
    classes = torch.tensor([1, 3, 5, 9, 12, 17])
    small = head.like(head.weight[classes])
    found = head.loss(x, labels, classes=classes)
    torch.testing.assert_close(found, small.loss(x, torch.tensor([1, 5, 1, 2, 5, 3, 2, 1])))
    found.backward()
    assert head.weight.grad is not None
    touched = head.weight.grad.abs().sum(1) > 0
    assert touched.nonzero()[:, 0].tolist() == classes.tolist()
    torch.testing.assert_close(head.loss(x, labels, classes=torch.arange(20)), head.loss(x, labels))
    for lacking in (classes[:-1], classes[[0, 2, 3, 4, 5]]):
        with pytest.raises(ValueError, match="lack a label"):
            head.loss(x, labels, classes=lacking)


def test_sampled_classes_hold_the_batch() -> None:
    labels = torch.tensor([7, 2, 7, 90])
    torch.manual_seed(0)
    chosen = sample_classes(labels, 100, count=10)
    assert len(chosen) == 10 == len(set(chosen.tolist())) and {2, 7, 90} <= set(chosen.tolist())
    assert chosen.tolist() == sorted(chosen.tolist()) and int(chosen.max()) < 100
    assert chosen[positions(labels, chosen)].tolist() == labels.tolist()
    torch.manual_seed(0)
    assert torch.equal(chosen, sample_classes(labels, 100, count=10))
    assert not torch.equal(chosen, sample_classes(labels, 100, count=10))
    assert sample_classes(labels, 100, count=2).tolist() == [2, 7, 90]
    assert sample_classes(labels, 100, count=1000).tolist() == list(range(100))


@pytest.mark.parametrize("kind", ["cosface", "arcface"])
def test_zero_vectors_move_nothing(kind: str) -> None:
    head = HEADS[kind](3, 4)
    x = torch.zeros(2, 4, requires_grad=True)
    loss = head.loss(x, torch.tensor([0, 1]))
    loss.backward()
    assert loss.isfinite() and x.grad is not None and (x.grad == 0).all()
    assert torch.equal(unit_rows(torch.tensor([[3.0, 4.0], [1e-13, 0.0]])), torch.tensor([[0.6, 0.8], [0.0, 0.0]]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", ["cosface", "arcface"])
def test_half_precision_is_computed_in_single(kind: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    head = HEADS[kind](6, 8)
    x, labels = torch.randn(5, 8).to(dtype), torch.arange(5)
    wanted = head.loss(x.float(), labels)
    x.requires_grad_()
    found = head.loss(x, labels)
    found.backward()
    assert found.dtype == torch.float32 and torch.equal(found, wanted)
    assert x.grad is not None and x.grad.dtype == dtype and x.grad.isfinite().all()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(head.loss(x.float(), labels), wanted)


@pytest.mark.parametrize("kind", ["cosface", "arcface"])
def test_one_class_and_one_picture(kind: str) -> None:
    x = torch.randn(1, 4, requires_grad=True)
    assert float(HEADS[kind](1, 4).loss(x, torch.tensor([0])).detach()) == 0
    loss = HEADS[kind](5, 4).loss(x, torch.tensor([4]))
    loss.backward()
    assert loss.isfinite() and x.grad is not None and x.grad.isfinite().all()


def test_heads_start_at_given_rows() -> None:
    rows = torch.randn(4, 3) * 9
    head = ArcFace.of(rows, frozen=True, scale=16.0, beyond="easy")
    torch.testing.assert_close(head.weight.data, torch.nn.functional.normalize(rows))
    assert not head.weight.requires_grad and (head.classes, head.dimensions) == (4, 3)
    copy = head.like(rows[:2], margin=0.1)
    assert (copy.scale, copy.margin, copy.beyond, copy.classes) == (16.0, 0.1, "easy", 2)
    assert CosFace(4, 3).weight.requires_grad
    torch.testing.assert_close(CosFace(4, 3).weight.norm(dim=1).detach(), torch.ones(4))
    with pytest.raises(ValueError, match=r"\(4, 3\), not \(4, 5\)"):
        CosFace(4, 5, prototypes=rows)
    rows[2] = 0
    with pytest.raises(InputError, match="1 of 4 classes have no prototype, the first is class 2"):
        CosFace.of(rows)


def test_presets() -> None:
    paper, repo = (CosFace(2, 2, **margin.PRESETS[name]["cosface"]) for name in ("paper", "repo-compatible"))
    assert (paper.scale, paper.margin, repo.scale, repo.margin) == (64, 0.35, 64, 0.40)
    assert (CosFace(2, 2).margin, ArcFace(2, 2).margin) == (0.35, 0.5)


def test_class_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(margin, "CHUNK", 7)
    torch.manual_seed(0)
    x, labels = torch.randn(30, 5) * torch.rand(30, 1) * 50, torch.randint(0, 4, (30,))
    seen: list[tuple[int, int]] = []
    means, counts = class_means(x, labels, classes=5, tick=lambda done, total, note="": seen.append((done, total)))
    for j in range(4):
        unit = [row / row.norm() for row, label in zip(x, labels) if label == j]
        mean = sum(unit, start=torch.zeros(5)) / len(unit)
        torch.testing.assert_close(means[j], mean / mean.norm())
        assert int(counts[j]) == len(unit)
    assert (means[4] == 0).all() and int(counts[4]) == 0 and means.dtype == torch.float32
    assert seen[0] == (0, 30) and len(seen) == 5
    assert class_means(x.double(), labels)[0].dtype == torch.float64
