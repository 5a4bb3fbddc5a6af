import os
import signal
import threading
import time

import pytest

pytest.importorskip("distributed", reason="dask is not installed")

import dask.dataframe as dd
from distributed import Client, LocalCluster

import sigmabar as sb
import sigmabar.dask
from conftest import COLUMNS, ROWS


@pytest.fixture(scope="module")
def client():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


def test_the_same_bytes(plan, one_process, client):
    sums = sb.dask.accumulate(plan, client)
    assert sums.rows == ROWS
    assert plan.model_bytes(sums) == one_process


def test_the_same_bytes_although_a_worker_is_killed(plan, one_process, client):
    found = {}
    summing = threading.Thread(target=lambda: found.update(sums=sb.dask.accumulate(plan, client, parts=len(plan))))
    before = set(client.run(os.getpid).values())
    summing.start()
    deadline = time.monotonic() + 60
    while not any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(sorted(before)[0], signal.SIGKILL)
    summing.join(timeout=300)
    assert not summing.is_alive()
    client.wait_for_workers(2)
    assert set(client.run(os.getpid).values()) != before, "the worker is another one now"
    assert found["sums"].rows == ROWS
    assert plan.model_bytes(found["sums"]) == one_process


def test_a_regressor_on_dataframes_and_arrays(data, client):
    frame = dd.read_parquet(data / "part-*.parquet", split_row_groups=True)
    regressor = sb.dask.SparseKernelRegressor(sb.Matern(nu=2.5, lengthscale=1.5), 0.1, inducing=60, mean=3.0)
    regressor.fit(frame[COLUMNS], frame["y"], client)
    assert len(regressor.posterior_) == ROWS
    assert regressor.score(frame[COLUMNS], frame["y"]) > 0.9
    columns = regressor.predict_interval(frame[COLUMNS]).compute()
    assert columns.shape == (ROWS, 4)
    assert (columns[:, 2] <= columns[:, 0]).all() and (columns[:, 0] <= columns[:, 3]).all()
    X, y = frame[COLUMNS].to_dask_array(lengths=True), frame["y"].to_dask_array(lengths=True)
    again = sb.dask.SparseKernelRegressor(sb.Matern(nu=2.5, lengthscale=1.5), 0.1, inducing=60, mean=3.0).fit(X, y, client)
    assert again.posterior_.save() == regressor.posterior_.save()
    with pytest.raises(sb.Error, match="rechunk"):
        again.fit(X.rechunk({1: 2}), y, client)


def _bowl(x: float) -> float:
    return -((x - 0.3) ** 2)


def test_a_study_runs_on_the_executor_of_dask(client, tmp_path):
    spec = {"budget": 24, "batches": 3, "parameters": {"x": {"type": "float", "low": -1, "high": 1}}}
    study = sb.Study.create(tmp_path / "s.db", "bowl", spec)
    with client.get_executor() as executor:
        assert study.run(_bowl, executor=executor) == "finished"
    assert abs(study.recommend().params["x"] - 0.3) < 0.2
