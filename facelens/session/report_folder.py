"""The folder of a report: whole or not there. It is put together beside its place and moved there at the end."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from facelens.errors import DiskFull, FaceLensError, InputError
from facelens.files import sync_folder
from facelens.session import shelf
from facelens.words import escaped, tr

PAGE, TWIN = "report.html", "report.json"
FORMAT = "facelens report"
PART, OLD = ".facelens-part", ".facelens-old"
# What a report consists of; anything else in its folder is somebody's own.
_OURS = re.compile(r"report\.(html|json)|figures|figures/[^/]+\.svg(\.recipe\.json)?|tables|tables/[^/]+\.tex")


@contextmanager
def whole(out: Path) -> Iterator[Path]:
    """A folder to put a report together in: it becomes `out` when the block ends well, and vanishes when it does not.

    A report that lies there gives way; anything else that does is an InputError, before any work is done.
    """
    out = Path(os.path.realpath(out))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _tidy(out)
        check(out)
        made = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=PART, dir=out.parent))
    except OSError as error:
        raise _refused(out, error) from error
    try:
        mark = made / "lock"
        with open(mark, "wb") as file:
            shelf.hold(file)
            yield made
        try:
            mark.unlink()
            check(out)
            _move(made, out)
        except OSError as error:
            raise _refused(out, error) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def check(out: Path) -> None:
    """Whether a report may be written there: nothing lies there, or another report and nothing else."""
    if not os.path.lexists(out) or (out.is_dir() and not any(out.iterdir())):
        return
    named, hint = escaped(str(out)), tr("Choose another folder.")
    if not out.is_dir() or not _is_report(out):
        raise InputError(tr("{path} is there already and is no report of FaceLens.", path=named), hint=hint)
    for path in out.rglob("*"):
        if not _OURS.fullmatch(path.relative_to(out).as_posix()) or path.is_symlink():
            name = escaped(path.relative_to(out).as_posix())
            words = tr("The report at {path} has a file in it that is not its own: {name}.", path=named, name=name)
            raise InputError(words, hint=tr("Move it elsewhere, or choose another folder."))


def _is_report(folder: Path) -> bool:
    try:
        with open(folder / TWIN, "rb") as file:
            head = file.read(200)
    except OSError:
        return False
    return re.match(rb'\{\s*"format": "%s"' % FORMAT.encode(), head) is not None


def _tidy(out: Path) -> None:
    """Clear away what a report that was killed has left."""
    old = out.with_name(f".{out.name}{OLD}")
    if old.is_dir() and not os.path.lexists(out):
        os.rename(old, out)  # it was to give way to one that did not come
    elif old.is_dir():
        shutil.rmtree(old, ignore_errors=True)
    for left in out.parent.glob(f".{_literal(out.name)}.*{PART}"):
        if not shelf.is_held(left / "lock") or not (left / "lock").exists():
            shutil.rmtree(left, ignore_errors=True)


def _literal(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def _move(made: Path, out: Path) -> None:
    _open_up(made)
    for folder in (made / "figures", made / "tables", made):
        sync_folder(folder)
    old = out.with_name(f".{out.name}{OLD}")
    if os.path.lexists(out):
        os.rename(out, old)
    try:
        os.rename(made, out)
    except OSError:
        if old.exists():
            os.rename(old, out)
        raise
    sync_folder(out.parent)
    shutil.rmtree(old, ignore_errors=True)


def _open_up(folder: Path) -> None:
    # mkdtemp makes folders for the owner alone; a report should be as open as any other folder of the user.
    if os.name == "posix":
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(folder, 0o777 & ~mask)


def _refused(out: Path, error: OSError) -> FaceLensError:
    named = escaped(str(out))
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        message = tr("The disk is full; {path} was not written.", path=named)
        return DiskFull(message, hint=tr("Free some space and try again."), details=str(error))
    reason = error.strerror or type(error).__name__
    message = tr("{path} could not be written: {reason}.", path=named, reason=reason)
    return InputError(message, hint=tr("Choose another place."), details=str(error))
