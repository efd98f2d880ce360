"""Ranks before and after: of one query with the faces it finds, or of all queries of a sweep.

The switch between the two (`mode`) belongs into the header of whoever shows this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from facelens.analyses.reranking import Reranked, Sweep, SweepRow
from facelens.figures.swept import nearest
from facelens.images.faceset import FaceSet
from facelens.session.selection import Mode
from facelens.views.controls import EmptyState, Segmented
from facelens.views.panel import Desk, Panel
from facelens.views.queries_head import QueriesHead
from facelens.views.query_head import QueryHead
from facelens.views.query_ranks import GAINED, LOST, SAME, QueryRanks
from facelens.views.ranking import Ranking
from facelens.views.slopes import Slopes
from facelens.words import tr

QUERY, QUERIES = "query", "queries"


class RankSlopes(Panel):
    """Two pages behind a switch. `show_*` fills a page, whichever is seen, and emits nothing."""

    candidate_chosen = Signal(object)  # id of the face that is to be compared with the query
    explain_wanted = Signal(object)  # id: double click or Enter
    query_wanted = Signal(object)  # id of the face that is to be searched for
    select = Signal(object, object)  # ids, Mode
    run_wanted = Signal()  # all queries are to be searched for
    mode_changed = Signal(str)  # QUERY or QUERIES, by the user

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self.setAccessibleName(tr("Ranking"))
        self.mode = Segmented([(QUERY, tr("Query")), (QUERIES, tr("All queries"))], label=tr("Ranks of"), height=22)
        self.mode.changed.connect(lambda _: self._on_mode())
        self.query, self.slopes = QueryHead(desk), Slopes(desk)
        self.queries, self.table = QueriesHead(), QueryRanks(desk)
        self.empty = EmptyState("compare", tr("No query"))
        self.none = EmptyState("chart", tr("All queries at once"))
        self.run = self.none.add_button(tr("Run over all queries"), self.run_wanted.emit, primary=True)
        self.none.set_message(
            tr("All queries at once"), tr("Searches for every face of the gallery and compares its ranks.")
        )
        self._one, self._all = _stacked(self.query, self.slopes), _stacked(self.queries, self.table)
        self._nothing, self._unswept = True, True
        self.pages = QStackedWidget()
        for page in (self.empty, self._one, self.none, self._all):
            self.pages.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.pages)
        self.query.jump_wanted.connect(self.jump)
        self.query.open_wanted.connect(self.slopes.open_face)
        self.queries.kind_chosen.connect(lambda kind: self.select.emit(self.table.of_kind(kind), Mode.REPLACE))
        self.slopes.candidate_chosen.connect(self.candidate_chosen)
        self.slopes.explain_wanted.connect(self.explain_wanted)
        for view in (self.slopes, self.table):
            view.query_wanted.connect(self.query_wanted)
            view.select.connect(self.select)
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
    ) -> None:
        """One query: its shortlist in the order of both stages, blended by `alpha`.

        `query` is whose face it is where that was painted on and `reranked` does not say; `painted` says what was.
        `first_before` and `first_after` are ranks of the first right face among `of`, 0: there is
        none.
        """
        asked = reranked.query if query is None else query
        self.slopes.show_ranking(Ranking.make(faces, reranked, alpha=alpha, query=asked))
        self.query.show_query(
            faces,
            asked,
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

    def show_queries(self, faces: FaceSet, sweep: Sweep | None, row: SweepRow | None, alpha: float) -> None:
        """All queries with their ranks by cosine, and by `row` at the step closest to alpha; None: there are none."""
        place = nearest(row, alpha) if row is not None else None
        self._unswept = sweep is None or row is None or not len(sweep.queries)
        if sweep is not None and row is not None and not self._unswept:
            after = row.ranks[place] if place is not None else sweep.ranks
            self.table.show_ranks(faces, sweep.queries, sweep.ranks, after)
            counts = {kind: len(self.table.of_kind(kind)) for kind in (GAINED, LOST, SAME)}
            self.queries.show_sweep(sweep, row, alpha=alpha, counts=counts)
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


def _stacked(head: QWidget, body: QWidget) -> QWidget:
    made = QWidget()
    column = QVBoxLayout(made)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    column.addWidget(head)
    column.addWidget(body, 1)
    return made
