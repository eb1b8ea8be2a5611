"""plumbline: data goes in, a model that can be trusted comes out."""

import sys
from importlib import import_module


def main() -> None:
    """Run the command line, which takes a second to load; Ctrl-C then ends it as it does later."""
    try:
        import_module("plumbline.cli").main()  # by name: no stage depends on the commands
    except KeyboardInterrupt:
        sys.exit(130)
