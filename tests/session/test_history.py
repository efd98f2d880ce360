"""What was done by hand can be undone, one gesture at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses.plan import CURRENT, MatchPlan, Plan, ProjectionPlan, UpgradePlan
from facelens.images.faceset import FaceSet
from facelens.session import history, identities, subsets
from facelens.session.annotations import Annotations, rated
from facelens.session.draft import Draft
from facelens.session.history import PAUSE, UNDOABLE
from facelens.session.identities import IdentityEdits
from facelens.session.selection import Selection
from facelens.session.store import Store
from facelens.session.subsets import Subsets
from facelens.session.workspace import Arrangement, Operating, Source

DRAFT = Draft("tiny", 'kind = "margin"\nepochs = 6\n[optimiser]\nrate = 0.1\n', Path(), "drawn", Path("/t/tiny"))


class Told(Store):
    """A store whose time stands still until it is moved."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.clock = lambda: self.now

    def later(self, seconds: float = 2 * PAUSE) -> Told:
        self.now += seconds
        return self

    def alpha(self, alpha: float) -> None:
        self.update(match_plan=replace(self.workspace.match_plan, alpha=alpha))

    @property
    def labels(self) -> list[str]:
        return [step.label for step in self.workspace.history.steps]


@pytest.fixture
def store() -> Told:
    made = Told()
    faces = FaceSet.build("g", Path("/g"), paths=[f"{i}.jpg" for i in range(6)], identities=["Ada_B"] * 6)
    made.update(faces=faces.with_columns({"blur": np.arange(6.0)}), source=Source(Path("/g"), "g", 6, "folders"))
    return made


def _select(store: Told, *rows: int) -> None:
    faces = store.workspace.faces
    assert faces is not None
    store.update(selection=Selection(faces.ids[list(rows)]))


def test_back_and_forth(store: Told) -> None:
    _select(store, 0, 1)
    store.later().update(arrangement=Arrangement(sort="blur"))
    store.later().alpha(0.55)
    store.later().update(operating=Operating(1e-3))
    said = ["selection of 2 faces", "sort by blur", "alpha 0.70 → 0.55", "operating point FAR 1e-3"]
    assert store.labels == said
    store.go(1)
    now = store.workspace
    assert (now.match_plan.alpha, now.arrangement, now.operating) == (0.7, Arrangement(), Operating())
    assert len(now.selection) == 2 and (now.history.undo, now.history.redo) == (said[0], said[1])
    store.go(4)
    assert store.workspace.match_plan.alpha == 0.55 and not store.workspace.history.redo
    store.go(2)
    store.update(refusal=3)
    assert store.labels == [*said[:2], "refusal line"], "what was undone goes when something else is done"


def test_a_drag_is_one_step(store: Told) -> None:
    for alpha in (0.69, 0.68, 0.60):
        store.later(PAUSE / 2).alpha(alpha)
    assert store.labels == ["alpha 0.70 → 0.60"]
    store.later().alpha(0.5)
    store.held = lambda: True
    store.later().alpha(0.4)
    store.later().alpha(0.3)
    store.held = lambda: False
    store.later().alpha(0.2)  # as the button goes up
    assert store.labels == ["alpha 0.70 → 0.60", "alpha 0.60 → 0.50", "alpha 0.50 → 0.20"]
    store.later(PAUSE / 2).update(match_plan=replace(store.workspace.match_plan, weights="apc"))
    store.later(PAUSE / 2).alpha(0.1)
    assert len(store.labels) == 5, "another control is another step"
    store.go(4)
    store.alpha(0.9)
    assert len(store.labels) == 5, "nothing joins a step that one has gone back to"
    store.alpha(0.2)
    assert len(store.labels) == 4, "a drag back to where it began is none"
    store.alpha(0.9)
    assert len(store.labels) == 5


def test_faces_put_to_a_selection_are_a_step_each_and_walking_is_one(store: Told) -> None:
    for rows in ((0,), (1,), (2,)):
        _select(store.later(PAUSE / 2), *rows)
    assert store.labels == ["selection of Ada B"]
    _select(store.later(PAUSE / 2), 2, 3)
    _select(store.later(PAUSE / 2), 2, 3, 4)
    store.update(selection=store.workspace.selection.looking_at(store.workspace.faces.ids[4]))  # of the same click
    assert store.labels[1:] == ["selection of 2 faces", "selection of 3 faces"]


def test_what_follows_from_a_step_belongs_to_it(store: Told) -> None:
    assert store.workspace.faces is not None
    first, second = (int(face) for face in store.workspace.faces.ids[:2])
    store.listen(
        lambda changed, _: (
            store.update(query=store.workspace.selection.current) and None if "selection" in changed else None
        )
    )
    store.update(selection=Selection(current=first))
    store.later().update(selection=Selection(current=second))
    assert len(store.labels) == 2
    store.go(1)
    assert store.workspace.query == first
    store.later().update(query=second)
    store.go(2)
    store.go(1)
    assert store.workspace.query == first, "a listener does not have the last word"


def test_what_nobody_did_by_hand_is_no_step(store: Told) -> None:
    with store.aside():
        store.alpha(0.5)
    store.update(notes=("an answer",), model_b="net")
    assert not store.labels
    _select(store, 0)
    store.update(source=Source(Path("/other"), "other", 6, "folders"), selection=Selection())
    assert not store.labels, "another gallery, another history"


def test_what_changed_beside_a_step_stays(store: Told) -> None:
    assert store.workspace.faces is not None
    ids = store.workspace.faces.ids
    store.update(excluded=ids[:2])
    store.later().alpha(0.5)
    store.update(notes=("the doctor",), excluded=ids[:3], match_plan=MatchPlan(alpha=0.5, weights="lmk"))
    assert store.labels == ["exclusion of 2 faces", "alpha 0.70 → 0.50"]
    store.go(0)
    assert store.workspace.excluded.tolist() == [ids[2]]
    assert store.workspace.match_plan == MatchPlan(weights="lmk")


def test_what_is_gone_is_left_out_and_said(store: Told) -> None:
    assert store.workspace.faces is not None
    with store.aside():
        store.update(model_a="old", arrangement=Arrangement("blur > 1", "blur"))
    store.update(model_a="")
    store.later().update(arrangement=Arrangement())
    store.later().alpha(0.5)
    store.update(faces=replace(store.workspace.faces, columns={}))
    assert store.go(0) == ("blur > 1", "blur", "old")
    assert store.workspace.arrangement == Arrangement() and store.workspace.model_a == ""
    assert store.workspace.match_plan.alpha == 0.7 and len(store.workspace.shown) == 6


def test_queries_of_another_gallery_come_back_with_their_set(store: Told) -> None:
    assert store.workspace.faces is not None
    here = int(store.workspace.faces.ids[0])
    others = FaceSet.build("masked", Path("/m"), paths=["a.jpg", "b.jpg"], identities=["Cy", "Di_E"])
    first, second = (int(face) for face in others.ids)
    store.update(query=here)
    with store.aside(), store.by_hand():
        store.later().update(queries=others, query=first)  # brought by a job
    store.later().update(query=second)
    store.later().update(queries=None, query=here)
    assert store.labels == ["query Ada B", "query set masked", "query Di E", "query set of this gallery"]
    for done, queries, query in ((3, others, second), (2, others, first), (1, None, here), (3, others, second)):
        assert store.go(done) == ()
        assert store.workspace.queries is queries and store.workspace.query == query
    with store.aside():
        store.update(queries=None, query=here)
    assert store.go(2) == ("the query",) and store.workspace.query == here, "not a query of a set that is gone"


def test_an_upgrade_is_told_and_does_without_a_model_that_is_gone(store: Told) -> None:
    with store.aside():
        store.update(upgrade_plan=UpgradePlan(old="a", new="b"))
    store.update(upgrade_plan=replace(store.workspace.upgrade_plan, old="c"))
    store.later().update(upgrade_plan=replace(store.workspace.upgrade_plan, far=1e-2))
    assert store.labels == ["old model a → c", "FAR 1e-3 → 1e-2"]
    assert {step.place for step in store.workspace.history.steps} == {"Upgrade"}
    assert store.go(0) == ("a",) and store.workspace.upgrade_plan == UpgradePlan(old="c", new="b")


def test_a_model_that_is_named_by_the_way_gives_no_step_its_name(store: Told) -> None:
    plan = store.workspace.match_plan
    store.update(match_plan=replace(plan, model="net", layer="stage1"))
    store.later().update(match_plan=replace(plan, model="net", grid=(4, 4)))
    assert store.labels == ["patch layer stage1", "patch layer stage1 → usual"]
    store.go(0)
    store.update(match_plan=replace(plan, model="net"))
    assert store.labels == ["model net"]


def test_history_is_bounded(store: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST", 3)
    for rows in ((0, 1), (0, 2), (0, 3), (0, 4)):
        _select(store.later(), *rows)
    assert len(store.labels) == 3
    store.go(0)
    assert len(store.workspace.selection) == 2, "not beyond what is known"
    monkeypatch.setattr(history, "MOST_BYTES", 40)
    for rows in ((0, 1), (0, 2), (0, 3), (0, 4)):
        _select(store.later(), *rows)
    assert len(store.labels) == 2, "16 bytes each"


@pytest.mark.parametrize("name", UNDOABLE)
def test_every_undoable_field_can_be_told(store: Told, name: str) -> None:
    from facelens.images.occlusion import Occlusion

    assert store.workspace.faces is not None
    face = int(store.workspace.faces.ids[0])
    new = {
        "excluded": np.array([face]),
        "occlusion": Occlusion("mask"),
        "queries": store.workspace.faces,
        "query": face,
        "selection": Selection(current=face),
        "left_out": (1,),
        "crossing": "ab",
        "operating": Operating(threshold=0.3, of="a"),
        "annotations": rated(Annotations(), np.array([face]), 3),
        "subsets": subsets.put(Subsets(), "mine", np.array([face])),
        "identity_edits": identities.named(IdentityEdits(), store.workspace.faces, np.array([face]), "somebody"),
    }
    with store.aside():
        store.update(draft=DRAFT)
    new["draft"] = replace(DRAFT, name="other", text="")
    old = getattr(store.workspace, name)
    if name not in new:
        fresh: dict[type, object] = {int: 1, str: "net"}
        new[name] = fresh.get(type(old)) or replace(old, **{next(iter(vars(old))): "net"})
    store.update(**{name: new[name]})
    assert len(store.labels) == 1 and store.labels[0]
    store.go(0)
    assert history.same(getattr(store.workspace, name), old)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"projection_plan": ProjectionPlan(part=CURRENT)}, "part all parts → the current one"),
        ({"projection_plan": ProjectionPlan(part=2)}, "part all parts → 3"),
        ({"projection_plan": ProjectionPlan(method="tsne")}, "method UMAP → t-SNE"),
        ({"plan": Plan(r_mode="paper", nmi_mean="")}, "rule of R the others → the query too"),
        ({"upgrade_plan": UpgradePlan(far=1e-2)}, "FAR 1e-3 → 1e-2"),
        ({"match_plan": MatchPlan(weights="sc similarity")}, "weighting uniform → SC sim"),
    ],
)
def test_steps_speak_as_the_screen_does(store: Told, changes: dict[str, object], said: str) -> None:
    store.update(**changes)
    assert store.labels == [said]


def test_what_is_typed_into_one_line_of_a_recipe_is_one_step(store: Told) -> None:
    with store.aside():
        store.update(draft=DRAFT)

    def write(old: str, new: str) -> None:
        draft = store.workspace.draft
        assert draft is not None
        store.update(draft=replace(draft, text=draft.text.replace(old, new)))

    for old, new in (("rate = 0.1", "rate = "), ("rate = ", "rate = 0"), ("rate = 0", "rate = 0.05")):
        store.later(2.0)
        write(old, new)
    assert store.labels == ["rate 0.1 → 0.05"], "also with short rests"
    store.later(0.2)
    write("epochs = 6", "epochs = 9")
    assert store.labels[1:] == ["length 6 epochs → 9 epochs"], "another line is another step, however fast"
    store.later(60)
    write("epochs = 9", "epochs = 12")
    assert store.labels[2:] == ["length 9 epochs → 12 epochs"]
    store.later(1)
    write("epochs = 12", "epochs = 9")
    assert len(store.labels) == 2, "what is taken back at once was nothing"
    store.go(0)
    assert store.workspace.draft == DRAFT


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        (replace(DRAFT, name="arcface", text="steps = 1", out=Path("/t/arcface")), "recipe arcface"),
        (replace(DRAFT, name="/r/my.toml"), "recipe my"),
        (replace(DRAFT, source="open"), "faces the sample world, drawn → the open gallery"),
        (replace(DRAFT, out=Path("/t/again")), "folder tiny → again"),
        (DRAFT.with_values({"epochs": None, "steps": 50}), "length 6 epochs → 50 steps"),
        (DRAFT.with_values({"models.start": "/m/net.pt", "network.options": {}}), "weights to start from net.pt"),
        (DRAFT.with_values({"loss.margin": 0.4}), "loss.margin 0.4"),
        (DRAFT.with_values({"loss.margin": 0.4, "seed": 3}), "2 settings of the recipe"),
        (replace(DRAFT, text="steps ="), "text of the recipe"),
        (replace(DRAFT, text=DRAFT.text + "# tried it"), "text of the recipe"),
        (replace(DRAFT.with_values({"seed": 3}), out=Path("/t/tiny-2")), "seed 3"),
    ],
)
def test_changes_of_a_recipe_are_told_as_the_form_says_them(store: Told, draft: Draft, said: str) -> None:
    with store.aside():
        store.update(draft=DRAFT)
    store.update(draft=draft)
    assert store.labels == [said] and store.workspace.history.steps[0].place == "Training"
    store.go(0)
    assert store.workspace.draft == DRAFT
