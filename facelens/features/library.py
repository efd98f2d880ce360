"""Models at hand: what a file is, how it will be fed, and the encoder that comes of it.

`inspect` looks, `encoder` makes ready. An Inspection holds no tensors and needs no torch, so it can travel to the
window; torch is imported only inside the functions here, which run in the worker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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

_MOST = 12  # further state dicts that are offered as networks
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
    networks: tuple[str, ...] = ()  # those in the file where it holds several: STATE DICT:PREFIX; the first is in use

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
    network: str | None = None,
    consents: Callable[[str], bool] = nobody,
    tick: Tick = silent,
) -> Inspection:
    """Open the file safely and say what network it is; `card`, or else the one beside the file, decides.

    With `architecture` weights are compared with that one, whatever a card beside the file says. `network` is one of
    several in the file, by its name in `Inspection.networks` or by a part of that name that only it has.
    """
    if architecture is not None and card is None:
        given = None
    else:
        given = _given_card(Path(path), card)
    if network is not None and (given is None or network != given.network):
        network = _named(Path(path), network, consents=consents)
        given = None  # a card says how another network is fed
    chosen = network or (given.network if given is not None else "")
    file = open_model(Path(path), consents=consents, take=_container(chosen), tick=tick)
    if file.kind == WEIGHTS and architecture is not None and card is None:
        return _weights(file, None, architecture, network=chosen)
    if file.kind == WEIGHTS:
        return _weights(file, given, network=chosen)
    if file.kind == ONNX:
        assert file.graph is not None
        return _onnx(file, file.graph, given)
    return _program(file, given)


def _container(network: str) -> str | None:
    """The state dict of a network, None for the usual one."""
    return network.partition(":")[0] if network else None


def network_words(network: str) -> str:
    """The name of a network for people.

    >>> network_words("state_dict:encoder_k."), network_words("ema:")
    ('state_dict, encoder_k', 'ema')
    """
    container, _, prefix = network.partition(":")
    return ", ".join(escaped(part.rstrip(".")) for part in (container, prefix) if part) or tr("the top")


def _named(path: Path, name: str, *, consents: Callable[[str], bool]) -> str:
    """The network of a file that is meant by `name`."""
    found = open_model(path, consents=consents)
    known = _networks(found) if found.kind == WEIGHTS else ()
    for fits in (
        lambda one: one == name,
        lambda one: network_words(one) == name or name.rstrip(".") in [part.rstrip(".") for part in one.split(":")],
    ):
        meant = [one for one in known if fits(one)]
        if len(meant) == 1:
            return meant[0]
    raise InputError(
        tr("{file} holds no network {name}.", file=escaped(path.name), name=escaped(name)),
        hint=tr("It holds {names}.", names="; ".join(map(network_words, known)) or tr("one only")),
    )


def _networks(file: ModelFile, prefixes: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Names of all networks one could take out of a file, the usual one first."""
    from facelens.features.models import guess

    assert file.contents is not None
    if prefixes is None:
        report = guess.guess({name: tuple(tensor.shape) for name, tensor in file.contents.tensors.items()})[0][2]
        prefixes = (report.prefix, *report.rivals)
    here = tuple(f"{file.contents.container}:{prefix}" for prefix in prefixes)
    return (*here, *(f"{path}:" for path in file.contents.others[:_MOST]))


def encoder(
    path: Path,
    *,
    card: Path | Card | None = None,
    consents: Callable[[str], bool] = nobody,
    network: str | None = None,
    threads: int | None = None,
    tick: Tick = silent,
) -> tuple[Encoder, Inspection]:
    """The model ready to be used; refused with the key report where the weights do not fit."""
    from facelens.features.encoder import FileEncoder, TorchEncoder, use_cores

    given = _given_card(Path(path), card)
    if network is not None and (given is None or network != given.network):
        network, given = _named(Path(path), network, consents=consents), None
    chosen = network or (given.network if given is not None else "")
    file = open_model(Path(path), consents=consents, take=_container(chosen), tick=tick)
    cores = use_cores(threads)
    if file.kind == WEIGHTS:
        from facelens.features.models import MODELS, guess, shapes

        assert file.contents is not None
        seen = _weights(file, given, network=chosen)
        spec = shapes.tapping(MODELS[seen.card.architecture].fitted(seen.card.options), seen.card.patch_layer)
        loaded = guess.load(spec, file.contents.tensors, prefix=seen.keys.prefix)
        return TorchEncoder(loaded, seen.card), seen
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


def _weights(file: ModelFile, given: Card | None, architecture: str | None = None, *, network: str = "") -> Inspection:
    from facelens.features.models import MODELS, guess
    from facelens.features.models import shapes as measuring

    assert file.contents is not None
    shapes = {name: tuple(tensor.shape) for name, tensor in file.contents.tensors.items()}
    # Without a chosen network the prefix is found; that of a whole state dict is found as well.
    prefix = network.partition(":")[2] or None
    if prefix is not None:
        shapes = {name: shape for name, shape in shapes.items() if name.startswith(prefix)}
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
    whole = report
    if prefix is not None:
        whole = guess.compare(
            report.architecture,
            {name: tuple(tensor.shape) for name, tensor in file.contents.tensors.items()},
            options=report.options,
        )
    networks = _networks(file, tuple(dict.fromkeys((report.prefix, whole.prefix, *whole.rivals))))
    if whole.rivals:
        notes.append(
            tr(
                "The file holds more than one network: the one under {used} is used, not {others}.",
                used=network_words(f":{report.prefix}"),
                others=", ".join(
                    network_words(f":{one}") for one in (whole.prefix, *whole.rivals) if one != report.prefix
                ),
            )
        )
    spec = report.spec()
    card = given or spec.card.changed(name=_name(file.path))
    if given is None and network:
        card = card.changed(name=f"{card.name} ({network_words(network)})", network=network)
    layers = measuring.layers(replace(spec, card=card))
    if (sides := dict(layers).get(card.patch_layer)) is not None:
        card = card.changed(grid=sides[1:])  # what the layer gives at this size, whatever the card says
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
        layers=tuple((name, _shape(sides)) for name, sides in layers),
        rivals=tuple((name, MODELS[name].title, score) for name, score, _ in ranked[1:4] if score > 0.05),
        notes=tuple(notes),
        code=file.contents.code,
        from_card=given is not None,
        networks=networks if len(networks) > 1 else (),
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
