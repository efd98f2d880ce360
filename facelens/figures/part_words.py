"""What the values of parts are called, on screen, in figures and in tables alike."""

from __future__ import annotations

from dataclasses import dataclass

from facelens.analyses.parts import Layout
from facelens.words import number, tr


@dataclass(frozen=True)
class Words:
    """A value of SHOWN in words."""

    name: str  # "log σ²"
    title: str  # with where it comes from: "log σ², calibrated (PA head)"
    low: str  # what a low value means: "sure"
    high: str
    lowest: str  # whose value is lowest: "surest"
    highest: str
    bright: str  # "bright = less sure"

    def value(self, value: float) -> str:
        """One value as it is shown."""
        return number(value, 2) if value == value else tr("none")


def words(shown: str, layout: Layout) -> Words:
    """The words for one of SHOWN."""
    if shown == "variance":
        heads = {
            "calibrated": tr("log σ², calibrated (PA head)"),
            "learned": tr("log σ² = −log s, learned, not calibrated"),
            "given": tr("log σ² = −log s, as imported"),
        }
        return Words(
            tr("log σ²"),
            heads.get(layout.head, tr("log σ²")),
            tr("sure"),
            tr("unsure"),
            tr("surest"),
            tr("least sure"),
            tr("bright = less sure"),
        )
    if shown == "distance":
        return Words(
            tr("distance"),
            tr("distance to the person's centre"),
            tr("near"),
            tr("far"),
            tr("nearest"),
            tr("farthest"),
            tr("bright = farther from the person's centre"),
        )
    if shown == "share":
        return Words(
            tr("share"),
            tr("share of the vector's length"),
            tr("little"),
            tr("much"),
            tr("least"),
            tr("most"),
            tr("bright = more of the vector"),
        )
    raise ValueError(f"unknown value {shown!r}")


def part_name(layout: Layout, part: int) -> str:
    """What one part is called; counted from 1."""
    if layout.kind == "learners":
        return tr("learner {k}", k=part + 1)
    return tr("slice {k}", k=part + 1) if layout.kind == "slices" else tr("part {k}", k=part + 1)


def layout_words(layout: Layout) -> str:
    """What the parts of a model are: "16 learned parts"."""
    if layout.kind == "learners":
        return tr("{k} learners", k=layout.parts)
    if layout.kind == "slices":
        return tr("{k} slices, not learned parts", k=layout.parts)
    return tr("{k} learned parts", k=layout.parts)
