"""Answers: frames, tables, plots, folders."""

from __future__ import annotations

import html
import json
import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from sojourn import _sojourn
from sojourn._errors import InputError, missing

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas
    import polars

# Prefixes of units in tables: the largest whose numbers are at least 1.
_PREFIXES = {"s": [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")], "1/s": [(1.0, "/s")], "1": [(1.0, "")]}


class Interval(NamedTuple):
    """A number with the ends of its interval, in its SI unit.

    An exact number has itself as both ends. Where no interval is known, as of an approximation or of too short a run, they are None. An
    infinite end is known to be open.
    """

    estimate: float
    low: float | None
    high: float | None
    unit: str


class Note(NamedTuple):
    """A remark, and what it is of."""

    # Labels of variants, in their order.
    variants: list[str]
    engine: str
    remark: str


class Answers:
    """What the engines answered: tidy rows, one for each variant, engine and metric, as in ``outcomes.csv``.

    Columns are the varied settings, then ``engine``, ``metric``, ``unit`` (SI), ``estimate``, ``ci_low``, ``ci_high`` (95 %,
    unless the experiment says otherwise), ``samples``, ``method`` (``exact``, ``approximate`` or ``sampled``) and ``note``,
    which says why a number or its interval is missing. What is not known is null (None in lists, NaN in pandas); an infinite number is
    known to be infinite, and an end of an interval that is infinite to be open. Exact and approximate numbers have no interval.
    It is a table to whatever reads Arrow's C stream interface: ``polars.DataFrame(answers)``, ``pyarrow.table(answers)``, without a copy
    through text.
    """

    __slots__ = ("_inner",)

    def __init__(self, inner: _sojourn.Answers) -> None:
        self._inner = inner

    # --- As data -----------------------------------------------------------------------------------------------------

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._inner.__arrow_c_stream__(requested_schema)

    def columns(self) -> dict[str, list[Any]]:
        """The columns as lists."""
        return dict(self._inner.columns())

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries."""
        columns = self.columns()
        return (dict(zip(columns, row)) for row in zip(*columns.values()))

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._inner)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars frame."""
        try:
            import polars
        except ImportError:
            raise missing("polars", "notebook", "to_polars") from None
        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame."""
        try:
            import pandas
        except ImportError:
            raise missing("pandas", "notebook", "to_pandas") from None
        return pandas.DataFrame(self.columns())

    def get(self, metric: str, *, engine: str | None = None, **settings: Any) -> Interval:
        """One number with its interval, in its SI unit.

        Args:
            metric: such as ``response_time_mean``.
            engine: which one says it; needed where several do.
            settings: the values of varied settings that tell the variant, with ``_`` for ``.`` in their names.

        Raises:
            InputError: when no row or more than one is meant, or there is no number; it says why.
        """
        found = [row for row in self.rows() if row["metric"] == metric and _is(row, engine, settings)]
        asked = ", ".join([metric, *([engine] if engine else []), *(f"{key} = {value}" for key, value in settings.items())])
        if not found:
            why = [note.remark for note in self.notes if engine in (None, note.engine)]
            raise InputError(f"no row is of {asked}" + (f": {why[0]}" if why else ""))
        if len(found) > 1:
            names = [*self._inner.settings, "engine"]
            rows = "; ".join(", ".join(f"{name} = {row[name]}" for name in names) for row in found[:4])
            raise InputError(f"{len(found)} rows are of {asked}: say which: {rows}")
        row = found[0]
        if row["estimate"] is None:
            raise InputError(f"{asked}: {row['note'] or 'no number'}")
        ends = (row["ci_low"], row["ci_high"]) if row["method"] != "exact" else (row["estimate"], row["estimate"])
        return Interval(row["estimate"], *ends, row["unit"])

    # --- What was said besides -----------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The question."""
        return self._inner.name

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self._inner.seed

    @property
    def verdict(self) -> str:
        """``VALID``, ``SUSPECT`` (the measurement may have measured something else) or ``INCOMPLETE`` (it was interrupted)."""
        return self._inner.verdict

    @property
    def reasons(self) -> list[str]:
        """Why it is not VALID."""
        return self._inner.reasons

    @property
    def notes(self) -> list[Note]:
        """Why an engine has no number, and what to beware of: each remark once, with the variants that it is of."""
        return [Note(*note) for note in self._inner.notes]

    @property
    def objectives(self) -> list[tuple[str, str, str, bool | None, str]]:
        """(objective, variant, engine, whether it is met, the number that decides); None where it is not decided."""
        return self._inner.objectives

    @property
    def text(self) -> str:
        """The experiment as it was run."""
        return self._inner.spec

    @property
    def command(self) -> str:
        """The command that repeats it."""
        return self._inner.command

    def pairs(self) -> list[dict[str, Any]]:
        """Variants two by two, with all else equal: B against A, from the pairs of their replications, as rows of ``pairs.csv``.

        Each row has the settings of B, ``engine``, ``metric`` (``response_time_mean_ratio`` is how many times as long B takes,
        ``response_time_mean_difference`` how much longer, in s), ``unit``, ``estimate``, ``ci_low`` and ``ci_high`` (95 %), ``samples``
        (pairs), then ``variant_a`` and ``variant_b``, the numbers ``a`` and ``b``, ``failed_a`` and ``failed_b`` (the shares of their
        requests that failed or were given up, of which response times say nothing), ``differs``, ``differs_among_all`` (judged
        among all pairs) and ``verdict``. Settings are texts.
        """
        rows: list[dict[str, Any]] = json.loads(self._inner.pairs())
        return rows

    def curve(self, variant: int, engine: str) -> list[tuple[float, float]]:
        """The distribution of the response time of the variant of this number: (seconds, share that took no longer)."""
        return self._inner.curve(variant, engine)

    # --- As folders and pages -----------------------------------------------------------------------------------------

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Writes a run folder, with its report, as ``sojourn run`` does.

        Raises:
            InputError: when there is something at ``folder`` already, or it cannot be written.
        """
        self._inner.write(os.fspath(folder))

    def report(self) -> str:
        """The report's page, as HTML: tables, plots with intervals and distributions, notes."""
        return self._inner.report()

    # --- For people -----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        # A point of a sweep that failed has no engine.
        engines = sorted({row["engine"] for row in self.rows() if row["engine"]}) or ["nothing"]
        variants = len(self._inner.variants)
        return f"<Answers {self.name!r}: {variants} variant{'s' * (variants != 1)} by {', '.join(engines)}, {self.verdict}>"

    def __str__(self) -> str:
        """What :meth:`_repr_html_` shows, as text."""
        heads, rows, told = self._table()
        lines = [heads, *rows]
        widths = [max(len(line[at]) for line in lines) for at in range(len(heads))]
        left = len(self._told()) + 1
        aligned = ["  ".join(cell.ljust(w) if at < left else cell.rjust(w) for at, (cell, w) in enumerate(zip(line, widths))) for line in lines]
        return "\n".join([self.name, *(line.rstrip() for line in aligned), *told])

    def _repr_html_(self) -> str:
        """A table of the mean and the 99th percentile of the response time and of the throughput, with intervals."""
        heads, rows, told = self._table()
        left = len(self._told()) + 1
        head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
        aligned = ["<td>"] * left + ["<td style='text-align: right'>"] * len(heads)
        cells = ["".join(f"{begin}{html.escape(text)}</td>" for begin, text in zip(aligned, row)) for row in rows]
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        notes = "".join(f"<br>{html.escape(note)}" for note in told)
        return f"<table><caption>{html.escape(self.name)}</caption><tr>{head}</tr>{body}</table><small>{notes}</small>"

    def _told(self) -> list[str]:
        """The settings that tell variants apart; what has one value says nothing, unless there is nothing else."""
        columns = self.columns()
        return [key for key in self._inner.settings if len(set(columns[key])) > 1] or self._inner.settings

    def _table(self) -> tuple[list[str], list[list[str]], list[str]]:
        """Heads, rows and remarks of the table for people."""
        known = {row["metric"] for row in self.rows()}
        wanted = ["response_time_mean", "response_time_p99", "throughput", "error_ratio"]
        metrics = [metric for metric in wanted if metric in known]
        settings = self._told()
        numbers: dict[tuple[Any, ...], dict[str, str]] = {}
        scales = {metric: self._scale(metric) for metric in metrics}
        for row in self.rows():
            cells = numbers.setdefault((*(row[key] for key in settings), row["engine"]), {})
            if row["metric"] in metrics:
                cells[row["metric"]] = _cell(row, *scales[row["metric"]])
        metrics = [metric for metric in metrics if metric != "error_ratio" or any(
            row["metric"] == metric and row["estimate"] for row in self.rows()
        )]
        heads = [*settings, "engine"] + [f"{metric} ({scales[metric][1]})".removesuffix(" ()") for metric in metrics]
        rows = [[*map(_short, keys), *(cells.get(metric, "-") for metric in metrics)] for keys, cells in numbers.items()]
        told = [] if self.verdict == "VALID" else [f"{self.verdict}: {'; '.join(self.reasons)}"]
        remarks = self._inner.remarks
        for variants, engine, remark in remarks[:6]:
            whose = variants[0] if len(variants) == 1 else f"{len(variants)} variants"
            told.append(f"{engine}, {whose}: {remark}")
        if len(remarks) > 6:
            told.append(f"{len(remarks) - 6} more in notes")
        return heads, rows, told

    def _scale(self, metric: str) -> tuple[float, str]:
        """What a metric's numbers are told in: how much one is, and its name."""
        of = [row for row in self.rows() if row["metric"] == metric and row["estimate"]]
        unit = of[0]["unit"] if of else "1"
        prefixes: list[tuple[float, str]] = _PREFIXES.get(unit, [(1.0, unit)])
        largest = max((abs(row["estimate"]) for row in of if math.isfinite(row["estimate"])), default=1.0)
        return next((scale for scale in prefixes if largest >= scale[0]), prefixes[-1])

    def plot(
        self,
        metric: str = "response_time_mean",
        x: str | None = None,
        by: str | None = None,
        *,
        ax: matplotlib.axes.Axes | None = None,
    ) -> matplotlib.axes.Axes:
        """A metric over a varied number, a colour for each value of ``by``: what was sampled as points with their intervals,
        joined by thin lines, what formulas say as broad pale ones, dashed where they are approximations. The axis of values that span
        more than two decades is logarithmic.

        Args:
            metric: which one.
            x: the varied setting along the axis; none: the first whose values are numbers.
            by: the setting that colours tell apart; none: the first other one.
            ax: where to draw; none: a new figure.

        Raises:
            MissingError: without matplotlib.
            InputError: when nothing has that metric, or a setting is not one that varies.
        """
        try:
            import matplotlib.pyplot as pyplot
        except ImportError:
            raise missing("matplotlib", "notebook", "plot") from None
        settings = self._inner.settings
        columns = self.columns()
        numeric = [key for key in settings if all(isinstance(value, float) for value in columns[key])]
        x = x if x is not None else next(iter(numeric), None)
        for name in (x, by):
            if name is not None and name not in settings:
                raise InputError(f"`{name}` does not vary; what does is {', '.join(settings) or 'nothing'}")
        if x is None:
            raise InputError("no setting with numbers varies: name one with x=")
        rows = [row for row in self.rows() if row["metric"] == metric and row["estimate"] is not None]
        if not rows:
            known = ", ".join(sorted({one for one in columns["metric"] if one}))
            raise InputError(f"nothing has `{metric}`; there are {known}")
        others = [key for key in self._told() if key != x]
        by = by if by is not None else next(iter(others), None)
        rest = [key for key in others if key != by]
        ax = ax if ax is not None else pyplot.subplots()[1]
        scale, unit = self._scale(metric)
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in rows:
            groups.setdefault((*([row[by]] if by else []), *(row[key] for key in rest), row["engine"]), []).append(row)
        colours: dict[tuple[Any, ...], str] = {}
        for group, of in groups.items():
            (*what, engine) = group
            colour = colours.setdefault(tuple(what), f"C{len(colours) % 10}")
            of = sorted(of, key=lambda row: row[x]) if x in numeric else of
            places = [row[x] for row in of]
            values = [row["estimate"] / scale for row in of]
            label = ", ".join([*(_short(one) for one in what), engine])
            if of[0]["method"] == "sampled":
                widths = [[_beyond(row, side, scale) for row in of] for side in ("ci_low", "ci_high")]
                # Joined where there is an order; the marker small, so that narrow intervals show.
                form = "o-" if x in numeric else "o"
                ax.errorbar(places, values, yerr=widths, fmt=form, markersize=3, linewidth=0.8, elinewidth=1.5, capsize=3, color=colour, label=label)
            else:
                dashes = "--" if any(row["method"] == "approximate" for row in of) else "-"
                ax.plot(places, values, dashes, linewidth=2.5, alpha=0.4, color=colour, label=label)
        spread = [row["estimate"] for row in rows]
        if min(spread) > 0 and max(spread) > 100 * min(spread):
            ax.set_yscale("log")
        ax.set_xlabel(x)
        ax.set_ylabel(f"{metric.replace('_', ' ')} ({unit})".removesuffix(" ()"))
        ax.set_title(self.name)
        ax.legend()
        return ax


def open(folder: str | os.PathLike[str]) -> Answers:
    """The answers in a run folder, also one that the command line wrote.

    Raises:
        InputError: in one line: which file is missing or wrong, and how.
    """
    return Answers(_sojourn.Answers.open(os.fspath(folder)))


def _is(row: dict[str, Any], engine: str | None, settings: dict[str, Any]) -> bool:
    if engine is not None and row["engine"] != engine:
        return False
    named = {key.replace(".", "_"): value for key, value in row.items()}
    for key, value in settings.items():
        if key not in named:
            raise InputError(f"`{key}` does not vary")
        if named[key] != value and _short(named[key]) != str(value):
            return False
    return True


def _beyond(row: dict[str, Any], side: str, scale: float) -> float:
    return 0.0 if row[side] is None else abs(row["estimate"] - row[side]) / scale


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cell(row: dict[str, Any], scale: float, unit: str) -> str:
    if row["estimate"] is None:
        return row["note"] or "-"
    value = row["estimate"] / scale
    if row["ci_low"] is None:
        return f"{'≈ ' if row['method'] == 'approximate' else ''}{value:.4g}"
    low, high = row["ci_low"] / scale, row["ci_high"] / scale
    half = max(high - value, value - low)
    digits = max(0, 1 - math.floor(math.log10(half))) if half > 0 and math.isfinite(half) else 3
    is_even = math.isfinite(half) and abs((high - value) - (value - low)) <= 0.1 * half
    return f"{value:.{digits}f} ± {half:.{digits}f}" if is_even else f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


