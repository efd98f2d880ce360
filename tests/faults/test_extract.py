"""Extraction under fire: killed at any moment and resumed, pictures that vanish and change while they are embedded.

As a script it is the killer: it forks `facelens embed`, kills it, looks at the store, and resumes.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
PICTURES = 400


def make_gallery(folder: Path, n: int = PICTURES) -> Path:
    rng = np.random.default_rng(0)
    for i in range(n):
        person = folder / f"P{i % 20:02}"
        person.mkdir(parents=True, exist_ok=True)
        small = Image.fromarray(rng.integers(0, 256, (9, 9, 3), dtype=np.uint8))
        small.resize((64, 64)).save(person / f"{i:04}.jpg")
    return folder


def make_model(path: Path) -> Path:
    import torch
    from safetensors.torch import save_file

    from facelens.features.models import MODELS

    torch.manual_seed(0)
    save_file(MODELS["small_dense"].build().state_dict(), path)
    return path


def killer(kills: int, seed: int, folder: Path) -> None:
    """Kill and resume until `kills` kills are done; ends with an error where a row is lost, doubled or wrong."""
    import facelens.__main__ as program
    from facelens.commands import work
    from facelens.features import encoder, extract, library, store  # noqa: F401 - imported once, before the forks
    from facelens.session.tasks import open_gallery

    gallery, model = folder / "gallery", folder / "net.safetensors"
    faces = open_gallery(gallery).faces

    def start(root: Path) -> tuple[int, int]:
        """A child that embeds; its pipe says one byte a batch, and ends with it."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(reader)
                extract.SAFE_EVERY = 0.0  # a shard for each batch: as many moments to die in as can be
                work.apart = lambda call, *args, **kwargs: call(*args, **kwargs)  # here, where the kill hits it
                work.Line = lambda title: lambda done, total, note="": os.write(writer, b".")  # type: ignore
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                call = ["embed", str(gallery), "--model", str(model), "--store", str(root)]
                code = program.main([*call, "--batch", "8", "--threads", "1"])
            finally:
                os._exit(code)
        os.close(writer)
        return child, reader

    def finish(child: int, reader: int) -> float:
        """Wait for it; seconds from the first finished batch to the end."""
        os.read(reader, 1), os.read(reader, 1)
        began = time.monotonic()
        while os.read(reader, 4096):
            pass
        os.close(reader)
        code = os.waitpid(child, 0)[1]
        assert code == 0, f"embed ended with {code}"
        return time.monotonic() - began

    def stored(root: Path) -> dict[int, NDArray[np.float32]]:
        (info,) = store.stores(root) or (None,)
        if info is None:
            return {}
        kept = store.Store.open(root, info.fingerprint)
        found = kept.features(faces)
        assert not kept.damaged and len(np.unique(found.ids)) == len(found)
        assert sorted([*found.ids, *faces.ids[kept.missing(faces)]]) == sorted(faces.ids), "here or missing, never both"
        return dict(zip(found.ids.tolist(), np.array(found.vectors)))

    lasts = finish(*start(folder / "whole"))
    whole = stored(folder / "whole")
    assert set(whole) == set(faces.ids.tolist())
    rng = np.random.default_rng(seed)
    done, chain, cut = 0, 0, 0
    while done < kills:
        root = folder / f"killed{chain}"
        before: dict[int, NDArray[np.float32]] = {}
        for turn in range(5):
            child, reader = start(root)
            alive = bool(os.read(reader, 1))  # work begins
            if turn != 2:
                alive = bool(os.read(reader, 1))  # the first batch is stored; mostly the kill comes in what follows
            end = time.monotonic() + rng.uniform(0, 0.4 * lasts)
            while alive and (left := end - time.monotonic()) > 0:
                if select.select([reader], [], [], left)[0]:
                    alive = bool(os.read(reader, 4096))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)
            done += 1
            now = stored(root)
            cut += 0 < len(now) < len(whole)
            assert set(before) <= set(now) <= set(whole), "no row that was there is lost"
            before = now
            for face, vector in now.items():
                np.testing.assert_allclose(vector, whole[face], rtol=0, atol=1e-6)
        finish(*start(root))
        after = stored(root)
        assert set(after) == set(whole)
        for face, vector in after.items():
            np.testing.assert_allclose(vector, whole[face], rtol=0, atol=1e-6)
        chain += 1
    print(f"{done} kills, {cut} of them in the middle, {chain} stores whole at the end")


@pytest.mark.parametrize("kills", [5, pytest.param(200, marks=pytest.mark.faults)])
def test_killed_at_any_moment_and_resumed(tmp_path: Path, kills: int) -> None:
    make_gallery(tmp_path / "gallery")
    make_model(tmp_path / "net.safetensors")
    ended = subprocess.run(
        [sys.executable, __file__, str(kills), "1", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=60 + 12 * kills,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    print(ended.stdout)
    middle = int(ended.stdout.split()[2])
    assert middle >= kills // 5, f"too few kills hit the work: {ended.stdout}"


def test_pictures_vanish_move_and_change_while_they_are_embedded(tmp_path: Path) -> None:
    from facelens.features.card import Card
    from facelens.features.encoder import Encoded
    from facelens.features.extract import embed
    from facelens.features.store import Store
    from facelens.images.faceset import FaceSet

    n = 1000
    for i in range(n):
        Image.new("RGB", (8, 8), (i % 256, i // 256, 0)).save(tmp_path / f"{i:04}.png")
    faces = FaceSet.build("g", tmp_path, paths=[f"{i:04}.png" for i in range(n)], identities=["A"] * n)
    rng = np.random.default_rng(0)
    hurt: dict[int, str] = {}

    class Vandal:
        """Harms some pictures further on, each time it is called."""

        card = Card("v", "v", size=(8, 8), template="none", dimensions=3)
        dimensions, parts = 3, 0

        def __call__(self, pictures: NDArray[np.uint8], *, patches: bool = False) -> Encoded:
            for row in rng.choice(n, 12, replace=False).tolist():
                path = tmp_path / f"{row:04}.png"
                if row in hurt:
                    continue
                hurt[row] = str(rng.choice(["deleted", "renamed", "forbidden", "cut", "folder"]))
                if hurt[row] == "deleted":
                    path.unlink()
                elif hurt[row] == "renamed":
                    path.rename(tmp_path / f"moved{row}.png")
                elif hurt[row] == "forbidden":
                    path.chmod(0)
                elif hurt[row] == "cut":
                    os.truncate(path, 40)
                else:
                    path.unlink()
                    path.mkdir()
            return Encoded(pictures[:, 0, 0].astype(np.float32) + np.float32(1))

    card = Vandal.card
    kept = Store.create(tmp_path / "store", "a" * 32, card=card, dimensions=3)
    done = embed(faces, Vandal(), kept, batch=16)
    skipped = {face for face, _ in done.skipped}
    assert done.embedded + len(skipped) == len(done.skipped) + done.embedded == n, "every picture is counted once"
    assert len(skipped) > 50
    found = kept.features(faces, lazy=True)
    assert set(found.ids.tolist()) | skipped == set(faces.ids.tolist())
    rows = faces.rows_of(found.ids)
    np.testing.assert_array_equal(found.vectors[:, :2], np.stack([rows % 256 + 1, rows // 256 + 1], 1))
    by_id = {int(face): row for row, face in enumerate(faces.ids)}
    reasons = {(hurt[by_id[face]], reason) for face, reason in done.skipped}
    told = {
        ("deleted", "missing"),
        ("renamed", "missing"),
        ("forbidden", "not allowed"),
        ("cut", "truncated"),
    }
    assert reasons - {pair for pair in reasons if pair[0] == "folder"} <= told, reasons


def test_a_picture_that_kills_the_process_costs_only_what_was_not_saved(tmp_path: Path) -> None:
    """Finished shards stay; the job has to be started again, without that picture."""
    script = """
import os, resource, signal, sys
from pathlib import Path
from facelens.features import extract
from facelens.session import tasks
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
feed = extract.feed_face
def deadly(faces, row, card):
    if faces.file_name(row) == "0119.jpg":
        os.kill(os.getpid(), signal.SIGSEGV)
    return feed(faces, row, card)
extract.feed_face, extract.SAFE_EVERY = deadly, 0.0
folder = Path(sys.argv[1])
faces = tasks.open_gallery(folder / "gallery").faces
tasks.embed_gallery(faces, folder / "net.safetensors", root=folder / "s", batch=4)
"""
    make_gallery(tmp_path / "gallery", 120)
    make_model(tmp_path / "net.safetensors")
    ended = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=100
    )
    assert ended.returncode == -signal.SIGSEGV, ended.stderr
    from facelens.features import store
    from facelens.session import tasks

    faces = tasks.open_gallery(tmp_path / "gallery").faces
    (info,) = store.stores(tmp_path / "s")
    before = len(store.Store.open(tmp_path / "s", info.fingerprint).features(faces))
    (tmp_path / "gallery" / "P19" / "0119.jpg").unlink()
    faces = tasks.open_gallery(tmp_path / "gallery").faces
    done = tasks.embed_gallery(faces, tmp_path / "net.safetensors", root=tmp_path / "s")
    assert before > 0 and (done.embedded, len(done.features(faces))) == (119 - before, 119)


if __name__ == "__main__":
    killer(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
