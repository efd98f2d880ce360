"""Figures out of the window: drawn anew in the light theme by the worker, to files with their recipes, or copied.

A panel says what of it can be drawn (`session.depicting`), how it is looked at and what it has in hand
(`Panel.figure_view`, `figure_held`); nothing is ever grabbed from the screen.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication, QImage

from facelens.errors import FaceLensError, InputError
from facelens.session import folders
from facelens.session.jobs import Job, Request, State
from facelens.views.later import aside
from facelens.views.leaving import guise
from facelens.views.leaving import written as told
from facelens.views.panel import Desk, Panel
from facelens.views.thumbnails import image_of
from facelens.words import plural, tr

if TYPE_CHECKING:
    from facelens.figures.sheet import Paper

COPIED = 200  # dots per inch on the clipboard
_numbers = itertools.count()


class Figures:
    """What can be drawn of the pages of a window."""

    def __init__(self, desk: Desk, panel: Callable[[str], Panel]) -> None:
        self.desk, self.panel = desk, panel

    def reason(self, word: str) -> str:
        """Why nothing of a page can be drawn; "" where something can."""
        from facelens.session.depicting import DEPICTED

        row = DEPICTED.get(word)
        return row.needs(self.desk.workspace) if row is not None else tr("There is no figure of this page.")

    def request(
        self, word: str, out: Path, *, which: Sequence[str] = (), paper: Paper, recipe: bool, slot: str = "figure"
    ) -> Request:
        """What draws figures of a page as they are now; an InputError where there are none any more."""
        from facelens.session import figure_recipe
        from facelens.session.depicting import DEPICTED

        if reason := self.reason(word):
            raise InputError(reason)
        row, panel, workspace = DEPICTED[word], self.panel(word), self.desk.workspace
        view = panel.figure_view()
        given, named = row.arguments(workspace, view)
        hidden = guise(self.desk)
        recipe = recipe and not hidden.pseudonyms
        made = figure_recipe.recipe_of(workspace, word, view=view, paper=paper, blur=hidden.blur) if recipe else None
        one = [tr(row.titles[which[0]])] if len(which) == 1 else []  # its file is none of the user's in a preview
        return Request(
            title=tr("Draw {name}", name=": ".join((tr(panel.title), *one))),
            call=figure_recipe.draw,
            args=(out, word, given, {**named, **panel.figure_held()}),
            kwargs={
                "which": tuple(which) or row.names,
                "paper": paper,
                "recipe": made,
                "guise": hidden,
                "first": workspace.faces,
            },
            slot=slot,
            unit=tr("figures"),
            short=True,
        )

    def draw(
        self, word: str, out: Path, *, which: Sequence[str] = (), paper: Paper | None = None, recipe: bool = False
    ) -> None:
        """Draw figures of a page to files, all of them by default; what cannot be drawn yet is left out of several."""
        from facelens.figures.sheet import Paper

        def done(job: Job) -> None:
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)
            elif job.state is State.DONE:
                written: list[Path] = job.result  # type: ignore[assignment]
                if len(written) == 1:
                    self.desk.tell(told(self.desk, written[0]))
                else:
                    count = plural(len(written), "{n} figure", "{n} figures")
                    self.desk.tell(f"{count}. {told(self.desk, out.parent)}")

        try:
            request = self.request(word, out, which=which, paper=paper or Paper(), recipe=recipe)
        except FaceLensError as error:
            self.desk.notify(error)
            return
        self.desk.jobs.submit(request, then=done)

    def picture(
        self, word: str, name: str, *, paper: Paper, slot: str, then: Callable[[QImage | None, Job], None]
    ) -> None:
        """Draw one figure and hand it over as a picture; no file stays."""
        path = folders.cache() / f"figure {next(_numbers)}.png"

        def done(job: Job) -> None:
            if job.state is State.DONE:
                aside(self.desk.thumbnails, lambda: _taken(path), lambda image: then(image, job))
            else:
                path.unlink(missing_ok=True)
                then(None, job)

        self.desk.jobs.submit(self.request(word, path, which=(name,), paper=paper, recipe=False, slot=slot), then=done)

    def copy(self, word: str, name: str = "", *, paper: Paper | None = None) -> None:
        """Put a figure of a page on the clipboard: the one that is looked at, or the first."""
        from facelens.figures.sheet import Paper
        from facelens.session.depicting import DEPICTED

        if reason := self.reason(word):
            self.desk.tell(reason)
            return
        row = DEPICTED[word]
        name = name or self.panel(word).figure_name() or row.names[0]

        def then(image: QImage | None, job: Job) -> None:
            if image is not None:
                QGuiApplication.clipboard().setImage(image)
                self.desk.tell(tr("Copied: {title}", title=tr(row.titles[name])))
            elif job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)

        self.picture(word, name, paper=paper or Paper(dpi=COPIED), slot="figure", then=then)


def _taken(path: Path) -> QImage | None:
    """The picture in a file of ours, which goes; by Pillow, which lets the window go on meanwhile."""
    import numpy as np
    from PIL import Image

    try:
        with Image.open(path) as picture:
            image = image_of(np.asarray(picture.convert("RGB")))
            for key, text in picture.info.items():  # what is said about it beside the pixels
                if isinstance(key, str) and isinstance(text, str):
                    image.setText(key, text)
            return image
    except OSError:
        return None
    finally:
        path.unlink(missing_ok=True)
