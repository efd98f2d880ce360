"""Replay: what a workspace file says, brought back without a window.

The window does the same step by step and asks where something is missing (`views/reopening.py`); here one says
beforehand whether what is missing ends it or is told. The steps of a `Replay` are taken as far as somebody needs them:
figures and reports take all (`replay`), a collection needs no doctor and no model's file, an export the vectors of one
model. One rule says what may be opened: what lies inside the file's folder, what this user has had open before, and
everything where he trusts whoever made the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from facelens.errors import FaceLensError, InputError
from facelens.images.faceset import FaceSet, Opened
from facelens.progress import Tick, part_of, silent
from facelens.resources import sample_data
from facelens.session import archive, folders, identities, match_queries, questions, shelf, tasks
from facelens.session.archive import SLOTS, Archive, Gallery, Model, Vectors
from facelens.session.settings import Settings
from facelens.session.workspace import (
    Source,
    Stored,
    Table,
    Workspace,
    by_variance,
    fitting,
    unique_name,
    with_model_columns,
)
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.features.featureset import FeatureSet
    from facelens.features.library import Inspection
    from facelens.images.protocol import Protocol

Embed = Callable[..., tasks.Embedded]  # as tasks.embed_gallery
Check = Callable[..., Any]  # as tasks.check_gallery
MISSING = ("refuse", "tell")  # what is not there or may not be opened; never galleries, which have to be there


@dataclass(frozen=True, eq=False)
class Replayed:
    """The workspace, and what is not as it was when the file was written."""

    workspace: Workspace
    changed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def replay(
    found: Archive,
    *,
    trusted: bool = False,
    root: Path | None = None,
    embed: Embed = tasks.embed_gallery,
    check: Check = tasks.check_gallery,
    tick: Tick = silent,
) -> Replayed:
    """Open all that the file says; what is missing is an error with a next step, but vectors, which are made again.

    Arguments as for `Replay`; `embed` and `check` read pictures, in another process where they should.
    """
    made = Replay(found, trusted=trusted, root=root)
    steps: tuple[Callable[[Tick], None], ...] = (
        made.open_galleries,
        lambda tick: made.find_faces(check=check, tick=tick),
        made.read_tables,
        made.open_queries,
        lambda tick: made.load_models(embed, tick),
        made.look,
    )
    for number, step in enumerate(steps):
        step(part_of(tick, number, len(steps)))
    return Replayed(made.workspace, tuple(made.changed), (*made.workspace.notes, *made.notes))


def permitted(found: Archive, path: Path, *, trusted: bool = False, otherwise: str = "") -> Path:
    """A place that a file names: the user has had it open, or trusts whoever made the file. It is not looked at.

    `otherwise` is what else one can do.
    """
    if trusted or shelf.may_open(path, found, {one.path for one in Settings.load().recent}):
        return path
    words = "{path} lies outside the folder of the workspace, and nothing there was opened here before."
    hint = tr("Open the workspace in the window once, or say --trust where you know who made it.")
    raise InputError(tr(words, path=escaped(str(path))), hint=f"{hint} {otherwise}".strip())


def allowed(found: Archive, path: Path, *, trusted: bool = False, otherwise: str = "") -> Path:
    """The same, and something is there."""
    if not permitted(found, path, trusted=trusted, otherwise=otherwise).exists():
        hint = tr("Bring it back to its place, or open the workspace in the window and say where it is now.")
        raise InputError(tr("There is nothing at {path}.", path=escaped(str(path))), hint=f"{hint} {otherwise}".strip())
    return path


class Replay:
    """One file that is being opened; `workspace` is what has come back so far.

    `trusted`: also places that nothing was opened at before. `missing` is one of MISSING. `root` is where vectors are
    kept, `gallery` where the pictures are now, if they have moved; `otherwise` as for `allowed`.
    """

    def __init__(
        self,
        found: Archive,
        *,
        trusted: bool = False,
        missing: str = "refuse",
        root: Path | None = None,
        gallery: Path | None = None,
        otherwise: str = "",
    ) -> None:
        assert missing in MISSING
        self.found, self.trusted, self.missing = found, trusted, missing
        self.root, self.moved, self.otherwise = root or folders.vectors(), gallery, otherwise
        self.workspace = Workspace()
        self.changed: list[str] = []  # what is not as it was
        self.notes: list[str] = []  # what there is to say besides, and what was not opened

    def _put(self, **fields: Any) -> None:
        self.workspace = replace(self.workspace, **fields)

    @property
    def faces(self) -> FaceSet:
        """The faces as far as they are known."""
        assert self.workspace.faces is not None
        return self.workspace.faces

    @property
    def told(self) -> tuple[str, ...]:
        """All there is to say."""
        return (*self.changed, *self.notes)

    @contextmanager
    def _or_told(self) -> Iterator[None]:
        """Something that may be missing."""
        try:
            yield
        except FaceLensError as error:
            if self.missing == "refuse":
                raise
            self.notes += [error.message] if error.message not in self.notes else []

    def _allowed(self, path: Path) -> Path:
        return allowed(self.found, path, trusted=self.trusted, otherwise=self.otherwise)

    # -- galleries, and what was said of their faces

    def open_galleries(self, tick: Tick = silent) -> None:
        """The galleries, joined as they were; never without all of them."""
        galleries = self.found.galleries if self.moved is None else (Gallery(archive.Place(self.moved)),)
        if not galleries:
            raise InputError(
                tr("The file names no gallery."), hint=tr("Open a gallery in the window, then save the workspace.")
            )
        faces: FaceSet | None = None
        protocol: Protocol | None = None
        opened: list[Opened] = []
        notes: list[str] = []
        for number, one in enumerate(galleries):
            path, options = (one.place.path, None) if self.moved is not None else self._how(one)
            part = part_of(tick, number, len(galleries))
            reading = tasks.open_gallery(path, kind=one.kind or None, options=options, tick=part)
            notes += reading.notes
            opened += [reading.faces.opened] if reading.faces.opened is not None else []
            if faces is None:
                faces, protocol = reading.faces, reading.protocol
            else:
                faces = tasks.joined(faces, reading.faces)
        assert faces is not None
        first = galleries[0]
        if first.place.path == sample_data():
            faces = replace(faces, name=tr("Sample gallery"))
        if first.digest and first.digest != faces.digest:
            self.changed.append(tr("Pictures of the gallery have come, gone or been renamed since."))
        source = Source(first.place.path, faces.name, len(faces), first.kind)
        self._put(faces=faces, protocol=protocol, source=source, galleries=tuple(opened), notes=tuple(notes))

    def _how(self, one: Gallery) -> tuple[Path, dict[str, str] | None]:
        """Where a gallery is opened, and how: links are followed only where the user has had it open himself."""
        path = self._allowed(one.place.path)
        if "root" in one.options:
            self._allowed(Path(one.options["root"]))
        known = self.trusted or shelf.known(path)
        return path, {name: said for name, said in one.options.items() if name != "links" or known} or None

    def find_faces(self, tick: Tick = silent, *, check: Check | None = None) -> None:
        """What was said of the faces by hand; with `check` also what the doctor says, who reads every picture."""
        bad = np.zeros(0, np.int64)
        if check is not None:
            diagnosis = check(self.faces, quarantined=folders.quarantine(), tick=tick)
            self._put(diagnosis=diagnosis, faces=self.faces.with_columns(diagnosis.columns))
            bad = diagnosis.bad_ids
        said = archive.faced(self.found, self.faces, self.workspace.galleries)
        self._put(
            excluded=np.union1d(said.excluded, bad),
            selection=said.selection,
            annotations=said.annotations,
            subsets=said.subsets,
            identity_edits=said.identities,
            faces=identities.applied(self.faces, said.identities),
        )
        if said.lost:
            words = "{n} picture that the file speaks of is gone.", "{n} pictures that the file speaks of are gone."
            self.changed.append(plural(said.lost, *words))

    def read_tables(self, tick: Tick = silent, *, kinds: Sequence[str] = archive.TABLES) -> None:
        """Tables of these kinds that were read for the faces."""
        for one in self.found.tables:
            if one.kind not in kinds:
                continue
            with self._or_told():
                path = self._allowed(one.place.path)
                if one.kind == "scores":
                    self._put(faces=self.faces.with_columns(tasks.import_scores(path, self.faces, tick=tick).columns))
                else:
                    self._put(protocol=tasks.read_pairs(path, self.faces))
                self._put(tables=(*self.workspace.tables, Table(path, one.kind)))

    def open_queries(self, tick: Tick = silent) -> None:
        """The faces that are searched for, where they are of another gallery."""
        if (one := self.found.queries) is None:
            return
        with self._or_told():
            path, how = self._how(one)
            options = {key: said for key, said in (how or {}).items() if key != "identity"} or None
            people = self.faces.identity.names
            self._put(queries=match_queries.read(path, people, options=options, tick=tick).faces)

    # -- models and vectors

    def permitted_models(self) -> tuple[Model, ...]:
        """The models whose files may be opened, whether they are there or not."""
        may = []
        for one in self.found.models:
            with self._or_told():
                permitted(self.found, one.place.path, trusted=self.trusted, otherwise=self.otherwise)
                may.append(one)
        return tuple(may)

    @property
    def names(self) -> tuple[str, ...]:
        """The models that have vectors, as the file says."""
        return tuple(dict.fromkeys((*self.found.stores, *self.given)))

    @cached_property
    def given(self) -> Mapping[str, Vectors]:
        """Vectors that the file brings itself, by name."""
        made: dict[str, Vectors] = {}
        for one in self.found.vectors:
            made.setdefault(escaped(one.card.name.strip()), one)
        return made

    @cached_property
    def imported(self) -> Mapping[str, tasks.Imported]:
        """Vectors that were imported for the gallery before, by name."""
        taken = tuple(one.card.name for one in self.found.models)
        kept = tasks.kept_imports(self.faces, self.root) if self.root.is_dir() else ()
        return {unique_name(escaped(one.name), taken): one for one in kept}

    def load_models(self, embed: Embed, tick: Tick = silent) -> None:
        """Models with the vectors they had, made by `embed` where they are not kept; others are not needed."""
        seen = {}
        for one in self.found.models:
            if one.card.name in self.found.stores:
                path = self._allowed(one.place.path)
                seen[one.card.name] = now = tasks.inspect_model(path, card=one.card, consents=folders.consents())
                if now.sha256 != one.sha256:
                    self.changed.append(tr("The file of {name} is another than it was.", name=escaped(one.card.name)))
        self._put(models=tuple(seen.values()))
        self.load_vectors(self.names, tick, embed=embed)
        tables = (Table(one.place.path, "vectors", one.card, one.weights) for one in self.found.vectors)
        features, stored = self.workspace.features, self.workspace.stored
        slots = {slot: name for slot in SLOTS if (name := self.found.fields.get(slot, "")) in features}
        faces = with_model_columns(self.faces, features, stored)
        self._put(faces=faces, tables=(*self.workspace.tables, *tables), **slots)

    def load_vectors(self, names: Sequence[str], tick: Tick = silent, *, embed: Embed | None = None) -> None:
        """The vectors of these models; of one that has none, as the file says, they are not missed."""
        features: dict[str, FeatureSet] = {}
        stored: dict[str, Stored] = {}
        for number, name in enumerate(names):
            with self._or_told() if name in self.names else suppress(InputError):
                features[name], stored[name] = self.vectors(name, part_of(tick, number, len(names)), embed=embed)
        self._put(features=features, stored=stored)

    def vectors(
        self, name: str, tick: Tick = silent, *, embed: Embed | None = None, lazy: bool = False
    ) -> tuple[FeatureSet, Stored]:
        """The vectors of a model: those it made, those that the file brings, or those that were imported.

        `embed` makes what is missing of the first, and the second are kept; without it nothing changes on disk. `lazy`
        as for `Store.features`. A store that the file merely names counts only where it is of this gallery.
        """
        from facelens.features.store import fingerprint

        seen = self.workspace.inspection(name)
        model = seen or next((one for one in self.found.models if one.card.name == name), None)
        if model is not None:
            key = fingerprint(self.faces, weights=model.sha256, card=model.card)
            if seen is not None and embed is not None:
                self._complete(key, seen, embed, tick)
            if (kept := self._kept(key, lazy=lazy)) is not None:
                return kept
        if (sent := self.given.get(name)) is not None:
            return self._brought(sent, keep=embed is not None)
        if (old := self.imported.get(name)) is not None and old.store is not None:
            return old.features, Stored(old.store, old.store.name, old.size, (), (old.source,))
        key = self.found.stores.get(name, "")
        if key and self._of_here(key) and (kept := self._kept(key, lazy=lazy)) is not None:
            return kept
        raise InputError(
            tr("The vectors of {name} are not on this computer any more.", name=escaped(name)),
            hint=tr("Open the workspace in the window and embed or import them again, or give --store DIR."),
        )

    def _complete(self, key: str, model: Inspection, embed: Embed, tick: Tick) -> None:
        """Make the vectors that are missing."""
        before = self.found.stores.get(model.card.name, "")
        kept_faces = self.workspace.kept_faces
        heads = tasks.heads(self.workspace.galleries), self.found.heads
        found = tasks.stored_vectors(self.faces, self.root, key, before=before, heads=heads).features
        assert kept_faces is not None
        have = np.union1d(found.ids, found.invalid) if found is not None else np.zeros(0)
        if np.isin(kept_faces.ids, have).all():
            return
        done = embed(
            kept_faces, model.path, root=self.root, card=model.card, consents=folders.consents(),
            quarantined=folders.quarantine(), tick=tick,
        )  # fmt: skip
        self.notes.append(f"{model.card.name}: {done.sentence}")
        if tasks.stored_vectors(self.faces, self.root, key).features is None:
            raise InputError(
                tr("No picture could be shown to {name}.", name=escaped(model.card.name)),
                hint=tr("Run the doctor on the gallery: facelens doctor."),
            )

    def _kept(self, key: str, *, lazy: bool) -> tuple[FeatureSet, Stored] | None:
        """What the cache has under this name."""
        from facelens.features.store import Store

        if not lazy:
            found = tasks.stored_vectors(self.faces, self.root, key)
            stored = Stored(self.root / key, key, found.size, variances=found.variances)
            return (found.features, stored) if found.features is not None else None
        try:
            return Store.open(self.root, key).features(self.faces, lazy=True), Stored(self.root / key, key, 0)
        except InputError:
            return None

    def _brought(self, sent: Vectors, *, keep: bool) -> tuple[FeatureSet, Stored]:
        """Vectors that lie beside the file."""
        from facelens.features.featureset import Provenance

        place, root = self._allowed(sent.place.path), self.root if keep else None
        given = tasks.import_vectors(place, self.faces, root=root, card=sent.card, weights=sent.weights)
        if given.store is not None:
            return given.features, Stored(given.store, given.store.name, given.size, (), (given.source,))
        source = Provenance(given.features.provenance.fingerprint, sent.card.name, sent.weights, sent.card)
        return replace(given.features, provenance=source), Stored(place, "", 0)

    def _of_here(self, key: str) -> bool:
        """Whether a store was made of the galleries that are open, or the user himself says where they are now."""
        from facelens.features.store import Store

        try:
            opened = Store.open(self.root, key).opened
        except (InputError, ValueError):  # which is what a stranger may have written
            return False
        places = {one.path for one in self.workspace.galleries}
        return self.moved is not None or (opened is not None and opened.path in places)

    # -- how one looked at it

    def plans(self) -> dict[str, Any]:
        """How one looked at it, without files that may not be opened."""
        fields = dict(self.found.fields)
        fields.pop("draft", None)  # nothing is trained here
        for name in archive.FILES:
            if name not in fields:
                continue
            files = []
            for of, file in fields[name].files:
                with self._or_told():
                    self._allowed(Path(file))
                    files.append((of, file))
            fields[name] = replace(fields[name], files=tuple(files))
        return fields

    def look(self, tick: Tick = silent) -> None:
        """How one looked at it, as far as it fits."""
        fields = {name: value for name, value in self.plans().items() if name not in (*SLOTS, "arrangement")}
        self._put(**fields, query=archive.query_of(self.found, self.workspace))
        wanted = self.found.fields.get("arrangement")
        if wanted is None:
            return
        if fitting(wanted, self.faces) != wanted and by_variance(wanted):
            self.workspace = questions.answered(self.workspace, ["uncertainty"], tick=tick)
        self._put(arrangement=fitting(wanted, self.faces))


def only_needed(found: Archive) -> Archive:
    """Without what no figure needs: marks, and how the window was laid out."""
    return replace(found, annotations={}, subsets={}, layout=archive.Layout(), unknown={}, path=Path())


def versions() -> Mapping[str, str]:
    """What a figure was made with."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from facelens import __version__

    made = {"facelens": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "torch", "matplotlib", "umap-learn", "scikit-learn"):
        try:
            made[name] = version(name)
        except PackageNotFoundError:
            pass
    return made


def problem_of(error: FaceLensError) -> str:
    """An error as one sentence."""
    return f"{error.message} {error.hint}".strip()
