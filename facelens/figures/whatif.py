"""What came of feeding pictures in other ways: a rail for each way, and all numbers as a table.

The words of a number are the same on the screen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from facelens.analyses.measure import Measure
from facelens.errors import InputError
from facelens.features.whatif import RESAMPLES, Outcome, WhatIf
from facelens.figures.page import MARGIN
from facelens.figures.rails import Rails, reach, room_for
from facelens.figures.style import INK, style
from facelens.figures.tabular import Column, Table, draw_table
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIGITS = 4  # of a place: less than that is no more the same in another process


def heads(what: WhatIf) -> list[str]:
    """What stands over the columns of the table."""
    found = [tr("fed"), tr("separation ↑"), tr("gain, 98 %"), tr("same person"), tr("others"), tr("norm")]
    return found + ([tr("pair")] if _asked(what) else [])


def cells(what: WhatIf) -> list[list[str]]:
    """A row for each way, the card's first."""
    return [_row(one, first=not place, pair=_asked(what)) for place, one in enumerate(what.outcomes)]


def _asked(what: WhatIf) -> bool:
    return any(one.score is not None for one in what.outcomes)


def _row(one: Outcome, *, first: bool, pair: bool) -> list[str]:
    said = [_shown(one.separation, 2), "" if first else _gain(one), _shown(one.genuine, 3), _shown(one.impostor, 3)]
    said.append(_shown(one.norm, 1))
    return [one.variant.name, *said, *([_shown(one.score, 3)] if pair else [])]


def _gain(one: Outcome) -> str:
    low, high = one.gain
    return "" if math.isnan(low) else f"[{number(low, 2, sign=True)}, {number(high, 2, sign=True)}]"


def _shown(value: float | None, decimals: int) -> str:
    return tr("n/a") if value is None or math.isnan(value) else number(value, decimals=decimals)


def counted(what: WhatIf) -> str:
    """Of whom."""
    people = plural(what.people, "{n} person", "{n} people")
    return tr("{n} pictures of {people}", n=what.pictures, people=people)


def draw_feeding(what: WhatIf, *, gallery: str, model: str) -> Figure:
    """The separation of each way, with the interval of what it gains over the card."""
    base, places = what.outcomes[0].separation, [_measure(what.outcomes[0], one) for one in what.outcomes]
    limits = reach(places)
    if limits is None:
        raise InputError(
            tr("Without two pictures of one person and some of another, no way of feeding can be told from another."),
            hint=tr("Open a gallery that says who is on its pictures."),
        )
    better = {id(one) for one in what.better()}
    foot = [*_foot(what), tr("whisker: the gain over the card, added to what the card has"), tr("line: the card")]
    names = room_for([one.variant.name for one in what.outcomes], 7, least=1.4, most=2.6, bold=True)
    with style():
        told = _told(what, gallery, model)
        rails = Rails(_title(), told, len(places), limits, foot, row=0.24, names=names, above=0.2)
        rails.rates()
        if not math.isnan(base):
            rails.axes.axvline(round(base, DIGITS), color=INK["text3"], linewidth=1.1, linestyle=(0, (4, 2)), zorder=1)
        rails.head(tr("fed"), tr("separation, gain"))
        rails.page.text(
            MARGIN + rails.names, rails.top - 0.1, tr("separation, higher is better"), size=6.5, ink="text3"
        )
        for i, (one, place) in enumerate(zip(what.outcomes, places)):
            ink = "good" if id(one) in better else "text" if i else "text2"
            said = _shown(one.separation, 2) + (f"   {_gain(one)}" if i else "")
            rails.write(i, one.variant.name, said, ink=ink, bold=id(one) in better)
            rails.point(place, i, INK[ink], filled=bool(i))
        return rails.page.figure


def draw_feeding_table(what: WhatIf, *, gallery: str, model: str) -> Figure:
    """All numbers."""
    better = {id(one) for one in what.better()}
    bold = [place for place, one in enumerate(what.outcomes) if id(one) in better]
    names = room_for([one.variant.name for one in what.outcomes], 6.8, least=1.4, most=2.6, bold=True)
    columns = [Column(head, 0.82 if place != 1 else 1.15) for place, head in enumerate(heads(what)[1:])]
    table = Table([Column(heads(what)[0], names, right=False), *columns], cells(what), bold=bold, rules=[0])
    means = tr("same person, others: mean cosine of two pictures")
    return draw_table(_title(), _told(what, gallery, model), table, [*_foot(what), means])


def _measure(base: Outcome, one: Outcome) -> Measure:
    """The separation of a way; the interval is that of its gain."""
    if math.isnan(one.separation):
        return Measure.none(tr("n/a"))
    ends = (None, None) if one is base or math.isnan(one.gain[0]) else one.gain
    low, high = (None if end is None else round(base.separation + end, DIGITS) for end in ends)
    return Measure(round(one.separation, DIGITS), low, high)


def _title() -> str:
    return tr("The same pictures, fed in other ways")


def _told(what: WhatIf, gallery: str, model: str) -> Sequence[str]:
    return [escaped(model), escaped(gallery), counted(what)]


def _foot(what: WhatIf) -> list[str]:
    said = [*what.advice()[:1]]
    said.append(tr("separation: between scores of the same person and of different people, in standard deviations"))
    said.append(tr("gain: 98 % interval, people resampled {n} ×", n=f"{RESAMPLES:,}"))
    if what.skipped:
        said.append(plural(what.skipped, "{n} picture could not be read", "{n} pictures could not be read"))
    return said
