"""Gathering: what a workspace file says, opened without a window, as far as it may be.

The same rule as in the window: a place outside the file's folder is followed only where this user has had it open
before (`shelf.may_open`), for a file may come from a stranger. Vectors are those that the cache has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from facelens.errors import FaceLensError, InputError
from facelens.features import store
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images import readers
from facelens.images.faceset import FaceSet
from facelens.images.protocol import Protocol
from facelens.progress import Tick, silent
from facelens.session import archive, identities, match_queries, shelf, tasks
from facelens.session.archive import Archive, Gallery, Table, Vectors
from facelens.session.collecting import Collection
from facelens.words import escaped, plural, tr


@dataclass(frozen=True, eq=False)
class Gathered:
    """What there is to collect, and sentences about what could not be opened."""

    collection: Collection
    notes: tuple[str, ...] = ()


def gather(path: Path, *, cache: Path, recent: Iterable[str] = (), tick: Tick = silent) -> Gathered:
    """Open what a workspace file says; its gallery has to be there, of the rest what is not is told.

    `cache` is where vectors are kept, `recent` are galleries that the user has had open.
    """
    found = archive.read(path)
    work = _Gathering(found, frozenset(recent), cache, tick)
    faces, protocol = work.gallery()
    faces, protocol = work.tables(faces, protocol)
    queries = work.queries(faces)
    features = work.features(faces)
    told = archive.faced(found, faces)
    faces = identities.applied(faces, told.identities)
    if told.lost:
        said = plural(told.lost, "{n} mark or selection", "{n} marks and selections")
        work.notes.append(tr("{said} of pictures that are not in the gallery.", said=said))
    fields = {**found.fields}
    for name in archive.FILES:
        if name in fields:
            files = tuple((of, file) for of, file in fields[name].files if work.may(Path(file)))
            fields[name] = replace(fields[name], files=files)
    return Gathered(
        Collection(
            faces,
            protocol,
            queries,
            features,
            tuple(one for one in found.models if work.may(one.place.path)),
            fields,
            np.asarray(told.excluded, np.int64),
            told.selection,
            archive.face_of(queries if queries is not None else faces, found.query),
            told.annotations,
            told.subsets,
            found.layout.page,
        ),
        tuple(work.notes),
    )


class _Gathering:
    """One file that is being opened."""

    def __init__(self, found: Archive, recent: frozenset[str], cache: Path, tick: Tick) -> None:
        self.found, self.recent, self.cache, self.tick = found, recent, cache, tick
        self.notes: list[str] = []

    def may(self, path: Path) -> bool:
        return shelf.may_open(path, self.found, self.recent)

    def _refuse(self, path: Path) -> InputError:
        if not self.may(path):  # not even looked at
            return InputError(
                tr("{path} lies outside the folder of the workspace, and nothing there was opened here before.",
                   path=escaped(str(path))),
                hint=tr("Open the workspace in the window first and say where it is."),
            )  # fmt: skip
        return InputError(
            tr("There is nothing at {path}.", path=escaped(str(path))),
            hint=tr("Open the workspace in the window and say where it is now."),
        )

    def _check(self, one: Gallery | Table | Vectors) -> None:
        """Refuse what may not be opened, or is not there."""
        root = one.options.get("root") if isinstance(one, Gallery) else None
        for path in (one.place.path, *([Path(root)] if root else [])):
            if not self.may(path) or not path.exists():
                raise self._refuse(path)

    def _open(self, one: Gallery) -> readers.Reading:
        self._check(one)
        options = {name: said for name, said in one.options.items() if name != "links" or shelf.known(one.place.path)}
        return tasks.open_gallery(one.place.path, kind=one.kind or None, options=options or None, tick=self.tick)

    def gallery(self) -> tuple[FaceSet, Protocol | None]:
        """The galleries of the file, joined as they were."""
        if not self.found.galleries:
            raise InputError(
                tr("{name} has no gallery.", name=escaped(self.found.path.name)),
                hint=tr("Open one in the window, then save the workspace."),
            )
        first, *others = self.found.galleries
        reading = self._open(first)
        faces = reading.faces
        for one in others:
            faces = tasks.joined(faces, self._open(one).faces)
        return faces, reading.protocol

    def tables(self, faces: FaceSet, protocol: Protocol | None) -> tuple[FaceSet, Protocol | None]:
        """Scores and pairs that were read for them."""
        for one in self.found.tables:
            try:
                self._check(one)
                if one.kind == "scores":
                    faces = faces.with_columns(tasks.import_scores(one.place.path, faces).columns)
                else:
                    protocol = tasks.read_pairs(one.place.path, faces)
            except FaceLensError as error:
                self.notes.append(error.message)
        return faces, protocol

    def queries(self, faces: FaceSet) -> FaceSet | None:
        """The faces that are searched for, where they are of another gallery."""
        one = self.found.queries
        if one is None:
            return None
        try:
            self._check(one)
            options = {key: said for key, said in one.options.items() if key != "identity"}
            return match_queries.read(one.place.path, faces.identity.names, options=options or None).faces
        except FaceLensError as error:
            self.notes.append(error.message)
            return None

    def features(self, faces: FaceSet) -> Mapping[str, FeatureSet]:
        """Vectors that lie beside the file, or in the cache for this gallery; never those that a file merely names."""
        made: dict[str, FeatureSet] = {}
        for model in self.found.models:
            key = store.fingerprint(faces, weights=model.sha256, card=model.card)
            try:
                features = store.Store.open(self.cache, key).features(faces)
            except InputError:
                continue
            if len(features):
                made[model.card.name] = features
        for one in self.found.vectors:
            try:
                self._check(one)
                imported = tasks.import_vectors(one.place.path, faces, card=one.card, weights=one.weights)
            except FaceLensError as error:
                self.notes.append(error.message)
                continue
            source = Provenance(imported.features.provenance.fingerprint, one.card.name, one.weights, one.card)
            made.setdefault(one.card.name, replace(imported.features, provenance=source))
        for kept in tasks.kept_imports(faces, self.cache) if self.cache.is_dir() else ():
            made.setdefault(kept.name, kept.features)
        return made
