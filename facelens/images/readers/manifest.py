"""A table that lists pictures: CSV, TSV or Parquet with a column of paths, and whatever else is known about them.

Columns are recognised by their names and by what stands in them. Where that leaves a doubt, `read` raises NeedsChoice
with a Preview (header, 20 rows, what was guessed), and takes the answer as options {"path": column, "identity": column,
"root": folder}.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from facelens.errors import FaceLensError, InputError, NeedsChoice
from facelens.images import decode
from facelens.images.faceset import CAMERA, MEDIA, QUALITY, ROLE, SPLIT, TEMPLATE, Column, FaceSet
from facelens.images.readers import lfw, table
from facelens.images.readers.folders import folder_identities, present
from facelens.images.readers.layout import Glance, Options, Reading, Recognised, is_picture_name, listed_once
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

# By falling certainty; compared without case, spaces, dots, dashes and underscores.
PATH_NAMES = (
    "path", "filepath", "imagepath", "imgpath", "relativepath", "relpath", "file", "filename", "image", "imagefile",
    "imagename", "img", "imgname", "picture", "photo", "name", "id", "imageid", "key",
)  # fmt: skip
IDENTITY_NAMES = (
    "identity", "identityid", "person", "personid", "personname", "subject", "subjectid", "subjectname", "celebrity",
    "celeb", "pid", "label", "class", "classid", "classname", "labels", "target", "name", "id",
)  # fmt: skip
_STRONG = IDENTITY_NAMES[:11]
ROLE_NAMES = {
    SPLIT: ("split", "set", "subset", "partition"),
    TEMPLATE: ("template", "templateid", "tid"),
    MEDIA: ("media", "mediaid", "mid", "sighting", "sightingid"),
    CAMERA: ("camera", "cameraid", "cam", "camid"),
    ROLE: ("role",),
    QUALITY: ("quality", "qualityscore", "unifiedqualityscore"),
}
# Five points in the order of FaceSet.landmarks, each by the names it goes under.
POINTS = (
    ("le", "leye", "lefteye", "eyeleft"),
    ("re", "reye", "righteye", "eyeright"),
    ("nose", "nosetip", "n"),
    ("lm", "lmouth", "leftmouth", "mouthleft", "lmc", "leftmouthcorner"),
    ("rm", "rmouth", "rightmouth", "mouthright", "rmc", "rightmouthcorner"),
)
IN_A_FOLDER = ("manifest", "images", "metadata", "labels", "annotations", "list", "faces", "index")
MOST_COLUMNS = 200
MOST_NAMES = 200_000  # different values of a text column, above which it is no attribute


@dataclass(frozen=True)
class Preview:
    """The start of a manifest and what its columns seem to be (role -> column name)."""

    path: Path
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    guess: Mapping[str, str] = field(default_factory=dict)
    certain: bool = True
    doubt: str = ""


def bare(name: str) -> str:
    """The name of a column as it is compared: without case, spaces, dots, dashes and underscores."""
    return re.sub(r"[\s._\-]+", "", name.lower())


def preview(path: Path) -> Preview:
    """Header, 20 rows and a guess of the columns' meaning."""
    header, rows, shape = table.sample(path)
    return guess(path, header, rows, named=shape is None or shape.header)


def guess(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]], *, named: bool = True) -> Preview:
    """What the columns seem to be; `certain` is False where the user should look."""
    keys = [bare(name) for name in header] if named else [""] * len(header)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(header)
    found: dict[str, str] = {}
    doubts = []

    paths = [i for i, cells in enumerate(columns) if share_of_pictures(cells) >= 0.8]
    by_name = sorted((PATH_NAMES.index(key), i) for i, key in enumerate(keys) if key in PATH_NAMES)
    likely = [i for _, i in by_name if i in paths] or paths
    if likely:
        found["path"] = header[likely[0]]
        if len(paths) > 1 and not (by_name and by_name[0][1] == likely[0] and keys[likely[0]] in PATH_NAMES[:6]):
            doubts.append(tr("more than one column holds picture names"))
    elif by_name and by_name[0][0] < 11:
        found["path"] = header[by_name[0][1]]
        doubts.append(tr("the paths do not end like pictures"))
    else:
        doubts.append(tr("no column holds picture names"))

    taken = {found.get("path")}
    ranked = sorted(
        (IDENTITY_NAMES.index(key), i) for i, key in enumerate(keys) if key in IDENTITY_NAMES and header[i] not in taken
    )
    if ranked:
        place, column = ranked[0]
        cells = columns[column]
        all_differ = len(set(cells)) == len(cells) > 4
        if IDENTITY_NAMES[place] in _STRONG or not all_differ:
            found["identity"] = header[column]
            if IDENTITY_NAMES[place] not in _STRONG and len(ranked) > 1:
                doubts.append(tr("more than one column could be the identity"))
    elif not named and len(header) == 2 and "path" in found:
        found["identity"] = next(name for name in header if name != found["path"])
    if "identity" not in found and "path" in found:
        inside = any("/" in cell or "\\" in cell for cell in columns[list(header).index(found["path"])])
        words = [
            i
            for i, cells in enumerate(columns)
            if header[i] not in taken and not numeric(cells) and keys[i] not in _known()
        ]
        if not inside and words:
            doubts.append(tr("no column is named like an identity"))
    taken.add(found.get("identity"))
    for role, names in ROLE_NAMES.items():
        for i, key in enumerate(keys):
            if key in names and header[i] not in taken:
                found[role] = header[i]
                taken.add(header[i])
                break
    doubt = "; ".join(doubts)
    return Preview(path, tuple(header), tuple(tuple(row) for row in rows), found, not doubts, doubt)


def _known() -> set[str]:
    return {name for names in ROLE_NAMES.values() for name in names}


def share_of_pictures(cells: Sequence[str]) -> float:
    """How many of the cells that hold something end like pictures, 0 to 1."""
    filled = [cell for cell in cells if cell.strip()]
    return sum(is_picture_name(_bytes(cell.strip())) for cell in filled) / len(filled) if filled else 0.0


def numeric(cells: Sequence[str]) -> bool:
    """Whether every cell is a number, or missing."""
    try:
        for cell in cells:
            if cell.strip() not in table.MISSING:
                float(cell)
    except ValueError:
        return False
    return True


def _bytes(cell: str) -> bytes:
    try:
        return os.fsencode(cell)
    except UnicodeEncodeError:
        return cell.encode("utf-8", "replace")


def in_folder(folder: Path) -> Path | None:
    """The manifest of a folder: a table with a usual name, or the only one, whose first pictures are there."""
    try:
        tables = [
            p for p in sorted(folder.iterdir()) if table.is_table_name(p) and p.suffix.lower() not in (".txt", ".lst")
        ]
    except OSError:
        return None
    usual = [p for name in IN_A_FOLDER for p in tables if p.stem.lower() == name]
    for candidate in usual or (tables if len(tables) == 1 else []):
        try:
            if lfw.is_pairs_file(candidate):
                continue
            seen = preview(candidate)
            if seen.certain and seen.rows and _roots(candidate, _sample_paths(seen)):
                return candidate
        except FaceLensError:
            continue
    return None


def recognise(path: Path) -> Recognised | None:
    """A table of pictures, or a folder that has one whose pictures are there."""
    inside = path.is_dir()
    file = in_folder(path) if inside else path if table.is_table_name(path) and path.is_file() else None
    if file is None:
        return None
    try:
        seen = preview(file)
    except InputError:
        return None
    if "path" not in seen.guess:
        return None
    rows, complete = _count(file)
    identity = seen.guess.get("identity")
    note = tr("Read through {name}.", name=escaped(file.name)) if inside else seen.doubt
    people = None
    if identity is not None and os.path.getsize(file) <= 1 << 20 and file.suffix.lower() not in table.PARQUET:
        people = len(table.load(file, table.sniff(file)).labels(seen.header.index(identity)).names)
    return Recognised(
        "manifest", tr("Pictures listed in {name}", name=escaped(file.name)), rows, people, seen.certain, note, complete
    )


def _count(file: Path) -> tuple[int, bool]:
    if file.suffix.lower() in table.PARQUET:
        return int(table._parquet(file).metadata.num_rows), True
    size = os.path.getsize(file)
    with open(file, "rb") as stream:
        start = stream.read(4 << 20)
    lines = start.count(b"\n") + (not start.endswith(b"\n"))
    header = table.sniff(file).header
    if size <= len(start):
        return max(0, lines - header), True
    return int(lines * size / len(start)), False


def _sample_paths(seen: Preview) -> list[bytes]:
    place = seen.header.index(seen.guess["path"])
    return [_bytes(_tidy(row[place])) for row in seen.rows if row[place].strip()]


def _tidy(cell: str) -> str:
    return cell[2:] if cell.startswith("./") else cell


def _roots(file: Path, paths: list[bytes]) -> list[Path]:
    """Folders from which most of `paths` are there, best and nearest first: below the file, else a little above."""
    folder = file.parent
    above = [place for parent in list(folder.resolve().parents)[:2] for place in (parent, *_below(parent, 1))]
    for candidates in ([folder, *_below(folder, 2)], above):
        scored = []
        for order, candidate in enumerate(dict.fromkeys(candidates)):
            hits = sum(any(_is_file(candidate, other) for other in _spellings(path)) for path in paths)
            if hits * 2 >= len(paths) and hits:
                scored.append((-hits, order, candidate))
        if scored:
            return [candidate for _, _, candidate in sorted(scored)]
    return []


def _below(folder: Path, depth: int) -> list[Path]:
    found: list[Path] = []
    level = [folder]
    for _ in range(depth):
        following: list[Path] = []
        for place in level:
            try:
                with os.scandir(place) as entries:
                    for entry in entries:
                        if len(found) + len(following) >= 60:
                            break
                        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                            following.append(place / entry.name)
            except OSError:
                continue
        following.sort()
        found += following
        level = following
    return found


def _is_file(root: Path, path: bytes) -> bool:
    try:
        return os.path.isfile(os.path.join(os.fsencode(root), path))
    except (OSError, ValueError):
        return False


def _spellings(path: bytes) -> list[bytes]:
    """Other ways the same file may be meant: Windows slashes, Latin-1, a guard against formulas before the name."""
    made = [path]
    if path != path.strip():
        made.append(path.strip())
    if b"\\" in path:
        made.append(path.replace(b"\\", b"/"))
    if not path.isascii():
        try:
            path.decode()
        except UnicodeDecodeError:
            made.append(path.decode("latin-1").encode())
    if bare := unguarded(os.fsdecode(path)):
        made.append(_bytes(bare))
    return made


_GUARDED = re.compile("^'+[=+\\-@\t\r]")


def unguarded(cell: str) -> str | None:
    """The text behind a quote that guards it from being a formula, None where there is no such quote."""
    return cell[1:] if _GUARDED.match(cell) else None


def read(path: Path, *, options: Options | None = None, tick: Tick = silent) -> Reading:
    """Open a manifest, or a folder through its manifest; see the module for the options."""
    chosen = dict(options or {})
    inside = path.is_dir()
    file = in_folder(path) if inside else path
    if file is None:
        message = tr("{path} has no manifest whose pictures are there.", path=escaped(str(path)))
        raise InputError(message, hint=tr("Open the manifest itself and say where the pictures are."))
    header, rows, shape = table.sample(file)
    seen = guess(file, header, rows, named=shape is None or shape.header)
    roles = {**seen.guess, **{role: name for role, name in chosen.items() if role not in ("root", "links")}}
    if not seen.certain and "path" not in chosen:
        message = tr("It is not clear how to read {name}: {doubt}.", name=escaped(file.name), doubt=seen.doubt)
        raise NeedsChoice(message, hint=tr("Say which column holds the paths and which the identities."), options=seen)
    roles = {role: name for role, name in roles.items() if name}
    for name in roles.values():
        if name not in header:
            message = tr("{name} has no column {column}.", name=escaped(file.name), column=escaped(str(name)))
            raise InputError(message, hint=tr("Columns: {all}.", all=", ".join(map(escaped, header[:20]))))
    loaded = table.load(file, shape, tick=tick)
    return _assemble(file, path, loaded, roles, root=chosen.get("root"), tick=tick)


def _assemble(
    file: Path, opened: Path, loaded: table.Table, roles: Mapping[str, str], *, root: object, tick: Tick
) -> Reading:
    notes: list[str] = []
    column = {name: i for i, name in enumerate(loaded.header)}
    if roles["path"] not in column:
        raise InputError(tr("Column {name} does not hold text.", name=escaped(roles["path"])))
    ours = (
        "readable" in column and roles["path"] == "path"
    )  # a list written by FaceLens: every guard is known to be one
    cells = [_tidy(cell) for cell in loaded.strings(column[roles["path"]])]
    if ours:
        cells = [unguarded(cell) or cell for cell in cells]
    paths = [_bytes(cell) for cell in cells]
    landmarks, used = _landmarks(loaded, column, notes)
    home, others = _home(file, paths, root, landmarks)
    keep, paths = _kept(home, paths, notes, tick=tick)
    if not len(keep):
        message = tr("None of the {n} pictures that {name} lists is there.", n=len(cells), name=escaped(file.name))
        raise InputError(message, hint=tr("Say in which folder the pictures are."), details=f"{home}")
    home, paths = _relative(home, paths)
    _say_where(file, home, paths, others, notes)
    if opened.is_dir():
        _say_unlisted(file, home, paths, notes)
    if landmarks is not None:
        landmarks = landmarks[keep]
        if not _landmarks_fit(home, paths, landmarks):
            notes.append(tr("The landmarks do not fit these pictures (they belong to another crop) and were left out."))
            landmarks = None

    identities: list[str | None]
    if "identity" in roles and roles["identity"] in column:
        if ours:  # exact, also where a name is no text
            exact = loaded.strings(column[roles["identity"]])
            identities = [unguarded(exact[row]) or exact[row] for row in keep.tolist()]
        else:
            labels = loaded.labels(column[roles["identity"]])
            names: list[str | None] = [*labels.names, None]
            identities = [names[code] for code in labels.codes[keep]]
    else:
        folders = [os.fsdecode(p.rpartition(b"/")[0]) for p in paths]
        made = folder_identities(folders)
        identities = [made[folder] or None for folder in folders]
        if any(identities):
            notes.append(
                tr("{name} has no column of identities; the folders' names are taken.", name=escaped(file.name))
            )
    columns = _columns(loaded, column, roles, keep, {roles["path"], roles.get("identity", ""), *used}, notes)
    if ours:
        columns.pop("readable", None)
    name = (opened if opened.is_dir() else file.parent if file.stem.lower() in IN_A_FOLDER else file).stem
    faces = FaceSet.build(
        name or file.stem, home, paths=paths, identities=identities, columns=columns, landmarks=landmarks
    )
    return Reading(faces, None, tuple(notes))


def _columns(
    loaded: table.Table,
    column: Mapping[str, int],
    roles: Mapping[str, str],
    keep: NDArray[np.int64],
    used: set[str],
    notes: list[str],
) -> dict[str, Column]:
    ours = {name: role for role, name in roles.items() if role in ROLE_NAMES}
    made: dict[str, Column] = {}
    for name, place in column.items():
        if name in used:
            continue
        if len(made) >= MOST_COLUMNS:
            notes.append(tr("Only the first {n} columns were taken.", n=MOST_COLUMNS))
            break
        label = ours.get(name, name)
        if label in ("path", "identity") or label in made:
            label = f"{label} (manifest)"
        numbers = None if ours.get(name) in (SPLIT, ROLE, CAMERA) else loaded.numbers(place)
        if numbers is not None:
            whole = ours.get(name) in (TEMPLATE, MEDIA) and bool(np.all(numbers == np.rint(numbers)))
            made[label] = numbers[keep].astype(np.int64) if whole else numbers[keep]
            continue
        words = loaded.labels(place)
        if not words.names:
            continue
        if len(words.names) > MOST_NAMES:
            notes.append(
                tr("Column {name} has {n} different values and was left out.", name=escaped(name), n=len(words.names))
            )
            continue
        made[label] = words.take(keep)
    return made


def _home(
    file: Path, paths: list[bytes], root: object, landmarks: NDArray[np.float32] | None
) -> tuple[Path, list[Path]]:
    """The folder from which the paths count, and others that would have done."""
    step = max(1, len(paths) // 24)
    rows = list(range(0, len(paths), step))
    some = [paths[row] for row in rows if paths[row]]
    if root:
        given = Path(os.fspath(str(root)))
        return (given if given.is_absolute() else file.parent / given), []
    candidates = _roots(file, some) if some else []
    if not candidates:
        return file.parent, []
    if landmarks is not None:
        # Several folders may hold the same names in other crops; the landmarks tell which one was meant.
        for candidate in candidates:
            there = [row for row in rows if paths[row] and _is_file(candidate, paths[row])]
            if there and _landmarks_fit(candidate, [paths[row] for row in there], landmarks[there]):
                return candidate, [other for other in candidates if other != candidate]
    return candidates[0], candidates[1:]


def _kept(home: Path, paths: list[bytes], notes: list[str], *, tick: Tick) -> tuple[NDArray[np.int64], list[bytes]]:
    """Rows whose picture is there, each picture once, and their paths as the disk spells them."""
    there = present(home, paths, tick=tick)
    fixed = list(paths)
    for row in np.flatnonzero(~there).tolist():
        for other in _spellings(paths[row])[1:]:
            if _is_file(home, other):
                fixed[row], there[row] = other, True
                break
    rows = listed_once(fixed, there, notes)
    repeated = int(there.sum()) - len(rows)
    if repeated:
        one = "{n} row names a picture that was listed before and was left out."
        notes.append(plural(repeated, one, "{n} rows name pictures that were listed before and were left out."))
    return np.array(rows, np.int64), [fixed[row] for row in rows]


def _relative(home: Path, paths: list[bytes]) -> tuple[Path, list[bytes]]:
    """Absolute paths that all lie in one folder become relative to it."""
    if not all(os.path.isabs(path) for path in paths):
        return home, paths
    shared = os.path.commonpath([os.path.dirname(path) for path in paths])
    cut = len(shared.rstrip(b"/\\")) + 1
    return Path(os.fsdecode(shared)), [
        path[cut:].replace(b"\\", b"/") if os.sep == "\\" else path[cut:] for path in paths
    ]


def _say_where(file: Path, home: Path, paths: list[bytes], others: list[Path], notes: list[str]) -> None:
    folder = file.parent.resolve()
    place = home.resolve()
    if place != folder:
        shown = (
            os.path.relpath(place, folder)
            if os.path.splitdrive(place)[0] == os.path.splitdrive(folder)[0]
            else str(place)
        )
        notes.append(tr("The pictures are in {folder}.", folder=escaped(shown)))
    if others:
        names = ", ".join(escaped(other.name) for other in others[:3])
        notes.append(tr("Pictures of the same names are also in {folders}.", folders=names))
    outside = sum(path[:1] == b"/" or (b".." in path and b".." in path.split(b"/")) for path in paths)
    if outside:
        one, many = "{n} path leads out of that folder.", "{n} paths lead out of that folder."
        notes.append(plural(outside, one, many))


def _say_unlisted(file: Path, home: Path, paths: list[bytes], notes: list[str]) -> None:
    # Somebody who opened the folder, not the table, may expect to see everything in it.
    glance = Glance(home)
    left = len(set(glance.pictures()) - set(paths))
    if left:
        one, many = "{n} picture there is not listed in {name}.", "{n} pictures there are not listed in {name}."
        said = plural(left, one.replace("{name}", escaped(file.name)), many.replace("{name}", escaped(file.name)))
        notes.append(said if glance.complete else tr("At least {what}", what=said))


def _landmarks(
    loaded: table.Table, column: Mapping[str, int], notes: list[str]
) -> tuple[NDArray[np.float32] | None, set[str]]:
    """(N, 5, 2) points where the table has them, and the columns they came from."""
    keys: dict[str, str] = {}
    for name in column:
        keys.setdefault(bare(name), name)
    for pattern in _patterns():
        names = [name for point in pattern for name in _both_axes(keys, point)]
        if len(names) < 10:
            continue
        values = [loaded.numbers(column[name]) for name in names]
        if any(value is None for value in values):
            continue
        points = np.stack([value for value in values if value is not None], 1).astype(np.float32).reshape(-1, 5, 2)
        across = points[:, 1, 0] - points[:, 0, 0]
        known = across[np.isfinite(across)]
        if len(known) and np.median(known) < 0:
            points = np.ascontiguousarray(points[:, [1, 0, 2, 4, 3]])
            notes.append(tr("Left and right in the landmarks are the person's own; they were exchanged."))
        return points, set(names)
    return None, set()


def _patterns() -> list[tuple[tuple[str, ...], ...]]:
    words = ("lm", "landmark", "point", "p", "kp", "pt", "")
    numbered = [tuple((f"{word}{i + first}",) for i in range(5)) for first in (0, 1) for word in words]
    return [*numbered, POINTS]


def _both_axes(keys: Mapping[str, str], point: tuple[str, ...]) -> tuple[str, ...]:
    for word in point:
        for x, y in ((f"{word}x", f"{word}y"), (f"x{word}", f"y{word}")):
            if x in keys and y in keys:
                return keys[x], keys[y]
    return ()


def _landmarks_fit(home: Path, paths: list[bytes], landmarks: NDArray[np.float32]) -> bool:
    """Whether the points lie inside the pictures, judged by some of them."""
    inside = total = 0
    for row in range(0, len(paths), max(1, len(paths) // 24)):
        points = landmarks[row][np.isfinite(landmarks[row]).all(1)]
        if not len(points):
            continue
        try:
            head = decode.header(home / os.fsdecode(paths[row]))
        except InputError:
            continue
        # A point may leave the frame a little where a face is cut off; points between 0 and 1 are shares, not pixels.
        slack = 0.25 * np.array([head.width, head.height])
        within = (points > -slack).all(1) & (points < np.array([head.width, head.height]) + slack).all(1)
        inside += int(within.sum()) if np.abs(points).max() > 2 else 0
        total += len(points)
    return total == 0 or inside >= 0.95 * total
