"""What the command prints of an evaluation."""

from __future__ import annotations

from facelens.analyses.evaluation import Evaluation
from facelens.session import reports
from tests.session.evaluated import World


def test_lines_name_rule_counts_and_reasons(both: tuple[World, Evaluation]) -> None:
    world, found = both
    text = "\n".join(reports.lines(found, faces=world.faces))
    for words in (
        "people: 40 faces, 10 people. Test: all pairs.",
        "Model A: old net_1",
        "60 genuine and 720 impostor pairs; rule roc; 95 % intervals from 40 draws of identities",
        "unattainable: 720 impostor pairs",
        "By light, at the thresholds of all pairs",
        "B minus A",
        "MAP@R",
        "rank 1",
    ):
        assert words in text, words
    assert "nan" not in text.lower()
