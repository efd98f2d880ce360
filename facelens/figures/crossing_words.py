"""What crossing is called: roles, tests, directions, measures, gains and bounds, on screen and on paper alike.

And the limits of its colours and axes, which are the same there and here.
"""

from __future__ import annotations

from collections.abc import Sequence

from facelens.analyses.cross_errors import CrossErrors
from facelens.analyses.crossing import SELF, Bound, CrossTest, Gain, Matrix
from facelens.analyses.measure import Measure, rate
from facelens.analyses.plan import UpgradePlan
from facelens.words import escaped, number, plural, tr

FAR = (-120.0, 220.0)  # per cent: the axis of gains never goes farther


def role(plan: UpgradePlan, model: str) -> str:
    """What a model is for: old, new, upper, or further."""
    roles = {plan.upper: tr("upper"), plan.new: tr("new"), plan.old: tr("old")}
    return roles.get(model, tr("further"))


def called(plan: UpgradePlan, model: str) -> str:
    """A model by its role; those that share one by name."""
    return role(plan, model) if model in (plan.old, plan.new, plan.upper) else escaped(model)


def crossed(plan: UpgradePlan, query: str, gallery: str) -> str:
    """Always query/gallery: "new/old"."""
    return f"{called(plan, query)}/{called(plan, gallery)}"


def asked(plan: UpgradePlan, task: str = "") -> str:
    """What is measured: "TAR @ FAR 1e-3"; of the plan's task where none is given."""
    if (task or plan.task) == "1:1":
        return tr("TAR @ FAR {rate}", rate=rate(plan.far))
    return tr("TPIR @ FPIR {rate}", rate=rate(plan.fpir))


def direction_name(direction: str) -> str:
    """In a word; none for one model on both sides."""
    return {"direct": tr("direct"), "backward": tr("backward"), "forward": tr("forward")}.get(direction, "")


def errors_title(plan: UpgradePlan, found: CrossErrors) -> str:
    """What one test gets wrong: "new/old, direct: 12 pairs missed, 3 false matches at 0.412"."""
    many = ("{n} search missed", "{n} searches missed"), ("{n} false alarm", "{n} false alarms")
    pairs = ("{n} pair missed", "{n} pairs missed"), ("{n} false match", "{n} false matches")
    missed, accepted = pairs if found.task == "1:1" else many
    at = "" if found.threshold is None else tr(" at {t}", t=number(found.threshold, 3))
    name = tested(plan, found.query, found.gallery, found.direction)
    return f"{name}: {plural(found.missed, *missed)}, {plural(found.accepted, *accepted)}{at}"


def tested(plan: UpgradePlan, query: str, gallery: str, direction: str) -> str:
    """A test by name: "new/old, direct"."""
    name, said = crossed(plan, query, gallery), direction_name(direction)
    return f"{name}, {said}" if said else name


def direction_words(direction: str) -> str:
    """What is done to the vectors."""
    return {
        SELF: tr("one model on both sides"),
        "direct": tr("vectors as they are"),
        "backward": tr("new queries mapped into the old space by T21"),
        "forward": tr("the old gallery mapped into the new space by T12"),
    }.get(direction, direction)


def missing_words(direction: str) -> str:
    """Why there is no test of a direction."""
    return {
        "backward": tr("no transform T21 from new to old"),
        "forward": tr("no transform T12 from old to new"),
    }.get(direction, tr("not tested"))


def decimals(value: float | None) -> int:
    """Four above 0.99, else three."""
    return 4 if value is not None and 0.99 < value < 1 else 3


def value(measure: Measure) -> str:
    """A rate without its interval."""
    if measure.value is None or not measure.defined:
        return tr("n/a")
    return number(measure.value, decimals(measure.value))


def interval(measure: Measure) -> str:
    """The interval of a rate, in few characters; nothing where there is none.

    >>> interval(Measure(0.974, 0.966, 0.981)), interval(Measure(0.998, 0.9951, 1.0))
    ('[.966, .981]', '[.9951, 1.0000]')
    """
    if not measure.defined or measure.low is None or measure.high is None:
        return ""
    places = decimals(measure.value)
    return "[{}, {}]".format(*(number(end, places).replace("0.", ".", 1) for end in (measure.low, measure.high)))


def told(measure: Measure) -> str:
    """A rate with its interval, or why there is none."""
    return measure.text(decimals(measure.value))


def difference(measure: Measure) -> str:
    """A signed difference with its interval; a small one with one figure more.

    >>> difference(Measure(0.0017, -0.004, 0.006)), difference(Measure(0.012, 0.004, 0.020))
    ('+0.0017 [−0.0040, +0.0060]', '+0.012 [+0.004, +0.020]')
    """
    small = measure.value is not None and abs(measure.value) < 0.01
    return measure.text(4 if small else 3, sign=True)


def percent(value: float) -> str:
    """A gain.

    >>> percent(52.24), percent(-1600.4)
    ('+52.2 %', '−1,600 %')
    """
    shown = number(value, 1, sign=True) if abs(value) < 999.95 else f"{value:+,.0f}".replace("-", "−")
    return tr("{share} %", share=shown)


def gain_name(gain: Gain) -> str:
    """Of the performance, or of the upgrade by a direction."""
    if gain.of == "performance":
        return tr("Performance")
    return tr("Upgrade, {direction}", direction=direction_name(gain.of))


def gain_told(gain: Gain) -> str:
    """The per cents with their interval, or why there are none."""
    share = gain.percent
    if share.value is None or not share.defined:
        return share.text()
    shown = percent(share.value)
    if share.low is not None and share.high is not None:
        shown += f" [{percent(share.low)}, {percent(share.high)}]"
    return shown


def possible(gain: Gain) -> str:
    """What the per cents are of, and whether that says anything."""
    if gain.telling:
        return tr("upper − old is {value}", value=difference(gain.possible))
    return tr("not telling: upper − old is {value}", value=difference(gain.possible))


def formula(gain: Gain) -> tuple[str, ...]:
    """How the per cents come about, with their numbers."""
    got = tr("new/new − old/old") if gain.of == "performance" else tr("new/old − old/old")
    lines = [
        f"{got} = {difference(gain.got)}",
        f"{tr('upper/upper − old/old')} = {difference(gain.possible)}",
    ]
    share = gain.percent
    if gain.got.value is not None and gain.possible.value is not None and share.value is not None:
        places = 4 if min(abs(gain.got.value), abs(gain.possible.value)) < 0.01 else 3
        top, foot = (number(part.value or 0.0, places, sign=True) for part in (gain.got, gain.possible))
        lines.append(f"100 × ({top}) / |{foot}| = {gain_told(gain)}")
    else:
        lines.append(gain_told(gain))
    if not gain.telling:
        lines.append(tr("Upper is not shown to differ from old, so the share of the way says nothing."))
    elif gain.best:
        lines.append(tr("The best direction: this is the upgrade gain."))
    return tuple(lines)


def bound_words(plan: UpgradePlan, bound: Bound) -> str:
    """Whether the cross-test lies where it should, in words."""
    if not (bound.above.defined and bound.below.defined):
        return next(part.text() for part in (bound.above, bound.below) if not part.defined)
    if bound.holds:
        return tr("in between")
    above, below = bound.above.value or 0.0, bound.below.value or 0.0
    if above < 0:
        return tr("below {model} by {by}", model=called(plan, bound.low), by=_size(above))
    return tr("above {model} by {by}", model=called(plan, bound.high), by=_size(below))


def _size(difference: float) -> str:
    return number(abs(difference), 4 if abs(difference) < 0.01 else 3)


def measured(plan: UpgradePlan, test: CrossTest, task: str) -> str:
    """A test in a line: measure, value, whether that is no better than guessing."""
    said = f"{asked(plan, task)}: {told(test.measure(task))}"
    return tr("{said}, at chance", said=said) if test.chance else said


def order_name(name: str) -> str:
    """An order of the backfill in words."""
    return {
        "flip risk": tr("by flip risk"),
        "uncertainty": tr("by uncertainty"),
        "random": tr("random"),
        "traffic": tr("by traffic"),
    }.get(name, name)


def shades(matrix: Matrix | None, task: str) -> tuple[float, float]:
    """Both ends of the colours: neither the lowest nor the highest value is at an end, and 0.02 are not the whole."""
    tests = matrix.tests if matrix is not None else ()
    known = [m.value for m in (t.measure(task) for t in tests if not t.chance) if m.defined and m.value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    span = max(high - low, 0.02)
    return low - span, high + 0.3 * span


def gain_limits(gains: Sequence[Gain]) -> tuple[float, float]:
    """Both ends of the axis: 0 and 100 always, all intervals as far as they are not far off."""
    ends = [end for gain in gains for end in (gain.percent.value, gain.percent.low, gain.percent.high)]
    known = [min(max(end, FAR[0]), FAR[1]) for end in ends if end is not None]
    low, high = min([0.0, *known]), max([100.0, *known])
    return low - 0.06 * (high - low), high + 0.06 * (high - low)
