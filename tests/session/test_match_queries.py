"""Queries of another gallery: who they are in the one that is searched."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from facelens.images.faceset import FaceSet
from facelens.session import match_queries


def pictures(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(root / path)
    return root


def gallery(*people: str) -> FaceSet:
    return FaceSet.build("g", Path("/g"), paths=[f"{name}.jpg" for name in people], identities=list(people))


@pytest.mark.parametrize(
    ("people", "names"),
    [
        ({"Ada", "Zoe"}, {"Ada", "Bo"}),
        ({"masked/Ada", "Ada"}, {"clean/Ada", "masked/Ada", "masked/Bo"}),
        ({"Zoe"}, {"clean/Ada", "masked/Ada", "masked/Bo"}),
    ],
)
def test_the_last_folder_names_a_person_if_the_gallery_knows_her_so(
    people: set[str], names: set[str], tmp_path: Path
) -> None:
    folder = pictures(tmp_path / "q", "clean/Ada/1.png", "masked/Ada/1.png", "masked/Bo/1.png")
    found = match_queries.read(folder, people).faces
    assert set(found.identity.names) == names and len(set(found.ids.tolist())) == 3


def test_who_a_query_is_and_what_is_told_of_it(tmp_path: Path) -> None:
    queries = match_queries.read(pictures(tmp_path / "q", "Ada/1.png", "Bo/1.png", "Cy/1.png"), ["Bo"]).faces
    faces = gallery("Zoe", "Bo")
    assert [match_queries.person(faces, queries, int(face)) for face in queries.ids] == [-1, 0, -1]
    assert match_queries.person(faces, None, int(faces.ids[1])) == 0 and match_queries.person(faces, None, 7) == -1
    assert match_queries.first(faces, queries) == queries.ids[1]
    assert match_queries.first(gallery("Zoe"), queries) == queries.ids[0]
    assert match_queries.told(faces, queries).startswith("Names of q that are in g too: 1 of 3.")
    assert match_queries.told(gallery("Ada", "Bo", "Cy"), queries) == ""
    assert match_queries.told(gallery("Zoe"), queries).startswith("No name of q is in g")
    nameless = match_queries.read(pictures(tmp_path / "flat", "x.png", "y.png"), ["Bo"]).faces
    assert "have no names" in match_queries.told(faces, nameless)
    assert match_queries.first(faces, nameless) == nameless.ids[0]
