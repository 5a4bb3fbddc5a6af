"""Single numbers as users hand them in: refused by the name of the parameter."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np

from ._core import Error

_LARGEST_SEED = 2**64 - 1


def number(value: Any, what: str) -> float:
    """A real number."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise Error(f"{what} must be a number, not {value!r}") from None


def number_or_none(value: Any, what: str) -> float | None:
    """A real number, or none."""
    return None if value is None else number(value, what)


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
