"""Plan: what an evaluation is asked for. Light to import: the window knows its plan before anything is evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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


MODES = ("m2m", "unified")  # into the space of the query model; both sides into a new one
METHODS = ("auto", "ridge", "procrustes", "rbt")  # of fitting a transform, see features.fitting
QUERIES = ("target", "ensemble")
REFUSE = ("both", "gallery")
EMPTIED = ("keep", "unenrol")
WEIGHTS = ("equal", "inverse", "exponential")
RECOGNISED = ("pairs", "nearest")
VARIANCE = "variance"
PAIRWISE = "pairwise distance"  # the same spread in another unit: the mean squared distance of two members
OWN = (VARIANCE, PAIRWISE)  # scores of the ensemble itself


@dataclass(frozen=True)
class EnsemblePlan:
    """Which models are put together, how they come into one space, and by what pictures are refused."""

    members: tuple[str, ...] = ()  # models by name; none named: all that have vectors
    target: str = ""  # the query model, whose space is common; not named: model B where it is a member, else the last
    mode: str = "m2m"  # of MODES
    method: str = "auto"  # of METHODS
    copies: int = 1  # transforms of each member, fitted on people drawn anew: diversity D-T
    files: tuple[tuple[str, str], ...] = ()  # model, file of a transform that was fitted elsewhere
    fitted_on: str = ""  # a filter: the pictures transforms are fitted on; "": half of the people
    queries: str = "target"  # who is compared with the ensemble: the "target" model, or the "ensemble" itself
    by: str = VARIANCE  # the score pictures are refused by: of OWN, or a column
    lower: bool = False  # whether pictures with low values are refused first
    far: float = 1e-3
    fpir: float = 1e-2
    refuse: str = "both"  # 1:1: pairs of which "both" pictures must be kept, or only the one of the "gallery"
    emptied: str = "keep"  # 1:N: a template that lost all its pictures "keep"s the best one, or is "unenrol"led
    weights: str = "equal"  # 1:N: of the pictures of a template; "inverse" 1 / u, "exponential" exp(-u / mean u)
    right: str = "pairs"  # when a face counts as recognised, see rejection.recognise
    resamples: int = 500
    seed: int = 0

    @property
    def size(self) -> int:
        """How many vectors of each face are put together: transforms that are fitted here may be several of a model."""
        once = {self.target, *dict(self.files)}
        return sum(self.copies if self.mode == "m2m" and name not in once else 1 for name in self.members)

    @property
    def space(self) -> tuple[object, ...]:
        """What decides the variance."""
        how = self.mode, self.method, self.copies, self.files, self.fitted_on, self.seed
        return (self.members, self.target, *how)

    def renamed(self, name: str, to: str) -> EnsemblePlan:
        """With a model under another name, or without it where that is "".

        >>> EnsemblePlan(members=("a", "b"), target="a").renamed("a", "c").members
        ('c', 'b')
        """
        members = tuple(filter(None, (to if one == name else one for one in self.members)))
        files = tuple((to if one == name else one, file) for one, file in self.files if to or one != name)
        return replace(self, members=members, target=to if self.target == name else self.target, files=files)


def resolved(plan: EnsemblePlan, names: Sequence[str], *, prefer: str = "") -> EnsemblePlan:
    """The plan with members and target named, of the models `names` that have vectors.

    >>> found = resolved(EnsemblePlan(), ("a", "b", "c"), prefer="b")
    >>> found.members, found.target
    (('a', 'b', 'c'), 'b')
    """
    members = tuple(name for name in (plan.members or names) if name in names)
    target = plan.target
    if target not in names:
        target = prefer if prefer in members else (members[-1] if members else "")
    return replace(plan, members=members, target=target)


CUTS = ("order", "rotation", "random")  # of slices: as they lie, by principal axes dealt out evenly, by chance
MATCHES = ("cosine", "weighted", "likelihood")  # of two faces by their parts, see analyses.parts
SHOWN = ("variance", "distance", "share")  # what can be said of a part of a face, see analyses.parts


@dataclass(frozen=True)
class PartsPlan:
    """Which model is looked at part by part, how it is cut where it has no parts of its own, how parts are matched."""

    model: str = ""  # not named: one that has learned parts, if there is one
    parts: int = 0  # K of slices; 0: 16, or what divides the dimensions. Learned parts are as they are
    cut: str = "order"  # of CUTS; slices only
    unit: bool = False  # slices: each brought to length 1, so that all weigh the same
    show: str = ""  # of SHOWN; "": the first there is
    match: str = "cosine"  # of MATCHES
    far: float = 1e-3  # of what is worked out with parts left out
    baseline: str = ""  # learners: the model they are compared with, cut into as many slices
    seed: int = 0
    alone: bool = False  # learners: compared with no other model

    @property
    def cutting(self) -> tuple[object, ...]:
        """What decides the parts themselves."""
        return (self.model, self.parts, self.cut, self.unit, self.seed)

    def renamed(self, name: str, to: str) -> PartsPlan:
        """With a model under another name, or without it where that is ""."""
        model, baseline = (to if one == name else one for one in (self.model, self.baseline))
        return replace(self, model=model, baseline=baseline)


PROJECTIONS = ("pca", "umap", "tsne")
METRICS = ("cosine", "euclidean")
# Two models on one map: fitted together where their vectors can be compared, else each by itself and then turned to
# agree; "auto" looks whether they can.
SPACES = ("auto", "joint", "aligned")
CURRENT = -1  # in place of a part: the one that is looked at in all views


@dataclass(frozen=True)
class ProjectionPlan:
    """Which vectors are laid out on a map, and how."""

    model: str = ""  # not named: the one that is looked at part by part
    part: int | None = None  # None: all parts together; CURRENT, or one of them
    method: str = "umap"  # of PROJECTIONS
    neighbours: int = 15  # UMAP: whom a face is held together with, itself counted
    min_dist: float = 0.1  # UMAP: how near two points may come
    perplexity: float = 30.0  # t-SNE: about how many neighbours a face has
    seed: int = 0
    metric: str = "cosine"  # of METRICS
    other: str = ""  # a second model, whose vectors of the same faces are laid out too: where each face moves to
    space: str = "auto"  # of SPACES; of two models

    @property
    def asked(self) -> tuple[object, ...]:
        """What decides the points; what another method would take is not in it.

        >>> ProjectionPlan(perplexity=30).asked == ProjectionPlan(perplexity=50).asked
        True
        """
        how = {"umap": (self.neighbours, self.min_dist, self.seed), "tsne": (self.perplexity, self.seed)}
        both = (self.other, self.space) if self.other else ()
        return (self.model, self.part, self.metric, self.method, *how.get(self.method, ()), *both)

    def renamed(self, name: str, to: str) -> ProjectionPlan:
        """With a model under another name, or without it where that is ""."""
        model, other = (to if one == name else one for one in (self.model, self.other))
        return replace(self, model=model, other=other)


PATCH_WEIGHTS = ("uniform", "apc", "sc distance", "sc similarity", "cc", "lmk")
SOLVERS = ("exact", "sinkhorn", "paper")
ALPHA = 0.7  # share of the patches in the score, as published for occluded faces
PLAIN_SUM = -1.0  # in place of alpha: cosine and patch similarity added up, as published for clear faces


@dataclass(frozen=True)
class MatchPlan:
    """How a face is searched for: whose vectors and patches, how patches weigh and move, what they count."""

    model: str = ""  # not named: model B, else any that has vectors and patches
    layer: str = ""  # whose output the patches are; "": the one the model card names
    grid: tuple[int, int] | None = None  # rows, columns that the map is averaged to; None: as it is
    weights: str = "uniform"  # of PATCH_WEIGHTS
    solver: str = "exact"  # of SOLVERS
    epsilon: float = 0.05  # of "sinkhorn" and "paper"
    alpha: float = ALPHA  # or PLAIN_SUM
    shortlist: int = 100  # how many of the first stage the second one looks at; 0: all, which takes long
    far: float = 1e-3  # where the threshold of the blended distance lies

    @property
    def solving(self) -> tuple[object, ...]:
        """What decides the distances of patches; alpha does not."""
        eps = 0.0 if self.solver == "exact" else self.epsilon
        return (self.model, self.layer, self.grid, self.weights, self.solver, eps, self.shortlist)

    def renamed(self, name: str, to: str) -> MatchPlan:
        """With a model under another name, or without it where that is ""."""
        return replace(self, model=to) if self.model == name else self


DIRECTIONS = ("direct", "backward", "forward")
TASKS = ("1:1", "1:N")
BACKFILLS = ("flip risk", "uncertainty", "random", "traffic")  # orders in which a gallery is embedded anew
TRANSFORMS = ("auto", "fit", "none")


@dataclass(frozen=True)
class UpgradePlan:
    """Which model replaces which, what else they are measured against, and by what."""

    old: str = ""  # not named: model A
    new: str = ""  # not named: model B
    upper: str = ""  # the new model as it would be without regard to the old one: what could be gained; "": none
    others: tuple[str, ...] = ()  # further models of the matrix, and of a sequence of upgrades, in their order
    direction: str = "auto"  # of DIRECTIONS: how new queries meet the old gallery; "auto": see analyses.spaces
    transforms: str = "auto"  # of TRANSFORMS: "auto" fits them only where the models as they are do not understand
    method: str = "auto"  # of METHODS, where they are fitted
    files: tuple[tuple[str, str], ...] = ()  # "backward" or "forward", file of a transform that was fitted elsewhere
    fitted_on: str = ""  # a filter: the pictures transforms are fitted on; "": half of the people
    task: str = "1:1"  # of TASKS: what verdict, matrix, gains and backfill speak of
    far: float = 1e-3
    fpir: float = 1e-2
    traffic: str = ""  # a column that says how often a face of the gallery is asked for; for the backfill
    resamples: int = 1000
    seed: int = 0
    order: str = ""  # of BACKFILLS: in which the gallery is embedded anew; "": the first there is
    share: float = 0.25  # of the gallery that is embedded anew

    @property
    def asked(self) -> tuple[object, ...]:
        """What decides the result; which task, order and share are looked at does not.

        >>> UpgradePlan(task="1:N", order="random", share=0.5).asked == UpgradePlan().asked
        True
        """
        return tuple(vars(replace(self, task="1:1", order="", share=0.0)).values())

    def renamed(self, name: str, to: str) -> UpgradePlan:
        """With a model under another name, or without it where that is ""."""
        old, new, upper = (to if one == name else one for one in (self.old, self.new, self.upper))
        others = tuple(filter(None, (to if one == name else one for one in self.others)))
        return replace(self, old=old, new=new, upper=upper, others=others)
