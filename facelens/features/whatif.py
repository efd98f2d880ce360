"""Preprocess what-if: the same pictures fed in other ways, and whether one of them is clearly the right one.

Computes    scores: cosine of the vectors of two pictures; genuine = same person, impostor = different people
            separation d' = (mean genuine - mean impostor) / sqrt((variance genuine + variance impostor) / 2)
            accuracy: the best threshold's mean of the shares of genuine and impostor pairs that it gets right
            gain: d' of a variant minus d' of the card, with the middle 98 % over resamples of the people
Shapes      a sample of n pictures gives n (n - 1) / 2 pairs; resampling draws people, not pictures, and never compares
            a person drawn twice with itself
Reference   B. Efron, Bootstrap methods: another look at the jackknife, Annals of Statistics 1979
Departs     -
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.features.card import TEMPLATES, Card
from facelens.features.feed import feed_face
from facelens.images.faceset import FaceSet, Rows
from facelens.progress import Tick, silent
from facelens.words import number, tr

if TYPE_CHECKING:
    from facelens.features.encoder import Encoder

Floats = NDArray[np.float64]

LIMIT = 200  # pictures of a sample
EACH = 4  # of them for each person
BATCH = 32
RESAMPLES = 1000
MARGIN = 1.03  # times the separation has to grow before anything is said
PEOPLE = 10  # with two pictures, below which nothing is said
SCALINGS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "(x − 127.5) / 127.5": ((127.5,) * 3, (127.5,) * 3),
    "(x − 127.5) / 128": ((127.5,) * 3, (128.0,) * 3),
    "0 to 1": ((0.0,) * 3, (255.0,) * 3),
    "0 to 255": ((0.0,) * 3, (1.0,) * 3),
    "ImageNet": ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
}


@dataclass(frozen=True)
class Variant:
    """One way to feed pictures; `kind` is what differs from the card: order, scaling, flip, crop, template or ""."""

    name: str
    card: Card
    kind: str = ""


@dataclass(frozen=True)
class Outcome:
    """What came of a variant; NaN where the sample has no such pairs."""

    variant: Variant
    genuine: float
    impostor: float
    separation: float
    accuracy: float
    norm: float
    gain: tuple[float, float] = (np.nan, np.nan)  # lower and upper end
    score: float | None = None  # of the pair that was asked for


@dataclass(frozen=True)
class WhatIf:
    """The table: the card as it is first, then the variants."""

    outcomes: tuple[Outcome, ...]
    pictures: int
    people: int  # with at least two pictures
    skipped: int = 0

    def advice(self) -> tuple[str, ...]:
        """Sentences, the strongest first; none where no variant clearly helps or the sample is too small to tell."""
        return tuple(_sentence(self.outcomes[0], one) for one in self.better())

    def better(self) -> tuple[Outcome, ...]:
        """The variants that clearly help, the best of each kind, the strongest first.

        Mirroring is never advised: it helps a little with every model and says nothing about the card.
        """
        if self.people < PEOPLE:
            return ()
        base = self.outcomes[0]
        found = [
            one
            for one in self.outcomes[1:]
            if one.variant.kind != "flip"
            and one.gain[0] > 0
            and one.separation > max(base.separation, 0.0) * MARGIN
            and one.separation > 1  # the best of several useless ways is no advice
        ]
        # Of several ways to change the same thing, the best one.
        best: dict[str, Outcome] = {}
        for one in sorted(found, key=lambda one: -one.separation):
            best.setdefault(one.variant.kind, one)
        return tuple(best.values())


def _sentence(base: Outcome, one: Outcome) -> str:
    rise = {"a": number(base.separation, decimals=1), "b": number(one.separation, decimals=1)}
    if rise["a"] == rise["b"]:
        rise = {"a": number(base.separation, decimals=2), "b": number(one.separation, decimals=2)}
    if one.variant.kind == "order":
        return tr(
            "This looks BGR-swapped: feeding {order} raises the separation from {a} to {b}.",
            order=one.variant.card.order,
            **rise,
        )
    if one.variant.kind == "scaling":
        return tr(
            "The scaling looks wrong: {name} raises the separation from {a} to {b}.", name=one.variant.name, **rise
        )
    return tr("The crop looks wrong: {name} raises the separation from {a} to {b}.", name=one.variant.name, **rise)


def variants(card: Card) -> tuple[Variant, ...]:
    """The card as it is, and every way to feed that differs from it in one thing."""
    found = [Variant(tr("as the card says"), card)]
    if card.channels == 3:
        other = "BGR" if card.order == "RGB" else "RGB"
        found.append(Variant(tr("channels as {order}", order=other), card.changed(order=other), "order"))
    for name, (mean, std) in SCALINGS.items():
        # ImageNet's numbers are those of red, green, blue.
        turn = -1 if card.order == "BGR" else 1
        scaled = card.changed(mean=mean[::turn][: card.channels], std=std[::turn][: card.channels])
        if (scaled.mean, scaled.std) != (tuple(card.mean), tuple(card.std)):
            found.append(Variant(name, scaled, "scaling"))
    flip = tr("without mirror image") if card.flip else tr("with mirror image")
    found.append(Variant(flip, card.changed(flip=not card.flip), "flip"))
    if card.crop is not None:
        found.append(Variant(tr("without crop"), card.changed(crop=None), "crop"))
    else:
        height, width = card.size
        edge = height // 14, width // 14
        tight = (edge[0], edge[1], height - edge[0], width - edge[1])
        found.append(Variant(tr("tighter crop"), card.changed(crop=tight), "crop"))
    for template in TEMPLATES:
        if template != card.template:
            # A crop is measured in its own template.
            changed = card.changed(template=template, crop=None)
            name = tr("not aligned") if template == "none" else tr("aligned to {name}", name=template)
            found.append(Variant(name, changed, "template"))
    return tuple(found)


def sample(faces: FaceSet, rows: Rows | None = None, *, limit: int = LIMIT, seed: int = 0) -> Rows:
    """At most `limit` rows: a few pictures each of people who have two or more, drawn by `seed`."""
    chosen = np.arange(len(faces)) if rows is None else np.asarray(rows, np.int64)
    if len(chosen) <= limit:
        return chosen
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(chosen)
    codes = faces.identity.codes[chosen]
    names, counts = np.unique(codes[codes >= 0], return_counts=True)
    several = rng.permutation(names[counts > 1])
    if not len(several):
        return np.sort(chosen[:limit])
    picked: list[int] = []
    for code in several.tolist():
        some = chosen[codes == code][:EACH].tolist()
        if len(picked) + len(some) > limit:
            break
        picked += some
    return np.sort(np.array(picked, np.int64))


def try_out(
    faces: FaceSet,
    rows: Rows,
    encoder: Encoder,
    *,
    pair: tuple[int, int] | None = None,
    ways: Sequence[Variant] | None = None,
    seed: int = 0,
    tick: Tick = silent,
) -> WhatIf:
    """Feed the pictures at `rows` in every way; `pair` are two rows of the gallery whose score is wanted as well.

    Pictures that cannot be read are left out. A way that gives the same pixels as one before is left out, too.
    """
    wanted = np.unique(np.concatenate([rows, np.array(pair or (), np.int64)])).astype(np.int64)
    if len(wanted) < 2:
        raise InputError(tr("A what-if needs at least two pictures."))
    listed = tuple(ways) if ways is not None else variants(encoder.card)
    rows_read, fed = _fed(faces, wanted, listed, tick=tick)
    if len(rows_read) < 2 or (pair is not None and not np.isin(pair, rows_read).all()):
        raise InputError(tr("The pictures cannot be read."), hint=tr("Run the doctor on this gallery."))
    codes = faces.identity.codes[rows_read]
    total = len(listed) * len(rows_read)
    kept: list[tuple[Variant, Floats, float]] = []  # variant, scores of all with all, mean norm
    seen: set[tuple[object, ...]] = set()
    for count, way in enumerate(listed):
        pictures = fed[_feeding(way.card)]
        same_as = (pictures.tobytes(), way.card.order, way.card.mean, way.card.std, way.card.flip)
        if same_as in seen:
            continue
        seen.add(same_as)
        using = copy.copy(encoder)
        using.card = way.card
        parts = []
        for start in range(0, len(pictures), BATCH):
            tick(count * len(rows_read) + start, total, way.name)
            parts.append(using(pictures[start : start + BATCH]).vectors.astype(np.float64))
        vectors = np.concatenate(parts)
        norms = np.linalg.norm(vectors, axis=1)
        unit = vectors / np.maximum(norms, 1e-12)[:, None]
        kept.append((way, unit @ unit.T, float(norms.mean())))
    tick(total, total)
    resampled = [_resampled(scores, codes, seed=seed) for _, scores, _ in kept]
    outcomes = []
    for (way, scores, norm), drawn in zip(kept, resampled):
        gain = _interval(drawn - resampled[0])
        at = None if pair is None else np.searchsorted(rows_read, pair)
        score = None if at is None else float(scores[at[0], at[1]])
        outcomes.append(Outcome(way, *_measures(scores, codes), norm, gain, score))
    counts = np.unique(codes[codes >= 0], return_counts=True)[1]
    return WhatIf(tuple(outcomes), len(rows_read), int((counts > 1).sum()), len(wanted) - len(rows_read))


def _feeding(card: Card) -> tuple[object, ...]:
    """What decides the pixels before channels are ordered and scaled."""
    return card.size, card.template, card.crop


def _fed(
    faces: FaceSet, rows: Rows, ways: Sequence[Variant], *, tick: Tick
) -> tuple[Rows, dict[tuple[object, ...], NDArray[np.uint8]]]:
    """Rows that can be read, and their pictures in every way of cutting that is asked for."""
    cards = {_feeding(way.card): way.card for way in ways}
    good: list[int] = []
    pictures: dict[tuple[object, ...], list[NDArray[np.uint8]]] = {key: [] for key in cards}
    for count, row in enumerate(rows.tolist()):
        tick(count, len(rows), tr("Reading pictures"))
        try:
            made = {key: feed_face(faces, row, card) for key, card in cards.items()}
        except InputError:
            continue
        good.append(row)
        for key, picture in made.items():
            pictures[key].append(picture)
    return np.array(good, np.int64), {key: np.stack(some) for key, some in pictures.items() if some}


def _pairs(codes: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(n, n) which are of the same person and which of different people; each pair once, unknown people nowhere."""
    once = np.triu((codes[:, None] >= 0) & (codes[None] >= 0), 1)
    same = codes[:, None] == codes[None]
    return once & same, once & ~same


def _measures(scores: Floats, codes: NDArray[np.int32]) -> tuple[float, float, float, float]:
    same, different = _pairs(codes)
    genuine, impostor = scores[same], scores[different]
    means = [float(some.mean()) if len(some) else np.nan for some in (genuine, impostor)]
    if not len(genuine) or not len(impostor):
        return means[0], means[1], np.nan, np.nan
    spread = float(np.sqrt((genuine.var() + impostor.var()) / 2))
    separation = (means[0] - means[1]) / spread if spread > 0 else np.nan
    thresholds = np.sort(np.concatenate([genuine, impostor]))
    accepted = 1 - np.searchsorted(np.sort(genuine), thresholds) / len(genuine)
    refused = np.searchsorted(np.sort(impostor), thresholds) / len(impostor)
    return means[0], means[1], separation, float(((accepted + refused) / 2).max())


def _resampled(scores: Floats, codes: NDArray[np.int32], *, seed: int) -> Floats:
    """(RESAMPLES,) separations of samples of people drawn with replacement: the same people for the same seed."""
    known = codes >= 0
    names, person = np.unique(codes[known], return_inverse=True)
    people = len(names)
    if people < 2:
        return np.full(RESAMPLES, np.nan)
    member = np.eye(people)[person]
    inside = scores[np.ix_(known, known)].copy()
    rows = np.ones_like(inside)
    for values in (inside, rows):
        np.fill_diagonal(values, 0)
    # Sums of 1, s, s^2 over the pairs of persons a and b; a resample weighs them.
    sums = [member.T @ values @ member for values in (rows, inside, inside**2)]
    draws = np.random.default_rng(seed).multinomial(people, np.full(people, 1 / people), RESAMPLES).astype(np.float64)
    genuine = [draws @ np.diag(values) for values in sums]
    apart = [values - np.diag(np.diag(values)) for values in sums]
    impostor = [np.einsum("ra,ab,rb->r", draws, values, draws, optimize=True) for values in apart]
    with np.errstate(invalid="ignore", divide="ignore"):
        (mean_g, var_g), (mean_i, var_i) = _moments(genuine), _moments(impostor)
        found: Floats = (mean_g - mean_i) / np.sqrt((var_g + var_i) / 2)
    return found


def _moments(sums: Sequence[Floats]) -> tuple[Floats, Floats]:
    count, first, second = sums
    mean = first / count
    return mean, np.maximum(second / count - mean**2, 0)


def _interval(values: Floats) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if len(finite) < 0.9 * len(values) or not len(finite):
        return np.nan, np.nan
    low, high = np.quantile(finite, (0.01, 0.99))
    return float(low), float(high)


def lines(result: WhatIf) -> Iterator[str]:
    """The table as text, and the advice below it."""
    asked = any(one.score is not None for one in result.outcomes)
    head = (tr("separation"), tr("genuine"), tr("impostor"), tr("accuracy"), tr("norm"))
    wide = max(len(one.variant.name) for one in result.outcomes)
    yield " " * wide + "".join(f"{name:>12}" for name in (*head, *((tr("pair"),) if asked else ())))
    for one in result.outcomes:
        cells = [number(value) for value in (one.separation, one.genuine, one.impostor, one.accuracy)]
        cells.append(number(one.norm, decimals=2))
        if asked:
            cells.append(number(one.score) if one.score is not None else "")
        yield f"{one.variant.name:<{wide}}" + "".join(f"{cell:>12}" for cell in cells)
    yield from result.advice()
