"""What the parts of a model say as blocks, as lines of text as the command prints them, and as one JSON file.

It is worked out by the same functions, from the same plan, as in the window.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from facelens.analyses import jury, universal
from facelens.analyses.jury import Ruling, Standing, Verdict
from facelens.analyses.measure import Measure, rate
from facelens.analyses.parts import Layout, Parts, cut, layout, products
from facelens.analyses.plan import PartsPlan
from facelens.analyses.universal import Effect, Study
from facelens.errors import InputError
from facelens.features.featureset import FeatureSet
from facelens.figures.confidence import MATCHED
from facelens.figures.part_study import attribute, moves, strongest
from facelens.figures.part_words import layout_words, part_name, words
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, part_of, silent
from facelens.session.blocks import Block, lines
from facelens.session.part_tables import pair_json, study_json
from facelens.session.reports import interval_words
from facelens.session.tables import json_text, plain, written
from facelens.session.vectors import Opened
from facelens.session.workspace import attributes
from facelens.words import escaped, number, plural, tr


@dataclass(frozen=True, eq=False)
class Pair:
    """Two faces and how the parts voted on them."""

    verdict: Verdict
    standing: Standing


@dataclass(frozen=True, eq=False)
class ConfidenceReport:
    """What a model's parts said about a gallery, with some parts kept."""

    faces: FaceSet
    parts: Parts
    study: Study
    plan: PartsPlan
    ruling: Ruling
    recall: Measure | None = None  # Recall@1 of the parts kept, where some are left out
    pair: Pair | None = None
    resamples: int = universal.RESAMPLES
    notes: tuple[str, ...] = ()  # of what was opened

    def lines(self) -> list[str]:
        """Everything, as a person reads it."""
        return lines(self.blocks())

    def blocks(self) -> list[Block]:
        """The same as blocks."""
        said = [
            Block(told=(*self.notes, *self._who()), figures=("maps",)),
            self._table(),
            self._alike(),
            self._counted(),
            self._templates(),
            self._kept(),
            self._voted(),
            Block(told=self.study.notes),
        ]
        return list(filter(None, said))

    def _who(self) -> list[str]:
        ground, people = self.parts.layout, len(np.unique(self.parts.identity[self.parts.identity >= 0]))
        told = tr(
            "{gallery}, {model}: {parts}; {d} dimensions each; {faces} of {people}.",
            gallery=escaped(self.faces.name),
            model=escaped(self.plan.model),
            parts=layout_words(ground),
            d=ground.width,
            faces=plural(len(self.parts.ids), "{n} face", "{n} faces"),
            people=plural(people, "{n} person", "{n} people"),
        )
        return [told, head_words(ground)]

    def _table(self) -> Block:
        study, ground = self.study, self.parts.layout
        if not study.shown:
            return Block()
        said, spread = words(study.shown, ground), self.parts.spread.get(study.shown)
        heads = [tr("part"), tr("median"), tr("quartiles"), tr("TAR without"), tr("TAR alone")]
        rows = [[*heads, tr("moved most by")] if study.effects else heads]
        why: list[str] = []
        for k in range(ground.parts):
            row = [part_name(ground, k)]
            low, middle, high = spread.quartiles[k] if spread is not None else (np.nan,) * 3
            row += [said.value(middle), f"[{said.value(low)}, {said.value(high)}]"]
            one = study.without[k] if k < len(study.without) else None
            row += ["", ""] if one is None else [_cell(one.tar_without, why), _cell(one.tar_only, why)]
            rows.append([*row, _moved(study.effects, k)] if study.effects else row)
        if study.whole is not None:
            rows.append([tr("all"), "", "", _cell(study.whole[0], why), "", *([""] if study.effects else [])])
        title = tr(
            "{title}; TAR @ FAR {far}, {match}; {intervals}",
            title=said.title,
            far=rate(self.plan.far),
            match=tr(MATCHED[self.plan.match]),
            intervals=interval_words("identities", self.resamples),
        )
        told = [tr("n/a: {why}", why=reason) for reason in dict.fromkeys(why)]
        return Block(title, rows, told, figures=("distributions", "single parts", "attributes"))

    def _alike(self) -> Block:
        found = self.study.correlation
        if found is None:
            return Block()
        rows = [
            [tr("distances to the person's centre, r"), found.centre_mean.text(3), _control(found.control_centre)],
            [tr("their dimensions, |r|"), found.slices_mean.text(3), _control(found.control_slices)],
        ]
        rows = [row if row[2] else row[:2] for row in rows]
        return Block(tr("Mean correlation of two parts"), rows, headed=False, figures=("correlation",))

    def _counted(self) -> Block:
        curve = self.study.curve
        if curve is None or not np.isfinite(curve.ordered).any():
            return Block()
        K = self.parts.layout.parts
        counts = sorted({1, 2, 4, 8, 16, 32, K} & set(range(1, K + 1)))
        rows = [[tr("parts used"), *(str(n) for n in counts)]]
        rows += [
            [tr("Recall@{k}", k=k), *(number(float(curve.ordered[i, n - 1])) for n in counts)]
            for i, k in enumerate(curve.ks)
        ]
        searched = plural(curve.n, "{n} search", "{n} searches")
        return Block(tr("Recall with the first parts, {searched}", searched=searched), rows, figures=("recall",))

    def _templates(self) -> Block:
        rows = [
            [tr(TEMPLATES[one.name]), tr(MATCHED[one.match]), tr(FUSED[one.variance]), one.first.text(3)]
            for one in self.study.fusion
        ]
        title = tr("Templates of all pictures of a person: how often a face finds its own first")
        return Block(title, rows, headed=False) if rows else Block()

    def _kept(self) -> Block:
        kept = self.ruling.kept
        if kept.all():
            return Block()
        out = ", ".join(str(k + 1) for k in np.flatnonzero(~kept))
        whole = self.study.whole or (Measure.none(""), Measure.none(""))
        rows = [["", tr("all parts"), tr("without {parts}", parts=out)]]
        rows.append([tr("TAR @ FAR {far}", far=rate(self.ruling.far)), whole[0].text(3), self.ruling.tar.text(3)])
        if self.recall is not None:
            rows.append([tr("Recall@1"), whole[1].text(3), self.recall.text(3)])
        return Block(tr("Left out: {parts}", parts=out), rows)

    def _voted(self) -> Block:
        if self.pair is None:
            return Block()
        found, ruling = self.pair.verdict, self.ruling
        decimals = 1 if self.plan.match == "likelihood" else 4
        names = [_face(self.faces, face) for face in (found.query, found.gallery)]
        title = tr("{a} and {b}, {match}", a=names[0], b=names[1], match=tr(MATCHED[self.plan.match]))
        if found.why:
            return Block(title, told=(tr("There is no score: {why}.", why=found.why),))
        rows = [[tr("part"), tr("vote"), tr("share of the threshold")]]
        for k, vote in enumerate(found.votes.tolist()):
            share = number(float(ruling.share[k]), decimals) if np.isfinite(ruling.share[k]) else ""
            row = [part_name(self.parts.layout, k), number(vote, decimals, sign=True), share]
            rows.append(row if found.kept[k] else [row[0], tr("left out, would add {vote}", vote=row[1])])
        rows.append(
            [tr("Σ"), number(found.score, decimals), *([self._limit(decimals)] if ruling.threshold is not None else [])]
        )
        return Block(title, rows, self._decided(decimals), figures=("jury",))

    def _limit(self, decimals: int) -> str:
        assert self.ruling.threshold is not None
        return number(self.ruling.threshold, decimals)

    def _decided(self, decimals: int) -> list[str]:
        assert self.pair is not None
        found, where = self.pair.verdict, self.pair.standing
        told = []
        if found.same is None:
            told.append(tr("No threshold: {why}.", why=self.ruling.why))
        else:
            decided = tr("same person") if found.same else tr("different people")
            at = tr("threshold {value} at FAR {far}", value=self._limit(decimals), far=rate(self.ruling.far))
            right = "" if found.genuine is None else tr("right") if found.same == found.genuine else tr("wrong")
            told.append(" · ".join(filter(None, (decided, right, at))))
            against = ", ".join(str(k + 1) for k in found.disagree)
            n, of = len(found.disagree), int(found.kept.sum())
            told.append(tr("{n} of {k} disagree: {which}", n=n, k=of, which=against) if n else tr("No part disagrees."))
        if not found.kept.all():
            told.append(tr("score of all parts {value}", value=number(found.whole, decimals)))
        if where.after:
            rank = f"{where.after:,}" if where.before == where.after else f"{where.before:,} → {where.after:,}"
            told.append(tr("rank of the second face for the first: {rank} of {n}", rank=rank, n=where.of))
        return told

    def as_json(self) -> dict[str, object]:
        """All numbers but those of single faces."""
        told = study_json(self.faces, self.parts, self.study, self.plan)
        told["kept"] = {"parts": plain(self.ruling.kept), "ruling": plain(self.ruling), "recall": plain(self.recall)}
        if self.pair is not None:
            told["pair"] = pair_json(self.faces, self.pair.verdict, self.ruling, self.pair.standing)
        return told

    def write_json(self, out: Path) -> Path:
        """The same as a file."""
        return written(out, json_text(self.as_json()))


TEMPLATES = {"mean": "mean", "precision": "weighted by 1 / σ²"}
FUSED = {"min": "σ² of the surest", "bayes": "σ² of all together", "": ""}


def head_words(ground: Layout) -> str:
    """Who says how sure a part is."""
    if ground.kind == "slices":
        return tr("Slices of an ordinary embedding are a way of looking; nobody says how sure they are.")
    if ground.kind == "learners":
        return tr("Learners do not say how sure they are.")
    return {
        "calibrated": tr("How sure a part is, its own head says, which was calibrated on pairs."),
        "learned": tr("How sure a part is, its own head says; it was learned and not calibrated."),
    }.get(ground.head, tr("How sure a part is came with the vectors."))


def _cell(measure: Measure, why: list[str]) -> str:
    """A value in a table; reasons why there is none are collected."""
    if measure.defined:
        return measure.text(3)
    why.append(measure.why)
    return tr("n/a")


def _control(control: Measure) -> str:
    return tr("after a random rotation {value}", value=control.text(3)) if control.defined else ""


def _moved(effects: Sequence[Effect], part: int) -> str:
    """The attribute that moves a part most, of those that are shown to."""
    for effect in strongest(effects, part)[:1]:
        strength = effect.strength[part]
        if moves(strength):
            return f"{attribute(effect)} {strength.text(2, sign=True)}"
    return tr("nothing that is shown")


def _face(faces: FaceSet, face: int) -> str:
    row = faces.row_of(face)
    return "" if row is None else escaped(os.fsdecode(faces.paths[row]))


# What a command asks for


def confidence_of(
    opened: Opened,
    plan: PartsPlan,
    *,
    drop: Sequence[int] = (),
    pair: Sequence[str] = (),
    resamples: int = universal.RESAMPLES,
    tick: Tick = silent,
) -> ConfidenceReport:
    """Look at the first of the models that were opened; `drop` are parts counted from 1, `pair` two paths."""
    features, faces = opened.features[0], opened.faces
    plan = replace(plan, model=features.provenance.model)
    ground = checked(features, plan)
    kept = kept_parts(ground, drop)
    ids = [face_of(faces, features, name) for name in pair]
    parts = cut(faces, plan, features=features, tick=part_of(tick, 0, 4))
    if plan.show and plan.show not in parts.values:
        raise InputError(
            tr("These parts have no {value}.", value=plan.show),
            hint=tr("Choose one of {names}.", names=", ".join(parts.values)),
        )
    study = universal.study(
        faces,
        parts,
        plan,
        features=features,
        columns=attributes(faces),
        resamples=resamples,
        tick=part_of(tick, 1, 4),
    )
    ruling = jury.ruling(parts, match=plan.match, kept=kept, far=plan.far)
    recall = None
    if not kept.all():
        recall = jury.recall(parts, features, match=plan.match, kept=kept, seed=plan.seed, tick=part_of(tick, 2, 4))
    found = None
    if len(ids) == 2:
        first, second = ids
        found = Pair(
            jury.verdict(parts, features, first, second, match=plan.match, kept=kept, ruling=ruling),
            jury.standing(parts, products(features, parts, first), first, second, match=plan.match, kept=kept),
        )
    tick(1, 1)
    return ConfidenceReport(
        faces, parts, study, plan, ruling, recall, found, resamples=resamples, notes=(*opened.notes, *_nameless(parts))
    )


def _nameless(parts: Parts) -> list[str]:
    if (parts.identity >= 0).any():
        return []
    return [tr("Nobody is named in this gallery, so nothing can be said of who is recognised.")]


def checked(features: FeatureSet, plan: PartsPlan) -> Layout:
    """The parts that a plan asks for, where there can be such."""
    ground = layout(features, plan)
    asked = plan.parts not in (0, ground.parts) or (plan.cut != "order")
    if ground.kind != "slices" and asked:
        raise InputError(
            tr("{name} has parts of its own: {parts}.", name=escaped(plan.model), parts=layout_words(ground)),
            hint=tr("Leave --parts and --cut out; they are for ordinary embeddings."),
        )
    if ground.parts < 2:
        raise InputError(
            tr("One part is the whole embedding, so there is nothing to compare."), hint=tr("Give --parts 2 or more.")
        )
    if plan.match != "cosine" and features.confidence is None:
        raise InputError(
            tr("This model does not say how sure its parts are."), hint=tr("Match by cosine, or choose another model.")
        )
    return ground


def kept_parts(ground: Layout, drop: Sequence[int]) -> NDArray[np.bool_]:
    """(K,) which parts vote when those of `drop`, counted from 1, do not."""
    for part in drop:
        if not 1 <= part <= ground.parts:
            raise InputError(tr("There is no part {n}.", n=part), hint=tr("The parts are 1 to {k}.", k=ground.parts))
    kept = ~np.isin(np.arange(1, ground.parts + 1), drop)
    if not kept.any():
        raise InputError(tr("No part is left to vote."), hint=tr("Leave fewer of them out."))
    return kept


def face_of(faces: FaceSet, features: FeatureSet, name: str) -> int:
    """The face at a path inside the gallery, where it has a vector."""
    row = next((row for row, path in enumerate(faces.paths) if path == os.fsencode(name)), None)
    if row is None:
        raise InputError(
            tr("{name} is not in this gallery.", name=escaped(name)),
            hint=tr("Name pictures by their path inside the gallery."),
        )
    face = int(faces.ids[row])
    if not features.rows_of(np.array([face], np.int64))[1][0]:
        raise InputError(
            tr("{name} has no usable vector.", name=escaped(name)), hint=tr("Embed the gallery with this model first.")
        )
    return face
