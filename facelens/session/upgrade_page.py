"""What is found about an upgrade as one page for a browser. Nothing in it is fetched and nothing runs; figures are
inside."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from facelens import __version__
from facelens.figures import crossing_words as words
from facelens.figures.style import INK
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.session.upgrade_report import UpgradeReport

SHARE = 56  # per cent: how wide a figure of 200 points an inch is shown, so that its words are as large as the page's
STYLE = f"""
body {{ margin: 0 auto; max-width: 60rem; padding: 2rem 1.5rem 4rem; font: 14px/1.5 system-ui, "DejaVu Sans",
  sans-serif; color: {INK["text"]}; background: {INK["base"]}; }}
h1 {{ font-size: 1.25rem; margin: 0 0 .25rem; }}
h2 {{ font-size: 1rem; margin: 2.5rem 0 .5rem; border-top: 1px solid {INK["line"]}; padding-top: 1rem; }}
p {{ margin: .3rem 0; }}
.quiet, figcaption, footer {{ color: {INK["text3"]}; font-size: .85rem; }}
.verdict {{ border-left: 4px solid {INK["text3"]}; padding: .5rem 1rem; margin: 1.25rem 0; }}
.verdict.good {{ border-color: {INK["good"]}; }}
.verdict.bad {{ border-color: {INK["bad"]}; }}
.verdict strong {{ font-size: 1.1rem; }}
figure {{ margin: 1rem 0; }}
img {{ max-width: 100%; height: auto; }}
.table {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }}
th, td {{ text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid {INK["line"]};
  white-space: nowrap; }}
th {{ color: {INK["text3"]}; font-weight: normal; }}
ul {{ margin: .3rem 0; padding-left: 1.2rem; }}
"""


def page(report: UpgradeReport, figures: Mapping[str, Path], files: Sequence[str]) -> str:
    """The whole page; `figures` by their names are put inside, `files` lie beside it."""
    plan, said = report.found.plan, report.verdict
    title = tr("Upgrade from {old} to {new}", old=escaped(plan.old), new=escaped(plan.new))
    parts = [
        f"<h1>{escape(title)}</h1>",
        *(f'<p class="quiet">{escape(line)}</p>' for line in (*report.who(), *report.notes)),
        f'<section class="verdict {said.tone}"><p><strong>{escape(said.sentence)}</strong></p>',
        f"<p>{escape(said.evidence)}</p></section>",
        f"<p>{escape(tr('What this does not say'))}</p>",
        _list(said.caveats),
        _section(tr("Cross-tests"), words.asked(plan, report.asked), figures.get("matrix"), report.tests()),
    ]
    if rows := report.gains():
        parts.append(_section(tr("Gains"), tr("share of the way from old to upper"), figures.get("gains"), rows))
    if rows := report.bounds():
        told = tr("each cross-test should lie between the two models by themselves")
        parts.append(_section(tr("Sequence"), told, figures.get("sequence"), rows, headed=False))
    if rows := report.flips():
        parts.append(_section(tr("Flips"), report.flips_title(), figures.get("flips"), rows))
    if rows := report.backfill():
        parts.append(_section(tr("Backfill"), report.backfill_title(), figures.get("backfill"), rows))
        filled = report.found.backfill
        parts.append(_list(f"{one.name}: {one.note}" for one in (filled.orders if filled is not None else ())))
    told = tr("how close the pictures of a person lie, by three definitions; lower is closer")
    parts.append(_section(tr("Same people"), told, figures.get("same people"), report.compactness()))
    if rows := report.moved():
        parts.append(_section(tr("Who moved most"), "", None, rows))
    if report.found.matrix.notes:
        parts += [f"<h2>{escape(tr('How it was tested'))}</h2>", _list(report.found.matrix.notes)]
    links = ", ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in files)
    parts.append(
        f"<footer><h2>{escape(tr('Files'))}</h2><p>{links}; {escape(tr('figures in figures/'))}</p>"
        f"<p>FaceLens {escape(__version__)}</p></footer>"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _section(title: str, told: str, figure: Path | None, rows: Sequence[Sequence[str]], *, headed: bool = True) -> str:
    parts = [f"<h2>{escape(title)}</h2>"]
    if told:
        parts.append(f'<p class="quiet">{escape(told)}</p>')
    if figure is not None:
        drawn = figure.read_bytes()
        width = int.from_bytes(drawn[16:20], "big") * SHARE // 100  # the head of a PNG
        data, told_too = base64.b64encode(drawn).decode("ascii"), escape(f"{title}. {told}")
        parts.append(f'<figure><img src="data:image/png;base64,{data}" width="{width}" alt="{told_too}"></figure>')
    parts.append(_table(rows, headed=headed))
    return "\n".join(parts)


def _table(rows: Sequence[Sequence[str]], *, headed: bool) -> str:
    columns = max((len(row) for row in rows), default=0)
    lines = []
    for i, row in enumerate(rows):
        cell = "th" if headed and not i and len(rows) > 1 else "td"
        # A short row ends in words that may run on.
        last = f' colspan="{columns - len(row) + 1}"' if len(row) < columns else ""
        spans = [*[""] * (len(row) - 1), last]
        lines.append("<tr>" + "".join(f"<{cell}{s}>{escape(text)}</{cell}>" for text, s in zip(row, spans)) + "</tr>")
    return '<div class="table"><table>' + "\n".join(lines) + "</table></div>"


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
