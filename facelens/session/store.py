"""Store: the one mutable object. It holds the workspace and tells listeners which fields changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np

from facelens.images.faceset import FaceSet
from facelens.session.workspace import Workspace, fitting, outdated, with_variance

Listener = Callable[[frozenset[str], object], None]


class Store:
    """Replaces the workspace and says what changed; lives on one thread (the main one)."""

    def __init__(self, workspace: Workspace | None = None) -> None:
        self._workspace = workspace or Workspace()
        self._listeners: list[Listener] = []

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
        changed = self._put(changes)
        if changed & {"faces", "features", "model_b", "ensemble"} and outdated(self._workspace):
            changed |= self._put({"faces": with_variance(self._workspace.faces, None)})  # type: ignore[arg-type]
        if changed:
            for listener in tuple(self._listeners):
                listener(changed, initiator)
        return changed

    def _put(self, changes: dict[str, object]) -> frozenset[str]:
        if isinstance(faces := changes.get("faces"), FaceSet):
            arrangement = changes.get("arrangement", self._workspace.arrangement)
            changes["arrangement"] = fitting(arrangement, faces)  # type: ignore[arg-type]
        changed = frozenset(name for name, value in changes.items() if not _same(getattr(self._workspace, name), value))
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


def _same(old: object, new: object) -> bool:
    if isinstance(old, np.ndarray) or isinstance(new, np.ndarray):
        return old is new or (type(old) is type(new) and np.array_equal(old, new))  # type: ignore[arg-type]
    return old is new or old == new
