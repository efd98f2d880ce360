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
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import identification, retrieval, similarity, templates, verification
from facelens.analyses.identification import Identification
from facelens.analyses.measure import Measure
from facelens.analyses.plan import ALL_PAIRS, EMPTY, OPEN_RULES, PARTS, R_MODES, RULES, Plan
from facelens.analyses.retrieval import Clustering, Retrieval
from facelens.analyses.scores import Floats, Scores, choose, restrict
from facelens.analyses.verification import Paired, Verification
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import CAMERA, FaceSet, Ids, Labels, Rows
from facelens.images.protocol import Protocol
from facelens.progress import Tick, offer, silent
from facelens.words import escaped, plural, tr

SLICES = 24  # values of a breakdown, those of most faces
BINS = 4  # of a column of numbers
FEW = 6  # so many different ones are not divided; of whole numbers as many as are shown
GALLERIES = {"gallery": 0, "gallery1": 1, "gallery2": 2}  # groups of a test, and the number of the gallery
ENOUGH = 30  # false matches that can be divided among people or values
CONFUSABLE = 100  # pairs of people in the table
LISTED = 10_000  # pairs that a tap shows


@dataclass(frozen=True, eq=False)
class Searching:
    """The faces that search, where they are of another gallery; all other faces are what they are searched in."""

    name: str
    ids: Ids
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class QuerySet:
    """Who searched, where that was another gallery."""

    name: str
    faces: int
    identities: int
    enrolled: int  # of these people, how many the gallery has too


@dataclass(frozen=True)
class Slice:
    """The pairs (or searches) of one value of the breakdown column."""

    value: str
    faces: int
    n_genuine: int
    n_impostor: int
    tar: tuple[tuple[float, Measure], ...]  # target FAR -> TAR at the threshold of the whole gallery
    far: tuple[tuple[float, Measure], ...]  # target FAR -> real FAR inside this slice at that threshold
    eer: Measure
    ids: Ids = field(default_factory=lambda: np.zeros(0, np.int64), compare=False)  # the things of this value


@dataclass(frozen=True)
class Confusable:
    """Two people whose pictures look alike to the model."""

    first: int  # identity code
    second: int
    best: float  # highest score between them
    pair: tuple[int, int]  # ids behind it
    false_matches: int  # pairs at or above the threshold of the table
    pairs: int  # pairs compared (kept ones)


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


# What is compared


@dataclass(frozen=True, eq=False)
class _Things:
    """Faces or templates that can be compared: unit vectors of both sides, and who they are."""

    ids: Ids  # (n,) of faces, or template numbers; of two sets those that search first
    identity: NDArray[np.int32]
    query: Floats  # (n, D); of two sets (split, D)
    gallery: Floats  # (n, D); the same array where one model is evaluated; of two sets (n - split, D)
    of: str
    rows: tuple[Rows, ...]  # (n,) of the FaceSet; of templates none
    invalid: Ids  # left out: no usable vector
    notes: tuple[str, ...]
    split: int | None = None  # of two sets: how many search

    @property
    def crossed(self) -> bool:
        return self.split is None and self.query is not self.gallery

    @property
    def searching(self) -> Rows:
        """Places of all that may search."""
        return np.arange(len(self) if self.split is None else self.split, dtype=np.int64)

    @property
    def searched(self) -> Rows:
        """Places of all that may be searched in."""
        return np.arange(self.split or 0, len(self), dtype=np.int64)

    def query_of(self, places: Rows) -> Floats:
        """Vectors of things that search."""
        return _rows(self.query, places)

    def gallery_of(self, places: Rows) -> Floats:
        """Vectors of things that are searched in."""
        return _rows(self.gallery, places - (self.split or 0))

    def others(self, places: Rows) -> similarity.Others | None:
        """What the searching ones of `places` are compared with, where that is another set."""
        if self.split is None:
            return None
        searched = places[places >= self.split]
        return similarity.Others(self.gallery_of(searched), self.ids[searched], self.identity[searched])

    def __len__(self) -> int:
        return len(self.ids)

    def places(self, ids: Ids) -> NDArray[np.int64]:
        """Where each of `ids` is, -1 = not among them."""
        if not len(self.ids):
            return np.full(len(ids), -1, np.int64)
        order = np.argsort(self.ids)
        at = np.minimum(np.searchsorted(self.ids[order], ids), len(order) - 1)
        found = order[at]
        return np.where(self.ids[found] == ids, found, -1)


def _rows(vectors: Floats, rows: Rows) -> Floats:
    """Rows of `vectors`; itself where these are all, as they stand."""
    return vectors if len(rows) == len(vectors) and (rows == np.arange(len(rows))).all() else vectors[rows]


def _faces(faces: FaceSet, query: FeatureSet, gallery: FeatureSet, *, excluded: Ids) -> _Things:
    """The faces that are not excluded and have a usable vector of both models."""
    kept = np.ones(len(faces), bool)
    kept[faces.rows_of(excluded)] = False
    rows = np.flatnonzero(kept).astype(np.int64)
    ids = faces.ids[rows]
    unit_query, found = query.unit(ids)
    unit_gallery, found_too = (unit_query, found) if gallery is query else gallery.unit(ids)
    both = found & found_too
    if gallery is query:
        unit_query = unit_gallery = unit_query[both[found]]
    else:
        unit_query, unit_gallery = unit_query[both[found]], unit_gallery[both[found_too]]
    notes = _left_out(len(faces) - len(rows), ids[~both], query, gallery)
    unknown = int((faces.identity.codes[rows[both]] < 0).sum())
    if unknown:
        one, many = "{n} face has no identity.", "{n} faces have no identity."
        notes.append(plural(unknown, one, many))
    return _Things(
        ids[both],
        faces.identity.codes[rows[both]],
        unit_query,
        unit_gallery,
        "face",
        (rows[both],),
        ids[~both],
        tuple(notes),
    )


def _two_sets(
    faces: FaceSet, query: FeatureSet, gallery: FeatureSet, *, searching: Searching, excluded: Ids
) -> _Things:
    """Queries with a usable vector of their model, and faces of the gallery with one of theirs."""
    asking = np.zeros(len(faces), bool)
    asking[faces.rows_of(searching.ids)] = True
    kept = np.ones(len(faces), bool)
    kept[faces.rows_of(excluded)] = False
    sides = [np.flatnonzero(kept & asking), np.flatnonzero(kept & ~asking)]
    (unit_query, found), (unit_gallery, found_too) = (
        features.unit(faces.ids[rows]) for features, rows in zip((query, gallery), sides, strict=True)
    )
    used = [rows[there].astype(np.int64) for rows, there in zip(sides, (found, found_too), strict=True)]
    lost = np.concatenate([faces.ids[rows[~there]] for rows, there in zip(sides, (found, found_too), strict=True)])
    rows = np.concatenate(used)
    codes = faces.identity.codes[rows]
    notes = [*searching.notes, *_left_out(int((~kept).sum()), lost, query, gallery)]
    if unknown := int((codes < 0).sum()):
        notes.append(plural(unknown, "{n} face has no identity.", "{n} faces have no identity."))
    searchers, enrolled = codes[: len(used[0])], codes[len(used[0]) :]
    if len(searchers) and len(enrolled) and not np.isin(searchers[searchers >= 0], enrolled).any():
        notes.append(tr("No query shows a person of the gallery: do their folders or columns name people alike?"))
    return _Things(
        faces.ids[rows], codes, unit_query, unit_gallery, "face", (rows,), lost, tuple(notes), split=len(used[0])
    )


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


def _left_out(excluded: int, lost: Ids, query: FeatureSet, gallery: FeatureSet) -> list[str]:
    notes = []
    if excluded:
        notes.append(plural(excluded, "{n} excluded face is left out.", "{n} excluded faces are left out."))
    invalid = np.isin(lost, np.union1d(query.invalid, gallery.invalid))
    if invalid.any():
        one = "{n} face is left out: its vector is no use (not a number, or zero)."
        many = "{n} faces are left out: their vectors are no use (not a number, or zero)."
        notes.append(plural(int(invalid.sum()), one, many))
    if not invalid.all():
        one = "{n} face is left out: it has no vector."
        notes.append(plural(int((~invalid).sum()), one, "{n} faces are left out: they have no vectors."))
    return notes


def _templates(
    faces: FaceSet, protocol: Protocol, plan: Plan, *, query: FeatureSet, gallery: FeatureSet, excluded: Ids, tick: Tick
) -> _Things:
    """The templates of the test that have a usable picture for both models."""
    members = protocol.templates
    if members is None:
        raise InputError(
            tr("{name} compares templates, but does not say which pictures they are made of.", name=protocol.name),
            hint=tr("Open the gallery again."),
        )
    crossed = gallery is not query
    notes = []
    if crossed and plan.keep_norm:
        # Lengths of vectors of two models cannot be compared, so one picture would outweigh the others in one only.
        notes.append(tr("Two models: every picture is taken at unit length before it is pooled."))

    def pooled(features: FeatureSet, share: int) -> templates.Pooled:
        return templates.pool(
            features,
            faces,
            templates=members,
            detector_score=plan.detector_score,
            keep_norm=plan.keep_norm and not crossed,
            excluded=excluded,
            tick=_stage(tick, share, 2),
        )

    a = pooled(query, 0)
    b = a if not crossed else pooled(gallery, 1)
    notes += [*a.notes, *b.notes, *(templates.flip_note(one, flip=plan.flip) for one in (query, gallery))]
    if len(excluded):
        notes.append(plural(len(excluded), "{n} excluded face is left out.", "{n} excluded faces are left out."))
    common, at_a, at_b = np.intersect1d(a.numbers, b.numbers, assume_unique=True, return_indices=True)
    unit_query = a.vectors[at_a]
    return _Things(
        common,
        a.identity[at_a],
        unit_query,
        b.vectors[at_b] if crossed else unit_query,
        "template",
        (),
        np.setdiff1d(members.numbers, common),
        tuple(dict.fromkeys(note for note in notes if note)),
    )


def _stage(tick: Tick, number: int, of: int) -> Tick:
    """The tick of one of several stages of about the same length."""

    def inner(done: int, total: int, note: str = "") -> None:
        tick(int(1000 * (number + min(1.0, done / max(total, 1)))), 1000 * of, note)

    return inner


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
    test, notes = _test(protocol, plan, searching)
    if gallery is not query:
        notes += _spaces(query, gallery)
    stages = ["things", *(part for part in PARTS if part in plan.parts)]
    if plan.breakdown and "verification" in plan.parts:
        stages.insert(2, "slices")
    steady = _Steady(tick)

    def stage(name: str) -> Tick:
        return _stage(steady, stages.index(name), len(stages))

    things = _things(
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
        scores = _scores(faces, things, test, plan, notes, tick=_stage(stage("verification"), 0, 2))
        verified = verification.verify(
            scores,
            fars=plan.fars,
            rule=plan.rule,
            resamples=plan.resamples,
            seed=plan.seed,
            tick=_stage(stage("verification"), 1, 2),
        )
        confused_at, confusable = _confusable(scores, verified)
        report = replace(report, scores=scores, verification=verified, confused_at=confused_at, confusable=confusable)
        if plan.breakdown:
            slices = _slices(faces, things, test, plan, scores, verified, notes, tick=stage("slices"))
            report = replace(report, slices=slices)
        if watch is not None and plan.parts != ("verification",):
            watch(replace(report, notes=tuple(dict.fromkeys(notes))))
    if "identification" in plan.parts:
        identified = _identify(things, test, plan, notes, faces=faces, tick=stage("identification"))
        report = replace(report, identification=identified)
    if "retrieval" in plan.parts:
        retrieved = _retrieve(faces, things, test, plan, tick=_stage(stage("retrieval"), 0, 2))
        clustered = _cluster(things, plan, notes, tick=_stage(stage("retrieval"), 1, 2))
        report = replace(report, retrieval=retrieved, clustering=clustered)
    steady(1, 1)
    return replace(report, notes=tuple(dict.fromkeys(notes)))


def _test(protocol: Protocol | None, plan: Plan, searching: Searching | None) -> tuple[Protocol | None, list[str]]:
    """The test that the plan asks for, as far as it can be done with queries from elsewhere."""
    test = protocol if plan.protocol != ALL_PAIRS else None
    if test is None or searching is None:
        return test, []
    name = escaped(test.name)
    if test.groups_of != "template" and any(group in test.groups for group in GALLERIES):
        note = tr("Of {name} only the gallery is used: the queries are those given.", name=name)
        return replace(test, pairs=None, groups={**test.groups, "query": np.zeros(0, np.int64)}), [note]
    return None, [tr("{name} compares faces of the gallery with each other, so it is not used.", name=name)]


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


def _things(
    faces: FaceSet,
    test: Protocol | None,
    plan: Plan,
    *,
    query: FeatureSet,
    gallery: FeatureSet,
    searching: Searching | None,
    excluded: Ids,
    tick: Tick,
) -> _Things:
    if searching is not None:
        tick(0, 1, tr("Reading vectors"))
        return _two_sets(faces, query, gallery, searching=searching, excluded=excluded)
    if test is not None and "template" in (test.groups_of, test.pairs.of if test.pairs is not None else ""):
        return _templates(faces, test, plan, query=query, gallery=gallery, excluded=excluded, tick=tick)
    tick(0, 1, tr("Reading vectors"))
    return _faces(faces, query, gallery, excluded=excluded)


def _scores(
    faces: FaceSet, things: _Things, test: Protocol | None, plan: Plan, notes: list[str], *, tick: Tick
) -> Scores:
    """The published pairs, or all."""
    if test is not None and test.pairs is None and things.split is None:
        notes.append(tr("{name} lists no pairs, so all pairs are compared.", name=escaped(test.name)))
    if test is None or test.pairs is None:
        return _all_pairs(things, plan, np.arange(len(things)), tick=tick)
    listed = test.pairs
    ids = listed.pairs if listed.of == "template" else faces.ids[listed.pairs]
    if listed.of != things.of:
        raise InputError(
            tr("{name} compares templates in one part and faces in another.", name=escaped(test.name)),
            hint=tr("Compare all pairs instead."),
        )
    at = things.places(ids.ravel()).reshape(-1, 2)
    made = similarity.listed_pairs(
        things.query,
        things.gallery,
        pairs=at,
        same=listed.same,
        ids=things.ids,
        identity=things.identity,
        fold=listed.fold if len(np.unique(listed.fold)) > 1 else None,
        of=things.of,
        tick=tick,
    )
    made = replace(made, invalid=np.intersect1d(things.invalid, ids))
    if made.missing and plan.empty_templates == "lowest" and things.of == "template":
        lost = (at < 0).any(1)
        notes.append(
            plural(
                made.missing,
                "{n} pair has a template without usable picture and is scored lowest.",
                "{n} pairs have a template without usable picture and are scored lowest.",
            )
        )
        return _with_lowest(made, ids[lost], listed.same[lost], listed.fold[lost])
    if made.missing:
        one = "{n} listed pair could not be compared: one side has no usable vector."
        many = "{n} listed pairs could not be compared: one side has no usable vector."
        notes.append(plural(made.missing, one, many))
    return made


def _with_lowest(scores: Scores, ids: NDArray[np.int64], same: NDArray[np.bool_], fold: NDArray[np.int32]) -> Scores:
    """Pairs that could not be compared, added below all others (as PFE does)."""
    everyone = np.concatenate([scores.ids, np.setdiff1d(ids, scores.ids)])
    order = np.argsort(everyone)
    at = order[np.searchsorted(everyone[order], ids.ravel())].reshape(-1, 2).astype(np.int32)
    unknown = np.full(len(everyone) - len(scores.ids), -1, np.int32)
    return replace(
        scores,
        ids=everyone,
        identity=np.concatenate([scores.identity, unknown]),
        score=np.concatenate([scores.score, np.full(len(ids), templates.LOWEST, scores.score.dtype)]),
        first=np.concatenate([scores.first, at[:, 0]]),
        second=np.concatenate([scores.second, at[:, 1]]),
        genuine=np.concatenate([scores.genuine, same]),
        fold=None if scores.fold is None else np.concatenate([scores.fold, fold]),
        missing=0,
    )


def _all_pairs(things: _Things, plan: Plan, places: NDArray[np.int64], *, tick: Tick) -> Scores:
    asking = places if things.split is None else places[places < things.split]
    made = similarity.all_pairs(
        things.query_of(asking),
        ids=things.ids[asking],
        identity=things.identity[asking],
        against=things.gallery_of(places) if things.crossed else None,
        others=things.others(places),
        fars=plan.fars,
        tick=tick,
    )
    return replace(made, of=things.of, invalid=np.union1d(made.invalid, things.invalid))


def _groups(things: _Things, test: Protocol | None, faces: FaceSet) -> tuple[Rows, Rows, NDArray[np.int8]] | None:
    """Places of the published queries and of the gallery entries, and which gallery each is in; None for none."""
    if test is None or "query" not in test.groups:
        return None
    galleries = [(part, test.groups[name]) for name, part in GALLERIES.items() if name in test.groups]
    if not galleries:
        return None

    def places(members: NDArray[np.int64]) -> Rows:
        at = things.places(members if test.groups_of == "template" else faces.ids[members])
        return at[at >= 0]

    entries = [places(members) for _, members in galleries]
    parts = [np.full(len(at), part, np.int8) for at, (part, _) in zip(entries, galleries, strict=True)]
    probes = places(test.groups["query"]) if things.split is None else things.searching
    return probes, np.concatenate(entries), np.concatenate(parts)


def _identify(
    things: _Things, test: Protocol | None, plan: Plan, notes: list[str], *, faces: FaceSet, tick: Tick
) -> Identification:
    published = _groups(things, test, faces)
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
        order = np.argsort(things.ids) if not things.rows else np.arange(len(things))
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


def _cameras(faces: FaceSet, things: _Things) -> NDArray[np.int64] | None:
    column = faces.columns.get(CAMERA)
    if column is None or not things.rows:
        return None
    values = column.codes if isinstance(column, Labels) else np.nan_to_num(np.asarray(column, np.float64), nan=-1)
    return np.asarray(values, np.int64)[things.rows[0]]


def _retrieve(faces: FaceSet, things: _Things, test: Protocol | None, plan: Plan, *, tick: Tick) -> Retrieval:
    cameras = _cameras(faces, things)
    published = _groups(things, test, faces)
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


def _cluster(things: _Things, plan: Plan, notes: list[str], *, tick: Tick) -> Clustering | None:
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


def telling_point(verified: Verification) -> verification.OperatingPoint | None:
    """The operating point at which to look at parts: the lowest rate with some false matches to divide among them."""
    points = [one for one in verified.points if one.tar.defined and one.threshold is not None]
    points.sort(key=lambda one: -one.target)
    enough = [one for one in points if one.false_matches >= ENOUGH]
    return enough[-1] if enough else points[-1] if points else None


def _confusable(scores: Scores, verified: Verification) -> tuple[float | None, tuple[Confusable, ...]]:
    """Who is taken for whom at the rate that says most."""
    point = telling_point(verified)
    threshold = point.threshold if point is not None else verified.eer_threshold
    if threshold is None:
        return None, ()
    return threshold, similarity.confusable(scores, threshold=threshold, limit=CONFUSABLE)


# Breakdown


def _values(faces: FaceSet, things: _Things, test: Protocol | None, column: str) -> tuple[NDArray[np.int64], list[str]]:
    """(n,) which value of the column each thing has, -1 = none or several; and the values."""
    found = faces.values(column)
    if isinstance(found, Labels):
        codes, names = found.codes.astype(np.int64), [escaped(name) for name in found.names]
    else:
        codes, names = _binned(np.asarray(found, np.float64))
    if things.rows:
        return codes[things.rows[0]], names
    assert test is not None and test.templates is not None
    members = test.templates
    order = np.argsort(members.template, kind="stable")
    of_member = codes[members.row[order]]
    starts = np.searchsorted(members.template[order], things.ids)
    low, high = np.minimum.reduceat(of_member, starts), np.maximum.reduceat(of_member, starts)
    return np.where(low == high, low, -1), names  # a template of pictures of several values has none


def _binned(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], list[str]]:
    """Numbers as a few values: themselves where there are few, else quarters of about as many faces each.

    A number that a quarter of the faces have (mostly 0: no blur) stands by itself, and the others are divided.
    """
    known = np.isfinite(values)
    different, counts = np.unique(values[known], return_counts=True)
    whole = bool((different == np.floor(different)).all())
    if len(different) <= (SLICES if whole else FEW):
        codes = np.searchsorted(different, values)
        return np.where(known, codes, -1), [f"{value:.6g}" for value in different]
    common = different[counts >= known.sum() / BINS]
    codes = np.full(len(values), -1, np.int64)
    names: list[str] = []
    for low, high in pairwise([-np.inf, *common.tolist(), np.inf]):
        if np.isfinite(low):
            codes[values == low] = len(names)
            names.append(f"{low:.4g}")
        between = known & (values > low) & (values < high)
        if not between.any():
            continue
        bins = max(1, round(BINS * between.sum() / known.sum()))
        edges = np.unique(np.quantile(values[between], np.linspace(0, 1, bins + 1)))
        if len(edges) < 2:
            edges = np.repeat(edges, 2)
        inside = np.searchsorted(edges, values[between], side="right") - 1
        codes[between] = len(names) + np.clip(inside, 0, len(edges) - 2)
        for a, b in pairwise(edges.tolist()):
            names.append(tr("{a} to {b}", a=f"{a:.4g}", b=f"{b:.4g}") if a < b else f"{a:.4g}")
    return codes, names


def _slices(
    faces: FaceSet,
    things: _Things,
    test: Protocol | None,
    plan: Plan,
    scores: Scores,
    verified: Verification,
    notes: list[str],
    *,
    tick: Tick,
) -> tuple[Slice, ...]:
    """The pairs of each value of the breakdown column, at the thresholds of all pairs.

    Both sides of a pair must have the value; where another gallery searches, the query decides.
    """
    if plan.breakdown not in faces.sortable:
        notes.append(tr("The gallery has no column {name}.", name=escaped(plan.breakdown)))
        return ()
    if not len(things):
        return ()
    codes, names = _values(faces, things, test, plan.breakdown)
    everyone, codes = codes, codes[things.searching]
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    if missing := int((codes < 0).sum()):
        one = "{n} has no value of {name} (or several) and is in no part."
        many = "{n} have no value of {name} (or several) and are in no part."
        name = escaped(plan.breakdown)
        notes.append(plural(missing, one.replace("{name}", name), many.replace("{name}", name)))
    shown = np.sort(np.argsort(-counts, kind="stable")[:SLICES])
    shown = shown[counts[shown] > 0]
    if hidden := int((counts > 0).sum()) - len(shown):
        notes.append(
            tr("{n} values of {name} with the fewest faces are not shown.", n=hidden, name=escaped(plan.breakdown))
        )
    code_of = np.full(len(scores.ids), -1, np.int64)
    at = things.places(scores.ids)
    code_of[at >= 0] = everyone[at[at >= 0]]
    if things.split is not None:
        notes.append(tr("The parts go by the {name} of the query.", name=escaped(plan.breakdown)))
    made = []
    for number, value in enumerate(shown.tolist()):
        part = _stage(tick, number, len(shown))
        chosen = np.flatnonzero(codes == value)
        if scores.bulk is not None:  # pairs that are only counted belong to nobody: compare those of the value alone
            places = chosen if things.split is None else np.concatenate([chosen, things.searched])
            inside = _all_pairs(things, plan, places, tick=part)
        elif things.split is None:
            inside = restrict(scores, code_of == value)
        else:
            inside = choose(scores, np.flatnonzero(code_of[scores.first] == value))
        ids = things.ids[chosen]
        made.append(replace(_slice(names[value], len(ids), inside, verified, plan, tick=part), ids=ids))
    return tuple(made)


def _slice(name: str, n: int, inside: Scores, whole: Verification, plan: Plan, *, tick: Tick) -> Slice:
    inside = replace(inside, fold=None)
    own = verification.verify(inside, fars=(), resamples=plan.resamples, seed=plan.seed, tick=tick)
    tar, far = [], []
    for point in whole.points:
        accepted, wrong = _at(inside, point, own.spread)
        tar.append((point.target, accepted))
        far.append((point.target, wrong))
    return Slice(name, n, inside.n_genuine, inside.n_impostor, tuple(tar), tuple(far), own.eer)


def _at(
    inside: Scores, point: verification.OperatingPoint, spread: verification.Spread | None
) -> tuple[Measure, Measure]:
    """TAR and real FAR of some pairs at the threshold of an operating point of all."""
    n, m = inside.n_impostor, inside.n_genuine
    if not point.tar.supported or point.threshold is None:
        why = point.tar.why or tr("nothing is accepted at this rate")
        return Measure.none(why, n=m), Measure.none(why, n=n)
    own = verification.at_threshold(inside, point.threshold, spread=spread)
    tar = own.tar if m else Measure.none(tr("no genuine pair"))
    far = Measure(own.far, n=n) if n else Measure.none(tr("no impostor pair"))
    return tar, far if own.far_interval is None else far.with_interval(*own.far_interval)


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
    test, _ = _test(protocol, plan, searching)
    things = _things(
        faces, test, plan, query=query, gallery=gallery, searching=searching, excluded=excluded, tick=silent
    )
    if test is not None and test.pairs is not None:
        scores = _scores(faces, things, test, plan, [], tick=tick)
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
    test, _ = _test(protocol, plan, searching)
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
            tick=_stage(tick, done, stages),
        )
        reports.append(made)
        done += 1
    paired, searched, found = None, None, None
    if reports[0] is not None and reports[1] is not None:
        share = _stage(tick, done, stages)
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
                things = _things(
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
                again.append(_all_pairs(things, plan, keep, tick=_stage(tick, len(again), 3)))
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
