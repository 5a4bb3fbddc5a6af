"""What may be handed in: every order, type and table; and what is refused, in clear words."""

from __future__ import annotations

import json
import pickle
import threading
import time
import warnings

import numpy as np
import pytest

import sigmabar as sb

K = sb.SquaredExponential(0.5)
X = np.random.default_rng(0).random((40, 2))
Y = X.sum(axis=1)
EXPECTED = sb.ExactPosterior(K, 0.1, X, Y).mean(X)


def means(points: object, values: object = Y) -> np.ndarray:
    return sb.ExactPosterior(K, 0.1, points, values).mean(points)


@pytest.mark.parametrize(
    "points",
    [
        np.asfortranarray(X),
        X.tolist(),
        np.repeat(X, 2, axis=1)[:, ::2],
        X.astype(object),
        np.ma.masked_array(X),
    ],
    ids=["fortran", "lists", "strided", "objects", "masked array without masks"],
)
def test_any_layout_gives_the_same(points: object) -> None:
    np.testing.assert_array_equal(means(points), EXPECTED)


def test_designed_is_the_word_of_the_user() -> None:
    said = sb.SparsePosterior(K, 0.1, X, Y, inducing=X[:5], collected="designed").interval(X[:1], 2.0, sb.Gaussian(0.1)).certificate
    assert json.loads(said.to_json())["premises"]["points"] == {"value": "declared_fixed", "origin": "declared"}


def test_small_types_are_converted() -> None:
    np.testing.assert_allclose(means(X.astype(np.float32)), EXPECTED, rtol=1e-5)
    assert means([[0, 1], [1, 0]], [1, 2]).shape == (2,)


def test_read_only_arrays_are_read() -> None:
    frozen = X.copy()
    frozen.setflags(write=False)
    np.testing.assert_array_equal(means(frozen), EXPECTED)


def test_tables_are_taken_as_they_are() -> None:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    columns = {"a": X[:, 0], "b": X[:, 1]}
    for table in (pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)):
        np.testing.assert_array_equal(means(table), EXPECTED)
    for values in (pandas.Series(Y), polars.Series(Y), polars.DataFrame({"y": Y}), pyarrow.chunked_array([Y[:10], Y[10:]])):
        np.testing.assert_array_equal(means(X, values), EXPECTED)
    mixed = polars.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    np.testing.assert_array_equal(K(mixed), K([[1, 0.5], [2, 1.5]]))


def test_a_bad_cell_of_a_table_is_named() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(sb.Error, match='row 1, column "b": the value is missing'):
        K(polars.DataFrame({"a": [1.0, 2.0], "b": [0.5, None]}))
    with pytest.raises(sb.Error, match='column "c" holds .* not numbers'):
        K(polars.DataFrame({"a": [1.0], "c": ["x"]}))


def test_the_index_of_a_table_is_not_data() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y})
    some = frame[frame["a"] > 0.5]
    assert not isinstance(some.index, pandas.RangeIndex)
    np.testing.assert_array_equal(means(some[["a", "b"]], some["y"]), means(X[X[:, 0] > 0.5], Y[X[:, 0] > 0.5]))
    np.testing.assert_array_equal(means(frame[["a", "b"]], frame[["y"]]), EXPECTED)
    with pytest.raises(sb.Error, match='row 1, column "b": the value is missing'):
        K(pandas.DataFrame({"a": [1, 2], "b": [1, None]}, dtype="Int64"))
    with pytest.raises(sb.Error, match='column "c" must be numbers'):
        K(pandas.DataFrame({"a": [1.0], "c": ["1.5"]}))
    with pytest.raises(sb.Error, match='column "t" must be numbers, not dates'):
        K(pandas.DataFrame({"t": pandas.to_datetime(["2020-01-01"])}))


def test_a_table_that_cannot_speak_arrow_here_is_read_as_an_array() -> None:
    class Table:
        columns = ("a", "b")

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise ImportError("another library is needed")

        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            return X

    np.testing.assert_array_equal(means(Table()), EXPECTED)


class OnlyInterchange:
    """A table that hands its columns out through the interchange protocol and in no other way."""

    def __init__(self, table: object) -> None:
        self.table = table

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> object:
        return self.table.__dataframe__(allow_copy=allow_copy)  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:The Dataframe Interchange Protocol")
def test_tables_of_the_interchange_protocol_are_taken() -> None:
    pandas, pyarrow = (pytest.importorskip(name) for name in ("pandas", "pyarrow"))
    columns = {"a": X[:, 0], "b": X[:, 1]}
    whole = pyarrow.table(columns)
    for table in (pandas.DataFrame(columns), whole, pyarrow.concat_tables([whole.slice(0, 13), whole.slice(13)])):
        np.testing.assert_array_equal(means(OnlyInterchange(table)), EXPECTED)
    mixed = {"a": [1, 2, 3], "b": [True, False, True], "c": np.array([0.5, 1.5, 2.5], dtype=np.float32)}
    for table in (pandas.DataFrame(mixed), pyarrow.table(mixed), pyarrow.table(mixed).slice(1)):
        expected = [[1, 1, 0.5], [2, 0, 1.5], [3, 1, 2.5]][-len(table) :]
        np.testing.assert_array_equal(K(OnlyInterchange(table)), K(expected))
    for table in (pandas.DataFrame({"a": [1, 2], "b": [1, None]}, dtype="Int64"), pyarrow.table({"a": [1, 2], "b": [1, None]})):
        with pytest.raises(sb.Error, match='row 1, column "b": the value is missing'):
            K(OnlyInterchange(table))
    with pytest.raises(sb.Error, match='column "c" must be numbers'):
        K(OnlyInterchange(pandas.DataFrame({"c": ["x"]})))


def test_memory_that_is_not_aligned_is_copied_first() -> None:
    shifted = np.frombuffer(b"\0" + X.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(X.shape)
    assert not shifted.flags.aligned
    np.testing.assert_array_equal(means(shifted), EXPECTED)
    record = np.zeros(40, dtype=[("tag", "i1"), ("x", "f8", 2)])
    record["x"] = X
    np.testing.assert_array_equal(means(record["x"]), EXPECTED)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: K(np.ma.masked_array([[1.0, 2.0]], [[False, True]])), r"\[0, 1\] is masked"),
        (lambda: K(np.array(["2020-01-01"], dtype="datetime64[D]")), "not dates"),
        (lambda: K(np.array([["1.5"]])), "not text"),
        (lambda: K(np.array([["1.5"]], dtype=object)), "not '1.5'"),
        (lambda: K([[1.0, 2.0], [3.0]]), "every row with as many"),
        (lambda: sb.SquaredExponential("a"), "lengthscale must be numbers"),
        (lambda: sb.SquaredExponential(-1.0), "length"),
        (lambda: K([[0.0, np.nan]]), "row 0.*column 1"),
        (lambda: K([["a", "b"]]), "must be numbers"),
        (lambda: K([[1j]]), "complex"),
        (lambda: K(np.zeros((2, 2, 2))), "two dimensions"),
        (lambda: K(np.zeros((0, 2))), "empty"),
        (lambda: sb.SquaredExponential([0.1, 0.2])([[1.0]]), None),
        (lambda: sb.ExactPosterior(K, 0.1, X, Y[:-1]), "40"),
        (lambda: sb.ExactPosterior(K, 0.0, X, Y), "ridge"),
        (lambda: sb.SparsePosterior(K, 0.1, X, Y, inducing=X[:5], collected="maybe"), 'collected "maybe"'),
        (lambda: sb.select_inducing(K, X, 0.1, method="gredy"), "did you mean \"greedy\""),
        (lambda: sb.select_inducing(K, X, 0.1, method="kmeans"), "needs a size"),
        (lambda: sb.SubGaussian(-1), None),
        (lambda: sb.Strategy("s-bbe", domain=X, budget=5), "did you mean \"s-bpe\""),
        (lambda: sb.Strategy("s-bpe", domain=X, budget=0), "budget"),
        (lambda: sb.Strategy("ei", domain=X, budget=5, kernel=K, tau=0.1, batch_lne=3), "did you mean \"batch_len\""),
        (lambda: sb.Strategy("s-bpe", domain=X, budget=9, kernel=K, tau=0.1), "norm"),
        (lambda: sb.Strategy("random", domain=([1.0], [0.0]), budget=5), None),
        (lambda: sb.Strategy.load(b"nonsense"), None),
        (lambda: sb.SparsePosterior.load(b"nonsense"), None),
        (lambda: sb.theory.samples_for(K, 0.1, X), "say what is wanted"),
        (lambda: sb.select_inducing(K, X, 0.1, method="bless", size=5), "leave size out"),
        (lambda: sb.select_inducing(K, X, 0.1, method="kmeans", size=5, subsample=9), "takes no subsample"),
        (lambda: sb.theory.batch_sizes(100, even=True), "even=True needs the number"),
        (lambda: sb.theory.batch_sizes(100, gain_exponent=0.5), "gain_exponent"),
        (lambda: sb.Strategy("ei", domain=X, budget=5, kernel=K, tau=0.1, batch_size=3), "batch_size of strategy \"ei\": it is called batch_len now"),
        (lambda: sb.Strategy("bbkb", domain=X, budget=5, kernel=K, tau=0.1, cap=30), "cap of strategy \"bbkb\""),
        (lambda: sb.Strategy("s-bpe", domain=X, budget=5, kernel=K, even_batches=True), "it is called schedule now"),
        (lambda: sb.Strategy("s-bpe", domain=X, budget=5, mode="auto"), "\"auto\" is a strategy of its own"),
        (lambda: sb.Strategy("ei", domain=X, budget=5, margin="much"), "found \"much\", where a number of at least 0 is needed"),
        (lambda: sb.Strategy("auto", domain=X, budget=5, batches="two"), "batches must be a whole number, not 'two'"),
        (lambda: sb.Strategy("s-bpe", domain=X, budget=5, informative_failures="x"), "informative_failures must be True or False"),
        (lambda: sb.Strategy(3, domain=X, budget=5), "name must be text, not 3"),
        (lambda: sb.Strategy.load("x"), "bytes that save returned, not str"),
        (lambda: sb.ExactPosterior(K, 0.1, X, Y, collected=5), "collected must be text, not 5"),
        (lambda: sb.ExactPosterior(K, 0.1, X, Y).interval(X, 1.0, sb.Gaussian(1), coverage="continuous", domain=5), r"domain must be a pair \(low, high\)"),
        (lambda: sb.fit_hyperparameters(K, X, Y, tau_limits=3), "tau_limits must be a pair"),
        (lambda: sb.Space([3]), "column 0 must be a Float"),
        (lambda: sb.Candidates(X[:2], labels=[1, 2]), "labels must be text, not 1"),
        (lambda: sb.Study("nowhere.db"), "nowhere.db: there is no such file: create a study first"),
        (lambda: sb.Study("a.toml"), r'Study.create\("a.db", "a", "a.toml"\) begins its study'),
        (lambda: sb.Study(3), r'a study is in a file or on a server: Study\("study.db"\)'),
    ],
)
def test_wrong_use_is_refused_in_clear_words(call, words: str | None) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sb.Error, match=words) as refused:
        call()
    assert isinstance(refused.value, ValueError)
    assert "PanicException" not in repr(refused.value)


def test_other_threads_run_while_it_works() -> None:
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    points = np.random.default_rng(0).random((30_000, 4))
    before = ticks
    sb.select_inducing(K, points, 0.1, method="rpcholesky", size=300, theta=None)
    during = ticks - before
    done.set()
    counter.join()
    assert during >= 5


def test_updates_from_many_threads_all_count() -> None:
    p = sb.SparsePosterior(K, 0.1, X, Y, inducing=X[:20])

    def work() -> None:
        for _ in range(25):
            p.update(X[:2], Y[:2])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(p) == 40 + 6 * 25 * 2


def test_ctrl_c_ends_a_long_call_at_once() -> None:
    import _thread

    points = np.random.default_rng(0).random((60_000, 6))
    threading.Timer(0.2, _thread.interrupt_main).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sb.select_inducing(sb.SquaredExponential(0.2), points, 0.1, method="rpcholesky", size=3000, theta=None)
    assert time.monotonic() - started < 3.0
    assert means(X).shape == (40,), "the library goes on working"


def test_sparse_matrices_and_huge_integers_are_refused_in_words() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(sb.Error, match="toarray"):
        sb.SquaredExponential(0.2)(sparse.csr_matrix(np.eye(3)), np.eye(3))
    with pytest.raises(sb.Error, match="fit a float"):
        sb.SquaredExponential(0.2)([[10**400]], [[1.0]])
    with pytest.raises(sb.Error, match="fits a float"):
        sb.SparsePosterior(sb.SquaredExponential(0.2), 10**400, X, Y, inducing=X[:5])


LARGE = 2**53


@pytest.mark.parametrize(
    ("points", "where"),
    [
        (np.array([LARGE, LARGE + 1]), "points, row 1: 9007199254740993 is"),
        (np.array([[1, 2], [3, 2**64 - 1]], dtype=np.uint64), "points, row 1, column 1: 18446744073709551615 is"),
        (np.array([[1, LARGE + 1]], dtype=object), "points, row 0, column 1"),
        ([[0.5, LARGE], [0.5, LARGE + 1]], "points, row 1, column 1"),
    ],
    ids=["integers", "without sign", "objects", "beside fractions"],
)
def test_whole_numbers_that_floats_cannot_hold_are_refused_by_their_place(points: object, where: str) -> None:
    with pytest.raises(sb.Error, match=f"{where}.*cannot tell from its neighbours"):
        K(points, points)


def test_large_whole_numbers_of_tables_are_refused_by_their_column() -> None:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    columns = {"a": [0.5, 0.25], "id": [LARGE, LARGE + 1]}
    for table in (pandas.DataFrame(columns), pandas.DataFrame(columns).convert_dtypes(), polars.DataFrame(columns), pyarrow.table(columns)):
        with pytest.raises(sb.Error, match='(column "id", row 1|row 1, column "id"): 9007199254740993 is'):
            K(table, table)
    held = np.array([[0, LARGE], [1, LARGE + 2]])
    assert K(held, held).shape == (2, 2), "what floats hold is taken"


def test_the_log_evidence_lies_in_its_bracket() -> None:
    for tau in (1.0, 0.1, 1e-2):
        kernel = sb.Matern(nu=2.5, lengthscale=0.5)
        bracket = sb.SparsePosterior(kernel, tau, X, Y, inducing=X).log_evidence
        exact = sb.ExactPosterior(kernel, tau, X, Y).log_evidence
        assert bracket.lower <= exact <= bracket.upper


def test_labels_in_another_order_are_refused() -> None:
    """Rows go by their places: a column sorted by itself paired each point with the result of another, and the claim was called certified."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["a", "b"])
    results = pandas.Series(Y)
    np.testing.assert_array_equal(means(table, results), EXPECTED)
    np.testing.assert_array_equal(means(table, results.set_axis(range(7, 47))), EXPECTED)
    shuffled = results.sort_values()
    for taken in (
        lambda y: means(table, y),
        lambda y: sb.SparsePosterior(K, 0.1, table, y, inducing=X[:5]),
        lambda y: sb.fit_hyperparameters(K, table, y, starts=1),
    ):
        with pytest.raises(sb.Error, match=r"y has the labels of X in another order.*y\.to_numpy\(\)"):
            taken(shuffled)
    np.testing.assert_array_equal(means(table.loc[shuffled.index], shuffled.loc[shuffled.index]), means(X[shuffled.index], Y[shuffled.index]))
    run = sb.Strategy("sobol", domain=([0.0], [1.0]), budget=8)
    asked = run.ask()
    found = pandas.Series(asked.points[:, 0], index=asked.ids)
    with pytest.raises(sb.Error, match="values has the labels of ids in another order"):
        run.tell(asked.ids, found.sort_values())
    run.tell(asked.ids, found)


def test_whatever_goes_with_the_rows_goes_in_their_order() -> None:
    """Weights, standard errors and replicates went by place too, each to another row, and the claim was called certified."""
    pandas = pytest.importorskip("pandas")
    table, results = pandas.DataFrame(X, columns=["a", "b"]), pandas.Series(Y)
    weights = pandas.Series(1.0 + np.arange(len(Y)) % 5)
    for fit in (
        lambda w: sb.SparsePosterior(K, 0.1, table, results, inducing=X[:5], weights=w).mean(X),
        lambda w: sb.fit_hyperparameters(K, table, results, weights=w, starts=1).posterior.mean(X),
    ):
        np.testing.assert_array_equal(fit(weights), fit(weights.to_numpy()))
        with pytest.raises(sb.Error, match="weights has the labels of X in another order"):
            fit(weights.sort_values())
    for wrong in ("standard_errors", "replicates"):

        def beside(labels: list[int], wrong: str = wrong) -> dict[str, object]:
            given = {"standard_errors": pandas.Series([0.1, 0.2, 0.3, 0.4], index=labels), "replicates": pandas.Series([2, 3, 4, 5], index=labels)}
            return {**given, wrong: given[wrong].iloc[::-1]}

        run = sb.Strategy("sobol", domain=([0.0], [1.0]), budget=8)
        with pytest.raises(sb.Error, match=f"{wrong} has the labels of points in another order"):
            run.attach(pandas.DataFrame({"x": [0.1, 0.2, 0.3, 0.4]}, index=[3, 1, 2, 0]), [1.0, 2.0, 3.0, 4.0], **beside([3, 1, 2, 0]))
        asked = run.ask(4)
        with pytest.raises(sb.Error, match=f"{wrong} has the labels of ids in another order"):
            run.tell(asked.ids, [1.0, 2.0, 3.0, 4.0], **beside(list(asked.ids)))
    study = {"budget": 48, "batches": 3, "parameters": {"t": {"type": "float", "low": 0, "high": 1}}}
    place = pandas.DataFrame({"t": X[:, 0]})
    for columns in (place, {"t": place["t"]}):
        assert sb.premises.learn(study, columns, results).results == len(Y)
        with pytest.raises(sb.Error, match="y has the labels of .* in another order"):
            sb.premises.learn(study, columns, results.sort_values())


def test_inducing_points_go_by_the_names_of_the_columns() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(sb.SparsePosterior(K, 0.1, table, Y, inducing=table[:5]).inducing, sb.SparsePosterior(K, 0.1, X, Y, inducing=X[:5]).inducing)
    with pytest.raises(sb.Error, match="inducing points: the columns are b, a, and those of the model a, b"):
        sb.SparsePosterior(K, 0.1, table, Y, inducing=table[["b", "a"]][:5])


def test_a_masked_row_in_a_list_is_refused() -> None:
    """NumPy makes a plain array of such a list, with what stands under the mask."""
    hidden = [np.ma.masked_array(row, mask=[i == 3, False]) for i, row in enumerate(X)]
    np.testing.assert_array_equal(K([np.ma.masked_array(row) for row in X], X), K(X, X))
    for wrong in (lambda: sb.ExactPosterior(K, 0.1, hidden, Y), lambda: K(hidden, X), lambda: K(tuple(hidden), X)):
        with pytest.raises(sb.Error, match=r"points: the value at \[3, 0\] is masked"):
            wrong()
    with pytest.raises(sb.Error, match=r"responses: the value at \[2\] is masked"):
        sb.ExactPosterior(K, 0.1, X, [*Y[:2], np.ma.masked, *Y[3:]])
    run = sb.Strategy("sobol", domain=([0.0], [1.0]), budget=8)
    asked = run.ask(4)
    with pytest.raises(sb.Error, match=r"values: the value at \[1\] is masked"):
        run.tell(asked.ids, np.ma.masked_array(np.ones(4), mask=np.arange(4) == 1))


def test_columns_go_by_their_names_where_the_model_knows_them() -> None:
    """They went by place: a table with its columns in another order got an interval, with its label, for another point."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["a", "b"])
    bare = sb.SparsePosterior(K, 0.1, X, Y, inducing=X[:5])
    for model in (sb.ExactPosterior(K, 0.1, table, Y), sb.SparsePosterior(K, 0.1, table, Y, inducing=X[:5]), sb.SparsePosterior.load(bare.save(columns=["a", "b"]))):
        for known in (model, pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(known.mean(table), known.mean(X))
            for wrong in (table[["b", "a"]], table.rename(columns={"a": "c"})):
                with pytest.raises(sb.Error, match="and those of the model a, b, in this order"):
                    known.mean(wrong)
    np.testing.assert_array_equal(bare.mean(table[["b", "a"]]), bare.mean(X[:, ::-1]))
    space = sb.Space(a=sb.Float(0, 1), b=sb.Float(0, 1))
    np.testing.assert_array_equal(space.points(table[["b", "a"]]), X)
    polars = pytest.importorskip("polars")
    np.testing.assert_array_equal(space.points(polars.DataFrame({"b": X[:, 1], "a": X[:, 0]})), X)
    with pytest.raises(sb.Error, match="it needs 'a', 'b'"):
        space.points(table.rename(columns={"a": "c"}))


def test_a_model_that_was_updated_forgets_its_calibration_where_warnings_are_errors() -> None:
    model = sb.SparsePosterior(K, 0.1, X, Y, inducing=X[:5])._with_facts({"calibration": {}, "target": "y"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="lie where the inducing points explain less"):
            model.update(X + 30, Y)
    assert len(model) == 80 and model.facts == {"target": "y"}


def test_what_nobody_said_a_new_response_is_like_has_no_noise_of_its_own() -> None:
    """Another noise was passed over without a word, and the interval was about responses like those of the data."""
    p = sb.ExactPosterior(K, 0.1, X, Y + 0.1)
    assert p.prediction_interval(X[:1]).label == "conformal"
    for model in (p, sb.SparsePosterior(K, 0.1, X, Y, inducing=X[:5])):
        with pytest.raises(sb.Error, match="new_noise needs norm_bound and noise"):
            model.prediction_interval(X[:1], new_noise=sb.Gaussian(5.0))
