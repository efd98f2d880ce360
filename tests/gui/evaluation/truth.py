"""All pairs of a model worked out with numpy, and whether the page lists exactly the right ones."""

from __future__ import annotations

import numpy as np

from facelens.session import listing
from facelens.views.panel import Desk
from facelens.views.panels.evaluation import EvaluationPanel


class Truth:
    """All pairs of a model, worked out here."""

    def __init__(self, desk: Desk, name: str) -> None:
        faces, found = desk.workspace.faces, desk.workspace.features[name]
        assert faces is not None
        x = found.vectors.astype(np.float64)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        i, j = np.triu_indices(len(faces), 1)
        self.score = (x @ x.T)[i, j]
        self.genuine = faces.identity.codes[i] == faces.identity.codes[j]
        self.ids, self.i, self.j, self.codes = faces.ids, i, j, faces.identity.codes

    def pairs(self, chosen: np.ndarray) -> set[frozenset[int]]:
        return {frozenset((int(self.ids[a]), int(self.ids[b]))) for a, b in zip(self.i[chosen], self.j[chosen])}

    def faces(self, chosen: np.ndarray) -> np.ndarray:
        return np.unique(self.ids[np.concatenate([self.i[chosen], self.j[chosen]])])


def listed(panel: EvaluationPanel) -> set[frozenset[int]]:
    found = panel.list.listing
    return {frozenset((int(a), int(b))) for a, b in zip(found.first, found.second)}


def holds(panel: EvaluationPanel, truth: Truth, chosen: np.ndarray) -> None:
    """The list and the selection are exactly these pairs, by margin."""
    assert chosen.any(), "a test with nothing to list shows nothing"
    assert listed(panel) == truth.pairs(chosen) and len(panel.list.listing) == int(chosen.sum())
    selection = panel.desk.workspace.selection
    assert selection.ids.tolist() == truth.faces(chosen).tolist()
    first = (int(panel.list.listing.first[0]), int(panel.list.listing.second[0]))
    assert selection.pair == first and selection.current == first[0]
    found = panel.list.listing
    bad = np.where(np.isin(found.kind, (listing.GENUINE, listing.FALSE_NON_MATCH)), -found.margin, found.margin)
    assert (np.diff(bad) <= 1e-12).all(), "worst first"


def threshold(panel: EvaluationPanel, letter: str) -> float:
    view = panel.verification.view
    assert view is not None
    t = view.threshold(letter)
    assert t is not None
    return t
