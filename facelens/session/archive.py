"""The workspace file NAME.facelens: what was open and how it was looked at, never a picture or a vector.

JSON with a schema number. Galleries, models and tables stand in it by their place: relative to the folder of the file
where they lie inside it, else absolute. Faces stand in it by their path inside the gallery. Vectors are found again in
the cache by fingerprint; answers are asked for anew, their plans are here. Keys that this FaceLens does not know are
kept and written back. A file may come from a stranger, so everything in it is checked before anything is changed; a
place outside the file's folder is followed only where the user has had it open before (see `shelf.known`).
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

import numpy as np

from facelens import __version__
from facelens.analyses.plan import EnsemblePlan, MatchPlan, PartsPlan, Plan, ProjectionPlan, UpgradePlan
from facelens.errors import FaceLensError, InputError
from facelens.files import atomic_write
from facelens.images.faceset import FaceSet, Ids, Opened, face_ids
from facelens.images.occlusion import Occlusion
from facelens.progress import Tick, silent
from facelens.resources import sample_data
from facelens.session import annotations as marks
from facelens.session import identities, questions, subsets, tasks
from facelens.session.looks import Looks
from facelens.session.plain import Misfit, as_plain, from_plain, number, shown, text
from facelens.session.selection import Selection
from facelens.session.workspace import CROSSINGS, Arrangement, Operating, Source, Workspace
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.features.card import Card
    from facelens.session.draft import Draft

SUFFIX = ".facelens"
SCHEMA = 1
MARK = "workspace"
LARGEST = 512 << 20  # bytes; a selection of a million faces takes some 60 MB
DEEPEST = 24  # objects in objects
LONGEST = 1 << 20  # letters of any text
MOST_FACES = 20_000_000
ENCODING = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()  # as os.fsdecode does it, but quicker
FEW = 1000  # faces whose paths are looked up one by one

Document = dict[str, Any]

# From one schema to the next, the first of them from 1 to 2. A file of each schema is kept in tests/session/archives.
MIGRATIONS: tuple[Callable[[Document], Document], ...] = ()

PLANS: Mapping[str, type] = {
    "plan": Plan,
    "ensemble": EnsemblePlan,
    "parts_plan": PartsPlan,
    "learners_plan": PartsPlan,
    "projection_plan": ProjectionPlan,
    "match_plan": MatchPlan,
    "upgrade_plan": UpgradePlan,
    "arrangement": Arrangement,
    "operating": Operating,
    "looks": Looks,
}
SLOTS = ("model", "model_a", "model_b")
# Of the workspace, as they are.
FIELDS = (*PLANS, "refusal", "part", "left_out", "crossing", "occlusion", "draft", *SLOTS)
OWN = (*SLOTS, "draft")  # that do not belong to a gallery
FILES = ("ensemble", "upgrade_plan")  # plans that name files
TABLES = ("scores", "pairs")  # what may have been read for a gallery


@dataclass(frozen=True)
class Place:
    """Where something lies on this computer, and how the file says it."""

    path: Path
    home: str = field(default="", compare=False)  # inside the file's folder, outside, or in the sample that comes along


@dataclass(frozen=True)
class Gallery:
    """A gallery to be opened again."""

    place: Place
    kind: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    digest: str = ""  # of its faces when it was saved; of galleries that were joined that of all, in the first
    head: str = ""  # how the paths of its faces begin, where it was joined with others


@dataclass(frozen=True)
class Model:
    """A model to be loaded again."""

    place: Place
    sha256: str
    card: Card


@dataclass(frozen=True)
class Table:
    """A table that was read for the gallery."""

    place: Place
    kind: str  # of TABLES


@dataclass(frozen=True)
class Vectors:
    """A file with the vectors of a model, where they do not lie in the cache: of a workspace that was sent."""

    place: Place
    card: Card
    weights: str = ""  # SHA-256 of the model's file


@dataclass(frozen=True)
class Layout:
    """How the window was laid out: name of the layout, Qt's own bytes, the page in front, the size of thumbnails."""

    name: str = ""
    state: bytes = b""
    page: str = ""
    thumbnails: int = 0


@dataclass(frozen=True)
class Archive:
    """What a workspace file says, checked; faces by their path inside the gallery."""

    path: Path = Path()
    schema: int = SCHEMA
    saved: str = ""
    galleries: tuple[Gallery, ...] = ()  # the first was opened, others were added to it
    queries: Gallery | None = None
    tables: tuple[Table, ...] = ()
    models: tuple[Model, ...] = ()
    vectors: tuple[Vectors, ...] = ()
    stores: Mapping[str, str] = field(default_factory=dict)  # fingerprint of the vectors of each model
    results: Mapping[str, str] = field(default_factory=dict)  # that were there, by the digest of what was asked
    fields: Mapping[str, Any] = field(default_factory=dict)  # of the workspace: plans, operating point, models by name
    excluded: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()
    current: str | None = None
    pair: tuple[str, str] | None = None
    query: str | None = None
    annotations: Document = field(default_factory=dict)
    subsets: Document = field(default_factory=dict)
    identities: Document = field(default_factory=dict)  # those that were edited
    layout: Layout = field(default_factory=Layout)
    unknown: Document = field(default_factory=dict)  # what this FaceLens does not know, in its place

    @property
    def newer(self) -> bool:
        """Whether a newer FaceLens has made it; it is not written over."""
        return self.schema > SCHEMA

    @property
    def heads(self) -> tuple[str, ...]:
        """How the paths of galleries begin that were joined; () where that is not said."""
        said = tuple(one.head for one in self.galleries)
        return said if all(said) else ()

    @property
    def places(self) -> tuple[Place, ...]:
        """Everything it points at."""
        galleries = (*self.galleries, *((self.queries,) if self.queries is not None else ()))
        things = (one.place for one in (*galleries, *self.tables, *self.models, *self.vectors))
        roots = (Place(Path(one.options["root"])) for one in galleries if "root" in one.options)
        files = (Place(Path(file)) for name in FILES for _, file in getattr(self.fields.get(name), "files", ()))
        draft: Draft | None = self.fields.get("draft")
        trained = (draft.out, draft.folder, *(place for _, place in draft.files)) if draft is not None else ()
        return (*things, *roots, *files, *(Place(path) for path in trained if path != Path()))


# From the workspace to the file


def taken(workspace: Workspace, *, layout: Layout | None = None, kept: Archive | None = None) -> Archive:
    """What a file would say of the workspace.

    `kept` is what a file said and is not open: galleries and models that are not there, with the faces that belong to
    them, and what this FaceLens does not know. It stays in the file.
    """
    kept = kept or Archive()
    faces, queries, selection = workspace.faces, workspace.queries, workspace.selection
    opened = [*workspace.galleries] if faces is not None else []
    if faces is not None and not opened and (how := _how(faces, workspace.source)) is not None:
        opened = [how]
    galleries = [Gallery(Place(one.path), one.kind, dict(one.options)) for one in opened]
    if faces is not None and galleries:
        galleries[0] = replace(galleries[0], name=faces.name, digest=faces.named(faces.original).digest)
        for number, head in enumerate(tasks.heads(opened)):
            galleries[number] = replace(galleries[number], head=head)
    searched = _gallery(queries.opened, queries) if queries is not None and queries.opened is not None else None
    given = {one.card.name for one in workspace.tables if one.card is not None}  # whose vectors the file brings itself
    stores = {name: one.fingerprint for name, one in workspace.stored.items() if name not in given}
    found = Archive(
        galleries=(*galleries, *kept.galleries),
        queries=kept.queries if searched is None else searched,
        tables=(*(Table(Place(one.path), one.kind) for one in workspace.tables if one.card is None), *kept.tables),
        models=(*(Model(Place(one.path), one.sha256, one.card) for one in workspace.models), *kept.models),
        vectors=(
            *(Vectors(Place(one.path), one.card, one.weights) for one in workspace.tables if one.card is not None),
            *kept.vectors,
        ),
        stores={**kept.stores, **stores},
        results=kept.results if faces is None else questions.results(workspace),
        fields={**{name: getattr(workspace, name) for name in FIELDS}, "draft": _draft(workspace.draft)},
        excluded=(*names_of(faces, workspace.excluded), *kept.excluded),
        selected=(*names_of(faces, selection.ids), *kept.selected),
        current=_name_of(faces, selection.current),
        pair=_two(names_of(faces, np.array(selection.pair, np.int64))) if selection.pair is not None else None,
        query=_name_of(workspace.query_faces, workspace.query),
        annotations=kept.annotations if faces is None else marks.as_plain(workspace.annotations, faces),
        subsets=kept.subsets if faces is None else subsets.as_plain(workspace.subsets, faces),
        identities=kept.identities if faces is None else identities.as_plain(workspace.identity_edits, faces),
        layout=layout or kept.layout,
        unknown=kept.unknown,
    )
    if queries is None and kept.queries is not None:
        found = replace(found, query=kept.query)  # of the set that waits
    away = {one.card.name for one in kept.models}
    slots = {slot: name for slot in SLOTS if (name := kept.fields.get(slot)) in away and not found.fields[slot]}
    found = replace(found, fields={**found.fields, **slots})  # who was A and B is so again when the model is back
    if faces is None and kept.galleries:  # how one looked at it waits for it
        waiting = {name: kept.fields[name] for name in FIELDS if name in kept.fields and name not in OWN}
        fields = {**found.fields, **waiting}
        found = replace(found, fields=fields, current=kept.current, pair=kept.pair, query=kept.query)
        found = replace(found, queries=kept.queries)
    return found


def _draft(draft: Draft | None) -> Draft | None:
    """A recipe as it is kept: under its name alone, for its text is all there is of it."""
    if draft is None:
        return None
    from facelens.session.draft import LONGEST

    return replace(draft, name=draft.title) if len(draft.text) <= LONGEST and "\0" not in draft.text else None


def _how(faces: FaceSet, source: Source | None) -> Opened | None:
    if faces.opened is not None:
        return faces.opened
    return Opened(source.path.absolute()) if source is not None else None


def _gallery(opened: Opened, faces: FaceSet) -> Gallery:
    return Gallery(Place(opened.path), opened.kind, dict(opened.options), faces.name, faces.digest)


def names_of(faces: FaceSet | None, ids: Ids) -> tuple[str, ...]:
    """The paths of faces inside their gallery; bytes that are no text become lone surrogates."""
    if faces is None or not len(ids):
        return ()
    rows = faces.rows_of(ids)
    if len(rows) < FEW:
        return tuple(os.fsdecode(path) for path in faces.paths.take(rows))
    paths = list(faces.paths)  # of a million, a second; taking them one by one, many
    return tuple(paths[row].decode(*ENCODING) for row in rows.tolist())


def _name_of(faces: FaceSet | None, face: int | None) -> str | None:
    found = names_of(faces, np.array([face], np.int64)) if face is not None else ()
    return found[0] if found else None


def _two(names: tuple[str, ...]) -> tuple[str, str] | None:
    return (names[0], names[1]) if len(names) == 2 else None


def ids_of(faces: FaceSet, names: Sequence[str]) -> tuple[Ids, tuple[str, ...]]:
    """Ids of the faces of that name, in order, and the names that are not here."""
    if not names:
        return np.zeros(0, np.int64), ()
    known = dict(zip(faces.paths, faces.ids.tolist(), strict=True))
    found = [known.get(name.encode(*ENCODING)) for name in names]
    here = np.array([face for face in found if face is not None], np.int64)
    return here, tuple(name for name, face in zip(names, found, strict=True) if face is None)


def face_of(faces: FaceSet | None, name: str | None) -> int | None:
    """The face of that name, None where it is not here."""
    if faces is None or name is None:
        return None
    path = name.encode(*ENCODING)
    row = faces.row_of(int(face_ids([path])[0]))  # which says it at once, but where galleries were joined
    if row is not None and faces.paths[row] == path:
        return int(faces.ids[row])
    return next((face for one, face in zip(faces.paths, faces.ids.tolist(), strict=True) if one == path), None)


def query_of(found: Archive, workspace: Workspace) -> int | None:
    """The face that was searched for."""
    here = workspace.query_faces
    if here is not None and here is workspace.faces and found.query is not None:
        here = as_said(found, here, workspace.galleries)
    return face_of(here, found.query)


@dataclass(frozen=True, eq=False)
class Faced:
    """What a file says about faces, now that their gallery is open."""

    excluded: Ids
    selection: Selection
    annotations: marks.Annotations
    subsets: subsets.Subsets
    identities: identities.IdentityEdits
    gone: tuple[str, ...]  # excluded, but not here
    lost: int  # pictures that something is said about and that are not here


def as_said(found: Archive, faces: FaceSet, galleries: Sequence[Opened]) -> FaceSet:
    """The faces of galleries that were joined under the paths that the file has; to be looked up, not looked at."""
    paths, _ = tasks.as_it_lay(faces, tasks.heads(galleries), found.heads)
    return faces if paths is faces.paths else replace(faces, paths=paths)


def faced(found: Archive, faces: FaceSet, galleries: Sequence[Opened] = (), *, tick: Tick = silent) -> Faced:
    """Find the faces by their paths; of a million that takes seconds, so not in the window's thread."""
    faces = as_said(found, faces, galleries)
    excluded, gone = ids_of(faces, found.excluded)
    selected, unseen = ids_of(faces, found.selected)
    pair = tuple(face for name in found.pair or () if (face := face_of(faces, name)) is not None)
    chosen = Selection(selected, face_of(faces, found.current), (pair[0], pair[1]) if len(pair) == 2 else None)
    said, named = marks.from_plain(found.annotations, faces), subsets.from_plain(found.subsets, faces)
    edits = identities.from_plain(found.identities, faces)
    lost = len({*gone, *unseen}) + said.unknown + named.unknown + edits.unknown
    return Faced(np.sort(excluded), chosen, said, named, edits, gone, lost)


def save(workspace: Workspace, path: Path, *, layout: Layout | None = None, kept: Archive | None = None) -> Archive:
    """Write the workspace, whole or not at all; returns what the file says now. See `taken` for `kept`."""
    found = taken(workspace, layout=layout, kept=kept)
    write(found, path)
    return replace(found, path=path)


def write(found: Archive, path: Path) -> None:
    """Write a file that says this."""
    path = Path(os.path.realpath(path))  # where there is a link, the file behind it is written
    with atomic_write(path) as file:
        file.write(json.dumps(document(found, path.parent), indent=1, allow_nan=False).encode("ascii"))


def same(one: Archive, other: Archive | None) -> bool:
    """Whether two say the same, whenever they were saved, however the window was laid out, whatever was worked out."""
    usual = {"path": Path(), "schema": SCHEMA, "saved": "", "layout": Layout(), "results": {}}
    return other is not None and replace(one, **usual) == replace(other, **usual)  # type: ignore[arg-type]


def document(found: Archive, folder: Path) -> Document:
    """What is written for a file in `folder`, as plain values."""
    layout = found.layout
    state = {name: as_plain(value) for name, value in found.fields.items()}
    for name in FILES:
        if name in state:
            state[name]["files"] = [[of, _said(Path(file), folder)] for of, file in state[name]["files"]]
    if (draft := found.fields.get("draft")) is not None:
        starts = _said(draft.folder, folder) if draft.folder != Path() else None
        state["draft"] |= {"folder": starts, "out": _said(draft.out, folder)}
    made: Document = {
        "facelens": MARK,
        "schema": SCHEMA,
        "made_by": __version__,
        "saved": datetime.now().astimezone().isoformat(timespec="seconds"),
        "galleries": [_said_gallery(one, folder) for one in found.galleries],
        "queries": _said_gallery(found.queries, folder) if found.queries is not None else None,
        "tables": [{"place": _said(one.place.path, folder), "kind": one.kind} for one in found.tables],
        "models": [
            {"place": _said(one.place.path, folder), "sha256": one.sha256, "card": one.card.as_json()}
            for one in found.models
        ],
        "vectors": [
            {"place": _said(one.place.path, folder), "weights": one.weights, "card": one.card.as_json()}
            for one in found.vectors
        ],
        "stores": dict(found.stores),
        "results": dict(found.results),
        "state": state,
        "excluded": list(found.excluded),
        "selection": {
            "faces": list(found.selected),
            "current": found.current,
            "pair": list(found.pair) if found.pair is not None else None,
        },
        "query": found.query,
        "annotations": found.annotations,
        "subsets": found.subsets,
        "identities": found.identities,
        "layout": {
            "name": layout.name,
            "state": base64.b64encode(layout.state).decode(),
            "page": layout.page,
            "thumbnails": layout.thumbnails,
        },
    }
    return _joined(made, found.unknown)


def _said_gallery(one: Gallery, folder: Path) -> Document:
    options: Document = dict(one.options)
    if "root" in options:
        options["root"] = _said(Path(options["root"]), folder)
    place = _said(one.place.path, folder)
    said = {"place": place, "kind": one.kind, "options": options, "name": one.name, "digest": one.digest}
    return {**said, "head": one.head} if one.head else said


def _said(path: Path, folder: Path) -> dict[str, str]:
    """A place as the file says it."""
    path = Path(os.path.abspath(path))
    for home, root in (("sample", sample_data()), ("inside", folder)):
        if path.is_relative_to(root):
            return {home: path.relative_to(root).as_posix()}
    return {"outside": str(path)}


def _joined(made: Document, unknown: Document) -> Document:
    """With the unknown keys of an object, and of objects in it; what is made stays."""
    both = dict(made)
    for key, value in unknown.items():
        if key not in both:
            both[key] = value
        elif isinstance(both[key], dict) and isinstance(value, dict):
            both[key] = _joined(both[key], value)
    return both


# From the file


def read(path: Path, *, folder: Path | None = None) -> Archive:
    """What a workspace file says; a file that is not one, or says what cannot be, is an InputError.

    `folder` is where its relative places start, where that is not its own: a backup lies elsewhere.
    """
    path = Path(os.path.abspath(path))
    raw = read_bytes(path)
    try:
        return checked(parsed(raw), path, folder=folder)
    except Misfit as problem:
        raise _refused(path, str(problem)) from None
    except FaceLensError as problem:  # of a model card, or of annotations
        raise _refused(path, problem.message) from None


def checked(found: Document, path: Path, *, folder: Path | None = None) -> Archive:
    """What a document says that stands in the file at `path`; a Misfit or a FaceLensError where that cannot be."""
    if found.get("facelens") != MARK:
        raise Misfit("it is no workspace of FaceLens")
    schema = number(found.get("schema"), "schema", 1, 10**6, whole=True)
    for step in MIGRATIONS[schema - 1 :]:
        found = step(found)
    return _Reader((folder or path.parent).resolve(), lenient=schema > SCHEMA).archive(found, path, schema)


def _refused(path: Path, why: str) -> InputError:
    message = tr("{name} cannot be opened as a workspace.", name=escaped(path.name))
    kept = tr("Nothing was changed. Earlier versions of your own files are kept: File, Open an earlier version.")
    return InputError(message, hint=f"{escaped(why[:1].upper() + why[1:]).rstrip('.')}. {kept}", details=escaped(why))


def read_bytes(path: Path) -> bytes:
    """The whole of a file that is not too large."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise _refused(path, "it is no file")
        if about.st_size > LARGEST:
            raise _refused(path, f"it has {about.st_size:,} bytes")
        return path.read_bytes()
    except OSError as error:
        message = tr("{name} could not be read: {reason}.", name=escaped(path.name), reason=error.strerror or "?")
        raise InputError(message, hint=tr("Check the name, or that the drive is connected.")) from None


def parsed(raw: bytes) -> Document:
    """JSON as plain values, of a size that does no harm; a Misfit where it is none."""
    try:
        found = json.loads(raw, parse_constant=_no_constant, object_pairs_hook=_once)
    except RecursionError:
        raise Misfit("it is nested too deeply") from None
    except Misfit:
        raise
    except ValueError as error:
        raise Misfit(f"it is no JSON: {str(error)[:80]}") from None
    if not isinstance(found, dict):
        raise Misfit("it is no object")
    _bounded(found)
    return found


def _no_constant(name: str) -> object:
    raise Misfit(f"{name} is no number")


def _once(pairs: list[tuple[str, Any]]) -> Document:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Misfit("a key stands in it twice")
    return found


def _bounded(found: object) -> None:
    """Refuse what is too deep or too long, also where nobody knows it: it would be written back."""
    level: list[object] = [found]
    for _ in range(DEEPEST):
        below: list[object] = []
        for one in level:
            if isinstance(one, dict):
                below += one.values()
                below += one.keys()
            elif isinstance(one, list):
                below += one
            elif isinstance(one, str) and len(one) > LONGEST:
                raise Misfit(f"a text in it has {len(one):,} letters")
            elif isinstance(one, (int, float)) and abs(one) > 1e300:
                raise Misfit("a number in it is too large")
        level = below
    if level:
        raise Misfit("it is nested too deeply")


class _Reader:
    """Reads one document. A lenient one, for files of a newer FaceLens, passes over what it does not understand."""

    def __init__(self, folder: Path, *, lenient: bool) -> None:
        self.folder, self.lenient = folder, lenient

    def archive(self, found: Document, path: Path, schema: int) -> Archive:
        layout = self._object(found, "layout")
        selection = self._object(found, "selection")
        return Archive(
            path=path,
            schema=schema,
            saved=self._try(lambda: text(found.get("saved", ""), "saved", longest=40), ""),
            galleries=self._each(found, "galleries", self._gallery, most=64),
            queries=self._try(lambda: self._one_gallery(found.get("queries")), None),
            tables=self._each(found, "tables", self._table, most=64),
            models=self._each(found, "models", self._model, most=256),
            vectors=self._each(found, "vectors", self._vectors, most=256),
            stores=self._try(lambda: _texts(found.get("stores", {}), "stores"), {}),
            results=self._try(lambda: _texts(found.get("results", {}), "results"), {}),
            fields=self._fields(self._object(found, "state")),
            excluded=self._try(lambda: _names(found.get("excluded", []), "excluded"), ()),
            selected=self._try(lambda: _names(selection.get("faces", []), "selection.faces"), ()),
            current=self._try(lambda: _name(selection.get("current"), "selection.current"), None),
            pair=self._try(lambda: _pair(selection.get("pair")), None),
            query=self._try(lambda: _name(found.get("query"), "query"), None),
            annotations=self._said(found, "annotations", marks.from_plain),
            subsets=self._said(found, "subsets", subsets.from_plain),
            identities=self._said(found, "identities", identities.from_plain),
            layout=self._try(lambda: _layout(layout), Layout()),
            unknown=_unknown(found),
        )

    def _try(self, work: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return work()
        except (Misfit, FaceLensError):
            if not self.lenient:
                raise
            return otherwise

    def _object(self, found: Document, key: str) -> Document:
        return self._try(lambda: _mapping(found.get(key) or {}, key), {})  # type: ignore[no-any-return]

    def _said(self, found: Document, key: str, read: Callable[[object, FaceSet], object]) -> Document:
        """What was said about faces, checked; who they are is known when their gallery is open."""
        said = self._object(found, key)
        nobody = FaceSet.build("", Path(), paths=[], identities=[])
        return said if self._try(lambda: read(said, nobody), None) is not None else {}

    def _each(self, found: Document, key: str, read: Callable[[Document, str], Any], *, most: int) -> tuple[Any, ...]:
        listed = self._try(lambda: _listed(found.get(key, []), key, most=most), [])
        nothing = object()
        made = []
        for i, one in enumerate(listed):
            at = f"{key}[{i}]"
            made.append(self._try(lambda one=one, at=at: read(_mapping(one, at), at), nothing))  # type: ignore[misc]
        return tuple(one for one in made if one is not nothing)

    def _one_gallery(self, found: object) -> Gallery | None:
        return None if found is None else self._gallery(_mapping(found, "queries"), "queries")

    def _gallery(self, found: Document, where: str) -> Gallery:
        options = dict(_mapping(found.get("options", {}), f"{where}.options"))
        root = options.pop("root", None)
        said = _texts(options, f"{where}.options", most=100)
        if root is not None:
            said["root"] = str(self._place(root, f"{where}.options.root").path)
        return Gallery(
            self._place(found.get("place"), f"{where}.place"),
            text(found.get("kind", ""), f"{where}.kind", longest=64),
            said,
            text(found.get("name", ""), f"{where}.name"),
            text(found.get("digest", ""), f"{where}.digest", longest=64),
            _name(found.get("head", ""), f"{where}.head") or "",
        )

    def _table(self, found: Document, where: str) -> Table:
        kind = text(found.get("kind"), f"{where}.kind", longest=64)
        if kind not in TABLES:
            raise Misfit(f"{where}.kind is {shown(kind)}")
        return Table(self._place(found.get("place"), f"{where}.place"), kind)

    def _model(self, found: Document, where: str) -> Model:
        from facelens.features.card import Card

        sha256 = _sha256(found.get("sha256"), f"{where}.sha256")
        return Model(self._place(found.get("place"), f"{where}.place"), sha256, Card.from_json(found.get("card")))

    def _vectors(self, found: Document, where: str) -> Vectors:
        from facelens.features.card import Card

        place, weights = self._place(found.get("place"), f"{where}.place"), found.get("weights", "")
        weights = _sha256(weights, f"{where}.weights") if weights else ""
        return Vectors(place, Card.from_json(found.get("card")), weights)

    def _place(self, found: object, where: str) -> Place:
        said = _mapping(found, where)
        homes = [home for home in ("inside", "sample", "outside") if home in said]
        if len(homes) != 1:
            raise Misfit(f"{where} says nothing")
        home, name = homes[0], text(said[homes[0]], where)
        flavours = (PurePosixPath(name), PureWindowsPath(name))
        if any(".." in one.parts for one in flavours):
            raise Misfit(f"{where} leads out of its folder: {shown(name)}")
        rooted = any(one.is_absolute() or one.drive or one.root for one in flavours)
        if rooted != (home == "outside"):
            raise Misfit(f"{where} is {shown(name)}, which is not {home}")
        if home == "outside":
            return Place(Path(name), home)
        root = sample_data() if home == "sample" else self.folder
        path = root / name
        try:
            leads_out = not path.resolve().is_relative_to(root.resolve())
        except (OSError, RuntimeError, ValueError):
            raise Misfit(f"{where} is {shown(name)}, which cannot be a path") from None
        return Place(path, "outside" if leads_out else home)  # by a link

    def _fields(self, found: Document) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for name, cls in PLANS.items():
            if name in found:
                plan = self._try(lambda name=name, cls=cls: self._plan(name, cls, found[name]), None)  # type: ignore[misc]
                fields |= {name: plan} if plan is not None else {}
        readers: dict[str, Callable[[object, str], Any]] = {
            "refusal": lambda value, at: number(value, at, 0, 10**7, whole=True),
            "part": lambda value, at: number(value, at, 0, 4095, whole=True),
            "left_out": lambda value, at: tuple(
                number(one, at, 0, 4095, whole=True) for one in _listed(value, at, most=4096)
            ),
            "crossing": lambda value, at: _of(CROSSINGS, value, at),
            "occlusion": lambda value, at: from_plain(Occlusion, value, at) if value is not None else None,
            "draft": self._draft,
            **dict.fromkeys(SLOTS, text),
        }
        assert {*PLANS, *readers} == {*FIELDS}
        nothing = object()
        for name, read_value in readers.items():
            if name in found:
                value = self._try(lambda n=name, r=read_value: r(found[n], f"state.{n}"), nothing)  # type: ignore[misc]
                fields |= {name: value} if value is not nothing else {}
        return fields

    def _draft(self, found: object, at: str) -> Draft | None:
        """What is to be trained; what may be followed of it is decided by whoever opens it (`Draft.permitted`)."""
        if found is None:
            return None
        from facelens.session.draft import LONGEST, SOURCES, Draft

        said = _mapping(found, at)
        name, starts = text(said.get("name"), f"{at}.name", longest=255), said.get("folder")
        if any(len(one(name).parts) != 1 or name == ".." for one in (PurePosixPath, PureWindowsPath)):
            raise Misfit(f"{at}.name is {shown(name)}, which is no name")
        return Draft(
            name,
            text(said.get("text"), f"{at}.text", longest=LONGEST),
            self._place(starts, f"{at}.folder").path if starts is not None else Path(),
            _of(tuple(SOURCES), said.get("source"), f"{at}.source"),  # type: ignore[arg-type]
            self._place(said.get("out"), f"{at}.out").path,
        )

    def _plan(self, name: str, cls: type, found: object) -> object:
        at = f"state.{name}"
        said = dict(_mapping(found, at))
        if name in FILES and "files" in said:
            pairs = [_listed(one, f"{at}.files", most=2) for one in _listed(said["files"], f"{at}.files", most=1000)]
            if any(len(pair) != 2 for pair in pairs):
                raise Misfit(f"{at}.files are not pairs")
            said["files"] = [[of, str(self._place(place, f"{at}.files").path)] for of, place in pairs]
        return from_plain(cls, said, at)


def _sha256(found: object, where: str) -> str:
    said = text(found, where, longest=64)
    if len(said) != 64 or not set(said) <= set("0123456789abcdef"):
        raise Misfit(f"{where} is {shown(said)}")
    return said


def _mapping(found: object, where: str) -> Document:
    if not isinstance(found, dict):
        raise Misfit(f"{where} is {shown(found)}, not an object")
    return found


def _listed(found: object, where: str, *, most: int) -> list[Any]:
    if not isinstance(found, list):
        raise Misfit(f"{where} is {shown(found)}, not a list")
    if len(found) > most:
        raise Misfit(f"{where} has {len(found):,} values")
    return found


def _texts(found: object, where: str, *, most: int = 1000) -> dict[str, str]:
    said = _mapping(found, where)
    if len(said) > most:
        raise Misfit(f"{where} has {len(said):,} values")
    return {text(key, where): text(value, f"{where}.{key[:40]}") for key, value in said.items()}


def _names(found: object, where: str) -> tuple[str, ...]:
    listed = _listed(found, where, most=MOST_FACES)
    for one in listed:
        _name(one, where)
    return tuple(listed)


def _name(found: object, where: str) -> str | None:
    """A face by its path; one that no gallery can have is refused."""
    if found is None:
        return None
    name = text(found, where)
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise Misfit(f"{where} is {shown(name)}, which cannot be a path") from None
    return name


def _pair(found: object) -> tuple[str, str] | None:
    if found is None:
        return None
    listed = _names(found, "selection.pair")
    if len(listed) != 2 or None in listed:
        raise Misfit("selection.pair are not two faces")
    return listed[0], listed[1]


def _of(allowed: Sequence[str], found: object, where: str) -> str:
    if text(found, where) not in allowed:
        raise Misfit(f"{where} is {shown(found)}, not one of {', '.join(map(repr, allowed))}")
    return str(found)


def _layout(found: Document) -> Layout:
    try:
        state = base64.b64decode(text(found.get("state", ""), "layout.state", longest=LONGEST), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Misfit(f"layout.state: {str(error)[:80]}") from None
    return Layout(
        text(found.get("name", ""), "layout.name", longest=64),
        state,
        text(found.get("page", ""), "layout.page", longest=64),
        number(found.get("thumbnails", 0), "layout.thumbnails", 0, 4096, whole=True),
    )


def _unknown(found: Document) -> Document:
    """Keys that nobody here knows: at the top, and in objects that are known."""
    usual = document(Archive(fields={name: getattr(Workspace(), name) for name in FIELDS}), Path("/"))
    return _strange(found, usual)


FREE = ("stores", "results", "annotations", "subsets", "identities")  # objects with names of the user's as keys


def _strange(found: Document, usual: Document) -> Document:
    strange: Document = {}
    for key, value in found.items():
        if key not in usual:
            strange[key] = value
        elif key not in FREE and isinstance(value, dict) and isinstance(usual[key], dict):
            strange |= {key: below} if (below := _strange(value, usual[key])) else {}
    return strange
