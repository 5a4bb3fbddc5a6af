"""Premises from Python: learnt from a table, judged, said in words and drawn."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

import sigmabar as sb
from sigmabar.__main__ import run

matplotlib.use("Agg")

STUDY = {"budget": 40, "batches": 2, "parameters": {"t": {"type": "float", "low": 0, "high": 60, "step": 2}}}
T = np.repeat(np.arange(0.0, 48.0, 4.0), 2)


def yields(t: np.ndarray, seed: int = 0) -> np.ndarray:
    return 50 + 18 * np.exp(-(((t - 38) / 15) ** 2)) + 1.6 * np.random.default_rng(seed).normal(size=len(t))


def finished(**more: object) -> sb.Strategy:
    domain = np.linspace(0, 1, 20)
    s = sb.Strategy("s-bpe", domain=domain, kernel=sb.Matern(nu=2.5, lengthscale=0.5), norm_bound=8.0, noise=sb.Gaussian(0.1), budget=60, **more)  # type: ignore[arg-type]
    while (a := s.ask()) is not None:
        s.tell(a.ids, 1 - 2 * (a.points[:, 0] - 0.5) ** 2)
    return s


def test_pictures_of_a_run_ask_for_the_run() -> None:
    s = finished()
    for draw in (sb.plot.premises, sb.plot.premise_map):
        with pytest.raises(TypeError, match="give the strategy or the study, not its"):
            draw(s.recommend())
    # Nowhere left of where the claim breaks is the curve above the gap that is claimed up to there.
    found = s.standing()
    assert found is not None and found.range.norm_breakdown is not None and found.range.gap is not None
    line = sb.plot.premises(s).lines[0]
    norms, gaps = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert (found.range.norm_breakdown, found.range.gap) in zip(norms * found.growth, gaps)
    assert np.all(gaps[norms * found.growth <= found.range.norm_breakdown] <= found.range.gap * (1 + 1e-12))


def test_a_table_teaches_the_premises_of_a_study_as_the_command_does(tmp_path: Path) -> None:
    y = yields(T)
    learnt = sb.premises.learn(STUDY, T, y, source="pilot.csv")
    assert learnt.results == 24 and 0 < learnt.least_norm < learnt.keys["norm_bound"]
    assert learnt.keys["prior_mean"] == pytest.approx(y.mean()) and learnt.keys["unit"] == pytest.approx(y.std(ddof=0), rel=0.05)
    # The same lines as the command writes.
    (tmp_path / "study.toml").write_text("budget = 40\nbatches = 2\n\n[parameters.t]\ntype = \"float\"\nlow = 0\nhigh = 60\nstep = 2\n")
    (tmp_path / "pilot.csv").write_text("t,result\n" + "".join(f"{a},{b!r}\n" for a, b in zip(T.tolist(), y.tolist())))
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        assert run(["premises", "study.toml", "--from", "pilot.csv", "-q"]) == 0
    finally:
        os.chdir(here)
    assert str(learnt) in (tmp_path / "study.toml").read_text()
    # And the study that has them says where they come from.
    study = sb.Study.create(tmp_path / "python.db", "python", learnt.into(STUDY))
    # Not the seed of the table: its first draw would come again.
    draws = itertools.count(1)
    study.run(lambda t: float(yields(np.array([t]), seed=next(draws))[0]))
    advice = study.recommend()
    assert advice is not None and advice.certificate.premises["kernel"].origin == "learnt_elsewhere"
    with pytest.raises(sb.Error, match="learnt from pilot.csv"):
        study.import_results([({"t": 2.0}, 50.0)], collected="fixed")
    # Nor are its results told again as if they were measured anew.
    again = sb.Study.create(tmp_path / "again.db", "again", learnt.into(STUDY))
    known = dict(zip(T.tolist(), y.tolist()))
    again.run(lambda t: known.pop(t, None) or float(yields(np.array([t]), seed=1000 + next(draws))[0]))
    advice = again.recommend()
    assert advice is not None and advice.label == "estimated" and advice.certificate.premises["kernel"].origin == "learnt_here"
    assert any("the same data cannot teach and prove" in weak for weak in advice.certificate.weak_premises)


def test_columns_go_by_name_and_wrong_tables_are_refused_by_name() -> None:
    study = {"budget": 40, "parameters": {"a": {"type": "float", "low": 0, "high": 1}, "n": {"type": "int", "low": 0, "high": 30}}}
    rng = np.random.default_rng(1)
    a, n = rng.random(20), rng.integers(0, 30, 20)
    y = a + n / 30 + 0.05 * rng.normal(size=20)
    by_name = sb.premises.learn(study, {"n": n, "a": a}, y)
    assert by_name == sb.premises.learn(study, np.column_stack([a, n]), y)
    with pytest.raises(sb.Error, match="x has no column for the parameter 'n'"):
        sb.premises.learn(study, {"a": a}, y)
    with pytest.raises(sb.Error, match="a row for each of the 20 results and a column for each of the 2 parameters"):
        sb.premises.learn(study, a, y)
    with pytest.raises(sb.Error, match="the table has 4 results"):
        sb.premises.learn(study, np.column_stack([a, n])[:4], y[:4])
    with pytest.raises(sb.Error, match="declare both"):
        sb.premises.judge(study, np.column_stack([a, n]), y)
    verdict = sb.premises.judge(by_name.into(study), np.column_stack([a, n]), y)
    assert verdict.least_norm <= verdict.suggested and verdict.norm <= verdict.suggested


def test_equal_rows_of_a_table_teach_no_level() -> None:
    for y in (np.sin(T / 9.0), np.round(10 * np.sin(T / 9.0), 1), yields(T)):
        assert list(sb.premises.learn(STUDY, T, y).keys["noise"]) == ["about"]
    assert "multiples of 0.1, which hides the noise" in str(sb.premises.learn(STUDY, T, np.round(10 * np.sin(T / 9.0), 1)))


def test_premises_say_where_they_come_from_whatever_study_they_are_put_into(tmp_path: Path) -> None:
    learnt = sb.premises.learn({**STUDY, "pilot": 8}, T, yields(T))
    study = sb.Study.create(tmp_path / "s.db", "s", learnt.into(STUDY))
    with pytest.raises(sb.Error, match="learnt from earlier results"):
        study.import_results([({"t": 2.0}, 50.0)], collected="fixed")


def test_the_range_is_said_in_words_with_noise_in_the_unit_of_the_results() -> None:
    for unit in (1.0, 20.0):
        s = finished(unit=unit) if unit == 1.0 else finished(mean=0.0, unit=unit)
        found = s.recommend()
        assert found is not None and found.premises is not None and found.premises.noise_breakdown is not None
        said = str(found.premises)
        assert said in str(found.certificate) and said.startswith("under this kernel and noise it is within ")
        assert "norm up to the declared 8; within " in said and "twice that" in said and found.premises.claimed == pytest.approx(found.gap)
        noise = float(said.split("or up to noise ")[1].split()[0])
        assert noise == pytest.approx(unit * found.premises.noise_breakdown, rel=0.02)
        standing = s.standing()
        assert standing is not None and str(standing.range) == said


def test_the_picture_shows_what_is_judged_and_what_is_excluded() -> None:
    s = finished()
    standing = s.standing()
    assert standing is not None and standing.range.gap is not None and 0 < standing.range.least_norm < standing.norm_bounds[0], "c₀ lies left of the curve"
    ax = sb.plot.premises(s)
    levels = [line for line in ax.lines if len(set(map(float, line.get_ydata()))) == 1 and float(line.get_ydata()[0]) == standing.range.gap]
    assert levels, "a horizontal line at the gap that is judged"
    assert ax.get_xlim()[0] < standing.range.least_norm
    said = {text.get_text().rsplit(" ", 1)[0]: text.get_text() for text in ax.get_legend().get_texts()}
    for words, norm in (("excluded by the data: below", standing.range.least_norm), ("it stands up to:", standing.range.norm_breakdown)):
        assert norm is not None and 0.99 * norm < float(said[words].rsplit(" ", 1)[1]) <= norm, "rounded so that it says no more"
    drawn = sb.plot.premise_map(s)
    assert "declared premises" in [text.get_text() for text in drawn.get_legend().get_texts()]
    found = s.premise_map()
    assert found is not None
    stands = [text.get_text() for text in drawn.get_legend().get_texts() if "stands on the bright side" in text.get_text()]
    assert stands == [f"within {standing.range.gap:.3g} of the best stands on the bright side"]
    # Exactly between cells in which the claim stands and cells in which it does not.
    upright = {(float(line.get_xdata()[0]), float(np.mean(line.get_ydata()))) for line in drawn.lines if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2}
    known = np.isfinite(found.gaps)
    for i, j in np.ndindex(len(found.factors), len(found.norm_bounds) - 1):
        left, right = found.gaps[i, j] <= standing.range.gap, found.gaps[i, j + 1] <= standing.range.gap
        assert ((j + 0.5, float(i)) in upright) == bool(known[i, j] and known[i, j + 1] and left != right), (i, j)
    assert len(drawn.figure.axes) > 1 and drawn.figure.axes[-1].get_ylabel() == "gap", "a scale for the colours"


def test_norms_count_as_they_were_declared_where_length_scales_are_at_least_some() -> None:
    longest, shortest = sb.Matern(nu=2.5, lengthscale=0.5), sb.Matern(nu=2.5, lengthscale=0.3)
    s = sb.Strategy("s-bpe", domain=np.linspace(0, 1, 20), kernel=longest, shortest=shortest, norm_bound=2.0, noise=sb.Gaussian(0.1), budget=60)
    rng = np.random.default_rng(0)
    while (a := s.ask()) is not None:
        s.tell(a.ids, 1 - 2 * (a.points[:, 0] - 0.5) ** 2 + 0.1 * rng.standard_normal(len(a.ids)))
    advice, standing = s.recommend(), s.standing()
    assert advice is not None and advice.label == "certified" and standing is not None and advice.premises is not None
    growth = np.sqrt(0.5 / 0.3)
    assert standing.growth == pytest.approx(growth) and standing.norm_bound == pytest.approx(2.0 * growth)
    said = str(advice.premises)
    assert "norm up to the declared 2; within " in said and "length-scales at least those of the kernel" in str(advice.certificate)
    assert advice.premises.norm_breakdown is not None and advice.premises.least_norm > 0
    end, least = advice.premises.norm_breakdown / growth, advice.premises.least_norm / growth
    assert float(said.split("up to norm ")[1].split(",")[0]) == pytest.approx(end, rel=0.01)
    assert float(said.split("exclude norms below ")[1]) == pytest.approx(least, rel=0.01)
    ax = sb.plot.premises(s)
    upright = sorted(float(line.get_xdata()[0]) for line in ax.lines if len(line.get_xdata()) == 2 and len(set(line.get_xdata())) == 1)
    assert upright == pytest.approx([2.0, end]), "C and C† are where the words have them"
    assert ax.patches[0].get_extents().transformed(ax.transData.inverted()).x1 == pytest.approx(least)
    assert "2" in [label.get_text() for label in sb.plot.premise_map(s).get_xticklabels()]
    with pytest.raises(sb.Error, match="no length-scale of the shortest longer"):
        sb.Strategy("s-bpe", domain=np.linspace(0, 1, 20), kernel=shortest, shortest=longest, norm_bound=2.0, noise=sb.Gaussian(0.1), budget=60)


def test_certificates_say_what_the_label_does_not() -> None:
    s = sb.Strategy(
        "s-bpe", domain=np.linspace(0, 1, 20), kernel=sb.Matern(nu=2.5, lengthscale=0.5), norm_bound=2.0, noise=sb.UnknownLevel(0.1), budget=60
    )
    rng = np.random.default_rng(0)
    while (a := s.ask()) is not None:
        s.tell(a.ids, 1 - 2 * (a.points[:, 0] - 0.5) ** 2 + 0.1 * rng.normal(size=len(a)))
    advice = s.recommend()
    assert advice is not None and advice.label == "certified"
    (term,) = advice.certificate.terms
    assert "normal noise of one unknown level, at most " in term and term.endswith("degrees of freedom, on which all batches together spend 0.005 of delta = 0.05")
    assert term in str(advice.certificate) and term in repr(advice.certificate) and term in advice._repr_html_()
    plain = finished().recommend()
    assert plain is not None and plain.certificate.terms == [] and repr(plain.certificate) == "Certificate(label='certified', delta=0.05)"


def test_intervals_and_designs_have_a_curve_and_the_noise_at_which_they_break() -> None:
    x = np.linspace(0, 1, 60)
    p = sb.SparsePosterior(sb.SquaredExponential(0.3), 0.1, x, np.sin(5 * x), inducing=x[::4], collected="fixed")
    curve = p.interval_curve([0.3, 0.6], norm_bound=3.0, noise=sb.Gaussian(0.1))
    assert curve.lower.shape == (20, 2) and np.isnan(curve.lower[0]).all(), "the data exclude small norms"
    for norm, low, high in zip(curve.norm_bounds[10:], curve.lower[10:], curve.upper[10:]):
        interval = p.interval([0.3, 0.6], norm_bound=norm, noise=sb.Gaussian(0.1))
        assert np.all(low <= interval.lower + 1e-12) and np.all(high >= interval.upper - 1e-12)
    # The line that every width lies under, at any norm and noise.
    for norm, level in ((3.0, 0.1), (12.0, 0.02), (5.0, 0.4)):
        interval = p.interval([0.3, 0.6], norm_bound=norm, noise=sb.Gaussian(level))
        assert np.all(interval.width <= 2 * (norm * curve.per_norm + level * curve.per_noise) * (1 + 1e-9))
    (level,) = p.breakdown([0.3], 0.5, norm_bound=3.0, noise=sb.Gaussian(0.1)).levels
    assert p.interval([0.3], 3.0, sb.Gaussian(level)).lower[0] > 0.5 and (level >= 0.79 or p.interval([0.3], 3.0, sb.Gaussian(1.05 * level)).lower[0] <= 0.5)
    assert np.isnan(p.breakdown([0.3], p.mean([0.3])[0], norm_bound=3.0, noise=sb.Gaussian(0.1)).levels[0])
    adaptive = sb.SparsePosterior(sb.SquaredExponential(0.3), 0.1, x, np.sin(5 * x), inducing=x[::4])
    assert np.isnan(adaptive.interval_curve([0.3], norm_bound=3.0, noise=sb.Gaussian(0.1)).per_norm[0])
    assert curve.certificate.label == "certified" and 0 < curve.certificate.details["range"]["least_norm"] < 3.0
    d = sb.max_variance_design(sb.SquaredExponential(0.3), 0.1, np.linspace(0, 1, 100), 100)
    norms, errors = d.error_curve(norm_bound=1.0, noise=0.1)
    assert errors == pytest.approx([d.uniform_error(norm, 0.1).bound for norm in norms])
    claimed = errors[norms == 1.0][0]
    rows = d.error_map(1.0, 0.1, [0.5, 1.0])
    assert (rows[1.0].errors == errors).all() and (rows[0.5].errors >= errors).all() and rows[0.5].certificate.label == "certified"
    assert str(rows[0.5].certificate.premises["kernel"].statement) != str(rows[1.0].certificate.premises["kernel"].statement)
    unreached, plain = (d.uniform_error(1.0, 0.1, wanted=wanted).certificate.range for wanted in (0.5 * claimed, None))
    assert unreached == plain and plain.wanted is None and plain.of == "error" and plain.gap == pytest.approx(2 * claimed)
    assert d.uniform_error(plain.norm_breakdown, 0.1).bound == pytest.approx(plain.gap)
    assert "the middle of every interval is within" in str(plain) and str(plain) in str(d.uniform_error(1.0, 0.1).certificate)


def test_a_kernel_whose_numbers_have_no_names_says_which_they_have() -> None:
    with pytest.raises(TypeError, match=r"Matern\(nu=…, lengthscale=…\), not Matern\(0.3\)"):
        sb.Matern(0.3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"alpha=…, lengthscale=…"):
        sb.RationalQuadratic(1.0, 2.0)  # type: ignore[arg-type]


ANSWERS = {"usual": 50, "stray": 20, "hills": 4, "change": 0.5, "repeat": 1.5}


def test_five_answers_make_a_study_that_ends_with_a_certificate_and_its_range(tmp_path: Path) -> None:
    said = sb.premises.ask(**ANSWERS)
    (tmp_path / "study.toml").write_text("budget = 60\nbatches = 2\n\n[parameters.t]\ntype = \"float\"\nlow = 0\nhigh = 60\nstep = 2\n")
    answers = "".join(f"{value}\n" for value in ANSWERS.values())
    command = [sys.executable, "-m", "sigmabar", "premises", "study.toml", "--questions", "-q"]
    subprocess.run(command, input=answers, text=True, cwd=tmp_path, check=True)
    assert str(said) in (tmp_path / "study.toml").read_text(), "the command writes the same lines"
    study = sb.Study.create(tmp_path / "python.db", "python", said.into({**STUDY, "budget": 60}))
    draws = itertools.count()
    study.run(lambda t: float(yields(np.array([t]), seed=next(draws))[0]))
    advice = study.recommend()
    assert advice is not None and advice.certificate.label == "certified", advice
    assert "for every function of norm up to" in str(advice.certificate)
    # The pictures of a run are there for the study that holds it.
    import matplotlib.pyplot as plt

    for drawn in (sb.plot.premises, sb.plot.premise_map, sb.plot.gap):
        assert drawn(study).get_xlabel()
        plt.close("all")


def test_answers_that_make_no_sense_are_refused_by_name() -> None:
    wrong_usual = [({"usual": value}, "usual") for value in (float("nan"), float("inf"), "x")]
    for wrong, match in (*wrong_usual, ({"stray": float("inf")}, "stray"), ({"stray": 0}, "stray"), ({"repeat": -1}, "repeat"), ({"change": 11}, "change"), ({"hills": 0}, "hills")):
        with pytest.raises((sb.Error, ValueError, TypeError), match=match):
            sb.premises.ask(**{**ANSWERS, **wrong})
    with pytest.raises(sb.Error, match="the study has a unit already"):
        sb.premises.ask(**ANSWERS).into({"unit": 3.0})


def test_what_a_table_suggests_is_learnt_from_it() -> None:
    study = {"budget": 40, "parameters": {"t": {"type": "float", "low": 0, "high": 1}}}
    t = np.linspace(0, 1, 30)
    y = np.sin(5 * t) + 0.1 * np.random.default_rng(1).normal(size=30)
    learnt = sb.premises.learn(study, {"t": t}, y)
    verdict = sb.premises.judge(learnt.into(study), {"t": t}, y)
    for bound in (learnt.keys["norm_bound"], verdict.suggested):
        posterior = sb.SparsePosterior(sb.Matern(nu=2.5, lengthscale=0.3), 0.1, t, y, inducing=t, collected="fixed")
        assert posterior.interval(t, bound, sb.Gaussian(0.1)).certificate.label == "estimated"
        assert posterior.interval(t, float(bound), sb.Gaussian(0.1)).certificate.label == "certified"
    assert all(type(value) is not sb.LearntNumber for value in learnt.into(study).values())


def test_pictures_of_a_study_count_what_rounding_a_setting_costs(tmp_path: Path) -> None:
    """The setting that is recommended has one digit, and is a little farther from the best than the one that was found."""
    keys = {
        "budget": 30,
        "batches": 3,
        "strategy": {"name": "s-bpe", "candidates": 100},
        "norm_bound": 2.0,
        "noise": 0.1,
        "kernel": {"name": "matern", "nu": 2.5, "lengthscale": 0.3},
        # In four columns candidates stand for the space, and one that is recommended need not be one that can be set.
        "parameters": {name: {"type": "float", "low": 0, "high": 1, "digits": 1} for name in "abcd"},
    }
    study = sb.Study.create(tmp_path / "s.db", "s", keys)
    rng = np.random.default_rng(1)
    study.run(lambda a, b, c, d: math.sin(2 * a) - 0.2 * (b - 0.35) ** 2 - 0.1 * c * d + 0.05 * rng.normal())
    whole, bare = study.standing(), study.strategy.standing()
    assert whole is not None and bare is not None and whole.range.claimed is not None and bare.range.claimed is not None
    assert whole.range.claimed > bare.range.claimed
    line = sb.plot.premises(study).get_lines()[0]
    assert whole.range.norm_breakdown is not None
    drawn = np.asarray(line.get_ydata())[np.asarray(line.get_xdata()) != whole.range.norm_breakdown / whole.growth]
    assert np.array_equal(drawn, whole.gaps, equal_nan=True) and not np.array_equal(drawn, bare.gaps, equal_nan=True)
    found = study.premise_map([1.0])
    assert found is not None and np.nanmax(found.gaps[0] - bare.gaps) > 0


def test_functions_are_drawn_along_a_number_and_over_the_levels_of_a_choice() -> None:
    kernel = sb.Matern(nu=2.5, lengthscale=0.4)
    figure = sb.plot.functions(kernel, 2.0, np.linspace(0, 1, 30), usual=50.0, unit=20.0, count=2)
    assert [len(ax.get_lines()[1].get_xdata()) for ax in figure.axes] == [30, 30]
    levels = sb.plot.functions(kernel, 2.0, np.eye(4), count=2)
    assert all(ax.get_lines()[1].get_linestyle() == "None" for ax in levels.axes), "nothing lies between two choices"


SOLVENTS = ["dmso", "thf", "dmf"]
CHOICES = {
    "budget": 60,
    "batches": 3,
    "parameters": {"t": {"type": "float", "low": 20, "high": 80, "step": 5}, "solvent": {"type": "categorical", "choices": SOLVENTS}},
}


def solvent_yields(t: float, solvent: str) -> float:
    best, height = {"dmso": (60, 25), "dmf": (60, 21), "thf": (45, 10)}[solvent]
    return 50 + height * math.exp(-(((t - best) / 25) ** 2))


def test_choices_are_learnt_to_a_certificate_with_its_range(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    t, words = 20 + 5.0 * (np.arange(30) * 7 % 13), [SOLVENTS[i % 3] for i in range(30)]
    y = np.array([solvent_yields(a, b) for a, b in zip(t, words)]) + rng.normal(size=30)
    learnt = sb.premises.learn(CHOICES, {"t": t, "solvent": words}, y)
    # In the order of the study, as rows of several kinds, it is the same table.
    assert sb.premises.learn(CHOICES, list(zip(t, words)), y).keys == learnt.keys
    assert sorted(learnt.keys["kernel"]["lengthscale"]) == ["solvent", "t"] and learnt.untaught == ()
    assert "values under two choices of solvent correlate by" in str(learnt)
    verdict = sb.premises.judge(learnt.into(CHOICES), {"t": t, "solvent": words}, y)
    assert verdict.least_norm == learnt.least_norm and verdict.suggested == pytest.approx(learnt.keys["norm_bound"], rel=1e-3)
    drawn = learnt.functions
    assert drawn is not None and drawn.along == "t" and drawn.values.shape == (3, 3, 201)
    assert drawn.choices == [f"solvent = {word}" for word in SOLVENTS]
    lines = [line.get_label() for line in sb.plot.functions(learnt).axes[0].get_lines()[1:]]
    assert lines == drawn.choices
    study = sb.Study.create(tmp_path / "s.db", "s", learnt.into(CHOICES))
    study.run(lambda t, solvent: solvent_yields(t, solvent) + rng.normal())
    advice = study.recommend()
    assert advice is not None and advice.label == "certified" and advice.premises is not None
    assert advice.premises.norm_breakdown >= float(learnt.keys["norm_bound"]) > advice.premises.least_norm
    with pytest.raises(sb.Error, match=r"column 'solvent', row 1: None is not the name of a choice"):
        sb.premises.learn(CHOICES, {"t": t, "solvent": ["dmso", None, *words[2:]]}, y)
    with pytest.raises(sb.Error, match="water"):
        sb.premises.learn(CHOICES, {"t": t, "solvent": ["water", *words[1:]]}, y)
    with pytest.raises(sb.Error, match="column 'solvent' has another number"):
        sb.premises.learn(CHOICES, {"t": t, "solvent": words[1:]}, y)


def test_a_list_with_words_is_learnt_too() -> None:
    rows = [[20 + 5 * i, word] for i in range(13) for word in SOLVENTS]
    study = {"budget": 60, "candidates": {"columns": ["t", "solvent"], "rows": rows}}
    y = [solvent_yields(t, word) + 0.3 * math.sin(7 * i) for i, (t, word) in enumerate(rows)]
    learnt = sb.premises.learn(study, rows, y)
    verdict = sb.premises.judge(learnt.into(study), rows, y)
    assert verdict.suggested == pytest.approx(learnt.keys["norm_bound"], rel=1e-3)


def test_one_thing_has_one_number(tmp_path: Path) -> None:
    """On a box the cells of a curve are coarser than those of the run: the map and the standing say the same all the same."""
    keys = {
        "budget": 40,
        "batches": 2,
        "norm_bound": 2.0,
        "noise": 0.1,
        "kernel": {"name": "matern", "nu": 2.5, "lengthscale": 0.3},
        "parameters": {name: {"type": "float", "low": 0, "high": 1} for name in "ab"},
    }
    study = sb.Study.create(tmp_path / "s.db", "s", keys)
    rng = np.random.default_rng(1)
    study.run(lambda a, b: math.sin(3 * a) * (1 - b) + 0.1 * rng.normal())
    for asked in (study, study.strategy):
        standing, found = asked.standing(), asked.premise_map([0.7, 1.0])
        assert standing is not None and found is not None
        assert np.array_equal(found.gaps[1], standing.gaps, equal_nan=True) and found.least_norms[1] == standing.range.least_norm
        assert standing.range.claimed is not None and standing.gaps[np.searchsorted(standing.norm_bounds, standing.norm_bound)] <= standing.range.claimed


def test_the_noise_at_which_a_claim_breaks_is_drawn() -> None:
    s = finished()
    found = s.standing()
    assert found is not None and found.noise_level == 0.1 and found.range.noise_breakdown is not None and found.range.gap is not None
    ax = sb.plot.premises(s, along="noise")
    line = ax.lines[0]
    levels, gaps = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert (found.range.noise_breakdown, found.range.gap) in zip(levels, gaps)
    stands = levels <= found.range.noise_breakdown
    assert np.nanmax(gaps[stands]) <= found.range.gap < np.nanmin(gaps[~stands])
    assert [line.get_xdata()[0] for line in ax.lines[1:3]] == [0.1, found.range.noise_breakdown]
    with pytest.raises(ValueError, match="along must be 'norm' or 'noise'"):
        sb.plot.premises(s, along="delta")  # type: ignore[arg-type]


def test_how_alike_choices_are_is_what_the_kernel_says(tmp_path: Path) -> None:
    said = sb.premises.ask(**ANSWERS, alike=0.25)
    lengths = said.into(CHOICES)["kernel"]["lengthscale"]
    assert lengths["t"] == ANSWERS["change"] and math.exp(-1 / lengths["solvent"]) == pytest.approx(0.25)
    # In a list two words are at distance 1 of a Matérn kernel.
    rows = {"budget": 9, "candidates": {"columns": ["t", "solvent"], "rows": [[0, "dmso"], [1, "thf"]]}}
    words = said.into(rows)["kernel"]["lengthscale"]["solvent"]
    assert sb.Matern(nu=2.5, lengthscale=words)([[0.0]], [[1.0]])[0, 0] == pytest.approx(0.25)
    assert said.into(STUDY)["kernel"]["lengthscale"] == ANSWERS["change"], "without choices nothing is asked"
    sb.Study.create(tmp_path / "s.db", "s", said.into(CHOICES))
    with pytest.raises(sb.Error, match="alike"):
        sb.premises.ask(**ANSWERS, alike=1.0)
