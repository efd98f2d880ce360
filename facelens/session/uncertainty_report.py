"""What an ensemble says as blocks, as lines of text as the command prints them, and as one JSON file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from facelens.analyses.correlation import spearman
from facelens.analyses.measure import Measure
from facelens.analyses.plan import OWN, VARIANCE, EnsemblePlan
from facelens.analyses.rejection import Risk
from facelens.analyses.uncertainty import Member, Uncertainty, Update
from facelens.figures.ensembles import together_words
from facelens.figures.refusal import asked, at, compared, percent
from facelens.images.faceset import FaceSet, Ids
from facelens.session.blocks import Block, lines
from facelens.session.refusals import summary
from facelens.session.reports import interval_words
from facelens.session.tables import json_text, plain, written
from facelens.session.workspace import NORM
from facelens.words import escaped, number, plural, tr

QUANTILES = (10, 50, 90)
SHARE = 0.05  # of the faces, refused where nobody says how many
NEAR = 0.01  # of the faces: a share that differs by less is the one that was asked for


@dataclass(frozen=True, eq=False)
class UncertaintyReport:
    """What an ensemble said, at the step of refusing that is nearest to a share of the faces."""

    faces: FaceSet
    found: Uncertainty
    plan: EnsemblePlan
    share: float = SHARE
    scores: tuple[str, ...] = ()  # columns the variance is compared with
    update: Update | None = None
    notes: tuple[str, ...] = ()  # of what was opened

    @property
    def step(self) -> int:
        """Of the curves."""
        risk = self.found.verification
        return int(np.abs(risk.coverage - (1 - self.share)).argmin()) if risk is not None else 0

    @property
    def limit(self) -> float:
        """Faces above it are refused."""
        risk = self.found.verification
        return float(risk.limit[self.step]) if risk is not None else np.inf

    @property
    def refused(self) -> Ids:
        """Faces that are refused."""
        return self.found.ids[self.found.values > self.limit]

    def quantiles(self) -> dict[str, float]:
        """Percentiles of the variance."""
        known = self.found.variance[np.isfinite(self.found.variance)]
        return {f"p{q}": float(np.percentile(known, q)) for q in QUANTILES} if len(known) else {}

    def correlations(self) -> dict[str, Measure]:
        """Rank correlation of the variance with each score, and with the length of each member's vectors."""
        rows = self.faces.rows_of(self.found.ids)
        people = self.faces.identity.codes[rows]
        by = () if self.found.by in OWN else (self.found.by,)
        norms = [norm for name in self.plan.members if (norm := NORM.format(name=name)) in self.faces.columns]
        return {
            name: spearman(np.asarray(self.faces.columns[name], np.float64)[rows], self.found.variance, groups=people)
            for name in dict.fromkeys((*self.scores, *by, *norms))
        }

    def lines(self) -> list[str]:
        """Everything, as a person reads it."""
        return lines(self.blocks())

    def blocks(self) -> list[Block]:
        """The same as blocks."""
        said = [
            Block(told=(*self.notes, *self._who())),
            self._members(),
            Block(told=self._spread(), figures=("histogram", "strip")),
            self._risk(self.found.verification),
            self._risk(self.found.identification),
            self._correlated(),
            self._sizes(),
            self._updated(),
            Block(told=(*self.found.problems, *self.found.notes)),
        ]
        return list(filter(None, said))

    def _who(self) -> list[str]:
        found, plan = self.found, self.plan
        space = tr("in the space of {name}", name=escaped(plan.target))
        if plan.mode == "unified":
            space = tr("in a space of their own, asked by {name}", name=escaped(plan.target))
        count = plural(len(found.members), "{n} member", "{n} members")
        return [
            tr("{gallery}: {members} {space}.", gallery=escaped(self.faces.name), members=count, space=space),
            fitted_words(found),
        ]

    def _members(self) -> Block:
        found = self.found
        assert found.verification is not None
        heads = tr("member"), tr("network"), tr("dimensions"), tr("mapped"), tr("alone"), tr("before mapping")
        rows = [list(heads), *(_member(one) for one in found.members)]
        rows.append([tr("together"), "", "", "", found.together.text()])
        why: dict[str, list[str]] = {}
        for one in found.members:
            if one.why:
                why.setdefault(one.why, []).append(escaped(one.name))
        title = tr("Members: {what}; {intervals}", what=asked(found.verification), intervals=self._intervals())
        told = [f"{', '.join(names)}: {reason}" for reason, names in why.items()]
        return Block(title, rows, [*told, *filter(None, [together_words(found)])])

    def _intervals(self) -> str:
        return interval_words("identities", self.plan.resamples)

    def _spread(self) -> list[str]:
        at_quantiles = "  ".join(f"{name} {number(value, 4)}" for name, value in self.quantiles().items())
        return [tr("Variance 1 − ‖mean‖²: {values}", values=at_quantiles), self._refused_words()]

    def _refused_words(self) -> str:
        found = self.found
        n, limit = len(self.refused), self.limit
        score = tr("variance") if found.by == VARIANCE else escaped(found.by)
        if not n:
            return tr("Nothing can be refused by {score}.", score=score)
        words = tr("below") if found.lower else tr("above")
        share = n / len(found.ids)
        told = tr(
            "Refused: {faces} ({share}), by {score} {words} {limit}",
            faces=plural(n, "{n} face", "{n} faces"),
            share=percent(share),
            score=score,
            words=words,
            limit=number(-limit if found.lower else limit, 4),
        )
        if abs(share - self.share) < NEAR:
            return told
        return tr("{told}; asked for were {share}", told=told, share=percent(self.share))

    def _risk(self, risk: Risk | None) -> Block:
        if risk is None:
            return Block()
        step = min(self.step, len(risk.coverage) - 1)
        first, then = (_complement(at(risk, risk.error, i)) for i in (0, step))
        title = f"{risk.task}, {asked(risk)}: {compared(risk, 0)}; {self._intervals()}"
        drawn = ("1 to N",) if risk.task == "1:N" else ("1 to 1",)
        if not first.defined:
            return Block(title, told=(first.text(),), noted=risk.notes, figures=drawn)
        rows = [
            [tr("nothing refused"), first.text()],
            [tr("{share} refused", share=percent(1 - risk.coverage[step])), then.text()],
            [tr("gain"), at(risk, risk.gain, step).text(sign=True)],
            [tr("relative error"), _relative(risk, step)],
            ["AURC", risk.area.text()],
        ]
        if risk.task == "1:N":
            rows.append([tr("templates weighted by 1 / variance"), self.found.weighted.text()])
        return Block(title, rows, noted=risk.notes, headed=False, figures=drawn)

    def _correlated(self) -> Block:
        rows = [
            [escaped(name), measure.text(3), plural(measure.n, "{n} face", "{n} faces")]
            for name, measure in self.correlations().items()
        ]
        return Block(tr("Rank correlation of the variance with"), rows, headed=False) if rows else Block()

    def _sizes(self) -> Block:
        measures = [measure for one in self.found.sizes for measure in (one.verification, one.identification)]
        if not any(measure.defined for measure in measures):
            return Block()
        heads = tr("members"), tr("diversity"), tr("choices"), "TAR", "TPIR"
        rows = [list(heads)]
        for one in self.found.sizes:
            counts = [f"{one.members}", one.diversity, f"{one.choices:,}"]
            rows.append([*counts, one.verification.text(), one.identification.text()])
        return Block(tr("Smaller ensembles, the mean of all choices of members"), rows)

    def _updated(self) -> Block:
        if self.update is None:
            return Block()
        rows = [["", escaped(self.update.old), escaped(self.update.new)]]
        rows += [[name, before.text(), after.text()] for name, before, after in self.update.rows]
        title = tr("Another query model: the gallery's stored vectors are mapped into its space")
        return Block(title, rows, self.update.notes)

    def as_json(self) -> dict[str, object]:
        """All numbers but those of single faces."""
        return summary(self.found) | {
            "gallery": {"name": escaped(self.faces.name), "digest": self.faces.digest, "faces": len(self.faces)},
            "plan": plain(self.plan),
            "variance": self.quantiles(),
            "refused": {"step": self.step, "above": plain(self.limit), "faces": len(self.refused)},
            "correlations": plain(self.correlations()),
            "update": plain(self.update),
        }

    def write_json(self, out: Path) -> Path:
        """The same as a file."""
        return written(out, json_text(self.as_json()))


def fitted_words(found: Uncertainty) -> str:
    """On whom transforms were fitted, and who is shown."""
    shown, n = plural(len(found.ids), "{n} face", "{n} faces"), found.shown_people
    if not found.fitted_people:
        people = plural(n, "{n} person", "{n} people")
        return tr("Fitted elsewhere; shown on {faces} of {people}.", faces=shown, people=people)
    return tr(
        "Fitted on {faces} of {people}; shown on {shown} of {others}.",
        faces=plural(found.fitted_faces, "{n} face", "{n} faces"),
        people=plural(found.fitted_people, "{n} person", "{n} people"),
        shown=shown,
        others=plural(n, "{n} other person", "{n} other people") if n else tr("nobody known"),
    )


def _member(one: Member) -> list[str]:
    said = [escaped(one.name), escaped(one.network) or tr("not known"), f"{one.dimensions}", one.how, one.alone.text()]
    if not one.alone.defined:  # the reason may run on
        return said
    return [*said, tr("as alone") if one.how == "itself" else one.raw.text()]


def _complement(error: Measure) -> Measure:
    """TAR or TPIR out of an error."""
    if error.value is None:
        return error
    low, high = (None if end is None else 1 - end for end in (error.high, error.low))
    return Measure(1 - error.value, low, high, why=error.why, supported=error.supported)


def _relative(risk: Risk, step: int) -> str:
    if risk.error.value[0] == 0:
        return Measure.none(tr("there was no error to begin with")).text()
    change = at(risk, risk.change, step)
    if not change.defined or change.value is None:
        return change.text()
    shown = tr("{share} %", share=number(100 * change.value, 1, sign=True))
    if change.low is None or change.high is None:
        return shown
    return f"{shown} [{number(100 * change.low, 1, sign=True)}, {number(100 * change.high, 1, sign=True)}]"
