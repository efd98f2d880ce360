"""What an upgrade does to one face, in two lines: its search, then how far it moved."""

from __future__ import annotations

import numpy as np

from facelens.analyses.flips import GAINED, LOST
from facelens.analyses.upgrade import Upgrade
from facelens.images.faceset import Ids
from facelens.views.hover import Inked, Line
from facelens.words import number, tr


class FaceChange:
    """Looks faces up in what was found; faces that were not looked at have no lines."""

    def __init__(self, found: Upgrade) -> None:
        self._found = found
        self._searches = _Places(found.flips.searches.ids) if found.flips is not None else None
        self._moves = _Places(found.moves.ids) if found.moves is not None else None

    def lines(self, face: int) -> list[Line]:
        """"lost: mate 0.52 → 0.41", and "moved 0.31" with "keeps 4 of 10", as far as that is known."""
        return [line for line in (self._search(face), self._move(face)) if line]

    def _search(self, face: int) -> str:
        place = self._searches.of(face) if self._searches is not None else None
        if place is None or self._found.flips is None:
            return ""
        one = self._found.flips.searches
        mate = tr("mate {old} → {new}", old=number(one.old_score[place], 2), new=number(one.new_score[place], 2))
        change = int(one.change[place])
        if change == LOST:
            return Inked(tr("lost: {mate}", mate=mate), "bad")
        return Inked(tr("gained: {mate}", mate=mate), "good") if change == GAINED else mate

    def _move(self, face: int) -> Line:
        place = self._moves.of(face) if self._moves is not None else None
        if place is None or self._found.moves is None:
            return ""
        one = self._found.moves
        keeps = tr("keeps {n} of {k}", n=int(one.kept[place]), k=one.k)
        moved = float(one.moved[place])
        return (tr("moved {by}", by=number(moved, 2)), keeps) if np.isfinite(moved) else keeps


class _Places:
    """Where ids stand."""

    def __init__(self, ids: Ids) -> None:
        self._order = np.argsort(ids)
        self._ids = ids[self._order]

    def of(self, face: int) -> int | None:
        at = int(np.searchsorted(self._ids, face))
        return int(self._order[at]) if at < len(self._ids) and self._ids[at] == face else None
