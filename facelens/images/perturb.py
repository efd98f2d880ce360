"""Variations done to a face on purpose, by strength and seed, and labels that say which were done.

Computes    u_t = 1 where variation t was done. At strength s in (0, 1], lengths at a face of 112 px:
            blur            Gaussian, standard deviation 2 s px; kernels of 3 to 11 px are strengths 0.4 to 1
            occlusion       the picture in 7 x 7 blocks, ceil(24 s) random ones black
            pose            the head turned by 60 s degrees to a random side, approximately
            low_resolution  the shorter side brought down to 16^s S^(1-s) px and up again, S = side before
            mask            cloth over chin, mouth and, from 0.65 on, the nose
            sunglasses      dark glasses over both eyes, larger and darker with s
            crop70          (1 - 0.3 s) of each side, at a random place, enlarged to the whole picture, so that nothing
                            is left to fill; the crops that the authors of DeepFace-EMD give as examples are made so
Shapes      picture (H, W, 3) uint8, also (H, W) and (H, W, 1), any size; u (T,) uint8 in the order of VARIATIONS;
            landmarks (5, 2) x and y in pixels, else the face is taken to lie where the ArcFace template has it
Reference   Shi, Yu, Sohn, Chandraker, Jain, "Towards Universal Representation Learning for Deep Face Recognition",
            CVPR 2020 (blur, occlusion, pose, each with probability 0.3); Phan, Nguyen, "DeepFace-EMD", CVPR 2022
            (mask, sunglasses, crop)
Departs     pose is no 3-D fit: the face is pulled over an upright rounded cylinder, what the picture does not show is
            stretched from what is beside it, and the nose stays flat; the Gaussian is Pillow's, three box passes, and
            its width grows with the picture; mask and sunglasses are drawn
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFilter

from facelens.images.align import TEMPLATES
from facelens.words import tr

Picture = NDArray[np.uint8]
Points = NDArray[np.float64]

BLUR = 2.0  # px at 112: what a Gaussian kernel of 11 px has
BLOCKS = 7
MOST_BLOCKS = 24  # of 49: about half a face is still a face
YAW = 60.0  # degrees
SMALLEST = 16  # px
CROP = 0.7

_FINE = 3  # shapes are drawn this much larger and averaged, so that their edges are smooth
_TEMPLATE = TEMPLATES["arcface112"].points
_EYES_APART, _EYES_TO_MOUTH = 35.24, 40.69  # px in the template
_ASIDE = math.radians(12)  # less than this may be the shape of a nose
_CLOTHS = ((158, 196, 216), (238, 239, 240), (44, 46, 51), (150, 190, 176))
_LENSES = ((20, 20, 24), (44, 32, 24), (16, 26, 34))


class Perturbed(NamedTuple):
    """A varied picture.

    labels  (T,) uint8, 1 where a variation was done, in the order of VARIATIONS
    what    strength by name, in the order they were done
    """

    picture: Picture
    labels: NDArray[np.uint8]
    what: dict[str, float]


class Vary(Protocol):
    """One variation: nothing at strength 0, most at 1; the same seed gives the same picture."""

    def __call__(
        self, picture: Picture, strength: float, *, seed: int = 0, landmarks: ArrayLike | None = None
    ) -> Picture: ...


class Variation(NamedTuple):
    """What is done, and the strengths that are drawn where none is given."""

    vary: Vary
    drawn: tuple[float, float]


class _Face(NamedTuple):
    """The five points and a frame through them: `right` and `down` are unit vectors, `px` one template pixel."""

    points: Points
    eyes: Points
    nose: Points
    mouth: Points
    right: Points
    down: Points
    px: float

    def at(self, start: Points, across: float, along: float) -> Points:
        """The point `across` and `along` template pixels from `start`."""
        found: Points = start + self.px * (across * self.right + along * self.down)
        return found


_Work = Callable[[Picture, float, np.random.Generator, _Face], Picture]


def _variation(work: _Work) -> Vary:
    """What all variations share: grey pictures, strength 0, seeds and missing landmarks."""

    def vary(picture: Picture, strength: float, *, seed: int = 0, landmarks: ArrayLike | None = None) -> Picture:
        if (
            picture.dtype != np.uint8
            or picture.ndim not in (2, 3)
            or (picture.ndim == 3 and picture.shape[2] not in (1, 3))
        ):
            raise ValueError(f"a picture is (H, W, 3) uint8, not {picture.shape} {picture.dtype}")
        if not 0 <= strength <= 1:
            raise ValueError(f"a strength lies between 0 and 1: {strength}")
        if strength == 0 or not picture.size:
            return picture.copy()
        face = _face(landmarks, picture.shape[0], picture.shape[1])
        coloured = picture if picture.ndim == 3 and picture.shape[2] == 3 else np.dstack([picture] * 3)
        made = work(np.ascontiguousarray(coloured), float(strength), np.random.default_rng(seed), face)
        if coloured is not picture:
            made = np.asarray(Image.fromarray(made).convert("L")).reshape(picture.shape)
        return np.array(made)  # Pillow's are read-only

    vary.__name__ = work.__name__.lstrip("_")
    vary.__doc__ = work.__doc__
    return vary


def _blur(picture: Picture, strength: float, rng: np.random.Generator, face: _Face) -> Picture:
    """Out of focus."""
    radius = strength * max(BLUR * min(picture.shape[:2]) / 112, 0.6)  # less would not be seen in any pixel
    return np.asarray(Image.fromarray(picture).filter(ImageFilter.GaussianBlur(radius)))


def _occlusion(picture: Picture, strength: float, rng: np.random.Generator, face: _Face) -> Picture:
    """Black blocks. A weaker one covers a part of what a stronger one of the same seed covers."""
    hidden = np.zeros(BLOCKS * BLOCKS, bool)
    hidden[rng.permutation(BLOCKS * BLOCKS)[: math.ceil(MOST_BLOCKS * strength)]] = True
    height, width = picture.shape[:2]
    rows, columns = np.arange(height) * BLOCKS // height, np.arange(width) * BLOCKS // width
    seen = ~hidden.reshape(BLOCKS, BLOCKS)[rows][:, columns]
    left: Picture = picture * seen[..., None].astype(np.uint8)
    return left


def _approximate_pose(picture: Picture, strength: float, rng: np.random.Generator, face: _Face) -> Picture:
    """The head turned to one side, roughly: a picture on a cylinder, not a 3-D head. The face stays in the middle.

    A head that looks aside already is turned further to that side, and less.
    """
    middle = (face.eyes + face.mouth) / 2
    looks = math.asin(float(np.clip((face.nose - middle) @ face.right / (18 * face.px), -0.8, 0.8)))
    side = math.copysign(1.0, looks) if abs(looks) > _ASIDE else float(rng.choice((-1.0, 1.0)))
    start = abs(looks) if abs(looks) > _ASIDE else 0.0
    turn = math.radians(YAW * strength) * (1 - 0.9 * start)
    height, width = picture.shape[:2]
    # Plain floats from here on: a number of numpy would make every array one of float64, twice as slow.
    (x0, y0), (right, down) = middle.tolist(), face.right.tolist()
    x, y = np.arange(width, dtype=np.float32)[None] - x0, np.arange(height, dtype=np.float32)[:, None] - y0
    across = (x * right + y * down) * (side / face.px)  # template px towards the side it turns to
    along = np.abs(y * right - x * down) / (70 * face.px)
    radius = 43 * np.sqrt(np.maximum(1 - along * along * along, 0.02))  # a head is narrower at top and chin
    # Both are shares of the radius, seen from the axis of the head, which lies beside the middle of a turned face.
    now = across / radius + 0.93 * math.sin(start + turn)
    before = np.sin(np.arcsin(np.clip(now, -1, 1)) - turn)
    # Further than this angle nothing is known about the near side: it is stretched from what is left there.
    known, edge = math.radians(55), -1.25
    reach = math.sin(turn - known)
    before = np.where(now < reach, edge + (now + 1) * (-math.sin(known) - edge) / (reach + 1), before)
    before = np.where(now < -1, now + 1 + edge, before)
    # Behind the far cheek lies background, stretched as well: from the half next to the border, free of ear and hair.
    border = (width - 1 - x0 if side > 0 else x0) / (face.px * radius)
    left, wanted = border + 0.93 * math.sin(start) - 1, border + 0.93 * math.sin(start + turn) - 1
    stretch = np.clip(left / np.maximum(wanted, 1e-3), 0.1, 1)
    free = np.maximum(left, 0) * min(1.0, 2 * turn) / 2  # a small turn uncovers what is close
    before = np.where(now > 1, 1 + free + (now - 1) * stretch / 2, before)
    moved = ((before - 0.93 * math.sin(start)) * radius - across) * (side * face.px)
    return _taken(picture, x + moved * right + x0, y + moved * down + y0)


def _low_resolution(picture: Picture, strength: float, rng: np.random.Generator, face: _Face) -> Picture:
    """Seen from afar. Pictures of less than 32 px lose half of their pixels a side."""
    height, width = picture.shape[:2]
    side = min(height, width)
    share = (min(SMALLEST, side / 2) / side) ** strength
    small = (max(1, round(width * share)), max(1, round(height * share)))
    image = Image.fromarray(picture).resize(small, Image.Resampling.BOX)
    return np.asarray(image.resize((width, height), Image.Resampling.BICUBIC))


def _mask(picture: Picture, strength: float, rng: np.random.Generator, face: _Face) -> Picture:
    """A mask that follows nose, mouth and the turn of the head; the weaker, the lower its upper edge."""
    colour = np.array(_CLOTHS[int(rng.integers(len(_CLOTHS)))], np.float32) * np.float32(rng.uniform(0.92, 1.04))
    worn = math.sqrt(strength)
    left, right = _halves(face)
    top = [face.at(face.nose, -38 * left, -5), face.at(face.nose, -21 * left, -8), _between(face.nose, face.eyes, 0.55),
           face.at(face.nose, 21 * right, -8), face.at(face.nose, 38 * right, -5)]  # fmt: skip
    bottom = [face.at(face.mouth, -31 * left, 7), face.at(face.mouth, -17 * left, 19), face.at(face.mouth, 0, 24),
              face.at(face.mouth, 17 * right, 19), face.at(face.mouth, 31 * right, 7)]  # fmt: skip
    top = [_between(low, high, worn) for low, high in zip(bottom, top)]
    canvas = _Canvas(picture)
    for corner, out, up in ((top[0], -10 * left, -4), (top[4], 10 * right, -4)):
        canvas.line(np.stack([corner, face.at(corner, out, up)]), 1.6 * face.px)
    canvas.area(_curve(np.stack([*top, *bottom[::-1]])))
    shade = _Canvas(picture)
    for share in (0.3, 0.45, 0.6):
        fold = [_between(high, low, share) for high, low in zip(top, bottom)]
        shade.line(_curve(np.stack(fold), closed=False), 1.3 * face.px)
    return _painted(picture, colour * (1 - 0.2 * shade.drawn()), canvas.drawn())


def _sunglasses(picture: Picture, strength: float, rng: np.random.Generator, face: _Face) -> Picture:
    """Dark glasses on the line of the eyes; they let a little through unless they are strong."""
    colour = np.array(_LENSES[int(rng.integers(len(_LENSES)))], np.float32)
    eyes, (left, right) = face.points[:2], _halves(face)
    apart = eyes[1] - eyes[0]
    across = apart / max(float(np.hypot(*apart)), 1e-9)
    upright = np.array([-across[1], across[0]])
    grown = (0.7 + 0.3 * strength) * face.px
    turn = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    # A square with round corners, a little narrower below.
    wide, high = (np.sign(f(turn)) * np.abs(f(turn)) ** 0.62 for f in (np.cos, np.sin))
    wide = wide * (1 - 0.08 * high)
    lenses, frame = _Canvas(picture), _Canvas(picture)
    for eye, share, outward in ((eyes[0], left, -1), (eyes[1], right, 1)):
        share = min(max(share, 0.45), 1.15)
        middle = eye + grown * (outward * 1.2 * across * share + 2.2 * upright)
        rim = middle + grown * (15.2 * share * wide[:, None] * across + 11.2 * high[:, None] * upright)
        lenses.area(rim)
        frame.line(np.vstack([rim, rim[:1]]), 2.0 * grown)
        hinge = middle + grown * (outward * 15 * share * across - 5 * upright)
        frame.line(np.stack([hinge, hinge + grown * (outward * 10 * share * across - 2 * upright)]), 3.2 * grown)
    bridge = [eyes[0] + 0.4 * apart, eyes[0] + 0.5 * apart, eyes[0] + 0.6 * apart]
    frame.line(np.stack(bridge) - 3.0 * grown * upright, 3.0 * grown)
    dark = lenses.drawn() * (0.6 + 0.4 * strength)
    return _painted(picture, colour, np.maximum(dark, frame.drawn()))


def crop_window(strength: float, rng: np.random.Generator) -> tuple[float, float, float]:
    """What `crop70` leaves: left, top and length of each side, as shares of the picture's."""
    kept = 1 - (1 - CROP) * strength
    left, top = rng.random(2) * (1 - kept)
    return float(left), float(top), kept


def _crop70(picture: Picture, strength: float, rng: np.random.Generator, face: _Face) -> Picture:
    """A part of the picture at a random place, enlarged; at full strength 70 % of each side."""
    height, width = picture.shape[:2]
    left, top, kept = crop_window(strength, rng)
    box = (width * left, height * top, width * (left + kept), height * (top + kept))
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BICUBIC, box=box))


blur = _variation(_blur)
occlusion = _variation(_occlusion)
approximate_pose = _variation(_approximate_pose)
low_resolution = _variation(_low_resolution)
mask = _variation(_mask)
sunglasses = _variation(_sunglasses)
crop70 = _variation(_crop70)

VARIATIONS: dict[str, Variation] = {
    "blur": Variation(blur, (0.4, 1.0)),
    "occlusion": Variation(occlusion, (0.2, 1.0)),
    "pose": Variation(approximate_pose, (0.667, 1.0)),
    "low_resolution": Variation(low_resolution, (0.4, 1.0)),
    "mask": Variation(mask, (0.75, 1.0)),
    "sunglasses": Variation(sunglasses, (0.6, 1.0)),
    "crop70": Variation(crop70, (1.0, 1.0)),
}

# What is worn turns with the head; then comes what stands before the camera, and last the camera itself.
_ORDER = ("sunglasses", "mask", "pose", "occlusion", "crop70", "blur", "low_resolution")


def perturb(
    picture: Picture,
    variations: Iterable[str] | Mapping[str, float],
    *,
    seed: int,
    landmarks: ArrayLike | None = None,
) -> Perturbed:
    """The picture with several variations done to it.

    Names alone get strengths that are drawn by the seed; strength 0 leaves a variation out. A variation looks the same
    whatever others are done beside it, and their order is fixed, not that in which they are named.
    """
    if isinstance(variations, str):
        raise TypeError("variations are several names, not one string")
    told: dict[str, float | None] = dict(variations) if isinstance(variations, Mapping) else dict.fromkeys(variations)
    if unknown := set(told) - set(VARIATIONS):
        raise ValueError(f"unknown variations: {sorted(unknown)}")
    made, what = picture, dict[str, float]()
    for name in _ORDER:
        if name not in told:
            continue
        own = np.random.SeedSequence([seed, _ORDER.index(name)]).generate_state(2, np.uint64)
        strength = told[name]
        if strength is None:
            low, high = VARIATIONS[name].drawn
            strength = low + (high - low) * float(own[0]) / 2**64
        if strength == 0:
            continue
        made = VARIATIONS[name].vary(made, strength, seed=int(own[1]), landmarks=landmarks)
        what[name] = float(strength)
    labels = np.array([name in what for name in VARIATIONS], np.uint8)
    return Perturbed(made.copy() if made is picture else made, labels, what)


def random_variations(n: int, *, probability: float | Mapping[str, float] = 0.3, seed: int) -> NDArray[np.uint8]:
    """u for `n` pictures, (n, T): each variation by itself with its probability; names that are missing never."""
    given = probability if isinstance(probability, Mapping) else dict.fromkeys(VARIATIONS, probability)
    if unknown := set(given) - set(VARIATIONS):
        raise ValueError(f"unknown variations: {sorted(unknown)}")
    chances = np.array([given.get(name, 0.0) for name in VARIATIONS])
    return (np.random.default_rng(seed).random((n, len(VARIATIONS))) < chances).astype(np.uint8)


def named(labels: ArrayLike) -> list[str]:
    """The names that a row of u stands for.

    >>> named([1, 0, 0, 0, 1, 0, 0])
    ['blur', 'mask']
    """
    return [name for name, does in zip(VARIATIONS, np.asarray(labels), strict=True) if does]


def title(name: str) -> str:
    """A variation as it is shown."""
    return {
        "blur": tr("Blur"),
        "occlusion": tr("Occlusion"),
        "pose": tr("Pose (approximate)"),
        "low_resolution": tr("Low resolution"),
        "mask": tr("Mask"),
        "sunglasses": tr("Sunglasses"),
        "crop70": tr("Crop to 70 %"),
    }[name]


def _face(landmarks: ArrayLike | None, height: int, width: int) -> _Face:
    """The face that the points show; the template's where they show none: missing, in one place, outside."""
    if landmarks is not None:
        points = np.asarray(landmarks, np.float64)
        if points.shape != (5, 2):
            raise ValueError(f"landmarks are (5, 2), not {points.shape}")
        if np.isfinite(points).all():
            face = _framed(points)
            x, y = points.mean(0)
            if 0 <= x <= width and 0 <= y <= height and 0.02 < face.px * 112 / max(height, width) < 20:
                return face
    # The whole template where it fits; a picture narrower than 6 : 7 holds it by its width, as CosFace crops do.
    scale = min(height / 112, width / 96)
    return _framed((_TEMPLATE - 56) * scale + (width / 2, height / 2))


def _framed(points: Points) -> _Face:
    eyes, nose, mouth = (points[0] + points[1]) / 2, points[2], (points[3] + points[4]) / 2
    height, width = float(np.hypot(*(mouth - eyes))), float(np.hypot(*(points[1] - points[0])))
    down = (mouth - eyes) / height if height > 1e-9 else np.array([0.0, 1.0])
    # A turned head brings the eyes together and leaves the height; a lifted one the other way round.
    px = max(width / _EYES_APART, height / _EYES_TO_MOUTH)
    return _Face(points, eyes, nose, mouth, np.array([down[1], -down[0]]), down, px)


def _halves(face: _Face) -> tuple[float, float]:
    """How wide the left and right half of the face are seen, 1 = from the front."""
    inner = (face.points[[0, 1]] + face.points[[3, 4]]) / 2
    wide = np.array([-1, 1]) * ((inner - face.nose) @ face.right) / (16.2 * face.px)
    left, right = 0.3 + 0.7 * np.clip(wide, 0, 1.6)
    return float(left), float(right)


def _between(start: Points, end: Points, share: float) -> Points:
    between: Points = start + share * (end - start)
    return between


def _curve(points: Points, *, closed: bool = True) -> Points:
    """A smooth line through points (Catmull-Rom), six pieces from one to the next."""
    around = np.vstack([points[-1:], points, points[:2]]) if closed else np.vstack([points[:1], points, points[-1:]])
    a, b, c, d = (around[i : len(around) - 3 + i, None] for i in range(4))
    t = np.linspace(0, 1, 6, endpoint=False)[None, :, None]
    line = 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
    line = line.reshape(-1, 2)
    return line if closed else np.vstack([line, points[-1:]])


class _Canvas:
    """Shapes with smooth edges in a picture's own pixels."""

    def __init__(self, picture: Picture) -> None:
        height, width = picture.shape[:2]
        self._image = Image.new("L", (width * _FINE, height * _FINE))
        self._draw = ImageDraw.Draw(self._image)

    def area(self, outline: Points) -> None:
        self._draw.polygon(self._fine(outline), fill=255)

    def line(self, points: Points, width: float) -> None:
        self._draw.line(self._fine(points), fill=255, width=max(1, round(width * _FINE)))

    def drawn(self) -> NDArray[np.float32]:
        """(H, W, 1) 0..1: how much of each pixel is covered."""
        return (np.asarray(self._image.reduce(_FINE), np.float32) / np.float32(255))[..., None]

    def _fine(self, points: Points) -> list[float]:
        fine: list[float] = ((points + 0.5) * _FINE).ravel().tolist()
        return fine


def _painted(picture: Picture, colour: NDArray[np.float32], cover: NDArray[np.float32]) -> Picture:
    """The colour, (H, W, 3) or (3,), over the picture, lit like the picture around it."""
    height, width = picture.shape[:2]
    rough = Image.fromarray(picture).convert("L").resize((3, 3), Image.Resampling.BOX)
    light = np.asarray(rough.resize((width, height), Image.Resampling.BILINEAR), np.float32)[..., None]
    light = 0.45 + light * (0.55 / max(float(light.max()), 1.0))
    # Nothing to clip: every pixel lies between two colours.
    return (picture + cover * (colour * light - picture) + np.float32(0.5)).astype(np.uint8)


def _taken(picture: Picture, x: NDArray[np.float32], y: NDArray[np.float32]) -> Picture:
    """The picture at places between pixels, bilinear; outside, its edge goes on."""
    height, width = picture.shape[:2]
    x, y = np.clip(x, 0, width - 1), np.clip(y, 0, height - 1)
    left, top = x.astype(np.int32), y.astype(np.int32)
    across, down = (x - left)[..., None], (y - top)[..., None]
    place = top * width + left
    beside, below = (left < width - 1).astype(np.int32), (top < height - 1) * np.int32(width)
    flat = picture.reshape(-1, 3).astype(np.float32)
    upper = flat.take(place, 0)
    upper += (flat.take(place + beside, 0) - upper) * across
    if down.any():  # a face that is not tilted is moved along its rows alone
        place += below
        lower = flat.take(place, 0)
        lower += (flat.take(place + beside, 0) - lower) * across
        upper += (lower - upper) * down
    taken: Picture = (upper + np.float32(0.5)).astype(np.uint8)
    return taken
