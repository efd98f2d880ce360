"""Networks, one file each, with the state-dict names of their public releases. MODELS lists what FaceLens knows.

Only this table is cheap to import: the files behind it import torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from facelens.errors import InputError
from facelens.features.card import Card
from facelens.words import tr

if TYPE_CHECKING:
    from torch import Tensor, nn


class Output(NamedTuple):
    """What every network returns.

    embedding   (B, D), not normalised; heads with sub-embeddings or learners give each of their parts length 1
    patches     (B, C, rows, columns) or None: the last feature map that still knows where things are
    confidence  (B, K) or None: one number for each sub-embedding, higher is surer
    """

    embedding: Tensor
    patches: Tensor | None = None
    confidence: Tensor | None = None


@dataclass(frozen=True)
class Spec:
    """One architecture: where it is built, the card it usually has, and how many parameters that makes."""

    name: str
    place: str  # "module:function" below this package; the function takes `options` and returns an nn.Module
    card: Card
    parameters: int
    title: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def build(self, **options: Any) -> nn.Module:
        """The network, freshly initialised; its forward takes (B, channels, height, width) and returns an Output."""
        module, function = self.place.split(":")
        maker = getattr(import_module(f"{__name__}.{module}"), function)
        try:
            made: nn.Module = maker(**{**self.options, **options})
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RuntimeError) as error:
            # Options come out of cards, which people edit.
            raise InputError(
                tr("{network} cannot be built with the options of its card.", network=self.title or self.name),
                hint=tr("Correct the options in the card, or remove them."),
                details=f"{self.options} {options}: {error}",
            ) from error
        return made

    def fitted(self, options: Mapping[str, Any]) -> Spec:
        """The architecture with some options set; the card keeps them and follows what they say about the input."""
        merged = {**self.options, **options}
        inner = MODELS.get(merged.get("backbone", ""))
        if inner is None:
            card = _following(self.card, options)
        else:  # a head is fed as its backbone is
            fed = inner.fitted(merged.get("backbone_options") or {}).card
            kept = {"name": self.card.name, "architecture": self.card.architecture, "licence": self.card.licence}
            card = fed.changed(**kept, options={**self.card.options, **options})
        return replace(self, options=merged, card=card)


def _following(card: Card, options: Mapping[str, Any]) -> Card:
    changes: dict[str, Any] = {"options": {**card.options, **options}}
    if "dimensions" in options:
        changes["dimensions"] = int(options["dimensions"])
    if "patch_layer" in options:
        changes["patch_layer"] = str(options["patch_layer"])
        if options["patch_layer"] != card.patch_layer:
            changes["grid"] = None
    if options.get("channels") == 1 and card.channels == 3:
        changes |= {"order": "GREY", "mean": card.mean[:1], "std": card.std[:1]}
    elif options.get("channels") == 3 and card.channels == 1:
        changes |= {"order": "RGB", "mean": card.mean * 3, "std": card.std * 3}
    if card.grid and "grid" in options and tuple(options["grid"]) != card.grid:
        rows, columns = options["grid"]
        size = (card.size[0] // card.grid[0] * rows, card.size[1] // card.grid[1] * columns)
        changes |= {"grid": (rows, columns), "size": size, "crop": NARROW if size == (112, 96) else None}
    return card.changed(**changes)


NARROW = (0, 8, 112, 104)  # columns 8..103 of a 112 x 112 crop: the 112 x 96 crop of SphereFace and CosFace
_IMAGENET: dict[str, Any] = {"mean": (123.675, 116.28, 103.53), "std": (58.395, 57.12, 57.375)}
_128 = (128.0, 128.0, 128.0)


def _spec(
    name: str, place: str, parameters: int, *, title: str, options: Mapping[str, Any] | None = None, **card: Any
) -> Spec:
    return Spec(name, place, Card(name, name, **card), parameters, title, options or {})


def _iresnet(depth: int, parameters: int) -> Spec:
    return _spec(
        f"iresnet{depth}",
        "iresnet:IResNet",
        parameters,
        title=f"IResNet-{depth}",
        options={"depth": depth},
        patch_layer="bn2",
        grid=(7, 7),
    )


def _small(kind: str, parameters: int, dimensions: int) -> Spec:
    return _spec(
        f"small_{kind}",
        "small:Small",
        parameters,
        title=f"Small, {kind}",
        options={"kind": kind, "dimensions": dimensions},
        size=(64, 64),
        dimensions=dimensions,
        patch_layer="stage3",
        grid=(8, 8),
    )


_LIST = (
    _iresnet(18, 24_025_600),
    _iresnet(34, 34_139_328),
    _iresnet(50, 43_590_848),
    _iresnet(100, 65_156_160),
    _spec(
        "mobilefacenet_casia",
        "mobilefacenet:CasiaMobileFaceNet",
        999_552,
        title="MobileFaceNet (casia)",
        size=(112, 96),
        std=_128,
        crop=NARROW,
        dimensions=128,
        patch_layer="conv2",
        grid=(7, 6),
        notes="Published weights of this layout state no licence.",
    ),
    _spec(
        "mobilefacenet_facexzoo",
        "mobilefacenet:FaceXZooMobileFaceNet",
        1_200_512,
        title="MobileFaceNet (FaceX-Zoo)",
        order="BGR",
        std=_128,
        patch_layer="conv_6_sep",
        grid=(7, 7),
        notes="Published weights of this layout: Apache-2.0.",
    ),
    _spec(
        "mobilefacenet_foamliu",
        "mobilefacenet:FoamliuMobileFaceNet",
        999_936,
        title="MobileFaceNet (foamliu)",
        **_IMAGENET,
        dimensions=128,
        patch_layer="conv2",
        grid=(7, 7),
        notes="Published weights of this layout: Apache-2.0.",
    ),
    _spec(
        "mobilefacenet_insightface",
        "mobilefacenet:InsightFaceMobileFaceNet",
        2_059_520,
        title="MobileFaceNet (insightface)",
        options={"blocks": (1, 4, 6, 2), "scale": 2},
        patch_layer="conv_sep",
        grid=(7, 7),
        notes="Published weights of this layout: non-commercial research.",
    ),
    _spec(
        "sphere20",
        "sphere20:Sphere",
        22_666_944,
        title="Sphere20 (CosFace)",
        size=(112, 96),
        crop=NARROW,
        patch_layer="layer4",
        grid=(7, 6),
    ),
    _spec(
        "resnetface18",
        "resnetface:ResNetFace",
        25_627_081,
        title="ResNetFace-18 (ArcFace)",
        size=(128, 128),
        order="GREY",
        mean=(127.5,),
        std=(127.5,),
        patch_layer="dropout",
        grid=(8, 8),
        notes="Alignment assumed: the 112 x 112 template, enlarged.",
    ),
    _spec(
        "inception_resnet_v1",
        "inception_resnet:InceptionResNetV1",
        23_482_624,
        title="Inception-ResNet-v1 (FaceNet)",
        size=(160, 160),
        std=_128,
        template="facenet160",
        patch_layer="block8",
        grid=(3, 3),
    ),
    _spec(
        "resnet50",
        "resnet50:ResNet50",
        24_557_120,
        title="ResNet-50",
        size=(224, 224),
        template="none",
        **_IMAGENET,
        patch_layer="layer4",
        grid=(7, 7),
    ),
    _spec(
        "resnet50_neck",
        "resnet50:ResNet50Neck",
        23_512_128,
        title="ResNet-50 with bag-of-tricks neck",
        size=(256, 128),
        template="none",
        **_IMAGENET,
        dimensions=2048,
        patch_layer="layer4",
        grid=(16, 8),
    ),
    _spec("cnn4", "cnn4:CNN4", 1_551_936, title="Four-layer CNN", patch_layer="layer4", grid=(7, 7)),
    _small("plain", 340_440, 128),
    _small("residual", 358_344, 96),
    _small("dense", 300_768, 128),
    _spec(
        "universal",
        "universal:universal",
        65_557_584,
        title="Sub-embeddings with confidence",
        options={"backbone": "iresnet100", "parts": 16},
        patch_layer="bn2",
        grid=(7, 7),
    ),
    _spec(
        "divided",
        "divided:divided",
        23_770_304,
        title="Learners on slices",
        options={"backbone": "resnet50", "learners": 8, "backbone_options": {"dimensions": 128}},
        size=(224, 224),
        template="none",
        **_IMAGENET,
        dimensions=128,
        patch_layer="layer4",
        grid=(7, 7),
    ),
)
MODELS: Mapping[str, Spec] = {spec.name: spec for spec in _LIST}
