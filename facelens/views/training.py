"""Training: from a recipe to a checkpoint that lies in Models.

Holds no state: what is asked is the workspace's `draft`, what came of it its `run`, what is under way is in the job
queue. The slot is `train`; reading what a folder holds is `held`.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from facelens.errors import FaceLensError, InputError
from facelens.progress import Tick
from facelens.session import folders, training
from facelens.session.draft import Draft, Source, free, of_run, reason
from facelens.session.jobs import Job, Request, State
from facelens.session.training import Run
from facelens.views.modelling import Modelling
from facelens.views.panel import Desk
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.images.faceset import FaceSet

SLOT = "train"
FIRST = "cosface"
PLAIN = ("margin", "compatible")  # kinds that train any network


class Trainer:
    """What can be done with a training; any panel may make one."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    # -- what is asked

    def choose(self, name: str | Path) -> None:
        """Take a recipe of FaceLens, or a file; the models it needs are those that are compared."""
        workspace = self.desk.workspace
        draft = Draft.of(name, source=self._usual_source(), root=root(self.desk))
        a, b = workspace.model_a, workspace.model_b
        usual = {
            "old": a or b,
            "new": b if a else "",
            "gallery": a or b,
            "query": b if a else "",
            "start": workspace.model,
        }
        for role in draft.missing:
            found = workspace.inspection(usual.get(role, ""))
            if found is not None:
                draft = self._given(draft, role, str(found.path))
        first = workspace.draft is None  # which is no step
        with self.desk.store.aside() if first else nullcontext():
            self.desk.store.update(draft=draft, initiator=self)

    def give(self, role: str, file: str) -> None:
        """Use a model in a role; weights to start from bring their network with them."""
        if (draft := self.desk.workspace.draft) is not None:
            self.change(self._given(draft, role, file))

    def _given(self, draft: Draft, role: str, file: str) -> Draft:
        values: dict[str, Any] = {f"models.{role}": file}
        found = next((one for one in self.desk.workspace.models if str(one.path) == file), None)
        if role == "start" and found is not None and draft.recipe is not None:
            network = draft.recipe.network
            if found.card.architecture == network.architecture:
                values["network.options"] = {**network.options, **found.card.options}
            elif draft.recipe.kind in PLAIN:
                values |= {"network.architecture": found.card.architecture, "network.options": dict(found.card.options)}
        try:
            return draft.with_values(values)
        except InputError as error:
            self.desk.notify(error)
            return draft

    def change(self, draft: Draft) -> None:
        """Ask for something else; a folder that is taken by what was trained before is left for another."""
        before = self.desk.workspace.draft
        if before is not None and before.out == draft.out and before != draft and draft.taken:
            draft = replace(draft, out=free(draft.out.parent / draft.title))
        self.desk.store.update(draft=draft, initiator=self)
        if draft.taken and self.job() is None:
            self.look_into(draft.out)

    def another_folder(self) -> None:
        """Train into a folder that is not taken."""
        if (draft := self.desk.workspace.draft) is not None:
            self.desk.store.update(draft=replace(draft, out=free(draft.out.parent / draft.title)), initiator=self)

    def _usual_source(self) -> Source:
        return "open" if self.desk.workspace.faces is not None else "drawn"

    # -- what a folder holds

    def look_into(self, folder: Path, *, offer: bool = False) -> None:
        """Show the training that a folder holds; with `offer` as the one to go on with, if it is not finished."""
        request = Request(
            title=tr("Read {name}", name=escaped(folder.name)),
            call=_held,
            args=(folder,),
            slot="held",
            place="thread",
        )

        def then(job: Job) -> None:
            if job.state is State.FAILED:
                if not offer:  # nobody asked for it
                    self.desk.notify(job.error, trace=job.trace)
                return
            run: Run | None = job.result  # type: ignore[assignment]
            if run is None or self.job() is not None or (offer and run.files):
                return
            if offer:
                self._ask_again(run)
            if run.step:
                self.desk.store.update(run=run, initiator=self)

        self.desk.jobs.submit(request, then=then)

    def _ask_again(self, run: Run) -> None:
        """What a training was begun with is what is asked."""
        source: Source = "stated" if run.recipe.data.gallery else "open" if run.name else "drawn"
        self.desk.store.update(draft=of_run(run.recipe, source=source, out=run.folder), initiator=self)

    # -- doing it

    def job(self) -> Job | None:
        """The training that waits or runs."""
        jobs = [job for job in self.desk.jobs.jobs if job.request.slot == SLOT and not job.state.ended]
        return jobs[-1] if jobs else None

    def start(self) -> None:
        """Train what is asked, from the beginning."""
        workspace = self.desk.workspace
        draft = workspace.draft
        if draft is None:
            return
        if why := reason(draft, gallery=workspace.faces is not None):
            self.desk.tell(why)
            return
        assert draft.final is not None
        if draft.taken:
            self.look_into(draft.out)
            return
        run = Run(draft.out, draft.final)
        faces = None
        if draft.source == "open":
            faces, source = workspace.faces, workspace.source
            assert faces is not None
            whole = source is not None and source.faces == len(faces)  # not one that was joined with another
            path = source.path if source and whole else None
            run = replace(run, gallery=path, name=faces.name, excluded=_ids(workspace.excluded))
        elif draft.source == "stated":
            path = Path(draft.final.data.gallery)
            run = replace(run, gallery=path, name=path.name)
        self._submit(run, faces)

    def resume(self) -> None:
        """Go on with the training that is shown."""
        workspace = self.desk.workspace
        run = workspace.run
        if run is None or self.job() is not None:
            return
        source = workspace.source
        here = source is not None and run.gallery is not None and source.path.absolute() == run.gallery.absolute()
        joined = bool(run.name) and run.gallery is None
        if joined and workspace.faces is None:
            error = InputError(
                tr("This was trained on {name}, which is not open.", name=run.name), hint=tr("Open it, then resume.")
            )
            self.desk.store.update(run=replace(run, error=error), initiator=self)
            return
        draft = workspace.draft
        if draft is None or draft.out != run.folder:
            self._ask_again(run)
        self._submit(replace(run, error=None), workspace.faces if here or joined else None)

    def forgive(self) -> None:
        """Say no more about why the last training failed."""
        run = self.desk.workspace.run
        if run is not None and run.error is not None:
            self.desk.store.update(run=replace(run, error=None), initiator=self)

    def stop(self) -> None:
        """End it after the step at hand; what was learned is saved."""
        self.desk.jobs.cancel_slot(SLOT)

    def _submit(self, run: Run, faces: FaceSet | None) -> None:
        request = Request(
            title=tr("Train {name}", name=escaped(run.recipe.name)),
            call=training.train_model,
            args=(run.recipe, run.folder),
            kwargs={
                "gallery": run.gallery,
                "faces": faces,
                "excluded": np.array(run.excluded, np.int64),
                "cache": folders.cache() / "training",
                "resume": True,  # a retry goes on; a folder that is taken was refused before
            },
            slot=SLOT,
            unit=tr("steps"),
            long=True,
        )
        self.desk.jobs.submit(
            request, then=lambda job: self._on_ended(job, run.folder), partial=lambda row: self._on_row(row, run.folder)
        )
        self.desk.store.update(run=run, initiator=self)
        self.desk.settle(training=str(run.folder.absolute()))

    def _on_row(self, row: Any, folder: Path) -> None:
        run = self.desk.workspace.run
        if run is not None and run.folder == folder:
            self.desk.store.update(run=replace(run.with_row(row), error=None), initiator=self)

    def _on_ended(self, job: Job, folder: Path) -> None:
        run = self.desk.workspace.run
        if run is None or run.folder != folder:
            return
        if job.state is State.FAILED:
            error = job.error
            if isinstance(error, FaceLensError):
                self.desk.store.update(run=replace(run, error=error), initiator=self)
            else:
                self.desk.notify(error, trace=job.trace)
        elif job.state is State.DONE:
            done: training.Training = job.result  # type: ignore[assignment]
            files = tuple(file for files in done.files for file in files)
            run = replace(run, files=files, step=done.steps[-1])
            self.desk.store.update(run=run, initiator=self)
            self._open(run)

    def _open(self, run: Run) -> None:
        """Put what was trained into Models, and say where the rest lies."""
        networks, maps = run.made
        if networks:
            Modelling(self.desk).load_all(networks)
        said = [plural(len(networks), "It is in Models.", "All {n} are in Models.")] if networks else []
        if maps:
            said.append(tr("Transforms: {paths}", paths=", ".join(escaped(str(file)) for file in maps)))
        self.desk.say(
            tr("{name} is trained", name=escaped(run.recipe.name)),
            " ".join(said),
            action="model.show" if networks else "",
        )


def root(desk: Desk) -> Path:
    """Where folders of new trainings lie."""
    last = desk.settings.training
    return Path(last).parent if last else folders.trained()


def _held(folder: Path, *, tick: Tick) -> Run | None:
    return training.held(folder)


def _ids(ids: np.ndarray) -> tuple[int, ...]:
    return tuple(int(one) for one in ids)
