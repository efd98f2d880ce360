"""Uncertainty: several models look at a gallery; where they disagree, and what follows from it.

Puts together what the other analyses work out: transforms into one space (features/fitting), the ensemble and its
variance (ensemble), what refusing does (rejection).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from facelens.analyses.measure import Measure
from facelens.analyses.rejection import Recognition, Risk
from facelens.images.faceset import Ids

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Member:
    """One member of an ensemble: a model, and how its vectors came into the common space."""

    name: str
    network: str  # its architecture, "" where not known
    dimensions: int
    how: str  # "itself", "ridge", "procrustes", "rbt", "file"
    why: str = ""  # in words: why this way of mapping, or which file
    alone: Measure = field(default_factory=lambda: Measure.none(""))  # TAR of the member by itself
    raw: Measure = field(default_factory=lambda: Measure.none(""))  # TAR before mapping: chance, where spaces differ


@dataclass(frozen=True)
class Size:
    """Accuracy of ensembles with so many members, the mean over all choices of them."""

    members: int
    diversity: str  # "D-T", "D-TG" or "D-TGA"
    verification: Measure  # TAR at the FAR
    identification: Measure  # TPIR at the FPIR
    choices: int  # ensembles that were averaged


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """What an ensemble says about the faces it is shown; parts that are still being worked out are None."""

    ids: Ids  # (N,) the faces that are shown: those of people the transforms were not fitted on
    variance: Array  # (N,) 1 - ||mean||^2; NaN where a member has no vector
    apart: NDArray[np.float32]  # (M, N) 1 - cosine of a member and the mean of the others
    members: tuple[Member, ...]
    target: str  # the model whose space is common, "" for a space of its own
    mode: str  # "m2m" or "unified"
    fitted_people: int  # 0: fitted elsewhere
    fitted_faces: int
    shown_people: int
    together: Measure  # TAR of the ensemble, nothing refused
    by: str  # the score pictures are refused by: "variance" or a column
    values: Array  # (N,) that score; higher is refused first
    verification: Risk | None = None
    identification: Risk | None = None
    recognition: Recognition | None = None
    sizes: tuple[Size, ...] = ()
    notes: tuple[str, ...] = ()
