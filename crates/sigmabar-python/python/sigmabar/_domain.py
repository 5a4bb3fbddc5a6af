"""Where one may measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _core
from ._arrays import Floats, floats, rows
from ._checks import count as whole
from ._checks import number, seed_of, text
from ._core import Error


@dataclass(frozen=True)
class Float:
    """A column of numbers from ``low`` to ``high``; ``log`` makes equal ratios equally far apart.

    >>> import sigmabar as sb
    >>> sb.Space([sb.Float(1, 100, log=True)]).encode([[1], [10], [100]]).ravel().tolist()
    [0.0, 0.5, 1.0]
    """

    low: float
    high: float
    log: bool = False

    def _parts(self) -> tuple[Any, ...]:
        return ("float", number(self.low, "low"), number(self.high, "high"), bool(self.log), None, [], 0)


@dataclass(frozen=True)
class Int:
    """A column of integers from ``low`` to ``high`` in steps of ``step``; with ``log`` all of them, equal ratios equally far apart.

    >>> import sigmabar as sb
    >>> sorted(sb.Space([sb.Int(2, 10, step=4)]).candidates(10).ravel().tolist())
    [2.0, 6.0, 10.0]
    >>> sb.Space([sb.Int(1, 1024, log=True)]).encode([[32]]).tolist()
    [[0.5]]
    """

    low: int
    high: int
    step: int = 1
    log: bool = False

    def _parts(self) -> tuple[Any, ...]:
        if self.log and self.step != 1:
            raise Error(f"a column of integers has a step ({self.step}) or a logarithmic scale, not both")
        return ("int", number(self.low, "low"), number(self.high, "high"), bool(self.log), whole(self.step, "step"), [], 0)


@dataclass(frozen=True)
class Ordinal:
    """A column of numbers in increasing order, neighbours equally far apart.

    >>> import sigmabar as sb
    >>> sb.Space([sb.Ordinal([1, 10, 500])]).encode([[10]]).tolist()
    [[0.5]]
    """

    levels: Sequence[float]

    def _parts(self) -> tuple[Any, ...]:
        return ("ordinal", 0.0, 0.0, False, None, floats(self.levels, "levels"), 0)


@dataclass(frozen=True)
class Categorical:
    """A column of ``choices`` things without order, as 0, 1, …

    >>> import sigmabar as sb
    >>> sorted(sb.Space([sb.Categorical(3)]).candidates(10).ravel().tolist())
    [0.0, 1.0, 2.0]
    """

    choices: int

    def _parts(self) -> tuple[Any, ...]:
        return ("categorical", 0.0, 0.0, False, None, [], whole(self.choices, "choices"))


@dataclass(frozen=True)
class Constraint:
    """A linear constraint: the sum of coefficients times columns, in ``relation`` (``"=="``, ``"<="``, ``">="``, ``"<"``) to ``bound``.

    >>> import sigmabar as sb
    >>> shares = sb.Space([sb.Float(0, 1)] * 3, [sb.Constraint({0: 1, 1: 1, 2: 1}, "==", 1.0)])
    >>> shares.candidates(4).sum(axis=1).round(9).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    terms: Mapping[int, float]
    relation: str
    bound: float = 0.0

    def _parts(self) -> tuple[Any, ...]:
        return ([(whole(c, "terms"), number(v, "terms")) for c, v in self.terms.items()], text(self.relation, "relation"), number(self.bound, "bound"))


Column = Float | Int | Ordinal | Categorical


class Domain:
    """Where one may measure: made from candidates, from a box or from columns.

    >>> import sigmabar as sb
    >>> kinds = [sb.Candidates([[0.0], [1.0]]), sb.Box([0.0], [1.0]), sb.Space([sb.Float(0, 1)])]
    >>> all(isinstance(d, sb.Domain) and d.candidates(8).shape[1] == 1 for d in kinds)
    True
    """

    _core: _core.Domain

    @property
    def columns(self) -> int:
        """How many columns a point has."""
        return self._core.columns()

    def encode(self, points: Any) -> Floats:
        """What the kernel sees of points: numeric columns of a :class:`Space` from 0 to 1, categories by their number."""
        return self._core.encode(rows(points))

    def decode(self, encoded: Any) -> Floats:
        """The points that the kernel sees so."""
        return self._core.decode(rows(encoded))

    def candidates(self, count: int, seed: int = 0) -> Floats:
        """A declared set of about ``count`` candidates: all points if there are no more, otherwise a scrambled Sobol set."""
        return self._core.candidates(whole(count, "count"), seed_of(seed))


class Candidates(Domain):
    """A finite list of points, with optional labels and costs.

    >>> import sigmabar as sb
    >>> sb.Candidates([[0.1, 2], [0.2, 3]]).columns
    2
    """

    def __init__(self, points: Any, labels: Sequence[str] | None = None, costs: Sequence[float] | None = None) -> None:
        self._core = _core.Domain.list_of(
            rows(points, "candidates"), None if labels is None else [text(label, "labels") for label in labels], None if costs is None else floats(costs, "costs")
        )


class Box(Domain):
    """All points between two corners.

    >>> import sigmabar as sb
    >>> sb.Box([0, 0], [1, 2]).columns
    2
    """

    def __init__(self, low: Any, high: Any) -> None:
        self._core = _core.Domain.box_of(floats(low, "low"), floats(high, "high"))


class Space(Domain):
    """A product of columns of any kind, with linear constraints.

    >>> import sigmabar as sb
    >>> space = sb.Space([sb.Float(1e-4, 1.0, log=True), sb.Int(1, 8), sb.Categorical(3)])
    >>> space.encode([[0.01, 8, 2]]).tolist()
    [[0.5, 1.0, 2.0]]
    """

    def __init__(self, columns: Sequence[Column], constraints: Sequence[Constraint] = ()) -> None:
        for j, column in enumerate(columns):
            if not isinstance(column, (Float, Int, Ordinal, Categorical)):
                raise Error(f"column {j} must be a Float, Int, Ordinal or Categorical, not {column!r}")
        for j, constraint in enumerate(constraints):
            if not isinstance(constraint, Constraint):
                raise Error(f"constraint {j} must be a Constraint, not {constraint!r}")
        self._core = _core.Domain.space([c._parts() for c in columns], [c._parts() for c in constraints])


def domain_from(domain: Any) -> Domain:
    """A domain as users write it: one of the classes, a box as the tuple ``(low, high)``, a list of columns, or an array of candidates."""
    if isinstance(domain, Domain):
        return domain
    if isinstance(domain, tuple):
        if len(domain) != 2:
            raise Error(f"a box is a tuple of two corners, (low, high), not of {len(domain)}; candidates are an array")
        return Box(*domain)
    if isinstance(domain, Sequence) and domain and all(isinstance(c, (Float, Int, Ordinal, Categorical)) for c in domain):
        return Space(domain)
    return Candidates(domain)
