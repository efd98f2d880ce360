"""Tests have fingerprints of what they compare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from facelens.images.protocol import Pairs, Protocol, Templates


def test_two_tests_of_one_name_are_two_tests() -> None:
    def pairs(*rows: tuple[int, int], same: bool = True, of: str = "face") -> Pairs:
        return Pairs(np.array(rows, np.int64), np.full(len(rows), same), np.zeros(len(rows), np.int32), of)

    groups = {"query": np.array([1, 2]), "gallery": np.array([3])}
    members = Templates(np.array([1, 1]), np.array([0, 1]), np.array([5, 6]))
    tests = [
        Protocol("pairs.txt"),
        Protocol("other"),
        Protocol("pairs.txt", pairs((0, 1), (2, 3))),
        Protocol("pairs.txt", pairs((0, 1), (3, 2))),
        Protocol("pairs.txt", pairs((0, 1), (2, 3), same=False)),
        Protocol("pairs.txt", pairs((0, 1), (2, 3), of="template")),
        Protocol("pairs.txt", groups=groups),
        Protocol("pairs.txt", groups={"query": np.array([1, 2, 3]), "gallery": np.array([], np.int64)}),
        Protocol("pairs.txt", groups=groups, groups_of="template"),
        Protocol("pairs.txt", templates=members),
        Protocol("pairs.txt", templates=replace(members, media=np.array([5, 5]))),
    ]
    assert len({one.digest for one in tests}) == len(tests)
    assert tests[2].digest == Protocol("pairs.txt", pairs((0, 1), (2, 3)), notes=("said",)).digest
