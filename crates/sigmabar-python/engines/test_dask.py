import os
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="dask is not installed")

import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster

import sigmabar as sb
import sigmabar.dask
from conftest import COLUMNS, ROWS, deadly, example


@pytest.fixture(scope="module")
def client():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


def test_the_same_bytes(plan, one_process, client):
    sums = sb.dask.accumulate(plan, client)
    assert sums.rows == ROWS
    assert plan.model_bytes(sums) == one_process


def one_that_holds_sums(client):
    """A worker whose death loses sums, while others are still to be made."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        holding = [worker for worker, keys in client.has_what().items() if any("summed" in str(key) for key in keys)]
        if holding and any(client.processing().values()):
            return holding[0]
        time.sleep(0.005)
    raise AssertionError("the sums were all made, or none")


def test_the_same_bytes_although_a_worker_is_killed(plan, one_process, client):
    found = {}
    summing = threading.Thread(target=lambda: found.update(sums=sb.dask.accumulate(plan, client, parts=len(plan))))
    before = client.run(os.getpid)
    summing.start()
    os.kill(before[one_that_holds_sums(client)], signal.SIGKILL)
    summing.join(timeout=300)
    assert not summing.is_alive()
    client.wait_for_workers(2)
    assert set(client.run(os.getpid).values()) != set(before.values()), "the worker is another one now"
    assert found["sums"].rows == ROWS
    assert plan.model_bytes(found["sums"]) == one_process


def test_a_regressor_on_dataframes_and_arrays(data, client):
    frame = dd.read_parquet(data / "part-*.parquet", split_row_groups=True)
    regressor = sb.dask.SparseKernelRegressor(sb.Matern(nu=2.5, lengthscale=1.5), 0.1, inducing=60, mean=3.0)
    regressor.fit(frame[COLUMNS], frame["y"], client)
    assert len(regressor.posterior_) == ROWS
    assert 0.7 < regressor.score(frame[COLUMNS], frame["y"]) < 0.99
    lazy = regressor.predict_interval(frame[COLUMNS])
    columns = lazy.compute()
    assert list(columns.columns) == ["mean", "std", "lower", "upper"] and len(columns) == ROWS
    assert ((columns["lower"] <= columns["mean"]) & (columns["mean"] <= columns["upper"])).all()
    table = frame.to_dask_array(lengths=True)
    X, y = table[:, :8], table[:, 8]
    again = sb.dask.SparseKernelRegressor(sb.Matern(nu=2.5, lengthscale=1.5), 0.1, inducing=60, mean=3.0).fit(X, y, client)
    assert again.posterior_.save() == regressor.posterior_.save()
    np.testing.assert_array_equal(again.predict_interval(X).compute(), columns.to_numpy())
    np.testing.assert_array_equal(again.predict(X).compute(), regressor.predict(frame[COLUMNS]).compute())
    first = X.blocks[0].compute()
    np.testing.assert_allclose(columns["mean"].to_numpy()[:50], again.posterior_.mean(first[:50]), rtol=1e-12)
    with pytest.raises(sb.Error, match="rechunk"):
        again.fit(X.rechunk({1: 2}), y, client)
    with pytest.raises(sb.Error, match="X has 32 partitions and y has 16"):
        again.fit(X, y.rechunk(2 * y.chunksize[0]), client)
    with pytest.raises(sb.Error, match="for arrays in memory"):
        again.predict(first)


def test_columns_are_known_by_name_and_rows_by_index(client):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.uniform(size=90), "b": rng.uniform(size=90)})
    table["y"] = np.sin(6 * table["a"]) + 0.2 * table["b"]
    frame = dd.from_pandas(table, npartitions=3)
    regressor = sb.dask.SparseKernelRegressor(sb.Matern(nu=2.5, lengthscale=0.5), 0.05, inducing=30, mean=0.0)
    regressor.fit(frame[["a", "b"]], frame["y"], client)
    assert list(regressor.feature_names_in_) == ["a", "b"]
    right = regressor.predict(frame[["a", "b"]]).compute()
    np.testing.assert_array_equal(regressor.predict(frame[["b", "a"]]).compute(), right)
    np.testing.assert_array_equal(regressor.predict(frame).compute(), right)
    assert regressor.score(frame[["b", "a"]], frame["y"]) == regressor.score(frame[["a", "b"]], frame["y"]) > 0.99
    with pytest.raises(sb.Error, match='no column "b", which the model was fitted on: its columns are a, c'):
        regressor.predict(frame.rename(columns={"b": "c"})[["a", "c"]])
    with pytest.raises(sb.Error, match='two columns of X are called "a"'):
        regressor.predict(frame.rename(columns={"b": "a"}))
    other = dd.from_pandas(table["y"].set_axis(np.arange(90) + 1000), npartitions=3)
    with pytest.raises(sb.Error, match=r"partition \d of X has another index than that of y"):
        regressor.fit(frame[["a", "b"]], other, client)
    short = dd.from_pandas(table["y"].iloc[:84], npartitions=3)
    with pytest.raises(sb.Error, match=r"partition \d of X has \d+ rows and that of y has 28"):
        regressor.fit(frame[["a", "b"]], short, client)
    regressor.fit(frame[["a", "b"]].to_dask_array(lengths=True), frame["y"].to_dask_array(lengths=True), client)
    assert not hasattr(regressor, "feature_names_in_")


def test_claims_learnt_and_declared(data, client):
    """Kernel and ridge learnt on a sample are said to be; what is declared makes a theorem, also from sums."""
    frame = dd.read_parquet(data / "part-*.parquet", split_row_groups=True, columns=[*COLUMNS, "y"])
    learnt = sb.dask.SparseKernelRegressor(inducing=50, sample=1000).fit(frame[COLUMNS], frame["y"], client)
    assert learnt.score(frame[COLUMNS], frame["y"]) > 0.9
    claim = {"norm_bound": 10.0, "noise": sb.Gaussian(0.1)}
    points = frame[COLUMNS].head(3).to_numpy()
    assert learnt.posterior_.interval(points, **claim).certificate.label != "certified"
    kernel = sb.Matern(nu=2.5, lengthscale=1.5)
    declared = sb.dask.SparseKernelRegressor(kernel, 0.1, inducing=50, mean=3.0, collected="fixed", **claim)
    declared.fit(frame[COLUMNS], frame["y"], client)
    found = declared.posterior_.interval(points, **claim)
    assert found.certificate.label == "certified"
    lower = declared.predict_interval(frame[COLUMNS]).head(3)["lower"]
    np.testing.assert_allclose(lower, found.lower, rtol=1e-9)


def test_a_claim_that_cannot_stand_is_spoken_of_before_the_first_pass(client):
    frame = dd.from_pandas(pd.DataFrame({"a": np.arange(40.0), "y": np.arange(40.0) % 7}), npartitions=2)
    nothing = object()  # What would fail as soon as it is looked at.
    with pytest.raises(sb.Error, match="norm_bound is given and noise is not"):
        sb.dask.SparseKernelRegressor(norm_bound=3.0).fit(nothing, nothing, client)
    with pytest.warns(UserWarning, match="estimated, not certified"):
        learnt = sb.dask.SparseKernelRegressor(norm_bound=3.0, noise=sb.Gaussian(0.1), inducing=10).fit(frame[["a"]], frame["y"], client)
    assert learnt.posterior_.interval([[1.0]], 3.0, sb.Gaussian(0.1)).certificate.label == "estimated"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for said in ({"kernel": sb.Matern(nu=2.5, lengthscale=9.0), "tau": 0.1}, {"learn_apart": True}):
            sb.dask.SparseKernelRegressor(norm_bound=3.0, noise=sb.Gaussian(0.1), inducing=10, **said).settings.check()


def test_learnt_apart_and_extended_as_the_command_does(data, plan, apart, extended, client):
    """Rows that were learnt on are left out, and the rows explained worst become inducing points: the command's models, byte for byte."""
    frame = dd.read_parquet(data / "part-*.parquet", split_row_groups=True)
    declared = {"kernel": sb.Matern(nu=2.5, lengthscale=1.5), "tau": 0.1, "inducing": 60, "mean": 3.0}
    claim = {"norm_bound": 10.0, "noise": sb.Gaussian(0.1)}
    regressor = sb.dask.SparseKernelRegressor(**declared, learn_apart=True, **claim).fit(frame[COLUMNS], frame["y"], client)
    assert len(regressor.posterior_) == ROWS - 10_000
    assert regressor.posterior_._core.to_bytes("") == apart._core.to_bytes("")

    sums = sb.dask.accumulate(plan, client)
    more = plan.extend(sums)
    assert more.save() == extended[0]
    assert more.model_bytes(sb.dask.accumulate(more, client)) == extended[1]
    once = sb.dask.SparseKernelRegressor(**declared, extend=1).fit(frame[COLUMNS], frame["y"], client)
    plain = sb.dask.SparseKernelRegressor(**declared).fit(frame[COLUMNS], frame["y"], client)
    assert len(once.posterior_.inducing) > len(plain.posterior_.inducing) == 60
    assert once.sums_.residual_trace < plain.sums_.residual_trace
    again = plain.plan_.extend(plain.sums_)
    assert once.plan_.save() == again.save()


def test_a_kernel_learnt_apart_is_certified_and_one_learnt_on_all_rows_is_better(client):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.uniform(size=3000), "b": rng.uniform(size=3000)})
    table["y"] = np.sin(6 * table["a"]) + 0.2 * table["b"] + 0.1 * rng.standard_normal(3000)
    frame = dd.from_pandas(table, npartitions=5)
    X, y = frame[["a", "b"]], frame["y"]
    claim = {"norm_bound": 50.0, "noise": sb.Gaussian(0.1)}
    usual = {"inducing": 40, "sample": 200, "mean": 0.0, "collected": "fixed", **claim}
    labels = {}
    for apart in (False, True):
        fitted = sb.dask.SparseKernelRegressor(**usual, learn_apart=apart).fit(X, y, client)
        labels[apart] = fitted.posterior_.interval([[0.5, 0.5]], **claim).certificate.label
        assert len(fitted.posterior_) == 3000 - 200 * apart
    assert labels == {False: "estimated", True: "certified"}

    sample = sb.dask.SparseKernelRegressor(**usual).fit(X, y, client)
    everything = sb.dask.SparseKernelRegressor(**usual, learn_on="all").fit(X, y, client)
    assert everything.posterior_.elbo > sample.posterior_.elbo + 1
    np.testing.assert_array_equal(everything.posterior_.inducing, sample.posterior_.inducing)
    assert everything.posterior_.kernel.source == "learnt-here"
    with pytest.raises(sb.Error, match="leaves no rows apart"):
        sb.dask.SparseKernelRegressor(**usual, learn_on="all", learn_apart=True).fit(X, y, client)
    with pytest.raises(sb.Error, match='"sample" or "all"'):
        sb.dask.SparseKernelRegressor(**usual, learn_on="some").fit(X, y, client)


def test_the_habits_of_scikit_learn(client):
    clone = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed").clone
    kernel = sb.Matern(nu=2.5, lengthscale=0.5)
    regressor = sb.dask.SparseKernelRegressor(kernel, 0.05, inducing=30, noise=sb.Gaussian(0.1))
    copy = clone(regressor)
    assert copy is not regressor and copy.get_params() == regressor.get_params() and not hasattr(copy, "posterior_")
    assert copy.set_params(inducing=12, seed=3) is copy and (copy.inducing, copy.get_params()["seed"]) == (12, 3)
    assert "inducing=12" in repr(copy) and "sample" not in repr(copy)
    with pytest.raises(sb.Error, match='no parameter "inducers"'):
        copy.set_params(inducers=3)
    table = pd.DataFrame({"a": np.linspace(0, 1, 60)})
    table["y"] = np.sin(6 * table["a"])
    frame = dd.from_pandas(table, npartitions=2)
    assert len(copy.fit(frame[["a"]], frame["y"], client).posterior_.inducing) <= 12
    assert not hasattr(clone(copy), "posterior_")


def test_a_missing_value_names_its_column(client):
    table = pd.DataFrame({"a": np.linspace(0, 1, 60), "b": np.linspace(1, 2, 60)})
    table["y"] = np.sin(6 * table["a"])
    table.loc[41, "b"] = np.nan
    frame = dd.from_pandas(table, npartitions=2)
    regressor = sb.dask.SparseKernelRegressor(sb.Matern(nu=2.5, lengthscale=0.5), 0.05, inducing=30, mean=0.0)
    with pytest.raises(sb.Error, match=r'column "b" has a missing value \(null or NaN\) in row 11 of partition 1'):
        regressor.fit(frame[["a", "b"]], frame["y"], client)
    assert len(regressor.set_params(drop_missing=True).fit(frame[["a", "b"]], frame["y"], client).posterior_) == 59


@pytest.mark.parametrize("zone", [None, "Europe/Vienna"])
def test_a_date_or_duration_that_is_missing_is_no_number(client, zone):
    day = 86400e9
    table = pd.DataFrame({"a": np.linspace(0, 1, 60), "t": pd.date_range("2024-01-01", periods=60, unit="ns", tz=zone)})
    table["y"] = np.sin(6 * table["a"])
    table["took"] = pd.to_timedelta(1 + table["y"], unit="s").astype("timedelta64[ns]")
    table.loc[41, ["t", "took"]] = pd.NaT
    frame = dd.from_pandas(table, npartitions=2)
    kernel = sb.SquaredExponential(lengthscale=20 * day)
    for X, y, named in ((frame[["t"]], frame["y"], "t"), (frame[["a", "t"]], frame["y"], "t"), (frame[["a"]], frame["took"], "took")):
        regressor = sb.dask.SparseKernelRegressor(kernel, 0.05, inducing=20, mean=0.0)
        with pytest.raises(sb.Error, match=rf'column "{named}" has a missing value \(null or NaN\) in row 11 of partition 1'):
            regressor.fit(X, y, client)
        fitted = regressor.set_params(drop_missing=True).fit(X, y, client)
        assert len(fitted.posterior_) == 59 and fitted.sums_.dropped == 1
        assert fitted.posterior_.inducing[:, -1].min() >= 0
    whole = table.drop(index=41)
    dates = dd.from_pandas(whole, npartitions=2)
    points = whole["t"].astype("int64").to_numpy(dtype=float)[:, None]
    fitted = sb.dask.SparseKernelRegressor(kernel, 0.05, inducing=20, mean=0.0).fit(dates[["t"]], dates["y"], client)
    np.testing.assert_allclose(fitted.predict(dates[["t"]]).compute(), fitted.posterior_.mean(points), rtol=1e-12)
    masked = np.ma.masked_array(table[["a"]].to_numpy(), mask=(table.index == 41)[:, None])
    response = da.from_array(table["y"].to_numpy(), chunks=30)
    with pytest.raises(sb.Error, match='column "0" has a missing value'):
        sb.dask.SparseKernelRegressor(kernel, 0.05, mean=0.0).fit(da.from_array(masked, chunks=(30, 1)), response, client)
    times = da.from_array(table["took"].to_numpy()[:, None], chunks=(30, 1))
    with pytest.raises(sb.Error, match='column "0" has a missing value'):
        sb.dask.SparseKernelRegressor(kernel, 0.05, mean=0.0).fit(times, response, client)


def test_a_declared_unit_stays(client):
    table = pd.DataFrame({"a": np.random.default_rng(0).uniform(size=400)})
    table["y"] = 50 + 3 * np.sin(6 * table["a"])
    frame = dd.from_pandas(table, npartitions=2)
    for apart in (False, True):
        for given in ({}, {"kernel": sb.Matern(nu=2.5, lengthscale=0.5), "tau": 0.05}):
            settings = {"inducing": 30, "sample": 100, "learn_apart": apart, **given}
            fitted = sb.dask.SparseKernelRegressor(**settings, unit=7.0).fit(frame[["a"]], frame["y"], client)
            mean, unit, *_ = fitted.posterior_.prior
            assert unit == 7.0 and abs(mean - table["y"].mean()) < 1, (settings, mean, unit)
            assert fitted.score(frame[["a"]], frame["y"]) > 0.99
            learnt = sb.dask.SparseKernelRegressor(**settings).fit(frame[["a"]], frame["y"], client).posterior_.prior
            assert abs(learnt[1] - table["y"].std()) < 0.5, (settings, learnt)


_PASSES = {"count": 0}


def _another_each_time(part, how):
    """Rows that an engine finds otherwise when it computes them again."""
    _PASSES["count"] += 1
    if how == "values":
        return part.assign(y=part["y"] + 1e-9 * _PASSES["count"])
    return part.sample(frac=1, random_state=_PASSES["count"])


@pytest.mark.parametrize("how", ["values", "order"])
@pytest.mark.parametrize("more", [{}, {"learn_apart": True}, {"learn_on": "all"}])
def test_partitions_that_come_back_otherwise_are_refused(client, how, more):
    table = pd.DataFrame({"a": np.random.default_rng(0).uniform(size=300)})
    table["y"] = np.sin(6 * table["a"])
    frame = dd.from_pandas(table, npartitions=1).map_partitions(_another_each_time, how, meta=table)
    regressor = sb.dask.SparseKernelRegressor(inducing=20, sample=100, mean=0.0, **more)
    with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", set_as_default=False) as here:
        table_again = frame.to_delayed()[0]
        X, y = (dd.from_delayed([table_again[names]], meta=table[names]) for names in (["a"], "y"))
        with pytest.raises(sb.Error, match="chunk 0 has other rows, or others first: the data have changed .*persist them first"):
            regressor.fit(X, y, here)
        kept = here.persist(frame)
        assert len(regressor.fit(kept[["a"]], kept["y"], here).posterior_) == (200 if "learn_apart" in more else 300)


def test_what_would_count_twice_or_not_at_all_is_refused_by_name(plan, client):
    sums = sb.dask.accumulate(plan, client)
    with pytest.raises(sb.Error, match="chunk 0 is in both: it would be counted twice"):
        sums.merge(plan.sum([0]))
    part = plan.merge(plan.sum([i]) for i in range(len(plan)) if i != 5)
    with pytest.raises(sb.Error, match="chunk 5 is missing"):
        plan.model(part)


def _bowl(x: float) -> float:
    return -((x - 0.3) ** 2)


def test_a_study_runs_on_the_executor_of_dask(client, tmp_path):
    spec = {"budget": 24, "batches": 3, "parameters": {"x": {"type": "float", "low": -1, "high": 1}}}
    study = sb.Study.create(tmp_path / "s.db", "bowl", spec)
    with pytest.raises(sb.Error, match=r"sigmabar\.dask\.Executor"):
        study.run(_bowl, executor=client.get_executor())
    with sb.dask.Executor(client) as executor:
        assert study.run(_bowl, executor=executor) == "finished"
    assert abs(study.recommend().params["x"] - 0.3) < 0.2
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(abs, -1)


def test_what_kills_its_worker_is_called_once_and_equal_calls_each_for_itself(client, tmp_path):
    log = tmp_path / "log"
    with sb.dask.Executor(client) as executor:
        calls = [executor.submit(deadly(log), x) for x in (1, 2, 3, 3)]
        assert "its worker was lost" in str(calls[1].exception(timeout=60))
        assert [calls[place].result(timeout=60) for place in (0, 2, 3)] == [1, 3, 3]
    assert sorted(log.read_text().split()) == ["1", "2", "3", "3"]
    client.wait_for_workers(2)


def test_the_example_of_the_book(data, client, here):
    frame = dd.read_parquet(data / "part-*.parquet", split_row_groups=True)
    names = {"client": client, "frame": frame, "new": frame.partitions[0], "evaluate": _bowl}
    exec(example("dask"), names)
    assert len(names["model"]) == len(names["regressor"].posterior_) == ROWS
    assert list(names["predicted"].columns) == ["mean", "std", "lower", "upper"]
    assert abs(names["study"].recommend().params["x"] - 0.3) < 0.2
