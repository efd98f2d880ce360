"""Figure of the queries that a model answers worst: each with the nearest right face and the nearest other one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from facelens.analyses.evaluation import Evaluation, Report
from facelens.analyses.retrieval import per_query
from facelens.errors import InputError
from facelens.figures.page import HEAD, LINE, MARGIN, Page, elided, lines, mark
from facelens.figures.style import style
from facelens.images.faceset import FaceSet
from facelens.progress import Tick, silent
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 12  # queries
USUAL = "MAP@R"  # what the worst are found by
SHOWN = ("P@1", "RP", "MAP@R", "mAP")
ROW, SIDE, FACE, VALUE = 0.6, 0.5, 1.75, 0.58  # inches: a row, a picture, a picture with its words, a value


def draw_worst(
    faces: FaceSet, evaluation: Evaluation, report: Report, *, by: str = "", tick: Tick = silent
) -> Figure:  # fmt: skip
    """A row for each of the worst queries `by` a measure, the usual one where none is named."""
    found = report.retrieval
    if found is None or not len(found.queries.query) or report.of == "template":
        raise InputError(
            tr("No picture was searched for by itself, so there is no query to draw."),
            hint=tr("Run Evaluate with retrieval."),
        )
    queries, known = found.queries, {}
    for name in (*SHOWN, by):
        try:
            known[name] = per_query(queries, name)
        except KeyError:
            continue
    by = by if by in known else USUAL if USUAL in known else next(iter(known))
    shown = [name for name in SHOWN if name in known]
    order = queries.worst(by)[:MOST].tolist()
    heads = [tr("query"), tr("nearest right"), tr("nearest other")]
    foot = [
        tr("worst first, by {name}", name=by), tr("under a name: cosine, higher is closer"),
        tr("first right: rank of the first picture of the same person"),
        tr("the first {n} of {total}", n=len(order), total=len(queries.query)), found.how.removesuffix("."),
    ]  # fmt: skip
    ends = [MARGIN + 3 * FACE + (i + 1) * VALUE for i in range(len(shown) + 1)]
    width = ends[-1] + MARGIN
    with style():
        page = Page(width, HEAD + 0.24 + len(order) * ROW + 0.2 + LINE * len(lines(foot, width - 2 * MARGIN)))
        counted = plural(len(queries.query), "N = {n} query", "N = {n} queries")
        page.head(tr("Queries that are answered worst"), [escaped(report.name), escaped(evaluation.gallery), counted])
        for i, head in enumerate(heads):
            page.text(MARGIN + i * FACE, HEAD + 0.12, head, size=6, ink="text3")
        for end, head in zip(ends, (*shown, tr("first right"))):
            page.text(end, HEAD + 0.12, head, size=6, ink="text3", ha="right")
        right = queries.nearest_right if len(queries.nearest_right) == len(queries.query) else None
        for i, line in enumerate(order):
            tick(i, len(order), tr("Drawing"))
            down = HEAD + 0.24 + i * ROW
            three: list[tuple[int, str, bool | None]] = [(int(queries.query[line]), "", None)]
            if right is not None and right[line] >= 0:
                three.append((int(right[line]), number(float(queries.nearest_right_score[line]), 3), True))
            else:
                three.append((-1, tr("none found"), None))
            if queries.nearest_wrong[line] >= 0:
                score = number(float(queries.nearest_wrong_score[line]), 3)
                three.append((int(queries.nearest_wrong[line]), score, False))
            for n, (face, told, good) in enumerate(three):
                _face(page, MARGIN + n * FACE, down, faces, face, told, good)
            first = int(queries.first_right[line])
            values = [number(float(known[name][line]), 3) for name in shown] + [f"{first:,}" if first else tr("none")]
            for end, text in zip(ends, values):
                page.text(end, down + SIDE / 2, text, size=6.5, ha="right")
        page.foot(foot)
        tick(len(order), len(order))
        return page.figure


def _face(page: Page, x: float, down: float, faces: FaceSet, face: int, told: str, right: bool | None) -> None:
    """A face with its name, and what is told of it."""
    row = faces.row_of(face) if face >= 0 else None
    room = FACE - SIDE - 0.16
    if row is not None:
        axes = page.face(x, down, SIDE, faces, row, pixels=112)
        if right is not None:
            mark(axes, right, x=0.95, y=0.93, size=6)
        page.text(x + SIDE + 0.07, down + SIDE / 2 - 0.06, elided(escaped(faces.label(row)), 6, room), size=6)
    page.text(x + SIDE + 0.07, down + SIDE / 2 + 0.07, told, size=6, ink="text3")
