"""The training page: a real training of a few steps from the form to Models, and what it shows of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from facelens.features import recipe as recipes
from facelens.features.confidences import spread
from facelens.session import training
from facelens.session.settings import Settings
from facelens.session.training import Run
from facelens.views.main_window import MainWindow
from facelens.views.panels.training import TrainingPanel
from tests.gui.test_access import nameless

TINY = """\
kind = "margin"
about = "A tiny one"
steps = 6
log = 1
checkpoint = 2
[network]
options = { grid = [2, 2] }
[batch]
people = 2
pictures = 2
[optimiser]
rate = 0.01
[validation]
every = 3
share = 0.5
"""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Pictures are so small here that threads would only wait for each other."""
    import torch

    import facelens.features.library
    import facelens.features.train  # noqa: F401  what takes seconds the first time is no part of a test

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A recipe whose steps take milliseconds."""
    file = tmp_path / "tiny.toml"
    file.write_text(TINY)
    return file


@pytest.fixture
def page(browsing: MainWindow, tiny: Path) -> TrainingPanel:
    """The training page with that recipe, on the open gallery."""
    browsing.open_recipe(tiny)
    return browsing.panel("training")  # type: ignore[return-value]


def run_of(page: TrainingPanel) -> Run:
    run = page.desk.workspace.run
    assert run is not None
    return run


def typed(field: Any, text: str) -> None:
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def test_from_a_recipe_to_a_model(page: TrainingPanel, browsing: MainWindow, tiny: Path, settle: Callable) -> None:
    browsing.veil.show_for(tiny, may_add=True)
    assert browsing.veil.targets == ("recipe",) and not browsing.veil.problem
    browsing.veil.hide()
    assert page.form.about.text() == "A tiny one" and page.form.source.currentText() == "tiny, 12 faces"
    assert page.pages.currentWidget() is page.empty and not nameless(page)
    page.form.start.click()
    assert not page.form.start.isEnabled() and page.page.stop.isVisible()
    settle(browsing)
    run = run_of(page)
    assert [row["step"] for row in run.rows] == [1, 2, 3, 4, 5, 6] and run.error is None
    assert page.page.lead.text() == "6 of 6 steps" and page.page.state.text() == "finished"
    assert set(page.page.terms.keys) == {"classification", "loss"}
    assert set(page.page.checks.keys) == {"P@1", "TAR @ FAR 1e-2"}
    assert page.page.log.toPlainText().splitlines() == [training.words(row) for row in run.rows]
    assert not page.page.facts.tells and not page.page.facts.isVisible()
    workspace = browsing.store.workspace
    assert [one.path for one in workspace.models] == [run.folder / "checkpoint.safetensors"] and workspace.models[
        0
    ].fits
    card = browsing.notices.cards[-1]
    assert card.accessibleName() == "tiny is trained" and not nameless(page)
    card.button.click()
    assert browsing.stage.word == "models"


def test_stopped_it_is_saved_and_goes_on(page: TrainingPanel, browsing: MainWindow, until: Callable) -> None:
    typed(page.form.length, "100000")
    assert "steps = 100000" in page.form.text.toPlainText()
    page.form.start.click()
    until(lambda: len(run_of(page).rows) > 3)
    page.page.stop.click()
    until(lambda: page.work.job() is None and run_of(page).step > 0)
    run = run_of(page)
    assert training.saved_step(run.folder / training.STATE) == run.step >= run.rows[-1]["step"]
    assert page.page.state.text() == f"stopped, saved at step {run.step}" and page.page.resume.isVisible()
    page.page.resume.click()
    until(lambda: run_of(page).rows[-1]["step"] > run.step + 1)
    steps = [row["step"] for row in run_of(page).rows]
    assert steps == list(range(1, len(steps) + 1)), "the rows before the stop are still there, none twice"
    page.work.stop()
    until(lambda: page.work.job() is None)


def test_after_a_kill_it_is_offered(
    tiny_faces: Path, tiny: Path, tmp_path: Path, open_window: Callable, settle: Callable, until: Callable
) -> None:
    def killed(done: int, total: int, note: str = "") -> None:
        if note == "Training" and done == 5:
            raise MemoryError

    out = tmp_path / "out"
    with pytest.raises(MemoryError):
        training.train_model(recipes.load(tiny), out, gallery=tiny_faces, tick=killed)
    window = open_window(Settings(theme="dark", training=str(out)))
    window.stage.show_page("training")
    page: TrainingPanel = window.panel("training")  # type: ignore[assignment]
    until(lambda: page.desk.workspace.run is not None)
    assert len(run_of(page).rows) == 4, "what came after the last checkpoint will come again"
    assert page.page.resume.isVisible() and page.page.state.text() == "stopped, saved at step 4"
    assert page.form.out.text() == str(out) and "grid = [2, 2]" in page.form.text.toPlainText()
    page.page.resume.click()  # its gallery is not open: it is read again
    settle(window)
    assert run_of(page).files and [row["step"] for row in run_of(page).rows] == [1, 2, 3, 4, 5, 6]
    assert window.store.workspace.faces is None and window.store.workspace.model_names == ("tiny",)
    again = open_window(Settings(theme="dark", training=str(out)))
    again.stage.show_page("training")
    settle(again)
    assert again.store.workspace.run is None, "what is finished is not offered"


def test_what_is_changed_goes_into_another_folder(page: TrainingPanel, browsing: MainWindow, settle: Callable) -> None:
    page.form.start.click()
    settle(browsing)
    first = run_of(page).folder
    assert page.form.elsewhere.isVisible() and not page.form.start.isVisible()
    typed(page.form.rate, "0.02")
    draft = page.form.draft
    assert draft is not None and draft.out == first.with_name("tiny-2") and page.form.start.isEnabled()
    typed(page.form.out, str(first))
    settle(browsing)
    assert page.form.elsewhere.isVisible() and run_of(page).folder == first


def test_a_recipe_that_is_wrong_says_where(page: TrainingPanel, until: Callable) -> None:
    typed(page.form.rate, "fast")
    assert page.form.problem.text() == "tiny.toml, line 12: optimiser.rate is a number, not 'fast'."
    assert not page.form.start.isEnabled() and "line 12" in page.form.start.toolTip()
    typed(page.form.rate, "0.1")
    assert page.form.start.isEnabled() and not page.form.problem.isVisible()
    page.form.switch.button("text").click()
    page.form.text.setPlainText(TINY.replace("rate", "reat"))
    until(lambda: page.form.problem.isVisible())
    assert "line 12: optimiser.reat is not known. Did you mean rate?" in page.form.problem.text()
    assert page.form.text.extraSelections(), "the line is marked"


def test_what_is_asked_is_undone(page: TrainingPanel, browsing: MainWindow, until: Callable) -> None:
    form, store = page.form, browsing.store
    assert [step.label for step in store.workspace.history.steps] == ["recipe tiny"], "the first, cosface, is no step"
    first = store.workspace.draft
    typed(form.rate, "0.2")
    typed(form.seed, "7")
    form.unit.button("epochs").click()
    form.source.setCurrentIndex(form.source.findData("drawn"))
    form.source.activated.emit(form.source.currentIndex())
    typed(form.out, str(first.out.parent / "other"))
    form.switch.button("text").click()
    form.text.setFocus()
    form.text.moveCursor(form.text.textCursor().MoveOperation.End)
    for keys in ("# a", "n", "other"):
        QTest.keyClicks(form.text, keys)
        until(lambda: store.workspace.draft.text == form.text.toPlainText(), "read after a rest")
    form.recipe.setCurrentIndex(form.recipe.findData("arcface"))
    form.recipe.activated.emit(form.recipe.currentIndex())
    assert [step.label for step in store.workspace.history.steps][1:] == [
        "rate 0.01 → 0.2",
        "seed 7",
        "length 6 steps → 6 epochs",
        "faces the open gallery → the sample world, drawn",
        f"folder {first.out.name} → other",
        "text of the recipe",
        "recipe arcface",
    ]
    last = store.workspace.draft
    browsing.act("history.undo")
    assert form.recipe.currentData() == first.name and form.text.toPlainText().endswith("# another")
    while store.workspace.history.done > 1:
        browsing.act("history.undo")
    assert store.workspace.draft == first and form.text.toPlainText() == first.text
    assert form.rate.text() == "0.01" and form.unit.value() == "steps" and form.source.currentData() == "open"
    store.go(8)
    assert store.workspace.draft == last and form.recipe.currentData() == "arcface"


def test_a_recipe_with_its_models_is_one_step(page: TrainingPanel, browsing: MainWindow, settle: Callable) -> None:
    from facelens.resources import sample_models

    first = page.desk.workspace.draft
    browsing.modelling.load(sample_models()[0])
    settle(browsing)
    browsing.store.update(model_a=browsing.store.workspace.models[0].card.name)
    page.work.choose("bct")
    assert page.desk.workspace.history.undo == "recipe bct" and len(page.desk.workspace.history.steps) == 3
    assert dict(page.desk.workspace.draft.files), "the model that is there is taken"
    browsing.act("history.undo")
    assert page.desk.workspace.draft == first


def test_what_is_asked_is_found_again(
    page: TrainingPanel, browsing: MainWindow, tmp_path: Path, settle: Callable, until: Callable
) -> None:
    """Also by the page that is in front; who opens another workspace has its recipe."""
    typed(page.form.rate, "0.2")
    asked, path = page.desk.workspace.draft, tmp_path / "work.facelens"
    browsing.keeping.save_to(path)
    page.work.choose("arcface")
    browsing.keeping.save_to(tmp_path / "other.facelens")
    browsing.keeping.open(path)
    settle(browsing)
    until(lambda: not browsing.keeping.reopening.under_way)
    assert browsing.store.workspace.draft == replace(asked, name="tiny") and page.form.rate.text() == "0.2"
    assert not browsing.store.workspace.history.steps and page.form.recipe.currentText() == "tiny"


def test_a_stranger_s_recipe_writes_nowhere_and_reads_nothing(
    page: TrainingPanel, browsing: MainWindow, tmp_path: Path, settle: Callable, until: Callable
) -> None:
    import json

    from facelens.session import shelf

    path, far = tmp_path / "theirs" / "work.facelens", tmp_path / "elsewhere"
    path.parent.mkdir()
    page.work.choose("bct")
    own = page.desk.workspace.draft.out.parent
    browsing.keeping.save_to(path)
    said = json.loads(path.read_text())
    said["state"]["draft"] |= {"out": {"outside": str(far / "out")}, "folder": {"outside": str(far)}}
    recipe = page.desk.workspace.draft.with_values({"models.old": str(far / "old.pt")})
    said["state"]["draft"]["text"] = recipe.text
    path.write_text(json.dumps(said))
    for _ in range(2):  # also when it was saved here meanwhile
        browsing.keeping.open(path)
        settle(browsing)
        until(lambda: not browsing.keeping.reopening.under_way)
        found = browsing.store.workspace.draft
        assert found.out.parent == own and not found.files and found.folder == Path()
        assert "old" in found.missing and not page.form.start.isEnabled()
        browsing.keeping.save()
    assert not shelf.known(far / "out") and not far.exists()
    said["state"]["draft"]["text"] = recipe.text.replace(f'[models]\nold = "{far / "old.pt"}"\n', "")
    said["state"]["draft"]["text"] = f'models = {{ old = "{far / "old.pt"}" }}\n' + said["state"]["draft"]["text"]
    path.write_text(json.dumps(said))
    browsing.keeping.open(path)
    settle(browsing)
    until(lambda: not browsing.keeping.reopening.under_way)
    assert browsing.notices.cards[-1].accessibleName() == "The recipe bct was not opened"
    assert not browsing.store.workspace.draft.files, "the page begins with one of its own"


def test_a_file_that_is_no_recipe(page: TrainingPanel, tmp_path: Path) -> None:
    page.open_recipe(tmp_path / "nowhere.toml")
    assert "There is no recipe" in page.banner.text() and page.form.draft is not None


def test_a_model_that_is_needed_is_asked_for(
    page: TrainingPanel, browsing: MainWindow, settle: Callable, tmp_path: Path
) -> None:
    page.work.choose("bct")
    assert page.form.roles["old"].isVisible() and not page.form.roles["new"].isVisible()
    assert page.form.problem.text() == "This recipe needs a model: old model." and not page.form.start.isEnabled()
    page.work.give("old", str(tmp_path / "gone.pth"))
    assert page.form.roles["old"].currentText() == "gone.pth" and page.form.start.isEnabled()
    page.form.start.click()
    settle(browsing)
    assert "gone.pth cannot be read" in page.banner.text() and page.page.state.text() == "failed"
    assert page.form.start.isEnabled(), "nothing is saved, so the same folder can be tried again"


def test_a_gallery_that_is_too_small_says_so(
    window: MainWindow, make_gallery: Callable, tmp_path: Path, tiny: Path, settle: Callable
) -> None:
    window.opening.open(make_gallery(tmp_path / "alone", people=("Ada",)))
    settle(window)
    window.open_recipe(tiny)
    page: TrainingPanel = window.panel("training")  # type: ignore[assignment]
    page.form.start.click()
    settle(window)
    assert "at least two people" in page.banner.text() and "larger gallery" in page.banner.accessibleDescription()


def test_models_that_are_loaded_fill_the_roles(page: TrainingPanel, browsing: MainWindow, settle: Callable) -> None:
    page.form.start.click()
    settle(browsing)
    file = str(run_of(page).folder / "checkpoint.safetensors")
    page.work.choose("mask-finetune")
    draft = page.form.draft
    assert draft is not None and draft.recipe is not None and draft.recipe.models.start == file
    assert draft.recipe.network.options == {"grid": [2, 2]}, "weights bring their network with them"
    assert page.form.roles["start"].currentText() == "tiny" and not draft.missing


def test_excluded_faces_are_not_trained_on(page: TrainingPanel, browsing: MainWindow, settle: Callable) -> None:
    faces = browsing.store.workspace.faces
    assert faces is not None
    browsing.store.update(excluded=faces.ids[:1])
    page.form.start.click()
    settle(browsing)
    held = training.held(run_of(page).folder)
    assert held is not None and held.excluded == (int(faces.ids[0]),) and held.gallery == faces.root


# -- what is shown, without a training


def rows(kind: str, count: int = 6) -> tuple[dict[str, Any], ...]:
    rng = np.random.default_rng(0)
    made = []
    for step in range(1, count + 1):
        row: dict[str, Any] = {"step": step, "steps": count, "rate": 0.1, "terms": {"big": 900.0 + step, "loss": 1.0}}
        if kind == "universal":
            groups = {"clean": np.exp(rng.normal(2, 0.3, (20, 4))), "blur": np.exp(rng.normal(1, 0.3, (20, 4)))}
            row["facts"] = {"confidence": [[1.0] * 5] * 4, "confidences": spread(groups)}
        if kind == "divided":
            row["facts"] = {"phase": "slices" if step < 5 else "merged", "sizes": [30, 10]}
            row["facts"] |= (
                {"kept": 0.5 + step / 20, "stability": 0.6} if step > 2 else {"kept": None, "stability": None}
            )
        made.append(row)
    return tuple(made)


@pytest.fixture
def shown(panel: Callable, tmp_path: Path) -> Callable[..., TrainingPanel]:
    """Function: the page with rows of a kind."""
    made: TrainingPanel = panel(TrainingPanel)
    made.resize(1400, 800)

    def show(name: str, told: tuple[dict[str, Any], ...]) -> TrainingPanel:
        made.desk.store.update(run=Run(tmp_path / name, recipes.load(name), rows=told))
        return made

    return show


def test_sub_embeddings_show_their_confidences(shown: Callable[..., TrainingPanel], pump: Callable) -> None:
    facts = shown("universal", rows("universal")).page.facts
    assert facts.isVisible() and [key for key in facts.keys if facts.switch.offers(key)] == ["confidences", "part"]
    assert facts.confidences.parts == 4 and facts.against.currentData() == "blur"
    before = facts.confidences.words(0)
    assert before.startswith("part 1\nclean") and "\nblur" in before
    facts.moment.setValue(0)
    assert facts.confidences.words(0) != before, "an earlier step"
    QTest.keyClick(facts.confidences, Qt.Key.Key_Right)
    assert facts.confidences.part == 1 and "part 2" in facts.confidences.accessibleDescription()
    facts.switch.button("part").click()
    assert set(facts.part.keys) == {"clean", "blur"} and "part 2" in facts.part.chart.y_axis.title
    assert not facts.moment.isVisible()


def test_learners_show_their_clusters(shown: Callable[..., TrainingPanel]) -> None:
    facts = shown("divided", rows("divided")).page.facts
    assert [key for key in facts.keys if facts.switch.offers(key)] == ["clusters", "sizes"]
    kept = facts.kept._curves[0]
    assert kept.name == "kept their learner" and kept.leads and kept.steps[0] == 3 and kept.last == pytest.approx(0.8)
    facts.switch.button("sizes").click()
    assert [round(curve.last, 2) for curve in facts.sizes._curves] == [0.75, 0.25]
    facts.kept.keys["NMI with the clusters before"].click()
    facts.sizes.keys["learner 2"].click()
    assert facts.hidden() == ["facts stability", "sizes 2"]
    assert facts.kept.chart._zones[0].low == 5, "from there on all learn from all"


def test_scale_legend_and_log(shown: Callable[..., TrainingPanel]) -> None:
    page = shown("cosface", rows("margin")).page
    assert page.scale.value() == "log" and page.terms.chart.y_axis.scale == "log"
    page.scale.button("linear").click()
    assert page.terms.chart.y_axis.scale == "linear"
    page.terms.keys["big"].click()
    assert [drawn.series.key for drawn in page.terms.chart._drawn] == ["loss"]
    assert page.hidden() == ("terms big",)
    page.copy.click()
    assert QGuiApplication.clipboard().text() == page.log.toPlainText()
    negative = tuple({**row, "terms": {"likelihood": -3.0, "loss": -2.0}} for row in rows("margin"))
    page = shown("pa-finetune", negative).page
    assert page.scale.value() == "linear" and not page.scale.button("log").isEnabled()


def test_trainings_in_a_row_are_told_apart(shown: Callable[..., TrainingPanel]) -> None:
    told = tuple(
        {**row, "stage": name} for name in ("phi1", "phi2") for row in rows("margin", 3 if name == "phi2" else 6)
    )
    page = shown("sequential", told).page
    assert page.stage.isVisible() and page.stage.currentText() == "phi2" and len(page.terms._curves[0].steps) == 3
    page.stage.setCurrentIndex(0)
    page.stage.activated.emit(0)
    assert len(page.terms._curves[0].steps) == 6


def test_every_width_has_a_place_for_everything(shown: Callable[..., TrainingPanel], pump: Callable) -> None:
    page = shown("universal", rows("universal"))
    for width in (1400, 900, 600, 900):
        page.resize(width, 800)
        pump()
        assert page.strip.isVisible() == (width < 760)
        assert page.form.isVisible() == (width >= 760)
        narrow = [(frame.isVisible(), frame.width()) for frame in page.page.frames]
        assert all(seen and wide >= 180 for seen, wide in narrow), (width, narrow)
        page.sides.button("run").click()


def test_rows_that_come_again_replace_the_old(tmp_path: Path) -> None:
    run = Run(tmp_path, recipes.load("cosface"), rows=rows("margin"))
    again = run.with_row({**rows("margin")[3], "rate": 7.0})
    assert [row["step"] for row in again.rows] == [1, 2, 3, 4] and again.rows[-1]["rate"] == 7.0
    staged = replace(run, rows=tuple({**row, "stage": "a"} for row in run.rows)).with_row({**run.rows[0], "stage": "b"})
    assert len(staged.rows) == 7 and staged.stages == ("a", "b")


def test_figures_are_those_of_the_stage_that_is_shown(
    page: TrainingPanel, browsing: MainWindow, tmp_path: Path, settle: Callable
) -> None:
    figures = browsing.commands.figures
    assert figures.reason("training") == "Nothing is trained yet. Open Training first."
    every = [
        {"step": i + 1, "steps": 4, "rate": 0.1, "terms": {"loss": 1 / (i + 1)}, "stage": name}
        for name in ("phi1", "phi2")
        for i in range(4)
    ]
    run = Run(tmp_path / "run", recipes.load("sequential"), name="mine", rows=tuple(every))
    browsing.store.update(run=run)
    assert not figures.reason("training") and page.figure_view().stage == "phi2"
    page.page.stage.setCurrentIndex(0)
    view = page.figure_view()
    assert (view.run, view.stage, view.hidden) == (str(tmp_path / "run"), "phi1", ())
    page.page.rate.keys["rate"].click()
    assert page.figure_view().hidden == ("rate rate",)
    figures.draw("training", tmp_path / "t.svg", which=("curves",), recipe=True)
    settle(browsing)
    assert "stage phi1" in (tmp_path / "t.svg").read_text() and "on mine" in (tmp_path / "t.svg").read_text()
    assert ">learning rate<" not in (tmp_path / "t.svg").read_text()
    assert '"run": "run"' in (tmp_path / "t.svg.recipe.json").read_text()
