"""A workspace file without a window: its faces with what was said about them, and the vectors of one of its models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from facelens.analyses.plan import ProjectionPlan
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.features.store import Store
from facelens.images import quality
from facelens.images.faceset import FaceSet, Ids
from facelens.progress import Tick, silent
from facelens.session import archive, identities, shelf
from facelens.session.mark_columns import spoken
from facelens.session.settings import Settings
from facelens.session.tasks import joined, open_gallery
from facelens.words import escaped, plural, tr


@dataclass(frozen=True, eq=False)
class Saved:
    """What a file says, as far as an export needs it."""

    faces: FaceSet  # with flags, ratings, tags, notes and subsets as columns
    features: FeatureSet
    excluded: Ids
    plan: ProjectionPlan  # of the map that was looked at
    notes: tuple[str, ...] = ()


def opened(path: Path, *, cache: Path, model: str = "", gallery: Path | None = None, tick: Tick = silent) -> Saved:
    """Open the galleries of a workspace file, or `gallery` where they have moved, and the vectors of a model.

    Without a name it is the model that was looked at. Places outside the file's folder are followed only where the
    user has had them open here, as in the window.
    """
    found = archive.read(path)
    faces = _faces(found, gallery, tick=tick)
    name = _model(found, model)
    try:
        features = Store.open(cache, found.stores[name]).features(faces, lazy=True)
    except InputError as error:
        raise InputError(
            tr("The vectors of {name} are not in the cache any more.", name=escaped(name)),
            hint=tr("Open the workspace and embed the gallery again, or give --store DIR."),
            details=error.message,
        ) from error
    recent = _recent()
    for one in found.tables:
        if one.kind == "scores" and shelf.may_open(one.place.path, found, recent) and one.place.path.exists():
            faces = quality.joined(faces, quality.read(one.place.path, tick=tick))[0]
    said = archive.faced(found, faces, tick=tick)
    faces = identities.applied(faces, said.identities)
    notes = []
    if said.lost:
        one_lost = "{n} picture that the workspace speaks of is not in its gallery."
        notes.append(plural(said.lost, one_lost, "{n} pictures that the workspace speaks of are not in its gallery."))
    marked = faces.with_columns(spoken(faces, said.annotations, said.subsets))
    return Saved(marked, features, said.excluded, found.fields.get("projection_plan", ProjectionPlan()), tuple(notes))


def _faces(found: archive.Archive, gallery: Path | None, *, tick: Tick) -> FaceSet:
    if gallery is not None:
        return open_gallery(gallery, tick=tick).faces
    if not found.galleries:
        raise InputError(tr("{name} has no gallery.", name=escaped(found.path.name)))
    recent, faces = _recent(), None
    for one in found.galleries:
        path = one.place.path
        places = (path, *((Path(one.options["root"]),) if "root" in one.options else ()))
        if not all(shelf.may_open(place, found, recent) for place in places):
            raise InputError(
                tr("{path} lies outside the folder of the workspace.", path=escaped(str(path))),
                hint=tr("Nothing there was opened here before. Open the workspace once, or give --gallery PATH."),
            )
        if not path.exists():
            raise InputError(
                tr("The gallery of this workspace is not at {path} any more.", path=escaped(str(path))),
                hint=tr("Say where it is now: --gallery PATH."),
            )
        options = {key: said for key, said in one.options.items() if key != "links" or shelf.known(path)}
        opened_one = open_gallery(path, kind=one.kind or None, options=options or None, tick=tick).faces
        faces = opened_one if faces is None else joined(faces, opened_one)
    assert faces is not None
    return faces


def _model(found: archive.Archive, wanted: str) -> str:
    names = tuple(found.stores)
    usual = found.fields.get("model", "")
    name = wanted or (usual if usual in names else names[0] if len(names) == 1 else "")
    if name in names:
        return name
    if not names:
        raise InputError(
            tr("No model of {name} has vectors.", name=escaped(found.path.name)),
            hint=tr("Open it, embed its gallery, and save it."),
        )
    listed = ", ".join(escaped(one) for one in names)
    message = tr("There is no model {name}.", name=escaped(name)) if name else tr("There are several models.")
    raise InputError(message, hint=tr("Choose one with --model: {names}.", names=listed))


def _recent() -> tuple[str, ...]:
    return tuple(one.path for one in Settings.load().recent)
