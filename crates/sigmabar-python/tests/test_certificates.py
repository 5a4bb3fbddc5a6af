"""Every claim carries its certificate: the same words and the same JSON everywhere, and none says more than its premises do."""

from __future__ import annotations

import html
import json
import math
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sigmabar as sb

RNG = np.random.default_rng(7)
X = RNG.random((60, 1))
Y = np.sin(6 * X[:, 0]) + 0.1 * RNG.standard_normal(60)
Z = np.linspace(0, 1, 12)
K = sb.SquaredExponential(0.2)
CLAIM = {"norm_bound": 3.0, "noise": sb.Gaussian(0.1)}
GRID = np.linspace(0, 1, 60)
KNOWN: dict[str, Any] = {"kernel": sb.SquaredExponential(0.2), "tau": 0.1, "norm_bound": 2.0, "noise": sb.Gaussian(0.05)}


def model(kernel: sb.Kernel = K, tau: float = 0.1, x: Any = X, y: Any = Y, **options: Any) -> sb.SparsePosterior:
    return sb.SparsePosterior(kernel, tau, x, y, inducing=Z, **{"collected": "fixed", **options})


def certificate(p: sb.SparsePosterior | sb.ExactPosterior, **claim: Any) -> sb.Certificate:
    return p.interval([[0.3]], **{**CLAIM, **claim}).certificate


def run(s: sb.Strategy, f: Any = lambda x: np.sin(5 * x) * (1 - x), **told: Any) -> sb.Strategy:
    while (a := s.ask()) is not None:
        s.tell(a.ids, f(a.points[:, 0]), **told)
    return s


def test_a_certificate_is_the_json_of_the_core_and_back() -> None:
    c = certificate(model())
    details = json.loads(c.to_json())
    assert list(details) == ["label", "claim", "about", "delta", "spent", "theorem", "premises", "bounds", "contradiction", "range"]
    assert (c.label, c.delta, c.contradicted, c.weak_premises) == (details["label"], details["delta"], False, [])
    assert set(c.premises) == {name for name, premise in details["premises"].items() if premise is not None}
    assert str(c).startswith("certified: lower ≤ f ≤ upper at each point asked for by itself")
    again = sb.Certificate.from_json(c.to_json())
    assert again == c == pickle.loads(pickle.dumps(c)) and str(again) == str(c)
    details["label"] = "estimated"
    with pytest.raises(sb.Error, match="altered"):
        sb.Certificate.from_json(json.dumps(details))


@pytest.mark.parametrize("made", [model, lambda **o: sb.ExactPosterior(K, 0.1, X, Y, **o)], ids=["sparse", "exact"])
@pytest.mark.parametrize("how", ["fixed", "adaptive", "undeclared", None])
def test_what_nobody_vouches_for_gets_the_band_that_needs_no_vouching(made: Any, how: str | None) -> None:
    tight, paper = (certificate(made(collected=how), method=m) for m in ("tight", "paper"))
    assert tight.label == "certified"
    assert (tight.details["theorem"] == "energy") == (how != "fixed")
    assert paper.label == ("certified" if how == "fixed" else "estimated"), "a theorem for fixed points, asked for by name"


def test_undeclared_is_the_default_everywhere() -> None:
    default = sb.SparsePosterior(K, 0.1, X, Y, inducing=Z)
    assert certificate(default) == certificate(model(collected=None))
    assert certificate(sb.ExactPosterior(K, 0.1, X, Y)).details["premises"]["points"]["value"] == "undeclared"
    learnt = sb.fit_hyperparameters(sb.Matern(nu=2.5), X, Y, starts=1)
    assert certificate(learnt.posterior).details["premises"]["points"]["value"] == "undeclared"


def test_updates_degrade_unless_they_are_declared_again() -> None:
    p = model(x=X[:50], y=Y[:50])
    p.update(X[50:55], Y[50:55], collected="fixed")
    assert certificate(p).details["theorem"] != "energy"
    p.update(X[55:], Y[55:])
    c = certificate(p)
    assert (c.details["premises"]["points"]["value"], c.details["theorem"], c.label) == ("undeclared", "energy", "certified")


def test_a_ridge_or_noise_learnt_from_the_responses_is_no_declaration() -> None:
    learnt = sb.fit_hyperparameters(sb.Matern(nu=2.5), X, Y, starts=1)
    c = certificate(model(tau=learnt.tau))
    assert (c.label, c.premises["ridge"].origin, c.premises["kernel"].origin) == ("estimated", "learnt_here", "declared")
    c = certificate(model(), noise=sb.Gaussian(learnt.tau))
    assert (c.label, c.premises["noise"].origin) == ("estimated", "learnt_here")
    assert certificate(model(), noise=sb.Gaussian(2 * learnt.tau)).label == "estimated", "arithmetic does not launder it"
    assert certificate(model(), noise=sb.Gaussian(float(learnt.tau))).label == "certified", "a plain number is a declaration"
    assert pickle.loads(pickle.dumps(learnt.tau)).source == "learnt-here"
    for name, value in (("tau", learnt.tau), ("norm_bound", 2 * learnt.tau / learnt.tau), ("noise", sb.Gaussian(learnt.tau))):
        s = run(sb.Strategy("s-bpe", domain=GRID, budget=30, **{**KNOWN, name: value}))
        assert s.recommend().label == "estimated", name  # type: ignore[union-attr]


def test_what_replicates_say_about_the_noise_is_learnt_from_them(tmp_path: Path) -> None:
    x, y = np.repeat(X[:20], 2, axis=0), np.repeat(Y[:20], 2) + 0.1 * RNG.standard_normal(40)
    level, bound, _ = sb.premises.noise_level(x, y)
    for learnt in (level, bound, sb.premises.norm_bound(height=level, hills=2)):
        assert isinstance(learnt, sb.LearntNumber) and learnt.source == "learnt-here"
        assert certificate(model(x=x, y=y), noise=sb.Gaussian(learnt)).label == "estimated"
        assert certificate(model(), noise=sb.Gaussian(learnt.for_new_data())).label == "certified", "other rows"
    spec = {"budget": 9, "norm_bound": 2.0, "noise": {"gaussian": level}, "parameters": {"x": {"type": "float", "low": 0, "high": 1}}}
    with pytest.raises(sb.Error, match=r"noise\.gaussian was learnt from responses"):
        sb.Study.create(tmp_path / "s.db", "s", spec)


def test_what_was_learnt_on_other_rows_is_noticed_on_the_same() -> None:
    learnt = sb.fit_hyperparameters(sb.Matern(nu=2.5), X[:40], Y[:40], starts=1)
    new = learnt.for_new_data()
    assert certificate(model(learnt.kernel, 0.1, X[40:], Y[40:])).label == "estimated", "nobody said that these are new data"
    fresh = certificate(model(new.kernel, new.tau, X[40:], Y[40:]), noise=sb.Gaussian(new.tau))
    assert fresh.label == "certified"
    assert {fresh.premises[p].origin for p in ("kernel", "ridge", "noise")} == {"learnt_elsewhere"}
    for x, y in ((X[:40], Y[:40]), (X[39:], Y[39:]), (X, Y)):
        again = certificate(model(new.kernel, new.tau, x, y), noise=sb.Gaussian(new.tau))
        assert again.label == "estimated"
        assert {again.premises[p].origin for p in ("kernel", "ridge", "noise")} == {"learnt_here"}
    # Scaling, adding and pickling do not make it forget.
    for kernel in (2 * new.kernel, new.kernel + sb.Linear(), pickle.loads(pickle.dumps(new.kernel))):
        assert certificate(model(kernel)).premises["kernel"].origin == "learnt_here"
    copied = pickle.loads(pickle.dumps(model(x=X[:40], y=Y[:40], tau=learnt.tau)))
    assert certificate(copied, noise=sb.Gaussian(new.tau)).label == "estimated"
    assert certificate(model(tau=copied.tau.for_new_data())).premises["ridge"].origin == "learnt_here"
    assert certificate(model(new.kernel, 0.1, X[:40], Y[:40] + 1e-9)).label == "certified", "other responses at the same places are other data"


def test_results_that_a_premise_was_learnt_on_enter_no_certificate() -> None:
    x, y = GRID[:40], np.sin(5 * GRID[:40]) * (1 - GRID[:40]) + 0.01 * RNG.standard_normal(40)
    new = sb.fit_hyperparameters(sb.Matern(nu=2.5), x, y, starts=1).for_new_data()
    for kernel, counted in ((new.kernel, 0), (KNOWN["kernel"], 40)):
        s = sb.Strategy("s-bpe", domain=GRID, budget=30, **{**KNOWN, "kernel": kernel})
        s.attach(x, y, collected="fixed")
        r = run(s).recommend()
        assert r is not None
        assert r.certificate.details["premises"]["observations"]["value"] == 30 + counted


def test_a_wrong_unit_is_said_at_once() -> None:
    wrong = model(y=1000 * Y)
    with pytest.warns(sb.ContradictionWarning, match="the norm must be at least .* in this unit, and 3 was declared; probably the prior mean or the unit is missing"):
        c = certificate(wrong)
    assert c.contradicted and c.label == "estimated" and c.contradiction in c.weak_premises
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert certificate(model(y=1000 * Y, unit=1000.0)).label == "certified"


def test_a_run_with_a_wrong_unit_stops_and_says_how_to_go_on() -> None:
    s = sb.Strategy("s-bpe", domain=GRID, budget=60, batches=[20, 20, 20], **KNOWN)
    a = s.ask()
    assert a is not None
    with pytest.warns(sb.ContradictionWarning, match="contradict"):
        s.tell(a.ids, 1000 + 50 * np.sin(5 * a.points[:, 0]))
    with pytest.raises(sb.Contradicted, match="contradict.*go_on_despite_contradiction"):
        s.ask()
    assert s.contradiction is not None
    with pytest.warns(sb.ContradictionWarning):
        r = s.recommend()
    assert r is not None and r.certificate.contradicted and r.label == "estimated"
    with pytest.warns(sb.ContradictionWarning, match="contradict"):
        s.standing()
    s.go_on_despite_contradiction()
    more = s.ask()
    assert more is not None and len(more) == 20


@pytest.mark.parametrize(("told", "origin"), [({"failures": "unrelated"}, "declared"), ({}, "unmet"), ({"informative_failures": True}, "unmet")])
def test_losses_need_somebody_who_vouches_for_them(told: dict[str, Any], origin: str) -> None:
    s = sb.Strategy("s-bpe", domain=GRID, budget=40, batches=[20, 20], **KNOWN, **told)
    a = s.ask()
    assert a is not None
    s.tell(a.ids, [None, *(np.sin(5 * a.points[1:, 0]) * (1 - a.points[1:, 0]))])
    r = run(s).recommend()
    assert r is not None
    assert r.certificate.premises["losses"].origin == origin
    assert r.label == ("certified" if origin == "declared" else "estimated")
    with pytest.raises(sb.Error, match="older spelling"):
        sb.Strategy("s-bpe", domain=GRID, budget=5, failures="unrelated", informative_failures=True)


def test_only_declared_replicates_make_a_mean_count_for_more() -> None:
    def gap(**told: Any) -> float:
        s = sb.Strategy("s-bpe", domain=GRID, budget=40, batches=[20, 20], **KNOWN)
        while (a := s.ask()) is not None:
            errors = {"standard_errors": [0.001] * len(a)} if "standard_errors" in told else {}
            s.tell(a.ids, np.sin(5 * a.points[:, 0]) * (1 - a.points[:, 0]), **errors, **{k: v for k, v in told.items() if k != "standard_errors"})
        r = s.recommend()
        assert r is not None and r.label == "certified"
        assert r.certificate.details["premises"]["means"]["value"] == (40 if "replicates" in told else 0)
        return r.gap

    single, lucky, declared = gap(), gap(standard_errors=True), gap(standard_errors=True, replicates=16)
    assert lucky >= single * (1 - 1e-12), "a told standard error alone never lowers the level"
    assert declared < 0.8 * single
    s = sb.Strategy("s-bpe", domain=GRID, budget=5, **KNOWN)
    with pytest.raises(sb.Error, match="standard_errors"):
        s.attach(GRID[:2], [0.1, 0.2], replicates=3)
    with pytest.raises(sb.Error, match="replicates must be at least 1"):
        s.attach(GRID[:2], [0.1, 0.2], [0.1, 0.1], replicates=[1, 0])


def test_batches_and_recommendation_carry_the_same_kind_of_record() -> None:
    s = run(sb.Strategy("s-bpe", domain=GRID, budget=60, **KNOWN))
    r = s.recommend()
    assert r is not None and r.label == "certified" == s.batches[-1].label
    assert "certificate=Certificate(label='certified', delta=0.05" in repr(r)
    claimed = r.certificate.details
    assert claimed["claim"] == "optimum" and claimed["about"] == {"list": {"points": 60}} and r.candidate_gap is None


def test_the_regressor_has_the_certificate_of_its_last_intervals() -> None:
    regressor = pytest.importorskip("sigmabar.sklearn").SparseKernelRegressor
    fitted = regressor(random_state=0).fit(X, Y)
    interval = fitted.interval(X[:3])
    assert fitted.certificate_ == interval.certificate and interval.label == "estimated"
    assert fitted.certificate_.details["premises"]["points"]["value"] == "undeclared"
    fixed = regressor(random_state=0, collected="fixed", norm_bound=5.0).fit(X, Y)
    fixed.interval(X[:3])
    assert fixed.certificate_.premises["points"].origin == "declared" and fixed.certificate_.label == "estimated"
    fixed.partial_fit(X[:5], Y[:5])
    fixed.interval(X[:3])
    assert fixed.certificate_.details["premises"]["points"]["value"] == "undeclared"


def test_a_study_and_its_strategy_show_the_same_certificate(tmp_path: Path) -> None:
    spec = {
        "budget": 24,
        "batches": 3,
        "parameters": {"x": {"type": "float", "low": 0, "high": 1}},
    }
    study = sb.Study.create(tmp_path / "s.db", "same", spec)
    study.run(lambda x: math.sin(5 * x) * (1 - x))
    advice, looked_at = study.recommend(), study.strategy.recommend()
    assert advice is not None and looked_at is not None
    assert advice.certificate.to_json() == looked_at.certificate.to_json()
    assert advice.label == looked_at.label


def test_one_run_shows_one_certificate_to_the_byte_wherever_it_is_asked_for(tmp_path: Path) -> None:
    """Study and strategy in Python, ``recommend`` and ``status`` of the command, and the report."""
    spec = {
        "budget": 30,
        "seed": 0,
        "direction": "maximize",
        "norm_bound": 2.0,
        "noise": {"gaussian": 0.05},
        "kernel": {"name": "squared-exponential", "lengthscale": 0.2},
        "parameters": {"x": {"type": "float", "low": 0, "high": 1}},
    }
    study = sb.Study.create(tmp_path / "s.db", "same", spec)
    study.run(lambda x: math.sin(5 * x) * 0.5)
    advice, looked_at = study.recommend(), study.strategy.recommend()
    assert advice is not None and looked_at is not None and advice.label == "certified"
    certificate = advice.certificate.to_json()
    assert looked_at.certificate.to_json() == certificate

    def command(*words: str) -> str:
        done = subprocess.run([sys.executable, "-m", "sigmabar", *words], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    for verb in ("recommend", "status"):
        assert f'"certificate":{certificate}' in command(verb, "s.db", "--format", "jsonl"), verb
        shown = json.loads(command(verb, "s.db", "--format", "json"))["certificate"]
        assert sb.Certificate.from_json(json.dumps(shown)).to_json() == certificate
    command("report", "s.db", "--out", "page.html")
    assert certificate in html.unescape((tmp_path / "page.html").read_text())


def test_the_attribute_of_an_optuna_study_is_the_certificate() -> None:
    optuna = pytest.importorskip("optuna")
    from sigmabar.optuna import SBPESampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=SBPESampler(budget=30, seed=0, **{**KNOWN, "tau": None}))
    study.optimize(lambda t: math.sin(5 * t.suggest_float("x", 0, 1)) * 0.5, n_trials=31)
    advice = study.sampler.recommend(study)
    assert study.user_attrs["sigmabar:certificate"] == advice.certificate.to_json()
    # The same run by hand: same plan, same values, same bytes.
    (known,) = study.sampler._runs.values()
    assert known.strategy.recommend().certificate.to_json() == advice.certificate.to_json()


def test_an_optuna_study_with_a_wrong_unit_stops() -> None:
    optuna = pytest.importorskip("optuna")
    from sigmabar.optuna import SBPESampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def grams(trial: Any) -> float:
        return 1000 + 50 * math.sin(5 * trial.suggest_float("x", 0, 1))

    study = optuna.create_study(direction="maximize", sampler=SBPESampler(budget=30, seed=0, **KNOWN))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.ContradictionWarning)
        with pytest.raises(sb.Contradicted, match="go_on_despite_contradiction"):
            study.optimize(grams, n_trials=31)
        assert study.sampler.recommend(study).certificate.contradicted
        study.sampler = SBPESampler(budget=30, seed=0, go_on_despite_contradiction=True, **KNOWN)
        study.optimize(grams, n_trials=5)
    assert len(study.trials) < 31


def test_marks_stay_on_whatever_is_made_of_a_learnt_number() -> None:
    learnt = sb.fit_hyperparameters(sb.Matern(nu=2.5), X, Y, starts=1)
    tau, kernel = learnt.tau, learnt.kernel
    for made in (round(tau, 3), tau // 0.01, tau % 1.0, np.sqrt(tau), np.maximum(tau, 0.01), 1.0 / tau, np.round(tau, 3), np.clip(tau, 0.01, 9.0), divmod(tau, 1.0)[1], tau.real):
        assert made.source == "learnt-here" and type(made.source) is str
    assert sb.max_variance_design(K, tau, X, 3).uniform_error(2.0, 0.1).certificate.premises["ridge"].origin == "learnt_here"
    assert sb.max_variance_design(K, 0.1, X, 3).uniform_error(2.0, tau).label == "estimated", "a level that is a plain number"
    for copied in (
        sb.Matern(nu=kernel.nu, lengthscale=kernel.lengthscale, variance=kernel.variance),
        sb.SquaredExponential(lengthscale=[kernel.lengthscale]),
        sb.SquaredExponential(0.3).set_params(variance=kernel.get_params()["variance"]),
        sb.SquaredExponential(kernel.parameters["lengthscale"]),
        kernel.variance * sb.SquaredExponential(0.3),
    ):
        assert copied.source == "learnt-here", copied
        assert certificate(model(copied)).label == "estimated"
    p = model()
    for bound in (p.norm, 2 * p.least_norm(sb.Gaussian(0.1)), sb.ExactPosterior(K, 0.1, X, Y).norm):
        assert certificate(p, norm_bound=bound).premises["norm_bound"].origin == "learnt_here"
        assert certificate(p, norm_bound=bound.for_new_data()).premises["norm_bound"].origin == "learnt_here", "the same rows"
    new = p.prediction_interval(X[:2], 3.0, sb.Gaussian(0.1), new_noise=sb.Gaussian(tau))
    assert new.certificate.premises["noise"].origin == "learnt_here"


def test_inducing_points_say_who_chose_them() -> None:
    chosen = sb.select_inducing(K, X, 0.1, size=5)
    learnt = sb.fit_hyperparameters(sb.Matern(nu=2.5), X, Y, starts=1)
    by_learnt = sb.select_inducing(learnt.kernel, X, learnt.tau, size=5)
    for inducing, origin in ((chosen, "guaranteed"), (chosen.points, "declared"), (by_learnt, "learnt_here")):
        p = sb.SparsePosterior(K, 0.1, X, Y, inducing=inducing, collected="fixed")
        assert certificate(p).premises["inducing"].origin == origin


def test_rows_that_are_equal_in_every_number_are_distinct_on_your_word_only():
    x = np.repeat(np.linspace(0, 1, 20), 2)
    y = np.round(np.sin(6 * x), 1)
    k, claim = sb.SquaredExponential(0.2), {"norm_bound": 3.0, "noise": sb.Gaussian(0.1)}
    for fit in (
        lambda **said: sb.ExactPosterior(k, 0.1, x, y, collected="fixed", **said),
        lambda **said: sb.SparsePosterior(k, 0.1, x, y, inducing=x[::4], collected="fixed", **said),
    ):
        assert fit().interval([0.5], **claim).label == "estimated"
        certificate = fit(distinct_rows=True).interval([0.5], **claim).certificate
        assert certificate.label == "certified" and certificate.premises["copies"].origin == "declared"
        assert "20 observations equal another" in certificate.premises["copies"].statement
    plan = lambda **said: sb.Plan(k, 0.1, inducing=x[::4, None], chunks=1, mean=0.0, collected="fixed", **said)  # noqa: E731
    for said, origin in (({}, "unmet"), ({"distinct_rows": True}, "declared")):
        one = plan(**said)
        model = one.model(one.leaf(0, x[:, None], y))
        assert model.interval([0.5], **claim).certificate.premises["copies"].origin == origin
    # What is declared about some rows says nothing about those that come later.
    p = sb.SparsePosterior(k, 0.1, x, y, inducing=x[::4], collected="fixed", distinct_rows=True)
    p.update(np.array([0.3, 0.3]), np.array([1.0, 1.0]), collected="fixed")
    assert p.interval([0.5], **claim).label == "estimated"


def test_a_conclusion_stands_up_to_the_norm_that_it_says():
    x = np.linspace(0, 1, 60)
    y = np.sin(5 * x) + 0.1 * np.random.default_rng(0).standard_normal(60)
    for collected in ("fixed", None):
        p = sb.SparsePosterior(sb.SquaredExponential(0.3), 0.1, x, y, inducing=x[::6], collected=collected)
        at = np.linspace(0.05, 0.95, 12)
        found, levels, certificate = p.breakdown(at, 0.5, norm_bound=3.0, noise=sb.Gaussian(0.1))
        stands = certificate.range
        assert (stands.norm_breakdown, stands.noise_breakdown) == (np.nanmin(found), np.nanmin(levels))
        assert stands.of["side"]["threshold"] == 0.5 and "for every function of norm up to" in str(stands)
        assert certificate.label == "certified" and certificate.details["range"]["least_norm"] < 3.0
        assert np.isfinite(found).any() and np.all((found >= 3.0) | np.isnan(found))
        for i, norm in enumerate(found):
            if np.isfinite(norm) and norm < 23.0:
                iv = p.interval(at, norm_bound=1.06 * norm, noise=sb.Gaussian(0.1), delta=0.05 if collected is None else 0.05 / len(at))
                assert iv.lower[i] <= 0.5 <= iv.upper[i]
        # Premises that the data contradict conclude nothing, and the certificate says so.
        with pytest.warns(UserWarning, match="contradict"):
            refuted = p.breakdown(at, 0.5, norm_bound=0.3, noise=sb.Gaussian(0.1))
        assert np.isnan(refuted.norms).all() and np.isnan(refuted.levels).all() and refuted.label == "estimated" and refuted.certificate.contradicted


def test_what_the_data_exclude_is_learnt_from_them_wherever_it_stands() -> None:
    """1.2 c₀ of the same rows is no declared norm bound, whichever object it was read from."""
    p = model()
    study = {"budget": 40, "noise": {"gaussian": 0.1}, "kernel": {"name": "se", "lengthscale": 0.2}, "parameters": {"t": {"type": "float", "low": 0, "high": 1}}}
    plain = {key: study[key] for key in ("budget", "parameters")}
    found = [p.breakdown([0.25], 0.0, **CLAIM).certificate.range, p.interval_curve([0.25], **CLAIM).certificate.range]
    on_rows = [range.least_norm for range in found if range is not None]
    others = [sb.premises.judge(study, X, Y).least_norm, sb.premises.learn(plain, X, Y).least_norm]
    assert len(on_rows) == 2
    for least in (*on_rows, *others):
        assert least > 0 and certificate(p, norm_bound=1.2 * least).premises["norm_bound"].origin == "learnt_here"
        assert certificate(p, norm_bound=1.2 * least).label == "estimated"
    for least in on_rows:
        assert certificate(p, norm_bound=1.2 * least.for_new_data()).label == "estimated", "the same rows"  # type: ignore[attr-defined]


def test_an_estimate_has_a_range_and_says_nothing_with_it() -> None:
    certified = model().breakdown([0.25], 0.0, **CLAIM).certificate
    estimated = model().breakdown([0.25], 0.0, norm_bound=sb.LearntNumber(3.0, "learnt-here"), noise=sb.Gaussian(0.1)).certificate
    assert certified.label == "certified" and "for every function of norm up to" in str(certified.range)
    assert estimated.label == "estimated" and estimated.range is not None and str(estimated.range) == ""


def test_an_altered_certificate_is_refused_by_field() -> None:
    c = model().breakdown([0.25], 0.0, **CLAIM).certificate
    assert sb.Certificate.from_json(c.to_json()) == c
    for change, field in (({"delta": 5.0}, "delta"), ({"range": {**c.details["range"], "norm_breakdown": 1e9}}, "range.norm_breakdown")):
        with pytest.raises(sb.Error, match=field):
            sb.Certificate.from_json(json.dumps({**c.details, **change}))


def test_inducing_points_of_a_learnt_model_stay_marked() -> None:
    points = sb.fit_hyperparameters(sb.Matern(nu=2.5), X, Y, starts=1).posterior.inducing
    for made in (points, points[::2], points.copy(), pickle.loads(pickle.dumps(points))):
        assert certificate(sb.SparsePosterior(K, 0.1, X, Y, inducing=made, collected="fixed")).premises["inducing"].origin == "learnt_here"
    for plain in (np.array(points), model().inducing):
        assert certificate(sb.SparsePosterior(K, 0.1, X, Y, inducing=plain, collected="fixed")).label == "certified"


def test_too_few_rows_left_out_make_an_interval_without_ends_at_the_delta_asked_for() -> None:
    for rows, delta, expected in ((5, 0.05, 0.05), (10, 0.5, 9 / 11), (10, 0.6, 1.0)):
        found = sb.ExactPosterior(K, 0.1, X[:rows], Y[:rows]).prediction_interval([0.5], delta=delta)
        assert found.certificate.delta == expected and sb.Certificate.from_json(found.certificate.to_json()) == found.certificate
        assert bool(np.isinf(found.upper[0])) == (rows == 5)


def test_one_side_without_a_theorem_is_refused() -> None:
    for p in (model(), sb.ExactPosterior(K, 0.1, X, Y)):
        with pytest.raises(sb.Error, match='side="upper" needs norm_bound and noise'):
            p.prediction_interval([0.5], side="upper")
    assert "a new response ≤ upper" in str(model().prediction_interval([0.5], side="upper", **CLAIM).certificate).splitlines()[0]


def test_a_calibrated_certificate_that_was_altered_is_refused_by_field() -> None:
    c = sb.ExactPosterior(K, 0.1, X, Y, collected="exchangeable").prediction_interval([0.5]).certificate
    details = c.details
    assert c.label == "conformal"
    for change, field in (
        ({"bounds": {**details["bounds"], "level": 0.9999}}, "bounds.level"),
        ({"about": "everywhere"}, "about"),
        ({"claim": {"function": {"side": "both"}}}, "claim"),
        ({"theorem": {"width": "tight"}, "label": "certified"}, "premises.norm_bound"),
    ):
        with pytest.raises(sb.Error, match=field):
            sb.Certificate.from_json(json.dumps({**details, **change}))
