"""What varies from one picture of a person to the next, and how strongly."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

CAMERA_FAULTS = ("blur", "noise", "lowres", "jpeg", "exposure", "crop")
OCCLUDERS = ("glasses", "sunglasses", "mask", "scarf", "hand", "hat")


@dataclass(frozen=True, slots=True)
class Photo:
    """Every variation of one picture. Angles in degrees; strengths 0..1 where 0 means absent; exposure is signed.

    yaw > 0 turns the face to the picture's right, pitch > 0 lifts the chin, roll > 0 turns the head anticlockwise.
    blur has a standard deviation of 6 px at 112 px and strength 1; lowres leaves 112 * 2**(-3.4 s) px; jpeg has quality
    3 + 92 (1 - s)**1.6; noise has a standard deviation of 0.36; exposure is in units of 2.2 stops; crop moves the frame
    by up to 42 % of its side and draws it closer. An occluder's strength says how much it covers.
    """

    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0
    smile: float = 0.3
    mouth_open: float = 0.0
    blink: float = 0.0
    brow_raise: float = 0.0
    gaze_x: float = 0.0
    gaze_y: float = 0.0
    light_azimuth: float = 25.0
    light_elevation: float = 35.0
    key: float = 0.95
    ambient: float = 0.42
    warmth: float = 0.0
    shift_x: float = 0.0
    shift_y: float = 0.0
    zoom: float = 1.0
    exposure: float = 0.0
    blur: float = 0.0
    noise: float = 0.0
    lowres: float = 0.0
    jpeg: float = 0.0
    crop: float = 0.0
    glasses: float = 0.0
    sunglasses: float = 0.0
    mask: float = 0.0
    scarf: float = 0.0
    hand: float = 0.0
    hat: float = 0.0
    seed: int = 0

    def strengths(self) -> dict[str, float]:
        """Every variation by name, without the seed."""
        return {f.name: float(getattr(self, f.name)) for f in fields(self) if f.name != "seed"}

    @property
    def degradation(self) -> float:
        """How much the picture hides of the face, 0..1: the parts that each fault leaves, multiplied, taken from
        one."""
        left = 1.0
        for name, weight in _COST.items():
            left *= 1.0 - weight * min(abs(getattr(self, name)), 1.0)
        turned = max(abs(self.yaw) - 20.0, 0.0) / 70.0 + max(abs(self.pitch) - 12.0, 0.0) / 60.0
        return float(1.0 - left * (1.0 - 0.7 * min(turned, 1.0)))


# how much of the face is lost at strength one
_COST = {
    "blur": 0.95,
    "noise": 0.80,
    "lowres": 0.95,
    "jpeg": 0.75,
    "exposure": 0.70,
    "crop": 0.80,
    "glasses": 0.15,
    "sunglasses": 0.50,
    "mask": 0.60,
    "scarf": 0.50,
    "hand": 0.60,
    "hat": 0.25,
}


def vary(photo: Photo, name: str, strength: float) -> Photo:
    """The same picture with one variation changed."""
    changed: dict[str, Any] = {name: strength}
    return replace(photo, **changed)


def sample_photo(rng: np.random.Generator, *, hard: float = 1.0, degrade: float = 0.0) -> Photo:
    """A random picture: ``hard`` scales pose, light and expression (0 = studio), ``degrade`` is the chance of one
    fault.

    The fault, a camera fault or something before the face, has strength 0.25 to 0.95.
    """

    def around(sd: float, limit: float = np.inf) -> float:
        return float(np.clip(rng.normal(0, sd) * hard, -limit, limit))

    photo = Photo(
        yaw=around(20, 60),
        pitch=around(7, 25),
        roll=around(5, 25),
        smile=float(np.clip(rng.normal(0.42, 0.34 * hard), -0.3, 1)),
        mouth_open=float(max(0.0, rng.normal(-0.35, 0.45)) * hard),
        blink=float(rng.random() < 0.03 * hard),
        brow_raise=float(max(0.0, rng.normal(-0.1, 0.5)) * hard),
        gaze_x=around(0.010, 0.03),
        gaze_y=around(0.005, 0.015),
        light_azimuth=float(rng.normal(0, 38 * min(hard, 1.3))) if hard > 0 else 25.0,
        light_elevation=float(rng.uniform(12, 58)),
        key=float(rng.uniform(0.75, 1.15)),
        ambient=float(rng.uniform(0.34, 0.56)),
        warmth=around(0.5, 1.5),
        shift_x=around(0.02, 0.06),
        shift_y=around(0.015, 0.05),
        zoom=1 + around(0.035, 0.1),
        exposure=around(0.12, 0.3),
        noise=float(rng.uniform(0, 0.05) * hard),
        jpeg=float(rng.uniform(0, 0.2) * hard),
        seed=int(rng.integers(2**31)),
    )
    if rng.random() < degrade:
        faults = CAMERA_FAULTS + OCCLUDERS
        kind, strength = str(rng.choice(faults)), float(rng.uniform(0.25, 0.95))
        if kind == "exposure":
            strength *= float(rng.choice([-1, 1]))
        photo = vary(photo, kind, strength)
    return photo
