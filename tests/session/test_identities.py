"""Identity edits: who is who by the user's word; every question follows, vectors stay, and all of it can be undone."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.errors import InputError
from facelens.features import store as features_store
from facelens.features.card import Card
from facelens.images import doctor
from facelens.images.faceset import FaceSet, Labels
from facelens.session import archive, filters, identities
from facelens.session.annotations import Annotations, flagged
from facelens.session.identities import IdentityEdits, applied, as_plain, from_plain, named, spelled, taken_back
from facelens.session.mark_columns import mark_columns, spoken
from facelens.session.store import Store
from facelens.session.subsets import Subsets
from facelens.session.workspace import Arrangement, Workspace

WHO = ["Ada", "Ada", "Ada", "Bo", "Bo", None]


def gallery(root: Path = Path("/people")) -> FaceSet:
    paths = [f"{i}.png" for i in range(len(WHO))]
    return FaceSet.build("tiny", root, paths=paths, identities=WHO, columns={"blur": np.arange(6.0)})


def names(faces: FaceSet) -> list[str]:
    return [faces.identity.name(row) for row in range(len(faces))]


@pytest.fixture
def store() -> Store:
    made = Store(Workspace(faces=gallery()))
    time = count(0.0, 10.0)
    made.clock = lambda: next(time)  # a hand takes its time
    return made


def say(store: Store, rows: list[int], name: str) -> None:
    now = store.workspace
    assert now.faces is not None
    store.update(identity_edits=named(now.identity_edits, now.faces, now.faces.ids[rows], name))


def test_faces_get_other_names_and_get_their_own_back() -> None:
    faces = gallery()
    edits = named(IdentityEdits(), faces, faces.ids[[0, 5]], "Cy")
    other = applied(faces, edits)
    assert names(other) == ["Cy", "Ada", "Ada", "Bo", "Bo", "Cy"]
    assert other.original is faces.identity and other.identity.names == ("Ada", "Bo", "Cy")
    edits = named(edits, other, other.ids[[3, 4]], "")
    assert names(applied(other, edits)) == ["Cy", "Ada", "Ada", "", "", "Cy"]
    assert "Bo" not in applied(other, edits).identity.names, "who has no face is nobody"
    back = applied(other, taken_back(edits, faces.ids))
    assert back.identity is faces.identity and back.given is None and back.digest == faces.digest


def test_a_name_that_the_gallery_says_anyway_is_no_edit() -> None:
    faces = gallery()
    edits = named(IdentityEdits(), faces, faces.ids[:4], "Ada")
    assert edits.ids.tolist() == [int(faces.ids[3])]
    assert len(named(edits, applied(faces, edits), faces.ids[3:4], "Bo")) == 0
    assert len(named(IdentityEdits(), faces, faces.ids[5:], "")) == 0


def test_equal_edits_stay_the_same_and_so_do_the_faces() -> None:
    faces = gallery()
    edits = named(IdentityEdits(), faces, faces.ids[:1], "Cy")
    other = applied(faces, edits)
    assert named(edits, other, faces.ids[:1], "Cy") is edits and applied(other, edits) is other
    wider = other.with_columns({"more": np.zeros(6)})
    assert applied(wider, edits) is wider
    assert taken_back(edits, faces.ids[1:]) is edits
    assert applied(faces, IdentityEdits()) is faces


def test_what_depends_on_names_is_new_and_what_does_not_is_kept() -> None:
    faces = gallery()
    by_blur, by_name = faces.order_by("blur", descending=True), faces.order_by("identity")
    faces.rows_of(faces.ids[:2])
    other = applied(faces, named(IdentityEdits(), faces, faces.ids[:1], "Zoe"))
    assert other.digest != faces.digest and other.pictures == faces.pictures
    assert other.order_by("blur", descending=True) is by_blur
    assert other.order_by("identity").tolist() == [1, 2, 3, 4, 0, 5] != by_name.tolist()
    again = pickle.loads(pickle.dumps(other))
    assert names(again) == names(other) and again.original.names == ("Ada", "Bo")
    taken = other.take(np.array([0, 5]))
    assert names(taken) == ["Zoe", ""] and taken.original.name(0) == "Ada"


def test_stored_vectors_are_found_whoever_is_on_the_pictures() -> None:
    faces = gallery()
    other = applied(faces, named(IdentityEdits(), faces, faces.ids, "Cy"))
    card = Card("net", "small_plain", dimensions=64)
    prints = {features_store.fingerprint(one, weights="ab" * 32, card=card) for one in (faces, other)}
    assert len(prints) == 1 and features_store.place_of(faces) == features_store.place_of(other)
    assert features_store.picture_keys(faces).tolist() == features_store.picture_keys(other).tolist()


def test_columns_say_who_was_edited_and_whom_the_gallery_means() -> None:
    faces = gallery()
    other = applied(faces, named(named(IdentityEdits(), faces, faces.ids[:1], "Bo"), faces, faces.ids[5:], "Ada"))
    wide = other.with_columns(mark_columns(other, Annotations(), Subsets()))
    assert filters.parse("edited = yes").rows(wide).nonzero()[0].tolist() == [0, 5]
    assert filters.parse("`original identity` = Ada").rows(wide).nonzero()[0].tolist() == [0]
    assert filters.parse("identity ~ bo").rows(wide).nonzero()[0].tolist() == [0, 3, 4]
    told = spoken(other, Annotations(), Subsets())
    assert {"edited", "original identity"} == told.keys() and not spoken(faces, Annotations(), Subsets())


def test_a_gallery_with_such_a_column_of_its_own() -> None:
    faces = gallery().with_columns({"edited": Labels.of(["by me"] * 6)})
    other = applied(faces, named(IdentityEdits(), faces, faces.ids[:1], "Bo"))
    wide = other.with_columns(mark_columns(other, Annotations(), Subsets()))
    assert filters.parse("`my edited` = yes").rows(wide).sum() == 1


# -- in the workspace


def test_questions_follow_and_undo_leads_back(store: Store) -> None:
    before = store.workspace
    assert before.faces is not None
    say(store, [3], "Ada")
    now = store.workspace
    assert now.faces is not None and now.faces.digest != before.faces.digest and names(now.faces)[3] == "Ada"
    assert now.history.undo == "identity Ada on 1 face"
    store.go(0)
    assert store.workspace.faces is not None and store.workspace.faces.digest == before.faces.digest
    assert not len(store.workspace.identity_edits)
    store.go(1)
    assert store.workspace.faces.digest == now.faces.digest


def test_what_steps_are_called(store: Store) -> None:
    say(store, [0, 5], "Cy")
    assert store.workspace.history.undo == "identity Cy on 2 faces"
    say(store, [3, 4], "Cy")
    assert store.workspace.history.undo == "identity Bo → Cy on 2 faces"
    say(store, [0, 1], "")
    assert store.workspace.history.undo == "no identity on 2 faces"
    now = store.workspace
    store.update(identity_edits=taken_back(now.identity_edits, now.faces.ids))  # type: ignore[union-attr]
    assert store.workspace.history.undo == "original identity of 5 faces"


def test_a_whole_person_joins_another(store: Store) -> None:
    say(store, [3, 4], "Ada")
    faces = store.workspace.faces
    assert faces is not None and faces.identity.names == ("Ada",) and faces.identity.counts().tolist() == [5]


def test_columns_that_come_later_do_not_undo_an_edit(store: Store) -> None:
    say(store, [0], "Bo")
    faces = store.workspace.faces
    assert faces is not None
    store.update(faces=faces.with_columns({"late": np.zeros(6)}))
    assert names(store.workspace.faces)[0] == "Bo"  # type: ignore[arg-type]
    store.update(faces=gallery().with_columns({"later": np.zeros(6)}))
    assert names(store.workspace.faces)[0] == "Bo"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arrangement",
    [
        Arrangement(filter="identity = Ada"),
        Arrangement(filter="blur > 4 or ada"),
        Arrangement(sort="identity"),
        Arrangement(group="identity", sort="blur", descending=True),
        Arrangement(filter="not edited = yes"),
        Arrangement(sort="original identity"),
    ],
)
def test_the_list_stands_still_until_one_asks(store: Store, arrangement: Arrangement) -> None:
    store.update(arrangement=arrangement)
    before = store.workspace.shown.tolist()
    say(store, [0, 4], "Cy")
    now = store.workspace
    assert now.shown.tolist() == before and now.standing is not None
    store.update(selection=now.selection)
    assert store.workspace.shown.tolist() == before
    store.go(store.workspace.history.done - 1)
    assert store.workspace.standing is None and store.workspace.shown.tolist() == before
    store.go(store.workspace.history.done + 1)
    store.update(standing=None)
    assert store.workspace.shown.tolist() != before


def test_a_list_that_does_not_ask_who_it_is_has_nothing_to_hold(store: Store) -> None:
    store.update(arrangement=Arrangement(filter="blur > 1", sort="blur"))
    say(store, [0, 4], "Cy")
    assert store.workspace.standing is None
    store.update(arrangement=Arrangement(filter="not flag = rejected"))
    faces = store.workspace.faces
    store.update(annotations=flagged(store.workspace.annotations, faces.ids[:1], -1))  # type: ignore[union-attr]
    held = store.workspace.shown.tolist()
    say(store, [3], "Cy")
    assert store.workspace.standing is not None and store.workspace.shown.tolist() == held


def test_a_filter_on_somebody_who_is_gone_stays(store: Store) -> None:
    store.update(arrangement=Arrangement(filter="identity = Bo"))
    say(store, [3, 4], "Ada")
    assert store.workspace.arrangement.filter == "identity = Bo" and store.workspace.shown.tolist() == [3, 4]


def test_the_doctor_speaks_of_the_names_that_faces_have(store: Store, tmp_path: Path) -> None:
    for i in range(6):
        (tmp_path / f"{i}.png").write_bytes(_picture(i if i != 3 else 0))  # the fourth is a copy of the first
    store = Store(Workspace(faces=gallery(tmp_path)))
    faces = store.workspace.faces
    assert faces is not None
    store.update(diagnosis=doctor.diagnose(faces))
    whole = doctor.as_json(store.workspace.diagnosis, faces)  # type: ignore[arg-type]

    def kinds() -> set[str]:
        return {finding.kind for finding in store.workspace.diagnosis.findings}  # type: ignore[union-attr]

    assert "copies across identities" in kinds() and "copies" not in kinds() and "no identity" in kinds()
    say(store, [3], "Ada")
    say(store, [5], "Di")
    now = store.workspace.faces
    assert now is not None
    assert "copies" in kinds() and "copies across identities" not in kinds() and "no identity" not in kinds()
    assert doctor.as_json(doctor.diagnose(now), now) == doctor.as_json(store.workspace.diagnosis, now)  # type: ignore[arg-type]
    store.go(0)
    assert doctor.as_json(store.workspace.diagnosis, faces) == whole  # type: ignore[arg-type]


def _picture(seed: int) -> bytes:
    from io import BytesIO

    from PIL import Image

    made = BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (48, 48, 3), np.uint8)).save(made, "PNG")
    return made.getvalue()


# -- names


def test_a_name_is_spelled_as_it_is_known() -> None:
    known = Labels.of(["Ada_Byron", "Smith, John", "bo", "BO"])
    assert spelled(" ada  byron", known) == "Ada_Byron" and spelled("BO", known) == "BO"
    assert spelled("Smith, John", known) == "Smith, John" and spelled("Cy  Diaz ", known) == "Cy Diaz"
    odd = Labels.of(["\udcff\n"])
    assert spelled("\udcff\n", odd) == "\udcff\n", "a name of the gallery's may be as it is"
    for bad in ("", "   ", "a\x07b", "\udcff", "x" * 201):
        with pytest.raises(InputError, match="cannot be a name"):
            spelled(bad, known)


# -- in the file


def edited(folder: Path) -> Workspace:
    faces = gallery(folder)
    edits = named(named(IdentityEdits(), faces, faces.ids[[0, 5]], "Cy, D"), faces, faces.ids[[3]], "")
    return Workspace(faces=applied(faces, edits), identity_edits=edits)


def test_edits_are_in_the_file_by_path_and_come_back(tmp_path: Path) -> None:
    archive.save(edited(tmp_path), tmp_path / "w.facelens")
    said = json.loads((tmp_path / "w.facelens").read_bytes())
    assert said["identities"] == {"named": {"Cy, D": ["0.png", "5.png"]}, "nobody": ["3.png"]}
    found = archive.read(tmp_path / "w.facelens")
    assert not found.unknown
    told = archive.faced(found, gallery(tmp_path))
    assert names(applied(gallery(tmp_path), told.identities)) == ["Cy, D", "Ada", "Ada", "", "Bo", "Cy, D"]
    again = Workspace(faces=applied(gallery(tmp_path), told.identities), identity_edits=told.identities)
    assert archive.same(archive.taken(again), archive.taken(edited(tmp_path)))


def test_the_digest_of_the_gallery_in_the_file_is_that_of_the_gallery(tmp_path: Path) -> None:
    made = replace(edited(tmp_path), galleries=(archive.Opened(tmp_path),))
    assert archive.taken(made).galleries[0].digest == gallery(tmp_path).digest


def test_a_picture_that_is_not_here_keeps_its_edit(tmp_path: Path) -> None:
    made = edited(tmp_path)
    fewer = gallery(tmp_path).take(np.arange(1, 6))
    plain = as_plain(made.identity_edits, made.faces)  # type: ignore[arg-type]
    found = from_plain(plain, fewer)
    assert found.unknown == 1 and dict(found.aside) == {"0.png": "Cy, D"} and len(found) == 2
    assert as_plain(found, fewer) == plain
    more = named(found, applied(fewer, found), fewer.ids[:1], "Di")
    assert as_plain(more, fewer)["named"] == {"Cy, D": ["0.png", "5.png"], "Di": ["1.png"]}


def test_nothing_said_nothing_written() -> None:
    assert as_plain(IdentityEdits(), gallery()) == {} and len(from_plain({}, gallery())) == 0


@pytest.mark.parametrize(
    "hostile",
    [
        [],
        {"named": []},
        {"named": {"Ada": "0.png"}},
        {"named": {"Ada": [1]}},
        {"named": {"": ["0.png"]}},
        {"named": {"  ": ["0.png"]}},
        {"named": {"a\0b": ["0.png"]}},
        {"named": {"\ud800": ["0.png"]}},
        {"named": {"x" * 1001: ["0.png"]}},
        {"named": {"Ada": ["0.png"], "Bo": ["0.png"]}},
        {"named": {"Ada": ["0.png", "0.png"]}},
        {"named": {"Ada": ["0.png"]}, "nobody": ["0.png"]},
        {"nobody": {}},
        {"nobody": [None]},
        {"nobody": "0.png"},
    ],
)
def test_what_a_stranger_wrote_is_refused(tmp_path: Path, hostile: Any) -> None:
    with pytest.raises(InputError):
        from_plain(hostile, gallery())
    path = tmp_path / "w.facelens"
    archive.save(edited(tmp_path), path)
    said = json.loads(path.read_bytes())
    said["identities"] = hostile or 7
    path.write_text(json.dumps(said))
    with pytest.raises(InputError, match="cannot be opened as a workspace"):
        archive.read(path)


def test_a_million_faces_are_renamed_in_a_moment() -> None:
    from time import perf_counter

    n = 200_000
    codes = (np.arange(n) // 4).astype(np.int32)
    labels = Labels(codes, tuple(f"p{i:06}" for i in range(n // 4)))
    faces = FaceSet("many", Path("/m"), gallery().paths, labels, ids=np.arange(n, dtype=np.int64))
    faces.rows_of(faces.ids[:1])
    begun = perf_counter()
    other = applied(faces, named(IdentityEdits(), faces, faces.ids[:8], "Ada"))
    assert perf_counter() - begun < 2 and len(other.identity.names) == n // 4 - 1
    assert identities.spelled("P000009", other.identity) == "p000009"
