"""Ranks before and after: of one query with the faces it finds, or of all queries of a sweep.

The switch between the two (`mode`) belongs into the header of whoever shows this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from facelens.analyses.reranking import Reranked, Sweep, SweepRow
from facelens.figures.swept import after_of
from facelens.images.faceset import FaceSet
from facelens.session.selection import Mode
from facelens.views.controls import EmptyState, Segmented
from facelens.views.panel import Desk, Panel
from facelens.views.queries_head import QueriesHead
from facelens.views.query_head import QueryHead
from facelens.views.query_ranks import GAINED, LOST, SAME, QueryRanks
from facelens.views.query_set import QuerySet
from facelens.views.ranking import Ranking
from facelens.views.slopes import Slopes
from facelens.words import tr

QUERY, QUERIES = "query", "queries"


class RankSlopes(Panel):
    """Two pages behind a switch. `show_*` fills a page, whichever is seen, and emits nothing."""

    candidate_chosen = Signal(object)  # id of the face that is to be compared with the query
    face_wanted = Signal(object)  # id of a face of the gallery that is to be searched for
    explain_wanted = Signal(object)  # id: double click or Enter
    query_wanted = Signal(object)  # id of the query that is to be searched for
    select = Signal(object, object)  # ids of the gallery, Mode
    select_queries = Signal(object, object)  # ids of queries, Mode
    run_wanted = Signal()  # all queries are to be searched for
    mode_changed = Signal(str)  # QUERY or QUERIES, by the user

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.setAccessibleName(tr("Ranking"))
        self.mode = Segmented([(QUERY, tr("Query")), (QUERIES, tr("All queries"))], label=tr("Ranks of"), height=22)
        self.mode.button(QUERY).setToolTip(tr("The shortlist of one query, before and after"))
        self.mode.button(QUERIES).setToolTip(tr("The rank of the first right face of every query"))
        self.mode.changed.connect(lambda _: self._on_mode())
        self.query, self.slopes = QueryHead(desk), Slopes(desk)
        self.queries, self.table = QueriesHead(), QueryRanks(desk)
        self.empty = EmptyState("compare", tr("No query"))
        self.none = EmptyState("chart", tr("All queries at once"))
        self.run = self.none.add_button(tr("Run over all queries"), self.run_wanted.emit, primary=True)
        self.run.setToolTip(tr("Searches for every face of the gallery and compares its ranks"))
        self.none.set_message(
            tr("All queries at once"), tr("Searches for every face of the gallery and compares its ranks.")
        )
        self.set = QuerySet()
        self.run_set = QPushButton(tr("Run over all queries"))
        self.run_set.setToolTip(tr("Searches for every face of the query set and compares its ranks"))
        self.run_set.clicked.connect(lambda: self.run_wanted.emit())
        self._waiting = _padded(self.run_set)
        self._one = _stacked(self.query, self.slopes)
        self._all = _stacked(self.queries, self._waiting, self.table)
        self._nothing, self._unswept = True, True
        self._sweep: tuple[Sweep, SweepRow] | None = None
        self.pages = QStackedWidget()
        for page in (self.empty, self._one, self.none, self._all):
            self.pages.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.set)
        column.addWidget(self.pages)
        self.query.jump_wanted.connect(self.jump)
        self.query.open_wanted.connect(self.slopes.open_face)
        self.queries.kind_chosen.connect(lambda kind: self.select_queries.emit(self.table.of_kind(kind), Mode.REPLACE))
        self.slopes.candidate_chosen.connect(self.candidate_chosen)
        self.slopes.explain_wanted.connect(self.explain_wanted)
        self.slopes.query_wanted.connect(self.face_wanted)
        self.slopes.select.connect(self.select)
        self.table.query_wanted.connect(self.query_wanted)
        self.table.select.connect(self.select_queries)
        self._show_page()

    # What is shown

    def show_ranking(
        self,
        faces: FaceSet,
        reranked: Reranked,
        *,
        alpha: float,
        query_picture: NDArray[np.uint8] | None,
        painted: str,
        first_before: int,
        first_after: int,
        of: int,
        query: int | None = None,
        queries: FaceSet | None = None,
        person: int | None = None,
    ) -> None:
        """One query: its shortlist in the order of both stages, blended by `alpha`.

        `query` is whose face it is where that was painted on and `reranked` does not say; `painted` says what was.
        `first_before` and `first_after` are ranks of the first right face among `of`, 0: there is none. A query of
        another gallery is of `queries`, and `person` is who that is in this one.
        """
        asked = reranked.query if query is None else query
        self.slopes.show_ranking(Ranking.make(faces, reranked, alpha=alpha, query=asked, person=person))
        self.query.show_query(
            faces if queries is None else queries,
            asked,
            apart=queries is not None,
            picture=query_picture,
            painted=painted,
            before=first_before,
            after=first_after,
            of=of,
            shortlist=len(reranked.ids),
        )
        self.table.set_query(asked)
        self._nothing = False
        self._show_page()

    def show_nothing(self, title: str, text: str = "") -> None:
        """There is no query; say why, and what to do."""
        self.slopes.show_ranking(None)
        self.table.set_query(None)
        self.empty.set_message(title, text)
        self._nothing = True
        self._show_page()

    def set_candidate(self, face: int | None) -> None:
        """Frame the face that is compared with the query."""
        self.slopes.set_candidate(face)

    def show_queries(
        self, faces: FaceSet, sweep: Sweep | None, row: SweepRow | None, alpha: float, *, apart: bool = False
    ) -> None:
        """All queries with their ranks by cosine, and by `row` at the step closest to alpha; None: there are none.

        `apart`: `faces` are those of another gallery, and are listed before they are searched for.
        """
        there = sweep is not None and row is not None and len(sweep.queries) > 0
        self._unswept, self._sweep = not there and not apart, None
        self.queries.setVisible(there)
        self._waiting.setVisible(not there)
        if sweep is not None and row is not None and there:
            self._sweep = sweep, row
            self.table.show_ranks(faces, sweep.queries, sweep.ranks, after_of(sweep, row, alpha))
            self._show_counts(alpha)
        elif apart:
            self.table.show_faces(faces)
        self._show_page()

    def set_alpha(self, alpha: float) -> None:
        """The same queries at another alpha."""
        if self._sweep is not None:
            self.table.set_after(after_of(*self._sweep, alpha))
            self._show_counts(alpha)

    def _show_counts(self, alpha: float) -> None:
        assert self._sweep is not None
        counts = {kind: len(self.table.of_kind(kind)) for kind in (GAINED, LOST, SAME)}
        self.queries.show_sweep(*self._sweep, alpha=alpha, counts=counts)

    def show_set(self, queries: FaceSet | None, told: str = "") -> None:
        """Whose faces are searched for: another gallery's, or (None) those of the open one."""
        self.set.show_set(queries, told)
        self._show_page()

    # What is seen

    def set_mode(self, mode: str) -> None:
        """Show a page, without telling anybody."""
        self.mode.set_value(mode)
        self._show_page()

    def _on_mode(self) -> None:
        self._show_page()
        self.mode_changed.emit(self.mode.value())

    def _show_page(self) -> None:
        self.set.setVisible(self.set.apart or self.mode.value() == QUERIES)
        if self.mode.value() == QUERY:
            self.pages.setCurrentWidget(self.empty if self._nothing else self._one)
        else:
            self.pages.setCurrentWidget(self.none if self._unswept else self._all)

    def jump(self) -> None:
        """Go to the first right face."""
        self.slopes.jump()
        self.slopes.setFocus()

    def home(self) -> QWidget:
        if self.mode.value() == QUERY:
            return self.empty if self._nothing else self.slopes
        return self.run if self._unswept else self.table

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.home().setFocus(event.reason())

    def close_panel(self) -> None:
        self.slopes.close_panel()
        self.table.close_panel()
        super().close_panel()


def _stacked(*heads: QWidget) -> QWidget:
    """Under each other; the last one takes what room is left."""
    made = QWidget()
    column = QVBoxLayout(made)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    for one in heads[:-1]:
        column.addWidget(one)
    column.addWidget(heads[-1], 1)
    return made


def _padded(button: QWidget) -> QWidget:
    made = QWidget()
    row = QHBoxLayout(made)
    row.setContentsMargins(12, 10, 12, 10)
    row.addWidget(button)
    row.addStretch(1)
    return made
