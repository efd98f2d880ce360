"""assets/, sample_data/ and the guide are found in a checkout and in an installed wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from facelens import resources

ROOT = Path(__file__).resolve().parents[1]


def test_a_checkout_uses_its_own_folders() -> None:
    assert resources.assets() == ROOT / "assets"
    assert resources.sample_data() == ROOT / "sample_data"
    assert resources.guide() == ROOT / "facelens" / "docs"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project with the real build settings."""
    for name in ("pyproject.toml", "LICENSE", "README.md", ".gitignore"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "facelens").mkdir()
    for name in ("__init__.py", "resources.py"):
        shutil.copy(ROOT / "facelens" / name, tmp_path / "facelens")
    shutil.copytree(ROOT / "facelens" / "docs", tmp_path / "facelens" / "docs")
    (tmp_path / "assets" / "icons").mkdir(parents=True)
    (tmp_path / "assets" / "icons" / "open.svg").write_text("<svg/>")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_nothing.py").touch()
    return tmp_path


def build(project: Path) -> Path:
    from hatchling.builders.wheel import WheelBuilder

    return Path(next(WheelBuilder(str(project)).build(directory=str(project / "dist"))))


def test_the_wheel_carries_both_folders(project: Path) -> None:
    sample = project / "sample_data" / "0001"
    sample.mkdir(parents=True)
    (sample / "1.jpg").write_bytes(b"jpg")
    installed = project / "installed"
    with zipfile.ZipFile(build(project)) as wheel:
        names = set(wheel.namelist())
        wheel.extractall(installed)
    assert {"facelens/_bundle/assets/icons/open.svg", "facelens/_bundle/sample_data/0001/1.jpg"} <= names
    pages = {f"facelens/docs/{file.name}" for file in (ROOT / "facelens" / "docs").iterdir()}
    assert "facelens/docs/start.md" in pages <= names
    assert not [name for name in names if not name.startswith(("facelens/", "facelens-"))]
    assert any(name.endswith("/entry_points.txt") for name in names)

    code = "from facelens import resources as r; print(r.assets()); print(r.sample_data()); print(r.guide())"
    found = subprocess.run([sys.executable, "-c", code], cwd=installed, capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:3] == [
        str(installed / "facelens" / "_bundle" / "assets"),
        str(installed / "facelens" / "_bundle" / "sample_data"),
        str(installed / "facelens" / "docs"),
    ]


def test_a_wheel_can_be_built_before_the_sample_is_drawn(project: Path) -> None:
    with zipfile.ZipFile(build(project)) as wheel:
        assert "facelens/_bundle/assets/icons/open.svg" in wheel.namelist()
