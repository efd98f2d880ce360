"""Match sheets: what the sheets of a search need beyond the search itself, worked out where they are drawn.

The same query under other occlusions, the flow of every face that comes first, and every way to weigh patches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from facelens.analyses import flow_picture
from facelens.analyses.plan import PATCH_WEIGHTS
from facelens.analyses.reranking import blended, order
from facelens.errors import InputError
from facelens.figures.retrieved import TOP, Block, Hit
from facelens.figures.transport import Match
from facelens.images import dense
from facelens.images.occlusion import TRIED, Occlusion, title
from facelens.progress import Tick, part_of, silent
from facelens.session import matching
from facelens.session.ground import Ground
from facelens.session.matched import Subject
from facelens.session.matching import Searched
from facelens.words import tr

SEARCHED = ("none", "mask", "sunglasses", "crop70")  # as published
WEIGHED = ("none", "mask", "sunglasses")


@dataclass(frozen=True, eq=False)
class Sheets:
    """A search whose subject is known, and the ground that it was done on."""

    ground: Ground
    subject: Subject
    face: int  # the query

    @property
    def searched(self) -> Searched:
        """What was found."""
        assert self.subject.searched is not None
        return self.subject.searched

    def kinds(self, usual: Sequence[str]) -> list[Occlusion]:
        """Nothing, the usual occlusions, and what is painted now where it is none of them."""
        now = self.searched.occlusion
        every = [now if kind == now.kind else Occlusion(kind) for kind in usual]
        return every if now.clear or now.kind in usual else [*every, now]

    def found(self, occlusion: Occlusion, *, tick: Tick) -> Searched:
        """The same query, painted otherwise."""
        if occlusion == self.searched.occlusion or (occlusion.clear and self.searched.occlusion.clear):
            return self.searched
        return matching.search(self.ground, self.face, self.subject.plan, occlusion=occlusion, tick=tick)

    def block(self, occlusion: Occlusion, *, tick: Tick = silent) -> Block:
        """Who comes first, and the flow of those who do after the second stage."""
        plan = self.subject.plan
        searched = self.found(occlusion, tick=part_of(tick, 0, 2))
        subject = replace(self.subject, searched=searched)
        found, places = searched.found, order(searched.found, alpha=plan.alpha)
        distance = blended(found.cosine, found.emd, alpha=plan.alpha)
        right = searched.right if subject.known else None
        query = subject.query()

        def hit(place: int, value: float, *, flow: bool) -> Hit:
            face = int(found.ids[place])
            made = None
            if flow:
                pair = matching.explain(self.ground, self.face, face, plan, occlusion=occlusion)
                told, size = pair.found, query.size
                made = flow_picture.moved(told.flow, pair.gallery.crop, told.gallery_grid, told.grid, size)
            return Hit(face, value, None if right is None else bool(right[place]), made)

        before = [hit(place, float(found.cosine[place]), flow=False) for place in range(min(TOP, len(found.ids)))]
        after = []
        for rank, place in enumerate(places[:TOP].tolist()):
            part_of(tick, 1, 2)(rank, TOP, tr("Matching patches"))
            after.append(hit(place, float(distance[place]), flow=True))
        first = (searched.first, searched.after(plan.alpha)) if right is not None else None
        return Block(_title(occlusion), query, before, after, first)

    def ranks(self, known: Mapping[str, Searched], *, tick: Tick = silent) -> dict[str, tuple[int, int]]:
        """Where the first right face stands before and after, by kind of occlusion; `known` are searches at hand."""
        made, kinds = {}, self.kinds(TRIED)
        for i, one in enumerate(kinds):
            found = known.get(one.kind) or self.found(one, tick=part_of(tick, i, len(kinds)))
            made[one.kind] = found.first, found.after(self.subject.plan.alpha)
        return made

    def blocks(self, *, tick: Tick = silent) -> list[Block]:
        """The query as it is, and with what is usually painted on it."""
        kinds = self.kinds(SEARCHED)
        return [self.block(one, tick=part_of(tick, i, len(kinds))) for i, one in enumerate(kinds)]

    # Ways to weigh

    def weights(self) -> tuple[str, ...]:
        """All that say something here; what needs equal dimensions is tried."""
        home = self.ground.home
        known = home.landmarks is not None or dense.points(home, np.arange(min(len(home), 1))) is not None
        return tuple(kind for kind in PATCH_WEIGHTS if kind != "lmk" or known)

    def weighed(
        self, gallery: int, occlusion: Occlusion, kinds: Sequence[str], *, tick: Tick = silent
    ) -> dict[str, Match]:
        """The query and one face by each way to weigh patches; a way that cannot be gone is left out."""
        made: dict[str, Match] = {}
        problem: InputError | None = None
        for i, kind in enumerate(kinds):
            tick(i, len(kinds), tr("Matching patches"))
            plan = replace(self.subject.plan, weights=kind)
            try:
                pair = matching.explain(self.ground, self.face, gallery, plan, occlusion=occlusion)
            except InputError as error:  # patches of other dimensions than the embedding, for one
                problem = error
                continue
            match = self.subject.match(pair)
            shown = replace(match.query, picture=pair.query.crop, points=pair.query.points)
            made[kind] = replace(match, query=shown)
        if not made and problem is not None:
            raise problem
        return made

    def by_occlusion(self, gallery: int, *, tick: Tick = silent) -> list[tuple[str, dict[str, Match]]]:
        """The weights of each way, by what is painted on the query; uniform ones have nothing to show."""
        kinds = tuple(kind for kind in self.weights() if kind != "uniform")
        every = self.kinds(WEIGHED)
        return [
            (_title(one), self.weighed(gallery, one, kinds, tick=part_of(tick, i, len(every))))
            for i, one in enumerate(every)
        ]


def _title(occlusion: Occlusion) -> str:
    """What is done to the query."""
    return tr("As it is") if occlusion.clear else title(occlusion.kind)
