"""Whom a model has nearest to the face that is looked at, in truth and not on the map: links for a map to draw."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from facelens.analyses.nearest import links
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet
from facelens.session.jobs import Job, Request, State
from facelens.views.asking import Errands
from facelens.views.panel import Desk, while_there
from facelens.words import tr

SLOT = "projection nearest"
AT_ONCE = 20_000_000  # floats that are compared without a job


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
            self.found.emit(links(workspace.faces, features, face, without=workspace.excluded))
            return
        self._submit(workspace.faces, face, features, asked)

    def _submit(self, faces: FaceSet, face: int, features: list[FeatureSet], asked: tuple[object, ...]) -> None:
        request = Request(
            title=tr("Nearest faces"),
            call=links,
            args=(faces, features, face),
            kwargs={"without": self.desk.workspace.excluded},
            slot=SLOT,
            place="thread",
        )

        def done(job: Job) -> None:
            if job.state is State.DONE and asked == self._asked:
                self.found.emit(job.result)
            elif job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)

        self.found.emit(())
        self._errands.submit(request, then=while_there(self, done))
