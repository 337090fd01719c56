"""Experiments and answers."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas
import polars
import pytest
import sojourn
from conftest import FOUR, ROOT


def mean(answers: sojourn.Answers, **which: object) -> tuple[float, float, float]:
    found = answers.get("response_time_mean", **which)  # type: ignore[arg-type]
    return found.estimate, found.low, found.high


def test_theory_is_known_and_the_simulation_holds_it(four: sojourn.Experiment) -> None:
    answers = four.ask(["theory", "sim"])
    # M/M/1: 10 ms over 1 - 0.7.
    assert mean(answers, engine="theory") == pytest.approx((1 / 30,) * 3)
    estimate, low, high = mean(answers, engine="sim")
    assert low < estimate < high
    assert high - low < 0.1 * estimate
    # That interval is of two standard deviations: a fifth off is eight of them or more, less than 1e-6.
    assert estimate == pytest.approx(1 / 30, rel=0.2)
    assert answers.verdict == "VALID"


def test_the_same_seed_gives_the_same_rows(four: sojourn.Experiment) -> None:
    ask = lambda **more: four.ask("sim", **more).columns()  # noqa: E731
    assert ask() == ask(threads=1) == ask(seed=1)
    assert ask() != ask(seed=2)


def test_rows_are_those_of_the_program(four: sojourn.Experiment, tmp_path: Path) -> None:
    """The folder that the program writes has the same rows as what is in memory."""
    (tmp_path / "four.toml").write_text(FOUR)
    run = [sojourn.program(), "run", "four.toml", "--by", "theory,sim", "--out", "theirs"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    mine = four.ask(["theory", "sim"])
    assert sojourn.open(tmp_path / "theirs").columns() == mine.columns()
    mine.write(tmp_path / "mine")
    outcomes = [(tmp_path / of / "outcomes.csv").read_bytes() for of in ("mine", "theirs")]
    assert outcomes[0] == outcomes[1]
    with pytest.raises(sojourn.InputError, match="not empty"):
        mine.write(tmp_path / "mine")
    with pytest.raises(sojourn.InputError, match="is not a run folder"):
        sojourn.open(tmp_path / "none")


def test_from_a_dictionary_and_back(four: sojourn.Experiment) -> None:
    stats = pytest.importorskip("scipy.stats")
    tables = {
        "name": "mine",
        "workload": {"kind": "open", "arrivals": "exponential(utilization = 0.7)"},
        "system": {
            "tier": [{"face": "gateway", "policy": "random", "targets": {"servers": 4}}],
            "server": {"discipline": "ps", "demand": stats.expon(scale=0.01)},
        },
        "run": {"max_jobs": 200_000},
    }
    assert sojourn.Experiment.from_dict(tables).ask("sim").columns() == four.ask("sim").columns()
    with pytest.raises(sojourn.InputError, match=r"run.max_jobs: None says nothing"):
        sojourn.Experiment.from_dict({**tables, "run": {"max_jobs": None}})


def test_frames(four: sojourn.Experiment) -> None:
    answers = four.vary(utilization=[0.5, 0.7], policy=["random", "round-robin"]).ask(["theory", "sim"])
    frame = answers.to_polars()
    named = ["utilization", "policy", "engine", "metric", "unit", "estimate", "ci_low", "ci_high", "samples", "method", "note"]
    assert frame.columns == named
    assert frame["utilization"].dtype == polars.Float64 and frame["samples"].dtype == polars.UInt64
    assert frame.to_dict(as_series=False) == answers.columns()
    assert len(frame) == len(answers) == len(list(answers.rows()))
    other = answers.to_pandas()
    assert isinstance(other, pandas.DataFrame) and list(other.columns) == named and len(other) == len(frame)
    exact = frame.filter(polars.col("method") == "exact")
    assert exact["ci_low"].null_count() == len(exact) > 0
    assert mean(answers, engine="theory", utilization=0.5, policy="random") == pytest.approx((0.02,) * 3)
    with pytest.raises(sojourn.InputError, match="say which"):
        answers.get("response_time_mean", engine="theory")
    with pytest.raises(sojourn.InputError, match="no row is of waiting"):
        answers.get("waiting", engine="theory")


def test_tables_and_plots(four: sojourn.Experiment) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    answers = four.vary(utilization=[0.3, 0.5, 0.7], policy=["random", "least-connections"]).ask(["theory", "sim"])
    page = answers._repr_html_()
    assert "± " in page and "least-connections" in page and "<td>theory</td>" in page
    ax = answers.plot("response_time_mean", x="utilization", by="policy")
    assert ax.get_xlabel() == "utilization" and ax.get_ylabel() == "response time mean (ms)"
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(labels) == ["least-connections, sim", "least-connections, theory", "random, sim", "random, theory"]
    assert len(ax.containers) == 2, "the intervals of what was simulated"
    with pytest.raises(sojourn.InputError, match="`servers` does not vary"):
        answers.plot(x="servers")


def test_what_is_wrong_says_where() -> None:
    wrong = sojourn.Experiment.from_text(FOUR.replace("targets", "target"), "four.toml")
    with pytest.raises(sojourn.InputError) as raised:
        wrong.ask("theory")
    error = raised.value
    assert (error.file, error.line, error.key, error.nearest) == ("four.toml", 9, "target", "targets")
    assert isinstance(error, ValueError)
    with pytest.raises(sojourn.InputError) as raised:
        sojourn.Experiment.from_text(FOUR, "four.toml").set(polcy="random")
    assert (raised.value.key, raised.value.nearest) == ("polcy", "policy")
    with pytest.raises(sojourn.InputError, match="cannot read"):
        sojourn.Experiment.read("none.toml")
    with pytest.raises(sojourn.InputError, match="two.toml:1: "):
        sojourn.Experiment.from_text("name = ", "two.toml")
    with pytest.raises(sojourn.InputError, match="unknown engine `simm`"):
        sojourn.Experiment.from_text(FOUR).ask("simm")


def test_an_interrupt_ends_it_within_a_second_and_keeps_what_there_is(four: sojourn.Experiment) -> None:
    endless = four.set("run.max_jobs", 10**12).set("run.precision", "0.001% at 95%")
    seen: list[str] = []
    began = 0.0

    def press() -> None:
        nonlocal began
        time.sleep(0.7)
        began = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(sojourn.Interrupted) as raised:
        endless.ask(["theory", "sim"], progress=lambda *step: seen.append(step[3]))
    assert time.monotonic() - began < 1.0
    answers = raised.value.answers
    assert answers is not None and answers.verdict == "INCOMPLETE"
    assert mean(answers, engine="theory")[0] == pytest.approx(1 / 30)
    assert "sim" in seen


def test_what_progress_raises_ends_it(four: sojourn.Experiment) -> None:
    def stop(*_: object) -> None:
        raise RuntimeError("seen enough")

    with pytest.raises(RuntimeError, match="seen enough"):
        four.set("run.max_jobs", 10**10).set("run.precision", "0.01% at 95%").ask("sim", progress=stop)


def test_live_runs_from_python(four: sojourn.Experiment, tmp_path: Path) -> None:
    live = four.set("system.tier.0.targets.servers", 2).set("run.live.duration", "2 s").set("run.live.warm_up", "0.5 s")
    answers = live.ask(["theory", "live"], out=tmp_path / "run")
    assert {row["engine"] for row in answers.rows()} >= {"theory", "live"}
    assert answers.verdict in ("VALID", "SUSPECT")
    assert (tmp_path / "run" / "report.html").exists()


def test_a_run_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    """As where a kernel is restarted while a live run is on."""
    script = f"""
import sojourn
print("begun", flush=True)
four = sojourn.Experiment.from_text({FOUR!r}).set("run.live.duration", "1 min")
four.ask("live", progress=lambda *step: print("live", flush=True))
"""
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    while "live" not in (line := child.stdout.readline()):
        assert line, "it ended before live began"
    time.sleep(0.5)
    mine = descendants(child.pid)
    assert mine, "live parts are children"
    child.kill()
    child.wait()
    deadline = time.monotonic() + 20
    while any(is_there(pid) for pid in mine):
        assert time.monotonic() < deadline, "its parts are still there"
        time.sleep(0.05)


def descendants(pid: int) -> list[int]:
    children = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        children += [int(one) for one in (task / "children").read_text().split()]
    return children + [more for one in children for more in descendants(one)]


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_every_experiment_of_the_repository_can_be_read() -> None:
    files = sorted((ROOT / "experiments").glob("*.toml"))
    assert files
    for file in files:
        assert "[" in sojourn.Experiment.read(file).text


def test_objectives_and_notes(four: sojourn.Experiment) -> None:
    answers = sojourn.Experiment.from_text(four.text + '\n[objective]\nmean = "< 1 s"\n').ask(["theory", "sim"])
    assert [met for _, _, _, met, _ in answers.objectives] == [True, True]
    assert "sojourn run four.toml" in four.ask("theory").command
    assert json.dumps(answers.columns())


def test_a_column_of_numbers_is_a_law_once_it_says_where_it_is_kept(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    column = numpy.array([1.0, 2.0, 6.0])
    tables = {
        "workload": {"kind": "open", "arrivals": "exponential(utilization = 0.5)"},
        "system": {"server": {"discipline": "ps", "demand": "1 ms/B"}},
    }
    with pytest.raises(sojourn.InputError, match="workload.size: ndarray is no law: write sojourn.law"):
        sojourn.Experiment.from_dict({**tables, "workload": {**tables["workload"], "size": column}})
    with pytest.raises(sojourn.InputError, match="say where its numbers are kept"):
        sojourn.law(column)
    with pytest.raises(sojourn.InputError, match="number 1 is -2.0: a size or a time is 0 or more"):
        sojourn.law([1, -2], file=tmp_path / "wrong.txt")
    with pytest.raises(sojourn.InputError, match="number 1 is nan: leave out what is missing or infinite"):
        sojourn.law([1, math.nan], file=tmp_path / "wrong.txt")
    assert not (tmp_path / "wrong.txt").exists()
    size = sojourn.law(column, unit="B", file=tmp_path / "sizes.txt")
    asked = sojourn.Experiment.from_dict({**tables, "workload": {**tables["workload"], "size": size}})
    assert asked.ask("theory").get("response_time_mean").estimate == pytest.approx(0.003 / 0.5)


def test_printed_answers_are_a_table(four: sojourn.Experiment) -> None:
    printed = str(four.vary(utilization=[0.5, 0.6]).set(policy="random").ask("theory"))
    head, *rows = printed.splitlines()[1:4]
    assert head.split()[:3] == ["utilization", "engine", "response_time_mean"] and len(rows) == 2
    assert all("theory" in row and len(row) <= len(head) + 20 for row in rows)
    # What has one value tells nothing apart; where all have one, it stands.
    one = four.vary(servers=[4], utilization=[0.5, 0.6]).set(policy="random").ask("theory")
    assert str(one).splitlines()[1].split()[:2] == ["utilization", "engine"] and "servers" in one.columns()
    alone = four.vary(servers=[4]).set(policy="random").ask("theory")
    assert str(alone).splitlines()[1].split()[:2] == ["servers", "engine"]


def test_variants_are_paired_two_by_two(four: sojourn.Experiment) -> None:
    answers = four.vary(policy=["random", "least-connections"]).ask("sim")
    ratio = next(row for row in answers.pairs() if row["metric"] == "response_time_mean_ratio")
    assert (ratio["variant_a"], ratio["variant_b"], ratio["policy"]) == ("random", "least-connections", "least-connections")
    assert ratio["ci_low"] < ratio["estimate"] < ratio["ci_high"] < 1, "to the shortest queue is faster"
    assert ratio["verdict"] == "B is faster" and ratio["differs"] and ratio["samples"] > 1
    assert four.ask("theory").pairs() == []


def test_what_is_not_known_is_none_and_an_end_that_is_open_is_infinite(four: sojourn.Experiment, tmp_path: Path) -> None:
    """One rule for single numbers and for frames, tried on a folder whose rows were changed by hand."""
    four.ask(["theory", "sim"], out=tmp_path / "run")
    file = tmp_path / "run" / "outcomes.csv"
    head, *rows = list(csv.reader(file.read_text().splitlines()))
    at = {name: number for number, name in enumerate(head)}
    for row in rows:
        match row[at["engine"]], row[at["metric"]]:
            case "sim", "response_time_mean":
                row[at["ci_high"]] = "inf"
            case "sim", "response_time_p99":
                row[at["ci_low"]] = row[at["ci_high"]] = "too-short"
            case "sim", "response_time_p90":
                row[at["estimate"]], row[at["ci_low"]], row[at["ci_high"]] = "too-few", "", ""
            case "theory", "throughput":
                row[at["samples"]] = "approximate"
    file.write_text("".join(",".join(row) + "\n" for row in [head, *rows]))
    answers = sojourn.open(tmp_path / "run")
    known = {(row["engine"], row["metric"]): row for row in answers.rows()}

    def ends(engine: str, metric: str) -> list[object]:
        number, row = answers.get(metric, engine=engine), known[engine, metric]
        assert number.estimate == row["estimate"]
        return [number.low, number.high, row["ci_low"], row["ci_high"], row["note"]]

    low = ends("sim", "response_time_mean")[0]
    assert isinstance(low, float) and ends("sim", "response_time_mean") == [low, math.inf, low, math.inf, None]
    assert ends("sim", "response_time_p99") == [None, None, None, None, "no interval: too short a run"]
    assert ends("theory", "throughput") == [None] * 5
    exact = answers.get("response_time_mean", engine="theory").estimate
    assert ends("theory", "response_time_mean") == [exact, exact, None, None, None]
    assert known["sim", "response_time_p90"]["estimate"] is None
    with pytest.raises(sojourn.InputError, match="response_time_p90, sim: too few samples"):
        answers.get("response_time_p90", engine="sim")
    frame = answers.to_polars()
    assert not any(frame[name].is_nan().any() for name in ("estimate", "ci_low", "ci_high"))
    assert frame.filter(engine="sim", metric="response_time_mean")["ci_high"].item() == math.inf
    assert frame.filter(engine="sim", metric="response_time_p99")["ci_high"].null_count() == 1
    assert " to inf)" in str(answers)


def test_a_remark_stands_once_and_those_of_all_loads_in_one_line(four: sojourn.Experiment) -> None:
    loads = [0.6, 0.7, 0.8]
    asked = four.set("run.max_jobs", 3000).vary(utilization=loads)
    answers = asked.ask(["theory", "sim"])
    assert len({(note.engine, note.remark) for note in answers.notes}) == len(answers.notes)
    assert [note.variants for note in answers.notes if note.engine == "theory"][0] == [f"utilization {load}" for load in loads]
    short = [note for note in answers.notes if "too short for intervals" in note.remark]
    assert len(short) > 1, "each load has its own number"
    [line] = [line for line in str(asked.ask("sim")).splitlines() if "too short for intervals" in line]
    assert line.startswith("sim, 3 variants: "), line
    numbers = sorted(int(note.remark.split(" takes ")[1].split()[0]) for note in short)
    assert f" takes {numbers[-1]} requests" in line and line.endswith(f"; and 2 more, {numbers[0]} at least)"), line


def test_progress_is_a_line_that_is_taken_away(four: sojourn.Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    four.set("run.max_jobs", 5_000_000).set("run.engine", "events").set("run.precision", "none").ask("sim", progress=True)
    said = capsys.readouterr().err
    assert re.search(r"\r1 of 1: as given, sim +\d+ %", said)
    assert said.endswith("\r") and not said.split("\r")[-2].strip()
