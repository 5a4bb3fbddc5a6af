"""The Python pages of the book, run as they are written."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

TUTORIALS = Path(__file__).resolve().parents[3] / "docs" / "tutorials"


@pytest.mark.parametrize("page", ["python.md", "research.md"])
def test_every_block_of_the_page_runs(page: str) -> None:
    pytest.importorskip("optuna")
    failed, tried = doctest.testfile(str(TUTORIALS / page), module_relative=False)
    assert tried > 5 and failed == 0
