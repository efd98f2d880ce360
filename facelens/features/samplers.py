"""Which pictures make a batch. Needs no torch.

The rows of a step follow from the seed and the number of the step alone, so a training goes on at any step as if it
had never stopped, and every process of a distributed one draws the same batch.

Shapes    codes (N,) identity of each row, -1 = never drawn; a batch is (B,) int64 rows of those N
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.features.recipe import Batch
from facelens.images.faceset import Rows
from facelens.words import tr


class Sampler(Protocol):
    """`rows(step)` is the batch of a step; `epoch` how many steps show about every picture once."""

    epoch: int

    def rows(self, step: int) -> Rows: ...


class Plain:
    """Every picture once an epoch, in an order of its own; the last pictures of an epoch that fill no batch wait for
    another epoch's order."""

    def __init__(self, codes: NDArray[np.integer], *, size: int, seed: int) -> None:
        self._rows = np.flatnonzero(np.asarray(codes) >= 0).astype(np.int64)
        self._size, self._seed = min(size, len(self._rows)), seed
        self.epoch = max(1, len(self._rows) // max(self._size, 1))
        self._drawn: tuple[int, Rows] = (-1, self._rows)

    def rows(self, step: int) -> Rows:
        """The batch of `step`."""
        epoch, place = divmod(step, self.epoch)
        if self._drawn[0] != epoch:
            order = np.random.default_rng([1, self._seed, epoch]).permutation(self._rows)
            self._drawn = (epoch, order)
        return self._drawn[1][place * self._size : (place + 1) * self._size]


class Balanced:
    """P people with K pictures each. People come in turns, pictures without repetition where a person has K."""

    def __init__(self, codes: NDArray[np.integer], *, people: int, pictures: int, seed: int) -> None:
        codes = np.asarray(codes)
        present = np.unique(codes[codes >= 0])
        self._of = [np.flatnonzero(codes == code).astype(np.int64) for code in present]
        self._people, self._pictures, self._seed = people, pictures, seed
        self.epoch = max(1, round(sum(map(len, self._of)) / (people * pictures)))

    def rows(self, step: int) -> Rows:
        """The batch of `step`, person by person."""
        rng = np.random.default_rng([3, self._seed, step])
        chosen = [
            rng.choice(self._of[who], self._pictures, replace=len(self._of[who]) < self._pictures)
            for who in self._turns(step)
        ]
        return np.concatenate(chosen)

    def _turns(self, step: int) -> list[int]:
        """People at places step * P ... of an endless row of shuffled decks; fewer than P people repeat."""
        count = len(self._of)
        first = step * self._people
        decks: dict[int, Rows] = {}
        turns = []
        for place in range(first, first + self._people):
            deck, card = divmod(place, count)
            if deck not in decks:
                decks[deck] = np.random.default_rng([2, self._seed, deck]).permutation(count)
            turns.append(int(decks[deck][card]))
        return turns


class Clustered:
    """Balanced batches inside one cluster at a time, clusters in turns. `divide` says who is in which cluster.

    People with a single picture in a cluster cannot be learned there and are left out of it, unless nobody has more.
    """

    def __init__(self, codes: NDArray[np.integer], *, people: int, pictures: int, seed: int) -> None:
        self._codes = np.asarray(codes)
        self._options = {"people": people, "pictures": pictures}
        self._seed = seed
        self._inside: list[Balanced] = []
        self.epoch = max(1, round(int((self._codes >= 0).sum()) / (people * pictures)))
        self.divide(np.zeros(len(self._codes), np.int64), clusters=1)

    def divide(self, cluster: NDArray[np.integer], *, clusters: int) -> None:
        """Use another partition: cluster (N,) of 0 ... clusters - 1; an empty cluster borrows all pictures."""
        self._inside = []
        for k in range(clusters):
            codes = np.where(cluster == k, self._codes, -1)
            several = np.bincount(codes[codes >= 0], minlength=int(self._codes.max()) + 1) >= 2
            if (kept := (codes >= 0) & several[codes]).any():
                codes = np.where(kept, codes, -1)
            if not (codes >= 0).any():
                codes = self._codes
            self._inside.append(Balanced(codes, **self._options, seed=self._seed * 1009 + k))

    def cluster(self, step: int) -> int:
        """Whose turn it is in `step`."""
        return step % len(self._inside)

    def rows(self, step: int) -> Rows:
        """The batch of `step`."""
        return self._inside[self.cluster(step)].rows(step // len(self._inside))


def sampler(batch: Batch, codes: NDArray[np.integer], *, seed: int) -> Plain | Balanced | Clustered:
    """The sampler a recipe asks for."""
    if not (np.asarray(codes) >= 0).any():
        raise InputError(
            tr("There is nothing to train on."), hint=tr("Choose a gallery with several pictures of each person.")
        )
    if batch.kind == "plain":
        return Plain(codes, size=batch.size, seed=seed)
    made = Balanced if batch.kind == "balanced" else Clustered
    return made(codes, people=batch.people, pictures=batch.pictures, seed=seed)


def share(rows: Sequence[int] | Rows, rank: int, ranks: int) -> slice:
    """The part of a batch that one of several processes works on; they must be equal, else means would not be.

    >>> share(range(8), 1, 2)
    slice(4, 8, None)
    """
    if len(rows) % ranks:
        raise InputError(
            tr("A batch of {n} cannot be divided among {k} processes.", n=len(rows), k=ranks),
            hint=tr("Choose a batch that the number of processes divides."),
        )
    size = len(rows) // ranks
    return slice(rank * size, (rank + 1) * size)
