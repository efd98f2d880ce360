"""Collecting: a workspace with all that belongs to it as one zip, for another computer or another person.

Unzipped anywhere, its workspace.facelens opens there: pictures lie in a folder with a manifest, vectors and models
beside it, all places are relative. Under pseudonyms nothing in it names a person, a place on this computer or its user,
but for what the user asks to keep. The same key gives the same bytes.

    README.txt          what it is, what was left out, what is hidden
    workspace.facelens  plans, selection, flags, ratings, tags, subsets
    GALLERY/            manifest.csv, pairs.txt where there is a test, pictures; queries/ likewise
    vectors/            NAME.npz of each model
    models/             files of models and transforms
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.plan import ALL_PAIRS
from facelens.errors import InputError
from facelens.files import atomic_write
from facelens.images import builder, detect, giving, quarantine
from facelens.images.decode import PictureError
from facelens.images.disguise import GALLERY, QUERIES, Disguise, Guise
from facelens.images.faceset import Behind, FaceSet, Ids, Rows
from facelens.images.protocol import Pairs, Protocol
from facelens.progress import Tick, part_of, silent
from facelens.resources import sample_data
from facelens.session import annotations as marks
from facelens.session import archive, subsets
from facelens.session.archive import (
    FIELDS,
    FILES,
    SLOTS,
    Archive,
    Gallery,
    Layout,
    Model,
    Place,
    Table,
    Vectors,
)
from facelens.session.collect_words import MANIFEST, README, WORKSPACE, readme, told_of
from facelens.session.replay import Replay
from facelens.session.selection import Selection
from facelens.session.tasks import in_worker
from facelens.session.workspace import Workspace, attributes
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.features.card import Card
    from facelens.features.featureset import FeatureSet

PAIRS = "pairs.txt"
DATE = (1980, 1, 1, 0, 0, 0)  # of every entry, so that the same things are the same bytes
MEASURED = ("width", "height", "channels", "bytes")  # columns that the doctor makes anew of what it finds
BLOCK = 1 << 20  # bytes that are copied at once
SAMPLED = 24  # pictures that an estimate looks at
INSIDE = Path(os.path.abspath("/collected"))  # where places of the zip start; only what is below is written


@dataclass(frozen=True)
class Choice:
    """What goes into a zip, and in which disguise."""

    pictures: str = "thumbnails"  # of giving.KINDS
    vectors: bool = True
    models: bool = False
    words: bool = False  # under pseudonyms: notes, and names of tags and subsets, as they were written
    guise: Guise = field(default_factory=Guise)


@dataclass(frozen=True, eq=False)
class Collection:
    """What there is to collect: a gallery, and what is known of it."""

    faces: FaceSet
    protocol: Protocol | None = None
    queries: FaceSet | None = None
    features: Mapping[str, FeatureSet] = field(default_factory=dict)  # by the name of the model
    models: tuple[Model, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)  # of the workspace, as in its file
    excluded: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    selection: Selection = field(default_factory=Selection)
    query: int | None = None  # of `queries`, or of `faces` where there are none
    annotations: marks.Annotations = field(default_factory=marks.Annotations)
    subsets: subsets.Subsets = field(default_factory=subsets.Subsets)
    page: str = ""  # that was in front

    def __post_init__(self) -> None:
        # It goes to another process, where read-only views of mappings cannot go.
        said, named = self.annotations, self.subsets
        plain = replace(said, tags=dict(said.tags), notes=dict(said.notes))
        object.__setattr__(self, "annotations", plain)
        object.__setattr__(self, "subsets", subsets.Subsets(dict(named.of), dict(named.aside)))

    @classmethod
    def of(cls, workspace: Workspace, *, page: str = "") -> Collection:
        """What is open."""
        assert workspace.faces is not None
        return cls(
            workspace.faces,
            workspace.protocol,
            workspace.queries,
            dict(workspace.features),
            tuple(Model(Place(one.path), one.sha256, one.card) for one in workspace.models),
            {name: getattr(workspace, name) for name in FIELDS},
            workspace.excluded,
            workspace.selection,
            workspace.query,
            workspace.annotations,
            workspace.subsets,
            page,
        )

    @classmethod
    def of_file(
        cls, found: Archive, *, root: Path, trusted: bool = False, tick: Tick = silent
    ) -> tuple[Collection, tuple[str, ...]]:
        """What a workspace file says, as far as it may be opened, and sentences about what is not there.

        Its gallery has to be there. Vectors are those that are kept under `root`, or lie beside the file.
        """
        made = Replay(found, trusted=trusted, missing="tell", root=root)
        made.open_galleries(tick)
        made.find_faces()
        made.read_tables()
        made.open_queries()
        made.load_vectors((*(one.card.name for one in found.models), *made.given, *made.imported))
        now = made.workspace
        whole = replace(
            cls.of(replace(now, query=archive.query_of(found, now)), page=found.layout.page),
            models=made.permitted_models(), fields=made.plans(),
        )  # fmt: skip
        return whole, made.told

    @property
    def kept(self) -> Rows:
        """Rows of the faces that are not excluded."""
        return np.flatnonzero(~np.isin(self.faces.ids, self.excluded)).astype(np.int64)


@dataclass(frozen=True)
class Collected:
    """What came of it: the file, its size, and sentences about what is in it and what is not."""

    path: Path
    size: int
    faces: int
    said: tuple[str, ...]


def collect(
    given: Collection, out: Path, choice: Choice, *, quarantined: Path | None = None, tick: Tick = silent
) -> Collected:
    """Write the zip, whole or not at all. Faces that are excluded, and pictures that cannot be read, stay here.

    `quarantined` as in `tasks.check_gallery`.
    """
    if choice.pictures == "none" and not (choice.vectors and given.features):
        raise InputError(
            tr("Without pictures and without vectors there is nothing to send."),
            hint=tr("Choose small pictures, or add vectors."),
        )
    if not len(given.kept):
        raise InputError(tr("All faces are excluded, so there is nobody to send."), hint=tr("Take some back first."))
    with atomic_write(out) as file, zipfile.ZipFile(file, "w", allowZip64=True) as zipped:
        work = Work(given, choice, zipped, quarantined)
        said = work.write(tick)
    return Collected(out, out.stat().st_size, len(work.gallery.inside), said)


def estimate(given: Collection, choice: Choice) -> int:
    """About how many bytes the zip will have, from some of the pictures."""
    faces, rows = given.faces, given.kept
    told = faces
    if choice.guise.blur:
        told = Disguise(replace(choice.guise, pseudonyms=False), faces).faces(faces)
    elif choice.guise.pseudonyms:  # which are not needed to see how large a picture is
        told = replace(faces, behind=Behind(faces.root, faces.paths))
    sizes = []
    for row in rows[np.unique(np.linspace(0, len(rows) - 1, min(SAMPLED, len(rows))).astype(np.int64))].tolist():
        try:
            sizes.append(len(giving.given(told, row, choice.pictures).data))
        except PictureError:
            continue
    n = len(rows) + (len(given.queries) if given.queries is not None else 0)
    total = n * (int(np.mean(sizes)) if sizes else 0) + n * (220 + 12 * len(faces.columns))
    if choice.vectors:
        total += sum(len(rows) * (4 * one.dimensions + 120) for one in given.features.values())
    if choice.models:
        total += sum(one.place.path.stat().st_size for one in own_models(given) if one.place.path.is_file())
    return total


def own_models(given: Collection) -> tuple[Model, ...]:
    """The models whose files would have to be sent: not those that come with FaceLens."""
    return tuple(one for one in given.models if not _comes_along(one.place.path))


def _comes_along(path: Path) -> bool:
    return Path(os.path.abspath(path)).is_relative_to(sample_data())


@dataclass(frozen=True, eq=False)
class Part:
    """One gallery in the zip."""

    faces: FaceSet  # as it is open
    inside: FaceSet  # as it is read again: other ids, fewer faces
    rows: Rows  # of `faces`, for each of `inside`
    unread: int = 0
    renamed: int = 0  # pictures whose names no other computer could have had

    @cached_property
    def place(self) -> Rows:
        """(N,) the row of `inside` of each face, -1 for those that are not in it."""
        place = np.full(len(self.faces), -1, np.int64)
        place[self.rows] = np.arange(len(self.rows))
        return place

    def ids(self, ids: Ids) -> Ids:
        """Ids of the zip of the faces that are in it."""
        found = self.place[self.faces.rows_of(ids)]
        return np.asarray(self.inside.ids[found[found >= 0]], np.int64)

    def face(self, face: int | None) -> int | None:
        """The same of one face, None where it is not in it."""
        row = self.faces.row_of(face)
        return int(self.inside.ids[self.place[row]]) if row is not None and self.place[row] >= 0 else None


class Work:
    """One zip while it is written."""

    def __init__(self, given: Collection, choice: Choice, zipped: zipfile.ZipFile, quarantined: Path | None) -> None:
        self.given, self.choice, self.zipped, self.quarantined = given, choice, zipped, quarantined
        queries = () if given.queries is None else (given.queries,)
        self.disguise = Disguise(choice.guise, given.faces, *queries)
        self.hidden = choice.guise.pseudonyms
        self.notes: list[str] = []

    def write(self, tick: Tick) -> tuple[str, ...]:
        """Everything, the workspace and the README last."""
        given, choice = self.given, self.choice
        pictures = len(given.kept) + (len(given.queries) if given.queries is not None else 0)
        faces, later = part_of(tick, 0, 2), part_of(tick, 1, 2)
        folder = GALLERY if self.hidden else giving.safe(given.faces.name)
        while folder.casefold() in (QUERIES, "vectors", "models", README.casefold(), WORKSPACE):
            folder = f"{folder} {GALLERY}"
        self.folder = folder
        self.gallery = self._gallery(given.faces, given.kept, folder, 0, pictures, faces)
        self.asking = None
        if given.queries is not None:
            everyone = np.arange(len(given.queries))
            self.asking = self._gallery(given.queries, everyone, QUERIES, len(given.kept), pictures, faces)
        tables = self._pairs()
        vectors = self._vectors(later) if choice.vectors else ()
        models, files = self._models(later)
        found = self._archive(tables, vectors, models, files)
        document = archive.document(found, INSIDE) | {"saved": ""}
        self._put(WORKSPACE, json.dumps(document, indent=1, allow_nan=False).encode("ascii"))
        said = told_of(self, {one.card.name for one in models}, [one.card for one in models if _inside(one)])
        self._put(README, ("\n".join(readme(self, said)) + "\n").encode("utf-8", "backslashreplace"))
        tick(1, 1)
        return said

    # -- entries

    def _put(self, name: str, data: bytes, *, packed: bool = True) -> None:
        with self._entry(name, packed=packed) as stream:
            stream.write(data)

    @contextmanager
    def _entry(self, name: str, *, packed: bool = False) -> Iterator[IO[bytes]]:
        info = zipfile.ZipInfo(name, DATE)
        info.create_system = 3
        info.external_attr = 0o644 << 16
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        with self.zipped.open(info, "w", force_zip64=not packed) as stream:
            yield stream

    # -- galleries

    def _gallery(self, faces: FaceSet, rows: Rows, folder: str, done: int, total: int, tick: Tick) -> Part:
        told = self.disguise.faces(faces)
        stems = giving.stems(told.paths.take(rows))
        changed = sum(_bare(path) != stem for path, stem in zip(told.paths.take(rows), stems, strict=True))
        order = sorted(range(len(rows)), key=stems.__getitem__)
        paths, kept, scales, unread = [], [], [], 0
        with closing(self._pictures(faces, told, rows, order)) as pictures:
            for count, (place, made) in enumerate(pictures):
                tick(done + count, total, tr("Collecting pictures"))
                if made is None:
                    unread += 1
                    continue
                path = f"{stems[place]}{made.ending}"
                self._put(f"{folder}/{path}", made.data, packed=False)
                paths.append(path)
                kept.append(int(rows[place]))
                scales.append(made.scale)
        if not kept:
            raise InputError(tr("No picture could be read, so there is nothing to send."))
        inside = self._inside(told, np.array(kept, np.int64), folder, paths, np.array(scales))
        with self._entry(f"{folder}/{MANIFEST}", packed=True) as stream:
            builder.put_list(stream, _with_points(inside), np.arange(len(inside)))
        return Part(faces, inside, np.array(kept, np.int64), unread, 0 if self.hidden else changed)

    def _pictures(
        self, faces: FaceSet, told: FaceSet, rows: Rows, order: Sequence[int]
    ) -> Generator[tuple[int, giving.Given | None], None, None]:
        """Each place of `order` with its picture, a few made ahead; None for one that cannot be read."""
        guard = quarantine.guarded(faces, self.quarantined, watch=in_worker())
        with guard as watched, ThreadPoolExecutor(max(2, os.cpu_count() or 2), "collect") as pool:

            def one(place: int) -> giving.Given | None:
                row = int(rows[place])
                if watched.why(row):
                    return None
                try:
                    with watched.reading(row) if self.choice.pictures != "none" else nullcontext():
                        return giving.given(told, row, self.choice.pictures)
                except PictureError:
                    return None

            ahead: deque[tuple[int, Future[giving.Given | None]]] = deque()
            try:
                for place in order:
                    ahead.append((place, pool.submit(one, place)))
                    if len(ahead) > 8:
                        first, made = ahead.popleft()
                        yield first, made.result()
                while ahead:
                    first, made = ahead.popleft()
                    yield first, made.result()
            finally:
                for _, waiting in ahead:
                    waiting.cancel()

    def _inside(
        self, told: FaceSet, rows: Rows, folder: str, paths: Sequence[str], scales: NDArray[np.float64]
    ) -> FaceSet:
        """The gallery as whoever unzips it reads it."""
        some = told.take(rows)
        names = [name for name in attributes(some) if name not in MEASURED]
        points = None
        if some.landmarks is not None and self.choice.pictures != "none":
            points = (some.landmarks * scales[:, None, None]).astype(np.float32)
        return FaceSet.build(
            folder,
            INSIDE / folder,
            paths=[path.encode("utf-8", "surrogateescape") for path in paths],
            identities=[some.identity.name(row) or None for row in range(len(some))],
            columns={name: some.columns[name] for name in names},
            landmarks=points,
        )

    def _pairs(self) -> tuple[Table, ...]:
        """The test of the gallery, where it is a list of pairs; without those of faces that are not here."""
        protocol, part = self.given.protocol, self.gallery
        if protocol is None:
            return ()
        if protocol.pairs is None or protocol.pairs.of != "face":
            self.notes.append(tr("The test of the gallery is not a list of pairs and is not inside."))
            return ()
        both = part.place[protocol.pairs.pairs]
        here = (both >= 0).all(1)
        both, same, fold = np.sort(both[here], 1), protocol.pairs.same[here], protocol.pairs.fold[here]
        if not len(both):
            return ()
        order = np.lexsort((both[:, 1], both[:, 0], fold))  # their order may be that of a published list of names
        with self._entry(f"{self.folder}/{PAIRS}", packed=True) as stream:
            builder.put_pairs(stream, part.inside, Pairs(both[order], same[order], fold[order]))
        return (Table(Place(INSIDE / self.folder / PAIRS), "pairs"),)

    # -- vectors and models

    def _vectors(self, tick: Tick) -> tuple[Vectors, ...]:
        from facelens.features.exports import Outgoing, npz

        made, part = [], self.gallery
        names = list(self.given.features)
        for count, (name, file) in enumerate(zip(names, giving.unique(names), strict=True)):
            tick(count, len(names) + 1, tr("Collecting vectors"))
            features = self.given.features[name]
            old = part.faces.ids[part.rows]
            known = dict(zip(features.ids.tolist(), range(len(features)), strict=True))
            places = np.array([known[face] for face in old.tolist() if face in known], np.int64)
            if not len(places):
                continue
            some = features.take(places)
            nowhere = replace(features.provenance, fingerprint="", file="")  # both follow from where pictures lie
            some = replace(some, ids=part.ids(some.ids), invalid=part.ids(features.invalid), provenance=nowhere)
            with self._entry(f"vectors/{file}.npz") as stream:
                npz.put(stream, Outgoing.of(some, part.inside, unusable=True))
            source = features.provenance
            made.append(Vectors(Place(INSIDE / "vectors" / f"{file}.npz"), self._card(name), source.weights))
        return tuple(made)

    def _card(self, name: str) -> Card:
        """The card of a model, as it may be told."""


        from facelens.features.card import Card

        features = self.given.features.get(name)
        found = next((one.card for one in self.given.models if one.card.name == name), None)
        if found is None and features is not None:
            found = features.provenance.card or Card(name, "imported", template="none")
        assert found is not None
        found = found.changed(name=name, notes="" if self.hidden else found.notes)
        return found if features is None else found.changed(dimensions=features.dimensions)

    def _models(self, tick: Tick) -> tuple[tuple[Model, ...], dict[str, str]]:
        """Models that the zip holds or every FaceLens has, and where the files that plans name are now."""
        made, files = [], dict[str, str]()
        own = own_models(self.given)
        names = giving.unique(one.card.name for one in own)
        named = {one.place.path: name for one, name in zip(own, names, strict=True)}
        for one in self.given.models:
            path, card = one.place.path, self._card(one.card.name)
            if path not in named:
                made.append(replace(one, card=card))
            elif self.choice.models:
                place = f"models/{named[path]}{path.suffix.lower()}"
                if (digest := self._copied(path, place, tick)) is not None:
                    made.append(Model(Place(INSIDE / place), digest, card))
        told = {file: None for name in FILES for _, file in getattr(self.given.fields.get(name), "files", ())}
        others = [file for file in told if not _comes_along(Path(file))]
        files |= {file: file for file in told if file not in others}
        if self.choice.models:
            for number, file in enumerate(others, 1):
                place = f"models/transform {number}{Path(file).suffix.lower()}"
                if self._copied(Path(file), place, tick) is not None:
                    files[file] = str(INSIDE / place)
        return tuple(made), files

    def _copied(self, path: Path, place: str, tick: Tick) -> str | None:
        """Copy a file and give its SHA-256; None, and a note, where it cannot be read."""
        state = hashlib.sha256()
        try:
            with open(path, "rb") as source:
                block = source.read(BLOCK)
                with self._entry(place) as stream:
                    while block:
                        tick(1, 2, tr("Collecting models"))
                        state.update(block)
                        stream.write(block)
                        block = source.read(BLOCK)
        except (FileNotFoundError, PermissionError, IsADirectoryError):
            name = Path(place).name if self.hidden else path.name
            self.notes.append(tr("{name} could not be read and is not inside.", name=escaped(name)))
            return None
        return state.hexdigest()

    # -- the workspace

    def _archive(
        self,
        tables: tuple[Table, ...],
        vectors: tuple[Vectors, ...],
        models: tuple[Model, ...],
        files: Mapping[str, str],
    ) -> Archive:
        given, part, asking = self.given, self.gallery, self.asking
        selection = given.selection
        pair = tuple(face for one in selection.pair or () if (face := part.face(one)) is not None)
        asked = part if given.queries is None else asking
        query = asked.face(given.query) if asked is not None else None
        return Archive(
            galleries=(self._place(part, self.folder),),
            queries=self._place(asking, QUERIES) if asking is not None else None,
            tables=tables,
            models=models,
            vectors=vectors,
            fields=self._fields({one.card.name for one in (*models, *vectors)}, files, tables),  # type: ignore[attr-defined]
            selected=archive.names_of(part.inside, np.sort(part.ids(selection.ids))),
            current=_name(part, part.face(selection.current)),
            pair=tuple(_name(part, face) for face in pair) if len(pair) == 2 else None,  # type: ignore[arg-type]
            query=_name(asked, query) if asked is not None else None,
            annotations=marks.as_plain(self._annotations(), part.inside),
            subsets=subsets.as_plain(self._subsets(), part.inside),
            layout=Layout(page=given.page),
        )

    def _place(self, part: Part, folder: str) -> Gallery:
        options = {"path": "path", "identity": "identity", "root": str(INSIDE / folder)}
        return Gallery(Place(INSIDE / folder / MANIFEST), "manifest", options, part.inside.name, part.inside.digest)

    def _fields(self, names: set[str], files: Mapping[str, str], tables: tuple[Table, ...]) -> dict[str, Any]:
        """How one looked at it: without files that are not here and models of which nothing is."""
        fields = {**self.given.fields, "draft": None}  # it names places on this computer
        for slot in SLOTS:
            if slot in fields and fields[slot] not in names:
                fields[slot] = ""
        for name in FILES:
            if name in fields:
                kept = tuple((of, files[file]) for of, file in fields[name].files if file in files)
                hidden = {"fitted_on": ""} if self.hidden else {}
                fields[name] = replace(fields[name], files=kept, **hidden)
        if "plan" in fields and fields["plan"].protocol != ALL_PAIRS:
            fields["plan"] = replace(fields["plan"], protocol=PAIRS if tables else ALL_PAIRS)
        if self.hidden and "arrangement" in fields:
            fields["arrangement"] = replace(fields["arrangement"], filter="")
        if self.hidden and "looks" in fields:
            fields["looks"] = replace(fields["looks"], map_shape=(), map_focus=())  # values, which have codes here
        return fields

    def _annotations(self) -> marks.Annotations:
        said, part = self.given.annotations, self.gallery
        notes = {face: note for old, note in said.notes.items() if (face := part.face(old)) is not None}
        tags = {name: np.sort(part.ids(ids)) for name, ids in said.tags.items()}
        tags = {name: ids for name, ids in tags.items() if len(ids)}
        if self.hidden and not self.choice.words:
            codes = self.disguise.codes("tag", tags)
            notes, tags = {}, {codes[name]: ids for name, ids in tags.items()}
        return marks.Annotations(self._levels(said.flags), self._levels(said.ratings), tags, notes)

    def _levels(self, levels: marks.Levels) -> marks.Levels:
        here = np.isin(levels.ids, self.gallery.faces.ids[self.gallery.rows])
        ids = self.gallery.ids(levels.ids[here])
        order = np.argsort(ids)
        return marks.Levels(ids[order], levels.values[here][order])

    def _subsets(self) -> subsets.Subsets:
        of = {name: np.sort(self.gallery.ids(ids)) for name, ids in self.given.subsets.items()}
        if self.hidden and not self.choice.words:
            codes = self.disguise.codes("subset", of)
            of = {codes[name]: ids for name, ids in of.items()}
        return subsets.Subsets(of)


def _name(part: Part, face: int | None) -> str | None:
    found = archive.names_of(part.inside, np.array([face], np.int64)) if face is not None else ()
    return found[0] if found else None


def _inside(model: Model) -> bool:
    return model.place.path.is_relative_to(INSIDE)


def _with_points(faces: FaceSet) -> FaceSet:
    return faces if faces.landmarks is None else faces.with_columns(detect.as_columns(faces.landmarks))


def _bare(path: bytes) -> str:
    return os.path.splitext(os.fsdecode(path))[0]
