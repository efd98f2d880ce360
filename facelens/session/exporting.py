"""Faces and vectors to other programs: which there are, what is worked out for them, and how they open what is written.

What each file holds is in `features/exports`. Nearest faces are looked for in the space of the vectors; a map is taken
where one is known.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.errors import InputError
from facelens.progress import Tick, part_of, silent
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:  # the command line knows of this file before anything is asked for
    from facelens.analyses.plan import ProjectionPlan
    from facelens.analyses.projection import Projection
    from facelens.features.exports import Outgoing
    from facelens.features.featureset import FeatureSet
    from facelens.images.faceset import FaceSet, Ids

TARGETS = {"npz": ".npz", "parquet": ".parquet", "tensorboard": "", "fiftyone": ""}  # the ending; "" for a folder
NEAREST = 15  # faces that are named as nearest to each
THUMBNAIL = 96  # pixels


@dataclass(frozen=True, eq=False)
class Exportable:
    """What there is to export: faces with all that is said about them, and the vectors of one model."""

    faces: FaceSet
    features: FeatureSet
    excluded: Ids
    plan: ProjectionPlan  # of the map that was looked at
    notes: tuple[str, ...] = ()


def of_file(
    path: Path,
    *,
    root: Path,
    model: str = "",
    gallery: Path | None = None,
    trusted: bool = False,
    tick: Tick = silent,
) -> Exportable:
    """What a workspace file says: flags, ratings, tags, notes and subsets are columns of its faces.

    Without `model` it is the one that was looked at; `gallery` is where the pictures are now, if they have moved, and
    `root` where vectors are kept.
    """
    from facelens.analyses.plan import ProjectionPlan
    from facelens.session import archive
    from facelens.session.mark_columns import spoken
    from facelens.session.replay import Replay

    found = archive.read(path)
    here = tr("Where the pictures have moved, give --gallery PATH.")
    made = Replay(found, trusted=trusted, missing="tell", root=root, gallery=gallery, otherwise=here)
    name = _model(found.path.name, made.names, model, found.fields.get("model", ""))
    made.open_galleries(tick)
    features, _ = made.vectors(name, lazy=True)
    made.find_faces()
    made.read_tables(kinds=("scores",))
    faces, now = made.faces, made.workspace
    marked = faces.with_columns(spoken(faces, now.annotations, now.subsets))
    plan = found.fields.get("projection_plan", ProjectionPlan())
    return Exportable(marked, features, now.excluded, plan, made.told)


def _model(file: str, names: tuple[str, ...], wanted: str, usual: str) -> str:
    """The model that is meant."""
    name = wanted or (usual if usual in names else names[0] if len(names) == 1 else "")
    if name in names:
        return name
    if not names:
        raise InputError(
            tr("No model of {name} has vectors.", name=escaped(file)),
            hint=tr("Open it, embed its gallery, and save it."),
        )
    listed = ", ".join(escaped(one) for one in names)
    message = tr("There is no model {name}.", name=escaped(name)) if name else tr("There are several models.")
    raise InputError(message, hint=tr("Choose one with --model: {names}.", names=listed))


@dataclass(frozen=True)
class Exported:
    """What was written."""

    path: Path
    target: str
    faces: int
    left_out: int
    notes: tuple[str, ...] = ()
    command: str = ""  # opens it; "" where that goes without saying

    @property
    def program(self) -> str:
        """Who opens it by that command."""
        return {"parquet": "Embedding Atlas", "tensorboard": "TensorBoard"}.get(self.target, "")

    def sentence(self, path: str = "") -> str:
        """What is in it, which may be called otherwise than by its whole path."""
        counted = plural(self.faces, "{n} face", "{n} faces")
        said = tr("{faces} written to {path}", faces=counted, path=escaped(path or str(self.path)))
        if self.left_out:
            said += plural(self.left_out, "; {n} is left out", "; {n} are left out")
        return said + "."


def target_of(out: Path, said: str = "") -> str:
    """What is meant by a path: by its ending, where nothing is said."""
    ending = out.suffix.lower()
    target = said or {".npz": "npz", ".parquet": "parquet", "": "tensorboard"}.get(ending, "")
    if target not in TARGETS:
        raise InputError(
            tr("Vectors cannot be written as {suffix}.", suffix=escaped(ending)),
            hint=tr("Use NAME.npz, NAME.parquet, or a folder without an ending for TensorBoard or FiftyOne."),
        )
    if TARGETS[target] and ending != TARGETS[target]:
        raise InputError(
            tr("{name} is no {kind} file.", name=escaped(out.name), kind=target),
            hint=tr("Name it NAME{ending}.", ending=TARGETS[target]),
        )
    return target


def export(
    features: FeatureSet,
    faces: FaceSet,
    out: Path,
    *,
    target: str = "",
    projection: Projection | None = None,
    excluded: Ids | None = None,
    nearest: int = 0,
    thumbnails: int = 0,
    tick: Tick = silent,
) -> Exported:
    """Write faces with a usable vector for another program, one of TARGETS; without one the ending of `out` tells.

    `nearest` faces of each and `thumbnails` of so many pixels go into a Parquet table, the points of a map everywhere.
    """
    from facelens.features.exports import Outgoing, fiftyone, npz, parquet, tensorboard

    out, target = Path(out), target_of(Path(out), target)
    going = Outgoing.of(features, faces, without=excluded, unusable=target == "npz")
    if projection is not None:
        going = _on_map(going, projection)
    if target == "npz":
        npz.write(out, going, tick=tick)
    elif target == "parquet":
        if nearest:
            going = _with_nearest(going, nearest, tick=part_of(tick, 0, 2))
            tick = part_of(tick, 1, 2)
        parquet.write(out, going, thumbnails=thumbnails, tick=tick)
    else:
        _make(out)
        if target == "tensorboard":
            tensorboard.write(out, going, tick=tick)
        else:
            going = fiftyone.write(out, going, tick=tick)
    return Exported(
        out, target, len(going), going.left_out, _notes(going, target), _command(out, target, going, thumbnails)
    )


def map_of(projection: Projection | None, model: str) -> Projection | None:
    """The map, as far as it is one of this model and finished."""
    if projection is None or not projection.final:
        return None
    if projection.plan.model == model:
        return projection
    if projection.plan.other == model and projection.other is not None:
        return replace(projection, points=projection.other)
    return None


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = tr("The folder {path} cannot be made: {why}.", path=escaped(str(folder)), why=error.strerror)
        raise InputError(message, hint=tr("Choose another place.")) from error


def _on_map(going: Outgoing, projection: Projection) -> Outgoing:
    import numpy as np

    from facelens.figures.projection_words import sentence

    points = np.full((len(going), 2), np.nan, np.float32)
    order = np.argsort(projection.ids)
    at = order[np.minimum(np.searchsorted(projection.ids, going.ids, sorter=order), len(order) - 1)]
    there = projection.ids[at] == going.ids if len(order) else np.zeros(len(going), bool)
    points[there] = projection.points[at[there]]
    return replace(going, points=points, said={**going.said, "map": sentence(projection)})


def _with_nearest(going: Outgoing, k: int, *, tick: Tick) -> Outgoing:
    import numpy as np

    from facelens.analyses import layouts
    from facelens.analyses.nearest import EXACT, every
    from facelens.features.exports import Near

    k = min(k, max(0, len(going) - 1))
    places, cosine = every(going.features, going.ids, k=k, tick=tick)
    exact = len(going) <= EXACT or going.features.dimensions <= layouts.REDUCED
    how = (
        "cosine distance in the space of the vectors, exact"
        if exact
        else f"cosine distance in the space of the vectors, searched by {layouts.REDUCED} principal components"
    )
    near = Near(places, np.clip(1 - cosine, 0, 2).astype(np.float32), how)
    return replace(going, near=near, said={**going.said, "neighbors": how})


def _notes(going: Outgoing, target: str) -> tuple[str, ...]:
    from facelens.features.exports.tensorboard import LIMIT

    if target == "tensorboard" and len(going) > LIMIT:
        return (tr("TensorBoard shows the first {n} of them.", n=LIMIT),)
    if target == "fiftyone":
        return (tr("README.txt in it has the lines of Python that open it in FiftyOne."),)
    return ()


def _command(out: Path, target: str, going: Outgoing, thumbnails: int) -> str:
    """What opens it, as it is typed."""
    path = shlex.quote(str(out))
    if target == "tensorboard":
        return f"tensorboard --logdir {path}"
    if target != "parquet":
        return ""
    words = ["embedding-atlas", path]
    words += ["--x projection_x --y projection_y"] if going.points is not None else ["--vector embedding"]
    words += ["--neighbors neighbors"] if going.near is not None else []
    words += ["--image image"] if thumbnails else []
    return " ".join(words)
