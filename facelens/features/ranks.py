"""Several processes that train one model, as torchrun starts them; one process alone is the usual case."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from facelens.features.kinds import Drawn, Kind
from facelens.features.losses import Terms


@dataclass(frozen=True)
class Ranks:
    """Which of how many processes this is."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """The first one writes files and talks."""
        return self.rank == 0

    def wait(self) -> None:
        """Until all are here."""
        if self.count > 1:
            dist.barrier()

    def wrapped(self, kind: Kind, device: torch.device) -> nn.Module:
        """The kind with gradients averaged over all processes, and batch statistics shared by them."""
        if self.count == 1:
            return kind
        if device.type == "cuda":
            kind = nn.SyncBatchNorm.convert_sync_batchnorm(kind)  # type: ignore[no-untyped-call]
        else:
            share_statistics(kind)
        several = len(kind.parts) > 1 or not all(one.requires_grad for one in kind.parameters())
        return DistributedDataParallel(kind, find_unused_parameters=several, broadcast_buffers=False)


@contextmanager
def joined(device: torch.device) -> Iterator[Ranks]:
    """Join the processes that torchrun has started with this one, if it has."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Ranks()
        return
    ours = not dist.is_initialized()
    if ours:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Ranks(dist.get_rank(), dist.get_world_size())
    finally:
        if ours:
            dist.destroy_process_group()


class _Shared(nn.modules.batchnorm._BatchNorm):
    """Batch normalisation over the batches of all processes; torch has one for graphics cards only."""

    def _check_input_dim(self, input: Tensor) -> None:
        pass

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        from torch.distributed.nn.functional import all_reduce

        axes = [axis for axis in range(x.ndim) if axis != 1]
        sides = [-1 if axis == 1 else 1 for axis in range(x.ndim)]
        count = x.numel() // x.shape[1] * dist.get_world_size()
        mean = all_reduce(x.sum(axes)) / count  # type: ignore[no-untyped-call]  # (C,)
        centred = x - mean.view(sides)
        variance = all_reduce(centred.square().sum(axes)) / count  # type: ignore[no-untyped-call]  # (C,)
        if self.track_running_stats:
            assert self.running_mean is not None and self.running_var is not None
            assert self.num_batches_tracked is not None and self.momentum is not None
            with torch.no_grad():
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(variance * count / max(count - 1, 1), self.momentum)
                self.num_batches_tracked.add_(1)
        y: Tensor = centred * (variance + self.eps).rsqrt().view(sides)
        if self.affine:
            y = y * self.weight.view(sides) + self.bias.view(sides)
        return y


def share_statistics(module: nn.Module) -> None:
    """Replace batch normalisations below `module`, keeping their parameters and names."""
    for name, child in module.named_children():
        if isinstance(child, nn.modules.batchnorm._BatchNorm):
            made = _Shared(child.num_features, child.eps, child.momentum, child.affine, child.track_running_stats)
            made.__dict__.update(child.__dict__)
            setattr(module, name, made)
        else:
            share_statistics(child)


def terms_of(module: nn.Module, batch: Drawn, part: str) -> Terms:
    """The terms of a kind, wrapped or not."""
    terms: Terms = module(batch, part)
    return terms
