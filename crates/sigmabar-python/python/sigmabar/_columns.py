"""The columns of a table, whatever library it comes from, each an array of its own type: read in one place, so that equal tables give equal numbers."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import NO_NUMBER_TYPES, NO_NUMBERS, Floats
from ._checks import refuse_lost
from ._core import Error

_CONTAINERS = (str, bytes, dict, list, tuple, set, np.ndarray)
_DATES = (datetime.date, np.datetime64)


class Columns:
    """Columns in their order; those of an array or of nested lists have no names."""

    def __init__(self, names: list[Any] | None, arrays: Sequence[NDArray[Any]]) -> None:
        self.names, self.arrays = names, arrays

    def __len__(self) -> int:
        return len(self.arrays)

    def title(self, place: int) -> str:
        """What a column is called in errors."""
        return f'column "{self.names[place]}"' if self.names is not None else f"column {place}"

    def values(self, place: int) -> list[Any]:
        """What stands in a column, dates as days: things that can be compared across libraries."""
        array = self.arrays[place]
        if array.dtype.kind == "M":
            return _days(array).tolist()  # type: ignore[no-any-return]
        return list(array) if array.dtype.kind in "mO" else array.tolist()

    def may_hold_names(self, place: int) -> bool:
        """Plain numbers are not looked at one by one; an array of truths is an array of numbers, a column of them is not."""
        return self.arrays[place].dtype.kind in ("O" if self.names is None else "ObUT")

    def numbers(self, place: int) -> Floats:
        """A column of numbers or dates, what is missing as NaN."""
        array, title = self.arrays[place], f"X: {self.title(place)}"
        kind = array.dtype.kind
        if kind == "M":
            return _days(array)
        if kind == "O":
            return _of_objects(array, title)
        if kind not in "biuf":
            raise Error(f"{title} must be {NO_NUMBERS.get(kind, 'numbers')}")
        found = array.astype(np.float64)
        refuse_lost(array, array, found, title)
        return found


def columns_of(X: Any) -> Columns | None:
    """The columns of a table of pandas, Polars or Arrow, of an array or of nested lists; ``None`` for anything else."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return Columns(list(X.columns), [_array(X.iloc[:, j]) for j in range(X.shape[1])])
    if hasattr(X, "get_columns"):
        return Columns(list(X.columns), [_array(column) for column in X.get_columns()])
    if hasattr(X, "column_names") and hasattr(X, "columns"):
        return Columns(list(X.column_names), [_array(column) for column in X.columns])
    if isinstance(X, (list, tuple)):
        try:
            X = np.array(X, dtype=object)
        except ValueError:
            # Rows of different lengths: who checks arrays says so.
            return None
    elif hasattr(X, "__array__"):
        X = np.asarray(X)
    return Columns(None, list(X.T)) if isinstance(X, np.ndarray) and X.ndim == 2 else None


def is_missing(value: Any) -> bool:
    """Whether nothing stands there: ``None``, NaN, or what pandas has for them."""
    if value is None or isinstance(value, _CONTAINERS):
        return value is None
    try:
        return bool(value != value)
    except TypeError:
        # What is not known to differ from itself is not known.
        return True


def _array(column: Any) -> NDArray[Any]:
    """A column as NumPy has it. With a time zone pandas would make an object of every moment."""
    dtype = getattr(column, "dtype", None)
    is_zoned = getattr(dtype, "kind", None) == "M" and getattr(dtype, "tz", None) is not None
    return np.asarray(column, dtype=f"datetime64[{dtype.unit}]" if is_zoned else None)  # type: ignore[union-attr]


def _days(moments: NDArray[Any]) -> Floats:
    """Days since 1970, as the command reads dates. Whole microseconds are exact as floats for centuries, so that their unit in the table makes no difference."""
    micro = moments.astype("datetime64[us]")
    exact = micro if bool(((micro == moments) | np.isnat(moments)).all()) else moments
    days: Floats = (exact - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    return days


def _of_objects(column: NDArray[Any], title: str) -> Floats:
    """Numbers or dates that came one by one."""
    gone = np.array([is_missing(value) for value in column], dtype=bool)
    if not gone.all() and all(isinstance(value, _DATES) for value in column[~gone]):
        return _days(np.array([np.datetime64("NaT", "us") if lost else _moment(value) for value, lost in zip(column, gone)]))
    found = np.full(len(column), np.nan)
    for row in np.flatnonzero(~gone):
        value = column[row]
        try:
            if isinstance(value, NO_NUMBER_TYPES):
                raise TypeError
            found[row] = float(value)
        except OverflowError:
            raise Error(f"{title}, row {row}: the number does not fit a float, at most about 1.8e308; take its logarithm or another unit") from None
        except (TypeError, ValueError):
            raise Error(
                f"{title}, row {row}: {value!r} is no number; a column holds numbers, dates, texts or truths alone: convert it, or name it in categorical="
            ) from None
    refuse_lost(column, column, found, title)
    return found


def _moment(value: Any) -> Any:
    """A date or time of Python or pandas, in UTC where it names a zone."""
    if hasattr(value, "to_datetime64"):
        return value.to_datetime64()
    if getattr(value, "tzinfo", None) is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return np.datetime64(value)
