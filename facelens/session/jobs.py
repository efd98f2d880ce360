"""Jobs: long work beside the window, with progress, cancel and an end that always arrives.

A job is one call `call(*args, **kwargs, tick=tick)`. It runs in the worker process (module-level functions only: they
travel by name) or on a thread of this process (for work that spends its time outside the interpreter: decoding, waiting
for the disk). It gets its inputs when it is submitted and never touches the store: results come back through `post`, on
the main thread.

    WAITING -> RUNNING -> DONE | FAILED | CANCELLED        WAITING -> CANCELLED
    RUNNING -> WAITING where the worker died and the request says that another start is worth it (`again`)

`then` is called for DONE and FAILED. A cancelled job, also one that a newer request in its slot has superseded, ends
silently: whoever cancelled it knows. Listeners see every change of every job. `Cancelled` is swallowed here and nowhere
else.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import threading
import time
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from queue import SimpleQueue
from types import MappingProxyType
from typing import Any, Literal

from facelens.errors import Cancelled, FaceLensError, WorkerDied
from facelens.progress import Tick, silent
from facelens.session.worker import Ended, Message, Worker, stop_tracker
from facelens.words import tr

_log = logging.getLogger("facelens.jobs")

UPDATE_SECONDS = 0.05  # a job's progress reaches the main thread at most this often
KEPT = 50  # ended jobs that stay in the list
SAVING_SECONDS = 60.0  # what a long job has to save what it did, when it is stopped or the program is closed


class State(Enum):
    """Where a job is in its life."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to the job."""
        return self in (State.DONE, State.FAILED, State.CANCELLED)


@dataclass(frozen=True)
class Request:
    """What to do. A newer request in the same non-empty slot cancels the older one."""

    title: str
    call: Callable[..., object]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    slot: str = ""
    place: Literal["process", "thread"] = "process"
    unit: str = "faces"  # what is counted; "": steps that mean nothing, shown as percent
    short: bool = False  # need not wait for a long job: a second worker does it while the first is busy
    long: bool = False  # takes hours: a worker of its own does it, and gets time to save when it is stopped
    again: Callable[[int], bool] | None = None  # asked when the worker died; how often that has happened to this job

    def __post_init__(self) -> None:
        # The caller may go on changing its own dict; the arrays and sets in it are frozen by convention.
        object.__setattr__(self, "args", tuple(self.args))
        object.__setattr__(self, "kwargs", MappingProxyType(dict(self.kwargs)))


@dataclass(frozen=True)
class Job:
    """How a job stood at one moment. Times are of `time.monotonic`; `total` 0 means that the end is not known."""

    number: int
    request: Request
    state: State = State.WAITING
    done: int = 0
    total: int = 0
    note: str = ""
    rate: float = 0.0  # items a second, smoothed
    eta_seconds: float | None = None
    started: float | None = None
    finished: float | None = None
    result: object = None
    error: Exception | None = None
    trace: str = ""


class RemoteError(Exception):
    """An error of the worker that cannot be rebuilt here: its type and words."""


class Pace:
    """Items a second and time left, from the counts that come in; smoothed over some five seconds."""

    _SECONDS = 5.0

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None
        self._last = (0.0, 0)
        self._total = 0
        self._mean = 0.0

    def update(self, done: int, total: int, *, now: float) -> tuple[float, float | None]:
        """(rate, seconds left or None). The first count is where work began, so what was there already is not counted.

        >>> pace = Pace()
        >>> [pace.update(n, 100, now=float(n)) for n in (40, 41, 42)][-1]
        (1.0, 58.0)
        """
        if self._first is None or done < self._last[1] or total != self._total:
            self._first, self._last, self._total, self._mean = (now, done), (now, done), total, 0.0
            return 0.0, None
        span = now - self._last[0]
        if done > self._last[1] and span > 0:
            share = -math.expm1(-span / self._SECONDS)
            self._mean += share * ((done - self._last[1]) / span - self._mean)
            self._last = (now, done)
        elapsed = self._last[0] - self._first[0]
        if elapsed <= 0:
            return 0.0, None
        rate = self._mean / -math.expm1(-elapsed / self._SECONDS)  # the mean began at 0: undo that
        left = (total - done) / rate - (now - self._last[0]) if rate > 0 and total > done else None
        return round(rate, 6), None if left is None else round(max(0.0, left), 6)


class _Entry:
    """A job in the queue: its newest snapshot, and what is to happen with it."""

    def __init__(self, job: Job, then: Callable[[Job], None] | None, partial: Callable[[object], None] | None) -> None:
        self.job = job
        self.serial = 0  # a retried job keeps its number, but is a new one to the worker
        self.deaths = 0  # workers that died of it
        self.aside = False  # done by the second worker; a thread waits for it
        self.then = then
        self.partial = partial
        self.pace = Pace()
        self.unwanted = False
        self.told_to_stop = False
        self.kill_at = math.inf
        self.counts: tuple[int, int, str] | None = None  # newest tick that has not been told
        self.told_at = -math.inf
        self.on_its_way = False  # an update is posted and not yet delivered


class _ThreadTick:
    def __init__(self, queue: JobQueue, entry: _Entry) -> None:
        self._queue = queue
        self._entry = entry

    def __call__(self, done: int, total: int, note: str = "") -> None:
        self._entry.counts = (int(done), int(total), note)
        if self._entry.unwanted:
            raise Cancelled

    def partial(self, value: object) -> None:
        if self._entry.unwanted:
            raise Cancelled
        self._queue._offered(self._entry, value)


class JobQueue:
    """Runs requests and tells the main thread how they fare. Methods may be called from any thread."""

    def __init__(
        self,
        *,
        post: Callable[[Callable[[], None]], None],
        threads: int | None = None,
        backstop: float = 3.0,
        nice: int = 10,
        logs: bool = True,
    ) -> None:
        """`post` delivers a function to the main thread; a worker that ignores cancel for `backstop` s is ended.

        `logs`: whether failures are written down here; those of a queue in a queue are written by the outer one.
        """
        self._logs = logs
        self._deliver = post
        self._threads = threads or min(8, os.cpu_count() or 2)
        self._backstop = backstop
        self._lock = threading.RLock()
        self._entries: dict[int, _Entry] = {}
        self._numbers = 0
        self._serials = 0
        self._waiting: deque[_Entry] = deque()  # for the worker
        self._current: _Entry | None = None  # in the worker
        self._listeners: list[Callable[[Job], None]] = []
        self._ended = threading.Condition(self._lock)
        self._closing = self._closed = False
        self._nice = nice
        self._worker = Worker(nice=nice)
        self._warm: list[tuple[str, ...] | dict[str, str]] = []  # modules to import, or environment to set
        self._was_ready = False  # the last worker got as far as saying so
        self._service: threading.Thread | None = None
        self._at_exit: Callable[[], None] | None = None
        self._sides: dict[bool, JobQueue] = {}  # further workers, while there is need of them: for short, for long jobs
        self._aside = {False: 0, True: 0}  # jobs in them
        self._watchers: list[threading.Thread] = []  # one waits for each of them
        self._inbox: SimpleQueue[_Entry | None] = SimpleQueue()
        self._pool: list[threading.Thread] = []
        self._idle = 0

    # What the views use

    def submit(
        self,
        request: Request,
        *,
        then: Callable[[Job], None] | None = None,
        partial: Callable[[object], None] | None = None,
    ) -> int:
        """Queue a request and return its number.

        `then(job)` is called on the main thread once the job is DONE or FAILED, `partial(value)` for each intermediate
        result (`progress.offer`) of a job that is still wanted.
        """
        with self._lock:
            if self._closing:
                raise RuntimeError("the job queue has been shut down")
            self._numbers += 1
            return self._put(_Entry(Job(self._numbers, request), then, partial))

    def cancel(self, number: int) -> None:
        """Stop a job: at once when it waits, at its next tick when it runs. Nothing happens to one that has ended."""
        with self._lock:
            entry = self._entries.get(number)
            if entry is not None and not entry.job.state.ended:
                self._cancel(entry)
                self._worker.poke()

    def cancel_slot(self, slot: str) -> None:
        """Stop whatever waits or runs in a slot."""
        with self._lock:
            for entry in list(self._entries.values()):
                if entry.job.request.slot == slot and not entry.job.state.ended:
                    self.cancel(entry.job.number)

    def retry(self, number: int) -> int:
        """Do a failed or cancelled job again, under its old number."""
        with self._lock:
            old = self._entries.get(number)
            if self._closing or old is None or old.job.state not in (State.FAILED, State.CANCELLED):
                raise ValueError(f"job {number} cannot be retried")
            del self._entries[number]  # back in as the newest
            return self._put(_Entry(Job(number, old.job.request), old.then, old.partial))

    def dismiss(self, number: int) -> None:
        """Take an ended job off the list."""
        with self._lock:
            entry = self._entries.get(number)
            if entry is not None and entry.job.state.ended:
                del self._entries[number]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All jobs that are known, oldest first. A result that `then` has received is not kept."""
        with self._lock:
            return tuple(entry.job for entry in self._entries.values())

    @property
    def running(self) -> tuple[Job, ...]:
        """Jobs that are at work now."""
        return tuple(job for job in self.jobs if job.state is State.RUNNING)

    @property
    def busy(self) -> bool:
        """Whether any job waits or runs."""
        return any(not job.state.ended for job in self.jobs)

    @property
    def worker_pid(self) -> int | None:
        """The worker's process id, None while there is none."""
        return self._worker.pid

    def job(self, number: int) -> Job | None:
        """One job, or None when it has been dismissed."""
        with self._lock:
            entry = self._entries.get(number)
            return entry.job if entry else None

    def listen(self, callback: Callable[[Job], None]) -> Callable[[], None]:
        """Call `callback(job)` on the main thread after every change; the returned function ends that."""
        with self._lock:
            self._listeners.append(callback)

        def stop() -> None:
            with self._lock:
                if callback in self._listeners:
                    self._listeners.remove(callback)

        return stop

    def wait(self, number: int, *, timeout: float | None = None) -> Job:
        """Block until a job has ended (scripts and tests); TimeoutError when it has not."""
        with self._ended:
            entry = self._entries[number]
            if not self._ended.wait_for(lambda: entry.job.state.ended, timeout):
                raise TimeoutError(f"job {number} ({entry.job.request.title}) is {entry.job.state.value}")
            return entry.job

    def prewarm(self, *modules: str) -> None:
        """Start the worker now and let it import `modules`, so that the first job need not wait for that."""
        with self._lock:
            if not self._closing:
                self._warm.append(modules)
                self._serve_soon()

    def set_environment(self, values: Mapping[str, str]) -> None:
        """Set variables of the environment here, and in the worker for every job that starts from now on."""
        os.environ.update(values)
        with self._lock:
            if not self._closing and self._service is not None:
                self._warm.append(dict(values))
                self._serve_soon()
            for side in self._sides.values():
                side.set_environment(values)

    def shutdown(self, *, timeout: float = 3.0) -> None:
        """Cancel everything, wait, end the worker. Afterwards nothing is delivered any more.

        Most of `timeout` is left to jobs that stop by themselves at their next tick; then the worker is killed. A long
        job gets more, for it has something to save. A thread that ignores its tick cannot be ended: it is left behind,
        and does not keep the program alive.
        """
        with self._lock:
            if any(entry.job.request.long and not entry.job.state.ended for entry in self._entries.values()):
                timeout += SAVING_SECONDS
            end = time.monotonic() + timeout
            self._closing = self._closed = True
            for entry in list(self._entries.values()):
                if not entry.job.state.ended:
                    self._cancel(entry)
            pool, service = [*self._pool, *self._watchers], self._service
            for _ in self._pool:
                self._inbox.put(None)
            self._worker.poke()
            self._ended.wait_for(
                lambda: all(entry.job.state.ended for entry in self._entries.values()), max(0.0, timeout - 0.8)
            )
        self._worker.kill()
        with self._lock:
            sides, self._sides = self._sides, {}
        for side in sides.values():
            side.shutdown(timeout=max(0.3, min(1.0, end - time.monotonic())))
        for thread in [*([service] if service else []), *pool]:
            if thread is not threading.current_thread():
                thread.join(max(0.05, end - time.monotonic()))
        if service is None or not service.is_alive():
            self._worker.close()
            if service is not None:
                stop_tracker()
        with self._lock:
            self._listeners.clear()
        if self._at_exit is not None:
            atexit.unregister(self._at_exit)

    # Changes; the lock is held

    def _put(self, entry: _Entry) -> int:
        request = entry.job.request
        if request.slot:
            self.cancel_slot(request.slot)
        self._serials += 1
        entry.serial = self._serials
        self._entries[entry.job.number] = entry
        self._changed(entry)
        entry.aside = request.place == "process" and (
            request.long or (request.short and bool(self._current or self._waiting))
        )
        if entry.aside:
            # A thread of its own: those of the pool are for work, not for waiting.
            thread = threading.Thread(target=self._do, args=(entry,), name="facelens-aside", daemon=True)
            self._watchers = [old for old in self._watchers if old.is_alive()] + [thread]
            thread.start()
        elif request.place == "thread":
            self._inbox.put(entry)
            self._grow_pool()
        else:
            self._waiting.append(entry)
        self._serve_soon()
        return entry.job.number

    def _cancel(self, entry: _Entry) -> None:
        entry.unwanted = True
        if entry.job.state is State.WAITING:
            if entry in self._waiting:
                self._waiting.remove(entry)
            self._end(entry, State.CANCELLED)
        elif entry.kill_at == math.inf:
            entry.kill_at = time.monotonic() + self._backstop
            entry.job = replace(entry.job, note=tr("Stopping"))
            self._changed(entry)

    def _begin(self, entry: _Entry) -> None:
        entry.job = replace(entry.job, state=State.RUNNING, started=time.monotonic())
        self._changed(entry)

    def _end(self, entry: _Entry, state: State, **changes: Any) -> None:
        now = time.monotonic()
        note = entry.job.note if state is not State.CANCELLED else ""
        job = replace(entry.job, state=state, finished=now, eta_seconds=None, note=note, **changes)
        entry.job = job
        if state is State.FAILED and self._logs:
            # A stated failure says all there is to say; only what nobody foresaw needs its trace.
            trace = "" if isinstance(job.error, FaceLensError) else f"\n{job.trace}"
            _log.warning("job %d (%s) failed: %s%s", job.number, job.request.title, job.error, trace)
        if state is State.DONE and entry.then is not None:
            # `job` goes to `then`; what stays in the list must not keep galleries and results alive.
            request = replace(job.request, args=(), kwargs={})
            entry.job = replace(job, result=None, request=request)
        self._changed(entry, job)
        if entry.then is not None and state is not State.CANCELLED:
            then = entry.then
            self._post(lambda: then(job))
        ended = [number for number, other in self._entries.items() if other.job.state.ended]
        ended.sort(key=lambda number: self._entries[number].job.finished or 0.0)
        for number in ended[:-KEPT]:
            del self._entries[number]
        self._ended.notify_all()

    def _changed(self, entry: _Entry, job: Job | None = None) -> None:
        snapshot = job or entry.job
        listeners = tuple(self._listeners)
        if listeners:
            self._post(lambda: [listener(snapshot) for listener in listeners if listener in self._listeners])

    def _post(self, call: Callable[[], object]) -> None:
        def deliver() -> None:
            if not self._closed:
                call()

        try:
            self._deliver(deliver)
        except Exception:
            # `post` of scripts and tests calls at once: an error in their function must not end this thread.
            _log.exception("delivering the state of a job failed")

    def _offered(self, entry: _Entry, value: object) -> None:
        partial = entry.partial
        if partial is not None:
            self._post(lambda: None if entry.unwanted else partial(value))

    def _counted(self, entry: _Entry) -> None:
        """Take the newest counts of a job into its snapshot, and tell them unless that has just been done."""
        now = time.monotonic()
        counts = entry.counts
        if counts is None or entry.job.state is not State.RUNNING or now < entry.told_at + UPDATE_SECONDS:
            return
        entry.counts, entry.told_at = None, now
        self._set_counts(entry, counts, now)
        if entry.on_its_way:
            return  # the main thread is behind: it will see these counts when it gets there
        entry.on_its_way = True

        def tell() -> None:
            entry.on_its_way = False
            job = entry.job
            if job.state is State.RUNNING:
                for listener in tuple(self._listeners):
                    listener(job)

        self._post(tell)

    def _set_counts(self, entry: _Entry, counts: tuple[int, int, str], now: float) -> None:
        done, total, note = counts
        rate, left = entry.pace.update(done, total, now=now)
        note = entry.job.note if entry.unwanted else note
        entry.job = replace(entry.job, done=done, total=total, note=note, rate=rate, eta_seconds=left)

    # The service thread: owns the worker, and carries counts on

    def _serve_soon(self) -> None:
        if self._service is None:
            self._service = threading.Thread(target=self._serve, name="facelens-jobs", daemon=True)
            self._service.start()
            # Python ends the worker when the program ends; a queue that is still open would take that for a crash.
            self._at_exit = _closing(weakref.ref(self))
            atexit.register(self._at_exit)
        self._worker.poke()

    def _serve(self) -> None:
        while True:
            try:
                with self._lock:
                    if self._closing and self._current is None:
                        return
                self._warm_up()
                self._start_next()
                self._listen_to_worker()
                self._round()
                self._end_side()
            except Exception:
                _log.exception("the job queue met an error of its own")
                with self._lock:
                    if self._current is not None:
                        self._worker.kill()
                time.sleep(UPDATE_SECONDS)  # never a busy loop

    def _listen_to_worker(self) -> None:
        for news in self._worker.wait(self._patience()):
            self._hear(news)

    def _patience(self) -> float | None:
        with self._lock:
            alive = [entry for entry in self._entries.values() if entry.job.state is State.RUNNING]
            if not alive:
                return None
            if any(entry.job.request.place == "thread" or entry.aside or entry.counts for entry in alive):
                return UPDATE_SECONDS
            soonest = min(entry.kill_at for entry in alive)
            return None if soonest == math.inf else max(0.0, soonest - time.monotonic())

    def _round(self) -> None:
        with self._lock:
            for entry in list(self._entries.values()):
                if entry.job.state is State.RUNNING:
                    self._counted(entry)
            current = self._current
            if current is None or not current.unwanted:
                return
            if not current.told_to_stop:
                current.told_to_stop = True
                self._worker.send("cancel", current.serial)
            if current.kill_at <= time.monotonic():
                job = current.job
                _log.warning("job %d (%s) did not stop; its worker is ended", job.number, job.request.title)
                current.kill_at = math.inf
                self._worker.kill()

    def _warm_up(self) -> None:
        with self._lock:
            modules, self._warm = ([] if self._closing else self._warm), []
        for names in modules:
            if not isinstance(names, dict):
                self._worker.send("warm", payload=names)
            elif self._worker.pid is not None:  # one that starts later inherits it
                self._worker.send("set", payload=names)

    def _start_next(self) -> None:
        with self._lock:
            if self._current is not None or not self._waiting:
                return
            entry = self._current = self._waiting.popleft()
            self._begin(entry)
        request = entry.job.request
        try:
            self._worker.send("job", entry.serial, payload=(request.call, request.args, dict(request.kwargs)))
        except OSError as error:
            self._fail(entry, _no_start(error), traceback.format_exc())
        except Exception as error:  # whatever a type raises when it cannot be pickled
            problem = FaceLensError(
                tr("{title} cannot be handed to the worker process.", title=request.title),
                hint=tr("Report this; the rest of FaceLens is not affected."),
                details=str(error),
            )
            self._fail(entry, problem, traceback.format_exc())

    def _fail(self, entry: _Entry, error: Exception, trace: str) -> None:
        with self._lock:
            self._current = None
            self._end(entry, State.FAILED, error=error, trace=trace)
        self._worker.poke()

    def _hear(self, news: Message | Ended) -> None:
        if isinstance(news, Ended):
            self._worker_ended(news)
            return
        if news.kind == "ready":
            self._was_ready = True
            return
        with self._lock:
            entry = self._current
        if entry is None or entry.serial != news.number:
            return
        try:
            loaded = news.load() if news.kind != "tick" else None
        except Exception as error:
            problem = error if news.kind != "failed" else RemoteError(f"{news.extra[3]}: {news.extra[4]}")
            self._fail(entry, problem, traceback.format_exc())
            return
        with self._lock:
            if news.kind == "tick":
                entry.counts = news.extra  # type: ignore[assignment]
                return
            if news.kind == "partial":
                self._offered(entry, loaded)
                return
            self._current = None
            self._set_counts(entry, news.extra[:3], time.monotonic())  # type: ignore[arg-type]
            if news.kind == "cancelled" or entry.unwanted:
                self._end(entry, State.CANCELLED)
            elif news.kind == "done":
                self._end(entry, State.DONE, result=loaded)
            else:
                kind, words, trace = news.extra[3:]
                problem = loaded if isinstance(loaded, Exception) else RemoteError(f"{kind}: {words}")
                self._end(entry, State.FAILED, error=problem, trace=trace)

    def _worker_ended(self, news: Ended) -> None:
        with self._lock:
            entry, self._current = self._current, None
            started, self._was_ready = self._was_ready, False
            if entry is not None and entry.unwanted:
                self._end(entry, State.CANCELLED)
            elif entry is not None and started and not self._closing and self._begin_again(entry, news):
                pass
            elif entry is not None:
                error = _died(entry.job.request.title, news, started=started)
                self._end(entry, State.FAILED, error=error, trace=news.output)
            if started and not self._closing:
                self._warm.append(())  # a new one; one that cannot even start is tried again for the next job only

    def _begin_again(self, entry: _Entry, news: Ended) -> bool:
        job = entry.job
        try:
            worth_it = job.request.again is not None and job.request.again(entry.deaths)
        except Exception:
            _log.exception("whether job %d is worth another start is not known", job.number)
            return False
        if entry.unwanted:  # cancelled meanwhile
            self._end(entry, State.CANCELLED)
            return True
        if not worth_it:
            return False
        _log.warning("the worker ended during job %d (%s); it goes on in a new one", job.number, news.reason)
        entry.deaths += 1
        self._serials += 1
        entry.serial, entry.pace, entry.counts = self._serials, Pace(), None
        entry.job = replace(job, state=State.WAITING, note=tr("The worker ended; going on in a new one"))
        self._waiting.appendleft(entry)
        self._changed(entry)
        return True

    # Threads

    def _grow_pool(self) -> None:
        if self._idle < self._inbox.qsize() and len(self._pool) < self._threads:
            thread = threading.Thread(target=self._work, name=f"facelens-thread-{len(self._pool)}", daemon=True)
            self._pool.append(thread)
            thread.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            entry = self._inbox.get()
            with self._lock:
                self._idle -= 1
            if entry is None:
                return
            self._do(entry)
            del entry  # a thread that waits must not keep a gallery alive

    def _do(self, entry: _Entry) -> None:
        with self._lock:
            if entry.job.state is not State.WAITING:
                return
            self._begin(entry)
        self._worker.poke()  # the service thread begins to look at the counts
        request = entry.job.request
        changes: dict[str, Any] = {}
        tick = _ThreadTick(self, entry)
        try:
            if entry.aside:
                changes["result"] = self._done_aside(request, tick)
            else:
                changes["result"] = request.call(*request.args, **request.kwargs, tick=tick)
            state = State.DONE
        except Cancelled:
            state = State.CANCELLED
        except BaseException as error:  # also SystemExit: the thread goes on
            state = State.FAILED
            shown = error if isinstance(error, Exception) else RemoteError(f"{type(error).__qualname__}: {error}")
            changes = {"error": shown, "trace": traceback.format_exc()}
        with self._lock:
            if entry.counts is not None:
                self._set_counts(entry, entry.counts, time.monotonic())
            if entry.unwanted or state is State.CANCELLED:
                self._end(entry, State.CANCELLED)
            else:
                self._end(entry, state, **changes)

    # Further workers: each a queue of its own, in which threads of this one wait

    def _done_aside(self, request: Request, tick: _ThreadTick) -> object:
        lane = request.long
        with self._lock:
            if lane not in self._sides:
                backstop = SAVING_SECONDS if lane else self._backstop
                self._sides[lane] = JobQueue(
                    post=lambda call: call(), threads=1, backstop=backstop, nice=self._nice, logs=False
                )
            side = self._sides[lane]
            self._aside[lane] += 1
        try:
            number = side.submit(replace(request, short=False, long=False, slot=""), partial=_unless_cancelled(tick))
            stopping = False
            while True:
                if (job := side.job(number)) is None or job.state.ended:
                    break
                try:
                    tick(job.done, job.total, job.note)
                except Cancelled:
                    if not stopping:
                        side.cancel(number)
                    if not lane:
                        raise  # it ends in its own time; nobody waits for it
                    stopping = True
                with suppress(TimeoutError):
                    side.wait(number, timeout=UPDATE_SECONDS)
        finally:
            with self._lock:
                self._aside[lane] -= 1
        if job is None or job.state is State.CANCELLED:
            raise Cancelled
        if job.error is not None:
            if job.trace:
                job.error.add_note(job.trace)
            raise job.error
        tick(job.done, job.total, job.note)
        return job.result

    def _end_side(self) -> None:
        """A further worker goes when it has nothing to do; the one for short jobs stays while the first is busy."""
        with self._lock:
            idle = {
                lane: side
                for lane, side in self._sides.items()
                if not (self._aside[lane] or side.busy or (not lane and (self._current or self._waiting)))
            }
            for lane in idle:
                del self._sides[lane]
        for side in idle.values():
            side.shutdown(timeout=1.0)


def _unless_cancelled(tick: _ThreadTick) -> Callable[[object], None]:
    def take(value: object) -> None:
        with suppress(Cancelled):
            tick.partial(value)

    return take


def _closing(queue: weakref.ref[JobQueue]) -> Callable[[], None]:
    def close() -> None:
        if (still := queue()) is not None:
            still.shutdown(timeout=1.0)

    return close


def _died(title: str, news: Ended, *, started: bool) -> WorkerDied:
    if not started:
        return WorkerDied(
            tr(
                "The worker process could not start ({reason}), so {title} was not done.",
                reason=news.reason,
                title=title,
            ),
            hint=tr("Press Retry. If it fails again, start FaceLens anew."),
            details=news.output,
        )
    hint = tr("Press Retry to run it again.")
    if news.exit_code == -9:
        hint = tr("Press Retry to run it again. If that fails too, there may be too little memory for it.")
    return WorkerDied(
        tr(
            "The worker process ended during {title} ({reason}). It has been restarted.",
            title=title,
            reason=news.reason,
        ),
        hint=hint,
        details=news.output,
    )


def _no_start(error: OSError) -> WorkerDied:
    return WorkerDied(
        tr("The worker process could not be started."),
        hint=tr("Close other programs and press Retry."),
        details=str(error),
    )


def run_apart(request: Request, *, tick: Tick = silent) -> object:
    """Do the work in a worker process and return its result: for commands that a crash must not end.

    Counts come through `tick`; errors come out as they are. Ctrl+C stops the work at its next tick.
    """
    queue = JobQueue(post=lambda call: call())
    queue.listen(lambda job: tick(job.done, job.total, job.note) if job.total else None)
    try:
        number = queue.submit(request)
        while True:
            try:
                job = queue.wait(number, timeout=0.2)
                break
            except TimeoutError:
                continue
    finally:
        queue.shutdown()
    if job.error is not None:
        raise job.error
    if job.state is State.CANCELLED:
        raise Cancelled
    return job.result
