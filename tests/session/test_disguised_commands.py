"""Commands under --pseudonyms: what they write and what they print names nobody."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens.__main__ import main
from facelens.features.card import Card
from facelens.features.store import Store, fingerprint
from facelens.images import readers

MARK = "Qzmarkzq"
PEOPLE, EACH, D = 12, 4, 16


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("disguised") / f"{MARK} gallery"
    rng = np.random.default_rng(0)
    for person in range(PEOPLE):
        for number in range(EACH):
            path = root / f"={MARK}_{person}" / f"{MARK} {number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 255, (24, 24, 3), np.uint8)).save(path)
    return root


@pytest.fixture(scope="module")
def stores(gallery: Path) -> list[str]:
    faces = readers.read(gallery).faces
    centres, made = np.random.default_rng(1).normal(size=(PEOPLE, D)), []
    for name, noise in (("old", 0.9), ("new", 0.5), ("upper", 0.3)):
        card = Card(name, "small_plain", dimensions=D)
        cache = gallery.parent / "cache"
        store = Store.create(
            cache, fingerprint(faces, weights=name, card=card), card=card, weights="ab" * 32, gallery=faces.name,
            opened=faces.opened, file=gallery / f"{name}.pt",
        )  # fmt: skip
        rng = np.random.default_rng(len(name))
        with store.writer(total=len(faces)) as writer:
            writer.append(
                faces.ids, (centres[faces.identity.codes] + noise * rng.normal(size=(len(faces), D))).astype(np.float32)
            )
        made.append(str(store.folder))
    return made


def names_nobody(folder: Path, told: str, gallery: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    secret = MARK.encode()
    ids = [str(face).encode() for face in readers.read(gallery).faces.ids.tolist()]
    for path in files:
        data = path.read_bytes()
        if path.suffix == ".npz":
            with np.load(path) as found:
                data = " ".join(str(array.tolist()) for array in found.values()).encode()
        assert secret not in data and not any(one in data for one in ids), path.name
    said = "\n".join(line for line in told.splitlines() if str(folder) not in line)
    assert MARK not in said, said


COMMANDS = {
    "evaluate": ["--json", "e.json", "--csv", "e.csv", "--latex", "e.tex", "--policy", "p.json", "--policy-far", "0.1",
                 "--resamples", "10", "--breakdown", "identity", "--far", "0.1"],
    "uncertainty": ["--csv", "u.csv", "--refused", "r.csv", "--curve", "c.csv", "--json", "u.json", "--figure", "u.svg",
                    "--far", "0.1", "--fpir", "0.2", "--resamples", "5", "--blur", "--fit-on", f"identity ~ {MARK}_1"],
    "upgrade": ["--json", "g.json", "--csv", "g.csv", "--backfill", "b.csv", "--figure", "g.svg", "--report", "report",
                "--far", "0.1", "--fpir", "0.2", "--resamples", "5", "--blur"],
    "confidence": ["--json", "k.json", "--csv", "k.csv", "--figure", "k.svg", "--parts", "4", "--far", "0.1",
                   "--resamples", "5", "--blur", "--pair", f"={MARK}_0/{MARK} 0.png", f"={MARK}_0/{MARK} 1.png"],
    "learners": ["--json", "l.json", "--csv", "l.csv", "--figure", "l.svg", "--parts", "4", "--resamples", "5"],
    "project": ["--method", "pca", "--out", "m.csv", "--out", "m.npz", "--out", "m.svg"],
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_names_nobody(
    command: str, stores: list[str], gallery: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    old, new, upper = stores
    given = {
        "evaluate": [old, "--compare", new], "uncertainty": stores, "upgrade": [old, new, "--upper", upper],
        "confidence": [old], "learners": [old, "--baseline", new], "project": [old, "--other", new],
    }[command]  # fmt: skip
    words = [command, *given, *COMMANDS[command]]
    assert main(words) == 0
    assert MARK in capsys.readouterr().out, "there is something to hide"
    for path in tmp_path.rglob("*"):
        if path.is_file():
            path.unlink()
    assert main([*words, "--pseudonyms"]) == 0
    names_nobody(tmp_path, capsys.readouterr().out, gallery)


def test_commands_that_start_from_a_gallery(
    gallery: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    twin = gallery / f"={MARK}_3" / f"{MARK} twin.png"
    twin.write_bytes((gallery / f"={MARK}_4" / f"{MARK} 0.png").read_bytes())
    try:
        assert main(["doctor", str(gallery), "--json", "d.json", "--pseudonyms"]) == 0
        told = capsys.readouterr().out
        assert " = P00" in told, "copies are named by their pseudonyms"
    finally:
        twin.unlink()
    for name in ("pairs.txt", "pairs.bin"):
        words = ["--out", name, "--folds", "1", "--per-fold", "5", "--pseudonyms", "--blur", "--key", "k"]
        assert main(["pairs", str(gallery), *words]) == 0
    names_nobody(tmp_path, told + capsys.readouterr().out, gallery)
    first = (tmp_path / "pairs.txt").read_bytes()
    assert main(["pairs", str(gallery), *words[:1], "pairs.txt", *words[2:]]) == 0
    assert (tmp_path / "pairs.txt").read_bytes() == first, "the same key, the same pseudonyms"


def test_embedding_writes_vectors_under_pseudonyms(
    gallery: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from facelens.resources import sample_models

    model = next(path for path in sample_models() if path.stem == "old")
    broken = gallery / f"={MARK}_0" / f"={MARK} broken.png"
    broken.write_bytes(b"\x89PNG" + bytes(60))
    out = tmp_path / "out"
    out.mkdir()
    try:
        words = ["--export", str(out / "v.npz"), "--skipped", str(out / "s.csv"), "--store", str(tmp_path / "s")]
        assert main(["embed", str(gallery), "--model", str(model), *words, "--pseudonyms"]) == 0
        names_nobody(out, "", gallery)
        assert "P00" in (out / "s.csv").read_text()
    finally:
        broken.unlink()
