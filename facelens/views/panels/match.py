"""Match: who is found for a face by its embedding, who by its patches, and why.

Left the ranking before and after the second stage; centre the plan that moves one face's patches onto the other's,
over what the second stage does to all queries; right what each region of the face adds to the distance. The query is
the face that was looked at last, the gallery face the one that was clicked in the ranking; both are the pair of the
selection. Queries of another gallery are no part of it: they are chosen in the list of all queries. Alpha is only a
blend: it moves without asking anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from facelens.analyses.plan import MatchPlan
from facelens.figures.match_words import same_but_for, setting, weights_title
from facelens.figures.swept import measured
from facelens.images.faceset import FaceSet, Ids
from facelens.images.occlusion import TRIED, Occlusion, title
from facelens.session import questions
from facelens.session.actions import embeddable, matchable
from facelens.session.archive import names_of
from facelens.session.depicting import AVERAGED, View, found_of, names_of_faces, sweep_of
from facelens.session.jobs import Job, Request, State
from facelens.session.questions import QUERIES, SEARCH, SWEEP, ground
from facelens.session.selection import Mode, Selection
from facelens.views.asking import Asking, Errands
from facelens.views.controls import EmptyState, label
from facelens.views.frame import Frame, Skeleton, fill, lay_out, scrolled, split
from facelens.views.heat import COLOURS
from facelens.views.looking import Look, look
from facelens.views.match_controls import MatchControls
from facelens.views.modelling import vectors_root
from facelens.views.panel import Desk, Panel, while_there
from facelens.views.shortcuts import keyed
from facelens.views.working import Working
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.analyses.decisions import Strangers
    from facelens.analyses.reranking import Sweep
    from facelens.features.patching import Shown
    from facelens.session.matching import Pair, Salient, Searched

LEFT, RIGHT = 384, 310  # px
NARROW = 1000  # px; under it the three columns lie below each other
BESIDE, STACKED = 520, 1600  # px; least height of the page
OTHERS = "match others"  # slot
KEPT = ("alpha", "weights", "solver", "epsilon", "shortlist")  # of the plan, from one session to the next
Key = tuple[object, ...]


class MatchPanel(Panel):
    """See the module's words."""

    word = "match"
    title = "Match"
    reads = frozenset(
        {
            "faces",
            "excluded",
            "features",
            "models",
            "model",
            "model_b",
            "match_plan",
            "match_answer",
            "sweep_answer",
            "queries",
            "queries_answer",
            "query",
            "occlusion",
            "selection",
        }
    )

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        from facelens.views.occlusion_canvas import OcclusionCanvas
        from facelens.views.occlusion_table import OcclusionTable
        from facelens.views.plan_explorer import PlanExplorer
        from facelens.views.rank_slopes import RankSlopes
        from facelens.views.region_ledger import RegionLedger
        from facelens.views.sweep_chart import SweepChart
        from facelens.views.why_not import WhyNot

        self.setAccessibleName(tr("Match"))
        self.searching = Asking(
            desk,
            self,
            slot=SEARCH,
            field="match_answer",
            question=lambda workspace: workspace.match_question,
            request=questions.search,
        )
        self.sweeping = Asking(
            desk,
            self,
            slot=SWEEP,
            field="sweep_answer",
            question=lambda workspace: workspace.sweep_question,
            request=questions.sweep,
        )
        self.embedding = Asking(
            desk,
            self,
            slot=QUERIES,
            field="queries_answer",
            question=lambda workspace: workspace.queries_question,
            request=lambda workspace: questions.query_vectors(workspace, vectors_root(desk)),
        )
        self.askings = (self.searching, self.sweeping, self.embedding)
        for asking in self.askings:
            asking.changed.connect(self._on_job)
        self.errands = Errands(desk, self)
        self.errands.left.connect(self._on_left)
        self._shown: Searched | None = None
        self._told = ""  # about the names of queries of another gallery
        self._last = Selection()
        self._candidate: int | None = None
        self._pairs: dict[Key, Pair] = {}  # explained, of the present search
        self._asked: set[Key] = set()  # those that are being explained, or could not be
        self._looked_at: int | None = None
        self._explored: tuple[object, ...] = ()  # what the explorer shows
        self._strangers: dict[Key, Strangers | None] = {}  # None: being compared
        self._swept: dict[Key, tuple[MatchPlan, Sweep]] = {}  # all queries, by what was asked
        self._salient: dict[tuple[Key, int, str], Salient] = {}  # by search, face beside the query, kind
        self._tried: dict[Key, Searched] = {}  # the same query under other occlusions
        self._chosen = Selection()  # of queries of another gallery
        self._of: FaceSet | None = None  # those that are shown
        self._listed: tuple[object, ...] = ()  # what is shown of all queries, but for alpha
        self.controls = MatchControls(self)
        self.controls.planned.connect(self._on_planned)
        self.controls.occlude.connect(self._on_occlude)
        self.controls.asked.connect(desk.act)
        self.working = Working()
        self.working.cancelled.connect(self.searching.cancel)
        self.notes = label(name="cap", wrap=True)
        self.notes.setContentsMargins(12, 4, 12, 4)
        self.slopes = RankSlopes(desk)
        self.slopes.candidate_chosen.connect(self._on_candidate)
        self.slopes.query_wanted.connect(self._on_query)
        self.slopes.face_wanted.connect(self._on_face)
        self.slopes.set.other_wanted.connect(lambda: desk.act("match.queries"))
        self.slopes.set.here_wanted.connect(self._on_here)
        self.slopes.explain_wanted.connect(self._on_candidate)
        self.slopes.run_wanted.connect(self.sweeping.run)
        self.slopes.select.connect(self._on_select)
        self.slopes.select_queries.connect(self._on_select_queries)
        self.explorer = PlanExplorer()
        self.explorer.heat_wanted.connect(self._on_heat)
        self.sweep = SweepChart()
        self.sweep.alpha_moved.connect(lambda alpha: self._on_planned({"alpha": round(alpha, 2)}))
        self.sweep.run_wanted.connect(self.sweeping.run)
        self.sweep.stop_wanted.connect(self.sweeping.cancel)
        self.sweep.weights_chosen.connect(lambda weights: self._on_planned({"weights": weights}))
        self.ledger = RegionLedger()
        self.ledger.region_hovered.connect(self._on_region)
        self.ledger.mode.changed.connect(lambda _: self._show_ledger())
        look(desk, self.ledger.mode, "ledger_of")
        look(desk, self.slopes.mode, "ranks_of")
        look(desk, self.sweep.measure, "sweep_measure")
        look(desk, self.sweep.by, "sweep_by")
        look(desk, self.explorer.over, "query_heat")
        look(desk, self.explorer.cells, "plan_cells")
        table = self.slopes.table
        order = Look(desk, table, "queries_order", lambda: table.queries_order, table.take_order)
        table.ordered.connect(order.tell)
        self.why_not = WhyNot(desk)
        self.why_not.candidate_chosen.connect(self._on_candidate)
        self.tried = OcclusionTable()
        self.tried.occlusion_chosen.connect(self._on_painted)
        self.tried.sweep_wanted.connect(self._on_sweep)
        self.canvas = OcclusionCanvas()
        self.canvas.occlusion_changed.connect(self._on_painted)
        self.skeleton = Skeleton()
        self.empty = self._build_empty()
        self._changes: dict[str, Any] = {}
        self._writing = QTimer(self)
        self._writing.setSingleShot(True)
        self._writing.setInterval(400)
        self._writing.timeout.connect(self._write_down)
        self._recall()
        self.pages = QStackedWidget()
        lay_out(self, self.controls, self.working, self.notes, body=self.pages)
        for page in (self.empty, self.skeleton):
            self.pages.addWidget(page)
        self._build_body()

    # -- building

    def _build_body(self) -> None:
        self.middle, self.body = split(Qt.Orientation.Vertical), split(Qt.Orientation.Horizontal)
        self.area = scrolled(self.body)
        self.pages.addWidget(self.area)
        self.ranking = Frame(tr("Ranking"), self.slopes)
        self.ranking.header.add(self.slopes.mode)
        self.centre = QStackedWidget()
        self.centre.addWidget(self.explorer)
        self.centre.addWidget(self.canvas)
        self.plan = Frame(tr("Plan"), self.centre)
        self.plan.header.add(self.explorer.controls)
        self.all = Frame(tr("All queries"), self.sweep)
        self.all.header.add(self.sweep.mode)
        column = QWidget()
        stacked = QVBoxLayout(column)
        stacked.setContentsMargins(0, 0, 0, 0)
        stacked.setSpacing(0)
        for part in (self.ledger, self.why_not, self.tried):
            stacked.addWidget(part)
        stacked.addStretch(1)
        stacked.addWidget(self.ledger.foot)
        self.regions = Frame(tr("Region ledger"), scrolled(column))
        self.regions.header.add(self.ledger.mode)
        fill(self.body, self.ranking, self.middle, self.regions)
        fill(self.middle, self.plan, self.all, sizes=(76, 24))

    def _build_empty(self) -> EmptyState:
        made = EmptyState("compare", tr("No match yet"))
        self.open = made.add_button(tr("Open gallery…"), lambda: self.desk.act("gallery.open"), primary=True)
        keyed(self.open, "gallery.open", tr("A folder with one sub-folder per person, or with a manifest."))
        self.embed = made.add_button(tr("Embed"), self._on_embed, primary=True)
        self.embed.setToolTip(tr("In the background; what is done already is kept"))
        self.embed.setToolTip(tr("Runs in the background; what is done already is kept"))
        self.next = made.add_button(tr("Open models"), lambda: self.desk.act("model.show"))
        self.next.setToolTip(tr("Loads models and embeds the gallery with them"))
        self.again = made.add_button(tr("Search again"), self.searching.run, primary=True)
        self.again.setToolTip(tr("For the same face, in the background"))
        self.browse = made.add_button(tr("Show the gallery"), lambda: self.desk.act("view.grid"), primary=True)
        self.browse.setToolTip(tr("The face that is looked at there is searched for here"))
        return made

    def home(self) -> QWidget:
        if self.pages.currentWidget() is self.area:
            return self.slopes
        buttons = (self.open, self.embed, self.again, self.browse, self.next)
        return next((one for one in buttons if one.isVisible()), self)

    def close_panel(self) -> None:
        self._write_down()
        for one in (*self.askings, self.errands):
            one.close()
        for view in (self.slopes, self.why_not):
            view.close_panel()
        super().close_panel()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = event.size().width()
        stacked = width < NARROW
        across = Qt.Orientation.Vertical if stacked else Qt.Orientation.Horizontal
        if across != self.body.orientation() or not any(self.body.sizes()) or event.oldSize().width() != width:
            self.body.setOrientation(across)
            left, right = (round(side * min(1.0, width / 1440)) for side in (LEFT, RIGHT))
            self.body.setSizes([500, 700, 400] if stacked else [left, width - left - right, right])
        self.body.setMinimumHeight(STACKED if stacked else BESIDE)
        if not any(self.middle.sizes()) or event.oldSize().height() != event.size().height():
            height = max(event.size().height(), BESIDE)
            self.middle.setSizes([round(0.74 * height), round(0.26 * height)])

    # -- what is remembered

    def _recall(self) -> None:
        """As it was left the last time; what the workspace asks for already stays."""
        from facelens.views.plan_controls import PlanLook

        kept = asdict(self.desk.settings.searching)
        self._usual = {name: kept[name] for name in PlanLook.__dataclass_fields__}
        self.explorer.set_look(PlanLook(**self._usual))
        for name in self._usual:
            value, show = partial(self._look_at, name), partial(self._follow_look, name)
            one = Look(self.desk, self.explorer.controls, f"plan_{name}", value, show)
            self.explorer.look_changed.connect(lambda _, one=one: one.tell())
        self.explorer.look_changed.connect(lambda look: self._remember(**asdict(look)))
        if self.desk.workspace.match_plan == MatchPlan():
            self.desk.store.update(match_plan=MatchPlan(**{name: kept[name] for name in KEPT}), initiator=self)

    def _look_at(self, name: str) -> Any:
        """A field of the PlanLook as it is kept."""
        value = getattr(self.explorer.look, name)
        wanted = getattr(self.desk.workspace.looks, f"plan_{name}")
        return wanted if wanted in (None, "") and value == self._usual[name] else value

    def _follow_look(self, name: str, value: Any) -> bool:
        wanted = self._usual[name] if value in (None, "") else value
        if name == "colours" and wanted not in COLOURS:
            return False
        self.explorer.set_look(replace(self.explorer.look, **{name: wanted}))
        self._remember(**{name: wanted})
        return True

    def _on_store(self, changed: frozenset[str], initiator: object) -> None:
        if "match_plan" in changed:  # also where it was undone
            plan = self.desk.workspace.match_plan
            self._remember(**{name: getattr(plan, name) for name in KEPT})
        super()._on_store(changed, initiator)

    def _remember(self, **changes: Any) -> None:
        """Written down when the hand rests: a drag changes it at every step."""
        self._changes |= changes
        self._writing.start()

    def _write_down(self) -> None:
        self._writing.stop()
        if self._changes:
            changes, self._changes = self._changes, {}
            self.desk.settle(searching=replace(self.desk.settings.searching, **changes))

    # -- what the user sees

    def refresh(self, changed: frozenset[str]) -> None:
        if changed & {"faces", "excluded", "features", "models", "model", "model_b", "match_plan"}:
            self.controls.fill(self.desk.workspace)
        if "selection" in changed:
            self._follow()
        workspace = self.desk.workspace
        if workspace.queries is not self._of:
            self._show_set()
        found = self.found()
        if found is not self._shown:
            self._shown, self._pairs, self._asked, self._salient = found, {}, set(), {}
            if found is not None:
                self._show_search(found)
        elif found is not None and "match_plan" in changed:
            self._show_alpha(found)
        if found is not None and "selection" in changed:
            self._show_candidate()
        if self.ledger.mode.value() == "selection" and changed & {"selection", "match_plan", "occlusion", "excluded"}:
            self._show_ledger()
        if changed & {"sweep_answer", "match_plan", "occlusion", "features", "faces", "excluded", "queries"}:
            self._show_sweep()
        if "occlusion" in changed:
            self.canvas.set_occlusion(workspace.occlusion)
        if self.isVisible():
            self._start()
        self._show_page()

    def _start(self) -> None:
        self.embedding.start()
        self.searching.start()

    def _show_set(self) -> None:
        """Other faces are searched for."""
        from facelens.session.match_queries import told

        workspace = self.desk.workspace
        self._of, self._candidate, self._tried, self._chosen = workspace.queries, None, {}, Selection()
        words = ""
        if workspace.queries is not None and workspace.faces is not None:
            words = told(workspace.faces, workspace.queries)
            self.slopes.set_mode("queries")
        self._told = words
        self.slopes.show_set(workspace.queries, words)
        self.slopes.table.set_chosen(None if workspace.queries is None else self._chosen)

    def found(self) -> Searched | None:
        """What the search that is asked for now has found."""
        return found_of(self.desk.workspace)

    def _follow(self) -> None:
        """The pair of the selection is query and gallery face; a face that is looked at becomes the query."""
        now, before = self.desk.workspace.selection, self._last
        self._last = now
        query, candidate = self.desk.workspace.query, self._candidate
        if query is None:
            candidate = None  # of another gallery
        if self.desk.workspace.queries is not None:
            if now.current != before.current and self._shown is not None and now.current in self._shown.found.ids:
                self._candidate = now.current
            return
        if now.pair is not None and now.pair != before.pair:
            query, candidate = now.pair
        elif now.current is not None and now.current != before.current and now.current != candidate:
            query, candidate = now.current, None
        self._candidate = candidate
        if query != self.desk.workspace.query:
            self._tried = {}
            self.desk.jobs.cancel_slot(OTHERS)
            self.desk.store.update(query=query, initiator=self)

    def _show_page(self) -> None:
        workspace, job = self.desk.workspace, self.searching.job()
        slow = job is not None and (self._shown is None or job.total > 1)
        self.working.show_job(job if slow else None)
        self.sweep.show_job(self.sweeping.job())
        before, focus = self.pages.currentWidget(), self.focusWidget()
        if self._shown is not None or (workspace.match_question and self.pages.currentWidget() is self.area and job):
            self.pages.setCurrentWidget(self.area)
        elif job is not None:
            self.pages.setCurrentWidget(self.skeleton)
        else:
            self._show_empty()
            self.pages.setCurrentWidget(self.empty)
        gone = focus is not None and focus.hasFocus() and not focus.isVisible()
        if gone and before is not self.pages.currentWidget():
            self.home().setFocus()
        self.controls.setVisible(bool(workspace.resolved_match.model))
        self.controls.export.setEnabled(self._shown is not None)
        notes = (*((self._told,) if self._told else ()), *(self._shown.notes if self._shown is not None else ()))
        self.notes.setText(" ".join(notes))
        self.notes.setVisible(bool(notes))

    def _show_empty(self) -> None:
        workspace = self.desk.workspace
        reason = matchable(workspace)
        waiting = self._waiting()
        self.open.setVisible(workspace.faces is None)
        self.embed.setVisible(workspace.faces is not None and bool(reason) and bool(waiting))
        self.next.setVisible(workspace.faces is not None and bool(reason))
        self.again.setVisible(not reason and self.searching.declined)
        self.browse.setVisible(not reason)
        if workspace.faces is None:
            words = tr("No gallery yet"), tr("Match searches a gallery for a face. Open one, then embed it.")
        elif reason:
            words = tr("No patches yet"), reason
            self.embed.setText(tr("Embed with {names}", names=", ".join(waiting)))
        elif self.searching.declined:
            words = tr("The search was stopped"), tr("Search again, or click another face in the gallery.")
        else:
            words = tr("Match compares two faces"), tr("Click a face in the gallery, or press Enter on one.")
        self.empty.set_message(*words)

    def _waiting(self) -> list[str]:
        workspace = self.desk.workspace
        names = [name for name in workspace.model_names if not embeddable(workspace, name)]
        return [name for name in names if (one := workspace.inspection(name)) and one.card.patch_layer][:1]

    # -- one query

    def _show_search(self, found: Searched) -> None:
        self._tried[self._trying(self.desk.workspace.occlusion)] = found
        ids = found.found.ids
        if self._candidate is None or self._candidate not in ids:
            self._candidate = None
        clear = self._tried.get(self._trying(None))
        self.canvas.show_picture(found.shown.crop, clean=clear.shown.crop if clear is not None else None)
        self._show_alpha(found)
        self._show_candidate()
        self._try_next()

    def _show_alpha(self, found: Searched) -> None:
        """Everything that alpha moves."""
        workspace = self.desk.workspace
        faces, alpha = workspace.faces, workspace.resolved_match.alpha
        assert faces is not None
        painted = "" if found.occlusion.clear else title(found.occlusion.kind)
        self.slopes.show_ranking(
            faces,
            found.found,
            alpha=alpha,
            query_picture=None if found.occlusion.clear else found.shown.crop,
            painted=painted,
            first_before=found.first,
            first_after=found.after(alpha),
            of=found.gallery,
            query=workspace.query,
            queries=workspace.queries,
            person=self._person(),
        )
        self.sweep.set_alpha(alpha)
        self.ledger.set_alpha(alpha, threshold=self._threshold())
        self._show_tried()
        self._show_candidate()

    def _current(self, found: Searched) -> int | None:
        """The gallery face that is looked at: the one that was clicked, else the first after the second stage."""
        from facelens.session.matched import first_face

        if self._candidate is not None:
            return self._candidate
        return first_face(found, self.desk.workspace.resolved_match.alpha)

    def _show_candidate(self) -> None:
        found = self._shown
        if found is None or found is not self.found():  # hidden, and another search is asked for by now
            return
        face = self._current(found)
        if face is None:
            words = tr("Nobody to compare with"), tr("The gallery has no other face with a vector.")
            self.explorer.show_nothing(*words)
            self.ledger.show_nothing(*words)
            self.why_not.hide()
            return
        self.slopes.set_candidate(face)
        self._looked_at = face
        if (pair := self._explained(face)) is not None:
            self._show_pair(pair)

    def _explained(self, face: int) -> Pair | None:
        """Why the query and a face match, or None: then it is asked for and shown when it comes."""
        key = (self.desk.workspace.match_question, face)
        if key in self._pairs or key in self._asked:
            return self._pairs.get(key)
        self._asked = {old for old in self._asked if old[0] == key[0]} | {key}

        def done(job: Job) -> None:
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
            elif job.state is State.DONE and key[0] == self.desk.workspace.match_question:
                self._pairs[key] = job.result  # type: ignore[assignment]
                self._show_candidate()

        # Two at a time, the face that is looked at and the nearest other; one that is passed over is asked for again.
        slot = "explain" if face == self._looked_at else "explain other"
        self._asked -= {
            old for old in self._asked if old != key and old not in self._pairs and old[1] != self._looked_at
        }
        self.errands.submit(questions.explanation(self.desk.workspace, face, slot=slot), then=while_there(self, done))
        return None

    def _show_pair(self, pair: Pair) -> None:
        from facelens.analyses import regions

        workspace, found = self.desk.workspace, self._shown
        faces, plan = workspace.faces, workspace.resolved_match
        if faces is None or found is None:
            return
        told, home = pair.found, workspace.query_faces
        sides = ((home, workspace.query), (faces, told.gallery))
        names = [of.label(row) if of is not None and (row := of.row_of(face)) is not None else "" for of, face in sides]
        right = self._is_right(told.gallery)
        showing = (pair, *names, right)
        if showing != self._explored:
            self._explored = showing
            self.explorer.show_match(
                told,
                pair.query.crop,
                pair.gallery.crop,
                query_name=names[0],
                gallery_name=names[1],
                right=right,
                weighting=weights_title(plan.weights),
            )
        faces_of = {"query": (told.grid, pair.query), "gallery": (told.gallery_grid, pair.gallery)}
        self.explorer.name_of = lambda patch: _part_of_face(*faces_of[patch[0]], patch[1])
        self._shares = regions.shares(told.grid, pair.query.points, pair.query.crop.shape[:2])
        if self.ledger.mode.value() == "pair":
            self._show_regions(pair, found)

    def _show_regions(self, pair: Pair, found: Searched) -> None:
        """What each region adds to the distance, beside the nearest face of the other kind."""
        from facelens.analyses import regions

        workspace, told = self.desk.workspace, pair.found
        faces, plan = workspace.faces, workspace.resolved_match
        other = self._nearest_other(found)
        against = self._explained(other) if other is not None and other != told.gallery else None
        ledger = regions.ledger(told, self._shares)
        theirs = regions.ledger(against.found, self._shares) if against is not None else None
        self.ledger.show_pair(
            told,
            ledger,
            theirs,
            alpha=plan.alpha,
            threshold=self._threshold(),
            genuine=self._is_right(told.gallery),
            seconds=found.found.seconds,
            shares=self._shares,
        )
        self.why_not.setVisible(against is not None)
        if faces is not None and against is not None and theirs is not None and workspace.query is not None:
            self.why_not.show_triple(
                faces,
                told,
                against.found,
                ledger,
                theirs,
                alpha=plan.alpha,
                query=workspace.query if workspace.queries is None else -1,
                mate=bool(self._is_right(told.gallery)),
                picture=None if found.occlusion.clear and workspace.queries is None else found.shown.crop,
            )

    def _threshold(self) -> float | None:
        """The distance at the FAR of the plan; None while strangers are compared, or where they are too few."""
        from facelens.analyses.decisions import threshold
        from facelens.session import deciding

        workspace = self.desk.workspace
        plan = workspace.resolved_match
        key = (*workspace.sweep_question[:3], replace(plan, shortlist=0).solving)
        if key in self._strangers:
            kept = self._strangers[key]
            told = threshold(kept, alpha=plan.alpha, far=plan.far) if kept is not None else None
            return told.value if told is not None and told.supported else None
        same = {old: kept for old, kept in self._strangers.items() if kept is not None and old[:3] == key[:3]}
        self._strangers = {**same, key: None}  # asked for once; another one that was under way is given up

        def done(job: Job) -> None:
            if job.state is State.DONE:
                self._strangers[key] = job.result  # type: ignore[assignment]
                self._show_candidate()
            elif job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)

        request = Request(
            title=tr("How near strangers come"),
            call=deciding.strangers,
            args=(ground(workspace), plan),
            slot="strangers",
            short=True,
        )
        self.errands.submit(request, then=while_there(self, done))
        return None

    def _show_ledger(self) -> None:
        """The pair again, or the selected faces on average."""
        pair = self.ledger.mode.value() == "pair"
        self.why_not.setVisible(pair)
        self.tried.setVisible(pair)
        if pair:
            self._show_candidate()
        else:
            self._show_average()

    def _show_average(self) -> None:
        from facelens.session import matching

        workspace = self.desk.workspace
        ids = self._selected()
        if len(ids) < 2 or not workspace.resolved_match.model:
            words = tr("Select two faces or more; each is searched for, and what is found first is averaged.")
            if workspace.queries is not None:
                words = tr("Select two queries or more in the list of all queries, with Ctrl and a click.")
            self.ledger.show_nothing(tr("No selection"), words)
            return
        key = (workspace.sweep_question, workspace.match_plan, ids.tobytes())

        def done(job: Job) -> None:
            now = self.desk.workspace
            same = key == (now.sweep_question, now.match_plan, self._selected().tobytes())
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
            elif job.state is State.DONE and same and self.ledger.mode.value() == "selection":
                found: Any = job.result
                what = tr("{n} selected faces, each with the nearest picture of its person", n=len(ids))
                self.ledger.show_selection(found.mate, found.other, what=what)

        self.ledger.show_nothing(tr("Searching for {n} faces…", n=len(ids)), "")
        request = Request(
            title=tr("Regions of {n} faces", n=len(ids)),
            call=matching.ledgers,
            args=(ground(workspace), ids, workspace.resolved_match),
            kwargs={"occlusion": workspace.occlusion},
            slot="ledgers",
        )
        self.errands.submit(request, then=while_there(self, done))

    def _selected(self) -> Ids:
        """The queries that are averaged."""
        workspace = self.desk.workspace
        return (workspace.selection if workspace.queries is None else self._chosen).ids[:AVERAGED]

    def _person(self) -> int:
        """Who is searched for, among the identities of the gallery; -1: nobody there."""
        from facelens.session.match_queries import person

        workspace = self.desk.workspace
        return person(workspace.faces, workspace.queries, workspace.query) if workspace.faces is not None else -1

    def _is_right(self, face: int) -> bool | None:
        faces, person = self.desk.workspace.faces, self._person()
        row = faces.row_of(face) if faces is not None else None
        if faces is None or row is None or min(person, int(faces.identity.codes[row])) < 0:
            return None
        return int(faces.identity.codes[row]) == person

    def _nearest_other(self, found: Searched) -> int | None:
        """The nearest face of the other kind than the current one."""
        from facelens.session.matched import nearest_other

        return nearest_other(found, self._current(found), self.desk.workspace.resolved_match.alpha)

    # -- other occlusions of the same query

    def _trying(self, occlusion: Occlusion | None) -> Key:
        workspace = replace(self.desk.workspace, occlusion=occlusion)
        return workspace.match_question

    def _occluded(self, kind: str) -> Occlusion | None:
        return None if kind == "none" else Occlusion(kind)

    def _show_tried(self) -> None:
        alpha, now = self.desk.workspace.resolved_match.alpha, self.desk.workspace.occlusion
        rows: dict[str, tuple[int, int] | None] = {}
        painted = (now.kind,) if now is not None and now.kind not in TRIED else ()
        for kind in (*TRIED, *painted):
            one = self._tried.get(self._trying(now if kind in painted else self._occluded(kind)))
            rows[kind] = (one.first, one.after(alpha)) if one is not None else None
        self.tried.show_rows(rows, now.kind if now is not None else "none")

    def _try_next(self) -> None:
        """Search for the query under the next occlusion that was not tried yet, when nothing else is to do."""
        from facelens.session import matching

        workspace = self.desk.workspace
        kinds = [kind for kind in TRIED if self._trying(self._occluded(kind)) not in self._tried]
        if not kinds or not workspace.match_question or not self.isVisible() or not workspace.match_plan.shortlist:
            return
        occlusion = self._occluded(kinds[0])
        key = self._trying(occlusion)

        def done(job: Job) -> None:
            if job.state is State.DONE and key == self._trying(occlusion):
                self._tried[key] = job.result  # type: ignore[assignment]
                self._show_tried()
                self._try_next()

        request = Request(
            title=tr("Search with {what}", what=title(kinds[0])),
            call=matching.search,
            args=(ground(workspace), workspace.query, workspace.resolved_match),
            kwargs={"occlusion": occlusion},
            slot=OTHERS,
        )
        self.errands.submit(request, then=while_there(self, done))

    # -- all queries

    def _show_sweep(self) -> None:
        workspace = self.desk.workspace
        plan, found = workspace.resolved_match, sweep_of(workspace)
        listed = (found, plan.weights, workspace.sweep_question)
        if listed == self._listed:
            self.sweep.set_alpha(plan.alpha)
            self.slopes.set_alpha(plan.alpha)
            self._show_bars(plan)
            return
        self._listed = listed
        self.sweep.show_sweep(found, weights=plan.weights, alpha=plan.alpha)
        row = next((one for one in found.rows if one.weights == plan.weights), None) if found is not None else None
        if workspace.query_faces is not None:
            apart = workspace.queries is not None
            self.slopes.show_queries(workspace.query_faces, found, row, plan.alpha, apart=apart)
        self.all.header.set_subtitle("" if found is None else self._swept_words(found))
        self.all.header.setToolTip(found.how if found is not None else "")
        if found is not None and found.complete:
            self._swept[workspace.sweep_question] = plan, found
        self._show_bars(plan)

    def _swept_words(self, found: Sweep) -> str:
        n, workspace = plural(len(found.queries), "{n} query", "{n} queries"), self.desk.workspace
        if workspace.queries is not None:
            n = tr("{n} of {name}", n=n, name=escaped(workspace.queries.name))
        model = workspace.resolved_match.model
        return tr("{model}, {n}, gallery {m}", model=model, n=n, m=f"{found.gallery:,}")

    def _show_bars(self, plan: MatchPlan) -> None:
        """Sweeps that differ in their grid or their solver alone, side by side at the present alpha."""
        for mode in ("grid", "solver"):
            rows = []
            for asked, found in self._compared():
                row = next((one for one in found.rows if one.weights == plan.weights), None)
                if same_but_for(asked, plan, mode) and row is not None:
                    rows.append((setting(asked, mode), found.before["P@1"], measured(row, "P@1", plan.alpha)))
            self.sweep.show_bars(mode, rows if len(rows) > 1 else [], current=setting(plan, mode))

    def _compared(self) -> list[tuple[MatchPlan, Sweep]]:
        """What was found for all of these faces and queries, painted as they are, by this and other plans."""
        question = self.desk.workspace.sweep_question
        return [one for key, one in self._swept.items() if key[:3] == question[:3] and key[-2:] == question[-2:]]

    # -- jobs

    def _on_job(self) -> None:
        if self.isVisible():
            self._start()
            self._show_page()

    def _on_left(self) -> None:
        """Another gallery is open, or none: nothing of the one before is kept."""
        self._shown, self._candidate, self._looked_at = None, None, None
        self._asked, self._explored, self._listed = set(), (), ()
        for kept in (self._pairs, self._strangers, self._swept, self._tried, self._salient):
            kept.clear()  # type: ignore[attr-defined]

    # -- what the user asks

    def figure_places(self) -> Sequence[tuple[QWidget, str]]:
        swept = {"grid": "grids", "solver": "solvers"}.get(self.sweep.by.value(), "sweep")
        ranks = "ranks" if self.slopes.mode.value() == "queries" else "ranking"
        regions = "regions" if self.ledger.mode.value() == "pair" else "averaged"
        plan = "flow" if self.explorer.over.value() == "weights" else "saliency"
        parts = (self.plan, plan), (self.ranking, ranks), (self.all, swept), (self.tried, "painted")
        return *parts, (self.regions, regions)

    def figure_view(self) -> View:
        found = self.found()
        names = names_of_faces(self.desk.workspace.faces, [self._current(found) if found is not None else None])
        tried = tuple(plan for plan, _ in self._compared())
        look = self.explorer.look
        return View(
            candidate=names[0] if names else "", cut=look.cut, patch=self.explorer.kept, tried=tried,
            cells=self.explorer.cells.value(), heat=tuple(one.kind for one in self._maps()),
            chosen=names_of(self.desk.workspace.queries, self._chosen.ids[:AVERAGED]),
        )  # fmt: skip

    def figure_held(self) -> dict[str, Any]:
        """The pairs that are explained on the page."""
        question, found = self.desk.workspace.match_question, self.found()
        if found is None:
            return {}
        faces = {"pair": self._current(found), "other": self._nearest_other(found)}
        held = {name: self._pairs.get((question, face)) for name, face in faces.items() if face is not None}
        now, kinds = self.desk.workspace.occlusion, {kind: self._occluded(kind) for kind in TRIED}
        if now is not None:
            kinds[now.kind] = now
        keys = {kind: self._trying(one) for kind, one in kinds.items()}
        painted = {kind: self._tried[key] for kind, key in keys.items() if key in self._tried}
        return {**held, "tried": self._compared(), "painted": painted, "salient": self._maps()}

    def _maps(self) -> list[Salient]:
        """The maps of the pair that are worked out."""
        question, found = self.desk.workspace.match_question, self.found()
        face = self._current(found) if found is not None else None
        there = [one for key, one in self._salient.items() if key[:2] == (question, face)]
        return sorted(there, key=lambda one: one.kind, reverse=True)

    def _on_planned(self, changes: Mapping[str, Any]) -> None:
        plan = replace(self.desk.workspace.resolved_match, **changes)
        if "model" in changes:
            plan = replace(plan, layer="", grid=None)
        self.desk.store.update(match_plan=plan, initiator=self)

    def _on_candidate(self, face: int) -> None:
        """Another gallery face beside the same query."""
        workspace = self.desk.workspace
        self._candidate = int(face)
        if workspace.query is not None:
            pair = (workspace.query, int(face)) if workspace.queries is None else None
            selection = replace(workspace.selection, pair=pair, current=int(face))
            self.desk.store.update(selection=selection, initiator=self)

    def _on_query(self, face: int) -> None:
        self._candidate, self._tried = None, {}
        self.desk.jobs.cancel_slot(OTHERS)
        if self.desk.workspace.queries is not None:
            self.desk.store.update(query=int(face), initiator=self)
            return
        selection = replace(self.desk.workspace.selection, current=int(face), pair=None)
        self.desk.store.update(selection=selection, query=int(face), initiator=self)

    def _on_face(self, face: int) -> None:
        """A face of the gallery is to be searched for."""
        if self.desk.workspace.queries is None:
            self._on_query(face)
        else:
            self.desk.tell(tr("To search for a face of the gallery, choose “This gallery” as the query set."))

    def _on_here(self) -> None:
        """The faces of the gallery are to be searched for again."""
        current = self.desk.workspace.selection.current
        self.desk.jobs.cancel_slot(QUERIES)
        self.desk.store.update(queries=None, query=current, initiator=self)

    def _on_select(self, ids: Ids, mode: Mode) -> None:
        self.desk.store.update(selection=self.desk.workspace.selection.combine(ids, mode), initiator=self)

    def _on_select_queries(self, ids: Ids, mode: Mode) -> None:
        if self.desk.workspace.queries is None:
            self._on_select(ids, mode)
            return
        self._chosen = self._chosen.combine(ids, mode)
        self.slopes.table.set_chosen(self._chosen)
        if self.ledger.mode.value() == "selection":
            self._show_average()

    def _on_occlude(self, on: bool) -> None:
        self.centre.setCurrentWidget(self.canvas if on else self.explorer)
        self.plan.header.set_title(tr("Occlude the query") if on else tr("Plan"))
        self.explorer.controls.setVisible(not on)

    def _on_painted(self, occlusion: Occlusion | None) -> None:
        clear = occlusion is None or occlusion.clear
        self.desk.store.update(occlusion=None if clear else occlusion, initiator=self)

    def _on_sweep(self, kind: str) -> None:
        now = self.desk.workspace.occlusion
        if kind != (now.kind if now is not None else "none"):
            self._on_painted(self._occluded(kind))
        self.sweeping.run()

    def _on_region(self, patches: tuple[int, ...] | None) -> None:
        if patches is None:
            self.explorer.set_lit(None)
            return
        lit = np.zeros(len(self._shares))
        lit[list(patches)] = 1.0
        self.explorer.set_lit(lit)

    def _on_heat(self, kind: str) -> None:
        from facelens.session import matching

        workspace, found = self.desk.workspace, self._shown
        face = self._current(found) if found is not None else None
        if face is None:
            return
        key = workspace.match_question

        def done(job: Job) -> None:
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
                self.explorer.clear_heat()
            elif job.state is State.DONE and key == self.desk.workspace.match_question and face == self._looked_at:
                told: Any = job.result
                self._salient[key, face, kind] = told
                self.explorer.set_heat(told.values.ravel(), told.titles, told=told.sentence, kind=kind)

        request = Request(
            title=tr("Saliency"),
            call=matching.saliency,
            args=(ground(workspace), workspace.query, face, workspace.resolved_match),
            kwargs={"occlusion": workspace.occlusion, "kind": kind},
            slot="saliency",
        )
        self.errands.submit(request, then=while_there(self, done))

    def _on_embed(self) -> None:
        from facelens.views.modelling import Modelling

        for name in self._waiting():
            Modelling(self.desk, self).embed(name)


def _part_of_face(grid: tuple[int, int], shown: Shown, patch: int) -> str:
    from facelens.analyses import regions

    return regions.name_of(patch, grid, shown.points, shown.crop.shape[:2])
