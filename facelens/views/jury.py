"""How the parts of an embedding vote: on one pair, or on many pairs of a kind among the selected faces.

Boxes leave parts out: score, decision, rank and rates follow, and what is left out stays as a hatched bar. A click on
a face of the pair looks at it, a click on a row makes its part the current one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QMenu, QStackedWidget, QVBoxLayout, QWidget

from facelens.analyses.jury import WHICH, Average, Ruling, Standing, Verdict
from facelens.analyses.measure import Measure, rate
from facelens.analyses.parts import Layout
from facelens.figures.part_words import PAIRS, part_name
from facelens.images.faceset import FaceSet
from facelens.views import marks, theme
from facelens.views.ballots import Ballot, Ballots
from facelens.views.controls import EmptyState, Segmented, draw_text, label, plain_tip, text_width
from facelens.views.hover import Line
from facelens.views.painted import STEP, PaintedFaces
from facelens.views.panel import Desk
from facelens.views.part_controls import MATCH_WORDS
from facelens.words import number, plural, tr

EDGE, GAP = 12, 6  # px at the sides, between the two faces
LARGEST, SMALLEST = 72, 48  # px of a face
BESIDE = 206  # px that the words beside the faces want
TOP, RATES = 8, 18  # px over the faces, and of the line under them
LEAD, LEADING = 22, 18  # px of the number that leads, and where there is little room
WAITING = "…"


def voters(kept: np.ndarray, layout: Layout) -> str:
    """How many vote: "14 of 16 parts"."""
    words = {"learners": tr("{n} of {k} learners"), "slices": tr("{n} of {k} slices")}
    text = words.get(layout.kind, tr("{n} of {k} parts"))
    return text.format(n=int(np.count_nonzero(kept)), k=len(kept))


def all_of(layout: Layout) -> str:
    """All parts, as they are called."""
    return {"learners": tr("all learners"), "slices": tr("all slices")}.get(layout.kind, tr("all parts"))


class PairHead(PaintedFaces):
    """Two faces, the score, what it decides, where the second stands in the list of the first, and the rates."""

    looked = Signal(object)  # id of a face

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(desk, parent)
        self._faces: FaceSet | None = None
        self._verdict: Verdict | None = None
        self._ruling: Ruling | None = None
        self._layout: Layout | None = None
        self._match = "cosine"
        self._decimals = 3
        self._standing: Standing | None = None
        self._rates = ""
        self._place = -1  # the face that the keyboard is at
        self.setAccessibleName(tr("Verdict on the pair"))
        self.setFixedHeight(TOP + LARGEST + RATES + 6)

    # What is shown

    def show_verdict(
        self, faces: FaceSet, verdict: Verdict, ruling: Ruling, layout: Layout, *, match: str, decimals: int
    ) -> None:
        """Another pair, or other parts."""
        self._faces, self._verdict, self._ruling, self._layout = faces, verdict, ruling, layout
        self._match, self._decimals = match, decimals
        self._tell()

    def show_standing(self, standing: Standing | None) -> None:
        """Where the gallery face stands; None: it is being worked out."""
        self._standing = standing
        self._tell()

    def show_rates(self, text: str) -> None:
        """What the parts reach over all pairs."""
        self._rates = text
        self._tell()

    def _tell(self) -> None:
        self.setToolTip(plain_tip("\n".join(self.sentences())))
        self.tell_screen_readers()
        self.update()

    def sentences(self) -> list[str]:
        """All that is said."""
        if self._verdict is None:
            return []
        decided, named = self.decision()
        said = [f"{self._caption()}: {self._score()}", ", ".join(filter(None, (decided, named)))]
        return [line for line in (*said, self._limit(), self._rank(), self._rates) if line]

    def _number(self, value: float) -> str:
        return number(value, self._decimals) if np.isfinite(value) else tr("n/a")

    def _score(self) -> str:
        assert self._verdict is not None
        return tr("no score") if self._verdict.why else self._number(self._verdict.score)

    def _caption(self) -> str:
        assert self._verdict is not None and self._layout is not None
        return f"{tr(MATCH_WORDS[self._match][0])}, {voters(self._verdict.kept, self._layout)}"

    def decision(self) -> tuple[str, str]:
        """What the score decides, and what the names say to that."""
        assert self._verdict is not None
        verdict = self._verdict
        if verdict.same is None:
            return verdict.why or tr("no decision"), ""
        decided = tr("same person") if verdict.same else tr("different people")
        if verdict.genuine is None:
            return decided, tr("names not known")
        return decided, tr("right by name") if verdict.same == verdict.genuine else tr("wrong by name")

    def _limit(self) -> str:
        assert self._verdict is not None and self._ruling is not None
        assert self._layout is not None
        threshold, far = self._ruling.threshold, rate(self._ruling.far)
        whole = f"{all_of(self._layout)} {self._number(self._verdict.whole)}"
        if self._verdict.why:
            return whole
        if self._verdict.kept.all():
            if threshold is None:
                return tr("no threshold at FAR {far}", far=far)
            return tr("threshold {t} at FAR {far}", t=self._number(threshold), far=far)
        at = tr("no threshold") if threshold is None else tr("threshold {t}", t=self._number(threshold))
        return f"{whole} · {at}"

    def _rank(self) -> str:
        assert self._verdict is not None
        now = self._standing
        if now is None:
            return tr("rank {r}", r=WAITING)
        place = tr("{place} of {n}", place=_change(now.before, now.after), n=now.of)
        if self._verdict.genuine:
            return tr("rank of the mate {place}", place=place)
        if not now.mate_before or self._verdict.why:
            return tr("rank {place}", place=place)
        return tr("rank {place} · mate {mate}", place=place, mate=_change(now.mate_before, now.mate_after))

    def current_text(self) -> str:
        lines = self.sentences()
        if self._verdict is not None and self._place >= 0:
            face = (self._verdict.query, self._verdict.gallery)[self._place]
            row = self._faces.row_of(face) if self._faces is not None else None
            if self._faces is not None and row is not None:
                lines.insert(0, self._faces.label(row))
        return ". ".join(lines)

    # Where things are

    def _side(self) -> int:
        room = (self.width() - 2 * EDGE - 2 * GAP - BESIDE) // 2
        return int(min(max(room // STEP * STEP, SMALLEST), LARGEST))

    def boxes(self) -> tuple[QRectF, QRectF]:
        """Where the two faces are."""
        side = self._side()
        return QRectF(EDGE, TOP, side, side), QRectF(EDGE + side + GAP, TOP, side, side)

    def face_at(self, point: QPointF) -> tuple[int, QRectF] | None:
        if self._verdict is not None:
            for face, box in zip((self._verdict.query, self._verdict.gallery), self.boxes()):
                if box.contains(point):
                    return face, box
        return None

    def lines(self, face: int) -> Sequence[Line]:
        assert self._verdict is not None
        if face == self._verdict.query:
            return [tr("searches: ranks are those of its list")]
        return [tr("is compared with it"), self._rank()]

    def minimumSizeHint(self) -> QSize:
        return QSize(240, self.height())

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, now, verdict = QPainter(self), theme.current(), self._verdict
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(self.rect(), now.q("base"))
        if verdict is None:
            return
        for place, (face, box) in enumerate(zip((verdict.query, verdict.gallery), self.boxes())):
            self.paint_face(painter, face, box)
            self.paint_ring(painter, face, box)
            if place == self._place and self.hasFocus():
                painter.setPen(QPen(now.q("accent"), 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(box.adjusted(-4, -4, 4, 4), 6, 6)
        left = self.boxes()[1].right() + 2 * GAP
        room = self.width() - left - 4
        draw_text(painter, QRectF(left, TOP - 2, room, 14), self._caption(), "text3", 10)
        self._paint_decision(painter, QRectF(left, TOP + 12, room, 28), verdict)
        for line, y in ((self._limit(), 44), (self._rank(), 58)):
            draw_text(painter, QRectF(left, TOP + y, room, 14), line, "text2", 10)
        under = QRectF(EDGE, self.height() - RATES - 4, self.width() - EDGE - 4, RATES)
        draw_text(painter, under, self._rates, "text2", 10)

    def _paint_decision(self, painter: QPainter, box: QRectF, verdict: Verdict) -> None:
        score = self._score()
        room = box.width() - text_width(self.decision()[0], 12) - 30
        px = LEAD if text_width(score, LEAD, True) < room else LEADING
        draw_text(painter, box, score, "text3" if verdict.why else "text", px, bold=True)
        decided, named = self.decision()
        x = box.left() + text_width(score, px, True) + 10
        right = None if verdict.same is None or verdict.genuine is None else verdict.same == verdict.genuine
        if right is not None:
            mark = QRectF(x + 0.5, box.top() + 0.5, 14, 14)
            (marks.right if right else marks.wrong)(painter, mark, theme.current())
        shift = 19 if right is not None else 0
        room = box.right() - x
        first = QRectF(x + shift, box.top(), room - shift, 15 if named else box.height())
        draw_text(painter, first, decided, "text" if verdict.same is not None else "text2", 12)
        ink = "text3" if right is None else "good" if right else "bad"
        draw_text(painter, QRectF(x + shift, box.top() + 14, room - shift, 14), named, ink, 10)

    # Hands

    def mousePressEvent(self, event: QMouseEvent) -> None:
        found = self.face_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and found is not None:
            self.looked.emit(found[0])

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        found = self.face_at(event.position())
        if found is not None:
            self.open_face(found[0])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, verdict = event.key(), self._verdict
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and verdict is not None:
            self._place = int(key == Qt.Key.Key_Right)
            self.tell_screen_readers(aloud=True)
            self.update()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and verdict is not None and self._place >= 0:
            self.looked.emit((verdict.query, verdict.gallery)[self._place])
        else:
            super().keyPressEvent(event)


class SelectionHead(QWidget):
    """Which pairs, how many there are, and which part stands out."""

    def __init__(self) -> None:
        super().__init__()
        self._n = self._kind = self._among = self._finding = ""
        self.which = QComboBox()
        self.which.setAccessibleName(tr("Which pairs"))
        self.which.setToolTip(tr("Whose votes are averaged, among the selected faces or over the gallery"))
        for key in WHICH:
            self.which.addItem(tr(PAIRS[key]), key)
        row = QHBoxLayout(self)
        row.setContentsMargins(EDGE, TOP, EDGE, 0)
        row.setSpacing(6)
        row.addWidget(label(tr("Pairs"), name="sub"))
        row.addWidget(self.which)
        row.addStretch(1)
        row.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.setAccessibleName(tr("Average vote"))
        self.setFixedHeight(TOP + LARGEST + RATES + 6)

    def tell(self, n: int, kind: str, among: str, finding: str) -> None:
        """Another average."""
        self._n, self._kind, self._among, self._finding = f"{n:,}", kind, among, finding
        text = f"{self._n} {kind} {among}. {finding}"
        self.setAccessibleDescription(text)
        self.setToolTip(plain_tip(text))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, room = QPainter(self), self.width() - EDGE - 4
        painter.fillRect(self.rect(), theme.current().q("base"))
        draw_text(painter, QRectF(EDGE, 40, room, 26), self._n, "text", LEAD, bold=True)
        x = EDGE + text_width(self._n, LEAD, True) + 10
        draw_text(painter, QRectF(x, 40, room + EDGE - x, 14), self._kind, "text", 12)
        draw_text(painter, QRectF(x, 54, room + EDGE - x, 14), self._among, "text3", 10)
        draw_text(painter, QRectF(EDGE, self.height() - RATES - 8, room, RATES), self._finding, "text2", 11)


class _Foot(QWidget):
    """One line at the foot: what disagrees, and what the votes add up to."""

    def __init__(self) -> None:
        super().__init__()
        self.left = self.right = ""
        self.setFixedHeight(26)

    def tell(self, left: str, right: str, tip: str) -> None:
        """Other words; `tip` says what they mean."""
        self.left, self.right = left, right
        self.setAccessibleName(left or right)
        self.setAccessibleDescription(right)
        self.setToolTip(plain_tip("\n".join(filter(None, (left, tip)))))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, now = QPainter(self), theme.current()
        painter.fillRect(self.rect(), now.q("base"))
        painter.setPen(QPen(now.q("line"), 1))
        painter.drawLine(QPointF(EDGE, 0.5), QPointF(self.width() - EDGE, 0.5))
        inner = QRectF(EDGE, 1, self.width() - 2 * EDGE, self.height() - 2)
        draw_text(painter, inner, self.right, "text", 12, bold=True, align="right")
        inner.setWidth(inner.width() - text_width(self.right, 12, True) - 12)
        draw_text(painter, inner, self.left, "text2", 10)


class Jury(QWidget):
    """See the module's words. Nothing is emitted by `show_*` and `set_*`."""

    left_out_changed = Signal(object)  # tuple of the parts that do not vote
    part_chosen = Signal(int)
    look = Signal(object)  # id of a face
    which_changed = Signal(str)  # of WHICH

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ballot: Ballot | None = None
        self.mode = Segmented([("pair", tr("Pair")), ("selection", tr("Selection"))], label=tr("Votes on"), height=22)
        self.mode.button("pair").setToolTip(tr("The two faces that were clicked last"))
        self.mode.button("selection").setToolTip(tr("All pairs of a kind among the selected faces"))
        self.pair = PairHead(desk)
        self.selection = SelectionHead()
        self.ballots = Ballots()
        self.foot = _Foot()
        self.empty = EmptyState("compare", "")
        self.pair.looked.connect(self.look)
        self.selection.which.activated.connect(lambda _: self.which_changed.emit(self.which))
        self.ballots.ticked.connect(self._on_ticked)
        self.ballots.chosen.connect(self.part_chosen)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for part in (self.pair, self.selection, self.ballots, self.foot):
            column.addWidget(part, int(part is self.ballots))
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        self.pages.addWidget(body)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.pages)
        self.menu = QMenu(self)
        self.menu.aboutToShow.connect(self._fill_menu)
        self._fill_menu()
        self.setMinimumWidth(240)

    @property
    def which(self) -> str:
        """Which pairs are averaged, of WHICH."""
        return str(self.selection.which.currentData())

    def set_which(self, which: str) -> None:
        """Show a choice as made."""
        with QSignalBlocker(self.selection.which):
            self.selection.which.setCurrentIndex(WHICH.index(which))

    # What is shown

    def show_verdict(self, faces: FaceSet, verdict: Verdict, ruling: Ruling, layout: Layout, *, match: str) -> None:
        """How the parts vote on a pair of `faces`."""
        ballot = Ballot(
            layout,
            verdict.votes,
            verdict.kept,
            marks=ruling.share,
            mark=tr("fair share") if ruling.threshold is not None else "",
            against=verdict.disagree,
        )
        self._show(ballot, self.pair)
        self.pair.show_verdict(faces, verdict, ruling, layout, match=match, decimals=ballot.decimals)
        total = number(verdict.score, ballot.decimals)
        self.foot.tell(
            _disagreement(verdict),
            tr("no score") if verdict.why else tr("Σ = {score}", score=total),
            tr("A part disagrees where its vote lies on the other side of its fair share of the threshold than the "
               "score of the threshold. Fair: what it gives impostors, and as much of the rest as any other part."),
        )  # fmt: skip

    def show_standing(self, standing: Standing | None) -> None:
        """Ranks of the pair that is shown; None while they are worked out."""
        self.pair.show_standing(standing)

    def show_rates(self, ruling: Ruling, whole: Ruling, recall: Measure | None, whole_recall: Measure | None) -> None:
        """What the parts kept reach and what all parts do; None while it is searched for."""
        if not ruling.kept.any():
            self.pair.show_rates("")
            return
        same = bool(ruling.kept.all())
        tar = _rates(None if same else whole.tar, ruling.tar)
        found = WAITING if recall is None else _rates(None if same else whole_recall, recall)
        self.pair.show_rates(
            tr("TAR {tar} at FAR {far} · Recall@1 {recall}", tar=tar, far=rate(ruling.far), recall=found)
        )

    def show_average(self, average: Average, ruling: Ruling, layout: Layout) -> None:
        """How the parts vote on many pairs, beside what is usual."""
        alike = average.which == "false non-matches"
        usual = ruling.genuine if alike else ruling.typical
        mark = tr("usual, genuine") if alike else tr("usual, impostors")
        kept = ruling.kept
        ballot = Ballot(layout, average.votes, kept, marks=usual, mark=mark, low=average.low, high=average.high)
        self._show(ballot, self.selection)
        self.set_which(average.which)
        of = tr("of {pairs}", pairs=average.among)
        self.selection.tell(average.n, tr(PAIRS[average.which]), of, _finding(average, ballot))
        if average.why:
            self.foot.tell(tr("With nothing selected: the whole gallery"), "", "")
            return
        total = number(float(average.votes[kept].sum()), ballot.decimals)
        tip = tr("Half of the pairs lie between the ends of a line, a quarter on either side.")
        self.foot.tell(tr("lines: the middle half"), tr("mean Σ = {score}", score=total), tip)

    def show_nothing(self, title: str, text: str) -> None:
        """Why there are no votes, and what to do."""
        self._ballot = None
        self.empty.set_message(title, text)
        self.pages.setCurrentWidget(self.empty)

    def set_part(self, part: int) -> None:
        """Another part is the current one."""
        self.ballots.set_part(part)

    def _show(self, ballot: Ballot, head: QWidget) -> None:
        self._ballot = ballot
        for one in (self.pair, self.selection):
            one.setVisible(one is head)
        self.ballots.show_ballot(ballot)
        self.pages.setCurrentIndex(1)

    # Who votes

    def _on_ticked(self, part: int) -> None:
        assert self._ballot is not None
        kept = self._ballot.kept.copy()
        kept[part] = not kept[part]
        self._keep(kept)

    def _keep(self, kept: np.ndarray) -> None:
        self.left_out_changed.emit(tuple(int(part) for part in np.flatnonzero(~kept)))

    def _fill_menu(self) -> None:
        self.menu.clear()
        ballot, part = self._ballot, self.ballots.part
        K = len(ballot.votes) if ballot is not None else 0
        here = np.arange(K)
        against = np.isin(here, ballot.against) if ballot is not None else np.zeros(0, bool)
        named = part_name(ballot.layout, part) if ballot is not None and 0 <= part < K else tr("this part")
        for text, kept, possible in (
            (tr("All vote"), np.ones(K, bool), K > 0),
            (tr("None votes"), np.zeros(K, bool), K > 0),
            (tr("Only {part}", part=named), here == part, 0 <= part < K),
            (tr("All but {part}", part=named), here != part, 0 <= part < K),
            (tr("Leave out those that disagree"), ~against & (ballot.kept if ballot is not None else against),
             bool(against.any())),
        ):  # fmt: skip
            action = self.menu.addAction(text)
            action.setEnabled(possible and ballot is not None and not np.array_equal(kept, ballot.kept))
            action.triggered.connect(lambda _=False, kept=kept: self._keep(kept))


# Words


def _change(before: int, after: int) -> str:
    """A place in a list before and after parts were left out; 0 is none."""
    first, second = (f"{place:,}" if place else tr("none") for place in (before, after))
    return first if before == after else f"{first} → {second}"


def _rates(before: Measure | None, after: Measure) -> str:
    """A rate with all parts and with those kept."""
    shown = [
        number(one.value, 3) if one.value is not None and one.supported else tr("n/a")
        for one in (before, after)
        if one is not None
    ]
    return " → ".join(dict.fromkeys(shown))


def _disagreement(verdict: Verdict) -> str:
    """Which of those that vote speak against the decision."""
    voting = int(np.count_nonzero(verdict.kept))
    if verdict.same is None:
        return verdict.why
    n = len(verdict.disagree)
    if not n:
        return tr("all {n} agree", n=voting) if voting > 1 else ""
    listed = ", ".join(str(part + 1) for part in verdict.disagree)
    some = plural(n, "≠ {n} of {{voting}} disagrees: {{parts}}", "≠ {n} of {{voting}} disagree: {{parts}}")
    return some.format(voting=voting, parts=listed)


def _finding(average: Average, ballot: Ballot) -> str:
    """Which part stands out most among these pairs, beside its usual vote."""
    more = average.votes - ballot.marks
    if average.why or not np.isfinite(more).any():
        return average.why[:1].upper() + average.why[1:]
    short = average.which == "false non-matches"
    part = int(np.nanargmin(more) if short else np.nanargmax(more))
    by, named = float(more[part]), part_name(ballot.layout, part).capitalize()
    if short:
        by_words = number(-by, ballot.decimals)
        return tr("{part} falls shortest: {by} below its usual vote.", part=named, by=by_words)
    if average.which == "genuine":
        return tr("{part} tells most: {by} above its vote on impostors.", part=named, by=ballot.text(by))
    return tr("{part} adds most: {by} above its usual vote.", part=named, by=ballot.text(by))
