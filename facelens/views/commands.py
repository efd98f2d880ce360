"""What each action of the table does in the window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from facelens import __version__
from facelens.errors import FaceLensError
from facelens.images.faceset import FaceSet, Rows
from facelens.session import filters, tasks
from facelens.session.annotations import FLAGGED, REJECTED
from facelens.session.glance import MODELS, VECTORS
from facelens.session.identities import NOBODY
from facelens.session.jobs import Job, Request, State
from facelens.session.mark_columns import EDITED, YES, called, spoken
from facelens.session.selection import Mode, Selection
from facelens.session.workspace import Workspace
from facelens.views import theme
from facelens.views.culling import Culling
from facelens.views.hand import go
from facelens.views.key_sheet import KeySheet
from facelens.views.leaving import guise, leaving, stem, written
from facelens.views.naming import NameSheet, faces_of, give_name, take_back
from facelens.views.panel import Panel
from facelens.views.sheets import BuildPairs, LimitsSheet, LocalData
from facelens.words import plural, tr

if TYPE_CHECKING:
    from facelens.views.assessing import Assessing
    from facelens.views.evaluating import Evaluating
    from facelens.views.figures import Figures
    from facelens.views.guide import GuideWindow
    from facelens.views.main_window import MainWindow
    from facelens.views.trials import Trial

PICTURES = "PNG (*.png);;SVG (*.svg);;PDF (*.pdf)"
TABLES = "JSON (*.json);;CSV (*.csv);;LaTeX (*.tex)"
LISTS = "CSV (*.csv);;JSON (*.json);;Parquet (*.parquet)"
RATINGS = ("none", "one", "two", "three", "four", "five")


class Commands:
    """One method per action; `run` looks them up in a plain table."""

    def __init__(self, window: MainWindow) -> None:
        self.window = window
        self.table: dict[str, Callable[[], object]] = {
            "gallery.open": self._open_folder,
            "gallery.open_file": self._open_file,
            "gallery.open_sample": lambda: window.opening.sample(),
            "gallery.add": self._add,
            "workspace.open": lambda: window.keeping.open_file(),
            "workspace.save": lambda: window.keeping.save(),
            "workspace.save_as": lambda: window.keeping.save_as(),
            "workspace.collect": self._collect,
            "workspace.earlier": lambda: window.keeping.open_earlier(),
            "match.queries": self._open_queries,
            "gallery.close": lambda: window.opening.close(),
            "application.quit": window.close,
            "history.undo": lambda: go(window.desk, self.workspace.history.done - 1),
            "history.redo": lambda: go(window.desk, self.workspace.history.done + 1),
            "history.show": lambda: self._show_dock("history"),
            "find.focus": self._focus_filter,
            "find.clear": lambda: self._filter(""),
            "find.again": lambda: window.store.update(standing=None),
            "palette.open": lambda: window.palette_card.open(),
            "view.grid": lambda: self._view("grid"),
            "view.loupe": lambda: self._view("loupe"),
            "view.compare": lambda: self._view("compare"),
            "view.larger": lambda: self.gallery.resize_thumbnails(1),
            "view.smaller": lambda: self.gallery.resize_thumbnails(-1),
            "theme.system": lambda: self._theme("system"),
            "theme.light": lambda: self._theme("light"),
            "theme.dark": lambda: self._theme("dark"),
            "view.still": lambda: window.reduce_motion(not window.desk.settings.still),
            "select.all": lambda: self._select(self.workspace.shown_ids),
            "select.invert": lambda: self._select(self.workspace.shown_ids, Mode.TOGGLE),
            "select.none": self._step_back,
            "select.identity": self._select_identity,
            "select.next": lambda: self.gallery.step(1),
            "select.previous": lambda: self.gallery.step(-1),
            "mark.flag": lambda: self.culling.flag(FLAGGED),
            "mark.reject": lambda: self.culling.flag(REJECTED),
            "mark.unflag": lambda: self.culling.flag(0),
            **{f"mark.rate_{word}": lambda n=n: self.culling.rate(n) for n, word in enumerate(RATINGS)},  # type: ignore[misc]
            "mark.tag": self._tag,
            "mark.note": self._note,
            "identity.name": lambda: NameSheet(window.desk, self.culling.faces, window).open(),
            "identity.rename": self._rename_person,
            "identity.none": lambda: give_name(window.desk, self.culling.faces, NOBODY),
            "identity.back": lambda: take_back(window.desk, self.culling.faces),
            "identity.back_all": lambda: take_back(window.desk, self.workspace.identity_edits.ids),
            "identity.show": self._show_edited,
            "subset.make": lambda: self._tags().make(self.workspace.selection.ids),
            "subset.make_shown": lambda: self._tags().make(self.workspace.shown_ids),
            "subset.combine": lambda: self._tags().combine_subsets(),
            "mark.advance": lambda: window.desk.settle(advance=not window.desk.settings.advance),
            "doctor.run": lambda: window.opening.check(),
            "doctor.show": lambda: window.stage.show_page("doctor"),
            "faces.find": lambda: window.find_faces(),
            "scores.import": self._import_scores,
            "faces.exclude": self._exclude,
            "faces.copy_paths": self._copy_paths,
            "faces.include_all": lambda: window.store.update(excluded=np.zeros(0, np.int64)),
            "protocol.build_pairs": lambda: BuildPairs(self._build, "pairs.txt", window).open(),
            "protocol.build_bin": lambda: BuildPairs(self._build, "pairs.bin", window).open(),
            "model.open": self._open_model,
            "model.show": lambda: window.stage.show_page("models"),
            "model.embed": self._embed,
            "model.compare": self._compare_forms,
            "model.feed": self._feeding,
            "model.variance": self._measure_variance,
            "model.swap": lambda: window.modelling.swap(),
            "model.remove": lambda: window.modelling.remove(self.workspace.model),
            "training.show": lambda: window.stage.show_page("training"),
            "training.open": self._open_recipe,
            "training.start": lambda: self._train("start"),
            "training.stop": self._stop_training,
            "training.resume": lambda: self._train("resume"),
            "vectors.import": self._import_vectors,
            "vectors.export": self._export_vectors,
            "vectors.delete": lambda: window.modelling.delete_vectors(self.workspace.model),
            "evaluate.run": self._evaluate,
            "evaluate.show": lambda: window.stage.show_page("evaluation"),
            "evaluate.export": self._export_tables,
            "evaluate.latex": self._copy_latex,
            "evaluate.policy": self._export_policy,
            "evaluate.figure": lambda: self.export_figure("evaluation"),
            "uncertainty.run": self._assess,
            "uncertainty.show": lambda: window.stage.show_page("uncertainty"),
            "uncertainty.export": lambda: self._export_faces(refused=True),
            "uncertainty.export_all": lambda: self._export_faces(refused=False),
            "uncertainty.curve": self._export_rejection,
            "uncertainty.figure": lambda: self.export_figure("uncertainty"),
            "confidence.show": lambda: window.stage.show_page("confidence"),
            "confidence.export": self._export_parts,
            "confidence.study": self._export_study,
            "confidence.figure": lambda: self.export_figure("confidence"),
            "learners.show": lambda: window.stage.show_page("learners"),
            "learners.export": self._export_learners,
            "learners.figure": lambda: self.export_figure("learners"),
            "match.show": lambda: window.stage.show_page("match"),
            "match.sweep": self._sweep,
            "match.export": self._export_ranking,
            "match.figure": lambda: self.export_figure("match"),
            "upgrade.run": self._upgrade,
            "upgrade.show": lambda: window.stage.show_page("upgrade"),
            "upgrade.report": self._export_report,
            "upgrade.figure": lambda: self.export_figure("upgrade"),
            "upgrade.export": self._export_upgrade_numbers,
            "upgrade.flips": self._export_flips,
            "upgrade.order": self._export_order,
            "projection.show": lambda: window.stage.show_page("projection"),
            "projection.beside": lambda: window.open_beside("projection"),
            "projection.export": self._export_points,
            "projection.figure": lambda: self.export_figure("projection"),
            "figure.export": lambda: self.export_figure(self._drawn()),
            "figure.copy": lambda: self.figures.copy(self._drawn()),
            "data.export": self._export_list,
            "figure.pseudonyms": lambda: window.desk.settle(pseudonyms=not window.desk.settings.pseudonyms),
            "figure.blur": lambda: window.desk.settle(blur=not window.desk.settings.blur),
            "report.export": self._report,
            "layout.browse": lambda: window.apply_layout("browse"),
            "layout.match": lambda: window.apply_layout("match"),
            "layout.upgrade": self._upgrade_layout,
            "layout.report": lambda: window.apply_layout("report"),
            "layout.reset": window.reset_layout,
            "region.next": lambda: self._region(1),
            "region.previous": lambda: self._region(-1),
            "jobs.cancel": self._cancel_jobs,
            "guide.open": self._open_guide,
            "guide.what": window.what.start,
            "keys.show": lambda: KeySheet(window.desk, window.set_keys, window).open(),
            "cache.show": lambda: LocalData(window.desk, window).open(),
            "limits.show": lambda: LimitsSheet(window.desk, window).open(),
            "log.show": lambda: self._show_dock("log"),
            "application.about": self._about,
        }

    @cached_property
    def culling(self) -> Culling:
        """Marks the faces at hand."""
        gallery, stage = self.gallery, self.window.stage
        return Culling(self.window.desk, lambda: stage.word == "gallery" and gallery.view == "loupe")

    @cached_property
    def figures(self) -> Figures:
        """Draws the pages."""
        from facelens.views.figures import Figures

        return Figures(self.window.desk, self.window.panel)

    def _drawn(self) -> str:
        """The page that is drawn: the one in front, or the gallery where that has no figures."""
        from facelens.session.depicting import DEPICTED

        word = self.window.stage.word
        return word if word in DEPICTED and self.window.panel(word).has_figures() else "gallery"

    @cached_property
    def evaluating(self) -> Evaluating:
        """Made when it is first asked for: what evaluates takes a moment to import."""
        from facelens.views.evaluating import Evaluating

        return Evaluating(self.window.desk)

    @cached_property
    def assessing(self) -> Assessing:
        """Made when it is first asked for."""
        from facelens.views.assessing import Assessing

        return Assessing(self.window.desk)

    def run(self, id: str) -> None:
        """Do it; a stated failure becomes a notice."""
        try:
            self.table[id]()
        except FaceLensError as error:
            self.window.notices.error(error)

    # -- shorthand

    @property
    def workspace(self) -> Workspace:
        return self.window.store.workspace

    @property
    def gallery(self):  # type: ignore[no-untyped-def]
        return self.window.stage.panels["gallery"]

    @property
    def faces(self) -> FaceSet:
        faces = self.workspace.faces
        assert faces is not None  # the action's condition
        return faces

    @property
    def stem(self) -> str:
        """What a file about the gallery is called."""
        return stem(self.window.desk)

    def _send(self, request: Request, then: Callable[[Job], None]) -> None:
        """Let something out of the window."""
        self.window.jobs.submit(leaving(self.window.desk, request), then=then)

    def _rows(self) -> Rows:
        """Selected faces in display order, or all shown ones where nothing is selected."""
        from facelens.session.depicting import rows_of

        return rows_of(self.workspace)

    # -- files

    def _open_folder(self) -> None:
        if name := QFileDialog.getExistingDirectory(self.window, tr("Open a gallery folder")):
            self.window.opening.open(Path(name))

    def _open_file(self) -> None:
        kinds = tr("Galleries") + " (*.csv *.tsv *.parquet *.txt *.bin);;" + tr("All files") + " (*)"
        if name := QFileDialog.getOpenFileName(self.window, tr("Open a manifest, pairs or .bin file"), "", kinds)[0]:
            self.window.opening.open(Path(name))

    def _add(self) -> None:
        if name := QFileDialog.getExistingDirectory(self.window, tr("Add a gallery folder to this one")):
            self.window.opening.open(Path(name), add=True)

    def _open_queries(self) -> None:
        if name := QFileDialog.getExistingDirectory(self.window, tr("Open a folder of queries")):
            self.window.opening.open_queries(Path(name))

    def _collect(self) -> None:
        from facelens.views.collecting import Collecting

        Collecting(self.window).open()

    def _import_scores(self) -> None:
        kinds = tr("Tables") + " (*.csv *.tsv *.txt *.parquet *.pq);;" + tr("All files") + " (*)"
        if name := QFileDialog.getOpenFileName(self.window, tr("Import scores"), "", kinds)[0]:
            self.window.opening.take_scores(Path(name))

    def _open_model(self) -> None:
        kinds = tr("Models") + f" ({' '.join('*' + ending for ending in MODELS)});;" + tr("All files") + " (*)"
        for name in QFileDialog.getOpenFileNames(self.window, tr("Open a model"), "", kinds)[0]:
            self.window.open_model(Path(name))

    def _embed(self) -> None:
        self.window.stage.show_page("models")
        self.window.modelling.embed(self.workspace.model)

    def _compare_forms(self) -> None:
        from facelens.views.trials import ParityTrial

        found = self.workspace.inspection(self.workspace.model)
        kinds = tr("Models") + f" ({' '.join('*' + ending for ending in MODELS)});;" + tr("All files") + " (*)"
        title = tr("The other form of {name}", name=self.workspace.model)
        name = QFileDialog.getOpenFileName(self.window, title, "", kinds)[0]
        if found is not None and name:
            self._show_trial(ParityTrial(self.window.desk, found, Path(name), self.window), "forms")

    def _feeding(self) -> None:
        from facelens.views.trials import FeedingTrial

        found = self.workspace.inspection(self.workspace.model)
        if found is not None:
            trial = FeedingTrial(self.window.desk, found, self.window)
            trial.taken.connect(lambda card: self._propose(found.card.name, card))
            self._show_trial(trial, "feeding")

    def _show_trial(self, trial: Trial, name: str) -> None:
        """Show it; what comes of it can be drawn as a figure of the page."""
        page = self.window.panel("models")
        trial.ended.connect(lambda made: page.keep_trial(name, made))  # type: ignore[attr-defined]
        trial.export.clicked.connect(lambda: self.export_figure("models", name))
        trial.show()

    def _measure_variance(self) -> None:
        from facelens.views.stability import MeasureVariance

        found = self.workspace.inspection(self.workspace.model)
        if found is not None:
            MeasureVariance(self.window.desk, found, self.window.modelling.measure, self.window).open()

    def _propose(self, name: str, card: object) -> None:
        self.window.stage.show_page("models")
        self.window.store.update(model=name)
        self.window.stage.panels["models"].propose(card)  # type: ignore[attr-defined]

    def _open_recipe(self) -> None:
        if name := QFileDialog.getOpenFileName(self.window, tr("Open a recipe"), "", tr("Recipes") + " (*.toml)")[0]:
            self.window.open_recipe(Path(name))

    def _stop_training(self) -> None:
        if not any(job.request.slot == "train" and not job.state.ended for job in self.window.jobs.jobs):
            self.window.statusBar().showMessage(tr("No training is running."), 6000)
        self.window.jobs.cancel_slot("train")

    def _train(self, what: str) -> None:
        self.window.stage.show_page("training")
        work = self.window.stage.panels["training"].work  # type: ignore[attr-defined]
        if work.job() is not None:
            self.window.statusBar().showMessage(tr("A training is running; stop it first."), 6000)
        else:
            getattr(work, what)()

    def _import_vectors(self) -> None:
        kinds = tr("Vectors") + f" ({' '.join('*' + ending for ending in VECTORS)})"
        if name := QFileDialog.getOpenFileName(self.window, tr("Import vectors"), "", kinds)[0]:
            self.window.import_vectors(Path(name))

    def _export_vectors(self) -> None:
        from facelens.views import exporting

        model = self.workspace.model
        if asked := exporting.ask(self.window, tr("Export vectors"), f"{model}.npz", exporting.VECTORS):
            exporting.export(self.window, model, *asked)

    def export_figure(self, word: str, name: str = "") -> None:
        """Show what can be drawn of a page, with a preview; `name` is the figure to begin with."""
        from facelens.views.figure_sheet import FigureSheet

        if reason := self.figures.reason(word):
            self.window.statusBar().showMessage(reason, 6000)
        else:
            FigureSheet(self.figures, word, name=name, parent=self.window).open()

    def _on_exported(self, job: Job, path: Path) -> None:
        if job.state is State.FAILED and job.error is not None:
            self.window.notices.error(job.error, trace=job.trace)
        elif job.state is State.DONE:
            self.window.statusBar().showMessage(written(self.window.desk, path), 8000)

    def _export_list(self) -> None:
        suggested = f"{self.stem}.csv"
        name, kind = QFileDialog.getSaveFileName(self.window, tr("Export list"), suggested, LISTS)
        if name:
            self.export_list(_with_ending(name, kind.partition("*")[2].rstrip(")") or ".csv"))

    def export_list(self, path: Path) -> None:
        """Write the selected (or shown) faces with all columns, in a thread: a million take their time."""
        request = Request(
            title=tr("Write {name}", name=path.name),
            call=tasks.write_list,
            args=(self._said_faces(), self._rows(), path),
            slot="list",
            place="thread",
        )
        self._send(request, lambda job: self._on_exported(job, path))

    def _said_faces(self) -> FaceSet:
        """The faces with what was said about them, as far as something was."""
        workspace = self.workspace
        return self.faces.with_columns(spoken(self.faces, workspace.annotations, workspace.subsets))

    # -- evaluation

    def _evaluate(self) -> None:
        before = self.evaluating.job()
        self.window.stage.show_page("evaluation")
        if self.evaluating.job() is before:  # the page may have begun by itself
            self.evaluating.run()

    def _export_tables(self) -> None:
        suggested = f"{self.stem}.json"
        name, kind = QFileDialog.getSaveFileName(self.window, tr("Export tables"), suggested, TABLES)
        if name:
            self.evaluating.export_tables(_with_ending(name, kind.partition("*")[2].rstrip(")") or ".json"))

    def _copy_latex(self) -> None:
        from facelens.session import tables

        def copy(text: str) -> None:
            QGuiApplication.clipboard().setText(text)
            self.window.statusBar().showMessage(tr("Table copied as LaTeX"), 6000)

        evaluation = self.workspace.evaluation
        assert evaluation is not None  # the action's condition
        if not guise(self.window.desk):
            copy(tables.latex(evaluation))
            return
        request = Request(
            title=tr("Copy the table"), call=tables.latex_ticked, args=(evaluation,), slot="copy", place="thread"
        )
        self._send(request, lambda job: self._on_latex(job, copy))

    def _on_latex(self, job: Job, copy: Callable[[str], None]) -> None:
        if job.state is State.DONE:
            copy(str(job.result))
        elif job.error is not None:
            self.window.notices.error(job.error, trace=job.trace)

    def _export_policy(self) -> None:
        suggested = f"{self.stem} policy.json"
        if name := QFileDialog.getSaveFileName(self.window, tr("Export policy"), suggested, "JSON (*.json)")[0]:
            self.evaluating.export_policy(_with_ending(name, ".json"))

    # -- uncertainty

    def _assess(self) -> None:
        before = self.assessing.job()
        self.window.stage.show_page("uncertainty")
        if self.assessing.job() is before:
            self.assessing.run()

    def _export_faces(self, *, refused: bool) -> None:
        suggested = f"{self.stem} {'refused' if refused else 'variance'}.csv"
        if name := QFileDialog.getSaveFileName(self.window, tr("Export list"), suggested, "CSV (*.csv)")[0]:
            self.assessing.export_faces(_with_ending(name, ".csv"), refused=refused)

    def _export_rejection(self) -> None:
        suggested = f"{self.stem} rejection.csv"
        kinds = "CSV (*.csv);;JSON (*.json)"
        name, kind = QFileDialog.getSaveFileName(self.window, tr("Export curves"), suggested, kinds)
        if name:
            self.assessing.export_curves(_with_ending(name, "." + (kind.split() or ["csv"])[0].lower()))

    # -- confidence and learners

    def _export_parts(self) -> None:
        from facelens.session.part_tables import write_confidence

        suggested = f"{self.stem} parts.csv"
        if name := QFileDialog.getSaveFileName(self.window, tr("Export list"), suggested, "CSV (*.csv)")[0]:
            self._write(_with_ending(name, ".csv"), write_confidence, self.faces, self.workspace.parts)

    def _export_study(self) -> None:
        from facelens.session.part_tables import write_study

        suggested, now = f"{self.stem} parts.json", self.workspace
        if name := QFileDialog.getSaveFileName(self.window, tr("Export numbers"), suggested, "JSON (*.json)")[0]:
            out = _with_ending(name, ".json")
            self._write(out, write_study, self.faces, now.parts, now.study, now.resolved_parts)

    def _export_learners(self) -> None:
        from facelens.session.part_tables import write_learners

        suggested, kinds = f"{self.stem} learners.json", "JSON (*.json);;CSV (*.csv)"
        name, kind = QFileDialog.getSaveFileName(self.window, tr("Export numbers"), suggested, kinds)
        if name:
            out = _with_ending(name, "." + (kind.split() or ["json"])[0].lower())
            self._write(out, write_learners, self.faces, self.workspace.learners)

    # -- match

    def _sweep(self) -> None:
        self.window.stage.show_page("match")
        self.window.panel("match").sweeping.run()  # type: ignore[attr-defined]

    def _export_ranking(self) -> None:
        from facelens.session.match_tables import write_ranking

        suggested, kinds = f"{self.stem} ranking.csv", "CSV (*.csv);;JSON (*.json)"
        name, kind = QFileDialog.getSaveFileName(self.window, tr("Export ranking"), suggested, kinds)
        if name:
            out = _with_ending(name, "." + (kind.split() or ["csv"])[0].lower())
            found = self.window.panel("match").found()  # type: ignore[attr-defined]
            now = self.workspace
            asked = {"query": now.query, "queries": now.queries}
            self._write(out, write_ranking, self.faces, found, now.resolved_match, **asked)

    # -- upgrade

    def _upgrade(self) -> None:
        asking = self.window.panel("upgrade").asking  # type: ignore[attr-defined]
        before = asking.job()
        self.window.stage.show_page("upgrade")
        if asking.job() is before:
            asking.run()

    def _export_report(self) -> None:
        if name := QFileDialog.getExistingDirectory(self.window, tr("A folder for the report")):
            self.export_report(Path(name) / f"{self.stem} upgrade")

    def export_report(self, out: Path) -> None:
        """A folder with a page of everything, figures and tables."""
        from facelens.session.upgrade_report import write_report

        now = self.workspace
        features = {name: now.features[name] for name in now.upgrade.matrix.models}  # type: ignore[union-attr]
        self._write(out, write_report, self.faces, now.upgrade, features=features, **self._upgrade_case())

    def _export_upgrade_numbers(self) -> None:
        from facelens.session.upgrade_tables import write_upgrade_json

        suggested, now = f"{self.stem} upgrade.json", self.workspace
        if name := QFileDialog.getSaveFileName(self.window, tr("Export numbers"), suggested, "JSON (*.json)")[0]:
            features = {name: now.features[name] for name in now.upgrade.matrix.models}  # type: ignore[union-attr]
            self._write(_with_ending(name, ".json"), write_upgrade_json, self.faces, now.upgrade, features=features)

    def _export_flips(self) -> None:
        from facelens.session.upgrade_tables import write_flips

        suggested = f"{self.stem} flips.csv"
        if name := QFileDialog.getSaveFileName(self.window, tr("Export flips"), suggested, "CSV (*.csv)")[0]:
            self._write(_with_ending(name, ".csv"), write_flips, self.faces, self.workspace.upgrade)

    def _export_order(self) -> None:
        from facelens.session.upgrade_tables import write_order

        suggested = f"{self.stem} backfill.csv"
        if name := QFileDialog.getSaveFileName(self.window, tr("Export order"), suggested, "CSV (*.csv)")[0]:
            order = self._upgrade_case()["order"]
            self._write(_with_ending(name, ".csv"), write_order, self.faces, self.workspace.upgrade, order=order)

    def _upgrade_case(self) -> dict[str, object]:
        found: dict[str, object] = self.window.panel("upgrade").case()  # type: ignore[attr-defined]
        return found

    def _upgrade_layout(self) -> None:
        self.window.apply_layout("upgrade")
        self.window.stage.show_page("upgrade")

    # -- projection

    def _export_points(self) -> None:
        from facelens.session.depicting import upgrade_on_map
        from facelens.session.projection_tables import write_points
        from facelens.views import exporting

        found, upgrade = self.workspace.projection, upgrade_on_map(self.workspace)
        asked = exporting.ask(self.window, tr("Export points"), f"{self.stem} map.csv", exporting.POINTS)
        if asked is None or found is None:
            return
        out, kind = asked
        if kind.target:
            exporting.export(self.window, found.plan.model, out, kind)
        else:
            change = upgrade.change_of(found.ids) if upgrade is not None else None
            self._write(out, write_points, self.faces, found, change=change)

    def _write(self, out: Path, call: Callable[..., object], *args: object, **kwargs: object) -> None:
        from facelens.views.writing import write

        write(self.window.desk, out, call, *args, slot="parts file", **kwargs)

    def _build(self, kind: str, folds: int, per_fold: int, seed: int) -> None:
        name = QFileDialog.getSaveFileName(self.window, tr("Save the list"), kind)[0]
        if not name:
            return
        path = _with_ending(name, Path(kind).suffix)
        request = Request(
            title=tr("Build {name}", name=path.name),
            call=tasks.build_protocol,
            args=(self.faces, path),
            kwargs={"folds": folds, "per_fold": per_fold, "seed": seed},
            slot="build",
            unit=tr("pairs"),
        )
        self._send(request, lambda job: self._on_exported(job, path))

    def _report(self) -> None:
        from facelens.views import reporting

        reporting.ask(self.window)

    # -- views and layouts

    def _view(self, view: str) -> None:
        self.window.stage.show_page("gallery")
        self.gallery.show_view(view)

    def _theme(self, scheme: str) -> None:
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        theme.apply(app, scheme, by_and_by=True)  # type: ignore[arg-type]
        self.window.desk.settle(theme=scheme)

    def _region(self, by: int) -> None:
        regions = self.window.regions()
        focus = QApplication.focusWidget()
        here = next(
            (
                i
                for i, region in enumerate(regions)
                if focus is not None and (region is focus or region.isAncestorOf(focus))
            ),
            -by,
        )
        for step in range(1, len(regions) + 1):
            if _give_focus(regions[(here + by * step) % len(regions)]):
                return

    def _show_dock(self, word: str) -> None:
        dock = self.window.docks[word]
        dock.show()
        dock.raise_()
        _give_focus(dock.widget())

    @cached_property
    def guide(self) -> GuideWindow:
        """Made when it is first opened."""
        from facelens.views.guide import GuideWindow

        return GuideWindow(self.window)

    def _open_guide(self) -> None:
        """At the card that is shown, else at the page that is in front."""
        place = self.window.what.place
        self.window.what.end()
        self.open_guide(*(place or (self.window.page_in_front(), "")))

    def open_guide(self, page: str, anchor: str = "") -> None:
        """Show a page of the guide."""
        self.guide.show()  # first: where a section lies depends on how wide the page is
        self.guide.show_page(page, anchor)
        self.guide.raise_()
        self.guide.activateWindow()

    def close_guide(self) -> None:
        """Close its window, if there is one."""
        if "guide" in vars(self):
            self.guide.close()

    def _cancel_jobs(self) -> None:
        for job in self.window.jobs.jobs:
            if job.state in (State.WAITING, State.RUNNING):
                self.window.jobs.cancel(job.number)

    def _about(self) -> None:
        self.window.notices.show(
            tr("FaceLens {version}", version=__version__),
            tr(
                "Looks inside face embeddings. Nothing leaves this computer. MIT licence. "
                "All faces of the sample gallery are drawn by program: nobody in it exists."
            ),
            kind="info",
        )

    # -- selection and filter

    def _select(self, ids: np.ndarray, mode: Mode = Mode.REPLACE) -> None:
        self._set(self.workspace.selection.combine(ids, mode))

    def _set(self, selection: Selection) -> None:
        self.window.store.update(selection=selection)

    def _select_identity(self) -> None:
        faces = self.faces
        row = faces.row_of(self.workspace.selection.current)
        shown = self.workspace.shown
        if row is not None:
            self._select(faces.ids[shown[faces.identity.codes[shown] == faces.identity.codes[row]]])

    def _exclude(self) -> None:
        workspace = self.workspace
        selection, shown = workspace.selection, workspace.shown_ids
        left = shown[~np.isin(shown, selection.ids)]
        current = selection.current
        if current is not None and current in selection and len(left):
            # The list never jumps: look at the next face that stays.
            at = int(np.flatnonzero(shown == current)[0]) if current in shown else 0
            after = shown[at:][~np.isin(shown[at:], selection.ids)]
            current = int(after[0]) if len(after) else int(left[-1])
        self.window.store.update(
            excluded=np.union1d(workspace.excluded, selection.ids), selection=Selection(current=current)
        )

    def _tags(self):  # type: ignore[no-untyped-def]
        return self.window.dock_panels["tags"]

    def _tag(self) -> None:
        self._show_dock("tags")
        self._tags().line.setFocus()

    def _rename_person(self) -> None:
        row = self.faces.row_of(self.workspace.selection.current)
        if row is not None:
            self.rename_person(self.faces.identity.name(row))

    def rename_person(self, name: str) -> None:
        """Ask for another name of everybody who is called so."""
        ids = faces_of(self.workspace, name)
        if len(ids):
            NameSheet(self.window.desk, ids, self.window, person=name).open()

    def _show_edited(self) -> None:
        self.window.stage.show_page("gallery")
        column = called(self.faces)[EDITED]
        self._filter(filters.choosing(self.workspace.arrangement.filter, column, [YES]))

    def _note(self) -> None:
        self._show_dock("inspector")
        self.window.dock_panels["inspector"].marks.note.setFocus()  # type: ignore[attr-defined]

    def _copy_paths(self) -> None:
        faces, selection = self.faces, self.workspace.selection
        ids = selection.ids if len(selection) else np.array([selection.current], np.int64)
        paths = [str(faces.path(int(row))) for row in faces.rows_of(ids)]
        QGuiApplication.clipboard().setText("\n".join(paths))
        self.window.statusBar().showMessage(plural(len(paths), "{n} path copied", "{n} paths copied"), 6000)

    def _step_back(self) -> None:
        window, workspace = self.window, self.workspace
        if window.palette_card.isVisible():
            window.palette_card.close_palette()
        elif window.notices.cards:
            window.notices.close_all()
        elif workspace.faces is None:
            return
        elif window.stage.word == "gallery" and self.gallery.view != "grid":
            self.gallery.show_view("grid")
        elif len(workspace.selection):
            self._set(replace(workspace.selection, ids=np.zeros(0, np.int64)))
        elif workspace.arrangement.filter:
            self._filter("")

    def _filter(self, text: str) -> None:
        self.window.store.update(arrangement=replace(self.workspace.arrangement, filter=text))

    def _focus_filter(self) -> None:
        self._show_dock("filter")
        self.window.docks["filter"].widget().focus_line()  # type: ignore[attr-defined]

    def show_identity(self, name: str) -> None:
        """Filter the gallery to one identity."""
        self.window.stage.show_page("gallery")
        self._filter(filters.choosing(self.workspace.arrangement.filter, "identity", [name]))
        self.gallery.home().setFocus()

    def look_at(self, face: int) -> None:
        """Select one face and look at it; a filter that hides it is cleared."""
        self.window.stage.show_page("gallery")
        if face not in self.workspace.shown_ids:
            self._filter("")
        self._set(Selection(ids=np.array([face], np.int64), current=face))
        self.gallery.home().setFocus()  # the arrows walk on from here


def _with_ending(name: str, ending: str) -> Path:
    """What the user typed; without an ending it gets the one of the chosen kind."""
    return Path(name) if Path(name).suffix else Path(name + ending)


def _give_focus(region: QWidget) -> bool:
    from PySide6.QtCore import Qt

    first = [region.home()] if isinstance(region, Panel) else []
    for widget in (*first, region, *region.findChildren(QWidget)):
        if widget.isVisible() and widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            widget.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return True
    return False
