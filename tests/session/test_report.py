"""The report of a workspace: one page that needs nothing and runs nothing, a twin with the same numbers, LaTeX that
compiles, reasons where there is nothing to say; nothing is worked out twice."""

from __future__ import annotations

import base64
import json
import pickle
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens.errors import Cancelled, InputError
from facelens.images.faceset import FaceSet
from facelens.session import actions, questions, report
from facelens.session.block_latex import tabular
from facelens.session.blocks import Block
from facelens.session.questions import QUESTIONS
from facelens.session.report_cards import NAMES, settings
from facelens.session.workspace import Workspace
from facelens.words import number
from tests.session.reported import FORMULA, HOSTILE, SCRIPT, Tags, tags_of, workspace


@dataclass(frozen=True, eq=False)
class Written:
    """A report of everything there is to say."""

    folder: Path
    workspace: Workspace
    page: str
    tags: Tags
    twin: dict[str, Any]


def _strict(text: str) -> dict[str, Any]:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FACELENS_HOME", str(tmp_path_factory.mktemp("home")))
        now, folder = workspace(), tmp_path_factory.mktemp("out") / "report"
        page = report.write(folder, now).read_text()
        yield Written(folder, now, page, tags_of(page), _strict((folder / "report.json").read_text()))


def test_the_page_needs_nothing_and_runs_nothing(written: Written) -> None:
    tags = written.tags
    kinds = {tag for tag, _ in tags.seen}
    assert not kinds & {"script", "link", "iframe", "object", "embed", "form", "base", "svg"}
    assert not [name for _, attrs in tags.seen for name in attrs if name.startswith("on")]
    [policy] = [attrs["content"] for attrs in tags.all("meta") if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    sources = [str(attrs["src"]) for attrs in tags.all("img")]
    assert len(sources) > 15 and all(re.match("data:image/(svg.xml|png);base64,", one) for one in sources)
    assert all(attrs.get("alt") for attrs in tags.all("img"))
    anchors = {str(attrs["id"]) for attrs in tags.all("section")}
    for attrs in tags.all("a"):
        link = str(attrs["href"])
        assert link[1:] in anchors if link.startswith("#") else (written.folder / link).is_file()
    assert "http" not in re.sub('base64,[^"]*', "", written.page).replace("http-equiv", "")
    assert "@import" not in written.page and "url(" not in written.page


def test_figures_inside_name_nothing_elsewhere(written: Written) -> None:
    drawn = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", written.page)
    assert drawn
    for one in drawn:
        raw = base64.b64decode(one)
        root = ET.fromstring(raw)
        assert b"<!DOCTYPE" not in raw and b"<script" not in raw
        for element in root.iter():
            assert not [name for name in element.attrib if name.startswith("on")]
            for name, value in element.attrib.items():
                assert not name.endswith("href") or value.startswith(("#", "data:"))


def test_hostile_names_stay_names(written: Written) -> None:
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;co" in written.page and SCRIPT not in written.page
    words = "".join(written.tags.words)
    assert FORMULA in words and "\u202e" not in written.page and "\x07" not in written.page
    for path in (written.folder / "tables").iterdir():
        text = path.read_text()
        body = re.sub(r"^%.*\n", "", text, flags=re.M)
        assert r"\input" not in body and "\x07" not in text
        assert not re.search(r"(?<!\\)[#_%~]", body), path.name
        assert len(re.findall(r"(?<!\\)\{", body)) == len(re.findall(r"(?<!\\)\}", body))
        assert len(re.findall(r"(?<!\\)\$", body)) % 2 == 0
    shown = "".join(path.read_text() for path in (written.folder / "tables").iterdir())
    assert r"\textbackslash{}input\{" in shown and r"50\% \_\$\#\textasciitilde{}\textasciicircum{}" in shown


def test_the_twin_has_the_numbers_of_the_page(written: Written) -> None:
    words = " ".join(written.tags.words)
    told = written.twin["sections"]
    evaluated = told["evaluation"]["numbers"]["models"]["A"]["verification"]
    assert number(evaluated["eer"]["value"], 4) in words and number(evaluated["auc"]["low"], 4) in words
    crossed = told["upgrade"]["numbers"]
    assert crossed["verdict"]["1:1"]["sentence"] == told["upgrade"]["verdict"]["sentence"]
    assert crossed["verdict"]["1:1"]["sentence"] in words
    assert number(told["uncertainty"]["numbers"]["variance"]["p50"], 4) in words
    assert told["projection"]["numbers"]["sentence"] in words
    for section in told.values():
        for block in section.get("blocks", ()):
            for cell in (cell for row in block["rows"] for cell in row if cell):
                assert cell in words, cell
        for kind in ("figures", "tables"):
            for file in section.get(kind, ()):
                assert (written.folder / (file if kind == "tables" else file["file"])).is_file()


def test_every_table_is_a_tabular(written: Written) -> None:
    for section in written.twin["sections"].values():
        if section["reason"] is None:
            blocks = [one for one in section["blocks"] if max(map(len, one["rows"]), default=0) > 1]
            assert len([file for file in section["tables"] if re.search(r"-\d\d\.tex", file)]) == len(blocks)
    for path in (written.folder / "tables").iterdir():
        text = path.read_text()
        columns = len(re.search(r"\\begin\{tabular\}\{(\w+)\}", text)[1])  # type: ignore[index]
        for row in re.findall(r"^(?!%).* \\\\$", text, flags=re.M):
            wide = re.search(r"\\multicolumn\{(\d+)\}", row)
            assert len(re.findall(r"(?<!\\)&", row)) + (int(wide[1]) if wide else 1) == columns, row


def test_a_row_that_begins_with_a_bracket_is_no_argument() -> None:
    text = tabular(Block("t", [["a", "b"], ["[0.1, 0.2]", "*"], ["x", "y"], ["why it ends"]], told=("50 %\nof it",)))
    assert "{}[0.1, 0.2] & * \\\\" in text and r"\multicolumn{2}{l}{why it ends} \\" in text
    assert "% 50 %\\x0aof it\n" in text


def test_figures_lie_beside_with_their_recipes(written: Written) -> None:
    from facelens.session.figure_recipe import beside, read

    files = sorted((written.folder / "figures").glob("*.svg"))
    assert {"evaluation-roc.svg", "uncertainty-1-to-1.svg", "upgrade-matrix.svg", "projection-map.svg"} <= {
        file.name for file in files
    }
    for file in files:
        ET.parse(file)
        recipe = read(beside(file))
        assert file.name == f"{recipe.panel}-{'-'.join(recipe.name.split())}.svg"


def test_cards_say_what_it_rests_on(written: Written) -> None:
    twin, words = written.twin, " ".join(written.tags.words)
    [data] = twin["data"]
    assert (data["faces"], data["identities"], data["singletons"]) == (120, 24, 0)
    assert data["digest"] == written.workspace.faces.digest and data["digest"] in words  # type: ignore[union-attr]
    assert [one["is"] for one in twin["models"]] == ["A, old", "B, new"] and "not stated" in words
    assert twin["environment"]["versions"]["facelens"] in words and twin["environment"]["cores"] >= 1
    assert twin["settings"]["upgrade"]["far"] == 0.1 and "Made on " in words
    assert "What this does not say" in written.tags.words


def test_caveats_stand_first(written: Written) -> None:
    titles = [str(attrs["href"])[1:] for attrs in written.tags.all("a")]
    assert titles[:4] == ["caveats", "data", "models", "evaluation"]
    told = written.twin["caveats"]
    assert any("FAR 1e-6 of A" in line for line in told["Evaluation"])
    assert any("fewer than 30 people" in line for line in told["Evaluation"])
    assert any("fitted on clean pictures" in line for line in told["Uncertainty"])
    assert any("any rotation" in line for line in told["Confidence"])
    assert any("may be used" in line for line in told["Upgrade"])
    assert any("no licence is stated for old, new" in line for line in told["Models"])


def test_a_section_that_cannot_be_said_says_why(written: Written, tmp_path: Path) -> None:
    reason = actions.matchable(written.workspace)
    assert reason and written.twin["sections"]["match"] == {"title": "Match", "reason": reason}
    assert reason in written.tags.words
    bare = Workspace(faces=written.workspace.faces)
    page = tags_of(report.write(tmp_path / "bare", bare, notes=("One picture is gone.",)).read_text())
    twin = _strict((tmp_path / "bare" / "report.json").read_text())
    assert all(one["reason"] for one in twin["sections"].values()) and set(twin["sections"]) == set(report.SECTIONS)
    assert twin["caveats"]["Since the workspace was saved"] == ["One picture is gone."]
    assert "Needs a model. Open one first (Ctrl+M)." in page.words and "One picture is gone." in page.words
    with pytest.raises(InputError, match="no gallery"):
        report.write(tmp_path / "none", Workspace())
    assert not (tmp_path / "none").exists()


def test_a_failing_section_is_told_and_the_others_are_said(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise InputError("The transform is of another size.", hint="Choose another.")

    monkeypatch.setattr("facelens.session.upgrading.study", fail)
    report.write(tmp_path / "r", written.workspace, only=("upgrade", "projection"))
    told = _strict((tmp_path / "r" / "report.json").read_text())["sections"]
    assert told["upgrade"]["reason"] == "The transform is of another size. Choose another."
    assert told["projection"]["reason"] is None


def test_only_some_sections(written: Written, tmp_path: Path) -> None:
    report.write(tmp_path / "r", written.workspace, only=("projection", "evaluation"))
    twin = _strict((tmp_path / "r" / "report.json").read_text())
    assert list(twin["sections"]) == ["evaluation", "projection"] == list(twin["settings"])
    with pytest.raises(InputError, match="no section nonsense") as refused:
        report.write(tmp_path / "s", written.workspace, only=("nonsense",))
    assert "upgrade" in refused.value.hint and not (tmp_path / "s").exists()


def test_what_is_answered_is_not_worked_out_again(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("evaluation", "uncertainty", "parts", "study", "learners", "projection", "upgrade", "upgrade map")
    now = replace(questions.answered(written.workspace, ("uncertainty",)), faces=written.workspace.faces)
    now = questions.answered(now, names)
    kept = tmp_path / "luggage"
    kept.write_bytes(pickle.dumps(report.luggage(now), protocol=5))
    # In another process, where Python's own hashes are others, they are still answers to the same questions.
    code = (
        "import pickle, sys; from facelens.session.questions import QUESTIONS\n"
        "now = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print([name for name in sys.argv[2:] if not QUESTIONS[name].there(now)])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(kept), *names], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr

    def again(_: Workspace) -> None:
        raise AssertionError("it is answered")

    for name in names:
        monkeypatch.setitem(questions.QUESTIONS, name, replace(QUESTIONS[name], request=again))  # type: ignore[arg-type]
    report.write(tmp_path / "r", pickle.loads(kept.read_bytes()))
    twin = _strict((tmp_path / "r" / "report.json").read_text())
    same = ("evaluation", "confidence", "learners", "upgrade")
    assert [twin["sections"][name]["blocks"] for name in same] == [
        written.twin["sections"][name]["blocks"] for name in same
    ]


def test_a_column_that_comes_with_an_answer_changes_no_other_section(written: Written) -> None:
    notes = [line for block in written.twin["sections"]["upgrade"]["blocks"] for line in block["told"]]
    assert any("there is no variance of an ensemble" in line for line in notes)


def test_cancelled_leaves_nothing(written: Written, tmp_path: Path) -> None:
    calls: list[int] = []

    def stop(done: int, total: int, note: str = "") -> None:
        calls.append(done)
        if len(calls) > 40:
            raise Cancelled

    with pytest.raises(Cancelled):
        report.write(tmp_path / "r", written.workspace, tick=stop)
    assert not list(tmp_path.iterdir())


def test_every_setting_has_a_name(written: Written) -> None:
    now = written.workspace
    for block in settings(now, report.SECTIONS).blocks:
        assert block.rows and all(len(row) == 2 and row[1] for row in block.rows)
    assert all(name == name.strip() and not name.endswith(".") for name in NAMES.values())


def test_contents_of_columns_are_told_apart() -> None:
    faces = FaceSet.build("g", Path("x"), paths=["a", "b"], identities=["", ""], columns={"n": np.array([1.0, 2.0])})
    other = faces.with_columns({"n": np.array([2.0, 1.0])})
    assert faces.contents["n"] != other.contents["n"]
    assert faces.contents["n"] == faces.with_columns({"n": np.array([1.0, 2.0])}).contents["n"]


def test_hostile_names_are_all_in_the_gallery(written: Written) -> None:
    names = written.workspace.faces.identity.names  # type: ignore[union-attr]
    assert all(any(name.startswith(one) for name in names) for one in HOSTILE)
