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
from itertools import pairwise
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

    @property
    def single(self) -> list[str]:
        """The single names, each once."""
        return list(self.names)

    def renamed(self, names: Mapping[str, str]) -> Labels:
        """The column with other names for all its single ones, no two of them alike."""
        return self._recoded([names[name] for name in self.names])

    def _recoded(self, names: Sequence[str]) -> Labels:
        order = sorted(range(len(names)), key=names.__getitem__)
        rank = np.empty(len(names) + 1, np.int32)
        rank[order], rank[-1] = np.arange(len(names)), -1  # what is missing, -1, stays so
        return Labels(rank[self.codes], tuple(names[code] for code in order))

    def take(self, rows: Rows) -> Labels:
        """The column at `rows`; names that no longer occur are dropped."""
        codes = self.codes[rows]
        kept, inverse = np.unique(codes, return_inverse=True)
        shift = int(len(kept) > 0 and kept[0] < 0)
        return Labels((inverse - shift).astype(np.int32), tuple(self.names[code] for code in kept[shift:]))


Column: TypeAlias = NDArray[np.float64] | NDArray[np.float32] | NDArray[np.int64] | Labels

ORDERS = 4  # sorted orders that a FaceSet remembers
FEW = 500  # places of a sorted order that are mended one by one
MANY = 50_000  # ids that are looked up in their order

# Columns with a meaning of their own; readers use these names so that later stages find them.
TEMPLATE, MEDIA, CAMERA, SPLIT, ROLE, QUALITY = "template", "media", "camera", "split", "role", "quality"


def face_ids(keys: Iterable[bytes], *, source: str = "") -> Ids:
    """(N,) ids: 63 bits of BLAKE2b over the path inside the gallery, keyed by `source` where galleries are joined."""
    salt = os.fsencode(source)
    raw = b"".join(hashlib.blake2b(key, digest_size=8, key=salt[:64]).digest() for key in keys)
    return (np.frombuffer(raw, "<u8") & np.uint64(0x7FFF_FFFF_FFFF_FFFF)).astype(np.int64)


def path_order(keys: list[bytes]) -> NDArray[np.int64] | None:
    """(N,) place of each path among all, None where they are sorted already."""
    if all(a <= b for a, b in pairwise(keys)):
        return None
    place = np.empty(len(keys), np.int64)
    place[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return place


@dataclass(frozen=True)
class Opened:
    """How a gallery was opened, to open it so again: absolute path, forced layout ("" = none), options."""

    path: Path
    kind: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    root: Path | None = field(default=None, compare=False)  # of its faces; None where that was not written down


@dataclass(frozen=True, eq=False)
class Behind:
    """What faces in disguise hide (see `disguise`): where their pictures lie, and whether these come out blurred."""

    root: Path
    paths: Packed
    blur: bool = False
    digest: str = ""  # what stands for the digest of the set; "": names are as they are

    def take(self, rows: Rows) -> Behind:
        """The same of some of the faces."""
        return replace(self, paths=self.paths.take(rows))


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
    path_order: NDArray[np.int64] | None = None  # place of each row in path order; None: the rows are in that order
    embedded: bool = False  # pictures lie inside one container file (insightface .bin); see decode.read_face
    opened: Opened | None = None  # None where it was put together of several
    behind: Behind | None = None  # of faces in disguise: names and paths are pseudonyms, or pictures blurred
    given: Labels | None = None  # identities as the gallery has them, where `identity` was changed by hand

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
        ids: Ids | None = None,
    ) -> FaceSet:
        """Make a set from lists; refuses columns of another length and the same path twice.

        `ids` where they are not to be made from the paths; a path may then occur under two of them.
        """
        packed = Packed.of(paths)
        ids = face_ids(packed, source=source) if ids is None else ids
        if len(np.unique(ids)) < len(ids):
            _, first = np.unique(ids, return_index=True)
            twice = int(np.setdiff1d(np.arange(len(ids)), first)[0])
            shown = escaped(os.fsdecode(packed[twice]))
            raise InputError(
                tr("{name} lists the picture {path} twice.", name=name, path=shown),
                hint=tr("Remove one of the two rows."),
            )
        order = path_order(list(packed))
        made = cls(name, root, packed, Labels.of(identities), dict(columns or {}), landmarks, ids, order, embedded)
        for label, column in {"identity": made.identity, **made.columns}.items():
            if len(column) != len(ids):
                raise InputError(
                    tr("Column {label} has {n} values for {total} faces.", label=label, n=len(column), total=len(ids))
                )
        return made

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        for array in (
            self.ids,
            self.landmarks,
            self.path_order,
            *(c for c in self.columns.values() if isinstance(c, np.ndarray)),
        ):
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
            self.path_order,
            self.embedded,
            self.opened,
            self.behind,
            self.given,
        )
        return FaceSet, fields

    def __len__(self) -> int:
        return len(self.ids)

    def path(self, row: int) -> Path:
        """The picture's place on disk; exact bytes, also where they are no text."""
        root, inside = self.stored(row)
        return root / os.fsdecode(inside)

    def stored(self, row: int) -> tuple[Path, bytes]:
        """The folder of the gallery and the picture's path inside, as they are on disk also where that is not told."""
        behind = self.behind or self
        return behind.root, behind.paths[row]

    def uncovered(self) -> FaceSet:
        """The same faces with their pictures as they are on disk; names and columns stay in disguise."""
        if self.behind is None:
            return self
        return replace(self, root=self.behind.root, paths=self.behind.paths, behind=None)

    @property
    def disguised(self) -> bool:
        """Whether names and paths are pseudonyms."""
        return self.behind is not None and bool(self.behind.digest)

    def file_name(self, row: int) -> str:
        """The last part of the path, fit to be shown; of a pseudonym all of it, for its last part is a mere number."""
        path = self.paths[row]
        return escaped(os.fsdecode(path if self.disguised else path.rsplit(b"/", 1)[-1]))

    def said(self, row: int, text: str) -> str:
        """A sentence about a face as it may be told: the name of its file is the one it goes by here."""
        if not self.disguised:
            return text
        path = escaped(os.fsdecode(self.stored(row)[1]))
        for real in (path, path.rpartition("/")[2]):
            text = text.replace(real, self.file_name(row))
        return text

    def label(self, row: int) -> str:
        """What to call the face in a caption: its identity, else its file name."""
        name = self.identity.name(row)
        return escaped(name).replace("_", " ") if name else self.file_name(row)

    @cached_property
    def told_ids(self) -> Ids:
        """(N,) the ids that may be written to files: an id follows from the path, so those of disguised faces may not.

        What is written instead is what the faces have when they are read again under their pseudonyms.
        """
        return face_ids(self.paths) if self.disguised else self.ids

    def listed(self, rows: Rows) -> Rows:
        """Rows in an order that may be told: as given, but by pseudonym where that is all that may be known."""
        if not self.disguised:
            return rows
        return rows[sorted(range(len(rows)), key=list(self.paths.take(rows)).__getitem__)]

    @cached_property
    def _by_id(self) -> tuple[Ids, Rows]:
        order: Rows = np.argsort(self.ids).astype(np.int64)
        return self.ids[order], order

    def rows_of(self, ids: Ids) -> Rows:
        """Rows of the given ids, in the order given; ids that are not here are dropped."""
        if not len(self.ids) or not len(ids):
            return np.zeros(0, np.int64)  # before the index is made: a gallery that opens has nothing selected
        if len(ids) == len(self.ids) and np.array_equal(ids, self.ids):
            return np.arange(len(ids))
        known, order = self._by_id
        if len(ids) < MANY:
            at = np.searchsorted(known, ids)
        else:  # one after the other they are near each other in memory, which is several times faster
            one_by_one = np.argsort(ids)
            at = np.empty(len(ids), np.int64)
            at[one_by_one] = np.searchsorted(known, ids[one_by_one])
        at = np.minimum(at, len(known) - 1)
        found: Rows = order[at[known[at] == ids]]
        return found

    def row_of(self, face: int | None) -> int | None:
        """The row of one id, or None."""
        if face is None:
            return None
        known, order = self._by_id
        at = int(np.searchsorted(known, face))
        return int(order[at]) if at < len(known) and known[at] == face else None

    def take(self, rows: Rows, *, name: str | None = None) -> FaceSet:
        """The faces at `rows`, in that order, with their ids."""
        return replace(
            self,
            name=name or self.name,
            paths=self.paths.take(rows),
            identity=self.identity.take(rows),
            given=None if self.given is None else self.given.take(rows),
            columns={
                key: column.take(rows) if isinstance(column, Labels) else column[rows]
                for key, column in self.columns.items()
            },
            landmarks=None if self.landmarks is None else self.landmarks[rows],
            ids=self.ids[rows],
            path_order=rows if self.path_order is None else self.path_order[rows],
            behind=None if self.behind is None else self.behind.take(rows),
        )

    def with_columns(self, columns: Mapping[str, Column]) -> FaceSet:
        """The same faces with further columns (a later one replaces an earlier one of the same name)."""
        wider = replace(self, columns={**self.columns, **columns})
        for derived in ("_by_id", "digest", "pictures"):  # the faces are the same, so is what follows from them
            if derived in self.__dict__:
                wider.__dict__[derived] = self.__dict__[derived]
        return wider

    @property
    def original(self) -> Labels:
        """Identities as the gallery has them, whatever was changed by hand."""
        return self.identity if self.given is None else self.given

    def named(self, identity: Labels) -> FaceSet:
        """The same faces under other identities; what the gallery says of them stays known as `original`."""
        given = self.original
        other = replace(self, identity=identity, given=None if identity is given else given)
        for derived in ("_by_id", "contents", "pictures"):
            if derived in self.__dict__:
                other.__dict__[derived] = self.__dict__[derived]
        if "_orders" in self.__dict__:
            other.__dict__["_orders"] = {key: rows for key, rows in self._orders.items() if key[0] != "identity"}
        return other

    @property
    def sortable(self) -> tuple[str, ...]:
        """Names that `order_by` takes."""
        return ("path", "identity", *self.columns)

    def values(self, column: str) -> Column:
        """The column of that name; "identity" and "path" (place in path order) count as columns."""
        if column == "identity":
            return self.identity
        if column == "path":
            return np.arange(len(self)) if self.path_order is None else self.path_order
        return self.columns[column]

    def order_by(self, column: str, *, descending: bool = False) -> Rows:
        """Rows sorted by a column: ties keep gallery order, missing values come last in both directions."""
        kept = self._orders.get((column, descending))
        if kept is None:
            while len(self._orders) >= ORDERS:
                del self._orders[next(iter(self._orders))]
            kept = self._orders[column, descending] = self._sorted(column, descending=descending)
            kept.flags.writeable = False
        return kept

    @cached_property
    def _orders(self) -> dict[tuple[str, bool], Rows]:
        return {}  # the last few, so that a filter or an exclusion does not sort again

    def _sorted(self, column: str, *, descending: bool) -> Rows:
        values = self.values(column)
        if isinstance(values, Labels):
            ranks = values.codes.astype(np.int64)
            missing = ranks < 0
            ranks = len(values.names) - 1 - ranks if descending else ranks
            ranks[missing] = len(values.names)
            return _rows_by(ranks.view(np.uint64), bits=len(values.names).bit_length())
        return order_numbers(values, descending=descending)

    @cached_property
    def contents(self) -> Mapping[str, int]:
        """A number for what stands in each column: equal ones are equal, in another process too."""
        return {name: content(one) for name, one in self.columns.items()}

    @cached_property
    def digest(self) -> str:
        """Fingerprint of who is in the set and under which name; equal sets give equal results."""
        if self.behind is not None and self.behind.digest:
            return self.behind.digest
        state = hashlib.sha256(self.ids.tobytes())
        state.update(self.identity.codes.tobytes())
        state.update("\0".join(self.identity.names).encode("utf-8", "surrogateescape"))
        return state.hexdigest()

    @cached_property
    def pictures(self) -> tuple[Path, str]:
        """What is equal for the same pictures of the same place, whatever they are called."""
        return self.root, hashlib.sha256(self.ids.tobytes()).hexdigest()


def content(column: Column) -> int:
    """A number for what stands in a column."""
    values = column.codes if isinstance(column, Labels) else column
    digest = hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=8).digest()
    return int.from_bytes(digest, "little")


# Sorting. A plain sort of 64-bit numbers is far faster than a stable argsort: value and row go into one number.


def _rows_by(keys: NDArray[np.unsignedinteger], *, bits: int) -> Rows:
    """Rows sorted by `keys`, which use the lowest `bits` bits; ties keep their order."""
    room = 64 - bits
    packed = keys.astype(np.uint64)  # in place from here on: at this size, fresh memory costs more than arithmetic
    packed <<= np.uint64(room)
    packed |= np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    packed &= np.uint64((1 << room) - 1)
    return packed.view(np.int64)


def order_numbers(values: NDArray[np.float64] | NDArray[np.float32] | NDArray[np.int64], *, descending: bool) -> Rows:
    """Rows sorted by numbers: ties keep their order, NaN comes last in both directions."""
    keys = _sortable(values)
    if descending:
        keys = ~keys
    if values.dtype.kind == "f" and (missing := np.isnan(values)).any():
        keys[missing] = np.iinfo(keys.dtype).max  # no number has this key, not even an infinity
    if keys.dtype == np.uint32:
        return _rows_by(keys, bits=32)
    bits = 64 - max(len(keys), 2).bit_length()  # what the rows leave for the keys
    if values.dtype.kind != "f" and len(keys):
        keys -= keys.min()
        if int(keys.max()).bit_length() <= bits:
            return _rows_by(keys, bits=bits)
    cut = np.uint64(64 - bits)
    order = _rows_by(keys >> cut, bits=bits)
    ordered = keys[order]
    wrong = np.flatnonzero(ordered[1:] < ordered[:-1])  # where the bits that were cut off make a difference
    if len(wrong) > FEW:
        return _exact_order(keys)
    end = 0
    for at in wrong.tolist():
        if at < end:
            continue
        start, end, key = at, at + 1, ordered[at] >> cut
        while start > 0 and ordered[start - 1] >> cut == key:
            start -= 1
        while end < len(ordered) and ordered[end] >> cut == key:
            end += 1
        rows = order[start:end]
        order[start:end] = rows[np.lexsort((rows, keys[rows]))]
    return order


def _exact_order(keys: NDArray[np.uint64]) -> Rows:
    order = np.argsort(keys).astype(np.int64)
    ordered = keys[order]
    steps = ordered[1:] != ordered[:-1]
    if steps.all():
        return order
    ranks = np.append(0, np.cumsum(steps))  # an argsort mixes up equal keys; sorting by (rank, row) puts them right
    packed: Rows = (ranks << 32) | order
    packed.sort()
    return packed & 0xFFFF_FFFF


def _sortable(numbers: NDArray[np.float64] | NDArray[np.float32] | NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
    """Unsigned integers in the order of the numbers: the sign bit is turned, of negative floats all others as well."""
    small = numbers.dtype == np.float32
    whole: type[np.signedinteger] = np.int32 if small else np.int64
    if numbers.dtype.kind == "f":
        signed = (numbers + numbers.dtype.type(0)).view(whole)  # -0.0 and 0.0 are the same
        turned = (signed >> whole(31 if small else 63)) | np.iinfo(whole).min
    else:
        signed, turned = numbers.astype(np.int64), np.int64(np.iinfo(np.int64).min)
    keys: NDArray[np.unsignedinteger] = (signed ^ turned).view(np.uint32 if small else np.uint64)
    return keys
