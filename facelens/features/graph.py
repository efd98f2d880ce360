"""Look into an ONNX file without the onnx package and without loading it: inputs, outputs, what could be tapped.

An ONNX file is one protobuf message. Its fields are walked where they lie; the numbers of the weights are stepped over.
Because protobuf joins messages that are given twice, a further output of the graph is a few bytes appended to the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

from facelens.errors import InputError
from facelens.features.inert import Cut, Limits, Source, Spoilt
from facelens.words import escaped, tr

KINDS = {
    1: "float32",
    2: "uint8",
    3: "int8",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
}
_TOP = {1: 0, 2: 2, 3: 2, 4: 2, 5: 0, 6: 2, 7: 2, 8: 2, 14: 2, 20: 2, 25: 2, 26: 2}  # fields of a model: wire type
_DEEPEST = 24


@dataclass(frozen=True)
class Port:
    """An input, output or tensor between: a number in `shape` is fixed, a text is a name, None is not known."""

    name: str
    kind: str = ""
    shape: tuple[int | str | None, ...] | None = None


@dataclass(frozen=True)
class External:
    """Weights that lie in another file; length 0: up to its end."""

    location: str
    offset: int = 0
    length: int = 0


@dataclass(frozen=True)
class Graph:
    """What an ONNX file says about itself. `between` are the tensors inside that can be tapped, in order."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    between: tuple[Port, ...] = ()
    opsets: Mapping[str, int] = field(default_factory=dict)
    domains: tuple[str, ...] = ()  # of the operators used
    producer: str = ""
    nodes: int = 0
    parameters: int = 0
    external: tuple[External, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For the way between processes."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Graph:
        """Back again."""
        ports = {
            key: tuple(
                Port(p["name"], p["kind"], None if p["shape"] is None else tuple(p["shape"])) for p in found[key]
            )
            for key in ("inputs", "outputs", "between")
        }
        external = tuple(External(**e) for e in found["external"])
        return cls(**{**found, **ports, "external": external, "domains": tuple(found["domains"])})


def is_onnx(stream: BinaryIO, size: int) -> bool:
    """Whether the file is a protobuf message with the fields of an ONNX model, as far as it goes."""
    source = Source(stream, 0, size)
    graph = version = False
    try:
        while source.position < size:
            number, wire, value = _field(source)
            if _TOP.get(number) != wire:
                return False
            version = version or (number == 1 and isinstance(value, int) and 1 <= value < 1000)
            graph = graph or number == 7
    except Cut as error:
        # A model that was cut: its version came first, and the graph it announced is longer than the file.
        return version and error.want > size
    except Spoilt:
        return False
    return graph


def inspect(stream: BinaryIO, size: int, *, shown: str, limits: Limits | None = None) -> Graph:
    """Read what the file says about itself; a damaged one is an InputError."""
    try:
        return _Walk(stream, size, limits or Limits()).graph()
    except Cut as error:
        from facelens.features.weights import cut

        raise cut(shown, size, error.want if error.want > size else 0, details=str(error)) from None
    except (Spoilt, UnicodeDecodeError) as error:
        reason = str(error) if isinstance(error, Spoilt) else tr("a name in it is no text")
        raise InputError(
            tr("{name} cannot be opened: {reason}.", name=shown, reason=reason), hint=tr("Download or save it again.")
        ) from None


def tapped(model: bytes, names: Iterable[str]) -> bytes:
    """The model with further outputs: the named tensors between. They must exist."""
    added = b"".join(_piece(12, _piece(1, name.encode())) for name in names)
    return model + _piece(7, added) if added else model


def _piece(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


# The wire: a field is a number, a wire type and a value; of type 2 the value is a length and as many bytes.


def _number(source: Source) -> int:
    found = shift = 0
    while True:
        byte = source.take(1)[0]
        found |= (byte & 127) << shift
        if byte < 128:
            return found & (1 << 64) - 1
        shift += 7
        if shift > 63:
            raise Spoilt("a number in it is damaged")


def _field(source: Source) -> tuple[int, int, int | tuple[int, int]]:
    """Number, wire type, and the value or, stepped over, the place of its bytes."""
    tag = _number(source)
    number, wire = tag >> 3, tag & 7
    if wire == 0:
        return number, wire, _number(source)
    if wire not in (1, 2, 5) or not number:
        raise Spoilt("it is no protobuf message")
    n = _number(source) if wire == 2 else 8 if wire == 1 else 4
    start = source.position
    source.skip(n)
    return number, wire, (start, start + n)


Place = tuple[int, int]


class _Walk:
    def __init__(self, stream: BinaryIO, size: int, limits: Limits) -> None:
        self._stream, self._size, self._left = stream, size, limits.opcodes
        self.domains: dict[str, None] = {}
        self.external: dict[External, None] = {}
        self.nodes = self.parameters = 0

    def fields(self, place: Place) -> Iterator[tuple[int, int, Any]]:
        source = Source(self._stream, *place)
        while source.position < place[1]:
            self._left -= 1
            if self._left < 0:
                raise Spoilt("it has too many parts")
            try:
                yield _field(source)
            except Cut as error:
                raise Cut("the file ends early", want=error.want if place[1] == self._size else 0) from None

    def text(self, place: Any) -> str:
        if not isinstance(place, tuple) or place[1] - place[0] > 1 << 16:
            raise Spoilt("a name in it is damaged")
        return Source(self._stream, *place).take(place[1] - place[0]).decode()

    def graph(self) -> Graph:
        opsets: dict[str, int] = {}
        producer = ""
        inputs: list[Port] = []
        outputs: list[Port] = []
        between: list[tuple[str, str]] = []
        known: dict[str, Port] = {}
        weights: set[str] = set()
        for number, wire, value in self.fields((0, self._size)):
            if number == 2 and wire == 2:
                producer = self.text(value)
            elif number == 8 and wire == 2:
                domain, version = "", 0
                for inner, _, part in self.fields(value):
                    domain = self.text(part) if inner == 1 else domain
                    version = part if inner == 2 and isinstance(part, int) else version
                opsets[domain] = version
            elif number == 7 and wire == 2:
                self._graph(value, 0, inputs, outputs, between, known, weights)
            elif number == 20 and wire == 2:
                for inner, _, part in self.fields(value):
                    if inner in (1, 2) and isinstance(part, tuple):
                        self._graph(part, 1)
            elif number == 25 and wire == 2:
                for inner, _, part in self.fields(value):
                    if inner == 7 and isinstance(part, tuple):
                        self._node(part, 1)
        if not outputs or not between:
            raise Spoilt("it holds no network")
        ends = {port.name for port in outputs}
        return Graph(
            tuple(port for port in inputs if port.name not in weights),
            tuple(outputs),
            tuple(known.get(name, Port(name)) for name, _ in between if name not in ends),
            opsets,
            tuple(self.domains),
            producer[:200],
            self.nodes,
            self.parameters,
            tuple(self.external),
        )

    def _graph(
        self,
        place: Place,
        depth: int,
        inputs: list[Port] | None = None,
        outputs: list[Port] | None = None,
        between: list[tuple[str, str]] | None = None,
        known: dict[str, Port] | None = None,
        weights: set[str] | None = None,
    ) -> None:
        if depth > _DEEPEST:
            raise Spoilt("it is nested too deeply")
        for number, wire, value in self.fields(place):
            if wire != 2:
                continue
            if number == 1:
                op, made = self._node(value, depth)
                if between is not None:
                    between.extend((name, op) for name in made if name)
            elif number == 5:
                name, count = self._tensor(value)
                self.parameters += count
                if weights is not None:
                    weights.add(name)
            elif number == 15:
                self._sparse(value)
            elif number == 11 and inputs is not None:
                inputs.append(self._port(value))
            elif number == 12 and outputs is not None:
                outputs.append(self._port(value))
            elif number == 13 and known is not None:
                port = self._port(value)
                known[port.name] = port

    def _node(self, place: Place, depth: int) -> tuple[str, list[str]]:
        op, domain = "", ""
        made = []
        self.nodes += 1
        for number, wire, value in self.fields(place):
            if wire != 2:
                continue
            if number == 2:
                made.append(self.text(value))
            elif number == 4:
                op = self.text(value)
            elif number == 7:
                domain = self.text(value)
            elif number == 5:
                for inner, kind, part in self.fields(value):
                    if kind != 2:
                        continue
                    if inner in (5, 10):
                        self._tensor(part)
                    elif inner in (6, 11):
                        self._graph(part, depth + 1)
                    elif inner in (22, 23):
                        self._sparse(part)
        self.domains[domain] = None
        return op, made

    def _sparse(self, place: Place) -> None:
        for number, wire, value in self.fields(place):
            if wire == 2 and number in (1, 2):
                self._tensor(value)

    def _tensor(self, place: Place) -> tuple[str, int]:
        name, count, elsewhere = "", 1, False
        told: dict[str, str] = {}
        for number, wire, value in self.fields(place):
            if number == 1:
                for n in [value] if wire == 0 else self._packed(value):
                    count *= n
            elif number == 8 and wire == 2:
                name = self.text(value)
            elif number == 13 and wire == 2:
                elsewhere = True
                key = said = ""
                for inner, kind, part in self.fields(value):
                    if kind == 2 and inner == 1:
                        key = self.text(part)
                    elif kind == 2 and inner == 2:
                        said = self.text(part)
                told[key] = said
            elif number == 14 and wire == 0:
                elsewhere = elsewhere or value == 1
        if elsewhere:
            try:
                offset, length = int(told.get("offset") or 0), int(told.get("length") or 0)
            except ValueError:
                raise Spoilt(f"the place of {escaped(name[:80])} is damaged") from None
            self.external[External(told.get("location", ""), offset, length)] = None
        return name, count if 0 <= count < 1 << 48 else 0

    def _packed(self, place: Place) -> Iterator[int]:
        source = Source(self._stream, *place)
        for _ in range(64):
            if source.position >= place[1]:
                return
            yield _number(source)
        raise Spoilt("the shape of a tensor is not possible")

    def _port(self, place: Place) -> Port:
        name, kind = "", ""
        shape: tuple[int | str | None, ...] | None = None
        for number, wire, value in self.fields(place):
            if wire != 2:
                continue
            if number == 1:
                name = self.text(value)
            elif number == 2:
                for inner, form, part in self.fields(value):
                    if inner == 1 and form == 2:  # a dense tensor; sequences, maps and the like have no shape
                        kind, shape = self._type(part)
        return Port(name, kind, shape)

    def _type(self, place: Place) -> tuple[str, tuple[int | str | None, ...] | None]:
        kind = ""
        shape: list[int | str | None] | None = None
        for number, wire, value in self.fields(place):
            if number == 1 and wire == 0:
                kind = KINDS.get(value, f"type {value}")
            elif number == 2 and wire == 2:
                shape = []
                for inner, form, part in self.fields(value):
                    if inner == 1 and form == 2:
                        size: int | str | None = None
                        for deep, deeper, dim in self.fields(part):
                            if deep == 1 and deeper == 0:
                                size = dim if 0 < dim < 1 << 40 else None
                            elif deep == 2 and deeper == 2:
                                size = self.text(dim)[:100]
                        shape.append(size)
        return kind, None if shape is None else tuple(shape)


def elements(port: Port) -> int | None:
    """How many numbers one example of the port has; None when the file does not tell."""
    if port.shape is None or not all(isinstance(n, int) for n in port.shape[1:]):
        return None
    return math.prod(n for n in port.shape[1:] if isinstance(n, int))


def maps(found: Graph) -> tuple[Port, ...]:
    """The tensors between that could be patch maps: (B, C, rows, columns) with more than one place."""
    return tuple(
        port
        for port in found.between
        if port.shape is not None
        and len(port.shape) == 4
        and all(isinstance(n, int) for n in port.shape[1:])
        and any(isinstance(n, int) and n > 1 for n in port.shape[2:])
    )
