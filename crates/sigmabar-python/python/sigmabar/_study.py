"""Studies: the same files as the ``sigmabar`` command's, from Python."""

from __future__ import annotations

import json
import math
import os
import pickle
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from pickle import PicklingError
from typing import Any

from . import _core
from ._certificate import Certificate, PremiseRange, warned
from ._checks import count, count_or_none, flag, number, number_or_none, path, text, text_or_none
from ._core import Error
from ._html import advice, table
from ._learnt import LearntNumber
from ._names import Collected
from ._remote import RemoteStudy
from ._strategy import PremiseMap, Standing, Strategy

Setting = dict[str, Any]

_GLANCE = 0.05
#: So many failures without a single success are enough.
_PATIENCE = 5
#: What each worker of this process was handed out by each study.
_HANDED_OUT: dict[tuple[int, str, str, str], set[int]] = {}


@dataclass(frozen=True)
class Trial:
    """One evaluation to be made: ``params`` by their names, and a ``seed`` for whatever is random in it.

    >>> import os, tempfile, sigmabar as sb
    >>> spec = {"budget": 8, "parameters": {"n": {"type": "int", "low": 1, "high": 4}}}
    >>> study = sb.Study.create(os.path.join(tempfile.mkdtemp(), "s.db"), "trials", spec)
    >>> (trial,) = study.ask()
    >>> trial.batch, 1 <= trial.params["n"] <= 4
    (0, True)
    >>> study.tell(trial.id, 0.5)
    True
    """

    id: int
    batch: int
    params: Setting
    seed: int
    leased_until: int


@dataclass(frozen=True)
class Advice:
    """The recommended setting and what is known about it, as :class:`Recommendation`; ``best_observed`` may be a lucky draw.

    >>> import os, tempfile, sigmabar as sb
    >>> spec = {"budget": 12, "batches": 2, "parameters": {"n": {"type": "int", "low": 1, "high": 4}}}
    >>> study = sb.Study.create(os.path.join(tempfile.mkdtemp(), "s.db"), "advice", spec)
    >>> study.run(lambda n: -((n - 3) ** 2))
    'finished'
    >>> advice = study.recommend()
    >>> advice.params, advice.lower <= advice.upper, advice.best_observed["value"]
    ({'n': 3}, True, 0.0)
    """

    params: Setting
    lower: float
    upper: float
    gap: float
    candidate_gap: float | None
    certificate: Certificate
    best_observed: dict[str, Any] | None
    #: What the candidate is called, where ``candidates`` have labels.
    called: str | None = None

    @property
    def label(self) -> str:
        """What interval and gap may be called."""
        return self.certificate.label

    def _repr_html_(self) -> str:
        named = {} if self.called is None else {"candidate": self.called}
        return advice({**named, **self.params}, self.lower, self.upper, self.gap, "; ".join([self.label, *self.certificate.terms]))

    @property
    def premises(self) -> PremiseRange | None:
        """For which premises the claim stands; ``None`` for a strategy that certifies nothing."""
        return self.certificate.range


class Study:
    """One study of an SQLite file that many processes may use at once: :meth:`create` begins one, ``Study("study.db")`` opens it, with its ``name`` where the file has
    several.

    ``Study("http://host:8713", token="…")`` is a study that ``sigmabar serve`` has, with the same methods; the whole address that the server printed will do too, and
    the token may be in ``SIGMABAR_TOKEN``. ``name`` is needed where the server has several studies. Results are kept in the directory ``outbox`` until the server has
    them, and what an earlier run left there is sent first; while the server is away, calls wait for it.

    >>> import os, tempfile, sigmabar as sb
    >>> file = os.path.join(tempfile.mkdtemp(), "study.db")
    >>> spec = {"budget": 24, "batches": 3, "parameters": {"x": {"type": "float", "low": 0, "high": 1}}}
    >>> study = sb.Study.create(file, "demo", spec)
    >>> study.run(lambda x: -(x - 0.3) ** 2)
    'finished'
    >>> advice = study.recommend()
    >>> abs(advice.params["x"] - 0.3) < 0.1, advice.label
    (True, 'estimated')
    >>> len(study.trials()), sb.Study(file).status()["is_finished"]
    (24, True)
    """

    def __init__(
        self,
        place: _core.Study | str | os.PathLike[str],
        *,
        token: str | None = None,
        name: str | None = None,
        outbox: str | os.PathLike[str] = ".sigmabar-outbox",
    ) -> None:
        if isinstance(place, str) and place.startswith(("http://", "https://")):
            self._core: _core.Study | RemoteStudy = RemoteStudy(place, text_or_none(token, "token"), text_or_none(name, "name"), path(outbox, "outbox"))
        elif isinstance(place, _core.Study):
            self._core = place
        else:
            self._core = _core.Study.open(_database(place), text_or_none(name, "name"))

    @classmethod
    def create(
        cls, file: str | os.PathLike[str], name: str, spec: Mapping[str, Any] | str | os.PathLike[str], *, exist_ok: bool = False
    ) -> Study:
        """A new study. ``spec`` is a study file: the path of a ``.toml`` or ``.json`` file, its text in TOML, or the same as a dictionary.

        With ``exist_ok`` a study of this name that declares the same is opened: any number of processes may begin it at once.
        """
        spec_text, form, directory = _spec_text(spec)
        return cls(_core.Study.create(path(file, "file"), text(name, "name"), spec_text, form, directory, flag(exist_ok, "exist_ok")))

    @classmethod
    def open(cls, file: str | os.PathLike[str], name: str | None = None) -> Study:
        """A study of the file; without a name the only one."""
        return cls(path(file, "file"), name=name)

    @staticmethod
    def names(file: str | os.PathLike[str]) -> list[str]:
        """The studies of a file."""
        return _core.Study.names(path(file, "file"))

    @property
    def name(self) -> str:
        """The study's name."""
        return self._core.name()

    @property
    def file(self) -> Path:
        """The file it is in; an error for one on a server."""
        return Path(self._core.file())

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters."""
        return self._core.parameters()

    @property
    def spec(self) -> str:
        """The study file, as TOML."""
        return self._core.toml()

    def ask(self, at_most: int = 1, *, worker: str | None = None, lease: float = 3600.0) -> list[Trial] | None:
        """At most so many trials, leased for so many seconds; none while all are leased by others, ``None`` when the study is over.

        Asking again with the same ``worker`` gives the same pending trials first; without a name, every process and thread is its own. What this process is shown
        again, the certificate has as your word that nothing measured of it was left out; what another process of the same name had counts as evaluated again,
        and needs ``failures = "unrelated"`` to be certified.
        Raises :class:`Contradicted` where the data contradict what the study file declares.
        """
        name = worker or _own_name()
        # Who still has a trial has not died of its value.
        known = _HANDED_OUT.setdefault((os.getpid(), self._place(), self.name, name), set())
        trials = self._ask(name, count(at_most, "at_most"), number(lease, "lease"), shown=bool(known))
        again = [str(trial.id) for trial in trials or [] if trial.id in known]
        known.update(trial.id for trial in trials or [])
        if again:
            warnings.warn(f"shown again: trials {', '.join(again)}; what was measured of them is to be told, certificates say that none of it was left out", UserWarning, stacklevel=2)
        return trials

    def _ask(self, worker: str, at_most: int, lease: float, *, shown: bool = False) -> list[Trial] | None:
        asked = self._core.ask(worker, at_most, lease, shown)
        return None if asked is None else [Trial(**json.loads(trial)) for trial in asked]

    def tell(
        self,
        id: int,
        value: float | None = None,
        *,
        standard_error: float | None = None,
        replicates: int | None = None,
        error: str | None = None,
        sure: bool = True,
    ) -> bool:
        """The result of a trial: a value, or an ``error`` that says why there is none. ``False`` if its batch was closed before: it is kept, but not used.
        A mean of ``replicates`` comes with its standard error.

        Told again with the same value it is as it was; another value is refused: :meth:`replace` corrects one. With ``sure=False``, for numbers that somebody typed, a
        value that is probably mistyped (far beyond what was declared, what all others came to, or another result of the same setting) is refused too, before anything
        is analysed.
        """
        if (value is None) == (error is None):
            raise Error(f"trial {id}: tell a value, or the error that it failed with")
        result = (number_or_none(value, "value"), number_or_none(standard_error, "standard_error"), error, count_or_none(replicates, "replicates", least=1))
        return self._core.tell([(count(id, "id"), result)], flag(sure, "sure"))[0]

    def tell_all(self, results: Iterable[tuple[int, float | None]], *, sure: bool = True) -> list[bool]:
        """Several results in one transaction, all or none; ``None`` is a failure. ``sure`` as for :meth:`tell`."""
        told = [(count(i, "id"), (number_or_none(v, "value"), None, None if v is not None else "no value", None)) for i, v in results]
        return self._core.tell(told, flag(sure, "sure"))

    def replace(self, id: int, value: float, why: str, *, standard_error: float | None = None, replicates: int | None = None) -> str:
        """Another value in the place of the one that was told, and why; the study's events keep both.

        Says ``"in time"``, ``"after analysis"`` where later batches were planned from the earlier value (what was planned stays, claims are computed anew and
        their certificate says so), or ``"late"``.
        """
        parts = (number(value, "value"), number_or_none(standard_error, "standard_error"), None, count_or_none(replicates, "replicates", least=1))
        return self._core.correct(count(id, "id"), parts, text(why, "why"))

    def withdraw(self, id: int, why: str) -> str:
        """Takes a result back: the trial counts as failed. Says what :meth:`replace` says."""
        return self._core.correct(count(id, "id"), None, text(why, "why"))

    def retry_failed(self) -> list[int]:
        """Puts the failures of a batch back into the queue, as when the objective was mended; their ids. It is the newest batch of which anything was measured, or the one after it if that
        failed: batches after that one were planned without anything new, and are planned again."""
        return self._core.retry_failed()

    def amend(self, spec: Mapping[str, Any] | str | os.PathLike[str]) -> list[str]:
        """Goes on by an edited study file: objective, description, ``stop_when`` and a larger budget may be changed. The keys that were."""
        return self._core.amend(*_spec_text(spec))

    def close_batch(self, *, force: bool = False) -> None:
        """Closes the batch with what has arrived; what is still leased counts as missing, and a result that comes later is kept but not used.

        What follows is valid if missing does not depend on the noise. A batch of which nothing was handed out yet is only closed with ``force``.

        >>> import os, tempfile, sigmabar as sb
        >>> spec = {"budget": 8, "batches": [4, 4], "parameters": {"x": {"type": "float", "low": 0, "high": 1}}}
        >>> study = sb.Study.create(os.path.join(tempfile.mkdtemp(), "s.db"), "closed", spec)
        >>> mine = study.ask(3, worker="me")
        >>> study.tell_all([(mine[0].id, 0.5), (mine[1].id, 0.7)])
        [True, True]
        >>> study.close_batch()
        >>> study.tell(mine[2].id, 0.6)
        False
        """
        self._core.close_batch(force)

    def go_on_despite_contradiction(self) -> None:
        """Lets a study go on whose premises the data have refuted: measurements then serve the model, and nothing is certified."""
        self._core.go_on_despite_contradiction()

    def reap(self) -> list[int]:
        """Puts trials whose lease ran out back into the queue."""
        return self._core.reap()

    def import_results(self, rows: Iterable[tuple[Mapping[str, Any], float | None]], *, collected: Collected | None = None) -> int:
        """Results measured before the study, as pairs of setting and value; all are written or none, and how many is returned.
        ``None`` stands for a value that was lost, which may have been because of what it was: who leaves such a setting out declares that it was not.

        With ``collected="fixed"`` you declare that no setting, nor how many there are, was chosen by looking at a value, and certified S-BPE counts those that
        come before the first ask into its first batch; ``"adaptive"`` and ``"exchangeable"`` ones, and those of which nobody said, only help models, and enter
        no certificate.
        """
        names = self.parameters
        packed = []
        for place, (setting, value) in enumerate(rows, start=1):
            row = f"row {place} of the import (counted from 1)"
            missing = [name for name in names if name not in setting]
            if missing or len(setting) != len(names):
                unknown = sorted(set(setting) - set(names))
                raise Error(f"{row}: missing {missing}, unknown {unknown}; the parameters are {names}")
            packed.append((json.dumps([_plain(setting[name]) for name in names]), (number_or_none(value, f"{row}: the value"), None, None, None)))
        return self._core.import_rows(packed, text_or_none(collected, "collected"))

    def trials(self) -> list[dict[str, Any]]:
        """All trials as they stand in the file; ``called`` is what a candidate is called, where candidates have labels."""
        names, rows = self.parameters, json.loads(self._core.trials())
        return [{"params": dict(zip(names, row.pop("values"))), **row} for row in rows]

    def dataframe(self) -> Any:
        """All trials as a pandas DataFrame: one column for each parameter, then value, standard error, state and the rest.

        >>> import os, tempfile, sigmabar as sb
        >>> spec = {"budget": 8, "parameters": {"n": {"type": "int", "low": 1, "high": 4}}}
        >>> study = sb.Study.create(os.path.join(tempfile.mkdtemp(), "s.db"), "frame", spec)
        >>> study.tell(study.ask()[0].id, 0.5)
        True
        >>> list(study.dataframe().columns)[:5]
        ['id', 'batch', 'n', 'value', 'standard_error']
        """
        import pandas

        names, trials = self.parameters, self.trials()
        rest = [key for key in (trials[0] if trials else {}) if key not in ("id", "batch", "params", "value", "standard_error")]
        columns = ["id", "batch", *names, "value", "standard_error", *rest]
        rows = [{**trial, **trial["params"]} for trial in trials]
        return pandas.DataFrame({column: [row[column] for row in rows] for column in columns})

    def batches(self) -> list[dict[str, Any]]:
        """The batches, with what was still possible after each."""
        batches: list[dict[str, Any]] = json.loads(self._core.batches())
        return batches

    def status(self) -> dict[str, Any]:
        """Where the study stands."""
        status: dict[str, Any] = json.loads(self._core.status())
        return status

    def recommend(self) -> Advice | None:
        """The best setting by what is known now; ``None`` before anything was measured."""
        found = self._core.recommend()
        if found is None:
            return None
        settings, (lower, upper, gap, candidate_gap), certificate = found
        stored = json.loads(settings)
        shown = warned(Certificate(certificate), 3)
        return Advice(stored["values"], lower, upper, gap, candidate_gap, shown, stored.get("best_observed"), stored.get("called"))

    def standing(self) -> Standing | None:
        """The claim as a function of the norm bound, about the setting as it can be made: what rounding it to its digits costs is counted. ``None`` where there is no claim,
        with a :class:`ContradictionWarning` where the data contradict what was declared."""
        return Standing.of(self._core)

    def premise_map(self, factors: Sequence[float] = (0.5, 0.7, 1.0, 1.4, 2.0)) -> PremiseMap | None:
        """The same with all length-scales times each factor."""
        return PremiseMap.said(self._core.premise_map([number(f, "factors") for f in factors]))

    @property
    def strategy(self) -> Strategy:
        """The run with everything told so far, to look at."""
        return Strategy._wrap(self._core.strategy())

    def run(
        self,
        f: Callable[..., float],
        *,
        executor: Executor | None = None,
        parallel: int | None = None,
        at_most: int | None = None,
        lease: float = 3600.0,
        pass_trial: bool = False,
    ) -> str:
        """Evaluates ``f(**params)`` (with ``pass_trial``, ``f(trial)``) until the study is over, on any ``concurrent.futures`` executor.

        ``parallel`` many at a time: by default as many as the executor has workers, and one without an executor. An exception in ``f`` is a failed trial and
        does not end the run, unless the first five (or as many as run at a time) or a whole batch of five and more fail: then the last one is raised. Ctrl-C, ``SystemExit`` and a broken or cancelling executor end it too: trials that will not be evaluated are given back, and the study
        can be run again. ``at_most`` evaluations are made in this call, and leases are renewed while they run. Returns ``"finished"``, ``"stopped"`` or, when everything left is leased elsewhere,
        ``"waiting"``. Values are what ``f`` returned: of one that looks wrong a warning is given.

        >>> import os, tempfile, sigmabar as sb
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> spec = {"budget": 16, "batches": 2, "parameters": {"x": {"type": "int", "low": 0, "high": 9}}}
        >>> study = sb.Study.create(os.path.join(tempfile.mkdtemp(), "s.db"), "parallel", spec)
        >>> with ThreadPoolExecutor(4) as pool:
        ...     study.run(lambda x: float(x), executor=pool)
        'finished'
        """
        most = count_or_none(at_most, "at_most")
        parallel = count_or_none(parallel, "parallel", least=1)
        if executor is not None:
            _check_executor(f, executor)
        own = ThreadPoolExecutor(parallel or 1) if executor is None else None
        pool = executor or own
        assert pool is not None
        width = parallel or getattr(pool, "_max_workers", None) or os.cpu_count() or 1
        runner = _Runner(self, f, pool, width, number(lease, "lease"), pass_trial)
        try:
            return runner.run(most)
        finally:
            if own is not None:
                own.shutdown(wait=False, cancel_futures=True)

    def report(self, output: str | os.PathLike[str] | None = None) -> Path:
        """Writes the report of the ``sigmabar`` command, one self-contained page with pictures: ``NAME-report.html`` beside the study's file unless named, or in
        the current directory for a study on a server."""
        from .__main__ import run as command

        page = self.name.translate(str.maketrans("/\\", "__")) + "-report.html"
        output = output or (page if isinstance(self._core, RemoteStudy) else self.file.with_name(page))
        if isinstance(self._core, RemoteStudy):
            Path(output).write_text(self._core.report(), encoding="utf-8")
            return Path(output)
        code = command(["report", str(self.file), "--name", self.name, "-o", os.fspath(output), "--quiet"])
        if code != 0:
            raise Error(f"the report was not written: the command ended with {code}")
        return Path(output)

    def _place(self) -> str:
        return self._core.place() if isinstance(self._core, RemoteStudy) else str(self.file)

    def __repr__(self) -> str:
        return f"<Study {self.name!r} in {self._place()!r}>"

    def _repr_html_(self) -> str:
        status = self.status()
        trials = ", ".join(f"{count} {state}" for state, count in status["counts"].items()) or "none"
        rows = [("study", self.name), ("strategy", status["strategy"]), ("trials", f"{trials} of {status['budget']}"), ("finished", status["is_finished"])]
        best = self.recommend()
        return table(rows) + ("" if best is None else best._repr_html_())


@dataclass
class _Leased:
    """A trial that is being evaluated, the name it is leased under, and when the lease was last renewed."""

    trial: Trial
    worker: str
    renewed: float


class _Runner:
    """Keeps an executor busy with trials of a study."""

    def __init__(
        self, study: Study, f: Callable[..., float], pool: Executor, width: int, lease: float, pass_trial: bool
    ) -> None:
        self.study, self.f, self.pool, self.width, self.lease, self.pass_trial = study, f, pool, width, lease, pass_trial
        self.running: dict[Future[float], _Leased] = {}
        # An objective that only fails is wrong, and trying on would waste every trial.
        self.is_proven = bool(study.status()["counts"].get("done"))
        self.failures_in_a_row, self.patience = 0, max(width, _PATIENCE)
        # One name for each slot: asking again under it gives what an interrupted run left behind.
        self.free = [f"{_own_name()}-{slot}" for slot in range(width)]

    def run(self, at_most: int | None) -> str:
        try:
            return self._run(at_most)
        except BaseException as error:
            self._abandon(error)
            raise

    def _run(self, at_most: int | None) -> str:
        started, over = 0, False
        while True:
            waiting = False
            while self.free and not over and (at_most is None or started < at_most):
                asked = self.study._ask(self.free[-1], 1, self.lease)
                if asked is None:
                    over = True
                elif not asked:
                    waiting = True
                    break
                else:
                    self._start(asked[0])
                    started += 1
            if not self.running:
                if over:
                    self._check_measured()
                    return "finished"
                return "waiting" if waiting else "stopped"
            self._collect()

    def _start(self, trial: Trial) -> None:
        name = self.free.pop()
        try:
            future = self.pool.submit(self.f, trial) if self.pass_trial else self.pool.submit(self.f, **trial.params)
        except BaseException as error:
            self._give_back(trial, name, error, unseen=True)
            raise
        self.running[future] = _Leased(trial, name, time.monotonic())

    def _collect(self) -> None:
        # With a time-out, so that Ctrl-C is seen at once.
        wait(self.running, timeout=_GLANCE, return_when=FIRST_COMPLETED)
        # Asked of each: a cancelled one that no worker has looked at counts as done, but is not waited for.
        for future in [future for future in self.running if future.done()]:
            if not _has_answered(future):
                future.result()
            # Still among the running if it cannot be written down: then it is given back.
            failure = self._settle(self.running[future].trial, future)
            leased = self.running.pop(future)
            self.free.append(leased.worker)
            self._judge(leased.trial, failure)
        self._renew()

    def _renew(self) -> None:
        """Keeps the leases of what runs for longer than they last."""
        now = time.monotonic()
        for leased in self.running.values():
            if now - leased.renewed > self.lease / 3:
                self.study._core.renew(leased.trial.id, leased.worker, self.lease)
                leased.renewed = now

    def _abandon(self, cause: BaseException) -> None:
        """Writes down what is there and gives back what has no result; what still runs keeps its lease. What goes wrong here is noted on the cause."""
        for future, leased in self.running.items():
            was_called_off = future.cancel()
            if not was_called_off and not future.done():
                continue
            try:
                if _has_answered(future):
                    self._settle(leased.trial, future)
                    continue
            except Exception as error:
                _note(cause, f"trial {leased.trial.id} has a result that was not written down: {error!r}")
            # Python's own pools call off what has not begun; others may call off what runs.
            self._give_back(leased.trial, leased.worker, cause, unseen=was_called_off and isinstance(self.pool, (ThreadPoolExecutor, ProcessPoolExecutor)))

    def _give_back(self, trial: Trial, worker: str, cause: BaseException, *, unseen: bool) -> None:
        try:
            self.study._core.give_back(trial.id, worker, unseen)
        except Exception as error:
            _note(cause, f"trial {trial.id} was not given back: {error!r}")

    def _settle(self, trial: Trial, future: Future[float]) -> BaseException | None:
        failure = future.exception()
        value, reason = _value(future.result()) if failure is None else (None, f"{type(failure).__name__}: {failure}")
        self.study._core.settle(trial.id, (value, None, reason, None))
        self.is_proven = self.is_proven or value is not None
        self.failures_in_a_row = 0 if value is not None else self.failures_in_a_row + 1
        return failure

    def _judge(self, trial: Trial, failure: BaseException | None) -> None:
        """Ends a run that would waste every trial."""
        if self.failures_in_a_row >= self.patience:
            self._check_measured(failure)
        if self.failures_in_a_row >= _PATIENCE and self.is_proven:
            self._check_batch(trial.batch, failure)

    def _check_measured(self, cause: BaseException | None = None) -> None:
        """The end of a run in which nothing was ever measured is an error."""
        if self.is_proven:
            return
        failed = [trial for trial in self.study.trials() if trial["state"] == "failed"]
        if failed:
            last = max(failed, key=lambda trial: trial["told_at"])["reason"]
            raise Error(
                f"nothing was measured: all {len(failed)} evaluations of study {self.study.name!r} failed, the last one because: {last}; "
                "mend the objective, then evaluate them again: study.retry_failed(), and run"
            ) from cause

    def _check_batch(self, batch: int, cause: BaseException | None) -> None:
        """An outage ends the run instead of spending the budget. Where settings are chosen one by one, a failure is none."""
        trials = [trial for trial in self.study.trials() if trial["batch"] == batch]
        if len(trials) >= _PATIENCE and all(trial["state"] == "failed" for trial in trials):
            last = max(trials, key=lambda trial: trial["told_at"])["reason"]
            raise Error(
                f"all evaluations of batch {batch + 1} of study {self.study.name!r} failed, the last one because: {last}; "
                "mend what is out of order, then evaluate them again: study.retry_failed(), and run; to go on without them, run"
            ) from cause


def _value(result: Any) -> tuple[float | None, str | None]:
    """What an objective returned as a number, or why it is none."""
    try:
        value = float(result)
    except (TypeError, ValueError, OverflowError):
        return None, f"the objective returned {result!r}, which is no number"
    return (value, None) if math.isfinite(value) else (None, f"the objective returned {value}")


def _note(error: BaseException, text: str) -> None:
    # Before Python 3.11 errors have no notes.
    if hasattr(error, "add_note"):
        error.add_note(text)


def _has_answered(future: Future[float]) -> bool:
    """Whether the objective itself returned or failed, and not what was to run it."""
    if future.cancelled():
        return False
    failure = future.exception()
    return failure is None or (isinstance(failure, Exception) and not isinstance(failure, (BrokenExecutor, PicklingError, CancelledError)))


def _check_executor(f: Callable[..., float], pool: Executor) -> None:
    """Functions go to other processes by their names: one without is refused before anything is leased. So is an executor that evaluates twice, or once for two."""
    if type(pool).__module__.partition(".")[0] == "distributed":
        raise Error("Dask's own executor evaluates again what killed its worker, and gives equal settings one result: use executor=sigmabar.dask.Executor(client)")
    if isinstance(pool, ProcessPoolExecutor):
        try:
            pickle.dumps(f)
        except Exception as error:
            raise Error(f"the objective cannot be sent to another process: define it at the top of a module ({error})") from error


def _own_name() -> str:
    return f"python-{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}"


def _database(place: Any) -> Path:
    """Where a study is kept that is there."""
    if not isinstance(place, (str, os.PathLike)):
        raise Error(f'a study is in a file or on a server: Study("study.db"), or Study("http://…", token="…"), not {place!r}')
    file = path(place, "file")
    if file.suffix in (".toml", ".json"):
        raise Error(f'{file} is a study file: Study.create("{file.with_suffix(".db")}", "{file.stem}", "{file}") begins its study')
    return file


def _plain(value: Any) -> Any:
    """NumPy scalars as the numbers they are."""
    return value.item() if hasattr(value, "item") else value


def _refuse_learnt(value: Any, key: str) -> None:
    """A study's premises are declared: a number that was learnt is none until somebody says so."""
    if isinstance(value, LearntNumber):
        raise Error(f"{key} was learnt from responses, and a study would declare it: write float(…) if it is your own word, and import none of those responses")
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for name, part in parts:
        _refuse_learnt(part, f"{key}.{name}" if key else str(name))


def _spec_text(spec: Mapping[str, Any] | str | os.PathLike[str]) -> tuple[str, str, Path]:
    if isinstance(spec, Mapping):
        _refuse_learnt(spec, "")
        try:
            return json.dumps(spec, default=_plain), "json", Path.cwd()
        except (TypeError, ValueError) as error:
            raise Error(f"spec must be of texts, numbers, lists and dictionaries: {error}") from None
    if isinstance(spec, str) and "\n" in spec:
        return spec, "toml", Path.cwd()
    if not isinstance(spec, (str, os.PathLike)):
        raise Error(f"spec must be a dictionary, the text of a study file or its path, not {spec!r}")
    file = path(spec, "spec")
    try:
        read = file.read_text(encoding="utf-8")
    except OSError as error:
        raise Error(f"{file}: {error.strerror}") from error
    return read, "json" if file.suffix == ".json" else "toml", file.resolve().parent


def study_schema() -> dict[str, Any]:
    """The JSON Schema of study files.

    >>> import sigmabar as sb
    >>> "parameters" in sb.study_schema()["properties"]
    True
    """
    schema: dict[str, Any] = json.loads(_core.study_schema())
    return schema
