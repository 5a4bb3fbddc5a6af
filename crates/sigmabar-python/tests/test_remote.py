"""A study on a server, with the methods of one in a file."""

import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
import sigmabar as sb

SPEC = 'budget = 16\nbatches = [8, 8]\n[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n[parameters.kind]\ntype = "categorical"\nchoices = ["a", "b"]\n'


@pytest.fixture
def served(tmp_path: pathlib.Path) -> Iterator[tuple[str, pathlib.Path]]:
    (tmp_path / "demo.toml").write_text(SPEC)
    process = subprocess.Popen(
        [sys.executable, "-m", "sigmabar", "serve", "demo.toml", "--port", "0"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert url.startswith("http://127.0.0.1:"), process.stderr.read() if process.stderr else ""
    yield url, tmp_path
    process.terminate()
    process.wait(20)
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_a_served_study_is_run_as_one_in_a_file(served: tuple[str, pathlib.Path]) -> None:
    url, place = served
    study = sb.Study(url)
    assert study.name == "demo" and study.parameters == ["x", "kind"]
    (trial,) = study.ask(1, worker="me")
    assert study.ask(1, worker="me")[0].id == trial.id
    assert study.tell(trial.id, 0.25) is True
    assert study.tell(trial.id, 0.25) is True
    with pytest.raises(sb.Error, match="already has a result"):
        study.tell(trial.id, 0.5)
    with pytest.raises(sb.Error, match="no trial 99"):
        study.tell(99, 0.5)
    assert study.run(lambda x, kind: x if kind == "a" else -x, parallel=3) == "finished"
    advice = study.recommend()
    assert advice is not None and advice.label == "estimated" and set(advice.params) == {"x", "kind"}
    beside = sb.Study.open(place / "demo.db")
    assert advice.params == beside.recommend().params
    assert [row["params"] for row in study.trials()] == [row["params"] for row in beside.trials()]
    assert len(study.batches()) == 2
    status = study.status()
    assert status["is_finished"] and status["counts"] == {"done": 16}


def test_batches_are_closed_and_results_brought_in(served: tuple[str, pathlib.Path]) -> None:
    url, _ = served
    study = sb.Study(url.split("?")[0], token=re.search("token=(.*)", url).group(1))
    assert study.import_results([({"x": 0.5, "kind": "a"}, 0.4)]) == 1
    with pytest.raises(sb.Error, match="handed out"):
        study.close_batch()
    mine = study.ask(3, worker="me")
    assert study.tell_all([(mine[0].id, 1.0), (mine[1].id, None)]) == [True, True]
    study.close_batch()
    assert study.tell(mine[2].id, 2.0) is False
    assert study.reap() == []
    with pytest.raises(sb.Error, match="on a server"):
        study.strategy


def test_what_is_wrong_with_an_address_is_said(served: tuple[str, pathlib.Path], monkeypatch: pytest.MonkeyPatch) -> None:
    url, _ = served
    monkeypatch.delenv("SIGMABAR_TOKEN", raising=False)
    base = url.split("?")[0]
    with pytest.raises(sb.Error, match="SIGMABAR_TOKEN"):
        sb.Study(base)
    with pytest.raises(sb.Error, match="token is wrong"):
        sb.Study(base, token="wrong-token-0123456789")
    with pytest.raises(sb.Error, match="there are: demo"):
        sb.Study(url, name="other")
    with pytest.raises(sb.Error, match="made by Study.create"):
        sb.Study("demo.db")
