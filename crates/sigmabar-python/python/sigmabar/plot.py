"""Pictures through matplotlib, in colours that everybody can tell apart. Each function draws on ``ax`` (a new one by default) and returns it.

>>> import matplotlib
>>> matplotlib.use("Agg")
>>> import numpy as np, sigmabar as sb
>>> x = np.linspace(0, 1, 50)
>>> p = sb.SparsePosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x), inducing=x[::5])
>>> ax = sb.plot.posterior(p, data=(x, np.sin(6 * x)), norm_bound=3.0, noise=sb.Gaussian(0.1))
>>> ax.get_legend_handles_labels()[1]
['measured', 'prediction interval (certified)', 'interval for f (certified)', 'mean', 'inducing points']
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from ._arrays import Floats, rows, vector
from ._kernels import Kernel
from ._noise import Noise
from ._exact import ExactPosterior
from ._posterior import SparsePosterior
from ._strategy import Cells, Standing, Strategy
from ._study import Study
from .premises import Learnt
from .premises import functions as premise_functions

__all__ = ["calibration", "functions", "gap", "posterior", "premise_map", "premises", "survivors"]


def __dir__() -> list[str]:
    return __all__


_BLUE, _SKY, _ORANGE, _GREEN, _GREY = "#0072B2", "#56B4E9", "#D55E00", "#009E73", "#999999"


def posterior(
    model: Any,
    *,
    data: tuple[Any, Any] | None = None,
    norm_bound: float | None = None,
    noise: Noise | None = None,
    delta: float = 0.05,
    column: int | str = 0,
    at: Any = None,
    points: int = 300,
    names: Sequence[str] | None = None,
    response: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The mean along one ``column`` (the others fixed to ``at``, by default the middle of the data and the commonest category) with its bands and the inducing points.

    ``model`` is a posterior or a fitted :class:`sigmabar.sklearn.SparseKernelRegressor`. ``names`` are those of the columns, by default of the table that the
    regressor or ``data`` has; a column may be called by its name. ``response`` names the vertical axis.

    With ``norm_bound`` and ``noise`` (in units of the model's ``unit``) the bands are the intervals of the model, for the function and for a new response;
    without them one and two standard deviations.

    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np, sigmabar as sb
    >>> x = np.linspace(0, 1, 30)
    >>> p = sb.ExactPosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x))
    >>> ax = sb.plot.posterior(p, data=(x, np.sin(6 * x)))
    >>> ax.get_legend_handles_labels()[1]
    ['measured', 'two standard deviations', 'one standard deviation', 'mean']
    """
    ax = _axes(ax)
    names = _names(model, data, names)
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"there is no column {column!r}: there are {', '.join(names) or 'no names'}")
        column = names.index(column)
    encode = getattr(model, "_encoded", lambda X: X)
    categories = getattr(getattr(model, "_categories", None), "values", {})
    if column in categories:
        raise ValueError(f"{names[column] if column < len(names) else f'column {column}'} holds categories, and nothing lies between them: draw along another column")
    model = _posterior_of(model)
    inducing = model.inducing if isinstance(model, SparsePosterior) else None
    known = rows(encode(data[0])) if data is not None else inducing
    if known is None:
        raise ValueError("data=(X, y) is needed to know where to draw an exact posterior")
    low, high = known.min(axis=0), known.max(axis=0)
    middle = (low + high) / 2
    for place in categories:
        # Between two categories there is none: the one that is there most often.
        codes, counts = np.unique(known[:, place], return_counts=True)
        middle[place] = codes[np.argmax(counts)]
    queries = np.tile(middle if at is None else rows(encode(np.array([list(at)], dtype=object)) if categories else [list(at)])[0], (points, 1))
    line = queries[:, column] = np.linspace(low[column], high[column], points)
    mean, std = model.predict(queries)
    if data is not None:
        ax.scatter(known[:, column], vector(data[1]), s=8, color=_GREY, alpha=0.6, label="measured", zorder=1)
    if norm_bound is not None and noise is not None:
        wide = model.prediction_interval(queries, norm_bound, noise, delta)
        ax.fill_between(line, wide.lower, wide.upper, color=_SKY, alpha=0.25, lw=0, label=f"prediction interval ({wide.certificate.label})")
        narrow = model.interval(queries, norm_bound, noise, delta)
        mean = narrow.mean
        ax.fill_between(line, narrow.lower, narrow.upper, color=_BLUE, alpha=0.3, lw=0, label=f"interval for f ({narrow.certificate.label})")
    else:
        ax.fill_between(line, mean - 2 * std, mean + 2 * std, color=_SKY, alpha=0.25, lw=0, label="two standard deviations")
        ax.fill_between(line, mean - std, mean + std, color=_BLUE, alpha=0.3, lw=0, label="one standard deviation")
    ax.plot(line, mean, color=_BLUE, label="mean")
    if inducing is not None:
        base = ax.get_ylim()[0]
        ax.plot(inducing[:, column], np.full(len(inducing), base), "|", color=_ORANGE, ms=10, label="inducing points", clip_on=False)
    ax.set_xlabel(names[column] if column < len(names) else f"column {column}")
    ax.set_ylabel(response or getattr(data[1] if data is not None else None, "name", None) or "")
    ax.legend(fontsize="small")
    return ax


def calibration(model: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Axes:
    """The share of new responses inside the model's normal prediction bands against the nominal share, with the 95 % envelope of chance.

    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np, sigmabar as sb
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random(200)
    >>> y = np.sin(6 * x) + 0.1 * rng.standard_normal(200)
    >>> p = sb.SparsePosterior(sb.SquaredExponential(0.2), 0.1, x[:100], y[:100], inducing=np.linspace(0, 1, 10))
    >>> sb.plot.calibration(p, x[100:], y[100:]).get_ylabel()
    'observed'
    """
    from statistics import NormalDist

    ax = _axes(ax)
    X = getattr(model, "_encoded", lambda X: X)(X)
    model = _posterior_of(model)
    mean, std = model.predict(X)
    unit = model.prior[1]
    score = np.abs(vector(y) - mean) / np.hypot(std, model.tau * unit)
    nominal = np.linspace(0.01, 0.99, 99)
    quantiles = np.array([NormalDist().inv_cdf(0.5 + share / 2) for share in nominal])
    observed = (score[:, None] <= quantiles).mean(axis=0)
    spread = 1.96 * np.sqrt(nominal * (1 - nominal) / len(score))
    ax.fill_between(nominal, nominal - spread, nominal + spread, color=_GREY, alpha=0.3, lw=0, label="chance")
    ax.plot(nominal, nominal, color=_GREY, lw=1)
    ax.plot(nominal, observed, color=_BLUE, label="this model")
    ax.set(xlabel="nominal", ylabel="observed", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.legend(fontsize="small")
    return ax


def premises(strategy: Strategy | Study, *, along: Literal["norm", "noise"] = "norm", ax: Axes | None = None) -> Axes:
    """What would have to be true for the claim to be wrong: the gap against the norm bound, the norms that the data exclude, and where the claim breaks. Norms count as
    they were declared, also with ``shortest``. With ``along="noise"`` the same against the level of the noise, at the declared norm.

    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np, sigmabar as sb
    >>> s = sb.Strategy("s-bpe", domain=np.linspace(0, 1, 20), kernel=sb.Matern(nu=2.5, lengthscale=0.5), norm_bound=2.0, noise=sb.Gaussian(0.1), budget=60)
    >>> while (a := s.ask()) is not None:
    ...     s.tell(a.ids, 1 - 2 * (a.points[:, 0] - 0.5) ** 2)
    >>> sb.plot.premises(s).get_xlabel(), sb.plot.premises(s, along="noise").get_xlabel()
    ('norm bound', 'noise level')
    """
    if along not in ("norm", "noise"):
        raise ValueError(f"along must be 'norm' or 'noise', not {along!r}")
    _check_run(strategy)
    standing = strategy.standing()
    if standing is None:
        raise ValueError(f"strategy {_run_of(strategy).name!r} has certified nothing yet, or never does")
    found, rests_on = standing.range, standing.certificate.details["premises"]
    whose = _whose(standing, "norm_bound" if along == "norm" else "noise")
    least: float | None
    if along == "norm":
        unit = 1 / standing.growth
        values, gaps, declared, end = standing.norm_bounds / standing.growth, standing.gaps, standing.norm_bound / standing.growth, found.norm_breakdown
        # Far below everything else it would leave no room for the curve.
        least = unit * found.least_norm if unit * found.least_norm > declared / 1000 else None
    else:
        if standing.noise_level is None or not len(standing.noise_levels):
            raise ValueError("there is no noise to speak of")
        unit, whose = float(rests_on["prior"]["value"]["unit"]), whose if rests_on["level"] is None else "bounded by replicates"
        values, gaps, declared, end = unit * standing.noise_levels, standing.noise_gaps, unit * standing.noise_level, found.noise_breakdown
        least = max(values[np.isnan(gaps)], default=None)
    among = " among the candidates" if found.among_candidates else ""
    ax = _dial(_axes(ax), values, gaps, declared, (None if end is None else end * unit, found.gap), least, (along, among, whose))
    ax.set(xscale="log", yscale="log", xlabel="norm bound" if along == "norm" else "noise level", ylabel=f"gap{among}")
    # Numbers as people write them, and so few that they do not run into each other.
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
    ax.legend(fontsize="small")
    return ax


def _whose(standing: Standing, premise: str) -> str:
    """As the sentence says it."""
    return "learnt" if standing.certificate.details["premises"][premise]["origin"] == "learnt_elsewhere" else "declared"


def _dial(
    ax: Axes, values: Floats, gaps: Floats, declared: float, breaks: tuple[float | None, float | None], least: float | None, words: tuple[str, str, str]
) -> Axes:
    """A claim along one premise: what the data exclude, what was declared, and where the claim breaks."""
    (end, gap), (along, among, whose) = breaks, words
    if end is not None and gap is not None:
        # The claim was seen to stand up to there, which may be between two points of the curve.
        place = int(np.searchsorted(values, end))
        values, gaps = np.insert(values, place, end), np.insert(gaps, place, gap)
    ax.plot(values, gaps, color=_BLUE, marker="o", ms=3, drawstyle="steps-pre", label=f"gap, for every {'norm' if along == 'norm' else 'level'} up to this at once")
    ax.axvline(declared, color="black", ls="--", lw=1, label=f"{whose}: {declared:.3g}")
    if end is not None:
        ax.axvline(end, color=_ORANGE, ls="--", label=f"it stands up to: {_down(end)}")
    if gap is not None:
        ax.axhline(gap, color=_ORANGE, ls=":", label=f"within {gap:.3g} of the best{among}")
    if least is not None:
        left = min(values[0], least) / 1.5
        ax.axvspan(left, least, color=_GREY, alpha=0.25, label=f"excluded by the data: {'below' if along == 'norm' else 'up to'} {_down(least)}")
        ax.set_xlim(left=left)
    return ax


def functions(
    kernel: Kernel | Learnt, norm: float | None = None, x: Any = None, *, usual: float = 0.0, unit: float = 1.0, hills: int = 4, count: int = 3, seed: int = 0
) -> Figure:
    """Random functions of this norm next to each other: could yours look like these? ``x`` are settings along one column, or the levels of a choice one by one; values are
    ``usual`` plus ``unit`` times the function. Of learnt premises, :func:`sigmabar.premises.learn`, the functions under these, with a line for each choice.

    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np, sigmabar as sb
    >>> len(sb.plot.functions(sb.Matern(nu=2.5, lengthscale=0.2), 2.0, np.linspace(0, 1, 50)).axes)
    3
    """
    if isinstance(kernel, Learnt):
        if kernel.functions is None:
            raise ValueError("no parameter is a number along which functions could be drawn")
        along, choices, drawn = kernel.functions
        shares = np.linspace(0, 1, drawn.shape[-1])
        figure = _side_by_side(len(drawn), float(kernel.keys["prior_mean"]))
        for ax, function in zip(figure.axes, drawn):
            for values, colour, label in zip(function, (_BLUE, _ORANGE, _GREEN), choices or ["a function"]):
                ax.plot(shares, values, color=colour, label=label)
            ax.set_xlabel(f"share of {along}", fontsize="small")
        if choices:
            figure.axes[0].legend(fontsize="x-small")
        return figure
    if norm is None or x is None:
        raise ValueError("give the norm and x, or premises that were learnt")
    drawn = usual + unit * premise_functions(kernel, norm, x, hills=hills, count=count, seed=seed)
    points = rows(x)
    # Levels of a choice are 0 and 1 in several columns: they have no order, and nothing lies between them.
    is_choice = points.shape[1] > 1
    along_x = np.arange(len(points)) if is_choice else points[:, 0]
    figure = _side_by_side(len(drawn), usual)
    for ax, values in zip(figure.axes, drawn):
        ax.plot(along_x, values, color=_BLUE, ls="none" if is_choice else "-", marker="o" if is_choice else "")
    return figure


def _side_by_side(count: int, usual: float) -> Figure:
    figure, axes = plt.subplots(1, count, figsize=(2.6 * count, 2.4), sharey=True, squeeze=False, layout="constrained")
    for ax in axes[0]:
        ax.axhline(usual, color=_GREY, ls="--", lw=1)
    figure.suptitle("Could yours look like this?", fontsize="medium")
    return figure


def premise_map(strategy: Strategy | Study, *, ax: Axes | None = None) -> Axes:
    """The gap over norm bound and length-scale: bright where it is about the claimed one, dark from ten times that on, empty where the data exclude the premises. A line
    parts the premises under which the claim stands from those under which it does not. Norms count as they were declared, also with ``shortest``.

    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np, sigmabar as sb
    >>> s = sb.Strategy("s-bpe", domain=np.linspace(0, 1, 20), kernel=sb.Matern(nu=2.5, lengthscale=0.5), norm_bound=2.0, noise=sb.Gaussian(0.1), budget=60)
    >>> while (a := s.ask()) is not None:
    ...     s.tell(a.ids, 1 - 2 * (a.points[:, 0] - 0.5) ** 2)
    >>> sb.plot.premise_map(s).get_ylabel()
    'length-scale times'
    """
    _check_run(strategy)
    ax = _axes(ax)
    found, standing = strategy.premise_map(), strategy.standing()
    if found is None or standing is None:
        raise ValueError(f"strategy {_run_of(strategy).name!r} has certified nothing yet, or has no kernel, norm bound and noise")
    among = " among the candidates" if standing.range.among_candidates else ""
    claimed = standing.gaps[np.searchsorted(standing.norm_bounds, standing.norm_bound * (1 - 1e-12))]
    darkness = np.log10(np.maximum(found.gaps / claimed, 1.0))
    image = ax.imshow(-darkness, cmap="viridis", vmin=-1.0, vmax=0.0, origin="lower", aspect="auto")
    for i, row in enumerate(found.gaps):
        for j, gap in enumerate(row):
            if np.isfinite(gap) and j % 2 == 0:
                ax.text(j, i, f"{gap:.2g}", ha="center", va="center", fontsize="x-small", color="white" if darkness[i, j] > 0.5 else "black")
    columns = np.arange(0, len(found.norm_bounds), 2)
    ax.set_xticks(columns, [f"{norm:.2g}" for norm in found.norm_bounds[columns] / standing.growth])
    ax.set_yticks(np.arange(len(found.factors)), [f"{factor:g}" for factor in found.factors])
    whose = _whose(standing, "norm_bound")
    j, i = int(np.argmin(np.abs(found.norm_bounds - standing.norm_bound))), int(np.argmin(np.abs(found.factors - 1.0)))
    ax.plot([j - 0.5, j + 0.5, j + 0.5, j - 0.5, j - 0.5], [i - 0.5, i - 0.5, i + 0.5, i + 0.5, i - 0.5], color=_ORANGE, lw=3, label=f"{whose} premises")
    edges = _edges(found.gaps, standing.range.gap if standing.range.gap is not None else claimed)
    for x, y in edges:
        ax.plot(x, y, color="black", lw=3, solid_capstyle="projecting")
    if edges:
        ax.plot([], [], color="black", lw=3, label=f"within {standing.range.gap:.3g} of the best{among} stands on the bright side")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, fontsize="small")
    bar = ax.figure.colorbar(image, ax=ax, ticks=[-1.0, -0.5, 0.0], label=f"gap{among}")
    bar.ax.set_yticklabels([f"{claimed * factor:.2g}" for factor in (10.0, 10.0**0.5, 1.0)])
    ax.set(xlabel="norm bound (white: excluded by the data)", ylabel="length-scale times")
    return ax


def survivors(strategy: Strategy | Study, *, candidates: Any = None, columns: tuple[int, int] = (0, 1), ax: Axes | None = None) -> Axes:
    """What a run has not ruled out, in one or two columns, with its recommendation. A list needs its ``candidates``.

    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import sigmabar as sb
    >>> s = sb.Strategy("s-bpe", domain=([0, 0], [1, 1]), kernel=sb.Matern(nu=2.5, lengthscale=0.5), tau=0.1, norm_bound=1.0, noise=sb.Gaussian(0.05), budget=60)
    >>> a = s.ask()
    >>> s.tell(a.ids, a.points.sum(axis=1) / 4)
    >>> sb.plot.survivors(s).get_title().startswith("still possible")
    True
    """
    names = strategy.parameters if isinstance(strategy, Study) else list(getattr(strategy._domain, "names", []))
    ax, strategy = _axes(ax), _run_of(strategy)
    left = strategy.survivors
    if left is None:
        raise ValueError(f"strategy {strategy.name!r} has ruled nothing out yet, or never does")
    if not isinstance(left, Cells) and left.ndim == 1 and candidates is None:
        raise ValueError("what is left of a list is known by numbers: give the list as candidates=")
    if isinstance(left, Cells):
        i, j = columns if left.low.shape[1] > 1 else (0, None)
        for low, high in zip(left.low, left.high):
            bottom, height = (0.0, 1.0) if j is None else (low[j], high[j] - low[j])
            ax.add_patch(Rectangle((low[i], bottom), high[i] - low[i], height, color=_SKY, alpha=0.5, lw=0))
        ax.autoscale()
        width = left.low.shape[1]
    else:
        points = left if left.ndim == 2 else rows(candidates)
        width = points.shape[1]
        if left.ndim == 1:
            _scatter(ax, points, columns, color=_GREY, alpha=0.5, label="ruled out")
            points = points[left]
        _scatter(ax, points, columns, color=_SKY, label="still possible")
    if left is not None and (isinstance(left, Cells) or left.ndim == 2):
        # So that what is ruled out is seen to be.
        _scatter(ax, strategy.trials.points, columns, color=_GREY, s=6, label="measured")
    advice = strategy.recommend()
    if advice is not None:
        best = rows(candidates)[[advice.index]] if candidates is not None and advice.index is not None else advice.point[None, :]
        _scatter(ax, best, columns, color=_ORANGE, marker="*", s=120, label="recommended", zorder=3)
        ax.legend(fontsize="small")
    called = [names[i] if len(names) == width else f"column {i}" for i in columns[:width]]
    ax.set_xlabel(called[0])
    if width > 1:
        ax.set_ylabel(called[1])
    else:
        ax.set_yticks([])
    closed = len(strategy.batches)
    ax.set_title(f"still possible after {closed} {'batch' if closed == 1 else 'batches'}")
    return ax


def gap(strategy: Strategy | Study, *, ax: Axes | None = None) -> Axes:
    """How far from the best the recommendation could still be, after each batch, with the best value told so far.

    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np, sigmabar as sb
    >>> s = sb.Strategy("s-bpe", domain=np.linspace(0, 1, 50), kernel=sb.Matern(nu=2.5, lengthscale=0.5), tau=0.1, norm_bound=1.0, noise=sb.Gaussian(0.05), budget=60)
    >>> while (a := s.ask()) is not None:
    ...     s.tell(a.ids, a.points[:, 0] / 2)
    >>> sb.plot.gap(s).get_yscale()
    'log'
    """
    ax, strategy = _axes(ax), _run_of(strategy)
    reports = strategy.batches
    evaluations = np.cumsum([b.measured for b in reports])
    known = [(n, b.gap, b.label) for n, b in zip(evaluations, reports) if b.gap is not None and np.isfinite(b.gap)]
    if known:
        label = f"gap ({known[-1][2]})" if known[-1][2] else "gap"
        ax.step([n for n, _, _ in known], [g for _, g, _ in known], "o-", where="post", color=_BLUE, label=label)
        ax.legend(fontsize="small")
    ax.set(xlabel="evaluations", ylabel="gap to the best", yscale="log")
    return ax


def _posterior_of(model: Any) -> SparsePosterior | ExactPosterior:
    """The posterior itself, or that of a fitted regressor."""
    found = getattr(model, "posterior_", model)
    if not isinstance(found, (SparsePosterior, ExactPosterior)):
        raise ValueError(f"a posterior or a fitted regressor can be drawn, not {model!r}")
    return found


def _check_run(strategy: object) -> None:
    if not isinstance(strategy, (Strategy, Study)):
        raise TypeError(f"this picture is about a whole run: give the strategy or the study, not its {type(strategy).__name__}")


def _run_of(strategy: Strategy | Study) -> Strategy:
    return strategy.strategy if isinstance(strategy, Study) else strategy


def _edges(gaps: Floats, gap: float) -> list[tuple[list[float], list[float]]]:
    """Where cells in which a gap stands meet cells in which it does not; what the data exclude is neither."""
    stands = np.where(np.isnan(gaps), np.nan, gaps <= gap)
    found = [([j + 0.5, j + 0.5], [i - 0.5, i + 0.5]) for i, j in np.argwhere(np.abs(np.diff(stands, axis=1)) == 1)]
    return found + [([j - 0.5, j + 0.5], [i + 0.5, i + 0.5]) for i, j in np.argwhere(np.abs(np.diff(stands, axis=0)) == 1)]


def _down(value: float) -> str:
    """Three digits that never say more than the value."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.floor(value / step) * step:.3g}"


def _names(model: Any, data: tuple[Any, Any] | None, names: Sequence[str] | None) -> list[str]:
    """What the columns are called, where anybody said."""
    table = getattr(data[0], "columns", None) if data is not None else None
    for found in (names, getattr(model, "feature_names_in_", None), table):
        if found is not None:
            return [str(name) for name in found]
    return []


def _axes(ax: Axes | None) -> Axes:
    return ax if ax is not None else plt.subplots(figsize=(6, 4), layout="constrained")[1]


def _scatter(ax: Axes, points: Any, columns: tuple[int, int], **style: Any) -> None:
    first = points[:, columns[0]]
    second = points[:, columns[1]] if points.shape[1] > 1 else np.zeros(len(points))
    ax.scatter(first, second, **{"s": 10, **style})
