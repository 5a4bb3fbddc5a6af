"""Rows beyond one machine: what is to be summed, sums that anybody may add, and the model that they make."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import paired, rows, vector
from ._checks import count, flag, number, saved, seed_of, text, text_or_none
from ._core import Accumulator as _SumsCore
from ._core import Error
from ._core import Plan as _PlanCore
from ._inducing import inducing_points
from ._kernels import Kernel, kernel_core
from ._learnt import sourced
from ._names import Collected, Road
from ._posterior import SparsePosterior


class Plan:
    """What is to be summed over which chunks: everything that workers must agree on before their sums may be added.

    ``chunks`` is the number of chunks, or the number of rows of each. They are numbered in the order of the data, never by the engine: each becomes one
    :meth:`leaf`, and leaves are added along a fixed tree, so that the model is the same to the bit whoever adds them. ``centre`` is taken off the responses
    before they are summed; near their mean it keeps digits. ``mean``, ``unit`` and ``distinct_rows`` as for :class:`SparsePosterior`; with ``mean=None`` they are learnt
    from all rows. ``look_ahead``, points of some of the rows, has up to 64 inducing points more summed beside: they do not predict, but make claims narrower. A plan of ``sigmabar plan`` (:meth:`load`) also knows in which files its chunks are (:meth:`sum`).

    >>> import numpy as np, sigmabar as sb
    >>> X = np.linspace(0, 1, 90)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> plan = sb.Plan(sb.Matern(nu=2.5, lengthscale=0.3), 0.1, inducing=X[::10], chunks=3, mean=0.0)
    >>> parts = [plan.leaf(i, X[30 * i : 30 * i + 30], y[30 * i : 30 * i + 30]) for i in (2, 0, 1)]
    >>> model = plan.model(parts[1].merge(parts[0]).merge(parts[2]))
    >>> len(model), bool(abs(model.mean([[0.5]])[0] - np.sin(3)) < 0.05)
    (90, True)
    """

    _core: _PlanCore

    def __init__(
        self,
        kernel: Kernel,
        tau: float,
        *,
        inducing: Any,
        chunks: int | Sequence[int | None],
        data: str = "",
        centre: float = 0.0,
        mean: float | None = None,
        unit: float = 1.0,
        collected: Collected | None = None,
        distinct_rows: bool = False,
        road: Road | None = None,
        worst: int = 64,
        drop_missing: bool = False,
        left_out: Sequence[tuple[int, int, int, int]] = (),
        look_ahead: Any = None,
    ) -> None:
        sizes: list[int | None] = [None] * count(chunks, "chunks") if isinstance(chunks, int) else [None if n is None else int(n) for n in chunks]
        prior = None if mean is None else (sourced(mean, "mean"), sourced(unit, "unit"))
        self._core = _core.Plan.of(
            kernel_core(kernel),
            sourced(tau, "tau"),
            inducing_points(inducing),
            sizes,
            text(data, "data"),
            number(centre, "centre"),
            prior,
            (text_or_none(collected, "collected"), flag(distinct_rows, "distinct_rows")),
            list(left_out),
            text_or_none(road, "road"),
            int(worst),
            bool(drop_missing),
            None if look_ahead is None else rows(look_ahead),
        )

    @classmethod
    def _wrap(cls, core: _PlanCore) -> Plan:
        plan = cls.__new__(cls)
        plan._core = core
        return plan

    @classmethod
    def _from_bytes(cls, data: bytes) -> Plan:
        return cls._wrap(_core.Plan.from_bytes(data))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """A plan that ``sigmabar plan`` wrote."""
        with open(path, "rb") as file:
            return cls._from_bytes(file.read())

    def save(self) -> bytes:
        """The plan as bytes."""
        return self._core.to_bytes()

    def __reduce__(self) -> Any:
        return (Plan._from_bytes, (self.save(),))

    def __len__(self) -> int:
        """Number of chunks."""
        return len(self._core.chunks())

    def __repr__(self) -> str:
        m, _, road = self._core.sizes()
        return f"<Plan of {len(self)} chunks with {m} inducing points, by the {road} road>"

    @property
    def chunks(self) -> list[int | None]:
        """Rows of each chunk, where they are known."""
        return self._core.chunks()

    def leaf(self, chunk: int, X: Any, y: Any) -> Accumulator:
        """The sums of a chunk whose rows are given. A NaN is a missing value."""
        points, values = paired(X, y)
        if len(points) != len(values):
            raise Error(f"chunk {chunk} has {len(points)} points and {len(values)} responses")
        return Accumulator._wrap(self, self._core.leaf(count(chunk, "chunk"), points, values))

    def sum(self, chunks: Iterable[int]) -> Accumulator:
        """The sums of chunks that are read from the files of a plan of ``sigmabar plan``: in this process, one after the other."""
        return Accumulator._wrap(self, self._core.sum([count(chunk, "chunk") for chunk in chunks]))

    def merge(self, parts: Iterable[Accumulator]) -> Accumulator:
        """Adds sums up, in whatever order they come."""
        merged: Accumulator | None = None
        for part in parts:
            merged = part if merged is None else merged.merge(part)
        if merged is None:
            raise Error("there are no sums to merge")
        return merged

    def extend(self, sums: Accumulator, inducing: int | None = None) -> Plan:
        """The same plan with the rows that its sums found to be explained worst as further inducing points, at most ``inducing`` in all: what ``sigmabar plan
        --extend`` does. Sum over it anew; two or three such passes replace choosing all inducing points on one machine.

        >>> import numpy as np, sigmabar as sb
        >>> X = np.linspace(0, 1, 90)[:, None]
        >>> plan = sb.Plan(sb.Matern(nu=2.5, lengthscale=0.3), 0.1, inducing=X[:5], chunks=1)
        >>> more = plan.extend(plan.leaf(0, X, X[:, 0]), inducing=10)
        >>> more
        <Plan of 1 chunks with 10 inducing points, by the gram road>
        """
        extended = self._extended(sums, inducing)
        if extended is None:
            raise Error("the plan cannot be extended: its sums know no row that its inducing points do not explain already, or it has as many as were asked for")
        return extended

    def _extended(self, sums: Accumulator, inducing: int | None = None) -> Plan | None:
        core = self._core.extended(sums._core, None if inducing is None else count(inducing, "inducing"))
        return None if core is None else Plan._wrap(core)

    def model(self, sums: Accumulator) -> SparsePosterior:
        """The model of all chunks; a missing one is named. It keeps no rows: what needs them says so. Sums of machines with other vector instructions make a model
        that agrees with that of one machine to rounding, not to the bit: a warning says so.
        """
        if len(sums.instructions) > 1:
            warnings.warn(
                f"the parts were summed with different vector instructions ({'; '.join(sums.instructions)}): the model is that of one machine to rounding, not to the bit",
                stacklevel=2,
            )
        return SparsePosterior._wrap(self._core.model(sums._core))._with_facts(json.loads(self._core.about()) if self._core.remark() else {})

    def model_bytes(self, sums: Accumulator) -> bytes:
        """The model file of ``sigmabar merge``, byte for byte."""
        return self._core.model(sums._core).to_bytes(self._core.about() if self._core.remark() else "")


class Accumulator:
    """The sums of some chunks of a :class:`Plan`: made by :meth:`Plan.leaf` and :meth:`Plan.sum`, added by :meth:`merge`, pickled with their plan's identity.

    >>> import sigmabar as sb
    >>> plan = sb.Plan(sb.Matern(nu=2.5, lengthscale=0.3), 0.1, inducing=[0.0, 1.0], chunks=[2, 1])
    >>> first = plan.leaf(0, [0.1, 0.2], [1.0, 2.0])
    >>> first.covered, first.rows
    ([(0, 1)], 2)
    >>> first.merge(first)
    Traceback (most recent call last):
    ...
    sigmabar.Error: chunk 0 is in both: it would be counted twice
    """

    _core: _SumsCore
    _plan: Plan

    def __init__(self) -> None:
        raise Error("sums are made by Plan.leaf or Plan.sum")

    @classmethod
    def _wrap(cls, plan: Plan, core: _SumsCore) -> Accumulator:
        sums = cls.__new__(cls)
        sums._plan, sums._core = plan, core
        return sums

    @classmethod
    def _from_bytes(cls, plan: Plan, data: bytes) -> Accumulator:
        return cls._wrap(plan, plan._core.sums_from(saved(data, "data")))

    def __reduce__(self) -> Any:
        return (Accumulator._from_bytes, (self._plan, self._core.to_bytes()))

    def __repr__(self) -> str:
        done = sum(end - first for first, end in self.covered)
        return f"<Accumulator of {self.rows} rows, {done} of {len(self._plan)} chunks>"

    def merge(self, other: Accumulator) -> Accumulator:
        """The sums of both; refused where a chunk is in both, or kernel, inducing points, data or premises differ."""
        return Accumulator._wrap(self._plan, self._core.merged(other._core))

    @property
    def rows(self) -> int:
        """Rows summed."""
        return self._core.rows()[0]

    @property
    def dropped(self) -> int:
        """Rows passed over because a value was missing."""
        return self._core.rows()[1]

    @property
    def instructions(self) -> list[str]:
        """Vector instructions of the machines that summed."""
        return self._core.instructions()

    @property
    def covered(self) -> list[tuple[int, int]]:
        """The chunks that are covered, as ranges from one up to but without another."""
        return self._core.covered()

    @property
    def missing(self) -> list[int]:
        """The chunks that are not covered yet."""
        return self._core.uncovered()

    @property
    def residual_trace(self) -> float:
        """What the inducing points miss, summed over the rows."""
        return self._core.residual_trace()

    def worst(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Points of the rows that the inducing points explain worst: the next ones."""
        found = [point for _, point in self._core.worst()]
        return np.array(found, dtype=np.float64).reshape(len(found), self._plan._core.sizes()[1])

    def to_file(self) -> bytes:
        """A file that ``sigmabar merge`` reads."""
        return self._plan._core.file_of(self._core)


def aligned(chunks: int, parts: int) -> list[range]:
    """Ranges of neighbouring chunks, each a subtree of the fixed tree but for the last: about ``parts`` of them, so that a worker's sums add up to one."""
    size = 1
    while size * parts < chunks:
        size *= 2
    return [range(first, min(first + size, chunks)) for first in range(0, chunks, size)]


def row_hashes(seed: int, chunk: int, rows: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The hash of each row of a chunk, from which samples are drawn: the same whoever computes it."""
    return _core.row_hashes(seed_of(seed), int(chunk), 0, int(rows))


def sampled(seed: int, size: int, chunk: int, X: Any, y: Any) -> list[tuple[int, int, int, list[float]]]:
    """The rows of smallest hash of one chunk, those with a value that is not finite left out: merged with those of other chunks by :func:`smallest`, they are a sample
    of all.
    """
    points, values = paired(X, y)
    hashes = row_hashes(seed, chunk, len(values))
    whole = np.flatnonzero(np.isfinite(values) & np.isfinite(points).all(axis=1))
    order = whole[np.argsort(hashes[whole], kind="stable")[:size]]
    return [(int(hashes[i]), int(chunk), int(i), [*map(float, points[i]), float(values[i])]) for i in order]


def smallest(size: int, parts: Iterable[Iterable[tuple[int, int, int, list[float]]]]) -> list[tuple[int, int, int, list[float]]]:
    """The rows of smallest hash of several samples."""
    return sorted(row for part in parts for row in part)[:size]
