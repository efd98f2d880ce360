"""Faces in disguise: the same rows and ids under names that tell nothing, pictures of which nothing is left."""

from __future__ import annotations

import io
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.images import builder, decode, disguise
from facelens.images.decode import PictureError
from facelens.images.disguise import Disguise, Guise
from facelens.images.faceset import FaceSet, Labels, face_ids
from facelens.images.protocol import Pairs

KEY = Guise(pseudonyms=True, key="k")
PAIR = Pairs(np.array([[0, 1]]), np.array([True]), np.zeros(1, np.int32))


def made(
    root: Path = Path("/home/ann/faces"), *, people: str = "Zoe Ann Bob Ann Zoe Ann", name: str = "friends"
) -> FaceSet:
    who = [None if one == "-" else one for one in people.split()]
    paths = [f"{one or 'misc'}/{i}.JPG" for i, one in enumerate(who)]
    return FaceSet.build(name, root, paths=paths, identities=who)


def named(faces: FaceSet, guise: Guise = KEY, *more: FaceSet) -> FaceSet:
    return Disguise(guise, faces, *more).faces(faces)


def test_rows_ids_and_codes_stay_and_names_go() -> None:
    faces = made()
    told = named(faces)
    assert told.ids is faces.ids and told.identity.codes is faces.identity.codes
    assert sorted(told.identity.names) == ["P0001", "P0002", "P0003"]
    assert sorted(told.paths) == [b"P0001/001.jpg", *told_rest(told)]
    for row in range(len(faces)):
        assert told.paths[row].startswith(told.identity.name(row).encode())
        assert told.label(row) == told.identity.name(row) and told.file_name(row) == told.paths[row].decode()
    assert told.name == "gallery" and told.opened is None and told.path(0) == faces.path(0)
    assert told.disguised and not faces.disguised and told.digest != faces.digest
    assert told.told_ids.tolist() == face_ids(told.paths).tolist() and faces.told_ids is faces.ids


def told_rest(told: FaceSet) -> list[bytes]:
    return sorted(told.paths)[1:]


def test_numbers_follow_the_key_not_the_alphabet() -> None:
    faces = made(people=" ".join(f"p{i:03}" for i in range(300)))
    one, same, other = named(faces), named(faces), named(faces, Guise(pseudonyms=True, key="other"))
    assert list(one.paths) == list(same.paths) and one.digest == same.digest
    assert list(one.paths) != list(other.paths) and one.digest != other.digest
    order = np.argsort(one.identity.names)
    assert abs(np.corrcoef(order, np.arange(300))[0, 1]) < 0.2, "nothing of the order of names is left"
    pictures = named(made(people=" ".join(["Ann"] * 300)))
    numbers = [int(path[6:9]) for path in pictures.paths]
    assert sorted(numbers) == list(range(1, 301)) and abs(np.corrcoef(numbers, np.arange(300))[0, 1]) < 0.2
    assert list(named(faces, Guise(pseudonyms=True)).paths) != list(named(faces, Guise(pseudonyms=True)).paths)


def test_nobody_is_unknown_and_many_need_more_digits() -> None:
    told = named(made(people="- Ann -"))
    assert told.identity.name(0) == "" and {path[:8] for path in told.paths} == {b"unknown/", b"P0001/00"}
    assert told.label(0).startswith("unknown/00")
    numbers = [f"n{i}" for i in range(10_001)]
    many = FaceSet.build("m", Path("x"), paths=numbers, identities=numbers)
    assert named(many).identity.name(0).startswith("P") and len(named(many).identity.name(0)) == 6


def test_two_galleries_have_the_same_people_and_no_picture_twice() -> None:
    faces, queries = made(), made(Path("/queries"), people="Ann Carl Zoe", name="asked")
    both = Disguise(KEY, faces, queries)
    one, two = both.faces(faces), both.faces(queries)
    alone = named(faces)
    assert list(one.paths) == list(alone.paths), "the gallery is numbered as if it were alone"
    assert two.identity.name(0) == one.identity.name(1) and two.identity.name(2) == one.identity.name(0)
    assert two.identity.name(1) == "P0004" and not {*one.paths} & {*two.paths}
    assert (one.name, two.name) == ("gallery", "queries")
    some = faces.take(np.array([3, 0]))
    part = Disguise(KEY, faces, some).faces(some)
    assert list(part.paths) == [one.paths[3], one.paths[0]], "a part of a gallery is the same faces"


def test_text_becomes_codes_and_numbers_stay() -> None:
    columns = {
        "yaw": np.arange(6.0),
        "camera": Labels.of(["Ann's", "Bob's", None, "Ann's", "Bob's", "Ann's"]),
        "glasses": Labels.of(["yes", "No", None, "yes", "yes", "yes"]),
        "split": Labels.of(["fold Ann"] * 6),
        "comment": Labels.of(["this is Ann"] * 6),
        "place": Labels.of(["Rome"] * 6),
    }
    told = named(replace(made(), columns=columns), replace(KEY, keep=("place",)))
    assert told.columns["yaw"] is columns["yaw"] and "comment" not in told.columns
    camera, place = told.columns["camera"], told.columns["place"]
    assert isinstance(camera, Labels) and isinstance(place, Labels)
    assert camera.names == ("camera 1", "camera 2") and camera.name(2) == "" and camera.name(0) == camera.name(3)
    assert place.names == ("Rome",) and told.columns["glasses"].names == ("No", "yes")  # type: ignore[union-attr]
    assert told.columns["split"] is columns["split"]


def test_sentences() -> None:
    faces = made(people="Ann_Lee Bob Ann_Lee")
    one = Disguise(KEY, faces)
    told = one.faces(faces)
    ann, first = told.identity.name(0), told.file_name(0)
    assert one.sentence("Ann_Lee, or Ann Lee: Annabel is another.") == f"{ann}, or {ann}: Annabel is another."
    assert one.sentence("0.JPG of friends (Ann_Lee/0.JPG) is odd.") == f"{first} of gallery ({first}) is odd."
    assert one.sentence("In /home/ann/faces.") == "In gallery."
    one.also("mine.txt", "test")
    assert one.sentence("mine.txt lists 3 pairs.") == "test lists 3 pairs."
    assert Disguise(Guise(blur=True), faces).sentence("Ann_Lee") == "Ann_Lee"
    assert one.sentence("x" * 100_000 + " Bob").endswith(told.identity.name(1))
    same = FaceSet.build("g", Path("r"), paths=["Ann/1.jpg", "Bob/1.jpg"], identities=["Ann", "Bob"])
    assert Disguise(KEY, same).sentence("1.jpg ends.") == "picture ends.", "rather nobody than the wrong one"


def test_arranged_as_it_is_read_again() -> None:
    faces = made(people="Zoe Ann - Bob Ann Zoe")
    told = disguise.arranged(named(faces))
    assert list(told.paths) == sorted(told.paths) and told.path_order is None
    assert told.identity.names == tuple(sorted(told.identity.names))
    for row in range(len(told)):
        place = faces.row_of(int(told.ids[row]))
        assert told.path(row) == faces.path(place)  # type: ignore[arg-type]
        assert bool(told.identity.name(row)) == bool(faces.identity.name(place))  # type: ignore[arg-type]


def test_it_travels_and_is_taken_apart() -> None:
    told = named(made(), replace(KEY, blur=True))
    again = pickle.loads(pickle.dumps(told))
    assert again.path(2) == told.path(2) and again.behind.blur and again.digest == told.digest
    some = told.take(np.array([4, 1]))
    assert some.path(0) == told.path(4) and some.label(1) == told.label(1)
    assert Disguise(KEY, told).faces(told) is told, "nobody is disguised twice"


@pytest.fixture
def pictured(tmp_path: Path) -> FaceSet:
    """A JPEG that says who made it, a PNG, and one that is broken."""
    rng = np.random.default_rng(0)
    image = Image.fromarray(rng.integers(0, 255, (64, 96, 3), np.uint8))
    (tmp_path / "Ann").mkdir()
    exif = Image.Exif()
    exif[0x013B], exif[0x0112] = "Ann Lee", 6
    image.save(tmp_path / "Ann" / "a.jpg", exif=exif, comment=b"Ann Lee")
    image.save(tmp_path / "Ann" / "b.png")
    (tmp_path / "Ann" / "c.png").write_bytes(b"\x89PNG" + bytes(100))
    return FaceSet.build("g", tmp_path, paths=["Ann/a.jpg", "Ann/b.png", "Ann/c.png"], identities=["Ann"] * 3)


def test_of_a_picture_only_pixels_leave(pictured: FaceSet) -> None:
    assert b"Ann Lee" in decode.face_bytes(pictured, 0)
    told = named(pictured)
    data = decode.face_bytes(told, 0)
    assert b"Ann" not in data
    with Image.open(io.BytesIO(data)) as image:
        assert image.size == (64, 96) and not image.getexif()
        assert np.array_equal(np.asarray(image), decode.read_face(pictured, 0))
    for row in (0, 1):
        assert np.array_equal(decode.thumbnail_face(told, row, 32), decode.thumbnail_face(pictured, row, 32))
    with pytest.raises(PictureError) as error:
        decode.read_face(told, 2)
    assert error.value.message.startswith("P0001/00") and "c.png" not in error.value.message
    with pytest.raises(PictureError) as error:
        decode.header_face(named(replace(pictured, root=Path("/nowhere"))), 1)
    assert "b.png" not in error.value.message


def test_a_bin_of_disguised_faces_has_no_metadata(pictured: FaceSet, tmp_path: Path) -> None:
    with Image.open(pictured.path(1)) as image:  # upright, so that it goes in as it is
        image.save(pictured.path(0), comment=b"Ann Lee")
    builder.write_bin(tmp_path / "p.bin", pictured, PAIR)
    assert b"Ann Lee" in (tmp_path / "p.bin").read_bytes()
    builder.write_bin(tmp_path / "q.bin", named(pictured), PAIR)
    assert b"Ann" not in (tmp_path / "q.bin").read_bytes()


@pytest.mark.parametrize("shape", [(112, 112), (40, 300), (300, 40), (9, 9), (5, 7), (1, 1), (2000, 1500)])
def test_blurred_has_no_more_than_nine_pixels_across(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (*shape, 3)).astype(np.uint8)
    told = decode.blurred(pixels)
    assert told.shape == pixels.shape and told.dtype == np.uint8
    if min(shape) > 9:
        # What comes from nine rows or columns has no more than nine independent ones, but for rounding.
        strength = np.linalg.svd(told[..., 0].astype(float), compute_uv=False) ** 2
        assert strength[:9].sum() > 0.9995 * strength.sum()
        clear = np.linalg.svd(pixels[..., 0].astype(float), compute_uv=False) ** 2
        assert clear[:9].sum() < 0.99 * clear.sum()


def test_a_blurred_face_of_a_bin(tmp_path: Path, pictured: FaceSet) -> None:
    from facelens.images import readers

    builder.write_bin(tmp_path / "one.bin", pictured, PAIR)
    faces = readers.read(tmp_path / "one.bin").faces
    told = named(faces, replace(KEY, blur=True))
    assert (
        b"one.bin" not in b"".join(told.paths) and decode.read_face(told, 0).shape == decode.read_face(faces, 0).shape
    )
    assert not np.array_equal(decode.thumbnail_face(told, 1, 20), decode.thumbnail_face(faces, 1, 20))
