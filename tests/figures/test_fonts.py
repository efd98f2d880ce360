"""Letters that the usual font does not have: another font draws them, or it is said which script cannot be drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager
from PIL import Image

from facelens.figures import fonts, page, sheet
from facelens.figures.page import Page
from facelens.figures.style import style

ALF, BET = "\U00010900", "\U00010901"  # of Phoenician, which the usual font does not have


@pytest.fixture(autouse=True)
def system(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A computer with the usual font alone; what is put into the list is installed on it."""
    installed: list[str] = []
    usual = [one for one in font_manager.fontManager.ttflist if one.name == fonts.USUAL]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", usual)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda *given, **how: list(installed))
    kept = (fonts.families, fonts._look_again, fonts._letters)
    for one in kept:
        one.cache_clear()
    yield installed
    for one in kept:
        one.cache_clear()


def made(folder: Path, name: str, letters: str) -> str:
    """A font whose letters are black squares."""
    pen = TTGlyphPen(None)
    for i, point in enumerate(((50, 0), (50, 900), (950, 900), (950, 0))):
        (pen.lineTo if i else pen.moveTo)(point)
    pen.closePath()
    square, names = pen.glyph(), [".notdef", *dict.fromkeys(f"u{ord(one):X}" for one in letters)]
    build = FontBuilder(1000, isTTF=True)
    build.setupGlyphOrder(names)
    build.setupCharacterMap({ord(one): f"u{ord(one):X}" for one in letters})
    build.setupGlyf({one: square if one != ".notdef" else TTGlyphPen(None).glyph() for one in names})
    build.setupHorizontalMetrics(dict.fromkeys(names, (1000, 50)))
    build.setupHorizontalHeader(ascent=900, descent=-100)
    build.setupNameTable({"familyName": name, "styleName": "Regular", "psName": name.replace(" ", "")})
    build.setupOS2(sTypoAscender=900, usWinAscent=900, usWinDescent=100)
    build.setupPost()
    build.save(folder / f"{name}.ttf")
    return str(folder / f"{name}.ttf")


def figure(*words: str) -> Page:
    with style():
        drawn = Page(2.0, 0.5 * len(words))
        for i, one in enumerate(words):
            drawn.text(0.2, 0.25 + 0.5 * i, one, size=20)
    return drawn


def blacks(path: Path) -> int:
    with Image.open(path) as image:
        return int((np.asarray(image.convert("L")) < 60).sum())


def warned(path: Path) -> str:
    with Image.open(path) as image:
        return image.info.get(sheet.BOXES, "")


def test_a_font_that_has_the_letters_draws_them(tmp_path: Path, system: list[str]) -> None:
    drawn = figure(f"A{ALF}{BET}").figure
    before = sheet.save(drawn, tmp_path / "a.png")
    assert warned(before) == "Phoenician"
    svg = sheet.save(drawn, tmp_path / "a.svg").read_bytes()
    system += [made(tmp_path, "One Sans", ALF), made(tmp_path, "Both Serif", ALF + BET)]
    fonts.families.cache_clear()
    fonts._look_again.cache_clear()
    after = sheet.save(drawn, tmp_path / "b.png")
    assert warned(after) == "" and blacks(after) > blacks(before) + 2 * 30 * 30, "two squares"
    assert fonts.families(frozenset(ALF + BET)) == (("Both Serif",), frozenset()), "as few as will do"
    pdf = sheet.save(drawn, tmp_path / "b.pdf").read_bytes()
    assert b"BothSerif" in pdf
    assert sheet.save(drawn, tmp_path / "b.svg").read_bytes() == svg, "words stay words, whatever is installed"
    assert f"A{ALF}{BET}".encode() in svg
    assert drawn.texts[0].get_fontfamily() == [fonts.USUAL], "it was only lent"


def test_other_words_are_drawn_as_ever(
    tmp_path: Path, system: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "Ångström · Ωμέγα · Жук · ≥ 1e−3 … →"
    alone = [sheet.save(figure(words).figure, tmp_path / f"a.{kind}").read_bytes() for kind in sheet.FORMATS]
    system.append(made(tmp_path, "Aaa Sans", words + ALF))
    together = sheet.save(figure(words, ALF).figure, tmp_path / "t.png")
    assert warned(together) == ""

    def never(letters: object) -> None:
        raise AssertionError("no font is looked for")

    monkeypatch.setattr(fonts, "families", never)
    again = [sheet.save(figure(words).figure, tmp_path / f"b.{kind}").read_bytes() for kind in sheet.FORMATS]
    assert alone == again


def test_what_no_font_has_is_told_by_script(tmp_path: Path, system: list[str]) -> None:
    system.append(made(tmp_path, "One Sans", ALF))
    drawn = sheet.save(figure(f"{ALF}{BET}", "नमस्ते").figure, tmp_path / "a.png")
    assert warned(drawn) == "Devanagari, Phoenician"
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    system.append(str(tmp_path / "broken.ttf"))
    system.append(made(tmp_path, "My Emoji", BET))
    fonts._look_again.cache_clear()
    assert fonts.families(frozenset(BET)) == ((), frozenset(BET)), "pictures in colour cannot be drawn with"


def test_room_does_not_depend_on_what_is_installed(tmp_path: Path, system: list[str]) -> None:
    assert page.wide(4 * ALF, 10) > page.wide("mmmm", 10) and page.wide("m" + ALF, 10) < page.wide("m" + 2 * ALF, 10)
    cut = page.elided(20 * ALF, 10, 1.0)
    system.append(made(tmp_path, "One Sans", ALF))
    assert page.elided(20 * ALF, 10, 1.0) == cut and 3 < len(cut) < 12
