"""Columns that hold names instead of numbers: counted, and remembered by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ._checks import refuse_lost
from ._core import Error


class Categories:
    """Which columns hold categories, and which they are. A name that was not there while fitting differs from all that were."""

    def __init__(self, X: Any, named: Iterable[Any] = ()) -> None:
        self.names: list[Any] | None = list(X.columns) if _is_frame(X) else None
        wanted = {self.place(X, column) for column in named}
        places = [j for j in range(_width(X)) if j in wanted or _may_hold_names(X, j) and _holds_names(_column(X, j))]
        self.values: dict[int, list[Any]] = {j: _distinct(_column(X, j), self._title(j)) for j in places}

    def place(self, X: Any, column: Any) -> int:
        """The position of a column that is given by name or position."""
        names = list(X.columns) if _is_frame(X) else []
        if column in names:
            return names.index(column)
        if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < _width(X):
            return int(column)
        raise Error(f"there is no column {column!r}" + (f": the columns are {', '.join(map(str, names))}" if names else f" among {_width(X)}"))

    def _title(self, place: int) -> str:
        return f'column "{self.names[place]}"' if self.names is not None else f"column {place}"

    def encode(self, X: Any) -> Any:
        """The same table with numbers in the place of names; untouched where no column holds any."""
        if not self.values or _width(X) <= max(self.values):
            return X
        codes = {j: self._codes(_column(X, j), j) for j in self.values}
        if _is_frame(X):
            X = X.copy()
            for j, code in codes.items():
                X[X.columns[j]] = code
            return X
        rows = np.asarray(X, dtype=object)
        numbers = np.empty(rows.shape, dtype=np.float64)
        for j in range(rows.shape[1]):
            numbers[:, j] = codes[j] if j in codes else rows[:, j].astype(np.float64)
            if j not in codes:
                refuse_lost(rows[:, j], rows[:, j], numbers[:, j], self._title(j))
        return numbers

    def _codes(self, column: Sequence[Any], place: int) -> Any:
        known = {value: float(code) for code, value in enumerate(self.values[place])}
        unknown = float(len(known))
        for row, value in enumerate(column):
            if _is_missing(value):
                raise Error(f"{self._title(place)}, row {row}: the category is missing; drop the row or fill it in")
        return np.array([known.get(value, unknown) for value in column], dtype=np.float64)


def with_days(X: Any) -> Any:
    """The same table with dates as days since 1970, as the command reads them; a missing one is missing."""
    dates = [j for j in range(_width(X)) if getattr(X.dtypes.iloc[j], "kind", "O") == "M"] if _is_frame(X) else []
    if not dates:
        return X
    X = X.copy()
    for j in dates:
        moments = X.iloc[:, j].to_numpy(dtype="datetime64[ns]")
        X[X.columns[j]] = (moments - np.datetime64(0, "ns")) / np.timedelta64(1, "D")
    return X


def _is_frame(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns")


def _width(X: Any) -> int:
    return X.shape[1] if len(getattr(X, "shape", ())) == 2 else 0


def _may_hold_names(X: Any, place: int) -> bool:
    """Plain numbers are not looked at one by one; an array of truths is an array of numbers."""
    if _is_frame(X):
        return getattr(X.dtypes.iloc[place], "kind", "O") not in "iufcmM"
    return isinstance(X, np.ndarray) and X.dtype.kind == "O"


def _column(X: Any, place: int) -> list[Any]:
    column: list[Any] = list(X.iloc[:, place]) if _is_frame(X) else list(np.asarray(X)[:, place])
    return column


def _holds_names(column: list[Any]) -> bool:
    """Texts and truths are names; numbers are numbers, whatever type their column has."""
    present = [value for value in column if not _is_missing(value)]
    return bool(present) and all(isinstance(value, (str, bool, np.bool_)) for value in present)


def _is_missing(value: Any) -> bool:
    return value is None or bool(value != value) if not isinstance(value, (str, dict, list, tuple)) else False


def _distinct(column: list[Any], title: str) -> list[Any]:
    try:
        return sorted({value for value in column if not _is_missing(value)}, key=lambda value: (str(type(value)), value))
    except TypeError as error:
        raise Error(f"{title} cannot hold categories: {error}") from error
