"""Transforms as torch modules: linear ones out of a matrix, others trained on the vectors of two models.

Training is Adam, whose rate falls as a cosine, on the losses of losses/ensemble.py; what else there is to decide,
fitting.py says. Everything random follows from the pair's seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from facelens.features.closed_forms import Matrix
from facelens.features.losses.ensemble import M2M, Unified
from facelens.features.losses.margin import class_means
from facelens.features.models.ensemble import TRANSFORMS
from facelens.features.samplers import Plain
from facelens.features.transforms import Transform
from facelens.progress import Tick
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.features.fitting import Pair, Training


def linear(matrix: Matrix) -> Transform:
    """x -> x W."""
    made = _begun("linear", matrix, {})
    made.module.eval().requires_grad_(False)
    return made


def into_target(pair: Pair, start: Matrix, training: Training, *, tick: Tick) -> Transform:
    """An rbt of the source into the target's space; its linear skip begins as `start`."""
    x, y, labels = _tensors(pair)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(pair.luck)
        made = _begun("rbt", start, _shape(training))
    loss = M2M.of_prototypes(class_means(y, labels)[0], **_options(training))
    _learn([made.module], loss, (x, y), labels, training, seed=pair.luck, tick=tick)
    return made


def into_both(pair: Pair, start: Matrix, training: Training, *, kind: str, tick: Tick) -> tuple[Transform, Transform]:
    """Transforms of source and target into a space that both learn, of the target's dimensions; the target's begins as
    the identity."""
    x, y, labels = _tensors(pair)
    shape = _shape(training) if kind == "rbt" else {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(pair.luck)
        both = _begun(kind, start, shape), _begun(kind, np.eye(y.shape[1]), shape)
    loss = Unified.of_vectors(y, labels, **_options(training))
    _learn([one.module for one in both], loss, (x, y), labels, training, seed=pair.luck, tick=tick)
    return both


def _begun(kind: str, start: Matrix, shape: dict[str, Any]) -> Transform:
    module = TRANSFORMS[kind](*start.shape, **shape)
    matrix = module.get_submodule("matrix" if kind == "linear" else "blocks.0.skip")
    if isinstance(matrix, nn.Linear):
        with torch.no_grad():
            matrix.weight.copy_(torch.from_numpy(start.T))
    return Transform(kind, start.shape[0], start.shape[1], shape, module)


def _learn(
    modules: Sequence[nn.Module],
    loss: M2M | Unified,
    sides: tuple[Tensor, Tensor],
    labels: Tensor,
    training: Training,
    *,
    seed: int,
    tick: Tick,
) -> None:
    """Train the transform of the first side, or those of both, and leave them ready for use."""
    alive = [p for module in (*modules, loss) for p in module.parameters() if p.requires_grad]
    optimiser = torch.optim.Adam(alive, lr=training.rate, weight_decay=training.decay, fused=True)
    steps = training.steps(len(labels))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    sampler = Plain(np.zeros(len(labels), np.int64), size=training.batch, seed=seed)
    with _one_thread():
        for step in range(steps):
            tick(step, steps, tr("Training a transform"))
            rows = torch.from_numpy(sampler.rows(step))
            mapped = [side[rows] for side in sides]
            for place, module in enumerate(modules):
                mapped[place] = module(mapped[place])
            optimiser.zero_grad()
            loss(mapped[0], mapped[1], labels=labels[rows]).total.backward()
            optimiser.step()
            schedule.step()
    for module in modules:
        module.eval().requires_grad_(False)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Hundreds of small steps: threads would spend their time waiting for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _shape(training: Training) -> dict[str, Any]:
    return {"hidden": training.loss.hidden, "linear_skip": training.loss.linear_skip}


def _options(training: Training) -> dict[str, Any]:
    loss = training.loss
    return {
        "head": {"scale": loss.scale, "margin": loss.margin},
        "similarity_weight": loss.similarity,
        "kl_weight": loss.divergence,
        "dual_weight": loss.classification,
        "temperature": loss.temperature,
        "kl_direction": {"query": "q->g", "gallery": "g->q", "both": "symmetric"}[loss.direction],
    }


def _tensors(pair: Pair) -> tuple[Tensor, Tensor, Tensor]:
    x, y = (torch.from_numpy(np.ascontiguousarray(one, np.float32)) for one in (pair.source, pair.target))
    return x, y, torch.from_numpy(pair.labels)
