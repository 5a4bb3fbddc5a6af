"""A study that `sigmabar serve` has, with the methods of one in a file: standard library only, patient with the network."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._core import Contradicted, Error

_PASSING = {408, 429, 500, 502, 503, 504, 507}
_FIRST_PATIENCE = 5.0
# A server that cannot do what it should is given up after this: a file that is damaged does not mend itself.
_PATIENCE_WITH_FAULTS = 5.0
# What the server has looked at and will not take, now or later.
_REFUSED = {"already-told", "unknown-trial", "not-asked", "invalid"}
_LONGEST_PAUSE = 10.0
# A server that asks to wait for longer is asked again after this.
_LONGEST_WAIT = 60.0

ResultParts = tuple[float | None, float | None, str | None, int | None]


class _Refused(Error):
    def __init__(self, server: str, status: int, code: str, message: str) -> None:
        super().__init__(f"{server}: {message}")
        self.status, self.code = status, code


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token goes to the server that it was given for, and nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        return None


class RemoteStudy:
    """What :class:`Study` calls, over HTTP. Results are sent until the server has them: told twice, they are told once."""

    def __init__(self, url: str, token: str | None, name: str | None, outbox: Path) -> None:
        parts = urllib.parse.urlsplit(url)
        query = urllib.parse.parse_qs(parts.query)
        token = token or query.get("token", [None])[0] or os.environ.get("SIGMABAR_TOKEN")
        self.server = f"{parts.scheme}://{parts.netloc}"
        if not token:
            raise Error(f"{self.server}: there is no token: use the address that sigmabar serve prints, give token=…, or set SIGMABAR_TOKEN")
        if not re.fullmatch(r"[A-Za-z0-9_-]{16,200}", token):
            raise Error(f"{self.server}: what was given is no token: it has 16 to 200 letters, digits, hyphens and underscores, as sigmabar serve prints it")
        if parts.scheme not in ("http", "https"):
            raise Error(f"{self.server}: the address begins with http:// or https://")
        self._token, self._outbox, self._identity = token, outbox, ""
        self._open = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({})).open
        path = parts.path.split("/")
        named = name or (urllib.parse.unquote(path[2]) if len(path) > 2 and path[1] == "s" else None)
        studies = {study["study"]: study for study in self._call("GET", None, patience=_FIRST_PATIENCE)["studies"]}
        known = list(studies)
        if named is not None and named not in known:
            raise Error(f'{self.server}: there is no study "{named}"; there are: {", ".join(known)}')
        if named is None and len(known) != 1:
            raise Error(f"{self.server}: it serves {len(known)} studies, give name=…: {', '.join(known)}")
        self._study = named or known[0]
        self._identity = str(studies[self._study]["identity"])
        self._parameters: list[str] = self._call("GET", "")["parameters"]
        for place, letter in self._letters():
            # Nobody is there to be asked. What the server does not take is kept and spoken of, and stops nobody from working.
            with contextlib.suppress(_Refused):
                self._deliver(letter, place, sure=True)

    def name(self) -> str:
        return self._study

    def place(self) -> str:
        return f"{self.server}/s/{urllib.parse.quote(self._study, safe='')}"

    def file(self) -> Path:
        raise Error(f"the study is on a server: {self.place()}")

    def toml(self) -> str:
        return self._text(f"{self.server}/api/v1/studies/{urllib.parse.quote(self._study, safe='')}/spec.toml")

    def report(self) -> str:
        """The page that the command writes."""
        return self._text(f"{self.place()}/report.html")

    def parameters(self) -> list[str]:
        return list(self._parameters)

    def ask(self, worker: str, at_most: int, lease: float, shown: bool) -> list[str] | None:
        if at_most == 0:
            return []
        # Sent again because no answer came, it is known to be the same request: nothing was evaluated meanwhile.
        body = {"worker": worker, "at_most": at_most, "lease_seconds": lease, "shown": shown}
        answer = self._call("POST", "/ask?wait=2", body, key=uuid.uuid4().hex)
        if answer["state"] == "finished":
            return None
        return [json.dumps({"params": trial.pop("values"), **trial}) for trial in answer["trials"]]

    def tell(self, results: Sequence[tuple[int, ResultParts]], sure: bool) -> list[bool]:
        path: Path | None = None
        try:
            if len(results) == 1:
                letter, path = self._written(*results[0])
                return [not self._deliver(letter, path, sure)["late"]]
            body = {"results": [{"id": trial, **_body(parts)} for trial, parts in results]}
            return [not one["late"] for one in self._call("POST", f"/results{_said(sure)}", body)["told"]]
        except _Refused as refused:
            if refused.code != "mistyped":
                raise
            # Whoever is asked has the value still.
            if path is not None:
                path.unlink(missing_ok=True)
            raise Error(str(refused).replace("sure=true", "sure=True")) from None

    def settle(self, trial: int, parts: ResultParts) -> None:
        letter, path = self._written(trial, parts)
        try:
            self._deliver(letter, path, sure=True)
        except _Refused as refused:
            # Another worker was given it too, and was sooner.
            if refused.code != "already-told":
                raise

    def renew(self, trial: int, worker: str, lease: float) -> bool:
        held: bool = self._call("POST", f"/trials/{trial}/lease", {"worker": worker, "lease_seconds": lease})["held"]
        return held

    def give_back(self, trial: int, worker: str, unseen: bool) -> None:
        """A server counts what is given back as begun."""
        self._call("DELETE", f"/trials/{trial}/lease?worker={urllib.parse.quote(worker, safe='')}")

    def close_batch(self, even_unseen: bool) -> None:
        self._call("POST", "/close-batch", {"force": even_unseen})

    def go_on_despite_contradiction(self) -> None:
        self._call("POST", "/despite-contradiction", {})

    def reap(self) -> list[int]:
        trials: list[int] = self._call("POST", "/reap", {})["trials"]
        return trials

    def import_rows(self, rows: Sequence[tuple[str, ResultParts]], collected: str | None) -> int:
        packed = [{"values": dict(zip(self._parameters, json.loads(values))), "value": parts[0]} for values, parts in rows]
        kept: int = self._call("POST", "/earlier", {"rows": packed, "collected": collected})["rows"]
        return kept

    def trials(self) -> str:
        rows: list[dict[str, Any]] = []
        after = ""
        while True:
            page = self._call("GET", f"/trials?limit=5000{after}")
            for row in page["trials"]:
                row["values"] = [row["values"][name] for name in self._parameters]
            rows += page["trials"]
            if page["next"] is None:
                return json.dumps(rows)
            after = f"&after={page['next']}"

    def batches(self) -> str:
        return json.dumps(self._call("GET", "/batches")["batches"])

    def status(self) -> str:
        return json.dumps(self._call("GET", ""))

    def recommend(self) -> tuple[str, tuple[float, float, float, float | None], str] | None:
        advice = self._call("GET", "/recommendation")["recommendation"]
        if advice is None:
            return None
        stored = {"called": advice.get("called"), "values": advice["values"], "best_observed": advice["best_observed"]}
        ends = (_number(advice["lower"], "-inf"), _number(advice["upper"], "inf"), _number(advice["gap"], "inf"), advice["candidate_gap"])
        return json.dumps(stored), ends, json.dumps(advice["certificate"])

    def correct(self, trial: int, parts: ResultParts | None, why: str) -> str:
        if parts is None:
            answer = self._call("POST", f"/trials/{trial}/void", {"why": why})
        else:
            answer = self._call("POST", f"/trials/{trial}/replace", {**_body(parts), "why": why})
        return str(answer["corrected"]).replace("-", " ")

    def retry_failed(self) -> list[int]:
        trials: list[int] = self._call("POST", "/retry-failed", {})["trials"]
        return trials

    def amend(self, text: str, form: str, _directory: Path) -> list[str]:
        keys: list[str] = self._call("POST", "/amend", {"spec": _spec(text, form)})["keys"]
        return keys

    def strategy(self) -> Any:
        raise Error(f"the strategy of a study on a server is there: recommend(), batches() and report() say what it knows, and {self.place()}/model shows it")

    def standing(self) -> str | None:
        found = self._call("GET", "/premises")["standing"]
        return None if found is None else json.dumps(found)

    def contradiction(self) -> str | None:
        found: str | None = self._call("GET", "")["contradiction"]
        return found

    def premise_map(self, factors: list[float]) -> str:
        return json.dumps(self._call("GET", f"/premises?factors={','.join(repr(float(factor)) for factor in factors)}")["map"])

    def _written(self, trial: int, parts: ResultParts) -> tuple[dict[str, Any], Path | None]:
        """Written down here before it is sent, and until the server has it. A full disk here is no reason not to tell a server that can be reached."""
        letter = {"server": self.server, "study": self._study, "identity": self._identity, "id": trial, "key": uuid.uuid4().hex, "result": _body(parts)}
        path = self._outbox / f"{letter['key']}.json"
        part = path.with_suffix(".part")
        try:
            self._outbox.mkdir(parents=True, exist_ok=True)
            with open(part, "w", encoding="utf-8") as file:
                json.dump(letter, file)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except OSError as error:
            _say(f"the result of trial {trial} cannot be kept in {self._outbox} ({error}): it is sent only")
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            return letter, None
        return letter, path

    def _deliver(self, letter: dict[str, Any], path: Path | None, sure: bool) -> dict[str, Any]:
        try:
            told: dict[str, Any] = self._call("PUT", f"/trials/{letter['id']}/result{_said(sure)}", letter["result"], key=letter["key"])
        except _Refused as refused:
            if refused.code == "mistyped":
                raise
            # What was measured is never deleted: what will not be taken is kept under another ending, and not sent again. Another worker may have sent it meanwhile.
            if path is not None:
                with contextlib.suppress(FileNotFoundError):
                    path = path.replace(path.with_suffix(".refused")) if refused.code in _REFUSED else path
                    _say(f"{refused}; the result of trial {letter['id']} is kept in {path}")
            raise
        if path is not None:
            path.unlink(missing_ok=True)
        return told

    def _letters(self) -> list[tuple[Path, dict[str, Any]]]:
        """What an earlier run left for this study, wherever its server was then; what cannot be read, or is for another study, is left where it is."""
        found = []
        for path in sorted(self._outbox.glob("*.json")):
            # Another worker may have sent it and taken it away since.
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
                letter = json.loads(path.read_text(encoding="utf-8"))
                if letter.get("identity") == self._identity:
                    found.append((path, letter))
                elif letter["study"] == self._study:
                    _say(f"a result of trial {letter['id']} is left in {path}: it is for another study that was called the same, on {letter['server']}")
        return found

    def _text(self, url: str) -> str:
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {self._token}"})
        try:
            with self._open(request, timeout=300) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            raise _Refused(self.server, error.code, "unknown", f"it answers {error.code} to {url}") from None
        except OSError as error:
            raise Error(f"{self.server}: it is not reached: {error}") from None

    def _call(self, method: str, path: str | None, body: Any = None, key: str | None = None, patience: float | None = None) -> Any:
        """Sends until it is answered: everything here may be sent twice."""
        place = "" if path is None else f"/{urllib.parse.quote(self._study, safe='')}{path}"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        if self._identity:
            headers["Sigmabar-Study"] = self._identity
        if key is not None:
            headers["Idempotency-Key"] = key
        data = None if body is None else json.dumps(body).encode()
        begun, attempt = time.monotonic(), 0
        faulty: float | None = None
        while True:
            asked = 0.0
            request = urllib.request.Request(f"{self.server}/api/v1/studies{place}", data, headers, method=method)
            try:
                with self._open(request, timeout=60) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                refusal = _refusal(self.server, error)
                now = time.monotonic()
                faulty = (now if faulty is None else faulty) if error.code == 500 else None
                if error.code not in _PASSING or (faulty is not None and now - faulty > _PATIENCE_WITH_FAULTS):
                    raise refusal from None
                reason, asked = str(refusal), _wait(error)
            except (OSError, ValueError, http.client.HTTPException) as error:
                reason, faulty = f"{self.server}: it is not reached: {error}", None
            # Whoever is told to wait has reached the server.
            if patience is not None and not asked and time.monotonic() - begun > patience:
                raise Error(reason) from None
            if attempt == 3:
                _say(f"{reason}; trying on")
            # Longer each time, as long as the server asks for, and never the same for two: a server that comes back is not overrun.
            pause = min(_LONGEST_PAUSE, 0.1 * 2 ** min(attempt, 10)) * random.uniform(0.5, 1.5)
            time.sleep(max(pause, asked * random.uniform(1.0, 1.25)))
            attempt += 1


def _say(words: str) -> None:
    print(words, file=sys.stderr)


def _said(sure: bool) -> str:
    return "" if sure else "?sure=false"


def _wait(error: urllib.error.HTTPError) -> float:
    """Seconds that a server asks for which answers too many requests with 429."""
    seconds = error.headers.get("Retry-After", "")
    return min(float(seconds), _LONGEST_WAIT) if error.code == 429 and seconds.isdigit() else 0.0


def _refusal(server: str, error: urllib.error.HTTPError) -> Error:
    try:
        problem = json.load(error)
        code, message = problem["error"], problem["message"]
    except (ValueError, KeyError, TypeError):
        code, message = "unknown", f"it answers {error.code} with what is no answer of a server of studies"
    if code == "contradicted":
        return Contradicted(message)
    return _Refused(server, error.code, code, message)


def _spec(text: str, form: str) -> Any:
    try:
        if form == "json":
            return json.loads(text)
        if sys.version_info < (3, 11):
            raise Error("a study on a server is amended by a dictionary or a .json file in Python before 3.11")
        import tomllib

        return tomllib.loads(text)
    except ValueError as error:
        raise Error(f"spec cannot be read: {error}") from None


def _body(parts: ResultParts) -> dict[str, Any]:
    value, standard_error, reason, replicates = parts
    if value is None:
        return {"failed": (reason or "failed")[:2000]}
    found = {"value": value, "standard_error": standard_error, "replicates": replicates}
    return {key: number for key, number in found.items() if number is not None}


def _number(value: float | None, missing: str) -> float:
    return float(missing) if value is None else value
