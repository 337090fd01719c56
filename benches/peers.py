"""SimPy and Ciw on models that Sojourn's simulator is timed on. Prints one line per model: NAME JOBS_PER_SECOND.

M/M/1 FCFS at utilisation 0.8, and limited processor sharing with 100 jobs always inside (100 closed users without
thinking, 100 helpers, exponential demand).
"""

import random
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


for name, model, jobs in [
    ("simpy-mm1", simpy_mm1, 100_000),
    ("ciw-mm1", ciw_mm1, 50_000),
    ("ciw-limited-ps-100", ciw_limited_ps, 10_000),
]:
    start = time.perf_counter()
    model(jobs)
    print(f"{name} {jobs / (time.perf_counter() - start):.0f}", flush=True)
