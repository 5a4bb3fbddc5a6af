"""``python -m sigmabar``: the same command line as the binary."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from ._core import run_command

__all__ = ["main", "run"]


def run(arguments: Sequence[str]) -> int:
    """Runs the command with these arguments and returns its exit code.

    >>> from sigmabar.__main__ import run
    >>> run(["theory", "--nonsense"])
    2
    """
    return run_command(["sigmabar", *arguments])


def main() -> None:
    """The command with the arguments of the process."""
    # As in the binary: verbs that can be interrupted safely say so themselves, all others end at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
