"""Rows on Ray: the sums of a plan by tasks over its chunks, and an executor for evaluations.

Needs ``ray``: ``pip install "sigmabar[ray]"``. Tasks give their sums back; no actor keeps any, so that a retry counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor as _Executor
from concurrent.futures import Future
from typing import Any

try:
    import ray
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError('sigmabar.ray needs Ray: pip install "sigmabar[ray]"', name=missing.name) from missing

from ._core import Error
from ._distributed import added, summed, sums_of
from ._rows import Accumulator, Plan, aligned

__all__ = ["Executor", "accumulate"]


def __dir__() -> list[str]:
    return __all__


_FAN_IN = 8


def _added(data: bytes, *parts: bytes) -> bytes:
    # Ray fetches what is an argument itself, not what is in a list.
    return added(data, parts)


def _called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def accumulate(plan: Plan, *, parts: int | None = None) -> Accumulator:
    """The sums of all chunks of a plan of ``sigmabar plan``, read and summed by Ray's workers, who must see its files."""
    if not ray.is_initialized():
        ray.init()
    parts = parts if parts is not None else 4 * max(1, int(ray.cluster_resources().get("CPU", 1)))
    shared = ray.put(plan.save())
    summing, adding = ray.remote(summed), ray.remote(_added)
    leaves = [summing.remote(shared, list(chunks)) for chunks in aligned(len(plan), parts)]
    while len(leaves) > 1:
        leaves = [adding.remote(shared, *leaves[i : i + _FAN_IN]) for i in range(0, len(leaves), _FAN_IN)]
    return sums_of(plan, ray.get(leaves[0]))


class Executor(_Executor):
    """A :class:`concurrent.futures.Executor` of Ray tasks with these options, for ``Study.run(executor=...)``: each is called once.

    Ray itself would call again what killed its worker, and what dies of its value would be measured until it lives. Here a task that dies has failed.
    """

    def __init__(self, **options: Any) -> None:
        if options.get("max_retries", 0) != 0:
            raise Error(f"max_retries must be 0, not {options['max_retries']!r}: what is evaluated again until it succeeds is chosen by whatever made it fail")
        if not ray.is_initialized():
            ray.init()
        self._options = {**options, "max_retries": 0}
        self._waiting: list[Any] = []
        self._is_shut = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Calls the function in a Ray task."""
        if self._is_shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        reference = ray.remote(_called).options(**self._options).remote(fn, *args, **kwargs)
        self._waiting.append(reference)
        future: Future[Any] = reference.future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits for what is under way, or calls it off; nothing can be submitted afterwards."""
        self._is_shut = True
        if cancel_futures:
            for reference in self._waiting:
                ray.cancel(reference)
        elif wait and self._waiting:
            ray.wait(self._waiting, num_returns=len(self._waiting))
        self._waiting = []
