"""Noise models: what is assumed about one measurement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from . import _core
from ._arrays import floats
from ._checks import count
from ._core import Error
from ._learnt import kept, source_of


class Noise:
    """What is assumed about the noise. Use one of the classes below it. Its numbers are in units of the posterior's or strategy's ``unit``.

    >>> import sigmabar as sb
    >>> print(sb.Gaussian(0.1))
    noise normal with standard deviation 0.1
    """

    _core: _core.Noise
    _arguments: tuple[Any, ...]

    @property
    def level(self) -> float:
        """The sub-Gaussian level that it implies; 1 for light tails, which have none and whose scale is in their quantiles."""
        return self._core.level()

    @property
    def source(self) -> str:
        """Where its numbers came from: ``"declared"``, unless one of them was learnt."""
        return source_of(_flat(self._arguments))[0]

    def __str__(self) -> str:
        return str(self._core)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(a) for a in self._arguments)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Noise) and self._core == other._core

    def __hash__(self) -> int:
        return hash(repr(self))

    def __reduce__(self) -> Any:
        return (type(self), self._arguments)


class SubGaussian(Noise):
    """Tails no heavier than those of a normal law with standard deviation ``level``.

    >>> import sigmabar as sb
    >>> sb.SubGaussian(0.2).level
    0.2
    """

    def __init__(self, level: float) -> None:
        self._arguments = (kept(level, "level"),)
        self._core = _made("sub-gaussian", self._arguments)


class Gaussian(Noise):
    """Normal with this standard deviation: narrower intervals than :class:`SubGaussian` of the same level.

    >>> import sigmabar as sb
    >>> sb.Gaussian(0.2)
    Gaussian(0.2)
    """

    def __init__(self, sd: float) -> None:
        self._arguments = (kept(sd, "sd"),)
        self._core = _made("gaussian", self._arguments)


class UnknownLevel(Noise):
    """Normal with one standard deviation that nobody knows; ``about`` serves for planning only.

    Certified S-BPE bounds it by replicates, which it plans itself unless every result is the mean of so many ``replicates``, told with its standard error and
    their number. Elsewhere it is a guess, and nothing is certified.

    >>> import sigmabar as sb
    >>> k = sb.Matern(nu=2.5, lengthscale=0.5)
    >>> s = sb.Strategy("s-bpe", domain=([0.0], [1.0]), kernel=k, norm_bound=1.0, noise=sb.UnknownLevel(about=0.1), budget=24, batches=[24])
    >>> len(s.ask(24).points), s.repeats
    (24, '12 of the 24 evaluations of batch 1 are repeats: the noise level is not declared, and this many repeats bound it at 1.98 times their scatter')
    """

    def __init__(self, about: float, replicates: int = 1) -> None:
        self._arguments = (kept(about, "about"), count(replicates, "replicates", least=1))
        self._core = _made("unknown-level", self._arguments)


class LightTailed(Noise):
    """Moments bounded near 0 only: ``E exp(h e) <= exp(h**2 xi0 / 2)`` for ``|h| <= h0``, as for exponential tails.

    >>> import sigmabar as sb
    >>> sb.LightTailed(xi0=0.08, h0=3.0)
    LightTailed(0.08, 3.0)
    """

    def __init__(self, xi0: float, h0: float) -> None:
        self._arguments = (kept(xi0, "xi0"), kept(h0, "h0"))
        self._core = _made("light-tailed", self._arguments)


class Bounded(Noise):
    """Never more than ``a`` away from the true value, and right on average.

    >>> import sigmabar as sb
    >>> sb.Bounded(0.5).level
    0.5
    """

    def __init__(self, a: float) -> None:
        self._arguments = (kept(a, "a"),)
        self._core = _made("bounded", self._arguments)


class PerObservation(Noise):
    """A sub-Gaussian level for each observation, in the order of the data.

    >>> import sigmabar as sb
    >>> sb.PerObservation([0.1, 0.3]).level
    0.3
    """

    def __init__(self, levels: Sequence[float]) -> None:
        # A list keeps the marks of its numbers, which an array has lost.
        numbers = [kept(v, "levels") for v in levels] if isinstance(levels, (list, tuple)) else floats(levels, "levels")
        self._arguments = (numbers,)
        self._core = _made("per-observation", numbers)


def _flat(arguments: Iterable[Any]) -> list[Any]:
    return [v for argument in arguments for v in (argument if isinstance(argument, list) else [argument])]


def _made(kind: str, numbers: Sequence[float]) -> _core.Noise:
    return _core.Noise.of(kind, [float(v) for v in numbers], *source_of(numbers))


def noise_core(noise: Any, what: str = "noise") -> _core.Noise | None:
    """A noise model as the private module takes it."""
    if noise is None:
        return None
    if not isinstance(noise, Noise):
        raise Error(f"{what} must say what is assumed, such as Gaussian(0.1) or SubGaussian(0.1), not {noise!r}")
    return noise._core


def as_noise(noise: Any) -> Noise:
    """A noise model, or a sub-Gaussian level given as a number."""
    return noise if isinstance(noise, Noise) else SubGaussian(kept(noise, "noise"))


def noise_or_level(noise: Any) -> _core.Noise:
    """The same, as the private module takes it."""
    return as_noise(noise)._core
