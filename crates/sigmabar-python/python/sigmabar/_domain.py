"""Where one may measure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from . import _core
from ._arrays import Floats, floats, names_of, rows
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
    """A column of things without order: a list of them, or their number. In points they are 0, 1, …; ``params`` has the things themselves.

    What a kernel makes of them is the kernel's: only :class:`Hamming` treats all choices alike. A :class:`Matern` or another kernel of distances that sees the column takes 0, 1, 2 for
    numbers in a row. Strategies that learn their kernel, such as ``auto``, take ``Hamming`` here by themselves; a kernel that you declare is made of both.

    >>> import sigmabar as sb
    >>> sorted(sb.Space([sb.Categorical(3)]).candidates(10).ravel().tolist())
    [0.0, 1.0, 2.0]
    >>> k = sb.Matern(nu=2.5, lengthscale=0.3).columns([0]) * sb.Hamming(lengthscale=2.0).columns([1])
    >>> k([[0.5, 0]], [[0.5, 1], [0.5, 2]]).round(4)
    array([[0.6065, 0.6065]])
    >>> sb.Matern(nu=2.5, lengthscale=2.0)([0], [1, 2]).round(4)
    array([[0.8286, 0.524 ]])
    >>> sb.Space(solvent=sb.Categorical(["dmso", "thf"])).params([1])
    {'solvent': 'thf'}
    """

    choices: int | Sequence[Any]

    def _parts(self) -> tuple[Any, ...]:
        if isinstance(self.choices, (int, np.integer)):
            return ("categorical", 0.0, 0.0, False, None, [], whole(self.choices, "choices"))
        things = self._things()
        if not things or any(thing in things[:j] for j, thing in enumerate(things)):
            raise Error(f"choices must be a number, or a list of different things, not {self.choices!r}")
        return ("categorical", 0.0, 0.0, False, None, [], len(things))

    def _things(self) -> list[Any]:
        if isinstance(self.choices, str) or not isinstance(self.choices, (Sequence, np.ndarray)):
            raise Error(f"choices must be a number, or a list of different things, not {self.choices!r}")
        return list(self.choices)

    def _value(self, natural: float) -> Any:
        """What stands at a number."""
        return int(natural) if isinstance(self.choices, (int, np.integer)) else self._things()[int(natural)]

    def _natural(self, value: Any, name: str) -> float:
        """The number of a thing."""
        if isinstance(self.choices, (int, np.integer)):
            return number(value, name)
        if value not in self._things():
            raise Error(f"{name} is {value!r}: it must be one of {', '.join(map(repr, self._things()))}")
        return float(self._things().index(value))


@dataclass(frozen=True)
class Constraint:
    """A linear constraint: the sum of coefficients times columns, in ``relation`` (``"=="``, ``"<="``, ``">="``, ``"<"``) to ``bound``.

    >>> import sigmabar as sb
    >>> shares = sb.Space([sb.Float(0, 1)] * 3, [sb.Constraint({0: 1, 1: 1, 2: 1}, "==", 1.0)])
    >>> shares.candidates(4).sum(axis=1).round(9).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    terms: Mapping[int | str, float] | Mapping[int, float] | Mapping[str, float]
    relation: str
    bound: float = 0.0

    def _parts(self, names: Sequence[str] = ()) -> tuple[Any, ...]:
        terms = [(self._column(c, names), number(v, "terms")) for c, v in self.terms.items()]
        return (terms, text(self.relation, "relation"), number(self.bound, "bound"))

    @staticmethod
    def _column(column: Any, names: Sequence[str]) -> int:
        if not isinstance(column, str):
            return whole(column, "terms")
        if column not in names:
            raise Error(f"a constraint names {column!r}: the parameters are {', '.join(map(repr, names)) or 'not named'}")
        return names.index(column)


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

    def params(self, point: Any, index: int | None = None) -> dict[str, Any]:
        """A point by the names of its parameters (``x0``, ``x1``, … where they have none), categories by what they are."""
        return {f"x{j}": float(v) for j, v in enumerate(np.ravel(point))}

    def points(self, params: Any) -> Any:
        """Points from dictionaries of named values; anything else is left as it is."""
        if isinstance(params, Mapping):
            params = [params]
        if not (isinstance(params, Sequence) and len(params) > 0 and all(isinstance(p, Mapping) for p in params)):
            return params
        return np.array([[self._coordinate(p, j) for j in range(self.columns)] for p in params], dtype=np.float64)

    def _coordinate(self, params: Mapping[str, Any], column: int) -> float:
        return number(params[f"x{column}"], f"x{column}")

    def _facts(self) -> dict[str, Any]:
        """What makes it this domain and no other, for JSON."""
        raise NotImplementedError


class Candidates(Domain):
    """A finite list of points, with optional labels and costs.

    >>> import sigmabar as sb
    >>> sb.Candidates([[0.1, 2], [0.2, 3]]).columns
    2
    """

    def __init__(self, points: Any, labels: Sequence[str] | None = None, costs: Sequence[float] | None = None) -> None:
        self._labels = None if labels is None else [text(label, "labels") for label in labels]
        array, paid = rows(points, "candidates"), None if costs is None else floats(costs, "costs")
        self._core = _core.Domain.list_of(array, self._labels, paid)
        self._hashes = {"hash of the points": _hash((array + 0.0).astype("<f8").tobytes()), "hash of the costs": _hash(json.dumps(paid).encode())}

    def _facts(self) -> dict[str, Any]:
        labels = _hash(json.dumps(self._labels).encode())
        return {"kind": "Candidates", "points": self._core.size(), "columns": self.columns, **self._hashes, "hash of the labels": labels}

    def params(self, point: Any, index: int | None = None) -> dict[str, Any]:
        label = {} if self._labels is None or index is None else {"label": self._labels[index]}
        return {**label, **super().params(point)}

    def __repr__(self) -> str:
        return f"Candidates({self._core.size()} points of {self.columns} columns)"


class Box(Domain):
    """All points between two corners, or between the ends of each column.

    >>> import sigmabar as sb
    >>> sb.Box([0, 0], [1, 2])
    Box([0.0, 0.0], [1.0, 2.0])
    >>> sb.Box([(0, 1), (0, 2)])
    Box([0.0, 0.0], [1.0, 2.0])
    """

    def __init__(self, low: Any, high: Any = None) -> None:
        if high is None:
            ends = rows(low, "the ends of the columns")
            if ends.shape[1] != 2:
                raise Error(f"a box of one list has a pair (low, high) for each column, and {ends.shape[1]} numbers stand in a row: Box(low, high) takes two corners")
            low, high = ends[:, 0], ends[:, 1]
        self._low, self._high = floats(low, "low"), floats(high, "high")
        self._core = _core.Domain.box_of(self._low, self._high)

    def _facts(self) -> dict[str, Any]:
        return {"kind": "Box", "low": self._low, "high": self._high}

    def __repr__(self) -> str:
        return f"Box({list(self._low)}, {list(self._high)})"


class Space(Domain):
    """A product of columns of any kind, named or in order, with linear constraints.

    >>> import sigmabar as sb
    >>> space = sb.Space([sb.Float(1e-4, 1.0, log=True), sb.Int(1, 8), sb.Categorical(3)])
    >>> space.encode([[0.01, 8, 2]]).tolist()
    [[0.5, 1.0, 2.0]]
    >>> space = sb.Space(temperature=sb.Float(20, 80), solvent=sb.Categorical(["dmso", "thf"]))
    >>> space
    Space(temperature=Float(20, 80), solvent=Categorical(['dmso', 'thf']))
    >>> space.points([{"temperature": 50, "solvent": "thf"}]).tolist(), space.params([50, 1])
    ([[50.0, 1.0]], {'temperature': 50.0, 'solvent': 'thf'})
    """

    def __init__(self, columns: Sequence[Column] = (), constraints: Sequence[Constraint] = (), **named: Column) -> None:
        if columns and named:
            raise Error("columns are given in order or by name, not both")
        self._named = dict(named) or {f"x{j}": column for j, column in enumerate(columns)}
        self._has_names = bool(named)
        for name, column in self._named.items():
            if not isinstance(column, (Float, Int, Ordinal, Categorical)):
                raise Error(f"{name if named else f'column {name[1:]}'} must be a Float, Int, Ordinal or Categorical, not {column!r}")
        for j, constraint in enumerate(constraints):
            if not isinstance(constraint, Constraint):
                raise Error(f"constraint {j} must be a Constraint, not {constraint!r}")
        self._constraints = list(constraints)
        self._core = _core.Domain.space([c._parts() for c in self._named.values()], [c._parts(list(self._named)) for c in constraints])

    @property
    def names(self) -> list[str]:
        """The names of the parameters."""
        return list(self._named)

    def points(self, params: Any) -> Any:
        """The same; a table of pandas or Polars goes by the names of its columns, as its rows would one by one."""
        if self._has_names and names_of(params) is not None:
            params = params.to_dict("records") if hasattr(params, "iloc") else params.to_dicts() if hasattr(params, "to_dicts") else params
        return super().points(params)

    def params(self, point: Any, index: int | None = None) -> dict[str, Any]:
        return {name: _value_of(column, float(v)) for (name, column), v in zip(self._named.items(), np.ravel(point))}

    def _coordinate(self, params: Mapping[str, Any], column: int) -> float:
        name, kind = list(self._named.items())[column]
        unknown = [given for given in params if given not in self._named]
        if name not in params or unknown:
            raise Error(f"a setting has {', '.join(map(repr, params))}: it needs {', '.join(map(repr, self._named))}")
        return kind._natural(params[name], name) if isinstance(kind, Categorical) else number(params[name], name)

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"kind": "Space", "names": self.names}
        for name, column in self._named.items():
            facts |= {f"{name}: {fact}": value for fact, value in zip(_FACTS, column._parts())}
            if isinstance(column, Categorical):
                facts[f"{name}: choices"] = [_written(column._value(j)) for j in range(column._parts()[-1])]
        return facts | {"constraints": [constraint._parts(self.names) for constraint in self._constraints]}

    def __repr__(self) -> str:
        shown = [f"{name}={_shown(c)}" if self._has_names else _shown(c) for name, c in self._named.items()]
        columns = ", ".join(shown) if self._has_names else f"[{', '.join(shown)}]"
        return f"Space({columns}{f', constraints={self._constraints}' if self._constraints else ''})"


#: What ``_parts`` of a column are called.
_FACTS = ("type", "low", "high", "log", "step", "levels")


def said(domain: Domain) -> str:
    """A domain in JSON: what a saved run keeps of it."""
    return json.dumps(domain._facts())


def check_said(domain: Domain, saved: str) -> None:
    """Refuses another domain than the one that was saved, by what differs: names would be given to other settings."""
    try:
        before = json.loads(saved)
    except ValueError:
        raise Error("domain cannot be compared: the saved run does not say what its domain is; load it without") from None
    here = json.loads(said(domain))
    for fact in [*before, *here]:
        if before.get(fact) != here.get(fact):
            was, now = (_short(facts[fact]) if fact in facts else "not there" for facts in (before, here))
            raise Error(f"domain is not that of the saved run: {fact} was {was} and is {now}; give the domain as it was, choices in the same order")


def _written(thing: Any) -> Any:
    """A choice in JSON, the same in every process: where an object lies in memory is left out."""
    thing = thing.item() if isinstance(thing, np.generic) else thing
    return thing if isinstance(thing, (str, int, float, type(None))) else re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _value_of(column: Column, natural: float) -> Any:
    if isinstance(column, Categorical):
        return column._value(natural)
    return int(natural) if isinstance(column, Int) else natural


def _shown(column: Column) -> str:
    parts = [repr(getattr(column, f.name)) if j < 2 else f"{f.name}={getattr(column, f.name)!r}" for j, f in enumerate(fields(column)) if j < 2 or getattr(column, f.name) != f.default]
    return f"{type(column).__name__}({', '.join(parts)})"


def domain_from(domain: Any) -> Domain:
    """A domain as users write it: one of the classes, a box as the tuple ``(low, high)``, a list of columns, or an array of candidates.

    What could be a box as well as candidates is neither: the class says which.
    """
    if isinstance(domain, Domain):
        return domain
    if isinstance(domain, Mapping):
        return Space(**domain)
    if isinstance(domain, Sequence) and len(domain) > 0 and all(isinstance(c, (Float, Int, Ordinal, Categorical)) for c in domain):
        return Space(domain)
    if isinstance(domain, tuple):
        if len(domain) != 2:
            raise Error(f"a box is a tuple of two corners, (low, high), not of {len(domain)}; candidates are an array")
        square = _array(domain)
        if square is not None and square.shape == (2, 2) and _is_increasing(square):
            low, high = square.tolist()
            raise _ambiguous(domain, f"sb.Box({low}, {high}) with two corners", f"sb.Box([{low}, {high}]) with the ends of each column")
        return Box(*domain)
    if _could_be_box(domain):
        has_ends = np.ndim(domain) == 2 and np.shape(domain)[1] == 2 and bool((_array(domain)[:, 0] < _array(domain)[:, 1]).all())
        raise _ambiguous(domain, f"sb.Box({_short(np.asarray(domain).tolist())})" if has_ends else "sb.Box(low, high)", "sb.Candidates(points)")
    return Candidates(domain)


#: So few rows of two increasing numbers may be the ends of columns; more are candidates in the plane.
_COLUMNS = 12


def _could_be_box(domain: Any) -> bool:
    """Whether two rows may be corners, two numbers ends, or pairs the ends of columns."""
    array = _array(domain)
    if array is None:
        return False
    if array.ndim == 1:
        return len(array) == 2
    if array.ndim != 2:
        return False
    return len(array) == 2 or (array.shape[1] == 2 and len(array) <= _COLUMNS and bool((array[:, 0] < array[:, 1]).all()))


def _array(domain: Any) -> Any:
    """The numbers of something that is nothing but numbers."""
    try:
        return np.asarray(domain, dtype=float)
    except (TypeError, ValueError):
        return None


def _is_increasing(pair: Any) -> bool:
    """Whether both rows and both columns of a square of four numbers increase: corners as well as ends."""
    return bool((pair[0] < pair[1]).all() and (pair[:, 0] < pair[:, 1]).all())


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) < 80 else shown[:60] + "…"


def _ambiguous(domain: Any, one: str, other: str) -> Error:
    return Error(f"domain={_short(np.asarray(domain).tolist())} can be read in two ways: write {one}, or {other}")
