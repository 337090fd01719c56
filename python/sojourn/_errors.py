"""Errors: one tree, with what the one line of a message says in attributes."""

from __future__ import annotations

import ctypes
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sojourn._answers import Answers

_PLACE = re.compile(r"^(?P<file>[^\n]+?):(?P<line>\d+): (?P<rest>.*)$", re.DOTALL)
_NEAREST = re.compile(r"did you mean `([^`]+)`")
_KEY = re.compile(
    r"^(?:with [^:]*: )?(?:--set )?(?:unknown key `(?P<unknown>[^`]+)`|(?P<set>[a-z_][a-z_.0-9]*)=|(?P<key>[a-z_][a-z_.0-9]*):)"
)


class SojournError(Exception):
    """What went wrong, in one line that also says what would be right.

    ``file``, ``line``, ``key`` and ``nearest`` are what the line says of the place and of the name that was probably meant;
    each is None where it says nothing of it.
    """

    file: str | None
    line: int | None
    key: str | None
    nearest: str | None

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        place = _PLACE.match(message)
        rest = place["rest"] if place else message
        key = _KEY.match(rest)
        nearest = _NEAREST.search(rest)
        self.file = place["file"] if place else None
        self.line = int(place["line"]) if place else None
        self.key = (key["unknown"] or key["set"] or key["key"]) if key else None
        self.nearest = nearest[1] if nearest else None


class InputError(SojournError, ValueError):
    """An experiment, a law, a file or a value is wrong; nothing was run."""


class RunError(SojournError, RuntimeError):
    """Something failed while it ran."""


class PolicyError(RunError):
    """A policy of your own raised, chose what may not be chosen, or did not return: ``file`` and ``line`` say where.

    What it raised is the ``__cause__``.
    """


class MissingError(SojournError, ImportError):
    """A package that is only needed for this is not installed; the message has the command that installs it."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or the notebook's stop button. ``answers`` is what there was by then, marked INCOMPLETE, or None."""

    def __init__(self, answers: Answers | None) -> None:
        super().__init__()
        self.answers = answers


class _Thrown(BaseException):
    """Thrown into a policy that does not return."""


def throw_into(thread: int) -> None:
    """Raises in the thread of this number at its next step in Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Thrown))


def where(thread: int) -> str | None:
    """The line that the thread of this number is at, in the outermost of its code: of a policy its own, whatever it has called."""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_back is not None:
        frame = frame.f_back
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def told(words: str) -> SojournError:
    """The error of another process, from its kind and its message."""
    kind, _, message = words.partition(": ")
    known: dict[str, type[SojournError]] = {"PolicyError": PolicyError, "InputError": InputError}
    return known[kind](message) if kind in known else RunError(words)


def missing(package: str, extra: str, why: str) -> MissingError:
    """The error that says how to install what ``why`` needs."""
    return MissingError(f"{why} needs {package}: pip install 'sojourn[{extra}]'")
