"""One experiment, three answers: theory, simulation and real sockets.

>>> import sojourn
>>> answers = sojourn.queue("M/M/1", arrivals="exponential(rate = 0.8 /s)", service="exponential(mean = 1 s)")
>>> round(answers["response_time_mean"].estimate, 6)
5.0
"""

from sojourn._answers import Answers, Interval, Note, open
from sojourn._errors import InputError, Interrupted, MissingError, PolicyError, RunError, SojournError
from sojourn._experiment import Experiment
from sojourn._laws import law
from sojourn._policy import policies, policy
from sojourn._program import program
from sojourn._queue import QueueAnswers, Row, queue
from sojourn._sojourn import View, __version__
from sojourn._sweep import sweep
from sojourn._verbs import calibrate, describe, fgn, fit, hurst, import_, load, network, plan

__all__ = [
    "Answers",
    "Experiment",
    "InputError",
    "Interrupted",
    "Interval",
    "MissingError",
    "Note",
    "PolicyError",
    "QueueAnswers",
    "Row",
    "RunError",
    "SojournError",
    "View",
    "__version__",
    "calibrate",
    "describe",
    "fgn",
    "fit",
    "hurst",
    "import_",
    "law",
    "load",
    "network",
    "open",
    "plan",
    "policies",
    "policy",
    "program",
    "queue",
    "sweep",
]
