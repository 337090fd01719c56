"""How far something is, on one line of standard error that is taken away at the end."""

from __future__ import annotations

import sys


class Line:
    """A line that is written over, again and again."""

    def __init__(self) -> None:
        self._width = 0

    def show(self, words: str) -> None:
        """These words in place of those before."""
        sys.stderr.write("\r" + words.ljust(self._width))
        sys.stderr.flush()
        self._width = len(words)

    def end(self) -> None:
        """Takes the line away."""
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
            self._width = 0


class Steps(Line):
    """Of :meth:`sojourn.Experiment.ask`: ``2 of 6: utilization 0.7, sim  43 % ± 1.2 %``."""

    def __call__(self, variant: int, variants: int, label: str, engine: str, done: float, remark: str) -> None:
        self.show(f"{variant + 1} of {variants}: {label}, {engine} {100 * done:3.0f} % {remark}".rstrip())


class Points(Line):
    """Of :func:`sojourn.sweep`: ``7 of 200 points``, and in later rounds of a budget ``round 2: 3 of 12 points``."""

    def __init__(self) -> None:
        super().__init__()
        self._points = self._done = self._round = 0
        self._before = ""

    def begin(self, points: int, todo: list[tuple[int, int | None]]) -> None:
        """A round in which these of all points are asked."""
        self._round += 1
        # Without a budget, and in its first round, what the store has counts as done.
        is_first = self._round == 1 or all(requests is None for _, requests in todo)
        self._points = points if is_first else len(todo)
        self._done = self._points - len(todo)
        self._before = "" if is_first else f"round {self._round}: "
        self._tell()

    def one_more(self) -> None:
        """One more is finished."""
        self._done += 1
        self._tell()

    def _tell(self) -> None:
        self.show(f"{self._before}{self._done} of {self._points} point{'s' * (self._points != 1)}")
