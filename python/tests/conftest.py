"""What tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import sojourn
from sojourn import _policy

ROOT = Path(__file__).parents[2]

# A shell starts what runs in the background with interrupts ignored, and Python then leaves them so: tests that press Ctrl-C would wait.
signal.signal(signal.SIGINT, signal.default_int_handler)

FOUR = """
name = "four servers"
[workload]
kind = "open"
arrivals = "exponential(utilization = 0.7)"
[[system.tier]]
face = "gateway"
policy = "random"
targets = { servers = 4 }
[system.server]
discipline = "ps"
demand = "exponential(mean = 10 ms)"
[run]
max_jobs = 200_000
"""


@pytest.fixture
def four() -> sojourn.Experiment:
    """Four servers behind a gateway, each an M/M/1-PS at 0.7 where a policy sends at random."""
    return sojourn.Experiment.from_text(FOUR, "four.toml")


@pytest.fixture(autouse=True)
def own_policies() -> Iterator[None]:
    """Policies that a test defines end with it."""
    before = dict(_policy._own)
    yield
    _policy._own.clear()
    _policy._own.update(before)
