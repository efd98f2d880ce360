"""The filter language: `variance > p90 and identity ~ "Smith" and not split = train`.

    filter      any "or" any ...          any = all of its parts joined by "and"
    part        [not] test, or a filter in parentheses
    test        column > 0.3              > >= < <= = != against a number, or a percentile of the column: p90
                column ~ "Smith"          the name contains it; = and != compare whole names
                column is missing         also: is not missing, has(column), has(landmarks)
                tag = blurry              one of the tags is that; so with subset, while flag is flagged or rejected
                Smith, "John Smith"       identity or path contains it; words side by side must all occur

Upper and lower case are the same, and so are `_` and a space; yet `=` takes the name spelled exactly so where there is
one. A missing value passes no comparison, not even `!=`; `not` turns a whole test round, so `not variance > 1` holds
where the variance is missing. What was never said by hand is not missing: `flag != rejected` and `tag != blurry` hold
for faces without flag and tag. A column whose name has spaces stands in `backticks`. Nothing is ever evaluated as code.
"""

from __future__ import annotations

import difflib
import os
import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Protocol, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from facelens.errors import InputError
from facelens.images.faceset import FaceSet, Labels
from facelens.images.packed import Packed
from facelens.session.mark_columns import Flags, Marks, Sets
from facelens.words import escaped, tr

Mask: TypeAlias = NDArray[np.bool_]

_NUMERIC: dict[str, Callable[..., Mask]] = {
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "!=": np.not_equal,
}
_KEYWORDS = ("and", "or", "not")
_LOOKED_THROUGH = 100_000  # names that are put in order to be offered
_FEW = 8  # numbers of a column that are offered as they are
_PERCENTILES = ("p99", "p95", "p90", "p75", "p50", "p25", "p10", "p5", "p1")
_DEPTH = 50  # parentheses within parentheses; more is no filter that anyone wrote


class FilterError(InputError):
    """A filter that cannot be read, or does not fit the gallery; `position` is the place in `text`."""

    def __init__(
        self, message: str, *, hint: str = "", details: str = "", text: str = "", position: int = 0, length: int = 1
    ) -> None:
        super().__init__(message, hint=hint, details=details)
        self.text = text
        self.position = position
        self.length = length

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.message, self.hint, self.details, self.text, self.position, self.length)


def _rebuild(message: str, hint: str, details: str, text: str, position: int, length: int) -> FilterError:
    return FilterError(message, hint=hint, details=details, text=text, position=position, length=length)


# Tokens

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | "(?P<double>(?:[^"\\]|\\.)*)(?P<close2>"?)
      | '(?P<single>(?:[^'\\]|\\.)*)(?P<close1>'?)
      | `(?P<column>(?:[^`]|``)*)(?P<close0>`?)
      | (?P<operator>>=|=>|<=|=<|==|!=|<>|[<>=~≥≤≠])
      | (?P<bracket>[()])
      | (?P<word>(?:[^\s"'`<>=!~≥≤≠()]|!(?!=)|(?<=\w)'(?=\w))+)
    """,
    re.VERBOSE | re.DOTALL,
)
_SAME = {"==": "=", "=>": ">=", "=<": "<=", "<>": "!=", "≥": ">=", "≤": "<=", "≠": "!="}


@dataclass(frozen=True)
class _Token:
    kind: str  # word, text (quoted), column (in backticks), operator, bracket, end
    value: str
    start: int
    end: int

    def says(self, *words: str) -> bool:
        return self.kind == "word" and self.value.lower() in words


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None  # every character begins one of the alternatives
        kind = match.lastgroup or ""
        at = match.end()
        if kind == "space":
            continue
        if kind.startswith("close"):
            if not match[kind]:
                raise FilterError(
                    tr("The quote that opens here is not closed."),
                    hint=tr("Add {q} at the end.", q=match[0][0]),
                    text=text,
                    position=match.start(),
                )
            if kind == "close0":
                value, kind = match["column"].replace("``", "`"), "column"
            else:
                value, kind = (
                    re.sub(r"\\(.)", r"\1", match["double" if kind == "close2" else "single"], flags=re.DOTALL),
                    "text",
                )
        else:
            value = match[0]
        if kind == "operator":
            value = _SAME.get(value, value)
        found.append(_Token(kind, value, match.start(), match.end()))
    found.append(_Token("end", "", len(text), len(text)))
    return found


# Text search, shared by names and paths


def _fold(text: str) -> str:
    return text.casefold().replace("_", " ")


_ASCII_FOLD = bytes(ord(_fold(chr(i))) if i < 128 else i for i in range(256))

# Folded copies, made at the first search in a gallery: folding is the dear part of each later one.
_folded_paths: WeakKeyDictionary[Packed, Packed] = WeakKeyDictionary()
_folded_names: WeakKeyDictionary[Labels, Packed] = WeakKeyDictionary()


def _paths(faces: FaceSet) -> Packed:
    folded = _folded_paths.get(faces.paths)
    if folded is None:
        blob = faces.paths.blob
        if not len(blob) or blob.max() < 128:
            folded = Packed(np.frombuffer(blob.tobytes().translate(_ASCII_FOLD), np.uint8), faces.paths.offsets)
        else:
            folded = _pack([_fold(os.fsdecode(path)) for path in faces.paths])
        _folded_paths[faces.paths] = folded
    return folded


def _names(labels: Labels) -> Packed:
    folded = _folded_names.get(labels)
    if folded is None:
        folded = _folded_names[labels] = _pack([_fold(name) for name in labels.names])
    return folded


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _pack(texts: list[str]) -> Packed:
    return Packed.of([_bytes(text) for text in texts])


def _containing(texts: Packed, needle: str) -> Mask:
    """(n,) which of the folded `texts` hold `needle`; one pass over the bytes, whatever the number of hits."""
    key = np.frombuffer(_bytes(_fold(needle)), np.uint8)
    found = np.zeros(len(texts), bool)
    if not len(key):
        return ~found
    blob, last = texts.blob, len(texts.blob) - len(key) + 1
    if last <= 0:
        return found
    # Candidates come from the byte of the needle that is rarest in a sample; each further byte thins them out.
    sample = np.bincount(blob[:: max(1, len(blob) // 65536)], minlength=256)
    order = np.argsort(sample[key], kind="stable")
    rarest = int(order[0])
    at = np.flatnonzero(blob[rarest : rarest + last] == key[rarest])
    for i in order[1:]:
        at = at[blob[at + i] == key[i]]
    row = np.searchsorted(texts.offsets, at, "right") - 1
    found[row[at + len(key) <= texts.offsets[row + 1]]] = True
    return found


def _equal(labels: Labels, name: str) -> Mask:
    """(C,) the name itself where it occurs exactly so, else every name that differs by case or underscores only."""
    if isinstance(labels, Sets):
        return labels.having(name)
    found = np.zeros(len(labels.names), bool)
    at = bisect_left(labels.names, name)
    if at < len(labels.names) and labels.names[at] == name:
        found[at] = True
        return found
    folded = _names(labels)
    length = len(_bytes(_fold(name)))
    same: Mask = _containing(folded, name) & np.equal(np.diff(folded.offsets), length)
    return same


def _by_code(labels: Labels, names: Mask) -> Mask:
    found: Mask = np.append(names, False)[labels.codes]  # code -1, missing, takes the last
    return found


def names_equal(labels: Labels, name: str) -> list[str]:
    """The name itself where it occurs exactly so, else every name that differs by case or underscores only.

    >>> names_equal(Labels.of(["Ada_B", "ada b", "Bo"]), "ADA B")
    ['Ada_B', 'ada b']
    """
    return [labels.names[i] for i in np.flatnonzero(_equal(labels, name))]


def names_like(labels: Labels, text: str, *, most: int = 50) -> list[str]:
    """Names that hold a text, those that begin with it first.

    >>> names_like(Labels.of(["Zada", "Ada_B", "Bo"]), "ad")
    ['Ada_B', 'Zada']
    """
    begun, found = _fold(text), np.flatnonzero(_containing(_names(labels), text))[:_LOOKED_THROUGH]
    return sorted((labels.names[i] for i in found), key=lambda name: not _fold(name).startswith(begun))[:most]


# What a filter is made of


class _Node(Protocol):
    def rows(self, faces: FaceSet) -> Mask: ...


@dataclass(frozen=True)
class _Joined:
    parts: tuple[_Node, ...]
    join: Callable[[Mask, Mask], Mask]

    def rows(self, faces: FaceSet) -> Mask:
        # Tests of one column of names are joined name by name: a hundred chosen identities cost as much as one.
        by_column: dict[str, Mask] = {}
        masks: list[Mask] = []
        for part in self.parts:
            column = part.named(faces) if isinstance(part, _Compare) else ""
            if column and isinstance(part, _Compare):
                names = part.names(faces)
                by_column[column] = self.join(by_column[column], names) if column in by_column else names
            else:
                masks.append(part.rows(faces))
        for column, names in by_column.items():
            masks.append(_by_code(_labels(faces, column), names))
        return reduce(self.join, masks)


@dataclass(frozen=True)
class _Not:
    part: _Node

    def rows(self, faces: FaceSet) -> Mask:
        return ~self.part.rows(faces)


@dataclass(frozen=True)
class _Words:
    needle: str

    def rows(self, faces: FaceSet) -> Mask:
        named = _containing(_names(faces.identity), self.needle)
        return _by_code(faces.identity, named) | _containing(_paths(faces), self.needle)


@dataclass(frozen=True)
class _Present:
    """`has(column)`, and the opposite of `column is missing`."""

    text: str
    column: _Token

    def rows(self, faces: FaceSet) -> Mask:
        name = self.column.value
        if name.casefold() == "landmarks" and name not in faces.columns:
            if faces.landmarks is None:
                return np.zeros(len(faces), bool)
            whole: Mask = np.logical_and.reduce(np.isfinite(faces.landmarks.reshape(len(faces), 10)), axis=1)
            return whole
        name = _column(self.text, self.column, faces)
        if name == "path":
            return np.diff(faces.paths.offsets) > 0
        values = faces.values(name)
        if isinstance(values, Labels):
            return values.codes >= 0
        return ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(faces), bool)


@dataclass(frozen=True)
class _Compare:
    text: str
    column: _Token
    operator: _Token
    value: _Token

    @property
    def names_a_word(self) -> bool:
        """Whether a name without quotes is asked for."""
        return self.value.kind == "word" and self.operator.value in ("=", "!=", "~")

    def rows(self, faces: FaceSet) -> Mask:
        name = _column(self.text, self.column, faces)
        if name == "path":
            return self._path(faces)
        values = faces.values(name)
        if isinstance(values, Labels):
            found = _by_code(values, self.names(faces))
            unsaid = self.operator.value == "!=" and isinstance(values, Marks)
            return found | (values.codes < 0) if unsaid else found
        return self._numbers(values)

    def named(self, faces: FaceSet) -> str:
        """The column if it holds names, else ""."""
        name = _column(self.text, self.column, faces)
        return name if name != "path" and isinstance(faces.values(name), Labels) else ""

    def names(self, faces: FaceSet) -> Mask:
        """(C,) which names of the column pass."""
        self._needs_names()
        labels = _labels(faces, _column(self.text, self.column, faces))
        if self.operator.value == "~":
            return _containing(_names(labels), self.value.value)
        equal = _equal(labels, self.value.value)
        if isinstance(labels, Flags) and not equal.any():
            said = tr("{column} is never {value}.", column=self.column.value, value=escaped(self.value.value))
            raise self._error(self.value, said, tr("It is {words}, or missing.", words=tr(" or ").join(labels.names)))
        return ~equal if self.operator.value == "!=" else equal

    def _path(self, faces: FaceSet) -> Mask:
        self._needs_names()
        folded = _paths(faces)
        found = _containing(folded, self.value.value)
        if self.operator.value != "~":
            found &= np.diff(folded.offsets) == len(_bytes(_fold(self.value.value)))
        return ~found if self.operator.value == "!=" else found

    def _numbers(self, values: NDArray[np.floating | np.integer]) -> Mask:
        if self.operator.value == "~":
            raise self._error(
                self.operator,
                tr("{column} holds numbers, and ~ looks inside names.", column=self.column.value),
                tr("Use = or > or <."),
            )
        limit = self._limit(values)
        if limit is None:  # a percentile of nothing
            return np.zeros(len(values), bool)
        with np.errstate(over="ignore"):  # a limit beyond the range of float32 is infinite there
            found: Mask = _NUMERIC[self.operator.value](values, limit)
        if self.operator.value == "!=" and values.dtype.kind == "f":
            found &= ~np.isnan(values)  # the other comparisons are false for NaN by themselves
        return found

    def _limit(self, values: NDArray[np.floating | np.integer]) -> float | int | None:
        said = self.value.value.replace("−", "-")
        if percent := re.fullmatch(r"[pP](\d+(?:\.\d*)?|\.\d+)", said):
            share = float(percent[1])
            if share > 100:
                raise self._error(
                    self.value, tr("{value} is no percentile.", value=said), tr("Percentiles go from p0 to p100.")
                )
            numbers = np.asarray(values, np.float64) if values.dtype.kind != "f" else values
            known = numbers[~np.isnan(numbers)] if values.dtype.kind == "f" else numbers
            return float(np.percentile(known, share)) if len(known) else None
        try:
            whole = int(said)
            return whole if abs(whole) < 2**63 else float(whole)
        except (ValueError, OverflowError):
            pass
        try:
            number = float(said)
        except ValueError:
            number = float("nan")
        if number != number:
            if said.lower() == "nan":
                hint = tr("Write: {column} is missing", column=_column_word(self.column.value))
            elif re.fullmatch(r"-?\d+,\d+", said):
                hint = tr("Write {value}", value=said.replace(",", "."))
            else:
                hint = tr("Compare it with a number such as 0.3, or a percentile such as p90.")
            raise self._error(
                self.value,
                tr("{column} holds numbers; {value} is none.", column=self.column.value, value=escaped(said)),
                hint,
            )
        return number

    def _needs_names(self) -> None:
        if self.operator.value not in ("=", "!=", "~"):
            raise self._error(
                self.operator,
                tr(
                    "{column} holds names, which {op} cannot compare.", column=self.column.value, op=self.operator.value
                ),
                tr("Use = or != for a whole name, ~ for a part of it."),
            )

    def _error(self, token: _Token, message: str, hint: str) -> FilterError:
        return FilterError(message, hint=hint, text=self.text, position=token.start, length=token.end - token.start)


def _labels(faces: FaceSet, column: str) -> Labels:
    values = faces.values(column)
    assert isinstance(values, Labels)
    return values


def _column(text: str, token: _Token, faces: FaceSet) -> str:
    known = ("identity", "path", *faces.columns)
    if token.value in known:
        return token.value
    alike = {_fold(name): name for name in reversed(known)}
    if found := alike.get(_fold(token.value)):
        return found
    message = tr("There is no column {name}.", name=escaped(token.value))
    close = difflib.get_close_matches(_fold(token.value), list(alike), n=1)
    if close:
        hint = tr("Did you mean {name}?", name=escaped(alike[close[0]]))
    elif re.fullmatch(r"[-−]?[\d.,]+", token.value):
        hint = tr("Write the column first: variance > 0.3")
    else:
        shown = ", ".join(escaped(name) for name in known[:12])
        hint = tr("Columns: {names}", names=shown + (" …" if len(known) > 12 else ""))
    raise FilterError(message, hint=hint, text=text, position=token.start, length=token.end - token.start)


# Reading


@dataclass(frozen=True)
class Expression:
    """A filter that has been read. Empty text lets every face pass."""

    text: str
    terms: tuple[str, ...] = ()
    _node: _Node | None = field(default=None, repr=False, compare=False)

    def rows(self, faces: FaceSet) -> Mask:
        """(N,) which faces pass; a FilterError where the filter names a column that is not there."""
        return np.ones(len(faces), bool) if self._node is None else self._node.rows(faces)

    @property
    def by_names(self) -> bool:
        """Whether who somebody is has a say: in a test of the identity, or in words that are searched for.

        >>> parse("variance > 1 and not (smith or blur > 2)").by_names, parse("path ~ a").by_names
        (True, False)
        """
        return self._node is not None and _by_names(self._node)


def _by_names(node: _Node) -> bool:
    match node:
        case _Joined():
            return any(map(_by_names, node.parts))
        case _Not():
            return _by_names(node.part)
        case _Present() | _Compare():
            return _fold(node.column.value).removeprefix("my ") in ("identity", "original identity", "edited")
    return True


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0

    @property
    def now(self) -> _Token:
        return self.tokens[self.at]

    @property
    def following(self) -> _Token:
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def take(self) -> _Token:
        token = self.now
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def error(self, token: _Token, message: str, hint: str = "") -> FilterError:
        return FilterError(
            message, hint=hint, text=self.text, position=token.start, length=max(1, token.end - token.start)
        )

    def whole(self) -> Expression:
        if self.now.kind == "end":
            return Expression(self.text)
        parts = self.any()
        if self.now.kind != "end":
            raise self.error(self.now, tr("This parenthesis closes nothing."), tr("Remove it, or open one before."))
        if len(parts) == 1:
            spans, nodes = zip(*parts[0], strict=True)
            return Expression(self.text, tuple(self.text[a:b] for a, b in spans), _together(nodes))
        return Expression(self.text, (self.text.strip(),), _either(parts))

    def any(self) -> list[list[tuple[tuple[int, int], _Node]]]:
        parts = [self.all()]
        while self.now.says("or"):
            self.take()
            parts.append(self.all())
        return parts

    def all(self) -> list[tuple[tuple[int, int], _Node]]:
        parts = [self.part()]
        while True:
            if self.now.says("and"):
                self.take()
            elif (
                self.now.kind == "end" or self.now.says("or") or (self.now.kind == "bracket" and self.now.value == ")")
            ):
                return parts
            elif isinstance(last := parts[-1][1], _Compare) and last.names_a_word:
                # identity = John Smith: the second word is part of the name or a search of its own, so ask.
                value = f"{last.value.value} {self.now.value}"
                raise self.error(
                    self.now,
                    tr("It is not clear what {word} belongs to.", word=escaped(self.now.value)),
                    tr('Quote words that belong together, as in "{value}", or write and.', value=value),
                )
            parts.append(self.part())

    def part(self) -> tuple[tuple[int, int], _Node]:
        start = self.now.start
        self.depth += 1
        if self.depth > _DEPTH:
            raise self.error(self.now, tr("The filter is nested too deeply."))
        node = self.test()
        self.depth -= 1
        return (start, self.tokens[self.at - 1].end), node

    def test(self) -> _Node:
        token = self.now
        if token.says("not"):
            self.take()
            return _Not(self.part()[1])
        if token.kind == "bracket" and token.value == "(":
            self.take()
            inner = _either(self.any())
            if self.now.kind == "end":
                raise self.error(token, tr("The parenthesis that opens here is not closed."), tr("Add ) at the end."))
            self.take()
            return inner
        if token.kind in ("operator", "end", "bracket") or token.says("and", "or"):
            raise self._unexpected(token)
        if token.says("has") and self.following.value == "(" and self.following.start == token.end:
            return self.has()
        self.take()
        if self.now.kind == "operator":
            return self.compare(token)
        if token.kind != "text" and self.now.says("is") and self.following.says("missing", "not"):
            if self.following.says("missing"):
                self.at += 2
                return _Not(_Present(self.text, token))
            if self.tokens[self.at + 2].says("missing"):
                self.at += 3
                return _Present(self.text, token)
        if token.kind == "column":
            raise self.error(
                token,
                tr("Column {name} is compared with nothing.", name=escaped(token.value)),
                tr("Add for example > 0.3, or: is missing"),
            )
        return _Words(token.value)

    def has(self) -> _Node:
        self.at += 2
        column = self.take()
        if column.kind not in ("word", "column") or not (self.now.kind == "bracket" and self.now.value == ")"):
            raise self.error(column, tr("has needs the name of one column."), tr("Write: has(landmarks)"))
        self.take()
        return _Present(self.text, column)

    def compare(self, column: _Token) -> _Node:
        operator = self.take()
        if column.kind == "text":
            raise self.error(
                column,
                tr("A quoted text cannot be compared."),
                tr("Write column names with spaces in backticks: {name}", name=_column_word(column.value)),
            )
        value = self.now
        if value.kind not in ("word", "text") or (value.says(*_KEYWORDS)):
            raise self.error(
                value,
                tr("After {op} a number or a name is missing.", op=operator.value),
                tr("Write for example: variance > 0.3"),
            )
        self.take()
        return _Compare(self.text, column, operator, value)

    def _unexpected(self, token: _Token) -> FilterError:
        if token.kind == "end":
            return self.error(
                token, tr("The filter ends too early."), tr("Add a word or a comparison, or remove the last word.")
            )
        if token.kind == "operator":
            return self.error(
                token, tr("Before {op} a column is missing.", op=token.value), tr("Write for example: variance > 0.3")
            )
        if token.kind == "bracket":
            return self.error(
                token, tr("Nothing stands before this parenthesis."), tr("Add a word or a comparison, or remove it.")
            )
        return self.error(
            token,
            tr("{word} joins two parts, and one is missing.", word=token.value),
            tr('To search for the word itself, quote it: "{word}"', word=token.value),
        )


def _together(nodes: tuple[_Node, ...]) -> _Node:
    return nodes[0] if len(nodes) == 1 else _Joined(tuple(nodes), np.logical_and)


def _either(parts: list[list[tuple[tuple[int, int], _Node]]]) -> _Node:
    nodes = tuple(_together(tuple(node for _, node in part)) for part in parts)
    return nodes[0] if len(nodes) == 1 else _Joined(nodes, np.logical_or)


def parse(text: str) -> Expression:
    """Read a filter; a FilterError says where it cannot be read.

    >>> parse('variance > p90 and "John Smith"').terms
    ('variance > p90', '"John Smith"')
    """
    return _Reader(text).whole()


# Editing: chips and clicks write the same text that a user types


def without(text: str, i: int) -> str:
    """The filter without its i-th term.

    >>> without('a and variance > 1 and b', 1)
    'a and b'
    """
    terms = parse(text).terms
    return " and ".join(term for k, term in enumerate(terms) if k != i)


def adding(text: str, term: str) -> str:
    """The filter with one more term, unless it has it already; an `or` on either side goes into parentheses.

    >>> adding('a or b', 'split = train')
    '(a or b) and split = train'
    """
    terms = _joinable(text)
    return " and ".join([*terms, *(new for new in _joinable(term) if new not in terms)])


def choice(text: str, column: str) -> tuple[int, tuple[str, ...]] | None:
    """The term that only chooses among names of `column`, as its number and those names.

    >>> choice('blur > 0.2 and (identity = Ann or identity = "Bo C")', "identity")
    (1, ('Ann', 'Bo C'))
    """
    for i, term in enumerate(parse(text).terms):
        node = _either(_Reader(term).any())
        tests = node.parts if isinstance(node, _Joined) and node.join is np.logical_or else (node,)
        names = tuple(test.value.value for test in tests if isinstance(test, _Compare) and test.operator.value == "=")
        if len(names) == len(tests) and all(
            _fold(test.column.value) == column for test in tests if isinstance(test, _Compare)
        ):
            return i, names
    return None


def choosing(text: str, column: str, names: list[str]) -> str:
    """The filter with its choice among names of `column` replaced; no name takes the choice away.

    >>> choosing('blur > 0.2 and identity = Ann', "identity", ["Bo", "Cy"])
    'blur > 0.2 and (identity = Bo or identity = Cy)'
    """
    found = choice(text, column)
    rest = text if found is None else without(text, found[0])
    return adding(rest, " or ".join(comparison(column, "=", name) for name in names)) if names else rest


def _joinable(text: str) -> list[str]:
    reader = _Reader(text)
    if reader.now.kind == "end":
        return []
    parts = reader.any()
    return [f"({text.strip()})"] if len(parts) > 1 else [text[a:b] for (a, b), _ in parts[0]]


def comparison(column: str, operator: str, value: str | float) -> str:
    """The text of one test, quoted as needed.

    >>> comparison("eye distance", "=", 'Ann "Bee"'), comparison("variance", ">", 0.25)
    ('`eye distance` = "Ann \\\\"Bee\\\\""', 'variance > 0.25')
    """
    said = (
        _text_word(value)
        if isinstance(value, str)
        else f"{value:g}"
        if float(f"{value:g}") == value
        else repr(float(value))
    )
    return f"{_column_word(column)} {operator} {said}"


def _column_word(name: str) -> str:
    plain = re.fullmatch(r"[\w./-]+", name) and name.lower() not in _KEYWORDS
    return name if plain else "`" + name.replace("`", "``") + "`"


def _text_word(text: str) -> str:
    if re.fullmatch(r"\w+", text) and text.lower() not in _KEYWORDS:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# Completion


def word_start(text: str, position: int) -> int:
    """Where the word that ends at `position` begins: a completion replaces what lies between."""
    part = text[:position]
    opened = re.fullmatch(r'(?:[^"`]|"(?:[^"\\]|\\.)*"|`[^`]*`)*(["`])[^"`]*', part, re.DOTALL)
    if opened:
        return opened.start(1)
    found = re.search(r"[^\s\"'`<>=!~≥≤≠()]*$", part)
    return found.start() if found else position


def completions(text: str, position: int, faces: FaceSet) -> list[str]:
    """What may stand for the word before `position` (see `word_start`), most fitting first, at most 50."""
    start = word_start(text, position)
    begun = _fold(text[start:position].lstrip("\"'`"))
    try:
        before = _tokens(text[:start])[:-1]
    except FilterError:
        return []
    last = before[-1] if before else None
    if last is not None and last.kind == "operator" and len(before) > 1:
        return _values(_fold(before[-2].value), begun, faces)[:50]
    heads = [one for one in _following(before, faces) if _fold(one.lstrip('"`')).startswith(begun)]
    if begun and _begins(before):
        heads += [_text_word(name) for name in names_like(faces.identity, begun)]
    return heads[:50]


def _begins(before: list[_Token]) -> bool:
    """Whether a test may begin here."""
    return not before or before[-1].says(*_KEYWORDS) or before[-1].value == "("


def _following(before: list[_Token], faces: FaceSet) -> list[str]:
    """Words of the language and columns that may stand after these, whatever is begun."""
    columns = ("identity", "path", *faces.columns)
    *rest, last = before or [_Token("end", "", 0, 0)]
    if rest and last.says("is"):
        return ["missing", "not missing"]
    if len(rest) > 1 and last.says("not") and rest[-1].says("is"):
        return ["missing"]
    if rest and last.value == "(" and rest[-1].says("has"):
        return [f"{_column_word(name)})" for name in ("landmarks", *columns)]
    if _begins(before):
        return [*(_column_word(name) for name in columns), "not", "has(landmarks)"]
    if last.kind in ("word", "column") and _ends_column(before):
        known = {_fold(name): name for name in columns}
        if (name := known.get(_fold(last.value), "")) == "":
            return ["and", "or"]
        named = name == "path" or isinstance(faces.values(name), Labels)
        compared = ("~", "=", "!=") if named else (">", ">=", "<", "<=", "=", "!=")
        return [*compared, "is missing", "is not missing", "and", "or"]
    return ["and", "or"] if last.kind in ("word", "text") or last.value == ")" else []


def _ends_column(before: list[_Token]) -> bool:
    return len(before) < 2 or before[-2].kind != "operator"


def _values(column: str, begun: str, faces: FaceSet) -> list[str]:
    """What a column may be compared with: names that hold what was begun, those that begin with it first."""
    known = {_fold(name): name for name in ("identity", *faces.columns)}
    if column not in known:
        return []
    values = faces.values(known[column])
    if isinstance(values, Sets):
        return [_text_word(name) for name in names_like(Labels.of(values.single), begun)]
    if isinstance(values, Labels):
        return [_text_word(name) for name in names_like(values, begun)]
    few = np.unique(values[:_LOOKED_THROUGH][~np.isnan(values[:_LOOKED_THROUGH])])
    levels = [f"{level:g}" for level in few[::-1]] if len(few) <= _FEW else []
    return [one for one in (*levels, *_PERCENTILES) if one.startswith(begun)]
