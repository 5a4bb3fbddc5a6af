"""What users hand in, as C-ordered float64 arrays: borrowed where it already is one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._checks import labels_of, refuse_lost, refuse_masked, refuse_reordered
from ._core import Error
from ._interchange import interchanged_rows

Floats = NDArray[np.float64]

NO_NUMBERS = {"c": "real numbers, not complex ones", "m": "numbers, not durations: divide them by a unit, as by np.timedelta64(1, 's')", "M": "numbers, not dates", "S": "numbers, not bytes", "U": "numbers, not text"}
NO_NUMBER_TYPES = (str, bytes, np.datetime64, np.timedelta64)


def _numbers(values: Any, what: str) -> Floats:
    """Anything array-like as float64, without importing the library it comes from."""
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise Error(f"{what} must be dense, not a sparse matrix: a kernel needs every coordinate; convert it with .toarray()")
    if hasattr(values, "index") and hasattr(values, "isna"):
        return _labelled(values, what)
    if _is_table(values):
        try:
            array, names = _core.arrow_rows(values)
        except ImportError:
            # The table's library needs another one to speak Arrow, which is not there.
            if not hasattr(values, "__array__") and not hasattr(values, "__dataframe__"):
                raise
        else:
            return array if len(names) != 1 else array.reshape(-1)
    if hasattr(values, "__dataframe__") and not hasattr(values, "__array__"):
        return interchanged_rows(values, what)
    return _plain(values, what)


def _plain(values: Any, what: str) -> Floats:
    """An array, or nested sequences of numbers."""
    refuse_masked(values, what)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise Error(f"{what} must be numbers, every row with as many as the others: {error}") from error
    if array.dtype.kind in NO_NUMBERS:
        raise Error(f"{what} must be {NO_NUMBERS[array.dtype.kind]}")
    if array.dtype.kind == "O":
        wrong = next((v for v in array.flat if isinstance(v, NO_NUMBER_TYPES)), None)
        if wrong is not None:
            raise Error(f"{what} must be numbers, not {wrong!r}")
    try:
        found = np.require(array, np.float64, ["C", "A"])
    except OverflowError:
        raise Error(f"{what} must be numbers that fit a float, at most about 1.8e308: one of them is larger; take its logarithm or another unit") from None
    except (TypeError, ValueError) as error:
        raise Error(f"{what} must be numbers: {error}") from error
    refuse_lost(values, array, found, what)
    return found


def _labelled(values: Any, what: str) -> Floats:
    """A table or column with an index, as of pandas, column by column. The index is not data: through Arrow it would come as one more column."""
    missing = np.argwhere(np.asarray(values.isna()))
    if len(missing):
        row, *column = (int(i) for i in missing[0])
        of = f', column "{values.columns[column[0]]}"' if column else ""
        raise Error(f"{what}, row {row}{of}: the value is missing; drop the row or fill it in")
    if not hasattr(values, "columns"):
        return _plain(values, what)
    columns = [_plain(values.iloc[:, j], f'{what}: column "{name}"') for j, name in enumerate(values.columns)]
    return np.ascontiguousarray(np.column_stack(columns)) if columns else np.zeros((len(values), 0))


def _is_table(values: Any) -> bool:
    """Whether it hands its columns out through Arrow. Single columns are arrays like any other."""
    if isinstance(values, np.ndarray) or not hasattr(values, "__arrow_c_stream__"):
        return False
    return hasattr(values, "columns") or hasattr(values, "column_names") or not hasattr(values, "__array__")


def rows(values: Any, what: str = "points") -> Floats:
    """Points, one per row. A one-dimensional array is that many points on a line."""
    array = _numbers(values, what)
    if array.ndim == 1:
        return array.reshape(-1, 1)
    if array.ndim != 2:
        raise Error(f"{what} must have one row per point: two dimensions, not {array.ndim}")
    return array


def vector(values: Any, what: str = "responses") -> Floats:
    """One number per observation."""
    array = _numbers(values, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.reshape(-1)
    if array.ndim != 1:
        raise Error(f"{what} must be one-dimensional, not of shape {array.shape}")
    return array


def names_of(values: Any) -> list[str] | None:
    """The names of a table's columns, where it has some and all are texts."""
    if not hasattr(values, "iloc") and not _is_table(values):
        return None
    names = list(getattr(values, "column_names", getattr(values, "columns", ())))
    return names if names and all(isinstance(name, str) for name in names) else None


def rows_named(values: Any, names: list[str] | None, what: str = "points") -> Floats:
    """Points of a model whose columns have these names: a table with others, or in another order, is refused."""
    found = names_of(values)
    if names is not None and found is not None and found != names:
        raise Error(f"{what}: the columns are {', '.join(found)}, and those of the model {', '.join(names)}, in this order: choose these")
    return rows(values, what)


def paired(x: Any, y: Any) -> tuple[Floats, Floats]:
    """Points, and one number for each."""
    refuse_reordered("X", labels_of(x), y, "y")
    return rows(x), vector(y)


def beside(x: Any, values: Any, what: str) -> Floats | None:
    """One more number for each point, where they are given."""
    refuse_reordered("X", labels_of(x), values, what)
    return None if values is None else vector(values, what)


def floats(values: Any, what: str) -> list[float]:
    """A number, or a sequence of them, as a list."""
    return [float(v) for v in _numbers(values, what).ravel()]
