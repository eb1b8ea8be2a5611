"""The page at / in a real browser, without web access: type, ask, read; upload a CSV; unlock with a token."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from tests.support.serving.lines import Lines, serving

expect.set_options(timeout=60_000)
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # MLflow, in this process, warns about its own libraries
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


@pytest.fixture
def page() -> Iterator[Page]:
    """A page of a phone's width; anything it asks of another host, or complains of, fails the test."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found = browser.new_page(viewport={"width": 390, "height": 800})
        wrong: list[str] = []
        found.on("pageerror", lambda error: wrong.append(str(error)))
        found.on("request", lambda request: "127.0.0.1" in request.url or wrong.append(request.url))
        yield found
        browser.close()
        assert [one for one in wrong if not one.startswith(("data:", "blob:"))] == []


def test_ask_one_row_and_a_file(lines: Lines, page: Page, tmp_path: Path) -> None:
    with serving(lines) as server:
        page.goto(f"http://127.0.0.1:{server.port}/")
        expect(page.locator("h1")).to_have_text("line")
        expect(page.locator("#about")).to_contain_text("version 1")
        page.fill("#asked", '{"x": 2}')
        page.click("#go")
        expect(page.locator("#answer .answer")).to_have_text("5")
        expect(page.locator("#answer")).to_contain_text("version 1")
        expect(page.locator("#answer")).to_contain_text("the champion answered")
        expect(page.locator("#answer")).to_contain_text("ms at the server")
        page.fill("#asked", '{"x": "far"}')
        page.keyboard.press("Control+Enter")
        expect(page.locator("#answer.error")).to_contain_text(
            "row 0: x: expected double, found text"
        )
        table = tmp_path / "rows.csv"
        table.write_text("x\n" + "\n".join(map(str, range(300))) + "\n", encoding="utf-8")
        page.set_input_files("#file", table)
        expect(page.locator("#answer .answer")).to_have_text("300 answers")
        expect(page.locator("#answer tr")).to_have_count(201)  # a head and the first 200
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_says_when_the_canary_answered(lines: Lines, page: Page) -> None:
    with serving(lines, "--canary", "3=50%") as server:
        page.goto(f"http://127.0.0.1:{server.port}/")
        expect(page.locator("h1")).to_have_text("line")  # the page has filled in its example before
        page.fill("#asked", '{"x": 2}')
        for _ in range(40):
            page.evaluate("document.querySelector('#answer').replaceChildren()")
            page.click("#go")
            expect(page.locator("#answer .facts")).to_contain_text("answered")
            if "the canary answered" in page.locator("#answer .facts").inner_text():
                break
        expect(page.locator("#answer")).to_contain_text("version 3")


def test_a_token_unlocks_it(lines: Lines, page: Page, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("correct-horse-battery", encoding="utf-8")
    with serving(lines, "--token-file", str(token)) as server:
        page.goto(f"http://127.0.0.1:{server.port}/")
        expect(page.locator("#about")).to_contain_text("send the token")
        page.fill("#token", "correct-horse-battery")
        page.locator("#token").blur()
        expect(page.locator("h1")).to_have_text("line")
        page.click("#go")
        expect(page.locator("#answer .answer")).to_have_text("2")
