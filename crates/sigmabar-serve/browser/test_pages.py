"""Every screen in a real browser: opened, clicked, typed into, and watched for errors and for requests to anywhere else.

Run by scripts/test-browser.sh, which installs chromium and Playwright. Screenshots go to target/screens.
"""

import csv
import io
import os
import pathlib
import re
import subprocess
import sys
import time

from playwright.sync_api import expect, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[3]
COMMAND = os.environ.get("SIGMABAR", str(ROOT / "target/debug/sigmabar"))
SCREENS = ROOT / "target/screens"
PLATE = """description = "Yield of a reaction"
plate = 24
plates = 2
norm_bound = 3
prior_mean = 50
unit = 20
noise = 0.1
strategy = "s-bpe"
[kernel]
name = "matern"
lengthscale = 0.4
[parameters.temperature]
type = "float"
low = 20
high = 80
[parameters.solvent]
type = "categorical"
choices = ["water", "ethanol"]
"""
LARGE = 'budget = 20000\nstrategy = "random"\n[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n'


def command(*arguments, cwd):
    subprocess.run([COMMAND, *arguments], cwd=cwd, check=True, capture_output=True)


def prepare(place):
    (place / "plate.toml").write_text(PLATE)
    (place / "large.toml").write_text(LARGE)
    command("ask", "plate.toml", "--plate", "24", "-o", "plate1.csv", cwd=place)
    # 20 000 trials of which all are told, in one sheet.
    command("ask", "large.toml", "-n", "20000", "-o", "large.csv", cwd=place)
    rows = list(csv.DictReader(io.StringIO((place / "large.csv").read_text())))
    with open(place / "told.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["trial", "result"])
        out.writerows([row["trial"], float(row["x"]) * 2] for row in rows)
    command("tell", "told.csv", "--study", "large.toml", cwd=place)


class Watched:
    """A page, and everything that is wrong with it."""

    def __init__(self, context, base):
        self.page, self.wrong, self.base = context.new_page(), [], base
        self.expected = 0
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: None if request.url.startswith((base, "data:", "blob:")) else self.wrong.append(f"asks {request.url}"))

    def check(self):
        assert self.wrong == [], self.wrong


def shot(page, name):
    page.screenshot(path=str(SCREENS / f"{name}.png"), full_page=False)


def fill_a_well(page):
    wells = page.locator("button.well.open")
    before = wells.count()
    wells.first.click()
    page.keyboard.type("51.5")
    page.keyboard.press("Enter")
    # The next well is open for typing at once; Escape leaves it.
    expect(page.locator("input.well")).to_be_focused()
    page.keyboard.type("nonsense")
    page.keyboard.press("Enter")
    expect(page.locator("#say")).to_contain_text("neither a number")
    page.locator("input.well").fill("failed")
    page.keyboard.press("Enter")
    expect(page.locator("input.well")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("span.well.failed")).to_have_count(1, timeout=5000)
    expect(page.locator("button.well.open")).to_have_count(before - 2, timeout=5000)
    page.locator("button.well.open").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.className").startswith("well")


def upload(page, place):
    """A sheet with one contradiction is shown and cannot be told; a right one can."""
    rows = list(csv.DictReader(io.StringIO((place / "plate1.csv").read_text())))
    def sheet(name, value):
        with open(place / name, "w", newline="") as file:
            out = csv.DictWriter(file, rows[0].keys())
            out.writeheader()
            out.writerows({**row, "result": value(i)} for i, row in enumerate(rows))
        return str(place / name)
    page.set_input_files("#sheet", sheet("wrong.csv", lambda i: 40 + i))
    expect(page.locator("#difference")).to_contain_text("that contradict")
    expect(page.locator("#difference .change-conflict").first).to_be_visible()
    expect(page.locator("#difference button")).to_have_count(0)
    shot(page, "plates-difference")
    told = {0: "51.5", 1: "failed"}
    page.set_input_files("#sheet", sheet("right.csv", lambda i: told.get(i, 40 + i if i < 20 else "")))
    expect(page.locator("#difference")).to_contain_text("18 new")
    page.get_by_role("button", name="Tell 18 results").click()
    expect(page.locator("#difference")).to_be_empty()
    expect(page.locator("button.well.open")).to_have_count(4, timeout=5000)


def sees_what_others_do(page, place):
    page.goto(page.url.split("/s/")[0] + "/s/plate")
    expect(page.locator("#live")).to_have_text("live", timeout=10000)
    before = page.locator("#progress-words").inner_text()
    rows = list(csv.DictReader(io.StringIO((place / "plate1.csv").read_text())))
    begun = time.monotonic()
    command("tell", rows[20]["trial"], "55.5", "--study", "plate.toml", cwd=place)
    expect(page.locator("#progress-words")).not_to_have_text(before, timeout=5000)
    return time.monotonic() - begun


def all_screens(page, base, name):
    for path, words in [("/", "Studies"), ("/s/plate", "plate"), ("/s/plate/trials", "Trials"), ("/s/plate/workers", "Workers"),
                        ("/s/plate/plates", "Plates"), ("/s/plate/model", "Model"), ("/compare", "Compare"), ("/s/plate/report", "plate")]:
        page.goto(base + path)
        expect(page.locator("h1").first).to_contain_text(words)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), f"{path} is wider than the window ({name})"
        shot(page, f"{name}-{path.strip('/').replace('/', '-') or 'studies'}")


def main(place):
    place = pathlib.Path(place)
    SCREENS.mkdir(parents=True, exist_ok=True)
    prepare(place)
    server = subprocess.Popen([COMMAND, "serve", ".", "--port", "0", "--read-token"], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = server.stdout.readline().strip()
        reading = server.stdout.readline().split()[0]
        base = re.match(r"(http://[^/]+)/", address).group(1)
        options = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=options)
            light = Watched(browser.new_context(color_scheme="light", viewport={"width": 1280, "height": 900}), base)
            page = light.page
            page.goto(address)
            assert "token" not in page.url
            page.goto(base + "/s/plate/plates")
            fill_a_well(page)
            upload(page, place)
            seconds = sees_what_others_do(page, place)
            page.on("dialog", lambda dialog: dialog.accept())
            page.get_by_role("button", name="Close batch").click()
            expect(page.locator("#progress-words")).to_contain_text("batch 2", timeout=60000)
            page.get_by_role("button", name="Pause").click()
            expect(page.locator("#controls")).to_contain_text("nothing is handed out")
            page.get_by_role("button", name="Hand out again").click()
            expect(page.get_by_role("button", name="Pause")).to_be_visible()
            page.goto(base + "/s/plate/trials?state=done")
            note = page.locator("input.note-of").first
            note.fill("a bubble")
            note.press("Enter")
            page.wait_for_timeout(1500)
            page.reload()
            expect(page.locator("input.note-of").first).to_have_value("a bubble")
            all_screens(page, base, "light")
            # 20 000 trials: pages come at once.
            begun = time.monotonic()
            page.goto(base + "/s/large/trials")
            expect(page.locator("#trials tbody tr")).to_have_count(100)
            page.get_by_role("link", name="Next 100").click()
            expect(page.locator("#trials tbody tr").first).to_contain_text("100")
            large = time.monotonic() - begun
            page.goto(base + "/s/large")
            expect(page.locator("#progress-words")).to_contain_text("20000 of 20000")
            shot(page, "light-large")
            # The refusals of what was typed wrong on purpose are the only errors: none reached the server.
            light.check()
            dark = Watched(browser.new_context(color_scheme="dark", viewport={"width": 1280, "height": 900}), base)
            dark.page.goto(address)
            all_screens(dark.page, base, "dark")
            dark.check()
            narrow = Watched(browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True), base)
            narrow.page.goto(reading)
            all_screens(narrow.page, base, "narrow")
            assert narrow.page.locator("button[data-method]").count() == 0, "who may only look sees no buttons"
            narrow.check()
            without = browser.new_context(java_script_enabled=False).new_page()
            without.goto(address)
            for path in ["/", "/s/plate", "/s/plate/trials", "/s/plate/plates"]:
                without.goto(base + path)
                assert "plate" in without.content()
            browser.close()
        print(f"browser: all screens in light, dark and narrow; another process's tell seen after {seconds:.2f} s; two pages of 20 000 trials in {large:.2f} s")
    finally:
        server.terminate()
        server.wait(20)


if __name__ == "__main__":
    main(sys.argv[1])
