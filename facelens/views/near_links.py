"""Whom a model has nearest to the face that is looked at, in truth and not on the map: links for a map to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from facelens.analyses.nearest import by_models
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import Ids
from facelens.session.jobs import Job, Request, State
from facelens.views.asking import Errands
from facelens.views.panel import Desk, while_there
from facelens.words import plural, tr

SLOT = "projection nearest"
NEAREST = 10  # faces
AT_ONCE = 20_000_000  # floats that are compared without a job


@dataclass(frozen=True, eq=False)
class Links:
    """From a face to its nearest by one model."""

    pairs: NDArray[np.int64]  # (k, 2) ids
    right: NDArray[np.bool_] | None  # (k,) whether both are one person; None where that is not known
    cosine: NDArray[np.float32]  # (k,)

    @property
    def words(self) -> str:
        """How many of them are right."""
        n = plural(len(self.pairs), "{n} nearest vector", "{n} nearest vectors")
        return n if self.right is None else tr("{n}: {right} of the same person", n=n, right=int(self.right.sum()))


class NearLinks(QObject):
    """`found` tells the links of the face that was asked about last, for each model."""

    found = Signal(object)  # tuple[Links, ...]; () where there are none

    def __init__(self, desk: Desk, parent: QObject) -> None:
        super().__init__(parent)
        self.desk = desk
        self._errands = Errands(desk, self)
        self._asked: tuple[object, ...] = ()

    def close(self) -> None:
        """Stop listening."""
        self._errands.close()

    def ask(self, face: int | None, models: Sequence[str]) -> None:
        """Find the nearest of a face; None: of nobody. What was asked already is not asked again."""
        workspace = self.desk.workspace
        features = [workspace.features[name] for name in models if name in workspace.features]
        asked = (face, tuple(map(id, features)), workspace.excluded.tobytes(), id(workspace.faces))
        if asked == self._asked:
            return
        self._asked = asked
        if face is None or not features or workspace.faces is None:
            self.found.emit(())
            return
        if sum(len(one) * one.dimensions for one in features) <= AT_ONCE:
            self._take(face, by_models(features, face, k=NEAREST, without=workspace.excluded))
            return
        self._submit(face, features, asked)

    def _submit(self, face: int, features: list[FeatureSet], asked: tuple[object, ...]) -> None:
        request = Request(
            title=tr("Nearest faces"),
            call=by_models,
            args=(features, face),
            kwargs={"k": NEAREST, "without": self.desk.workspace.excluded},
            slot=SLOT,
            place="thread",
        )

        def done(job: Job) -> None:
            if job.state is State.DONE and asked == self._asked:
                self._take(face, job.result)  # type: ignore[arg-type]
            elif job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)

        self.found.emit(())
        self._errands.submit(request, then=while_there(self, done))

    def _take(self, face: int, found: Sequence[tuple[Ids, NDArray[np.float32]]]) -> None:
        faces = self.desk.workspace.faces
        if faces is None:
            return
        made = []
        for ids, cosine in found:
            here = np.array([faces.row_of(one) is not None for one in ids.tolist()], bool)
            ids, cosine = ids[here], cosine[here]
            pairs = np.column_stack([np.full(len(ids), face, np.int64), ids])
            codes = faces.identity.codes[faces.rows_of(pairs.reshape(-1))].reshape(-1, 2) if len(ids) else pairs
            known = bool(len(ids)) and bool((codes >= 0).all())
            made.append(Links(pairs, codes[:, 0] == codes[:, 1] if known else None, cosine))
        self.found.emit(tuple(made))
