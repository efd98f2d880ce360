"""Opening a gallery: recognise, read in the background, ask when unsure, then let the doctor look at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from facelens.errors import FaceLensError, InputError, NeedsChoice
from facelens.images import readers
from facelens.images.faceset import FaceSet
from facelens.images.protocol import Protocol
from facelens.images.quarantine import Again
from facelens.resources import sample_data
from facelens.session import folders, tasks
from facelens.session.jobs import Job, Request, State
from facelens.session.selection import Selection
from facelens.session.settings import Recent
from facelens.session.workspace import PLAN, Arrangement, Source, Table, for_another_gallery
from facelens.views.panel import Desk
from facelens.words import escaped, plural, tr

SMALL = 2_000  # pictures seen at a glance; smaller galleries open in a thread, without waiting for the worker process
SMALL_TABLE = 4 << 20  # bytes of a table that is read in a thread
RECENT = 12


class Opening:
    """Knows how a path becomes the open gallery."""

    def __init__(
        self,
        desk: Desk,
        *,
        choose: Callable[[NeedsChoice, Callable[[Mapping[str, str]], None]], None],
        opened: Callable[[], None] = lambda: None,
        sampled: Callable[[], None] = lambda: None,
        leaving: Callable[[], None] = lambda: None,
    ) -> None:
        """`choose` asks the user, `opened` is called when another gallery is there, `sampled` when it is the sample.

        `leaving` is called before the open gallery, or none, gives way to another one.
        """
        self.desk = desk
        self._choose = choose
        self._opened, self._sampled, self._leaving = opened, sampled, leaving

    def sample(self) -> None:
        """Open the gallery that comes with FaceLens."""
        self.open(sample_data())

    def open(
        self,
        path: Path,
        *,
        kind: str | None = None,
        options: Mapping[str, str] | None = None,
        add: bool = False,
        then: Callable[[str], None] | None = None,
    ) -> None:
        """Read what lies at `path` and show it; with `add`, join it to the open gallery.

        `then` is told why it could not be opened, "" where it is open; nobody is asked or told anything else.
        """
        found = readers.recognise(path)
        small = found is None or found.pictures < SMALL
        request = Request(
            title=tr("Open {name}", name=path.name or str(path)),
            call=tasks.open_gallery,
            args=(path,),
            kwargs={"kind": kind, "options": options},
            slot="open",
            place="thread" if small else "process",
            unit=tr("pictures"),
        )
        self.desk.jobs.submit(
            request, then=lambda job: self._on_read(job, path, kind=found.kind if found else "", add=add, then=then)
        )

    def _on_read(
        self, job: Job, path: Path, *, kind: str, add: bool, then: Callable[[str], None] | None = None
    ) -> None:
        if then is not None and job.state is State.FAILED:
            then(job.error.message if isinstance(job.error, FaceLensError) else tr("It could not be read."))
        elif isinstance(job.error, NeedsChoice):
            self._choose(job.error, lambda options: self.open(path, options=options, add=add))
        elif job.state is State.FAILED:
            self._forget(path)
            self.desk.notify(job.error, trace=job.trace)
        elif job.state is State.DONE:
            reading = job.result
            assert isinstance(reading, readers.Reading)
            self._show(reading, Source(path, reading.faces.name, len(reading.faces), kind), add=add, then=then)

    def _show(
        self, reading: readers.Reading, source: Source, *, add: bool, then: Callable[[str], None] | None = None
    ) -> None:
        faces, before = reading.faces, self.desk.workspace.faces
        if source.path == sample_data():
            faces, source = replace(faces, name=tr("Sample gallery")), replace(source, name=tr("Sample gallery"))
        if add and before is not None:
            try:
                faces = tasks.joined(before.named(before.original), faces)
            except InputError as error:
                then(error.message) if then is not None else self.desk.notify(error)
                return
        if then is None and not add:
            self._leaving()
        opened = (reading.faces.opened,) if reading.faces.opened is not None else ()
        self.desk.store.update(
            faces=faces,
            galleries=(*self.desk.workspace.galleries, *opened) if add else opened,
            tables=self.desk.workspace.tables if add else (),
            protocol=reading.protocol if not add else self.desk.workspace.protocol,
            source=source,
            notes=reading.notes,
            diagnosis=None,
            excluded=np.zeros(0, np.int64),
            arrangement=Arrangement(),
            selection=Selection(),
            initiator=self,
            **{
                **for_another_gallery(self.desk.workspace),
                **_asked(reading.protocol if not add else None),
                **(self._said() if add else {}),  # ids of the first stay, and so what was said of them
            },
        )
        if not add:
            self._remember(source)
        self._opened()
        self.check()
        if then is not None:
            then("")
        elif source.path == sample_data() and not add:
            self._sampled()

    def _said(self) -> dict[str, object]:
        workspace = self.desk.workspace
        kept = ("annotations", "subsets", "identity_edits")
        return {name: getattr(workspace, name) for name in kept}

    def open_queries(self, path: Path, *, options: Mapping[str, str] | None = None) -> None:
        """Search the open gallery for the faces of the one at `path`."""
        from facelens.session import match_queries

        faces = self.desk.workspace.faces
        if faces is None:
            return
        found = readers.recognise(path)
        request = Request(
            title=tr("Open {name}", name=escaped(path.name or str(path))),
            call=match_queries.read,
            args=(path, faces.identity.names),
            kwargs={"options": options},
            slot="open queries",
            place="thread" if found is None or found.pictures < SMALL else "process",
            unit=tr("pictures"),
        )
        self.desk.jobs.submit(request, then=lambda job: self._on_queries(job, path, faces))

    def _on_queries(self, job: Job, path: Path, of: FaceSet) -> None:
        from facelens.session.match_queries import first

        now = self.desk.workspace.faces
        if now is None or now.pictures != of.pictures:
            return  # another gallery was opened meanwhile
        if isinstance(job.error, NeedsChoice):
            self._choose(job.error, lambda options: self.open_queries(path, options=options))
        elif job.state is State.FAILED:
            self.desk.notify(job.error, trace=job.trace)
        elif job.state is State.DONE:
            reading = job.result
            assert isinstance(reading, readers.Reading)
            queries = reading.faces
            with self.desk.store.by_hand():
                self.desk.store.update(queries=queries, query=first(now, queries), occlusion=None, initiator=self)
            n = plural(len(queries), "{n} query", "{n} queries")
            title = tr("{name}: {n}", name=escaped(queries.name), n=n)
            if reading.notes:
                self.desk.say(title, " ".join(reading.notes))
            else:
                self.desk.tell(tr("{what}, searched for in {gallery}.", what=title, gallery=escaped(now.name)))
            self.desk.act("match.show")

    def take_pairs(self, path: Path) -> None:
        """Use the pairs that a file lists as the test of the open gallery."""
        faces = self.desk.workspace.faces
        if faces is None:
            return
        request = Request(
            title=tr("Read {name}", name=escaped(path.name)),
            call=tasks.read_pairs,
            args=(path, faces),
            slot="pairs file",
            place="thread",
        )
        self.desk.jobs.submit(request, then=lambda job: self._on_pairs(job, faces, path))

    def _on_pairs(self, job: Job, of: FaceSet, path: Path) -> None:
        if job.state is State.FAILED:
            self.desk.notify(job.error, trace=job.trace)
        workspace = self.desk.workspace
        if job.state is not State.DONE or workspace.faces is None or workspace.faces.pictures != of.pictures:
            return
        protocol = job.result
        assert isinstance(protocol, Protocol) and protocol.pairs is not None
        plan = replace(workspace.plan, protocol=protocol.name)
        others = tuple(one for one in workspace.tables if one.kind != "pairs")  # a gallery has one test
        tables = (*others, Table(path.absolute(), "pairs"))
        self.desk.store.update(protocol=protocol, plan=plan, evaluated=(), tables=tables, initiator=self)
        n = len(protocol.pairs)
        said = plural(n, "{n} pair", "{n} pairs")
        self.desk.tell(" ".join([tr("The test is {name}: {pairs}.", name=protocol.name, pairs=said), *protocol.notes]))

    def take_scores(self, path: Path, *, quietly: bool = False) -> None:
        """Give the faces of the open gallery the numbers that a table has for them, as columns."""
        faces = self.desk.workspace.faces
        if faces is None:
            return
        small = path.is_file() and path.stat().st_size < SMALL_TABLE
        request = Request(
            title=tr("Import {name}", name=escaped(path.name)),
            call=tasks.import_scores,
            args=(path, faces),
            slot=f"scores:{path}",
            place="thread" if small else "process",
        )
        self.desk.jobs.submit(request, then=lambda job: self._on_scores(job, faces, path, quietly=quietly))

    def _on_scores(self, job: Job, of: FaceSet, path: Path, *, quietly: bool) -> None:
        if job.state is State.FAILED:
            self.desk.notify(job.error, trace=job.trace)
        faces = self.desk.workspace.faces
        if job.state is not State.DONE or faces is None or faces.pictures != of.pictures:
            return
        found: tasks.Scores = job.result  # type: ignore[assignment]
        report = found.report
        tables = tuple(dict.fromkeys((*self.desk.workspace.tables, Table(path.absolute(), "scores"))))
        self.desk.store.update(faces=faces.with_columns(found.columns), tables=tables, initiator=self)
        if quietly:
            return
        counted = plural(len(found.columns), "{n} score", "{n} scores")
        title = tr("{scores} from {name}", scores=counted, name=escaped(path.name))
        text = " ".join([report.sentence(), *report.notes])
        if report.whole and not report.notes:
            self.desk.tell(f"{title}: {text}")
        else:
            self.desk.say(title, text)

    def check(self) -> None:
        """Let the doctor read every picture of the open gallery."""
        faces = self.desk.workspace.faces
        if faces is not None:
            request = Request(
                title=tr("Check {name}", name=faces.name),
                call=tasks.check_gallery,
                args=(faces,),
                kwargs={"quarantined": folders.quarantine()},
                slot="doctor",
                unit=tr("pictures"),
                short=True,
                again=Again(folders.quarantine()),
            )
            self.desk.jobs.submit(request, then=lambda job: self._on_checked(job, faces))

    def _on_checked(self, job: Job, checked: FaceSet) -> None:
        workspace = self.desk.workspace
        if job.state is State.FAILED:
            self.desk.notify(job.error, trace=job.trace)
        if job.state is not State.DONE or workspace.faces is None or workspace.faces.pictures != checked.pictures:
            return
        self.desk.thumbnails.recheck(workspace.faces)
        diagnosis = job.result
        self.desk.store.update(
            diagnosis=diagnosis,
            faces=workspace.faces.with_columns(diagnosis.columns),  # type: ignore[attr-defined]
            excluded=np.union1d(workspace.excluded, diagnosis.bad_ids),  # type: ignore[attr-defined]
            initiator=self,
        )

    def close(self, *, leaving: bool = True) -> None:
        """Put the gallery away; nothing on disk changes."""
        if leaving:
            self._leaving()
        self.desk.jobs.cancel_slot("open")
        self.desk.jobs.cancel_slot("open queries")
        self.desk.jobs.cancel_slot("doctor")
        self.desk.jobs.cancel_slot("align")
        for job in self.desk.jobs.jobs:
            if job.request.slot.startswith(("embed:", "stability:", "vectors:", "open vectors:")):
                self.desk.jobs.cancel(job.number)  # finished faces are kept
        self.desk.store.update(
            faces=None,
            protocol=None,
            source=None,
            galleries=(),
            tables=(),
            notes=(),
            diagnosis=None,
            excluded=np.zeros(0, np.int64),
            arrangement=Arrangement(),
            selection=Selection(),
            **for_another_gallery(self.desk.workspace),
        )

    def _remember(self, source: Source) -> None:
        if source.path == sample_data():
            return
        entry = Recent(path=str(source.path.resolve()), name=source.name, faces=source.faces)
        others = tuple(old for old in self.desk.settings.recent if old.path != entry.path)
        self.desk.settle(recent=(entry, *others)[:RECENT])

    def _forget(self, path: Path) -> None:
        if not path.exists():
            kept = tuple(old for old in self.desk.settings.recent if Path(old.path) != path)
            self.desk.settle(recent=kept)


def _asked(protocol: Protocol | None) -> dict[str, object]:
    """A test of templates is what its gallery is evaluated by: single pictures are not what it compares."""
    if protocol is None or protocol.templates is None:
        return {}
    return {"plan": replace(PLAN, protocol=protocol.name)}
