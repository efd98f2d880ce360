"""The bare skull: what the face, the hair and hats are laid over."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from facelens.images.synthetic.identity import Identity
from facelens.images.synthetic.mesh import Array, F, Floats, mix, ramp


def _ellipse(t: ArrayLike, power: float) -> Array:
    return np.asarray(np.maximum(1 - np.abs(t) ** power, 0) ** (1 / power))


class Skull:
    """Superelliptic rows: half width, front depth and back depth by height."""

    def __init__(self, identity: Identity) -> None:
        p = identity.shape
        self.width, self.crown, self.chin = p["head_w"], p["crown"], p["chin_len"]
        self._taper, self._square, self._forehead = p["taper"], p["jaw_sq"], p["forehead"]

    def _rows(self, y: Array, sine: Array) -> tuple[Array, Array, Array]:
        n = np.abs(sine)
        top = sine > 0
        half = self.width * np.where(top, _ellipse(n, 2.5), _ellipse(n, self._square) * (1 - self._taper * n**1.4))
        front = 0.80 * np.where(top, _ellipse(n, 2.5), _ellipse(n, 3.8) * (1 - 0.08 * n))
        front = front + self._forehead * ramp(0.1, 0.5, y) * _ellipse(n, 2)
        back = 0.98 * np.where(top, _ellipse(n, 2.4), _ellipse(n, 1.8) * (1 - 0.25 * n))
        return half, front, back

    def grid(self, elevation: Array, azimuth: Array) -> tuple[Floats, Floats, Floats, Array]:
        """x (R, C), y (R, 1), z (R, C) of the skull and its half width (R,) for angles in radians."""
        sine = np.sin(elevation)[:, None]
        y = sine * np.where(sine > 0, self.crown, self.chin)
        half, front, back = self._rows(y, sine)
        s, c = np.sin(azimuth)[None], np.cos(azimuth)[None]
        # the lower face narrows to a rounder section, so that chins are not slabs
        power = 2.25 - 0.30 * ramp(-0.45, -0.95, y)
        flat = np.maximum(1 - np.abs(s) ** power, 0) ** (1 / power)
        x = half * s
        z = np.where(c > 0, front * flat, back * c)
        return x.astype(F), y.astype(F), z.astype(F), half[:, 0]

    def over(self, azimuth: ArrayLike, angle: ArrayLike, lift: ArrayLike, *, drape: float = 0.0) -> tuple[Array, Array]:
        """Points ``lift`` above the scalp and the outward direction, (..., 3) each.

        ``angle`` is the elevation in radians above the eye line; below it, where hair hangs, it is the height itself.
        ``drape`` draws hanging hair in towards the neck.
        """
        azimuth, angle, lift = (np.asarray(v, float) for v in (azimuth, angle, lift))
        azimuth, angle, lift = np.broadcast_arrays(azimuth, angle, lift)
        sine = np.sin(np.clip(angle, 0, np.pi / 2))
        y = np.where(angle > 0, self.crown * sine, angle)
        half, front, back = self._rows(y, np.maximum(sine, 1e-6))
        hang = ramp(0.0, -1.0, angle)
        s, c = np.sin(azimuth), np.cos(azimuth)
        flat = np.maximum(1 - np.abs(s) ** 2.25, 0) ** (1 / 2.25)
        inward = 1 - drape * hang
        x = half * s * inward
        z = np.where(c > 0, front * flat, back * c * (1 - 0.22 * hang)) * mix(1, inward, 0.6)
        out = np.stack([x, 0.8 * np.maximum(y, 0), z], -1)
        out = out / (np.linalg.norm(out, axis=-1, keepdims=True) + 1e-6)
        # on top of the head `angle` may pass 90 degrees: then the path goes over to the other side
        return np.stack([x, y, z], -1) + out * lift[..., None], out
