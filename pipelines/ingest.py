"""Door of the ingest stage: python -P pipelines/ingest.py"""

import sys
from pathlib import Path

sys.path.insert(
    0, str(Path(__file__).resolve().parents[1] / "src")
)  # the code beside this file, which DVC hashes, is what runs

from plumbline.entrypoint import main  # noqa: E402

sys.exit(main("ingest"))
