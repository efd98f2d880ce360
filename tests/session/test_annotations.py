"""Flags, ratings, tags and notes: to a file and back, as columns and filters, in the history, in a still list."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facelens.errors import InputError
from facelens.images.faceset import FaceSet
from facelens.session import filters, subsets
from facelens.session.annotations import (
    FLAGGED,
    REJECTED,
    Annotations,
    Levels,
    as_plain,
    cleaned,
    flagged,
    from_plain,
    noted,
    rated,
    retagged,
    tagged,
    untagged,
)
from facelens.session.store import Store
from facelens.session.subsets import Subsets, combined
from facelens.session.workspace import Arrangement, Workspace, marked


def gallery(n: int = 12, *, columns: dict | None = None) -> FaceSet:
    paths = [b"ann/%02d.png" % i if i < 6 else b"bo b\xff/%02d.png" % i for i in range(n)]
    names = ["Ann" if i < 6 else "Bo" for i in range(n)]
    return FaceSet.build("g", Path("/nowhere"), paths=paths, identities=names, columns=columns or {})


@pytest.fixture
def faces() -> FaceSet:
    return gallery()


@pytest.fixture
def said(faces: FaceSet) -> Annotations:
    ids = faces.ids
    made = flagged(Annotations(), ids[:3], FLAGGED)
    made = flagged(made, ids[2:5], REJECTED)
    made = rated(made, ids[3:8], 4)
    made = tagged(tagged(made, ids[1:4], "blurry"), ids[3:6], "Hat on")
    return noted(made, ids[7:8], "the real Smith")


def test_levels_against_a_dict() -> None:
    rng = np.random.default_rng(0)
    levels, known = Levels(), {}
    for _ in range(300):
        before, were = levels, dict(known)
        ids, level = rng.integers(0, 40, rng.integers(0, 6)), int(rng.integers(-1, 3))
        levels = levels.put(ids, level)
        for face in ids.tolist():
            known.pop(face, None)
            if level:
                known[face] = level
        assert dict(zip(levels.ids.tolist(), levels.values.tolist(), strict=True)) == known
        moved = [known.get(face, 0) for face in {**were, **known} if were.get(face, 0) != known.get(face, 0)]
        assert sorted(levels.since(before).tolist()) == sorted(moved)
        assert levels.at(np.arange(40)).tolist() == [known.get(face, 0) for face in range(40)]
    assert (np.diff(levels.ids) > 0).all()


def test_what_is_so_already_stays_the_same(said: Annotations, faces: FaceSet) -> None:
    ids = faces.ids
    assert flagged(said, ids[:2], FLAGGED) is said
    assert rated(said, ids[9:], 0) is said
    assert tagged(said, ids[1:2], "BLURRY") is said  # another way to write it
    assert untagged(said, ids[8:9], "blurry") is said
    assert noted(said, ids[7:8], " the real Smith\n") is said


def test_tags_come_go_and_are_renamed(said: Annotations, faces: FaceSet) -> None:
    assert list(said.tags) == ["blurry", "Hat on"]
    assert said.tags_of(int(faces.ids[3])) == ("blurry", "Hat on")
    assert list(untagged(said, faces.ids, "blurry").tags) == ["Hat on"]
    one = retagged(said, "blurry", "hat_ON")
    assert list(one.tags) == ["Hat on"] and set(one.tags["Hat on"].tolist()) == set(faces.ids[1:6].tolist())


@pytest.mark.parametrize("name", ["", "  ", "a,b", "a;b", "x" * 61, "a\x00b"])
def test_names_that_cannot_be(name: str) -> None:
    with pytest.raises(InputError):
        cleaned(name)


def test_to_a_file_and_back(said: Annotations, faces: FaceSet) -> None:
    text = json.dumps(as_plain(said, faces))
    back = from_plain(json.loads(text), faces)
    assert as_plain(back, faces) == as_plain(said, faces) and not back.unknown
    assert back.flags.of(int(faces.ids[2])) == REJECTED and back.notes == said.notes
    assert "bo b\udcff/07.png" in json.loads(text)["notes"]


def test_pictures_that_are_not_here_are_kept_aside(said: Annotations, faces: FaceSet) -> None:
    whole = as_plain(said, faces)
    few = faces.take(np.arange(4))
    back = from_plain(whole, few)
    assert back.unknown == 4 and len(back.flags) == 4 and not back.notes
    more = tagged(back, few.ids[:1], "new")
    again = as_plain(more, few)
    assert {k: sorted(v) for k, v in again["tags"].items()} == {
        **{k: sorted(v) for k, v in whole["tags"].items()},
        "new": ["ann/00.png"],
    }
    for kind in ("flags", "ratings", "notes"):
        assert again[kind] == whole[kind]
    complete = from_plain(as_plain(back, few), faces)  # the folder is whole again
    assert as_plain(complete, faces) == as_plain(said, faces) and not complete.unknown


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"flags": []},
        {"flags": {"a": 2}},
        {"flags": {"a": True}},
        {"flags": {"a": 1.0}},
        {"ratings": {"a": 0}},
        {"ratings": {"a": 10**40}},
        {"notes": {"a": 3}},
        {"notes": {"a": "x" * 5000}},
        {"tags": {"t": "a"}},
        {"tags": {"t": [1]}},
        {"tags": {"a, b": ["a"]}},
        {"tags": {"": []}},
    ],
)
def test_values_of_another_kind_are_refused(value: object, faces: FaceSet) -> None:
    with pytest.raises(InputError):
        from_plain(value, faces)


def test_subsets_against_sets() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        a, b = (np.unique(rng.integers(0, 20, 8)) for _ in range(2))
        for name, join in (("and", set.__and__), ("or", set.__or__), ("xor", set.__xor__), ("not", set.__sub__)):
            assert combined(name, a, b).tolist() == sorted(join(set(a.tolist()), set(b.tolist())))


def test_subsets_keep_order_names_and_strangers(faces: FaceSet) -> None:
    made = subsets.put(subsets.put(Subsets(), "worst", faces.ids[::-1]), "best", faces.ids[:2])
    made = subsets.renamed(made, "worst", "very worst")
    assert list(made) == ["very worst", "best"] and (np.diff(made["very worst"]) > 0).all()
    plain = subsets.as_plain(made, faces)
    few = faces.take(np.arange(1))
    back = subsets.from_plain(json.loads(json.dumps(plain)), few)
    assert back.unknown == 11 and len(back["best"]) == 1
    assert {k: sorted(v) for k, v in subsets.as_plain(back, few).items()} == {k: sorted(v) for k, v in plain.items()}
    assert list(subsets.dropped(back, "best")) == ["very worst"]
    with pytest.raises(InputError):
        subsets.from_plain({"a": [1]}, faces)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("flag = rejected", [2, 3, 4]),
        ("flag = rejected and rating >= 3", [3, 4]),
        ("rating < 4", []),
        ("rating is missing", [0, 1, 2, 8, 9, 10, 11]),
        ("tag = blurry", [1, 2, 3]),
        ("tag = hat_on and not tag = Blurry", [4, 5]),
        ("tag = blurry and tag = 'hat on'", [3]),
        ("tag = blurry or tag = 'hat on'", [1, 2, 3, 4, 5]),
        ("tag ~ hat", [3, 4, 5]),
        ("tag = hat", []),
        ('note ~ "smith"', [7]),
        ("subset = mine or subset = other", [0, 11]),
        ("has(flag) and not has(tag)", [0]),
        ("flag != rejected", [0, 1, 5, 6, 7, 8, 9, 10, 11]),
        ("tag != blurry", [0, 4, 5, 6, 7, 8, 9, 10, 11]),
        ("subset != mine", list(range(1, 12))),
    ],
)
def test_filters(text: str, places: list[int], said: Annotations, faces: FaceSet) -> None:
    named = subsets.put(subsets.put(Subsets(), "mine", faces.ids[:1]), "other", faces.ids[11:])
    assert np.flatnonzero(filters.parse(text).rows(marked(faces, said, named))).tolist() == places


def test_a_flag_that_there_is_not_is_said(said: Annotations, faces: FaceSet) -> None:
    with pytest.raises(filters.FilterError) as caught:
        filters.parse("flag = reject").rows(marked(faces, said, Subsets()))
    assert str(caught.value) == "flag is never reject. It is flagged or rejected, or missing."


def test_words_are_offered(said: Annotations, faces: FaceSet) -> None:
    wide = marked(faces, said, Subsets())
    assert filters.completions("tag = ", 6, wide) == ['"Hat on"', "blurry"]
    assert filters.completions("flag = r", 8, wide) == ["rejected"]
    assert "rating" in filters.completions("ra", 2, wide)


def test_a_gallery_with_a_column_of_that_name(said: Annotations) -> None:
    own = gallery(columns={"rating": np.arange(12.0)})
    wide = marked(own, said, Subsets())
    assert filters.parse("rating > 9").rows(wide).sum() == 2
    assert filters.parse("`my rating` = 4").rows(wide).sum() == 5


def test_many_tags_against_a_loop(faces: FaceSet) -> None:
    rng = np.random.default_rng(2)
    made, known = Annotations(), {}
    for i in range(70):
        ids = faces.ids[rng.random(12) < 0.3]
        known[f"t{i}"] = set(ids.tolist())
        made = tagged(made, ids, f"t{i}")
    wide = marked(faces, made, Subsets())
    for name, ids in known.items():
        found = faces.ids[filters.parse(f"tag = {name}").rows(wide)]
        assert set(found.tolist()) == ids


# In the store


@pytest.fixture
def store(faces: FaceSet) -> Store:
    made = Store(Workspace(faces=faces))
    time = iter(range(0, 10_000, 5))
    made.clock = lambda: float(next(time))
    return made


def labels(store: Store) -> list[str]:
    return [step.label for step in store.workspace.history.steps]


def test_words_of_the_history_and_back(store: Store, faces: FaceSet) -> None:
    def say(change, *args) -> None:
        store.update(annotations=change(store.workspace.annotations, *args))

    say(flagged, faces.ids[:3], FLAGGED)
    say(flagged, faces.ids[:1], REJECTED)
    say(flagged, faces.ids[:1], 0)
    say(rated, faces.ids[:1], 4)
    say(tagged, faces.ids, "blurry")
    say(untagged, faces.ids[:2], "blurry")
    say(retagged, "blurry", "soft")
    say(noted, faces.ids[:1], "hm")
    store.update(subsets=subsets.put(store.workspace.subsets, "mine", faces.ids[:2]))
    assert labels(store) == [
        "flag of 3 faces",
        "rejection of 1 face",
        "no flag on 1 face",
        "rating 4 of 1 face",
        "tag blurry on 12 faces",
        "tag blurry off 2 faces",
        "tag blurry → soft",
        "note on Ann",
        "subset mine",
    ]
    store.go(2)
    assert store.workspace.annotations.flags.of(int(faces.ids[0])) == REJECTED
    assert not store.workspace.annotations.tags and not store.workspace.subsets
    store.go(9)
    assert list(store.workspace.annotations.tags) == ["soft"] and list(store.workspace.subsets) == ["mine"]


def test_the_list_never_jumps(store: Store, faces: FaceSet) -> None:
    store.update(annotations=rated(store.workspace.annotations, faces.ids, 3))
    store.update(arrangement=Arrangement(filter="not flag = rejected", sort="rating", descending=True))
    before = store.workspace.shown
    store.update(annotations=flagged(store.workspace.annotations, faces.ids[2:4], REJECTED))
    store.update(annotations=rated(store.workspace.annotations, faces.ids[9:], 5))
    assert store.workspace.shown is before and store.workspace.standing is not None
    store.update(selection=replace(store.workspace.selection, current=int(faces.ids[0])))
    assert store.workspace.shown is before
    store.update(
        arrangement=replace(store.workspace.arrangement, sort="rating", descending=True, filter="flag is missing")
    )
    assert store.workspace.shown.tolist() == [9, 10, 11, 0, 1, 4, 5, 6, 7, 8] and store.workspace.standing is None


def test_a_list_that_was_not_touched_is_up_to_date(store: Store, faces: FaceSet) -> None:
    store.update(arrangement=Arrangement(filter="flag is missing"))
    store.update(annotations=flagged(store.workspace.annotations, faces.ids[:1], FLAGGED))
    store.go(store.workspace.history.done - 1)
    assert store.workspace.standing is None and len(store.workspace.shown) == 12
    store.update(annotations=flagged(store.workspace.annotations, faces.ids[:1], FLAGGED))
    store.update(standing=None)
    assert store.workspace.shown.tolist() == list(range(1, 12))


def test_marks_of_a_filter_survive_new_columns(store: Store, faces: FaceSet) -> None:
    store.update(annotations=flagged(store.workspace.annotations, faces.ids[:3], FLAGGED))
    store.update(arrangement=Arrangement(filter="flag = flagged", sort="rating", group="tag"))
    store.update(faces=faces.with_columns({"norm": np.arange(12.0)}))
    assert store.workspace.arrangement == Arrangement(filter="flag = flagged", sort="rating", group="tag")
    assert len(store.workspace.shown) == 3
