"""One file per panel of the stage. PANELS is in display order; a panel's file is imported when it is first shown."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from PySide6.QtWidgets import QWidget

from facelens.views.panel import Desk, Panel


class Page(NamedTuple):
    """A panel by its word and title; calling it makes one."""

    word: str
    title: str
    place: str  # "file:class" in this folder

    def load(self) -> type[Panel]:
        """The panel's class; imports its file."""
        file, name = self.place.split(":")
        found: type[Panel] = getattr(import_module(f"{__name__}.{file}"), name)
        return found

    def __call__(self, desk: Desk, parent: QWidget | None = None) -> Panel:
        """One that lies in `parent` from the beginning: moved there later, all of it would be dressed anew."""
        with desk.store.aside():  # it may recall how it was left
            return self.load()(desk, parent)


PANELS = (
    Page("gallery", "Gallery", "gallery:GalleryPanel"),
    Page("doctor", "Doctor", "doctor:DoctorPanel"),
    Page("models", "Models", "models:ModelsPanel"),
    Page("training", "Training", "training:TrainingPanel"),
    Page("evaluation", "Evaluation", "evaluation:EvaluationPanel"),
    Page("uncertainty", "Uncertainty", "uncertainty:UncertaintyPanel"),
    Page("confidence", "Confidence", "confidence:ConfidencePanel"),
    Page("learners", "Learners", "learners:LearnersPanel"),
    Page("match", "Match", "match:MatchPanel"),
    Page("upgrade", "Upgrade", "upgrade:UpgradePanel"),
    Page("projection", "Projection", "projection:ProjectionPanel"),
)
