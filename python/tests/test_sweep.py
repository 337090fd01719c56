"""Sweeps: the same bytes on one process and on two, resumed or not; points that fail; a worker that is killed."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import sojourn
from conftest import FOUR
from sojourn import _sweep

GRID = {"utilization": [0.5, 0.7, 1.5], "policy": ["random", "least-connections"]}


@pytest.fixture
def short(four: sojourn.Experiment) -> sojourn.Experiment:
    return four.set("run.max_jobs", 40_000)


def test_rows_are_those_of_ask_and_failed_points_are_rows(short: sojourn.Experiment) -> None:
    answers = sojourn.sweep(short, GRID)
    columns = answers.columns()
    asked = short.vary(utilization=[0.5, 0.7], policy=GRID["policy"]).ask(["theory", "sim"]).columns()
    differences = ("response_time_mean_difference", "response_time_mean_ratio")
    rows = enumerate(zip(columns["method"], columns["metric"]))
    known = [at for at, (method, metric) in rows if method != "failed" and metric not in differences]
    assert {name: [column[at] for at in known] for name, column in columns.items()} == asked
    failed = [row for row in answers.rows() if row["method"] == "failed"]
    assert [(row["utilization"], row["policy"]) for row in failed] == [(1.5, "random"), (1.5, "least-connections")]
    assert all("utilization" in row["note"] and row["metric"] is None for row in failed)
    assert answers.verdict == "VALID" and len(answers.to_polars()) == len(answers)


def test_policies_are_compared_pair_by_pair(four: sojourn.Experiment) -> None:
    answers = sojourn.sweep(four, GRID, engines="sim")
    assert repr(answers).startswith("<Answers 'four servers': 6 variants by sim")
    for load in (0.5, 0.7):
        less = answers.get("response_time_mean_difference", utilization=load, policy="least-connections")
        means = [answers.get("response_time_mean", utilization=load, policy=policy) for policy in GRID["policy"]]
        # Of a pair of runs as of their means, but for rounding and for replications that are not as long.
        assert less.estimate == pytest.approx(means[1].estimate - means[0].estimate, rel=0.05)
        assert less.low < less.estimate < less.high < 0, "to the shortest queue is faster"
        assert less.high - less.low < (means[0].high - means[0].low) + (means[1].high - means[1].low)
        ratio = answers.get("response_time_mean_ratio", utilization=load, policy="least-connections")
        assert 0 < ratio.low < ratio.estimate < ratio.high < 1
    apart = sojourn.sweep(four, GRID, engines="sim", independent="policy")
    assert "response_time_mean_difference" not in apart.columns()["metric"]
    with pytest.raises(sojourn.InputError, match="`polcy` does not vary"):
        sojourn.sweep(four, GRID, independent=["polcy"])


def test_a_budget_is_spent_alike_everywhere_and_resumed(four: sojourn.Experiment, tmp_path: Path) -> None:
    grid = {"utilization": [0.3, 0.9], "policy": ["random", "least-connections"]}
    store = tmp_path / "points.jsonl"
    asked = {"engines": "sim", "budget": 4e6}
    answers = sojourn.sweep(four, grid, store=store, **asked)
    here = answers.columns()
    assert answers.verdict == "VALID"
    lines = store.read_text().splitlines(keepends=True)
    assert len(lines) > 4, "some points were asked again"
    samples = {load: answers.to_polars().filter(metric="response_time_mean", utilization=load)["samples"].max() for load in (0.3, 0.9)}
    assert samples[0.9] > 2 * samples[0.3], "most goes to where the interval is widest"
    for kept in (0, 2, 5):
        store.write_text("".join(lines[:kept]))
        assert sojourn.sweep(four, grid, on="processes", workers=2, store=store, **asked).columns() == here
        assert sorted(store.read_text().splitlines()) == sorted(line.strip() for line in lines)
    wrong = [
        ({"precision": 0.02}, "budget and precision: one of both"),
        ({"budget": 2}, "2 requests for 4 points"),
        ({"budget": 0}, "budget = 0: it is a number of requests"),
        ({"engines": "theory"}, "nothing is simulated"),
    ]
    for more, says in wrong:
        with pytest.raises(sojourn.InputError, match=says):
            sojourn.sweep(four, grid, **{**asked, **more})


def test_objectives_are_judged_at_every_point(four: sojourn.Experiment) -> None:
    asked = sojourn.Experiment.from_text(four.text + '\n[objective]\nmean = "< 25 ms"\n')
    answers = sojourn.sweep(asked, {"utilization": [0.5, 0.7]})
    # 20 ms and 33.3 ms, by formula and by simulation.
    assert [(variant, met) for _, variant, _, met, _ in answers.objectives] == [
        ("utilization 0.5", True), ("utilization 0.5", True), ("utilization 0.7", False), ("utilization 0.7", False)
    ]


def test_a_full_disk_under_the_store_is_told_and_taken_up(short: sojourn.Experiment, tmp_path: Path) -> None:
    """A limit on how long a file may be stands for the disk: the write fails in the middle of a line."""
    store = tmp_path / "points.jsonl"
    script = f"""
import resource, signal, sojourn
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    sojourn.sweep(sojourn.Experiment.from_text({short.text!r}), {GRID!r}, store={str(store)!r})
except sojourn.RunError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert "cannot write" in said.stdout and "points.jsonl" in said.stdout, said
    known = store.read_text().count("\n")
    assert 0 < known < 6 and store.stat().st_size == 5000, "the last line is torn"
    assert sojourn.sweep(short, GRID, store=store).columns() == sojourn.sweep(short, GRID).columns()
    assert store.read_text().count("\n") == 6


def test_a_fork_after_import_can_sweep(short: sojourn.Experiment) -> None:
    """What was used before a fork does not stop the child: threads are made when they are needed."""
    script = f"""
import multiprocessing, sojourn
short = sojourn.Experiment.from_text({short.text!r})
def means(_):
    return sojourn.sweep(short, {{"utilization": [0.5, 0.7]}}, on="processes", workers=2).columns()["estimate"]
if __name__ == "__main__":
    here = means(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(means, [1, 2], chunksize=1) == [here, here]
    print("alike")
"""
    said = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=120)
    assert said.stdout == "alike\n", said.stderr


def test_the_same_on_processes_and_resumed(short: sojourn.Experiment, tmp_path: Path) -> None:
    store = tmp_path / "points.jsonl"
    here = sojourn.sweep(short, GRID).columns()
    assert sojourn.sweep(short, GRID, on="processes", workers=2, store=store).columns() == here
    lines = store.read_text().splitlines(keepends=True)
    assert len(lines) == 6
    store.write_text("".join(lines[:3]) + lines[4][:20])
    assert sojourn.sweep(short, GRID, on="processes", workers=2, store=store).columns() == here
    assert sorted(store.read_text().splitlines()) == sorted(line.strip() for line in lines)
    began = store.stat().st_mtime_ns
    assert sojourn.sweep(short, GRID, store=store).columns() == here, "all of it is known"
    assert store.stat().st_mtime_ns == began
    # Other answers are not taken for these.
    assert sojourn.sweep(short, GRID, store=store, seed=2, engines="theory").columns() != here


def test_the_command_line_has_the_same_store_and_rows(tmp_path: Path) -> None:
    text = FOUR.replace("200_000", "40_000") + '[vary]\nutilization = [0.5, 1.5]\n'
    (tmp_path / "four.toml").write_text(text)
    run = [sojourn.program(), "sweep", "four.toml", "--store", "points.jsonl", "--out", "rows.csv"]
    said = subprocess.run(run, cwd=tmp_path, check=True, capture_output=True, text=True).stderr
    assert "1 of 2 points failed: their rows say why" in said
    before = (tmp_path / "points.jsonl").read_bytes()
    os.chdir(tmp_path)
    mine = sojourn.sweep("four.toml", store="points.jsonl")
    assert (tmp_path / "points.jsonl").read_bytes() == before, "the points are known by the same keys"
    rows = (tmp_path / "rows.csv").read_text().splitlines()
    assert len(rows) == 1 + len(mine)
    assert rows[-1].startswith("1.5,,failed,,")


def test_two_sweeps_on_one_store_are_refused(short: sojourn.Experiment, tmp_path: Path) -> None:
    store = tmp_path / "points.jsonl"
    script = f"""
import sojourn
sojourn.sweep(sojourn.Experiment.from_text({short.text!r}).set("run.max_jobs", 10**9).set("run.precision", "0.01% at 95%"),
    {{"utilization": [0.5]}}, store={str(store)!r})
"""
    child = subprocess.Popen([sys.executable, "-c", script])
    try:
        deadline = time.monotonic() + 30
        while not store.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(0.2)
        with pytest.raises(sojourn.InputError, match="another sweep writes it"):
            sojourn.sweep(short, GRID, store=store)
    finally:
        child.kill()
        child.wait()
    assert len(sojourn.sweep(short, {"utilization": [0.5]}, store=store)) > 0, "a lock ends with its process"


def test_a_worker_that_is_killed_is_replaced(short: sojourn.Experiment) -> None:
    grid = {"utilization": [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]}
    # A point takes most of a second, however sharp its numbers are by then.
    longer = short.set("run.max_jobs", 6_000_000).set("run.precision", "none").set("run.engine", "events")
    killed = []

    def kill() -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for one in Path(f"/proc/{os.getpid()}/task").iterdir():
                for pid in (one / "children").read_text().split():
                    if "sojourn._worker" in Path(f"/proc/{pid}/cmdline").read_text():
                        time.sleep(0.6)
                        os.kill(int(pid), signal.SIGKILL)
                        killed.append(int(pid))
                        return
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    answers = sojourn.sweep(longer, grid, on="processes", workers=2, engines="sim")
    thread.join()
    assert killed
    assert answers.columns() == sojourn.sweep(longer, grid, engines="sim").columns()


def _workers() -> list[int]:
    """The workers of this package that run, whoever started them."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if b"sojourn._worker" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def test_workers_end_with_a_parent_that_is_killed(short: sojourn.Experiment) -> None:
    before = set(_workers())
    script = f"""
import sojourn
sojourn.sweep(sojourn.Experiment.from_text({short.text!r}).set("run.max_jobs", 10**12).set("run.precision", "0.001% at 95%"),
    {{"utilization": [0.5, 0.6]}}, engines="sim", on="processes", workers=2)
"""
    parent = subprocess.Popen([sys.executable, "-c", script])
    try:
        deadline = time.monotonic() + 30
        while len(set(_workers()) - before) < 2:
            assert time.monotonic() < deadline, "two workers start"
            time.sleep(0.05)
        time.sleep(1.5)
    finally:
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + 10
    while left := set(_workers()) - before:
        if time.monotonic() > deadline:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"{left} outlived their parent in the middle of a point")
        time.sleep(0.05)


def test_an_interrupt_keeps_what_is_finished(short: sojourn.Experiment, tmp_path: Path) -> None:
    endless = short.set("run.max_jobs", 10**12)
    grid = {"run.precision": ["20% at 95%", "0.001% at 95%"]}
    for on in (None, "processes"):
        threading.Timer(2.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(sojourn.Interrupted) as raised:
            sojourn.sweep(endless, grid, engines="sim", on=on, workers=2)
        answers = raised.value.answers
        assert answers is not None and answers.verdict == "INCOMPLETE" and len(answers) > 0


def test_a_process_reads_its_grid_once(short: sojourn.Experiment) -> None:
    _sweep._points.cache_clear()
    job = _sweep._job(short.vary(utilization=[0.5, 0.6, 0.7]), ["theory"], [], 10.0)
    records = [_sweep.work(job, number, None) for number in range(3)]
    assert len(set(records)) == 3 and _sweep._points.cache_info().misses == 1


def test_own_policies_go_with_it(short: sojourn.Experiment, tmp_path: Path) -> None:
    pytest.importorskip("numba")
    from sojourn.draw import below

    @sojourn.policy(memory=4)
    def two(candidates, load, random, memory):  # type: ignore[no-untyped-def]
        one = candidates[below(random, len(candidates))]
        other = candidates[below(random, len(candidates))]
        memory[one] += 1
        return one if load[one] <= load[other] else other

    @two.feedback
    def learn(server, memory):  # type: ignore[no-untyped-def]
        memory[server] -= 1

    @sojourn.policy
    class First:
        requires = ("in-flight",)

        def choose(self, ask: sojourn.View) -> int:
            return min(ask.candidates, key=ask.load)

    store = tmp_path / "points.jsonl"
    grid = {"policy": ["two", "first", "power-of-d"]}
    here = sojourn.sweep(short, grid, engines="sim").columns()
    assert sojourn.sweep(short, grid, engines="sim", on="processes", workers=2, store=store).columns() == here
    known = store.read_text().count("\n")

    @sojourn.policy(name="first")
    class Other:
        requires = ("in-flight",)

        def choose(self, ask: sojourn.View) -> int:
            return ask.candidates[ask.below(len(ask.candidates))]

    changed = sojourn.sweep(short, {"policy": ["first"]}, engines="sim", store=store).columns()
    assert store.read_text().count("\n") == known + 1, "another policy of the same name is another point"
    assert changed["estimate"][0] != here["estimate"][here["policy"].index("first")]


def test_what_a_policy_does_wrong_is_told(short: sojourn.Experiment) -> None:
    @sojourn.policy
    class Wrong:
        def choose(self, ask: sojourn.View) -> int:
            return 17

    for on in (None, "processes"):
        with pytest.raises(sojourn.RunError, match="policy `wrong` chose 17"):
            sojourn.sweep(short, {"policy": ["wrong"]}, engines="sim", on=on)


@pytest.mark.parametrize("on", [None, "processes"])
def test_a_policy_that_never_returns_ends_a_sweep(short: sojourn.Experiment, on: str | None) -> None:
    @sojourn.policy
    class Never:
        def choose(self, ask: sojourn.View) -> int:
            while True:
                pass

    before = set(_workers())
    with pytest.raises(sojourn.PolicyError, match="policy `never`: choose has not returned for 0.5 s$") as raised:
        sojourn.sweep(short, {"policy": ["random", "never"]}, engines="sim", on=on, workers=2, policy_patience=0.5)
    first = Never.choose.__code__.co_firstlineno
    assert raised.value.file == __file__ and raised.value.line in (first + 1, first + 2)
    deadline = time.monotonic() + 10
    while set(_workers()) - before:
        assert time.monotonic() < deadline, "a worker is left"
        time.sleep(0.05)


def test_a_round_that_brings_nothing_new_is_the_last() -> None:
    class Stuck:
        def due(self) -> list[tuple[int, int | None]]:
            return [(0, None)]

    rounds = _sweep._rounds(Stuck(), None)  # type: ignore[arg-type]
    assert list(itertools.islice(rounds, 3)) == [[(0, None)]]


def test_a_file_that_changes_in_the_middle_makes_no_false_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was asked of other numbers than those that the sweep began with is no answer to it."""
    demands = tmp_path / "demands.txt"
    asked = sojourn.Experiment.from_dict({
        "workload": {"kind": "open", "arrivals": "exponential(utilization = 0.5)"},
        "system": {"server": {"discipline": "ps", "demand": sojourn.law([1.0, 2.0, 6.0], unit="ms", file=demands)}},
    })
    grid = {"utilization": [0.5, 0.6]}
    assert sojourn.sweep(asked, grid, engines="theory", on="processes", workers=1).verdict == "VALID"
    start = _sweep._Worker._start

    def change(worker: _sweep._Worker) -> subprocess.Popen[bytes]:
        demands.write_text("2\n4\n12\n")
        return start(worker)

    monkeypatch.setattr(_sweep._Worker, "_start", change)
    answers = sojourn.sweep(asked, grid, engines="theory", on="processes", workers=1)
    assert (answers.verdict, answers.reasons, len(answers)) == ("INCOMPLETE", ["0 of 2 points have answers"], 0)


def test_many_points_take_little_memory(short: sojourn.Experiment) -> None:
    """A point keeps its settings, its key, and later its record: not a document, of which each takes a hundred kilobytes."""
    script = f"""
import resource, sojourn
from sojourn import _sojourn
asked = sojourn.Experiment.from_text({short.text!r})
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
def held(points):
    many = asked.vary(utilization=[0.3 + 0.6 * at / points for at in range(points)])
    before = peak()
    inner = _sojourn.Sweep(many._inner, ["theory"], [], "", None, [], None)
    assert len(inner) == len(inner.due()) == points
    return peak() - before
held(10)
print(held(2000))
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    assert int(said.stdout) < 20_000, "kB; some 100 MB where every point has a document"


def test_progress_is_a_line_that_is_taken_away(short: sojourn.Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    sojourn.sweep(short, {"utilization": [0.5, 0.7]}, engines="theory", progress=True)
    said = capsys.readouterr().err.split("\r")
    assert [words.rstrip() for words in said] == ["", "0 of 2 points", "1 of 2 points", "2 of 2 points", "", ""]
    sojourn.sweep(short, {"utilization": [0.5, 0.7]}, engines="sim", budget=400_000, progress=True)
    said = capsys.readouterr().err.split("\r")
    rounds = {words.partition(":")[0] for words in said if words.startswith("round ")}
    assert "2 of 2 points" in said and rounds == {"round 2", "round 3"}


def test_grids_that_make_no_sense(short: sojourn.Experiment, tmp_path: Path) -> None:
    with pytest.raises(sojourn.InputError, match="takes at least one value"):
        sojourn.sweep(short, {"utilization": []})
    with pytest.raises(sojourn.InputError, match="a sweep asks theory and sim"):
        sojourn.sweep(short, GRID, engines="live")
    with pytest.raises(sojourn.InputError, match="on='threads'"):
        sojourn.sweep(short, GRID, on="threads")
    (tmp_path / "points.jsonl").write_text("not a record\n")
    with pytest.raises(sojourn.InputError, match="points.jsonl: line 1"):
        sojourn.sweep(short, GRID, store=tmp_path / "points.jsonl")
