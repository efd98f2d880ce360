"""Leaving: the one door through which everything goes that is exported from the window.

Where the user wants pseudonyms or blurred faces, a job that writes is given all it writes in disguise. The disguise is
put on where the job runs: a million names take a while.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from facelens.images.disguise import GALLERY, Guise
from facelens.session.jobs import Request
from facelens.session.outgoing import carried
from facelens.views.panel import Desk
from facelens.words import escaped, tr


def guise(desk: Desk) -> Guise:
    """What the user wants to be hidden."""
    return Guise(desk.settings.pseudonyms, desk.settings.blur)


def leaving(desk: Desk, request: Request) -> Request:
    """The same work with what it is given in disguise."""
    hidden = guise(desk)
    if not hidden:
        return request
    given = request.call, request.args, dict(request.kwargs)
    return replace(request, call=carried, args=(hidden, desk.workspace.faces, *given), kwargs={})


def stem(desk: Desk) -> str:
    """What a file about the open gallery is called."""
    faces = desk.workspace.faces
    return GALLERY if desk.settings.pseudonyms or faces is None else faces.name


def written(desk: Desk, path: Path) -> str:
    """That a file is there, and in what disguise: who has forgotten the switches sees it here."""
    return tr("Written to {path}", path=escaped(str(path))) + hidden_words(guise(desk))


def hidden_words(hidden: Guise) -> str:
    """In what disguise something is, to go on a sentence with; "" where it is in none."""
    words = {
        (False, False): "",
        (True, False): tr(", with pseudonyms"),
        (False, True): tr(", with blurred faces"),
        (True, True): tr(", with pseudonyms and blurred faces"),
    }
    return words[hidden.pseudonyms, hidden.blur]
