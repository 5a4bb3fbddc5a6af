import os
import shutil
import signal
import sys
import threading
import time

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
if shutil.which("java") is None:
    pytest.skip("there is no Java", allow_module_level=True)

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from pyspark.ml import Pipeline, PipelineModel
from pyspark.sql import SparkSession

import sigmabar as sb
import sigmabar.spark
from conftest import COLUMNS, ROWS, command, example


@pytest.fixture(scope="module")
def spark():
    """Two executors, each a process of its own."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"ui.enabled": "false", "driver.host": "127.0.0.1", "executor.memory": "768m", "sql.shuffle.partitions": "4"}
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    yield made
    made.stop()


def executors():
    """Process ids of the executors that descend from this process."""
    found, parents = [], {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    parents[int(entry)] = int(stat.read().rsplit(")", 1)[1].split()[1])
                with open(f"/proc/{entry}/cmdline") as line:
                    if "CoarseGrainedExecutorBackend" in line.read():
                        found.append(int(entry))
            except (OSError, IndexError):
                continue

    def ours(pid):
        while pid in parents:
            if pid == os.getpid():
                return True
            pid = parents[pid]
        return False

    return [pid for pid in found if ours(pid)]


def test_the_same_bytes(plan, one_process, spark):
    sums = sb.spark.accumulate(plan, spark)
    assert sums.rows == ROWS
    assert plan.model_bytes(sums) == one_process


def test_the_same_bytes_although_an_executor_is_killed(plan, one_process, spark):
    before = executors()
    assert len(before) == 2
    found = {}
    summing = threading.Thread(target=lambda: found.update(sums=sb.spark.accumulate(plan, spark, parts=len(plan))))
    summing.start()
    tracker = spark.sparkContext.statusTracker()

    def is_in_the_middle():
        stages = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
        return any(stage and 0 < stage.numCompletedTasks < stage.numTasks for stage in stages)

    deadline = time.monotonic() + 60
    while not is_in_the_middle() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert time.monotonic() < deadline, "the sums were all made, or none"
    os.kill(before[0], signal.SIGKILL)
    summing.join(timeout=300)
    assert not summing.is_alive()
    assert before[0] not in executors()
    assert found["sums"].rows == ROWS
    assert plan.model_bytes(found["sums"]) == one_process


def test_samples_of_many_partitions_fit_the_driver(spark):
    """Merged on the executors: the samples of all partitions together would be more than the driver takes."""
    X = np.random.default_rng(1).random((40_000, 8))
    frame = spark.createDataFrame(pd.DataFrame({**dict(zip(COLUMNS, X.T)), "y": np.sin(4 * X[:, 0])})).repartition(80)
    estimator = sb.spark.SparseKernelRegressor(COLUMNS, "y", sb.Matern(nu=2.5, lengthscale=1.5), 0.1, inducing=20, mean=0.0, sample=500)
    seen = []
    collect = type(frame).collect
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(frame), "collect", lambda self: seen.append(collect(self)) or seen[-1])
        assert len(estimator.fit(frame.persist()).posterior) == 40_000
    assert [len(rows) for rows in seen] == [1, 1]


def test_an_estimator_with_its_model(data, spark, tmp_path):
    frame = spark.read.parquet(str(data / "part-*.parquet"))
    claim = {"norm_bound": 10.0, "noise": sb.Gaussian(0.1)}
    kernel = sb.Matern(nu=2.5, lengthscale=1.5)
    estimator = sb.spark.SparseKernelRegressor(COLUMNS, "y", kernel, 0.1, inducing=60, mean=3.0, collected="fixed", **claim)
    model = estimator.fit(frame)
    assert len(model.posterior) == ROWS

    rows = pq.read_table(data / "part-0.parquet").to_pandas().head(100)
    new = spark.createDataFrame(rows).repartition(2)
    predicted = model.transform(new).toPandas().sort_values(COLUMNS, ignore_index=True)
    assert list(predicted.columns) == [*COLUMNS, "y", "mean", "std", "lower", "upper"]
    found = model.posterior.interval(predicted[COLUMNS].to_numpy(), **claim)
    assert found.certificate.label == "certified"
    _, std = model.posterior.predict(predicted[COLUMNS].to_numpy())
    for name, values in {"mean": found.mean, "std": std, "lower": found.lower, "upper": found.upper}.items():
        np.testing.assert_allclose(predicted[name], values, rtol=1e-9)
    assert (predicted["mean"] - predicted["y"]).abs().mean() < 0.5

    # As a stage of a pipeline, before and after the fit, it comes back as it was; the command reads the model too.
    Pipeline(stages=[estimator]).write().overwrite().save(str(tmp_path / "pipeline"))
    (kept,) = Pipeline.load(str(tmp_path / "pipeline")).getStages()
    assert kept.settings.to_dict() == estimator.settings.to_dict() and kept.getInputCols() == COLUMNS and kept.getLabelCol() == "y"
    PipelineModel([model]).write().overwrite().save(str(tmp_path / "fitted"))
    (again,) = PipelineModel.load(str(tmp_path / "fitted")).stages
    assert again.to_bytes() == model.to_bytes() and again.uid == model.uid
    assert again.transform(new).toPandas().sort_values(COLUMNS, ignore_index=True).equals(predicted)
    model.to_file(str(tmp_path / "model.sbm"))
    assert sb.spark.SparseKernelModel.from_file(str(tmp_path / "model.sbm"), **claim).getInputCols() == COLUMNS
    rows.to_csv(tmp_path / "new.csv", index=False)
    command("predict", "model.sbm", "new.csv", "-o", "predicted.csv", cwd=tmp_path)
    np.testing.assert_allclose(pd.read_csv(tmp_path / "predicted.csv")["mean"], model.posterior.mean(rows[COLUMNS].to_numpy()), rtol=1e-6)

    with pytest.raises(sb.Error, match='no column "x9", but x0'):
        sb.spark.SparseKernelRegressor(["x9"], "y", kernel, 0.1).fit(frame)
    with pytest.raises(sb.Error, match='column "y" is of type string'):
        sb.spark.SparseKernelRegressor(COLUMNS, "y", kernel, 0.1).fit(frame.withColumn("y", frame["y"].cast("string")))
    with pytest.raises(sb.Error, match='has a column "mean" already'):
        model.transform(model.transform(new))


def test_learnt_apart_and_extended_as_the_command_does(data, plan, apart, extended, spark):
    """Rows that were learnt on are left out, and the rows explained worst become inducing points: the command's models, byte for byte."""
    import pyarrow as pa

    # One partition for each row group, as the command has its chunks.
    groups = [(str(file), i) for file in sorted(data.glob("part-*.parquet")) for i in range(pq.ParquetFile(file).num_row_groups)]

    def read(batches):
        for batch in batches:
            for row in batch.to_pylist():
                yield from pq.ParquetFile(row["file"]).read_row_group(row["row_group"]).to_batches()

    tasks = spark.sparkContext.parallelize(groups, len(groups)).toDF("file string, row_group long")
    frame = tasks.mapInArrow(read, ", ".join(f"{name} double" for name in [*COLUMNS, "y"]))
    settings = {"kernel": sb.Matern(nu=2.5, lengthscale=1.5), "tau": 0.1, "inducing": 60, "mean": 3.0}
    claim = {"norm_bound": 10.0, "noise": sb.Gaussian(0.1)}
    model = sb.spark.SparseKernelRegressor(COLUMNS, "y", **settings, learn_apart=True, **claim).fit(frame)
    assert len(model.posterior) == ROWS - 10_000
    assert model.posterior._core.to_bytes("") == apart._core.to_bytes("")

    more = plan.extend(sb.spark.accumulate(plan, spark))
    assert more.save() == extended[0]
    assert more.model_bytes(sb.spark.accumulate(more, spark)) == extended[1]


def test_settings_are_parameters_of_spark(spark):
    from pyspark.ml.evaluation import RegressionEvaluator
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    X = np.random.default_rng(1).random((400, 2))
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.sin(6 * X[:, 0]) + X[:, 1]})
    frame = spark.createDataFrame(table).repartition(2).persist()
    estimator = sb.spark.SparseKernelRegressor(["a", "b"], "y", sb.Matern(nu=2.5, lengthscale=0.5), 0.05, inducing=20, mean=0.0)
    assert "inducing" in estimator.explainParams() and estimator.getOrDefault("inducing") == 20
    other = estimator.copy({estimator.inducing: 5})
    assert (other.settings.inducing, estimator.settings.inducing) == (5, 20)
    assert len(estimator.fit(frame, {estimator.inducing: 7}).posterior.inducing) == 7
    grid = ParamGridBuilder().addGrid(estimator.inducing, [3, 25]).build()
    evaluator = RegressionEvaluator(predictionCol="mean", labelCol="y")
    chosen = CrossValidator(estimator=estimator, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, seed=1).fit(frame)
    assert chosen.bestModel.settings.inducing == 25

    # Learning on all rows and extension go over the partitions again.
    learnt = sb.spark.SparseKernelRegressor(["a", "b"], "y", inducing=20, sample=60, mean=0.0)
    sample, everything = learnt.fit(frame), learnt.fit(frame, {learnt.learn_on: "all"})
    assert everything.posterior.elbo > sample.posterior.elbo + 1
    assert len(estimator.fit(frame, {estimator.extend: 1}).posterior.inducing) > 20


def test_a_null_names_its_column(spark):
    rows = [(0.01 * i, None if i == 33 else float(i % 7), i % 2 == 0, float(i)) for i in range(60)]
    frame = spark.createDataFrame(rows, "a double, b double, wet boolean, y double").coalesce(1)
    estimator = sb.spark.SparseKernelRegressor(["a", "b", "wet"], "y", sb.Matern(nu=2.5, lengthscale=2.0), 0.05, inducing=20, mean=0.0)
    with pytest.raises(Exception, match=r'column "b" has a missing value \(null or NaN\) in row 33 of partition 0'):
        estimator.fit(frame)
    model = estimator.fit(frame, {estimator.drop_missing: True})
    assert len(model.posterior) == 59
    with pytest.raises(Exception, match='column "b" has a missing value'):
        model.transform(frame).collect()


def test_partitions_that_come_back_otherwise_are_refused(spark):
    from pyspark.sql import functions as sql

    # What Spark may take for the same each time, and is not: a number that Python draws.
    drawn = sql.udf(lambda: float(np.random.default_rng().uniform()), "double").asNondeterministic()
    frame = spark.range(300).coalesce(2).select(drawn().alias("a")).withColumn("y", sql.sin("a"))
    estimator = sb.spark.SparseKernelRegressor(["a"], "y", sb.Matern(nu=2.5, lengthscale=0.5), 0.05, inducing=20, mean=0.0)
    with pytest.raises(Exception, match=r"chunk \d has other rows, or others first: the data have changed"):
        estimator.fit(frame)
    assert len(estimator.fit(frame.persist()).posterior) == 300


def test_the_example_of_the_book(data, spark, here):
    frame = spark.read.parquet(str(data / "part-*.parquet"))
    names = {"spark": spark, "frame": frame, "new": frame.limit(10)}
    # A bare name is a place beside the Java machine, which began elsewhere.
    exec(example("spark").replace('"model.spark"', repr(str(here / "model.spark"))), names)
    assert len(names["model"]) == len(names["again"].posterior) == ROWS
    assert names["predicted"].columns[-4:] == ["mean", "std", "lower", "upper"]
    assert sb.SparsePosterior.load((here / "model.sbm").read_bytes()).facts["target"] == "y"
