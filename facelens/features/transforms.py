"""Transforms between the spaces of two models, as files: weights, and words that say how to build them again.

Shapes    vectors (n, d_in) in any length -> (n, d_out) unit vectors
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from torch import nn

MARK = "facelens_transform"


@dataclass(frozen=True)
class Transform:
    """A transform; `kind` and `options` build it, `source` and `target` name the models it stands between.

    `made` says how it came about, in whatever plain words and numbers its maker has (fitting.py writes them).
    """

    kind: str
    dimensions_in: int
    dimensions: int
    options: Mapping[str, Any]
    module: nn.Module
    source: str = ""
    target: str = ""
    made: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, vectors: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Vectors of the one model brought into the other's space."""
        import torch
        from torch.nn.functional import normalize

        self.module.eval()
        with torch.inference_mode():
            given = torch.from_numpy(np.ascontiguousarray(vectors, np.float32))
            mapped = normalize(self.module(normalize(given, eps=1e-12)), eps=1e-12)
        made: NDArray[np.float32] = mapped.numpy()
        return made


def save(transform: Transform, path: Path) -> None:
    """Write it, whole or not at all."""
    from facelens.features.state import write_tensors

    said = {
        "kind": transform.kind,
        "dimensions_in": transform.dimensions_in,
        "dimensions": transform.dimensions,
        "options": dict(transform.options),
        "source": transform.source,
        "target": transform.target,
        "made": dict(transform.made),
    }
    write_tensors(path, transform.module.state_dict(), {MARK: json.dumps(said)})


def load(path: Path) -> Transform:
    """Read a transform that `save` wrote."""
    import torch

    from facelens.features.models.ensemble import TRANSFORMS
    from facelens.features.state import read_tensors

    try:
        tensors, words = read_tensors(path)
        said = json.loads(words[MARK])
        sides = int(said["dimensions_in"]), int(said["dimensions"])
        options = said["options"]
        if any(options.get(name, 0) > len(tensors) for name in ("modules", "paths")):
            raise ValueError("more parts than tensors")
        build = TRANSFORMS[said["kind"]]
        with torch.device("meta"):  # what the words ask for takes no memory before it is known to be there
            shapes = {name: one.shape for name, one in build(*sides, **options).state_dict().items()}
        if shapes != {name: one.shape for name, one in tensors.items()}:
            raise ValueError("words and tensors differ")
        module = build(*sides, **options)
        module.load_state_dict(tensors)
        made = dict(said.get("made", {}))  # absent in files of earlier versions
        names = str(said["source"]), str(said["target"])
        return Transform(said["kind"], *sides, options, module.eval(), *names, made)
    except (InputError, KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
        raise InputError(
            tr("{name} is no transform FaceLens can read.", name=escaped(path.name)),
            hint=tr("Choose another file, or fit a transform here."),
            details=error.details if isinstance(error, InputError) else str(error),
        ) from None
