"""Upgrade: whether the new model may be used without embedding the gallery anew, and everything that speaks of it.

The verdict leads; left the cross-test, the gains with what they rest on, and what embedding a part anew reaches; right
every face as both models have it, over the searches that were lost and gained. A click on a cell lists its errors, one
on a card shows the face in both maps, a double click explains it in Match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from facelens.analyses.cross_errors import CrossErrors
from facelens.analyses.flips import GAINED, LOST
from facelens.analyses.plan import UpgradePlan
from facelens.analyses.upgrade import Upgrade
from facelens.figures import crossing_words as words
from facelens.figures.verdict import verdict
from facelens.images.faceset import Ids
from facelens.session import depicting, questions
from facelens.session.actions import upgradable
from facelens.session.depicting import View
from facelens.session.jobs import Job, Request, State
from facelens.session.keys import hint
from facelens.session.selection import Mode, Selection
from facelens.session.workspace import Workspace
from facelens.views import theme
from facelens.views.asking import Asking, Errands
from facelens.views.control_row import Choice
from facelens.views.controls import label
from facelens.views.frame import Frame, Places, Switch, fill, scrolled, split
from facelens.views.looking import look
from facelens.views.panel import Desk, while_there
from facelens.views.results import AT_ONCE, Results
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from facelens.analyses.projection import Projection
    from facelens.analyses.same_class import SameClass
    from facelens.views.colouring import Colouring

NARROW = 860  # px under which the right column lies below the left one
LOW = 660  # px of the page under which lower rows become tabs of the row above
LEFT = 452  # px of the left column in a window of 1440
HEAD, CARDS = 104, 200  # px of controls and verdict, and of a row of cards with its header
LEAST, STACKED = 430, 1220  # px; least height of the page, and where the columns lie one over the other
PEOPLE = 8  # people side by side where nobody is selected
MOST = 2_000  # faces of theirs
KINDS = ("lost", "gained", "pairs", "errors")
CHANGE, IDENTITY, MOVED = "change", "identity", "moved"  # what faces on the map are coloured by
ASKS = frozenset({"faces", "excluded", "features", "models", "model_a", "model_b", "upgrade_plan"})


class UpgradePanel(Results):
    """See the module's words."""

    word = "upgrade"
    title = "Upgrade"
    reads = ASKS | {"upgrade_answer", "projection_plan", "upgrade_map_answer", "selection"}
    embeds = 2

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        # Charts bring pyqtgraph with them, so they are loaded with the first page that draws.
        from facelens.views.backfill_chart import BackfillChart
        from facelens.views.cross_matrix import CrossMatrix
        from facelens.views.direction_diagram import DirectionDiagram
        from facelens.views.flip_cards import FlipCards
        from facelens.views.gain_chart import GainChart
        from facelens.views.old_new_map import OldNewMap
        from facelens.views.same_class import SameClassView
        from facelens.views.sequence_view import SequenceView
        from facelens.views.upgrade_controls import UpgradeControls
        from facelens.views.verdict_bar import VerdictBar

        self.setAccessibleName(tr("Upgrade"))
        self._shown: Upgrade | None = None
        self._planned = UpgradePlan()  # what the tests show
        self._map: Projection | None = None
        self._of: tuple[object, ...] = ()  # the question that the map answers
        self._people: tuple[object, ...] = ()  # what the view of the same people shows
        self._errors: CrossErrors | None = None
        self._tested: tuple[object, ...] = ()  # what they are the errors of
        self.asking = Asking(
            desk,
            self,
            slot=questions.UPGRADE,
            field="upgrade_answer",
            question=lambda workspace: workspace.upgrade_question,
            request=questions.upgrade,
        )
        self.laying = Asking(
            desk,
            self,
            slot=questions.UPGRADE_MAP,
            field="upgrade_map_answer",
            question=lambda workspace: workspace.upgrade_map_question,
            request=_map_request,
        )
        self.laying.changed.connect(self._on_laid)
        self.errands = Errands(desk, self)
        self.controls = UpgradeControls(self)
        self.controls.planned.connect(self.ask)
        self.controls.asked.connect(desk.act)
        self.verdict = VerdictBar()
        self.matrix = CrossMatrix()
        self.matrix.picked.connect(self.list_errors)
        self.matrix.task.connect(lambda task: self.ask({"task": task}))
        self.gains = GainChart()
        self.gains.choose_upper.connect(self._on_choose_upper)
        self.directions = DirectionDiagram()
        self.directions.direction.connect(lambda way: self.ask({"direction": way}))
        self.sequence = SequenceView()
        self.sequence.picked.connect(self.list_errors)
        self.backfill = BackfillChart()
        self.backfill.share.connect(lambda share: self.ask({"share": share}))
        self.backfill.order.connect(lambda name: self.ask({"order": name}))
        self.backfill.export_order.connect(lambda: desk.act("upgrade.order"))
        self.map = OldNewMap(desk.thumbnails)
        self.people = SameClassView(desk.thumbnails)
        for view in (self.map, self.people):
            view.look.connect(self.look)
            view.open_face.connect(self.open_face)
        self.map.select.connect(self.select)
        self.cards = FlipCards(desk)
        self.cards.explained.connect(self._on_explained)
        self.body = split(Qt.Orientation.Horizontal)
        self.set_up(self.controls, self.body, self.verdict, icon="swap")
        self._build_body()
        theme.follow(self, self._show_colours)

    # -- building

    def _build_body(self) -> None:
        self.left, self.right = split(Qt.Orientation.Vertical), split(Qt.Orientation.Vertical)
        fill(self.body, self.left, self.right)
        self.middle = Places(
            [
                ("gains", tr("Gains"), tr("How much of the way from old to upper arrives"), self.gains),
                ("directions", tr("Directions"), tr("How new queries meet the old gallery"), self.directions),
                ("sequence", tr("Sequence"), tr("Whether models that follow each other keep in order"),
                 scrolled(self.sequence, tr("Sequence of models"))),
                ("backfill", tr("Backfill"), tr("What embedding a part of the gallery anew reaches"), _holder()),
            ],
            label=tr("What the upgrade brings"),
        )  # fmt: skip
        self.middle.changed.connect(lambda _: self._dress_middle())
        self.upper = Places(
            [
                ("map", tr("Map"), tr("Every face where the old model has it, and where the new one does"), self.map),
                ("people", tr("Same people"), tr("Pictures of some people by old and new, with d_pw"), self.people),
                ("flips", tr("Flips"), tr("Searches that were lost and gained"), _holder()),
            ],
            label=tr("Faces by both models"),
        )
        self.upper.changed.connect(lambda _: self._on_upper())
        self.colour = Choice(tr("Colour of the faces on the map"), tr("What faces on the map are coloured by"))
        self.colour.chosen.connect(lambda _: self._show_colours())
        look(self.desk, self.colour, "upgrade_colour")
        self.colour.setFixedHeight(22)
        self.colour.fill([(CHANGE, tr("colour: change"))], CHANGE)
        self.upper.header.add(self.colour)
        self._map_tools = (self.colour, *self.map.dress(self.upper.header))
        look(self.desk, self.map.switch, "upgrade_sides")
        self.beside = Choice(tr("Second upgrade"), tr("Another upgrade of the same people, beside this one"))
        self.beside.setFixedHeight(22)
        self.beside.chosen.connect(lambda _: self._show_people())
        look(self.desk, self.beside, "upgrade_beside")
        self._people_tools = (label(tr("beside"), name="sub"), self.beside)
        for tool in self._people_tools:
            self.upper.header.add(tool)
        self.flips = Frame(tr("Flips"), self.cards)
        texts = (tr("Lost"), tr("Gained"), tr("Pairs"), tr("Errors"))
        tips = (
            tr("Searches that the old model got right and the new one does not"),
            tr("Searches that the old model got wrong and the new one does not"),
            tr("Pairs of one person that only one of both accepts, at the same FAR"),
            tr("What the test of the cell that was clicked gets wrong"),
        )
        self.which = Switch(list(zip(KINDS, texts)), label=tr("Which flips"))
        for key, tip in zip(KINDS, tips):
            self.which.button(key).setToolTip(tip)
        self.which.changed.connect(lambda _: self._show_cards())
        look(self.desk, self.which, "flips_of")
        self.flips.header.add(self.which)
        self.choose = self.flips.header.add_button("check", tr("Select all faces listed here"), self._on_choose)
        self.write_flips = self.flips.header.add_button(
            "export", tr("Export every flip as CSV"), lambda: self.desk.act("upgrade.flips")
        )
        fill(self.left, self.matrix, self.middle, self.backfill)
        fill(self.right, self.upper, self.flips)
        self._low: bool | None = None
        self._fold(False)
        self._dress_middle()
        self._dress_upper()

    def first(self) -> QWidget:
        return self.matrix.cells

    def close_panel(self) -> None:
        self.laying.close()
        self.errands.close()
        self.cards.close_panel()
        super().close_panel()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width, height = event.size().width(), event.size().height()
        stacked = width < NARROW
        across = Qt.Orientation.Vertical if stacked else Qt.Orientation.Horizontal
        if across != self.body.orientation() or not any(self.body.sizes()) or event.oldSize().width() != width:
            self.body.setOrientation(across)
            left = round(LEFT * min(1.0, max(width / 1440, 0.9)))
            self.body.setSizes([600, 620] if stacked else [left, width - left])
        self.body.setMinimumHeight(STACKED if stacked else LEAST)
        if self._fold(not stacked and height < LOW) or event.oldSize().height() != height:
            room = max(height - HEAD, STACKED // 2 if stacked else LEAST)
            self.left.setSizes([round(share * room) for share in ((0.52, 0.48) if self._low else (0.385, 0.25, 0.365))])
            self.right.setSizes([room - CARDS, CARDS])

    def _fold(self, low: bool) -> bool:
        """Lower rows as tabs of the row above, or as rows; says whether that is a change."""
        if low == self._low:
            return False
        self._low = low
        for frame, places, key, column in (
            (self.backfill, self.middle, "backfill", self.left),
            (self.flips, self.upper, "flips", self.right),
        ):
            if low:
                page = places.stack.widget(places.keys.index(key))
                page.layout().addWidget(frame)  # type: ignore[union-attr]
            else:
                column.addWidget(frame)
            frame.show()
            places.offer(key, low)
        self.backfill.header.setVisible(not low)
        (self.middle.header if low else self.backfill.header).add(self.backfill.export)
        self._dress_middle()
        return True

    def _dress_middle(self) -> None:
        key = self.middle.key
        told = {"gains": tr("share of the way to upper"), "backfill": tr("drag the line")}
        self.middle.header.set_subtitle(told.get(key, ""))
        self.backfill.export.setVisible(not self._low or key == "backfill")

    def _dress_upper(self) -> None:
        key = self.upper.key
        for tools, page in ((self._map_tools, "map"), (self._people_tools, "people")):
            for one in tools:
                one.setVisible(key == page)
        self.upper.header.set_subtitle({"map": self._map_words, "people": self._people_words}.get(key, lambda: "")())

    # -- what is missing

    def lacking(self, workspace: Workspace) -> tuple[str, str]:
        if workspace.faces is None:
            text = tr("An upgrade is looked at on the faces of a gallery. Open one, then embed it with both models.")
            return tr("No gallery yet"), text
        reason = upgradable(workspace)
        if not workspace.model_names:
            return tr("No models yet"), tr("Open the old model and the new one, and embed the gallery with both.")
        if not reason:
            return "", ""
        n = len(workspace.features)
        titles = tr("No vectors yet"), tr("One model is not an upgrade")
        return (titles[n] if n < 2 else tr("Nothing to compare")), reason

    def ready(self, workspace: Workspace) -> tuple[str, str]:
        plan = workspace.resolved_upgrade
        n = len(workspace.kept_faces) if workspace.kept_faces is not None else 0
        text = tr("{old} to {new}, {n} faces.", old=escaped(plan.old), new=escaped(plan.new), n=n)
        return tr("Ready to look at the upgrade"), text

    # -- what the user sees

    def refresh(self, changed: frozenset[str]) -> None:
        workspace = self.desk.workspace
        found = workspace.upgrade
        if changed - {"selection", "upgrade_map_answer", "projection_plan"}:
            self.controls.fill(workspace)
            self.gains.allow(self.controls.upper.isEnabled())
            self._fill_beside()
        if found is not self._shown or "faces" in changed:
            self._shown = found
            self.__dict__.pop("_changes", None)
            self._show_found()
        elif found is not None and "upgrade_plan" in changed:
            if self.plan == replace(self._planned, order=self.plan.order, share=self.plan.share):
                self._show_backfill(found)
            else:
                self._show_tests(found)
        if workspace.upgrade_map is not self._map or "faces" in changed:
            self._show_map()
        if "selection" in changed:
            self._mark_selected()
            if self.upper.key == "people":
                self._show_people()
        self.start()
        self.show_page()

    def start(self) -> None:
        super().start()
        if self._shown is not None and self.isVisible():
            self.laying.start()

    def show_page(self) -> None:
        super().show_page()
        self.controls.export.setEnabled(self._shown is not None)

    @property
    def plan(self) -> UpgradePlan:
        """What is asked, with its models named."""
        return self.desk.workspace.resolved_upgrade

    def _show_found(self) -> None:
        """Everything but the map itself; parts that are still being worked out say so."""
        found = self._shown
        if found is None:
            self._withdraw_errors()
            return
        self._show_tests(found)
        self._show_counts()
        self._show_cards()
        self._show_change()
        self._people = ()
        self._show_people()

    def _show_tests(self, found: Upgrade) -> None:
        """What depends on the task."""
        plan = self._planned = self.plan
        self.verdict.show_verdict(verdict(found, task=plan.task), self._notes(found))
        self.matrix.show_matrix(found.matrix, plan)
        self.gains.show_gains(found.matrix, plan)
        self.directions.show_directions(found.matrix, plan)
        self.sequence.show_sequence(found.matrix, plan)
        self._show_backfill(found)
        if self._tested and self._tested != self._testing(*self._tested[2:]):  # type: ignore[arg-type]
            self._withdraw_errors()

    def _show_backfill(self, found: Upgrade) -> None:
        plan = self._planned = self.plan
        why = self._why_not(found)
        self.backfill.show_backfill(found.backfill, plan, order=plan.order, share=plan.share, why=why)

    def _notes(self, found: Upgrade) -> tuple[str, ...]:
        fitted = (f"{words.direction_name(one.direction)}: {one.why}" for one in found.matrix.fitted)
        return (*found.matrix.notes, *fitted)

    def _why_not(self, found: Upgrade) -> str:
        """Why a part is not there."""
        if found.complete:
            test = found.matrix.test(found.plan.new, found.plan.old)
            return test.verification.why if test is not None and test.verification.why else tr("nothing was found")
        if self.asking.job() is not None:
            return tr("being worked out")
        return tr("stopped before this was worked out; look at the upgrade again{key}", key=hint("upgrade.run"))

    # Flips

    def _show_counts(self) -> None:
        flips = self._shown.flips if self._shown is not None else None
        counts = (len(flips.lost), len(flips.gained), len(flips.pairs.first)) if flips is not None else (None,) * 3
        for key, text, n in zip(KINDS, (tr("Lost"), tr("Gained"), tr("Pairs")), counts):
            self.which.rename(key, text if n is None else f"{text} {n:,}")
        self.which.offer("errors", self._tested != ())
        self.write_flips.setEnabled(flips is not None)

    def _show_cards(self) -> None:
        from facelens.views.flip_cards import errors, pairs, searches

        found, kind = self._shown, self.which.value()
        if found is None:
            return
        if kind == "errors":
            listed, why = self._errors, tr("being worked out")
            self.cards.show_flips(errors(listed) if listed is not None else (), why=tr("no errors") if listed else why)
            self.flips.header.set_subtitle(self._error_words())
        elif found.flips is None:
            self.cards.show_flips((), why=self._why_not(found))
            self.flips.header.set_subtitle("")
        else:
            flips = found.flips
            made = pairs(flips) if kind == "pairs" else searches(flips, LOST if kind == "lost" else GAINED)
            none = {"lost": tr("no search was lost"), "gained": tr("no search was gained")}
            self.cards.show_flips(made, why=none.get(kind, tr("no pair flipped")))
            told = {"pairs": tr("pairs of one person, old and new score, lost first")}
            self.flips.header.set_subtitle(told.get(kind, tr("query, old match above new match, worst first")))
        self.choose.setEnabled(bool(self.cards.flips))

    # Errors of a test

    def list_errors(self, query: str, gallery: str, direction: str) -> None:
        """List what a test gets wrong; those faces become the selection."""
        test = self._testing(query, gallery, direction)
        request = questions.upgrade_errors(self.desk.workspace, (query, gallery, direction))
        if request is None:
            return

        def done(job: Job) -> None:
            if self._tested != test:
                return
            if job.state is State.DONE:
                self._errors = job.result  # type: ignore[assignment]
                self._show_cards()
                self._on_choose()
            else:
                self._withdraw_errors()
                if job.state is State.FAILED:
                    self.desk.notify(job.error, trace=job.trace)

        self._tested, self._errors = test, None
        self._show_counts()
        self.which.set_value("errors")
        if self._low:
            self.upper.show_key("flips")
        self._show_cards()
        self.errands.submit(request, then=while_there(self, done))

    def _testing(self, query: str, gallery: str, direction: str) -> tuple[object, ...]:
        return (self.desk.workspace.upgrade_question, self.plan.task, query, gallery, direction)

    def _withdraw_errors(self) -> None:
        self._tested, self._errors = (), None
        if self.which.value() == "errors":
            self.which.set_value("lost")
        self._show_counts()
        self._show_cards()

    def _error_words(self) -> str:
        if not self._tested:
            return ""
        found = self._errors
        if found is None:
            _, _, query, gallery, direction = map(str, self._tested)
            return words.tested(self.plan, query, gallery, direction)
        told = words.errors_title(self.plan, found)
        left = found.missed + found.accepted - len(found.first)
        return told + (tr(", the worst {n} shown", n=len(found.first)) if left > 0 else "")

    # The map

    def _show_map(self) -> None:
        workspace = self.desk.workspace
        found, faces = workspace.upgrade_map, workspace.faces
        same = self._of == workspace.upgrade_map_question and self._map is not None
        self._map, self._of = found, workspace.upgrade_map_question
        plan = self.plan
        self.map.set_names(escaped(plan.old), escaped(plan.new))
        if found is None or faces is None or found.other is None:
            stopped = tr("the map was stopped; Show the projection lays it out")
            self.map.show_nothing(stopped if self.laying.declined else tr("being laid out"))
        else:
            self.map.show_map(faces, found, same=same)
            self._mark_selected()
            if not same:
                self._show_change()
        self._dress_upper()

    def _mark_selected(self) -> None:
        """A face that is looked at is ringed; only where several are selected do the others fade."""
        now = self.desk.workspace.selection
        self.map.set_selection(now if len(now) > 1 else Selection(current=now.current))
        self.people.set_selection(now)

    def _show_change(self) -> None:
        """What became of each face, by its mark."""
        found, laid = self._shown, self._map
        if laid is None or laid.other is None:
            return
        known = found is not None and found.flips is not None
        self.map.set_change(found.change_of(laid.ids) if known and found is not None else None)
        self.map.set_words(self._changes.lines if self._changes is not None else None)
        colours = [(CHANGE, tr("colour: change")), (IDENTITY, tr("colour: identity"))]
        if found is not None and found.moves is not None:
            colours.append((MOVED, tr("colour: moved")))
        now = self.colour.currentData()
        self.colour.fill(colours, now if now in dict(colours) else CHANGE)
        self._show_colours()

    @cached_property
    def _changes(self) -> Any:
        from facelens.views.face_change import FaceChange

        return FaceChange(self._shown) if self._shown is not None else None

    def _show_colours(self) -> None:
        if self._map is not None and self._map.other is not None:
            self.map.set_colours(self._colouring())
        self._dress_upper()

    def _colouring(self) -> Colouring | None:
        from facelens.views.colouring import by_names, by_numbers

        faces, laid, by = self.desk.workspace.faces, self._map, self.colour.currentData()
        rows = faces.rows_of(laid.ids) if faces is not None and laid is not None else np.zeros(0, np.int64)
        if faces is None or laid is None or len(rows) != len(laid):
            return None
        if by == IDENTITY:
            return by_names(tr("identity"), replace(faces.identity, codes=faces.identity.codes[rows]), people=True)
        moves = self._shown.moves if self._shown is not None else None
        if by == MOVED and moves is not None:
            values = np.full(len(faces), np.nan, np.float32)
            values[faces.rows_of(moves.ids)] = moves.moved
            return by_numbers(tr("moved"), values[rows], bright=tr("bright = farther"))
        return None

    def _map_words(self) -> str:
        found = self._map
        if found is None:
            return ""
        from facelens.analyses.projection import NAMES

        how = {
            "joint": tr("{method} fitted on both", method=NAMES[found.drawn]),
            "aligned": tr("{method} of each, turned to agree: residual {left}", method=NAMES[found.drawn],
                          left=number(found.residual, 2) if found.residual is not None else tr("n/a")),
        }  # fmt: skip
        told = [how.get(found.how, NAMES[found.drawn]), tr("N = {n}", n=len(found))]
        shown = self._shown
        if shown is not None and shown.flips is not None and len(shown.flips.searches.ids) < len(found):
            told.append(tr("{n} searched", n=len(shown.flips.searches.ids)))
        if self.colour.currentData() == MOVED and (made := self._colouring()) is not None:
            ends = number(made.low, 2), number(made.high, 2)
            told.insert(0, tr("bright = moved farther, {low} to {high}", low=ends[0], high=ends[1]))
        return " · ".join([*told, tr("seed {n}", n=found.plan.seed)])

    # The same people

    def _fill_beside(self) -> None:
        workspace, plan = self.desk.workspace, self.plan
        if plan.old not in workspace.features:
            return
        D = workspace.features[plan.old].dimensions
        names = [*plan.others, plan.upper, *workspace.features]
        fits = [
            one
            for one in dict.fromkeys(filter(None, names))
            if one not in (plan.old, plan.new) and workspace.features[one].dimensions == D
        ]
        items = [*((name, escaped(name)) for name in fits), ("", tr("none"))]
        now = self.beside.currentData()
        asked = (*plan.others, plan.upper)
        first = next((one for one in asked if one in fits), "")
        self.beside.fill(items, now if now in fits else first)

    def _show_people(self) -> None:
        """The selected people; without a selection those with the most pictures."""
        workspace, plan, found = self.desk.workspace, self.plan, self._shown
        if self.upper.key != "people" or workspace.faces is None or found is None:
            return
        asked = (workspace.upgrade_question, self._pictured().tobytes(), self.beside.currentData())
        if asked != self._people:
            self._people, made = asked, self._same_people()
            assert made is not None
            sizes = (workspace.features[name].dimensions for name in (plan.old, plan.new))
            why = tr("{old} has {a} dimensions, {new} has {b}: they have no axes in common", old=escaped(plan.old),
                     new=escaped(plan.new), **dict(zip("ab", sizes)))  # fmt: skip
            self.people.show_class(workspace.faces, made, why=why if made.left_out else tr("nobody to show"))
            self.people.set_selection(workspace.selection)
        self._dress_upper()

    def _same_people(self) -> SameClass | None:
        return depicting.same_people(self.desk.workspace, self.figure_view()) if self._shown is not None else None

    def _order(self) -> str:
        """The order of the backfill that is in front."""
        return depicting.order_of(self.desk.workspace) if self._shown is not None else ""

    def _pictured(self) -> Ids:
        """Pictures of the people that are looked at, of those that count."""
        assert self._shown is not None
        return depicting.pictured(self.desk.workspace)

    def _people_words(self) -> str:
        workspace, found = self.desk.workspace, self._shown
        # A hidden page may still hold what was asked of another gallery, and a change of the theme dresses it too.
        if workspace.faces is None or found is None or workspace.upgrade is not found:
            return ""
        ids = self._pictured()
        people = len(np.unique(workspace.faces.identity.codes[workspace.faces.rows_of(ids)]))
        said = tr("{people}, {faces}", people=plural(people, "{n} person", "{n} people"),
                  faces=plural(len(ids), "{n} picture", "{n} pictures"))  # fmt: skip
        chosen = tr("selected") if len(workspace.selection) else tr("select faces for others")
        return f"{said} · {chosen} · {tr('vectors as they are')}"

    # -- what the user asks

    def ask(self, changes: dict[str, Any]) -> None:
        """Ask for something else."""
        plan = replace(self.desk.workspace.upgrade_plan, **changes)
        self.desk.store.update(initiator=self, upgrade_plan=plan)

    def figure_places(self) -> Sequence[tuple[QWidget, str]]:
        upper = {"people": "same people"}.get(self.upper.key, self.upper.key)
        flips = {"pairs": "pairs", "errors": "errors"}.get(self.which.value(), "flips")
        parts = (self.backfill, "backfill"), (self.flips, flips), (self.cards, flips), (self.matrix, "matrix")
        return (*parts, (self.middle, self.middle.key), (self.upper, upper))

    def figure_view(self) -> View:
        tested = tuple(map(str, self._tested[2:]))
        return View(beside=self.beside.currentData() or "", on_map=self.colour.currentData() or CHANGE, tested=tested)

    def figure_held(self) -> dict[str, Any]:
        """The errors that are listed on the page."""
        return {"errors": self._errors} if self._errors is not None else {}

    def case(self) -> dict[str, Any]:
        """What is looked at, for a report."""
        plan = self.plan
        return {"task": plan.task, "order": self._order(), "share": plan.share, "people": self._same_people()}

    def show_upper(self, key: str) -> None:
        """Bring a page of the right column to the front."""
        self.upper.show_key(key)

    def show_middle(self, key: str) -> None:
        """Bring a page of the left column to the front."""
        self.middle.show_key(key)

    def _on_upper(self) -> None:
        self._dress_upper()
        self._show_people()

    def _on_laid(self) -> None:
        if self.isVisible() and self._shown is not None:
            self.laying.start()
            if self._map is None:
                self._show_map()

    def _on_choose_upper(self) -> None:
        self.controls.upper.setFocus(Qt.FocusReason.OtherFocusReason)
        self.controls.upper.showPopup()

    def _on_choose(self) -> None:
        ids = self.cards.ids()
        if len(ids):
            self.select(ids, Mode.REPLACE)

    def _on_explained(self, face: int, other: int) -> None:
        ids = np.array([face, other], np.int64)
        self.desk.store.update(selection=Selection(ids, face, (face, other)), initiator=self)
        self.desk.act("match.show")


def _holder() -> QWidget:
    """A page that has something only where the window is low."""
    made = QWidget()
    column = QVBoxLayout(made)
    column.setContentsMargins(0, 0, 0, 0)
    return made


def _map_request(workspace: Workspace) -> Request | None:
    faces = workspace.kept_faces
    return questions.upgrade_map(workspace, refine=faces is not None and len(faces) <= AT_ONCE)
