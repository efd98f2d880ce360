"""What a network would look like, found out without its weights.

Computes    names and shapes of a state dict, sizes of the output; on torch's `meta` device, where tensors have no
            contents
Shapes      none
Reference   none
Departs     none
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from facelens.features.models import MODELS, Spec
from facelens.features.models.taps import TAPS, Sides

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


def layers(spec: Spec) -> tuple[tuple[str, Sides], ...]:
    """The layers that can be the patch map: name and (channels, rows, columns) for a picture as the card says.

    None for a network that does not run at that size, and for sub-embeddings, whose confidences are made of the map.
    """
    if spec.name == "universal":
        return ()
    usual = MODELS[spec.name]

    def telling(options: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in options.items() if key not in ("dimensions", "patch_layer", "learners")}

    if spec.card.size == usual.card.size and telling(spec.options) == telling(usual.options):
        return TAPS[spec.name]
    return measured_layers(spec)


def measured_layers(spec: Spec) -> tuple[tuple[str, Sides], ...]:
    """As `layers`, by running the network without contents: torch takes two seconds to get ready for that."""
    network = hollow(spec)
    inner = network
    while (deeper := getattr(inner, "backbone", None) or getattr(inner, "base", None)) is not None:
        inner = deeper
    stages: Sequence[str] = getattr(inner, "STAGES", ()) or getattr(sys.modules[type(inner).__module__], "STAGES", ())
    found: dict[str, Sides] = {}

    def note(name: str) -> Any:
        def hook(module: nn.Module, given: Any, out: torch.Tensor) -> None:
            if out.ndim == 4 and min(out.shape[2:]) > 1:
                found[name] = (int(out.shape[1]), int(out.shape[2]), int(out.shape[3]))

        return hook

    for name in stages:
        inner.get_submodule(name).register_forward_hook(note(name))
    try:
        with torch.no_grad():
            network(torch.empty((1, spec.card.channels, *spec.card.size), device="meta"))
    except RuntimeError:
        return ()
    return tuple(found.items())


def tapping(spec: Spec, layer: str) -> Spec:
    """The network with that patch layer, "" for none; a head passes it on to its backbone."""
    if spec.name == "universal":
        return spec
    if "backbone" in spec.options:
        return spec.fitted({"backbone_options": {**spec.options.get("backbone_options", {}), "patch_layer": layer}})
    return spec.fitted({"patch_layer": layer})


def state_shapes(name: str, options: Mapping[str, Any]) -> Mapping[str, Shape]:
    """Names and shapes of everything a checkpoint of this network holds, `num_batches_tracked` included."""
    return _state_shapes(name, json.dumps(dict(options), sort_keys=True))


@lru_cache(maxsize=64)
def _state_shapes(name: str, options: str) -> Mapping[str, Shape]:
    state = hollow(MODELS[name].fitted(json.loads(options))).state_dict()
    return MappingProxyType({key: tuple(tensor.shape) for key, tensor in state.items()})
