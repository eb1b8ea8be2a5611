"""plumbline: data goes in, a model that can be trusted comes out."""

import sys


def main() -> None:
    """Run the command line, which takes a second to load; Ctrl-C then ends it as it does later."""
    try:
        from plumbline import cli

        cli.main()
    except KeyboardInterrupt:
        sys.exit(130)
