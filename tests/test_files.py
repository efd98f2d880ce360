from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from facelens.errors import DiskFull, InputError
from facelens.files import atomic_write


def test_a_file_appears_whole(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "a") as stream:
        stream.write(b"new")
        assert not (tmp_path / "a").exists()
    assert (tmp_path / "a").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]
    if os.name == "posix":
        (tmp_path / "plain").touch()
        assert (tmp_path / "a").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def fail() -> None:
        with atomic_write(tmp_path / "a") as stream:
            stream.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert (tmp_path / "a").read_bytes() == b"old" and os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize(("code", "error"), [(errno.ENOSPC, DiskFull), (errno.EIO, InputError)])
def test_a_full_or_broken_disk_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int, error: type[Exception]
) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(error), atomic_write(tmp_path / "a") as stream:
        stream.write(b"new")
    assert (tmp_path / "a").read_bytes() == b"old" and os.listdir(tmp_path) == ["a"]


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="could not be written"), atomic_write(tmp_path / "none" / "a"):
        pass
