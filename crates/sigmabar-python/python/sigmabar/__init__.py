"""Sparse kernel regression, design and optimisation whose intervals are theorems.

Three stories, each a few lines:

Regression: what is the function, with an interval that may be relied on?

>>> import numpy as np, sigmabar as sb
>>> rng = np.random.default_rng(0)
>>> X = rng.random((500, 1))
>>> y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(500)
>>> k = sb.SquaredExponential(lengthscale=0.2)
>>> p = sb.SparsePosterior(k, 0.1, X, y, inducing=sb.select_inducing(k, X, tau=0.1), collected="fixed")
>>> iv = p.interval([[0.5]], norm_bound=3.0, noise=sb.Gaussian(0.1), delta=0.05)
>>> bool(iv.lower[0] < np.sin(3) < iv.upper[0]), iv.certificate.label
(True, 'certified')

Design: where to measure, to know the function everywhere?

>>> d = sb.max_variance_design(k, 0.1, np.linspace(0, 1, 1000), 30)
>>> d.max_std < 0.1
True

Optimisation: what is the best setting, found in few parallel batches?

>>> s = sb.Strategy("s-bpe", domain=np.linspace(0, 1, 300), kernel=k, tau=0.1, norm_bound=3.0, noise=sb.Gaussian(0.1), budget=200)
>>> while (a := s.ask()) is not None:
...     s.tell(a.ids, np.sin(6 * a.points[:, 0]) + 0.1 * rng.standard_normal(len(a)))
>>> r = s.recommend()
>>> r.label, bool(1.0 - np.sin(6 * r.point[0]) <= r.gap)
('certified', True)

``sigmabar.sklearn``, ``sigmabar.optuna``, ``sigmabar.dask``, ``sigmabar.spark``, ``sigmabar.ray`` and ``sigmabar.plot`` need the packages in their names (the last matplotlib) and are imported when asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import premises, theory
from ._certificate import Certificate, ContradictionWarning, Premise, PremiseRange
from ._core import Contradicted, Error, __version__
from ._design import Design, ErrorCurve, UniformError, max_variance_design
from ._domain import Box, Candidates, Categorical, Constraint, Domain, Float, Int, Ordinal, Space
from ._evidence import Learnt, fit_hyperparameters
from ._exact import ExactPosterior
from ._inducing import Inducing, select_inducing
from ._interval import Interval
from ._kernels import Hamming, Kernel, Linear, Matern, Periodic, RationalQuadratic, SquaredExponential
from ._known import Bracket, Breakdown, IntervalCurve, ResidualNorm, VarianceParts, Variational
from ._learnt import LearntNumber
from ._noise import Bounded, Gaussian, LightTailed, Noise, PerObservation, SubGaussian, UnknownLevel
from ._posterior import SparsePosterior
from ._rows import Accumulator, Plan
from ._strategy import Ask, Batch, Cells, PremiseMap, Recommendation, Standing, Strategy, Trials
from ._study import Advice, Study, Trial, study_schema
from ._threads import get_num_threads, set_num_threads

__all__ = [
    "Accumulator",
    "Advice",
    "Ask",
    "Batch",
    "Bounded",
    "Box",
    "Bracket",
    "Breakdown",
    "Candidates",
    "Categorical",
    "Cells",
    "Certificate",
    "Constraint",
    "Contradicted",
    "ContradictionWarning",
    "Design",
    "Domain",
    "Error",
    "ErrorCurve",
    "ExactPosterior",
    "Float",
    "Gaussian",
    "Hamming",
    "Inducing",
    "Int",
    "Interval",
    "IntervalCurve",
    "Kernel",
    "Learnt",
    "LearntNumber",
    "LightTailed",
    "Linear",
    "Matern",
    "Noise",
    "Ordinal",
    "PerObservation",
    "Periodic",
    "Plan",
    "Premise",
    "PremiseMap",
    "PremiseRange",
    "RationalQuadratic",
    "Recommendation",
    "ResidualNorm",
    "Space",
    "SparsePosterior",
    "SquaredExponential",
    "Standing",
    "Strategy",
    "Study",
    "SubGaussian",
    "Trial",
    "Trials",
    "UniformError",
    "UnknownLevel",
    "VarianceParts",
    "Variational",
    "__version__",
    "fit_hyperparameters",
    "get_num_threads",
    "max_variance_design",
    "premises",
    "select_inducing",
    "set_num_threads",
    "study_schema",
    "theory",
]

_ON_DEMAND = ("dask", "optuna", "plot", "ray", "sklearn", "spark")


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return importlib.import_module(f"{__name__}.{name}")
    hint = "; it is in sigmabar.sklearn" if name == "SparseKernelRegressor" else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_DEMAND})
