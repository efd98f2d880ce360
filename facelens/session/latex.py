r"""Tables for papers as LaTeX: upgrades, learners and searches by patches, without packages.

Names are set as they are, what has no support or no value is a dash, and what was measured stands above each table as a
comment. Each table is a `tabular` that goes into a `table` of one's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from facelens.analyses.crossing import CrossTest
from facelens.analyses.divided import Learners
from facelens.analyses.plan import DIRECTIONS, MatchPlan
from facelens.analyses.reranking import Sweep
from facelens.analyses.upgrade import Upgrade
from facelens.figures import crossing_words as words
from facelens.figures.match_words import alpha_title, queries_title, solver_words, weights_title
from facelens.figures.part_words import layout_words, part_name
from facelens.figures.swept import MEASURES, steps
from facelens.figures.upgrade_table import distance_rows, model_rows
from facelens.images.faceset import FaceSet
from facelens.session.tables import latex_cell, latex_text, written
from facelens.words import escaped


def tabular(columns: str, head: Sequence[str], body: Sequence[Sequence[str] | None], told: Sequence[str]) -> str:
    r"""A table with its comments; None is a rule between rows. Heads and cells are LaTeX already.

    >>> print(tabular("lc", ["", "a"], [["b", "1"], None, ["c", "2"]], ["of b and c"]))
    % of b and c
    \begin{tabular}{lc}
    \hline
     & a \\
    \hline
    b & 1 \\
    \hline
    c & 2 \\
    \hline
    \end{tabular}
    <BLANKLINE>
    """
    made = [f"% {' '.join(escaped(line).split())}" for line in told if line]
    made += [rf"\begin{{tabular}}{{{columns}}}", r"\hline", " & ".join(head) + r" \\", r"\hline"]
    made += [r"\hline" if row is None else " & ".join(row) + r" \\" for row in body]
    return "\n".join([*made, r"\hline", r"\end{tabular}", ""])


def _plain(text: str) -> str:
    """Words of our own: signs that LaTeX sets in mathematics."""
    made = latex_text(text)
    for sign, set_as in (("−", "$-$"), ("×", r"$\times$"), ("α", r"$\alpha$"), ("ε", r"$\epsilon$")):
        made = made.replace(sign, set_as)
    return made


# An upgrade


def upgrade_latex(
    faces: FaceSet, found: Upgrade, *, task: str = "", dimensions: Mapping[str, int] | None = None
) -> str:
    """Three tables: the models with both gains, every model against every other, distances within a person."""
    plan, matrix, task = found.plan, found.matrix, task or found.plan.task
    told = [
        f"{faces.name}: {matrix.faces} faces of {matrix.people} people; {words.asked(plan, task)}",
        f"old {plan.old}, new {plan.new}" + (f", upper {plan.upper}" if plan.upper else ""),
        f"95 % intervals from {plan.resamples} draws of identities; -- has no value or was not tested",
    ]
    if matrix.fitted_people:
        told.append(f"transforms were fitted on {matrix.fitted_people} other people")
    return "\n".join(
        [_models(found, task, dimensions, told), _matrix(found, task, told[:2]), _distances(found, told[:1])]
    )


def _models(found: Upgrade, task: str, dimensions: Mapping[str, int] | None, told: Sequence[str]) -> str:
    head = ["Model", "Dim.", _plain(words.asked(found.plan, task)), *(one.capitalize() for one in DIRECTIONS)]
    head += [r"Perf.\ gain (\%)", r"Upgrade gain (\%)"]
    body: list[Sequence[str] | None] = []
    for one in model_rows(found, task, dimensions):
        cross = [_crossed(one.cross.get(way), task) for way in DIRECTIONS]
        gains = [one.performance, one.upgrade.percent if one.upgrade is not None else None]
        shown = [latex_cell(gain, 2, sign=True) if gain is not None else "--" for gain in gains]
        size = "--" if one.dimensions is None else str(one.dimensions)
        body.append([f"{latex_text(escaped(one.name))} ({one.role})", size, latex_cell(one.alone), *cross, *shown])
        body += [None] if len(body) == 1 else []
    return tabular(
        "lcccccrr", head, body, [*told, "gains in per cent of |upper - old|, the upgrade by its best direction"]
    )


def _crossed(test: CrossTest | None, task: str) -> str:
    return "--" if test is None else latex_cell(test.measure(task))


def _matrix(found: Upgrade, task: str, told: Sequence[str]) -> str:
    matrix = found.matrix
    names = [latex_text(escaped(name)) for name in matrix.models]
    body = []
    for query, name in zip(matrix.models, names):
        tests = [matrix.test(query, gallery) for gallery in matrix.models]
        body.append([name, *(_crossed(one, task) for one in tests)])
    note = f"rows: model of the queries, columns: model of the gallery; new/old is {matrix.direction}"
    return tabular("l" + "c" * len(names), ["", *names], body, [*told, note])


def _distances(found: Upgrade, told: Sequence[str]) -> str:
    body = [
        [latex_text(escaped(name)), latex_cell(centre), latex_cell(pairs), latex_cell(angle, 1)]
        for name, centre, pairs, angle in distance_rows(found)
    ]
    head = ["Model", "To the centre", "Of two pictures", "Angle (degrees)"]
    note = f"intra-class distances, squared, lower is closer; d_pw of old and new {found.matrix.point_distance.text(3)}"
    return tabular("lccc", head, body, [*told, note])


# Learners


def learners_latex(faces: FaceSet, found: Learners) -> str:
    """Recall of each learner alone beside the slices of the baseline, as it is published for a divided embedding."""
    sides = [*([found.baseline] if found.baseline is not None else []), found.own]
    own, K = found.own, found.own.layout.parts
    told = [
        f"{faces.name}: {len(found.ids)} faces, {len(found.queries)} queries; Recall@{found.ks[0]}",
        "; ".join(f"{one.model}: {layout_words(one.layout)}" for one in sides),
        "95 % intervals over identities; |r|: mean correlation of dimensions of different slices, lower is better",
    ]
    body: list[Sequence[str] | None] = [
        [
            _plain(part_name(own.layout, k).capitalize()),
            *(latex_cell(one.recall[0][k]) for one in sides),
            _span(own.layout.width, k, k + 1),
        ]
        for k in range(K)
    ]
    body.append(None)
    body.append(["Mean", *(latex_cell(one.mean[0]) if one.mean else "--" for one in sides), "--"])
    body.append(["All together", *(latex_cell(one.whole[0]) for one in sides), _span(own.layout.width, 0, K)])
    body.append(["$|r|$", *(latex_cell(one.correlation, 4) for one in sides), "--"])
    head = ["", *(latex_text(escaped(one.model)) for one in sides), "Dimensions"]
    return tabular("l" + "c" * len(sides) + "c", head, body, told)


def _span(width: int, first: int, last: int) -> str:
    return f"{first * width + 1}--{last * width}"


# Searches by patches


def sweep_latex(faces: FaceSet, sweep: Sweep, plan: MatchPlan) -> str:
    """P@1, RP and MAP@R by cosine alone and with each way to weigh patches at the alpha of the plan."""
    found = steps(sweep, plan.alpha)
    told = [
        f"{faces.name}: {queries_title(sweep)}; {sweep.how}",
        f"{plan.model}; {alpha_title(found[-1].alpha)}; {solver_words(sweep.solver, plan.epsilon)}; "
        f"shortlist {sweep.shortlist or 'all'}; 95 % intervals, identities resampled",
        "" if sweep.complete else "not complete: the sweep was still running",
    ]
    body: list[Sequence[str] | None] = []
    for step in found:
        name = _plain(weights_title(step.weights)) if step.weights else "Stage 1"
        body.append([name, *(latex_cell(step.measures[one]) for one in MEASURES)])
        body += [None] if not step.weights else []
    return tabular("lccc", ["Method", *MEASURES], body, told)


def write_latex(out: Path, text: str) -> Path:
    """A table as a file."""
    return written(out, text)
