"""How many threads work."""

from __future__ import annotations

from . import _core
from ._checks import count_or_none

__all__ = ["get_num_threads", "set_num_threads"]


def set_num_threads(threads: int | None) -> None:
    """From now on so many threads work for this process and for those that are forked from it; results do not depend on it.

    ``None`` for what the environment says: ``SIGMABAR_NUM_THREADS``, ``RAYON_NUM_THREADS``, ``OMP_NUM_THREADS`` (which joblib sets in its workers), in this
    order, and all cores where none of them is set. The command reads the same variables.

    >>> import sigmabar as sb
    >>> sb.set_num_threads(2)
    >>> sb.get_num_threads()
    2
    >>> sb.set_num_threads(None)
    """
    wanted = count_or_none(threads, "the number of threads", least=1)
    if wanted is not None and wanted > _core.MOST_THREADS:
        raise _core.Error(f"the number of threads must be at most {_core.MOST_THREADS}, not {wanted}")
    _core.set_num_threads(wanted)


def get_num_threads() -> int:
    """How many threads work for this process.

    >>> import sigmabar as sb
    >>> sb.get_num_threads() >= 1
    True
    """
    return _core.num_threads()
