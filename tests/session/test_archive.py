"""Workspace files: everything comes back, folders may move, and what a stranger wrote changes nothing."""

from __future__ import annotations

import copy
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.analyses.plan import EnsemblePlan, MatchPlan, PartsPlan, Plan, ProjectionPlan, UpgradePlan
from facelens.errors import DiskFull, FaceLensError, InputError
from facelens.features.card import Card
from facelens.features.library import Inspection
from facelens.images.faceset import FaceSet, Opened
from facelens.images.occlusion import Occlusion
from facelens.resources import sample_data
from facelens.session import annotations, archive, identities, subsets
from facelens.session.archive import Archive, Layout
from facelens.session.draft import LONGEST, Draft
from facelens.session.history import UNDOABLE
from facelens.session.looks import Looks
from facelens.session.selection import Selection
from facelens.session.workspace import Arrangement, Operating, Stored, Table, Workspace

ROOT = Path(__file__).resolve().parents[2]
ARCHIVES = Path(__file__).parent / "archives"
NAMES = ["Ada/0.png", "Ada/1.png", "Bo/0.png", "Bo/\udcff.png", "Cy/ü 1.png"]


def faces_at(root: Path) -> FaceSet:
    found = FaceSet.build("tiny", root, paths=NAMES, identities=[name.split("/")[0] for name in NAMES])
    return replace(found, opened=Opened(root, "folders", {"identity": "path", "root": str(root / "crops")}))


def full(folder: Path) -> Workspace:
    """A workspace in which everything that is kept differs from the usual."""
    faces = faces_at(folder / "faces")
    ids = faces.ids
    edits = identities.named(identities.IdentityEdits(), faces, ids[3:], "Ada")
    edits = identities.named(edits, faces, ids[:1], "")
    card = Card("net", "small_plain", options={"parts": 4}, dimensions=64)
    net = Inspection(folder / "models" / "net.safetensors", "weights", "ab" * 32, 10, card)
    marks = annotations.tagged(annotations.flagged(annotations.Annotations(), ids[:2], 1), ids[1:3], "blurry")
    marks = annotations.noted(annotations.rated(marks, ids[3:], 4), ids[:1], "who is this?")
    return Workspace(
        faces=identities.applied(faces, edits),
        identity_edits=edits,
        galleries=(faces.opened, Opened(Path("/data/more"))),  # type: ignore[arg-type]
        tables=(Table(folder / "quality.csv", "scores"), Table(folder / "pairs.txt", "pairs")),
        excluded=np.sort(ids[3:4]),
        arrangement=Arrangement("identity ~ A", "path", True, "identity"),
        annotations=marks,
        subsets=subsets.put(subsets.Subsets(), "odd", ids[1:4:2]),
        selection=Selection(ids[:2], int(ids[1]), (int(ids[0]), int(ids[4]))),
        models=(net,),
        stored={"net": Stored(folder, "f" * 32, 5)},
        model="net",
        model_a="net",
        model_b="other",
        plan=Plan(rule="nist", fars=(0.1,), parts=("retrieval",), seed=3, breakdown="split"),
        crossing="ab",
        operating=Operating(1e-2, 0.4, "a"),
        ensemble=EnsemblePlan(("net", "other"), "net", copies=2, files=(("net", str(folder / "t.safetensors")),)),
        refusal=7,
        parts_plan=PartsPlan("net", 8, "random", True, "share", "weighted", 0.1, "other", 2, True),
        part=3,
        left_out=(1, 2),
        learners_plan=PartsPlan("other", 4),
        projection_plan=ProjectionPlan("net", 2, "tsne", 30, 0.2, 50.0, 4, "euclidean", "other", "joint"),
        match_plan=MatchPlan("net", "layer", (4, 4), "apc", "sinkhorn", 0.1, 0.5, 50, 0.1),
        query=int(ids[2]),
        occlusion=Occlusion("brush", 0.5, 1, ((0.1, 0.2, 0.3),)),
        upgrade_plan=UpgradePlan("net", "other", "up", ("third",), "forward", "fit", files=(("forward", "/t"),)),
        draft=Draft("tiny", 'kind = "margin"\nsteps = 6\n', folder / "recipes", "drawn", folder / "trained"),
        looks=Looks(counts="log", map_colour="role", map_shape=("role", "degraded"), nearest=False),
    )


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "work.facelens"
    archive.save(full(tmp_path), path, layout=Layout("browse", b"\x00\xff", "evaluation", 120))
    return path


def test_the_full_one_differs_everywhere(tmp_path: Path) -> None:
    """Else the round trip shows nothing."""
    usual, other = Workspace(), full(tmp_path)
    for name in archive.FIELDS:
        assert getattr(usual, name) != getattr(other, name), name
        if is_dataclass(value := getattr(other, name)) and getattr(usual, name) is not None:
            alike = [f.name for f in fields(value) if getattr(value, f.name) == getattr(type(value)(), f.name)]
            assert len(alike) < len(fields(value)), name


def test_everything_undoable_is_kept() -> None:
    """A field that can be undone is worth to be found again; whoever adds one adds it to the file."""
    apart = {"excluded", "selection", "query", "queries", "annotations", "subsets", "identity_edits"}
    assert UNDOABLE.keys() <= {*archive.FIELDS, *apart}


def test_round_trip(tmp_path: Path, written: Path) -> None:
    layout = Layout("browse", b"\x00\xff", "evaluation", 120)
    made, found = archive.taken(full(tmp_path), layout=layout), archive.read(written)
    assert replace(found, path=Path(), saved="") == made
    assert archive.same(found, made) and not archive.same(found, replace(made, query=None))
    assert not found.newer and not found.unknown and found.saved
    faces = faces_at(tmp_path / "faces")
    ids, gone = archive.ids_of(faces, (*found.excluded, "nobody.png"))
    assert ids.tolist() == full(tmp_path).excluded.tolist() and gone == ("nobody.png",)
    assert archive.face_of(faces, found.query) == full(tmp_path).query
    assert archive.face_of(faces, "nobody.png") is None and archive.face_of(None, "a") is None
    marks = annotations.from_plain(found.annotations, faces)
    assert annotations.as_plain(marks, faces) == annotations.as_plain(full(tmp_path).annotations, faces)


def test_faces_are_found_again(tmp_path: Path, written: Path) -> None:
    """Also those of joined galleries, whose ids do not follow from the path; what is not here is counted."""
    found, whole = archive.read(written), full(tmp_path)
    faces = faces_at(tmp_path / "faces")
    told = archive.faced(found, faces)
    assert told.selection == whole.selection and told.excluded.tolist() == whole.excluded.tolist()
    assert not told.lost and not told.gone and told.subsets["odd"].tolist() == whole.subsets["odd"].tolist()
    joined = replace(faces, ids=faces.ids[::-1].copy())
    assert archive.face_of(joined, "Ada/1.png") == int(joined.ids[1])
    fewer = faces.take(np.array([0, 1]))
    told = archive.faced(found, fewer)
    assert told.gone == ("Bo/\udcff.png",) and told.selection.pair is None and len(told.selection) == 2
    apart = (told.annotations, told.subsets, told.identities)
    assert told.lost == 1 + sum(one.unknown for one in apart) > 5 and told.identities.unknown == 2


def test_a_recipe_is_kept_under_its_name(tmp_path: Path) -> None:
    """The text is all there is of it; one that is too long for the file is left out, not written so that none opens."""
    path, draft = tmp_path / "work.facelens", Draft("/home/me/deep.toml", "steps = 3", Path(), "drawn", Path("/t"))
    archive.save(Workspace(draft=draft), path)
    assert archive.read(path).fields["draft"] == replace(draft, name="deep") and "/home/me" not in path.read_text()
    archive.save(Workspace(draft=replace(draft, text="#" * (LONGEST + 1))), path)
    assert archive.read(path).fields["draft"] is None


def test_no_picture_and_no_vector_is_in_it(written: Path) -> None:
    assert written.stat().st_size < 12_000
    written.read_bytes().decode("ascii")


def test_a_folder_that_moves(tmp_path: Path, written: Path) -> None:
    """What lies beside the file is found where the file is; what lies elsewhere stays where it was."""
    moved = tmp_path / "elsewhere" / "on another disk"
    moved.mkdir(parents=True)
    os.rename(written, moved / "work.facelens")
    found = archive.read(moved / "work.facelens")
    assert [one.place.path for one in found.galleries] == [moved / "faces", Path("/data/more")]
    assert [one.place.home for one in found.galleries] == ["inside", "outside"]
    assert found.galleries[0].options["root"] == str(moved / "faces" / "crops")
    assert found.models[0].place.path == moved / "models" / "net.safetensors"
    assert found.fields["ensemble"].files == (("net", str(moved / "t.safetensors")),)
    assert found.fields["upgrade_plan"].files == (("forward", "/t"),)
    assert str(tmp_path) not in (moved / "work.facelens").read_text().replace(str(moved), "")


def test_a_link_that_leads_out_counts_as_outside(tmp_path: Path, written: Path) -> None:
    (tmp_path / "faces").symlink_to("/usr")
    assert archive.read(written).galleries[0].place.home == "outside"


def test_the_sample_is_found_wherever_it_is_installed(tmp_path: Path) -> None:
    faces = replace(faces_at(sample_data()), opened=Opened(sample_data()))
    archive.save(Workspace(faces=faces), tmp_path / "a.facelens")
    assert str(sample_data()) not in (tmp_path / "a.facelens").read_text()
    [gallery] = archive.read(tmp_path / "a.facelens").galleries
    assert gallery.place.path == sample_data() and gallery.place.home == "sample"


def test_what_is_not_known_is_written_back(tmp_path: Path, written: Path) -> None:
    said = json.loads(written.read_text())
    said["weather"] = {"rain": [1, 2]}
    said["state"]["plan"]["novel"] = 4
    said["state"]["future_plan"] = {"a": 1}
    said["layout"]["glow"] = True
    written.write_text(json.dumps(said))
    found = archive.read(written)
    expected = {"weather": {"rain": [1, 2]}, "layout": {"glow": True}}
    expected["state"] = {"plan": {"novel": 4}, "future_plan": {"a": 1}}
    assert found.unknown == expected
    archive.save(full(tmp_path), written, kept=Archive(unknown=found.unknown))
    again = json.loads(written.read_text())
    assert again["weather"] == {"rain": [1, 2]} and again["state"]["plan"]["novel"] == 4
    assert again["state"]["plan"]["rule"] == "nist" and again["state"]["future_plan"] == {"a": 1}


def test_what_could_not_be_opened_stays_in_the_file(tmp_path: Path, written: Path) -> None:
    """A gallery on a disk that is not there, saved meanwhile: the file says the same as before."""
    found = archive.read(written)
    archive.save(Workspace(), written, kept=found)
    again = archive.read(written)
    assert again.fields["model_a"] == "net", "of a model that is kept"
    assert archive.same(replace(again, fields={**again.fields, **{n: found.fields[n] for n in archive.OWN}}), found)


def changed(*keys: object, to: object) -> Callable[[dict], None]:
    def change(said: Any) -> None:
        for key in keys[:-1]:
            said = said[key]
        said[keys[-1]] = to

    return change


def nested(depth: int) -> Any:
    found: Any = 1
    for _ in range(depth):
        found = {"a": found}
    return found


PLACE = ("galleries", 0, "place")
HOSTILE: dict[str, Callable[[dict], None]] = {
    "no mark": changed("facelens", to="else"),
    "schema a text": changed("schema", to="1"),
    "schema zero": changed("schema", to=0),
    "schema true": changed("schema", to=True),
    "schema huge": changed("schema", to=10**30),
    "schema none": changed("schema", to=None),
    "galleries an object": changed("galleries", to={}),
    "gallery a text": changed("galleries", 0, to="/etc"),
    "too many galleries": changed("galleries", to=[{"place": {"inside": "a"}}] * 1000),
    "inside absolute": changed(*PLACE, to={"inside": "/etc"}),
    "inside out": changed(*PLACE, to={"inside": "../../etc"}),
    "inside out later": changed(*PLACE, to={"inside": "a/../../etc"}),
    "inside out, backslashes": changed(*PLACE, to={"inside": "..\\..\\etc"}),
    "inside a drive": changed(*PLACE, to={"inside": "C:\\Windows"}),
    "inside a share": changed(*PLACE, to={"inside": "\\\\server\\share"}),
    "sample out": changed(*PLACE, to={"sample": "../facelens"}),
    "outside relative": changed(*PLACE, to={"outside": "etc"}),
    "outside back": changed(*PLACE, to={"outside": "/a/../etc"}),
    "two places": changed(*PLACE, to={"inside": "a", "outside": "/etc"}),
    "no place": changed(*PLACE, to={}),
    "place a number": changed(*PLACE, to={"inside": 3}),
    "place with a null byte": changed(*PLACE, to={"inside": "a\0b"}),
    "place of a megabyte": changed(*PLACE, to={"inside": "a" * 1_000_000}),
    "options deep": changed("galleries", 0, "options", to={"a": {"b": 1}}),
    "root out": changed("galleries", 0, "options", "root", to={"inside": "../x"}),
    "root plain": changed("galleries", 0, "options", "root", to="/etc"),
    "table of another kind": changed("tables", 0, "kind", to="program"),
    "model out": changed("models", 0, "place", to={"inside": "../../model.pt"}),
    "sha no digest": changed("models", 0, "sha256", to="../../../x"),
    "card wrong": changed("models", 0, "card", "size", to=[10**9, 1]),
    "card unknown field": changed("models", 0, "card", "run", to="rm"),
    "card std zero": changed("models", 0, "card", "std", to=[0, 0, 0]),
    "stores a list": changed("stores", to=[1]),
    "results a list": changed("results", to=["evaluation"]),
    "result a number": changed("results", to={"evaluation": 3}),
    "store a number": changed("stores", "net", to=3),
    "state a list": changed("state", to=[1]),
    "plan none": changed("state", "plan", to=None),
    "rule unknown": changed("state", "plan", "rule", to="best"),
    "FAR above one": changed("state", "plan", "fars", to=[2.0]),
    "FAR infinite": changed("state", "ensemble", "far", to=1e999),
    "seed huge": changed("state", "plan", "seed", to=10**400),
    "seed a fraction": changed("state", "plan", "seed", to=1.5),
    "flip a number": changed("state", "plan", "flip", to=1),
    "copies a billion": changed("state", "ensemble", "copies", to=10**9),
    "resamples negative": changed("state", "plan", "resamples", to=-1),
    "members a text": changed("state", "ensemble", "members", to="net"),
    "members too many": changed("state", "ensemble", "members", to=["a"] * 2000),
    "files not pairs": changed("state", "ensemble", "files", to=[["net"]]),
    "file out": changed("state", "ensemble", "files", to=[["net", {"inside": "../t"}]]),
    "file plain": changed("state", "ensemble", "files", to=[["net", "/etc/passwd"]]),
    "grid of three": changed("state", "match_plan", "grid", to=[1, 2, 3]),
    "grid huge": changed("state", "match_plan", "grid", to=[10**6, 10**6]),
    "strokes of texts": changed("state", "occlusion", "strokes", to=[["a", "b", "c"]]),
    "occlusion unknown": changed("state", "occlusion", "kind", to="hat"),
    "crossing unknown": changed("state", "crossing", to="aa"),
    "part negative": changed("state", "part", to=-5),
    "refusal a list": changed("state", "refusal", to=[]),
    "left out texts": changed("state", "left_out", to=["a"]),
    "filter of a book": changed("state", "arrangement", "filter", to="a" * 100_000),
    "model a list": changed("state", "model", to=["net"]),
    "head a number": changed("galleries", 0, "head", to=3),
    "head no path": changed("galleries", 0, "head", to="\ud800"),
    "draft a text": changed("state", "draft", to="rm"),
    "draft without a folder": changed("state", "draft", "out", to=None),
    "draft out": changed("state", "draft", "out", to={"inside": "../../.config"}),
    "draft plain": changed("state", "draft", "out", to="/etc"),
    "draft starts out": changed("state", "draft", "folder", to={"inside": "../.."}),
    "draft of a path": changed("state", "draft", "name", to="a/b"),
    "draft of nothing": changed("state", "draft", "name", to=""),
    "draft above": changed("state", "draft", "name", to=".."),
    "draft of a drive": changed("state", "draft", "name", to="C:\\b"),
    "draft of other faces": changed("state", "draft", "source", to="everybody"),
    "draft of a book": changed("state", "draft", "text", to="#" * (LONGEST + 1)),
    "cut of everything": changed("state", "looks", "plan_cut", to=3),
    "excluded numbers": changed("excluded", to=[1, 2]),
    "excluded no path": changed("excluded", to=["\ud800"]),
    "selection a list": changed("selection", to=[1]),
    "pair of three": changed("selection", "pair", to=["a", "b", "c"]),
    "query a number": changed("query", to=5),
    "flag of seven": changed("annotations", "flags", to={"Ada/0.png": 7}),
    "note of a megabyte": changed("annotations", "notes", to={"Ada/0.png": "a" * 1_000_000}),
    "annotations a text": changed("annotations", to="none"),
    "subset with a comma": changed("subsets", to={"a,b": []}),
    "identities a list": changed("identities", to=[1]),
    "identity of a number": changed("identities", "named", to={"Bo": [3]}),
    "identity without a name": changed("identities", "named", to={" ": ["Ada/0.png"]}),
    "identity that is no text": changed("identities", "named", to={"\ud800": ["Ada/0.png"]}),
    "two identities": changed("identities", "named", to={"Bo": ["Ada/1.png"], "Cy": ["Ada/1.png"]}),
    "identity and nobody": changed("identities", "nobody", to=["Bo/\udcff.png"]),
    "layout no base64": changed("layout", "state", to="é"),
    "layout huge": changed("layout", "state", to="A" * 2_000_000),
    "deep, where nobody looks": changed("weather", to=nested(100)),
    "long, where nobody looks": changed("weather", to="a" * 2_000_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(written: Path, name: str) -> None:
    said = json.loads(written.read_text())
    HOSTILE[name](said)
    written.write_text(json.dumps(said))
    before = sorted(written.parent.rglob("*"))
    with pytest.raises(InputError) as caught:
        archive.read(written)
    assert "work.facelens" in caught.value.message and "Nothing was changed" in caught.value.hint
    assert len(caught.value.details) < 300
    assert sorted(written.parent.rglob("*")) == before


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 100,
        b"[]",
        b"null",
        b"{",
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b'{"facelens": "workspace", "schema": NaN}',
        b'{"facelens": "workspace", "schema": 1, "schema": 1}',
        b'{"facelens": "workspace", "schema": ' + b"9" * 10_000 + b"}",
        b"\xff\xfe{}",
        b"PK\x03\x04",
    ],
    ids=range(12),
)
def test_no_workspace_at_all(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.facelens").write_bytes(content)
    with pytest.raises(InputError):
        archive.read(tmp_path / "a.facelens")


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.facelens")
    for name in ("nothing.facelens", "pipe.facelens", "."):
        with pytest.raises(InputError):
            archive.read(tmp_path / name)


WILD = (None, True, -1, 0, 10**18, -(10**40), 1e308, "", "..", "/", "\0", "a" * 5000, [], {}, [[]], {"inside": ".."})


def mutant(said: Any, rng: random.Random) -> Any:
    """The same document with one to three things changed, taken away or doubled."""
    said = copy.deepcopy(said)
    for _ in range(rng.randint(1, 3)):
        at, spots = [said], []
        while at:
            one = at.pop()
            keys = list(one) if isinstance(one, dict) else list(range(len(one)))
            spots += [(one, key) for key in keys]
            at += [one[key] for key in keys if isinstance(one[key], (dict, list))]
        parent, key = rng.choice(spots)
        how = rng.random()
        if how < 0.6:
            parent[key] = copy.deepcopy(rng.choice(WILD))
        elif how < 0.8:
            del parent[key]
        elif isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        else:
            parent[key] = [parent[key]]
    return said


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.faults)])
def test_mutants_are_refused_or_harmless(written: Path, count: int) -> None:
    """No mutant ends in anything but a stated refusal; one that is taken leads nowhere and can be written again."""
    rng, said, taken = random.Random(5), json.loads(written.read_text()), 0
    for _ in range(count):
        written.write_text(json.dumps(mutant(said, rng)))
        try:
            found = archive.read(written)
        except FaceLensError:
            continue
        taken += 1
        for place in found.places:
            inside = place.path.is_relative_to(written.parent)
            assert ".." not in place.path.parts and (inside or place.home != "inside")
        json.dumps(archive.document(found, written.parent), allow_nan=False)
    assert count / 20 < taken < count * 0.9


def test_flipped_bits(written: Path) -> None:
    rng, whole = random.Random(6), written.read_bytes()
    for _ in range(200):
        damaged = bytearray(whole[: rng.randrange(1, len(whole))] if rng.random() < 0.3 else whole)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        written.write_bytes(bytes(damaged))
        try:
            archive.read(written)
        except FaceLensError:
            pass


def test_a_newer_file_is_read_as_far_as_it_is_understood(written: Path) -> None:
    said = json.loads(written.read_text())
    said["schema"] = archive.SCHEMA + 1
    said["state"]["plan"] = {"rule": "of the future"}
    said["galleries"].append({"cloud": "x"})
    said["excluded"] = {"packed": "zz"}
    written.write_text(json.dumps(said))
    found = archive.read(written)
    assert found.newer and len(found.galleries) == 2 and not found.excluded
    assert "plan" not in found.fields and found.fields["ensemble"].copies == 2
    said["galleries"][0]["place"] = {"inside": "../.."}
    written.write_text(json.dumps(said))
    assert [one.place.path for one in archive.read(written).galleries] == [Path("/data/more")], "it is not trusted more"


@pytest.mark.parametrize("version", range(1, archive.SCHEMA + 1))
def test_a_file_of_each_version_opens(version: int) -> None:
    found = archive.read(ARCHIVES / f"v{version}.facelens")
    later = {"looks", "draft"}  # keys that came without a new version: what lacks them is as it goes without saying
    assert not found.newer and found.fields.keys() | later == {*archive.FIELDS}
    assert found.fields["plan"].rule == "nist" and found.fields["occlusion"].strokes == ((0.1, 0.2, 0.3),)
    assert found.galleries[0].place.path == ARCHIVES / "faces" and len(found.models) == 1 and found.pair is not None
    assert found.annotations["flags"] and found.subsets["odd"] and found.stores == {"net": "f" * 32}


def test_older_files_are_brought_up_to_date(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step once, in order, from the file's own version."""

    def second(said: dict) -> dict:
        return {**said, "query": said["query"].upper()}

    def third(said: dict) -> dict:
        return {**said, "query": said["query"] + "!"}

    monkeypatch.setattr(archive, "MIGRATIONS", (second, third))
    monkeypatch.setattr(archive, "SCHEMA", 3)
    assert archive.read(written).query == "BO/0.PNG!"
    written.write_text(json.dumps({**json.loads(written.read_text()), "schema": 2}))
    assert archive.read(written).query == "Bo/0.png!"


def test_a_link_is_written_through(tmp_path: Path, written: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "link.facelens").symlink_to(written)
    archive.save(Workspace(), tmp_path / "other" / "link.facelens")
    assert (tmp_path / "other" / "link.facelens").is_symlink() and not archive.read(written).galleries


def test_a_full_disk_loses_nothing(tmp_path: Path, written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = written.read_bytes()

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(DiskFull):
        archive.save(Workspace(), written)
    assert written.read_bytes() == before and sorted(one.name for one in tmp_path.iterdir()) == ["work.facelens"]


KILLED = """
import sys
from pathlib import Path
from facelens.session import archive
from facelens.session.workspace import Workspace
path = Path(sys.argv[1])
print("ready", flush=True)
for i in range(10**9):
    archive.write(archive.Archive(query=f"{i}", selected=tuple(map(str, range(3000)))), path)
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_killed_while_saving(tmp_path: Path) -> None:
    """Whatever the moment, the file is whole."""
    path, rng = tmp_path / "a.facelens", random.Random(7)
    for _ in range(4):
        child = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], cwd=ROOT, stdout=subprocess.PIPE)
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        try:
            child.wait(0.2 + 0.2 * rng.random())
        except subprocess.TimeoutExpired:
            pass
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert len(archive.read(path).selected) == 3000
