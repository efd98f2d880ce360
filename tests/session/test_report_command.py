"""facelens report: a workspace file becomes a report without a window; what is no workspace is one sentence."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from facelens.__main__ import main
from facelens.analyses.plan import Plan
from facelens.resources import sample_data
from facelens.session import archive, folders, tasks
from facelens.session.replay import replay
from facelens.session.workspace import Source, Stored, Workspace
from tests.session.reported import tags_of

PEOPLE, EACH = 6, 4


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some people of the sample gallery, one of them renamed."""
    made = tmp_path_factory.mktemp("faces") / "some"
    people = sorted(path for path in sample_data().iterdir() if path.is_dir() and list(path.glob("*.jpg")))
    for number, person in enumerate(people[:PEOPLE]):
        home = made / ("<b>=Ann</b>" if number == 0 else person.name)
        home.mkdir(parents=True)
        for picture in sorted(person.glob("*.jpg"))[:EACH]:
            shutil.copy(picture, home)
    return made


@pytest.fixture
def saved(gallery: Path, tmp_path: Path) -> Path:
    """A workspace file of them with the vectors of a model, and a face that is searched for."""
    faces = tasks.open_gallery(gallery).faces
    model = sample_data() / "checkpoints" / "old.safetensors"
    seen = tasks.inspect_model(model)
    done = tasks.embed_gallery(faces, model, root=folders.vectors())
    found = tasks.stored_vectors(faces, folders.vectors(), done.store.name)
    assert found.features is not None
    name = seen.card.name
    workspace = Workspace(
        faces=faces,
        source=Source(gallery, faces.name, len(faces), ""),
        galleries=(faces.opened,),  # type: ignore[arg-type]
        models=(seen,),
        features={name: found.features},
        stored={name: Stored(done.store, done.store.name, found.size)},
        model_a=name,
        plan=Plan(resamples=20, nmi_mean=""),
        query=int(faces.ids[1]),
    )
    archive.save(workspace, tmp_path / "w.facelens")
    return tmp_path / "w.facelens"


def test_a_workspace_file_becomes_a_report(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report"
    command = ["report", str(saved), "--out", str(out), "--only", "evaluation,match,upgrade", "--trust"]
    assert main(command) == 0, capsys.readouterr().err
    assert f"Report: {out / 'report.html'}" in capsys.readouterr().out
    page, twin = tags_of((out / "report.html").read_text()), json.loads((out / "report.json").read_text())
    assert list(twin["sections"]) == ["evaluation", "match", "upgrade"]
    assert twin["sections"]["upgrade"]["reason"].startswith("Needs vectors of two models")
    assert twin["sections"]["match"]["numbers"]["search"]["searched"] == PEOPLE * EACH - 1
    assert twin["sections"]["match"]["numbers"]["sweep"] is None
    [model] = twin["models"]
    assert model["weights_sha256"] and model["vectors"] == PEOPLE * EACH and model["weights_sha256"] in page.words
    assert (out / "figures" / "match-flow.svg").is_file() and not (out / "figures" / "match-sweep.svg").exists()
    assert "<b>=Ann</b>" in "".join(page.words) and not page.all("b")
    # Once more into the same folder, with every face searched for; a figure can be drawn again from its recipe.
    assert main([*command[:4], "--only", "match", "--with-sweep", "--trust"]) == 0
    twin = json.loads((out / "report.json").read_text())
    assert twin["sections"]["match"]["numbers"]["sweep"]["queries"] == PEOPLE * EACH
    assert (out / "figures" / "match-sweep.svg").is_file() and not list(out.glob("tables/evaluation*"))
    recipe = out / "figures" / "match-ranking.svg.recipe.json"
    assert main(["render", str(recipe), "--out", str(tmp_path / "again.svg"), "--trust"]) == 0
    assert (tmp_path / "again.svg").read_bytes() == (out / "figures" / "match-ranking.svg").read_bytes()


def test_what_the_file_speaks_of_and_is_gone_is_told(saved: Path, gallery: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(gallery, moved)
    found = archive.read(saved)
    changed = archive.Gallery(archive.Place(moved), digest="another")
    archive.write(replace(found, galleries=(changed,)), saved)
    assert replay(archive.read(saved), trusted=True).changed
    assert main(["report", str(saved), "--out", str(tmp_path / "r"), "--only", "projection", "--trust"]) == 0
    twin = json.loads((tmp_path / "r" / "report.json").read_text())
    assert "since" in twin["caveats"]["Since the workspace was saved"][0]


HOSTILE = {
    "empty.facelens": b"",
    "page.facelens": b"<!doctype html><script>alert(1)</script>",
    "pickle.facelens": b"\x80\x05cposix\nsystem\n(S'touch owned'\ntR.",
    "deep.facelens": b"[" * 100_000,
    "nan.facelens": b'{"facelens": "workspace", "schema": NaN}',
    "other.facelens": b'{"facelens": "workspace", "schema": 1, "galleries": [{"path": "/etc"}], "x": 1}',
}


@pytest.mark.parametrize("name", [*HOSTILE, "absent.facelens"])
def test_what_is_no_workspace_is_one_sentence(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if name in HOSTILE:
        (tmp_path / name).write_bytes(HOSTILE[name])
    assert main(["report", str(tmp_path / name), "--out", str(tmp_path / "r")]) == 1
    told = capsys.readouterr()
    lines = told.err.strip().splitlines()
    assert len(lines) == 2 and all(line.endswith(".") for line in lines) and "Traceback" not in told.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ([name] if name in HOSTILE else [])


def test_a_stranger_opens_nothing_by_himself(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(saved), "--out", str(tmp_path / "r")]) == 1
    assert "nothing there was opened here before" in capsys.readouterr().err and not (tmp_path / "r").exists()


def test_wrong_words_are_told_before_anything_is_opened(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(saved), "--out", str(tmp_path / "r"), "--only", "poetry"]) == 1
    assert "no section poetry" in capsys.readouterr().err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x").write_text("x")
    assert main(["report", str(saved), "--out", str(tmp_path / "mine")]) == 1
    assert "is no report of FaceLens" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_killed_in_the_middle_leaves_nothing_half(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "r"
    command = [sys.executable, "-m", "facelens", "report", str(saved), "--trust", "--out", str(out), "--only"]
    with subprocess.Popen([*command, "evaluation,projection"], stdout=subprocess.DEVNULL) as killed:
        until = time.monotonic() + 120
        while not list(out.parent.glob(".r.*/figures/*.svg")):
            assert killed.poll() is None and time.monotonic() < until
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    assert not out.exists() and list(out.parent.iterdir())
    assert subprocess.run([*command, "projection"], check=True, stdout=subprocess.DEVNULL).returncode == 0
    assert [path.name for path in out.parent.iterdir()] == ["r"] and (out / "report.html").is_file()
