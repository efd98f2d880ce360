"""Recipes as text: one value set and all else left as it was, or a whole recipe written. Needs no torch."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from facelens.errors import InputError
from facelens.features.recipe import Recipe, lines
from facelens.words import escaped, tr

_VALUE = re.compile(r"""(?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|\{[^}]*\}|[^#]*?)(?P<rest>[ \t]*(?:\#.*)?)$""")


def with_value(text: str, key: str, value: Any) -> str:
    """The text with a dotted key set; None takes its line out. Comments and the order of lines stay.

    >>> with_value('kind = "margin"\\n[loss]\\nmargin = 0.3  # of the cosine\\n', "loss.margin", 0.4)
    'kind = "margin"\\n[loss]\\nmargin = 0.4  # of the cosine\\n'
    """
    place = tuple(key.split("."))
    known, rows = lines(text), text.splitlines()
    if place in known:
        at = known[place] - 1
        if value is None:
            del rows[at]
        else:
            before, _, after = rows[at].partition("=")
            found = _VALUE.match(after.strip())
            rows[at] = f"{before.rstrip()} = {written(value)}{found['rest'] if found else ''}"
    elif value is not None:
        _insert(rows, place, written(value))
    changed = "\n".join(rows) + "\n"
    if not _says(changed, place, value):
        raise InputError(
            tr("{key} cannot be set here, as this recipe is written.", key=escaped(key)),
            hint=tr("Change it in the text of the recipe."),
        )
    return changed


def _insert(rows: list[str], place: tuple[str, ...], value: str) -> None:
    """A new line at the end of its table; a table that is not there yet comes last."""
    *tables, key = place
    header = f"[{'.'.join(tables)}]"
    start = 0
    if tables:
        start = next((i + 1 for i, row in enumerate(rows) if row.split("#")[0].strip() == header), -1)
        if start < 0:
            rows += ["", header, f"{key} = {value}"]
            return
    end = next((i for i in range(start, len(rows)) if rows[i].lstrip().startswith("[")), len(rows))
    while end > start and not rows[end - 1].strip():
        end -= 1
    rows.insert(end, f"{key} = {value}")


def _says(text: str, place: tuple[str, ...], value: Any) -> bool:
    """Whether the text has that value now."""
    try:
        found: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    for part in place:
        found = found.get(part) if isinstance(found, dict) else None
    return bool(found == value)


def written(value: Any) -> str:
    """A value as TOML writes it.

    >>> written({"learners": 4, "whole": True}), written((0.5, 1e-05))
    ('{ learners = 4, whole = true }', '[0.5, 1e-05]')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(name)} = {written(one)}" for name, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(written(one) for one in value)}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def text_of(recipe: Recipe) -> str:
    """A recipe as a file would have it: what differs from the defaults."""
    rows = [f"{name} = {written(value)}" for name, value in _stated(recipe) if name != "stages"]
    for one in fields(recipe):
        part = getattr(recipe, one.name)
        if is_dataclass(part) and (stated := _stated(part)):
            rows += ["", f"[{one.name}]", *(f"{_key(name)} = {written(value)}" for name, value in stated)]
    for stage in recipe.stages:
        rows += ["", "[[stages]]", f"name = {written(stage.name)}", f"change = {written(stage.change)}"]
    return "\n".join(rows) + "\n"


def _stated(part: Any) -> list[tuple[str, Any]]:
    """(name, value) of what is no table and not as it is by default."""
    bare = type(part)(kind=part.kind) if isinstance(part, Recipe) else type(part)()
    told = [(one.name, getattr(part, one.name)) for one in fields(part)]
    kept = [(name, value) for name, value in told if name == "kind" or value != getattr(bare, name)]
    return [(name, value) for name, value in kept if not is_dataclass(value)]
