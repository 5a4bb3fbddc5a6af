"""Rows beyond memory and beyond one process: what engines and disk cost beside the sums themselves.

    bash bench/rows.sh engines --rows 3000000 --inducing 1000      # one process, accumulate and merge, Dask, Spark, Ray, and Dask and Spark with a worker killed -9 on the way: the same bytes, seconds, processor time
    bash bench/rows.sh memory --rows 30000000 --inducing 200       # a fit from disk against one in memory: resident memory, seconds, processor time

Shares are of processor time, which other work on the machine changes little; seconds are by the clock.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = [f"x{i}" for i in range(8)]
DECLARED = ["--target", "y", "--lengthscale", "1.5", "--tau", "0.1", "--prior-mean", "3"]
TICKS = os.sysconf("SC_CLK_TCK")


def make(folder: Path, rows: int, group: int) -> None:
    """Eight columns and a response in files of at most a few million rows, written a row group at a time."""
    rng = np.random.default_rng(0)
    schema = pa.schema([(name, pa.float64()) for name in [*COLUMNS, "y"]])
    done, file = 0, 0
    while done < rows:
        with pq.ParquetWriter(folder / f"part-{file:03}.parquet", schema, compression="snappy", use_dictionary=False) as writer:
            for _ in range(8):
                n = min(group, rows - done)
                if n == 0:
                    break
                X = rng.random((n, 8))
                y = 3.0 + np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)
                writer.write_table(pa.table([*X.T, y], schema=schema), row_group_size=group)
                done += n
        file += 1


def tree() -> float:
    """Processor seconds of all processes below this one, those that have ended included."""
    stats = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        stats[int(entry)] = sum(map(int, fields[11:15])) / TICKS
    return sum(seconds for pid, seconds in stats.items() if ours(pid))


def command(*arguments: str, threads: int, cwd: Path) -> None:
    environment = {**os.environ, "SIGMABAR_NUM_THREADS": str(threads)}
    subprocess.run([sys.executable, "-m", "sigmabar", "-q", *arguments], cwd=cwd, check=True, env=environment, stdout=subprocess.DEVNULL)


def timed(work):
    before, begun = tree(), time.perf_counter()
    result = work()
    return result, time.perf_counter() - begun, tree() - before


def killing(work, victim):
    """Does the work while the process that ``victim()`` names is killed; it names none as long as there is nothing to lose."""
    found = {}
    thread = threading.Thread(target=lambda: found.update(result=work()))
    thread.start()
    while (pid := victim()) is None:
        assert thread.is_alive(), "the work was done before anybody could be killed"
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    thread.join()
    return found["result"]


def holding_sums(client, pids):
    """A Dask worker that holds sums, while others are still to be made."""
    if not any(client.processing().values()):
        return None
    holding = [worker for worker, keys in client.has_what().items() if any("summed" in str(key) for key in keys)]
    return pids[holding[0]] if holding else None


def executor(spark):
    """A Spark executor, when some tasks of the stage are done and some are not."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    if not any(stage and 0 < stage.numCompletedTasks < stage.numTasks for stage in stages):
        return None
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if "CoarseGrainedExecutorBackend" in Path(f"/proc/{entry}/cmdline").read_text() and ours(int(entry)):
                return int(entry)
        except OSError:
            continue
    return None


def ours(pid: int) -> bool:
    """Whether a process descends from this one."""
    while pid > 1 and pid != os.getpid():
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return pid == os.getpid()


def engines(folder: Path, rows: int, inducing: int, which: list[str]) -> None:
    import sigmabar as sb

    make(folder, rows, max(1000, rows // 32))
    command("plan", str(folder / "part-*.parquet"), *DECLARED, "--inducing", str(inducing), "-o", "plan.sbp", threads=2, cwd=folder)
    plan = sb.Plan.load(folder / "plan.sbp")
    _, seconds, alone = timed(lambda: command("accumulate", "--plan", "plan.sbp", "-o", "all.sba", "--force", threads=1, cwd=folder))
    command("merge", "all.sba", "-o", "one.sbm", threads=2, cwd=folder)
    one = (folder / "one.sbm").read_bytes()
    print(f"{rows} rows, {inducing} inducing points, {len(plan)} chunks\n| | seconds | processor seconds | throughput a core |\n|---|---|---|---|")
    print(f"| one process, one thread | {seconds:.0f} | {alone:.0f} | 1 |", flush=True)

    def parts() -> bytes:
        for part in (3, 1, 2):
            command("accumulate", "--plan", "plan.sbp", "--part", f"{part}/3", "-o", f"{part}.sba", "--force", threads=1, cwd=folder)
        command("merge", "2.sba", "3.sba", "1.sba", "-o", "merged.sbm", threads=1, cwd=folder)
        return (folder / "merged.sbm").read_bytes()

    def report(name: str, work) -> None:
        model, seconds, spent = timed(work)
        assert model == one, f"{name} gives another model"
        print(f"| {name} | {seconds:.0f} | {spent:.0f} | {alone / spent:.2f} |", flush=True)

    def summed(name: str, work) -> None:
        def model() -> bytes:
            sums = work()
            assert sums.rows == rows, f"{name}: {sums.rows} rows"
            return plan.model_bytes(sums)

        report(name, model)

    if "parts" in which:
        report("accumulate, three parts, and merge", parts)
    if "dask" in which:
        import sigmabar.dask
        from distributed import Client, LocalCluster

        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            client.wait_for_workers(2)
            summed("Dask, 2 workers", lambda: sb.dask.accumulate(plan, client))
            pids = client.run(os.getpid)
            in_parts = partial(sb.dask.accumulate, plan, client, parts=len(plan))
            summed("Dask, one of 2 workers killed", lambda: killing(in_parts, lambda: holding_sums(client, pids)))
    if "spark" in which:
        import sigmabar.spark
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
        spark = builder.config("spark.executor.memory", "768m").config("spark.sql.shuffle.partitions", "4").getOrCreate()
        summed("Spark, 2 executors", lambda: sb.spark.accumulate(plan, spark))
        in_parts = partial(sb.spark.accumulate, plan, spark, parts=len(plan))
        summed("Spark, one of 2 executors killed", lambda: killing(in_parts, lambda: executor(spark)))
        spark.stop()
    if "ray" in which:
        import ray
        import sigmabar.ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        summed("Ray, 2 processors", lambda: sb.ray.accumulate(plan))
        ray.shutdown()


def memory(folder: Path, rows: int, inducing: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < 3 * 72 * rows:
        sys.exit(f"{free >> 30} GB are free, and the table takes {72 * rows >> 30} GB")
    make(folder, rows, 1_000_000)
    size = sum(file.stat().st_size for file in folder.glob("*.parquet"))
    print(f"{rows} rows, {inducing} inducing points, {size / 1e9:.2f} GB of Parquet\n| | seconds | processor seconds | resident |\n|---|---|---|---|", flush=True)
    for name, more in {"from disk": ["--stream"], "in memory": ["--memory", "16G"]}.items():
        arguments = ["fit", "part-*.parquet", *DECLARED, "--inducing", str(inducing), "--holdout", "0", "--calibrate", "0", "--no-save", *more]
        begun = time.perf_counter()
        child = subprocess.Popen([sys.executable, "-m", "sigmabar", "-q", *arguments], cwd=folder, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        if status != 0:
            sys.exit(f"the fit {name} failed")
        print(f"| {name} | {time.perf_counter() - begun:.0f} | {used.ru_utime + used.ru_stime:.0f} | {used.ru_maxrss / 1e6:.2f} GB |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["engines", "memory"])
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--inducing", type=int, default=1000)
    parser.add_argument("--engines", default="parts,dask,spark,ray")
    given = parser.parse_args()
    target = Path(__file__).resolve().parents[1] / "target"
    with tempfile.TemporaryDirectory(prefix="rows-", dir=target) as folder:
        if given.what == "engines":
            engines(Path(folder), given.rows, given.inducing, given.engines.split(","))
        else:
            memory(Path(folder), given.rows, given.inducing)


if __name__ == "__main__":
    main()
