"""Rows on a Dask cluster: the sums of a plan by futures, and a regressor on Dask arrays and dataframes.

Needs ``dask`` and ``distributed``: ``pip install "sigmabar[dask]"``. A worker that dies costs its chunks once more and nothing else: sums say which chunks they
cover, and none is counted twice.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import Executor as _Executor
from concurrent.futures import Future
from concurrent.futures import wait as _wait
from typing import Any

import numpy as np

try:
    import dask as _dask  # noqa: F401
    import distributed as _distributed  # noqa: F401
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError('sigmabar.dask needs Dask: pip install "sigmabar[dask]"', name=missing.name) from missing

from ._checks import refuse_lost
from ._core import Error
from ._distributed import COLUMNS, Counted, Drawn, Settings, added, bytes_of, counted, plan_of, refuse_missing, slope_of, summed, sums_of
from ._posterior import SparsePosterior
from ._rows import Accumulator, Plan, aligned, sampled, smallest

__all__ = ["Executor", "SparseKernelRegressor", "accumulate"]


def __dir__() -> list[str]:
    return __all__


_FAN_IN = 8


def accumulate(plan: Plan, client: Any = None, *, parts: int | None = None) -> Accumulator:
    """The sums of all chunks of a plan of ``sigmabar plan``, read and summed by the workers, who must see its files."""
    client = _client(client)
    parts = parts if parts is not None else 4 * max(1, len(client.scheduler_info()["workers"]))
    shared = _shared(client, plan.save())
    leaves = [client.submit(summed, shared, list(chunks), pure=False) for chunks in aligned(len(plan), parts)]
    return _reduced(client, plan, shared, leaves)


class Executor(_Executor):
    """A :class:`concurrent.futures.Executor` on a Dask cluster, for ``Study.run(executor=...)``: each call is made once, and equal calls each for itself.

    Dask itself calls again what killed its worker (``distributed.scheduler.allowed-failures``), and what dies of its value would be measured until it lives. Here a
    call whose worker died has failed. ``options`` are those of ``client.submit``, such as ``workers`` and ``resources``.
    """

    def __init__(self, client: Any = None, **options: Any) -> None:
        self._client, self._options = _client(client), {**options, "pure": False, "retries": 0}
        self._waiting: set[Future[Any]] = set()
        self._is_shut = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Calls the function on the cluster."""
        if self._is_shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        answer: Future[Any] = Future()
        begun = _distributed.Event(f"sigmabar-{uuid.uuid4().hex}", client=self._client)
        call = self._client.submit(_once, begun.name, fn, args, kwargs, **self._options)

        def settle(_: Any) -> None:
            if answer.set_running_or_notify_cancel():
                try:
                    answer.set_result(call.result())
                except BaseException as error:
                    answer.set_exception(error)
            # What is known need not be made again where it was kept.
            call.release()
            begun.clear()

        self._waiting.add(answer)
        answer.add_done_callback(self._waiting.discard)
        answer.add_done_callback(lambda ended: call.cancel() if ended.cancelled() else None)
        call.add_done_callback(settle)
        return answer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits for what is under way, or calls it off; nothing can be submitted afterwards."""
        self._is_shut = True
        if cancel_futures:
            for answer in list(self._waiting):
                answer.cancel()
        elif wait:
            _wait(list(self._waiting))


def _once(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a function that was not called before: the scheduler remembers, whichever worker is lost."""
    begun = _distributed.Event(name)
    if begun.is_set():
        raise RuntimeError("its worker was lost while it was evaluated, and it is not evaluated again")
    begun.set()
    return function(*args, **kwargs)


def _client(client: Any) -> Any:
    if client is not None:
        return client
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        raise Error("there is no Dask client: make one with distributed.Client(...) first, or pass it") from None


def _shared(client: Any, data: Any) -> Any:
    """What all workers need as the result of a task: what is scattered instead is lost with the last worker that holds it."""
    return client.submit(_same, data, pure=False)


def _same(data: Any) -> Any:
    return data


def _reduced(client: Any, plan: Plan, shared: Any, leaves: list[Any]) -> Accumulator:
    while len(leaves) > 1:
        leaves = [client.submit(added, shared, leaves[i : i + _FAN_IN], pure=False) for i in range(0, len(leaves), _FAN_IN)]
    return sums_of(plan, leaves[0].result())


class _Passes:
    """The rows of a collection's partitions, computed again for every pass."""

    def __init__(self, client: Any, pairs: list[tuple[Any, Any]]) -> None:
        self._client, self._pairs = client, pairs

    def sums(self, plan: Plan) -> Accumulator:
        """The sums of all chunks."""
        shared = _shared(self._client, plan.save())
        return _reduced(self._client, plan, shared, self._each(_leaf, shared))

    def slopes(self, plan: Plan, model: SparsePosterior) -> list[bytes]:
        """The shares of all chunks in the gradient of the evidence."""
        return self._client.gather(self._each(_slope, _shared(self._client, (plan.save(), model.save()))))  # type: ignore[no-any-return]

    def _each(self, work: Any, shared: Any) -> list[Any]:
        from dask.delayed import delayed

        return self._client.compute([delayed(work)(shared, i, a, b) for i, (a, b) in enumerate(self._pairs)])  # type: ignore[no-any-return]


def _leaf(data: bytes, chunk: int, X: Any, y: Any) -> bytes:
    return bytes_of(plan_of(data).leaf(chunk, *_rows(chunk, X, y)))


def _slope(shared: tuple[bytes, bytes], chunk: int, X: Any, y: Any) -> bytes:
    return slope_of(*shared, chunk, *_rows(chunk, X, y))


def _sample(settings: Settings, chunk: int, X: Any, y: Any) -> tuple[list[Counted], list[Drawn]]:
    points, values = _rows(chunk, X, y)
    table = np.column_stack([points, values])
    if not settings.drop_missing:
        names = list(X.columns) if hasattr(X, "columns") else [f"{i}" for i in range(points.shape[1])]
        refuse_missing(table, [*map(str, names), str(getattr(y, "name", None) or "y")], f"partition {chunk}")
    return [counted(table)], sampled(settings.seed, settings.sample, chunk, points, values)


def _smaller(size: int, parts: list[tuple[list[Counted], list[Drawn]]]) -> tuple[list[Counted], list[Drawn]]:
    return [n for counts, _ in parts for n in counts], smallest(size, (rows for _, rows in parts))


def _sampled(client: Any, parts: list[Any], size: int) -> tuple[list[Counted], list[Drawn]]:
    """The rows of every chunk and the sample of them all, merged on the workers: the samples of many partitions do not fit here."""
    while len(parts) > 1:
        parts = [client.submit(_smaller, size, parts[i : i + _FAN_IN], pure=False) for i in range(0, len(parts), _FAN_IN)]
    return parts[0].result()  # type: ignore[no-any-return]


def _squares(model: SparsePosterior, chunk: int, X: Any, y: Any) -> Any:
    points, values = _rows(chunk, X, y)
    errors = values - model.mean(points) if len(values) else values
    return np.array([len(values), values.sum(), (values**2).sum(), (errors**2).sum()])


def _rows(chunk: int, X: Any, y: Any) -> tuple[Any, Any]:
    """The rows of one partition: as many responses as points, and those of the same index where both have one."""
    points, values = _matrix(X), _column(y)
    if len(points) != len(values):
        raise Error(f"partition {chunk} of X has {len(points)} rows and that of y has {len(values)}: repartition or rechunk one of them as the other")
    if hasattr(X, "index") and hasattr(y, "index") and not X.index.equals(y.index):
        raise Error(f"partition {chunk} of X has another index than that of y: take both from one dataframe, or align them first")
    return points, values


def _matrix(X: Any) -> Any:
    if not hasattr(X, "columns"):
        points = _numbers(X)
        return points[:, None] if points.ndim == 1 else points
    columns = [_numbers(X.iloc[:, i]) for i in range(X.shape[1])]
    return np.ascontiguousarray(np.column_stack(columns)) if columns else np.empty((len(X), 0))


def _column(y: Any) -> Any:
    return _matrix(y).reshape(-1)


def _numbers(values: Any) -> Any:
    """Numbers, where nothing is a NaN: a date or duration that is missing would else become the smallest whole number, and what is masked the number below."""
    if hasattr(values, "isna"):
        missing = values.isna().to_numpy()
        known = values[~missing] if missing.any() else values
        numbers = np.full(values.shape, np.nan)
        numbers[~missing] = np.asarray(known, dtype=np.float64)
        refuse_lost(known, np.asarray(known), numbers[~missing], f'column "{getattr(values, "name", "")}"')
        return numbers
    array = np.asarray(values)
    numbers = array.astype(np.float64, order="C")
    refuse_lost(values, array, numbers, "the rows")
    if array.dtype.kind in "mM":
        numbers[np.isnat(array)] = np.nan
    numbers[np.ma.getmaskarray(values)] = np.nan
    return numbers


def _columns(X: Any, model: SparsePosterior, settings: Settings) -> Any:
    """The predictions for one partition, with its index where it has one."""
    found = settings.columns(model, _matrix(X))
    if not hasattr(X, "index"):
        return found
    import pandas as pd

    return pd.DataFrame(found, columns=list(COLUMNS), index=X.index)


class SparseKernelRegressor(Settings):
    """scikit-learn's habits on Dask collections: ``fit(X, y)``, ``predict(X)``, ``score(X, y)``, ``get_params``, ``set_params`` and with them ``clone``;
    ``predict_interval(X)`` gives mean, standard deviation and both ends of the interval as columns.

    ``learn_apart`` leaves the sampled rows out of the sums, so that the kernel was fixed before the others were seen; ``learn_on="all"`` goes on learning by the
    evidence of all rows, two passes a step; ``extend`` is how often the rows explained worst become inducing points, with one pass more each time. All are what
    ``sigmabar plan`` calls so.

    The columns of a dataframe are known by their names: ``predict`` finds them in whatever order they come, among others too, and refuses a dataframe that lacks one.
    Kernel and ridge are learnt on a sample by smallest hashes unless both are given. ``fit`` computes every partition anew for every pass and keeps none:
    ``persist`` a collection that is dear to compute and fits into the cluster's memory. ``X`` and ``y`` must have the same partitions, and
    the same index where both have one.
    """

    @property
    def settings(self) -> Settings:
        """What was declared."""
        return Settings(**self.get_params())

    def __repr__(self) -> str:
        said, usual = self.get_params(), Settings().get_params()
        return f"SparseKernelRegressor({', '.join(f'{name}={value!r}' for name, value in said.items() if value is not usual[name] and value != usual[name])})"

    def fit(self, X: Any, y: Any, client: Any = None) -> SparseKernelRegressor:
        """One pass to sample and one to sum; more where they were asked for."""
        from dask.delayed import delayed

        settings = self.settings
        settings.check()
        client, names = _client(client), _names(X)
        pairs = _pairs(X, y)
        drawn = [delayed(_sample)(settings, i, a, b) for i, (a, b) in enumerate(pairs)]
        counts, rows = _sampled(client, client.compute(drawn), settings.sample)
        plan, self.sums_ = settings.fitted(rows, counts, "a Dask collection", _Passes(client, pairs))
        self.plan_, self.posterior_ = plan, plan.model(self.sums_)
        self.n_features_in_ = self.posterior_.inducing.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def predict(self, X: Any) -> Any:
        """The mean, lazily: a Dask array, or the series of a dataframe."""
        found = self.predict_interval(X)
        return found["mean"] if hasattr(found, "columns") else found[:, 0]

    def predict_interval(self, X: Any) -> Any:
        """Mean, standard deviation, lower and upper end for the function, lazily: columns of a Dask array, or of a dataframe with the index of ``X``."""
        from dask.delayed import delayed

        X = self._arranged(X)
        _blocks(X)
        model = delayed(self._fitted(), pure=False)
        if not hasattr(X, "map_blocks"):
            return X.map_partitions(_columns, model, self.settings, meta=dict.fromkeys(COLUMNS, float))
        X = X[:, None] if X.ndim == 1 else X
        return X.map_blocks(_columns, model=model, settings=self.settings, dtype=float, chunks=(X.chunks[0], (len(COLUMNS),)), meta=np.empty((0, 0)))

    def score(self, X: Any, y: Any) -> float:
        """The coefficient of determination, from sums over the partitions."""
        from dask.delayed import delayed

        shared = delayed(self._fitted(), pure=False)
        parts = [delayed(_squares)(shared, i, a, b) for i, (a, b) in enumerate(_pairs(self._arranged(X), y))]
        n, total, squares, errors = delayed(np.sum)(parts, axis=0).compute()
        return float(1.0 - errors / (squares - total * total / n))

    def _arranged(self, X: Any) -> Any:
        """The columns of a dataframe in the order of those that were fitted."""
        known, names = getattr(self, "feature_names_in_", None), _names(X)
        if known is None or names is None:
            return X
        missing = [str(name) for name in known if name not in names]
        if missing:
            raise Error(f'X has no column "{missing[0]}", which the model was fitted on: its columns are {", ".join(map(str, names))}')
        return X if names == list(known) else X[list(known)]

    def _fitted(self) -> SparsePosterior:
        if not hasattr(self, "posterior_"):
            raise Error("this regressor is not fitted yet: call fit first")
        return self.posterior_


def _names(X: Any) -> list[Any] | None:
    """The names of a dataframe's columns; none of an array or a series."""
    if not hasattr(X, "columns"):
        return None
    names = list(X.columns)
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise Error(f'two columns of X are called "{twice[0]}": names must differ')
    return names


def _pairs(X: Any, y: Any) -> list[tuple[Any, Any]]:
    points, values = _blocks(X), _blocks(y)
    if len(points) != len(values):
        raise Error(f"X has {len(points)} partitions and y has {len(values)}: they must have the same, so repartition or rechunk one of them")
    return list(zip(points, values, strict=True))


def _blocks(values: Any) -> list[Any]:
    """The partitions of a Dask array or dataframe along its rows, delayed."""
    if not hasattr(values, "to_delayed"):
        raise Error("a Dask array or dataframe is needed: for arrays in memory use sigmabar.SparsePosterior")
    # Dask's optimiser would join small partitions, and those of X otherwise than those of y.
    delayed = values.to_delayed() if hasattr(values, "chunks") else values.simplify().to_delayed(optimize_graph=False)
    if isinstance(delayed, np.ndarray):
        if delayed.ndim == 2 and delayed.shape[1] != 1:
            raise Error("the array has chunks of columns: rechunk it so that every chunk has whole rows, X.rechunk({1: -1})")
        delayed = delayed.reshape(-1)
    return list(delayed)
