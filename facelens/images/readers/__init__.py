"""Galleries in the layouts that people have them in: one file per layout, tried in the order of READERS."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from facelens.errors import InputError
from facelens.images.faceset import FaceSet, Opened
from facelens.images.protocol import Protocol
from facelens.images.readers import bin as bin_file
from facelens.images.readers import folders, ijb, lfw, manifest, market, table
from facelens.images.readers.layout import Options, Reader, Reading, Recognised, is_picture_name
from facelens.images.readers.manifest import Preview, preview
from facelens.progress import Tick, silent
from facelens.words import escaped, tr

__all__ = [
    "READERS",
    "Options",
    "Preview",
    "Reader",
    "Reading",
    "Recognised",
    "pairs_of",
    "preview",
    "read",
    "recognise",
]

PAIRS_FILE = "pairs.txt"


def _recognise_pairs(path: Path) -> Recognised | None:
    if not path.is_file() or not lfw.is_pairs_file(path):
        return None
    below = recognise(path.parent)
    if below is None:
        return Recognised("pairs", tr("List of pairs"), 0, None, False, tr("There are no pictures beside it."))
    return replace(below, kind="pairs", title=tr("Pairs of {name}", name=escaped(path.name)), note="")


def _read_pairs(path: Path, *, options: Options | None = None, tick: Tick = silent) -> Reading:
    """The gallery beside a list of pairs (or in options["root"]), with the pairs as its protocol."""
    chosen = dict(options or {})
    listed = lfw.parse(path)
    root = Path(chosen.pop("root", "") or path.parent)
    root = root if root.is_absolute() else path.parent / root
    reading = _folder(root, options=chosen, tick=tick)
    protocol, notes = lfw.protocol(reading.faces, listed)
    if protocol is None:
        message = tr(
            "None of the pictures of {name} is in {folder}.", name=escaped(path.name), folder=escaped(str(root))
        )
        raise InputError(message, hint=tr("Say in which folder the pictures are."))
    return replace(reading, protocol=protocol, notes=(*reading.notes, *notes))


def pairs_of(path: Path, faces: FaceSet) -> tuple[Protocol, tuple[str, ...]]:
    """The pairs that a file lists (pairs.txt, or a table of two paths and a truth value) as a test of `faces`.

    Paths count from the gallery, from its folder's parent, or from a folder inside, as long as they fit one picture.
    """
    if not path.is_file():
        message = tr("There is nothing at {path}.", path=escaped(str(path)))
        raise InputError(message, hint=tr("Check the name, or that the drive is connected."))
    if path.suffix.lower() == ".bin":
        message = tr("{name} brings its own pictures.", name=escaped(path.name))
        raise InputError(message, hint=tr("Open it as a gallery; its pairs come with it."))
    protocol, notes = lfw.protocol(faces, lfw.parse(path))
    if protocol is None:
        message = tr(
            "None of the pairs of {name} is in {gallery}.", name=escaped(path.name), gallery=escaped(faces.name)
        )
        raise InputError(message, hint=tr("Its paths must be those of pictures inside the gallery."))
    return protocol, notes


READERS = (
    Reader("bin", "Pairs in one .bin file", bin_file.recognise, bin_file.read),
    Reader("ijb", "IJB-B or IJB-C", ijb.recognise, ijb.read),  # before pairs: its lines look like pairs
    Reader("pairs", "List of pairs", _recognise_pairs, _read_pairs),
    Reader("market", "Market-1501 names", market.recognise, market.read),
    Reader("manifest", "Pictures listed in a table", manifest.recognise, manifest.read),
    Reader("folders", "One folder per person", folders.recognise, folders.read),
)
_OF_FOLDERS = tuple(reader for reader in READERS if reader.kind not in ("bin", "pairs"))


def recognise(path: Path) -> Recognised | None:
    """What opening `path` would give, from a bounded look; None where no reader knows it."""
    path = Path(path)
    for reader in READERS:
        found = reader.recognise(path)
        if found is not None:
            if path.is_dir() and (path / PAIRS_FILE).is_file() and reader.kind in ("manifest", "folders"):
                note = tr("With the pairs of {name}.", name=PAIRS_FILE)
                found = replace(found, note=f"{found.note} {note}".strip())
            return found
    return None


def read(path: Path, *, kind: str | None = None, options: Options | None = None, tick: Tick = silent) -> Reading:
    """Open a gallery. `kind` forces a layout; raises InputError, or NeedsChoice where a manifest needs an answer."""
    path = Path(path)
    if not path.exists():
        message = tr("There is nothing at {path}.", path=escaped(str(path)))
        raise InputError(message, hint=tr("Check the name, or that the drive is connected."))
    reading = _read(path, kind=kind, options=options, tick=tick)
    said = {name: str(value) for name, value in (options or {}).items() if value is not None}
    opened = Opened(path.absolute(), kind or "", said, reading.faces.root)
    return replace(reading, faces=replace(reading.faces, opened=opened))


def _read(path: Path, *, kind: str | None, options: Options | None, tick: Tick) -> Reading:
    if kind is not None:
        reader = next((reader for reader in READERS if reader.kind == kind), None)
        if reader is None:
            known = ", ".join(reader.kind for reader in READERS)
            raise InputError(
                tr("There is no layout {kind}.", kind=escaped(kind)), hint=tr("Layouts: {known}.", known=known)
            )
        return _with_pairs_beside(path, reader.read(path, options=options, tick=tick))
    if path.is_dir():
        return _with_pairs_beside(path, _folder(path, options=options, tick=tick))
    for reader in READERS:
        if reader.recognise(path) is not None:
            return reader.read(path, options=options, tick=tick)
    return _refuse(path, options=options, tick=tick)


def _folder(path: Path, *, options: Options | None, tick: Tick) -> Reading:
    for reader in _OF_FOLDERS:
        if reader.recognise(path) is not None:
            return reader.read(path, options=options, tick=tick)
    # The bounded look saw no picture; the whole walk decides, and says what it found instead.
    return folders.read(path, options=options, tick=tick)


def _with_pairs_beside(path: Path, reading: Reading) -> Reading:
    if reading.protocol is not None or not path.is_dir() or not (path / PAIRS_FILE).is_file():
        return reading
    try:
        protocol, notes = lfw.protocol(reading.faces, lfw.parse(path / PAIRS_FILE))
    except InputError as error:
        return replace(reading, notes=(*reading.notes, error.message))
    return replace(reading, protocol=protocol, notes=(*reading.notes, *notes))


def _refuse(path: Path, *, options: Options | None, tick: Tick) -> Reading:
    suffix = path.suffix.lower()
    if suffix == ".bin":
        return bin_file.read(path, options=options, tick=tick)  # says why it is none
    if table.is_table_name(path):
        return manifest.read(path, options=options, tick=tick)
    if is_picture_name(path.name.encode("utf-8", "surrogateescape")):
        message = tr("{name} is a single picture.", name=escaped(path.name))
        raise InputError(message, hint=tr("Open the folder it is in."))
    message = tr("{name} is not a gallery that FaceLens knows.", name=escaped(path.name))
    hint = tr("Open a folder of pictures, a CSV or Parquet manifest, a pairs.txt or a .bin file.")
    raise InputError(message, hint=hint)
