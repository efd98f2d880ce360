"""The recipe of a figure, NAME.recipe.json beside it: what it shows, of which data and models, made with what.

`facelens render` redraws the figure from it without a display. The workspace in it is as in a workspace file (see
`archive`), so the same rules hold: places relative to the recipe's folder where they lie inside it, faces by their path
inside the gallery, never a picture or a vector, everything checked when it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from facelens.analyses.plan import VARIANCE
from facelens.errors import FaceLensError, InputError
from facelens.figures.sheet import FORMATS, Paper
from facelens.files import atomic_write
from facelens.images.disguise import Guise
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.session import archive
from facelens.session.archive import Archive, Document
from facelens.session.depicting import DEPICTED, ON_MAP, View, rows_of
from facelens.session.listing import KINDS
from facelens.session.mark_columns import FLAG, NOTE, RATING, SUBSET, TAG, called
from facelens.session.outgoing import outgoing
from facelens.session.plain import Misfit, as_plain, from_plain, number, shown, text
from facelens.session.questions import QUESTIONS
from facelens.session.replay import only_needed, versions
from facelens.session.workspace import Workspace
from facelens.words import escaped, tr

SUFFIX = ".recipe.json"
MARK = "figure"
SCHEMA = 1
WIDTHS = (0.2, 200.0)  # inches
DPIS = (20, 2400)
SHEET = 400  # faces of a contact sheet that are named


@dataclass(frozen=True)
class Recipe:
    """One figure."""

    panel: str
    name: str  # among the figures of the panel
    view: View = field(default_factory=View)
    paper: Paper = field(default_factory=Paper)
    format: str = "png"
    blur: bool = False  # who is shown cannot be recognised; under pseudonyms there is no recipe, it names pictures
    before: tuple[str, ...] = ()  # of questions.QUESTIONS: what was answered before and gave the faces a column
    workspace: Archive = field(default_factory=Archive)
    versions: Mapping[str, str] = field(default_factory=dict)  # what it was made with


def recipe_of(
    workspace: Workspace, panel: str, *, view: View | None = None, paper: Paper | None = None, blur: bool = False
) -> Recipe:
    """The recipe of a panel's figures as they are now; `name` and `format` are set for each file."""
    whole, view = archive.taken(workspace), view or View()
    found = only_needed(whole)
    if panel == "gallery" and workspace.faces is not None:  # its very faces: by then a filter may see others
        rows = rows_of(workspace)
        names = archive.names_of(workspace.faces, workspace.faces.ids[rows[:SHEET]])
        found = replace(found, selected=names, **_marks(whole, workspace, frozenset(names)))
        view = replace(view, total=len(rows))
    before = ("uncertainty",) if workspace.faces is not None and VARIANCE in workspace.faces.columns else ()
    return Recipe(
        panel, DEPICTED[panel].names[0], view, paper or Paper(), blur=blur, before=before,
        workspace=found, versions=versions(),
    )  # fmt: skip


def _marks(whole: Archive, workspace: Workspace, names: frozenset[str]) -> dict[str, Any]:
    """Of what was said about these faces by hand, the kinds that the gallery is arranged by."""
    assert workspace.faces is not None
    arrangement, known = workspace.arrangement, called(workspace.faces)
    text = arrangement.filter.casefold().replace("_", " ")

    def needed(kind: str) -> bool:
        return known[kind] in (arrangement.sort, arrangement.group) or known[kind] in text

    said = {}
    for kind, key in ((FLAG, "flags"), (RATING, "ratings"), (NOTE, "notes")):
        if needed(kind):
            said[key] = {name: one for name, one in whole.annotations.get(key, {}).items() if name in names}
    of_tags = whole.annotations.get("tags", {}) if needed(TAG) else {}
    of_sets = whole.subsets if needed(SUBSET) else {}
    tags, sets = ({key: [one for one in some if one in names] for key, some in of.items()} for of in (of_tags, of_sets))
    return {"annotations": said | ({"tags": tags} if tags else {}), "subsets": sets}


def draw(
    out: Path,
    panel: str,
    given: tuple[Any, ...],
    named: Mapping[str, Any],
    *,
    which: Sequence[str],
    paper: Paper,
    recipe: Recipe | None = None,
    guise: Guise | None = None,
    first: FaceSet | None = None,
    tick: Tick = silent,
) -> list[Path]:
    """Draw figures of a panel with what `depicting` gathered for them, and write the recipe of each beside it.

    `guise` says what is to be hidden, `first` is the gallery whose people are numbered first.
    """
    given, named = outgoing(guise or Guise(), given, dict(named), first=first)
    written = DEPICTED[panel].draw(out, *given, **named, which=tuple(which), paper=paper, tick=tick)
    for path in written if recipe is not None else ():
        name = which[0] if len(which) == 1 else path.stem.removeprefix(f"{out.stem} ")
        assert recipe is not None
        write(replace(recipe, name=name, paper=paper, format=out.suffix.lower().lstrip(".")), beside(path))
    return written


def beside(figure: Path) -> Path:
    """Where the recipe of a figure lies."""
    return figure.with_name(figure.name + SUFFIX)


def write(recipe: Recipe, path: Path) -> None:
    """Write it, whole or not at all."""
    path = Path(os.path.realpath(path))
    found = {
        "facelens": MARK,
        "schema": SCHEMA,
        "figure": {
            "panel": recipe.panel,
            "name": recipe.name,
            "format": recipe.format,
            "width": recipe.paper.width,
            "dpi": recipe.paper.dpi,
            "blur": recipe.blur,
            "view": as_plain(_told(recipe.view, path.parent)),
            "before": list(recipe.before),
        },
        "versions": dict(recipe.versions),
        "workspace": archive.document(recipe.workspace, path.parent),
    }
    with atomic_write(path) as file:
        file.write(json.dumps(found, indent=1, allow_nan=False).encode("ascii"))


def read(path: Path) -> Recipe:
    """What a recipe says; a file that is none, or says what cannot be, is an InputError."""
    path = Path(os.path.abspath(path))
    raw = archive.read_bytes(path)
    try:
        return _checked(archive.parsed(raw), path)
    except Misfit as problem:
        raise _refused(path, str(problem)) from None
    except FaceLensError as problem:  # of a model card
        raise _refused(path, problem.message) from None


def _refused(path: Path, why: str) -> InputError:
    message = tr("{name} is no recipe of a figure.", name=escaped(path.name))
    hint = tr("Recipes end in {suffix} and lie beside the figures that FaceLens has drawn.", suffix=SUFFIX)
    return InputError(message, hint=hint, details=escaped(why))


def _checked(found: Document, path: Path) -> Recipe:
    if found.get("facelens") != MARK:
        raise Misfit("it is no recipe of FaceLens")
    if number(found.get("schema"), "schema", 1, 10**6, whole=True) > SCHEMA:
        raise Misfit("a newer FaceLens has made it")
    said = _object(found.get("figure"), "figure")
    panel = _one(DEPICTED, said.get("panel"), "figure.panel")
    width = said.get("width")
    return Recipe(
        panel=panel,
        name=_one(DEPICTED[panel].titles, said.get("name"), "figure.name"),
        view=_placed(_view(said.get("view", {})), path.parent),
        paper=Paper(
            None if width is None else number(width, "figure.width", *WIDTHS, whole=False),
            number(said.get("dpi", Paper().dpi), "figure.dpi", *DPIS, whole=True),
        ),
        format=_one(dict.fromkeys(FORMATS), said.get("format", "png"), "figure.format"),
        blur=_flag(said.get("blur", False), "figure.blur"),
        before=_questions(said.get("before", [])),
        workspace=archive.checked(_object(found.get("workspace"), "workspace"), path),
        versions={
            text(key, "versions", longest=64): text(value, "versions", longest=64)
            for key, value in _object(found.get("versions", {}), "versions").items()
        },
    )


def _view(found: object) -> View:
    view = from_plain(View, found, "figure.view")
    if view.side not in ("a", "b"):
        raise Misfit(f"figure.view.side is {shown(view.side)}")
    if view.patch is not None and view.patch[0] not in ("query", "gallery"):
        raise Misfit(f"figure.view.patch is {shown(view.patch[0])}")
    from facelens.analyses.jury import WHICH
    from facelens.features import saliency

    known: dict[str, tuple[str, ...]] = {
        "asked": ("", "a", "b"),
        "pairs": WHICH,
        "cells": ("flow", "cost", "distance"),
        "on_map": ON_MAP,
        "scale": ("", "linear", "log"),
    }
    for name, values in known.items():
        if getattr(view, name) not in values:
            raise Misfit(f"figure.view.{name} is {shown(getattr(view, name))}")
    if view.tapped is not None:
        if view.tapped.of not in ("face", "template"):
            raise Misfit(f"figure.view.tapped.of is {shown(view.tapped.of)}")
        if strange := [line.kind for line in view.tapped.lines if line.kind not in KINDS]:
            raise Misfit(f"figure.view.tapped has {shown(strange[0])}")
    if any(kind not in saliency.KINDS for kind in view.heat):
        raise Misfit(f"figure.view.heat is {shown(list(view.heat))}")
    if len(view.forms) not in (0, 2):
        raise Misfit("figure.view.forms are no model and a file")
    if len(view.tested) not in (0, 3):
        raise Misfit("figure.view.tested is no test")
    if len(view.pair) not in (0, 2):
        raise Misfit("figure.view.pair are not two faces")
    if min(view.k, view.limit) < 1:
        raise Misfit(f"figure.view.k is {shown(view.k)}, limit {shown(view.limit)}")
    if not 0 <= view.cut <= 1:
        raise Misfit(f"figure.view.cut is {shown(view.cut)}")
    return view


def _placed(view: View, folder: Path) -> View:
    return _moved(view, lambda place: os.path.normpath(folder / place))


def _told(view: View, folder: Path) -> View:
    """Places as a recipe in a folder says them: relative where they lie inside."""

    def told(place: str) -> str:
        return Path(place).relative_to(folder).as_posix() if Path(place).is_relative_to(folder) else place

    return _moved(view, told)


def _moved(view: View, put: Callable[[str], str]) -> View:
    """The view with its places, a training's folder and a model's file, put elsewhere."""
    run, forms = view.run and put(view.run), view.forms
    return replace(view, run=run, forms=(forms[0], put(forms[1])) if forms else ())


def _object(found: object, where: str) -> Document:
    if not isinstance(found, dict):
        raise Misfit(f"{where} is {shown(found)}, not an object")
    return found


def _one(known: Mapping[str, Any], found: object, where: str) -> str:
    if text(found, where, longest=64) not in known:
        raise Misfit(f"{where} is {shown(found)}, not one of {', '.join(known)}")
    return str(found)


def _questions(found: object) -> tuple[str, ...]:
    if not isinstance(found, list) or len(found) > len(QUESTIONS):
        raise Misfit(f"figure.before is {shown(found)}")
    return tuple(_one(QUESTIONS, one, "figure.before") for one in found)


def _flag(found: object, where: str) -> bool:
    if not isinstance(found, bool):
        raise Misfit(f"{where} is {shown(found)}, not true or false")
    return found
