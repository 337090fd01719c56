"""Policies of your own: a class, or a function that Numba compiles."""

from __future__ import annotations

import functools
import importlib
import inspect
import pickle
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, overload

from sojourn._errors import InputError, missing

T = TypeVar("T")

# What a compiled policy may have as parameters: rows by server (crate `python`, policy/sheet.rs), and the signal that each needs.
_COUNTS = {"load": "in-flight", "in_flight": "in-flight", "completed": "in-flight", "failed": "in-flight"}
_REALS = {
    "weight": None,
    "round_trip": "first-byte",
    "cpu": "utilization",
    "room": "room",
    "capacity": "room",
    "reported": "reports",
    "report_age": "reports",
}
_REQUEST = {"client": "address", "key": "path", "request_class": None, "object": "object", "size": "size"}
_OTHERS = {"candidates", "servers", "now", "random", "memory"}
_LEARN = {"what", "server", "seconds", "now", "memory"}


@dataclass
class Native:
    """A compiled policy, as the Rust half reads it."""

    choose: int
    learn: int
    counts: list[str]
    reals: list[str]
    defaults: list[tuple[str, float]]
    memory: int


@dataclass
class Registered:
    """A policy, as the Rust half reads it."""

    name: str
    summary: str
    parameters: list[str]
    requires: list[str]
    window_s: float | None
    # Where it is written, FILE:LINE.
    place: str
    make: Callable[..., Any] | None = None
    native: Native | None = None


@dataclass
class _Own:
    """A policy as it was written; a compiled one is compiled when it is first needed."""

    name: str
    summary: str
    requires: list[str]
    window_s: float | None
    what: Any
    memory: int = 0
    learn: Callable[..., Any] | None = None
    made: Registered | None = None
    # What Numba made is kept, since only its address is known beyond here.
    kept: list[Any] = field(default_factory=list)
    # What it came in, from another process.
    sent: bytes = b""


_own: dict[str, _Own] = {}


def policies() -> list[str]:
    """The names of your own policies, in the order in which they were defined."""
    return list(_own)


def threads(text: str) -> int | None:
    """How many threads serve an experiment of this text best; none: as many as there are cores."""
    return 1 if any(inspect.isclass(own.what) for own in used(text)) else None


def used(text: str) -> list[_Own]:
    """Those whose names an experiment of this text has in it."""
    return [own for name, own in _own.items() if name in text]


def code(text: str) -> str:
    """What answers hang on of the policies that an experiment names: their code, as compiled. What they call is not in it."""
    parts = []
    for own in used(text):
        functions = [of for of in vars(own.what).values() if inspect.isfunction(of)] if inspect.isclass(own.what) else [own.what]
        functions += [own.learn] if own.learn else []
        for of in functions:
            of = getattr(of, "py_func", of)
            parts.append(f"{own.name} {of.__name__} {_instructions(of.__code__)} {of.__defaults__} {of.__kwdefaults__}")
        parts.append(f"{own.name} {own.requires} {own.window_s} {own.memory}")
    return "\n".join(parts)


def _instructions(of: Any) -> str:
    """What a function does, wherever it is written."""
    constants = [_instructions(one) if inspect.iscode(one) else repr(one) for one in of.co_consts]
    return f"{of.co_code.hex()} {of.co_names} {of.co_varnames} {constants}"


def packed(text: str) -> bytes:
    """The policies that an experiment names, for another process."""
    own = [replace(one, made=None, kept=[]) for one in used(text)]
    try:
        return bytes(_pickler().dumps(own))
    except Exception as error:
        names = ", ".join(one.name for one in own)
        raise InputError(f"policies {names}: another process cannot have them: {error}") from error


def unpack(policies: bytes) -> None:
    """Takes the policies of another process."""
    for own in pickle.loads(policies):
        known = _own.get(own.name)
        # What is compiled already stays so.
        if known is None or known.sent != policies:
            own.sent = policies
            _own[own.name] = own


def _pickler() -> Any:
    """What can pickle functions of a notebook too, where something that can is installed."""
    for name in ("cloudpickle", "numba.cloudpickle", "ray.cloudpickle"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return pickle


def registered(text: str) -> list[Registered]:
    """All of them; compiled are those that an experiment of this text names, so that one that cannot be compiled is in no other's way."""
    named = {own.name for own in used(text)}
    return [_registered(own) if own.name in named or inspect.isclass(own.what) else _unused(own) for own in _own.values()]


def _place(own: _Own) -> str:
    """Where a function, or what chooses of a class, is written; empty where that is not known."""
    function = getattr(own.what, "choose") if inspect.isclass(own.what) else own.what
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def _unused(own: _Own) -> Registered:
    """One that messages may name, and that is not asked."""
    names = [name for name, _ in _read(own)[1]]
    return Registered(own.name, own.summary, names, own.requires, own.window_s, _place(own), make=own.what)


@overload
def policy(what: T, /) -> T: ...


@overload
def policy(
    *,
    name: str | None = ...,
    requires: Iterable[str] | None = ...,
    window: float | None = ...,
    memory: int = ...,
) -> Callable[[T], T]: ...


def policy(
    what: Any = None,
    /,
    *,
    name: str | None = None,
    requires: Iterable[str] | None = None,
    window: float | None = None,
    memory: int = 0,
) -> Any:
    """Gives a class or a function a name as a policy: experiments, theory, sim, reports and sweeps then know it by that.

    Its name is that of the class or function, in small letters with dashes: ``MostRoom`` and ``most_room`` are ``most-room``. One
    that is defined again takes the place of the earlier one. Live runs refuse it: their parts are other programs.

    **A class** is convenient, and manages some 0.3 million choices a second. It has ``choose(self, ask)``, which gives a server's
    number or None to refuse; ``ask`` is a :class:`sojourn.View`. What it must be told is its ``requires``, a tuple of the signals that
    ``sojourn policies`` lists (``"in-flight"``, ``"first-byte"``, ``"reports"``, ...). ``observe(self, what, server, seconds, now)``, if it
    has one, is told of ``"completed"``, ``"failed"``, ``"cancelled"``, ``"first-byte"``, ``"reported"``, ``"up"``, ``"draining"`` and ``"down"``.
    Parameters of ``__init__`` are parameters of the policy: ``policy = "most-room(least = 5)"``.

    >>> @policy
    ... class Fewest:
    ...     requires = ("in-flight",)
    ...     def choose(self, ask):
    ...         return min(ask.candidates, key=ask.load, default=None)
    >>> "fewest" in policies()
    True

    **A function** is compiled by Numba and is as fast as machine code. Its parameters say by their names what it reads. Arrays, by
    server: ``load``, ``in_flight``, ``completed``, ``failed``, ``weight``, ``round_trip`` (s), ``cpu``, ``room`` and ``capacity`` (1/s), ``reported``,
    ``report_age`` (s). Of the request: ``client``, ``key``, ``request_class``, ``object``, ``size``. And ``candidates`` (the servers that may be chosen),
    ``servers`` (how many there are), ``now`` (s), ``random`` (for ``sojourn.draw.uniform(random)`` and ``sojourn.draw.below(random, n)``) and
    ``memory``, an array of ``memory`` numbers that each dispatcher keeps from call to call, 0 at first. Parameters after ``*`` with numbers as
    their defaults are parameters of the policy. It gives a server's number, or -1 to refuse::

        @sojourn.policy
        def two_choices(candidates, load, random):
            one = candidates[below(random, len(candidates))]
            other = candidates[below(random, len(candidates))]
            return one if load[one] <= load[other] else other

    Args:
        name: instead of its own.
        requires: instead of the class's ``requires``; for a function, beside what its parameters need.
        window: length (s) of the sliding window that ``round_trip`` is averaged over.
        memory: numbers that a function keeps.

    Randomness and time come from the call alone, so that the same seed gives the same bytes. A policy that draws from ``random`` or
    reads a clock gives that up. So does one that keeps what it learns in globals: several replications run at a time.
    """
    if what is None:
        return lambda of: policy(_with(of, name, requires, window, memory))
    if isinstance(what, _Given):
        given = what
    else:
        given = _with(what, name, requires, window, memory)
    of = given.what
    if not callable(of):
        raise InputError(f"a policy is a class or a function, not {type(of).__name__}")
    own_name = given.name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", of.__name__).lower().replace("_", "-").strip("-")
    summary = next(iter((inspect.getdoc(of) or "a policy of your own").splitlines()), "")
    if inspect.isclass(of):
        if not callable(getattr(of, "choose", None)):
            raise InputError(f"policy `{own_name}`: the class has no method `choose`")
        needs = given.requires if given.requires is not None else getattr(of, "requires", ())
        if isinstance(needs, str):
            raise InputError(f"policy `{own_name}`: requires is a tuple of names: (\"{needs}\",)")
        given_window = given.window if given.window is not None else getattr(of, "window", None)
        own = _Own(own_name, summary, list(needs), given_window, of)
    else:
        own = _Own(own_name, summary, list(given.requires or ()), given.window, of, given.memory)
        _read(own)
        of.feedback = functools.partial(_feedback, own_name)
    if own.window_s is not None and not own.window_s > 0:
        raise InputError(f"policy `{own_name}`: window = {own.window_s}: it is a time above 0 s")
    _own[own_name] = own
    return of


@dataclass
class _Given:
    what: Any
    name: str | None
    requires: list[str] | None
    window: float | None
    memory: int


def _with(what: Any, name: str | None, requires: Iterable[str] | None, window: float | None, memory: int) -> _Given:
    return _Given(what, name, None if requires is None else list(requires), window, memory)


def _feedback(policy_name: str, learn: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a compiled policy a function that learns: of ``what`` (0 completed, 1 failed, 2 cancelled), ``server``, ``seconds``,
    ``now`` and ``memory``, by the names of its parameters."""
    own = _own[policy_name]
    for one in inspect.signature(learn).parameters:
        if one not in _LEARN:
            raise InputError(f"policy `{own.name}`: feedback knows no `{one}`; it knows {', '.join(sorted(_LEARN))}")
    own.learn, own.made = learn, None
    return learn


def _read(own: _Own) -> tuple[list[str], list[tuple[str, float]]]:
    """What a function reads, and its parameters with what they are where a text gives none."""
    reads: list[str] = []
    defaults: list[tuple[str, float]] = []
    for name, parameter in inspect.signature(own.what).parameters.items():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            if isinstance(parameter.default, bool) or not isinstance(parameter.default, (int, float)):
                raise InputError(f"policy `{own.name}`: `{name}` needs a number as its default")
            defaults.append((name, float(parameter.default)))
        elif name in _COUNTS or name in _REALS or name in _REQUEST or name in _OTHERS:
            reads.append(name)
        else:
            known = ", ".join([*_COUNTS, *_REALS, *_REQUEST, *sorted(_OTHERS)])
            raise InputError(f"policy `{own.name}`: there is no `{name}` to read; there are {known}")
    return reads, defaults


def _registered(own: _Own) -> Registered:
    if own.made is not None:
        return own.made
    if inspect.isclass(own.what):
        signature = inspect.signature(own.what)
        parameters = [name for name, of in signature.parameters.items() if of.kind is not of.VAR_KEYWORD]
        own.made = Registered(own.name, own.summary, parameters, own.requires, own.window_s, _place(own), make=own.what)
        return own.made
    reads, defaults = _read(own)
    signals = [signal for name in reads for signal in [(_COUNTS | _REALS | _REQUEST).get(name)] if signal]
    # Whoever reports a room or how busy it is reports.
    signals += ["reports"] if any(name in ("cpu", "room", "capacity") for name in reads) else []
    requires = list(dict.fromkeys([*own.requires, *signals]))
    native = _compile(own, reads, defaults)
    names = [name for name, _ in defaults]
    own.made = Registered(own.name, own.summary, names, requires, own.window_s, _place(own), native=native)
    return own.made


def _compile(own: _Own, reads: list[str], defaults: list[tuple[str, float]]) -> Native:
    """Compiles a function behind the wrapper that the Rust half calls (crate `python`, policy/native.rs has its signature)."""
    try:
        import numba
        from numba import types
    except ImportError:
        raise missing("numba", "numba", f"policy `{own.name}`, a function,") from None
    counts = [name for name in reads if name in _COUNTS]
    reals = [name for name in reads if name in _REALS]
    lines = []
    if counts:
        lines.append(f"    whole_rows = carray(whole, ({len(counts)}, servers))")
    if reals:
        lines.append(f"    real_rows = carray(real, ({len(reals)}, servers))")
    if any(name in _REQUEST for name in reads):
        lines.append(f"    asked = carray(request, {len(_REQUEST)})")
    if defaults:
        lines.append(f"    parameters = carray(given, {len(defaults)})")
    values = {
        **{name: f"whole_rows[{at}]" for at, name in enumerate(counts)},
        **{name: f"real_rows[{at}]" for at, name in enumerate(reals)},
        **{name: f"asked[{at}]" for at, name in enumerate(_REQUEST)},
        "candidates": "carray(open_to, opened)",
        "servers": "servers",
        "now": "now",
        "random": "carray(state, 4)",
        "memory": "carray(kept, length)",
    }
    arguments = [values[name] for name in reads] + [f"parameters[{at}]" for at in range(len(defaults))]
    source = "\n".join([
        "def wrapper(state, whole, real, servers, open_to, opened, request, now, given, kept, length, done):",
        *lines,
        f"    chosen = inner({', '.join(arguments)})",
        "    carray(done, 1)[0] = 1",
        "    return chosen",
    ])
    i64, f64, u64 = types.int64, types.float64, types.uint64
    pointer: Callable[[Any], Any] = types.CPointer
    whole, real = pointer(i64), pointer(f64)
    signature = i64(pointer(u64), whole, real, i64, whole, i64, whole, f64, real, real, i64, whole)
    choose = _wrap(own, own.what, source, signature, numba)
    learn = None
    if own.learn is not None:
        names = list(inspect.signature(own.learn).parameters)
        told = ["carray(kept, length)" if name == "memory" else name for name in names]
        source = "\n".join([
            "def wrapper(what, server, seconds, now, given, kept, length, done):",
            f"    inner({', '.join(told)})",
            "    carray(done, 1)[0] = 1",
            "    return 0",
        ])
        learn = _wrap(own, own.learn, source, i64(i64, i64, f64, f64, real, real, i64, whole), numba)
    own.kept = [choose, learn]
    return Native(choose.address, learn.address if learn else 0, counts, reals, defaults, own.memory)


def _wrap(own: _Own, function: Any, source: str, signature: Any, numba: Any) -> Any:
    inner = function if hasattr(function, "py_func") else numba.njit(function)
    scope: dict[str, Any] = {"inner": inner, "carray": numba.carray}
    exec(compile(source, f"<policy {own.name}>", "exec"), scope)
    try:
        return numba.cfunc(signature)(scope["wrapper"])
    except numba.core.errors.NumbaError as error:
        raise InputError(f"policy `{own.name}`: Numba cannot compile it: {_why(str(error))}") from error


def _why(error: str) -> str:
    """What Numba says, in a line: the cause that its many lines end with, and where. Where colours are installed it uses them."""
    said = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", error).splitlines() if line.strip()]
    causes = [line.partition(": ")[2] for line in said if re.match(r"(Numba)?[A-Z]\w*Error: ", line)]
    # The first line only names Numba's step.
    first = next((line for line in said if not line.startswith("Failed in")), said[0])
    calls = [line.removeprefix(">>>").strip() for line in said if line.startswith(">>>")]
    why = causes[-1] if causes else " ".join([first, *calls[:1]])
    places = re.findall(r'File "([^"<]+)", line (\d+)', error)
    return why.rstrip(":") + (f" ({places[-1][0]}, line {places[-1][1]})" if places else "")
