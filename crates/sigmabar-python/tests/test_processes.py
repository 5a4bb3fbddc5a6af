"""Processes and threads: forks, Ctrl-C, and how many threads work."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sigmabar as sb

KERNEL = sb.SquaredExponential(lengthscale=0.3)
POINTS = np.random.default_rng(0).random((2000, 3))
PATIENCE = 120.0

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")


def work(_: int = 0) -> float:
    """Enough for several threads."""
    return float(np.sum(sb.select_inducing(KERNEL, POINTS, 0.1, method="greedy", size=150).points))


def objective(x: float) -> float:
    return x + 0.0 * work()


@pytest.fixture(autouse=True)
def worked_before() -> Iterator[float]:
    """The parent has its threads before anything is forked from it."""
    yield work()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_work_in_child_processes_of_every_kind(method: str, worked_before: float) -> None:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        assert list(pool.map(work, range(3), timeout=PATIENCE)) == [worked_before] * 3
    assert work() == worked_before, "the parent goes on"


def test_work_in_loky_workers_that_share_the_cores(worked_before: float) -> None:
    joblib = pytest.importorskip("joblib")
    done = joblib.Parallel(n_jobs=2, timeout=PATIENCE)(joblib.delayed(work)(i) for i in range(4))
    assert done == [worked_before] * 4
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        assert joblib.Parallel(n_jobs=2, timeout=PATIENCE)(joblib.delayed(sb.get_num_threads)() for _ in range(2)) == [1, 1]


def in_child(task: Callable[[], bool]) -> int:
    """As servers fork their workers: nothing between, and no way back into the parent's code."""
    child = os.fork()
    if child == 0:
        os._exit(0 if task() else 1)
    return child


def ended(child: int) -> int:
    for _ in range(int(PATIENCE / 0.05)):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


def test_a_server_that_loads_a_model_and_forks(worked_before: float) -> None:
    model = sb.SparsePosterior(KERNEL, 0.1, POINTS, POINTS[:, 0], inducing=POINTS[:100])
    expected = model.predict(POINTS)[1].sum()
    # A grandchild too, and while another thread of the parent is at work.
    at_work = threading.Thread(target=work)
    at_work.start()

    def serve() -> bool:
        grandchild = in_child(lambda: model.predict(POINTS)[1].sum() == expected)
        return model.predict(POINTS)[1].sum() == expected and ended(grandchild) == 0

    assert [ended(child) for child in [in_child(serve) for _ in range(3)]] == [0, 0, 0]
    at_work.join()
    assert model.predict(POINTS)[1].sum() == expected


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_study_on_a_pool_of_processes(tmp_path: Path, method: str) -> None:
    spec = {"budget": 8, "batches": 2, "parameters": {"x": {"type": "float", "low": 0, "high": 1}}}
    study = sb.Study.create(tmp_path / "s.db", "pool", spec)
    pool: Executor
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        assert study.run(objective, executor=pool) == "finished"
    assert len(study.trials()) == 8


def test_a_study_that_a_child_inherits(tmp_path: Path) -> None:
    spec = {"budget": 6, "strategy": "sobol", "parameters": {"x": {"type": "int", "low": 0, "high": 9}}}
    study = sb.Study.create(tmp_path / "s.db", "inherited", spec)
    study.ask(1, worker="parent")
    child = in_child(lambda: len(study.ask(2, worker="child") or []) == 2)
    assert ended(child) == 0
    assert len(study.ask(9, worker="another") or []) == 3, "three of six were handed out, one here and two in the child"


def test_the_number_of_threads_is_what_was_said() -> None:
    code = "import sigmabar as sb; print(sb.get_num_threads())"

    def said(**variables: str) -> str:
        clean = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
        return subprocess.run([sys.executable, "-c", code], env=clean | variables, capture_output=True, text=True).stdout.strip()

    assert said(SIGMABAR_NUM_THREADS="3", RAYON_NUM_THREADS="2") == "3"
    assert said(RAYON_NUM_THREADS="2", OMP_NUM_THREADS="5") == "2"
    assert said(OMP_NUM_THREADS="5") == "5"
    before = sb.get_num_threads()
    sb.set_num_threads(3)
    assert sb.get_num_threads() == 3
    assert ended(in_child(lambda: sb.get_num_threads() == 3)) == 0
    with pytest.raises(sb.Error, match="at least 1"):
        sb.set_num_threads(0)
    for many in (5000, 10**30):
        with pytest.raises(sb.Error, match=f"at most 1024, not {many}"):
            sb.set_num_threads(many)
    assert sb.get_num_threads() == 3
    sb.set_num_threads(None)
    assert sb.get_num_threads() == before


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def long_select() -> object:
    return sb.select_inducing(KERNEL, np.random.default_rng(1).random((40_000, 6)), 0.01, method="rpcholesky", size=3000, theta=None)


def long_fit() -> object:
    x = np.random.default_rng(1).random((200_000, 4))
    return sb.SparsePosterior(KERNEL, 0.1, x, x[:, 0], inducing=x[:2000])


def long_design() -> object:
    return sb.max_variance_design(sb.Matern(nu=2.5, lengthscale=0.05), 0.01, np.random.default_rng(1).random((40_000, 4)), 4000)


def long_evidence() -> object:
    x = np.random.default_rng(1).random((50_000, 5))
    return sb.fit_hyperparameters(KERNEL, x, np.sin(5 * x[:, 0]), tau=0.1)


def long_block() -> object:
    return sb.Matern(nu=2.2, lengthscale=0.2)(np.random.default_rng(1).random((30_000, 6)), np.random.default_rng(2).random((3000, 6)))


def long_exact() -> object:
    x = np.random.default_rng(1).random((7000, 4))
    return sb.ExactPosterior(KERNEL, 0.1, x, x[:, 0])


def long_plan() -> object:
    s = sb.Strategy(
        "s-bpe",
        domain=np.random.default_rng(3).random((100_000, 4)),
        kernel=sb.Matern(nu=2.5, lengthscale=0.1),
        norm_bound=2.0,
        noise=sb.Gaussian(0.1),
        budget=20_000,
    )
    return s.ask()


@pytest.mark.parametrize("long", [long_select, long_fit, long_design, long_evidence, long_block, long_exact, long_plan])
def test_a_signal_stops_the_computation_itself(long: Callable[[], object]) -> None:
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        long()
    raised = time.monotonic()
    assert raised - started < 4.0
    time.sleep(0.4)
    before = cpu_seconds()
    time.sleep(0.5)
    assert cpu_seconds() - before < 0.1, "nothing computes any more"


@pytest.fixture(scope="module")
def judged() -> bytes:
    """A run whose claim takes seconds to be judged under other premises."""
    domain = np.random.default_rng(3).random((8_000, 4))
    s = sb.Strategy("s-bpe", domain=domain, kernel=sb.Matern(nu=2.5, lengthscale=0.4), norm_bound=4.0, noise=sb.Gaussian(0.1), budget=300, batches=2)
    while (a := s.ask()) is not None:
        s.tell(a.ids, np.sin(5 * a.points[:, 0]) + a.points[:, 1])
    return s.save()


@pytest.mark.parametrize("asked", ["standing", "premise_map", "recommend"])
def test_a_signal_stops_the_range_of_a_claim(judged: bytes, asked: str) -> None:
    def work_for_ever() -> None:
        while True:
            getattr(sb.Strategy.load(judged), asked)()

    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        work_for_ever()
    assert time.monotonic() - started < 4.0
    time.sleep(0.4)
    before = cpu_seconds()
    time.sleep(0.5)
    assert cpu_seconds() - before < 0.1, "nothing computes any more"


def test_an_interrupted_run_is_as_if_nobody_had_asked() -> None:
    def fresh() -> sb.Strategy:
        domain = np.random.default_rng(3).random((20_000, 3))
        kernel = sb.Matern(nu=2.5, lengthscale=0.2)
        return sb.Strategy("s-bpe", domain=domain, kernel=kernel, norm_bound=2.0, noise=sb.Gaussian(0.1), budget=600)

    s, undisturbed = fresh(), fresh()
    started = time.monotonic()
    expected = undisturbed.ask()
    threading.Timer((time.monotonic() - started) / 3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        s.ask()
        time.sleep(10.0)
    here = s.ask()
    assert expected is not None and here is not None
    np.testing.assert_array_equal(here.points, expected.points)
