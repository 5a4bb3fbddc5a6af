"""Kernels: what is assumed about the function."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, Union

import numpy as np

from ._arrays import Floats, floats, rows
from ._checks import count, number
from ._core import Error
from ._core import Kernel as CoreKernel
from ._learnt import LearntNumber, kept, marked, source_of

Scale = Union[float, Sequence[float]]


class Kernel:
    """A positive semi-definite kernel. Kernels are added with ``+`` and multiplied with ``*``.

    >>> import sigmabar as sb
    >>> k = sb.Matern(nu=2.5, lengthscale=[0.3, 0.5]) + 0.5 * sb.Linear()
    >>> k([[0.0, 0.0]], [[0.3, 0.5]]).shape
    (1, 1)
    >>> k.columns([2, 0])([[1, 9, 2]], [[1, 7, 2]]).round(3)
    array([[4.]])
    """

    _core: CoreKernel

    @classmethod
    def _wrap(cls, core: CoreKernel) -> Kernel:
        kernel = object.__new__(_class_of(core))
        kernel._core = core
        return kernel

    def __call__(self, X: Any, Z: Any = None) -> Floats:
        """The matrix of ``k(x, z)``, one row for each point of ``X``; without ``Z`` of ``X`` with itself."""
        x = rows(X)
        return self._core.block(x, x if Z is None else rows(Z))

    def diag(self, X: Any) -> Floats:
        """``k(x, x)`` at each point."""
        return self._core.diagonal(rows(X))

    def metric(self, X: Any, Z: Any = None) -> Floats:
        """The kernel metric ``sqrt(k(x,x) + k(z,z) - 2 k(x,z))``: how far apart values of a function of norm 1 can be.

        >>> import sigmabar as sb
        >>> sb.SquaredExponential(1.0).metric([0.0], [0.0, 1.0]).round(4)
        array([[0.    , 0.8871]])
        """
        x = rows(X)
        return self._core.metric(x, x if Z is None else rows(Z))

    def columns(self, columns: Sequence[int]) -> Kernel:
        """The same kernel, seeing only these columns, counted from 0."""
        return Kernel._wrap(self._core.columns([count(c, "columns") for c in columns]))

    def for_new_data(self) -> Kernel:
        """This kernel for other responses than those it was learnt on: intervals are then certified *if* the norm bound holds under it.

        A kernel learnt by :func:`sigmabar.fit_hyperparameters` remembers that, and intervals from the same responses are estimates. It remembers up to 256 of
        the rows too: a posterior on any of them is noticed, and the kernel counts as learnt there again.
        """
        return Kernel._wrap(self._core.for_new_data())

    @property
    def source(self) -> str:
        """``"declared"``, ``"learnt-before"`` or ``"learnt-here"``."""
        return self._core.source()

    @property
    def parameters(self) -> dict[str, float]:
        """Names and values of the parameters.

        >>> import sigmabar as sb
        >>> sb.SquaredExponential(0.3).parameters
        {'lengthscale': 0.3, 'variance': 1.0}
        """
        return {name: self._marked(value) for name, value in self._core.parameters()}

    @property
    def variance(self) -> float:
        """The prior variance, of a kernel that is no sum or product."""
        return self._marked(self._field("variance"))

    @property
    def lengthscale(self) -> float | list[float]:
        """The length-scale, or one for each column, of a kernel that is no sum or product."""
        return self._scale("lengthscale")

    def _marked(self, value: float) -> float:
        """A parameter, which remembers that the kernel was learnt."""
        return marked(float(value), self.source, json.loads(self._core.to_json())[1])

    def _scale(self, name: str) -> float | list[float]:
        return self._all_marked(_scale_of(self._field(name)))

    def _all_marked(self, scale: float | list[float]) -> float | list[float]:
        return [self._marked(value) for value in scale] if isinstance(scale, list) else self._marked(scale)

    def _field(self, name: str) -> Any:
        for body in _structure(self._core).values():
            if isinstance(body, dict) and name in body:
                return body[name]
        raise AttributeError(f"{type(self).__name__} has no {name} of its own: see .parameters")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn asks for them; parts of a sum or product are ``k1``, ``k2``, …

        >>> import sigmabar as sb
        >>> (sb.SquaredExponential(0.3) + sb.Linear()).get_params()["k1__lengthscale"]
        0.3
        """
        return {name: self._all_marked(value) for name, value in _parameters(_structure(self._core)).items()}

    def set_params(self, **params: Any) -> Kernel:
        """Changes parameters in place, so that grids can: ``GridSearchCV(model, {"kernel__lengthscale": [0.1, 1.0]})``.

        >>> import sigmabar as sb
        >>> sb.SquaredExponential(0.3).set_params(lengthscale=0.5).lengthscale
        0.5
        """
        kernel, *rest = json.loads(self._core.to_json())
        node = kernel["value"]
        for name, value in params.items():
            node = _changed(node, name, value)
        self._core = _sourced(_stored([{**kernel, "value": node}, *rest]), params.values())
        return self

    def __sklearn_clone__(self) -> Kernel:
        return Kernel._wrap(self._core)

    def __add__(self, other: Kernel) -> Kernel:
        return Kernel._wrap(self._core.add(other._core)) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Kernel._wrap(self._core.multiply(other._core))
        return self.__rmul__(other)

    def __rmul__(self, factor: float) -> Kernel:
        """A number times a kernel multiplies its variance."""
        if not isinstance(factor, (int, float, np.number)):
            return NotImplemented
        scaled = _scaled(json.loads(self._core.to_json()), float(factor))
        return Kernel._wrap(_sourced(_stored(scaled), [factor]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self._core.to_json() == other._core.to_json()

    def __hash__(self) -> int:
        return hash(self._core.to_json())

    def __repr__(self) -> str:
        return _written(_structure(self._core))

    def __reduce__(self) -> Any:
        return (_restored, (self._core.to_json(),))


class SquaredExponential(Kernel):
    """``variance * exp(-rho**2 / 2)`` with ``rho**2 = sum(((x - z) / lengthscale)**2)``: very smooth functions.

    >>> import sigmabar as sb
    >>> sb.SquaredExponential(lengthscale=0.3)([0.0], [0.3]).round(4)
    array([[0.6065]])
    """

    def __init__(self, lengthscale: Scale = 1.0, variance: float = 1.0) -> None:
        self._core = _made("squared-exponential", lengthscale, variance)


def _refuse_unnamed(unnamed: tuple[Any, ...], name: str, shape: str) -> None:
    """Nobody knows whether the 0.3 of ``Matern(0.3)`` is a length."""
    if unnamed:
        raise TypeError(f"say which number is which: {name}({shape}=…, lengthscale=…), not {name}({', '.join(map(repr, unnamed))})")


class Matern(Kernel):
    """The Matérn kernel of smoothness ``nu``; 1.5 and 2.5 are usual. Parameters are named: nobody knows whether the 0.3 of ``Matern(0.3)`` is a length.

    >>> import sigmabar as sb
    >>> sb.Matern(nu=0.5, lengthscale=2.0)([0.0], [2.0]).round(4)
    array([[0.3679]])
    """

    def __init__(self, *unnamed: NoReturn, nu: float = 2.5, lengthscale: Scale = 1.0, variance: float = 1.0) -> None:
        _refuse_unnamed(unnamed, "Matern", "nu")
        self._core = _made("matern", lengthscale, variance, kept(nu, "nu"))

    @property
    def nu(self) -> float:
        """The smoothness."""
        return self._marked(self._field("nu"))


class RationalQuadratic(Kernel):
    """``variance * (1 + rho**2 / (2 * alpha))**(-alpha)``: many length-scales at once.

    >>> import sigmabar as sb
    >>> sb.RationalQuadratic(alpha=1.0)([0.0], [1.0]).round(4)
    array([[0.6667]])
    """

    def __init__(self, *unnamed: NoReturn, alpha: float = 1.0, lengthscale: Scale = 1.0, variance: float = 1.0) -> None:
        _refuse_unnamed(unnamed, "RationalQuadratic", "alpha")
        self._core = _made("rational-quadratic", lengthscale, variance, kept(alpha, "alpha"))

    @property
    def alpha(self) -> float:
        """The mixture of scales: large values are one scale."""
        return self._marked(self._field("alpha"))


class Periodic(Kernel):
    """Functions that repeat with a period.

    >>> import sigmabar as sb
    >>> sb.Periodic(period=2.0)([0.0], [2.0, 1.0]).round(4)
    array([[1.    , 0.1353]])
    """

    def __init__(self, period: Scale = 1.0, lengthscale: Scale = 1.0, variance: float = 1.0) -> None:
        self._core = _made("periodic", lengthscale, variance, 0.0, period)

    @property
    def period(self) -> float | list[float]:
        """The period, or one for each column."""
        return self._scale("period")


class Linear(Kernel):
    """Linear functions: ``variance * (offset + sum(x * z / lengthscale**2))``.

    >>> import sigmabar as sb
    >>> sb.Linear(offset=1.0)([2.0], [3.0])
    array([[7.]])
    """

    def __init__(self, offset: float = 1.0, lengthscale: Scale = 1.0, variance: float = 1.0) -> None:
        self._core = _made("linear", lengthscale, variance, kept(offset, "offset"))

    @property
    def offset(self) -> float:
        """The variance of the constant, in units of ``variance``."""
        return self._marked(self._field("offset"))


class Hamming(Kernel):
    """For columns that hold categories: ``variance * exp(-sum((x != z) / lengthscale))``.

    >>> import sigmabar as sb
    >>> sb.Hamming()([[0, 1]], [[0, 1], [0, 2]]).round(4)
    array([[1.    , 0.3679]])
    """

    def __init__(self, lengthscale: Scale = 1.0, variance: float = 1.0) -> None:
        self._core = _made("hamming", lengthscale, variance)


_CLASSES = {c.__name__: c for c in (SquaredExponential, Matern, RationalQuadratic, Periodic, Linear, Hamming)}


def kernel_core(kernel: Any) -> CoreKernel:
    """A kernel as the private module takes it."""
    if not isinstance(kernel, Kernel):
        raise Error(f"kernel must be a kernel of sigmabar, such as Matern(nu=2.5, lengthscale=0.3), not {kernel!r}")
    return kernel._core


def learnt_parameters(kernel: Kernel) -> list[float]:
    """One number with the kernel's mark, if it was learnt."""
    return [] if kernel.source == "declared" else [kernel._marked(0.0)]


def _made(kind: str, lengthscale: Scale, variance: float, shape: float = 0.0, period: Scale = 1.0) -> CoreKernel:
    core = CoreKernel.of(
        kind, floats(lengthscale, "lengthscale"), bool(np.ndim(lengthscale) == 0), number(variance, "variance"), float(shape), floats(period, "period")
    )
    return _sourced(core, [lengthscale, variance, shape, period])


def _sourced(core: CoreKernel, parameters: Iterable[Any]) -> CoreKernel:
    """The kernel, learnt if one of its parameters was."""
    flat = [v for p in parameters for v in (p if isinstance(p, (list, tuple)) else [p])]
    return core.sourced(*source_of(flat)) if any(isinstance(v, LearntNumber) for v in flat) else core


def _stored(stored: list[Any]) -> CoreKernel:
    """The kernel that was changed; each part is made as its class makes it, which says what is wrong with a parameter."""

    def check(node: dict[str, Any]) -> None:
        (kind, body), = node.items()
        for part in body if kind in ("Sum", "Product") else [body["kernel"]] if kind == "Columns" else []:
            check(part)
        if kind in _CLASSES:
            _CLASSES[kind](**_parameters(node))

    check(stored[0]["value"])
    return CoreKernel.from_json(json.dumps(stored))


def _restored(text: str) -> Kernel:
    return Kernel._wrap(CoreKernel.from_json(text))


def _structure(core: CoreKernel) -> dict[str, Any]:
    structure: dict[str, Any] = json.loads(core.to_json())[0]["value"]
    return structure


def _class_of(core: CoreKernel) -> type[Kernel]:
    return _CLASSES.get(next(iter(_structure(core))), Kernel)


def _scale_of(value: dict[str, Any]) -> float | list[float]:
    scale: float | list[float] = next(iter(value.values()))
    return scale


def _scaled(stored: list[Any], factor: float) -> list[Any]:
    """The stored kernel with every summand's variance multiplied once."""

    def scale(node: dict[str, Any]) -> dict[str, Any]:
        (kind, body), = node.items()
        if kind == "Sum":
            return {kind: [scale(part) for part in body]}
        if kind == "Product":
            return {kind: [scale(body[0]), *body[1:]]}
        if kind == "Columns":
            return {kind: {**body, "kernel": scale(body["kernel"])}}
        return {kind: {**body, "variance": factor * body["variance"]}}

    kernel, *rest = stored
    return [{**kernel, "value": scale(kernel["value"])}, *rest]


def _parameters(node: dict[str, Any]) -> dict[str, Any]:
    (kind, body), = node.items()
    if kind in ("Sum", "Product"):
        return {f"k{i}__{name}": value for i, part in enumerate(body, 1) for name, value in _parameters(part).items()}
    if kind == "Columns":
        return _parameters(body["kernel"])
    return {name: _scale_of(value) if isinstance(value, dict) else value for name, value in body.items()}


def _changed(node: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    """The stored kernel with one parameter changed."""
    (kind, body), = node.items()
    if kind == "Columns":
        return {kind: {**body, "kernel": _changed(body["kernel"], name, value)}}
    part, _, rest = name.partition("__")
    if kind in ("Sum", "Product") and rest and part[1:].isdigit() and 1 <= int(part[1:]) <= len(body):
        place = int(part[1:]) - 1
        return {kind: [_changed(k, rest, value) if i == place else k for i, k in enumerate(body)]}
    if not isinstance(body, dict) or name not in body:
        raise Error(f"{kind} has no parameter {name!r}: there are {', '.join(_parameters(node))}")
    if isinstance(body[name], dict):
        scale = {"Shared": number(value, name)} if np.ndim(value) == 0 else {"PerColumn": floats(value, name)}
        return {kind: {**body, name: scale}}
    return {kind: {**body, name: number(value, name)}}


def _written(node: dict[str, Any]) -> str:
    (kind, body), = node.items()
    if kind in ("Sum", "Product"):
        parts = [_written(part) for part in body]
        return " + ".join(parts) if kind == "Sum" else " * ".join(f"({p})" if " + " in p else p for p in parts)
    if kind == "Columns":
        inner = _written(body["kernel"])
        return f"({inner}).columns({body['columns']})" if " " in inner.split("(")[0] else f"{inner}.columns({body['columns']})"
    values = {name: _scale_of(v) if isinstance(v, dict) else v for name, v in body.items()}
    return f"{kind}({', '.join(f'{name}={value!r}' for name, value in values.items())})"
