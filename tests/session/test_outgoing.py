"""What leaves FaceLens: under pseudonyms nothing names anybody, and no name makes another program do anything."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from facelens.images.disguise import Guise
from facelens.session import outgoing
from tests.session.planted import MARK, World, world, write_all


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> World:
    return world(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def hidden(planted: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "hidden"
    write_all(folder, planted, Guise(pseudonyms=True, blur=True))
    return folder


@pytest.fixture(scope="module")
def plainly(planted: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "plain"
    write_all(folder, planted, Guise())
    return folder


def texts(folder: Path) -> Iterator[tuple[Path, str]]:
    """All that stands in files, whatever they are packed in."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".npz":
            with np.load(path) as found:
                yield path, "\n".join(f"{name} {array.tolist()}" for name, array in found.items())
        elif path.suffix == ".parquet":
            import pyarrow.parquet

            table = pyarrow.parquet.read_table(path)
            yield path, f"{table.schema}\n{table.schema.metadata}\n{table.to_pylist()}"
        elif path.is_file():
            yield path, path.read_bytes().decode("utf-8", "replace")
        yield path, str(path.relative_to(folder))


def test_the_marks_are_there_without_pseudonyms(plainly: Path) -> None:
    """Or else the next test would prove nothing."""
    marked = {path.relative_to(plainly).as_posix() for path, text in texts(plainly) if MARK in text}
    for name in (
        "list.csv", "skipped.csv", "pairs.txt", "vectors.npz", "vectors.parquet", "vectors/metadata.tsv", "all.json",
        "all-searches.csv", "all-queries.csv", "listed.tex", "listed policy.json", "listed.csv", "faces.csv",
        "parts.csv", "parts.json", "learners.json", "learners.csv", "ranking.csv", "ranking.json", "sweep.json",
        "points.csv", "points.parquet", "points.npz", "flips.csv", "order.csv", "upgrade.json", "report/index.html",
        "map.svg", "sheet.svg", "match flow.svg", "upgrade flips.svg", "upgrade same people.svg", "printed.txt",
        "doctor.json", "confidence maps.svg", "learners specialists.svg", "UpgradeReport.json",
        "uncertainty histogram.svg",
    ):  # fmt: skip
        assert name in marked, f"{name} names nobody"


def test_under_pseudonyms_nothing_names_anybody(planted: World, hidden: Path, plainly: Path) -> None:
    faces = planted.faces
    secret = [MARK, faces.digest, planted.evaluation.digest, *map(str, faces.ids.tolist())]
    secret += [one.provenance.fingerprint for one in planted.features.values()]
    secret += [str(faces.root.parent.parent), str(Path.cwd())]  # places of this computer
    for path, text in texts(hidden):
        for word in secret:
            assert word not in text, f"{word} in {path.relative_to(hidden)}"
    names = [{path.relative_to(one) for path, _ in texts(one)} for one in (hidden, plainly)]
    assert names[0] == names[1], "the same files are written"


def test_numbers_are_the_same(planted: World, hidden: Path, plainly: Path) -> None:
    told = [json.loads((one / "all.json").read_text()) for one in (hidden, plainly)]
    for name in ("verification", "identification", "retrieval"):
        assert told[0]["models"]["B"][name] == told[1]["models"]["B"][name]
    with open(hidden / "list.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["path"] for row in rows] == sorted(row["path"] for row in rows), "the order tells nothing"
    assert sorted(float(row["yaw"]) for row in rows) == sorted(planted.faces.columns["yaw"].tolist())
    assert {row["camera"] for row in rows} == {"camera 1", "camera 2", "camera 3"}
    assert {row["glasses"] for row in rows} == {"yes", "no"} and {row["flag"] for row in rows} == {"", "flagged"}
    assert {row["tag"] for row in rows} == {"", "tag 1"} and {row["subset"] for row in rows} == {"", "subset 1"}
    assert "note" not in rows[0]
    with np.load(hidden / "vectors.npz") as one, np.load(plainly / "vectors.npz") as other:
        mine, theirs = (sorted(map(tuple, found["vectors"].tolist())) for found in (one, other))
        assert mine == theirs and one["names"].tolist() == sorted(one["names"].tolist())
        # Whoever reads the pictures under their new names finds these ids.
        from facelens.images.faceset import face_ids

        assert one["ids"].tolist() == face_ids([name.encode() for name in one["names"]]).tolist()


def test_people_are_the_same_within_an_export(planted: World, hidden: Path) -> None:
    with open(hidden / "listed.csv", newline="") as file:
        slices = {row["slice"] for row in csv.DictReader(file) if row["part"] == "breakdown"}
    assert slices and all(re.fullmatch(r"P\d{4}", one) for one in slices)
    with open(hidden / "faces.csv", newline="") as file:
        for row in csv.DictReader(file):
            assert row["path"].startswith(row["identity"] or "unknown")
            assert not row["mate"] or row["mate"].split("/")[0] == row["identity"]


def test_the_same_key_links_two_exports_and_another_does_not(planted: World, tmp_path: Path) -> None:
    def names(guise: Guise) -> list[bytes]:
        return list(outgoing.outgoing(guise, planted.faces)[0].paths)

    one = names(Guise(pseudonyms=True, key="for the paper"))
    assert one == names(Guise(pseudonyms=True, key="for the paper"))
    assert one != names(Guise(pseudonyms=True, key="for another")) != names(Guise(pseudonyms=True))
    assert names(Guise(pseudonyms=True)) != names(Guise(pseudonyms=True)), "without a key nobody can link them"


def cells(path: Path) -> Iterator[str]:
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        for row in csv.reader(file, dialect="excel-tab" if path.suffix == ".tsv" else "excel"):
            yield from row


NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?$")


def test_no_cell_is_a_formula_and_numbers_are_untouched(plainly: Path, hidden: Path) -> None:
    seen = 0
    for folder in (plainly, hidden):
        for path in (*folder.rglob("*.csv"), folder / "vectors" / "metadata.tsv"):
            for cell in cells(path):
                assert not re.match("'*[=+@\t\r\0]", cell) or cell.startswith("'"), f"{cell!r} in {path.name}"
                assert not cell.startswith("-") or NUMBER.match(cell), f"{cell!r} in {path.name}"
                seen += cell.startswith("'")
    assert seen > 2000, "there were names to be guarded"
    with open(plainly / "list.csv", newline="") as file:
        below = [row["below"] for row in csv.DictReader(file)]
    assert below == [str(-i) for i in range(200)], "a negative number is no formula"


def test_drawings_and_pages_hold_names_as_text(plainly: Path) -> None:
    drawn = list(plainly.rglob("*.svg"))
    assert len(drawn) > 25
    for path in drawn:
        tree = ElementTree.fromstring(path.read_bytes())  # no name ends the element it stands in
        for element in tree.iter():
            kind = element.tag.rpartition("}")[2]
            assert kind not in ("script", "foreignObject", "iframe", "a"), path.name
            for name, value in element.attrib.items():
                bare = name.rpartition("}")[2]
                assert not bare.startswith("on"), f"{name} in {path.name}"
                assert bare != "href" or value.startswith(("#", "data:image/png")), f"{value[:60]} in {path.name}"
    shown = "".join(ElementTree.fromstring((plainly / "sheet.svg").read_bytes()).itertext())
    assert "<script>" in shown  # as it is called, which is no element

    tags: set[str] = set()

    class Looked(HTMLParser):
        words = ""

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.add(tag)
            for name, value in attrs:
                assert not name.startswith("on") and "javascript:" not in (value or "")[:20]

        def handle_data(self, data: str) -> None:
            self.words += data

    looked = Looked()
    looked.feed((plainly / "report" / "index.html").read_text())
    assert "script" not in tags and "b" not in tags and MARK in looked.words


def test_faces_are_blurred_in_figures(planted: World, hidden: Path, plainly: Path) -> None:
    """What is left of a picture has no more detail than nine pixels across."""
    from facelens.images import decode

    (told,) = outgoing.outgoing(Guise(blur=True), planted.faces)
    for row in (0, 3):
        for small in (True, False):
            one, other = (
                (decode.thumbnail_face(of, row, 40) if small else decode.read_face(of, row)).astype(float)
                for of in (told, planted.faces)
            )
            assert one.shape == other.shape
            assert np.abs(np.diff(one, axis=1)).mean() < 0.25 * np.abs(np.diff(other, axis=1)).mean()
    assert told.label(6) == planted.faces.label(6) and told.paths is planted.faces.paths, "names stay"
    sheet, clear = ((folder / "sheet.svg").stat().st_size for folder in (hidden, plainly))
    assert sheet < 0.8 * clear, "noise that is gone takes no room"


def test_crops_of_a_match_are_blurred(planted: World) -> None:
    from tests.figures import matched

    (found,) = outgoing.outgoing(Guise(blur=True), matched.make_pair(planted.faces, 4))
    assert not np.array_equal(found.query.crop, matched.make_pair(planted.faces, 4).query.crop)
    assert found.query.crop.shape == (12, 12, 3)


def test_without_a_disguise_nothing_is_copied(planted: World) -> None:
    assert outgoing.outgoing(Guise(), planted.faces, planted.evaluation) == (planted.faces, planted.evaluation)


def test_a_person_called_like_a_word_of_ours_breaks_nothing(planted: World) -> None:
    """Codes of FaceLens are no names, whoever is called like them."""
    from facelens.images.faceset import Labels

    names = sorted(["best", "itself", "identities", "cosine", "1:1", "face", "all pairs", "forward", "umap", "roc"])
    faces = replace(planted.faces, identity=Labels(planted.faces.identity.codes % len(names), tuple(names)))
    told, found = outgoing.outgoing(Guise(pseudonyms=True), faces, planted.evaluation)
    assert found.plan == planted.evaluation.plan and found.a.of == "face"
    assert found.a.verification.points == planted.evaluation.a.verification.points
    assert set(told.identity.names).isdisjoint(names)


def test_a_result_that_nobody_has_thought_about_is_refused(planted: World) -> None:
    from dataclasses import make_dataclass

    strange = make_dataclass("Strange", ["who"], frozen=True)("Ann")
    with pytest.raises(TypeError, match="Strange"):
        outgoing.outgoing(Guise(pseudonyms=True), planted.faces, strange)


def test_every_text_of_a_result_is_thought_about(planted: World) -> None:
    """A field that the marks get into has a rule, or is told by the column it is of."""
    told: set[str] = set()

    def walk(value: object, where: str) -> None:
        if isinstance(value, str):
            if MARK in value:
                told.add(where)
        elif is_dataclass(value) and not isinstance(value, type) and type(value).__name__ not in ("FaceSet", "Labels"):
            for one in fields(value):
                walk(getattr(value, one.name), f"{type(value).__name__}.{one.name}")
        elif isinstance(value, dict):
            for one in value.values():
                walk(one, where)
        elif isinstance(value, (tuple, list, frozenset)):
            for one in value:
                walk(one, where)

    for one in fields(planted):
        if one.name not in ("faces", "protocol"):
            walk(getattr(planted, one.name), one.name)
    ruled = {f"{name}.{field}" for name, rules in outgoing.RULES.items() for field in rules}
    assert told <= ruled | {"Slice.value", "Effect.group", "Look.focus", "Look.augmented"}
    assert {"Evaluation.gallery", "Moves.people", "Finding.details", "Provenance.file"} <= told
