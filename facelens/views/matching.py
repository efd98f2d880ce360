"""The work behind the match page: searches, explanations, saliency and sweeps, all asked of the worker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from facelens.session import folders
from facelens.session.jobs import Request
from facelens.session.workspace import Workspace
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.session.ground import Ground

SEARCH, SWEEP, QUERIES = "match", "sweep", "query vectors"  # slots


def ground(workspace: Workspace) -> Ground:
    """Where is searched now, and by which model."""
    from facelens.features.patching import Model
    from facelens.session.ground import Ground
    from facelens.views.modelling import consent_book

    plan = workspace.resolved_match
    seen = workspace.inspection(plan.model)
    assert seen is not None and workspace.faces is not None
    return Ground(
        workspace.faces,
        workspace.features[plan.model],
        Model(seen.path, seen.card, consent_book()),
        folders.cache() / "patches",
        excluded=workspace.excluded,
        queries=workspace.queries,
        asking=workspace.queries_features,
        quarantined=folders.quarantine(),
    )


def queries_request(workspace: Workspace, root: Path) -> Request | None:
    """What gives the queries of another gallery their vectors, which are kept under `root`."""
    from facelens.session import match_queries

    if workspace.queries is None or not workspace.resolved_match.model:
        return None
    return Request(
        title=tr("Embed {name}", name=escaped(workspace.queries.name)),
        call=match_queries.embed,
        args=(workspace.queries, ground(workspace).model),
        kwargs={"root": root, "quarantined": folders.quarantine()},
        slot=QUERIES,
    )


def search_request(workspace: Workspace) -> Request | None:
    """What finds the query in the gallery."""
    from facelens.session import matching

    if workspace.faces is None or not workspace.match_question:
        return None
    return Request(
        title=tr("Search by patches"),
        call=matching.search,
        args=(ground(workspace), workspace.query, workspace.resolved_match),
        kwargs={"occlusion": workspace.occlusion},
        slot=SEARCH,
        short=True,
    )


def explain_request(workspace: Workspace, gallery: int, *, slot: str) -> Request:
    """What tells why the query and a face match as they do."""
    from facelens.session import matching

    return Request(
        title=tr("Explain a match"),
        call=matching.explain,
        args=(ground(workspace), workspace.query, gallery, workspace.resolved_match),
        kwargs={"occlusion": workspace.occlusion},
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
        args=(ground(workspace), workspace.resolved_match),
        kwargs={"occlusion": workspace.occlusion},
        slot=SWEEP,
        unit=tr("queries"),
    )
