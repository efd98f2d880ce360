"""Many pictures that kill the decoder in one gallery: the check ends, and its list of them is exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.images.quarantine import Again
from facelens.session import folders, tasks
from facelens.session.jobs import Request, run_apart
from tests.killer import install, poison

pytestmark = pytest.mark.faults


def test_a_hundred_culprits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    (tmp_path / "g" / "A").mkdir(parents=True)
    for i in range(300):
        pixels = np.random.default_rng(i).integers(0, 255, (4, 4, 3), np.uint8)
        Image.fromarray(pixels).resize((32, 32)).save(tmp_path / "g" / "A" / f"{i:03}.png")
    faces = tasks.open_gallery(tmp_path / "g").faces
    culprits = np.sort(np.random.default_rng(0).permutation(300)[:100])
    for place, row in enumerate(culprits.tolist()):
        poison(faces.path(row), ("KILL", "SEGV", "EXIT")[place % 3])
    book = folders.quarantine()
    request = Request("Check", tasks.check_gallery, (faces,), {"quarantined": book}, again=Again(book))
    found = run_apart(request).finding("crash")  # type: ignore[attr-defined]
    assert np.array_equal(np.sort(found.ids), np.sort(faces.ids[culprits]))
