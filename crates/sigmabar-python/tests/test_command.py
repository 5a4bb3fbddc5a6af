"""``python -m sigmabar`` is the same command line as the binary."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

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


def predicted(text: str) -> np.ndarray:
    return np.array([[float(cell) for cell in line.split(",")] for line in text.splitlines()[1:]])


def test_a_model_of_the_command_is_a_model_of_python(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 60)
    lines = ["angle,lift"] + [f"{a},{np.sin(5 * a)}" for a in x.tolist()]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    fitted = command("fit", "d.csv", "--target", "lift", "--lengthscale", "0.3", "--tau", "0.1", "--holdout", "0.2", "--out", "m.sbm", cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    model = sb.SparsePosterior.load((tmp_path / "m.sbm").read_bytes())
    assert model.facts["target"] == "lift" and [column["name"] for column in model.facts["features"]] == ["angle"]
    assert model.facts["scores"]["rows"] > 0
    told = predicted(command("predict", "m.sbm", "d.csv", "--format", "csv", cwd=tmp_path).stdout)
    mean, std = model.predict(x)
    np.testing.assert_array_equal(told[:, 0], mean)
    np.testing.assert_array_equal(told[:, 1], std)
    # What was said of the model goes with it, and how it did before it was changed does not.
    assert sb.SparsePosterior.load(model.save(target="drag")).facts == {**model.facts, "target": "drag"}
    model.update([0.5], [1.0])
    assert "scores" not in model.facts and model.facts["target"] == "lift"


def test_models_of_parts_of_few_rows_go_with_the_model(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 40)
    lines = ["angle,lift"] + [f"{a},{np.sin(5 * a) + 0.1 * np.sin(1e4 * a)}" for a in x.tolist()]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    fitted = command("fit", "d.csv", "--target", "lift", "--holdout", "0", "--out", "m.sbm", cwd=tmp_path)
    assert fitted.returncode == 0 and "calibrate the intervals" in fitted.stderr, fitted.stderr
    told = predicted(command("predict", "m.sbm", "d.csv", "--format", "csv", cwd=tmp_path).stdout)
    model = sb.SparsePosterior.load((tmp_path / "m.sbm").read_bytes())
    response = model.prediction_interval(x)
    assert response.label == "conformal" and response.certificate.details["premises"]["calibration"]["value"]["folds"] == 5
    np.testing.assert_array_equal(told[:, 4:6], np.column_stack([response.lower, response.upper]))
    function = model.interval(x)
    np.testing.assert_array_equal(told[:, 2:4], np.column_stack([function.lower, function.upper]))
    assert "parts" not in model.facts, "models as text are for no reader"
    # What a file makes up is refused, and nothing panics.
    facts = json.loads(json.dumps(model._facts))
    for part in facts["parts"]:
        part["calibration"]["column"] = 7
    altered = sb.SparsePosterior.load(model.save())._with_facts(facts)
    with pytest.raises(sb.Error, match="column of the groups"):
        altered.prediction_interval(x)
    (tmp_path / "x.sbm").write_bytes(altered.save())
    refused = command("predict", "x.sbm", "d.csv", cwd=tmp_path)
    assert refused.returncode in (1, 2) and "column of the groups" in refused.stderr, refused.stderr
    model.update([0.5], [1.0])
    assert model.prediction_interval(x).label == "estimated", "what its parts got wrong says nothing of the changed model"


def test_a_model_of_python_is_a_model_of_the_command(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.random((80, 2))
    y = np.sin(4 * x[:, 0]) + x[:, 1]
    model = sb.SparsePosterior(sb.Matern(nu=2.5, lengthscale=0.5), 0.1, x, y, inducing=x[::4], collected="fixed")
    queries = rng.random((5, 2))
    mean, _ = model.predict(queries)
    for saved, names in [(model.save(), ["c0", "c1"]), (model.save(columns=["angle", "speed"], target="drag"), ["angle", "speed"])]:
        (tmp_path / "m.sbm").write_bytes(saved)
        rows = [",".join(names)] + [",".join(repr(v) for v in row) for row in queries.tolist()]
        (tmp_path / "q.csv").write_text("\n".join(rows) + "\n")
        told = command("predict", "m.sbm", "q.csv", "--format", "csv", cwd=tmp_path)
        assert told.returncode == 0, told.stderr
        np.testing.assert_array_equal(predicted(told.stdout)[:, 0], mean)
    page = command("report", "m.sbm", "-o", "report.html", cwd=tmp_path)
    assert page.returncode == 0, page.stderr
    assert "drag" in (tmp_path / "report.html").read_text(encoding="utf-8")
    # With what is declared beside it the command's intervals are those of Python, theorem and all.
    noise = sb.Gaussian(0.1)
    (tmp_path / "m.sbm").write_bytes(model.save(columns=["angle", "speed"], norm_bound=4.0, noise=noise))
    told = command("predict", "m.sbm", "q.csv", "--format", "csv", cwd=tmp_path)
    interval = model.interval(queries, 4.0, noise)
    np.testing.assert_allclose(predicted(told.stdout)[:, 2], interval.lower, rtol=1e-9)
    np.testing.assert_allclose(predicted(told.stdout)[:, 3], interval.upper, rtol=1e-9)
    with pytest.raises(sb.Error, match="3 columns are named, and the model has 2"):
        model.save(columns=["a", "b", "c"])


def test_what_was_saved_is_told_apart_and_damage_is_said_alike(tmp_path: Path) -> None:
    model = sb.SparsePosterior(sb.Matern(nu=2.5, lengthscale=0.5), 0.1, [0.0, 0.5], [1.0, 2.0], inducing=[0.0, 1.0])
    run = sb.Strategy("random", domain=sb.Candidates([[0.0], [1.0]]), budget=4)
    damaged = model.save()[:-1] + b"?"
    for data, words in [
        (run.save(), "not a saved model"),
        (damaged, "checksum does not match"),
        (b"SIGMABAR" + bytes(80), "earlier format.*fit the model"),
        (b"sbmodl\r\n" + bytes(80), "earlier format.*fit the model"),
        (b"x,y\n1,2\n", "not a sigmabar model"),
    ]:
        with pytest.raises(sb.Error, match=words):
            sb.SparsePosterior.load(data)
        (tmp_path / "m.sbm").write_bytes(data)
        (tmp_path / "d.csv").write_text("c0\n0.5\n")
        refused = command("predict", "m.sbm", "d.csv", cwd=tmp_path)
        assert refused.returncode == 1
        with pytest.raises(sb.Error) as same:
            sb.SparsePosterior.load(data)
        assert str(same.value) in " ".join(refused.stderr.split())
    with pytest.raises(sb.Error, match="not a saved run"):
        sb.Strategy.load(model.save())
