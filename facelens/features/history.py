"""What a training has said so far: a row every few steps, one line of JSON each. Needs no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from facelens.files import atomic_write

HISTORY = "history.jsonl"


def history(out: Path) -> list[dict[str, Any]]:
    """The rows of a training so far; a row that is being written is left out."""
    try:
        written = (out / HISTORY).read_text("utf-8")
    except OSError:
        return []
    rows = []
    for line in written.splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def add_row(out: Path, row: Mapping[str, Any]) -> None:
    """One more row of history, in one write: who reads at that moment finds it whole or not ended."""
    with (out / HISTORY).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def write_history(out: Path, rows: list[dict[str, Any]]) -> None:
    """Replace all rows."""
    with atomic_write(out / HISTORY) as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows).encode())
