"""The same numbers in files as on screen, in forms that no other program misreads."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses.evaluation import Evaluation, evaluate_both
from facelens.features.featureset import FeatureSet, Provenance
from facelens.images.faceset import FaceSet
from facelens.session import reports, tables
from tests.session.evaluated import PLAN, D, World


def test_json_has_every_number(both: tuple[World, Evaluation], tmp_path: Path) -> None:
    world, found = both
    told = json.loads(tables.write_json(tmp_path / "e.json", found, faces=world.faces).read_text())
    assert told["plan"]["fars"] == [0.1, 0.02, 1e-6] and told["digest"] == found.digest
    assert told["gallery"]["identities"] == 10 and told["gallery"]["digest"] == world.faces.digest
    model = told["models"]["A"]
    assert model["gallery"]["weights_sha256"] == "ab" * 32 and model["gallery"]["card"]["name"] == "old net_1"
    points = found.a.verification.points  # type: ignore[union-attr]
    assert model["verification"]["points"][0]["tar"]["value"] == points[0].tar.value
    assert model["verification"]["points"][2]["tar"]["supported"] is False
    assert model["pairs"]["genuine"] == 60 and len(model["slices"]) == 2
    assert model["retrieval"]["measures"]["P@1"]["n"] == 40
    assert told["b_minus_a"]["verification"]["points"][0]["tar"]["value"] is not None
    assert len(model["confusable"]["people"][0]["best_pair"]) == 2


def test_csv_runs_no_formulas(both: tuple[World, Evaluation], tmp_path: Path) -> None:
    world, found = both
    out = tables.write_csv(tmp_path / "e.csv", found, faces=world.faces)
    read = {}
    for name in ("e.csv", "e-searches.csv", "e-queries.csv"):
        with open(tmp_path / name, newline="") as stream:
            read[name] = list(csv.DictReader(stream))
    assert out == tmp_path / "e.csv"
    first = read["e.csv"][0]
    point = found.a.verification.points[0]  # type: ignore[union-attr]
    assert (first["measure"], float(first["target"])) == ("TAR", 0.1)
    assert float(first["value"]) == pytest.approx(point.tar.value) and int(first["n_impostor"]) == 720
    assert float(first["low"]) == pytest.approx(point.tar.low) and float(first["threshold"]) == pytest.approx(
        point.threshold
    )
    unsupported = [row for row in read["e.csv"] if row["target"] == "1e-06" and row["part"] == "verification"]
    assert unsupported and all(row["supported"] == "0" and row["why"] for row in unsupported)
    assert {row["slice"] for row in read["e.csv"]} == {"", "'@day", "night"}
    assert {row["model"] for row in read["e.csv"]} == {"A old net_1", "B new & better", "B - A"}
    assert len(read["e-queries.csv"]) == 80 and len(read["e-searches.csv"]) == 2 * 60
    assert all(row["query"].startswith("'=p") and row["identity"].startswith("'=") for row in read["e-queries.csv"])
    worst = [float(row["MAP@R"]) for row in read["e-queries.csv"][:40]]
    assert worst == sorted(worst)


def test_latex_escapes_names(both: tuple[World, Evaluation], tmp_path: Path) -> None:
    world, found = both
    text = tables.write_latex(tmp_path / "e.tex", found, faces=world.faces).read_text()
    assert r"A: old net\_1" in text and r"B: new \& better" in text and "B $-$ A" in text
    table = text[text.index(r"\begin{tabular}") :]
    rows = [line for line in table.splitlines() if "&" in line]
    assert len(rows) == 4 and len({line.replace(r"\&", "").count("&") for line in rows}) == 1
    assert "--" in rows[1] and "scriptsize" in rows[1] and "−" not in text
    assert tables.latex_text("a_b{c}\\~^") == r"a\_b\{c\}\textbackslash{}\textasciitilde{}\textasciicircum{}"


def test_an_empty_evaluation_can_be_told_and_written(tmp_path: Path) -> None:
    faces = FaceSet.build("none", tmp_path, paths=[], identities=[])
    none = FeatureSet(np.zeros(0, np.int64), np.zeros((0, D), np.float32), Provenance("f", "net"))
    found = evaluate_both(faces, None, PLAN, a=none, b=none)
    assert "n/a: no pair was compared" in "\n".join(reports.lines(found, faces=faces))
    for write, name in (
        (tables.write_json, "e.json"),
        (tables.write_csv, "e.csv"),
        (tables.write_latex, "e.tex"),
    ):
        assert write(tmp_path / name, found, faces=faces).stat().st_size
