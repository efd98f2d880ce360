"""Culling: flags, ratings, tags and notes for the faces at hand; the list stands still meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from facelens.images.faceset import Ids
from facelens.session.annotations import Annotations, flagged, rated
from facelens.session.selection import Selection
from facelens.views.panel import Desk

Change = Callable[[Annotations, Ids], Annotations]


class Culling:
    """Marks the faces at hand: the one in the loupe, else the selected ones, else the current one."""

    def __init__(self, desk: Desk, alone: Callable[[], bool]) -> None:
        self.desk, self._alone = desk, alone

    @property
    def faces(self) -> Ids:
        """Ids of the faces at hand."""
        selection = self.desk.workspace.selection
        if selection.current is not None and (self._alone() or not len(selection)):
            return np.array([selection.current], np.int64)
        return selection.ids

    def flag(self, level: int) -> None:
        """Flag (1), reject (-1) or neither (0); with the setting, on to the next face."""
        self._mark(lambda now, ids: flagged(now, ids, level))

    def rate(self, rating: int) -> None:
        """1 to 5, or 0 for none; with the setting, on to the next face."""
        self._mark(lambda now, ids: rated(now, ids, rating))

    def say(self, change: Change) -> None:
        """Change what is said about the faces at hand."""
        annotations = self.desk.workspace.annotations
        self.desk.store.update(annotations=change(annotations, self.faces))

    def _mark(self, change: Change) -> None:
        workspace, ids = self.desk.workspace, self.faces
        changes: dict[str, object] = {"annotations": change(workspace.annotations, ids)}
        if self.desk.settings.advance and len(ids) == 1:
            changes["selection"] = following(workspace.selection, workspace.shown_ids, int(ids[0]))
        self.desk.store.update(**changes)  # one step of the history: undoing leads back to the face


def following(selection: Selection, shown: Ids, face: int) -> Selection:
    """The selection on the face after one in the list; at the end of the list it stays."""
    at = np.flatnonzero(shown == face)
    if not len(at) or at[0] + 1 == len(shown):
        return selection
    after = shown[at[0] + 1 : at[0] + 2]
    return replace(selection, ids=after, current=int(after[0]))
