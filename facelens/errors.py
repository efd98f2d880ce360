"""What can go wrong, one class for each way to recover.

A message says what happened, to which file, and what FaceLens did about it; the hint says what to do next. Both are
shown to users as they are. Details are folded away (a path, a library's own words).
"""

from __future__ import annotations


class FaceLensError(Exception):
    """A failure that has a sentence for the user."""

    def __init__(self, message: str, *, hint: str = "", details: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    def __reduce__(self) -> tuple[object, ...]:
        # Errors travel from the worker process; the default reduction would drop the keyword arguments.
        return _rebuild, (type(self), self.message, self.hint, self.details)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class InputError(FaceLensError):
    """The file or folder given cannot be used: choose or mend another."""


class NeedsChoice(FaceLensError):
    """The input can be read in more than one way: the user decides (`options` holds what was found)."""

    def __init__(self, message: str, *, hint: str = "", details: str = "", options: object = None) -> None:
        super().__init__(message, hint=hint, details=details)
        self.options = options

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_choice, (self.message, self.hint, self.details, self.options)


class DiskFull(FaceLensError):
    """No room to write: free some and press Retry; finished work is kept."""


class WorkerDied(FaceLensError):
    """The worker process ended in the middle of a job: it has been restarted, the job can be retried."""


class NoDisplay(FaceLensError):
    """No window can be opened here: use the tour, or start FaceLens on a desktop."""


class Cancelled(Exception):
    """Raised by `tick` when the user has asked a job to stop. Swallowed in one place, the job queue."""


def _rebuild(cls: type[FaceLensError], message: str, hint: str, details: str) -> FaceLensError:
    return cls(message, hint=hint, details=details)


def _rebuild_choice(message: str, hint: str, details: str, options: object) -> NeedsChoice:
    return NeedsChoice(message, hint=hint, details=details, options=options)
