"""Short jobs do not wait for a long one: a second worker does them, and is gone when there is nothing to do."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from facelens.errors import InputError
from facelens.session.jobs import JobQueue, Request, State
from tests.session import work
from tests.session.test_jobs import children, until

LONG = 30.0


@pytest.fixture
def queue() -> Iterator[JobQueue]:
    before = set(children())
    made = JobQueue(post=lambda call: call())
    yield made
    made.shutdown()
    until(lambda: not {pid for pid in set(children()) - before if not tracker(pid)})


def tracker(pid: int) -> bool:
    """The helper that multiprocessing keeps for shared memory."""
    try:
        return b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


@pytest.fixture
def busy(queue: JobQueue, tmp_path: Path) -> int:
    """A long job in the first worker."""
    number = queue.submit(Request("Long", work.started, (str(tmp_path / "long"),)))
    until(lambda: (tmp_path / "long").exists())
    return number


def test_a_short_job_passes_a_long_one(queue: JobQueue, busy: int) -> None:
    asked = queue.wait(queue.submit(Request("Who", work.whoami, short=True)), timeout=LONG)
    pid, nice = asked.result  # type: ignore[misc]
    assert pid not in (os.getpid(), queue.worker_pid) and nice == os.nice(0) + 10
    waiting = queue.submit(Request("Add", work.add, (1, 2)))  # not short: it waits its turn
    second = queue.wait(queue.submit(Request("Who", work.whoami, short=True)), timeout=LONG)
    assert second.result[0] == pid  # type: ignore[index]
    assert queue.job(waiting).state is State.WAITING and queue.job(busy).state is State.RUNNING  # type: ignore[union-attr]
    queue.cancel(busy)
    assert queue.wait(waiting, timeout=LONG).result == 3
    until(lambda: not queue._sides)
    until(lambda: pid not in children())


def test_without_a_long_job_there_is_no_second_worker(queue: JobQueue) -> None:
    asked = queue.wait(queue.submit(Request("Who", work.whoami, short=True)), timeout=LONG)
    assert asked.result[0] == queue.worker_pid and not queue._sides  # type: ignore[index]


def test_counts_results_and_errors_come_through(queue: JobQueue, busy: int, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[tuple[int, int]] = []
    queue.listen(lambda job: seen.append((job.done, job.total)) if job.request.title == "Count" else None)
    slowly = Request("Count", work.count, (40,), {"seconds": 0.03}, short=True)  # long beside what is reported at most
    assert queue.wait(queue.submit(slowly), timeout=LONG).result == 40
    assert (40, 40) in seen and len({done for done, _ in seen}) > 3
    values = np.arange(400_000.0)
    echoed = queue.wait(queue.submit(Request("Echo", work.same, (values,), short=True)), timeout=LONG)
    assert np.array_equal(echoed.result, values)  # type: ignore[arg-type]
    caplog.clear()
    failed = queue.wait(queue.submit(Request("Fail", work.fail_input, short=True)), timeout=LONG)
    assert len(caplog.records) == 1, "said once"
    assert failed.state is State.FAILED and isinstance(failed.error, InputError) and "in fail_input" in failed.trace


def test_cancel_supersede_and_retry(queue: JobQueue, busy: int, tmp_path: Path) -> None:
    first = queue.submit(Request("Deaf", work.deaf, (str(tmp_path / "deaf"),), slot="s", short=True))
    until(lambda: (tmp_path / "deaf").exists())
    second = queue.submit(Request("Who", work.whoami, slot="s", short=True))  # the newer one in the slot
    assert queue.wait(first, timeout=2.0).state is State.CANCELLED
    assert queue.wait(second, timeout=LONG).state is State.DONE  # after the deaf one was ended
    killed = queue.wait(queue.submit(Request("Die", work.kill, (9,), short=True)), timeout=LONG)
    assert killed.state is State.FAILED
    again = queue.wait(queue.retry(killed.number), timeout=LONG)
    assert again.state is State.FAILED and queue.job(busy).state is State.RUNNING  # type: ignore[union-attr]


def written(path: Path) -> bool:
    return path.exists() and path.read_text() != ""


def test_closing_ends_both(tmp_path: Path) -> None:
    queue = JobQueue(post=lambda call: call())
    queue.submit(Request("Long", work.deaf, (str(tmp_path / "a"),)))
    until(lambda: written(tmp_path / "a"))
    queue.submit(Request("Short", work.deaf, (str(tmp_path / "b"),), short=True))
    until(lambda: written(tmp_path / "b"))
    pids = [int((tmp_path / name).read_text()) for name in "ab"]
    began = time.monotonic()
    queue.shutdown()
    assert time.monotonic() - began < 4.0
    until(lambda: not set(pids) & set(children()))


def test_threads_stay_free_for_threads(queue: JobQueue, busy: int, tmp_path: Path) -> None:
    asked = [queue.submit(Request(f"S{i}", work.started, (str(tmp_path / f"s{i}"),), short=True)) for i in range(12)]
    done = queue.wait(queue.submit(Request("Add", work.add, (1, 2), place="thread")), timeout=LONG)
    assert done.result == 3
    for number in asked:
        queue.cancel(number)
    assert {queue.wait(number, timeout=LONG).state for number in asked} == {State.CANCELLED}


@pytest.fixture
def hasty() -> Iterator[JobQueue]:
    """A queue that ends a worker soon after it was told to stop."""
    made = JobQueue(post=lambda call: call(), backstop=0.2)
    yield made
    made.shutdown()


def test_a_long_job_has_a_worker_of_its_own_and_time_to_save(
    hasty: JobQueue, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, rows = tmp_path / "long", list[object]()
    number = hasty.submit(Request("Train", work.saving, (str(file),), long=True, slot="train"), partial=rows.append)
    until(lambda: file.exists() and len(rows) > 3)
    assert hasty.wait(hasty.submit(Request("Add", work.add, (1, 2))), timeout=LONG).result == 3  # nobody waits for it
    hasty.cancel_slot("train")
    assert hasty.job(number).state is State.RUNNING  # type: ignore[union-attr]
    assert hasty.wait(number, timeout=LONG).state is State.CANCELLED and file.read_text() == "saved"
    until(lambda: not hasty._sides)
    assert not caplog.records


def test_closing_lets_a_long_job_save(tmp_path: Path) -> None:
    queue, file = JobQueue(post=lambda call: call(), backstop=0.2), tmp_path / "long"
    queue.submit(Request("Train", work.saving, (str(file),), {"seconds": 1.2}, long=True))
    until(file.exists)
    queue.shutdown(timeout=1.0)
    assert file.read_text() == "saved"
