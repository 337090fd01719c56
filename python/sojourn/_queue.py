"""One queue, by formula and by simulation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sojourn import _laws, _sojourn
from sojourn._columns import is_column, times
from sojourn._errors import InputError


class Row(NamedTuple):
    """One number, in its SI unit."""

    engine: str
    metric: str
    unit: str
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    samples: int | None
    method: str
    note: str | None


class QueueAnswers:
    """The numbers of one queue: ``answers["response_time_mean"]`` is the first engine's.

    Percentiles and standard deviations of formulas can take milliseconds: they are computed when they are first looked at.
    """

    __slots__ = ("_notes", "_rest", "_rows")

    def __init__(self, rows: list[Row], notes: list[str], rest: Callable[[], tuple[list[Row], list[str]]] | None = None) -> None:
        self._rows = rows
        self._notes = notes
        # All rows and notes, where these are those of the means alone.
        self._rest = rest

    def _whole(self) -> None:
        if self._rest is not None:
            self._rows, self._notes = self._rest()
            self._rest = None

    @property
    def rows(self) -> list[Row]:
        """Every number."""
        self._whole()
        return self._rows

    @property
    def notes(self) -> list[str]:
        """Assumptions, and what to beware of."""
        self._whole()
        return self._notes

    def __getitem__(self, metric: str) -> Row:
        for rows in (self._rows, self.rows):
            for row in rows:
                if row.metric == metric:
                    return row
        known = ", ".join(dict.fromkeys(row.metric for row in self.rows))
        raise InputError(f"there is no `{metric}`; there are {known}")

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        numbers = ", ".join(f"{row.engine} {row.metric} = {row.estimate:.6g}" for row in self.rows[:3] if row.estimate is not None)
        return f"<QueueAnswers {numbers}, ...>"

    def columns(self) -> dict[str, list[Any]]:
        """The rows as columns, for ``polars.DataFrame`` or ``pandas.DataFrame``."""
        return {name: [getattr(row, name) for row in self.rows] for name in Row._fields}


def queue(
    notation: str,
    *,
    arrivals: Any = None,
    service: Any = None,
    sizes: Iterable[Any] = (),
    classes: Mapping[str, tuple[Any, Any]] | None = None,
    every: bool = False,
    by: Iterable[str] | str | None = None,
    jobs: float = 1e6,
    warm_up: float | None = None,
    seed: int = 1,
    predict: str | None = None,
    unit: str | None = None,
) -> QueueAnswers:
    """Answers a single queue in Kendall's notation, such as ``M/G/1-PS`` (``docs/queues.md``).

    Args:
        notation: ``A/S/c``, with room, population and discipline.
        arrivals: law of the gaps: a text, a number (s) or a frozen ``scipy.stats`` distribution (s). Or the gaps themselves, the time
            before each job: an array, a list or a column of a data frame. The simulation then replays them. Doubles in one piece are
            read where they are, without a copy: leave them alone until the call returns (what was changed meanwhile is refused).
        service: law of the service times; with gaps the service time of each job, as many.
        sizes: also the mean response time of jobs that need this service: texts or numbers (s).
        classes: name -> (arrivals, service), the most urgent first, instead of arrivals and service.
        every: also the mean wait by every approximation that is known.
        by: ``"theory"``, ``"sim"`` or both; none: theory of laws, the simulation of what is replayed.
        jobs: how many jobs the simulation draws.
        warm_up: jobs at the start that are not counted, with JSQ at the start of each of its 20 replications; none: a tenth of
            what is drawn, none of what is replayed, and with JSQ as many as MSER-5 says.
        seed: of the jobs drawn.
        predict: ``"number"`` or ``"demands"``: also how wrong predictions of response times are that know these.
        unit: what the numbers of arrays are in, such as ``"ms"``; none: seconds, or what they know themselves.

    Raises:
        InputError: what is wrong, or why there is no formula, in one line.

    >>> answers = queue("M/M/1", arrivals="exponential(rate = 0.5 /s)", service="exponential(mean = 1 s)")
    >>> round(answers["utilization"].estimate, 9)
    0.5
    >>> queue("G/G/1", arrivals=[2, 1, 1], service=[1, 2, 1], by="sim")["response_time_mean"].estimate
    1.6666666666666667
    """
    columns = None
    if is_column(arrivals) or is_column(service):
        columns = _columns(arrivals, service, unit)
        arrivals = service = None
    elif unit is not None:
        raise InputError(f"unit = {unit!r} is of arrays of gaps and services; a law has its own")
    if by is None:
        by = "theory" if columns is None else "sim"
    engines = [by] if isinstance(by, str) else list(by)
    if columns is not None and "theory" in engines:
        raise InputError("formulas know laws, not arrays: ask by=\"sim\", or take the law that fits, by sojourn.fit")
    for engine in engines:
        if engine not in ("theory", "sim"):
            meant = [known for known in ("theory", "sim") if str(engine).lower().startswith(known[:3])]
            right = f"did you mean `{meant[0]}`?" if meant else "theory and sim do"
            raise InputError(f"`{engine}` answers no queue: {right}")
    ask = functools.partial(
        _ask,
        notation,
        None if arrivals is None else _laws.law(arrivals),
        None if service is None else _laws.law(service),
        columns,
        [size if isinstance(size, str) else f"{size!r} s" for size in sizes],
        every,
        [f"{name}:{_laws.law(gaps)}:{_laws.law(work)}" for name, (gaps, work) in (classes or {}).items()],
        "theory" in engines,
        jobs=_count("jobs", jobs) if "sim" in engines else None,
        warm_up=None if warm_up is None else _count("warm_up", warm_up),
        seed=seed,
        predict=predict,
    )
    if "sim" in engines:
        return QueueAnswers(*ask(means_only=False))
    return QueueAnswers(*ask(means_only=True), functools.partial(ask, means_only=False))


def _columns(arrivals: Any, service: Any, unit: str | None) -> tuple[Any, Any, str]:
    """Gaps and services, and their unit."""
    if not (is_column(arrivals) and is_column(service)):
        given, other = ("arrivals", "service") if is_column(arrivals) else ("service", "arrivals")
        raise InputError(f"{given} is an array and {other} is not: what is replayed has the gap and the service of every job")
    (gaps, of_gaps), (services, of_services) = times(arrivals, "arrivals", unit), times(service, "service", unit)
    if of_gaps != of_services:
        raise InputError(f"arrivals is in {of_gaps} and service in {of_services}: give both in one unit")
    return gaps, services, of_gaps


def _ask(*question: Any, **control: Any) -> tuple[list[Row], list[str]]:
    """The rows and notes of what was asked, engine by engine."""
    rows: list[Row] = []
    notes: list[str] = []
    for engine, said in zip(("theory", "sim"), _sojourn.queue(*question, **control)):
        if said is not None:
            rows += [Row(engine, *row) for row in said[0]]
            notes += [f"{engine}: {note}" for note in said[1]]
    return rows, notes


def _count(name: str, value: float) -> int:
    if value != int(value) or value < 1:
        raise InputError(f"{name} = {value}: it is a whole number of at least 1")
    return int(value)
