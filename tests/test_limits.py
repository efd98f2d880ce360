"""Limits: of pictures and of model files, from the environment and the settings, named where they are met."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from facelens import __main__ as command
from facelens import limits
from facelens.errors import InputError
from facelens.features import checkpoint
from facelens.features.inert import Limits
from facelens.images import decode
from facelens.session.jobs import JobQueue, Request
from facelens.session.settings import Settings
from tests.session import work


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in limits.USUAL:
        monkeypatch.setenv(name, "")


def test_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits.megapixels() == 89 and limits.model_bytes() == 8 << 30
    monkeypatch.setenv(limits.MEGAPIXELS, "120.5")
    monkeypatch.setenv(limits.MODEL_GB, "0.5")
    assert limits.megapixels() == 120.5 and Limits().ceiling == 1 << 29
    for nonsense in ("much", "-3", "0", "nan"):
        monkeypatch.setenv(limits.MEGAPIXELS, nonsense)
        assert limits.megapixels() == 89
    monkeypatch.setenv(limits.MEGAPIXELS, "1e12")
    assert limits.megapixels() == 2000


def test_a_picture_over_the_limit_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    Image.fromarray(np.zeros((1000, 1200, 3), np.uint8)).save(file, "PNG")
    assert decode.decode(file.getvalue()).shape == (1000, 1200, 3)
    monkeypatch.setenv(limits.MEGAPIXELS, "1")
    with pytest.raises(decode.PictureError, match=r"1.2 megapixels, more than the limit of 1,") as caught:
        decode.decode(file.getvalue())
    assert limits.MEGAPIXELS in caught.value.hint and "Help, Limits" in caught.value.hint
    assert decode.decode(file.getvalue(), limit_megapixels=2).shape == (1000, 1200, 3)


def test_a_model_over_the_limit_names_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors.numpy import save_file

    save_file({"a.weight": np.zeros((300, 1000), np.float32)}, tmp_path / "net.safetensors")
    monkeypatch.setenv(limits.MODEL_GB, "0.001")
    with pytest.raises(InputError) as caught:
        checkpoint.open_model(tmp_path / "net.safetensors")
    assert limits.MODEL_GB in str(caught.value) + caught.value.details
    monkeypatch.setenv(limits.MODEL_GB, "0.0001")
    with pytest.raises(InputError) as caught:
        checkpoint.open_model(tmp_path / "net.safetensors")
    assert limits.MODEL_GB in caught.value.hint


def test_commands_follow_the_settings_and_the_environment_has_the_last_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACELENS_HOME", str(tmp_path))
    monkeypatch.delenv(limits.MEGAPIXELS)
    Settings(megapixels=200, model_gb=20).save()
    monkeypatch.setenv(limits.MODEL_GB, "3")
    assert command.main(["models", "cached"]) == 0
    assert limits.megapixels() == 200 and limits.model_bytes() == 3 << 30


def test_a_worker_that_runs_already_hears_of_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = JobQueue(post=lambda call: call())
    try:
        assert queue.wait(queue.submit(Request("Ask", work.variable, (limits.MEGAPIXELS,))), timeout=20).result == ""
        pid = queue.worker_pid
        queue.set_environment({limits.MEGAPIXELS: "150"})
        assert os.environ[limits.MEGAPIXELS] == "150"
        asked = queue.wait(queue.submit(Request("Ask", work.variable, (limits.MEGAPIXELS,))), timeout=20)
        assert asked.result == "150" and queue.worker_pid == pid
    finally:
        queue.shutdown()


def test_settings_out_of_range(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"megapixels": 0, "model_gb": 100000}')
    found = Settings.load(tmp_path / "s.json")
    assert (found.megapixels, found.model_gb) == (1, 512)
