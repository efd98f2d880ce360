"""Whether anything may move: not where the desktop or the user wants no motion."""

from __future__ import annotations

from PySide6.QtWidgets import QStyle, QWidget

reduced = False  # the user's own setting


def wanted(widget: QWidget) -> bool:
    """Whether a change may be shown as a movement in this widget."""
    moves = widget.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration) > 0
    return moves and not reduced and widget.isVisible()
