"""What a network would look like, found out without its weights.

Computes    names and shapes of a state dict, sizes of the output; on torch's `meta` device, where tensors have no
            contents
Shapes      none
Reference   none
Departs     none
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from facelens.features.models import MODELS, Spec

Shape = tuple[int, ...]


class Measured(NamedTuple):
    """Length of the embedding; channels, rows and columns of the patch map (0, None without one)."""

    dimensions: int
    channels: int
    grid: tuple[int, int] | None


class _Uninitialised(TorchFunctionMode):
    """Initial values are not drawn: there is nothing to put them in, and torch would load its compiler to pretend."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def hollow(spec: Spec) -> nn.Module:
    """The network with shapes but without contents, for evaluation."""
    with torch.device("meta"), _Uninitialised():
        return spec.build().eval()


def measured(spec: Spec) -> Measured:
    """Sizes of what the network returns for a picture as its card says."""
    with torch.no_grad():
        picture = torch.empty((1, spec.card.channels, *spec.card.size), device="meta")
        embedding, patches, _ = hollow(spec)(picture)
    if patches is None:
        return Measured(int(embedding.shape[1]), 0, None)
    _, channels, rows, columns = map(int, patches.shape)
    return Measured(int(embedding.shape[1]), channels, (rows, columns))


def state_shapes(name: str, options: Mapping[str, Any]) -> Mapping[str, Shape]:
    """Names and shapes of everything a checkpoint of this network holds, `num_batches_tracked` included."""
    return _state_shapes(name, json.dumps(dict(options), sort_keys=True))


@lru_cache(maxsize=64)
def _state_shapes(name: str, options: str) -> Mapping[str, Shape]:
    state = hollow(MODELS[name].fitted(json.loads(options))).state_dict()
    return MappingProxyType({key: tuple(tensor.shape) for key, tensor in state.items()})
