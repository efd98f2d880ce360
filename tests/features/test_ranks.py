"""Two processes that share a batch come to the same model as one, started as torchrun starts them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from facelens.features.history import history
from facelens.features.ranks import Ranks, _Shared, joined, share_statistics
from facelens.features.state import read_tensors

ROOT = Path(__file__).resolve().parents[2]


def test_alone_nothing_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with joined(torch.device("cpu")) as ranks:
        assert ranks == Ranks(0, 1) and ranks.first
        ranks.wait()
        kind = nn.Linear(2, 2)
        assert ranks.wrapped(kind, torch.device("cpu")) is kind  # type: ignore[arg-type]


def test_shared_statistics_of_one_process_are_the_usual_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch.distributed as dist
    from torch.distributed.nn import functional

    monkeypatch.setattr(dist, "get_world_size", lambda: 1)
    monkeypatch.setattr(functional, "all_reduce", lambda x: x)
    torch.manual_seed(0)
    for usual, shape in ((nn.BatchNorm2d(3), (5, 3, 4, 4)), (nn.BatchNorm1d(3, affine=False), (6, 3))):
        shared = nn.Sequential(type(usual)(3, affine=usual.affine))
        share_statistics(shared)
        assert isinstance(shared[0], _Shared)
        x = torch.randn(*shape, requires_grad=True)
        again = x.detach().clone().requires_grad_()
        weight = torch.randn(*shape)
        (usual(x) * weight).sum().backward()
        (shared(again) * weight).sum().backward()
        assert x.grad is not None and again.grad is not None
        torch.testing.assert_close(x.grad, again.grad, rtol=1e-4, atol=1e-5)
        for name, value in usual.state_dict().items():
            torch.testing.assert_close(shared[0].state_dict()[name], value)
        torch.testing.assert_close(shared.eval()(x), usual.eval()(x))


@pytest.mark.faults
@pytest.mark.parametrize("name", ["cosface", "universal", "divided", "attributes"])
def test_two_processes_come_to_the_same_model_as_one(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(0)
    table = ["path,identity,odd"]
    for person in range(6):
        (tmp_path / f"gallery/{person}").mkdir(parents=True)
        for k in range(6):
            noise = rng.normal(0, 25, (16, 16, 3))
            picture = np.clip(np.array([person * 40, 128, 255 - person * 40]) + noise, 0, 255).astype(np.uint8)
            Image.fromarray(picture).save(tmp_path / f"gallery/{person}/{k}.png")
            table.append(f"{person}/{k}.png,{person},{k % 2}")
    (tmp_path / "gallery/manifest.csv").write_text("\n".join(table))
    options = {
        "cosface": "{grid=[2, 2]}",
        "universal": "{backbone='small_plain', parts=4, backbone_options={grid=[2, 2]}}",
        "divided": "{backbone='small_plain', learners=2, backbone_options={grid=[2, 2]}}",
        "attributes": "{grid=[2, 2]}",
    }[name]
    changes = ["steps=8", "epochs=0", "batch.people=4", "batch.pictures=2", f"network.options={options}", "log=1"]
    changes += ["schedule.warmup=0", "validation.share=0.34"]
    # Not adam: it takes whole steps where a gradient is nothing but rounding.
    changes += ["optimiser.kind=sgd", "optimiser.rate=0.001"]
    if name == "attributes":
        changes += ["network.architecture=small_plain", "loss.attributes={odd='odd'}"]
    single = [sys.executable, "-m", "facelens", "train", name, "--gallery", str(tmp_path / "gallery")]
    run = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--no-python"]
    for count, start in ((1, []), (2, [sys.executable, *run])):
        ended = subprocess.run(
            [*start, *single, "--out", str(tmp_path / str(count)), "--set", *changes],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=200,
            env={"PATH": "", "OMP_NUM_THREADS": "1", "FACELENS_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)},
        )
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.count("8 of 8") == 1, "one process speaks for all"
    one, two = (read_tensors(tmp_path / count / "checkpoint.safetensors")[0] for count in "12")
    assert one.keys() == two.keys()
    if name == "divided":  # a batch's pairs are taken inside each process, so only the course is the same
        terms = [[row["terms"]["loss"] for row in history(tmp_path / count)] for count in "12"]
        assert np.allclose(terms[0], terms[1], atol=0.3)
        return
    for key in one:
        torch.testing.assert_close(two[key], one[key], rtol=1e-3, atol=1e-4)
