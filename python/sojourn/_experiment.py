"""Experiments: read, changed, varied and asked."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from sojourn import _laws, _policy, _sojourn
from sojourn._answers import Answers
from sojourn._errors import Interrupted
from sojourn._line import Line, Steps
from sojourn._program import program

Show = Callable[[int, int, str, str, float, str], None]


class Experiment:
    """An experiment: a workload, a system, what varies and what must hold (``docs/first-experiment.md``).

    It never changes: ``set`` and ``vary`` give another one.

    >>> two = Experiment.from_dict({
    ...     "name": "two servers",
    ...     "workload": {"kind": "open", "arrivals": "exponential(utilization = 0.7)"},
    ...     "system": {
    ...         "tier": [{"face": "gateway", "policy": "random", "targets": {"servers": 2}}],
    ...         "server": {"discipline": "ps", "demand": "exponential(mean = 10 ms)"},
    ...     },
    ... })
    >>> [label for label, settings in two.vary("utilization", [0.5, 0.7]).variants()]
    ['utilization 0.5', 'utilization 0.7']
    """

    __slots__ = ("_inner",)

    def __init__(self, inner: _sojourn.Experiment) -> None:
        self._inner = inner

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Experiment:
        """The experiment in a file.

        Raises:
            InputError: when it cannot be read or is not TOML. What it says is checked when it is asked.
        """
        return cls(_sojourn.Experiment.read(os.fspath(path)))

    @classmethod
    def from_text(cls, text: str, name: str | os.PathLike[str] = "experiment.toml") -> Experiment:
        """The experiment that a file of this text would have; ``name`` is what messages call it, and where relative paths
        in it start."""
        return cls(_sojourn.Experiment.parse(text, os.fspath(name)))

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any], name: str | os.PathLike[str] = "experiment.toml") -> Experiment:
        """The experiment that these tables would be as a file: keys as in a file, laws as text or frozen ``scipy.stats``
        distributions (in seconds). Without a ``name`` among them the question is called as the file is."""
        named = {"name": Path(name).stem, **tables}
        return cls.from_text(_sojourn.toml_of_json(json.dumps(_laws.plain(named, ""))), name)

    def set(self, key: str | None = None, value: Any = None, /, **more: Any) -> Experiment:
        """The same with other values, as by ``--set KEY=VALUE``: keys are dotted paths or short names.

        >>> one = Experiment.from_text("name = 'mine'")
        >>> "least-connections" in one.set("system.server.demand", "10 ms").set(seed=3).text
        False
        """
        inner = self._inner
        for name, of in ([(key, value)] if key is not None else []) + list(more.items()):
            inner = inner.set(name, _laws.text(of, name))
        return Experiment(inner)

    def vary(self, key: str | None = None, values: Iterable[Any] = (), /, **more: Iterable[Any]) -> Experiment:
        """The same with a list of values for each key, as in ``[vary]``: all combinations are asked."""
        inner = self._inner
        for name, of in ([(key, values)] if key is not None else []) + list(more.items()):
            of = [of] if isinstance(of, str) else list(of)
            inner = inner.vary(name, [_laws.text(one, name) for one in of])
        return Experiment(inner)

    @property
    def text(self) -> str:
        """It as a file, changes included."""
        return self._inner.text

    def variants(self) -> list[tuple[str, dict[str, str]]]:
        """The label and the settings of each variant, once all of them are read and checked.

        Raises:
            InputError: for the first thing that is wrong, with its file and line.
        """
        return [(label, dict(settings)) for label, settings in self._inner.variants(_policy.registered(self.text))]

    def ask(
        self,
        engines: Iterable[str] | str | None = None,
        *,
        precision: str | float | None = None,
        seed: int | None = None,
        progress: bool | Show = False,
        out: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        policy_patience: float = 10.0,
    ) -> Answers:
        """What the engines answer about every variant, in memory.

        The same seed gives the same answers, on any number of cores. Theory and simulation run in this process; live parts
        are children of the program that the wheel ships, and end with this process.

        Args:
            engines: ``"theory"``, ``"sim"``, ``"live"``, or several; none: those that the file names.
            precision: half-width of the simulator's intervals over the mean: ``0.02``, or as in a file, ``"2% at 95%"``.
            seed: instead of the file's.
            progress: True shows how far it is on a line of standard error, ``2 of 6: utilization 0.7, sim  43 % ± 1.2 %`` (variant, its
                settings, engine, share done, and how narrow the interval is by now), which is taken away at the end. A function is
                called with (variant from 0 on, variants, label, engine, share done from 0 to 1, remark), from this thread.
            out: a folder to write as well, as ``sojourn run --out`` does.
            threads: that the simulator may take; none: one for each core, and one where a class chooses, since only one
                thread at a time runs Python. The answers do not depend on it.
            policy_patience: how long (s) a policy of your own may take for one call.

        Raises:
            InputError: when the experiment is wrong, or an engine cannot do what it asks for.
            PolicyError: when a policy of your own fails.
            RunError: when an engine fails.
            Interrupted: on Ctrl-C, within a second; its ``answers`` are what there was by then.
        """
        asked = self._asked(precision, seed)
        policies = _policy.registered(asked.text)
        if engines is None:
            by = asked._inner.engines(policies)
        else:
            by = [word.strip() for one in ([engines] if isinstance(engines, str) else engines) for word in one.split(",")]
        is_live = "live" in by
        show: Show | None = Steps() if progress is True else (progress or None)
        try:
            with tempfile.TemporaryDirectory(prefix="sojourn-") as scratch:
                # Live parts record in a folder.
                folder = out if out is not None else Path(scratch) / "run" if is_live else None
                inner, interruption = asked._inner.ask(
                    by,
                    policies,
                    show,
                    program() if is_live else None,
                    None if folder is None else os.fspath(folder),
                    policy_patience,
                    threads if threads is not None else _policy.threads(asked.text),
                )
        finally:
            if isinstance(show, Line):
                show.end()
        if interruption is not None:
            if isinstance(interruption, KeyboardInterrupt):
                raise Interrupted(None if inner is None else Answers(inner)) from None
            raise interruption
        assert inner is not None
        return Answers(inner)

    def _asked(self, precision: str | float | None, seed: int | None) -> Experiment:
        asked = self
        if precision is not None:
            # As a whole number of per cent or a decimal one, never in exponents.
            of = precision if isinstance(precision, str) else f"{100 * precision:.10f}".rstrip("0").rstrip(".") + "% at 95%"
            asked = asked.set("run.precision", of)
        return asked if seed is None else asked.set("seed", seed)

    def __repr__(self) -> str:
        return f"<Experiment {self._inner.file}>"

