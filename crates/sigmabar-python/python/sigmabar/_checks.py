"""Numbers as users hand them in: refused by the name of the parameter."""

from __future__ import annotations

import operator
from decimal import Decimal
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from ._core import Error

_LARGEST_SEED = 2**64 - 1


def number(value: Any, what: str) -> float:
    """A real number. Neither a text that looks like one nor yes or no is meant as a number."""
    try:
        if isinstance(value, (str, bytes, bool, np.bool_, np.complexfloating)):
            raise TypeError
        return float(value)
    except OverflowError:
        raise Error(f"{what} must be a number that fits a float, at most about 1.8e308, not one of {value.bit_length()} bits") from None
    except (TypeError, ValueError):
        raise Error(f"{what} must be a number, not {value!r}") from None


def number_or_none(value: Any, what: str) -> float | None:
    """A real number, or none."""
    return None if value is None else number(value, what)


def labels_of(values: Any) -> Any:
    """The labels of the rows of a table or column of pandas; none of anything else."""
    return values.index if hasattr(values, "iloc") else None


def refuse_reordered(of: Any, labels: Any, values: Any, what: str) -> None:
    """Refuses a column of pandas whose labels are those of its rows in another order: pandas would put them together by label, and here they go by place."""
    if labels is None or not hasattr(values, "iloc") or len(labels) != len(values) or values.index.equals(labels):
        return
    given, wanted = list(values.index), list(labels)
    if given != wanted and set(given) == set(wanted):
        raise Error(
            f"{what} has the labels of {of} in another order, and they are taken by their places: put both in one order, as {what}.loc[…] does, or drop the labels with {what}.to_numpy()"
        )


def refuse_masked(values: Any, what: str) -> None:
    """Refuses a value that is masked: what stands under a mask is anything."""
    parts = [((i,), part) for i, part in enumerate(values)] if isinstance(values, (list, tuple)) else [((), values)]
    for row, part in parts:
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            place = ", ".join(str(i) for i in (*row, *np.argwhere(np.ma.getmaskarray(part))[0]))
            raise Error(f"{what}: the value at [{place}] is masked; drop its row or fill it in")


def refuse_lost(values: Any, array: Any, found: Any, what: str) -> None:
    """Refuses a whole number that floats cannot hold: it and its neighbours would be one number. ``found`` are the floats of ``array``, which NumPy made of ``values``."""
    if array.dtype.kind in "iu":
        if array.dtype.itemsize < 8:
            return
        with np.errstate(invalid="ignore"):
            lost = np.argwhere((found.astype(array.dtype) != array) | (found >= 2.0 ** (63 if array.dtype.kind == "i" else 64)))
    elif array.dtype.kind == "O" or array.dtype.kind == "f" and not hasattr(values, "dtype"):
        # Beside a fraction NumPy makes a float of every whole number, before anybody can look at it.
        large = np.argwhere(np.abs(found) >= 2.0**53)
        array = np.asarray(values, dtype=object) if len(large) else array
        lost = np.array([p for p in large if isinstance(array[tuple(p)], Integral) and int(array[tuple(p)]) != int(found[tuple(p)])])
        _refuse_lost_digits(array, found, what)
    else:
        return
    if len(lost):
        raise Error(
            f"{what}{_place(lost[0])}: {int(array[tuple(lost[0])])} is a whole number that 64-bit floats cannot tell from its neighbours; "
            "number what it names 0, 1, 2, …, or subtract an offset"
        )


def _refuse_lost_digits(array: Any, found: Any, what: str) -> None:
    """Refuses a decimal with more digits than its float is written with, as the command does."""
    if array.dtype.kind != "O":
        return
    for place, value in np.ndenumerate(array):
        if isinstance(value, Decimal) and value.is_finite() and value not in (Decimal(float(found[place])), Decimal(repr(float(found[place])))):
            raise Error(f"{what}{_place(place)}: {value} has more digits than 64-bit floats keep; round it, or subtract an offset")


def _place(place: Any) -> str:
    return "".join(f", {word} {j}" for word, j in zip(("row", "column"), place))


def count(value: Any, what: str, least: int = 0) -> int:
    """A whole number of things."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise Error(f"{what} must be a whole number, not {value!r}") from None
    if whole < least:
        raise Error(f"{what} must be at least {least}, not {whole}")
    return whole


def count_or_none(value: Any, what: str, least: int = 0) -> int | None:
    """A whole number of things, or none."""
    return None if value is None else count(value, what, least)


def text(value: Any, what: str) -> str:
    """A name or a choice."""
    if not isinstance(value, str):
        raise Error(f"{what} must be text, not {value!r}")
    return value


def text_or_none(value: Any, what: str) -> str | None:
    """A name or a choice, or none."""
    return None if value is None else text(value, what)


def path(value: Any, what: str) -> Path:
    """The place of a file."""
    try:
        return Path(value)
    except TypeError:
        raise Error(f"{what} must be a path, not {value!r}") from None


def flag(value: Any, what: str) -> bool:
    """Yes or no."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise Error(f"{what} must be True or False, not {value!r}")


def saved(value: Any, what: str) -> bytes:
    """What ``save`` returned."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise Error(f"{what} must be the bytes that save returned, not {type(value).__name__}")
    return bytes(value)


def pair(value: Any, what: str) -> tuple[Any, Any]:
    """Two things, a lower and an upper one."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise Error(f"{what} must be a pair (low, high), not {value!r}") from None
    return low, high


def seed_of(value: Any) -> int:
    """The start of everything random."""
    whole = count(value, "seed")
    if whole > _LARGEST_SEED:
        raise Error(f"seed must be at most 2**64 - 1, not {whole}")
    return whole
