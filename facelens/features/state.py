"""What a training leaves on disk so that it can go on, and so that others can follow it.

Files are written whole or not at all, and hold numbers and words only: nothing in them is ever run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from facelens.errors import InputError
from facelens.files import atomic_write
from facelens.words import escaped, tr

Optimisers = Mapping[str, torch.optim.Optimizer]


def write_tensors(path: Path, tensors: dict[str, Tensor], said: dict[str, str]) -> None:
    """A safetensors file, whole or not at all."""
    from safetensors.torch import save

    alone = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    with atomic_write(path) as file:
        file.write(save(alone, said))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and words of a safetensors file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise InputError(
            tr("{name} cannot be read.", name=escaped(path.name)),
            hint=tr("Start the training anew in another folder."),
            details=str(error),
        ) from None


def gathered(module: nn.Module, optimisers: Optimisers) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """All that changes while training: tensors by name, and what is no tensor."""
    tensors = {f"module.{name}": value for name, value in module.state_dict().items()}
    scalars: dict[str, Any] = {}
    for part, optimiser in optimisers.items():
        for index, values in optimiser.state_dict()["state"].items():
            for name, value in values.items():
                place = f"optimiser.{part}.{index}.{name}"
                if isinstance(value, Tensor):
                    tensors[place] = value
                else:
                    scalars[place] = value
    return tensors, scalars


def put_back(
    module: nn.Module, optimisers: Optimisers, *, tensors: Mapping[str, Tensor], scalars: Mapping[str, Any]
) -> None:
    """Undo `gathered`."""
    module.load_state_dict({name[7:]: value for name, value in tensors.items() if name.startswith("module.")})
    for part, optimiser in optimisers.items():
        state: dict[int, dict[str, Any]] = {}
        for place, value in {**tensors, **scalars}.items():
            if place.startswith(f"optimiser.{part}."):
                index, name = place.removeprefix(f"optimiser.{part}.").split(".", 1)
                state.setdefault(int(index), {})[name] = value
        optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


def write_json(path: Path, value: object) -> None:
    """A JSON file for people too."""
    with atomic_write(path) as file:
        file.write((json.dumps(value, indent=2, default=list) + "\n").encode())
