"""Searches by patches as tables for other programs: a shortlist before and after, and what happens to many queries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from facelens import __version__
from facelens.analyses import regions, reranking
from facelens.analyses.plan import MatchPlan
from facelens.analyses.reranking import Sweep, SweepRow
from facelens.figures.swept import moved
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.session.matched import Subject
from facelens.session.matching import Pair, Searched
from facelens.session.part_tables import gallery_json
from facelens.session.tables import csv_text, json_text, plain, written
from facelens.words import escaped

RANKING = ("rank_before", "rank_after", "path", "identity", "cosine", "emd", "distance", "right")


def write_ranking(
    out: Path,
    faces: FaceSet,
    searched: Searched,
    plan: MatchPlan,
    *,
    query: int | None = None,
    name: str = "",
    queries: FaceSet | None = None,
    tick: Tick = silent,
) -> Path:
    """The shortlist by rank after the second stage, CSV or JSON by the ending; `query` and others as in `Subject`."""
    tick(0, 1)
    subject = Subject(faces, searched, plan, query, name, queries)
    if out.suffix.lower() == ".json":
        written(out, json_text(ranking_json(subject)))
    else:
        rows = ([*row[:-1], row[-1] if row[-1] is None else int(row[-1] is True)] for row in ranking_rows(subject))
        written(out, csv_text(RANKING, rows))
    tick(1, 1)
    return out


def ranking_rows(subject: Subject) -> Iterator[list[object]]:
    """Cells of RANKING; whether a face is right stays empty where nobody knows who is searched for."""
    searched, plan, faces = subject.searched, subject.plan, subject.faces
    assert searched is not None
    found = searched.found
    distance = reranking.blended(found.cosine, found.emd, alpha=plan.alpha)
    for after, place in enumerate(reranking.order(found, alpha=plan.alpha).tolist()):
        values = [float(one[place]) for one in (found.cosine, found.emd, distance)]
        right = bool(searched.right[place]) if subject.known else None
        yield [place + 1, after + 1, *_named(faces, int(found.ids[place])), *values, right]


def ranking_json(subject: Subject) -> dict[str, object]:
    """All numbers of one search."""
    searched, plan = subject.searched, subject.plan
    assert searched is not None
    found = searched.found
    path, identity = _named(subject.home, subject.face)
    return {
        "format": "facelens match",
        "facelens": __version__,
        "gallery": gallery_json(subject.faces),
        "plan": plain(plan),
        "query": {
            "name": escaped(subject.called),
            "path": path or None,
            "identity": identity or None,
            "occlusion": plain(searched.occlusion),
        },
        "how": subject.how,
        "searched": searched.gallery,
        "grid": list(found.grid),
        "first_right": {"before": searched.first or None, "after": searched.after(plan.alpha) or None},
        "marginal_error": float(found.error.max(initial=0)),
        "ranking": [plain(dict(zip(RANKING, row))) for row in ranking_rows(subject)],
        "notes": [escaped(note) for note in searched.notes],
    }


def pair_json(subject: Subject, pair: Pair) -> dict[str, object]:
    """Why one face of the shortlist matches as it does; the plan has the query's patches as rows."""
    found, match = pair.found, subject.match(pair)
    shares = regions.shares(found.grid, match.query.points, match.query.size)
    path, identity = _named(subject.faces, found.gallery)
    return {
        "path": path,
        "identity": identity or None,
        "right": match.gallery.right,
        "ranks": plain(subject.ranks(found.gallery)),
        "cosine": found.cosine,
        "emd": found.emd,
        "distance": float(reranking.blended(np.array(found.cosine), np.array(found.emd), alpha=subject.plan.alpha)),
        "marginal_error": found.error,
        "gap": found.gap,
        "rounds": found.rounds,
        "regions": dict(zip(regions.REGIONS, regions.ledger(found, shares).tolist())),
        "query_weights": plain(found.u),
        "gallery_weights": plain(found.v),
        "flow": plain(found.flow),
    }


def sweep_json(faces: FaceSet, sweep: Sweep, plan: MatchPlan) -> dict[str, object]:
    """What the second stage does to many queries, but for single ones."""
    return {
        "format": "facelens rerank",
        "facelens": __version__,
        "gallery": gallery_json(faces),
        "plan": plain(plan),
        "how": sweep.how,
        "queries": len(sweep.queries),
        "searched": sweep.gallery,
        "shortlist": sweep.shortlist or None,
        "occlusion": sweep.occlusion or None,
        "solver": sweep.solver,
        "before": plain(sweep.before),
        "after": [
            {
                "weights": row.weights,
                "steps": [_step_json(sweep, row, i) for i in range(len(row.alphas))],
            }
            for row in sweep.rows
        ],
        "complete": sweep.complete,
        "notes": [escaped(note) for note in sweep.notes],
    }


def _step_json(sweep: Sweep, row: SweepRow, i: int) -> dict[str, object]:
    better, worse = moved(sweep, row.ranks[i])
    return {
        "alpha": "sum" if row.alphas[i] < 0 else row.alphas[i],
        "measures": {name: plain(steps[i]) for name, steps in row.measures.items()},
        "better": better,
        "worse": worse,
    }


def write_sweep(out: Path, faces: FaceSet, sweep: Sweep, plan: MatchPlan, *, tick: Tick = silent) -> Path:
    """The same as a file."""
    tick(0, 1)
    written(out, json_text(sweep_json(faces, sweep, plan)))
    tick(1, 1)
    return out


def _named(faces: FaceSet, face: int | None) -> tuple[str, str]:
    """Path and identity of a face."""
    row = faces.row_of(face)
    if row is None:
        return "", ""
    return escaped(os.fsdecode(faces.paths[row])), escaped(faces.identity.name(row))
