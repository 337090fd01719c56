"""Policies in Python: they choose what they say, and what goes wrong with them is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import sojourn


class PowerOfTwo:
    """Two choices, as the built-in policy draws them."""

    requires = ("in-flight",)

    def __init__(self, d: int = 2) -> None:
        self.d = d

    def choose(self, ask: sojourn.View) -> int | None:
        candidates = ask.candidates
        drawn: list[int] = []
        while len(drawn) < min(self.d, len(candidates)):
            one = candidates[ask.below(len(candidates))]
            if one not in drawn:
                drawn.append(one)
        return min(drawn, key=ask.load)


def rows(four: sojourn.Experiment, policy: str) -> list[object]:
    """What the event loop says of a policy, but for its name."""
    columns = four.set(policy=policy).set("run.engine", "events").set("run.max_jobs", 20_000).ask("sim").columns()
    return [columns[name] for name in ("metric", "estimate", "ci_low", "ci_high", "samples")]


def test_a_class_chooses_as_the_built_in_policy_does(four: sojourn.Experiment) -> None:
    """To the last bit: the same draws from the same stream, the same counts."""
    sojourn.policy(PowerOfTwo)
    assert rows(four, "power-of-two") == rows(four, "power-of-d")
    assert rows(four, "power-of-two(d = 3)") == rows(four, "power-of-d(d = 3)")
    with pytest.raises(sojourn.InputError, match="has no parameter `e`"):
        rows(four, "power-of-two(e = 3)")


def test_a_compiled_function_chooses_as_the_built_in_policy_does(four: sojourn.Experiment) -> None:
    pytest.importorskip("numba")
    from sojourn.draw import below

    @sojourn.policy
    def two_choices(candidates, load, random, *, d=2.0):  # type: ignore[no-untyped-def]
        one = candidates[below(random, len(candidates))]
        other = candidates[below(random, len(candidates))]
        while other == one:
            other = candidates[below(random, len(candidates))]
        return other if load[other] < load[one] else one

    assert rows(four, "two-choices") == rows(four, "power-of-d")
    assert rows(four, "two-choices(d = 2.0)") == rows(four, "power-of-d")
    with pytest.raises(sojourn.InputError, match="parameters are numbers"):
        rows(four, "two-choices(d = few)")


def test_theory_and_variants_know_them(four: sojourn.Experiment) -> None:
    sojourn.policy(PowerOfTwo)
    answers = four.vary(policy=["random", "power-of-two"]).ask(["theory", "sim"])
    assert any("power-of-two" in note.variants and note.engine == "theory" for note in answers.notes)
    two = answers.get("response_time_mean", engine="sim", policy="power-of-two")
    random = answers.get("response_time_mean", engine="sim", policy="random")
    assert two.high < random.low


def test_feedback_and_memory(four: sojourn.Experiment) -> None:
    """A policy that counts by itself chooses as one that reads the counts: fewest in flight, the first of them."""
    pytest.importorskip("numba")

    @sojourn.policy
    class Fewest:
        requires = ("in-flight",)

        def choose(self, ask: sojourn.View) -> int | None:
            return min(ask.candidates, key=ask.load, default=None)

    @sojourn.policy
    class Counts:
        requires = ("in-flight",)

        def __init__(self) -> None:
            self.inside: dict[int, int] = {}

        def choose(self, ask: sojourn.View) -> int:
            best = min(ask.candidates, key=lambda one: self.inside.get(one, 0))
            self.inside[best] = self.inside.get(best, 0) + 1
            return best

        def observe(self, what: str, server: int, seconds: float | None, now: float) -> None:
            if what in ("completed", "failed", "cancelled"):
                assert what == "cancelled" or (seconds is not None and 0 <= seconds <= now)
                self.inside[server] -= 1

    @sojourn.policy(memory=4, requires=["in-flight"])
    def remembers(candidates, memory):  # type: ignore[no-untyped-def]
        best = candidates[0]
        for one in candidates:
            if memory[one] < memory[best]:
                best = one
        memory[best] += 1
        return best

    @remembers.feedback
    def learn(what, server, seconds, memory):  # type: ignore[no-untyped-def]
        memory[server] -= 1

    least = rows(four, "fewest")
    assert least == rows(four, "counts") == rows(four, "remembers")
    assert least == rows(four, "least-connections-lowest-id")


def test_a_server_that_is_down_is_no_candidate(four: sojourn.Experiment) -> None:
    seen: set[tuple[int, ...]] = set()

    @sojourn.policy
    class Looks:
        requires = ("in-flight",)

        def choose(self, ask: sojourn.View) -> int | None:
            seen.add(tuple(ask.candidates))
            return ask.candidates[0] if ask.candidates else None

    four.set("system.tier.0.limit", {"connections": 2}).set("policy", "looks").set("run.duration", "5 s").ask("sim")
    assert (0, 1, 2, 3) in seen and (1, 2, 3) in seen, "a server that is full is left out"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("ask.nothing", "choose raised AttributeError"),
        ("1 / 0", "choose raised ZeroDivisionError: division by zero"),
        ("17", "chose 17: no server has that number; it may choose 0, 1, 2, 3"),
        ("-1", "chose -1: no server has that number"),
        ("'s1'", "it answered with a str"),
        ("True", "it answered with a truth value"),
        ("1.5", "it answered with a float"),
        ("ask.load(0)", "`load` is not known here: the policy's `requires` does not name it"),
        ("ask.below(0)", "a choice among nothing"),
        ("ask.weight(9)", "there is no server 9"),
    ],
)
def test_what_a_class_does_wrong_is_told(four: sojourn.Experiment, body: str, says: str) -> None:
    scope: dict[str, object] = {}
    exec(f"class Wrong:\n    def choose(self, ask): return {body}\n", scope)
    sojourn.policy(scope["Wrong"])
    with pytest.raises(sojourn.PolicyError) as raised:
        four.set(policy="wrong").ask("sim")
    assert says in str(raised.value) and "policy `wrong`" in str(raised.value)
    assert (raised.value.file, raised.value.line) == ("<string>", 2)


def test_what_observe_and_init_raise_is_told(four: sojourn.Experiment) -> None:
    @sojourn.policy(name="wrong")
    class Observes(PowerOfTwo):
        def observe(self, *_: object) -> None:
            raise KeyError("lost")

    with pytest.raises(sojourn.PolicyError, match="observe raised KeyError: 'lost'") as raised:
        four.set(policy="wrong").ask("sim")
    assert isinstance(raised.value.__cause__, KeyError)

    @sojourn.policy(name="wrong")
    class Begins(PowerOfTwo):
        def __init__(self) -> None:
            raise OSError("no file")

    with pytest.raises(sojourn.InputError, match="making it raised OSError: no file"):
        four.set(policy="wrong").ask("sim")


# Numba hands the exception to Python's hook for those that nothing can catch, which prints it; pytest makes a warning of it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_a_compiled_function_does_wrong_is_told(four: sojourn.Experiment) -> None:
    pytest.importorskip("numba")

    @sojourn.policy(name="wrong")
    def raises(candidates):  # type: ignore[no-untyped-def]
        if len(candidates) > 2:
            raise ValueError("too many")
        return 0

    with pytest.raises(sojourn.PolicyError, match="raised an exception, which Numba has printed"):
        four.set(policy="wrong").ask("sim")

    @sojourn.policy(name="wrong")
    def far(candidates):  # type: ignore[no-untyped-def]
        return 17

    with pytest.raises(sojourn.PolicyError, match="chose 17: no server has that number"):
        four.set(policy="wrong").ask("sim")

    @sojourn.policy(name="wrong")
    def untyped(candidates):  # type: ignore[no-untyped-def]
        return "s1"

    with pytest.raises(sojourn.InputError, match="Numba cannot compile it: No conversion"):
        four.set(policy="wrong").ask("sim")


def pressed(after: float) -> list[float]:
    """Ctrl-C in so many seconds; and when that was."""
    at: list[float] = []

    def press() -> None:
        at.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(after, press).start()
    return at


class Never(PowerOfTwo):
    """Chooses for ever."""

    steps = 0

    def choose(self, ask: sojourn.View) -> int:
        while True:
            Never.steps += 1


def has_ended() -> bool:
    """Whether no thread chooses any more."""
    before = Never.steps
    time.sleep(0.1)
    return Never.steps == before


def test_one_that_never_returns_is_ended_and_its_line_is_told(four: sojourn.Experiment) -> None:
    sojourn.policy(Never)
    began = time.monotonic()
    with pytest.raises(sojourn.PolicyError, match="policy `never`: choose has not returned for 0.3 s$") as raised:
        four.set(policy="never").ask("sim", policy_patience=0.3)
    assert time.monotonic() - began < 5
    first = Never.choose.__code__.co_firstlineno
    assert raised.value.file == __file__ and raised.value.line in (first + 1, first + 2)
    assert has_ended()


class Observes(PowerOfTwo):
    def observe(self, *_: object) -> None:
        while True:
            pass


class Begins(PowerOfTwo):
    def __init__(self) -> None:
        while True:
            pass


@pytest.mark.parametrize(("policy", "call"), [(Observes, "observe"), (Begins, "__init__")])
def test_whatever_is_called_of_it_may_take_only_so_long(four: sojourn.Experiment, policy: type, call: str) -> None:
    sojourn.policy(policy)
    with pytest.raises(sojourn.PolicyError, match=f": {call} has not returned for 0.3 s$") as raised:
        four.set(policy=policy.__name__.lower()).ask("sim", policy_patience=0.3)
    first = vars(policy)[call].__code__.co_firstlineno
    assert raised.value.file == __file__ and raised.value.line in (first + 1, first + 2)


def test_ctrl_c_ends_one_that_never_returns_within_a_second(four: sojourn.Experiment) -> None:
    sojourn.policy(Never)
    at = pressed(0.7)
    with pytest.raises(sojourn.Interrupted):
        four.set(policy="never").ask("sim")
    assert time.monotonic() - at[0] < 1.0
    assert has_ended()


# Compiled code runs on in its thread, so in a process of its own.
COMPILED = """
import os, signal, threading, time, sojourn
@sojourn.policy
def never(candidates, load):
    x = 0
    while x >= 0:
        x = (x + load[0] + 1) % 7
    return x
asked = sojourn.Experiment.from_text({text!r}).set(policy="never")
"""
LEFT = "compiled code cannot be stopped, so its thread is left behind, and keeps a core busy until this process ends"


def run_compiled(four: sojourn.Experiment, script: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("numba")
    script = COMPILED.format(text=four.text) + script
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert said.returncode == 0, said.stderr
    return said


def test_a_compiled_one_that_never_returns_is_left_behind(four: sojourn.Experiment) -> None:
    said = run_compiled(four, """
try:
    asked.ask("sim", policy_patience=0.3)
except sojourn.PolicyError as error:
    print(error)
""")
    assert said.stdout == f"<string>:3: policy `never`: it has not returned for 0.3 s; {LEFT}\n"


def test_ctrl_c_leaves_a_compiled_one_behind_within_a_second(four: sojourn.Experiment) -> None:
    said = run_compiled(four, """
# Compiled by then.
from sojourn import _policy
_policy.registered(asked.text)
began = [0.0]
def press():
    time.sleep(1.0)
    began[0] = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    asked.ask("sim", policy_patience=1e6)
except sojourn.Interrupted as interrupted:
    print(time.monotonic() - began[0] < 1.0, interrupted.answers)
""")
    assert said.stdout == "True None\n"
    assert f"RuntimeWarning: <string>:3: policy `never`: it does not return; {LEFT}" in said.stderr


def test_names_and_signals_that_are_not_known(four: sojourn.Experiment) -> None:
    with pytest.raises(sojourn.InputError, match="no method `choose`"):
        sojourn.policy(type("Nothing", (), {}))
    with pytest.raises(sojourn.InputError, match="there is no `laod` to read"):
        sojourn.policy(lambda laod: 0)  # type: ignore[arg-type]
    sojourn.policy(PowerOfTwo)
    with pytest.raises(sojourn.InputError) as raised:
        four.set(policy="power-of-tow").ask("sim")
    assert raised.value.nearest == "power-of-two"
    sojourn.policy(type("Wrong", (PowerOfTwo,), {"requires": ("in-fligt",)}))
    with pytest.raises(sojourn.InputError, match="unknown signal `in-fligt`; did you mean `in-flight`"):
        four.set(policy="wrong").ask("sim")
    # A face that does not tell what it needs refuses it before the run.
    sojourn.policy(type("Wrong", (PowerOfTwo,), {"requires": ("room",)}))
    with pytest.raises(sojourn.InputError, match="policy `wrong` needs the room and capacity that backends report"):
        four.set(policy="wrong").ask("sim")
    sojourn.policy(type("RoundRobin", (PowerOfTwo,), {}))
    with pytest.raises(sojourn.InputError, match="the catalogue has a policy of this name already"):
        four.ask("sim")


def test_live_refuses_them_with_the_reason(four: sojourn.Experiment) -> None:
    sojourn.policy(PowerOfTwo)
    with pytest.raises(sojourn.InputError, match="live parts are other programs, which do not know your policy `power-of-two`"):
        four.set(policy="power-of-two").ask("live")


def test_draws_are_those_of_the_stream(four: sojourn.Experiment) -> None:
    """What Numba draws from a stream is what Rust draws from it: fractions, and whole numbers below any bound."""
    numba = pytest.importorskip("numba")
    import numpy
    from sojourn.draw import below, bits, uniform

    # The first numbers of xoshiro256++ from this state, as its authors' code in C gives them (rand_xoshiro has them too).
    state = numpy.array([1, 2, 3, 4], dtype=numpy.uint64)
    assert [int(bits(state)) for _ in range(4)] == [41943041, 58720359, 3588806011781223, 3591011842654386]
    large = 3 * 2**61 + 1

    @sojourn.policy
    class Draws:
        def choose(self, ask: sojourn.View) -> int:
            drawn = int(4 * ask.uniform()) + ask.below(large) + ask.below(3) + ask.below(1)
            return ask.candidates[drawn % len(ask.candidates)]

    @sojourn.policy
    def draws_too(candidates, random):  # type: ignore[no-untyped-def]
        drawn = numba.uint64(4 * uniform(random)) + below(random, large) + below(random, 3) + below(random, 1)
        return candidates[drawn % len(candidates)]

    assert rows(four, "draws") == rows(four, "draws-too")


def test_one_that_cannot_be_compiled_says_why_in_a_line_and_is_in_no_others_way(four: sojourn.Experiment) -> None:
    pytest.importorskip("numba")

    @sojourn.policy(name="broken")
    def broken(candidates, load):  # type: ignore[no-untyped-def]
        return candidates[0.5 * load[0]]

    short = four.set("run.max_jobs", 1000)
    line = broken.__code__.co_firstlineno + 2
    with pytest.raises(sojourn.InputError, match=rf"Numba cannot compile it: Unsupported array index type float64.* line {line}\)$"):
        short.set(policy="broken").ask("sim")
    assert short.set(policy="random").ask("sim").verdict == "VALID"
    with pytest.raises(sojourn.InputError, match="did you mean `broken`"):
        short.set(policy="brokn").ask("sim")


def test_a_drawn_number_is_an_index_also_after_sums(four: sojourn.Experiment) -> None:
    pytest.importorskip("numba")
    from sojourn.draw import below

    @sojourn.policy(name="two-distinct")
    def two(candidates, load, random):  # type: ignore[no-untyped-def]
        count = len(candidates)
        one = below(random, count)
        other = below(random, count - 1)
        if other >= one:
            other += 1
        return candidates[one] if load[candidates[one]] <= load[candidates[other]] else candidates[other]

    short = four.set("run.max_jobs", 20_000)
    assert short.set(policy="two-distinct").ask("sim").verdict == "VALID"
