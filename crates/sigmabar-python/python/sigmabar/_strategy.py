"""Where to measure next, to find the best setting."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _catalogue, _core
from ._arrays import Floats, floats, rows
from ._certificate import Certificate, PremiseRange, warn_of, warned
from ._checks import count, count_or_none, flag, labels_of, number, number_or_none, refuse_masked, refuse_reordered, saved, seed_of, text, text_or_none
from ._core import Error
from ._domain import Domain, check_said, domain_from, said
from ._html import advice
from ._kernels import Kernel, kernel_core
from ._learnt import sourced, sourced_or_none
from ._names import Collected, Direction, Failures
from ._noise import Noise, noise_core

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._catalogue import StrategyName, StrategyOptions


@dataclass(frozen=True)
class Ask:
    """Points to evaluate; ``waiting`` (and no ids) while everything of the batch is handed out.

    >>> import sigmabar as sb
    >>> k, noise = sb.Matern(nu=2.5, lengthscale=0.5), sb.Gaussian(0.1)
    >>> s = sb.Strategy("s-bpe", domain=([0.0], [1.0]), kernel=k, tau=0.1, norm_bound=1.0, noise=noise, budget=8, batches=[3, 5])
    >>> a = s.ask()
    >>> a.ids, a.batch, a.points.shape, a.waiting
    ([0, 1, 2], 0, (3, 1), False)
    >>> s.ask().waiting
    True
    """

    ids: list[int]
    points: Floats
    indices: NDArray[np.int64]
    batch: int
    params: list[dict[str, Any]]

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each trial's id with its parameters by name."""
        return iter(zip(self.ids, self.params))

    @property
    def waiting(self) -> bool:
        """Whether results are awaited before there is anything more to hand out."""
        return not self.ids

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Recommendation:
    """The setting to use, and what is known about it.

    ``lower <= f(point) <= upper``, and no setting of the domain is better by more than ``gap``, in the sense of ``label``; ``certificate`` says what that rests
    on. Where generated candidates stand for the domain, ``candidate_gap`` speaks of these alone.

    >>> import sigmabar as sb
    >>> s = sb.Strategy("random", domain=[0.0, 0.5, 1.0], budget=9)
    >>> while (a := s.ask()) is not None:
    ...     s.tell(a.ids, 1 - (a.points[:, 0] - 0.5) ** 2)
    >>> r = s.recommend()
    >>> r.point.tolist(), r.index, r.label
    ([0.5], 1, 'estimated')
    >>> r.params
    {'x0': 0.5}
    """

    point: Floats
    index: int | None
    lower: float
    upper: float
    gap: float
    candidate_gap: float | None
    certificate: Certificate
    params: dict[str, Any]

    @property
    def label(self) -> str:
        """What interval and gap may be called."""
        return self.certificate.label

    def _repr_html_(self) -> str:
        return advice(self.params, self.lower, self.upper, self.gap, "; ".join([self.label, *self.certificate.terms]))

    @property
    def premises(self) -> PremiseRange | None:
        """For which premises it stands that the point is within some gap of the best; ``None`` without kernel, norm bound and noise. For a strategy that certifies
        nothing itself this is what holds whatever chose the points, though ``label`` says "estimated"."""
        return self.certificate.range


class Standing(NamedTuple):
    """A claim along the norm bound: ``gaps[i]`` holds for every function of norm up to ``norm_bounds[i]``, and is NaN where the data exclude that norm. Along the noise, at
    ``norm_bound``: ``noise_gaps[i]`` holds for every level up to ``noise_levels[i]``; these and ``noise_level``, the one that is claimed, count in units of the prior.

    >>> import sigmabar as sb
    >>> sb.Strategy("random", domain=sb.Candidates([0.0, 1.0]), budget=2).standing() is None
    True
    """

    norm_bounds: Floats
    gaps: Floats
    norm_bound: float
    range: PremiseRange
    certificate: Certificate
    noise_level: float | None = None
    noise_levels: Floats = np.empty(0)
    noise_gaps: Floats = np.empty(0)

    @property
    def growth(self) -> float:
        """How many times as large a norm can be under the kernel of the run as under the length-scales that were declared; 1 without ``shortest``. The sentence of
        ``range`` and pictures count norms as declared, the numbers here under the kernel of the run."""
        found = self.certificate.details["premises"]["lengthscales"]
        return 1.0 if found is None else float(found["value"]["bound"] / found["value"]["norm_bound"])

    @classmethod
    def of(cls, core: Any) -> Standing | None:
        """Of a run or a study. Where the data contradict its premises, that is said."""
        text = core.standing()
        if text is None:
            warn_of(core.contradiction(), 4)
            return None
        found = json.loads(text)
        certificate = warned(Certificate.from_json(json.dumps(found["certificate"])), 4)
        reach = PremiseRange.said(found["range"], certificate)
        norms, gaps = _curve(found["curve"], "norm_bound")
        # Servers of earlier versions know no curve along the noise.
        levels, noise_gaps = _curve(found.get("noise_curve", []), "noise_level")
        return cls(norms, gaps, found["norm_bound"], reach, certificate, found["noise_level"], levels, noise_gaps)


class PremiseMap(NamedTuple):
    """The gap over premises: ``gaps[i, j]`` holds for every function of norm up to ``norm_bounds[j]`` under the kernel with all length-scales times ``factors[i]``, and is
    NaN where the data exclude that; under that kernel they exclude norms below ``least_norms[i]``.

    >>> import sigmabar as sb
    >>> sb.Strategy("random", domain=sb.Candidates([0.0, 1.0]), budget=2).premise_map() is None
    True
    """

    factors: Floats
    norm_bounds: Floats
    gaps: Floats
    least_norms: Floats

    @classmethod
    def said(cls, text: str) -> PremiseMap | None:
        """From JSON; ``None`` where it has no rows."""
        found = json.loads(text)
        if not found:
            return None
        curves = [_curve(row["curve"], "norm_bound") for row in found]
        gaps = np.array([gaps for _, gaps in curves])
        return cls(np.array([row["factor"] for row in found]), curves[0][0], gaps, np.array([row["least_norm"] for row in found]))


def _curve(points: list[dict[str, Any]], along: str) -> tuple[Floats, Floats]:
    """A premise and its gaps, NaN where the data contradict it."""
    return np.array([p[along] for p in points]), np.array([np.nan if p["gap"] is None else p["gap"] for p in points])


class Batch(NamedTuple):
    """A closed batch in numbers; ``survivors`` is how many candidates are still possible, or, as a float, which share of the domain.

    >>> import sigmabar as sb
    >>> k, noise = sb.Matern(nu=2.5, lengthscale=0.5), sb.Gaussian(0.1)
    >>> s = sb.Strategy("s-bpe", domain=([0.0], [1.0]), kernel=k, tau=0.1, norm_bound=1.0, noise=noise, budget=8, batches=[3, 5])
    >>> a = s.ask()
    >>> s.tell(a.ids, [0.1, 0.4, None])
    >>> s.batches[0].planned, s.batches[0].measured
    (3, 2)
    """

    planned: int
    measured: int
    survivors: int | float | None
    gap: float | None
    candidate_gap: float | None
    certificate: Certificate | None
    inducing: int | None

    @property
    def label(self) -> str | None:
        """What the gap may be called, where there is one."""
        return None if self.certificate is None else self.certificate.label


@dataclass(frozen=True)
class Cells:
    """Parts of a box between lower and upper corners.

    >>> import sigmabar as sb
    >>> s = sb.Strategy("s-bpe", domain=([0.0], [2.0]), kernel=sb.Matern(nu=2.5, lengthscale=0.5), tau=0.1, norm_bound=1.0, noise=sb.Gaussian(0.05), budget=60)
    >>> a = s.ask()
    >>> s.tell(a.ids, a.points[:, 0] / 4)
    >>> 0.0 < s.survivors.volume < 2.0
    True
    """

    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.low)

    @property
    def volume(self) -> float:
        """The volume of all together."""
        return float(np.prod(self.high - self.low, axis=1).sum())


@dataclass(frozen=True)
class Trials:
    """The book of a run, one entry for each trial; ``nan`` where there is no number.

    >>> import sigmabar as sb
    >>> s = sb.Strategy("sobol", domain=([0.0], [1.0]), budget=3)
    >>> a = s.ask()
    >>> s.tell(a.ids[:2], [0.5, None])
    >>> s.trials.states, s.trials.values.tolist()
    (['told', 'failed', 'asked'], [0.5, nan, nan])
    """

    ids: list[int]
    batches: list[int]
    points: Floats
    states: list[str]
    values: Floats
    standard_errors: Floats

    def dataframe(self) -> Any:
        """The same as a pandas DataFrame, one column for each column of the points."""
        import pandas

        points = {f"x{j}": self.points[:, j] for j in range(self.points.shape[1])}
        head = {"id": self.ids, "batch": self.batches}
        return pandas.DataFrame({**head, **points, "state": self.states, "value": self.values, "standard_error": self.standard_errors})


class Strategy:
    """A run: a strategy on a domain, asked for points and told values.

    ``domain`` is a :class:`Box`, :class:`Candidates` or a :class:`Space` of named columns; also an array of candidates, a box ``(low, high)`` or a list of columns
    (:class:`Float`, :class:`Int`, :class:`Ordinal`, :class:`Categorical`) where it can be read in one way only. ``"s-bpe"`` needs kernel, norm bound and noise and proves what it says; ``"auto"`` needs nothing and proves nothing. Kernel
    variance, ``tau``, ``norm_bound`` and ``noise`` are in units of ``unit``; values, the ends of intervals, ``gap`` and ``stop_at_gap`` are in those of the
    values. The strategies and their options are listed below.

    ``shortest`` is the kernel with the shortest length-scales that are possible, where ``kernel`` has the longest: the norm bound then holds for some length-scales
    between the two, and the run goes by ``shortest`` and the bound that follows for it.

    ``failures`` says what a lost evaluation tells about its value: ``"unrelated"`` (nothing, and claims stand) or ``"informative"``; where nobody said, claims
    after a loss are estimates. If the data contradict what was declared, telling warns (:class:`ContradictionWarning`) and asking raises
    :class:`Contradicted`.

    The run is a function of the seed and the values, whatever the order of telling.

    >>> import numpy as np, sigmabar as sb
    >>> x = np.linspace(0, 1, 200)
    >>> f = lambda x: np.sin(5 * x) * (1 - x)
    >>> rng = np.random.default_rng(0)
    >>> s = sb.Strategy("s-bpe", domain=x, kernel=sb.SquaredExponential(0.2), tau=0.1, norm_bound=2.0, noise=sb.Gaussian(0.05), budget=400)
    >>> while (a := s.ask()) is not None:
    ...     s.tell(a.ids, f(a.points[:, 0]) + 0.05 * rng.standard_normal(len(a)))
    >>> r = s.recommend()
    >>> r.label, bool(f(x).max() - f(r.point[0]) <= r.gap), bool(np.argmax(f(x)) in s.survivors)
    ('certified', True, True)
    >>> [b.planned for b in s.batches] == sb.theory.batch_sizes(400)
    True
    """

    def __init__(
        self,
        name: StrategyName,
        *,
        domain: Any,
        budget: int,
        kernel: Kernel | None = None,
        shortest: Kernel | None = None,
        tau: float | None = None,
        norm_bound: float | None = None,
        noise: Noise | None = None,
        delta: float = 0.05,
        seed: int = 0,
        direction: Direction = "maximize",
        mean: float = 0.0,
        unit: float = 1.0,
        stop_at_gap: float | None = None,
        stop_at_candidate_gap: float | None = None,
        failures: Failures | None = None,
        informative_failures: bool | None = None,
        **options: Unpack[StrategyOptions],
    ) -> None:
        problem = {
            "budget": count(budget, "budget"),
            "delta": number(delta, "delta"),
            "seed": seed_of(seed),
            "direction": text(direction, "direction"),
            "stop_at_gap": number_or_none(stop_at_gap, "stop_at_gap"),
            "stop_at_candidate_gap": number_or_none(stop_at_candidate_gap, "stop_at_candidate_gap"),
            "failures": failures_of(failures, informative_failures),
        }
        premises = premises_of(kernel, shortest, tau, norm_bound, noise, mean, unit)
        given: dict[str, Any] = dict(options)
        if given.get("batches") is not None:
            given["batches"] = batches_of(given["batches"])
        if given.get("actions") is not None:
            given["actions"] = rows(given["actions"], "actions")
        self._domain: Domain | None = domain_from(domain)
        self._domain_said = said(self._domain)
        self._core = _core.Strategy(text(name, "name"), self._domain._core, problem, premises, given)

    @classmethod
    def _wrap(cls, core: _core.Strategy, domain_said: str = "") -> Strategy:
        strategy = cls.__new__(cls)
        strategy._core, strategy._domain, strategy._domain_said = core, None, domain_said
        return strategy

    def _params(self, point: Any, index: int | None = None) -> dict[str, Any]:
        return (self._domain or Domain()).params(point, index)

    def __repr__(self) -> str:
        where = "" if self._domain is None else f" on {self._domain!r}"
        return f"<Strategy {self.name!r}{where}, budget {self.budget}>"

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return self._core.facts()[0]

    @property
    def budget(self) -> int:
        """How many evaluations the run may make."""
        return self._core.facts()[1]

    def ask(self, at_most: int | None = None) -> Ask | None:
        """At most ``at_most`` points to evaluate now (by default all of the batch), or ``None`` when the run is over."""
        asked = self._core.ask(count_or_none(at_most, "at_most"))
        if asked is None:
            return None
        ids, batch, candidates, points = asked
        return Ask(ids, points, candidates, batch, [self._params(p, None if i < 0 else int(i)) for p, i in zip(points, candidates)])

    def tell(self, ids: int | Sequence[int], values: Any, standard_errors: Any = None, *, replicates: Any = None) -> None:
        """The results of these trials, in any order; all or, on an error, none. ``None`` is a failure; with ``standard_errors`` a value is the mean of replicates.

        A standard error is itself an estimate: what makes a mean count for more than one measurement is the number of ``replicates`` that you declare (one
        number for all, or one each). A contradiction between the data and what was declared is a :class:`ContradictionWarning`.
        """
        single = isinstance(ids, (int, np.integer))
        numbers: list[int] = [ids] if single else list(ids)  # type: ignore[list-item, arg-type]
        told = [values] if single or values is None else values
        errors = [standard_errors] if single and standard_errors is not None else standard_errors
        results = _results(numbers, "ids", numbers, told, errors, replicates)
        warn_of(self._core.tell([(count(i, "ids"), result) for i, result in zip(numbers, results)]))

    def fix_premises(
        self,
        *,
        kernel: Kernel | None = None,
        shortest: Kernel | None = None,
        tau: float | None = None,
        norm_bound: float | None = None,
        noise: Noise | None = None,
        mean: float = 0.0,
        unit: float = 1.0,
    ) -> None:
        """What is assumed from now on, after a pilot (``pilot=24``) was looked at, and may be learnt from it: nothing of it is in a claim.

        As often as you like, until the batch after the pilot is asked for; then premises stay. The certificate says that they were fixed on other data.

        >>> import numpy as np, sigmabar as sb
        >>> rng = np.random.default_rng(0)
        >>> measure = lambda x: 60 + 8 * np.sin(5 * x) + 0.5 * rng.standard_normal(len(x))
        >>> s = sb.Strategy("s-bpe", domain=np.linspace(0, 1, 101), budget=224, pilot=24)
        >>> pilot = s.ask()
        >>> values = measure(pilot.points[:, 0])
        >>> s.tell(pilot.ids, values)
        >>> s.fix_premises(kernel=sb.SquaredExponential(0.3), norm_bound=3.0, noise=sb.Gaussian(0.1), mean=values.mean(), unit=8.0)
        >>> while (a := s.ask()) is not None:
        ...     s.tell(a.ids, measure(a.points[:, 0]))
        >>> r = s.recommend()
        >>> r.label, r.certificate.premises["pilot"].origin, r.certificate.details["premises"]["observations"]["value"]
        ('certified', 'learnt_elsewhere', 200)
        """
        self._core.fix_premises(premises_of(kernel, shortest, tau, norm_bound, noise, mean, unit))

    def close_batch(self) -> None:
        """Closes the batch with what has arrived; results that come later are kept but certify nothing."""
        self._core.close_batch()
        warn_of(self._core.contradiction())

    def attach(
        self, points: Any, values: Any, standard_errors: Any = None, *, replicates: Any = None, collected: Collected | None = None
    ) -> None:
        """Results measured before the run, which cost nothing of the budget. Only before the first :meth:`ask`.

        Only with ``collected="fixed"``, by which you declare that no point was chosen by looking at a response, do they enter certificates; and never rows that
        the kernel or another premise was learnt on.
        """
        where = rows(points if self._domain is None else self._domain.points(points))
        self._core.attach(where, _results(where, "points", labels_of(points), values, standard_errors, replicates), text_or_none(collected, "collected"))

    @property
    def repeats(self) -> str | None:
        """How many evaluations of the first batch repeat others because nobody knows the noise, and what that buys; none before it was planned, and where the
        level was declared.
        """
        return self._core.repeats()

    @property
    def contradiction(self) -> str | None:
        """How the data contradict what was declared, and what would be consistent, if they do."""
        return self._core.contradiction()

    def go_on_despite_contradiction(self) -> None:
        """Lets a run go on whose premises the data have refuted: measurements then serve the model, and nothing is certified."""
        self._core.go_on_despite_contradiction()

    def set_context(self, context: Any) -> None:
        """The context of the next evaluation, for ``"ek-ucb"``."""
        self._core.set_context(floats(context, "context"))

    def recommend(self) -> Recommendation | None:
        """The best setting by what is known now, never the luckiest draw; ``None`` before anything was measured."""
        found = self._core.recommend()
        if found is None:
            return None
        point, index, lower, upper, gap, candidate_gap, certificate = found
        return Recommendation(point[0], index, lower, upper, gap, candidate_gap, warned(Certificate(certificate), 3), self._params(point[0], index))

    def standing(self) -> Standing | None:
        """The claim as a function of the norm bound, from the same data: that of ``"s-bpe"``, and for every other strategy what holds whatever chose the points, which is
        wider. ``None`` without kernel, norm bound and noise, before anything was recommended, and, with a :class:`ContradictionWarning`, where the data contradict these;
        ``recommend().certificate.weak_premises`` says what else is missing.

        >>> import numpy as np, sigmabar as sb
        >>> s = sb.Strategy("s-bpe", domain=np.linspace(0, 1, 20), kernel=sb.Matern(nu=2.5, lengthscale=0.5), norm_bound=2.0, noise=sb.Gaussian(0.1), budget=60)
        >>> while (a := s.ask()) is not None:
        ...     s.tell(a.ids, 1 - 2 * (a.points[:, 0] - 0.5) ** 2)
        >>> c = s.standing()
        >>> bool(np.all(np.diff(c.gaps[np.isfinite(c.gaps)]) >= 0)), c.norm_bound
        (True, 2.0)
        """
        return Standing.of(self._core)

    def premise_map(self, factors: Sequence[float] = (0.5, 0.7, 1.0, 1.4, 2.0)) -> PremiseMap | None:
        """The gap over norm bound and length-scale: :meth:`standing` with all length-scales times each factor. Every entry is a statement about its own premises. ``None`` where
        there is no curve.

        >>> import numpy as np, sigmabar as sb
        >>> s = sb.Strategy("gp-ucb", domain=np.linspace(0, 1, 20), kernel=sb.SquaredExponential(0.5), norm_bound=2.0, noise=sb.Gaussian(0.1), budget=30)
        >>> while (a := s.ask()) is not None:
        ...     s.tell(a.ids, 1 - 2 * (a.points[:, 0] - 0.5) ** 2)
        >>> s.premise_map([0.7, 1.0]).gaps.shape, s.recommend().premises.norm_breakdown >= 2.0
        ((2, 20), True)
        """
        return PremiseMap.said(self._core.premise_map([number(f, "factors") for f in factors]))

    @property
    def survivors(self) -> NDArray[np.int64] | Cells | Floats | None:
        """What is not ruled out: indices of a list's candidates, :class:`Cells` of a box, or points that stand for the domain; ``None`` where the strategy
        rules nothing out or has not begun."""
        left = self._core.survivors()
        if left is None:
            return None
        indices, corners, points = left
        if indices is not None:
            return indices
        return Cells(*corners) if corners is not None else points

    @property
    def batches(self) -> list[Batch]:
        """One entry for each closed batch."""
        reports = self._core.batches()
        return [Batch(*r[:5], None if r[5] is None else Certificate(r[5]), r[6]) for r in reports]

    @property
    def trials(self) -> Trials:
        """Everything asked so far and what came of it."""
        parts, points = self._core.trials()
        column = [list(c) for c in zip(*parts)] if parts else [[] for _ in range(6)]
        values, errors = (np.array([np.nan if v is None else v for v in c], dtype=np.float64) for c in column[4:])
        return Trials(column[0], column[1], np.zeros((0, 0)) if points is None else points, column[3], values, errors)

    def predict(self, x: Any) -> tuple[Floats, Floats] | None:
        """Mean and standard deviation of everything measured so far: a picture of what is known, not a certificate. ``None`` without a model."""
        return self._core.posterior(rows(x if self._domain is None else self._domain.points(x)))

    def save(self) -> bytes:
        """The run, to go on with the same future.

        >>> import sigmabar as sb
        >>> s = sb.Strategy("sobol", domain=([0.0], [1.0]), budget=10)
        >>> first = s.ask(3)
        >>> again = sb.Strategy.load(s.save())
        >>> bool((again.ask(2).points == s.ask(2).points).all())
        True
        """
        return self._core.save(self._domain_said)

    @classmethod
    def load(cls, data: bytes, domain: Any = None) -> Strategy:
        """A saved run; give its ``domain`` again to have parameters and candidates by their names. Another domain than that of the run is refused: names, ranges, and
        choices in their order are written down with it."""
        strategy = cls._wrap(*_core.Strategy.load(saved(data, "data")))
        if domain is not None:
            strategy._domain = domain_from(domain)
            check_said(strategy._domain, strategy._domain_said)
        return strategy

    def __reduce__(self) -> Any:
        return (_restored, (self.save(), None if self._domain is None else self._domain.__dict__ | {"_core": None}, type(self._domain)))


def _restored(data: bytes, state: dict[str, Any] | None, kind: type[Domain]) -> Strategy:
    """A pickled run, with the names of its domain."""
    strategy = Strategy.load(data)
    if state is not None:
        strategy._domain = kind.__new__(kind)
        strategy._domain.__dict__.update(state)
    return strategy


Strategy.__doc__ = f"{Strategy.__doc__}\n{_catalogue.HELP}"


def _results(
    of: Any, name: str, labels: Any, values: Any, standard_errors: Any, replicates: Any
) -> list[tuple[float | None, float | None, int | None]]:
    """One value, standard error and number of replicates for each trial or point, which have these labels."""
    for what, column in (("values", values), ("standard_errors", standard_errors), ("replicates", replicates)):
        refuse_masked(column, what)
        refuse_reordered(name, labels, column, what)
    values = list(values)
    errors = [None] * len(values) if standard_errors is None else list(standard_errors)
    repeats = [replicates] * len(values) if replicates is None or np.ndim(replicates) == 0 else list(replicates)
    if not len(of) == len(values) == len(errors) == len(repeats):
        raise Error(
            f"there are {len(of)} {name}, {len(values)} values, {len(errors)} standard errors and {len(repeats)} replicates: give one of each"
        )
    results = [
        (number_or_none(v, "values"), number_or_none(e, "standard_errors"), count_or_none(r, "replicates", least=1))
        for v, e, r in zip(values, errors, repeats)
    ]
    if any(v is not None and e is None and r not in (None, 1) for v, e, r in results):
        raise Error("a mean of replicates comes with its standard error: give standard_errors too")
    return results


def failures_of(failures: Failures | None, informative: bool | None) -> Failures | None:
    """What a lost evaluation tells about its value; the older spelling says yes or no."""
    if informative is None:
        text_or_none(failures, "failures")
        return failures
    if failures is not None:
        raise Error("informative_failures is the older spelling of failures: give failures alone")
    return "informative" if flag(informative, "informative_failures") else "unrelated"


def batches_of(batches: Any) -> int | list[int]:
    """The number of batches, or their lengths."""
    if np.ndim(batches) == 1:
        return [count(length, "batches", least=1) for length in batches]
    return count(batches, "batches", least=1)


def premises_of(
    kernel: Kernel | None,
    shortest: Kernel | None,
    tau: float | None,
    norm_bound: float | None,
    noise: Noise | None,
    mean: float,
    unit: float,
) -> dict[str, Any]:
    """What is assumed about the function and its noise, checked."""
    return {
        "kernel": None if kernel is None else kernel_core(kernel),
        "shortest": None if shortest is None else kernel_core(shortest),
        "tau": sourced_or_none(tau, "tau"),
        "norm_bound": sourced_or_none(norm_bound, "norm_bound"),
        "noise": noise_core(noise),
        "mean": sourced(mean, "mean"),
        "unit": sourced(unit, "unit"),
    }
