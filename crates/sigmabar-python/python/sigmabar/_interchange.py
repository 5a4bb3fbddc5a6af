"""Tables through the dataframe interchange protocol, for libraries that do not speak Arrow."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._checks import refuse_lost
from ._core import Error

# Of the protocol: kinds of columns, and how a missing value is marked.
_NUMBERS = {0: "i", 1: "u", 2: "f", 20: "b"}
_SENTINEL, _BIT_MASK, _BYTE_MASK = 2, 3, 4
_CPU = 1


def interchanged_rows(table: Any, what: str) -> NDArray[np.float64]:
    """The rows of anything that has ``__dataframe__``."""
    frame = table.__dataframe__()
    names = list(frame.column_names())
    blocks: list[NDArray[np.float64]] = []
    first = 0
    for chunk in frame.get_chunks():
        block = np.empty((chunk.num_rows(), len(names)))
        for j, name in enumerate(names):
            values = _column(chunk.get_column(j), what, str(name), first)
            block[:, j] = values
            refuse_lost(values, values, block[:, j], f'{what}: column "{name}"')
        blocks.append(block)
        first += len(block)
    return np.concatenate(blocks) if blocks else np.empty((0, len(names)))


def _column(column: Any, what: str, name: str, first: int) -> NDArray[Any]:
    if column.dtype[0] not in _NUMBERS:
        raise Error(f'{what}: column "{name}" must be numbers; encode it or leave it out')
    buffers = column.get_buffers()
    where = f'{what}: column "{name}"'
    values = _read(buffers["data"], column, where)
    mark, null = column.describe_null
    if mark in (_BIT_MASK, _BYTE_MASK) and buffers["validity"] is not None:
        missing = _read(buffers["validity"], column, where) == null
    else:
        missing = values == null if mark == _SENTINEL else np.zeros(len(values), dtype=bool)
    if missing.any():
        raise Error(f'{what}, row {first + int(missing.argmax())}, column "{name}": the value is missing; drop the row or fill it in')
    return values


def _read(part: tuple[Any, tuple[int, int, str, str]], column: Any, where: str) -> NDArray[Any]:
    """A copy of the column's share of a buffer."""
    buffer, (kind, bits, _, order) = part
    if buffer.__dlpack_device__()[0] != _CPU:
        raise Error(f"{where} lies in the memory of another device: bring it into this one's first")
    start, size = column.offset, column.size()
    memory = np.frombuffer((ctypes.c_ubyte * buffer.bufsize).from_address(buffer.ptr), dtype=np.uint8) if buffer.bufsize else np.empty(0, np.uint8)
    if bits == 1:
        return np.unpackbits(memory, bitorder="little")[start : start + size]
    swapped = order if order in ("<", ">") else "="
    width = bits // 8
    return memory[start * width : (start + size) * width].view(np.dtype(f"{swapped}{_NUMBERS[kind]}{width}")).copy()
