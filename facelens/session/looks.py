"""Looks: how pages show what they have. No result depends on them, but they are kept and undone like what results do.

To make a control of a page one of them, give it a field here and a `Look` (views/looking.py) where it is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from facelens.words import tr


def _of(page: str, words: str, usual: Any = "") -> Any:
    return field(default=usual, metadata={"page": page, "words": words})


@dataclass(frozen=True)
class Looks:
    """Where a text is "" the page shows what goes without saying."""

    scores_of: str = _of("Evaluation", "scores of model")  # "A" or "B"; "": the newest
    queries_of: str = _of("Evaluation", "queries of model")
    worst_by: str = _of("Evaluation", "worst queries by", "MAP@R")
    compared: str = _of("Uncertainty", "compare with")  # a column
    risk_task: str = _of("Uncertainty", "kind of test", "1:1")
    counts: str = _of("Uncertainty", "counts", "linear")
    members_task: str = _of("Uncertainty", "members by", "1:1")
    people_order: str = _of("Uncertainty", "order of people", "left ascending")
    faces_order: str = _of("Confidence", "order of faces", "mean descending")
    parts_order: str = _of("Confidence", "order of columns", "number ascending")
    votes_on: str = _of("Confidence", "votes on", "pair")
    voted_pairs: str = _of("Confidence", "pairs")
    parts_measure: str = _of("Confidence", "measure", "tar")
    parts_at: str = _of("Confidence", "Recall at")  # "": the least
    likeness: str = _of("Confidence", "correlation of", "centre")
    learners_at: str = _of("Learners", "Recall at", "1")
    beyond: str = _of("Learners", "rank in all others beyond")
    ledger_of: str = _of("Match", "ledger of", "pair")
    ranks_of: str = _of("Match", "ranks of", "query")
    queries_order: str = _of("Match", "order of queries", "change")  # "reversed" behind it
    sweep_measure: str = _of("Match", "measure")
    sweep_by: str = _of("Match", "compare by", "alpha")
    query_heat: str = _of("Match", "over the query", "weights")
    plan_cells: str = _of("Match", "cells of the plan", "flow")
    plan_cut: float | None = _of("Match", "hide mass below", None)  # None: as it was left the last time
    plan_opacity: float | None = _of("Match", "opacity", None)
    plan_colours: str = _of("Match", "colours")
    upgrade_colour: str = _of("Upgrade", "colour", "change")
    upgrade_beside: str = _of("Upgrade", "second upgrade")
    upgrade_sides: str = _of("Upgrade", "old and new", "side")
    flips_of: str = _of("Upgrade", "flips", "lost")
    map_colour: str = _of("Projection", "colour", "identity")
    map_shape: tuple[str, ...] = _of("Projection", "shape", ())  # a column and its values; (): what sounds augmented
    map_focus: tuple[str, ...] = _of("Projection", "focus", ())  # people who alone have colours; (): everybody
    map_sides: str = _of("Projection", "old and new", "side")
    moved_groups: str = _of("Projection", "groups")  # a column; "": people
    nearest: bool = _of("Projection", "nearest vectors", True)


ABOUT = {one.name: (str(one.metadata["page"]), str(one.metadata["words"])) for one in fields(Looks)}

# What is not called as it is kept.
SAID = {
    "parts_measure": {"tar": "TAR", "recall": "Recall@1"},
    "likeness": {"centre": "distances", "slices": "dimensions"},
    "ranks_of": {"queries": "all queries"},
    "sweep_by": {"alpha": "α"},
    "query_heat": {"weights": "query weights"},
    "plan_cells": {"flow": "whole plan"},
    "upgrade_sides": {"side": "side by side"},
    "map_sides": {"side": "side by side"},
    "map_colour": {" unsure": "how unsure", " change": "change", " moved": "moved"},
}


def said(name: str, value: Any) -> Any:
    """A value in the words of the screen."""
    if name == "map_focus":
        some = tr("{n} people", n=f"{len(value):,}") if value else tr("everybody")
        return value[0].replace("_", " ") if len(value) == 1 else some
    if isinstance(value, tuple):
        return value[0] if value else ""
    if isinstance(value, float):
        return tr("{share} %", share=f"{100 * value:g}")
    if name == "faces_order":
        by, _, way = value.rpartition(" ")
        by = tr("part {n}", n=int(by) + 1) if by.isdigit() else {"face": tr("name")}.get(by, by)
        return f"{by} {way}"
    return tr(SAID[name][value]) if value in SAID.get(name, ()) else value
