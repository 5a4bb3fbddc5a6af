"""Numbers that were learnt, and remember it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._checks import number


class LearntNumber(float):
    """A number that was learnt from responses. It is used like any other, and a claim that rests on it says so. Arithmetic, ``round``, ``np.round``, ``np.clip`` and NumPy's
    functions of single numbers keep the mark; ``float(…)`` takes it off, and is your word that the number does not come from the responses. What makes plain numbers of its arguments,
    such as ``math`` and arrays, takes it off too.

    >>> import numpy as np, sigmabar as sb
    >>> x = np.linspace(0, 1, 80)
    >>> y = np.sin(6 * x) + 0.1 * np.random.default_rng(0).standard_normal(80)
    >>> tau = sb.fit_hyperparameters(sb.Matern(nu=2.5), x[:60], y[:60], starts=1).tau
    >>> tau.source, (2 * tau).source, np.sqrt(tau).source, round(tau, 3).source, tau.for_new_data().source
    ('learnt-here', 'learnt-here', 'learnt-here', 'learnt-here', 'learnt-before')
    """

    source: str
    _seen: tuple[int, ...]

    def __new__(cls, value: float, source: str, seen: Iterable[int] = ()) -> LearntNumber:
        learnt = super().__new__(cls, value)
        learnt.source, learnt._seen = source, tuple(seen)
        return learnt

    def for_new_data(self) -> LearntNumber:
        """The same number for other responses than those it was learnt on. On rows that it was learnt on it is noticed, and counts as learnt there again."""
        return LearntNumber(float(self), "learnt-before", self._seen)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [float(value) if isinstance(value, LearntNumber) else value for value in inputs]
        return _marked_alike(getattr(ufunc, method)(*plain, **options), inputs)

    def round(self, decimals: int = 0, out: None = None) -> LearntNumber:
        """What ``np.round`` calls."""
        return LearntNumber(round(float(self), decimals), self.source, self._seen)

    def clip(self, low: Any = None, high: Any = None, out: None = None, **options: Any) -> Any:
        """What ``np.clip`` calls."""
        ends = [float(end) if isinstance(end, LearntNumber) else end for end in (low, high)]
        return _marked_alike(np.clip(float(self), *ends, **options), (self, low, high))

    @property
    def real(self) -> LearntNumber:
        return self

    def conjugate(self) -> LearntNumber:
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (float(self), self.source, self._seen)


class LearntPoints(np.ndarray[Any, np.dtype[np.float64]]):
    """Points that were chosen by something learnt from responses: inducing points made of them say so. Slices and copies keep the mark; ``np.array(…)`` takes it off, and
    is your word that they do not come from the responses."""

    source: str
    _seen: tuple[int, ...]

    def __array_finalize__(self, of: Any) -> None:
        self.source, self._seen = getattr(of, "source", "declared"), getattr(of, "_seen", ())

    def __reduce__(self) -> Any:
        return (marked_points, (np.asarray(self), self.source, self._seen))


def _keeping_the_mark(name: str) -> Callable[..., Any]:
    operation = getattr(float, name)

    def marked(self: LearntNumber, *others: Any) -> Any:
        return _marked_alike(operation(self, *others), (self, *others))

    return marked


def _marked_alike(result: Any, sources: Iterable[Any]) -> Any:
    """A number, or several, with the marks of what it was made of."""
    if isinstance(result, tuple):
        return tuple(_marked_alike(part, sources) for part in result)
    return LearntNumber(result, *source_of(sources)) if isinstance(result, float) else result


_WEAKEST = ("estimated", "learnt-here", "learnt-before")
for _name in "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow divmod rdivmod neg pos abs round".split():
    setattr(LearntNumber, f"__{_name}__", _keeping_the_mark(f"__{_name}__"))


def kept(value: Any, what: str) -> float:
    """A number, with its mark if it was learnt."""
    return value if isinstance(value, LearntNumber) else number(value, what)


def marked(value: float, source: str, seen: Iterable[int]) -> float:
    """A number from the private module with its mark, if it was learnt."""
    return value if source == "declared" else LearntNumber(value, source, seen)


def marked_points(points: NDArray[np.float64], source: str, seen: Iterable[int]) -> NDArray[np.float64]:
    """Points with their mark, if what chose them was learnt."""
    if source == "declared":
        return points
    learnt = points.view(LearntPoints)
    learnt.source, learnt._seen = source, tuple(seen)
    return learnt


def sourced(value: Any, what: str) -> tuple[float, str, list[int]]:
    """A number with where it came from, as the private module takes it."""
    plain = number(value, what)
    return (plain, value.source, list(value._seen)) if isinstance(value, LearntNumber) else (plain, "declared", [])


def sourced_or_none(value: Any, what: str) -> tuple[float, str, list[int]] | None:
    """The same, or none."""
    return None if value is None else sourced(value, what)


def source_of(values: Iterable[Any]) -> tuple[str, list[int]]:
    """Where several numbers together came from: the weakest of them, and all rows that any was learnt on."""
    learnt = [v for v in values if isinstance(v, LearntNumber)]
    source = min((v.source for v in learnt), key=_WEAKEST.index, default="declared")
    return source, sorted({h for v in learnt for h in v._seen})
