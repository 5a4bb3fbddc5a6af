"""``python -m sigmabar`` is the same command line as the binary."""

import subprocess
import sys
from pathlib import Path

import sigmabar as sb


def command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "sigmabar", *arguments], capture_output=True, text=True, cwd=cwd, timeout=300)


def test_it_says_its_version_and_refuses_nonsense() -> None:
    assert sb.__version__ in command("--version").stdout
    wrong = command("fitt")
    assert wrong.returncode == 2
    assert "fit" in wrong.stderr


def test_a_study_of_the_command_is_a_study_of_python(tmp_path: Path) -> None:
    spec = {"budget": 12, "batches": 2, "parameters": {"x": {"type": "float", "low": 0, "high": 1}}}
    study = sb.Study.create(tmp_path / "s.db", "both", spec)
    study.run(lambda x: -((x - 0.5) ** 2))
    status = command("status", "s.db", "--format", "json", cwd=tmp_path)
    assert status.returncode == 0, status.stderr
    assert "both" in status.stdout
    page = study.report(tmp_path / "report.html")
    assert "<svg" in page.read_text(encoding="utf-8")


def test_a_model_fitted_by_the_command_is_read_by_it(tmp_path: Path) -> None:
    lines = ["x,y"] + [f"{i / 60},{(i / 60) ** 2}" for i in range(60)]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    fitted = command("fit", "d.csv", "--target", "y", "--out", "m.sbm", cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    predicted = command("predict", "m.sbm", "d.csv", "--format", "csv", cwd=tmp_path)
    assert predicted.returncode == 0, predicted.stderr
    assert len(predicted.stdout.splitlines()) >= 60
