"""Sweeps on Ray: in `make nightly`, since starting Ray takes seconds and half a gigabyte."""

from __future__ import annotations

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


def test_what_fails_on_a_node_is_told(cluster: object, four: sojourn.Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    @sojourn.policy
    class Wrong:
        def choose(self, ask: sojourn.View) -> int:
            return 17

    with pytest.raises(sojourn.RunError, match="policy `wrong` chose 17"):
        sojourn.sweep(four, {"policy": ["wrong"]}, engines="sim", on="ray")
    from sojourn import _sweep

    monkeypatch.setattr(_sweep, "_machine", lambda: "another machine")
    with pytest.raises(sojourn.RunError, match="they must be alike"):
        sojourn.sweep(four, {"utilization": [0.5]}, on="ray")
