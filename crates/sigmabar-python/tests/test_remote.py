"""A study on a server, with the methods of one in a file."""

import http.server
import json
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
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

    def __init__(self, place: pathlib.Path, spec: str = SPEC) -> None:
        self.place, self.port = place, "0"
        (place / "demo.toml").write_text(spec)
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


Refusal = tuple[int, str, str]


@contextmanager
def between(server: Server, refuse: Callable[[str, str], Refusal | None], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """The address of a server between, which answers for the other one where it is told to, by method and path."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            refusal = refuse(self.command, self.path)
            if refusal is not None:
                status, reply = refusal[0], json.dumps({"error": refusal[1], "message": refusal[2]}).encode()
            else:
                headers = {key: value for key, value in self.headers.items() if key.lower() not in ("host", "connection")}
                url = f"http://127.0.0.1:{server.port}{self.path}"
                try:
                    with urllib.request.urlopen(urllib.request.Request(url, body or None, headers, method=self.command)) as answer:
                        status, reply = answer.status, answer.read()
                except urllib.error.HTTPError as error:
                    status, reply = error.code, error.read()
            self.send_response(status)
            self.send_header("Content-Length", str(len(reply)))
            if status == 429:
                self.send_header("Retry-After", "2")
            self.end_headers()
            self.wfile.write(reply)

        do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        proxy.socket = tls.wrap_socket(proxy.socket, server_side=True)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield f"{'http' if tls is None else 'https'}://127.0.0.1:{proxy.server_port}/?token={server.token}"
    proxy.shutdown()


def letters(outbox: pathlib.Path) -> list[str]:
    return sorted(path.suffix for path in outbox.glob("*"))


@pytest.fixture
def server(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SIGMABAR_TOKEN", raising=False)
    server = Server(tmp_path)
    yield server
    server.kill()


def test_whoever_asks_too_often_waits_as_long_as_the_server_says(server: Server) -> None:
    asked: list[float] = []

    def too_often(method: str, path: str) -> Refusal | None:
        if path.endswith("/studies") or "/ask" in path:
            asked.append(time.monotonic())
            # The first time at the door, and once more at work.
            return (429, "too-many", "wait") if len(asked) in (1, 3) else None
        return None

    with between(server, too_often) as url:
        study = sb.Study(url)
        assert study.ask(1, worker="me")
    assert len(asked) == 4 and asked[1] - asked[0] >= 2 and asked[3] - asked[2] >= 2


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
    assert letters(server.place / ".sigmabar-outbox") == [".refused"] * 2, "what the server has is kept nowhere else; what it refused is"
    with pytest.raises(sb.Error, match="on a server"):
        _ = study.file


def test_the_claim_of_a_served_study_is_a_function_of_its_premises(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    premises = 'norm_bound = 2\nnoise = { gaussian = 0.1 }\nkernel = { name = "matern", nu = 2.5, lengthscale = 0.5 }\n'
    server = Server(tmp_path, "budget = 16\n" + premises + '[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\nstep = 0.1\n')
    try:
        study, beside = sb.Study(server.url), sb.Study.open(server.place / "demo.db")
        assert study.standing() is None and study.premise_map() is None, "nothing is measured"
        assert study.run(lambda x: 1 - (x - 0.4) ** 2) == "finished"
        standing, known = study.standing(), beside.standing()
        assert standing is not None and known is not None and standing.range == known.range
        assert np.array_equal(standing.gaps, known.gaps, equal_nan=True)
        rows, same = study.premise_map([0.7, 1.0]), beside.premise_map([0.7, 1.0])
        assert rows is not None and same is not None and np.array_equal(rows.gaps, same.gaps, equal_nan=True)
        with pytest.raises(sb.Error, match="at most 20 numbers from 0.001 to 1000"):
            study.premise_map([-1.0])
        assert "norm bound" in sb.plot.premises(study).get_xlabel()
    finally:
        server.kill()


def test_a_contradiction_is_told_alike_by_a_file_and_a_server(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    premises = 'norm_bound = 2\nnoise = { gaussian = 0.1 }\nkernel = { name = "matern", nu = 2.5, lengthscale = 0.5 }\n'
    server = Server(tmp_path, "budget = 16\nbatches = 2\n" + premises + '[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\nstep = 0.1\n')
    try:
        study, beside = sb.Study(server.url), sb.Study.open(server.place / "demo.db")
        assert study.status()["contradiction"] is None and beside.status()["contradiction"] is None
        asked = study.ask(16, worker="me")
        assert asked is not None
        study.tell_all([(trial.id, 1000.0) for trial in asked])
        told = beside.status()["contradiction"]
        assert isinstance(told, str) and "contradict" in told and study.status()["contradiction"] == told
    finally:
        server.kill()


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


def test_what_looks_mistyped_is_asked_about_in_a_file_and_over_http(server: Server) -> None:
    beside = sb.Study.create(server.place / "beside.db", "beside", server.place / "demo.toml")
    for study in (sb.Study(server.url), beside):
        first = study.ask(8, worker="me") or []
        assert study.tell_all([(trial.id, 51.0 + trial.id) for trial in first]) == [True] * 8
        (odd,) = study.ask(1, worker="me") or []
        words = "trial 8 came to 570, and all others lie between 51 and 58; nothing was written down: sure=True says that it was measured"
        for tell in (lambda sure: [study.tell(odd.id, 570.0, sure=sure)], lambda sure: study.tell_all([(odd.id, 570.0), (0, 51.0)], sure=sure)):  # noqa: B023
            with pytest.raises(sb.Error, match=words):
                tell(False)
        assert study.trials()[odd.id]["value"] is None and letters(server.place / ".sigmabar-outbox") == []
        assert study.tell(odd.id, 570.0) and study.tell(odd.id, 570.0, sure=False), "what is written down is not asked about again"
        # What an objective came to is what it is.
        values = iter([5700.0])
        assert study.run(lambda x, kind: next(values, 55.0)) == "finished"  # noqa: B023
        assert 5700.0 in [trial["value"] for trial in study.trials()]


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
    asked = sb.Study(server.url).ask(2, worker="me")
    assert asked is not None
    outbox = server.place / "out"
    outbox.mkdir()
    identity = json.loads(urllib.request.urlopen(authorised(server, "/api/v1/studies")).read())["studies"][0]["identity"]
    letter = {"server": f"http://127.0.0.1:{server.port}", "study": "demo", "identity": identity, "id": asked[0].id, "key": "k1", "result": {"value": 0.75}}
    (outbox / "a.json").write_text(json.dumps(letter))
    (outbox / "b.json").write_text("{ half")
    # The server has moved, and what it calls the study has changed: it is the same study.
    moved = letter | {"server": "http://elsewhere:1", "study": "old.demo", "id": asked[1].id, "key": "k2"}
    (outbox / "c.json").write_text(json.dumps(moved))
    (outbox / "d.json").write_text(json.dumps(letter | {"study": "another", "identity": "0123"}))
    study = sb.Study(server.url, outbox=outbox)
    assert [study.trials()[trial.id]["value"] for trial in asked] == [0.75, 0.75]
    assert sorted(path.name for path in outbox.iterdir()) == ["b.json", "d.json"]


def authorised(server: Server, path: str) -> urllib.request.Request:
    return urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", headers={"Authorization": f"Bearer {server.token}"})


def test_an_old_letter_is_not_told_to_another_study_of_the_same_name(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    outbox = server.place / "out"
    before = sb.Study(server.url, outbox=outbox)
    asked = before.ask(1, worker="me")
    assert asked is not None
    server.kill()
    for path in server.place.glob("demo.db*"):
        path.unlink()
    server.start()
    with pytest.raises(sb.Error, match="another study"):
        before.tell(asked[0].id, 0.75)
    assert letters(outbox) == [".json"]
    after = sb.Study(server.url, outbox=outbox)
    assert asked[0].id in [trial.id for trial in after.ask(4, worker="me") or []]
    again = sb.Study(server.url, outbox=outbox)
    assert letters(outbox) == [".json"] and "another study" in capsys.readouterr().err
    assert again.trials()[asked[0].id]["value"] is None


def test_a_result_is_kept_while_the_disk_of_the_server_is_full(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    outbox, seen = server.place / "out", []

    def full(method: str, _: str) -> Refusal | None:
        if method != "PUT" or len(seen) >= 5:
            return None
        seen.append(letters(outbox))
        return 507, "disk-full", "the disk is full"

    with between(server, full) as url:
        study = sb.Study(url, outbox=outbox)
        asked = study.ask(1, worker="me")
        assert asked is not None and study.tell(asked[0].id, 0.5) is True
    assert seen == [[".json"]] * 5 and letters(outbox) == []
    assert "the disk is full" in capsys.readouterr().err
    assert sb.Study(server.url).trials()[asked[0].id]["value"] == 0.5


def test_what_the_server_does_not_take_is_kept_and_stops_nobody(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    refusals = {"read-only": (409, ".json"), "not-found": (404, ".json"), "not-asked": (409, ".refused"), "unknown-trial": (404, ".refused")}
    for code, (status, ending) in refusals.items():
        outbox = server.place / code
        with between(server, lambda method, _: (status, code, f"because {code}") if method == "PUT" else None) as url:  # noqa: B023
            study = sb.Study(url, outbox=outbox)
            asked = study.ask(1, worker="me")
            assert asked is not None
            with pytest.raises(sb.Error, match=f"because {code}"):
                study.tell(asked[0].id, 0.5)
            capsys.readouterr()
            sb.Study(url, outbox=outbox)
            assert ("is kept in" in capsys.readouterr().err) == (code in ("read-only", "not-found")), "what may be taken later is sent again"
        assert letters(outbox) == [ending]


def test_a_server_with_a_fault_is_given_up_in_its_own_words(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    with between(server, lambda _, path: (500, "unreadable", "the database is damaged") if "/ask" in path else None) as url:
        study = sb.Study(url)
        begun = time.monotonic()
        with pytest.raises(sb.Error, match="the database is damaged"):
            study.ask(1, worker="me")
        assert 4 < time.monotonic() - begun < 60
        assert "the database is damaged; trying on" in capsys.readouterr().err


def test_the_token_is_taken_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGMABAR_TOKEN", server.token)
    assert sb.Study(server.url.split("?")[0]).name == "demo"
    monkeypatch.setenv("SIGMABAR_TOKEN", "of-another-server-0123456789")
    assert sb.Study(server.url).name == "demo", "an address brings its own"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_a_server_behind_a_proxy_that_speaks_https_is_reached(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    who = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "own.pem", *who], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain("own.pem", "key.pem")
    with between(server, lambda *_: None, tls) as url:
        with pytest.raises(sb.Error, match="certificate verify failed"):
            sb.Study(url)
        monkeypatch.setenv("SSL_CERT_FILE", "own.pem")
        study = sb.Study(url)
        (trial,) = study.ask() or []
        assert study.tell(trial.id, 1.5)
        assert study.trials()[0]["value"] == 1.5


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda base, url: sb.Study(base), "SIGMABAR_TOKEN"),
        (lambda base, url: sb.Study(base, token="wrong-token-0123456789"), "token is wrong"),
        (lambda base, url: sb.Study(base, token="…"), "is no token"),
        (lambda base, url: sb.Study(url, name="other"), "there are: demo"),
        (lambda base, url: sb.Study("demo.toml"), "Study.create"),
    ],
)
def test_what_is_wrong_with_an_address_is_said(server: Server, make: Callable[[str, str], sb.Study], words: str) -> None:
    with pytest.raises(sb.Error, match=words):
        make(server.url.split("?")[0], server.url)
