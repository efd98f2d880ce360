"""Which network is this? Found from the names and shapes in a checkpoint, without reading a number of it.

Computes    for each architecture: the prefix most of its names are found under; its options, read from shapes;
            then, name by name, what matches, misses, is unexpected or has another shape;
            score = matched / (wanted + unexpected), less a little for what lies outside the prefix
Shapes      a shape is a tuple of whole numbers
Reference   none
Departs     none
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isqrt, prod
from typing import Any

import torch
from torch import Tensor, nn

from facelens.errors import InputError, NeedsChoice
from facelens.features.models import MODELS, Spec
from facelens.features.models.iresnet import BLOCKS
from facelens.features.models.shapes import Shape, hollow, state_shapes
from facelens.words import escaped, tr

Shapes = Mapping[str, Shape]

# Layers that only training needs: scores of identities, centres, margins.
_HEADS = {
    *("logits", "classifier", "head", "heads", "margin", "metric", "metric_fc", "loss", "criterion", "product"),
    *("arcface", "cosface", "prototypes", "centers", "centres", "kernel", "weight", "weights", "fc"),
}
_SHOWN = 5  # names in a sentence


@dataclass(frozen=True)
class KeyReport:
    """How the names of a file fit one architecture.

    `matched`, `missing` and `misshaped` are the network's names, the rest are the file's.
    """

    architecture: str
    prefix: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    matched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    misshaped: tuple[tuple[str, Shape, Shape], ...] = ()  # name, shape in the file, shape wanted
    ignored: tuple[str, ...] = ()  # classifiers, counters, and what lies outside the prefix
    rivals: tuple[str, ...] = ()  # other prefixes under which the same names lie: a second network

    @property
    def fits(self) -> bool:
        """Whether every parameter finds its tensor and no tensor is left over."""
        return bool(self.matched) and not (self.missing or self.unexpected or self.misshaped)

    @property
    def wanted(self) -> int:
        """How many tensors the network needs."""
        return len(self.matched) + len(self.missing) + len(self.misshaped)

    @property
    def score(self) -> float:
        """1 for a perfect fit, 0 when nothing matches."""
        if not self.matched:
            return 0.0
        fraction = len(self.matched) / (self.wanted + len(self.unexpected))
        # Of two that fit, the one that explains more of the file is right.
        return fraction * (1 - 0.1 * len(self.ignored) / (len(self.ignored) + len(self.matched)))

    def sentence(self) -> str:
        """What a user reads: matched 318 of 320; missing: fc.weight; unexpected: head.weight."""
        parts = [tr("matched {n} of {total}", n=len(self.matched), total=self.wanted)]
        if self.missing:
            parts.append(tr("missing: {names}", names=_names(self.missing)))
        if self.unexpected:
            parts.append(tr("unexpected: {names}", names=_names(self.unexpected)))
        if self.misshaped:
            told = [f"{name} {_size(found)}, {_size(wanted)}" for name, found, wanted in self.misshaped]
            parts.append(tr("other shape than wanted: {names}", names=_names(told)))
        if self.ignored:
            parts.append(tr("not used: {names}", names=_names(self.ignored)))
        return "; ".join(parts)

    def spec(self) -> Spec:
        """The architecture with the options found, and a card that follows them."""
        return MODELS[self.architecture].fitted(self.options)


def guess(shapes: Shapes) -> list[tuple[str, float, KeyReport]]:
    """Every architecture with its score and report, best first."""
    names = [name for name in MODELS if name not in ("universal", "divided")]  # a divided network is its backbone
    if any(key.endswith("confidence.weight") for key in shapes):
        names.append("universal")
    found = [compare(name, shapes) for name in names]
    ranked = sorted(found, key=lambda report: -report.score)
    return [(report.architecture, report.score, report) for report in ranked]


def compare(
    architecture: str, shapes: Shapes, *, prefix: str | None = None, options: Mapping[str, Any] | None = None
) -> KeyReport:
    """How names and shapes fit one architecture; prefix and options are found where they are not given."""
    usual = state_shapes(architecture, {})
    votes = _prefixes(shapes, usual)
    if prefix is None:
        prefix = min(votes, key=lambda p: (-votes[p], len(p)), default="")
    inside = {key[len(prefix) :]: shape for key, shape in shapes.items() if key.startswith(prefix)}
    if options is None:
        options = _OPTIONS[architecture](inside) if architecture in _OPTIONS else {}
        options = _telling(architecture, options)
    try:
        wanted = state_shapes(architecture, options)
    except InputError:  # shapes that no network can have
        options, wanted = {}, usual
    matched = tuple(key for key in wanted if inside.get(key) == wanted[key])
    misshaped = tuple((key, inside[key], wanted[key]) for key in wanted if key in inside and inside[key] != wanted[key])
    missing = tuple(key for key in wanted if key not in inside and not key.endswith("num_batches_tracked"))
    left = {key: shape for key, shape in inside.items() if key not in wanted}
    dimensions = MODELS[architecture].fitted(options).card.dimensions
    heads = _heads(left, dimensions) | {key for key in left if key.endswith("num_batches_tracked")}
    outside = [key for key in shapes if not key.startswith(prefix)]
    return KeyReport(
        architecture,
        prefix,
        options,
        matched,
        missing,
        tuple(prefix + key for key in left if key not in heads),
        misshaped,
        (*(prefix + key for key in left if key in heads), *outside),
        tuple(p for p, n in votes.items() if p != prefix and votes.get(prefix, 0) and n >= 0.9 * votes[prefix]),
    )


def load(spec: Spec, tensors: Mapping[str, Any], *, prefix: str | None = None) -> nn.Module:
    """The network with the file's numbers in it, for evaluation; refused unless every parameter finds its tensor."""
    shapes = {key: tuple(tensor.shape) for key, tensor in tensors.items()}
    report = compare(spec.name, shapes, prefix=prefix, options=_telling(spec.name, spec.options))
    if not report.fits:
        raise InputError(
            tr(
                "The weights do not fit {network}: {report}.", network=spec.title or spec.name, report=report.sentence()
            ),
            hint=tr("Choose another architecture, or another file. Nothing was loaded."),
            details=details(report),
        )
    if prefix is None and report.rivals:
        raise NeedsChoice(
            tr("The file holds more than one network: {names}.", names=_names([report.prefix, *report.rivals])),
            hint=tr("Choose one of them."),
            options=(report.prefix, *report.rivals),
        )
    chosen = {key: torch.as_tensor(tensors[report.prefix + key]) for key in report.matched}
    network = hollow(spec).to_empty(device="cpu")
    for key, place in network.state_dict().items():
        if key not in chosen:
            chosen[key] = torch.zeros_like(place)  # only counters of batches can be absent here
        _check(report.prefix + key, chosen[key], place)
    network.load_state_dict(chosen, strict=True)
    return network.eval()


def details(report: KeyReport) -> str:
    """The whole report, one name to a line."""
    lines = [f"{MODELS[report.architecture].title}: {report.sentence()}"]
    if report.prefix:
        lines.append(tr("prefix: {prefix}", prefix=escaped(report.prefix)))
    lines += [tr("missing: {names}", names=escaped(key)) for key in report.missing]
    lines += [tr("unexpected: {names}", names=escaped(key)) for key in report.unexpected]
    lines += [
        tr("{name}: {found} in the file, {wanted} wanted", name=escaped(key), found=_size(found), wanted=_size(wanted))
        for key, found, wanted in report.misshaped
    ]
    lines += [tr("not used: {names}", names=escaped(key)) for key in report.ignored]
    return "\n".join(lines)


def _telling(architecture: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that differ from what the architecture usually has."""
    usual = MODELS[architecture]
    known = {"dimensions": usual.card.dimensions, "grid": usual.card.grid, "channels": usual.card.channels}
    known |= usual.options
    return {key: value for key, value in options.items() if key not in known or _plain(value) != _plain(known[key])}


def _plain(value: Any) -> Any:
    """Options come from JSON too, where a tuple is a list."""
    return list(value) if isinstance(value, tuple) else value


def _check(key: str, tensor: Tensor, place: Tensor) -> None:
    if place.is_floating_point() and not tensor.is_floating_point():
        raise InputError(
            tr("{name} holds whole numbers, not weights.", name=escaped(key)),
            hint=tr("The file may be quantised; use the file it was made from. Nothing was loaded."),
        )
    if place.is_floating_point() and not bool(torch.isfinite(tensor).all()):
        raise InputError(
            tr("{name} holds numbers that are not finite.", name=escaped(key)),
            hint=tr("Training went wrong before this file was saved; use an earlier one. Nothing was loaded."),
        )


def _prefixes(shapes: Shapes, usual: Shapes) -> Counter[str]:
    """How many of the file's names end in one of the network's, by what stands before."""
    votes: Counter[str] = Counter()
    for key in shapes:
        start = 0
        while True:
            if key[start:] in usual:
                votes[key[:start]] += 1
            dot = key.find(".", start)
            if dot < 0:
                break
            start = dot + 1
    return votes


def _heads(left: Shapes, dimensions: int) -> set[str]:
    """Tensors of classifiers: named like one, matrices with one axis as long as the embedding, and what lies by one."""
    matrices = {key.rpartition(".")[0] for key, shape in left.items() if len(shape) == 2}

    def is_head(key: str, shape: Shape) -> bool:
        if not _HEADS & set(key.split(".")):
            return False
        return dimensions in shape if len(shape) == 2 else len(shape) <= 1 and key.rpartition(".")[0] in matrices

    return {key for key, shape in left.items() if is_head(key, shape)}


def _names(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(escaped(name) or tr("(no prefix)") for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else tr("{names} and {n} more", names=shown, n=len(names) - _SHOWN)


def _size(shape: Shape) -> str:
    return " × ".join(map(str, shape)) or "1"


# Options from shapes, one function for each architecture ----------------------------------------------------------


def _rows(shapes: Shapes, key: str) -> int:
    shape = shapes.get(key, ())
    return shape[0] if shape else 0


def _dimensions(shapes: Shapes, key: str) -> dict[str, Any]:
    return {"dimensions": rows} if (rows := _rows(shapes, key)) else {}


def _grid(places: int) -> dict[str, Any]:
    """Rows and columns of a map with so many places: square, or seven to six like the 112 x 96 crop."""
    if places > 0 and isqrt(places) ** 2 == places:
        return {"grid": (isqrt(places), isqrt(places))}
    if places > 0 and places % 42 == 0 and isqrt(places // 42) ** 2 == places // 42:
        return {"grid": (7 * isqrt(places // 42), 6 * isqrt(places // 42))}
    return {}


def _flat(shapes: Shapes, key: str, channels: int) -> dict[str, Any]:
    """Embedding and map of a network that ends in a matrix over all places."""
    shape = shapes.get(key, ())
    if len(shape) != 2 or shape[1] % channels:
        return {}
    return {"dimensions": shape[0], **_grid(shape[1] // channels)}


def _kernel(shapes: Shapes, key: str) -> dict[str, Any]:
    shape = shapes.get(key, ())
    return {"grid": (shape[2], shape[3])} if len(shape) == 4 else {}


def _channels(shapes: Shapes, key: str) -> dict[str, Any]:
    shape = shapes.get(key, ())
    return {"channels": shape[1]} if len(shape) == 4 and shape[1] in (1, 3) else {}


def _count(shapes: Shapes, stem: str) -> int:
    """How many numbered modules lie below `stem`."""
    return len({key[len(stem) :].split(".")[0] for key in shapes if key.startswith(stem)})


def _iresnet(shapes: Shapes) -> dict[str, Any]:
    return _flat(shapes, "fc.weight", 512)


def _deepest(shapes: Shapes) -> dict[str, Any]:
    """As the others, and any number of blocks that has no name of its own."""
    blocks = tuple(_count(shapes, f"layer{stage}.") for stage in (1, 2, 3, 4))
    known = blocks in BLOCKS.values() or not all(blocks) or sum(blocks) > 1000
    return _iresnet(shapes) | ({} if known else {"blocks": blocks})


def _casia(shapes: Shapes) -> dict[str, Any]:
    return _dimensions(shapes, "linear1.conv.weight") | _kernel(shapes, "linear7.conv.weight")


def _facexzoo(shapes: Shapes) -> dict[str, Any]:
    return _dimensions(shapes, "linear.weight") | _kernel(shapes, "conv_6_dw.conv.weight")


def _foamliu(shapes: Shapes) -> dict[str, Any]:
    return _dimensions(shapes, "conv3.weight") | _kernel(shapes, "gdconv.depthwise.weight")


def _insightface(shapes: Shapes) -> dict[str, Any]:
    options = _dimensions(shapes, "features.layers.2.weight") | _kernel(shapes, "features.layers.0.layers.0.weight")
    if (width := _rows(shapes, "layers.0.layers.0.weight")) and width % 64 == 0:
        options["scale"] = width // 64
    if "layers.1.layers.0.layers.0.layers.0.weight" in shapes:
        first = _count(shapes, "layers.1.layers.")
    else:
        first = 1
    blocks = (first, *(_count(shapes, f"layers.{i}.layers.") for i in (3, 5, 7)))
    return options | ({"blocks": blocks} if all(blocks) and sum(blocks) < 1000 else {})


def _sphere(shapes: Shapes) -> dict[str, Any]:
    blocks = tuple(_count(shapes, f"layer{stage}.") - 2 for stage in (1, 2, 3, 4))
    options = _flat(shapes, "fc.weight", 512) | _channels(shapes, "layer1.0.weight")
    return options | ({"blocks": blocks} if min(blocks) > 0 and blocks != (1, 2, 4, 1) and sum(blocks) < 1000 else {})


def _resnetface(shapes: Shapes) -> dict[str, Any]:
    options = _flat(shapes, "fc5.weight", 512) | _channels(shapes, "conv1.weight")
    return options | ({"squeeze": True} if "layer1.0.se.fc.0.weight" in shapes else {})


def _inception(shapes: Shapes) -> dict[str, Any]:
    return _dimensions(shapes, "last_linear.weight")


def _resnet50(shapes: Shapes) -> dict[str, Any]:
    rows = _rows(shapes, "fc.weight")
    # ImageNet's thousand classes, or more rows than columns, are a classifier: the embedding is the mean of the map.
    return {"dimensions": rows if 0 < rows < 2048 and rows != 1000 else 2048}


def _small(shapes: Shapes) -> dict[str, Any]:
    return (
        _dimensions(shapes, "linear.weight") | _kernel(shapes, "places.0.weight") | _channels(shapes, "stem.0.weight")
    )


def _universal(shapes: Shapes) -> dict[str, Any]:
    parts = _rows(shapes, "confidence.weight")
    inner = {key.removeprefix("backbone."): shape for key, shape in shapes.items() if key.startswith("backbone.")}
    if not parts or prod(shapes["confidence.weight"]) == 0 or not inner:
        return {}
    reports = [compare(name, inner, prefix="") for name in MODELS if name not in ("universal", "divided")]
    best = max(reports, key=lambda report: report.score)
    options: dict[str, Any] = {"backbone": best.architecture, "parts": parts}
    if hidden := _rows(shapes, "uncertainty.fc1.weight"):
        options["uncertainty"] = hidden
    return options | ({"backbone_options": dict(best.options)} if best.options else {})


_OPTIONS: dict[str, Callable[[Shapes], dict[str, Any]]] = {
    "iresnet18": _iresnet,
    "iresnet34": _iresnet,
    "iresnet50": _iresnet,
    "iresnet100": _deepest,
    "mobilefacenet_casia": _casia,
    "mobilefacenet_facexzoo": _facexzoo,
    "mobilefacenet_foamliu": _foamliu,
    "mobilefacenet_insightface": _insightface,
    "sphere20": _sphere,
    "resnetface18": _resnetface,
    "inception_resnet_v1": _inception,
    "resnet50": _resnet50,
    "small_plain": _small,
    "small_residual": _small,
    "small_dense": _small,
    "universal": _universal,
}
