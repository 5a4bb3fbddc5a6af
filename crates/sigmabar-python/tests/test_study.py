"""Studies from Python: the same files as the command's."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import sigmabar as sb

SPEC = {
    "budget": 24,
    "batches": 3,
    "parameters": {"x": {"type": "float", "low": -1, "high": 1}, "kind": {"type": "categorical", "choices": ["a", "b"]}},
}


def bowl(x: float, kind: str) -> float:
    return -((x - 0.2) ** 2) - (0.5 if kind == "b" else 0.0)


def make(tmp_path: Path, name: str = "bowl", **changes: object) -> sb.Study:
    return sb.Study.create(tmp_path / "s.db", name, {**SPEC, **changes})


def test_it_runs_on_threads_and_on_processes_alike(tmp_path: Path) -> None:
    values = []
    for number, pool in enumerate([None, ThreadPoolExecutor(8), ProcessPoolExecutor(2, mp_context=get_context("spawn"))]):
        study = make(tmp_path, f"bowl{number}")
        assert study.run(bowl, executor=pool) == "finished"
        values.append([t["value"] for t in study.trials()])
        if pool is not None:
            pool.shutdown()
    assert values[0] == values[1] == values[2], "a run is a function of seed and values"
    advice = study.recommend()
    assert advice is not None and advice.params["kind"] == "a" and abs(advice.params["x"] - 0.2) < 0.2
    assert sb.Study.names(tmp_path / "s.db") == ["bowl0", "bowl1", "bowl2"]


def test_ask_and_tell_with_leases(tmp_path: Path) -> None:
    study = make(tmp_path)
    mine, again = study.ask(2, worker="me"), study.ask(2, worker="me")
    assert mine is not None and [t.id for t in mine] == [t.id for t in again or []]
    yours = study.ask(2, worker="you")
    assert yours is not None and not {t.id for t in mine} & {t.id for t in yours}
    assert study.tell(mine[0].id, bowl(**mine[0].params))
    assert study.tell(mine[1].id, error="the machine stopped")
    assert study.tell(mine[0].id, bowl(**mine[0].params)), "the same again is a success"
    assert study.tell(mine[1].id, error="it had stopped")
    with pytest.raises(sb.Error, match="already has another result"):
        study.tell(mine[0].id, 1.0)
    with pytest.raises(sb.Error, match="value, or the error"):
        study.tell(yours[0].id)
    states = [t["state"] for t in study.trials()]
    assert states.count("done") == 1 and states.count("failed") == 1


def test_failures_of_the_objective_are_written_down(tmp_path: Path) -> None:
    def sometimes(x: float, kind: str) -> float:
        if x > 0.8:
            raise RuntimeError("too hot")
        return float("nan") if x < -0.9 else bowl(x, kind)

    study = make(tmp_path)
    assert study.run(sometimes, parallel=4) == "finished"
    failed = [t for t in study.trials() if t["state"] == "failed"]
    assert failed and all("too hot" in t["reason"] or "nan" in t["reason"] for t in failed)


def dies(x: float, kind: str) -> float:
    os._exit(1)


def leaves(x: float, kind: str) -> float:
    raise SystemExit(3)


class Cancelling(ThreadPoolExecutor):
    def submit(self, *args: object, **kwargs: object) -> Future:  # type: ignore[override, type-arg]
        future: Future[float] = Future()
        future.cancel()
        return future


class Closed(ThreadPoolExecutor):
    def submit(self, *args: object, **kwargs: object) -> Future:  # type: ignore[override, type-arg]
        raise BrokenExecutor("closed")


@pytest.mark.parametrize(
    ("f", "pool", "raised"),
    [
        (dies, lambda: ProcessPoolExecutor(1, mp_context=get_context("spawn")), BrokenExecutor),
        (leaves, lambda: ThreadPoolExecutor(1), SystemExit),
        (bowl, lambda: Cancelling(1), CancelledError),
        (bowl, lambda: Closed(1), BrokenExecutor),
        (lambda x, kind: 1.0, lambda: ProcessPoolExecutor(1), sb.Error),
    ],
    ids=["dead process", "exit", "cancelled", "refused", "not sendable"],
)
def test_what_is_no_result_is_raised_and_the_trial_given_back(tmp_path: Path, f, pool, raised) -> None:  # type: ignore[no-untyped-def]
    study = make(tmp_path)
    with pool() as executor, pytest.raises(raised):
        study.run(f, executor=executor)
    assert not {t["state"] for t in study.trials()} - {"queued"}, "no trial is failed or leased"
    assert study.run(bowl) == "finished"


KNOWN = {
    "budget": 16,
    "batches": [8, 8],
    "kernel": {"name": "se", "lengthscale": 0.5},
    "norm_bound": 0.6,
    "noise": {"gaussian": 0.2},
    "parameters": {"x": {"type": "float", "low": 0, "high": 1, "step": 0.25}},
}


def gone(x: float) -> float:
    os._exit(1)


def broken_pool(study: sb.Study) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(BrokenExecutor):
        study.run(gone, executor=pool, parallel=1)


def asked_again(study: sb.Study) -> None:
    ask = "import sys, sigmabar as sb; sb.Study(sys.argv[1]).ask(1, worker='me')"
    subprocess.run([sys.executable, "-c", ask, str(study.file)], check=True)
    (trial,) = study.ask(1, worker="me") or []
    study.tell(trial.id, 0.1)


@pytest.mark.parametrize("mishap", [broken_pool, asked_again])
@pytest.mark.parametrize(("failures", "label"), [({}, "estimated"), ({"failures": "unrelated"}, "certified")])
def test_what_died_and_is_evaluated_again_is_a_loss(tmp_path: Path, mishap, failures: dict[str, str], label: str) -> None:  # type: ignore[no-untyped-def]
    study = sb.Study.create(tmp_path / "s.db", "known", {**KNOWN, **failures})
    mishap(study)
    assert study.run(lambda x: 0.1 + 0.01 * x) == "finished"
    advice = study.recommend()
    assert advice is not None and advice.label == label
    assert advice.certificate.premises["losses"].statement.startswith("1 planned observations were lost")


def test_what_never_began_and_what_is_only_shown_again_costs_no_certificate(tmp_path: Path) -> None:
    study = sb.Study.create(tmp_path / "s.db", "known", KNOWN)
    shut = ThreadPoolExecutor(1)
    shut.shutdown()
    with pytest.raises(RuntimeError, match="shutdown"):
        study.run(lambda x: 0.1, executor=shut)
    study.ask(2)
    with pytest.warns(UserWarning, match="shown again: trials"):
        trials = study.ask(2) or []
    for trial in trials:
        study.tell(trial.id, 0.1)
    assert study.run(lambda x: 0.1 + 0.01 * x) == "finished"
    advice = study.recommend()
    assert advice is not None and advice.label == "certified"
    losses = advice.certificate.premises["losses"]
    assert losses.statement.startswith("no planned observation was lost: nothing was left out of settings that were shown again") and losses.origin == "declared"


@pytest.mark.parametrize("failures", [{}, {"failures": "informative"}])
def test_retries_are_not_amended_into_a_study_that_certifies(tmp_path: Path, failures: dict[str, str]) -> None:
    study = sb.Study.create(tmp_path / "s.db", "known", {**KNOWN, **failures, "objective": {"command": "echo {x}"}})
    with pytest.raises(sb.Error, match='retries.* failures = "unrelated"'):
        study.amend({**KNOWN, **failures, "objective": {"command": "echo {x}", "retries": 3}})


def test_yes_and_no_are_no_values(tmp_path: Path) -> None:
    study = make(tmp_path)
    (trial,) = study.ask() or []
    for wrong in (True, np.bool_(False)):
        with pytest.raises(sb.Error, match="value must be a number, not"):
            study.tell(trial.id, wrong)
    assert study.tell(trial.id, np.float32(1))


class Unfit:
    """What an objective might return by mistake: it cannot be made a number, in a way nobody thought of."""

    def __init__(self, which: int) -> None:
        self.which = which

    def __float__(self) -> float:
        raise RuntimeError(f"unfit {self.which}")


class AtOnce(ThreadPoolExecutor):
    def submit(self, f, *args: object, **kwargs: object) -> Future:  # type: ignore[override, type-arg, no-untyped-def]
        future: Future[float] = Future()
        future.set_result(f(*args, **kwargs))
        return future


def test_one_result_that_cannot_be_written_costs_no_other(tmp_path: Path) -> None:
    study = make(tmp_path)
    calls = iter(range(4))

    def f(x: float, kind: str) -> object:
        call = next(calls)
        return Unfit(call) if call < 2 else bowl(x, kind)

    with AtOnce(1) as pool, pytest.raises(RuntimeError, match="unfit 0") as raised:
        study.run(f, executor=pool, parallel=4)  # type: ignore[arg-type]
    assert [t["state"] for t in study.trials()][:4] == ["queued", "queued", "done", "done"]
    if hasattr(raised.value, "__notes__"):
        assert any("unfit 1" in note for note in raised.value.__notes__), "what went wrong afterwards is noted, not raised"
    assert study.run(bowl) == "finished"


def test_an_evaluation_that_outlasts_its_lease_keeps_it(tmp_path: Path) -> None:
    study = make(tmp_path)
    calls: list[int] = []

    def f(trial: sb.Trial) -> float:
        calls.append(trial.id)
        if len(calls) == 1:
            time.sleep(4.0)
        return bowl(**trial.params)

    assert study.run(f, parallel=2, lease=1.5, pass_trial=True) == "finished"
    assert sorted(calls) == list(range(24)), "nobody else was given the long one"


def test_a_trial_that_somebody_else_has_told_does_not_end_the_run(tmp_path: Path) -> None:
    study = make(tmp_path)
    elsewhere = sb.Study.open(tmp_path / "s.db")

    def f(trial: sb.Trial) -> float:
        if trial.id == 3:
            elsewhere.tell(3, 0.125)
        return bowl(**trial.params)

    assert study.run(f, pass_trial=True) == "finished"
    assert [t["value"] for t in study.trials() if t["id"] == 3] == [0.125], "what was told first stands"


def test_one_run_may_have_a_trial_twice(tmp_path: Path) -> None:
    study = make(tmp_path)
    elsewhere = sb.Study.open(tmp_path / "s.db")
    lock, again, calls = threading.Lock(), threading.Event(), []

    def f(trial: sb.Trial) -> float:
        with lock:
            calls.append(trial.id)
            is_first, is_second = calls.count(0) == 1 and trial.id == 0, calls.count(0) == 2 and trial.id == 0
        if is_first:
            (worker,) = [t["worker"] for t in elsewhere.trials() if t["id"] == 0]
            elsewhere._core.give_back(0, worker, False)
            assert again.wait(60)
        if is_second:
            again.set()
        return bowl(**trial.params)

    assert study.run(f, parallel=2, pass_trial=True) == "finished"
    assert calls.count(0) == 2 and {t["state"] for t in study.trials()} == {"done"}


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    study = make(tmp_path)
    assert study.run(bowl, at_most=5) == "stopped"
    again = sb.Study.open(tmp_path / "s.db", "bowl")
    assert again.run(bowl) == "finished"
    whole = make(tmp_path, "whole")
    whole.run(bowl)
    assert [t["value"] for t in again.trials()] == [t["value"] for t in whole.trials()]


def test_old_results_come_in(tmp_path: Path) -> None:
    study = make(tmp_path)
    assert study.import_results([({"x": 0.1, "kind": "a"}, 0.5), ({"kind": "b", "x": 0.3}, 0.1)]) == 2
    with pytest.raises(sb.Error, match=r"row 1 of the import \(counted from 1\): missing \['kind'\]"):
        study.import_results([({"x": 0.1}, 0.5)])
    assert study.status()["imported"] == 2
    assert study.import_results([({"x": 0.2, "kind": "a"}, 0.4)], collected="fixed") == 1
    with pytest.raises(sb.Error, match=r"row 1 of the import \(counted from 1\): the value must be a number"):
        study.import_results([({"x": 0.1, "kind": "a"}, "good")])
    with pytest.raises(sb.Error, match='collected "chosen" is not known: choose one of fixed, adaptive, exchangeable, undeclared'):
        study.import_results([], collected="chosen")


@pytest.mark.parametrize(("last", "label", "losses"), [(0.12, "certified", ("no", "declared")), (None, "estimated", ("1", "unmet"))])
def test_a_lost_value_of_before_is_a_loss(tmp_path: Path, last: float | None, label: str, losses: tuple[str, str]) -> None:
    study = sb.Study.create(tmp_path / "s.db", "known", KNOWN)
    assert study.import_results([({"x": 0.25}, 0.1), ({"x": 0.5}, last)], collected="fixed") == 2
    assert study.run(lambda x: 0.1 + 0.01 * x) == "finished"
    advice = study.recommend()
    assert advice is not None and advice.label == label
    premise = advice.certificate.premises["losses"]
    assert (premise.statement.split()[0], premise.origin) == losses


def test_closing_a_batch_that_nobody_has_seen_takes_force(tmp_path: Path) -> None:
    study = make(tmp_path)
    mine = study.ask(3, worker="me")
    assert mine is not None
    study.tell(mine[0].id, 0.5)
    study.close_batch()
    assert study.tell(mine[1].id, 0.5) is False, "leased when the batch was closed: late"
    with pytest.raises(sb.Error, match="nothing of batch 2 of study .* was handed out yet"):
        study.close_batch()
    study.close_batch(force=True)
    assert study.run(bowl) == "finished"


def test_errors_of_study_files_point_at_the_place(tmp_path: Path) -> None:
    with pytest.raises(sb.Error, match="budgett"):
        make(tmp_path, budgett=3)
    (tmp_path / "bad.toml").write_text("budget = 3\n[parameters.x]\ntype = 'flaot'\nlow = 0\nhigh = 1\n")
    with pytest.raises(sb.Error, match="3"):
        sb.Study.create(tmp_path / "s.db", "bad", tmp_path / "bad.toml")
    with pytest.raises(sb.Error, match="nowhere.toml"):
        sb.Study.create(tmp_path / "s.db", "bad", tmp_path / "nowhere.toml")
    with pytest.raises(sb.Error):
        sb.Study.open(tmp_path / "no.db")
    make(tmp_path)
    with pytest.raises(sb.Error, match="bowl"):
        make(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"file": 3}, "file must be a path, not 3"),
        ({"file": b"s.db"}, "file must be a path"),
        ({"name": 5}, "name must be text, not 5"),
        ({"spec": 7}, "spec must be a dictionary, the text of a study file or its path, not 7"),
        ({"spec": None}, "spec must be"),
        ({"spec": {"budget": object()}}, "spec must be of texts"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused_by_name(tmp_path: Path, wrong: dict[str, object], words: str) -> None:
    with pytest.raises(sb.Error, match=words):
        sb.Study.create(**{"file": tmp_path / "s.db", "name": "wrong", "spec": SPEC, **wrong})  # type: ignore[arg-type]
    for call in (sb.Study.open, sb.Study.names):
        with pytest.raises(sb.Error, match="file must be a path"):
            call(3)  # type: ignore[operator]


def test_the_strategy_of_a_study_can_be_looked_at(tmp_path: Path) -> None:
    study = make(tmp_path)
    study.run(bowl)
    assert len(study.strategy.batches) == 3
    assert len(study.batches()) == 3
    assert study.status()["is_finished"]
    assert "[parameters.x]" in study.spec


def test_an_objective_that_only_fails_is_an_error_and_can_be_tried_again(tmp_path: Path) -> None:
    spec = {"budget": 8, "batches": 2, "parameters": {"x": {"type": "float", "low": 0, "high": 1}}}
    study = sb.Study.create(tmp_path / "s.db", "s", spec)

    def broken(x: float) -> float:
        raise ZeroDivisionError("no lamp")

    with pytest.raises(sb.Error, match="nothing was measured: all 5 evaluations .*no lamp") as caught:
        study.run(broken)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    for _ in range(2):
        with pytest.raises(sb.Error, match="nothing was measured: all 8 evaluations"):
            study.run(broken)
    assert study.retry_failed() == [0, 1, 2, 3]
    assert study.run(lambda x: x) == "finished"
    assert study.status()["counts"] == {"done": 8}


def test_an_outage_ends_the_run_and_not_the_budget(tmp_path: Path) -> None:
    spec = {"budget": 24, "batches": [8, 8, 8], "parameters": {"x": {"type": "float", "low": 0, "high": 1}}}
    study = sb.Study.create(tmp_path / "s.db", "s", spec)
    calls = iter(range(100))

    def lamp(x: float) -> float:
        if next(calls) >= 8:
            raise ZeroDivisionError("no lamp")
        return x

    with pytest.raises(sb.Error, match="all evaluations of batch 2 of study 's' failed, the last one because: .*no lamp"):
        study.run(lamp)
    assert study.status()["counts"] == {"done": 8, "failed": 8}
    assert study.retry_failed() == list(range(8, 16))
    assert study.run(lambda x: x) == "finished"
    assert study.status()["counts"] == {"done": 24}


def _begin(file: str) -> int:
    spec = {"budget": 8, "batches": 2, "parameters": {"x": {"type": "float", "low": 0, "high": 1}}}
    return len(sb.Study.create(file, "s", spec, exist_ok=True).ask(1, worker=str(os.getpid())) or [])


def test_many_processes_begin_one_study(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        assert sum(pool.map(_begin, [str(tmp_path / "s.db")] * 4)) >= 1
    with pytest.raises(sb.Error, match="already has a study"):
        sb.Study.create(tmp_path / "s.db", "s", {"budget": 9, "parameters": {"x": {"type": "float", "low": 0, "high": 1}}}, exist_ok=True)


def test_results_are_corrected_and_study_files_amended(tmp_path: Path) -> None:
    spec = {"budget": 8, "batches": 2, "parameters": {"x": {"type": "float", "low": 0, "high": 1}}}
    study = sb.Study.create(tmp_path / "s.db", "s", spec)
    first = study.ask(4)
    assert first is not None
    study.tell(first[0].id, first[0].params["x"])
    assert study.replace(0, 0.4, "a mean of three", standard_error=0.02, replicates=3) == "in time"
    assert study.trials()[0]["replicates"] == 3
    assert study.replace(0, 0.5, "misread") == "in time"
    study.tell_all([(trial.id, trial.params["x"]) for trial in first[1:]])
    study.ask(1)
    assert study.withdraw(1, "the wrong vial") == "after analysis"
    advice = study.recommend()
    assert advice is not None and advice.certificate.premises["corrections"].statement.startswith("1 results were corrected")
    assert study.amend({**spec, "budget": 12, "description": "longer"}) == ["budget", "description"]
    assert study.status()["budget"] == 12 and "longer" in study.spec
    with pytest.raises(sb.Error, match="delta cannot be changed once the study has begun"):
        study.amend({**spec, "budget": 12, "description": "longer", "delta": 0.1})
    assert "finished" in study._repr_html_()


def test_an_exchanged_objective_is_a_premise(tmp_path: Path) -> None:
    kernel = {"name": "matern", "nu": 2.5, "lengthscale": 0.5}
    spec = {"budget": 24, "batches": 2, "norm_bound": 2, "noise": 0.1, "kernel": kernel, "parameters": {"x": {"type": "float", "low": 0, "high": 1}}}
    study = sb.Study.create(tmp_path / "s.db", "s", {**spec, "objective": {"command": "echo {x}"}})
    tell = lambda asked: study.tell_all([(trial.id, trial.params["x"]) for trial in asked])  # noqa: E731
    first = study.ask(8) or []
    tell(first)
    study.amend({**spec, "objective": {"command": "printf {x}"}})
    while asked := study.ask(24):
        tell(asked)
    advice = study.recommend()
    assert advice is not None and advice.label == "certified" and advice.certificate.premises["objective"].origin == "declared"
    said = f"the function stayed the same: objective.command amended after {len(first)} results, declared to measure the same function"
    assert advice.certificate.terms == [said] and said in str(advice.certificate) and said in advice._repr_html_()
    assert advice.certificate.premises["objective"].statement == said


def test_candidates_are_called_by_their_labels(tmp_path: Path) -> None:
    (tmp_path / "recipes.csv").write_text("label,temperature,hours\ncold,20,1\nwarm,40,2\nhot,80,1\n")
    (tmp_path / "s.toml").write_text('candidates = "recipes.csv"\nbudget = 9\nstrategy = "random"\n')
    study = sb.Study.create(tmp_path / "s.db", "recipes", tmp_path / "s.toml")
    assert study.run(lambda temperature, hours: -abs(temperature - 40)) == "finished"
    advice = study.recommend()
    assert advice is not None and advice.called == "warm" and advice.params == {"temperature": 40, "hours": 2}
    assert "warm" in advice._repr_html_()
    assert {(t["called"], t["params"]["temperature"]) for t in study.trials()} <= {("cold", 20), ("warm", 40), ("hot", 80)}
    assert list(study.dataframe()["called"]) == [t["called"] for t in study.trials()]
    plain = make(tmp_path, "plain")
    plain.run(bowl, at_most=1)
    assert {t["called"] for t in plain.trials()} == {None}


def test_a_trial_has_its_setting_once(tmp_path: Path) -> None:
    study = make(tmp_path)
    study.ask()
    assert "values" not in study.trials()[0] and "values" not in study.dataframe().columns
    assert set(study.trials()[0]["params"]) == {"x", "kind"}
