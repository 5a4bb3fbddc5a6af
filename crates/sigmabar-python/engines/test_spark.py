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

from pyspark.sql import SparkSession

import sigmabar as sb
import sigmabar.spark
from conftest import COLUMNS, ROWS


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.executor.memory", "768m")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


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
    deadline = time.monotonic() + 60
    while not tracker.getActiveStageIds() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(before[0], signal.SIGKILL)
    summing.join(timeout=300)
    assert not summing.is_alive()
    assert before[0] not in executors()
    assert found["sums"].rows == ROWS
    assert plan.model_bytes(found["sums"]) == one_process


def test_an_estimator_with_its_model(data, spark, tmp_path):
    frame = spark.read.parquet(str(data / "part-*.parquet"))
    model = sb.spark.SparseKernelRegressor(COLUMNS, "y", sb.Matern(nu=2.5, lengthscale=1.5), 0.1, inducing=60, mean=3.0).fit(frame)
    assert len(model.posterior) == ROWS
    predicted = model.transform(frame.limit(100)).toPandas()
    assert list(predicted.columns[-4:]) == ["mean", "std", "lower", "upper"]
    assert ((predicted["mean"] - predicted["y"]).abs() < 1.0).all()
    assert (predicted["lower"] <= predicted["upper"]).all()
    model.save(str(tmp_path / "model.sbm"))
    again = sb.spark.SparseKernelModel.load(str(tmp_path / "model.sbm"))
    assert again.transform(frame.limit(5)).toPandas()["mean"].tolist() == predicted["mean"].tolist()[:5]
