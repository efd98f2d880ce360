"""The contact sheet: every face has its place, broken ones are named, files are whole and the same each time."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.errors import Cancelled, InputError
from facelens.figures import sheet
from facelens.images.faceset import FaceSet
from facelens.session import drawing
from tests.figures.test_confidence import inside


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    names = ["Ada_Byron", "Bo $x_1$", "<b>Cy</b> & Co", None, "A name that is far too long for a caption", "Ada_Byron"]
    for i in range(6):
        Image.new("RGB", (40 + 8 * i, 60), (40 * i, 90, 120)).save(tmp_path / f"{i}.png")
    (tmp_path / "3.png").write_bytes(b"no picture")
    return FaceSet.build(
        "my gallery",
        tmp_path,
        paths=[f"{i}.png" for i in range(6)],
        identities=names,
        columns={"blur": np.array([0.5, np.nan, -0.25, 1, 2, 3])},
    )


def texts(figure) -> list[str]:
    return [text.get_text() for text in figure.texts] + [t.get_text() for a in figure.axes for t in a.texts]


def test_every_face_has_its_place(faces: FaceSet) -> None:
    figure = sheet.contact_sheet(faces, np.arange(6))
    assert len(figure.axes) == 6
    said = texts(figure)
    assert said[:2] == ["my gallery", "6 faces"]
    assert {"Ada Byron", "Bo $x 1$", "<b>Cy</b> & Co", "3.png"} <= set(said)
    assert "A name that is…" in said
    assert said.count("not readable") == 1, "a broken picture is named, never left out"
    boxes = [axes.get_position() for axes in figure.axes]
    for i, a in enumerate(boxes):
        assert 0 <= a.x0 < a.x1 <= 1 and 0 <= a.y0 < a.y1 <= 1
        for b in boxes[i + 1 :]:
            assert a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0


def test_values_stand_under_the_faces(faces: FaceSet) -> None:
    said = texts(sheet.contact_sheet(faces, np.array([2, 0, 1]), value="blur", caption="Blur of three"))
    assert said[:2] == ["Blur of three", "3 faces"]
    assert "−0.250" in said and "0.500" in said and "n/a" in said and "nan" not in said


def test_one_face_and_none(faces: FaceSet) -> None:
    assert texts(sheet.contact_sheet(faces, np.array([0])))[1] == "1 face"
    with pytest.raises(InputError, match="at least one face"):
        sheet.contact_sheet(faces, np.zeros(0, np.int64))


def test_groups_stand_under_their_headings(faces: FaceSet) -> None:
    figure = sheet.contact_sheet(faces, np.array([5, 2, 0, 3, 1, 4]), value="blur", group="identity")
    said = [text.get_text() for text in figure.texts]
    assert said[:2] == ["my gallery", "6 faces by identity"]
    assert said[2:6] == ["Ada Byron", "2", "Ada Byron", "3.000"], "both faces of a group, whatever lies between them"
    bold = [text for text in figure.texts[1:] if text.get_fontweight() == "bold"]
    assert [one.get_text() for one in bold] == ["Ada Byron", "<b>Cy</…", "none", "Bo $x 1$", "A name t…"]
    boxes = [axes.get_position(original=True) for axes in figure.axes]
    assert len(boxes) == 6
    for i, a in enumerate(boxes):
        assert 0 <= a.x0 < a.x1 <= 1 and 0 <= a.y0 < a.y1 <= 1
        assert all(a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0 for b in boxes[i + 1 :])
    for one, first in zip(bold, (0, 2, 3, 4, 5), strict=True):
        x, y = one.get_position()
        assert x == pytest.approx(boxes[first].x0) and y > boxes[first].y1, "over the first of its faces"
        assert not any(box.x0 <= x < box.x1 and box.y0 < y < box.y1 for box in boxes), "on no face"
    inside(figure)
    assert texts(sheet.contact_sheet(faces, np.arange(6), group="blur"))[1] == "6 faces", "numbers make no groups"


def test_large_groups_have_lines_of_their_own(faces: FaceSet) -> None:
    rows = np.array([0, 5] * 9 + [1, 2])
    figure = sheet.contact_sheet(faces, rows, group="identity", columns=4, caption="one that is long enough to be cut")
    tops = [round(axes.get_position(original=True).y1, 4) for axes in figure.axes]
    assert len(set(tops[:18])) == 5 and len(set(tops[18:])) == 1 and min(tops[:18]) > tops[18]
    inside(figure)


def test_too_many_are_cut_and_said(faces: FaceSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet, "MOST", 4)
    figure = sheet.contact_sheet(faces, np.arange(6))
    assert len(figure.axes) == 4 and texts(figure)[1] == "first 4 of 6 faces"
    again = sheet.contact_sheet(faces, np.arange(4), group="identity", total=6)
    assert len(again.axes) == 4 and texts(again)[1] == "first 4 of 6 faces by identity"


def test_progress_and_cancel(faces: FaceSet) -> None:
    seen: list[tuple[int, int]] = []

    def tick(done: int, total: int, note: str = "") -> None:
        seen.append((done, total))
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        sheet.contact_sheet(faces, np.arange(6), tick=tick)
    assert seen == [(0, 6), (1, 6), (2, 6), (3, 6)]


@pytest.mark.parametrize("kind", sheet.FORMATS)
def test_the_same_figure_gives_the_same_file(faces: FaceSet, kind: str, tmp_path: Path) -> None:
    first = drawing.draw_gallery(tmp_path / f"one.{kind}", faces, np.arange(6))[0].read_bytes()
    second = drawing.draw_gallery(tmp_path / f"two.{kind}", faces, np.arange(6))[0].read_bytes()
    assert first == second and len(first) > 1000
    if kind == "png":
        with Image.open(tmp_path / "one.png") as image:
            assert image.getpixel((0, 0))[:3] == (255, 255, 255), "figures are in the light theme"
    if kind == "svg":
        text = first.decode()
        assert "&lt;b&gt;Cy&lt;/b&gt; &amp; Co" in text and "<b>" not in text
        assert not re.search(r"<script|\son\w+=|href=\"(?!#|data:)", text)


def test_an_ending_it_cannot_draw(faces: FaceSet, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.gif has no ending") as caught:
        drawing.draw_gallery(tmp_path / "x.gif", faces, np.arange(2))
    assert caught.value.hint == "Use .png, .svg or .pdf."
    assert not list(tmp_path.glob("x*"))


def test_the_title_has_room_over_a_single_face(faces: FaceSet) -> None:
    figure = sheet.contact_sheet(faces, np.arange(1), caption="Sample gallery")
    figure.canvas.draw()
    title, counted = (text.get_window_extent() for text in figure.texts[:2])
    assert figure.texts[0].get_text() == "Sample gallery" and title.x1 < counted.x0
    assert counted.x1 <= figure.bbox.x1 and title.x0 >= 0
    figure = sheet.contact_sheet(faces, np.arange(1), caption="a gallery with a very long name " * 5)
    figure.canvas.draw()
    title, counted = (text.get_window_extent() for text in figure.texts[:2])
    assert "…" in figure.texts[0].get_text() and title.x1 < counted.x0 and figure.get_size_inches()[0] < 4
