"""Numbers from lists, arrays and columns of data frames, as arrays of doubles that the Rust half reads where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sojourn._errors import InputError, missing


def is_column(value: Any) -> bool:
    """Whether it has many numbers: a list, an array, a column of a data frame."""
    if isinstance(value, (str, bytes)) or hasattr(value, "dist"):
        return False
    return isinstance(value, Sequence) or getattr(value, "ndim", 0) > 0 or hasattr(value, "to_numpy") or _is_arrow(value)


def _is_arrow(value: Any) -> bool:
    """Whether it hands its numbers over by Arrow's PyCapsule interface."""
    return hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__")


def doubles(series: Any) -> Any:
    """Numbers as an array of doubles, of NumPy's or, without NumPy, of Python's own. Doubles that stand in one piece are not copied, so the
    array may be the caller's. What is missing is nan in it: the Rust half says so.

    Raises:
        InputError: for what is no column of numbers.
    """
    return _read(series, "number {}".format)[0]


def times(series: Any, name: str, unit: str | None) -> tuple[Any, str]:
    """Lengths of time as such an array, and their unit: seconds, unless ``unit`` says otherwise or they know it themselves."""
    values, own_unit = _read(series, f"{name}[{{}}]".format)
    if own_unit is not None and unit is not None:
        raise InputError(f"{name} knows its own unit: leave out unit = {unit!r}")
    return values, own_unit or unit or "s"


def _read(series: Any, place: Any) -> tuple[Any, str | None]:
    if not hasattr(series, "to_numpy") and _is_arrow(series):
        series = _of_arrow(series)
    if hasattr(series, "to_numpy"):
        series = _to_numpy(series)
    try:
        import numpy
    except ImportError:
        return _without_numpy(series), None
    own_unit = None
    kind = getattr(getattr(series, "dtype", None), "kind", "")
    if kind == "M":
        raise InputError(f"{place(0)} is an instant: take the differences, such as by .diff(), or a column of numbers")
    if kind == "c":
        raise InputError("these are complex numbers: take their real parts, or their absolute values")
    if isinstance(series, numpy.ma.MaskedArray):
        filled: Any = numpy.ma.filled
        series = filled(series, numpy.timedelta64("NaT")) if kind == "m" else filled(series.astype(numpy.float64), numpy.nan)
    if kind == "m":
        missing = numpy.isnat(series)
        # Whole numbers of nanoseconds, of which doubles have 53 bits.
        series = numpy.where(missing, numpy.nan, series.astype("timedelta64[ns]").astype(numpy.float64))
        own_unit = "ns"
    try:
        # In one piece and aligned: itself where it is, else a copy.
        values = numpy.require(series, numpy.float64, ["C", "A", "E"])
    except (TypeError, ValueError) as error:
        gone = next((at for at, one in enumerate(series) if one is None or "NA" in type(one).__name__), None)
        if gone is not None:
            raise InputError(f"{place(gone)} is missing: leave out what is missing or infinite") from None
        raise InputError(f"these are no numbers: {error}") from None
    if values.ndim != 1:
        raise InputError(f"a column of numbers has one dimension, not {values.ndim}")
    return values, own_unit


def _of_arrow(series: Any) -> Any:
    try:
        import polars
    except ImportError:
        raise missing("polars", "notebook", "a column that only speaks Arrow") from None
    return polars.Series(values=series)


def _to_numpy(series: Any) -> Any:
    try:
        return series.to_numpy()
    except ImportError:
        # Without NumPy it has its numbers one by one.
        return series
    except ValueError as error:
        try:
            # Of pyarrow's, where a number is missing, only a copy.
            return series.to_numpy(zero_copy_only=False)
        except (TypeError, ValueError):
            raise InputError(f"these are no numbers: {error}") from None


def _without_numpy(series: Any) -> Any:
    from array import array

    try:
        return array("d", series)
    except TypeError as error:
        raise InputError(f"these are no numbers: {error}") from None
