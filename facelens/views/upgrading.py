"""The work behind the upgrade page: the study, the map of old and new, the errors of a test."""

from __future__ import annotations

from pathlib import Path

from facelens.analyses.projection import project
from facelens.session import folders, upgrading
from facelens.session.jobs import Request
from facelens.session.workspace import Workspace
from facelens.views.results import AT_ONCE
from facelens.words import escaped, tr

STUDY, MAP, ERRORS = "upgrade", "upgrade map", "upgrade errors"  # slots


def study_request(workspace: Workspace) -> Request | None:
    """What looks at the upgrade that is asked for."""
    plan = workspace.resolved_upgrade
    if workspace.faces is None or not workspace.upgradable:
        return None
    return Request(
        title=tr("Upgrade of {old} to {new}", old=escaped(plan.old), new=escaped(plan.new)),
        call=upgrading.study,
        args=(workspace.faces, plan),
        kwargs=_with(workspace),
        slot=STUDY,
        unit="",
        short=True,
    )


def errors_request(workspace: Workspace, test: tuple[str, str, str]) -> Request | None:
    """What lists the errors of a test (query, gallery, direction)."""
    plan, (query, gallery, _) = workspace.resolved_upgrade, test
    if workspace.faces is None or not workspace.upgradable:
        return None
    return Request(
        title=tr("Errors of {query}/{gallery}", query=escaped(query), gallery=escaped(gallery)),
        call=upgrading.errors,
        args=(workspace.faces, plan, test),
        kwargs=_with(workspace),
        slot=ERRORS,
        unit="",
        short=True,
    )


def map_request(workspace: Workspace) -> Request | None:
    """What lays out the faces as both models have them."""
    plan, faces = workspace.upgrade_map_plan, workspace.kept_faces
    if workspace.faces is None or faces is None or not workspace.upgradable:
        return None
    return Request(
        title=tr("Map of {old} and {new}", old=escaped(plan.model), new=escaped(plan.other)),
        call=project,
        args=(workspace.faces, plan),
        kwargs={
            "features": workspace.features[plan.model],
            "other": workspace.features[plan.other],
            "excluded": workspace.excluded,
            "folder": folders.cache() / "projections",
            "refine": len(faces) <= AT_ONCE,
        },
        slot=MAP,
        unit="",
        short=True,
    )


def transforms() -> Path:
    """Where fitted transforms are kept."""
    return folders.cache() / "transforms"


def _with(workspace: Workspace) -> dict[str, object]:
    plan = workspace.resolved_upgrade
    names = filter(None, (plan.old, plan.new, plan.upper, *plan.others))
    return {
        "features": {name: workspace.features[name] for name in names},
        "excluded": workspace.excluded,
        "folder": transforms(),
    }
