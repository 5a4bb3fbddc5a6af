"""Boxes and candidates are different words; parameters have names."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sigmabar as sb


@pytest.mark.parametrize(
    "domain",
    [
        [(0, 1), (0, 2)],
        [[0, 0], [5, 5]],
        np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]),
        [0.0, 1.0],
        np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 9.0]]),
        ((0, 5), (1, 9)),
        (list(np.array([0.0, 5.0])), list(np.array([1.0, 9.0]))),
    ],
)
def test_what_could_be_either_is_refused_with_both_spellings(domain: object) -> None:
    with pytest.raises(sb.Error, match=r"can be read in two ways: write sb\.Box\(.*, or sb\.(Candidates|Box)\(") as refused:
        sb.Strategy("random", domain=domain, budget=4)
    assert "np." not in str(refused.value), "spellings that can be copied"


def test_what_can_be_read_in_one_way_is_taken() -> None:
    assert repr(sb.Strategy("random", domain=([0.0, 0.0], [1.0, 2.0]), budget=4)) == "<Strategy 'random' on Box([0.0, 0.0], [1.0, 2.0]), budget 4>"
    assert repr(sb.Strategy("random", domain=sb.Box([(0, 1), (0, 2)]), budget=4)) == "<Strategy 'random' on Box([0.0, 0.0], [1.0, 2.0]), budget 4>"
    assert "Candidates(2 points of 2 columns)" in repr(sb.Strategy("random", domain=sb.Candidates([[0, 0], [5, 5]]), budget=4))
    assert "Candidates(40 points of 2 columns)" in repr(sb.Strategy("random", domain=np.random.default_rng(0).random((40, 2)), budget=4))
    assert "Candidates(3 points of 1 columns)" in repr(sb.Strategy("random", domain=[0.0, 0.5, 1.0], budget=4))
    with pytest.raises(sb.Error, match="a pair"):
        sb.Box([[0, 1, 2]])


def test_parameters_have_names_and_categories_are_what_they_are() -> None:
    space = sb.Space(temperature=sb.Float(20, 80), solvent=sb.Categorical(["dmso", "thf", "water"]), hours=sb.Int(1, 8))
    yields = {"dmso": 0.0, "thf": 5.0, "water": -3.0}

    def measure(temperature: float, solvent: str, hours: int) -> float:
        return yields[solvent] - ((temperature - 50) / 10) ** 2 + 0.1 * hours

    s = sb.Strategy("auto", domain=space, budget=40, batches=4)
    s.attach([{"temperature": 30, "solvent": "water", "hours": 2}], [measure(30, "water", 2)])
    while (asked := s.ask()) is not None:
        for id, params in asked:
            s.tell(id, measure(**params))
    best = s.recommend()
    assert best is not None and best.params["solvent"] == "thf" and abs(best.params["temperature"] - 50) < 8
    assert list(best.params) == ["temperature", "solvent", "hours"] and isinstance(best.params["hours"], int)
    assert "thf" in best._repr_html_() and best.label in best._repr_html_()
    again = pickle.loads(pickle.dumps(s)).recommend()
    assert again is not None and again.params == best.params
    assert s.predict([best.params])[0].shape == (1,)  # type: ignore[index]
    assert repr(space) == "Space(temperature=Float(20, 80), solvent=Categorical(['dmso', 'thf', 'water']), hours=Int(1, 8))"
    with pytest.raises(sb.Error, match="solvent is 'ethanol': it must be one of 'dmso'"):
        space.points([{"temperature": 30, "solvent": "ethanol", "hours": 2}])
    with pytest.raises(sb.Error, match="it needs 'temperature', 'solvent', 'hours'"):
        space.points([{"temperature": 30}])
    with pytest.raises(sb.Error, match="a constraint names 'acid'"):
        sb.Space(constraints=[sb.Constraint({"acid": 1}, "<=", 1)], base=sb.Float(0, 1))
    assert sb.Space(constraints=[sb.Constraint({"a": 1, "b": 1}, "<=", 1)], a=sb.Float(0, 1), b=sb.Float(0, 1)).candidates(64).sum(axis=1).max() <= 1


def test_labels_of_candidates_come_back() -> None:
    s = sb.Strategy("random", domain=sb.Candidates([[0.0], [1.0], [2.0]], labels=["low", "middle", "high"]), budget=9)
    while (asked := s.ask()) is not None:
        assert {params["label"] for params in asked.params} <= {"low", "middle", "high"}
        s.tell(asked.ids, asked.points[:, 0])
    best = s.recommend()
    assert best is not None and best.params == {"label": "high", "x0": 2.0}


def test_results_show_themselves_in_notebooks_and_as_frames() -> None:
    x = np.linspace(0, 1, 30)
    p = sb.ExactPosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x))
    interval = p.interval(x, norm_bound=3.0, noise=sb.Gaussian(0.1))
    assert "and 20 more" in interval._repr_html_() and "<pre>certified" in interval.certificate._repr_html_()
    s = sb.Strategy("sobol", domain=([0.0], [1.0]), budget=3)
    s.tell(s.ask().ids, [0.5, None, 1.0])  # type: ignore[union-attr]
    pytest.importorskip("pandas")
    assert list(s.trials.dataframe().columns) == ["id", "batch", "x0", "state", "value", "standard_error"]


def test_plots_take_regressors_and_names() -> None:
    pandas = pytest.importorskip("pandas")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from sigmabar.sklearn import SparseKernelRegressor

    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.random((80, 2)), columns=["speed", "angle"])
    drag = pandas.Series(np.sin(4 * table["speed"]) + 0.1 * rng.standard_normal(80), name="drag")
    model = SparseKernelRegressor(n_inducing=20).fit(table, drag)
    ax = sb.plot.posterior(model, data=(table, drag), column="speed")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("speed", "drag")
    assert sb.plot.calibration(model, table, drag).get_ylabel() == "observed"
    with pytest.raises(ValueError, match="there is no column 'sped': there are speed, angle"):
        sb.plot.posterior(model, column="sped")
    # Categories are drawn at one of them, never between.
    table["wing"] = np.where(table["angle"] > 0.3, "swept", "straight")
    model = SparseKernelRegressor(n_inducing=20).fit(table, drag)
    assert sb.plot.calibration(model, table, drag).get_ylabel() == "observed"

    def mean(**at: Any) -> Any:
        lines = sb.plot.posterior(model, data=(table, drag), column="speed", **at).get_lines()
        return next(line.get_ydata() for line in lines if line.get_label() == "mean")

    middle = float(table["angle"].min() + table["angle"].max()) / 2
    np.testing.assert_allclose(mean(), mean(at=[0.0, middle, "swept"]))
    with pytest.raises(ValueError, match="wing holds categories"):
        sb.plot.posterior(model, data=(table, drag), column="wing")


def test_what_is_still_possible_is_drawn_by_the_names_of_the_parameters(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    kernel = {"name": "matern", "lengthscale": 0.5}
    spec: dict[str, Any] = {"budget": 12, "batches": [12], "strategy": "s-bpe", "norm_bound": 1.0, "noise": {"gaussian": 0.05}, "kernel": kernel}
    spec["parameters"] = {name: {"type": "float", "low": 0, "high": 1} for name in ("east", "north")}
    study = sb.Study.create(tmp_path / "s.db", "hill", spec)
    study.run(lambda east, north: east / 2)
    ax = sb.plot.survivors(study)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("east", "north", "still possible after 1 batch")
    space = sb.Space(speed=sb.Float(0, 1), angle=sb.Float(0, 90))
    s = sb.Strategy("s-bpe", domain=space, kernel=sb.Matern(nu=2.5, lengthscale=0.5), norm_bound=1.0, noise=sb.Gaussian(0.05), budget=12)
    asked = s.ask()
    assert asked is not None
    s.tell(asked.ids, asked.points[:, 0] / 2)
    assert sb.plot.survivors(s).get_xlabel() == "speed"
    s = sb.Strategy("s-bpe", domain=np.linspace(0, 1, 30), kernel=sb.Matern(nu=2.5, lengthscale=0.5), norm_bound=1.0, noise=sb.Gaussian(0.05), budget=12)
    asked = s.ask()
    assert asked is not None
    s.tell(asked.ids, asked.points[:, 0] / 2)
    assert sb.plot.survivors(s, candidates=np.linspace(0, 1, 30)).get_xlabel() == "column 0"
    with pytest.raises(ValueError, match="candidates="):
        sb.plot.survivors(s)


def saved_on(domain: Any) -> bytes:
    return sb.Strategy("sobol", domain=domain, budget=8).save()


def test_a_saved_run_takes_its_own_domain_and_no_other() -> None:
    def space(solvents: list[str], high: float = 100, **more: Any) -> sb.Space:
        return sb.Space(t=sb.Float(0, high), solvent=sb.Categorical(solvents), **more)

    data = saved_on(space(["acid", "base"]))
    again = sb.Strategy.load(data, domain=space(["acid", "base"]))
    for run in (again, sb.Strategy.load(sb.Strategy.load(data).save(), domain=space(["acid", "base"])), pickle.loads(pickle.dumps(again))):
        assert [set(p) for _, p in run.ask(2)] == [{"t", "solvent"}] * 2
        assert run.save().count(b"solvent") > 0
    for other, words in (
        (space(["base", "acid"]), r"solvent: choices was \['acid', 'base'\] and is \['base', 'acid'\]"),
        (space(["acid", "base"], 1), "t: high was 100.0 and is 1.0"),
        (sb.Space(solvent=sb.Float(0, 100), t=sb.Categorical(["acid", "base"])), "names was"),
        (sb.Space([sb.Float(0, 100), sb.Categorical(["acid", "base"])]), "names was"),
        (sb.Box([0, 0], [100, 1]), "kind was 'Space' and is 'Box'"),
    ):
        with pytest.raises(sb.Error, match=f"not that of the saved run: {words}"):
            sb.Strategy.load(data, domain=other)


def test_a_saved_list_is_known_by_its_rows_and_labels() -> None:
    data = saved_on(sb.Candidates([[0.1], [0.2], [0.3]], labels=["a", "b", "c"]))
    sb.Strategy.load(data, domain=sb.Candidates([[0.1], [0.2], [0.3]], labels=["a", "b", "c"]))
    for points, labels, words in (([[0.2], [0.1], [0.3]], ["a", "b", "c"], "points"), ([[0.1], [0.2], [0.3]], ["b", "a", "c"], "labels")):
        with pytest.raises(sb.Error, match=f"hash of the {words} was"):
            sb.Strategy.load(data, domain=sb.Candidates(points, labels=labels))


def test_choices_without_an_order_are_refused() -> None:
    with pytest.raises(sb.Error, match="a list of different things"):
        sb.Space(solvent=sb.Categorical({"acid", "base"}))  # type: ignore[arg-type]
