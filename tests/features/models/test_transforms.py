"""RBT blocks, the linear baseline, the ensemble, and the two transforms of an upgrade."""

from __future__ import annotations

import pytest
import torch

from facelens.errors import InputError
from facelens.features.models.compatible import Compatible
from facelens.features.models.ensemble import RBT, TRANSFORMS, Ensemble, LinearTransform, RBTTransform


def count(module: torch.nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def test_parameters_of_the_paper() -> None:
    block = RBT(512, 512)
    assert count(block.paths[0]) == 18_272
    assert count(block) == 73_088
    assert count(RBTTransform(512, 512)) == 292_352
    assert count(RBTTransform(512, 512, modules=2, paths=3, hidden=32)) == 2 * 3 * (
        512 * 32 + 3 * 32 + 32 * 32 + 3 * 32 + 32 * 512 + 3 * 512
    )


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", list(TRANSFORMS))
def test_starts_as_the_identity(kind: str, dtype: torch.dtype, mode: str) -> None:
    transform = TRANSFORMS[kind](24, 24).to(dtype).train(mode == "train")
    x = torch.randn(6, 24, dtype=dtype)
    assert torch.equal(transform(x), x)


def test_block_against_its_equation() -> None:
    torch.manual_seed(0)
    block = RBT(10, 10, paths=2, hidden=3).double()
    for value in block.state_dict().values():
        if value.is_floating_point():
            value.copy_(torch.rand_like(value) + 0.2)
    block.eval()
    w, x = block.state_dict(), torch.randn(4, 10, dtype=torch.float64)
    expected = x.clone()
    for p in range(2):
        y = x
        for step in (0, 3, 6):
            y = y @ w[f"paths.{p}.{step}.weight"].T
            n = f"paths.{p}.{step + 1}"
            y = (y - w[f"{n}.running_mean"]) / (w[f"{n}.running_var"] + 2e-5).sqrt() * w[f"{n}.weight"] + w[f"{n}.bias"]
            y = torch.where(y >= 0, y, y * w[f"paths.{p}.{step + 2}.weight"])
        expected += y
    torch.testing.assert_close(block(x), expected)
    assert {m.momentum for m in block.modules() if isinstance(m, torch.nn.BatchNorm1d)} == {0.1}


def test_other_dimensions_have_a_matrix_in_the_first_block() -> None:
    transform = RBTTransform(12, 8).eval()
    x = torch.randn(3, 12)
    assert transform(x).shape == (3, 8) and torch.equal(transform(x), x[:, :8])
    matrices = [key for key in transform.state_dict() if "skip" in key]
    assert matrices == ["blocks.0.skip.weight"]
    assert count(RBTTransform(8, 8, linear_skip=True)) == count(RBTTransform(8, 8)) + 64
    assert LinearTransform(12, 8)(x).shape == (3, 8)


def test_gradients_reach_every_parameter_that_moves_first() -> None:
    transform = RBTTransform(6, 6)
    transform(torch.randn(8, 6)).square().sum().backward()
    gammas = [path[-2].weight.grad for block in transform.blocks for path in block.paths]
    assert all(g is not None and g.abs().sum() > 0 for g in gammas)


def test_learns_a_rotation() -> None:
    torch.manual_seed(0)
    rotation = torch.linalg.qr(torch.randn(16, 16))[0]
    transform = RBTTransform(16, 16)
    x = torch.nn.functional.normalize(torch.randn(512, 16))
    optimiser = torch.optim.Adam(transform.parameters(), lr=1e-2)
    start = torch.cosine_similarity(transform.eval()(x), x @ rotation).mean()
    transform.train()
    for _ in range(150):
        optimiser.zero_grad()
        loss = 1 - torch.cosine_similarity(transform(x), x @ rotation).mean()
        loss.backward()
        optimiser.step()
    fresh = torch.nn.functional.normalize(torch.randn(256, 16))
    after = torch.cosine_similarity(transform.eval()(fresh), fresh @ rotation).mean()
    assert start < 0.3 and after > 0.9


def test_variance_of_an_ensemble() -> None:
    torch.manual_seed(0)
    members = Ensemble([LinearTransform(8, 5), LinearTransform(6, 5), LinearTransform(5, 5), LinearTransform(7, 5)])
    vectors = [torch.randn(9, d, dtype=torch.float64) * 10 for d in (8, 6, 5, 7)]
    mean, variance, z = members.double()(vectors)
    assert z.shape == (4, 9, 5)
    torch.testing.assert_close(z.norm(dim=-1), torch.ones(4, 9, dtype=torch.float64))
    torch.testing.assert_close(mean, torch.nn.functional.normalize(z.mean(0)))
    spread = ((z - z.mean(0)) ** 2).sum(-1).mean(0)
    torch.testing.assert_close(variance, spread, rtol=1e-12, atol=1e-12)
    pairs = [((z[i] - z[j]) ** 2).sum(-1) for i in range(4) for j in range(i)]
    torch.testing.assert_close(torch.stack(pairs).mean(0), 8 / 3 * variance, rtol=1e-12, atol=1e-12)


def test_one_member_has_no_variance() -> None:
    assert Ensemble([LinearTransform(4, 4)])([torch.randn(2, 4)]).variance.isnan().all()
    with pytest.raises(ValueError, match="2 vectors for 1"):
        Ensemble([LinearTransform(4, 4)])([torch.randn(2, 4)] * 2)


def test_directions_of_an_upgrade() -> None:
    torch.manual_seed(0)
    pair = Compatible(6, 6, kind="linear")
    torch.nn.init.normal_(pair.old_to_new.matrix.weight)
    torch.nn.init.normal_(pair.new_to_old.matrix.weight)
    new, old = torch.randn(3, 6), torch.randn(3, 6)

    def unit(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.normalize(x)

    for direction, expected in {
        "direct": (unit(new), unit(old)),
        "backward": (unit(new @ pair.new_to_old.matrix.weight.T), unit(old)),
        "forward": (unit(new), unit(old @ pair.old_to_new.matrix.weight.T)),
    }.items():
        for found, wanted in zip(pair(new, old, direction=direction), expected):
            torch.testing.assert_close(found, wanted)
    with pytest.raises(ValueError, match="sideways"):
        pair(new, old, direction="sideways")


def test_other_dimensions_cannot_be_compared_directly() -> None:
    pair = Compatible(4, 6, hidden=2).eval()
    new, old = torch.randn(2, 6), torch.randn(2, 4)
    with pytest.raises(InputError, match="4 dimensions, the new one 6"):
        pair(new, old, direction="direct")
    assert [x.shape[1] for x in pair(new, old, direction="backward")] == [4, 4]
    assert [x.shape[1] for x in pair(new, old, direction="forward")] == [6, 6]
