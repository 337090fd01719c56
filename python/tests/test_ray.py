"""Sweeps on Ray: in `make nightly`, since starting Ray takes seconds and half a gigabyte."""

from __future__ import annotations

import csv
import http.server
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sojourn

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

GRID = {"utilization": [0.3, 0.5, 0.7, 0.8, 1.5], "policy": ["random", "least-connections"]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    """Two nodes of one core each, on this machine."""
    of = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    of.add_node(num_cpus=1)
    ray.init(address=of.address, log_to_driver=False)
    yield of
    ray.shutdown()
    of.shutdown()


def test_the_same_bytes_on_two_nodes_with_a_worker_killed(
    cluster: object, four: sojourn.Experiment, tmp_path: Path
) -> None:
    asked = four.set("run.max_jobs", 400_000).set("run.engine", "events")
    here = sojourn.sweep(asked, GRID).columns()
    killed: list[int] = []

    def kill() -> None:
        deadline = time.monotonic() + 60
        while not killed and time.monotonic() < deadline:
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    if (folder / "cmdline").read_bytes().startswith(b"ray::_on_node"):
                        os.kill(int(folder.name), signal.SIGKILL)
                        killed.append(int(folder.name))
                        break
                except OSError:
                    continue
            time.sleep(0.02)

    thread = threading.Thread(target=kill)
    thread.start()
    on_ray = sojourn.sweep(asked, GRID, on="ray", store=tmp_path / "points.jsonl")
    thread.join()
    assert killed, "no worker was seen"
    assert on_ray.columns() == here
    assert sojourn.sweep(asked, GRID, on="processes", workers=2).columns() == here
    lines = (tmp_path / "points.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "points.jsonl").write_text("".join(lines[:4]))
    assert sojourn.sweep(asked, GRID, on="ray", store=tmp_path / "points.jsonl").columns() == here
    budget = {"engines": "sim", "budget": 8e6}
    assert sojourn.sweep(asked, GRID, on="ray", **budget).columns() == sojourn.sweep(asked, GRID, **budget).columns()


def test_what_fails_on_a_node_is_told(cluster: object, four: sojourn.Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    @sojourn.policy
    class Wrong:
        def choose(self, ask: sojourn.View) -> int:
            return 17

    with pytest.raises(sojourn.RunError, match="policy `wrong` chose 17"):
        sojourn.sweep(four, {"policy": ["wrong"]}, engines="sim", on="ray")
    from sojourn import _sweep

    here = _sweep.machine()
    # The driver's, which the nodes' are compared with.
    for other, says in (
        (here._replace(features=(*here.features, "avx9")), "has a processor with less, and the driver has a processor with avx9"),
        (here._replace(libc="musl 1.2"), "and the driver has musl 1.2: they must be alike"),
        (here._replace(version="0.0.1"), f"has sojourn {here.version}, and the driver has sojourn 0.0.1"),
    ):
        monkeypatch.setattr(_sweep, "machine", lambda other=other: other)
        with pytest.raises(sojourn.RunError, match=f"node {os.uname().nodename} .*{says}"):
            sojourn.sweep(four, {"utilization": [0.5]}, on="ray")


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


def agents_here() -> list[int]:
    """The agents that run on this machine, whoever started them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"\0agent\0--child\0" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def await_no_agents() -> None:
    """They end with the load; on a busy machine a process that has ended is seen for a moment longer."""
    deadline = time.monotonic() + 10
    while agents_here():
        assert time.monotonic() < deadline, f"agents are still there: {agents_here()}"
        time.sleep(0.05)


def test_a_load_from_two_nodes_has_the_plan_of_one_process(cluster: object, server: str, tmp_path: Path) -> None:
    asked = {"arrivals": "exponential(rate = 200 /s)", "requests": 301, "seed": 7}
    alone = sojourn.load(server, record=tmp_path / "alone.csv", **asked)
    spread = sojourn.load(server, record=tmp_path / "spread.csv", on="ray", **asked)
    assert alone["counts"]["ok"] == spread["counts"]["ok"] == 301
    assert len(spread["clients"]) == 2, "one agent on each node"

    def plan(*files: str) -> list[tuple[int, int]]:
        rows = [row for file in files for row in csv.DictReader((tmp_path / file).read_text().splitlines())]
        return sorted((int(row["k"]), int(row["planned_ns"])) for row in rows)

    assert len(plan("alone.csv")) == 301
    assert plan("spread-1.csv", "spread-2.csv") == plan("alone.csv")
    assert min(len(plan(f"spread-{one}.csv")) for one in (1, 2)) == 150, "each has its half"
    groups = ray.util.placement_group_table().values()
    spreads = [set(group["bundles_to_node_id"].values()) for group in groups if group["strategy"] == "STRICT_SPREAD"]
    assert spreads and all(len(of) == 2 for of in spreads)
    await_no_agents()


def test_an_agent_that_is_lost_ends_the_load_which_is_not_tried_again(cluster: object, server: str) -> None:
    killed: list[int] = []

    def kill() -> None:
        deadline = time.monotonic() + 60
        while len(mine := agents_here()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1.5)
        os.kill(mine[0], signal.SIGKILL)
        killed.append(mine[0])

    thread = threading.Thread(target=kill)
    thread.start()
    began = time.monotonic()
    with pytest.raises(sojourn.RunError, match="the other clients were stopped"):
        sojourn.load(server, rate="50 /s", duration="2 min", on="ray")
    thread.join()
    assert killed and time.monotonic() - began < 60, "it ends at once"
    await_no_agents()


def test_loads_on_ray_that_make_no_sense(cluster: object, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(sojourn.InputError, match="nodes = 3: the cluster has 2 with a core"):
        sojourn.load(server, rate="5 /s", requests=5, on="ray", nodes=3)
    with pytest.raises(sojourn.InputError, match="processes: on=\"ray\" says already"):
        sojourn.load(server, rate="5 /s", requests=5, on="ray", processes=2)
    with pytest.raises(sojourn.InputError, match="nodes is of Ray's"):
        sojourn.load(server, rate="5 /s", requests=5, nodes=2)
    # TEST-NET-1 (RFC 5737); nothing is sent.
    with pytest.raises(sojourn.RunError, match="yes-i-may"):
        sojourn.load("http://192.0.2.1/", rate="1 /s", requests=1, on="ray")
    from sojourn import _ray

    monkeypatch.setattr(_ray, "_PLACED_S", 2.0)

    @ray.remote(num_cpus=1)
    def busy() -> None:
        time.sleep(8)

    taken = [busy.remote() for _ in range(2)]
    time.sleep(1.0)
    with pytest.raises(sojourn.RunError, match="no free core on each of 2 nodes for 2 s"):
        sojourn.load(server, rate="5 /s", requests=5, on="ray")
    ray.get(taken)
