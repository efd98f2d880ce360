"""The work behind the match page: searches, explanations, saliency and sweeps, all asked of the worker."""

from __future__ import annotations

from typing import Any

from facelens.session import folders
from facelens.session.jobs import Request
from facelens.session.workspace import Workspace
from facelens.words import tr

SEARCH, SWEEP = "match", "sweep"  # slots


def given(workspace: Workspace) -> dict[str, Any]:
    """What every search by patches needs: vectors, the model's file, and where maps are kept."""
    from facelens.features.patching import Model
    from facelens.views.modelling import consent_book

    plan = workspace.resolved_match
    seen = workspace.inspection(plan.model)
    assert seen is not None
    return {
        "features": workspace.features[plan.model],
        "model": Model(seen.path, seen.card, consent_book()),
        "folder": folders.cache() / "patches",
        "quarantined": folders.quarantine(),
    }


def search_request(workspace: Workspace) -> Request | None:
    """What finds the query in the gallery."""
    from facelens.session import matching

    if workspace.faces is None or not workspace.match_question:
        return None
    return Request(
        title=tr("Search by patches"),
        call=matching.search,
        args=(workspace.faces, workspace.query, workspace.resolved_match),
        kwargs={**given(workspace), "occlusion": workspace.occlusion, "excluded": workspace.excluded},
        slot=SEARCH,
        short=True,
    )


def explain_request(workspace: Workspace, gallery: int, *, slot: str) -> Request:
    """What tells why the query and a face match as they do."""
    from facelens.session import matching

    return Request(
        title=tr("Explain a match"),
        call=matching.explain,
        args=(workspace.faces, workspace.query, gallery, workspace.resolved_match),
        kwargs={**given(workspace), "occlusion": workspace.occlusion},
        slot=slot,
        short=True,
    )


def sweep_request(workspace: Workspace) -> Request | None:
    """What searches for every face."""
    from facelens.session import matching

    if workspace.faces is None or not workspace.sweep_question:
        return None
    return Request(
        title=tr("Search for all faces"),
        call=matching.sweep,
        args=(workspace.faces, workspace.resolved_match),
        kwargs={**given(workspace), "occlusion": workspace.occlusion, "excluded": workspace.excluded},
        slot=SWEEP,
        unit=tr("queries"),
    )
