"""Tables fit into their cards, as a real browser lays them out."""

import re
import shutil

import pytest
from playwright.sync_api import sync_playwright
from tests.support.checkouts import ROOT

TEMPLATES = ROOT / "src/plumbline/reporting/templates"
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
ROW = ("transformer over stratified", "+0.1900", "+0.1629 to +0.2162", "176", "164", "4.3e-41")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_the_table_of_pairs_fits_into_its_card() -> None:
    style = re.search(r"<style>.*</style>", (TEMPLATES / "base.html").read_text(), re.DOTALL)
    report = (TEMPLATES / "report.html").read_text()
    head = re.search(r"<thead><tr><th>pair</th>.*?</thead>", report)
    assert style
    assert head
    named = re.sub(r"\{%.*?%\}", "", head[0].replace("{{ interval }}", "95 % interval"))
    cells = "".join(f'<td class="num">{text}</td>' for text in ROW[1:])
    table = f'<table class="named">{named}<tbody><tr><th>{ROW[0]}</th>{cells}</tr></tbody></table>'
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_content(f'{style[0]}<main><div class="scroll">{table}</div></main>')
        card, content = page.eval_on_selector(".scroll", "e => [e.clientWidth, e.scrollWidth]")
        browser.close()
    assert content <= card
