"""What is found about an upgrade as tables for other programs: flips, the order of the backfill, all numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from facelens import __version__
from facelens.analyses.backfill import Order
from facelens.analyses.flips import GAINED, LOST, Flips
from facelens.analyses.plan import TASKS
from facelens.analyses.upgrade import Upgrade
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.features.store import versions
from facelens.figures.verdict import verdict
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.session.tables import csv_text, json_text, model_json, plain, written
from facelens.words import escaped, tr

SEARCHES = (
    "change", "query", "identity", "old_match", "old_match_identity", "new_match", "new_match_identity", "old_right",
    "new_right", "old_mate", "new_mate", "old_mate_score", "new_mate_score", "old_margin", "new_margin",
)  # fmt: skip
PAIRS = ("change", "query", "gallery", "identity", "old_score", "new_score", "old_threshold", "new_threshold")
ORDER = ("place", "share", "path", "identity")
CHANGES = {LOST: "lost", GAINED: "gained"}


def write_flips(out: Path, faces: FaceSet, found: Upgrade, *, tick: Tick = silent) -> Path:
    """A line for each search that is lost or gained, lost ones first, the largest loss of margin first; beside it
    NAME-pairs.csv with the genuine pairs that are."""
    if found.flips is None:
        raise InputError(tr("What changed is not worked out."), hint=tr("Let old and new be compared first."))
    tick(0, 2)
    written(out, csv_text(SEARCHES, _search_rows(faces, found.flips)))
    tick(1, 2)
    written(out.with_name(f"{out.stem}-pairs{out.suffix}"), csv_text(PAIRS, _pair_rows(faces, found.flips)))
    tick(2, 2)
    return out


def _search_rows(faces: FaceSet, flips: Flips) -> Iterator[list[object]]:
    one = flips.searches
    for place in (*flips.lost.tolist(), *flips.gained.tolist()):
        old, new = _who(faces, one.old_match[place]), _who(faces, one.new_match[place])
        yield [
            CHANGES[int(one.change[place])], *_who(faces, one.ids[place]), *old, *new,
            int(one.old_right[place]), int(one.new_right[place]),
            _who(faces, one.old_mate[place])[0], _who(faces, one.new_mate[place])[0],
            one.old_score[place], one.new_score[place], one.old_margin[place], one.new_margin[place],
        ]  # fmt: skip


def _pair_rows(faces: FaceSet, flips: Flips) -> Iterator[list[object]]:
    pairs = flips.pairs
    for place in np.argsort(pairs.change, kind="stable").tolist():  # lost first
        query, identity = _who(faces, pairs.first[place])
        second = _who(faces, pairs.second[place])[0]
        change = CHANGES[int(pairs.change[place])]
        limits = flips.old_threshold, flips.new_threshold
        yield [change, query, second, identity, pairs.old[place], pairs.new[place], *limits]


def _who(faces: FaceSet, face: int | np.integer) -> tuple[str, str]:
    """Path and identity."""
    row = faces.row_of(int(face))
    if row is None:
        return "" if faces.disguised else str(face), ""
    return escaped(os.fsdecode(faces.paths[row])), escaped(faces.identity.name(row))


def write_order(out: Path, faces: FaceSet, found: Upgrade, *, order: str = "", tick: Tick = silent) -> Path:
    """The gallery in the order of a backfill, first to be embedded anew first; `order` is one of ORDERS."""
    chosen = chosen_order(found, order)
    tick(0, 1)
    n = len(chosen.ids)
    rows = ([i + 1, (i + 1) / n, *_who(faces, face)] for i, face in enumerate(chosen.ids.tolist()))
    written(out, csv_text(ORDER, rows))
    tick(1, 1)
    return out


def chosen_order(found: Upgrade, name: str = "") -> Order:
    """An order of the backfill by its name, the first one without."""
    orders = found.backfill.orders if found.backfill is not None else ()
    one = next((one for one in orders if not name or one.name == name), None)
    if one is None:
        known = ", ".join(order.name for order in orders)
        raise InputError(
            tr("There is no order {name} of the backfill.", name=escaped(name)) if name and orders
            else tr("The backfill is not worked out."),
            hint=tr("Choose one of {names}.", names=known) if orders else tr("Let old and new be compared first."),
        )  # fmt: skip
    return one


def upgrade_json(
    faces: FaceSet, found: Upgrade, *, features: Mapping[str, FeatureSet] | None = None
) -> dict[str, object]:
    """All numbers but those of single faces and pairs."""
    matrix = found.matrix
    models = [(name, None if features is None else features[name].provenance) for name in matrix.models]
    return {
        "format": "facelens upgrade",
        "facelens": __version__,
        "versions": versions(),
        "gallery": {"name": escaped(faces.name), "digest": faces.digest, "faces": len(faces)},
        "models": [model_json(name, source) for name, source in models],
        "plan": plain(found.plan),
        "verdict": {task: plain(verdict(found, task=task)) for task in TASKS},
        "matrix": plain(matrix),
        "flips": None if found.flips is None else _flips_json(found.flips),
        "moves": None if found.moves is None else _moves_json(found),
        "backfill": None if found.backfill is None else {
            "shares": plain(found.backfill.shares),
            "orders": [plain(one) for one in found.backfill.orders],
        },
    }  # fmt: skip


def _flips_json(flips: Flips) -> dict[str, object]:
    pairs = flips.pairs
    return {
        "far": flips.far,
        "old_threshold": plain(flips.old_threshold),
        "new_threshold": plain(flips.new_threshold),
        "searches": {"n": len(flips.searches.ids), "lost": len(flips.lost), "gained": len(flips.gained)},
        "genuine_pairs": {"n": pairs.genuine}
        | {name: int((pairs.change == way).sum()) for way, name in CHANGES.items()},
    }


def _moves_json(found: Upgrade) -> dict[str, object]:
    moves = found.moves
    assert moves is not None
    known = moves.moved[np.isfinite(moves.moved)]
    return {
        "mapped": moves.mapped,
        "neighbours": moves.k,
        "moved_mean": float(known.mean()) if len(known) else None,
        "jaccard_mean": float(moves.jaccard.mean()) if len(moves.jaccard) else None,
        "people": [
            {"name": escaped(name), "moved": plain(float(far)), "kept": plain(float(kept)), "faces": int(n)}
            for name, far, kept, n in zip(
                moves.people, moves.people_moved, moves.people_kept, moves.people_faces, strict=True
            )
        ],
    }


def write_upgrade_json(
    out: Path,
    faces: FaceSet,
    found: Upgrade,
    *,
    features: Mapping[str, FeatureSet] | None = None,
    tick: Tick = silent,
) -> Path:
    """The same as a file."""
    tick(0, 1)
    written(out, json_text(upgrade_json(faces, found, features=features)))
    tick(1, 1)
    return out
