"""Guide: the pages of facelens/docs as plain values: sections, terms, links, search. Knows nothing of how they look.

A page is Markdown. Its title comes first, then a paragraph that says what it is about, then sections, each with a
heading of its own. A comment under a heading names what the section explains on the screen, by the class of a widget
or by the attribute its owner has it under:

    ## Variance
    <!-- on: VarianceChart, UncertaintyPanel.variance -->

Such a section is a term: its first paragraph, its first formula (a code block) and its reference ("Reference: ...",
else that of the page's section Reference) are what a card says about that widget.

`{evaluate.run}` stands for a command where the menu has it, with the user's own key; `{key evaluate.run}` for the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from facelens import resources
from facelens.errors import FaceLensError
from facelens.session.actions import BY_ID
from facelens.session.keys import keys_of
from facelens.words import tr

# In the order of the contents; the word of a panel is the name of its page.
PAGES = (
    "start",
    "workspace",
    "gallery",
    "doctor",
    "models",
    "training",
    "evaluation",
    "uncertainty",
    "confidence",
    "learners",
    "match",
    "upgrade",
    "projection",
    "figures",
)
REFERENCE = "reference"  # anchor of the section whose words hold for all terms of its page
MOST = 40  # hits of a search
BEFORE, AFTER = 14, 70  # letters on either side of what was found

_HEADING = re.compile(r"^(#{1,3}) (.+)$")
_ON = re.compile(r"^<!-- on: (.+) -->$")
_ACTION = re.compile(r"\{(key )?([a-z]+\.[a-z_]+)\}")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_FENCE = "```"


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it; the first of a page has the page's title."""

    page: str
    title: str
    anchor: str  # "" for the first
    level: int
    text: str  # Markdown under the heading
    on: tuple[str, ...] = ()  # what it explains on the screen

    @property
    def summary(self) -> str:
        """Its first paragraph, plain."""
        return plain(next((part for part in _parts(self.text) if not part.startswith(_FENCE)), ""))

    @property
    def formula(self) -> str:
        """Its first code block, "" for none; lines of a terminal are no formula."""
        blocks = (part.strip("`\n") for part in _parts(self.text) if part.startswith(_FENCE))
        return next((block for block in blocks if not block.startswith("facelens ")), "")

    @property
    def reference(self) -> str:
        """Who it is from, plain: its own words, else those of its page."""
        own = next((part for part in _parts(self.text) if part.startswith("Reference: ")), "")
        if own:
            return plain(own.removeprefix("Reference: "))
        of_all = page(self.page).section(REFERENCE) if self.anchor != REFERENCE else None
        return of_all.summary if of_all is not None else ""


@dataclass(frozen=True)
class Page:
    """One file."""

    word: str
    title: str
    source: str  # Markdown, without comments
    sections: tuple[Section, ...]

    @property
    def summary(self) -> str:
        """What the page is about, plain."""
        return self.sections[0].summary

    def section(self, anchor: str) -> Section | None:
        """The section with that anchor; "" is the first."""
        return next((one for one in self.sections if one.anchor == anchor), None)


@dataclass(frozen=True)
class Hit:
    """A section that holds what was searched for, and some words around it."""

    section: Section
    context: str


@cache
def page(word: str) -> Page:
    """One page."""
    file = resources.guide() / f"{word}.md"
    try:
        return parse(word, file.read_text("utf-8"))
    except OSError as error:
        message = tr("The page {name} of the guide is not there.", name=file.name)
        raise FaceLensError(message, hint=tr("Install FaceLens again; its own files are not complete.")) from error


def pages() -> tuple[Page, ...]:
    """All pages, in their order."""
    return tuple(page(word) for word in PAGES)


def parse(word: str, text: str) -> Page:
    """A page from its Markdown."""
    found: list[tuple[int, str, list[str], tuple[str, ...]]] = []
    kept: list[str] = []
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith(_FENCE)
        heading = None if fenced else _HEADING.match(line)
        on = None if fenced else _ON.match(line)
        if on is not None and found:
            level, title, lines, said = found[-1]
            found[-1] = (level, title, lines, (*said, *(key.strip() for key in on[1].split(","))))
            continue
        kept.append(line)
        if heading is not None:
            found.append((len(heading[1]), heading[2].strip(), [], ()))
        elif found:
            found[-1][2].append(line)
    if not found or found[0][0] != 1:
        raise FaceLensError(tr("The page {name} of the guide has no title.", name=word))
    sections = tuple(
        Section(word, title, anchor_of(title) if place else "", level, "\n".join(lines).strip(), on)
        for place, (level, title, lines, on) in enumerate(found)
    )
    return Page(word, found[0][1], "\n".join(kept).strip() + "\n", sections)


def anchor_of(title: str) -> str:
    """The anchor of a heading.

    >>> anchor_of("TAR at a FAR"), anchor_of("d_pw, d′ and 1:N")
    ('tar-at-a-far', 'd-pw-d-and-1-n')
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


@cache
def terms() -> dict[str, Section]:
    """What is explained on the screen: section by class, or by owner and attribute."""
    return {key: section for one in pages() for section in one.sections for key in section.on}


def place(link: str, page: str = "") -> tuple[str, str] | None:
    """Page and anchor that a link of a page leads to; None for one that leads out of the guide.

    >>> place("match.md#alpha"), place("#alpha", "match"), place("https://example.org")
    (('match', 'alpha'), ('match', 'alpha'), None)
    """
    file, _, anchor = link.partition("#")
    word = file.removesuffix(".md") if file.endswith(".md") else page if not file else ""
    return (word, anchor) if word in PAGES else None


def links(text: str) -> Iterator[str]:
    """Where the links of some Markdown lead."""
    yield from (found[2] for found in _LINK.finditer(text))


def told(text: str) -> str:
    """Markdown with commands and keys in the place of their ids."""
    return _ACTION.sub(lambda found: _command(found[2], key=bool(found[1]), mark="**"), text)


def plain(text: str) -> str:
    """Markdown as a line of words."""
    text = _ACTION.sub(lambda found: _command(found[2], key=bool(found[1]), mark=""), text)
    text = _LINK.sub(lambda found: found[1], text)
    return " ".join(text.replace("**", "").replace("`", "").split())


def search(typed: str) -> list[Hit]:
    """Sections that hold all words, those with all of them in the title first."""
    words = typed.lower().split()
    if not words:
        return []
    found: list[tuple[int, int, Hit]] = []
    for one in pages():
        for section in one.sections:
            said = _searched(section.text)
            title = f"{one.title} {section.title}".lower()
            if all(word in title or word in said.lower() for word in words):
                low = section.title.lower()
                rank = 0 if all(word in low for word in words) else 1 if any(word in low for word in words) else 2
                found.append((rank, len(found), Hit(section, _context(said, words))))
    return [hit for _, _, hit in sorted(found, key=lambda one: one[:2])][:MOST]


def _searched(text: str) -> str:
    """Text as one reads it, without the signs of tables and lists."""
    lines = (line for line in text.splitlines() if not line.startswith(_FENCE) and set(line) - set("|-: "))
    return plain(" ".join(line.strip("|").lstrip("-").replace("|", " ").strip() for line in lines))


def _context(said: str, words: list[str]) -> str:
    """Some words around the first that was found, else how it begins."""
    low = said.lower()
    at = min((where for word in words if (where := low.find(word)) >= 0), default=0)
    begin, end = max(0, at - BEFORE), at + AFTER
    begin = said.rfind(" ", 0, begin) + 1 if begin else 0
    end = said.find(" ", end) if said.find(" ", end) >= 0 else len(said)
    return ("…" if begin else "") + said[begin:end] + ("…" if end < len(said) else "")


def _command(id: str, *, key: bool, mark: str) -> str:
    keys = keys_of(id)
    if key:
        return keys[0] if keys else tr("(no key)")
    words = " > ".join([*(tr(title) for title in BY_ID[id].place), tr(BY_ID[id].text).rstrip("…")])
    return f"{mark}{words}{mark}" + (f" ({keys[0]})" if keys else "")


def _parts(text: str) -> list[str]:
    """Paragraphs and code blocks."""
    found: list[list[str]] = [[]]
    fenced = False
    for line in text.splitlines():
        if line.startswith(_FENCE):
            if not fenced:
                found.append([])
            found[-1].append(line)
            if fenced:
                found.append([])
            fenced = not fenced
        elif fenced or line.strip():
            found[-1].append(line)
        else:
            found.append([])
    return ["\n".join(part) for part in found if part]
