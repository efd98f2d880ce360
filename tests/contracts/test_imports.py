"""The house keeps its order: who may import whom, and what is never imported before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Each may import itself, those before it, and the modules that stand beside the packages.
STAGES = ("images", "features", "analyses", "figures", "session", "views")
BESIDE = {"errors", "progress", "words", "files", "resources", "limits", "compiling", "__version__"}

QT = {"PySide6", "shiboken6", "pyqtgraph"}
# Slow to import: only inside functions, but for their homes.
HEAVY: dict[str, tuple[str, ...]] = {
    "torch": (
        "features/models/",
        "features/losses/",
        "features/train.py",
        "features/kinds.py",
        "features/learned.py",
        "features/ranks.py",
        "features/state.py",
        "features/material.py",
        "features/extract.py",
        "features/encoder.py",
    ),
    "numba": ("images/warping.py",),  # all else through facelens/compiling.py
    **dict.fromkeys(
        ("matplotlib", "umap", "sklearn", "scipy", "pyarrow", "onnxruntime", "ot", "openTSNE", "faiss"), ()
    ),
}

# Objects that Qt deletes without PySide hearing of it in time; views/lines.py and views/tables.py do without.
ITEMS = {f"Q{kind}Widget{item}" for kind in ("List", "Table", "Tree") for item in ("", "Item")}
ITEMS |= {"QStandardItem", "QStandardItemModel"}


def imports(tree: ast.Module, package: str) -> Iterator[tuple[str, int, bool]]:
    """(dotted name, line, whether it happens when the module is imported) of every import in a file."""

    def walk(node: ast.AST, at_once: bool) -> Iterator[tuple[str, int, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield alias.name, child.lineno, at_once
            elif isinstance(child, ast.ImportFrom):
                parts = package.split(".")[: len(package.split(".")) - child.level + 1] if child.level else []
                base = ".".join([*parts, child.module] if child.module else parts)
                for alias in child.names:
                    yield f"{base}.{alias.name}", child.lineno, at_once
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                yield from walk(child, False)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                for part in child.body:
                    yield from walk(ast.Module([part], []), False)
                for part in child.orelse:
                    yield from walk(ast.Module([part], []), at_once)
            else:
                yield from walk(child, at_once)

    yield from walk(tree, True)


def violations(package: Path) -> list[str]:
    """What the files under `package` import and should not."""
    found = []
    for file in sorted(package.rglob("*.py")):
        place = file.relative_to(package).as_posix()
        stage = place.split("/")[0] if "/" in place else ""
        dotted = ".".join(("facelens", *file.relative_to(package).parent.parts))
        for name, line, at_once in imports(ast.parse(file.read_text("utf-8")), dotted):
            top, _, rest = name.partition(".")
            where = f"{place}:{line}"
            if top == "facelens":
                other = rest.split(".")[0]
                if other in STAGES and not _may(place, stage, other, at_once):
                    found.append(f"{where}: {stage or place} imports {other}")
                elif other == "commands" and stage != "commands" and place != "__main__.py":
                    found.append(f"{where}: {stage or place} imports commands")
                elif other not in STAGES and other not in BESIDE and other != "commands":
                    found.append(f"{where}: imports {name}")
            if top in QT and stage != "views":
                found.append(f"{where}: {top} outside views")
            if top in QT and name.rpartition(".")[2] in ITEMS:
                found.append(f"{where}: {name.rpartition('.')[2]} is a list of items")
            if at_once and top in HEAVY and not place.startswith(HEAVY[top] or ("nowhere",)):
                found.append(f"{where}: {top} at module level")
    return found


def _may(place: str, stage: str, other: str, at_once: bool) -> bool:
    if stage in STAGES:
        return STAGES.index(other) <= STAGES.index(stage)
    return (stage == "commands" or place == "__main__.py") and not at_once  # the command line takes what it needs


def test_the_house_keeps_its_order() -> None:
    assert violations(ROOT / "facelens") == []


@pytest.mark.parametrize(
    ("place", "source", "complaint"),
    [
        ("images/a.py", "from facelens.session import store", "images imports session"),
        ("images/a.py", "def f():\n    import facelens.views.app", "images imports views"),
        ("features/a.py", "from facelens import analyses", "features imports analyses"),
        ("analyses/a.py", "from ..figures import style", "analyses imports figures"),
        ("session/a.py", "from facelens.views.app import run", "session imports views"),
        ("errors.py", "from facelens.images import faceset", "errors.py imports images"),
        ("__main__.py", "from facelens.views import app", "__main__.py imports views"),
        ("commands/a.py", "from facelens.session import store", "commands imports session"),
        ("session/a.py", "def f():\n    from facelens.commands import doctor", "session imports commands"),
        ("session/a.py", "import facelens.utils", "imports facelens.utils"),
        ("session/a.py", "def f():\n    from PySide6.QtCore import QObject", "PySide6 outside views"),
        ("figures/a.py", "import pyqtgraph as pg", "pyqtgraph outside views"),
        ("views/a.py", "from PySide6.QtWidgets import QListWidget", "QListWidget is a list of items"),
        ("views/a.py", "from PySide6.QtGui import QStandardItemModel", "QStandardItemModel is a list of items"),
        ("session/a.py", "import torch", "torch at module level"),
        ("views/a.py", "try:\n    import torch.nn as nn\nexcept ImportError:\n    pass", "torch at module level"),
        ("features/store.py", "from torch import nn", "torch at module level"),
        ("analyses/a.py", "class A:\n    from sklearn import cluster", "sklearn at module level"),
        ("figures/style.py", "import matplotlib.pyplot", "matplotlib at module level"),
        ("images/decode.py", "import numba", "numba at module level"),
        ("images/readers/table.py", "from pyarrow import csv", "pyarrow at module level"),
    ],
)
def test_planted_violations_are_caught(tmp_path: Path, place: str, source: str, complaint: str) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source)
    (found,) = violations(tmp_path)
    assert complaint in found


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("views/a.py", "from PySide6.QtCore import QObject\nfrom facelens.session.jobs import Job"),
        ("views/a.py", "from facelens import words\nfrom facelens.errors import InputError"),
        ("figures/a.py", "def f():\n    import matplotlib"),
        ("features/models/a.py", "import torch"),
        ("images/warping.py", "import numba"),
        ("session/a.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch"),
        ("__main__.py", "from facelens.commands import parser\ndef f():\n    from facelens.views import app"),
        ("commands/a.py", "from facelens.commands import work\ndef f():\n    from facelens.views import app"),
        ("images/readers/a.py", "from . import table\nfrom ..faceset import FaceSet"),
    ],
)
def test_what_is_allowed(tmp_path: Path, place: str, source: str) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source)
    assert violations(tmp_path) == []


def fresh(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=100)


def modules(*, but: tuple[str, ...] = ()) -> list[str]:
    files = sorted((ROOT / "facelens").rglob("*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in files]
    return [name for name in names if not name.startswith(tuple(f"facelens.{part}" for part in but) or ("-",))]


def test_everything_but_views_works_without_qt_and_umap() -> None:
    """In a fresh interpreter in which those three cannot be imported."""
    names = modules(but=("views",))
    assert "facelens.session.jobs" in names and "facelens.views.app" not in names and len(names) > 20
    script = f"""
import importlib, sys
for name in ("PySide6", "shiboken6", "pyqtgraph", "umap"):
    sys.modules[name] = None
for name in {names!r}:
    importlib.import_module(name)
"""
    ended = fresh(script)
    assert ended.returncode == 0, ended.stderr
    broken = fresh("import sys; sys.modules['PySide6'] = None; import facelens.views.app")
    assert broken.returncode != 0 and "PySide6" in broken.stderr, "hiding works"


@pytest.mark.parametrize(
    "names",
    [
        ["facelens"],
        ["facelens.session.jobs"],
        modules(
            but=(
                "views",
                "images.synthetic",
                "features.models",
                "features.losses",
                "features.train",
                "features.kinds",
                "features.learned",
                "features.ranks",
                "features.state",
                "features.material",
                "features.extract",
                "features.encoder",
                "images.warping",
                "analyses.kernels",
            )
        ),
        ["facelens.views.app", "facelens.views.tour"],
    ],
    ids=["facelens", "jobs", "all but views", "window"],
)
def test_nothing_slow_is_loaded_before_it_is_needed(names: list[str]) -> None:
    slow = {"torch", "numba", "matplotlib", "pyarrow", "umap", "sklearn", "scipy", "onnxruntime"}
    script = f"""
import importlib, sys
for name in {names!r}:
    importlib.import_module(name)
print(*sorted({slow!r} & set(sys.modules)))
"""
    ended = fresh(script)
    assert (ended.returncode, ended.stdout.strip()) == (0, ""), ended.stderr


def test_the_first_paint_waits_for_no_page_but_the_first(facelens_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts, and what they are drawn from, are loaded when their page is shown."""
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    script = """
import sys
from facelens.views import app
from facelens.views.main_window import MainWindow

def show(self, real=MainWindow.show):
    self.after_paint(lambda: (print(*sys.modules), self.close()))
    real(self)

MainWindow.show = show
sys.exit(app.run())
"""
    ended = fresh(script)
    assert ended.returncode == 0, ended.stderr
    loaded = set(ended.stdout.split())
    assert "facelens.views.panels.gallery" in loaded
    late = {"pyqtgraph", "facelens.analyses.evaluation", "facelens.analyses.similarity", "facelens.features.recipe"}
    pages = {name for name in loaded if name.startswith("facelens.views.panels.")}
    assert not loaded & late and pages == {"facelens.views.panels.gallery"}
