"""What the Python package costs beside the program, as ratios in the same run; bars that are missed end it with exit code 1.

`make python-test` makes the environment: `target/python/test/bin/python benches/python.py [--ray]`. Nothing else should run.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sojourn
from sojourn import _sojourn
from sojourn.draw import below

TWO = """
name = "four servers"
[workload]
kind = "open"
arrivals = "exponential(utilization = 0.8)"
[[system.tier]]
face = "gateway"
policy = "power-of-d"
targets = { servers = 4 }
[system.server]
discipline = "fcfs"
demand = "exponential(mean = 10 ms)"
[run]
precision = "none"
max_jobs = 20_000_000
"""

missed: list[str] = []


def bar(what: str, value: float, limit: float, unit: str, at_most: bool) -> None:
    """Prints a figure with its bar."""
    is_met = value <= limit if at_most else value >= limit
    print(f"{what}: {value:.3g}{unit} ({'at most' if at_most else 'at least'} {limit:g}{unit}){'' if is_met else ' MISSED'}", flush=True)
    if not is_met:
        missed.append(what)


def seconds(do: Callable[[], Any], times: int = 3) -> float:
    """The least of some times (s)."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        do()
        taken.append(time.perf_counter() - began)
    return min(taken)


@sojourn.policy(name="compiled-two")
def compiled(candidates, load, random):  # type: ignore[no-untyped-def]
    one = candidates[below(random, len(candidates))]
    other = candidates[below(random, len(candidates))]
    while other == one:
        other = candidates[below(random, len(candidates))]
    return other if load[other] < load[one] else one


@sojourn.policy(name="class-fewest")
class Fewest:
    requires = ("in-flight",)

    def choose(self, ask: sojourn.View) -> int:
        return min(ask.candidates, key=ask.load)


def main() -> None:
    two = sojourn.Experiment.from_text(TWO, "two.toml")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "two.toml").write_text(TWO)
        runs = iter(range(100))

        def program() -> None:
            out = f"run-{next(runs)}"
            subprocess.run([sojourn.program(), "run", "two.toml", "--by", "sim", "--out", out], cwd=folder, check=True, capture_output=True)

        bar("2 x 10^7 requests, over the program's time", seconds(lambda: two.ask("sim")) / seconds(program), 1.03, "", True)

    queue = lambda: sojourn.queue("M/G/1-PS", arrivals="exponential(rate = 0.8 /s)", service="exponential(mean = 1 s)")  # noqa: E731
    queue()
    bar("a queue by formula", 1e6 * seconds(lambda: [queue() for _ in range(1000)]) / 1000, 100, " us", True)

    # Of choices in the event loop, on one thread.
    looped = two.set("run.engine", "events").set("run.max_jobs", 2_000_000)
    rate = lambda policy, jobs: jobs / seconds(lambda: looped.set("run.max_jobs", jobs).set(policy=policy).ask("sim", threads=1))  # noqa: E731
    looped.set(policy="compiled-two").set("run.max_jobs", 1000).ask("sim")
    built_in = rate("power-of-d", 2_000_000)
    bar("a compiled policy, over the built-in one", rate("compiled-two", 2_000_000) / built_in, 0.7, "", False)
    bar("a class as a policy", rate("class-fewest", 200_000) / 1e6, 0.3, " M/s", False)

    points = {"utilization": [0.3 + 0.003 * step for step in range(200)]}
    swept = looped.set("run.max_jobs", 200_000)
    sweep = lambda workers: seconds(lambda: sojourn.sweep(swept, points, engines="sim", on="processes", workers=workers), 1)  # noqa: E731
    one, two_workers = sweep(1), sweep(2)
    bar("200 points on two processes, over one", one / two_workers, 1.8, "", False)

    # What Python adds to the engine: the same call with arrays as the engine reads them in hand.
    import numpy

    random = numpy.random.default_rng(1)
    gaps, demands = random.exponential(1.25e-3, 10_000_000), random.exponential(1e-3, 10_000_000)
    question = ("G/G/1", None, None, (gaps, demands, "s"), [], False, [], False, True, 1, None, 1, None)
    engine = seconds(lambda: _sojourn.queue(*question))
    replay = seconds(lambda: sojourn.queue("G/G/1", arrivals=gaps, service=demands))
    bar("10^7 gaps and demands replayed, of the engine's speed", engine / replay, 0.9, "", False)

    # By theory a point has some 15 rows.
    began = time.perf_counter()
    many = sojourn.sweep(two.set("policy", "random"), {"utilization": [0.3 + 5e-5 * step for step in range(10_000)]}, engines="theory")
    bar("10,000 points by theory", time.perf_counter() - began, 13, " s", True)
    frame = many.to_polars()
    bar(f"{len(frame)} rows to polars, for 10^6", 1e3 * seconds(many.to_polars) * 1e6 / len(frame), 50, " ms", True)

    script = f"""
import resource, sojourn
points = [0.3 + 1e-5 * step for step in range(50_000)]
answers = sojourn.sweep(sojourn.Experiment.from_text({TWO!r}).set("policy", "random"), {{"utilization": points}}, engines="theory")
assert answers.verdict == "VALID" and len(answers) > 50_000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    said = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    bar("50,000 points by theory, at their peak", int(said.stdout) / 1e6, 1, " GB", True)

    started = seconds(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 5)
    imported = seconds(lambda: subprocess.run([sys.executable, "-c", "import sojourn"], check=True), 5)
    bar("import", 1e3 * (imported - started), 150, " ms", True)

    if "--ray" in sys.argv:
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        short = two.set("policy", "random")
        grid = {"utilization": [0.3 + 0.0003 * step for step in range(2000)]}
        sojourn.sweep(short, {"utilization": [0.5]}, engines="theory", on="ray")
        bar("a point on Ray", 1e3 * seconds(lambda: sojourn.sweep(short, grid, engines="theory", on="ray"), 1) / 2000, 10, " ms", True)
        ray.shutdown()
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
