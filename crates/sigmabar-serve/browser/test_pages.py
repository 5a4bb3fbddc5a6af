"""Every screen in a real browser: opened, clicked, typed into, and watched for errors and for requests to anywhere else.

Run by scripts/test-browser.sh, which installs chromium and Playwright. Screenshots go to target/screens.
"""

import contextlib
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

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
noise = 8
strategy = "s-bpe"
[kernel]
name = "squared-exponential"
lengthscale = 0.5
[parameters.temperature]
type = "float"
low = 20
high = 80
[parameters.solvent]
type = "categorical"
choices = ["water", "ethanol"]
"""
ASSAY = """description = "Every setting in two wells, with controls"
plate = 24
plates = 2
replicates = 2
controls = 3
blocked = ["A1"]
[parameters.dose]
type = "float"
low = 0
high = 10
"""
HILLS = """description = "The highest point of two hills"
budget = 150
batches = 3
norm_bound = 2
noise = { gaussian = 0.05 }
stop_when = "gap < 0.4"
kernel = { name = "squared-exponential", lengthscale = 0.3 }
[parameters.east]
type = "float"
low = 0
high = 1
[parameters.north]
type = "float"
low = 0
high = 1
[objective]
builtin = "hills"
noise = 0.05
"""
LARGE = 'budget = 20000\nstrategy = "random"\n[parameters.x]\ntype = "float"\nlow = 0\nhigh = 1\n'
SCREENS_OF_A_STUDY = ["", "/trials", "/workers", "/plates", "/model", "/report"]


def command(*arguments, cwd):
    subprocess.run([COMMAND, *arguments], cwd=cwd, check=True, capture_output=True)


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def prepare(place):
    for name, text in [("plate", PLATE), ("assay", ASSAY), ("hills", HILLS), ("large", LARGE)]:
        (place / f"{name}.toml").write_text(text)
    command("ask", "plate.toml", "--plate", "24", "-o", "plate1.csv", cwd=place)
    command("ask", "assay.toml", "--plate", "24", "-o", "assay1.csv", cwd=place)
    command("run", "hills.toml", "--at-most", "1", cwd=place)
    # 20 000 trials of which all are told, in one sheet.
    command("ask", "large.toml", "-n", "20000", "-o", "large.csv", cwd=place)
    with open(place / "told.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["trial", "result"])
        out.writerows([row["trial"], float(row["x"]) * 2] for row in rows_of(place / "large.csv"))
    command("tell", "told.csv", "--study", "large.toml", cwd=place)


class Watched:
    """A page, and everything that is wrong with it."""

    def __init__(self, browser, base, **options):
        self.page, self.wrong, self.base = browser.new_context(**options).new_page(), [], base
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: None if request.url.startswith((base, "data:", "blob:")) else self.wrong.append(f"asks {request.url}"))
        self.page.on("dialog", ACCEPT)

    def check(self):
        assert self.wrong == [], self.wrong


class Api:
    """The server as a program sees it."""

    def __init__(self, base, token):
        self.base, self.token = base, token

    def __call__(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.base}/api/v1/studies/{path}", data, headers, method=method)) as answer:
            return json.load(answer)


def shot(page, name):
    page.screenshot(path=str(SCREENS / f"{name}.png"), full_page=True)


def asks_what_is_mistyped(light, api):
    """A result that no function within the premises gives is asked about before it is written down, and told by whoever is sure."""
    page, asked = light.page, []
    page.remove_listener("dialog", ACCEPT)

    def answer(dialog):
        asked.append(dialog.message)
        dialog.dismiss() if len(asked) == 1 else dialog.accept()

    page.on("dialog", answer)
    well = page.locator("button.well.open").first
    trial = well.get_attribute("data-trial")
    well.click()
    page.keyboard.type("51500")
    page.keyboard.press("Enter")
    expect(page.locator("#say")).to_contain_text("nothing was written down")
    expect(page.locator("input.well.wrong")).to_have_value("51500")
    page.keyboard.press("Enter")
    expect(page.locator("span.well", has_text="51500")).to_have_count(1, timeout=5000)
    assert len(asked) == 2 and all("came to 51500, and what was declared allows" in words and words.endswith("Was it measured so?") for words in asked), asked
    page.keyboard.press("Escape")
    page.remove_listener("dialog", answer)
    page.on("dialog", ACCEPT)
    # The browser speaks of every refusal.
    light.wrong[:] = [words for words in light.wrong if "409" not in words]
    api("POST", f"plate/trials/{trial}/replace", {"value": 51.5, "why": "a slip"})
    expect(page.locator("span.well", has_text="51500")).to_have_count(0, timeout=5000)


def fill_wells(page):
    wells = page.locator("button.well.open")
    before = wells.count()
    wells.first.click()
    page.keyboard.type("51.5")
    page.keyboard.press("Enter")
    # The next well is open for typing at once; Escape leaves it.
    expect(page.locator("button.well.open")).to_have_count(before - 2, timeout=5000)
    expect(page.locator("input.well")).to_be_focused()
    page.keyboard.type("nonsense")
    page.keyboard.press("Enter")
    expect(page.locator("#say")).to_contain_text("neither a number")
    page.locator("input.well").fill("failed")
    page.keyboard.press("Enter")
    # Only when this one is written down does the next one open.
    expect(page.locator("span.well.failed")).to_have_count(1, timeout=5000)
    expect(page.locator("input.well")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("button.well.open")).to_have_count(before - 2, timeout=5000)
    page.locator("button.well.open").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.className").startswith("well")


def keeps_what_is_being_typed(page, api):
    """News come while somebody types into a well: the page changes around it."""
    page.locator("button.well.open").last.click()
    page.keyboard.type("48.")
    trial = page.locator("button.well.open").first.get_attribute("data-trial")
    api("PUT", f"plate/trials/{trial}/result", {"value": 42})
    expect(page.locator("span.well", has_text="42")).to_have_count(1, timeout=5000)
    page.keyboard.type("5")
    expect(page.locator("input.well")).to_have_value("48.5")
    page.keyboard.press("Escape")


def upload(page, place):
    """A sheet with one contradiction is shown and cannot be told; a right one can."""
    rows = rows_of(place / "plate1.csv")

    def sheet(name, value):
        with open(place / name, "w", newline="") as file:
            out = csv.DictWriter(file, rows[0].keys())
            out.writeheader()
            out.writerows({**row, "result": value(i)} for i, row in enumerate(rows))
        return str(place / name)

    refuses_what_is_no_text(page, place)
    page.set_input_files("#sheet", sheet("wrong.csv", lambda i: 40 + i))
    expect(page.locator("#difference")).to_contain_text("that contradict")
    expect(page.locator("#say")).to_be_empty()
    expect(page.locator("#difference .change-conflict").first).to_be_visible()
    expect(page.locator("#difference button")).to_have_count(0)
    shot(page, "plates-difference")
    told = {0: "51.5", 1: "51.5", 2: "failed", 3: "42"}
    page.set_input_files("#sheet", sheet("right.csv", lambda i: told.get(i, 40 + i if i < 20 else "")))
    expect(page.locator("#difference")).to_contain_text("16 new")
    page.get_by_role("button", name="Tell 16 results").click()
    expect(page.locator("#difference")).to_be_empty()
    expect(page.locator("button.well.open")).to_have_count(4, timeout=5000)


def refuses_what_is_no_text(page, place):
    """A file that is no UTF-8 would be written down with signs in place of its letters, and a workbook is none."""
    for name, content, said in [
        ("latin.csv", "trial,result,note\n0,1,clear\n1,2,tr\u00fcb\n".encode("cp1252"), "latin.csv, line 3: not UTF-8 text"),
        ("wide.csv", "trial,result\n0,1\n".encode("utf-16"), "wide.csv: it is UTF-16 text; save it as CSV (UTF-8)"),
        ("plain.xlsx", b"PK\x03\x04\xff", "plain.xlsx: a workbook is not read here: save the sheet as CSV (UTF-8)"),
    ]:
        (place / name).write_bytes(content)
        page.set_input_files("#sheet", str(place / name))
        expect(page.locator("#say")).to_contain_text(said)
        expect(page.locator("#difference")).to_be_empty()


def forgets_drafts_of_others(page):
    """What was half typed for another study that was served under this name is not this one's."""
    own = page.evaluate("document.body.dataset.study")
    assert len(own) == 32, own
    well = page.locator("button.well.open[data-together]").first.get_attribute("data-well")
    keys = ["/api/v1/studies/assay/plates/1", "/api/v1/studies/assay/plates/1@another"]
    page.evaluate("([keys, well]) => keys.forEach((key) => localStorage.setItem(key, JSON.stringify({ [well]: '7' })))", [keys, well])
    page.evaluate("localStorage.setItem('/api/v1/studies/other/plates/1@another', '{}')")
    page.reload()
    expect(page.locator("button.well.open").first).to_be_visible()
    expect(page.locator("button.well.written")).to_have_count(0)
    assert page.evaluate("(keys) => keys.map((key) => localStorage.getItem(key))", keys) == [None, None]
    assert page.evaluate("localStorage.getItem('/api/v1/studies/other/plates/1@another')") == "{}", "studies of other names keep theirs"


def fills_replicates(page, base):
    """Two wells of a setting and a control are typed; the setting is told when both have a result, and the mean of them counts."""
    page.goto(base + "/s/assay/plates")
    assert page.locator(".well.blocked").count() == 1 and page.locator("button.well.control").count() == 3
    control = page.locator("button.well.control").first
    control.click()
    page.keyboard.type("9.5")
    with page.expect_response(lambda answer: answer.request.method == "POST" and answer.ok):
        page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.locator("button.well.control").first).to_have_text("9.5", timeout=5000)
    forgets_drafts_of_others(page)
    trial = page.locator("button.well.open[data-together]").first.get_attribute("data-trial")
    for text, said in [("4", "1 well is typed and not told yet; 0 settings have all their results"), ("5", "2 wells are typed")]:
        page.locator(f'button.well.open[data-trial="{trial}"]').first.click()
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        expect(page.locator(".typed")).to_contain_text(said)
    # What is typed survives a new look at the page.
    page.reload()
    expect(page.locator("button.well.written")).to_have_count(2)
    expect(page.locator(".typed")).to_contain_text("2 wells are typed and not told yet; 1 setting has all its results")
    shot(page, "plates-replicates")
    page.get_by_role("button", name="See what they change").click()
    expect(page.locator(".typed .change-new")).to_contain_text("4.5")
    page.get_by_role("button", name="Tell 1 result").click()
    expect(page.locator("button.well.written")).to_have_count(0, timeout=5000)
    # Each well shows its own value.
    for text in ["4", "5"]:
        expect(page.locator(f'.well[data-trial="{trial}"], span.well').filter(has_text=re.compile(f"^{text}$"))).to_have_count(1, timeout=5000)
    with page.expect_download() as download:
        page.get_by_role("link", name="sheet (CSV)").click()
    assert download.value.suggested_filename == "sheet.csv"
    shot(page, "assay-plates")


def corrects(page, base):
    """A result that was told is replaced, for a reason."""
    page.goto(base + "/s/plate/trials?state=done")
    answers = iter(["47,25", "read from the wrong line"])
    page.remove_listener("dialog", ACCEPT)
    page.on("dialog", lambda dialog: dialog.accept(next(answers)))
    page.locator("button.correct").first.click()
    expect(page.locator("#trials tbody tr").first).to_contain_text("47.25", timeout=5000)
    expect(page.locator("input.note-of").first).to_have_value("read from the wrong line; before: a bubble")


def ACCEPT(dialog):
    dialog.accept()


def sees_what_others_do(page, place, api):
    """Seconds until a result is on the open page that another process wrote into the file, and one that came over HTTP."""
    page.goto(page.url.split("/s/")[0] + "/s/plate")
    expect(page.locator("#live")).to_have_text("live", timeout=10000)
    rows, seconds = rows_of(place / "plate1.csv"), []
    for tell in [
        lambda: command("tell", rows[20]["trial"], "55.5", "--study", "plate.toml", cwd=place),
        lambda: api("PUT", f"plate/trials/{rows[21]['trial']}/result", {"value": 54.5}),
    ]:
        before = page.locator("#progress-words").inner_text()
        tell()
        begun = time.monotonic()
        expect(page.locator("#progress-words")).not_to_have_text(before, timeout=5000)
        seconds.append(time.monotonic() - begun)
        assert seconds[-1] < 1, f"a result was seen after {seconds[-1]:.2f} s"
        time.sleep(1)
    return seconds


def closes_and_pauses(page):
    page.get_by_role("button", name="Close batch").click()
    expect(page.locator("#progress-words")).to_contain_text("batch 2 of 2", timeout=180000)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#controls")).to_contain_text("nothing is handed out")
    page.get_by_role("button", name="Hand out again").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def keeps_notes_and_results(page, base):
    page.goto(base + "/s/plate/trials?state=done")
    note = page.locator("input.note-of").first
    note.fill("a bubble")
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        note.press("Enter")
    page.reload()
    expect(page.locator("input.note-of").first).to_have_value("a bubble")
    page.goto(base + "/s/plate/trials?state=missing")
    field = page.locator("input.tell").first
    field.fill("52,5")
    with page.expect_response(lambda answer: answer.request.method == "PUT" and answer.status == 201):
        field.press("Enter")
    page.goto(base + "/s/plate/trials?state=late")
    expect(page.locator("#trials tbody tr").first).to_contain_text("52.5")


def rules_workers(page, base, api):
    """Somebody on another machine has trials; one is taken from it, and it is paused."""
    asked = api("POST", "plate/ask?wait=20", {"worker": "lab-1", "at_most": 2, "lease_seconds": 600})["trials"]
    page.goto(base + "/s/plate/workers")
    row = page.locator("#workers tr[data-id=lab-1]")
    expect(row).to_contain_text("9 min")
    row.get_by_role("button", name=f"Release {asked[0]['id']}").click()
    expect(row.get_by_role("button", name=f"Release {asked[0]['id']}")).to_have_count(0, timeout=5000)
    row.get_by_role("button", name="Pause").click()
    expect(row.get_by_role("button", name="Resume")).to_be_visible(timeout=5000)
    api("DELETE", f"plate/trials/{asked[1]['id']}/lease?worker=lab-1")
    assert api("POST", "plate/ask", {"worker": "lab-1"})["state"] == "wait"
    row.get_by_role("button", name="Resume").click()
    expect(row.get_by_role("button", name="Pause")).to_be_visible(timeout=5000)


def follows_workers(page, base, address, place):
    """The page follows a study that processes of their own evaluate over HTTP, to its end; so do the model and the report, where something half typed stays."""
    model, report = page.context.new_page(), page.context.new_page()
    model.goto(base + "/s/hills/model")
    report.goto(base + "/s/hills/report")
    expect(report.locator(".headline")).not_to_contain_text("Use ")
    for tab in [model, report]:
        expect(tab.locator("#live")).to_have_text("live", timeout=10000)
    model.locator("[name='at.east']").fill("0.25")
    model.locator("[name='at.north']").focus()
    before = model.locator("figure").count()
    page.goto(base + "/s/hills")
    expect(page.locator("#live")).to_have_text("live", timeout=10000)
    worker = subprocess.Popen(
        [COMMAND, "run", "--server", address, "--name", "hills", "--parallel", "4"], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        expect(page.locator("#stop")).to_contain_text("You may stop", timeout=180000)
        expect(page.locator(".answer.certified")).to_be_visible()
        expect(page.locator("#premises")).to_be_visible(timeout=30000)
        assert worker.wait(180) == 0
    finally:
        worker.kill()
    expect(report.locator(".headline")).to_contain_text("Use ", timeout=180000)
    expect(model.locator("figure")).not_to_have_count(before, timeout=180000)
    expect(model.locator("[name='at.east']")).to_have_value("0.25")
    model.close()
    report.close()
    page.locator(".certificate summary").click()
    expect(page.locator(".certificate pre")).to_contain_text("norm")


def all_screens(page, base, name):
    for study in ["plate", "hills"]:
        for screen in SCREENS_OF_A_STUDY:
            open_screen(page, base, f"/s/{study}{screen}", name)
    for path in ["/", "/compare"]:
        open_screen(page, base, path, name)


def open_screen(page, base, path, name):
    answer = page.goto(base + path)
    assert answer.status == 200, f"{path}: {answer.status}"
    expect(page.locator("h1").first).to_be_visible()
    expect(page.locator("[data-waiting]")).to_have_count(0, timeout=120_000)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), f"{path} is wider than the window ({name})"
    shot(page, f"{path.strip('/').replace('/', '-') or 'studies'}-{name}")


def is_quick_with_20_000_trials(page, base):
    begun = time.monotonic()
    page.goto(base + "/s/large/trials")
    expect(page.locator("#trials tbody tr")).to_have_count(100)
    page.get_by_role("link", name="Next 100").click()
    expect(page.locator("#trials tbody tr").first).to_contain_text("100")
    seconds = time.monotonic() - begun
    page.goto(base + "/s/large")
    expect(page.locator("#progress-words")).to_contain_text("20000 of 20000")
    expect(page.locator("#progress path title").first).to_contain_text("measurements in each of these", timeout=120_000)
    assert page.locator("#progress [data-id]").count() < 2000, "20 000 points are bins, and what is alone in one a mark"
    assert len(page.content()) < 600_000, "the page stays small"
    shot(page, "large")
    # What takes long is no blank window: the page is there, says so, and fills itself.
    begun = time.monotonic()
    page.goto(base + "/s/large/model")
    assert time.monotonic() - begun < 5, f"the model was a blank window for {time.monotonic() - begun:.1f} s"
    expect(page.locator("figure").first).to_be_visible(timeout=300_000)
    return seconds


def marks_lead_to_their_trials(page, base):
    """By the mouse and by the keyboard; what is chosen stays chosen while the page follows the study."""
    page.goto(base + "/s/hills")
    mark = page.locator("#progress [data-id='5']")
    mark.hover(force=True)
    expect(mark.locator("title")).to_have_text("trial 5")
    mark.click(force=True)
    page.wait_for_url("**/s/hills/trials?after=4#trials-5")
    row = page.locator("#trials tbody tr").first
    expect(row.locator("td").first).to_have_text("5")
    assert row.evaluate("(row) => row.matches(':target')"), "its row stands out"
    page.go_back()
    page.locator("#progress svg").focus()
    for key in ["ArrowRight", "End", "Home", "ArrowRight"]:
        page.keyboard.press(key)
    expect(page.locator("#progress [data-chosen]")).to_have_count(1)
    expect(page.locator("#say")).to_contain_text("Enter shows it")
    trial = page.locator("#progress [data-chosen]").get_attribute("data-id")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/s/hills/trials*#trials-{trial}")
    for place in ["#elimination", "#workers", "#recommended-or-luckiest"]:
        page.goto(base + "/s/hills")
        expect(page.locator(f"{place} [data-id]").first).to_be_attached()
    page.goto(base + "/s/plate/report")
    expect(page.locator("#plate-1 [data-id]").first).to_be_attached()


def many_tabs(page, base):
    """Tabs that nobody looks at hold no connection: a browser has six for a server, and the ninth tab would wait for ever."""
    asleep = "(is) => { Object.defineProperty(document, 'hidden', { value: is, configurable: true }); document.dispatchEvent(new Event('visibilitychange')); }"
    tabs = [page.context.new_page() for _ in range(9)]
    for tab in tabs:
        tab.goto(base + "/s/plate", timeout=10_000)
        tab.get_by_text("live", exact=True).wait_for()
        tab.evaluate(asleep, True)
        tab.get_by_text("asleep", exact=True).wait_for()
    tabs[0].evaluate(asleep, False)
    tabs[0].get_by_text("live", exact=True).wait_for()
    for tab in tabs:
        tab.close()


def reads_without_script(browser, base, address):
    without = browser.new_context(java_script_enabled=False).new_page()
    without.goto(address)
    for path in ["/", "/compare", *(f"/s/plate{screen}" for screen in SCREENS_OF_A_STUDY)]:
        without.goto(base + path)
        assert "plate" in without.content(), path


@contextlib.contextmanager
def served(place):
    """The address with the token, the one that may only look, and their beginning."""
    arguments = [COMMAND, "serve", ".", "--port", "0", "--read-token"]
    server = subprocess.Popen(arguments, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = server.stdout.readline().strip()
        reading = server.stdout.readline().split()[0]
        yield address, reading, re.match(r"(http://[^/]+)/", address).group(1)
    finally:
        server.terminate()
        server.wait(20)


def main(place):
    place = pathlib.Path(place)
    SCREENS.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    prepare(place)
    options = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    with served(place) as (address, reading, base), sync_playwright() as play:
        browser = play.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=options)
        api = Api(base, address.split("token=")[1])
        light = Watched(browser, base, color_scheme="light", viewport={"width": 1280, "height": 900})
        page = light.page
        page.goto(address)
        assert "token" not in page.url
        page.goto(base + "/s/plate/plates")
        asks_what_is_mistyped(light, api)
        fill_wells(page)
        keeps_what_is_being_typed(page, api)
        upload(page, place)
        seconds = sees_what_others_do(page, place, api)
        closes_and_pauses(page)
        keeps_notes_and_results(page, base)
        rules_workers(page, base, api)
        fills_replicates(page, base)
        follows_workers(page, base, address, place)
        marks_lead_to_their_trials(page, base)
        corrects(page, base)
        all_screens(page, base, "light")
        many_tabs(page, base)
        large = is_quick_with_20_000_trials(page, base)
        light.check()
        dark = Watched(browser, base, color_scheme="dark", viewport={"width": 1280, "height": 900})
        dark.page.goto(address)
        all_screens(dark.page, base, "dark")
        dark.check()
        narrow = Watched(browser, base, viewport={"width": 390, "height": 844}, is_mobile=True)
        narrow.page.goto(reading)
        all_screens(narrow.page, base, "narrow")
        narrow.page.goto(base + "/s/plate")
        assert narrow.page.locator("button[data-method]").count() == 0, "who may only look sees no buttons"
        narrow.check()
        reads_without_script(browser, base, address)
        browser.close()
    print(
        f"browser: all screens in light, dark and narrow in {time.monotonic() - begun:.0f} s; a result told by another process was seen after {seconds[0]:.2f} s, "
        f"one over HTTP after {seconds[1]:.2f} s; two pages of 20 000 trials came in {large:.2f} s"
    )


if __name__ == "__main__":
    main(sys.argv[1])
