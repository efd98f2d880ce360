"""Verdict: what is found about an upgrade in one sentence, with its evidence and with what it does not say.

The sentence never says more than its interval: a difference that covers 0 is neither higher, nor lower, nor equal. It
never says that an upgrade may be shipped; that depends on what errors cost.
"""

from __future__ import annotations

from dataclasses import dataclass

from facelens.analyses.crossing import CrossTest
from facelens.analyses.flips import GAINED, LOST, Flips
from facelens.analyses.measure import Measure
from facelens.analyses.upgrade import Upgrade
from facelens.figures import crossing_words as words
from facelens.words import number, plural, tr

FEW = 30  # people below which draws of them say little


@dataclass(frozen=True)
class Verdict:
    """What is said, on what grounds, and what must not be read into it."""

    tone: str  # "good", "bad" or "open": neither is shown
    sentence: str
    evidence: str
    caveats: tuple[str, ...]


def verdict(found: Upgrade, *, task: str = "") -> Verdict:
    """What is found; of the plan's task where none is given. Flips that are not worked out yet are not spoken of."""
    task = task or found.plan.task
    matrix, plan = found.matrix, found.plan
    own, cross = matrix.test(plan.old, plan.old), matrix.test(plan.new, plan.old)
    assert own is not None and cross is not None
    tone, sentence = _said(own, cross, matrix.difference[task], task)
    return Verdict(tone, sentence, " · ".join(_evidence(found, task)), tuple(_caveats(found, own, cross, tone, task)))


def _said(own: CrossTest, cross: CrossTest, difference: Measure, task: str) -> tuple[str, str]:
    """Tone and sentence."""
    older, newer = own.measure(task), cross.measure(task)
    subject = _subject(cross.direction)
    if older.value is None or newer.value is None or not (older.defined and newer.defined):
        why = next(one.text() for one in (newer, older) if not one.defined)
        return "open", tr("{subject} cannot be compared with old on old. {why}", subject=subject, why=why)
    places = max(words.decimals(older.value), words.decimals(newer.value))
    numbers = tr("{new} against {old}", new=number(newer.value, places), old=number(older.value, places))
    if cross.chance:
        guessing = "{subject} do no better than guessing: {numbers} for old on old."
        return "bad", tr(guessing, subject=subject, numbers=numbers)
    told = tr("{numbers}, difference {by}", numbers=numbers, by=words.difference(difference))
    if difference.low is None or difference.high is None:
        return "open", tr("{subject} score {told}; without an interval nothing is shown.", subject=subject, told=told)
    if difference.low > 0:
        return "good", tr("{subject} score higher than old on old: {told}.", subject=subject, told=told)
    if difference.high < 0:
        return "bad", tr("{subject} score lower than old on old: {told}.", subject=subject, told=told)
    return "open", tr(
        "{subject} are not shown to score lower or higher than old on old: {told}.", subject=subject, told=told
    )


def _subject(direction: str) -> str:
    return {
        "backward": tr("New queries mapped into the old space, on the old gallery,"),
        "forward": tr("New queries on the old gallery mapped into the new space"),
    }.get(direction, tr("New queries on the old gallery"))


def _evidence(found: Upgrade, task: str) -> list[str]:
    """Flips, then what was measured, on whom."""
    matrix, plan = found.matrix, found.plan
    told = [flipped(found.flips)] if found.flips is not None else []
    told.append(tr("{what}, {task}", what=words.asked(plan, task), task=task))
    people = plural(matrix.people, "{n} person", "{n} people")
    told.append(tr("{people} unseen in fitting", people=people) if matrix.fitted_people else people)
    if task == "1:1":
        told.append(tr("{g} genuine, {i} impostor pairs", g=matrix.genuine, i=matrix.impostor))
    elif searches := matrix.difference[task].n:
        told.append(plural(searches, "{n} search of enrolled people", "{n} searches of enrolled people"))
    if matrix.difference[task].low is not None:
        told.append(tr("paired, by identity, {n} resamples", n=plan.resamples))
    return told


def flipped(flips: Flips) -> str:
    """How many searches and pairs changed, at the same FAR."""
    pairs = flips.pairs
    lost, gained = (int((pairs.change == way).sum()) for way in (LOST, GAINED))
    return tr(
        "{lost} of {n} searches lost, {gained} gained; of {pairs} ordered genuine pairs {l} lost, {g} gained",
        lost=len(flips.lost),
        gained=len(flips.gained),
        n=len(flips.searches.ids),
        pairs=pairs.genuine,
        l=lost,
        g=gained,
    )


def _caveats(found: Upgrade, own: CrossTest, cross: CrossTest, tone: str, task: str) -> list[str]:
    matrix = found.matrix
    told = [
        tr("Whether the new model may be used: that depends on what each kind of error costs you."),
        tr(
            "Anything about other people: {people} of this gallery were tested.",
            people=plural(matrix.people, "{n} person", "{n} people"),
        ),
    ]
    if matrix.people < FEW:
        told.append(tr("Much: intervals that are drawn from fewer than {n} people are too narrow.", n=FEW))
    difference = matrix.difference[task]
    if tone == "open" and difference.low is not None and difference.low < 0:
        loss = number(-difference.low, 4 if -difference.low < 0.01 else 3)
        told.append(tr("That nothing is lost: a loss of up to {loss} is within the interval.", loss=loss))
    if own.threshold is not None and cross.threshold is not None:
        told.append(
            tr(
                "That the old threshold can stay: at this FAR it is {old} for old/old and {new} for new/old.",
                old=number(own.threshold),
                new=number(cross.threshold),
            )
        )
    if found.flips is not None:
        told.append(
            tr(
                "That few decisions change: rates can be equal while many change. Flips are counted apart; impostor "
                "pairs are not among them, for at the same FAR as many are accepted."
            )
        )
    if matrix.fitted_people:
        told.append(
            tr(
                "That transforms fitted elsewhere do as well: these were fitted on {people} of the same gallery.",
                people=plural(matrix.fitted_people, "{n} other person", "{n} other people"),
            )
        )
    other = {"1:1": "1:N", "1:N": "1:1"}[task]
    told.append(tr("Anything about {task}: it has its own numbers.", task=other))
    return told
