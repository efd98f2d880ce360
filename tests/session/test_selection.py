"""Selection is a pure value."""

from __future__ import annotations

import numpy as np
import pytest

from facelens.session.selection import Mode, Selection

SETS = {
    Mode.REPLACE: lambda a, b: b,
    Mode.ADD: lambda a, b: a | b,
    Mode.REMOVE: lambda a, b: a - b,
    Mode.TOGGLE: lambda a, b: a ^ b,
    Mode.INTERSECT: lambda a, b: a & b,
}


@pytest.mark.parametrize("mode", Mode)
def test_combine_is_set_arithmetic(mode: Mode) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b = (rng.integers(0, 20, rng.integers(0, 15)) for _ in range(2))
        made = Selection(a, current=7, pair=(1, 2)).combine(b, mode)
        assert made.ids.tolist() == sorted(SETS[mode](set(a.tolist()), set(b.tolist())))
        assert (made.current, made.pair) == (7, (1, 2))


def test_ids_are_sorted_unique_frozen_and_own() -> None:
    given = np.array([3, 1, 3])
    selection = Selection(given)
    given[0] = 9
    assert selection.ids.tolist() == [1, 3] and len(selection) == 2
    with pytest.raises(ValueError):
        selection.ids[0] = 5
    assert 3 in selection and 2 not in selection and 4 not in selection


def test_equality_and_hash() -> None:
    a, b = Selection(np.array([1, 2]), current=1), Selection(np.array([2, 1, 1]), current=1)
    assert a == b and hash(a) == hash(b)
    assert a != a.looking_at(2) and a != Selection(np.array([1]), current=1) and a != "other"
    assert Selection() == Selection() and len(Selection()) == 0
    assert a.looking_at(None).ids.tolist() == [1, 2]


@pytest.mark.parametrize("mode", Mode)
def test_nothing_combined_with_nothing(mode: Mode) -> None:
    assert len(Selection().combine(np.zeros(0, np.int64), mode)) == 0
