"""The names that options take, for checkers of types."""

from __future__ import annotations

from typing import Literal

Collected = Literal["fixed", "adaptive", "exchangeable", "undeclared"]
Coverage = Literal["point", "points", "uniform", "continuous"]
Direction = Literal["maximize", "minimize"]
Failures = Literal["unrelated", "informative", "undeclared"]
InducingMethod = Literal[
    "uniform", "kmeans", "greedy", "rpcholesky", "rls", "recursive-rls", "recursive-rls-theory", "bless", "density-rls", "posterior-variance", "kdpp", "kdpp-mcmc"
]
LearningMethod = Literal["rpcholesky", "greedy", "kmeans", "uniform"]
Calibration = Literal["auto", "split", "cross"]
Of = Literal["function", "response"]
NormKind = Literal["best", "trace", "lookahead", "dense", "randomised"]
Road = Literal["gram", "orthogonal"]
Rules = Literal["certified", "paper"]
Side = Literal["both", "lower", "upper"]
Width = Literal["tight", "paper", "drop-in", "energy"]
