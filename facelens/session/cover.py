"""Cover: a whole workspace in disguise, as a report speaks of it.

Everything is asked of the workspace as it is, so nothing is worked out again and figures look at what they need; what
is said and drawn is then told by one disguise (`outgoing.Told`). Answers are put to the questions of the workspace
under cover, so that the functions that speak of it find them there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from facelens.errors import FaceLensError
from facelens.images.disguise import Guise
from facelens.session import depicting
from facelens.session.annotations import Annotations
from facelens.session.filters import FilterError
from facelens.session.history import History
from facelens.session.identities import IdentityEdits
from facelens.session.outgoing import Told
from facelens.session.questions import QUESTIONS
from facelens.session.replay import problem_of
from facelens.session.subsets import Subsets
from facelens.session.workspace import Arrangement, Table, Workspace
from facelens.words import tr

# Fields of the workspace that are told in disguise, but for answers.
TOLD = (
    "faces", "protocol", "diagnosis", "models", "features", "queries", "plan", "ensemble", "parts_plan",
    "learners_plan", "projection_plan", "match_plan", "upgrade_plan", "occlusion",
)  # fmt: skip
# What each of QUESTIONS is answered by now.
FOUND: Mapping[str, Callable[[Workspace], Any]] = {
    "evaluation": lambda now: now.evaluation,
    "uncertainty": lambda now: now.uncertainty,
    "parts": lambda now: now.parts,
    "study": lambda now: now.study,
    "learners": lambda now: now.learners,
    "projection": lambda now: now.projection,
    "query vectors": lambda now: now.queries_features,
    "match": depicting.found_of,
    "sweep": depicting.sweep_of,
    "upgrade": lambda now: now.upgrade,
    "upgrade map": lambda now: now.upgrade_map,
}


class Cover:
    """The disguise of one report; without a guise everything stays as it is."""

    def __init__(self, guise: Guise, workspace: Workspace) -> None:
        self.guise = guise
        known = workspace.faces, workspace.queries, workspace.protocol, workspace.plan
        self._told = Told(guise, *known) if guise else None
        if self._told is not None:
            for one in workspace.models:  # errors may speak of them
                for word in (str(one.path), str(one.path.absolute()), one.path.name):
                    self._told.disguise.also(word, one.card.name)

    def of(self, value: Any) -> Any:
        """Something in disguise."""
        return value if self._told is None else self._told.of(value)

    def lines(self, said: Sequence[str]) -> tuple[str, ...]:
        """Sentences as they may be told."""
        return tuple(said) if self._told is None else tuple(map(self._told.disguise.sentence, said))

    def why(self, error: FaceLensError) -> str:
        """An error as it may be told: words of a filter, and places on this computer, may not."""
        said = self.lines([problem_of(error)])[0]
        if self.guise.pseudonyms and (isinstance(error, FilterError) or "/" in said or "\\" in said):
            return tr("This could not be worked out. Why is told without pseudonyms, for it quotes names or places.")
        return said

    def workspace(self, now: Workspace) -> Workspace:
        """The workspace in disguise, with the answers that it has."""
        if self._told is None:
            return now
        hidden = replace(now, **{name: self._told.of(getattr(now, name)) for name in TOLD}, **self._left_out(now))
        for name, asked in QUESTIONS.items():
            if (found := FOUND[name](now)) is not None:
                kept = asked.keep(hidden, asked.question(hidden), self._told.of(found))
                kept.pop("faces", None)  # they have the columns that they have
                hidden = replace(hidden, **kept)  # type: ignore[arg-type]
        return hidden

    def _left_out(self, now: Workspace) -> dict[str, Any]:
        """What is said by hand or names places on this computer, under pseudonyms; old answers always."""
        old = {"evaluated": (), "assessed": None}
        old |= {name: None for name in vars(now) if name.endswith("_answer")}
        if not self.guise.pseudonyms:
            return old
        return old | {
            "source": None,
            "galleries": (),
            "tables": tuple(Table(Path(f"{one.kind} {i}"), one.kind) for i, one in enumerate(now.tables, 1)),
            "notes": (),
            "arrangement": Arrangement(),
            "annotations": Annotations(),
            "subsets": Subsets(),
            "identity_edits": IdentityEdits(),
            "standing": None,
            "stored": {},
            "draft": None,
            "run": None,
            "history": History(),
        }

    def told(self) -> list[str]:
        """What is hidden, for whoever reads it."""
        said = []
        if self.guise.pseudonyms:
            said.append(
                tr("People, pictures and galleries have pseudonyms. Left out is what would name them: places, files, "
                   "notes of model cards, the words of filters, and the recipes of figures. Models keep their names.")
            )  # fmt: skip
        if self.guise.blur:
            said.append(tr("Faces are blurred."))
        return said
