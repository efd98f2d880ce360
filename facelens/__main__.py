"""The command line. Qt is imported only inside `gui` and `tour`."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit code is 0 when it did its work."""
    print("not yet", file=sys.stderr)
    return 1


def gui() -> int:
    """The entry point of desktop starters: the window."""
    return main(["gui", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
