"""Reports as one page for a browser and for paper. Nothing in it is fetched and nothing runs; figures are inside."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from urllib.parse import quote

from facelens import __version__
from facelens.figures.style import INK
from facelens.figures.verdict import Verdict
from facelens.session.blocks import Block
from facelens.words import escaped, tr

INCH = 97  # pixels on the page: two usual figures stand side by side, and their words can be read
HALF = 480  # pixels of a figure beside which another may stand on paper
TALL = 1.2  # height over width of a figure that may take most of a sheet of paper
PNG_INCH = 200  # pixels of a PNG, see figures.sheet.Paper
FEW = 16  # rows of a table that is not broken on paper, and beside which another may stand
SHORT = 24  # letters of a cell that is not broken
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
STYLE = f"""
html {{ font: 14px/1.5 system-ui, "DejaVu Sans", sans-serif; color: {INK["text"]}; background: {INK["base"]}; }}
body {{ margin: 0 auto; max-width: 944px; padding: 2rem 24px 4rem; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; }}
h2 {{ font-size: 1.3rem; margin: 3rem 0 .5rem; border-top: 1px solid {INK["line"]}; padding-top: 1rem; }}
h3 {{ font-size: 1.15rem; margin: 2.2rem 0 .4rem; }}
h4 {{ font-size: 1rem; margin: 1.6rem 0 .3rem; }}
h4 span {{ font-weight: normal; color: {INK["text2"]}; }}
p {{ margin: .3rem 0; }}
a {{ color: {INK["accent"]}; }}
.quiet, figcaption, footer {{ color: {INK["text3"]}; font-size: .93rem; }}
nav ol {{ columns: 3; column-gap: 2rem; margin: .75rem 0 0; padding-left: 1.7rem; }}
nav li {{ break-inside: avoid; }}
nav a {{ text-decoration: none; }}
.reason {{ color: {INK["text2"]}; border-left: 4px solid {INK["line"]}; padding: .25rem 0 .25rem 1rem; }}
.verdict {{ border-left: 4px solid {INK["text3"]}; padding: .5rem 1rem; margin: 1.25rem 0; }}
.verdict.good {{ border-color: {INK["good"]}; }}
.verdict.bad {{ border-color: {INK["bad"]}; }}
.verdict strong {{ font-size: 1.15rem; }}
figure {{ display: inline-block; vertical-align: bottom; margin: .6rem 20px .6rem 0; max-width: 100%; }}
img {{ display: block; max-width: 100%; height: auto; }}
.tables {{ display: flex; flex-wrap: wrap; gap: .6rem 3rem; align-items: start; margin: .3rem 0; }}
.tables div {{ overflow-x: auto; max-width: 100%; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .93rem; overflow-wrap: break-word; }}
th, td {{ text-align: left; vertical-align: top; padding: .25rem 1rem .25rem 0;
  border-bottom: 1px solid {INK["line"]}; }}
th {{ color: {INK["text3"]}; font-weight: normal; vertical-align: bottom; }}
.short {{ white-space: nowrap; }}
td.code {{ font: .85rem "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }}
ul {{ margin: .3rem 0; padding-left: 1.2rem; }}
.columns {{ columns: 2; column-gap: 3rem; }}
.columns h2 {{ column-span: all; }}
.columns h4 {{ break-after: avoid; }}
.columns h2 + h4 {{ margin-top: 0; }}
@page {{ size: A4; margin: 16mm 15mm; @bottom-right {{ content: counter(page); font: 7pt sans-serif;
  color: {INK["text3"]}; }} }}
@media print {{
  html {{ font-size: 9pt; line-height: 1.4; }}
  body {{ max-width: none; padding: 0; }}
  h1, h2, h3, h4, .above {{ break-after: avoid; }}
  h2 {{ margin-top: 1.8rem; }}
  figure, tr, li, .verdict {{ break-inside: avoid; }}
  thead {{ display: table-header-group; }}
  figure {{ margin: .5rem 3mm .5rem 0; }}
  figure.small {{ max-width: 86mm; }}
  img {{ width: auto; max-height: 125mm; }}
  .few {{ break-inside: avoid; }}
  .tall img {{ max-height: 200mm; }}
  .tables, .tables div {{ display: block; overflow: visible; }}
  .tables.side div {{ display: inline-block; vertical-align: top; margin: 0 6mm .4rem 0; }}
  table {{ font-size: 7.5pt; max-width: 100%; }}
  th, td {{ padding: .15rem .55rem .15rem 0; }}
  .short {{ white-space: normal; overflow-wrap: normal; }}
  td.code {{ font-size: 6.5pt; }}
  a {{ color: inherit; text-decoration: none; }}
}}
"""


@dataclass(frozen=True)
class Picture:
    """A figure on a page: a PNG or SVG file, and what it is called."""

    title: str
    path: Path


@dataclass(frozen=True)
class Section:
    """What a page says under one title."""

    name: str  # its anchor
    title: str  # "": the page is about nothing else
    blocks: Sequence[Block] = ()
    figures: Mapping[str, Picture] = field(default_factory=dict)  # by name; those of no block come first
    verdict: Verdict | None = None
    caveats: Sequence[str] = ()
    reason: str = ""  # why there is nothing to say
    narrow: bool = False  # whether it is set in two columns


def page(
    title: str, sections: Sequence[Section], *, told: Sequence[str] = (), files: Sequence[str] = (), foot: str = ""
) -> str:
    """The whole page. `told` are lines under the title, `files` lie beside it."""
    parts = [f"<h1>{_text(title)}</h1>", *_lines(told)]
    if len(listed := [one for one in sections if one.title]) > 1:
        links = "".join(f'<li><a href="#{_text(one.name)}">{_text(one.title)}</a></li>' for one in listed)
        parts.append(f"<nav><h2>{_text(tr('Contents'))}</h2><ol>{links}</ol></nav>")
    parts += map(_section, sections)
    if files:
        links = ", ".join(f'<a href="{_text(quote(name))}">{_text(name)}</a>' for name in files)
        parts.append(f"<h2>{_text(tr('Files'))}</h2><p>{links}{f'; {_text(foot)}' if foot else ''}</p>")
    parts.append(f"<footer><p>FaceLens {_text(__version__)}</p></footer>")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_text(POLICY)}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_text(title)}</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _text(words: str) -> str:
    """Words that stay words: no tag, and no sign that cannot be seen."""
    return escape(escaped(words))


def _section(section: Section) -> str:
    narrow = ' class="columns"' if section.narrow else ""
    parts = [f'<section id="{_text(section.name)}"{narrow}>']
    if section.title:
        parts.append(f"<h2>{_text(section.title)}</h2>")
    if section.reason:
        return "\n".join([*parts, f'<p class="reason">{_text(section.reason)}</p></section>'])
    asked = {name for block in section.blocks for name in block.figures}
    groups = _groups(section.blocks)
    if groups and not groups[0][0].title and not groups[0][0].rows:  # of whom it speaks
        parts.append(_group(groups[0], {}))
        groups[0] = [replace(groups[0][0], told=(), noted=())]
    if (said := section.verdict) is not None:
        parts += [
            f'<div class="verdict {_text(said.tone)}"><p><strong>{_text(said.sentence)}</strong></p>',
            f"<p>{_text(said.evidence)}</p></div>",
        ]
    if section.caveats:
        parts += [f'<p class="above">{_text(tr("What this does not say"))}</p>', _list(section.caveats)]
    parts.append(_figures([one for name, one in section.figures.items() if name not in asked]))
    parts += [_group(group, section.figures) for group in groups]
    return "\n".join([*filter(None, parts), "</section>"])


def _groups(blocks: Sequence[Block]) -> list[list[Block]]:
    """Blocks that belong together."""
    groups: list[list[Block]] = []
    for block in filter(None, blocks):
        if block.goes_on and groups:
            groups[-1].append(block)
        else:
            groups.append([block])
    return groups


def _group(blocks: Sequence[Block], figures: Mapping[str, Picture]) -> str:
    """Title, tables, lines, figures."""
    first, parts = blocks[0], []
    if first.heads:
        parts.append(f"<h3>{_text(first.title)}</h3>")
    elif first.title:
        name, more = _cut(first.title)
        parts.append(f"<h4>{_text(name)}{f' <span>{_text(more)}</span>' if more else ''}</h4>")
    parts += _lines((line for block in blocks for line in block.noted), above=True)
    if tables := [_table(block) for block in blocks if block.rows]:
        side = " side" if len(tables) > 1 and all(len(block.rows) <= FEW for block in blocks) else ""
        parts.append(f'<div class="tables{side}">{"".join(tables)}</div>')
    told = [line for block in blocks for line in block.told]
    if told and first.title and not first.heads and not tables:
        parts.append(_list(told))
    else:
        parts += _lines(told)
    parts.append(_figures([figures[name] for block in blocks for name in block.figures if name in figures]))
    return "\n".join(filter(None, parts))


def _cut(title: str) -> tuple[str, str]:
    """A title and what it goes on with.

    >>> _cut("Verification: 60 pairs; rule roc")
    ('Verification:', '60 pairs; rule roc')
    """
    found = re.search(r"(?<=[:;]) ", title)
    return (title[: found.start()], title[found.end() :]) if found else (title, "")


def _lines(lines: Iterable[str], *, above: bool = False) -> list[str]:
    """Lines, `above` what belongs to them."""
    return [f'<p class="quiet{" above" if above else ""}">{_text(line)}</p>' for line in lines]


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{_text(line)}</li>" for line in lines) + "</ul>"


def _table(block: Block) -> str:
    rows, columns = block.rows, block.columns
    headed = block.headed and len(rows) > 1
    head = f"<thead>{_row(rows[0], columns, 'th')}</thead>" if headed else ""
    body = "\n".join(_row(row, columns, "td") for row in rows[headed:])
    few = ' class="few"' if len(rows) <= FEW else ""
    return f"<div{few}><table>{head}<tbody>{body}</tbody></table></div>"


def _row(row: Sequence[str], columns: int, tag: str) -> str:
    cells = []
    for place, text in enumerate(row):
        # A short row ends in words that may run on.
        runs_on = place == len(row) - 1 and len(row) < columns
        marks = f' colspan="{columns - len(row) + 1}"' if runs_on else ""
        if re.fullmatch("[0-9a-f]{32,}", text):
            marks += ' class="code"'
        elif len(text) <= SHORT and tag == "td":
            marks += ' class="short"'
        cells.append(f"<{tag}{marks}>{_text(text)}</{tag}>")
    return f"<tr>{''.join(cells)}</tr>"


def _figures(pictures: Sequence[Picture]) -> str:
    return f"<div>{''.join(map(_figure, pictures))}</div>" if pictures else ""


def _figure(picture: Picture) -> str:
    drawn, kind = picture.path.read_bytes(), "image/png"
    if picture.path.suffix == ".svg":
        drawn, kind = _alone(drawn), "image/svg+xml"
        found = re.search(rb'<svg [^>]*?\bwidth="([0-9.]+)pt" height="([0-9.]+)pt"', drawn[:4096])
        inches = [float(side) / 72 for side in found.groups()] if found else [0.0, 0.0]
    else:  # the head of a PNG
        inches = [int.from_bytes(drawn[at : at + 4], "big") / PNG_INCH for at in (16, 20)]
    wide, high = (side * INCH for side in inches)
    data, size = base64.b64encode(drawn).decode("ascii"), f' width="{wide:.0f}"' if wide else ""
    image = f'<img src="data:{kind};base64,{data}"{size} alt="{_text(picture.title)}">'
    shape = ' class="tall"' if high > TALL * wide else ' class="small"' if wide <= HALF else ""
    return f"<figure{shape}>{image}<figcaption>{_text(picture.title)}</figcaption></figure>"


def _alone(drawn: bytes) -> bytes:
    """An SVG that names no file elsewhere; where DejaVu Sans is not installed, words are set in a like font."""
    head, tag, rest = drawn.partition(b"<svg ")
    head = re.sub(rb"<!DOCTYPE[^>]*>\s*", b"", head)
    return head + tag + re.sub(rb"(<text [^>]*font-family: 'DejaVu Sans')", rb"\1, Verdana, sans-serif", rest)
