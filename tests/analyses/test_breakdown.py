"""Values of a column: numbers in a few parts, those of templates. Rates inside each are tested with the evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from facelens.analyses import breakdown
from facelens.analyses.things import Things
from facelens.images.faceset import FaceSet, Labels
from facelens.images.protocol import Protocol, Templates


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


def test_a_template_has_the_value_of_its_own_pictures() -> None:
    """Template 2 is left out; its pictures, of another value, lie between those of the others."""
    light = Labels.of(["day", "day", "night", "day", "night"])
    faces = FaceSet.build("g", Path("."), paths=[*"abcde"], identities=[*"ppppp"], columns={"light": light})
    members = Templates(np.array([3, 1, 2, 1, 3]), np.array([3, 0, 2, 1, 4]), np.zeros(5, np.int64))
    none = np.zeros((2, 0), np.float32)
    things = Things(np.array([1, 3]), np.zeros(2, np.int32), none, none, "template", None, np.array([2]), ())
    codes, names = breakdown._values(faces, things, Protocol("test", None, templates=members), "light")
    assert codes.tolist() == [names.index("day"), -1]  # those of template 3 differ
