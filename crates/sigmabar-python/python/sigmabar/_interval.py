"""Intervals and the certificate that every one of them carries."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from . import _core
from ._arrays import Floats, floats
from ._checks import flag, number, number_or_none, pair, text
from ._noise import Noise, noise_core


@dataclass(frozen=True)
class Certificate:
    """What an interval rests on: which theorem, what was assumed, what was computed. ``print`` it.

    ``label`` is ``"certified"`` where every premise was declared and nothing was learnt from the responses, ``"certified for the learnt kernel"`` where the
    kernel was learnt on earlier ones, ``"calibrated"`` where something was learnt from the same ones, ``"heuristic"`` where no theorem covers the
    combination; ``reasons`` says why. ``details`` holds every number.

    >>> import numpy as np, sigmabar as sb
    >>> x = np.linspace(0, 1, 50)
    >>> p = sb.ExactPosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x), collected="adaptive")
    >>> c = p.interval([0.25], norm_bound=3.0, noise=sb.Gaussian(0.1)).certificate
    >>> c.label, c.delta, c.details["observations"]
    ('certified', 0.05, 50)
    >>> print(c.assumptions[-1])
    points may have been chosen by looking at earlier responses
    """

    label: str
    reasons: list[str]
    assumptions: list[str]
    details: dict[str, Any] = field(repr=False)
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.text

    @property
    def delta(self) -> float:
        """The total probability of missing."""
        return float(self.details["delta"])

    @property
    def beta(self) -> float | None:
        """The factor on the standard deviation, where the width is one."""
        beta: float | None = self.details["beta"]
        return beta


@dataclass(frozen=True)
class Interval:
    """Lower and upper ends, one for each query, and the certificate of all.

    >>> import numpy as np, sigmabar as sb
    >>> x = np.linspace(0, 1, 50)
    >>> p = sb.ExactPosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x))
    >>> iv = p.interval([0.2, 0.8], norm_bound=3.0, noise=sb.Gaussian(0.1), coverage="points")
    >>> iv.lower.shape, bool((iv.lower <= np.sin([1.2, 4.8])).all()), bool((iv.width > 0).all())
    ((2,), True, True)
    """

    lower: Floats
    upper: Floats
    certificate: Certificate

    @property
    def width(self) -> Floats:
        """Upper end minus lower end."""
        width: Floats = self.upper - self.lower
        return width


def interval_from(ends: Any) -> Interval:
    """From what the private module returns."""
    lower, upper, (details, text, label, reasons, assumptions) = ends
    return Interval(lower, upper, Certificate(label, reasons, assumptions, json.loads(details), text))


def claim_from(
    norm_bound: float | None,
    noise: Noise | None,
    delta: float,
    side: str,
    method: str,
    coverage: str,
    domain: tuple[Any, Any] | None,
    *,
    norm_estimated: bool = False,
    new_noise: Noise | None = None,
) -> _core.Claim:
    """A claim as the private module takes it."""
    corners = None
    if domain is not None:
        low, high = pair(domain, "domain")
        corners = (floats(low, "domain: low"), floats(high, "domain: high"))
    return _core.Claim(
        number(delta, "delta"),
        number_or_none(norm_bound, "norm_bound"),
        flag(norm_estimated, "norm_estimated"),
        noise_core(noise),
        noise_core(new_noise, "new_noise"),
        text(side, "side"),
        text(method, "method"),
        text(coverage, "coverage"),
        corners,
    )
