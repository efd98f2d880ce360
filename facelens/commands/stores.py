"""Vectors by name: those that are kept, and those that are made first."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from facelens.commands import work
from facelens.words import tr

if TYPE_CHECKING:
    from facelens.features.featureset import FeatureSet
    from facelens.images.faceset import FaceSet


def store_root(given: Path | None) -> Path:
    from facelens.session import folders

    return given if given is not None else folders.cache() / "features"


def consents() -> Path:
    """The programs the user has allowed in the window; nothing can be allowed here."""
    from facelens.session import folders

    return folders.consents()


def opened_one(arguments: argparse.Namespace) -> tuple[FaceSet, FeatureSet, tuple[str, ...]]:
    """The gallery of a store, its vectors, and what there is to say of them."""
    from facelens.session import vectors

    opened = vectors.open_stores([arguments.store], cache=store_root(arguments.root), gallery=arguments.gallery)
    return opened.faces, opened.features[0], opened.notes


def embedded_stores(arguments: argparse.Namespace) -> list[str]:
    """The stores of --model, filled."""
    from facelens.session import tasks

    faces = tasks.open_gallery(arguments.gallery).faces
    made = []
    for model in arguments.model:
        root, tick = store_root(arguments.root), work.Line(tr("Embedding"))
        done = work.apart(tasks.embed_gallery, faces, model, root=root, consents=consents(), tick=tick)
        for line in (done.sentence, *done.notes):
            print(line)
        made.append(str(done.store))
    return made
