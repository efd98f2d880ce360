"""Models at hand: what a file is, how it will be fed, and the encoder that comes of it.

`inspect` looks, `encoder` makes ready. An Inspection holds no tensors and needs no torch, so it can travel to the
window; torch is imported only inside the functions here, which run in the worker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.errors import InputError
from facelens.features import card as cards
from facelens.features.card import Card
from facelens.features.checkpoint import ONNX, TORCHSCRIPT, WEIGHTS, ModelFile, nobody, open_model
from facelens.progress import Tick, silent
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.features.encoder import Encoder
    from facelens.features.graph import Graph, Port

SURE = 0.9  # score from which a guess is shown as the answer and not as a question


@dataclass(frozen=True)
class Keys:
    """How the names in the file fit the network; sentences and lists for the key report."""

    sentence: str = ""
    matched: int = 0
    wanted: int = 0
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    misshaped: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    prefix: str = ""


@dataclass(frozen=True)
class Inspection:
    """What FaceLens says about a model file before it is used."""

    path: Path
    kind: str  # weights, onnx, torchscript
    sha256: str
    size: int
    card: Card
    title: str = ""
    score: float = 1.0
    keys: Keys = Keys()
    rivals: tuple[tuple[str, str, float], ...] = ()  # other architectures: name, title, score
    layers: tuple[tuple[str, str], ...] = ()  # tensors that can be tapped as patch map, with their shape in words
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()  # what the file wanted to run; nothing was
    from_card: bool = False  # the card lay beside the file

    @property
    def fits(self) -> bool:
        """Whether it can be used as it is."""
        keys = self.keys
        return self.kind != WEIGHTS or (keys.matched > 0 and not (keys.missing or keys.unexpected or keys.misshaped))


def inspect(
    path: Path,
    *,
    card: Path | Card | None = None,
    architecture: str | None = None,
    consents: Callable[[str], bool] = nobody,
    take: str | None = None,
    tick: Tick = silent,
) -> Inspection:
    """Open the file safely and say what network it is; `card`, or else the one beside the file, decides.

    With `architecture` weights are compared with that one, whatever a card beside the file says.
    """
    file = open_model(Path(path), consents=consents, take=take, tick=tick)
    if file.kind == WEIGHTS and architecture is not None and card is None:
        return _weights(file, None, architecture)
    given = _given_card(file.path, card)
    if file.kind == WEIGHTS:
        return _weights(file, given)
    if file.kind == ONNX:
        assert file.graph is not None
        return _onnx(file, file.graph, given)
    return _program(file, given)


def encoder(
    path: Path,
    *,
    card: Path | Card | None = None,
    consents: Callable[[str], bool] = nobody,
    take: str | None = None,
    threads: int | None = None,
    tick: Tick = silent,
) -> tuple[Encoder, Inspection]:
    """The model ready to be used; refused with the key report where the weights do not fit."""
    from facelens.features.encoder import FileEncoder, TorchEncoder, use_cores

    file = open_model(Path(path), consents=consents, take=take, tick=tick)
    given = _given_card(file.path, card)
    cores = use_cores(threads)
    if file.kind == WEIGHTS:
        from facelens.features.models import MODELS, guess

        assert file.contents is not None
        seen = _weights(file, given)
        options = dict(seen.card.options)
        if seen.card.patch_layer:
            options["patch_layer"] = seen.card.patch_layer
        spec = MODELS[seen.card.architecture].fitted(options)
        network = guess.load(spec, file.contents.tensors, prefix=seen.keys.prefix)
        return TorchEncoder(network, seen.card), seen
    if file.kind == ONNX:
        from facelens.features.onnx import OnnxEncoder

        assert file.graph is not None
        seen = _onnx(file, file.graph, given)
        session = OnnxEncoder(file.path, file.graph, patches=seen.card.patch_layer, threads=1)
        return FileEncoder(session, seen.card, streams=cores), seen
    from facelens.features.checkpoint import load_program
    from facelens.features.encoder import Program

    seen = _program(file, given)
    return TorchEncoder(Program(load_program(file, consents=consents)), seen.card, fast=False), seen


def _given_card(path: Path, card: Path | Card | None) -> Card | None:
    if isinstance(card, Card):
        return card
    if card is not None:
        return cards.load(Path(card))
    lying = cards.beside(path)
    return cards.load(lying) if lying.is_file() else None


def _weights(file: ModelFile, given: Card | None, architecture: str | None = None) -> Inspection:
    from facelens.features.models import MODELS, guess

    assert file.contents is not None
    shapes = {name: tuple(tensor.shape) for name, tensor in file.contents.tensors.items()}
    if given is not None:
        if given.architecture not in MODELS:
            known = ", ".join(sorted(MODELS))
            raise InputError(
                tr("The card names a network FaceLens does not know: {name}.", name=escaped(given.architecture)),
                hint=tr("Known are {known}.", known=known),
            )
        report = guess.compare(given.architecture, shapes, options=dict(given.options))
        ranked = [(report.architecture, report.score, report)]
    else:
        ranked = guess.guess(shapes)
        if architecture is not None:  # chosen by the user: it comes first, however it fits
            chosen = guess.compare(architecture, shapes)
            ranked = [(architecture, chosen.score, chosen), *(one for one in ranked if one[0] != architecture)]
        report = ranked[0][2]
    notes = [*file.notes, *file.contents.notes]
    if report.rivals:
        others = ", ".join(escaped(prefix) or tr("the top") for prefix in report.rivals)
        used = escaped(report.prefix) or tr("the top")
        notes.append(
            tr(
                "The file holds more than one network: the one under {used} is used, not {others}.",
                used=used,
                others=others,
            )
        )
    spec = report.spec()
    card = given or spec.card.changed(name=_name(file.path))
    told = tuple(
        f"{name}: {_shape(found)} in the file, {_shape(wanted)} wanted" for name, found, wanted in report.misshaped
    )
    return Inspection(
        file.path,
        file.kind,
        file.sha256,
        file.size,
        card,
        title=spec.title,
        score=report.score,
        keys=Keys(
            report.sentence(),
            len(report.matched),
            report.wanted,
            report.missing,
            report.unexpected,
            told,
            report.ignored,
            report.prefix,
        ),
        rivals=tuple((name, MODELS[name].title, score) for name, score, _ in ranked[1:4] if score > 0.05),
        notes=tuple(notes),
        code=file.contents.code,
        from_card=given is not None,
    )


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or tr("a single number")


def _name(path: Path) -> str:
    """A name for people: the file's, with its folder where the file's own says little."""
    stem = path.name
    for ending in (".tar", ".pth", ".pt", ".ckpt", ".pkl", ".safetensors", ".onnx", ".state_dict"):
        stem = stem.removesuffix(ending)
    plain = stem.lower() in ("model", "checkpoint", "best", "last", "backbone", "weights") or stem.isdigit()
    return f"{path.parent.name} {stem}" if plain and path.parent.name else stem


def _onnx(file: ModelFile, graph: Graph, given: Card | None) -> Inspection:
    from facelens.features.onnx import check

    check(file.path, graph)
    layers = tuple((port.name, _shape(sides)) for port in graph.between if (sides := _sides(port)))
    card = given
    if card is None:
        shape = graph.inputs[0].shape if len(graph.inputs) == 1 else None
        if shape is None or len(shape) != 4 or len(graph.outputs) != 1:
            raise InputError(
                tr(
                    "{name} is no face encoder: inputs {i}, outputs {o}.",
                    name=escaped(file.path.name),
                    i=len(graph.inputs),
                    o=len(graph.outputs),
                ),
                hint=tr("An encoder takes one picture and gives one vector. A detector is for aligning photographs."),
            )
        size = tuple(side if isinstance(side, int) else 112 for side in shape[2:])
        wide = graph.outputs[0].shape
        dimensions = wide[-1] if wide and isinstance(wide[-1], int) else 512
        patch = _last_map(graph)
        grey = shape[1] == 1
        card = Card(
            _name(file.path),
            "onnx",
            size=(size[0], size[1]),
            order="GREY" if grey else "RGB",
            mean=(127.5,) if grey else (127.5,) * 3,
            std=(127.5,) if grey else (127.5,) * 3,
            dimensions=int(dimensions),
            patch_layer=patch[0] if patch else "",
            grid=patch[1] if patch else None,
            notes=tr("Channel order and scaling are assumed: an ONNX file does not say them."),
        )
    return Inspection(
        file.path,
        file.kind,
        file.sha256,
        file.size,
        card,
        title=tr("ONNX, {n} nodes", n=graph.nodes),
        layers=layers,
        notes=file.notes,
        from_card=given is not None,
    )


def _sides(port: Port) -> tuple[int, int, int] | None:
    """Channels, rows and columns of a tensor that is a map, else None."""
    shape = port.shape or ()
    sides = [side for side in shape[1:] if isinstance(side, int) and side > 1]
    return (sides[0], sides[1], sides[2]) if len(shape) == 4 and len(sides) == 3 else None


def _last_map(graph: Graph) -> tuple[str, tuple[int, int]] | None:
    """The last tensor that still knows where things are; of those on the last grid the one that knows most."""
    maps = [(port.name, sides) for port in graph.between if (sides := _sides(port)) and sides[0] > max(sides[1:])]
    last = [(name, sides) for name, sides in maps if sides[1:] == maps[-1][1][1:]]
    best = max(reversed(last), key=lambda one: one[1][0], default=None)
    return (best[0], (best[1][1], best[1][2])) if best else None


def _program(file: ModelFile, given: Card | None) -> Inspection:
    card = given or Card(_name(file.path), "torchscript", notes=tr("Everything about the input is assumed."))
    return Inspection(
        file.path,
        TORCHSCRIPT,
        file.sha256,
        file.size,
        card,
        title=tr("TorchScript program"),
        notes=file.notes,
        from_card=given is not None,
    )
