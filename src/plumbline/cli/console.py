"""Where the commands print."""

from rich.console import Console

out = Console(highlight=False, soft_wrap=True)


def plain(text: str) -> None:
    """Print `text` as it is: brackets in it are no markup."""
    out.print(text, markup=False)
