"""Trials of a model as figures: every way has its rail, the better one stands out, forms have their line and faces."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from facelens.errors import InputError
from facelens.features.card import Card
from facelens.features.parity import Parity
from facelens.features.whatif import Outcome, Variant, WhatIf
from facelens.figures import parity, whatif
from facelens.images.faceset import FaceSet
from tests.figures.test_confidence import inside, texts

NAMES = ("as the card says", "channels as BGR", "0 to 255", "a way with a name that is much too long for it " * 3)
WHERE: dict[str, Any] = {"gallery": "my <b>gallery</b>", "model": "net $x$"}


def tried(*separations: float, people: int = 20, **fields: Any) -> WhatIf:
    kinds = ("", "order", "scaling", "crop")
    made = [
        Outcome(Variant(name, Card("net", "small_plain"), kind), 0.5, 0.1, value, 0.9, 10.0, (value - 1.2, value - 0.8))
        for name, kind, value in zip(NAMES, kinds, separations)
    ]
    return WhatIf(tuple(made), 100, people, **fields)


def test_every_way_has_a_rail_and_the_better_one_stands_out() -> None:
    figure = whatif.draw_feeding(tried(1.0, 2.0, 0.4, 0.9), **WHERE)
    said, axes = texts(figure), figure.axes[0]
    assert {*NAMES[:3]} <= set(said) and any(one.startswith("a way") and one.endswith("…") for one in said)
    assert "net $x$ · my <b>gallery</b> · 100 pictures of 20 people" in said
    assert any(one.startswith("This looks BGR-swapped") for one in said)
    assert "2.00   [+0.80, +1.20]" in said and "1.00" in said
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [(float(d.get_xdata()[0]), float(d.get_ydata()[0])) for d in dots] == [(1, 0), (2, 1), (0.4, 2), (0.9, 3)]
    whiskers = [tuple(map(float, line.get_xdata())) for line in axes.lines if len(line.get_xdata()) == 2]
    assert (1.8, 2.2) in whiskers and (1, 1) in whiskers, "gains are added to what the card has, which is the line"
    bold = [text.get_text() for text in figure.texts[1:] if text.get_fontweight() == "bold"]
    assert bold == ["channels as BGR", "2.00   [+0.80, +1.20]"]
    inside(figure)


def test_the_table_says_what_the_screen_says() -> None:
    what = tried(1.0, math.nan, 0.4, skipped=1)
    what = replace(what, outcomes=(replace(what.outcomes[0], score=0.25), *what.outcomes[1:]))
    figure = whatif.draw_feeding_table(what, **WHERE)
    said = texts(figure)
    assert whatif.heads(what)[-1] == "pair" and whatif.cells(what)[1][-1] == "n/a"
    assert all(cell in said for row in whatif.cells(what) for cell in row if cell)
    assert any("1 picture could not be read" in one for one in said)
    inside(figure)
    few = whatif.draw_feeding(tried(1.0, 2.0, people=3), **WHERE)
    assert not any("BGR-swapped" in one for one in texts(few)), "three people are too few to advise anything"
    with pytest.raises(InputError, match="no way of feeding can be told"):
        whatif.draw_feeding(tried(math.nan, math.nan), **WHERE)


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    for i in range(8):
        Image.new("RGB", (40, 40), (20 * i, 90, 120)).save(tmp_path / f"{i}.png")
    paths = [f"{i}.png" for i in range(8)]
    return FaceSet.build("mine", tmp_path, paths=paths, identities=[f"p_{i}" for i in range(8)])


def compared(faces: FaceSet, *apart: float) -> Parity:
    n = len(apart)
    return Parity(("a.onnx", "b.pth"), faces.ids[:n], 1 - np.array(apart), np.ones((n, 2)))


def test_forms_have_their_histogram_and_the_worst_faces(faces: FaceSet) -> None:
    found = compared(faces, 1e-7, 1e-6, 2e-6, 0.5, math.nan, 1e-5, 1e-7)
    figure = parity.draw_forms(faces, found)
    said = texts(figure)
    assert "a.onnx and b.pth · mine · N = 7 pictures" in said and "pass line 0.999" in said
    assert any("2 pictures are below the line" in one for one in said)
    values = [one for one in said if one == "no vector" or one.startswith(("0.5", "0.9999", "1.0"))]
    assert values[:2] == ["no vector", "0.50000"] and len(values) == 5, "the worst first"
    [line] = [one for one in figure.axes[0].lines if one.get_linewidth() == 1.2]
    assert float(line.get_xdata()[0]) == pytest.approx(-3)
    assert sum(patch.get_data().values.sum() for patch in figure.axes[0].patches[:1]) == 6, "all that have a vector"
    inside(figure)
    agree = parity.draw_forms(faces, compared(faces, 1e-7, 0.0))
    assert any(one.startswith("Both forms agree") for one in texts(agree))
    inside(agree)
    with pytest.raises(InputError, match="No picture could be compared"):
        parity.draw_forms(faces, compared(faces))
