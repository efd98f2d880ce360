"""Keys: which keys run which command, as the user has it; what clashes, and how a key is named in a sentence.

Keys are written as Qt does it: "Ctrl+Shift+P". The table of commands has the usual ones; `chosen` those that differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Keys = tuple[str, ...]

MOST, LONGEST = 4, 40  # keys of one command, letters of a key
# What keys do that are no commands: they move in lists, or mean something where a picture or a chart is looked at.
FIXED: Mapping[str, str] = {
    **dict.fromkeys(("Left", "Right", "Up", "Down", "Home", "End", "PgUp", "PgDown"), "moves in grids and lists"),
    **dict.fromkeys(("Tab", "Shift+Tab", "Backtab"), "walks from control to control"),
    **dict.fromkeys(("Return", "Enter", "Space", "Backspace"), "works on what has the focus"),
    "F": "fits the picture or the chart",
    "Z": "shows real pixels in the loupe",
    "L": "shows landmarks in the loupe",
    "M": "goes to the first right face in Match",
    "R": "turns the order of a table round",
    **dict.fromkeys(("[", "]"), "goes to the next part in Confidence"),
    "+": "zooms in",
    "-": "zooms out",
}

_chosen: Mapping[str, Keys] = MappingProxyType({})


def use(chosen: Mapping[str, Keys]) -> None:
    """From now on these are the keys of the window."""
    global _chosen
    _chosen = MappingProxyType(dict(chosen))


def keys_of(id: str, chosen: Mapping[str, Keys] | None = None) -> Keys:
    """The keys of a command: the user's, else the usual ones."""
    from facelens.session.actions import BY_ID

    return (_chosen if chosen is None else chosen).get(id, BY_ID[id].keys)


def hint(id: str) -> str:
    """A command's first key as it stands behind words: " (Ctrl+O)", or nothing where it has none."""
    keys = keys_of(id)
    return f" ({keys[0]})" if keys else ""


def alike(key: str) -> str:
    """What two ways to write a key have in common.

    >>> alike("Shift+Ctrl+p") == alike("Ctrl+Shift+P"), alike("Ctrl++")
    (True, 'ctrl++')
    """
    head, last = (key[:-2], "+") if key.endswith("++") else (key.rpartition("+")[0], key.rpartition("+")[2] or key)
    return "+".join([*sorted(part.lower() for part in head.split("+") if part), last.lower()])


def clashing(id: str, key: str, chosen: Mapping[str, Keys]) -> tuple[str, ...]:
    """Other commands that have that key."""
    from facelens.session.actions import ACTIONS

    wanted = alike(key)
    return tuple(
        one.id for one in ACTIONS if one.id != id and wanted in {alike(other) for other in keys_of(one.id, chosen)}
    )


def fixed(key: str) -> str:
    """What a key does that no command can have; "" for others."""
    return next((word for one, word in FIXED.items() if alike(one) == alike(key)), "")


def with_key(chosen: Mapping[str, Keys], id: str, key: str) -> dict[str, Keys]:
    """The keys with another one for a command ("" for none); commands that had it lose it."""
    made = dict(chosen)
    for other in clashing(id, key, chosen) if key else ():
        made[other] = tuple(one for one in keys_of(other, chosen) if alike(one) != alike(key))
    made[id] = (key,) if key else ()
    return usual_left_out(made)


def usual_left_out(chosen: Mapping[str, Keys]) -> dict[str, Keys]:
    """Only what differs from the usual keys, of commands that there are."""
    from facelens.session.actions import BY_ID

    return {id: keys for id, keys in chosen.items() if id in BY_ID and keys != BY_ID[id].keys}


def read(value: object) -> dict[str, Keys] | None:
    """Keys from a settings file, as far as they can be used; None where it is something else."""
    if not isinstance(value, dict):
        return None
    found: dict[str, Keys] = {}
    for id, keys in value.items():
        good = isinstance(keys, list) and len(keys) <= MOST
        if good and all(isinstance(key, str) and 0 < len(key) <= LONGEST and key.isprintable() for key in keys):
            found[id] = tuple(keys)
    return found
