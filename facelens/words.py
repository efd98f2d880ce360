"""The one door for words that a user reads, so that they can be translated and always have the same form."""

from __future__ import annotations

import gettext
from functools import cache


@cache
def _catalogue() -> gettext.NullTranslations:
    from facelens.resources import assets

    return gettext.translation("facelens", localedir=assets() / "locale", fallback=True)


def tr(text: str, **values: object) -> str:
    """The user's language for `text`, with `{name}` places filled in; integers get thin groups.

    >>> tr("{n} of {total} selected", n=412, total=13233)
    '412 of 13,233 selected'
    """
    translated = _catalogue().gettext(text)
    if not values:
        return translated
    return translated.format(**{name: _shown(value) for name, value in values.items()})


def _shown(value: object) -> object:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value


def number(value: float, decimals: int = 3, *, sign: bool = False) -> str:
    """A measured value as FaceLens writes it: fixed decimals, true minus; what rounds to zero has no sign.

    >>> number(-0.0305), number(-0.00001, sign=True), number(1.5, 1, sign=True)
    ('−0.030', '0.000', '+1.5')
    """
    shown = f"{value:+.{decimals}f}" if sign else f"{value:.{decimals}f}"
    if float(shown) == 0:
        shown = shown.lstrip("+-")
    return shown.replace("-", "−")


def plural(n: int, one: str, many: str) -> str:
    """`one` or `many` with `{n}` filled in.

    >>> plural(1, "{n} face", "{n} faces"), plural(2610, "{n} face", "{n} faces")
    ('1 face', '2,610 faces')
    """
    return _catalogue().ngettext(one, many, n).format(n=f"{n:,}")


def escaped(name: str) -> str:
    """A file name made fit to show: bytes that are no text, control and direction characters become visible escapes.

    >>> escaped("a\\udcff\\nb")
    'a\\\\xff\\\\x0ab'
    """
    if name.isprintable() and name.isascii():
        return name
    return "".join(_escape(c) for c in name)


_HIDDEN = set("\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def _escape(c: str) -> str:
    code = ord(c)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if c in _HIDDEN or not c.isprintable():
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return c
