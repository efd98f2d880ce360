"""A decoder that really kills whoever calls it; it gets into child processes as their sitecustomize."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

KILLER = """
import importlib.abc, importlib.util, os, signal, sys, time

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "facelens.images.decode":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        plain = spec.loader.exec_module

        def exec_module(module):
            plain(module)
            inner = module.load

            def load(path, **how):
                data = inner(path, **how)
                end = data[-8:]
                if end == b"KILL-IT!":
                    os.kill(os.getpid(), signal.SIGKILL)
                    time.sleep(10)  # it comes when it comes
                if end == b"SEGV-IT!":
                    signal.raise_signal(signal.SIGSEGV)
                if end == b"EXIT-IT!":
                    os._exit(3)
                if end == b"HANG-IT!":
                    time.sleep(600)
                return data

            module.load = load

        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Finder())
"""


def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes started from here on have that decoder, and a home of their own."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(KILLER)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'site'}{os.pathsep}{ROOT}")
    monkeypatch.setenv("FACELENS_HOME", str(tmp_path / "home"))


def poison(path: Path, how: str) -> None:
    """Let a picture kill (KILL, SEGV), end (EXIT) or hold up (HANG) whoever reads it."""
    with path.open("ab") as file:
        file.write(f"{how}-IT!".encode())
