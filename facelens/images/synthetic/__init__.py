"""The sample world: made-up people drawn by program, so that nobody real is ever shipped.

`sample_identity` makes a person from a seed, `build_head` the person's 3-D head, `sample_photo` the variations of one
picture and `render` the picture with its ground truth. `gallery.build_gallery` writes a folder of them.
"""

from __future__ import annotations

from facelens.images.synthetic.head import Head, build_head
from facelens.images.synthetic.identity import Identity, sample_identity
from facelens.images.synthetic.photo import CAMERA_FAULTS, OCCLUDERS, Photo, sample_photo
from facelens.images.synthetic.rendering import Rendered, render

__all__ = [
    "CAMERA_FAULTS",
    "OCCLUDERS",
    "Head",
    "Identity",
    "Photo",
    "Rendered",
    "build_head",
    "render",
    "sample_identity",
    "sample_photo",
]
