"""Measure: one number with what it takes to believe it, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace

from facelens.words import number, tr


@dataclass(frozen=True)
class Measure:
    """A value with its 95 % interval and the number of things it was counted over.

    `why` is set when there is no value (`value` is None), or when there is one that must not be read as the quantity
    asked for (`supported` is False: too few impostors for this rate). Never NaN.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    why: str = ""
    supported: bool = True

    @classmethod
    def none(cls, why: str, *, n: int = 0) -> Measure:
        """No value, and the reason."""
        return cls(None, n=n, why=why, supported=False)

    def with_interval(self, low: float | None, high: float | None) -> Measure:
        """The same value between two limits."""
        return replace(self, low=low, high=high)

    @property
    def defined(self) -> bool:
        """Whether there is a number that may be shown."""
        return self.value is not None and self.supported

    def text(self, decimals: int = 4, *, sign: bool = False) -> str:
        """As it stands in a table.

        >>> Measure(0.9642, 0.957, 0.971).text()
        '0.9642 [0.9570, 0.9710]'
        >>> Measure(-0.003, -0.009, 0.003).text(3, sign=True)
        '−0.003 [−0.009, +0.003]'
        >>> Measure.none("one identity, so there is no impostor pair").text()
        'n/a: one identity, so there is no impostor pair'
        """
        if not self.defined:
            return self.why if self.value is not None else tr("n/a: {why}", why=self.why)
        assert self.value is not None
        shown = number(self.value, decimals, sign=sign)
        if self.low is not None and self.high is not None:
            shown += f" [{number(self.low, decimals, sign=sign)}, {number(self.high, decimals, sign=sign)}]"
        return shown


def rate(value: float) -> str:
    """A rate of errors as the field writes it: one figure and a power of ten where that is exact.

    >>> rate(1e-4), rate(2.4e-6), rate(0.01), rate(0.5)
    ('1e-4', '2.4e-6', '1e-2', '0.5')
    """
    if value <= 0 or value > 0.1:
        return f"{value:g}"
    figure, _, power = f"{value:.1e}".partition("e")
    return f"{figure.removesuffix('.0')}e{int(power)}"
