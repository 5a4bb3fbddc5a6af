"""Docstrings on the page: examples become blocks of code, roles become plain names."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":\w+:`~?([^`]+)`")


class Examples(griffe.Extension):
    """Wraps every run of ``>>>`` lines and their output, up to the next empty line, into a block."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = page_text(obj.docstring.value)


def page_text(text: str) -> str:
    lines, inside = [], False
    for line in ROLE.sub(r"`\1`", text).splitlines():
        if not inside and line.lstrip().startswith(">>>"):
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line.strip() if inside and line.lstrip().startswith(">>>") else line)
    return "\n".join([*lines, "```"] if inside else lines)
