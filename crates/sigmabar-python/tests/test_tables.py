"""Tables of pandas, Polars and Arrow, and nested lists, as the regressor takes them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import sigmabar as sb
from sigmabar._columns import columns_of
from sigmabar.sklearn import SparseKernelRegressor


def libraries() -> tuple[Any, Any, Any]:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    return pandas.DataFrame, polars.DataFrame, pyarrow.table


def test_tables_of_every_library_are_the_same_table() -> None:
    """Texts, truths, declared codes and dates: the same model to the last bit, and each understands the others' tables."""
    rng = np.random.default_rng(0)
    n = 120
    day = np.datetime64("2024-01-01T06:00:00", "us") + rng.integers(0, 10**7, n) * np.timedelta64(1, "s")
    columns = {"code": rng.integers(0, 4, n), "solvent": rng.choice(["thf", "dmso"], n).tolist(), "wet": rng.random(n) < 0.5, "day": day, "x": rng.random(n)}
    y = np.array([3.0, -2.0, 5.0, 0.0])[columns["code"]] + columns["x"] + columns["wet"] + 0.1 * rng.standard_normal(n)
    tables = [library(columns) for library in libraries()]
    models = [SparseKernelRegressor(random_state=0, categorical=["code"], group="solvent", confidence=0.7).fit(table, y) for table in tables]
    assert "Hamming" in repr(models[0].kernel_) and set(models[0]._categories.values) == {0, 1, 2}
    answers = {model.interval(table, of="response").upper.tobytes() for model in models for table in tables}
    assert len(answers) == 1 and len({repr(model.kernel_) for model in models}) == 1
    assert {model.interval(tables[0], of="response").label for model in models} == {"conformal"}
    assert all(list(model.feature_names_in_) == list(columns) for model in models)


def test_columns_of_lists_are_declared_as_those_of_arrays() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 60), rng.random(60)])
    y = np.array([3.0, -2.0, 5.0, 0.0])[X[:, 0].astype(int)] + X[:, 1]
    declared = SparseKernelRegressor(random_state=0, categorical=[0])
    kernels = {repr(clone(declared).fit(given, y).kernel_) for given in (X, X.tolist(), tuple(map(tuple, X)))}
    assert len(kernels) == 1 and "Hamming" in kernels.pop()
    named = [[f"k{code:g}", x] for code, x in X]
    assert list(clone(declared).set_params(categorical=None).fit(named, y)._categories.values) == [0], "texts need no declaration"


@pytest.mark.parametrize("wrong", [{"categorical": ["nonsense"]}, {"categorical": "nonsense"}, {"group": "nonsense"}])
def test_a_column_that_is_not_there_is_named(wrong: dict[str, Any]) -> None:
    for library in libraries():
        with pytest.raises(sb.Error, match="there is no column 'nonsense': the columns are a, b"):
            SparseKernelRegressor(**wrong).fit(library({"a": [0.0, 1.0], "b": [1.0, 2.0]}), [0.0, 1.0])
    with pytest.raises(sb.Error, match="there is no column 2 among 2"):
        SparseKernelRegressor(categorical=[2]).fit([[0.0, 1.0], [1.0, 2.0]], [0.0, 1.0])


def test_what_is_no_number_is_refused_by_its_column() -> None:
    pandas, polars, pyarrow = libraries()
    spans = [datetime.timedelta(hours=1), datetime.timedelta(hours=2)]
    for library in (pandas, polars, pyarrow):
        with pytest.raises(sb.Error, match='column "t" must be numbers, not durations: divide them by a unit'):
            SparseKernelRegressor().fit(library({"x": [0.0, 1.0], "t": spans}), [0.0, 1.0])
        with pytest.raises(sb.Error, match=r'column "t", row 0: datetime.time\(3, 0\) is no number; a column holds numbers, dates, texts or truths'):
            SparseKernelRegressor().fit(library({"x": [0.0, 1.0], "t": [datetime.time(3)] * 2}), [0.0, 1.0])
    months = pytest.importorskip("pandas").period_range("2024-01", periods=2, freq="M")
    for column, words in ((months, r"row 0: Period\('2024-01', 'M'\) is no number"), ([1, "2"], "row 1: '2' is no number"), ([1.0, [2.0]], r"row 1: \[2.0\] is")):
        with pytest.raises(sb.Error, match=f'column "t", {words}'):
            SparseKernelRegressor().fit(pandas({"x": [0.0, 1.0], "t": column}), [0.0, 1.0])


def test_a_missing_category_of_any_library_is_named() -> None:
    pandas, polars, pyarrow = libraries()
    y = np.arange(4.0)
    for values in (["a", "b", None, "a"], [True, False, None, True]):
        for table in (pandas({"c": values}), pandas({"c": values}).convert_dtypes(), polars({"c": values}), pyarrow({"c": values})):
            with pytest.raises(sb.Error, match='column "c", row 2: the category is missing'):
                SparseKernelRegressor().fit(table, y)


def test_a_category_is_asked_for_as_it_was_taught() -> None:
    """As a number, the text "1" would be a category that nobody knows."""
    rng = np.random.default_rng(0)
    texts, y = rng.choice(["1", "2"], 40), rng.random(40)
    for library in libraries():
        model = SparseKernelRegressor(random_state=0).fit(library({"c": texts.tolist(), "x": y}), y)
        for numbers in ([2, 1], [2.0, 1.0]):
            with pytest.raises(sb.Error, match="column \"c\", row 0: 2.* is not '2', which the model was taught"):
                model.predict(library({"c": numbers, "x": [0.1, 0.2]}))
        assert np.isfinite(model.predict(library({"c": ["3"], "x": [0.1]}))).all(), "another category is one that differs from all"


def test_dates_are_the_same_days_in_any_unit_zone_and_library() -> None:
    pandas, polars, pyarrow = libraries()
    seconds = np.random.default_rng(0).integers(-15 * 10**15, 4 * 10**15, 50) / 1e6
    early = datetime.datetime(1970, 1, 1)
    moments = np.array([early + datetime.timedelta(microseconds=round(s * 1e6)) for s in seconds], dtype="datetime64[us]")
    days = np.append(np.round(seconds * 1e6) / 86_400e6, np.nan)
    moments = np.append(moments, np.datetime64("NaT"))
    for table in (pandas({"d": moments}), polars({"d": moments}), pyarrow({"d": moments}), pandas({"d": moments.tolist()}, dtype=object)):
        np.testing.assert_array_equal(read(table), days)
    recent = moments > np.datetime64("1700-01-01")
    fine = pandas({"d": moments[recent].astype("datetime64[ns]")})
    zoned = fine.assign(d=fine["d"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    aware = [value.to_pydatetime() for value in zoned["d"]]
    for table in (fine, zoned, zoned.astype(object), pandas({"d": aware}, dtype=object), [[moment] for moment in aware]):
        np.testing.assert_array_equal(read(table), days[:-1][recent[:-1]])
    assert columns_of(zoned).arrays[0].dtype.kind == "M", "a million moments are no million objects"  # type: ignore[union-attr]


def read(table: Any) -> Any:
    columns = columns_of(table)
    assert columns is not None
    return columns.numbers(0)


def test_decimals_whose_digits_floats_lose_are_refused_by_their_place() -> None:
    few, many = Decimal("0.1"), Decimal("0.1234567890123456789")
    for library in libraries():
        model = SparseKernelRegressor(learn=False, noise=0.1).fit(library({"d": [few, 2 * few]}), [0.0, 1.0])
        np.testing.assert_array_equal(model.predict(library({"d": [few]})), model.predict(library({"d": [0.1]})))
        with pytest.raises(sb.Error, match='X: column "d", row 1: 0.1234567890123456789 has more digits than 64-bit floats keep'):
            SparseKernelRegressor().fit(library({"d": [few + 0 * many, many]}), [0.0, 1.0])
    with pytest.raises(sb.Error, match="y, row 1: 0.1234567890123456789 has more digits"):
        SparseKernelRegressor().fit([[0.0], [1.0]], [few, many])
    with pytest.raises(sb.Error, match="points, row 0, column 1: 0.1234567890123456789 has more digits"):
        sb.Matern(lengthscale=1.0)([[few, many]], [[0.0, 1.0]])
