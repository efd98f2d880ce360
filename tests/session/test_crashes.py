"""A picture that kills the decoder, and the process with it, ends neither the check of a gallery nor its embedding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.torch import save_file

from facelens import __main__ as command
from facelens.errors import WorkerDied
from facelens.features.models import MODELS
from facelens.features.store import stores
from facelens.images.faceset import FaceSet
from facelens.images.quarantine import Again, kept_out, release
from facelens.session import folders, tasks
from facelens.session.jobs import JobQueue, Request, State
from tests.killer import install, poison
from tests.session import work

LONG = 60.0


@pytest.fixture
def faces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FaceSet:
    install(tmp_path, monkeypatch)
    (tmp_path / "g" / "A").mkdir(parents=True)
    for i in range(30):
        pixels = np.random.default_rng(i).integers(0, 255, (4, 4, 3), np.uint8)
        Image.fromarray(pixels).resize((64, 64)).save(tmp_path / "g" / "A" / f"{i:02}.png")
    return tasks.open_gallery(tmp_path / "g").faces


@pytest.fixture
def queue() -> Iterator[JobQueue]:
    made = JobQueue(post=lambda call: call())
    yield made
    made.shutdown()


def check(faces: FaceSet) -> Request:
    book = folders.quarantine()
    return Request("Check", tasks.check_gallery, (faces,), {"quarantined": book}, again=Again(book))


def test_the_doctor_goes_on_without_the_culprits(faces: FaceSet, queue: JobQueue) -> None:
    poison(faces.path(3), "KILL")
    poison(faces.path(21), "SEGV")
    states: list[State] = []
    queue.listen(lambda job: states.append(job.state))
    job = queue.wait(queue.submit(check(faces)), timeout=LONG)
    assert job.state is State.DONE, job.error
    found = job.result.finding("crash")  # type: ignore[attr-defined]
    assert found.ids.tolist() == faces.ids[[3, 21]].tolist()
    assert job.result.bad_ids.tolist() == sorted(faces.ids[[3, 21]].tolist())  # type: ignore[attr-defined]
    assert states.count(State.WAITING) >= 2 and State.FAILED not in states

    pid = queue.worker_pid  # not tried again: the worker lives through the next check
    job = queue.wait(queue.submit(check(faces)), timeout=LONG)
    assert job.state is State.DONE and queue.worker_pid == pid
    assert len(job.result.bad_ids) == 2  # type: ignore[attr-defined]


def test_embedding_goes_on_without_the_culprit(
    faces: FaceSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "net.safetensors"
    save_file(MODELS["small_plain"].build().state_dict(), model)
    poison(faces.path(17), "EXIT")
    call = ["embed", str(tmp_path / "g"), "--model", str(model), "--store", str(tmp_path / "s"), "--batch", "4"]
    assert command.main([*call, "--skipped", str(tmp_path / "skipped.csv")]) == 0
    said = capsys.readouterr().out
    assert "1 picture skipped" in said and "1 picture crashes the decoder" in said
    assert (tmp_path / "skipped.csv").read_text().splitlines() == [
        "path,reason",
        "A/17.png,crashed the decoder twice and was skipped",
    ]
    (info,) = stores(tmp_path / "s")
    assert info.rows == 29
    assert kept_out(faces, folders.quarantine()).keys() == {int(faces.ids[17])}
    assert release(faces, folders.quarantine()) == 1


def test_a_worker_that_dies_of_something_else_is_a_failure(queue: JobQueue, tmp_path: Path) -> None:
    asked: list[int] = []

    def again(times: int) -> bool:
        asked.append(times)
        return times < 2

    job = queue.wait(queue.submit(Request("Die", work.kill, (9,), again=again)), timeout=LONG)
    assert job.state is State.FAILED and isinstance(job.error, WorkerDied) and asked == [0, 1, 2]
    book = Request("Die", work.kill, (9,), again=Again(tmp_path / "q"))
    assert queue.wait(queue.submit(book), timeout=LONG).state is State.FAILED
    assert queue.wait(queue.submit(Request("Add", work.add, (1, 2))), timeout=LONG).result == 3


def test_cancel_while_it_waits_for_another_start(queue: JobQueue) -> None:
    numbers: list[int] = []

    def again(times: int) -> bool:
        queue.cancel(numbers[0])
        return True

    with queue._lock:  # its number is known before it runs
        numbers.append(queue.submit(Request("Die", work.kill, (9,), again=again)))
    assert queue.wait(numbers[0], timeout=LONG).state is State.CANCELLED
    assert queue.wait(queue.submit(Request("Add", work.add, (1, 2))), timeout=LONG).result == 3
