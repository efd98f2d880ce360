"""FaceSet: the frozen table of the faces of a gallery, one row a picture.

Shapes    ids (N,) int64, stable: derived from the path inside the gallery, never from the row
          identity Labels over N rows; columns name -> (N,) numbers (NaN = missing) or Labels
          landmarks (N, 5, 2) float32 in pixels of the upright picture (NaN = missing), order left eye, right eye, nose,
          left and right mouth corner as seen in the picture
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.images.packed import Packed
from facelens.words import escaped, tr

Rows: TypeAlias = NDArray[np.int64]
Ids: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of names: a code a row into `names`, which are sorted and unique; -1 = missing."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    @classmethod
    def of(cls, values: Iterable[str | None]) -> Labels:
        """Encode; None and "" are missing.

        >>> Labels.of(["b", None, "a", "b"]).codes.tolist()
        [1, -1, 0, 1]
        """
        listed = [value or None for value in values]
        names = tuple(sorted({value for value in listed if value is not None}))
        code = {name: i for i, name in enumerate(names)}
        codes = np.fromiter((-1 if v is None else code[v] for v in listed), np.int32, len(listed))
        codes.flags.writeable = False
        return cls(codes, names)

    def __len__(self) -> int:
        return len(self.codes)

    def name(self, row: int) -> str:
        """The name at `row`, "" where it is missing."""
        code = int(self.codes[row])
        return self.names[code] if code >= 0 else ""

    def counts(self) -> NDArray[np.int64]:
        """(C,) rows per name."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.names)).astype(np.int64)

    def take(self, rows: Rows) -> Labels:
        """The column at `rows`; names that no longer occur are dropped."""
        codes = self.codes[rows]
        kept, inverse = np.unique(codes, return_inverse=True)
        shift = int(len(kept) > 0 and kept[0] < 0)
        return Labels((inverse - shift).astype(np.int32), tuple(self.names[code] for code in kept[shift:]))


Column: TypeAlias = NDArray[np.float64] | NDArray[np.float32] | NDArray[np.int64] | Labels

# Columns with a meaning of their own; readers use these names so that later stages find them.
TEMPLATE, MEDIA, CAMERA, SPLIT, ROLE, QUALITY = "template", "media", "camera", "split", "role", "quality"


def face_ids(keys: Iterable[bytes], *, source: str = "") -> Ids:
    """(N,) ids: 63 bits of BLAKE2b over the path inside the gallery, keyed by `source` where galleries are joined."""
    salt = os.fsencode(source)
    raw = b"".join(hashlib.blake2b(key, digest_size=8, key=salt[:64]).digest() for key in keys)
    return (np.frombuffer(raw, "<u8") & np.uint64(0x7FFF_FFFF_FFFF_FFFF)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class FaceSet:
    """The faces of one gallery. Everything is read-only; methods that change return a new FaceSet."""

    name: str
    root: Path
    paths: Packed
    identity: Labels
    columns: Mapping[str, Column] = field(default_factory=dict)
    landmarks: NDArray[np.float32] | None = None
    ids: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    embedded: bool = False  # pictures lie inside one container file (insightface .bin); see decode.read_face

    @classmethod
    def build(
        cls,
        name: str,
        root: Path,
        *,
        paths: Sequence[bytes | str],
        identities: Sequence[str | None],
        columns: Mapping[str, Column] | None = None,
        landmarks: NDArray[np.float32] | None = None,
        source: str = "",
        embedded: bool = False,
    ) -> FaceSet:
        """Make a set from lists; refuses columns of another length and the same path twice."""
        packed = Packed.of(paths)
        ids = face_ids(packed, source=source)
        if len(np.unique(ids)) < len(ids):
            _, first = np.unique(ids, return_index=True)
            twice = int(np.setdiff1d(np.arange(len(ids)), first)[0])
            shown = escaped(os.fsdecode(packed[twice]))
            raise InputError(
                tr("{name} lists the picture {path} twice.", name=name, path=shown),
                hint=tr("Remove one of the two rows."),
            )
        made = cls(name, root, packed, Labels.of(identities), dict(columns or {}), landmarks, ids, embedded)
        for label, column in {"identity": made.identity, **made.columns}.items():
            if len(column) != len(ids):
                raise InputError(
                    tr("Column {label} has {n} values for {total} faces.", label=label, n=len(column), total=len(ids))
                )
        return made

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        for array in (self.ids, self.landmarks, *(c for c in self.columns.values() if isinstance(c, np.ndarray))):
            if array is not None:
                array.flags.writeable = False

    def __reduce__(self) -> tuple[object, ...]:
        # A mapping proxy cannot be pickled; everything else travels as plain buffers.
        fields = (
            self.name,
            self.root,
            self.paths,
            self.identity,
            dict(self.columns),
            self.landmarks,
            self.ids,
            self.embedded,
        )
        return FaceSet, fields

    def __len__(self) -> int:
        return len(self.ids)

    def path(self, row: int) -> Path:
        """The picture's place on disk; exact bytes, also where they are no text."""
        return self.root / os.fsdecode(self.paths[row])

    def file_name(self, row: int) -> str:
        """The last part of the path, fit to be shown."""
        return escaped(os.fsdecode(self.paths[row].rsplit(b"/", 1)[-1]))

    def label(self, row: int) -> str:
        """What to call the face in a caption: its identity, else its file name."""
        name = self.identity.name(row)
        return escaped(name).replace("_", " ") if name else self.file_name(row)

    @cached_property
    def _by_id(self) -> tuple[Ids, Rows]:
        order: Rows = np.argsort(self.ids).astype(np.int64)
        return self.ids[order], order

    def rows_of(self, ids: Ids) -> Rows:
        """Rows of the given ids, in the order given; ids that are not here are dropped."""
        known, order = self._by_id
        if not len(known) or not len(ids):
            return np.zeros(0, np.int64)
        at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        found: Rows = order[at[known[at] == ids]]
        return found

    def row_of(self, face: int | None) -> int | None:
        """The row of one id, or None."""
        if face is None:
            return None
        rows = self.rows_of(np.array([face], np.int64))
        return int(rows[0]) if len(rows) else None

    def take(self, rows: Rows, *, name: str | None = None) -> FaceSet:
        """The faces at `rows`, in that order, with their ids."""
        return replace(
            self,
            name=name or self.name,
            paths=self.paths.take(rows),
            identity=self.identity.take(rows),
            columns={
                key: column.take(rows) if isinstance(column, Labels) else column[rows]
                for key, column in self.columns.items()
            },
            landmarks=None if self.landmarks is None else self.landmarks[rows],
            ids=self.ids[rows],
        )

    def with_columns(self, columns: Mapping[str, Column]) -> FaceSet:
        """The same faces with further columns (a later one replaces an earlier one of the same name)."""
        return replace(self, columns={**self.columns, **columns})

    @cached_property
    def path_order(self) -> NDArray[np.int64]:
        """(N,) place of each row in path order. Readers that walk folders sort, so this is usually the row itself."""
        keys = list(self.paths)
        place = np.empty(len(keys), np.int64)
        place[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
        return place

    @property
    def sortable(self) -> tuple[str, ...]:
        """Names that `order_by` takes."""
        return ("path", "identity", *self.columns)

    def values(self, column: str) -> Column:
        """The column of that name; "identity" and "path" (place in path order) count as columns."""
        if column == "identity":
            return self.identity
        return self.path_order if column == "path" else self.columns[column]

    def order_by(self, column: str, *, descending: bool = False) -> Rows:
        """Rows sorted by a column: ties keep gallery order, missing values come last in both directions.

        A million rows take 10 ms for names and some 50 ms for numbers (`tests/bench`): a plain 64-bit sort of
        (rank, row) beats a stable argsort by far.
        """
        values = self.values(column)
        if isinstance(values, Labels):
            ranks = values.codes.astype(np.int64)
            missing = ranks < 0
            ranks = len(values.names) - 1 - ranks if descending else ranks
        else:
            keys = np.where(np.isnan(values), 0, values) if values.dtype.kind == "f" else values
            missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(0, bool)
            order = np.argsort(-keys if descending else keys)
            ordered = keys[order]
            steps = ordered[1:] != ordered[:-1]
            if steps.all() and not missing.any():
                return order
            ranks = np.zeros(len(keys), np.int64)
            ranks[order[1:]] = np.cumsum(steps)
        if missing.any():
            ranks[missing] = len(self)
        packed = (ranks << 32) | np.arange(len(self), dtype=np.int64)
        packed.sort()
        return packed & 0xFFFF_FFFF

    @cached_property
    def digest(self) -> str:
        """Fingerprint of who is in the set and under which name; equal sets give equal results."""
        state = hashlib.sha256(self.ids.tobytes())
        state.update(self.identity.codes.tobytes())
        state.update("\0".join(self.identity.names).encode("utf-8", "surrogateescape"))
        return state.hexdigest()
