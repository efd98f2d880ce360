"""Figures at a width of one's choice: everything grows or shrinks alike in PNG, SVG and PDF, and words stay words."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from facelens.errors import InputError
from facelens.figures import sheet
from facelens.figures.page import Page
from facelens.figures.sheet import Paper, save
from facelens.figures.style import style

WIDE, HIGH = 4.0, 2.0  # inches, as it is laid out


def made(*, picture: bool = False) -> Any:
    """Lines up to the right edge, a hatch, words with what TeX and XML would take for theirs."""
    with style():
        page = Page(WIDE, HIGH)
        page.head("A <b>title</b> & more", ["net $x_1$", "N = 3 faces"])
        axes = page.axes(0.5, 0.7, 3.4, 1)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.plot([0, 1], [0, 1], linewidth=2)
        axes.bar([0.2], [0.5], 0.1, facecolor="none", edgecolor="#000000", hatch="/////")
        if picture:
            axes.imshow(np.arange(192, dtype=np.uint8).reshape(8, 8, 3), extent=(0.6, 0.9, 0.1, 0.4), aspect="auto")
        return page.figure


def written(tmp_path: Path, kind: str, width: float | None, *, dpi: int = 100, picture: bool = False) -> bytes:
    return save(made(picture=picture), tmp_path / f"{width}.{kind}", paper=Paper(width, dpi)).read_bytes()


def streams(pdf: bytes) -> list[tuple[bytes, bytes]]:
    """What stands before each stream, and what is in it."""
    found = []
    for part in re.finditer(rb" obj\n((?:(?!endobj).)*?)\nstream\r?\n(.*?)\r?\nendstream", pdf, re.S):
        raw = part[2]
        found.append((part[1], zlib.decompress(raw) if b"FlateDecode" in part[1] else raw))
    return found


def drawn(pdf: bytes) -> list[bytes]:
    """The lines of the page itself: the stream that sets words."""
    (page,) = (body for head, body in streams(pdf) if b"Pattern" not in head and b" Tf" in body)
    return page.split(b"\n")


@pytest.mark.parametrize(
    ("width", "dpi", "size"), [(None, 100, (400, 200)), (2.0, 100, (200, 100)), (8.0, 50, (400, 200))]
)
def test_pixels(tmp_path: Path, width: float | None, dpi: int, size: tuple[int, int]) -> None:
    written(tmp_path, "png", width, dpi=dpi)
    with Image.open(tmp_path / f"{width}.png") as image:
        assert image.size == size
        assert round(float(image.info["dpi"][0])) == round(size[0] / WIDE)


@pytest.mark.parametrize("width", [None, 2.0, 6.85, 8.0])
def test_svg_keeps_its_drawing_and_its_words(tmp_path: Path, width: float | None) -> None:
    text = written(tmp_path, "svg", width).decode()
    said = re.search(r'<svg [^>]*width="([0-9.]+)pt" height="([0-9.]+)pt" viewBox="0 0 288 144"', text)
    assert said is not None
    factor = (width or WIDE) / WIDE
    assert [float(said[1]), float(said[2])] == pytest.approx([288 * factor, 144 * factor], rel=1e-5)
    assert "A &lt;b&gt;title&lt;/b&gt; &amp; more" in text and "net $x_1$ · N = 3 faces" in text
    assert text.count("<text") >= 2 and "DejaVu Sans" in text
    plain = written(tmp_path, "svg", None).decode()
    body = re.compile(r"<svg .*?>", re.S)
    assert body.sub("", text) == body.sub("", plain), "but for its size it is the same drawing"


@pytest.mark.parametrize("factor", [0.5, 1.7, 2.0])
def test_pdf_is_the_same_drawing_on_another_page(tmp_path: Path, factor: float) -> None:
    plain, scaled = written(tmp_path, "pdf", None), written(tmp_path, "pdf", WIDE * factor)
    (box,) = re.findall(rb"/MediaBox \[ ([^\]]*) \]", scaled)
    assert [float(one) for one in box.split()] == pytest.approx([0, 0, 288 * factor, 144 * factor], rel=1e-6)
    before, after = drawn(plain), drawn(scaled)
    (turn,) = (line for line in after if line.endswith(b" cm") and line not in before)
    assert [float(one) for one in turn.split()[:-1]] == pytest.approx([factor, 0, 0, factor, 0, 0])
    after.remove(turn)
    assert after == before, "no line is cut off, nothing is set elsewhere"
    matrix = [re.findall(rb"/Matrix \[ ([^\]]*) \]", head)[0] for head, _ in streams(scaled) if b"/PatternType" in head]
    assert len(matrix) == 1
    assert [float(one) for one in matrix[0].split()] == pytest.approx([factor, 0, 0, factor, 0, 144 * factor])


@pytest.mark.parametrize("width", [None, 2.0, 8.0])
def test_pdf_has_its_fonts_inside_as_type_42(tmp_path: Path, width: float | None) -> None:
    pdf = written(tmp_path, "pdf", width)
    assert re.search(rb"/BaseFont /[A-Z]{6}\+DejaVuSans\b", pdf) and b"/FontFile2" in pdf
    assert b"/CIDFontType2" in pdf and b"/Type3" not in pdf
    assert b"/CreationDate" not in pdf


@pytest.mark.parametrize("kind", sheet.FORMATS)
@pytest.mark.parametrize("width", [None, 2.0])
def test_the_same_figure_gives_the_same_file_at_any_width(tmp_path: Path, kind: str, width: float | None) -> None:
    one, other = (written(tmp_path, kind, width, picture=True) for _ in range(2))
    assert one == other


@pytest.mark.parametrize(("width", "dpi"), [(2.0, 200), (4.0, 200), (8.0, 200), (8.0, 100)])
def test_pictures_inside_have_the_dots_that_were_asked_for(tmp_path: Path, width: float, dpi: int) -> None:
    pdf = written(tmp_path, "pdf", width, dpi=dpi, picture=True)
    found = [head for head, _ in streams(pdf) if b"/Subtype /Image" in head]
    wide = max(int(re.findall(rb"/Width (\d+)", head)[0]) for head in found)
    assert wide == pytest.approx(0.3 * 3.4 * width / WIDE * dpi, abs=3)


def test_the_figure_is_left_as_it_was(tmp_path: Path) -> None:
    figure = made()
    before = figure.dpi, tuple(figure.get_size_inches())
    for kind in sheet.FORMATS:
        save(figure, tmp_path / f"x.{kind}", paper=Paper(1.5, 300))
    assert (figure.dpi, tuple(figure.get_size_inches())) == before


def test_a_picture_that_would_not_fit_into_memory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="60,000 × 30,000 pixels is too large") as caught:
        save(made(), tmp_path / "x.png", paper=Paper(200.0, 300))
    assert "SVG or PDF" in caught.value.hint and not list(tmp_path.iterdir())
    save(made(), tmp_path / "x.pdf", paper=Paper(200.0, 300))  # vectors know no pixels
