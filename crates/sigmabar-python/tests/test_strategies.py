"""Every strategy by its name, and the rules of asking and telling."""

from __future__ import annotations

import _thread
import pickle
import threading
import time
from typing import get_args

import numpy as np
import pytest

import sigmabar._catalogue
import sigmabar as sb

GRID = np.linspace(0, 1, 60)
KNOWN = {"kernel": sb.SquaredExponential(0.2), "tau": 0.1, "norm_bound": 2.0, "noise": sb.Gaussian(0.05)}
SPECIAL = {
    "gp-threds": {"domain": ([0.0], [1.0]), "interval": (0.0, 1.5)},
    "ada-bkb": {"domain": ([0.0], [1.0])},
    "ek-ucb": {"domain": ([0.0, 0.0], [1.0, 1.0]), "actions": GRID[:, None]},
}
NAMES = sorted(set(get_args(sigmabar._catalogue.StrategyName)) - {"auto"})


def f(points: np.ndarray) -> np.ndarray:
    return np.sin(5 * points[:, -1]) * (1 - points[:, -1])


def run(strategy: sb.Strategy, seed: int = 0, contexts: bool = False) -> sb.Strategy:
    rng = np.random.default_rng(seed)
    while True:
        if contexts:
            strategy.set_context(rng.random(1))
        asked = strategy.ask()
        if asked is None:
            return strategy
        order = rng.permutation(len(asked))
        values = f(asked.points) + 0.05 * rng.standard_normal(len(asked))
        strategy.tell([asked.ids[i] for i in order], values[order])


@pytest.mark.parametrize("name", NAMES)
def test_every_strategy_runs_to_its_end(name: str) -> None:
    options = {"domain": GRID, **KNOWN, **SPECIAL.get(name, {})}
    s = run(sb.Strategy(name, budget=40, seed=1, **options), contexts=name == "ek-ucb")
    assert s.name == name
    assert len(s.trials.ids) <= 40
    assert s.ask() is None if name != "ek-ucb" else True
    advice = s.recommend()
    assert advice is not None
    assert advice.lower <= advice.upper
    assert advice.label in ("certified", "estimated")
    if name not in ("max-variance", "random", "sobol", "s-bpe"):
        assert f(advice.point[None, :])[0] > 0.3, "far better than the average of 0.1"


@pytest.mark.parametrize("rules", ["certified", "paper", None])
def test_s_bpe_by_its_rules_and_auto_without_any(rules: str | None) -> None:
    if rules is None:
        s = run(sb.Strategy("auto", domain=GRID, budget=30))
    else:
        s = run(sb.Strategy("s-bpe", domain=GRID, budget=100, rules=rules, **KNOWN))
    advice = s.recommend()
    assert advice is not None
    assert advice.label == {"certified": "certified", "paper": advice.label, None: "estimated"}[rules]
    if rules is not None:
        assert [b.planned for b in s.batches] == [10, 32, 57, 1]
    assert f(GRID[:, None]).max() - f(advice.point[None, :])[0] < 0.1


def test_help_lists_every_strategy_with_its_options() -> None:
    words = sb.Strategy.__doc__ or ""
    for name in NAMES:
        assert f'``"{name}"``' in words
    for option in sigmabar._catalogue.StrategyOptions.__annotations__:
        assert f"``{option}``" in words


def test_boxes_leave_cells_and_the_maximiser_in_one() -> None:
    s = run(sb.Strategy("s-bpe", domain=([0.0], [1.0]), budget=150, **KNOWN))
    cells = s.survivors
    assert isinstance(cells, sb.Cells)
    best = GRID[np.argmax(f(GRID[:, None]))]
    assert any(low <= best <= high for low, high in zip(cells.low[:, 0], cells.high[:, 0]))
    assert cells.volume < 0.9
    assert len(s.ask() or []) == 0


def test_spaces_of_all_kinds_of_columns() -> None:
    columns = [sb.Float(1e-3, 1.0, log=True), sb.Int(2, 20, step=3), sb.Ordinal([1.0, 2.0, 5.0]), sb.Categorical(3)]
    s = sb.Strategy("auto", domain=columns, budget=16, batches=2, direction="minimize")
    while (asked := s.ask()) is not None:
        p = asked.points
        assert np.isin(p[:, 1], np.arange(2, 21, 3)).all() and np.isin(p[:, 2], [1, 2, 5]).all() and np.isin(p[:, 3], [0, 1, 2]).all()
        s.tell(asked.ids, np.log10(p[:, 0]) ** 2 + p[:, 1] / 20 + p[:, 3])
    advice = s.recommend()
    assert advice is not None and advice.point[3] == 0


def test_same_seed_same_run_in_any_order_of_telling() -> None:
    def points(seed: int) -> np.ndarray:
        s = sb.Strategy("s-bpe", domain=GRID, budget=80, seed=5, **KNOWN)
        rng = np.random.default_rng(seed)
        while (asked := s.ask()) is not None:
            order = rng.permutation(len(asked))
            s.tell([asked.ids[i] for i in order], f(asked.points)[order])
        return s.trials.points

    np.testing.assert_array_equal(points(0), points(1))


def test_a_saved_run_has_the_same_future() -> None:
    s = sb.Strategy("ei", domain=GRID, budget=20, **KNOWN)
    for _ in range(6):
        asked = s.ask()
        assert asked is not None
        s.tell(asked.ids, f(asked.points))
    for copy in (sb.Strategy.load(s.save()), pickle.loads(pickle.dumps(s))):
        other, here = copy.ask(), sb.Strategy.load(s.save()).ask()
        assert other is not None and here is not None
        np.testing.assert_array_equal(other.points, here.points)


def test_waiting_failing_and_closing() -> None:
    s = sb.Strategy("s-bpe", domain=GRID, budget=40, batches=[20, 20], **KNOWN)
    first, rest = s.ask(5), s.ask()
    assert first is not None and rest is not None and len(first) == 5 and len(rest) == 15
    waiting = s.ask()
    assert waiting is not None and waiting.waiting
    s.tell(first.ids, [None] * 5)
    s.tell(rest.ids[:-1], f(rest.points[:-1]))
    s.close_batch()
    assert s.batches[0].planned == 20 and s.batches[0].measured == 14
    s.tell(rest.ids[-1], 0.5)
    assert s.trials.states.count("late") == 1
    with pytest.raises(sb.Error):
        s.tell(rest.ids[0], 0.1)
    with pytest.raises(sb.Error):
        s.tell(999, 0.1)
    second = s.ask()
    assert second is not None
    with pytest.raises(sb.Error, match="ids"):
        s.tell(second.ids, [1.0])
    with pytest.raises(sb.Error):
        s.tell(second.ids[0], float("nan"))


def planning() -> sb.Strategy:
    """A run whose first batch takes a while to plan."""
    grid = np.random.default_rng(0).random((10_000, 4))
    return sb.Strategy("s-bpe", domain=grid, budget=40_000, seed=1, **{**KNOWN, "kernel": sb.Matern(nu=2.5, lengthscale=0.3)})


def interrupt_while_asking(s: sb.Strategy, at_most: int | None, undisturbed: float) -> None:
    """Ctrl-C after a quarter of the time that the same takes undisturbed, on this machine and under its present load."""
    timer = threading.Timer(undisturbed / 4, _thread.interrupt_main)
    received = None
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        received = s.ask(at_most)
        timer.join()
        time.sleep(1.0)
    assert received is None, "the interrupt must come before the answer for this to say anything"


def test_an_interrupted_ask_loses_nothing() -> None:
    s, undisturbed = planning(), planning()
    started = time.monotonic()
    there = undisturbed.ask()
    interrupt_while_asking(s, None, time.monotonic() - started)
    here = s.ask()
    assert here is not None and there is not None
    assert here.ids == there.ids and len(here.ids) == 200
    np.testing.assert_array_equal(here.points, there.points)


def test_a_run_saved_after_an_interrupt_goes_on() -> None:
    s = planning()
    started = time.monotonic()
    planning().ask(50)
    interrupt_while_asking(s, 50, time.monotonic() - started)
    again = sb.Strategy.load(s.save())
    handed = [again.ask(30), again.ask(30), again.ask()]
    assert sum((a.ids for a in handed if a is not None), []) == list(range(200))


def test_asking_from_many_threads_loses_nothing_and_hands_nothing_out_twice() -> None:
    s = sb.Strategy("sobol", domain=([0.0], [1.0]), budget=400)
    seen: list[int] = []

    def work() -> None:
        while (asked := s.ask(1)) is not None:
            if asked.waiting:
                time.sleep(0.001)
            else:
                seen.extend(asked.ids)
                s.tell(asked.ids, asked.points[:, 0])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(400))


def test_properties_do_not_wait_for_work() -> None:
    s = planning()
    asking = threading.Thread(target=s.ask)
    begun = time.monotonic()
    asking.start()
    longest = 0.0
    while asking.is_alive():
        started = time.monotonic()
        assert (s.name, s.budget) == ("s-bpe", 40_000)
        longest = max(longest, time.monotonic() - started)
        time.sleep(0.001)
    # A question that waits takes what is left of the work when it is asked: nearly all of it.
    assert longest < (time.monotonic() - begun) / 2


def test_telling_is_all_or_none() -> None:
    s = sb.Strategy("s-bpe", domain=GRID, budget=40, batches=[20, 20], **KNOWN)
    asked = s.ask()
    assert asked is not None
    for ids, values in (
        ([*asked.ids[:3], 999], [0.1] * 4),
        (asked.ids[:3], [0.1, 0.2, float("nan")]),
        ([asked.ids[0], asked.ids[0]], [0.1, 0.2]),
    ):
        with pytest.raises(sb.Error):
            s.tell(ids, values)
        assert s.trials.states.count("asked") == 20
    s.tell(asked.ids, f(asked.points))
    assert len(s.batches) == 1


def test_results_from_before_the_run_are_used() -> None:
    s = sb.Strategy("ei", domain=GRID, budget=5, **KNOWN)
    s.attach(GRID[::10], f(GRID[::10, None]), collected="fixed")
    assert s.recommend() is not None
    mean, std = s.predict(GRID) or (None, None)
    assert mean is not None and std is not None
    np.testing.assert_allclose(mean, f(GRID[:, None]), atol=0.2)
    s.ask()
    with pytest.raises(sb.Error, match="begun"):
        s.attach([0.5], [1.0])


def test_a_pilot_is_in_no_claim_and_premises_stay_after_it():
    rng = np.random.default_rng(3)
    x = np.linspace(0, 1, 60)
    f = lambda x: np.sin(5 * x)  # noqa: E731
    ends = []
    for offset in (0.0, 1e6):
        rng = np.random.default_rng(3)
        s = sb.Strategy("s-bpe", domain=x, budget=84, pilot=24, seed=1)
        a = s.ask()
        assert len(a) == 24 and len(np.unique(a.points)) == 20
        s.tell(a.ids, offset + f(a.points[:, 0]))
        with pytest.raises(sb.Error, match="premises"):
            s.ask()
        # A kernel learnt on the pilot's own rows is one learnt from other data for what follows.
        learnt = sb.fit_hyperparameters(sb.SquaredExponential(0.3), a.points, f(a.points[:, 0]) + 0.1 * rng.standard_normal(24))
        s.fix_premises(kernel=learnt.kernel, norm_bound=9.0, noise=sb.Gaussian(0.1))
        s.fix_premises(kernel=sb.SquaredExponential(0.3), norm_bound=3.0, noise=sb.Gaussian(0.1))
        while (a := s.ask()) is not None:
            s.tell(a.ids, f(a.points[:, 0]) + 0.1 * rng.standard_normal(len(a)))
            with pytest.raises(sb.Error, match="is planned"):
                s.fix_premises(kernel=sb.SquaredExponential(0.3), norm_bound=0.1, noise=sb.Gaussian(0.1))
        ends.append(s.recommend())
    plain, spoilt = ends
    assert plain.label == "certified" and plain.certificate == spoilt.certificate and plain.gap == spoilt.gap
    assert plain.certificate.details["premises"]["observations"]["value"] == 60
    assert {plain.certificate.premises[name].origin for name in ("kernel", "norm_bound", "noise", "pilot")} == {"learnt_elsewhere"}
    assert plain.certificate.terms == ["premises fixed after a pilot of 24, which is in no claim"]
    with pytest.raises(sb.Error, match="no pilot"):
        sb.Strategy("random", domain=x, budget=3).fix_premises()


def test_a_kernel_learnt_on_the_pilot_certifies_what_follows():
    x = np.linspace(0, 1, 60)
    s = sb.Strategy("s-bpe", domain=x, budget=84, pilot=24)
    a = s.ask()
    y = np.sin(5 * a.points[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(24)
    s.tell(a.ids, y)
    learnt = sb.fit_hyperparameters(sb.SquaredExponential(0.3), a.points, y)
    assert learnt.kernel.source == "learnt-here"
    s.fix_premises(kernel=learnt.kernel, norm_bound=5.0, noise=sb.Gaussian(0.1))
    while (a := s.ask()) is not None:
        s.tell(a.ids, np.sin(5 * a.points[:, 0]))
    assert s.recommend().label == "certified"


def test_the_map_of_premises_holds_whatever_chose_the_points():
    x = np.linspace(0, 1, 40)
    f = np.sin(5 * x)
    for name in ("gp-ucb", "ei", "auto"):
        rng = np.random.default_rng(1)
        s = sb.Strategy(name, domain=x, kernel=sb.SquaredExponential(0.3), norm_bound=3.0, noise=sb.Gaussian(0.05), budget=60)
        while (a := s.ask()) is not None:
            s.tell(a.ids, f[a.indices] + 0.05 * rng.standard_normal(len(a)))
        r, standing, found = s.recommend(), s.standing(), s.premise_map()
        assert r.label == "estimated" and standing.certificate.label == "certified"
        assert standing.certificate.details["theorem"] == "energy"
        regret = f.max() - f[r.index]
        assert np.all(standing.gaps[standing.norm_bounds >= 3.0] >= regret)
        # The setting is an estimate; how far it can be from the best is proved, and says so.
        said = "proved whatever chose the points: "
        assert r.premises.sentence == said + standing.range.sentence and r.premises.norm_breakdown == standing.range.norm_breakdown >= 3.0
        assert found.gaps.shape == (5, 20) and np.all(found.gaps[2][np.isfinite(found.gaps[2])] == standing.gaps[np.isfinite(standing.gaps)])
    assert sb.Strategy("gp-ucb", domain=x, budget=3).standing() is None
