"""Galleries of made-up people on disk, and the endless stream of training pictures.

A gallery is a folder of identity folders with LFW's file names, `manifest.csv` with every variation's strength and the
five landmarks, `points68.csv` with the 68 points and their visibility, `pairs.txt` in LFW's form, and a note on where
the pictures come from.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image

from facelens.errors import InputError
from facelens.images.synthetic.head import build_head
from facelens.images.synthetic.identity import sample_identity
from facelens.images.synthetic.photo import CAMERA_FAULTS, OCCLUDERS, Photo, sample_photo, vary
from facelens.images.synthetic.rendering import Rendered, render
from facelens.progress import Tick, silent
from facelens.words import tr

GALLERY_SIZE = 224
JPEG_QUALITY = 85
CLEAR = 6  # pictures per person before the degraded ones
TRAINING_SEED = 10_000  # training people start here, so that they never meet the sample gallery's

_FIRST = (
    "Alex", "Ari", "Ash", "Avery", "Bela", "Blair", "Casey", "Charlie", "Dana", "Devon", "Eden", "Ellis", "Emery",
    "Finley", "Frankie", "Gale", "Harper", "Hollis", "Indra", "Jamie", "Jean", "Jesse", "Jody", "Jules", "Kai",
    "Kamal", "Kerry", "Kim", "Kiran", "Lee", "Lennon", "Logan", "Lou", "Luca", "Marlow", "Mika", "Morgan", "Nico",
    "Noa", "Noor", "Oakley", "Parker", "Pat", "Perry", "Quinn", "Reese", "Remy", "Riley", "Robin", "Rory", "Rowan",
    "Sam", "Sasha", "Shay", "Skyler", "Sol", "Sunny", "Tal", "Taylor", "Toni", "Val", "Wren", "Yuri", "Zuri",
)  # fmt: skip
_LAST = (
    "Abbot", "Adeyo", "Alder", "Amberg", "Arrol", "Banari", "Barrow", "Belmar", "Birch", "Calder", "Castano",
    "Chandry", "Corvin", "Dabrow", "Delmore", "Dufay", "Ekwali", "Ellery", "Fenwick", "Ferrand", "Galvan",
    "Garrick", "Haddon", "Harrow", "Holm", "Ibarro", "Imanov", "Jansky", "Jorund", "Kaplin", "Karoki", "Kestrel",
    "Lindvar", "Lomax", "Marchant", "Mbari", "Morell", "Nakaro", "Novik", "Okaro", "Olander", "Orteo", "Paredo",
    "Penrose", "Quill", "Rahmel", "Ravel", "Rosen", "Sakano", "Sandoz", "Solano", "Tamsin", "Tanabo", "Thorne",
    "Umbari", "Vance", "Varga", "Weller", "Winther", "Xandor", "Yamiro", "Yarrow", "Zanett", "Zielin",
)  # fmt: skip

_NOTE = """# Made-up faces

All pictures in this folder were drawn by FaceLens itself:

    facelens sample build --out sample_data --identities {identities} --pictures {pictures} --size {size} --seed {seed}

Nobody in them exists: every face follows from a seed, and the names are put together at random.

- `manifest.csv`: one row per picture with its identity, role, split, the strength of every variation, `degradation`
  (0 = none, 1 = nothing left to recognise) and five landmarks in pixels (eye centres, nose tip, mouth corners; left is
  the picture's left).
- `points68.csv`: the 68 face points in pixels and whether each can be seen.
- `pairs.txt`: verification pairs in LFW's form.

Licence: MIT, the same as FaceLens. The people are not a sample of any population: no claim about groups of people can
rest on them.
"""


@dataclass(frozen=True, slots=True)
class TrainingPicture:
    """One picture of the training stream: who it shows, which of the person's pictures it is, and the picture with its
    labels."""

    seed: int
    number: int
    rendered: Rendered


def made_up_names(count: int, *, seed: int = 0) -> list[str]:
    """``count`` different names like Robin_Solano, the same for the same seed."""
    rng = np.random.default_rng([31337, seed])
    limit = len(_FIRST) * len(_LAST)
    if count > limit:
        raise InputError(
            tr("A sample gallery can have at most {n} people.", n=limit), hint=tr("Ask for fewer identities.")
        )
    first, last = rng.permutation(len(_FIRST)), rng.permutation(len(_LAST))
    # each pass over the lists pairs them with another offset, so no name comes twice
    return [f"{_FIRST[first[i % len(first)]]}_{_LAST[last[(i + i // len(first)) % len(last)]]}" for i in range(count)]


def gallery_photos(seed: int, pictures: int) -> list[Photo]:
    """The variations of one person's gallery pictures: a clean cover, clear ones, and from the seventh on degraded
    ones.

    The degraded pictures go through all faults in an order of their own for each person, so that every fault is shown
    evenly.
    """
    rng = np.random.default_rng([77, seed])
    faults = CAMERA_FAULTS + OCCLUDERS
    order = np.random.default_rng([78, seed // 3]).permutation(len(faults))
    photos = [replace(sample_photo(rng, hard=0.22), noise=0.0, jpeg=0.0, mouth_open=0.0, blink=0.0)]
    for k in range(1, pictures):
        photo = sample_photo(rng, hard=1.0)
        if k >= CLEAR:
            kind = faults[order[(4 * (seed % 3) + k - CLEAR) % len(faults)]]
            strength = float(rng.uniform(0.3, 0.95))
            if kind == "exposure" and rng.random() < 0.5:
                strength = -strength
            photo = vary(photo, kind, strength)
        photos.append(photo)
    return photos


def build_gallery(
    out: Path, *, identities: int = 64, pictures: int = 10, size: int = GALLERY_SIZE, seed: int = 0, tick: Tick = silent
) -> None:
    """Write a gallery into ``out``; the same arguments write the same manifest and the same pixels."""
    if identities < 1 or pictures < 1:
        raise InputError(tr("A sample gallery needs at least one person with one picture."))
    if not 48 <= size <= 1024:
        raise InputError(
            tr("Pictures of {n} pixels cannot be drawn.", n=size), hint=tr("Choose a size from 48 to 1024.")
        )
    out.mkdir(parents=True, exist_ok=True)
    names = made_up_names(identities, seed=seed)
    rows: list[dict[str, str]] = []
    points: list[list[str]] = []
    total = identities * pictures
    for i, name in enumerate(names):
        person = (seed * 509 + i) % TRAINING_SEED
        head = build_head(sample_identity(person), size=size)
        folder = out / name
        folder.mkdir(exist_ok=True)
        for k, photo in enumerate(gallery_photos(person, pictures)):
            tick(i * pictures + k, total, name.replace("_", " "))
            rendered = render(head, photo)
            path = f"{name}/{name}_{k + 1:04d}.jpg"
            (out / path).write_bytes(_jpeg(rendered.picture))
            role = "cover" if k == 0 else "clear" if k < CLEAR else "degraded"
            rows.append(_row(path, name, role, "test" if i % 4 == 3 else "train", rendered, size))
            flat = [f"{v:.1f}" for v in rendered.points.ravel()]
            points.append([path, "".join("1" if v else "0" for v in rendered.visible), *flat])
    _write_table(out / "manifest.csv", [list(rows[0]), *(list(r.values()) for r in rows)])
    header = ["path", "visible", *(f"p{j}_{axis}" for j in range(68) for axis in "xy")]
    _write_table(out / "points68.csv", [header, *points])
    (out / "pairs.txt").write_text(pairs_text(names, pictures, seed=seed), encoding="utf-8", newline="\n")
    note = _NOTE.format(identities=identities, pictures=pictures, size=size, seed=seed)
    (out / "README.md").write_text(note, encoding="utf-8", newline="\n")
    tick(total, total, "")


def training_pictures(
    seeds: Iterable[int],
    per_identity: int,
    *,
    size: int = 112,
    hard: float = 1.0,
    degrade: float = 0.5,
    stream: int = 0,
) -> Iterator[TrainingPicture]:
    """Pictures of the people of ``seeds``, person by person; take seeds from TRAINING_SEED on to stay clear of the
    gallery.

    ``stream`` gives other pictures of the same people.
    """
    for seed in seeds:
        head = build_head(sample_identity(seed), size=size)
        for number, photo in enumerate(training_photos(seed, per_identity, hard=hard, degrade=degrade, stream=stream)):
            yield TrainingPicture(seed, number, render(head, photo))


def training_photos(
    seed: int, pictures: int, *, hard: float = 1.0, degrade: float = 0.5, stream: int = 0
) -> Iterator[Photo]:
    """The variations of one person's training pictures, without drawing them."""
    rng = np.random.default_rng([4242, seed, stream])
    for _ in range(pictures):
        yield sample_photo(rng, hard=hard, degrade=degrade)


def pairs_text(names: list[str], pictures: int, *, seed: int = 0, folds: int = 10, per_fold: int = 30) -> str:
    """LFW's pairs.txt: folds of different people, each with as many genuine as impostor pairs, no pair twice.

    With fewer than two people per fold there are fewer folds; with one person or one picture each there are no pairs.
    """
    rng = np.random.default_rng([90210, seed])
    folds = min(folds, len(names) // 2)
    if folds == 0 or pictures < 2:
        return "0\t0\n"
    groups = np.array_split(np.arange(len(names)), folds)
    twos = list(itertools.combinations(range(1, pictures + 1), 2))
    smallest = min(len(g) for g in groups)
    per_fold = min(per_fold, smallest * len(twos), smallest * (smallest - 1) // 2 * pictures**2)
    lines = [f"{folds}\t{per_fold}"]
    for group in groups:
        chosen = rng.choice(len(group) * len(twos), per_fold, replace=False)
        for c in np.sort(chosen):
            a, b = twos[c % len(twos)]
            lines.append(f"{names[group[c // len(twos)]]}\t{a}\t{b}")
        couples = list(itertools.combinations(group, 2))
        for c in np.sort(rng.choice(len(couples) * pictures**2, per_fold, replace=False)):
            (i, j), rest = couples[c // pictures**2], c % pictures**2
            lines.append(f"{names[i]}\t{rest // pictures + 1}\t{names[j]}\t{rest % pictures + 1}")
    return "\n".join(lines) + "\n"


def _row(path: str, name: str, role: str, split: str, rendered: Rendered, size: int) -> dict[str, str]:
    strengths = {k: f"{v:.4g}" for k, v in rendered.photo.strengths().items()}
    points = {f"lm{j}_{axis}": f"{rendered.landmarks[j, a]:.2f}" for j in range(5) for a, axis in enumerate("xy")}
    return {
        "path": path,
        "identity": name,
        "role": role,
        "split": split,
        **strengths,
        "degradation": f"{rendered.photo.degradation:.4f}",
        **points,
        "width": str(size),
        "height": str(size),
    }


def _jpeg(picture: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return file.getvalue()


def _write_table(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
