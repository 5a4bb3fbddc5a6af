"""The book from disk in a real browser: what is searched for is found, formulas are drawn, and nothing is asked of anybody else.

Run by scripts/test-browser.sh. A screenshot goes to target/screens.
"""

import os
import pathlib
import time

from playwright.sync_api import Page, expect, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[1]
BOOK = (ROOT / "target/book/index.html").as_uri()
# What people look for, and the page that must be among the first eight answers.
SEARCHED = {"norm bound": "choose", "plate": "plates", "Optuna": "python", "exit code": "command", "Nyström": "glossary"}


def answers(page: Page) -> list[str]:
    """The pages of the first eight answers that stand there now."""
    hrefs = page.locator(".md-search-result__link").evaluate_all("links => links.slice(0, 8).map(link => link.getAttribute('href') || '')")
    return [pathlib.PurePosixPath(href.split("?")[0]).stem for href in hrefs]


def finds(page: Page, words: str, name: str) -> None:
    page.goto(BOOK)
    page.get_by_role("textbox", name="Search").click()
    page.get_by_role("textbox", name="Search").press_sequentially(words)
    until = time.monotonic() + 20
    # Every letter is a search of its own: what is seen first may answer the first letters alone.
    while name not in (pages := answers(page)):
        assert time.monotonic() < until, f"{words}: {pages}"
        page.wait_for_timeout(100)
    page.locator(".md-search-result__link").first.click()
    expect(page.locator("article")).to_contain_text(words.split()[0], ignore_case=True)


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox", "--allow-file-access-from-files"])
        page = browser.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else wrong.append(request.url))
        for words, name in SEARCHED.items():
            finds(page, words, name)
        page.goto(BOOK.replace("index.html", "notes/07-intervals.html"))
        expect(page.locator(".katex").first).to_be_visible()
        (ROOT / "target/screens").mkdir(parents=True, exist_ok=True)
        page.screenshot(path=ROOT / "target/screens/book.png")
        assert not wrong, wrong
        browser.close()
    print(f"the book: {len(SEARCHED)} searches lead where they should, formulas are drawn, nothing is asked of anybody else")


if __name__ == "__main__":
    main()
