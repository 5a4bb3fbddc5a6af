"""What `sigmabar serve` needs: time for the first look at an answer of 20 000 trials, and memory for ten studies.

    python3 bench/serve.py answer --command target/release/sigmabar
    python3 bench/serve.py memory --command target/release/sigmabar

Nothing but the standard library, and Linux for processor time and memory.
"""

import argparse
import contextlib
import csv
import math
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import tempfile
import time
import urllib.request

SPACE = '[parameters.east]\ntype = "float"\nlow = 0\nhigh = 1\n[parameters.north]\ntype = "float"\nlow = 0\nhigh = 1\n'
PREMISES = 'norm_bound = 2\nnoise = { gaussian = 0.05 }\nkernel = { name = "squared-exponential", lengthscale = 0.3 }\nstop_when = "gap < 0.01"\n'
STUDIES = {
    "certified": f'budget = 20000\nbatches = 2\nstrategy = "s-bpe"\n{PREMISES}{SPACE}',
    "estimated": f'budget = 20000\nstrategy = "random"\n{SPACE}',
}


def value(east, north, chance):
    """Two bumps of the declared kernel, of norm below 2, and noise."""
    bump = lambda x, y: math.exp(-((east - x) ** 2 + (north - y) ** 2) / (2 * 0.3**2))
    return bump(0.7, 0.7) + 0.6 * bump(0.2, 0.3) + chance.gauss(0, 0.05)


def measured(command, place, name):
    """A study whose 20 000 settings were all measured."""
    run = lambda *words: subprocess.run([command, *words], cwd=place, check=True, capture_output=True)
    (place / f"{name}.toml").write_text(STUDIES[name])
    chance, told = random.Random(1), 0
    while told < 20000:
        (place / "asked.csv").unlink(missing_ok=True)
        run("ask", f"{name}.toml", "-n", "20000", "-o", "asked.csv")
        with open(place / "asked.csv", newline="") as asked, open(place / "told.csv", "w", newline="") as out:
            rows = list(csv.DictReader(asked))
            writer = csv.writer(out)
            writer.writerow(["trial", "result"])
            writer.writerows([row["trial"], value(float(row["east"]), float(row["north"]), chance)] for row in rows)
        run("tell", "told.csv", "--study", f"{name}.toml")
        told += len(rows)


class Server:
    def __init__(self, process, address):
        self.process, (self.base, self.token) = process, address.split("/?token=")

    def get(self, path):
        request = urllib.request.Request(self.base + path, headers={"Authorization": f"Bearer {self.token}"})
        begun = time.perf_counter()
        with urllib.request.urlopen(request) as answer:
            text = answer.read().decode()
        return text, 1000 * (time.perf_counter() - begun)

    def screen(self, *names):
        return self.get("/".join(["", "s", *names]))

    def processor_ms(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self):
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1000


@contextlib.contextmanager
def served(command, place):
    process = subprocess.Popen([command, "serve", ".", "--port", "0"], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield Server(process, process.stdout.readline().strip())
    finally:
        process.terminate()
        process.wait(20)


def label(text):
    return next((word for word in ["certified", "estimated"] if f'class="answer {word}"' in text), "not there yet")


def answer(command, place, repeats):
    for name in STUDIES:
        if not (place / f"{name}.db").exists():
            measured(command, place, name)
    for name in STUDIES:
        for i in range(repeats):
            with served(command, place) as server:
                text, first = server.screen(name)
                seen, begun = label(text), time.perf_counter()
                answered = 0.0 if seen != "not there yet" else None
                while "data-waiting" in text:
                    time.sleep(0.02)
                    text, _ = server.screen(name)
                    if answered is None and label(text) != "not there yet":
                        answered = time.perf_counter() - begun
                whole, used = time.perf_counter() - begun, server.processor_ms()
                again = sorted(server.screen(name)[1] for _ in range(21))
            print(
                f"{name}, start {i + 1}: first look {first:.0f} ms (answer {seen}), the answer {answered or 0:.2f} s later ({label(text)}), all pictures {whole:.2f} s later, "
                f"{used:.0f} ms of processor time; after that {again[10]:.1f} ms, at most {again[-1]:.1f} ms ({len(text) / 1000:.0f} kB)",
                flush=True,
            )


def ten_studies(command, place):
    """One is measured, with all that its report needs, which takes 20 s of processor time; the others are copies under names of their own."""
    subprocess.run([command, "new", "--demo", "hills0.toml"], cwd=place, check=True, capture_output=True)
    subprocess.run([command, "run", "hills0.toml", "--parallel", "2"], cwd=place, check=True, capture_output=True)
    for i in range(1, 10):
        copy = place / f"hills{i}.db"
        shutil.copyfile(place / "hills0.db", copy)
        with contextlib.closing(sqlite3.connect(copy)) as file, file:
            file.execute("UPDATE sb_studies SET name = ?, identity = lower(hex(randomblob(16)))", [f"hills{i}"])


def memory(command, place, forget):
    ten_studies(command, place)
    with served(command, place) as server:
        time.sleep(3)
        print(f"10 studies, after the start: {server.resident_mb():.1f} MB", flush=True)
        for i in range(10):
            while "data-waiting" in server.screen(f"hills{i}")[0]:
                time.sleep(0.05)
        print(f"after a look at each answer: {server.resident_mb():.1f} MB", flush=True)
        for i in range(10):
            server.screen(f"hills{i}", "model"), server.screen(f"hills{i}", "report")
        print(f"after a look at each model and report: {server.resident_mb():.1f} MB", flush=True)
        if forget:
            time.sleep(330)
            print(f"five minutes later: {server.resident_mb():.1f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["answer", "memory"])
    parser.add_argument("--command", default="target/release/sigmabar")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-wait", action="store_true", help="memory: do not wait until what was looked at is forgotten")
    parser.add_argument("--place", help="a directory that is kept")
    options = parser.parse_args()
    command = str(pathlib.Path(options.command).resolve())
    with contextlib.ExitStack() as stack:
        place = pathlib.Path(options.place or stack.enter_context(tempfile.TemporaryDirectory()))
        place.mkdir(parents=True, exist_ok=True)
        if options.what == "answer":
            answer(command, place, options.repeats)
        else:
            memory(command, place, not options.no_wait)


if __name__ == "__main__":
    main()
