"""Docks: what follows the selection, around the stage. DOCKS is in the order of the Window menu."""

from __future__ import annotations

from facelens.views.docks.filter import FilterDock
from facelens.views.docks.history import HistoryDock
from facelens.views.docks.identities import IdentitiesDock
from facelens.views.docks.inspector import InspectorDock
from facelens.views.docks.jobs import JobsDock
from facelens.views.docks.log import LogDock
from facelens.views.docks.sources import SourcesDock
from facelens.views.docks.tags import TagsDock

DOCKS = (
    (SourcesDock, "left"),
    (FilterDock, "left"),
    (IdentitiesDock, "left"),
    (TagsDock, "left"),
    (InspectorDock, "right"),
    (JobsDock, "bottom"),
    (LogDock, "bottom"),
    (HistoryDock, "bottom"),
)
