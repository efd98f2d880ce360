"""Plan: what an evaluation is asked for. Light to import: the window knows its plan before anything is evaluated."""

from __future__ import annotations

from dataclasses import dataclass

ALL_PAIRS = "all pairs"
PARTS = ("verification", "identification", "retrieval")
RULES = ("roc", "nist", "nearest", "conservative", "pfe")  # of TAR at a FAR, see verification
OPEN_RULES = ("nist", "roc", "mixbct", "pfe")  # of TPIR at an FPIR, see identification
R_MODES = ("exclude_self", "paper")  # whether R counts the query itself, see retrieval
NMI_MEANS = ("arithmetic", "geometric")
EMPTY = ("missing", "lowest")  # pairs of a template without a usable picture: left out and counted, or scored lowest
FARS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
FPIRS = (1e-1, 1e-2, 1e-3)
RECALLS = (1, 2, 4, 8, 10, 100)
RESAMPLES = 1000


@dataclass(frozen=True)
class Plan:
    """What to work out, and by which of the field's conventions."""

    protocol: str = ALL_PAIRS  # or the name of the gallery's published test
    parts: tuple[str, ...] = PARTS
    fars: tuple[float, ...] = FARS
    rule: str = "roc"  # of RULES
    fpirs: tuple[float, ...] = FPIRS
    open_rule: str = "nist"  # of OPEN_RULES
    r_mode: str = "exclude_self"  # of R_MODES
    recalls: tuple[int, ...] = RECALLS
    nmi_mean: str = "arithmetic"  # of NMI_MEANS; "" leaves clustering out
    clustered: int = 1 << 24  # faces x people up to which they are clustered; beyond it takes minutes
    junk: bool = True  # with cameras known: drop what the query's own camera saw of the same person
    breakdown: str = ""  # a column of the gallery
    flip: bool = True  # template pooling: detector score and norm as IJB-C is published
    detector_score: bool = True
    keep_norm: bool = True
    empty_templates: str = "missing"  # of EMPTY
    resamples: int = RESAMPLES  # 0: no intervals
    seed: int = 0
