"""Things: the faces that can be compared, or the templates of a published test; unit vectors of both sides.

Computes    one model: each thing with a usable vector; two: with one of each model; templates are pooled
            two galleries: queries with a vector of their model, then the faces of the gallery with one of theirs
Shapes      ids (n,) of faces, or template numbers; query (n, D), gallery (n, D) unit length
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import similarity, templates
from facelens.analyses.plan import Plan
from facelens.analyses.scores import Floats, Scores
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids, Rows
from facelens.images.protocol import Protocol
from facelens.progress import Tick, part_of, silent
from facelens.words import plural, tr


@dataclass(frozen=True, eq=False)
class Searching:
    """The faces that search, where they are of another gallery; all other faces are what they are searched in."""

    name: str
    ids: Ids
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Things:
    """Faces or templates that can be compared: unit vectors of both sides, and who they are."""

    ids: Ids  # (n,) of faces, or template numbers; of two sets those that search first
    identity: NDArray[np.int32]
    query: Floats  # (n, D); of two sets (split, D)
    gallery: Floats  # (n, D); the same array where one model is evaluated; of two sets (n - split, D)
    of: str
    rows: Rows | None  # (n,) of the FaceSet; None for templates
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

    def all_pairs(self, places: Rows, *, fars: tuple[float, ...], tick: Tick) -> Scores:
        """Scores of all pairs of the things at `places`; of two sets, of each that searches with each of the others."""
        asking = places if self.split is None else places[places < self.split]
        made = similarity.all_pairs(
            self.query_of(asking),
            ids=self.ids[asking],
            identity=self.identity[asking],
            against=self.gallery_of(places) if self.crossed else None,
            others=self.others(places),
            fars=fars,
            tick=tick,
        )
        return replace(made, of=self.of, invalid=np.union1d(made.invalid, self.invalid))

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


def gather(
    faces: FaceSet,
    test: Protocol | None,
    plan: Plan,
    *,
    query: FeatureSet,
    gallery: FeatureSet,
    searching: Searching | None,
    excluded: Ids,
    tick: Tick = silent,
) -> Things:
    """What can be compared: of two sets, the templates of `test`, or the faces."""
    if searching is not None:
        tick(0, 1, tr("Reading vectors"))
        return _two_sets(faces, query, gallery, searching=searching, excluded=excluded)
    if test is not None and "template" in (test.groups_of, test.pairs.of if test.pairs is not None else ""):
        return _templates(faces, test, plan, query=query, gallery=gallery, excluded=excluded, tick=tick)
    tick(0, 1, tr("Reading vectors"))
    return _faces(faces, query, gallery, excluded=excluded)


def _rows(vectors: Floats, rows: Rows) -> Floats:
    """Rows of `vectors`; itself where these are all, as they stand."""
    return vectors if len(rows) == len(vectors) and (rows == np.arange(len(rows))).all() else vectors[rows]


def _faces(faces: FaceSet, query: FeatureSet, gallery: FeatureSet, *, excluded: Ids) -> Things:
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
    if unknown := int((faces.identity.codes[rows[both]] < 0).sum()):
        notes.append(plural(unknown, "{n} face has no identity.", "{n} faces have no identity."))
    return Things(
        ids[both],
        faces.identity.codes[rows[both]],
        unit_query,
        unit_gallery,
        "face",
        rows[both],
        ids[~both],
        tuple(notes),
    )


def _two_sets(faces: FaceSet, query: FeatureSet, gallery: FeatureSet, *, searching: Searching, excluded: Ids) -> Things:
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
    return Things(
        faces.ids[rows], codes, unit_query, unit_gallery, "face", rows, lost, tuple(notes), split=len(used[0])
    )


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
) -> Things:
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
            tick=part_of(tick, share, 2),
        )

    a = pooled(query, 0)
    b = a if not crossed else pooled(gallery, 1)
    notes += [*a.notes, *b.notes, *(templates.flip_note(one, flip=plan.flip) for one in (query, gallery))]
    if len(excluded):
        notes.append(plural(len(excluded), "{n} excluded face is left out.", "{n} excluded faces are left out."))
    common, at_a, at_b = np.intersect1d(a.numbers, b.numbers, assume_unique=True, return_indices=True)
    unit_query = a.vectors[at_a]
    return Things(
        common,
        a.identity[at_a],
        unit_query,
        b.vectors[at_b] if crossed else unit_query,
        "template",
        None,
        np.setdiff1d(members.numbers, common),
        tuple(dict.fromkeys(note for note in notes if note)),
    )
