"""A study on a server, with the methods of one in a file."""

import json
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import sigmabar as sb

SPEC = '''budget = 16
batches = 2
[parameters.x]
type = "float"
low = 0
high = 1
[parameters.kind]
type = "categorical"
choices = ["a", "b"]
'''


class Server:
    """`sigmabar serve` in a process of its own."""

    def __init__(self, place: pathlib.Path) -> None:
        self.place, self.port = place, "0"
        (place / "demo.toml").write_text(SPEC)
        self.url = self.start()
        found = re.match(r"http://127.0.0.1:(\d+)/\?token=(.+)", self.url)
        assert found is not None
        self.port, self.token = found.groups()

    def start(self) -> str:
        command = [sys.executable, "-m", "sigmabar", "serve", "demo.toml", "--port", self.port]
        self.process = subprocess.Popen(command, cwd=self.place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)


@pytest.fixture
def server(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SIGMABAR_TOKEN", raising=False)
    server = Server(tmp_path)
    yield server
    server.kill()


def test_a_served_study_is_run_as_one_in_a_file(server: Server) -> None:
    study, beside = sb.Study(server.url), sb.Study.open(server.place / "demo.db")
    assert study.name == "demo" and study.parameters == ["x", "kind"] and study.spec == beside.spec
    asked = study.ask(1, worker="me")
    assert asked is not None and study.ask(1, worker="me") is not None
    trial = asked[0]
    assert study.tell(trial.id, 0.25) is True
    assert study.tell(trial.id, 0.25) is True
    with pytest.raises(sb.Error, match="already has another result"):
        study.tell(trial.id, 0.5)
    with pytest.raises(sb.Error, match="no trial 99"):
        study.tell(99, 0.5)
    assert study.run(lambda x, kind: x if kind == "a" else -x, parallel=3) == "finished"
    advice, same = study.recommend(), beside.recommend()
    assert advice is not None and same is not None and advice.label == "estimated"
    assert (advice.params, advice.lower, advice.gap, advice.best_observed) == (same.params, same.lower, same.gap, same.best_observed)
    assert study.trials() == beside.trials() and study.batches() == beside.batches()
    status, known = study.status(), beside.status()
    assert {key: status[key] for key in known} == known
    assert study.report().read_text().startswith("<!DOCTYPE html>")
    assert not (server.place / ".sigmabar-outbox").exists(), "what the server has is kept nowhere else"
    with pytest.raises(sb.Error, match="on a server"):
        _ = study.file


def test_batches_are_closed_results_corrected_and_study_files_amended(server: Server) -> None:
    study = sb.Study(server.url.split("?")[0], token=server.token)
    assert study.import_results([({"x": 0.5, "kind": "a"}, 0.4)]) == 1
    with pytest.raises(sb.Error, match="handed out"):
        study.close_batch()
    mine = study.ask(4, worker="me")
    assert mine is not None and study.tell_all([(mine[0].id, 1.0), (mine[1].id, None), (mine[2].id, 3.0)]) == [True, True, True]
    assert study.replace(mine[0].id, 1.5, "typed wrong") == "in time"
    with pytest.raises(sb.Error, match="no result"):
        study.replace(mine[3].id, 1.5, "too early")
    study.close_batch()
    assert study.tell(mine[3].id, 2.0) is False
    assert study.withdraw(mine[2].id, "spilt") == "after analysis"
    rows = study.trials()
    assert [rows[trial.id]["value"] for trial in mine] == [1.5, None, None, 2.0] and rows[mine[0].id]["note"] == "typed wrong"
    assert study.reap() == []
    parameters = {"x": {"type": "float", "low": 0, "high": 1}, "kind": {"type": "categorical", "choices": ["a", "b"]}}
    spec = {"budget": 24, "batches": 2, "description": "longer", "parameters": parameters}
    with pytest.raises(sb.Error, match="objective"):
        study.amend({**spec, "objective": {"command": "touch ran"}})
    with pytest.raises(sb.Error, match="delta cannot be changed"):
        study.amend({**spec, "delta": 0.5})
    assert sorted(study.amend(spec)) == ["budget", "description"]
    assert study.status()["budget"] == 24
    assert study.run(lambda x, kind: x) == "finished"
    assert study.status()["planned"] == 24


def test_calls_wait_for_a_server_that_was_killed(server: Server) -> None:
    study = sb.Study(server.url)
    asked = study.ask(2, worker="me")
    assert asked is not None
    server.kill()
    later = threading.Thread(target=lambda: (time.sleep(1.5), server.start()))
    later.start()
    assert study.tell(asked[0].id, 0.5) is True
    later.join()
    assert [trial.id for trial in study.ask(1, worker="me") or []] == [asked[1].id]


def test_what_an_earlier_process_left_in_the_outbox_is_sent(server: Server) -> None:
    asked = sb.Study(server.url).ask(1, worker="me")
    assert asked is not None
    outbox = server.place / "out"
    outbox.mkdir()
    letter = {"server": f"http://127.0.0.1:{server.port}", "study": "demo", "id": asked[0].id, "key": "k1", "result": {"value": 0.75}}
    (outbox / "a.json").write_text(json.dumps(letter))
    (outbox / "b.json").write_text("{ half")
    study = sb.Study(server.url, outbox=outbox)
    assert study.trials()[asked[0].id]["value"] == 0.75
    assert [path.name for path in outbox.iterdir()] == ["b.json"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda base, url: sb.Study(base), "SIGMABAR_TOKEN"),
        (lambda base, url: sb.Study(base, token="wrong-token-0123456789"), "token is wrong"),
        (lambda base, url: sb.Study(url, name="other"), "there are: demo"),
        (lambda base, url: sb.Study("https://host", token="x"), "ssh -L"),
        (lambda base, url: sb.Study("demo.db"), "Study.create"),
    ],
)
def test_what_is_wrong_with_an_address_is_said(server: Server, make: Callable[[str, str], sb.Study], words: str) -> None:
    with pytest.raises(sb.Error, match=words):
        make(server.url.split("?")[0], server.url)
