"""Listing: the pairs or searches behind a point, a bin, a rank or a cell; exactly those, worst first.

Worst first means by margin: how far a score lies on the wrong side of the threshold; what is right comes after what
is wrong, the closest call first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import identification, verification
from facelens.analyses.evaluation import Report
from facelens.analyses.identification import Searches
from facelens.analyses.retrieval import Queries, per_query
from facelens.analyses.scores import Scores
from facelens.figures.listed import pair_names
from facelens.images.faceset import FaceSet, Ids
from facelens.images.protocol import Templates
from facelens.session.archive import face_of, names_of
from facelens.words import number, plural, tr

KINDS = (
    "false match", "false non-match", "genuine", "impostor", "gained", "lost", "miss", "hit", "false alarm",
    "same person", "other person",
)  # fmt: skip
FALSE_MATCH, FALSE_NON_MATCH, GENUINE, IMPOSTOR, GAINED, LOST, MISS, HIT, FALSE_ALARM, SAME, OTHER = range(len(KINDS))
RIGHT = (GENUINE, IMPOSTOR, GAINED, HIT, SAME)
NOBODY = -1
LISTED = 100_000  # pairs of a kind in a list; nobody looks at more, and millions would hold up the window


@dataclass(frozen=True, eq=False)
class Listing:
    """Pairs in the order they are shown in. Ids of faces or templates; NOBODY where a search found nobody.

    `total` counts all there are; it is larger than the list where pairs are only counted, not kept. `none` says what
    the model has where the list is empty ("no false match above 0.489").
    """

    title: str
    first: Ids
    second: Ids
    score: NDArray[np.float64]
    margin: NDArray[np.float64]  # NaN where there is none
    kind: NDArray[np.int8]
    total: int
    none: str = ""
    of: str = "face"
    value: str = ""  # what `score` is, where it is not a similarity
    missing: tuple[float, float] | None = None  # impostor scores that are only counted: from, to
    asked: str = ""  # "a" or "b": whose pairs they are
    members: Templates | None = None  # which faces make up a template
    column: str = ""  # of a group: what its title ends with is a value of this column
    group: str = ""

    def __len__(self) -> int:
        return len(self.first)

    def faces(self, faces: FaceSet) -> Ids:
        """All faces that are listed."""
        things = np.concatenate([self.first, self.second])
        things = np.unique(things[things != NOBODY])
        if self.of == "face":
            return things
        if self.members is None:
            return things[:0]
        return np.unique(faces.ids[self.members.row[np.isin(self.members.template, things)]])

    def face_of(self, faces: FaceSet, thing: int) -> int | None:
        """The row of a face, or of the first face of a template; None for nobody."""
        if thing == NOBODY:
            return None
        if self.of == "face":
            return faces.row_of(thing)
        rows = self.pictures(thing)
        return int(rows[0]) if len(rows) else None

    def pictures(self, thing: int) -> NDArray[np.int64]:
        """Rows of the pictures that make up a template."""
        if self.members is None:
            return np.zeros(0, np.int64)
        template, row = self._sorted
        low, high = np.searchsorted(template, [thing, thing + 1])
        return row[low:high]

    def names(self, faces: FaceSet, place: int) -> tuple[str, str]:
        """Who the two are; of one person, who it is and which pictures."""
        things = int(self.first[place]), int(self.second[place])
        rows = [self.face_of(faces, thing) for thing in things]
        first, second = pair_names(faces, rows[0], rows[1])
        if self.of == "template":
            first, second = (faces.label(row) if row is not None else tr("nobody") for row in rows)
            return self._template(faces, things[0], first), self._template(faces, things[1], second)
        return first, second

    def _template(self, faces: FaceSet, number: int, name: str) -> str:
        rows = self.pictures(number)
        if not len(rows):
            return name
        count = plural(len(rows), "{n} picture", "{n} pictures")
        known = faces.identity.codes[rows[0]] >= 0
        name = tr("person {n}", n=name) if name.isdigit() else name
        template = tr("template {n}", n=str(number))
        return ", ".join([name, count, template] if known else [template, count])

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        assert self.members is not None
        order = np.argsort(self.members.template, kind="stable")
        return self.members.template[order], self.members.row[order]


def nothing(title: str = "") -> Listing:
    """An empty list."""
    none = np.zeros(0)
    ids = np.zeros(0, np.int64)
    return Listing(title, ids, ids, none, none, np.zeros(0, np.int8), 0)


# -- a list that can be written down


@dataclass(frozen=True)
class Line:
    """A pair of a list: faces by their path inside the gallery, templates by their number, "" for nobody."""

    first: str = ""
    second: str = ""
    score: float | None = None
    margin: float | None = None
    kind: str = KINDS[0]


@dataclass(frozen=True)
class Tapped:
    """The head of a list as it stands on the page, plain enough to be written down."""

    title: str = ""
    lines: tuple[Line, ...] = ()
    total: int = 0
    of: str = "face"
    value: str = ""
    column: str = ""
    group: str = ""


def tapped(faces: FaceSet, found: Listing, most: int) -> Tapped | None:
    """The first pairs of a list; None where it is empty."""
    if not len(found):
        return None
    lines = []
    for place in range(min(most, len(found))):
        sides = (int(found.first[place]), int(found.second[place]))
        values = (float(found.score[place]), float(found.margin[place]))
        first, second = (_written(faces, found, thing) for thing in sides)
        score, margin = (one if np.isfinite(one) else None for one in values)
        lines.append(Line(first, second, score, margin, KINDS[found.kind[place]]))
    return Tapped(found.title, tuple(lines), found.total, found.of, found.value, found.column, found.group)


def listed_again(faces: FaceSet, found: Tapped, members: Templates | None) -> Listing:
    """The list that was written down, as far as its faces are there."""
    kept: list[tuple[int, int, Line]] = []
    for line in found.lines:
        first, second = (_read(faces, found.of, name) for name in (line.first, line.second))
        if first is not None and second is not None:
            kept.append((first, second, line))
    score, margin = (
        np.array([np.nan if (one := getattr(line, name)) is None else one for _, _, line in kept], np.float64)
        for name in ("score", "margin")
    )
    return Listing(
        found.title,
        np.array([first for first, _, _ in kept], np.int64),
        np.array([second for _, second, _ in kept], np.int64),
        score,
        margin,
        np.array([KINDS.index(line.kind) for _, _, line in kept], np.int8),
        found.total,
        of=found.of,
        value=found.value,
        members=members,
        column=found.column,
        group=found.group,
    )


def _written(faces: FaceSet, found: Listing, thing: int) -> str:
    if thing == NOBODY:
        return ""
    if found.of != "face":
        return str(thing)
    return next(iter(names_of(faces, np.array([thing], np.int64))), "")


def _read(faces: FaceSet, of: str, name: str) -> int | None:
    if not name:
        return NOBODY
    if of != "face":
        return int(name) if name.isdecimal() else None
    return face_of(faces, name)


# -- one to one


def of_places(
    scores: Scores, places: NDArray[np.int64], threshold: float | None, *, title: str, total: int, none: str = ""
) -> Listing:
    """Kept pairs at `places` (ascending), judged by a threshold and put worst first; of each kind the worst LISTED."""
    if len(places) > LISTED:  # by descending score: the worst impostors are the first, the worst genuine the last
        genuine = scores.genuine[places]
        places = np.sort(np.concatenate([places[~genuine][:LISTED], places[genuine][-LISTED:]]))
    t = np.inf if threshold is None else threshold
    score, genuine = np.asarray(scores.score[places], np.float64), scores.genuine[places]
    accepted = score >= t
    kind = np.where(genuine, np.where(accepted, GENUINE, FALSE_NON_MATCH), np.where(accepted, FALSE_MATCH, IMPOSTOR))
    # A threshold that accepts nothing gives no distance: then the most alike come first.
    margin = score - t if np.isfinite(t) else np.full(len(score), np.nan)
    badness = np.where(genuine, -margin, margin) if np.isfinite(t) else np.where(genuine, -score, score)
    order = np.argsort(-badness, kind="stable")
    chosen = places[order]
    return Listing(
        title,
        scores.ids[scores.first[chosen]],
        scores.ids[scores.second[chosen]],
        score[order],
        margin[order],
        kind[order].astype(np.int8),
        total,
        none,
        of=scores.of,
    )


def accepted_impostors(scores: Scores, threshold: float | None) -> int:
    """How many impostor pairs a threshold accepts, those that are only counted among them."""
    return counted(scores, threshold)[0] if threshold is not None else 0


def false_matches(scores: Scores, threshold: float | None) -> Listing:
    """Impostor pairs at or above a threshold."""
    t = np.inf if threshold is None else threshold
    places = scores.between(t, np.inf, genuine=False) if threshold is not None else np.zeros(0, np.int64)
    total = max(accepted_impostors(scores, threshold), len(places))
    title = plural(total, "{n} false match", "{n} false matches")
    none = tr("no false match {where}", where=_above(threshold))
    made = of_places(scores, places, threshold, title=f"{title} {_above(threshold)}", total=total, none=none)
    return replace(made, missing=(t, scores.floor)) if total > len(places) else made


def false_non_matches(scores: Scores, threshold: float | None) -> Listing:
    """Genuine pairs below a threshold."""
    t = np.inf if threshold is None else threshold
    places = scores.between(-np.inf, t, genuine=True)
    title = plural(len(places), "{n} false non-match", "{n} false non-matches")
    words = tr("below {t}", t=number(t, 3)) if threshold is not None else tr("where nothing is accepted")
    none = tr("no false non-match {where}", where=words)
    return of_places(scores, places, threshold, title=f"{title} {words}", total=len(places), none=none)


def errors(scores: Scores, threshold: float | None) -> Listing:
    """Both kinds of error at a threshold."""
    wrong, missed = false_matches(scores, threshold), false_non_matches(scores, threshold)
    if threshold is None:
        return missed
    title = tr(
        "{fm}, {fnm} at {t}",
        fm=plural(wrong.total, "{n} false match", "{n} false matches"),
        fnm=plural(missed.total, "{n} false non-match", "{n} false non-matches"),
        t=number(threshold, 3),
    )
    joined = joined_lists(title, (wrong, missed))
    return replace(joined, missing=wrong.missing, none=tr("no error at {t}", t=number(threshold, 3)))


def joined_lists(title: str, lists: Sequence[Listing]) -> Listing:
    """Several lists as one, worst first."""
    kind = np.concatenate([one.kind for one in lists])
    margin = np.concatenate([one.margin for one in lists])
    genuine = np.isin(kind, (GENUINE, FALSE_NON_MATCH))
    order = np.lexsort((np.arange(len(kind)), -np.where(genuine, -margin, margin)))
    return Listing(
        title,
        np.concatenate([one.first for one in lists])[order],
        np.concatenate([one.second for one in lists])[order],
        np.concatenate([one.score for one in lists])[order],
        margin[order],
        kind[order],
        sum(one.total for one in lists),
        of=lists[0].of,
    )


def in_range(
    scores: Scores, low: float, high: float, threshold: float | None, *, genuine: bool | None = None, last: bool = False
) -> Listing:
    """Pairs with low <= score < high; `last` takes the upper limit in."""
    top = float(np.nextafter(high, np.inf)) if last else high
    places = scores.between(low, top, genuine=genuine)
    n_genuine = int(scores.genuine[places].sum())
    n_impostor = len(places) - n_genuine
    counted = 0
    if genuine is not True and scores.bulk is not None and low < scores.floor:
        edges = scores.bulk.edges[:-1]
        counted = int(scores.bulk.counts[(edges >= low) & (edges < top)].sum())
    between = tr("from {low} to {high}", low=number(low, 3), high=number(high, 3))
    parts = []
    if genuine is not False:
        parts.append(tr("{n} genuine", n=n_genuine))
    if genuine is not True:
        parts.append(tr("{n} impostor", n=n_impostor + counted))
    kind = {None: tr("no pair"), True: tr("no genuine pair"), False: tr("no impostor pair")}[genuine]
    title, none = f"{', '.join(parts)} {between}", f"{kind} {between}"
    made = of_places(scores, places, threshold, title=title, total=len(places) + counted, none=none)
    return replace(made, missing=(low, min(top, scores.floor))) if counted else made


def errors_among(
    scores: Scores, things: Ids, threshold: float | None, *, genuine: bool, name: str, column: str = "", group: str = ""
) -> Listing:  # fmt: skip
    """Errors of one kind between things of a group, which has this value of a column."""
    t = np.inf if threshold is None else threshold
    inside = np.isin(scores.ids, things)
    places = scores.between(-np.inf, t, genuine=True) if genuine else scores.between(t, np.inf, genuine=False)
    places = places[inside[scores.first[places]] & inside[scores.second[places]]]
    words = ("{n} false non-match", "{n} false non-matches") if genuine else ("{n} false match", "{n} false matches")
    title = tr("{errors} in {name}", errors=plural(len(places), *words), name=name)
    none = tr("no false non-match in {name}", name=name) if genuine else tr("no false match in {name}", name=name)
    made = of_places(scores, places, threshold, title=title, total=len(places), none=none)
    return replace(made, column=column, group=group)


def between_people(scores: Scores, first: int, second: int, threshold: float | None, *, title: str) -> Listing:
    """Kept pairs of two identities (codes)."""
    one, other = scores.identity[scores.first], scores.identity[scores.second]
    there = ((one == first) & (other == second)) | ((one == second) & (other == first))
    places = np.flatnonzero(there).astype(np.int64)
    none = tr("no pair of {people} that is kept", people=title)
    return of_places(scores, places, threshold, title=title, total=len(places), none=none)


def flipped(a: Scores, b: Scores, thresholds: tuple[float | None, float | None]) -> Listing:
    """Genuine pairs that only one of two models accepts, each at its own threshold; those B loses come first."""
    t_a, t_b = (np.inf if t is None else t for t in thresholds)
    places_a, places_b = (np.flatnonzero(scores.genuine) for scores in (a, b))
    known = np.union1d(a.ids, b.ids)
    key_a, key_b = _keys(a, places_a, known), _keys(b, places_b, known)
    order = np.argsort(key_a, kind="stable")
    at = np.minimum(np.searchsorted(key_a[order], key_b), max(len(order) - 1, 0))
    both = key_a[order][at] == key_b if len(order) else np.zeros(len(key_b), bool)
    in_b, in_a = places_b[both], places_a[order[at[both]]] if len(order) else places_a
    score_a, score_b = np.asarray(a.score[in_a], np.float64), np.asarray(b.score[in_b], np.float64)
    gained, lost = (score_b >= t_b) & (score_a < t_a), (score_a >= t_a) & (score_b < t_b)
    chosen = np.flatnonzero(gained | lost)
    margin = score_b - t_b if np.isfinite(t_b) else score_b
    chosen = chosen[np.lexsort((chosen, margin[chosen]))]
    title = tr(
        "{lost}, {gained} by B",
        lost=plural(int(lost.sum()), "{n} genuine pair lost", "{n} genuine pairs lost"),
        gained=plural(int(gained.sum()), "{n} gained", "{n} gained"),
    )
    return Listing(
        title,
        b.ids[b.first[in_b[chosen]]],
        b.ids[b.second[in_b[chosen]]],
        score_b[chosen],
        margin[chosen],
        np.where(gained[chosen], GAINED, LOST).astype(np.int8),
        len(chosen),
        tr("no genuine pair that only one of the two models accepts"),
        of=b.of,
    )


def _keys(scores: Scores, places: NDArray[np.int64], known: Ids) -> NDArray[np.int64]:
    """One number for each pair, whichever side comes first; `known` are all ids, ascending."""
    row = np.searchsorted(known, scores.ids)
    one, other = row[scores.first[places]], row[scores.second[places]]
    return np.minimum(one, other) * len(known) + np.maximum(one, other)


def _above(threshold: float | None) -> str:
    return tr("above {t}", t=number(threshold, 3)) if threshold is not None else tr("where nothing is accepted")


# -- one to many


def not_within_rank(report: Report, rank: int) -> Listing:
    """Mated searches whose person is not among the first `rank`."""
    searches = _searches(report)
    rows = identification.missed(searches, rank)
    words = plural(len(rows), "{n} search misses at rank", "{n} searches miss at rank")
    none = tr("no search that misses at rank {rank}", rank=rank)
    return _searched(report, rows, title=f"{words} {rank}", kind=MISS, none=none)


def missed_at(report: Report, threshold: identification.Threshold, *, rule: str, first: bool = True) -> Listing:
    """Mated searches that are not answered with the right person at a threshold."""
    rows = identification.misses(_searches(report), threshold, rule=rule, first=first)
    words = plural(len(rows), "{n} missed search", "{n} missed searches")
    return _searched(report, rows, title=words, kind=MISS, none=tr("no missed search"))


def false_alarms(report: Report, threshold: identification.Threshold, *, rule: str) -> Listing:
    """Searches of people who are not in the gallery, and are taken for somebody."""
    rows = identification.false_alarms(_searches(report), threshold, rule=rule)
    words = plural(len(rows), "{n} false alarm", "{n} false alarms")
    return _searched(report, rows, title=words, kind=FALSE_ALARM, none=tr("no false alarm"))


def _searches(report: Report) -> Searches:
    assert report.identification is not None
    return report.identification.searches


def _searched(report: Report, rows: NDArray[np.int64], *, title: str, kind: int, none: str) -> Listing:
    """Lines of searches, in the order given: the probe and the stranger who is in the way, else the mate."""
    searches = _searches(report)
    stranger = searches.other[rows] != NOBODY
    margin = np.where(stranger & searches.mated[rows], -searches.margin[rows], np.nan)
    return Listing(
        title,
        searches.query[rows],
        np.where(stranger, searches.other[rows], searches.mate[rows]),
        np.where(stranger, searches.other_score[rows], searches.mate_score[rows]),
        np.where(np.isfinite(margin), margin, np.nan),
        np.full(len(rows), kind, np.int8),
        len(rows),
        none,
        of=report.of,
    )


# -- retrieval


def below_perfect(report: Report, name: str) -> Listing:
    """Queries whose value of a measure is below 1, worst first."""
    assert report.retrieval is not None
    queries = report.retrieval.queries
    values = query_values(queries, name)
    if values is None:
        return nothing(tr("{name} is one number for all queries", name=name))
    rows = queries.worst(name)
    rows = rows[values[rows] < 1]
    wrong = queries.nearest_wrong[rows]
    words = plural(len(rows), "{n} query below 1 in", "{n} queries below 1 in")
    return Listing(
        f"{words} {name}",
        queries.query[rows],
        np.where(wrong != NOBODY, wrong, queries.nearest[rows]),
        values[rows],
        _ahead(queries)[rows],
        np.where(queries.first_right[rows] == 1, HIT, MISS).astype(np.int8),
        len(rows),
        tr("no query below 1 in {name}", name=name),
        of=report.of,
        value=name,
    )


def one_query(report: Report, row: int, *, label: str) -> Listing:
    """One query with the first of another person and the first right one."""
    assert report.retrieval is not None
    queries = report.retrieval.queries
    found = [(int(queries.nearest_wrong[row]), float(queries.nearest_wrong_score[row]), OTHER)]
    if len(queries.nearest_right):
        found.append((int(queries.nearest_right[row]), float(queries.nearest_right_score[row]), SAME))
    found = sorted((one for one in found if one[0] != NOBODY), key=lambda one: -one[1])
    n = len(found)
    return Listing(
        tr("nearest to {name}", name=label),
        np.full(n, queries.query[row], np.int64),
        np.array([thing for thing, _, _ in found], np.int64),
        np.array([score for _, score, _ in found], np.float64),
        np.full(n, np.nan),
        np.array([kind for _, _, kind in found], np.int8),
        n,
        tr("no neighbour of {name}", name=label),
        of=report.of,
    )


def query_values(queries: Queries, name: str) -> NDArray[np.float64] | None:
    """(Q,) the value of every query in a measure; None for measures that have none (clustering)."""
    try:
        return np.asarray(per_query(queries, name), np.float64)
    except KeyError:
        return None


def _ahead(queries: Queries) -> NDArray[np.float64]:
    """(Q,) how far a wrong one is ahead of the first right one; NaN where one of them is missing."""
    if len(queries.nearest_right_score) != len(queries.query):
        return np.full(len(queries.query), np.nan)
    with np.errstate(invalid="ignore"):
        ahead = queries.nearest_wrong_score - queries.nearest_right_score
    return np.where(np.isfinite(ahead), ahead, np.nan)


# -- the operating point of one report


@dataclass(frozen=True)
class Standing:
    """Where one model stands at the shared operating point; counted in its scores, nothing is worked out anew."""

    threshold: float | None
    far: float
    tar: float | None
    false_matches: int
    false_non_matches: int


def standing(report: Report, far: float, *, threshold: float | None = None) -> Standing | None:
    """Where a model stands at a target FAR by the rule of its evaluation or, where it is given, at a threshold."""
    scores, found = report.scores, report.verification
    if scores is None or found is None or not scores.n_impostor:
        return None
    if threshold is None:
        known = next((p for p in found.points if p.target == far), None)
        if known is not None:
            threshold = known.threshold
        else:
            threshold = threshold_at(scores, far, rule=found.rule)
    if threshold is None:
        return Standing(None, 0.0, 0.0 if scores.n_genuine else None, 0, scores.n_genuine)
    false_matches, accepted = counted(scores, threshold)
    n = scores.n_genuine
    share = false_matches / scores.n_impostor
    return Standing(threshold, share, accepted / n if n else None, false_matches, n - accepted)


def threshold_at(scores: Scores, far: float, *, rule: str) -> float | None:
    """Where a target FAR leads by a rule; None where nothing is accepted."""
    at = verification.place(scores.steps, far, rule=rule)
    return float(scores.steps.threshold[at]) if at >= 0 else None


def counted(scores: Scores, threshold: float) -> tuple[int, int]:
    """Impostor and genuine pairs at or above a threshold, as verification.at_threshold counts them, in no time."""
    steps = scores.steps
    at = bisect_right(steps.threshold, -threshold, key=lambda t: -t) - 1
    return (int(steps.impostor[at]), int(steps.genuine[at])) if at >= 0 else (0, 0)
