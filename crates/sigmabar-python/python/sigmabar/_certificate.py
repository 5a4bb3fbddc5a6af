"""Certificates: what a claim rests on. The same record, in the same JSON, as the command's and the study database's."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

from . import _core
from ._learnt import LearntNumber


class ContradictionWarning(UserWarning):
    """The data contradict what was declared: whatever is claimed under it is an estimate.

    >>> import numpy as np, warnings, sigmabar as sb
    >>> x = np.linspace(0, 1, 50)
    >>> p = sb.SparsePosterior(sb.SquaredExponential(0.2), 0.1, x, 1000 * np.sin(6 * x), inducing=x[::5], collected="fixed")
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     claim = p.interval([0.5], norm_bound=3.0, noise=sb.Gaussian(0.1)).certificate
    >>> said[0].category.__name__, claim.contradicted, claim.label
    ('ContradictionWarning', True, 'estimated')
    """


class Premise(NamedTuple):
    """What is assumed, and where it came from: ``"guaranteed"``, ``"declared"``, ``"learnt_elsewhere"``, ``"learnt_here"``, ``"estimated"`` or ``"unmet"``.

    >>> import sigmabar as sb
    >>> p = sb.ExactPosterior(sb.Matern(nu=2.5, lengthscale=0.3), 0.1, [0.0, 0.5], [1.0, 2.0], collected="fixed")
    >>> print(p.interval([0.2], 3.0, sb.Gaussian(0.1)).certificate.premises["points"].statement)
    no point was chosen by looking at a response
    """

    statement: str
    origin: str


class PremiseRange(NamedTuple):
    """For which premises a claim stands by the same data, in the model's scale: the data exclude norms below ``least_norm``; that the recommended setting is within
    ``claimed`` of the best holds under the declared premises; within ``gap`` (the wanted gap where it was reached, else twice as much) for every function of norm up to
    ``norm_breakdown``, and for noise up to ``noise_breakdown`` at the declared norm bound. That of a design speaks of its error instead of a gap (``of`` is ``"error"``), and that
    of a conclusion from intervals of the side of a threshold (``{"side": {"threshold": …, "above": …, "below": …}}``, at how many points).

    >>> import numpy as np, sigmabar as sb
    >>> s = sb.Strategy("s-bpe", domain=np.linspace(0, 1, 20), kernel=sb.Matern(nu=2.5, lengthscale=0.5), norm_bound=2.0, noise=sb.Gaussian(0.1), budget=60)
    >>> while (a := s.ask()) is not None:
    ...     s.tell(a.ids, 1 - 2 * (a.points[:, 0] - 0.5) ** 2)
    >>> r = s.recommend().premises
    >>> r.least_norm <= 2.0 <= r.norm_breakdown, r.noise_breakdown >= 0.1
    (True, True)
    >>> print(r)  # doctest: +ELLIPSIS
    under this kernel and noise it is within ... of the best for every function of norm up to the declared 2; within ..., twice that, up to norm ...

    ``print`` says it in words, with the noise in the unit of the results.
    """

    least_norm: float
    gap: float | None
    norm_breakdown: float | None
    noise_breakdown: float | None
    #: Whether the gap is that from the best of the candidates that stand for the space.
    among_candidates: bool = False
    #: The gap under the declared premises.
    claimed: float | None = None
    #: The wanted gap, where it was reached.
    wanted: float | None = None
    #: Whether ``norm_breakdown`` is as far as was looked: the claim may stand farther.
    norm_is_open: bool = False
    #: The same of ``noise_breakdown``.
    noise_is_open: bool = False
    #: Whether the norm bound alone says what is claimed: the data rule nothing out.
    is_trivial: bool = False
    #: What is followed to where it breaks: ``"gap"``, ``"error"`` or a side of a threshold.
    of: str | dict[str, Any] = "gap"
    #: The same in words; empty where there is nothing to say, as where the claim is only an estimate.
    sentence: str = ""

    def __str__(self) -> str:
        return self.sentence

    @classmethod
    def said(cls, found: dict[str, Any], certificate: Certificate) -> PremiseRange:
        """From JSON, as the range of a certificate. What the data exclude is learnt from them: as a norm bound it makes an estimate."""
        least = LearntNumber(found["least_norm"], "learnt-here", certificate._rows)
        sentence = _core.range_sentence(json.dumps(found), certificate.to_json()) or ""
        return cls(**{**found, "least_norm": least}, sentence=sentence)


@dataclass(frozen=True, repr=False)
class Certificate:
    """What a claim rests on: what is claimed about what, every premise with where it came from, what was computed, by which theorem. ``print`` it.

    ``label`` is ``"certified"`` (a theorem, with every premise declared or guaranteed by the program), ``"conformal"`` (a theorem for exchangeable rows) or
    ``"estimated"`` (the learnt model says so; no promise); ``weak_premises`` says what keeps it from being certified. ``details`` is the JSON with every number.

    >>> import numpy as np, sigmabar as sb
    >>> x = np.linspace(0, 1, 50)
    >>> p = sb.ExactPosterior(sb.SquaredExponential(0.2), 0.1, x, np.sin(6 * x))
    >>> c = p.interval([0.25], norm_bound=3.0, noise=sb.Gaussian(0.1)).certificate
    >>> c.label, c.delta, c.premises["norm_bound"].origin, c.details["theorem"]
    ('certified', 0.05, 'declared', 'energy')
    >>> sb.Certificate.from_json(c.to_json()) == c
    True
    """

    _json: str
    #: The rows that it is about, where they are known: what the data say is learnt on these.
    _rows: tuple[int, ...] = field(default=(), compare=False)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """A certificate that was written; refused if its label is not the one that its premises carry."""
        return cls(_core.read_certificate(text))

    def to_json(self) -> str:
        """The certificate as everybody writes it, to the byte."""
        return self._json

    @cached_property
    def _described(self) -> tuple[str, str, str | None, list[tuple[str, str, str]], list[str], list[str]]:
        return _core.describe_certificate(self._json)

    @cached_property
    def details(self) -> dict[str, Any]:
        """Everything in it."""
        details: dict[str, Any] = json.loads(self._json)
        return details

    @property
    def label(self) -> str:
        """``"certified"``, ``"conformal"`` or ``"estimated"``."""
        return self._described[1]

    @property
    def contradicted(self) -> bool:
        """Whether the data contradict the premises."""
        return self.contradiction is not None

    @property
    def contradiction(self) -> str | None:
        """How the data contradict the premises, and what would be consistent, if they do."""
        return self._described[2]

    @property
    def premises(self) -> dict[str, Premise]:
        """What is assumed, by name."""
        return {name: Premise(statement, origin) for name, statement, origin in self._described[3]}

    @property
    def weak_premises(self) -> list[str]:
        """What keeps the claim from being certified; empty if it is."""
        return self._described[4]

    @property
    def terms(self) -> list[str]:
        """What ``label`` does not say and a reader has to know: that premises were fixed after a pilot, that the noise level was found from replicates and at what cost."""
        return self._described[5]

    @property
    def delta(self) -> float:
        """The total probability that something claimed is false."""
        return float(self.details["delta"])

    @property
    def range(self) -> PremiseRange | None:
        """For which other premises the claim stands by the same data, where that was worked out."""
        found: dict[str, Any] | None = self.details["range"]
        return None if found is None else PremiseRange.said(found, self)

    @property
    def beta(self) -> float | None:
        """The factor on the standard deviation, where the width is one."""
        beta: float | None = self.details["bounds"]["beta"]
        return beta

    def __str__(self) -> str:
        return self._described[0]

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __repr__(self) -> str:
        terms = f", terms={self.terms!r}" if self.terms else ""
        return f"Certificate(label={self.label!r}, delta={self.delta!r}{terms})"


def warned(certificate: Certificate, stacklevel: int = 4) -> Certificate:
    """The certificate, said aloud if the data contradict its premises."""
    warn_of(certificate.contradiction, stacklevel + 1)
    return certificate


def warn_of(contradiction: str | None, stacklevel: int = 3) -> None:
    """Says a contradiction aloud, if there is one."""
    if contradiction is not None:
        warnings.warn(contradiction, ContradictionWarning, stacklevel=stacklevel)
