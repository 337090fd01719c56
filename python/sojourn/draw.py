"""Random numbers for policies that Numba compiles: the same that the simulator would draw.

``random`` is the state of the dispatcher's own stream (xoshiro256++, Blackman and Vigna, Scrambled linear pseudorandom number
generators, ACM TOMS 47, 2021), which a policy gets by naming a parameter so. The functions are those of ``sojourn_stats::Stream``.
"""

from __future__ import annotations

from typing import Any

from sojourn._errors import missing

try:
    import numpy as np
    from numba import int64, njit, uint64
except ImportError:
    raise missing("numba", "numba", "sojourn.draw") from None

__all__ = ["below", "bits", "uniform"]

_LOW = np.uint64(0xFFFF_FFFF)


@njit(inline="always")
def _rotated(word: Any, by: Any) -> Any:
    return (word << uint64(by)) | (word >> uint64(64 - by))


@njit
def bits(random: Any) -> Any:
    """64 random bits."""
    a, b, c, d = random[0], random[1], random[2], random[3]
    drawn = uint64(_rotated(uint64(a + d), 23) + a)
    shifted = uint64(b << uint64(17))
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = _rotated(d, 45)
    random[0], random[1], random[2], random[3] = a, b, c, d
    return drawn


@njit
def uniform(random: Any) -> Any:
    """A number from 0 up to 1, with 53 random bits."""
    return float(bits(random) >> uint64(11)) * (1.0 / 9007199254740992.0)


@njit
def _product(one: Any, other: Any) -> Any:
    """The high and the low word of a product of two words."""
    a, b = one >> uint64(32), one & _LOW
    c, d = other >> uint64(32), other & _LOW
    low = uint64(b * d)
    middle = uint64(uint64(a * d) + (low >> uint64(32)))
    carry = uint64(uint64(b * c) + (middle & _LOW))
    high = uint64(uint64(a * c) + (middle >> uint64(32)) + (carry >> uint64(32)))
    return high, uint64((carry << uint64(32)) | (low & _LOW))


@njit
def below(random: Any, bound: Any) -> Any:
    """A number from 0 to ``bound`` - 1, each equally likely (Lemire's method)."""
    if bound <= 0:
        raise ValueError("a choice among nothing")
    most = uint64(bound)
    high, low = _product(bits(random), most)
    if low < most:
        threshold = uint64(uint64(0) - most) % most
        while low < threshold:
            high, low = _product(bits(random), most)
    # Signed: Numba makes a float of a sum of signed and unsigned, and no float is an index.
    return int64(high)
