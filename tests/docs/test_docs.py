"""The documentation: what it points at is there, and a reader finds it and can read it."""

import ast
import re
import subprocess
from pathlib import Path

import pytest
from docs.reference import write_pages
from tests.support.checkouts import ROOT

PAGES = [
    ROOT / name
    for name in subprocess.check_output(["git", "ls-files", "*.md"], cwd=ROOT, text=True).split()
]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page, and those in it."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"(?m)^#+ (.*)$", text)
    named = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return named | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), f"{page}: {link}"
        assert not anchor or anchor in anchors(target), f"{page}: {link}"


DOCS = ROOT / "docs"
LISTS = {"commands", "gates"}  # longer than a page should be: all of one kind, for a search


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda path: path.stem)
def test_a_page_is_short_and_its_code_parses(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for code in re.findall(r"(?ms)^```python\n(.*?)^```", text):
        ast.parse(code)
    if page.stem not in LISTS:
        rows = re.findall(r"(?m)^\|(.*)\|$", text)
        cells = [cell.strip() for row in rows for cell in re.split(r"(?<!\\)\|", row)]
        assert [cell for cell in cells if len(cell) > 120] == []
        assert len(text.split()) <= 1_500


def test_links_lead_from_the_index_to_every_page() -> None:
    reached, left = set(), [DOCS / "index.md"]
    while left:
        page = left.pop()
        reached.add(page)
        links = LINK.findall(page.read_text(encoding="utf-8"))
        targets = {(page.parent / link.partition("#")[0]).resolve() for link in links}
        left += [to for to in targets - reached if to.suffix == ".md" and DOCS in to.parents]
    assert set(DOCS.rglob("*.md")) - reached == set()


def test_generated_pages_are_those_of_the_code() -> None:
    for name, text in write_pages().items():
        page = DOCS / f"reference/{name}.md"
        assert page.read_text(encoding="utf-8") == text, "make docs writes it"


def test_every_key_of_params_is_described() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("reference/params*.md"))
    rows = re.findall(r"(?m)^\* `([\w.]+)` \([^\n]*?\):(.*)$", text)
    assert len(rows) > 90
    assert [name for name, described in rows if not described.strip()] == []
