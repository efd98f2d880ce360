"""The table of commands: ids, menus, keys and the reasons why one cannot be used."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.images.faceset import FaceSet
from facelens.session import actions, identities
from facelens.session.actions import ACTIONS, BY_ID, MENUS
from facelens.session.draft import Draft
from facelens.session.selection import Selection
from facelens.session.training import Run
from facelens.session.workspace import Arrangement, Workspace

MODEL_ACTIONS = {
    "model.embed",
    "model.compare",
    "model.feed",
    "model.variance",
    "model.swap",
    "model.remove",
    "vectors.export",
    "vectors.delete",
}
ANSWER_ACTIONS = {"evaluate.run", "evaluate.export", "evaluate.latex", "evaluate.policy", "evaluate.figure",
    "uncertainty.run", "uncertainty.export", "uncertainty.export_all", "uncertainty.curve", "uncertainty.figure",
    "confidence.export", "confidence.study", "confidence.figure", "learners.export", "learners.figure",
    "match.sweep", "match.export", "match.figure", "projection.export", "projection.figure",
    "upgrade.run", "upgrade.report", "upgrade.figure", "upgrade.export", "upgrade.flips", "upgrade.order",
}
TRAINING_ACTIONS = {"training.start", "training.resume"}
MARKS = {id for id in BY_ID if id.startswith("mark.") and id != "mark.advance"}
NAMING = {"identity.name", "identity.rename", "identity.none"}
EDITED = {"identity.back", "identity.back_all", "identity.show"}
STEPS = {"history.undo": "Nothing to undo.", "history.redo": "Nothing to redo."}


def gallery(people: int = 2, faces: int = 6) -> FaceSet:
    names = [f"p{i % people}" for i in range(faces)]
    return FaceSet.build("g", Path("/nowhere"), paths=[f"{i}.png" for i in range(faces)], identities=names)


def test_ids_are_noun_dot_verb_and_unique() -> None:
    assert len(BY_ID) == len(ACTIONS)
    for action in ACTIONS:
        assert re.fullmatch(r"[a-z]+\.[a-z_]+", action.id), action.id


def test_no_key_is_used_twice() -> None:
    keys = Counter(key.lower() for action in ACTIONS for key in action.keys)
    assert not [key for key, n in keys.items() if n > 1]


def test_every_action_is_in_a_known_menu_and_no_menu_is_empty() -> None:
    assert {action.menu for action in ACTIONS} == set(MENUS)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_words_of_an_action(action) -> None:
    """Sentence case, no full stop in a label, no begging, no cheering."""
    assert action.text[0].isupper()
    assert not action.text.endswith(".")
    rest = action.text.split()[1:]
    assert not [word for word in rest if word[0].isupper() and word != "FaceLens"], "sentence case"
    for text in (action.text, action.tip):
        assert "!" not in text
        assert not re.search(r"\b(please|oops|successfully)\b", text, re.I)


def test_what_asks_more_ends_in_dots() -> None:
    asking = {a.id for a in ACTIONS if a.text.endswith("…")}
    assert {"gallery.open", "gallery.open_file", "gallery.add", "figure.export", "data.export"} <= asking
    assert not asking & {"gallery.close", "figure.copy", "select.all", "doctor.run"}


def reasons(workspace: Workspace) -> dict[str, str]:
    return {action.id: reason for action in ACTIONS if (reason := action.needs(workspace))}


def test_without_a_gallery_the_reason_names_the_next_step() -> None:
    said = reasons(Workspace())
    assert "select.all" in said and "figure.export" in said and "doctor.run" in said
    assert {"gallery.open", "palette.open", "keys.show", "select.none", "application.quit"}.isdisjoint(said)
    assert said.pop("training.start").startswith("Needs a recipe.") and said.pop("training.resume")
    assert {id: said.pop(id) for id in STEPS} == STEPS
    assert {said[id] for id in said.keys() - MODEL_ACTIONS} == {"Needs a gallery. Open one first (Ctrl+O)."}
    assert {said[id] for id in MODEL_ACTIONS} == {"Needs a model. Open one first (Ctrl+M)."}


def test_reasons_follow_the_workspace() -> None:
    faces = gallery()
    ids = faces.ids
    bare = Workspace(faces=faces)
    assert reasons(bare).keys() == {
        "find.clear", "find.again", "view.loupe", "view.compare", "select.identity", "faces.exclude",
        "faces.include_all", "faces.copy_paths", *MARKS, *NAMING, *EDITED, "subset.make",
        *MODEL_ACTIONS, *ANSWER_ACTIONS, *TRAINING_ACTIONS, *STEPS,
    }  # fmt: skip
    chosen = Workspace(faces=faces, selection=Selection(ids=ids[:2], current=int(ids[0])))
    assert reasons(chosen).keys() == {
        "find.clear",
        "find.again",
        "faces.include_all",
        *EDITED,
        *MODEL_ACTIONS,
        *ANSWER_ACTIONS,
        *TRAINING_ACTIONS,
        *STEPS,
    }
    many = Workspace(faces=faces, selection=Selection(ids=ids[:5], current=int(ids[0])))
    assert reasons(many)["view.compare"] == "Needs two to four selected faces; 5 are selected."
    nothing = Workspace(faces=faces, arrangement=Arrangement(filter="zebra"))
    assert reasons(nothing)["select.all"] == "No face is shown. Clear the filter (Esc)."
    out = Workspace(faces=faces, excluded=ids[:1])
    assert "faces.include_all" not in reasons(out)
    alone = Workspace(faces=gallery(people=1))
    assert "two identities" in reasons(alone)["protocol.build_pairs"]


def test_identity_edits_can_be_taken_back_where_there_are_some() -> None:
    faces = FaceSet.build("g", Path("/nowhere"), paths=["0.png", "1.png", "2.png"], identities=["p", "p", None])
    edits = identities.named(identities.IdentityEdits(), faces, faces.ids[:1], "q")
    edited = Workspace(faces=identities.applied(faces, edits), identity_edits=edits)
    assert not {"identity.back_all", "identity.show"} & reasons(edited).keys()
    other = replace(edited, selection=Selection(current=int(faces.ids[2])))
    assert reasons(other)["identity.back"] == "The identity of these faces is not edited."
    assert reasons(other)["identity.rename"] == "The current face has no identity. Give it one first (I)."
    for chosen in (Selection(current=int(faces.ids[0])), Selection(ids=faces.ids)):
        assert "identity.back" not in reasons(replace(edited, selection=chosen))


def test_one_is_said_as_one() -> None:
    faces = gallery()
    one = Workspace(faces=faces, selection=Selection(ids=faces.ids[:1]))
    assert reasons(one)["view.compare"] == "Needs two to four selected faces; 1 is selected."
    none = Workspace(faces=faces, selection=Selection(ids=np.zeros(0, np.int64)))
    assert reasons(none)["view.compare"] == "Needs two to four selected faces; none is selected."


def test_where_every_face_is_excluded_none_is_said_to_be_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "model_usable", lambda *_: "")  # any model
    faces = gallery()
    assert actions.embeddable(Workspace(faces=faces)) == ""
    out = Workspace(faces=faces, excluded=faces.ids)
    assert actions.embeddable(out) == "No face is left: all pictures are excluded."


def test_training_needs_a_recipe_that_can_be_trained(tmp_path: Path) -> None:
    draft = Draft.of("bct", source="drawn", root=tmp_path)
    assert "old model" in reasons(Workspace(draft=draft))["training.start"]
    assert "training.start" not in reasons(Workspace(draft=draft.with_values({"models.old": "a.pth"})))
    assert "no TOML" in reasons(Workspace(draft=replace(draft, text="[[")))["training.start"]
    run = Run(tmp_path, Draft.of("cosface", source="drawn", root=tmp_path).final)  # type: ignore[arg-type]
    assert "training.resume" not in reasons(Workspace(run=run))
    assert "training.resume" in reasons(Workspace(run=replace(run, files=(tmp_path / "checkpoint.safetensors",))))
