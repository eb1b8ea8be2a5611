"""Where development data and tools are: variables say it, and tests that need them skip without."""

import os
from pathlib import Path

NOWHERE = "/nonexistent"
# Folders with the data sets `dirty`, `banking77` and `clinc150`.
DATA = Path(os.environ.get("PLUMBLINE_TEST_DATA") or NOWHERE)
# A folder with base-image.sh: see tests/support/containers.py.
IMAGE_TOOLS = Path(os.environ.get("PLUMBLINE_IMAGE_TOOLS") or NOWHERE)
