"""Queries of another gallery: their vectors, and who of them is in the gallery that is searched."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from facelens.images import readers
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.session import tasks
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.features.featureset import FeatureSet
    from facelens.features.patching import Model


def read(
    path: Path, people: Collection[str], *, options: Mapping[str, str] | None = None, tick: Tick = silent
) -> readers.Reading:
    """The queries at `path`, to be searched for among `people`.

    Where one person lies in several folders (clean/Ada, masked/Ada) and the gallery knows her by the last of them, that
    is her name.
    """
    reading = tasks.open_gallery(path, options=options, tick=tick)
    names = frozenset(reading.faces.identity.names)
    last = {name.rpartition("/")[2] for name in names}
    found = readers.recognise(path)
    if names & set(people) or not last & set(people) or found is None or found.kind != "folders":
        return reading
    return tasks.open_gallery(path, kind="folders", options={**(options or {}), "identity": "name"}, tick=tick)


def first(faces: FaceSet, queries: FaceSet) -> int:
    """The query to begin with: the first one of somebody in the gallery, if there is any."""
    known = frozenset(faces.identity.names)
    here = np.array([name in known for name in queries.identity.names] + [False])
    return int(queries.ids[int(np.argmax(here[queries.identity.codes]))])


def embed(
    queries: FaceSet, model: Model, *, root: Path, quarantined: Path | None = None, tick: Tick = silent
) -> FeatureSet:
    """The vectors of the queries, kept as those of any gallery; arguments as for `tasks.embed_gallery`."""
    given = {"card": model.card, "consents": model.consents, "quarantined": quarantined}
    done = tasks.embed_gallery(queries, model.path, root=root, **given, tick=tick)  # type: ignore[arg-type]
    return done.features(queries)


def person(faces: FaceSet, queries: FaceSet | None, query: int | None) -> int:
    """Who a query is among the identities of the gallery; -1: nobody there."""
    home = faces if queries is None else queries
    row = home.row_of(query)
    if row is None or queries is None:
        return -1 if row is None else int(faces.identity.codes[row])
    name = queries.identity.name(row)
    return faces.identity.names.index(name) if name and name in faces.identity.names else -1


def told(faces: FaceSet, queries: FaceSet) -> str:
    """Whether right and wrong can be told, and of whom; "" where that is everybody."""
    names = np.array(queries.identity.names, object)[np.unique(queries.identity.codes[queries.identity.codes >= 0])]
    here = set(faces.identity.names)
    both = sum(name in here for name in names.tolist())
    given = {"queries": escaped(queries.name), "gallery": escaped(faces.name)}
    if not len(names):
        return tr("The faces of {queries} have no names, so right and wrong cannot be told.", **given)
    if not both:
        return tr("No name of {queries} is in {gallery}, so right and wrong cannot be told.", **given)
    if both == len(names):
        return ""
    return tr(
        "Names of {queries} that are in {gallery} too: {both} of {n}. Of the others right and wrong cannot be told.",
        both=both,
        n=len(names),
        **given,
    )
