"""A study that `sigmabar serve` has, with the methods of one in a file: standard library only, patient with the network."""

from __future__ import annotations

import json
import os
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any

from ._core import Error

_PASSING = {408, 429, 500, 502, 503, 504}
_FIRST_PATIENCE = 5.0
_LONGEST_PAUSE = 10.0

ResultParts = tuple[float | None, float | None, str | None]


class _Refused(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token goes to the server that it was given for, and nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        return None


class RemoteStudy:
    """What :class:`Study` calls, over HTTP. Results are sent until the server has them: told twice, they are told once."""

    def __init__(self, url: str, token: str | None, name: str | None) -> None:
        parts = urllib.parse.urlsplit(url)
        query = urllib.parse.parse_qs(parts.query)
        token = token or query.get("token", [None])[0] or os.environ.get("SIGMABAR_TOKEN")
        self.server = f"{parts.scheme}://{parts.netloc}"
        if not token:
            raise Error(f"{self.server}: there is no token: use the address that sigmabar serve prints, give token=…, or set SIGMABAR_TOKEN")
        self._token = token
        self._open = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({})).open
        path = parts.path.split("/")
        named = name or (urllib.parse.unquote(path[2]) if len(path) > 2 and path[1] == "s" else None)
        known = [study["study"] for study in self._call("GET", None, patience=_FIRST_PATIENCE)["studies"]]
        if named is not None and named not in known:
            raise Error(f'{self.server}: there is no study "{named}"; there are: {", ".join(known)}')
        if named is None and len(known) != 1:
            raise Error(f"{self.server}: it serves {len(known)} studies, give name=…: {', '.join(known)}")
        self._study = named or known[0]
        self._parameters: list[str] = self._call("GET", "")["parameters"]

    def name(self) -> str:
        return self._study

    def file(self) -> str:
        return f"{self.server}/s/{urllib.parse.quote(self._study, safe='')}"

    def toml(self) -> str:
        raise Error("the study file of a study on a server is at its /spec address, as JSON")

    def parameters(self) -> list[str]:
        return list(self._parameters)

    def ask(self, worker: str, at_most: int, lease: float) -> list[str] | None:
        answer = self._call("POST", "/ask?wait=2", {"worker": worker, "at_most": max(1, at_most), "lease_seconds": max(1.0, lease)})
        if answer["state"] == "finished":
            return None
        return [json.dumps({**trial, "params": trial.pop("values")}) for trial in answer["trials"]]

    def tell(self, results: list[tuple[int, ResultParts]]) -> list[bool]:
        if len(results) == 1:
            [(trial, parts)] = results
            told = self._call("PUT", f"/trials/{trial}/result", _body(parts), key=str(uuid.uuid4()))
            return [not told["late"]]
        told = self._call("POST", "/results", {"results": [{"id": trial, **_body(parts)} for trial, parts in results]})
        return [not one["late"] for one in told["told"]]

    def settle(self, trial: int, parts: ResultParts) -> None:
        try:
            self._send("PUT", f"/trials/{trial}/result", _body(parts), key=str(uuid.uuid4()))
        except _Refused as refused:
            if refused.code != "already-told":
                raise Error(f"{self.server}: {refused}") from None

    def renew(self, trial: int, worker: str, lease: float) -> bool:
        held: bool = self._call("POST", f"/trials/{trial}/lease", {"worker": worker, "lease_seconds": max(1.0, lease)})["held"]
        return held

    def give_back(self, trial: int, worker: str) -> None:
        self._call("DELETE", f"/trials/{trial}/lease?worker={urllib.parse.quote(worker, safe='')}")

    def close_batch(self, even_unseen: bool) -> None:
        self._call("POST", "/close-batch", {"force": even_unseen})

    def go_on_despite_contradiction(self) -> None:
        self._call("POST", "/despite-contradiction", {})

    def reap(self) -> list[int]:
        trials: list[int] = self._call("POST", "/reap", {})["trials"]
        return trials

    def import_rows(self, rows: list[tuple[str, ResultParts]], collected: str | None) -> int:
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
        stored = {"values": advice["values"], "best_observed": advice["best_observed"]}
        ends = (_number(advice["lower"], "-inf"), _number(advice["upper"], "inf"), _number(advice["gap"], "inf"), advice["candidate_gap"])
        return json.dumps(stored), ends, json.dumps(advice["certificate"])

    def correct(self, trial: int, parts: ResultParts | None, why: str) -> str:
        raise Error(f"trial {trial}: a result on a server is corrected where its file is, by sigmabar tell --replace or sigmabar void")

    def retry_failed(self) -> list[int]:
        raise Error("failures of a study on a server are put back where its file is")

    def amend(self, *_: Any) -> list[str]:
        raise Error("a study on a server is amended where its file is, by sigmabar amend")

    def strategy(self) -> Any:
        raise Error("the strategy of a study on a server is there: recommend(), batches() and predict over HTTP say what it knows")

    def _call(self, method: str, path: str | None, body: Any = None, key: str | None = None, patience: float | None = None) -> Any:
        try:
            return self._send(method, path, body, key, patience)
        except _Refused as refused:
            raise Error(f"{self.server}: {refused}") from None

    def _send(self, method: str, path: str | None, body: Any = None, key: str | None = None, patience: float | None = None) -> Any:
        """Sends until it is answered: everything here may be sent twice."""
        place = "" if path is None else f"/{urllib.parse.quote(self._study, safe='')}{path}"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        data = None if body is None else json.dumps(body).encode()
        begun, attempt = time.monotonic(), 0
        while True:
            request = urllib.request.Request(f"{self.server}/api/v1/studies{place}", data, headers, method=method)
            try:
                with self._open(request, timeout=60) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code not in _PASSING:
                    raise _refusal(error) from None
                reason: Exception = error
            except (OSError, ValueError) as error:
                reason = error
            if patience is not None and time.monotonic() - begun > patience:
                raise Error(f"{self.server}: it is not reached: {reason}") from None
            # Longer each time, and never the same for two: a server that comes back is not overrun.
            time.sleep(min(_LONGEST_PAUSE, 0.1 * 2 ** min(attempt, 10)) * random.uniform(0.5, 1.5))
            attempt += 1


def _refusal(error: urllib.error.HTTPError) -> _Refused:
    try:
        problem = json.load(error)
        return _Refused(error.code, problem["error"], problem["message"])
    except (ValueError, KeyError, TypeError):
        return _Refused(error.code, "unknown", f"it answers {error.code} with what is no answer of a server of studies")


def _body(parts: ResultParts) -> dict[str, Any]:
    value, standard_error, reason = parts
    if value is None:
        return {"failed": (reason or "failed")[:2000]}
    return {"value": value} if standard_error is None else {"value": value, "standard_error": standard_error}


def _number(value: float | None, missing: str) -> float:
    return float(missing) if value is None else value
