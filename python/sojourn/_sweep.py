"""Sweeps: every point of a grid by itself, on one process, on several, or on a Ray cluster, with a store that is taken up again."""

from __future__ import annotations

import os
import pickle
import platform
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from sojourn import _policy, _sojourn
from sojourn._answers import Answers
from sojourn._errors import InputError, Interrupted, RunError
from sojourn._experiment import Experiment
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
    seed: int | None = None,
    progress: bool = False,
) -> Answers:
    """Asks every combination of the grid by itself, and keeps what is finished.

    Points that fail do not end a sweep: they are rows with ``method`` "failed", and ``note`` says why. All points have the same seed,
    so that they are compared under common random numbers. Rows are in the order of the grid, and the same bytes on one process, on
    several, and on Ray, resumed or not.

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
        seed: likewise.
        progress: True shows a line on standard error.

    Raises:
        InputError: for a grid that makes no sense, and a store that another sweep has.
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
    inner = _sojourn.Sweep(asked._inner, by, _policy.registered(), _policy.code(asked.text), None if store is None else os.fspath(store))
    todo = inner.missing()
    line = _Line(len(inner), len(inner) - len(todo)) if progress else None
    try:
        if on is None:
            _here(inner, todo, line)
        elif on == "processes":
            _processes(inner, todo, workers or os.cpu_count() or 1, _job(asked, by), line)
        elif on == "ray":
            _ray(inner, todo, workers, _job(asked, by), line)
        else:
            raise InputError(f"on={on!r}: None, \"processes\" or \"ray\"")
    except KeyboardInterrupt:
        inner.close()
        raise Interrupted(Answers(inner.answers())) from None
    finally:
        inner.close()
        if line:
            line.end()
    return Answers(inner.answers())


def _here(inner: _sojourn.Sweep, todo: list[int], line: _Line | None) -> None:
    for point in todo:
        inner.put(inner.ask(point, None))
        if line:
            line.one_more()


# What a worker needs: the experiment's text and file, the engines, the code of policies, your own policies as they pickle, and where
# Python looks for modules.
_Job = tuple[str, str, list[str], str, bytes, list[str]]


def _job(experiment: Experiment, by: list[str]) -> _Job:
    text = experiment.text
    return (text, experiment._inner.file, by, _policy.code(text), _policy.packed(text), list(sys.path))


def work(job: _Job, point: int) -> str:
    """The record of a point, made on one thread; for processes of their own."""
    text, file, by, code, policies, path = job
    sys.path += [folder for folder in path if folder not in sys.path]
    _policy.unpack(policies)
    experiment = Experiment.from_text(text, file)
    inner = _sojourn.Sweep(experiment._inner, by, _policy.registered(), code, None)
    return inner.ask(point, 1)


def _processes(inner: _sojourn.Sweep, todo: list[int], workers: int, job: _Job, line: _Line | None) -> None:
    """Each worker is `python -m sojourn._worker`, which takes numbers of points and gives records, a line each, and ends with its
    standard input. So a script needs no guard, and nothing outlives this process. One that is lost is replaced."""
    points: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    records: queue.SimpleQueue[str | Exception] = queue.SimpleQueue()
    for point in todo:
        points.put(point)
    packed = pickle.dumps(job)
    pool = [_Worker(packed) for _ in range(max(1, min(workers, len(todo))))]
    for _ in pool:
        points.put(None)
    threads = [threading.Thread(target=worker.serve, args=(points, records), daemon=True) for worker in pool]
    try:
        for thread in threads:
            thread.start()
        for _ in todo:
            record = _next(records)
            if isinstance(record, Exception):
                raise record
            inner.put(record)
            if line:
                line.one_more()
    finally:
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

    def serve(self, points: queue.SimpleQueue[int | None], records: queue.SimpleQueue[str | Exception]) -> None:
        while (point := points.get()) is not None and not self._is_over:
            try:
                records.put(self._ask(point))
            except Exception as error:
                records.put(error)
                return

    def _ask(self, point: int) -> str:
        for _ in range(self.TRIES):
            process = self._process or self._start()
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(b"%d\n" % point)
                process.stdin.flush()
                said = process.stdout.readline().decode()
            except (BrokenPipeError, ValueError):
                said = ""
            if said.startswith("{"):
                return said
            if said:
                raise RunError(said.removeprefix("!").strip())
            process.kill()
            process.wait()
            self._process = None
            if self._is_over:
                break
        raise RunError(f"point {point}: the process that asked it was lost {self.TRIES} times: was there memory enough?")

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


def _ray(inner: _sojourn.Sweep, todo: list[int], workers: int | None, job: _Job, line: _Line | None) -> None:
    with cluster() as ray:
        cores = int(ray.cluster_resources().get("CPU", 1))
        most = _AHEAD * (workers or max(1, cores))
        # System failures (a worker that is killed, a node that goes) are tried again; what a task raises is not.
        task = ray.remote(num_cpus=1, max_retries=3)(_on_node)
        ours = (_sojourn.__version__, _machine())
        shared = ray.put(job)
        waiting = list(reversed(todo))
        running: list[Any] = []
        while waiting or running:
            while waiting and len(running) < most:
                running.append(task.remote(ours, shared, waiting.pop()))
            done, running = ray.wait(running, num_returns=1)
            for one in done:
                inner.put(result(ray, one))
            if line:
                line.one_more()


def _on_node(ours: tuple[str, str], job: _Job, point: int) -> str:
    theirs = (_sojourn.__version__, _machine())
    if theirs != ours:
        node = os.uname().nodename
        raise RunError(f"node {node} has sojourn {theirs[0]} on {theirs[1]}, and the driver {ours[0]} on {ours[1]}: they must be alike")
    return work(job, point)


def _machine() -> str:
    """What numbers may hang on: the kind of processor and the C library."""
    return f"{platform.machine()} with {' '.join(platform.libc_ver())}"


class _Line:
    """How many points are finished, on one line of standard error."""

    def __init__(self, points: int, known: int) -> None:
        self._points, self._done = points, known
        self._show()

    def _show(self) -> None:
        sys.stderr.write(f"\r{self._done} of {self._points} points")
        sys.stderr.flush()

    def one_more(self) -> None:
        self._done += 1
        self._show()

    def end(self) -> None:
        sys.stderr.write("\n")
        sys.stderr.flush()

