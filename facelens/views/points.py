"""The tables of verification: operating points, numbers that need none, groups of a column, people who look alike,
thresholds to carry over."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from facelens.analyses.measure import Measure, rate
from facelens.analyses.verification import Verification
from facelens.session import listing
from facelens.session.workspace import Operating
from facelens.views.controls import Combo, label
from facelens.views.standpoint import Side, Standpoint, far_text, figures
from facelens.views.tables import Cell, Column, ResultTable, difference_cell, measure_cell, reason_row
from facelens.words import number, tr


class PointsTable(ResultTable):
    """TAR at each target FAR; the line's own row stands between them where it is not on one."""

    listed = Signal(object)  # Ask of Standpoint: what is listed, from the operating point of then
    operated = Signal(object)  # Operating

    def __init__(self) -> None:
        super().__init__(tr("Operating points"), large=True)
        self.view: Standpoint | None = None
        self.rows_: list[float | None] = []  # target FAR, None for the row of the line
        self.tapped.connect(self._on_tapped)

    def show_view(self, view: Standpoint) -> None:
        """Fill the table."""
        self.view = view
        rows: list[float | None] = [*view.targets]
        if view.live is not None:
            rows.insert(sum(target >= view.live for target in view.targets), None)
        self.rows_ = rows
        columns = self._columns(view)
        self.fill(columns, [self._row(view, target, len(columns)) for target in rows] if view.sides else [])
        marked = rows.index(None) if None in rows else -1
        if view.live is None and view.operating.far in rows:
            marked = rows.index(view.operating.far)
        self.mark(marked)

    def _columns(self, view: Standpoint) -> list[Column]:
        columns = [Column(tr("target FAR"), tr("The share of impostor pairs that may be accepted"), "left", 0.3)]
        for side in view.sides:
            tip = tr("Share of genuine pairs that {name} accepts, higher is better", name=view.names[side.letter])
            columns.append(Column(tr("{letter}  TAR [95 %]", letter=side.letter), tip))
        letter = view.sides[-1].letter if view.sides else "B"
        threshold = Column(tr("threshold {letter}", letter=letter), tr("Accepted at or above it"), share=0.4)
        impostors = Column(tr("impostors"), tr("Impostor pairs that {letter} accepts", letter=letter), share=0.4)
        if view.both:
            tip = tr("From the same draws of identities; coloured where 0 is outside")
            return [*columns, Column(tr("B − A, paired"), tip), threshold, impostors]
        real = Column(tr("real FAR [95 %]"), tr("The share of impostor pairs that is accepted"), share=0.8)
        refused = Column(tr("false non-matches"), tr("Genuine pairs that are refused"), share=0.4)
        return [*columns, real, threshold, refused, impostors]

    def _row(self, view: Standpoint, target: float | None, width: int) -> list[Cell]:
        last = view.sides[-1]
        here = view.standing(last.letter) if target is None else None
        point = view.point(last, target) if target is not None else None
        tip = tr("Where the line stands. Add it with + FAR to have it worked out in full.") if target is None else ""
        cells = [Cell(rate(target) if target is not None else figures(view.operating.far), tip=tip, taps=True)]
        measures = [view.tar(side, target) for side in view.sides]
        stand = here or point
        count = f"{stand.false_matches:,}" if stand is not None else tr("none")
        if not any(measure.defined for measure in measures):
            text = measures[-1].text()
            cells += [Cell(text, why=True, span=width - 2, tip=text), *(Cell() for _ in range(width - 3))]
            return [*cells, Cell(count, colour="text3", taps=True)]
        cells += [measure_cell(measure, taps=True) for measure in measures]
        threshold = stand.threshold if stand is not None else None
        if view.both:
            cells.append(self._difference(view, target, measures))
        else:
            there = view.at_threshold(last, threshold) if threshold is not None else None
            cells.append(Cell(far_text(there) if there is not None else tr("none"), taps=True))
        cells.append(Cell(number(threshold, 3) if threshold is not None else tr("none"), taps=True))
        if not view.both:
            cells.append(Cell(f"{stand.false_non_matches:,}" if stand is not None else tr("none"), taps=True))
        return [*cells, Cell(count, taps=True)]

    def _difference(self, view: Standpoint, target: float | None, measures: list[Measure]) -> Cell:
        paired = view.evaluation.paired
        if target is not None:
            found = next((d.tar for d in paired.points if d.target == target), None) if paired is not None else None
            return difference_cell(found, taps=True, coming=not view.evaluation.complete)
        old, new = measures[0].value, measures[1].value
        if old is None or new is None:
            return Cell(tr("n/a"), why=True)
        shown = tr("{difference} [+ FAR]", difference=number(new - old, 4, sign=True))
        return Cell(shown, colour="text3", taps=True, tip=tr("+ FAR adds this rate to the table, with its interval."))

    def _on_tapped(self, row: int, column: int) -> None:
        view = self.view
        if view is None or row >= len(self.rows_):
            return
        target = self.rows_[row]
        if target is not None:
            self.operated.emit(Operating(target))
        n, last = len(view.sides), view.sides[-1].letter
        end = len(self.model_.columns) - 1
        if column == end:
            self.listed.emit(lambda now: now.errors(last, genuine=False))
        elif self.cell(row, 1).why or column == 0:
            return
        elif column <= n:
            letter = view.sides[column - 1].letter
            self.listed.emit(lambda now: now.errors(letter, genuine=True))
        elif view.both and column == 3:
            self.listed.emit(lambda now: now.flips())
        elif not view.both and column == end - 1:
            self.listed.emit(lambda now: now.errors(last, genuine=True))
        else:
            self.listed.emit(lambda now: now.errors(last))


NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


@dataclass(frozen=True)
class _Sum:
    """A number over all thresholds: of which measure, better when lower, and where its errors are, if anywhere."""

    name: str
    tip: str
    of: Callable[[Verification], Measure | None]
    lower: bool = False
    threshold: Callable[[Side], float | None] = lambda side: None
    decimals: int = 4


def _rate_threshold(far: float) -> Callable[[Side], float | None]:
    def found(side: Side) -> float | None:
        scores = side.report.scores
        return listing.threshold_at(scores, far, rule="roc") if scores is not None else None

    return found


SUMS = (
    _Sum("EER", "Where as many impostors are accepted as genuine pairs refused; lower is better",
         lambda v: v.eer, True, lambda side: side.verification.eer_threshold),
    _Sum("AUC", "Chance that a genuine pair scores above an impostor pair; higher is better", lambda v: v.auc),
    _Sum("d′", "Distance of the two means in standard deviations; higher is better",
         lambda v: v.d_prime, decimals=2),
    _Sum("FMR100", "Genuine pairs refused where 1 % of impostors may pass; lower is better",
         lambda v: v.fmr100, True, _rate_threshold(1e-2)),
    _Sum("FMR1000", "Genuine pairs refused where 0.1 % of impostors may pass; lower is better",
         lambda v: v.fmr1000, True, _rate_threshold(1e-3)),
    _Sum("best accuracy", "Share of right decisions, threshold from the same pairs; higher is better",
         lambda v: v.best.share, False, lambda side: side.verification.best.threshold),
    _Sum("accuracy over folds", "Share of right decisions, threshold from the other folds; higher is better",
         lambda v: v.folds.share if v.folds is not None else None),
)  # fmt: skip


class SummaryTable(ResultTable):
    """Numbers that need no operating point: EER, AUC, d′, FMR100 and FMR1000, accuracy."""

    listed = Signal(object)

    def __init__(self) -> None:
        super().__init__(tr("Summary"), large=True)
        self.view: Standpoint | None = None
        self.sums: list[_Sum] = []
        self.tapped.connect(self._on_tapped)

    def show_view(self, view: Standpoint) -> None:
        """Fill the table."""
        self.view = view
        columns = [Column(tr("measure"), align="left", share=0.5)]
        for side in view.sides:
            columns.append(Column(tr("{letter}  [95 %]", letter=side.letter), view.names[side.letter]))
        if view.both:
            columns.append(
                Column(tr("B − A, paired"), tr("From the same draws of identities; coloured where 0 is outside"))
            )
        for side in view.sides:
            tip = tr("Where the number comes from")
            columns.append(Column(tr("threshold {letter}", letter=side.letter), tip, share=0.4))
        self.sums = [one for one in SUMS if any(one.of(side.verification) is not None for side in view.sides)]
        self.fill(columns, [self._row(view, one, len(columns)) for one in self.sums] if view.sides else [])

    def _row(self, view: Standpoint, one: _Sum, width: int) -> list[Cell]:
        nothing = Measure.none(tr("not worked out"))
        measures = [one.of(side.verification) or nothing for side in view.sides]
        cells = [Cell(tr(one.name), tip=tr(one.tip))]
        if not any(measure.defined for measure in measures):
            text = measures[-1].text()
            return [*cells, Cell(text, why=True, span=width - 1, tip=text), *(Cell() for _ in range(width - 2))]
        thresholds = [one.threshold(side) for side in view.sides]
        for measure, threshold in zip(measures, thresholds):
            cell = measure_cell(measure, taps=threshold is not None)
            # Close to 1 three decimals would round the limits past the value.
            cells.append(cell if cell.why else replace(cell, text=measure.text(one.decimals)))
        if view.both:
            paired = view.evaluation.paired
            coming = not view.evaluation.complete
            known: dict[str, Measure | None] = dict.fromkeys(("EER", "AUC")) if coming else {}
            if paired is not None:
                known = {"EER": paired.eer, "AUC": paired.auc}
            cells.append(
                difference_cell(known[one.name], lower=one.lower, coming=coming)
                if one.name in known
                else Cell(tr("not paired"), colour="text3")
            )
        for threshold in thresholds:
            words = number(threshold, 3) if threshold is not None else tr("not used")
            cells.append(Cell(words, colour="text" if threshold is not None else "text3", taps=threshold is not None))
        return cells

    def _on_tapped(self, row: int, column: int) -> None:
        view = self.view
        if view is None or row >= len(self.sums) or not self.cell(row, column).taps:
            return
        n = len(view.sides)
        side = view.sides[column - 1 if column <= n else column - 1 - n - view.both]
        threshold = self.sums[row].threshold(side)
        genuine = True if self.sums[row].name.startswith("FMR") else None
        self.listed.emit(lambda now: now.errors(side.letter, genuine=genuine, threshold=threshold))


class SliceTable(ResultTable):
    """The same rates for each value of a column, at the threshold of the whole."""

    listed = Signal(object)

    def __init__(self) -> None:
        super().__init__(tr("Breakdown"))
        self.view: Standpoint | None = None
        self.values: list[str] = []
        self.tapped.connect(self._on_tapped)

    def show_view(self, view: Standpoint) -> None:
        """Fill the table."""
        self.view = view
        asked, target = view.evaluation.plan.breakdown, view.nearest_target
        head = tr("at the threshold of FAR {far}", far=rate(target)) if target is not None else ""
        columns = [
            Column(asked or tr("value"), tr("Both faces of a pair have this value"), "left", 0.6),
            Column(tr("faces"), share=0.2, spare=True),
            Column(tr("genuine"), tr("Genuine pairs"), share=0.2, spare=True),
            Column(tr("impostor"), tr("Impostor pairs"), share=0.2, spare=True),
        ]
        for side in view.sides:
            tip = tr("TAR {head}, higher is better. Click for the pairs it refuses.", head=head)
            columns.append(Column(tr("{letter}  TAR [95 %]", letter=side.letter), tip))
        for side in view.sides:
            tip = tr("FAR inside this group {head}, lower is better. Click for the pairs it accepts.", head=head)
            columns.append(Column(tr("{letter}  real FAR [95 %]", letter=side.letter), tip))
        found = {side.letter: {one.value: one for one in side.report.slices} for side in view.sides}
        self.values = list(dict.fromkeys(value for side in view.sides for value in found[side.letter]))
        rows: list[list[Cell]] = []
        for value in self.values:
            some = next(found[side.letter][value] for side in view.sides if value in found[side.letter])
            counts = (some.faces, some.n_genuine, some.n_impostor)
            cells = [Cell(_signed(value) or tr("not given")), *(Cell(f"{n:,}") for n in counts)]
            for kind in ("tar", "far"):
                for side in view.sides:
                    one = found[side.letter].get(value)
                    rates = dict(getattr(one, kind)) if one is not None else {}
                    measure = rates.get(target, Measure.none(tr("not worked out")))
                    cells.append(measure_cell(measure, taps=True) if kind == "tar" else _far_cell(measure))
            rows.append(cells)
        if not rows:
            why = tr("no breakdown: choose a column of the gallery in Breakdown, above")
            rows = [reason_row(tr("no value of {column} has pairs", column=asked) if asked else why, len(columns))]
        self.fill(columns, rows)

    def _on_tapped(self, row: int, column: int) -> None:
        view = self.view
        if view is None or row >= len(self.values) or column < 4 or self.cell(row, column).why:
            return
        n = len(view.sides)
        value, genuine = self.values[row], column < 4 + n
        letter = view.sides[(column - 4) % n].letter
        self.listed.emit(lambda now: self._inside(now, letter, value, genuine=genuine))

    def _inside(self, view: Standpoint, letter: str, value: str, *, genuine: bool) -> listing.Listing:
        side = view.side_of(letter)
        found = next((one for one in side.report.slices if one.value == value), None) if side is not None else None
        target = view.nearest_target
        if side is None or found is None or side.report.scores is None or target is None:
            return listing.nothing()
        point = view.point(side, target)
        threshold = point.threshold if point is not None else None
        made = listing.errors_among(
            side.report.scores, found.ids, threshold, genuine=genuine, name=_signed(value),
            column=view.evaluation.plan.breakdown, group=value,
        )  # fmt: skip
        return view.titled(made, side)


class ConfusableTable(ResultTable):
    """People whom the chosen model takes for one another."""

    listed = Signal(object)

    def __init__(self) -> None:
        super().__init__(tr("Confusable identities"))
        self.view: Standpoint | None = None
        self.tapped.connect(self._on_tapped)

    def show_view(self, view: Standpoint) -> None:
        """Fill the table; it does not depend on the operating point."""
        self.view = view
        side = view.side
        at = side.report.confused_at if side is not None else None
        tip = tr("Their pairs at or above {t}", t=number(at, 3)) if at is not None else tr("Their accepted pairs")
        columns = [
            Column(tr("identity"), align="left"),
            Column(tr("looks like"), align="left"),
            Column(tr("best score"), tr("Highest score between the two"), share=0.3),
            Column(tr("false matches"), tip, share=0.3),
            Column(tr("pairs"), tr("Pairs between the two that are kept"), share=0.3),
        ]
        rows = [
            [
                Cell(text, taps=True)
                for text in (
                    view.who(one.first),
                    view.who(one.second),
                    number(one.best, 3),
                    f"{one.false_matches:,}",
                    f"{one.pairs:,}",
                )
            ]
            for one in (side.report.confusable if side is not None else ())
        ]
        why = side.verification.eer.text() if side is not None and not side.verification.eer.defined else ""
        self.fill(columns, rows or [reason_row(why or tr("no two identities come close"), len(columns))])

    def _on_tapped(self, row: int, column: int) -> None:
        side = self.view.side if self.view is not None else None
        if side is not None and row < len(side.report.confusable):
            one = side.report.confusable[row]
            self.listed.emit(lambda now: now.between_people(one.first, one.second))


class ThresholdBench(QWidget):
    """Choose a target FAR, see what the threshold of A does to B, write a policy."""

    listed = Signal(object)
    operated = Signal(object)  # Operating
    asked = Signal(str)  # an action's id

    def __init__(self) -> None:
        super().__init__()
        self.view: Standpoint | None = None
        self._lines: list[tuple[str, str, float | None]] = []  # words, model, threshold
        self.table = ResultTable(tr("Thresholds"), large=True)
        self.table.tapped.connect(self._on_tapped)
        self.target = Combo()
        self.target.setAccessibleName(tr("Target FAR"))
        self.target.setToolTip(tr("The false accept rate a policy promises; the threshold follows"))
        self.target.activated.connect(lambda _: self.operated.emit(Operating(self.target.currentData())))
        self.policy = QPushButton(tr("Export policy…"))
        self.policy.setToolTip(tr("Writes threshold, target, real rates and what they rest on as JSON"))
        self.policy.clicked.connect(lambda: self.asked.emit("evaluate.policy"))
        self.sentence = label(name="small", wrap=True)
        row = QHBoxLayout()
        row.setContentsMargins(10, 8, 10, 6)
        row.setSpacing(6)
        row.addWidget(label(tr("Target FAR"), name="sub"))
        row.addWidget(self.target)
        row.addSpacing(8)
        row.addWidget(self.sentence, 1)
        row.addWidget(self.policy)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(row)
        column.addWidget(self.table, 1)

    def show_view(self, view: Standpoint) -> None:
        """Fill the bench."""
        self.view = view
        self._offer(view)
        self._lines = self._thresholds(view)
        columns = [
            Column(tr("model"), align="left", share=1.2),
            Column(tr("threshold"), tr("Accepted at or above it"), share=0.4),
            Column(tr("real FAR [95 %]"), tr("Of this threshold, whoever is photographed; lower is stricter")),
            Column(tr("TAR [95 %]"), tr("Of this threshold, whoever is photographed; higher is better")),
            Column(tr("false matches"), tr("Impostor pairs that are accepted"), share=0.4),
            Column(tr("false non-matches"), tr("Genuine pairs that are refused"), share=0.4),
        ]
        self.table.fill(columns, [self._row(view, *line) for line in self._lines])
        self.sentence.setText(self._words(view))

    def _offer(self, view: Standpoint) -> None:
        """The target FARs, that of the line first where it stands between them."""
        live = [(figures(view.live), view.live)] if view.live is not None else []
        offered = [*live, *((rate(far), far) for far in view.targets)]
        with QSignalBlocker(self.target):
            while self.target.count() > len(offered):
                self.target.removeItem(self.target.count() - 1)
            for i, (text, far) in enumerate(offered):
                if i == self.target.count():
                    self.target.addItem(text, far)
                elif self.target.itemData(i) != far:
                    self.target.setItemText(i, text)
                    self.target.setItemData(i, far)
            self.target.setCurrentIndex(0 if live else max(0, self.target.findData(view.operating.far)))

    def _thresholds(self, view: Standpoint) -> list[tuple[str, str, float | None]]:
        lines = []
        for side in view.sides:
            words = tr("{letter}  {name}", letter=side.letter, name=view.names[side.letter])
            lines.append((words, side.letter, view.threshold(side.letter)))
        if view.both:
            lines.insert(1, (tr("B  with the threshold of A"), "B", view.threshold("A")))
        return lines

    def _row(self, view: Standpoint, words: str, letter: str, threshold: float | None) -> list[Cell]:
        side = view.side_of(letter)
        here = view.at_threshold(side, threshold) if side is not None and threshold is not None else None
        if side is None or here is None or threshold is None:
            why = _no_threshold(view, side)
            return [Cell(words), Cell(why, why=True, span=5), *(Cell() for _ in range(4))]
        return [
            Cell(words),
            Cell(number(threshold, 3), taps=True),
            Cell(far_text(here), taps=True),
            measure_cell(here.tar, taps=True),
            Cell(f"{here.false_matches:,}", taps=True),
            Cell(f"{here.false_non_matches:,}", taps=True),
        ]

    def _words(self, view: Standpoint) -> str:
        b = view.side_of("B")
        if not view.both or b is None:
            return tr("With a second model, the threshold of A can be carried over to B.")
        threshold = view.threshold("A")
        there = view.at_threshold(b, threshold) if threshold is not None else None
        if there is None:
            return tr("Model A has no threshold for this FAR.")
        ratio = there.far / view.operating.far if view.operating.far else 0.0
        times = tr("{x} times the target", x=f"{ratio:.2g}") if ratio > 0 else tr("it accepts no impostor pair")
        words = tr("Carried over unchanged, the threshold of A gives B a FAR of {far}", far=far_text(there))
        return f"{words}: {times}."

    def _on_tapped(self, row: int, column: int) -> None:
        _, letter, threshold = self._lines[row]
        if threshold is None or column == 0:
            return
        genuine = {3: True, 4: False, 5: True}.get(column)
        self.listed.emit(lambda now: now.errors(letter, genuine=genuine, threshold=threshold))


def _signed(value: str) -> str:
    """A number or a range of them with the true minus sign; other values as they are.

    >>> _signed("-40 to -1e-05"), _signed("semi-profile")
    ('−40 to −1e-05', 'semi-profile')
    """
    ends = value.split(" to ")
    if not all(NUMBER.fullmatch(end) for end in ends):
        return value
    return " to ".join(end.replace("-", "−", 1) if end.startswith("-") else end for end in ends)


def _far_cell(measure: Measure) -> Cell:
    """A rate that may be far below 0.0001, with its interval."""
    if not measure.defined or measure.value is None:
        return measure_cell(measure)
    shown = figures(measure.value)
    if measure.low is not None and measure.high is not None:
        shown += f" [{figures(measure.low)}, {figures(measure.high)}]"
    return Cell(shown, taps=True, tip=tr("N = {n}", n=measure.n) if measure.n else "")


def _no_threshold(view: Standpoint, side: Side | None) -> str:
    if side is None:
        return tr("not evaluated")
    if not side.verification.eer.defined:
        return side.verification.eer.text()
    return tr("no threshold accepts so few impostor pairs")
