"""The page at / in a real browser without internet access: one row, a CSV upload, a token."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from tests.support.serving.lines import Lines, serving

expect.set_options(timeout=600_000)
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


@pytest.fixture
def page() -> Iterator[Page]:
    """A page as wide as a phone; a request to another host or a script error fails the test."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        new_page = browser.new_page(viewport={"width": 390, "height": 800})
        problems: list[str] = []
        new_page.on("pageerror", lambda error: problems.append(str(error)))
        new_page.on(
            "request", lambda request: "127.0.0.1" in request.url or problems.append(request.url)
        )
        yield new_page
        browser.close()
        assert [one for one in problems if not one.startswith(("data:", "blob:"))] == []


def test_predict_one_row_and_a_file(lines: Lines, page: Page, tmp_path: Path) -> None:
    with serving(lines) as server:
        page.goto(f"http://127.0.0.1:{server.port}/")
        expect(page.locator("h1")).to_have_text("line")
        expect(page.locator("#about")).to_contain_text("version 1")
        page.fill("#input", '{"x": 2}')
        page.click("#send")
        expect(page.locator("#answer .answer")).to_have_text("5")
        expect(page.locator("#answer")).to_contain_text("version 1")
        expect(page.locator("#answer")).to_contain_text("the champion answered")
        expect(page.locator("#answer")).to_contain_text("ms at the server")
        page.fill("#input", '{"x": "far"}')
        page.keyboard.press("Control+Enter")
        expect(page.locator("#answer.error")).to_contain_text(
            "row 0: x: expected double, found text"
        )
        table = tmp_path / "rows.csv"
        table.write_text("x\n" + "\n".join(map(str, range(300))) + "\n", encoding="utf-8")
        page.set_input_files("#file", table)
        expect(page.locator("#answer .answer")).to_have_text("300 answers")
        expect(page.locator("#answer tr")).to_have_count(201)  # a head and the first 200
        table.write_bytes("x,Größe\n1,ä\n".encode("cp1252"))
        page.set_input_files("#file", table)
        expect(page.locator("#answer.error")).to_contain_text("not UTF-8")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_page_asks_for_the_token(lines: Lines, page: Page, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("right" * 4)
    with serving(lines, "--token-file", str(tmp_path / "token")) as server:
        page.goto(f"http://127.0.0.1:{server.port}/")
        for token in ("wrong", "right"):
            expect(page.locator("#about")).to_have_text("send the token: Authorization: Bearer ...")
            page.fill("#token", token * 4)
            with page.expect_response("**/version", timeout=600_000):
                page.locator("#token").blur()
        expect(page.locator("#about")).to_contain_text("version 1")
        page.fill("#input", '{"x": 2}')
        page.click("#send")
        expect(page.locator("#answer .answer")).to_have_text("5")


@pytest.mark.slow
def test_a_picture_is_shown_and_runs_nothing(lines: Lines, page: Page) -> None:
    svg = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20">
<script>document.title = "run by a picture"</script>
<image href="https://example.com/mark.png" width="9" height="9"/>
<rect width="40" height="20" fill="#1f5fa8"/></svg>"""
    answer = {"y": 5.0, "picture": svg, "netlist": "* a low-pass\n.end\n", "message": "it is 5"}
    with serving(lines) as server:
        page.goto(f"http://127.0.0.1:{server.port}/")
        expect(page.locator("h1")).to_have_text("line")
        page.route("**/invocations", lambda route: route.fulfill(json={"predictions": [answer]}))
        page.click("#send")
        picture = page.locator("#answer img")
        expect(picture).to_be_visible()
        page.wait_for_function("document.querySelector('#answer img').naturalWidth > 0")
        assert picture.evaluate("image => image.src.slice(0, 19)") == "data:image/svg+xml;"
        expect(page.locator("#answer")).to_contain_text("message: it is 5")
        expect(page.locator("#answer pre")).to_have_text("* a low-pass\n.end")
        assert page.title() == "line"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
