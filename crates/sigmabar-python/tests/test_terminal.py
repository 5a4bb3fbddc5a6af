"""The command on a real terminal: bars and tables that fit its width."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))

PATIENCE = 120.0
WIDTHS = [60, 80, 200]


def on_terminal(width: int, *arguments: str, cwd: Path, errors: bool = False) -> list[str]:
    """The lines that a terminal of this width is sent: standard output, and with ``errors`` standard error too."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    clean = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "CI")} | {"TERM": "xterm-256color", "SIGMABAR_NUM_THREADS": "1"}
    child = subprocess.Popen(
        [sys.executable, "-m", "sigmabar", *arguments], cwd=cwd, env=clean, stdin=theirs, stdout=theirs, stderr=theirs if errors else subprocess.DEVNULL, start_new_session=True
    )
    os.close(theirs)
    said, end = b"", time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    os.close(ours)
    assert child.wait(PATIENCE) == 0, said.decode()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode())
    return re.split(r"[\r\n]+", plain)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of many parameters with failures and long reasons."""
    folder = tmp_path_factory.mktemp("terminal")
    parameters = "".join(f"[parameters.factor_{i}]\ntype = 'float'\nlow = 0\nhigh = 1\n" for i in range(6))
    (folder / "wide.toml").write_text(f"budget = 8\n{parameters}[objective]\ncommand = 'test {{id}} = 3 && echo the instrument was off >&2 && exit 3; echo {{factor_1}}'\n")
    subprocess.run([sys.executable, "-m", "sigmabar", "run", "wide.toml", "--no-report", "-q"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.mark.parametrize("width", WIDTHS)
def test_the_bar_says_how_far_how_good_what_failed_and_what_takes_long(width: int, tmp_path: Path) -> None:
    objective = "test {id} = 2 && echo broken >&2 && exit 3; test {id} = 4 && sleep 6; echo {x}"
    (tmp_path / "s.toml").write_text(f"budget = 12\nbatches = 1\n[parameters.x]\ntype = 'float'\nlow = 0\nhigh = 1\n[objective]\ncommand = '{objective}'\n")
    lines = on_terminal(width, "run", "s.toml", "--parallel", "2", "--no-report", cwd=tmp_path, errors=True)
    bars = [line for line in lines if re.match(r"\d+ of 12\b", line)]
    assert any(re.match(r"11 of 12, best 0\.\d+, 1 failed, trial 4 for [3-9]s", bar) for bar in bars), bars[-3:]
    assert max(len(bar) for bar in bars) <= width, bars[-3:]
    if width == 200:
        assert any(bar.endswith(" left") or " left " in bar for bar in bars), "how long it will take, where there is room"


@pytest.mark.parametrize("width", WIDTHS)
def test_tables_are_as_wide_as_the_terminal_at_most(width: int, finished: Path) -> None:
    table = [line for line in on_terminal(width, "trials", "wide.toml", cwd=finished) if line]
    assert max(len(line) for line in table) <= width
    frame = {line[0] for line in table} | {line[-1] for line in table}
    assert frame <= set("┌╞│├└┐╡┤┘"), "no line is broken by the terminal"
    assert {"trial", "state", "value"} <= set(re.findall(r"\w+", table[1])), table[1]
    assert ("told_at" in table[1]) == (width == 200), table[1]
    said = on_terminal(width, "trials", "wide.toml", cwd=finished, errors=True)
    assert any(line.startswith("too narrow for ") and "--format csv has everything" in line for line in said) == (width < 200)
    # Words break between lines of their cell, and nothing is left out for them.
    table = [line for line in on_terminal(width, "theory", "--points", "30", "--budget", "100", cwd=finished) if line]
    assert max(len(line) for line in table) <= width and "meaning" in table[1]


@pytest.mark.parametrize("width", WIDTHS)
def test_records_are_as_wide_as_the_terminal_at_most(width: int, finished: Path) -> None:
    for verb in ("status", "recommend"):
        lines = [line for line in on_terminal(width, verb, "wide.toml", cwd=finished) if line]
        assert max(len(line) for line in lines) <= width, lines
    value = max(line.index("estimated") for line in lines if line.startswith("label"))
    rest = [line for line in lines if line.startswith(" ")]
    assert (width == 200) or rest, "the reasons go on below themselves"
    assert all(line[:value].strip() == "" and line[value] != " " for line in rest), rest


def test_nothing_is_cut_where_there_is_no_terminal(finished: Path) -> None:
    told = subprocess.run([sys.executable, "-m", "sigmabar", "trials", "wide.toml"], cwd=finished, capture_output=True, text=True, check=True)
    assert "told_at" in told.stdout.splitlines()[1] and "too narrow" not in told.stderr
    assert not any(re.match(r"\d+ of \d+", line) for line in told.stderr.splitlines())
