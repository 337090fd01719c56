"""Values as experiment files write them: laws as text or frozen scipy.stats distributions, numbers, lists, tables."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Callable

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


def _of(unit: str) -> str:
    return f", unit ={unit}" if unit else ""


def law(value: Any, unit: str = "s") -> str:
    """The text of a law: texts stay, a number is constant, and frozen ``scipy.stats`` distributions are translated.

    ``unit`` is what a distribution's numbers are in.

    Raises:
        InputError: for a distribution that has no counterpart, or one that is shifted.
    """
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
