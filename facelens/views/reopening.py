"""Reopening: what a workspace file says comes back, step by step and in the background, as far as it is there.

Galleries first, then tables read for them, queries, models, vectors, and last how one looked at all that. What is not
there, or lies where this user has never opened anything, is listed with a button to locate it; it waits in `kept`,
which goes back into the file when it is saved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFileDialog

from facelens.errors import FaceLensError
from facelens.images import readers
from facelens.session import archive, match_queries, questions, shelf
from facelens.session.archive import OWN, SLOTS, Archive, Gallery, Model, Place, Vectors
from facelens.session.jobs import Job, Request, State
from facelens.session.workspace import Arrangement, Table, by_variance, fitting
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.views.main_window import MainWindow
    from facelens.views.notices import Notice

BREATH = 30  # ms
WAITED_FOR = ("vectors:", "inspect:", "scores:")  # jobs after which everything is there that will be


@dataclass(frozen=True)
class Missing:
    """Something that the file points at and that is not open."""

    what: Gallery | Model
    why: str
    queries: bool = False  # a gallery whose faces are searched for

    @property
    def path(self) -> Path:
        return self.what.place.path


class Reopening:
    """One file that is being opened; lives until the next one is."""

    def __init__(self, window: MainWindow, found: Archive, *, done: Callable[[Reopening], None]) -> None:
        self.window, self.desk = window, window.desk
        self.found = found
        self.kept = Archive(unknown=found.unknown, layout=found.layout)
        self.missing: list[Missing] = []
        self.arrangement: Arrangement | None = None  # wanted, and waiting for a column
        self.under_way = False
        self.lost = 0  # faces of the file that are not in its gallery
        self._done = done
        self._whole = True  # all of the file is being opened, not only models that were located
        self._loading = False
        self._since = 0  # number of the last job before it began
        self._left: list[Callable[[], None]] = []
        self._owed: list[str] = []  # results that are still to be worked out again
        self._recalled = False  # one of them is being worked out
        self._cards: list[Notice] = []  # what was said about this file
        self._stop = [self.desk.store.listen(self._on_store), self.desk.jobs.listen(self._on_job)]

    def close(self) -> None:
        """Another file is opened, or the window closes."""
        self._left, self.under_way = [], False
        for stop in self._stop:
            stop()
        self._stop = []
        for card in self._cards:
            if card in self.window.notices.cards:
                card.dismiss()
        self._cards = []

    # -- the steps

    def start(self) -> None:
        """Put away what is open and open what the file says."""
        self.under_way = True
        with self.desk.store.aside():
            self.window.opening.close(leaving=False)
            for name in self.desk.workspace.model_names:
                self.window.modelling.remove(name)
        steps = [self._open_galleries, self._open_tables, self._open_queries, self._load_models, self._open_vectors]
        self._run([*steps, self._wait])

    def _run(self, steps: list[Callable[[], None]]) -> None:
        if self.under_way and self._left:  # two things were located one after the other: the second waits for the first
            self._left = [*(step for step in self._left if step != self._wait), *steps]
            return
        self.under_way, self._left = True, steps
        self._since = max((job.number for job in self.desk.jobs.jobs), default=0)
        self._next()

    def _next(self) -> None:
        if self._left:
            self._left.pop(0)()

    def may(self, path: Path) -> bool:
        """Whether a path may be followed: inside the file's folder, or opened by this user before."""
        return shelf.may_open(path, self.found, {one.path for one in self.desk.settings.recent})

    def _why_not(self, place: Place) -> str:
        """Why something is not opened, "" where it can be."""
        if not self.may(place.path):  # not even looked at
            words = "{path} lies outside the folder of the workspace, and nothing there was opened here before."
            return tr(words, path=escaped(str(place.path)))
        return "" if place.path.exists() else tr("There is nothing at {path}.", path=escaped(str(place.path)))

    def _open_galleries(self) -> None:
        galleries = self.found.galleries
        missing = [Missing(one, why) for one in galleries if (why := self._why_not(one.place))]
        roots = [one for one in galleries if "root" in one.options and not self.may(Path(one.options["root"]))]
        missing += [Missing(one, self._why_not(Place(Path(one.options["root"])))) for one in roots]
        if missing:  # paths of joined galleries start at what they have in common: all of them, or none
            self._keep_galleries(missing)
        elif galleries:
            self._open_gallery(0)
        else:
            self._next()

    def _keep_galleries(self, missing: list[Missing]) -> None:
        self.missing += missing
        found = self.found
        self.kept = replace(
            self.kept,
            **{name: getattr(found, name) for name in ("galleries", "queries", "tables", "vectors", "stores")},
            **{name: getattr(found, name) for name in ("fields", "excluded", "selected", "current", "pair", "query")},
            results=found.results,
            annotations=found.annotations,
            subsets=found.subsets,
            identities=found.identities,
        )
        of_gallery = self._open_tables, self._open_queries, self._open_vectors
        self._left = [step for step in self._left if step not in of_gallery]
        self._next()

    def _open_gallery(self, number: int) -> None:
        one, last = self.found.galleries[number], number + 1 == len(self.found.galleries)
        self.window.modelling.before = dict(self.found.stores) if last else {}  # which are of all that were joined
        self.window.modelling.heads = self.found.heads
        options = {name: said for name, said in one.options.items() if name != "links" or shelf.known(one.place.path)}

        def then(problem: str) -> None:
            if problem:
                with self.desk.store.aside():
                    self.window.opening.close(leaving=False)
                self._keep_galleries([Missing(one, problem)])
            elif not last:
                self._open_gallery(number + 1)
            else:
                self._find_faces()

        self.window.opening.open(
            one.place.path, kind=one.kind or None, options=options or None, add=number > 0, then=then
        )

    def _find_faces(self) -> None:
        """What was said about the faces, and which were selected."""
        faces = self.desk.workspace.faces
        assert faces is not None
        request = Request(
            title=tr("Find faces of {name}", name=escaped(self.found.path.name)),
            call=archive.faced,
            args=(self.found, faces, self.desk.workspace.galleries),
            slot="open faces",
            place="thread",
        )

        def then(job: Job) -> None:
            if isinstance(told := job.result, archive.Faced):
                self.lost, self.kept = told.lost, replace(self.kept, excluded=told.gone)
                excluded = np.union1d(told.excluded, self.desk.workspace.excluded)  # the doctor may have been quicker
                marked = {"annotations": told.annotations, "subsets": told.subsets}
                self._put(excluded=excluded, selection=told.selection, identity_edits=told.identities, **marked)
            self._next()

        self.desk.jobs.submit(request, then=then)

    def _open_tables(self) -> None:
        here = self.desk.workspace.faces is not None
        for one in self.found.tables if here else ():
            if self._why_not(one.place):
                self.kept = replace(self.kept, tables=(*self.kept.tables, one))
            elif one.kind == "scores":
                self.window.opening.take_scores(one.place.path, quietly=True)
            else:
                self.window.opening.take_pairs(one.place.path)
        self._next()

    def _open_vectors(self) -> None:
        """After models, whose vectors they are; those of models that are not here come under their name alone."""
        self._import(list(self.found.vectors) if self.desk.workspace.faces is not None else [])

    def _import(self, vectors: list[Vectors]) -> None:
        self._loading = bool(vectors)
        if not vectors:
            self._next()
            return
        one, *rest = vectors

        def then(problem: str) -> None:
            if problem:
                self.kept = replace(self.kept, vectors=(*self.kept.vectors, one))
                self._say(tr("The vectors of {name} were not read", name=escaped(one.card.name)), problem)
            self._import(rest)

        if why := self._why_not(one.place):
            then(why)
        else:
            given = Table(one.place.path.absolute(), "vectors", one.card, one.weights)
            self.window.modelling.take_vectors(given, ended=then)

    def _open_queries(self) -> None:
        one, faces = self.found.queries, self.desk.workspace.faces
        root = one.options.get("root") if one is not None else None
        if one is None or faces is None:
            self._next()
            return
        if why := self._why_not(one.place) or (self._why_not(Place(Path(root))) if root else ""):
            self._keep_queries(one, why)
            self._next()
            return
        request = Request(
            title=tr("Open {name}", name=escaped(one.place.path.name)),
            call=match_queries.read,
            args=(one.place.path, faces.identity.names),
            kwargs={"options": {key: said for key, said in one.options.items() if key != "identity"} or None},
            slot="open queries",
            place="thread",
        )

        def then(job: Job) -> None:
            if job.state is State.DONE and isinstance(job.result, readers.Reading):
                queries = job.result.faces
                self._put(queries=queries, query=archive.face_of(queries, self.found.query))
            elif job.state is State.FAILED:
                known = isinstance(job.error, FaceLensError)
                self._keep_queries(one, job.error.message if known else tr("It could not be read."))  # type: ignore[union-attr]
            self._next()

        self.desk.jobs.submit(request, then=then)

    def _keep_queries(self, one: Gallery, why: str) -> None:
        """They are said to be missing, and stay in the file."""
        self.missing.append(Missing(one, why, queries=True))
        self.kept = replace(self.kept, queries=one, query=self.found.query)

    def _load_models(self) -> None:
        self._load(list(self.found.models))

    def _load(self, models: list[Model]) -> None:
        """One after the other, in their order."""
        self._loading = bool(models)
        if not models:
            self._next()
            return
        one, *rest = models

        def then(problem: str) -> None:
            if problem:
                self._keep_model(Missing(one, problem))
            else:
                self._compare(one)
            self._load(rest)

        if why := self._why_not(one.place):
            then(why)
        else:
            self._put(**self._slots())  # before vectors come: who is A and B is not decided anew
            self.window.modelling.load(one.place.path, card=one.card, ended=then)

    def _keep_model(self, missing: Missing) -> None:
        self.missing.append(missing)
        slots = {slot: name for slot, name in self.found.fields.items() if slot in SLOTS}
        models = (*self.kept.models, missing.what)
        self.kept = replace(self.kept, models=models, fields={**self.kept.fields, **slots})  # type: ignore[arg-type]

    def _compare(self, one: Model) -> None:
        now = next((found for found in self.desk.workspace.models if found.path == one.place.path), None)
        if now is not None and now.sha256 != one.sha256:
            title = tr("{name} is another file than it was", name=escaped(one.place.path.name))
            self._say(title, tr("It has changed since the workspace was saved; its vectors are made anew."))

    def _wait(self) -> None:
        """Vectors and scores are on their way; what sorts by them comes last."""
        # A job that has ended hands over its result in a moment, and may begin another.
        QTimer.singleShot(BREATH, self.window, self._look)

    def _look(self) -> None:
        if self.under_way and not self._left and not self._loading and not self._busy():
            self._finish()

    def _busy(self) -> bool:
        slots = (job.request.slot for job in self.desk.jobs.jobs if not job.state.ended)
        return any(slot.startswith(WAITED_FOR) or slot == "pairs file" for slot in slots)

    def _on_job(self, job: Job) -> None:
        if not self.under_way or not job.state.ended:
            return
        slot = job.request.slot
        if job.state is State.CANCELLED and job.number > self._since and slot.startswith(("open", "inspect:")):
            self._give_up()
        elif not self._left and not self._loading and not self._busy():
            self._wait()

    def _give_up(self) -> None:
        """The user has stopped it: what is not open stays in the file."""
        why = tr("Opening it was stopped.")
        self._left, self._loading = [], False
        if self.desk.workspace.faces is None and self.found.galleries:
            self._keep_galleries([Missing(self.found.galleries[0], why)])
        here = {one.path for one in self.desk.workspace.models} | {one.place.path for one in self.kept.models}
        asked, now = self.found.queries, self.desk.workspace
        if asked is not None and now.faces is not None and now.queries is None and self.kept.queries is None:
            self._keep_queries(asked, why)
        for one in self.found.models:
            if one.place.path not in here:
                self._keep_model(Missing(one, why))
        read = {one.path for one in self.desk.workspace.tables} | {one.place.path for one in self.kept.vectors}
        waiting = tuple(one for one in self.found.vectors if one.place.path.absolute() not in read)
        self.kept = replace(self.kept, vectors=(*self.kept.vectors, *waiting))
        self._finish()

    # -- the end

    def _slots(self) -> dict[str, Any]:
        names = {one.card.name for one in self.found.models} | {one.card.name for one in self.found.vectors}
        names |= {*self.found.stores}
        return {slot: name for slot in SLOTS if (name := self.found.fields.get(slot, "")) in names}

    def _finish(self) -> None:
        self.under_way = False
        there, now = self.desk.workspace.model_names, self.desk.workspace
        wanted = {slot: name for slot in SLOTS if (name := self.found.fields.get(slot, "")) in there}
        if not self._whole:
            self._put(**{slot: name for slot, name in wanted.items() if not getattr(now, slot)})
        else:
            said = {slot: wanted.get(slot, "") for slot in SLOTS if wanted or slot != "model"}
            if now.faces is not None:
                # A query of a set that is not there may be called like a face of the gallery.
                query = archive.query_of(self.found, now) if self.kept.queries is None else None
                said |= {**self._plans(), "query": query}
            said |= self._draft()
            own = {name for step in now.history.steps[: now.history.done] for name, _ in step.moves}  # by hand
            self._put(**{name: value for name, value in said.items() if name not in own})
            if now.faces is not None and "arrangement" not in own:
                self.arrangement = self.found.fields.get("arrangement")
                self._arrange()
                if self.arrangement is not None and by_variance(self.arrangement):
                    self.window.commands.assessing.run(line=False)  # whose column it waits for
            self.window.take_layout(self.found.layout)
        self._tell()
        self._done(self)
        if self._whole and now.faces is not None:
            self._owed = [name for name in questions.NOTED if name in self.found.results]
            QTimer.singleShot(BREATH, self.window, self._recall)  # the page in front asks first

    def _recall(self) -> None:
        """Work out again what was there when it was saved, one after the other, where just the same is asked now.

        What is asked may become the same a little later, when the doctor has seen the pictures, say; until the user
        does something.
        """
        if self.desk.workspace.history.steps:
            self._owed = []
        for name in tuple(self._owed) if self._stop and not self._recalled else ():
            now, asked = self.desk.workspace, questions.QUESTIONS[name]
            question = asked.question(now)
            if questions.digest(question) != self.found.results[name]:
                continue
            if asked.there(now):
                self._owed.remove(name)
                continue
            try:
                request = asked.request(now)
            except FaceLensError:
                continue  # which its page tells
            busy = {job.request.slot for job in self.desk.jobs.jobs if not job.state.ended}
            if request is not None and request.slot not in busy:
                self._owed.remove(name)
                self._ask(asked, question, request)
                return

    def _ask(self, asked: questions.Asked, question: questions.Question, request: Request) -> None:
        self._recalled, self.desk.asked[request.slot] = True, question

        def then(job: Job) -> None:
            self._recalled = False
            if self.desk.asked.get(request.slot) == question:
                del self.desk.asked[request.slot]
            now = self.desk.workspace
            if job.state is State.DONE and question == asked.question(now) and not asked.there(now):
                self._put(**asked.keep(now, question, job.result))
            if job.state is State.CANCELLED:
                self._owed = []
            self._recall()

        self.desk.jobs.submit(request, then=then)

    def _plans(self) -> dict[str, Any]:
        """How one looked at it, without files that may not be opened."""
        plans = {name: value for name, value in self.found.fields.items() if name not in (*OWN, "arrangement")}
        for name in archive.FILES:
            if name in plans:
                files = tuple((of, file) for of, file in plans[name].files if self.may(Path(file)))
                plans[name] = replace(plans[name], files=files)
        return plans

    def _draft(self) -> dict[str, Any]:
        """What is to be trained, without files that may not be opened, and never into a folder of a stranger's."""
        said = self.found.fields.get("draft")
        if said is None:
            return {"draft": None} if "draft" in self.found.fields else {}
        from facelens.views.training import root

        draft = said.permitted(self.may, root=root(self.desk))
        if draft is None:
            title = tr("The recipe {name} was not opened", name=escaped(said.title))
            self.desk.say(title, tr("It names files outside the folder of the workspace, which were not opened here."))
        return {"draft": draft}

    def _arrange(self) -> None:
        """Filter and sort as it was, as soon as the columns for it are there."""
        faces, wanted = self.desk.workspace.faces, self.arrangement
        if faces is None or wanted is None:
            return
        fits = fitting(wanted, faces)
        self.arrangement = wanted if fits != wanted else None
        self._put(arrangement=fits)

    def _on_store(self, changed: frozenset[str], initiator: object) -> None:
        if self._owed and not self.under_way and changed & {"faces", "features", "excluded"}:
            QTimer.singleShot(BREATH, self.window, self._recall)
        if initiator is self or self.arrangement is None or self.under_way:
            return
        if "faces" in changed:
            self._arrange()
        elif "arrangement" in changed:
            self.arrangement = None  # the user wants another one

    def _put(self, **changes: Any) -> None:
        with self.desk.store.aside():
            self.desk.store.update(initiator=self, **changes)

    # -- what is not there

    def _tell(self) -> None:
        galleries = [one for one in self.missing if isinstance(one.what, Gallery)]
        models = [one for one in self.missing if isinstance(one.what, Model)]
        for one in galleries:
            words = "The query set {name} was not opened" if one.queries else "The gallery {name} was not opened"
            self._offer(tr(words, name=_called(one.path)), one.why, self.locate_gallery, one)
        if models:
            names = ", ".join(_called(one.path) for one in models[:4]) + (", …" if len(models) > 4 else "")
            title = plural(len(models), "{n} model was not opened", "{n} models were not opened")
            self._offer(f"{title}: {names}", models[0].why, self.locate_model, models[0])
        if self.lost:
            said = plural(self.lost, "{n} mark or selection", "{n} marks and selections")
            title = tr("{said} of pictures that are not in the gallery", said=said)
            self._say(title, tr("They stay in the workspace, for when the pictures are back."))
        if self.found.newer:
            title = tr("{name} was made by a newer FaceLens", name=escaped(self.found.path.name))
            text = tr("It is shown as far as it is understood, and is not written over. Save it as another file.")
            card = self._say(title, text, button=tr("Save workspace as…"))
            card.acted.connect(self.window.keeping.save_as)

    def _say(self, title: str, text: str, button: str = "") -> Notice:
        """A notice about this file: it goes when another one is opened."""
        card = self.window.notices.show(title, text, kind="info", button=button)
        self._cards.append(card)
        return card

    def _offer(self, title: str, why: str, locate: Callable[[Missing], None], one: Missing) -> None:
        text = why + " " + tr("Everything else is open; what belongs to it stays in the workspace.")
        words = tr("Locate folder…") if isinstance(one.what, Gallery) and not one.path.suffix else tr("Locate file…")
        self._say(title, text, button=words).acted.connect(lambda: locate(one))

    def locate_gallery(self, missing: Missing) -> None:
        """Ask where a gallery is now, and open it there with all that belongs to it."""
        title = tr("Where is {name}?", name=_called(missing.path))
        if missing.path.suffix:
            name = QFileDialog.getOpenFileName(self.window, title)[0]
        else:
            name = QFileDialog.getExistingDirectory(self.window, title)
        if name and missing.queries:
            self.relink_queries(missing, Path(name))
        elif name:
            self.relink_gallery(missing, Path(name))

    def relink_gallery(self, missing: Missing, path: Path) -> None:
        """The gallery is at `path`."""
        shelf.trust([path])
        old = missing.what
        assert isinstance(old, Gallery)
        options = {key: said for key, said in old.options.items() if key != "root"}
        moved = replace(old, place=Place(path), options=options)
        galleries = tuple(moved if one == old else one for one in self.found.galleries)
        self.found = replace(self.found, galleries=galleries)
        self.missing, self._whole = [], True
        self.kept = Archive(unknown=self.found.unknown, layout=self.found.layout, models=self.kept.models)
        self.window.keeping.resume(self)
        self._run([self._open_galleries, self._open_tables, self._open_queries, self._open_vectors, self._wait])

    def relink_queries(self, missing: Missing, path: Path) -> None:
        """The query set is at `path`."""
        shelf.trust([path])
        old = missing.what
        assert isinstance(old, Gallery)
        options = {key: said for key, said in old.options.items() if key != "root"}
        self.found = replace(self.found, queries=replace(old, place=Place(path), options=options))
        self.kept = replace(self.kept, queries=None, query=None)
        self.missing, self._whole = [], self._whole and self.under_way
        self.window.keeping.resume(self)
        self._run([self._open_queries, self._wait])

    def locate_model(self, missing: Missing) -> None:
        """Ask where a model is now; others that are missing are looked for beside it."""
        title = tr("Where is {name}?", name=_called(missing.path))
        if name := QFileDialog.getOpenFileName(self.window, title)[0]:
            self.relink_model(missing, Path(name))

    def relink_model(self, missing: Missing, path: Path) -> None:
        """The model is at `path`, and others of the same name as before beside it."""
        models, waiting = [], []
        for one in self.kept.models:
            beside = path if one == missing.what else path.parent / one.place.path.name
            if beside.is_file():
                models.append(replace(one, place=Place(beside)))
            else:
                waiting.append(one)
        shelf.trust([one.place.path for one in models])
        self.kept = replace(self.kept, models=tuple(waiting))
        self.missing, self._whole = [], self._whole and self.under_way  # a gallery may be on its way
        self.window.keeping.resume(self)
        self._run([lambda: self._load(models), self._wait])


def _called(path: Path) -> str:
    return escaped(path.name or str(path))
