"""Templates: many pictures of one person as one vector, as IJB-B and IJB-C are evaluated.

Computes    per picture e (unit length unless the norm is kept), times its detector score; mean inside each media; sum
            over media; unit length. Score = dot product.
Shapes      vectors (N, D) float32 in; (T, D) float32 out, a row for each template, ascending by number
Reference   insightface's IJB evaluation; MixBCT for two models
Departs     none. A picture in several templates counts in each. Flip belongs to embedding: stored vectors either hold
            it or do not, `flip_note` says which.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Ids, Labels
from facelens.images.protocol import Templates
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

DETECTOR_SCORE = "det_score"  # the column of the faces
LOWEST = -2.0  # below every cosine; PFE writes -9999, which orders alike and spoils means and histograms
BLOCK = 16_384  # pictures that are held at once


@dataclass(frozen=True, eq=False)
class Pooled:
    """One vector for each template that has a usable picture; `empty` are the others."""

    numbers: Ids  # (T,) templates
    vectors: NDArray[np.float32]  # (T, D) unit length
    identity: NDArray[np.int32]  # (T,) codes of the gallery's identities, -1 = not known
    pictures: NDArray[np.int64]  # (T,) how many were pooled
    empty: Ids
    notes: tuple[str, ...] = ()


def pool(
    features: FeatureSet,
    faces: FaceSet,
    *,
    templates: Templates,
    detector_score: bool = True,
    keep_norm: bool = True,
    excluded: Ids | None = None,
    tick: Tick = silent,
) -> Pooled:
    """Pool the pictures of every template; those without a usable vector, and excluded ones, are left out."""
    notes: list[str] = []
    weight = _weights(faces, detector_score, notes)
    usable = np.zeros(len(faces), bool)
    rows, found = features.rows_of(faces.ids)
    usable[found] = True
    if excluded is not None and len(excluded):
        usable[faces.rows_of(excluded)] = False
    at = np.full(len(faces), -1, np.int64)
    at[found] = rows
    keep = usable[templates.row]
    order = np.flatnonzero(keep)[np.lexsort((templates.media[keep], templates.template[keep]))]
    template, media, row = templates.template[order], templates.media[order], templates.row[order]
    starts = np.flatnonzero(_changes(template))
    ends = np.append(starts[1:], len(order))[: len(starts)]
    # mean inside each media: each picture counts 1 / (pictures of its media in its template)
    inside = np.cumsum(_changes(template) | _changes(media)) - 1
    share = weight[row] / np.bincount(inside)[inside] if len(order) else np.zeros(0)
    if not keep_norm and len(order):
        share = share / features.norms[at[row]]
    pooled = np.zeros((len(starts), features.dimensions), np.float32)
    first = 0
    while first < len(starts):
        tick(int(starts[first]), len(order), tr("Pooling templates"))
        last = max(first + 1, int(np.searchsorted(ends, starts[first] + BLOCK, side="right")))
        some = slice(int(starts[first]), int(ends[last - 1]))
        block = features.vectors[at[row[some]]] * share[some, None]  # float64: sums of many pictures
        sums = np.add.reduceat(block, starts[first:last] - some.start, axis=0)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            pooled[first:last] = np.where(norms > 1e-12, sums / norms, 0.0)
        first = last
    tick(len(order), len(order), tr("Pooling templates"))
    whole = np.isfinite(pooled).all(1) & (np.abs(pooled).max(1, initial=0.0) > 0)
    numbers = template[starts]
    identity, codes = np.zeros(0, np.int32), faces.identity.codes[row]
    if len(starts):
        # A picture may have been named by another of its templates only: any name of the template will do.
        identity = np.maximum.reduceat(codes, starts)
        mixed = int((np.minimum.reduceat(np.where(codes < 0, identity.max(), codes), starts) < identity).sum())
        if mixed:
            one, many = "{n} template shows several people.", "{n} templates show several people."
            notes.append(plural(mixed, one, many))
    empty = np.setdiff1d(templates.numbers, numbers[whole])
    if len(empty):
        one, many = "{n} template has no usable picture.", "{n} templates have no usable picture."
        notes.append(plural(len(empty), one, many))
    return Pooled(
        numbers[whole],
        np.ascontiguousarray(pooled[whole]),
        np.asarray(identity[whole], np.int32),
        (ends - starts)[whole].astype(np.int64),
        empty,
        tuple(notes),
    )


def _changes(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(n,) True where a value differs from the one before."""
    different = np.ones(len(values), bool)
    different[1:] = values[1:] != values[:-1]
    return different


def _weights(faces: FaceSet, wanted: bool, notes: list[str]) -> NDArray[np.float64]:
    """(N,) how much each picture counts."""
    if not wanted:
        return np.ones(len(faces))
    column = faces.columns.get(DETECTOR_SCORE)
    if column is None or isinstance(column, Labels):
        notes.append(tr("The gallery has no detector scores, so all pictures count alike."))
        return np.ones(len(faces))
    weight = np.array(column, np.float64)
    unknown = ~np.isfinite(weight)
    if unknown.any():
        one = "{n} picture has no detector score and counts as 1."
        notes.append(plural(int(unknown.sum()), one, "{n} pictures have no detector score and count as 1."))
    return np.where(unknown, 1.0, weight)


def flip_note(features: FeatureSet, *, flip: bool) -> str:
    """What to say where the vectors of a store do not hold what is asked for; "" where they do."""
    card, name = features.provenance.card, escaped(features.provenance.model)
    if card is None:
        return tr(
            "The vectors of {name} came from a file: whether they hold the mirrored picture is not known.", name=name
        )
    if flip and not card.flip:
        return tr(
            "{name} was embedded without the mirrored picture. To have it, set flip in its card and embed again.",
            name=name,
        )
    if card.flip and not flip:
        return tr(
            "{name} was embedded with the mirrored picture. To do without, clear flip in its card and embed again.",
            name=name,
        )
    return ""
