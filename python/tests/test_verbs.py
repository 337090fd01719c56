"""Queues, networks, plans, imports, series, load and calibration."""

from __future__ import annotations

import array
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy
import pandas
import polars
import pytest
import sojourn
from conftest import ROOT


def test_a_queue_by_formula_and_by_simulation() -> None:
    # M/G/1-PS is insensitive: 1 s over 1 - 0.8, whatever the law.
    answers = sojourn.queue(
        "M/G/1-PS",
        arrivals="exponential(rate = 0.8 /s)",
        service="lognormal(mean = 1 s, cv = 1)",
        sizes=[2.0, "3 s"],
        by=["theory", "sim"],
        jobs=2e5,
    )
    assert answers["response_time_mean"].estimate == pytest.approx(5.0)
    by_size = [row.estimate for row in answers if row.metric in ("response_time_mean_at_2s", "response_time_mean_at_3s")]
    assert by_size == pytest.approx([10.0, 15.0])
    sim = next(row for row in answers if (row.engine, row.metric) == ("sim", "response_time_mean"))
    assert sim.ci_low is not None and sim.ci_low < sim.estimate < sim.ci_high  # type: ignore[operator]
    # 200,000 jobs at 0.8: its standard deviation is about 2 %; a fifth off is ten of them, less than 1e-6.
    assert sim.estimate == pytest.approx(5.0, rel=0.2)
    frame = pandas.DataFrame(answers.columns())
    assert len(frame) == len(answers) and {"engine", "metric", "estimate"} <= set(frame.columns)


def test_laws_of_scipy_are_what_they_are_there() -> None:
    """Mean and variance of each, by our formulas and by SciPy's."""
    stats = pytest.importorskip("scipy.stats")
    laws = [
        stats.expon(scale=2.0),
        stats.gamma(2.5, scale=0.4),
        stats.erlang(3, scale=0.5),
        stats.lognorm(0.7, scale=1.5),
        stats.weibull_min(1.5, scale=2.0),
        stats.pareto(3.5, scale=1.0),
        stats.uniform(1.0, 3.0),
    ]
    for law in laws:
        rate = 0.5 / law.mean()
        found = sojourn.queue("M/G/1", arrivals=stats.expon(scale=1 / rate), service=law)
        # Pollaczek and Khinchine: the mean wait has mean and second moment in it.
        second = law.var() + law.mean() ** 2
        assert found["waiting_time_mean"].estimate == pytest.approx(rate * second / 2 / (1 - 0.5), rel=1e-9), law.dist.name
    with pytest.raises(sojourn.InputError, match="scipy.stats.norm has no counterpart"):
        sojourn.law(stats.norm(1, 1))
    with pytest.raises(sojourn.InputError, match="with loc = 1"):
        sojourn.law(stats.expon(loc=1))
    with pytest.raises(sojourn.InputError, match="cannot be nan"):
        sojourn.law(float("nan"))


def test_queues_that_make_no_sense() -> None:
    with pytest.raises(sojourn.InputError, match="say how jobs come"):
        sojourn.queue("M/M/1")
    with pytest.raises(sojourn.InputError):
        sojourn.queue("M/M/1", arrivals="exponential(rate = 2 /s)", service="exponential(mean = 1 s)")
    with pytest.raises(sojourn.InputError, match="no `waiting`"):
        sojourn.queue("M/M/1", arrivals="exponential(rate = 0.5 /s)", service="exponential(mean = 1 s)")["waiting"]
    with pytest.raises(sojourn.InputError, match="jobs = 0.5"):
        sojourn.queue("M/M/1", arrivals="exponential(rate = 0.5 /s)", service="1 s", by="sim", jobs=0.5)
    with pytest.raises(sojourn.InputError, match="`simulation` answers no queue: did you mean `sim`"):
        sojourn.queue("M/M/1", arrivals="exponential(rate = 0.5 /s)", service="1 s", by="simulation")


def test_gaps_and_services_of_arrays_are_replayed(tmp_path: Path) -> None:
    """Whatever they are in: the numbers are those of the same trace as a file."""
    random = numpy.random.default_rng(1)
    gaps, services = random.exponential(0.01, 20_000).round(6), random.gamma(2.0, 0.004, 20_000).round(6)
    (tmp_path / "trace.csv").write_text("gap,demand\n" + "".join(f"{a},{b}\n" for a, b in zip(gaps, services)))
    run = [sojourn.program(), "queue", "G/G/1-PS", "--trace", str(tmp_path / "trace.csv"), "--json"]
    told = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    theirs = {row["metric"]: row["estimate"] for row in told}
    asked = lambda a, b, **more: sojourn.queue("G/G/1-PS", arrivals=a, service=b, **more)  # noqa: E731
    mine = asked(gaps, services)
    assert {row.metric: row.estimate for row in mine} == theirs
    assert theirs["response_time_mean"] > services.mean() and mine["response_time_mean"].engine == "sim"
    frame = pandas.DataFrame({"gap": gaps, "service": services})
    spans = frame.apply(lambda column: pandas.to_timedelta((column * 1e9).round().astype("int64"), unit="ns"))
    for alike in (
        asked(frame["gap"], frame["service"]),
        asked(polars.Series(gaps), polars.Series(services)),
        asked(list(gaps), tuple(services)),
        asked(numpy.stack([gaps, gaps], axis=1)[:, 0], services),
        asked(spans["gap"], spans["service"]),
        asked((gaps * 1e6).round(), (services * 1e6).round(), unit="us"),
    ):
        assert alike.columns() == mine.columns()


class Arrow:
    """A column that has Arrow's interface and nothing else."""

    def __init__(self, numbers: object) -> None:
        self._series = polars.Series(numbers)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._series.__arrow_c_stream__(requested_schema)


def test_arrays_are_read_where_they_are_whatever_they_are_like() -> None:
    random = numpy.random.default_rng(2)
    gaps, services = random.exponential(0.01, 500), random.exponential(0.008, 500)
    asked = lambda a, b: sojourn.queue("G/G/1", arrivals=a, service=b).columns()  # noqa: E731
    mine = asked(gaps, services)
    unaligned = numpy.frombuffer(b"\0" + gaps.tobytes(), dtype=numpy.float64, offset=1)
    assert not unaligned.flags.aligned
    locked = gaps.copy()
    locked.flags.writeable = False
    for alike in (
        unaligned,
        locked,
        gaps.astype(">f8"),
        gaps[::-1].copy()[::-1],
        numpy.repeat(gaps, 3)[::3],
        numpy.ma.masked_array(gaps),
        memoryview(gaps),
        array.array("d", gaps),
        Arrow(gaps),
    ):
        assert asked(alike, services) == mine
    assert asked(gaps.astype(numpy.float32), services) != mine
    # What is masked is missing, whatever number stands under the mask.
    with pytest.raises(sojourn.InputError, match=r"arrivals\[2\] is nan: leave out"):
        asked(numpy.ma.masked_array(gaps, mask=[at == 2 for at in range(500)]), services)
    with pytest.raises(sojourn.InputError, match="complex numbers"):
        asked(gaps + 1j, services)
    with pytest.raises(sojourn.InputError, match=r"arrivals\[1\] is -inf: leave out"):
        asked([1.0, -numpy.inf], [1.0, 1.0])


class Series(list[float]):
    """A column of a frame where there is no NumPy."""

    def to_numpy(self) -> None:
        raise ModuleNotFoundError("numpy")


def test_lists_need_no_numpy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gaps, services = [2.0, 1.0, 1.0] * 50, [1.0, 2.0, 1.0] * 50
    asked = lambda a, b: sojourn.queue("G/G/1", arrivals=a, service=b).columns()  # noqa: E731
    mine, law = asked(numpy.array(gaps), numpy.array(services)), sojourn.law(gaps, file=tmp_path / "gaps.txt")
    facts = sojourn.describe(numpy.array(gaps))
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert asked(gaps, tuple(services)) == mine
    assert asked(Series(gaps), services) == mine
    assert sojourn.law(gaps, file=tmp_path / "gaps.txt") == law and sojourn.describe(gaps) == facts
    with pytest.raises(sojourn.InputError, match=r"service\[1\] is nan: leave out"):
        asked(gaps, [1.0, float("nan"), *services[2:]])
    with pytest.raises(sojourn.InputError, match="number 2 is inf"):
        sojourn.describe([1.0, 2.0, float("inf")])
    with pytest.raises(sojourn.InputError, match="these are no numbers"):
        asked(gaps, [1.0, None, *services[2:]])


def test_arrays_that_make_no_sense() -> None:
    good = numpy.ones(4)
    asked = lambda a, b, **more: sojourn.queue("G/G/1", arrivals=a, service=b, **more)  # noqa: E731
    wrong = [
        ([1.0, float("nan"), 1.0, 1.0], good, {}, r"arrivals\[1\] is nan: leave out"),
        (good, [1.0, 1.0, float("inf"), 1.0], {}, r"service\[2\] is inf: leave out"),
        (pandas.Series([1.0, pandas.NA, 1.0, 1.0], dtype=object), good, {}, r"arrivals\[1\] is missing"),
        (pandas.array([1.0, None, 1.0, 1.0], dtype="Float64"), good, {}, r"arrivals\[1\] is nan"),
        (polars.Series([1.0, None, 1.0, 1.0]), good, {}, r"arrivals\[1\] is nan"),
        (good, [1.0, -1.0, 1.0, 1.0], {}, r"service\[1\] is -1: a time is a number from 0 on"),
        (good, numpy.ones(3), {}, "arrivals has 4 gaps and service 3 times"),
        (good, "exponential(mean = 1 s)", {}, "arrivals is an array and service is not"),
        (good, numpy.ones((2, 2)), {}, "one dimension, not 2"),
        (good, ["a", "b", "c", "d"], {}, "these are no numbers"),
        ([], [], {}, "a trace has gaps"),
        (numpy.zeros(4), good, {}, "not all of them 0"),
        (good, good, {"unit": "kB"}, "gaps and services are times"),
        (good, good, {"unit": "parsecs"}, "unit: "),
        (numpy.full(50, 1.7e9), numpy.ones(50), {}, "are they instants, or in another unit than s"),
        (numpy.array(["2026-01-01"] * 4, dtype="datetime64[s]"), good, {}, r"arrivals\[0\] is an instant"),
        (numpy.ones(4, dtype="timedelta64[ms]"), numpy.ones(4, dtype="timedelta64[ms]"), {"unit": "s"}, "knows its own unit"),
        (numpy.ones(4, dtype="timedelta64[ms]"), good, {}, "arrivals is in ns and service in s"),
        (good, good, {"by": "theory"}, "formulas know laws, not arrays"),
    ]
    for arrivals, service, more, says in wrong:
        with pytest.raises(sojourn.InputError, match=says):
            asked(arrivals, service, **more)
    with pytest.raises(sojourn.InputError, match="is of arrays of gaps and services"):
        sojourn.queue("M/M/1", arrivals="exponential(rate = 1 /s)", service="1 s", unit="ms")


@pytest.mark.parametrize(
    ("queue", "service"),
    [
        ("M/G/1-PS", "hyperexponential(mean = 1 s, cv = 2)"),
        ("M/G/1", "lognormal(mean = 1 s, cv = 2)"),
        ("M/D/1-LPS(3)", "1 s"),
        ("M/M/3/9", "exponential(mean = 1 s)"),
        ("M/G/inf", "uniform(low = 1 s, high = 2 s)"),
        ("M/M/2//8", "exponential(mean = 1 s)"),
    ],
)
def test_what_is_looked_at_late_is_what_there_was(queue: str, service: str) -> None:
    """Percentiles and deviations are computed when they are looked at; each number is that of the program."""
    run = [sojourn.program(), "queue", queue, "--arrivals", "exponential(rate = 0.6 /s)", "--service", service, "--json"]
    told = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    theirs = {row["metric"]: row["estimate"] for row in told}
    assert "response_time_p99" in theirs
    asked = lambda: sojourn.queue(queue, arrivals="exponential(rate = 0.6 /s)", service=service)  # noqa: E731
    for metric, estimate in theirs.items():
        assert asked()[metric].estimate == estimate, metric
    assert {row.metric: row.estimate for row in asked()} == theirs
    eager = sojourn._sojourn.queue(queue, "exponential(rate = 0.6 /s)", service, None, [], False, [], True, False, None, None, 1, None)[0]
    assert eager is not None and [note.removeprefix("theory: ") for note in asked().notes] == eager[1]


def test_a_network(tmp_path: Path) -> None:
    answers = sojourn.network(
        stations=[{"name": "cpu", "discipline": "ps"}, {"name": "disk", "discipline": "ps"}],
        chains=[
            {
                "name": "jobs",
                "arrivals": "exponential(rate = 5 /s)",
                "steps": [
                    {"station": "cpu", "demand": "exponential(mean = 100 ms)"},
                    {"station": "disk", "demand": "exponential(mean = 50 ms)"},
                ],
            }
        ],
    )
    # Two M/M/1 in series (Jackson 1957): 0.1 / 0.5 and 0.05 / 0.75.
    assert answers.get("response_time_mean").estimate == pytest.approx(0.2 + 0.05 / 0.75)


def test_a_plan() -> None:
    found = sojourn.plan(ROOT / "experiments" / "plan.toml")
    assert found["offers"] and found["objectives"]


def test_an_import(tmp_path: Path) -> None:
    (tmp_path / "haproxy.cfg").write_text(
        "defaults\n  balance leastconn\nbackend app\n  server s1 10.0.0.1:80\n  server s2 10.0.0.2:80\n"
    )
    experiment = sojourn.import_(tmp_path / "haproxy.cfg", rate="100 /s", service="exponential(mean = 10 ms)")
    assert "haproxy(" in experiment.text
    assert len(experiment.set("run.max_jobs", 20_000).ask("sim", seed=2)) > 0
    with pytest.raises(sojourn.InputError, match="cannot read"):
        sojourn.import_(tmp_path / "none.cfg")


def test_series() -> None:
    path = sojourn.fgn(30_000, 0.8, seed=1)
    assert path.shape == (30_000,) and numpy.array_equal(path, sojourn.fgn(30_000, 0.8, seed=1))
    found = sojourn.hurst(path)
    # Whittle's estimate of 30,000 points has a standard deviation of some 0.004.
    assert found["whittle_fgn"]["h"] == pytest.approx(0.8, abs=0.05)
    assert "verdict" in found
    assert sojourn.hurst(pandas.Series(path))["whittle_fgn"] == found["whittle_fgn"]
    with pytest.raises(sojourn.InputError, match="number 1 is nan"):
        sojourn.hurst([1.0, float("nan"), 2.0])
    with pytest.raises(sojourn.InputError, match="no numbers"):
        sojourn.hurst(["a", "b"])
    with pytest.raises(sojourn.InputError, match="H = 1.2"):
        sojourn.fgn(100, 1.2, seed=1)


def test_what_is_in_a_log_and_in_numbers(tmp_path: Path) -> None:
    line = '10.0.0.{} - - [01/Aug/1995:00:{:02}:{:02} +0000] "GET /p{} HTTP/1.0" 200 {}\n'
    (tmp_path / "access.log").write_text("".join(line.format(n % 7, n // 60, n % 60, n % 5, 100 + n) for n in range(600)))
    found = sojourn.describe(tmp_path / "access.log")
    assert found["facts"] and isinstance(found["warnings"], list)
    assert "[workload]" in sojourn.fit(tmp_path / "access.log")
    drawn = numpy.random.default_rng(1).exponential(20.0, 2000)
    law = sojourn.fit(drawn, unit="ms")
    assert law and sojourn.describe(drawn, unit="ms")["facts"]
    # As it is, comments and all, it is a law where one is asked for.
    bare = law.strip().splitlines()[-1]
    assert law.startswith("#") and sojourn.law(law) == bare
    assert sojourn.queue("M/G/1", arrivals="exponential(utilization = 0.5)", service=law).columns() == (
        sojourn.queue("M/G/1", arrivals="exponential(utilization = 0.5)", service=bare).columns()
    )
    with pytest.raises(sojourn.InputError, match="unit"):
        sojourn.fit(drawn, unit="parsecs")


@pytest.fixture
def server() -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as of:
        threading.Thread(target=of.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{of.server_address[1]}/"
        of.shutdown()


def test_load_and_its_interruption(server: str) -> None:
    found = sojourn.load(server, connections=2, requests=200)
    assert found
    with pytest.raises(sojourn.InputError):
        sojourn.load("ftp://nowhere/")
    began = 0.0

    def press() -> None:
        nonlocal began
        time.sleep(1.0)
        began = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(sojourn.Interrupted):
        sojourn.load(server, connections=1, duration="1 min")
    assert time.monotonic() - began < 1.5


def test_load_ends_when_python_is_killed(server: str) -> None:
    script = f"import sojourn; print('begun', flush=True); sojourn.load({server!r}, connections=1, duration='1 min')"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    deadline = time.monotonic() + 20
    while not (mine := Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()):
        assert time.monotonic() < deadline, "load never began"
        time.sleep(0.02)
    time.sleep(0.3)
    child.kill()
    child.wait()
    while any(Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2] for pid in mine):
        assert time.monotonic() < deadline, "the load goes on"
        time.sleep(0.05)
