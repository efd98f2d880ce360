"""Who a made-up person is: 42 shape numbers, skin, hair, age and marks, all drawn from one seed.

Units are head units: the eye line is y = 0, the crown about +1, the chin about -1, x points to the right of the picture
and z towards the camera. Nobody real is behind these numbers. The choices below keep hair, skin and age in plausible
company; they are not a model of any population and carry no fairness claims.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# name: (mean, standard deviation, lowest, highest) of a clipped normal
SHAPE: dict[str, tuple[float, float, float, float]] = {
    "head_w": (0.705, 0.042, 0.62, 0.80),
    "crown": (1.0, 0.035, 0.92, 1.08),
    "chin_len": (1.02, 0.05, 0.91, 1.14),
    "taper": (0.22, 0.08, 0.04, 0.40),
    "jaw_sq": (2.45, 0.38, 1.85, 3.4),
    "chin_w": (0.17, 0.04, 0.10, 0.27),
    "chin_z": (0.090, 0.026, 0.03, 0.15),
    "cheek": (0.045, 0.026, -0.01, 0.105),
    "cheek_y": (-0.2, 0.035, -0.28, -0.12),
    "forehead": (0.0, 0.03, -0.06, 0.06),
    "eye_d": (0.292, 0.022, 0.245, 0.345),
    "eye_w": (0.146, 0.012, 0.12, 0.175),
    "eye_h": (0.066, 0.010, 0.044, 0.088),
    "slant": (0.07, 0.08, -0.12, 0.27),
    "eye_y": (0.0, 0.025, -0.06, 0.06),
    "eye_z": (0.085, 0.025, 0.03, 0.14),
    "iris_r": (0.071, 0.004, 0.062, 0.080),
    "lid": (0.034, 0.012, 0.010, 0.06),
    "brow_y": (0.190, 0.024, 0.14, 0.25),
    "brow_t": (0.038, 0.009, 0.022, 0.060),
    "brow_arch": (0.045, 0.022, 0.0, 0.095),
    "brow_tilt": (-0.015, 0.05, -0.13, 0.07),
    "brow_len": (0.19, 0.018, 0.15, 0.24),
    "brow_ridge": (0.025, 0.016, -0.01, 0.065),
    "nose_len": (0.395, 0.04, 0.31, 0.48),
    "nose_w": (0.124, 0.020, 0.088, 0.175),
    "nose_b": (0.098, 0.028, 0.04, 0.16),
    "nose_tip": (0.100, 0.022, 0.055, 0.15),
    "nose_hump": (0.0, 0.018, -0.035, 0.045),
    "nose_ball": (0.088, 0.012, 0.065, 0.118),
    "mouth_y": (0.625, 0.025, 0.57, 0.685),
    "mouth_w": (0.212, 0.024, 0.16, 0.27),
    "lip_u": (0.047, 0.010, 0.026, 0.072),
    "lip_l": (0.063, 0.012, 0.038, 0.095),
    "bow": (0.4, 0.2, 0.0, 0.8),
    "muzzle": (0.05, 0.018, 0.01, 0.09),
    "ear": (0.205, 0.024, 0.16, 0.26),
    "ear_out": (24.0, 9.0, 8.0, 46.0),
    "asym_eye": (0.0, 0.005, -0.012, 0.012),
    "asym_mouth": (0.0, 0.005, -0.012, 0.012),
    "asym_nose": (0.0, 0.007, -0.018, 0.018),
    "mouth_curve": (0.03, 0.016, -0.01, 0.06),
}

HAIR_COLOURS: dict[str, tuple[int, int, int]] = {
    "black": (34, 29, 30),
    "dark brown": (62, 42, 32),
    "brown": (104, 68, 44),
    "auburn": (128, 58, 36),
    "ginger": (190, 98, 46),
    "blond": (212, 170, 108),
    "platinum": (232, 214, 178),
    "grey": (150, 148, 146),
    "white": (224, 222, 218),
}
IRIS_COLOURS: tuple[tuple[int, int, int], ...] = (
    (84, 50, 28),
    (118, 74, 36),
    (136, 108, 54),
    (92, 122, 84),
    (92, 130, 168),
    (128, 148, 162),
)
HAIR_STYLES = (
    "bald",
    "buzz",
    "crop",
    "part",
    "quiff",
    "recede",
    "curly",
    "afro",
    "pixie",
    "bob",
    "long",
    "wavy",
    "bun",
)
BEARDS = ("none", "stubble", "moustache", "goatee", "short", "full")
# relative frequency of each hair style, for the two presentations
_STYLE_ODDS = (
    (0.7, 1.0, 2.0, 1.8, 1.8, 0.5, 1.2, 0.5, 0.3, 0.1, 0.25, 0.2, 0.15),
    (0.1, 0.2, 0.3, 0.6, 0.2, 0.0, 1.0, 0.9, 1.6, 1.9, 2.0, 2.0, 1.5),
)


@dataclass(frozen=True, slots=True)
class Identity:
    """One made-up person. ``melanin``, ``age``, ``flush``, ``lip_red``, ``lash`` and ``wave`` run 0..1."""

    seed: int
    shape: dict[str, float]
    feminine: bool
    melanin: float
    undertone: float
    flush: float
    lip_red: float
    age: float
    hair: str
    style: str
    beard: str
    iris: int
    hairline: float
    peak: float
    volume: float
    side: int
    wave: float
    lash: float
    freckles: float
    moles: tuple[tuple[float, float, float], ...]
    scar: tuple[float, float, float] | None


def sample_identity(seed: int, *, spread: float = 1.0) -> Identity:
    """The person that belongs to ``seed``; ``spread`` scales how far shapes stray from the mean."""
    rng = np.random.default_rng([7919, seed])
    mean, sd, low, high = np.array(list(SHAPE.values())).T
    shape = dict(zip(SHAPE, np.clip(rng.normal(mean, sd * spread), low, high).tolist()))
    feminine = bool(rng.random() < 0.5)
    melanin = float(rng.beta(1.1, 1.4))
    age = float(rng.beta(1.2, 1.9))
    undertone = float(np.clip(rng.normal(0.2, 0.4), -0.8, 1.1))
    flush = float(rng.uniform(0.15, 1.0))
    lip_red = float(rng.uniform(0.4, 1.0) if feminine else rng.uniform(0.15, 0.5))
    hair = _pick(rng, tuple(HAIR_COLOURS), _hair_odds(melanin, age))
    style_odds = np.array(_STYLE_ODDS[int(feminine)])
    style_odds[HAIR_STYLES.index("afro")] *= 0.15 + 2.2 * melanin
    style_odds[HAIR_STYLES.index("recede")] *= 1 + 6 * age if not feminine else 0
    style = _pick(rng, HAIR_STYLES, style_odds)
    beard = _pick(rng, BEARDS, np.array([1.0, 0, 0, 0, 0, 0] if feminine else [2.4, 1.4, 0.5, 0.7, 1.3, 0.8]))
    iris_odds = np.array([3, 2, 1, 0.9, 1.4, 0.7]) * np.where(np.arange(6) < 2, 1, max(0.01, 1 - 2.2 * melanin))
    iris = int(rng.choice(6, p=iris_odds / iris_odds.sum()))
    hairline = float(np.clip(rng.normal(0.56, 0.035) + 0.06 * (not feminine) * age, 0.48, 0.68))
    peak = float(np.clip(rng.normal(0.0, 0.02), -0.03, 0.05))
    volume, side, wave = float(rng.uniform(0.0, 1.0)), int(rng.choice([-1, 1])), float(rng.uniform(0, 1))
    freckles = float(max(0.0, rng.normal(-0.25, 0.55))) if melanin < 0.5 else 0.0
    moles = tuple(
        (float(rng.uniform(-0.5, 0.5)), float(rng.uniform(-0.8, 0.35)), float(rng.uniform(0.011, 0.019)))
        for _ in range(int(rng.poisson(0.5)))
    )
    scar = (
        (float(rng.uniform(-0.45, 0.45)), float(rng.uniform(-0.5, 0.3)), float(rng.uniform(-1.4, 1.4)))
        if rng.random() < 0.08
        else None
    )
    lash = float(rng.uniform(0.6, 1.0) if feminine else rng.uniform(0.1, 0.4))
    if feminine:
        shape["brow_t"] *= 0.78
        shape["jaw_sq"] = min(shape["jaw_sq"], 2.5)
        shape["taper"] += 0.05
        shape["brow_ridge"] *= 0.3
        shape["eye_h"] *= 1.06
        shape["lip_u"] *= 1.15
        shape["lip_l"] *= 1.08
        shape["nose_w"] *= 0.93
        shape["nose_tip"] *= 0.92
        shape["head_w"] *= 0.975
    else:
        shape["brow_t"] *= 1.12
        shape["jaw_sq"] += 0.2
        shape["chin_w"] *= 1.1
        shape["head_w"] *= 1.015
    return Identity(
        seed=int(seed),
        shape=shape,
        feminine=feminine,
        melanin=melanin,
        undertone=undertone,
        flush=flush,
        lip_red=lip_red,
        age=age,
        hair=hair,
        style=style,
        beard=beard,
        iris=iris,
        hairline=hairline,
        peak=peak,
        volume=volume,
        side=side,
        wave=wave,
        lash=lash,
        freckles=freckles,
        moles=moles,
        scar=scar,
    )


def _hair_odds(melanin: float, age: float) -> np.ndarray:
    fair = max(0.0, 1 - 1.7 * melanin)
    odds = np.array([3.0, 3.0, 2.5, 1.0, 0.9, 2.2, 0.5, 0.0, 0.0]) * np.where(np.arange(9) < 2, 1, fair)
    total = odds.sum()
    odds[7] = total * max(0.0, age - 0.45) * 1.6
    odds[8] = total * max(0.0, age - 0.62) * 2.4
    return odds


def _pick(rng: np.random.Generator, names: tuple[str, ...], odds: np.ndarray) -> str:
    return names[int(rng.choice(len(names), p=odds / odds.sum()))]
