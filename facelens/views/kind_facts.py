"""What only some kinds of training tell: confidences of sub-embeddings, clusters of learners, and other facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QComboBox, QSlider

from facelens.figures.scales import Array
from facelens.session.training import Row
from facelens.views.confidences import Confidences
from facelens.views.curves import Curve, Curves, curves_of, steps_of
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
        self._steps = 1
        self.confidences.chosen.connect(lambda _: self._draw_part())
        self.against = QComboBox()
        self.against.setAccessibleName(tr("Variation"))
        self.against.setToolTip(tr("What faces as they are stand against"))
        self.against.setFixedHeight(22)
        self.against.setMinimumContentsLength(8)
        self.against.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.against.activated.connect(lambda _: self._draw_confidences())
        self.moment = QSlider(Qt.Orientation.Horizontal)
        self.moment.setRange(0, 0)
        self.moment.setAccessibleName(tr("Step whose confidences are shown"))
        self.moment.setToolTip(tr("Back to earlier steps; at the right end it follows the training"))
        self.moment.setMinimumWidth(40)
        self.moment.setMaximumWidth(84)
        self.moment.valueChanged.connect(lambda _: self._draw_confidences())
        self.header.insert(self.against)
        self.header.insert(self.moment)
        self.changed.connect(lambda _: self._draw_confidences())

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show what these rows of one training tell."""
        at, facts = steps_of(rows), [row.get("facts", {}) for row in rows]
        self._steps = int(rows[-1]["steps"]) if rows else 1
        self._told = [(row["step"], fact["confidences"]) for row, fact in zip(rows, facts) if fact.get("confidences")]
        clusters = curves_of(rows, "facts", only=tuple(CLUSTERS), words=CLUSTERS)
        sizes = _sizes(facts, at)
        rest = curves_of(rows, "facts", but=SHOWN)
        there = {
            "confidences": bool(self._told),
            "part": bool(self._told),
            "clusters": bool(sizes),
            "sizes": bool(sizes),
            "facts": bool(rest),
        }
        self._offer(there)
        merged = [row["step"] for row, fact in zip(rows, facts) if fact.get("phase") == "merged"]
        zones = [Zone(float(merged[0]), float(self._steps), tr("merged: all learn from all"))] if merged else []
        for curves, shown in ((self.kept, clusters), (self.sizes, sizes), (self.rest, rest)):
            curves.show_curves(shown, steps=self._steps)
        self.kept.set_zones(zones)
        self.sizes.set_zones(zones)
        self.kept.set_note("" if clusters or not sizes else tr("Comes when the faces are divided for the second time."))
        if self._told:
            self._fill()
        self._draw_confidences()

    def _offer(self, there: Mapping[str, bool]) -> None:
        self.tells = any(there.values())
        if not self.tells:
            return
        wanted = next(key for key in (self.key, *self.keys) if there[key])
        for key in sorted(there, key=lambda key: not there[key]):  # what comes before what goes
            if self.switch.offers(key) != there[key]:
                self.offer(key, there[key])
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

    def _draw_confidences(self) -> None:
        here = self.key if self._told else ""
        self.against.setVisible(here in ("confidences", "part") and self.against.count() > 0)
        self.moment.setVisible(here == "confidences" and self.moment.maximum() > 0)
        if not self._told:
            return
        step, told = self._told[min(self.moment.value(), len(self._told) - 1)]
        self.confidences.show_told(told, step=step, against=self.against.currentData() or "")
        self._draw_part()

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


def _sizes(facts: Sequence[Mapping[str, Any]], at: Array) -> list[Curve]:
    """What share of the faces each learner has."""
    known = [fact.get("sizes") for fact in facts]
    learners = max((len(sizes) for sizes in known if sizes), default=0)
    shares = np.array(
        [np.divide(sizes, max(sum(sizes), 1)) if sizes else np.full(learners, np.nan) for sizes in known], np.float64
    )
    return [Curve(tr("learner {n}", n=i + 1), at, shares[:, i]) for i in range(learners)]
