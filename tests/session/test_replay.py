"""A workspace file without a window: one rule of what may be opened, and only the steps that somebody needs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.__main__ import main
from facelens.errors import InputError
from facelens.features.card import Card
from facelens.features.store import Store, fingerprint
from facelens.images import doctor, readers
from facelens.session import archive, exporting, folders, shelf, tasks
from facelens.session.archive import Archive, Gallery, Model, Place, Table, Vectors
from facelens.session.collecting import Collection
from facelens.session.replay import Replay, allowed, replay
from facelens.session.settings import Recent, Settings
from facelens.session.workspace import Workspace

D, WEIGHTS = 6, "ef" * 32
CARD = Card("net", "small_plain", dimensions=D)


def gallery(root: Path) -> Path:
    rng = np.random.default_rng(0)
    for person in ("ann", "ben", "cy"):
        for number in range(2):
            (root / person).mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 255, (20, 20, 3), np.uint8)).save(root / person / f"{number}.png")
    return root


def embedded(root: Path) -> str:
    """The name of a store with vectors of a gallery."""
    faces = readers.read(root).faces
    key = fingerprint(faces, weights=WEIGHTS, card=CARD)
    store = Store.create(folders.vectors(), key, card=CARD, weights=WEIGHTS, opened=faces.opened)
    with store.writer(total=len(faces)) as writer:
        writer.append(faces.ids, np.random.default_rng(1).normal(size=(len(faces), D)).astype(np.float32))
    return key


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A file in a folder of its own, with its gallery; `private` lies beside that folder."""
    home = tmp_path / "room"
    gallery(home / "faces")
    gallery(tmp_path / "private")
    write(home, Archive(galleries=(Gallery(Place(home / "faces")),)))
    return home


def write(home: Path, found: Archive) -> Path:
    fields = {name: getattr(Workspace(), name) for name in archive.FIELDS} | dict(found.fields)
    archive.write(replace(found, fields=fields), home / "w.facelens")
    return home / "w.facelens"


def openers(path: Path) -> list[object]:
    """Every way to open a file without a window."""
    cache = folders.vectors()
    return [
        lambda **how: replay(archive.read(path), **how),
        lambda **how: Collection.of_file(archive.read(path), root=cache, **how),
        lambda **how: exporting.of_file(path, root=cache, **how),
    ]


def test_all_of_them_go_by_one_rule(room: Path) -> None:
    private = room.parent / "private"
    key = embedded(private)
    path = write(room, Archive(galleries=(Gallery(Place(private)),), stores={"net": key}))
    told = []
    for opens in openers(path):
        with pytest.raises(InputError) as caught:
            opens()  # type: ignore[operator]
        told.append(caught.value.message)
        assert "--trust" in caught.value.hint
    assert len(set(told)) == 1 and "nothing there was opened here before" in told[0]
    faces = [opens(trusted=True) for opens in openers(path)]  # type: ignore[operator]
    assert [len(faces[0].workspace.faces), len(faces[1][0].faces), len(faces[2].faces)] == [6, 6, 6]
    # A gallery of the recent ones is the user's own for all of them.
    Settings(recent=(Recent(str(private), "private", 6),)).save()
    for opens in openers(path):
        opens()  # type: ignore[operator]


def test_a_root_and_links_of_queries_are_no_way_around(room: Path) -> None:
    (room / "list.csv").write_text("path,identity\nann/0.png,Ann\n")
    root = {"root": str(room.parent / "private"), "path": "path"}
    queries = Gallery(Place(room / "list.csv"), "manifest", root)
    path = write(room, Archive(galleries=(Gallery(Place(room / "faces")),), queries=queries))
    with pytest.raises(InputError, match="private lies outside"):
        replay(archive.read(path))
    collection, notes = Collection.of_file(archive.read(path), root=folders.vectors())
    assert collection.queries is None and "private lies outside" in notes[0] and len(notes) == 1
    (room / "asked" / "ann").mkdir(parents=True)
    (room / "asked" / "ann" / "link.png").symlink_to(room.parent / "private" / "ann" / "0.png")
    Image.new("RGB", (9, 9)).save(room / "asked" / "ann" / "own.png")
    follow = Gallery(Place(room / "asked"), options={"links": "follow"})
    found = archive.read(write(room, Archive(galleries=(Gallery(Place(room / "faces")),), queries=follow)))
    made = Replay(found)
    assert made._how(found.queries) == (room / "asked", None)  # type: ignore[arg-type]
    shelf.trust([room / "asked"])
    assert made._how(found.queries) == (room / "asked", {"links": "follow"})  # type: ignore[arg-type]


def test_what_is_missing_is_refused_or_told(room: Path) -> None:
    away = Place(room / "away")
    path = write(
        room,
        Archive(
            galleries=(Gallery(Place(room / "faces")),), tables=(Table(away, "scores"), Table(away, "pairs")),
            queries=Gallery(away), vectors=(Vectors(away, CARD),), stores={"gone": "ab" * 8},
        ),
    )  # fmt: skip
    with pytest.raises(InputError, match="There is nothing at"):
        replay(archive.read(path))
    collection, notes = Collection.of_file(archive.read(path), root=folders.vectors())
    assert len(collection.faces) == 6 and notes == (f"There is nothing at {room / 'away'}.",)
    with pytest.raises(InputError, match="of gone are not on this computer any more"):
        exporting.of_file(path, root=folders.vectors(), model="gone")


def test_nobody_asks_the_doctor_for_an_export(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """He reads every picture, and embedding does: of 100,000 of them both take minutes."""
    key = embedded(room / "faces")
    model = Model(Place(room / "net.pt"), WEIGHTS, CARD)
    path = write(room, Archive(galleries=(Gallery(Place(room / "faces")),), models=(model,), stores={"net": key}))

    def never(*given: object, **how: object) -> None:
        raise AssertionError("pictures are read")

    monkeypatch.setattr(doctor, "diagnose", never)
    monkeypatch.setattr(tasks, "embed_gallery", never)
    monkeypatch.setattr(tasks, "inspect_model", never)
    before = sorted(folders.vectors().rglob("*"))
    exported = exporting.of_file(path, root=folders.vectors())
    collection, notes = Collection.of_file(archive.read(path), root=folders.vectors())
    assert len(exported.features) == len(collection.features["net"]) == 6 and not notes
    assert collection.models == (model,) and sorted(folders.vectors().rglob("*")) == before


@pytest.mark.parametrize("key", ["x", "../../etc", "", "a" * 65, "ABCDEF12"])
def test_a_strange_name_of_a_store_is_one_sentence(key: str, room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(room, Archive(galleries=(Gallery(Place(room / "faces")),), stores={"net": key}))
    assert main(["export", str(path), "--out", str(room / "o.npz")]) == 1
    told = capsys.readouterr().err
    assert "are not on this computer any more" in told and "Traceback" not in told


def test_the_store_of_another_gallery_is_not_for_this_one(room: Path, tmp_path: Path) -> None:
    """Vectors of faces that are called alike, of pictures of the user's own: a file cannot fetch them by their name."""
    key = embedded(tmp_path / "private")
    path = write(room, Archive(galleries=(Gallery(Place(room / "faces")),), stores={"net": key}))
    with pytest.raises(InputError, match="not on this computer any more"):
        exporting.of_file(path, root=folders.vectors())
    assert len(exporting.of_file(path, root=folders.vectors(), gallery=room / "faces").features) == 6, "he says so"


def test_commands_take_trust(room: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    private = tmp_path / "private"
    path = write(room, Archive(galleries=(Gallery(Place(private)),), stores={"net": embedded(private)}))
    for words in (["collect", str(path), "--out", str(room / "o.zip")], ["export", str(path), "--out", "o.npz"]):
        words = [*words[:-1], str(room / words[-1])]
        assert main(words) == 1 and "--trust" in capsys.readouterr().err
        assert main([*words, "--trust"]) == 0, capsys.readouterr().err


def test_vectors_that_a_file_brings_can_be_exported(room: Path) -> None:
    faces = readers.read(room / "faces").faces
    names = np.array([path.decode() for path in faces.paths])
    np.savez(room / "v.npz", vectors=np.ones((6, D), np.float32), names=names)
    sent = Vectors(Place(room / "v.npz"), CARD, WEIGHTS)
    path = write(room, Archive(galleries=(Gallery(Place(room / "faces")),), vectors=(sent,)))
    found = exporting.of_file(path, root=folders.vectors())
    assert len(found.features) == 6 and found.features.provenance.model == "net"
    assert json.loads(path.read_text())["stores"] == {} and not list(folders.vectors().glob("*")), "nothing is kept"


def test_a_place_that_may_not_be_opened_is_not_looked_at(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = archive.read(room / "w.facelens")

    def never(self: Path) -> bool:
        raise AssertionError("looked")

    monkeypatch.setattr(Path, "exists", never)
    with pytest.raises(InputError, match="lies outside"):
        allowed(found, Path("/somewhere/private"))
