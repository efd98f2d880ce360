"""What an ensemble says as tables for other programs: faces with their scores, and the curves of refusing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from facelens import __version__
from facelens.analyses.ensemble import pairwise, percentiles
from facelens.analyses.rejection import Risk
from facelens.analyses.uncertainty import Uncertainty
from facelens.images.faceset import FaceSet, Ids
from facelens.progress import Tick, silent
from facelens.session.tables import csv_text, json_text, plain, written
from facelens.words import escaped

FACES = (
    "path", "identity", "variance", "percentile", "pairwise", "score", "refused", "recognised", "mate", "mate_score",
    "other", "other_identity", "other_score", "missed_share", "disagrees_most",
)  # fmt: skip
STEPS = (
    "task", "coverage", "kept", "refuse_above", "error", "error_low", "error_high", "gain", "gain_low", "gain_high",
    "relative_error", "relative_error_low", "relative_error_high", "threshold", "n", "random_order", "best_order",
    "emptied_templates", "dropped_searches",
)  # fmt: skip


def write_faces(
    out: Path, faces: FaceSet, found: Uncertainty, *, limit: float, only: Ids | None = None, tick: Tick = silent
) -> Path:
    """A line for each face, worst first: its scores, whether it is refused above `limit` and recognised, and by whom.

    `only` are the faces to write; all that are shown without it. One column more for each member: how far it is from
    the others.
    """
    tick(0, 1)
    names = (*FACES, *(f"apart: {one.name}" for one in found.members))
    written(out, csv_text(names, _face_rows(faces, found, limit, only)))
    tick(1, 1)
    return out


def _face_rows(faces: FaceSet, found: Uncertainty, limit: float, only: Ids | None) -> Iterator[tuple[object, ...]]:
    share, seen = percentiles(found.variance), found.recognition
    apart = np.nan_to_num(found.apart, nan=-1.0)
    pair = pairwise(found.variance, len(found.members))
    order = np.argsort(-np.nan_to_num(found.values, nan=-np.inf), kind="stable")
    if only is not None:
        order = order[np.isin(found.ids[order], only)]
    rows = dict(zip(found.ids.tolist(), faces.rows_of(found.ids).tolist(), strict=True))
    for place in order.tolist():
        row = rows[int(found.ids[place])]
        known: tuple[object, ...] = ("", "", "", "", "", "", "")
        if seen is not None:
            mate, other = rows.get(int(seen.mate[place])), rows.get(int(seen.other[place]))
            known = (
                {1: "yes", 0: "no"}.get(int(seen.right[place]), ""),
                _path(faces, mate) if mate is not None else "",
                seen.mate_score[place],
                _path(faces, other) if other is not None else "",
                escaped(faces.identity.name(other)) if other is not None else "",
                seen.other_score[place],
                seen.missed[place],
            )
        refused = "yes" if found.values[place] > limit else "no"
        yield (
            _path(faces, row),
            escaped(faces.identity.name(row)),
            found.variance[place],
            share[place],
            pair[place],
            -found.values[place] if found.lower else found.values[place],
            refused,
            *known,
            found.members[int(apart[:, place].argmax())].name,
            *found.apart[:, place],
        )


def _path(faces: FaceSet, row: int) -> str:
    return escaped(os.fsdecode(faces.paths[row]))


def write_curves(out: Path, found: Uncertainty, *, tick: Tick = silent) -> Path:
    """Errors at every share of faces that is kept, with intervals: CSV, or JSON by the ending."""
    tick(0, 1)
    if out.suffix.lower() == ".json":
        written(out, json_text(summary(found)))
    else:
        written(out, csv_text(STEPS, _step_rows(found)))
    tick(1, 1)
    return out


def summary(found: Uncertainty) -> dict[str, object]:
    """All numbers about the ensemble, but for those of single faces."""
    return {
        "format": "facelens uncertainty",
        "facelens": __version__,
        "members": [plain(one) for one in found.members],
        "mode": found.mode,
        "target": found.target,
        "fitted_people": found.fitted_people,
        "fitted_faces": found.fitted_faces,
        "shown_people": found.shown_people,
        "shown_faces": len(found.ids),
        "refused_by": found.by,
        "low_values_first": found.lower,
        "together": plain(found.together),
        "weighted_templates": plain(found.weighted),
        "sizes": [plain(one) for one in found.sizes],
        "verification": plain(found.verification),
        "identification": plain(found.identification),
        "problems": list(found.problems),
        "notes": list(found.notes),
    }


def _step_rows(found: Uncertainty) -> Iterator[tuple[object, ...]]:
    for risk in (found.verification, found.identification):
        if isinstance(risk, Risk):
            for i in range(len(risk.coverage)):
                yield (
                    risk.task,
                    risk.coverage[i],
                    risk.kept[i],
                    risk.limit[i],
                    *(band[i] for band in (risk.error.value, risk.error.low, risk.error.high)),
                    *(band[i] for band in (risk.gain.value, risk.gain.low, risk.gain.high)),
                    *(band[i] for band in (risk.change.value, risk.change.low, risk.change.high)),
                    risk.threshold[i],
                    risk.n[i],
                    risk.random[i],
                    risk.best[i],
                    risk.emptied[i],
                    risk.dropped[i],
                )
