"""What only some kinds of training tell: confidences of sub-embeddings, clusters of learners, and other facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QComboBox, QSlider

from facelens.figures.training import SIZES
from facelens.session.columns import Columns
from facelens.session.training import Row
from facelens.views.confidences import Confidences
from facelens.views.curves import Curve, Curves, called, curves_of
from facelens.views.frame import Places
from facelens.views.plots import Zone
from facelens.words import tr

CLUSTERS = {"kept": "kept their learner", "stability": "NMI with the clusters before"}
SHOWN = (*CLUSTERS, "phase", "sizes", "confidence", "confidences")  # facts that have a page


class KindFacts(Places):
    """One page for each thing that the kind tells; those it does not tell are not offered."""

    def __init__(self) -> None:
        self.confidences = Confidences()
        self.part = Curves(tr("confidence"), name=tr("Confidence over time"))
        self.kept = Curves(tr("share of faces, NMI; 1 is stable"), name=tr("Cluster stability"), low=0.0, high=1.0)
        self.sizes = Curves(tr("share of all faces"), name=tr("Sizes of the clusters"), low=0.0)
        self.rest = Curves(tr("facts"), name=tr("Facts"))
        tips = (
            tr("How sure each sub-embedding is of held-out faces"),
            tr("The chosen sub-embedding through the training"),
            tr("How many faces keep their learner when they are divided anew"),
            tr("How many faces each learner has"),
            tr("What else the training tells"),
        )
        super().__init__(
            [
                ("confidences", tr("Confidences"), tips[0], self.confidences),
                ("part", tr("Over time"), tips[1], self.part),
                ("clusters", tr("Clusters"), tips[2], self.kept),
                ("sizes", tr("Sizes"), tips[3], self.sizes),
                ("facts", tr("Facts"), tips[4], self.rest),
            ],
            label=tr("What this kind of training tells"),
        )
        self.tells = False  # whether there is anything to show
        self._told: list[tuple[int, Mapping[str, Any]]] = []  # confidences by step
        self._sizes: list[tuple[int, Sequence[int]]] = []  # of the clusters, by step
        self._zones: list[Zone] = []
        self._columns = Columns()
        self._steps = 1
        self.confidences.chosen.connect(lambda _: self._draw())
        self.against = QComboBox()
        self.against.setAccessibleName(tr("Variation"))
        self.against.setToolTip(tr("What faces as they are stand against"))
        self.against.setFixedHeight(22)
        self.against.setMinimumContentsLength(8)
        self.against.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.against.activated.connect(lambda _: self._draw())
        self.moment = QSlider(Qt.Orientation.Horizontal)
        self.moment.setRange(0, 0)
        self.moment.setAccessibleName(tr("Step whose confidences are shown"))
        self.moment.setToolTip(tr("Back to earlier steps; at the right end it follows the training"))
        self.moment.setMinimumWidth(40)
        self.moment.setMaximumWidth(84)
        self.moment.valueChanged.connect(lambda _: self._draw())
        self.header.insert(self.against)
        self.header.insert(self.moment)
        self.changed.connect(lambda _: self._draw())

    def show_rows(self, rows: Sequence[Row], columns: Columns) -> None:
        """Show what these rows of one training tell; `columns` are their numbers."""
        self._columns = columns
        self._steps = int(rows[-1]["steps"]) if rows else 1
        told = [(row, row["facts"]) for row in rows if "facts" in row]
        self._told = [(row["step"], facts["confidences"]) for row, facts in told if facts.get("confidences")]
        self._sizes = [(row["step"], facts["sizes"]) for row, facts in told if facts.get("sizes")]
        merged = next((row["step"] for row, facts in told if facts.get("phase") == "merged"), None)
        self._zones = [] if merged is None else [Zone(merged, self._steps, tr("merged: all learn from all"))]
        there = dict.fromkeys(("confidences", "part"), bool(self._told))
        there |= dict.fromkeys(("clusters", "sizes"), bool(self._sizes))
        there["facts"] = bool(curves_of(columns, "facts", but=SHOWN))
        if self._told:
            self._fill()
        self._offer(there)
        self._draw()

    def hidden(self) -> list[str]:
        """Keys of the curves that are switched off, as a figure knows them."""
        names, off = self._columns.part("facts"), self.kept.hidden | self.rest.hidden
        found = [f"facts {name}" for name in names if called(name, CLUSTERS if name in CLUSTERS else {}) in off]
        return found + [f"{SIZES} {i}" for i, name in enumerate(self.sizes.keys, 1) if name in self.sizes.hidden]

    def _offer(self, there: Mapping[str, bool]) -> None:
        self.tells = any(there.values())
        if not self.tells:
            return
        wanted = next(key for key in (self.key, *self.keys) if there[key])
        for coming in (True, False):  # what is looked at never goes before another has come
            for key in self.keys:
                if there[key] == coming and self.switch.offers(key) != coming:
                    self.offer(key, coming)
            if self.key != wanted:
                self.show_key(wanted)

    def _fill(self) -> None:
        names = [name for name in self._told[-1][1]["groups"] if name != "clean"]
        with QSignalBlocker(self.against), QSignalBlocker(self.moment):
            if [self.against.itemData(i) for i in range(self.against.count())] != names:
                self.against.clear()
                for name in names:
                    self.against.addItem(tr("against {name}", name=_word(name)), name)
            newest = self.moment.value() == self.moment.maximum()
            self.moment.setRange(0, len(self._told) - 1)
            if newest:
                self.moment.setValue(len(self._told) - 1)

    def _draw(self) -> None:
        """Draw the page that is shown."""
        here = self.key if self.tells else ""
        self.against.setVisible(bool(self._told) and here in ("confidences", "part") and self.against.count() > 0)
        self.moment.setVisible(bool(self._told) and here == "confidences" and self.moment.maximum() > 0)
        if here == "confidences":
            step, told = self._told[min(self.moment.value(), len(self._told) - 1)]
            self.confidences.show_told(told, step=step, against=self.against.currentData() or "")
        elif here == "part":
            self._draw_part()
        elif here == "clusters":
            curves = curves_of(self._columns, "facts", only=tuple(CLUSTERS), lead="kept", words=CLUSTERS)
            self.kept.show_curves(curves, steps=self._steps)
            self.kept.set_zones(self._zones)
            later = tr("Comes when the faces are divided for the second time.")
            self.kept.set_note("" if curves else later)
        elif here == "sizes":
            self.sizes.show_curves(_shares(self._sizes), steps=self._steps)
            self.sizes.set_zones(self._zones)
        elif here == "facts":
            self.rest.show_curves(curves_of(self._columns, "facts", but=SHOWN), steps=self._steps)

    def _draw_part(self) -> None:
        part, at = self.confidences.part, np.array([step for step, _ in self._told], np.float64)
        curves = []
        for name in self._told[-1][1]["groups"]:
            marks = np.array([_quantiles(told, name, part) for _, told in self._told])  # (n, 5)
            band = (marks[:, 1], marks[:, 3]) if name in ("clean", self.against.currentData()) else None
            curves.append(Curve(_word(name), at, marks[:, 2], leads=name == "clean", band=band))
        self.part.title = tr("confidence of part {n} (log), median and quartiles", n=part + 1)
        self.part.show_curves(curves, steps=self._steps, log=True)


def _word(group: str) -> str:
    return tr(group.replace("_", " "))


def _quantiles(told: Mapping[str, Any], group: str, part: int) -> list[float]:
    found = told["groups"].get(group)
    return list(found["quantiles"][part]) if found is not None else [np.nan] * 5


def _shares(sizes: Sequence[tuple[int, Sequence[int]]]) -> list[Curve]:
    """What share of the faces each learner has."""
    at = np.array([step for step, _ in sizes], np.float64)
    shares = np.array([np.divide(counts, max(sum(counts), 1)) for _, counts in sizes])  # (n, K)
    return [Curve(tr("learner {n}", n=i + 1), at, shares[:, i]) for i in range(shares.shape[1])]
