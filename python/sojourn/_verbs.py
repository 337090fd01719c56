"""The other verbs of the command line: networks, plans, imports, logs, series, load and calibration."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _laws, _policy, _sojourn
from sojourn._answers import Answers
from sojourn._columns import doubles
from sojourn._errors import InputError, Interrupted, missing
from sojourn._experiment import Experiment, Show
from sojourn._line import Line, Steps
from sojourn._program import call
from sojourn._ray import agents

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy
    import numpy.typing

    Files: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"


def network(
    stations: Sequence[Mapping[str, Any]],
    chains: Sequence[Mapping[str, Any]],
    *,
    name: str = "network",
    engines: Iterable[str] | str = ("theory",),
    **ask: Any,
) -> Answers:
    """What formulas, or ``engines``, say of a network of queues (``docs/networks.md``).

    Args:
        stations: the tables ``[[station]]``.
        chains: the tables ``[[chain]]``.
        name: what tables call it.
        engines: ``"theory"``, ``"sim"`` or both.
        ask: as :meth:`Experiment.ask` takes it.
    """
    tables = {"name": name, "station": list(stations), "chain": list(chains)}
    return Experiment.from_dict(tables, f"{name}.toml").ask(engines, **ask)


def plan(
    experiment: Experiment | str | os.PathLike[str],
    *,
    progress: bool | Show = False,
    out: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """The cheapest system that meets its objectives (``docs/guides/plan-capacity.md``), as ``sojourn plan --json`` prints it.

    Args:
        experiment: one with ``[objective]`` and ``[plan]``, or its file.
        progress: as :meth:`Experiment.ask` takes it.
        out: a folder for its page and tables.
    """
    if not isinstance(experiment, Experiment):
        experiment = Experiment.read(experiment)
    show = Steps() if progress is True else (progress or None)
    try:
        with tempfile.TemporaryDirectory(prefix="sojourn-") as scratch:
            folder = os.fspath(out if out is not None else Path(scratch) / "plan")
            found = _sojourn.plan(experiment._inner, _policy.registered(experiment.text), show, folder)
    except Interrupted:
        raise
    except KeyboardInterrupt:
        raise Interrupted(None) from None
    finally:
        if isinstance(show, Line):
            show.end()
    return dict(json.loads(found))


def import_(
    files: Files,
    *,
    product: str | None = None,
    version: str | None = None,
    backend: str | None = None,
    rate: str | None = None,
    service: Any = None,
    cores: int | None = None,
) -> Experiment:
    """The experiment that the configuration of HAProxy, nginx or Envoy makes (``docs/guides/simulate-your-haproxy.md``).

    What was assumed or not understood is in its ``text``, as comments with their lines: read them before you ask it.

    Args:
        files: ``haproxy.cfg`` (several files are one configuration), ``nginx.conf``, Envoy's YAML or JSON.
        product: ``"haproxy"``, ``"nginx"`` or ``"envoy"``; none: what the content says.
        version: whose rules count, such as ``"2.6"``.
        backend: which backend, upstream or cluster; none: the one with the most servers.
        rate: how many requests come, as ``"200 /s"``.
        service: how long a request takes at a server that has nothing else to do: a law.
        cores: of each server.

    Raises:
        InputError: where a file cannot be read or makes no experiment.
    """
    options = {
        "--from": product,
        "--version-of": version,
        "--backend": backend,
        "--rate": rate,
        "--service": None if service is None else _laws.law(service),
        "--cores": cores,
    }
    paths = _paths(files)
    text, _ = call(["import", *paths, *_flags(options)])
    return Experiment.from_text(text, f"{Path(paths[0]).stem}.toml")


def describe(data: Any, *, unit: str | None = None) -> dict[str, Any]:
    """What is in an access log, a capture or numbers: rates, laws, tails, popularity (``docs/guides/understand-your-traffic.md``).

    Args:
        data: a file or several (logs of nginx, Apache, HAProxy and others, pcap, columns of numbers), or an array, a list or a
            column of a data frame.
        unit: what numbers of an array are in, such as ``"ms"``.

    Returns:
        What ``sojourn traffic describe --json`` prints; ``warnings`` has what to beware of.

    Raises:
        InputError: for a file that cannot be read, and for numbers that are missing or infinite.
    """
    if _are_files(data):
        if unit is not None:
            raise InputError("unit is of numbers; a file knows its own")
        found, warnings = _sojourn.describe_files(_paths(data))
    else:
        found, warnings = _sojourn.describe_numbers(doubles(data), unit), []
    return {**json.loads(found), "warnings": warnings}


def fit(data: Any, *, unit: str | None = None) -> str:
    """The workload that fits a log or a capture, or the law that fits numbers: text, as an experiment file has it.

    Args:
        data: as :func:`describe` takes it.
        unit: what numbers of an array are in.
    """
    if _are_files(data):
        if unit is not None:
            raise InputError("unit is of numbers; a file knows its own")
        return _sojourn.fit_files(_paths(data))
    return _sojourn.fit_numbers(doubles(data), unit)


def hurst(series: Any) -> dict[str, Any]:
    """How self-similar a series is (``docs/hurst.md``): ten estimates of the Hurst parameter with their intervals, a ``verdict`` and
    ``warnings``.

    >>> import numpy as np
    >>> found = hurst(fgn(20_000, 0.8, seed=1))
    >>> abs(found["whittle_fgn"]["h"] - 0.8) < 0.05
    True
    """
    return dict(json.loads(_sojourn.hurst(doubles(series))))


def fgn(points: int, h: float, *, seed: int) -> numpy.typing.NDArray[numpy.float64]:
    """An exact path of fractional Gaussian noise with mean 0 and variance 1, of the Hurst parameter ``h`` (0 to 1), as an array
    (Davies and Harte, Tests for Hurst effect, Biometrika 74, 1987). The same seed gives the same path."""
    try:
        import numpy
    except ImportError:
        raise missing("numpy", "numba", "fgn") from None
    return numpy.frombuffer(_sojourn.fgn(points, h, seed), dtype=numpy.float64).copy()


def load(
    url: str | Sequence[str],
    *,
    objective: str | Sequence[str] = (),
    on: str | None = None,
    nodes: int | None = None,
    **flags: Any,
) -> dict[str, Any]:
    """Puts load on a web server and measures it, by the program that the wheel ships (``docs/load.md``).

    The load comes from a process of its own, so that Python does not disturb it. It ends when this process does.

    Args:
        url: one or several.
        objective: what must hold, such as ``"p99 < 50 ms"``.
        on: None for a process of this machine; ``"ray"`` for one agent on each node of a Ray cluster, as by ``sojourn load --agents``:
            they share the one plan and start at one agreed instant. A node that is lost ends the load, which is not tried again.
        nodes: of how many nodes; none: of all that have a core.
        flags: those of ``sojourn load`` with ``_`` for ``-``: ``rate="200 /s"``, ``duration="10 s"``, ``connections=32``, ``spin=True``.

    Returns:
        What ``sojourn load --json`` prints: also of a run that is SUSPECT or misses an objective.

    Raises:
        InputError: for flags and URLs that make no sense, and servers that one may not put load on.
        RunError: when it could not be measured.
        Interrupted: on Ctrl-C, within a second.
        MissingError: on Ray, without Ray.
    """
    if on not in (None, "ray"):
        raise InputError(f"on={on!r}: None or \"ray\"")
    if on is None and nodes is not None:
        raise InputError("nodes is of Ray's: say on=\"ray\" with it")
    urls = [url] if isinstance(url, str) else list(url)
    objectives = [objective] if isinstance(objective, str) else list(objective)
    told = [word for one in objectives for word in ("--objective", one)]
    words = ["load", *urls, *told, *_flags({_flag(name): value for name, value in flags.items()}), "--json"]
    if on is None:
        out, _ = call(words, ok=(0, 1))
        return dict(json.loads(out))
    both = [name for name in ("agents", "token_file", "processes") if flags.get(name) is not None]
    if both:
        raise InputError(f"{both[0]}: on=\"ray\" says already who puts the load on")
    with agents(nodes, bool(flags.get("yes_i_may"))) as (addresses, secret):
        out, _ = call([*words, "--agents", ",".join(addresses), "--token-file", secret], ok=(0, 1))
    return dict(json.loads(out))


def calibrate(url: str | None = None, **flags: Any) -> dict[str, Any]:
    """Measures a real server into a server model (``docs/guides/measure-a-server.md``), or fits one to a log, by the program that the wheel
    ships.

    Args:
        url: ``http://HOST:PORT/PATH``, with ``{x}`` or ``{size}`` in it where the work depends on it; none with ``log="access.log"``.
        flags: those of ``sojourn calibrate`` with ``_`` for ``-``: ``x=[10000, 40000]``, ``time="1 min"``.

    Returns:
        What ``sojourn calibrate --json`` prints; ``model`` is the text of the server model.
    """
    out, _ = call(["calibrate", *([url] if url else []), *_flags({_flag(name): value for name, value in flags.items()}), "--json"], ok=(0, 1))
    return dict(json.loads(out))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _flags(options: Mapping[str, Any]) -> list[str]:
    """Options as words; those that are None or False are left out."""
    words = []
    for flag, value in options.items():
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple)):
            words += [flag, ",".join(str(one) for one in value)]
        else:
            words += [flag, str(value)]
    return words


def _are_files(data: Any) -> bool:
    if isinstance(data, (str, os.PathLike)):
        return True
    return isinstance(data, (list, tuple)) and bool(data) and all(isinstance(one, (str, os.PathLike)) for one in data)


def _paths(files: Any) -> list[str]:
    if isinstance(files, (str, os.PathLike)):
        return [os.fspath(files)]
    return [os.fspath(one) for one in files]
