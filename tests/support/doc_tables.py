"""The tables of the documentation, for tests that compare them with the code."""

import re

from tests.support.checkouts import ROOT


def read_table(page: str, heading: str, number: int = 0) -> list[list[str]]:
    """Return the rows of a table of docs/`page`.md: the first one below `heading`, or a later one.

    A cell is its text, with backquotes, without the blanks around it.
    """
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    below = re.split(rf"(?m)^#+ {re.escape(heading)}$", text)[1]
    section = re.split(r"(?m)^#+ ", below)[0]
    table = re.findall(r"(?m)(?:^\|.*\n)+", section)[number]
    rows = [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in table.splitlines()[2:]]
    return [[cell.strip() for cell in row] for row in rows]
