"""What the values of parts are called, on screen, in figures and in tables alike."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from facelens.analyses.parts import Layout
from facelens.words import number, tr

PAIRS = {
    "false matches": "false matches",
    "false non-matches": "false non-matches",
    "genuine": "genuine pairs",
    "impostor": "impostor pairs",
}


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
    missing: str = ""  # why a part of a face has no value
    precision: bool = False  # whether a value is −log s, so that s can be told too

    def value(self, value: float) -> str:
        """One value as it is shown."""
        return number(value, 2) if value == value else tr("none")

    def told(self, value: float) -> str:
        """One value with its name, or why there is none: "log σ² −2.90 · s 18.2"."""
        if value != value:
            return tr("no {name}: {why}", name=self.name, why=self.missing) if self.missing else tr("none")
        said = f"{self.name} {self.value(value)}"
        if not self.precision:
            return said
        s = exp(min(-value, 700.0))
        return f"{said} · s {number(s, 1) if s < 100 else f'{s:,.0f}'}"


def part_word(layout: Layout) -> str:
    """What one of its parts is."""
    return {"learners": tr("learner"), "slices": tr("slice")}.get(layout.kind, tr("part"))


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
            tr("no usable confidence"),
            precision=True,
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
            tr("no other picture of the person"),
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
