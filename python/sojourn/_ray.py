"""Ray: the cluster that runs or one that is started here, and agents on its nodes that put one load on a server."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sojourn import _sojourn
from sojourn._errors import InputError, RunError, SojournError, missing
from sojourn._program import program

# How long (s) Ray may take to give every node its agent, and an agent to listen.
_PLACED_S = 30.0
# In which the program finds its secret: other users cannot read it, unlike arguments (crates/sojourn/src/load/agents.rs).
_SECRET = "SOJOURN_AGENT_TOKEN"


@contextlib.contextmanager
def cluster() -> Iterator[Any]:
    """Ray, connected to the cluster that runs; where none does, to one on this machine, which ends with this."""
    try:
        import ray
    except ImportError:
        raise missing("ray", "ray", 'on="ray"') from None
    started = not ray.is_initialized()
    if started:
        try:
            ray.init(address="auto", log_to_driver=False)
        except ConnectionError:
            ray.init(include_dashboard=False, log_to_driver=False)
    try:
        yield ray
    finally:
        if started:
            ray.shutdown()


def result(ray: Any, of: Any) -> Any:
    """What a task or an agent gave. What it raised and what happened to it become errors of ours, in one line."""
    try:
        return ray.get(of)
    except ray.exceptions.RayTaskError as error:
        kind = type(error.cause) if isinstance(error.cause, SojournError) else RunError
        raise kind(str(error.cause).splitlines()[0]) from error
    except ray.exceptions.RayError as error:
        raise RunError(f"Ray: {str(error).splitlines()[0]}") from error


@contextlib.contextmanager
def agents(nodes: int | None, yes_i_may: bool) -> Iterator[tuple[list[str], str]]:
    """The addresses of one agent on each node, and the file with the secret that they share.

    Ray places and ends them; what they measure goes straight to the coordinator. One that is lost is not started again: a load
    that is begun anew is another measurement.
    """
    with cluster() as ray, tempfile.TemporaryDirectory(prefix="sojourn-") as folder:
        from ray.util.placement_group import placement_group, remove_placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        able = sum(1 for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1)
        asked = able if nodes is None else nodes
        if not 1 <= asked <= able:
            raise InputError(f"nodes = {nodes}: the cluster has {able} with a core: 1 to {able}")
        group = placement_group([{"CPU": 1}] * asked, strategy="STRICT_SPREAD")
        placed: list[Any] = []
        try:
            if not group.wait(_PLACED_S):
                why = f"Ray has had no free core on each of {asked} nodes for {_PLACED_S:g} s"
                raise RunError(f"{why}: wait for what runs there, or ask for fewer nodes")
            secret = secrets.token_hex(32)
            agent = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_Agent)
            for bundle in range(asked):
                where = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle)
                placed.append(agent.options(scheduling_strategy=where).remote())
            addresses = [one.start.remote(_sojourn.__version__, secret, yes_i_may) for one in placed]
            file = Path(folder) / "secret"
            file.touch(mode=0o600)
            file.write_text(secret)
            yield [result(ray, address) for address in addresses], str(file)
        finally:
            # Its program ends with its standard input, and so with it.
            for one in placed:
                ray.kill(one)
            remove_placement_group(group)


class _Agent:
    """`sojourn agent` on a node, which ends with this process."""

    def start(self, version: str, secret: str, yes_i_may: bool) -> str:
        """Its address, once it listens."""
        import ray

        node = os.uname().nodename
        if _sojourn.__version__ != version:
            raise RunError(f"node {node} has sojourn {_sojourn.__version__}, and the driver {version}: install the same wheel")
        ip = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call, unused-ignore]
        host = f"[{ip}]" if ":" in ip else ip
        command = [program(), "agent", "--child", "--listen", f"{host}:0", *(["--yes-i-may"] if yes_i_may else [])]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {_SECRET: secret}
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        line = self._process.stdout.readline()
        if not line:
            said = self._process.stderr.read().strip().splitlines()
            raise RunError(f"node {node}: {said[-1].removeprefix('sojourn: ') if said else 'its agent did not start'}")
        return str(json.loads(line)["address"])
