"""The store says what changed, and to whom it matters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facelens.images.faceset import FaceSet, Labels
from facelens.session.selection import Selection
from facelens.session.store import Store
from facelens.session.workspace import Arrangement, Workspace


def test_update_tells_what_changed_and_who_asked() -> None:
    store = Store()
    heard: list[tuple[frozenset[str], object]] = []
    stop = store.listen(lambda changed, initiator: heard.append((changed, initiator)))
    assert store.update(selection=Selection(np.array([1])), notes=(), initiator="me") == {"selection"}
    assert heard == [(frozenset({"selection"}), "me")]
    assert store.update(selection=Selection(np.array([1])), arrangement=Arrangement()) == frozenset()
    assert len(heard) == 1, "an equal value is no change"
    stop()
    stop()
    store.update(notes=("a",))
    assert len(heard) == 1 and store.workspace.notes == ("a",)


def test_old_workspace_stays_as_it_was() -> None:
    store = Store()
    before = store.workspace
    store.update(notes=("a",))
    assert before.notes == () and store.workspace is not before
    assert Workspace(notes=("b",)).notes == ("b",)


def test_unknown_field_is_refused() -> None:
    store = Store()
    with pytest.raises(TypeError, match="selektion"):
        store.update(selektion=Selection(), notes=("a",))
    assert store.workspace.notes == ()


def test_new_array_is_a_change() -> None:
    store = Store()
    assert store.update(excluded=np.array([1, 2])) == {"excluded"}
    assert store.update(excluded=store.workspace.excluded) == frozenset()


def test_listener_may_stop_itself_and_update() -> None:
    store = Store()
    heard: list[str] = []

    def once(changed: frozenset[str], initiator: object) -> None:
        heard.append("once")
        stop()
        store.update(notes=("from a listener",))

    stop = store.listen(once)
    store.listen(lambda changed, initiator: heard.append("+".join(sorted(changed))))
    store.update(selection=Selection(np.array([1])))
    assert heard == ["once", "notes", "selection"]


def test_what_asks_for_columns_that_are_gone_goes_too() -> None:
    faces = FaceSet.build("g", Path("/g"), paths=["a.jpg", "b.jpg"], identities=["A", None])
    scored = faces.with_columns({"blur": np.array([1.0, 2.0]), "light": Labels.of("ab")})
    store = Store()
    store.update(faces=scored, arrangement=Arrangement("blur > 1 and A", "blur", True, "light"))
    assert store.update(faces=scored.with_columns({"yaw": np.zeros(2)})) == {"faces"}, "all of it is there still"
    assert store.update(faces=faces) == {"faces", "arrangement"}
    assert store.workspace.arrangement == Arrangement(descending=True) and len(store.workspace.shown) == 2
