"""The site that `make site` builds from the pages of this folder."""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

project = "plumbline"
html_title = "plumbline"
html_theme = "furo"
html_static_path = ["images/site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
extensions = ["myst_parser", "sphinx_copybutton"]
myst_heading_anchors = 4  # as on GitHub

MENU = {
    "Tutorial": ["tutorial/*"],
    "How to": ["how-to/*"],
    "Reference": ["reference/*"],
    "Explanation": ["explanation/*", "explanation/decisions/*"],
    "Tasks": ["tasks/*"],
    "Figures": ["figures/*"],
    "Coming from": ["coming-from/*"],
}
SECTION = "\n\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {}\n\n{}\n```\n"
DOCS = Path(__file__).resolve().parent
REPOSITORY = os.environ.get("GITHUB_REPOSITORY")
UPWARD = re.compile(r"\[([^]]+)\]\((\.\./[^)]+)\)")


def adapt_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Give a page what the site needs and Markdown on GitHub does not."""
    folder = (DOCS / name).parent
    source[0] = UPWARD.sub(lambda link: link_outside(folder, link), source[0])
    if name == "index":
        for caption, patterns in MENU.items():
            if found := [pattern for pattern in patterns if any(DOCS.glob(pattern))]:
                source[0] += SECTION.format(caption, "\n".join(found))


def link_outside(folder: Path, link: re.Match[str]) -> str:
    """Link a file outside of docs on GitHub; only name it where the repository is not known."""
    text, target = link.groups()
    path = Path(os.path.normpath(folder / target))
    if path.is_relative_to(DOCS):
        return link[0]
    if not REPOSITORY:
        return text
    return f"[{text}](https://github.com/{REPOSITORY}/blob/main/{path.relative_to(DOCS.parent)})"


def setup(app: Sphinx) -> None:
    """Register what adapts the pages."""
    app.connect("source-read", adapt_page)
