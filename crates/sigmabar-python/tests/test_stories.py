"""The stories of the README and the examples run as written."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
EXAMPLES = HERE.parents[1] / "examples"


def test_the_readme_runs_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "certified: lower ≤ f ≤ upper" in printed
    assert "label='estimated'" in printed


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_the_examples_run(script: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.name)
def test_the_notebooks_run(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    cells = [cell for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    stored = [output for cell in cells for output in cell.outputs if "image/png" in output.get("data", {})]
    assert len(stored) >= 3, "it is kept with its pictures"
    for cell in cells:
        exec(compile(cell.source, notebook.name, "exec"), names)
    figures = matplotlib.pyplot.get_fignums()
    assert len(figures) >= 3
    matplotlib.pyplot.close("all")
