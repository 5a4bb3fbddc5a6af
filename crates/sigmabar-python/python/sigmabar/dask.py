"""Rows on a Dask cluster: the sums of a plan by futures, and a regressor on Dask arrays and dataframes.

Needs ``dask`` and ``distributed``: ``pip install sigmabar[dask]``. A worker that dies costs its chunks once more and nothing else: sums say which chunks they
cover, and none is counted twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import Error
from ._distributed import Settings, added, bytes_of, sums_of
from ._posterior import SparsePosterior
from ._rows import Accumulator, Plan, aligned, sampled, smallest
from ._threads import set_num_threads

__all__ = ["SparseKernelRegressor", "accumulate"]

_FAN_IN = 8


def accumulate(plan: Plan, client: Any = None, *, parts: int | None = None) -> Accumulator:
    """The sums of all chunks of a plan of ``sigmabar plan``, read and summed by the workers, who must see its files."""
    client = _client(client)
    parts = parts if parts is not None else 4 * max(1, len(client.scheduler_info()["workers"]))
    shared = client.scatter(plan.save(), broadcast=True)
    leaves = [client.submit(_sum, shared, list(chunks), pure=False) for chunks in aligned(len(plan), parts)]
    return _reduced(client, plan, shared, leaves)


def _client(client: Any) -> Any:
    if client is not None:
        return client
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        raise Error("there is no Dask client: make one with distributed.Client(...) first, or pass it") from None


def _reduced(client: Any, plan: Plan, shared: Any, leaves: list[Any]) -> Accumulator:
    while len(leaves) > 1:
        leaves = [client.submit(_added, shared, leaves[i : i + _FAN_IN], pure=False) for i in range(0, len(leaves), _FAN_IN)]
    return sums_of(plan, leaves[0].result())


def _plan(data: bytes) -> Plan:
    # One thread for each task: the engine has the cores.
    set_num_threads(1)
    return Plan._from_bytes(data)


def _sum(data: bytes, chunks: list[int]) -> bytes:
    return bytes_of(_plan(data).sum(chunks))


def _added(data: bytes, parts: list[bytes]) -> bytes:
    return added(_plan(data), parts)


def _leaf(data: bytes, chunk: int, X: Any, y: Any) -> bytes:
    return bytes_of(_plan(data).leaf(chunk, np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64).reshape(-1)))


def _sample(seed: int, size: int, chunk: int, X: Any, y: Any) -> tuple[int, Any]:
    points, values = np.ascontiguousarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64).reshape(-1)
    return len(values), sampled(seed, size, chunk, points, values)


class SparseKernelRegressor:
    """scikit-learn's habits on Dask collections: ``fit(X, y)``, ``predict(X)``, ``score(X, y)``; ``predict_interval(X)`` gives mean, standard deviation and
    both ends of the interval as columns.

    Kernel and ridge are learnt on a sample by smallest hashes unless both are given; the fit is one pass over the partitions. ``X`` and ``y`` must have the
    same partitions.
    """

    def __init__(self, kernel: Any = None, tau: float | None = None, **settings: Any) -> None:
        self.settings = Settings(kernel, tau, **settings)

    def fit(self, X: Any, y: Any, client: Any = None) -> SparseKernelRegressor:
        """One pass to sample (none of it where kernel, ridge and prior are declared is spared: inducing points are chosen there too), one to sum."""
        client = _client(client)
        pairs = list(zip(_blocks(X), _blocks(y), strict=True))
        blocks = client.compute([block for pair in pairs for block in pair])
        X_blocks, y_blocks = blocks[0::2], blocks[1::2]
        settings = self.settings
        drawn = [
            client.submit(_sample, settings.seed, settings.sample, i, a, b, pure=False)
            for i, (a, b) in enumerate(zip(X_blocks, y_blocks, strict=True))
        ]
        found = client.gather(drawn)
        plan = settings.plan(smallest(settings.sample, (rows for _, rows in found)), [n for n, _ in found], "a Dask collection")
        shared = client.scatter(plan.save(), broadcast=True)
        leaves = [
            client.submit(_leaf, shared, i, a, b, pure=False) for i, (a, b) in enumerate(zip(X_blocks, y_blocks, strict=True))
        ]
        self.sums_ = _reduced(client, plan, shared, leaves)
        self.plan_, self.posterior_ = plan, plan.model(self.sums_)
        self.n_features_in_ = self.posterior_.inducing.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        """The mean, as a lazy Dask array."""
        return self.predict_interval(X)[:, 0]

    def predict_interval(self, X: Any) -> Any:
        """Mean, standard deviation, lower and upper end for the function, as columns of a lazy Dask array."""
        import dask.array as da
        from dask import delayed

        model, settings = self._fitted(), self.settings
        of = delayed(settings.columns)
        shared = delayed(model)
        parts = [da.from_delayed(of(shared, block), (np.nan, 4), float) for block in _blocks(X)]
        return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)

    def score(self, X: Any, y: Any) -> float:
        """The coefficient of determination, from sums over the partitions."""
        from dask import compute, delayed

        shared = delayed(self._fitted())
        parts = compute(*[delayed(_squares)(shared, a, b) for a, b in zip(_blocks(X), _blocks(y), strict=True)])
        n, total, squares, errors = np.sum(parts, axis=0)
        return float(1.0 - errors / (squares - total * total / n))

    def _fitted(self) -> SparsePosterior:
        if not hasattr(self, "posterior_"):
            raise Error("this regressor is not fitted yet: call fit first")
        return self.posterior_


def _squares(model: SparsePosterior, X: Any, y: Any) -> Any:
    values = np.asarray(y, dtype=np.float64).reshape(-1)
    errors = values - model.mean(np.ascontiguousarray(X, dtype=np.float64))
    return np.array([len(values), values.sum(), (values**2).sum(), (errors**2).sum()])


def _blocks(values: Any) -> list[Any]:
    """The partitions of a Dask array or dataframe along its rows, delayed."""
    if hasattr(values, "to_dask_array") or hasattr(values, "to_delayed"):
        delayed = values.to_delayed()
        if isinstance(delayed, np.ndarray):
            if delayed.ndim == 2 and delayed.shape[1] != 1:
                raise Error("the array has chunks of columns: rechunk it so that every chunk has whole rows, X.rechunk({1: -1})")
            delayed = delayed.reshape(-1)
        return list(delayed)
    raise Error("a Dask array or dataframe is needed: for arrays in memory use sigmabar.SparsePosterior")
