"""The stubs of the private module say what it is, and the package is typed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "python" / "sigmabar"
CACHE = Path(__file__).parents[3] / "target" / "mypy"


def run(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_match_the_module() -> None:
    run("mypy.stubtest", "sigmabar._core")


def test_the_package_is_typed() -> None:
    run("mypy", "--strict", "--ignore-missing-imports", "--cache-dir", str(CACHE), str(PACKAGE))


def test_completion_shows_what_a_module_is_for() -> None:
    import sigmabar as sb
    import sigmabar.sklearn

    for module in (sb.plot, sb.premises, sb.theory, sigmabar.sklearn):
        assert dir(module) == sorted(module.__all__)


#: What a checker of types must find: the wrong name or value, and nothing in the lines that are right.
SNIPPET = """\
import numpy as np
import sigmabar as sb

box = sb.Box([(0, 1)])
sb.Strategy("s-bpe", domain=box, budget=9, rules="certified", batches=3)
sb.Strategy("s-bep", domain=box, budget=9)
sb.Strategy("s-bpe", domain=box, budget=9, ruels="certified")
sb.Strategy("s-bpe", domain=box, budget=9, rules="certain")
sb.select_inducing(sb.Matern(lengthscale=0.3), np.zeros((3, 1)), 0.1, method="greedy", size=2)
sb.select_inducing(sb.Matern(lengthscale=0.3), np.zeros((3, 1)), 0.1, method="greedi", size=2)
sb.Matern(0.3)
"""
WRONG = [6, 7, 8, 10, 11]


def lines_found(said: str) -> list[int]:
    return sorted({int(line.split(":")[1]) for line in said.splitlines() if ": error" in line or " - error" in line})


def test_wrong_names_are_found_before_they_run(tmp_path: Path) -> None:
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(CACHE), str(file)], capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    )
    assert lines_found(done.stdout) == WRONG, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_finds_the_same(tmp_path: Path) -> None:
    (tmp_path / "snippet.py").write_text(SNIPPET)
    done = subprocess.run(["pyright", "--pythonpath", sys.executable, "snippet.py"], capture_output=True, text=True, cwd=tmp_path)
    assert lines_found(done.stdout) == WRONG, done.stdout + done.stderr
