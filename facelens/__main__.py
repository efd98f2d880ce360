"""The command line: what is said is read in `commands`, run, and how it ended is told."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from facelens.commands import parser
from facelens.errors import Cancelled, FaceLensError, NoDisplay
from facelens.words import tr

NO_DISPLAY = 3  # exit code of `gui` where no window can be opened; run.py renders the tour then


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 = done, 1 = a stated failure, 2 = wrong usage, 3 = no display, 130 = stopped by the user."""
    arguments = parser().parse_args(argv)
    try:
        _use_settings()
        code = int(arguments.run(arguments) or 0)
        sys.stdout.flush()  # here, where a reader that has gone is known about
        return code
    except NoDisplay as error:
        _complain(error)
        return NO_DISPLAY
    except FaceLensError as error:
        _complain(error)
        return 1
    except (Cancelled, KeyboardInterrupt):
        print(tr("Stopped."), file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output (head, less) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _use_settings() -> None:
    """Limits that were raised in the window hold for commands too; the environment has the last word."""
    from facelens import limits
    from facelens.session.settings import Settings

    settings = Settings.load()
    for name, value in limits.chosen(settings.megapixels, settings.model_gb).items():
        if float(value) != limits.USUAL[name]:
            os.environ.setdefault(name, value)


def gui() -> int:
    """The entry point of desktop starters: the window."""
    return main(["gui", *sys.argv[1:]])


def _complain(error: FaceLensError) -> None:
    print(error.message, file=sys.stderr)
    if error.hint:
        print(error.hint, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
