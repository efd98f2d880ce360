"""A search by patches as blocks, as lines of text as the commands print them, and as one JSON file.

It is worked out by the same functions, from the same plan, as in the window.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from facelens.analyses import regions, reranking
from facelens.analyses.patch_sets import Grid
from facelens.analyses.plan import RESAMPLES, MatchPlan
from facelens.analyses.reranking import Sweep, SweepRow
from facelens.errors import InputError
from facelens.features import grids, library
from facelens.features.checkpoint import ConsentBook, nobody
from facelens.features.featureset import FeatureSet
from facelens.features.patching import Model
from facelens.figures.match_words import (
    alpha_title,
    grid_words,
    painted_words,
    plan_words,
    queries_title,
    weights_title,
)
from facelens.figures.swept import MEASURES, moved
from facelens.images.decode import PictureError
from facelens.images.faceset import FaceSet, Ids
from facelens.images.occlusion import Occlusion
from facelens.progress import Tick, part_of, silent
from facelens.session import filters, match_queries, matching
from facelens.session.blocks import Block, Rows, lines
from facelens.session.ground import Ground
from facelens.session.match_tables import pair_json, ranking_json, ranking_rows, sweep_json
from facelens.session.matched import Subject
from facelens.session.matching import Pair, Searched
from facelens.session.reports import interval_words
from facelens.session.tables import json_text, written
from facelens.words import escaped, number, tr

TOP = 10  # faces that are listed


# One query


@dataclass(frozen=True, eq=False)
class Found:
    """A search, and why the first faces of it match as they do."""

    searched: Searched
    pair: Pair  # the first mate, or the first of all where nobody knows who that is
    other: Pair | None  # the first of the other kind


def examine(
    ground: Ground, query: int, plan: MatchPlan, *, occlusion: Occlusion | None = None, tick: Tick = silent
) -> Found:
    """Search for a face, and explain the first mate and the first other; arguments as for `matching.search`."""
    try:
        searched = matching.search(ground, query, plan, occlusion=occlusion, tick=part_of(tick, 0, 2))
    except PictureError as error:
        raise PictureError(error.message, reason=error.reason, hint=tr("Search for another picture.")) from None
    found = searched.found
    if not len(found.ids):
        raise InputError(tr("There is nobody else in the gallery."), hint=tr("Choose a gallery with more faces."))
    places = reranking.order(found, alpha=plan.alpha)
    first = [places[np.flatnonzero(searched.right[places] == kind)[:1]] for kind in (True, False)]
    chosen = [int(found.ids[place[0]]) for place in first if len(place)]
    later = part_of(tick, 1, 2)
    pairs = [matching.explain(ground, query, face, plan, occlusion=occlusion, tick=later) for face in chosen]
    return Found(searched, pairs[0], pairs[1] if len(pairs) > 1 else None)


@dataclass(frozen=True, eq=False)
class MatchReport:
    """Who was found for one face, before and after the second stage, and why."""

    subject: Subject
    found: Found
    top: int = TOP
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Everything, as a person reads it."""
        return lines(self.blocks())

    def blocks(self) -> list[Block]:
        """The same as blocks."""
        said = [
            Block(told=(*self.notes, *self._who()), figures=("flow",)),
            self._ranking(),
            self._left(),
            self._regions(),
            Block(told=self.found.searched.notes),
        ]
        return list(filter(None, said))

    def _who(self) -> list[str]:
        subject, searched = self.subject, self.found.searched
        named = [escaped(subject.faces.name), escaped(subject.plan.model), grid_words(searched.found.grid)]
        painted = painted_words(searched.occlusion)
        query = escaped(subject.called) + (f" ({painted})" if painted else "")
        told = [
            f"{', '.join(named)}; {', '.join(plan_words(subject.plan, self.found.pair.found.rounds))}.",
            f"{query}: {subject.how}.",
        ]
        if not subject.known:
            return [*told, tr("It is not known who this is, so nobody is right or wrong.")]
        if not searched.first:
            return [*told, tr("Nobody in the gallery is the same person.")]
        ranks = tr("{before} → {after}", before=searched.first, after=searched.after(subject.plan.alpha))
        return [*told, tr("First right face: rank {ranks}.", ranks=ranks)]

    def _ranking(self) -> Block:
        rows = [row for row in self._rows() if _rank(row, "after") <= self.top]
        title = tr("The first {n} after the second stage; cosine higher, EMD and distance lower is closer", n=len(rows))
        return Block(title, self._table(rows), figures=("ranking",))

    def _left(self) -> Block:
        """Faces that were among the first before."""
        rows = [row for row in self._rows() if _rank(row, "before") <= self.top < _rank(row, "after")]
        rows.sort(key=lambda row: _rank(row, "before"))
        return Block(tr("No longer among them"), self._table(rows)) if rows else Block()

    def _rows(self) -> list[list[object]]:
        return list(ranking_rows(self.subject))

    def _table(self, rows: Sequence[Sequence[object]]) -> Rows:
        heads = [tr("before"), tr("after"), tr("cosine"), tr("EMD"), tr("distance")]
        made = [[*heads, *([""] if self.subject.known else []), tr("face")]]
        for before, after, path, _, cosine, emd, distance, right in rows:
            values = [number(float(one), 4) for one in (cosine, emd, distance)]  # type: ignore[arg-type]
            judged = [tr("right") if right else tr("wrong")] if self.subject.known else []
            made.append([str(before), str(after), *values, *judged, str(path)])
        return made

    def _regions(self) -> Block:
        """What the regions of the query add to the EMD."""
        pairs = [pair for pair in (self.found.pair, self.found.other) if pair is not None]
        ledgers = []
        for pair in pairs:
            query = self.subject.match(pair).query
            ledgers.append(regions.ledger(pair.found, regions.shares(pair.found.grid, query.points, query.size)))
        heads = [self._called(pair) for pair in pairs]
        rows = [[tr("EMD by region"), *heads, *([tr("difference")] if len(pairs) > 1 else [])]]
        names = [regions.title(region) for region in range(len(regions.REGIONS))]
        for name, *values in zip((*names, tr("sum")), *([*ledger, ledger.sum()] for ledger in ledgers)):
            row = [name, *(number(float(value), 4) for value in values)]
            rows.append([*row, number(float(values[0] - values[1]), 4, sign=True)] if len(pairs) > 1 else row)
        told = [regions.told(ledgers[0] - ledgers[1])] if len(pairs) > 1 else []
        return Block(rows=rows, told=told, figures=("regions",))

    def _called(self, pair: Pair) -> str:
        face = self.subject.match(pair).gallery
        right = {True: tr("right"), False: tr("wrong"), None: ""}[face.right]
        return f"{escaped(face.name)} ({right})" if right else escaped(face.name)

    def as_json(self) -> dict[str, object]:
        """All numbers, with the plans of the first mate and of the first other."""
        pairs = {"pair": self.found.pair, "other": self.found.other}
        told = {name: None if pair is None else pair_json(self.subject, pair) for name, pair in pairs.items()}
        return ranking_json(self.subject) | told

    def write_json(self, out: Path) -> Path:
        """The same as a file."""
        return written(out, json_text(self.as_json()))


def _rank(row: Sequence[object], when: str) -> int:
    return int(row[0 if when == "before" else 1])  # type: ignore[call-overload, no-any-return]


# Many queries


@dataclass(frozen=True, eq=False)
class RerankReport:
    """What the second stage does to many queries."""

    faces: FaceSet
    sweep: Sweep
    plan: MatchPlan
    grid: Grid | None
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Everything, as a person reads it."""
        return lines(self.blocks())

    def blocks(self) -> list[Block]:
        """The same as blocks."""
        said = [Block(told=self._who()), *map(self._row, self.sweep.rows), Block(told=self.sweep.notes)]
        return list(filter(None, said))

    def _who(self) -> list[str]:
        sweep, plan = self.sweep, self.plan
        named = [escaped(self.faces.name), escaped(plan.model), *([grid_words(self.grid)] if self.grid else [])]
        told = [
            *self.notes,
            f"{', '.join(named)}; {queries_title(sweep)}; {plan_words(plan)[-1]}; "
            + tr("shortlist {k}.", k=sweep.shortlist or tr("all")),
            sweep.how,
        ]
        if (known := int((sweep.ranks > 0).sum())) < len(sweep.queries):
            told.append(tr("Only {n} of them have somebody to find; the others do not count.", n=known))
        return told

    def _row(self, row: SweepRow) -> Block:
        title = tr("Weights {name}; higher is better", name=weights_title(row.weights))
        rows = [["", *MEASURES, tr("better"), tr("worse")]]
        rows.append([tr("cosine"), *(self.sweep.before[name].text(4) for name in MEASURES), "", ""])
        for i, alpha in enumerate(row.alphas):
            better, worse = moved(self.sweep, row.ranks[i])
            values = [row.measures[name][i].text(4) for name in MEASURES]
            rows.append([alpha_title(alpha), *values, str(better), str(worse)])
        return Block(f"{title}; {interval_words('identities', RESAMPLES)}", rows, figures=("sweep",))

    def as_json(self) -> dict[str, object]:
        """All numbers but those of single queries."""
        return sweep_json(self.faces, self.sweep, self.plan)

    def write_json(self, out: Path) -> Path:
        """The same as a file."""
        return written(out, json_text(self.as_json()))


class Asking(NamedTuple):
    """Who is searched for: faces of the gallery, or of another one."""

    queries: FaceSet | None = None
    among: Ids | None = None
    notes: tuple[str, ...] = ()


def asking(faces: FaceSet, words: str) -> Asking:
    """Queries of a folder or list, or those of the gallery that pass a filter; "" for all of it."""
    if not words:
        return Asking()
    if Path(words).exists():
        reading = match_queries.read(Path(words), faces.identity.names)
        told = match_queries.told(faces, reading.faces)
        return Asking(reading.faces, notes=(*reading.notes, *((told,) if told else ())))
    found = faces.ids[filters.parse(words).rows(faces)]
    if not len(found):
        raise InputError(
            tr("No face passes {filter}.", filter=escaped(words)),
            hint=tr("Give another filter, or a folder of queries."),
        )
    return Asking(among=found)


# What a command asks for


class Query(NamedTuple):
    """A face of the gallery, or a picture from elsewhere as a gallery of one."""

    face: int
    queries: FaceSet | None = None
    notes: tuple[str, ...] = ()


def query_of(faces: FaceSet, name: str, *, identity: str = "") -> Query:
    """What a word means: a path inside the gallery, or a picture file; who that shows says `identity` or its folder."""
    path = Path(name)
    inside = os.fsencode(name.replace(os.sep, "/"))
    try:
        inside_too = os.fsencode(path.resolve().relative_to(faces.root.resolve()).as_posix())
    except ValueError:
        inside_too = inside
    row = next((row for row, one in enumerate(faces.paths) if one in (inside, inside_too)), None)
    if row is not None:
        return Query(int(faces.ids[row]))
    if not path.is_file():
        raise InputError(
            tr("{name} is not in this gallery, and no picture file.", name=escaped(name)),
            hint=tr("Give the path of a picture, or its path inside the gallery."),
        )
    people = set(faces.identity.names)
    if identity and identity not in people:
        raise InputError(
            tr("Nobody in this gallery is called {name}.", name=escaped(identity)),
            hint=tr("Give the name as the gallery has it, or leave it out."),
        )
    folder = path.resolve().parent.name
    who = identity or (folder if folder in people else "")
    alone = FaceSet.build(path.name, path.resolve().parent, paths=[path.name], identities=[who])
    named = [tr("Searched for as {name}, the name of its folder.", name=escaped(who))] if who and not identity else []
    return Query(int(alone.ids[0]), alone, tuple(named))


class Ready(NamedTuple):
    """A model that made some vectors, and a plan for it."""

    model: Model
    plan: MatchPlan
    grid: Grid | None  # None: the model tells when it runs


def ready(features: FeatureSet, plan: MatchPlan, *, file: Path | None = None, consents: Path | None = None) -> Ready:
    """The model file that made these vectors, where it is known or given, and the plan with its layer and grid."""
    source = features.provenance
    path = file or (Path(source.file) if source.file else None)
    if path is None:
        raise InputError(
            tr("Patches are made by the model itself, and these vectors do not say where it lies."),
            hint=tr("Say where it is: --model FILE."),
        )
    if not path.is_file():
        raise InputError(
            tr("The model is not at {path}.", path=escaped(str(path))), hint=tr("Say where it is: --model FILE.")
        )
    trusted = ConsentBook(consents) if consents else nobody
    made = source.card if source.weights else None
    seen = library.inspect(path, card=made, consents=trusted)
    if made is not None and not made.patch_layer:  # it may have been chosen since
        now = library.inspect(path, consents=trusted)
        seen = now if now.card.digest == made.digest else seen
    if (source.weights and seen.sha256 != source.weights) or seen.card.dimensions != features.dimensions:
        raise InputError(
            tr("{file} is not the model that made these vectors.", file=escaped(path.name)),
            hint=tr("Give the file they were made with: --model FILE."),
        )
    plan = replace(plan, model=source.model)
    return Ready(Model(path, seen.card, consents), *_cut(seen, plan))


def _cut(seen: library.Inspection, plan: MatchPlan) -> tuple[MatchPlan, Grid | None]:
    """The plan with the layer that gives its grid, and that grid."""
    own = seen.card.grid
    if plan.grid is None or own is None:
        return plan, own
    wanted = "{} × {}".format(*plan.grid)
    for choice in grids.grids(seen):
        if choice.layer and choice.label == wanted:
            return replace(plan, layer=choice.layer, grid=None), plan.grid
    if plan.grid[0] > own[0] or plan.grid[1] > own[1]:
        raise InputError(
            tr(
                "{name} sees {own}, which cannot be cut into {wanted}.",
                name=escaped(seen.card.name),
                own=grid_words(own),
                wanted=wanted,
            ),
            hint=tr("Choose one of {names}.", names=", ".join(choice.label for choice in grids.grids(seen))),
        )
    return plan, plan.grid


def checked(plan: MatchPlan, faces: int) -> None:
    """Complain about a shortlist that was asked for and cannot be."""
    if plan.shortlist > faces:
        raise InputError(
            tr("A shortlist of {k} is longer than the gallery of {n}.", k=plan.shortlist, n=faces),
            hint=tr("Give --shortlist {n} or less, or 0 for all.", n=faces),
        )
