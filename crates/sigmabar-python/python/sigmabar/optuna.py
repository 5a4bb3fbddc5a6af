"""Samplers for Optuna.

>>> import optuna, sigmabar.optuna
>>> optuna.logging.set_verbosity(optuna.logging.WARNING)
>>> study = optuna.create_study(sampler=sigmabar.optuna.SBPESampler(budget=40, batches=4, seed=1))
>>> study.optimize(lambda trial: (trial.suggest_float("x", -5, 5) - 2) ** 2, n_trials=40)
>>> study.best_value < 0.01
True
>>> study.sampler.recommend(study).label
'estimated'
"""

from __future__ import annotations

import json
import math
import threading
import uuid
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution, distribution_to_json
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from ._catalogue import StrategyName
from ._checks import count, flag, number
from ._core import Contradicted, Error
from ._domain import Categorical, Column, Float, Int, Space
from ._evidence import fit_hyperparameters
from ._kernels import Kernel, kernel_core
from ._names import Direction, Failures, Rules
from ._noise import Noise, noise_core
from ._strategy import Recommendation, Strategy, batches_of, failures_of

__all__ = ["EISampler", "GPUCBSampler", "SBPESampler"]


def __dir__() -> list[str]:
    return __all__


_RUN = "sigmabar:run"
_SLOT = "sigmabar:slot"
_START = "sigmabar:start"
_CERTIFICATE = "sigmabar:certificate"
#: A parameter that only some trials have is drawn at random until so many of them are complete.
_ENOUGH = 10
SearchSpace = dict[str, BaseDistribution]


class _Columns:
    """A search space of Optuna as columns, and parameters as points."""

    def __init__(self, space: SearchSpace) -> None:
        self.space = dict(space)
        self.domain = Space([_column(d) for d in space.values()])
        # Measured beside where it was planned: integers on a log scale.
        self.are_rounded = any(isinstance(d, IntDistribution) and d.log for d in space.values())
        self.key = json.dumps({name: distribution_to_json(d) for name, d in space.items()})

    def point(self, params: dict[str, Any]) -> list[float] | None:
        """Where parameters are in this space; ``None`` if they are not in it."""
        point = []
        for name, distribution in self.space.items():
            if name not in params:
                return None
            try:
                internal = distribution.to_internal_repr(params[name])
            except ValueError:
                return None
            if not distribution._contains(internal):
                return None
            if isinstance(distribution, FloatDistribution) and distribution.step is not None:
                point.append(float(round((internal - distribution.low) / distribution.step)))
            else:
                point.append(float(internal))
        return point

    def params(self, point: Sequence[float]) -> dict[str, Any]:
        """The parameters at a point."""
        return {name: _value(d, float(v)) for (name, d), v in zip(self.space.items(), point)}

    def measured(self, trials: Sequence[FrozenTrial]) -> tuple[list[int], list[list[float]], list[float]]:
        """Numbers, points and values of the complete trials that are in the space."""
        numbers, points, values = [], [], []
        for trial in trials:
            point = self.point(trial.params) if trial.state == TrialState.COMPLETE else None
            if point is not None and trial.value is not None and math.isfinite(trial.value):
                numbers.append(trial.number)
                points.append(point)
                values.append(float(trial.value))
        return numbers, points, values


class _Sampler(BaseSampler):
    """What the samplers share: one objective, a space learnt from the trials, independent sampling of what is not in it."""

    def __init__(self, seed: int | None, independent_sampler: BaseSampler | None) -> None:
        self._seed = int(np.random.default_rng(seed).integers(2**31))
        self._independent = independent_sampler or RandomSampler(seed=seed)
        self._conditional = TPESampler(seed=seed, n_startup_trials=_ENOUGH) if independent_sampler is None else None
        self._search_space = IntersectionSearchSpace()
        self._lock = threading.RLock()

    def reseed_rng(self) -> None:
        """Only the independent sampler is reseeded: parallel workers share one plan."""
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> SearchSpace:
        """The parameters that all complete trials have in common."""
        _one_objective(study)
        with self._lock:
            space = self._search_space.calculate(study)
        return {name: d for name, d in space.items() if not d.single()}

    def sample_independent(self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution) -> Any:
        """A parameter outside the learnt space: one that only some trials have is searched by itself once enough of them are there."""
        _one_objective(study)
        if self._conditional is not None:
            complete = study._get_trials(deepcopy=False, states=(TrialState.COMPLETE,), use_cache=True)
            if sum(param_name in t.params for t in complete) >= _ENOUGH:
                return self._conditional.sample_independent(study, trial, param_name, param_distribution)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._independent.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        self._independent.after_trial(study, trial, state, values)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_runs")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


class _ModelSampler(_Sampler):
    """One point at a time by an index of a Gaussian process; running trials count as answered at their mean."""

    _name: StrategyName
    _options: Mapping[str, Any] = {}

    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int = 10,
        kernel: Kernel | None = None,
        tau: float | None = None,
        candidates: int = 2048,
        independent_sampler: BaseSampler | None = None,
    ) -> None:
        super().__init__(seed, independent_sampler)
        _check_assumed(kernel=None, tau=tau, norm_bound=None, noise=None, delta=0.05, rules=None)
        if kernel is not None:
            kernel_core(kernel)
        self._n_startup_trials, self._candidates = count(n_startup_trials, "n_startup_trials", least=1), count(candidates, "candidates", least=1)
        self._kernel, self._tau = kernel, tau

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: SearchSpace) -> dict[str, Any]:
        """The point with the largest index among the candidates."""
        _one_objective(study)
        if not search_space:
            return {}
        trials = study._get_trials(deepcopy=False, use_cache=True)
        columns = _Columns(search_space)
        _, points, values = columns.measured(trials)
        seed = (self._seed + 7919 * trial.number) % 2**31
        if len(points) < self._n_startup_trials:
            return _random(columns, seed)
        pending = [columns.point(t.params) for t in trials if t.state == TrialState.RUNNING and t.number != trial.number]
        model = (self._kernel, self._tau)
        options = {**self._options, "candidates": self._candidates}
        return _best(self._name, options, columns, points, values, [p for p in pending if p is not None], study, seed, model)


class EISampler(_ModelSampler):
    """Expected improvement under a Gaussian process, its kernel learnt anew for every trial unless one is given.

    >>> import optuna, sigmabar.optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(direction="maximize", sampler=sigmabar.optuna.EISampler(seed=0))
    >>> study.optimize(lambda trial: -abs(trial.suggest_int("n", 1, 100) - 37), n_trials=25)
    >>> study.best_value > -5
    True
    """

    _name: StrategyName = "ei"


class GPUCBSampler(_ModelSampler):
    """Optimism: the largest mean plus ``width`` standard deviations (for minimisation the smallest mean minus as many).

    >>> import optuna, sigmabar.optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=sigmabar.optuna.GPUCBSampler(seed=0))
    >>> study.optimize(lambda trial: (trial.suggest_float("x", -1, 1) - 0.5) ** 2, n_trials=25)
    >>> study.best_value < 0.01
    True
    """

    _name: StrategyName = "gp-ucb"

    def __init__(
        self,
        *,
        width: float = 2.0,
        seed: int | None = None,
        n_startup_trials: int = 10,
        kernel: Kernel | None = None,
        tau: float | None = None,
        candidates: int = 2048,
        independent_sampler: BaseSampler | None = None,
    ) -> None:
        super().__init__(
            seed=seed,
            n_startup_trials=n_startup_trials,
            kernel=kernel,
            tau=tau,
            candidates=candidates,
            independent_sampler=independent_sampler,
        )
        self._options = {"width": number(width, "width")}


class _Run:
    """The plan of one search space, as one process sees it; the storage holds what all need to see the same."""

    def __init__(self, columns: _Columns, strategy: Strategy | None, token: str, *, is_pruned: bool, may_try_again: bool) -> None:
        self.columns, self.strategy, self.token, self.is_pruned, self.may_try_again = columns, strategy, token, is_pruned, may_try_again
        self.points: dict[int, list[float]] = {}
        self.told: set[int] = set()
        self.batch = 0

    def catch_up(self, trials: Sequence[FrozenTrial]) -> tuple[list[int], bool]:
        """Tells what is new and plans what can be planned. Returns the slots that nobody has, and whether the plan is used up."""
        if self.strategy is None:
            return [], True
        taken: dict[int, list[FrozenTrial]] = {}
        for trial in trials:
            mark = trial.system_attrs.get(_SLOT)
            if mark is not None and mark[0] == self.token:
                taken.setdefault(int(mark[1]), []).append(trial)
        while True:
            asked = self.strategy.ask()
            if asked is None:
                return [], True
            self.points.update(zip(asked.ids, asked.points.tolist()))
            self.batch = max(self.batch, asked.batch)
            answers = {slot: self._answer(slot, taken[slot]) for slot in self.points if slot in taken and slot not in self.told}
            new = {slot: answer for slot, answer in answers.items() if answer is not None}
            if not new:
                break
            self.strategy.tell(list(new), [None if math.isnan(answer) else answer for answer in new.values()])
            self.told.update(new)
        return [slot for slot in self.points if slot not in taken], False

    def _answer(self, slot: int, trials: Sequence[FrozenTrial]) -> float | None:
        """The value of the first trial of a slot that has one, ``nan`` if it is lost, ``None`` while one may still answer.

        A pruned trial is lost, whatever comes after it; so is a failed one where claims are made, unless failures are declared to have nothing to do with values:
        to try again until it works is to choose among values."""
        losing = {TrialState.PRUNED} if self.may_try_again else {TrialState.PRUNED, TrialState.FAIL}
        if any(trial.state in losing for trial in trials):
            return math.nan
        for trial in trials:
            if trial.state == TrialState.COMPLETE and trial.value is not None and math.isfinite(trial.value) and self._is_at(slot, trial):
                return float(trial.value)
        return math.nan if all(trial.state.is_finished() for trial in trials) else None

    def _is_at(self, slot: int, trial: FrozenTrial) -> bool:
        """Whether a trial was evaluated at the slot's point: an objective may have asked for other ranges than those it was chosen in."""
        here, there = self.columns.point(trial.params), self.columns.point(self.columns.params(self.points[slot]))
        return here is not None and there is not None and bool(np.allclose(here, there, rtol=1e-9, atol=0.0))


class SBPESampler(_Sampler):
    """Batched pure exploration: few batches, each to be evaluated by any number of parallel workers.

    Without a kernel everything is learnt ("auto": estimated); with ``kernel``, ``norm_bound`` and ``noise`` (and ``tau``, else the noise level), given for parameters scaled to the unit
    cube (categories as their numbers, see :meth:`sigmabar.Space.encode`), what :meth:`recommend` says is certified. The search space is learnt from the first trials, whose
    results are used; if it changes, a new plan is made. ``budget`` counts planned trials.

    Only this sampler's own random first trials count as chosen without looking at values; those of other samplers and enqueued ones count as chosen adaptively,
    and no certificate rests on them. A pruned trial is lost because of its value: what rests on a batch with one is an estimate. That other
    failed trials have nothing to do with their values is for you to declare: ``failures="unrelated"``.
    Integers on a log scale are planned as real numbers and measured at the nearest integer: with one of them in the space, nothing is certified.

    The study's user attribute ``"sigmabar:certificate"`` holds the certificate of what was recommended last, as JSON; it is written at the end of each batch and by
    :meth:`recommend`, and is ``None`` as soon as a trial has other parameters, ranges or single values than those before it: nothing is claimed then. Where the data contradict what was declared, the next trial raises :class:`sigmabar.Contradicted` unless the sampler was told to
    ``go_on_despite_contradiction``.

    A trial asked for while its batch is all handed out but not all told, and one beyond the budget, is chosen by expected improvement.
    Workers in several processes share one plan through the storage if they are given the same seed or the first of them has begun. A plan keeps the budget and the
    premises it was made with: a sampler with other premises is refused, one with another budget goes on with the plan's.

    >>> import math, optuna, sigmabar as sb, sigmabar.optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> known = {"kernel": sb.SquaredExponential(0.3), "tau": 0.1, "norm_bound": 3.0, "noise": sb.Gaussian(0.05)}
    >>> sampler = sigmabar.optuna.SBPESampler(budget=60, seed=0, **known)
    >>> study = optuna.create_study(direction="maximize", sampler=sampler)
    >>> sampler.recommend(study) is None
    True
    >>> study.optimize(lambda trial: math.sin(6 * trial.suggest_float("x", 0, 1)), n_trials=61)
    >>> advice = sampler.recommend(study)
    >>> advice.label, bool(1.0 - math.sin(6 * advice.point[0]) <= advice.gap)
    ('certified', True)
    >>> study.user_attrs["sigmabar:certificate"] == advice.certificate.to_json()
    True
    """

    def __init__(
        self,
        *,
        budget: int = 100,
        batches: int | Sequence[int] | None = None,
        seed: int | None = None,
        kernel: Kernel | None = None,
        tau: float | None = None,
        norm_bound: float | None = None,
        noise: Noise | None = None,
        delta: float = 0.05,
        rules: Rules | None = None,
        failures: Failures | None = None,
        go_on_despite_contradiction: bool = False,
        independent_sampler: BaseSampler | None = None,
    ) -> None:
        super().__init__(seed, independent_sampler)
        self._failures, self._goes_on = failures_of(failures, None), flag(go_on_despite_contradiction, "go_on_despite_contradiction")
        self._budget = count(budget, "budget", least=1)
        self._assumed: dict[str, Any] = {"kernel": kernel, "tau": tau, "norm_bound": norm_bound, "noise": noise, "delta": delta, "rules": rules}
        _check_assumed(**self._assumed)
        self._batches: int | list[int] | None = None if batches is None else batches_of(batches)
        if isinstance(self._batches, list) and kernel is None:
            raise Error("without a kernel batches are equal: give their number, not their lengths")
        # The plans as this process sees them: what all need is in the storage, so that a copy of the sampler makes them anew.
        self._runs: dict[tuple[str, str], _Run] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._runs = {}

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: SearchSpace) -> dict[str, Any]:
        """A point of the current batch."""
        _one_objective(study)
        if not search_space:
            if type(self._independent) is RandomSampler and not _is_preset(trial):
                study._storage.set_trial_system_attr(trial._trial_id, _START, [study.study_name, trial.number])
            return {}
        with self._lock:
            trials = study._get_trials(deepcopy=False, use_cache=False)
            run = self._run(study, _Columns(search_space), trials)
            before = run.batch
            free, _ = run.catch_up(trials)
            if _beyond(trials):
                _withdraw(study)
            elif run.batch != before:
                _recommended(study, run, trials)
            if not free or _is_preset(trial):
                return self._extra(study, trial, run.columns, trials)
            # Trials that other processes are choosing for at this moment take the slots before or after.
            choosing = [t.number for t in trials if t.state == TrialState.RUNNING and not t.params and _SLOT not in t.system_attrs]
            slot = free[sorted({*choosing, trial.number}).index(trial.number) % len(free)]
            study._storage.set_trial_system_attr(trial._trial_id, _SLOT, [run.token, slot])
            return run.columns.params(run.points[slot])

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        super().after_trial(study, trial, state, values)
        complete = study._get_trials(deepcopy=False, states=(TrialState.COMPLETE,), use_cache=True)
        # The trial itself is not complete yet.
        if state == TrialState.COMPLETE and complete and trial.distributions != complete[0].distributions:
            _withdraw(study)

    def recommend(self, study: Study) -> Recommendation | None:
        """What the plan of the study's present search space recommends, with its interval, gap and label. ``params`` are Optuna's, as ``study.enqueue_trial`` takes them;
        ``point`` has them as numbers in the order of the space's names: choices, and steps between floats, counted from 0.

        ``None`` where some trials have parameters that others have not, or have with another range or another single value: the plan covers those that all share,
        and nothing is claimed about the rest.
        """
        trials = study._get_trials(deepcopy=False, use_cache=False)
        space = self.infer_relative_search_space(study, trials[-1]) if trials else {}
        beyond = _beyond(trials)
        if beyond:
            _withdraw(study)
            warnings.warn(
                f"nothing is claimed: {', '.join(beyond)} are in some trials only, or not with the same range or value in all, and the plan covers what all trials "
                f"share ({', '.join(space) or 'nothing'}); study.best_trial has the best value seen",
                UserWarning,
                stacklevel=2,
            )
            return None
        if not space:
            return None
        with self._lock:
            run = self._run(study, _Columns(space), trials)
            try:
                run.catch_up(trials)
            except Contradicted:
                # What is recommended says so.
                pass
            return _recommended(study, run, trials)

    def _run(self, study: Study, columns: _Columns, trials: Sequence[FrozenTrial]) -> _Run:
        attributes = study._storage.get_study_system_attrs(study._study_id)
        name = f"{_RUN}:{zlib.crc32(columns.key.encode())}"
        if name not in attributes:
            study._storage.set_study_system_attr(study._study_id, name, self._record(study, columns, trials, attributes))
            attributes = study._storage.get_study_system_attrs(study._study_id)
        record = attributes[name]
        self._check_premises(study, record)
        is_pruned = any(t.state == TrialState.PRUNED and _token(t) == record["token"] for t in trials)
        known = self._runs.get((study.study_name, columns.key))
        # With the first pruned trial the same plan is made anew as one whose losses say something about values.
        if known is None or known.is_pruned != is_pruned:
            strategy = self._begin(study, columns, trials, record, is_pruned)
            may_try_again = self._assumed["kernel"] is None or self._failures == "unrelated"
            known = _Run(columns, strategy, record["token"], is_pruned=is_pruned, may_try_again=may_try_again)
            self._runs[study.study_name, columns.key] = known
        return known

    def _record(self, study: Study, columns: _Columns, trials: Sequence[FrozenTrial], attributes: dict[str, Any]) -> dict[str, Any]:
        """What all processes need to know to make the same plan."""
        tokens = {record["token"] for name, record in attributes.items() if name.startswith(_RUN)}
        attached, _, _ = columns.measured(trials)
        starts = [t for t in trials if _is_own_start(study, t)]
        # What pruning has left of them was chosen by looking at values, and so may be what failures have left.
        losing = {TrialState.PRUNED} if self._failures == "unrelated" else {TrialState.PRUNED, TrialState.FAIL}
        fixed = set() if any(t.state in losing for t in starts) else {t.number for t in starts}
        return {
            "token": uuid.uuid4().hex,
            "seed": self._seed,
            "budget": self._budget,
            "batches": self._batches,
            "premises": self._premises(),
            "fixed": [number for number in attached if number in fixed],
            "adaptive": [number for number in attached if number not in fixed],
            "used": sum(_token(t) in tokens for t in trials),
        }

    def _premises(self) -> dict[str, str]:
        """What was declared, in words that can be compared."""
        return {name: repr(value) for name, value in {**self._assumed, "failures": self._failures}.items()}

    def _check_premises(self, study: Study, record: dict[str, Any]) -> None:
        """The premises of a plan are those it was made with: declared after its trials were seen, others would be chosen by looking at them."""
        for name, ours in self._premises().items():
            theirs = record["premises"][name]
            if ours != theirs:
                raise Error(
                    f"study {study.study_name!r} was planned with {name}={theirs}, and this sampler has {name}={ours}: "
                    f"give the same, or begin another study (what {name} would have to be is in the certificate's range)"
                )

    def _begin(self, study: Study, columns: _Columns, trials: Sequence[FrozenTrial], record: dict[str, Any], is_pruned: bool) -> Strategy | None:
        planned, lengths = int(record["budget"]), record["batches"]
        budget = planned - int(record["used"])
        if budget <= 0:
            return None
        batches = lengths if isinstance(lengths, int) or lengths is None or budget == planned else len(lengths)
        options: dict[str, Any] = {} if batches is None else {"batches": batches}
        # What depends on parameters outside the plan is no function of those inside it: no premise can hold.
        is_known = self._assumed["kernel"] is not None and not columns.are_rounded and not _beyond(trials)
        assumed = self._assumed if is_known else {**self._assumed, "rules": None}
        strategy = Strategy(
            "s-bpe" if is_known else "auto",
            domain=columns.domain,
            budget=budget,
            seed=record["seed"],
            direction=_direction(study),
            failures="informative" if is_pruned else self._failures,
            **assumed,
            **options,
        )
        for collected in ("fixed", "adaptive"):
            chosen = set(record[collected])
            _, points, values = columns.measured([t for t in trials if t.number in chosen])
            if points:
                strategy.attach(points, values, collected=collected)
        if self._goes_on:
            strategy.go_on_despite_contradiction()
        return strategy

    def _extra(self, study: Study, trial: FrozenTrial, columns: _Columns, trials: Sequence[FrozenTrial]) -> dict[str, Any]:
        _, points, values = columns.measured(trials)
        seed = (self._seed + 7919 * trial.number) % 2**31
        if len(points) < 5:
            return _random(columns, seed)
        pending = [columns.point(t.params) for t in trials if t.state == TrialState.RUNNING and t.number != trial.number]
        model = (self._assumed["kernel"], self._assumed["tau"])
        return _best("ei", {}, columns, points, values, [p for p in pending if p is not None], study, seed, model)


def _beyond(trials: Sequence[FrozenTrial]) -> list[str]:
    """Parameters that trials do not share, with one range or one single value: what was measured depends on them, and the plan does not cover them."""
    complete = [trial.distributions for trial in trials if trial.state == TrialState.COMPLETE]
    names = {name for distributions in complete for name in distributions}
    return sorted(name for name in names if any(distributions.get(name) != complete[0].get(name) for distributions in complete))


def _withdraw(study: Study) -> None:
    """Takes the study's certificate away: it spoke of trials that are all alike."""
    if study.user_attrs.get(_CERTIFICATE) is not None:
        study.set_user_attr(_CERTIFICATE, None)


def _recommended(study: Study, run: _Run, trials: Sequence[FrozenTrial]) -> Recommendation | None:
    """What the run recommends, by Optuna's names and values; its certificate is the study's."""
    advice = None if run.strategy is None else run.strategy.recommend()
    if advice is None:
        return None
    if study.user_attrs.get(_CERTIFICATE) != advice.certificate.to_json():
        study.set_user_attr(_CERTIFICATE, advice.certificate.to_json())
    # What has one value is in no plan, and has that value in all trials.
    shared = next((trial.params for trial in trials if trial.state == TrialState.COMPLETE), {})
    return replace(advice, params={**shared, **run.columns.params(advice.point.tolist())})


def _best(
    name: StrategyName,
    options: dict[str, Any],
    columns: _Columns,
    points: list[list[float]],
    values: list[float],
    pending: list[list[float]],
    study: Study,
    seed: int,
    model: tuple[Kernel | None, float | None],
) -> dict[str, Any]:
    """The next point of a sequential strategy after what was measured, running trials counted as answered at their mean.

    Without a kernel the strategy learns its own, and running trials count as answered at the mean of all values."""
    kernel, tau = model
    mean, unit = 0.0, 1.0
    if kernel is not None and tau is None:
        learnt = fit_hyperparameters(kernel, columns.domain.encode(points), values, mean=None, starts=2, seed=seed)
        kernel, tau, (mean, unit, _) = learnt.kernel, learnt.tau, learnt.posterior.prior

    def fresh() -> Strategy:
        run = Strategy(
            name, domain=columns.domain, budget=1, kernel=kernel, tau=tau, mean=mean, unit=unit, seed=seed, direction=_direction(study), **options
        )
        run.attach(points, values, collected="adaptive")
        return run

    run = fresh()
    if pending:
        guess = run.predict(pending)
        run.attach(pending, [float(np.mean(values))] * len(pending) if guess is None else guess[0], collected="adaptive")
    asked = run.ask(1)
    assert asked is not None and len(asked) == 1
    return columns.params(asked.points[0])


def _random(columns: _Columns, seed: int) -> dict[str, Any]:
    asked = Strategy("random", domain=columns.domain, budget=1, seed=seed).ask(1)
    assert asked is not None and len(asked) == 1
    return columns.params(asked.points[0])


def _token(trial: FrozenTrial) -> str | None:
    """The plan that a trial has a slot of."""
    mark = trial.system_attrs.get(_SLOT)
    return None if mark is None else mark[0]


def _is_preset(trial: FrozenTrial) -> bool:
    """Whether somebody chose where a trial is evaluated before the sampler was asked: it was enqueued, or is tried again."""
    return "fixed_params" in trial.system_attrs or any(not distribution.single() for distribution in trial.distributions.values())


def _is_own_start(study: Study, trial: FrozenTrial) -> bool:
    """Whether a trial was drawn for this study by this sampler without looking at any value. Nothing is known of other trials, copied ones among them."""
    return bool(trial.system_attrs.get(_START) == [study.study_name, trial.number])


def _check_assumed(
    *, kernel: Any, tau: Any, norm_bound: Any, noise: Any, delta: Any, rules: str | None
) -> None:
    """What can be checked before the search space is known."""
    if kernel is not None:
        kernel_core(kernel)
    noise_core(noise)
    for name, value in (("tau", tau), ("norm_bound", norm_bound)):
        if value is not None and not 0 < number(value, name) < math.inf:
            raise Error(f"{name} must be positive and finite, not {value!r}")
    if not 0 < number(delta, "delta") < 1:
        raise Error(f"delta must be between 0 and 1, not {delta!r}")
    if rules not in (None, "certified", "paper"):
        raise Error(f'rules "{rules}" are not known: choose one of certified, paper')
    given = {"kernel": kernel, "norm_bound": norm_bound, "noise": noise}
    missing = [name for name, value in given.items() if value is None]
    if missing and (rules is not None or kernel is not None):
        raise Error(f"with a kernel, or rules, give {', '.join(missing)} too; without any of them everything is learnt")


def _one_objective(study: Study) -> None:
    if len(study.directions) != 1:
        raise ValueError("this sampler optimises one objective: use another sampler for several, or combine them into one")


def _direction(study: Study) -> Direction:
    return "maximize" if study.direction == optuna.study.StudyDirection.MAXIMIZE else "minimize"


def _column(distribution: BaseDistribution) -> Column:
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(len(distribution.choices))
    if isinstance(distribution, IntDistribution):
        if distribution.log:
            return Float(distribution.low, distribution.high, log=True)
        return Int(distribution.low, distribution.high, distribution.step)
    if isinstance(distribution, FloatDistribution):
        if distribution.step is not None:
            return Int(0, round((distribution.high - distribution.low) / distribution.step))
        return Float(distribution.low, distribution.high, log=distribution.log)
    raise ValueError(f"parameters of type {type(distribution).__name__} are not known to this sampler")


def _value(distribution: BaseDistribution, number: float) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(round(number))]
    if isinstance(distribution, IntDistribution):
        return min(max(int(round(number)), distribution.low), distribution.high)
    assert isinstance(distribution, FloatDistribution)
    if distribution.step is not None:
        return min(distribution.low + round(number) * distribution.step, distribution.high)
    return min(max(number, distribution.low), distribution.high)
