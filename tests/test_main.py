"""The command line: what it prints, what it writes, how it ends."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens import __version__, commands
from facelens.__main__ import main
from facelens.commands import parser
from facelens.errors import Cancelled, FaceLensError, NoDisplay

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def gallery(tmp_path: Path) -> Path:
    for i in range(9):
        place = tmp_path / "faces" / f"p{i % 3}" / f"{i}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(i).integers(0, 255, (8, 8, 3), np.uint8)
        Image.fromarray(pixels).resize((48, 48)).save(place)
    (tmp_path / "faces" / "p0" / "broken.jpg").write_bytes(b"\xff\xd8\xff no more")
    return tmp_path / "faces"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out.strip() == f"FaceLens {__version__}"


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["doctor"], ["pairs", "x"], ["sample"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2 and "usage: facelens" in capsys.readouterr().err


def every(parser: argparse.ArgumentParser, *name: str) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """All commands and those below them."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                yield from every(below, *name, word)


COMMANDS = dict(every(parser()))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_of_every_command(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what the command does, what everything it takes is, and shows an example."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0 and said.startswith(f"usage: facelens {' '.join(command)}".rstrip())
    assert max(map(len, said.splitlines())) <= 80 or command == ("evaluate",)  # a list of choices that cannot break
    found = COMMANDS[command]
    assert found.description and found.description[0].isupper() and found.description.endswith(".")
    for action in found._actions:
        if isinstance(action, argparse._SubParsersAction):
            continue
        assert action.help, f"{' '.join(command)}: {action.option_strings or action.dest} needs words"
        assert not action.help.endswith(".") or action.dest == "help"
        spelled = action.choices is not None or action.nargs == 0
        assert spelled or (action.metavar and action.metavar != action.dest), action
    assert ("Exit codes: 0 done; 1" in said) is (command == ())
    assert ("\nexample" in said) is (len(command) == 1)


@pytest.mark.parametrize("line", [line for one in commands.COMMANDS for line in one.EXAMPLES])
def test_examples_can_be_typed(line: str) -> None:
    words = shlex.split(line)
    assert words[0] == "facelens" and callable(parser().parse_args(words[1:]).run)
    options = COMMANDS[tuple(words[1 : 3 if words[1] in ("models", "sample") else 2])]._option_string_actions
    assert not [word for word in words if word.startswith("--") and word not in options]  # no abbreviations


def test_one_option_means_one_thing() -> None:
    """The same word takes the same kind of value in every command."""
    common = ("--gallery", "--out", "--json", "--csv", "--figure", "--scores", "--seed", "--card", "--store")
    said: dict[str, set[str]] = {}
    for name, found in COMMANDS.items():
        for option, action in found._option_string_actions.items():
            if option in common and name != ("models", "inspect"):  # which prints JSON and writes none
                said.setdefault(option, set()).add(str(action.metavar))
    assert said.pop("--out") == {"FILE", "DIR"}
    assert {option: len(words) for option, words in said.items()} == dict.fromkeys(said, 1), said


def test_doctor_prints_and_writes(gallery: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(gallery), "--json", str(tmp_path / "found.json")]) == 0
    said = capsys.readouterr().out
    assert "broken.jpg" in said
    found = json.loads((tmp_path / "found.json").read_text())
    assert "broken.jpg" in json.dumps(found)


def test_pairs(gallery: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (gallery / "p0" / "broken.jpg").unlink()
    out = tmp_path / "pairs.txt"
    assert main(["pairs", str(gallery), "--out", str(out), "--folds", "2", "--per-fold", "2"]) == 0
    assert capsys.readouterr().out.startswith("8 pairs written to ")
    assert len(out.read_text().splitlines()) == 9


@pytest.mark.slow
def test_sample_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "world"
    arguments = ["--identities", "2", "--pictures", "2", "--size", "48", "--seed", "3"]
    assert main(["sample", "build", "--out", str(out), *arguments]) == 0
    assert len([p for p in out.rglob("*") if p.suffix in (".jpg", ".png")]) == 4
    assert (out / "manifest.csv").is_file()


@pytest.mark.parametrize("command", ["doctor", "pairs"])
def test_a_stated_failure_is_one_sentence_and_a_hint(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = ["--out", str(tmp_path / "x.txt")] if command == "pairs" else []
    assert main([command, str(tmp_path / "nowhere"), *rest]) == 1
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 2 and "nowhere" in said[0]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FaceLensError("it broke", hint="mend it"), 1),
        (NoDisplay("no display"), 3),
        (Cancelled(), 130),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: object) -> int:
        raise error

    monkeypatch.setattr("facelens.commands.doctor.run", fail)
    assert main(["doctor", "x"]) == code
    assert capsys.readouterr().err


def test_a_reader_who_has_seen_enough(gallery: Path, facelens_home: Path) -> None:
    command = f"{sys.executable} -m facelens doctor {gallery} | true"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_the_command_line_does_not_load_qt() -> None:
    program = (
        "import sys, facelens.__main__ as m; m.parser();"
        "print([name for name in ('PySide6', 'torch', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stderr
