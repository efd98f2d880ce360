"""Tables for papers: the numbers of the result in the order of the paper, names as LaTeX sets them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from facelens.analyses.measure import Measure
from facelens.analyses.reranking import Sweep
from facelens.analyses.upgrade import Upgrade
from facelens.figures.upgrade_table import model_rows, shown_percent
from facelens.images.faceset import FaceSet
from facelens.session import latex
from tests.figures.matched import PLAN, make_faces, make_sweep
from tests.figures.parted import make_learners
from tests.figures.upgraded import FULL, made


def tables(text: str) -> list[list[list[str]]]:
    """The cells of each tabular, row by row; heads first."""
    found = []
    for columns, body in re.findall(r"\\begin\{tabular\}\{(\w+)\}\n(.*?)\\end\{tabular\}", text, re.S):
        rows = [line.removesuffix(r" \\").split(" & ") for line in body.splitlines() if line != r"\hline"]
        assert {len(row) for row in rows} == {len(columns)}, "every row has a cell for each column"
        found.append(rows)
    return found


def value(cell: str) -> str:
    return cell.partition(" ")[0].replace("$-$", "−")


def safe(text: str) -> None:
    """Nothing in it is LaTeX but what we wrote."""
    for line in text.splitlines():
        if not line.startswith("%"):
            bare = re.sub(
                r"\\[&%$#_{}]|\\text\w+\{\}|\\scriptsize|\\(?:begin|end)\{tabular\}|\\hline|\\\\|\$[^$]*\$", "", line
            )
            assert not re.search(r"[\\$#_^~%]", bare.replace(r"Perf.\ ", "")), line
            assert line.count("{") == line.count("}")
    assert text.isascii() or not re.search("[−×αε]", "\n".join(t for t in text.splitlines() if not t.startswith("%")))


@pytest.fixture
def upgraded() -> tuple[FaceSet, Upgrade]:
    faces, _, found = made()
    return faces, found


def test_the_models_with_both_gains(upgraded: tuple[FaceSet, Upgrade]) -> None:
    faces, found = upgraded
    text = latex.upgrade_latex(faces, found, dimensions={"old": 8, "new": 16})
    safe(text)
    models, matrix, distances = tables(text)
    assert [row[0] for row in models] == ["Model", "old (old)", "mid (further)", "new (new)", "upper (upper)"]
    assert models[0][3:6] == ["Direct", "Backward", "Forward"]
    by_name = {row[0]: row for row in models}
    assert by_name["old (old)"][1] == "8" and by_name["upper (upper)"][1] == "--"
    for name, role in (("old", "old"), ("new", "new"), ("upper", "upper")):
        own = found.matrix.test(name, name)
        assert own is not None and value(by_name[f"{name} ({role})"][2]) == f"{own.verification.value:.3f}"
    cross = found.matrix.test("new", "old")
    assert cross is not None and value(by_name["new (new)"][3]) == f"{cross.verification.value:.3f}"
    gains = {one.of: one for one in found.matrix.gains if one.task == "1:1"}
    best = next(one for one in gains.values() if one.best)
    assert value(by_name["new (new)"][6]) == shown_percent(gains["performance"].percent)
    assert value(by_name["new (new)"][7]) == shown_percent(best.percent)
    assert by_name["old (old)"][3:] == ["--"] * 5 and by_name["upper (upper)"][7] == "--"
    assert value(by_name["upper (upper)"][6]) in ("+100.00", "−100.00")
    assert r"{\scriptsize [" in by_name["new (new)"][2], "intervals are there"

    assert matrix[0] == ["", *found.matrix.models]
    for row, query in zip(matrix[1:], found.matrix.models, strict=True):
        tests = [found.matrix.test(query, gallery) for gallery in found.matrix.models]
        assert [value(cell) for cell in row[1:]] == [f"{one.verification.value:.3f}" for one in tests if one]
    assert [row[0] for row in distances[1:]] == list(found.matrix.models)
    first = found.matrix.compactness[0]
    assert value(distances[1][1]) == f"{first.centre.value:.3f}"


def test_the_sign_of_upper_is_that_of_the_difference() -> None:
    """Table 2 of the paper: where upper is worse than old it is printed as -100."""
    _, _, found = made()
    gains = tuple(replace(one, possible=Measure(-0.02)) for one in found.matrix.gains)
    worse = replace(found, matrix=replace(found.matrix, gains=gains))
    upper = next(row for row in model_rows(worse) if row.role == "upper")
    assert upper.performance is not None and upper.performance.value == -100.0
    none = replace(found, plan=replace(found.plan, upper=""))
    assert all(row.performance is None and row.upgrade is None for row in model_rows(none))


def test_another_task_and_transforms() -> None:
    faces, _, found = made(replace(FULL, new="apart", upper="", others=("wide",)))
    assert "TPIR @ FPIR" in tables(latex.upgrade_latex(faces, found, task="1:N"))[0][0][2]
    text = latex.upgrade_latex(faces, found)
    safe(text)
    (models, *_) = tables(text)
    new = next(row for row in models if row[0] == "apart (new)")
    assert all(cell != "--" for cell in new[4:6]), "backward and forward were fitted"
    assert next(row for row in models if row[0].startswith("wide"))[3] == "--", "of other dimensions"
    assert "transforms were fitted on 12 other people" in text


def test_learners_stand_as_published(tmp_path: Path) -> None:
    faces = make_faces(tmp_path)
    found = make_learners(faces)
    (rows,) = tables(latex.learners_latex(faces, found))
    assert found.baseline is not None
    names = [found.baseline.model, found.own.model]
    assert [row.replace(r"\_", "_") for row in rows[0][1:3]] == names, "the baseline first"
    K, width = found.own.layout.parts, found.own.layout.width
    assert len(rows) == 1 + K + 3 and rows[1][-1] == f"1--{width}" and rows[-2][-1] == f"1--{K * width}"
    for k in range(K):
        assert value(rows[1 + k][2]) == f"{found.own.recall[0][k].value:.3f}"
    assert [row[0] for row in rows[-3:]] == ["Mean", "All together", "$|r|$"]
    alone = latex.learners_latex(faces, replace(found, baseline=None))
    assert len(tables(alone)[0][0]) == 3
    safe(alone)


def test_searches_before_and_after(tmp_path: Path) -> None:
    faces = make_faces(tmp_path)
    sweep: Sweep = make_sweep(faces)
    text = latex.sweep_latex(faces, sweep, PLAN)
    (rows,) = tables(text)
    assert rows[0] == ["Method", "P@1", "RP", "MAP@R"]
    assert [row[0] for row in rows[1:]] == ["Stage 1", "Uniform", "APC"]
    assert [value(row[1]) for row in rows[1:]] == ["0.600", "0.700", "0.800"]
    assert "% my $1$ gallery: 2 of 3 queries" in text and "α 0.50" in text
    safe(text)
    undefined = replace(sweep, before={name: Measure.none("nobody") for name in sweep.before}, complete=False)
    text = latex.sweep_latex(faces, undefined, PLAN)
    assert tables(text)[0][1][1:] == ["--"] * 3 and "not complete" in text


def test_names_are_set_as_they_are(upgraded: tuple[FaceSet, Upgrade], tmp_path: Path) -> None:
    faces, found = upgraded
    odd = r"n_1 & 50% {x} \new $y$ #~^"
    plan = replace(found.plan, old=odd)
    matrix = found.matrix
    tests = tuple(
        replace(
            one, query=odd if one.query == "old" else one.query, gallery=odd if one.gallery == "old" else one.gallery
        )
        for one in matrix.tests
    )
    models = tuple(odd if name == "old" else name for name in matrix.models)
    compact = tuple(replace(one, model=odd if one.model == "old" else one.model) for one in matrix.compactness)
    renamed = replace(found, plan=plan, matrix=replace(matrix, tests=tests, models=models, compactness=compact))
    text = latex.upgrade_latex(faces, renamed)
    assert r"n\_1 \& 50\% \{x\} \textbackslash{}new \$y\$ \#\textasciitilde{}\textasciicircum{} (old)" in text
    out = latex.write_latex(tmp_path / "t.tex", text)
    assert out.read_text() == text
