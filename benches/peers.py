"""SimPy and Ciw on models that Sojourn's simulator is timed on, in the same run: jobs per second, and the ratio.

usage: peers.py ENGINE, the file with what the bench `engine` printed.

M/M/1 FCFS at utilisation 0.8, and limited processor sharing with 100 jobs always inside (100 closed users without
thinking, 100 helpers, exponential demand).
"""

import random
import re
import sys
import time

import ciw
import simpy


def simpy_mm1(jobs: int) -> None:
    rng = random.Random(1)
    env = simpy.Environment()
    server = simpy.Resource(env, capacity=1)
    total = 0.0

    def job():
        nonlocal total
        start = env.now
        with server.request() as turn:
            yield turn
            yield env.timeout(rng.expovariate(1.0))
        total += env.now - start

    def source():
        for _ in range(jobs):
            yield env.timeout(rng.expovariate(0.8))
            env.process(job())

    env.process(source())
    env.run()


def ciw_mm1(jobs: int) -> None:
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(0.8)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[1],
    )
    ciw.seed(1)
    ciw.Simulation(network).simulate_until_max_customers(jobs, method="Finish")


def ciw_limited_ps(jobs: int) -> None:
    gaps = [1e-9] * 100 + [float("inf")]
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential(gaps)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[100],
        routing=[[1.0]],
    )
    ciw.seed(1)
    # One core does one job's work per unit of time, so this many units finish about this many jobs.
    ciw.Simulation(network, node_class=ciw.PSNode).simulate_until_max_time(jobs)


engine = open(sys.argv[1]).read()
for name, model, jobs, ours in [
    ("SimPy, M/M/1", simpy_mm1, 100_000, "M/M/1 FCFS: sim"),
    ("Ciw, M/M/1", ciw_mm1, 50_000, "M/M/1 FCFS: sim"),
    ("Ciw, limited PS, 100 jobs share", ciw_limited_ps, 10_000, "limited PS, 100 jobs share: sim"),
]:
    row = re.search(rf"^{re.escape(ours)} +([\d.]+) M/s", engine, re.MULTILINE)
    if row is None:
        sys.exit(f"{sys.argv[1]}: no row `{ours}` to compare with")
    start = time.perf_counter()
    model(jobs)
    rate = jobs / (time.perf_counter() - start)
    print(f"{name:<32} {rate:>10.0f} /s   sojourn {float(row[1]) * 1e6 / rate:>7.0f} times as many", flush=True)
