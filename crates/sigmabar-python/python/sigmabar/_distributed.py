"""What the estimators on engines share: a sample to learn on, a plan over partitions, predictions with their intervals."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np

from . import _noise
from ._arrays import paired, rows
from ._core import Error, digest
from ._core import Kernel as CoreKernel
from ._evidence import fit_hyperparameters
from ._inducing import Inducing, select_inducing
from ._kernels import Kernel, Matern
from ._learnt import LearntNumber
from ._names import Collected
from ._posterior import SparsePosterior
from ._rows import Accumulator, Plan
from ._threads import set_num_threads

Drawn: TypeAlias = tuple[int, int, int, list[float]]
"""A sampled row: its hash, its chunk, its place there, and its values with the response last."""
Counted: TypeAlias = tuple[int, int, int]
"""Rows of a chunk, those of them without a missing value, and a hash of all in their order: later passes must find the same."""

COLUMNS = ("mean", "std", "lower", "upper")
"""What predictions come as."""


class Passes(Protocol):
    """An engine that goes over all rows."""

    def sums(self, plan: Plan) -> Accumulator:
        """The sums of all chunks."""

    def slopes(self, plan: Plan, model: SparsePosterior) -> list[bytes]:
        """The shares of all chunks in the gradient of the evidence, the model being that of all rows."""


class Settings:
    """What is declared, and what is learnt on the rows where it is not. Names and meanings are those of ``sigmabar fit`` and ``sigmabar plan``."""

    def __init__(
        self,
        kernel: Kernel | None = None,
        tau: float | None = None,
        *,
        inducing: int = 500,
        sample: int = 10_000,
        mean: float | None = None,
        unit: float | None = None,
        collected: Collected | None = None,
        distinct_rows: bool = False,
        norm_bound: float | None = None,
        noise: Any = None,
        delta: float = 0.05,
        seed: int = 0,
        drop_missing: bool = False,
        learn_apart: bool = False,
        learn_on: str = "sample",
        extend: int = 0,
    ) -> None:
        self.kernel = kernel
        self.tau = tau
        self.inducing = inducing
        self.sample = sample
        self.mean = mean
        self.unit = unit
        self.collected = collected
        self.distinct_rows = distinct_rows
        self.norm_bound = norm_bound
        self.noise = noise
        self.delta = delta
        self.seed = seed
        self.drop_missing = drop_missing
        self.learn_apart = learn_apart
        self.learn_on = learn_on
        self.extend = extend

    @staticmethod
    def names() -> list[str]:
        """What can be declared."""
        return [name for name in inspect.signature(Settings.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What was declared, by name, as scikit-learn asks for it."""
        return {name: getattr(self, name) for name in Settings.names()}

    def set_params(self, **params: Any) -> Any:
        """Declares something else; a name that is not known is refused."""
        for name in params:
            if name not in Settings.names():
                raise Error(f'there is no parameter "{name}": choose among {", ".join(Settings.names())}')
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def to_dict(self) -> dict[str, Any]:
        """What was declared, for a file; what was learnt has no place in one."""
        learnt = [name for name in ("tau", "mean", "unit", "norm_bound") if isinstance(getattr(self, name), LearntNumber)]
        if self.noise is not None and self.noise.source != "declared":
            learnt.append("noise")
        if learnt:
            raise Error(f"{' and '.join(learnt)} was learnt, and a file holds what is declared: leave it out, or declare a plain number")
        values = self.get_params()
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

    def fitted(self, found: Sequence[Drawn], counts: Sequence[Counted], data: str, passes: Passes) -> tuple[Plan, Accumulator]:
        """The plan and the sums of all rows by it, from a sample of them: learnt on all where that was asked for, and extended as often as was said."""
        whole = sum(complete for _, complete, _ in counts)
        drawn = sorted(found)[: whole // 2] if self.learn_apart else sorted(found)
        values = np.array([row for *_, row in sorted(drawn, key=lambda row: row[1:3])])
        if len(values) < 2:
            raise Error(f"{len(values)} rows are left to fit: at least 2 are needed")
        X, y = np.ascontiguousarray(values[:, :-1]), np.ascontiguousarray(values[:, -1])
        plan = self._plan(X, y, [all_rows for all_rows, *_ in counts], data, [(self.seed, *drawn[-1][:3])] if self.learn_apart else [])
        plan = Plan._wrap(plan._core.with_digests([digest for *_, digest in counts]))
        if self.learn_on == "all":
            plan = Plan._wrap(plan._core.climbed(X, y, whole, lambda core: _evidence(Plan._wrap(core), passes))[0])
        sums = passes.sums(plan)
        for _ in range(self.extend):
            extended = plan._extended(sums)
            if extended is None:
                break
            plan, sums = extended, passes.sums(extended)
        return plan, sums

    def check(self) -> None:
        """Refuses what cannot be fitted, before the first pass; warns of a claim that can be no theorem."""
        if self.norm_bound is not None and self.noise is None:
            raise Error("norm_bound is given and noise is not: a claim needs both, so declare the noise of a measurement too, as in noise=sb.Gaussian(0.1)")
        if self.norm_bound is not None and (self.kernel is None or self.tau is None) and not self.learn_apart:
            warnings.warn(
                "norm_bound speaks of one kernel, and this one is learnt on the rows of the claim: intervals will be estimated, not certified; declare kernel and tau, or learn_apart=True",
                stacklevel=3,
            )
        if self.learn_on not in ("sample", "all"):
            raise Error(f'learn_on is {self.learn_on!r}: it must be "sample" or "all"')
        if self.learn_on == "all" and self.learn_apart:
            raise Error('learn_on="all" leaves no rows apart from those learnt on: choose that or learn_apart')
        if self.learn_on == "all" and self.kernel is not None and self.tau is not None:
            raise Error('learn_on="all", and kernel and tau are declared: nothing is learnt of them')

    def _plan(self, X: Any, y: Any, chunks: list[int], data: str, left_out: list[tuple[int, int, int, int]]) -> Plan:
        """A plan over chunks of so many rows, from a sample of them."""
        source = "learnt-before" if self.learn_apart else "learnt-here"
        mean, unit = self.mean, 1.0 if self.unit is None else self.unit
        if mean is None and self.norm_bound is not None:
            mean = 0.0  # As the command: a bound speaks of a mean that somebody knows.
        is_learnt = mean is None and self.unit is None
        if is_learnt:
            mean, unit = (LearntNumber(value, source) for value in (float(y.mean()), float(y.std()) or 1.0))
        elif mean is None:
            mean = LearntNumber(float(y.mean()), source)
        kernel, tau = self.kernel, self.tau
        inducing: Any
        if kernel is None or tau is None:
            spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
            template = kernel if kernel is not None else Matern(nu=2.5, lengthscale=list(spread * np.sqrt(X.shape[1])))
            learnt = fit_hyperparameters(template, X, y, mean=None if is_learnt else mean, unit=1.0 if is_learnt else unit, max_inducing=self.inducing, seed=self.seed)
            if is_learnt:
                mean, unit = (LearntNumber(value, source) for value in learnt.posterior.prior[:2])
            inducing = Inducing(learnt.posterior.inducing, None, None, None, source)
            learnt = learnt.for_new_data() if self.learn_apart else learnt
            kernel, tau = learnt.kernel, learnt.tau
        else:
            inducing = select_inducing(kernel, X, tau, method="rpcholesky", size=self.inducing, seed=self.seed)
        return Plan(
            kernel,
            tau,
            inducing=inducing,
            chunks=list(chunks),
            data=data,
            centre=float(mean),
            mean=mean,
            unit=unit,
            collected=self.collected,
            distinct_rows=self.distinct_rows,
            drop_missing=self.drop_missing,
            left_out=left_out,
            look_ahead=X if self.norm_bound is not None or self.learn_apart else None,
        )

    def columns(self, model: SparsePosterior, X: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Standard deviation, and the interval for the function with the mean that it is about, one row for each point."""
        points = np.ascontiguousarray(X, dtype=np.float64)
        if len(points) == 0:
            return np.empty((0, len(COLUMNS)))
        _, std = model.predict(points)
        found = model.interval(points, self.norm_bound, self.noise, self.delta)
        return np.column_stack([found.mean, std, found.lower, found.upper])


def _evidence(plan: Plan, passes: Passes) -> tuple[float, list[float], float]:
    """The evidence's lower bound over all rows with its derivatives: one pass for the model, one for the derivatives."""
    model = plan.model(passes.sums(plan))
    return plan._core.elbo_gradient(model._core, passes.slopes(plan, model))


def counted(values: Any) -> Counted:
    """What the first pass knows of a chunk, the response being the last column."""
    whole = int(np.isfinite(values).all(axis=1).sum())
    return len(values), whole, digest(rows(values[:, :-1]), np.ascontiguousarray(values[:, -1]))


def refuse_missing(values: Any, names: Sequence[str], where: str) -> None:
    """Names the column of the first value that is missing or infinite."""
    odd = ~np.isfinite(values)
    if odd.any():
        row, column = (int(i) for i in np.argwhere(odd)[0])
        found = "a missing value (null or NaN)" if np.isnan(values[row, column]) else f"the value {values[row, column]}"
        raise Error(f'column "{names[column]}" has {found} in row {row} of {where} (counted from 0): fill it in, or pass over rows with missing values by drop_missing=True')


@lru_cache(maxsize=4)
def plan_of(data: bytes) -> Plan:
    """A plan that was sent to a worker, factored once for all its tasks; they take one thread each, because the engine has the cores."""
    set_num_threads(1)
    return Plan._from_bytes(data)


@lru_cache(maxsize=2)
def model_of(data: bytes) -> SparsePosterior:
    """A model that was sent to a worker."""
    return SparsePosterior.load(data)


def slope_of(plan: bytes, model: bytes, chunk: int, X: Any, y: Any) -> bytes:
    """What a worker does with the rows of a chunk for the gradient of the evidence."""
    return plan_of(plan)._core.slope_leaf(model_of(model)._core, chunk, *paired(X, y))


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
