"""Parts: an embedding cut into K parts, what can be said of each part of a face, and how each votes on a pair.

Computes    u = x / ||x||;  u_k the k-th of K equal slices of u, or of R u with a rotation R; f_k = u_k, or
            u_k / ||u_k|| where parts have length 1 (sub-embeddings and learners are trained so)
            variance   log sigma_k^2 = -log s_k, as the model's own head gives it
            distance   ||f_k - mean of f_k over the person's faces||, NaN where there is one face only
            share      K ||u_k||^2: 1 where a slice carries its share of the vector
            votes on a pair i, j with the parts S kept, adding up to the score:
              cosine      f_i,k . f_j,k / sqrt(sum_S ||f_i,k||^2 sum_S ||f_j,k||^2)
              weighted    the same of sqrt(s_k) f_k: a cosine in which sure parts weigh more
              likelihood  -1/2 (||f_i,k - f_j,k||^2 / (v_i,k + v_j,k) + D/K log(v_i,k + v_j,k)),  v = sigma^2
Shapes      vectors (N, D); parts (N, K, D / K); all that is said of parts (N, K) float32; votes (..., K)
Reference   Shi, Yu, Sohn, Chandraker, Jain, "Towards Universal Representation Learning for Deep Face Recognition",
            CVPR 2020; Sanakoyeu, Tschernezki, Buechler, Ommer, "Divide and Conquer the Embedding Space", CVPR 2019
Departs     "weighted" is ours: the papers name no symmetric form. Slices of an ordinary embedding are a way of looking,
            not parts that were learned; the learned rotation is that of the principal axes, dealt out to the slices to
            and fro so that each carries about the same variance
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.plan import CUTS, MATCHES, PartsPlan
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.progress import Tick, silent
from facelens.words import tr

Array = NDArray[np.float64]
Floats = NDArray[np.float32]

USUAL = (16, 8, 4, 2)  # slices, the first that divides the dimensions
BLOCK = 1 << 22  # numbers looked at at once
BINS = 48  # of a distribution
EXTREMES = 24  # faces listed at either end of a part
GENUINE, IMPOSTOR = 60_000, 200_000  # pairs in the pool
FEW = 8  # times as many are all listed before some are drawn
HELD = 1 << 26  # numbers up to which all parts are held while pairs are compared
_LEAST = 1e-12  # of a length
_TINY = 1e-300  # of what is divided by


@dataclass(frozen=True)
class Layout:
    """How an embedding falls into parts."""

    kind: str  # "learned" sub-embeddings, "learners" of a divided embedding, "slices" of an ordinary one
    parts: int  # K
    width: int  # D / K
    unit: bool  # whether each part has length 1
    head: str = ""  # who says how sure a part is: "calibrated", "learned", "given" with imported vectors, "" nobody

    @property
    def dimensions(self) -> int:
        """D."""
        return self.parts * self.width


@dataclass(frozen=True, eq=False)
class Spread:
    """How the values of each part are spread over the faces, and who lies at the ends."""

    low: float  # of the colours, for all parts and faces: the 1st and the 99th percentile
    high: float
    edges: NDArray[np.float64]  # (BINS + 1,) over all values
    counts: NDArray[np.int64]  # (K, BINS)
    quartiles: NDArray[np.float64]  # (K, 3)
    lowest: Ids  # (K, n) faces, the lowest first
    highest: Ids  # (K, n) faces, the highest first


@dataclass(frozen=True, eq=False)
class Pool:
    """Pairs of faces that stand for all pairs: what a threshold or a rate is read off while parts are left out."""

    first: Rows  # (P,) into Parts.ids
    second: Rows
    genuine: NDArray[np.bool_]
    products: Floats  # (P, K) f_k . f_k of the two

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class Parts:
    """What each part of an embedding says about the faces of a gallery."""

    ids: Ids  # (N,) faces with a usable vector, in the gallery's order
    identity: NDArray[np.int32]  # (N,) -1 = nobody knows
    layout: Layout
    rotation: Floats | None  # (D, D), rows are the new axes
    length: Floats  # (N, K) ||u_k||
    values: Mapping[str, Floats]  # of SHOWN, those there are -> (N, K); higher is less sure, but for "share"
    spread: Mapping[str, Spread]  # by the same names
    pool: Pool
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def _by_id(self) -> tuple[Ids, Rows]:
        order = np.argsort(self.ids, kind="stable").astype(np.int64)
        return self.ids[order], order

    def rows_of(self, ids: Ids) -> Rows:
        """Rows of the ids that are here, in their order; the others are dropped."""
        known, order = self._by_id
        if not len(known):
            return np.zeros(0, np.int64)
        ids = np.asarray(ids, np.int64)
        at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.asarray(order[at[known[at] == ids]], np.int64)

    def row_of(self, face: int | None) -> int | None:
        """The row of one face."""
        if face is None:
            return None
        rows = self.rows_of(np.array([face], np.int64))
        return int(rows[0]) if len(rows) else None

    @property
    def log_variance(self) -> Floats | None:
        """(N, K) log sigma^2, where the model says how sure it is."""
        return self.values.get("variance")

    @cached_property
    def square(self) -> Floats:
        """(N, K) ||f_k||^2."""
        return (self.length > _LEAST).astype(np.float32) if self.layout.unit else self.length**2


def layout(features: FeatureSet, plan: PartsPlan) -> Layout:
    """How the vectors of a model fall into parts: its own, or slices as the plan asks."""
    D, card = features.dimensions, features.provenance.card
    options = dict(card.options) if card is not None else {}
    if features.confidence is not None and (K := features.confidence.shape[1]) and D % K == 0:
        head = "given" if card is None else ("calibrated" if options.get("uncertainty") else "learned")
        return Layout("learned", K, D // K, unit=True, head=head)
    learners = options.get("learners", 0)
    if isinstance(learners, int) and learners > 1 and D % learners == 0:
        return Layout("learners", learners, D // learners, unit=plan.unit or not options.get("whole"))
    K = plan.parts or next((usual for usual in USUAL if D % usual == 0), 1)
    if K < 1 or D % K:
        raise InputError(
            tr("{d} dimensions cannot be cut into {k} equal slices.", d=D, k=K),
            hint=tr("Choose a number that divides them: {some}.", some=", ".join(map(str, divisors(D)))),
        )
    return Layout("slices", K, D // K, unit=plan.unit)


def divisors(D: int) -> list[int]:
    """Numbers of slices that an embedding can be cut into, up to 64.

    >>> divisors(128)
    [2, 4, 8, 16, 32, 64]
    """
    return [k for k in range(2, min(D, 64) + 1) if D % k == 0]


def cut(
    faces: FaceSet, plan: PartsPlan, *, features: FeatureSet, excluded: Ids | None = None, tick: Tick = silent
) -> Parts:
    """Everything that is said of the parts of the faces that have a vector and are not excluded."""
    ground = layout(features, plan)
    kept = faces.ids if excluded is None else faces.ids[~np.isin(faces.ids, excluded)]
    rows, usable = features.rows_of(kept)
    ids = kept[usable]
    identity = faces.identity.codes[faces.rows_of(ids)].astype(np.int32)
    rotation = rotated(features, rows, ground, plan, tick=tick)
    notes = []
    N, K = len(ids), ground.parts
    if len(kept) - N:
        notes.append(tr("{n} without usable vector are left out.", n=len(kept) - N))
    length, distance = measured(features, rows, identity, ground, rotation, tick=tick)
    values: dict[str, Floats] = {}
    if ground.kind == "learned":
        assert features.confidence is not None
        sure = np.asarray(features.confidence[rows], np.float32)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = -np.log(sure)
        variance[~np.isfinite(variance)] = np.nan
        values["variance"] = variance
        if missing := int(np.isnan(variance).any(1).sum()):
            notes.append(tr("{n} have no usable confidence.", n=missing))
    if np.isfinite(distance).any():
        values["distance"] = distance
    if not ground.unit:
        values["share"] = np.asarray(K * length**2, np.float32)
    made = pool(identity, seed=plan.seed)
    held = None
    if N * ground.dimensions <= HELD:  # a face is in many pairs: cut it once
        held = np.empty((N, K, ground.width), np.float32)
        for some, found in blocks(features, rows, ground, rotation, tick=tick):
            held[some] = found
    products = np.empty((len(made[0]), K), np.float32)
    step = max(1, BLOCK // max(1, ground.dimensions))
    for start in range(0, len(products), step):
        tick(start, len(products), tr("Comparing parts"))
        some = slice(start, start + step)
        sides = (side[some] for side in made[:2])
        a, b = (_parts(features, rows[side], ground, rotation) if held is None else held[side] for side in sides)
        products[some] = np.einsum("nkd,nkd->nk", a, b)
    return Parts(
        ids=ids,
        identity=identity,
        layout=ground,
        rotation=rotation,
        length=length,
        values=values,
        spread={name: spread(ids, one) for name, one in values.items() if N},
        pool=Pool(*made, products),
        notes=tuple(notes),
    )


def parts_of(features: FeatureSet, parts: Parts, ids: Ids) -> Floats:
    """(n, K, D / K) the parts f_k of some faces, which all have a vector."""
    return _parts(features, features.rows_of(ids)[0], parts.layout, parts.rotation)


def products(features: FeatureSet, parts: Parts, face: int) -> Floats:
    """(N, K) f_k . f_k of one face with every face of `parts`, itself among them."""
    ground = parts.layout
    row = parts.row_of(face)
    if row is None:
        raise InputError(tr("This face has no vector of this model."), hint=tr("Embed the gallery with it."))
    own = _parts(features, features.rows_of(parts.ids[[row]])[0], ground, parts.rotation)[0]  # (K, d)
    # Each part of the one face, put back where it came from: all products are one matrix product.
    back = np.zeros((ground.parts, ground.dimensions), np.float32)
    for k in range(ground.parts):
        back[k, k * ground.width : (k + 1) * ground.width] = own[k]
    if parts.rotation is not None:
        back = back @ parts.rotation
    rows = features.rows_of(parts.ids)[0]
    whole = len(rows) == len(features.vectors) and (len(rows) == 0 or bool((np.diff(rows) == 1).all()))
    found = (features.vectors if whole else features.vectors[rows]) @ back.T
    found /= features.norms[rows, None]
    if ground.unit:
        found /= np.maximum(parts.length, _LEAST)
    return np.asarray(found, np.float32)


# Votes


def votes(
    match: str,
    product: NDArray[np.floating],
    *,
    square: tuple[NDArray[np.floating], NDArray[np.floating]],
    log_variance: tuple[NDArray[np.floating], NDArray[np.floating]] | None = None,
    kept: NDArray[np.bool_] | None = None,
    width: int = 1,
) -> Array:
    """(..., K) what each part adds to the score of a pair; parts that are not kept add nothing.

    `product` (..., K) are f_k . f_k, `square` ||f_k||^2 of the two faces, `log_variance` their log sigma^2.

    >>> one = np.ones(2)
    >>> votes("cosine", np.array([0.5, 0.1]), square=(one, one)).round(3)
    array([0.25, 0.05])
    """
    here = np.ones(product.shape[-1]) if kept is None else np.asarray(kept, np.float64)
    vote, a, b = _terms(match, product, square, log_variance, width)
    if a is None or b is None:
        return np.asarray(vote * here)
    return np.asarray(vote * here / np.maximum(np.sqrt((a @ here) * (b @ here)), _TINY)[..., None])


def scores(
    match: str,
    product: NDArray[np.floating],
    *,
    square: tuple[NDArray[np.floating], NDArray[np.floating]],
    log_variance: tuple[NDArray[np.floating], NDArray[np.floating]] | None = None,
    kept: NDArray[np.bool_],
    width: int = 1,
) -> Array:
    """(..., S) sums of `votes` with the parts of each row of `kept` (S, K)."""
    here = np.asarray(kept, np.float64).T
    vote, a, b = _terms(match, product, square, log_variance, width)
    if a is None or b is None:
        return np.asarray(vote @ here)
    return np.asarray(vote @ here / np.maximum(np.sqrt((a @ here) * (b @ here)), _TINY))


def _terms(
    match: str,
    product: NDArray[np.floating],
    square: tuple[NDArray[np.floating], NDArray[np.floating]],
    log_variance: tuple[NDArray[np.floating], NDArray[np.floating]] | None,
    width: int,
) -> tuple[Array, Array | None, Array | None]:
    """(..., K) thrice: what parts add, and the squares that those kept are divided by; None where by nothing."""
    if match not in MATCHES:
        raise ValueError(f"match is one of {MATCHES}, not {match!r}")
    both: Array = np.asarray(product, np.float64)
    a, b = (np.asarray(one, np.float64) for one in square)
    if match == "cosine":
        return both, a, b
    if log_variance is None:
        raise InputError(
            tr("This model does not say how sure its parts are."), hint=tr("Match by cosine, or choose another model.")
        )
    first, second = (np.asarray(one, np.float64) for one in log_variance)
    if match == "weighted":
        # sqrt(s) = exp(-log variance / 2), less the mean of each face: only ratios of a face's own parts count.
        first, second = (one - one.mean(-1, keepdims=True) for one in (first, second))
        return both * np.exp(-(first + second) / 2), a * np.exp(-first), b * np.exp(-second)
    spread = np.logaddexp(first, second)
    far = np.maximum(a + b - 2 * both, 0)
    return -0.5 * (far * np.exp(-spread) + width * spread), None, None


def votes_between(
    parts: Parts,
    first: Rows,
    second: Rows,
    product: NDArray[np.floating],
    *,
    match: str,
    kept: NDArray[np.bool_] | None = None,
) -> Array:
    """(..., K) votes on pairs of rows of `parts` whose products are known; `first` may be one row for all."""
    surety = parts.log_variance
    return votes(
        match,
        product,
        square=(parts.square[first], parts.square[second]),
        log_variance=None if surety is None else (surety[first], surety[second]),
        kept=kept,
        width=parts.layout.width,
    )


# Making parts


def rotated(features: FeatureSet, rows: Rows, ground: Layout, plan: PartsPlan, *, tick: Tick = silent) -> Floats | None:
    """The rotation that slices are cut after; None where they are cut as they lie."""
    if plan.cut not in CUTS:
        raise ValueError(f"cut is one of {CUTS}, not {plan.cut!r}")
    if ground.kind != "slices" or plan.cut == "order" or not len(rows):
        return None
    D = ground.dimensions
    if plan.cut == "random":
        q, r = np.linalg.qr(np.random.default_rng(plan.seed).standard_normal((D, D)))
        return np.ascontiguousarray((q * np.sign(np.diag(r))).T, np.float32)
    total, moment, n = np.zeros(D), np.zeros((D, D)), len(rows)
    step = max(1, BLOCK // D)
    for start in range(0, n, step):
        tick(start, n, tr("Finding the axes"))
        some = rows[start : start + step]
        unit = np.asarray(features.vectors[some] / features.norms[some, None], np.float64)
        total += unit.sum(0)
        moment += unit.T @ unit
    mean = total / n
    _, axes = np.linalg.eigh(moment / n - np.outer(mean, mean))
    axes = axes.T[::-1]  # rows, the widest first
    axes *= np.where(axes[np.arange(D), np.abs(axes).argmax(1)] < 0, -1.0, 1.0)[:, None]
    return np.ascontiguousarray(axes[_dealt(D, ground.parts)], np.float32)


def _dealt(D: int, K: int) -> NDArray[np.int64]:
    """Ranks 0 .. D - 1 dealt out to K slices to and fro, slice by slice.

    >>> _dealt(6, 2).tolist()
    [0, 3, 4, 1, 2, 5]
    """
    rounds = np.arange(D).reshape(-1, K)
    rounds[1::2] = rounds[1::2, ::-1]
    return np.ascontiguousarray(rounds.T).reshape(-1)


def _parts(features: FeatureSet, rows: Rows, ground: Layout, rotation: Floats | None) -> Floats:
    found = features.vectors[rows] / features.norms[rows, None]
    if rotation is not None:
        found = found @ rotation.T
    found = found.reshape(len(rows), ground.parts, ground.width)
    if ground.unit:
        found = found / np.maximum(np.linalg.norm(found, axis=2, keepdims=True), _LEAST)
    return np.asarray(found, np.float32)


def blocks(
    features: FeatureSet, rows: Rows, ground: Layout, rotation: Floats | None, *, tick: Tick = silent
) -> Iterator[tuple[slice, Floats]]:
    """Some faces and their parts (n, K, D / K), block by block."""
    step = max(1, BLOCK // max(1, ground.dimensions))
    for start in range(0, len(rows), step):
        tick(start, len(rows), tr("Cutting into parts"))
        some = slice(start, min(start + step, len(rows)))
        yield some, _parts(features, rows[some], ground, rotation)


def measured(
    features: FeatureSet,
    rows: Rows,
    identity: NDArray[np.int32],
    ground: Layout,
    rotation: Floats | None,
    *,
    tick: Tick,
) -> tuple[Floats, Floats]:
    """(N, K) the length of each part in the unit vector, and how far it is from its person's mean."""
    N, K = len(rows), ground.parts
    length, distance = np.empty((N, K), np.float32), np.full((N, K), np.nan, np.float32)
    counts = np.bincount(identity[identity >= 0], minlength=1)
    several = np.flatnonzero(counts > 1)  # people with a centre
    number = np.full(len(counts) + 1, -1)  # [-1]: nobody
    number[several] = np.arange(len(several))
    whose = number[identity]
    centre = np.zeros((len(several), K, ground.width), np.float32)
    raw = Layout(ground.kind, K, ground.width, unit=False)
    for some, found in blocks(features, rows, raw, rotation, tick=tick):
        length[some] = np.linalg.norm(found, axis=2)
        if ground.unit:
            found /= np.maximum(length[some, :, None], _LEAST)
        told = whose[some] >= 0
        np.add.at(centre, whose[some][told], found[told])
    centre /= counts[several, None, None]
    for some, found in blocks(features, rows, ground, rotation, tick=tick):
        told = whose[some] >= 0
        distance[some][told] = np.linalg.norm(found[told] - centre[whose[some][told]], axis=2)
    return length, distance


def spread(ids: Ids, values: Floats) -> Spread:
    """How (N, K) values are spread."""
    known = np.isfinite(values)
    some = values[known]
    low, high = (float(x) for x in np.percentile(some, (1, 99))) if len(some) else (0.0, 1.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    least, most = (float(some.min()), float(some.max())) if len(some) else (low, high)
    edges = np.linspace(min(least, low), max(most, high), BINS + 1)
    K, n = values.shape[1], min(EXTREMES, int(known.sum(0).min()))  # only faces with a value are listed
    counts, quartiles = np.zeros((K, BINS), np.int64), np.full((K, 3), np.nan)
    lowest, highest = np.zeros((K, n), np.int64), np.zeros((K, n), np.int64)
    for k in range(K):
        column = values[:, k]
        counts[k] = np.histogram(column[known[:, k]], edges)[0]
        if known[:, k].any():
            quartiles[k] = np.percentile(column[known[:, k]], (25, 50, 75))
        lowest[k] = ids[_first(np.where(known[:, k], column, np.inf), n)]
        highest[k] = ids[_first(np.where(known[:, k], -column, np.inf), n)]
    return Spread(low, high, edges, counts, quartiles, lowest, highest)


def _first(values: Floats, n: int) -> Rows:
    """Places of the n lowest, the lowest first, ties by place."""
    if n < len(values):
        limit = np.partition(values, n - 1)[n - 1]
        some = np.flatnonzero(values <= limit)
    else:
        some = np.arange(len(values))
    return some[np.argsort(values[some], kind="stable")[:n]].astype(np.int64)


def pool(
    identity: NDArray[np.int32], *, genuine: int = GENUINE, impostor: int = IMPOSTOR, seed: int = 0
) -> tuple[Rows, Rows, NDArray[np.bool_]]:
    """Pairs of rows, each once: all of one person and all of two, or so many of each drawn by chance."""
    generator = np.random.default_rng(seed)
    known = np.flatnonzero(identity >= 0).astype(np.int64)
    order = known[np.argsort(identity[known], kind="stable")]
    _, starts, counts = np.unique(identity[order], return_index=True, return_counts=True)
    n = len(order)
    same, apart = counts * (counts - 1) // 2, counts * (n - counts)
    if same.sum() <= FEW * genuine:
        place = np.arange(n)
        here = np.repeat(starts + counts, counts) - place - 1  # the others of the person that come after each face
        i = np.repeat(place, here)
        j = i + 1 + np.arange(len(i)) - np.repeat(np.cumsum(here) - here, here)
    else:
        person, i = _drawn(starts, counts, same, genuine, generator)
        j = starts[person] + (i - starts[person] + 1 + generator.integers(counts[person] - 1)) % counts[person]
    a, b = _some(order[i], order[j], len(identity), genuine, generator)
    if not apart.any():
        i = j = np.zeros(0, np.int64)
    elif n * (n - 1) <= 4 * FEW * impostor:  # all pairs are listed, those of one person too
        i, j = np.triu_indices(n, 1)
        two = identity[order[i]] != identity[order[j]]
        i, j = i[two], j[two]
    else:
        person, i = _drawn(starts, counts, apart, impostor, generator)
        j = generator.integers(n - counts[person])
        j += counts[person] * (j >= starts[person])
    c, d = _some(order[i], order[j], len(identity), impostor, generator)
    return np.concatenate([a, c]), np.concatenate([b, d]), np.repeat([True, False], [len(a), len(c)])


def _drawn(starts: Rows, counts: Rows, pairs: Rows, number: int, generator: np.random.Generator) -> tuple[Rows, Rows]:
    """People by the pairs they have, and one of the faces of each; some more than wanted, as a pair may come twice."""
    person = generator.choice(len(pairs), number + number // 8, p=pairs / pairs.sum()).astype(np.int64)
    return person, starts[person] + generator.integers(counts[person])


def _some(a: Rows, b: Rows, n: int, limit: int, generator: np.random.Generator) -> tuple[Rows, Rows]:
    """Pairs of rows below n without order, each once; at most `limit` of them, drawn by chance."""
    key = np.unique(np.minimum(a, b) * n + np.maximum(a, b))
    if len(key) > limit:
        key = np.sort(generator.choice(key, limit, replace=False))
    return key // n, key % n
