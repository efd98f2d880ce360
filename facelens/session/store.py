"""Store: the one mutable object. It holds the workspace and tells listeners which fields changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from time import monotonic

from facelens.images import doctor
from facelens.images.faceset import FaceSet
from facelens.session.history import UNDOABLE, History, same
from facelens.session.identities import applied
from facelens.session.workspace import Workspace, fitting, outdated, uses_marks, uses_names, with_variance

Listener = Callable[[frozenset[str], object], None]


class Store:
    """Replaces the workspace and says what changed; lives on one thread (the main one).

    What is done by hand becomes a step of the history. That is every update but those made `aside`, those that bring
    something new beside the controls (faces, models, answers), and those that a listener makes: they belong to the step
    they follow from, if it is one.
    """

    def __init__(self, workspace: Workspace | None = None) -> None:
        self._workspace = workspace or Workspace()
        self._listeners: list[Listener] = []
        self._depth = 0  # updates that listeners are being told of
        self._beside = 0
        self._by_hand = False
        self._last = 0.0  # when something was done by hand
        self.holding = False  # whether a mouse button has been down ever since
        self.clock: Callable[[], float] = monotonic
        self.held: Callable[[], bool] = lambda: False  # whether a mouse button is down

    @property
    def workspace(self) -> Workspace:
        """What is known now."""
        return self._workspace

    def update(self, *, initiator: object = None, **changes: object) -> frozenset[str]:
        """Replace fields; listeners get the names of those that really changed, and who asked for it.

        Columns may go with a model, and the variance with its ensemble; what sorts, groups or filters by them goes too.
        """
        known = {f.name for f in fields(Workspace)}
        if unknown := changes.keys() - known:
            raise TypeError(f"Workspace has no field {', '.join(sorted(unknown))}")
        before = self._workspace
        changed = self._put(changes)
        if changed & {"faces", "features", "model_b", "ensemble"} and outdated(self._workspace):
            changed |= self._put({"faces": with_variance(self._workspace.faces, None)})  # type: ignore[arg-type]
        changed |= self._follow_names(before, changed)
        changed |= self._hold_the_list(before, changed)
        if changed:
            self._workspace.carry(before, changed)
            self._note(before, changed, frozenset(changes))
            self._depth += 1
            try:
                for listener in tuple(self._listeners):
                    listener(changed, initiator)
            finally:
                self._depth -= 1
        return changed

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Updates in here are no steps: nobody has done them by hand."""
        self._beside += 1
        try:
            yield
        finally:
            self._beside -= 1

    @contextmanager
    def by_hand(self) -> Iterator[None]:
        """Updates in here are what was asked for by hand, though it took a job to bring it."""
        beside, self._beside = self._beside, 0
        try:
            yield
        finally:
            self._beside = beside

    def go(self, done: int, *, initiator: object = None) -> tuple[str, ...]:
        """Undo or redo until that many steps are done; returns words for what fits no more and stays as it is."""
        history = self._workspace.history
        values, gone = history.towards(self._workspace, done)
        with self.aside():
            self.update(history=history.at(done), **values, initiator=initiator)
            self.update(**values, initiator=initiator)  # what a panel does by itself gives way to what was there
        return gone

    def let_go(self) -> None:
        """The mouse button is up again: what comes after a pause is another step."""
        self._last, self.holding = self.clock(), False

    def _note(self, before: Workspace, changed: frozenset[str], asked: frozenset[str]) -> None:
        """Keep the history; like what is derived, it is not named among the changes."""
        now, history = self._workspace, self._workspace.history
        if not self._depth:
            self._by_hand = not self._beside and asked & changed <= UNDOABLE.keys()
        if "source" in asked:  # a gallery was opened or put away
            self._by_hand, history = False, History()
        elif self._by_hand and self._depth:
            history = history.followed(before, now, changed)
        elif self._by_hand:
            time = self.clock()
            history = history.noted(before, now, changed, since=time - self._last, held=self.holding)
            self._last, self.holding = time, self.held()
        if history is not now.history:
            self._workspace = replace(now, history=history)
            self._workspace.carry(now, frozenset())

    def _hold_the_list(self, before: Workspace, changed: frozenset[str]) -> frozenset[str]:
        """Faces that are flagged or tagged stay where they are until the list is arranged anew."""
        now = self._workspace
        if changed & {"arrangement", "source"}:
            return self._put({"standing": None})
        said = changed & {"annotations", "subsets", "identity_edits"}
        if now.faces is None or not said:
            return frozenset()
        by_marks, by_names = uses_marks(now.arrangement, now.faces), uses_names(now.arrangement, now.faces)
        if not (by_marks or (by_names and "identity_edits" in said)):
            return frozenset()
        standing = now.standing or before.said
        returned = standing[:2] == now.said[:2] or not by_marks
        returned = returned and (standing[2] is now.identity_edits or not by_names)
        return self._put({"standing": None if returned else standing})

    def _follow_names(self, before: Workspace, changed: frozenset[str]) -> frozenset[str]:
        """What the doctor says of identities is said of those that faces have now."""
        now = self._workspace
        if now.faces is None or now.diagnosis is None or not changed & {"identity_edits", "diagnosis"}:
            return frozenset()
        if now.faces.given is None and (before.faces is None or before.faces.given is None):
            return frozenset()
        return self._put({"diagnosis": doctor.of_other_names(now.diagnosis, now.faces)})

    def _put(self, changes: dict[str, object]) -> frozenset[str]:
        changes = dict(changes)
        if changes.keys() & {"faces", "identity_edits"}:
            faces, edits = (changes.get(name, getattr(self._workspace, name)) for name in ("faces", "identity_edits"))
            if isinstance(faces, FaceSet):
                changes["faces"] = applied(faces, edits)  # type: ignore[arg-type]
        if isinstance(faces := changes.get("faces"), FaceSet):
            arrangement = changes.get("arrangement", self._workspace.arrangement)
            changes["arrangement"] = fitting(arrangement, faces)  # type: ignore[arg-type]
        changed = frozenset(name for name, value in changes.items() if not same(getattr(self._workspace, name), value))
        if changed:
            self._workspace = replace(self._workspace, **{name: changes[name] for name in changed})  # type: ignore[arg-type]
        return changed

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(changed, initiator)` after each update; the returned function ends that."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop
