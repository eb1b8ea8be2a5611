"""`plumbline docs`: the documentation of the installed version, where no checkout is."""

from typing import Annotated

import typer

from plumbline.contract.errors import ParamsError
from plumbline.contract.suggestion import suggest_nearest
from plumbline.terminal.console import print_plain

EXAMPLE = "plumbline docs operate"


def show_page(
    page: Annotated[
        str, typer.Argument(help="The page to print.", show_default="list the pages")
    ] = "",
) -> None:
    """List the pages of the documentation, or print one."""
    from plumbline.init.repository_files import find_pages

    pages = find_pages()
    if page and page not in pages:
        hint = suggest_nearest(page, list(pages)) or f"; there are: {', '.join(pages)}"
        raise ParamsError(f"there is no page {page!r}{hint}")
    if page:
        print(pages[page].read_text(encoding="utf-8"), end="")
        return
    for name, path in pages.items():
        title = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        print_plain(f"{name:26} {title}")
