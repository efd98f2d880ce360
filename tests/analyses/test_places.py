"""A step is found by looking at a few of them: a line that is dragged asks many times a second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from facelens.analyses.plan import RULES
from facelens.analyses.scores import Steps
from facelens.analyses.verification import place


class Looked:
    """Numbers that count how many of them are looked at."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers, self.looks = numbers, 0

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, place: int) -> float:
        self.looks += 1
        return self.numbers[place]


@pytest.mark.parametrize("rule", RULES)
def test_a_step_is_found_without_looking_at_all(rule: str) -> None:
    counts = np.arange(1, 100_001)
    real = Steps(np.linspace(1, -1, 100_000), counts, counts, counts)
    for target in (0.0, 1e-6, 0.37, 1.0):
        seen = Looked(real.impostor), Looked(real.threshold)
        found = place(replace(real, impostor=seen[0], threshold=seen[1]), target, rule=rule)
        assert found == place(real, target, rule=rule) and sum(one.looks for one in seen) < 100
