"""Values of a column: numbers in a few parts, none of them empty. Rates inside each are tested with the evaluation."""

from __future__ import annotations

import numpy as np
import pytest

from facelens.analyses import breakdown


@pytest.mark.parametrize(
    ("values", "names", "counts"),
    [
        ([0.0] * 90 + [0.3 + 0.01 * i for i in range(10)], ["0", "0.3 to 0.39"], [90, 10]),  # mostly no blur
        (list(np.linspace(-40, 40, 101)), ["-40 to -20", "-20 to 0", "0 to 20", "20 to 40"], [25, 25, 25, 26]),
        ([-5.5, -4.5, 0.0, 0.0, 0.0, 2.5, 3.5, 4.5, 5.5, float("nan")], ["-5.5 to -4.5", "0", "2.5 to 4", "4 to 5.5"],
         [2, 3, 2, 2]),
        ([1.0, 2.0, 2.0, 7.0], ["1", "2", "7"], [1, 2, 1]),
        ([0.5, 1.5, 1.5], ["0.5", "1.5"], [1, 2]),
        ([0.0] * 30 + [1.5, 2.5, 3.5, 4.5] * 20 + [9.5, 8.5, 7.25], [], None),
        ([float("nan")] * 3, [], []),
    ],
)  # fmt: skip
def test_numbers_are_divided_into_a_few_parts(values: list[float], names: list[str], counts: list[int] | None) -> None:
    codes, found = breakdown._binned(np.array(values))
    assert (codes >= 0).tolist() == np.isfinite(values).tolist()
    sizes = np.bincount(codes[codes >= 0], minlength=len(found)).tolist()
    if counts is not None:
        assert found == names and sizes == counts
    assert all(sizes), "no part is empty"
