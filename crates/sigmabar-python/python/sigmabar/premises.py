"""Where premises come from, for people: a norm bound from hills and valleys, a noise level from replicates, functions to look at.

>>> import sigmabar as sb
>>> round(sb.premises.norm_bound(height=20, hills=4, unit=20), 3)
3.0
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import Floats, paired, rows, vector
from ._checks import count, labels_of, number, refuse_reordered, seed_of
from ._core import Error
from ._kernels import Kernel
from ._learnt import LearntNumber, marked, source_of

__all__ = ["Drawn", "Learnt", "Said", "Verdict", "ask", "functions", "judge", "learn", "noise_level", "norm_bound"]


def __dir__() -> list[str]:
    return __all__


def norm_bound(height: float, hills: int, unit: float = 1.0) -> float:
    """A norm bound for a function that strays by ``height`` from its prior mean, in ``hills`` separate hills and valleys: one and a half times the height in
    units of ``unit`` times the root of their number. One hill of height h has the norm h, q of them far from each other h times the root of q.

    >>> import sigmabar as sb
    >>> sb.premises.norm_bound(height=2.0, hills=1)
    3.0
    """
    bound = _core.norm_of_hills(number(height, "height") / number(unit, "unit"), count(hills, "hills"))
    return marked(bound, *source_of((height, unit)))


def noise_level(x: Any, y: Any, delta: float = 0.005) -> tuple[LearntNumber, LearntNumber, int]:
    """What replicates say about normal noise of one unknown level, whatever the function is: the pooled standard deviation, a bound on the level that is exceeded with
    probability ``delta`` at most, and the degrees of freedom. Rows of ``x`` that are equal are replicates; without any it is a ``ValueError``. Both numbers are learnt
    from these responses, and a claim about the same ones says so; declare noise of an unknown level to have the bound inside the claim.

    >>> import sigmabar as sb
    >>> s, bound, freedom = sb.premises.noise_level([0, 0, 1, 1, 2], [1.0, 1.2, 3.0, 3.1, 9.0])
    >>> freedom, s < bound
    (2, True)
    """
    points, values = paired(x, y)
    found = _core.replicates(points, values.tolist(), number(delta, "delta"))
    if found is None:
        raise ValueError("there are no replicates: measure some settings twice or more, or declare the level")
    seen = _core.seen_hashes(points, values)
    return LearntNumber(found[0], "learnt-here", seen), LearntNumber(found[1], "learnt-here", seen), found[2]


def functions(kernel: Kernel, norm: float, x: Any, *, hills: int = 4, count: int = 3, seed: int = 0) -> Floats:
    """Random functions of this norm at the rows of ``x``, one in each row of the result: could yours look like these?

    >>> import numpy as np, sigmabar as sb
    >>> sb.premises.functions(sb.Matern(nu=2.5, lengthscale=0.2), 2.0, np.linspace(0, 1, 50)).shape
    (3, 50)
    """
    points = rows(x)
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(count):
        centres = points[rng.choice(len(points), size=min(hills, len(points)), replace=False)]
        weights = rng.standard_normal(len(centres))
        size = math.sqrt(max(float(weights @ kernel(centres, centres) @ weights), 1e-300))
        drawn.append(kernel(points, centres) @ weights * (norm / size))
    return np.array(drawn)


class Drawn(NamedTuple):
    """Functions as large as learnt premises say: ``values[i, j]`` are those of function i along the range of ``along``, at ``choices[j]`` where a parameter has choices."""

    along: str
    choices: list[str]
    values: Floats


@dataclass(frozen=True)
class Learnt:
    """Premises that results of before suggest, for other measurements than these: ``keys`` are those of a study file, in units of ``keys["unit"]``; under the kernel, and if
    the noise is no larger than its guess, the results exclude norms below ``least_norm``. ``print`` shows the lines of a study file, with where each number comes from. The
    numbers are marked as learnt: a claim about these same results that rests on them is an estimate. ``untaught`` is what the results say nothing about, such as a choice
    that was never measured; ``functions`` are as large as the premises say, for :func:`sigmabar.plot.functions`."""

    keys: dict[str, Any]
    least_norm: float
    results: int
    lines: str
    untaught: tuple[str, ...] = ()
    functions: Drawn | None = field(default=None, compare=False, repr=False)

    def into(self, study: Mapping[str, Any]) -> dict[str, Any]:
        """The study with these premises: nothing that taught them may be imported into it as fixed, and a result of theirs that is told again is noticed."""
        return {**study, **_each_number(self.keys, float)}

    def __str__(self) -> str:
        return self.lines


@dataclass(frozen=True)
class Said:
    """Answers as premises: ``keys`` are those of a study file without choices. ``print`` shows its lines, with what each was said to be; those of ``sigmabar premises``."""

    keys: dict[str, Any]
    lines: str
    alike: float = 0.5

    def into(self, study: Mapping[str, Any]) -> dict[str, Any]:
        """The study with these premises, ready for :meth:`sigmabar.Study.create`. A premise that it has already is an error."""
        twice = [key for key in self.keys if key in study]
        if twice:
            raise Error(f"the study has a {twice[0]} already: take it out, or leave the answers")
        # Of candidates in a file the words are not known: they count as what was said about numbers.
        kinds, kernel = {} if isinstance(study.get("candidates"), str) else _kinds(study), self.keys["kernel"]
        if "categorical" not in kinds.values():
            return {**study, **self.keys}
        choice, number = _core.choice_length("candidates" in study, self.alike), kernel["lengthscale"]
        lengths = {name: choice if kind == "categorical" else number for name, kind in kinds.items()}
        return {**study, **self.keys, "kernel": {**kernel, "lengthscale": lengths}}

    def __str__(self) -> str:
        return self.lines


class Verdict(NamedTuple):
    """What results of before say about premises: under the kernel and the noise, or the guess of it, they exclude norms below ``least_norm``, what fits them best has
    ``norm``, and ``suggested`` would be the norm bound."""

    least_norm: float
    norm: float
    suggested: float


def ask(*, usual: float, stray: float, hills: int, change: float, repeat: float, alike: float = 0.5) -> Said:
    """What somebody knows about a function before measuring it, as the premises of a study: the ``usual`` value, how far good and bad settings ``stray`` from it, how
    many ``hills`` and valleys fit into the whole range, how far one must go to see a clear ``change`` (a share of a factor's range), and by how much two measurements of
    one setting usually differ, ``repeat``; where a parameter has choices, how ``alike`` results under two of them are, from 0 to 1. They are the questions of ``sigmabar premises``. The noise level is only guessed: replicates in batch 1 bound it.

    >>> import sigmabar as sb
    >>> said = sb.premises.ask(usual=50, stray=20, hills=4, change=0.5, repeat=1)
    >>> said.keys["norm_bound"], said.keys["unit"], sorted(said.keys)
    (3.0, 20.0, ['kernel', 'noise', 'norm_bound', 'prior_mean', 'unit'])
    >>> study = said.into({"budget": 40, "parameters": {"t": {"type": "float", "low": 0, "high": 60}}})
    """
    if not 0 < number(change, "change") <= 10:
        raise Error(f"change is a share of the range, above 0 and at most 10, not {change}")
    if not math.isfinite(number(usual, "usual")):
        raise Error(f"usual must be a finite number, not {usual}")
    for name, value in (("stray", stray), ("repeat", repeat)):
        if not 0 < number(value, name) < math.inf:
            raise Error(f"{name} must be above 0 and finite, not {value}")
    if not 0 < number(alike, "alike") < 1:
        raise Error(f"alike is between 0, where one choice tells nothing about another, and 1, where they are the same, not {alike}")
    # E|a − b| = 2σ/√π for two draws of normal noise.
    about = round(repeat * math.sqrt(math.pi) / 2 / stray, 6)
    keys: dict[str, Any] = {
        "prior_mean": float(usual),
        "unit": float(stray),
        "norm_bound": round(float(norm_bound(height=stray, hills=hills, unit=stray)), 4),
        "noise": {"about": about},
        "kernel": {"name": "matern", "nu": 2.5, "lengthscale": float(change)},
    }
    lines = (
        f"prior_mean = {float(usual)!r}  # the usual value\n"
        f"unit = {float(stray)!r}  # how far settings stray from it: norm and noise count in these\n"
        f"norm_bound = {keys['norm_bound']:.4f}  # 1.5 times the root of {hills} hills and valleys\n"
        f"noise = {{ about = {about:.6f} }}  # two measurements usually differ by {repeat}: a guess that plans; replicates bound it\n"
        f'kernel = {{ name = "matern", nu = 2.5, lengthscale = {float(change)!r} }}  # so far to a clear change, in shares of the range\n'
    )
    return Said(keys, lines, float(alike))


def learn(study: Mapping[str, Any], x: Any, y: Any, *, source: str = "earlier results", seed: int = 0) -> Learnt:
    """What a table of pilot results suggests for a study: prior mean, unit, norm bound, noise and kernel, as ``sigmabar premises --from`` does. ``x`` has a column for
    each parameter of the study, by name or in its order, with the names of choices where a parameter has choices; ``source`` is what the study will say that they came from. A study that begins with a ``pilot`` of its own may take them
    from that.

    >>> import numpy as np, sigmabar as sb
    >>> study = {"budget": 40, "parameters": {"t": {"type": "float", "low": 0, "high": 60}}}
    >>> t = np.linspace(0, 60, 24)
    >>> y = 50 + 18 * np.exp(-(((t - 38) / 15) ** 2)) + np.random.default_rng(0).normal(size=24)
    >>> learnt = sb.premises.learn(study, {"t": t}, y)
    >>> bool(learnt.least_norm < learnt.keys["norm_bound"]), sorted(learnt.keys)
    (True, ['kernel', 'learnt_from', 'learnt_rows', 'noise', 'norm_bound', 'prior_mean', 'unit'])
    >>> planned = learnt.into(study)
    >>> verdict = sb.premises.judge(planned, {"t": t}, y)
    >>> bool(abs(verdict.suggested / planned["norm_bound"] - 1) < 0.1)
    True
    """
    found = json.loads(_core.learn_premises(json.dumps(dict(study)), _settings(study, x, y), source, seed_of(seed)))
    keys = _each_number(found["keys"], lambda value: LearntNumber(value, "learnt-here"))
    drawn = found["functions"] and Drawn(found["functions"]["along"], found["functions"]["choices"], np.array(found["functions"]["values"]))
    return Learnt(keys, LearntNumber(found["least_norm"], "learnt-here"), found["results"], found["lines"], tuple(found["untaught"]), drawn)


def _each_number(keys: Any, made: Callable[[float], float]) -> Any:
    """The same with each number made anew, however deep it stands."""
    if isinstance(keys, Mapping):
        return {key: _each_number(value, made) for key, value in keys.items()}
    return made(keys) if isinstance(keys, float) else keys


def judge(study: Mapping[str, Any], x: Any, y: Any) -> Verdict:
    """What a table of pilot results says about the premises of a study, which has a kernel and noise."""
    found = _core.judge_premises(json.dumps(dict(study)), _settings(study, x, y))
    if found is None:
        raise Error("the study has no kernel or no noise: declare both to have them judged, or learn them")
    return Verdict(*(LearntNumber(value, "learnt-here") for value in found))


def _settings(study: Mapping[str, Any], x: Any, y: Any) -> list[tuple[str, float]]:
    """Settings as JSON lists in the order of the parameters, each with its value."""
    kinds, values = _kinds(study), vector(y, "y")
    by_name = isinstance(x, Mapping) or hasattr(x, "columns")
    missing = [name for name in kinds if by_name and name not in x]
    if missing:
        raise Error(f"x has no column for the parameter {missing[0]!r} of the study")
    refuse_reordered("x", labels_of(x), y, "y")
    if not by_name:
        # A table with words in it has cells of several kinds.
        table = np.asarray(x, dtype=object) if "categorical" in kinds.values() else rows(x, "x")
        if table.ndim != 2 or table.shape != (len(values), len(kinds)):
            raise Error(f"x must have a row for each of the {len(values)} results and a column for each of the {len(kinds)} parameters, not shape {table.shape}")
        x = dict(zip(kinds, table.T))
    for name in kinds:
        refuse_reordered(f"column {name!r}", labels_of(x[name]), y, "y")
    columns = [_cells(x[name], f"column {name!r}", kind) for name, kind in kinds.items()]
    short = next((name for name, cells in zip(kinds, columns) if len(cells) != len(values)), None)
    if short is not None:
        raise Error(f"x must have a row for each of the {len(values)} results, and column {short!r} has another number")
    return list(zip((json.dumps(row) for row in zip(*columns)), values.tolist()))


def _kinds(study: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a study with their types; columns of candidates with words in them are choices."""
    table = study.get("candidates")
    if table is None:
        return {name: parameter.get("type", "") for name, parameter in study.get("parameters", {}).items()}
    if not isinstance(table, Mapping):
        raise Error("the candidates of the study are in a file: give them as a table with columns and rows")
    columns = list(zip(*table.get("rows", [])))
    return {name: "categorical" if any(isinstance(cell, str) for cell in cells) else "float" for name, cells in zip(table.get("columns", []), columns)}


def _cells(column: Any, what: str, kind: str) -> list[Any]:
    """The cells of a column: numbers, whole ones of an int, and a choice by its name."""
    if kind != "categorical":
        numbers: list[float] = vector(column, what).tolist()
        return [round(v) if kind == "int" and v == round(v) else v for v in numbers]
    cells: list[Any] = np.asarray(column, dtype=object).tolist()
    for row, cell in enumerate(cells):
        if cell is None or cell != cell or not isinstance(cell, (str, int, float)):
            raise Error(f"{what}, row {row}: {cell!r} is not the name of a choice")
    return cells
