"""An upgrade between two made-up models, with everything that is found of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from facelens.analyses.plan import UpgradePlan
from facelens.analyses.upgrade import Upgrade, study
from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet
from tests.analyses.upgraded import PLAN, gallery, models

FULL = replace(PLAN, upper="upper", others=("mid",), resamples=30)


@cache
def made(plan: UpgradePlan = FULL) -> tuple[FaceSet, dict[str, FeatureSet], Upgrade]:
    faces = gallery(24, 5)
    features = models(faces)
    return faces, features, study(faces, plan, features=features)
