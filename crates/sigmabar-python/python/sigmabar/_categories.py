"""Columns that hold names instead of numbers: counted, and remembered by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ._arrays import Floats
from ._columns import Columns, is_missing
from ._core import Error


class Categories:
    """Which columns hold categories, and which they are. A name that was not there while fitting differs from all that were."""

    def __init__(self, table: Columns, named: Iterable[Any] = ()) -> None:
        self.width = len(table)
        wanted = {place_of(table, column) for column in ([named] if isinstance(named, str) else named)}
        places = [j for j in range(len(table)) if j in wanted or table.may_hold_names(j) and _holds_names(table.values(j))]
        self.values: dict[int, list[Any]] = {j: _distinct(table.values(j), table.title(j)) for j in places}

    def encode(self, table: Columns) -> Floats:
        """The table as numbers: names by their number."""
        columns = [self._codes(table, j) if j in self.values else table.numbers(j) for j in range(len(table))]
        return np.column_stack(columns) if columns else np.empty((0, 0))

    def _codes(self, table: Columns, place: int) -> Floats:
        known = {value: float(code) for code, value in enumerate(self.values[place])}
        written = {_written(value): value for value in known}
        codes, title = np.full(len(table.arrays[place]), float(len(known))), table.title(place)
        for row, value in enumerate(table.values(place)):
            if is_missing(value):
                raise Error(f"{title}, row {row}: the category is missing; drop the row or fill it in")
            if value in known:
                codes[row] = known[value]
            elif _written(value) in written:
                taught = written[_written(value)]
                raise Error(f"{title}, row {row}: {value!r} is not {taught!r}, which the model was taught: give texts as texts and numbers as numbers")
        return codes


def place_of(table: Columns, column: Any) -> int:
    """The position of a column that is given by name or position."""
    names = table.names or []
    if column in names:
        return names.index(column)
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < len(table):
        return int(column)
    raise Error(f"there is no column {column!r}" + (f": the columns are {', '.join(map(str, names))}" if names else f" among {len(table)}"))


def _written(value: Any) -> str:
    """How a category reads, whether it is a text or a number."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _holds_names(column: list[Any]) -> bool:
    """Texts and truths are names; numbers are numbers, whatever type their column has."""
    present = [value for value in column if not is_missing(value)]
    return bool(present) and all(isinstance(value, (str, bool, np.bool_)) for value in present)


def _distinct(column: list[Any], title: str) -> list[Any]:
    try:
        return sorted({value for value in column if not is_missing(value)}, key=lambda value: (str(type(value)), value))
    except TypeError as error:
        raise Error(f"{title} cannot hold categories: {error}") from error
