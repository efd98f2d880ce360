"""Compatible models: how much of what a better model could give an upgrade brings.

Computes    performance gain = 100 (A(new) - A(old)) / |A(upper) - A(old)|
            upgrade gain     = 100 (max over directions of A(cross) - A(old)) / |A(upper) - A(old)|
            A: any accuracy; upper: the new model trained without regard to the old one; cross: queries of one model
            searched in a gallery of the other (direct, or backward and forward)
Reference   Meng, Zhang, Xu and Zhou, Learning Compatible Embeddings, ICCV 2021
Departs     none. The absolute value in the denominator is the paper's: without it the sign turns where the upper model
            is worse than the old one.
"""

from __future__ import annotations

from collections.abc import Iterable

from facelens.analyses.measure import Measure
from facelens.words import tr


def performance_gain(old: float, new: float, *, upper: float) -> Measure:
    """Per cent of the possible gain that the new model brings by itself.

    >>> performance_gain(93.99, 94.01, upper=94.18).text(2, sign=True)
    '+10.53'
    """
    return _gain(new - old, upper - old)


def upgrade_gain(old: float, cross: Iterable[float], *, upper: float) -> Measure:
    """Per cent of the possible gain that the new model brings while the gallery is the old one's; best direction.

    >>> upgrade_gain(93.99, [91.85, 94.27], upper=94.18).text(2, sign=True)
    '+147.37'
    """
    directions = list(cross)
    if not directions:
        return Measure.none(tr("no direction was measured"))
    return _gain(max(directions) - old, upper - old)


def _gain(got: float, possible: float) -> Measure:
    # Accuracies come as printed numbers: a difference below what any table prints is none.
    if abs(possible) < 1e-12:
        return Measure.none(tr("the upper model is as good as the old one, so there is nothing to gain"))
    return Measure(100.0 * got / abs(possible))
