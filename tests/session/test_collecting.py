"""A collected workspace: opens elsewhere with faces, marks and vectors; under pseudonyms it names nobody."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

from facelens.__main__ import main
from facelens.analyses.plan import EnsemblePlan, Plan, UpgradePlan
from facelens.errors import Cancelled, DiskFull, InputError
from facelens.features.card import Card
from facelens.features.featureset import FeatureSet, Provenance
from facelens.features.store import Store, fingerprint
from facelens.images import builder, readers
from facelens.images.disguise import Guise
from facelens.images.faceset import FaceSet, Labels
from facelens.images.protocol import Protocol
from facelens.session import annotations, archive, collecting, shelf, subsets, tasks
from facelens.session.archive import Archive, Gallery, Model, Place, Table, Vectors
from facelens.session.collecting import Choice, Collection, collect
from facelens.session.looks import Looks
from facelens.session.selection import Selection
from facelens.session.workspace import Arrangement, Workspace

MARK = "Qzmarkzq"
KEY = Guise(pseudonyms=True, key="k")
N, D = 24, 8


@pytest.fixture
def gallery(tmp_path: Path) -> Path:
    """Six people with four pictures each, all named by the mark; one picture is broken."""
    root = tmp_path / f"{MARK} home" / f"{MARK} faces"
    rng = np.random.default_rng(0)
    exif = Image.Exif()
    exif[0x013B] = MARK
    for i in range(N):
        path = root / f"{MARK}_{i // 4}" / f"={MARK} {i}.{'jpg' if i % 2 else 'png'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(rng.integers(0, 255, (8, 8, 3), np.uint8)).resize((200, 240))
        picture.save(path, **({"exif": exif} if i % 2 else {}))
    (root / f"{MARK}_5" / f"={MARK} 23.jpg").write_bytes(b"no picture")
    return root


def made(gallery: Path, tmp_path: Path) -> Collection:
    """A workspace with a bit of everything."""
    faces = readers.read(gallery).faces
    rng = np.random.default_rng(1)
    points = np.tile(np.array([[60, 80], [140, 80], [100, 120], [70, 160], [130, 160]], np.float32), (N, 1, 1))
    columns = {
        "yaw": rng.normal(size=N),
        "place": Labels.of([f"{MARK} street {i % 3}" for i in range(N)]),
        "split": Labels.of(["train" if i % 2 else "test" for i in range(N)]),
        "width": np.full(N, 200.0),
    }
    faces = replace(faces, landmarks=points, columns=columns)
    sure = rng.uniform(0.5, 2, (N, 4)).astype(np.float32)
    vectors = rng.normal(size=(N, D)).astype(np.float32)
    vectors[3] = np.nan
    card = Card("a/net", "small_plain", dimensions=D, notes=f"by {MARK}", licence="MIT", options={"parts": 4})
    source = Provenance(f"{MARK} print", "a/net", "ab" * 32, card, file=f"/home/{MARK}/net.pt")
    features = {
        "a/net": FeatureSet(faces.ids, vectors, source, confidence=sure),
        "there": FeatureSet(faces.ids[:20], np.nan_to_num(vectors[:20, :4]) + 1, Provenance("x", "there")),
    }
    files = tmp_path / "elsewhere"
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir()
    (files / f"{MARK} net.safetensors").write_bytes(b"weights " * 1000)
    (files / f"{MARK} map.safetensors").write_bytes(b"a transform")
    marks = annotations.tagged(annotations.Annotations(), faces.ids[:5], f"like {MARK}")
    marks = annotations.noted(marks, faces.ids[1:2], f"{MARK} at home")
    marks = annotations.rated(annotations.flagged(marks, faces.ids[2:4], 1), faces.ids[6:9], 4)
    marks = replace(marks, aside={"notes": {f"{MARK}/gone.jpg": "x"}})
    transforms = (("a/net", str(files / f"{MARK} map.safetensors")),)
    fields = {
        "plan": Plan(protocol=f"{MARK} pairs.txt"),
        "arrangement": Arrangement(f'identity ~ "{MARK}"', "yaw", True, "split"),
        "looks": Looks(counts="log", map_shape=("split", MARK)),
        "ensemble": EnsemblePlan(members=("a/net",), files=transforms, fitted_on=f"path ~ {MARK}"),
        "upgrade_plan": UpgradePlan(old="a/net", new="there", fitted_on=f"path ~ {MARK}"),
        "model_a": "a/net",
        "model_b": "there",
        "model": "gone",
    }
    return Collection(
        faces,
        Protocol(f"{MARK} pairs.txt", builder.build_pairs(faces, folds=2, per_fold=8)),
        None,
        features,
        (Model(Place(files / f"{MARK} net.safetensors"), "cd" * 32, card),),
        {name: getattr(Workspace(), name) for name in archive.FIELDS} | fields,
        faces.ids[10:12],
        Selection(faces.ids[4:12], int(faces.ids[4]), (int(faces.ids[0]), int(faces.ids[9]))),
        int(faces.ids[7]),
        marks,
        subsets.put(subsets.Subsets(), f"{MARK} friends", faces.ids[5:11]),
    )


class Gathered(NamedTuple):
    """What a file gives, and what is said about the rest."""

    collection: Collection
    notes: tuple[str, ...]


def gathered(path: Path, cache: Path, *, trusted: bool = False) -> Gathered:
    return Gathered(*Collection.of_file(archive.read(path), root=cache, trusted=trusted))


def unzipped(path: Path, into: Path) -> Path:
    with zipfile.ZipFile(path) as found:
        assert found.testzip() is None
        for info in found.infolist():
            assert info.date_time == collecting.DATE
            assert not info.filename.startswith("/") and ".." not in info.filename.split("/")
        found.extractall(into)
    return into


@pytest.mark.parametrize("pictures", ["none", "thumbnails", "originals"])
@pytest.mark.parametrize("guise", [Guise(), KEY, replace(KEY, blur=True), Guise(blur=True)])
def test_what_is_collected_is_read_again(
    gallery: Path, tmp_path: Path, pictures: str, guise: Guise, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = made(gallery, tmp_path)
    done = collect(given, tmp_path / "out.zip", Choice(pictures, True, guise=guise))
    there = unzipped(tmp_path / "out.zip", tmp_path / "there")
    monkeypatch.setenv("FACELENS_HOME", str(tmp_path / "another home"))
    again = gathered(there / "workspace.facelens", tmp_path / "no cache")
    assert again.notes == ()
    found: Any = again.collection
    faces: Any = found.faces
    kept = 22 if pictures == "none" else 21  # the broken picture is not needed for a tile
    assert len(faces) == done.faces == kept and len(faces.identity.names) == 6
    assert done.size == (tmp_path / "out.zip").stat().st_size and "width" not in faces.columns

    # Who is who: numbers tell.
    yaw = dict(zip(np.round(given.faces.columns["yaw"], 9), range(N), strict=True))  # type: ignore[call-overload]
    row = np.array([yaw[value] for value in np.round(faces.columns["yaw"], 9)])
    before, after = given.faces.identity.codes[row], faces.identity.codes
    assert ((before[:, None] == before) == (after[:, None] == after)).all(), "the same people are the same"

    def old(ids: np.ndarray) -> set[int]:
        return set(given.faces.ids[row[faces.rows_of(ids)]].tolist())

    here = set(given.faces.ids[row].tolist())
    assert old(found.selection.ids) == set(given.selection.ids.tolist()) & here
    looked = np.array([found.selection.current, *found.selection.pair, found.query])
    assert old(looked) == {given.selection.current, *(given.selection.pair or ()), given.query}
    marks = found.annotations
    assert old(marks.flags.having(1)) == set(given.faces.ids[2:4].tolist()) and not marks.aside
    assert old(marks.ratings.having(4)) == set(given.faces.ids[6:9].tolist())
    assert [old(ids) for ids in marks.tags.values()] == [set(given.faces.ids[:5].tolist())]
    assert [old(ids) for ids in found.subsets.values()] == [set(given.faces.ids[5:10].tolist())]
    if guise.pseudonyms:
        assert [*marks.tags, *found.subsets] == ["tag 1", "subset 1"] and not marks.notes
    else:
        assert [*marks.tags] == [f"like {MARK}"] and list(marks.notes.values()) == [f"{MARK} at home"]
    assert not len(found.excluded)

    # Vectors, with the confidence and those that are no use.
    net, first = found.features["a/net"], given.features["a/net"]
    places, has = net.rows_of(faces.ids)
    assert np.array_equal(net.vectors[places], first.vectors[row[has]])
    assert np.array_equal(net.confidence[places], first.confidence[row[has]])  # type: ignore[index]
    assert old(net.invalid) == {int(given.faces.ids[3])} and len(found.features["there"]) == 18
    assert net.provenance.card.options == {"parts": 4} and net.provenance.weights == "ab" * 32
    assert (found.fields["model_a"], found.fields["model_b"], found.fields["model"]) == ("a/net", "there", "")
    assert not found.models, "model files were not asked for"

    # The test of the gallery, as far as its faces are there.
    def told(faces: FaceSet, pairs: Any) -> list[tuple[frozenset[int], bool]]:
        both = zip(pairs.pairs, pairs.same.tolist(), strict=True)
        return [(frozenset(faces.ids[pair].tolist()), same) for pair, same in both]

    assert found.fields["plan"].protocol == "pairs.txt"
    listed = {(frozenset(old(np.array([*pair]))), same) for pair, same in told(faces, found.protocol.pairs)}
    assert given.protocol is not None
    assert listed == {(pair, same) for pair, same in told(given.faces, given.protocol.pairs) if pair <= here}
    with Image.open(faces.path(0)) as image:
        assert image.size == {"none": (64, 64), "thumbnails": (160, 192), "originals": (200, 240)}[pictures]
    if pictures == "thumbnails":
        assert np.allclose(faces.landmarks[0], given.faces.landmarks[0] * 0.8, atol=1e-3)  # type: ignore[index]


@pytest.mark.parametrize("pictures", ["none", "thumbnails", "originals"])
@pytest.mark.parametrize("blur", [False, True])
def test_under_pseudonyms_it_names_nobody(gallery: Path, tmp_path: Path, pictures: str, blur: bool) -> None:
    given = made(gallery, tmp_path)
    done = collect(given, tmp_path / "out.zip", Choice(pictures, True, True, guise=replace(KEY, blur=blur)))
    assert MARK not in " ".join(done.said)
    secret = [MARK.encode(), str(tmp_path).encode(), given.faces.digest.encode()]
    secret += [str(face).encode() for face in given.faces.ids.tolist()]
    secret += [face.to_bytes(8, "little") for face in given.faces.ids.tolist()]
    assert not any(word in (tmp_path / "out.zip").read_bytes() for word in secret)
    with zipfile.ZipFile(tmp_path / "out.zip") as found:
        names = found.namelist()
        for name in names:
            data = found.read(name)
            if name.endswith(".npz"):
                with np.load(io.BytesIO(data)) as arrays:
                    data += " ".join(str(array.tolist()) for array in arrays.values()).encode()
            assert not any(word in name.encode() or word in data for word in secret), name
        models = {name: found.read(name) for name in names if name.startswith("models/")}
        assert models == {
            "models/a_net.safetensors": b"weights " * 1000, "models/transform 1.safetensors": b"a transform",
        }  # fmt: skip
        told = json.loads(found.read("workspace.facelens"))
        assert told["state"]["looks"]["map_shape"] == [] and told["state"]["looks"]["counts"] == "log"
        assert told["state"]["arrangement"] == {"filter": "", "sort": "yaw", "descending": True, "group": "split"}
        assert told["state"]["ensemble"]["files"] == [["a/net", {"inside": "models/transform 1.safetensors"}]]
        assert told["saved"] == "" and told["galleries"][0]["place"] == {"inside": "gallery/manifest.csv"}
        manifest = list(csv.DictReader(io.StringIO(found.read("gallery/manifest.csv").decode())))
        assert [row["path"] for row in manifest] == sorted(row["path"] for row in manifest)
        assert {row["place"] for row in manifest} == {"place 1", "place 2", "place 3"}
        pairs = found.read("gallery/pairs.txt").decode().splitlines()[1:]
        assert all(line.split("\t")[0] < line.split("\t")[1] for line in pairs if line.count("/") == 2)
        readme = found.read("README.txt").decode()
    assert "pseudonyms" in readme and "2 excluded faces are left out." in readme and "place" in readme
    assert ("could not be read" in readme) == (pictures != "none")
    assert ("blurred" in readme) == (blur and pictures != "none") and "Model a/net: MIT." in readme
    assert ("can be recognised" in readme) == (not blur and pictures != "none")


def test_words_and_columns_are_kept_where_that_is_wanted(gallery: Path, tmp_path: Path) -> None:
    kept = replace(KEY, keep=("place",))
    collect(made(gallery, tmp_path), tmp_path / "o.zip", Choice("none", words=True, guise=kept))
    with zipfile.ZipFile(tmp_path / "o.zip") as found:
        told = json.loads(found.read("workspace.facelens"))
        assert f"{MARK} street 1".encode() in found.read("gallery/manifest.csv")
    assert list(told["annotations"]["notes"].values()) == [f"{MARK} at home"]
    assert list(told["annotations"]["tags"]) == [f"like {MARK}"] and list(told["subsets"]) == [f"{MARK} friends"]


def test_the_same_key_gives_the_same_bytes(gallery: Path, tmp_path: Path) -> None:
    given = made(gallery, tmp_path)
    for name, key in (("a", "k"), ("b", "k"), ("c", "other"), ("d", "")):
        collect(given, tmp_path / f"{name}.zip", Choice("thumbnails", True, True, guise=replace(KEY, key=key)))
    a, b, c, d = ((tmp_path / f"{name}.zip").read_bytes() for name in "abcd")
    assert a == b and a != c and a != d


def test_names_as_they_are_but_such_that_every_system_has_them(tmp_path: Path) -> None:
    root = tmp_path / "g"
    names = [b"a/One.png", b"a/one.PNG", b"b/\xff.png", b'c/"x" <y>.png', b"d/aux.png"]
    for i, name in enumerate(names):
        path = os.path.join(os.fsencode(root), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Image.new("RGB", (40, 40), (i * 40, 0, 99)).save(os.fsdecode(path), "PNG")
    faces = FaceSet.build("my/gallery", root, paths=names, identities=["a", "a", "b", "=c", "'=d"])
    done = collect(Collection(faces), tmp_path / "o.zip", Choice("thumbnails", False))
    there = unzipped(tmp_path / "o.zip", tmp_path / "there")
    again = gathered(there / "workspace.facelens", tmp_path).collection.faces
    assert again.name == "my_gallery" and sorted(again.identity.names) == ["'=d", "=c", "a", "b"]
    assert len(again) == 5 and "4 pictures have other names" in " ".join(done.said)


def test_queries_come_along(gallery: Path, tmp_path: Path) -> None:
    given = made(gallery, tmp_path)
    root = tmp_path / f"{MARK} asked"
    for who in (f"{MARK}_0", f"{MARK}_1", "stranger"):
        (root / who).mkdir(parents=True)
        Image.new("RGB", (50, 50), (len(who), 9, 9)).save(root / who / f"{MARK}.png")
    queries = readers.read(root).faces
    given = replace(given, queries=queries, query=int(queries.ids[1]))
    collect(given, tmp_path / "o.zip", Choice(guise=KEY))
    there = unzipped(tmp_path / "o.zip", tmp_path / "there")
    found = gathered(there / "workspace.facelens", tmp_path)
    asked, faces = found.collection.queries, found.collection.faces
    assert found.notes == () and asked is not None and len(asked) == 3 and asked.root == there / "queries"
    assert len({*asked.identity.names} & {*faces.identity.names}) == 2, "the same people have the same pseudonyms"
    assert found.collection.query in asked.ids.tolist()
    assert not any(MARK.encode() in path.read_bytes() for path in there.rglob("*") if path.is_file())


def test_cancelled_or_full_there_is_no_half_zip(gallery: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = made(gallery, tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    (out / "o.zip").write_bytes(b"what was there")
    for most in (0, 500, 1000, 1300, 1500):

        def stop(done: int, total: int, note: str = "", most: int = most) -> None:
            assert total == 2000 or done == total
            if done >= most:
                raise Cancelled

        with pytest.raises(Cancelled):
            collect(given, out / "o.zip", Choice(models=True), tick=stop)
        assert [one.name for one in out.iterdir()] == ["o.zip"]

    def full(self: zipfile.ZipFile) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "_write_end_record", full)
    with pytest.raises(DiskFull):
        collect(given, out / "o.zip", Choice())
    assert [one.name for one in out.iterdir()] == ["o.zip"] and (out / "o.zip").read_bytes() == b"what was there"


def test_what_makes_no_sense_is_refused(gallery: Path, tmp_path: Path) -> None:
    given = made(gallery, tmp_path)
    with pytest.raises(InputError, match="nothing to send"):
        collect(given, tmp_path / "o.zip", Choice("none", vectors=False))
    with pytest.raises(InputError, match="excluded"):
        collect(replace(given, excluded=given.faces.ids), tmp_path / "o.zip", Choice())
    last = given.faces.ids[[row for row, path in enumerate(given.faces.paths) if b" 23" not in path]]
    with pytest.raises(InputError, match="No picture"):
        collect(replace(given, excluded=last), tmp_path / "o.zip", Choice())
    assert not (tmp_path / "o.zip").exists()
    gone = replace(given, models=(replace(given.models[0], place=Place(tmp_path / f"{MARK}.pt")),))
    done = collect(gone, tmp_path / "o.zip", Choice(models=True, guise=KEY))
    assert "a_net.pt could not be read and is not inside." in done.said
    assert "The file of 1 model is not inside." in done.said


@pytest.mark.parametrize("guise", [Guise(), KEY, Guise(blur=True)])
@pytest.mark.parametrize("pictures", ["none", "thumbnails", "originals"])
def test_an_estimate_is_about_right(gallery: Path, tmp_path: Path, guise: Guise, pictures: str) -> None:
    given, choice = made(gallery, tmp_path), Choice(pictures, True, True, guise=guise)
    size = collect(given, tmp_path / "o.zip", choice).size
    assert 0.5 * size < collecting.estimate(given, choice) < 2 * size


# From a file


@pytest.fixture
def saved(gallery: Path, tmp_path: Path) -> Path:
    """A workspace file beside the gallery, with vectors in the cache."""
    faces = readers.read(gallery).faces
    card = Card("net", "small_plain", dimensions=12)
    key = fingerprint(faces, weights="ef" * 32, card=card)
    store = Store.create(tmp_path / "cache", key, card=card, weights="ef" * 32, opened=faces.opened)
    with store.writer(total=N) as writer:
        writer.append(faces.ids, np.random.default_rng(0).normal(size=(N, 12)).astype(np.float32))
    path = gallery.parent / "work.facelens"
    marks = annotations.flagged(annotations.Annotations(), faces.ids[:3], 1)
    archive.write(
        Archive(
            galleries=(Gallery(Place(gallery)),),
            models=(Model(Place(gallery.parent / "net.pt"), "ef" * 32, card),),
            excluded=archive.names_of(faces, faces.ids[5:6]),
            annotations=annotations.as_plain(marks, faces),
            fields={name: getattr(Workspace(), name) for name in archive.FIELDS},
        ),
        path,
    )
    return path


def test_collect_from_the_command_line(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.zip"
    words = ["--vectors", "--pseudonyms", "--blur", "--store", str(tmp_path / "cache")]
    assert main(["collect", str(saved), "--out", str(out), *words]) == 0
    told = capsys.readouterr().out
    assert "22 faces of 6 people." in told and "Vectors of 1 model." in told and MARK not in told
    there = unzipped(out, tmp_path / "there")
    found = gathered(there / "workspace.facelens", tmp_path / "none").collection
    assert len(found.faces) == 22 and len(found.features["net"]) == 22 and len(found.annotations.flags) == 3
    # What was unzipped can be collected again.
    assert main(["collect", str(there / "workspace.facelens"), "--out", str(tmp_path / "b.zip"), "--vectors"]) == 0
    with zipfile.ZipFile(out) as one, zipfile.ZipFile(tmp_path / "b.zip") as other:
        assert {*one.namelist()} == {*other.namelist()}
    assert main(["collect", str(saved), "--out", str(tmp_path / "x.tar")]) == 1
    assert main(["collect", str(saved), "--out", str(out), "--pictures", "none"]) == 1
    assert "nothing to send" in capsys.readouterr().err


def test_a_file_that_points_elsewhere_collects_nothing_of_it(saved: Path, tmp_path: Path) -> None:
    """Whoever opens a stranger's file does not send his own pictures with it."""
    private = tmp_path / "private"
    private.mkdir()
    Image.new("RGB", (40, 40)).save(private / "mine.png")
    found = archive.read(saved)
    outside = replace(found, galleries=(Gallery(Place(private)),))
    strange = tmp_path / "strange" / "s.facelens"
    strange.parent.mkdir()
    archive.write(outside, strange)
    with pytest.raises(InputError, match="lies outside the folder"):
        gathered(strange, tmp_path)
    assert main(["collect", str(strange), "--out", str(tmp_path / "o.zip")]) == 1
    assert not (tmp_path / "o.zip").exists()
    (strange.parent / "link").symlink_to(private)
    archive.write(replace(found, galleries=(Gallery(Place(strange.parent / "link")),)), strange)
    with pytest.raises(InputError, match="lies outside the folder"):
        gathered(strange, tmp_path)
    root = {"root": str(private), "path": "path"}
    (strange.parent / "list.csv").write_text("path,identity\nmine.png,Ann\n")
    archive.write(replace(found, galleries=(Gallery(Place(strange.parent / "list.csv"), "manifest", root),)), strange)
    with pytest.raises(InputError, match="lies outside the folder"):
        gathered(strange, tmp_path)
    shelf.trust([private])  # once it was opened in the window, it may be
    archive.write(outside, strange)
    assert len(gathered(strange, tmp_path).collection.faces) == 1


def test_models_vectors_tables_and_queries_from_elsewhere_stay_there(saved: Path, tmp_path: Path) -> None:
    private = tmp_path / "private"
    (private / "queries").mkdir(parents=True)
    Image.new("RGB", (40, 40)).save(private / "queries" / "mine.png")
    (private / "secret.txt").write_text("a b\n")
    np.savez(private / "v.npz", vectors=np.ones((1, 12), np.float32), names=np.array(["mine.png"]))
    found = archive.read(saved)
    card = found.models[0].card
    plan = replace(found.fields["ensemble"], files=(("net", str(private / "secret.txt")),))
    archive.write(
        replace(
            found,
            tables=(Table(Place(private / "secret.txt"), "scores"), Table(Place(private / "secret.txt"), "pairs")),
            queries=Gallery(Place(private / "queries")),
            models=(Model(Place(private / "secret.txt"), "ef" * 32, card),),
            vectors=(Vectors(Place(private / "v.npz"), card.changed(name="other")),),
            fields={**found.fields, "ensemble": plan},
        ),
        saved,
    )
    opened = gathered(saved, tmp_path / "none")
    given = opened.collection
    assert (given.models, given.queries, given.features, given.fields["ensemble"].files) == ((), None, {}, ())
    assert len(opened.notes) == 3 and all("lies outside" in note for note in opened.notes)
    collect(given, tmp_path / "o.zip", Choice(models=True))
    with zipfile.ZipFile(tmp_path / "o.zip") as zipped:
        assert not [name for name in zipped.namelist() if name.startswith(("models", "queries", "vectors"))]


def test_a_name_of_a_store_in_a_file_brings_nothing(saved: Path, tmp_path: Path) -> None:
    """Vectors are found by the gallery and the model, not by what a file says their folder is called."""
    key = next(one.name for one in (tmp_path / "cache").iterdir())
    archive.write(replace(archive.read(saved), models=(), stores={"net": key}), saved)
    assert gathered(saved, tmp_path / "cache").collection.features == {}


def test_hostile_vectors_of_a_file_are_refused(saved: Path, tmp_path: Path) -> None:
    """Wrong dimensions, a confidence of others, a pickle: told, and the rest is collected."""
    folder = saved.parent
    names = np.array([f"{MARK}_0/={MARK} {i}.png" for i in (0, 2)])
    np.savez(folder / "wide.npz", vectors=np.ones((2, 99), np.float32), names=names)
    np.savez(folder / "sure.npz", vectors=np.ones((2, 12), np.float32), names=names, confidence=np.ones((3, 4)))
    np.savez(folder / "objects.npz", vectors=np.array([[object()]], object), names=names)
    (folder / "torn.npz").write_bytes(b"PK\3\4 torn")
    found = archive.read(saved)
    card = Card("x", "small_plain", dimensions=12)
    files = ("wide", "sure", "objects", "torn", "missing")
    vectors = tuple(Vectors(Place(folder / f"{name}.npz"), card.changed(name=name)) for name in files)
    archive.write(replace(found, models=(), vectors=vectors), saved)
    opened = gathered(saved, tmp_path / "none")
    assert opened.collection.features == {} and len(opened.notes) == 5
    told = json.loads(saved.read_text())
    for bad in ({"place": {"inside": "../x.npz"}}, {"card": {"architecture": 3}}, {"weights": "zz"}, {"place": {}}):
        saved.write_text(json.dumps({**told, "vectors": [{**told["vectors"][0], **bad}]}))
        with pytest.raises(InputError, match="cannot be opened as a workspace"):
            archive.read(saved)


def test_vectors_of_a_workspace_file_are_kept_apart_from_imported_ones(gallery: Path, tmp_path: Path) -> None:
    faces = readers.read(gallery).faces
    card = Card("net", "small_plain", dimensions=3, options={"parts": 2})
    names = np.array([os.fsdecode(path) for path in faces.paths])
    rng = np.random.default_rng(0)
    vectors, sure = rng.normal(size=(N, 3)).astype(np.float32), rng.uniform(size=(N, 2)).astype(np.float32)
    np.savez(tmp_path / "net.npz", names=names, vectors=vectors, confidence=sure)
    given = tasks.import_vectors(tmp_path / "net.npz", faces, root=tmp_path / "s", card=card, weights="ab" * 32)
    assert given.name == "net" and given.features.provenance.card == card
    assert given.features.provenance.weights == "ab" * 32 and given.features.confidence is not None
    assert np.array_equal(given.features.confidence, sure[faces.rows_of(given.features.ids)])
    assert tasks.kept_imports(faces, tmp_path / "s") == ()
    tasks.import_vectors(tmp_path / "net.npz", faces, root=tmp_path / "s")
    assert [one.name for one in tasks.kept_imports(faces, tmp_path / "s")] == ["net"]
