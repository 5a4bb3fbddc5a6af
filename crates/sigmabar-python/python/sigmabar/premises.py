"""Where premises come from, for people: a norm bound from hills and valleys, a noise level from replicates, functions to look at.

>>> import sigmabar as sb
>>> round(sb.premises.norm_bound(height=20, hills=4, unit=20), 3)
3.0
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _core
from ._arrays import Floats, rows, vector
from ._checks import count, number
from ._kernels import Kernel
from ._learnt import LearntNumber, marked, source_of

__all__ = ["functions", "noise_level", "norm_bound"]


def norm_bound(height: float, hills: int, unit: float = 1.0) -> float:
    """A norm bound for a function that strays by ``height`` from its prior mean, in ``hills`` separate hills and valleys: one and a half times the height in
    units of ``unit`` times the root of their number. One hill of height h has the norm h, q of them far from each other h times the root of q.

    >>> import sigmabar as sb
    >>> sb.premises.norm_bound(height=2.0, hills=1)
    3.0
    """
    bound = _core.norm_of_hills(number(height, "height") / number(unit, "unit"), count(hills, "hills"))
    return marked(bound, *source_of((height, unit)))


def noise_level(x: Any, y: Any, delta: float = 0.005) -> tuple[LearntNumber, LearntNumber, int]:
    """What replicates say about normal noise of one unknown level, whatever the function is: the pooled standard deviation, a bound on the level that is exceeded with
    probability ``delta`` at most, and the degrees of freedom. Rows of ``x`` that are equal are replicates; without any it is a ``ValueError``. Both numbers are learnt
    from these responses, and a claim about the same ones says so; declare noise of an unknown level to have the bound inside the claim.

    >>> import sigmabar as sb
    >>> s, bound, freedom = sb.premises.noise_level([0, 0, 1, 1, 2], [1.0, 1.2, 3.0, 3.1, 9.0])
    >>> freedom, s < bound
    (2, True)
    """
    points, values = rows(x), vector(y)
    found = _core.replicates(points, values.tolist(), number(delta, "delta"))
    if found is None:
        raise ValueError("there are no replicates: measure some settings twice or more, or declare the level")
    seen = _core.seen_hashes(points, values)
    return LearntNumber(found[0], "learnt-here", seen), LearntNumber(found[1], "learnt-here", seen), found[2]


def functions(kernel: Kernel, norm: float, x: Any, *, hills: int = 4, count: int = 3, seed: int = 0) -> Floats:
    """Random functions of this norm at the rows of ``x``, one in each row of the result: could yours look like these?

    >>> import numpy as np, sigmabar as sb
    >>> sb.premises.functions(sb.Matern(nu=2.5, lengthscale=0.2), 2.0, np.linspace(0, 1, 50)).shape
    (3, 50)
    """
    points = rows(x)
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(count):
        centres = points[rng.choice(len(points), size=min(hills, len(points)), replace=False)]
        weights = rng.standard_normal(len(centres))
        size = math.sqrt(max(float(weights @ kernel(centres, centres) @ weights), 1e-300))
        drawn.append(kernel(points, centres) @ weights * (norm / size))
    return np.array(drawn)
