"""The work that every peer does: the same data, the same measure. Needs NumPy only."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LENGTHSCALE, TAU, DIM = 0.5, 0.1, 8
DESIGN_LENGTHSCALE, DESIGN_DIM = 0.5, 4
NOISE = 0.05


@dataclass
class Sizes:
    rows: int
    inducing: int
    queries: int
    gradient_rows: int
    gradient_inducing: int
    candidates: int
    chosen: int
    evaluations: int
    batches: int
    seeds: int


FULL = Sizes(100_000, 1000, 20_000, 20_000, 500, 10_000, 500, 100, 5, 2)
QUICK = Sizes(5_000, 100, 2_000, 2_000, 50, 1_000, 50, 20, 4, 1)


def regression(rows: int, inducing: int, queries: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points, responses, inducing points, queries and the function there."""
    rng = np.random.default_rng(0)
    X, Z, Q = rng.random((rows, DIM)), rng.random((inducing, DIM)), rng.random((queries, DIM))

    def f(x: np.ndarray) -> np.ndarray:
        return np.sin(6 * x[:, 0]) + x[:, 1] * x[:, 2]

    return X, f(X) + TAU * rng.standard_normal(rows), Z, Q, f(Q)


def candidates(count: int) -> np.ndarray:
    return np.random.default_rng(1).random((count, DESIGN_DIM))


def hartmann6(x: np.ndarray) -> float:
    heights = np.array([1.0, 1.2, 3.0, 3.2])
    scales = np.array(
        [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
    )
    centres = 1e-4 * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )
    return float(heights @ np.exp(-(scales * (x - centres) ** 2).sum(axis=1)))


def branin(x: np.ndarray) -> float:
    u, v = 15 * x[0] - 5, 15 * x[1]
    bowl = v - 5.1 * u * u / (4 * math.pi**2) + 5 * u / math.pi - 6
    return -(bowl**2 + (10 - 10 / (8 * math.pi)) * math.cos(u) - 44.81) / 51.95


PROBLEMS: dict[str, tuple[Callable[[np.ndarray], float], int, float]] = {
    "branin": (branin, 2, 1.047394),
    "hartmann6": (hartmann6, 6, 3.322368),
}


class Objective:
    """A function to maximise on the unit cube, with noise; the clock stops while it is evaluated."""

    def __init__(self, problem: str, seed: int) -> None:
        self.function, self.dim, self.best = PROBLEMS[problem]
        self.rng = np.random.default_rng(1000 + seed)
        self.points: list[np.ndarray] = []
        self.values: list[float] = []
        self.recommended: list[tuple[int, np.ndarray]] = []
        self.inside = 0.0

    def __call__(self, x: np.ndarray) -> float:
        start = time.perf_counter()
        x = np.clip(np.asarray(x, dtype=float), 0.0, 1.0)
        value = self.function(x) + NOISE * float(self.rng.standard_normal())
        self.points.append(x)
        self.values.append(value)
        self.inside += time.perf_counter() - start
        return value

    def regret(self, x: np.ndarray) -> float:
        return self.best - self.function(np.asarray(x, dtype=float))

    def recommend(self, choose: Callable[[], np.ndarray]) -> None:
        """Notes what a peer that models the noise would recommend now, with the clock stopped."""
        start = time.perf_counter()
        self.recommended.append((len(self.points), np.array(choose(), dtype=float)))
        self.inside += time.perf_counter() - start

    def choice_after(self, evaluations: int) -> np.ndarray:
        """What was recommended after so many evaluations, or the latest before; without one the point of the best value seen."""
        known = [point for count, point in self.recommended if count <= evaluations]
        return known[-1] if known else self.points[int(np.argmax(self.values[:evaluations]))]


def loop(peer: str, batches: str, run: Callable[[Objective, int, Sizes], None]) -> Callable[[Sizes], None]:
    """An optimisation loop: ``run`` evaluates, and notes what it recommends if that is not the best value seen."""

    def task(sizes: Sizes) -> None:
        # All problems with one seed first, so that what does not finish in time has something of each.
        for seed in range(sizes.seeds):
            for problem in PROBLEMS:
                objective = Objective(problem, seed)
                start = time.perf_counter()
                run(objective, seed, sizes)
                seconds = time.perf_counter() - start - objective.inside
                done = len(objective.points)
                rounds = sizes.batches if batches == "batches" else done
                fifths = [sizes.evaluations * k // 5 for k in range(1, 6)]
                curve = {f"regret_at_{n}": objective.regret(objective.choice_after(n)) for n in fifths}
                final = objective.regret(objective.choice_after(done))
                report("loop", peer, problem=problem, seed=seed, seconds=seconds, regret=final, evaluations=done, batches=rounds, **curve)

    return task


def timed(work: Callable[[], object], repeats: int = 2) -> tuple[float, object]:
    """The best time of some, and the result."""
    best, result = math.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def report(task: str, peer: str, **figures: object) -> None:
    print(json.dumps({"task": task, "peer": peer, **figures}), flush=True)


def main(**tasks: Callable[[Sizes], None]) -> None:
    """The peer's tasks by their names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=sorted(tasks))
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    arguments = parser.parse_args()
    tasks[arguments.task](QUICK if arguments.quick else FULL)
    sys.stdout.flush()
