"""Intervals and the certificate that every one of them carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _core
from ._arrays import Floats, floats
from ._certificate import Certificate, warned
from ._checks import flag, number, pair, text
from ._core import Error
from ._html import columns
from ._learnt import sourced_or_none
from ._names import Coverage, Side, Width
from ._noise import Noise, noise_core


#: Rows that a notebook shows.
_SHOWN = 10


@dataclass(frozen=True)
class Interval:
    """What each interval is about, its lower and upper end, one for each query, and the certificate of all.

    ``mean`` lies within the ends. It is the posterior's own mean, or, where a theorem holds for several ridges, that of the ridge under which the interval is
    narrowest: where the norm bound is far above the kernel's scale the own mean is held back by its prior, and may lie outside. Where all rows calibrate in parts it is that of
    the models of the parts.

    >>> import numpy as np, sigmabar as sb
    >>> x = np.linspace(0, 1, 50)
    >>> p = sb.ExactPosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x))
    >>> iv = p.interval([0.2, 0.8], norm_bound=3.0, noise=sb.Gaussian(0.1), coverage="points")
    >>> iv.lower.shape, bool((iv.lower <= np.sin([1.2, 4.8])).all()), bool((iv.lower < iv.mean).all())
    ((2,), True, True)
    """

    mean: Floats
    lower: Floats
    upper: Floats
    certificate: Certificate

    @property
    def label(self) -> str:
        """What the intervals may be called."""
        return self.certificate.label

    @property
    def width(self) -> Floats:
        """Upper end minus lower end."""
        width: Floats = self.upper - self.lower
        return width

    def _repr_html_(self) -> str:
        ends = [tuple(map(float, row)) for row in zip(self.mean, self.lower, self.upper)]
        more = "" if len(ends) <= _SHOWN else f"<p>… and {len(ends) - _SHOWN} more</p>"
        return f"<p>{self.label}</p>" + columns(["mean", "lower", "upper"], ends[:_SHOWN]) + more


def interval_from(ends: Any) -> Interval:
    """From what the private module returns."""
    mean, lower, upper, certificate = ends
    return Interval(mean, lower, upper, warned(Certificate(certificate)))


def claim_from(
    norm_bound: float | None,
    noise: Noise | None,
    delta: float,
    side: Side = "both",
    method: Width = "tight",
    coverage: Coverage = "point",
    domain: tuple[Any, Any] | None = None,
    *,
    norm_estimated: bool = False,
    new_noise: Noise | None = None,
) -> _core.Claim:
    """A claim as the private module takes it."""
    corners = None
    if domain is not None:
        low, high = pair(domain, "domain")
        corners = (floats(low, "domain: low"), floats(high, "domain: high"))
    bound = sourced_or_none(norm_bound, "norm_bound")
    if bound is not None and flag(norm_estimated, "norm_estimated"):
        bound = (bound[0], "estimated", [])
    return _core.Claim(
        number(delta, "delta"),
        bound,
        noise_core(noise),
        noise_core(new_noise, "new_noise"),
        text(side, "side"),
        text(method, "method"),
        text(coverage, "coverage"),
        corners,
    )


def check_claim(norm_bound: float | None, noise: Noise | None, coverage: str, side: str, new_noise: Noise | None = None) -> None:
    """A theorem needs both premises; without any there is only the model's word, or calibration, at each point and on both sides."""
    if (norm_bound is None) != (noise is None):
        raise Error("give norm_bound and noise together for a theorem, or neither for the model's own interval")
    if norm_bound is None and coverage != "point":
        raise Error(f'coverage="{coverage}" needs norm_bound and noise: without them there is only the model\'s word, point by point')
    if norm_bound is None and side != "both":
        raise Error(f'side="{side}" needs norm_bound and noise: without them intervals are two-sided, and leaving one end away wins nothing')
    if norm_bound is None and new_noise is not None:
        raise Error("new_noise needs norm_bound and noise: without them the interval is about a response like those of the data")
