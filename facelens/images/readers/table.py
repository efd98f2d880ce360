"""Tables of text: CSV, TSV and Parquet, small ones by the standard library and large ones by pyarrow, with bounds.

Cells are str; bytes that are not UTF-8 come as surrogates (as in file names), so that a path keeps its exact bytes.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.images.faceset import Labels
from facelens.progress import Tick, silent
from facelens.words import escaped, tr

LINE = 1 << 20  # longest line, in characters
FIELD = 1 << 17  # longest cell
COLUMNS = 4096
ROWS = 50_000_000
SMALL = 4 << 20  # bytes up to which the standard library reads: importing pyarrow takes longer than that
SAMPLE = 20
PARQUET = (".parquet", ".pq")
SUFFIXES = (".csv", ".tsv", ".txt", ".lst", *PARQUET)
MISSING = ("", "nan", "NaN", "NAN", "NA", "N/A", "n/a", "null", "NULL", "None")
DELIMITERS = (",", ";", "\t", "|", " ")


@dataclass(frozen=True)
class Shape:
    """How a text table is written."""

    delimiter: str
    encoding: str
    errors: str
    header: bool


class Table(Protocol):
    """Columns of one length."""

    header: list[str]

    def __len__(self) -> int: ...

    def strings(self, column: int) -> list[str]:
        """The cells as text, "" = missing."""

    def numbers(self, column: int) -> NDArray[np.float64] | None:
        """The cells as numbers (NaN = missing), None where one is no number or nothing is there."""

    def labels(self, column: int) -> Labels:
        """The cells as names."""


def _text(value: str) -> str:
    """A cell to show: bytes that are no UTF-8 are read as Latin-1, the usual other encoding."""
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogateescape").decode("latin-1")
    return value


@dataclass
class Rows:
    """A table held as columns of Python strings."""

    header: list[str]
    columns: list[list[str]]

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def strings(self, column: int) -> list[str]:
        """See Table."""
        return self.columns[column]

    def numbers(self, column: int) -> NDArray[np.float64] | None:
        """See Table."""
        try:
            values = np.array([np.nan if cell.strip() in MISSING else float(cell) for cell in self.columns[column]])
        except ValueError:
            return None
        return values if np.isfinite(values).any() else None

    def labels(self, column: int) -> Labels:
        """See Table."""
        return Labels.of(_text(cell) for cell in self.columns[column])


@dataclass
class Arrow:
    """A table held by pyarrow; columns of text are bytes there, so that nothing is decoded before it must."""

    header: list[str]
    table: Any

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def _plain(self, column: int) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        values = self.table.column(column)
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            return values.cast(pa.large_binary())
        if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
            return values.cast(pa.large_binary())
        if pa.types.is_boolean(values.type):
            values = pc.cast(values, pa.int8())
        return values

    def strings(self, column: int) -> list[str]:
        """See Table."""
        try:
            return ["" if value is None else _cell(value) for value in self._plain(column).to_pylist()]
        except (ValueError, OverflowError) as error:  # dates beyond the calendar, text that is none
            raise self._bad(column, error) from error

    def _bad(self, column: int, error: Exception) -> InputError:
        message = tr("Column {name} could not be read.", name=escaped(self.header[column]))
        return InputError(message, hint=tr("Save it again as text or numbers."), details=str(error))

    def numbers(self, column: int) -> NDArray[np.float64] | None:
        """See Table."""
        import pyarrow as pa
        import pyarrow.compute as pc

        values = self._plain(column)
        try:
            if pa.types.is_large_binary(values.type):
                text = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
                text = pc.if_else(pc.is_in(text, value_set=pa.array(MISSING, pa.large_string())), None, text)
                values = text.cast(pa.float64())
            elif (
                pa.types.is_integer(values.type)
                or pa.types.is_floating(values.type)
                or pa.types.is_decimal(values.type)
            ):
                values = values.cast(pa.float64())
            else:
                return None
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        made = np.array(values.to_numpy(), np.float64)
        return made if np.isfinite(made).any() else None

    def labels(self, column: int) -> Labels:
        """See Table."""
        try:
            coded = self._plain(column).combine_chunks().dictionary_encode()
            names = [_text("" if name is None else _cell(name)) for name in coded.dictionary.to_pylist()]
        except (ValueError, OverflowError) as error:
            raise self._bad(column, error) from error
        ordered = Labels.of(names)
        lookup = np.append(ordered.codes, np.int32(-1))
        codes = coded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
        return Labels(lookup[codes], ordered.names)


def _cell(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def is_table_name(path: Path) -> bool:
    """Whether the name ends like a table's."""
    return path.suffix.lower() in SUFFIXES


def sample(path: Path) -> tuple[list[str], list[list[str]], Shape | None]:
    """Header, up to 20 rows, and how a text table is written (None for Parquet). Reads only the start of the file."""
    if path.suffix.lower() in PARQUET:
        return _parquet_sample(path)
    shape = sniff(path)
    rows = []
    for row in _records(path, shape, lines=4 * SAMPLE):
        rows.append(row)
        if len(rows) > SAMPLE:
            break
    header, rows = _split_header(rows, shape)
    return header, [_fit(row, len(header)) for row in rows[:SAMPLE]], shape


def load(path: Path, shape: Shape | None, *, tick: Tick = silent) -> Table:
    """The whole table."""
    tick(0, 0, tr("Reading {name}", name=escaped(path.name)))
    if shape is None:
        return _load_parquet(path)
    if os.path.getsize(path) > SMALL and shape.encoding == "utf-8-sig" and shape.delimiter != " ":
        return _load_arrow(path, shape)
    rows = []
    for count, row in enumerate(_records(path, shape)):
        if count % 10_000 == 0:
            tick(count, 0, tr("Reading {name}", name=escaped(path.name)))
        rows.append(row)
    header, rows = _split_header(rows, shape)
    fitted = [_fit(row, len(header)) for row in rows]
    return Rows(header, [list(column) for column in zip(*fitted, strict=True)] if fitted else [[] for _ in header])


def sniff(path: Path) -> Shape:
    """Encoding, delimiter and whether the first row is a header, from the first 64 kB."""
    try:
        with open(path, "rb") as stream:
            start = stream.read(1 << 16)
    except OSError as error:
        raise unreadable(path, error) from error
    if not start.strip():
        raise InputError(tr("{name} is empty.", name=escaped(path.name)), hint=tr("Choose another file."))
    encoding, errors = "utf-8-sig", "surrogateescape"
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding, errors = "utf-16", "replace"
    elif b"\0" in start:
        message = tr("{name} is not a text table.", name=escaped(path.name))
        raise InputError(message, hint=tr("Choose a CSV, TSV or Parquet file."))
    text = start.decode(encoding, errors)
    lines = text.splitlines(keepends=True)
    if len(start) == 1 << 16 and len(lines) > 1:
        lines.pop()
    best, score = ",", (-1, -1)
    for delimiter in DELIMITERS:
        try:
            rows = [row for row in csv.reader(lines[: SAMPLE + 1], delimiter=delimiter) if row]
        except csv.Error:
            continue
        width = len(rows[0]) if rows else 1
        named = len(_named(rows[0])) if rows else 1
        even = sum(len(row) in (width, named) for row in rows)
        if width > 1 and (even, -DELIMITERS.index(delimiter)) > score and even > 0.8 * len(rows):
            best, score = delimiter, (even, -DELIMITERS.index(delimiter))
    try:
        first = next((row for row in csv.reader(lines, delimiter=best) if row), [])
    except csv.Error as error:
        raise _bad(path, error) from error
    from facelens.images.readers.layout import is_picture_name

    header = not any(is_picture_name(os.fsencode(_encodable(cell.strip()))) for cell in first)
    return Shape(best, encoding, errors, header)


def _encodable(cell: str) -> str:
    return cell.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def unreadable(path: Path, error: OSError) -> InputError:
    """The error for a file that the disk or its permissions do not give."""
    if isinstance(error, FileNotFoundError):
        return InputError(tr("There is no file {path}.", path=escaped(str(path))), hint=tr("Choose another file."))
    message = tr("{name} could not be read.", name=escaped(path.name))
    return InputError(message, hint=tr("Check its permissions, or choose another file."), details=str(error))


def _bad(path: Path, error: Exception) -> InputError:
    message = tr("{name} is not a table that can be read.", name=escaped(path.name))
    return InputError(
        message, hint=tr("Save it again as CSV, UTF-8, with commas."), details=f"{type(error).__name__}: {error}"
    )


def _records(path: Path, shape: Shape, *, lines: int | None = None) -> Iterator[list[str]]:
    try:
        with open(path, encoding=shape.encoding, errors=shape.errors, newline="") as stream:
            for row in csv.reader(_bounded(stream, path, lines), delimiter=shape.delimiter):
                if len(row) > COLUMNS:
                    message = tr("{name} has a row of {n} columns.", name=escaped(path.name), n=len(row))
                    raise InputError(message, hint=tr("At most {n} are read.", n=COLUMNS))
                if row and any(row):
                    yield row
    except OSError as error:
        raise unreadable(path, error) from error
    except (csv.Error, UnicodeError) as error:
        raise _bad(path, error) from error


def _bounded(stream: io.TextIOBase, path: Path, lines: int | None) -> Iterator[str]:
    count = 0
    while line := stream.readline(LINE):
        count += 1
        if len(line) == LINE and not line.endswith(("\n", "\r")):
            message = tr("Line {n} of {name} is longer than 1 MB.", n=count, name=escaped(path.name))
            raise InputError(message, hint=tr("Check that the file is a table."))
        if count > ROWS:
            raise InputError(tr("{name} has more than {n} rows.", name=escaped(path.name), n=ROWS))
        yield line
        if lines is not None and count >= lines:
            return


def _split_header(rows: list[list[str]], shape: Shape) -> tuple[list[str], list[list[str]]]:
    if not rows:
        return [], []
    if shape.header:
        ends = all(len(row) < len(rows[0]) for row in rows[1:])
        return _unique(_named(rows[0]) if ends else rows[0]), rows[1:]
    return [tr("column {n}", n=i + 1) for i in range(len(rows[0]))], rows


def _named(header: list[str]) -> list[str]:
    """The header without a delimiter at its end, which not every program also puts at the end of the rows."""
    return header[:-1] if len(header) > 1 and not header[-1].strip() else header


def _unique(names: list[str]) -> list[str]:
    made: list[str] = []
    for place, name in enumerate(names):
        name = _text(name.strip()) or tr("column {n}", n=place + 1)
        fresh, count = name, 1
        while fresh in made:
            count += 1
            fresh = f"{name} {count}"
        made.append(fresh)
    return made


def _fit(row: list[str], width: int) -> list[str]:
    return row[:width] + [""] * (width - len(row))


def _load_arrow(path: Path, shape: Shape) -> Table:
    import pyarrow as pa
    import pyarrow.csv as pacsv

    header, _, _ = sample(path)
    try:
        table = pacsv.read_csv(
            path,
            read_options=pacsv.ReadOptions(column_names=header, skip_rows=int(shape.header), block_size=4 * LINE),
            parse_options=pacsv.ParseOptions(delimiter=shape.delimiter, newlines_in_values=True),
            # Everything as bytes: guessed types would turn the name 0012 into 12.
            convert_options=pacsv.ConvertOptions(column_types={name: pa.large_binary() for name in header}),
        )
    except (pa.ArrowException, OSError) as error:
        raise _bad(path, error) from error
    return Arrow(header, table)


def _parquet(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        meta = file.metadata
        size = sum(max(0, meta.row_group(i).total_byte_size) for i in range(min(meta.num_row_groups, 100_000)))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _bad(path, error) from error
    if meta.num_rows > ROWS or meta.num_columns > COLUMNS or size > max(4 << 30, 0):
        message = tr("{name} is too large for a manifest.", name=escaped(path.name))
        raise InputError(message, hint=tr("Keep the columns of paths, identities and attributes."))
    return file


def _parquet_sample(path: Path) -> tuple[list[str], list[list[str]], None]:
    import pyarrow as pa

    file = _parquet(path)
    header = _unique([str(name) for name in file.schema_arrow.names])
    try:
        batch = next(file.iter_batches(batch_size=SAMPLE), None)
        if batch is None:
            return header, [], None
        some = Arrow(header, pa.Table.from_batches([batch]).slice(0, SAMPLE))
        columns = [[cell[:FIELD] for cell in some.strings(place)] for place in range(len(header))]
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise _bad(path, error) from error
    return header, [list(row) for row in zip(*columns, strict=True)], None


def _load_parquet(path: Path) -> Table:
    import pyarrow as pa

    file = _parquet(path)
    keep = [field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)]
    try:
        table = file.read(columns=keep)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _bad(path, error) from error
    return Arrow(_unique([str(name) for name in table.column_names]), table)
