"""LCE, BCT and L2 against their equations, and small upgrades trained with them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from facelens.errors import InputError
from facelens.features.losses import compatible, margin
from facelens.features.losses.compatible import (
    BCT,
    L2,
    LCE,
    Cones,
    FrozenLCE,
    Upper,
    alignment,
    boundary,
    class_cones,
    point_distance,
    pseudo_classifier,
)
from facelens.features.losses.margin import ArcFace, CosFace, class_means, unit_rows
from facelens.features.models.compatible import Compatible

DTYPES = [torch.float32, torch.float64]


def _unit(row: list[float]) -> list[float]:
    length = math.sqrt(sum(v * v for v in row))
    return [v / length for v in row]


def _dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b))


def _squared(a: list[float], b: list[float]) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b))


def _times(matrix: Tensor, row: list[float]) -> list[float]:
    return [_dot(weights, row) for weights in matrix.double().tolist()]


def _tolerance(dtype: torch.dtype) -> dict[str, Any]:
    return {"rtol": 1e-5, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 1e-12, "atol": 1e-14}


def _old(dtype: torch.dtype, *, dimensions: int = 4) -> tuple[Tensor, Tensor, Cones]:
    """Old vectors of 6 classes, and their cones; class 4 has one picture, class 5 none."""
    torch.manual_seed(5)
    labels = torch.tensor([0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 4])
    vectors = (torch.randn(6, dimensions)[labels] + 0.3 * torch.randn(11, dimensions)).to(dtype) * 5
    return vectors, labels, class_cones(vectors, labels, classes=6)


def _linear(old: int, new: int, dtype: torch.dtype) -> Compatible:
    transforms = Compatible(old, new, kind="linear").to(dtype)
    for parameter in transforms.parameters():
        nn.init.normal_(parameter)
    return transforms


@pytest.mark.parametrize("dtype", DTYPES)
def test_cones(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(margin, "CHUNK", 4)
    monkeypatch.setattr(compatible, "CHUNK", 4)
    vectors, labels, cones = _old(dtype)
    assert cones.centres.dtype == cones.boundaries.dtype == dtype
    for j in range(5):
        members = [_unit(row) for row, label in zip(vectors.double().tolist(), labels.tolist()) if label == j]
        centre = _unit([sum(column) for column in zip(*members)])
        widest = min(_dot(member, centre) for member in members)
        torch.testing.assert_close(cones.centres[j], torch.tensor(centre, dtype=dtype), **_tolerance(dtype))
        torch.testing.assert_close(cones.boundaries[j], torch.tensor(widest, dtype=dtype), **_tolerance(dtype))
    assert cones.counts.tolist() == [3, 2, 2, 3, 1, 0]
    assert cones.known.tolist() == [True] * 5 + [False]
    assert cones.usable.tolist() == [True] * 4 + [False] * 2  # one picture is a point, not a cone
    assert float(cones.boundaries[5]) == -1 and (cones.centres[5] == 0).all()


def test_cones_without_a_direction_or_width() -> None:
    a, b = torch.tensor([1.0, 0.0]), torch.tensor([0.6, 0.8])
    cones = class_cones(torch.stack([a, -a, b, b * 3, 0 * a]), torch.tensor([0, 0, 1, 1, 2]))
    assert cones.known.tolist() == [False, True, False]  # opposites cancel, zeros are nothing
    assert cones.usable.tolist() == [False] * 3  # the same picture twice is a point
    assert cones.boundaries.isfinite().all()
    half = class_cones(torch.stack([a, b]).half(), torch.tensor([0, 0]))
    assert half.centres.dtype == torch.float32 and half.usable.tolist() == [True]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scaling", ["element", "class"])
@pytest.mark.parametrize(("d1", "d2", "through"), [(4, 4, False), (4, 4, True), (4, 6, True), (6, 3, True)])
def test_lce_follows_its_equations(dtype: torch.dtype, scaling: str, d1: int, d2: int, through: bool) -> None:
    _, _, cones = _old(dtype, dimensions=d1)
    head = CosFace(6, d2).to(dtype)
    head.weight.data *= 3  # rows need not be unit
    transforms = _linear(d1, d2, dtype) if through else None
    new, labels = torch.randn(7, d2, dtype=dtype) * 4, torch.tensor([0, 1, 2, 3, 4, 5, 0])

    w1, w2 = cones.centres.double().tolist()[:5], [_unit(row) for row in head.weight.double().tolist()[:5]]
    if transforms is None:
        wanted = sum(_squared(a, b) for a, b in zip(w2, w1)) / 5 / (d1 if scaling == "element" else 1)
    else:
        t12, t21 = (t.matrix.weight for t in (transforms.old_to_new, transforms.new_to_old))
        ahead = sum(_squared(b, _times(t12, a)) for a, b in zip(w1, w2)) / 5 / (d2 if scaling == "element" else 1)
        back = sum(_squared(_times(t21, b), a) for a, b in zip(w1, w2)) / 5 / (d1 if scaling == "element" else 1)
        wanted = (ahead + back) / 2
    outside = 0.0
    for row, label in zip(new.double().tolist(), labels.tolist()):
        if label < 5:  # the old model knows no class 5
            mapped = _unit(row) if transforms is None else _unit(_times(t21, _unit(row)))
            cosine = _dot(mapped, w1[label])
            outside += max(0.0, float(cones.boundaries[label]) - 0.1 - cosine) / 7

    loss = LCE(cones, head, transforms=transforms, scaling=scaling, slack=0.1)
    terms = loss(new, labels)
    assert list(terms.named) == ["classification", "alignment", "boundary"]
    found = torch.stack([terms.named["alignment"], terms.named["boundary"]])
    torch.testing.assert_close(found, torch.tensor([wanted, outside], dtype=dtype), **_tolerance(dtype))
    torch.testing.assert_close(terms.named["classification"], head.loss(new, labels).detach())
    total = terms.named["classification"] + 100 * terms.named["alignment"] + terms.named["boundary"]
    torch.testing.assert_close(terms.total.detach(), total)


def test_per_class_scaling_is_the_element_mean_times_dimensions() -> None:
    a, b = torch.randn(5, 8, dtype=torch.float64), torch.randn(5, 8, dtype=torch.float64)
    torch.testing.assert_close(alignment(a, b, scaling="class"), 8 * alignment(a, b))
    torch.testing.assert_close(alignment(a, b, scaling="class"), point_distance(a, b))
    with pytest.raises(ValueError, match="row"):
        alignment(a, b, scaling="row")


@pytest.mark.parametrize("through", [False, True])
def test_nothing_to_pay_when_aligned_and_inside(through: bool) -> None:
    """Exactly nothing; transforms start as the identity."""
    cones = Cones(torch.eye(4), torch.full((4,), 0.9), torch.full((4,), 2))
    loss = LCE(cones, CosFace.of(torch.eye(4)), transforms=Compatible(4, 4) if through else None)
    terms = loss(torch.eye(4) * 3 + 0.5, torch.arange(4)).named
    assert float(terms["alignment"]) == 0 and float(terms["boundary"]) == 0
    assert float(loss(torch.eye(4) * 3 + 2, torch.arange(4)).named["boundary"]) > 0


def test_old_vectors_lie_inside_their_own_cones() -> None:
    vectors, labels, cones = _old(torch.float64)
    assert float(boundary(vectors, labels, cones=cones)) < 1e-15


def test_boundary_gradient_is_the_tangent_or_nothing() -> None:
    """-(w1 - cos n(f)) / (B ||f||) outside the cone; 0 inside and on its rim."""
    _, _, cones = _old(torch.float64)
    torch.manual_seed(0)
    labels = torch.arange(60) % 4
    spread = torch.linspace(0, 0.6, 60, dtype=torch.float64)[:, None]
    new = (cones.centres[labels] + spread * torch.randn(60, 4, dtype=torch.float64)) * 3
    new.requires_grad_()
    boundary(new, labels, cones=cones).backward()
    with torch.no_grad():
        f, w = unit_rows(new), cones.centres[labels]
        cosine = (f * w).sum(1, keepdim=True)
        outside = cosine < cones.boundaries[labels][:, None]
        closed = torch.where(outside, -(w - cosine * f) / new.norm(dim=1, keepdim=True) / 60, 0.0)
    assert 10 < int(outside.sum()) < 50
    torch.testing.assert_close(new.grad, closed)
    assert torch.equal((new.grad != 0).any(1, keepdim=True), outside)
    rim = torch.eye(2, dtype=torch.float64)[:1].requires_grad_()
    boundary(
        rim, torch.tensor([0]), cones=Cones(rim.detach(), torch.ones(1), torch.ones(1, dtype=torch.int64))
    ).backward()
    assert rim.grad is not None and (rim.grad == 0).all()


def test_slack_widens_the_cones() -> None:
    _, _, cones = _old(torch.float64)
    labels = torch.tensor([0, 1, 2, 3])
    new = torch.randn(4, 4, dtype=torch.float64)
    losses = [float(boundary(new, labels, cones=cones, slack=slack)) for slack in (0.0, 0.2, 2.0)]
    assert losses[0] > losses[1] > losses[2] == 0
    wide = cones._replace(boundaries=cones.boundaries - 0.2)
    assert losses[1] == pytest.approx(float(boundary(new, labels, cones=wide)), rel=1e-12)


@pytest.mark.parametrize("through", [False, True])
def test_gradients(through: bool) -> None:
    old, old_labels, cones = _old(torch.float64)
    transforms = _linear(4, 4, torch.float64) if through else None
    head = CosFace(6, 4, scale=8.0).double()
    new, labels = torch.randn(11, 4, dtype=torch.float64) * 3, old_labels
    modules = [
        lambda x: LCE(cones, head, transforms=transforms)(x, labels).total,
        lambda x: L2(head, transforms=transforms)(x, labels, old=old).total,
        lambda x: BCT(head, CosFace(6, 4, prototypes=torch.randn(6, 4)).double())(x, labels).total,
    ]
    for module in modules:
        state = torch.get_rng_state()

        def repeatable(x: Tensor, module: Any = module, state: Tensor = state) -> Tensor:
            torch.set_rng_state(state)
            total: Tensor = module(x)
            return total

        assert torch.autograd.gradcheck(repeatable, (new.requires_grad_(),), fast_mode=True)
    if transforms is not None:
        loss = LCE(cones, head, transforms=transforms)
        loss(new, labels).total.backward()
        assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in loss.parameters())
        assert len(list(loss.parameters())) == 3  # the optimiser is given the head and both transforms


def test_alignment_gradient_in_closed_form() -> None:
    """d/dw = 2 / (n d) times the tangent part of (n(w) - w1), over ||w||."""
    _, _, cones = _old(torch.float64)
    rows = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    alignment(rows, cones.centres[:5]).backward()
    w, length = unit_rows(rows.detach()), rows.detach().norm(dim=1, keepdim=True)
    pull = w - cones.centres[:5]
    torch.testing.assert_close(rows.grad, 2 / 20 * (pull - (pull * w).sum(1, keepdim=True) * w) / length)


def test_many_classes_are_sampled() -> None:
    torch.manual_seed(0)
    centres = unit_rows(torch.randn(50, 4))
    centres[7] = 0
    cones = Cones(centres, torch.zeros(50), torch.full((50,), 3))
    head = CosFace(50, 4)
    labels = torch.tensor([3, 7, 41])
    loss = LCE(cones, head, sampled=10)
    chosen: list[Tensor] = []
    for _ in range(2):
        head.weight.grad = None
        terms = loss.terms(torch.randn(3, 4), labels, rows=head.weight)
        terms["alignment"].backward()
        assert head.weight.grad is not None
        chosen.append((head.weight.grad.abs().sum(1) > 0).nonzero()[:, 0])
        classes = chosen[-1]
        assert len(classes) == 9 and {3, 41} <= set(classes.tolist())  # 10, without the class that has no centre
        torch.testing.assert_close(terms["alignment"], alignment(head.weight[classes], centres[classes]))
    assert not torch.equal(*chosen)
    # all of them where they are few enough
    everything = LCE(cones, head, sampled=50).terms(torch.randn(3, 4), labels, rows=head.weight)["alignment"]
    known = cones.known
    torch.testing.assert_close(everything, alignment(head.weight[known], centres[known]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_frozen_models_train_transforms_alone(dtype: torch.dtype) -> None:
    _, _, cones = _old(dtype)
    new, labels = torch.randn(12, 5, dtype=dtype), torch.arange(12) % 4
    centres, _ = class_means(new, labels, classes=6)  # the new model has no pictures of classes 4 and 5
    transforms = _linear(4, 5, dtype)
    loss = FrozenLCE(cones, centres, transforms=transforms)
    new.requires_grad_()
    terms = loss(new, labels)
    assert list(terms.named) == ["alignment", "boundary"]
    wanted = alignment(centres[:4], cones.centres[:4], transforms=transforms)
    torch.testing.assert_close(terms.named["alignment"], wanted.detach())
    torch.testing.assert_close(
        terms.named["boundary"], boundary(new, labels, cones=cones, transforms=transforms).detach()
    )
    terms.total.backward()
    assert new.grad is None
    assert {id(p) for p in loss.parameters()} == {id(p) for p in transforms.parameters()}
    assert all(p.grad is not None for p in loss.parameters())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d2", [4, 7])
def test_bct_follows_its_equation(dtype: torch.dtype, d2: int) -> None:
    vectors, labels, _ = _old(dtype)
    rows = pseudo_classifier(vectors, labels)
    head = ArcFace(5, d2, scale=16.0, beyond="easy").to(dtype)
    loss = BCT.of_prototypes(head, rows, weight=0.5).to(dtype)
    assert (loss.old_head.scale, loss.old_head.margin, loss.old_head.beyond) == (16.0, 0.5, "easy")
    new = torch.randn(11, d2, dtype=dtype) * 3
    terms = loss(new, labels)
    old_head = ArcFace.of(rows, scale=16.0, beyond="easy").to(dtype)
    first, second = head.loss(new, labels), old_head.loss(new[:, :4], labels)
    assert list(terms.named) == ["classification", "compatibility"]
    torch.testing.assert_close(terms.named["compatibility"], second.detach())
    torch.testing.assert_close(terms.total, first + 0.5 * second)
    terms.total.backward()
    assert loss.old_head.weight.grad is None and head.weight.grad is not None
    assert old_head.weight.requires_grad
    assert BCT(head, old_head).weights == {"compatibility": 1.0}
    assert not old_head.weight.requires_grad  # fixed from here on, wherever it came from

    plain = BCT.of_prototypes(head, rows, preset="repo-compatible").to(dtype)
    cosine = unit_rows(new[:, :4]) @ unit_rows(rows).T
    wanted = nn.functional.cross_entropy(cosine, labels)
    torch.testing.assert_close(plain(new, labels).named["compatibility"], wanted, **_tolerance(torch.float32))
    with pytest.raises(ValueError, match="journal"):
        BCT.of_prototypes(head, rows, preset="journal")


def test_bct_refuses_fewer_dimensions() -> None:
    with pytest.raises(InputError, match="old model has 48 dimensions, the new one 32: BCT cannot") as caught:
        BCT.of_prototypes(CosFace(3, 32), torch.randn(3, 48))
    assert caught.value.hint is not None and "LCE" in caught.value.hint
    BCT.of_prototypes(CosFace(3, 48), torch.randn(3, 32))


def test_pseudo_classifier_takes_old_rows_where_there_are_some() -> None:
    vectors, labels, cones = _old(torch.float32)
    torch.testing.assert_close(pseudo_classifier(vectors, labels), cones.centres[:5])
    old_rows = torch.randn(3, 4) * 8
    rows = pseudo_classifier(vectors, labels, classes=6, old_rows=old_rows, old_labels=torch.tensor([5, -1, 2]))
    torch.testing.assert_close(rows[[5, 2]], unit_rows(old_rows[[0, 2]]))
    torch.testing.assert_close(rows[[0, 1, 3, 4]], cones.centres[[0, 1, 3, 4]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_l2_follows_its_equation(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    head, labels = CosFace(3, 5).to(dtype), torch.arange(6) % 3
    new, old = torch.randn(6, 5, dtype=dtype) * 3, torch.randn(6, 5, dtype=dtype) * 0.1
    rows = list(zip(new.double().tolist(), old.double().tolist()))
    direct = sum(_squared(_unit(a), _unit(b)) for a, b in rows) / 6
    terms = L2(head, weight=2.0)(new, labels, old=old.requires_grad_())
    assert list(terms.named) == ["classification", "distance"]
    torch.testing.assert_close(terms.named["distance"], torch.tensor(direct, dtype=dtype), **_tolerance(dtype))
    torch.testing.assert_close(terms.total.detach(), head.loss(new, labels).detach() + 2 * terms.named["distance"])
    terms.total.backward()
    assert old.grad is None  # stored vectors do not move

    transforms = _linear(4, 5, dtype)
    old = old.detach()[:, :4]
    t12, t21 = (t.matrix.weight for t in (transforms.old_to_new, transforms.new_to_old))
    both = 0.0
    for a, b in zip(new.double().tolist(), old.double().tolist()):
        both += _squared(_unit(_times(t21, a)), _unit(b)) / 12 + _squared(_unit(a), _unit(_times(t12, b))) / 12
    found = L2(head, transforms=transforms)(new, labels, old=old).named["distance"]
    torch.testing.assert_close(found, torch.tensor(both, dtype=dtype), **_tolerance(dtype))
    with pytest.raises(InputError, match="4 dimensions, the new one 5"):
        L2(head)(new, labels, old=old)


@pytest.mark.parametrize(("d1", "d2"), [(4, 6), (6, 4), (5, 5)])
def test_l2_of_openbct(d1: int, d2: int) -> None:
    new, old = torch.randn(8, d2), torch.randn(8, d1)
    terms = L2.of_preset("repo-compatible")(new, torch.zeros(8, dtype=torch.int64), old=old)
    assert list(terms.named) == ["distance"]  # no classification
    d = min(d1, d2)
    wanted = nn.functional.mse_loss(nn.functional.normalize(new[:, :d]), nn.functional.normalize(old[:, :d]))
    torch.testing.assert_close(terms.total, wanted)
    paper = L2.of_preset("paper", head=CosFace(2, d2))
    assert paper.head is not None and not paper.cut and paper.scaling == "class"
    with pytest.raises(ValueError, match="give a head"):
        L2.of_preset("paper")


def test_point_distance_is_two_minus_two_cosines() -> None:
    a, b = torch.randn(30, 8, dtype=torch.float64), torch.randn(30, 8, dtype=torch.float64)
    wanted = 2 - 2 * torch.cosine_similarity(a, b).mean()
    torch.testing.assert_close(point_distance(a, b), wanted, rtol=1e-12, atol=1e-12)


def test_upper_classifies_only() -> None:
    head, x, labels = CosFace(3, 4), torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
    terms = Upper(head)(x, labels)
    assert list(terms.named) == ["classification"] and torch.equal(terms.total, head.loss(x, labels))


def test_what_does_not_fit_is_refused() -> None:
    _, _, cones = _old(torch.float32)
    with pytest.raises(InputError, match="4 dimensions, the new one 7"):
        LCE(cones, CosFace(6, 7))
    with pytest.raises(ValueError, match="6 classes of the old model, 9"):
        LCE(cones, CosFace(9, 4))
    with pytest.raises(ValueError, match="between 5 and 7"):
        LCE(cones, CosFace(6, 7), transforms=Compatible(5, 7))
    with pytest.raises(ValueError, match="row"):
        L2(None, scaling="row")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("kind", [None, "linear", "rbt"])
def test_finite_at_extremes(dtype: torch.dtype, kind: str | None) -> None:
    """Identical, opposite and zero vectors; half precision is computed in float32."""
    e = torch.eye(4, dtype=dtype)
    old = torch.stack([e[0], e[0], e[1], -e[1], 0 * e[0]])
    labels = torch.tensor([0, 0, 1, 1, 2])
    new = torch.stack([e[0], -e[0], e[0], 0 * e[0], 6e4 * e[2]])
    cones = class_cones(old, labels)
    transforms = None if kind is None else Compatible(4, 4, kind=kind)
    losses: list[nn.Module] = [
        LCE(cones, CosFace(3, 4), transforms=transforms),
        L2(CosFace(3, 4), transforms=transforms),
    ]
    if transforms is None:
        losses.append(BCT.of_prototypes(CosFace(3, 4), torch.eye(4)[:3]))
    for loss in losses:
        if isinstance(loss, LCE) and kind == "rbt":
            loss.eval()  # one class only has a direction, and that is too few to learn from
        x = new.clone().requires_grad_()
        terms = loss(x, labels, old=old) if isinstance(loss, L2) else loss(x, labels)
        terms.total.backward()
        assert terms.total.dtype == torch.float32 and terms.total.isfinite()
        assert x.grad is not None and x.grad.dtype == dtype and x.grad.isfinite().all()
        assert all(p.grad.isfinite().all() for p in loss.parameters() if p.grad is not None)
        again = loss(new.float(), labels, old=old.float()) if isinstance(loss, L2) else loss(new.float(), labels)
        torch.testing.assert_close(again.total, terms.total, rtol=1e-6, atol=1e-7)


def test_one_class_and_one_picture() -> None:
    cones = class_cones(torch.randn(1, 4), torch.tensor([0]))
    assert cones.usable.tolist() == [False]
    x, labels = torch.randn(1, 4, requires_grad=True), torch.tensor([0])
    for transforms in (None, Compatible(4, 4, kind="linear"), Compatible(4, 4).eval()):
        terms = LCE(cones, CosFace(1, 4), transforms=transforms)(x, labels)
        terms.total.backward()
        assert terms.total.isfinite() and float(terms.named["classification"]) == 0
    with pytest.raises(InputError, match="single row"):
        LCE(cones, CosFace(1, 4), transforms=Compatible(4, 4))(x, labels)
    # no class of the old model is known at all: only classification is left
    empty = class_cones(torch.zeros(2, 4), torch.tensor([0, 1]))
    terms = LCE(empty, CosFace(2, 4))(torch.randn(2, 4), torch.tensor([0, 1]))
    assert float(terms.named["alignment"]) == float(terms.named["boundary"]) == 0 and terms.total.isfinite()


# Small upgrades. People are directions in a world of pictures; the old model is a fixed random rotation of it.


def _pictures(centres: Tensor, *, each: int, spread: float) -> tuple[Tensor, Tensor]:
    labels = torch.arange(len(centres)).repeat_interleave(each)
    return centres[labels] + spread * torch.randn(len(labels), centres.shape[1]) / centres.shape[1] ** 0.5, labels


def _recall(query: Tensor, gallery: Tensor, labels: Tensor) -> float:
    """Share of queries whose nearest gallery picture, itself left out, shows the same person."""
    score = unit_rows(query) @ unit_rows(gallery).T
    score.fill_diagonal_(-2)
    return float((labels[score.argmax(1)] == labels).double().mean())


def _upgrade(loss: nn.Module, x: Tensor, labels: Tensor, *, old: Tensor, dimensions: int, steps: int) -> nn.Linear:
    model = nn.Linear(x.shape[1], dimensions, bias=False)
    optimiser = torch.optim.Adam([*model.parameters(), *(p for p in loss.parameters() if p.requires_grad)], lr=5e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        batch = torch.randint(0, len(labels), (128,))
        new = model(x[batch])
        terms = loss(new, labels[batch], old=old[batch]) if isinstance(loss, L2) else loss(new, labels[batch])
        optimiser.zero_grad()
        terms.total.backward()
        optimiser.step()
        schedule.step()
    loss.eval()
    return model.requires_grad_(False)


def test_upgrades_of_a_rotation() -> None:
    """Direct comparison works after LCE, BCT and L2 and stays at chance without; LCE leaves vectors farther apart."""
    torch.manual_seed(0)
    centres = unit_rows(torch.randn(90, 16))
    x, labels = _pictures(centres[:60], each=8, spread=0.6)
    fresh, people = _pictures(centres[60:], each=8, spread=0.6)  # people nobody was trained on
    rotation = torch.linalg.qr(torch.randn(16, 16))[0]
    # the old model sees every picture with an error of its own
    old, old_fresh = (y @ rotation + 0.5 * torch.randn_like(y) / 4 for y in (x, fresh))
    cones = class_cones(old, labels)
    assert cones.usable.all()

    def head() -> CosFace:
        return CosFace(60, 16, scale=16.0, margin=0.2)

    losses = {
        "upper": Upper(head()),
        "lce": LCE(cones, head()),
        "bct": BCT.of_prototypes(head(), pseudo_classifier(old, labels)),
        "l2": L2(head(), weight=10.0),
    }
    cross, apart = {}, {}
    for name, loss in losses.items():
        model = _upgrade(loss, x, labels, old=old, dimensions=16, steps=200)
        cross[name] = _recall(model(fresh), old_fresh, people)
        apart[name] = float(point_distance(model(fresh), old_fresh))
    before = _recall(old_fresh, old_fresh, people)
    assert cross["upper"] < 0.15  # chance is 1 in 30
    assert min(cross["lce"], cross["bct"], cross["l2"]) > before
    assert cross["lce"] > cross["l2"] - 0.03 and apart["lce"] > 1.1 * apart["l2"]


@pytest.mark.parametrize(("d1", "d2"), [(32, 48), (48, 32)])
def test_other_dimensions_with_transforms(d1: int, d2: int) -> None:
    torch.manual_seed(0)
    centres = unit_rows(torch.randn(60, 24))
    x, labels = _pictures(centres[:40], each=6, spread=0.5)
    fresh, people = _pictures(centres[40:], each=6, spread=0.5)
    eye = torch.linalg.qr(torch.randn(d1, 24))[0].T  # 24 world dimensions seen in d1
    old, old_fresh = x @ eye, fresh @ eye
    transforms = Compatible(d1, d2, modules=1)
    loss = LCE(class_cones(old, labels), CosFace(40, d2, scale=16.0, margin=0.2), transforms=transforms)
    model = _upgrade(loss, x, labels, old=old, dimensions=d2, steps=60)
    with torch.no_grad():
        back, ahead = (
            transforms(model(fresh), old_fresh, direction=direction) for direction in ("backward", "forward")
        )
    found = [_recall(*pair, people) for pair in (back, ahead)]
    assert min(found) > 0.95


def test_transforms_between_frozen_models() -> None:
    torch.manual_seed(0)
    centres = unit_rows(torch.randn(110, 12))
    x, labels = _pictures(centres[:80], each=5, spread=0.4)
    fresh, people = _pictures(centres[80:], each=5, spread=0.4)
    first, second = (torch.linalg.qr(torch.randn(12, 12))[0] for _ in range(2))
    transforms = Compatible(12, 12, kind="linear")
    loss = FrozenLCE(class_cones(x @ first, labels), class_means(x @ second, labels)[0], transforms=transforms)
    optimiser = torch.optim.Adam(loss.parameters(), lr=3e-2)
    assert _recall(fresh @ second, fresh @ first, people) < 0.15
    for _ in range(60):
        optimiser.zero_grad()
        loss(x @ second, labels).total.backward()
        optimiser.step()
    with torch.no_grad():
        for direction in ("backward", "forward"):
            assert _recall(*transforms(fresh @ second, fresh @ first, direction=direction), people) > 0.9
