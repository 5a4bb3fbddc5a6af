"""What users hand in, as C-ordered float64 arrays: borrowed where it already is one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import Error

Floats = NDArray[np.float64]


def _numbers(values: Any, what: str) -> Floats:
    """Anything array-like as float64, without importing the library it comes from."""
    if _is_table(values):
        array, names = _core.arrow_rows(values)
        return array if len(names) != 1 else array.reshape(-1)
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise Error(f"{what} must be real numbers, not complex ones")
    try:
        return np.ascontiguousarray(array, dtype=np.float64) if array.ndim else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise Error(f"{what} must be numbers: {error}") from error


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


def floats(values: Any) -> list[float]:
    """A number, or a sequence of them, as a list."""
    return [float(v) for v in np.atleast_1d(np.asarray(values, dtype=np.float64)).ravel()]
