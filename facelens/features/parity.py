"""Parity: whether two forms of a model (checkpoint and ONNX, full and half precision) say the same about pictures.

Computes    the cosine of the two vectors of each picture; passed when the smallest and the mean reach the pass line
Shapes      ids (n,), cosines (n,) (NaN where a vector is no use: that is no pass), norms (n, 2)
Reference   -
Departs     -
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.features.card import Card
from facelens.features.feed import feed_face
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.progress import Tick, silent
from facelens.words import plural, tr

if TYPE_CHECKING:
    from facelens.features.encoder import Encoder

BATCH = 32
LEAST, MEAN = 0.999, 0.9999  # the pass line: of every picture, and of all on average


@dataclass(frozen=True, eq=False)
class Parity:
    """What came of a comparison, picture by picture."""

    names: tuple[str, str]
    ids: Ids
    cosines: NDArray[np.float64]
    norms: NDArray[np.float64]
    least: float = LEAST
    mean: float = MEAN
    skipped: tuple[tuple[int, str], ...] = ()  # (face id, reason)

    @property
    def passed(self) -> bool:
        """Whether every picture and their mean reach the line."""
        cosines = self.cosines
        return bool(len(cosines) and np.isfinite(cosines).all() and cosines.min() >= self.least) and bool(
            cosines.mean() >= self.mean
        )

    def worst(self, n: int = 10) -> Ids:
        """Ids of the pictures that differ most, those without a usable vector before all."""
        order = np.argsort(np.where(np.isnan(self.cosines), -np.inf, self.cosines), kind="stable")
        return self.ids[order[:n]]

    def histogram(self, bins: int = 40) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Counts (bins,) and edges (bins + 1,) of 1 - cosine on a logarithmic scale; all below 1e-8 is in the first."""
        edges = np.logspace(-8, np.log10(2), bins + 1)
        apart = 1 - self.cosines[np.isfinite(self.cosines)]
        return np.histogram(apart.clip(edges[0], edges[-1]), edges)[0].astype(np.int64), edges

    def sentence(self) -> str:
        """The verdict with its numbers."""
        if not len(self.cosines):
            return tr("No picture could be compared.")
        bad = int(np.isnan(self.cosines).sum())
        finite = self.cosines[np.isfinite(self.cosines)]
        told = tr(
            "smallest cosine {least}, mean {mean}, over {n} pictures",
            least=f"{finite.min():.6f}" if len(finite) else "–",
            mean=f"{finite.mean():.6f}" if len(finite) else "–",
            n=len(self.cosines),
        )
        if self.passed:
            return tr("Both forms agree: {told}.", told=told)
        below = int((finite < self.least).sum()) + bad
        what = plural(below, "{n} picture is below the line", "{n} pictures are below the line")
        return tr("The forms differ: {what}; {told}.", what=what, told=told)


def compare(
    faces: FaceSet,
    rows: Rows,
    a: Encoder,
    b: Encoder,
    *,
    names: tuple[str, str] = ("A", "B"),
    least: float = LEAST,
    mean: float = MEAN,
    tick: Tick = silent,
) -> Parity:
    """Show both encoders the pictures at `rows`, each as its own card says."""
    if a.dimensions != b.dimensions:
        raise InputError(
            tr("{a} has {m} dims, {b} has {n}.", a=names[0], m=a.dimensions, b=names[1], n=b.dimensions),
            hint=tr("Compare two forms of the same model."),
        )
    ids: list[int] = []
    skipped: list[tuple[int, str]] = []
    cosines: list[NDArray[np.float64]] = []
    norms: list[NDArray[np.float64]] = []
    for start in range(0, len(rows), BATCH):
        tick(start, len(rows), tr("Comparing"))
        pictures: tuple[list[NDArray[np.uint8]], list[NDArray[np.uint8]]] = ([], [])
        for row in rows[start : start + BATCH].tolist():
            try:
                both = [feed_face(faces, row, encoder.card) for encoder in (a, b)]
            except InputError as error:
                skipped.append((int(faces.ids[row]), getattr(error, "reason", error.message)))
                continue
            ids.append(int(faces.ids[row]))
            for some, picture in zip(pictures, both):
                some.append(picture)
        if not pictures[0]:
            continue
        x, y = (e(np.stack(some)).vectors.astype(np.float64) for e, some in zip((a, b), pictures))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            long = np.stack([np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1)], 1)
            cosine = (x * y).sum(1) / long.prod(1)
        cosine[~np.isfinite(long).all(1) | (long <= 1e-12).any(1)] = np.nan
        cosines.append(np.minimum(cosine, 1.0))
        norms.append(long)
    tick(len(rows), len(rows), tr("Comparing"))
    return Parity(
        names,
        np.array(ids, np.int64),
        np.concatenate([np.zeros(0), *cosines]),
        np.concatenate([np.zeros((0, 2)), *norms]),
        least,
        mean,
        tuple(skipped),
    )


def fed_alike(card: Card, other: Card) -> Card:
    """`card` with everything about feeding taken from `other`: for a file that does not say how it is fed."""
    return card.changed(
        size=other.size,
        order=other.order,
        mean=other.mean,
        std=other.std,
        template=other.template,
        crop=other.crop,
        flip=other.flip,
    )


def lines(result: Parity, faces: FaceSet, *, n: int = 5) -> Iterator[str]:
    """The verdict, the worst pictures and the histogram as text."""
    yield result.sentence()
    cosine = dict(zip(result.ids.tolist(), result.cosines.tolist()))
    for face in result.worst(n).tolist():
        row = faces.row_of(face)
        if row is not None:
            yield f"  {cosine[face]:.6f}  {faces.file_name(row)}"
    counts, edges = result.histogram(bins=9)
    for count, low in zip(counts.tolist(), edges):
        if count:
            yield f"  1 − cosine from {low:.0e}: {count:>6,}  {'▇' * max(1, round(40 * count / max(1, counts.max())))}"
