"""How figures look: the light theme's tokens, one font, no frames. Every figure is made inside `style()`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

INK = {
    "base": "#ffffff",
    "text": "#1b1b1b",
    "text2": "#4a4a4a",
    "text3": "#666666",
    "line": "#d6d6d6",
    "accent": "#0a63c9",
    "good": "#08705b",
    "bad": "#b8253c",
    "A": "#4b2a8c",
    "B": "#7d5200",
}
FLOW = "#f0b03f"  # of transport lines, on pictures and with a dark edge

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "figure.facecolor": INK["base"],
    "axes.edgecolor": "#ababab",
    "axes.labelcolor": INK["text2"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "xtick.color": INK["text3"],
    "ytick.color": INK["text3"],
    "text.color": INK["text"],
    "svg.fonttype": "none",
    "svg.hashsalt": "facelens",
    "pdf.fonttype": 42,
    "text.hinting": "none",  # words are as wide at any density, in pixels as in vectors
    "text.usetex": False,
    "text.parse_math": False,  # a file name with dollar signs is a file name
}


@contextmanager
def style() -> Iterator[None]:
    """Figures made inside look like FaceLens."""
    import matplotlib

    with matplotlib.rc_context(_RC):
        yield
