"""Sums over rows, updates in blocks: the same model whoever adds."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import sigmabar as sb


def data(n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    return X, 2.0 + np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)


def plan(X: np.ndarray, chunks: int = 5, **changes: object) -> sb.Plan:
    settings: dict[str, object] = {"inducing": X[:40], "chunks": chunks, "centre": 2.0, "mean": 2.0, "collected": "fixed"}
    return sb.Plan(sb.Matern(nu=2.5, lengthscale=0.5), 0.1, **{**settings, **changes})  # type: ignore[arg-type]


def test_leaves_in_any_order_through_pickles() -> None:
    X, y = data()
    p = plan(X)
    parts = [p.leaf(i, X[i::5], y[i::5]) for i in range(5)]
    one = p.model(p.merge(parts)).save()
    for order in ([4, 2, 0, 1, 3], [1, 0, 3, 4, 2]):
        sent = [pickle.loads(pickle.dumps(parts[i])) for i in order]
        assert pickle.loads(pickle.dumps(p)).model(p.merge(sent)).save() == one
    rows = np.concatenate([X[i::5] for i in range(5)])
    values = np.concatenate([y[i::5] for i in range(5)])
    fitted = sb.SparsePosterior(sb.Matern(nu=2.5, lengthscale=0.5), 0.1, rows, values, inducing=X[:40], mean=2.0, collected="fixed")
    model = p.model(p.merge(parts))
    np.testing.assert_allclose(model.predict(X[:50]), fitted.predict(X[:50]), rtol=1e-9)
    claim = {"norm_bound": 6.0, "noise": sb.Gaussian(0.1)}
    assert model.interval(X[:3], **claim).certificate.label == "certified"  # type: ignore[arg-type]
    with pytest.raises(sb.Error, match="every measured row is needed"):
        model.weights(X[:1])


def test_a_plan_is_extended_by_the_rows_explained_worst() -> None:
    X, y = data()
    p = plan(X, inducing=X[:10])
    sums = p.merge(p.leaf(i, X[i::5], y[i::5]) for i in range(5))
    more = p.extend(sums, inducing=14)
    assert more._core.sizes()[0] == 14
    again = more.merge(more.leaf(i, X[i::5], y[i::5]) for i in (3, 1, 0, 4, 2))
    assert again.residual_trace < sums.residual_trace
    assert more.model(again).interval(X[:3], 6.0, sb.Gaussian(0.1)).certificate.label == "certified"
    with pytest.raises(sb.Error, match="cannot be extended"):
        p.extend(sums, inducing=10)
    with pytest.raises(sb.Error, match="another inducing points"):
        more.extend(sums)


def test_a_chunk_is_known_by_a_whole_number() -> None:
    X, y = data()
    p = plan(X, chunks=2)
    for wrong, words in ((-1, "chunk must be at least 0, not -1"), (0.5, "chunk must be a whole number, not 0.5")):
        with pytest.raises(sb.Error, match=words):
            p.leaf(wrong, X, y)  # type: ignore[arg-type]
        with pytest.raises(sb.Error, match=words):
            p.sum([wrong])  # type: ignore[list-item]


def test_sums_know_the_machines_behind_them() -> None:
    X, y = data()
    p = plan(X, chunks=2)
    first, second = p.leaf(0, X[:300], y[:300]), p.leaf(1, X[300:], y[300:])
    (here,) = first.instructions
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p.model(first.merge(second))

    class Mixed:
        """Sums of two machines."""

        _core, instructions = first.merge(second)._core, [here, "another machine"]

    with pytest.warns(UserWarning, match="different vector instructions .*another machine.*not to the bit"):
        p.model(Mixed())  # type: ignore[arg-type]


def test_refusals_by_name() -> None:
    X, y = data()
    p = plan(X)
    first = p.leaf(0, X[:100], y[:100])
    with pytest.raises(sb.Error, match="chunk 0 is in both"):
        first.merge(first)
    with pytest.raises(sb.Error, match="chunk 1 is missing, and 3 more"):
        p.model(first)
    with pytest.raises(sb.Error, match="another inducing points"):
        first.merge(plan(X, inducing=X[1:30]).leaf(1, X[:9], y[:9]))
    with pytest.raises(sb.Error, match="there is no chunk 9"):
        p.leaf(9, X[:1], y[:1])
    with pytest.raises(sb.Error, match="100 points and 99 responses"):
        p.leaf(1, X[:100], y[:99])
    holes = X[100:200].copy()
    holes[7, 1] = np.nan
    with pytest.raises(sb.Error, match="row 7, column 1"):
        p.leaf(1, holes, y[100:200])
    dropped = plan(X, drop_missing=True).leaf(1, holes, y[100:200])
    assert (dropped.rows, dropped.dropped, dropped.missing) == (99, 1, [0, 2, 3, 4])
    with pytest.raises(sb.Error, match="not made by sigmabar plan"):
        p.sum([0])


def test_a_plan_of_the_command_is_summed_here(tmp_path: Path) -> None:
    X, y = data()
    for i in range(3):
        lines = ["a,b,y", *(f"{float(a)!r},{float(b)!r},{float(v)!r}" for (a, b), v in zip(X[i::3], y[i::3]))]
        (tmp_path / f"part-{i}.csv").write_text("\n".join(lines) + "\n")
    run = [sys.executable, "-m", "sigmabar", "-q"]
    declared = ["--target", "y", "--lengthscale", "0.5", "--tau", "0.1", "--inducing", "30", "--prior-mean", "2"]
    subprocess.run([*run, "plan", str(tmp_path / "part-*.csv"), *declared, "-o", "p.sbp"], cwd=tmp_path, check=True)
    p = sb.Plan.load(tmp_path / "p.sbp")
    sums = p.sum([2, 0]).merge(p.sum([1]))
    (tmp_path / "a.sba").write_bytes(sums.to_file())
    subprocess.run([*run, "merge", "a.sba", "-o", "m.sbm"], cwd=tmp_path, check=True)
    assert (tmp_path / "m.sbm").read_bytes() == p.model_bytes(sums)
    assert p.model(sums).facts["target"] == "y"


def test_updates_in_blocks_are_those_row_by_row() -> None:
    X, y = data()

    def start() -> sb.SparsePosterior:
        return sb.SparsePosterior(sb.Matern(nu=2.5, lengthscale=0.5), 0.1, X[:200], y[:200], inducing=X[:40], mean=2.0, collected="fixed")

    block, single = start(), start()
    block.update(np.concatenate([X[200:], X[:3]]), np.concatenate([y[200:], y[:3]]), collected="fixed")
    for i in [*range(200, 600), 0, 1, 2]:
        single.update(X[i : i + 1], y[i : i + 1], collected="fixed")
    np.testing.assert_allclose(block.predict(X[:50]), single.predict(X[:50]), rtol=1e-8)
    np.testing.assert_allclose(block.elbo, single.elbo, rtol=1e-9)
    assert len(block) == 603
    claim = {"norm_bound": 6.0, "noise": sb.Gaussian(0.1)}
    np.testing.assert_allclose(block.interval(X[:5], **claim).upper, single.interval(X[:5], **claim).upper, rtol=1e-6)  # type: ignore[arg-type]
    before = block.predict(X[:5])
    with pytest.raises(sb.Error):
        block.update(X[:2], [1.0, np.nan])
    np.testing.assert_array_equal(block.predict(X[:5]), before)


def test_new_regions_are_told_of() -> None:
    X, y = data()
    p = sb.SparsePosterior(sb.Matern(nu=2.5, lengthscale=0.2), 0.1, X, y, inducing=X[:40], mean=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p.update(X[:10], y[:10])
    with pytest.warns(UserWarning, match="10 of the new rows lie where"):
        p.update(X[:10] + 5.0, y[:10])


def test_importing_stays_light() -> None:
    code = "import sys, sigmabar; print([m for m in ('dask', 'distributed', 'pyspark', 'ray', 'pyarrow', 'pandas') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_what_was_learnt_on_the_rows_summed_was_not_learnt_elsewhere() -> None:
    X, y = data(1200)
    learnt = sb.fit_hyperparameters(sb.Matern(nu=2.5, lengthscale=0.5), X[:600], y[:600]).for_new_data()
    claim = {"norm_bound": 50.0, "noise": sb.Gaussian(0.1)}
    for rows, label in ((slice(0, 600), "estimated"), (slice(600, 1200), "certified"), (slice(300, 900), "estimated")):
        p = sb.Plan(learnt.kernel, learnt.tau, inducing=X[::30], chunks=1, mean=2.0, collected="fixed")
        for one in (p, pickle.loads(pickle.dumps(p))):
            model = one.model(one.leaf(0, X[rows], y[rows]))
            assert model.interval(X[:3], **claim).label == label


def test_copies_that_come_in_one_update_are_seen_without_rows() -> None:
    X, y = data()
    claim = {"norm_bound": 50.0, "noise": sb.Gaussian(0.1)}
    for rows, label in ((np.arange(100), "certified"), (np.full(100, 7), "estimated")):
        p = plan(X, chunks=1)
        model = p.model(p.leaf(0, X[:500], y[:500]))
        model.update(X[rows] + 0.5, y[rows], collected="fixed")
        assert model.interval(X[:3], **claim).label == label


@pytest.mark.parametrize(("engine", "package"), [("dask", "dask"), ("dask", "distributed"), ("spark", "pyspark"), ("ray", "ray")])
def test_an_engine_that_is_not_installed_is_named_with_its_remedy(engine: str, package: str) -> None:
    """A package that stands as nothing among the modules cannot be imported, installed or not."""
    program = f"import sys; sys.modules[{package!r}] = None; import sigmabar.{engine}"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert f'pip install "sigmabar[{engine}]"' in found.stderr
