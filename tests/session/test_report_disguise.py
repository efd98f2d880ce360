"""A report in disguise: no file of it names anybody, nobody can be made out, and nothing else is different."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from facelens.__main__ import main
from facelens.analyses.plan import EnsemblePlan, MatchPlan, PartsPlan, Plan, ProjectionPlan, UpgradePlan
from facelens.commands import work
from facelens.images import builder
from facelens.images.disguise import Guise
from facelens.images.faceset import FaceSet
from facelens.resources import sample_data
from facelens.session import annotations, archive, folders, questions, report, subsets, tasks
from facelens.session.report import SECTIONS
from facelens.session.workspace import Source, Stored, Table, Workspace

MARK = "Qzmarkzq"
PEOPLE, EACH = 12, 4
KEY = "for the paper"


def _painted(path: Path, out: Path) -> None:
    """A face under a check of squares, which no blurring leaves to be seen."""
    with Image.open(path) as found:
        picture = np.asarray(found.convert("RGB").resize((112, 112)), np.float32)
    rows, columns = np.indices((112, 112)) // 8
    check = ((rows + columns) % 2 * 2 - 1)[..., None] * np.array([70, 50, 60])
    Image.fromarray(np.clip(picture + check, 0, 255).astype(np.uint8)).save(out)


@dataclass(frozen=True, eq=False)
class Case:
    """A workspace file full of names, and its faces as they are."""

    home: Path
    file: Path
    faces: FaceSet
    secrets: tuple[str, ...]  # besides the mark


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    room = tmp_path_factory.mktemp("disguise")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FACELENS_HOME", str(room / "own"))
        patch.setattr(work, "apart", lambda call, *given, tick, **how: call(*given, **how, tick=tick))
        yield _case(room)


def _case(room: Path) -> Case:
    home = room / f"{MARK} home"
    people = sorted(one for one in sample_data().iterdir() if one.is_dir() and len(list(one.glob("*.jpg"))) >= EACH)
    for place, name in enumerate((f"{MARK} faces", f"{MARK} asked")):
        for number, person in enumerate(people[: PEOPLE if not place else 4]):
            folder = home / name / f"={MARK}_{number}"
            folder.mkdir(parents=True)
            for picture in sorted(person.glob("*.jpg"))[:EACH]:
                _painted(picture, folder / f"{MARK} {picture.stem}.png")
    reading = tasks.open_gallery(home / f"{MARK} faces")
    faces = reading.faces
    lines = ["path,sharp", *(f"{path.decode()},{i}" for i, path in enumerate(faces.paths))]
    scores = home / f"{MARK} scores.csv"
    scores.write_text("\n".join(lines) + "\n")
    faces = faces.with_columns(tasks.import_scores(scores, faces).columns)
    pairs = home / f"{MARK} test.txt"
    builder.write_pairs_txt(pairs, faces, builder.build_pairs(faces, folds=2, per_fold=12))
    models, features, stored = [], {}, {}
    for name in ("old", "lce"):
        path = home / f"{MARK} {name}.safetensors"
        shutil.copy(sample_data() / "checkpoints" / f"{name}.safetensors", path)
        card = tasks.inspect_model(path).card.changed(name=name, notes=f"trained by {MARK}")
        seen = tasks.inspect_model(path, card=card)
        done = tasks.embed_gallery(faces, path, root=folders.vectors(), card=card)
        found = tasks.stored_vectors(faces, folders.vectors(), done.store.name)
        assert found.features is not None
        models.append(seen)
        features[name], stored[name] = found.features, Stored(done.store, done.store.name, found.size)
    told = f'identity ~ "{MARK}_1"'
    said = annotations.noted(annotations.Annotations(), faces.ids[:2], f"a note on {MARK}")
    queries = tasks.open_gallery(home / f"{MARK} asked").faces
    workspace = Workspace(
        faces=faces, source=Source(faces.root, faces.name, len(faces), ""), galleries=(faces.opened,),  # type: ignore[arg-type]
        protocol=tasks.read_pairs(pairs, faces), tables=(Table(scores, "scores"), Table(pairs, "pairs")),
        models=tuple(models), features=features, stored=stored, model_a="old", model_b="lce",
        plan=Plan(resamples=20, nmi_mean="", fars=(0.1, 0.02), breakdown="identity"),
        ensemble=EnsemblePlan(members=("old", "lce"), target="lce", far=0.1, fpir=0.3, resamples=10, fitted_on=told),
        upgrade_plan=UpgradePlan(far=0.1, fpir=0.3, resamples=10, fitted_on=told),
        parts_plan=PartsPlan(model="lce", parts=4, far=0.1), learners_plan=PartsPlan(model="old", parts=4),
        projection_plan=ProjectionPlan(model="old", other="lce", method="pca"),
        match_plan=MatchPlan(model="lce", shortlist=6), queries=queries, query=int(queries.ids[5]),
        arrangement=replace(Workspace().arrangement, filter=told), annotations=said,
        subsets=subsets.put(subsets.Subsets(), f"{MARK} friends", faces.ids[2:9]),
        selection=replace(Workspace().selection, ids=faces.ids[4:9], pair=(int(faces.ids[0]), int(faces.ids[1]))),
    )  # fmt: skip
    broken = home / f"{MARK} faces" / f"={MARK}_2" / f"{MARK} broken.png"
    broken.write_bytes(b"\x89PNG" + bytes(60))  # of which the doctor speaks
    archive.save(workspace, home / "w.facelens")
    secrets = (str(room), faces.digest, queries.digest, workspace.protocol.digest, *map(str, faces.ids.tolist()))  # type: ignore[union-attr]
    prints = (*(one.fingerprint for one in stored.values()), *(one.provenance.fingerprint for one in features.values()))
    return Case(home, home / "w.facelens", faces, (*secrets, *prints))


def inside(data: bytes) -> Iterator[bytes]:
    """What a file says, and what the pictures in it say, whatever they are packed in."""
    yield data
    for found in re.finditer(rb"data:[a-z/+]+;base64,([A-Za-z0-9+/=\s]+)", data):
        yield from inside(base64.b64decode(found[1]))
    if data.startswith(b"\x89PNG"):
        at = 8
        while at + 8 <= len(data):
            size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
            body = data[at + 8 : at + 8 + size]
            if kind in (b"zTXt", b"iTXt") and b"\0" in body:
                packed = body.split(b"\0", 1)[1].lstrip(b"\0\1")
                try:
                    yield zlib.decompress(packed)
                except zlib.error:
                    pass
            at += 12 + size


def pictures(folder: Path) -> Iterator[np.ndarray[Any, Any]]:
    for path in sorted((folder / "figures").glob("*.svg")):
        for one in inside(path.read_bytes()):
            if one.startswith(b"\x89PNG"):
                with Image.open(io.BytesIO(one)) as found:
                    yield np.asarray(found.convert("RGB"), np.float32)


def leaks(folder: Path, secrets: tuple[str, ...]) -> list[str]:
    found = []
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        whole = b"\n".join(inside(path.read_bytes()))
        whole += json.dumps(str(path.relative_to(folder))).encode()
        found += [f"{path.name}: {one}" for one in (MARK, *secrets) if one.encode() in whole]
    return found


@pytest.fixture(scope="module")
def plainly(case: Case) -> Path:
    out = case.home.parent / "plainly"
    assert main(["report", str(case.file), "--out", str(out), "--trust", "--with-sweep"]) == 0
    return out


@pytest.fixture(scope="module")
def hidden(case: Case, plainly: Path) -> Path:
    """After the plain one, so that nothing has to be embedded and said again."""
    out = case.home.parent / "hidden"
    words = ["--pseudonyms", "--blur", "--key", KEY, "--trust", "--with-sweep"]
    assert main(["report", str(case.file), "--out", str(out), *words]) == 0
    return out


def test_no_file_of_it_names_anybody(case: Case, plainly: Path, hidden: Path) -> None:
    assert {one.partition(":")[0] for one in leaks(plainly, case.secrets)} >= {"report.html", "report.json"}
    assert len(leaks(plainly, case.secrets)) > 40, "there is much to hide"
    assert leaks(hidden, case.secrets) == []
    assert not list(hidden.rglob("*.recipe.json"))


def test_it_says_the_same_otherwise(plainly: Path, hidden: Path) -> None:
    one, other = (json.loads((folder / "report.json").read_text()) for folder in (plainly, hidden))
    assert [one["sections"][name]["reason"] for name in SECTIONS] == [None] * len(SECTIONS)
    assert [other["sections"][name]["reason"] for name in SECTIONS] == [None] * len(SECTIONS)
    for name in SECTIONS:
        drawn = [[figure["name"] for figure in told["sections"][name]["figures"]] for told in (one, other)]
        assert drawn[0] == drawn[1], "every figure can be drawn in disguise"
        blocks = [told["sections"][name]["blocks"] for told in (one, other)]
        assert len(blocks[0]) == len(blocks[1])
    assert {"retrieval", "occlusions", "weights", "flows"} <= {
        figure["name"] for figure in other["sections"]["match"]["figures"]
    }
    eer = [told["sections"]["evaluation"]["numbers"]["models"]["A"]["verification"]["eer"] for told in (one, other)]
    assert eer[0] == eer[1]
    assert other["disguise"] == {"pseudonyms": True, "blur": True} and "disguise" not in one
    assert other["title"] == "Report on gallery" and other["data"][0]["faces"] == one["data"][0]["faces"]
    assert other["settings"]["uncertainty"]["fitted_on"] == "…" and other["data"][0]["places"] == []
    assert other["data"][0]["digest"] != one["data"][0]["digest"]
    page = (hidden / "report.html").read_text()
    assert "have pseudonyms" in page and "Faces are blurred." in page and "without recipes" in page
    slices = [one["value"] for one in other["sections"]["evaluation"]["numbers"]["models"]["A"]["slices"]]
    assert "P0001" in page and slices == [f"P{number:04}" for number in range(1, PEOPLE + 1)], "not by their real names"


def detail(picture: np.ndarray[Any, Any]) -> float:
    """How much of the check of squares is in a picture: its strength at that step, against everything else."""
    grey = picture.mean(2) - picture.mean()
    power = np.abs(np.fft.fft2(grey)) ** 2
    rows, columns = (np.abs(np.fft.fftfreq(n) * n) for n in grey.shape)
    seven = (np.abs(rows - 7) <= 1)[:, None] & (np.abs(columns - 7) <= 1)[None]
    return float(power[seven].sum() / max(power.sum(), 1e-9))


def test_nobody_can_be_made_out(plainly: Path, hidden: Path) -> None:
    faces = 0
    for clear, blurred in zip(pictures(plainly), pictures(hidden), strict=True):
        if np.array_equal(clear, blurred):  # a scale of colours
            assert detail(clear) < 0.2
        else:
            assert detail(blurred) < 0.01
            faces += detail(clear) > 0.2
    assert faces > 250, "there is somebody on them"


def test_the_same_key_gives_the_pseudonyms_of_a_collection(case: Case, hidden: Path) -> None:
    out = case.home.parent / "c.zip"
    assert main(["collect", str(case.file), "--out", str(out), "--pseudonyms", "--key", KEY, "--trust"]) == 0
    with zipfile.ZipFile(out) as zipped:
        paths = {name.removeprefix("gallery/") for name in zipped.namelist() if name.startswith("gallery/P")}
    assert len(paths) >= PEOPLE * EACH
    told = (hidden / "report.json").read_text()
    named = set(re.findall(r"P\d{4}/\d{3}", told))
    assert named and named <= {re.sub(r"\.\w+$", "", path) for path in paths} | set(
        re.findall(r"P\d{4}/\d{3}", " ".join(zipped.namelist()))
    )


def test_only_blurred_names_and_recipes_stay(case: Case, plainly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = case.home.parent / "blurred"
    assert main(["report", str(case.file), "--out", str(out), "--trust", "--blur", "--only", "match,evaluation"]) == 0
    assert sum(detail(one) > 0.1 for one in pictures(out)) == 0
    recipe = json.loads((out / "figures" / "match-flow.svg.recipe.json").read_text())
    assert recipe["figure"]["blur"] is True and MARK in (out / "report.html").read_text()
    again = case.home.parent / "again.svg"
    assert main(["render", str(out / "figures" / "match-flow.svg.recipe.json"), "--out", str(again), "--trust"]) == 0
    assert again.read_bytes() == (out / "figures" / "match-flow.svg").read_bytes()


def test_what_is_printed_names_nobody(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--only", "evaluation", "--pseudonyms", "--trust"]
    found = archive.read(case.file)
    plan = replace(found.fields["plan"], protocol=f"{MARK} test.txt")
    first = replace(found.galleries[0], digest="0" * 64)
    changed = replace(found, galleries=(first,), path=Path(), fields={**found.fields, "plan": plan})
    other = case.home / "changed.facelens"
    archive.write(changed, other)
    out = case.home.parent / "printed"
    assert main(["report", str(other), "--out", str(out), *words]) == 0
    said = capsys.readouterr().out.replace(str(out), "")
    assert json.loads((out / "report.json").read_text())["settings"]["evaluation"]["protocol"] == "test"
    assert "come, gone or been renamed" in said and MARK not in said
    assert "come, gone or been renamed" in (out / "report.html").read_text() and leaks(out, case.secrets) == []


def test_nothing_is_worked_out_again_and_nothing_new_is_kept(
    case: Case, plainly: Path, hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maps and transforms are kept by fingerprints: those of a disguise would fill the cache, other ones each time."""
    from facelens.session.replay import replay

    now = replay(archive.read(case.file), trusted=True).workspace
    now = questions.answered(now, questions.QUESTIONS)
    some = ("evaluation", "projection", "learners", "uncertainty")
    report.write(tmp_path / "plainly", now, only=some)
    before = sorted(folders.cache().rglob("*"))
    asked = {
        name: replace(one, request=lambda workspace, name=name: pytest.fail(f"{name} is asked again"))
        for name, one in questions.QUESTIONS.items()
    }
    monkeypatch.setattr(questions, "QUESTIONS", {**questions.QUESTIONS, **asked})
    report.write(tmp_path / "r", now, only=some, guise=Guise(True, True))
    assert sorted(folders.cache().rglob("*")) == before
    assert leaks(tmp_path / "r", case.secrets) == []


def test_an_error_that_quotes_a_filter_is_not_quoted(case: Case, tmp_path: Path) -> None:
    found = archive.read(case.file)
    for told in (f"{MARK} = 3", f'identity ~ "{MARK}'):
        plan = replace(found.fields["ensemble"], fitted_on=told)
        archive.write(replace(found, fields={**found.fields, "ensemble": plan}), case.home / "bad.facelens")
        out = tmp_path / "r"
        words = ["--only", "uncertainty", "--pseudonyms", "--trust"]
        assert main(["report", str(case.home / "bad.facelens"), "--out", str(out), *words]) == 0
        assert "without pseudonyms" in (out / "report.html").read_text() and leaks(out, case.secrets) == []


def test_a_key_alone_hides_nothing(case: Case, plainly: Path, tmp_path: Path) -> None:
    """Without a disguise every file is what it was; only the page and its twin say when they were made."""
    out = tmp_path / "r"
    words = ["--trust", "--with-sweep", "--key", KEY]
    assert main(["report", str(case.file), "--out", str(out), *words]) == 0
    files = {path.relative_to(plainly) for path in plainly.rglob("*") if path.is_file()}
    assert files == {path.relative_to(out) for path in out.rglob("*") if path.is_file()}
    drawn = [path for path in files if path.suffix in (".svg", ".tex")]
    assert len(drawn) > 60 and all((out / path).read_bytes() == (plainly / path).read_bytes() for path in drawn)
    told = [json.loads((folder / "report.json").read_text()) | {"made": ""} for folder in (plainly, out)]
    assert told[0] == told[1]


def test_files_of_plans_and_models_have_no_names(case: Case) -> None:
    from facelens.session.cover import Cover
    from facelens.session.replay import replay

    now = replay(archive.read(case.file), trusted=True).workspace
    files = (("old", f"/home/x/{MARK}.safetensors"), ("lce", f"/{MARK}/b.pt"))
    now = replace(now, ensemble=replace(now.ensemble, files=files), upgrade_plan=replace(now.upgrade_plan, files=files))
    hidden = Cover(Guise(pseudonyms=True), now).workspace(now)
    assert hidden.ensemble.files == hidden.upgrade_plan.files == (("old", "file 1.safetensors"), ("lce", "file 2.pt"))
    assert {one.path for one in hidden.models} == {Path("file.safetensors")}
    assert not any(one.card.notes for one in hidden.models)
    assert (hidden.source, hidden.galleries, hidden.arrangement.filter, hidden.stored) == (None, (), "", {})
