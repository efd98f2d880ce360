"""Evaluation: one protocol, one model or two, everything the field publishes about them.

A Plan says what is asked, completely: equal plans on equal vectors give equal reports, to the last digit.

Computes    what is compared: the faces of the gallery, or the templates of its published test, pooled
            verification: the published pairs, or all pairs of things whose identity is known
            identification: published galleries and probes, or the first picture of each person in one of two galleries
            retrieval: published queries in the galleries, or each thing in all others
            two models: the first side of a pair, probes and queries from the query model; the second side and
            galleries from the gallery model; only things that have a usable vector of both
            two galleries: every query with every face of the gallery, all of which are enrolled unless its test says
            who is; the same person is who has the same name
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import breakdown, identification, retrieval, similarity, verification
from facelens.analyses.breakdown import Slice
from facelens.analyses.confusable import Confusable, confusable
from facelens.analyses.identification import Identification
from facelens.analyses.plan import ALL_PAIRS, EMPTY, OPEN_RULES, PARTS, R_MODES, RULES, Plan
from facelens.analyses.protocol import groups_of, published_test, scores_of
from facelens.analyses.retrieval import Clustering, Retrieval
from facelens.analyses.scores import Scores, choose
from facelens.analyses.things import Searching, Things, gather
from facelens.analyses.verification import Paired, Verification, telling_point
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import CAMERA, FaceSet, Ids, Labels
from facelens.images.protocol import Protocol
from facelens.progress import Tick, offer, part_of, silent
from facelens.words import escaped, tr

LISTED = 10_000  # pairs that a tap shows


@dataclass(frozen=True)
class QuerySet:
    """Who searched, where that was another gallery."""

    name: str
    faces: int
    identities: int
    enrolled: int  # of these people, how many the gallery has too


@dataclass(frozen=True, eq=False)
class Report:
    """What one model says, or two: queries of one searched in the gallery of the other."""

    query: str  # name of the model of the queries
    gallery: str  # name of the model of the gallery; the same where one model is evaluated
    scores: Scores | None  # None where verification was not asked for
    verification: Verification | None
    identification: Identification | None
    retrieval: Retrieval | None
    slices: tuple[Slice, ...] = ()
    confusable: tuple[Confusable, ...] = ()
    notes: tuple[str, ...] = field(default=())  # what is left out or cannot be said, one sentence each
    of: str = "face"  # what was compared: "face" or "template"
    query_from: Provenance | None = None
    gallery_from: Provenance | None = None
    clustering: Clustering | None = None
    confused_at: float | None = None  # the threshold of the table of confusable people

    @property
    def name(self) -> str:
        """The model, or both where queries come from another."""
        if self.query == self.gallery:
            return escaped(self.gallery)
        return tr("{query} in the gallery of {gallery}", query=escaped(self.query), gallery=escaped(self.gallery))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Model A (old), model B (new) or both, by the same plan on the same faces."""

    plan: Plan
    gallery: str  # name of the gallery
    faces: int
    identities: int
    a: Report | None
    b: Report | None
    paired: Paired | None  # B minus A, where both are there
    digest: str  # of gallery, vectors and plan
    protocol: str = ALL_PAIRS  # name of the test
    gallery_digest: str = ""
    paired_search: identification.Paired | None = None  # B minus A, identification
    paired_retrieval: retrieval.Paired | None = None
    queries: QuerySet | None = None  # None: the gallery is searched in itself
    complete: bool = True  # False: offered on the way, further parts and models follow

    @property
    def sides(self) -> tuple[tuple[str, Report], ...]:
        """The reports that are there, with the letter of each: A is the old model, B the new one."""
        return tuple((letter, one) for letter, one in (("A", self.a), ("B", self.b)) if one is not None)


class _Steady:
    """A tick that never goes back: what is made of pieces counts each from the start."""

    def __init__(self, tick: Tick) -> None:
        self.tick, self.done = tick, 0.0

    def __call__(self, done: int, total: int, note: str = "") -> None:
        self.done = max(self.done, done / max(total, 1))
        self.tick(int(1000 * self.done), 1000, note)


# The parts


def evaluate(
    faces: FaceSet,
    protocol: Protocol | None,
    plan: Plan,
    *,
    query: FeatureSet,
    gallery: FeatureSet | None = None,
    searching: Searching | None = None,
    excluded: Ids | None = None,
    names: tuple[str, str] | None = None,
    watch: Callable[[Report], None] | None = None,
    tick: Tick = silent,
) -> Report:
    """Everything the plan asks for about one model, or about queries of one in the gallery of another.

    With `searching` the queries are these faces, and the gallery is all others. `watch` gets the report as soon as
    verification is there, the other parts still missing.
    """
    gallery = query if gallery is None else gallery
    excluded = np.zeros(0, np.int64) if excluded is None else excluded
    _check(plan, protocol)
    if gallery is not query:
        from facelens.features.exchange import require_same_space

        require_same_space(query, gallery)
    test, notes = published_test(protocol, plan, searching)
    if gallery is not query:
        notes += _spaces(query, gallery)
    stages = ["things", *(part for part in PARTS if part in plan.parts)]
    if plan.breakdown and "verification" in plan.parts:
        stages.insert(2, "slices")
    steady = _Steady(tick)

    def stage(name: str) -> Tick:
        return part_of(steady, stages.index(name), len(stages))

    things = gather(
        faces,
        test,
        plan,
        query=query,
        gallery=gallery,
        searching=searching,
        excluded=excluded,
        tick=stage("things"),
    )
    notes += things.notes
    shown = names or (query.provenance.model, gallery.provenance.model)
    report = Report(
        query=shown[0],
        gallery=shown[1],
        scores=None,
        verification=None,
        identification=None,
        retrieval=None,
        of=things.of,
        query_from=query.provenance,
        gallery_from=gallery.provenance,
    )
    if "verification" in plan.parts:
        scores = scores_of(faces, things, test, plan, notes, tick=part_of(stage("verification"), 0, 2))
        verified = verification.verify(
            scores,
            fars=plan.fars,
            rule=plan.rule,
            resamples=plan.resamples,
            seed=plan.seed,
            tick=part_of(stage("verification"), 1, 2),
        )
        point = telling_point(verified)
        confused_at = point.threshold if point is not None else verified.eer_threshold
        report = replace(
            report,
            scores=scores,
            verification=verified,
            confused_at=confused_at,
            confusable=() if confused_at is None else confusable(scores, threshold=confused_at),
        )
        if plan.breakdown:
            slices = breakdown.slices(faces, things, test, plan, scores, verified, notes, tick=stage("slices"))
            report = replace(report, slices=slices)
        if watch is not None and plan.parts != ("verification",):
            watch(replace(report, notes=tuple(dict.fromkeys(notes))))
    if "identification" in plan.parts:
        identified = _identify(faces, things, test, plan, tick=stage("identification"))
        report = replace(report, identification=identified)
    if "retrieval" in plan.parts:
        retrieved = _retrieve(faces, things, test, plan, tick=part_of(stage("retrieval"), 0, 2))
        clustered = _cluster(things, plan, notes, tick=part_of(stage("retrieval"), 1, 2))
        report = replace(report, retrieval=retrieved, clustering=clustered)
    steady(1, 1)
    return replace(report, notes=tuple(dict.fromkeys(notes)))


def _spaces(query: FeatureSet, gallery: FeatureSet) -> list[str]:
    """What to say where the two sides may not be of one space."""
    a, b = query.provenance, gallery.provenance
    if a.weights != b.weights or not a.weights:
        if a.weights and b.weights:
            return [
                tr(
                    "Queries and gallery come from different weights: cosines between them say something only if the "
                    "models are compatible."
                )
            ]
        if a.fingerprint != b.fingerprint:
            return [tr("Whether queries and gallery come from the same weights is not known.")]
    elif a.card is not None and b.card is not None and a.card.digest != b.card.digest:
        return [tr("Queries and gallery come from the same weights, but were fed differently.")]
    return []


def _check(plan: Plan, protocol: Protocol | None) -> None:
    for value, known, what in (
        (plan.rule, RULES, "rule"),
        (plan.open_rule, OPEN_RULES, "open_rule"),
        (plan.r_mode, R_MODES, "r_mode"),
        (plan.empty_templates, EMPTY, "empty_templates"),
    ):
        if value not in known:
            raise ValueError(f"{what} is one of {known}, not {value!r}")
    if unknown := set(plan.parts) - set(PARTS):
        raise ValueError(f"no such part: {unknown}")
    if plan.protocol != ALL_PAIRS and protocol is None:
        raise InputError(
            tr("The gallery has no test {name}.", name=escaped(plan.protocol)),
            hint=tr("Open it with its list of pairs, or compare all pairs."),
        )


def _identify(faces: FaceSet, things: Things, test: Protocol | None, plan: Plan, *, tick: Tick) -> Identification:
    published = groups_of(things, test, faces)
    if published is not None:
        probes, entries, part = published
        name = escaped(test.name if test is not None else "")
        how = tr("Galleries and probes as published with {name}.", name=name)
        if things.split is not None:
            how = tr("Galleries as published with {name}; every query is searched in each.", name=name)
    elif things.split is not None:
        probes, entries, part = things.searching, things.searched, np.zeros(len(things) - things.split, np.int8)
        how = tr("Every face of the gallery is enrolled, and every query is searched in it.")
    else:
        order = np.argsort(things.ids) if things.rows is None else np.arange(len(things))
        chosen = identification.split(things.identity, order=order.astype(np.int64), seed=plan.seed)
        probes, entries, part, how = chosen.probe, chosen.gallery, chosen.part, chosen.how
    return identification.identify(
        things.query_of(probes),
        things.gallery_of(entries),
        query_ids=things.ids[probes],
        gallery_ids=things.ids[entries],
        query_identity=things.identity[probes],
        gallery_identity=things.identity[entries],
        part=part if part.any() else None,
        fpirs=plan.fpirs,
        rule=plan.open_rule,
        how=how,
        resamples=plan.resamples,
        seed=plan.seed,
        tick=tick,
    )


def _cameras(faces: FaceSet, things: Things) -> NDArray[np.int64] | None:
    column = faces.columns.get(CAMERA)
    if column is None or things.rows is None:
        return None
    values = column.codes if isinstance(column, Labels) else np.nan_to_num(np.asarray(column, np.float64), nan=-1)
    return np.asarray(values, np.int64)[things.rows]


def _retrieve(faces: FaceSet, things: Things, test: Protocol | None, plan: Plan, *, tick: Tick) -> Retrieval:
    cameras = _cameras(faces, things)
    published = groups_of(things, test, faces)
    rows, entries = things.searching, things.searched
    if published is not None:
        rows, entries = published[0], np.unique(published[1])
    return retrieval.retrieve(
        things.query_of(rows),
        things.gallery_of(entries),
        query_ids=things.ids[rows],
        gallery_ids=things.ids[entries],
        query_identity=things.identity[rows],
        gallery_identity=things.identity[entries],
        same_set=published is None and things.split is None,
        r_mode=plan.r_mode,
        recalls=plan.recalls,
        query_camera=None if cameras is None else cameras[rows].astype(np.int32),
        gallery_camera=None if cameras is None else cameras[entries].astype(np.int32),
        junk=plan.junk,
        resamples=plan.resamples,
        seed=plan.seed,
        tick=tick,
    )


def _cluster(things: Things, plan: Plan, notes: list[str], *, tick: Tick) -> Clustering | None:
    if not plan.nmi_mean:
        return None
    identity = things.identity[things.searched]
    people, n = len(np.unique(identity[identity >= 0])), len(identity)
    if n * max(people, 64) > plan.clustered:
        notes.append(tr("Clustering is left out: {n} faces of {people} people take too long.", n=n, people=people))
        return None
    # One model's own space: grouping queries and gallery of two models together says nothing about either.
    return retrieval.clustering(
        things.gallery,
        identity,
        mean=plan.nmi_mean,
        resamples=plan.resamples,
        seed=plan.seed,
        tick=tick,
    )


# Pairs on tap


def pairs_between(
    faces: FaceSet,
    protocol: Protocol | None,
    plan: Plan,
    *,
    gallery: FeatureSet,
    query: FeatureSet | None = None,
    low: float,
    high: float,
    genuine: bool | None = None,
    limit: int = LISTED,
    highest: bool = True,
    searching: Searching | None = None,
    excluded: Ids | None = None,
    tick: Tick = silent,
) -> tuple[Scores, int]:
    """Pairs of the plan's test with low <= score < high, and how many there are: those too that are only counted."""
    query = gallery if query is None else query
    _check(plan, protocol)
    excluded = np.zeros(0, np.int64) if excluded is None else excluded
    test, _ = published_test(protocol, plan, searching)
    things = gather(
        faces, test, plan, query=query, gallery=gallery, searching=searching, excluded=excluded, tick=silent
    )
    if test is not None and test.pairs is not None:
        scores = scores_of(faces, things, test, plan, [], tick=tick)
        places = scores.between(low, high, genuine=genuine)
        return choose(scores, places[:limit] if highest else places[-limit:]), len(places)
    made, total = similarity.pairs_between(
        things.query,
        low,
        high,
        ids=things.ids[things.searching],
        identity=things.identity[things.searching],
        against=things.gallery if things.crossed else None,
        others=things.others(np.arange(len(things))),
        genuine=genuine,
        limit=limit,
        highest=highest,
        tick=tick,
    )
    return replace(made, of=things.of), total


# Two models


def evaluate_both(
    faces: FaceSet,
    protocol: Protocol | None,
    plan: Plan,
    *,
    a: FeatureSet | None,
    b: FeatureSet | None = None,
    query_a: FeatureSet | None = None,
    query_b: FeatureSet | None = None,
    searching: Searching | None = None,
    excluded: Ids | None = None,
    tick: Tick = silent,
) -> Evaluation:
    """Model A (old), model B (new) or both. `query_a` and `query_b` are searched in the galleries of `a` and `b`.

    With `searching` they hold the vectors of these faces, and `a` and `b` those of all others.
    """
    excluded = np.zeros(0, np.int64) if excluded is None else excluded
    sides = [(gallery, gallery if query is None else query) for gallery, query in ((a, query_a), (b, query_b))]
    if searching is not None and any(gallery is not None and gallery is query for gallery, query in sides):
        raise ValueError("faces that search need vectors of their own")
    stages = sum(gallery is not None for gallery, _ in sides) + (a is not None and b is not None)
    names = _names([one for gallery, query in sides for one in (query, gallery)])
    kept = np.ones(len(faces), bool)
    kept[faces.rows_of(excluded)] = False
    queries = None
    if searching is not None:
        asking = np.zeros(len(faces), bool)
        asking[faces.rows_of(searching.ids)] = True
        queries = _query_set(faces, searching.name, kept & asking, kept & ~asking)
        kept &= ~asking
    codes = faces.identity.codes[kept]
    test, _ = published_test(protocol, plan, searching)
    whole = Evaluation(
        plan=plan,
        gallery=faces.name,
        faces=int(kept.sum()),
        identities=len(np.unique(codes[codes >= 0])),
        a=None,
        b=None,
        paired=None,
        digest=_digest(faces, test, plan, [one for pair in sides for one in pair], searching, excluded),
        protocol=test.name if test is not None else ALL_PAIRS,
        gallery_digest=faces.digest,
        queries=queries,
    )
    reports: list[Report | None] = []

    def watch(report: Report) -> None:
        a, b = (*reports, report, None)[:2]
        offer(tick, replace(whole, a=a, b=b, complete=False))

    done = 0
    for number, (gallery, query) in enumerate(sides):
        if gallery is None or query is None:
            reports.append(None)
            continue
        made = evaluate(
            faces,
            protocol,
            plan,
            query=query,
            gallery=gallery,
            searching=searching,
            excluded=excluded,
            names=(names[2 * number], names[2 * number + 1]),
            watch=watch,
            tick=part_of(tick, done, stages),
        )
        reports.append(made)
        done += 1
    paired, searched, found = None, None, None
    if reports[0] is not None and reports[1] is not None:
        share = part_of(tick, done, stages)
        paired, searched, found = _paired(
            faces, test, plan, reports[0], reports[1], sides, searching=searching, excluded=excluded, tick=share
        )
    return replace(whole, a=reports[0], b=reports[1], paired=paired, paired_search=searched, paired_retrieval=found)


def _query_set(faces: FaceSet, name: str, asking: NDArray[np.bool_], asked: NDArray[np.bool_]) -> QuerySet:
    people, known = (np.unique(faces.identity.codes[rows]) for rows in (asking, asked))
    people = people[people >= 0]
    return QuerySet(name, int(asking.sum()), len(people), int(np.isin(people, known).sum()))


def _names(models: list[FeatureSet | None]) -> list[str]:
    """What to call each; two different ones never alike."""
    given: dict[str, list[str]] = {}
    names = []
    for one in models:
        if one is None:
            names.append("")
            continue
        same = given.setdefault(one.provenance.model, [])
        source = one.provenance
        # One model of two galleries has two fingerprints, and is one model.
        known = source.weights + (source.card.digest if source.card is not None else "")
        known = known if source.weights else source.fingerprint
        if known not in same:
            same.append(known)
        place = same.index(known)
        names.append(one.provenance.model if place == 0 else f"{one.provenance.model} ({place + 1})")
    return names


def _paired(
    faces: FaceSet,
    test: Protocol | None,
    plan: Plan,
    a: Report,
    b: Report,
    sides: list[tuple[FeatureSet | None, FeatureSet | None]],
    *,
    searching: Searching | None,
    excluded: Ids,
    tick: Tick,
) -> tuple[Paired | None, identification.Paired | None, retrieval.Paired | None]:
    paired = None
    if a.scores is not None and b.scores is not None:
        first, second = a.scores, b.scores
        if not np.array_equal(np.sort(first.invalid), np.sort(second.invalid)) and (first.bulk or second.bulk):
            # Pairs that are only counted cannot be taken out, so both are compared again without them.
            lost = np.union1d(first.invalid, second.invalid)
            again: list[Scores] = []
            for gallery, query in sides:
                assert gallery is not None and query is not None
                things = gather(
                    faces,
                    test,
                    plan,
                    query=query,
                    gallery=gallery,
                    searching=searching,
                    excluded=excluded,
                    tick=silent,
                )
                keep = np.flatnonzero(~np.isin(things.ids, lost))
                again.append(things.all_pairs(keep, fars=plan.fars, tick=part_of(tick, len(again), 3)))
            first, second = (replace(one, invalid=lost) for one in again)
        paired = verification.compare(
            first, second, fars=plan.fars, rule=plan.rule, resamples=plan.resamples, seed=plan.seed, tick=tick
        )
    searched = None
    if a.identification is not None and b.identification is not None:
        searched = identification.compare(
            a.identification,
            b.identification,
            resamples=plan.resamples,
            seed=plan.seed,
            tick=tick,
        )
    found = None
    if a.retrieval is not None and b.retrieval is not None:
        found = retrieval.compare(a.retrieval, b.retrieval, resamples=plan.resamples, seed=plan.seed)
    return paired, searched, found


def _digest(
    faces: FaceSet,
    test: Protocol | None,
    plan: Plan,
    used: list[FeatureSet | None],
    searching: Searching | None,
    excluded: Ids,
) -> str:
    """Equal digests, equal results."""
    state = hashlib.sha256(faces.digest.encode())
    state.update(np.sort(excluded).tobytes())
    state.update(repr([(f.name, getattr(plan, f.name)) for f in fields(plan)]).encode())
    state.update(repr([one.provenance.fingerprint if one is not None else "" for one in used]).encode())
    state.update((test.digest if test is not None else "").encode())
    if searching is not None:
        state.update(b"searching" + np.sort(searching.ids).tobytes())
    return state.hexdigest()
