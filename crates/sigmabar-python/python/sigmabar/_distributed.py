"""What the estimators on engines share: a sample to learn on, a plan over partitions, predictions with their intervals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from . import _noise
from ._core import Error
from ._core import Kernel as CoreKernel
from ._evidence import fit_hyperparameters
from ._inducing import select_inducing
from ._learnt import LearntNumber
from ._kernels import Kernel, Matern
from ._learnt import LearntNumber
from ._names import Collected
from ._posterior import SparsePosterior
from ._rows import Accumulator, Plan
from ._threads import set_num_threads

COLUMNS = ("mean", "std", "lower", "upper")
"""What predictions come as."""


class Settings:
    """What is declared, and what is learnt on a sample of the rows where it is not."""

    def __init__(
        self,
        kernel: Kernel | None = None,
        tau: float | None = None,
        *,
        inducing: int = 500,
        sample: int = 10_000,
        mean: float | None = None,
        unit: float = 1.0,
        collected: Collected | None = None,
        norm_bound: float | None = None,
        noise: Any = None,
        delta: float = 0.05,
        seed: int = 0,
        drop_missing: bool = False,
    ) -> None:
        self.kernel = kernel
        self.tau = tau
        self.inducing = inducing
        self.sample = sample
        self.mean = mean
        self.unit = unit
        self.collected = collected
        self.norm_bound = norm_bound
        self.noise = noise
        self.delta = delta
        self.seed = seed
        self.drop_missing = drop_missing

    def to_dict(self) -> dict[str, Any]:
        """What was declared, for a file; what was learnt has no place in one."""
        learnt = [name for name in ("tau", "mean", "unit", "norm_bound") if isinstance(getattr(self, name), LearntNumber)]
        if self.noise is not None and self.noise.source != "declared":
            learnt.append("noise")
        if learnt:
            raise Error(f"{' and '.join(learnt)} was learnt, and a file holds what is declared: leave it out, or declare a plain number")
        values = dict(vars(self))
        values["kernel"] = None if self.kernel is None else json.loads(self.kernel._core.to_json())
        values["noise"] = None if self.noise is None else [type(self.noise).__name__, *self.noise._arguments]
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Settings:
        """What :meth:`to_dict` gave."""
        kernel, noise = values["kernel"], values["noise"]
        known = {"kernel": None if kernel is None else Kernel._wrap(CoreKernel.from_json(json.dumps(kernel)))}
        known["noise"] = None if noise is None else getattr(_noise, noise[0])(*noise[1:])
        return cls(**{**values, **known})

    def plan(self, found: Sequence[tuple[int, int, int, list[float]]], chunks: Sequence[int | None], data: str) -> Plan:
        """A plan over chunks of so many rows, from a sample of them."""
        values = np.array([row for *_, row in sorted(found, key=lambda row: row[1:3])])
        values = values[np.isfinite(values).all(axis=1)] if len(values) else values
        if len(values) < 2:
            raise Error(f"{len(values)} rows are left to fit: at least 2 are needed")
        X, y = np.ascontiguousarray(values[:, :-1]), np.ascontiguousarray(values[:, -1])
        centre = float(y.mean())
        mean, unit = self.mean, self.unit
        if mean is None:
            mean, unit = (LearntNumber(value, "learnt-here") for value in (centre, float(y.std()) or 1.0))
        kernel, tau = self.kernel, self.tau
        inducing: Any
        if kernel is None or tau is None:
            spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
            template = kernel if kernel is not None else Matern(nu=2.5, lengthscale=list(spread * np.sqrt(X.shape[1])))
            learnt = fit_hyperparameters(template, X, y, mean=self.mean, unit=self.unit, max_inducing=self.inducing, seed=self.seed)
            kernel, tau, inducing = learnt.kernel, learnt.tau, learnt.posterior.inducing
            if self.mean is None:
                mean, unit, _ = learnt.posterior.prior
        else:
            inducing = select_inducing(kernel, X, tau, size=self.inducing, seed=self.seed)
        return Plan(
            kernel,
            tau,
            inducing=inducing,
            chunks=list(chunks),
            data=data,
            centre=centre,
            mean=mean,
            unit=unit,
            collected=self.collected,
            drop_missing=self.drop_missing,
            look_ahead=None if self.norm_bound is None else X,
        )

    def columns(self, model: SparsePosterior, X: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Mean, standard deviation, and the ends of the interval for the function, one row for each point."""
        points = np.ascontiguousarray(X, dtype=np.float64)
        if len(points) == 0:
            return np.empty((0, len(COLUMNS)))
        mean, std = model.predict(points)
        found = model.interval(points, self.norm_bound, self.noise, self.delta)
        return np.column_stack([mean, std, found.lower, found.upper])


@lru_cache(maxsize=4)
def plan_of(data: bytes) -> Plan:
    """A plan that was sent to a worker, factored once for all its tasks; they take one thread each, because the engine has the cores."""
    set_num_threads(1)
    return Plan._from_bytes(data)


def bytes_of(sums: Accumulator) -> bytes:
    """Sums without their plan: what is sent."""
    return sums._core.to_bytes()


def sums_of(plan: Plan, data: bytes) -> Accumulator:
    """What was sent."""
    return Accumulator._from_bytes(plan, data)


def summed(data: bytes, chunks: Sequence[int]) -> bytes:
    """What a worker does with chunks of a plan of the command."""
    return bytes_of(plan_of(data).sum(chunks))


def added(data: bytes, parts: Sequence[bytes]) -> bytes:
    """What a worker does with sums: one of them all."""
    plan = plan_of(data)
    return bytes_of(plan.merge(sums_of(plan, part) for part in parts))
