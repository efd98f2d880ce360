"""Patch maps that are kept: found again, bounded, never stale, never damaged."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from facelens.features import patches
from facelens.features.patches import PatchCache

SHAPE = (6, 4, 3)
ONE = 2 * 6 * 4 * 3


def maps_of(ids: np.ndarray, scale: float = 1.0) -> np.ndarray:
    made = np.stack([np.random.default_rng(int(i)).normal(size=SHAPE) for i in ids]).reshape(-1, *SHAPE)
    return (scale * made).astype(np.float32)


def check(found: dict[int, np.ndarray], scale: float = 1.0) -> None:
    for face, values in found.items():
        right = maps_of(np.array([face]), scale)[0]
        np.testing.assert_allclose(values, right, atol=2**-11 * np.abs(right).max())


def ids(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.maps"))


def test_found_again_in_memory_and_on_disk(tmp_path: Path) -> None:
    cache = PatchCache(tmp_path / "p", "f", layer="layer4")
    found, missing = cache.get(ids(1, 2))
    assert not found and missing.tolist() == [1, 2]
    cache.put(ids(1, 2, 3), maps_of(ids(1, 2, 3)))
    for some in (cache, PatchCache(tmp_path / "p", "f", layer="layer4")):
        found, missing = some.get(ids(3, 9, 1))
        assert list(found) == [3, 1] and missing.tolist() == [9]
        assert found[3].dtype == np.float32 and found[3].shape == SHAPE
        check(found)
    assert cache.size == sum(path.stat().st_size for path in files(tmp_path / "p")) == 3 * (20 + ONE)
    if os.name == "posix":
        assert (tmp_path / "p").stat().st_mode & 0o077 == 0 and files(tmp_path / "p")[0].stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("other", [{"fingerprint": "g"}, {"layer": "layer3"}])
def test_another_model_or_layer_has_maps_of_its_own(tmp_path: Path, other: dict[str, str]) -> None:
    told = {"fingerprint": "f", "layer": "layer4"}
    PatchCache(tmp_path, **told).put(ids(1), maps_of(ids(1)))
    assert PatchCache(tmp_path, **{**told, **other}).get(ids(1))[1].tolist() == [1]


def test_changed_pictures_are_missing(tmp_path: Path) -> None:
    for fresh in (False, True):
        cache = PatchCache(tmp_path, "f", layer="l")
        if not fresh:
            cache.put(ids(1, 2), maps_of(ids(1, 2)), keys=np.array([10, 20], np.uint64))
        found, missing = cache.get(ids(1, 2), keys=np.array([10, 21], np.uint64))
        assert list(found) == [1] and missing.tolist() == [2]
    cache.put(ids(2), maps_of(ids(2), 3.0), keys=np.array([21], np.uint64))
    found, _ = PatchCache(tmp_path, "f", layer="l").get(ids(2), keys=np.array([21], np.uint64))
    check(found, 3.0)


def test_the_later_of_two_wins_also_where_the_earlier_was_used_last(tmp_path: Path) -> None:
    cache = PatchCache(tmp_path, "f", layer="l")
    for scale in (1.0, 2.0):
        cache.put(ids(1), maps_of(ids(1), scale))
    first, second = files(tmp_path)
    os.utime(first, (2000, 2000))
    os.utime(second, (1000, 1000))
    for listed in ([first, second], [second, first]):
        again = PatchCache(tmp_path, "f", layer="l")
        for path in listed:
            block = patches._Block.named(path)
            assert block is not None
            head = again._head(block)
            assert head is not None
            again._note(block, head)
        check(again.get(ids(1))[0], 2.0)


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1.0, 7e4, 1e30])
def test_any_scale_keeps_its_precision(tmp_path: Path, scale: float) -> None:
    PatchCache(tmp_path, "f", layer="l").put(ids(5), maps_of(ids(5), scale))
    check(PatchCache(tmp_path, "f", layer="l").get(ids(5))[0], scale)


def test_odd_values_come_back(tmp_path: Path) -> None:
    odd = np.zeros((2, *SHAPE), np.float32)
    odd[1, 0, 0] = np.nan, np.inf, -np.inf
    odd[1, 1] = 3
    PatchCache(tmp_path, "f", layer="l").put(ids(1, 2), odd)
    found, _ = PatchCache(tmp_path, "f", layer="l").get(ids(1, 2))
    np.testing.assert_array_equal(np.stack([found[1], found[2]]), odd)
    with pytest.raises(ValueError):
        PatchCache(tmp_path, "f", layer="l").put(ids(1), odd)


def test_the_disk_is_bounded_and_the_least_used_go_first(tmp_path: Path) -> None:
    block = 20 + ONE
    cache = PatchCache(tmp_path, "f", layer="l", disk=4 * block, memory=0)
    for i in range(4):
        cache.put(ids(i), maps_of(ids(i)))
        os.utime(max(files(tmp_path), key=lambda path: path.name), (1000 + i, 1000 + i))
    assert list(cache.get(ids(0))[0]) == [0]  # used now
    cache.put(ids(4), maps_of(ids(4)))
    cache.put(ids(5), maps_of(ids(5)))
    assert cache.size == 4 * block
    found, missing = cache.get(np.arange(6))
    assert sorted(found) == [0, 3, 4, 5] and missing.tolist() == [1, 2]
    check(found)
    cache.put(np.arange(10, 20), maps_of(np.arange(10, 20)))  # more than fits: none of it
    assert cache.get(np.arange(10, 20))[1].size == 10 and cache.size <= 4 * block


def test_memory_is_bounded(tmp_path: Path) -> None:
    cache = PatchCache(tmp_path, "f", layer="l", memory=3 * ONE)
    cache.put(np.arange(5), maps_of(np.arange(5)))
    assert list(cache._kept) == [2, 3, 4] and cache._held == 3 * ONE
    cache.get(ids(2))
    cache.get(ids(0))
    assert list(cache._kept) == [4, 2, 0] and cache._held == 3 * ONE


def test_large_puts_make_several_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "BLOCK", 2 * ONE + 1)
    PatchCache(tmp_path, "f", layer="l").put(np.arange(5), maps_of(np.arange(5)))
    assert len(files(tmp_path)) == 3
    found, missing = PatchCache(tmp_path, "f", layer="l").get(np.arange(5))
    assert len(found) == 5 and not len(missing)
    check(found)


def test_no_room_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "free_bytes", lambda folder: 1000)
    cache = PatchCache(tmp_path, "f", layer="l")
    cache.put(ids(1), maps_of(ids(1)))
    assert list(cache.get(ids(1))[0]) == [1] and not files(tmp_path)
    (tmp_path / "file").touch()
    PatchCache(tmp_path / "file", "f", layer="l").put(ids(1), maps_of(ids(1)))


def test_deleted(tmp_path: Path) -> None:
    cache, other = PatchCache(tmp_path, "f", layer="l"), PatchCache(tmp_path, "f", layer="l", memory=0)
    (tmp_path / "readme").touch()
    cache.put(ids(1), maps_of(ids(1)))
    assert list(other.get(ids(1))[0]) == [1]
    cache.purge()
    assert cache.get(ids(1))[1].tolist() == other.get(ids(1))[1].tolist() == [1]
    assert cache.size == 0 and os.listdir(tmp_path) == ["readme"]


def test_a_folder_that_has_not_changed_is_not_listed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, other = PatchCache(tmp_path, "f", layer="l", memory=0), PatchCache(tmp_path, "f", layer="l")
    other.put(ids(1), maps_of(ids(1)))
    os.utime(tmp_path, (1000, 1000))
    assert list(cache.get(ids(1))[0]) == [1]

    def refuse(folder: object) -> None:
        raise AssertionError("listed again")

    with monkeypatch.context() as patch:
        patch.setattr(patches, "_entries", refuse)
        assert list(cache.get(ids(1))[0]) == [1] and cache.get(ids(2))[1].tolist() == [2]
    other.put(ids(2), maps_of(ids(2)))
    assert os.stat(tmp_path).st_mtime > time.time() - 100 and list(cache.get(ids(2))[0]) == [2]


def damaged(folder: Path, times: int) -> None:
    cache = PatchCache(folder, "f", layer="l")
    for start in range(0, 12, 4):
        cache.put(np.arange(start, start + 4), maps_of(np.arange(start, start + 4)))
    whole = {path: path.read_bytes() for path in files(folder)}
    noticed = 0
    for seed in range(times):
        dice = np.random.default_rng(seed)
        for path, data in whole.items():
            path.write_bytes(data)
        victim = sorted(whole)[int(dice.integers(3))]
        data = bytearray(whole[victim])
        at = int(dice.integers(len(data)))
        if dice.random() < 0.2:
            data = data[:at]
        elif dice.random() < 0.2:
            data += data[:at]
        else:
            data[at] ^= 1 << int(dice.integers(8))
        victim.write_bytes(data)
        again = PatchCache(folder, "f", layer="l")
        found, missing = again.get(np.arange(12))
        check(found)
        assert len(found) + len(missing) == 12 and len(missing) in (0, 4) and again.damaged == len(missing)
        assert bool(again.notice) == bool(len(missing))
        noticed += bool(len(missing))
        again.put(missing, maps_of(missing)) if len(missing) else None
        check(again.get(missing)[0])
        for path in set(files(folder)) - set(whole):
            path.unlink()
    assert noticed > 0.8 * times


def test_flipped_bits_and_cut_files(tmp_path: Path) -> None:
    damaged(tmp_path, 200)


@pytest.mark.faults
def test_flipped_bits_and_cut_files_at_length(tmp_path: Path) -> None:
    damaged(tmp_path, 10_000)


@pytest.mark.parametrize("seed", range(8))
def test_a_cache_never_gives_what_was_not_put(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(seed)
    monkeypatch.setattr(patches, "BLOCK", int(dice.integers(1, 5)) * ONE)
    truth: dict[int, tuple[int, float]] = {}
    held = [
        PatchCache(tmp_path, "f", layer="l", disk=40 * ONE, memory=int(dice.integers(0, 6)) * ONE) for _ in range(2)
    ]
    for step in range(1, 40):
        cache = held[int(dice.integers(2))]
        some = np.unique(dice.integers(0, 15, int(dice.integers(1, 8))))
        match dice.integers(4):
            case 0:
                scale = float(step)
                cache.put(some, maps_of(some, scale), keys=np.full(len(some), step, np.uint64))
                truth.update((int(face), (step, scale)) for face in some)
            case 1:
                held[int(dice.integers(2))] = PatchCache(tmp_path, "f", layer="l", disk=40 * ONE)
            case _:
                keys = np.array([truth.get(int(face), (99, 0.0))[0] for face in some], np.uint64)
                found, missing = cache.get(some, keys=keys)
                assert sorted([*found, *missing.tolist()]) == some.tolist()
                for face, values in found.items():
                    check({face: values}, truth[face][1])
        assert cache.size <= 40 * ONE
