"""What the learners of a divided model say as blocks, and as lines of text as the command prints them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from facelens.analyses import divided
from facelens.analyses.divided import FAR_OFF, Learners
from facelens.analyses.plan import PartsPlan
from facelens.analyses.universal import RESAMPLES
from facelens.errors import InputError
from facelens.figures.learners import gains, others, rows, told
from facelens.figures.part_words import part_name
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.session.blocks import Block, lines
from facelens.session.confidence_report import checked
from facelens.session.part_tables import learners_json
from facelens.session.reports import interval_words
from facelens.session.tables import json_text, written
from facelens.session.vectors import Opened
from facelens.session.workspace import unique_name
from facelens.words import escaped, number, plural, tr


@dataclass(frozen=True, eq=False)
class LearnersReport:
    """What each learner finds alone, and all together, beside a baseline."""

    faces: FaceSet
    found: Learners
    resamples: int = RESAMPLES
    notes: tuple[str, ...] = ()  # of what was opened

    def lines(self) -> list[str]:
        """Everything, as a person reads it."""
        return lines(self.blocks())

    def blocks(self) -> list[Block]:
        """The same as blocks."""
        said = [
            Block(told=(*self.notes, f"{'; '.join(told(self.faces, self.found))}.")),
            self._alone(),
            self._together(),
            self._specialists(),
            self._groups(),
            Block(told=self.found.notes),
        ]
        return list(filter(None, said))

    def _alone(self) -> Block:
        found = self.found
        names = [found.own.model, *([found.baseline.model] if found.baseline is not None else [])]
        heads = ["", tr("dimensions"), *(escaped(name) for name in names)]
        title = tr(
            "Recall@{k} of each learner alone; {intervals}",
            k=found.ks[0],
            intervals=interval_words("identities", self.resamples),
        )
        told = [tr("difference: {gain}", gain=gain) for gain in gains(found)]
        return Block(title, [heads, *rows(found)], told, figures=("table",))

    def _together(self) -> Block:
        """Recall with the first learners, one more at a time."""
        found = self.found
        sides = [found.own, *([found.baseline] if found.baseline is not None else [])]
        K, width = found.own.layout.parts, found.own.layout.width
        counts = sorted({1, 2, 4, 8, 16, 32, K} & set(range(1, K + 1)))
        listed = [[tr("dimensions used"), "", *(str(n * width) for n in counts)]]
        for i, k in enumerate(found.own.curve.ks):
            for side in sides:
                values = side.curve.ordered[i]
                if np.isfinite(values).any():
                    cells = (number(float(values[n - 1])) for n in counts)
                    listed.append([tr("Recall@{k}", k=k), escaped(side.model), *cells])
        title = tr("Recall with the first learners, one more at a time")
        return Block(title, listed, figures=("dimensions",)) if len(listed) > 1 else Block()

    def _specialists(self) -> Block:
        found = self.found
        listed = [[tr("learner"), tr("it alone finds"), tr("others beyond rank {rank}", rank=FAR_OFF), tr("e.g.")]]
        for k, some in enumerate(found.specialists):
            ranks = others(found, k)
            far = int(((ranks > FAR_OFF) | (ranks == 0)).sum())
            names = [faces_name(self.faces, int(face)) for face in some[:2].tolist()]
            name = part_name(found.own.layout, k)
            listed.append([name, plural(len(some), "{n} face", "{n} faces"), str(far), ", ".join(names)])
        return Block(tr("Faces that one learner alone finds at rank 1"), listed, figures=("specialists",))

    def _groups(self) -> Block:
        groups = self.found.clusters
        if groups is None:
            return Block()
        K = len(groups.sizes)
        listed = [[tr("group"), tr("faces"), tr("people"), tr("Recall@1 of its learner"), tr("of the others, mean")]]
        for g in range(K):
            own = float(groups.recall[g, g])
            rest = np.delete(groups.recall[:, g], g)
            mean = float(rest.mean()) if len(rest) else np.nan
            listed.append(
                [
                    str(g + 1),
                    f"{int(groups.sizes[g]):,}",
                    f"{int(groups.people[g]):,}",
                    *(number(value) if np.isfinite(value) else tr("n/a") for value in (own, mean)),
                ]
            )
        return Block(
            tr("Groups of the embedding, each named by the learner that is best for it"),
            listed,
            (tr("NMI of groups from other seeds {nmi}", nmi=groups.stability.text(3)),),
            figures=("groups",),
        )

    def write_json(self, out: Path) -> Path:
        """All numbers but those of single faces."""
        return written(out, json_text(learners_json(self.faces, self.found)))


def faces_name(faces: FaceSet, face: int) -> str:
    """A face's file."""
    row = faces.row_of(face)
    return "" if row is None else escaped(faces.file_name(row))


def learners_of(opened: Opened, plan: PartsPlan, *, resamples: int = RESAMPLES, tick: Tick = silent) -> LearnersReport:
    """Look at the first of the models that were opened, beside the second where there is one."""
    own = opened.features[0]
    features = {own.provenance.model: own}
    for other in opened.features[1:2]:
        if other.provenance.fingerprint == own.provenance.fingerprint:
            raise InputError(tr("The baseline is the model itself."), hint=tr("Give another model's store."))
        features[unique_name(other.provenance.model, tuple(features))] = other
    model, *rest = features
    plan = replace(plan, model=model, baseline=rest[0] if rest else "", alone=not rest)
    ground = checked(own, plan)
    for name in rest:
        if (D := features[name].dimensions) % ground.parts:
            raise InputError(
                tr("{d} dimensions of {name} cannot be cut into {k} slices.", d=D, name=escaped(name), k=ground.parts),
                hint=tr("Give a baseline whose dimensions {k} divides.", k=ground.parts),
            )
    codes = opened.faces.identity.codes
    if not len(codes) or np.bincount(codes[codes >= 0], minlength=1).max() < 2:
        raise InputError(
            tr("Nobody in this gallery has two pictures and a name, so no learner can find anybody."),
            hint=tr("Give a gallery with names: --gallery PATH."),
        )
    found = divided.learners(opened.faces, plan, features=features, resamples=resamples, tick=tick)
    return LearnersReport(opened.faces, found, resamples, opened.notes)
