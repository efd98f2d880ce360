"""What is found of an upgrade as text, tables, JSON and a page: complete, the same numbers, and nothing runs in it."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from facelens.analyses.flips import LOST
from facelens.errors import InputError
from facelens.images.faceset import Labels
from facelens.session.upgrade_report import UpgradeReport, write_report
from facelens.session.upgrade_tables import write_flips, write_order, write_upgrade_json
from tests.figures.upgraded import FULL, made


def test_text_says_the_verdict_first_and_everything_after() -> None:
    faces, _, found = made()
    report = UpgradeReport(faces, found)
    lines = report.lines()
    assert lines[0] == "drawn: old old, new new, upper upper, further mid; 120 faces of 24 people."
    assert report.verdict.sentence in lines and report.verdict.evidence in lines
    text = "\n".join(lines)
    for words in ("Cross-tests", "Gains", "Sequence", "How close", "Flips: ", "Backfill: ", "Who moved most"):
        assert words in text
    assert len(report.tests()) == 1 + len(found.matrix.tests)
    other = "\n".join(UpgradeReport(faces, found, task="1:N").lines())
    assert "TPIR @ FPIR 1e-1 by the share embedded anew" in other


def test_half_a_study_is_told_as_far_as_it_goes() -> None:
    faces, _, found = made()
    text = "\n".join(UpgradeReport(faces, replace(found, flips=None, moves=None, backfill=None)).lines())
    assert "Cross-tests" in text and "Flips" not in text and "Backfill: " not in text and "Who moved" not in text


def test_flips_and_order_are_complete(tmp_path: Path) -> None:
    faces, _, found = made()
    assert found.flips is not None and found.backfill is not None
    write_flips(tmp_path / "f.csv", faces, found)
    with open(tmp_path / "f.csv") as file:
        rows = list(csv.DictReader(file))
    lost = [row for row in rows if row["change"] == "lost"]
    assert (len(lost), len(rows)) == (len(found.flips.lost), len(found.flips.lost) + len(found.flips.gained))
    first = found.flips.searches.ids[found.flips.lost[0]]
    assert rows[0]["query"] == faces.paths[faces.row_of(int(first))].decode()  # type: ignore[index]
    assert all(row["identity"] == row["old_match_identity"] for row in lost)
    with open(tmp_path / "f-pairs.csv") as file:
        pairs = list(csv.DictReader(file))
    assert len(pairs) == len(found.flips.pairs.first)
    assert sum(row["change"] == "lost" for row in pairs) == int((found.flips.pairs.change == LOST).sum())
    for row in pairs:
        was, now = (float(row[f"{side}_score"]) >= float(row[f"{side}_threshold"]) for side in ("old", "new"))
        assert (was, now) == ((True, False) if row["change"] == "lost" else (False, True))
    for order in found.backfill.orders:
        write_order(tmp_path / "o.csv", faces, found, order=order.name)
        with open(tmp_path / "o.csv") as file:
            listed = list(csv.DictReader(file))
        rows_of = faces.rows_of(order.ids)
        assert [row["path"] for row in listed] == [faces.paths[int(row)].decode() for row in rows_of]
    with pytest.raises(InputError, match="no order sideways"):
        write_order(tmp_path / "o.csv", faces, found, order="sideways")
    with pytest.raises(InputError, match="not worked out"):
        write_flips(tmp_path / "f.csv", faces, replace(found, flips=None))


def test_json_has_every_number_and_no_nan(tmp_path: Path) -> None:
    faces, features, found = made()
    told = json.loads(write_upgrade_json(tmp_path / "u.json", faces, found, features=features).read_text())
    assert told["verdict"]["1:1"]["tone"] in ("good", "bad", "open") and told["plan"]["old"] == "old"
    tests = {(one["query"], one["gallery"]): one for one in told["matrix"]["tests"]}
    assert len(tests) == 16
    own = found.matrix.test("new", "old")
    assert own is not None and tests["new", "old"]["verification"]["value"] == own.verification.value
    assert told["flips"]["searches"]["n"] == 120 and len(told["backfill"]["orders"]) == 3
    assert len(told["moves"]["people"]) == 24 and "NaN" not in (tmp_path / "u.json").read_text()
    part = replace(found, flips=None, moves=None)
    bare = json.loads(write_upgrade_json(tmp_path / "b.json", faces, part).read_text())
    assert bare["flips"] is None and bare["moves"] is None


class Tags(HTMLParser):
    """What a page is made of, and whether every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_and_runs_nothing(tmp_path: Path) -> None:
    faces, _, found = made()
    nasty = "<script>alert(1)</script>&co"
    names = [nasty if name == "p00" else name for name in (faces.identity.name(row) for row in range(len(faces)))]
    faces = replace(faces, identity=Labels.of(names))
    moves = found.moves
    assert moves is not None
    moves = replace(moves, people=(nasty, *moves.people[1:]))
    page = write_report(tmp_path / "r", faces, replace(found, moves=moves), notes=("a < b",)).read_text()
    tags = Tags()
    tags.feed(page)
    assert not tags.open
    kinds = [tag for tag, _ in tags.seen]
    assert "script" not in kinds and "link" not in kinds and "iframe" not in kinds and "a &lt; b" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;co" in page
    sources = [attrs["src"] for tag, attrs in tags.seen if tag == "img"]
    assert sources and all(str(source).startswith("data:image/png;base64,") for source in sources)
    assert all(attrs.get("alt") for tag, attrs in tags.seen if tag == "img")
    links = [str(attrs["href"]) for tag, attrs in tags.seen if tag == "a"]
    assert links and all((tmp_path / "r" / link).is_file() for link in links)


def test_a_study_without_a_comparison_is_reported_too(tmp_path: Path) -> None:
    faces, _, found = made(replace(FULL, new="wide", upper="", others=(), transforms="none"))
    page = write_report(tmp_path / "r", faces, found).read_text()
    assert "cannot be compared" in page and not (tmp_path / "r/flips.csv").exists()
    assert np.isnan(found.moves.moved).all()  # type: ignore[union-attr]
