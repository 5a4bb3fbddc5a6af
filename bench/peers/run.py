"""sigmabar and its peers side by side: the same data, the same threads, one process after the other.

    python bench/peers/run.py --install          # makes the environments, once (several GB: torch and TensorFlow)
    python bench/peers/run.py --wheel WHEEL      # everything, some fifteen minutes; the table is printed and written as CSV
    python bench/peers/run.py --quick            # small sizes, to see that it runs

Every peer is a script of its own here, run by the Python of the environment it needs.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ENVIRONMENTS = {"peers-venv": "requirements.txt", "peers-venv-gpflow": "requirements-gpflow.txt", "peers-venv-torch": "requirements-torch.txt"}
# Peer, its environment and its tasks.
PEERS = [
    ("sigmabar_peer.py", "peers-venv", ["sparse", "gradient", "design", "loop"]),
    ("numpy_peer.py", "peers-venv", ["sparse", "design"]),
    ("sklearn_peer.py", "peers-venv", ["sparse"]),
    ("gpflow_peer.py", "peers-venv-gpflow", ["sparse", "gradient"]),
    ("gpytorch_peer.py", "peers-venv-torch", ["sparse", "gradient"]),
    ("botorch_peer.py", "peers-venv-torch", ["loop"]),
    ("optuna_peer.py", "peers-venv-torch", ["loop", "loop-gp"]),
    ("skopt_peer.py", "peers-venv", ["loop"]),
    ("egobox_peer.py", "peers-venv", ["loop"]),
]
THREAD_VARIABLES = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "PEER_THREADS"]


def install(directory: Path) -> None:
    for name, requirements in ENVIRONMENTS.items():
        venv.create(directory / name, with_pip=True)
        subprocess.run([directory / name / "bin" / "pip", "install", "-q", "-r", HERE / requirements], check=True)


def run(script: str, python: Path, task: str, quick: bool, threads: int, patience: float) -> list[dict[str, object]]:
    environment = {**os.environ, **{name: str(threads) for name in THREAD_VARIABLES}}
    command = [str(python), str(HERE / script), task, *(["--quick"] if quick else [])]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired as late:
        print(f"  {script} {task}: not done in {patience:.0f} s; what it printed until then is used", file=sys.stderr)
        return rows_of(late.stdout.decode() if late.stdout else "")
    if done.returncode != 0:
        print(f"  {script} {task} failed:\n{done.stderr[-1500:]}", file=sys.stderr)
    return rows_of(done.stdout)


def rows_of(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def averaged(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Loops as means over their seeds, everything else as it is."""
    table, loops = [], {}
    for row in rows:
        if row["task"] == "loop":
            loops.setdefault((row["peer"], row["problem"]), []).append(row)
        else:
            table.append(row)
    for (peer, problem), runs in loops.items():
        figures = [key for key in runs[0] if key not in ("task", "peer", "problem", "seed")]
        means = {key: statistics.fmean(float(r[key]) for r in runs) for key in figures}
        table.append({"task": f"loop {problem}", "peer": peer, "seeds": len(runs), **means})
    return table


def print_table(table: list[dict[str, object]]) -> None:
    for task in dict.fromkeys(row["task"] for row in table):
        rows = [row for row in table if row["task"] == task]
        ours = next((float(r["seconds"]) for r in rows if str(r["peer"]).startswith("sigmabar")), None)
        print(f"\n{task}")
        for row in rows:
            seconds = float(row["seconds"])
            row["ratio"] = seconds / ours if ours else None
            ratio = f"{row['ratio']:8.2f} x" if ours else " " * 10
            rest = ", ".join(f"{k} {v:.4g}" for k, v in row.items() if k not in ("task", "peer", "seconds", "ratio") and isinstance(v, (int, float)))
            print(f"  {row['peer']:<45} {seconds:9.3f} s {ratio}   {rest}")


def write(table: list[dict[str, object]], path: Path) -> None:
    columns = list(dict.fromkeys(key for row in table for key in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(table)
    print(f"\nwrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venvs", type=Path, default=ROOT / "target", help="directory of the environments")
    parser.add_argument("--install", action="store_true", help="make them")
    parser.add_argument("--wheel", type=Path, help="install this wheel of sigmabar first")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", help="only peers whose name contains this")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--patience", type=float, default=200.0, help="seconds for one script and task")
    parser.add_argument("--out", type=Path, default=Path("peers.csv"))
    arguments = parser.parse_args()
    if arguments.install:
        install(arguments.venvs)
    if arguments.wheel:
        pip = arguments.venvs / "peers-venv" / "bin" / "pip"
        subprocess.run([pip, "install", "-q", "--force-reinstall", "--no-deps", arguments.wheel], check=True)
    rows = []
    for script, environment, tasks in PEERS:
        python = arguments.venvs / environment / "bin" / "python"
        if arguments.only and arguments.only not in script:
            continue
        if not python.exists():
            print(f"  {script}: no environment {environment} in {arguments.venvs}; make it with --install", file=sys.stderr)
            continue
        for task in tasks:
            start = time.perf_counter()
            rows += run(script, python, task, arguments.quick, arguments.threads, arguments.patience)
            print(f"{script} {task}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    table = averaged(rows)
    print_table(table)
    write(table, arguments.out)


if __name__ == "__main__":
    main()
