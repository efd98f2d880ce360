"""What is found about an upgrade as blocks, as text as the command prints it, and as a folder to keep or to send.

The folder holds a page that needs nothing else, the same figures as files, all numbers, the flips, and the order of the
backfill.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from facelens.analyses.crossing import SELF, CrossTest
from facelens.analyses.measure import Measure
from facelens.analyses.plan import TASKS
from facelens.analyses.same_class import SameClass
from facelens.analyses.upgrade import Upgrade
from facelens.features.featureset import FeatureSet
from facelens.figures import crossing_words as words
from facelens.figures.verdict import Verdict, flipped, verdict
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, part_of, silent
from facelens.session.blocks import Block, Rows, lines
from facelens.session.drawing import draw_upgrade
from facelens.session.reports import interval_words
from facelens.session.tables import json_text, written
from facelens.session.upgrade_tables import chosen_order, upgrade_json, write_flips, write_order
from facelens.session.web_page import Picture, Section, page
from facelens.words import escaped, number, plural, tr

SHARES = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)  # of the gallery embedded anew
PEOPLE = 8  # who moved most
FIGURES = ("matrix", "gains", "sequence", "flips", "backfill", "same people", "map")  # others the page has as tables


@dataclass(frozen=True, eq=False)
class UpgradeReport:
    """What is found, by the task that is asked for."""

    faces: FaceSet
    found: Upgrade
    task: str = ""  # of TASKS; that of the plan without
    order: str = ""  # of the backfill; the first one without
    features: Mapping[str, FeatureSet] | None = None  # where vectors come from, for the JSON
    notes: tuple[str, ...] = ()  # of what was opened

    @property
    def asked(self) -> str:
        """The task."""
        return self.task or self.found.plan.task

    @property
    def verdict(self) -> Verdict:
        """What is said, on what grounds."""
        return verdict(self.found, task=self.asked)

    def lines(self) -> list[str]:
        """Everything, as a person reads it."""
        return lines(self.blocks())

    def blocks(self) -> list[Block]:
        """The same as blocks, the verdict first."""
        said = self.verdict
        return [
            Block(told=(*self.notes, *self.who())),
            Block(told=(said.sentence, said.evidence)),
            Block(tr("What this does not say"), told=said.caveats),
            *self.tables(),
            *filter(None, [Block(told=self.found.matrix.notes)]),
        ]

    def tables(self) -> list[Block]:
        """What the verdict rests on."""
        intervals = interval_words("identities", self.found.plan.resamples)
        crossed = tr("Cross-tests, query/gallery; {intervals}", intervals=intervals)
        close = tr("How close the pictures of a person lie, lower is closer")
        sequence = tr("Sequence: each cross-test should lie between the two models by themselves")
        said = [
            Block(crossed, self.tests(), figures=("matrix",)),
            Block(tr("Gains, per cent of |upper − old|"), self.gains(), figures=("gains",)),
            Block(sequence, self.bounds(), headed=False, figures=("sequence",)),
            Block(close, self.compactness(), figures=("same people",)),
            Block(self.flips_title(), self.flips(), figures=("flips",)),
            Block(self.backfill_title(), self.backfill(), figures=("backfill",)),
            Block(tr("Who moved most"), self.moved(), figures=("map",)),
        ]
        return [block for block in said if block.rows]

    def section(self, figures: Mapping[str, Picture]) -> Section:
        """What a page says of it: verdict, what that does not say, tables with their figures; `who` stands above."""
        said, filled = self.verdict, self.found.backfill
        orders = [f"{words.order_name(one.name)}: {one.note}" for one in filled.orders] if filled is not None else []
        tables = [
            replace(block, told=(*block.told, *orders)) if "backfill" in block.figures else block
            for block in self.tables()
        ]
        tested = Block(tr("How it was tested"), told=self.found.matrix.notes)
        blocks = [*tables, *([tested] if tested.told else [])]
        return Section("upgrade", tr("Upgrade"), blocks, figures, said, said.caveats)

    def who(self) -> list[str]:
        """Gallery, models, and how the two meet."""
        plan, matrix = self.found.plan, self.found.matrix
        names = [tr("old {name}", name=escaped(plan.old)), tr("new {name}", name=escaped(plan.new))]
        names += [tr("upper {name}", name=escaped(plan.upper))] if plan.upper else []
        names += [tr("further {name}", name=escaped(name)) for name in plan.others]
        counted = tr(
            "{faces} of {people}",
            faces=plural(matrix.faces, "{n} face", "{n} faces"),
            people=plural(matrix.people, "{n} person", "{n} people"),
        )
        told = [
            f"{escaped(self.faces.name)}: {', '.join(names)}; {counted}.",
            tr(
                "New queries meet the old gallery {direction}: {how}.",
                direction=words.direction_name(matrix.direction),
                how=words.direction_words(matrix.direction),
            ),
        ]
        told += [f"{words.direction_name(one.direction)}: {one.why or one.how}" for one in matrix.fitted]
        if matrix.fitted_people:
            people = plural(matrix.fitted_people, "{n} other person", "{n} other people")
            told.append(tr("Transforms were fitted on {people}, who do not count here.", people=people))
        return told

    def tests(self) -> Rows:
        """Every test, by both tasks."""
        plan = self.found.plan
        rows = [["", tr("direction"), *(words.asked(plan, task) for task in TASKS), tr("first match right"), ""]]
        for one in self.found.matrix.tests:
            name = words.crossed(plan, one.query, one.gallery)
            said = "" if one.direction == SELF else words.direction_name(one.direction)
            values = [_short(one, task) for task in TASKS]
            rows.append([name, said, *values, _cell(one.first), tr("chance") if one.chance else ""])
        return rows

    def gains(self) -> Rows:
        """With what they are of; none without an upper model."""
        found = [one for one in self.found.matrix.gains if one.task == self.asked]
        if not self.found.plan.upper or not found:
            return []
        rows = [["", tr("gain"), tr("difference"), ""]]
        for one in found:
            best = tr("best direction") if one.best else ""
            rows.append([words.gain_name(one), words.gain_told(one), words.difference(one.got), best])
        return [*rows, [tr("of"), words.possible(found[0])]]

    def bounds(self) -> Rows:
        """Of every two models that follow each other."""
        plan, rows = self.found.plan, []
        for one in self.found.matrix.bounds:
            if one.task == self.asked:
                pair = words.crossed(plan, one.high, one.low)
                rows.append([pair, words.bound_words(plan, one), words.difference(one.above)])
        return rows

    def compactness(self) -> Rows:
        """Intra-class distances by three definitions, and d_pw."""
        rows = [["", tr("to the centre, squared"), tr("of two pictures, squared"), tr("angle to the centre, degrees")]]
        for one in self.found.matrix.compactness:
            rows.append([escaped(one.model), one.centre.text(3), one.pairs.text(3), one.angle.text(1)])
        return [*rows, [tr("d_pw old, new"), self.found.matrix.point_distance.text(3)]]

    def flips_title(self) -> str:
        """How many."""
        flips = self.found.flips
        if flips is None:
            return ""
        limits = flips.old_threshold, flips.new_threshold
        old, new = (number(one) if np.isfinite(one) else tr("none") for one in limits)
        return tr(
            "Flips: {counted}; thresholds {old} for old/old, {new} for new/old",
            counted=flipped(flips), old=old, new=new,
        )  # fmt: skip

    def flips(self, most: int = 5) -> Rows:
        """The worst losses."""
        flips = self.found.flips
        if flips is None:
            return []
        if not len(flips.lost):
            return [[tr("no search was lost")]]
        rows = [[tr("lost"), tr("found now"), tr("mate before"), tr("mate now"), tr("margin")]]
        one = flips.searches
        for place in flips.lost[:most].tolist():
            wrong = self._name(int(one.new_match[place]))
            scores = [number(float(score[place])) for score in (one.old_score, one.new_score)]
            moved = number(float(one.new_margin[place] - one.old_margin[place]), sign=True)
            rows.append([self._name(int(one.ids[place])), wrong, *scores, moved])
        if len(flips.lost) > most:
            rows.append([tr("and {n} more", n=len(flips.lost) - most)])
        return rows

    def _name(self, face: int) -> str:
        row = self.faces.row_of(face)
        return self.faces.file_name(row) if row is not None else "" if self.faces.disguised else str(face)

    def backfill_title(self) -> str:
        """What is reached of what."""
        return tr("Backfill: {asked} by the share embedded anew", asked=words.asked(self.found.plan, self.asked))

    def backfill(self) -> Rows:
        """What each order reaches at some shares."""
        filled = self.found.backfill
        if filled is None:
            return []
        steps = [int(np.abs(filled.shares - share).argmin()) for share in SHARES]
        rows = [["", *(tr("{share} %", share=number(100 * filled.shares[step], 0)) for step in steps)]]
        for order in filled.orders:
            values = [order.value[self.asked][step] for step in steps]
            shown = [number(one, 4) if np.isfinite(one) else tr("n/a") for one in values]
            rows.append([words.order_name(order.name), *shown])
        return rows

    def moved(self, most: int = PEOPLE) -> Rows:
        """People, with how far and how many neighbours stay."""
        moves = self.found.moves
        if moves is None or not np.isfinite(moves.people_moved).any():
            return []
        rows = [[tr("person"), tr("faces"), tr("1 − cosine"), tr("of {k} neighbours kept", k=moves.k)]]
        for name, far, kept, n in zip(moves.people, moves.people_moved, moves.people_kept, moves.people_faces):
            rows.append([escaped(name), str(n), number(float(far)), number(float(kept), 1)])
        return rows[: most + 1]

    def as_json(self) -> dict[str, object]:
        """All numbers but those of single faces."""
        return upgrade_json(self.faces, self.found, features=self.features)

    def write_json(self, out: Path) -> Path:
        """The same as a file."""
        return written(out, json_text(self.as_json()))


def _short(test: CrossTest, task: str) -> str:
    return _cell(test.measure(task))


def _cell(measure: Measure) -> str:
    """A value for a table: what has none says so in a word, its reason is in the JSON."""
    if measure.value is not None and not measure.defined:
        return tr("no support")
    return words.told(measure) if measure.defined else tr("n/a")


def write_report(
    out: Path,
    faces: FaceSet,
    found: Upgrade,
    *,
    task: str = "",
    order: str = "",
    share: float | None = None,
    people: SameClass | None = None,
    features: Mapping[str, FeatureSet] | None = None,
    notes: Sequence[str] = (),
    tick: Tick = silent,
) -> Path:
    """A folder with a page of everything, figures, numbers, flips and the order of the backfill. Gives the page."""
    from facelens.session.depicting import DEPICTED

    report = UpgradeReport(faces, found, task=task, order=order, features=features, notes=tuple(notes))
    out.mkdir(parents=True, exist_ok=True)
    figures = out / "figures"
    figures.mkdir(exist_ok=True)
    drawn = draw_upgrade(
        figures / "upgrade.png", faces, found, task=report.asked, order=order, share=share, people=people,
        which=FIGURES, tick=part_of(tick, 0, 2),
    )  # fmt: skip
    later = part_of(tick, 1, 2)
    report.write_json(out / "upgrade.json")
    files = ["upgrade.json"]
    later(1, 4)
    if found.flips is not None:
        write_flips(out / "flips.csv", faces, found)
        files += ["flips.csv", "flips-pairs.csv"]
    later(2, 4)
    if found.backfill is not None:
        write_order(out / "backfill.csv", faces, found, order=chosen_order(found, order).name)
        files.append("backfill.csv")
    later(3, 4)
    named = {one.stem.removeprefix("upgrade "): one for one in drawn}
    titles = DEPICTED["upgrade"].titles
    section = report.section({name: Picture(tr(titles[name]), path) for name, path in named.items()})
    title = tr("Upgrade from {old} to {new}", old=escaped(found.plan.old), new=escaped(found.plan.new))
    made = page(
        title, [replace(section, title="")], told=(*report.who(), *report.notes), files=files,
        foot=tr("figures in figures/"),
    )  # fmt: skip
    written(out / "index.html", made)
    later(4, 4)
    return out / "index.html"
