"""Hair: a shell that ends at the hairline, and tapered locks laid over it that break its outline.

A style is a hairline, two thicknesses and a way to comb: where each lock starts and where it ends on the scalp. Curls
are packed little domes on the shell instead of locks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from facelens.images.synthetic.identity import Identity
from facelens.images.synthetic.mesh import HAIR, Array, Floats, Mesh, mix, ramp, ribbons, sheet
from facelens.images.synthetic.skull import Skull


@dataclass(frozen=True, slots=True)
class Cut:
    """Heights of the hairline at the temple, before, over and behind the ear, and thickness on top and at the sides."""

    temple: float
    burn: float
    over_ear: float
    nape: float
    top: float
    side: float
    raise_front: float = 0.0


CUTS: dict[str, Cut] = {
    "buzz": Cut(0.36, -0.06, 0.12, -0.60, 0.02, 0.012),
    "crop": Cut(0.36, -0.12, 0.11, -0.60, 0.115, 0.035),
    "part": Cut(0.36, -0.14, 0.11, -0.62, 0.15, 0.05),
    "quiff": Cut(0.38, -0.10, 0.11, -0.60, 0.15, 0.03),
    "recede": Cut(0.60, -0.10, 0.11, -0.60, 0.035, 0.05, raise_front=0.20),
    "curly": Cut(0.34, -0.12, 0.10, -0.52, 0.20, 0.09),
    "afro": Cut(0.32, -0.18, -0.12, -0.62, 0.40, 0.34),
    "pixie": Cut(0.30, -0.18, 0.05, -0.70, 0.15, 0.075),
    "bob": Cut(0.30, -0.80, -0.82, -0.86, 0.14, 0.12),
    "long": Cut(0.34, -1.40, -1.45, -1.50, 0.12, 0.10),
    "wavy": Cut(0.34, -1.30, -1.38, -1.45, 0.15, 0.14),
    "bun": Cut(0.36, -0.04, 0.13, -0.56, 0.075, 0.045),
}
_LONG = ("bob", "long", "wavy")
# how far hanging hair is drawn in; short cuts follow the neck
_DRAPE = {"bob": 0.0, "long": 0.06, "wavy": 0.0, "afro": 0.1}


def hairline(identity: Identity, degrees: Array) -> Array:
    """Height of the hairline at each azimuth in degrees; 9 where there is no hair."""
    if identity.style == "bald":
        return np.full(degrees.shape, 9.0)
    cut = CUTS[identity.style]
    a = np.abs(degrees)
    front = identity.hairline + cut.raise_front
    if identity.style in _LONG:
        knots = [0, 20, 42, 56, 66, 72, 90, 120, 180]
        heights = [
            front,
            front - 0.01,
            mix(front, cut.temple, 0.6),
            0.16,
            -0.20,
            cut.burn,
            cut.over_ear,
            cut.nape,
            cut.nape,
        ]
    else:
        knots = [0, 20, 38, 52, 61, 66, 78, 82, 102, 110, 128, 180]
        heights = [
            front, front + 0.015, mix(front, cut.temple, 0.35) + 0.03, cut.temple, 0.16, cut.burn, cut.burn,
            cut.over_ear, cut.over_ear, mix(cut.over_ear, cut.nape, 0.6), cut.nape, cut.nape,
        ]  # fmt: skip
    fine = np.linspace(-180, 180, 721)
    line = np.interp(np.abs(fine), knots, np.asarray(heights, float))
    kernel = np.hanning(23)
    line = np.convolve(np.pad(line, 11, mode="wrap"), kernel / kernel.sum(), "valid")
    line = line - 1.4 * identity.peak * np.exp(-((fine / 11) ** 2))
    return np.asarray(np.interp(np.where(degrees < 0, -a, a), fine, line))


def build_hair(identity: Identity, skull: Skull, colour: Floats, *, detail: float) -> list[Mesh]:
    """Shell, locks and bun; empty for bald and shaved heads."""
    style = identity.style
    if style in ("bald", "buzz"):
        return []
    rng = np.random.default_rng([611953, identity.seed])
    parts = [_shell(identity, skull, colour, rng, detail)]
    if style not in ("curly", "afro"):
        parts += _locks(identity, skull, colour, rng)
    if style == "bun":
        parts += _bun(skull, colour, rng)
    return parts


def _angle(skull: Skull, height: Array) -> Array:
    """Elevation that belongs to a height, as `Skull.over` wants it."""
    return np.where(height > 0, np.arcsin(np.clip(height / skull.crown, 0, 1)), height)


def _thickness(identity: Identity, azimuth: Array, angle: Array) -> Array:
    cut = CUTS[identity.style]
    scale = 0.80 + 0.45 * identity.volume
    up = ramp(0.15, 1.15, angle)
    t = mix(cut.side, cut.top, up) * scale
    if identity.style in ("part", "crop"):
        t = t + 0.045 * up * ramp(-0.8, 0.8, np.sin(azimuth) * -identity.side)
    if identity.style == "quiff":
        t = t + 0.13 * scale * np.exp(-((azimuth / 0.75) ** 2) - ((angle - 0.95) / 0.42) ** 2)
    if identity.style in _LONG:
        t = t + 0.05 * ramp(0.1, -0.7, angle) * scale
    return np.asarray(t)


def _shell(identity: Identity, skull: Skull, colour: Floats, rng: np.random.Generator, detail: float) -> Mesh:
    style = identity.style
    curly = style in ("curly", "afro")
    cols = int((126 if curly else 76) * detail)
    rows = int((46 if curly else 28) * detail)
    azimuth = np.linspace(-np.pi, np.pi, cols)
    end = _angle(skull, hairline(identity, np.degrees(azimuth)))[None]
    s = np.linspace(0, 1, rows)[:, None] ** 0.9
    top = np.radians(89.5)
    angle = top + (end - top) * s
    th = azimuth[None] + 0 * s
    lift = _thickness(identity, th, angle) * (0.93 if style in _LONG else 1.0)
    shade = np.ones_like(lift)
    taper = 0.24 if style in _LONG else 0.50 if style in ("pixie", "crop") else 0.30
    edge = np.sqrt(np.maximum(1 - np.clip((s - 1 + taper) / taper, 0, 1) ** 2, 0))
    if curly:
        domes = _domes(skull, th, angle, rng, radius=0.105 if style == "afro" else 0.12)
        lift = lift * (0.35 + 0.65 * edge) + (0.085 if style == "curly" else 0.06) * domes * (0.3 + 0.7 * edge)
        shade = 0.55 + 0.55 * domes
    else:
        ripple = rng.normal(size=cols)
        ripple = np.convolve(np.pad(ripple, 3, mode="wrap"), np.hanning(7) / 3, "valid")[None]
        amount = 0.016 if style in _LONG else 0.008
        lift = lift * (0.06 + 0.94 * edge) + amount * ripple * edge * ramp(1.5, 1.0, angle)
        shade = 1 + 0.05 * ripple
    if style in _LONG:
        th = th + 0.06 * (identity.wave if style == "long" else 1.0) * np.sin(angle * 7 + np.sign(th)) * ramp(
            0.2, -0.6, angle
        )
        # ends curl in under a bob
        lift = lift - (0.10 if style == "bob" else 0.03) * ramp(0.86, 1.0, s)
    drape = _DRAPE.get(style, 0.45)
    points, out = skull.over(th, angle, lift + 0.006, drape=drape)
    anchor, _ = skull.over(th, angle, 0.0 * lift - 0.06, drape=drape)
    comb = {"part": 0.7, "quiff": 0.15, "crop": 0.25, "pixie": 0.6}.get(style, 0.0) * identity.side
    coords = np.stack([(th + comb * s) * 0.55, s * 1.6 + 0 * th], -1)
    tangent = np.gradient(points, axis=0)
    tangent /= np.linalg.norm(tangent, axis=-1, keepdims=True) + 1e-9
    tint = colour * (0.94 * shade)[..., None]
    openness = np.clip((0.72 + 0.28 * ramp(1.0, 0.75, s)) * np.clip(shade, 0.5, 1.05), 0, 1)
    return sheet(
        points, np.maximum(tint, 0.003), material=HAIR, outward=out, gloss=0.16 if curly else 0.42, openness=openness,
        coords=coords, tangent=tangent, anchor=anchor, texture=0.35 if curly else 1.0,
        two_sided=curly or style in _LONG,
    )  # fmt: skip


def _domes(skull: Skull, azimuth: Array, angle: Array, rng: np.random.Generator, *, radius: float) -> Array:
    """Height 0..1 of evenly scattered little domes: the look of curls."""
    count = 420
    k = np.arange(count) + 0.5
    up = 1 - 1.5 * k / count
    turn = np.pi * (1 + 5**0.5) * k + rng.normal(0, 0.12, count)
    seeds = np.stack([np.sqrt(1 - up**2) * np.sin(turn), up, np.sqrt(1 - up**2) * np.cos(turn)], -1)
    seeds += rng.normal(0, 0.02, seeds.shape)
    base, _ = skull.over(azimuth, angle, 0.0)
    d = base / (np.linalg.norm(base, axis=-1, keepdims=True) + 1e-9)
    from scipy.spatial import cKDTree

    near, _ = cKDTree(seeds).query(d.reshape(-1, 3))
    return np.asarray(np.sqrt(np.maximum(1 - (near.reshape(d.shape[:2]) / radius) ** 2, 0)))


def _locks(identity: Identity, skull: Skull, colour: Floats, rng: np.random.Generator) -> list[Mesh]:
    """Locks combed the way of the style: (azimuth, angle) at the root and at the tip, bowed between."""
    side, style = identity.side, identity.style
    n = 20 if style in _LONG else 12
    s = np.linspace(0, 1, n)[None]

    def strokes(count: int) -> tuple[Array, Array]:
        return (np.arange(count) + rng.uniform(0.2, 0.8, count)) / count, rng.normal(0, 1, count)

    sets: list[tuple[Array, Array, Array, Array]] = []  # azimuth, angle, extra lift, half width

    def add(a0: Array, e0: Array, a1: Array, e1: Array, lift: Array, width: Array, bow: float = 1.0) -> None:
        az = a0[:, None] + (a1 - a0)[:, None] * s**bow
        an = e0[:, None] + (e1 - e0)[:, None] * s
        profile = np.minimum(0.55 + 1.6 * s, 1.0) * np.sqrt(np.clip(1 - s**3.2, 0, 1)) + 0.02
        sets.append((az, an, lift[:, None] * np.sin(np.pi * np.minimum(s * 0.9 + 0.08, 1)), width[:, None] * profile))

    def line(az: Array) -> Array:
        return _angle(skull, hairline(identity, np.degrees(az)))

    if style == "crop":
        t, z = strokes(20)
        a = mix(-1.05, 1.05, t)
        add(
            a * 0.75 + 0.1 * side,
            1.25 + 0.08 * z,
            a + 0.16 * side + 0.06 * z,
            line(a) - 0.02 + 0.035 * z,
            0.02 + 0.006 * z,
            0.085 + 0.012 * z,
        )
        t, z = strokes(14)
        a = mix(-2.6, 2.6, t)
        add(a, np.full(14, 1.42), a + 0.25 * side, 0.75 + 0.1 * z, 0.018 + 0.005 * z, 0.10 + 0.012 * z)
    elif style == "part":
        root = -0.42 * side
        t, z = strokes(15)  # the long sweep over the forehead and across the top
        e0 = mix(0.72, 1.50, t)
        add(
            np.full(15, root) + 0.03 * z,
            e0,
            side * mix(0.95, 1.9, t) + 0.05 * z,
            mix(0.50, 0.35, t) + 0.04 * z,
            0.035 + 0.008 * z,
            0.095 + 0.012 * z,
            bow=0.85,
        )
        t, z = strokes(8)  # the short side
        add(
            np.full(8, root - 0.05 * side),
            mix(0.72, 1.45, t),
            -side * mix(1.0, 1.9, t),
            mix(0.42, 0.3, t) + 0.03 * z,
            0.012 + 0.004 * z,
            0.09 + 0.01 * z,
            bow=0.9,
        )
    elif style == "quiff":
        t, z = strokes(15)
        a = mix(-0.88, 0.88, t)
        add(
            a,
            line(a) - 0.01 + 0.0 * z,
            a * 0.55 + 0.25 * side + 0.06 * z,
            1.40 + 0.05 * z,
            0.055 + 0.015 * z,
            0.085 + 0.012 * z,
        )
    elif style == "pixie":
        t, z = strokes(13)
        a1 = side * mix(-0.62, 1.0, t)
        e1 = mix(0.42, 0.22, np.abs(t - 0.1)) + 0.03 * z
        add(-0.5 * side + 0.5 * a1, 1.35 - 0.25 * t, a1 + 0.03 * z, e1, 0.03 + 0.006 * z, 0.095 + 0.01 * z, bow=1.4)
        for sgn in (-1, 1):
            t, z = strokes(6)
            a = sgn * mix(1.0, 1.75, t)
            add(
                a * 0.9,
                np.full(6, 1.1),
                a + 0.03 * z,
                mix(-0.14, 0.0, t) + 0.05 * z,
                0.02 + 0.005 * z,
                0.095 + 0.01 * z,
            )
    elif style in _LONG:
        bangs = identity.wave > 0.5 if style == "bob" else identity.wave > 0.8
        if bangs:
            t, z = strokes(13)
            a = mix(-0.78, 0.78, t)
            add(
                a * 0.65,
                np.full(13, 1.30),
                a + 0.02 * z,
                0.29 - 0.10 * np.abs(a) + 0.018 * z,
                0.03 + 0.004 * z,
                0.085 + 0.008 * z,
                bow=1.2,
            )
        root = 0.0 if identity.wave < 0.4 else 0.30 * side
        ends = {"bob": -0.80, "long": -1.42, "wavy": -1.35}[style]
        for sgn in (-1, 1):
            t, z = strokes(13)
            a1 = sgn * mix(1.13, 2.6, t**1.2)
            e0 = mix(line(np.array(root)) + 0.01 if not bangs else 1.0, 1.52, t)
            a0 = root + sgn * mix(0.01, 0.25, t)
            az = a0[:, None] + (a1 - a0)[:, None] * np.minimum(1, s * 1.9) ** 0.75
            e1 = ends + 0.05 * z
            an = e0[:, None] + (e1 - e0)[:, None] * s**1.15
            wave = {"bob": 0.0, "long": 0.035 * identity.wave, "wavy": 0.062}[style]
            hang = ramp(0.3, -0.4, an)
            phase = rng.uniform(0, 1.2, 13)[:, None]
            az = az + wave * np.sin(an * (7.5 if style == "wavy" else 5.0) + phase + sgn) * hang
            extra = (
                0.018
                + 0.004 * z[:, None]
                + wave * 0.35 * np.cos(an * 8.5 + phase) * hang
                - (0.09 if style == "bob" else 0.02) * ramp(0.82, 1.0, s)
            )
            width = (0.115 + 0.012 * z)[:, None] * np.minimum(0.55 + 1.4 * s, 1) * np.sqrt(
                np.clip(1 - s**5, 0, 1)
            ) + 0.003
            sets.append((az, an, extra, width))
    elif style == "bun":
        t, z = strokes(22)
        a = mix(-2.4, 2.4, t)
        add(a, line(a) + 0.0 * z, a * 0.5 + np.sign(a) * 0.8, np.full(22, 1.42), 0.012 + 0.003 * z, 0.105 + 0.01 * z)
    elif style == "recede":
        for sgn in (-1, 1):
            t, z = strokes(6)
            a = sgn * mix(1.2, 2.6, t)
            add(
                a * 0.9, np.full(6, 0.80) + 0.05 * z, a + 0.15 * sgn, line(a) + 0.05, 0.008 + 0.003 * z, 0.10 + 0.01 * z
            )
    drape = _DRAPE.get(style, 0.45)
    out: list[Mesh] = []
    for az, an, extra, width in sets:
        base = _thickness(identity, az, np.minimum(an, np.radians(89.5)))
        # over the bare forehead a lock lies on the skin instead of floating at the shell's height
        bare = ramp(0.30, -0.06, an - _angle(skull, hairline(identity, np.degrees(az))))
        base = base * (1 - 0.80 * bare) * mix(0.95 if style in _LONG else 0.70, 1.0, ramp(0.0, 0.3, s))
        path, outward = skull.over(az, an, base + extra, drape=drape)
        anchor, _ = skull.over(az, an, 0.0 * an - 0.06, drape=drape)
        tone = colour[None] * rng.normal(1.0, 0.06, (len(az), 1)).clip(0.85, 1.15)
        openness = 0.88 + 0.12 * ramp(0, 0.35, s) + 0 * az
        out.append(
            ribbons(
                path, outward, width=width, albedo=np.maximum(tone, 0.003), gloss=0.42, openness=openness, anchor=anchor
            )
        )
    return out


def _bun(skull: Skull, colour: Floats, rng: np.random.Generator) -> list[Mesh]:
    t, f = np.meshgrid(np.linspace(-np.pi, np.pi, 44), np.linspace(-np.pi / 2, np.pi / 2, 22))
    d = np.stack([np.cos(f) * np.sin(t), np.sin(f), np.cos(f) * np.cos(t)], -1)
    swirl = np.sin(5 * t + 4 * f)
    points = np.array([0, skull.crown + 0.17, -0.30]) + d * np.array([0.27, 0.22, 0.27]) * (1 + 0.03 * swirl)[..., None]
    tangent = np.gradient(points, axis=1)
    tangent /= np.linalg.norm(tangent, axis=-1, keepdims=True) + 1e-9
    anchor = np.broadcast_to(np.array([0, skull.crown * 0.8, -0.2]), points.shape)
    coords = np.stack([f * 0.5 + 0.1 * t, t * 0.4], -1)
    tint = colour * (1 + 0.10 * swirl)[..., None] * float(rng.uniform(0.95, 1.05))
    return [
        sheet(
            points,
            np.maximum(tint, 0.003),
            material=HAIR,
            outward=d,
            gloss=0.42,
            coords=coords,
            tangent=tangent,
            anchor=anchor,
            texture=1.0,
        )
    ]
