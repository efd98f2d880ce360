"""What can be drawn: the table and the functions name the same figures, and recipes of trainings find their folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from facelens.__main__ import main
from facelens.analyses.evaluation import Evaluation
from facelens.analyses.plan import ProjectionPlan
from facelens.errors import InputError
from facelens.figures.sheet import Paper
from facelens.images.disguise import Guise
from facelens.session import drawing, figure_recipe, questions, shelf, training
from facelens.session.depicting import DEPICTED, View, against_of, alone_of, depict
from facelens.session.figure_recipe import recipe_of
from facelens.session.workspace import Workspace
from tests.session.evaluated import World
from tests.session.test_training import folder

NAMES = {
    "gallery": drawing.GALLERY,
    "doctor": drawing.DOCTOR,
    "models": drawing.MODELS,
    "evaluation": drawing.CHARTS,
    "uncertainty": drawing.UNCERTAINTY,
    "confidence": drawing.CONFIDENCE,
    "learners": drawing.LEARNERS,
    "match": drawing.MATCH,
    "upgrade": drawing.UPGRADE,
    "projection": drawing.PROJECTION,
    "training": drawing.TRAINING,
}


def test_the_table_names_what_can_be_drawn() -> None:
    assert {panel: row.names for panel, row in DEPICTED.items()} == NAMES
    for row in DEPICTED.values():
        assert len(set(row.titles.values())) == len(row.titles), "no two figures of a page are called the same"
        assert all(title[0].isupper() and not title.endswith(".") for title in row.titles.values())
        assert row.needs(Workspace()), "nothing can be drawn of nothing, and that is said"


def trained(out: Path, *, rows: int = 4, recipe: str = "cosface", **facts: Any) -> Path:
    """A folder with a training whose rows are all saved."""
    made = folder(out, recipe, name="my gallery")
    lines = [
        {"step": i + 1, "steps": rows, "rate": 0.1, "terms": {"loss": 1 / (i + 1)}, "facts": facts} for i in range(rows)
    ]
    (made / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    head = json.dumps({"__metadata__": {"facelens_state": json.dumps({"step": rows})}}).encode()
    (made / training.STATE).write_bytes(len(head).to_bytes(8, "little") + head)
    return made


def written(place: Path, workspace: Workspace, run: Path, *, paper: Paper | None = None) -> Path:
    """A figure of a training with its recipe, as the window writes them."""
    view = View(run=str(run))
    row = DEPICTED["training"]
    given, named = row.arguments(workspace, view)
    recipe = recipe_of(workspace, "training", view=view, paper=paper)
    (made,) = figure_recipe.draw(
        place, "training", given, named, which=("curves",), paper=paper or Paper(), recipe=recipe
    )
    return made


def test_a_training_is_drawn_again_from_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(tmp_path / "runs" / "first")
    workspace = Workspace(run=training.held(run))
    assert not DEPICTED["training"].needs(workspace)
    before = written(tmp_path / "c.svg", workspace, run, paper=Paper(4.0)).read_bytes()
    recipe = figure_recipe.beside(tmp_path / "c.svg")
    assert json.loads(recipe.read_text())["figure"]["view"]["run"] == "runs/first", "inside the recipe's folder"
    assert main(["render", str(recipe), "--out", str(tmp_path / "again.svg")]) == 0
    assert (tmp_path / "again.svg").read_bytes() == before
    (tmp_path / "moved").mkdir()
    for part in ("runs", recipe.name):
        (tmp_path / part).rename(tmp_path / "moved" / part)
    assert main(["render", str(tmp_path / "moved" / recipe.name), "--out", str(tmp_path / "third.svg")]) == 0
    assert (tmp_path / "third.svg").read_bytes() == before, "both together may go elsewhere"
    capsys.readouterr()


def test_what_is_hidden_stays_hidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(tmp_path / "run", beta=1.5, gamma=2.5)
    workspace = Workspace(run=training.held(run))
    view = View(run=str(run), hidden=("facts beta",))
    [drawn] = depict(workspace, "training", tmp_path / "h.svg", which=("curves",), view=view)
    assert ">gamma 2.5<" in drawn.read_text() and ">beta 1.5<" not in drawn.read_text()
    recipe = figure_recipe.beside(drawn)
    figure_recipe.write(replace(recipe_of(workspace, "training", view=view), format="svg"), recipe)
    assert main(["render", str(recipe), "--out", str(tmp_path / "again.svg")]) == 0
    assert (tmp_path / "again.svg").read_bytes() == drawn.read_bytes()
    capsys.readouterr()


def test_a_training_is_drawn_in_disguise(tmp_path: Path) -> None:
    run = trained(tmp_path / "run")
    given = {"which": ("curves",), "view": View(run=str(run))}
    [plain] = depict(Workspace(), "training", tmp_path / "p.svg", **given)
    [hidden] = depict(Workspace(), "training", tmp_path / "h.svg", **given, guise=Guise(pseudonyms=True, blur=True))
    assert "my gallery" in plain.read_text()
    assert "my gallery" not in hidden.read_text() and "on gallery" in hidden.read_text()


def test_a_recipe_from_elsewhere_opens_no_folder_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(tmp_path / "private" / "run")
    (tmp_path / "figures").mkdir()
    written(tmp_path / "figures" / "c.svg", Workspace(run=training.held(run)), run)
    recipe = figure_recipe.beside(tmp_path / "figures" / "c.svg")
    assert json.loads(recipe.read_text())["figure"]["view"]["run"] == str(run)
    out = ["--out", str(tmp_path / "x.svg")]
    assert main(["render", str(recipe), *out]) == 1
    assert "nothing there was opened here before" in capsys.readouterr().err and not (tmp_path / "x.svg").exists()
    assert main(["render", str(recipe), *out, "--trust"]) == 0
    shelf.trust([run])
    assert main(["render", str(recipe), *out]) == 0
    (run / training.RUN).unlink()
    assert main(["render", str(recipe), *out]) == 1
    assert "Nothing is trained yet" in capsys.readouterr().err


def test_a_training_that_told_nothing(tmp_path: Path) -> None:
    run = folder(tmp_path / "run", "cosface")
    with pytest.raises(InputError, match="Nothing is trained yet"):
        depict(Workspace(), "training", tmp_path / "c.svg", view=View(run=str(run)))
    with pytest.raises(InputError, match="Nothing is trained yet"):
        depict(Workspace(), "training", tmp_path / "c.svg")


def some(**fields: Any) -> Any:
    """As much of a workspace as a function looks at."""
    return SimpleNamespace(**{"operating": Workspace().operating, **fields})


def test_an_evaluation_is_drawn_without_its_scores(both: tuple[World, Evaluation], tmp_path: Path) -> None:
    """What goes to the worker is small: scores stay behind, faces are there for pictures of them."""
    world, found = both
    (evaluation,), named = DEPICTED["evaluation"].arguments(some(faces=world.faces, evaluation=found), View())
    assert evaluation.a.scores is None and evaluation.b.scores is None
    made = drawing.draw_charts(tmp_path / "e.svg", evaluation, **named)
    names = {path.stem.removeprefix("e ") for path in made}
    assert {"confusable", "retrieval", "roc", "breakdown", "summary", "rates", "queries"} <= names
    said = (tmp_path / "e summary.svg").read_text()
    v, old = found.b.verification, found.a.verification
    assert f">{v.eer.text(4)}<" in said and f">{old.auc.text(4)}<" in said
    assert f">{found.paired.eer.text(4, sign=True)}<" in said and "–: not compared" in said
    worst, queries = (tmp_path / "e queries.svg").read_text(), found.b.retrieval.queries
    first = world.faces.label(world.faces.row_of(int(queries.query[queries.worst("MAP@R")[0]])))
    assert f">{first}<" in worst and "worst first, by MAP@R" in worst
    rates = (tmp_path / "e rates.svg").read_text()
    assert all(f">{one.text(4)}<" in rates for _, one in found.b.identification.ranks if one.defined)


def test_the_score_that_stands_beside_the_variance(both: tuple[World, Evaluation]) -> None:
    faces, found = both[0].faces, SimpleNamespace(by="variance")
    numbers = np.arange(len(faces), dtype=np.float32)
    plain = faces.with_columns({"yaw": numbers, "blur": numbers, "variance": numbers})
    assert against_of(some(faces=faces, uncertainty=found), View()) == "", "there are only names"
    assert against_of(some(faces=plain, uncertainty=found), View()) == "blur"
    assert against_of(some(faces=plain, uncertainty=found), View(against="yaw")) == "yaw"
    assert against_of(some(faces=plain, uncertainty=found), View(against="light")) == "blur", "names are no score"
    by_yaw = SimpleNamespace(by="yaw")
    assert against_of(some(faces=plain, uncertainty=by_yaw), View()) == "variance"


def test_models_that_stand_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    def request(workspace: Any, **_: Any) -> Any:
        plan = workspace.projection_plan
        return SimpleNamespace(call=lambda **more: (plan.model, plan.other, plan.part), args=(), kwargs={})

    monkeypatch.setattr(questions, "projection", request)

    @dataclass
    class Two:
        features: dict[str, int]
        model_a: str = ""
        model_b: str = ""
        projection_plan: ProjectionPlan = field(default_factory=ProjectionPlan)

        @property
        def resolved_projection(self) -> ProjectionPlan:
            return self.projection_plan

    def names(workspace: Any, view: View | None = None) -> list[Any]:
        return [lay() for lay in alone_of(workspace, view or View())]

    every = dict.fromkeys(("old", "new", "third"), 0)
    on_map = ProjectionPlan(model="new", part=2)
    two = Two(every, "old", "new", on_map)
    assert names(two) == [("old", "", None), ("new", "", None)], "the old one at the left, whole vectors"
    assert names(two, View(beside="third")) == [("new", "", None), ("third", "", None)]
    assert names(Two(every, "old", "new", replace(on_map, other="third")))[1][0] == "third", "as they are on the map"
    assert names(Two({"new": 0}, "", "new", on_map)) == []
