"""Recipes of figures: a script redraws them byte for byte, and what a stranger wrote into one does no harm."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.__main__ import main
from facelens.analyses import nearest
from facelens.analyses.plan import EnsemblePlan, MatchPlan, PartsPlan, ProjectionPlan, UpgradePlan
from facelens.commands import work
from facelens.errors import InputError
from facelens.features import library
from facelens.figures import sheet, whatif
from facelens.figures.sheet import Paper
from facelens.images.disguise import Guise
from facelens.images.faceset import Labels
from facelens.resources import sample_data, sample_models
from facelens.session import archive, depicting, drawing, figure_recipe, listing, matching, questions, replay
from facelens.session.annotations import Annotations, noted, tagged
from facelens.session.archive import Archive, Gallery, Model, Place
from facelens.session.depicting import CHANGE, DEPICTED, ON_MAP, View
from facelens.session.figure_recipe import Recipe
from facelens.session.outgoing import outgoing
from facelens.session.selection import Selection
from facelens.session.workspace import Operating, Workspace
from facelens.words import number

NETS = ("old", "lce", "universal")
# The last ones are drawn of what a view names, see below.
SKIPPED = {
    ("match", "sweep"), ("learners", "groups"), ("confidence", "jury"), ("match", "grids"), ("match", "solvers"),
    ("evaluation", "errors"), ("upgrade", "errors"), ("match", "saliency"),
}  # fmt: skip
# Nothing is wrong with these faces, and no model was tried.
DRAWN = [word for word, row in DEPICTED.items() if row.gallery and word not in ("doctor", "models")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 24 drawn faces of 8 people and three networks."""
    room = tmp_path_factory.mktemp("project")
    people = sorted(path for path in sample_data().iterdir() if path.is_dir() and not path.name.startswith("."))
    people = [one for one in people if len(list(one.glob("*.jpg"))) >= 3][:8]
    for one in people:
        (room / "faces" / one.name).mkdir(parents=True)
        for picture in sorted(one.glob("*.jpg"))[:3]:
            shutil.copy(picture, room / "faces" / one.name)
    (room / "models").mkdir()
    for path in sample_models():
        if path.stem in NETS:
            shutil.copy(path, room / "models")
    (room / "home").mkdir()
    return room


@pytest.fixture(autouse=True)
def home(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors and maps are made once, and here: a process of its own for each recipe takes seconds."""
    monkeypatch.setenv("FACELENS_HOME", str(project / "home"))
    monkeypatch.setattr(work, "apart", lambda call, *given, tick, **how: call(*given, **how, tick=tick))


@pytest.fixture(scope="module")
def asked(project: Path) -> Archive:
    """What a workspace file in that folder says."""
    models = []
    for name in NETS:
        path = project / "models" / f"{name}.safetensors"
        seen = library.inspect(path)
        models.append(Model(Place(path), seen.sha256, seen.card))
    fields = {
        "model_a": "old",
        "model_b": "lce",
        "operating": Operating(far=0.1),
        "ensemble": EnsemblePlan(members=("old", "lce"), target="lce", far=0.1, fpir=0.3, resamples=50),
        "upgrade_plan": UpgradePlan(far=0.1, fpir=0.3, resamples=50),
        "parts_plan": PartsPlan(model="universal", far=0.1),
        "learners_plan": PartsPlan(model="lce", parts=4, alone=True),
        "projection_plan": ProjectionPlan(model="old", other="lce", method="pca"),
        "match_plan": MatchPlan(model="lce", shortlist=5),
    }
    names = sorted(str(path.relative_to(project / "faces")) for path in (project / "faces").glob("*/*.jpg"))
    return Archive(
        path=project / "work.facelens",
        galleries=(Gallery(Place(project / "faces"), "folders"),),
        models=tuple(models),
        stores=dict.fromkeys(NETS, "made anew"),
        fields=fields,
        selected=(names[0], names[4]),
        query=names[0],
    )


@pytest.fixture(scope="module")
def workspace(asked: Archive, project: Path) -> Iterator[Workspace]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FACELENS_HOME", str(project / "home"))
        yield replay.replay(asked).workspace


def named(workspace: Workspace, row: int) -> str:
    assert workspace.faces is not None
    return archive.names_of(workspace.faces, workspace.faces.ids[[row]])[0]


# Opening without a window


def test_a_file_is_brought_back_without_a_window(workspace: Workspace, asked: Archive) -> None:
    faces = workspace.faces
    assert faces is not None and len(faces) == 24 and len(faces.identity.names) == 8
    assert list(workspace.features) == list(NETS) and all(len(one) == 24 for one in workspace.features.values())
    assert (workspace.model_a, workspace.model_b) == ("old", "lce")
    assert archive.names_of(faces, workspace.selection.ids) == asked.selected
    assert workspace.diagnosis is not None and "norm, old" in faces.columns
    assert workspace.query == workspace.selection.ids[0]


def test_vectors_are_made_once(asked: Archive, workspace: Workspace) -> None:
    def never(*given: Any, **how: Any) -> Any:
        raise AssertionError("embedded again")

    again = replay.replay(asked, embed=never)
    assert not again.changed and np.array_equal(
        again.workspace.features["old"].vectors, workspace.features["old"].vectors
    )


def test_what_has_changed_is_told(asked: Archive, workspace: Workspace) -> None:
    first = replace(asked.galleries[0], digest="0" * 32)
    model = replace(asked.models[0], sha256="0" * 64)
    changed = replace(asked, galleries=(first,), models=(model, *asked.models[1:]), selected=("gone/away.jpg",))
    told = " ".join(replay.replay(changed).changed)
    assert "come, gone or been renamed" in told and "another than it was" in told and "1 picture" in told


def test_what_is_missing_has_a_next_step(asked: Archive, project: Path, tmp_path: Path) -> None:
    cases: list[tuple[Archive, str]] = [
        (replace(asked, galleries=()), "names no gallery"),
        (replace(asked, galleries=(Gallery(Place(project / "away")),)), "There is nothing at"),
        (replace(asked, galleries=(Gallery(Place(tmp_path)),)), "nothing there was opened here before"),
        (replace(asked, stores={**asked.stores, "vectors": "x"}), "not on this computer any more"),
    ]
    for found, words in cases:
        with pytest.raises(InputError, match=words) as caught:
            replay.replay(found)
        assert caught.value.hint
    with pytest.raises(InputError, match="No pictures were found"):  # trusted, and looked into
        replay.replay(replace(asked, galleries=(Gallery(Place(tmp_path)),)), trusted=True)


# Figures


def test_every_figure_has_a_title_and_a_name_that_drawing_knows() -> None:
    from facelens.session import drawing

    known = {
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
    }
    for word, names in known.items():
        assert DEPICTED[word].names == tuple(names)
    assert all(title for row in DEPICTED.values() for title in row.titles.values())


@pytest.mark.parametrize("word", DRAWN)
def test_recipes_give_the_same_files(
    word: str, workspace: Workspace, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [name for name in DEPICTED[word].names if (word, name) not in SKIPPED]
    out = project / f"{word}.svg"
    drawn = depicting.depict(workspace, word, out, which=names)
    assert len(drawn) >= len(names) - 1, "of so small a gallery nearly everything can be drawn"
    recipe, places = figure_recipe.recipe_of(workspace, word), []
    for path in drawn:
        name = path.stem.removeprefix(f"{word} ") if len(names) > 1 else names[0]
        places.append(figure_recipe.beside(path))
        figure_recipe.write(replace(recipe, name=name, format="svg"), places[-1])
        assert str(project) not in places[-1].read_text(), "places inside the folder are relative"
    first = [path.read_bytes() for path in drawn]
    for path in drawn:
        path.unlink()
    assert main(["render", *map(str, places), "--strict"]) == 0
    assert [path.read_bytes() for path in drawn] == first
    assert capsys.readouterr().out.count("Drawn:") == len(drawn)


def test_the_jury_of_a_pair_and_a_map_of_changes(workspace: Workspace, project: Path) -> None:
    pair = View(pair=(named(workspace, 0), named(workspace, 1)))
    [jury] = depicting.depict(workspace, "confidence", project / "jury.svg", which=("jury",), view=pair)
    [changes] = depicting.depict(workspace, "projection", project / "c.svg", which=("map",), view=View(colour=CHANGE))
    assert jury.stat().st_size > 1000 and "lost" in changes.read_text()
    for word, name, view, drawn in (
        ("confidence", "jury", pair, jury),
        ("projection", "map", View(colour=CHANGE), changes),
    ):
        place = figure_recipe.beside(drawn)
        figure_recipe.write(
            replace(figure_recipe.recipe_of(workspace, word, view=view), name=name, format="svg"), place
        )
        assert main(["render", str(place), "--out", str(project / "again.svg")]) == 0
        assert (project / "again.svg").read_bytes() == drawn.read_bytes()


def redrawn(workspace: Workspace, place: Path, word: str, name: str, view: View) -> bytes:
    """A figure of a view, drawn again from its recipe to the same bytes."""
    [drawn] = depicting.depict(workspace, word, place, which=(name,), view=view)
    recipe = replace(figure_recipe.recipe_of(workspace, word, view=view), name=name, format="svg")
    figure_recipe.write(recipe, figure_recipe.beside(drawn))
    assert figure_recipe.read(figure_recipe.beside(drawn)).view == view
    assert main(["render", str(figure_recipe.beside(drawn)), "--out", str(place.with_name("again.svg"))]) == 0
    assert place.with_name("again.svg").read_bytes() == drawn.read_bytes()
    return drawn.read_bytes()


def test_searches_by_other_grids_and_solvers(workspace: Workspace, project: Path) -> None:
    """What was tried stands in the view; without a window it is searched for again."""
    plan = workspace.resolved_match
    tried = View(tried=(plan, replace(plan, grid=(2, 2)), replace(plan, solver="sinkhorn", epsilon=0.1)))
    assert b"2 \xc3\x97 2" in (by_grid := redrawn(workspace, project / "g.svg", "match", "grids", tried))
    assert b"Sinkhorn" not in by_grid, "it differs in two ways from the others"
    solvers = redrawn(workspace, project / "s.svg", "match", "solvers", tried)
    assert b"Sinkhorn, \xce\xb5 0.1" in solvers and b"native" not in solvers
    with pytest.raises(InputError, match="Only one grid was tried"):
        depicting.depict(workspace, "match", project / "x.svg", which=("grids",), view=View(tried=(plan,)))


def test_ranks_of_queries_and_regions_of_a_selection(workspace: Workspace, project: Path) -> None:
    """In the order of the list, under each occlusion, and of the selected faces on average."""
    now = questions.answered(workspace, ["sweep"])
    faces, sweep = now.faces, depicting.sweep_of(now)
    assert faces is not None and sweep is not None
    turned = replace(workspace, looks=replace(workspace.looks, queries_order="before reversed"))
    said = redrawn(turned, project / "q.svg", "match", "ranks", View()).decode()
    worst = np.lexsort((np.arange(len(sweep.ranks)), sweep.ranks, -sweep.ranks))
    names = [faces.label(row) for row in faces.rows_of(sweep.queries[worst]).tolist()]
    shown = [one for one in re.findall(r">([^<>]+)</text>", said) if one in set(names)]
    assert shown == names and "worst rank before first" in said
    assert said != redrawn(workspace, project / "q.svg", "match", "ranks", View()).decode()
    painted = redrawn(workspace, project / "o.svg", "match", "painted", View()).decode()
    assert all(f">{kind}</text>" in painted for kind in ("None", "Mask", "Sunglasses", "Crop to 70 %", "Blocks"))
    ids = workspace.selection.ids
    found = matching.ledgers(questions.ground(now), ids, now.resolved_match)
    means = redrawn(workspace, project / "a.svg", "match", "averaged", View()).decode()
    emd, away = found.mate.total[0], found.mate.total[0] - found.other.total[0]
    assert f">{number(emd)}  ({number(away, sign=True)})<" in means
    assert "2 selected faces" in means and f"mean of {found.mate.n} pairs" in means
    one = replace(workspace, selection=Selection(ids[:1]))
    with pytest.raises(InputError, match="Fewer than two faces"):
        depicting.depict(one, "match", project / "x.svg", which=("averaged",))


def test_maps_of_the_pair_that_the_page_has(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    now = questions.answered(workspace, ["match"])
    both = View(heat=("occlusion", "gradient"))
    said = redrawn(workspace, project / "s.svg", "match", "saliency", both).decode()
    found = [work() for work in depicting.salient_of(now, both)]
    assert [one.kind for one in found] == ["occlusion", "gradient"]
    assert all(one.titles[0] in said for one in found) and said.count("deletion check") == 2
    one = redrawn(workspace, project / "s.svg", "match", "saliency", View(heat=("gradient",))).decode()
    assert ">Gradient</text>" in one and ">Occlusion</text>" not in one
    pictures = []
    for guise in (Guise(), Guise(blur=True)):
        [path] = depicting.depict(
            workspace, "match", tmp_path / "b.svg", which=("saliency",), view=both, guise=guise
        )  # fmt: skip
        pictures.append(re.findall(r'href="data:image/png;base64,([^"]+)"', path.read_text()))
    plain, blurred = (set(one) for one in pictures)
    assert len(plain - blurred) >= 2, "neither face is seen as it is"
    with pytest.raises(InputError, match="No saliency is worked out"):
        depicting.depict(workspace, "match", project / "x.svg", which=("saliency",))


def test_learners_as_the_page_has_them(workspace: Workspace, project: Path) -> None:
    """Recall@k, the limit of specialists and the current face are those of the page."""
    faces = workspace.faces
    assert faces is not None
    now = replace(workspace, selection=Selection(faces.ids[:1], int(faces.ids[0])), part=2)
    four, one = (redrawn(now, project / "t.svg", "learners", "table", View(k=k)) for k in (4, 1))
    assert b"Recall@4" in four and b"Recall@1" in one and four != one
    assert b"Recall@4 in 90" in redrawn(now, project / "d.svg", "learners", "dimensions", View(k=4))
    ranks = redrawn(now, project / "r.svg", "learners", "ranks", View())
    assert faces.label(0).encode() in ranks and b"bold: slice 3" in ranks
    nobody = replace(now, selection=Selection())
    with pytest.raises(InputError, match="No face is current"):
        depicting.depict(nobody, "learners", project / "x.svg", which=("ranks",))


def test_faces_and_people_in_the_order_of_the_page(workspace: Workspace, project: Path) -> None:
    names = tuple(named(workspace, row) for row in (9, 3, 20))
    view = View(listed=names, by="2", descending=False, columns=tuple(reversed(range(8))))
    said = redrawn(workspace, project / "m.svg", "confidence", "matrix", view).decode()
    heads = re.findall(r">([1-8])</text>", said)
    assert heads == [str(k) for k in range(8, 0, -1)] and "sorted by part 3" in said and "first 3 of 24" in said
    assert workspace.faces is not None
    people = workspace.faces.identity.names
    view = View(people=(people[6], people[2], people[4]))
    said = redrawn(workspace, project / "p.svg", "uncertainty", "identities", view).decode()
    shown = [one for one in re.findall(r">([^<>]+)</text>", said) if one in {name.replace("_", " ") for name in people}]
    assert set(shown) <= {name.replace("_", " ") for name in view.people} and shown, "nobody else is listed"


def test_two_parts_and_votes_on_many_pairs(workspace: Workspace, project: Path) -> None:
    now = replace(workspace, part=1)
    said = redrawn(now, project / "t.svg", "confidence", "two parts", View(other=4)).decode()
    assert "part 2: distance" in said and "part 5: distance" in said and "on which they disagree most" in said
    by_itself = redrawn(now, project / "t.svg", "confidence", "two parts", View()).decode()
    assert "part 2: distance" in by_itself and by_itself.count(": distance to") == 2
    everybody = replace(now, selection=Selection(), left_out=(3,))
    votes = redrawn(everybody, project / "v.svg", "confidence", "many pairs", View(pairs="genuine")).decode()
    assert "genuine pairs" in votes and "grey: left out" in votes and votes.count(">part ") == 8


def test_the_pairs_behind_what_was_clicked(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    """The very list of the page, worst first; in disguise its title names nobody, by name or by a group."""
    now = questions.answered(workspace, ["evaluation"])
    faces, found = now.faces, now.evaluation
    assert faces is not None and found is not None and found.b is not None and found.b.scores is not None
    scores = found.b.scores
    errors = listing.errors(scores, 0.9)
    assert len(errors) > 4
    tapped = listing.tapped(faces, errors, 4)
    said = redrawn(workspace, project / "e.svg", "evaluation", "errors", View(tapped=tapped)).decode()
    shown = [float(one) for one in re.findall(r">(\d\.\d{3})</text>", said)]
    assert shown == [round(float(one), 3) for one in errors.score[:4]] and errors.title in said
    assert f"the worst 4 of {errors.total}" in said and f"B: {found.b.name}" in said
    one, other = faces.identity.names[:2]
    people = listing.between_people(scores, 0, 1, 0.9, title=f"{one} and {other}".replace("_", " "))
    column = Labels.of(["Lisbon", "Porto"] * 12)
    sided = faces.with_columns({"city": column})
    inside = listing.errors_among(
        scores, faces.ids[::2], 0.0, genuine=False, name="Lisbon", column="city", group="Lisbon"
    )  # fmt: skip
    for found_pairs, hidden in ((people, one.replace("_", " ")), (inside, "Lisbon")):
        head = listing.tapped(faces, found_pairs, 5)
        assert head is not None
        names = []
        for guise in (Guise(), Guise(pseudonyms=True)):
            listed = listing.listed_again(faces, head, None)
            (charts, given), more = outgoing(guise, (found, listed), {"faces": sided}, first=sided)
            [path] = drawing.draw_charts(tmp_path / "p.svg", charts, listed=given, **more, which=("errors",))
            names.append(path.read_text())
        assert hidden in names[0] and hidden not in names[1]
    with pytest.raises(InputError, match="No pair is listed"):
        depicting.depict(workspace, "evaluation", project / "x.svg", which=("errors",))


def test_who_moved_most(workspace: Workspace, project: Path) -> None:
    said = redrawn(workspace, project / "w.svg", "projection", "moved", View()).decode()
    assert workspace.faces is not None
    assert all(f">{name.replace('_', ' ')}</text>" in said for name in workspace.faces.identity.names)
    with_groups = workspace.faces.with_columns({"kind": Labels.of(["near", "far"] * 12)})
    now = questions.answered(replace(workspace, faces=with_groups), ["projection"])
    [drawn] = depicting.depict(now, "projection", project / "k.svg", which=("moved",), view=View(groups="kind"))
    assert ">near</text>" in drawn.read_text() and "groups of kind" in drawn.read_text()
    alone = replace(workspace, projection_plan=replace(workspace.projection_plan, other=""))
    with pytest.raises(InputError, match="Nobody moves on a map of one model"):
        depicting.depict(alone, "projection", project / "x.svg", which=("moved",))


def test_lines_to_the_nearest_of_a_face(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    faces = workspace.faces
    assert faces is not None
    bare = redrawn(workspace, project / "n.svg", "projection", "map", View()).decode()
    view = View(near=named(workspace, 5))
    said = redrawn(workspace, project / "n.svg", "projection", "map", view).decode()
    near = nearest.links(faces, [workspace.features["old"]], int(faces.ids[5]))[0]
    assert f"ring: {faces.label(5)}" in said and f"old: {near.words}" in said and "ring:" not in bare
    gone = replace(workspace, excluded=near.pairs[:3, 1])
    [drawn] = depicting.depict(gone, "projection", tmp_path / "g.svg", which=("map",), view=view)
    other = nearest.links(faces, [workspace.features["old"]], int(faces.ids[5]), without=gone.excluded)[0]
    assert f"old: {other.words}" in drawn.read_text()
    [hidden] = depicting.depict(
        workspace, "projection", tmp_path / "h.svg", which=("map",), view=view, guise=Guise(pseudonyms=True)
    )
    assert "ring: P0" in hidden.read_text() and faces.label(5) not in hidden.read_text()
    lost = View(near="gone/away.jpg")
    [drawn] = depicting.depict(workspace, "projection", tmp_path / "l.svg", which=("map",), view=lost)
    assert drawn.read_text() == bare


def test_cells_of_the_plan_and_colours_of_the_upgrade(workspace: Workspace, project: Path) -> None:
    flow = [redrawn(workspace, project / "f.svg", "match", "flow", View(cells=c)) for c in ("flow", "cost", "distance")]
    assert len(set(flow)) == 3 and b">Cost<" in flow[1] and b">Distance<" in flow[2]
    maps = [redrawn(workspace, project / "u.svg", "upgrade", "map", View(on_map=way)) for way in ON_MAP]
    assert b"lost" in maps[0] and b"a colour for each" in maps[1] and b"higher is farther" in maps[2]


def test_flips_of_pairs_and_errors_of_a_test(workspace: Workspace, project: Path) -> None:
    now = questions.answered(workspace, ["upgrade"])
    faces, found = now.faces, now.upgrade
    assert faces is not None and found is not None and found.flips is not None
    pairs = found.flips.pairs
    said = redrawn(workspace, project / "p.svg", "upgrade", "pairs", View()).decode()
    lost, gained = (int((pairs.change == way).sum()) for way in (-1, 1))
    assert lost + gained and f": {lost} lost, {gained} gained" in said
    assert said.count(">lost</text>") == min(lost, 30 - min(gained, 15)) and " → " in said
    test = found.matrix.tests[0]
    view = View(tested=(test.query, test.gallery, test.direction))
    work = depicting.errors_of(now, view)
    assert work is not None
    errors = work()
    said = redrawn(workspace, project / "e.svg", "upgrade", "errors", view).decode()
    assert f": {errors.missed} pair" in said and said.count(">missed</text>") == min(errors.missed, 30)
    assert all(f">{number(float(one), 3)}</text>" in said for one in errors.score[:3])
    for tested in ((), (test.query, "nobody", "direct")):
        with pytest.raises(InputError, match="No test is chosen"):
            depicting.depict(workspace, "upgrade", project / "x.svg", which=("errors",), view=View(tested=tested))


def test_trials_of_a_model(workspace: Workspace, project: Path, tmp_path: Path) -> None:
    assert workspace.faces is not None
    view = View(fed="old", pair=(named(workspace, 0), named(workspace, 4)))
    work = depicting.DEPICTED["models"].arguments(workspace, view)[1]["feeding"]
    what = work()
    said = [redrawn(workspace, project / "m.svg", "models", name, view).decode() for name in ("feeding", "table")]
    assert all(f">{one.variant.name}</text>" in svg for one in what.outcomes for svg in said)
    assert all(f">{cell}</text>" in said[1] for row in whatif.cells(what) for cell in row if cell)
    assert ">pair</text>" in said[1] and "24 pictures of 8 people" in said[0]
    [held] = drawing.draw_models(tmp_path / "m.svg", workspace.faces, model="old", feeding=what, which=("feeding",))
    assert held.read_text() == said[0], "of the trial that was made, and made again"
    both = View(forms=("old", str(project / "models" / "lce.safetensors")))
    forms = redrawn(workspace, project / "f.svg", "models", "forms", both).decode()
    assert "The forms differ: 24 pictures are below the line" in forms and "lce.safetensors" in forms
    hidden = depicting.depict(
        workspace, "models", tmp_path / "h.svg", view=replace(view, forms=both.forms), guise=Guise(pseudonyms=True)
    )
    names = workspace.faces.identity.names
    told = [path.read_text() for path in hidden]
    assert len(told) == 3 and "file.safetensors and file.safetensors" in told[2] and "P000" in told[2]
    assert not [name for name in names for svg in told if name.replace("_", " ") in svg]
    for name, words in (("table", "No other way of feeding was tried"), ("forms", "No two forms were compared")):
        with pytest.raises(InputError, match=words):
            depicting.depict(workspace, "models", project / "x.svg", which=(name,))


def test_a_form_from_elsewhere_is_not_read_by_itself(
    workspace: Workspace, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(project / "models" / "old.safetensors", tmp_path / "other.safetensors")
    place, out = project / "f.svg.recipe.json", ["--out", str(tmp_path / "f.svg")]
    view = View(forms=("old", str(tmp_path / "other.safetensors")))
    recipe = figure_recipe.recipe_of(workspace, "models", view=view)
    figure_recipe.write(replace(recipe, name="forms", format="svg"), place)
    assert main(["render", str(place), *out]) == 1
    assert "nothing there was opened here before" in capsys.readouterr().err and not (tmp_path / "f.svg").exists()
    assert main(["render", str(place), *out, "--trust"]) == 0
    assert "Both forms agree" in (tmp_path / "f.svg").read_text()


def test_what_the_doctor_found(workspace: Workspace, asked: Archive, project: Path) -> None:
    with pytest.raises(InputError, match="Nothing is wrong"):
        depicting.depict(workspace, "doctor", project / "f.svg", which=("findings",))
    ill = project / "ill"
    shutil.copytree(project / "faces", ill / "faces")
    person = sorted((ill / "faces").iterdir())[0]
    shutil.copy(sorted(person.iterdir())[0], person / "copy.jpg")
    (person / "empty.jpg").write_bytes(b"")
    bare = replace(asked, path=ill / "w.facelens", models=(), stores={}, selected=(), query=None, fields={})
    found = replay.replay(replace(bare, galleries=(Gallery(Place(ill / "faces"), "folders"),))).workspace
    assert found.diagnosis is not None
    kinds = [one.kind for one in found.diagnosis.findings]
    said = redrawn(found, ill / "f.svg", "doctor", "findings", View())
    assert all(one.title.encode() in said for one in found.diagnosis.findings)
    copies = next(kind for kind in kinds if kind.startswith("copies"))
    assert b"2 faces" in redrawn(found, ill / "p.svg", "doctor", "pictures", View(finding=copies))
    name = found.faces.label(0) if found.faces is not None else ""
    hidden = depicting.depict(found, "doctor", ill / "h.svg", view=View(finding=copies), guise=Guise(pseudonyms=True))
    assert len(hidden) == 2 and not any(name in path.read_text() for path in hidden)


def test_an_answer_that_gives_a_column_is_worked_out_first(workspace: Workspace) -> None:
    """The backfill goes by the ensemble's variance where there is one: its recipe knows."""
    assert figure_recipe.recipe_of(workspace, "upgrade").before == ()
    answered = questions.answered(workspace, ["uncertainty"])
    assert figure_recipe.recipe_of(answered, "upgrade").before == ("uncertainty",)


def test_of_a_filtered_gallery_the_very_faces_are_drawn(workspace: Workspace) -> None:
    faces = workspace.faces
    assert faces is not None
    some = replace(
        workspace, selection=Selection(), arrangement=replace(workspace.arrangement, sort="path", descending=True)
    )
    kept = figure_recipe.recipe_of(some, "gallery").workspace
    assert set(kept.selected) == set(archive.names_of(faces, faces.ids)) and kept.fields["arrangement"].sort == "path"


@pytest.mark.parametrize("group", ["identity", "tag"])
def test_a_sheet_in_groups(group: str, workspace: Workspace, project: Path) -> None:
    faces = workspace.faces
    assert faces is not None
    said = noted(tagged(Annotations(), faces.ids[[1, 4, 20]], "odd & even"), faces.ids[[1]], "a secret")
    by = replace(workspace.arrangement, sort="norm, old", group=group)
    now = replace(workspace, selection=Selection(), arrangement=by, annotations=said)
    [drawn] = depicting.depict(now, "gallery", project / "s.svg")
    told, place = drawn.read_text(), figure_recipe.beside(drawn)
    heads = [name.replace("_", " ") for name in faces.identity.names] if group == "identity" else ["odd &amp; even"]
    assert f"24 faces by {group}" in told and all(f">{name}<" in told for name in heads)
    figure_recipe.write(replace(figure_recipe.recipe_of(now, "gallery"), format="svg"), place)
    assert ("odd" in place.read_text()) == (group == "tag") and "secret" not in place.read_text()
    assert main(["render", str(place), "--out", str(project / "again.svg")]) == 0
    assert (project / "again.svg").read_bytes() == drawn.read_bytes()
    [hidden] = depicting.depict(now, "gallery", project / "h.svg", guise=Guise(pseudonyms=True, blur=True))
    shown = re.findall(r">(P\d{4}|tag \d|none)</text>", hidden.read_text())
    assert not [name for name in heads if name in hidden.read_text()]
    if group == "tag":
        assert shown[0] == "tag 1" and "none" in shown
    else:
        assert shown == sorted(shown) and len(set(shown)) == 8, "the order of the names is not seen"


def test_a_sheet_that_was_cut_says_so_again(
    workspace: Workspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = replace(workspace, selection=Selection())
    for module, name in ((sheet, "MOST"), (figure_recipe, "SHEET")):
        monkeypatch.setattr(module, name, 5)
    [drawn] = depicting.depict(now, "gallery", project / "s.svg")
    place = figure_recipe.beside(drawn)
    figure_recipe.write(replace(figure_recipe.recipe_of(now, "gallery"), format="svg"), place)
    assert main(["render", str(place), "--out", str(project / "again.svg")]) == 0
    assert (project / "again.svg").read_bytes() == drawn.read_bytes() and "first 5 of 24 faces" in drawn.read_text()


def test_size_format_and_place_can_be_others(workspace: Workspace, project: Path) -> None:
    recipe = figure_recipe.recipe_of(workspace, "evaluation", paper=Paper(dpi=50))
    place = project / "roc.png.recipe.json"
    figure_recipe.write(replace(recipe, name="roc"), place)
    assert main(["render", str(place)]) == 0
    assert main(["render", str(place), "--format", "svg", "--width", "2"]) == 0
    assert main(["render", str(place), "--format", "pdf"]) == 0
    assert (project / "roc.png").read_bytes().startswith(b"\x89PNG")
    assert 'width="144pt"' in (project / "roc.svg").read_text()[:1500]
    assert (project / "roc.pdf").read_bytes().startswith(b"%PDF")


def test_several_recipes_and_one_out_are_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "a", "b", "--out", "c.svg"]) != 0
    assert "--out is for one recipe" in capsys.readouterr().err


# Strangers


@pytest.fixture
def written(workspace: Workspace, project: Path) -> dict[str, Any]:
    place = project / "hostile.recipe.json"
    figure_recipe.write(figure_recipe.recipe_of(workspace, "evaluation"), place)
    found: dict[str, Any] = json.loads(place.read_text())
    return found


def test_it_comes_back_as_it_was(workspace: Workspace, project: Path) -> None:
    view = View(side="a", pair=("x/1.png", "y/2.png"), patch=("gallery", 3), focus=("Ada",), cut=0.1)
    recipe = Recipe("match", "flow", view, Paper(3.5, 300), "pdf", blur=True, before=("uncertainty",))
    recipe = replace(recipe, workspace=figure_recipe.recipe_of(workspace, "match").workspace, versions={"python": "3"})
    place = project / "one.recipe.json"
    figure_recipe.write(recipe, place)
    again = figure_recipe.read(place)
    assert replace(again, workspace=recipe.workspace) == recipe
    assert archive.same(again.workspace, recipe.workspace)


def _at(found: dict[str, Any], path: str, value: object) -> None:
    *way, last = path.split(".")
    for key in way:
        found = found[key]
    found[last] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("facelens", "workspace"),
        ("schema", 2),
        ("schema", "1"),
        ("figure", []),
        ("figure.panel", "../../etc"),
        ("figure.name", "flow"),
        ("figure.width", 1e9),
        ("figure.width", "wide"),
        ("figure.dpi", 10**9),
        ("figure.dpi", 72.5),
        ("figure.format", "exe"),
        ("figure.before", ["everything"]),
        ("figure.before", "uncertainty"),
        ("figure.blur", 1),
        ("figure.view", "all"),
        ("figure.view.side", "c"),
        ("figure.view.pair", ["one"]),
        ("figure.view.patch", ["eye", 1]),
        ("figure.view.cut", 7),
        ("figure.view.heat", ["fire"]),
        ("figure.view.tested", ["new"]),
        ("figure.view.forms", ["old"]),
        ("figure.view.tapped", {"of": "cat"}),
        ("figure.view.tapped", {"lines": [{"kind": "cat"}]}),
        ("figure.view.focus", ["x" * 10_000]),
        ("workspace", {}),
        ("workspace.galleries", [{"place": {"inside": "../../../etc"}}]),
        ("workspace.models", [{"place": {"outside": "relative"}}]),
        ("versions", {"numpy": ["1"]}),
    ],
)  # fmt: skip
def test_hostile_recipes_are_refused(
    path: str, value: object, written: dict[str, Any], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _at(written, path, value)
    place = project / "hostile.recipe.json"
    place.write_text(json.dumps(written))
    before = {one: one.stat().st_mtime_ns for one in project.rglob("*") if "home" not in one.parts}
    assert main(["render", str(place)]) != 0
    told = capsys.readouterr().err
    assert "is no recipe of a figure" in told and "Traceback" not in told
    assert before == {one: one.stat().st_mtime_ns for one in project.rglob("*") if "home" not in one.parts}


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"facelens": NaN}', b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_recipe_at_all(raw: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.recipe.json").write_bytes(raw)
    assert main(["render", str(tmp_path / "x.recipe.json")]) != 0
    assert "is no recipe of a figure" in capsys.readouterr().err


def test_a_place_that_was_never_opened_is_not_followed(
    written: dict[str, Any], tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The recipe of somebody else, in another folder: it names pictures and models here."""
    _at(written, "workspace.galleries", [{"place": {"outside": str(project / "faces")}, "kind": "folders"}])
    place = tmp_path / "x.recipe.json"
    place.write_text(json.dumps(written))
    assert main(["render", str(place)]) != 0
    told = capsys.readouterr().err
    assert "nothing there was opened here before" in told and "--trust" in told
    assert not list(tmp_path.glob("*.png"))


def test_strict_draws_nothing_of_other_data(
    written: dict[str, Any], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written["workspace"]["galleries"][0]["digest"] = "1" * 32
    place = project / "strict.png.recipe.json"
    place.write_text(json.dumps(written))
    assert main(["render", str(place), "--strict"]) != 0 and not (project / "strict.png").exists()
    capsys.readouterr()
    assert main(["render", str(place)]) == 0 and (project / "strict.png").exists()
    assert "Not as it was" in capsys.readouterr().out


def test_random_mutants_end_in_a_sentence(written: dict[str, Any], project: Path) -> None:
    rng = np.random.default_rng(0)
    raw = json.dumps(written).encode()
    place = project / "mutant.recipe.json"
    for _ in range(300):
        spoiled = bytearray(raw)
        for at in rng.integers(0, len(spoiled), 3).tolist():
            spoiled[at] = int(rng.integers(0, 256))
        place.write_bytes(spoiled)
        with contextlib.suppress(InputError):  # anything else would escape
            figure_recipe.read(place)


# Sizes


@pytest.mark.parametrize("factor", [0.5, 1, 2])
def test_everything_grows_with_the_width(factor: float, workspace: Workspace, tmp_path: Path) -> None:
    from PIL import Image

    def drawn(kind: str, paper: Paper) -> bytes:
        [path] = depicting.depict(workspace, "evaluation", tmp_path / f"x.{kind}", which=("roc",), paper=paper)
        return path.read_bytes()

    usual = drawn("svg", Paper())

    def size(raw: bytes) -> list[float]:
        return [float(one) for one in re.findall(rb'(?:width|height)="([0-9.]+)pt"', raw)[:2]]

    wide = size(usual)[0] / 72
    paper = Paper(width=wide * factor, dpi=100)
    scaled = drawn("svg", paper)
    assert np.allclose(size(scaled), np.array(size(usual)) * factor, rtol=1e-4)
    view = re.compile(rb'viewBox="[^"]+"')
    assert view.search(scaled).group() == view.search(usual).group() and b"<text" in scaled  # type: ignore[union-attr]
    pdf = drawn("pdf", paper)
    box = re.search(rb"/MediaBox \[ 0 0 ([0-9.]+) ([0-9.]+) \]", pdf)
    assert box is not None and np.allclose(
        [float(one) for one in box.groups()], np.array(size(usual)) * factor, atol=0.1
    )
    assert b"/FontFile2" in pdf, "fonts are inside"
    drawn("png", paper)
    with Image.open(tmp_path / "x.png") as image:
        assert abs(image.width - wide * factor * 100) <= 1


def test_a_wall_of_pixels_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too large"):
        depicting.depict(workspace, "evaluation", tmp_path / "x.png", which=("roc",), paper=Paper(width=100, dpi=1200))
    assert os.listdir(tmp_path) == []


# Disguise


@pytest.mark.parametrize("word", DRAWN)
def test_under_pseudonyms_no_figure_names_anybody(word: str, workspace: Workspace, tmp_path: Path) -> None:
    faces = workspace.faces
    assert faces is not None
    names = [name for name in DEPICTED[word].names if (word, name) not in SKIPPED]
    hidden = Guise(pseudonyms=True, blur=True)
    drawn = depicting.depict(workspace, word, tmp_path / "x.svg", which=names, guise=hidden)
    assert drawn
    real = [*faces.identity.names, *(name.replace("_", " ") for name in faces.identity.names)]
    for path in drawn:
        told = path.read_text()
        assert not [name for name in real if f">{name}" in told or f" {name}" in told], path.name
