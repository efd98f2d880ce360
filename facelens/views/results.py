"""A page that asks, waits and shows: controls, the job under way and notes, over what is found, a skeleton, or nothing.

Small galleries are looked at without being asked. Where there is nothing to show, the page says what is missing and
offers the next step.
"""

from __future__ import annotations

from PySide6.QtWidgets import QStackedWidget, QWidget

from facelens.images.faceset import Ids
from facelens.session.actions import embeddable
from facelens.session.selection import Mode
from facelens.session.workspace import Workspace
from facelens.views.asking import Asking
from facelens.views.controls import EmptyState, label
from facelens.views.frame import Skeleton, lay_out, scrolled
from facelens.views.panel import Panel
from facelens.views.shortcuts import keyed
from facelens.views.working import Working
from facelens.words import escaped, tr

AT_ONCE = 5_000  # faces that are looked at without being asked


class Results(Panel):
    """Subclasses make their parts, call `set_up`, and say what is lacking, what is found and how it is shown."""

    asking: Asking
    embeds = 1  # models that the button of the empty page embeds with

    def set_up(self, controls: QWidget, body: QWidget, *above: QWidget, icon: str = "points") -> None:
        """Lay the page out; `above` stands over the results and goes with them. The body is filled afterwards."""
        self.controls_row, self.above = controls, above
        self.working = Working()
        self.working.cancelled.connect(self.asking.cancel)
        self.notes = label(name="cap", wrap=True)
        self.notes.setContentsMargins(12, 4, 12, 4)
        self.asking.changed.connect(self._on_job)
        self.empty = EmptyState(icon, "")
        self.open = self.empty.add_button(tr("Open gallery…"), lambda: self.desk.act("gallery.open"), primary=True)
        keyed(self.open, "gallery.open", tr("A folder with one sub-folder per person, or with a manifest."))
        self.embed = self.empty.add_button(tr("Embed"), self._on_embed, primary=True)
        self.embed.setToolTip(tr("Runs in the background; what is done already is kept"))
        self.next = self.empty.add_button(tr("Open models"), lambda: self.desk.act("model.show"))
        self.next.setToolTip(tr("Loads models and embeds the gallery with them"))
        self.run = self.empty.add_button(tr("Run"), self.asking.run, primary=True)
        self.run.setToolTip(tr("Runs in the background"))
        self.area, self.skeleton, self.pages = scrolled(body), Skeleton(), QStackedWidget()
        lay_out(self, controls, self.working, *above, self.notes, body=self.pages)
        for page in (self.empty, self.skeleton, self.area):
            self.pages.addWidget(page)

    # For subclasses

    def lacking(self, workspace: Workspace) -> tuple[str, str]:
        """What is missing, and what to do about it; empty words where there is all that is needed."""
        return "", ""

    def ready(self, workspace: Workspace) -> tuple[str, str]:
        """What could be asked."""
        return tr("Ready"), ""

    def first(self) -> QWidget:
        """Where the keyboard belongs when there are results."""
        return self.area

    def found(self) -> object | None:
        """What is known of what is asked now."""
        return getattr(self.desk.workspace, self.asking.field.removesuffix("_answer"))

    # What the user sees

    def home(self) -> QWidget:
        if self.pages.currentWidget() is self.area:
            return self.first()
        return next((one for one in (self.open, self.embed, self.run, self.next) if one.isVisible()), self)

    def close_panel(self) -> None:
        self.asking.close()
        super().close_panel()

    def start(self) -> None:
        """Ask, where it is a matter of moments."""
        workspace = self.desk.workspace
        if self.found() is not None or not self.isVisible() or self.lacking(workspace)[0]:
            return
        if workspace.kept_faces is not None and len(workspace.kept_faces) <= AT_ONCE:
            self.asking.start()

    def tell(self, notes: tuple[str, ...]) -> None:
        """What is good to know, in a quiet line."""
        self.notes.setText(" ".join(notes))
        self.notes.setVisible(bool(notes))

    def show_page(self) -> None:
        """The results, the skeleton while they come, or what is missing."""
        workspace, job = self.desk.workspace, self.asking.job()
        self.working.show_job(job)
        before, focus = self.pages.currentWidget(), self.focusWidget()
        there = self.found() is not None
        if not there and job is None:
            self._show_empty(workspace)
        self.pages.setCurrentWidget(self.area if there else self.skeleton if job is not None else self.empty)
        for part in self.above:
            part.setVisible(there)
        self.notes.setVisible(there and bool(self.notes.text()))
        self.controls_row.setVisible(workspace.faces is not None and len(workspace.features) > 0)
        gone = focus is not None and focus.hasFocus() and not focus.isVisible()
        if gone and before is not self.pages.currentWidget():
            self.home().setFocus()

    def _show_empty(self, workspace: Workspace) -> None:
        title, text = self.lacking(workspace)
        waiting = self._waiting(workspace)
        there = workspace.faces is not None
        self.open.setVisible(not there)
        self.next.setVisible(there and bool(title))
        self.embed.setVisible(there and bool(title) and bool(waiting))
        self.embed.setText(tr("Embed with {names}", names=", ".join(escaped(name) for name in waiting)))
        self.run.setVisible(not title)
        if not title:
            title, text = self.ready(workspace)
            title = tr("This was stopped") if self.asking.declined else title
        self.empty.set_message(title, text)

    def _waiting(self, workspace: Workspace) -> list[str]:
        """Models worth embedding with."""
        return [name for name in workspace.model_names if not embeddable(workspace, name)][: self.embeds]

    def _on_job(self) -> None:
        if self.isVisible():
            self.start()
            self.show_page()

    def _on_embed(self) -> None:
        from facelens.views.modelling import Modelling

        for name in self._waiting(self.desk.workspace):
            Modelling(self.desk, self).embed(name)

    # What follows from a click, in any of the views

    def select(self, ids: Ids, mode: Mode) -> None:
        """Faces join the selection of all panels, or leave it."""
        self.desk.store.update(selection=self.desk.workspace.selection.combine(ids, mode), initiator=self)

    def look(self, face: int) -> None:
        """A face becomes the current one."""
        self.desk.store.update(selection=self.desk.workspace.selection.looking_at(face), initiator=self)

    def open_face(self, face: int) -> None:
        """A face, large."""
        self.look(face)
        self.desk.act("view.loupe")
