"""Models and vectors: from a file to a model, from a gallery to its vectors, and away with both again.

Holds no state: what is known is in the workspace, what is under way in the job queue. Slots are `inspect:PATH`,
`embed:NAME`, `stability:KIND:NAME`, `vectors:NAME` (looking for stored ones, or importing), `open vectors:PATH` (of a
workspace file), `export`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from facelens.analyses.plan import EnsemblePlan
from facelens.errors import FaceLensError, NeedsChoice
from facelens.images.faceset import FaceSet, Rows
from facelens.images.quarantine import Again
from facelens.resources import sample_models, sample_transforms
from facelens.session import folders, tasks
from facelens.session.jobs import Job, Request, State
from facelens.session.workspace import Stored, Table, unique_name, with_model_columns
from facelens.views.panel import Desk
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.features.card import Card
    from facelens.features.featureset import FeatureSet
    from facelens.features.library import Inspection


SAMPLE_PAIR = ("old", "lce")  # of the sample checkpoints, those that are compared first
SAMPLE_ENSEMBLE = ("new", "plain", "residual")  # those that are put together; the first one asks
SAMPLE_UPPER = "plain"  # of the ensemble, the one that is what an upgrade could reach
SAMPLE_PARTS = ("universal", "divided", "undivided")  # those that are looked at part by part
SAMPLE_UPGRADES = ("bct", "l2")  # other upgrades of old, to compare with


def vectors_root(desk: Desk) -> Path:
    """Where vectors are kept."""
    return desk.vectors or folders.vectors()


def _vectors_at(desk: Desk, faces: FaceSet, found: Inspection) -> Path:
    """Where the vectors of a gallery by a model are kept."""
    from facelens.features.store import fingerprint

    return vectors_root(desk) / fingerprint(faces, weights=found.sha256, card=found.card)


class Modelling:
    """What can be done with models and vectors; any panel may make one."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        self.desk = desk
        self.parent = parent
        self.before: dict[str, str] = {}  # of a gallery that may have moved: the stores of each model where it lay
        self.heads: tuple[str, ...] = ()  # and how paths began there, where galleries were joined

    # -- a file becomes a model

    def load(
        self,
        path: Path,
        *,
        card: Card | None = None,
        architecture: str = "",
        network: str = "",
        then: str = "",
        ended: Callable[[str], None] | None = None,
    ) -> None:
        """Say what the file is, in the worker, and list it; `then` is told as a message when it worked.

        `ended` is told why it is not listed, "" where it is; a failure is then not shown here.
        """
        path = path.absolute()
        request = Request(
            title=tr("Read {name}", name=escaped(path.name)),
            call=tasks.inspect_model,
            args=(path,),
            kwargs={
                "card": card,
                "architecture": architecture or None,
                "network": network or None,
                "consents": folders.consents(),
            },
            slot=f"inspect:{path}",
            unit="bytes",
            short=True,
        )
        self.desk.jobs.submit(
            request, then=lambda job: self._on_inspected(job, path, card=card, said=then, ended=ended)
        )

    def load_all(self, paths: Sequence[Path], *, then: Callable[[], None] = lambda: None) -> None:
        """List files of our own, in their order; `then` is called when they are there."""
        request = Request(
            title=plural(len(paths), "Read {n} model", "Read {n} models"),
            call=tasks.inspect_models,
            args=(tuple(paths),),
            slot=f"inspect:{paths[0]}",
            unit=tr("models"),
            short=True,
        )

        def done(job: Job) -> None:
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
            elif job.state is State.DONE:
                for found in job.result:  # type: ignore[attr-defined]
                    self._put(found)
                then()

        self.desk.jobs.submit(request, then=done)

    def _on_inspected(
        self, job: Job, path: Path, *, card: Card | None, said: str, ended: Callable[[str], None] | None = None
    ) -> None:
        if isinstance(job.error, NeedsChoice) and isinstance(job.error.options, dict):
            self._ask_consent(job.error, path, card=card, ended=ended)
        elif job.state is State.FAILED and ended is not None:
            ended(job.error.message if isinstance(job.error, FaceLensError) else tr("It could not be read."))
        elif job.state is State.FAILED:
            self.desk.notify(job.error, trace=job.trace)
        elif job.state is State.DONE:
            self._put(job.result)  # type: ignore[arg-type]
            if said:
                self.desk.tell(said)
            if ended is not None:
                ended("")

    def _put(self, found: Inspection) -> None:
        workspace = self.desk.workspace
        old = next((one for one in workspace.models if one.path == found.path), None)
        others = tuple(name for name in workspace.model_names if old is None or name != old.card.name)
        name = unique_name(escaped(found.card.name.strip()) or escaped(found.path.stem), others)
        found = replace(found, card=found.card.changed(name=name))
        if old is None:
            models = (*workspace.models, found)
        else:
            models = tuple(found if one is old else one for one in workspace.models)
        changes: dict[str, object] = {"models": models, "model": name}
        if old is not None:
            same = (old.sha256, old.card.digest) == (found.sha256, found.card.digest)
            changes |= self._without(old.card.name, to=name, keep=same)
        self.desk.store.update(initiator=self, **changes)
        self.look_up(name)

    def load_sample(self) -> None:
        """List the checkpoints that come with the sample gallery and embed those that are shown first.

        `old` is A, its upgrade B; three others are the ensemble.
        """
        listed = {one.path for one in self.desk.workspace.models}
        paths = [path for path in sample_models() if path not in listed]
        first = tuple(path for path in paths if path.stem in SAMPLE_PAIR)
        second = tuple(path for path in paths if path.stem in SAMPLE_ENSEMBLE)
        rest = tuple(path for path in paths if path not in (*first, *second))
        self._put_together(SAMPLE_ENSEMBLE)  # before any other two have vectors
        if first:
            self.load_all(first, then=self._on_pair)
        if second:
            self.load_all(second, then=self._on_ensemble)
        else:
            self._on_ensemble()
        if rest:
            self.load_all(rest, then=self._on_rest)

    def _sampled(self, *stems: str) -> list[str]:
        """Names of sample checkpoints, "" for one that is not listed."""
        named = {one.path.stem: one.card.name for one in self.desk.workspace.models if one.path in sample_models()}
        return [named.get(stem, "") for stem in stems]

    def _in_order(self) -> None:
        """The sample checkpoints behind other models, those that are looked at first ahead, whichever came first."""
        first = (*SAMPLE_PAIR, *SAMPLE_ENSEMBLE, *SAMPLE_PARTS, *SAMPLE_UPGRADES)
        models, sample = self.desk.workspace.models, sample_models()
        stems = [*first, *sorted({path.stem for path in sample} - set(first))]
        ordered = tuple(sorted(models, key=lambda one: stems.index(one.path.stem) if one.path in sample else -1))
        if ordered != models:
            self.desk.store.update(models=ordered, initiator=self)

    def _on_pair(self) -> None:
        self._in_order()
        a, b = self._sampled(*SAMPLE_PAIR)
        self.desk.store.update(model_a=a, model_b=b, initiator=self)
        self._show(b)
        self._embed_missing((a, b))

    def _on_ensemble(self) -> None:
        self._in_order()
        self._show(self.desk.workspace.model_b)
        members = self._sampled(*SAMPLE_ENSEMBLE)
        if all(members):
            self._put_together(members)
            self._embed_missing(members)
            upper = members[SAMPLE_ENSEMBLE.index(SAMPLE_UPPER)]
            plan = replace(self.desk.workspace.upgrade_plan, upper=upper, far=1e-2, fpir=1e-1)
            self.desk.store.update(upgrade_plan=plan, initiator=self)

    def _on_rest(self) -> None:
        self._in_order()
        self._show(self.desk.workspace.model_b)
        self._embed_missing(self._sampled(*SAMPLE_PARTS, *SAMPLE_UPGRADES))

    def _put_together(self, members: Sequence[str]) -> None:
        """The sample ensemble, with the transforms that come with it."""
        called = dict(zip(SAMPLE_ENSEMBLE, members, strict=True))
        files = tuple((called[name], str(path)) for name, path in sample_transforms().items())
        # Rates that a gallery of 640 faces supports.
        plan = EnsemblePlan(members=tuple(members), target=members[0], files=files, far=1e-2, fpir=1e-1)
        self.desk.store.update(ensemble=plan, initiator=self)

    def _embed_missing(self, names: Iterable[str]) -> None:
        for name in filter(None, names):
            if not self._has_vectors(name):
                self.embed(name)

    def _show(self, name: str) -> None:
        if name:
            self.desk.store.update(model=name, initiator=self)

    def _has_vectors(self, name: str) -> bool:
        found, faces = self.desk.workspace.inspection(name), self.desk.workspace.faces
        return found is not None and faces is not None and _vectors_at(self.desk, faces, found).is_dir()

    def _without(self, name: str, *, to: str, keep: bool) -> dict[str, object]:
        """The workspace's fields with a model renamed `to`, "" for none; its vectors stay only with `keep`."""
        workspace = self.desk.workspace
        features = {(to if key == name else key): value for key, value in workspace.features.items()}
        stored = {(to if key == name else key): value for key, value in workspace.stored.items()}
        if not keep:
            features.pop(to, None)
            stored.pop(to, None)
        changes: dict[str, object] = {"features": features, "stored": stored}
        changes["tables"] = self._given(name, to if keep else "")
        for slot in ("model", "model_a", "model_b"):
            if getattr(workspace, slot) == name:
                changes[slot] = to
        if workspace.faces is not None:
            changes["faces"] = with_model_columns(workspace.faces, features, stored)
        if name in (*workspace.ensemble.members, workspace.ensemble.target):
            changes["ensemble"] = workspace.ensemble.renamed(name, to)
        for plan in ("parts_plan", "learners_plan", "projection_plan", "match_plan", "upgrade_plan"):
            changes[plan] = getattr(workspace, plan).renamed(name, to)
        if not keep and workspace.resolved_parts.model == name:
            changes |= {"left_out": (), "part": 0}
        return changes

    def _given(self, name: str, to: str = "") -> tuple[Table, ...]:
        """The tables with the vectors that a workspace file gave to a model under another name, or without them."""
        made = []
        for one in self.desk.workspace.tables:
            if one.card is not None and one.card.name == name:
                if to:
                    made.append(replace(one, card=one.card.changed(name=to)))
            else:
                made.append(one)
        return tuple(made)

    def _ask_consent(
        self, error: NeedsChoice, path: Path, *, card: Card | None, ended: Callable[[str], None] | None = None
    ) -> None:
        from facelens.features.checkpoint import ConsentBook

        digest = str(error.options["consent"])  # type: ignore[index]
        text = tr("{name} is a program (TorchScript). To use it, it has to be run.", name=escaped(path.name))
        detail = tr(
            "A program can do whatever you can do on this computer. Allow it only if you trust where it comes from. "
            "The answer is kept for this very file, SHA-256 {digest}…",
            digest=digest[:16],
        )
        if self.ask(text, detail, yes=tr("Allow this program"), no=tr("Do not run it")):
            try:
                ConsentBook(folders.consents()).allow(digest, path.name)
            except FaceLensError as problem:
                self.desk.notify(problem)
                return
            self.load(path, card=card, ended=ended)
        elif ended is not None:
            ended(error.message)

    def ask(self, text: str, detail: str, *, yes: str, no: str) -> bool:
        """A question whose default is no."""
        box = QMessageBox(self.parent)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle(tr("FaceLens"))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(text)
        box.setInformativeText(detail)
        agreed = box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
        declined = box.addButton(no, QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(declined)
        box.setEscapeButton(declined)
        box.exec()
        box.deleteLater()
        return box.clickedButton() is agreed

    def save_card(self, name: str, card: Card) -> None:
        """Write the card beside its file and use it; where it cannot be written it is used all the same."""
        from facelens.features import card as cards

        found = self.desk.workspace.inspection(name)
        if found is None:
            return
        place = cards.beside(found.path)
        try:
            cards.save(card, place)
        except FaceLensError as error:
            self.desk.notify(
                FaceLensError(
                    error.message, hint=tr("The card is used until FaceLens is closed."), details=error.details
                )
            )
            self.load(found.path, card=card)
            return
        self.load(found.path, card=card, then=tr("Card written to {path}", path=escaped(str(place))))

    def remove(self, name: str) -> None:
        """Take a model off the list; its file and its vectors on disk stay."""
        self._cancel(name)
        workspace = self.desk.workspace
        names = [other for other in workspace.model_names if other != name]
        changes = self._without(name, to="", keep=False)
        changes["models"] = tuple(one for one in workspace.models if one.card.name != name)
        if workspace.model == name:
            changes["model"] = names[0] if names else ""
        self.desk.store.update(initiator=self, **changes)

    # -- vectors

    def embed(self, name: str, *, rows: Rows | None = None) -> None:
        """Embed the faces that are not excluded; `rows` of those for a part. What is there already is kept."""
        workspace = self.desk.workspace
        found, faces = workspace.inspection(name), workspace.kept_faces
        if found is None or faces is None:
            return
        request = Request(
            title=tr("Embed with {name}", name=name),
            call=tasks.embed_gallery,
            args=(faces if rows is None else faces.take(rows), found.path),
            kwargs={
                "root": vectors_root(self.desk),
                "card": found.card,
                "consents": folders.consents(),
                "quarantined": folders.quarantine(),
            },
            slot=f"embed:{name}",
            unit=tr("faces"),
            again=Again(folders.quarantine()),
        )
        self.desk.jobs.submit(request, then=lambda job: self._on_embedded(job, name))

    def _on_embedded(self, job: Job, name: str) -> None:
        if job.state is State.FAILED:
            self.desk.notify(job.error, trace=job.trace)
            self.look_up(name)  # finished faces are kept
        elif job.state is State.DONE:
            done: tasks.Embedded = job.result  # type: ignore[assignment]
            self.look_up(name, skipped=done.skipped, notes=(done.sentence, *done.notes))

    def on_job(self, job: Job) -> None:
        """Show what a cancelled job has left; the window passes every job on."""
        kind, _, name = job.request.slot.partition(":")
        if job.state is State.CANCELLED and kind == "embed":
            self.look_up(name)
        elif job.state is State.CANCELLED and kind == "stability":
            self._look_again(name.partition(":")[2])

    # -- how much a model wavers

    def measure(self, name: str, kind: str) -> None:
        """Measure one kind of single-model variance of the faces that are not excluded; see features.stability."""
        workspace = self.desk.workspace
        found, faces = workspace.inspection(name), workspace.kept_faces
        if found is None or faces is None:
            return
        request = Request(
            title=tr("{Kind} variance of {name}", Kind=kind.capitalize(), name=name),
            call=tasks.measure_stability,
            args=(faces, found.path, kind),
            kwargs={
                "root": vectors_root(self.desk),
                "card": found.card,
                "consents": folders.consents(),
                "quarantined": folders.quarantine(),
            },
            slot=f"stability:{kind}:{name}",
            unit=tr("faces"),
            again=Again(folders.quarantine()),
        )
        self.desk.jobs.submit(request, then=lambda job: self._on_measured(job, name))

    def _on_measured(self, job: Job, name: str) -> None:
        if job.state is State.FAILED:
            self.desk.notify(job.error, trace=job.trace)
        if job.state is State.DONE:
            self.desk.tell(tr("{said} This is one model's own spread, not that of an ensemble.", said=job.result))
        self._look_again(name)

    def _look_again(self, name: str) -> None:
        """Read what is on disk of a model; what its embedding had to say still holds."""
        stored = self.desk.workspace.stored.get(name)
        skipped, notes = (stored.skipped, stored.notes) if stored is not None else ((), ())
        self.look_up(name, skipped=skipped, notes=notes)

    def _cancel(self, name: str) -> None:
        """Stop whatever works on the vectors of a model."""
        for job in self.desk.jobs.jobs:
            kind, _, of = job.request.slot.partition(":")
            if (kind, of) == ("embed", name) or (kind == "stability" and of.partition(":")[2] == name):
                self.desk.jobs.cancel(job.number)

    # -- vectors on disk

    def look_up(self, name: str, *, skipped: tuple[tuple[int, str], ...] = (), notes: tuple[str, ...] = ()) -> None:
        """Bring the vectors that are on disk for the open gallery into the workspace."""
        workspace = self.desk.workspace
        found, faces = workspace.inspection(name), workspace.faces
        if found is None or faces is None:
            return
        place = _vectors_at(self.desk, faces, found)
        root, key = place.parent, place.name
        before = self.before.pop(name, "")
        if not place.is_dir() and not (before and (root / before).is_dir()):
            if skipped or notes:
                self._set_vectors(name, None, Stored(place, key, 0, skipped, notes))
            return
        request = Request(
            title=tr("Read vectors of {name}", name=name),
            call=tasks.stored_vectors,
            args=(faces, root, key),
            kwargs={"before": before, "heads": (tasks.heads(workspace.galleries), self.heads)},
            slot=f"vectors:{name}",
            place="thread",  # they are mapped here, not copied from the worker
        )

        def then(job: Job) -> None:
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
            elif job.state is State.DONE and self._still(faces, found):
                read: tasks.Kept = job.result  # type: ignore[assignment]
                if read.features is None and not place.is_dir():
                    return  # nothing of where the gallery lay can be used
                self._set_vectors(name, read.features, Stored(place, key, read.size, skipped, notes, read.variances))

        self.desk.jobs.submit(request, then=then)

    def _still(self, faces: FaceSet, found: Inspection | None = None) -> bool:
        """Whether the gallery and the model are the ones a job was asked for."""
        now = self.desk.workspace
        same = now.faces is not None and now.faces.pictures == faces.pictures
        return same and (found is None or found in now.models)

    def look_up_all(self) -> None:
        """After a gallery was opened: what is on disk for it."""
        for name in (one.card.name for one in self.desk.workspace.models):
            self.look_up(name)
        self.look_up_imported()

    def _set_vectors(self, name: str, features: FeatureSet | None, stored: Stored | None) -> None:
        workspace = self.desk.workspace
        have = {key: value for key, value in workspace.features.items() if key != name}
        kept = {key: value for key, value in workspace.stored.items() if key != name}
        if features is not None:
            have[name] = features
        if stored is not None:
            kept[name] = stored
        changes: dict[str, object] = {"features": have, "stored": kept}
        if workspace.faces is not None:
            changes["faces"] = with_model_columns(workspace.faces, have, kept)
        if features is not None and name not in (workspace.model_a, workspace.model_b):
            # The first is B; when a second comes it is the newer one, and the first becomes A.
            if not workspace.model_b:
                changes["model_b"] = name
            elif not workspace.model_a:
                changes |= {"model_a": workspace.model_b, "model_b": name}
        self.desk.store.update(initiator=self, **changes)

    def delete_vectors(self, name: str) -> None:
        """Delete the vectors of a model, or imported ones, for the open gallery from the disk."""
        from facelens.features.store import Store

        stored = self.desk.workspace.stored.get(name)
        if stored is None:
            if name in self.desk.workspace.features:
                self.remove(name)
            return
        text = tr("Delete the vectors of {name} for this gallery?", name=name)
        detail = tr("Embedding makes them again. Pictures and the model file are not touched.")
        if self.desk.workspace.inspection(name) is None:
            detail = tr("Importing brings them back. Pictures and the file they came from are not touched.")
        if stored.size and not self.ask(text, detail, yes=tr("Delete"), no=tr("Keep")):
            return
        self._cancel(name)
        try:
            if stored.folder.is_dir():
                Store.open(stored.folder.parent, stored.fingerprint).purge()
        except FaceLensError as error:
            self.desk.notify(error)
            return
        self._set_vectors(name, None, None)
        self.desk.store.update(tables=self._given(name), initiator=self)

    def forget_vectors(self) -> None:
        """Let go of all vectors that are kept on disk, before or after they are deleted there."""
        workspace = self.desk.workspace
        for job in self.desk.jobs.jobs:
            if job.request.slot.startswith(("embed:", "stability:")) and not job.state.ended:
                self.desk.jobs.cancel(job.number)
        features = {name: found for name, found in workspace.features.items() if name not in workspace.stored}
        changes: dict[str, object] = {"features": features, "stored": {}}
        if workspace.faces is not None:
            changes["faces"] = with_model_columns(workspace.faces, features, {})
        self.desk.store.update(initiator=self, **changes)

    # -- vectors from and to elsewhere

    def import_vectors(self, path: Path, *, names: Path | None = None, by_order: bool = False) -> None:
        """Read vectors made elsewhere for the open gallery."""
        faces = self.desk.workspace.faces
        if faces is None:
            self.desk.notify(
                FaceLensError(
                    tr("{name} holds vectors; they need a gallery.", name=escaped(path.name)),
                    hint=tr("Open the gallery they were made from, then import them."),
                )
            )
            return
        request = Request(
            title=tr("Import {name}", name=escaped(path.name)),
            call=tasks.import_vectors,
            args=(path, faces),
            kwargs={"names": names, "by_order": by_order, "root": vectors_root(self.desk)},
            slot=f"vectors:{path}",
            unit=tr("vectors"),
        )
        self.desk.jobs.submit(request, then=lambda job: self._on_imported(job, path, faces))

    def _on_imported(self, job: Job, path: Path, faces: FaceSet) -> None:
        if isinstance(job.error, NeedsChoice):
            self._ask_names(job.error, path)
        elif job.state is State.FAILED:
            self.desk.notify(job.error, trace=job.trace)
        elif job.state is State.DONE and self._still(faces):
            found: tasks.Imported = job.result  # type: ignore[assignment]
            self.desk.store.update(model=self._set_imported(found), initiator=self)
            if found.report:
                self.desk.notify(
                    FaceLensError(
                        tr("Not everything in {name} fits this gallery.", name=escaped(path.name)),
                        hint=" ".join(f"{line}." for line in found.report),
                    )
                )

    def _set_imported(self, found: tasks.Imported) -> str:
        """Show imported vectors under their name, in the place of the same ones; returns the name."""
        workspace = self.desk.workspace
        known = {one.folder: name for name, one in workspace.stored.items()}
        name = known.get(found.store) if found.store is not None else None  # type: ignore[arg-type]
        name = name or unique_name(escaped(found.name), workspace.model_names)
        stored = None
        if found.store is not None:
            stored = Stored(found.store, found.store.name, found.size, (), (found.source,))
        self._set_vectors(name, found.features, stored)
        return name

    def take_vectors(self, given: Table, *, ended: Callable[[str], None]) -> None:
        """Read the vectors that a workspace file has for a model, in the place of none; `ended` is told why not."""
        faces, card = self.desk.workspace.faces, given.card
        assert faces is not None and card is not None
        request = Request(
            title=tr("Read vectors of {name}", name=escaped(card.name)),
            call=tasks.import_vectors,
            args=(given.path, faces),
            kwargs={"root": vectors_root(self.desk), "card": card, "weights": given.weights},
            slot=f"open vectors:{given.path}",
            unit=tr("vectors"),
        )

        def done(job: Job) -> None:
            if job.state is State.FAILED:
                ended(job.error.message if isinstance(job.error, FaceLensError) else tr("They could not be read."))
            elif job.state is State.DONE and self._still(faces):
                self._set_given(job.result, given)  # type: ignore[arg-type]
                ended("")

        self.desk.jobs.submit(request, then=done)

    def _set_given(self, found: tasks.Imported, given: Table) -> None:
        workspace = self.desk.workspace
        assert given.card is not None and found.store is not None
        name = escaped(given.card.name.strip())
        tables = tuple(one for one in workspace.tables if one.card is None or one.path != given.path)
        self.desk.store.update(tables=(*tables, given), initiator=self)
        if name not in workspace.features:  # those that were made here come first
            stored = Stored(found.store, found.store.name, found.size, (), (found.source,))
            self._set_vectors(name, found.features, stored)

    def look_up_imported(self) -> None:
        """Bring back what was imported for the open gallery before."""
        faces, root = self.desk.workspace.faces, vectors_root(self.desk)
        if faces is None or not root.is_dir():
            return
        request = Request(
            title=tr("Read imported vectors"),
            call=tasks.kept_imports,
            args=(faces, root),
            slot="vectors:",
            place="thread",  # they are mapped here, not copied from the worker
        )

        def then(job: Job) -> None:
            if job.state is State.DONE and self._still(faces):
                for one in job.result:  # type: ignore[attr-defined]
                    self._set_imported(one)

        self.desk.jobs.submit(request, then=then)

    def _ask_names(self, error: NeedsChoice, path: Path) -> None:
        from PySide6.QtWidgets import QFileDialog

        box = QMessageBox(self.parent)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle(tr("FaceLens"))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(error.message)
        box.setInformativeText(error.hint)
        listed = box.addButton(tr("Choose a list of names…"), QMessageBox.ButtonRole.AcceptRole)
        ordered = box.addButton(tr("Same order as the gallery"), QMessageBox.ButtonRole.AcceptRole)
        leave = box.addButton(tr("Do not import"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(leave)
        box.setEscapeButton(leave)
        box.exec()
        box.deleteLater()
        if box.clickedButton() is ordered:
            self.import_vectors(path, by_order=True)
        elif box.clickedButton() is listed:
            kinds = tr("Lists of names") + " (*.txt *.csv *.tsv)"
            if chosen := QFileDialog.getOpenFileName(self.parent, tr("Choose a list of names"), "", kinds)[0]:
                self.import_vectors(path, names=Path(chosen))

    # -- A and B

    def choose(self, slot: str, name: str) -> None:
        """Make a model A or B; the one that was there takes the other place when it would be both."""
        workspace = self.desk.workspace
        other = "model_b" if slot == "model_a" else "model_a"
        changes = {slot: name}
        if name and getattr(workspace, other) == name:
            changes[other] = getattr(workspace, slot)
        self.desk.store.update(initiator=self, **changes)

    def swap(self) -> None:
        """A becomes B and B becomes A."""
        workspace = self.desk.workspace
        self.desk.store.update(model_a=workspace.model_b, model_b=workspace.model_a, initiator=self)
