"""Naming: who faces are, by the user's word. A sheet with one line, which says what a name does before it is given."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

import numpy as np
from PySide6.QtCore import QStringListModel, Qt
from PySide6.QtWidgets import (
    QCompleter,
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from facelens.errors import FaceLensError
from facelens.images.faceset import FaceSet, Ids, Labels
from facelens.session import filters
from facelens.session.identities import LONGEST, NOBODY, named, spelled, taken_back
from facelens.session.workspace import Workspace
from facelens.views.controls import dress_offers, label
from facelens.views.docks.inspector import STRIP, Strip
from facelens.views.panel import Desk
from facelens.words import escaped, plural, tr

FEW = 3  # people that are named one by one
OFFERED = 12
WIDTH, EDGE = 400, 20  # px


def shown_name(name: str) -> str:
    """A name as faces are captioned with it."""
    return escaped(name).replace("_", " ")


def faces_of(workspace: Workspace, name: str) -> Ids:
    """Every face of a person, also those that are left out."""
    faces = workspace.faces
    names = faces.identity.names if faces is not None else ()
    code = bisect_left(names, name)
    if faces is None or not name or names[code : code + 1] != (name,):
        return np.zeros(0, np.int64)
    return faces.ids[faces.identity.codes == code]


def give_name(desk: Desk, ids: Ids, name: str) -> None:
    """Faces under a name, "" for nobody, in one step. Where all of a person go, a filter on them goes along."""
    workspace = desk.workspace
    faces = workspace.faces
    if faces is None or not len(ids):
        return
    changes: dict[str, object] = {"identity_edits": named(workspace.identity_edits, faces, ids, name)}
    gone = _left_empty(faces, ids)
    chosen = filters.choice(workspace.arrangement.filter, "identity") if _readable(workspace) else None
    if name and chosen is not None and gone & set(chosen[1]):
        names = list(dict.fromkeys(name if one in gone else one for one in chosen[1]))
        text = filters.choosing(workspace.arrangement.filter, "identity", names)
        changes["arrangement"] = replace(workspace.arrangement, filter=text)
    desk.store.update(**changes)
    said = plural(len(ids), "{n} face", "{n} faces")
    who = shown_name(name) if name else tr("nobody")
    desk.tell(tr("{faces} named: {who}", faces=said, who=who))


def take_back(desk: Desk, ids: Ids) -> None:
    """Faces are again who the gallery says."""
    edits = desk.workspace.identity_edits
    back = edits.among(ids)
    desk.store.update(identity_edits=taken_back(edits, back))
    one, many = "{n} face is again who the gallery says", "{n} faces are again who the gallery says"
    desk.tell(plural(len(back), one, many))


def _readable(workspace: Workspace) -> bool:
    try:
        filters.parse(workspace.arrangement.filter)
    except filters.FilterError:
        return False
    return True


def _left_empty(faces: FaceSet, ids: Ids) -> set[str]:
    """People all of whose faces are among these."""
    codes = faces.identity.codes[faces.rows_of(ids)]
    taken = np.bincount(codes[codes >= 0], minlength=len(faces.identity.names))
    return {faces.identity.names[code] for code in np.flatnonzero((taken > 0) & (taken == faces.identity.counts()))}


class NameLine(QLineEdit):
    """A line for one name; known ones are offered while typing."""

    def __init__(self) -> None:
        super().__init__()
        self.setMaxLength(LONGEST)
        self._labels = Labels(np.zeros(0, np.int32), ())
        self._offered: dict[str, str] = {}  # the name behind what is shown
        self._words = QStringListModel(self)
        completer = QCompleter(self._words, self)
        completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        completer.setMaxVisibleItems(OFFERED)
        self.setCompleter(dress_offers(completer))
        self.textEdited.connect(self._offer)

    def set_known(self, labels: Labels) -> None:
        """People that there are."""
        self._labels = labels

    @property
    def name(self) -> str:
        """The name that stands in the line, as somebody has it already; an InputError where it cannot be one."""
        typed = self.text()
        return self._offered.get(typed.strip()) or spelled(typed, self._labels)

    def _offer(self, typed: str) -> None:
        found = filters.names_like(self._labels, typed.strip(), most=OFFERED) if typed.strip() else []
        self._offered = {shown_name(one): one for one in found}
        self._words.setStringList(list(self._offered))


class NameSheet(QDialog):
    """Asks who some faces are, or with `person` for another name of one."""

    def __init__(self, desk: Desk, ids: Ids, parent: QWidget | None = None, *, person: str = "") -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.desk, self.ids, self.person = desk, ids, person
        faces = desk.workspace.faces
        assert faces is not None  # the action's condition
        self.setWindowTitle(tr("Rename a person") if person else tr("Identity"))
        self.setMinimumWidth(WIDTH)
        self.head = label(self._question(), name="strong", wrap=True)
        self.now = label(_are_now(faces, ids), name="sub", wrap=True)
        self.now.setVisible(not person)
        self.strip = Strip(desk)
        self.strip.setAccessibleName(tr("The faces"))
        self.strip.setToolTip(tr("The first of them"))
        self.strip.setCursor(Qt.CursorShape.ArrowCursor)
        self.strip.rows = faces.rows_of(ids[:STRIP])
        self.strip.setFixedHeight(self.strip.heightForWidth(WIDTH - 2 * EDGE))  # as high as it will be
        desk.thumbnails.ready.connect(self._on_ready)
        self.line = NameLine()
        self.line.set_known(faces.identity)
        self.line.setPlaceholderText(tr("Name"))
        self.line.setAccessibleName(tr("Name"))
        self.line.setToolTip(tr("A name that is known is offered while you type; any other is a new person."))
        self.line.setText(shown_name(person))
        self.line.selectAll()
        self.line.textChanged.connect(self._show)
        self.told = label(name="small", wrap=True)
        self.told.setMinimumHeight(2 * self.told.fontMetrics().lineSpacing())
        self.told.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.nobody = QPushButton(tr("Nobody"))
        self.nobody.setToolTip(tr("These faces have no identity; what compares people leaves them out."))
        self.nobody.clicked.connect(lambda: self._give(NOBODY))
        self.cancel = QPushButton(tr("Cancel"))
        self.cancel.setToolTip(tr("Changes nothing"))
        self.cancel.clicked.connect(self.reject)
        self.give = QPushButton()
        self.give.setObjectName("primary")
        self.give.setDefault(True)
        self.give.setToolTip(tr("Nothing on disk changes, and it can be undone."))
        self.give.clicked.connect(self._on_give)
        for button in (self.nobody, self.cancel):
            button.setAutoDefault(False)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self.nobody)
        foot.addStretch(1)
        foot.addWidget(self.cancel)
        foot.addWidget(self.give)
        column = QVBoxLayout(self)
        column.setContentsMargins(EDGE, 16, EDGE, 14)
        column.setSpacing(10)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self.head)
        words.addWidget(self.now)
        column.addLayout(words)
        column.addWidget(self.strip)
        column.addWidget(self.line)
        column.addWidget(self.told)
        column.addStretch(1)
        column.addLayout(foot)
        self._show()
        self.line.setFocus()

    def _question(self) -> str:
        if self.person:
            n = plural(len(self.ids), "{n} face", "{n} faces")
            return tr("Another name for {name}, {n}", name=shown_name(self.person), n=n)
        return plural(len(self.ids), "Who is on this face?", "Who is on these {n} faces?")

    def _on_ready(self, _ids: object) -> None:
        self.strip.update()

    def _show(self, *_: object) -> None:
        """What the name would do, and whether it can be given."""
        verb, told, able = tr("Rename") if self.person else tr("Name"), "", False
        try:
            name = self.line.name if self.line.text().strip() else ""
        except FaceLensError as error:
            self._tell(verb, str(error), able=False)
            return
        here = faces_of(self.desk.workspace, name)
        others = len(np.setdiff1d(here, self.ids))
        n = plural(others, "{n} face", "{n} faces")
        if not name:
            told = tr("Type a name. Nothing on disk changes.")
        elif len(here) and len(np.setdiff1d(self.ids, here)) == 0:
            told = tr("That is the name already.")
        elif others and self.person:
            verb, able = tr("Merge"), True
            total = plural(others + len(self.ids), "{n} face", "{n} faces")
            both = {"name": shown_name(name), "n": n, "total": total}
            told = tr("{name} is known too, with {n}. The two become one person with {total}.", **both)
        elif len(here):
            able, told = True, tr("{name} is known, with {n}; these are added.", name=shown_name(name), n=n)
        else:
            able, told = True, tr("A new name in this gallery.")
        self._tell(verb, told, able=able)

    def _tell(self, verb: str, told: str, *, able: bool) -> None:
        self.give.setText(verb)
        self.give.setEnabled(able)
        self.told.setText(told)
        self.line.setAccessibleDescription(told)

    def _on_give(self) -> None:
        try:
            name = self.line.name
        except FaceLensError as error:
            self._tell(self.give.text(), str(error), able=False)
            return
        self._give(name)

    def _give(self, name: str) -> None:
        self.accept()
        give_name(self.desk, self.ids, name)


def _are_now(faces: FaceSet, ids: Ids) -> str:
    """Who some faces are now, the commonest first."""
    codes, counts = np.unique(faces.identity.codes[faces.rows_of(ids)], return_counts=True)
    order = np.argsort(-counts, kind="stable").tolist()
    names = [shown_name(faces.identity.names[codes[i]]) if codes[i] >= 0 else tr("nobody") for i in order]
    if len(ids) == 1 or len(names) == 1:
        return tr("Now {name}", name=names[0])
    told = [f"{name} ({counts[i]:,})" for name, i in zip(names, order, strict=True)]
    rest = tr(" and {n} more", n=len(told) - FEW) if len(told) > FEW else ""
    return tr("Now {names}", names=", ".join(told[:FEW]) + rest)
