"""A gallery with two stores, and its evaluation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from facelens.analyses.evaluation import Evaluation, evaluate_both
from facelens.images.faceset import Labels
from facelens.session import tasks, vectors
from tests.session.evaluated import EACH, PEOPLE, PLAN, World, stored


@pytest.fixture
def world(tmp_path: Path) -> World:
    gallery = tmp_path / "people"
    for person in range(PEOPLE):
        (gallery / f"=p{person}").mkdir(parents=True)  # a name that a spreadsheet would run
        for number in range(EACH):
            (gallery / f"=p{person}" / f"{number}.jpg").write_bytes(b"\xff\xd8")
    faces = tasks.open_gallery(gallery).faces
    cache = tmp_path / "cache"
    old, new = (stored(faces, cache, name, spread) for name, spread in (("old net_1", 0.9), ("new & better", 0.5)))
    return World(gallery, faces, cache, old, new)


@pytest.fixture
def both(world: World) -> tuple[World, Evaluation]:
    columns = {"light": Labels.of(["@day" if i % 2 else "night" for i in range(len(world.faces))])}
    world = replace(world, faces=world.faces.with_columns(columns))
    opened = vectors.open_stores([str(world.old), str(world.new)], cache=world.cache)
    a, b = opened.features
    return world, evaluate_both(world.faces, None, PLAN, a=a, b=b)
