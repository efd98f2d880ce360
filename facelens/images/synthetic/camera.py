"""From light to a picture file's pixels: exposure, white balance, tone curve, and the faults a camera adds."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from facelens.images.synthetic.mesh import F, Floats
from facelens.images.synthetic.photo import Photo


@cache
def tone_curve() -> Floats:
    """Display value of sqrt(light) on 4096 steps from 0 to sqrt(4): straight below 0.6, a soft shoulder above, then
    gamma."""
    light = np.linspace(0, 2, 4096) ** 2
    return np.asarray(np.where(light > 0.6, 0.6 + 0.4 * np.tanh((light - 0.6) / 0.4), light) ** (1 / 2.2), F)


def camera_gain(photo: Photo) -> Floats:
    """Factors (3,) for the light of the three channels: exposure and the white balance's error."""
    gain = 0.80 * 2 ** (2.2 * photo.exposure)
    return np.array([gain * (1 + 0.05 * photo.warmth), gain, gain * (1 - 0.06 * photo.warmth)], F)


def develop(picture: Floats, photo: Photo) -> NDArray[np.uint8]:
    """The pixels of a picture (size, size, 3) in display values 0..1, in the order lens, sensor, file: blur, lowres,
    noise, jpeg."""
    size = picture.shape[0]
    if photo.blur > 0:
        from scipy.ndimage import gaussian_filter

        sigma = 6.0 * size / 112 * photo.blur
        picture = gaussian_filter(picture, (sigma, sigma, 0), mode="nearest")
    if photo.lowres > 0:
        n = max(6, round(size * 2 ** (-3.4 * photo.lowres)))
        small = Image.fromarray((picture * 255 + 0.5).astype(np.uint8)).resize((n, n), Image.Resampling.BOX)
        picture = np.asarray(small.resize((size, size), Image.Resampling.BILINEAR), F) / F(255)
    from facelens.images.synthetic.kernels import expose

    pixels = np.empty(picture.shape, np.uint8)
    expose(np.ascontiguousarray(picture), 0.36 * photo.noise, photo.seed, pixels)
    if photo.jpeg > 0:
        import simplejpeg

        file = simplejpeg.encode_jpeg(
            pixels, quality=round(3 + 92 * (1 - min(photo.jpeg, 1.0)) ** 1.6), colorsubsampling="420"
        )
        pixels = np.asarray(simplejpeg.decode_jpeg(file), np.uint8)
    return pixels
