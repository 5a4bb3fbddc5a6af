"""The samplers under Optuna's own suites, in parallel, and for what they find."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from copy import deepcopy
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase
from optuna.trial import Trial

import sigmabar as sb
from sigmabar.optuna import EISampler, GPUCBSampler, SBPESampler

optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestSBPESampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: SBPESampler(budget=20, batches=4, seed=0)


class TestEISampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: EISampler(seed=0, n_startup_trials=2, candidates=128)


class TestGPUCBSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: GPUCBSampler(seed=0, n_startup_trials=2, candidates=128)


def bowl(trial: Trial) -> float:
    x = trial.suggest_float("x", -5, 5)
    n = trial.suggest_int("n", 1, 64, log=True)
    kind = trial.suggest_categorical("kind", ["flat", "deep"])
    return (x - 1) ** 2 / 10 + abs(math.log2(n) - 3) / 3 + (0 if kind == "deep" else 1)


@pytest.mark.parametrize("sampler", [SBPESampler(budget=60, batches=4, seed=3), EISampler(seed=3), GPUCBSampler(seed=3)])
def test_it_finds_the_bottom_of_a_mixed_bowl(sampler: BaseSampler) -> None:
    study = optuna.create_study(sampler=sampler)
    study.optimize(bowl, n_trials=60)
    assert study.best_params["kind"] == "deep"
    assert study.best_value < 0.15


def test_the_same_seed_gives_the_same_run() -> None:
    def run() -> list[float]:
        study = optuna.create_study(sampler=SBPESampler(budget=30, batches=3, seed=7))
        study.optimize(bowl, n_trials=30)
        return [t.value for t in study.trials]

    assert run() == run()


def test_eight_threads_share_one_plan() -> None:
    study = optuna.create_study(sampler=SBPESampler(budget=48, batches=3, seed=1))
    study.optimize(bowl, n_trials=64, n_jobs=8)
    slots = [t.system_attrs["sigmabar:slot"][1] for t in study.trials if "sigmabar:slot" in t.system_attrs]
    assert len(study.trials) == 64
    assert len(set(slots)) == len(slots), "no point of the plan was handed out twice"
    assert len(slots) >= 24
    assert study.best_value < 0.3


def work(storage: str) -> int:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(
        study_name="many", storage=optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(storage)), sampler=SBPESampler(budget=48, batches=3, seed=5)
    )
    study.optimize(bowl, n_trials=6)
    return 6


def test_eight_processes_share_one_plan(tmp_path: Path) -> None:
    file = str(tmp_path / "journal")
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(file))
    study = optuna.create_study(study_name="many", storage=storage, sampler=SBPESampler(budget=48, batches=3, seed=5))
    study.optimize(bowl, n_trials=2)
    with ProcessPoolExecutor(8, mp_context=get_context("spawn")) as pool:
        assert sum(pool.map(work, [file] * 8)) == 48
    study = optuna.load_study(study_name="many", storage=storage)
    assert len(study.trials) == 50
    tokens = {t.system_attrs["sigmabar:slot"][0] for t in study.trials if "sigmabar:slot" in t.system_attrs}
    assert len(tokens) == 1, "all processes follow one plan"


def test_failures_are_told_and_the_run_goes_on() -> None:
    study = optuna.create_study(sampler=SBPESampler(budget=24, batches=3, seed=2))

    def sometimes(trial: Trial) -> float:
        if trial.number % 5 == 4:
            raise RuntimeError("broken")
        return bowl(trial)

    study.optimize(sometimes, n_trials=30, catch=(RuntimeError,))
    assert sum(t.state == optuna.trial.TrialState.FAIL for t in study.trials) == 6
    assert study.best_value < 1.0


def test_with_everything_given_the_answer_is_certified() -> None:
    sampler = SBPESampler(budget=60, seed=0, kernel=sb.SquaredExponential(0.3), tau=0.1, norm_bound=3.0, noise=sb.Gaussian(0.05))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(lambda t: math.sin(6 * t.suggest_float("x", 0, 1)), n_trials=61)
    advice = sampler.recommend(study)
    assert advice is not None
    assert advice.label == "certified"
    assert 1.0 - math.sin(6 * advice.point[0]) <= advice.gap


def test_only_its_own_random_trials_count_as_chosen_without_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    ways: list[tuple[int, str | None]] = []
    attach = sb.Strategy.attach

    def spy(self: sb.Strategy, points: list[object], values: object, *, collected: str | None = None) -> None:
        ways.append((len(points), collected))
        attach(self, points, values, collected=collected)

    known = {"kernel": sb.SquaredExponential(0.3), "tau": 0.1, "norm_bound": 3.0, "noise": sb.Gaussian(0.05)}
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(lambda t: math.sin(6 * t.suggest_float("x", 0, 1)), n_trials=20)
    monkeypatch.setattr(sb.Strategy, "attach", spy)
    study.sampler = SBPESampler(budget=60, seed=0, **known)
    study.optimize(lambda t: math.sin(6 * t.suggest_float("x", 0, 1)), n_trials=2)
    assert ways == [(20, "adaptive")]
    ways.clear()
    study = optuna.create_study(direction="maximize", sampler=SBPESampler(budget=60, seed=0, **known))
    study.optimize(lambda t: math.sin(6 * t.suggest_float("x", 0, 1)), n_trials=3)
    assert ways == [(1, "fixed")]
    ways.clear()
    study = optuna.create_study(direction="maximize", sampler=SBPESampler(budget=60, seed=0, **known))
    study.enqueue_trial({"x": 0.26})
    study.optimize(lambda t: math.sin(6 * t.suggest_float("x", 0, 1)), n_trials=3)
    assert ways == [(1, "adaptive")]


KNOWN = {"kernel": sb.SquaredExponential(0.3), "tau": 0.1, "norm_bound": 3.0, "noise": sb.Gaussian(0.05)}


def wave(trial: Trial) -> float:
    return math.sin(6 * trial.suggest_float("x", 0, 1))


def certified(failures: str | None = None, **options: object) -> optuna.Study:
    sampler = SBPESampler(budget=40, seed=0, failures=failures, **KNOWN)  # type: ignore[arg-type]
    return optuna.create_study(direction="maximize", sampler=sampler, **options)  # type: ignore[arg-type]


def label(study: optuna.Study) -> str:
    advice = study.sampler.recommend(study)  # type: ignore[attr-defined]
    assert advice is not None
    return str(advice.label)


@pytest.mark.parametrize("pruner", [optuna.pruners.ThresholdPruner(lower=-0.5), optuna.pruners.NopPruner()])
def test_nothing_is_certified_after_pruning(pruner: optuna.pruners.BasePruner) -> None:
    study = certified(pruner=pruner)

    def f(trial: Trial) -> float:
        value = wave(trial)
        trial.report(value, 0)
        # An objective may prune by itself, whatever the study's pruner says.
        if trial.number > 0 and (trial.should_prune() or value < -0.5):
            raise optuna.TrialPruned
        return value

    study.optimize(f, n_trials=41)
    pruned = [t for t in study.trials if t.state == optuna.trial.TrialState.PRUNED]
    slots = [tuple(t.system_attrs["sigmabar:slot"]) for t in study.trials[1:]]
    assert pruned and len(set(slots)) == len(slots) == 40, "the plan went on"
    assert label(study) == "estimated"
    study.sampler = SBPESampler(budget=40, seed=0, **KNOWN)
    assert label(study) == "estimated", "nor by somebody who comes later"


def test_integers_on_a_log_scale_are_not_certified() -> None:
    study = certified()
    study.optimize(lambda trial: math.log(trial.suggest_int("n", 1, 1000, log=True)) / 7, n_trials=41)
    assert label(study) == "estimated"


@pytest.mark.parametrize(("failures", "word"), [("unrelated", "certified"), (None, "estimated"), ("informative", "estimated")])
def test_failures_leave_the_certificate_if_they_are_declared_unrelated(failures: str | None, word: str) -> None:
    study = certified(failures)

    def f(trial: Trial) -> float:
        value = wave(trial)
        if trial.number == 7:
            raise RuntimeError("power cut")
        return value

    study.optimize(f, n_trials=41, catch=(RuntimeError,))
    assert label(study) == word


def test_starts_that_pruning_has_left_were_chosen_by_their_values() -> None:
    study = certified()

    def f(trial: Trial) -> float:
        value = wave(trial)
        if trial.number < 2:
            raise optuna.TrialPruned
        return value

    study.optimize(f, n_trials=4)
    (record,) = [r for name, r in study._storage.get_study_system_attrs(study._study_id).items() if name.startswith("sigmabar:run")]
    assert (record["fixed"], record["adaptive"]) == ([], [2])


def test_marks_of_copied_trials_mean_nothing_here() -> None:
    first, second = certified(), certified()
    first.optimize(wave, n_trials=11)
    second.add_trials(first.trials)
    second.optimize(wave, n_trials=3)
    (record,) = [r for name, r in second._storage.get_study_system_attrs(second._study_id).items() if name.startswith("sigmabar:run")]
    assert (record["fixed"], record["adaptive"], record["used"]) == ([], list(range(11)), 0)
    assert sum(t.system_attrs["sigmabar:slot"][0] == record["token"] for t in second.trials if "sigmabar:slot" in t.system_attrs) == 3


def test_a_trial_that_is_evaluated_elsewhere_answers_no_slot() -> None:
    study = certified()
    study.optimize(wave, n_trials=3)
    study.enqueue_trial({"x": 0.26})
    study.add_trial(optuna.trial.create_trial(state=optuna.trial.TrialState.WAITING, params={"x": 0.27}, distributions=study.trials[0].distributions))

    def looks(trial: Trial) -> float:
        # Some versions of Optuna ask the sampler at once, others only when a parameter is not known yet.
        assert trial.relative_params
        return wave(trial)

    study.optimize(looks, n_trials=2)
    assert all("sigmabar:slot" not in t.system_attrs for t in study.trials[3:]), "somebody else chose where"


def test_constants_do_not_keep_a_trial_from_its_slot() -> None:
    study = certified()

    def f(trial: Trial) -> float:
        return trial.suggest_int("constant", 1, 1) * wave(trial)

    study.optimize(f, n_trials=4)
    assert ["sigmabar:start" in t.system_attrs for t in study.trials] == [True, False, False, False]
    assert ["sigmabar:slot" in t.system_attrs for t in study.trials] == [False, True, True, True]


def test_a_point_that_the_objective_moved_is_lost() -> None:
    study = certified()
    study.optimize(wave, n_trials=1)

    def shrunk(trial: Trial) -> float:
        # What was chosen above this range is replaced by a random draw from it.
        high = trial.relative_params["x"] / 2
        return math.sin(6 * trial.suggest_float("x", 0, high))

    study.optimize(shrunk, n_trials=1)
    (run,) = study.sampler._runs.values()  # type: ignore[attr-defined]
    run.catch_up(study.trials)
    assert run.strategy.trials.states[study.trials[-1].system_attrs["sigmabar:slot"][1]] == "failed"


def test_a_used_sampler_can_be_copied_and_goes_on_with_the_plan() -> None:
    sampler = SBPESampler(budget=24, batches=3, seed=2)
    study = optuna.create_study(sampler=sampler)
    study.optimize(bowl, n_trials=10)
    for copy in (pickle.loads(pickle.dumps(sampler)), deepcopy(sampler)):
        study.sampler = copy
        study.optimize(bowl, n_trials=4)
    slots = [tuple(t.system_attrs["sigmabar:slot"]) for t in study.trials if "sigmabar:slot" in t.system_attrs]
    assert len(slots) == len(set(slots)) == 17 and len({token for token, _ in slots}) == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"budget": 0}, "budget must be at least 1"),
        ({"budget": "many"}, "budget must be a whole number"),
        ({"batches": [3, 0]}, "batches must be at least 1"),
        ({"batches": [3, 9]}, "give their number"),
        ({"kernel": "matern"}, "kernel must be a kernel"),
        ({"kernel": sb.Matern()}, "give norm_bound, noise too"),
        ({"rules": "certified"}, "give kernel, norm_bound, noise too"),
        ({"rules": "sure"}, "rules"),
        ({"delta": 2}, "delta"),
        ({"tau": -1.0}, "tau must be positive"),
    ],
)
def test_wrong_arguments_are_refused_at_once(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(sb.Error, match=words):
        SBPESampler(**wrong)  # type: ignore[arg-type]


def test_nothing_is_recommended_for_an_empty_study() -> None:
    sampler = SBPESampler(budget=10, seed=1)
    assert sampler.recommend(optuna.create_study(sampler=sampler)) is None


def test_what_is_recommended_can_be_enqueued() -> None:
    """Names, choices, steps and single values as Optuna has them, not as the plan counts them."""
    sampler = SBPESampler(budget=30, batches=3, seed=1)
    study = optuna.create_study(sampler=sampler)

    def mixed(trial: Trial) -> float:
        kind = trial.suggest_categorical("kind", ["flat", "deep"])
        drop, rate = trial.suggest_float("drop", 0.1, 0.5, step=0.1), trial.suggest_float("rate", 1e-5, 0.1, log=True)
        n, width = trial.suggest_int("n", 1, 64, log=True), trial.suggest_int("width", 10, 50, step=10)
        near = abs(drop - 0.3) + abs(math.log10(rate) + 3) + abs(math.log2(n) - 3) + abs(width - 30) / 10
        return near + (kind == "flat") + trial.suggest_float("one", 7.0, 7.0)

    study.optimize(mixed, n_trials=31)
    advice = sampler.recommend(study)
    assert advice is not None
    distributions = study.best_trial.distributions
    assert set(advice.params) == set(distributions) and advice.params["one"] == 7.0
    for name, value in advice.params.items():
        assert type(value) is type(study.best_params[name])
        assert distributions[name]._contains(distributions[name].to_internal_repr(value)), (name, value)
    assert advice.params["kind"] == ["flat", "deep"][int(advice.point[list(sampler.infer_relative_search_space(study, study.trials[-1])).index("kind")])]
    study.enqueue_trial(advice.params)
    study.optimize(mixed, n_trials=1)
    assert study.trials[-1].params == advice.params


def test_a_sampler_can_be_pickled() -> None:
    sampler = pickle.loads(pickle.dumps(SBPESampler(budget=10, seed=1)))
    study = optuna.create_study(sampler=sampler)
    study.optimize(bowl, n_trials=5)
    assert len(study.trials) == 5


def test_nothing_is_claimed_about_a_conditional_space() -> None:
    """The plan covers what all trials share; the best of the rest is found, and no certificate speaks of it."""

    def objective(trial: Trial) -> float:
        depth = trial.suggest_float("depth", 0, 1)
        if trial.suggest_categorical("kind", ["tree", "net"]) == "tree":
            return (depth - 0.3) ** 2 + (trial.suggest_float("leaves", 0, 1) - 0.8) ** 2
        return 1.0 + trial.suggest_float("width", 0, 1)

    known = {"kernel": sb.SquaredExponential(0.3), "tau": 0.1, "norm_bound": 5.0, "noise": sb.Gaussian(0.05)}
    for assumed in ({}, known):
        sampler = SBPESampler(budget=60, seed=1, **assumed)
        study = optuna.create_study(sampler=sampler)
        study.optimize(objective, n_trials=60)
        with pytest.warns(UserWarning, match="nothing is claimed: leaves, width are in some trials only"):
            assert sampler.recommend(study) is None
        assert study.user_attrs.get("sigmabar:certificate") is None
        assert study.best_value < 0.05 and study.best_params["kind"] == "tree"


@pytest.mark.parametrize("later", [{"T": 30.0}, {"T": 20.0, "more": 1.0}, {}])
def test_a_plan_is_about_one_value_of_what_has_one_value(later: dict[str, float]) -> None:
    """Measured at another temperature it is another function: nothing is claimed of both together, and what was claimed is taken away with the first trial."""

    def at(**fixed: float) -> Callable[[Trial], float]:
        return lambda trial: wave(trial) + sum(0 * trial.suggest_float(name, value, value) for name, value in fixed.items())

    study = certified()
    study.optimize(at(T=20.0), n_trials=41)
    assert study.sampler.recommend(study).label == "certified" and study.user_attrs["sigmabar:certificate"] is not None
    study.optimize(at(**later), n_trials=1)
    assert study.user_attrs["sigmabar:certificate"] is None
    with pytest.warns(UserWarning, match="nothing is claimed: .* are in some trials only, or not with the same range or value in all"):
        assert study.sampler.recommend(study) is None


def test_a_plan_keeps_the_premises_it_was_made_with() -> None:
    study = certified()
    study.optimize(wave, n_trials=10)
    other = SBPESampler(budget=40, seed=0, kernel=sb.SquaredExponential(0.3), tau=0.1, norm_bound=0.5, noise=sb.Gaussian(0.05))
    with pytest.raises(sb.Error, match="norm_bound=3.0, and this sampler has norm_bound=0.5"):
        other.recommend(study)
    study.sampler = other
    with pytest.raises(sb.Error, match="begin another study"):
        study.optimize(wave, n_trials=1)


def test_trying_until_it_works_is_a_loss() -> None:
    for failures, word in (("unrelated", "certified"), (None, "estimated")):
        study = certified(failures)
        failed: list[int] = []

        def f(trial: Trial) -> float:
            value = wave(trial)
            if trial.number == 7:
                failed.append(trial.number)
                raise RuntimeError("not the value I wanted")
            return value

        study.optimize(f, n_trials=8, catch=(RuntimeError,))
        lost = study.trials[failed[0]]
        marks = {name: lost.system_attrs[name] for name in lost.system_attrs if name.startswith("sigmabar:")}
        study.add_trial(optuna.trial.create_trial(state=optuna.trial.TrialState.WAITING, system_attrs={**marks, "fixed_params": lost.params}))
        study.optimize(f, n_trials=41, catch=(RuntimeError,))
        assert label(study) == word


def test_starts_that_failures_have_left_count_only_if_failures_are_unrelated() -> None:
    for failures, fixed in (("unrelated", [1]), (None, [])):
        study = certified(failures)

        def f(trial: Trial) -> float:
            value = wave(trial)
            if trial.number < 1:
                raise RuntimeError("not the value I wanted")
            return value

        study.optimize(f, n_trials=3, catch=(RuntimeError,))
        (record,) = [r for name, r in study._storage.get_study_system_attrs(study._study_id).items() if name.startswith("sigmabar:run")]
        assert record["fixed"] == fixed


def test_the_certificate_is_that_of_the_same_run_by_hand() -> None:
    study = certified()
    study.optimize(wave, n_trials=41)
    assert label(study) == "certified"
    (record,) = [r for name, r in study._storage.get_study_system_attrs(study._study_id).items() if name.startswith("sigmabar:run")]
    run = sb.Strategy("s-bpe", domain=sb.Space([sb.Float(0, 1)]), budget=40, seed=record["seed"], direction="maximize", **KNOWN)  # type: ignore[arg-type]
    start = study.trials[record["fixed"][0]]
    run.attach([[start.params["x"]]], [start.value], collected="fixed")
    while (asked := run.ask()) is not None:
        run.tell(asked.ids, [math.sin(6 * x) for (x,) in asked.points])
    advice = run.recommend()
    assert advice is not None and study.user_attrs["sigmabar:certificate"] == advice.certificate.to_json()
