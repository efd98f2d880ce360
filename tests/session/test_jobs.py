"""The job queue and its worker process."""

from __future__ import annotations

import gc
import logging
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

from facelens.errors import DiskFull, FaceLensError, InputError, NeedsChoice, WorkerDied
from facelens.progress import silent
from facelens.session.jobs import Job, JobQueue, Pace, RemoteError, Request, State
from facelens.session.worker import Channel, serve
from tests.session import work

ROOT = Path(__file__).resolve().parents[2]
LONG = 20.0  # only a broken queue waits so long


def children(pid: int | None = None) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(stat[1]) == (pid or os.getpid()) and stat[0] != "Z":
                found.append(int(entry.name))
    return found


def blocks() -> list[str]:
    folder = Path("/dev/shm")
    return [entry.name for entry in folder.iterdir() if entry.name.startswith("fl-")] if folder.is_dir() else []


def until(condition: Callable[[], Any], *, seconds: float = LONG) -> Any:
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.002)
    return value


@pytest.fixture(scope="module")
def shared() -> Iterator[JobQueue]:
    """One queue for the tests that leave its worker in order."""
    queue = JobQueue(post=lambda f: f())
    queue.prewarm()
    yield queue
    queue.shutdown()


@pytest.fixture
def queue() -> Iterator[JobQueue]:
    queue = JobQueue(post=lambda f: f(), backstop=0.3)
    yield queue
    queue.shutdown()


def done(queue: JobQueue, call: Callable[..., object], *args: object, **more: Any) -> Job:
    return queue.wait(queue.submit(Request(call.__name__, call, args, **more)), timeout=LONG)


PLACES = pytest.mark.parametrize("place", ["process", "thread"])


# Results and errors


@PLACES
def test_result_comes_back(shared: JobQueue, place: Any) -> None:
    job = done(shared, work.add, 1, 2, place=place)
    assert (job.state, job.result, job.done, job.total) == (State.DONE, 3, 1, 1)
    assert job.finished >= job.started


@PLACES
def test_then_gets_the_result_and_the_list_does_not_keep_it(shared: JobQueue, place: Any) -> None:
    got: list[Job] = []
    values = np.arange(10)
    number = shared.submit(Request("x", work.double, (values,), place=place), then=got.append)
    shared.wait(number, timeout=LONG)
    assert got[0].state is State.DONE and got[0].result.tolist() == (values * 2).tolist()
    assert shared.job(number).result is None and shared.job(number).request.args == ()


@PLACES
@pytest.mark.parametrize(
    ("call", "kind", "hint"),
    [
        (work.fail_disk, DiskFull, "Free 30 MB and press Retry."),
        (work.fail_input, InputError, "Choose another."),
        (work.fail_plain, ZeroDivisionError, None),
    ],
)
def test_errors_keep_type_words_and_traceback(
    shared: JobQueue, place: Any, call: Any, kind: type, hint: str | None
) -> None:
    got: list[Job] = []
    number = shared.submit(Request("x", call, place=place), then=got.append)
    job = shared.wait(number, timeout=LONG)
    assert job.state is State.FAILED and type(job.error) is kind
    assert getattr(job.error, "hint", None) == hint
    assert call.__name__ in job.trace and "Traceback" in job.trace
    assert got == [job]


def test_choice_keeps_its_options(shared: JobQueue) -> None:
    error = done(shared, work.fail_choice).error
    assert isinstance(error, NeedsChoice) and error.options == {"path": ["file", "name"]}


def test_error_that_cannot_travel_keeps_its_words(shared: JobQueue) -> None:
    error = done(shared, work.fail_stubborn).error
    assert isinstance(error, RemoteError) and str(error) == "Stubborn: 1 and 2"


@PLACES
def test_exit_is_a_failure_not_the_end(shared: JobQueue, place: Any) -> None:
    job = done(shared, work.leave, 3, place=place)
    assert job.state is State.FAILED and "SystemExit" in str(job.error)
    assert done(shared, work.add, 1, 1, place=place).result == 2


def test_result_that_cannot_travel(shared: JobQueue) -> None:
    job = done(shared, work.unpicklable)
    assert isinstance(job.error, FaceLensError) and "unpicklable" in job.error.message and "lambda" in job.error.details
    assert done(shared, work.add, 1, 1).result == 2


def test_input_that_cannot_travel(shared: JobQueue) -> None:
    job = done(shared, work.same, lambda: 1)
    assert isinstance(job.error, FaceLensError) and "same" in job.error.message
    assert done(shared, work.add, 1, 1).result == 2


def test_function_that_the_worker_does_not_know(shared: JobQueue) -> None:
    module = type(sys)("only_here")
    exec("def f(*, tick): pass", module.__dict__)
    sys.modules["only_here"] = module
    try:
        module.f.__module__ = "only_here"
        job = done(shared, module.f)
    finally:
        del sys.modules["only_here"]
    assert isinstance(job.error, ModuleNotFoundError) and "only_here" in str(job.error)


def test_inputs_are_taken_at_submit() -> None:
    kwargs = {"b": 2}
    args = [1]
    request = Request("x", work.add, args, kwargs)  # type: ignore[arg-type]
    kwargs["b"] = 5
    args.append(7)
    assert request.call(*request.args, **request.kwargs, tick=silent) == 3
    with pytest.raises(TypeError):
        request.kwargs["b"] = 5  # type: ignore[index]


# Arrays


def test_large_arrays_go_through_shared_memory_and_leave_none(shared: JobQueue) -> None:
    done(shared, work.add, 1, 1)
    before = shared._worker.shared_bytes
    values = np.random.default_rng(0).random((1000, 300))
    result = done(shared, work.double, values).result
    assert shared._worker.shared_bytes - before >= 2 * values.nbytes
    np.testing.assert_array_equal(result, values * 2)
    assert result.flags.writeable
    assert blocks() == []


def test_small_messages_use_the_pipe(shared: JobQueue) -> None:
    done(shared, work.add, 1, 1)
    before = shared._worker.shared_bytes
    assert done(shared, work.double, np.ones(1000)).result.sum() == 2000
    assert shared._worker.shared_bytes == before


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((0, 5), np.float32),
        np.arange(2_000_000, dtype=np.int16).reshape(1000, 2000)[:, ::2],
        np.asfortranarray(np.random.default_rng(1).random((700, 300))),
        {"a": np.arange(300_000), "b": [np.zeros(0), np.ones(1, bool)], "c": "x" * 2_000_000},
    ],
    ids=["empty", "strided", "fortran", "mixed"],
)
def test_every_shape_survives(shared: JobQueue, value: Any) -> None:
    result = done(shared, work.same, value).result
    assert type(result) is type(value)
    for got, sent in (
        zip(result.values(), value.values(), strict=True) if isinstance(value, dict) else [(result, value)]
    ):
        for a, b in zip(got, sent, strict=True) if isinstance(got, list) else [(got, sent)]:
            np.testing.assert_array_equal(a, b)
            assert getattr(a, "dtype", None) == getattr(b, "dtype", None)


def test_frozen_arrays_stay_frozen(shared: JobQueue) -> None:
    for n in (10, 1_000_000):
        values = np.zeros(n)
        values.flags.writeable = False
        assert done(shared, work.writable, values).result is False
        assert done(shared, work.same, values).result.flags.writeable is False


def test_full_shared_memory_falls_back_to_the_pipe(shared: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facelens.session.worker._room", lambda size: False)
    values = np.arange(1_000_000)
    done(shared, work.add, 1, 1)
    before = shared._worker.shared_bytes
    assert (done(shared, work.double, values).result == values * 2).all()
    assert shared._worker.shared_bytes - before < 1.5 * values.nbytes, "only the way back"
    assert blocks() == []


# Progress and partial results


def test_progress_is_coalesced(shared: JobQueue) -> None:
    for place in ("process", "thread"):
        seen: list[Job] = []
        stop = shared.listen(seen.append)
        job = done(shared, work.count, 400, place=place, kwargs={"seconds": 0.001})
        stop()
        spent = job.finished - job.started
        running = [other for other in seen if other.state is State.RUNNING]
        assert 3 <= len(running) <= spent / 0.05 + 3, place
        counts = [other.done for other in running]
        assert counts == sorted(counts) and (job.done, job.total) == (400, 400)
        assert any(other.note.startswith("item ") for other in running)
        assert any(other.rate > 0 and other.eta_seconds is not None for other in running)
        assert [other.state for other in seen if other.state is not State.RUNNING] == [State.WAITING, State.DONE]


def test_busy_queue_does_not_tell_more_often(shared: JobQueue) -> None:
    seen: list[Job] = []
    number = shared.submit(Request("x", work.count, (100,), place="thread"))
    stop = shared.listen(lambda job: seen.append(job) if job.number == number else None)
    while not shared.job(number).state.ended:
        done(shared, work.add, 1, 1)
    stop()
    job = shared.job(number)
    assert len(seen) <= (job.finished - job.started) / 0.05 + 3


def test_slow_main_thread_is_not_flooded() -> None:
    posted: SimpleQueue[Callable[[], None]] = SimpleQueue()
    queue = JobQueue(post=posted.put)
    seen: list[Job] = []
    queue.listen(seen.append)
    job = done(queue, work.count, 100, place="thread")
    assert posted.qsize() <= 4, "waiting, running, one progress update, done"
    while not posted.empty():
        posted.get()()
    assert [other.state for other in seen] == [State.WAITING, State.RUNNING, State.DONE]
    assert seen[-1] == job
    queue.shutdown()


@PLACES
@pytest.mark.parametrize("size", [3, 200_000])
def test_partial_results_come_in_order_before_the_end(shared: JobQueue, place: Any, size: int) -> None:
    events: list[Any] = []
    number = shared.submit(
        Request("x", work.pieces, (6, size), place=place),
        then=lambda job: events.append(job.state),
        partial=lambda piece: events.append(int(piece[-1])),
    )
    shared.wait(number, timeout=LONG)
    assert events == [0, 1, 2, 3, 4, 5, State.DONE]
    assert blocks() == []


def test_pace() -> None:
    pace = Pace()
    assert pace.update(0, 100, now=0.0) == (0.0, None)
    for second in range(1, 21):
        rate, left = pace.update(2 * second, 100, now=float(second))
        assert rate == pytest.approx(2.0) and left == pytest.approx((100 - 2 * second) / 2)
    rate, left = pace.update(40, 100, now=23.0)  # nothing new for 3 s: the rate stays, the time left runs
    assert rate == pytest.approx(2.0) and left == pytest.approx(27.0)
    assert pace.update(1, 50, now=24.0) == (0.0, None), "a new phase starts afresh"
    fast = Pace()
    fast.update(0, 1000, now=0.0)
    for tenth in range(1, 101):
        rate, _ = fast.update(tenth if tenth < 50 else 50 + 10 * (tenth - 50), 1000, now=tenth / 10)
    assert 60 < rate < 100, "follows a change of speed within some five seconds"


# Cancel and supersede


def test_cancel_between_batches_keeps_the_worker(shared: JobQueue, tmp_path: Path) -> None:
    pid = done(shared, work.whoami).result[0]
    ended: list[Job] = []
    number = shared.submit(Request("x", work.started, (str(tmp_path / "on"),)), then=ended.append)
    until((tmp_path / "on").exists)
    at = time.monotonic()
    shared.cancel(number)
    job = shared.wait(number, timeout=LONG)
    assert time.monotonic() - at < 0.5
    assert job.state is State.CANCELLED and job.error is None
    assert ended == [], "whoever cancelled knows"
    assert done(shared, work.whoami).result[0] == pid


def test_cancel_on_a_thread(shared: JobQueue, tmp_path: Path) -> None:
    number = shared.submit(Request("x", work.started, (str(tmp_path / "on"),), place="thread"))
    until((tmp_path / "on").exists)
    shared.cancel(number)
    assert shared.wait(number, timeout=LONG).state is State.CANCELLED


def test_cancel_of_a_waiting_job_is_at_once(shared: JobQueue, tmp_path: Path) -> None:
    first = shared.submit(Request("x", work.started, (str(tmp_path / "on"),)))
    second = shared.submit(Request("y", work.started, (str(tmp_path / "never"),)))
    until((tmp_path / "on").exists)
    shared.cancel(second)
    assert shared.job(second).state is State.CANCELLED
    shared.cancel(first)
    shared.wait(first, timeout=LONG)
    assert done(shared, work.add, 1, 1).result == 2
    assert not (tmp_path / "never").exists()


@PLACES
def test_newer_request_in_a_slot_supersedes(shared: JobQueue, tmp_path: Path, place: Any) -> None:
    ended: list[int] = []
    other = shared.submit(Request("other", work.count, (3,), slot="b", place=place))
    first = shared.submit(
        Request("1", work.started, (str(tmp_path / place),), slot="a", place=place), then=lambda j: ended.append(1)
    )
    until((tmp_path / place).exists)
    middle = shared.submit(Request("2", work.add, (1, 1), slot="a", place=place), then=lambda j: ended.append(2))
    last = shared.submit(Request("3", work.add, (2, 2), slot="a", place=place), then=lambda j: ended.append(3))
    assert shared.wait(last, timeout=LONG).state is State.DONE
    states = [shared.wait(number, timeout=LONG).state for number in (first, middle, other)]
    assert states == [State.CANCELLED, State.CANCELLED, State.DONE] or (states[1] is State.DONE and place == "thread")
    assert 1 not in ended and ended[-1] == 3


def test_cancel_slot(shared: JobQueue, tmp_path: Path) -> None:
    number = shared.submit(Request("x", work.started, (str(tmp_path / "on"),), slot="gallery"))
    shared.cancel_slot("elsewhere")
    shared.cancel_slot("gallery")
    assert shared.wait(number, timeout=LONG).state is State.CANCELLED


def test_retry_keeps_number_inputs_and_callback(shared: JobQueue) -> None:
    ended: list[Job] = []
    number = shared.submit(Request("x", work.fail_disk), then=ended.append)
    shared.wait(number, timeout=LONG)
    cancelled = shared.submit(Request("y", work.add, (1, 1)))
    shared.cancel(cancelled)
    assert shared.retry(number) == number
    assert shared.wait(number, timeout=LONG).state is State.FAILED and len(ended) == 2
    fine = done(shared, work.add, 1, 1).number
    with pytest.raises(ValueError):
        shared.retry(fine)
    shared.dismiss(number)
    assert shared.job(number) is None
    with pytest.raises(ValueError):
        shared.retry(number)


def test_retry_after_a_later_job_was_cancelled(shared: JobQueue, tmp_path: Path) -> None:
    early = done(shared, work.fail_input).number
    later = shared.submit(Request("y", work.started, (str(tmp_path / "on"),)))
    until((tmp_path / "on").exists)
    shared.cancel(later)
    shared.wait(later, timeout=LONG)
    shared.retry(early)
    assert shared.wait(early, timeout=LONG).state is State.FAILED, "it ran, and failed as before"


# Death and hanging


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_worker_is_reported_and_replaced(queue: JobQueue, number: int) -> None:
    job = done(queue, work.kill, int(number))
    assert job.state is State.FAILED and isinstance(job.error, WorkerDied)
    assert f"kill (signal {int(number)}). It has been restarted." in job.error.message and "Retry" in job.error.hint
    assert "about to go" in job.error.details
    assert done(queue, work.add, 1, 1).result == 2


def test_segfault_leaves_a_trace(queue: JobQueue) -> None:
    job = done(queue, work.segfault)
    assert isinstance(job.error, WorkerDied) and "signal 11" in job.error.message
    assert "string_at" in job.trace and "segfault" in job.trace
    assert done(queue, work.add, 1, 1).result == 2


def test_sudden_exit(queue: JobQueue) -> None:
    job = done(queue, work.hard_exit, 7)
    assert isinstance(job.error, WorkerDied) and "exit code 7" in job.error.message


def test_kill_from_outside_in_the_middle_of_a_queue(queue: JobQueue, tmp_path: Path) -> None:
    first = queue.submit(Request("x", work.started, (str(tmp_path / "on"),)))
    rest = [queue.submit(Request("y", work.add, (i, 1))) for i in range(3)]
    pid = int(until(lambda: (tmp_path / "on").exists() and (tmp_path / "on").read_text()))
    assert pid == queue.worker_pid
    os.kill(pid, signal.SIGKILL)
    assert isinstance(queue.wait(first, timeout=LONG).error, WorkerDied)
    assert [queue.wait(number, timeout=LONG).result for number in rest] == [1, 2, 3]


def test_idle_worker_that_dies_is_replaced(queue: JobQueue) -> None:
    pid = done(queue, work.whoami).result[0]
    os.kill(pid, signal.SIGKILL)
    until(lambda: queue.worker_pid not in (None, pid))
    assert done(queue, work.add, 1, 1).result == 2


def test_death_leaves_no_shared_memory(queue: JobQueue, tmp_path: Path) -> None:
    values = np.zeros(1_000_000)
    number = queue.submit(Request("x", work.started, (str(tmp_path / "on"),), {}), partial=None)
    queue.submit(Request("x", work.double, (values,)))
    until((tmp_path / "on").exists)
    os.kill(queue.worker_pid, signal.SIGKILL)
    queue.wait(number, timeout=LONG)
    # A block that was made and whose name never arrived.
    from multiprocessing import shared_memory

    until(lambda: not queue.busy)
    pid = queue.worker_pid
    lost = shared_memory.SharedMemory(
        queue._worker._other_prefix + str(queue._worker._channel.received + 1), create=True, size=2_000_000
    )
    lost.close()
    assert len(blocks()) == 1
    os.kill(pid, signal.SIGKILL)
    until(lambda: queue.worker_pid not in (None, pid))
    assert blocks() == []


def test_job_that_ignores_cancel_is_ended(queue: JobQueue, tmp_path: Path) -> None:
    number = queue.submit(Request("x", work.deaf, (str(tmp_path / "on"),)))
    pid = int(until(lambda: (tmp_path / "on").exists() and (tmp_path / "on").read_text()))
    at = time.monotonic()
    queue.cancel(number)
    assert queue.job(number).note == "Stopping"
    assert queue.wait(number, timeout=LONG).state is State.CANCELLED
    assert 0.25 < time.monotonic() - at < 2
    assert done(queue, work.whoami).result[0] != pid


def test_worker_that_cannot_start(queue: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facelens.session.worker.serve", work.hard_exit)  # wrong arguments: ends with a TypeError
    first, second = (queue.submit(Request(name, work.add, (1, 1))) for name in "ab")
    for number in (first, second):
        job = queue.wait(number, timeout=LONG)
        assert isinstance(job.error, WorkerDied) and "could not start" in job.error.message
    monkeypatch.undo()
    queue.retry(first)
    assert queue.wait(first, timeout=LONG).result == 2


# The worker as a process


def test_worker_is_nice_and_bare(shared: JobQueue) -> None:
    pid, nice = done(shared, work.whoami).result
    assert (pid != os.getpid() and nice - os.nice(0) == 10) or nice == 19
    assert done(shared, work.variable, "OMP_WAIT_POLICY").result == os.environ.get("OMP_WAIT_POLICY", "PASSIVE")
    names = done(shared, work.modules).result
    heavy = {"PySide6", "pyqtgraph", "torch", "numba", "matplotlib", "pyarrow", "scipy", "pytest"}
    assert not heavy & {name.split(".")[0] for name in names}


def test_prewarm_imports(queue: JobQueue) -> None:
    queue.prewarm("wave", "no_such_module")
    assert "wave" in done(queue, work.modules).result


def test_worker_ignores_interrupt(shared: JobQueue) -> None:
    assert done(shared, work.interrupt_me).result == "still here"


def test_output_of_the_worker_goes_to_the_log(
    shared: JobQueue, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO, "facelens.worker"):
        done(shared, work.say, "hello there")
        until(lambda: len(caplog.messages) >= 3)
    assert caplog.messages == ["hello there", "HELLO THERE", "from C: hello there"]
    assert capfd.readouterr() == ("", "")


def test_no_process_before_the_first_process_job() -> None:
    queue = JobQueue(post=lambda f: f())
    assert done(queue, work.add, 1, 1, place="thread").result == 2
    assert queue.worker_pid is None
    queue.shutdown()


def test_two_hundred_quick_jobs(shared: JobQueue) -> None:
    results: list[object] = []
    for i in range(100):
        for place in ("process", "thread"):
            shared.submit(Request("x", work.add, (i, 0), place=place), then=lambda job: results.append(job.result))
    until(lambda: len(results) == 200)
    assert sorted(results) == sorted([*range(100)] * 2)
    assert len(shared.jobs) <= 50


# Closing


@pytest.mark.parametrize("call", [work.started, work.deaf])
def test_shutdown_during_a_job_leaves_nothing(tmp_path: Path, call: Any) -> None:
    before, threads = set(children()), set(threading.enumerate())
    delivered: list[Job] = []
    queue = JobQueue(post=lambda f: f(), backstop=30)
    queue.listen(delivered.append)
    queue.submit(Request("x", call, (str(tmp_path / "on"),)), then=delivered.append)
    queue.submit(Request("y", work.add, (1, 1)))
    queue.submit(Request("z", work.started, (str(tmp_path / "thread"),), place="thread"))
    until(lambda: (tmp_path / "on").exists() and (tmp_path / "thread").exists())
    count, at = len(delivered), time.monotonic()
    queue.shutdown(timeout=1.5)
    assert time.monotonic() - at < 3
    others = {pid for pid in children() if pid not in before}
    # The tracker of shared memory may belong to another queue that is still open.
    assert not [pid for pid in others if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert set(threading.enumerate()) <= threads
    assert {job.state for job in queue.jobs} == {State.CANCELLED}
    assert len(delivered) == count, "nothing is delivered to a window that closes"
    with pytest.raises(RuntimeError):
        queue.submit(Request("x", work.add, (1, 1)))
    queue.cancel(1)
    queue.prewarm()
    queue.shutdown()


def test_queue_and_results_are_freed() -> None:
    class Thing:
        pass

    queue = JobQueue(post=lambda f: f(), threads=1)
    thing = Thing()
    refs = weakref.ref(thing), weakref.ref(queue)
    number = queue.submit(Request("x", work.same, (thing,), place="thread"), then=lambda job: None)
    queue.wait(number, timeout=LONG)
    queue.dismiss(done(queue, work.same, thing, place="thread").number)
    del thing
    until(lambda: gc.collect() + 1 and refs[0]() is None)
    queue.shutdown()
    del queue
    gc.collect()
    assert refs[1]() is None


def test_errors_of_callbacks_do_not_stop_the_queue(shared: JobQueue, caplog: pytest.LogCaptureFixture) -> None:
    def broken(job: Job) -> None:
        raise KeyError("a bug in a view")

    stop = shared.listen(broken)
    for place in ("process", "thread"):
        shared.wait(shared.submit(Request("x", work.add, (1, 1), place=place), then=broken), timeout=LONG)
    stop()
    assert "a bug in a view" in caplog.text
    assert done(shared, work.add, 1, 1).result == 2


# Programs


def run(script: str, tmp_path: Path, *command: str) -> subprocess.Popen[str]:
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(script))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, *(command or (str(file),))],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )


def test_worker_goes_when_its_program_is_killed(tmp_path: Path) -> None:
    program = run(
        """
        import numpy as np
        from facelens.session.jobs import JobQueue, Request
        from tests.session import work
        queue = JobQueue(post=lambda f: f())
        queue.submit(Request("x", work.deaf, ("on",)))
        queue.wait(1)
        """,
        tmp_path,
    )
    with program:
        pid = int(until(lambda: (tmp_path / "on").exists() and (tmp_path / "on").read_text()))
        assert pid in children(program.pid)
        family = children(program.pid)
        program.kill()
    until(lambda: not any(alive(one) for one in family), seconds=5)


def test_worker_goes_when_its_pipe_ends(tmp_path: Path) -> None:
    """Also where the system does not end a child with its parent, and whatever it is doing."""
    spawn = get_context("spawn")
    ours, theirs = spawn.Pipe()
    _, output = spawn.Pipe(duplex=False)
    process = spawn.Process(target=serve, args=(theirs, output, "fl-test-w-", os.getpid(), 0))
    process.start()
    theirs.close()
    Channel(ours, "fl-test-p-").send("job", 1, payload=(work.deaf, (str(tmp_path / "on"),), {}))
    until((tmp_path / "on").exists)
    ours.close()
    process.join(5)
    assert process.exitcode == 0
    process.close()
    output.close()


def test_shutdown_leaves_no_child_at_all(tmp_path: Path) -> None:
    program = run(
        """
        import os
        from facelens.session.jobs import JobQueue, Request
        from tests.session import work
        from tests.session.test_jobs import children
        queue = JobQueue(post=lambda f: f())
        queue.wait(queue.submit(Request("x", work.add, (1, 2))), timeout=20)
        print(len(children()) > 0)
        queue.shutdown()
        print(children())
        """,
        tmp_path,
    )
    with program:
        out, err = program.communicate(timeout=LONG)
    assert (out.split(), err) == (["True", "[]"], "")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("how", ["script", "module", "stdin"])
def test_script_without_guard_is_not_run_again_and_ends_without_shutdown(tmp_path: Path, how: str) -> None:
    script = """
        print("once", flush=True)
        from facelens.session.jobs import JobQueue, Request
        from tests.session import work
        queue = JobQueue(post=lambda f: f())
        print(queue.wait(queue.submit(Request("x", work.add, (1, 2))), timeout=20).result, queue.worker_pid, flush=True)
        """
    command = {"script": (), "module": ("-m", "program"), "stdin": ("-c", textwrap.dedent(script))}[how]
    with run(script, tmp_path, *command) as program:
        out, err = program.communicate(timeout=LONG)
    assert (program.returncode, err) == (0, "")
    assert out.splitlines()[0] == "once" and out.splitlines()[1].startswith("3 ") and len(out.splitlines()) == 2
    until(lambda: not alive(int(out.split()[-1])), seconds=5)


def test_messages_can_be_pickled() -> None:
    job = Job(1, Request("x", work.add, (1,), {"b": 2}), error=WorkerDied("gone", hint="retry"))
    assert pickle.loads(pickle.dumps(job.error)).hint == "retry"
