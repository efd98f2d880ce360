"""Matched: of whom a search by patches speaks, in the words and pictures that figures, tables and commands share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from facelens.analyses.plan import MatchPlan
from facelens.analyses.reranking import Sweep, order
from facelens.figures.confidence import name_of
from facelens.figures.match_words import grid_words, painted_words, queries_title
from facelens.figures.transport import Face, Match
from facelens.images.faceset import FaceSet
from facelens.session.match_queries import person
from facelens.session.matching import Pair, Searched
from facelens.words import tr


def first_face(found: Searched, alpha: float) -> int | None:
    """The face that is first after the second stage."""
    places = order(found.found, alpha=alpha)
    return int(found.found.ids[places[0]]) if len(places) else None


def nearest_other(found: Searched, face: int | None, alpha: float) -> int | None:
    """The nearest face of the other kind than `face`: an impostor beside a mate, a mate beside another."""
    places = order(found.found, alpha=alpha)
    right = found.right[places]
    mine = bool(right[np.flatnonzero(found.found.ids[places] == face)].any())
    others = np.flatnonzero(right != mine)
    return int(found.found.ids[places[others[0]]]) if len(others) else None


@dataclass(frozen=True, eq=False)
class Subject:
    """A query, where it is searched for, and how."""

    faces: FaceSet
    searched: Searched | None
    plan: MatchPlan
    face: int | None = None  # the query, where it is of the gallery or of `queries`
    name: str = ""  # what it is called; "": as its gallery says
    queries: FaceSet | None = None  # another gallery that is searched for

    @property
    def home(self) -> FaceSet:
        """Where the query is from."""
        return self.faces if self.queries is None else self.queries

    @property
    def known(self) -> bool:
        """Whether it is known who is searched for."""
        return person(self.faces, self.queries, self.face) >= 0 or (
            self.searched is not None and self.searched.first > 0
        )

    @property
    def called(self) -> str:
        """The query by name."""
        row = self.home.row_of(self.face)
        return self.name or (self.home.label(row) if row is not None else tr("query"))

    @property
    def how(self) -> str:
        """Among whom the query was searched for."""
        assert self.searched is not None
        n, k = self.searched.gallery, len(self.searched.found.ids)
        if self.queries is not None:
            where = tr("a query of {name}, searched in a gallery of {n}", name=name_of(self.queries.name), n=n)
        elif self.face is None:
            where = tr("searched in a gallery of {n}", n=n)
        elif (self.searched.found.ids == self.face).any():
            where = tr("searched among {n}, its clear picture with them", n=n)
        else:
            where = tr("searched among the {n} others, its own picture left out", n=n)
        return tr("{where}; shortlist {k}", where=where, k=k)

    @property
    def told(self) -> list[str]:
        """Gallery, model, grid, how was searched."""
        assert self.searched is not None
        return [*self.whose(self.searched.found.grid), self.how]

    def swept(self, sweep: Sweep, grid: tuple[int, int] | None) -> list[str]:
        """The same of many queries."""
        of = [] if self.queries is None else [tr("queries of {name}", name=name_of(self.queries.name))]
        return [*self.whose(grid), *of, queries_title(sweep)]

    def whose(self, grid: tuple[int, int] | None) -> list[str]:
        """Gallery, model, grid where it is known."""
        told = [name_of(self.faces.name), name_of(self.plan.model)]
        return told if grid is None else [*told, grid_words(grid)]

    def ranks(self, face: int) -> tuple[int, int] | None:
        """Where a face of the shortlist stands before and after the second stage."""
        assert self.searched is not None
        found = self.searched.found
        place = np.flatnonzero(found.ids == face)
        if not len(place):
            return None
        after = np.flatnonzero(order(found, alpha=self.plan.alpha) == place[0])
        return int(place[0]) + 1, int(after[0]) + 1

    def right(self, face: int) -> bool | None:
        """Whether a face of the shortlist is who is searched for; None: not known."""
        assert self.searched is not None
        place = np.flatnonzero(self.searched.found.ids == face)
        return bool(self.searched.right[place[0]]) if len(place) and self.known else None

    def query(self) -> Face:
        """The query as it was searched for."""
        assert self.searched is not None
        shown = self.searched.shown
        return Face(shown.crop, self.called, painted_words(self.searched.occlusion), points=shown.points)

    def match(self, pair: Pair) -> Match:
        """The query and a face that was found."""
        face = pair.found.gallery
        row, ranks = self.faces.row_of(face), self.ranks(face)
        told = tr("rank {before} → {after}", before=ranks[0], after=ranks[1]) if ranks is not None else ""
        name, shown = self.faces.label(row) if row is not None else "", pair.gallery
        return Match(pair.found, self.query(), Face(shown.crop, name, told, self.right(face), shown.points))
