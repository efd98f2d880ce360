"""The strip on paper: three bands, the value above each face, refused and wrong marked, nothing silently left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.errors import Cancelled, InputError
from facelens.figures import sheet
from facelens.figures.strip import BANDS, face_strip
from facelens.images.faceset import FaceSet

COUNT = 120
VALUES = np.random.default_rng(0).permutation(COUNT) / COUNT
PERCENTILES = 100 * (VALUES + 0.5 / COUNT)


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    for i in range(COUNT):
        Image.new("RGB", (24 + 8 * (i % 2), 24), (2 * i, 90, 120)).save(tmp_path / f"{i}.png")
    paths = [f"{i}.png" for i in range(COUNT)]
    made = FaceSet.build("my $1$ gallery", tmp_path, paths=paths, identities=[None] * COUNT)
    made.path(int(VALUES.argmax())).write_bytes(b"no picture")
    return made


def texts(figure) -> list[str]:
    return [text.get_text() for text in figure.texts] + [t.get_text() for a in figure.axes for t in a.texts]


def test_three_bands_with_the_value_above_each_face(faces: FaceSet) -> None:
    figure = face_strip(faces, faces.ids, values=VALUES, percentiles=PERCENTILES, name="variance", columns=5)
    said = texts(figure)
    assert said[:2] == ["my $1$ gallery: faces by variance", "N = 120 faces"]
    assert {"Low", "p0 to p10", "12 faces", "Medium", "p45 to p55", "High", "p95 to p100", "6 faces"} <= set(said)
    assert len(figure.axes) == 15
    assert [t for t in said if t.startswith("0.9")] == ["0.992", "0.983", "0.975", "0.967", "0.958"]
    assert said.count("not readable") == 1
    low = [float(axes.texts[-1].get_text()) for axes in figure.axes[:5]]
    assert low[0] == 0 and np.allclose(np.diff(low), 2.4 / COUNT, atol=0.6 / COUNT), "spread through the band"
    boxes = [axes.get_position() for axes in figure.axes]
    for i, a in enumerate(boxes):
        assert 0 <= a.x0 < a.x1 <= 1 and 0 <= a.y0 < a.y1 <= 1
        assert all(a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0 for b in boxes[i + 1 :])


def test_refused_and_wrong_are_marked_and_named(faces: FaceSet) -> None:
    right = np.where(VALUES > 0.97, 0, np.where(VALUES > 0.5, 1, -1)).astype(np.int8)
    given = {"values": VALUES, "percentiles": PERCENTILES, "name": "variance", "columns": 5}
    plain = face_strip(faces, faces.ids, **given)
    marked = face_strip(faces, faces.ids, **given, right=right, limit=0.98)
    bars = [len(b.patches) - len(a.patches) for a, b in zip(plain.axes, marked.axes)]
    crosses = [any(line.get_marker() == "s" for line in axes.lines) for axes in marked.axes]
    assert bars == [0] * 10 + [1, 1, 0, 0, 0] and crosses == [False] * 10 + [True, True, True, False, False]
    assert any(text.endswith("bar: refused above 0.980 · cross: wrong") for text in texts(marked))
    assert not any("refused" in text or "wrong" in text for text in texts(plain))


def test_a_score_that_was_turned_round_is_written_as_it_is(faces: FaceSet) -> None:
    given = {"values": VALUES - 1, "percentiles": PERCENTILES, "name": "quality", "lower": True, "limit": -0.1}
    said = texts(face_strip(faces, faces.ids, **given, columns=5))
    assert said.index("High") < said.index("Low") and {"p90 to p100", "p0 to p5"} <= set(said)
    assert "0.008" in said and "lower is less sure · bar: refused below 0.100" in " ".join(said)


def test_an_empty_band_says_so_and_none_at_all_is_refused(faces: FaceSet) -> None:
    some = PERCENTILES < 50
    figure = face_strip(faces, faces.ids[some], values=VALUES[some], percentiles=PERCENTILES[some])
    assert texts(figure).count("no face in this band") == 1
    with pytest.raises(InputError, match="at least one face"):
        face_strip(faces, faces.ids[:0], values=VALUES[:0], percentiles=PERCENTILES[:0])


def test_progress_and_cancel(faces: FaceSet) -> None:
    seen: list[tuple[int, int]] = []

    def tick(done: int, total: int, note: str = "") -> None:
        seen.append((done, total))
        if done == 4:
            raise Cancelled

    with pytest.raises(Cancelled):
        face_strip(faces, faces.ids, values=VALUES, percentiles=PERCENTILES, columns=3, tick=tick)
    assert seen == [(i, 9) for i in range(5)]


@pytest.mark.parametrize("kind", sheet.FORMATS)
def test_the_same_figure_gives_the_same_file(faces: FaceSet, kind: str, tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        figure = face_strip(faces, faces.ids, values=VALUES, percentiles=PERCENTILES, limit=0.9, columns=3)
        made.append(sheet.save(figure, tmp_path / f"{name}.{kind}").read_bytes())
    assert made[0] == made[1] and len(made[0]) > 1000


@pytest.mark.parametrize("count", [0, 1, 5, 40, 41])
@pytest.mark.parametrize("room", [1, 4, 8])
def test_pages_are_spread_and_hold_each_face_once(count: int, room: int) -> None:
    spread, falling = BANDS[0], BANDS[2]
    walk = spread.walk(np.arange(count), room)
    assert sorted(walk) == list(range(count))
    for start in range(0, count, room):
        page = walk[start : start + room]
        assert (np.diff(page) > 0).all()
        if len(page) == room > 1:
            assert np.ptp(np.diff(page)) <= 1, "as evenly as whole numbers can be"
    assert falling.walk(np.arange(count), room).tolist() == list(range(count))
