"""The work behind the jury: who stands before it, what was ruled, and what is worked out while one goes on looking."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QTimer, Signal

from facelens.features.featureset import FeatureSet
from facelens.progress import Tick, silent
from facelens.session.depicting import matched_by, voting
from facelens.session.jobs import Job, Request, State
from facelens.session.selection import Selection
from facelens.views.panel import Desk, while_there
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.analyses.jury import Average, Bench, Lineup, Ruling, Verdict
    from facelens.analyses.measure import Measure
    from facelens.analyses.parts import Parts
    from facelens.views.jury import Jury

PATIENCE = 250  # ms after the last tick of a box before rates are searched for
FEW = 200  # selected faces whose pairs are averaged at once; those of more in a thread
Key = tuple[object, ...]


class Court(QObject):
    """Puts verdicts and averages before a Jury. The pair is that of the selection, or the two faces looked at last."""

    told = Signal(str)  # what is shown now, in words

    def __init__(self, desk: Desk, jury: Jury, parent: QObject) -> None:
        super().__init__(parent)
        self.desk, self.jury = desk, jury
        self.parts: Parts | None = None
        self.pair: tuple[int, int] | None = None
        self.verdict: Verdict | None = None
        self._last = Selection()
        self._bench: tuple[str, Bench] | None = None  # by how parts are matched
        self._lineup: tuple[Key, Lineup] | None = None  # the query before every face
        self._rulings: dict[Key, Ruling] = {}
        self._recalls: dict[Key, Measure] = {}
        self._averages: tuple[Key, Average] | None = None
        self._under_way: dict[str, object] = {}  # slot -> what is being worked out, or has failed
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(PATIENCE)
        self._later.timeout.connect(self._search)
        jury.left_out_changed.connect(lambda parts: desk.store.update(left_out=tuple(parts), initiator=self))
        jury.which_changed.connect(lambda _: self.show())
        jury.mode.changed.connect(lambda _: self.show())

    def close(self) -> None:
        """Nothing is searched for any more."""
        self._later.stop()

    def set_parts(self, parts: Parts | None) -> None:
        """Other parts, or those of other faces: nothing that was ruled holds."""
        self.parts, self.verdict = parts, None
        self._bench = self._lineup = self._averages = None
        self._rulings, self._recalls, self._under_way = {}, {}, {}
        if parts is not None and self.pair is not None and None in map(parts.row_of, self.pair):
            self.pair = None

    def follow(self, now: Selection) -> None:
        """The pair that the selection has, or the last two faces that were looked at."""
        if now.pair is not None and now.pair != self._last.pair:
            self.pair = now.pair
        elif now.current is not None and now.current != self._last.current:
            before = self.pair[1] if self.pair is not None else self._last.current
            if before is not None and before != now.current:
                self.pair = (before, now.current)
        self._last = now

    def show(self) -> None:
        """Show what the jury says now."""
        if self.parts is None or self.parts is not self.desk.workspace.parts:  # hidden, and others are asked for by now
            return
        if self._bench is None or self._bench[0] != self._match():
            self._seat()
        elif self.jury.mode.value() == "selection":
            self._show_average()
        else:
            self._show_pair()

    def case(self) -> dict[str, Any]:
        """The pair before the jury, as a figure of it is drawn."""
        ready = self._bench is not None and self._bench[0] == self._match()
        return {
            "verdict": self.verdict if ready else None,
            "ruling": self._ruling(self._kept()) if ready else None,
            "match": self._match(),
        }

    # -- what is asked

    def _features(self) -> FeatureSet | None:
        return self.desk.workspace.features.get(self.desk.workspace.resolved_parts.model)

    def _kept(self) -> NDArray[np.bool_]:
        assert self.parts is not None
        return voting(self.desk.workspace, self.parts)

    def _match(self) -> str:
        return matched_by(self.desk.workspace)

    def _ruling(self, kept: NDArray[np.bool_]) -> Ruling:
        assert self._bench is not None
        far = self.desk.workspace.resolved_parts.far
        key = (far, kept.tobytes())
        if key not in self._rulings:
            self._rulings[key] = self._bench[1].ruling(kept=kept, far=far)
        return self._rulings[key]

    # -- what is worked out aside

    def _aside(
        self,
        call: Callable[..., object],
        *args: Any,
        slot: str,
        key: object,
        title: str,
        then: Callable[[Any], None],
        **how: Any,
    ) -> None:
        """Run something for the parts that are shown, once for each key; what comes too late for them is dropped."""
        parts = self.parts
        if self._under_way.get(slot) == key:
            return
        self._under_way[slot] = key

        def done(job: Job) -> None:
            if job.state is State.FAILED:
                self.desk.notify(job.error, trace=job.trace)  # and not tried again for the same parts
                return
            self._under_way.pop(slot, None)
            if job.state is State.DONE and parts is self.parts is self.desk.workspace.parts:
                then(job.result)

        request = Request(title=title, call=call, args=args, slot=slot, unit="", **how)
        self.desk.jobs.submit(request, then=while_there(self, done))

    def _seat(self) -> None:
        match = self._match()

        def then(bench: Bench) -> None:
            self._bench, self._rulings, self._averages = (match, bench), {}, None
            self.show()

        self._aside(
            _benched, self.parts, match, slot="jury bench", key=match, title=tr("Thresholds"), then=then, place="thread"
        )

    def _search(self) -> None:
        """Recall@1 of the parts that vote, and of all; searched for when the boxes rest."""
        from facelens.analyses import jury

        features = self._features()
        if self.parts is None or features is None or not self.jury.isVisible() or self.jury.mode.value() == "selection":
            return
        match, kept = self._match(), self._kept()
        masks = [mask for mask in (kept, np.ones(len(kept), bool)) if mask.any()]
        mask = next((one for one in masks if (match, one.tobytes()) not in self._recalls), None)
        if mask is None:
            return

        def then(found: Measure) -> None:
            self._recalls[match, mask.tobytes()] = found
            self._show_rates()
            self._later.start()

        self._aside(
            jury.recall,
            self.parts,
            features,
            slot="jury recall",
            key=(match, mask.tobytes()),
            title=tr("Recall of {k} parts", k=int(mask.sum())),
            then=then,
            kwargs={"match": match, "kept": mask},
            short=True,
        )

    # -- a pair

    def _show_pair(self) -> None:
        from facelens.analyses import jury

        faces, parts, features = self.desk.workspace.faces, self.parts, self._features()
        assert parts is not None and faces is not None and features is not None
        pair = self.pair or self._example()
        if pair is None or None in map(parts.row_of, pair):
            self.verdict = None
            self.jury.show_nothing(tr("No pair yet"), tr("Click one face, then another: each part votes on the two."))
            return
        self.told.emit(tr("how each part votes on this pair") if self.pair else tr("an example, near the threshold"))
        kept, match = self._kept(), self._match()
        ruling = self._ruling(kept)
        self.verdict = jury.verdict(parts, features, *pair, match=match, kept=kept, ruling=ruling)
        self.jury.show_verdict(faces, self.verdict, ruling, parts.layout, match=match)
        self._show_rates()
        self._show_standing(pair)
        self._later.start()

    def _example(self) -> tuple[int, int] | None:
        """Before anybody clicked: the genuine pair whose score is nearest to the threshold."""
        from facelens.analyses.parts import votes_between

        parts = self.parts
        assert parts is not None
        pool = parts.pool
        threshold = self._ruling(np.ones(parts.layout.parts, bool)).threshold or 0.0
        some = np.flatnonzero(pool.genuine)[:5000]
        some = some if len(some) else np.arange(min(len(pool), 5000))
        a, b = pool.first[some], pool.second[some]
        score = votes_between(parts, a, b, pool.products[some], match=self._match()).sum(1)
        if not np.isfinite(score).any():
            return None
        place = int(np.nanargmin(np.abs(score - threshold)))
        return int(parts.ids[a[place]]), int(parts.ids[b[place]])

    def _show_rates(self) -> None:
        kept = self._kept()
        whole, match = np.ones(len(kept), bool), self._match()
        rates = (self._recalls.get((match, mask.tobytes())) for mask in (kept, whole))
        self.jury.show_rates(self._ruling(kept), self._ruling(whole), *rates)

    def _show_standing(self, pair: tuple[int, int]) -> None:
        """Where the second face stands in the list of the first; the list is kept for the next tick of a box."""
        key = (self._match(), pair[0])
        if self._lineup is not None and self._lineup[0] == key:
            self.jury.show_standing(self._lineup[1].standing(pair[1], kept=self._kept()))
            return
        self.jury.show_standing(None)

        def then(lineup: Lineup) -> None:
            self._lineup = key, lineup
            verdict = self.verdict
            if verdict is not None and (self._match(), verdict.query) == key:
                self._show_standing((verdict.query, verdict.gallery))

        args = (self._features(), self.parts, pair[0], key[0])
        self._aside(
            _lined_up, *args, slot="jury ranks", key=key, title=tr("Ranks of a face"), then=then, place="thread"
        )

    # -- many pairs

    def _show_average(self) -> None:
        from facelens.analyses import jury

        parts, features, ids = self.parts, self._features(), self.desk.workspace.selection.ids
        assert parts is not None and self._bench is not None and features is not None
        self.told.emit(tr("how each part votes on these pairs"))
        kept, match, which = self._kept(), self._match(), self.jury.which
        ruling = self._ruling(kept)
        how: dict[str, Any] = {
            "which": which,
            "ids": ids,
            "match": match,
            "kept": kept,
            "ruling": ruling,
            "bench": self._bench[1],
        }
        key = (which, ids.tobytes(), match, kept.tobytes(), ruling.far)
        if self._averages is not None and self._averages[0] == key:
            self.jury.show_average(self._averages[1], ruling, parts.layout)
        elif len(ids) <= FEW and len(parts.pool) <= 50_000:
            self.jury.show_average(jury.average(parts, features, **how), ruling, parts.layout)
        else:

            def then(found: Average) -> None:
                self._averages = key, found
                self.show()

            words = tr("Votes on many pairs")
            self._aside(
                _averaged,
                parts,
                features,
                slot="jury average",
                key=key,
                title=words,
                then=then,
                kwargs=how,
                place="thread",
            )


def _benched(parts: Parts, match: str, *, tick: Tick = silent) -> Bench:
    from facelens.analyses.jury import Bench

    tick(0, 1)
    return Bench(parts, match)


def _lined_up(features: FeatureSet, parts: Parts, query: int, match: str, *, tick: Tick = silent) -> Lineup:
    """One face before all others."""
    from facelens.analyses.jury import Lineup
    from facelens.analyses.parts import products

    tick(0, 1)
    return Lineup(parts, products(features, parts, query), query, match=match)


def _averaged(parts: Parts, features: FeatureSet, *, tick: Tick = silent, **how: Any) -> Average:
    from facelens.analyses import jury

    tick(0, 1)
    return jury.average(parts, features, **how)
