"""Values as experiment files write them: laws as text or frozen scipy.stats distributions, numbers, lists, tables."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

from sojourn._columns import doubles, is_column
from sojourn._errors import InputError

# Of a frozen distribution of scipy.stats with no location: the law's text, of times in seconds.
# The parametrisations are scipy's documentation's and ours in docs/traffic.md.
_LAWS: dict[str, Callable[[dict[str, float], str], str]] = {
    "expon": lambda p, u: f"exponential(mean = {p['scale']!r}{u})",
    "gamma": lambda p, u: f"gamma(shape = {p['a']!r}, scale = {p['scale']!r}{u})",
    "erlang": lambda p, u: f"erlang(k = {int(p['a'])}, mean = {p['a'] * p['scale']!r}{u})",
    "lognorm": lambda p, u: f"lognormal(mu = {math.log(p['scale'])!r}, sigma = {p['s']!r}{_of(u)})",
    "weibull_min": lambda p, u: f"weibull(shape = {p['c']!r}, scale = {p['scale']!r}{u})",
    "pareto": lambda p, u: f"pareto(alpha = {p['b']!r}, min = {p['scale']!r}{u})",
}


# Keys whose values are laws.
_LAW_KEYS = ("arrivals", "demand", "patience", "size", "think")


def _of(unit: str) -> str:
    return f", unit ={unit}" if unit else ""


def law(value: Any, unit: str = "s", *, file: str | os.PathLike[str] | None = None) -> str:
    """The text of a law: texts stay, a number is constant, and frozen ``scipy.stats`` distributions are translated. Of a list, an array
    or a column of a data frame it is the law of which each of these numbers is equally likely; they are written into ``file``.

    ``unit`` is what a distribution's or a column's numbers are in: of times ``"s"``, ``"ms"`` ..., of sizes ``"B"``, ``"kB"`` ...

    Raises:
        InputError: for a distribution that has no counterpart, or one that is shifted; for a column without a ``file``, or that has
            something else than numbers from 0 on.

    >>> law(0.02)
    '0.02 s'
    """
    if is_column(value):
        return _of_column(value, unit, file)
    if file is not None:
        raise InputError(f"file = {os.fspath(file)!r} is for the numbers of a column, and this is no column")
    if isinstance(value, str):
        return _bare(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not math.isfinite(value) or value < 0:
            raise InputError(f"a law cannot be {value!r}: write a number from 0 on, a text or a scipy.stats distribution")
        return f"{value!r} {unit}"
    distribution = getattr(value, "dist", None)
    if distribution is None or not hasattr(value, "args"):
        raise InputError(f"a law is a text, a number or a frozen scipy.stats distribution, not {type(value).__name__}")
    name = distribution.name
    shapes, loc, scale = distribution._parse_args(*value.args, **value.kwds)
    if name == "uniform":
        low, high = float(loc), float(loc) + float(scale)
        return f"uniform(low = {low!r} {unit}, high = {high!r} {unit})"
    if name not in _LAWS:
        known = ", ".join(sorted([*_LAWS, "uniform"]))
        raise InputError(f"scipy.stats.{name} has no counterpart here; known are {known}")
    if loc != 0:
        raise InputError(f"scipy.stats.{name} with loc = {loc}: a law that is shifted has no counterpart here; leave loc out")
    names = [shape.strip() for shape in (distribution.shapes or "").split(",") if shape.strip()]
    parameters = {name: float(shape) for name, shape in zip(names, shapes)} | {"scale": float(scale)}
    if name == "erlang" and parameters["a"] != int(parameters["a"]):
        raise InputError(f"scipy.stats.erlang with a = {parameters['a']}: it is a whole number; gamma takes others")
    return _LAWS[name](parameters, f" {unit}")


def _of_column(column: Any, unit: str, file: str | os.PathLike[str] | None) -> str:
    if file is None:
        raise InputError(
            "a column as a law: say where its numbers are kept, law(column, unit = \"kB\", file = \"sizes.txt\"), or take the law "
            "that fits, by sojourn.fit"
        )
    numbers = doubles(column).tolist()
    if not numbers:
        raise InputError("a law of a column without a number")
    for at, number in enumerate(numbers):
        if not math.isfinite(number):
            raise InputError(f"a law of a column: number {at} is {number}: leave out what is missing or infinite")
        if number < 0:
            raise InputError(f"a law of a column: number {at} is {number}: a size or a time is 0 or more")
    path = Path(file).absolute()
    try:
        path.write_text("".join(f"{number!r}\n" for number in numbers))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    return f"empirical(file = {json.dumps(str(path), ensure_ascii=False)}, unit = {unit})"


def _bare(text: str) -> str:
    """A law as :func:`sojourn.fit` gives it, without what it says of it in comments before."""
    if not text.lstrip().startswith("#"):
        return text
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#")).strip()


def plain(value: Any, place: str) -> Any:
    """A value as JSON has it: scipy distributions as text, numpy's numbers as Python's."""
    if value is None:
        raise InputError(f"{place}: None says nothing; leave the key out")
    if isinstance(value, Mapping):
        return {str(key): plain(one, f"{place}.{key}" if place else str(key)) for key, one in value.items()}
    if is_column(value) and place.rpartition(".")[2] in _LAW_KEYS and not place.startswith(("vary", "variant")):
        raise InputError(f"{place}: {type(value).__name__} is no law: write sojourn.law(column, unit, file = \"numbers.txt\"), or sojourn.fit(column)")
    if isinstance(value, (list, tuple)):
        return [plain(one, f"{place}[{at}]") for at, one in enumerate(value)]
    if isinstance(value, str):
        return _bare(value)
    if isinstance(value, (bool, int)):
        return value
    if hasattr(value, "dist") and hasattr(value, "args"):
        return law(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist(), place)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{place}: {value!r} is no number that a file can have")
        return value
    raise InputError(f"{place}: a {type(value).__name__} cannot be written into an experiment")


def text(value: Any, place: str) -> str:
    """A value as ``--set KEY=VALUE`` writes it."""
    value = plain(value, place)
    if isinstance(value, str):
        return value
    return inline(value)


def inline(value: Any) -> str:
    """A value of JSON as TOML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ", ".join(inline(one) for one in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {inline(one)}" for key, one in value.items()) + " }"
    return repr(value)
