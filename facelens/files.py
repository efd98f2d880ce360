"""Write files that are either whole or not there."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from facelens.errors import DiskFull, InputError
from facelens.words import escaped, tr


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """A binary file that becomes `path` when the block ends well, and leaves what was there untouched when it does not.

    Temporary file in the same folder, fsync of file and folder, rename. A full disk is a `DiskFull`.
    """
    path = Path(path)
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=".facelens-", suffix=".part", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        _give_usual_permissions(temporary)
        os.replace(temporary, path)
        temporary = None
        sync_folder(path.parent)
    except OSError as error:
        shown = escaped(str(path))
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            message = tr("The disk is full; {path} was not written.", path=shown)
            raise DiskFull(message, hint=tr("Free some space and try again."), details=str(error)) from error
        message = tr(
            "{path} could not be written: {reason}.", path=shown, reason=error.strerror or type(error).__name__
        )
        raise InputError(message, hint=tr("Choose another place."), details=str(error)) from error
    finally:
        if temporary is not None:
            try:
                os.unlink(temporary)
            except OSError:
                pass


def _give_usual_permissions(path: str) -> None:
    # mkstemp makes files for the owner alone; an exported file should be as open as any other file of the user.
    if os.name == "posix":
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(path, 0o666 & ~mask)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` outlast a power cut, where the system can promise that."""
    if os.name != "posix":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass  # some network file systems refuse it; the rename itself has happened
    finally:
        os.close(handle)
