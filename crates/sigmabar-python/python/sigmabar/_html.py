"""Results as small tables, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any


def table(rows: Iterable[tuple[str, Any]]) -> str:
    """Names on the left, values on the right."""
    lines = "".join(f"<tr><th style='text-align:left'>{escape(name)}</th><td>{_cell(value)}</td></tr>" for name, value in rows)
    return f"<table>{lines}</table>"


def columns(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """One line for each row under the names."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(value: Any) -> str:
    return escape(f"{value:.5g}" if isinstance(value, float) else "–" if value is None else str(value))


def advice(params: dict[str, Any], lower: float, upper: float, gap: float, label: str) -> str:
    """A recommendation: the setting, its value and how far from the best it may be."""
    rows = [*params.items(), ("value", f"{lower:.5g} to {upper:.5g}"), ("gap", f"{gap:.5g}"), ("label", label)]
    return table((str(name), value) for name, value in rows)
