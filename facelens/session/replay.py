"""Replay: what a workspace file says, brought back without a window, as far as figures and reports need it.

The window does the same step by step and asks where something is missing (`views/reopening.py`); here what is missing
is an error with a next step. Vectors are found in the cache, or made again with the model's file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from facelens.errors import FaceLensError, InputError
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, part_of, silent
from facelens.resources import sample_data
from facelens.session import archive, folders, identities, match_queries, questions, shelf, tasks
from facelens.session.archive import SLOTS, Archive, Place
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
    """Open what the file says. `trusted`: also places that nothing was opened at before.

    `root` is where vectors are kept; `embed` and `check` read pictures, in another process where they should.
    """
    made = _Replay(found, trusted=trusted, root=root or folders.vectors(), embed=embed, check=check)
    steps = (made.open_galleries, made.find_faces, made.read_tables, made.open_queries, made.load_models, made.look)
    for number, step in enumerate(steps):
        step(part_of(tick, number, len(steps)))
    return Replayed(made.workspace, tuple(made.changed), tuple(made.notes))


def allowed(found: Archive, path: Path, *, trusted: bool) -> Path:
    """A place that a file names: it is there, and the user has had it open, or trusts whoever made the file."""
    if not trusted and not shelf.may_open(path, found):
        words = "{path} was never opened on this computer, and lies outside the folder of the file."
        raise InputError(
            tr(words, path=escaped(str(path))),
            hint=tr("Open the workspace in the window once, or say --trust where you know who made it."),
        )
    if not path.exists():
        raise InputError(
            tr("There is nothing at {path}.", path=escaped(str(path))),
            hint=tr("Bring it back to its place, or open the workspace in the window and locate it there."),
        )
    return path


class _Replay:
    def __init__(self, found: Archive, *, trusted: bool, root: Path, embed: Embed, check: Check) -> None:
        self.found, self.trusted, self.root = found, trusted, root
        self.embed, self.check = embed, check
        self.workspace = Workspace()
        self.changed: list[str] = []
        self.notes: list[str] = []

    def _put(self, **fields: Any) -> None:
        self.workspace = replace(self.workspace, **fields)

    @property
    def faces(self) -> FaceSet:
        assert self.workspace.faces is not None
        return self.workspace.faces

    def _allowed(self, place: Place) -> Path:
        return allowed(self.found, place.path, trusted=self.trusted)

    def open_galleries(self, tick: Tick) -> None:
        if not self.found.galleries:
            raise InputError(tr("The file names no gallery."), hint=tr("Open a gallery in the window and save again."))
        faces: FaceSet | None = None
        protocol: Protocol | None = None
        opened = []
        for number, one in enumerate(self.found.galleries):
            path = self._allowed(one.place)
            if "root" in one.options:
                self._allowed(Place(Path(one.options["root"])))
            known = self.trusted or shelf.known(path)
            options = {name: said for name, said in one.options.items() if name != "links" or known}
            part = part_of(tick, number, len(self.found.galleries))
            reading = tasks.open_gallery(path, kind=one.kind or None, options=options or None, tick=part)
            self.notes += reading.notes
            opened += [reading.faces.opened] if reading.faces.opened is not None else []
            if faces is None:
                faces, protocol = reading.faces, reading.protocol
            else:
                faces = tasks.joined(faces, reading.faces)
        assert faces is not None
        first = self.found.galleries[0]
        if first.place.path == sample_data():
            faces = replace(faces, name=tr("Sample gallery"))
        if first.digest and first.digest != faces.digest:
            name = escaped(faces.name)
            self.changed.append(tr("Pictures of {name} have come, gone or been renamed since.", name=name))
        source = Source(first.place.path, faces.name, len(faces), first.kind)
        self._put(faces=faces, protocol=protocol, source=source, galleries=tuple(opened))

    def find_faces(self, tick: Tick) -> None:
        """What the doctor says of them, and what was said by hand."""
        diagnosis = self.check(self.faces, quarantined=folders.quarantine(), tick=tick)
        self._put(diagnosis=diagnosis, faces=self.faces.with_columns(diagnosis.columns))
        told = archive.faced(self.found, self.faces)
        excluded = np.union1d(told.excluded, diagnosis.bad_ids)
        self._put(
            excluded=excluded,
            selection=told.selection,
            annotations=told.annotations,
            subsets=told.subsets,
            identity_edits=told.identities,
            faces=identities.applied(self.faces, told.identities),
        )
        if told.lost:
            words = "{n} picture that the file speaks of is gone.", "{n} pictures that the file speaks of are gone."
            self.changed.append(plural(told.lost, *words))

    def read_tables(self, tick: Tick) -> None:
        for one in self.found.tables:
            path = self._allowed(one.place)
            if one.kind == "scores":
                self._put(faces=self.faces.with_columns(tasks.import_scores(path, self.faces, tick=tick).columns))
            else:
                self._put(protocol=tasks.read_pairs(path, self.faces))
            self._put(tables=(*self.workspace.tables, Table(path, one.kind)))

    def open_queries(self, tick: Tick) -> None:
        if (one := self.found.queries) is None:
            return
        options = {key: said for key, said in one.options.items() if key != "identity"}
        people = self.faces.identity.names
        self._put(
            queries=match_queries.read(self._allowed(one.place), people, options=options or None, tick=tick).faces
        )

    def load_models(self, tick: Tick) -> None:
        """Models with the vectors they had; those without vectors are not needed."""
        wanted = [one for one in self.found.models if one.card.name in self.found.stores]
        seen = {}
        for one in wanted:
            now = tasks.inspect_model(self._allowed(one.place), card=one.card, consents=folders.consents())
            if now.sha256 != one.sha256:
                self.changed.append(tr("{name} is another file than it was.", name=escaped(one.place.path.name)))
            seen[one.card.name] = now
        imported = {
            unique_name(escaped(one.name), tuple(seen)): one for one in tasks.kept_imports(self.faces, self.root)
        }
        features: dict[str, FeatureSet] = {}
        stored: dict[str, Stored] = {}
        for number, name in enumerate(self.found.stores):  # in the order they came
            part = part_of(tick, number, len(self.found.stores))
            if name in seen:
                features[name], stored[name] = self._vectors(name, seen[name], part)
            elif name in imported and (kept := imported[name]).store is not None:
                assert kept.store is not None
                features[name] = kept.features
                stored[name] = Stored(kept.store, kept.store.name, kept.size, (), (kept.source,))
            else:
                raise InputError(
                    tr("The vectors {name} are not on this computer any more.", name=escaped(name)),
                    hint=tr("Open the workspace in the window and import them again."),
                )
        for sent in self.found.vectors:
            name, place = escaped(sent.card.name.strip()), self._allowed(sent.place)
            given = tasks.import_vectors(place, self.faces, root=self.root, card=sent.card, weights=sent.weights)
            if name not in features and given.store is not None:
                features[name] = given.features
                stored[name] = Stored(given.store, given.store.name, given.size, (), (given.source,))
            self._put(tables=(*self.workspace.tables, Table(place, "vectors", sent.card, sent.weights)))
        slots = {slot: name for slot in SLOTS if (name := self.found.fields.get(slot, "")) in features}
        faces = with_model_columns(self.faces, features, stored)
        self._put(models=tuple(seen.values()), features=features, stored=stored, faces=faces, **slots)

    def _vectors(self, name: str, model: Inspection, tick: Tick) -> tuple[FeatureSet, Stored]:
        """Those that are kept; what is missing of them is made."""
        from facelens.features.store import fingerprint

        kept_faces = self.workspace.kept_faces
        assert kept_faces is not None
        key = fingerprint(self.faces, weights=model.sha256, card=model.card)
        found = tasks.stored_vectors(self.faces, self.root, key)
        have = np.union1d(found.features.ids, found.features.invalid) if found.features is not None else np.zeros(0)
        if not np.isin(kept_faces.ids, have).all():
            done = self.embed(
                kept_faces, model.path, root=self.root, card=model.card, consents=folders.consents(),
                quarantined=folders.quarantine(), tick=tick,
            )  # fmt: skip
            self.notes.append(f"{name}: {done.sentence}")
            found = tasks.stored_vectors(self.faces, self.root, key)
        if found.features is None:
            raise InputError(
                tr("No picture could be shown to {name}.", name=escaped(name)),
                hint=tr("Run the doctor on the gallery: facelens doctor."),
            )
        return found.features, Stored(self.root / key, key, found.size, variances=found.variances)

    def look(self, tick: Tick) -> None:
        """How one looked at it."""
        fields = {name: value for name, value in self.found.fields.items() if name not in (*SLOTS, "arrangement")}
        for name in archive.FILES:
            if name in fields:
                for _, file in fields[name].files:
                    self._allowed(Place(Path(file)))
        self._put(**fields, query=archive.face_of(self.workspace.query_faces, self.found.query))
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
