"""The stubs of the private module say what it is, and the package is typed."""

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python" / "sigmabar"
CACHE = Path(__file__).parents[3] / "target" / "mypy"


def run(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_match_the_module() -> None:
    run("mypy.stubtest", "sigmabar._core")


def test_the_package_is_typed() -> None:
    run("mypy", "--strict", "--ignore-missing-imports", "--cache-dir", str(CACHE), str(PACKAGE))
