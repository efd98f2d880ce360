"""Rejection: what refusing the worst pictures does to the errors of those that are kept.

Computes    steps of coverage c from 1 downwards; of N pictures the c N with the lowest score u are kept, ties together
            1:1  a pair is compared when both pictures are kept; error = 1 - TAR at the same FAR, the threshold found
                 anew on the pairs that are left
            1:N  refused pictures leave the templates of the gallery before pooling; error = 1 - TPIR at the same FPIR
            relative error = (error - error at c = 1) / error at c = 1;  AURC = area below error over c, trapezoid,
            divided by the range of c
Shapes      arrays over S steps, by descending coverage; per face (N,)
Reference   Shoshan et al., "Asymmetric Image Retrieval with Cross Model Compatible Ensembles", WACV 2024
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import bootstrap, pairs_left, similarity, templates_left
from facelens.analyses.measure import Measure, rate
from facelens.analyses.pairs_left import Faces, Kind, Leaves, Left, Pairs
from facelens.analyses.plan import EMPTIED, OPEN_RULES, RECOGNISED, REFUSE, RESAMPLES, WEIGHTS
from facelens.analyses.scores import Floats
from facelens.analyses.search import flat_pairs, pairs_of
from facelens.analyses.templates_left import Found, Pooled, Setting
from facelens.errors import InputError
from facelens.images.faceset import Ids
from facelens.progress import Tick, part_of, silent
from facelens.words import plural, tr

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Band:
    """Values over the steps with their limits; NaN where there is none."""

    value: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Risk:
    """The errors that are left at every step of coverage, by one score; step 0 keeps everything."""

    task: str  # "1:1" or "1:N"
    rate: float  # the FAR or FPIR asked for
    coverage: Array  # (S,) kept / N, descending from 1
    kept: Counts  # (S,) pictures
    limit: Array  # (S,) pictures with a score above it are refused; inf at step 0
    error: Band  # (S,) 1 - TAR or 1 - TPIR
    gain: Band  # (S,) TAR or TPIR minus that of step 0, paired
    change: Band  # (S,) relative error: -0.3 is 30 % fewer errors
    threshold: Array  # (S,) similarity above which two are the same
    n: Counts  # (S,) genuine pairs, or searches of enrolled people
    random: Array  # (S,) error when as many are refused at random
    best: Array  # (S,) error when pictures are refused by their own errors, which nobody knows beforehand
    emptied: Counts  # (S,) 1:N: templates that lost all their pictures (kept with the best one, or un-enrolled)
    dropped: Counts  # (S,) 1:N: searches that no longer count because their person was un-enrolled
    area: Measure  # AURC
    notes: tuple[str, ...] = ()
    why: str = ""  # there is no error, or there is one that must not be read as that at the rate asked for


@dataclass(frozen=True, eq=False)
class Recognition:
    """For every face whether it is recognised: `right` 1, wrong 0, -1 where its person has no other picture."""

    right: NDArray[np.int8]  # (N,)
    mate: Ids  # (N,) the closest face of the same person, -1
    mate_score: Array  # (N,) NaN where there is none
    other: Ids  # (N,) the closest face of anybody else, -1
    other_score: Array
    missed: NDArray[np.float32]  # (N,) share of its genuine pairs below the threshold, NaN without one
    threshold: float | None  # at the FAR of 1:1; None where there is none
    rule: str  # of RECOGNISED
    notes: tuple[str, ...] = ()


LOWEST = 0.4  # coverage at which steps end
MOST = 120  # steps
LEAST_DRAWS = 100
WEIGHED = 4_000_000_000  # pairs weighed for intervals: of many pairs there are fewer draws
EPS = 1e-3
RANDOM = 5  # random orders of refusing, the mean of which is compared with


@dataclass(frozen=True, eq=False)
class Refusal:
    """Which pictures are refused at which step; step 0 refuses none."""

    coverage: Array  # (S,) kept / N, descending from 1
    kept: Counts  # (S,)
    limit: Array  # (S,) pictures with a score above it are refused; inf at step 0
    leaves: Leaves  # (N,) the step at which a picture is refused; S where it never is
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.kept)


def steps(values: Array, *, lowest: float = LOWEST, most: int = MOST) -> Refusal:
    """Steps of coverage down to `lowest`, evenly as far as scores differ; those with equal scores go together.

    A picture without score (NaN) is never refused, and counts as kept.

    >>> found = steps(np.array([0.5, 0.1, 0.9, 0.5]))
    >>> found.kept, found.limit, found.leaves
    (array([4, 3]), array([inf, 0.5]), array([2, 2, 1, 2], dtype=int16))
    """
    values = np.asarray(values, np.float64)
    known = ~np.isnan(values)
    N = len(values)
    levels, counts = np.unique(values[known], return_counts=True)
    kept = (np.cumsum(counts) + N - counts.sum())[::-1]  # where each level is the highest that is kept
    levels = levels[::-1]
    allowed = np.flatnonzero(kept >= lowest * N - 1e-9)
    allowed = allowed[allowed > 0]  # the highest level refuses nobody, as step 0
    if len(allowed):
        aims = N - (N - kept[allowed[-1]]) * np.arange(1, most) / max(1, most - 1)
        after = np.clip(np.searchsorted(-kept[allowed], -aims), 0, len(allowed) - 1)
        before = np.maximum(after - 1, 0)
        nearer = np.abs(kept[allowed[before]] - aims) < np.abs(kept[allowed[after]] - aims)
        allowed = allowed[np.unique(np.where(nearer, before, after))]
    limit = np.append(np.inf, levels[allowed])
    kept = np.append(N, kept[allowed]).astype(np.int64)
    # NaN is above no limit.
    leaves = np.where(known, np.searchsorted(-limit, -values, side="right"), len(limit)).astype(np.int16)
    notes = []
    if unknown := int(N - known.sum()):
        one, many = (
            "{n} picture has no score and is never refused.",
            "{n} pictures have no score and are never refused.",
        )
        notes.append(plural(unknown, one, many))
    if len(limit) == 1 and known.any() and most > 1:
        notes.append(tr("The scores are equal, so none can be refused before the others."))
    return Refusal(kept / max(N, 1), kept, limit, leaves, tuple(notes))


def verify_risk(
    query: Floats,
    gallery: Floats,
    ids: Ids,
    identity: NDArray[np.int32],
    values: Array,
    *,
    far: float = 1e-3,
    refuse: str = "both",
    resamples: int = RESAMPLES,
    seed: int = 0,
    lowest: float = LOWEST,
    most: int = MOST,
    tick: Tick = silent,
) -> Risk:
    """1:1 over all pairs of the faces, at each step with those that are left and a threshold of its own.

    Equal `query` and `gallery` (N, D) make unordered pairs; two models make ordered ones. `refuse` "gallery" only asks
    for the gallery's picture of a pair, so that all pairs are ordered.
    """
    if refuse not in REFUSE:
        raise ValueError(f"refuse must be one of {REFUSE}, not {refuse!r}")
    both = refuse == "both"
    refusal = steps(values, lowest=lowest, most=most)
    faces = pairs_left.usable(query, gallery, ids, identity, ordered=not both, tick=tick)
    pairs, depth = pairs_left.collected(
        faces, refusal.leaves, steps=len(refusal), far=far, both=both, tick=part_of(tick, 0, 2)
    )
    faces = pairs.faces
    leaves = refusal.leaves[faces.rows]
    left = Left(pairs, leaves, steps=len(refusal), both=both)
    tar, border = (each[0] for each in left.tar(far))
    notes = [*refusal.notes, *faces.notes]
    if not left.undefined:
        notes += _from_where(refusal, far, left.n_impostor, tar)
    drawn = None
    if resamples and np.isfinite(tar[0]):
        if len(np.unique(faces.codes[pairs.genuine.first])) < 2:
            notes.append(tr("All genuine pairs are of one person, so how far a number may move is not known."))
        else:
            enough = max(LEAST_DRAWS, WEIGHED // (len(pairs.genuine.score) + depth))
            if enough < resamples:
                notes.append(tr("Intervals are of {n} draws, because there are many pairs.", n=enough))
            weights = bootstrap.identity_weights(faces.people, resamples=min(resamples, enough), seed=seed)
            some = Left(pairs.upto(depth), leaves, steps=len(refusal), both=both)
            drawn = some.tar(far, weights, tick=part_of(tick, 1, 2))[0]
    best = np.full(len(refusal), np.nan)
    if np.isfinite(border[0]):
        worst_first = _by_errors(pairs, float(border[0]), both=both)
        in_order = _as_many(leaves, worst_first, steps=len(refusal))
        best = 1 - Left(pairs, in_order, steps=len(refusal), both=both).tar(far)[0][0]
    none = np.zeros(len(refusal), np.int64)
    return _risk(
        "1:1",
        far,
        refusal,
        1 - tar,
        None if drawn is None else 1 - drawn,
        threshold=left.thresholds(border),
        n=left.n_genuine,
        random=np.full(len(refusal), 1 - tar[0]),  # any pairs are as good as all
        best=best,
        emptied=none,
        dropped=none,
        why=left.why(far),
        notes=notes,
    )


def _from_where(refusal: Refusal, far: float, impostors: Counts, tar: Array) -> list[str]:
    """From which coverage on an error has no support, or is not known."""
    notes = []
    weak = np.flatnonzero(far * impostors < 3 - 1e-9)
    if len(weak) and weak[0] > 0:
        share = f"{refusal.coverage[weak[0]]:.0%}"
        notes.append(
            tr("From a coverage of {share} on a FAR of {far} has no support (rule of 3).", share=share, far=rate(far))
        )
    unknown = np.flatnonzero(np.isnan(tar) & (impostors > 0))
    if len(unknown):
        share = f"{refusal.coverage[unknown[0]]:.0%}"
        notes.append(tr("At a coverage of {share} more impostor pairs are needed than can be kept.", share=share))
    return notes


def _by_errors(pairs: Pairs, border: float, *, both: bool) -> NDArray[np.int64]:
    """Rows of the faces: largest share of their genuine pairs missed first, then lowest mean score of these."""
    n = len(pairs.faces)
    score, first, second = pairs.genuine
    count, missed, total = np.zeros(n), np.zeros(n), np.zeros(n)
    for side in [first, second] if both else [second]:
        count += np.bincount(side, minlength=n)
        missed += np.bincount(side[score <= border], minlength=n)
        total += np.bincount(side, score, minlength=n)
    with np.errstate(invalid="ignore", divide="ignore"):
        share, mean = np.where(count > 0, missed / count, -1), np.where(count > 0, total / count, np.inf)
    return np.lexsort((mean, -share))


def _as_many(leaves: Leaves, order: NDArray[np.int64], *, steps: int) -> Leaves:
    """When pictures leave if at each step as many are refused, but in this order."""
    refused = np.count_nonzero(leaves[None] <= np.arange(steps)[:, None], axis=1)
    made = np.empty(len(leaves), np.int16)
    made[order] = np.searchsorted(refused, np.arange(len(leaves)), side="right")
    return made


def identify_risk(
    query: Floats,
    gallery: Floats,
    ids: Ids,
    identity: NDArray[np.int32],
    values: Array,
    *,
    fpir: float = 1e-2,
    rule: str = "nist",
    emptied: str = "keep",
    weights: str = "equal",
    uncertainty: Array | None = None,
    tau: float | None = None,
    eps: float = EPS,
    resamples: int = RESAMPLES,
    seed: int = 0,
    lowest: float = LOWEST,
    most: int = MOST,
    tick: Tick = silent,
) -> Risk:
    """1:N in two galleries of templates, of which refused pictures are left out before they are pooled.

    Half of each person's pictures are enrolled, as they are in `gallery`, the others search, as they are in `query`;
    see templates_left. A template that has lost everything "keep"s its least uncertain picture, or the person is
    "unenrol"led. Pictures weigh the same, or "inverse" 1 / (u + eps), or "exponential" exp(-u / tau), where tau is by
    default the mean of |u|; one without u weighs as the median of the others. u is `uncertainty`, else the score.
    """
    for value, known in ((rule, OPEN_RULES), (emptied, EMPTIED), (weights, WEIGHTS)):
        if value not in known:
            raise ValueError(f"{value!r} is not one of {known}")
    values = np.asarray(values, np.float64)
    refusal = steps(values, lowest=lowest, most=most)
    S = len(refusal)
    faces = pairs_left.usable(query, gallery, ids, identity, tick=tick)
    if len(faces) > pairs_left.FACES:
        faces = faces.some_people(pairs_left.FACES)
    setting = templates_left.divided(faces, np.asarray(ids, np.int64), seed=seed)
    own = faces.rows[setting.picture]
    u = values if uncertainty is None else np.asarray(uncertainty, np.float64)
    share = _picture_weights(u[own], weights, tau=tau, eps=eps)
    orders = 2 + (RANDOM if len(faces) <= 20_000 else 2)  # by score, by errors, at random

    def refused(leaves: Leaves, last: Array, turn: int) -> tuple[Found, Pooled]:
        pools = templates_left.pooled(
            faces.gallery, setting, leaves, steps=S, last=last, weights=share, unenrol=emptied == "unenrol"
        )
        part = part_of(tick, turn, orders + 1)
        searched = templates_left.searched(faces.query, setting, pools, tick=part)
        return Found(searched, setting, faces, fpir=fpir, rule=rule), pools

    def in_order(order: NDArray[np.int64], turn: int) -> Array:
        """Errors when the pictures of this order are refused one after the other, as many as by score."""
        last = np.empty(len(order))
        last[order] = -np.arange(len(order))
        return np.asarray(1 - refused(_as_many(leaves, order, steps=S), last, turn)[0].tpir()[0][0])

    leaves = refusal.leaves[own]
    found, pools = refused(leaves, np.where(np.isnan(values[own]), -np.inf, values[own]), 0)
    tpir, threshold = (each[0] for each in found.tpir())
    notes = [*refusal.notes, *faces.notes]
    drawn, best, random = None, np.full(S, np.nan), np.full(S, np.nan)
    if np.isfinite(tpir[0]):
        notes.append(setting.how)
        if S > 1:
            generator = np.random.default_rng(seed)
            best = in_order(_worst_pictures(faces, setting, found.thresholds()), 1)
            random = np.mean([in_order(generator.permutation(len(own)), turn) for turn in range(2, orders)], axis=0)
        else:
            best, random = 1 - tpir, 1 - tpir
        if resamples and len(np.unique(setting.own[setting.own >= 0])) > 1:
            draws = bootstrap.identity_weights(faces.people, resamples=resamples, seed=seed)
            drawn = 1 - found.tpir(draws, tick=part_of(tick, orders, orders + 1))[0]
    return _risk(
        "1:N",
        fpir,
        refusal,
        1 - tpir,
        drawn,
        threshold=threshold,
        n=found.n,
        random=random,
        best=best,
        emptied=pools.emptied,
        dropped=found.n[0] - found.n,
        why=found.why,
        notes=notes,
    )


def _picture_weights(values: Array, how: str, *, tau: float | None, eps: float) -> Array:
    """(E,) how much each picture counts in its template."""
    finite = values[np.isfinite(values)]
    if how == "equal" or not len(finite):
        return np.ones(len(values))
    known = np.clip(np.where(np.isnan(values), np.median(finite), values), finite.min(), finite.max())
    if how == "inverse":
        if known.min() < 0:
            raise InputError(
                tr("Weights of 1 / u need scores that are not negative."),
                hint=tr("Choose equal or exponential weights."),
            )
        return np.asarray(1 / (known + eps))
    scale = float(np.abs(finite).mean()) if tau is None else tau
    return np.asarray(np.exp(-(known - known.min()) / scale)) if scale > 0 else np.ones(len(values))


def _worst_pictures(faces: Faces, setting: Setting, thresholds: Array) -> NDArray[np.int64]:
    """Enrolled pictures, those first that most searches of their person miss at the threshold of their gallery."""
    E = len(setting.picture)
    order, start, stop = pairs_of(setting.own, setting.template)
    asking, picture = flat_pairs(order, start, stop)
    rows = setting.probe[asking], setting.picture[picture]
    scores = similarity.products_of(faces.query, faces.gallery, *rows)
    missed = scores < thresholds[(setting.template[picture] >= setting.first).astype(np.int64)]
    count = np.bincount(picture, minlength=E)
    share, mean = np.bincount(picture, missed, minlength=E) / count, np.bincount(picture, scores, minlength=E) / count
    return np.lexsort((mean, -share))


def recognise(
    query: Floats,
    gallery: Floats,
    ids: Ids,
    identity: NDArray[np.int32],
    *,
    far: float = 1e-3,
    rule: str = "pairs",
    tick: Tick = silent,
) -> Recognition:
    """Whether each face, searched among all others, is taken for the right person.

    By `rule` "nearest" when its best mate is nearer than anybody else; by "pairs" when besides no more than half of its
    genuine pairs are missed at the threshold of `far`. Of equally near ones the smaller id is given.
    """
    if rule not in RECOGNISED:
        raise ValueError(f"rule must be one of {RECOGNISED}, not {rule!r}")
    N, ids = len(ids), np.asarray(ids, np.int64)
    found = pairs_left.usable(query, gallery, ids, identity, tick=tick)
    if len(found) > pairs_left.FACES:
        found = found.some_people(pairs_left.FACES)
    once = np.ones(N, np.int16)
    pairs, _ = pairs_left.collected(found, once, steps=1, far=far, both=True, tick=part_of(tick, 0, 2))
    left = Left(pairs, once[: len(pairs.faces)], steps=1, both=True)
    border = left.tar(far)[1][0]
    threshold = float(left.thresholds(border)[0])
    genuine = pairs.genuine
    if len(pairs.faces) < len(found):  # the threshold is that of some people, but all are judged
        genuine = pairs_left.genuine(found, tick=tick)
    mate, mate_score, missed = _mates(genuine, len(found), border=float(border[0]), ordered=found.ordered)
    other, other_score = similarity.nearest_others(
        found.query,
        identity=found.codes,
        against=found.gallery if found.ordered else None,
        tick=part_of(tick, 1, 2),
    )
    nearest = mate_score > other_score
    right = nearest if rule == "nearest" else nearest & ~(missed > 0.5)

    def whole(values: NDArray[Any], nothing: float) -> NDArray[Any]:
        made = np.full(N, nothing, values.dtype)
        made[found.rows] = values
        return made

    own = np.append(ids[found.rows], -1)  # row -1 is nobody
    return Recognition(
        right=whole(np.where(mate >= 0, right, -1).astype(np.int8), -1),
        mate=whole(own[mate], -1),
        mate_score=whole(np.where(mate >= 0, mate_score, np.nan), np.nan),
        other=whole(own[other], -1),
        other_score=whole(np.where(other >= 0, other_score, np.nan).astype(np.float64), np.nan),
        missed=whole(missed, np.nan),
        threshold=None if np.isnan(threshold) else threshold,
        rule=rule,
        notes=pairs.faces.notes,
    )


def _mates(
    genuine: Kind, n: int, *, border: float, ordered: bool
) -> tuple[NDArray[np.int64], Array, NDArray[np.float32]]:
    """For each of `n` faces the row of its best mate, or -1; its score; and the share of its pairs missed, or NaN."""
    score = np.asarray(genuine.score, np.float64)
    one, other = genuine.first, genuine.second
    if not ordered:
        one, other, score = np.r_[one, other], np.r_[other, one], np.r_[score, score]
    order = np.lexsort((other, -score, one))
    faces, first = np.unique(one[order], return_index=True)
    best = order[first]
    mate, mate_score = np.full(n, -1, np.int64), np.full(n, -np.inf)
    mate[faces], mate_score[faces] = other[best], score[best]
    with np.errstate(invalid="ignore", divide="ignore"):
        missed = np.bincount(one[score <= border], minlength=n) / np.bincount(one, minlength=n)
    return mate, mate_score, (missed if np.isfinite(border) else np.full(n, np.nan)).astype(np.float32)


def _risk(
    task: str,
    rate: float,
    refusal: Refusal,
    error: Array,
    drawn: Array | None,
    *,
    threshold: Array,
    n: Counts,
    random: Array,
    best: Array,
    emptied: Counts,
    dropped: Counts,
    why: str,
    notes: list[str],
) -> Risk:
    """Errors (S,) and their draws (B, S) with all that follows from them."""
    with np.errstate(invalid="ignore", divide="ignore"):
        change = (error - error[0]) / error[0]
        change[np.isinf(change)] = np.nan
        bands = [_band(error, drawn, of=n), _band(error[0] - error, None if drawn is None else drawn[:, :1] - drawn)]
        changed = None
        if drawn is not None:
            changed = np.where(drawn[:, :1] > 0, (drawn - drawn[:, :1]) / drawn[:, :1], np.nan)
        bands.append(_band(change, changed))
    area = _area(refusal.coverage, error, drawn, n=int(n[0]), why=why)
    return Risk(
        task=task,
        rate=rate,
        coverage=refusal.coverage,
        kept=refusal.kept,
        limit=refusal.limit,
        error=bands[0],
        gain=bands[1],
        change=bands[2],
        threshold=threshold,
        n=n,
        random=random,
        best=best,
        emptied=emptied,
        dropped=dropped,
        area=area,
        notes=tuple(dict.fromkeys(notes)),
        why=why,
    )


def _band(value: Array, drawn: Array | None, *, of: Counts | None = None) -> Band:
    """With limits where there are draws; `of`: rates over so many things."""
    limits = np.full((2, len(value)), np.nan)
    for step, column in enumerate(drawn.T if drawn is not None else ()):
        if np.isfinite(value[step]) and (found := bootstrap.interval(column)):
            limits[:, step] = found if of is None else bootstrap.widened(*found, int(of[step]))
    return Band(value, *limits)


def _area(coverage: Array, error: Array, drawn: Array | None, *, n: int, why: str) -> Measure:
    """The mean error over the range of coverage."""
    known = np.flatnonzero(np.isfinite(error))
    if not len(known):
        return Measure.none(why or tr("no error is known"), n=n)
    if len(known) < 2:
        return Measure.none(why or tr("no picture is refused, so there is no range of coverage"), n=n)
    at = coverage[known]

    def area(errors: Array) -> Array:
        return np.asarray(np.trapezoid(errors[..., known], at, axis=-1) / (at[-1] - at[0]))

    found = Measure(float(area(error)), n=n, why=why, supported=not why)
    limits = bootstrap.interval(area(drawn)) if drawn is not None else None
    return found.with_interval(*limits) if limits else found
