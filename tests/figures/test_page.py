"""A page: nothing leaves it however long names are, and words are as wide at any density."""

from __future__ import annotations

import matplotlib
import pytest

from facelens.figures.page import MARGIN, Page, lines, name_places, wide
from facelens.figures.style import style
from tests.figures.test_confidence import inside

LONG = "a name of very many letters that nobody could ever remember and that goes on for much longer than it should"


def test_head_and_foot_stay_on_the_page() -> None:
    with style():
        page = Page(3.0, 2.0)
        page.head(LONG, [LONG, "N = 3 faces"])
        page.foot([LONG, "x" * 200, "short"])
        inside(page.figure)
    said = [text.get_text() for text in page.figure.texts]
    assert any("should · short" in text or text == "short" for text in said), (
        "nothing is lost but what cannot be broken"
    )


def test_lines_have_room() -> None:
    for room in (0.8, 2.0, 5.0):
        made = lines([LONG, "and", LONG], room)
        assert all(wide(line, 6) <= room for line in made)
        assert " ".join(made).replace(" · ", " ").split() == f"{LONG} and {LONG}".split()


@pytest.mark.parametrize("dpi", [72, 90, 110, 150, 200, 300])
def test_words_are_as_wide_at_any_density(dpi: int) -> None:
    with style():
        page = Page(9.0, 1.0)
        page.text(MARGIN, 0.5, LONG, size=6)
        page.figure.set_dpi(dpi)
        page.figure.draw_without_rendering()
        across = page.figure.texts[0].get_window_extent().width / dpi
    assert 0.99 < across / (wide(LONG, 6) / 1.06) < 1.01
    assert matplotlib.rcParams["text.hinting"] != "none", "only figures are drawn that way"


def test_names_on_a_map_lie_inside_it_and_not_on_each_other() -> None:
    with style():
        page = Page(4.0, 4.0)
        axes = page.axes(0.5, 0.5, 3.0, 3.0)
        axes.set(xlim=(-2, 2), ylim=(0, 10))
        names = [(LONG, -2.0, 10.0), ("Ada", 0.0, 5.0), ("Bo", 0.02, 5.0), ("Cy", 2.0, 0.0), ("Di", -0.02, 5.05)]
        name_places(axes, names, ground="#ffffff")
        page.figure.draw_without_rendering()
        box = axes.get_window_extent()
        boxes = [text.get_window_extent() for text in axes.texts]
    assert axes.texts[0].get_text().endswith("…") and [t.get_text() for t in axes.texts[1:3]] == ["Ada", "Bo"]
    for i, one in enumerate(boxes):
        assert one.x0 >= box.x0 - 1 and one.x1 <= box.x1 + 1 and one.y0 >= box.y0 - 2 and one.y1 <= box.y1 + 3
        for other in boxes[i + 1 :]:
            apart = one.x1 <= other.x0 or other.x1 <= one.x0
            assert apart or one.y1 <= other.y0 + 2 or other.y1 <= one.y0 + 2
