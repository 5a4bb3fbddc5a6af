"""What posteriors say, beside means and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ._arrays import Floats
from ._certificate import Certificate


class IntervalCurve(NamedTuple):
    """Intervals along the norm bound: ``lower[i, j]`` and ``upper[i, j]`` hold at point ``j`` for every function of norm up to ``norm_bounds[i]``, and are NaN where the
    data contradict that norm.

    >>> import numpy as np, sigmabar as sb
    >>> x = np.linspace(0, 1, 50)
    >>> p = sb.SparsePosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x), inducing=x[::5], collected="fixed")
    >>> c = p.interval_curve([0.25], norm_bound=3.0, noise=sb.Gaussian(0.1))
    >>> bool(c.width[c.norm_bounds == 3.0] < c.width[-1])
    True
    """

    norm_bounds: Floats
    lower: Floats
    upper: Floats
    #: What all of them rest on, each under its own norm bound.
    certificate: Certificate
    #: What norm 1 adds to the half-width at each point, and what noise of level 1 does: it is at most C times the one and R times the other. NaN where widths depend on the responses.
    per_norm: Floats
    per_noise: Floats

    @property
    def width(self) -> Floats:
        """Upper end minus lower end."""
        width: Floats = self.upper - self.lower
        return width


class Breakdown(NamedTuple):
    """Where conclusions from intervals break: for each point the largest norm bound, and the largest noise level, under which its conclusion stands; NaN where there is none, and
    everywhere where the data contradict the premises. ``certificate.range`` has the smallest of each: all conclusions stand up to there.

    >>> import numpy as np, sigmabar as sb
    >>> x = np.linspace(0, 1, 50)
    >>> p = sb.SparsePosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x), inducing=x[::5], collected="fixed")
    >>> b = p.breakdown([0.25], 0.0, norm_bound=3.0, noise=sb.Gaussian(0.1))
    >>> b.label, bool(b.norms[0] == b.certificate.range.norm_breakdown >= 3.0)
    ('certified', True)
    >>> print(b.certificate.range)  # doctest: +ELLIPSIS
    under this kernel and noise it is above 0 for every function of norm up to ...
    """

    #: In units of ``unit``, as ``levels``.
    norms: Floats
    levels: Floats
    #: What the conclusions rest on.
    certificate: Certificate

    @property
    def label(self) -> str:
        """What the conclusions may be called."""
        return self.certificate.label


class VarianceParts(NamedTuple):
    """The three parts of the variance; their sum is ``std**2``.

    >>> import sigmabar as sb
    >>> p = sb.SparsePosterior(sb.Matern(nu=2.5, lengthscale=0.3), 0.1, [0.0, 0.4, 1.0], [1.0, 2.0, 0.0], inducing=[0.0, 1.0])
    >>> parts = p.variance_parts([0.5])
    >>> max(parts._fields, key=lambda name: getattr(parts, name)[0])
    'projection'
    """

    projection: Floats
    """What the inducing points cannot see."""
    fit: Floats
    """What too few measurements leave open, were they exact."""
    noise: Floats
    """What the noise of the measurements leaves open."""


class Bracket(NamedTuple):
    """A number of the exact model, known from both sides by the sparse one.

    >>> import numpy as np, sigmabar as sb
    >>> x = np.linspace(0, 1, 100)
    >>> known = sb.SparsePosterior(sb.Matern(nu=2.5, lengthscale=0.3), 0.1, x, np.cos(x), inducing=x[::10]).information_gain
    >>> known.lower <= sb.ExactPosterior(sb.Matern(nu=2.5, lengthscale=0.3), 0.1, x, np.cos(x)).information_gain <= known.upper
    True
    """

    lower: float
    upper: float


class ResidualNorm(NamedTuple):
    """A bound on what the inducing points miss at the data, and how it was obtained.

    >>> import numpy as np, sigmabar as sb
    >>> x = np.linspace(0, 1, 100)
    >>> p = sb.SparsePosterior(sb.Matern(nu=2.5, lengthscale=0.3), 0.1, x, np.cos(x), inducing=x[::10])
    >>> p.residual_norm("trace").kind
    'trace'
    """

    value: float
    kind: str


@dataclass(frozen=True)
class Variational:
    """The optimal variational law of the values at the inducing points.

    >>> import numpy as np, sigmabar as sb
    >>> x = np.linspace(0, 1, 100)
    >>> p = sb.SparsePosterior(sb.Matern(nu=2.5, lengthscale=0.3), 0.1, x, np.cos(x), inducing=[0.0, 0.5, 1.0])
    >>> law = p.variational
    >>> law.covariance.shape, bool(np.allclose(law.mean, p.mean([0.0, 0.5, 1.0])))
    ((3, 3), True)
    """

    mean: Floats
    covariance: Floats
