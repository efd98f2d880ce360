"""The guards of conftest.py hold."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
@pytest.mark.parametrize("call", ["connect", "connect_ex", "bind"])
def test_network_is_refused_and_remembered(call: str, family: socket.AddressFamily, network_calls: list[str]) -> None:
    with socket.socket(family) as s, pytest.raises(AssertionError, match="no network"):
        getattr(s, call)(("localhost", 9))
    assert network_calls
    network_calls.clear()


def test_names_are_not_looked_up(network_calls: list[str]) -> None:
    with pytest.raises(AssertionError, match="no network"):
        socket.create_connection(("localhost", 9))
    network_calls.clear()


def test_local_pipes_still_work() -> None:
    a, b = socket.socketpair()
    with a, b:
        a.sendall(b"x")
        assert b.recv(1) == b"x"


def test_home_is_a_fresh_folder(facelens_home: Path) -> None:
    assert os.environ["FACELENS_HOME"] == str(facelens_home)
    assert not any(facelens_home.iterdir())


def test_qt_is_offscreen() -> None:
    assert os.environ["QT_QPA_PLATFORM"] == os.environ.get("FACELENS_TEST_PLATFORM", "offscreen")


@pytest.mark.xvfb
def test_a_virtual_display_opens_real_windows(xvfb: str) -> None:
    code = """if True:
        from PySide6.QtGui import QGuiApplication
        application = QGuiApplication([])
        size = application.primaryScreen().size()
        print(application.platformName(), size.width(), size.height())
    """
    env = dict(os.environ, DISPLAY=xvfb, QT_QPA_PLATFORM="xcb")
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["xcb", "1440", "900"], done.stderr
