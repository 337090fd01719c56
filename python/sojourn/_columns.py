"""Numbers from lists, arrays and columns of data frames, as the bytes of doubles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sojourn._errors import InputError


def is_column(value: Any) -> bool:
    """Whether it has many numbers: a list, an array, a column of a data frame."""
    if isinstance(value, (str, bytes)) or hasattr(value, "dist"):
        return False
    return isinstance(value, Sequence) or getattr(value, "ndim", 0) > 0 or hasattr(value, "to_numpy")


def doubles(series: Any) -> bytes:
    """Numbers as the bytes of doubles.

    Raises:
        InputError: for what is no column of numbers, and for the first number that is missing or infinite.
    """
    values, _ = _read(series, "number {}".format)
    return values


def times(series: Any, name: str, unit: str | None) -> tuple[bytes, str]:
    """Lengths of time as the bytes of doubles, and their unit: seconds, unless ``unit`` says otherwise or they know it themselves."""
    values, own_unit = _read(series, f"{name}[{{}}]".format)
    if own_unit is not None and unit is not None:
        raise InputError(f"{name} knows its own unit: leave out unit = {unit!r}")
    return values, own_unit or unit or "s"


def _read(series: Any, place: Any) -> tuple[bytes, str | None]:
    if hasattr(series, "to_numpy"):
        series = series.to_numpy()
    try:
        import numpy
    except ImportError:
        return _without_numpy(series, place), None
    own_unit = None
    kind = getattr(getattr(series, "dtype", None), "kind", "")
    if kind == "M":
        raise InputError(f"{place(0)} is an instant: take the differences, such as by .diff(), or a column of numbers")
    if kind == "m":
        missing = numpy.isnat(series)
        # Whole numbers of nanoseconds, of which doubles have 53 bits.
        series = numpy.where(missing, numpy.nan, series.astype("timedelta64[ns]").astype(numpy.float64))
        own_unit = "ns"
    try:
        values = numpy.ascontiguousarray(series, dtype=numpy.float64)
    except (TypeError, ValueError) as error:
        gone = next((at for at, one in enumerate(series) if one is None or "NA" in type(one).__name__), None)
        if gone is not None:
            raise InputError(f"{place(gone)} is missing: leave out what is missing or infinite") from None
        raise InputError(f"these are no numbers: {error}") from None
    if values.ndim != 1:
        raise InputError(f"a column of numbers has one dimension, not {values.ndim}")
    # A sum of numbers is one where each of them is.
    if not numpy.isfinite(values.sum()) and not (finite := numpy.isfinite(values)).all():
        at = int(numpy.argmin(finite))
        raise InputError(f"{place(at)} is {values[at]}: leave out what is missing or infinite")
    return values.tobytes(), own_unit


def _without_numpy(series: Any, place: Any) -> bytes:
    from array import array

    try:
        numbers = array("d", series)
    except TypeError as error:
        raise InputError(f"these are no numbers: {error}") from None
    wrong = next((at for at, one in enumerate(numbers) if one - one != 0), None)
    if wrong is not None:
        raise InputError(f"{place(wrong)} is {numbers[wrong]}: leave out what is missing or infinite") from None
    return numbers.tobytes()
