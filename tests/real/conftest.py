"""What the published networks say about LFW, embedded once in a run however many tests and processes ask."""

from __future__ import annotations

import csv
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from facelens.features.featureset import FeatureSet
from facelens.images.faceset import FaceSet, Labels
from facelens.session import tasks

NETWORKS = {
    "casia": "mobilefacenet-casia/068.ckpt",
    "facexzoo 1.0": "mobilefacenet-facexzoo/face_recognition_1.0.state_dict.pt",
    "facexzoo 2.0": "mobilefacenet-facexzoo/face_recognition_2.0.state_dict.pt",
    "foamliu": "mobilefacenet-foamliu/model.pt",
    "w600k": "w600k-mbf/w600k_mbf.onnx",
}


@pytest.fixture(scope="session")
def lfw_faces(real_faces: Path) -> FaceSet:
    """The 2,610 aligned crops, with their people and the column `role`."""
    folder = real_faces / "faces/lfw"
    with open(folder / "images.csv") as file:
        lines = list(csv.DictReader(file))
    paths, names, roles = ([line[key] for line in lines] for key in ("path", "identity", "role"))
    return FaceSet.build(
        "lfw", folder / "aligned112", paths=paths, identities=names, columns={"role": Labels.of(roles)}
    )


@pytest.fixture(scope="session")
def lfw_features(
    lfw_faces: FaceSet, real_faces: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], FeatureSet]:
    """The vectors of one of NETWORKS, of all these faces."""
    base = tmp_path_factory.getbasetemp()
    store = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "lfw vectors"
    store.mkdir(exist_ok=True)
    made: dict[str, FeatureSet] = {}

    def features(name: str) -> FeatureSet:
        if name not in made:
            with open(store / f"{name}.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes second finds them
                done = tasks.embed_gallery(lfw_faces, real_faces / "weights" / NETWORKS[name], root=store)
            made[name] = done.features(lfw_faces)
        return made[name]

    return features
