"""The README: its commands and its code are run, what it links to is there, and no command is missing.

A command is a line of a code block that starts with `python3 run.py`. It runs in a folder with a small copy of the
sample gallery; STANDS_FOR says what stands for the user's own files, SMALLER what makes a command quick, EXEMPT what
is not run and why. A further word of capitals or a file of the user's needs a row here, or the command fails.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facelens import commands
from facelens.__main__ import main
from facelens.commands import work
from facelens.images.faceset import FaceSet
from facelens.session import tasks

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text()
START = "python3 run.py"
PEOPLE, EACH = 12, 6  # of the small copy
ZURI = "Zuri_Nakaro/Zuri_Nakaro_000{}.jpg"

EXEMPT = {
    "python3 run.py": "makes an environment and opens the window",
    "python3 run.py test": "runs these tests",
    "python3 run.py test -m bench": "measures for a long time",
    "python3 run.py -- gui FOLDER": "opens the window",
    "python3 run.py -- tour --out tour": "renders the window; see tests/gui/test_tour.py",
}
STANDS_FOR = {
    "FOLDER": "sample_data",
    "FACE.jpg": f"sample_data/{ZURI.format(1)}",
    "A.jpg": ZURI.format(1),
    "B.jpg": ZURI.format(3),
    "lfw/aligned112": "sample_data",
    "lfw/pairs_fold1.csv": "pairs_fold1.csv",
    "mobilefacenet.ckpt": "model.pth",
    "model.onnx": "model.safetensors",  # onnxruntime is not always there: another form of the same weights
    "OLD_STORE": "store:old",
    "NEW_STORE": "store:lce",
}
STORES = {  # what each STORE of a command stands for, in order
    "confidence": ("universal",),
    "learners": ("divided", "undivided"),
    "": ("plain", "residual", "new"),
}
SMALLER = {
    "pairs": "--folds 2 --per-fold 5",
    "sample build": "--identities 2 --pictures 2 --size 64",
    "train": "--set epochs=1 --set batch.people=8 --set batch.pictures=4 --set schedule.warmup=1",
    "evaluate": "--resamples 20",
    "uncertainty": "--resamples 20",
    "upgrade": "--resamples 20",
    "confidence": "--resamples 20",
    "learners": "--resamples 20",
    "rerank": "--queries role=cover",
    "models whatif": "--n 12",
    "models parity": "--n 12",
    "project": "--method pca",
    "report": "--only evaluation",
    "export": "--map pca",
}
WRITTEN = ("--out", "--json", "--csv", "--figure", "--export", "--report", "--policy", "--latex", "--skipped")


@dataclass(frozen=True)
class Line:
    """A command of the README."""

    number: int
    text: str

    @property
    def words(self) -> list[str]:
        """As a shell takes it apart, without the comment and with {a,b} spelled out."""
        found = []
        for word in shlex.split(self.text, comments=True):
            parts = re.split(r"\{([^{}]*,[^{}]*)\}", word)
            choices = [part.split(",") if i % 2 else [part] for i, part in enumerate(parts)]
            found += ["".join(chosen) for chosen in itertools.product(*choices)]
        return found

    @property
    def comment(self) -> str:
        return self.text.partition(" # ")[2]

    @property
    def command(self) -> str:
        """What of FaceLens it runs: `models inspect`, `embed`."""
        words = self.words[3:]
        return " ".join(words[: 2 if words[:1] in (["models"], ["sample"]) else 1])

    def __str__(self) -> str:
        return f"README.md:{self.number}: {self.text}"


def blocks() -> Iterator[tuple[int, str, list[str]]]:
    """Code blocks: the number of the first line, the language, the lines."""
    language: str | None = None
    start, held = 0, []  # type: tuple[int, list[str]]
    for number, line in enumerate(TEXT.splitlines(), 1):
        if line.startswith("```"):
            if language is None:
                language, start, held = line[3:].strip(), number + 1, []
            else:
                yield start, language, held
                language = None
        elif language is not None:
            held.append(line)
    assert language is None, "a code block is not closed"


LINES = [
    Line(start + i, line)
    for start, language, held in blocks()
    for i, line in enumerate(held)
    if language != "python" and line.startswith(START)
]
RUN = [line for line in LINES if shlex.join(line.words) not in EXEMPT]


def test_what_looks_like_a_command_is_one() -> None:
    """A line that this test would pass over: another way to start FaceLens, a line that goes on."""
    assert len(RUN) > 20
    for start, language, held in blocks():
        if language == "python":
            continue
        assert language in ("", "sh", "bash"), f"README.md:{start}: what is {language}?"
        for i, line in enumerate(held):
            looks = re.match(r"\s*(\$|facelens|python)\b", line) is not None or line.endswith("\\")
            assert line.startswith(START) or not looks, f"README.md:{start + i}: {line}"


def test_exemptions_are_needed() -> None:
    said = {shlex.join(line.words) for line in LINES} | {
        word for word in re.findall(r"`([^`\n]+)`", TEXT) if word.startswith(START)
    }
    assert EXEMPT.keys() <= said, "an exemption for a command that the README no longer has"


# Running


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small copy of the sample, its checkpoints, a test, and the user's own model in two forms."""
    import torch
    from safetensors.torch import load_file

    folder = tmp_path_factory.mktemp("readme")
    sample, copy = ROOT / "sample_data", folder / "sample_data"
    copy.mkdir()
    (copy / "checkpoints").symlink_to(sample / "checkpoints")
    head, *rows = (sample / "manifest.csv").read_text().splitlines()
    chosen: dict[str, list[str]] = {}
    for row in rows:
        name = row.split(",")[1]
        if (name in chosen or len(chosen) < PEOPLE) and len(chosen.setdefault(name, [])) < EACH:
            chosen[name].append(row)
    kept = [row for name in chosen.values() for row in name]
    for path in (row.split(",")[0] for row in kept):
        (copy / path).parent.mkdir(exist_ok=True)
        shutil.copy(sample / path, copy / path)
    (copy / "manifest.csv").write_text("\n".join([head, *kept]) + "\n")
    names = [[row.split(",")[0] for row in rows] for rows in chosen.values()]
    same = [f"{a},{b},1" for a, b, *_ in names]
    other = [f"{a},{b},0" for (a, *_), (b, *_) in itertools.pairwise(names)]
    (folder / "pairs_fold1.csv").write_text("\n".join(["a,b,same", *same, *other]) + "\n")
    plain = sample / "checkpoints" / "plain.safetensors"
    torch.save(load_file(plain), folder / "model.pth")
    shutil.copy(plain, folder / "model.safetensors")
    for form in ("model.pth", "model.safetensors"):
        shutil.copy(f"{plain}.card.json", folder / f"{form}.card.json")
    (folder / "yunet.onnx").write_bytes(b"stands for a detector, see `quick`")
    _save(folder)
    return folder


def _save(folder: Path) -> None:
    """A workspace of that gallery and model, and the recipe of a figure of it."""
    from facelens.features import library
    from facelens.session import archive, figure_recipe
    from facelens.session.archive import Archive, Gallery, Model, Place

    seen = library.inspect(folder / "model.safetensors")
    found = Archive(
        galleries=(Gallery(Place(folder / "sample_data")),),
        models=(Model(Place(seen.path), seen.sha256, seen.card),),
        stores={seen.card.name: "made when it is needed"},
        fields={"model_b": seen.card.name},
    )
    archive.write(found, folder / "work.facelens")
    recipe = figure_recipe.Recipe("evaluation", "roc", workspace=found)
    figure_recipe.write(recipe, folder / "figure.png.recipe.json")


@pytest.fixture
def quick(small: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """In that folder; pictures are read in this process, and what a detector would find is what the sample says."""

    def here(call: Callable[..., Any], *given: Any, tick: Any, **named: Any) -> Any:
        return call(*given, tick=tick, **named)

    def align(faces: FaceSet, detector: Path, *, tick: Any, **_: Any) -> tasks.Aligned:
        assert detector.is_file()
        return tasks.Aligned(replace(faces), len(faces), 0, {}, "All faces have their five points.")

    import torch

    monkeypatch.setattr(work, "apart", here)
    monkeypatch.setattr(tasks, "align_gallery", align)
    monkeypatch.chdir(small)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so few faces are no work for several, which would wait for each other
    yield small
    torch.set_num_threads(threads)


def store_of(model: str, made: dict[str, str]) -> str:
    """Vectors of the small gallery by one of the sample checkpoints, made when they are needed first."""
    if model in made:
        return made[model]
    file = f"sample_data/checkpoints/{model}.safetensors"
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["embed", "sample_data", "--model", file]) == 0
    made[model] = said.getvalue().partition("Store: ")[2].splitlines()[0]
    return made[model]


def given(line: Line, made: dict[str, str]) -> list[str]:
    """The words after `python3 run.py --`, with files of this test in place of the user's."""
    words = line.words[2:]
    assert words[0] == "--", line
    stores = iter(STORES.get(line.command, STORES[""]))
    found = []
    for word in words[1:]:
        meant = f"store:{next(stores)}" if word == "STORE" else STANDS_FOR.get(word, word)
        found.append(store_of(meant[6:], made) if meant.startswith("store:") else meant)
    usual = next((SMALLER[name] for name in SMALLER if f"{line.command} ".startswith(f"{name} ")), "")
    return [*found, *shlex.split(usual)]


def outputs(words: list[str]) -> list[Path]:
    """Files and folders that a command is told to write."""
    return [Path(value) for option, value in itertools.pairwise(words) if option in WRITTEN and value[:2] != "--"]


def there(out: Path, since: float) -> bool:
    """Whether it was written; of several figures each has a name of its own that starts so."""
    files = [out] if out.exists() else [*out.parent.glob(f"{out.stem}*{out.suffix}")]
    inside = [file for one in files for file in ([one] if one.is_file() else [*one.rglob("*")])]
    return any(file.is_file() and file.stat().st_size and file.stat().st_mtime >= since for file in inside)


def ran(words: list[str]) -> str:
    """Run a command; returns what is wrong, "" where nothing is."""
    said, complained, before = io.StringIO(), io.StringIO(), time.time() - 2
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
            code = main(words)
    except SystemExit as ended:
        code = int(ended.code or 0)
    if code:
        return f"ends with {code}: {complained.getvalue().strip()[-400:]}"
    if not said.getvalue().strip() and not outputs(words):
        return "says nothing and writes nothing"
    missing = [str(out) for out in outputs(words) if not there(out, before)]
    return f"did not write {', '.join(missing)}" if missing else ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_command_does_what_it_says(quick: Path) -> None:
    """In their order, for some take what others have written."""
    wrong: list[str] = []
    made: dict[str, str] = {}
    for line in RUN:
        begun = time.monotonic()
        try:
            problem = ran(given(line, made))
        except Exception as error:  # all of them are wanted, not the first
            problem = f"raises {type(error).__name__}: {error}"
        if problem:
            wrong.append(f"{line}\n    {problem}")
        print(f"{time.monotonic() - begun:6.1f} s  {line}")
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["doctor", "sample_data", "--no-such-option"], "unrecognized arguments"),
        (["doctor", "nowhere"], "ends with 1"),
        (["pairs", "sample_data", "--out", "p.txt", "--csv", "p.csv"], "ends with 2"),
    ],
)
def test_a_wrong_command_is_found_out(quick: Path, words: list[str], said: str) -> None:
    assert said in ran(words)


def test_a_file_that_was_not_written_is_found_out(quick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["doctor", "sample_data", "--json", "found.json"]
    assert ran(words) == ""
    Path("found.json").unlink()
    monkeypatch.setattr("facelens.commands.doctor.run", lambda _: print("done") or 0)
    assert ran(words) == "did not write found.json"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_code_runs(quick: Path) -> None:
    written = [(start, "\n".join(held)) for start, language, held in blocks() if language == "python"]
    assert written
    for start, code in written:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile("\n" * (start - 1) + code, "README.md", "exec"), {"__name__": "readme"})
        assert said.getvalue().strip(), f"README.md:{start} prints nothing"


# Words


def options_of(parser: Any) -> dict[str, set[str]]:
    """Options of each command, by its name."""
    found = {"": set(parser._option_string_actions)}
    for action in parser._actions:
        for name, below in (action.choices or {}).items() if hasattr(action, "_parser_class") else ():
            found |= {f"{name} {rest}".strip(): said for rest, said in options_of(below).items()}
    return found


OPTIONS = options_of(commands.parser())


def test_options_in_the_text_are_there() -> None:
    """In comments those of their command, elsewhere those of any; `pip` and others have theirs in the text as well."""
    every = set().union(*OPTIONS.values())
    for line in RUN:
        spelled = [word for word in line.words[3:] if re.fullmatch(r"--[a-z][a-z-]*", word)]  # no abbreviations
        for option in (*spelled, *re.findall(r"(?<![\w-])--[a-z][a-z-]*", line.comment)):
            command = "" if line.command == "--help" else line.command
            assert option in OPTIONS[command], f"{line}\n    {command} has no {option}"
    prose = re.sub(r"```.*?```", "", TEXT, flags=re.S)
    for option in re.findall(r"`(--[a-z][a-z-]*)", prose):
        assert option in every, f"{option} is no option of any command"
    for quoted in re.findall(r"`([^`\n]+)`", prose):
        words = quoted.removeprefix("facelens ").split()
        name = next((one for n in (2, 1) if (one := " ".join(words[:n])) in OPTIONS and one), "")
        for option in words if name else ():
            if re.fullmatch(r"--[a-z][a-z-]*", option):
                assert option in OPTIONS[name], f"`{quoted}`: {name} has no {option}"


def test_every_command_is_in_it() -> None:
    names = [module.__name__.rpartition(".")[2] for module in commands.COMMANDS]
    used = {line.command.split()[0] for line in LINES if line.command}
    assert not [name for name in names if name not in used]
    assert not used - {*names, "--help"}


def test_links_lead_somewhere() -> None:
    anchors = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.+)$", TEXT, re.M)}
    links = re.findall(r"\]\(([^)\s]+)\)", TEXT)
    assert links
    for link in links:
        if link.startswith(("http://", "https://")):  # no test opens a connection
            continue
        path, _, anchor = link.partition("#")
        assert not path or (ROOT / path).exists(), f"{link} is not there"
        assert path or anchor in anchors, f"{link} is no heading"


def test_pictures_are_pictures() -> None:
    from PIL import Image

    shown = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", TEXT)
    assert shown
    for words, path in shown:
        assert words, f"{path} needs words for those who do not see it"
        with Image.open(ROOT / path) as picture:
            assert picture.width >= 600 and np.asarray(picture.convert("L")).std() > 5, path
    listed = {Path(path).name for _, path in shown}
    assert listed == {path.name for path in (ROOT / "docs" / "screenshots").iterdir()}, "a picture that nobody sees"


def test_the_working_folder_is_not_the_repository(quick: Path) -> None:
    assert not Path(os.getcwd()).is_relative_to(ROOT)
