"""The loop: batch -> named terms -> step. What a batch is made into, the kinds say (kinds.py).

Everything random follows from the recipe's seed and the number of the step, so a training that was stopped or killed
goes on bit for bit where its last checkpoint stands. In the folder of a training lie

    state.safetensors        network, classifier, optimisers and the number of steps: what --resume needs
    checkpoint.safetensors   the network alone, with its card beside it: a model like any other
    *_to_*.safetensors ...   transforms, where there are any
    history.jsonl            a row every few steps: each term, learning rate, validation
    recipe.json              the recipe as it was read
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from facelens.errors import Cancelled, InputError
from facelens.features import card as cards
from facelens.features import transforms
from facelens.features.history import add_row, history, write_history
from facelens.features.kinds import KINDS, Kind, Work
from facelens.features.material import Material
from facelens.features.models import MODELS
from facelens.features.ranks import Ranks, joined, terms_of
from facelens.features.recipe import Optimiser, Recipe
from facelens.features.samplers import sampler
from facelens.features.state import gathered, put_back, read_tensors, write_json, write_tensors
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, offer, silent
from facelens.words import escaped, tr

STATE, CHECKPOINT, RECIPE = "state.safetensors", "checkpoint.safetensors", "recipe.json"
_PIECE = 256  # pictures embedded at a time
_MOST = 4000  # faces that are searched for in a validation: each is compared with all others
_WATCHED = 200  # faces that are looked at with each validation, where a kind watches some


@dataclass(frozen=True)
class Trained:
    """What came out: files of the model and of transforms, how many steps it took, and the last validation."""

    files: tuple[Path, ...]
    step: int
    validation: dict[str, float] = field(default_factory=dict)


def train(
    recipe: Recipe,
    out: Path,
    *,
    faces: FaceSet | None = None,
    cache: Path | None = None,
    resume: bool = False,
    device: str = "",
    tick: Tick = silent,
) -> Trained:
    """Train as the recipe says and write the model into `out`.

    Crops are kept in `cache` (default: `out`). Rows of history are offered to `tick` as they come. When `tick` raises
    Cancelled, what was learned is saved for `resume` first.
    """
    where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    out.mkdir(parents=True, exist_ok=True)
    if not resume and (out / STATE).exists():
        raise InputError(
            tr("{path} holds a training already.", path=escaped(str(out))),
            hint=tr("Continue it with --resume, or choose another folder."),
        )
    with _own_numbers(recipe.seed), joined(where) as ranks:
        run = _Run(recipe, out, faces=faces, cache=cache or out, device=where, ranks=ranks, tick=tick)
        if resume:
            run.restore()
        return run.go(tick)


class _Run:
    """One training: everything that lives as long as it runs."""

    def __init__(
        self,
        recipe: Recipe,
        out: Path,
        *,
        faces: FaceSet | None,
        cache: Path,
        device: torch.device,
        ranks: Ranks,
        tick: Tick,
    ) -> None:
        self.recipe, self.out, self.device, self.ranks = recipe, out, device, ranks
        self.spec = MODELS[recipe.network.architecture].fitted(recipe.network.options)
        self.card = self.spec.card.changed(name=recipe.name, notes=recipe.about)
        options: dict[str, Any] = {"device": device, "ranks": ranks, "pictures": recipe.kind != "transform"}
        data = self.data = Material(recipe, self.card, faces=faces, cache=cache, tick=tick, **options)
        self.sampler = sampler(recipe.batch, data.trained.codes, seed=recipe.seed)
        self.steps = recipe.total(len(data.trained.rows))
        torch.manual_seed(recipe.seed)
        made = KINDS[recipe.kind](
            Work(
                recipe,
                self.spec,
                data.trained.codes,
                self.sampler,
                data.frozen,
                data.begun,
                data.pictures,
                data.attributes,
                data.mined,
                tick,
            )
        )
        self.kind: Kind = made.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.module = ranks.wrapped(self.kind, device)
        self.optimisers = {part: _optimiser(recipe.optimiser, self.kind, part) for part in self.kind.parts}
        self.half = takes_half(device)
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.half)
        self.step = 0
        self.validation: dict[str, float] = {}
        self._sums: dict[str, list[float]] = {}

    def go(self, tick: Tick) -> Trained:
        """All steps that are left."""
        recipe = self.recipe
        if self.step == 0 and self.ranks.first:
            write_json(self.out / RECIPE, recipe.as_json())
            write_history(self.out, [])
            if recipe.validation.every and recipe.models.start:  # what the start could do, to measure the rest against
                self._note(recipe.optimiser.rate * recipe.schedule.share(0, self.steps), self._validate(), tick)
        try:
            while self.step < self.steps:
                tick(self.step, self.steps, tr("Training"))
                rate = self._one_step()
                self.step += 1
                last = self.step == self.steps
                saved = last or self.step % recipe.checkpoint == 0
                checked = last or (recipe.validation.every and self.step % recipe.validation.every == 0)
                if checked and self.ranks.first:
                    self.validation = self._validate()
                if saved or checked or self.step % recipe.log == 0:
                    self._note(rate, self.validation if checked else {}, tick)
                if saved:
                    self.save()
        except Cancelled:
            self.save()
            raise
        tick(self.steps, self.steps, "")
        names = [f"{name}.safetensors" for name in self.kind.transforms()]
        files = [*([CHECKPOINT] if self.kind.pictures else []), *names]
        return Trained(tuple(self.out / name for name in files), self.step, self.validation)

    def _one_step(self) -> float:
        """One step; the learning rate it was made with."""
        torch.manual_seed(_mixed(self.recipe.seed, self.step))
        self.kind.turn(self.step, self.steps)
        self.kind.train()
        batch = self.data.batch(self.sampler.rows(self.step), self.step)
        rate = self.recipe.optimiser.rate * self.recipe.schedule.share(self.step, self.steps)
        for part, optimiser in self.optimisers.items():
            for group in optimiser.param_groups:
                group["lr"] = rate * group["multiple"]
            with precision(self.device, half=self.half):
                terms = terms_of(self.module, batch, part)
            if not bool(torch.isfinite(terms.total)):
                raise InputError(
                    tr("The loss is no number any more in step {n}; the last checkpoint is kept.", n=self.step + 1),
                    hint=tr("Try a lower learning rate, or a longer warm-up."),
                    details=str({name: float(value) for name, value in terms.named.items()}),
                )
            optimiser.zero_grad(set_to_none=True)
            self.scaler.scale(terms.total).backward()  # type: ignore[no-untyped-call]
            if self.recipe.optimiser.clip:
                self.scaler.unscale_(optimiser)
                parameters = [one for group in optimiser.param_groups for one in group["params"]]
                nn.utils.clip_grad_norm_(parameters, self.recipe.optimiser.clip)
            self.scaler.step(optimiser)
            for name, value in {**terms.named, part: terms.total.detach()}.items():
                self._sums.setdefault(name, []).append(float(value))
        self.scaler.update()
        return rate

    def _validate(self) -> dict[str, float]:
        """How well people who were never trained on are found and told apart, and what is said of them is right."""
        rows = self.data.held_out.rows[:_MOST]
        self.kind.eval()
        sides: dict[str, list[tuple[Tensor, Tensor]]] = {}
        answers: dict[str, list[tuple[Tensor, Tensor]]] = {}
        with torch.inference_mode():
            for start in range(0, len(rows), _PIECE):
                batch = self.data.plain(rows[start : start + _PIECE], held_out=True)
                for name, pair in self.kind.compared(batch).items():
                    sides.setdefault(name, []).append(pair)
                for name, pair in self.kind.judged(batch).items():
                    answers.setdefault(name, []).append(pair)
        found: dict[str, float] = {}
        for name, pairs in answers.items():
            said, right = (torch.cat([pair[side] for pair in pairs]).float().cpu().numpy() for side in (0, 1))
            found |= {f"{name} {metric}": value for metric, value in agreed(said, right).items()}
        for name, pairs in sides.items():
            both = [torch.cat([pair[side] for pair in pairs]).float().cpu().numpy() for side in (0, 1)]
            for metric, value in searched(both[0], both[1], self.data.held_out.codes[rows]).items():
                found[f"{name} {metric}".strip()] = value
        return found

    def _watched(self) -> dict[str, Any]:
        """Facts about the same few faces, held out where some are."""
        apart = len(self.data.held_out.rows) > 0
        rows = (self.data.held_out if apart else self.data.trained).rows
        rows = rows[:: max(1, len(rows) // _WATCHED)][:_WATCHED]
        self.kind.eval()
        with torch.inference_mode():
            return self.kind.watched(self.data.plain(rows, held_out=apart), self.data.varied(rows, held_out=apart))

    def _note(self, rate: float, validation: dict[str, float], tick: Tick) -> None:
        """A row of history: means over the steps since the last one."""
        if not self.ranks.first:
            self._sums.clear()
            return
        terms = {name: math.fsum(values) / len(values) for name, values in self._sums.items()}
        self._sums.clear()
        row: dict[str, Any] = {
            "step": self.step,
            "steps": self.steps,
            "epoch": round(self.step / self.sampler.epoch, 3),
        }
        row |= {"rate": rate, "terms": terms}
        facts = {**self.kind.facts(), **(self._watched() if validation and self.kind.watches else {})}
        row |= {"facts": facts} if facts else {}
        row |= {"validation": validation} if validation else {}
        add_row(self.out, row)
        offer(tick, row)

    def save(self) -> None:
        """State and model, each whole or not at all; the first process writes."""
        if self.ranks.first:
            tensors, scalars = gathered(self.kind, self.optimisers)
            said = {
                "step": self.step,
                "recipe": self.recipe.digest,
                "data": self.data.digest,
                "scalars": scalars,
                "scaler": self.scaler.state_dict(),
                "validation": self.validation,
                "sums": self._sums,
            }
            write_tensors(self.out / STATE, tensors, {"facelens_state": json.dumps(said)})
            for name, transform in self.kind.transforms().items():
                transforms.save(transform, self.out / f"{name}.safetensors")
            if self.kind.pictures:
                path = self.out / CHECKPOINT
                further, words = self.kind.accompanying()
                words = {"facelens_recipe": self.recipe.name, **words}
                write_tensors(path, {**self.kind.network.state_dict(), **further}, words)
                options = {**self.card.options, **self.kind.options()}
                cards.save(self.card.changed(options=options), cards.beside(path))
        self.ranks.wait()

    def restore(self) -> None:
        """Go back to the last checkpoint; where there is none yet, to the start."""
        path = self.out / STATE
        if not path.exists():
            return
        tensors, said = read_tensors(path)
        state = json.loads(said.get("facelens_state", "{}"))
        if state.get("recipe") != self.recipe.digest or state.get("data") != self.data.digest:
            raise InputError(
                tr("{path} was trained with another recipe or gallery.", path=escaped(str(self.out))),
                hint=tr("Give the same recipe and gallery, or train into another folder."),
            )
        put_back(self.kind, self.optimisers, tensors=tensors, scalars=state["scalars"])
        self.scaler.load_state_dict(state["scaler"])
        self.step, self.validation = int(state["step"]), dict(state["validation"])
        self._sums = state["sums"]
        self.kind.restored(self.step, self.steps)
        if self.ranks.first:
            write_history(self.out, [row for row in history(self.out) if row["step"] <= self.step])
        self.ranks.wait()


def searched(
    query: NDArray[np.float32], gallery: NDArray[np.float32], codes: NDArray[np.integer], *, far: float = 0.01
) -> dict[str, float]:
    """How often a face's nearest other face is the same person, and how many genuine pairs are accepted at a false
    accept rate. Row i of both sides is the same face and never its own match.

    >>> square = np.eye(2, dtype=np.float32)[[0, 0, 1, 1]]
    >>> searched(square, square, np.array([0, 0, 1, 1]))
    {'precision_at_1': 1.0, 'tar_at_far_1e-2': 1.0}
    """
    unit = [side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12) for side in (query, gallery)]
    similarity = unit[0] @ unit[1].T
    same = codes[:, None] == codes[None]
    other = ~np.eye(len(codes), dtype=bool)
    np.fill_diagonal(similarity, -np.inf)
    alone = (same & other).sum(1) == 0
    found = codes[similarity.argmax(1)] == codes
    impostor = np.sort(similarity[~same])[::-1]
    genuine = similarity[same & other]
    result = {}
    if not alone.all():
        result["precision_at_1"] = float(found[~alone].mean())
    if len(impostor) and len(genuine):
        threshold = impostor[min(int(far * len(impostor)), len(impostor) - 1)]
        result["tar_at_far_1e-2"] = float((genuine > threshold).mean())
    return result


def agreed(said: NDArray[np.float32], right: NDArray[np.float32]) -> dict[str, float]:
    """How often what is said (n,) of 0 and 1 is right, NaN left out; and the mean of that over the two answers, which
    is a half for who always says the same.

    >>> agreed(np.array([1, 1, 1, 1]), np.array([1, 1, 0, np.nan]))
    {'accuracy': 0.6666666666666666, 'balanced_accuracy': 0.5}
    """
    hits = [(said == right)[right == answer] for answer in (0, 1)]
    together = np.concatenate(hits)
    result = {"accuracy": float(together.mean())} if len(together) else {}
    if all(map(len, hits)):
        result["balanced_accuracy"] = float(np.mean([one.mean() for one in hits]))
    return result


def _optimiser(settings: Optimiser, kind: Kind, part: str) -> torch.optim.Optimizer:
    multiples = {"network": 1.0, "beside": settings.head_rate, **kind.multiples}
    groups = [
        {"params": parameters, "multiple": multiples[name]}
        for name, parameters in kind.learning(part).items()
        if parameters
    ]
    if settings.kind == "adam":
        return torch.optim.Adam(groups, lr=settings.rate, weight_decay=settings.decay)
    return torch.optim.SGD(groups, lr=settings.rate, momentum=settings.momentum, weight_decay=settings.decay)


def takes_half(device: torch.device) -> bool:
    """Half precision pays on graphics cards; on processors it would only cost digits."""
    return device.type == "cuda"


def precision(device: torch.device, *, half: bool) -> AbstractContextManager[object]:
    """Inside, matrix products and convolutions take half precision where `half` says so."""
    return torch.autocast(device.type, enabled=half)


@contextmanager
def _own_numbers(seed: int) -> Iterator[None]:
    """Random numbers of this training alone; whoever called keeps theirs."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if torch.cuda.is_available() else []):
        torch.manual_seed(seed)
        yield


def _mixed(seed: int, step: int) -> int:
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> np.uint64(1))
