"""What a picture's expression does to a face: the numbers the shader paints eyes, brows and mouth with."""

from __future__ import annotations

import numpy as np

from facelens.images.synthetic.head import Head
from facelens.images.synthetic.identity import IRIS_COLOURS
from facelens.images.synthetic.mesh import F, Floats, linear
from facelens.images.synthetic.photo import Photo


def expression_numbers(head: Head, photo: Photo, light: Floats) -> Floats:
    """The 54 numbers kernels.paint_eye, paint_mouth and express read; ``light`` (3,) points to the key light in head
    axes."""
    identity = head.identity
    p = identity.shape
    smile, happy = photo.smile, max(photo.smile, 0.0)
    e = np.zeros(54, F)
    eye_h = p["eye_h"] * (1 + 0.14 * photo.brow_raise) * (1 - 0.16 * happy)
    e[0:4] = p["eye_d"], p["eye_y"], p["eye_w"], eye_h
    e[4:7] = np.cos(p["slant"]), np.sin(p["slant"]), p["asym_eye"]
    e[7:11] = photo.blink, p["iris_r"], photo.gaze_x, photo.gaze_y
    e[11], e[12] = p["lid"], identity.lash
    e[13:16] = linear(IRIS_COLOURS[identity.iris])
    e[16], e[17] = 0.026 * np.clip(light[0] * 1.5, -1, 1), 0.024
    e[18] = p["brow_y"] + 0.05 * photo.brow_raise - 0.010 * happy
    e[19:23] = p["brow_t"], p["brow_arch"], p["brow_tilt"], p["brow_len"]
    e[23:26] = np.minimum(head.hair_colour * 0.8 + 0.006, head.skin * 0.50)
    opening = max(photo.mouth_open, 0.0)
    e[26], e[27] = p["asym_nose"] * 0.5, -p["mouth_y"]
    e[28] = p["mouth_w"] * (1 + 0.20 * happy - 0.10 * opening)
    e[29], e[30] = 0.072 * smile + p["mouth_curve"], p["asym_mouth"]
    e[31] = min(0.10 * opening + 0.075 * max(smile - 0.42, 0.0), 0.16)
    e[32], e[33] = p["lip_u"] * (1 - 0.22 * happy), p["lip_l"] * (1 - 0.18 * happy)
    e[34] = p["bow"]
    red = min(1.0, identity.lip_red + 0.22)
    e[35:38] = head.skin * (1 + (np.array([0.92, 0.56, 0.58]) - 1) * red)
    e[38] = identity.age
    e[39:42] = (
        np.minimum(head.hair_colour * 0.85 + 0.004, head.skin * 0.62)
        if identity.beard == "stubble"
        else head.hair_colour * (0.68 if identity.beard == "moustache" else 0.9) + 0.008
    )
    e[42] = identity.beard == "stubble"
    e[43:46] = p["asym_nose"], p["nose_w"], p["nose_len"]
    e[46] = 0.5 + 0.5 * identity.lash if identity.feminine else 0.35
    e[50:53] = smile, opening, photo.brow_raise
    e[53] = 0.55 / head.size  # half a sample: edges as sharp as the picture can show
    return e
