"""Sweeps: every point of a grid by itself, on one process, on several, or on a Ray cluster, with a store that is taken up again."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import platform
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sojourn import _policy, _sojourn
from sojourn._answers import Answers
from sojourn._errors import InputError, Interrupted, RunError, told
from sojourn._experiment import Experiment
from sojourn._line import Points
from sojourn._ray import cluster, result

# Tasks on Ray at a time, for each core: enough that none waits, few enough that an interruption loses little.
_AHEAD = 2


def sweep(
    experiment: Experiment | str | os.PathLike[str],
    grid: Mapping[str, Iterable[Any]] | None = None,
    *,
    engines: Iterable[str] | str = ("theory", "sim"),
    on: str | None = None,
    workers: int | None = None,
    store: str | os.PathLike[str] | None = None,
    precision: str | float | None = None,
    budget: float | None = None,
    independent: Iterable[str] | str = (),
    seed: int | None = None,
    progress: bool = False,
    policy_patience: float = 10.0,
) -> Answers:
    """Asks every combination of the grid by itself, and keeps what is finished.

    Points that fail do not end a sweep: they are rows with ``method`` "failed", and ``note`` says why. All points have the same seed,
    so that they are compared under common random numbers. Each has the rows ``response_time_mean_difference`` (s) and
    ``response_time_mean_ratio`` against the first policy of the grid where all else is equal (against the first value of another setting, where
    no policy varies), replication by replication: their intervals are much narrower than those of the two numbers. A variant that the file has
    a name for has them too. Rows are in the order of the grid, and the same bytes on one process, on several, and on Ray, resumed or not.

    Args:
        experiment: an experiment, or its file; what it varies belongs to the grid.
        grid: keys and their values, beside what the experiment varies.
        engines: ``"theory"``, ``"sim"`` or both. Live runs are measurements, each another one: ask them with :meth:`Experiment.ask`.
        on: None for this process, ``"processes"`` for several of this machine, ``"ray"`` for a Ray cluster: one that runs is used, else
            one is started here.
        workers: how many processes; none: one for each core. Each takes one thread. On Ray: how many tasks at once.
        store: a file with a line for each finished point. A second sweep takes it up and asks only what is missing, also after an
            interruption or a crash; one at a time may have it. Points are known by all that their answers hang on: version, seed,
            engines, the experiment's text and the files that it names, and the code of your own policies.
        precision: as :meth:`Experiment.ask` takes it.
        budget: requests that all points together may simulate, such as ``1e9``, instead of a precision for each. It is spent in three rounds:
            a quarter evenly, then a quarter and a half to those whose intervals are widest, which are simulated anew, for longer. What is
            assigned hangs on whole finished rounds alone, which the store keeps.
        independent: settings along which points shall not have common random numbers; they are then not compared.
        seed: likewise.
        progress: True shows how far it is on a line of standard error, ``7 of 200 points``, which is taken away at the end. Points that the
            store has count as done; a budget's later rounds have lines of their own, ``round 2: 3 of 12 points``.
        policy_patience: how long (s) a policy of your own may take for one call.

    Raises:
        InputError: for a grid that makes no sense, and a store that another sweep has.
        PolicyError: when a policy of your own fails.
        RunError: when a process is lost again and again, or the store cannot be written.
        Interrupted: on Ctrl-C; its ``answers`` are those of the finished points.

    >>> one = Experiment.from_dict({
    ...     "workload": {"kind": "open", "arrivals": "exponential(utilization = 0.7)"},
    ...     "system": {"server": {"discipline": "ps", "demand": "exponential(mean = 10 ms)"}},
    ... })
    >>> answers = sweep(one, {"utilization": [0.5, 0.9]}, engines="theory")
    >>> [round(row["estimate"], 9) for row in answers.rows() if row["metric"] == "response_time_mean"]
    [0.02, 0.1]
    """
    if not isinstance(experiment, Experiment):
        experiment = Experiment.read(experiment)
    for key, values in (grid or {}).items():
        experiment = experiment.vary(key, values)
    asked = experiment._asked(precision, seed)
    # As a worker reads it: messages are then the same wherever a point is asked.
    asked = Experiment.from_text(asked.text, asked._inner.file)
    by = [word.strip() for one in ([engines] if isinstance(engines, str) else engines) for word in one.split(",")]
    if on not in (None, "processes", "ray"):
        raise InputError(f"on={on!r}: None, \"processes\" or \"ray\"")
    if budget is not None and precision is not None:
        raise InputError("budget and precision: one of both says how long points are simulated")
    if budget is not None and not 1 <= budget < 1e18:
        raise InputError(f"budget = {budget}: it is a number of requests, such as 1e8")
    axes = [independent] if isinstance(independent, str) else list(independent)
    job = _job(asked, by, axes, policy_patience)
    inner = _sojourn.Sweep(
        asked._inner,
        by,
        _policy.registered(asked.text),
        job.code,
        None if store is None else os.fspath(store),
        axes,
        None if budget is None else int(budget),
    )
    line = Points() if progress else None
    try:
        rounds = _rounds(inner, line)
        if on is None:
            for point in (point for todo in rounds for point in todo):
                _keep(inner, inner.ask(*point, None, policy_patience), line)
        elif on == "processes":
            _processes(inner, rounds, workers or os.cpu_count() or 1, job, line)
        else:
            _ray(inner, rounds, workers, job, line)
    except KeyboardInterrupt:
        inner.close()
        raise Interrupted(Answers(inner.answers())) from None
    finally:
        inner.close()
        if line:
            line.end()
    return Answers(inner.answers())


# A point's number, and how many requests it is to simulate, where its experiment does not say.
_Point = tuple[int, "int | None"]


def _rounds(inner: _sojourn.Sweep, line: Points | None) -> Iterator[list[_Point]]:
    """What is to be asked, round by round: the next one hangs on the records of all before."""
    before: list[_Point] = []
    while (todo := inner.due()) and todo != before:
        before = todo
        if line:
            line.begin(len(inner), todo)
        yield todo


def _keep(inner: _sojourn.Sweep, record: str, line: Points | None) -> None:
    inner.put(record)
    if line:
        line.one_more()


class _Job(NamedTuple):
    """What a worker needs."""

    text: str
    file: str
    by: tuple[str, ...]
    independent: tuple[str, ...]
    # Of your own policies: their code, and themselves as they pickle.
    code: str
    policies: bytes
    # Where Python looks for modules.
    path: tuple[str, ...]
    # How long (s) a policy may take for one call.
    patience: float


def _job(experiment: Experiment, by: list[str], independent: list[str], patience: float) -> _Job:
    text, file = experiment.text, experiment._inner.file
    code, policies = _policy.code(text), _policy.packed(text)
    return _Job(text, file, tuple(by), tuple(independent), code, policies, tuple(sys.path), patience)


def work(job: _Job, number: int, requests: int | None) -> str:
    """The record of a point, made on one thread; for processes of their own."""
    return _points(job).ask(number, requests, 1, job.patience)


# To read a grid takes as long as it has points, and a process is asked for many of them.
@functools.lru_cache(maxsize=1)
def _points(job: _Job) -> _sojourn.Sweep:
    sys.path += [folder for folder in job.path if folder not in sys.path]
    _policy.unpack(job.policies)
    experiment = Experiment.from_text(job.text, job.file)
    return _sojourn.Sweep(experiment._inner, list(job.by), _policy.registered(job.text), job.code, None, list(job.independent), None)


def _processes(inner: _sojourn.Sweep, rounds: Iterator[list[_Point]], workers: int, job: _Job, line: Points | None) -> None:
    """Each worker is `python -m sojourn._worker`, which takes numbers of points and gives records, a line each, and ends with its
    standard input. So a script needs no guard, and nothing outlives this process. One that is lost is replaced."""
    points: queue.SimpleQueue[_Point | None] = queue.SimpleQueue()
    records: queue.SimpleQueue[str | Exception] = queue.SimpleQueue()
    packed = pickle.dumps(job)
    pool: list[_Worker] = []
    try:
        for todo in rounds:
            for point in todo:
                points.put(point)
            while len(pool) < min(max(1, workers), len(todo)):
                pool.append(_Worker(packed))
                threading.Thread(target=pool[-1].serve, args=(points, records), daemon=True).start()
            for _ in todo:
                record = _next(records)
                if isinstance(record, Exception):
                    raise record
                _keep(inner, record, line)
    finally:
        for _ in pool:
            points.put(None)
        for worker in pool:
            worker.end()


def _next(records: queue.SimpleQueue[str | Exception]) -> str | Exception:
    """The next record. A signal may wake another thread than this one, so this one looks."""
    while True:
        try:
            return records.get(timeout=0.1)
        except queue.Empty:
            continue


class _Worker:
    """A process that asks points."""

    # How often a point is tried whose process was lost.
    TRIES = 3

    def __init__(self, job: bytes) -> None:
        self._job = job
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def serve(self, points: queue.SimpleQueue[_Point | None], records: queue.SimpleQueue[str | Exception]) -> None:
        while (point := points.get()) is not None and not self._is_over:
            try:
                records.put(self._ask(point))
            except Exception as error:
                records.put(error)
                return

    def _ask(self, point: _Point) -> str:
        for _ in range(self.TRIES):
            process = self._process or self._start()
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(b"%d %d\n" % (point[0], point[1] or 0))
                process.stdin.flush()
                said = process.stdout.readline().decode()
            except (BrokenPipeError, ValueError):
                said = ""
            if said.startswith("{"):
                return said
            if said:
                raise told(said.removeprefix("!").strip())
            process.kill()
            process.wait()
            self._process = None
            if self._is_over:
                break
        raise RunError(f"point {point[0]}: the process that asked it was lost {self.TRIES} times: was there memory enough?")

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "sojourn._worker"]
        # The terminal's Ctrl-C is for us; they end with their standard input.
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert process.stdin is not None
        process.stdin.write(len(self._job).to_bytes(8, "little") + self._job)
        self._process = process
        return process

    def end(self) -> None:
        """Ends the process, also in the middle of a point."""
        self._is_over = True
        if self._process is not None:
            self._process.kill()


def _ray(inner: _sojourn.Sweep, rounds: Iterator[list[_Point]], workers: int | None, job: _Job, line: Points | None) -> None:
    with cluster() as ray:
        cores = int(ray.cluster_resources().get("CPU", 1))
        most = _AHEAD * (workers or max(1, cores))
        # System failures (a worker that is killed, a node that goes) are tried again; what a task raises is not.
        task = ray.remote(num_cpus=1, max_retries=3)(_on_node)
        ours = machine()
        shared = ray.put(job)
        for todo in rounds:
            waiting = list(reversed(todo))
            running: list[Any] = []
            while waiting or running:
                while waiting and len(running) < most:
                    running.append(task.remote(ours, shared, *waiting.pop()))
                done, running = ray.wait(running, num_returns=1)
                for one in done:
                    _keep(inner, result(ray, one), line)


def _on_node(ours: Machine, job: _Job, number: int, requests: int | None) -> str:
    theirs = machine()
    if theirs != ours:
        raise RunError(f"node {os.uname().nodename} {unlike(theirs, ours)}, and the driver {unlike(ours, theirs)}: they must be alike")
    return work(job, number, requests)


class Machine(NamedTuple):
    """What numbers may hang on, to the last bit."""

    version: str
    kind: str
    libc: str
    # By which of these the C library chooses among its own logarithms and exponentials. (Our loops give the same bytes on all.)
    features: tuple[str, ...]


def machine() -> Machine:
    """This one."""
    flags: set[str] = set()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        flags = set(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())
    features = tuple(name for name in ("avx2", "fma", "fma4") if name in flags)
    return Machine(_sojourn.__version__, platform.machine(), " ".join(platform.libc_ver()), features)


def unlike(one: Machine, other: Machine) -> str:
    """What tells it from the other, in words."""
    words = []
    if one.version != other.version:
        words.append(f"sojourn {one.version}")
    if one.kind != other.kind:
        words.append(f"processor {one.kind}")
    if one.libc != other.libc:
        words.append(one.libc)
    if one.features != other.features:
        words.append("a processor with " + (", ".join(name for name in one.features if name not in other.features) or "less"))
    return "has " + ", ".join(words)

