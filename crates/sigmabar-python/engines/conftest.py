"""One data set and one plan for all engines, and the model that one process makes of it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sigmabar as sb

ROWS = int(os.environ.get("SIGMABAR_ENGINE_ROWS", "200000"))
INDUCING = int(os.environ.get("SIGMABAR_ENGINE_INDUCING", "100"))
CHAPTER = Path(__file__).parents[3] / "docs" / "rows.md"
COLUMNS = [f"x{i}" for i in range(8)]


def make(folder: Path, rows: int, files: int = 4, group: int | None = None) -> None:
    """Eight columns and a response, in files of several row groups."""
    rng = np.random.default_rng(0)
    group = group or max(1000, rows // 32)
    for file in range(files):
        X = rng.random((rows // files, 8))
        y = 3.0 + np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(len(X))
        table = pa.table({**{name: X[:, i] for i, name in enumerate(COLUMNS)}, "y": y})
        pq.write_table(table, folder / f"part-{file}.parquet", row_group_size=group)


def command(*arguments: str, cwd: Path) -> None:
    subprocess.run([sys.executable, "-m", "sigmabar", *arguments, "-q"], cwd=cwd, check=True)


def example(engine: str) -> str:
    """The example of an engine, as the book has it."""
    blocks = re.findall(r"```python\n(.*?)```", CHAPTER.read_text(), re.DOTALL)
    (found,) = [block for block in blocks if f"sigmabar.{engine}\n" in block]
    return found


def deadly(log: Path) -> Callable[[float], float]:
    """A function that writes down that it was called, and kills its worker where x is 2. Made here, so that it travels by value: workers cannot import this file."""

    def dies(x: float) -> float:
        with open(log, "a") as file:
            file.write(f"{x}\n")
        if x == 2:
            os._exit(1)
        return x

    return dies


@pytest.fixture
def here(data, tmp_path, monkeypatch):
    """A folder with the plan, to run an example in."""
    shutil.copy(data / "plan.sbp", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


DECLARED = ["--target", "y", "--lengthscale", "1.5", "--tau", "0.1", "--prior-mean", "3"]


@pytest.fixture(scope="session")
def apart(data):
    """The model of ``sigmabar fit`` whose inducing points were chosen on rows that it then leaves out, with a claim."""
    claim = ["--kernel", "matern-2.5", "--inducing", "60", "--learn-apart", "--norm-bound", "10", "--noise", "gaussian:0.1", "--holdout", "0"]
    command("fit", str(data / "part-*.parquet"), *DECLARED, *claim, "-o", "apart.sbm", cwd=data)
    return sb.SparsePosterior.load((data / "apart.sbm").read_bytes())


@pytest.fixture(scope="session")
def extended(data, one_process):
    """The plan of ``sigmabar plan --extend``, and the model that the command makes by it."""
    command("plan", str(data / "part-*.parquet"), "--target", "y", "--extend", "all.sba", "-o", "next.sbp", cwd=data)
    command("accumulate", "--plan", "next.sbp", "-o", "next.sba", cwd=data)
    command("merge", "next.sba", "-o", "next.sbm", cwd=data)
    return (data / "next.sbp").read_bytes(), (data / "next.sbm").read_bytes()


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    make(folder, ROWS)
    pattern = str(folder / "part-*.parquet")
    command("plan", pattern, *DECLARED, "--inducing", str(INDUCING), "-o", "plan.sbp", cwd=folder)
    return folder


@pytest.fixture(scope="session")
def plan(data):
    return sb.Plan.load(data / "plan.sbp")


@pytest.fixture(scope="session")
def one_process(data, plan):
    """The bytes of the model that the command makes."""
    command("accumulate", "--plan", "plan.sbp", "-o", "all.sba", cwd=data)
    command("merge", "all.sba", "-o", "model.sbm", cwd=data)
    return (data / "model.sbm").read_bytes()
