"""Retrieval: what share of a query's nearest pictures shows the same person.

Computes    the list of a query: the gallery by descending cosine, ties by row, without itself (one set) and without
            junk (same person, same camera); rank of each right one in it. With R right ones:
            P@1 = [first is right]; RP = right among the first R / R; MAP@R = 1/R sum over i <= R of P(i) [i is right]
            Recall@k = [one of the first k is right]; AP = mean precision at the right ones; INP = R / rank of the last
            right one; all are means over queries
Shapes      query (Q, D), gallery (G, D); labels (Q,), (G,) int, -1 = not known; per-query values (Q,)
Modes       r_mode "exclude_self": R does not count the query; "paper": it does when it is in the gallery, so one right
            one can never be found, and people with one picture are queries too
Reference   Musgrave, Belongie and Lim, A metric learning reality check, ECCV 2020; Zheng et al., Scalable person
            re-identification, ICCV 2015; Ye et al., Deep learning for person re-identification, 2021 (INP);
            Phan and Nguyen, DeepFace-EMD, CVPR 2022 ("paper")
Departs     AP is rectangular, as in today's re-identification code; the first Market-1501 toolkit used trapezoids
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import bootstrap, similarity
from facelens.analyses.measure import Measure
from facelens.analyses.plan import NMI_MEANS, R_MODES, RECALLS, RESAMPLES
from facelens.analyses.scores import Floats
from facelens.analyses.search import Side, cosines, flat_pairs, pairs_of
from facelens.features.k_means import k_means
from facelens.images.faceset import Ids
from facelens.progress import Tick, silent
from facelens.words import tr

CMC_RANKS = (1, 5, 10)  # of Market-1501
CHANCE = 1 << 27  # people x clusters up to which the mutual information of chance is worked out

# Measure -> its value of one query. Recall@k and CMC@k come from the rank of the first right one.
PER_QUERY = MappingProxyType({"P@1": "P@1", "RP": "RP", "MAP@R": "MAP@R", "mAP": "AP", "mINP": "INP", "MRR": "RR"})
COUNTING_R = ("P@1", "RP", "MAP@R")  # of all queries with R > 0; the others of those with something to find


@dataclass(frozen=True, eq=False)
class Queries:
    """One line for each query that has something to find, in the order of the input."""

    query: Ids  # (Q,)
    identity: NDArray[np.int32]  # (Q,)
    relevant: NDArray[np.int64]  # (Q,) R
    values: Mapping[str, NDArray[np.float64]]  # name ("P@1", "RP", "MAP@R", "AP", "INP", ...) -> (Q,)
    first_right: NDArray[np.int64]  # (Q,) rank of the first right one, 0 = none among those looked at
    nearest: Ids  # (Q,) the first in the list
    nearest_score: NDArray[np.float64]
    nearest_wrong: Ids  # (Q,) the first of another person, -1
    nearest_wrong_score: NDArray[np.float64]
    findable: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # (Q,) right ones in the list
    nearest_right: Ids = field(default_factory=lambda: np.zeros(0, np.int64))  # (Q,) the first right one, -1
    nearest_right_score: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def worst(self, name: str = "MAP@R") -> NDArray[np.int64]:
        """(Q,) lines by ascending value of `name`; of equal ones those first where a wrong one is furthest ahead."""
        with np.errstate(invalid="ignore"):
            margin = self.nearest_right_score - self.nearest_wrong_score
        margin = np.where(np.isnan(margin), -np.inf, margin)
        return np.lexsort((margin, per_query(self, name)))


@dataclass(frozen=True, eq=False)
class Retrieval:
    """Means over queries with intervals, by name in the order they are shown; and the queries behind them."""

    measures: Mapping[str, Measure]
    queries: Queries
    n_queries: int
    n_skipped: int  # queries with nothing to find
    n_gallery: int
    n_invalid: int
    r_mode: str
    how: str  # one sentence: leave-one-out, query against gallery, junk rule
    resamples: int = 0
    notes: tuple[str, ...] = field(default=())
    n_unlabelled: int = 0  # left out: nobody knows who it is


@dataclass(frozen=True)
class Paired:
    """Model B minus model A over the queries that both have, each draw of identities used for both."""

    measures: Mapping[str, Measure]
    n_queries: int
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class Clustering:
    """How well groups found without names agree with the names."""

    measures: Mapping[str, Measure]  # "NMI", "ARI"
    clusters: NDArray[np.int32]  # (N,) of the usable rows, in their order; -1 elsewhere
    n_clusters: int
    mean: str  # of NMI_MEANS


def per_query(queries: Queries, name: str) -> NDArray[np.float64]:
    """(Q,) the values whose mean is the measure `name`; also by their own name ("AP")."""
    kind, _, k = name.partition("@")
    if kind in ("Recall", "CMC"):
        return ((queries.first_right > 0) & (queries.first_right <= int(k))).astype(np.float64)
    return queries.values[PER_QUERY.get(name, name)]


def retrieve(
    query: Floats,
    gallery: Floats,
    *,
    query_ids: Ids,
    gallery_ids: Ids,
    query_identity: NDArray[np.int32],
    gallery_identity: NDArray[np.int32],
    same_set: bool,
    r_mode: str = "exclude_self",
    recalls: Sequence[int] = RECALLS,
    recall_of_all: bool = False,
    query_camera: NDArray[np.int32] | None = None,
    gallery_camera: NDArray[np.int32] | None = None,
    junk: bool = True,
    resamples: int = RESAMPLES,
    seed: int = 0,
    tick: Tick = silent,
) -> Retrieval:
    """Rank the gallery for every query.

    With `same_set` a query does not find itself, known by its id. `recall_of_all`: queries with nothing to find count
    as missed in Recall@k (as in metric learning code) instead of not at all. `junk` does nothing without cameras
    (-1 = not known); CMC@k is given where there are some.
    """
    if r_mode not in R_MODES:
        raise ValueError(f"r_mode must be one of {R_MODES}, not {r_mode!r}")
    same_vectors = gallery is query
    unit_query = similarity.unit(query, tick=tick)
    asking = Side.of(unit_query, query_ids, query_identity)
    enrolled = Side.of(
        unit_query if same_vectors else similarity.unit(gallery, tick=tick), gallery_ids, gallery_identity
    )
    cameras = None
    if query_camera is not None and gallery_camera is not None:
        cameras = np.asarray(query_camera)[asking.rows], np.asarray(gallery_camera)[enrolled.rows]
    every = _ranked(
        asking,
        enrolled,
        own=_own(asking.ids, enrolled.ids) if same_set else np.full(len(asking), -1, np.int64),
        cameras=cameras if junk else None,
        paper=r_mode == "paper",
        tick=tick,
    )
    asked = np.flatnonzero(every.relevant > 0)
    measures = _measures(
        every,
        recalls=recalls,
        recall_of_all=recall_of_all,
        cameras=cameras is not None,
        size=max(len(enrolled) - same_set, 0),
        people=len(np.union1d(asking.identity, enrolled.identity)),
        resamples=resamples,
        seed=seed,
    )
    sides = [asking]
    if not (same_vectors or (same_set and len(query) == len(gallery))):  # the same faces are not counted twice
        sides.append(enrolled)
    left, invalid = sum(side.unlabelled for side in sides), sum(side.invalid for side in sides)
    notes = []
    if left:
        notes.append(tr("{n} without identity are left out.", n=left))
    if invalid:
        notes.append(tr("{n} without usable vector are left out.", n=invalid))
    return Retrieval(
        measures=measures,
        queries=_take(every, asked),
        n_queries=len(asked),
        n_skipped=len(asking) - len(asked),
        n_gallery=len(enrolled),
        n_invalid=invalid,
        r_mode=r_mode,
        how=_how(same_set=same_set, junk=cameras is not None and junk, r_mode=r_mode),
        resamples=resamples if len(np.unique(asking.identity[asked])) > 1 else 0,
        notes=tuple(notes),
        n_unlabelled=left,
    )


def compare(a: Retrieval, b: Retrieval, *, resamples: int = RESAMPLES, seed: int = 0) -> Paired:
    """Model B minus model A, over the queries that both have."""
    _, lines_a, lines_b = np.intersect1d(a.queries.query, b.queries.query, return_indices=True)
    old, new = _take(a.queries, np.sort(lines_a)), _take(b.queries, lines_b[np.argsort(lines_a)])
    notes = []
    lost = max(a.n_queries, b.n_queries) - len(lines_a)
    if lost:
        notes.append(tr("{n} queries that only one model has are left out.", n=lost))
    if a.n_gallery != b.n_gallery:
        notes.append(tr("The galleries differ: {a} and {b} faces.", a=a.n_gallery, b=b.n_gallery))
    measures = {}
    differences: dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]] = {}
    for name, of_a in a.measures.items():
        of_b = b.measures.get(name)
        if of_b is None:
            continue
        counted = np.ones(len(lines_a), bool) if name in COUNTING_R else (old.findable > 0) & (new.findable > 0)
        why = of_a.why or of_b.why or ("" if counted.any() else tr("the models have no query in common"))
        measures[name] = Measure.none(why)
        if not why:
            differences[name] = per_query(new, name) - per_query(old, name), counted
    measures |= means(differences, old.identity, rates=False, resamples=resamples, seed=seed)
    return Paired(measures, len(lines_a), tuple(notes))


def clustering(
    vectors: Floats,
    identity: NDArray[np.int32],
    *,
    mean: str = "arithmetic",
    resamples: int = RESAMPLES,
    seed: int = 0,
    tick: Tick = silent,
) -> Clustering:
    """k-means of the unit vectors into as many groups as there are people, and how these agree with the people."""
    unit, good = similarity.unit(vectors)
    identity = np.asarray(identity, np.int32)
    rows = np.flatnonzero(good & (identity >= 0))
    n_people = len(np.unique(identity[rows]))
    clusters = np.full(len(identity), -1, np.int32)
    if 1 < n_people < len(rows):
        note = tr("Grouping faces")
        clusters[rows] = k_means(
            unit[rows], n_people, seed=seed, tick=lambda done, total, _="": tick(done, total, note)
        )
    # Without AMI: each draw would have to work out what chance gives, so it would stand there without interval.
    measures = agreement(
        identity[rows], clusters[rows], mean=mean, chance=False, resamples=resamples, seed=seed, tick=tick
    )
    if len(rows) and n_people in (1, len(rows)):
        why = tr("one identity, so there is nothing to divide")
        if n_people > 1:
            why = tr("every person has one picture, so there is nothing to put together")
        measures = {name: Measure.none(why, n=len(rows)) for name in measures}
    return Clustering(measures, clusters, n_people, mean)


def agreement(
    labels: NDArray[np.int32],
    clusters: NDArray[np.int32],
    *,
    mean: str = "arithmetic",
    chance: bool = True,
    resamples: int = 0,
    seed: int = 0,
    tick: Tick = silent,
) -> Mapping[str, Measure]:
    """ "NMI" (normalised by `mean` of both entropies) and "ARI" of two divisions of the same things.

    With `chance` also "AMI", which has no interval.
    """
    if mean not in NMI_MEANS:
        raise ValueError(f"mean must be one of {NMI_MEANS}, not {mean!r}")
    names = ("NMI", "AMI", "ARI") if chance else ("NMI", "ARI")
    n = len(labels)
    if not n:
        return {name: Measure.none(tr("there is no face to group")) for name in names}
    people, label = np.unique(labels, return_inverse=True)
    groups, cluster = np.unique(clusters, return_inverse=True)
    cell, count = np.unique(label.astype(np.int64) * len(groups) + cluster, return_counts=True)
    table = _Table(cell // len(groups), cell % len(groups), count.astype(np.float64), len(people), len(groups))
    found = {"NMI": Measure(table.nmi(mean), n=n)}
    if chance and len(people) * len(groups) <= CHANCE:
        from sklearn.metrics import adjusted_mutual_info_score

        found["AMI"] = Measure(float(adjusted_mutual_info_score(labels, clusters)), n=n)
    elif chance:
        found["AMI"] = Measure.none(tr("too many people to work out what chance would give"), n=n)
    found["ARI"] = Measure(table.ari(), n=n) if n > 1 else Measure.none(tr("one face has no pair"), n=n)
    if resamples and len(people) > 1:
        weights = bootstrap.identity_weights(len(people), resamples=resamples, seed=seed).astype(np.float64)
        for name in ("NMI", "ARI"):
            draws = np.zeros(resamples)
            for b, w in enumerate(weights):
                tick(b, resamples, tr("Drawing identities"))
                draws[b] = table.nmi(mean, w) if name == "NMI" else table.ari(w)
            limits = bootstrap.interval(draws)
            if limits and found[name].value is not None:
                found[name] = found[name].with_interval(*limits)
    return found


# Ranking


def _own(query_ids: Ids, gallery_ids: Ids) -> NDArray[np.int64]:
    """(Q,) where each query stands in the gallery, -1 where it does not."""
    order = np.argsort(gallery_ids, kind="stable")
    place = np.minimum(np.searchsorted(gallery_ids, query_ids, sorter=order), max(len(order) - 1, 0))
    if not len(order):
        return np.full(len(query_ids), -1, np.int64)
    column = order[place]
    return np.where(gallery_ids[column] == query_ids, column, -1)


def _ranked(
    query: Side,
    gallery: Side,
    *,
    own: NDArray[np.int64],
    cameras: tuple[NDArray[np.int32], NDArray[np.int32]] | None,
    paper: bool,
    tick: Tick,
) -> Queries:
    """A line for every query, also those with nothing to find."""
    Q = len(query)
    order, start, stop = pairs_of(query.identity, gallery.identity)
    values = {name: np.zeros(Q) for name in PER_QUERY.values()}
    relevant, findable, first_right = np.zeros(Q, np.int64), np.zeros(Q, np.int64), np.zeros(Q, np.int64)
    right, wrong = np.full(Q, -1, np.int64), np.full(Q, -1, np.int64)
    right_score, wrong_score = np.full(Q, -np.inf), np.full(Q, -np.inf)
    for here, score in cosines(query, gallery, pairs=int((stop - start).sum()), tick=tick):
        n = len(score)
        row, column = flat_pairs(order, start[here], stop[here])
        positive = score[row, column].astype(np.float64)
        score[row, column] = -np.inf  # what is left are the wrong ones
        in_list = column != own[here][row]
        mine = own[here]
        outside = np.flatnonzero((mine >= 0) & (gallery.identity[mine] != query.identity[here]))
        score[outside, mine[outside]] = -np.inf  # a query enrolled under another name is still not compared with itself
        if cameras is not None:
            seen_by = cameras[0][here][row]
            in_list &= (seen_by != cameras[1][column]) | (seen_by < 0)
        itself = np.bincount(row[~in_list & (column == mine[row])], minlength=n) if paper else np.zeros(n, np.int64)
        row, column, positive = row[in_list], column[in_list], positive[in_list]
        best = score.argmax(axis=1)
        wrong_score[here] = score[np.arange(n), best]
        wrong[here] = np.where(np.isfinite(wrong_score[here]), gallery.ids[best], -1)
        by_rank = np.lexsort((column, -positive, row))
        row, column, positive = row[by_rank], column[by_rank], positive[by_rank]
        count = np.bincount(row, minlength=n)
        begin = np.cumsum(count) - count
        place = np.arange(len(row)) - begin[row] + 1  # 1, 2, ... among the right ones
        rank = place + _ahead(score, row, column=column, positive=positive, begin=begin, count=count)
        R = count + itself
        some, all_right = np.maximum(R, 1), np.maximum(count, 1)
        inside = rank <= R[row]
        precision = place / rank
        first, last = begin[count > 0], (begin + count - 1)[count > 0]
        filled = np.flatnonzero(count) + here.start
        relevant[here], findable[here] = R, count
        first_right[filled] = rank[first]
        right[filled], right_score[filled] = gallery.ids[column[first]], positive[first]
        values["P@1"][filled] = rank[first] == 1
        values["RP"][here] = np.bincount(row, inside, minlength=n) / some
        values["MAP@R"][here] = np.bincount(row, precision * inside, minlength=n) / some
        values["AP"][here] = np.bincount(row, precision, minlength=n) / all_right
        values["INP"][filled] = count[count > 0] / rank[last]
        values["RR"][filled] = 1 / rank[first]
    leads = first_right == 1
    return Queries(
        query=query.ids,
        identity=query.identity,
        relevant=relevant,
        values=values,
        first_right=first_right,
        nearest=np.where(leads, right, wrong),
        nearest_score=np.where(leads, right_score, wrong_score),
        nearest_wrong=wrong,
        nearest_wrong_score=wrong_score,
        findable=findable,
        nearest_right=right,
        nearest_right_score=right_score,
    )


def _ahead(
    score: Floats,
    row: NDArray[np.int64],
    *,
    column: NDArray[np.int64],
    positive: NDArray[np.float64],
    begin: NDArray[np.int64],
    count: NDArray[np.int64],
) -> NDArray[np.int64]:
    """(P,) how many wrong ones stand before each right one: higher, or equal with a smaller column."""
    ahead = np.zeros(len(row), np.int64)
    for q in np.flatnonzero(count):
        some = slice(begin[q], begin[q] + count[q])
        line = score[q]
        values = positive[some].astype(line.dtype)  # descending
        ordered = np.sort(line[line >= values[-1]])
        high = np.searchsorted(ordered, values, "right")
        ahead[some] = len(ordered) - high
        tied = np.flatnonzero(np.searchsorted(ordered, values, "left") < high)
        for value in np.unique(values[tied]):
            equal = tied[values[tied] == value]
            ahead[begin[q] + equal] += np.searchsorted(np.flatnonzero(line == value), column[begin[q] + equal])
    return ahead


def _take(queries: Queries, lines: NDArray[np.int64]) -> Queries:
    taken = {f.name: getattr(queries, f.name)[lines] for f in fields(Queries) if f.name != "values"}
    return Queries(values={name: v[lines] for name, v in queries.values.items()}, **taken)


# Means


def means(
    values: Mapping[str, tuple[NDArray[np.float64], NDArray[np.bool_]]],
    identity: NDArray[np.int32],
    *,
    rates: bool = True,
    resamples: int,
    seed: int,
) -> dict[str, Measure]:
    """The mean of each (Q,) over the queries it counts, with its interval; `rates` lie between 0 and 1."""
    people, code = np.unique(identity, return_inverse=True)
    C = len(people)
    found = {name: Measure(float(v[counted].mean()), n=int(counted.sum())) for name, (v, counted) in values.items()}
    if not resamples or C < 2 or not found:
        return found
    weights = bootstrap.identity_weights(C, resamples=resamples, seed=seed)
    sums = np.array([np.bincount(code[c], v[c], minlength=C) for v, c in values.values()])
    counts = np.array([np.bincount(code[c], minlength=C) for _, c in values.values()])
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = (weights @ sums.T) / (weights @ counts.T)
    for name, column, of_person in zip(found, draws.T, counts):
        limits = bootstrap.interval(column) if np.count_nonzero(of_person) > 1 else None  # one person has no spread
        if limits and rates:
            limits = bootstrap.widened(*limits, found[name].n)
        if limits:
            found[name] = found[name].with_interval(*limits)
    return found


def _measures(
    every: Queries,
    *,
    recalls: Sequence[int],
    recall_of_all: bool,
    cameras: bool,
    size: int,
    people: int,
    resamples: int,
    seed: int,
) -> Mapping[str, Measure]:
    of_list = [f"Recall@{k}" for k in recalls] + ([f"CMC@{k}" for k in CMC_RANKS] if cameras else [])
    names = ["P@1", "RP", "MAP@R", *of_list[: len(recalls)], "mAP", *of_list[len(recalls) :], "mINP", "MRR"]
    n = len(every.query)
    why = ""
    if not n:
        why = tr("there is no query")
    elif not size:
        why = tr("there is no other picture to find")
    elif people == 1:
        why = tr("one identity, so nothing wrong can be found")
    elif not every.findable.any():
        why = tr("no query has another picture of the same person")
    if why:
        return {name: Measure.none(why, n=0) for name in names}
    everybody, counting = np.ones(n, bool), every.relevant > 0
    values, short = {}, {}
    for name in names:
        kind, _, k = name.partition("@")
        if kind in ("Recall", "CMC") and int(k) > size:
            short[name] = Measure.none(tr("there are only {n} pictures to find", n=size))
            continue
        counted = every.findable > 0
        if name in COUNTING_R:
            counted = counting
        elif kind == "Recall":
            counted = everybody if recall_of_all else counting
        values[name] = per_query(every, name), counted
    found = short | means(values, every.identity, resamples=resamples, seed=seed)
    return {name: found[name] for name in names}


def _how(*, same_set: bool, junk: bool, r_mode: str) -> str:
    parts = [
        tr("Every picture is searched among all others.")
        if same_set
        else tr("Every query is searched in the whole gallery.")
    ]
    if junk:
        parts.append(tr("Pictures of the same person by the same camera are left out."))
    if r_mode == "paper" and same_set:
        parts.append(tr("R counts the query itself, which cannot be found."))
    return " ".join(parts)


# Clusters


@dataclass(frozen=True, eq=False)
class _Table:
    """Cells of the table people x clusters that are not empty."""

    label: NDArray[np.int64]
    cluster: NDArray[np.int64]
    count: NDArray[np.float64]
    n_labels: int
    n_clusters: int

    def nmi(self, mean: str, weight: NDArray[np.float64] | None = None) -> float:
        """Mutual information over the mean of the entropies; 1 where both sides are one group."""
        count = self.count if weight is None else self.count * weight[self.label]
        n = count.sum()
        rows = np.bincount(self.label, count, minlength=self.n_labels)
        columns = np.bincount(self.cluster, count, minlength=self.n_clusters)
        some = count > 0
        shared = rows[self.label[some]] * columns[self.cluster[some]]
        mutual = max(float((count[some] / n * np.log(count[some] * n / shared)).sum()), 0.0)
        of_rows, of_columns = _entropy(rows / n), _entropy(columns / n)
        whole = (of_rows + of_columns) / 2 if mean == "arithmetic" else float(np.sqrt(of_rows * of_columns))
        if of_rows == of_columns == 0:
            return 1.0
        return mutual / whole if mutual > 0 and whole > 0 else 0.0

    def ari(self, weight: NDArray[np.float64] | None = None) -> float:
        """Adjusted Rand index; a pair of one person weighs w, a pair of two people w v."""
        w = np.ones(self.n_labels) if weight is None else weight
        per_label = np.bincount(self.label, self.count, minlength=self.n_labels)
        together = float((w[self.label] * self.count * (self.count - 1) / 2).sum())  # one person, one cluster
        genuine = float((w * per_label * (per_label - 1) / 2).sum())
        weighed = w[self.label] * self.count
        sums = np.bincount(self.cluster, weighed, minlength=self.n_clusters)
        mixed = float(((sums**2).sum() - (weighed**2).sum()) / 2)  # two people, one cluster
        impostor = float(((w * per_label).sum() ** 2 - ((w * per_label) ** 2).sum()) / 2)
        apart, right_apart = genuine - together, impostor - mixed
        if apart == 0 and mixed == 0:
            return 1.0
        below = (together + apart) * (apart + right_apart) + (together + mixed) * (mixed + right_apart)
        return 2.0 * (together * right_apart - apart * mixed) / below if below else 0.0


def _entropy(share: NDArray[np.float64]) -> float:
    share = share[share > 0]
    return max(float(-(share * np.log(share)).sum()), 0.0) if len(share) > 1 else 0.0
