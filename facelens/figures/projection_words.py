"""What a map shows, in words: on screen, on paper and on the terminal."""

from __future__ import annotations

from facelens.analyses.parts import Layout
from facelens.analyses.plan import ProjectionPlan
from facelens.analyses.projection import NAMES, Projection
from facelens.figures.part_words import part_name
from facelens.words import escaped, number, tr

CHANGES = ("lost", "same", "gained", "not searched")  # flips.LOST + 1, and so on


def sentence(found: Projection, ground: Layout | None = None) -> str:
    """What a map is made of, in a line; `ground` are the parts of its model."""
    plan = found.plan
    said = [found.agreement.rstrip(".") or title(plan, found.drawn, ground)]
    if found.drawn == "pca":
        said.append(tr("{a} and {b} % of the variance", a=round(100 * found.shares[0]), b=round(100 * found.shares[1])))
    else:
        more = {"umap": tr("{n} neighbours", n=plan.neighbours), "tsne": tr("perplexity {n}", n=int(plan.perplexity))}
        said += [tr(plan.metric), more[found.drawn], tr("seed {n}", n=plan.seed)]
    said.append(tr("N = {n}", n=len(found)))
    if found.final and found.quality.value is not None:
        value = number(found.quality.value, 2)
        if found.other_quality.value is not None:
            value = tr("{old} and {new}", old=value, new=number(found.other_quality.value, 2))
        said.append(tr("trustworthiness {value}", value=value))
    elif not found.final:
        said.append(tr("not refined yet"))
    return " · ".join(said)


def title(plan: ProjectionPlan, method: str, ground: Layout | None = None) -> str:
    """Which map it is: method, model, part."""
    what = tr("{method} of {name}", method=NAMES[method], name=escaped(plan.model))
    if plan.other:
        what = tr("{what} and {other}", what=what, other=escaped(plan.other))
    return f"{what}, {part_name(ground, plan.part)}" if plan.part is not None and ground is not None else what


def moved_as(found: Projection) -> str:
    """What the way of a face from one model to the other is measured by."""
    if found.how == "joint":
        return tr("1 − cosine of old and new vector")
    return tr("way on the map, in shares of its spread")
